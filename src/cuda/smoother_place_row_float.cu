/* Rows of two colours of patches with matrices of their own: float */
#include "smoother_place_row.cuh"

template PetscErrorCode patchfd::SmootherPlaceRowCreate<float>(int, const PatchFDPatches *const[3], const int[3][2], SmootherFast **);
