/*
  Multigrid over degrees for bake-off problems on a DMPLEX: the interpolation is exact on polynomials, the restriction its transpose, and
  one option solves, in a number of iterations that hardly grows with the degree.

    degrees -degrees 2,4,8 -problem bp5 -cells 4,4,4 -warp sine
*/
#include <petscpatchfd.h>
#include <petscds.h>
#include <patchfd/private/bakeoffimpl.h>
#include "ceed.h"

typedef struct {
  PetscInt          dim, ncomp, cells[3];
  PetscBool         warp, fixed, choose, update; /* choose: a smoother by the program; update: lambda, after the solve */
  MatBakeoffProblem problem;
  PetscReal         lambda;
} Case;

static PetscErrorCode CreateMesh(const Case *c, DM *mesh)
{
  Vec             x;
  PetscScalar    *a;
  PetscInt        n;
  DM              parallel;
  const PetscReal lower[3] = {0, 0, 0}, upper[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, c->dim, PETSC_FALSE, c->cells, lower, upper, NULL, PETSC_TRUE, 0, PETSC_FALSE, mesh));
  PetscCall(DMPlexDistribute(*mesh, 0, NULL, &parallel));
  if (parallel) {
    PetscCall(DMDestroy(mesh));
    *mesh = parallel;
  }
  PetscCall(DMGetCoordinatesLocal(*mesh, &x));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArray(x, &a));
  for (PetscInt i = 0; i < n && c->warp; i += c->dim) Sine(c->dim, &a[i]);
  PetscCall(VecRestoreArray(x, &a));
  PetscCall(DMSetFromOptions(*mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const Case *c, DM mesh, PetscInt degree, DM *dm, Mat *A)
{
  const PetscInt id = 1;
  PetscFE        fe;
  DMLabel        label;

  PetscFunctionBeginUser;
  PetscCall(DMClone(mesh, dm));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, c->dim, c->ncomp, PETSC_FALSE, degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*dm));
  if (c->fixed) {
    PetscCall(DMCreateLabel(*dm, "sides"));
    PetscCall(DMGetLabel(*dm, "sides", &label));
    PetscCall(DMPlexMarkBoundaryFaces(*dm, 1, label));
    PetscCall(DMPlexLabelComplete(*dm, label));
    PetscCall(DMAddBoundary(*dm, DM_BC_ESSENTIAL, "sides", label, 1, &id, 0, 0, NULL, NULL, NULL, NULL, NULL));
  }
  PetscCall(DMSetVecType(*dm, mesh->vectype));
  PetscCall(MatCreateBakeoff(*dm, c->problem, MAT_BAKEOFF_LAYOUT_GLOBAL, A));
  if (c->lambda > 0) PetscCall(MatBakeoffSetLambda(*A, c->lambda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a polynomial of this degree in the coordinates of the reference cells, which the mesh without warp has: so that spaces of any higher
   degree hold it */
static PetscErrorCode Polynomial(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar *u, void *ctx)
{
  const PetscInt degree = *(PetscInt *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) {
    u[c] = 1;
    for (PetscInt d = 0; d < dim; d++) u[c] *= PetscPowRealInt(x[d] - 0.3 * (d + 1) - 0.1 * c, degree);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Load(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar *u,
                           PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) u[c] = PetscCosReal(2 * x[0] + 3 * x[1] + (dim > 2 ? 5 * x[2] : 0) + c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* interpolation from one degree to another on a straight mesh without conditions; y + P x and x + P'y, too */
static PetscErrorCode TestInterpolation(const Case *problem, PetscInt low, PetscInt high)
{
  PetscErrorCode (*functions[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Polynomial};
  void       *ctx[]                                                                                      = {&low};
  Case        c                                                                                          = *problem;
  DM          mesh, coarse, fine;
  Mat         A, B, P;
  Vec         x, y, u, v, w;
  PetscReal   error, norm;
  PetscScalar a, b;

  PetscFunctionBeginUser;
  c.warp = c.fixed = PETSC_FALSE;
  PetscCall(CreateMesh(&c, &mesh));
  PetscCall(CreateMatrix(&c, mesh, low, &coarse, &A));
  PetscCall(CreateMatrix(&c, mesh, high, &fine, &B));
  PetscCall(MatCreateDegrees(A, B, &P));
  PetscCall(MatCreateVecs(P, &x, &y));
  PetscCall(VecDuplicate(y, &u));
  PetscCall(DMProjectFunction(coarse, 0, functions, ctx, INSERT_ALL_VALUES, x));
  PetscCall(DMProjectFunction(fine, 0, functions, ctx, INSERT_ALL_VALUES, u));
  PetscCall(MatMult(P, x, y));
  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1, u));
  PetscCall(VecNorm(y, NORM_2, &error));
  if (error > 1e-12 * norm)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degrees %" PetscInt_FMT ", %" PetscInt_FMT ": interpolation is off by %g\n", low, high,
                          (double)(error / norm)));
  PetscCall(MatMultAdd(P, x, u, u)); /* twice the polynomial */
  PetscCall(VecDuplicate(x, &v));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(VecSetRandom(y, NULL));
  PetscCall(VecSetRandom(v, NULL));
  PetscCall(VecCopy(v, w));
  PetscCall(MatMultTransposeAdd(P, y, w, w)); /* (v + P'y) x = v x + y (P x) */
  PetscCall(VecDot(w, x, &a));
  PetscCall(VecDot(v, x, &b));
  a -= b;
  PetscCall(VecDot(y, u, &b));
  if (PetscAbsScalar(a - b / 2) > 1e-11 * norm * norm)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degrees %" PetscInt_FMT ", %" PetscInt_FMT ": the restriction is not the transpose: %g, %g\n",
                          low, high, (double)a, (double)b / 2));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&coarse));
  PetscCall(DMDestroy(&fine));
  PetscCall(DMDestroy(&mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* another lambda reaches the matrices of all levels, which remain, and so do their interpolations */
static PetscErrorCode TestUpdate(KSP ksp, Mat A, Vec b, Vec x)
{
  PetscInt     its[2], n;
  KSP          smoother;
  PC           pc;
  Mat          level[2][2];
  Mat_Bakeoff *m;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &n));
  for (int i = 0; i < 2; i++) {
    if (i) PetscCall(MatBakeoffSetLambda(A, 50));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    PetscCall(PCMGGetSmoother(pc, n - 2, &smoother));
    PetscCall(KSPGetOperators(smoother, NULL, &level[i][0]));
    PetscCall(PCMGGetInterpolation(pc, n - 1, &level[i][1]));
  }
  PetscCall(BakeoffGet(level[1][0], &m));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "another lambda: %s\n",
                        level[0][0] == level[1][0] && level[0][1] == level[1][1] && m->lambda == 50 && its[1] <= its[0] + 1
                          ? "on the levels that there are"
                          : "NOT as expected"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolve(const Case *c, PetscInt degree)
{
  PetscErrorCode (*functions[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Load};
  DM                 mesh, dm;
  Mat                A;
  MatNullSpace       constants;
  Vec                x, b, r;
  KSP                ksp, smoother;
  PC                 pc;
  PetscInt           its;
  PetscReal          norm, residual;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMesh(c, &mesh));
  PetscCall(CreateMatrix(c, mesh, degree, &dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(DMProjectFunction(dm, 0, functions, NULL, INSERT_ALL_VALUES, b));
  PetscCall(MatGetNullSpace(A, &constants));
  if (constants) PetscCall(MatNullSpaceRemove(constants, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (c->choose) {
    PetscCall(PCMGGetSmoother(pc, 1, &smoother));
    PetscCall(KSPGetPC(smoother, &pc));
    PetscCall(PCSetType(pc, PCNONE));
  }
  PetscCall(KSPSolve(ksp, b, x));
  if (c->choose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "smoother: %s\n", ((PetscObject)pc)->type_name));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ": %" PetscInt_FMT " iterations, %s\n", degree, its,
                        reason > 0 && residual < 2e-8 * norm ? "solved" : "NOT SOLVED"));
  if (c->update) PetscCall(TestUpdate(ksp, A, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(DMDestroy(&mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Case     c          = {.dim = 3, .ncomp = 1, .cells = {4, 4, 4}, .warp = PETSC_TRUE, .fixed = PETSC_TRUE, .problem = MAT_BAKEOFF_BP5};
  PetscInt degree[15] = {2, 4}, ndegree = 15, n = 3;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PatchFDInitializePackage());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Multigrid over degrees", NULL);
  PetscCall(PetscOptionsIntArray("-degrees", "Degrees of spaces", NULL, degree, &ndegree, NULL));
  PetscCall(PetscOptionsInt("-dim", "Dimension", NULL, c.dim, &c.dim, NULL));
  PetscCall(PetscOptionsIntArray("-cells", "Cells in each direction", NULL, c.cells, &n, NULL));
  PetscCall(PetscOptionsBool("-warp", "Move the vertices", NULL, c.warp, &c.warp, NULL));
  PetscCall(PetscOptionsBool("-fixed", "Dirichlet conditions", NULL, c.fixed, &c.fixed, NULL));
  PetscCall(PetscOptionsBool("-choose", "Choose a smoother", NULL, c.choose, &c.choose, NULL));
  PetscCall(PetscOptionsBool("-update", "Change lambda", NULL, c.update, &c.update, NULL));
  PetscCall(
    PetscOptionsEnum("-problem", "Bake-off problem", NULL, MatBakeoffProblems, (PetscEnum)c.problem, (PetscEnum *)&c.problem, NULL));
  PetscCall(PetscOptionsReal("-lambda", "Coefficient of the mass term", NULL, c.lambda, &c.lambda, NULL));
  PetscOptionsEnd();
  if (!ndegree) ndegree = 2;
  c.ncomp = c.problem == MAT_BAKEOFF_BP2 || c.problem == MAT_BAKEOFF_BP4 || c.problem == MAT_BAKEOFF_BP6 ? c.dim : 1;
  for (PetscInt i = 0; i < ndegree; i++) {
    if (degree[i] > 1) PetscCall(TestInterpolation(&c, degree[i] / 2, degree[i]));
    PetscCall(TestSolve(&c, degree[i]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST
  testset:
    args: -degrees 1,2,3,4,5,6,7,8

    test:
      suffix: 3d
      args: -pc_type {{patchmg single}}
    test:
      suffix: 3d_cuda
      requires: cuda gpu
      output_file: output/degrees_3d.out
      args: -dm_vec_type cuda -pc_type {{patchmg single}}

  testset:
    args: -degrees 1,2,3,4 -cells 3,4,2 -mg_coarse_assembled_pc_type redundant

    test:
      suffix: ranks
      nsize: {{1 2 3 4 8}}
      args: -pc_type patchmg
    test:
      suffix: ranks_cuda
      requires: cuda gpu
      output_file: output/degrees_ranks.out
      nsize: 2
      args: -pc_type patchmg -dm_vec_type cuda

  test:
    suffix: 2d
    args: -pc_type patchmg -dim 2 -cells 8,6 -degrees 2,4,9
  test:
    suffix: choose
    args: -pc_type patchmg -dim 2 -cells 8,6 -degrees 2,4 -choose
  test:
    suffix: update
    nsize: {{1 2}}
    args: -pc_type patchmg -degrees 4 -update
  test:
    suffix: natural
    args: -pc_type patchmg -fixed 0 -degrees 2,4
  test:
    suffix: mass
    args: -pc_type patchmg -fixed 0 -problem bp1 -degrees 2,5
  test:
    suffix: lambda
    args: -pc_type patchmg -fixed 0 -lambda 10 -problem bp3 -degrees 3 -pc_mg_levels 2
  test:
    suffix: vector
    args: -pc_type patchmg -problem bp4 -degrees 2,3 -cells 3,2,2
TEST*/
