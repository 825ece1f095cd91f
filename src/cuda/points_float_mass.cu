/* the mass matrix with Gauss points, in single precision */
#include "points_fast.cuh"

template PetscErrorCode patchfd::PointsFind<float, patchfd::POINTS_MASS>(PetscInt, bool, PointsKernel<float> *);
