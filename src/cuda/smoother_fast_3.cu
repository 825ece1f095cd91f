/* the fast smoother for degree 3 in both precisions */
#include "smoother_fast.cuh"

template PetscErrorCode patchfd::SmootherFastCreateDegree<double, 3>(const PatchFDEigen *const[3], SmootherFast **);
template PetscErrorCode patchfd::SmootherFastCreateDegree<float, 3>(const PatchFDEigen *const[3], SmootherFast **);
