/* the fast smoother for degree 7 in both precisions */
#include "smoother_fast.cuh"

template PetscErrorCode patchfd::SmootherFastCreateDegree<double, 7>(const PatchFDEigen *const[3], SmootherFast **);
template PetscErrorCode patchfd::SmootherFastCreateDegree<float, 7>(const PatchFDEigen *const[3], SmootherFast **);
