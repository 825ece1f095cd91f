/* the operator in 2D in double precision */
#include "operator_plane.cuh"

template PetscErrorCode patchfd::OperatorPlaneCreate<double, false>(const SumDesc *, PlanMemory *, OperatorFast **);
