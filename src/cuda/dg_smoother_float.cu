#include "dg_smoother_fast.cuh"

namespace patchfd
{

#define DEGREE(K) template PetscErrorCode DGSmootherFastCreate<float, K>(const PatchFDLocalDesc *, DGSmootherFast **);
DEGREE(1)
DEGREE(2)
DEGREE(3)
DEGREE(4)
DEGREE(5)
DEGREE(6)
DEGREE(7)
DEGREE(8)

} // namespace patchfd
