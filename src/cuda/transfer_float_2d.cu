/* the fast transfer kernels in single precision, 2D */
#include "transfer_fast.cuh"

template PetscErrorCode patchfd::TransferFastCreate<float, 2, false>(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);
