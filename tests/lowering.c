static char
  help[] = "The last coarsening of PCPATCHMG where coarser cells would fold and are too many to be factored: degree 1 on the same cells.\n\
  -test krylov     : FGMRES takes few iterations where patches solve on the coarsest mesh of plates and solids\n\
  -test levels     : cells and degrees of the levels, what is on the coarsest one, and the way back by DMRefine()\n\
  -test transfer   : interpolation is exact for multilinear functions, and restriction its transpose\n\
  -test iterations : FGMRES takes at most 3 iterations more than with the factorization, also after the coefficients have changed\n\
  -test symmetric  : x'My = y'Mx for a symmetric cycle\n\
  -dm_box_*        : the mesh\n\n";

#include <patchfd/private/boximpl.h>
#include "convergence.h"
#include "runtest.h"

static PetscErrorCode CreateDM(DM *dm)
{
  const PetscInt cells[3] = {6, 6, 6};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 4, dm));
  PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with this -pc_patchmg_coarse_eq_limit, also for the one in a PCSINGLE */
static PetscErrorCode CreateSolver(DM dm, const char limit[], KSP *ksp, PC *pc)
{
  PetscBool single;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-single_pc_type", &single));
  PetscCall(PetscOptionsSetValue(NULL, single ? "-single_pc_patchmg_coarse_eq_limit" : "-pc_patchmg_coarse_eq_limit", limit));
  PetscCall(CreateKSP(dm, ksp));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- levels ---- */

static PetscErrorCode PrintMesh(DM dm)
{
  PetscInt dim, degree, cells[3];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetDegree(dm, &degree));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT " on", degree));
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %" PetscInt_FMT, cells[d]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " cells\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLevels(void)
{
  DM          dm, at, next;
  KSP         ksp, smoother;
  PC          pc, inner;
  PCType      type;
  const char *why;
  PetscInt    n;

  PetscFunctionBeginUser;
  PetscCall(CreateDM(&dm));
  PetscCall(CreateSolver(dm, "decide", &ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCMGGetLevels(pc, &n));
  for (PetscInt l = n - 1; l >= 0; l--) {
    PetscCall(PCMGGetSmoother(pc, l, &smoother));
    PetscCall(KSPGetPC(smoother, &inner));
    PetscCall(KSPGetDM(smoother, &at));
    PetscCall(PCGetType(inner, &type));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: ", type));
    PetscCall(PrintMesh(at));
  }
  PetscCall(PCPatchMGGetCoarseReason(pc, &why));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", why));
  PetscCall(PetscObjectReference((PetscObject)at));
  for (PetscInt l = 0; l < n - 1; l++) {
    PetscCall(DMRefine(at, MPI_COMM_NULL, &next));
    PetscCall(DMDestroy(&at));
    at = next;
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "refined: "));
  PetscCall(PrintMesh(at));
  PetscCall(DMDestroy(&at));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transfer ---- */

/* one of the functions that both degrees have on six cells a direction, zero on the sides of the unit box */
static PetscErrorCode Multilinear(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                                  PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  f[0] = 1;
  for (PetscInt d = 0; d < dim; d++) f[0] *= PetscMin(1, 6 * PetscMin(x[d], 1 - x[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTransfer(void)
{
  DM          dm[2];
  Mat         P;
  Vec         x[2], y[2];
  PetscReal   norm[2];
  PetscScalar dot[2];

  PetscFunctionBeginUser;
  PetscCall(CreateDM(&dm[1]));
  PetscCall(DMBoxSetLowering(dm[1], 0));
  PetscCall(DMCoarsen(dm[1], MPI_COMM_NULL, &dm[0]));
  PetscCall(DMCreateInterpolation(dm[0], dm[1], &P, NULL));
  for (int i = 0; i < 2; i++) {
    PetscCall(DMCreateGlobalVector(dm[i], &x[i]));
    PetscCall(VecDuplicate(x[i], &y[i]));
    PetscCall(DMBoxInterpolateFunction(dm[i], 0, Multilinear, NULL, x[i]));
  }
  PetscCall(MatInterpolate(P, x[0], y[1]));
  PetscCall(VecAXPY(y[1], -1, x[1]));
  PetscCall(VecNorm(y[1], NORM_INFINITY, &norm[0]));
  PetscCall(VecNorm(x[1], NORM_INFINITY, &norm[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "interpolation: %s\n", norm[1] > 0.9 && norm[0] < 1e-12 ? "exact" : "NOT exact"));
  for (int i = 0; i < 2; i++) PetscCall(VecSetRandom(x[i], NULL));
  PetscCall(MatInterpolate(P, x[0], y[1]));
  PetscCall(MatRestrict(P, x[1], y[0]));
  for (int i = 0; i < 2; i++) PetscCall(VecDot(x[i], y[i], &dot[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "restriction: %s\n",
                        PetscAbsScalar(dot[0] - dot[1]) < 1e-12 * PetscAbsScalar(dot[0]) ? "the transpose" : "NOT the transpose"));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(VecDestroy(&y[i]));
    PetscCall(DMDestroy(&dm[i]));
  }
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- iterations ---- */

static PetscErrorCode TestIterations(void)
{
  const PetscReal K[2] = {1, 7};
  PetscReal       nu;
  PetscInt        its[2][2];
  KSP             ksp;
  PC              pc;
  DM              dm;
  Mat             A;

  PetscFunctionBeginUser;
  for (int factored = 0; factored < 2; factored++) {
    PetscCall(CreateDM(&dm));
    PetscCall(CreateSolver(dm, factored ? "0" : "decide", &ksp, &pc));
    for (int i = 0; i < 2; i++) {
      PetscCall(DMBoxSetDiffusion(dm, 1, &K[i], i ? 5 : 0));
      if (i) PetscCall(KSPGetOperators(ksp, &A, NULL));
      if (i) PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(SolveKSP(ksp, &its[factored][i], &nu));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(DMDestroy(&dm));
  }
  for (int i = 0; i < 2; i++) {
    if (its[0][i] <= its[1][i] + 3) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "K = %g: as many iterations\n", (double)K[i]));
    else
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "K = %g: %" PetscInt_FMT " iterations, %" PetscInt_FMT " with the factorization\n",
                            (double)K[i], its[0][i], its[1][i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- plates and solids ---- */

static PetscErrorCode TestKrylov(void)
{
  const PetscInt most = 12;
  DM             dm;
  KSP            ksp, coarse;
  KSPType        type;
  PC             pc;
  Mat            A;
  Vec            x, b, r;
  PetscReal      norm[2];
  PetscInt       its, n;

  PetscFunctionBeginUser;
  PetscCall(CreateDM(&dm));
  PetscCall(CreateSolver(dm, "decide", &ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCMGGetSmoother(pc, 0, &coarse));
  PetscCall(PCMGGetLevels(pc, &n));
  PetscCall(KSPGetType(coarse, &type));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " levels, %s on the coarsest: ", n, type));
  if (its <= most && norm[0] <= 1.01e-9 * norm[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "few iterations\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations to %g\n", its, (double)(norm[0] / norm[1])));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- symmetry ---- */

static PetscErrorCode TestSymmetric(void)
{
  PetscScalar dot[2];
  Vec         x[2], y[2];
  KSP         ksp;
  PC          pc;
  DM          dm;

  PetscFunctionBeginUser;
  PetscCall(CreateDM(&dm));
  PetscCall(CreateSolver(dm, "decide", &ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  for (int i = 0; i < 2; i++) {
    PetscCall(DMCreateGlobalVector(dm, &x[i]));
    PetscCall(VecDuplicate(x[i], &y[i]));
    PetscCall(VecSetRandom(x[i], NULL));
    PetscCall(PCApply(pc, x[i], y[i]));
  }
  for (int i = 0; i < 2; i++) PetscCall(VecDot(x[i], y[1 - i], &dot[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the cycle: %s\n",
                        PetscAbsScalar(dot[0] - dot[1]) < 1e-9 * PetscAbsScalar(dot[0]) ? "symmetric" : "NOT symmetric"));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(VecDestroy(&y[i]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("levels", {"levels", TestLevels}, {"transfer", TestTransfer}, {"iterations", TestIterations}, {"krylov", TestKrylov},
          {"symmetric", TestSymmetric})

/*TEST

  testset:
    args: -test levels -dm_box_mapping kershaw -dm_box_galerkin false
    test:
      suffix: levels
      nsize: {{1 2 4}}
    test:
      suffix: levels_12
      args: -dm_box_cells 12
    # small enough to be factored, or by user's choice
    test:
      suffix: levels_small
      args: -dm_box_degree 2
    test:
      suffix: levels_set
      args: -pc_mg_levels 1

  # an odd number around a ring cannot be halved, and degree 1 has many unknowns, too
  test:
    suffix: levels_gamg
    args: -test levels -dm_box_boundary periodic,periodic,dirichlet,dirichlet,dirichlet,dirichlet -dm_box_cells 23 -dm_box_degree 1
  test:
    suffix: transfer
    nsize: {{1 3}}
    args: -test transfer -each_dm_box_degree 4:7

  testset:
    args: -test iterations -dm_box_mapping kershaw -dm_box_galerkin false -dm_box_degree 3
    output_file: output/lowering_iterations.out
    test:
      suffix: iterations
      nsize: {{1 2}}
    # singular at first: the factorization fixes an unknown
    test:
      suffix: iterations_neumann
      nsize: {{1 2}}
      args: -dm_box_boundary neumann
    test:
      suffix: iterations_single
      args: -pc_type single -single_pc_type patchmg
    # on a GPU all that is left then is one inverse
    test:
      suffix: iterations_cuda
      requires: cuda gpu
      nsize: {{1 2}}
      args: -dm_vec_type cuda -use_gpu_aware_mpi 0
    test:
      suffix: iterations_cuda_single
      requires: cuda gpu
      args: -dm_vec_type cuda -pc_type single -single_pc_type patchmg

  # rings of odd numbers of cells
  testset:
    args: -test krylov
    # degree 2 can be factored; solids keep their degree
    test:
      suffix: krylov_plate
      nsize: 2
      args: -dm_box_operator biharmonic -dm_box_dim 2 -dm_box_cells 81,80 -dm_box_degree 3 -dm_box_boundary periodic,periodic,dirichlet,dirichlet
    test:
      suffix: krylov_solid
      args: -dm_box_operator elasticity -dm_box_space vq -dm_box_cells 9,8,8 -dm_box_degree 2 -dm_box_boundary periodic,periodic,dirichlet,dirichlet,dirichlet,dirichlet

  testset:
    args: -test symmetric -pc_patchmg_symmetric
    output_file: output/lowering_symmetric.out
    test:
      suffix: symmetric
      nsize: {{1 2}}
      args: -dm_box_mapping kershaw -dm_box_galerkin false
    test:
      suffix: symmetric_gamg
      args: -dm_box_boundary periodic,periodic,dirichlet,dirichlet,dirichlet,dirichlet -dm_box_cells 23 -dm_box_degree 1

TEST*/
