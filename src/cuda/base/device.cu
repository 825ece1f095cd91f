/*
  The GPU in use, PETSc's stream, and recordings as CUDA graphs.  A V-cycle is some hundred launches, most of them on coarse levels, where a
  kernel takes no longer than its launch; replayed as a graph they follow each other without the host.

  A loop is a graph with one node, whose body is what was recorded, repeated until a kernel in it says stop.

  PETSc's own stream is CUDA's default stream, which cannot be captured: while recording, a device context with a stream of its own is
  the current one.

  No other stream does.  PETSc (3.25, 3.26) has VecCopy(), VecAXPY() and all that goes element by element on CUDA's default stream,
  whatever the current context's is, and only reductions and copies between host and GPU on that: in a context whose stream does not wait
  for the default one, a kernel of ours, or VecNorm(), reads what VecCopy() has not written yet.  Nothing here can mend the latter, so that
  such a context is an error.
*/
#include "base/cuda.cuh"
#include <patchfd/private/halo.h>

namespace patchfd
{

/* ---- the GPU in use ---- */

/* whether this library is for it, and how much shared memory a block of threads may have there */

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

/* ---- streams and recordings ---- */

/* one device a process: memory that is kept, attributes of kernels and streams of plans are of the first one */
static PetscInt device = PETSC_DECIDE;

static PetscErrorCode ForgetDevice(void)
{
  PetscFunctionBegin;
  device = PETSC_DECIDE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Stream(cudaStream_t *stream)
{
  PetscDeviceContext ctx;
  PetscDevice        current;
  PetscStreamType    type;
  PetscInt           id;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&ctx));
  PetscCall(CheckDevice());
  PetscCall(PetscGetCurrentCUDAStream(stream));
  PetscCall(PetscDeviceContextGetStreamType(ctx, &type));
  if (type != PETSC_STREAM_DEFAULT && type != PETSC_STREAM_DEFAULT_WITH_BARRIER) {
    cudaStreamCaptureStatus status;

    PetscCallCUDA(cudaStreamIsCapturing(*stream, &status));
    PetscCheck(status != cudaStreamCaptureStatusNone, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "PETSc's current device context has a stream of type %s (-root_device_context_stream_type, "
               "PetscDeviceContextSetStreamType()), which does not wait for "
               "CUDA's default stream, where VecCopy(), VecAXPY() and others of PETSc's are: results would depend on timing. Allowed are "
               "%s and %s",
               PetscStreamTypes[type], PetscStreamTypes[PETSC_STREAM_DEFAULT], PetscStreamTypes[PETSC_STREAM_DEFAULT_WITH_BARRIER]);
  }
  PetscCall(PetscDeviceContextGetDevice(ctx, &current));
  PetscCall(PetscDeviceGetDeviceId(current, &id));
  if (device == PETSC_DECIDE) {
    device = id;
    PetscCall(PetscRegisterFinalize(ForgetDevice));
  }
  PetscCheck(id == device, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "A process works on one GPU: this one began on device %" PetscInt_FMT
             ", and PETSc's current device context is of device %" PetscInt_FMT,
             device, id);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* has any exchange of this process failed?  Pinned: kernels write it, and look at it while they wait, and the host does before it hands out
   more of them */
static volatile unsigned *halo_failed = NULL;

static PetscErrorCode HaloForgetFailure(void)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFreeHost((void *)halo_failed));
  halo_failed = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HaloFailure(volatile unsigned **failed)
{
  PetscFunctionBegin;
  if (!halo_failed) {
    PetscCallCUDA(cudaMallocHost((void **)&halo_failed, sizeof(*halo_failed)));
    *halo_failed = 0;
    PetscCall(PetscRegisterFinalize(HaloForgetFailure));
  }
  *failed = halo_failed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HaloCheck(void)
{
  PetscFunctionBegin;
  PetscCheck(!halo_failed || !*halo_failed, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "-dm_box_halo peer: nothing came from another rank for %" PetscInt_FMT " seconds; has it failed?", PatchFDHaloPatience);
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Record {
  PetscDeviceContext context, outer;
  cudaStream_t       stream; /* of the context */
  cudaGraph_t        loop;   /* around what is recorded, or NULL */
  cudaGraphExec_t    graph;
  PetscLogDouble     flops;
};

/* the outer context is the current one again, whatever happened */
static PetscErrorCode Close(Record *r)
{
  PetscFunctionBegin;
  if (r->outer) PetscCall(PetscDeviceContextSetCurrentContext(r->outer));
  PetscCall(PetscDeviceContextDestroy(&r->context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Open(Record *r)
{
  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&r->outer));
  PetscCall(PetscDeviceContextDuplicate(r->outer, &r->context)); /* a context of the same device */
  PetscCall(PetscDeviceContextSetStreamType(r->context, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(r->context));
  PetscCall(PetscDeviceContextSetCurrentContext(r->context));
  PetscCall(PetscGetCurrentCUDAStream(&r->stream));
  r->flops = petsc_gflops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Capture(Record *r)
{
  PetscFunctionBegin;
  PetscCall(Open(r));
  PetscCallCUDA(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same into the body of a loop; *condition is what the kernels in it set to zero to stop */
static PetscErrorCode CaptureLoop(Record *r, LoopCondition *condition)
{
  cudaGraphNode_t     node;
  cudaGraphNodeParams loop = {};

  PetscFunctionBegin;
  PetscCallCUDA(cudaGraphCreate(&r->loop, 0));
  PetscCallCUDA(cudaGraphConditionalHandleCreate(condition, r->loop, 1, cudaGraphCondAssignDefault));
  loop.type               = cudaGraphNodeTypeConditional;
  loop.conditional.handle = *condition;
  loop.conditional.type   = cudaGraphCondTypeWhile;
  loop.conditional.size   = 1;
#if CUDART_VERSION >= 13000
  PetscCallCUDA(cudaGraphAddNode(&node, r->loop, NULL, NULL, 0, &loop));
#else
  PetscCallCUDA(cudaGraphAddNode(&node, r->loop, NULL, 0, &loop));
#endif
  PetscCall(Open(r));
  PetscCallCUDA(cudaStreamBeginCaptureToGraph(r->stream, loop.conditional.phGraph_out[0], NULL, NULL, 0, cudaStreamCaptureModeThreadLocal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode Begin(F capture, void **record)
{
  Record        *r;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *record = NULL;
  PetscCall(PetscNew(&r));
  ierr = capture(r);
  if (ierr) {
    PetscCall(Close(r));
    PetscCall(RecordDestroy((void **)&r));
  }
  PetscCall(ierr);
  *record = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordBegin(void **record)
{
  return Begin(Capture, record);
}

PetscErrorCode RecordBeginLoop(LoopCondition *condition, void **record)
{
  return Begin([condition](Record *r) { return CaptureLoop(r, condition); }, record);
}

static PetscErrorCode LaunchRecord(const Record *r)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HaloCheck());
  PetscCall(Stream(&stream));
  PetscCallCUDA(cudaGraphLaunch(r->graph, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordEnd(PetscBool keep, void **record)
{
  Record     *r     = (Record *)*record;
  cudaGraph_t graph = NULL;
  cudaError_t err;

  PetscFunctionBegin;
  err = cudaStreamEndCapture(r->stream, &graph);
  PetscCall(Close(r));
  if (!err && keep) err = cudaGraphInstantiate(&r->graph, r->loop ? r->loop : graph, 0);
  if (err) { /* what could not be captured is done without: no error of ours */
    PetscCall(PetscInfo(NULL, "Not recorded: %s\n", cudaGetErrorString(err)));
    (void)cudaGetLastError();
  }
  if (graph && !r->loop) PetscCallCUDA(cudaGraphDestroy(graph));
  if (err || !keep) {
    PetscCall(RecordDestroy(record));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  r->flops = petsc_gflops - r->flops;
  PetscCall(LaunchRecord(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordReplay(void *record)
{
  const Record *r = (const Record *)record;

  PetscFunctionBegin;
  PetscCall(LaunchRecord(r));
  PetscCall(PetscLogGpuFlops(r->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordDestroy(void **record)
{
  Record *r = (Record *)*record;

  PetscFunctionBegin;
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->graph) PetscCallCUDA(cudaGraphExecDestroy(r->graph));
  if (r->loop) PetscCallCUDA(cudaGraphDestroy(r->loop));
  PetscCall(PetscFree(*record));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
