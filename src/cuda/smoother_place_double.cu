/* the smoother for patches with matrices of their own, in double precision */
#include "smoother_place.cuh"

template PetscErrorCode patchfd::SmootherPlaceCreate<double, false>(const PatchFDLocalDesc *, PlaceSmoother **);
template PetscErrorCode patchfd::SmootherPlaceCreate<double, true>(const PatchFDLocalDesc *, PlaceSmoother **);
