/* operators by quadrature whose points are the nodes, in single precision */
#include "points_fast.cuh"

template PetscErrorCode patchfd::PointsFind<float, patchfd::POINTS_COLLOCATED>(PetscInt, bool, PointsKernel<float> *);
