/* fourth-order forms in 2D in single precision */
#include "band_operator_fast.cuh"

template PetscErrorCode patchfd::BandOperatorFastCreate<float, 2>(const BandForm *, BandOperatorFast **);
