/* the fast transfer kernels in single precision, 3D */
#define PRECISION float
#define DIMENSION 3
#include "transfer_fast.cuh"
