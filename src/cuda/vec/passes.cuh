/*
  Passes over vectors in GPU memory.  They are limited by memory bandwidth: each is one pass of 16-byte accesses.

  Two kernels do everything.  MapKernel computes out[i] = f(in[i]...), where the output may be one of the inputs: a thread reads its group
  of numbers before it writes them.  ReduceKernel folds f(in[i]...) into a state, whose kind says how two of them are joined: sums in
  double precision, maxima, maxima with their index (base/reduce.cuh).  The last block writes the result to host memory.  Only there
  does the host wait.

  Windows (VecGetSubVector()) may begin anywhere: arrays that are not aligned are read number by number.
*/
#pragma once
#include "base/reduce.cuh"
#include <patchfd/private/vecimpl.h>
#include <algorithm>
#include <utility>

namespace patchfd
{

/* ---- memory ---- */

static constexpr size_t   MAX_STATE = 64;         /* bytes of a reduction's state */
static constexpr PetscInt CHUNK     = 256 * 1024; /* floats that pass between host and GPU at once */

/* what reductions and copies to and from the host need, kept until PetscFinalize(); whoever uses it waits before returning, but not for
   squares */
inline struct Buffers {
  char     *partial; /* on the GPU: a state for each block */
  unsigned *ticket;  /* on the GPU: how many blocks have finished */
  double   *squares; /* pinned: the sum of PatchFDCUDAMAXPY() */
  float    *host;    /* pinned: CHUNK floats, or the result of a reduction */
} buffers;

inline PetscErrorCode FreeBuffers(void)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(buffers.partial));
  PetscCallCUDA(cudaFree(buffers.ticket));
  PetscCallCUDA(cudaFreeHost(buffers.squares));
  PetscCallCUDA(cudaFreeHost(buffers.host));
  buffers = {};
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode NeedBuffers(void)
{
  PetscFunctionBegin;
  if (buffers.host) PetscFunctionReturn(PETSC_SUCCESS);
  if (!buffers.partial) PetscCall(DeviceMalloc(MAX_BLOCKS * MAX_STATE, (void **)&buffers.partial));
  if (!buffers.ticket) PetscCall(Grid<unsigned>::malloc(1, (void **)&buffers.ticket)); /* zero */
  if (!buffers.squares) PetscCallCUDA(cudaMallocHost((void **)&buffers.squares, sizeof(*buffers.squares)));
  PetscCallCUDA(cudaMallocHost((void **)&buffers.host, CHUNK * sizeof(float))); /* the last one: with it the buffers are complete */
  PetscCall(PetscRegisterFinalize(FreeBuffers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- elementwise ---- */

template <int W, typename F, typename O, typename... I>
static __global__ void __launch_bounds__(THREADS) MapKernel(size_t n, F f, O *out, const I *...in)
{
  const size_t first = blockIdx.x * (size_t)THREADS + threadIdx.x, stride = gridDim.x * (size_t)THREADS;

  for (size_t i = first; i < n / W; i += stride) {
    Group<W, O> o;

    [&](const Group<W, I>... g) {
#pragma unroll
      for (int w = 0; w < W; w++) o.v[w] = f(g.v[w]...);
    }(((const Group<W, I> *)in)[i]...);
    ((Group<W, O> *)out)[i] = o;
  }
  for (size_t i = n / W * W + first; i < n; i += stride) out[i] = f(in[i]...);
}

template <typename F, typename O, typename... I>
static PetscErrorCode Map(PetscInt n, F f, O *out, const I *...in)
{
  constexpr int W = 16 / sizeof(O);

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Launch([&](cudaStream_t stream) {
    if ((Aligned(out) && ... && Aligned(in))) MapKernel<W><<<Blocks(n, W, 1 << 20), THREADS, 0, stream>>>((size_t)n, f, out, in...);
    else MapKernel<1><<<Blocks(n, 1, 1 << 20), THREADS, 0, stream>>>((size_t)n, f, out, in...);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m vectors in passes of up to eight: f(j, std::make_index_sequence<M>()) for M of them, from j on */
template <typename F>
static PetscErrorCode ForEight(PetscInt m, F f)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < m; j += 8) {
    switch (PetscMin(8, m - j)) {
    case 1:
      PetscCall(f(j, std::make_index_sequence<1>()));
      break;
    case 2:
      PetscCall(f(j, std::make_index_sequence<2>()));
      break;
    case 3:
      PetscCall(f(j, std::make_index_sequence<3>()));
      break;
    case 4:
      PetscCall(f(j, std::make_index_sequence<4>()));
      break;
    case 5:
      PetscCall(f(j, std::make_index_sequence<5>()));
      break;
    case 6:
      PetscCall(f(j, std::make_index_sequence<6>()));
      break;
    case 7:
      PetscCall(f(j, std::make_index_sequence<7>()));
      break;
    default:
      PetscCall(f(j, std::make_index_sequence<8>()));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int M>
struct Combination { /* of M vectors and, if the coefficient is not zero, of the output */
  double a[M], b;

  template <typename... X>
  __device__ double sum(double s, X... x) const
  {
    int j = 0;

    ((s += a[j++] * (double)x), ...);
    return s;
  }
};
template <int M, typename T>
struct CombinationOnly : Combination<M> {
  template <typename... X>
  __device__ T operator()(X... x) const
  {
    return (T)this->sum(0.0, x...);
  }
};
template <int M, typename T>
struct CombinationAndOutput : Combination<M> {
  template <typename... X>
  __device__ T operator()(T y, X... x) const
  {
    return (T)this->sum(this->b * (double)y, x...);
  }
};
template <typename T, size_t... J>
static PetscErrorCode Combine(PetscInt n, const double *a, double b, const T *const *x, T *y, std::index_sequence<J...>)
{
  const Combination<sizeof...(J)> c = {{a[J]...}, b};

  PetscFunctionBegin;
  if (b == 0.0) PetscCall(Map(n, CombinationOnly<sizeof...(J), T>{c}, y, x[J]...));
  else PetscCall(Map(n, CombinationAndOutput<sizeof...(J), T>{c}, y, (const T *)y, x[J]...));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- reductions ---- */

struct AddProducts {
  template <int M, typename X, typename... Y>
  __device__ void operator()(Sums<M> &s, size_t, X x, Y... y) const
  {
    int j = 0;

    ((s.s[j++] += (double)x * (double)y), ...);
  }
};
template <int W, typename S, typename F, typename... I>
static __global__ void __launch_bounds__(THREADS) ReduceKernel(size_t n, F f, S *partial, unsigned *ticket, S *result, const I *...in)
{
  const size_t  first = blockIdx.x * (size_t)THREADS + threadIdx.x, stride = gridDim.x * (size_t)THREADS;
  constexpr int UNROLL = sizeof...(I) > 4 ? 2 : 4; /* as registers allow */
  S             s      = S::none();

#pragma unroll UNROLL
  for (size_t i = first; i < n / W; i += stride) {
    [&](const Group<W, I>... g) {
#pragma unroll
      for (int w = 0; w < W; w++) f(s, i * W + w, g.v[w]...);
    }(((const Group<W, I> *)in)[i]...);
  }
  for (size_t i = n / W * W + first; i < n; i += stride) f(s, i, in[i]...);
  if (JoinGrid(s, partial, ticket)) *result = s;
}

template <typename S, typename F, typename... I>
static PetscErrorCode Reduce(PetscInt n, F f, S *s, const I *...in)
{
  cudaStream_t stream;

  static_assert(sizeof(S) <= MAX_STATE, "MAX_STATE");
  PetscFunctionBegin;
  *s = S::none();
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(NeedBuffers());
  PetscCall(Launch([&](cudaStream_t stream) {
    constexpr int W  = 16 / (int)std::min({sizeof(I)...});
    S *const partial = (S *)buffers.partial, *const result = (S *)buffers.host;

    if ((Aligned(in) && ...))
      ReduceKernel<W><<<Blocks(n, W, MAX_BLOCKS), THREADS, 0, stream>>>((size_t)n, f, partial, buffers.ticket, result, in...);
    else ReduceKernel<1><<<Blocks(n, 1, MAX_BLOCKS), THREADS, 0, stream>>>((size_t)n, f, partial, buffers.ticket, result, in...);
  }));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar(sizeof(S)));
  *s = *(const S *)buffers.host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, size_t... J>
static PetscErrorCode Dots(PetscInt n, const T *x, const T *const *y, double *s, std::index_sequence<J...>)
{
  Sums<sizeof...(J)> sums;

  PetscFunctionBegin;
  PetscCall(Reduce(n, AddProducts(), &sums, x, y[J]...));
  ((s[J] = sums.s[J]), ...);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode MDot(PetscInt n, PetscInt m, const T *x, const T *const *y, double *s)
{
  PetscFunctionBegin;
  PetscCall(ForEight(m, [&](PetscInt j, auto pass) { return Dots(n, x, y + j, s + j, pass); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
