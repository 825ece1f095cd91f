/* operators by quadrature with degree + 1 Gauss points, in single precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<float, patchfd::POINTS_FEW>(PetscInt, int, bool, PointsKernel<float> *);
