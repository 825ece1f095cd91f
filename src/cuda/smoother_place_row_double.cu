/* Rows of two colours of patches with matrices of their own: double */
#include "smoother_place_row.cuh"

template PetscErrorCode patchfd::SmootherPlaceRowCreate<double>(int, const PatchFDPatches *const[3], const int[3][2], SmootherFast **);
