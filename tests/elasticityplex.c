/*
  Solids on a DMPLEX of quadrilaterals or hexahedra: the operator, its diagonal and its assembled matrix against the Jacobian that PETSc
  assembles from pointwise functions; null spaces; planes of symmetry, and nodes that are held in some of their components; a box against a
  DMBOX; closed cells, component by component, against those of scalar operators; errors of a known displacement, and iterations.

    elasticityplex -test operator -dim 3 -degree 3 -turned
*/
#include <petscdmplex.h>
#include <petscds.h>
#include <petscpatchfd.h>
#include <petscsnes.h>
#include "catch.h"

typedef struct {
  PetscInt  dim, degree, cells;
  PetscInt  pins;            /* corners that are held, the first one in all components */
  PetscInt  planes, clamped; /* not all sides are clamped: those with x_d = 0 for d < clamped; for other d < planes they are of symmetry */
  PetscReal bend, ratio;
  PetscBool free, turned, cuda, varies; /* no side is clamped; cells list their vertices in other orders; E and nu are functions */
} Case;

/* ---- material ---- */

static PetscErrorCode Moduli(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                             PetscReal m[], PETSC_UNUSED void *ctx)
{
  m[0] = PetscExpReal(PetscSinReal(3 * x[0] + 2 * x[1]));
  m[1] = 0.2 + 0.2 * PetscSinReal(4 * x[1]);
  return PETSC_SUCCESS;
}

static PetscErrorCode Shift(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                            PetscReal s[], PETSC_UNUSED void *ctx)
{
  s[0] = 2 + x[0];
  return PETSC_SUCCESS;
}

/* the Jacobian as PETSc's tutorials have it; constants: E, nu where they do not vary */
#define POINT \
  PetscInt dim, PETSC_UNUSED PetscInt Nf, PETSC_UNUSED PetscInt NfAux, PETSC_UNUSED const PetscInt uOff[], \
    PETSC_UNUSED const PetscInt uOff_x[], PETSC_UNUSED const PetscScalar u[], PETSC_UNUSED const PetscScalar u_t[], \
    PETSC_UNUSED const PetscScalar u_x[], PETSC_UNUSED const PetscInt aOff[], PETSC_UNUSED const PetscInt aOff_x[], \
    PETSC_UNUSED const PetscScalar a[], PETSC_UNUSED const PetscScalar a_t[], PETSC_UNUSED const PetscScalar a_x[], \
    PETSC_UNUSED PetscReal t, PETSC_UNUSED PetscReal shift, const PetscReal x[], PetscInt n, PETSC_UNUSED const PetscScalar constants[]

static void G0(POINT, PetscScalar g[])
{
  for (PetscInt c = 0; c < dim && !n; c++) g[c * dim + c] = 2 + x[0];
}

static void G3(POINT, PetscScalar g[])
{
  PetscReal m[2], mu, lambda;

  (void)Moduli(dim, 0, x, 2, m, NULL);
  for (PetscInt i = 0; i < n; i++) m[i] = PetscRealPart(constants[i]);
  mu     = m[0] / (2 * (1 + m[1]));
  lambda = m[0] * m[1] / ((1 + m[1]) * (1 - 2 * m[1]));
  for (PetscInt c = 0; c < dim; c++) {
    for (PetscInt d = 0; d < dim; d++) {
      g[((c * dim + c) * dim + d) * dim + d] += mu;
      g[((c * dim + d) * dim + d) * dim + c] += mu;
      g[((c * dim + d) * dim + c) * dim + d] += lambda;
    }
  }
}

/* ---- meshes ---- */

/* cells^dim of the unit cube, bent inside; every other cell begins with another corner, every third one with another direction */
static PetscErrorCode CreateMesh(const Case *c, DM *mesh)
{
  static const PetscInt order[8][3] = {{0, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 0, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  static const PetscInt quad[4][2]  = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  const PetscInt        n = c->cells, dim = c->dim, corners = 1 << dim, layers = dim == 3 ? n : 1;
  PetscInt              ncell = n * n * layers, nnode = (n + 1) * (n + 1) * (dim == 3 ? n + 1 : 1), *cell;
  PetscReal            *x;
  PetscMPIInt           rank;
  DM                    parallel;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank) ncell = nnode = 0;
  PetscCall(PetscMalloc2(ncell * corners, &cell, nnode * dim, &x));
  for (PetscInt i = 0; i < ncell * corners; i++) {
    const PetscInt number = i / corners, turn = c->turned ? number % 3 : 0;
    PetscInt       at[3] = {number % n, number / n % n, number / n / n};

    for (PetscInt d = 0; d < dim; d++) /* a cyclic change of directions keeps the volume positive, and a rotation of a square does */
      at[dim == 3 ? (d + turn) % 3 : d] += dim == 3 ? order[i % 8][d] : quad[(i + turn) % 4][d];
    cell[i] = (at[2] * (n + 1) + at[1]) * (n + 1) + at[0];
  }
  for (PetscInt i = 0; i < nnode; i++) {
    const PetscInt at[3] = {i % (n + 1), i / (n + 1) % (n + 1), i / (n + 1) / (n + 1)};

    PetscBool inside = PETSC_TRUE;

    for (PetscInt d = 0; d < dim; d++) inside = (PetscBool)(inside && at[d] > 0 && at[d] < n);
    for (PetscInt d = 0; d < dim; d++) x[i * dim + d] = (PetscReal)at[d] / (PetscReal)n;
    for (PetscInt d = 0; d < dim && inside; d++)
      x[i * dim + d] += c->bend / (PetscReal)n * PetscSinReal(5.0 * (PetscReal)at[(d + 1) % dim] + 2.0 * (PetscReal)at[d]);
  }
  PetscCall(DMPlexCreateFromCellListPetsc(PETSC_COMM_WORLD, dim, ncell, nnode, corners, PETSC_TRUE, cell, dim, x, mesh));
  PetscCall(PetscFree2(cell, x));
  PetscCall(DMPlexDistribute(*mesh, 0, NULL, &parallel));
  if (parallel) {
    PetscCall(DMDestroy(mesh));
    *mesh = parallel;
  }
  PetscCall(DMSetFromOptions(*mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the faces whose middle has coordinate d = at, with all points that they have */
static PetscErrorCode MarkSide(DM dm, const char name[], PetscInt d, PetscReal at, DMLabel *label)
{
  PetscInt  n;
  PetscReal x[3];
  IS        faces;

  PetscFunctionBeginUser;
  PetscCall(DMCreateLabel(dm, name));
  PetscCall(DMGetLabel(dm, name, label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, *label));
  PetscCall(DMLabelGetStratumIS(*label, 1, &faces));
  if (faces) {
    const PetscInt *face;

    PetscCall(ISGetLocalSize(faces, &n));
    PetscCall(ISGetIndices(faces, &face));
    for (PetscInt i = 0; i < n; i++) {
      PetscCall(DMPlexComputeCellGeometryFVM(dm, face[i], NULL, x, NULL));
      if (PetscAbsReal(x[d] - at) > 1e-10) PetscCall(DMLabelClearValue(*label, face[i], 1));
    }
    PetscCall(ISRestoreIndices(faces, &face));
  }
  PetscCall(ISDestroy(&faces));
  PetscCall(DMPlexLabelComplete(dm, *label));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of a body, or of its component `only` */
static PetscErrorCode SetPlanes(const Case *c, PetscInt only, DM dm)
{
  const PetscInt id = 1, zero = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < c->planes; d++) {
    const char name[] = {'p', 'l', 'a', 'n', 'e', (char)('x' + d), 0};
    DMLabel    label;

    if (only >= 0 && d != only && d >= c->clamped) continue;
    PetscCall(MarkSide(dm, name, d, 0, &label));
    PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, name, label, 1, &id, 0, d >= c->clamped, only >= 0 ? &zero : &d, NULL, NULL, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* corner 0, then 1 but for component x, and 2 in z: after dim of them a body cannot move */
static PetscErrorCode SetPins(const Case *c, DM dm)
{
  const PetscInt id = 1, component[] = {0, 1, 2};
  PetscInt       first, end;
  DM             cdm;
  Vec            places;
  PetscScalar   *array, *x;

  PetscFunctionBeginUser;
  PetscCall(DMGetCoordinateDM(dm, &cdm));
  PetscCall(DMGetCoordinatesLocal(dm, &places));
  PetscCall(DMPlexGetDepthStratum(dm, 0, &first, &end));
  PetscCall(VecGetArray(places, &array));
  for (PetscInt p = 0; p < c->pins; p++) {
    const char name[] = {'p', 'i', 'n', (char)('0' + p), 0};
    DMLabel    label;

    PetscCall(DMCreateLabel(dm, name));
    PetscCall(DMGetLabel(dm, name, &label));
    for (PetscInt v = first; v < end; v++) {
      PetscReal distance = 0;

      PetscCall(DMPlexPointLocalRef(cdm, v, array, &x));
      for (PetscInt d = 0; d < c->dim; d++) distance += PetscAbsScalar(x[d] - (p == d + 1));
      if (distance < 1e-10) PetscCall(DMLabelSetValue(label, v, 1));
    }
    PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, name, label, 1, &id, 0, c->dim - p, component + p, NULL, NULL, NULL, NULL));
  }
  PetscCall(VecRestoreArray(places, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* that of component `only` alone, or of all for -1 */
static PetscErrorCode SetSpace(const Case *c, PetscInt only, DM dm)
{
  const PetscInt ncomp = only < 0 ? c->dim : 1;
  const PetscInt id    = 1;
  PetscFE        fe;
  PetscDS        ds;
  DMLabel        label;
  PetscScalar    moduli[2] = {1, c->ratio};

  PetscFunctionBeginUser;
  if (c->cuda) PetscCall(DMSetVecType(dm, VECCUDA));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, c->dim, ncomp, PETSC_FALSE, c->degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(dm));
  PetscCall(DMGetDS(dm, &ds));
  if (ncomp > 1) PetscCall(PetscDSSetJacobian(ds, 0, 0, G0, NULL, NULL, G3));
  if (!c->varies) PetscCall(PetscDSSetConstants(ds, 2, moduli));
  if (c->planes) PetscCall(SetPlanes(c, only, dm));
  if (c->pins) PetscCall(SetPins(c, dm));
  if (c->free || c->planes || c->pins) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMCreateLabel(dm, "wall"));
  PetscCall(DMGetLabel(dm, "wall", &label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, label));
  PetscCall(DMPlexLabelComplete(dm, label));
  PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, "wall", label, 1, &id, 0, 0, NULL, NULL, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolid(const Case *c, DM *dm, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(CreateMesh(c, dm));
  PetscCall(SetSpace(c, -1, *dm));
  PetscCall(MatCreateElasticityPlex(*dm, A));
  if (c->varies) PetscCall(MatElasticityPlexSetFunction(*A, Moduli, Shift, DMBOX_PLANE_STRAIN, NULL));
  else PetscCall(MatElasticityPlexSetModuli(*A, 1, c->ratio, DMBOX_PLANE_STRAIN, 0));
  PetscCall(MatSetFromOptions(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- comparisons ---- */

static PetscErrorCode Check(const char *what, PetscReal error, PetscReal size, PetscReal tolerance)
{
  PetscFunctionBeginUser;
  if (error <= tolerance * size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %g of %g\n", what, (double)error, (double)size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char *what, Vec found, Vec wanted, PetscReal tolerance)
{
  PetscReal error, size;
  Vec       d;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(found, &d));
  PetscCall(VecCopy(found, d));
  PetscCall(VecAXPY(d, -1, wanted));
  PetscCall(VecNorm(d, NORM_INFINITY, &error));
  PetscCall(VecNorm(wanted, NORM_INFINITY, &size));
  PetscCall(Check(what, error, size, tolerance));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solves ---- */

/* by PCPATCHMG, to 1e-9 in the residual; how many iterations at the mean rate */
static PetscErrorCode Solve(Mat A, KSPType type, Vec b, Vec x, PetscReal *iterations)
{
  const PetscReal   *history;
  PetscInt           n;
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  if (!strcmp(type, KSPCG)) PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-9, 0, PETSC_CURRENT, 60));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualHistory(ksp, &history, &n));
  if (reason <= 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "not solved: %s\n", KSPConvergedReasons[reason]));
  *iterations = n > 1 ? -9 * (PetscReal)(n - 1) / PetscLog10Real(history[n - 1] / history[0]) : 0;
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tests ---- */

/* what a matrix does, its diagonal and its entries, with those of PETSc's */
static PetscErrorCode CompareMatrices(const char *what, Mat A, Mat J)
{
  Vec       x, y, wanted;
  Mat       B, D;
  PetscReal error, size;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &wanted));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(J, x, wanted));
  PetscCall(Compare(what, y, wanted, 1e-12));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscCall(VecScale(wanted, 2));
  PetscCall(Compare("product that is added", y, wanted, 1e-12));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(MatGetDiagonal(J, wanted));
  PetscCall(Compare("diagonal", y, wanted, 1e-12));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatNorm(J, NORM_INFINITY, &size));
  PetscCall(MatDuplicate(J, MAT_COPY_VALUES, &D)); /* MatAXPY() would lose the near null space of B */
  PetscCall(MatAXPY(D, -1, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_INFINITY, &error));
  PetscCall(Check("assembled matrix", error, size, 1e-12));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&D));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* components that are not coupled */
static void Laplace(POINT, PetscScalar g[])
{
  (void)n;
  for (PetscInt i = 0; i < dim * dim; i++) g[(i / dim * (dim + 1) * dim + i % dim) * dim + i % dim] = 1 + x[0];
}

static PetscErrorCode Springs(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                              PetscReal h[], PETSC_UNUSED void *ctx)
{
  h[0] = 1 + x[1];
  return PETSC_SUCCESS;
}

static PetscErrorCode TestOperator(Case *c)
{
  const PetscInt id = 1;
  PetscReal      iterations;
  DM             dm;
  DMLabel        label;
  PetscDS        ds;
  Mat            A, J;
  Vec            local, x, b;

  PetscFunctionBeginUser;
  for (int varies = 0; varies < 2; varies++) {
    c->varies = (PetscBool)varies;
    PetscCall(CreateSolid(c, &dm, &A));
    PetscCall(DMCreateLocalVector(dm, &local));
    PetscCall(DMSetMatType(dm, MATAIJ));
    PetscCall(DMCreateMatrix(dm, &J));
    PetscCall(DMPlexSNESComputeJacobianFEM(dm, local, J, J, NULL));
    PetscCall(CompareMatrices(varies ? "operator" : "operator of one material", A, J));
    PetscCall(MatDestroy(&A));
    PetscCall(MatCreateDiffusionPlex(dm, &A));
    PetscCall(MatDiffusionPlexSetJacobian(A, dm, NULL, 0, 0));
    PetscCall(CompareMatrices("operator of a PetscDS", A, J));
    PetscCall(DMGetDS(dm, &ds));
    PetscCall(PetscDSSetJacobian(ds, 0, 0, G0, NULL, NULL, Laplace));
    PetscCall(DMPlexSNESComputeJacobianFEM(dm, local, J, J, NULL));
    PetscCall(MatDiffusionPlexSetJacobian(A, dm, NULL, 0, 0));
    PetscCall(CompareMatrices("components that are not coupled", A, J));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(Solve(A, KSPCG, b, x, &iterations));
    if (iterations > 12) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f iterations where components are not coupled\n", (double)iterations));
    PetscCall(MarkSide(dm, "end", 0, 1, &label));
    PetscCall(MatDiffusionPlexSetRobin(A, label, 1, &id, Springs, NULL));
    PetscCall(MatDestroy(&J));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &J));
    PetscCall(CompareMatrices("springs", A, J));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&J));
    PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP4, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &J));
    PetscCall(CompareMatrices("bake-off problem", A, J));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&J));
    PetscCall(VecDestroy(&local));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* that of a solid which is stiffer in the direction of its strains */
static void Tangent(POINT, PetscScalar g[])
{
  G3(dim, Nf, NfAux, uOff, uOff_x, u, u_t, u_x, aOff, aOff_x, a, a_t, a_x, t, shift, x, n, constants, g);
  for (PetscInt i = 0; i < dim * dim; i++)
    for (PetscInt j = 0; j < dim * dim; j++) g[((i / dim * dim + j / dim) * dim + i % dim) * dim + j % dim] += 0.3 * u_x[i] * u_x[j];
}

static PetscErrorCode Bent(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                           PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < n; c++) u[c] = PetscSinReal(2 * x[c] + (c + 1) * x[(c + 1) % dim]);
  return PETSC_SUCCESS;
}

/* a Jacobian that is no Hooke's law, at a displacement, and a solve with it */
static PetscErrorCode TestTangent(Case *c)
{
  PetscErrorCode (*bent[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Bent};
  DM        dm;
  Mat       A, J;
  Vec       u, x, local;
  PetscDS   ds;
  PetscReal iterations;

  PetscFunctionBeginUser;
  c->varies = PETSC_TRUE;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, G0, NULL, NULL, Tangent));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(DMProjectFunction(dm, 0, bent, NULL, INSERT_VALUES, u));
  PetscCall(DMCreateLocalVector(dm, &local));
  PetscCall(VecSet(local, 0));
  PetscCall(DMGlobalToLocal(dm, u, INSERT_VALUES, local));
  PetscCall(DMSetMatType(dm, MATAIJ));
  PetscCall(DMCreateMatrix(dm, &J));
  PetscCall(DMPlexSNESComputeJacobianFEM(dm, local, J, J, NULL));
  PetscCall(MatDiffusionPlexSetJacobian(A, dm, u, 0, 0));
  PetscCall(CompareMatrices("tangent", A, J));
  PetscCall(Solve(A, KSPCG, u, x, &iterations));
  if (iterations > 25) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f iterations with a tangent\n", (double)iterations));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&local));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&J));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* numbers of cells are a function that is constant in each; here everywhere, those of the options of A */
static PetscErrorCode TestCells(Case *c)
{
  DM           dm;
  Mat          A, B;
  Vec          moduli, shift, x, y, wanted;
  PetscInt     first, end;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(MatCreateElasticityPlex(dm, &B));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &first, &end));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 2 * (end - first), PETSC_DETERMINE, &moduli));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, end - first, PETSC_DETERMINE, &shift));
  PetscCall(VecGetArrayWrite(moduli, &a));
  for (PetscInt i = 0; i < 2 * (end - first); i++) a[i] = i % 2 ? 0.4 : 3;
  PetscCall(VecRestoreArrayWrite(moduli, &a));
  PetscCall(VecSet(shift, 2));
  PetscCall(MatElasticityPlexSetVec(B, moduli, shift, DMBOX_PLANE_STRESS));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &wanted));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, wanted));
  PetscCall(MatMult(B, x, y));
  PetscCall(Compare("numbers of cells", y, wanted, 1e-13));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscCall(VecDestroy(&moduli));
  PetscCall(VecDestroy(&shift));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rigid motions, and what is solved up to them */
static PetscErrorCode TestMotions(Case *c)
{
  const PetscInt rest = c->dim - (c->pins ? c->pins : c->planes), all = c->dim * (c->dim + 1) / 2; /* rest: in all planes */
  const PetscInt wanted = c->clamped ? 0 : (c->planes || c->pins ? rest * (rest + 1) / 2 : all);
  DM             dm;
  Mat            A, B;
  Vec            x, b;
  const Vec     *v;
  PetscInt       n;
  PetscReal      norm, size, iterations;
  PetscBool      constants, is;
  MatNullSpace   motions;

  PetscFunctionBeginUser;
  c->free = PETSC_TRUE;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(MatGetNullSpace(A, &motions));
  n         = 0;
  constants = PETSC_FALSE;
  is        = PETSC_TRUE;
  if (motions) PetscCall(MatNullSpaceGetVecs(motions, &constants, &n, &v));
  if (n != wanted || constants) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " motions, not %" PetscInt_FMT "\n", n, wanted));
  if (motions) PetscCall(MatNullSpaceTest(motions, A, &is));
  if (!is) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "motions are no null space\n"));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatGetNearNullSpace(B, &motions));
  if (!c->planes && !c->pins) PetscCall(MatNullSpaceTest(motions, B, &is));
  if (!is) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the near null space is none\n"));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecSet(x, 0));
  PetscCall(Solve(A, KSPCG, b, x, &iterations));
  PetscCall(VecNorm(b, NORM_2, &size));
  PetscCall(VecScale(b, -1));
  PetscCall(MatMultAdd(A, x, b, b));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(Check("residual of a free body", norm, size, 1e-8));
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreateDiffusionPlex(dm, &A));
  PetscCall(MatGetNullSpace(A, &motions));
  n = 0;
  if (motions) PetscCall(MatNullSpaceGetVecs(motions, NULL, &n, NULL));
  if (motions) PetscCall(MatNullSpaceTest(motions, A, &is));
  if (n != (c->clamped || c->pins ? 0 : c->dim - c->planes) || !is)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " constants of components\n", n));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* component `component` of a vector of dm, which has no others, from one of `scalar`, or the other way */
static PetscErrorCode Component(DM dm, DM scalar, PetscInt component, PetscBool back, Vec all, Vec one)
{
  PetscSection sections[2];
  PetscInt     dim, first, end, n, at[2];
  PetscScalar *a, *b;
  Vec          locals[2];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMGetLocalSection(dm, &sections[0]));
  PetscCall(DMGetLocalSection(scalar, &sections[1]));
  PetscCall(DMCreateLocalVector(dm, &locals[0]));
  PetscCall(DMCreateLocalVector(scalar, &locals[1]));
  PetscCall(DMGlobalToLocal(back ? dm : scalar, back ? all : one, INSERT_VALUES, locals[!back]));
  PetscCall(VecGetArray(locals[0], &a));
  PetscCall(VecGetArray(locals[1], &b));
  PetscCall(PetscSectionGetChart(sections[1], &first, &end));
  for (PetscInt q = first; q < end; q++) {
    PetscCall(PetscSectionGetDof(sections[1], q, &n));
    for (int i = 0; i < 2; i++) PetscCall(PetscSectionGetOffset(sections[i], q, &at[i]));
    for (PetscInt i = 0; i < n; i++)
      if (back) b[at[1] + i] = a[at[0] + i * dim + component];
      else a[at[0] + i * dim + component] = b[at[1] + i];
  }
  PetscCall(VecRestoreArray(locals[0], &a));
  PetscCall(VecRestoreArray(locals[1], &b));
  PetscCall(DMLocalToGlobal(back ? scalar : dm, locals[back], INSERT_VALUES, back ? one : all));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&locals[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what PCPATCHFD makes of a vector */
static PetscErrorCode Correct(Mat A, Vec r, Vec x)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, r, x));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K = mu I + (lambda + mu) e e', of component *ctx */
static PetscErrorCode Tensor(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt n, PetscReal K[], void *ctx)
{
  PetscReal m[2], mu, lambda;

  PetscFunctionBeginUser;
  PetscCall(Moduli(dim, time, x, 2, m, NULL));
  mu     = m[0] / (2 * (1 + m[1]));
  lambda = 2 * mu * m[1] / (1 - 2 * m[1]);
  for (PetscInt i = 0; i < n; i++) K[i] = mu + (i == *(PetscInt *)ctx ? lambda + mu : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* closed cells: the diagonal block of a component is a scalar operator, whose corrections tests/cells.c compares with dense matrices */
static PetscErrorCode TestCorrections(Case *c)
{
  DM  dm, scalar;
  Mat A, B;
  Vec r, x, wanted, all, out;

  PetscFunctionBeginUser;
  c->varies = PETSC_TRUE;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(MatCreateVecs(A, &all, &out));
  for (PetscInt component = 0; component < c->dim; component++) {
    PetscCall(CreateMesh(c, &scalar));
    PetscCall(SetSpace(c, component, scalar));
    PetscCall(MatCreateDiffusionPlex(scalar, &B));
    PetscCall(MatDiffusionPlexSetFunction(B, c->dim, Tensor, Shift, &component));
    PetscCall(MatCreateVecs(B, &x, &r));
    PetscCall(VecDuplicate(x, &wanted));
    PetscCall(VecSetRandom(r, NULL));
    PetscCall(VecSet(all, 0));
    PetscCall(Component(dm, scalar, component, PETSC_FALSE, all, r));
    PetscCall(Correct(A, all, out));
    PetscCall(Component(dm, scalar, component, PETSC_TRUE, out, x));
    PetscCall(Correct(B, r, wanted));
    PetscCall(Compare("correction of closed cells", x, wanted, 1e-11));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&wanted));
    PetscCall(MatDestroy(&B));
    PetscCall(DMDestroy(&scalar));
  }
  PetscCall(VecDestroy(&all));
  PetscCall(VecDestroy(&out));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- loads ---- */

/* u_c = (c + 1) sin(pi x) sin(pi y) ..., and the force that makes it */
static PetscErrorCode Displacement(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                                   PETSC_UNUSED void *ctx)
{
  PetscReal s = 1;

  for (PetscInt d = 0; d < dim; d++) s *= PetscSinReal(PETSC_PI * x[d]);
  for (PetscInt c = 0; c < n; c++) u[c] = (c + 1) * s;
  return PETSC_SUCCESS;
}

#define RESIDUAL \
  PetscInt dim, PETSC_UNUSED PetscInt Nf, PETSC_UNUSED PetscInt NfAux, PETSC_UNUSED const PetscInt uOff[], \
    PETSC_UNUSED const PetscInt uOff_x[], PETSC_UNUSED const PetscScalar u[], PETSC_UNUSED const PetscScalar u_t[], \
    PETSC_UNUSED const PetscScalar u_x[], PETSC_UNUSED const PetscInt aOff[], PETSC_UNUSED const PetscInt aOff_x[], \
    PETSC_UNUSED const PetscScalar a[], PETSC_UNUSED const PetscScalar a_t[], PETSC_UNUSED const PetscScalar a_x[], \
    PETSC_UNUSED PetscReal t, PETSC_UNUSED const PetscReal x[]

static void Force(RESIDUAL, PETSC_UNUSED PetscInt n, const PetscScalar constants[], PetscScalar f[])
{
  const PetscReal nu = PetscRealPart(constants[1]), mu = 0.5 / (1 + nu), lambda = 2 * mu * nu / (1 - 2 * nu), pi2 = PetscSqr(PETSC_PI);

  for (PetscInt c = 0; c < dim; c++) {
    f[c] = 0;
    for (PetscInt j = 0; j < dim; j++) {
      PetscReal s = 1, second = 1;

      for (PetscInt d = 0; d < dim; d++) {
        const PetscReal sine = PetscSinReal(PETSC_PI * x[d]), cosine = PetscCosReal(PETSC_PI * x[d]);

        s *= sine;
        second *= c == j ? (d == c ? -sine : sine) : (d == c || d == j ? cosine : sine);
      }
      f[c] += pi2 * (-mu * (c + 1) * s + (lambda + mu) * (j + 1) * second);
    }
  }
}

static void Traction(RESIDUAL, const PetscReal normal[], PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[],
                     PetscScalar f[])
{
  for (PetscInt c = 0; c < dim; c++) f[c] = -normal[c];
}

/* minus the residual at zero */
static PetscErrorCode GetLoad(DM dm, Vec b)
{
  Vec u, f;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(dm, &u));
  PetscCall(DMGetLocalVector(dm, &f));
  PetscCall(VecSet(u, 0));
  PetscCall(VecSet(f, 0));
  PetscCall(DMPlexSNESComputeResidualFEM(dm, u, f, NULL));
  PetscCall(VecSet(b, 0));
  PetscCall(DMLocalToGlobal(dm, f, ADD_VALUES, b));
  PetscCall(VecScale(b, -1));
  PetscCall(DMRestoreLocalVector(dm, &u));
  PetscCall(DMRestoreLocalVector(dm, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tests of solutions ---- */

static PetscErrorCode TestConvergence(Case *c)
{
  PetscErrorCode (*exact[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Displacement};
  PetscReal error[2], iterations[2], rate;

  PetscFunctionBeginUser;
  for (int level = 0; level < 2; level++) {
    DM      dm, fine;
    Mat     A;
    Vec     x, b;
    PetscDS ds;

    PetscCall(CreateMesh(c, &dm));
    PetscCall(DMPlexSetRefinementUniform(dm, PETSC_TRUE));
    for (int i = 0; i < level; i++) {
      PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
      PetscCall(DMDestroy(&dm));
      dm = fine;
    }
    PetscCall(SetSpace(c, -1, dm));
    PetscCall(DMGetDS(dm, &ds));
    PetscCall(PetscDSSetResidual(ds, 0, Force, NULL));
    PetscCall(MatCreateElasticityPlex(dm, &A));
    PetscCall(MatElasticityPlexSetModuli(A, 1, c->ratio, DMBOX_PLANE_STRAIN, 0));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(GetLoad(dm, b));
    PetscCall(Solve(A, KSPCG, b, x, &iterations[level]));
    PetscCall(DMComputeL2Diff(dm, 0, exact, NULL, x, &error[level]));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  rate = PetscLog2Real(error[0] / error[1]);
  if (!(rate > c->degree + 0.7)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "errors %g and %g\n", (double)error[0], (double)error[1]));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "order %d, iterations %.0f, %.0f\n", (int)(rate + 0.5), (double)iterations[0], (double)iterations[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Ones(RESIDUAL, PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[], PetscScalar f[])
{
  for (PetscInt c = 0; c < dim; c++) f[c] = -1;
}

/* those of the NumPy reference on 4 x 4 cells, whose bound of eigenvalues takes 25 steps in place of ten */
static PetscErrorCode TestIterations(Case *c)
{
  static const struct {
    PetscReal bend, ratio, iterations[3]; /* of degrees 2 to 4 */
  } reference[] = {{0, 0.3, {5.30, 5.63, 5.57}},
                   {0, 0.45, {6.52, 9.26, 8.81}},
                   {0.3, 0.3, {5.54, 5.99, 5.85}},
                   {0.3, 0.45, {6.97, 10.54, 9.98}}};

  PetscFunctionBeginUser;
  c->dim   = 2;
  c->cells = 4;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(reference); i++) {
    for (c->degree = 2; c->degree <= 4; c->degree++) {
      const PetscReal wanted = reference[i].iterations[c->degree - 2];
      PetscReal       iterations;
      PetscDS         ds;
      DM              dm;
      Mat             A;
      Vec             x, b;

      c->bend  = reference[i].bend;
      c->ratio = reference[i].ratio;
      PetscCall(CreateSolid(c, &dm, &A));
      PetscCall(DMGetDS(dm, &ds));
      PetscCall(PetscDSSetResidual(ds, 0, Ones, NULL));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(GetLoad(dm, b));
      PetscCall(Solve(A, KSPFGMRES, b, x, &iterations));
      if (PetscAbsReal(iterations - wanted) > 0.6)
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bend %g, ratio %g, degree %" PetscInt_FMT ": %.2f iterations, not %.2f\n", (double)c->bend,
                              (double)c->ratio, c->degree, (double)iterations, (double)wanted));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&dm));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a free body of volume 1 that a traction of n stretches: u = x / (dim lambda + 2 mu) */
static PetscErrorCode TestTraction(Case *c)
{
  const PetscReal mu = 0.5 / (1 + c->ratio), lambda = 2 * mu * c->ratio / (1 - 2 * c->ratio);
  const PetscInt  id = 1;
  PetscReal       iterations;
  PetscScalar     energy;
  PetscInt        bd;
  DM              dm;
  DMLabel         label;
  PetscDS         ds;
  PetscWeakForm   wf;
  Mat             A;
  Vec             x, b;

  PetscFunctionBeginUser;
  c->free = PETSC_TRUE;
  PetscCall(CreateMesh(c, &dm));
  PetscCall(DMCreateLabel(dm, "sides"));
  PetscCall(DMGetLabel(dm, "sides", &label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, label));
  PetscCall(SetSpace(c, -1, dm));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(DMAddBoundary(dm, DM_BC_NATURAL, "sides", label, 1, &id, 0, 0, NULL, NULL, NULL, NULL, &bd));
  PetscCall(PetscDSGetBoundary(ds, bd, &wf, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(PetscWeakFormSetIndexBdResidual(wf, label, id, 0, 0, 0, Traction, 0, NULL));
  PetscCall(MatCreateElasticityPlex(dm, &A));
  PetscCall(MatElasticityPlexSetModuli(A, 1, c->ratio, DMBOX_PLANE_STRAIN, 0));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(GetLoad(dm, b));
  PetscCall(Solve(A, KSPCG, b, x, &iterations));
  PetscCall(VecDot(b, x, &energy));
  PetscCall(Check("energy of a body that is stretched", PetscAbsScalar(energy - c->dim / (c->dim * lambda + 2 * mu)), 1, 1e-10));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of the side x = 1, in direction x */
static void Pull(RESIDUAL, PETSC_UNUSED const PetscReal normal[], PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[],
                 PetscScalar f[])
{
  for (PetscInt c = 0; c < dim; c++) f[c] = c == 0 ? -1 : 0;
}

static PetscErrorCode Stretched(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                                void *ctx)
{
  for (PetscInt c = 0; c < n; c++) u[c] = (c ? -*(const PetscReal *)ctx : 1) * x[c];
  return PETSC_SUCCESS;
}

/* xx 1, von Mises' stress 1, nothing else */
static PetscErrorCode CheckBar(Mat A, Vec x)
{
  PetscReal    error = 0;
  PetscInt     n, size;
  PetscScalar *a;
  Vec          stress;

  PetscFunctionBeginUser;
  PetscCall(MatElasticityPlexComputeStresses(A, x, &stress));
  PetscCall(VecGetBlockSize(stress, &n));
  PetscCall(VecGetLocalSize(stress, &size));
  PetscCall(VecGetArray(stress, &a));
  for (PetscInt i = 0; i < size; i++) error = PetscMax(error, PetscAbsScalar(a[i] - (i % n == 0 || i % n == n - 1)));
  PetscCall(VecRestoreArray(stress, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &error, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(Check("stresses of a bar", error, 1, 1e-7));
  PetscCall(VecDestroy(&stress));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a part of a bar, between planes of symmetry; and iterations with any load, of the bar and where these sides are clamped */
static PetscErrorCode TestTension(Case *c)
{
  PetscErrorCode (*stretched[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Stretched};
  const PetscInt id                                                                                      = 1;
  void          *ctx[]                                                                                   = {&c->ratio};
  PetscReal      iterations[3], error;
  PetscInt       bd;
  DM             dm;
  DMLabel        label;
  PetscDS        ds;
  PetscWeakForm  wf;
  Mat            A;
  Vec            x, b;

  PetscFunctionBeginUser;
  for (int clamped = 0; clamped < 2; clamped++) {
    c->planes  = c->dim;
    c->clamped = clamped ? c->dim : 0;
    PetscCall(CreateMesh(c, &dm));
    PetscCall(MarkSide(dm, "end", 0, 1, &label));
    PetscCall(SetSpace(c, -1, dm));
    PetscCall(DMGetDS(dm, &ds));
    PetscCall(DMAddBoundary(dm, DM_BC_NATURAL, "end", label, 1, &id, 0, 0, NULL, NULL, NULL, NULL, &bd));
    PetscCall(PetscDSGetBoundary(ds, bd, &wf, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    PetscCall(PetscWeakFormSetIndexBdResidual(wf, label, id, 0, 0, 0, Pull, 0, NULL));
    PetscCall(MatCreateElasticityPlex(dm, &A));
    PetscCall(MatElasticityPlexSetModuli(A, 1, c->ratio, DMBOX_PLANE_STRESS, 0));
    PetscCall(MatCreateVecs(A, &x, &b));
    if (!clamped) {
      PetscCall(GetLoad(dm, b));
      PetscCall(Solve(A, KSPCG, b, x, &iterations[2]));
      PetscCall(DMComputeL2Diff(dm, 0, stretched, ctx, x, &error));
      PetscCall(Check("displacement of a bar", error, 1, 1e-8));
      PetscCall(CheckBar(A, x));
    }
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(Solve(A, KSPCG, b, x, &iterations[clamped]));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  if (iterations[0] > iterations[1] + 1 || iterations[2] > iterations[1] + 1)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f and %.1f iterations, clamped %.1f\n", (double)iterations[0], (double)iterations[2],
                          (double)iterations[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u_c = (c + 1) y^2 + 0.3 x_c y, y the next coordinate */
static PetscErrorCode Quadratic(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                                PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < n; c++) u[c] = (c + 1) * PetscSqr(x[(c + 1) % dim]) + 0.3 * x[c] * x[(c + 1) % dim];
  return PETSC_SUCCESS;
}

/* its stresses, with Young's modulus 1, in plane strain, and von Mises' stress by the deviator */
static PetscErrorCode QuadraticStress(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                                      PetscScalar s[], void *ctx)
{
  const PetscReal nu = *(const PetscReal *)ctx, mu = 0.5 / (1 + nu), lambda = 2 * mu * nu / (1 - 2 * nu);
  PetscReal       H[3][3] = {{0}}, trace = 0, square = 0;
  PetscInt        k = 0;

  for (PetscInt c = 0; c < dim; c++) {
    const PetscInt next = (c + 1) % dim;

    H[c][next] = 2 * (PetscReal)(c + 1) * x[next] + 0.3 * x[c];
    H[c][c]    = 0.3 * x[next];
    trace += H[c][c];
  }
  for (PetscInt i = 0; i < 3; i++) {
    for (PetscInt j = i; j < 3; j++) {
      const PetscReal shear = mu * (H[i][j] + H[j][i]);

      if (j < dim || i == j) s[k++] = shear + (i == j ? lambda * trace : 0);
      square += (i == j ? 1 : 2) * PetscSqr(shear - (i == j ? 2 * mu * trace / 3 : 0));
    }
  }
  s[k] = PetscSqrtReal(1.5 * square);
  return PETSC_SUCCESS;
}

/* at all nodes, those on clamped sides, too, which have values */
static PetscErrorCode TestStresses(Case *c)
{
  PetscErrorCode (*quadratic[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Quadratic};
  PetscErrorCode (*exact[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *)     = {QuadraticStress};
  const PetscInt id = 1, y = 1;
  void          *ctx[] = {&c->ratio};
  const char    *name;
  DM             dm, nodes;
  DMLabel        label;
  PetscSection   section;
  Mat            A;
  Vec            u, stress, wanted;

  PetscFunctionBeginUser;
  c->bend = 0;
  c->free = PETSC_TRUE;
  PetscCall(CreateMesh(c, &dm));
  PetscCall(SetSpace(c, -1, dm));
  for (int side = 0; side < 2; side++) { /* one of them moves in y only */
    PetscCall(MarkSide(dm, side ? "right" : "left", 0, side, &label));
    PetscCall(
      DMAddBoundary(dm, DM_BC_ESSENTIAL, side ? "right" : "left", label, 1, &id, 0, side, &y, (PetscVoidFn *)Quadratic, NULL, NULL, NULL));
  }
  PetscCall(MatCreateElasticityPlex(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMProjectFunction(dm, 0, quadratic, NULL, INSERT_VALUES, u));
  PetscCall(MatElasticityPlexComputeStresses(A, u, &stress));
  PetscCall(VecGetDM(stress, &nodes));
  PetscCall(VecDuplicate(stress, &wanted));
  PetscCall(DMProjectFunction(nodes, 0, exact, ctx, INSERT_VALUES, wanted));
  PetscCall(Compare("stresses", stress, wanted, 1e-11));
  PetscCall(DMGetLocalSection(nodes, &section));
  PetscCall(PetscSectionGetComponentName(section, 0, c->dim, &name));
  if (strcmp(name, "yy") && c->dim == 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "component %s\n", name));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&stress));
  PetscCall(VecDestroy(&wanted));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Polynomial(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                                 PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < n; c++) u[c] = (1 + x[c]) * (0.5 + c + x[(c + 1) % dim]) - x[dim - 1] * x[c];
  return PETSC_SUCCESS;
}

/* norms of the matrix, and an energy: those of a DMBOX of the same cells */
static PetscErrorCode Norms(DM dm, Mat A, Vec u, PetscReal norm[3])
{
  Mat         B;
  Vec         y;
  PetscScalar energy;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(u, &y));
  PetscCall(MatMult(A, u, y));
  PetscCall(VecDot(u, y, &energy));
  norm[0] = PetscRealPart(energy);
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &norm[1]));
  PetscCall(MatNorm(B, NORM_1, &norm[2]));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBox(Case *c)
{
  PetscErrorCode (*polynomial[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Polynomial};
  static const char *const what[3]  = {"energy", "Frobenius norm", "largest column"};
  const PetscInt           cells[3] = {c->cells, c->cells, c->cells};
  DMBoxBoundaryType        side[6];
  DM                       dm;
  Mat                      A;
  Vec                      u;
  PetscReal                plex[3], box[3];

  PetscFunctionBeginUser;
  c->bend = 0;
  c->free = PETSC_TRUE;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMProjectFunction(dm, 0, polynomial, NULL, INSERT_VALUES, u));
  PetscCall(Norms(dm, A, u, plex));
  for (int i = 0; i < 6; i++) side[i] = DMBOX_BOUNDARY_NEUMANN;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, c->dim, cells, c->degree, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetBoundary(dm, side));
  PetscCall(DMBoxSetOperator(dm, "elasticity"));
  PetscCall(DMBoxSetElasticModuli(dm, 1, c->ratio, DMBOX_PLANE_STRAIN));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Polynomial, NULL, u));
  PetscCall(Norms(dm, A, u, box));
  for (int i = 0; i < 3; i++) PetscCall(Check(what[i], PetscAbsReal(plex[i] - box[i]), box[i], 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

static PetscErrorCode Refused(const char *what, PetscErrorCode ierr, const char *word)
{
  const char *found;

  PetscFunctionBeginUser;
  PetscCall(PetscStrstr(lastmessage, word, (char **)&found));
  if (!ierr || !found) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, ierr ? lastmessage : "no error"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Rubber(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                             PetscReal m[], PETSC_UNUSED void *ctx)
{
  m[0] = 1;
  m[1] = 0.5 * (x[0] > 0.5);
  return PETSC_SUCCESS;
}

/* as that of a solid, but for one entry */
static void Bad(POINT, PetscScalar g[])
{
  G3(dim, Nf, NfAux, uOff, uOff_x, u, u_t, u_x, aOff, aOff_x, a, a_t, a_x, t, shift, x, n, constants, g);
  g[dim * dim] += 0.1;
}

static PetscErrorCode TestErrors(Case *c)
{
  PetscErrorCode ierr;
  PetscDS        ds;
  DM             dm;
  Mat            A;
  Vec            moduli, stress;

  PetscFunctionBeginUser;
  PetscCall(CreateSolid(c, &dm, &A));
  CATCH(ierr, MatElasticityPlexSetModuli(A, -1, 0.3, DMBOX_PLANE_STRAIN, 0));
  PetscCall(Refused("negative modulus", ierr, "-mat_elasticity_young is -1"));
  CATCH(ierr, MatElasticityPlexSetModuli(A, 1, 0.5, DMBOX_PLANE_STRAIN, 0));
  PetscCall(Refused("incompressible", ierr, "less than 0.5"));
  CATCH(ierr, MatElasticityPlexSetModuli(A, 1, 0.3, (DMBoxPlaneType)7, 0));
  PetscCall(Refused("plane", ierr, "strain or stress"));
  CATCH(ierr, MatElasticityPlexSetFunction(A, NULL, NULL, DMBOX_PLANE_STRAIN, NULL));
  PetscCall(Refused("no function", ierr, "no function"));
  CATCH(ierr, MatElasticityPlexSetFunction(A, Rubber, NULL, DMBOX_PLANE_STRAIN, NULL));
  PetscCall(Refused("incompressible function", ierr, "The material of the solid is none in cell"));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 3, PETSC_DETERMINE, &moduli));
  CATCH(ierr, MatElasticityPlexSetVec(A, moduli, NULL, DMBOX_PLANE_STRAIN));
  PetscCall(Refused("size", ierr, "Young's modulus and Poisson's ratio has 3 entries"));
  PetscCall(VecDestroy(&moduli));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, NULL, NULL, NULL, Bad));
  CATCH(ierr, MatDiffusionPlexSetJacobian(A, dm, NULL, 0, 0));
  PetscCall(Refused("PetscDS", ierr, "couples components, and is not symmetric"));
  CATCH(ierr, MatElasticityPlexSetFunction(A, Moduli, Shift, DMBOX_PLANE_STRAIN, NULL));
  PetscCall(ierr); /* is as good as new */
  CATCH(ierr, MatElasticityPlexGetModuli(A, NULL, NULL, NULL, NULL));
  PetscCall(Refused("getter", ierr, "no material that is the same everywhere"));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 3, PETSC_DETERMINE, &moduli));
  CATCH(ierr, MatElasticityPlexComputeStresses(A, moduli, &stress));
  PetscCall(Refused("size of a displacement", ierr, "The displacement has 3 entries"));
  PetscCall(VecDestroy(&moduli));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  c->degree = 1;
  PetscCall(CreateSolid(c, &dm, &A));
  CATCH(ierr, MatElasticityPlexSetModuli(A, 1, 0.46, DMBOX_PLANE_STRAIN, 0));
  PetscCall(Refused("locking", ierr, "above 0.45"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(CreateMesh(c, &dm));
  PetscCall(SetSpace(c, 0, dm));
  CATCH(ierr, MatCreateElasticityPlex(dm, &A));
  PetscCall(Refused("components", ierr, "with as many components as dimensions"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  c->planes = 1;
  PetscCall(CreateMesh(c, &dm));
  PetscCall(SetSpace(c, -1, dm));
  CATCH(ierr, MatCreateBakeoff(dm, MAT_BAKEOFF_BP4, MAT_BAKEOFF_LAYOUT_ELEMENT, &A));
  PetscCall(Refused("vectors of elements", ierr, "in the layout element they have to be for none or all"));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP4, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(MatCreateVecs(A, &moduli, NULL));
  CATCH(ierr, MatElasticityPlexComputeStresses(A, moduli, &stress));
  PetscCall(Refused("stresses", ierr, "The matrix is that of no solid"));
  PetscCall(VecDestroy(&moduli));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscErrorCode (*run)(Case *);
  } tests[]          = {{"operator", TestOperator}, {"tangent", TestTangent},         {"cells", TestCells},
                        {"motions", TestMotions},   {"corrections", TestCorrections}, {"convergence", TestConvergence},
                        {"traction", TestTraction}, {"iterations", TestIterations},   {"box", TestBox},
                        {"tension", TestTension},   {"stresses", TestStresses},       {"errors", TestErrors}};
  Case      c        = {.dim = 3, .degree = 2, .cells = 3, .bend = 0.1, .ratio = 0.3};
  char      name[64] = "";
  PetscBool is;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", name, sizeof(name), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &c.dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &c.degree, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &c.cells, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-planes", &c.planes, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-clamped", &c.clamped, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-pins", &c.pins, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ratio", &c.ratio, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-turned", &c.turned, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cuda", &c.cuda, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(tests); i++) {
    PetscCall(PetscStrcmp(name, tests[i].name, &is));
    if (!is) continue;
    PetscCall((*tests[i].run)(&c));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/elasticityplex_ok.out

    test:
      suffix: operator
      nsize: {{1 3}}
      args: -test operator -turned -dim 2 -degree {{1 3 8}}

    test:
      suffix: operator_3d
      nsize: {{1 2}}
      args: -test operator -turned -degree {{1 2 4}} -cells 2

    test:
      suffix: tangent
      nsize: {{1 2}}
      args: -test tangent -turned -dim {{2 3}} -degree {{2 3}} -cells 2

    test:
      suffix: cells
      nsize: {{1 2}}
      args: -test cells -dim {{2 3}} -mat_elasticity_young 3 -mat_elasticity_poisson_ratio 0.4 -mat_elasticity_plane stress
      args: -mat_elasticity_shift 2

    test:
      suffix: motions
      nsize: {{1 3}}
      args: -test motions -dim {{2 3}} -turned

    test:
      suffix: corrections
      nsize: {{1 2}}
      args: -test corrections -dim {{2 3}} -degree {{1 3}} -turned

    test:
      suffix: traction
      nsize: {{1 2}}
      args: -test traction -dim {{2 3}} -turned

    test:
      suffix: box
      nsize: {{1 2}}
      args: -test box -dim {{2 3}} -degree {{1 2 3}}

    test:
      suffix: iterations
      nsize: {{1 3}}
      args: -test iterations -mg_coarse_assembled_pc_type redundant

    test:
      suffix: planes
      nsize: {{1 3}}
      args: -test {{operator motions corrections}} -planes {{1 2}} -dim 2 -degree 3 -turned

    test:
      suffix: planes_3d
      nsize: {{1 2}}
      args: -test {{operator tangent motions corrections}} -planes {{1 3}} -degree 3 -cells 2 -turned

    test:
      suffix: planes_clamped
      nsize: {{1 2}}
      args: -test {{operator motions corrections}} -planes 2 -clamped 1 -dim {{2 3}} -turned

    test:
      suffix: pins
      nsize: {{1 3}}
      args: -test {{operator motions}} -pins {{2 3}} -turned

    test:
      suffix: tension
      nsize: {{1 2 3}}
      args: -test tension -dim {{2 3}} -degree {{1 2 3 4}} -turned

    test:
      suffix: tension_single
      nsize: {{1 2}}
      args: -test tension -degree 3 -turned -pc_type single -ksp_type fcg

    test:
      suffix: stresses
      nsize: {{1 3}}
      args: -test stresses -dim {{2 3}} -degree {{2 3}} -turned

    test:
      suffix: errors
      args: -test errors -dim {{2 3}} -malloc_dump 0

    test:
      suffix: cuda
      requires: cuda gpu
      args: -cuda -test {{operator motions corrections traction}} -dim {{2 3}} -degree {{1 2 3 5}} -cells 2 -turned

    test:
      suffix: planes_cuda
      requires: cuda gpu
      nsize: {{1 2}}
      args: -cuda -test {{operator motions corrections tension}} -planes {{1 2}} -dim {{2 3}} -degree {{2 3 5}} -cells 2 -turned

    test:
      suffix: planes_single_cuda
      requires: cuda gpu
      args: -cuda -test tension -dim {{2 3}} -degree 3 -turned -pc_type single -ksp_type fcg

    test:
      suffix: ranks_cuda
      requires: cuda gpu
      nsize: 2
      args: -cuda -test {{operator motions}} -turned -cells 2

  testset:
    args: -test convergence -turned

    test:
      suffix: convergence
      nsize: {{1 3}}
      args: -dim 2 -degree 3

    test:
      suffix: convergence_3d
      nsize: {{1 2}}
      args: -cells 2

    test:
      suffix: convergence_single
      args: -dim 2 -degree 3 -pc_type single -ksp_type fcg
      output_file: output/elasticityplex_convergence.out

    test:
      suffix: convergence_cuda
      requires: cuda gpu
      args: -cuda -dim 2 -degree 3 -pc_type {{patchmg single}} -ksp_type fcg
      output_file: output/elasticityplex_convergence.out

  test:
    suffix: rubber
    args: -test convergence -dim 2 -degree 4 -ratio 0.45

TEST*/
