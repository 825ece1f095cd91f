/*
  Operators by quadrature: the factors at the points of a cell, from the geometry and the coefficients, and assembled matrices.

  With J = dx / d(r, s, t) and its cofactors C = |J| J^{-T} (column l is |J| grad of reference coordinate l), the factors are
  w / |J| C' K C and w |J| shift.
*/
#include "cell.h"
#include "lanes.h"

PetscErrorCode PatchFDPointsCheck(const PatchFDPoints *p)
{
  PetscFunctionBegin;
  PetscCheck(p->dim == 2 || p->dim == 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Operators by quadrature in %" PetscInt_FMT " dimensions; there have to be 2 or 3", p->dim);
  PetscCheck(p->degree >= 1 && p->degree <= PATCHFD_POINTS_MAX_DEGREE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Degree %" PetscInt_FMT " of an operator by quadrature; it has to be 1 to %d", p->degree, PATCHFD_POINTS_MAX_DEGREE);
  PetscCheck(!p->gauss || p->gauss == p->degree + 1 || p->gauss == p->degree + 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " Gauss points for degree %" PetscInt_FMT "; there have to be one or two more than the degree", p->gauss, p->degree);
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
  PetscCall(PetscMalloc6(c * m, &g->B, c * m, &g->D, p->dim * PetscPowInt(m, p->dim), &g->x, p->dim * p->dim * g->npoint, &g->J, 2 * PetscPowInt(PetscMax(c, m), p->dim), &g->work, p->nkappa, &g->K));
  PetscCall(PatchFDBasis(p->geodegree, c, g->rule.x, g->B, g->D, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDGeometryDestroy(PatchFDGeometry *g)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(g->B, g->D, g->x, g->J, g->work, g->K));
  PetscCall(PatchFDRuleDestroy(&g->rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* J[a][b][point][lane] = derivative of coordinate a in reference direction b, from x[a][node][lane]; in each direction m nodes and c points, where the polynomials and their derivatives are B and D[c][m] */
static void Jacobians(PetscInt dim, PetscInt m, PetscInt c, const PetscReal B[], const PetscReal D[], const Lanes x[], Lanes work[], Lanes J[])
{
  const PetscInt size = PetscPowInt(m, dim), npoint = PetscPowInt(c, dim), room = PetscPowInt(PetscMax(c, m), dim);

  for (PetscInt a = 0; a < dim; a++) {
    for (PetscInt b = 0; b < dim; b++) {
      const Lanes *in    = x + a * size;
      PetscInt     outer = size / m, inner = 1;

      for (PetscInt d = 0; d < dim; d++) {
        Lanes *out = d == dim - 1 ? J + (a * dim + b) * npoint : work + d * room;

        LaneContract(outer, c, m, inner, d == b ? D : B, m, 1, in, out);
        in = (const Lanes *)out;
        inner *= c;
        outer /= m;
      }
    }
  }
}

/* in all lanes at a point: det J, and weight / det C' K C with the cofactors C of J[a][b], which are `stride` apart */
static inline __attribute__((always_inline)) void LaneFactors(PetscInt dim, PetscInt nkappa, const Lanes J[], PetscInt stride, PetscReal weight, const Lanes K[], Lanes det, Lanes factor[])
{
  for (int l = 0; l < LANES; l++) {
    PetscReal j[3][3] = {{0}}, c[3][3] = {{0}}, k[6] = {0};
    PetscInt  next = 0;

    for (PetscInt a = 0; a < dim; a++)
      for (PetscInt b = 0; b < dim; b++) j[a][b] = J[(a * dim + b) * stride][l];
    for (PetscInt b = 0; b < dim; b++) Cofactors(dim, (const PetscReal(*)[3])j, b, c[b]);
    det[l] = j[0][0] * c[0][0] + j[1][0] * c[0][1] + j[2][0] * c[0][2];
    for (PetscInt i = 0; i < nkappa; i++) k[i] = weight / det[l] * K[i][l];
    for (PetscInt r = 0; r < dim && nkappa; r++) {
      PetscReal KC[3] = {k[0] * c[r][0], k[0] * c[r][1], k[0] * c[r][2]};

      if (nkappa == 3) {
        KC[0] = k[0] * c[r][0] + k[1] * c[r][1];
        KC[1] = k[1] * c[r][0] + k[2] * c[r][1];
      } else if (nkappa == 6) {
        KC[0] = k[0] * c[r][0] + k[1] * c[r][1] + k[2] * c[r][2];
        KC[1] = k[1] * c[r][0] + k[3] * c[r][1] + k[4] * c[r][2];
        KC[2] = k[2] * c[r][0] + k[4] * c[r][1] + k[5] * c[r][2];
      }
      for (PetscInt s = r; s < dim; s++, next++) factor[next][l] = c[s][0] * KC[0] + c[s][1] * KC[1] + c[s][2] * KC[2];
    }
  }
}

static void PointFactors(const PatchFDGeometry *g, PetscInt q, PetscReal weight, Lanes det, Lanes factor[])
{
  const Lanes *J = (const Lanes *)g->J + q, *K = (const Lanes *)g->K;

  switch (10 * g->p->dim + g->p->nkappa) {
#define CASE(DIM, N) \
  case 10 * DIM + N: \
    LaneFactors(DIM, N, J, g->npoint, weight, K, det, factor); \
    break
    CASE(2, 0);
    CASE(2, 1);
    CASE(2, 3);
    CASE(3, 0);
    CASE(3, 1);
    CASE(3, 6);
#undef CASE
  }
}

/* K of the lanes at point q, and whether that is as it should be */
static PetscErrorCode PointConductivity(PatchFDGeometry *g, PetscCount first, PetscInt q)
{
  const PatchFDPoints *p = g->p;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < LANES; l++) {
    const PetscCount cell = PetscMin(first + l, p->ncells - 1);
    const PetscReal *k    = p->kappa + (p->kappaconstant ? 0 : (cell * g->npoint + q) * p->nkappa);
    PetscReal        K[3][3] = {{0}};

    if (p->nkappa > 1) FillTensor(p->dim, p->nkappa, k, K);
    PetscCheck(p->nkappa == 1 ? *k > 0 && *k < PETSC_MAX_REAL : TensorIsPositive(p->dim, (const PetscReal(*)[3])K), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "The coefficient of the stiffness is %g%s in cell %" PetscCount_FMT "; it has to be positive%s", (double)k[0], p->nkappa == 1 ? "" : ", ...", cell, p->nkappa == 1 ? "" : " definite");
    for (PetscInt i = 0; i < p->nkappa; i++) g->K[i][l] = k[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDGeometryCells(PatchFDGeometry *g, PetscCount first, PatchFDLanes factor[])
{
  const PatchFDPoints *p   = g->p;
  const PetscInt       dim = p->dim, m = p->geodegree + 1, c = g->rule.points, size = PetscPowInt(m, dim);
  const PetscReal     *w = g->rule.w;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < LANES; l++) {
    const PetscInt *node = p->geoindex + PetscMin(first + l, p->ncells - 1) * size;

    for (PetscInt a = 0; a < dim; a++)
      for (PetscInt i = 0; i < size; i++) g->x[a * size + i][l] = p->coordinate[(size_t)node[i] * dim + a];
  }
  Jacobians(dim, m, c, g->B, g->D, (const Lanes *)g->x, g->work, g->J);
  for (PetscInt q = 0; q < g->npoint; q++, factor += g->nfactor) {
    const PetscReal weight = w[q % c] * w[q / c % c] * (dim == 3 ? w[q / c / c] : 1);
    Lanes           det;

    if (p->nkappa) PetscCall(PointConductivity(g, first, q));
    PointFactors(g, q, weight, det, factor);
    for (PetscInt l = 0; l < LANES; l++) {
      const PetscCount cell = PetscMin(first + l, p->ncells - 1);

      PetscCheck(det[l] > 0 && det[l] < PETSC_MAX_REAL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "Cell %" PetscCount_FMT " is inverted or degenerate: the determinant of its map from the unit %s is %g at one of its points; it has to be positive", cell,
                 dim == 3 ? "cube" : "square", (double)det[l]);
      if (p->shift) factor[g->nfactor - 1][l] = weight * det[l] * p->shift[p->shiftconstant ? 0 : cell * g->npoint + q];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes of cells from `cell` on, x fastest, in the lanes; in those behind the last one it is once more */
static void ShapeNodes(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, const PetscInt cell[3], Lanes x[])
{
  const PatchFDShape *shape = field->shape;
  const PetscInt      k = field->q[0].degree, size = PetscPowInt(k + 1, dim);

  for (PetscInt l = 0; l < LANES; l++) {
    for (PetscInt i = 0; i < size; i++) {
      const PetscInt   at[3] = {PetscMin(cell[0] + l, cells[0][1] - 1) * k + i % (k + 1), cell[1] * k + i / (k + 1) % (k + 1), dim == 3 ? cell[2] * k + i / (k + 1) / (k + 1) : 0};
      const PetscReal *from  = &shape->x[dim * PatchFDBoxNode(&shape->box, at[0], at[1], at[2])];

      for (PetscInt a = 0; a < dim; a++) x[a * size + i][l] = from[a];
    }
  }
}

PetscErrorCode PatchFDHostCheckShape(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, PatchFDMetric *found)
{
  const PatchFDQuadrature *q = field->q;
  const PetscInt           m = q[0].degree + 1, c = q[0].nq, npoint = PetscPowInt(c, dim), room = PetscPowInt(PetscMax(c, m), dim);
  Lanes                   *x, *J, *work;
  PetscInt                 cell[3];

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(dim * room, &x, dim * dim * npoint, &J, 2 * room, &work));
  for (cell[2] = cells[2][0]; cell[2] < cells[2][1]; cell[2]++) {
    for (cell[1] = cells[1][0]; cell[1] < cells[1][1]; cell[1]++) {
      for (cell[0] = cells[0][0]; cell[0] < cells[0][1] && !found->defect; cell[0] += LANES) {
        Lanes least, det;

        ShapeNodes(dim, field, cells, cell, x);
        Jacobians(dim, m, c, q[0].B[0], q[0].B[1], (const Lanes *)x, work, J);
        for (int l = 0; l < LANES; l++) least[l] = 1;
        for (PetscInt p = 0; p < npoint; p++) {
          if (dim == 2) LaneFactors(2, 0, (const Lanes *)J + p, npoint, 1, NULL, det, NULL);
          else LaneFactors(3, 0, (const Lanes *)J + p, npoint, 1, NULL, det, NULL);
          for (int l = 0; l < LANES; l++) least[l] = det[l] > 0 && det[l] < PETSC_MAX_REAL ? least[l] : -1; /* not a number is not positive */
        }
        for (int l = LANES - 1; l >= 0; l--) {
          if (least[l] > 0) continue;
          found->defect = PATCHFD_DEFECT_INVERTED;
          for (int d = 0; d < 3; d++) found->cell[d] = d == 0 ? PetscMin(cell[0] + l, cells[0][1] - 1) : cell[d];
        }
      }
    }
  }
  PetscCall(PetscFree3(x, J, work));
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
