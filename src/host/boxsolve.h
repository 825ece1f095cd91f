/* the steps of the direct solve of the whole box (patchfd/private/boxsolve.h).  The matrices are large, so BLAS multiplies them. */
#pragma once
#include "lines.h"
#include <patchfd/private/boxsolve.h>
#include <petscblaslapack.h>

/* PETSc declares the BLAS for PetscScalar only */
extern void GEMM(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const REAL *, const REAL *, const PetscBLASInt *, const REAL *, const PetscBLASInt *,
                 const REAL *, REAL *, const PetscBLASInt *);

typedef struct {
  PetscInt blocks[3], size[3];
  REAL    *S[3], *lambda[3];
} BoxSolvePlan;

static PetscErrorCode BoxSolveDestroy(void **plan)
{
  BoxSolvePlan *p = (BoxSolvePlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscFree(p->S[d]));
    PetscCall(PetscFree(p->lambda[d]));
  }
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveCreate(const PatchFDBoxLine line[3], void **plan)
{
  BoxSolvePlan *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  for (int d = 0; d < 3; d++) {
    p->blocks[d] = line[d].blocks;
    p->size[d]   = line[d].size;
    PetscCall(RealCopy((size_t)line[d].blocks * line[d].size * line[d].size, line[d].S, &p->S[d]));
    PetscCall(RealCopy((size_t)PatchFDBoxLineLength(&line[d]), line[d].lambda, &p->lambda[d]));
  }
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- folds: node i of a line and its mirror image n - 1 - i, in all directions that are folded, at once ---- */

/* numbers of a block in each direction, and where corner c of up to eight is: bit d of c is the second block of direction d, or the mirror image */
static size_t BoxSolveNumber(const PatchFDBoxFold *f, const PetscInt i[3], int c)
{
  size_t at = 0;

  for (int d = 2; d >= 0; d--) at = at * (size_t)PatchFDBoxLineLength(&f->line[d]) + (size_t)((c >> d & 1) * f->line[d].size + i[d]);
  return at;
}

/* false for a node that does not exist, or that is its own mirror image */
static PetscBool BoxSolveNode(const PatchFDBoxFold *f, const PetscInt i[3], int c, ptrdiff_t *at)
{
  PetscInt node[3];

  for (int d = 0; d < 3; d++) {
    const PetscInt mirror = f->line[d].n - 1 - i[d];

    if (c >> d & 1 ? mirror <= i[d] : i[d] >= f->line[d].n || (f->line[d].blocks == 2 && mirror < i[d])) return PETSC_FALSE;
    node[d] = f->first[d] + (c >> d & 1 ? mirror : i[d]);
  }
  *at = PatchFDBoxNode(&f->box, node[0], node[1], node[2]);
  return PETSC_TRUE;
}

/* which bits corners have */
static int BoxSolveBits(const PatchFDBoxFold *f)
{
  return (f->line[0].blocks - 1) | (f->line[1].blocks - 1) << 1 | (f->line[2].blocks - 1) << 2;
}

/* sums and differences in the directions of these bits */
static void BoxSolveButterfly(int bits, REAL a[8])
{
  for (int bit = 1; bit < 8; bit *= 2) {
    for (int c = 0; c < 8 && (bits & bit); c++) {
      if ((c & bit) || (c & ~bits)) continue;
      const REAL even = a[c], odd = a[c | bit];

      a[c]       = even + odd;
      a[c | bit] = even - odd;
    }
  }
}

/* the lines of direction 0 that are folded into each other: where corners begin in both arrays, NULL for nodes that do not exist; corner c | 1 goes backwards from the end of c */
static void BoxSolveLines(const PatchFDBoxFold *f, PetscInt j, PetscInt k, REAL *nodes, REAL *folded, REAL *node[8], REAL *number[8])
{
  const PetscInt i[3] = {0, j, k};

  for (int c = 0; c < 8; c++) {
    ptrdiff_t at;

    node[c]   = BoxSolveNode(f, i, c & ~1, &at) ? nodes + at : NULL;
    number[c] = folded + BoxSolveNumber(f, i, c);
  }
}

/* so many numbers of a line are its nodes from the front (end 0) or from the back */
static PetscInt BoxSolveCount(const PatchFDBoxLine *l, int end)
{
  return l->blocks == 1 ? (end ? 0 : l->n) : (l->n + 1 - end) / 2;
}

static PetscErrorCode BoxSolveFold(const PatchFDBoxFold *f, const void *nodes, void *folded)
{
  const int      bits = BoxSolveBits(f);
  const PetscInt last = f->line[0].n - 1, n[2] = {BoxSolveCount(&f->line[0], 0), BoxSolveCount(&f->line[0], 1)};
  REAL          *node[8], *number[8];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < f->line[2].size; k++) {
    for (PetscInt j = 0; j < f->line[1].size; j++) {
      BoxSolveLines(f, j, k, (REAL *)nodes, (REAL *)folded, node, number);
      for (PetscInt i = 0; i < f->line[0].size; i++) {
        REAL a[8];

        for (int c = 0; c < 8; c++) a[c] = c & ~bits || !node[c] || i >= n[c & 1] ? 0 : node[c][c & 1 ? last - i : i];
        BoxSolveButterfly(bits, a);
        /* the differences of a node with itself, which would not be zero, meet rows of zeros */
        for (int c = 0; c < 8; c++)
          if (!(c & ~bits)) number[c][i] = a[c];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveUnfold(const PatchFDBoxFold *f, const void *folded, void *nodes)
{
  const int      bits = BoxSolveBits(f);
  const PetscInt last = f->line[0].n - 1, n[2] = {BoxSolveCount(&f->line[0], 0), BoxSolveCount(&f->line[0], 1)};
  REAL          *node[8], *number[8];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < f->line[2].size; k++) {
    for (PetscInt j = 0; j < f->line[1].size; j++) {
      BoxSolveLines(f, j, k, (REAL *)nodes, (REAL *)folded, node, number);
      for (PetscInt i = 0; i < f->line[0].size; i++) {
        REAL a[8];

        for (int c = 0; c < 8; c++) a[c] = c & ~bits ? 0 : number[c][i];
        BoxSolveButterfly(bits, a);
        for (int c = 0; c < 8; c++)
          if (!(c & ~bits) && node[c] && i < n[c & 1]) node[c][c & 1 ? last - i : i] = a[c];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- modes ---- */

static PetscErrorCode BoxSolveProduct(void *plan, const PatchFDBoxProduct *q, PetscBool back, PetscBool add, void *numbers, void *modes)
{
  const BoxSolvePlan *p    = (const BoxSolvePlan *)plan;
  const PetscInt      size = p->size[q->d], count = q->all ? size : q->n, blocks = q->all ? p->blocks[q->d] : 1;
  const REAL         *S    = p->S[q->d] + (q->all ? 0 : (size_t)q->block * size * size + q->first), one = 1, beta = add ? 1 : 0;
  PetscBLASInt        h, n, inner, outer, lx, ly;

  PetscFunctionBegin;
  if (!count || !q->inner || !q->outer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(size, &h));
  PetscCall(PetscBLASIntCast(count, &n));
  PetscCall(PetscBLASIntCast(q->inner, &inner));
  PetscCall(PetscBLASIntCast(q->outer, &outer));
  PetscCall(PetscBLASIntCast(q->numbers, &lx));
  PetscCall(PetscBLASIntCast(q->modes, &ly));
  for (PetscInt b = 0; b < blocks; b++) {
    REAL *x = (REAL *)numbers + b * size * q->inner, *y = (REAL *)modes + b * size * q->inner;

    /* BLAS reads our row-major S as its transpose */
    if (inner == 1) {
      if (back) GEMM("T", "N", &h, &outer, &n, &one, S, &h, y, &ly, &beta, x, &lx);
      else GEMM("N", "N", &n, &outer, &h, &one, S, &h, x, &lx, &beta, y, &ly);
    } else {
      for (PetscBLASInt k = 0; k < outer; k++, x += (size_t)inner * lx, y += (size_t)inner * ly) {
        if (back) GEMM("N", "N", &inner, &h, &n, &one, y, &inner, S, &h, &beta, x, &inner);
        else GEMM("N", "T", &inner, &n, &h, &one, x, &inner, S, &h, &beta, y, &inner);
      }
    }
    S += (size_t)size * size;
  }
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)blocks * size * count * q->inner * q->outer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveDivide(void *plan, const PatchFDRange r, void *modes)
{
  const BoxSolvePlan *p = (const BoxSolvePlan *)plan;
  REAL               *u = (REAL *)modes;

  PetscFunctionBegin;
  for (PetscInt k = r[2][0]; k < r[2][1]; k++) {
    for (PetscInt j = r[1][0]; j < r[1][1]; j++) {
      for (PetscInt i = r[0][0]; i < r[0][1]; i++, u++) {
        const REAL D = p->lambda[0][i] + p->lambda[1][j] + p->lambda[2][k];

        *u = D == 0 ? 0 : *u / D; /* zero: the constant of a pure Neumann problem, and numbers that stand for nothing */
      }
    }
  }
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)PatchFDRangeSize(r)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
