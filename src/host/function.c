/*
  Functions of space and grid functions.  In a field a cell c has the nodes c stride .. c stride + k, and it has nq points, quadrature points for example, in
  each direction, which are the same for all fields; sums over points or nodes are done one direction after the other.

  Arrays over one cell have x fastest: nodes a[i2][i1][i0], points v[q2][q1][q0].
*/
#include <patchfd/private/assembly.h>

static inline PetscBool RangeIsEmpty(const PatchFDRange r)
{
  return (PetscBool)(r[0][0] >= r[0][1] || r[1][0] >= r[1][1] || r[2][0] >= r[2][1]);
}

PetscErrorCode PatchFDHostInterpolate(PetscInt dim, PetscReal *const nodes[3], const PatchFDRange range, PatchFDFunction f, void *ctx, PetscReal time, PetscInt Nc, PetscInt first, PetscInt n,
                                      const PatchFDBox *box, PetscScalar u[])
{
  PetscScalar value[PATCHFD_MAX_FIELDS];
  PetscInt    i[3];

  PetscFunctionBegin;
  PetscAssert(Nc <= PATCHFD_MAX_FIELDS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " components", Nc);
  for (i[2] = range[2][0]; i[2] < range[2][1]; i[2]++) {
    for (i[1] = range[1][0]; i[1] < range[1][1]; i[1]++) {
      for (i[0] = range[0][0]; i[0] < range[0][1]; i[0]++) {
        const PetscReal x[3] = {nodes[0][i[0]], nodes[1][i[1]], nodes[2][i[2]]};

        PetscCallBack("DMBOX callback function", (*f)(dim, time, x, Nc, value, ctx));
        PetscCall(PetscArraycpy(&u[n * PatchFDBoxNode(box, i[0], i[1], i[2])], &value[first], n));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* room for a cell's values of a field at nodes, at points, and in between, for a sum of such values, for those of a function of Nc components, and for weights */
typedef struct {
  PetscScalar *node, *point, *work[2], *sum, *f;
  PetscReal   *weight;
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
  PetscCall(PetscMalloc7(size, &c->node, size, &c->point, size, &c->work[0], size, &c->work[1], size, &c->sum, Nc * size, &c->f, size, &c->weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellBuffersDestroy(CellBuffers *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree7(c->node, c->point, c->work[0], c->work[1], c->sum, c->f, c->weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscInt NumPoints(const PatchFDQuadrature q[3])
{
  return q[0].nq * q[1].nq * q[2].nq;
}

/* out[o][i][s] = sum over j of X(i, j) in[o][j][s], where X(i, j) = X[i * row + j * col] */
static void Contract(PetscInt outer, PetscInt ni, PetscInt nj, PetscInt stride, const PetscReal X[], PetscInt row, PetscInt col, const PetscScalar in[], PetscScalar out[])
{
  for (PetscInt o = 0; o < outer; o++) {
    for (PetscInt i = 0; i < ni; i++) {
      PetscScalar *y = &out[(o * ni + i) * stride];

      for (PetscInt s = 0; s < stride; s++) y[s] = 0;
      for (PetscInt j = 0; j < nj; j++) {
        const PetscScalar *x = &in[(o * nj + j) * stride];
        const PetscReal    a = X[i * row + j * col];

        for (PetscInt s = 0; s < stride; s++) y[s] += a * x[s];
      }
    }
  }
}

/* node[i] = sum over points of B0[q0][i0] B1[q1][i1] B2[q2][i2] point[q] */
static void PointsToNodes(const PatchFDQuadrature q[3], CellBuffers *c)
{
  const PetscInt n[3] = {q[0].degree + 1, q[1].degree + 1, q[2].degree + 1}, nq[3] = {q[0].nq, q[1].nq, q[2].nq};

  Contract(1, n[2], nq[2], nq[0] * nq[1], q[2].B[0], 1, n[2], c->point, c->work[0]);
  Contract(n[2], n[1], nq[1], nq[0], q[1].B[0], 1, n[1], c->work[0], c->work[1]);
  Contract(n[2] * n[1], n[0], nq[0], 1, q[0].B[0], 1, n[0], c->work[1], c->node);
}

/* point[q] = sum over nodes of B0[q0][i0] B1[q1][i1] B2[q2][i2] node[i], B the derivatives of the given orders */
static void NodesToPoints(const PatchFDQuadrature q[3], const PetscInt order[3], CellBuffers *c)
{
  const PetscInt n[3] = {q[0].degree + 1, q[1].degree + 1, q[2].degree + 1}, nq[3] = {q[0].nq, q[1].nq, q[2].nq};

  Contract(n[2] * n[1], nq[0], n[0], 1, q[0].B[order[0]], n[0], 1, c->node, c->work[0]);
  Contract(n[2], nq[1], n[1], nq[0], q[1].B[order[1]], n[1], 1, c->work[0], c->work[1]);
  Contract(1, nq[2], n[2], nq[0] * nq[1], q[2].B[order[2]], n[2], 1, c->work[1], c->point);
}

/* values of f (NULL: zero) and weights at the points of a cell */
static PetscErrorCode FunctionAtPoints(PetscInt dim, const PatchFDQuadrature q[3], const PetscInt cell[3], PetscInt Nc, PatchFDFunction f, void *ctx, PetscReal time, CellBuffers *c)
{
  const PetscInt nq[3] = {q[0].nq, q[1].nq, q[2].nq};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < nq[2]; k++) {
    for (PetscInt j = 0; j < nq[1]; j++) {
      for (PetscInt i = 0; i < nq[0]; i++) {
        const PetscInt  p[3] = {cell[0] * nq[0] + i, cell[1] * nq[1] + j, cell[2] * nq[2] + k}, at = i + nq[0] * (j + nq[1] * k);
        const PetscReal x[3] = {q[0].x[p[0]], q[1].x[p[1]], q[2].x[p[2]]};

        if (f) PetscCallBack("DMBOX callback function", (*f)(dim, time, x, Nc, &c->f[Nc * at], ctx));
        else PetscCall(PetscArrayzero(&c->f[Nc * at], Nc));
        c->weight[at] = q[0].w[p[0]] * q[1].w[p[1]] * q[2].w[p[2]];
      }
    }
  }
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

PetscErrorCode PatchFDHostLoad(PetscInt dim, PetscInt nfield, const PatchFDFieldPoints field[], const PatchFDRange cells, PatchFDFunction f, void *ctx, PetscReal time, PetscScalar b[])
{
  CellBuffers c;
  PetscInt    cell[3];

  PetscFunctionBegin;
  if (RangeIsEmpty(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(nfield, field, nfield, &c));
  for (cell[2] = cells[2][0]; cell[2] < cells[2][1]; cell[2]++) {
    for (cell[1] = cells[1][0]; cell[1] < cells[1][1]; cell[1]++) {
      for (cell[0] = cells[0][0]; cell[0] < cells[0][1]; cell[0]++) {
        PetscCall(FunctionAtPoints(dim, field[0].q, cell, nfield, f, ctx, time, &c));
        for (PetscInt i = 0; i < nfield; i++) {
          for (PetscInt p = 0; p < NumPoints(field[0].q); p++) c.point[p] = c.weight[p] * c.f[nfield * p + i];
          PointsToNodes(field[i].q, &c);
          AddNodes(&c, &field[i], cell, b);
        }
      }
    }
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
      const PetscScalar *row = &u[(ptrdiff_t)field->at + PatchFDBoxNode(&field->box, cell[0] * q[0].stride, cell[1] * q[1].stride + j, cell[2] * q[2].stride + k)];

      for (PetscInt i = 0; i <= q[0].degree; i++) *v++ = row[i];
    }
  }
}

/* a derivative of a field at the points of a cell is added to c->sum */
static void AddDerivative(const PetscInt cell[3], const PatchFDFieldPoints *field, const PetscInt order[3], const PetscScalar u[], CellBuffers *c)
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
    if (error > e->largest || PetscIsNanReal(error)) e->largest = error;
  }
}

PetscErrorCode PatchFDHostDeviation(PetscInt dim, PetscInt nfield, const PatchFDFieldPoints field[], const PatchFDRange cells, PetscInt nder, const PatchFDDerivative der[], PetscInt Nc, PatchFDFunction f,
                                    void *ctx, PetscReal time, const PetscScalar u[], PatchFDDeviation e[])
{
  const PetscInt npoint = NumPoints(field[0].q);
  CellBuffers    c;
  PetscInt       cell[3];

  PetscFunctionBegin;
  if (RangeIsEmpty(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(nfield, field, Nc, &c));
  for (cell[2] = cells[2][0]; cell[2] < cells[2][1]; cell[2]++) {
    for (cell[1] = cells[1][0]; cell[1] < cells[1][1]; cell[1]++) {
      for (cell[0] = cells[0][0]; cell[0] < cells[0][1]; cell[0]++) {
        PetscCall(FunctionAtPoints(dim, field[0].q, cell, Nc, f, ctx, time, &c));
        for (PetscInt m = 0; m < Nc; m++) {
          PetscCall(PetscArrayzero(c.sum, npoint));
          for (PetscInt i = 0; i < nder; i++)
            if (der[i].component == m) AddDerivative(cell, &field[der[i].field], der[i].order, u, &c);
          AddDeviation(&c, npoint, Nc, m, &e[m]);
        }
      }
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostValues(const PatchFDFieldPoints *field, const PatchFDRange cells, const PetscScalar u[], const PatchFDBox *points, PetscInt Nc, PetscInt component, PetscScalar v[])
{
  const PetscInt value[3] = {0, 0, 0}, nq[3] = {field->q[0].nq, field->q[1].nq, field->q[2].nq};
  CellBuffers    c;
  PetscInt       cell[3];

  PetscFunctionBegin;
  if (RangeIsEmpty(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(1, field, 1, &c));
  for (cell[2] = cells[2][0]; cell[2] < cells[2][1]; cell[2]++) {
    for (cell[1] = cells[1][0]; cell[1] < cells[1][1]; cell[1]++) {
      for (cell[0] = cells[0][0]; cell[0] < cells[0][1]; cell[0]++) {
        const PetscScalar *p = c.point;

        GetNodes(cell, field, u, &c);
        NodesToPoints(field->q, value, &c);
        for (PetscInt k = 0; k < nq[2]; k++)
          for (PetscInt j = 0; j < nq[1]; j++)
            for (PetscInt i = 0; i < nq[0]; i++) v[Nc * PatchFDBoxNode(points, cell[0] * nq[0] + i, cell[1] * nq[1] + j, cell[2] * nq[2] + k) + component] = *p++;
      }
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
