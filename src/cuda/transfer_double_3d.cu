/* the fast transfer kernels in double precision, 3D */
#define PRECISION double
#define DIMENSION 3
#include "transfer_fast.cuh"
