/* the marching operator kernels in float precision */
#define PRECISION float
#include "operator_march.cuh"
