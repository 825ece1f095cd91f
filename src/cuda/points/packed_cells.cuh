/*
  Products on inner patches (product.cu) of degree 1 and 2 from factors in half precision: a thread a cell, all of whose numbers are
  in registers.

  Lane l of a warp has the cells of patch l / 2 that are before (l even) or behind the patch's middle in x, warp w those that are before or
  behind it in y (bit 0) and z (bit 1): where patches come one after another in x, lanes read factors and nodes beside each other.  Of a
  cell's rows a patch wants those of the middle, and K - 1 before or behind it, in each direction; a cell behind the middle has the
  middle's matrix entries in reverse order.  Lanes sum what they share in x, then warps what they share in y and z, in shared memory.

    load      u = x at the nodes                                 K + 1 in a direction, as many points
    B         u = B_z B_y B_x u
    points    w = C_z u; row by row C_x u, C_y u, fluxes, C_x', C_y'; u += C_z' w
    rows      B_x', B_y', B_z' of u

  What bounds it: DRAM (12 bytes a point, 324 a cell of degree 2), then instructions: of about 1500 a cell 1100 compute.
*/
#pragma once
#include "points/packed.cuh"
#include "points/product.cuh"

namespace patchfd
{

template <int K, bool SHIFT>
struct PointsPackedCellShape {
  static constexpr int  N = K, n = K + 1, PATCHES = 16, THREADS = 128, BLOCKS = K == 1 ? 8 : 5;
  static constexpr bool SHIFTED = SHIFT;
  static constexpr int  M = 2 * K - 1, WORDS = (SHIFT ? 4 : 3) * n * n * n; /* of a cell */
  static constexpr int  PART = K * K * M; /* of a patch, in one of the four warps: [z][y][x] with x of the whole patch */
};

template <typename S>
struct PointsPackedCell {
  static constexpr int                 n = S::n, K = S::N;
  const PointsArguments<float>        &arg;
  const PointsProductArguments<float> &p;
  const int                            lane, warp, first; /* first: patch of the block */
  const PointsCorner<true>             cell;

  __device__ __forceinline__ PointsPackedCell(const PointsArguments<float> &arg, const PointsProductArguments<float> &p) :
    arg(arg), p(p), lane(threadIdx.x % 32), warp(threadIdx.x / 32), first((int)blockIdx.x * S::PATCHES),
    cell(arg.nodes, p.patches, first + lane / 2, lane % 2 + 2 * warp)
  {
  }
  __device__ __forceinline__ void load(float u[n][n][n]) const
  {
#pragma unroll
    for (int j = 0; j < n; j++) {
#pragma unroll
      for (int i = 0; i < n; i++) {
        const unsigned number[n] = {};
        float          v[n];

        cell.column(arg.nodes, p.patches, p.compact, n, i, j).template fetch<false, n>(number, arg.x, v);
#pragma unroll
        for (int k = 0; k < n; k++) u[k][j][i] = v[k];
      }
    }
  }
  /* v = X u or X' u on the lines of direction D, or with `add` v += */
  template <int D, bool ANTI, bool TRANSPOSED, bool ADD>
  static __device__ __forceinline__ void multiply(const PointsMatrix<float> &X, const float u[n][n][n], float v[n][n][n])
  {
#pragma unroll
    for (int q = 0; q < n; q++) {
#pragma unroll
      for (int p = 0; p < n; p++) {
        float in[n];

#pragma unroll
        for (int a = 0; a < n; a++) in[a] = D == 0 ? u[q][p][a] : (D == 1 ? u[q][a][p] : u[a][q][p]);
        PointsMultiply<n, n, ANTI, TRANSPOSED>(X, in, [&](int a, float s) {
          float &to = D == 0 ? v[q][p][a] : (D == 1 ? v[q][a][p] : v[a][q][p]);

          to = ADD ? to + s : s;
        });
      }
    }
  }
  /* row j of the plane k: v = derivatives in y and w those in z become fluxes, u = C_x' flux + mass u */
  __device__ __forceinline__ void row(int j, int k, const unsigned *words, float u[n], float v[n], float w[n]) const
  {
    float g[n], mass[n] = {};

    PointsMultiply<n, n, true, false>(arg.C, u, [&](int i, float s) { g[i] = s; });
#pragma unroll
    for (int i = 0; i < n; i++) {
      PointsRaw<S> raw;

#pragma unroll
      for (int m = 0; m < raw.NUMBERS; m++) raw.word[m] = words[(((k * n + j) * n + i) * raw.NUMBERS + m) * S::THREADS];
      const PointsUnpacked<S> G(raw);

      G.flux(g[i], v[i], w[i]);
      mass[i] = G.shift * u[i];
    }
    PointsMultiply<n, n, true, true>(arg.C, g, [&](int i, float s) { u[i] = mass[i] + s; });
  }
  /* the factors on their way to shared memory, all at once */
  __device__ __forceinline__ void request(unsigned *words) const
  {
    const unsigned *from = PointsPackedWords<S, 1>(p.packed, cell.number(arg.nodes));

#pragma unroll
    for (int i = 0; i < S::WORDS; i++) Fetch(words + i * S::THREADS, from + i * points_packed_cells, true);
  }
  __device__ __forceinline__ void points(float u[n][n][n], const unsigned *words) const
  {
    float w[n][n][n];

    multiply<2, true, false, false>(arg.C, u, w);
#pragma unroll
    for (int k = 0; k < n; k++) {
      float v[n][n];

#pragma unroll
      for (int i = 0; i < n; i++) {
        float in[n];

#pragma unroll
        for (int j = 0; j < n; j++) in[j] = u[k][j][i];
        PointsMultiply<n, n, true, false>(arg.C, in, [&](int j, float s) { v[j][i] = s; });
      }
#pragma unroll
      for (int j = 0; j < n; j++) row(j, k, words, u[k][j], v[j], w[k][j]);
#pragma unroll
      for (int i = 0; i < n; i++) {
        float in[n];

#pragma unroll
        for (int j = 0; j < n; j++) in[j] = v[j][i];
        PointsMultiply<n, n, true, true>(arg.C, in, [&](int j, float s) { u[k][j][i] += s; });
      }
    }
    multiply<2, true, true, true>(arg.C, w, u);
  }
  /* the rows of nodes that a patch wants, which are those behind its first side, or before its last one: b[o][q], entries of B' */
  static __device__ __forceinline__ void rows(const PointsMatrix<float> &B, bool behind, float b[K][n])
  {
#pragma unroll
    for (int o = 0; o < K; o++)
#pragma unroll
      for (int q = 0; q < n; q++) b[o][q] = behind ? B.template entry<n, n>(q, o) : B.template entry<n, n>(q, o + 1);
  }
  /* K numbers from each line in direction D of u, which has P x Q of them */
  template <int D, int P, int Q>
  static __device__ __forceinline__ void project(const float b[K][n], float u[n][n][n])
  {
#pragma unroll
    for (int q = 0; q < Q; q++) {
#pragma unroll
      for (int p = 0; p < P; p++) {
        float in[n];

#pragma unroll
        for (int a = 0; a < n; a++) in[a] = D == 0 ? u[q][p][a] : (D == 1 ? u[q][a][p] : u[a][q][p]);
#pragma unroll
        for (int o = 0; o < K; o++) {
          float sum = 0;

#pragma unroll
          for (int a = 0; a < n; a++) sum += b[o][a] * in[a];
          (D == 0 ? u[q][p][o] : (D == 1 ? u[q][o][p] : u[o][q][p])) = sum;
        }
      }
    }
  }
  /* what the cell has at the patch's nodes, summed in x with the lane beside, to shared memory */
  __device__ __forceinline__ void publish(float u[n][n][n], float *parts) const
  {
    const bool  behind = lane % 2;
    const float scale  = p.packed.scale[cell.number(arg.nodes)];
    float       b[K][n], *part = parts + (warp * S::PATCHES + lane / 2) * S::PART + (behind ? K - 1 : 0);

    rows(arg.B, behind, b);
    project<0, n, n>(b, u);
    rows(arg.B, warp & 1, b);
    project<1, K, n>(b, u);
    rows(arg.B, warp >> 1, b);
    project<2, K, K>(b, u);
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll
      for (int j = 0; j < K; j++) {
        const float middle = scale * (behind ? u[k][j][0] : u[k][j][K - 1]), sum = middle + __shfl_xor_sync(~0u, middle, 1);

#pragma unroll
        for (int o = 0; o < K; o++) {
          const bool shared = o == (behind ? 0 : K - 1);

          if (!shared) part[(k * K + j) * S::M + o] = scale * u[k][j][o];
          if (shared && !behind) part[(k * K + j) * S::M + o] = sum;
        }
      }
    }
  }
  /* sums in y and z: a thread a column of a patch's unknowns in z */
  __device__ __forceinline__ void store(const float *parts) const
  {
    constexpr int M     = S::M;
    const int     count = min(S::PATCHES, p.patches.count - first);

    for (int e = threadIdx.x; e < count * M * M; e += S::THREADS) {
      const int in = e / (M * M), x = e % M, y = e / M % M;
      float    *to = p.y + p.patches.at + (size_t)(first + in) * p.patches.volume + e % (M * M), sum[M] = {};

#pragma unroll
      for (int behind = 0; behind < 2; behind++) {
        const int    j    = y - behind * (K - 1);
        const float *part = parts + (behind * S::PATCHES + in) * S::PART + j * M + x, *above = part + 2 * S::PATCHES * S::PART;

        if ((unsigned)j >= K) continue;
#pragma unroll
        for (int k = 0; k < K; k++) {
          sum[k] += part[k * K * M];
          sum[K - 1 + k] += above[k * K * M];
        }
      }
#pragma unroll
      for (int z = 0; z < M; z++) to[z * M * M] = p.subtract ? to[z * M * M] - sum[z] : sum[z];
    }
  }
};

template <typename S>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
  PointsPackedCellKernel(const __grid_constant__ PointsArguments<float> arg, const __grid_constant__ PointsProductArguments<float> p)
{
  extern __shared__ unsigned shared_words[];
  __shared__ float           parts[4 * S::PATCHES * S::PART];
  const PointsPackedCell<S>  cell(arg, p);
  float                      u[S::n][S::n][S::n];

  cell.request(shared_words + threadIdx.x);
  cell.load(u);
  cell.template multiply<2, false, false, false>(arg.B, u, u);
  cell.template multiply<1, false, false, false>(arg.B, u, u);
  cell.template multiply<0, false, false, false>(arg.B, u, u);
  FetchWait();
  cell.points(u, shared_words + threadIdx.x);
  cell.publish(u, parts);
  __syncthreads();
  cell.store(parts);
}

} // namespace patchfd
