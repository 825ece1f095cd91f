/* MATAIJSINGLE from other types and back, and what is done by way of them, since it is done seldom or only in set-up */
#include <patchfd/private/aijsingle.h>
#include <patchfd/private/compat.h>

/* ---- from others ---- */

PetscErrorCode MatAIJSingleCanConvert(Mat A, PetscBool *can)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, can, MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ, MATSEQSBAIJ, MATMPISBAIJ,
                                      MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where entries come from: the GPU's memory or the host's; are their rows and columns known to be those that are there? */
typedef struct {
  PetscBool cuda, known;
} From;

/* The rows of a MATSEQAIJ; of those that are there, the values.  Leaves `same` as it is unless the columns are others */
static PetscErrorCode SetRows(Mat A, From from, Mat_AIJSingle *single, PetscBool off, PetscBool *same)
{
  PatchFDCSR        *csr = off ? &single->off : &single->diag;
  const PetscInt    *i, *j;
  const PetscScalar *a;
  PetscInt           m;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "No rows of a matrix of type %s", ((PetscObject)A)->type_name);
  if (*csr && *same && !from.known) {
    PetscCall(MatAIJSingleNeedHost(single, off));
    PetscCall(PatchFDCSRHasPattern(*csr, m, A->cmap->n, i, j, same));
  }
  if (*same && from.cuda) PetscCall(MatAIJSingleSetRowsCUDA(single, off, A, m, i));
  else if (*same) {
    if (!*csr) PetscCall(PatchFDCSRCreate(m, A->cmap->n, i, j, csr));
    PetscCall(MatSeqAIJGetArrayRead(A, &a));
    PetscCall(PatchFDCSRSetValues(*csr, a));
    PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
  }
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRowsParallel(Mat A, From from, Mat_AIJSingle *m, PetscBool *same)
{
  Mat             diag, off;
  const PetscInt *column;
  PetscInt        n;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diag, &off, &column));
  PetscCall(SetRows(diag, from, m, PETSC_FALSE, same));
  PetscCall(SetRows(off, from, m, PETSC_TRUE, same));
  PetscCall(MatGetLocalSize(off, NULL, &n));
  if (m->sf) {
    if (*same) PetscCall(PetscArraycmp(m->column, column, n, same));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(n, &m->column));
  PetscCall(PetscArraycpy(m->column, column, n));
  PetscCall(VecCreate(PETSC_COMM_SELF, &m->ghost));
  PetscCall(VecSetSizes(m->ghost, n, n));
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &m->sf));
  PetscCall(PetscSFSetGraphLayout(m->sf, A->cmap, n, NULL, PETSC_COPY_VALUES, column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an empty one in the shape of another, to be filled with rows */
static PetscErrorCode CreateLike(MPI_Comm comm, Mat A, Mat *B)
{
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetType(*B, MATAIJSINGLE));
  PetscCall(PetscStrcmpAny(A->defaultvectype, &cuda, VECCUDA, VECSINGLECUDA, ""));
  if (cuda) PetscCall(MatSetVecType(*B, VECSINGLECUDA));
  PetscCall(PetscLayoutSetUp((*B)->rmap));
  PetscCall(PetscLayoutSetUp((*B)->cmap));
  (*B)->assembled = (*B)->preallocated = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateAIJSingle_Private(Mat like, PatchFDCSR diag, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(CreateLike(PETSC_COMM_SELF, like, B));
  ((Mat_AIJSingle *)(*B)->data)->diag = diag;
  PetscCall(PatchFDCSRReference(diag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what was computed of the old entries, in whose place new ones come */
static PetscErrorCode Forget(Mat_AIJSingle *m, PetscBool cuda)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(m->scale, m->work));
  if (!cuda && m->diag) PetscCall(MatAIJSingleNeedHost(m, PETSC_FALSE));
  if (!cuda && m->off) PetscCall(MatAIJSingleNeedHost(m, PETSC_TRUE));
  PetscCall(MatAIJSingleForgetCUDA(m, cuda));
  PetscCall(MatDestroy(&m->aij));
  PetscCall(MatDestroy(&m->source));
  if (m->block) {
    PetscCall(Forget((Mat_AIJSingle *)m->block->data, PETSC_FALSE));
    PetscCall(PetscObjectStateIncrease((PetscObject)m->block));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvertFrom_AIJSingle(Mat A, PETSC_UNUSED MatType type, MatReuse reuse, Mat *single)
{
  Mat            B = reuse == MAT_REUSE_MATRIX ? *single : NULL, rows = A;
  Mat_AIJSingle *m;
  From           from;
  PetscBool      aij, cpu, same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &from.cuda, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(MatBoundToCPU(A, &cpu));
  from.cuda = (PetscBool)(from.cuda && !cpu);
  /* a copy that passes for its original */
  from.known = (PetscBool)(B && ((PetscObject)B)->id == ((PetscObject)A)->id && B->nonzerostate == A->nonzerostate);
  PetscCheck(!B || B->ops->convertfrom == MatConvertFrom_AIJSingle, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "MAT_REUSE_MATRIX needs a matrix of type %s to reuse, found type %s", MATAIJSINGLE, ((PetscObject)B)->type_name);
  if (!aij) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &rows));
  if (!B) PetscCall(CreateLike(PetscObjectComm((PetscObject)A), A, &B));
  m = (Mat_AIJSingle *)B->data;
  PetscCall(Forget(m, from.cuda));
  if (A->rmap->size == 1) PetscCall(SetRows(rows, from, m, PETSC_FALSE, &same));
  else PetscCall(SetRowsParallel(rows, from, m, &same));
  if (m->block) PetscCall(MatAIJSingleNeedHost(m, PETSC_FALSE)); /* which it shares */
  if (!aij) PetscCall(MatDestroy(&rows));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, PATCHFD_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
    PetscCheck(same, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
               "MAT_REUSE_MATRIX needs a matrix of the same sizes with the same nonzeros as the one of type %s; this one, of type %s, has "
               "others: use MAT_INITIAL_MATRIX",
               MATAIJSINGLE, ((PetscObject)A)->type_name);
  }
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *single = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- to others ---- */

static PetscErrorCode CreateSeqAIJ(Mat A, PetscBool off, PetscInt columns, PetscInt cbs, Mat *B)
{
  PatchFDCSR     csr;
  PetscCount     entries, narrow;
  PetscLogDouble bytes;
  PetscInt      *i, *j;
  PetscScalar   *a;

  PetscFunctionBegin;
  PetscCall(MatAIJSingleGetRows((Mat_AIJSingle *)A->data, off, &csr));
  PetscCall(PatchFDCSRGetSize(csr, &entries, &narrow, &bytes));
  PetscCall(PetscMalloc3(A->rmap->n + 1, &i, entries, &j, entries, &a));
  PetscCall(PatchFDCSRGet(csr, i, j, a));
  PetscCall(MatCreate(PETSC_COMM_SELF, B));
  PetscCall(MatSetSizes(*B, A->rmap->n, columns, A->rmap->n, columns));
  PetscCall(MatSetBlockSizes(*B, A->rmap->bs, cbs));
  PetscCall(MatSetType(*B, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*B, i, j, a));
  PetscCall(PetscFree3(i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateAIJ(Mat A, Mat *B)
{
  Mat_AIJSingle *m = (Mat_AIJSingle *)A->data;
  Mat            diag, off;
  PetscInt       n, *column;

  PetscFunctionBegin;
  PetscCall(CreateSeqAIJ(A, PETSC_FALSE, A->cmap->n, A->cmap->bs, &diag));
  *B = diag;
  if (!m->off) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSFGetGraph(m->sf, NULL, &n, NULL, NULL));
  PetscCall(CreateSeqAIJ(A, PETSC_TRUE, n, 1, &off));
  PetscCall(PetscMalloc1(n, &column));
  PetscCall(PetscArraycpy(column, m->column, n));
  PetscCall(MatCreateMPIAIJWithSeqAIJ(PetscObjectComm((PetscObject)A), A->rmap->N, A->cmap->N, diag, off, column, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_AIJSingle(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(CreateAIJ(A, &aij));
  PetscCall(MatConvert(aij, type, MAT_INPLACE_MATRIX, &aij));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &aij));
  else if (reuse == MAT_REUSE_MATRIX) PetscCall(MatHeaderReplace(*B, &aij));
  else *B = aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- by way of a MATAIJ ---- */

PetscErrorCode MatAIJSingleSetSource(Mat B, Mat A)
{
  Mat_AIJSingle *m     = (Mat_AIJSingle *)B->data;
  Mat            block = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(MatDestroy(&m->source));
  m->source = A;
  if (A && m->block) PetscCall(MatGetDiagonalBlock(A, &block));
  if (m->block) PetscCall(MatAIJSingleSetSource(m->block, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJSingleGetAIJ(Mat A, Mat *B)
{
  Mat source = ((Mat_AIJSingle *)A->data)->source;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)source));
  *B = source;
  if (!source) PetscCall(CreateAIJ(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define BY_AIJ(function, call, ...) \
  static PetscErrorCode function##_AIJSingle(Mat A, __VA_ARGS__) \
  { \
    Mat B; \
\
    PetscFunctionBegin; \
    PetscCall(MatAIJSingleGetAIJ(A, &B)); \
    PetscCall(call); \
    PetscCall(MatDestroy(&B)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

BY_AIJ(MatViewEntries, MatView(B, viewer), PetscViewer viewer)
BY_AIJ(MatNorm, MatNorm(B, type, norm), NormType type, PetscReal *norm)
BY_AIJ(MatGetRowMaxAbs, MatGetRowMaxAbs(B, v, at), Vec v, PetscInt at[])
BY_AIJ(MatGetRowSumAbs, MatGetRowSumAbs(B, v), Vec v)
BY_AIJ(MatIncreaseOverlap, MatIncreaseOverlap(B, n, is, layers), PetscInt n, IS is[], PetscInt layers)
BY_AIJ(MatDuplicate, MatConvert(B, MATAIJSINGLE, MAT_INITIAL_MATRIX, C), PETSC_UNUSED MatDuplicateOption option, Mat *C)

static PetscErrorCode MatView_AIJSingle(Mat A, PetscViewer viewer)
{
  Mat_AIJSingle    *m       = (Mat_AIJSingle *)A->data;
  PetscLogDouble    sums[3] = {0, 0, 0}, bytes;
  PetscCount        entries, narrow;
  PetscBool         ascii;
  PetscViewerFormat format;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (!ascii || (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL)) {
    PetscCall(MatViewEntries_AIJSingle(A, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int i = 0; i < (m->off ? 2 : 1); i++) {
    PetscCall(PatchFDCSRGetSize(i ? m->off : m->diag, &entries, &narrow, &bytes));
    sums[0] += (PetscLogDouble)entries;
    sums[1] += (PetscLogDouble)narrow;
    sums[2] += bytes;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%g bytes of float entries and their columns, %.0f%% of which have 16 bits\n", sums[2],
                                   sums[0] > 0 ? 100 * sums[1] / sums[0] : 100.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrices_AIJSingle(Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *sub[])
{
  Mat B, *aij;

  PetscFunctionBegin;
  PetscCall(MatAIJSingleGetAIJ(A, &B));
  PetscCall(MatCreateSubMatrices(B, n, rows, columns, MAT_INITIAL_MATRIX, &aij));
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(PetscCalloc1(n + 1, sub)); /* as MatDestroySubMatrices() expects */
  for (PetscInt i = 0; i < n; i++) PetscCall(MatConvert(aij[i], MATAIJSINGLE, reuse, &(*sub)[i]));
  PetscCall(MatDestroySubMatrices(n, &aij));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the double copy of the diagonal block, for results that live in it */
static PetscErrorCode NeedAIJ(Mat A)
{
  Mat_AIJSingle *m = (Mat_AIJSingle *)A->data;

  PetscFunctionBegin;
  if (m->aij) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->source) {
    PetscCall(MatGetDiagonalBlock(m->source, &m->aij));
    PetscCall(PetscObjectReference((PetscObject)m->aij));
  } else PetscCall(CreateSeqAIJ(A, PETSC_FALSE, A->cmap->n, A->cmap->bs, &m->aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatInvertBlockDiagonal_AIJSingle(Mat A, const PetscScalar **values)
{
  Mat_AIJSingle *m = (Mat_AIJSingle *)A->data;

  PetscFunctionBegin;
  PetscCall(NeedAIJ(A));
  PetscCall(MatSetErrorIfFailure(m->aij, A->erroriffailure));
  PetscCall(MatInvertBlockDiagonal(m->aij, values));
  PetscCall(MatFactorGetError(m->aij, &A->factorerrortype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for orderings, of matrices on one rank */
static PetscErrorCode MatGetRowIJ_AIJSingle(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n,
                                            const PetscInt *i[], const PetscInt *j[], PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(NeedAIJ(A));
  PetscCall(MatGetRowIJ(((Mat_AIJSingle *)A->data)->aij, shift, symmetric, compressed, n, i, j, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestoreRowIJ_AIJSingle(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n,
                                                const PetscInt *i[], const PetscInt *j[], PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(MatRestoreRowIJ(((Mat_AIJSingle *)A->data)->aij, shift, symmetric, compressed, n, i, j, done));
  PetscCall(MatDestroy(&((Mat_AIJSingle *)A->data)->aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an ordering of the rows that MatGetRowIJ() gave, which may stand for several each; factorizations rely on it */
static PetscErrorCode MatInodeAdjustForInodes_AIJSingle(Mat A, IS *row, IS *column)
{
  PetscFunctionBegin;
  PetscCall(NeedAIJ(A));
  PetscCall(MatInodeAdjustForInodes(((Mat_AIJSingle *)A->data)->aij, row, column));
  PetscCall(MatDestroy(&((Mat_AIJSingle *)A->data)->aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJSingleSetConversions(Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatInodeAdjustForInodes_C", MatInodeAdjustForInodes_AIJSingle));
  A->ops->convertfrom         = MatConvertFrom_AIJSingle;
  A->ops->convert             = MatConvert_AIJSingle;
  A->ops->view                = MatView_AIJSingle;
  A->ops->norm                = MatNorm_AIJSingle;
  A->ops->getrowmaxabs        = MatGetRowMaxAbs_AIJSingle;
  A->ops->getrowsumabs        = MatGetRowSumAbs_AIJSingle;
  A->ops->increaseoverlap     = MatIncreaseOverlap_AIJSingle;
  A->ops->duplicate           = MatDuplicate_AIJSingle;
  A->ops->createsubmatrices   = MatCreateSubMatrices_AIJSingle;
  A->ops->invertblockdiagonal = MatInvertBlockDiagonal_AIJSingle;
  A->ops->getrowij            = MatGetRowIJ_AIJSingle;
  A->ops->restorerowij        = MatRestoreRowIJ_AIJSingle;
  PetscFunctionReturn(PETSC_SUCCESS);
}
