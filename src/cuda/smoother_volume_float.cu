/* the fast smoother in 3D, degrees 2 to 12, in float precision */
#include "smoother_volume.cuh"

template PetscErrorCode patchfd::SmootherVolumeCreate<float>(int, const PatchFDEigen *const[3], SmootherFast **);
