/*
  Sparse rows of floats in GPU memory (patchfd/private/csr.h): as on the host, columns of 16 bits where a block of rows has such.  They come
  from the host in this form, or are brought into it here, from the columns of a matrix of PETSc's in GPU memory or of a transpose.
*/
#include "base/fetch.cuh"
#include "base/plan.cuh"
#include <cusparse.h>
#include <patchfd/private/csr.h>
#include <patchfd/private/vecimpl.h>

namespace patchfd
{

struct RowBlock {
  uint16_t        *j;     /* the columns of entry k are at j[k], counted from */
  int              first; /* this one */
  PatchFDCSRFormat format;
  int              window[PATCHFD_CSR_WINDOWS];

  __device__ int column(int k) const
  {
    if (format == PATCHFD_CSR_WIDE) return first + ((const int32_t *)j)[k];
    return first + window[j[k] >> PATCHFD_CSR_BITS] + (j[k] & PATCHFD_CSR_MASK);
  }
  __device__ void pack(int k, int column) const
  {
    int w = PATCHFD_CSR_WINDOWS - 1;

    if (format == PATCHFD_CSR_WIDE) ((int32_t *)j)[k] = column - first;
    else {
      while (column - first < window[w]) w--;
      j[k] = (uint16_t)((w << PATCHFD_CSR_BITS) + column - first - window[w]);
    }
  }
  /* the number there, by the column as it is stored, of an array that is counted from the first column */
  template <PatchFDCSRFormat FORMAT, typename Column>
  __device__ __forceinline__ float number(const float *x, Column c) const
  {
    if constexpr (FORMAT == PATCHFD_CSR_WINDOWED) { /* the windows stay in registers */
      const int even = c & 2 << PATCHFD_CSR_BITS ? window[2] : window[0], odd = c & 2 << PATCHFD_CSR_BITS ? window[3] : window[1];

      return __ldg(x + (c & 1 << PATCHFD_CSR_BITS ? odd : even) + (c & PATCHFD_CSR_MASK));
    } else return __ldg(x + c);
  }
};

struct SparseRows {
  int       m;
  int      *i;
  float    *a;
  uint16_t *j;
  RowBlock *block;
};

static constexpr int SPARSE_THREADS = 256;

/* UNROLL entries are on their way at once: their latency, not bytes, is what a short row takes */
template <int LANES, int UNROLL, PatchFDCSRFormat FORMAT, typename Column>
static __device__ __forceinline__ float RowSum(int begin, int end, int lane, const float *a, const Column *j, const RowBlock &b,
                                               const float *x)
{
  float sum = 0;

  for (int k = begin + lane; k < end; k += UNROLL * LANES) {
    float  value[UNROLL];
    Column column[UNROLL];

#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      if (k + u * LANES < end) {
        value[u]  = a[k + u * LANES];
        column[u] = j[k + u * LANES];
      }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      if (k + u * LANES < end) sum += value[u] * b.number<FORMAT>(x, column[u]);
  }
  return sum;
}

/* work(format, columns), where the compiler knows the format and the type of the columns */
template <typename Work>
static __device__ __forceinline__ float ByFormat(const RowBlock &b, Work &&work)
{
  switch (b.format) {
  case PATCHFD_CSR_WIDE:
    return work(std::integral_constant<PatchFDCSRFormat, PATCHFD_CSR_WIDE>(), (const int32_t *)b.j);
  case PATCHFD_CSR_NARROW:
    return work(std::integral_constant<PatchFDCSRFormat, PATCHFD_CSR_NARROW>(), b.j);
  default:
    return work(std::integral_constant<PatchFDCSRFormat, PATCHFD_CSR_WINDOWED>(), b.j);
  }
}

/* LANES threads a row */
template <int LANES, int UNROLL>
static __global__ void __launch_bounds__(SPARSE_THREADS) SparseMultKernel(SparseRows A, float s, const float *x, const float *z, float *y)
{
  const long long thread = blockIdx.x * (long long)SPARSE_THREADS + threadIdx.x;
  const int       row = (int)(thread / LANES), lane = (int)(thread % LANES);
  float           sum = 0, add = 0;

  if (row < A.m) {
    const RowBlock b     = A.block[row / PATCHFD_CSR_BLOCK];
    const int      begin = A.i[row], end = A.i[row + 1];

    if (z && lane == 0) add = z[row];
    sum = ByFormat(b, [&](auto format, auto *j) {
      return RowSum<LANES, UNROLL, decltype(format)::value>(begin, end, lane, A.a, j, b, x + b.first);
    });
  }
#pragma unroll
  for (int step = LANES / 2; step; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step, LANES);
  if (row < A.m && lane == 0) y[row] = add + s * sum;
}

/* numbers to shared memory, 16 bytes at a time; where the first one is there */
template <typename T>
static __device__ __forceinline__ const T *Stage(const T *from, const T *to, float4 *shared)
{
  const float4 *p = (const float4 *)((uintptr_t)from & ~(uintptr_t)15);

  for (int q = (int)threadIdx.x; (const T *)(p + q) < to; q += PATCHFD_CSR_BLOCK) Fetch(shared + q, p + q, true);
  return (const T *)shared + (from - (const T *)p);
}

/* A thread a row, and its entries by way of shared memory: global memory is read in order, and x by threads that are neighbours */
static __global__ void __launch_bounds__(PATCHFD_CSR_BLOCK)
  SparseStagedKernel(SparseRows A, float s, const float *x, const float *z, float *y)
{
  constexpr int     SIZE = 2048;
  __shared__ float4 values[SIZE / 4 + 1], columns[SIZE / 8 + 1];
  const int         first = (int)blockIdx.x * PATCHFD_CSR_BLOCK, row = first + (int)threadIdx.x;
  const RowBlock    b = A.block[blockIdx.x];
  const int   from = A.i[first], to = A.i[min(first + PATCHFD_CSR_BLOCK, A.m)], begin = A.i[min(row, A.m)], end = A.i[min(row + 1, A.m)];
  const float add = z && row < A.m ? z[row] : 0;
  const float sum = ByFormat(b, [&](auto format, auto *j) {
    const int n   = SIZE * (int)sizeof(uint16_t) / (int)sizeof(*j);
    float     sum = 0;

    for (int k = from; k < to; k += n) {
      const int    last = min(k + n, to);
      const float *a    = Stage(A.a + k, A.a + last, values) - k;
      const auto  *c    = Stage(j + k, j + last, columns) - k;

      FetchWait();
      __syncthreads();
      sum += RowSum<1, 8, decltype(format)::value>(max(begin, k), min(end, last), 0, a, c, b, x + b.first);
      __syncthreads();
    }
    return sum;
  });

  if (row < A.m) y[row] = add + s * sum;
}

template <int LANES, int UNROLL>
static PetscErrorCode SparseMult(const SparseRows &A, float s, const float *x, const float *z, float *y)
{
  const unsigned blocks = (unsigned)(((long long)A.m * LANES + SPARSE_THREADS - 1) / SPARSE_THREADS);

  PetscFunctionBegin;
  PetscCall(Launch([&](cudaStream_t stream) { SparseMultKernel<LANES, UNROLL><<<blocks, SPARSE_THREADS, 0, stream>>>(A, s, x, z, y); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static __global__ void __launch_bounds__(SPARSE_THREADS) SparseDiagonalKernel(SparseRows A, float *d)
{
  const int row = (int)(blockIdx.x * SPARSE_THREADS + threadIdx.x);

  if (row >= A.m) return;
  const RowBlock b = A.block[row / PATCHFD_CSR_BLOCK];

  d[row] = 0;
  for (int k = A.i[row]; k < A.i[row + 1]; k++)
    if (b.column(k) == row) d[row] = A.a[k];
}

/* what PatchFDCSRCreateOutline() needs; a block of threads for each of rows */
template <typename Index>
static __global__ void __launch_bounds__(SPARSE_THREADS) SparseRangeKernel(int m, const int *i, const Index *j, PetscInt *range)
{
  const int      row = (int)blockIdx.x * PATCHFD_CSR_BLOCK, end = i[min(row + PATCHFD_CSR_BLOCK, m)];
  __shared__ int number[PATCHFD_CSR_RANGE];
  unsigned       from = 0;

  if (threadIdx.x < PATCHFD_CSR_RANGE) number[threadIdx.x] = threadIdx.x == PATCHFD_CSR_RANGE - 1 ? 0 : INT_MAX;
  __syncthreads();
  for (int w = 0; w <= PATCHFD_CSR_WINDOWS; w++) {
    int least = INT_MAX, greatest = 0;

    for (int k = i[row] + (int)threadIdx.x; k < end; k += SPARSE_THREADS) {
      greatest = max(greatest, (int)j[k]);
      if ((unsigned)j[k] >= from) least = min(least, (int)j[k]);
    }
    atomicMin(&number[w], least);
    atomicMax(&number[PATCHFD_CSR_RANGE - 1], greatest);
    __syncthreads();
    from = (unsigned)number[w] + (1 << PATCHFD_CSR_BITS);
  }
  if (threadIdx.x < PATCHFD_CSR_RANGE)
    range[PATCHFD_CSR_RANGE * blockIdx.x + threadIdx.x] = number[threadIdx.x] == INT_MAX ? PETSC_INT_MAX : number[threadIdx.x];
}

/* columns to the format of their block of rows, and back */
template <bool PACK, typename Index>
static __global__ void __launch_bounds__(SPARSE_THREADS) SparseColumnsKernel(SparseRows A, Index *j)
{
  const int      row = (int)blockIdx.x * PATCHFD_CSR_BLOCK, end = A.i[min(row + PATCHFD_CSR_BLOCK, A.m)];
  const RowBlock b = A.block[blockIdx.x];

  for (int k = A.i[row] + (int)threadIdx.x; k < end; k += SPARSE_THREADS) {
    if constexpr (PACK) b.pack(k, (int)j[k]);
    else j[k] = b.column(k);
  }
}

} // namespace patchfd

using namespace patchfd;

struct _n_PatchFDCSRCUDA {
  SparseRows rows;
  PetscInt   n, nblock;      /* columns, blocks of rows */
  PetscCount entries, words; /* the latter: numbers of 16 bits that the columns take */
  PlanMemory memory;

  static constexpr size_t AHEAD = 16;             /* bytes that Stage() may read beyond the last number */
  static constexpr int    MOST  = INT_MAX - 4096; /* entries; loops count beyond the last one */

  PetscErrorCode create(PetscInt m, PetscInt columns, const PetscInt i[])
  {
    PetscFunctionBegin;
    n       = columns;
    entries = i[m];
    PetscCheck(entries <= MOST, PETSC_COMM_SELF, PETSC_ERR_SUP, "A matrix on a GPU has at most %d entries a rank, found %" PetscCount_FMT,
               MOST, entries);
    rows.m = (int)m;
    PetscCall(memory.upload((size_t)m + 1, i, &rows.i));
    PetscCall(memory.malloc((size_t)entries + AHEAD / sizeof(*rows.a), &rows.a));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode setblocks(const PatchFDCSRArrays &h)
  {
    std::vector<RowBlock> block((size_t)h.nblock);

    PetscFunctionBegin;
    nblock = h.nblock;
    words  = h.block[nblock].at;
    PetscCall(memory.malloc((size_t)words + AHEAD / sizeof(*rows.j), &rows.j));
    for (PetscInt b = 0; b < nblock; b++) {
      const PatchFDCSRBlock &from = h.block[b];

      block[(size_t)b] = {rows.j + from.at - (PetscCount)h.i[from.row] * (from.format == PATCHFD_CSR_WIDE ? 2 : 1),
                          (int)from.first,
                          from.format,
                          {}};
      PetscCall(PetscArraycpy(block[(size_t)b].window, from.window, PATCHFD_CSR_WINDOWS));
    }
    PetscCall(memory.upload(block.size(), block.data(), &rows.block));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

PetscErrorCode PatchFDCSRCUDACreate(PatchFDCSR host, PatchFDCSRCUDA *A)
{
  PatchFDCSRArrays h;

  PetscFunctionBegin;
  PetscCall(PatchFDCSRGetArrays(host, &h));
  *A = new _n_PatchFDCSRCUDA;
  PetscCall((*A)->create(h.m, h.n, h.i));
  PetscCall((*A)->setblocks(h));
  PetscCall(ToDevice((size_t)(*A)->entries * sizeof(float), h.a, (*A)->rows.a));
  PetscCall(ToDevice((size_t)(*A)->words * sizeof(uint16_t), h.j, (*A)->rows.j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Index>
static PetscErrorCode CreateFrom(PetscInt m, PetscInt n, const PetscInt i[], const Index j[], PatchFDCSR *host, PatchFDCSRCUDA *A)
{
  const unsigned        nblock = (unsigned)((m + PATCHFD_CSR_BLOCK - 1) / PATCHFD_CSR_BLOCK);
  std::vector<PetscInt> range(PATCHFD_CSR_RANGE * nblock);
  PatchFDCSRArrays      h;
  PoolMemory            work;
  PetscInt             *r;
  cudaStream_t          stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  *A = new _n_PatchFDCSRCUDA;
  PetscCall((*A)->create(m, n, i));
  if (nblock) {
    PetscCall(work.borrow(range.size(), &r));
    SparseRangeKernel<<<nblock, SPARSE_THREADS, 0, stream>>>((int)m, (*A)->rows.i, j, r);
    PetscCallCUDA(cudaMemcpyAsync(range.data(), r, range.size() * sizeof(*r), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  PetscCall(PatchFDCSRCreateOutline(m, n, i, range.data(), host));
  PetscCall(PatchFDCSRGetArrays(*host, &h));
  PetscCall((*A)->setblocks(h));
  if (nblock) SparseColumnsKernel<true><<<nblock, SPARSE_THREADS, 0, stream>>>((*A)->rows, j);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCUDACreateFrom(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], PatchFDCSR *host, PatchFDCSRCUDA *A)
{
  PetscFunctionBegin;
  PetscCall(CreateFrom(m, n, i, j, host, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cuSPARSE's: the same in every run, with the columns of a row in ascending order */
PetscErrorCode PatchFDCSRCUDACreateTranspose(PatchFDCSRCUDA A, PatchFDCSRCUDA *T)
{
  const SparseRows     &a = A->rows;
  const int             m = a.m, n = (int)A->n, entries = (int)A->entries;
  std::vector<int>      i((size_t)n + 1, 0);
  std::vector<PetscInt> rows;
  PatchFDCSR            outline;
  PoolMemory            work;
  int                  *j, *ti, *tj;
  float                *ta;
  size_t                bytes;
  char                 *buffer;
  cudaStream_t          stream;
  cusparseHandle_t      handle;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(work.borrow(i.size(), &ti));
  PetscCall(work.borrow((size_t)entries, &j));
  PetscCall(work.borrow((size_t)entries, &tj));
  PetscCall(work.borrow((size_t)entries, &ta));
  if (entries) {
    SparseColumnsKernel<false><<<(unsigned)A->nblock, SPARSE_THREADS, 0, stream>>>(a, j);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUSPARSE(cusparseCreate(&handle));
    PetscCallCUSPARSE(cusparseSetStream(handle, stream));
    PetscCallCUSPARSE(cusparseCsr2cscEx2_bufferSize(handle, m, n, entries, a.a, a.i, j, ta, ti, tj, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC,
                                                    CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes));
    PetscCall(work.borrow(bytes, &buffer));
    PetscCallCUSPARSE(cusparseCsr2cscEx2(handle, m, n, entries, a.a, a.i, j, ta, ti, tj, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC,
                                         CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, buffer));
    PetscCallCUDA(cudaMemcpyAsync(i.data(), ti, i.size() * sizeof(int), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCallCUSPARSE(cusparseDestroy(handle));
  }
  rows.assign(i.begin(), i.end());
  PetscCall(CreateFrom(n, m, rows.data(), tj, &outline, T));
  PetscCall(PatchFDCSRDestroy(&outline));
  PetscCallCUDA(cudaMemcpyAsync((*T)->rows.a, ta, (size_t)(*T)->entries * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCUDADestroy(PatchFDCSRCUDA *A)
{
  PetscFunctionBegin;
  delete *A;
  *A = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCUDASetValues(PatchFDCSRCUDA A, const PetscScalar a[])
{
  PetscFunctionBegin;
  PetscCall(VecSingleKernelsCUDA.fromdouble((PetscInt)A->entries, 1, a, A->rows.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCUDAGet(PatchFDCSRCUDA A, PatchFDCSR host)
{
  PatchFDCSRArrays h;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(PatchFDCSRNeedEntries(host));
  PetscCall(PatchFDCSRGetArrays(host, &h));
  PetscCall(Stream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(h.a, A->rows.a, (size_t)A->entries * sizeof(float), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(h.j, A->rows.j, (size_t)A->words * sizeof(uint16_t), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCUDAGetDiagonal(PatchFDCSRCUDA A, float d[])
{
  const int m = A->rows.m;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Launch([&](cudaStream_t stream) {
    SparseDiagonalKernel<<<(unsigned)((m + SPARSE_THREADS - 1) / SPARSE_THREADS), SPARSE_THREADS, 0, stream>>>(A->rows, d);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* by the entries of a row, the fastest on an H200 (doc/log/aijsingle.md) */
PetscErrorCode PatchFDCSRCUDAMult(PatchFDCSRCUDA A, float s, const float x[], const float z[], float y[])
{
  const PetscCount entries = A->entries, m = A->rows.m;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  if (entries <= 12 * m) PetscCall(SparseMult<1, 4>(A->rows, s, x, z, y));
  else if (entries <= 40 * m)
    PetscCall(
      Launch([&](cudaStream_t stream) { SparseStagedKernel<<<(unsigned)A->nblock, PATCHFD_CSR_BLOCK, 0, stream>>>(A->rows, s, x, z, y); }));
  else if (entries <= 80 * m) PetscCall(SparseMult<8, 4>(A->rows, s, x, z, y));
  else PetscCall(SparseMult<32, 4>(A->rows, s, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
