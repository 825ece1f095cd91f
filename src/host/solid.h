/*
  Operators of solids by quadrature (PatchFDPoints): as points.h, but with the displacement of a batch of cells at once, since its
  components are coupled.  At each point, with J^{-1} and weights from the factors of geometry.c,

    H = grad u J^{-1},  p = lambda w |J| tr H,  S = mu w |J| (H + H') + p I,  grad u = S J^{-T}

  or S = w |J| A H with a tangent A.

  With the L2 projection pi of a cell to a lower degree in each direction, p = w |J| pi' lambda pi tr H: L are the values of polynomials
  there, M and M_lambda the matrices of their products with the weights w |J| and lambda w |J|, and

    N = M^{-1} M_lambda M^{-1},  p = w |J| L N L' (w |J| tr H)
*/
#pragma once
#include "pointscell.h"

/* A = its inverse, A positive definite, one in each lane (Gauss-Jordan) */
static void SolidInvert(PetscInt n, V *A)
{
  for (PetscInt k = 0; k < n; k++) {
    const V pivot = 1 / A[k * n + k];

    A[k * n + k] = Splat(1);
    for (PetscInt j = 0; j < n; j++) A[k * n + j] *= pivot;
    for (PetscInt i = 0; i < n; i++) {
      const V a = A[i * n + k];

      if (i == k) continue;
      A[i * n + k] = (V){0};
      for (PetscInt j = 0; j < n; j++) A[i * n + j] -= a * A[k * n + j];
    }
  }
}

/* C = A B for symmetric B */
static void SolidProduct(PetscInt n, const V *A, const V *B, V *C)
{
  for (PetscInt i = 0; i < n; i++) LineEach(n, n, B, A + i * n, 1, C + i * n, 1, PETSC_FALSE);
}

/* the matrices N of all cells, from their factors */
static PetscErrorCode SolidProjection(const PatchFDPoints *points, const PatchFDRule *rule, PointsPlan *p)
{
  const PetscInt m = points->projection + 1, n = PetscPowInt(m, p->dim);
  PatchFDRule    onto;
  PetscReal     *L;
  V             *M, *X;
  void          *base;

  PetscFunctionBegin;
  if (points->projection < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDRuleCreate(points->degree, m, &onto));
  PetscCall(PetscMalloc1(p->c * m, &L));
  PetscCall(PatchFDRuleBasis(&onto, p->c, rule->x, L));
  PetscCall(PointsMatrix(p->c, m, L, &p->L, &p->Lt));
  PetscCall(PatchFDRuleDestroy(&onto));
  PetscCall(PetscFree(L));
  p->m = m;
  PetscCall(VMalloc((size_t)(p->nbatch * n * n), &p->N, &p->Nbase));
  PetscCall(VMalloc((size_t)(2 * n * n), &M, &base));
  X = M + n * n;
  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    const V *g = p->factor + (size_t)batch * p->npoint * p->nfactor + p->dim * p->dim;
    V       *N = p->N + batch * n * n;

    for (PetscInt i = 0; i < n * n; i++) M[i] = X[i] = (V){0};
    for (PetscInt q = 0; q < p->npoint; q++, g += p->nfactor) {
      for (PetscInt i = 0; i < n * n; i++) {
        REAL l = 1;

        for (PetscInt d = 0, at = q, r = i / n, s = i % n; d < p->dim; d++, at /= p->c, r /= m, s /= m)
          l *= p->L[at % p->c * m + r % m] * p->L[at % p->c * m + s % m];
        M[i] += l * g[0];
        X[i] += l * g[1];
      }
    }
    SolidInvert(n, M);
    SolidProduct(n, M, X, N);
    memcpy(X, N, (size_t)(n * n) * sizeof(V));
    SolidProduct(n, X, M, N);
  }
  PetscCall(PetscFree(base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* room for a batch, and what a product costs */
static PetscErrorCode SolidWork(PointsPlan *p)
{
  const size_t         slice = (size_t)(p->c * p->c), cube = (size_t)p->npoint, dim = (size_t)p->dim;
  const PetscLogDouble n = p->n, c = p->c, d = p->dim, points = p->npoint;
  V                   *v = NULL;

  PetscFunctionBegin;
  PetscCall(VMalloc((2 + 3 * dim + dim * dim) * cube + slice, &v, &p->base));
  p->a        = v;
  p->s        = v + cube;
  p->u        = v + 2 * cube;
  p->q        = p->u + dim * cube;
  p->t        = p->q + dim * cube;
  p->diagonal = p->t + dim * dim * cube;
  p->r        = p->diagonal + dim * cube;
  p->flops    = points * (4 * d * d * d + 3 * d * d + (p->N ? 4 * d * c : 0) + 8 * d * c) + (p->mass ? d * points : 0);
  p->flops += d * 4 * (p->dim == 3 ? c * n * n * n + c * c * n * n + 2 * c * c * c * n : c * n * n + c * c * n);
  p->flops *= (PetscLogDouble)p->ncells;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* q = values and t[b] = derivatives in reference direction b of a component at the points */
static inline __attribute__((always_inline)) void SolidForward(const PointsPlan *p, int dim, int n, int c, const V *u, V *q, V *t)
{
  const int cube = c * c * (dim == 3 ? c : 1);
  V        *a    = dim == 3 ? p->a : q;

  PointsInterpolate(p, n, c, dim == 3 ? n : 1, u, a);
  if (dim == 3) {
    PointsThird(c, n, c, p->B, a, q, PETSC_FALSE);
    PointsThird(c, n, c, p->D, a, t + 2 * cube, PETSC_FALSE);
  }
  for (int k = 0; k < cube; k += c * c) {
    LinesSame(c, c, c, p->C, q + k, 1, c, t + k, 1, c, PETSC_FALSE);
    LinesSame(c, c, c, p->C, q + k, c, 1, t + cube + k, c, 1, PETSC_FALSE);
  }
}

/* the adjoint */
static inline __attribute__((always_inline)) void SolidBackward(const PointsPlan *p, int dim, int n, int c, V *q, const V *t, V *u)
{
  const int cube = c * c * (dim == 3 ? c : 1);
  V        *a    = dim == 3 ? p->a : q;

  for (int k = 0; k < cube; k += c * c) {
    LinesSame(c, c, c, p->Ct, t + k, 1, c, q + k, 1, c, PETSC_TRUE);
    LinesSame(c, c, c, p->Ct, t + cube + k, c, 1, q + k, c, 1, PETSC_TRUE);
  }
  if (dim == 3) {
    PointsThird(n, c, c, p->Bt, q, a, PETSC_FALSE);
    PointsThird(n, c, c, p->Dt, t + 2 * cube, a, PETSC_TRUE);
  }
  PointsProject(p, n, c, dim == 3 ? n : 1, a, u);
}

/* H[a][e] = derivative of component a in direction e at point i */
static inline __attribute__((always_inline)) void SolidGradient(int dim, int cube, const V *g, const V *t, V H[3][3])
{
  for (int a = 0; a < dim; a++) {
    for (int e = 0; e < dim; e++) {
      H[a][e] = t[a * dim * cube] * g[e];
      for (int b = 1; b < dim; b++) H[a][e] += t[(a * dim + b) * cube] * g[b * dim + e];
    }
  }
}

static inline V SolidTrace(int dim, V H[3][3])
{
  return dim == 2 ? H[0][0] + H[1][1] : H[0][0] + H[1][1] + H[2][2];
}

/* s = L N L' (w |J| div u) at the points */
static inline __attribute__((always_inline)) void SolidPressure(const PointsPlan *p, PetscCount batch, const V *g, int dim, int c)
{
  const int m = (int)p->m, cube = c * c * (dim == 3 ? c : 1), n = m * m * (dim == 3 ? m : 1);
  PetscInt  size[3] = {c, c, dim == 3 ? c : 1};
  V        *x = p->s, *y = p->a, *swap, H[3][3];

  for (int i = 0; i < cube; i++) {
    SolidGradient(dim, cube, g + i * p->nfactor, p->t + i, H);
    x[i] = g[i * p->nfactor + dim * dim] * SolidTrace(dim, H);
  }
  for (int d = 0; d < 2 * dim; d++) {
    const PetscBool up = (PetscBool)(d >= dim);

    if (d == dim) {
      LineEach(n, n, p->N + batch * n * n, x, 1, y, 1, PETSC_FALSE);
      memcpy(x, y, (size_t)n * sizeof(V));
    }
    Contract(d % dim, size, up ? c : m, (Coef){up ? p->L : p->Lt, NULL}, x, y, PETSC_FALSE);
    size[d % dim] = up ? c : m;
    swap          = x;
    x             = y;
    y             = swap;
  }
}

/* S = A H with the upper triangle of A */
static inline __attribute__((always_inline)) void SolidTangent(int dim, const V *A, V H[3][3], V S[3][3])
{
  for (int i = 0; i < dim * dim; i++) S[i / dim][i % dim] = (V){0};
  for (int i = 0; i < dim * dim; i++) {
    for (int j = i; j < dim * dim; j++, A++) {
      S[i / dim][i % dim] += *A * H[j / dim][j % dim];
      if (j > i) S[j / dim][j % dim] += *A * H[i / dim][i % dim];
    }
  }
}

/* S of lambda and mu; s: of the pressure, where it is projected */
static inline __attribute__((always_inline)) void SolidStress(const PointsPlan *p, int dim, const V *scale, const V *s, V H[3][3],
                                                              V S[3][3])
{
  const V pressure = p->N ? scale[0] * *s : scale[1] * SolidTrace(dim, H);

  for (int a = 0; a < dim; a++) {
    for (int e = 0; e < dim; e++) S[a][e] = scale[2] * (H[a][e] + H[e][a]);
    S[a][a] += pressure;
  }
}

/* u = A u for a batch; dim, n and c are constants after inlining, as a rule */
static inline __attribute__((always_inline)) void SolidBatch(const PointsPlan *p, PetscCount batch, int dim, int n, int c)
{
  const int cube = c * c * (dim == 3 ? c : 1), size = n * n * (dim == 3 ? n : 1);
  const V  *g = p->factor + (size_t)batch * cube * p->nfactor;

  for (int a = 0; a < dim; a++) SolidForward(p, dim, n, c, p->u + a * size, p->q + a * cube, p->t + a * dim * cube);
  if (p->N) SolidPressure(p, batch, g, dim, c);
  for (int i = 0; i < cube; i++, g += p->nfactor) {
    const V *scale = g + dim * dim;
    V       *t     = p->t + i, H[3][3], S[3][3];

    ReadAhead((size_t)p->nfactor, g);
    SolidGradient(dim, cube, g, t, H);
    if (p->nkappa > 2) SolidTangent(dim, scale + 1, H, S);
    else SolidStress(p, dim, scale, p->s + i, H, S);
    for (int a = 0; a < dim; a++) {
      for (int b = 0; b < dim; b++) {
        V sum = S[a][0] * g[b * dim] + S[a][1] * g[b * dim + 1];

        if (dim == 3) sum += S[a][2] * g[b * dim + 2];
        t[(a * dim + b) * cube] = sum;
      }
      p->q[a * cube + i] = p->mass ? scale[1 + p->nkappa] * p->q[a * cube + i] : (V){0};
    }
  }
  for (int a = 0; a < dim; a++) SolidBackward(p, dim, n, c, p->q + a * cube, p->t + a * dim * cube, p->u + a * size);
}

/* t = the stresses of a batch at its nodes, those of polynomials that have the values at the points; X[n][c]: their values there */
static void SolidStresses(const PointsPlan *p, PetscCount batch, REAL *X)
{
  const int      dim = (int)p->dim, n = (int)p->n, c = (int)p->c, cube = (int)p->npoint, nstress = dim == 3 ? 6 : 4;
  const V       *g     = p->factor + (size_t)batch * cube * p->nfactor;
  const PetscInt nodes = p->size;

  for (int a = 0; a < dim; a++) SolidForward(p, dim, n, c, p->u + a * nodes, p->q + a * cube, p->t + a * dim * cube);
  if (p->N) SolidPressure(p, batch, g, dim, c);
  for (int i = 0; i < cube; i++, g += p->nfactor) {
    const V *scale = g + dim * dim, mu = scale[2] / scale[0];
    V        H[3][3], pressure, *s = p->t + i;

    SolidGradient(dim, cube, g, s, H);
    pressure = p->N ? p->s[i] : scale[1] / scale[0] * SolidTrace(dim, H);
    for (int a = 0; a < dim; a++) {
      for (int b = a; b < dim; b++, s += cube) {
        *s = mu * (H[a][b] + H[b][a]);
        if (a == b) *s += pressure;
      }
    }
    if (dim == 2) *s = pressure;
  }
  for (int k = 0; k < nstress; k++) {
    PetscInt size[3] = {c, c, dim == 3 ? c : 1};
    V       *x = p->t + k * cube, *y[2] = {p->a, p->s};

    for (int d = 0; d < dim; d++, x = y[(d + 1) % 2]) {
      Contract(d, size, n, (Coef){X, NULL}, x, y[d % 2], PETSC_FALSE);
      size[d] = n;
    }
    memcpy(p->t + k * cube, x, (size_t)nodes * sizeof(V));
  }
}

#define EACH_SOLID_DEGREE(F) F(1) F(2) F(3) F(4)
#define SOLID_DEGREE(N) \
  static void Solid2##N(const PointsPlan *p, PetscCount batch) \
  { \
    SolidBatch(p, batch, 2, (N) + 1, (N) + 1); \
  } \
  static void Solid3##N(const PointsPlan *p, PetscCount batch) \
  { \
    SolidBatch(p, batch, 3, (N) + 1, (N) + 1); \
  }
EACH_SOLID_DEGREE(SOLID_DEGREE)
#undef SOLID_DEGREE

static void SolidAny(const PointsPlan *p, PetscCount batch)
{
  if (p->dim == 2) SolidBatch(p, batch, 2, (int)p->n, (int)p->c);
  else SolidBatch(p, batch, 3, (int)p->n, (int)p->c);
}

static void SolidChoose(PointsPlan *p)
{
  p->apply = SolidAny;
  if (p->c != p->n) return;
#define CASE(N) \
  case N: \
    p->apply = p->dim == 2 ? Solid2##N : Solid3##N; \
    return;
  switch (p->n - 1) {
    EACH_SOLID_DEGREE(CASE)
  }
#undef CASE
}

/* column `col` of the matrices of the cells, in u */
static void SolidColumn(const PointsPlan *p, PetscCount batch, PetscInt col)
{
  memset(p->u, 0, (size_t)(p->dim * p->size) * sizeof(V));
  p->u[col] = Splat(1);
  (*p->apply)(p, batch);
}

static void SolidDiagonal(const PointsPlan *p, PetscCount batch)
{
  for (PetscInt i = 0; i < p->dim * p->size; i++) {
    SolidColumn(p, batch, i);
    p->diagonal[i] = p->u[i];
  }
}

/* the matrices of all cells, E[ncells][component, node][component, node] */
static void SolidMatrices(const PointsPlan *p, PetscReal E[])
{
  const PetscInt n = p->dim * p->size;

  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    for (PetscInt col = 0; col < n; col++) {
      SolidColumn(p, batch, col);
      for (PetscCount l = 0; l < VL && batch * VL + l < p->ncells; l++)
        for (PetscInt row = 0; row < n; row++) E[((batch * VL + l) * n + col) * n + row] = (PetscReal)((const REAL *)&p->u[row])[l];
    }
  }
}
