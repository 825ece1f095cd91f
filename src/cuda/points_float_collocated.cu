/* operators by quadrature whose points are the nodes, in single precision */
#include "points_planes.cuh"

template PetscErrorCode patchfd::PointsFind<float, patchfd::POINTS_COLLOCATED>(PetscInt, int, bool, PointsKernel<float> *);
