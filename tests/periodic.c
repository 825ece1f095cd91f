static char help[] = "Periodic sides: iteration counts against the reference implementation, orders of convergence, local Vecs, null space.\n\
  -counts : counts, to 0.1; -odd : those of meshes with odd numbers of cells, which are solved directly\n\
  -orders : the L2 error falls by 2^(k+1) when cells are halved\n\
  -local  : ghosts are the values at the other end, and contributions to ghosts go there\n\
  -drift  : many solves in turn with the solution before as guess leave a singular problem's mean where it is\n\n";

#include <petscpatchfd.h>

static PetscErrorCode Create(PetscInt dim, PetscInt p, const PetscInt cells[], PetscInt k, DM *dm)
{
  DMBoxBoundaryType boundary[6];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 6; i++) boundary[i] = i / 2 < p ? DMBOX_BOUNDARY_PERIODIC : DMBOX_BOUNDARY_DIRICHLET;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, dm));
  PetscCall(DMBoxSetBoundary(*dm, boundary));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wave(PetscInt dim, PetscReal mean, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                           PETSC_UNUSED void *ctx)
{
  PetscReal s = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) s += PetscSinReal(2 * PETSC_PI * (x[d] + 0.1 * d + 0.13));
  f[0] = PetscExpReal(s) + mean;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_Cycles(DM dm, Mat A, PetscBool cg, PetscReal rtol, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, cg ? "cg_" : "gmres_"));
  PetscCall(KSPSetDM(*ksp, dm));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, cg ? KSPCG : KSPFGMRES));
  if (cg) PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetSymmetric(pc, cg));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- counts ---- */

/* dimension, periodic directions, degree, cells; fractional iterations to 1e-9 of FGMRES and of CG, from the NumPy reference */
static const struct {
  PetscInt  dim, p, k, n[3];
  PetscReal nu[2];
} counts[] = {
  {2, 1, 1, {16, 16, 1}, {5.44, 7.73}}, {2, 2, 1, {16, 16, 1}, {5.62, 7.98}}, {2, 1, 2, {16, 16, 1}, {3.84, 5.35}},
  {2, 2, 2, {16, 16, 1}, {3.87, 5.51}}, {2, 1, 3, {16, 16, 1}, {3.37, 5.39}}, {2, 2, 3, {16, 16, 1}, {3.50, 5.41}},
  {2, 1, 7, {8, 8, 1}, {2.17, 4.35}},   {2, 2, 7, {8, 8, 1}, {2.24, 4.31}},   {3, 1, 1, {8, 8, 8}, {4.94, 6.98}},
  {3, 2, 1, {8, 8, 8}, {5.24, 7.44}},   {3, 3, 1, {8, 8, 8}, {5.61, 7.42}},   {3, 1, 2, {8, 8, 8}, {4.54, 5.80}},
  {3, 2, 2, {8, 8, 8}, {4.80, 6.00}},   {3, 3, 2, {8, 8, 8}, {4.60, 5.77}},   {3, 1, 3, {4, 4, 4}, {3.06, 4.33}},
  {3, 2, 3, {4, 4, 4}, {3.43, 4.72}},   {3, 3, 3, {4, 4, 4}, {3.61, 4.80}},   {3, 1, 7, {4, 4, 4}, {2.36, 3.73}},
  {3, 2, 7, {4, 4, 4}, {2.54, 3.94}},   {3, 3, 7, {4, 4, 4}, {2.44, 4.06}},
}, odd[] = {
  {2, 2, 1, {10, 10, 1}, {5.21, 0}}, {2, 2, 1, {12, 12, 1}, {5.51, 0}}, {2, 2, 1, {20, 12, 1}, {7.94, 0}}, {2, 2, 1, {24, 24, 1}, {5.60, 0}},
  {2, 2, 2, {10, 10, 1}, {3.75, 0}}, {2, 2, 2, {12, 12, 1}, {3.82, 0}}, {2, 2, 2, {20, 12, 1}, {4.04, 0}}, {2, 2, 2, {24, 24, 1}, {3.96, 0}},
  {2, 2, 3, {10, 10, 1}, {3.20, 0}}, {2, 2, 3, {12, 12, 1}, {3.44, 0}}, {2, 2, 3, {20, 12, 1}, {3.79, 0}}, {2, 2, 3, {24, 24, 1}, {3.63, 0}},
};

static PetscErrorCode Count(PetscInt dim, PetscInt p, PetscInt k, const PetscInt n[], const PetscReal nu[2], PetscInt *deviations)
{
  const PetscReal bessel = 1.2660658777520084; /* I_0(1), the mean of exp(sin) */
  DM           dm;
  Mat          A;
  Vec          b, x, r;
  MatNullSpace nullspace;

  PetscFunctionBeginUser;
  PetscCall(Create(dim, p, n, k, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(DMBoxAddLoad(dm, p == dim ? -PetscPowRealInt(bessel, dim) : 0.3, Wave, NULL, b));
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCheck(!nullspace == (p < dim), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " directions are periodic, null space: %d", p,
             !!nullspace);
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, b));
  for (int cg = 0; cg < 2; cg++) {
    KSP       ksp;
    PetscInt  its;
    PetscReal r0, rn, found;

    if (nu[cg] == 0) continue;
    PetscCall(KSPCreate_Cycles(dm, A, (PetscBool)cg, 1e-9, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(b, NORM_2, &r0));
    PetscCall(VecNorm(r, NORM_2, &rn));
    found = -9 * its / PetscLog10Real(rn / r0);
    PetscCall(PetscInfo(NULL, "%" PetscInt_FMT "D, %" PetscInt_FMT " periodic, degree %" PetscInt_FMT ": %.2f, reference %.2f\n", dim, p, k,
                        (double)found, (double)nu[cg]));
    if (!(rn <= 1.001e-9 * r0 && PetscAbsReal(found - nu[cg]) <= 0.1)) {
      (*deviations)++;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "%" PetscInt_FMT "D, %" PetscInt_FMT " periodic, degree %" PetscInt_FMT ", %s: %.2f, reference %.2f, residual %g\n",
                            dim, p, k, cg ? "CG" : "FGMRES", (double)found, (double)nu[cg], (double)(rn / r0)));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- orders ---- */

/* u = cos(2 pi x_0) exp(sin(2 pi x_1)) sin(2 pi x_2 + 1), periodic with derivatives; -laplace u */
static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = PetscCosReal(2 * PETSC_PI * x[0]);
  if (dim > 1) u[0] *= PetscExpReal(PetscSinReal(2 * PETSC_PI * x[1]));
  if (dim > 2) u[0] *= PetscSinReal(2 * PETSC_PI * x[2] + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Force(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  const PetscReal s = dim > 1 ? PetscSinReal(2 * PETSC_PI * x[1]) : 0, c = dim > 1 ? PetscCosReal(2 * PETSC_PI * x[1]) : 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++)
    PetscCheck(x[d] >= 0 && x[d] <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The function is asked for x[%" PetscInt_FMT "] = %g", d, (double)x[d]);
  PetscCall(Exact(dim, time, x, Nc, f, ctx));
  f[0] *= PetscSqr(2 * PETSC_PI) * ((dim > 2 ? 2 : 1) + (dim > 1 ? s - c * c : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Order(PetscInt dim, PetscInt k, PetscInt n)
{
  PetscReal error[2], order;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 2; i++) {
    const PetscInt cells[3] = {n << i, n << i, n << i};
    DM             dm;
    Mat            A;
    Vec            b, x;
    KSP            ksp;
    MatNullSpace   nullspace;

    PetscCall(Create(dim, dim, cells, k, &dm));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(DMBoxAddLoad(dm, 0, Force, NULL, b));
    PetscCall(MatGetNullSpace(A, &nullspace));
    PetscCall(MatNullSpaceRemove(nullspace, b));
    PetscCall(KSPCreate_Cycles(dm, A, PETSC_FALSE, 1e-11, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(MatNullSpaceRemove(nullspace, x)); /* the solution has no mean, and nodes of equal cells have equal weights, cell by cell */
    PetscCall(DMBoxComputeError(dm, 0, Exact, NULL, x, &error[i], NULL));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  order = PetscLog2Real(error[0] / error[1]);
  PetscCall(PetscInfo(NULL, "%" PetscInt_FMT "D, degree %" PetscInt_FMT ": errors %g %g\n", dim, k, (double)error[0], (double)error[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D, degree %" PetscInt_FMT ": order", dim, k));
  if (order > k + 0.7 && order < k + 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " degree + 1\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %.2f\n", (double)order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- local Vecs ---- */

/* the numbers of nodes of the first direction and, times a thousand, of the second one, which differ between the ends of a ring */
static PetscErrorCode Local(void)
{
  const PetscInt cells[3] = {4, 2, 1};
  DM             dm;
  Vec            v, l, sum;
  PetscScalar  **a;
  PetscInt       M, N, x, y, m, n, wrong = 0;
  PetscScalar    total;

  PetscFunctionBeginUser;
  PetscCall(Create(2, 2, cells, 3, &dm));
  PetscCall(DMBoxGetGlobalSizes(dm, 0, &M, &N, NULL));
  PetscCheck(M == 12 && N == 6, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT " nodes", M, N);
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(VecDuplicate(v, &sum));
  PetscCall(DMCreateLocalVector(dm, &l));
  PetscCall(DMBoxGetCorners(dm, 0, &x, &y, NULL, &m, &n, NULL));
  PetscCall(DMBoxVecGetArray(dm, v, 0, &a));
  for (PetscInt j = y; j < y + n; j++)
    for (PetscInt i = x; i < x + m; i++) a[j][i] = i + 1000 * j;
  PetscCall(DMBoxVecRestoreArray(dm, v, 0, &a));
  PetscCall(DMGlobalToLocal(dm, v, INSERT_VALUES, l));
  PetscCall(DMBoxGetGhostCorners(dm, 0, &x, &y, NULL, &m, &n, NULL));
  PetscCall(DMBoxVecGetArray(dm, l, 0, &a));
  for (PetscInt j = y; j < y + n; j++) {
    for (PetscInt i = x; i < x + m; i++) {
      wrong += a[j][i] != (i + M) % M + 1000 * ((j + N) % N);
      a[j][i] = 1;
    }
  }
  PetscCall(DMBoxVecRestoreArray(dm, l, 0, &a));
  PetscCall(VecSet(sum, 0));
  PetscCall(DMLocalToGlobal(dm, l, ADD_VALUES, sum));
  PetscCall(VecSum(sum, &total));
  m *= n;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &m, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "local Vecs: %" PetscInt_FMT " wrong, sums are%s those of all local nodes\n", wrong,
                        total == (PetscReal)m ? "" : " not"));
  PetscCall(VecView(v, PETSC_VIEWER_STDOUT_WORLD)); /* in natural order */
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&sum));
  PetscCall(VecDestroy(&l));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- null space ---- */

static PetscErrorCode Drift(PetscInt solves)
{
  const PetscInt cells[3] = {8, 8, 8};
  DM             dm;
  Mat            A;
  Vec            b, x;
  KSP            ksp;
  MatNullSpace   nullspace;
  PetscReal      norm;
  PetscScalar    mean;
  PetscInt       N;

  PetscFunctionBeginUser;
  PetscCall(Create(2, 2, cells, 2, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(KSPCreate_Cycles(dm, A, PETSC_FALSE, 1e-8, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  for (PetscInt i = 0; i < solves; i++) {
    PetscCall(VecSet(b, 0));
    PetscCall(DMBoxAddLoad(dm, 0.01 * (PetscReal)i, Wave, NULL, b));
    PetscCall(MatNullSpaceRemove(nullspace, b));
    PetscCall(KSPSolve(ksp, b, x));
  }
  PetscCall(VecGetSize(x, &N));
  PetscCall(VecSum(x, &mean));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  mean /= (PetscReal)N;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " solves: the mean is%s zero\n", solves,
                        PetscAbsScalar(mean) <= 1e-12 * norm ? "" : " not"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool which[5] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  PetscInt  deviations = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-counts", &which[0], NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-odd", &which[1], NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-orders", &which[2], NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-local", &which[3], NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-drift", &which[4], NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(counts) && which[0]; i++)
    PetscCall(Count(counts[i].dim, counts[i].p, counts[i].k, counts[i].n, counts[i].nu, &deviations));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(odd) && which[1]; i++)
    PetscCall(Count(odd[i].dim, odd[i].p, odd[i].k, odd[i].n, odd[i].nu, &deviations));
  if (which[0] || which[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " counts deviate\n", deviations));
  for (PetscInt dim = 1; dim <= 3 && which[2]; dim++)
    for (PetscInt k = 1; k <= 4; k++) PetscCall(Order(dim, k, 8));
  if (which[3]) PetscCall(Local());
  if (which[4]) PetscCall(Drift(200));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   # the reference goes forward before the coarse correction
   test:
     suffix: counts
     nsize: {{1 2 4}}
     output_file: output/periodic_counts.out
     args: -counts -cg_mg_levels_pc_patchfd_order forward
   test:
     suffix: odd
     nsize: {{1 3}}
     output_file: output/periodic_counts.out
     args: -odd
   test:
     suffix: single
     output_file: output/periodic_counts.out
     args: -counts -gmres_pc_type single -gmres_single_pc_type patchmg -gmres_single_pc_patchmg_coarse_eq_limit 0
     args: -cg_pc_type single -cg_single_pc_type patchmg -cg_single_pc_patchmg_coarse_eq_limit 0 -cg_single_pc_patchmg_symmetric
     args: -cg_single_mg_levels_pc_patchfd_order forward
   test:
     suffix: orders
     args: -orders
   test:
     suffix: orders_dgq
     output_file: output/periodic_orders.out
     nsize: 2
     args: -orders -dm_box_space dgq
   test:
     suffix: local
     nsize: {{1 2 3 8}}
     output_file: output/periodic_local.out
     filter: grep -v -i -e process -e type
     args: -local
   test:
     suffix: drift
     nsize: {{1 2}}
     output_file: output/periodic_drift.out
     args: -drift

TEST*/
