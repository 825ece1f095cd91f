/* the smoother for patches with matrices of their own in 3D, in double precision */
#include "smoother_place.cuh"

template PetscErrorCode patchfd::SmootherPlaceCreate<double>(const PatchFDLocalDesc *, PlaceSmoother **);
