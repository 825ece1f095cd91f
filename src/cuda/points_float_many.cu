/* operators by quadrature with 2 degree + 1 Gauss points, in single precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<float, patchfd::POINTS_MANY>(PetscInt, int, bool, PointsKernel<float> *);
