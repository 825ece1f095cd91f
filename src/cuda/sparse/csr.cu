/* Sparse rows of floats in GPU memory (patchfd/private/csr.h): as on the host, columns of 16 bits where a block of rows has such */
#include "base/cuda.cuh"
#include <patchfd/private/csr.h>

namespace patchfd
{

struct RowBlock {
  const uint16_t *j;     /* the columns of entry k are at j[k], counted from */
  int             first; /* this one */
  bool            narrow;
};

struct SparseRows {
  int       m, lanes; /* threads of a row */
  int      *i;
  float    *a;
  uint16_t *j;
  RowBlock *block;
};

template <int LANES, typename Column>
static __device__ __forceinline__ float RowSum(int begin, int end, int lane, const float *a, const Column *j, const float *x)
{
  float sum = 0;

  for (int k = begin + lane; k < end; k += LANES) sum += a[k] * __ldg(x + j[k]);
  return sum;
}

static constexpr int SPARSE_THREADS = 256;

template <int LANES>
static __global__ void __launch_bounds__(SPARSE_THREADS) SparseMultKernel(SparseRows A, float s, const float *x, const float *z, float *y)
{
  const long long thread = blockIdx.x * (long long)SPARSE_THREADS + threadIdx.x;
  const int       row = (int)(thread / LANES), lane = (int)(thread % LANES);
  float           sum = 0;

  if (row < A.m) {
    const RowBlock b     = A.block[row / PATCHFD_CSR_BLOCK];
    const int      begin = A.i[row], end = A.i[row + 1];

    sum = b.narrow ? RowSum<LANES>(begin, end, lane, A.a, b.j, x + b.first)
                   : RowSum<LANES>(begin, end, lane, A.a, (const int32_t *)b.j, x + b.first);
  }
#pragma unroll
  for (int step = LANES / 2; step; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step, LANES);
  if (row < A.m && lane == 0) y[row] = (z ? z[row] : 0) + s * sum;
}

template <int LANES>
static PetscErrorCode SparseMult(const SparseRows &A, float s, const float *x, const float *z, float *y)
{
  const long long threads = (long long)A.m * LANES;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  SparseMultKernel<LANES><<<(unsigned)((threads + SPARSE_THREADS - 1) / SPARSE_THREADS), SPARSE_THREADS, 0, stream>>>(A, s, x, z, y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

using namespace patchfd;

struct _n_PatchFDCSRCUDA {
  SparseRows rows;
};

PetscErrorCode PatchFDCSRCUDACreate(PatchFDCSR host, PatchFDCSRCUDA *A)
{
  PatchFDCSRArrays h;
  PetscInt         n;

  PetscFunctionBegin;
  PetscCall(PatchFDCSRGetArrays(host, &h));
  n = h.i[h.m];
  PetscCheck(n <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "A matrix on a GPU has at most %d entries a rank, found %" PetscInt_FMT, INT_MAX,
             n);
  PetscCall(PetscNew(A));
  SparseRows           &d = (*A)->rows;
  std::vector<RowBlock> block((size_t)h.nblock);

  d.m     = (int)h.m;
  d.lanes = n <= 8 * h.m ? 4 : (n <= 64 * h.m ? 8 : 32);
  PetscCall(Upload((size_t)h.m + 1, h.i, &d.i));
  PetscCall(Upload((size_t)n, h.a, &d.a));
  PetscCall(Upload((size_t)h.block[h.nblock].at, h.j, &d.j));
  for (PetscInt b = 0; b < h.nblock; b++) {
    const PatchFDCSRBlock &from = h.block[b];

    block[(size_t)b] = {d.j + from.at - h.i[from.row] * (from.narrow ? 1 : 2), (int)from.first, from.narrow == PETSC_TRUE};
  }
  PetscCall(Upload(block.size(), block.data(), &d.block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCUDADestroy(PatchFDCSRCUDA *A)
{
  PetscFunctionBegin;
  if (!*A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree((*A)->rows.i));
  PetscCallCUDA(cudaFree((*A)->rows.a));
  PetscCallCUDA(cudaFree((*A)->rows.j));
  PetscCallCUDA(cudaFree((*A)->rows.block));
  PetscCall(PetscFree(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCUDAMult(PatchFDCSRCUDA A, float s, const float x[], const float z[], float y[])
{
  PetscFunctionBegin;
  if (!A->rows.m) PetscFunctionReturn(PETSC_SUCCESS);
  switch (A->rows.lanes) {
  case 4:
    PetscCall(SparseMult<4>(A->rows, s, x, z, y));
    break;
  case 8:
    PetscCall(SparseMult<8>(A->rows, s, x, z, y));
    break;
  default:
    PetscCall(SparseMult<32>(A->rows, s, x, z, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
