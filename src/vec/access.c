/*
  The door from a Vec to the kernels.  Operators and preconditioners ask for the kernel table of a Vec and for the array that
  belongs to it, and so never know in which precision they work.
*/
#include <patchfd/private/vecimpl.h>

PetscErrorCode PatchFDVecGetKernels(Vec v, PatchFDKernels *k)
{
  PetscFunctionBegin;
  *k = VecIsSingle_Private(v) ? &PatchFDKernelsHostFloat : &PatchFDKernelsHostDouble;
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
  else PetscCall(VecGetArrayRead(v, (const PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArrayRead(Vec v, PETSC_UNUSED PatchFDKernels k, const void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArrayRead(v, (const float **)a));
  else PetscCall(VecRestoreArrayRead(v, (const PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecGetArray(Vec v, PatchFDKernels k, void **a)
{
  PetscFunctionBegin;
  PetscCall(CheckStorage(v, k));
  if (VecIsSingle_Private(v)) PetscCall(VecSingleGetArray(v, (float **)a, NULL));
  else PetscCall(VecGetArray(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArray(Vec v, PETSC_UNUSED PatchFDKernels k, void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArray(v, (float **)a));
  else PetscCall(VecRestoreArray(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecGetArrayWrite(Vec v, PatchFDKernels k, void **a)
{
  PetscFunctionBegin;
  PetscCall(CheckStorage(v, k));
  if (VecIsSingle_Private(v)) PetscCall(VecSingleGetArrayWrite(v, (float **)a, NULL));
  else PetscCall(VecGetArrayWrite(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecRestoreArrayWrite(Vec v, PETSC_UNUSED PatchFDKernels k, void **a)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v)) PetscCall(VecSingleRestoreArrayWrite(v, (float **)a));
  else PetscCall(VecRestoreArrayWrite(v, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
