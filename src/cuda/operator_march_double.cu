/* the operator in 3D in double precision */
#include "operator_march.cuh"

template PetscErrorCode patchfd::OperatorMarchCreate<double, false>(const SumDesc *, PlanMemory *, OperatorFast **);
