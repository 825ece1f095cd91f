/*
  Eigenvectors of the patches of one direction, and lines of a block to modes and back.  Where a patch is mirror-symmetric its modes are even or odd:
  transforms work on sums and differences of mirrored entries, at half the multiplications.
*/
#pragma once
#include "lines.h"

/* one class of patches of a direction */
typedef struct {
  PetscInt  n, even; /* modes; even ones come first */
  PetscBool parity;
  REAL     *S, *St, *C, *MI, *AI;             /* full matrices; C, MI and AI with the columns of the closure in a continuous space, C is only there */
  REAL     *E[2];                             /* discontinuous: columns of A for the cell below and above; MI, AI are M_II, A_II */
  REAL     *Se, *So, *Ste, *Sto, *Ce, *Co;    /* parity: the halves that act on sums (even) and differences (odd) */
  REAL     *lambda, *mu[2], *alpha[2];
} EigenClass;

/* the matrices and vectors of one direction for the batch at hand */
typedef struct {
  PetscInt  n, ext, even;
  PetscBool same, parity;
  Coef      S, St, C, MI, AI, E[2];
  const EigenClass *c;                 /* the common class, when parity is used */
  V        *lambda, *mu[2], *alpha[2]; /* a vector for each lane */
} BatchDirection;

/* of rows modes x columns nodes, `columns` in all, or the reverse */
static PetscErrorCode EigenHalves(PetscInt n, PetscInt even, PetscInt columns, PetscBool forward, const REAL *full, REAL **e, REAL **o)
{
  const PetscInt odd = n - even, ce = even + (columns - n) / 2, co = odd + (columns - n) / 2;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2((size_t)(even * ce), e, (size_t)(odd * co), o));
  for (PetscInt i = 0; i < even; i++)
    for (PetscInt j = 0; j < ce; j++) (*e)[i * ce + j] = full[i * columns + j];
  for (PetscInt i = 0; i < odd; i++)
    for (PetscInt j = 0; j < co; j++) (*o)[i * co + j] = forward ? full[(even + i) * columns + j] : full[i * columns + even + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `count` columns of MI or AI, from column `first` on */
static PetscErrorCode ColumnsCopy(const PatchFDEigen *e, const PetscReal *X, size_t first, size_t count, REAL **to)
{
  const size_t n = (size_t)e->n, ld = n + 2 * (size_t)e->ext;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * count, to));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < count; j++) (*to)[i * count + j] = (REAL)X[i * ld + first + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EigenClassCreate(const PatchFDEigen *e, EigenClass *c)
{
  const size_t n = (size_t)e->n, ext = (size_t)e->ext;

  PetscFunctionBegin;
  c->n      = e->n;
  c->even   = (e->n + 1) / 2;
  c->parity = e->parity;
  PetscCall(RealCopy(n * n, e->S, &c->S));
  PetscCall(RealCopy(n * n, e->S, &c->St));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) c->St[i * n + j] = c->S[j * n + i];
  if (e->mu[0]) {
    PetscCall(PetscMalloc1(n * (n + 2), &c->C));
    for (size_t i = 0; i < n; i++) {
      c->C[i * (n + 2)]         = (REAL)e->mu[0][i];
      c->C[i * (n + 2) + n + 1] = (REAL)e->mu[1][i];
      for (size_t j = 0; j < n; j++) c->C[i * (n + 2) + j + 1] = (REAL)e->T[i * n + j];
    }
  }
  PetscCall(ColumnsCopy(e, e->MI, e->mu[0] ? 0 : ext, e->mu[0] ? n + 2 * ext : n, &c->MI));
  PetscCall(ColumnsCopy(e, e->AI, e->mu[0] ? 0 : ext, e->mu[0] ? n + 2 * ext : n, &c->AI));
  for (int i = 0; i < 2 && !e->mu[0]; i++) PetscCall(ColumnsCopy(e, e->AI, i ? ext + n : 0, ext, &c->E[i]));
  PetscCall(RealCopy(n, e->lambda, &c->lambda));
  for (int i = 0; i < 2 && e->mu[i]; i++) {
    PetscCall(RealCopy(n, e->mu[i], &c->mu[i]));
    PetscCall(RealCopy(n, e->alpha[i], &c->alpha[i]));
  }
  if (e->parity) {
    PetscCall(EigenHalves(e->n, c->even, e->n, PETSC_FALSE, c->S, &c->Se, &c->So));
    PetscCall(EigenHalves(e->n, c->even, e->n, PETSC_TRUE, c->St, &c->Ste, &c->Sto));
    if (c->C) PetscCall(EigenHalves(e->n, c->even, e->n + 2, PETSC_TRUE, c->C, &c->Ce, &c->Co));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EigenClassDestroy(EigenClass *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->S));
  PetscCall(PetscFree(c->St));
  PetscCall(PetscFree(c->C));
  PetscCall(PetscFree(c->MI));
  PetscCall(PetscFree(c->AI));
  PetscCall(PetscFree(c->lambda));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscFree(c->E[i]));
    PetscCall(PetscFree(c->mu[i]));
    PetscCall(PetscFree(c->alpha[i]));
  }
  PetscCall(PetscFree2(c->Se, c->So));
  PetscCall(PetscFree2(c->Ste, c->Sto));
  PetscCall(PetscFree2(c->Ce, c->Co));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transforms of a direction ---- */

typedef enum {
  TO_MODES,      /* S': right-hand sides */
  CLOSURE_MODES, /* C: values on the closure */
  TO_NODES       /* S */
} Transform;

/* to modes from the n nodes of a patch, or from those of its closure; in and out may be the same.  `line` is a work line */
static inline __attribute__((always_inline)) void ModesLine(const BatchDirection *d, PetscBool parity, PetscInt n, PetscBool closure, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, V *line)
{
  const PetscInt even = (n + 1) / 2, odd = n / 2, rim = closure ? 1 : 0, m = n + 2 * rim;

  if (!parity) {
    for (PetscInt i = 0; i < m; i++) line[i] = in[i * is];
    Line(n, m, closure ? d->C : d->St, line, 1, out, os, PETSC_FALSE);
    return;
  }
  _Pragma("GCC unroll 9") for (PetscInt i = 0; i < odd + rim; i++) {
    const V a = in[i * is], b = in[(m - 1 - i) * is];

    line[i]              = a + b;
    line[even + rim + i] = a - b;
  }
  if (even > odd) line[odd + rim] = in[(odd + rim) * is];
  LineSame(even, even + rim, closure ? d->c->Ce : d->c->Ste, line, 1, out, os, PETSC_FALSE);
  LineSame(odd, odd + rim, closure ? d->c->Co : d->c->Sto, line + even + rim, 1, out + even * os, os, PETSC_FALSE);
}

/* what the values of the two faces at the ends of lines subtract from modes: one number each for a line, or with parity their sum and difference */
typedef struct {
  const V *value[2]; /* or NULL */
} Lift;

/* to nodes, for line l of those that the faces have values for */
static inline __attribute__((always_inline)) void NodesLine(const BatchDirection *d, PetscBool parity, PetscInt n, const Lift *lift, ptrdiff_t l, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, V *line)
{
  const PetscInt even = (n + 1) / 2, odd = n / 2;

  _Pragma("GCC unroll 16") for (PetscInt i = 0; i < n; i++) line[i] = in[i * is];
  if (lift->value[0]) {
    const V lo = lift->value[0][l], hi = lift->value[1][l];

    _Pragma("GCC unroll 16") for (PetscInt i = 0; i < n; i++) {
      if (parity) line[i] -= d->mu[0][i] * (i < even ? lo : hi);
      else line[i] -= d->mu[0][i] * lo + d->mu[1][i] * hi;
    }
  }
  if (!parity) {
    Line(n, n, d->S, line, 1, out, os, PETSC_FALSE);
    return;
  }
  LineSame(even, even, d->c->Se, line, 1, line + n, 1, PETSC_FALSE);
  LineSame(odd, odd, d->c->So, line + even, 1, line + n + even, 1, PETSC_FALSE);
  if (even > odd) out[odd * os] = line[n + odd];
  _Pragma("GCC unroll 8") for (PetscInt i = 0; i < odd; i++) {
    const V e = line[n + i], o = line[n + even + i];

    out[i * os]           = e + o;
    out[(n - 1 - i) * os] = e - o;
  }
}

/*
  `inner` lines, each inner x outer of a block: entry i of line (l, o) at l + (i + o * n) * inner, with is and os entries between
  the groups o of in and out.  With parity and the usual degrees the lengths are known to the compiler.
*/
static inline __attribute__((always_inline)) void TransformAll(const BatchDirection *d, Transform t, PetscInt inner, PetscInt outer, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, const Lift *lift, V *work)
{
#define LINES(PARITY, N, LINE) \
  for (PetscInt o = 0; o < outer; o++) { \
    for (PetscInt l = 0; l < inner; l++) { \
      if (t == TO_NODES) NodesLine(d, PARITY, N, lift, o * inner + l, in + o * is + l, inner, out + o * os + l, inner, LINE); \
      else ModesLine(d, PARITY, N, (PetscBool)(t == CLOSURE_MODES), in + o * is + l, inner, out + o * os + l, inner, LINE); \
    } \
  }
#define CASE(N) \
  case N: { \
    V line[2 * N + 2]; \
\
    LINES(PETSC_TRUE, N, line); \
    return; \
  }
  if (d->parity) {
    switch (d->n) {
      CASE(1);
      CASE(3);
      CASE(5);
      CASE(7);
      CASE(9);
      CASE(11);
      CASE(13);
      CASE(15);
    }
  }
  LINES(d->parity, d->n, work);
#undef CASE
#undef LINES
}

static __attribute__((noinline)) void TransformToModes(const BatchDirection *d, PetscInt inner, PetscInt outer, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, V *work)
{
  TransformAll(d, TO_MODES, inner, outer, in, is, out, os, NULL, work);
}

static __attribute__((noinline)) void TransformClosure(const BatchDirection *d, PetscInt inner, PetscInt outer, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, V *work)
{
  TransformAll(d, CLOSURE_MODES, inner, outer, in, is, out, os, NULL, work);
}

/* in place; the faces' values are those of the lines in order, or NULL */
static __attribute__((noinline)) void TransformToNodes(const BatchDirection *d, PetscInt inner, PetscInt outer, V *u, const V *lo, const V *hi, V *work)
{
  const Lift lift = {{lo, hi}}, none = {{NULL, NULL}};

  if (lo) TransformAll(d, TO_NODES, inner, outer, u, inner * d->n, u, inner * d->n, &lift, work);
  else TransformAll(d, TO_NODES, inner, outer, u, inner * d->n, u, inner * d->n, &none, work);
}
