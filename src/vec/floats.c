/* The floats of any Vec on the host: those of a VECSINGLE are its own, those of others are a copy */
#include <patchfd/private/vecimpl.h>

PetscErrorCode PatchFDVecBeginFloats(Vec v, PetscBool read, Vec *floats)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v) && PetscMemTypeHost(VecSingleMemType_Private(v))) {
    PetscCall(PetscObjectReference((PetscObject)v));
    *floats = v;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), floats));
  PetscCall(VecSetLayout(*floats, v->map));
  PetscCall(VecSetType(*floats, VECSINGLE));
  if (read) PetscCall(VecSingleConvert(v, 1, *floats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecEndFloats(Vec v, PetscBool write, Vec *floats)
{
  PetscFunctionBegin;
  if (write && *floats != v) PetscCall(VecSingleConvert(*floats, 1, v));
  PetscCall(VecDestroy(floats));
  PetscFunctionReturn(PETSC_SUCCESS);
}
