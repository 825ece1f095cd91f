/* the Stokes operator in 2D in double precision */
#include "stokes_operator_fast.cuh"

template PetscErrorCode patchfd::StokesFastCreate<double, 2>(const StokesForm *, StokesFast **);
