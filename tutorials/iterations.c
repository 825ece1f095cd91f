static char help[] = "Iteration counts of multigrid with vertex-patch smoothers for Poisson's equation, level by level: a table.\n\
Right-hand side f = 1, Dirichlet conditions, 2^L cells a direction, relative tolerance 1e-9.  Two solvers: FGMRES with the same\n\
colour order before and after the coarse correction, CG with the reversed one before it.  Each entry is the number of iterations and\n\
nu = -9 / log10(mean reduction of the residual an iteration), a fractional number of iterations to 1e-9.\n\
  -dim <d>, -degrees <k,...>, -levels <first,last>, -max_unknowns <n>, -dm_box_space <q, dgq>\n\
  -reference : compare with the values of the reference implementation (nu to 0.1)\n\n";

#include <petscpatchfd.h>

enum {
  Q   = DMBOX_SPACE_Q,
  DGQ = DMBOX_SPACE_DGQ
};

/* space, d, k, L, iterations and nu of FGMRES, iterations and nu of CG, from the NumPy reference (dense Kronecker products) */
static const struct {
  PetscInt  space, d, k, L, gmres;
  PetscReal gmresnu;
  PetscInt  cg;
  PetscReal cgnu;
} reference[] = {
  {Q, 2, 1, 3, 5, 4.67, 6, 4.86},   {Q, 2, 1, 4, 6, 5.48, 7, 6.04},   {Q, 2, 1, 5, 6, 5.73, 7, 6.36},   {Q, 2, 1, 6, 6, 5.94, 7, 6.73},
  {Q, 2, 1, 7, 7, 6.05, 7, 6.83},   {Q, 2, 1, 8, 7, 6.20, 7, 6.90},   {Q, 2, 2, 3, 4, 3.48, 5, 4.28},   {Q, 2, 2, 4, 4, 3.86, 5, 4.44},
  {Q, 2, 2, 5, 5, 4.04, 5, 4.50},   {Q, 2, 2, 6, 5, 4.17, 5, 4.51},   {Q, 2, 2, 7, 5, 4.29, 5, 4.53},   {Q, 2, 3, 3, 4, 3.11, 4, 3.62},
  {Q, 2, 3, 4, 4, 3.44, 4, 3.89},   {Q, 2, 3, 5, 4, 3.57, 4, 3.91},   {Q, 2, 3, 6, 4, 3.69, 4, 3.88},   {Q, 2, 4, 3, 3, 2.68, 4, 3.13},
  {Q, 2, 4, 4, 3, 2.81, 4, 3.34},   {Q, 2, 4, 5, 3, 2.95, 4, 3.36},   {Q, 2, 5, 3, 3, 2.55, 4, 2.96},   {Q, 2, 5, 4, 3, 2.70, 4, 3.16},
  {Q, 2, 5, 5, 3, 2.84, 4, 3.19},   {Q, 2, 6, 3, 3, 2.38, 3, 2.90},   {Q, 2, 6, 4, 3, 2.45, 3, 2.97},   {Q, 2, 6, 5, 3, 2.52, 3, 3.00},
  {Q, 2, 7, 3, 3, 2.11, 3, 2.83},   {Q, 2, 7, 4, 3, 2.28, 3, 2.90},   {Q, 2, 7, 5, 3, 2.35, 3, 2.92},   {Q, 2, 8, 3, 3, 2.07, 3, 2.71},
  {Q, 2, 8, 4, 3, 2.14, 3, 2.76},   {Q, 2, 8, 5, 3, 2.21, 3, 2.79},   {Q, 3, 1, 3, 5, 4.96, 6, 5.84},   {Q, 3, 1, 4, 6, 5.84, 7, 6.92},
  {Q, 3, 1, 5, 6, 5.98, 8, 7.08},   {Q, 3, 1, 6, 7, 6.03, 8, 7.17},   {Q, 3, 2, 3, 5, 4.38, 6, 5.28},   {Q, 3, 2, 4, 5, 4.95, 6, 5.74},
  {Q, 3, 2, 5, 6, 4.90, 6, 5.82},   {Q, 3, 3, 3, 4, 3.54, 5, 4.53},   {Q, 3, 3, 4, 4, 3.80, 5, 4.70},   {Q, 3, 3, 5, 4, 3.95, 5, 4.75},
  {Q, 3, 4, 3, 4, 3.21, 4, 3.88},   {Q, 3, 4, 4, 4, 3.42, 5, 4.13},   {Q, 3, 5, 3, 4, 2.92, 4, 3.74},   {Q, 3, 5, 4, 4, 3.10, 4, 3.86},
  {Q, 3, 6, 3, 3, 2.81, 4, 3.41},   {Q, 3, 6, 4, 3, 2.97, 4, 3.52},   {Q, 3, 7, 3, 3, 2.59, 4, 3.26},   {Q, 3, 7, 4, 3, 2.70, 4, 3.35},
  {Q, 3, 8, 3, 3, 2.48, 4, 3.13},   {Q, 3, 8, 4, 3, 2.60, 4, 3.21},   {DGQ, 2, 1, 2, 3, 2.54, 4, 3.18}, {DGQ, 2, 1, 3, 4, 3.45, 4, 3.67},
  {DGQ, 2, 1, 4, 4, 3.86, 4, 3.88}, {DGQ, 2, 1, 5, 5, 4.06, 4, 3.95}, {DGQ, 2, 1, 6, 5, 4.15, 5, 4.06}, {DGQ, 2, 1, 7, 5, 4.20, 5, 4.08},
  {DGQ, 2, 2, 2, 3, 2.89, 4, 3.46}, {DGQ, 2, 2, 3, 4, 3.21, 4, 3.89}, {DGQ, 2, 2, 4, 4, 3.29, 4, 3.99}, {DGQ, 2, 2, 5, 4, 3.35, 5, 4.07},
  {DGQ, 2, 2, 6, 4, 3.38, 5, 4.09}, {DGQ, 2, 3, 2, 3, 2.57, 4, 3.28}, {DGQ, 2, 3, 3, 4, 3.10, 4, 3.51}, {DGQ, 2, 3, 4, 4, 3.26, 4, 3.63},
  {DGQ, 2, 3, 5, 4, 3.36, 4, 3.71}, {DGQ, 2, 3, 6, 4, 3.44, 4, 3.75}, {DGQ, 2, 4, 2, 3, 2.55, 4, 3.10}, {DGQ, 2, 4, 3, 3, 2.97, 4, 3.45},
  {DGQ, 2, 4, 4, 4, 3.06, 4, 3.63}, {DGQ, 2, 4, 5, 4, 3.12, 4, 3.74}, {DGQ, 2, 5, 2, 3, 2.27, 4, 2.92}, {DGQ, 2, 5, 3, 3, 2.76, 4, 3.13},
  {DGQ, 2, 5, 4, 3, 2.88, 4, 3.28}, {DGQ, 2, 5, 5, 3, 2.93, 4, 3.39}, {DGQ, 2, 6, 2, 3, 2.26, 4, 2.87}, {DGQ, 2, 6, 3, 3, 2.55, 4, 3.17},
  {DGQ, 2, 6, 4, 3, 2.69, 4, 3.29}, {DGQ, 2, 6, 5, 3, 2.74, 4, 3.38}, {DGQ, 2, 7, 2, 3, 2.23, 3, 2.91}, {DGQ, 2, 7, 3, 3, 2.56, 4, 2.97},
  {DGQ, 2, 7, 4, 3, 2.71, 4, 3.06}, {DGQ, 2, 7, 5, 3, 2.75, 4, 3.14}, {DGQ, 2, 8, 2, 3, 2.18, 3, 2.89}, {DGQ, 2, 8, 3, 3, 2.50, 4, 2.99},
  {DGQ, 2, 8, 5, 3, 2.65, 4, 3.14}, {DGQ, 3, 1, 2, 3, 2.23, 3, 2.77}, {DGQ, 3, 1, 3, 3, 2.65, 3, 2.88}, {DGQ, 3, 1, 4, 4, 3.33, 4, 3.21},
  {DGQ, 3, 2, 2, 3, 2.52, 4, 2.87}, {DGQ, 3, 2, 3, 3, 2.80, 4, 3.36}, {DGQ, 3, 3, 2, 3, 2.29, 3, 2.98}, {DGQ, 3, 3, 3, 3, 2.90, 4, 3.21},
  {DGQ, 3, 4, 2, 3, 2.48, 3, 2.94}, {DGQ, 3, 4, 3, 3, 2.81, 4, 3.11}, {DGQ, 3, 5, 2, 3, 2.19, 3, 2.82}, {DGQ, 3, 6, 2, 3, 2.17, 3, 2.80},
  {DGQ, 3, 7, 2, 3, 2.15, 3, 2.71}, {DGQ, 3, 7, 3, 3, 2.45, 3, 2.84},
};

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                          PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
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
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0)); /* cycles down to one patch, where a direct solve might be faster */
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

/* Print the row of the table; or compare it, if there is a reference for it, and count */
static PetscErrorCode Row(const PetscInt key[4], PetscInt N, const PetscInt its[2], const PetscReal nu[2], PetscBool compare,
                          PetscInt *compared, PetscInt *deviations)
{
  PetscFunctionBeginUser;
  if (!compare) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%3" PetscInt_FMT " %3" PetscInt_FMT " %11" PetscInt_FMT, key[2], key[3], N));
    for (int s = 0; s < 2; s++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %7" PetscInt_FMT " %5.2f", its[s], (double)nu[s]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(reference) && compare; r++) {
    if (reference[r].space != key[0] || reference[r].d != key[1] || reference[r].k != key[2] || reference[r].L != key[3]) continue;
    (*compared)++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%3" PetscInt_FMT " %3" PetscInt_FMT " %11" PetscInt_FMT " | %7" PetscInt_FMT "       | %7" PetscInt_FMT "\n",
                          key[2], key[3], N, its[0], its[1]));
    if (its[0] == reference[r].gmres && its[1] == reference[r].cg && PetscAbsReal(nu[0] - reference[r].gmresnu) <= 0.1 &&
        PetscAbsReal(nu[1] - reference[r].cgnu) <= 0.1)
      continue;
    (*deviations)++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    DEVIATES: nu %.2f %.2f, reference %" PetscInt_FMT " %.2f %" PetscInt_FMT " %.2f\n",
                          (double)nu[0], (double)nu[1], reference[r].gmres, (double)reference[r].gmresnu, reference[r].cg,
                          (double)reference[r].cgnu));
  }
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
  PetscCheck(!set || (nl == 2 && levels[0] >= 1 && levels[0] <= levels[1]), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-levels takes two numbers, first and last level, 1 <= first <= last");
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-max_unknowns", &max, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-reference", &compare, NULL));

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  k   L    unknowns |  FGMRES    nu |      CG    nu\n"));
  for (PetscInt i = 0; i < nd; i++) {
    for (PetscInt L = levels[0]; L <= levels[1]; L++) {
      const PetscInt n = (PetscInt)1 << L, cells[] = {n, n, n}, k = degrees[i];
      DM             dm;
      DMBoxSpace     space;
      Mat            A;
      Vec            b;
      PetscInt       N, its[2] = {0, 0};
      PetscReal      nu[2] = {0, 0};

      PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, &dm));
      PetscCall(DMSetFromOptions(dm));
      PetscCall(DMBoxGetSpace(dm, &space));
      if (PetscPowReal((space == DMBOX_SPACE_DGQ ? k + 1 : k) * n, dim) <= max) {
        PetscCall(DMSetUp(dm));
        PetscCall(DMCreateMatrix(dm, &A));
        PetscCall(DMCreateGlobalVector(dm, &b));
        PetscCall(DMBoxAddLoad(dm, 0, One, NULL, b));
        PetscCall(VecGetSize(b, &N));
        for (int s = 0; s < 2; s++) PetscCall(Solve(dm, A, b, (PetscBool)s, &its[s], &nu[s]));
        PetscCall(Row((const PetscInt[]){(PetscInt)space, dim, k, L}, N, its, nu, compare, &compared, &deviations));
        PetscCall(VecDestroy(&b));
        PetscCall(MatDestroy(&A));
      }
      PetscCall(DMDestroy(&dm));
    }
  }
  if (compare)
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " compared with the reference, %" PetscInt_FMT " deviate\n", compared, deviations));
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
       args: -dim 2 -levels 3,4 -gmres_pc_type single -gmres_single_pc_type patchmg -gmres_single_pc_patchmg_coarse_eq_limit 0
       args: -cg_pc_type single -cg_single_pc_type patchmg -cg_single_pc_patchmg_coarse_eq_limit 0 -cg_single_pc_patchmg_symmetric
     test:
       suffix: single_3d
       args: -dim 3 -levels 3,4 -max_unknowns 300000 -gmres_pc_type single -gmres_single_pc_type patchmg
       args: -gmres_single_pc_patchmg_coarse_eq_limit 0
       args: -cg_pc_type single -cg_single_pc_type patchmg -cg_single_pc_patchmg_coarse_eq_limit 0 -cg_single_pc_patchmg_symmetric
     test:
       suffix: ranks
       nsize: {{2 3 4 6 8}}
       output_file: output/iterations_ranks.out
       args: -dim 3 -levels 3,4 -degrees 1,2,3 -max_unknowns 20000

   # interior penalties
   testset:
     args: -reference -dm_box_space dgq
     test:
       suffix: dgq_2d
       args: -dim 2 -levels 2,6 -max_unknowns 40000
     test:
       suffix: dgq_3d
       args: -dim 3 -levels 2,4 -max_unknowns 70000
     test:
       suffix: dgq_single
       args: -dim 2 -levels 2,4 -gmres_pc_type single -gmres_single_pc_type patchmg -gmres_single_pc_patchmg_coarse_eq_limit 0
       args: -cg_pc_type single -cg_single_pc_type patchmg -cg_single_pc_patchmg_coarse_eq_limit 0 -cg_single_pc_patchmg_symmetric
     test:
       suffix: dgq_ranks
       nsize: {{2 3 4}}
       output_file: output/iterations_dgq_ranks.out
       args: -dim 3 -levels 2,3 -degrees 1,2 -max_unknowns 5000

TEST*/
