/* rows of two colours of patches with matrices of their own, in double precision */
#include "smoother_place_row.cuh"

template PetscErrorCode patchfd::SmootherPlaceRowCreate<double>(int, const PatchFDPatches *const[3], const int[3][2], SmootherFast **);
template PetscErrorCode patchfd::SmootherRimCreate<double>(int, const PatchFDPatches *const[3], const int[3][2],
                                                           const PatchFDEigen *const[3], SmootherFast **);
