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
  cudaGraphExec_t    graph;
  PetscLogDouble     flops;
};

PetscErrorCode RecordBegin(void **record)
{
  Record      *r;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscNew(&r));
  *record = r;
  PetscCall(PetscDeviceContextGetCurrentContext(&r->outer));
  PetscCall(PetscDeviceContextDuplicate(r->outer, &r->context)); /* a context of the same device */
  PetscCall(PetscDeviceContextSetStreamType(r->context, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(r->context));
  PetscCall(PetscDeviceContextSetCurrentContext(r->context));
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  r->flops = petsc_gflops;
  PetscCallCUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RecordEnd(void *record)
{
  Record      *r = (Record *)record;
  cudaGraph_t  graph;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaStreamEndCapture(stream, &graph));
  PetscCall(PetscDeviceContextSetCurrentContext(r->outer));
  PetscCall(PetscDeviceContextDestroy(&r->context));
  PetscCallCUDA(cudaGraphInstantiate(&r->graph, graph, 0));
  PetscCallCUDA(cudaGraphDestroy(graph));
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
