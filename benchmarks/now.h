#pragma once
/* the time, when a GPU has done all its work */
#include <petsctime.h>

#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
  #define GPU PetscDeviceInitialized(PETSC_DEVICE_CUDA)
#else
  #define GPU PETSC_FALSE
#endif

/* seconds, when all work is done */
static PetscErrorCode Now(PetscLogDouble *t)
{
  PetscFunctionBeginUser;
#if defined(PETSC_HAVE_CUDA)
  if (GPU) PetscCallCUDA(cudaDeviceSynchronize());
#endif
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}
