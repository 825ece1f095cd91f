/* the fast transfer kernels in single precision, 3D */
#include "transfer_fast.cuh"

template PetscErrorCode patchfd::TransferFastCreate<float, 3, false>(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);
