/* operators by quadrature with Gauss points, in single precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<float, patchfd::POINTS_GAUSS>(PetscInt, int, bool, PointsKernel<float> *);
