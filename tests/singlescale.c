static char help
  [] = "PCSINGLE on operators of any size: every solve converges, its true residual being what was asked for, or says that it has not.\n\n";

#include <petscpatchfd.h>
#include <petscdmda.h>

static const PetscReal scales[] = {1e-300, 1e-200, 1e-100, 1e-60, 1e-46, 1e-40, 1e-38, 1e-30, 1e-12, 1,
                                   1e12,   1e30,   1e38,   1e40,  1e46,  1e60,  1e100, 1e200, 1e300};
#define NSCALES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(scales))

static PetscErrorCode Quiet(PETSC_UNUSED MPI_Comm comm, PETSC_UNUSED int line, PETSC_UNUSED const char *fn, PETSC_UNUSED const char *file,
                            PetscErrorCode n, PETSC_UNUSED PetscErrorType p, PETSC_UNUSED const char *mess, PETSC_UNUSED void *ctx)
{
  return n;
}

/* the five-point stencil times a number */
static PetscErrorCode Assemble(DM da, PetscReal scale, Mat A)
{
  DMDALocalInfo i;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &i));
  for (PetscInt y = i.ys; y < i.ys + i.ym; y++) {
    for (PetscInt x = i.xs; x < i.xs + i.xm; x++) {
      MatStencil row        = {.i = x, .j = y},
                 col[]      = {row, {.i = x - 1, .j = y}, {.i = x + 1, .j = y}, {.i = x, .j = y - 1}, {.i = x, .j = y + 1}};
      const PetscScalar v[] = {4 * scale, -scale, -scale, -scale, -scale};

      for (int k = 1; k < 5; k++)
        if (col[k].i >= i.mx || col[k].j >= i.my) col[k].i = -1; /* not set, like others outside */
      PetscCall(MatSetValuesStencil(A, 1, &row, 5, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComputeOperators(KSP ksp, PETSC_UNUSED Mat A, Mat P, void *ctx)
{
  DM da;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(Assemble(da, *(PetscReal *)ctx, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_Inner(Mat A, Vec x, Vec y)
{
  Mat B;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(A, &B));
  PetscCall(MatMult(B, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_Inner(Mat A, Vec d)
{
  Mat B;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(A, &B));
  PetscCall(MatGetDiagonal(B, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* somebody's matrix-free operator: nothing is known of its entries */
static PetscErrorCode CreateShell(Mat B, Mat *A)
{
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(B, &n, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, B, A));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT, (PetscVoidFn *)MatMult_Inner));
  PetscCall(MatShellSetOperation(*A, MATOP_GET_DIAGONAL, (PetscVoidFn *)MatGetDiagonal_Inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "+" converged, "-" says that it did not, "!" says that it did and has not, "e" an error where errors were asked for */
static PetscErrorCode Solve(KSP ksp, PetscBool error, Vec b, Vec x, char *result)
{
  KSPConvergedReason reason;
  PetscErrorCode     ierr;
  PetscReal          rnorm, bnorm, rtol;
  Vec                r;
  Mat                A;

  PetscFunctionBeginUser;
  PetscCall(PetscPushErrorHandler(Quiet, NULL));
  PetscCall(KSPSetErrorIfNotConverged(ksp, error));
  ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  *result = 'e';
  if (ierr) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecDestroy(&r));
  *result = reason <= 0 ? '-' : (rnorm <= 10 * rtol * bnorm ? '+' : '!');
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewKSP(KSPType type, PCType inside, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED)); /* squares of solutions leave the range of double, too */
  PetscCall(KSPSetTolerances(*ksp, 1e-9, 1e-300, PETSC_CURRENT, 300));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCSINGLE));
  PetscCall(PCSingleGetPC(pc, &pc));
  PetscCall(PCSetType(pc, inside));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0)); /* coarse levels have to be of the right size, too; nothing for other types */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(const char *name, KSPType type, const char results[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-34s %-7s %s\n", name, type, results));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAssembled(DM da, Vec b, Vec x, PCType inside, KSPType type, PetscBool shell)
{
  char results[NSCALES + 1];
  char name[64];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < NSCALES; i++) {
    PetscReal scale = scales[i];
    PetscBool mg;
    Mat       A, S;
    KSP       ksp;

    PetscCall(NewKSP(type, inside, &ksp));
    PetscCall(DMCreateMatrix(da, &A));
    PetscCall(Assemble(da, scale, A));
    PetscCall(CreateShell(A, &S));
    PetscCall(PetscStrcmp(inside, PCMG, &mg));
    if (mg) {
      PetscCall(KSPSetDM(ksp, da));
      PetscCall(KSPSetComputeOperators(ksp, ComputeOperators, &scale));
    } else PetscCall(KSPSetOperators(ksp, shell ? S : A, shell ? S : A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Solve(ksp, PETSC_FALSE, b, x, &results[i]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&S));
    PetscCall(MatDestroy(&A));
  }
  results[NSCALES] = 0;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %s", shell ? "shell" : "assembled", inside));
  PetscCall(Report(name, type, results));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* right-hand sides from 1e-300 to 1e300 that PCSINGLE is told not to scale: floats make zeros or infinities of most of them */
static PetscErrorCode TestUnscaled(DM da, Vec b, KSPType type, PetscBool error)
{
  char results[NSCALES + 1], name[64];
  Mat  A;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Assemble(da, 1, A));
  for (PetscInt i = 0; i < NSCALES; i++) {
    KSP ksp;
    PC  pc;
    Vec c, y; /* errors leave them locked */

    PetscCall(NewKSP(type, PCPBJACOBI, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSingleSetScale(pc, PETSC_FALSE));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(VecDuplicate(b, &c));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(VecCopy(b, c));
    PetscCall(VecScale(c, scales[i]));
    PetscCall(Solve(ksp, error, c, y, &results[i]));
    PetscCall(VecDestroy(&c));
    PetscCall(VecDestroy(&y));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  results[NSCALES] = 0;
  PetscCall(PetscSNPrintf(name, sizeof(name), "right-hand side not scaled%s", error ? ", errors" : ""));
  PetscCall(Report(name, type, results));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a DMBOX with this diffusion and this length of an edge; Dirichlet values on a part of the boundary, where the operator's rows are those
   of the identity */
static PetscErrorCode TestBox(const char *name, PetscBool edges, PetscInt dim, PCType inside, KSPType type)
{
  char results[NSCALES + 1];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < NSCALES; i++) {
    const PetscInt  cells[] = {4, 4, 4};
    const PetscReal lower[] = {0, 0, 0}, diffusion[3] = {scales[i], scales[i], scales[i]}, upper[3] = {scales[i], scales[i], scales[i]};
    const DMBoxBoundaryType boundary[6] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN,   DMBOX_BOUNDARY_DIRICHLET,
                                           DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET};
    DM                      dm;
    Mat                     A;
    Vec                     b, x;
    KSP                     ksp;
    PetscErrorCode          ierr;

    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, 2, &dm));
    PetscCall(DMBoxSetBoundary(dm, boundary));
    if (edges) PetscCall(DMBoxSetBounds(dm, lower, upper));
    else PetscCall(DMBoxSetPoisson(dm, diffusion, 0));
    PetscCall(PetscPushErrorHandler(Quiet, NULL));
    ierr = DMSetUp(dm);
    PetscCall(PetscPopErrorHandler());
    results[i] = 'e'; /* lengths beyond what a DMBOX takes */
    if (ierr) {
      PetscCall(DMDestroy(&dm));
      continue;
    }
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(MatCreateVecs(A, &b, &x));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(NewKSP(type, inside, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Solve(ksp, PETSC_FALSE, b, x, &results[i]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  results[NSCALES] = 0;
  PetscCall(Report(name, type, results));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const KSPType types[]  = {KSPFGMRES, KSPCG};
  static const PCType  inside[] = {PCJACOBI, PCMG, PCLU, PCILU, PCGAMG};
  DM                   da;
  Vec                  b, x;
  PetscMPIInt          size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 5, 5, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSetRandom(b, NULL));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(inside); i++) {
      if (size > 1 && (i == 2 || i == 3)) continue; /* PETSc's LU and ILU are for one rank */
      PetscCall(TestAssembled(da, b, x, inside[i], types[t], PETSC_FALSE));
    }
    PetscCall(TestAssembled(da, b, x, PCJACOBI, types[t], PETSC_TRUE));
    PetscCall(TestUnscaled(da, b, types[t], PETSC_FALSE));
    PetscCall(TestUnscaled(da, b, types[t], PETSC_TRUE));
    PetscCall(TestBox("DMBOX, diffusion, patchmg", PETSC_FALSE, 2, PCPATCHMG, types[t]));
    PetscCall(TestBox("DMBOX, diffusion, jacobi", PETSC_FALSE, 2, PCJACOBI, types[t]));
    PetscCall(TestBox("DMBOX, edges in 1D, patchmg", PETSC_TRUE, 1, PCPATCHMG, types[t]));
    PetscCall(TestBox("DMBOX, edges in 3D, patchmg", PETSC_TRUE, 3, PCPATCHMG, types[t]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1
    args: -da_refine 2

  test:
    suffix: 2
    nsize: 2
    args: -da_refine 2

TEST*/
