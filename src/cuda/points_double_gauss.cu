/* operators by quadrature with Gauss points, in double precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<double, patchfd::POINTS_GAUSS>(PetscInt, int, bool, PointsKernel<double> *);
