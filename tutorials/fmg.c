static char
  help[] = "The full multigrid solver of C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch\n\
smoothers on GPU, Algorithm 2.2: one full multigrid cycle as initial guess, then V-cycles until |b - A x| <= 1e-9 |b|.\n\
The right-hand side is the vector of ones at the free nodes; those of the coarser levels are its restrictions.\n\
  -degrees k,... -level L : 2^L cells a direction in three dimensions (-dim 2: in two)\n\n";

#include <petscpatchfd.h>

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                          PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  dim = 3, L = 3, degrees[16] = {1, 2, 3, 4, 5, 6, 7, 8}, nd = 16;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-level", &L, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  if (!set) nd = 8;
  for (PetscInt i = 0; i < nd; i++) {
    const PetscInt n = (PetscInt)1 << L, cells[] = {n, n, n};
    DM             dm;
    Mat            A;
    Vec            x, b, r, e;
    PC             pc;
    PetscInt       its, N;
    PetscReal      norm, rnorm;

    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, degrees[i], &dm));
    PetscCall(DMSetFromOptions(dm));
    PetscCall(DMSetUp(dm));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(DMCreateGlobalVector(dm, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecDuplicate(b, &e));
    PetscCall(DMBoxInterpolateFunction(dm, 0, One, NULL, x));
    PetscCall(VecCopy(x, b));
    PetscCall(VecSet(r, 0)); /* zero Dirichlet data */
    PetscCall(DMBoxLiftDirichlet(dm, r, b));

    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetDM(pc, dm));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCPATCHMG));
    PetscCall(PCPatchMGSetCoarseEqLim(pc, 0)); /* cycles down to one patch, where a direct solve might be faster */
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCSetUp(pc));

    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(PCMGSetType(pc, PC_MG_FULL)); /* lines 1 to 4 */
    PetscCall(PCApply(pc, b, x));
    PetscCall(PCMGSetType(pc, PC_MG_MULTIPLICATIVE)); /* lines 5 to 8 */
    for (its = 0; its < 40; its++) {
      PetscCall(MatResidual(A, b, x, r));
      PetscCall(VecNorm(r, NORM_2, &rnorm));
      if (rnorm <= 1e-9 * norm) break;
      PetscCall(PCApply(pc, r, e));
      PetscCall(VecAXPY(x, 1, e));
    }
    PetscCall(VecGetSize(b, &N));
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "Q%" PetscInt_FMT ", %" PetscInt_FMT " unknowns: %" PetscInt_FMT " V-cycles\n", degrees[i], N, its));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&e));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: 1
     args: -level 4 -degrees 1,2,3,4,5,6,7,8
   test:
     suffix: 2
     nsize: 2
     args: -level 3 -degrees 2,4

TEST*/
