/* the Stokes operator in 3D in float precision */
#include "stokes_operator_fast.cuh"

template PetscErrorCode patchfd::StokesFastCreate<float, 3>(const StokesForm *, StokesFast **);
