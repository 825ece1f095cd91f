/* the smoother for patches with matrices of their own in 2D, degrees 1 to 16, in single precision */
#include "smoother_strip.cuh"

template PetscErrorCode patchfd::SmootherStripCreate<float>(const PatchFDLocalDesc *, PlaceSmoother **);
