/* the CUDA kernel tables of both precisions */
#include "cuda.cuh"

namespace patchfd
{

static MPI_Datatype TypeDouble(void)
{
  return MPI_DOUBLE;
}

static MPI_Datatype TypeFloat(void)
{
  return MPI_FLOAT;
}

} // namespace patchfd

#define TABLE(T, TYPE) \
  { \
    .name             = patchfd::Scalar<T>::name, \
    .size             = sizeof(T), \
    .memtype          = PETSC_MEMTYPE_CUDA, \
    .datatype         = TYPE, \
    .id               = patchfd::Scalar<T>::id, \
    .malloc           = patchfd::Grid<T>::malloc, \
    .free             = patchfd::Grid<T>::free, \
    .zero             = patchfd::Grid<T>::zero, \
    .copy             = patchfd::Grid<T>::copy, \
    .fixed            = patchfd::Grid<T>::fixed, \
    .operatorcreate   = patchfd::Operator<T>::create, \
    .operatorapply    = patchfd::Operator<T>::apply, \
    .operatordestroy  = patchfd::Operator<T>::destroy, \
    .transfercreate   = patchfd::Transfer<T>::create, \
    .transferprolong  = patchfd::Transfer<T>::prolong, \
    .transferrestrict = patchfd::Transfer<T>::restrict_, \
    .transferdestroy  = patchfd::Transfer<T>::destroy, \
    .smoothercreate   = patchfd::Smoother<T>::create, \
    .smootherapply    = patchfd::Smoother<T>::apply, \
    .smootherdestroy  = patchfd::Smoother<T>::destroy, \
    .boxsolvecreate   = patchfd::BoxSolve<T>::create, \
    .boxsolveapply    = patchfd::BoxSolve<T>::apply, \
    .boxsolvedestroy  = patchfd::BoxSolve<T>::destroy, \
    .recordbegin      = patchfd::RecordBegin, \
    .recordend        = patchfd::RecordEnd, \
    .recordreplay     = patchfd::RecordReplay, \
    .recorddestroy    = patchfd::RecordDestroy, \
  }

const struct _PatchFDKernels PatchFDKernelsCUDADouble = TABLE(double, patchfd::TypeDouble);
const struct _PatchFDKernels PatchFDKernelsCUDAFloat  = TABLE(float, patchfd::TypeFloat);
