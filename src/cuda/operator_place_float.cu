/* the operator on cells with numbers of their own, in single precision */
#include "operator_march.cuh"
#include "operator_plane.cuh"

template PetscErrorCode patchfd::OperatorMarchCreate<float, true>(const SumDesc *, PlanMemory *, OperatorFast **);
template PetscErrorCode patchfd::OperatorPlaneCreate<float, true>(const SumDesc *, PlanMemory *, OperatorFast **);
