/* the fast transfer kernels for cells with matrices of their own, in double precision */
#include "transfer_fast.cuh"

template PetscErrorCode patchfd::TransferFastCreate<double, 2, true>(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);
template PetscErrorCode patchfd::TransferFastCreate<double, 3, true>(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);
