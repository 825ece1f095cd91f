/* the Stokes operator in 3D in double precision */
#include "stokes_operator_fast.cuh"

template PetscErrorCode patchfd::StokesFastCreate<double, 3>(const StokesForm *, StokesFast **);
