/* the fast smoother for degree 6 in both precisions */
#include "smoother_fast.cuh"

template PetscErrorCode patchfd::SmootherFastCreateDegree<double, 6>(const PatchFDEigen *const[3], SmootherFast **);
template PetscErrorCode patchfd::SmootherFastCreateDegree<float, 6>(const PatchFDEigen *const[3], SmootherFast **);
