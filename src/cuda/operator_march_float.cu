/* the operator in 3D in single precision */
#include "operator_march.cuh"

template PetscErrorCode patchfd::OperatorMarchCreate<float, false>(const SumDesc *, PlanMemory *, OperatorFast **);
