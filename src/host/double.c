/* host kernels in double precision */
#define REAL       double
#define REAL_BYTES 8
#define GEMM       PETSC_PASTE2(dgemm, PETSC_BLASLAPACK_SUFFIX_)
#define TABLE      PatchFDKernelsHostDouble
#define HALO_TABLE PatchFDHaloHostDouble
#define BOX_TABLE  PatchFDBoxHostDouble
#define BRICKS     PatchFDBricksDouble
#define TABLE_NAME "host double"
#define TABLE_ID   PATCHFD_KERNELS_HOST_DOUBLE
#define TABLE_TYPE MPI_DOUBLE
#include "table.h"
