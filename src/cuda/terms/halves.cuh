/* Of the fast local solvers of plates (fast.cu) the matrices in halves, the products with a line, and a block's patches */
#pragma once
#include "base/reciprocal.cuh"
#include "terms/dense.cuh"
#include <cuda_pipeline.h>

namespace patchfd
{

/* ---- matrices in halves ---- */

/* of a mirrored N x C matrix: rows 0 .. K - 1 for sums (the last one is the middle row), 0 .. K - 2 for differences */
template <typename T, int K>
struct TermsHalves {
  T even[K * (K + 1)], odd[(K - 1) * K];
};

/* columns of the functionals of both ends, as sums and differences */
template <typename T, int K>
struct TermsEnds {
  T even[2 * K], odd[2 * (K - 1)];
};

/* in the constant bank.  edge: the numbers of patches that have a boundary at their lower, upper end, or -1 */
template <typename T, int K>
struct TermsMatrices {
  TermsHalves<T, K> M[3], B[3], L[3];
  TermsEnds<T, K>   ends[3];
  /* functionals, by distance from the rim: of the cell beside; of the own one, at both ends */
  T   beyond[3][2][K], own[3][2][2][K + 1];
  int edge[3][2];
};

/* a line of N sums, in two halves */
template <typename T, int K>
struct TermsLine {
  T even[K], odd[K - 1];

  __device__ __forceinline__ TermsLine()
  {
#pragma unroll
    for (int i = 0; i < K; i++) even[i] = 0;
#pragma unroll
    for (int i = 0; i < K - 1; i++) odd[i] = 0;
  }
  /* entries j and C - 1 - j times a matrix; the one in the middle, too */
  __device__ __forceinline__ void add(const TermsHalves<T, K> &m, int j, T a, T b)
  {
    const T sum = a + b, difference = a - b;

#pragma unroll
    for (int i = 0; i < K; i++) even[i] += m.even[i * (K + 1) + j] * sum;
#pragma unroll
    for (int i = 0; i < K - 1; i++) odd[i] += m.odd[i * K + j] * difference;
  }
  __device__ __forceinline__ void addMiddle(const TermsHalves<T, K> &m, T a)
  {
#pragma unroll
    for (int i = 0; i < K; i++) even[i] += m.even[i * (K + 1) + K] * a;
  }
  /* functional w of the lower and upper end */
  __device__ __forceinline__ void addEnds(const TermsEnds<T, K> &m, int w, T lower, T upper)
  {
    const T sum = lower + upper, difference = lower - upper;

#pragma unroll
    for (int i = 0; i < K; i++) even[i] += m.even[2 * i + w] * sum;
#pragma unroll
    for (int i = 0; i < K - 1; i++) odd[i] += m.odd[2 * i + w] * difference;
  }
  /* f(node, value) for all nodes */
  template <typename F>
  __device__ __forceinline__ void unfold(F f) const
  {
#pragma unroll
    for (int i = 0; i < K - 1; i++) {
      f(i, even[i] + odd[i]);
      f(2 * K - 2 - i, even[i] - odd[i]);
    }
    f(K - 1, even[K - 1]);
  }
  __device__ __forceinline__ void store(T *line, int stride) const
  {
    unfold([=](int i, T v) { line[i * stride] = v; });
  }
};

/* ---- a block's patches ---- */

/* first node of a patch, in the mesh; ends: bit 2 d + e says that end e of direction d is a boundary of the mesh */
struct TermsPlace {
  int first[3], ends;
};

template <typename T, int K>
__device__ __forceinline__ TermsPlace FindPlace(const ColorPatches &g, const int edge[3][2], size_t item)
{
  TermsPlace p;
  int        number[3];
  const bool there = g.find(item, number);

  p.ends = there ? 0 : -1;
  for (int d = 0; d < 3; d++) {
    p.first[d] = number[d] * K + 1;
    for (int e = 0; e < 2 && there; e++) p.ends |= (number[d] == edge[d][e]) << (2 * d + e);
  }
  return p;
}

} // namespace patchfd
