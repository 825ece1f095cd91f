static char help[] = "Vertex-patch smoothers for the biharmonic equation: how fast multigrid converges with each, a table.\n\
u = prod_i sin(pi x_i) on clamped sides, 2^L cells a direction, relative tolerance 1e-8 for the true residual.  Each entry is\n\
nu = -8 / log10(mean reduction of the residual an iteration), a fractional number of iterations to 1e-8.  The smoothers (see PCPATCHFD):\n\
  exact, single    : multiplicative, exact local solvers, with the matrices that the patches have in the mesh, or one for all of them\n\
  inexact          : multiplicative, fast diagonalization of the part that is a Kronecker sum, damped by 0.7 in 3D\n\
  additive, a-inex : additive, two steps before and after the coarse correction, exact and inexact local solvers, damped by 1/4 in 2D, in \
3D by 1/8 and 0.1\n\
S is FGMRES, with the same colour order before and after the coarse correction, Q is CG, with the reversed one before it.\n\
  -dim <d>, -degrees <k,...>, -levels <first,last>, -max_unknowns <n>\n\
  -reference : compare with the values of the reference implementation (nu to 0.1)\n\n";

#include <petscpatchfd.h>

/*
  The solvers, as on the command line, in 2D and in 3D.  The reference does not solve exactly on the coarsest level, one patch, where it
  smoothes with an inexact solver or adds corrections: in 2D it makes the steps of the smoother there (of a single patch additive is the
  same as multiplicative, but symmetric, as CG wants it), in 3D it multiplies the exact solution by what as many steps of the damping would
  make.
*/
#define FGMRES "-ksp_type fgmres "
#define CG     "-ksp_type cg -ksp_norm_type unpreconditioned -pc_patchmg_symmetric "
#define DENSE  "-mg_levels_pc_patchfd_local dense "
#define FD     "-mg_levels_pc_patchfd_local fd_inexact "
#define MESH   "-mg_levels_pc_patchfd_classes exact "
#define SINGLE "-mg_levels_pc_patchfd_classes single "
#define TWO    "-mg_levels_pc_patchfd_type additive -mg_levels_ksp_max_it 2 -mg_coarse_ksp_max_it 2 "
#define PATCH  "-mg_coarse_pc_patchfd_patch vertex -mg_coarse_pc_patchfd_type additive "
#define PATCHX PATCH "-mg_coarse_pc_patchfd_local fd_inexact -mg_coarse_pc_patchfd_classes exact "
#define RB     "-mg_levels_pc_patchfd_variant fused " /* the reference has twice as many colours: red and black */
#define SCALE  "-mg_coarse_ksp_richardson_scale "

enum {
  NS = 8
};
static const struct {
  const char *name, *options[2];
} solver[NS] = {
  {"exact S", {FGMRES RB DENSE MESH, FGMRES RB DENSE MESH}},
  {"exact Q", {CG RB DENSE MESH, CG RB DENSE MESH}},
  {"single S", {FGMRES RB DENSE SINGLE, FGMRES RB DENSE SINGLE}},
  {"single Q", {CG RB DENSE SINGLE, CG RB DENSE SINGLE}},
  {"inexact S", {FGMRES RB FD MESH PATCHX "-mg_coarse_pc_patchfd_damping 1", FGMRES RB FD MESH SCALE "0.7"}},
  {"inexact Q", {CG RB FD MESH PATCHX "-mg_coarse_pc_patchfd_damping 1", CG RB FD MESH SCALE "0.7"}},
  {"additive", {CG DENSE MESH TWO PATCH, CG DENSE MESH TWO SCALE "0.125"}},
  {"a-inex", {CG FD MESH TWO PATCHX, CG FD MESH TWO SCALE "0.1"}},
};

/* d, k, L, and nu of each solver, from the NumPy reference (dense Kronecker products); 0 is not known */
static const struct {
  PetscInt  d, k, L;
  PetscReal nu[NS];
} reference[] = {
  {2, 2, 3, {7.9, 0, 0, 0, 9.3, 0, 11.7, 10.7}},
  {2, 2, 4, {9.2, 9.47, 0, 0, 10.2, 10.84, 14.0, 13.1}},
  {2, 2, 5, {9.52, 9.99, 10.13, 10.43, 11.0, 11.69, 15.61, 14.6}},
  {2, 2, 7, {9.89, 10.65, 10.50, 10.88, 11.7, 12.68, 19.20, 17.6}},
  {2, 3, 3, {4.6, 0, 0, 0, 6.8, 0, 10.3, 9.3}},
  {2, 3, 4, {5.2, 5.46, 0, 0, 6.9, 7.86, 11.3, 10.0}},
  {2, 3, 5, {5.21, 5.46, 5.12, 5.50, 6.9, 7.92, 11.50, 10.2}},
  {2, 3, 7, {5.2, 0, 0, 0, 6.8, 0, 11.6, 10.3}},
  {2, 4, 3, {3.2, 0, 0, 0, 7.2, 0, 9.7, 9.0}},
  {2, 4, 4, {3.3, 3.75, 0, 0, 7.0, 7.93, 10.0, 8.9}},
  {2, 4, 5, {3.34, 3.74, 3.41, 3.41, 6.9, 7.98, 10.25, 9.3}},
  {2, 4, 6, {3.3, 0, 0, 0, 6.7, 0, 10.3, 9.3}},
  {2, 5, 3, {2.7, 0, 0, 0, 8.1, 0, 9.9, 9.3}},
  {2, 5, 4, {2.71, 2.99, 2.69, 2.72, 7.9, 9.25, 10.02, 9.4}},
  {2, 5, 6, {2.7, 0, 0, 0, 7.4, 0, 10.2, 9.2}},
  {2, 6, 3, {2.4, 0, 0, 0, 9.1, 0, 9.8, 9.5}},
  {2, 6, 4, {2.40, 2.74, 2.37, 2.47, 8.9, 10.63, 10.20, 9.6}},
  {2, 6, 6, {2.4, 0, 0, 0, 8.4, 0, 10.4, 9.5}},
  {3, 2, 3, {8.16, 8.40, 8.44, 8.78, 8.71, 9.23, 17.17, 16.6}},
  {3, 2, 4, {8.96, 9.46, 9.37, 9.63, 9.64, 10.29, 20.68, 20.3}},
  {3, 3, 3, {5.31, 5.46, 5.20, 5.47, 5.90, 6.45, 15.51, 14.6}},
  {3, 3, 4, {5.68, 5.70, 5.58, 5.72, 5.56, 6.45, 16.92, 16.7}},
  {3, 4, 3, {3.39, 3.84, 3.45, 3.60, 6.21, 6.83, 14.46, 14.4}},
  {3, 4, 4, {3.55, 3.91, 3.61, 3.72, 5.65, 6.70, 16.06, 15.6}},
  {3, 5, 3, {2.72, 3.10, 2.72, 2.86, 7.39, 8.52, 14.5, 14.7}},
  {3, 6, 3, {2.34, 2.60, 2.34, 0, 7.9, 9.43, 0, 15.0}},
};

/* laplace^2 u */
static PetscErrorCode Force(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  f[0] = dim * dim * PetscPowRealInt(PETSC_PI, 4);
  for (PetscInt d = 0; d < dim; d++) f[0] *= PetscSinReal(PETSC_PI * x[d]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* du/dn: the derivative of sin(pi x) is pi at 0, where n points downwards, and -pi at 1 */
static PetscErrorCode Slope(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  g[0] = -PETSC_PI;
  for (PetscInt d = 0; d < dim; d++)
    if (x[d] != 0 && x[d] != 1) g[0] *= PetscSinReal(PETSC_PI * x[d]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the options of solver s have the prefix s<s>_, under which more may be given */
static PetscErrorCode Solve(DM dm, Mat A, Vec b, PetscInt s, PetscReal *nu)
{
  KSP       ksp;
  PC        pc;
  Vec       x, r;
  char      prefix[8];
  PetscInt  its;
  PetscReal r0, rn;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "s%" PetscInt_FMT "_", s));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualNorm(ksp, &rn));
  PetscCall(VecNorm(b, NORM_2, &r0));
  *nu = -8 * its / PetscLog10Real(rn / r0);
  /* what the solver believes must be true */
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &rn));
  if (!(rn <= 1.001e-8 * r0))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    %s: true relative residual %g\n", solver[s].name, (double)(rn / r0)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* counts in numbers[0] what there is a reference for, and in numbers[1] what is not near it */
static PetscErrorCode Compare(PetscInt d, PetscInt k, PetscInt L, const PetscReal nu[], PetscInt numbers[2])
{
  PetscFunctionBeginUser;
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(reference); r++) {
    if (reference[r].d != d || reference[r].k != k || reference[r].L != L) continue;
    for (PetscInt s = 0; s < NS; s++) {
      const PetscReal expected = reference[r].nu[s];

      if (expected == 0) continue;
      numbers[0]++;
      if (PetscAbsReal(nu[s] - expected) <= 0.1) continue;
      numbers[1]++;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    DEVIATES: k %" PetscInt_FMT ", L %" PetscInt_FMT ", %s: nu %.2f, reference %.2f\n", k, L,
                            solver[s].name, (double)nu[s], (double)expected));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  dim = 3, degrees[16] = {2, 3, 4}, nd = 16, levels[2] = {3, 3}, nl = 2, numbers[2] = {0, 0};
  PetscReal max = 1.e6;
  PetscBool set, compare = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCheck(dim == 2 || dim == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-dim is %" PetscInt_FMT ", it must be 2 or 3", dim);
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  if (!set) nd = 3;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-levels", levels, &nl, &set));
  PetscCheck(!set || (nl == 2 && levels[0] >= 1 && levels[0] <= levels[1]), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-levels takes two numbers, first and last level, 1 <= first <= last");
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-max_unknowns", &max, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-reference", &compare, NULL));

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  k   L    unknowns"));
  for (PetscInt s = 0; s < NS; s++) {
    char prefix[8];

    PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "s%" PetscInt_FMT "_", s));
    PetscCall(PetscOptionsPrefixPush(NULL, prefix));
    PetscCall(PetscOptionsInsertString(NULL, solver[s].options[dim - 2]));
    PetscCall(PetscOptionsPrefixPop(NULL));
    if (!compare) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %s", solver[s].name));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  for (PetscInt i = 0; i < nd; i++) {
    for (PetscInt L = levels[0]; L <= levels[1]; L++) {
      const PetscInt n = (PetscInt)1 << L, cells[] = {n, n, n}, k = degrees[i];
      PetscInt       N;
      PetscReal      nu[NS];
      DM             dm;
      Mat            A;
      Vec            b;

      if (PetscPowReal(k * n, dim) > max) continue;
      PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, &dm));
      PetscCall(DMBoxSetOperator(dm, "biharmonic"));
      PetscCall(DMSetFromOptions(dm));
      PetscCall(DMSetUp(dm));
      PetscCall(DMCreateMatrix(dm, &A));
      PetscCall(DMCreateGlobalVector(dm, &b));
      PetscCall(DMBoxAddLoad(dm, 0, Force, NULL, b));
      PetscCall(DMBoxAddBendingLoad(dm, 0, Slope, NULL, NULL, b));
      PetscCall(VecGetSize(b, &N));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%3" PetscInt_FMT " %3" PetscInt_FMT " %11" PetscInt_FMT, k, L, N));
      for (PetscInt s = 0; s < NS; s++) {
        PetscCall(Solve(dm, A, b, s, &nu[s]));
        if (!compare) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %*.2f", (int)strlen(solver[s].name), (double)nu[s]));
      }
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
      if (compare) PetscCall(Compare(dim, k, L, nu, numbers));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&dm));
    }
  }
  if (compare)
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " compared with the reference, %" PetscInt_FMT " deviate\n", numbers[0], numbers[1]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     args: -reference
     test:
       suffix: 2d
       args: -dim 2 -levels 3,5 -degrees 2,3,4,5,6 -max_unknowns 20000
     test:
       suffix: 3d
       args: -degrees 2,3,4 -levels 3,3
     test:
       suffix: ranks
       nsize: {{2 3}}
       output_file: output/smoothers_ranks.out
       args: -dim 2 -levels 3,5 -degrees 2,3 -max_unknowns 5000

TEST*/
