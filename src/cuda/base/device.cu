/* The GPU in use: whether this library is for it, and how much shared memory a block of threads may have there */
#include "base/cuda.cuh"

namespace patchfd
{

static constexpr int    least_capability = 80, least_cuda = 12040; /* doc/gpu.md, config/bootstrap */
static constexpr size_t shared_default = 48 * 1024;                /* of every GPU, without asking */
static constexpr size_t shared_static  = 16 * 1024;                /* no kernel has more that is not dynamic */
static size_t           shared_most    = 0;                        /* what SharedLimit() returns; 0: the device has not been checked */

#if CUDART_VERSION < 12040
  #error "libpatchfd needs CUDA 12.4 or newer"
#endif

/* no work: is there code for this GPU? */
static __global__ void ProbeKernel() { }

PetscErrorCode CheckDevice()
{
  cudaDeviceProp     device;
  cudaFuncAttributes attributes;
  cudaError_t        err;
  int                number, driver, capability;
  PetscInt           limit;
  PetscBool          set;

  PetscFunctionBegin;
  if (shared_most) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaDriverGetVersion(&driver));
  PetscCheck(driver >= least_cuda, PETSC_COMM_SELF, PETSC_ERR_SUP, "libpatchfd needs a driver for CUDA %d.%d or newer, found one for %d.%d",
             least_cuda / 1000, least_cuda % 1000 / 10, driver / 1000, driver % 1000 / 10);
  PetscCallCUDA(cudaGetDevice(&number));
  PetscCallCUDA(cudaGetDeviceProperties(&device, number));
  capability = 10 * device.major + device.minor;
  PetscCheck(capability >= least_capability, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "libpatchfd needs a GPU with compute capability %d.%d or newer, found %d.%d: %s", least_capability / 10, least_capability % 10,
             device.major, device.minor, device.name);
  err = cudaFuncGetAttributes(&attributes, ProbeKernel);
  PetscCheck(err == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "libpatchfd has no code for this GPU, %s; build it and PETSc with PATCHFD_CUDA_ARCH=%d, or it alone with CUDA_PTX=%d: %s",
             device.name, capability, least_capability, cudaGetErrorString(err));
  limit = (PetscInt)device.sharedMemPerBlockOptin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-patchfd_cuda_shared_limit", &limit, &set));
  PetscCheck(limit >= (PetscInt)shared_least, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-patchfd_cuda_shared_limit must be at least %d, the bytes that every GPU has with compute capability %d.%d or newer, found "
             "%" PetscInt_FMT,
             (int)shared_least, least_capability / 10, least_capability % 10, limit);
  shared_most = PetscMin((size_t)limit, device.sharedMemPerBlockOptin);
  if (set)
    PetscCall(PetscInfo(NULL, "Blocks of threads may have %zu bytes of shared memory, of %zu on this GPU\n", shared_most,
                        device.sharedMemPerBlockOptin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SharedLimit(size_t *bytes)
{
  PetscFunctionBegin;
  PetscCall(CheckDevice());
  *bytes = shared_most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SharedFitsOf(const void *kernel, size_t bytes, bool *fits)
{
  cudaFuncAttributes attributes;

  PetscFunctionBegin;
  PetscCall(CheckDevice());
  *fits = bytes + shared_static <= shared_default;
  if (*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
  *fits = attributes.sharedSizeBytes + bytes <= shared_most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The permission is the kernel's, not a plan's: another plan may have been given more, which it keeps.  How a multiprocessor divides its
  memory into shared memory and L1 is another attribute, and follows what is launched.
*/
PetscErrorCode AllowSharedOf(const void *kernel, size_t bytes)
{
  cudaFuncAttributes attributes;
  size_t             all;

  PetscFunctionBegin;
  PetscCall(CheckDevice());
  if (bytes + shared_static <= shared_default) PetscFunctionReturn(PETSC_SUCCESS); /* to ask for its attributes loads a kernel */
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
  all = attributes.sharedSizeBytes + bytes;
  if (all > shared_most) {
    const char *name;

    PetscCallCUDA(cudaFuncGetName(&name, kernel));
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "%s needs %zu bytes of shared memory for a block of threads, the GPU has %zu", name, all,
            shared_most);
  }
  if (all <= shared_default) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, PetscMax((int)bytes, attributes.maxDynamicSharedSizeBytes)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ResidentOf(const void *kernel, int threads, size_t bytes, int *blocks)
{
  PetscFunctionBegin;
  PetscCall(AllowSharedOf(kernel, bytes));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, bytes));
  PetscCheck(*blocks, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "A block of %d threads with %zu bytes of shared memory does not fit a multiprocessor of this GPU", threads, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Multiprocessors(int *n)
{
  int device;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(n, cudaDevAttrMultiProcessorCount, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
