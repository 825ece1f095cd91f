/* transfers of components of a velocity, in single precision */
#include "mixed_transfer_fast.cuh"

template PetscErrorCode patchfd::MixedTransferFastCreate<float, 2>(const PatchFDTransferDesc *, PetscInt, int, MixedTransferFast **);
template PetscErrorCode patchfd::MixedTransferFastCreate<float, 3>(const PatchFDTransferDesc *, PetscInt, int, MixedTransferFast **);
