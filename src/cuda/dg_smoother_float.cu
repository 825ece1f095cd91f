/* the fast smoother of discontinuous fields in 3D in single precision */
#include "dg_smoother_fast.cuh"

template PetscErrorCode patchfd::DGSmootherFastCreate<float>(int, const PatchFDLocalDesc *, DGSmootherFast **);
