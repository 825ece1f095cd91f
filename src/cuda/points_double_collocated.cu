/* operators by quadrature whose points are the nodes, in double precision */
#include "points_fast.cuh"

template PetscErrorCode patchfd::PointsFind<double, patchfd::POINTS_COLLOCATED>(PetscInt, bool, PointsKernel<double> *);
