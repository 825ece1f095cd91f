/* the fast smoother for degree 8 in both precisions, on tensor instructions */
#include "smoother_fast_high.cuh"

template <>
PetscErrorCode patchfd::SmootherFastCreateDegree<double, 8>(const PatchFDEigen *const e[3], SmootherFast **fast)
{
  return SmootherTileCreateDegree<double, 8>(e, fast);
}

template <>
PetscErrorCode patchfd::SmootherFastCreateDegree<float, 8>(const PatchFDEigen *const e[3], SmootherFast **fast)
{
  return SmootherTileCreateDegree<float, 8>(e, fast);
}
