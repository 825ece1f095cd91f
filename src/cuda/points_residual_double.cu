/* residuals of patches of operators by quadrature, in double precision */
#include "points_residual.cuh"

template PetscErrorCode patchfd::PointsResiduals(PetscInt, bool, const PointsArguments<double> &, const PointsResidualArguments<double> &, cudaStream_t);
