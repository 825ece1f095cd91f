/*
  Corrections of closed cells (PatchFDCellsDesc in kernels.h): a batch is VL cells, one in each lane, each with matrices of its own.
*/
#pragma once
#include "batch.h"

typedef struct _CellsPlan CellsPlan;
struct _CellsPlan {
  PetscInt       dim, n, ncomp, size; /* nodes in a direction; in a cell */
  PetscCount     nbatch;
  Index          index;
  V             *record, *shift, *scale, *u; /* [batch][direction][S, lambda]; [batch]; [batch][node]: C; of a batch */
  void          *base;
  PetscLogDouble flops;
  void (*solve)(const CellsPlan *, PetscCount batch);
};

/* numbers of a record that are used after set-up */
static inline __attribute__((always_inline)) PetscInt CellsRecord(PetscInt n)
{
  return n * (n + 1);
}

/* u = S u, or S' u, in direction d */
static inline __attribute__((always_inline)) void CellsTransform(int dim, int n, int d, PetscBool transpose, const V *S, V *u)
{
  const int inner = d == 0 ? 1 : (d == 1 ? n : n * n), outer = (d < 2 && dim == 3 ? n : 1) * (d < 1 ? n : 1);

  for (int o = 0; o < outer; o++) {
    for (int i = 0; i < inner; i++) {
      V *at = u + o * inner * n + i, x[PATCHFD_POINTS_MAX_DEGREE + 1];

      for (int c = 0; c < n; c++) x[c] = at[c * inner];
      for (int r = 0; r < n; r++) {
        V sum = S[transpose ? r : r * n] * x[0];

        for (int c = 1; c < n; c++) sum += S[transpose ? c * n + r : r * n + c] * x[c];
        at[r * inner] = sum;
      }
    }
  }
}

/* u = C (S (x) S (x) S) diag(1 / sum) (S (x) S (x) S)' C u; a sum that is zero is that of the constants of a cell that is alone */
static inline __attribute__((always_inline)) void CellsBatch(const CellsPlan *p, PetscCount batch, int dim, int n)
{
  const int n2   = dim == 3 ? n : 1;
  const V  *S[3] = {p->record + batch * dim * CellsRecord(n), NULL, NULL}, *scale = p->scale + batch * p->size;
  V        *u = p->u;

  for (int d = 1; d < dim; d++) S[d] = S[d - 1] + CellsRecord(n);
  for (int i = 0; i < n * n * n2; i++) u[i] *= scale[i];
  for (int d = 0; d < dim; d++) CellsTransform(dim, n, d, PETSC_TRUE, S[d], u);
  for (int k = 0, at = 0; k < n2; k++) {
    for (int j = 0; j < n; j++) {
      const V rest = S[1][n * n + j] + (dim == 3 ? S[2][n * n + k] : (V){0}) + p->shift[batch];

      for (int i = 0; i < n; i++, at++) {
        const V sum = S[0][n * n + i] + rest;

        u[at] = (V)((VMask)(u[at] / sum) & (VMask)(sum != 0));
      }
    }
  }
  for (int d = 0; d < dim; d++) CellsTransform(dim, n, d, PETSC_FALSE, S[d], u);
  for (int i = 0; i < n * n * n2; i++) u[i] *= scale[i];
}

#define CELLS_DEGREE(N) \
  static void CellsSolve2##N(const CellsPlan *p, PetscCount batch) \
  { \
    CellsBatch(p, batch, 2, (N) + 1); \
  } \
  static void CellsSolve3##N(const CellsPlan *p, PetscCount batch) \
  { \
    CellsBatch(p, batch, 3, (N) + 1); \
  }
EACH_DEGREE(CELLS_DEGREE)
#undef CELLS_DEGREE

static void CellsSolveAny(const CellsPlan *p, PetscCount batch)
{
  CellsBatch(p, batch, (int)p->dim, (int)p->n);
}

static void CellsChoose(CellsPlan *p)
{
#define CASE(N) \
  case N: \
    p->solve = p->dim == 2 ? CellsSolve2##N : CellsSolve3##N; \
    return;
  switch (p->n - 1) {
    EACH_DEGREE(CASE)
  }
  p->solve = CellsSolveAny;
#undef CASE
}

static PetscErrorCode CellsDestroy(void **plan)
{
  CellsPlan *p = (CellsPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IndexDestroy(&p->index));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellsCreate(const PatchFDCellsDesc *desc, void **plan)
{
  const PetscInt n = desc->degree + 1, size = PetscPowInt(n, desc->dim), used = desc->dim * CellsRecord(n);
  CellsPlan     *p;
  PetscReal     *scale;
  V             *v = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan     = p;
  p->dim    = desc->dim;
  p->n      = n;
  p->ncomp  = desc->ncomp;
  p->size   = size;
  p->nbatch = (desc->ncells + VL - 1) / VL;
  p->flops  = PatchFDCellsFlops(desc);
  PetscCall(IndexCreate(desc->ncells, size, desc->index, &p->index));
  PetscCall(VMalloc((size_t)p->nbatch * (size_t)(used + size + 1) + (size_t)size, &v, &p->base));
  p->record = v;
  p->scale  = p->record + p->nbatch * used;
  p->shift  = p->scale + p->nbatch * size;
  p->u      = p->shift + p->nbatch;
  PetscCall(PetscMalloc1(size, &scale));
  for (PetscCount i = 0; i < p->nbatch * VL; i++) { /* empty lanes are the last cell once more */
    const PetscCount cell = PetscMin(i, desc->ncells - 1), batch = i / VL;
    const int        lane = (int)(i % VL);

    for (PetscInt d = 0; d < desc->dim; d++) {
      const PetscReal *from = desc->record + (cell * desc->dim + d) * n * (n + 3);
      V               *to   = p->record + batch * used + d * CellsRecord(n);

      for (PetscInt j = 0; j < CellsRecord(n); j++) to[j][lane] = (REAL)from[j];
    }
    PatchFDCellsScale(desc, cell, scale);
    for (PetscInt j = 0; j < size; j++) p->scale[batch * size + j][lane] = (REAL)scale[j];
    p->shift[batch][lane] = (REAL)desc->shift[cell];
  }
  PetscCall(PetscFree(scale));
  CellsChoose(p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellsApply(void *plan, PetscReal alpha, const void *x, void *y)
{
  const CellsPlan *p = (const CellsPlan *)plan;

  PetscFunctionBegin;
  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    for (PetscInt comp = 0; comp < p->ncomp; comp++) {
      IndexGather(&p->index, batch, p->ncomp, (const REAL *)x + comp, p->u);
      (*p->solve)(p, batch);
      IndexScatter(&p->index, batch, p->ncomp, (REAL)alpha, p->u, (REAL *)y + comp);
    }
  }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
