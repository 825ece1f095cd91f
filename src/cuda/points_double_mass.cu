/* the mass matrix with Gauss points, in double precision */
#include "points_fast.cuh"

template PetscErrorCode patchfd::PointsFind<double, patchfd::POINTS_MASS>(PetscInt, bool, PointsKernel<double> *);
