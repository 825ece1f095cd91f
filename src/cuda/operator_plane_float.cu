/* the operator in 2D in single precision */
#include "operator_plane.cuh"

template PetscErrorCode patchfd::OperatorPlaneCreate<float, false>(const SumDesc *, PlanMemory *, OperatorFast **);
