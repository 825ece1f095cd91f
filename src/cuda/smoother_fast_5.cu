/* the fast smoother for degree 5 in both precisions */
#include "smoother_fast.cuh"

template PetscErrorCode patchfd::SmootherFastCreateDegree<double, 5>(const PatchFDEigen *const[3], SmootherFast **);
template PetscErrorCode patchfd::SmootherFastCreateDegree<float, 5>(const PatchFDEigen *const[3], SmootherFast **);
