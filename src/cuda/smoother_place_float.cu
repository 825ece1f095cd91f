/* the smoother for patches with matrices of their own in 3D, in single precision */
#include "smoother_place.cuh"

template PetscErrorCode patchfd::SmootherPlaceCreate<float>(const PatchFDLocalDesc *, PlaceSmoother **);
