/*
  The door from a Vec to the kernels.  Operators and preconditioners ask for the kernel table of a Vec and for the array that
  belongs to it, and so never know in which precision they work.
*/
#include <patchfd/private/vecimpl.h>

#if defined(PETSC_HAVE_CUDA)
  #define CUDA_TABLE (&PatchFDKernelsCUDADouble)

/* PETSc's own device Vecs, unless they are told to work on the host */
static PetscErrorCode IsCUDA(Vec v, PetscBool *cuda)
{
  PetscFunctionBegin;
  *cuda = PETSC_FALSE;
  if (!VecIsSingle_Private(v) && !v->boundtocpu) PetscCall(PetscObjectTypeCompareAny((PetscObject)v, cuda, VECSEQCUDA, VECMPICUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
  #define CUDA_TABLE NULL
#endif

PetscErrorCode PatchFDVecGetKernels(Vec v, PatchFDKernels *k)
{
  PetscFunctionBegin;
  *k = VecIsSingle_Private(v) ? &PatchFDKernelsHostFloat : &PatchFDKernelsHostDouble;
#if defined(PETSC_HAVE_CUDA)
  {
    PetscBool cuda;

    PetscCall(IsCUDA(v, &cuda));
    if (cuda) *k = CUDA_TABLE;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecGetArray*() would hand out a VECSINGLE's double shadow, and the kernels would then work on a copy, or on the wrong type */
static PetscErrorCode CheckStorage(Vec v, PatchFDKernels k)
{
  const size_t size = VecIsSingle_Private(v) ? sizeof(float) : sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCheck(size == k->size, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_INCOMP, "A Vec of type %s cannot be combined with Vecs of another precision here (%s kernels): convert it with VecSingleConvert(), or use PCSINGLE",
             ((PetscObject)v)->type_name, k->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecGetArrayRead(Vec v, PatchFDKernels k, const void **a)
{
  PetscFunctionBegin;
  PetscCall(CheckStorage(v, k));
  if (VecIsSingle_Private(v)) PetscCall(VecSingleGetArrayRead(v, (const float **)a, NULL));
  else if (k == CUDA_TABLE) PetscCall(VecCUDAGetArrayRead(v, (const PetscScalar **)a));
  else PetscCall(VecGetArrayRead(v, (const PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArrayRead(Vec v, PatchFDKernels k, const void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArrayRead(v, (const float **)a));
  else if (k == CUDA_TABLE) PetscCall(VecCUDARestoreArrayRead(v, (const PetscScalar **)a));
  else PetscCall(VecRestoreArrayRead(v, (const PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecGetArray(Vec v, PatchFDKernels k, void **a)
{
  PetscFunctionBegin;
  PetscCall(CheckStorage(v, k));
  if (VecIsSingle_Private(v)) PetscCall(VecSingleGetArray(v, (float **)a, NULL));
  else if (k == CUDA_TABLE) PetscCall(VecCUDAGetArray(v, (PetscScalar **)a));
  else PetscCall(VecGetArray(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArray(Vec v, PatchFDKernels k, void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArray(v, (float **)a));
  else if (k == CUDA_TABLE) PetscCall(VecCUDARestoreArray(v, (PetscScalar **)a));
  else PetscCall(VecRestoreArray(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecGetArrayWrite(Vec v, PatchFDKernels k, void **a)
{
  PetscFunctionBegin;
  PetscCall(CheckStorage(v, k));
  if (VecIsSingle_Private(v)) PetscCall(VecSingleGetArrayWrite(v, (float **)a, NULL));
  else if (k == CUDA_TABLE) PetscCall(VecCUDAGetArrayWrite(v, (PetscScalar **)a));
  else PetscCall(VecGetArrayWrite(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArrayWrite(Vec v, PatchFDKernels k, void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArrayWrite(v, (float **)a));
  else if (k == CUDA_TABLE) PetscCall(VecCUDARestoreArrayWrite(v, (PetscScalar **)a));
  else PetscCall(VecRestoreArrayWrite(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
