/* the fast smoother in 2D, degrees 2 to 10, in double precision */
#include "smoother_plane.cuh"

template PetscErrorCode patchfd::SmootherPlaneCreate<double>(int, const PatchFDEigen *const[3], SmootherFast **);
