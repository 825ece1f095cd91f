/*
  What the matrix-free matrices of a DMBOX, its operator (poisson.c) and its interpolation (transfer.c), have in common as MATSHELLs: how
  they are made and assembled, and what they refuse.

  MATSHELL would keep scalings, shifts and zeroed rows to itself, where smoothers and kernels do not see them.  So it is told not to, and
  each such operation is either done by the matrix or refused here.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>

#define MATBOX_REFUSE(function, arguments) \
  static PetscErrorCode function##_BoxShell arguments \
  { \
    PetscFunctionBegin; \
    SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, \
            "%s() cannot be done to a matrix of a DMBOX that is not assembled: use -dm_mat_type aij, or MatConvert() to MATAIJ; " \
            "DMBoxSetPoisson() changes the coefficients of an operator", \
            #function); \
  }

MATBOX_REFUSE(MatAXPY, (Mat A, PETSC_UNUSED PetscScalar a, PETSC_UNUSED Mat X, PETSC_UNUSED MatStructure str))
MATBOX_REFUSE(MatCopy, (Mat A, PETSC_UNUSED Mat B, PETSC_UNUSED MatStructure str))
MATBOX_REFUSE(MatScale, (Mat A, PETSC_UNUSED PetscScalar a))
MATBOX_REFUSE(MatShift, (Mat A, PETSC_UNUSED PetscScalar a))
MATBOX_REFUSE(MatDiagonalSet, (Mat A, PETSC_UNUSED Vec d, PETSC_UNUSED InsertMode mode))
MATBOX_REFUSE(MatDiagonalScale, (Mat A, PETSC_UNUSED Vec l, PETSC_UNUSED Vec r))
MATBOX_REFUSE(MatZeroRows, (Mat A, PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscInt rows[], PETSC_UNUSED PetscScalar diag,
                            PETSC_UNUSED Vec x, PETSC_UNUSED Vec b))
MATBOX_REFUSE(MatZeroRowsColumns, (Mat A, PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscInt rows[], PETSC_UNUSED PetscScalar diag,
                                   PETSC_UNUSED Vec x, PETSC_UNUSED Vec b))

static const MatShellOperation refused[] = {{MATOP_AXPY, (PetscVoidFn *)MatAXPY_BoxShell},
                                            {MATOP_COPY, (PetscVoidFn *)MatCopy_BoxShell},
                                            {MATOP_SCALE, (PetscVoidFn *)MatScale_BoxShell},
                                            {MATOP_SHIFT, (PetscVoidFn *)MatShift_BoxShell},
                                            {MATOP_DIAGONAL_SET, (PetscVoidFn *)MatDiagonalSet_BoxShell},
                                            {MATOP_DIAGONAL_SCALE, (PetscVoidFn *)MatDiagonalScale_BoxShell},
                                            {MATOP_ZERO_ROWS, (PetscVoidFn *)MatZeroRows_BoxShell},
                                            {MATOP_ZERO_ROWS_COLUMNS, (PetscVoidFn *)MatZeroRowsColumns_BoxShell}};

/* TSARKIMEX, for one, does without operations that a matrix does not have */
static PetscErrorCode MatHasOperation_BoxShell(Mat A, MatOperation op, PetscBool *has)
{
  PetscVoidFn *f = ((PetscVoidFn **)A->ops)[op];

  PetscFunctionBegin;
  *has = (PetscBool)(f != NULL);
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(refused); i++) *has = (PetscBool)(*has && f != refused[i].f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc itself multiplies the columns of a dense matrix, one after the other */
static PetscErrorCode MatProductSetFromOptions_BoxShell(Mat C)
{
  Mat_Product *p = C->product;
  PetscBool    dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)p->B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCheck(dense, PetscObjectComm((PetscObject)C), PETSC_ERR_SUP,
             "Product %s of a %s with a %s: matrices of a DMBOX that are not assembled have products with vectors and dense matrices only. "
             "Use -dm_mat_type aij: then -pc_mg_galerkin works, too. "
             "Or leave -pc_mg_galerkin at none: a DMBOX makes the operators on coarse meshes itself, and they are equal to the Galerkin "
             "products",
             MatProductTypes[p->type], ((PetscObject)p->A)->type_name, ((PetscObject)p->B)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatShellSetOperations(Mat A, size_t n, const MatShellOperation list[])
{
  PetscFunctionBegin;
  for (size_t i = 0; i < n; i++) PetscCall(MatShellSetOperation(A, list[i].op, list[i].f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatApplyArrays(MatArraysFn *apply, void *ctx, PetscReal alpha, Vec x, Vec y0, Vec y)
{
  PatchFDKernels kern;
  const void    *ax, *ay0 = NULL;
  void          *ay;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(x, &kern));
  PetscCall(PatchFDVecGetArrayRead(x, kern, &ax));
  if (y0 == y) {
    PetscCall(PatchFDVecGetArray(y, kern, &ay));
    PetscCall((*apply)(ctx, kern, alpha, ax, ay, ay));
    PetscCall(PatchFDVecRestoreArray(y, kern, &ay));
  } else {
    if (y0) PetscCall(PatchFDVecGetArrayRead(y0, kern, &ay0));
    PetscCall(PatchFDVecGetArrayWrite(y, kern, &ay));
    PetscCall((*apply)(ctx, kern, alpha, ax, ay0, ay));
    PetscCall(PatchFDVecRestoreArrayWrite(y, kern, &ay));
    if (y0) PetscCall(PatchFDVecRestoreArrayRead(y0, kern, &ay0));
  }
  PetscCall(PatchFDVecRestoreArrayRead(x, kern, &ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of one place become one, row by row: PETSc, which sorts all entries at once, takes three times as long */
static PetscErrorCode SumTriples(PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscInt     first = PETSC_INT_MAX, last = -1, *col;
  PetscCount   n = 0, *start;
  PetscScalar *entry;

  PetscFunctionBegin;
  for (PetscCount e = 0; e < *count; e++) {
    if (i[e] < 0 || j[e] < 0) continue;
    first = PetscMin(first, i[e]);
    last  = PetscMax(last, i[e]);
  }
  first = PetscMin(first, last + 1);
  if (last - first >= *count) PetscFunctionReturn(PETSC_SUCCESS); /* few entries in rows far apart: that is left to PETSc */
  PetscCall(PetscCalloc1(last - first + 2, &start));
  PetscCall(PetscMalloc2(*count, &col, *count, &entry));
  for (PetscCount e = 0; e < *count; e++)
    if (i[e] >= 0 && j[e] >= 0) start[i[e] - first + 1]++;
  for (PetscInt r = 0; r <= last - first; r++) start[r + 1] += start[r];
  for (PetscCount e = 0; e < *count; e++) {
    if (i[e] < 0 || j[e] < 0) continue;
    col[start[i[e] - first]]     = j[e];
    entry[start[i[e] - first]++] = v[e]; /* to where the next row starts */
  }
  for (PetscInt r = 0; r <= last - first; r++) {
    const PetscCount from = r ? start[r - 1] : 0, begin = n;

    PetscCall(PetscSortIntWithScalarArray((PetscInt)(start[r] - from), col + from, entry + from));
    for (PetscCount e = from; e < start[r]; e++) {
      if (n > begin && j[n - 1] == col[e]) v[n - 1] += entry[e];
      else {
        i[n]   = first + r;
        j[n]   = col[e];
        v[n++] = entry[e];
      }
    }
  }
  *count = n;
  PetscCall(PetscFree(start));
  PetscCall(PetscFree2(col, entry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvertTriples(Mat A, PetscCount count, PetscInt i[], PetscInt j[], PetscScalar v[], MatType type, MatReuse reuse, Mat *B)
{
  Mat N = reuse == MAT_REUSE_MATRIX ? *B : NULL;

  PetscFunctionBegin;
  if (reuse != MAT_REUSE_MATRIX) {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &N));
    PetscCall(MatSetSizes(N, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetType(N, type));
  }
  PetscCall(SumTriples(&count, i, j, v));
  PetscCall(MatSetPreallocationCOO(N, count, i, j));
  PetscCall(MatSetValuesCOO(N, v, INSERT_VALUES));
  *B = N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_BoxShell(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  MatBoxTriplesFn *triples;
  PetscCount       count;
  PetscInt        *i, *j;
  PetscScalar     *v;
  PetscBool        aij;
  Mat              N;

  PetscFunctionBegin;
  PetscCheck(reuse != MAT_INPLACE_MATRIX, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "A matrix of a DMBOX cannot be converted in place: the DMBOX still needs its matrix-free form");
  PetscCall(PetscStrcmpAny(type, &aij, MATAIJ, MATSEQAIJ, MATMPIAIJ, ""));
  if (!aij) { /* PETSc knows the way from there */
    PetscCall(MatConvert_BoxShell(A, MATAIJ, MAT_INITIAL_MATRIX, &N));
    PetscCall(MatConvert(N, type, reuse, B));
    PetscCall(MatDestroy(&N));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatBoxTriples_C", &triples));
  PetscCall((*triples)(A, &count, &i, &j, &v));
  PetscCall(MatConvertTriples(A, count, i, j, v, type, reuse, B));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxShellAssemble(DM dm, Mat *A)
{
  PetscBool shell;
  Mat       assembled;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(dm->mattype, MATSHELL, &shell));
  if (shell) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(*A, dm->mattype, MAT_INITIAL_MATRIX, &assembled));
  PetscCall(MatSetVecType(assembled, dm->vectype));
  PetscCall(PetscObjectCompose((PetscObject)assembled, "MatBoxShell", (PetscObject)*A));
  PetscCall(MatDestroy(A));
  *A = assembled;
  PetscCall(MatSetDM(*A, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* other viewers would be given nothing, and nobody told */
PetscErrorCode MatBoxShellViewASCII(Mat A, PetscViewer viewer, PetscBool *ascii)
{
  PetscBool string;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &string));
  PetscCheck(*ascii || string, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "A matrix of a DMBOX that is not assembled has no entries for a viewer of type %s: use -dm_mat_type aij, or MatConvert() to "
             "MATAIJ",
             ((PetscObject)viewer)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxShellCreate(DM dm, size_t nrows, size_t ncols, void *ctx, MatBoxTriplesFn *triples, Mat *A)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(PetscIntCast(nrows, &m));
  PetscCall(PetscIntCast(ncols, &n));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)dm), m, n, PETSC_DETERMINE, PETSC_DETERMINE, ctx, A));
  PetscCall(MatShellSetManageScalingShifts(*A));
  PetscCall(MatShellSetVecType(*A, dm->vectype));
  /* not MatShellSetOperation(), whose MATOP_COPY would first give the copy everything that the original has */
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(refused); i++) PetscCall(MatSetOperation(*A, refused[i].op, refused[i].f));
  PetscCall(MatSetOperation(*A, MATOP_HAS_OPERATION, (PetscVoidFn *)MatHasOperation_BoxShell));
  PetscCall(MatSetOperation(*A, MATOP_CONVERT, (PetscVoidFn *)MatConvert_BoxShell));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatBoxTriples_C", triples));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatProductSetFromOptions_anytype_C", MatProductSetFromOptions_BoxShell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what MatBoxShellCreate() composed; the matrix destroys its context itself */
PetscErrorCode MatBoxShellDestroy(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBoxTriples_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
