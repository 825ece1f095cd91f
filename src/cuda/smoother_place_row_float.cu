/* rows of two colours of patches with matrices of their own, in single precision */
#include "smoother_place_row.cuh"

template PetscErrorCode patchfd::SmootherPlaceRowCreate<float>(int, const PatchFDPatches *const[3], const int[3][2], SmootherFast **);
template PetscErrorCode patchfd::SmootherRimCreate<float>(int, const PatchFDPatches *const[3], const int[3][2],
                                                          const PatchFDEigen *const[3], SmootherFast **);
