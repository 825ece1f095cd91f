/* the fast smoother in 3D, degrees 2 to 10, in double precision */
#include "smoother_volume.cuh"

template PetscErrorCode patchfd::SmootherVolumeCreate<double>(int, const PatchFDEigen *const[3], SmootherFast **);
