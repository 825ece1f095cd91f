/* The floats of any Vec, on the host or in GPU memory: those of a VECSINGLE are its own, those of others are a copy; and how the processor
   computes with them */
#include <patchfd/private/vecimpl.h>
#if defined(__SSE__)
  #include <xmmintrin.h>
#endif

unsigned PatchFDSubnormalsOff(PETSC_UNUSED PetscBool off)
{
#if defined(__SSE__)
  const unsigned mode = _mm_getcsr();

  if (off) _mm_setcsr(mode | 0x8040); /* results that are flushed to zero, and operands that are taken for zero */
  return mode;
#else
  return 0;
#endif
}

void PatchFDSubnormalsRestore(PETSC_UNUSED unsigned mode)
{
#if defined(__SSE__)
  _mm_setcsr(mode);
#endif
}

PetscErrorCode PatchFDVecBeginFloats(Vec v, PetscBool read, PetscMemType memtype, Vec *floats)
{
  PetscFunctionBegin;
  if (VecIsSingle_Private(v) && PetscMemTypeHost(VecSingleMemType_Private(v)) == PetscMemTypeHost(memtype)) {
    PetscCall(PetscObjectReference((PetscObject)v));
    *floats = v;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), floats));
  PetscCall(VecSetLayout(*floats, v->map));
  PetscCall(VecSetType(*floats, PetscMemTypeHost(memtype) ? VECSINGLE : VECSINGLECUDA));
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
