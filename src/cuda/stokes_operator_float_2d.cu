/* the Stokes operator in 2D in float precision */
#include "stokes_operator_fast.cuh"

template PetscErrorCode patchfd::StokesFastCreate<float, 2>(const StokesForm *, StokesFast **);
