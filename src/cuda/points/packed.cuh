/*
  The factors of a mesh in half precision, for products on patches in single precision (product.cu): a smoother does with a matrix
  near A.

  At a point the factors are G = L D L', L with ones on its diagonal.  D, over a power of two for each cell, and what L has below its
  diagonal are rounded to 11 bits: the matrix remains symmetric and positive definite whatever G is, and has the constants in its kernel
  where A has.  A point has three words of two numbers each, D_r D_s | D_t L_sr | L_tr L_ts, and with a shift a fourth one.
*/
#pragma once
#include "points/generic.cuh"
#include "points/patches.cuh"
#include <cfloat>
#include <cuda_fp16.h>

namespace patchfd
{

/* what threads have: a cell (packed_cells.cuh), a plane (packed_planes.cuh) or a line (product.cu), measured on an
   H100 */
__host__ __device__ constexpr PointsPacking PointsPackingOf(int degree)
{
  return degree <= 2 ? POINTS_PACKED_CELLS : (degree <= 4 ? POINTS_PACKED_PLANES : POINTS_PACKED_LINES);
}

/* the largest number of a cell is below 2^15, so that numbers 2^29 times smaller have all their bits; smaller ones remain positive */
static constexpr int   points_packed_top   = 15;
static constexpr float points_packed_least = 5.9604644775390625e-08f; /* 2^-24 */

/* G = L D L' of the factors of a point; D is positive also where rounding says that it is not */
struct PointsPackedPoint {
  float D[3], L[3]; /* L: sr, tr, ts */

  __device__ __forceinline__ PointsPackedPoint(const float f[6])
  {
    const float least = 1e-7f;

    D[0] = f[0];
    L[0] = f[1] / D[0];
    L[1] = f[2] / D[0];
    D[1] = fmaxf(f[3] - L[0] * f[1], least * f[3]);
    L[2] = (f[4] - L[1] * f[1]) / D[1];
    D[2] = fmaxf(f[5] - L[1] * f[2] - L[2] * L[2] * D[1], least * f[5]);
#pragma unroll
    for (int i = 0; i < 3; i++) L[i] = fminf(fmaxf(L[i], -65504), 65504); /* the largest number in half precision */
  }
};

__device__ __forceinline__ unsigned PointsPair(float a, float b)
{
  const __half2 pair = __floats2half2_rn(a, b);

  return *(const unsigned *)&pair;
}

/* the words of a cell, of whose lanes there are LANES */
template <typename S, int LANES>
__device__ __forceinline__ const unsigned *PointsPackedWords(const PointsPacked &p, int cell)
{
  constexpr int block = (S::SHIFTED ? 4 : 3) * points_packed_cells * S::n * S::n * S::n;

  return p.words + (size_t)(cell / points_packed_cells) * block + cell % points_packed_cells * LANES;
}

/* words of the factors of a point */
template <typename S>
struct PointsRaw {
  static constexpr int NUMBERS = S::SHIFTED ? 4 : 3;
  unsigned             word[NUMBERS];

  PointsRaw() = default;
  /* point `level` of a lane, of which a cell has LANES */
  template <int LANES>
  __device__ __forceinline__ void load(const unsigned *words, int level)
  {
#pragma unroll
    for (int m = 0; m < NUMBERS; m++) word[m] = __ldcs(words + (level * NUMBERS + m) * points_packed_cells * LANES);
  }
};

/* the factors of a point */
template <typename S>
struct PointsUnpacked {
  float2 rs, tsr, trts;
  float  shift;

  static __device__ __forceinline__ float2 pair(unsigned word) { return __half22float2(*(const __half2 *)&word); }
  __device__ __forceinline__               PointsUnpacked(const PointsRaw<S> &raw) :
    rs(pair(raw.word[0])), tsr(pair(raw.word[1])), trts(pair(raw.word[2])),
    shift(S::SHIFTED ? pair(raw.word[PointsRaw<S>::NUMBERS - 1]).x : 0)
  {
  }
  /* derivatives become fluxes */
  __device__ __forceinline__ void flux(float &r, float &s, float &t) const
  {
    const float fr = rs.x * (r + tsr.y * s + trts.x * t), fs = rs.y * (s + trts.y * t);

    r = fr;
    s = tsr.y * fr + fs;
    t = trts.x * fr + trts.y * fs + tsr.x * t;
  }
};

/* of a line of points, for fast.cuh */
template <typename S>
struct PointsPackedLine {
  const unsigned *words;

  __device__ __forceinline__ PointsUnpacked<S> at(int i) const
  {
    PointsRaw<S> raw;

    raw.template load<S::LINES>(words, i);
    return raw;
  }
  __device__ __forceinline__ float mass(const PointsArguments<float> &, int i) const { return at(i).shift; }
  __device__ __forceinline__ void  flux(const PointsArguments<float> &, int i, float g[3]) const { at(i).flux(g[0], g[1], g[2]); }
};

/* A block of threads a block of cells, whose factors are read as they lie, and written, where that is another order, by way of shared
   memory */
static __global__ void __launch_bounds__(256) PointsPackKernel(const __grid_constant__ PointsGeneric<float> from,
                                                               const __grid_constant__ PointsPacked to, unsigned *words, float *scale)
{
  extern __shared__ unsigned packed_words[];
  __shared__ int             largest[points_packed_cells]; /* bits of positive numbers, which have their order: what D is not above */
  __shared__ float           factor[points_packed_cells];
  const int                  c = from.c, points = (int)from.size, first = (int)blockIdx.x * points_packed_cells,
            count    = min(points_packed_cells, from.cells - first);
  const size_t base  = blockIdx.x * to.block();
  unsigned    *block = to.packing == POINTS_PACKED_LINES ? words + base : packed_words;
  float        f[7];
  auto         each = [&](auto &&work) { /* work(cell of the block, point) */
                                 for (int e = threadIdx.x; e < count * points; e += blockDim.x) {
                                           const int place = e % points,
                                                     point = from.layout.own == 0 ? place % (c * c) * c + place / (c * c) : place;

                                           from.at(first + e / points, point, f);
                                           work(e / points, point);
                                 }
                                 __syncthreads();
  };

  if (threadIdx.x < points_packed_cells) largest[threadIdx.x] = __float_as_int(FLT_MIN);
  __syncthreads();
  each([&](int i, int) {
    const int bits = __float_as_int(fmaxf(fmaxf(fmaxf(f[0], f[3]), f[5]), to.shift ? f[6] : 0));

    if (bits > largest[i]) atomicMax(&largest[i], bits);
  });
  if (threadIdx.x < count) {
    const int exponent = max(ilogbf(__int_as_float(largest[threadIdx.x])) + 1 - points_packed_top, -126);

    factor[threadIdx.x]        = ldexpf(1, -exponent);
    scale[first + threadIdx.x] = ldexpf(1, exponent);
  }
  __syncthreads();
  each([&](int i, int point) {
    unsigned         *at = block + (to.at(first + i, point) - base);
    PointsPackedPoint p(f);

#pragma unroll
    for (int d = 0; d < 3; d++) p.D[d] = fmaxf(factor[i] * p.D[d], points_packed_least);
    at[0]              = PointsPair(p.D[0], p.D[1]);
    at[to.lanes()]     = PointsPair(p.D[2], p.L[0]);
    at[2 * to.lanes()] = PointsPair(p.L[1], p.L[2]);
    if (to.shift) at[3 * to.lanes()] = PointsPair(factor[i] * f[6], 0);
  });
  if (block != packed_words) return;
  for (int e = threadIdx.x; e < (int)to.block(); e += blockDim.x) words[base + e] = packed_words[e];
}

} // namespace patchfd
