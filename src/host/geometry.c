/*
  Operators by quadrature: the factors at the points of a cell, from the geometry and the coefficients, and assembled matrices.

  With J = dx / d(r, s, t) and its cofactors C = |J| J^{-T} (column l is |J| grad of reference coordinate l), the factors are
  w / |J| C' K C and w |J| shift.
*/
#include "cell.h"
#include <patchfd/private/assembly.h>

PetscErrorCode PatchFDPointsCheck(const PatchFDPoints *p)
{
  PetscFunctionBegin;
  PetscCheck(p->dim == 2 || p->dim == 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Operators by quadrature in %" PetscInt_FMT " dimensions; there have to be 2 or 3", p->dim);
  PetscCheck(p->degree >= 1 && p->degree <= PATCHFD_POINTS_MAX_DEGREE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Degree %" PetscInt_FMT " of an operator by quadrature; it has to be 1 to %d", p->degree, PATCHFD_POINTS_MAX_DEGREE);
  PetscCheck(p->geodegree >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Degree %" PetscInt_FMT " of the geometry; it has to be 1 or more", p->geodegree);
  PetscCheck(p->ncomp >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " components; there have to be 1 or more", p->ncomp);
  PetscCheck(p->nkappa == 0 || p->nkappa == 1 || p->nkappa == p->dim * (p->dim + 1) / 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " numbers for the coefficient of the stiffness; there have to be 0, 1 or %" PetscInt_FMT, p->nkappa, p->dim * (p->dim + 1) / 2);
  PetscCheck(p->nkappa || p->shift, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "An operator by quadrature without stiffness and mass");
  PetscCheck(PatchFDPointsCanCompute(p) || p->factors != PATCHFD_FACTORS_COMPUTED, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "Factors are to be computed in each product: that needs multilinear geometry, found degree %" PetscInt_FMT ", and constant coefficients", p->geodegree);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDGeometryCreate(const PatchFDPoints *p, PatchFDGeometry *g)
{
  const PetscInt m = p->geodegree + 1;
  PetscInt       c;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  g->p = p;
  PetscCall(PatchFDRuleCreate(p->degree, p->gauss, &g->rule));
  c          = g->rule.points;
  g->npoint  = PetscPowInt(c, p->dim);
  g->nfactor = (p->nkappa ? p->dim * (p->dim + 1) / 2 : 0) + (p->shift ? 1 : 0);
  PetscCall(PetscMalloc5(c * m, &g->B, c * m, &g->D, p->dim * PetscPowInt(m, p->dim), &g->x, p->dim * p->dim * g->npoint, &g->J, 2 * PetscPowInt(PetscMax(c, m), p->dim), &g->work));
  PetscCall(PatchFDBasis(p->geodegree, c, g->rule.x, g->B, g->D, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDGeometryDestroy(PatchFDGeometry *g)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(g->B, g->D, g->x, g->J, g->work));
  PetscCall(PatchFDRuleDestroy(&g->rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* J[(a * dim + b) * npoint + q] = derivative of coordinate a in reference direction b at point q */
static void Jacobians(PatchFDGeometry *g, PetscCount cell)
{
  const PatchFDPoints *p = g->p;
  const PetscInt       dim = p->dim, m = p->geodegree + 1, c = g->rule.points, size = PetscPowInt(m, dim);
  const PetscInt      *node = p->geoindex + cell * size;

  for (PetscInt i = 0; i < size; i++)
    for (PetscInt a = 0; a < dim; a++) g->x[a * size + i] = p->coordinate[(size_t)node[i] * dim + a];
  for (PetscInt a = 0; a < dim; a++) {
    for (PetscInt b = 0; b < dim; b++) {
      const PetscReal *in  = g->x + a * size;
      PetscInt         outer = size / m, inner = 1;

      for (PetscInt d = 0; d < dim; d++) {
        PetscReal *out = d == dim - 1 ? g->J + (a * dim + b) * g->npoint : g->work + d * PetscPowInt(PetscMax(c, m), dim);

        Contract(outer, c, m, inner, d == b ? g->D : g->B, m, 1, in, out);
        in = out;
        inner *= c;
        outer /= m;
      }
    }
  }
}

PetscErrorCode PatchFDGeometryCell(PatchFDGeometry *g, PetscCount cell, PetscReal factor[])
{
  const PatchFDPoints *p   = g->p;
  const PetscInt       dim = p->dim, c = g->rule.points;
  const PetscReal     *w = g->rule.w;

  PetscFunctionBegin;
  Jacobians(g, cell);
  for (PetscInt q = 0; q < g->npoint; q++) {
    const size_t    at     = (size_t)cell * g->npoint + q;
    const PetscReal weight = w[q % c] * w[q / c % c] * (dim == 3 ? w[q / c / c] : 1);
    PetscReal       J[3][3] = {{0}}, C[3][3] = {{0}}, K[3][3] = {{0}}, det;

    for (int a = 0; a < dim; a++)
      for (int b = 0; b < dim; b++) J[a][b] = g->J[(a * dim + b) * g->npoint + q];
    for (int b = 0; b < dim; b++) Cofactors(dim, (const PetscReal(*)[3])J, b, C[b]);
    det = Determinant(dim, (const PetscReal(*)[3])J);
    PetscCheck(det > 0 && det < PETSC_MAX_REAL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Cell %" PetscCount_FMT " is inverted or degenerate: the determinant of its map from the unit %s is %g at one of its points; it has to be positive", cell,
               dim == 3 ? "cube" : "square", (double)det);
    if (p->nkappa) {
      const PetscReal *k = p->kappa + (p->kappaconstant ? 0 : at * p->nkappa);

      FillTensor(dim, p->nkappa, k, K);
      PetscCheck(TensorIsPositive(dim, (const PetscReal(*)[3])K), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "The coefficient of the stiffness is %g%s in cell %" PetscCount_FMT "; it has to be positive%s", (double)k[0], p->nkappa == 1 ? "" : ", ...", cell, p->nkappa == 1 ? "" : " definite");
      for (int l = 0; l < dim; l++) {
        PetscReal KC[3] = {0, 0, 0};

        for (int a = 0; a < dim; a++)
          for (int b = 0; b < dim; b++) KC[a] += K[a][b] * C[l][b];
        for (int m = l; m < dim; m++) *factor++ = weight / det * (C[m][0] * KC[0] + C[m][1] * KC[1] + C[m][2] * KC[2]);
      }
    }
    if (p->shift) *factor++ = weight * det * p->shift[p->shiftconstant ? 0 : at];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column of all cells' matrices at a time: the product with a unit vector in each cell */
PetscErrorCode PatchFDHostCellMatrices(const PatchFDPoints *points, PetscReal E[])
{
  const PatchFDKernels kern = &PatchFDKernelsHostDouble;
  const PetscInt       size = PetscPowInt(points->degree + 1, points->dim);
  PatchFDPoints        cell = *points;
  PatchFDOperatorDesc  desc = {.points = &cell};
  PetscReal           *x, *y;
  void                *plan = NULL;

  PetscFunctionBegin;
  cell.nodes  = PATCHFD_NODES_CELL;
  cell.nnodes = points->ncells * size;
  cell.ncomp  = 1;
  PetscCall(PetscMalloc2(cell.nnodes, &x, cell.nnodes, &y));
  PetscCall(PetscArrayzero(x, cell.nnodes));
  PetscCall((*kern->operatorcreate)(&desc, &plan));
  for (PetscInt col = 0; col < size; col++) {
    for (PetscCount c = 0; c < points->ncells; c++) x[c * size + col] = 1;
    PetscCall((*kern->operatorapply)(plan, 1, x, NULL, y));
    for (PetscCount c = 0; c < points->ncells; c++) {
      x[c * size + col] = 0;
      PetscCall(PetscArraycpy(E + (c * size + col) * size, y + c * size, size));
    }
  }
  PetscCall((*kern->operatordestroy)(&plan));
  PetscCall(PetscFree2(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostPointsTriples(const PatchFDPoints *points, const PetscInt rownumber[], const PetscInt colnumber[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const PetscInt   size = PetscPowInt(points->degree + 1, points->dim), ncomp = points->ncomp;
  const PetscReal *e;
  PetscReal       *E;

  PetscFunctionBegin;
  *count = points->ncells * size * size * ncomp;
  if (!i) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(points->ncells * size * size, &E));
  PetscCall(PatchFDHostCellMatrices(points, E));
  e = E;
  for (PetscCount c = 0; c < points->ncells; c++) {
    for (PetscInt col = 0; col < size; col++) {
      for (PetscInt row = 0; row < size; row++, e++) {
        const PetscInt r = rownumber[c * size + row], column = colnumber[c * size + col];

        for (PetscInt k = 0; k < ncomp; k++) {
          *i++ = r < 0 ? -1 : r * ncomp + k;
          *j++ = column < 0 ? -1 : column * ncomp + k;
          *v++ = *e;
        }
      }
    }
  }
  PetscCall(PetscFree(E));
  PetscFunctionReturn(PETSC_SUCCESS);
}
