/* the fast smoother of discontinuous fields in 3D in double precision */
#include "dg_smoother_fast.cuh"

template PetscErrorCode patchfd::DGSmootherFastCreate<double>(int, const PatchFDLocalDesc *, DGSmootherFast **);
