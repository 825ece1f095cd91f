/* the marching operator kernels in double precision */
#define PRECISION double
#include "operator_march.cuh"
