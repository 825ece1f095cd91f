/* local solvers that are fitted to each patch, single precision */
#include "fit_kernel.cuh"

namespace patchfd
{

template struct Fit<float>;

} // namespace patchfd
