static char help[] = "MATAIJSINGLE: every operation against the MATAIJ that it is made from, with random entries.\n\
  -test : products, sweeps, factors, reuse, types, levels, decay or pivot\n\
  -bs   : rows of a block\n\
  -missing : the pivot is no entry of the matrix\n\n";

#include "runtest.h"
#include "catch.h"
#include <petscdmda.h>

/* operations are wrong by more than this only if they are wrong; float has 6e-8 */
static const PetscReal tolerance = 1e-6;
static PetscRandom     dice;

static PetscErrorCode Number(PetscReal low, PetscReal high, PetscReal *x)
{
  PetscFunctionBeginUser;
  PetscCall(PetscRandomGetValueReal(dice, x));
  *x = low + (high - low) * *x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* random columns are anywhere, or within 5000 of the first column and of those at one and two thirds */
static PetscBool layers = PETSC_FALSE;

/* about n random entries in a row, some of which are empty, and the diagonal, if it should be dominant */
static PetscErrorCode CreateRandom(PetscInt m, PetscInt n, PetscInt bs, PetscInt entries, PetscBool dominant, PetscBool symmetric, Mat *A)
{
  PetscInt begin, end, N;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m * bs, n * bs, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetSize(*A, NULL, &N));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    if (dominant) PetscCall(MatSetValue(*A, r, r, 8.0 * (PetscReal)entries + (PetscReal)(r % 3), ADD_VALUES));
    for (PetscInt e = 0; e < (r % 5 ? entries : 0); e++) {
      PetscReal column, value;

      PetscCall(Number(0, (PetscReal)N - 1e-3, &column));
      PetscCall(Number(-1, 1, &value));
      if (layers) column = (e % 3) * (PetscReal)(N / 3) + column / (PetscReal)N * PetscMin(5000, N / 3);
      if (e % 2 && dominant) column = PetscMin((PetscReal)N - 1, (PetscReal)(r + e));
      PetscCall(MatSetValue(*A, r, (PetscInt)column, value, ADD_VALUES));
      if (symmetric) PetscCall(MatSetValue(*A, (PetscInt)column, r, value, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char what[], Vec x, Vec y)
{
  Vec       d;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(y, &d));
  PetscCall(VecSingleConvert(x, 1, d));
  PetscCall(VecAXPY(d, -1, y));
  PetscCall(VecNorm(d, NORM_INFINITY, &error));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  if (!(error <= tolerance * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %g of %g\n", what, (double)error, (double)norm));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x[0] and y[0] are Vecs of A, x[1] and y[1] of B, with the same random numbers; with `standard` all are double */
static PetscErrorCode CreatePair(Mat A, Mat B, PetscBool standard, Vec x[2], Vec y[2])
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x[0], &y[0]));
  PetscCall(MatCreateVecs(standard ? A : B, &x[1], &y[1]));
  PetscCall(VecSetRandom(x[0], dice));
  PetscCall(VecSetRandom(y[0], dice));
  PetscCall(VecSingleConvert(x[0], 1, x[1]));
  PetscCall(VecSingleConvert(y[0], 1, y[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPair(Vec x[2], Vec y[2])
{
  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(VecDestroy(&y[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define BOTH(call, result) \
  do { \
    for (int i = 0; i < 2; i++) { \
      const Mat M = i ? B : A; \
      (void)M; \
      PetscCall(call); \
    } \
    PetscCall(Compare(#call, result[1], result[0])); \
  } while (0)

static PetscErrorCode CheckProducts(Mat A, Mat B, PetscBool standard)
{
  Vec x[2], y[2], z[2];

  PetscFunctionBeginUser;
  PetscCall(CreatePair(A, B, standard, x, y));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(y[i], &z[i]));
  BOTH(MatMult(M, x[i], z[i]), z);
  BOTH(MatMultAdd(M, x[i], y[i], z[i]), z);
  BOTH(MatMultAdd(M, x[i], z[i], z[i]), z);
  BOTH(MatResidual(M, y[i], x[i], z[i]), z);
  BOTH(MatMultTranspose(M, y[i], x[i]), x);
  BOTH(MatMultTransposeAdd(M, y[i], x[i], x[i]), x);
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&z[i]));
  PetscCall(DestroyPair(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlockSize(PetscInt *bs)
{
  PetscFunctionBeginUser;
  *bs = 1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", bs, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* shapes, also with columns that 16 bits do not hold or only in windows, short and long rows, and new entries in the same place */
static PetscErrorCode TestProducts(void)
{
  PetscMPIInt rank;
  PetscInt    bs;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &dice));
  PetscCall(BlockSize(&bs));
  for (int shape = 0; shape < 9; shape++) {
    const PetscInt rows[] = {37, 0, 150, 300, 300, 200, 200, 80, 80}, columns[] = {37, 80, 11, 90000, 90000, 90000, 90000, 90000, 90000};
    const PetscInt entries[] = {9, 9, 9, 3, 3, 45, 45, 90, 150};
    Mat            A, B, C;
    PetscObjectId  id[2];

    layers = (PetscBool)(shape >= 4 && shape % 2 == 0);
    PetscCall(CreateRandom(rows[shape] + 13 * rank, columns[shape] + 7 * rank, bs, entries[shape], PETSC_FALSE, PETSC_FALSE, &A));
    PetscCall(MatConvert(A, MATAIJSINGLE, MAT_INITIAL_MATRIX, &B));
    for (int standard = 0; standard < 2; standard++) PetscCall(CheckProducts(A, B, (PetscBool)standard));
    PetscCall(PetscObjectGetId((PetscObject)B, &id[0]));
    for (int host = 0; host < 3; host++) { /* of three times the second one with entries from the host, also if A is on a GPU */
      PetscCall(MatScale(A, -3));
      PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
      PetscCall(MatScale(C, -3));
      PetscCall(CheckProducts(A, C, PETSC_FALSE));
      PetscCall(MatConvert(host % 2 ? C : A, MATAIJSINGLE, MAT_REUSE_MATRIX, &B));
      PetscCall(MatDestroy(&C));
      PetscCall(PetscObjectGetId((PetscObject)B, &id[1]));
      if (id[0] != id[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MAT_REUSE_MATRIX made another matrix\n"));
      PetscCall(CheckProducts(A, B, PETSC_FALSE));
    }
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscRandomDestroy(&dice));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sweeps of PETSc take rows with the same columns together, unless they are told not to */
static PetscErrorCode TestSweeps(void)
{
  Mat       A, B;
  Vec       x[2], y[2], d[2];
  PetscInt  bs;
  const int flags[] = {SOR_LOCAL_FORWARD_SWEEP, SOR_LOCAL_BACKWARD_SWEEP, SOR_LOCAL_SYMMETRIC_SWEEP};

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &dice));
  PetscCall(BlockSize(&bs));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_no_inode", NULL));
  PetscCall(CreateRandom(130, 130, bs, 6, PETSC_TRUE, PETSC_FALSE, &A));
  PetscCall(MatConvert(A, MATAIJSINGLE, MAT_INITIAL_MATRIX, &B));
  for (int standard = 0; standard < 2; standard++) {
    PetscCall(CreatePair(A, B, (PetscBool)standard, x, y));
    for (int f = 0; f < 3; f++) {
      for (int k = 0; k < 8; k++) {
        const int       flag  = flags[f] | (k & 1 ? SOR_ZERO_INITIAL_GUESS : 0);
        const PetscReal omega = k & 2 ? 0.8 : 1, shift = k & 4 ? 2 : 0;

        BOTH(MatSOR(M, y[i], omega, (MatSORType)flag, shift, 2, 2, x[i]), x);
      }
    }
    PetscCall(DestroyPair(x, y));
  }
  PetscCall(CreatePair(A, B, PETSC_FALSE, d, y));
  BOTH(MatGetDiagonal(M, d[i]), d);
  BOTH(MatGetRowMaxAbs(M, d[i], NULL), d);
  BOTH(MatGetRowSumAbs(M, d[i]), d);
  BOTH(MatGetRowSum(M, d[i]), d);
  PetscCall(DestroyPair(d, y));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscRandomDestroy(&dice));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one application of the preconditioner that the options name */
static PetscErrorCode CheckPC(Mat A, Mat B, const char options[], PetscBool transpose)
{
  Vec x[2], y[2];

  PetscFunctionBeginUser;
  PetscCall(CreatePair(A, B, PETSC_FALSE, x, y));
  PetscCall(PetscOptionsInsertString(NULL, options));
  for (int i = 0; i < 2; i++) {
    PC pc;

    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, i ? B : A, i ? B : A));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCApply(pc, y[i], x[i]));
    if (transpose) PetscCall(PCApplyTranspose(pc, x[i], y[i]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(Compare(options, x[1], x[0]));
  if (transpose) PetscCall(Compare(options, y[1], y[0]));
  PetscCall(DestroyPair(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFactors(void)
{
  const char *const lu[]       = {"-pc_type bjacobi -sub_pc_type ilu -sub_pc_factor_levels 0",
                                  "-sub_pc_factor_levels 2",
                                  "-sub_pc_factor_mat_ordering_type rcm",
                                  "-sub_pc_type lu",
                                  "-sub_pc_factor_mat_ordering_type natural",
                                  "-pc_type asm -sub_pc_factor_mat_ordering_type nd",
                                  "-pc_type pbjacobi",
                                  "-pc_type jacobi"};
  const char *const cholesky[] = {"-pc_type bjacobi -sub_pc_type icc -sub_pc_factor_levels 0", "-sub_pc_factor_levels 2",
                                  "-sub_pc_factor_mat_ordering_type rcm", "-sub_pc_type cholesky"};
  Mat               A, B;
  PetscInt          bs;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &dice));
  PetscCall(BlockSize(&bs));
  for (int symmetric = 0; symmetric < 2; symmetric++) {
    PetscCall(CreateRandom(120, 120, bs, 4, PETSC_TRUE, (PetscBool)symmetric, &A));
    if (bs > 1) { /* rows with the same columns */
      PetscCall(MatConvert(A, MATBAIJ, MAT_INPLACE_MATRIX, &A));
      PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
    }
    PetscCall(MatConvert(A, MATAIJSINGLE, MAT_INITIAL_MATRIX, &B));
    for (size_t i = 0; i < (symmetric ? PETSC_STATIC_ARRAY_LENGTH(cholesky) : PETSC_STATIC_ARRAY_LENGTH(lu)); i++)
      PetscCall(CheckPC(A, B, symmetric ? cholesky[i] : lu[i], (PetscBool)(!symmetric && i < 5)));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscRandomDestroy(&dice));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n x n, with one entry a row: the one of the last row in the given column */
static PetscErrorCode CreateSparse(PetscInt n, PetscInt last, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 1, NULL, 1, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) PetscCall(MatSetValue(*A, r, r == n - 1 ? last : r, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the entries of matrices of another size, with as many entries but one in another column, also of another rank, and of another type */
static PetscErrorCode TestReuse(void)
{
  const PetscInt n[] = {20, 19, 20, 20}, last[] = {1, 1, 0, 18};
  PetscErrorCode ierr;
  Mat            A, B, C;

  PetscFunctionBeginUser;
  PetscCall(CreateSparse(n[0], last[0], &A));
  PetscCall(MatConvert(A, MATAIJSINGLE, MAT_INITIAL_MATRIX, &B));
  for (int i = 0; i < 4; i++) {
    PetscCall(CreateSparse(n[i], last[i], &C));
    CATCH(ierr, MatConvert(C, MATAIJSINGLE, MAT_REUSE_MATRIX, &B));
    if (!i == !!ierr || !i == !!strstr(lastmessage, "MAT_REUSE_MATRIX"))
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "case %d: error %d: %s\n", i, (int)ierr, lastmessage));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &C));
  CATCH(ierr, MatConvert(A, MATAIJSINGLE, MAT_REUSE_MATRIX, &C));
  if (!strstr(lastmessage, "type")) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "another type: %s\n", lastmessage));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* from block types, and what it refuses */
static PetscErrorCode TestTypes(void)
{
  const char *const types[] = {MATBAIJ, MATSBAIJ};
  Mat               A, B, C;
  Vec               x, y;
  PetscMPIInt       size;
  PetscErrorCode    ierr;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &dice));
  PetscCall(CreateRandom(40, 40, 3, 4, PETSC_TRUE, PETSC_TRUE, &A));
  for (int t = 0; t < 2; t++) {
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(MatConvert(A, types[t], MAT_INITIAL_MATRIX, &C));
    PetscCall(MatConvert(C, MATAIJSINGLE, MAT_INITIAL_MATRIX, &B));
    PetscCall(CheckProducts(A, B, PETSC_FALSE));
    PetscCall(MatConvert(C, MATAIJSINGLE, MAT_REUSE_MATRIX, &B));
    PetscCall(CheckProducts(A, B, PETSC_FALSE));
    PetscCall(MatDestroy(&C));
    if (!t) PetscCall(MatDestroy(&B));
  }
  PetscCall(MatCreateVecs(B, &x, &y));
  CATCH(ierr, MatSOR(B, y, 1, SOR_EISENSTAT, 0, 1, 1, x));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", ierr ? lastmessage : "no error"));
  PetscCall(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_WORLD, PETSC_VIEWER_ASCII_INFO));
  if (size == 1) PetscCall(MatView(B, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscRandomDestroy(&dice));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- inside PCSINGLE ---- */

/* the Laplacian of a square times `scale`; with `singular`, fluxes are zero at the boundary */
static PetscErrorCode Assemble(DM da, PetscReal scale, PetscBool singular, Mat A)
{
  DMDALocalInfo i;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &i));
  PetscCall(MatZeroEntries(A));
  for (PetscInt r = 0; r < i.xm * i.ym; r++) {
    const MatStencil  row     = {.i = i.xs + r % i.xm, .j = i.ys + r / i.xm};
    const PetscScalar v[5]    = {4 * scale, -scale, -scale, -scale, -scale};
    const PetscInt    step[5] = {0, -1, 1, 0, 0};

    for (int e = 0; e < 5; e++) {
      const MatStencil col = {.i = row.i + step[e], .j = row.j + (e > 2 ? 2 * e - 7 : 0)};

      if (col.i >= 0 && col.j >= 0 && col.i < i.mx && col.j < i.my) {
        PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v[e], ADD_VALUES));
      } else if (singular) PetscCall(MatSetValuesStencil(A, 1, &row, 1, &row, &v[e], ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* on how many levels, or with which preconditioners without levels, is the matrix one of floats? */
static PetscErrorCode CountFloats(PC inner, PetscInt *floats, PetscInt *all)
{
  PetscBool mg, is;
  Mat       A;

  PetscFunctionBeginUser;
  *floats = 0;
  *all    = 1;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)inner, &mg, PCMG, PCGAMG, ""));
  if (mg) PetscCall(PCMGGetLevels(inner, all));
  for (PetscInt l = 0; l < *all; l++) {
    KSP smoother;

    if (mg) PetscCall(PCMGGetSmoother(inner, l, &smoother));
    if (mg) PetscCall(KSPGetOperators(smoother, NULL, &A));
    else PetscCall(PCGetOperators(inner, NULL, &A));
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATAIJSINGLE, &is));
    *floats += is;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the solver in double precision, or the one in floats, whose inner preconditioner has the same options */
static PetscErrorCode CreateSolver(DM da, Mat A, PetscBool single, KSP *ksp)
{
  PC pc, inner;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, single ? "s_" : "d_"));
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(*ksp, 1e-9, 0, PETSC_CURRENT, 300));
  PetscCall(KSPSetDM(*ksp, da));
  PetscCall(KSPSetDMActive(*ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  if (single) {
    PetscCall(PCSetType(pc, PCSINGLE));
    PetscCall(PCSingleGetPC(pc, &inner));
    PetscCall(PCSetOptionsPrefix(inner, "d_"));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations in double precision and in floats, with matrices of several sizes, one after the other. Double precision solves the first
   one only: the squares of the last ones are out of its range. `doubles` levels have no floats */
static PetscErrorCode CompareSolves(DM da, const char options[], PetscInt doubles)
{
  const PetscReal scales[] = {1, 2, 1e-300, 1e300};
  PetscInt        its[2];
  KSP             ksp[2];
  PC              pc, inner;
  Mat             A;
  Vec             b, x;
  MatNullSpace    null;
  PetscBool       singular = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-singular", &singular, NULL));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
  if (singular) PetscCall(MatSetNullSpace(A, null));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (int i = 0; i < 2; i++) PetscCall(CreateSolver(da, A, (PetscBool)i, &ksp[i]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(scales); k++) {
    PetscInt floats, all;

    PetscCall(Assemble(da, scales[k], singular, A));
    PetscCall(VecSetRandom(b, NULL));
    if (singular) PetscCall(MatNullSpaceRemove(null, b));
    for (int i = k ? 1 : 0; i < 2; i++) {
      PetscCall(KSPSolve(ksp[i], b, x));
      PetscCall(KSPGetIterationNumber(ksp[i], &its[i]));
    }
    PetscCall(KSPGetPC(ksp[1], &pc));
    PetscCall(PCSingleGetPC(pc, &inner));
    PetscCall(CountFloats(inner, &floats, &all));
    if (PetscAbsInt(its[0] - its[1]) > 1 || its[0] == 300 || all - floats != doubles)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "%s: matrix times %g: %" PetscInt_FMT " and %" PetscInt_FMT " iterations, %" PetscInt_FMT " of %" PetscInt_FMT
                            " levels in floats\n",
                            options, (double)scales[k], its[0], its[1], floats, all));
  }
  for (int i = 0; i < 2; i++) PetscCall(KSPDestroy(&ksp[i]));
  PetscCall(MatNullSpaceDestroy(&null));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLevels(void)
{
  const struct {
    const char *options;
    PetscInt    doubles;
  } cases[] = {{"-d_pc_type jacobi", 1},
               {"-d_pc_type sor", 0},
               {"-d_pc_type bjacobi -d_sub_pc_type icc", 0},
               {"-d_pc_type asm -d_sub_pc_type ilu", 0},
               {"-d_pc_type gamg", 1},
               {"-d_pc_type gamg -d_mg_levels_pc_type sor", 1},
               {"-d_pc_type mg -d_pc_mg_galerkin both -d_mg_levels_pc_type bjacobi -d_mg_levels_sub_pc_type ilu", 1},
               {"-d_pc_type mg -d_mg_levels_pc_type asm -d_mg_levels_sub_pc_type icc", 1},
               {"-d_pc_type mg -d_mg_levels_ksp_type gmres -d_mg_levels_pc_type pbjacobi", 1},
               {"-d_pc_type gamg -d_mg_levels_ksp_type richardson -d_mg_levels_pc_type sor -s_pc_single_coarse", 0},
               {"-d_pc_type gamg -singular -d_mg_levels_ksp_type chebyshev -d_mg_levels_pc_type jacobi", 0}};
  DM      da;
  MatType type;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 9, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMGetMatType(da, &type));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    /* in GPU memory there are products and the diagonal */
    if (strstr(type, "cusparse") && strcmp(cases[i].options, "-d_pc_type jacobi") && strcmp(cases[i].options, "-d_pc_type gamg")) continue;
    PetscCall(CompareSolves(da, cases[i].options, cases[i].doubles));
  }
  PetscCall(DMDestroy(&da));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A source in one place, from which solutions fall to a hundredth in each row, until the floats inside end: they are zero where they would
   have fewer digits, for which processors take many times as long */
static PetscErrorCode TestDecay(void)
{
  const PetscInt     n      = 60;
  const PetscScalar  row[3] = {-1, 100, -1};
  const PetscScalar *xa;
  PetscInt           begin, end, few = 0, many = 0;
  Mat                A;
  Vec                b, x;
  PC                 pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 3, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    const PetscInt col[3] = {r - 1, r, r < n - 1 ? r + 1 : -1};

    PetscCall(MatSetValues(A, 1, &r, 3, col, row, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetValue(b, 0, 1, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCSINGLE));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecGetArrayRead(x, &xa));
  for (PetscInt r = 0; r < end - begin; r++) {
    few += PetscAbsScalar(xa[r]) > 0 && PetscAbsScalar(xa[r]) < 1.1e-38;
    many += PetscAbsScalar(xa[r]) > 1e-37;
  }
  PetscCall(VecRestoreArrayRead(x, &xa));
#if !defined(__SSE__)
  few = 0;
#endif
  if (few || many < 15)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " numbers of few digits, %" PetscInt_FMT " of many\n", few, many));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a zero pivot on the last rank is a failure on all, and so is one that is missing */
static PetscErrorCode TestPivot(void)
{
  const PetscInt     n = 20;
  PetscMPIInt        size, rank;
  PetscBool          missing = PETSC_FALSE;
  KSPConvergedReason reason;
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  PC                 pc;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-missing", &missing, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(CreateSparse(n, n - 2, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  if (rank == size - 1 && !missing) PetscCall(MatSetValue(A, n - 1, n - 1, 0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSINGLE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason != KSP_DIVERGED_PC_FAILED) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ended with %s\n", KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("products", {"products", TestProducts}, {"sweeps", TestSweeps}, {"factors", TestFactors}, {"reuse", TestReuse},
          {"types", TestTypes}, {"levels", TestLevels}, {"decay", TestDecay}, {"pivot", TestPivot})

/*TEST

  testset:
    suffix: all
    nsize: {{1 2 4}}
    args: -each_bs 1:3
    output_file: output/ok.out
    test:
      suffix: products
      args: -test products
    test:
      suffix: sweeps
      args: -test sweeps
    test:
      suffix: factors
      args: -test factors

  test:
    suffix: levels
    nsize: {{1 3}}
    args: -test levels -da_refine 2
    output_file: output/ok.out

  testset:
    requires: cuda gpu
    output_file: output/ok.out
    nsize: {{1 2}}
    args: -use_gpu_aware_mpi 0
    test:
      suffix: products_cuda
      args: -test products -mat_type aijcusparse -bs {{1 3}}
    test:
      suffix: sweeps_cuda
      args: -test sweeps -mat_type aijcusparse -bs {{1 3}}
    test:
      suffix: levels_cuda
      args: -test levels -da_refine 2 -dm_mat_type aijcusparse -dm_vec_type cuda

  test:
    suffix: reuse
    nsize: {{1 3}}
    args: -test reuse
    output_file: output/ok.out

  test:
    suffix: decay
    args: -test decay -each_single_pc_type ilu:icc
    output_file: output/ok.out

  test:
    suffix: pivot
    nsize: {{1 3}}
    args: -test pivot -single_pc_type bjacobi -single_sub_pc_type ilu
    output_file: output/ok.out

  test:
    suffix: missing
    nsize: {{1 3}}
    args: -test pivot -missing -single_pc_type sor
    output_file: output/ok.out

  test:
    requires: !defined(PETSC_USE_64BIT_INDICES)
    suffix: types
    args: -test types

TEST*/
