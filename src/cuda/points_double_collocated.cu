/* operators by quadrature whose points are the nodes, in double precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<double, patchfd::POINTS_COLLOCATED>(PetscInt, int, bool, PointsKernel<double> *);
