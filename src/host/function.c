/*
  Functions of space and grid functions.  In a field a cell c has the nodes c stride .. c stride + k, and it has nq points, quadrature
  points for example, in each direction, which are the same for all fields; sums over points or nodes are done one direction after the
  other.

  Arrays over one cell have x fastest: nodes a[i2][i1][i0], points v[q2][q1][q0].
*/
#include "cell.h"
#include <patchfd/private/celldata.h>
#include <patchfd/private/assembly.h>

PetscErrorCode PatchFDHostPointwise(PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                                    void *pointwise)
{
  const PatchFDPointwise *p = (const PatchFDPointwise *)pointwise;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) PetscCall((*p->f)(dim, time, &x[dim * i], Nc, &u[Nc * i], p->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nodes whose values are asked for at once */
enum {
  NODES = 256
};

/* `count` nodes of a row, from (i, j, k) on */
static PetscErrorCode InterpolateRow(PetscInt dim, PetscReal *const nodes[3], const PatchFDShape *shape, const PetscInt i[3],
                                     PetscInt count, PatchFDFunction f, void *ctx, PetscReal time, PetscInt Nc, PetscInt first, PetscInt n,
                                     PetscScalar u[])
{
  const PetscReal *x = shape ? &shape->x[dim * PatchFDBoxNode(&shape->box, i[0], i[1], i[2])] : NULL;
  PetscReal        straight[3 * NODES];
  PetscScalar      value[PATCHFD_MAX_FIELDS * NODES];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim && !x; d++)
    for (PetscInt p = 0; p < count; p++) straight[dim * p + d] = nodes[d][i[d] + (d == 0 ? p : 0)];
  PetscCallBack("DMBOX callback function", (*f)(dim, time, count, x ? x : straight, Nc, value, ctx));
  for (PetscInt c = 0; c < n; c++)
    for (PetscInt p = 0; p < count; p++) u[n * p + c] = value[Nc * p + first + c];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostInterpolate(PetscInt dim, PetscReal *const nodes[3], const PatchFDShape *shape, const PatchFDRange range,
                                      PatchFDFunction f, void *ctx, PetscReal time, PetscInt Nc, PetscInt first, PetscInt n,
                                      const PatchFDBox *box, PetscScalar u[])
{
  PetscInt i[3];

  PetscFunctionBegin;
  PetscAssert(Nc <= PATCHFD_MAX_FIELDS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " components", Nc);
  for (i[2] = range[2][0]; i[2] < range[2][1]; i[2]++)
    for (i[1] = range[1][0]; i[1] < range[1][1]; i[1]++)
      for (i[0] = range[0][0]; i[0] < range[0][1]; i[0] += NODES)
        PetscCall(InterpolateRow(dim, nodes, shape, i, PetscMin(NODES, range[0][1] - i[0]), f, ctx, time, Nc, first, n,
                                 &u[n * PatchFDBoxNode(box, i[0], i[1], i[2])]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* how the place of a point of a cell depends on its coordinates in the box: J[a][e] = dx_a / dX_e, and its determinant */
typedef struct {
  PetscReal J[3][3], det;
} PointShape;

/*
  Room for a cell's values of a field at nodes, at points, and in between, for a sum of such values, for derivatives in three directions,
  for those of a function of Nc components, for weights, positions [points][dim] and what they depend on
*/
typedef struct {
  PetscScalar *node, *point, *work[2], *sum, *gradient[3], *f;
  PetscReal   *weight, *x;
  PointShape  *at;
} CellBuffers;

static PetscErrorCode CellBuffersCreate(PetscInt nfield, const PatchFDFieldPoints field[], PetscInt Nc, CellBuffers *c)
{
  PetscInt size = 1;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PetscInt n = 1;

    for (PetscInt i = 0; i < nfield; i++) n = PetscMax(n, PetscMax(field[i].q[d].degree + 1, field[i].q[d].nq));
    size *= n;
  }
  PetscCall(
    PetscMalloc7(size, &c->node, size, &c->point, size, &c->work[0], size, &c->work[1], size, &c->sum, Nc * size, &c->f, size, &c->weight));
  PetscCall(PetscMalloc5(size, &c->gradient[0], size, &c->gradient[1], size, &c->gradient[2], 3 * size, &c->x, size, &c->at));
  for (PetscInt p = 0; p < size; p++) c->at[p] = (PointShape){.J = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .det = 1};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellBuffersDestroy(CellBuffers *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree7(c->node, c->point, c->work[0], c->work[1], c->sum, c->f, c->weight));
  PetscCall(PetscFree5(c->gradient[0], c->gradient[1], c->gradient[2], c->x, c->at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscInt NumPoints(const PatchFDQuadrature q[3])
{
  return q[0].nq * q[1].nq * q[2].nq;
}

/* the cells of a range one after another, x fastest: is there one? */
static inline PetscBool FirstCell(const PatchFDRange cells, PetscInt cell[3])
{
  for (int d = 0; d < 3; d++) cell[d] = cells[d][0];
  return (PetscBool)(PatchFDRangeSize(cells) > 0);
}

static inline PetscBool NextCell(const PatchFDRange cells, PetscInt cell[3])
{
  for (int d = 0; d < 3; d++) {
    if (++cell[d] < cells[d][1]) return PETSC_TRUE;
    cell[d] = cells[d][0];
  }
  return PETSC_FALSE;
}

/* node[i] = sum over points of B0[q0][i0] B1[q1][i1] B2[q2][i2] point[q], B the derivatives of the given orders */
static void PointsToNodes(const PatchFDQuadrature q[3], const PetscInt order[3], CellBuffers *c)
{
  const PetscInt n[3] = {q[0].degree + 1, q[1].degree + 1, q[2].degree + 1}, nq[3] = {q[0].nq, q[1].nq, q[2].nq};

  Contract(1, n[2], nq[2], nq[0] * nq[1], q[2].B[order[2]], 1, n[2], c->point, c->work[0]);
  Contract(n[2], n[1], nq[1], nq[0], q[1].B[order[1]], 1, n[1], c->work[0], c->work[1]);
  Contract(n[2] * n[1], n[0], nq[0], 1, q[0].B[order[0]], 1, n[0], c->work[1], c->node);
}

/* point[q] = sum over nodes of B0[q0][i0] B1[q1][i1] B2[q2][i2] node[i], B the derivatives of the given orders */
static void NodesToPoints(const PatchFDQuadrature q[3], const PetscInt order[3], CellBuffers *c)
{
  const PetscInt n[3] = {q[0].degree + 1, q[1].degree + 1, q[2].degree + 1}, nq[3] = {q[0].nq, q[1].nq, q[2].nq};

  Contract(n[2] * n[1], nq[0], n[0], 1, q[0].B[order[0]], n[0], 1, c->node, c->work[0]);
  Contract(n[2], nq[1], n[1], nq[0], q[1].B[order[1]], n[1], 1, c->work[0], c->work[1]);
  Contract(1, nq[2], n[2], nq[0] * nq[1], q[2].B[order[2]], n[2], 1, c->work[1], c->point);
}

/* ---- where the points of a cell are ---- */

/* a component of the positions of a cell's nodes */
static void GetShapeNodes(PetscInt dim, const PatchFDFieldPoints *field, const PetscInt cell[3], PetscInt a, PetscScalar node[])
{
  const PatchFDQuadrature *q     = field->q;
  const PatchFDShape      *shape = field->shape;

  for (PetscInt k = 0; k <= q[2].degree; k++) {
    for (PetscInt j = 0; j <= q[1].degree; j++) {
      const PetscReal *
        row = &shape->x[dim * PatchFDBoxNode(&shape->box, cell[0] * q[0].stride, cell[1] * q[1].stride + j, cell[2] * q[2].stride + k) + a];

      for (PetscInt i = 0; i <= q[0].degree; i++) *node++ = row[dim * i];
    }
  }
}

/* coordinates in the box of the points of a cell, and the products of their weights */
static void PointsOfCell(PetscInt dim, const PatchFDQuadrature q[3], const PetscInt cell[3], PetscReal x[], PetscReal weight[])
{
  const PetscReal *xd[3], *w[3];

  for (PetscInt d = 0; d < 3; d++) {
    xd[d] = &q[d].x[cell[d] * q[d].nq];
    w[d]  = &q[d].w[cell[d] * q[d].nq];
  }
  for (PetscInt k = 0; k < q[2].nq; k++) {
    for (PetscInt j = 0; j < q[1].nq; j++) {
      for (PetscInt i = 0; i < q[0].nq; i++, x += dim) {
        x[0] = xd[0][i];
        if (dim > 1) x[1] = xd[1][j]; /* a loop would be a call of memcpy() */
        if (dim > 2) x[2] = xd[2][k];
        *weight++ = w[0][i] * w[1][j] * w[2][k];
      }
    }
  }
}

/* places in space in c->x; and, with `derivatives` (all dim of them, or 0) what belongs to them in c->at, where J and its determinant are
   those of the box to begin with */
static void ShapeAtPoints(PetscInt dim, PetscInt derivatives, const PatchFDFieldPoints *field, const PetscInt cell[3], CellBuffers *c)
{
  const PatchFDQuadrature *q      = field->q;
  const PetscInt           npoint = NumPoints(q);

  for (PetscInt a = 0; a < dim; a++) {
    for (PetscInt e = -1; e < derivatives; e++) { /* positions, then derivatives */
      const PetscInt  order[3] = {e == 0, e == 1, e == 2};
      const PetscReal scale    = e < 0 ? 1 : 1 / q[e].h[cell[e]];

      GetShapeNodes(dim, field, cell, a, c->node);
      NodesToPoints(q, order, c);
      for (PetscInt p = 0; p < npoint; p++) *(e < 0 ? &c->x[dim * p + a] : &c->at[p].J[a][e]) = scale * PetscRealPart(c->point[p]);
    }
  }
  for (PetscInt p = 0; p < npoint && derivatives; p++) c->at[p].det = Determinant(dim, (const PetscReal(*)[3])c->at[p].J);
}

/* what a point's part of the box is in space: |det J|, or on a side that of the surface */
static PetscReal Measure(PetscInt dim, PetscInt side, const PointShape *at)
{
  PetscReal normal[3] = {0, 0, 0};

  if (side < 0) return at->det;
  Cofactors(dim, (const PetscReal(*)[3])at->J, side, normal);
  return PetscSqrtReal(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
}

/* values of f (NULL: zero), positions and weights at the points of a cell */
static PetscErrorCode FunctionAtPoints(PetscInt dim, const PatchFDFieldPoints *field, const PetscInt cell[3], PetscInt Nc,
                                       PatchFDFunction f, void *ctx, PetscReal time, CellBuffers *c)
{
  const PetscInt npoint = NumPoints(field->q);

  PetscFunctionBegin;
  PointsOfCell(dim, field->q, cell, c->x, c->weight);
  if (field->shape) {
    ShapeAtPoints(dim, dim, field, cell, c);
    for (PetscInt p = 0; p < npoint; p++) c->weight[p] *= Measure(dim, field->side, &c->at[p]);
  }
  if (f) PetscCallBack("DMBOX callback function", (*f)(dim, time, npoint, c->x, Nc, c->f, ctx));
  else PetscCall(PetscArrayzero(c->f, Nc * npoint));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AddNodes(const CellBuffers *c, const PatchFDFieldPoints *field, const PetscInt cell[3], PetscScalar b[])
{
  const PatchFDQuadrature *q = field->q;
  const PetscScalar       *v = c->node;
  PetscInt                 i[3], l[3];

  for (l[2] = 0; l[2] <= q[2].degree; l[2]++) {
    for (l[1] = 0; l[1] <= q[1].degree; l[1]++) {
      for (l[0] = 0; l[0] <= q[0].degree; l[0]++, v++) {
        PetscBool inside = PETSC_TRUE;

        for (PetscInt d = 0; d < 3; d++) {
          i[d] = cell[d] * q[d].stride + l[d];
          if (i[d] < field->write[d][0] || i[d] >= field->write[d][1]) inside = PETSC_FALSE;
        }
        if (inside) b[(ptrdiff_t)field->at + PatchFDBoxNode(&field->box, i[0], i[1], i[2])] += *v;
      }
    }
  }
}

PetscErrorCode PatchFDHostLoad(PetscInt dim, PetscInt nfield, const PatchFDFieldPoints field[], const PatchFDRange cells, PatchFDFunction f,
                               void *ctx, PetscReal time, PetscScalar b[])
{
  const PetscInt value[3] = {0, 0, 0};
  CellBuffers    c;
  PetscInt       cell[3];

  PetscFunctionBegin;
  if (!PatchFDRangeSize(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(nfield, field, nfield, &c));
  for (PetscBool more = FirstCell(cells, cell); more; more = NextCell(cells, cell)) {
    PetscCall(FunctionAtPoints(dim, &field[0], cell, nfield, f, ctx, time, &c));
    for (PetscInt i = 0; i < nfield; i++) {
      for (PetscInt p = 0; p < NumPoints(field[0].q); p++) c.point[p] = c.weight[p] * c.f[nfield * p + i];
      PointsToNodes(field[i].q, value, &c);
      AddNodes(&c, &field[i], cell, b);
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostPointWeights(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, PetscReal a, PetscReal v[])
{
  CellBuffers c;
  PetscInt    cell[3];

  PetscFunctionBegin;
  PetscCall(CellBuffersCreate(1, field, 1, &c));
  for (PetscBool more = FirstCell(cells, cell); more; more = NextCell(cells, cell)) {
    PetscCall(FunctionAtPoints(dim, field, cell, 1, NULL, NULL, 0, &c));
    for (PetscInt p = 0; p < NumPoints(field->q); p++) *v++ = a * c.weight[p];
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void GetNodes(const PetscInt cell[3], const PatchFDFieldPoints *field, const PetscScalar u[], CellBuffers *c)
{
  const PatchFDQuadrature *q = field->q;
  PetscScalar             *v = c->node;

  for (PetscInt k = 0; k <= q[2].degree; k++) {
    for (PetscInt j = 0; j <= q[1].degree; j++) {
      const PetscScalar *row = &u[(ptrdiff_t)field->at +
                                  PatchFDBoxNode(&field->box, cell[0] * q[0].stride, cell[1] * q[1].stride + j, cell[2] * q[2].stride + k)];

      for (PetscInt i = 0; i <= q[0].degree; i++) *v++ = row[i];
    }
  }
}

/* a derivative of a field at the points of a cell is added to c->sum */
static void AddDerivative(const PetscInt cell[3], const PatchFDFieldPoints *field, const PetscInt order[3], const PetscScalar u[],
                          CellBuffers *c)
{
  PetscReal scale = 1; /* from the cell [0, 1] to this one */

  GetNodes(cell, field, u, c);
  NodesToPoints(field->q, order, c);
  for (int d = 0; d < 3; d++)
    for (PetscInt o = 0; o < order[d]; o++) scale /= field->q[d].h[cell[d]];
  for (PetscInt p = 0; p < NumPoints(field->q); p++) c->sum[p] += scale * c->point[p];
}

static void AddDeviation(const CellBuffers *c, PetscInt npoint, PetscInt Nc, PetscInt m, PatchFDDeviation *e)
{
  for (PetscInt p = 0; p < npoint; p++) {
    const PetscScalar difference = c->sum[p] - c->f[Nc * p + m] - e->shift;
    const PetscReal   error      = PetscAbsScalar(difference);

    e->integral += c->weight[p] * PetscRealPart(difference);
    e->square += c->weight[p] * error * error;
    e->largest = PetscMax(e->largest, error); /* not a number: the sums know */
  }
}

PetscErrorCode PatchFDHostDeviation(PetscInt dim, PetscInt nfield, const PatchFDFieldPoints field[], const PatchFDRange cells,
                                    PetscInt nder, const PatchFDDerivative der[], PetscInt Nc, PatchFDFunction f, void *ctx, PetscReal time,
                                    const PetscScalar u[], PatchFDDeviation e[])
{
  const PetscInt npoint = NumPoints(field[0].q);
  CellBuffers    c;
  PetscInt       cell[3];

  PetscFunctionBegin;
  if (!PatchFDRangeSize(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(nfield, field, Nc, &c));
  for (PetscBool more = FirstCell(cells, cell); more; more = NextCell(cells, cell)) {
    PetscCall(FunctionAtPoints(dim, &field[0], cell, Nc, f, ctx, time, &c));
    for (PetscInt m = 0; m < Nc; m++) {
      PetscCall(PetscArrayzero(c.sum, npoint));
      for (PetscInt i = 0; i < nder; i++)
        if (der[i].component == m) AddDerivative(cell, &field[der[i].field], der[i].order, u, &c);
      AddDeviation(&c, npoint, Nc, m, &e[m]);
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c->gradient = the derivatives of a field by the coordinates of the box at the points of a cell */
static PetscErrorCode GradientInBox(PetscInt dim, const PetscInt cell[3], const PatchFDFieldPoints *field, const PetscScalar u[],
                                    CellBuffers *c)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt order[3] = {d == 0, d == 1, d == 2};

    PetscCall(PetscArrayzero(c->sum, NumPoints(field->q)));
    AddDerivative(cell, field, order, u, c);
    PetscCall(PetscArraycpy(c->gradient[d], c->sum, NumPoints(field->q)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c->sum = component m of the gradient in space, from the derivatives by the coordinates of the box */
static void GradientInSpace(PetscInt dim, PetscInt npoint, PetscInt m, CellBuffers *c)
{
  for (PetscInt p = 0; p < npoint; p++) {
    c->sum[p] = 0;
    for (PetscInt e = 0; e < dim; e++) {
      PetscReal normal[3];

      Cofactors(dim, (const PetscReal(*)[3])c->at[p].J, e, normal);
      c->sum[p] += normal[m] / c->at[p].det * c->gradient[e][p];
    }
  }
}

PetscErrorCode PatchFDHostGradientDeviation(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, PatchFDFunction f,
                                            void *ctx, PetscReal time, const PetscScalar u[], PatchFDDeviation e[])
{
  const PetscInt npoint = NumPoints(field->q);
  CellBuffers    c;
  PetscInt       cell[3];

  PetscFunctionBegin;
  if (!PatchFDRangeSize(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(1, field, dim, &c));
  for (PetscBool more = FirstCell(cells, cell); more; more = NextCell(cells, cell)) {
    PetscCall(FunctionAtPoints(dim, field, cell, dim, f, ctx, time, &c));
    PetscCall(GradientInBox(dim, cell, field, u, &c));
    for (PetscInt m = 0; m < dim; m++) {
      GradientInSpace(dim, npoint, m, &c);
      AddDeviation(&c, npoint, dim, m, &e[m]);
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostValues(const PatchFDFieldPoints *field, const PatchFDRange cells, const PetscScalar u[], const PatchFDBox *points,
                                 PetscInt Nc, PetscInt component, PetscScalar v[])
{
  const PetscInt value[3] = {0, 0, 0}, nq[3] = {field->q[0].nq, field->q[1].nq, field->q[2].nq};
  CellBuffers    c;
  PetscInt       cell[3];

  PetscFunctionBegin;
  if (!PatchFDRangeSize(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(1, field, 1, &c));
  for (PetscBool more = FirstCell(cells, cell); more; more = NextCell(cells, cell)) {
    const PetscScalar *p = c.point;

    GetNodes(cell, field, u, &c);
    NodesToPoints(field->q, value, &c);
    for (PetscInt k = 0; k < nq[2]; k++)
      for (PetscInt j = 0; j < nq[1]; j++)
        for (PetscInt i = 0; i < nq[0]; i++)
          v[Nc * PatchFDBoxNode(points, cell[0] * nq[0] + i, cell[1] * nq[1] + j, cell[2] * nq[2] + k) + component] = *p++;
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- coefficients of operators by quadrature ---- */

/* the first one of these numbers that is not positive (or, if that is allowed, zero) and finite, or count */
static PetscCount FirstDefect(PetscCount count, PetscBool zero, const PetscReal v[])
{
  const PetscCount many = 64;

  for (PetscCount i = 0; i < count; i += many) {
    const PetscCount n   = PetscMin(many, count - i);
    int              bad = 0;

    for (PetscCount j = i; j < i + n; j++) bad |= !((zero ? v[j] >= 0 : v[j] > 0) && v[j] <= PETSC_MAX_REAL);
    for (PetscCount j = i; j < i + n && bad; j++)
      if (!((zero ? v[j] >= 0 : v[j] > 0) && v[j] <= PETSC_MAX_REAL)) return j;
  }
  return count;
}

/* the first of these points where K is not positive definite, or count */
static PetscCount FirstIndefinite(const PatchFDPoints *points, PetscCount count)
{
  if (points->nkappa == 1) return FirstDefect(count, PETSC_FALSE, points->kappa);
  return PatchFDHostFirstIndefinite(count, points->dim, points->nkappa, points->kappa);
}

void PatchFDHostCheckCoefficients(const PatchFDPoints *points, PetscInt npoint, const PatchFDRange cells, PatchFDMetric *m)
{
  const PetscCount all = points->ncells * npoint, nkappa = points->kappaconstant ? PetscMin(1, all) : all,
                   nshift = !points->shift ? 0 : (points->shiftconstant ? PetscMin(1, all) : all);
  const PetscCount kappa = FirstIndefinite(points, nkappa), shift = FirstDefect(nshift, PETSC_TRUE, points->shift);

  for (PetscCount i = 0; i < shift; i++) m->largest = PetscMax(m->largest, points->shift[i]);
  if (kappa < nkappa) m->defect = PATCHFD_DEFECT_KAPPA;
  if (shift < nshift && (!m->defect || shift < kappa)) m->defect = PATCHFD_DEFECT_SHIFT;
  if (m->defect) {
    const PetscInt cell = (PetscInt)((m->defect == PATCHFD_DEFECT_KAPPA ? kappa : shift) / npoint),
                   n[2] = {cells[0][1] - cells[0][0], cells[1][1] - cells[1][0]};

    m->cell[0] = cells[0][0] + cell % n[0];
    m->cell[1] = cells[1][0] + cell / n[0] % n[1];
    m->cell[2] = cells[2][0] + cell / n[0] / n[1];
  }
}

/* ---- values at points, and loads of such values ---- */

PetscErrorCode PatchFDHostPointFields(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, const PetscScalar u[],
                                      PetscScalar value[], PetscScalar gradient[])
{
  const PetscInt order[3] = {0, 0, 0}, npoint = NumPoints(field->q);
  PetscCount     first = 0;
  CellBuffers    c;
  PetscInt       cell[3];

  PetscFunctionBegin;
  if (!PatchFDRangeSize(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(1, field, 1, &c));
  for (PetscBool more = FirstCell(cells, cell); more; more = NextCell(cells, cell), first += npoint) {
    if (value) {
      GetNodes(cell, field, u, &c);
      NodesToPoints(field->q, order, &c);
      PetscCall(PetscArraycpy(&value[first], c.point, npoint));
    }
    if (!gradient) continue;
    PetscCall(FunctionAtPoints(dim, field, cell, 1, NULL, NULL, 0, &c));
    PetscCall(GradientInBox(dim, cell, field, u, &c));
    for (PetscInt m = 0; m < dim; m++) {
      GradientInSpace(dim, npoint, m, &c);
      for (PetscInt p = 0; p < npoint; p++) gradient[dim * (first + p) + m] = c.sum[p];
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c->point = what derivatives by coordinate e of the cell, of length h in the box, are multiplied with where those in space are with
   flux[npoint][dim] */
static void FluxInBox(PetscInt dim, PetscInt npoint, PetscInt e, PetscReal h, const PetscScalar flux[], CellBuffers *c)
{
  for (PetscInt p = 0; p < npoint; p++) {
    PetscReal normal[3];

    Cofactors(dim, (const PetscReal(*)[3])c->at[p].J, e, normal);
    c->point[p] = 0;
    for (PetscInt a = 0; a < dim; a++) c->point[p] += c->weight[p] / (c->at[p].det * h) * normal[a] * flux[dim * p + a];
  }
}

PetscErrorCode PatchFDHostPointLoad(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, const PetscScalar source[],
                                    const PetscScalar flux[], PetscScalar b[])
{
  const PetscInt npoint = NumPoints(field->q);
  PetscCount     first  = 0;
  CellBuffers    c;
  PetscInt       cell[3];

  PetscFunctionBegin;
  if (!PatchFDRangeSize(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(1, field, 1, &c));
  for (PetscBool more = FirstCell(cells, cell); more; more = NextCell(cells, cell), first += npoint) {
    PetscCall(FunctionAtPoints(dim, field, cell, 1, NULL, NULL, 0, &c));
    for (PetscInt e = source ? -1 : 0; e < (flux ? dim : 0); e++) {
      const PetscInt order[3] = {e == 0, e == 1, e == 2};

      if (e < 0)
        for (PetscInt p = 0; p < npoint; p++) c.point[p] = c.weight[p] * source[first + p];
      else FluxInBox(dim, npoint, e, field->q[e].h[cell[e]], &flux[dim * first], &c);
      PointsToNodes(field->q, order, &c);
      AddNodes(&c, field, cell, b);
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
