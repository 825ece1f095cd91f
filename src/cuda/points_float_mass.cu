/* the mass matrix with Gauss points, in single precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<float, patchfd::POINTS_MASS>(PetscInt, int, bool, PointsKernel<float> *);
