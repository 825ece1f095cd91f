/* the operator in 3D on cells with numbers of their own, in single precision */
#include "operator_march.cuh"

template PetscErrorCode patchfd::OperatorMarchCreate<float, true>(const SumDesc *, PlanMemory *, OperatorFast **);
