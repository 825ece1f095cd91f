/* operators by quadrature with degree + 1 Gauss points, in double precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<double, patchfd::POINTS_FEW>(PetscInt, int, bool, PointsKernel<double> *);
