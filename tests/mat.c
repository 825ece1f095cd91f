static char help
  [] = "Every operation that PETSc may ask of the matrices of a DMBOX: it is done, as with the assembled matrix, or refused by name.\n\n";

#include <petscpatchfd.h>
#include <petscts.h>
#include "catch.h"

static PetscInt  failures;
static PetscReal tol; /* of vectors, relative */

#define EXPECT(condition, what) \
  do { \
    if (!(condition)) { \
      failures++; \
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: not so: %s\n", what, #condition)); \
    } \
  } while (0)

/* numbers that depend on nothing but the global index */
static PetscErrorCode Fill(Vec x)
{
  PetscInt     first, end;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(x, &first, &end));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = first; i < end; i++) a[i - first] = PetscSinReal(1 + 0.7 * (PetscReal)i + 0.01 * (PetscReal)(i % 7));
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* vectors of any two types */
static PetscErrorCode Near(const char *what, Vec x, Vec y, PetscReal eps)
{
  const PetscScalar *ax, *ay;
  PetscInt           n;
  PetscReal          m[2] = {0, 0}; /* difference, size */

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &ax));
  PetscCall(VecGetArrayRead(y, &ay));
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal diff = PetscAbsScalar(ax[i] - ay[i]);

    m[0] = diff <= m[0] ? m[0] : diff; /* a NaN stays */
    m[1] = PetscMax(m[1], PetscAbsScalar(ay[i]));
  }
  PetscCall(VecRestoreArrayRead(x, &ax));
  PetscCall(VecRestoreArrayRead(y, &ay));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, m, 2, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  if (!(m[0] <= eps * m[1])) {
    failures++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: WRONG by %g of %g\n", what, (double)m[0], (double)m[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* every product of A is that of the assembled matrix B */
static PetscErrorCode Same(const char *what, Mat A, Mat B)
{
  Vec       x, y, v, z, bx, by, bv, bz;
  PetscInt  m, n;
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(MatCreateVecs(B, &bx, &by));
  PetscCall(VecDuplicate(x, &v));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(bx, &bv));
  PetscCall(VecDuplicate(by, &bz));
  PetscCall(Fill(x));
  PetscCall(Fill(bx));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(B, bx, by));
  PetscCall(Near(what, y, by, tol));
  PetscCall(Fill(z));
  PetscCall(Fill(bz));
  PetscCall(MatMultAdd(A, x, z, y));
  PetscCall(MatMultAdd(B, bx, bz, by));
  PetscCall(Near(what, y, by, tol));
  PetscCall(MatMultAdd(A, x, z, z));
  PetscCall(Near(what, z, by, tol));
  PetscCall(MatResidual(A, y, x, z));
  PetscCall(MatResidual(B, by, bx, bz));
  PetscCall(Near(what, z, bz, tol));
  PetscCall(Fill(y));
  PetscCall(Fill(by));
  PetscCall(MatMultTranspose(A, y, x));
  PetscCall(MatMultTranspose(B, by, bx));
  PetscCall(Near(what, x, bx, tol));
  PetscCall(MatMultHermitianTranspose(A, y, x));
  PetscCall(Near(what, x, bx, tol));
  PetscCall(Fill(v));
  PetscCall(Fill(bv));
  PetscCall(MatMultTransposeAdd(A, y, v, x));
  PetscCall(MatMultTransposeAdd(B, by, bv, bx));
  PetscCall(Near(what, x, bx, tol));
  PetscCall(MatMultHermitianTransposeAdd(A, y, v, x));
  PetscCall(Near(what, x, bx, tol));
  PetscCall(MatHasOperation(A, MATOP_GET_DIAGONAL, &has));
  if (has && m == n) {
    PetscCall(MatGetDiagonal(A, x));
    PetscCall(MatGetDiagonal(B, bx));
    PetscCall(Near(what, x, bx, tol));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&bx));
  PetscCall(VecDestroy(&by));
  PetscCall(VecDestroy(&bv));
  PetscCall(VecDestroy(&bz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* copies live on without the original, and the original without the copies; B is A assembled */
static PetscErrorCode TestLifetime(DM coarse, DM fine, Mat B, PetscBool interpolation)
{
  PetscFunctionBeginUser;
  for (int first = 0; first < 2; first++) {
    Mat A, C, D;

    if (interpolation) PetscCall(DMCreateInterpolation(coarse, fine, &A, NULL));
    else PetscCall(DMCreateMatrix(fine, &A));
    if (first) PetscCall(Same("the original", A, B)); /* with and without plans */
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
    PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &D));
    PetscCall(Same("a copy", C, B));
    PetscCall(MatDestroy(first ? &A : &C));
    PetscCall(Same("a copy of a copy", D, B));
    PetscCall(Same("what is left", first ? C : A, B));
    PetscCall(MatDestroy(&D));
    PetscCall(Same("what is left", first ? C : A, B));
    PetscCall(MatDestroy(first ? &C : &A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewPC(Mat A, PCPatchFDPatch patch, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCPATCHFD));
  PetscCall(PCPatchFDSetPatch(*pc, patch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* smoother and direct solve with s A are 1 / s times those with A; the direct solve inverts */
static PetscErrorCode TestScaledSolvers(Mat A, PetscScalar s)
{
  Mat C;
  Vec b, x, y;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatCreateVecs(A, &b, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(Fill(b));
  for (int patch = 0; patch < 2; patch++) {
    PC pa, pc;

    PetscCall(NewPC(A, patch ? PC_PATCHFD_PATCH_BOX : PC_PATCHFD_PATCH_VERTEX, &pa));
    PetscCall(NewPC(C, patch ? PC_PATCHFD_PATCH_BOX : PC_PATCHFD_PATCH_VERTEX, &pc));
    PetscCall(PCApply(pa, b, x));
    PetscCall(PCApply(pc, b, y));
    PetscCall(Near("a solver with a copy", y, x, tol));
    PetscCall(MatScale(C, s)); /* the plans that the PC has are no longer right */
    PetscCall(PCApply(pc, b, y));
    PetscCall(VecScale(x, 1 / s));
    PetscCall(Near(patch ? "direct solve with a scaled operator" : "smoother of a scaled operator", y, x, 100 * tol));
    if (patch) {
      Vec z;

      PetscCall(VecDuplicate(x, &z));
      PetscCall(MatMult(C, y, z));
      PetscCall(PCApply(pc, z, x));
      PetscCall(Near("direct solve after a product with a scaled operator", x, y, 1000 * tol));
      PetscCall(VecDestroy(&z));
    }
    PetscCall(MatScale(C, 1 / s));
    PetscCall(PCDestroy(&pa));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a KSP does with its operator before a solve */
static PetscErrorCode SetUpKSP(DM dm, Mat A)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C and its copy become zero: products are right, solvers refuse */
static PetscErrorCode TestZero(Mat A, Mat B, Mat C, Mat BC)
{
  PC  pc;
  Vec x, y;

  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(C));
  PetscCall(MatZeroEntries(BC));
  PetscCall(MatCreateVecs(C, &x, &y));
  PetscCall(Fill(x));
  PetscCall(Same("MatZeroEntries", C, BC));
  for (int patch = 0; patch < 2; patch++) {
    PetscCall(NewPC(C, patch ? PC_PATCHFD_PATCH_BOX : PC_PATCHFD_PATCH_VERTEX, &pc));
    FAILS(PCApply(pc, x, y), 0, "singular");
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatAXPY(C, 1, A, SAME_NONZERO_PATTERN));
  PetscCall(Same("MatAXPY to zero", C, B));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a symmetric F, which becomes 3 F, as assembled BF does; C: its transpose */
static PetscErrorCode TestTranspose(Mat *F, Mat BF, Mat *C)
{
  PetscBool flag;

  PetscFunctionBeginUser;
  PetscCall(MatTranspose(*F, MAT_INPLACE_MATRIX, F));
  PetscCall(Same("MatTranspose in place", *F, BF));
  PetscCall(MatTranspose(*F, MAT_INITIAL_MATRIX, C));
  PetscCall(Same("MatTranspose", *C, BF));
  PetscCall(MatScale(*F, 3));
  PetscCall(MatScale(BF, 3));
  PetscCall(MatTranspose(*F, MAT_REUSE_MATRIX, C));
  PetscCall(Same("MatTranspose again", *C, BF));
  PetscCall(MatIsSymmetric(*C, 1e-10, &flag));
  EXPECT(flag, "MatIsSymmetric");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatBoxUpdate() starts from the DM's coefficients; a KSP only if those have changed (before PETSc 3.26 it makes its own matrix).  B: the
   matrix with those of now, assembled; BF: 3 times the one with D and shift; C: any other one of the DM */
static PetscErrorCode TestUpdate(DM dm, Mat B, const PetscReal D[], PetscReal shift, Mat BF, Mat C)
{
  PetscReal old[3], oldshift;
  Mat       BC;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetPoisson(dm, old, &oldshift));
  PetscCall(MatBoxUpdate(C));
  PetscCall(Same("MatBoxUpdate of a copy without values", C, B));
  PetscCall(MatScale(C, 7));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &BC));
  PetscCall(MatScale(BC, 7));
  for (int changed = 0; changed < 2 && PETSC_VERSION_GE(3, 26, 0); changed++) {
    if (changed) PetscCall(DMBoxSetPoisson(dm, D, shift));
    PetscCall(SetUpKSP(dm, C));
    if (changed) PetscCall(MatScale(C, 3));
    PetscCall(Same(changed ? "KSPSetUp after DMBoxSetPoisson" : "KSPSetUp with a scaled operator", C, changed ? BF : BC));
  }
  PetscCall(DMBoxSetPoisson(dm, old, oldshift));
  PetscCall(MatBoxUpdate(C));
  PetscCall(Same("MatBoxUpdate", C, B));
  PetscCall(MatDestroy(&BC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* operators are a linear space: B is A assembled */
static PetscErrorCode TestAlgebra(DM dm, Mat A, Mat B)
{
  const PetscReal D[3] = {3, 0.5, 2};
  PetscReal       old[3], shift;
  DM              other;
  Mat             C, F, BC, BF;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetPoisson(dm, old, &shift));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &BC));
  for (int i = 0; i < 3; i++) {
    const PetscScalar s[] = {2, -0.25, 1e-3};

    PetscCall(MatScale(C, s[i]));
    PetscCall(MatScale(BC, s[i]));
    PetscCall(Same("MatScale", C, BC));
    PetscCall(TestScaledSolvers(A, s[i]));
  }
  PetscCall(MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, &F));
  PetscCall(Same("the scaled matrix, assembled", F, BC));
  PetscCall(MatDestroy(&F));

  /* another operator on the same mesh, of another DM */
  PetscCall(DMClone(dm, &other));
  PetscCall(DMBoxSetPoisson(other, D, shift + 5));
  PetscCall(DMCreateMatrix(other, &F));
  PetscCall(MatConvert(F, MATAIJ, MAT_INITIAL_MATRIX, &BF));
  PetscCall(MatAXPY(C, -0.5, F, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(BC, -0.5, BF, SAME_NONZERO_PATTERN));
  PetscCall(Same("MatAXPY", C, BC));
  PetscCall(MatAYPX(C, 0.3, F, SAME_NONZERO_PATTERN));
  PetscCall(MatAYPX(BC, 0.3, BF, SAME_NONZERO_PATTERN));
  PetscCall(Same("MatAYPX", C, BC));
  PetscCall(MatAXPY(C, 2, C, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(BC, 2, BC, SAME_NONZERO_PATTERN));
  PetscCall(Same("MatAXPY with itself", C, BC));
  PetscCall(MatCopy(F, C, SAME_NONZERO_PATTERN));
  PetscCall(Same("MatCopy", C, BF));
  PetscCall(MatDestroy(&C));
  PetscCall(TestTranspose(&F, BF, &C));

  PetscCall(TestZero(A, B, C, BC));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(Same("a copy without values", C, BC));
  FAILS(MatScale(A, INFINITY), 0, "finite");
  PetscCall(MatScale(A, 1));

  PetscCall(TestUpdate(dm, B, D, shift + 5, BF, C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&BC));
  PetscCall(MatDestroy(&BF));
  PetscCall(DMDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an interpolation has no algebra; an operator has, with its own kind */
static PetscErrorCode TestRefusedAlgebra(Mat A, Mat B, PetscBool interpolation)
{
  PetscInt    n;
  Mat         C;
  Vec         l;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, NULL, &l));
  if (interpolation) {
    FAILS(MatScale(A, 2), 0, "MatScale");
    FAILS(MatAXPY(A, 2, B, SAME_NONZERO_PATTERN), 0, "MatAXPY");
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
    FAILS(MatAXPY(A, 2, C, SAME_NONZERO_PATTERN), 0, "MatAXPY");
    FAILS(MatAYPX(A, 1, C, SAME_NONZERO_PATTERN), 0, "MatAXPY");
    FAILS(MatCopy(A, C, SAME_NONZERO_PATTERN), 0, "MatCopy");
    PetscCall(MatDestroy(&C));
    FAILS(MatZeroEntries(A), 0, "zeroentries");
    FAILS(MatTranspose(A, MAT_INITIAL_MATRIX, &C), 0, "transpose");
    FAILS(MatGetDiagonal(A, l), 0, "");
  } else {
    FAILS(MatAXPY(A, 2, B, SAME_NONZERO_PATTERN), 0, "MatAXPY");
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, NULL, &C));
    FAILS(MatAXPY(A, 2, C, SAME_NONZERO_PATTERN), 0, "MatAXPY");
    FAILS(MatCopy(A, C, SAME_NONZERO_PATTERN), 0, "MatCopy");
    PetscCall(MatDestroy(&C));
    if (size == 1) {
      PetscCall(MatGetDiagonalBlock(A, &C));
      EXPECT(C == A, "MatGetDiagonalBlock");
    } else FAILS(MatGetDiagonalBlock(A, &C), 0, "parallel");
  }
  PetscCall(VecDestroy(&l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what would need entries */
static PetscErrorCode TestRefused(Mat A, PetscBool interpolation)
{
  const PetscInt     row = 0;
  const PetscScalar  one = 1;
  const PetscInt    *cols;
  const PetscScalar *vals;
  PetscInt           ncols, first, end;
  Mat                C;
  Vec                l, r;
  IS                 is, overlap;
  MatInfo            info;
  PetscRandom        random;
  PetscReal          norm;
  PetscBool          flag;
  PetscViewer        viewer;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(Fill(l));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(MatHasOperation(A, MATOP_ZERO_ROWS, &flag));
  EXPECT(!flag, "MatHasOperation");
  PetscCall(MatHasOperation(A, MATOP_SCALE, &flag));
  EXPECT(flag == !interpolation, "MatHasOperation");
  FAILS(MatShift(A, 2), 0, "MatShift");
  FAILS(MatDiagonalSet(A, l, INSERT_VALUES), 0, "MatDiagonalSet");
  FAILS(MatDiagonalSet(A, l, ADD_VALUES), 0, "MatDiagonalSet");
  FAILS(MatDiagonalScale(A, l, NULL), 0, "MatDiagonalScale");
  FAILS(MatZeroRows(A, 1, &row, 1, NULL, NULL), 0, "MatZeroRows");
  FAILS(MatZeroRowsColumns(A, 1, &row, 1, NULL, NULL), 0, "MatZeroRowsColumns");
  FAILS(MatZeroRowsLocal(A, 1, &row, 1, NULL, NULL), 0, "");
  FAILS(MatGetRow(A, first, &ncols, &cols, &vals), 0, "getrow");
  FAILS(MatGetInfo(A, MAT_GLOBAL_SUM, &info), 0, "getinfo");
  FAILS(MatNorm(A, NORM_FROBENIUS, &norm), 0, "norm");
  FAILS(MatSetValues(A, 1, &first, 1, &row, &one, INSERT_VALUES), 0, "setvalues");
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY)); /* before it asks, MatSetValues() marks the matrix as not assembled */
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  FAILS(MatSetRandom(A, random), 0, "setrandom");
  PetscCall(PetscRandomDestroy(&random));
  FAILS(MatSOR(A, l, 1, SOR_FORWARD_SWEEP, 0, 1, 1, r), 0, "");
  FAILS(MatGetColumnVector(A, l, 0), 0, "");
  FAILS(MatLUFactor(A, NULL, NULL, NULL), 0, "");
  FAILS(MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_LU, &C), 0, "");
  FAILS(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A), 0, "in place");
  FAILS(MatConvert(A, MATDENSE, MAT_INPLACE_MATRIX, &A), 0, "in place");
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - first, first, 1, &is));
  PetscCall(ISDuplicate(is, &overlap));
  FAILS(MatIncreaseOverlap(A, 1, &overlap, 1), 0, "increaseoverlap");
  PetscCall(ISDestroy(&overlap));
  PetscCall(ISDestroy(&is));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscViewerCreate(PETSC_COMM_WORLD, &viewer));
    PetscCall(PetscViewerSetType(viewer, i ? PETSCVIEWERDRAW : PETSCVIEWERBINARY));
    FAILS(MatView(A, viewer), 0, i ? "draw" : "binary");
    if (!i) FAILS(MatLoad(A, viewer), 0, "load");
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestConversions(Mat A, Mat B)
{
  const char *const types[] = {MATAIJ, MATDENSE, MATBAIJ};
  Mat               C, D;

  PetscFunctionBeginUser;
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(Same("after MatBindToCPU", A, B));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    char name[64];

    PetscCall(PetscSNPrintf(name, sizeof(name), "MatConvert to %s", types[t]));
    PetscCall(MatConvert(A, types[t], MAT_INITIAL_MATRIX, &C));
    PetscCall(Same(name, C, B));
    PetscCall(MatConvert(A, types[t], MAT_REUSE_MATRIX, &C));
    PetscCall(Same(name, C, B));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(MatConvert(A, MATSAME, MAT_INITIAL_MATRIX, &C));
  PetscCall(Same("MatConvert to the same", C, B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatComputeOperator(A, MATAIJ, &C));
  PetscCall(Same("MatComputeOperator", C, B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatCreateTranspose(A, &C));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &D));
  PetscCall(Same("MatCreateTranspose", C, D));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* every second row and column */
static PetscErrorCode TestSubMatrix(Mat A, Mat B)
{
  PetscInt first, end;
  Mat      C, D;
  IS       is, columns;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - first) / 2, first, 2, &is));
  PetscCall(MatGetOwnershipRangeColumn(A, &first, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - first) / 2, first, 2, &columns));
  PetscCall(MatCreateSubMatrix(A, is, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(B, is, columns, MAT_INITIAL_MATRIX, &D));
  PetscCall(Same("MatCreateSubMatrix", C, D));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(ISDestroy(&is));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* products with a dense matrix: A E and A' E */
static PetscErrorCode TestDenseProducts(Mat A, Mat B)
{
  Mat       C, E, BE;
  PetscReal norm;

  PetscFunctionBeginUser;
  /* the product of AIJ crashes where a rank has no rows of E */
  if (PETSC_VERSION_GE(3, 25, 0) && PETSC_VERSION_LT(3, 26, 0)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int transpose = 0; transpose < 2; transpose++) {
    PetscInt m, n;

    PetscCall(MatGetLocalSize(A, &m, &n));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, transpose ? m : n, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &E));
    PetscCall(MatSetRandom(E, NULL));
    if (transpose) {
      PetscCall(MatTransposeMatMult(A, E, MAT_INITIAL_MATRIX, PETSC_CURRENT, &C));
      PetscCall(MatTransposeMatMult(B, E, MAT_INITIAL_MATRIX, PETSC_CURRENT, &BE));
    } else {
      PetscCall(MatMatMult(A, E, MAT_INITIAL_MATRIX, PETSC_CURRENT, &C));
      PetscCall(MatMatMult(B, E, MAT_INITIAL_MATRIX, PETSC_CURRENT, &BE));
    }
    PetscCall(MatAXPY(C, -1, BE, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
    EXPECT(norm < 10 * tol, transpose ? "transposed product with a dense matrix" : "product with a dense matrix");
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&BE));
    PetscCall(MatDestroy(&E));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what operator and interpolation have in common; B is A assembled */
static PetscErrorCode TestOperations(Mat A, Mat B, PetscBool interpolation)
{
  PetscBool flag;

  PetscFunctionBeginUser;
  PetscCall(TestRefusedAlgebra(A, B, interpolation));
  PetscCall(TestRefused(A, interpolation));
  PetscCall(Same("after all that was refused", A, B));
  PetscCall(TestConversions(A, B));
  PetscCall(TestSubMatrix(A, B));
  PetscCall(TestDenseProducts(A, B));
  PetscCall(MatMultEqual(A, B, 3, &flag));
  EXPECT(flag || tol > 1e-8, "MatMultEqual");
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RefuseProduct(MatProductType type, Mat A, Mat B)
{
  Mat C;

  PetscFunctionBeginUser;
  PetscCall(MatProductCreate(A, B, NULL, &C));
  PetscCall(MatProductSetType(C, type));
  FAILS(MatProductSetFromOptions(C), 0, "-dm_mat_type aij");
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* products with P: assembled they are the operator on the coarse mesh, otherwise an error says how to assemble */
static PetscErrorCode TestGalerkin(DM coarse, Mat A, Mat P, Mat B, Mat BP)
{
  Mat       C, R;
  PetscReal norm, diff;
  IS        zero;

  PetscFunctionBeginUser;
  PetscCall(RefuseProduct(MATPRODUCT_PtAP, A, P));
  PetscCall(RefuseProduct(MATPRODUCT_PtAP, B, P));
  PetscCall(RefuseProduct(MATPRODUCT_PtAP, A, BP));
  PetscCall(RefuseProduct(MATPRODUCT_AB, A, P));
  PetscCall(RefuseProduct(MATPRODUCT_AB, A, B));
  PetscCall(RefuseProduct(MATPRODUCT_AB, B, A));
  PetscCall(RefuseProduct(MATPRODUCT_AtB, P, A));
  PetscCall(DMSetMatType(coarse, MATAIJ));
  PetscCall(DMCreateMatrix(coarse, &R));
  PetscCall(DMSetMatType(coarse, MATSHELL));
  PetscCall(MatNorm(R, NORM_FROBENIUS, &norm));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatGalerkin(BP, B, BP, i ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_CURRENT, &C));
    PetscCall(Same("the Galerkin product", C, R));
    PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &P));
    PetscCall(MatAXPY(P, -1, R, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(P, NORM_FROBENIUS, &diff));
    EXPECT(diff <= 1e-13 * norm, "the Galerkin product");
    PetscCall(MatDestroy(&P));
  }
  PetscCall(MatFindZeroRows(C, &zero));
  EXPECT(!zero, "zero rows");
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* or the error that says `word` */
static PetscErrorCode Solve(DM dm, const char *options, const char *word, Vec *x)
{
  KSP                ksp;
  Mat                A;
  Vec                b;
  PetscOptions       o;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsPush(o));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, x));
  PetscCall(Fill(b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-3, PETSC_CURRENT, PETSC_CURRENT, 50));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  if (word) FAILS(KSPSolve(ksp, b, *x), 0, word);
  else {
    PetscCall(KSPSolve(ksp, b, *x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    EXPECT(reason > 0, options);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char galerkin[] = "-pc_mg_levels 2 -mg_levels_pc_type jacobi -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 2 "
                               "-mg_levels_ksp_richardson_scale 0.5 -mg_coarse_ksp_type preonly "
                               "-mg_coarse_pc_type redundant";

/* PCMG and PCPATCHMG on assembled matrices: the same iterates with Galerkin products and with the DMs' own operators */
static PetscErrorCode TestMultigrid(DM fine)
{
  const char *const pcs[] = {"mg", "patchmg"}, *const kinds[] = {"none", "both", "pmat", "mat"};
  char options[512];
  Vec  x, y = NULL;

  PetscFunctionBeginUser;
  for (int p = 0; p < 2; p++) {
    for (int k = 0; k < 4; k++) {
      PetscCall(DMSetMatType(fine, MATAIJ));
      PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_type %s -pc_mg_galerkin %s %s", pcs[p], kinds[k], galerkin));
      PetscCall(Solve(fine, options, NULL, &x));
      if (y) PetscCall(Near(options, x, y, 1000 * tol));
      if (!y) y = x;
      else PetscCall(VecDestroy(&x));
      PetscCall(DMSetMatType(fine, MATSHELL));
    }
  }
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Galerkin products of what is not assembled, and the smoothers that PCPATCHMG chooses, which want what is not assembled */
static PetscErrorCode TestRefusedMultigrid(DM fine)
{
  Vec x;

  PetscFunctionBeginUser;
  PetscCall(Solve(fine, "-pc_type mg -pc_mg_levels 2 -pc_mg_galerkin both", "-pc_mg_galerkin", &x));
  PetscCall(VecDestroy(&x));
  PetscCall(Solve(fine, "-pc_type patchmg -pc_mg_levels 2 -pc_mg_galerkin pmat", "-pc_mg_galerkin", &x));
  PetscCall(VecDestroy(&x));
  PetscCall(DMSetMatType(fine, MATAIJ));
  PetscCall(Solve(fine, "-pc_type patchmg -pc_mg_levels 2 -pc_mg_galerkin both", "-mg_levels_pc_type", &x));
  PetscCall(VecDestroy(&x));
  PetscCall(DMSetMatType(fine, MATSHELL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M u' + 2 M u = 0 with M the operator, all on the left side of TS or with 2 M u on the right one: TS duplicates, scales and adds matrices
   */
static PetscErrorCode Left(PETSC_UNUSED TS ts, PETSC_UNUSED PetscReal t, Vec u, Vec udot, Vec f, void *ctx)
{
  TSRHSFunctionFn *rhs;
  DM               dm;

  PetscFunctionBeginUser;
  PetscCall(MatMult((Mat)ctx, udot, f));
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMTSGetRHSFunction(dm, &rhs, NULL));
  if (rhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecScale(f, 0.5));
  PetscCall(MatMultAdd((Mat)ctx, u, f, f));
  PetscCall(VecScale(f, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LeftJacobian(TS ts, PETSC_UNUSED PetscReal t, PETSC_UNUSED Vec u, PETSC_UNUSED Vec udot, PetscReal shift, Mat J,
                                   PETSC_UNUSED Mat P, void *ctx)
{
  TSRHSFunctionFn *rhs;
  DM               dm;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMTSGetRHSFunction(dm, &rhs, NULL));
  PetscCall(MatCopy((Mat)ctx, J, SAME_NONZERO_PATTERN));
  PetscCall(MatScale(J, rhs ? shift : shift + 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Right(PETSC_UNUSED TS ts, PETSC_UNUSED PetscReal t, Vec u, Vec f, void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult((Mat)ctx, u, f));
  PetscCall(VecScale(f, -2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RightJacobian(PETSC_UNUSED TS ts, PETSC_UNUSED PetscReal t, PETSC_UNUSED Vec u, Mat J, PETSC_UNUSED Mat P, void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(MatCopy((Mat)ctx, J, SAME_NONZERO_PATTERN));
  PetscCall(MatScale(J, -2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTS(Mat M)
{
  const PetscInt steps = 8;

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) { /* backward Euler with and without a right side, TSARKIMEX without */
    TS   ts;
    SNES snes;
    KSP  ksp;
    PC   pc;
    Mat  J;
    Vec  u, e;

    PetscCall(MatDuplicate(M, MAT_DO_NOT_COPY_VALUES, &J));
    PetscCall(MatCreateVecs(M, &u, &e));
    PetscCall(Fill(u));
    PetscCall(VecCopy(u, e));
    PetscCall(VecScale(e, i < 2 ? PetscPowReal(1 + 2. / (PetscReal)steps, -(PetscReal)steps) : PetscExpReal(-2)));
    PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
    PetscCall(TSSetType(ts, i < 2 ? TSBEULER : TSARKIMEX));
    PetscCall(TSSetIFunction(ts, NULL, Left, M));
    PetscCall(TSSetIJacobian(ts, J, J, LeftJacobian, M));
    if (i == 0) {
      PetscCall(TSSetRHSFunction(ts, NULL, Right, M));
      PetscCall(TSSetRHSJacobian(ts, NULL, NULL, RightJacobian, M));
    }
    PetscCall(TSSetTimeStep(ts, 1 / (PetscReal)steps));
    PetscCall(TSSetMaxTime(ts, 1));
    PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
    PetscCall(TSGetSNES(ts, &snes));
    PetscCall(SNESSetType(snes, SNESKSPONLY));
    PetscCall(SNESGetKSP(snes, &ksp));
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCPATCHFD));
    PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
    PetscCall(TSSolve(ts, u));
    PetscCall(Near(i < 2 ? "TSBEULER" : "TSARKIMEX", u, e, i < 2 ? 1000 * tol : 1e-2));
    PetscCall(TSDestroy(&ts));
    PetscCall(MatDestroy(&J));
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM        fine, coarse;
  Mat       A, P, B, BP;
  PetscBool single, solvers = PETSC_TRUE, refused = PETSC_FALSE;
  VecType   type;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solvers", &solvers, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-refused", &refused, NULL));
  PetscCall(DMCreate(PETSC_COMM_WORLD, &fine));
  PetscCall(DMSetType(fine, DMBOX));
  PetscCall(DMSetFromOptions(fine));
  PetscCall(DMSetUp(fine));
  PetscCall(DMCoarsen(fine, MPI_COMM_NULL, &coarse));
  PetscCall(DMGetVecType(fine, &type));
  PetscCall(PetscStrbeginswith(type, VECSINGLE, &single));
  tol = single ? 1e-5 : 1e-12;
  PetscCall(DMCreateMatrix(fine, &A));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
  PetscCall(DMSetMatType(fine, MATAIJ));
  PetscCall(DMCreateMatrix(fine, &B));
  PetscCall(DMCreateInterpolation(coarse, fine, &BP, NULL));
  PetscCall(DMSetMatType(fine, MATSHELL));
  PetscCall(Same("the operator", A, B));
  PetscCall(Same("the interpolation", P, BP));
  PetscCall(TestLifetime(coarse, fine, B, PETSC_FALSE));
  PetscCall(TestLifetime(coarse, fine, BP, PETSC_TRUE));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "lifetime: %" PetscInt_FMT " failures\n", failures));
  PetscCall(TestAlgebra(fine, A, B));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "algebra: %" PetscInt_FMT " failures\n", failures));
  PetscCall(TestOperations(A, B, PETSC_FALSE));
  PetscCall(TestOperations(P, BP, PETSC_TRUE));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "operations: %" PetscInt_FMT " failures\n", failures));
  PetscCall(TestGalerkin(coarse, A, P, B, BP));
  if (solvers) PetscCall(TestMultigrid(fine));
  if (refused) PetscCall(TestRefusedMultigrid(fine));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Galerkin: %" PetscInt_FMT " failures\n", failures));
  if (solvers) PetscCall(TestTS(A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "TS: %" PetscInt_FMT " failures\n", failures));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&BP));
  PetscCall(DMDestroy(&coarse));
  PetscCall(DMDestroy(&fine));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     args: -dm_box_dim 2 -dm_box_cells 4,6 -dm_box_degree 2
     output_file: output/mat_2d.out
     filter: grep -v "MPI process"
     test:
       suffix: 2d
       nsize: {{1 2 3}}
     test:
       suffix: single
       nsize: {{1 2}}
       args: -dm_vec_type single
     test:
       suffix: cuda
       requires: cuda gpu
       args: -dm_vec_type {{cuda singlecuda}}
     test:
       suffix: cuda_ranks
       nsize: 2
       requires: cuda gpu
       args: -dm_vec_type cuda -use_gpu_aware_mpi 0

   # PETSc leaves products behind that ended in an error, and with -malloc_dump says so
   test:
     suffix: refused
     args: -dm_box_dim 2 -dm_box_cells 4,6 -dm_box_degree 2 -solvers 0 -refused
     filter: grep -e failures -e "not so" -e "not refused"

   testset:
     nsize: {{1 3}}
     args: -dm_box_cells 4,4,4 -dm_box_degree 1 -dm_box_boundary dirichlet,neumann,neumann,neumann,neumann,dirichlet -dm_box_diffusion 1,2,3 -dm_box_shift 0.5
     filter: grep -v "MPI process"
     test:
       suffix: 3d

   # singular: no solvers on the coarse mesh but ours
   test:
     suffix: neumann
     args: -dm_box_dim 2 -dm_box_cells 4,4 -dm_box_degree 2 -dm_box_boundary neumann -solvers 0
     filter: grep -v "MPI process"

TEST*/
