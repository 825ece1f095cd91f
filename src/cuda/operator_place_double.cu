/* the operator on cells with numbers of their own, in double precision */
#include "operator_march.cuh"
#include "operator_plane.cuh"

template PetscErrorCode patchfd::OperatorMarchCreate<double, true>(const SumDesc *, PlanMemory *, OperatorFast **);
template PetscErrorCode patchfd::OperatorPlaneCreate<double, true>(const SumDesc *, PlanMemory *, OperatorFast **);
