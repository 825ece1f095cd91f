/* the operator in 3D on cells with numbers of their own, in double precision */
#include "operator_march.cuh"

template PetscErrorCode patchfd::OperatorMarchCreate<double, true>(const SumDesc *, PlanMemory *, OperatorFast **);
