/* fourth-order forms in 3D in single precision */
#include "band_operator_fast.cuh"

template PetscErrorCode patchfd::BandOperatorFastCreate<float, 3>(const BandForm *, BandOperatorFast **);
