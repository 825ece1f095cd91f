/* operators by quadrature with Gauss points, in double precision */
#include "points_fast.cuh"

template PetscErrorCode patchfd::PointsFind<double, patchfd::POINTS_GAUSS>(PetscInt, bool, PointsKernel<double> *);
