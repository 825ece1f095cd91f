/* local solvers that are fitted to each patch, double precision */
#include "fit_kernel.cuh"

namespace patchfd
{

template struct Fit<double>;

} // namespace patchfd
