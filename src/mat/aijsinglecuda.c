/* MATAIJSINGLE: rows, and numbers of other ranks, in the memory where the vectors are */
#include <patchfd/private/aijsingle.h>

PetscErrorCode MatAIJSingleMultLocal(Mat_AIJSingle *m, PetscBool off, PetscBool transpose, PetscMemType memtype, float s, const float x[],
                                     const float z[], float y[])
{
  const PatchFDCSR rows = off ? m->off : m->diag;

  PetscFunctionBegin;
  if (PetscMemTypeHost(memtype)) {
    if (transpose) PetscCall(PatchFDCSRMultTransposeAdd(rows, x, y));
    else PetscCall(PatchFDCSRMult(rows, s, x, z, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#if defined(PETSC_HAVE_CUDA)
  PatchFDCSRCUDA *cuda = &m->cuda[off][transpose];

  if (!*cuda && transpose) {
    PatchFDCSR columns;

    PetscCall(PatchFDCSRCreateTranspose(rows, &columns));
    PetscCall(PatchFDCSRCUDACreate(columns, cuda));
    PetscCall(PatchFDCSRDestroy(&columns));
  } else if (!*cuda) PetscCall(PatchFDCSRCUDACreate(rows, cuda));
  PetscCall(PatchFDCSRCUDAMult(*cuda, s, x, z, y));
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

PetscErrorCode MatAIJSingleForgetCUDA(PETSC_UNUSED Mat_AIJSingle *m)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  for (int i = 0; i < 4; i++) PetscCall(PatchFDCSRCUDADestroy(&m->cuda[i / 2][i % 2]));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
