/* host kernels in single precision */
#define REAL       float
#define REAL_BYTES 4
#define GEMM       PETSC_PASTE2(sgemm, PETSC_BLASLAPACK_SUFFIX_)
#define TABLE      PatchFDKernelsHostFloat
#define HALO_TABLE PatchFDHaloHostFloat
#define BOX_TABLE  PatchFDBoxHostFloat
#define BRICKS     PatchFDBricksFloat
#define TABLE_NAME "host float"
#define TABLE_ID   PATCHFD_KERNELS_HOST_FLOAT
#define TABLE_TYPE MPI_FLOAT
#include "table.h"
