/*
  Recordings as CUDA graphs.  A V-cycle is some hundred launches, most of them on coarse levels, where a kernel takes no longer than
  its launch; replayed as a graph they follow each other without the host.

  PETSc's own stream is CUDA's default stream, which cannot be captured: while recording, a device context with a stream of its own is
  the current one.
*/
#include "cuda.cuh"

namespace patchfd
{

struct Record {
  PetscDeviceContext context, outer;
  cudaStream_t       stream; /* of the context */
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
  PetscCallCUDA(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordBegin(void **record)
{
  Record        *r;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *record = NULL;
  PetscCall(PetscNew(&r));
  ierr = Open(r);
  if (ierr) {
    PetscCall(Close(r));
    PetscCall(PetscFree(r));
  }
  PetscCall(ierr);
  *record = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordEnd(PetscBool keep, void **record)
{
  Record      *r     = (Record *)*record;
  cudaGraph_t  graph = NULL;
  cudaStream_t stream;
  cudaError_t  err;

  PetscFunctionBegin;
  err = cudaStreamEndCapture(r->stream, &graph);
  PetscCall(Close(r));
  if (!err && keep) err = cudaGraphInstantiate(&r->graph, graph, 0);
  if (err) { /* what could not be captured is done without: no error of ours */
    PetscCall(PetscInfo(NULL, "Not recorded: %s\n", cudaGetErrorString(err)));
    (void)cudaGetLastError();
  }
  if (graph) PetscCallCUDA(cudaGraphDestroy(graph));
  if (err || !keep) {
    PetscCall(RecordDestroy(record));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  r->flops = petsc_gflops - r->flops;
  PetscCall(Stream(&stream));
  PetscCallCUDA(cudaGraphLaunch(r->graph, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordReplay(void *record)
{
  Record      *r = (Record *)record;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCallCUDA(cudaGraphLaunch(r->graph, stream));
  PetscCall(PetscLogGpuFlops(r->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordDestroy(void **record)
{
  Record *r = (Record *)*record;

  PetscFunctionBegin;
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->graph) PetscCallCUDA(cudaGraphExecDestroy(r->graph));
  PetscCall(PetscFree(*record));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
