/* inverses of dense matrices: cuSOLVER */
#include "base/plan.cuh"
#include <patchfd/private/assembly.h>

namespace patchfd
{

/* the upper triangle (of columns) from the lower one */
static __global__ void MirrorKernel(int n, double *K)
{
  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)n * n; e += (size_t)gridDim.x * blockDim.x) {
    const int row = (int)(e % n), col = (int)(e / n);

    if (row < col) K[e] = K[(size_t)row * n + col];
  }
}

/* the inverse of one of them, where it is; info: of the factorization */
static PetscErrorCode InvertOne(cusolverDnHandle_t solver, cudaStream_t stream, int n, double *K, int room, double *work, int *info)
{
  const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;

  PetscFunctionBegin;
  PetscCallCUSOLVER(cusolverDnDpotrf(solver, lower, n, K, n, work, room, info));
  PetscCallCUSOLVER(cusolverDnDpotri(solver, lower, n, K, n, work, room, info + 1));
  MirrorKernel<<<(unsigned)((n + 15) / 16), 256, 0, stream>>>(n, K);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Invert(PetscInt count, PetscInt size, PetscReal *const K[], PetscBool *regular)
{
  const double       small = 1e8; /* operations for which the way there and back does not pay */
  const int          n     = (int)size;
  const size_t       bytes = (size_t)n * (size_t)n * sizeof(double);
  std::vector<int>   info(2 * (size_t)count);
  PlanMemory         memory;
  cusolverDnHandle_t solver;
  cudaStream_t       stream;
  double            *a, *work;
  int               *found, room[2];

  PetscFunctionBegin;
  if ((double)count * n * n * n < small) {
    PetscCall(PatchFDHostInvert(count, size, K, regular));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Stream(&stream));
  PetscCall(PetscCUSOLVERDnGetHandle(&solver));
  PetscCall(memory.malloc((size_t)count * (size_t)n * (size_t)n, &a));
  PetscCall(memory.malloc(2 * (size_t)count, &found));
  PetscCallCUSOLVER(cusolverDnDpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, n, a, n, &room[0]));
  PetscCallCUSOLVER(cusolverDnDpotri_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, n, a, n, &room[1]));
  PetscCall(memory.malloc((size_t)PetscMax(room[0], room[1]), &work));
  for (PetscInt i = 0; i < count; i++) {
    double *at = a + (size_t)i * (size_t)n * (size_t)n;

    PetscCallCUDA(cudaMemcpyAsync(at, K[i], bytes, cudaMemcpyHostToDevice, stream));
    PetscCall(InvertOne(solver, stream, n, at, PetscMax(room[0], room[1]), work, found + 2 * i));
    PetscCallCUDA(cudaMemcpyAsync(K[i], at, bytes, cudaMemcpyDeviceToHost, stream));
  }
  PetscCallCUDA(cudaMemcpyAsync(info.data(), found, info.size() * sizeof(int), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *regular = PETSC_TRUE;
  for (const int i : info) *regular = (PetscBool)(*regular && i == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
