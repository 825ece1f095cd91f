/* the fast transfer kernels for cells with matrices of their own, in single precision */
#include "transfer_fast.cuh"

template PetscErrorCode patchfd::TransferFastCreate<float, 2, true>(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);
template PetscErrorCode patchfd::TransferFastCreate<float, 3, true>(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);
