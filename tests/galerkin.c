static char help[] = "Element-wise Galerkin operators of coarse meshes (DMBoxSetGalerkin()).\n\
  -test product    : the matrix of each coarse mesh is P'AP with that of the finer one, also after coefficients and coordinates have \
changed\n\
  -test channel    : FGMRES where a channel with a large coefficient is one cell wide: who has Galerkin operators by default, and \
iterations\n\
  -test fold       : meshes whose coarse cells fold\n\
  -test errors     : bad input\n\
  -contrast        : of the channel\n\
  -dm_box_*        : the mesh\n\n";

#include <patchfd/private/boximpl.h>
#include "catch.h"
#include "convergence.h"
#include "runtest.h"

/* K is a symmetric matrix that jumps from cell to cell of a mesh of 8 in a direction; ctx: a factor */
static PetscErrorCode Tensor(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar K[],
                             void *ctx)
{
  PetscInt cell = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) cell = 7 * cell + (PetscInt)PetscFloorReal(8 * x[d]);
  for (PetscInt a = 0, i = 0; a < dim; a++)
    for (PetscInt b = a; b < dim; b++, i++)
      K[i] = (a == b ? 1 + PetscSqr(x[0]) + cell % 5 : 0.2 * PetscSinReal((PetscReal)(cell + i))) * *(PetscReal *)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shift(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar s[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  s[0] = 3 + PetscSinReal(9 * x[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a layer of cells across the last direction, with the contrast ctx */
static PetscErrorCode Channel(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar K[],
                              void *ctx)
{
  const PetscInt cells = dim == 3 ? 8 : 32;

  PetscFunctionBeginUser;
  K[0] = (PetscInt)((PetscReal)cells * x[dim - 1]) == cells / 2 + 1 ? *(PetscReal *)ctx : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDM(PetscBool3 galerkin, DM *dm)
{
  const PetscInt cells[3] = {8, 8, 8};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, dm));
  PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  PetscCall(DMBoxSetGalerkin(*dm, galerkin));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products ---- */

/* |A_c x - P'A P x| / |A_c x| for x that is zero at fixed nodes, and |A_c x| */
static PetscErrorCode Difference(Mat C, Mat A, Mat P, PetscReal *difference, PetscReal *norm)
{
  PetscRandom random;
  Vec         x, y, z, fine[2];

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(P, &x, &fine[0]));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecDuplicate(fine[0], &fine[1]));
  PetscCall(PetscRandomCreate(PetscObjectComm((PetscObject)P), &random));
  PetscCall(VecSetRandom(y, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatMult(P, y, fine[0])); /* fixed nodes of a vector that was restricted are zero */
  PetscCall(MatMultTranspose(P, fine[0], x));
  PetscCall(MatMult(C, x, y));
  PetscCall(MatMult(P, x, fine[0]));
  PetscCall(MatMult(A, fine[0], fine[1]));
  PetscCall(MatMultTranspose(P, fine[1], z));
  PetscCall(VecNorm(y, NORM_2, norm));
  PetscCall(VecAXPY(z, -1, y));
  PetscCall(VecNorm(z, NORM_2, difference));
  *difference /= *norm;
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&fine[i]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the largest difference of all levels, once the solver has brought their operators up to date; has that changed the last one? */
static PetscErrorCode Check(const char what[], KSP ksp)
{
  PC               pc;
  PetscInt         n;
  PetscReal        most = 0, norm = 0, tolerance;
  PetscBool        single = PETSC_FALSE;
  DM               dm;
  VecType          type;
  Mat              A;
  static PetscReal last = 0;

  PetscFunctionBeginUser;
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPSetOperators(ksp, A, A)); /* which may be new */
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetDM(ksp, &dm));
  PetscCall(DMGetVecType(dm, &type));
  PetscCall(PetscStrcmpAny(type, &single, VECSINGLE, VECSINGLECUDA, ""));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &n));
  for (PetscInt l = 1; l < n; l++) {
    KSP       smoother[2];
    Mat       M[2], P;
    PetscReal difference;

    for (int i = 0; i < 2; i++) {
      PetscCall(PCMGGetSmoother(pc, l - i, &smoother[i]));
      PetscCall(KSPGetOperators(smoother[i], &M[i], NULL));
    }
    PetscCall(PCMGGetInterpolation(pc, l, &P));
    PetscCall(Difference(M[1], M[0], P, &difference, &norm));
    most = PetscMax(most, difference);
  }
  tolerance = single ? 1e-5 : 1e-12;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, P'AP on %s", what, norm != last ? "new" : "AS IT WAS",
                        n > 2 ? "all levels" : "the coarse level"));
  last = norm;
  if (most < tolerance) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", but for %g\n", (double)most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what TS adds to s */
static PetscErrorCode SetMass(DM dm, PetscReal mass)
{
  const DMBoxOperator op = ((DM_Box *)dm->data)->op;

  PetscFunctionBeginUser;
  op->coefficient[op->mass] = mass;
  PetscCall(PetscObjectStateIncrease((PetscObject)dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what DMRefine() makes of a coarse mesh has the operator of the mesh that it comes from */
static PetscErrorCode CheckRefined(DM dm)
{
  DM        coarse, fine;
  Mat       A;
  Vec       x, y;
  PetscReal norm[2];

  PetscFunctionBeginUser;
  PetscCall(DMCoarsen(dm, MPI_COMM_NULL, &coarse));
  PetscCall(DMRefine(coarse, MPI_COMM_NULL, &fine));
  for (int i = 0; i < 2; i++) { /* whatever cells ranks have */
    PetscCall(DMCreateMatrix(i ? fine : dm, &A));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(DMBoxInterpolateFunction(i ? fine : dm, 0, Shift, NULL, x));
    PetscCall(MatMult(A, x, y));
    PetscCall(VecNorm(y, NORM_2, &norm[i]));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "refined: %s\n",
                        PetscAbsReal(norm[0] - norm[1]) < 1e-5 * norm[0] ? "the same matrix" : "ANOTHER MATRIX"));
  PetscCall(DMDestroy(&fine));
  PetscCall(DMDestroy(&coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bend(DM dm)
{
  PetscInt     dim, n;
  Vec          given, x;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMGetCoordinates(dm, &given));
  PetscCall(VecDuplicate(given, &x));
  PetscCall(VecCopy(given, x));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArray(x, &a));
  for (PetscInt i = 0; i < n; i += dim) a[i] += 0.2 * a[i + 1] * a[i + 1];
  PetscCall(VecRestoreArray(x, &a));
  PetscCall(DMBoxSetMappingCoordinates(dm, x));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProduct(void)
{
  PetscReal factor = 1;
  PetscInt  dim;
  DM        dm;
  KSP       ksp;

  PetscFunctionBeginUser;
  PetscCall(CreateDM(PETSC_BOOL3_TRUE, &dm));
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxSetDiffusionFunction(dm, dim * (dim + 1) / 2, Tensor, Shift, &factor));
  PetscCall(CreateKSP(dm, &ksp));
  PetscCall(Check("functions", ksp));
  for (int i = 0; i < 3; i++) { /* what they have in common stays as it is */
    PetscCall(SetMass(dm, i % 2 ? 0 : 1));
    PetscCall(Check(i % 2 ? "no time step" : "a time step", ksp));
  }
  PetscCall(SetMass(dm, 0));
  factor = 3;
  PetscCall(DMBoxSetDiffusionFunction(dm, dim * (dim + 1) / 2, Tensor, NULL, &factor));
  PetscCall(Check("no shift, which is zero", ksp));
  PetscCall(CheckRefined(dm));
  PetscCall(DMBoxSetDiffusion(dm, 1, &factor, 7));
  PetscCall(Check("constants", ksp));
  PetscCall(Bend(dm));
  PetscCall(Check("mapped", ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- iterations ---- */

/* has the mesh below the finest one such an operator? */
static PetscErrorCode IsGalerkin(KSP ksp, PetscBool *galerkin)
{
  PC        pc;
  KSP       smoother;
  DM        dm;
  PetscInt  n;
  PetscBool single;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSINGLE, &single));
  if (single) PetscCall(PCSingleGetPC(pc, &pc));
  PetscCall(PCMGGetLevels(pc, &n));
  PetscCall(PCMGGetSmoother(pc, n - 2, &smoother));
  PetscCall(KSPGetDM(smoother, &dm));
  *galerkin = ((const DM_Box *)dm->data)->restricted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChannel(void)
{
  const char *const names[]    = {"false", "true", "unknown"};
  const PetscBool3  galerkin[] = {PETSC_BOOL3_FALSE, PETSC_BOOL3_TRUE, PETSC_BOOL3_UNKNOWN};
  const PetscInt    most       = 14;
  PetscReal         contrast   = 1e6;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &contrast, NULL));
  for (int i = 0; i < 3; i++) {
    DM        dm;
    KSP       ksp;
    PetscInt  its;
    PetscReal nu;
    PetscBool is = PETSC_FALSE;

    PetscCall(CreateDM(galerkin[i], &dm));
    PetscCall(DMBoxSetDiffusionFunction(dm, 1, Channel, NULL, &contrast));
    PetscCall(CreateKSP(dm, &ksp));
    PetscCall(SolveKSP(ksp, &its, &nu));
    PetscCall(IsGalerkin(ksp, &is));
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%s: %s, %s iterations\n", names[i], is ? "Galerkin" : "its own", its <= most ? "few" : "many"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFold(void)
{
  const PetscBool3  choice[3] = {PETSC_BOOL3_FALSE, PETSC_BOOL3_TRUE, PETSC_BOOL3_UNKNOWN};
  const char *const name[3]   = {"false", "true", "auto"};

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) {
    DM        dm;
    KSP       ksp;
    PC        pc;
    PetscInt  levels, its;
    PetscReal nu;

    PetscCall(CreateDM(choice[i], &dm));
    PetscCall(CreateKSP(dm, &ksp));
    PetscCall(SolveKSP(ksp, &its, &nu));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCMGGetLevels(pc, &levels));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " levels, %s iterations\n", name[i], levels,
                          its < 30 ? "less than 30" : "30 or more"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

static PetscErrorCode TestErrors(void)
{
  const PetscInt cells[3] = {4, 4, 4};
  PetscErrorCode ierr;
  PetscBool3     galerkin;
  DM             dm;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 9, &dm));
  PetscCall(DMBoxGetGalerkin(dm, &galerkin));
  PetscCheck(galerkin == PETSC_BOOL3_UNKNOWN, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The default is %d", (int)galerkin);
  PetscCall(DMBoxSetGalerkin(dm, PETSC_BOOL3_TRUE));
  CATCH(ierr, DMSetUp(dm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_SUP ? "ok" : "NO ERROR", lastmessage));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  CATCH(ierr, DMSetUp(dm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_SUP ? "ok" : "NO ERROR", lastmessage));
  PetscCall(DMBoxSetDegree(dm, 8));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxGetGalerkin(dm, &galerkin));
  PetscCheck(galerkin == PETSC_BOOL3_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "It is %d after it was set", (int)galerkin);
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("product", {"product", TestProduct}, {"channel", TestChannel}, {"fold", TestFold}, {"errors", TestErrors})

/*TEST

  testset:
    args: -test product
    output_file: output/galerkin_product.out
    test:
      suffix: product
      nsize: {{1 2 4}}
    test:
      suffix: product_degrees
      args: -each_dm_box_degree 1:3:5
    # ranks without coarse cells
    test:
      suffix: product_ranks
      nsize: 3
      args: -dm_box_cells 8,4,12 -dm_box_degree 3 -dm_box_processes 1,1,3
    test:
      suffix: product_2d
      nsize: {{1 3}}
      args: -dm_box_dim 2 -each_dm_box_degree 2:8
    test:
      suffix: product_neumann
      args: -dm_box_boundary neumann,dirichlet,neumann,neumann,dirichlet,dirichlet
    # directions that are not halved
    test:
      suffix: product_semi
      args: -dm_box_dim 2 -dm_box_cells 32,8 -dm_box_semicoarsening 0.5
    test:
      suffix: product_single
      nsize: {{1 2}}
      args: -dm_vec_type single -dm_box_extra_points 2,1
    # a level of degree 1 on the same cells
    test:
      suffix: product_lowering
      args: -dm_box_cells 14 -dm_box_degree 3 -pc_patchmg_coarse_eq_limit decide
    test:
      suffix: product_cuda
      requires: cuda gpu
      args: -dm_vec_type {{cuda singlecuda}} -dm_box_degree {{1 2 5}}
    test:
      suffix: product_cuda_ranks
      requires: cuda gpu
      nsize: 3
      args: -dm_vec_type cuda -dm_box_cells 8,4,12 -dm_box_degree 3 -dm_box_processes 1,1,3
    test:
      suffix: product_cuda_semi
      requires: cuda gpu
      args: -dm_vec_type cuda -dm_box_dim 2 -dm_box_cells 33,9
    test:
      suffix: product_cuda_2d
      requires: cuda gpu
      args: -dm_vec_type cuda -dm_box_dim 2 -dm_box_degree {{2 8}}

  test:
    suffix: product_8
    args: -test product -dm_box_degree 8 -dm_box_cells 4
    output_file: output/galerkin_product_two.out
  test:
    suffix: product_8_cuda
    requires: cuda gpu
    args: -test product -dm_vec_type {{cuda singlecuda}} -dm_box_degree 8 -dm_box_cells 4
    output_file: output/galerkin_product_two.out

  testset:
    args: -test channel
    output_file: output/galerkin_channel.out
    test:
      suffix: channel
      nsize: {{1 2}}
      args: -dm_box_degree 4
    test:
      suffix: channel_single
      args: -dm_box_degree 4 -pc_type single -single_pc_type patchmg -single_pc_patchmg_coarse_eq_limit 0
    # with fits, and with exact solves
    test:
      suffix: channel_2d
      args: -dm_box_dim 2 -dm_box_cells 32 -each_mg_levels_pc_patchfd_fit own:shared
    test:
      suffix: channel_2d_1
      args: -dm_box_dim 2 -dm_box_cells 32 -dm_box_degree 1
    test:
      suffix: channel_cuda
      requires: cuda gpu
      args: -dm_box_degree 4 -dm_vec_type cuda
  # no need where it is not so large
  test:
    suffix: channel_small
    args: -test channel -contrast 3 -dm_box_degree 4

  test:
    suffix: fold
    args: -test fold -dm_box_mapping kershaw -dm_box_cells 12
  test:
    suffix: errors
    args: -test errors

TEST*/
