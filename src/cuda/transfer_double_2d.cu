/* the fast transfer kernels in double precision, 2D */
#define PRECISION double
#define DIMENSION 2
#include "transfer_fast.cuh"
