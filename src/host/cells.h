/*
  Corrections of closed cells (PatchFDCellsDesc in kernels.h): a batch is VL cells, one in each lane, each with matrices of its own.
*/
#pragma once
#include "fit.h"

typedef struct _CellsPlan CellsPlan;
struct _CellsPlan {
  PetscInt       dim, n, ncomp, comp[2], size; /* nodes in a direction; in a cell */
  PetscCount     nbatch;
  Index          index;
  V             *record, *shift, *scale, *u; /* [batch][direction][S, lambda]; [batch]; [batch][node]: C; of a batch */
  void          *base;
  PetscLogDouble flops;
  void (*solve)(const CellsPlan *, PetscCount batch);
  /* until the plan is finished */
  PatchFDCellsDesc desc;
  PatchFDCellFit   fit;
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
  PetscCall(PatchFDHostCellFitDestroy(&p->fit));
  PetscCall(IndexDestroy(&p->index));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the fits of all cells, each for itself */
static PetscErrorCode CellsFit(const PointsPlan *points, PatchFDCellFit *fit)
{
  PatchFDFitMeans m;

  PetscFunctionBegin;
  PetscCall(PatchFDHostFitMeansCreate(points->dim, points->c, VL, points->stiff, points->mass, &m));
  for (PetscCount batch = 0; batch < points->nbatch; batch++) {
    PetscCall(PetscArrayzero(m.mean, VL * m.dim * m.dim * m.points));
    PetscCall(PetscArrayzero(m.shift, VL));
    FitMeansAdd(points, batch, 0, &m);
    for (PetscInt l = 0; l < VL && batch * VL + l < fit->ncells; l++) PatchFDHostCellFitSet(&m, l, batch * VL + l, fit);
  }
  PetscCall(PatchFDHostFitMeansDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellsCreate(const PatchFDCellsDesc *desc, void *operatorplan, void **plan)
{
  const PatchFDPoints *nodes  = &desc->points;
  const PointsPlan    *points = ((const OperatorPlan *)operatorplan)->points;
  CellsPlan           *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan      = p;
  p->desc    = *desc;
  p->dim     = nodes->dim;
  p->n       = nodes->degree + 1;
  p->ncomp   = nodes->ncomp;
  p->comp[0] = desc->comp[0];
  p->comp[1] = desc->comp[1];
  p->size    = PetscPowInt(p->n, p->dim);
  p->nbatch  = (nodes->ncells + VL - 1) / VL;
  p->flops   = PatchFDCellsFlops(desc);
  PetscCall(IndexCreate(nodes->ncells, p->size, nodes->index, &p->index));
  PetscCall(PatchFDHostCellFitCreate(nodes, points->gauss ? points->c : 0, &p->fit));
  PetscCall(CellsFit(points, &p->fit));
  CellsChoose(p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellsSides(void *plan, PetscInt number, PetscBool add, double *sums)
{
  CellsPlan *p = (CellsPlan *)plan;

  PetscFunctionBegin;
  if (add) PatchFDHostCellSidesAdd(&p->desc.points, number, &p->fit, sums);
  else PatchFDHostCellSidesGet(&p->desc.points, number, sums, &p->fit);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellsCount(void *plan, double *sums)
{
  PetscFunctionBegin;
  PatchFDHostCellCount(&((CellsPlan *)plan)->desc.points, sums);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v at all nodes of cells */
static void CellsWeights(const PatchFDPoints *nodes, const double count[], const REAL diagonal[], PetscReal v[], PetscBool *positive)
{
  *positive = PETSC_TRUE;
  for (PetscCount i = 0; i < nodes->nnodes; i++) {
    const PetscReal entry = (PetscReal)diagonal[i * nodes->ncomp];

    if (!(count[i * nodes->ncomp] > 0)) continue;
    *positive = (PetscBool)(*positive && entry > 0 && entry < PETSC_MAX_REAL);
    v[i]      = 1 / PetscSqrtReal(PetscAbsReal(entry) * count[i * nodes->ncomp]);
  }
}

static PetscErrorCode CellsFinish(void *plan, const double *count, const void *diagonal, PetscBool *positive)
{
  CellsPlan           *p     = (CellsPlan *)plan;
  const PatchFDPoints *nodes = &p->desc.points;
  const PetscInt       n = p->n, used = p->dim * CellsRecord(n), size = p->size;
  const PetscCount     stride = p->dim * PatchFDFitRecordSize(n);
  PetscReal           *record, *v, *scale;
  V                   *base = NULL;

  PetscFunctionBegin;
  PatchFDHostCellSidesRobin(&p->desc, &p->fit);
  PetscCall(PetscCalloc3(nodes->ncells * stride, &record, nodes->nnodes, &v, size, &scale));
  CellsWeights(nodes, count, (const REAL *)diagonal + p->comp[0], v, positive);
  PetscCall(PatchFDHostCellFitRecords(&p->fit, record));
  PetscCall(VMalloc((size_t)p->nbatch * (size_t)(used + size + 1) + (size_t)size, &base, &p->base));
  p->record = base;
  p->scale  = p->record + p->nbatch * used;
  p->shift  = p->scale + p->nbatch * size;
  p->u      = p->shift + p->nbatch;
  for (PetscCount i = 0; i < p->nbatch * VL; i++) { /* empty lanes are the last cell once more */
    const PetscCount cell = PetscMin(i, nodes->ncells - 1), batch = i / VL;
    const PetscReal *own  = record + cell * stride;
    const int        lane = (int)(i % VL);

    for (PetscInt d = 0; d < p->dim; d++) {
      V *to = p->record + batch * used + d * CellsRecord(n);

      for (PetscInt j = 0; j < CellsRecord(n); j++) to[j][lane] = (REAL)own[d * PatchFDFitRecordSize(n) + j];
    }
    PatchFDHostCellScale(nodes, own, p->fit.shift[cell], nodes->index + cell * size, v, scale);
    for (PetscInt j = 0; j < size; j++) p->scale[batch * size + j][lane] = (REAL)scale[j];
    p->shift[batch][lane] = (REAL)p->fit.shift[cell];
  }
  PetscCall(PetscFree3(record, v, scale));
  PetscCall(PatchFDHostCellFitDestroy(&p->fit));
  p->desc = (PatchFDCellsDesc){0};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellsApply(void *plan, PetscReal alpha, const void *x, void *y)
{
  const CellsPlan *p = (const CellsPlan *)plan;

  PetscFunctionBegin;
  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    for (PetscInt comp = p->comp[0]; comp < p->comp[1]; comp++) {
      IndexGather(&p->index, batch, p->ncomp, (const REAL *)x + comp, p->u);
      (*p->solve)(p, batch);
      IndexScatter(&p->index, batch, p->ncomp, (REAL)alpha, p->u, (REAL *)y + comp);
    }
  }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellsNoise(const PatchFDBox *box, void *u)
{
  REAL *a = (REAL *)u;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < box->n[2]; k++)
    for (PetscInt j = 0; j < box->n[1]; j++)
      for (PetscInt i = 0; i < box->n[0]; i++)
        *a++ = (REAL)PatchFDFitNoise((unsigned)(box->lo[0] + i), (unsigned)(box->lo[1] + j), (unsigned)(box->lo[2] + k));
  PetscFunctionReturn(PETSC_SUCCESS);
}
