/*
  y = y0 + alpha A x,  A = A0 (x) M1 (x) M2 + M0 (x) A1 (x) M2 + M0 (x) M1 (x) A2  summed over cells (direction 0 is x).

  A batch is VL cells; with u the block of a cell's nodes, (n nodes in a direction)

    p = M0 u,  q = A0 u          n^3 nodes each
    s = M1 q + A1 p,  t = M1 p
    y += M2 s + A2 t

  seven contractions (eq. 2.12 of C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch
  smoothers on GPU, 2024, with the common factors taken out).
*/
#pragma once
#include "lines.h"

typedef struct {
  PatchFDOperatorDesc desc;
  PetscInt            n[3];
  REAL               *M[3], *A[3]; /* [nclass][n * n] */
  V                  *block[5], *lanes[6];
  void               *base;
  PetscLogDouble      flops;
} OperatorPlan;

static PetscErrorCode OperatorDestroy(void **plan)
{
  OperatorPlan *p = (OperatorPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PetscFree2(p->M[d], p->A[d]));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorCreate(const PatchFDOperatorDesc *desc, void **plan)
{
  OperatorPlan *p;
  PetscInt      size = 1, lanes = 0;
  V            *v = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->desc = *desc;
  for (int d = 0; d < 3; d++) {
    const PatchFDCells *c = desc->dir[d];
    const size_t        m = (size_t)c->nclass * c->nloc * c->nloc;

    p->n[d] = c->nloc;
    PetscCall(PetscMalloc2(m, &p->M[d], m, &p->A[d]));
    for (size_t i = 0; i < m; i++) {
      p->M[d][i] = (REAL)c->M[i];
      p->A[d][i] = (REAL)c->A[i];
    }
    size *= c->nloc;
    lanes += 2 * c->nloc * c->nloc;
    p->desc.dir[d] = c;
  }
  PetscCall(VMalloc(5 * (size_t)size + lanes, &v, &p->base));
  for (int i = 0; i < 5; i++, v += size) p->block[i] = v;
  for (int i = 0; i < 6; i++, v += p->n[i / 2] * p->n[i / 2]) p->lanes[i] = v;
  p->flops = 2.0 * RangeSize(desc->cells) * size * (2 * p->n[0] + 3 * p->n[1] + 2 * p->n[2] + 1);
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorApply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
{
  OperatorPlan              *p = (OperatorPlan *)plan;
  const PatchFDOperatorDesc *desc = &p->desc;
  const PetscInt            *n    = p->n;
  const PetscInt64           total = RangeSize(desc->cells);
  V                         *u = p->block[0], *P = p->block[1], *Q = p->block[2], *S = p->block[3], *T = p->block[4];

  PetscFunctionBegin;
  if (!y0) PetscCall(PetscMemzero(y, PatchFDBoxSize(&desc->ybox) * sizeof(REAL)));
  else if (y0 != y) PetscCall(PetscMemcpy(y, y0, PatchFDBoxSize(&desc->ybox) * sizeof(REAL)));
  for (PetscInt64 t = 0; t < total; t += VL) {
    Batch    b;
    PetscInt cell[3][VL], cls[3][VL];
    Coef     M[3], A[3];

    b.count = RangeBatch(desc->cells, t, cell);
    for (int d = 0; d < 3; d++) {
      for (int l = 0; l < b.count; l++) {
        b.first[d][l] = cell[d][l] * (n[d] - 1);
        cls[d][l]     = desc->dir[d]->cls[cell[d][l]];
      }
    }
    for (int d = 0; d < 3; d++) {
      M[d] = CoefSelect(b.count, cls[d], (size_t)(n[d] * n[d]), p->M[d], p->lanes[2 * d]);
      A[d] = CoefSelect(b.count, cls[d], (size_t)(n[d] * n[d]), p->A[d], p->lanes[2 * d + 1]);
    }
    BatchClip(&b, n, desc->read);
    Gather(&b, n, &desc->xbox, (const REAL *)x, u);
    Contract(0, n, n[0], M[0], u, P, PETSC_FALSE);
    Contract(0, n, n[0], A[0], u, Q, PETSC_FALSE);
    Contract(1, n, n[1], M[1], Q, S, PETSC_FALSE);
    Contract(1, n, n[1], A[1], P, S, PETSC_TRUE);
    Contract(1, n, n[1], M[1], P, T, PETSC_FALSE);
    Contract(2, n, n[2], M[2], S, u, PETSC_FALSE);
    Contract(2, n, n[2], A[2], T, u, PETSC_TRUE);
    BatchClip(&b, n, desc->write);
    Scatter(&b, n, (REAL)alpha, u, 1, &desc->ybox, (REAL *)y);
  }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
