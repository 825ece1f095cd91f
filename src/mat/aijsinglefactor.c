/*
  Factors of MATAIJSINGLE on one rank: PETSc computes them in double precision; what is kept of them and applied are floats
*/
#include <patchfd/private/aijsingle.h>
#include <patchfd/private/vecimpl.h>

typedef struct {
  PatchFDCSRFactor factor;
  IS               row, column; /* permutations, NULL for the identity */
  float           *work;
} Mat_AIJSingleFactor;

static PetscErrorCode KeepPermutation(IS is, IS *keep)
{
  PetscBool identity = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(ISDestroy(keep));
  if (is) PetscCall(ISIdentity(is, &identity));
  if (identity) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectReference((PetscObject)is));
  *keep = is;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's factor is computed anew each time, and not kept: it is twice as large as the one in floats */
static PetscErrorCode FactorSymbolic(Mat F, PETSC_UNUSED Mat A, IS row, IS column, PETSC_UNUSED const MatFactorInfo *info)
{
  Mat_AIJSingleFactor *f = (Mat_AIJSingleFactor *)F->data;

  PetscFunctionBegin;
  PetscCall(KeepPermutation(row, &f->row));
  PetscCall(KeepPermutation(column, &f->column));
  F->assembled = F->preallocated = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CholeskySymbolic(Mat F, Mat A, IS row, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(FactorSymbolic(F, A, row, row, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFactorDouble(Mat F, Mat A, const MatFactorInfo *info, Mat *G)
{
  Mat_AIJSingleFactor *f = (Mat_AIJSingleFactor *)F->data;
  IS                   identity, row, column;

  PetscFunctionBegin;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, A->rmap->n, 0, 1, &identity));
  PetscCall(ISSetIdentity(identity));
  row    = f->row ? f->row : identity;
  column = f->column ? f->column : identity;
  PetscCall(MatSetErrorIfFailure(A, F->erroriffailure));
  PetscCall(MatGetFactor(A, MATSOLVERPETSC, F->factortype, G));
  switch (F->factortype) {
  case MAT_FACTOR_LU:
    PetscCall(MatLUFactorSymbolic(*G, A, row, column, info));
    break;
  case MAT_FACTOR_ILU:
    PetscCall(MatILUFactorSymbolic(*G, A, row, column, info));
    break;
  case MAT_FACTOR_CHOLESKY:
    PetscCall(MatCholeskyFactorSymbolic(*G, A, row, info));
    break;
  default:
    PetscCall(MatICCFactorSymbolic(*G, A, row, info));
  }
  PetscCall(ISDestroy(&identity));
  PetscCall(MatFactorGetError(*G, &F->factorerrortype));
  if (F->factorerrortype) PetscFunctionReturn(PETSC_SUCCESS);
  if (F->factortype == MAT_FACTOR_LU || F->factortype == MAT_FACTOR_ILU) PetscCall(MatLUFactorNumeric(*G, A, info));
  else PetscCall(MatCholeskyFactorNumeric(*G, A, info));
  PetscCall(MatFactorGetError(*G, &F->factorerrortype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a factor with inodes has no MatGetRowIJ() */
static PetscErrorCode SetFactor(Mat G, PetscInt n, PetscBool lu, PatchFDCSRFactor *factor)
{
  const PetscInt *i, *j;
  PetscScalar    *a;
  PetscInt        rows;
  PetscBool       done = PETSC_TRUE;

  PetscFunctionBegin;
  if (lu) {
    PetscCall(MatSeqAIJGetCSRAndMemType(G, &i, &j, &a, NULL));
    PetscCall(PatchFDCSRFactorSetLU(n, i, j, a, factor));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetRowIJ(G, 0, PETSC_FALSE, PETSC_FALSE, &rows, &i, &j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No rows of a factor of type %s", ((PetscObject)G)->type_name);
  PetscCall(MatSeqSBAIJGetArray(G, &a));
  PetscCall(PatchFDCSRFactorSetCholesky(n, i, j, a, factor));
  PetscCall(MatSeqSBAIJRestoreArray(G, &a));
  PetscCall(MatRestoreRowIJ(G, 0, PETSC_FALSE, PETSC_FALSE, &rows, &i, &j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorNumeric(Mat F, Mat A, const MatFactorInfo *info)
{
  Mat_AIJSingleFactor *f = (Mat_AIJSingleFactor *)F->data;
  Mat                  B, G;

  PetscFunctionBegin;
  PetscCall(MatAIJSingleGetAIJ(A, &B));
  PetscCall(GetFactorDouble(F, B, info, &G));
  if (!F->factorerrortype) {
    PetscCall(SetFactor(G, A->rmap->n, (PetscBool)(F->factortype == MAT_FACTOR_LU || F->factortype == MAT_FACTOR_ILU), &f->factor));
    if (!f->work) PetscCall(PetscMalloc1(A->rmap->n, &f->work));
  }
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat F, PetscBool transpose, Vec b, Vec x)
{
  Mat_AIJSingleFactor *f     = (Mat_AIJSingleFactor *)F->data;
  const IS             is[2] = {transpose ? f->column : f->row, transpose ? f->row : f->column};
  const PetscInt      *p[2] = {NULL, NULL}, n = F->rmap->n;
  const float         *ba;
  float               *xa;
  Vec                  bf, xf;

  PetscFunctionBegin;
  PetscCall(PatchFDVecBeginFloats(b, PETSC_TRUE, PETSC_MEMTYPE_HOST, &bf));
  PetscCall(PatchFDVecBeginFloats(x, PETSC_FALSE, PETSC_MEMTYPE_HOST, &xf));
  PetscCall(VecSingleGetArrayRead(bf, &ba, NULL));
  PetscCall(VecSingleGetArray(xf, &xa, NULL));
  for (int i = 0; i < 2; i++)
    if (is[i]) PetscCall(ISGetIndices(is[i], &p[i]));
  if (transpose || p[0] || p[1]) {
    PetscCall(PatchFDCSRPermute(n, p[0], PETSC_FALSE, ba, f->work));
    if (transpose) PetscCall(PatchFDCSRSolveTranspose(f->factor.lower, f->factor.upper, f->factor.inverse, f->work));
    else PetscCall(PatchFDCSRSolve(f->factor.lower, f->factor.upper, f->factor.inverse, f->work, f->work));
    PetscCall(PatchFDCSRPermute(n, p[1], PETSC_TRUE, f->work, xa));
  } else PetscCall(PatchFDCSRSolve(f->factor.lower, f->factor.upper, f->factor.inverse, ba, xa));
  for (int i = 0; i < 2; i++)
    if (is[i]) PetscCall(ISRestoreIndices(is[i], &p[i]));
  PetscCall(VecSingleRestoreArrayRead(bf, &ba));
  PetscCall(VecSingleRestoreArray(xf, &xa));
  PetscCall(PatchFDVecEndFloats(b, PETSC_FALSE, &bf));
  PetscCall(PatchFDVecEndFloats(x, PETSC_TRUE, &xf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSolve_AIJSingle(Mat F, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(Solve(F, PETSC_FALSE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSolveTranspose_AIJSingle(Mat F, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(Solve(F, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInfo_AIJSingleFactor(Mat F, PETSC_UNUSED MatInfoType type, MatInfo *info)
{
  Mat_AIJSingleFactor *f = (Mat_AIJSingleFactor *)F->data;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size = 1;
  for (int i = 0; i < (f->factor.lower ? 2 : 0); i++) {
    PetscCount     entries, narrow;
    PetscLogDouble bytes;

    PetscCall(PatchFDCSRGetSize(i ? f->factor.upper : f->factor.lower, &entries, &narrow, &bytes));
    info->nz_used = info->nz_allocated += (PetscLogDouble)entries;
    info->memory += bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_AIJSingleFactor(Mat F)
{
  Mat_AIJSingleFactor *f = (Mat_AIJSingleFactor *)F->data;

  PetscFunctionBegin;
  PetscCall(PatchFDCSRFactorReset(&f->factor));
  PetscCall(ISDestroy(&f->row));
  PetscCall(ISDestroy(&f->column));
  PetscCall(PetscFree(f->work));
  PetscCall(PetscFree(F->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetFactor_AIJSingle(Mat A, MatFactorType type, Mat *factor)
{
  Mat_AIJSingleFactor *f;
  Mat                  F;

  PetscFunctionBegin;
  *factor = NULL;
  if (A->rmap->size > 1) PetscFunctionReturn(PETSC_SUCCESS); /* there is none */
  PetscCall(MatCreate(PETSC_COMM_SELF, &F));
  PetscCall(MatSetSizes(F, A->rmap->n, A->cmap->n, A->rmap->n, A->cmap->n));
  PetscCall(PetscLayoutSetUp(F->rmap));
  PetscCall(PetscLayoutSetUp(F->cmap));
  PetscCall(PetscNew(&f));
  F->data                        = f;
  F->factortype                  = type;
  F->canuseordering              = PETSC_TRUE;
  F->ops->lufactorsymbolic       = FactorSymbolic;
  F->ops->ilufactorsymbolic      = FactorSymbolic;
  F->ops->choleskyfactorsymbolic = CholeskySymbolic;
  F->ops->iccfactorsymbolic      = CholeskySymbolic;
  F->ops->lufactornumeric        = FactorNumeric;
  F->ops->choleskyfactornumeric  = FactorNumeric;
  F->ops->solve                  = MatSolve_AIJSingle;
  F->ops->solvetranspose         = MatSolveTranspose_AIJSingle;
  F->ops->getinfo                = MatGetInfo_AIJSingleFactor;
  F->ops->destroy                = MatDestroy_AIJSingleFactor;
  PetscCall(MatSetVecType(F, VECSINGLE));
  PetscCall(PetscStrallocpy(MATSOLVERPETSC, &F->solvertype));
  PetscCall(PetscStrallocpy(MATORDERINGND, (char **)&F->preferredordering[MAT_FACTOR_LU]));
  PetscCall(PetscStrallocpy(MATORDERINGND, (char **)&F->preferredordering[MAT_FACTOR_CHOLESKY]));
  PetscCall(PetscStrallocpy(MATORDERINGNATURAL, (char **)&F->preferredordering[MAT_FACTOR_ILU]));
  PetscCall(PetscStrallocpy(MATORDERINGNATURAL, (char **)&F->preferredordering[MAT_FACTOR_ICC]));
  PetscCall(PetscObjectChangeTypeName((PetscObject)F, MATAIJSINGLE));
  *factor = F;
  PetscFunctionReturn(PETSC_SUCCESS);
}
