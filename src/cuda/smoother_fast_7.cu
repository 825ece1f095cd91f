/* the fast smoother for degree 7 in both precisions: double on tensor instructions */
#include "smoother_fast_high.cuh"

template <>
PetscErrorCode patchfd::SmootherFastCreateDegree<double, 7>(const PatchFDEigen *const e[3], SmootherFast **fast)
{
  return SmootherTileCreateDegree<double, 7>(e, fast);
}
template PetscErrorCode patchfd::SmootherFastCreateDegree<float, 7>(const PatchFDEigen *const[3], SmootherFast **);
