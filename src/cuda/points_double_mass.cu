/* the mass matrix with Gauss points, in double precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<double, patchfd::POINTS_MASS>(PetscInt, int, bool, PointsKernel<double> *);
