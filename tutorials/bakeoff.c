static char
  help[] = "CEED's bake-off problems on a DMPLEX of hexahedra: conjugate gradients, and how many unknowns times iterations a second.\n\
The right-hand side is the operator times a known function, so that the error of the solution is known.\n\
  -problem <bp1..bp6, bp3.5>        : bp1, bp2 mass; bp3, bp4 stiffness, Gauss points; bp5 (= bp3.5), bp6 stiffness, Gauss-Lobatto points\n\
  -degree <N>                       : of the polynomials, 1 to 15 (default 4)\n\
  -bakeoff_layout <global,element>  : vectors of the DM, or of all nodes of one cell after the other\n\
  -dm_plex_*, -dm_refine            : the mesh, also from a file (default: a box of 8 x 8 x 8 cells)\n\
  -dm_vec_type <standard,cuda>      : where vectors live\n\
  -mat_bakeoff_lambda, _factors     : a mass term in bp3 to bp6; geometric factors stored or computed in each product\n\
  -natural                          : no Dirichlet conditions in bp3 to bp6 (bp1 and bp2 have none)\n\
  -ksp_*, -pc_*                     : the solver (default: CG, Jacobi).  A fixed number of iterations: -ksp_norm_type none -ksp_max_it 20\n\
  -time false                       : no times, for comparisons\n\n";

#include <petscdevice.h>
#include <petscdmplex.h>
#include <petscfe.h>
#include <petscpatchfd.h>
#include <petsctime.h>

static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) u[c] = PetscCosReal(2 * x[0] + 3 * x[1] + (dim > 2 ? 5 * x[2] : 0) + c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Zero(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[], PetscInt Nc,
                           PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) u[c] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mesh, and the space with its conditions */
static PetscErrorCode CreateMesh(PetscInt degree, PetscBool vector, PetscBool dirichlet, DM *dm)
{
  const char *const defaults[][2] = {{"-dm_plex_dim", "3"}, {"-dm_plex_simplex", "0"}, {"-dm_plex_box_faces", "8,8,8"}};
  PetscFE           fe;
  PetscInt          dim;
  const PetscInt    one = 1;

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) {
    PetscBool set;

    PetscCall(PetscOptionsHasName(NULL, NULL, defaults[i][0], &set));
    if (!set) PetscCall(PetscOptionsSetValue(NULL, defaults[i][0], defaults[i][1]));
  }
  PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMPLEX));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMGetDimension(*dm, &dim));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, dim, vector ? dim : 1, PETSC_FALSE, degree, degree, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*dm));
  if (dirichlet) {
    DMLabel label;

    PetscCall(DMCreateLabel(*dm, "wall"));
    PetscCall(DMGetLabel(*dm, "wall", &label));
    PetscCall(DMPlexMarkBoundaryFaces(*dm, one, label));
    PetscCall(DMPlexLabelComplete(*dm, label));
    PetscCall(DMAddBoundary(*dm, DM_BC_ESSENTIAL, "wall", label, 1, &one, 0, 0, NULL, (PetscVoidFn *)Zero, NULL, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* seconds since some time, when all work of GPUs and ranks is done */
static PetscErrorCode Now(PetscLogDouble *t)
{
  PetscFunctionBeginUser;
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) { /* kernels run on after a call returns */
    PetscDeviceContext device;

    PetscCall(PetscDeviceContextGetCurrentContext(&device));
    PetscCall(PetscDeviceContextSynchronize(device));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bytes a second, read and written, of copies between vectors too large for a cache */
static PetscErrorCode CopyRate(Vec like, PetscLogDouble size, PetscLogDouble *rate)
{
  const PetscInt copies = 20;
  PetscLogDouble t[2];
  PetscInt       n, N;
  VecType        type;
  Vec            x, y;

  PetscFunctionBeginUser;
  PetscCall(VecGetType(like, &type));
  PetscCall(VecGetLocalSize(like, &n));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
  PetscCall(VecSetSizes(x, PetscMax(n, 1 << 24), PETSC_DETERMINE));
  PetscCall(VecSetType(x, type));
  PetscCall(VecSet(x, 1));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecCopy(x, y));
  PetscCall(Now(&t[0]));
  for (PetscInt i = 0; i < copies; i++) PetscCall(VecCopy(x, y));
  PetscCall(Now(&t[1]));
  PetscCall(VecGetSize(x, &N));
  *rate = 2 * size * N * copies / (t[1] - t[0]);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the first solve makes what there is to be made; the second one is timed */
static PetscErrorCode Solve(Mat A, Vec b, Vec x, PetscInt *its, PetscLogDouble *seconds)
{
  PetscLogDouble t[2];
  KSP            ksp;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Now(&t[0]));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Now(&t[1]));
  PetscCall(KSPGetIterationNumber(ksp, its));
  *seconds = t[1] - t[0];
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an iteration of CG with a diagonal preconditioner reads or writes 19 numbers of its vectors an unknown, if each product reads one vector
   and writes one; the operator has factors to read, too */
static PetscErrorCode Report(Vec x, PetscInt N, PetscInt its, PetscLogDouble seconds)
{
  PetscLogDouble copy = 0, size, bytes;
  PetscBool      single;
  PetscInt       n;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &single, VECSINGLE, VECSINGLECUDA, ""));
  size = single ? sizeof(float) : sizeof(PetscScalar);
  PetscCall(CopyRate(x, size, &copy));
  PetscCall(VecGetSize(x, &n));
  bytes = 19 * size * n * its / seconds;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.4g s, %.4g GDoF/s (unknowns x iterations / time)\n", seconds, 1e-9 * N * its / seconds));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "the 19 numbers an unknown of an iteration's vectors alone: %.4g GB/s, %.3g %% of the %.4g GB/s of a copy\n",
                        1e-9 * bytes, 100 * bytes / copy, 1e-9 * copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const problems[] = {"bp1", "bp2", "bp3", "bp4", "bp5", "bp6", "bp3.5"};
  PetscErrorCode (*exact[1])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar[], void *) = {Exact};
  PetscInt         problem = MAT_BAKEOFF_BP5, degree = 4, N, its;
  MatBakeoffLayout layout  = MAT_BAKEOFF_LAYOUT_GLOBAL;
  PetscBool        natural = PETSC_FALSE, times = PETSC_TRUE, element;
  PetscLogDouble   seconds = 0;
  PetscReal        norm, error;
  Vec              u, b, x, global;
  Mat              A;
  DM               dm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem", problems, 7, &problem, NULL));
  if (problem == 6) problem = MAT_BAKEOFF_BP5;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &degree, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-bakeoff_layout", MatBakeoffLayouts, (PetscEnum *)&layout, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-natural", &natural, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &times, NULL));
  element = (PetscBool)(layout == MAT_BAKEOFF_LAYOUT_ELEMENT);

  PetscCall(CreateMesh(degree, (PetscBool)(problem % 2), (PetscBool)(problem > MAT_BAKEOFF_BP2 && !natural), &dm));
  PetscCall(MatCreateBakeoff(dm, (MatBakeoffProblem)problem, layout, &A));
  PetscCall(MatSetFromOptions(A));

  /* b = A u */
  PetscCall(DMCreateGlobalVector(dm, &global));
  PetscCall(DMProjectFunction(dm, 0, exact, NULL, INSERT_VALUES, global));
  PetscCall(VecGetSize(global, &N));
  PetscCall(MatCreateVecs(A, &u, &b));
  if (element) PetscCall(MatBakeoffGlobalToElement(A, global, u));
  else PetscCall(VecCopy(global, u));
  PetscCall(MatMult(A, u, b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(Solve(A, b, x, &its, &seconds));

  /* norms are the same in both layouts */
  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(VecAXPY(u, -1, x));
  PetscCall(VecNorm(u, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s, degree %" PetscInt_FMT ", layout %s: %" PetscInt_FMT " unknowns, %" PetscInt_FMT
                        " iterations, relative error %.0e\n",
                        MatBakeoffProblems[problem], degree, MatBakeoffLayouts[layout], N, its, (double)(error / norm)));
  if (times) PetscCall(Report(x, N, its, seconds));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&global));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -time false -dm_plex_box_faces 3,4,2 -degree 3 -ksp_rtol 1e-8 -ksp_norm_type natural
    test:
      suffix: bp1
      args: -problem bp1
    test:
      suffix: bp1_element
      args: -problem bp1 -bakeoff_layout element
    test:
      suffix: bp5
      nsize: {{1 3}}
      args: -problem bp3.5 -bakeoff_layout element
    test:
      suffix: bp4
      nsize: 2
      args: -problem bp4 -mat_bakeoff_lambda 1 -natural -mat_bakeoff_factors stored
    test:
      suffix: bp3
      args: -problem bp3
    test:
      suffix: cuda
      output_file: output/bakeoff_bp3.out
      requires: cuda gpu
      args: -problem bp3 -dm_vec_type cuda -ksp_type {{cg fusedcg}}
    test:
      suffix: fusedcg
      output_file: output/bakeoff_bp3.out
      args: -problem bp3 -ksp_type fusedcg

  # two ranks have no cells
  testset:
    args: -time false -dm_plex_box_faces 1,1,2 -problem bp5 -ksp_type fusedcg
    nsize: 4
    output_file: output/bakeoff_few.out
    test:
      suffix: few
    test:
      suffix: few_cuda
      requires: cuda gpu
      args: -dm_vec_type cuda

TEST*/
