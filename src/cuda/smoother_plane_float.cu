/* the fast smoother in 2D, degrees 2 to 10, in float precision */
#include "smoother_plane.cuh"

template <typename T>
PetscErrorCode patchfd::SmootherPlaneCreate(int K, const PatchFDEigen *const e[3], SmootherFast **fast)
{
  return SmootherPlaneCreateDegrees<T, 2, 10>(K, e, fast);
}
template PetscErrorCode patchfd::SmootherPlaneCreate<float>(int, const PatchFDEigen *const[3], SmootherFast **);
