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
  PointsPlan *points, *side[6]; /* those of sides are mass matrices, in the cells at a side and at its nodes alone */
  size_t      size;             /* of y */
} OperatorPlan;

static PetscErrorCode OperatorDestroy(void **plan)
{
  OperatorPlan *p = (OperatorPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BandsDestroy(&p->sum));
  if (p->terms) PetscCall(TermsDestroy(p->terms));
  if (p->points) PetscCall(PointsDestroy(p->points));
  for (int s = 0; s < 6; s++)
    if (p->side[s]) PetscCall(PointsDestroy(p->side[s]));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the points next to a side have such factors that their sum is the integral over it, where no other nodes are there */
static PetscErrorCode OperatorSide(const PatchFDOperatorDesc *desc, PetscInt s, PointsPlan **plan)
{
  const PetscInt      d = s / 2, e = s % 2, degree = desc->points->degree, dim = desc->points->dim;
  PatchFDOperatorDesc of     = *desc;
  PatchFDPoints       points = *desc->points;
  PatchFDField        field  = desc->field[0];
  PetscInt            near, stride, node, npoint;
  PetscReal           basis, *value;
  PatchFDRule         rule;

  PetscFunctionBegin;
  of.points          = &points;
  of.field           = &field;
  of.cells[d][1 - e] = of.cells[d][e] + (e ? -1 : 1);
  node               = of.cells[d][e] * degree;
  for (PetscInt(*range)[2] = field.read; range; range = range == field.read ? field.write : NULL) {
    range[d][0] = PetscMax(range[d][0], node);
    range[d][1] = PetscMin(range[d][1], node + 1);
  }
  PetscCall(PatchFDRuleCreate(degree, points.gauss, &rule));
  near          = e ? rule.points - 1 : 0;
  basis         = rule.B[near * rule.nodes + e * degree];
  stride        = PetscPowInt(rule.points, d);
  npoint        = PetscPowInt(rule.points, dim);
  points.ncells = PatchFDRangeSize((const PetscInt(*)[2])of.cells);
  points.nkappa = 0;
  points.given  = PETSC_TRUE;
  PetscCall(PetscCalloc1(points.ncells * npoint, &value));
  for (PetscCount i = 0; i < points.ncells * npoint / rule.points; i++)
    value[(i / stride * rule.points + near) * stride + i % stride] = points.side[s][i] / PetscSqr(basis);
  points.shift         = value;
  points.shiftconstant = PETSC_FALSE;
  PetscCall(PointsCreate(&of, plan));
  PetscCall(PetscFree(value));
  PetscCall(PatchFDRuleDestroy(&rule));
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
    for (PetscInt s = 0; s < 6; s++)
      if (desc->points->side[s]) PetscCall(OperatorSide(desc, s, &p->side[s]));
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
  for (int s = 0; s < 6; s++)
    if (p->side[s]) PetscCall(PointsApply(p->side[s], alpha, (const REAL *)x, 1, (REAL *)y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void OperatorGrid(const PointsPlan *p, PetscInt grid[3])
{
  for (int d = 0; d < 3; d++) grid[d] = p->cells[d][1] - p->cells[d][0];
}

/* of those of the cells that are at a side */
static PetscErrorCode OperatorPickSide(const OperatorPlan *from, PetscInt s, PetscCount ncells, const PetscCount cells[],
                                       const PetscInt index[], PointsPlan **picked)
{
  const PetscInt n = from->points->n, size = from->points->size, stride = PetscPowInt(n, s / 2), end = s % 2 * (n - 1);
  PetscInt       grid[3], *node;
  PetscCount    *cell, count = 0;

  PetscFunctionBegin;
  OperatorGrid(from->points, grid);
  PetscCall(PetscMalloc2(ncells, &cell, ncells * size, &node));
  for (PetscCount c = 0; c < ncells; c++) {
    cell[count] = PatchFDSideCell(grid, s, cells[c]);
    if (cell[count] < 0) continue;
    for (PetscInt i = 0; i < size; i++) node[count * size + i] = i / stride % n == end ? index[c * size + i] : -1;
    count++;
  }
  if (count) PetscCall(PointsPick(from->side[s], count, cell, node, picked));
  PetscCall(PetscFree2(cell, node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OperatorPick(void *plan, PetscCount nnodes, PetscCount ncells, const PetscCount cells[], const PetscInt index[],
                                   void **picked)
{
  const OperatorPlan *from = (const OperatorPlan *)plan;
  OperatorPlan       *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *picked = p;
  p->size = (size_t)nnodes;
  PetscCall(PointsPick(from->points, ncells, cells, index, &p->points));
  for (PetscInt s = 0; s < 6; s++)
    if (from->side[s]) PetscCall(OperatorPickSide(from, s, ncells, cells, index, &p->side[s]));
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
  for (int s = 0; s < 6; s++)
    if (p->side[s]) PetscCall(PointsDiagonal(p->side[s], (REAL *)diagonal));
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
  const PetscBool      index  = (PetscBool)(points->nodes == PATCHFD_NODES_INDEX);
  const size_t         nodes  = index ? 0 : PatchFDBoxSize(&desc->field[0].ybox);
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
    for (PetscInt c = 0; c <= n; c++) {
      const V *own = c < n ? p->t + c * p->npoint : p->u;

      if (index) IndexScatter(&p->index, batch, n + 1, 1, own, (REAL *)sum + c);
      else PointsScatter(p, batch, 0, 1, own, 1, (REAL *)sum + c * nodes);
    }
  }
  PetscCall(PointsDestroy(p));
  PetscCall(PetscFree(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}
