/* the fast transfer kernels in single precision, 2D */
#define PRECISION float
#define DIMENSION 2
#include "transfer_fast.cuh"
