/* the fast transfer kernels in double precision, 2D */
#include "transfer_fast.cuh"

template PetscErrorCode patchfd::TransferFastCreate<double, 2, false>(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);
