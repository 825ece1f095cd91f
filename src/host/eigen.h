/*
  Eigenvectors of the patches of one direction, and lines of a block to modes and back.  Where a patch is mirror-symmetric its modes are
  even or odd:
  transforms work on sums and differences of mirrored entries, at half the multiplications.
*/
#pragma once
#include "lines.h"

/* one class of patches of a direction */
typedef struct {
  PetscInt  n, even; /* modes; even ones come first */
  PetscBool parity;
  /* S', C (only in a continuous space), S: full, and with parity the halves that act on sums and on differences */
  REAL *modes[3], *closure[3], *nodes[3];
  REAL *MI, *AI; /* with the columns of the closure in a continuous space, otherwise M_II and A_II */
  REAL *E[2];    /* discontinuous: columns of A for the cell below and above */
  REAL *lambda, *mu[2], *alpha[2];
} EigenClass;

/* the matrices and vectors of one direction for the batch at hand, an entry of each lane in a vector.  Of S', C and S with parity both
   halves */
typedef struct {
  PetscInt          n, ext;
  PetscBool         same, parity;
  Coef              MI, AI, E[2];
  const EigenClass *c; /* of the first lane */
  V                *modes[2], *closure[2], *nodes[2], *lambda, *mu[2], *alpha[2];
} BatchDirection;

/* full[0], of rows modes x columns nodes, `columns` in all, or the reverse, in halves */
static PetscErrorCode EigenHalves(PetscInt n, PetscInt even, PetscInt columns, PetscBool forward, REAL *full[3])
{
  const PetscInt odd = n - even, ce = even + (columns - n) / 2, co = odd + (columns - n) / 2;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2((size_t)(even * ce), &full[1], (size_t)(odd * co), &full[2]));
  for (PetscInt i = 0; i < even; i++)
    for (PetscInt j = 0; j < ce; j++) full[1][i * ce + j] = full[0][i * columns + j];
  for (PetscInt i = 0; i < odd; i++)
    for (PetscInt j = 0; j < co; j++) full[2][i * co + j] = forward ? full[0][(even + i) * columns + j] : full[0][i * columns + even + j];
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
  PetscCall(RealCopy(n * n, e->S, &c->nodes[0]));
  PetscCall(RealCopy(n * n, e->S, &c->modes[0]));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) c->modes[0][i * n + j] = c->nodes[0][j * n + i];
  if (e->mu[0]) {
    REAL *C;

    PetscCall(PetscMalloc1(n * (n + 2), &C));
    c->closure[0] = C;
    for (size_t i = 0; i < n; i++) {
      C[i * (n + 2)]         = (REAL)e->mu[0][i];
      C[i * (n + 2) + n + 1] = (REAL)e->mu[1][i];
      for (size_t j = 0; j < n; j++) C[i * (n + 2) + j + 1] = (REAL)e->T[i * n + j];
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
    PetscCall(EigenHalves(e->n, c->even, e->n, PETSC_FALSE, c->nodes));
    PetscCall(EigenHalves(e->n, c->even, e->n, PETSC_TRUE, c->modes));
    if (e->mu[0]) PetscCall(EigenHalves(e->n, c->even, e->n + 2, PETSC_TRUE, c->closure));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EigenClassDestroy(EigenClass *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->modes[0]));
  PetscCall(PetscFree(c->closure[0]));
  PetscCall(PetscFree(c->nodes[0]));
  PetscCall(PetscFree(c->MI));
  PetscCall(PetscFree(c->AI));
  PetscCall(PetscFree(c->lambda));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscFree(c->E[i]));
    PetscCall(PetscFree(c->mu[i]));
    PetscCall(PetscFree(c->alpha[i]));
  }
  PetscCall(PetscFree2(c->modes[1], c->modes[2]));
  PetscCall(PetscFree2(c->closure[1], c->closure[2]));
  PetscCall(PetscFree2(c->nodes[1], c->nodes[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transforms of a line; `line` is a work line ---- */

/* to modes from the n nodes of a patch, or from those of its closure; in and out may be the same */
static inline __attribute__((always_inline)) void ModesLine(V *const m[2], PetscBool parity, PetscInt n, PetscBool closure, const V *in,
                                                            ptrdiff_t is, V *out, ptrdiff_t os, V *line)
{
  const PetscInt even = (n + 1) / 2, odd = n / 2, rim = closure ? 1 : 0, c = n + 2 * rim;

  if (!parity) {
    for (PetscInt i = 0; i < c; i++) line[i] = in[i * is];
    LineEach(n, c, m[0], line, 1, out, os, PETSC_FALSE);
    return;
  }
  _Pragma("GCC unroll 9") for (PetscInt i = 0; i < odd + rim; i++)
  {
    const V a = in[i * is], b = in[(c - 1 - i) * is];

    line[i]              = a + b;
    line[even + rim + i] = a - b;
  }
  if (even > odd) line[odd + rim] = in[(odd + rim) * is];
  LineEach(even, even + rim, m[0], line, 1, out, os, PETSC_FALSE);
  LineEach(odd, odd + rim, m[1], line + even + rim, 1, out + even * os, os, PETSC_FALSE);
}

/* what a pair of faces is in mode i, times its factors: with parity `lo` is their sum and `hi` their difference */
static inline __attribute__((always_inline)) V FacePair(PetscBool parity, PetscInt n, PetscInt i, V *const factor[2], V lo, V hi)
{
  return parity ? factor[0][i] * (i < (n + 1) / 2 ? lo : hi) : factor[0][i] * lo + factor[1][i] * hi;
}

/* to nodes; `faces` are the values of the line's two, or NULL */
static inline __attribute__((always_inline)) void NodesLine(const BatchDirection *d, PetscBool parity, PetscInt n, const V *lo, const V *hi,
                                                            const V *in, ptrdiff_t is, V *out, ptrdiff_t os, V *line)
{
  const PetscInt even = (n + 1) / 2, odd = n / 2;

  _Pragma("GCC unroll 16") for (PetscInt i = 0; i < n; i++) line[i] = in[i * is];
  if (lo) _Pragma("GCC unroll 16") for (PetscInt i = 0; i < n; i++) line[i] -= FacePair(parity, n, i, d->mu, *lo, *hi);
  if (!parity) {
    LineEach(n, n, d->nodes[0], line, 1, out, os, PETSC_FALSE);
    return;
  }
  LineEach(even, even, d->nodes[0], line, 1, line + n, 1, PETSC_FALSE);
  LineEach(odd, odd, d->nodes[1], line + even, 1, line + n + even, 1, PETSC_FALSE);
  if (even > odd) out[odd * os] = line[n + odd];
  _Pragma("GCC unroll 8") for (PetscInt i = 0; i < odd; i++)
  {
    const V e = line[n + i], o = line[n + even + i];

    out[i * os]           = e + o;
    out[(n - 1 - i) * os] = e - o;
  }
}

/* FUNCTION(n) for each length of a line that the compiler is to know: the usual degrees have parity */
#define LENGTHS(FUNCTION) FUNCTION(1) FUNCTION(3) FUNCTION(5) FUNCTION(7) FUNCTION(9) FUNCTION(11) FUNCTION(13) FUNCTION(15)

/* `inner` lines from the closure, each inner x outer of a block: entry i of line (l, o) at l + (i + o * n) * inner; as they are where the
   direction does not exist */
static inline __attribute__((always_inline)) void ClosureLines(const BatchDirection *d, PetscBool parity, PetscInt n, PetscInt inner,
                                                               PetscInt outer, const V *in, V *out, V *line)
{
  if (!d->ext) {
    memcpy(out, in, (size_t)(inner * outer) * sizeof(V));
    return;
  }
  for (PetscInt o = 0; o < outer; o++)
    for (PetscInt l = 0; l < inner; l++)
      ModesLine(d->closure, parity, n, PETSC_TRUE, in + o * inner * (n + 2) + l, inner, out + o * inner * n + l, inner, line);
}
