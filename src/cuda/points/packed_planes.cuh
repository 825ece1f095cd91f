/*
  Products on inner patches (product.cu) of degree 3 and 4 from factors in half precision: a thread a plane of a cell.

  A block of threads takes PATCHES patches; thread q of a cell's n = K + 1 has, in registers, its plane of nodes normal to x at node q, and
  of points normal to z at point q.  Numbers change hands in shared memory, in arrays U and Z of n^3 numbers a cell:

    x = q    u = B_z B_y x                            from global memory
             U = u, Z = C_z u
    z = q    u = B_x U, w = C_y u
             row by row: fluxes of C_x u, w, B_x Z; Z = B_x' flux in z, w = flux in y, u = C_x' flux in x
             U = B_x' (u + C_y' w)
    x = q    U = B_y' B_z' (U + C_z' Z)               nodes
    sums     of the eight cells (PointsPatchSums)

  So a number passes shared memory 10 times, not 24 as with a thread a line, at three barriers.  Threads go by q, then the two cells in x,
  patches, cells in y and z: lanes read factors and nodes beside each other where patches come one after another in x.  Rows have room for
  whole 16 bytes; pitches of planes and cells are those with the fewest conflicts of banks, by counting.

  What bounds it: DRAM (12 bytes a point), and latency where registers allow few warps.
*/
#pragma once
#include "points/packed.cuh"
#include "points/product.cuh"

namespace patchfd
{

template <int K, bool SHIFT>
struct PointsPackedPlaneShape {
  static constexpr bool SHIFTED = SHIFT, WHOLE = true;
  static constexpr int  N = K, n = K + 1, ROOM = 2 * K - 1;
  static constexpr int  PATCHES = K == 3 ? 4 : 3, BLOCKS = K == 3 ? 5 : 4, ROW = RoundUp(n, 4), PLANE = K == 3 ? 24 : 44,
                       CELL  = K == 3 ? 100 : 220;
  static constexpr int CELLS = points_corners * PATCHES, THREADS = RoundUp(CELLS * n, 32), SHARED = CELLS * CELL; /* of U, or of Z */

  /* the place of a cell among those of the block */
  static __device__ __forceinline__ int slot(int patch, int corner) { return ((corner >> 1) * PATCHES + patch) * 2 + corner % 2; }
};

/* a row in shared memory, 16 bytes at once */
template <int n>
struct alignas(16) PointsRow {
  float v[RoundUp(n, 4)];

  __device__ __forceinline__ void load(const float *from)
  {
#pragma unroll
    for (int i = 0; i < n; i += 4) *(float4 *)(v + i) = *(const float4 *)(from + i);
  }
  __device__ __forceinline__ void store(float *to) const
  {
#pragma unroll
    for (int i = 0; i < n; i += 4) *(float4 *)(to + i) = *(const float4 *)(v + i);
  }
};

template <typename S>
struct PointsPackedPlane {
  static constexpr int                 n = S::n;
  const PointsArguments<float>        &arg;
  const PointsProductArguments<float> &p;
  const int                            q, slot;
  const PointsCorner<true>             cell;
  const int                            number;
  float                               *U, *Z;

  __device__ __forceinline__ PointsPackedPlane(const PointsArguments<float> &arg, const PointsProductArguments<float> &p, float *shared) :
    arg(arg), p(p), q((int)threadIdx.x % n), slot(min((int)threadIdx.x / n, S::CELLS - 1)),
    cell(arg.nodes, p.patches, (int)blockIdx.x * S::PATCHES + slot / 2 % S::PATCHES, slot % 2 + slot / 2 / S::PATCHES * 2),
    number(cell.number(arg.nodes)), U(shared + slot * S::CELL), Z(U + S::SHARED)
  {
  }
  template <bool ANTI, bool TRANSPOSED>
  static __device__ __forceinline__ void multiply(const PointsMatrix<float> &X, float v[n])
  {
    float in[n];

#pragma unroll
    for (int a = 0; a < n; a++) in[a] = v[a];
    PointsMultiply<n, n, ANTI, TRANSPOSED>(X, in, [&](int a, float s) { v[a] = s; });
  }
  /* the same for column i of a plane; to = X from, or to += */
  template <bool ANTI, bool TRANSPOSED, bool ADD>
  static __device__ __forceinline__ void column(const PointsMatrix<float> &X, const float from[n][n], int i, float to[n][n])
  {
    float in[n];

#pragma unroll
    for (int j = 0; j < n; j++) in[j] = from[j][i];
    PointsMultiply<n, n, ANTI, TRANSPOSED>(X, in, [&](int j, float s) { to[j][i] = ADD ? to[j][i] + s : s; });
  }

  /* x = q: nodes, rows in y, to U and Z; the factor of the cell's numbers comes in here */
  __device__ __forceinline__ void nodes() const
  {
    const float scale = p.packed.scale[number];
    float       u[n][n]; /* [k][j] */

#pragma unroll
    for (int j = 0; j < n; j++) {
      const unsigned none[n] = {};
      float          v[n];

      cell.column(arg.nodes, p.patches, p.compact, n, q, j).template fetch<false, n>(none, arg.x, v);
#pragma unroll
      for (int k = 0; k < n; k++) u[k][j] = scale * v[k];
    }
#pragma unroll
    for (int k = 0; k < n; k++) multiply<false, false>(arg.B, u[k]);
#pragma unroll
    for (int j = 0; j < n; j++) {
      float v[n];

#pragma unroll
      for (int k = 0; k < n; k++) v[k] = u[k][j];
      multiply<false, false>(arg.B, v);
#pragma unroll
      for (int k = 0; k < n; k++) U[k * S::PLANE + j * S::ROW + q] = v[k];
      multiply<true, false>(arg.C, v);
#pragma unroll
      for (int k = 0; k < n; k++) Z[k * S::PLANE + j * S::ROW + q] = v[k];
    }
  }
  /* row j of the points at z = q: u = C_x' flux + mass u, w = derivatives in y becomes flux, Z */
  __device__ __forceinline__ void row(int j, const unsigned *words, float u[n], float w[n]) const
  {
    PointsRow<n> z;
    float        g[n], mass[n] = {};

    z.load(Z + q * S::PLANE + j * S::ROW);
    multiply<false, false>(arg.B, z.v);
    PointsMultiply<n, n, true, false>(arg.C, u, [&](int i, float s) { g[i] = s; });
#pragma unroll
    for (int i = 0; i < n; i++) {
      PointsRaw<S> raw;

      raw.template load<n>(words, j * n + i);
      const PointsUnpacked<S> G(raw);

      G.flux(g[i], w[i], z.v[i]);
      mass[i] = G.shift * u[i];
    }
    multiply<false, true>(arg.B, z.v);
    z.store(Z + q * S::PLANE + j * S::ROW);
    PointsMultiply<n, n, true, true>(arg.C, g, [&](int i, float s) { u[i] = mass[i] + s; });
  }
  __device__ __forceinline__ void points() const
  {
    const unsigned *words = PointsPackedWords<S, n>(p.packed, number) + q;
    PointsRow<n>    u[n];
    float           v[n][n], w[n][n]; /* [j][i] */

#pragma unroll
    for (int j = 0; j < n; j++) {
      u[j].load(U + q * S::PLANE + j * S::ROW);
      multiply<false, false>(arg.B, u[j].v);
#pragma unroll
      for (int i = 0; i < n; i++) v[j][i] = u[j].v[i];
    }
#pragma unroll
    for (int i = 0; i < n; i++) column<true, false, false>(arg.C, v, i, w);
#pragma unroll
    for (int j = 0; j < n; j++) row(j, words, v[j], w[j]);
#pragma unroll
    for (int i = 0; i < n; i++) column<true, true, true>(arg.C, w, i, v);
#pragma unroll
    for (int j = 0; j < n; j++) {
      PointsRow<n> to;

      multiply<false, true>(arg.B, v[j]);
#pragma unroll
      for (int i = 0; i < n; i++) to.v[i] = v[j][i];
      to.store(U + q * S::PLANE + j * S::ROW);
    }
  }
  /* x = q: what the cell has at its nodes, in U */
  __device__ __forceinline__ void project() const
  {
    float u[n][n]; /* [k][j] */

#pragma unroll
    for (int j = 0; j < n; j++) {
      float v[n], z[n];

#pragma unroll
      for (int k = 0; k < n; k++) {
        v[k] = U[k * S::PLANE + j * S::ROW + q];
        z[k] = Z[k * S::PLANE + j * S::ROW + q];
      }
      PointsMultiply<n, n, true, true>(arg.C, z, [&](int k, float s) { v[k] += s; });
      multiply<false, true>(arg.B, v);
#pragma unroll
      for (int k = 0; k < n; k++) u[k][j] = v[k];
    }
#pragma unroll
    for (int k = 0; k < n; k++) {
      multiply<false, true>(arg.B, u[k]);
#pragma unroll
      for (int j = 0; j < n; j++) U[k * S::PLANE + j * S::ROW + q] = u[k][j];
    }
  }
};

template <typename S>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
  PointsPackedPlaneKernel(const __grid_constant__ PointsArguments<float> arg, const __grid_constant__ PointsProductArguments<float> p)
{
  extern __shared__ __align__(16) double shared_memory[];
  const PointsPackedPlane<S>             plane(arg, p, (float *)shared_memory);
  const bool                             mine = threadIdx.x < S::CELLS * S::n;

  if (mine) plane.nodes();
  __syncthreads();
  if (mine) plane.points();
  __syncthreads();
  if (mine) plane.project();
  __syncthreads();
  PointsPatchSums<S, float>(p, (const float *)shared_memory, (int)blockIdx.x).store();
}

} // namespace patchfd
