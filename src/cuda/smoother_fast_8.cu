/* the fast smoother for degree 8 in both precisions */
#include "smoother_fast.cuh"

template PetscErrorCode patchfd::SmootherFastCreateDegree<double, 8>(const PatchFDEigen *const[3], SmootherFast **);
template PetscErrorCode patchfd::SmootherFastCreateDegree<float, 8>(const PatchFDEigen *const[3], SmootherFast **);
