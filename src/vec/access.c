/*
  From a Vec to the kernels: the kernel table of a Vec, and the array that belongs to it.  Operators and preconditioners use these, so
  that their code does not depend on the precision.
*/
#include <patchfd/private/vecimpl.h>

#if defined(PETSC_HAVE_CUDA)
  #define CUDA_TABLE       (&PatchFDKernelsCUDADouble)
  #define CUDA_FLOAT_TABLE (&PatchFDKernelsCUDAFloat)
#else
  #define CUDA_TABLE       NULL
  #define CUDA_FLOAT_TABLE NULL
#endif

PetscErrorCode PatchFDVecGetKernels(Vec v, PatchFDKernels *kern)
{
  PetscBool onhost, cuda = PETSC_FALSE;

  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) *kern = PetscMemTypeHost(VecSingleMemType_Private(v)) ? &PatchFDKernelsHostFloat : CUDA_FLOAT_TABLE;
  else {
    /* PETSc's own device Vecs, unless they are told to work on the host */
    PetscCall(VecBoundToCPU(v, &onhost));
    if (!onhost) PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &cuda, VECSEQCUDA, VECMPICUDA, ""));
    *kern = cuda ? CUDA_TABLE : &PatchFDKernelsHostDouble;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecTypeGetKernels(VecType type, PatchFDKernels *kern)
{
  PetscBool single, singlecuda, cuda;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, VECSINGLE, &single));
  PetscCall(PetscStrcmp(type, VECSINGLECUDA, &singlecuda));
  PetscCall(PetscStrcmpAny(type, &cuda, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  *kern = single ? &PatchFDKernelsHostFloat : (singlecuda ? CUDA_FLOAT_TABLE : (cuda ? CUDA_TABLE : &PatchFDKernelsHostDouble));
  PetscCheck(*kern, PETSC_COMM_SELF, PETSC_ERR_SUP, "Vectors of type %s (-dm_vec_type) need a PETSc with CUDA, which this one is not",
             type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  VecGetArray*() would hand out a VECSINGLE's double shadow, and the kernels would then work on a copy, or on the wrong type.  Between
  host and GPU only PETSc's own Vecs move.
*/
static PetscErrorCode CheckStorage(Vec v, PatchFDKernels kern)
{
  PatchFDKernels own = NULL;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(v, &own));
  PetscCheck(own->size == kern->size && (own == kern || own->size == sizeof(PetscScalar)), PetscObjectComm((PetscObject)v),
             PETSC_ERR_ARG_INCOMP,
             "A Vec of type %s cannot be combined with Vecs of another precision or in other memory here (%s kernels): convert it with "
             "VecSingleConvert(), or use PCSINGLE",
             ((PetscObject)v)->type_name, kern->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecGetArrayRead(Vec v, PatchFDKernels kern, const void **a)
{
  PetscMemType m;

  PetscFunctionBegin;
  PetscCall(CheckStorage(v, kern));
  if (VecIsSingle_Private(v)) PetscCall(VecSingleGetArrayRead(v, (const float **)a, &m));
  else if (kern == CUDA_TABLE) PetscCall(VecCUDAGetArrayRead(v, (const PetscScalar **)a));
  else PetscCall(VecGetArrayRead(v, (const PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArrayRead(Vec v, PatchFDKernels kern, const void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArrayRead(v, (const float **)a));
  else if (kern == CUDA_TABLE) PetscCall(VecCUDARestoreArrayRead(v, (const PetscScalar **)a));
  else PetscCall(VecRestoreArrayRead(v, (const PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecGetArray(Vec v, PatchFDKernels kern, void **a)
{
  PetscMemType m;

  PetscFunctionBegin;
  PetscCall(CheckStorage(v, kern));
  if (VecIsSingle_Private(v)) PetscCall(VecSingleGetArray(v, (float **)a, &m));
  else if (kern == CUDA_TABLE) PetscCall(VecCUDAGetArray(v, (PetscScalar **)a));
  else PetscCall(VecGetArray(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArray(Vec v, PatchFDKernels kern, void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArray(v, (float **)a));
  else if (kern == CUDA_TABLE) PetscCall(VecCUDARestoreArray(v, (PetscScalar **)a));
  else PetscCall(VecRestoreArray(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecGetArrayWrite(Vec v, PatchFDKernels kern, void **a)
{
  PetscMemType m;

  PetscFunctionBegin;
  PetscCall(CheckStorage(v, kern));
  if (VecIsSingle_Private(v)) PetscCall(VecSingleGetArrayWrite(v, (float **)a, &m));
  else if (kern == CUDA_TABLE) PetscCall(VecCUDAGetArrayWrite(v, (PetscScalar **)a));
  else PetscCall(VecGetArrayWrite(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArrayWrite(Vec v, PatchFDKernels kern, void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArrayWrite(v, (float **)a));
  else if (kern == CUDA_TABLE) PetscCall(VecCUDARestoreArrayWrite(v, (PetscScalar **)a));
  else PetscCall(VecRestoreArrayWrite(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
