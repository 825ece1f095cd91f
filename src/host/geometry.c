/*
  Operators by quadrature: the factors at the points of a cell, from the geometry and the coefficients, and assembled matrices.

  With J = dx / d(r, s, t) and its cofactors C = |J| J^{-T} (column l is |J| grad of reference coordinate l), the factors are
  w / |J| C' K C and w |J| shift.
*/
#include "cell.h"
#include "lanes.h"
#include <stdint.h>

PetscErrorCode PatchFDPointsCheck(const PatchFDPoints *p)
{
  PetscFunctionBegin;
  PetscCheck(p->dim == 2 || p->dim == 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Operators by quadrature in %" PetscInt_FMT " dimensions; there have to be 2 or 3", p->dim);
  PetscCheck(p->degree >= 1 && p->degree <= PATCHFD_POINTS_MAX_DEGREE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Degree %" PetscInt_FMT " of an operator by quadrature; it has to be 1 to %d", p->degree, PATCHFD_POINTS_MAX_DEGREE);
  PetscCheck(!p->gauss || p->gauss == p->degree + 1 || p->gauss == p->degree + 2 ||
               (p->gauss == 2 * p->degree + 1 && p->gauss <= PATCHFD_POINTS_MAX_DEGREE + 2),
             PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " Gauss points for degree %" PetscInt_FMT
             "; there have to be one or two more than the degree, or, up to degree %d, one more than twice the degree",
             p->gauss, p->degree, (PATCHFD_POINTS_MAX_DEGREE + 1) / 2);
  PetscCheck(p->geodegree >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Degree %" PetscInt_FMT " of the geometry; it has to be 1 or more", p->geodegree);
  PetscCheck(p->ncomp >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " components; there have to be 1 or more",
             p->ncomp);
  PetscCheck(p->solid ? (p->nkappa == 2 || (p->nkappa == PatchFDTangentSize(p->dim) && p->projection < 0)) && p->gauss && !p->given
                      : p->nkappa == 0 || p->nkappa == 1 || p->nkappa == p->dim * (p->dim + 1) / 2,
             PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " numbers for the coefficient of the stiffness; there have to be 0, 1 or %" PetscInt_FMT, p->nkappa,
             p->dim * (p->dim + 1) / 2);
  PetscCheck(p->nkappa || p->shift, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "An operator by quadrature without stiffness and mass");
  PetscCheck(PatchFDPointsCanCompute(p) || p->factors != PATCHFD_FACTORS_COMPUTED, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "Factors are to be computed in each product: that needs multilinear geometry, found degree %" PetscInt_FMT
             ", and constant coefficients",
             p->geodegree);
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
  if (p->solid) g->nfactor = PatchFDSolidFactors(p);
  PetscCall(PetscMalloc6(c * m, &g->B, c * m, &g->D, p->dim * PetscPowInt(m, p->dim), &g->x, p->dim * p->dim * g->npoint, &g->J,
                         2 * PetscPowInt(PetscMax(c, m), p->dim), &g->work, p->nkappa, &g->K));
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

/* out[point] from x[node], values or derivatives by the basis[c][m] of each direction, where there are m nodes and c points */
static void Interpolate(PetscInt dim, PetscInt m, PetscInt c, const PetscReal *const basis[3], const Lanes x[], Lanes work[], Lanes out[])
{
  const PetscInt room  = PetscPowInt(PetscMax(c, m), dim);
  PetscInt       outer = PetscPowInt(m, dim - 1), inner = 1;

  for (PetscInt d = 0; d < dim; d++) {
    Lanes *to = d == dim - 1 ? out : work + d * room;

    LaneContract(outer, c, m, inner, basis[d], m, 1, x, to);
    x = (const Lanes *)to;
    inner *= c;
    outer /= m;
  }
}

/* J[a][b][point] = derivative of coordinate a in reference direction b, from x[a][node]; the polynomials and their derivatives are B and
   D[c][m] */
static void Jacobians(PetscInt dim, PetscInt m, PetscInt c, const PetscReal B[], const PetscReal D[], const Lanes x[], Lanes work[],
                      Lanes J[])
{
  const PetscInt size = PetscPowInt(m, dim), npoint = PetscPowInt(c, dim);

  for (PetscInt a = 0; a < dim; a++) {
    for (PetscInt b = 0; b < dim; b++) {
      const PetscReal *const basis[3] = {b == 0 ? D : B, b == 1 ? D : B, b == 2 ? D : B};

      Interpolate(dim, m, c, basis, x + a * size, work, J + (a * dim + b) * npoint);
    }
  }
}

/* Cofactors() (cell.h) in half of the lanes */
static inline __attribute__((always_inline)) void LaneCofactors(PetscInt dim, const LaneHalf J[3][3], PetscInt e, LaneHalf c[3])
{
  const PetscInt f = (e + 1) % 3, g = (e + 2) % 3;

  if (dim == 2) {
    c[0] = e == 0 ? J[1][1] : -J[1][0];
    c[1] = e == 0 ? -J[0][1] : J[0][0];
  } else
    for (PetscInt a = 0; a < 3; a++) c[a] = J[(a + 1) % 3][f] * J[(a + 2) % 3][g] - J[(a + 2) % 3][f] * J[(a + 1) % 3][g];
}

/* f = K c for a number, or a tensor (xx xy yy, or xx xy xz yy yz zz) */
static inline __attribute__((always_inline)) void LaneTensor(PetscInt dim, PetscInt nkappa, const LaneHalf k[], const LaneHalf c[3],
                                                             LaneHalf f[3])
{
  if (nkappa == 1)
    for (PetscInt a = 0; a < dim; a++) f[a] = k[0] * c[a];
  else if (dim == 2) {
    f[0] = k[0] * c[0] + k[1] * c[1];
    f[1] = k[1] * c[0] + k[2] * c[1];
  } else {
    f[0] = k[0] * c[0] + k[1] * c[1] + k[2] * c[2];
    f[1] = k[1] * c[0] + k[3] * c[1] + k[4] * c[2];
    f[2] = k[2] * c[0] + k[4] * c[1] + k[5] * c[2];
  }
}

/* in all lanes at a point: det J, and weight / det C' K C with the cofactors C of J[a][b], which are `stride` apart */
static inline __attribute__((always_inline)) void LaneFactors(PetscInt dim, PetscInt nkappa, const Lanes J[], PetscInt stride,
                                                              PetscReal weight, const Lanes K[], Lanes det, Lanes factor[])
{
  for (int half = 0; half < 2; half++) {
    LaneHalf j[3][3], c[3][3], k[6], d = {0};
    PetscInt next = 0;

    for (PetscInt a = 0; a < dim; a++)
      for (PetscInt b = 0; b < dim; b++) j[a][b] = ((const LaneHalf *)J[(a * dim + b) * stride])[half];
    for (PetscInt b = 0; b < dim; b++) LaneCofactors(dim, (const LaneHalf(*)[3])j, b, c[b]);
    for (PetscInt a = 0; a < dim; a++) d += j[a][0] * c[0][a];
    ((LaneHalf *)det)[half] = d;
    for (PetscInt i = 0; i < nkappa; i++) k[i] = weight / d * ((const LaneHalf *)K[i])[half];
    for (PetscInt r = 0; r < dim && nkappa; r++) {
      LaneHalf KC[3];

      LaneTensor(dim, nkappa, k, c[r], KC);
      for (PetscInt s = r; s < dim; s++, next++) {
        LaneHalf sum = c[s][0] * KC[0];

        for (PetscInt a = 1; a < dim; a++) sum += c[s][a] * KC[a];
        ((LaneHalf *)factor[next])[half] = sum;
      }
    }
  }
}

/* one function for each number of kappa */
static void PointFactors(PetscInt dim, PetscInt nkappa, const Lanes J[], PetscInt stride, PetscReal weight, const Lanes K[], Lanes det,
                         Lanes factor[])
{
  switch (10 * dim + nkappa) {
#define CASE(DIM, N) \
  case 10 * DIM + N: \
    LaneFactors(DIM, N, J, stride, weight, K, det, factor); \
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
    const PetscReal *k       = p->kappa + (p->kappaconstant ? 0 : (PetscMin(first + l, p->ncells - 1) * g->npoint + q) * p->nkappa);
    PetscReal        K[3][3] = {{0}}, trace;

    for (PetscInt i = 0; i < p->nkappa; i++) g->K[i][l] = k[i];
    if (p->nkappa > 1) FillTensor(p->dim, p->nkappa, k, K);
    PetscCheck(p->nkappa == 1 ? *k > 0 && *k < PETSC_MAX_REAL : TensorIsPositive(p->dim, K, &trace), PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE, "The coefficient of the stiffness is %g%s in cell %" PetscCount_FMT "; it has to be positive%s",
               (double)k[0], p->nkappa == 1 ? "" : ", ...", PetscMin(first + l, p->ncells - 1), p->nkappa == 1 ? "" : " definite");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* are the determinants of all lanes positive numbers? */
static PetscErrorCode PointDeterminants(const PatchFDGeometry *g, PetscCount first, const Lanes det)
{
  int good = 1;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < LANES; l++) good &= det[l] > 0 && det[l] < PETSC_MAX_REAL;
  if (good) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < LANES; l++) {
    const PetscInt    dim = g->p->dim, size = PetscPowInt(g->p->geodegree + 1, dim);
    const PetscReal   z    = dim == 3 ? g->x[2 * size][l] : 0;
    const char *const unit = dim == 3 ? "cube" : "square";

    PetscCheck(det[l] > 0 && det[l] < PETSC_MAX_REAL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Cell %" PetscCount_FMT
               " is inverted or degenerate, with a corner at (%g, %g, %g): the determinant of its map from the unit "
               "%s is %g at one of its points; it has to be positive",
               PetscMin(first + l, g->p->ncells - 1), (double)g->x[0][l], (double)g->x[size][l], (double)z, unit, (double)det[l]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of a solid at a point: J^{-1}[reference direction][direction], then w |J|, lambda w |J|, mu w |J|, or the tangent, and shift w |J| */
static PetscErrorCode SolidPoint(PatchFDGeometry *g, PetscCount first, PetscInt q, PetscReal weight, Lanes factor[])
{
  const PatchFDPoints *p     = g->p;
  const PetscInt       dim   = p->dim;
  Lanes               *scale = factor + dim * dim;

  PetscFunctionBegin;
  for (int half = 0; half < 2; half++) {
    LaneHalf j[3][3], c[3], d = {0};

    for (PetscInt a = 0; a < dim; a++)
      for (PetscInt b = 0; b < dim; b++) j[a][b] = ((const LaneHalf *)g->J[(a * dim + b) * g->npoint + q])[half];
    LaneCofactors(dim, (const LaneHalf(*)[3])j, 0, c);
    for (PetscInt a = 0; a < dim; a++) d += j[a][0] * c[a];
    ((LaneHalf *)scale[0])[half] = d;
    for (PetscInt b = 0; b < dim; b++) {
      LaneCofactors(dim, (const LaneHalf(*)[3])j, b, c);
      for (PetscInt a = 0; a < dim; a++) ((LaneHalf *)factor[b * dim + a])[half] = c[a] / d;
    }
  }
  PetscCall(PointDeterminants(g, first, scale[0]));
  for (PetscInt l = 0; l < LANES; l++) {
    const PetscCount point = PetscMin(first + l, p->ncells - 1) * g->npoint + q;
    const PetscReal *k     = p->kappa + (p->kappaconstant ? 0 : p->nkappa * point);

    scale[0][l] *= weight;
    for (PetscInt i = 0; i < p->nkappa; i++) scale[1 + i][l] = k[i] * scale[0][l];
    if (p->shift) scale[1 + p->nkappa][l] = scale[0][l] * p->shift[p->shiftconstant ? 0 : point];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the factors of the cells from `first` on where they are given */
static void GivenFactors(const PatchFDGeometry *g, PetscCount first, Lanes factor[])
{
  const PatchFDPoints *p = g->p;

  for (PetscInt q = 0; q < g->npoint; q++, factor += g->nfactor) {
    for (PetscInt l = 0; l < LANES; l++) {
      const PetscCount at = PetscMin(first + l, p->ncells - 1) * g->npoint + q;

      for (PetscInt i = 0; i < p->nkappa; i++) factor[i][l] = p->kappa[at * p->nkappa + i];
      if (p->shift) factor[g->nfactor - 1][l] = p->shift[at];
    }
  }
}

PetscErrorCode PatchFDGeometryCells(PatchFDGeometry *g, PetscCount first, PatchFDLanes factor[])
{
  const PatchFDPoints *p   = g->p;
  const PetscInt       dim = p->dim, m = p->geodegree + 1, c = g->rule.points, size = PetscPowInt(m, dim);
  const PetscReal     *w = g->rule.w;

  PetscFunctionBegin;
  if (p->given) {
    GivenFactors(g, first, factor);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt l = 0; l < LANES; l++) {
    const PetscInt *node = p->geoindex + PetscMin(first + l, p->ncells - 1) * size;

    for (PetscInt i = 0; i < size; i++)
      for (PetscInt a = 0; a < dim; a++) g->x[a * size + i][l] = p->coordinate[(size_t)node[i] * dim + a];
  }
  Jacobians(dim, m, c, g->B, g->D, (const Lanes *)g->x, g->work, g->J);
  for (PetscInt q = 0; q < g->npoint; q++, factor += g->nfactor) {
    const PetscReal weight = w[q % c] * w[q / c % c] * (dim == 3 ? w[q / c / c] : 1);
    Lanes           det;

    if (p->solid) {
      PetscCall(SolidPoint(g, first, q, weight, factor));
      continue;
    }
    if (p->nkappa && (q == 0 || !p->kappaconstant)) PetscCall(PointConductivity(g, first, q));
    PointFactors(dim, p->nkappa, (const Lanes *)g->J + q, g->npoint, weight, (const Lanes *)g->K, det, factor);
    PetscCall(PointDeterminants(g, first, det));
    for (PetscInt l = 0; l < LANES && p->shift; l++)
      factor[g->nfactor - 1][l] = weight * det[l] * p->shift[p->shiftconstant ? 0 : PetscMin(first + l, p->ncells - 1) * g->npoint + q];
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
      const PetscInt   at[3] = {PetscMin(cell[0] + l, cells[0][1] - 1) * k + i % (k + 1), cell[1] * k + i / (k + 1) % (k + 1),
                              dim == 3 ? cell[2] * k + i / (k + 1) / (k + 1) : 0};
      const PetscReal *from  = &shape->x[dim * PatchFDBoxNode(&shape->box, at[0], at[1], at[2])];

      for (PetscInt a = 0; a < dim; a++) x[a * size + i][l] = from[a];
    }
  }
}

/* What it takes to go through the cells of a mesh that is mapped, LANES in a row at a time, with the points of a field */
typedef struct {
  PetscInt dim, m, c, npoint; /* nodes and points in a direction, points of a cell */
  PetscInt cell[3], count;    /* the first cell at hand, and how many there are */
  Lanes   *x, *at, *J, *work; /* nodes; places of points and derivatives there */
} ShapeCells;

static PetscErrorCode ShapeCellsCreate(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, ShapeCells *s)
{
  PetscInt room;

  PetscFunctionBegin;
  *s        = (ShapeCells){.dim = dim, .m = field->q[0].degree + 1, .c = field->q[0].nq, .cell = {cells[0][0], cells[1][0], cells[2][0]}};
  s->npoint = PetscPowInt(s->c, dim);
  room      = PetscPowInt(PetscMax(s->c, s->m), dim);
  PetscCall(PetscMalloc4(dim * room, &s->x, dim * s->npoint, &s->at, dim * dim * s->npoint, &s->J, 2 * room, &s->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShapeCellsDestroy(ShapeCells *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(s->x, s->at, s->J, s->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes of the next cells, if there are any */
static PetscBool ShapeCellsNext(const PatchFDFieldPoints *field, const PatchFDRange cells, ShapeCells *s)
{
  s->cell[0] += s->count;
  for (int d = 0; d < 2 && s->cell[d] == cells[d][1]; d++) {
    s->cell[d] = cells[d][0];
    s->cell[d + 1]++;
  }
  if (!PatchFDRangeSize(cells) || s->cell[2] == cells[2][1]) return PETSC_FALSE;
  s->count = PetscMin(LANES, cells[0][1] - s->cell[0]);
  ShapeNodes(s->dim, field, cells, s->cell, s->x);
  return PETSC_TRUE;
}

/* the first of the cells at hand with a determinant that is not positive at one of the points, if there is one, is a defect */
static void ShapeDefect(const ShapeCells *s, const Lanes least, PatchFDMetric *m)
{
  for (PetscInt l = s->count - 1; l >= 0; l--) {
    if (least[l] > 0) continue;
    m->defect = PATCHFD_DEFECT_INVERTED;
    for (int d = 0; d < 3; d++) m->cell[d] = s->cell[d] + (d == 0 ? l : 0);
  }
}

/* not a number is not positive */
static inline void LeastDeterminant(const Lanes det, Lanes least)
{
  for (int l = 0; l < LANES; l++) least[l] = det[l] > 0 && det[l] < PETSC_MAX_REAL ? least[l] : -1;
}

PetscErrorCode PatchFDHostCheckShape(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, PatchFDMetric *found)
{
  ShapeCells s;

  PetscFunctionBegin;
  PetscCall(ShapeCellsCreate(dim, field, cells, &s));
  while (!found->defect && ShapeCellsNext(field, cells, &s)) {
    Lanes least, det;

    Jacobians(dim, s.m, s.c, field->q[0].B[0], field->q[0].B[1], (const Lanes *)s.x, s.work, s.J);
    for (int l = 0; l < LANES; l++) least[l] = 1;
    for (PetscInt p = 0; p < s.npoint; p++) {
      PointFactors(dim, 0, (const Lanes *)s.J + p, s.npoint, 1, NULL, det, NULL);
      LeastDeterminant(det, least);
    }
    ShapeDefect(&s, least, found);
  }
  PetscCall(ShapeCellsDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostPointValues(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, PatchFDFunction f, void *ctx,
                                      PetscInt Nc, PetscReal v[])
{
  const PetscReal *const basis[3] = {field->q[0].B[0], field->q[0].B[0], field->q[0].B[0]};
  PetscReal             *x;
  ShapeCells             s;

  PetscFunctionBegin;
  PetscCall(ShapeCellsCreate(dim, field, cells, &s));
  PetscCall(PetscMalloc1(LANES * dim * s.npoint, &x));
  while (ShapeCellsNext(field, cells, &s)) {
    for (PetscInt a = 0; a < dim; a++)
      Interpolate(dim, s.m, s.c, basis, (const Lanes *)s.x + a * PetscPowInt(s.m, dim), s.work, s.at + a * s.npoint);
    for (PetscInt p = 0; p < s.npoint; p++)
      for (PetscInt l = 0; l < s.count; l++)
        for (PetscInt a = 0; a < dim; a++) x[(l * s.npoint + p) * dim + a] = s.at[a * s.npoint + p][l];
    PetscCallBack("DMBOX callback function", (*f)(dim, 0, s.count * s.npoint, x, Nc, v, ctx));
    v += s.count * s.npoint * Nc;
  }
  PetscCall(PetscFree(x));
  PetscCall(ShapeCellsDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = log x for positive normal numbers: 2 artanh((m - 1) / (m + 1)) + e log 2 with x = 2^e m, m from sqrt(1 / 2) to sqrt(2) */
static inline void LaneLog(Lanes x)
{
  for (int l = 0; l < LANES; l++) {
    union
    {
      PetscReal real;
      uint64_t  bits;
    } m, e;
    PetscReal s, square, sum = 0;

    m.real = x[l];
    e.bits = ((m.bits + 0x00095f619980c433) >> 52) + 0x4330000000000000; /* 2^52 + the exponent that is stored, 1 more above sqrt(2) */
    m.bits -= ((e.bits & 0xfff) - 1023) << 52;
    s      = (m.real - 1) / (m.real + 1);
    square = s * s;
    for (int n = 21; n > 0; n -= 2) sum = sum * square + 2.0 / n;
    x[l] = s * sum + (e.real - 4503599627370496.0 - 1023) * 0.693147180559945309417;
  }
}

/* sums over the points of some cells: weights, |J| shift, logarithms */
typedef struct {
  Lanes size, log[3], weight, shift, largest; /* size: of the cells in the box; then the sums */
  Lanes base[3];                              /* what makes logarithms of those of cells of the size 1 */
} MetricSums;

static void MetricSumsBegin(const ShapeCells *s, const PatchFDFieldPoints *field, MetricSums *sum)
{
  *sum = (MetricSums){.weight = {0}};
  for (int l = 0; l < LANES; l++) {
    PetscReal h[3];

    sum->size[l] = 1;
    for (PetscInt d = 0; d < s->dim; d++) sum->size[l] *= h[d] = field->q[d].h[s->cell[d] + (d == 0 ? PetscMin(l, s->count - 1) : 0)];
    for (PetscInt d = 0; d < s->dim; d++) sum->base[d][l] = PetscLogReal(h[d] * h[d] / sum->size[l]);
  }
}

static void MetricSumsEnd(PetscInt dim, const MetricSums *sum, PatchFDMetric *m)
{
  for (int l = 0; l < LANES; l++) {
    for (PetscInt e = 0; e < dim; e++) m->log[e] += sum->log[e][l];
    m->weight += sum->weight[l];
    m->shift += sum->shift[l];
    m->largest = PetscMax(m->largest, sum->largest[l]);
  }
}

/* a point: its place in each direction, its determinants and factors, those of cells of the size 1 */
static void MetricSumsAdd(const ShapeCells *s, const PatchFDFieldPoints *field, const PetscInt point[3], const Lanes det, Lanes factor[],
                          const Lanes shift, MetricSums *sum, PatchFDMetric *m)
{
  const PetscInt dim = s->dim, c = s->c, entry[2][3] = {{0, 2}, {0, 3, 5}};
  PetscReal      other = 1;
  Lanes          w;

  for (PetscInt d = 1; d < dim; d++) other *= field->q[d].w[s->cell[d] * c + point[d]];
  for (int l = 0; l < LANES; l++) {
    w[l] = l < s->count ? other * field->q[0].w[(s->cell[0] + l) * c + point[0]] : 0;
    sum->weight[l] += w[l];
    sum->shift[l] += w[l] / sum->size[l] * det[l] * shift[l];
    sum->largest[l] = PetscMax(sum->largest[l], shift[l]);
  }
  for (PetscInt e = 0; e < dim; e++) {
    PetscReal *v = factor[entry[dim - 2][e]];

    LaneLog(v);
    for (int l = 0; l < LANES; l++) sum->log[e][l] += v[l] = w[l] * (v[l] + sum->base[e][l]);
  }
  for (PetscInt d = 0; d < dim && m->layer[0]; d++) {
    for (PetscInt l = 0; l < s->count; l++) {
      PetscReal *layer = &m->layer[d][4 * ((s->cell[d] + (d == 0 ? l : 0)) * c + point[d])];

      for (PetscInt e = 0; e < dim; e++) layer[e] += factor[entry[dim - 2][e]][l];
      layer[3] += w[l];
    }
  }
}

/* factors without weights, shifts and determinants at a point of the cells at hand where factors, those of shifts among them, are given;
   `first`: the number of these cells */
static void GivenMetric(const ShapeCells *s, const PatchFDFieldPoints *field, const PetscInt point[3], const PatchFDPoints *points,
                        PetscCount first, Lanes factor[], Lanes shift, Lanes det)
{
  const PetscCount q      = (point[2] * s->c + point[1]) * s->c + point[0];
  PetscReal        weight = 1;

  for (PetscInt d = 0; d < s->dim; d++) weight *= field->q[d].w[s->cell[d] * s->c + point[d]] / field->q[d].h[s->cell[d]];
  for (int l = 0; l < LANES; l++) {
    const PetscCount at = (first + PetscMin(l, s->count - 1)) * s->npoint + q;

    for (PetscInt i = 0; i < points->nkappa; i++) factor[i][l] = points->kappa[at * points->nkappa + i] / weight;
    shift[l] = points->shift ? points->shift[at] / weight : 0;
    det[l]   = 1;
  }
}

/* the same at point p of the cells, from their derivatives */
static void PointMetric(const ShapeCells *s, const PatchFDPoints *points, PetscCount first, PetscInt p, Lanes factor[], Lanes shift,
                        Lanes det)
{
  Lanes K[6];

  for (int l = 0; l < LANES; l++) {
    const PetscCount at = (first + PetscMin(l, s->count - 1)) * s->npoint + p;

    for (PetscInt i = 0; i < points->nkappa; i++) K[i][l] = points->kappa[points->kappaconstant ? i : points->nkappa * at + i];
    shift[l] = points->shift ? points->shift[points->shiftconstant ? 0 : at] : 0;
  }
  PointFactors(s->dim, points->nkappa, (const Lanes *)s->J + p, s->npoint, 1, (const Lanes *)K, det, factor);
}

/* coefficients have been checked (PatchFDHostCheckCoefficients()) */
PetscErrorCode PatchFDHostMetric(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, const PatchFDPoints *points,
                                 PatchFDMetric *m)
{
  PetscCount first = 0;
  ShapeCells s;

  PetscFunctionBegin;
  PetscCall(ShapeCellsCreate(dim, field, cells, &s));
  for (; !m->defect && ShapeCellsNext(field, cells, &s); first += s.count) {
    Lanes      least, det, factor[6], shift;
    MetricSums sum;

    MetricSumsBegin(&s, field, &sum);
    if (!points->given) Jacobians(dim, s.m, s.c, field->q[0].B[0], field->q[0].B[1], (const Lanes *)s.x, s.work, s.J);
    for (int l = 0; l < LANES; l++) least[l] = 1;
    for (PetscInt p = 0; p < s.npoint; p++) {
      const PetscInt point[3] = {p % s.c, p / s.c % s.c, p / s.c / s.c};

      if (points->given) GivenMetric(&s, field, point, points, first, factor, shift, det);
      else PointMetric(&s, points, first, p, factor, shift, det);
      LeastDeterminant(det, least);
      MetricSumsAdd(&s, field, point, det, factor, shift, &sum, m);
    }
    ShapeDefect(&s, least, m);
    MetricSumsEnd(dim, &sum, m);
  }
  for (PetscInt side = 0; side < 6; side++)
    for (PetscCount i = 0; i < PatchFDSideSize(points, side); i++) m->side[side] += points->side[side][i];
  PetscCall(ShapeCellsDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
