/*
  MATAIJSINGLE: an assembled matrix of floats, on any number of ranks, in a PETSc whose PetscScalar is double.

  Its rows are a PatchFDCSR in columns of the rank, and another one in those of other ranks, whose values a PetscSF brings as floats.  Vecs
  of type VECSINGLE are used as they are, those of other types are converted, so that the matrix may stand between both.

  Here is what solvers do often; the way from and to other types, and what is done by way of them, is in aijsingleconvert.c, factors are in
  aijsinglefactor.c.
*/
#include <patchfd/private/aijsingle.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/vecimpl.h>

/* where the vectors are that it makes */
static PetscErrorCode GetMemType(Mat A, PetscMemType *memtype)
{
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(A->defaultvectype, VECSINGLECUDA, &cuda));
  *memtype = cuda ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products ---- */

static PetscErrorCode GhostsBegin(Mat_AIJSingle *m, PetscMemType memtype, const float x[])
{
  float *ghost;

  PetscFunctionBegin;
  if (!m->off) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJSingleGetGhosts(m, memtype, &ghost));
  PetscCall(PetscSFBcastWithMemTypeBegin(m->sf, MPI_FLOAT, memtype, x, memtype, ghost, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += s (entries in columns of other ranks) x */
static PetscErrorCode GhostsEnd(Mat_AIJSingle *m, PetscMemType memtype, float s, const float x[], float y[])
{
  float *ghost;

  PetscFunctionBegin;
  if (!m->off) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJSingleGetGhosts(m, memtype, &ghost));
  PetscCall(PetscSFBcastEnd(m->sf, MPI_FLOAT, x, ghost, MPI_REPLACE));
  PetscCall(MatAIJSingleMultLocal(m, PETSC_TRUE, PETSC_FALSE, memtype, s, ghost, y, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LogFlops(Mat_AIJSingle *m, PetscMemType memtype, PetscReal times)
{
  PetscCount     entries[2] = {0, 0}, narrow;
  double         bytes;
  PetscLogDouble flops;

  PetscFunctionBegin;
  PetscCall(PatchFDCSRGetSize(m->diag, &entries[0], &narrow, &bytes));
  if (m->off) PetscCall(PatchFDCSRGetSize(m->off, &entries[1], &narrow, &bytes));
  flops = 2 * times * (PetscLogDouble)(entries[0] + entries[1]);
  PetscCall(PetscMemTypeHost(memtype) ? PetscLogFlops(flops) : PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += A' x; where there are ghosts, on the host */
static PetscErrorCode AddTranspose(Mat_AIJSingle *m, PetscMemType memtype, const float x[], float y[])
{
  float *ghost;

  PetscFunctionBegin;
  if (m->off) {
    PetscCall(MatAIJSingleGetGhosts(m, memtype, &ghost));
    PetscCall(VecZeroEntries(m->ghost));
    PetscCall(MatAIJSingleMultLocal(m, PETSC_TRUE, PETSC_TRUE, memtype, 1, x, ghost, ghost));
  }
  PetscCall(MatAIJSingleMultLocal(m, PETSC_FALSE, PETSC_TRUE, memtype, 1, x, y, y));
  if (m->off) {
    PetscCall(PetscSFReduceBegin(m->sf, MPI_FLOAT, ghost, y, MPI_SUM));
    PetscCall(PetscSFReduceEnd(m->sf, MPI_FLOAT, ghost, y, MPI_SUM));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyFloats(Mat_AIJSingle *m, PetscBool transpose, float s, Vec x, Vec z, Vec y)
{
  const float *xa, *za = NULL;
  float       *ya;
  PetscMemType memtype;

  PetscFunctionBegin;
  if (transpose) {
    if (!z) PetscCall(VecSet(y, 0));
    else if (z != y) PetscCall(VecCopy(z, y));
  }
  PetscCall(VecSingleGetArrayRead(x, &xa, &memtype));
  if (z && z != y) PetscCall(VecSingleGetArrayRead(z, &za, &memtype));
  PetscCall(VecSingleGetArray(y, &ya, &memtype));
  if (transpose) PetscCall(AddTranspose(m, memtype, xa, ya));
  else {
    PetscCall(GhostsBegin(m, memtype, xa));
    PetscCall(MatAIJSingleMultLocal(m, PETSC_FALSE, PETSC_FALSE, memtype, s, xa, z == y ? ya : za, ya));
    PetscCall(GhostsEnd(m, memtype, s, xa, ya));
  }
  PetscCall(VecSingleRestoreArrayRead(x, &xa));
  if (za) PetscCall(VecSingleRestoreArrayRead(z, &za));
  PetscCall(VecSingleRestoreArray(y, &ya));
  PetscCall(LogFlops(m, memtype, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = z + s A x or z + A' x; z = NULL for zero */
static PetscErrorCode Apply(Mat A, PetscBool transpose, float s, Vec x, Vec z, Vec y)
{
  Mat_AIJSingle *m = (Mat_AIJSingle *)A->data;
  Vec            xf, yf, zf = NULL;
  PetscMemType   memtype = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  if (!transpose || !m->off) PetscCall(GetMemType(A, &memtype));
  PetscCall(PatchFDVecBeginFloats(x, PETSC_TRUE, memtype, &xf));
  PetscCall(PatchFDVecBeginFloats(y, (PetscBool)(z == y), memtype, &yf));
  if (z == y) zf = yf;
  else if (z) PetscCall(PatchFDVecBeginFloats(z, PETSC_TRUE, memtype, &zf));
  PetscCall(ApplyFloats(m, transpose, s, xf, zf, yf));
  if (z && z != y) PetscCall(PatchFDVecEndFloats(z, PETSC_FALSE, &zf));
  PetscCall(PatchFDVecEndFloats(y, PETSC_TRUE, &yf));
  PetscCall(PatchFDVecEndFloats(x, PETSC_FALSE, &xf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PRODUCT(function, transpose, s, x, z, y, ...) \
  static PetscErrorCode function##_AIJSingle(Mat A, __VA_ARGS__) \
  { \
    PetscFunctionBegin; \
    PetscCall(Apply(A, transpose, s, x, z, y)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

PRODUCT(MatMult, PETSC_FALSE, 1, x, NULL, y, Vec x, Vec y)
PRODUCT(MatMultAdd, PETSC_FALSE, 1, x, z, y, Vec x, Vec z, Vec y)
PRODUCT(MatResidual, PETSC_FALSE, -1, x, b, r, Vec b, Vec x, Vec r)
PRODUCT(MatMultTranspose, PETSC_TRUE, 1, x, NULL, y, Vec x, Vec y)
PRODUCT(MatMultTransposeAdd, PETSC_TRUE, 1, x, z, y, Vec x, Vec z, Vec y)

static PetscErrorCode MatGetDiagonal_AIJSingle(Mat A, Vec d)
{
  Vec          df;
  float       *a;
  PetscMemType memtype;

  PetscFunctionBegin;
  PetscCall(GetMemType(A, &memtype));
  PetscCall(PatchFDVecBeginFloats(d, PETSC_FALSE, memtype, &df));
  PetscCall(VecSingleGetArray(df, &a, &memtype));
  PetscCall(MatAIJSingleGetDiagonalLocal((Mat_AIJSingle *)A->data, memtype, a));
  PetscCall(VecSingleRestoreArray(df, &a));
  PetscCall(PatchFDVecEndFloats(d, PETSC_TRUE, &df));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

static PetscErrorCode NeedScale(Mat A, PetscReal omega, PetscReal shift)
{
  Mat_AIJSingle *m = (Mat_AIJSingle *)A->data;
  PetscBool      zero;

  PetscFunctionBegin;
  if (m->scale && m->omega == omega && m->shift == shift) PetscFunctionReturn(PETSC_SUCCESS);
  if (!m->scale) PetscCall(PetscMalloc2(A->rmap->n, &m->scale, 2 * A->rmap->n, &m->work));
  PetscCall(MatAIJSingleGetDiagonalLocal(m, PETSC_MEMTYPE_HOST, m->scale));
  PetscCall(PatchFDCSRReciprocal(A->rmap->n, (float)omega, (float)shift, m->scale, &zero));
  m->omega = omega;
  m->shift = shift;
  m->pivot = zero;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SweepFloats(Mat A, const float b[], PatchFDRelaxation *s, PetscInt its, PetscInt lits, float x[])
{
  Mat_AIJSingle *m    = (Mat_AIJSingle *)A->data;
  float         *rest = m->work, *own = m->work + A->rmap->n; /* the latter: b without what other ranks have to do with it */

  PetscFunctionBegin;
  for (PetscInt i = 0; i < its; i++) {
    const PetscBool ghosts = (PetscBool)(m->off && !s->zero);

    if (ghosts) {
      PetscCall(GhostsBegin(m, PETSC_MEMTYPE_HOST, x));
      PetscCall(PetscArraycpy(own, b, A->rmap->n));
      PetscCall(GhostsEnd(m, PETSC_MEMTYPE_HOST, -1, x, own));
    }
    for (PetscInt l = 0; l < lits; l++) {
      PetscCall(PatchFDCSRSweep(m->diag, s, m->scale, ghosts ? own : b, rest, x));
      s->zero = PETSC_FALSE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSOR_AIJSingle(Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits, Vec x)
{
  Mat_AIJSingle    *m       = (Mat_AIJSingle *)A->data;
  const int         forward = SOR_LOCAL_FORWARD_SWEEP | (m->off ? 0 : SOR_FORWARD_SWEEP);
  const int         back    = SOR_LOCAL_BACKWARD_SWEEP | (m->off ? 0 : SOR_BACKWARD_SWEEP);
  PatchFDRelaxation s       = {.forward  = (PetscBool)((flag & forward) != 0),
                               .backward = (PetscBool)((flag & back) != 0),
                               .zero     = (PetscBool)((flag & SOR_ZERO_INITIAL_GUESS) != 0),
                               .omega    = (float)omega};
  Vec               bf, xf;
  const float      *ba;
  float            *xa;

  PetscFunctionBegin;
  PetscCheck(!(flag & ~(forward | back | SOR_ZERO_INITIAL_GUESS)) && (s.forward || s.backward), PetscObjectComm((PetscObject)A),
             PETSC_ERR_SUP,
             "MatSOR() of a matrix of type %s makes %s, forward, backward or symmetric, from any initial guess; found MatSORType %d",
             MATAIJSINGLE, m->off ? "local sweeps on several ranks" : "sweeps", (int)flag);
  PetscCall(NeedScale(A, omega, shift));
  A->factorerrortype = m->pivot ? MAT_FACTOR_NUMERIC_ZEROPIVOT : MAT_FACTOR_NOERROR;
  PetscCheck(!m->pivot || !A->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT,
             "MatSOR() divides by the diagonal, and a row of this matrix has a zero there");
  PetscCall(PatchFDVecBeginFloats(b, PETSC_TRUE, PETSC_MEMTYPE_HOST, &bf));
  PetscCall(PatchFDVecBeginFloats(x, (PetscBool)!s.zero, PETSC_MEMTYPE_HOST, &xf));
  PetscCall(VecSingleGetArrayRead(bf, &ba, NULL));
  PetscCall(VecSingleGetArray(xf, &xa, NULL));
  PetscCall(SweepFloats(A, ba, &s, its, lits, xa));
  PetscCall(VecSingleRestoreArrayRead(bf, &ba));
  PetscCall(VecSingleRestoreArray(xf, &xa));
  PetscCall(PatchFDVecEndFloats(b, PETSC_FALSE, &bf));
  PetscCall(PatchFDVecEndFloats(x, PETSC_TRUE, &xf));
  PetscCall(LogFlops(m, PETSC_MEMTYPE_HOST, its * lits * (s.forward && s.backward ? 2 : 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what it is ---- */

static PetscErrorCode MatGetDiagonalBlock_AIJSingle(Mat A, Mat *block)
{
  Mat_AIJSingle *m = (Mat_AIJSingle *)A->data;
  PatchFDCSR     rows;

  PetscFunctionBegin;
  if (m->off && !m->block) {
    PetscCall(MatAIJSingleGetRows(m, PETSC_FALSE, &rows));
    PetscCall(MatCreateAIJSingle_Private(A, rows, &m->block));
    PetscCall(MatAIJSingleSetSource(A, m->source)); /* also that of the block */
  }
  *block = m->off ? m->block : A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInfo_AIJSingle(Mat A, MatInfoType type, MatInfo *info)
{
  Mat_AIJSingle *m        = (Mat_AIJSingle *)A->data;
  PetscReal      total[2] = {0, 0};

  PetscFunctionBegin;
  for (int i = 0; i < (m->off ? 2 : 1); i++) {
    PetscCount     entries, narrow;
    PetscLogDouble bytes;

    PetscCall(PatchFDCSRGetSize(i ? m->off : m->diag, &entries, &narrow, &bytes));
    total[0] += (PetscReal)entries;
    total[1] += bytes;
  }
  if (type != MAT_LOCAL)
    PetscCallMPI(
      MPIU_Allreduce(MPI_IN_PLACE, total, 2, MPIU_REAL, type == MAT_GLOBAL_MAX ? MPIU_MAX : MPIU_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size = 1;
  info->nz_used = info->nz_allocated = total[0];
  info->memory                       = total[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_AIJSingle(Mat A)
{
  Mat_AIJSingle *m = (Mat_AIJSingle *)A->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatInodeAdjustForInodes_C", NULL));
  PetscCall(PatchFDCSRDestroy(&m->diag));
  PetscCall(PatchFDCSRDestroy(&m->off));
  PetscCall(PetscSFDestroy(&m->sf));
  PetscCall(MatAIJSingleForgetCUDA(m, PETSC_FALSE));
  PetscCall(VecDestroy(&m->ghost));
  PetscCall(PetscFree(m->column));
  PetscCall(PetscFree2(m->scale, m->work));
  PetscCall(MatDestroy(&m->block));
  PetscCall(MatDestroy(&m->aij));
  PetscCall(MatDestroy(&m->source));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATAIJSINGLE - "aijsingle" - An assembled matrix with `float` entries in a PETSc whose `PetscScalar` is double, on any number of ranks

  Level: intermediate

  Notes:
  `MatConvert()` makes it from a matrix of type `MATAIJ`, `MATBAIJ` or `MATSBAIJ`, and with `MAT_REUSE_MATRIX` gives it the entries of
  another one with the same nonzeros; others are an error. Entries cannot be set otherwise. It converts back to `MATAIJ`.

  An entry takes 6 bytes, or 8 where the columns of a group of 64 rows are more than 65536 apart (on a GPU: are not within 16384 of each
  of four columns), in place of the 12 (with 64-bit indices 16) of `MATAIJ`.

  The vectors that it makes are of type `VECSINGLE`, or `VECSINGLECUDA` if it is made from a `MATAIJCUSPARSE`: then the entries are
  converted and stay in GPU memory, where products and the diagonal are computed; for all else, and transposed products on several ranks,
  the host gets a copy when it is needed. Vectors of other types are converted in every operation.

  It has products and their transposes, `MatResidual()`, the diagonal, `MatSOR()` (on several ranks local sweeps), diagonal blocks, and
  on one rank ILU(k), ICC(k), LU and Cholesky factors: PETSc computes them in double precision, and they are stored and applied in
  floats. `MatSOR()` relaxes row by row, also where that of `MATAIJ` takes rows with the same nonzeros together.

.seealso: `PCSINGLE`, `VECSINGLE`, `MATAIJ`, `MatConvert()`
M*/
PetscErrorCode MatCreate_AIJSingle(Mat A)
{
  Mat_AIJSingle *m;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  A->data                  = m;
  A->ops->mult             = MatMult_AIJSingle;
  A->ops->multadd          = MatMultAdd_AIJSingle;
  A->ops->multtranspose    = MatMultTranspose_AIJSingle;
  A->ops->multtransposeadd = MatMultTransposeAdd_AIJSingle;
  A->ops->residual         = MatResidual_AIJSingle;
  A->ops->getdiagonal      = MatGetDiagonal_AIJSingle;
  A->ops->getdiagonalblock = MatGetDiagonalBlock_AIJSingle;
  A->ops->sor              = MatSOR_AIJSingle;
  A->ops->getinfo          = MatGetInfo_AIJSingle;
  A->ops->destroy          = MatDestroy_AIJSingle;
  PetscCall(MatAIJSingleSetConversions(A));
  PetscCall(MatSetVecType(A, VECSINGLE));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATAIJSINGLE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
