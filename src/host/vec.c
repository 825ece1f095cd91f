/*
  The loops of VECSINGLE in host memory.  They are limited by memory bandwidth: each is one pass, with the simplest body that
  the compiler turns into SIMD instructions.
*/
#include <patchfd/private/vecimpl.h>
#include <math.h>

/* operands stay in the first-level cache while several Vecs pass by */
#define BLOCK 1024
/* independent partial sums: without them an addition would wait for the one before it */
#define LANES 8

static PetscErrorCode Malloc(PetscInt n, float **x)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Free(float **x)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FromDouble(PetscInt n, double a, const double *PETSC_RESTRICT x, float *PETSC_RESTRICT y)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) y[i] = (float)(a * x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToDouble(PetscInt n, double a, const float *PETSC_RESTRICT x, double *PETSC_RESTRICT y)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) y[i] = a * (double)x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddToDouble(PetscInt n, double a, const float *PETSC_RESTRICT x, double *PETSC_RESTRICT y)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) y[i] += a * (double)x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(PetscInt n, const float *x, float *y)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(y, x, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Set(PetscInt n, double a, float *x)
{
  const float fa = (float)a;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) x[i] = fa;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Swap(PetscInt n, float *PETSC_RESTRICT x, float *PETSC_RESTRICT y)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const float t = x[i];

    x[i] = y[i];
    y[i] = t;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(PetscInt n, double a, float *x)
{
  const float fa = (float)a;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) x[i] *= fa;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shift(PetscInt n, double a, float *x)
{
  const float fa = (float)a;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) x[i] += fa;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPY(PetscInt n, double a, const float *PETSC_RESTRICT x, float *PETSC_RESTRICT y)
{
  const float fa = (float)a;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) y[i] += fa * x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPBY(PetscInt n, double a, double b, const float *PETSC_RESTRICT x, float *PETSC_RESTRICT y)
{
  const float fa = (float)a, fb = (float)b;

  PetscFunctionBegin;
  if (fb == 0.0f) { /* y may hold anything, also NaN */
    for (PetscInt i = 0; i < n; i++) y[i] = fa * x[i];
  } else {
    for (PetscInt i = 0; i < n; i++) y[i] = fa * x[i] + fb * y[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPBYPCZ(PetscInt n, double a, double b, double c, const float *PETSC_RESTRICT x, const float *PETSC_RESTRICT y,
                               float *PETSC_RESTRICT z)
{
  const float fa = (float)a, fb = (float)b, fc = (float)c;

  PetscFunctionBegin;
  if (fc == 0.0f) {
    for (PetscInt i = 0; i < n; i++) z[i] = fa * x[i] + fb * y[i];
  } else {
    for (PetscInt i = 0; i < n; i++) z[i] = fa * x[i] + fb * y[i] + fc * z[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WAXPY(PetscInt n, double a, const float *PETSC_RESTRICT x, const float *PETSC_RESTRICT y, float *PETSC_RESTRICT w)
{
  const float fa = (float)a;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) w[i] = fa * x[i] + y[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* four x at a time, so that y passes through memory m / 4 times; y is rounded as often */
static PetscErrorCode MAXPBY(PetscInt n, PetscInt m, const double *a, double b, const float *const *x, float *PETSC_RESTRICT y)
{
  PetscFunctionBegin;
  if (b == 0.0) PetscCall(Set(n, 0.0, y)); /* y may hold anything, also NaN */
  else if (b != 1.0) PetscCall(Scale(n, b, y));
  for (PetscInt j = 0; j < m; j += 4) {
    /* the last group is filled up with zero times the last x */
    const float *const x0 = x[j], *const x1 = x[PetscMin(j + 1, m - 1)], *const x2 = x[PetscMin(j + 2, m - 1)],
                       *const x3 = x[PetscMin(j + 3, m - 1)];
    const double              a0 = a[j], a1 = j + 1 < m ? a[j + 1] : 0.0, a2 = j + 2 < m ? a[j + 2] : 0.0, a3 = j + 3 < m ? a[j + 3] : 0.0;

    if (m - j == 1) { /* do not read x0 four times */
      PetscCall(AXPY(n, a0, x0, y));
    } else {
      for (PetscInt i = 0; i < n; i++)
        y[i] = (float)((double)y[i] + a0 * (double)x0[i] + a1 * (double)x1[i] + a2 * (double)x2[i] + a3 * (double)x3[i]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult(PetscInt n, const float *x, const float *y, float *w)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) w[i] = x[i] * y[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Divide(PetscInt n, const float *x, const float *y, float *w)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) w[i] = y[i] == 0.0f ? (x[i] == 0.0f ? 1.0f : 0.0f) : x[i] / y[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointwiseMax(PetscInt n, const float *x, const float *y, float *w)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) w[i] = PetscMax(x[i], y[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointwiseMin(PetscInt n, const float *x, const float *y, float *w)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) w[i] = PetscMin(x[i], y[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointwiseMaxAbs(PetscInt n, const float *x, const float *y, float *w)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) w[i] = PetscMax(fabsf(x[i]), fabsf(y[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Reciprocal(PetscInt n, float *x)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) x[i] = x[i] == 0.0f ? 0.0f : 1.0f / x[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SqrtAbs(PetscInt n, float *x)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) x[i] = sqrtf(fabsf(x[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Abs(PetscInt n, float *x)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) x[i] = fabsf(x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Exp(PetscInt n, float *x)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) x[i] = expf(x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Log(PetscInt n, float *x)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) x[i] = logf(x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline double Dot(PetscInt n, const float *x, const float *y)
{
  double   s[LANES] = {0.0}, t = 0.0;
  PetscInt i = 0;

  for (; i + LANES <= n; i += LANES) {
    for (PetscInt l = 0; l < LANES; l++) s[l] += (double)x[i + l] * (double)y[i + l];
  }
  for (; i < n; i++) t += (double)x[i] * (double)y[i];
  for (PetscInt l = 0; l < LANES; l++) t += s[l];
  return t;
}

static PetscErrorCode MDot(PetscInt n, PetscInt m, const float *x, const float *const *y, double *s)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < m; j++) s[j] = 0.0;
  for (PetscInt i = 0; i < n; i += BLOCK) {
    for (PetscInt j = 0; j < m; j++) s[j] += Dot(PetscMin(BLOCK, n - i), x + i, y[j] + i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define SUM(Name, part) \
  static PetscErrorCode Name(PetscInt n, const float *x, double *s) \
  { \
    double   p[LANES] = {0.0}, t = 0.0; \
    PetscInt i = 0; \
\
    PetscFunctionBegin; \
    for (; i + LANES <= n; i += LANES) \
      for (PetscInt l = 0; l < LANES; l++) p[l] += (double)part(x[i + l]); \
    for (; i < n; i++) t += (double)part(x[i]); \
    for (PetscInt l = 0; l < LANES; l++) t += p[l]; \
    *s = t; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
SUM(Sum, )
SUM(SumAbs, fabsf)

/* a NaN wins, so that a norm does not hide it */
static PetscErrorCode MaxAbs(PetscInt n, const float *x, double *s)
{
  float m = 0.0f;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const float v = fabsf(x[i]);

    if (v > m || v != v) m = v;
  }
  *s = (double)m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define EXTREME(Name, beyond, none) \
  static PetscErrorCode Name(PetscInt n, const float *x, PetscInt *index, double *s) \
  { \
    PetscInt j = n ? 0 : -1; \
\
    PetscFunctionBegin; \
    for (PetscInt i = 1; i < n; i++) \
      if (x[i] beyond x[j]) j = i; \
    *index = j; \
    *s     = n ? (double)x[j] : none; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
EXTREME(Max, >, PETSC_MIN_REAL)
EXTREME(Min, <, PETSC_MAX_REAL)

static PetscErrorCode MaxDivide(PetscInt n, const float *x, const float *y, double *s)
{
  float m = 0.0f;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const float v = fabsf(y[i] == 0.0f ? x[i] : x[i] / y[i]);

    m = PetscMax(v, m);
  }
  *s = (double)m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ErrorNorms(PetscInt n, const float *u, const float *y, const float *e, PetscBool infinity, double atol,
                                 const float *atols, double rtol, const float *rtols, double ignore, VecSingleErrorNorms *norms)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(norms, sizeof(*norms)));
  for (PetscInt i = 0; i < n; i++) {
    const double au = fabs((double)u[i]), ay = fabs((double)y[i]);
    const double err    = e ? fabs((double)e[i]) : fabs((double)y[i] - (double)u[i]);
    const double tola   = atols ? (double)atols[i] : atol;
    const double tolr   = (rtols ? (double)rtols[i] : rtol) * PetscMax(au, ay);
    const double tol[3] = {tola + tolr, tola, tolr};

    if (ay < ignore || au < ignore) continue;
    for (int k = 0; k < 3; k++) {
      if (tol[k] > 0.0) {
        const double r = err / tol[k];

        norms->sum[k] = infinity ? PetscMax(norms->sum[k], r) : norms->sum[k] + r * r;
        norms->n[k] += 1;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const struct _VecSingleKernels VecSingleKernelsHost = {
  .type            = VECSINGLE,
  .memtype         = PETSC_MEMTYPE_HOST,
  .malloc          = Malloc,
  .free            = Free,
  .fromdouble      = FromDouble,
  .todouble        = ToDouble,
  .fromhost        = FromDouble,
  .tohost          = ToDouble,
  .addtodouble     = AddToDouble,
  .copy            = Copy,
  .set             = Set,
  .swap            = Swap,
  .scale           = Scale,
  .shift           = Shift,
  .axpy            = AXPY,
  .axpby           = AXPBY,
  .axpbypcz        = AXPBYPCZ,
  .waxpy           = WAXPY,
  .maxpby          = MAXPBY,
  .mult            = Mult,
  .divide          = Divide,
  .pointwisemax    = PointwiseMax,
  .pointwisemin    = PointwiseMin,
  .pointwisemaxabs = PointwiseMaxAbs,
  .reciprocal      = Reciprocal,
  .sqrtabs         = SqrtAbs,
  .abs             = Abs,
  .exp             = Exp,
  .log             = Log,
  .mdot            = MDot,
  .sum             = Sum,
  .sumabs          = SumAbs,
  .maxabs          = MaxAbs,
  .max             = Max,
  .min             = Min,
  .maxdivide       = MaxDivide,
  .errornorms      = ErrorNorms,
};
