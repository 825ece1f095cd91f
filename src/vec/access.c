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

/* Kind: Array, ArrayRead or ArrayWrite; Const: const, where it is only read */
#define ACCESS(Kind, Const) \
  PetscErrorCode PatchFDVecGet##Kind(Vec v, PatchFDKernels kern, Const void **a) \
  { \
    PetscMemType m; \
\
    PetscFunctionBegin; \
    PetscCall(CheckStorage(v, kern)); \
    if (VecIsSingle_Private(v)) PetscCall(VecSingleGet##Kind(v, (Const float **)a, &m)); \
    else if (kern == CUDA_TABLE) PetscCall(VecCUDAGet##Kind(v, (Const PetscScalar **)a)); \
    else PetscCall(VecGet##Kind(v, (Const PetscScalar **)a)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  PetscErrorCode PatchFDVecRestore##Kind(Vec v, PatchFDKernels kern, Const void **a) \
  { \
    PetscFunctionBegin; \
    if (VecIsSingle_Private(v)) PetscCall(VecSingleRestore##Kind(v, (Const float **)a)); \
    else if (kern == CUDA_TABLE) PetscCall(VecCUDARestore##Kind(v, (Const PetscScalar **)a)); \
    else PetscCall(VecRestore##Kind(v, (Const PetscScalar **)a)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
ACCESS(ArrayRead, const)
ACCESS(Array, )
ACCESS(ArrayWrite, )
