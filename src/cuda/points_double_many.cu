/* operators by quadrature with 2 degree + 1 Gauss points, in double precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<double, patchfd::POINTS_MANY>(PetscInt, int, bool, PointsKernel<double> *);
