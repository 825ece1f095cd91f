/* transfers of components of a velocity, in double precision */
#include "mixed_transfer_fast.cuh"

template PetscErrorCode patchfd::MixedTransferFastCreate<double, 2>(const PatchFDTransferDesc *, PetscInt, int, MixedTransferFast **);
template PetscErrorCode patchfd::MixedTransferFastCreate<double, 3>(const PatchFDTransferDesc *, PetscInt, int, MixedTransferFast **);
