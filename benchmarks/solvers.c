static char help[] = "Time to a relative residual of 1e-9 for Poisson's equation in 3D: this library, with multigrid and with the direct solver\n\
of the whole box, against PETSc's own preconditioners on the assembled matrix, whose assembly is not counted.  Set-up and solve; the\n\
ratio is to the first line.\n\
  -dm_box_* : the mesh and the element (default Q3 on 16 x 16 x 16 cells)\n\n";

#include <petscpatchfd.h>
#include <petsctime.h>

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the options in full: all measure the true residual; the direct solver needs no Krylov method */
#define CG "-s_ksp_type cg -s_ksp_norm_type unpreconditioned"
static const struct {
  const char *name, *options;
  PetscBool   assembled;
} solvers[] = {
  {"patchmg, mixed precision",  "-s_ksp_type fgmres -s_pc_type single -s_single_pc_type patchmg",                        PETSC_FALSE},
  {"patchmg, double precision", "-s_ksp_type fgmres -s_pc_type patchmg",                                                 PETSC_FALSE},
  {"patchfd, whole box",        "-s_ksp_type preonly -s_pc_type patchfd -s_pc_patchfd_patch box",                        PETSC_FALSE},
  {"cg, jacobi",                CG " -s_pc_type jacobi",                                                                 PETSC_TRUE },
  {"cg, bjacobi/icc",           CG " -s_pc_type bjacobi -s_sub_pc_type icc",                                             PETSC_TRUE },
  {"cg, gamg",                  CG " -s_pc_type gamg",                                                                   PETSC_TRUE },
  {"cg, gamg, threshold 0.02",  CG " -s_pc_type gamg -s_pc_gamg_threshold 0.02",                                         PETSC_TRUE },
  {"cg, gamg, sor smoother",    CG " -s_pc_type gamg -s_mg_levels_ksp_type richardson -s_mg_levels_pc_type sor",         PETSC_TRUE },
  {"gmres, asm/ilu",            "-s_ksp_type gmres -s_ksp_norm_type unpreconditioned -s_pc_type asm -s_sub_pc_type ilu", PETSC_TRUE },
};

int main(int argc, char **argv)
{
  const PetscInt cells[] = {16, 16, 16};
  DM             dm;
  Mat            A, B;
  Vec            b, u, r;
  PetscInt       N, its;
  PetscReal      bnorm, rnorm;
  double         first = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 3, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(DMBoxAddLoad(dm, 0, One, NULL, b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecGetSize(b, &N));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " unknowns\n%-26s %5s %10s %9s %9s %9s %7s\n", N, "solver", "its", "residual", "set-up s", "solve s", "total s", "ratio"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solvers); i++) {
    KSP            ksp;
    PetscLogDouble t[3];

    PetscCall(PetscOptionsInsertString(NULL, solvers[i].options));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "s_"));
    if (!solvers[i].assembled) PetscCall(KSPSetDM(ksp, dm));
    PetscCall(KSPSetOperators(ksp, solvers[i].assembled ? B : A, solvers[i].assembled ? B : A));
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 2000));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&t[0]));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PetscTime(&t[1]));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&t[2]));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(MatResidual(A, b, u, r));
    PetscCall(VecNorm(r, NORM_2, &rnorm));
    if (i == 0) first = t[2] - t[0];
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-26s %5" PetscInt_FMT " %10.1e %9.3f %9.3f %9.3f %7.1f\n", solvers[i].name, its, (double)(rnorm / bnorm), t[1] - t[0], t[2] - t[1], t[2] - t[0], (t[2] - t[0]) / first));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsClear(NULL));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}
