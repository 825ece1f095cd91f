/* operators by quadrature with Gauss points, in single precision */
#include "points_fast.cuh"

template PetscErrorCode patchfd::PointsFind<float, patchfd::POINTS_GAUSS>(PetscInt, bool, PointsKernel<float> *);
