/* residuals of patches of operators by quadrature, in single precision */
#include "points_residual.cuh"

template PetscErrorCode patchfd::PointsResiduals(PetscInt, bool, const PointsArguments<float> &, const PointsResidualArguments<float> &, cudaStream_t);
