/*
  What passes over vectors share: groups of numbers that are read at once, launches, and sums over all blocks.

  Each block leaves its state in a scratch array; the last one to finish joins them, in the order of the blocks, so that results do not
  depend on timing.
*/
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

static constexpr int    THREADS    = 256;
static constexpr size_t MAX_BLOCKS = 1024; /* of a reduction */

template <int W, typename T>
struct alignas(W * sizeof(T) < 16 ? W * sizeof(T) : 16) Group {
  T v[W];
};

template <typename T>
static inline bool Aligned(const T *a)
{
  return (uintptr_t)a % 16 == 0;
}

/* blocks for n numbers, W in each thread's step */
static unsigned Blocks(PetscCount n, int W, size_t most)
{
  return (unsigned)PetscMin((size_t)n / (W * THREADS) + 1, most);
}

/* a state: none() is that of no numbers at all */
template <int M>
struct Sums {
  double s[M];

  __host__ __device__ static Sums none() { return {}; }
  __device__ void                 join(const Sums &o)
  {
    for (int j = 0; j < M; j++) s[j] += o.s[j];
  }
};

template <typename S>
static __device__ S JoinBlock(S s)
{
  __shared__ S all[THREADS];

  __syncthreads(); /* from the call before */
  all[threadIdx.x] = s;
  for (int d = THREADS / 2; d > 0; d /= 2) {
    if (d >= 32) __syncthreads();
    else __syncwarp(); /* only the first warp is left */
    if (threadIdx.x < d) all[threadIdx.x].join(all[threadIdx.x + d]);
  }
  return all[0]; /* valid in the first thread */
}

/* the states of all threads of all blocks, joined; true in the one thread where `s` is valid.  partial: a state for each block; *ticket:
   zero */
template <typename S>
static __device__ bool JoinGrid(S &s, S *partial, unsigned *ticket)
{
  __shared__ bool last;

  s = JoinBlock(s);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s;
    __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1; /* zero again for the next reduction */
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  s = S::none();
  for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) s.join(partial[b]);
  s = JoinBlock(s);
  return threadIdx.x == 0;
}

} // namespace patchfd
