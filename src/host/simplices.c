/*
  What set-up and tests need of linear elements on a lattice of cubes that are cut into simplices (kernels.h): entries of assembled
  matrices, errors, and the voxels of a body.  In double precision, one cube after another.
*/
#include <patchfd/private/assembly.h>

/* the simplices of a cube, by their corners, [dim - 1] */
static const int SimplexCount[3]        = {1, 2, 6};
static const int SimplexCorner[3][6][4] = {{{0, 1}},
                                           {{0, 1, 3}, {0, 2, 3}},
                                           {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 4, 5, 7}, {0, 2, 3, 7}, {0, 4, 6, 7}, {0, 2, 6, 7}}};

/* the direction from one corner of a path to the next */
static inline int SimplexStep(const int corner[], int s)
{
  const int step = corner[s + 1] - corner[s];

  return step == 4 ? 2 : step - 1;
}

static inline void CubeNode(const PetscInt cube[3], int corner, PetscInt node[3])
{
  for (int d = 0; d < 3; d++) node[d] = cube[d] + (corner >> d & 1);
}

/* ---- voxels: one byte a cube of the whole box, x fastest, zero outside of the body ---- */

void PatchFDHostVoxelCut(PetscInt dim, const PetscInt n[3], const unsigned char voxel[], const PatchFDBox *box, unsigned char active[])
{
  PetscInt m[3];

  for (int d = 0; d < 3; d++) m[d] = d < dim ? box->n[d] - 1 : 1;
  for (PetscInt k = 0; k < m[2]; k++)
    for (PetscInt j = 0; j < m[1]; j++)
      for (PetscInt i = 0; i < m[0]; i++) *active++ = voxel[i + box->lo[0] + n[0] * (j + box->lo[1] + (size_t)n[1] * (k + box->lo[2]))];
}

void PatchFDHostVoxelMean(PetscInt dim, const PetscInt n[3], const unsigned char voxel[], const PetscReal table[], const PatchFDBox *box,
                          PetscScalar u[])
{
  for (PetscInt k = 0; k < box->n[2]; k++) {
    for (PetscInt j = 0; j < box->n[1]; j++) {
      for (PetscInt i = 0; i < box->n[0]; i++) {
        PetscReal sum   = 0;
        int       count = 0;

        for (int a = 0; a < 1 << dim; a++) {
          const PetscInt cube[3] = {box->lo[0] + i - (a & 1), box->lo[1] + j - (a >> 1 & 1), box->lo[2] + k - (a >> 2 & 1)};
          unsigned char  v;

          if (cube[0] < 0 || cube[1] < 0 || cube[2] < 0 || cube[0] >= n[0] || cube[1] >= n[1] || cube[2] >= n[2]) continue;
          v = voxel[cube[0] + n[0] * (cube[1] + (size_t)n[1] * cube[2])];
          sum += v ? table[v] : 0;
          count += v > 0;
        }
        *u++ = count ? sum / count : table[0];
      }
    }
  }
}

void PatchFDHostVoxelCoarsen(PetscInt dim, const PetscInt n[3], const unsigned char fine[], unsigned char coarse[])
{
  const PetscInt m[3] = {n[0] / 2, dim > 1 ? n[1] / 2 : 1, dim > 2 ? n[2] / 2 : 1};

  for (PetscInt k = 0; k < m[2]; k++) {
    for (PetscInt j = 0; j < m[1]; j++) {
      for (PetscInt i = 0; i < m[0]; i++, coarse++) {
        *coarse = 0;
        for (int a = 0; a < 1 << dim && !*coarse; a++) {
          const PetscInt cube[3] = {2 * i + (a & 1), dim > 1 ? 2 * j + (a >> 1 & 1) : 0, dim > 2 ? 2 * k + (a >> 2 & 1) : 0};

          *coarse = fine[cube[0] + n[0] * (cube[1] + (size_t)n[1] * cube[2])];
        }
      }
    }
  }
}

/* ---- entries ---- */

static inline PetscReal SimplexMean(PetscInt dim, const PetscReal *field, PetscReal constant, const ptrdiff_t at[])
{
  PetscReal sum = 0;

  if (!field) return constant;
  for (int s = 0; s <= dim; s++) sum += field[at[s]];
  return sum / (dim + 1);
}

/* E[8][8] of a cube: the sum over its simplices.  at: its corners in arrays over xbox */
static void CubeMatrix(const PatchFDLatticeDesc *desc, const PatchFDMaterial *m, const PetscInt cube[3], const ptrdiff_t at[8],
                       PetscReal E[8][8])
{
  const int dim = (int)desc->dim;
  PetscReal V   = 1;

  for (int d = 0; d < dim; d++) V *= desc->h[d] / (d + 1);
  for (int i = 0; i < 64; i++) E[i / 8][i % 8] = 0;
  for (int t = 0; t < SimplexCount[dim - 1]; t++) {
    const int *corner = SimplexCorner[dim - 1][t];
    ptrdiff_t  from[4];
    PetscReal  mass;

    for (int s = 0; s <= dim; s++) from[s] = at[corner[s]];
    mass = m->mass * V / ((dim + 1) * (dim + 2)) * SimplexMean(dim, (const PetscReal *)m->capacity, m->constcapacity, from);
    for (int a = 0; a <= dim; a++)
      for (int b = 0; b <= dim; b++) E[corner[a]][corner[b]] += mass * (1 + (a == b));
    for (int s = 0; s < dim; s++) {
      const int       d = SimplexStep(corner, s), a = corner[s], b = corner[s + 1];
      const PetscReal k = m->stiffness * V / (desc->h[d] * desc->h[d]) *
                          SimplexMean(dim, (const PetscReal *)m->conductivity[d], m->constconductivity[d], from);

      E[a][a] += k;
      E[b][b] += k;
      E[a][b] -= k;
      E[b][a] -= k;
    }
    for (int e = 0; e < 2; e++) { /* the side of the simplex without its first or last corner may be one of the box */
      const int       d = SimplexStep(corner, e ? 0 : dim - 1), side = 2 * d + e;
      const PetscReal mean = m->side * desc->robin[side] * V * dim / desc->h[d] / (dim * (dim + 1));

      if (cube[d] != (e ? desc->n[d] - 1 : 0)) continue;
      for (int a = e; a < dim + e; a++)
        for (int b = e; b < dim + e; b++) E[corner[a]][corner[b]] += mean * (1 + (a == b));
    }
  }
}

static inline PetscBool NodeInBox(const PatchFDBox *b, const PetscInt i[3])
{
  const PatchFDRange r = {{b->lo[0], b->lo[0] + b->n[0]}, {b->lo[1], b->lo[1] + b->n[1]}, {b->lo[2], b->lo[2] + b->n[2]}};

  return PatchFDRangeHas(r, i);
}

/* the triples of a cube; without one of a body those are zeros on the diagonals of its nodes, in case that nobody else has any */
static void CubeTriples(const PatchFDLatticeDesc *desc, const PatchFDMaterial *m, const PetscInt cube[3], PetscBool active,
                        const PetscInt index[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const int all = 1 << desc->dim;
  ptrdiff_t at[8];
  PetscReal E[8][8];

  for (int a = 0; a < all; a++) {
    PetscInt node[3];

    CubeNode(cube, a, node);
    at[a] = PatchFDBoxNode(&desc->xbox, node[0], node[1], node[2]);
  }
  if (i && active) CubeMatrix(desc, m, cube, at, E);
  for (int a = 0; a < all && active; a++) {
    PetscInt row[3];

    CubeNode(cube, a, row);
    if (!PatchFDRangeHas(desc->write, row) || !NodeInBox(&desc->ybox, row)) continue;
    for (int b = 0; b < all; b++) {
      PetscInt col[3];

      CubeNode(cube, b, col);
      if ((a & b) != a && (a & b) != b) continue; /* no edge */
      if (!PatchFDRangeHas(desc->read, col)) continue;
      if (i) {
        i[*count] = index[at[a]];
        j[*count] = index[at[b]];
        v[*count] = E[a][b];
      }
      (*count)++;
    }
  }
}

/* is the cube that has the node as corner a one of xbox and of the body? */
static PetscBool NodeHasCube(const PatchFDLatticeDesc *desc, const PetscInt node[3], int a)
{
  size_t at = 0;

  for (int d = (int)desc->dim - 1; d >= 0; d--) {
    const PetscInt cube = node[d] - (a >> d & 1);

    if (cube < 0 || cube >= desc->n[d]) return PETSC_FALSE;
    at = at * (size_t)(desc->xbox.n[d] - 1) + (size_t)(cube - desc->xbox.lo[d]);
  }
  return (PetscBool)(!desc->active || desc->active[at]);
}

PetscErrorCode PatchFDHostLatticeTriples(const PatchFDLatticeDesc *desc, const PatchFDMaterial *m, const PetscInt index[],
                                         PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const PatchFDBox *x = &desc->xbox, *y = &desc->ybox;
  const int         all = 1 << desc->dim;
  PetscInt          cube[3], cubes[3], node[3];
  size_t            c = 0;

  PetscFunctionBegin;
  *count = 0;
  for (int d = 0; d < 3; d++) cubes[d] = d < desc->dim ? x->n[d] - 1 : 1;
  for (cube[2] = x->lo[2]; cube[2] < x->lo[2] + cubes[2]; cube[2]++)
    for (cube[1] = x->lo[1]; cube[1] < x->lo[1] + cubes[1]; cube[1]++)
      for (cube[0] = x->lo[0]; cube[0] < x->lo[0] + cubes[0]; cube[0]++, c++)
        CubeTriples(desc, m, cube, (PetscBool)(!desc->active || desc->active[c]), index, count, i, j, v);
  for (node[2] = y->lo[2]; node[2] < y->lo[2] + y->n[2]; node[2]++) {
    for (node[1] = y->lo[1]; node[1] < y->lo[1] + y->n[1]; node[1]++) {
      for (node[0] = y->lo[0]; node[0] < y->lo[0] + y->n[0]; node[0]++) {
        PetscBool touched = PETSC_FALSE;

        for (int a = 0; a < all; a++) touched = (PetscBool)(touched || NodeHasCube(desc, node, a));
        if (touched && PatchFDRangeHas(desc->write, node)) continue;
        if (i) {
          i[*count] = j[*count] = index[PatchFDBoxNode(x, node[0], node[1], node[2])];
          v[*count]             = m->identity;
        }
        (*count)++;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

/* the square of the difference of a linear function, given at the corners, and f, integrated over a simplex: Gauss points of a cube, which
   is mapped to it */
static PetscErrorCode SimplexError(PetscInt dim, const PetscReal q[], const PetscReal w[], PetscReal X[4][3], const PetscScalar value[4],
                                   PetscReal V, PatchFDFunction f, void *ctx, PetscReal time, PetscReal *sum, PetscReal *largest)
{
  enum {
    MOST = PATCHFD_SIMPLEX_POINTS * PATCHFD_SIMPLEX_POINTS * PATCHFD_SIMPLEX_POINTS
  };
  PetscReal   x[3 * MOST], weight[MOST];
  PetscScalar u[MOST], exact[MOST] = {0};
  PetscInt    points = 1;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) points *= PATCHFD_SIMPLEX_POINTS;
  for (PetscInt p = 0; p < points; p++) {
    PetscReal lambda[4], rest = 1;

    weight[p] = V; /* V dim! is the volume of the cube's image without the factors below */
    for (PetscInt d = 0, r = p; d < dim; d++, r /= PATCHFD_SIMPLEX_POINTS) { /* d numbers are left to be chosen, and dim - 1 - d after it */
      lambda[d] = rest * q[r % PATCHFD_SIMPLEX_POINTS];
      weight[p] *= w[r % PATCHFD_SIMPLEX_POINTS] * rest * (PetscReal)(d + 1);
      rest -= lambda[d];
      x[dim * p + d] = 0;
    }
    lambda[dim] = rest;
    u[p]        = 0;
    for (PetscInt s = 0; s <= dim; s++) {
      u[p] += lambda[s] * value[s];
      for (PetscInt d = 0; d < dim; d++) x[dim * p + d] += lambda[s] * X[s][d];
    }
  }
  if (f) PetscCallBack("DMBOX callback function", (*f)(dim, time, points, x, 1, exact, ctx));
  for (PetscInt p = 0; p < points; p++) {
    *sum += weight[p] * PetscSqr(u[p] - exact[p]);
    *largest = PetscMax(*largest, PetscAbsScalar(u[p] - exact[p]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostLatticeError(const PatchFDLatticeDesc *desc, const PatchFDRange cubes, const PetscReal q[], const PetscReal w[],
                                       const PetscReal lower[], PatchFDFunction f, void *ctx, PetscReal time, const PetscScalar u[],
                                       PetscReal *sum, PetscReal *largest)
{
  const int dim = (int)desc->dim;
  PetscReal V   = 1;
  PetscInt  cube[3];

  PetscFunctionBegin;
  for (int d = 0; d < dim; d++) V *= desc->h[d] / (d + 1);
  for (cube[2] = cubes[2][0]; cube[2] < cubes[2][1]; cube[2]++) {
    for (cube[1] = cubes[1][0]; cube[1] < cubes[1][1]; cube[1]++) {
      for (cube[0] = cubes[0][0]; cube[0] < cubes[0][1]; cube[0]++) {
        if (!NodeHasCube(desc, cube, 0)) continue;
        for (int t = 0; t < SimplexCount[dim - 1]; t++) {
          PetscReal   X[4][3];
          PetscScalar value[4];

          for (int s = 0; s <= dim; s++) {
            PetscInt node[3];

            CubeNode(cube, SimplexCorner[dim - 1][t][s], node);
            for (int d = 0; d < dim; d++) X[s][d] = lower[d] + desc->h[d] * (PetscReal)node[d];
            value[s] = u[PatchFDBoxNode(&desc->xbox, node[0], node[1], node[2])];
          }
          PetscCall(SimplexError(dim, q, w, X, value, V, f, ctx, time, sum, largest));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
