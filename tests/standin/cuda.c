/*
  A CUDA runtime for machines without a GPU, to be loaded before the real one (LD_PRELOAD): config/teststandin runs programs with it.

  It pretends to be an H200.  Memory, copies and recordings are real; kernels, and all that cuBLAS and its like compute, do nothing.
  So numbers are wrong, and the host's half of the GPU code runs: descriptions, choices of kernels, tables, plans, their ends.  What it
  finds are crashes, divisions by zero, errors of PETSc, and what a GPU would not allow:
  - the host reads or writes memory of the GPU: SIGSEGV, because the program's view of that memory has no permissions.  Copies go through a
    second view of the same pages.
  - copies past the end of an allocation, or to freed memory: cudaErrorInvalidValue.  Addresses are never used again.
  - launches without blocks, with too many threads, or with more shared memory than the kernel was allowed: cudaErrorInvalidConfiguration.
  - memory, events, streams and graphs that are not freed: lines on stderr when the program ends, "stand-in: ...".

  What is missing here is the real runtime's, which ends with cudaErrorNoDevice or cudaErrorInsufficientDriver: add it.
*/
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static cudaError_t last = cudaSuccess; /* what cudaGetLastError() returns */

static cudaError_t Result(cudaError_t err)
{
  if (err) last = err;
  return err;
}

cudaError_t cudaGetLastError(void)
{
  const cudaError_t err = last;

  last = cudaSuccess;
  return err;
}

cudaError_t cudaPeekAtLastError(void)
{
  return last;
}

/* a routine that cannot fail */
#define SUCCESS(name, arguments, ...) \
  cudaError_t name arguments \
  { \
    __VA_ARGS__; \
    return cudaSuccess; \
  }

/* one that is another one, or fails */
#define CALLS(name, arguments, call) \
  cudaError_t name arguments \
  { \
    return call; \
  }

/* ---- the device ---- */

SUCCESS(cudaGetDeviceCount, (int *n), *n = 1)
SUCCESS(cudaGetDevice, (int *device), *device = 0)

cudaError_t cudaSetDevice(int device)
{
  return Result(device ? cudaErrorInvalidDevice : cudaSuccess);
}

SUCCESS(cudaSetDeviceFlags, (unsigned int flags), )
SUCCESS(cudaDeviceSynchronize, (void), )
SUCCESS(cudaDriverGetVersion, (int *version), *version = CUDART_VERSION)

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
  memset(p, 0, sizeof(*p));
  strcpy(p->name, "stand-in for an H200");
  p->major                       = 9;
  p->warpSize                    = 32;
  p->multiProcessorCount         = 132;
  p->maxThreadsPerBlock          = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->totalGlobalMem              = 8ul << 30; /* of which plans may ask for shares: an ordinary machine's */
  p->sharedMemPerBlock           = 48 * 1024;
  p->sharedMemPerBlockOptin      = 227 * 1024;
  p->sharedMemPerMultiprocessor  = 228 * 1024;
  return cudaSuccess;
}

/* other questions are answered by yes, 1 */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
  static const int values[] = {
    [cudaDevAttrMaxThreadsPerBlock]               = 1024,
    [cudaDevAttrWarpSize]                         = 32,
    [cudaDevAttrMultiProcessorCount]              = 132,
    [cudaDevAttrMaxThreadsPerMultiProcessor]      = 2048,
    [cudaDevAttrComputeCapabilityMajor]           = 9,
    [cudaDevAttrComputeCapabilityMinor]           = 0,
    [cudaDevAttrMaxSharedMemoryPerBlock]          = 48 * 1024,
    [cudaDevAttrMaxSharedMemoryPerMultiprocessor] = 228 * 1024,
    [cudaDevAttrMaxSharedMemoryPerBlockOptin]     = 227 * 1024,
  };
  const int known = (size_t)attribute < sizeof(values) / sizeof(values[0]) && values[attribute];

  *value = known ? values[attribute] : attribute != cudaDevAttrComputeCapabilityMinor;
  return cudaSuccess;
}

SUCCESS(cudaDeviceGetPCIBusId, (char *name, int n, int device), snprintf(name, (size_t)n, "0000:00:%02x.0", device))

/* ---- memory ---- */

/* Pages appear when something is copied there: the arena may be as large as addresses allow.  Allocations are in the order of addresses. */
enum {
  ALIGN = 256,
  PAGE  = 4096,
  MOST  = 1 << 22
};
static const size_t arena_size = (size_t)1 << 40;

static struct Allocation {
  char  *address;
  size_t size;
  int    live;
} *allocations       = NULL;
static size_t number = 0;
static char  *arena  = NULL, *view, *top; /* the program's view, that of copies, the next address */
static long   pinned = 0, objects = 0;    /* that are alive */

static void Leaks(void)
{
  size_t n = 0, bytes = 0;

  for (size_t i = 0; i < number; i++)
    if (allocations[i].live) {
      n++;
      bytes += allocations[i].size;
    }
  if (n) fprintf(stderr, "stand-in: %zu allocations on the GPU were not freed, %zu bytes\n", n, bytes);
  if (pinned) fprintf(stderr, "stand-in: %ld allocations of pinned memory were not freed\n", pinned);
  if (objects) fprintf(stderr, "stand-in: %ld streams, events or graphs were not destroyed\n", objects);
}

static void ArenaCreate(void)
{
  const int file = memfd_create("stand-in", 0);

  if (file < 0 || ftruncate(file, (off_t)arena_size)) abort();
  allocations = (struct Allocation *)mmap(NULL, MOST * sizeof(*allocations), PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  arena = top = (char *)mmap(NULL, arena_size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
  view        = (char *)mmap(NULL, arena_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (allocations == MAP_FAILED || arena == MAP_FAILED || view == MAP_FAILED) abort();
  close(file);
  atexit(Leaks);
}

cudaError_t cudaMalloc(void **p, size_t n)
{
  if (!arena) ArenaCreate();
  *p = NULL;
  if (!n) return cudaSuccess;
  if (number == MOST || n > (size_t)(arena + arena_size - top) - ALIGN) return Result(cudaErrorMemoryAllocation);
  allocations[number++] = (struct Allocation){top, n, 1};
  *p                    = top;
  top += (n + ALIGN - 1) / ALIGN * ALIGN;
  return cudaSuccess;
}

static int OnDevice(const void *p)
{
  return arena && (const char *)p >= arena && (const char *)p < arena + arena_size;
}

/* the live allocation at or before p, or NULL */
static struct Allocation *Find(const void *p)
{
  size_t lo = 0, hi = number;

  while (hi - lo > 1) {
    const size_t middle = lo + (hi - lo) / 2;

    if (allocations[middle].address <= (const char *)p) lo = middle;
    else hi = middle;
  }
  return OnDevice(p) && number && allocations[lo].live ? &allocations[lo] : NULL;
}

cudaError_t cudaFree(void *p)
{
  struct Allocation *a;
  char              *begin, *end;

  if (!p) return cudaSuccess;
  a = Find(p);
  if (!a || a->address != p) return Result(cudaErrorInvalidValue);
  a->live = 0;
  begin   = view + (a->address - arena + PAGE - 1) / PAGE * PAGE;
  end     = view + (size_t)(a->address + a->size - arena) / PAGE * PAGE;
  if (end > begin) (void)madvise(begin, (size_t)(end - begin), MADV_REMOVE);
  return cudaSuccess;
}

/* where copies find n bytes of the host or of the device, or NULL */
static char *Bytes(const void *p, size_t n)
{
  const struct Allocation *a;

  if (!OnDevice(p)) return (char *)p;
  a = Find(p);
  return a && (const char *)p + n <= a->address + a->size ? view + ((const char *)p - arena) : NULL;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind)
{
  char *t, *f;

  if (!width || !height) return cudaSuccess;
  t = Bytes(to, to_pitch * (height - 1) + width);
  f = Bytes(from, from_pitch * (height - 1) + width);
  if (!t || !f || ((kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) && !OnDevice(to)) ||
      ((kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice) && !OnDevice(from)))
    return Result(cudaErrorInvalidValue);
  for (size_t i = 0; i < height; i++) memmove(t + i * to_pitch, f + i * from_pitch, width);
  return cudaSuccess;
}

CALLS(cudaMemcpy2DAsync,
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
       cudaStream_t s),
      cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind))
CALLS(cudaMemcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind), cudaMemcpy2D(to, n, from, n, n, 1, kind))
CALLS(cudaMemcpyAsync, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s), cudaMemcpy(to, from, n, kind))

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
  char *t;

  if (!width || !height) return cudaSuccess;
  t = OnDevice(to) ? Bytes(to, pitch * (height - 1) + width) : NULL;
  if (!t) return Result(cudaErrorInvalidValue);
  for (size_t i = 0; i < height; i++) memset(t + i * pitch, value, width);
  return cudaSuccess;
}

CALLS(cudaMemset2DAsync, (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t s),
      cudaMemset2D(to, pitch, value, width, height))
CALLS(cudaMemset, (void *to, int value, size_t n), cudaMemset2D(to, n, value, n, 1))
CALLS(cudaMemsetAsync, (void *to, int value, size_t n, cudaStream_t s), cudaMemset(to, value, n))
CALLS(cudaMallocAsync, (void **p, size_t n, cudaStream_t s), cudaMalloc(p, n))
CALLS(cudaFreeAsync, (void *p, cudaStream_t s), cudaFree(p))

cudaError_t cudaMallocHost(void **p, size_t n)
{
  *p = calloc(1, n ? n : 1);
  pinned++;
  return *p ? cudaSuccess : Result(cudaErrorMemoryAllocation);
}

CALLS(cudaHostAlloc, (void **p, size_t n, unsigned int flags), cudaMallocHost(p, n))

cudaError_t cudaFreeHost(void *p)
{
  if (p) pinned--;
  free(p);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
  struct cudaDeviceProp p;

  (void)cudaGetDeviceProperties(&p, 0);
  *unused = *total = p.totalGlobalMem;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
  memset(a, 0, sizeof(*a));
  a->type = OnDevice(p) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

/* ---- objects: streams, events, graphs and pools are addresses of an int, 1 while a stream is recorded ---- */

static cudaError_t Create(void *object)
{
  *(int **)object = (int *)calloc(1, sizeof(int));
  objects++;
  return cudaSuccess;
}

static cudaError_t Destroy(void *object)
{
  if (object) objects--;
  free(object);
  return cudaSuccess;
}

/* is it none of CUDA's default streams? */
static int Created(cudaStream_t s)
{
  return s && s != cudaStreamLegacy && s != cudaStreamPerThread;
}

#define CREATE(name, ...) \
  cudaError_t name(__VA_ARGS__) \
  { \
    return Create(object); \
  }
#define DESTROY(name, T) \
  cudaError_t name(T object) \
  { \
    return Destroy(object); \
  }

CREATE(cudaStreamCreate, cudaStream_t *object)
CREATE(cudaStreamCreateWithFlags, cudaStream_t *object, unsigned int flags)
DESTROY(cudaStreamDestroy, cudaStream_t)
SUCCESS(cudaStreamSynchronize, (cudaStream_t s), )
SUCCESS(cudaStreamQuery, (cudaStream_t s), )
SUCCESS(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned int flags), )
CREATE(cudaEventCreate, cudaEvent_t *object)
CREATE(cudaEventCreateWithFlags, cudaEvent_t *object, unsigned int flags)
DESTROY(cudaEventDestroy, cudaEvent_t)
SUCCESS(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), )
SUCCESS(cudaEventSynchronize, (cudaEvent_t e), )
CREATE(cudaGraphCreate, cudaGraph_t *object, unsigned int flags)
DESTROY(cudaGraphDestroy, cudaGraph_t)
CREATE(cudaGraphInstantiate, cudaGraphExec_t *object, cudaGraph_t g, unsigned long long flags)
DESTROY(cudaGraphExecDestroy, cudaGraphExec_t)
SUCCESS(cudaGraphLaunch, (cudaGraphExec_t g, cudaStream_t s), )
SUCCESS(cudaGraphConditionalHandleCreate, (cudaGraphConditionalHandle * h, cudaGraph_t g, unsigned int value, unsigned int flags), )
CREATE(cudaMemPoolCreate, cudaMemPool_t *object, const struct cudaMemPoolProps *p)
DESTROY(cudaMemPoolDestroy, cudaMemPool_t)
SUCCESS(cudaDeviceGetMemPool, (cudaMemPool_t * p, int device), )
SUCCESS(cudaMemPoolSetAttribute, (cudaMemPool_t p, enum cudaMemPoolAttr a, void *value), )
SUCCESS(cudaMemPoolTrimTo, (cudaMemPool_t p, size_t n), )
CALLS(cudaMallocFromPoolAsync, (void **p, size_t n, cudaMemPool_t pool, cudaStream_t s), cudaMalloc(p, n))
SUCCESS(cudaStreamGetFlags, (cudaStream_t s, unsigned int *flags), *flags = 0)
SUCCESS(cudaEventElapsedTime, (float *t, cudaEvent_t a, cudaEvent_t b), *t = 1)

/* ---- recordings: their nodes are not kept, and what is in their bodies is the device's ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
  if (!Created(s)) return Result(cudaErrorStreamCaptureUnsupported);
  *(int *)s = 1;
  return cudaSuccess;
}

CALLS(cudaStreamBeginCaptureToGraph,
      (cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t *n, const cudaGraphEdgeData *e, size_t number, enum cudaStreamCaptureMode mode),
      cudaStreamBeginCapture(s, mode))

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
  *(int *)s = 0;
  return Create(g);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status)
{
  *status = Created(s) && *(int *)s ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *n, const cudaGraphEdgeData *e, size_t number,
                             struct cudaGraphNodeParams *p)
#else
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *n, size_t number, struct cudaGraphNodeParams *p)
#endif
{
  static cudaGraph_t body = NULL; /* of every loop */

  *node                      = NULL;
  p->conditional.phGraph_out = &body;
  return cudaSuccess;
}

/* ---- other processes: their memory cannot be reached ---- */

CALLS(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *p), Result(cudaErrorNotSupported))
CALLS(cudaIpcOpenMemHandle, (void **p, cudaIpcMemHandle_t handle, unsigned int flags), Result(cudaErrorNotSupported))

/* ---- kernels: launches are looked at, and forgotten ---- */

/* how much shared memory a kernel was allowed, where it is more than all have */
static struct {
  const void *kernel;
  size_t      bytes;
} allowed[1 << 14];

static size_t *Allowed(const void *kernel)
{
  size_t i = 0;

  while (allowed[i].kernel && allowed[i].kernel != kernel) i++;
  if (i + 1 == sizeof(allowed) / sizeof(allowed[0])) abort();
  if (!allowed[i].kernel) allowed[i].bytes = 48 * 1024;
  allowed[i].kernel = kernel;
  return &allowed[i].bytes;
}

static cudaError_t Launch(const void *kernel, dim3 grid, dim3 block, size_t shared)
{
  const size_t threads = (size_t)block.x * block.y * block.z;

  return Result(!grid.x || grid.x > 2147483647u || !grid.y || grid.y > 65535 || !grid.z || grid.z > 65535 || !threads || threads > 1024 ||
                    block.z > 64 || shared > *Allowed(kernel)
                  ? cudaErrorInvalidConfiguration
                  : cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > 227 * 1024) return Result(cudaErrorInvalidValue);
  *Allowed(kernel) = (size_t)value;
  return cudaSuccess;
}

/* registers and static shared memory are not known */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *kernel)
{
  memset(a, 0, sizeof(*a));
  a->binaryVersion = a->ptxVersion = 90;
  a->maxThreadsPerBlock            = 1024;
  a->numRegs                       = 64;
  a->maxDynamicSharedSizeBytes     = (int)*Allowed(kernel);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *kernel, int threads, size_t shared,
                                                                   unsigned int flags)
{
  const int by_threads = threads ? 2048 / threads : 0, by_shared = (int)(228 * 1024 / (shared + 1024));

  *n = by_threads < by_shared ? by_threads : by_shared;
  return cudaSuccess;
}

CALLS(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, const void *kernel, int threads, size_t shared),
      cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, kernel, threads, shared, 0))
SUCCESS(cudaOccupancyMaxActiveClusters, (int *n, const void *kernel, const cudaLaunchConfig_t *c), *n = 1)
CALLS(cudaLaunchKernel, (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t s),
      Launch(kernel, grid, block, shared))
CALLS(cudaLaunchKernelExC, (const cudaLaunchConfig_t *c, const void *kernel, void **arguments),
      Launch(kernel, c->gridDim, c->blockDim, c->dynamicSmemBytes))

/* what <<<...>>> becomes since CUDA 13 */
SUCCESS(__cudaGetKernel, (cudaKernel_t * handle, const void *kernel), *handle = (cudaKernel_t)kernel)
CALLS(__cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t s),
      Launch(kernel, grid, block, shared))

/* ---- cuBLAS, cuSOLVER, cuSPARSE, cuRAND: without their headers.  Success is 0; calls may have more arguments than are read here ---- */

#define LIBRARY_NOTHING(name) \
  int name(void) \
  { \
    return 0; \
  }
#define LIBRARY_CREATE(name) \
  int name(void **object) \
  { \
    return (int)Create(object); \
  }
#define LIBRARY_DESTROY(name) \
  int name(void *object) \
  { \
    return (int)Destroy(object); \
  }
/* the answer to a reduction or to a question: 1, because solvers divide by some of them */
#define LIBRARY_RESULT(name, T, ...) \
  int name(__VA_ARGS__, T *result) \
  { \
    T *t = (T *)Bytes(result, sizeof(*t)); \
\
    if (t) *t = 1; \
    return t ? 0 : 7; /* an invalid value */ \
  }

LIBRARY_CREATE(cublasCreate_v2)
LIBRARY_DESTROY(cublasDestroy_v2)
LIBRARY_NOTHING(cublasSetStream_v2)
LIBRARY_NOTHING(cublasSetPointerMode_v2)
LIBRARY_RESULT(cublasGetPointerMode_v2, int, void *h)
LIBRARY_RESULT(cublasDdot_v2, double, void *h, int n, const double *x, int incx, const double *y, int incy)
LIBRARY_RESULT(cublasDnrm2_v2, double, void *h, int n, const double *x, int incx)
LIBRARY_RESULT(cublasDasum_v2, double, void *h, int n, const double *x, int incx)
LIBRARY_RESULT(cublasIdamax_v2, int, void *h, int n, const double *x, int incx)
LIBRARY_NOTHING(cublasDaxpy_v2)
LIBRARY_NOTHING(cublasDcopy_v2)
LIBRARY_NOTHING(cublasDscal_v2)
LIBRARY_NOTHING(cublasDswap_v2)
LIBRARY_NOTHING(cublasDgemv_v2)
LIBRARY_NOTHING(cublasDgemm_v2)
LIBRARY_NOTHING(cublasDgemmStridedBatched)
LIBRARY_NOTHING(cublasSgemmStridedBatched)

LIBRARY_CREATE(cusolverDnCreate)
LIBRARY_DESTROY(cusolverDnDestroy)
LIBRARY_NOTHING(cusolverDnSetStream)
LIBRARY_RESULT(cusolverDnDpotrf_bufferSize, int, void *h, int uplo, int n, double *a, int lda)
LIBRARY_NOTHING(cusolverDnDpotrf)
LIBRARY_RESULT(cusolverDnDpotri_bufferSize, int, void *h, int uplo, int n, double *a, int lda)
LIBRARY_NOTHING(cusolverDnDpotri)

LIBRARY_CREATE(cusparseCreate)
LIBRARY_DESTROY(cusparseDestroy)
LIBRARY_NOTHING(cusparseSetStream)
LIBRARY_NOTHING(cusparseSetPointerMode)
LIBRARY_CREATE(cusparseCreateMatDescr)
LIBRARY_DESTROY(cusparseDestroyMatDescr)
LIBRARY_NOTHING(cusparseSetMatIndexBase)
LIBRARY_NOTHING(cusparseSetMatType)
LIBRARY_CREATE(cusparseCreateCsr)
LIBRARY_NOTHING(cusparseCsrSetPointers)
LIBRARY_NOTHING(cusparseSpMatSetValues)
LIBRARY_DESTROY(cusparseDestroySpMat)
LIBRARY_CREATE(cusparseCreateDnVec)
LIBRARY_NOTHING(cusparseDnVecSetValues)
LIBRARY_DESTROY(cusparseDestroyDnVec)
LIBRARY_RESULT(cusparseSpMV_bufferSize, size_t, void *h, int op, const void *alpha, void *a, void *x, const void *beta, void *y, int type,
               int algorithm)
LIBRARY_NOTHING(cusparseSpMV_preprocess)
LIBRARY_NOTHING(cusparseSpMV)

LIBRARY_CREATE(curandCreateGenerator)
LIBRARY_DESTROY(curandDestroyGenerator)
LIBRARY_NOTHING(curandSetStream)
LIBRARY_NOTHING(curandSetGeneratorOrdering)
LIBRARY_NOTHING(curandSetPseudoRandomGeneratorSeed)

int curandGenerateUniformDouble(void *generator, double *x, size_t n)
{
  double *values = (double *)Bytes(x, n * sizeof(*x));

  if (!values) return 7;
  for (size_t i = 0; i < n; i++) values[i] = (double)(i * 7919 % 10007 + 1) / 10008;
  return 0;
}
