/*
  y = y0 + alpha A x.  A = A0 (x) M1 (x) M2 + M0 (x) A1 (x) M2 + M0 (x) M1 (x) A2 summed over cells (direction 0 is x): bands.h.  Any other
  sum of terms: terms.h; operators by quadrature: points.h.
*/
#pragma once
#include "bands.h"
#include "points.h"
#include "terms.h"

static PetscErrorCode SumCreate(const PatchFDOperatorDesc *desc, const PatchFDBand *const A[3], const PatchFDBand *const M[3],
                                BandsPlan **plan)
{
  const PatchFDField *f = desc->field;
  BandCells           m[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PetscInt n = M[d]->nloc, stride = M[d]->stride;

    m[d] = (BandCells){.nrow      = n,
                       .ncol      = n,
                       .rowstride = stride,
                       .colstride = stride,
                       .own       = {n, n},
                       .last      = M[d]->ncells - 1,
                       .cls       = M[d]->cls,
                       .X         = {M[d]->X, A[d]->X}};
  }
  PetscCall(BandsCreate(m, desc->cells, &f->xbox, f->read, &f->ybox, f->write, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- entries of the kernel table ---- */

typedef struct {
  BandsPlan  *sum; /* one of the three */
  TermsPlan  *terms;
  PointsPlan *points;
  size_t      size; /* of y */
} OperatorPlan;

static PetscErrorCode OperatorDestroy(void **plan)
{
  OperatorPlan *p = (OperatorPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BandsDestroy(&p->sum));
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
  if (p->sum) {
    PetscCall(BandsApply(p->sum, alpha, (const REAL *)x, (const REAL *)y0, (REAL *)y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!y0 && !overwrite) PetscCall(PetscMemzero(y, p->size * sizeof(REAL)));
  else if (y0 && y0 != y) PetscCall(PetscMemcpy(y, y0, p->size * sizeof(REAL)));
  if (p->points) PetscCall(PointsApply(p->points, alpha, (const REAL *)x, overwrite ? 0 : 1, (REAL *)y));
  else PetscCall(TermsApply(p->terms, alpha, (const REAL *)x, (REAL *)y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorPick(void *plan, PetscCount nnodes, PetscCount ncells, const PetscCount cells[], const PetscInt index[],
                                   void **picked)
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

/* of a solid in this precision, column by column; cells as they come, without a box */
static PetscErrorCode OperatorCellMatrices(const PatchFDPoints *points, PetscReal E[])
{
  PatchFDPoints             cells = *points;
  const PatchFDOperatorDesc desc  = {.points = &cells};
  PointsPlan               *p;

  PetscFunctionBegin;
  if (!points->solid) {
    PetscCall(PatchFDHostCellMatrices(points, E));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  cells.nodes  = PATCHFD_NODES_CELL;
  cells.nnodes = points->ncells * PetscPowInt(points->degree + 1, points->dim);
  PetscCall(PointsCreate(&desc, &p));
  SolidMatrices(p, E);
  PetscCall(PointsDestroy(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* values X[nodes][points] at the nodes of a cell of the polynomials through its points */
static PetscErrorCode NodesFromPoints(const PatchFDPoints *points, REAL **X)
{
  PatchFDRule rule, nodes;
  PetscReal  *L;

  PetscFunctionBegin;
  PetscCall(PatchFDRuleCreate(points->degree, points->gauss, &rule));
  PetscCall(PatchFDRuleCreate(points->degree, 0, &nodes));
  PetscCall(PetscMalloc1(nodes.points * rule.points, &L));
  PetscCall(PatchFDRuleBasis(&rule, nodes.points, nodes.x, L));
  PetscCall(RealCopy((size_t)(nodes.points * rule.points), L, X));
  PetscCall(PetscFree(L));
  PetscCall(PatchFDRuleDestroy(&nodes));
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorStresses(const PatchFDOperatorDesc *desc, const PetscReal u[], PetscReal sum[])
{
  const PatchFDPoints *points = desc->points;
  const PetscInt       n      = points->dim == 3 ? 6 : 4;
  const size_t         nodes  = PatchFDBoxSize(&desc->field[0].ybox);
  PointsPlan          *p;
  REAL                *X;

  PetscFunctionBegin;
  PetscCheck(sizeof(REAL) == sizeof(PetscReal), PETSC_COMM_SELF, PETSC_ERR_SUP, "Stresses are computed in double precision");
  PetscCall(NodesFromPoints(points, &X));
  PetscCall(PointsCreate(desc, &p));
  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    for (PetscInt c = 0; c < p->dim; c++) PointsGather(p, batch, c, (const REAL *)u, p->u + c * p->size);
    SolidStresses(p, batch, X);
    for (PetscInt i = 0; i < p->size; i++) p->u[i] = Splat(1);
    for (PetscInt c = 0; c <= n; c++) PointsScatter(p, batch, 0, 1, c < n ? p->t + c * p->npoint : p->u, 1, (REAL *)sum + c * nodes);
  }
  PetscCall(PointsDestroy(p));
  PetscCall(PetscFree(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}
