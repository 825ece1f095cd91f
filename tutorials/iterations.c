static char help[] = "Iteration counts of multigrid with vertex-patch smoothers for Poisson's equation, level by level: a table.\n\
Right-hand side f = 1, Dirichlet conditions, 2^L cells a direction, relative tolerance 1e-9.  Two solvers: FGMRES with the same\n\
colour order before and after the coarse correction, CG with the reversed one after it.  Each entry is the number of iterations and\n\
nu = -9 / log10(mean reduction of the residual an iteration), a fractional number of iterations to 1e-9.\n\
  -dim <d>, -degrees <k,...>, -levels <first,last>, -max_unknowns <n>\n\
  -reference : compare with the values of the reference implementation (nu to 0.1)\n\n";

#include <petscpatchfd.h>

/* d, k, L, iterations and nu of FGMRES, iterations and nu of CG, from the NumPy reference (dense Kronecker products) */
static const struct {
  PetscInt  d, k, L, gmres;
  PetscReal gmresnu;
  PetscInt  cg;
  PetscReal cgnu;
} reference[] = {
  {2, 1, 3, 5, 4.67, 6, 5.96}, {2, 1, 4, 6, 5.48, 8, 7.25}, {2, 1, 5, 6, 5.73, 8, 7.88}, {2, 1, 6, 6, 5.94, 9, 8.15}, {2, 1, 7, 7, 6.05, 9, 8.33}, {2, 1, 8, 7, 6.20, 9, 8.54},
  {2, 2, 3, 4, 3.48, 6, 5.08}, {2, 2, 4, 4, 3.86, 6, 5.36}, {2, 2, 5, 5, 4.04, 6, 5.54}, {2, 2, 6, 5, 4.17, 6, 5.64}, {2, 2, 7, 5, 4.29, 6, 5.68},
  {2, 3, 3, 4, 3.11, 6, 5.15}, {2, 3, 4, 4, 3.44, 6, 5.38}, {2, 3, 5, 4, 3.57, 6, 5.62}, {2, 3, 6, 4, 3.69, 6, 5.69},
  {2, 4, 3, 3, 2.68, 5, 4.59}, {2, 4, 4, 3, 2.81, 5, 4.73}, {2, 4, 5, 3, 2.95, 5, 4.91},
  {2, 5, 3, 3, 2.55, 5, 4.59}, {2, 5, 4, 3, 2.70, 5, 4.71}, {2, 5, 5, 3, 2.84, 5, 4.96},
  {2, 6, 3, 3, 2.38, 5, 4.27}, {2, 6, 4, 3, 2.45, 5, 4.37}, {2, 6, 5, 3, 2.52, 5, 4.58},
  {2, 7, 3, 3, 2.11, 5, 4.28}, {2, 7, 4, 3, 2.28, 5, 4.37}, {2, 7, 5, 3, 2.35, 5, 4.60},
  {2, 8, 3, 3, 2.07, 5, 4.07}, {2, 8, 4, 3, 2.14, 5, 4.15}, {2, 8, 5, 3, 2.21, 5, 4.35},
  {3, 1, 3, 5, 4.96, 7, 6.35}, {3, 1, 4, 6, 5.84, 8, 7.12}, {3, 1, 5, 6, 5.98, 8, 7.84}, {3, 1, 6, 7, 6.03, 9, 8.07},
  {3, 2, 3, 5, 4.38, 6, 5.56}, {3, 2, 4, 5, 4.95, 7, 6.01}, {3, 2, 5, 6, 4.90, 7, 6.15},
  {3, 3, 3, 4, 3.54, 6, 5.09}, {3, 3, 4, 4, 3.80, 6, 5.34}, {3, 3, 5, 4, 3.95, 6, 5.49},
  {3, 4, 3, 4, 3.21, 5, 4.59}, {3, 4, 4, 4, 3.42, 5, 4.75},
  {3, 5, 3, 4, 2.92, 5, 4.58}, {3, 5, 4, 4, 3.10, 5, 4.73},
  {3, 6, 3, 3, 2.81, 5, 4.27}, {3, 6, 4, 3, 2.97, 5, 4.40},
  {3, 7, 3, 3, 2.59, 5, 4.27}, {3, 7, 4, 3, 2.70, 5, 4.41},
  {3, 8, 3, 3, 2.48, 5, 4.06}, {3, 8, 4, 3, 2.60, 5, 4.18},
};

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* options with the prefix gmres_ or cg_ change the solver */
static PetscErrorCode Solve(DM dm, Mat A, Vec b, PetscBool cg, PetscInt *its, PetscReal *nu)
{
  KSP       ksp;
  PC        pc;
  Vec       x, r;
  PetscReal r0, rn;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, cg ? "cg_" : "gmres_"));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, cg ? KSPCG : KSPFGMRES));
  if (cg) PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetSymmetric(pc, cg));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetResidualNorm(ksp, &rn));
  PetscCall(VecNorm(b, NORM_2, &r0));
  *nu = -9 * *its / PetscLog10Real(rn / r0);
  /* what the solver believes must be true */
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &rn));
  if (!(rn <= 1.001e-9 * r0)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    true relative residual %g\n", (double)(rn / r0)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  dim = 3, degrees[16] = {1, 2, 3, 4, 5, 6, 7, 8}, nd = 16, levels[2] = {3, 5}, nl = 2, deviations = 0, compared = 0;
  PetscReal max = 1.e6;
  PetscBool set, compare = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  if (!set) nd = 8;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-levels", levels, &nl, &set));
  PetscCheck(!set || (nl == 2 && levels[0] >= 1 && levels[0] <= levels[1]), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-levels takes two numbers, first and last level, 1 <= first <= last");
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-max_unknowns", &max, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-reference", &compare, NULL));

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  k   L    unknowns |  FGMRES    nu |      CG    nu\n"));
  for (PetscInt i = 0; i < nd; i++) {
    for (PetscInt L = levels[0]; L <= levels[1]; L++) {
      const PetscInt n = (PetscInt)1 << L, cells[] = {n, n, n}, k = degrees[i];
      DM             dm;
      Mat            A;
      Vec            b;
      PetscInt       N, gmres = 0, cg = 0;
      PetscReal      gmresnu = 0, cgnu = 0;

      if (PetscPowReal(k * n, dim) > max) continue;
      PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, &dm));
      PetscCall(DMSetFromOptions(dm));
      PetscCall(DMSetUp(dm));
      PetscCall(DMCreateMatrix(dm, &A));
      PetscCall(DMCreateGlobalVector(dm, &b));
      PetscCall(DMBoxAddLoad(dm, 0, One, NULL, b));
      PetscCall(VecGetSize(b, &N));
      PetscCall(Solve(dm, A, b, PETSC_FALSE, &gmres, &gmresnu));
      PetscCall(Solve(dm, A, b, PETSC_TRUE, &cg, &cgnu));
      if (!compare) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%3" PetscInt_FMT " %3" PetscInt_FMT " %11" PetscInt_FMT " | %7" PetscInt_FMT " %5.2f | %7" PetscInt_FMT " %5.2f\n", k, L, N, gmres, (double)gmresnu, cg, (double)cgnu));
      for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(reference) && compare; r++) {
        if (reference[r].d != dim || reference[r].k != k || reference[r].L != L) continue;
        compared++;
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%3" PetscInt_FMT " %3" PetscInt_FMT " %11" PetscInt_FMT " | %7" PetscInt_FMT "       | %7" PetscInt_FMT "\n", k, L, N, gmres, cg));
        if (gmres == reference[r].gmres && cg == reference[r].cg && PetscAbsReal(gmresnu - reference[r].gmresnu) <= 0.1 && PetscAbsReal(cgnu - reference[r].cgnu) <= 0.1) continue;
        deviations++;
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    DEVIATES: nu %.2f %.2f, reference %" PetscInt_FMT " %.2f %" PetscInt_FMT " %.2f\n", (double)gmresnu, (double)cgnu, reference[r].gmres, (double)reference[r].gmresnu, reference[r].cg, (double)reference[r].cgnu));
      }
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&dm));
    }
  }
  if (compare) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " compared with the reference, %" PetscInt_FMT " deviate\n", compared, deviations));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     args: -reference
     test:
       suffix: 2d
       args: -dim 2 -levels 3,8 -max_unknowns 70000
     test:
       suffix: 3d
       args: -dim 3 -levels 3,6 -max_unknowns 300000
     test:
       suffix: 3d_fine
       args: -dim 3 -levels 5,5 -degrees 3 -max_unknowns 1e6
     # the V-cycle in single precision: the same iterations
     test:
       suffix: single_2d
       args: -dim 2 -levels 3,4 -gmres_pc_type single -gmres_single_pc_type patchmg -cg_pc_type single -cg_single_pc_type patchmg -cg_single_pc_patchmg_symmetric
     test:
       suffix: single_3d
       args: -dim 3 -levels 3,4 -max_unknowns 300000 -gmres_pc_type single -gmres_single_pc_type patchmg -cg_pc_type single -cg_single_pc_type patchmg -cg_single_pc_patchmg_symmetric
     test:
       suffix: ranks
       nsize: {{2 3 4 6 8}}
       output_file: output/iterations_ranks.out
       args: -dim 3 -levels 3,4 -degrees 1,2,3 -max_unknowns 20000

TEST*/
