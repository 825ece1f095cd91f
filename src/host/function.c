/*
  Functions of space and grid functions.  A cell has the nodes c stride .. c stride + k and nq quadrature points in each direction; sums over
  points or nodes are done one direction after the other.

  Arrays over one cell have x fastest: nodes a[i2][i1][i0], points v[q2][q1][q0].
*/
#include <patchfd/private/assembly.h>

static inline PetscBool RangeIsEmpty(const PatchFDRange r)
{
  return (PetscBool)(r[0][0] >= r[0][1] || r[1][0] >= r[1][1] || r[2][0] >= r[2][1]);
}

PetscErrorCode PatchFDHostInterpolate(PetscInt dim, PetscReal *const nodes[3], const PatchFDRange range, PatchFDFunction f, void *ctx, PetscReal time, PetscInt Nc, const PatchFDBox *box,
                                      PetscScalar u[])
{
  PetscInt i[3];

  PetscFunctionBegin;
  for (i[2] = range[2][0]; i[2] < range[2][1]; i[2]++) {
    for (i[1] = range[1][0]; i[1] < range[1][1]; i[1]++) {
      for (i[0] = range[0][0]; i[0] < range[0][1]; i[0]++) {
        const PetscReal x[3] = {nodes[0][i[0]], nodes[1][i[1]], nodes[2][i[2]]};

        PetscCallBack("DMBOX callback function", (*f)(dim, time, x, Nc, &u[Nc * PatchFDBoxNode(box, i[0], i[1], i[2])], ctx));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* room for a cell's values at nodes, at points, and in between, for those of a function of Nc components at the points, and for weights */
typedef struct {
  PetscInt     n[3], stride[3], nq[3];
  PetscScalar *node, *point, *work[2], *f;
  PetscReal   *weight;
} CellBuffers;

static PetscErrorCode CellBuffersCreate(const PatchFDQuadrature q[3], PetscInt Nc, CellBuffers *c)
{
  PetscInt size = 1;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    c->n[d]      = q[d].degree + 1;
    c->stride[d] = q[d].stride;
    c->nq[d]     = q[d].nq;
    size *= PetscMax(c->n[d], c->nq[d]);
  }
  PetscCall(PetscMalloc6(size, &c->node, size, &c->point, size, &c->work[0], size, &c->work[1], Nc * size, &c->f, size, &c->weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellBuffersDestroy(CellBuffers *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(c->node, c->point, c->work[0], c->work[1], c->f, c->weight));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  const PetscInt *n = c->n, *nq = c->nq;

  Contract(1, n[2], nq[2], nq[0] * nq[1], q[2].B[0], 1, n[2], c->point, c->work[0]);
  Contract(n[2], n[1], nq[1], nq[0], q[1].B[0], 1, n[1], c->work[0], c->work[1]);
  Contract(n[2] * n[1], n[0], nq[0], 1, q[0].B[0], 1, n[0], c->work[1], c->node);
}

/* point[q] = sum over nodes of B0[q0][i0] B1[q1][i1] B2[q2][i2] node[i], B the derivatives of the given orders */
static void NodesToPoints(const PatchFDQuadrature q[3], const PetscInt order[3], CellBuffers *c)
{
  const PetscInt *n = c->n, *nq = c->nq;

  Contract(n[2] * n[1], nq[0], n[0], 1, q[0].B[order[0]], n[0], 1, c->node, c->work[0]);
  Contract(n[2], nq[1], n[1], nq[0], q[1].B[order[1]], n[1], 1, c->work[0], c->work[1]);
  Contract(1, nq[2], n[2], nq[0] * nq[1], q[2].B[order[2]], n[2], 1, c->work[1], c->point);
}

/* values of f and weights at the points of a cell */
static PetscErrorCode FunctionAtPoints(PetscInt dim, const PatchFDQuadrature q[3], const PetscInt cell[3], PetscInt Nc, PatchFDFunction f, void *ctx, PetscReal time, CellBuffers *c)
{
  const PetscInt nq[3] = {q[0].nq, q[1].nq, q[2].nq};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < nq[2]; k++) {
    for (PetscInt j = 0; j < nq[1]; j++) {
      for (PetscInt i = 0; i < nq[0]; i++) {
        const PetscInt  p[3] = {cell[0] * nq[0] + i, cell[1] * nq[1] + j, cell[2] * nq[2] + k}, at = i + nq[0] * (j + nq[1] * k);
        const PetscReal x[3] = {q[0].x[p[0]], q[1].x[p[1]], q[2].x[p[2]]};

        PetscCallBack("DMBOX callback function", (*f)(dim, time, x, Nc, &c->f[Nc * at], ctx));
        c->weight[at] = q[0].w[p[0]] * q[1].w[p[1]] * q[2].w[p[2]];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AddNodes(const CellBuffers *c, const PetscInt cell[3], const PatchFDRange write, const PatchFDBox *box, PetscScalar b[])
{
  const PetscScalar *v = c->node;
  PetscInt           i[3], l[3];

  for (l[2] = 0; l[2] < c->n[2]; l[2]++) {
    for (l[1] = 0; l[1] < c->n[1]; l[1]++) {
      for (l[0] = 0; l[0] < c->n[0]; l[0]++, v++) {
        PetscBool inside = PETSC_TRUE;

        for (PetscInt d = 0; d < 3; d++) {
          i[d] = cell[d] * c->stride[d] + l[d];
          if (i[d] < write[d][0] || i[d] >= write[d][1]) inside = PETSC_FALSE;
        }
        if (inside) b[PatchFDBoxNode(box, i[0], i[1], i[2])] += *v;
      }
    }
  }
}

PetscErrorCode PatchFDHostLoad(PetscInt dim, const PatchFDQuadrature q[3], const PatchFDRange cells, const PatchFDRange write, PatchFDFunction f, void *ctx, PetscReal time, const PatchFDBox *box,
                               PetscScalar b[])
{
  CellBuffers c;
  PetscInt    cell[3];

  PetscFunctionBegin;
  if (RangeIsEmpty(cells) || RangeIsEmpty(write)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(q, 1, &c));
  for (cell[2] = cells[2][0]; cell[2] < cells[2][1]; cell[2]++) {
    for (cell[1] = cells[1][0]; cell[1] < cells[1][1]; cell[1]++) {
      for (cell[0] = cells[0][0]; cell[0] < cells[0][1]; cell[0]++) {
        PetscCall(FunctionAtPoints(dim, q, cell, 1, f, ctx, time, &c));
        for (PetscInt p = 0; p < c.nq[0] * c.nq[1] * c.nq[2]; p++) c.point[p] = c.weight[p] * c.f[p];
        PointsToNodes(q, &c);
        AddNodes(&c, cell, write, box, b);
      }
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void GetNodes(const PetscInt cell[3], const PatchFDBox *box, const PetscScalar u[], CellBuffers *c)
{
  PetscScalar *v = c->node;

  for (PetscInt k = 0; k < c->n[2]; k++) {
    for (PetscInt j = 0; j < c->n[1]; j++) {
      const PetscInt     first[3] = {cell[0] * c->stride[0], cell[1] * c->stride[1] + j, cell[2] * c->stride[2] + k};
      const PetscScalar *row      = &u[PatchFDBoxNode(box, first[0], first[1], first[2])];

      for (PetscInt i = 0; i < c->n[0]; i++) *v++ = row[i];
    }
  }
}

PetscErrorCode PatchFDHostError(PetscInt dim, const PatchFDQuadrature q[3], const PatchFDRange cells, PetscInt Nc, const PetscInt order[][3], PatchFDFunction f, void *ctx, PetscReal time,
                                const PatchFDBox *box, const PetscScalar u[], PetscReal *l2, PetscReal *max)
{
  CellBuffers c;
  PetscInt    cell[3];

  PetscFunctionBegin;
  if (RangeIsEmpty(cells)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CellBuffersCreate(q, Nc, &c));
  for (cell[2] = cells[2][0]; cell[2] < cells[2][1]; cell[2]++) {
    for (cell[1] = cells[1][0]; cell[1] < cells[1][1]; cell[1]++) {
      for (cell[0] = cells[0][0]; cell[0] < cells[0][1]; cell[0]++) {
        GetNodes(cell, box, u, &c);
        PetscCall(FunctionAtPoints(dim, q, cell, Nc, f, ctx, time, &c));
        for (PetscInt m = 0; m < Nc; m++) {
          PetscReal scale = 1; /* from the cell [0, 1] to this one */

          NodesToPoints(q, order[m], &c);
          for (int d = 0; d < 3; d++)
            for (PetscInt o = 0; o < order[m][d]; o++) scale /= q[d].h[cell[d]];
          for (PetscInt p = 0; p < c.nq[0] * c.nq[1] * c.nq[2]; p++) {
            const PetscReal error = PetscAbsScalar(scale * c.point[p] - c.f[Nc * p + m]);

            *l2 += c.weight[p] * error * error;
            if (error > *max || PetscIsNanReal(error)) *max = error;
          }
        }
      }
    }
  }
  PetscCall(CellBuffersDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
