/* fourth-order forms in 3D in double precision */
#include "band_operator_fast.cuh"

template PetscErrorCode patchfd::BandOperatorFastCreate<double, 3>(const BandForm *, BandOperatorFast **);
