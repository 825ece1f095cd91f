static char help[] = "The heat equation with linear elements on simplices: operators, materials, loads, bodies of voxels, bad input.\n\
  -part stencils | operators | assembled | materials | layers | sides | body | errors\n\n";

#include "heat.h"
#include <patchfd/private/vecimpl.h>

/* all entries on every rank, by products with unit vectors; to be freed */
static PetscErrorCode Entries(DM dm, Mat A, PetscScalar **E)
{
  Vec          x, y, number;
  PetscScalar *column, *a;
  PetscInt     n, m, start;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &number));
  PetscCall(VecGetSize(x, &n));
  PetscCall(PetscMalloc1(n * n, E));
  /* the number that natural order gives to each entry */
  PetscCall(VecGetOwnershipRange(number, &start, NULL));
  PetscCall(VecGetLocalSize(number, &m));
  PetscCall(VecGetArrayWrite(number, &a));
  for (PetscInt i = 0; i < m; i++) a[i] = start + i;
  PetscCall(VecRestoreArrayWrite(number, &a));
  PetscCall(Gather(dm, number, &a));
  for (PetscInt j = 0; j < n; j++) {
    const PetscInt row = (PetscInt)a[j];

    PetscCall(VecSet(x, 0));
    if (row >= start && row < start + m) PetscCall(VecSetValue(x, row, 1, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(x));
    PetscCall(VecAssemblyEnd(x));
    PetscCall(MatMult(A, x, y));
    PetscCall(Gather(dm, y, &column));
    for (PetscInt i = 0; i < n; i++) (*E)[i * n + j] = column[i];
    PetscCall(PetscFree(column));
  }
  PetscCall(PetscFree(a));
  PetscCall(VecDestroy(&number));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Norm(Vec v, PetscReal *norm)
{
  PetscFunctionBeginUser;
  PetscCall(VecNorm(v, NORM_2, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

FUNCTION(Number, *(const PetscReal *)ctx)
FUNCTION(Linear, 1 + x[0] + 2 * Y - 3 * Z)
FUNCTION(Wave, PetscCosReal(2 * x[0] + 3 * Y + 5 * Z))

/* ---- stencils: unit cube, 4 cells a direction, capacity and conductivity one ---- */

static PetscErrorCode Stencils(void)
{
  static const struct {
    const char *name;
    PetscInt    node[3];
    PetscReal   mass, stiffness;
    PetscInt    couplings;
  } cases[]         = {{"inside", {2, 2, 2}, 24, 6, 14},          {"face z = 0", {2, 2, 0}, 12, 3, 10},
                       {"face z = 1", {2, 2, 4}, 12, 3, 10},      {"face x = 0", {0, 2, 2}, 12, 3, 10},
                       {"face x = 1", {4, 2, 2}, 12, 3, 10},      {"edge y=z=0", {2, 0, 0}, 8, 5. / 3, 8},
                       {"edge y=z=1", {2, 4, 4}, 8, 5. / 3, 8},   {"edge y=0 z=1", {2, 0, 4}, 4, 4. / 3, 6},
                       {"edge y=1 z=0", {2, 4, 0}, 4, 4. / 3, 6}, {"corner 000", {0, 0, 0}, 6, 1, 7},
                       {"corner 111", {4, 4, 4}, 6, 1, 7},        {"corner 100", {4, 0, 0}, 2, 2. / 3, 4},
                       {"corner 010", {0, 4, 0}, 2, 2. / 3, 4},   {"corner 001", {0, 0, 4}, 2, 2. / 3, 4},
                       {"corner 110", {4, 4, 0}, 2, 2. / 3, 4},   {"corner 101", {4, 0, 4}, 2, 2. / 3, 4},
                       {"corner 011", {0, 4, 4}, 2, 2. / 3, 4}};
  const PetscReal h = 0.25;
  PetscScalar    *M, *K, *b;
  PetscInt        count[13] = {0};
  DM              dm;
  Mat             A;
  Vec             f;

  PetscFunctionBeginUser;
  PetscCall(CreateCube(4, DMBOX_BOUNDARY_NEUMANN, &dm));
  PetscCall(CreateMatrix(dm, 1, 0, &A));
  PetscCall(Entries(dm, A, &M));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMatrix(dm, 0, 1, &A));
  PetscCall(Entries(dm, A, &K));
  PetscCall(MatDestroy(&A));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    const PetscInt v   = cases[c].node[0] + 5 * (cases[c].node[1] + 5 * cases[c].node[2]);
    PetscReal      sum = 0;
    PetscInt       n   = 0;

    for (PetscInt j = 0; j < 125; j++) {
      sum += M[v * 125 + j];
      n += j != v && M[v * 125 + j] != 0;
    }
    PetscCall(Near(cases[c].name, 60 * M[v * 126] / (h * h * h), cases[c].mass, 1e-12));
    PetscCall(Near(cases[c].name, K[v * 126] / h, cases[c].stiffness, 1e-12));
    PetscCall(Near(cases[c].name, 24 * sum / (h * h * h), cases[c].mass, 1e-12));
    PetscCall(Check((PetscBool)(n == cases[c].couplings), "%s has %d couplings", cases[c].name, (int)n));
  }
  for (PetscInt o = 0; o < 27; o++) { /* the row inside: the neighbours in one direction of all axes, no others */
    const PetscInt d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1}, steps = PetscAbsInt(d[0]) + PetscAbsInt(d[1]) + PetscAbsInt(d[2]), v = 62,
                   j        = v + d[0] + 5 * (d[1] + 5 * d[2]);
    const PetscReal mass[4] = {48, 6, 4, 6};
    const PetscBool same    = (PetscBool)(PetscAbsInt(d[0] + d[1] + d[2]) == steps);

    PetscCall(Near("mass inside", 120 * M[v * 125 + j] / (h * h * h), same ? mass[steps] : 0, 1e-12));
    PetscCall(Near("stiffness inside", K[v * 125 + j] / h, steps == 0 ? 6 : (steps == 1 ? -1 : 0), 1e-12));
  }
  /* a flux of one into z = 0 */
  PetscCall(DMBoxSetHeatFlux(dm, 4, One, NULL));
  PetscCall(DMCreateGlobalVector(dm, &f));
  PetscCall(VecSet(f, 0));
  PetscCall(DMBoxAddHeatLoad(dm, 0, f));
  PetscCall(Gather(dm, f, &b));
  for (PetscInt i = 0; i < 25; i++) {
    const PetscReal w = 24 * b[i] / (h * h), edge = PetscMax(PetscAbsReal(i % 5 - 2.), PetscAbsReal(i / 5 - 2.)) == 2;
    const PetscBool corner = (PetscBool)((i % 5) % 4 == 0 && (i / 5) % 4 == 0);
    const PetscReal want   = corner ? (i == 0 || i == 24 ? 8 : 4) : (edge ? 12 : 24);

    PetscCall(Near("flux", w, want, 1e-12));
    count[(PetscInt)want / 2]++;
  }
  for (PetscInt i = 25; i < 125; i++) PetscCall(Near("flux elsewhere", b[i], 0, 0));
  PetscCall(Check((PetscBool)(count[12] == 9 && count[6] == 12 && count[4] == 2 && count[2] == 2), "counts of the flux vector"));
  PetscCall(PetscFree(b));
  PetscCall(PetscFree(M));
  PetscCall(PetscFree(K));
  PetscCall(VecDestroy(&f));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- operators and identities ---- */

static PetscErrorCode Identities(DM dm)
{
  const PetscReal gradient[3] = {1, 2, -3}, one[3] = {1, 1, 1};
  PetscReal       flux[6], norm, sum;
  Mat             K, M;
  Vec             x, y, b;

  PetscFunctionBeginUser;
  PetscCall(CreateMatrix(dm, 0, 1, &K));
  PetscCall(CreateMatrix(dm, 1, 0, &M));
  PetscCall(MatCreateVecs(K, &x, &y));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(K, x, y));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(Near("K 1", norm, 0, 1e-13));
  PetscCall(MatMult(M, x, y));
  PetscCall(VecSum(y, &sum));
  PetscCall(Near("sum of M", sum, 16.34765625, 1e-12));
  /* constants from here on */
  PetscCall(DMBoxSetHeatFields(dm, NULL, 0, NULL));
  PetscCall(DMBoxSetHeat(dm, 1, one, 0));
  PetscCall(MatBoxUpdate(K));
  PetscCall(MatDestroy(&K));
  PetscCall(CreateMatrix(dm, 0, 1, &K));
  PetscCall(DMBoxInterpolateFunction(dm, 0, CoordinateX, NULL, x));
  PetscCall(MatMult(K, x, y));
  PetscCall(VecDot(x, y, &sum));
  PetscCall(Near("X K X", sum, 4.5, 1e-12));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Linear, NULL, x));
  PetscCall(MatMult(K, x, y));
  for (PetscInt s = 0; s < 6; s++) {
    flux[s] = (s % 2 ? 1 : -1) * gradient[s / 2];
    PetscCall(DMBoxSetHeatFlux(dm, s, Number, &flux[s]));
  }
  PetscCall(VecSet(b, 0));
  PetscCall(DMBoxAddHeatLoad(dm, 0, b));
  PetscCall(VecAXPY(y, -1, b));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(Near("K l - flux", norm, 0, 1e-13));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Operators(void)
{
  const PetscInt  cells[3] = {4, 6, 8};
  const PetscReal upper[3] = {1, 1.5, 3};
  PetscReal       value;
  PetscScalar    *diagonal, *E;
  DM              dm;
  Mat             M, K, A;
  Vec             x, y, d;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(3, cells, upper, DMBOX_BOUNDARY_NEUMANN, &dm));
  PetscCall(DMBoxSetHeatFunctions(dm, 0, Capacity, Conductivity, NULL));
  PetscCall(CreateMatrix(dm, 1, 0, &M));
  PetscCall(CreateMatrix(dm, 0, 1, &K));
  PetscCall(CreateMatrix(dm, 1, 0.005, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &d));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Wave, NULL, x));
  PetscCall(MatMult(M, x, y));
  PetscCall(Norm(y, &value));
  PetscCall(Near("|M x|", value, 2.682545009173e-01, 1e-12));
  PetscCall(VecDot(x, y, &value));
  PetscCall(Near("x M x", value, 2.825544794131e+00, 1e-12));
  PetscCall(MatMult(K, x, y));
  PetscCall(Norm(y, &value));
  PetscCall(Near("|K x|", value, 1.818133768920e+01, 1e-12));
  PetscCall(VecDot(x, y, &value));
  PetscCall(Near("x K x", value, 1.873364677712e+02, 1e-12));
  PetscCall(MatMult(A, x, y));
  PetscCall(Norm(y, &value));
  PetscCall(Near("|(M + 0.005 K) x|", value, 3.464899265376e-01, 1e-12));
  PetscCall(MatGetDiagonal(M, d));
  PetscCall(Gather(dm, d, &diagonal));
  PetscCall(Near("diagonal of M", diagonal[2 + 5 * (3 + 7 * 4)], 3.416748046875e-02, 1e-12));
  PetscCall(PetscFree(diagonal));
  PetscCall(Norm(d, &value));
  PetscCall(Near("|diagonal of M|", value, 4.232192569307e-01, 1e-12));
  PetscCall(MatGetDiagonal(K, d));
  PetscCall(Gather(dm, d, &diagonal));
  PetscCall(Near("diagonal of K", diagonal[2 + 5 * (3 + 7 * 4)], 4.872222222222e+00, 1e-12));
  PetscCall(PetscFree(diagonal));
  PetscCall(Norm(d, &value));
  PetscCall(Near("|diagonal of K|", value, 6.203366335832e+01, 1e-12));
  PetscCall(Entries(dm, K, &E));
  for (PetscInt i = 0; i < 315; i++) {
    PetscInt n = 0;

    for (PetscInt j = 0; j < 315; j++) n += PetscAbsScalar(E[i * 315 + j]) > 1e-13;
    PetscCall(Check((PetscBool)(n <= 7), "row %d of K has %d entries", (int)i, (int)n));
  }
  PetscCall(PetscFree(E));
  PetscCall(Identities(dm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&K));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- against a matrix that the test assembles, element by element ---- */

typedef struct {
  PetscInt       dim, cells[3], n[3], rings; /* the first directions are rings */
  PetscReal      h[3], mass, stiffness, robin[6];
  unsigned char *voxel;
} Reference;

/* one simplex: its corners as nodes, its matrix from the gradients of its linear functions */
static void ReferenceElement(const Reference *r, const PetscInt cube[3], const int path[3], PetscScalar *capacity,
                             PetscScalar *conductivity[3], PetscInt node[4], PetscScalar E[4][4])
{
  PetscInt  at[3] = {cube[0], cube[1], cube[2]};
  PetscReal V = 1, c = 0, k[3] = {0, 0, 0}, g[4][3] = {{0}};

  for (PetscInt s = 0; s <= r->dim; s++) {
    node[s] = at[0] + r->n[0] * (at[1] + r->n[1] * at[2]);
    c += capacity[node[s]] / (PetscReal)(r->dim + 1);
    for (PetscInt d = 0; d < r->dim; d++) k[d] += conductivity[d][node[s]] / (PetscReal)(r->dim + 1);
    if (s < r->dim) {
      g[s][path[s]] -= 1 / r->h[path[s]];
      g[s + 1][path[s]] += 1 / r->h[path[s]];
      at[path[s]] = (at[path[s]] + 1) % r->n[path[s]];
    }
  }
  for (PetscInt d = 0; d < r->dim; d++) V *= r->h[d] / (PetscReal)(d + 1);
  for (PetscInt a = 0; a <= r->dim; a++) {
    for (PetscInt b = 0; b <= r->dim; b++) {
      E[a][b] = r->mass * c * V / (PetscReal)((r->dim + 1) * (r->dim + 2)) * (a == b ? 2 : 1);
      for (PetscInt d = 0; d < r->dim; d++) E[a][b] += r->stiffness * V * k[d] * g[a][d] * g[b][d];
    }
  }
  for (PetscInt s = 0; s < 2 * r->dim; s++) { /* the facet opposite to a corner is on the side if all its corners are */
    const PetscInt d = s / 2, want = s % 2 ? r->cells[d] : 0, stride = d == 0 ? 1 : (d == 1 ? r->n[0] : r->n[0] * r->n[1]);
    PetscInt       on[4], count = 0;
    PetscReal      area = V * (PetscReal)r->dim / r->h[d];

    for (PetscInt a = 0; a <= r->dim; a++)
      if (node[a] / stride % r->n[d] == want) on[count++] = a;
    for (PetscInt a = 0; a < count && count == r->dim; a++)
      for (PetscInt b = 0; b < count; b++)
        E[on[a]][on[b]] += r->stiffness * r->robin[s] * area / (PetscReal)(r->dim * (r->dim + 1)) * (a == b ? 2 : 1);
  }
}

/* rows in the numbering of the DM; every rank adds a share of the cubes.  Nodes of no element, and those of Dirichlet sides, are rows of
   the identity */
static PetscErrorCode ReferenceAssemble(DM dm, const Reference *r, PetscScalar *capacity, PetscScalar *conductivity[3], PetscBool dirichlet,
                                        Mat *A)
{
  static const int paths[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  PetscScalar     *number, *a;
  PetscMPIInt      rank, size;
  PetscInt         m, start, N = r->n[0] * r->n[1] * r->n[2], *used, nrows = 0, *rows;
  Vec              v;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(VecGetLocalSize(v, &m));
  PetscCall(VecGetOwnershipRange(v, &start, NULL));
  PetscCall(VecGetArrayWrite(v, &a));
  for (PetscInt i = 0; i < m; i++) a[i] = start + i;
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscCall(Gather(dm, v, &number));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, 27, NULL, 27, NULL, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(PetscCalloc2(N, &used, N, &rows));
  for (PetscInt c = 0; c < r->cells[0] * r->cells[1] * r->cells[2]; c++) {
    const PetscInt cube[3] = {c % r->cells[0], c / r->cells[0] % r->cells[1], c / r->cells[0] / r->cells[1]};

    if (r->voxel && !r->voxel[c]) continue;
    for (int p = 0; p < 6; p++) {
      PetscInt    node[4], index[4];
      PetscScalar E[4][4], values[16];

      if ((r->dim < 3 && p % 2) || (r->dim == 2 && p == 4) || (r->dim == 1 && p)) continue; /* 0 1 and 1 0; 0 */
      ReferenceElement(r, cube, paths[p], capacity, conductivity, node, E);
      for (PetscInt i = 0; i <= r->dim; i++) {
        used[node[i]] = 1;
        index[i]      = (PetscInt)number[node[i]];
        for (PetscInt j = 0; j <= r->dim; j++) values[i * (r->dim + 1) + j] = E[i][j];
      }
      if (c % size == rank) PetscCall(MatSetValues(*A, r->dim + 1, index, r->dim + 1, index, values, ADD_VALUES));
    }
  }
  for (PetscInt i = 0; i < N; i++) {
    const PetscInt at[3] = {i % r->n[0], i / r->n[0] % r->n[1], i / r->n[0] / r->n[1]};
    PetscBool      side  = PETSC_FALSE;

    for (PetscInt d = r->rings; d < r->dim; d++) side = (PetscBool)(side || at[d] == 0 || at[d] == r->cells[d]);
    if (!used[i] && !rank) PetscCall(MatSetValue(*A, (PetscInt)number[i], (PetscInt)number[i], 1, ADD_VALUES));
    if (side && dirichlet && !rank) rows[nrows++] = (PetscInt)number[i];
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (dirichlet) PetscCall(MatZeroRowsColumns(*A, nrows, rows, 1, NULL, NULL));
  PetscCall(PetscFree2(used, rows));
  PetscCall(PetscFree(number));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* product, sum, residual, diagonal and entries of the DM's matrix; products on floats */
static PetscErrorCode CompareMatrix(DM dm, Mat A, Mat B, Vec x)
{
  PetscReal norm, size;
  Mat       C;
  Vec       y, z, w, sx, sy;
  VecType   type;
  PetscBool cuda;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(B, x, z));
  PetscCall(Same("A x", y, z, 1e-13));
  PetscCall(VecCopy(x, w));
  PetscCall(MatMultAdd(A, x, w, w));
  PetscCall(VecAXPY(z, 1, x));
  PetscCall(Same("x + A x", w, z, 1e-13));
  PetscCall(MatResidual(A, x, x, y));
  PetscCall(VecAYPX(z, -1, x));
  PetscCall(VecAXPY(z, 1, x));
  PetscCall(Same("x - A x", y, z, 1e-13));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(MatGetDiagonal(B, z));
  PetscCall(Same("the diagonal", y, z, 1e-13));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &size));
  PetscCall(MatAXPY(C, -1, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
  PetscCall(Check((PetscBool)(norm <= 1e-13 * size), "the converted matrix differs by %g", (double)(norm / size)));
  PetscCall(MatDestroy(&C));
  /* floats */
  PetscCall(DMGetVecType(dm, &type));
  PetscCall(PetscStrcmp(type, VECCUDA, &cuda));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &sx));
  PetscCall(VecSetSizes(sx, x->map->n, x->map->N));
  PetscCall(VecSetType(sx, cuda ? VECSINGLECUDA : VECSINGLE));
  PetscCall(VecDuplicate(sx, &sy));
  PetscCall(VecSingleConvert(x, 1, sx));
  PetscCall(MatMult(A, sx, sy));
  PetscCall(VecSingleConvert(sy, 1, y));
  PetscCall(MatMult(B, x, z));
  PetscCall(Same("A x in floats", y, z, 2e-6));
  PetscCall(MatGetDiagonal(A, sy));
  PetscCall(VecSingleConvert(sy, 1, y));
  PetscCall(MatGetDiagonal(B, z));
  PetscCall(Same("the diagonal in floats", y, z, 2e-6));
  PetscCall(VecDestroy(&sx));
  PetscCall(VecDestroy(&sy));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assembled(PetscRandom random, PetscInt dim, PetscInt rings, PetscBool dirichlet, PetscBool tensor, PetscBool voxels)
{
  const PetscInt    cells[3] = {dim > 1 ? 7 : 17, dim > 1 ? 9 : 1, dim > 2 ? 5 : 1};
  const PetscReal   upper[3] = {1, 2, 0.5};
  Reference         r        = {.dim = dim, .rings = rings, .stiffness = 1, .mass = 3, .voxel = NULL};
  DMBoxBoundaryType types[6];
  PetscScalar      *capacity, *conductivity[3];
  Vec               x, c, k[3];
  DM                dm;
  Mat               A, B;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < 3; d++) {
    r.cells[d] = cells[d];
    r.n[d]     = d < dim ? cells[d] + (d >= rings) : 1;
    r.h[d]     = upper[d] / (PetscReal)cells[d];
  }
  for (PetscInt s = 0; s < 6; s++)
    types[s] = s / 2 < rings ? DMBOX_BOUNDARY_PERIODIC : (dirichlet ? DMBOX_BOUNDARY_DIRICHLET : DMBOX_BOUNDARY_NEUMANN);
  PetscCall(CreateBoxOf(dim, cells, upper, types, &dm));
  for (PetscInt s = 2 * rings; s < 2 * dim; s++) {
    r.robin[s] = dirichlet ? 0 : (PetscReal)s;
    PetscCall(DMBoxSetHeatRobin(dm, s, r.robin[s], 0));
  }
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &c));
  PetscCall(VecSetRandom(c, random));
  PetscCall(VecShift(c, 0.5));
  for (PetscInt d = 0; d < dim; d++) {
    PetscCall(VecDuplicate(x, &k[d]));
    PetscCall(VecSetRandom(k[d], random));
    PetscCall(VecShift(k[d], 0.1));
    PetscCall(Gather(dm, k[tensor ? d : 0], &conductivity[d]));
  }
  PetscCall(Gather(dm, c, &capacity));
  if (voxels) {
    const PetscInt n = cells[0] * cells[1] * cells[2];

    PetscCall(PetscMalloc1(n, &r.voxel));
    for (PetscInt i = 0; i < n; i++) r.voxel[i] = (unsigned char)(i * 7 % 5 > 1 && i * 3 % 11 > 3);
    PetscCall(DMBoxSetHeatVoxels(dm, r.voxel, 0, NULL, NULL));
  }
  PetscCall(DMBoxSetHeatFields(dm, c, tensor ? dim : 1, k));
  PetscCall(DMBoxSetHeat(dm, 1, (PetscReal[3]){1, 1, 1}, r.mass));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(ReferenceAssemble(dm, &r, capacity, conductivity, dirichlet, &B));
  PetscCall(VecSetRandom(x, random));
  PetscCall(CompareMatrix(dm, A, B, x));
  /* new coefficients */
  r.mass = 0.5;
  PetscCall(DMBoxSetHeat(dm, 1, (PetscReal[3]){1, 1, 1}, r.mass));
  PetscCall(MatBoxUpdate(A));
  PetscCall(MatDestroy(&B));
  PetscCall(ReferenceAssemble(dm, &r, capacity, conductivity, dirichlet, &B));
  PetscCall(CompareMatrix(dm, A, B, x));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree(r.voxel));
  PetscCall(PetscFree(capacity));
  PetscCall(VecDestroy(&c));
  for (PetscInt d = 0; d < dim; d++) {
    PetscCall(VecDestroy(&k[d]));
    PetscCall(PetscFree(conductivity[d]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllAssembled(void)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetFromOptions(random));
  for (PetscInt dim = 1; dim <= 3; dim++)
    for (PetscInt rings = 0; rings <= dim; rings++)
      for (int i = 0; i < (rings ? 4 : 8); i++)
        PetscCall(Assembled(random, dim, rings, (PetscBool)(i & 1), (PetscBool)(i & 2), (PetscBool)(i & 4)));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- two materials, and layers ---- */

FUNCTION(CorrodedCapacity, x[2] > 0.007 + 1e-9 ? 2.1e6 : 3.6e6)
FUNCTION(CorrodedConductivity, x[2] > 0.007 + 1e-9 ? 0.5 : 50)
FUNCTION(TenThousand, 1e4)

FUNCTION(UnitVector, PetscAbsReal(x[0] - 0.015) + PetscAbsReal(x[1] - 0.015) + PetscAbsReal(x[2] - *(const PetscReal *)ctx) < 1e-6)

/* entries of K of an edge in x on both sides of the interface: of its six elements three have one material, the others the means of both
   with one to three corners in either one, here times 6 / h */
static PetscErrorCode InterfaceEntries(DM dm)
{
  const PetscReal want[2] = {3 * 50 + 2 * 37.625 + 25.25, 3 * 0.5 + 2 * 12.875 + 25.25};
  PetscScalar    *all;
  Mat             K;
  Vec             x, y;

  PetscFunctionBeginUser;
  PetscCall(CreateMatrix(dm, 0, 1, &K));
  PetscCall(MatCreateVecs(K, &x, &y));
  for (int i = 0; i < 2; i++) {
    PetscReal z = 0.007 + 0.001 * i;

    PetscCall(DMBoxInterpolateFunction(dm, 0, UnitVector, &z, x));
    PetscCall(MatMult(K, x, y));
    PetscCall(Gather(dm, y, &all));
    PetscCall(Near("entry of K at the interface", -6e3 * all[16 + 31 * (15 + 31 * (7 + i))], want[i], 1e-12));
    PetscCall(PetscFree(all));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Materials(void)
{
  static const PetscInt total[2][4] = {{640, 303, 244, 340}, {500, 252, 213, 303}}, first[2][4] = {{32, 17, 17, 17}, {25, 14, 14, 14}},
                        last[2][4]   = {{32, 16, 10, 17}, {25, 13, 8, 15}};
  static const PetscReal probe[2][4] = {{294.36089314, 293.68871596, 293.54421481, 293.16480507},
                                        {294.36374625, 293.68839924, 293.54199834, 293.16177274}};
  static const PetscInt  layer[4]    = {0, 5, 8, 10};
  const PetscInt         cells[3]    = {30, 30, 10};
  const PetscReal        upper[3]    = {0.03, 0.03, 0.01};
  PetscReal              value, before, after;
  PetscScalar           *all;
  DM                     dm;
  Mat                    A;
  Vec                    u, d;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(3, cells, upper, DMBOX_BOUNDARY_NEUMANN, &dm));
  PetscCall(DMBoxSetHeatFunctions(dm, 0, CorrodedCapacity, CorrodedConductivity, NULL));
  PetscCall(DMBoxSetHeatFlux(dm, 4, TenThousand, NULL));
  PetscCall(DMBoxSetHeatSteady(dm, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &d));
  for (int i = 0; i < 2; i++) {
    PetscCall(CreateMatrix(dm, i, 1 - i, &A));
    PetscCall(MatGetDiagonal(A, d));
    PetscCall(Norm(d, &value));
    PetscCall(Near("|diagonal|", value, i ? 0.11985083617 : 23.320248130, 1e-9));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(VecSet(u, 1));
  PetscCall(Energy(dm, u, &value));
  PetscCall(Near("sum of M", value, 29.025, 1e-12));
  PetscCall(InterfaceEntries(dm));
  for (int t = 0; t < 2; t++) {
    for (int g = 0; g < 4; g++) {
      March m = {.theta = t ? 0.5 : 1, .steps = 20, .dt = 0.1, .rtol = 1e-8, .guess = (DMBoxHeatGuess)(DMBOX_HEAT_GUESS_ZERO + g)};

      PetscCall(VecSet(u, 293.15));
      PetscCall(Energy(dm, u, &before));
      PetscCall(Solve(dm, &m, u));
      PetscCall(CheckCounts(&m, total[t][g], first[t][g], last[t][g]));
    }
    {
      March m = {.theta = t ? 0.5 : 1, .steps = 20, .dt = 0.1, .rtol = 1e-12, .guess = DMBOX_HEAT_GUESS_LINEAR};

      PetscCall(VecSet(u, 293.15));
      PetscCall(Solve(dm, &m, u));
    }
    PetscCall(Energy(dm, u, &after));
    PetscCall(Near("energy gained", after - before, 18, 1e-7));
    PetscCall(Gather(dm, u, &all));
    for (int i = 0; i < 4; i++) PetscCall(Near("u(0,0,z)", all[layer[i] * 31 * 31], probe[t][i], 1e-10));
    PetscCall(PetscFree(all));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&d));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

FUNCTION(LayerConductivity, x[2] > 0.5 - 1e-9 ? 10 : 1)
FUNCTION(MinusOne, -1)

static PetscErrorCode Layers(void)
{
  const PetscReal want[3] = {0.3482066039, 0.4493195516, 0.4997057683}, upper[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) {
    const PetscInt cells[3] = {2, 2, 4 << i};
    PetscReal      drop     = 0;
    PetscScalar   *all;
    MatNullSpace   constants;
    DM             dm;
    Mat            A;
    Vec            b, u;
    KSP            ksp;
    PC             pc;

    PetscCall(CreateBox(3, cells, upper, DMBOX_BOUNDARY_NEUMANN, &dm));
    PetscCall(DMBoxSetHeatFunctions(dm, 0, NULL, LayerConductivity, NULL));
    PetscCall(DMBoxSetHeatFlux(dm, 4, One, NULL));
    PetscCall(DMBoxSetHeatFlux(dm, 5, MinusOne, NULL));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
    PetscCall(MatCreateVecs(A, &u, &b));
    PetscCall(VecSet(b, 0));
    PetscCall(DMBoxAddHeatLoad(dm, 0, b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCJACOBI));
    PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(Gather(dm, u, &all));
    for (PetscInt j = 0; j < 9; j++) drop += (all[j] - all[9 * (4 << i) + j]) / 9;
    PetscCall(Near("drop", drop, want[i], 1e-8));
    PetscCall(PetscFree(all));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&u));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sides ---- */

FUNCTION(Slope, 3 + 2 * x[0])

/* steady: u = 3 + 2 x, conductivity 1; exchange at both ends, and at one end with values given: exact for linear elements */
static PetscErrorCode Sides(void)
{
  PetscFunctionBeginUser;
  for (int dirichlet = 0; dirichlet < 2; dirichlet++) {
    const PetscInt    cells[3] = {5, 3, 4};
    const PetscReal   upper[3] = {1, 1, 1}, lower[3] = {0, 0, 0};
    DMBoxBoundaryType type[6] = {dirichlet ? DMBOX_BOUNDARY_DIRICHLET : DMBOX_BOUNDARY_NEUMANN,
                                 DMBOX_BOUNDARY_NEUMANN,
                                 DMBOX_BOUNDARY_NEUMANN,
                                 DMBOX_BOUNDARY_NEUMANN,
                                 DMBOX_BOUNDARY_NEUMANN,
                                 DMBOX_BOUNDARY_NEUMANN};
    PetscReal error;
    DM        dm;
    Mat       A;
    Vec       b, u, g;
    KSP       ksp;
    PC        pc;

    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 1, &dm));
    PetscCall(DMBoxSetBounds(dm, lower, upper));
    PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_P1));
    PetscCall(DMBoxSetOperator(dm, "heat"));
    PetscCall(DMBoxSetBoundary(dm, type));
    PetscCall(DMSetFromOptions(dm));
    PetscCall(DMSetUp(dm));
    /* du/dn = -2 at x = 0 and 2 at x = 1: h (T - u) = du/dn with h = 4 and 8 */
    if (!dirichlet) PetscCall(DMBoxSetHeatRobin(dm, 0, 4, 3 - 0.5));
    PetscCall(DMBoxSetHeatRobin(dm, 1, 8, 5 + 0.25));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(MatCreateVecs(A, &u, &b));
    PetscCall(VecDuplicate(u, &g));
    PetscCall(DMBoxInterpolateFunction(dm, 0, Slope, NULL, g));
    PetscCall(VecSet(b, 0));
    PetscCall(DMBoxAddHeatLoad(dm, 0, b));
    PetscCall(DMBoxLiftDirichlet(dm, g, b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetTolerances(ksp, 1e-13, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCJACOBI));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(DMBoxComputeError(dm, 0, Slope, NULL, u, NULL, &error));
    PetscCall(Near("steady solution", error, 0, 1e-10));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&g));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&u));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a body of voxels ---- */

/* the lower half of a box, the rest of which is empty, with the second of two materials above z = 1/2, against half of a box with fields */
static PetscErrorCode Body(void)
{
  const PetscInt  whole[3] = {12, 5, 6}, half[3] = {6, 5, 6};
  const PetscReal upper[2][3] = {{2, 1, 1}, {1, 1, 1}}, capacity[2] = {1, 3}, conductivity[2] = {2, 0.1};
  unsigned char   voxel[360];
  PetscScalar    *all[2], *fields;
  DM              dm[2];
  Vec             u[2], c;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 360; i++) voxel[i] = i % 12 < 6 ? (i / 60 < 3 ? 1 : 2) : 0;
  for (int b = 0; b < 2; b++) {
    March m = {.theta = 0.5, .dt = 0.01, .steps = 10, .rtol = 1e-12, .guess = DMBOX_HEAT_GUESS_LINEAR};

    PetscCall(CreateBox(3, b ? half : whole, upper[b], DMBOX_BOUNDARY_NEUMANN, &dm[b]));
    if (!b) PetscCall(DMBoxSetHeatVoxels(dm[b], voxel, 2, capacity, conductivity));
    else {
      unsigned char half[180];

      for (PetscInt i = 0; i < 180; i++) half[i] = i / 30 < 3 ? 1 : 2;
      PetscCall(DMBoxSetHeatVoxels(dm[b], half, 2, capacity, conductivity));
    }
    for (PetscInt s = 2; s < 6; s++) PetscCall(DMBoxSetHeatFlux(dm[b], s, CoordinateX, NULL));
    PetscCall(DMBoxSetHeatRobin(dm[b], 0, 2, 0.5));
    PetscCall(DMCreateGlobalVector(dm[b], &u[b]));
    PetscCall(DMBoxInterpolateFunction(dm[b], 0, Begin, NULL, u[b]));
    PetscCall(Solve(dm[b], &m, u[b]));
    PetscCall(Gather(dm[b], u[b], &all[b]));
  }
  for (PetscInt i = 0; i < 13 * 6 * 7; i++) {
    if (i % 13 < 7) PetscCall(Near("temperature in the body", all[0][i], all[1][i % 13 + 7 * (i / 13)], 1e-8));
    else { /* stays as it was */ const PetscReal x[3] = {(PetscReal)(i % 13) / 6, (PetscReal)(i / 13 % 6) / 5, (PetscReal)(i / 78) / 6};
      PetscScalar                                begin;

      PetscCall(Begin(3, 0, x, 1, &begin, NULL));
      PetscCall(Near("temperature outside", all[0][i], begin, 1e-12));
    }
  }
  /* nodes between the two materials have their mean */
  PetscCall(DMBoxGetHeatFields(dm[1], &c, NULL));
  PetscCall(Gather(dm[1], c, &fields));
  for (PetscInt k = 0; k < 7; k++) PetscCall(Near("capacity", fields[7 * 6 * k], k < 3 ? 1 : (k > 3 ? 3 : 2), 1e-14));
  PetscCall(PetscFree(fields));
  for (int b = 0; b < 2; b++) {
    PetscCall(PetscFree(all[b]));
    PetscCall(VecDestroy(&u[b]));
    PetscCall(DMDestroy(&dm[b]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bad input ---- */

FUNCTION(Negative, x[0] - 0.5)
FUNCTION(NotANumber, x[0] > 0.4 ? NAN : 1)

static PetscErrorCode WriteFile(const char name[], const void *data, size_t n)
{
  PetscMPIInt rank;
  FILE       *f;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) {
    f = fopen(name, "wb");
    PetscCheck(f && fwrite(data, 1, n, f) == n && !fclose(f), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", name);
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* voxels of files: those that fit are read, others are errors */
static PetscErrorCode VoxelFiles(DM dm)
{
  static const char header[] = "# vtk DataFile Version 3.0\nvoxels\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS %s\nORIGIN 0 0 "
                               "0\nSPACING 1 1 1\nCELL_DATA %s\nSCALARS material %s\nLOOKUP_TABLE default\n";
  unsigned char     image[64], *voxel;
  char              text[512];
  size_t            n;

  PetscFunctionBeginUser;
  for (int i = 0; i < 64; i++) image[i] = (unsigned char)(i % 3);
  PetscCall(WriteFile("heat_voxels.raw", image, 64));
  PetscCall(DMBoxLoadVoxels(dm, "heat_voxels.raw", &voxel));
  PetscCall(Check((PetscBool)!memcmp(voxel, image, 64), "voxels of a file without header"));
  PetscCall(PetscFree(voxel));
  for (int i = 0; i < 6; i++) {
    PetscCall(PetscSNPrintf(text, sizeof(text), header, i == 1 ? "9 5 3" : "5 5 5", i == 3 ? "65" : "64",
                            i == 2 ? "float 1" : (i == 4 ? "unsigned_char 3" : (i == 5 ? "unsigned_char" : "unsigned_char 1"))));
    PetscCall(PetscStrlen(text, &n));
    memcpy(text + n, image, 64);
    PetscCall(WriteFile("heat_voxels.vtk", text, n + 64));
    if (i == 1) FAILS(DMBoxLoadVoxels(dm, "heat_voxels.vtk", &voxel), PETSC_ERR_FILE_UNEXPECTED, "9 x 5 x 3 points");
    else if (i == 2) FAILS(DMBoxLoadVoxels(dm, "heat_voxels.vtk", &voxel), PETSC_ERR_FILE_UNEXPECTED, "not of type unsigned_char");
    else if (i == 3) FAILS(DMBoxLoadVoxels(dm, "heat_voxels.vtk", &voxel), PETSC_ERR_FILE_UNEXPECTED, "CELL_DATA for 65 cells");
    else if (i == 4) FAILS(DMBoxLoadVoxels(dm, "heat_voxels.vtk", &voxel), PETSC_ERR_FILE_UNEXPECTED, "unsigned_char with 3");
    else {
      PetscCall(DMBoxLoadVoxels(dm, "heat_voxels.vtk", &voxel));
      PetscCall(Check((PetscBool)!memcmp(voxel, image, 64), "voxels of a VTK file"));
      PetscCall(PetscFree(voxel));
    }
  }
  PetscCall(WriteFile("heat_voxels.raw", image, 63));
  FAILS(DMBoxLoadVoxels(dm, "heat_voxels.raw", &voxel), PETSC_ERR_FILE_UNEXPECTED, "63 bytes");
  FAILS(DMBoxLoadVoxels(dm, "heat_no_such_file.raw", &voxel), PETSC_ERR_FILE_OPEN, "cannot open");
  FAILS(DMBoxLoadVoxels(dm, ".", &voxel), PETSC_ERR_FILE_OPEN, "Is a directory");
  FAILS(DMBoxSetHeatVoxels(dm, image, 1, (PetscReal[1]){1}, (PetscReal[1]){1}), PETSC_ERR_ARG_OUTOFRANGE, "material 2");
  FAILS(DMBoxSetHeatVoxels(dm, image, 2, (PetscReal[2]){1, -1}, (PetscReal[2]){1, 1}), PETSC_ERR_ARG_OUTOFRANGE,
        "Material 2 has capacity -1");
  PetscCall(PetscArrayzero(image, 64));
  FAILS(DMBoxSetHeatVoxels(dm, image, 0, NULL, NULL), PETSC_ERR_ARG_WRONG, "No voxel");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* meshes that do not go with the operator */
static PetscErrorCode WrongMeshes(void)
{
  const PetscInt  cells[3]    = {4, 4, 4};
  const PetscReal vertices[5] = {0, 0.1, 0.3, 0.6, 1};
  DM              dm;

  PetscFunctionBeginUser;
  for (int i = 0; i < 4; i++) {
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, i == 0 ? 2 : 1, &dm));
    PetscCall(DMBoxSetOperator(dm, i == 1 ? "poisson" : "heat"));
    if (i != 2) PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_P1));
    if (i == 3) PetscCall(DMBoxSetVertices(dm, 1, 5, vertices));
    if (i == 0) FAILS(DMSetUp(dm), PETSC_ERR_ARG_INCOMP, "degree 1");
    if (i == 1) FAILS(DMSetUp(dm), PETSC_ERR_ARG_INCOMP, "poisson takes q and dgq");
    if (i == 2) FAILS(DMSetUp(dm), PETSC_ERR_ARG_INCOMP, "heat takes p1");
    if (i == 3) FAILS(DMSetUp(dm), PETSC_ERR_ARG_INCOMP, "equal length");
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Errors(void)
{
  March             m = {.theta = 0.5, .dt = 0.01, .steps = 3, .rtol = 1e-10, .guess = DMBOX_HEAT_GUESS_LINEAR};
  TSConvergedReason reason;
  DM                dm, other, fine;
  TS                ts;
  SNES              snes;
  KSP               ksp;
  Vec               u, wrong;
  PetscViewer       viewer;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump")); /* calls that fail do not free what they had allocated */
  PetscCall(CreateCube(4, DMBOX_BOUNDARY_NEUMANN, &dm));
  PetscCall(CreateCube(6, DMBOX_BOUNDARY_NEUMANN, &other));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMCreateGlobalVector(other, &wrong));
  PetscCall(VecSet(u, -1));
  PetscCall(VecSet(wrong, 1));
  FAILS(DMBoxSetHeat(dm, -1, (PetscReal[3]){1, 1, 1}, 0), PETSC_ERR_ARG_OUTOFRANGE, "capacity (DMBoxSetHeat()) is -1");
  FAILS(DMBoxSetHeat(dm, 1, (PetscReal[3]){1, -2, 1}, 0), PETSC_ERR_ARG_OUTOFRANGE, "in direction 1");
  FAILS(DMBoxSetHeat(dm, 1, (PetscReal[3]){1, NAN, 1}, 0), PETSC_ERR_ARG_OUTOFRANGE, "in direction 1");
  FAILS(DMBoxSetHeatFields(dm, u, 0, NULL), PETSC_ERR_ARG_OUTOFRANGE, "field of the capacity");
  FAILS(DMBoxSetHeatFields(dm, NULL, 1, &u), PETSC_ERR_ARG_OUTOFRANGE, "field of the conductivity");
  FAILS(DMBoxSetHeatFields(dm, wrong, 0, NULL), PETSC_ERR_ARG_SIZ, "local size");
  FAILS(DMBoxSetHeatFields(dm, NULL, 2, &u), PETSC_ERR_ARG_OUTOFRANGE, "takes 0, 1 or 3");
  FAILS(DMBoxSetHeatFunctions(dm, 0, Negative, NULL, NULL), PETSC_ERR_ARG_OUTOFRANGE, "positive everywhere");
  FAILS(DMBoxSetHeatFunctions(dm, 0, NULL, NotANumber, NULL), PETSC_ERR_ARG_OUTOFRANGE, "finite");
  FAILS(DMBoxSetHeatRobin(dm, 6, 1, 0), PETSC_ERR_ARG_OUTOFRANGE, "sides are 0 to 5");
  FAILS(DMBoxSetHeatRobin(dm, 0, -1, 0), PETSC_ERR_ARG_OUTOFRANGE, "must not be negative");
  FAILS(DMBoxSetHeatFlux(dm, -1, One, NULL), PETSC_ERR_ARG_OUTOFRANGE, "sides are 0 to 5");
  FAILS(DMBoxSetPoisson(dm, (PetscReal[3]){1, 1, 1}, 0), PETSC_ERR_ARG_WRONG, "is for -dm_box_operator poisson");
  FAILS(DMBoxAddLoad(dm, 0, One, NULL, u), PETSC_ERR_ARG_WRONG, "DMBoxAddHeatLoad()");
  PetscCall(VoxelFiles(dm));
  PetscCall(WrongMeshes());
  PetscCall(DMBoxSetHeatFunctions(dm, 0, One, NULL, NULL));
  FAILS(DMRefine(dm, PETSC_COMM_WORLD, &fine), PETSC_ERR_SUP, "cannot be refined");
  /* steps */
  PetscCall(VecSet(u, 0));
  PetscCall(DMBoxSetHeatFlux(dm, 4, One, NULL));
  PetscCall(CreateTS(dm, &m, &ts));
  FAILS(TSThetaSetTheta(ts, 0), PETSC_ERR_ARG_OUTOFRANGE, "");
  FAILS(TSThetaSetTheta(ts, 1.5), PETSC_ERR_ARG_OUTOFRANGE, "");
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 2));
  PetscCall(TSSetErrorIfStepFails(ts, PETSC_FALSE));
  PetscCall(TSSolve(ts, u));
  PetscCall(TSGetConvergedReason(ts, &reason));
  PetscCall(
    Check((PetscBool)(reason == TS_DIVERGED_NONLINEAR_SOLVE), "a solve that does not converge ends with %s", TSConvergedReasons[reason]));
  PetscCall(PetscViewerASCIIGetStdout(PETSC_COMM_WORLD, &viewer));
  FAILS(DMBoxTSHeatView(ts, viewer), PETSC_ERR_ARG_WRONG, "type binary");
  PetscCall(TSDestroy(&ts));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, dm));
  FAILS(DMBoxTSSetHeatGuess(ts, DMBOX_HEAT_GUESS_LINEAR), PETSC_ERR_ARG_WRONGSTATE, "DMBoxTSSetHeat()");
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&wrong));
  PetscCall(DMDestroy(&dm));
  PetscCall(DMDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
  static const Test parts[] = {{"stencils", Stencils},   {"operators", Operators}, {"assembled", AllAssembled},
                               {"materials", Materials}, {"layers", Layers},       {"sides", Sides},
                               {"body", Body},           {"errors", Errors}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(RunParts(PETSC_STATIC_ARRAY_LENGTH(parts), parts));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3 4 8}}
    test:
      suffix: operators
      args: -part operators
    test:
      suffix: stencils
      args: -part stencils
    test:
      suffix: assembled
      args: -part assembled
    test:
      suffix: layers
      args: -part layers
    test:
      suffix: sides
      args: -part sides
    test:
      suffix: body
      args: -part body
  testset:
    nsize: {{1 4}}
    test:
      suffix: errors
      args: -checkfunctionlist 0 -part errors
  testset:
    nsize: {{1 3}}
    test:
      suffix: materials
      args: -part materials
  testset:
    requires: cuda gpu
    nsize: {{1 2}}
    args: -dm_vec_type cuda
    test:
      suffix: cuda_operators
      output_file: output/heat_operators.out
      args: -part operators
    test:
      suffix: cuda_assembled
      output_file: output/heat_assembled.out
      args: -part assembled
    test:
      suffix: cuda_body
      output_file: output/heat_body.out
      args: -part body
    test:
      suffix: cuda_sides
      output_file: output/heat_sides.out
      args: -part sides

TEST*/
