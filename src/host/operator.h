/*
  y = y0 + alpha A x,  A = A0 (x) M1 (x) M2 + M0 (x) A1 (x) M2 + M0 (x) M1 (x) A2  summed over cells (direction 0 is x).

  A batch is VL cells; with u the block of a cell's nodes, (n nodes in a direction)

    p = M0 u,  q = A0 u          n^3 nodes each
    s = M1 q + A1 p,  t = M1 p
    y += M2 s + A2 t

  seven contractions (Cui, Grosse-Bley, Kanschat, Strzodka, eq. 2.12 with the common factors taken out).  Any other sum of terms: terms.h; operators by quadrature: points.h.
*/
#pragma once
#include "points.h"
#include "terms.h"

typedef struct {
  PatchFDField    field;
  PatchFDRange    cells;
  PetscInt        n[3], stride[3]; /* nodes of a cell, and from one cell to the next */
  const PetscInt *cls[3];          /* of the cells, for both matrices */
  REAL           *M[3], *A[3];     /* [nclass][n * n] */
  V              *block[5], *lanes[6];
  void           *base;
  PetscLogDouble  flops;
} SumPlan;

static PetscErrorCode SumDestroy(SumPlan *p)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscFree(p->M[d]));
    PetscCall(PetscFree(p->A[d]));
  }
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SumCreate(const PatchFDOperatorDesc *desc, const PatchFDBand *const A[3], const PatchFDBand *const M[3], SumPlan **plan)
{
  SumPlan *p;
  PetscInt size = 1, lanes = 0;
  V       *v = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->field = desc->field[0];
  PetscCall(PetscArraycpy(p->cells, desc->cells, 3));
  for (int d = 0; d < 3; d++) {
    const PetscInt n = M[d]->nloc;

    p->n[d]      = n;
    p->stride[d] = M[d]->stride;
    p->cls[d]    = M[d]->cls;
    PetscCall(RealCopy((size_t)(M[d]->nclass * n * n), M[d]->X, &p->M[d]));
    PetscCall(RealCopy((size_t)(A[d]->nclass * n * n), A[d]->X, &p->A[d]));
    size *= n;
    lanes += 2 * n * n;
  }
  PetscCall(VMalloc(5 * (size_t)size + lanes, &v, &p->base));
  for (int i = 0; i < 5; i++, v += size) p->block[i] = v;
  for (int i = 0; i < 6; i++, v += p->n[i / 2] * p->n[i / 2]) p->lanes[i] = v;
  p->flops = 2.0 * PatchFDRangeSize(desc->cells) * size * (2 * p->n[0] + 3 * p->n[1] + 2 * p->n[2] + 1);
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SumApply(SumPlan *p, PetscReal alpha, const REAL *x, REAL *y)
{
  const PetscInt  *n     = p->n;
  const PetscInt64 total = PatchFDRangeSize(p->cells);
  V               *u = p->block[0], *P = p->block[1], *Q = p->block[2], *S = p->block[3], *T = p->block[4];

  PetscFunctionBegin;
  for (PetscInt64 t = 0; t < total; t += VL) {
    Batch    b;
    PetscInt cell[3][VL], cls[VL];
    Coef     M[3], A[3];

    b.count = RangeBatch(p->cells, t, cell);
    for (int d = 0; d < 3; d++) {
      const PetscInt  stride = p->stride[d];
      const PetscInt *ofcell = p->cls[d];

      for (int l = 0; l < b.count; l++) {
        b.first[d][l] = cell[d][l] * stride;
        cls[l]        = ofcell[cell[d][l]];
      }
      M[d] = CoefSelect(b.count, cls, (size_t)(n[d] * n[d]), p->M[d], p->lanes[2 * d]);
      A[d] = CoefSelect(b.count, cls, (size_t)(n[d] * n[d]), p->A[d], p->lanes[2 * d + 1]);
    }
    BatchClip(&b, n, p->field.read);
    Gather(&b, n, &p->field.xbox, x, u);
    Contract(0, n, n[0], M[0], u, P, PETSC_FALSE);
    Contract(0, n, n[0], A[0], u, Q, PETSC_FALSE);
    Contract(1, n, n[1], M[1], Q, S, PETSC_FALSE);
    Contract(1, n, n[1], A[1], P, S, PETSC_TRUE);
    Contract(1, n, n[1], M[1], P, T, PETSC_FALSE);
    Contract(2, n, n[2], M[2], S, u, PETSC_FALSE);
    Contract(2, n, n[2], A[2], T, u, PETSC_TRUE);
    BatchClip(&b, n, p->field.write);
    Scatter(&b, n, (REAL)alpha, u, 1, &p->field.ybox, y);
  }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the door ---- */

typedef struct {
  SumPlan    *sum;    /* one of the three */
  TermsPlan  *terms;
  PointsPlan *points;
  size_t      size;   /* of y */
} OperatorPlan;

static PetscErrorCode OperatorDestroy(void **plan)
{
  OperatorPlan *p = (OperatorPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->sum) PetscCall(SumDestroy(p->sum));
  if (p->terms) PetscCall(TermsDestroy(p->terms));
  if (p->points) PetscCall(PointsDestroy(p->points));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorCreate(const PatchFDOperatorDesc *desc, void **plan)
{
  OperatorPlan      *p;
  const PatchFDBand *A[3], *M[3];
  PetscBool          simple;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan = p;
  for (PetscInt f = 0; f < desc->nfield; f++) p->size = PetscMax(p->size, desc->field[f].y0 + PatchFDBoxSize(&desc->field[f].ybox));
  if (desc->points) {
    if (desc->points->nodes != PATCHFD_NODES_BOX) p->size = (size_t)(desc->points->nnodes * desc->points->ncomp);
    PetscCall(PointsCreate(desc, &p->points));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  simple = PatchFDKroneckerSum(desc, A, M);
  for (int d = 0; d < 3 && simple; d++) simple = PatchFDBandsMatch(A[d], M[d]);
  if (simple) PetscCall(SumCreate(desc, A, M, &p->sum));
  else PetscCall(TermsCreate(desc, &p->terms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorApply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
{
  OperatorPlan   *p         = (OperatorPlan *)plan;
  const PetscBool overwrite = (PetscBool)(!y0 && p->points && p->points->covers);

  PetscFunctionBegin;
  if (!y0 && !overwrite) PetscCall(PetscMemzero(y, p->size * sizeof(REAL)));
  else if (y0 && y0 != y) PetscCall(PetscMemcpy(y, y0, p->size * sizeof(REAL)));
  if (p->points) PetscCall(PointsApply(p->points, alpha, (const REAL *)x, overwrite ? 0 : 1, (REAL *)y));
  else if (p->sum) PetscCall(SumApply(p->sum, alpha, (const REAL *)x, (REAL *)y));
  else PetscCall(TermsApply(p->terms, alpha, (const REAL *)x, (REAL *)y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorPick(void *plan, PetscCount nnodes, PetscCount ncells, const PetscCount cells[], const PetscInt index[], void **picked)
{
  OperatorPlan *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *picked = p;
  p->size = (size_t)nnodes;
  PetscCall(PointsPick(((const OperatorPlan *)plan)->points, ncells, cells, index, &p->points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of all patches: a product with A costs less than finding out which rows are wanted */
static PetscErrorCode OperatorResidual(void *plan, PETSC_UNUSED const PatchFDColor *color, const void *x, const void *b, void *r)
{
  PetscFunctionBegin;
  PetscCall(OperatorApply(plan, -1, x, b, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorDiagonal(void *plan, void *diagonal)
{
  OperatorPlan *p = (OperatorPlan *)plan;

  PetscFunctionBegin;
  PetscCheck(p->points, PETSC_COMM_SELF, PETSC_ERR_SUP, "The diagonal of an operator of terms is made by PatchFDHostDiagonal()");
  PetscCall(PetscMemzero(diagonal, p->size * sizeof(REAL)));
  PetscCall(PointsDiagonal(p->points, (REAL *)diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}
