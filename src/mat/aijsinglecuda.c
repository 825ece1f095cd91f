/* MATAIJSINGLE: rows, and numbers of other ranks, in the memory where the vectors are */
#include <patchfd/private/aijsingle.h>

PetscErrorCode MatAIJSingleNeedHost(PETSC_UNUSED Mat_AIJSingle *m, PETSC_UNUSED PetscBool off)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  PatchFDCSRArrays arrays;

  PetscCall(PatchFDCSRGetArrays(off ? m->off : m->diag, &arrays));
  if (!arrays.a) PetscCall(PatchFDCSRCUDAGet(m->cuda[off][0], off ? m->off : m->diag));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJSingleGetRows(Mat_AIJSingle *m, PetscBool off, PatchFDCSR *rows)
{
  PetscFunctionBegin;
  *rows = off ? m->off : m->diag;
  PetscCall(MatAIJSingleNeedHost(m, off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_HAVE_CUDA)
static PetscErrorCode NeedCUDA(Mat_AIJSingle *m, PetscBool off)
{
  PetscFunctionBegin;
  if (!m->cuda[off][0]) PetscCall(PatchFDCSRCUDACreate(off ? m->off : m->diag, &m->cuda[off][0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJSingleSetRowsCUDA(Mat_AIJSingle *m, PetscBool off, Mat A, PetscInt rows, const PetscInt i[])
{
  PatchFDCSR        *csr = off ? &m->off : &m->diag;
  const PetscInt    *di, *dj;
  const PetscScalar *a;

  PetscFunctionBegin;
  if (!*csr) {
    PetscCall(MatSeqAIJCUSPARSEGetIJ(A, PETSC_TRUE, &di, &dj));
    PetscCall(PatchFDCSRCUDACreateFrom(rows, A->cmap->n, i, dj, csr, &m->cuda[off][0]));
    PetscCall(MatSeqAIJCUSPARSERestoreIJ(A, PETSC_TRUE, &di, &dj));
  }
  PetscCall(NeedCUDA(m, off));
  PetscCall(PatchFDCSRForgetEntries(*csr));
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(A, &a));
  PetscCall(PatchFDCSRCUDASetValues(m->cuda[off][0], a));
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatAIJSingleMultLocal(Mat_AIJSingle *m, PetscBool off, PetscBool transpose, PetscMemType memtype, float s, const float x[],
                                     const float z[], float y[])
{
  PatchFDCSR rows;

  PetscFunctionBegin;
  if (PetscMemTypeHost(memtype)) {
    PetscCall(MatAIJSingleGetRows(m, off, &rows));
    if (transpose) PetscCall(PatchFDCSRMultTransposeAdd(rows, x, y));
    else PetscCall(PatchFDCSRMult(rows, s, x, z, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#if defined(PETSC_HAVE_CUDA)
  PatchFDCSRCUDA *cuda = m->cuda[off];

  PetscCall(NeedCUDA(m, off));
  if (!cuda[1] && transpose) PetscCall(PatchFDCSRCUDACreateTranspose(cuda[0], &cuda[1]));
  PetscCall(PatchFDCSRCUDAMult(cuda[transpose], s, x, z, y));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJSingleGetDiagonalLocal(Mat_AIJSingle *m, PetscMemType memtype, float d[])
{
  PatchFDCSR rows;

  PetscFunctionBegin;
  if (PetscMemTypeHost(memtype)) {
    PetscCall(MatAIJSingleGetRows(m, PETSC_FALSE, &rows));
    PetscCall(PatchFDCSRGetDiagonal(rows, d));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#if defined(PETSC_HAVE_CUDA)
  PetscCall(NeedCUDA(m, PETSC_FALSE));
  PetscCall(PatchFDCSRCUDAGetDiagonal(m->cuda[0][0], d));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJSingleGetGhosts(Mat_AIJSingle *m, PetscMemType memtype, float **ghosts)
{
  float *a;

  PetscFunctionBegin;
  PetscCall(VecSetType(m->ghost, PetscMemTypeHost(memtype) ? VECSINGLE : VECSINGLECUDA));
  PetscCall(VecSingleGetArray(m->ghost, &a, &memtype));
  *ghosts = a; /* of this matrix alone, after the access, too */
  PetscCall(VecSingleRestoreArray(m->ghost, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJSingleForgetCUDA(PETSC_UNUSED Mat_AIJSingle *m, PETSC_UNUSED PetscBool transposes)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  for (int i = 0; i < 4; i++)
    if (i % 2 || !transposes) PetscCall(PatchFDCSRCUDADestroy(&m->cuda[i / 2][i % 2]));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
