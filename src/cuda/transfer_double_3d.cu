/* the fast transfer kernels in double precision, 3D */
#include "transfer_fast.cuh"

template PetscErrorCode patchfd::TransferFastCreate<double, 3, false>(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);
