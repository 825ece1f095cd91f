/* the smoother for patches with matrices of their own, in single precision */
#include "smoother_place.cuh"

template PetscErrorCode patchfd::SmootherPlaceCreate<float, false>(const PatchFDLocalDesc *, PlaceSmoother **);
template PetscErrorCode patchfd::SmootherPlaceCreate<float, true>(const PatchFDLocalDesc *, PlaceSmoother **);
