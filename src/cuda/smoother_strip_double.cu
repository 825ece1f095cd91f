/* the smoother for patches with matrices of their own in 2D, degrees 1 to 16, in double precision */
#include "smoother_strip.cuh"

template PetscErrorCode patchfd::SmootherStripCreate<double>(const PatchFDLocalDesc *, PlaceSmoother **);
