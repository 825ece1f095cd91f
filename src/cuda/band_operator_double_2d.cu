/* fourth-order forms in 2D in double precision */
#include "band_operator_fast.cuh"

template PetscErrorCode patchfd::BandOperatorFastCreate<double, 2>(const BandForm *, BandOperatorFast **);
