static char help[] = "What PCPATCHMG and PCSINGLE do around their cycles: levels, changes, failures.\n\
  -test levels     : the same levels in whatever order a program says what it has to say, and inside of other preconditioners\n\
  -test observer   : options that only look do not change the levels\n\
  -test directions : a kept solver halves the directions that a new one halves, with the coefficients of the moment\n\
  -test mesh       : a kept solver gets a matrix of another mesh, or another matrix of the same one\n\
  -test reuse      : a frozen PCSINGLE does what it did, one that is not does what a new one does\n\
  -test singular   : an operator that is singular by accident is a failure of the preconditioner, from which it recovers\n\
  -test patches    : and so are patches that are not positive definite\n\
  -test constants  : no constant is left of what PCSINGLE gives, whatever the data\n\
  -test errors     : matrices and meshes are what they were after an error\n\
  -test blocks     : blocks of vectors, and the transpose\n\n";

#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include "catch.h"
#include "runtest.h"

/* ---- programs ---- */

/* a box of 8 cells a direction, poisson with this coefficient in the last direction */
static PetscErrorCode CreateBox(PetscReal last, PetscReal shift, DM *dm)
{
  const PetscInt cells[] = {8, 8, 8};
  PetscBool      poisson;
  char           name[32] = "poisson";

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_box_operator", name, sizeof(name), NULL));
  PetscCall(PetscStrcmp(name, "poisson", &poisson));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, dm));
  if (poisson && last != 0) PetscCall(DMBoxSetPoisson(*dm, (PetscReal[]){1, 1, last}, shift));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(*ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* iterations for a random solution, and its relative error; NULL for whoever does not ask */
static PetscErrorCode Solve(KSP ksp, Mat A, PetscInt *its, PetscReal *error)
{
  PetscRandom  random;
  MatNullSpace null;
  Vec          u, x, b;
  PetscReal    norm;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(u, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatGetNullSpace(A, &null));
  if (null) PetscCall(MatNullSpaceRemove(null, u));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  if (its) PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(VecAXPY(x, -1, u));
  PetscCall(VecNorm(u, NORM_2, &norm));
  if (error) PetscCall(VecNorm(x, NORM_2, error));
  if (error) *error /= norm;
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveNew(Mat A, PetscInt *its, PetscReal *error)
{
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, A, its, error));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Print(const char what[], PetscBool right)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, right ? "right" : "WRONG"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- levels ---- */

static PetscErrorCode LevelsOf(PC pc, PetscInt *n)
{
  PetscBool isit;
  PCType    type;
  KSP      *ksp;
  PC        inner;

  PetscFunctionBeginUser;
  PetscCall(PCGetType(pc, &type));
  *n = -1;
  PetscCall(PetscStrcmp(type, PCPATCHMG, &isit));
  if (isit) PetscCall(PCMGGetLevels(pc, n));
  PetscCall(PetscStrcmp(type, PCCOMPOSITE, &isit));
  if (isit) {
    PetscCall(PCCompositeGetPC(pc, 0, &inner));
    PetscCall(LevelsOf(inner, n));
  }
  PetscCall(PetscStrcmp(type, PCFIELDSPLIT, &isit));
  if (isit) {
    PetscCall(PCFieldSplitGetSubKSP(pc, NULL, &ksp));
    PetscCall(KSPGetPC(ksp[1], &inner));
    PetscCall(LevelsOf(inner, n));
    PetscCall(PetscFree(ksp));
  }
  PetscCall(PetscStrcmp(type, PCKSP, &isit));
  if (isit) {
    KSP one;

    PetscCall(PCKSPGetKSP(pc, &one));
    PetscCall(KSPGetPC(one, &inner));
    PetscCall(LevelsOf(inner, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 0: options before operators; 1: after them; 2: no options; 3: with the DM, 4: which has its own levels; 5: without a DM, by SNES */
static PetscErrorCode OrderLevels(DM dm, Mat A, int order, PetscInt *n, PetscInt *its)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (order == 3) {
    PetscCall(KSPSetDM(ksp, dm));
    PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  }
  if (order > 0) PetscCall(KSPSetOperators(ksp, A, A));
  if (order != 2) PetscCall(KSPSetFromOptions(ksp));
  else PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
  PetscCall(Solve(ksp, A, its, NULL));
  PetscCall(LevelsOf(pc, n));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the second of two blocks on the diagonal */
static PetscErrorCode SplitLevels(Mat A, PetscInt *n)
{
  Mat nest, blocks[4] = {A, NULL, NULL, A};
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, blocks, &nest));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "split_"));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetOperators(ksp, nest, nest));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCFIELDSPLIT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, nest, NULL, NULL));
  PetscCall(LevelsOf(pc, n));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&nest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OtherLevels(Mat A, const char prefix[], PetscInt *n)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, A, NULL, NULL));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(LevelsOf(pc, n));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLevels(void)
{
  PetscInt n[4], its[4], m;
  DM       dm;
  Mat      A;
  char     what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, "-pc_patchmg_coarse_eq_limit 0"));
  PetscCall(PetscOptionsInsertString(NULL, "-split_fieldsplit_pc_type patchmg -split_fieldsplit_ksp_type preonly"));
  PetscCall(PetscOptionsInsertString(NULL, "-split_fieldsplit_pc_patchmg_coarse_eq_limit 0"));
  PetscCall(PetscOptionsInsertString(NULL, "-sum_pc_type composite -sum_pc_composite_pcs patchmg,none"));
  PetscCall(PetscOptionsInsertString(NULL, "-sum_sub_0_pc_patchmg_coarse_eq_limit 0"));
  PetscCall(PetscOptionsInsertString(NULL, "-ksp_pc_type ksp -ksp_ksp_pc_type patchmg -ksp_ksp_ksp_type preonly"));
  PetscCall(PetscOptionsInsertString(NULL, "-ksp_ksp_pc_patchmg_coarse_eq_limit 0"));
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  for (int order = 3; order >= 0; order--) {
    PetscCall(OrderLevels(dm, A, order, &n[order], &its[order]));
    PetscCall(PetscSNPrintf(what, sizeof(what), "order %d", order));
    PetscCall(Print(what, (PetscBool)(n[order] == n[3] && n[3] > 1 && its[order] == its[3])));
  }
  PetscCall(SplitLevels(A, &m));
  PetscCall(Print("fieldsplit", (PetscBool)(m == n[3])));
  PetscCall(OtherLevels(A, "sum_", &m));
  PetscCall(Print("composite", (PetscBool)(m == n[3])));
  PetscCall(OtherLevels(A, "ksp_", &m));
  PetscCall(Print("ksp", (PetscBool)(m == n[3])));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- observers ---- */

static PetscErrorCode TestObserver(void)
{
  static const char *const looks[] = {"-mg_coarse_ksp_monitor_pause_final 0", "-mg_levels_ksp_monitor_true_residual ascii:/dev/null",
                                      "-mg_levels_ksp_view ascii:/dev/null", "-mg_levels_2_ksp_converged_reason ascii:/dev/null",
                                      "-pc_mg_log"};
  static const char *const acts[]  = {"-mg_levels_ksp_max_it 2", "-mg_coarse_pc_type patchfd", "-pc_mg_type full",
                                      "-mg_fine_ksp_type richardson"};
  PetscInt                 n[2], its;
  DM                       dm;
  Mat                      A;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(looks) + PETSC_STATIC_ARRAY_LENGTH(acts); i++) {
    const PetscBool look   = (PetscBool)(i < PETSC_STATIC_ARRAY_LENGTH(looks));
    const char     *option = look ? looks[i] : acts[i - PETSC_STATIC_ARRAY_LENGTH(looks)];
    char           *name[2];

    PetscCall(OrderLevels(dm, A, 1, &n[0], &its));
    PetscCall(PetscOptionsInsertString(NULL, option));
    PetscCall(OrderLevels(dm, A, 1, &n[1], &its));
    PetscCall(Print(option, (PetscBool)(n[0] == 1 && (n[1] == 1) == look)));
    PetscCall(PetscStrallocpy(option, &name[0]));
    if (strchr(name[0], ' ')) *strchr(name[0], ' ') = 0;
    PetscCall(PetscOptionsClearValue(NULL, name[0]));
    PetscCall(PetscFree(name[0]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- directions ---- */

static PetscErrorCode TestDirections(void)
{
  const PetscReal last[] = {1, 1e-3, 1e3, 1};
  PetscInt        its, fresh;
  PetscReal       error;
  DM              dm;
  Mat             A;
  KSP             ksp;
  char            what[64];
  PetscBool       withdm = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-with_dm", &withdm, NULL));
  PetscCall(PetscOptionsInsertString(NULL, "-pc_patchmg_coarse_eq_limit 0"));
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(CreateSolver(&ksp));
  if (withdm) PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetFromOptions(ksp));
  for (int i = 0; i < 4; i++) {
    PetscCall(DMBoxSetPoisson(dm, (PetscReal[]){1, 1, last[i]}, 0));
    PetscCall(MatBoxUpdate(A));
    PetscCall(Solve(ksp, A, &its, &error));
    PetscCall(SolveNew(A, &fresh, NULL));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%g in the last direction", (double)last[i]));
    PetscCall(Print(what, (PetscBool)(its <= fresh + 1 && error < 1e-6)));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- another mesh ---- */

static PetscErrorCode TestMesh(void)
{
  PetscInt  its, fresh;
  PetscReal error;
  DM        dm[2];
  Mat       A[3];
  KSP       ksp;
  PetscBool withdm = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, "-pc_patchmg_coarse_eq_limit 0"));
  for (int i = 0; i < 2; i++) {
    PetscCall(CreateBox(i ? 100 : 1, 0, &dm[i]));
    PetscCall(DMCreateMatrix(dm[i], &A[i]));
  }
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPSetFromOptions(ksp));
  for (int i = 0; i < 4; i++) {
    PetscCall(Solve(ksp, A[i % 2], &its, &error));
    PetscCall(SolveNew(A[i % 2], &fresh, NULL));
    PetscCall(Print(i % 2 ? "the other mesh" : "the first mesh", (PetscBool)(its <= fresh && error < 1e-6)));
  }
  PetscCall(KSPDestroy(&ksp));
  /* other numbers in another matrix of one mesh: residuals must not be those of the first one */
  for (int i = 0; i < 2; i++, withdm = PETSC_TRUE) {
    PetscCall(CreateSolver(&ksp));
    if (withdm) PetscCall(KSPSetDM(ksp, dm[0]));
    if (withdm) PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Solve(ksp, A[0], NULL, NULL));
    PetscCall(MatDuplicate(A[0], MAT_COPY_VALUES, &A[2]));
    PetscCall(MatScale(A[2], 100));
    PetscCall(Solve(ksp, A[2], &its, &error));
    PetscCall(SolveNew(A[2], &fresh, NULL));
    PetscCall(Print(withdm ? "another matrix, with the DM" : "another matrix", (PetscBool)(its <= fresh && error < 1e-6)));
    PetscCall(MatDestroy(&A[2]));
    PetscCall(KSPDestroy(&ksp));
  }
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&dm[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- reuse ---- */

static PetscErrorCode Same(Vec x, Vec y, PetscBool *same)
{
  PetscReal norm, difference;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(y, NORM_2, &difference));
  PetscCall(VecAXPY(y, 1, x));
  *same = (PetscBool)(difference <= 1e-4 * norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 0: what there is; 1: another shift, frozen; 2: again; 3: not frozen any more */
static PetscErrorCode TestReuse(void)
{
  DM        dm;
  Mat       A;
  KSP       ksp;
  PC        pc, fresh;
  Vec       b, y[5];
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, NULL, &b));
  for (int i = 0; i < 5; i++) PetscCall(VecDuplicate(b, &y[i]));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSINGLE));
  PetscCall(KSPSetFromOptions(ksp));
  for (int i = 0; i < 4; i++) {
    if (i && i < 3) PetscCall(MatScale(A, 16));
    PetscCall(KSPSetReusePreconditioner(ksp, (PetscBool)(i == 1 || i == 2)));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCApply(pc, b, y[i]));
  }
  for (int i = 1; i < 3; i++) {
    PetscCall(Same(y[0], y[i], &same));
    PetscCall(Print("frozen", same));
  }
  PetscCall(PCCreate(PETSC_COMM_WORLD, &fresh));
  PetscCall(PCSetOperators(fresh, A, A));
  PetscCall(PCSetType(fresh, PCSINGLE));
  PetscCall(PCSetFromOptions(fresh));
  PetscCall(PCApply(fresh, b, y[4]));
  PetscCall(Same(y[4], y[3], &same));
  PetscCall(Print("not frozen", same));
  for (int i = 0; i < 5; i++) PetscCall(VecDestroy(&y[i]));
  PetscCall(PCDestroy(&fresh));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- singular by accident ---- */

/* a shift, -shift of which is an eigenvalue, and then none */
static PetscErrorCode TestSingular(void)
{
  const PetscReal    pi2     = PETSC_PI * PETSC_PI;
  PetscReal          shift[] = {0, -3 * pi2, 0, -6 * pi2, 1}, error;
  KSPConvergedReason reason;
  PetscMPIInt        failed, all, size;
  DM                 dm;
  Mat                A;
  KSP                ksp;
  char               what[64];

  PetscFunctionBeginUser;
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPSetFromOptions(ksp));
  for (int i = 0; i < 5; i++) {
    PetscCall(DMBoxSetPoisson(dm, (PetscReal[]){1, 1, 1}, shift[i]));
    PetscCall(MatBoxUpdate(A));
    PetscCall(Solve(ksp, A, NULL, &error));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    failed = reason == KSP_DIVERGED_PC_FAILED;
    PetscCallMPI(MPIU_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(PetscSNPrintf(what, sizeof(what), "shift %.3g", (double)shift[i]));
    PetscCall(Print(what, shift[i] < 0 ? (PetscBool)(all == size) : (PetscBool)(all == 0 && error < 1e-6)));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPatches(void)
{
  KSPConvergedReason reason;
  PetscErrorCode     ierr;
  DM                 dm;
  Mat                A;
  KSP                ksp;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(0, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, A, NULL, NULL));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Print("a reason", (PetscBool)(reason == KSP_DIVERGED_PC_FAILED)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  CATCH(ierr, Solve(ksp, A, NULL, NULL));
  PetscCall(Print("or an error", (PetscBool)(ierr && lastcode == PETSC_ERR_MAT_LU_ZRPVT)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- constants ---- */

static PetscErrorCode TestConstants(void)
{
  PetscReal   norm;
  PetscScalar sum;
  PetscInt    n;
  DM          dm;
  Mat         A;
  PC          pc;
  Vec         b, y;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &y, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSINGLE));
  PetscCall(PCSetFromOptions(pc));
  for (int transpose = 0; transpose < 2; transpose++) {
    if (transpose) PetscCall(PCApplyTranspose(pc, b, y));
    else PetscCall(PCApply(pc, b, y));
    PetscCall(VecSum(y, &sum));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(VecGetSize(y, &n));
    norm *= PetscSqrtReal((PetscReal)n);
    PetscCall(Print(transpose ? "PCApplyTranspose()" : "PCApply()", (PetscBool)(norm > 0 && PetscAbsScalar(sum) <= 1e-13 * norm)));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- after an error ---- */

static PetscBool fail;

static PetscErrorCode ApplyOrFail(PETSC_UNUSED PC pc, Vec x, Vec y)
{
  PetscFunctionBeginUser;
  PetscCheck(!fail, PETSC_COMM_SELF, PETSC_ERR_USER, "as it was asked for");
  PetscCall(VecCopy(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an assembled matrix inside PCSINGLE, whose Vecs are of another type while it is at work */
static PetscErrorCode ErrorInSingle(Mat A)
{
  PetscErrorCode ierr;
  PC             pc, inner;
  Vec            b, y;
  VecType        before, after;
  PetscBool      same;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &y, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatGetVecType(A, &before));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSINGLE));
  PetscCall(PCSingleGetPC(pc, &inner));
  PetscCall(PCSetType(inner, PCSHELL));
  PetscCall(PCShellSetApply(inner, ApplyOrFail));
  PetscCall(PCSetUp(pc));
  fail = PETSC_TRUE;
  CATCH(ierr, PCApply(pc, b, y));
  fail = PETSC_FALSE;
  PetscCall(MatGetVecType(A, &after));
  PetscCall(PetscStrcmp(before, after, &same));
  PetscCall(Print("an error in PCSINGLE", (PetscBool)(ierr && same)));
  PetscCall(VecDestroy(&y));
  PetscCall(MatCreateVecs(A, &y, NULL));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)y, &same, VECSINGLE, VECSINGLECUDA, ""));
  PetscCall(Print("vectors after it", (PetscBool)!same));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* null spaces of a singular matrix, its own and its transpose's, are there again after a cycle and after an error in one */
static PetscErrorCode ErrorInCycle(Mat A)
{
  PetscErrorCode ierr;
  MatNullSpace   null[2], now[2];
  KSP            ksp, smoother;
  PC             pc, inner;
  Vec            b, y;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &y, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null[1]));
  PetscCall(MatSetTransposeNullSpace(A, null[1]));
  PetscCall(MatNullSpaceDestroy(&null[1]));
  PetscCall(MatGetNullSpace(A, &null[0]));
  PetscCall(MatGetTransposeNullSpace(A, &null[1]));
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetUp(ksp));
  for (int i = 0; i < 2; i++) {
    if (i) { /* a smoother that fails */
      PetscCall(PCMGGetSmoother(pc, 1, &smoother));
      PetscCall(KSPGetPC(smoother, &inner));
      PetscCall(PCSetType(inner, PCSHELL));
      PetscCall(PCShellSetApply(inner, ApplyOrFail));
      fail = PETSC_TRUE;
    }
    CATCH(ierr, PCApply(pc, b, y));
    fail = PETSC_FALSE;
    PetscCall(MatGetNullSpace(A, &now[0]));
    PetscCall(MatGetTransposeNullSpace(A, &now[1]));
    PetscCall(Print(i ? "an error in a cycle" : "a cycle", (PetscBool)((i == 1) == (ierr != 0) && now[0] == null[0] && now[1] == null[1])));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(void)
{
  DM  dm;
  Mat A, B;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(ErrorInSingle(B));
  PetscCall(ErrorInCycle(A));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- blocks and the transpose ---- */

/* the largest |b - A x| / |b| of the columns of B and X, or without A the largest |x - M b| / |M b| */
static PetscErrorCode CheckColumns(const char *what, Mat A, PC pc, Mat B, Mat X, PetscReal tol)
{
  PetscReal norm, error, largest = 0;
  PetscInt  columns;
  Vec       x, b, r;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(B, NULL, &r));
  PetscCall(MatGetSize(B, NULL, &columns));
  for (PetscInt i = 0; i < columns; i++) {
    PetscCall(MatDenseGetColumnVecRead(X, i, &x));
    PetscCall(MatDenseGetColumnVecRead(B, i, &b));
    if (!A) PetscCall(PCApply(pc, b, r));
    PetscCall(VecNorm(A ? b : r, NORM_2, &norm));
    if (A) PetscCall(MatResidual(A, b, x, r));
    else PetscCall(VecAXPY(r, -1, x));
    PetscCall(VecNorm(r, NORM_2, &error));
    largest = PetscMax(largest, error / norm);
    PetscCall(MatDenseRestoreColumnVecRead(B, i, &b));
    PetscCall(MatDenseRestoreColumnVecRead(X, i, &x));
  }
  PetscCall(Print(what, (PetscBool)(largest < tol)));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (M x, y) = (x, M' y) */
static PetscErrorCode CheckTranspose(PC pc, Mat A, MatNullSpace null)
{
  PetscScalar dot[2];
  Vec         x[2], y[2];

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) {
    PetscCall(MatCreateVecs(A, &x[i], &y[i]));
    PetscCall(VecSetRandom(x[i], NULL));
    if (null) PetscCall(MatNullSpaceRemove(null, x[i]));
  }
  PetscCall(PCApply(pc, x[0], y[0]));
  PetscCall(PCApplyTranspose(pc, x[1], y[1]));
  for (int i = 0; i < 2; i++) PetscCall(VecDot(y[i], x[1 - i], &dot[i]));
  PetscCall(Print("PCApplyTranspose()", (PetscBool)(PetscAbsScalar(dot[0] - dot[1]) <= 1e-10 * PetscAbsScalar(dot[0]))));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&y[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBlocks(void)
{
  const PetscInt columns = 3;
  PetscInt       n, N;
  DM             dm;
  Mat            A, X, B;
  KSP            ksp;
  PC             pc;
  Vec            b;
  MatNullSpace   null;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, columns, NULL, &X));
  PetscCall(MatSetRandom(X, NULL));
  PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &B));
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatGetNullSpace(A, &null));
  for (PetscInt i = 0; i < columns && null; i++) {
    PetscCall(MatDenseGetColumnVec(B, i, &b));
    PetscCall(MatNullSpaceRemove(null, b));
    PetscCall(MatDenseRestoreColumnVec(B, i, &b));
  }
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(CheckColumns("KSPMatSolve()", A, NULL, B, X, 1e-8));
  PetscCall(PCMatApply(pc, B, X)); /* each column of a block as it would be by itself */
  PetscCall(CheckColumns("PCMatApply()", NULL, pc, B, X, 1e-12));
  PetscCall(CheckTranspose(pc, A, null));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the table of levels, which changes nothing */
static PetscErrorCode TestView(void)
{
  PetscReal error[2];
  PetscInt  its[2];
  KSP       ksp;
  DM        dm;
  Mat       A;
  PC        pc;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(1, 0, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(CreateSolver(&ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  for (int i = 0; i < 2; i++) {
    PetscCall(Solve(ksp, A, &its[i], &error[i]));
    if (i == 0) PetscCall(PCPatchMGViewLevels(pc, PETSC_VIEWER_STDOUT_WORLD));
  }
  PetscCall(Print("after the view", (PetscBool)(its[0] == its[1] && error[0] == error[1])));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("levels", {"levels", TestLevels}, {"observer", TestObserver}, {"directions", TestDirections}, {"mesh", TestMesh},
          {"reuse", TestReuse}, {"singular", TestSingular}, {"patches", TestPatches}, {"constants", TestConstants}, {"errors", TestErrors},
          {"blocks", TestBlocks}, {"view", TestView})

/*TEST

  test:
    suffix: levels
    nsize: {{1 2}}
    args: -test levels
  # several fields: full cycles
  test:
    suffix: levels_stokes
    args: -test levels -dm_box_operator stokes -dm_box_space rt -dm_box_degree 1 -dm_box_cells 4
    output_file: output/patchmg_levels.out

  test:
    suffix: observer
    args: -test observer

  test:
    suffix: directions
    nsize: {{1 2}}
    args: -test directions -each_with_dm false:true

  test:
    suffix: mesh
    nsize: {{1 2}}
    args: -test mesh

  # an operator of a DMBOX, and another matrix inside
  testset:
    args: -test reuse
    output_file: output/patchmg_reuse.out
    test:
      suffix: reuse
      args: -each_single_pc_patchmg_coarse_eq_limit 0:unlimited
    test:
      suffix: reuse_aij
      args: -dm_mat_type aij -single_pc_type jacobi

  # fast diagonalization: of the coarsest mesh, of all, of a slab on each rank; in single precision; on lines that are not folded
  testset:
    args: -test singular
    output_file: output/patchmg_singular.out
    test:
      suffix: singular
      nsize: {{1 2}}
      args: -dm_box_degree 6
    test:
      suffix: singular_coarse
      nsize: {{1 2}}
      args: -dm_box_degree 10 -dm_box_cells 4 -pc_patchmg_coarse_eq_limit 0
    test:
      suffix: singular_dgq
      nsize: 2
      args: -dm_box_space dgq -dm_box_degree 7 -dm_box_cells 4
    test:
      suffix: singular_single
      args: -dm_box_degree 6 -pc_type single

  test:
    suffix: patches
    nsize: {{1 2}}
    args: -malloc_dump 0 -checkfunctionlist 0 -test patches -dm_box_space dgq -dm_box_penalty 0.2 -pc_patchmg_coarse_eq_limit 0 -mg_levels_pc_patchfd_local dense

  test:
    suffix: constants
    nsize: {{1 2}}
    args: -test constants -dm_box_boundary neumann -each_single_pc_patchmg_coarse_eq_limit 0:unlimited

  test:
    suffix: errors
    nsize: {{1 2}}
    args: -test errors -dm_box_boundary neumann -malloc_dump 0

  test:
    suffix: blocks
    nsize: {{1 2}}
    args: -test blocks -each_dm_box_boundary dirichlet:neumann -each_pc_patchmg_coarse_eq_limit 0:unlimited -each_ksp_type fgmres:richardson

  # without the times; the option shows the same
  testset:
    filter: cut -c 1-91
    test:
      suffix: view
      args: -test view -pc_patchmg_coarse_eq_limit 0
    test:
      suffix: view_diffusion
      args: -test view -dm_box_operator diffusion -dm_box_degree 2 -dm_box_cells 4 -pc_patchmg_view_levels

TEST*/
