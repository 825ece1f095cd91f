/*
  Operators by quadrature on cubes of degree 2 (points.cuh) with computed factors: a thread a cell, warps by themselves.

  A thread has all numbers of a cell in registers.  What a warp reads of consecutive cells, indices, maps and, where cells have their nodes
  for themselves, x and y, goes through shared memory, so that lanes beside each other read numbers beside each other; a cell has an odd
  number of each of them, so that lanes are on different banks. In a sweep x is the new direction already.
*/
#pragma once
#include "points/fast.cuh"

namespace patchfd
{

template <typename T, int K, PointsRule RULE, int KIND>
struct PointsCellShape {
  static constexpr int  n = K + 1, c = RULE == POINTS_COLLOCATED ? n : n + 1, NODES = n * n * n, PER = 32, WARPS = 2;
  static constexpr bool MASS = RULE == POINTS_MASS;
  static constexpr int  OWN = 0, A = 1, B = 2; /* lines of points are in x */
  static constexpr int  BLOCKS = sizeof(T) == 8 ? (MASS ? 5 : 4) : 10; /* measured on an H200 */
  static constexpr int  NUMBERS = MASS ? points_determinant : points_geometry;
  /* numbers at nodes */
  static constexpr int  HELD = !MASS || KIND == PATCHFD_NODES_CELL ? PER * NODES : 0;
  static constexpr int  INDICES = KIND == PATCHFD_NODES_INDEX ? PER * NODES * (int)sizeof(unsigned) / (int)sizeof(T) : 0;
  static constexpr int  SHARED = PER * NUMBERS + HELD + INDICES; /* of a warp */

  static_assert(NODES % 2 && NUMBERS % 2, "lanes would be on the same banks");
};

template <typename S, int KIND, typename T>
struct PointsCell {
  static constexpr int  n = S::n, c = S::c;
  static constexpr bool INDEX = KIND == PATCHFD_NODES_INDEX;
  const PointsArguments<T> &arg;
  int                       first, lane, cell, own; /* the warp's first cell; the thread's, or 0; and its place in the warp, or 0 */
  bool                      mine;
  T                        *geometry, *nodes;  /* of the warp, in shared memory */
  unsigned                 *index;

  __device__ __forceinline__ PointsCell(const PointsArguments<T> &arg, T *shared) :
    arg(arg), first((blockIdx.x * S::WARPS + threadIdx.x / 32) * S::PER), lane(threadIdx.x % 32),
    geometry(shared + threadIdx.x / 32 * S::SHARED), nodes(geometry + S::PER * S::NUMBERS), index((unsigned *)(nodes + S::HELD))
  {
    mine = first + lane < arg.cells;
    cell = mine ? first + lane : 0;
    own  = mine ? lane : 0;
  }

  /* f(i) for all places of what the warp's cells have `count` of */
  template <int COUNT, typename F>
  __device__ __forceinline__ void all(F &&f) const
  {
    const int count = min(S::PER, arg.cells - first) * COUNT;

#pragma unroll 4
    for (int i = lane; i < count; i += 32) f(i);
  }
  __device__ __forceinline__ void fetch() const
  {
    if constexpr (INDEX) all<S::NODES>([&](int i) { Fetch(index + i, arg.nodes.index + first * (ptrdiff_t)S::NODES + i, true); });
    all<S::NUMBERS>([&](int i) { Fetch(geometry + i, arg.factors + first * (ptrdiff_t)S::NUMBERS + i, true); });
  }
  __device__ __forceinline__ const T *map() const { return geometry + own * S::NUMBERS; }
  /* number i of the warp's cells */
  __device__ __forceinline__ size_t at(int i, int comp) const { return (first * (size_t)S::NODES + i) * arg.nodes.ncomp + comp; }

  __device__ __forceinline__ PointsColumn column(int i, int j, int comp, bool write) const
  {
    PointsColumn col = PointsPlace(arg.nodes, KIND, n, 3, cell, i, j, comp, write);

    if (INDEX) col.index = index + own * S::NODES + j * n + i;
    return col;
  }
  /* u[k][j][i] = x */
  __device__ __forceinline__ void load(int comp, T u[c][c][n]) const
  {
    if constexpr (KIND == PATCHFD_NODES_CELL) {
      all<S::NODES>([&](int i) { Fetch(nodes + i, arg.x + at(i, comp), true); });
      FetchWait();
      __syncwarp();
    }
#pragma unroll
    for (int j = 0; j < n; j++) {
#pragma unroll
      for (int i = 0; i < n; i++) {
        const PointsColumn col = column(i, j, comp, false);
        unsigned           number[n];
        T                  v[n];

        if constexpr (KIND == PATCHFD_NODES_CELL) {
#pragma unroll
          for (int k = 0; k < n; k++) v[k] = nodes[lane * S::NODES + (k * n + j) * n + i];
        } else {
          col.template numbers<INDEX, n>(number);
          col.template fetch<INDEX, n>(number, arg.x, v);
        }
#pragma unroll
        for (int k = 0; k < n; k++) u[k][j][i] = v[k];
      }
    }
  }

  /* y += alpha w */
  __device__ __forceinline__ void store(int comp, T w[c][c][n]) const
  {
    if constexpr (KIND == PATCHFD_NODES_CELL) {
#pragma unroll
      for (int m = 0; m < S::NODES; m++) nodes[lane * S::NODES + m] = w[m / n / n][m / n % n][m % n];
      __syncwarp();
      all<S::NODES>([&](int i) { arg.y[at(i, comp)] = (arg.y0 ? arg.y0[at(i, comp)] : T(0)) + arg.alpha * nodes[i]; });
      __syncwarp();
    } else {
#pragma unroll
      for (int m = 0; m < n * n; m++) add(m % n, m / n, comp, w);
    }
  }
  /* the same for a column.  Sums of sides that two cells of the warp have in common are at the latter's */
  __device__ __forceinline__ void add(int i, int j, int comp, T w[c][c][n]) const
  {
    const bool         before = i == 0 && lane > 0, behind = i == n - 1 && lane + 1 < S::PER && cell + 1 < arg.cells;
    const PointsColumn col = column(i, j, comp, true);
    unsigned           number[n];
    T                  old[n] = {};

    col.template numbers<INDEX, n>(number);
    if (arg.y0 && mine) col.template fetch<INDEX, n>(number, arg.y0, old);
#pragma unroll
    for (int k = 0; k < n; k++) {
      const bool joined = INDEX ? (number[k] & points_joined) != 0 : (i ? col.right : col.left);
      const bool shared = INDEX ? (number[k] & (before ? points_shared : points_shared | points_joined)) != 0
                                : (col.left && !before) || col.right || col.sides || col.ends(n, k);
      T         *y      = arg.y + col.template at<INDEX>(k, number[k]), sum = w[k][j][i];

      if (i == 0) {
        const T left = __shfl_up_sync(~0u, w[k][j][n - 1], 1);

        sum += before & joined ? left : T(0);
      }
      const bool here = mine & col.template has<INDEX>(k, number[k]) & !(behind & joined);

      if (here & shared) atomicAdd(y, arg.alpha * sum);
      if (here & !shared) *y = old[k] + arg.alpha * sum;
    }
  }

  /* v[k][j][i] of a line in direction 1 or 2 = X of it, or X' of it */
  template <int D, int ROWS, int COLS, bool ANTI, bool TRANSPOSED>
  static __device__ __forceinline__ void line(const PointsMatrix<T> &X, const T u[c][c][n], T v[c][c][n], int p, int i)
  {
    T in[COLS];

#pragma unroll
    for (int a = 0; a < COLS; a++) in[a] = D == 1 ? u[p][a][i] : u[a][p][i];
    PointsMultiply<ROWS, COLS, ANTI, TRANSPOSED>(X, in, [&](int a, T s) { (D == 1 ? v[p][a][i] : v[a][p][i]) = s; });
  }
  template <int D, int ROWS, int COLS, bool TRANSPOSED>
  __device__ __forceinline__ void interpolate(T u[c][c][n]) const
  {
#pragma unroll
    for (int p = 0; p < (D == 1 ? c : n); p++)
#pragma unroll
      for (int i = 0; i < n; i++) line<D, ROWS, COLS, false, TRANSPOSED>(arg.B, u, u, p, i);
  }
  __device__ __forceinline__ void mass(T u[c][c][n], T &energy) const
  {
    interpolate<2, c, n, false>(u);
    interpolate<1, c, n, false>(u);
#pragma unroll
    for (int j = 0; j < c; j++) {
      __syncwarp(); /* nothing is read before its turn: registers are what is short */
      const PointsDeterminant<T> determinant(arg, map(), j);

#pragma unroll
      for (int k = 0; k < c; k++) {
        const PointsQuadratic<T> G = determinant.line(arg, k);
        T                        v[c];

        PointsMultiply<c, n, false, false>(arg.B, u[k][j], [&](int i, T s) { v[i] = s; });
#pragma unroll
        for (int i = 0; i < c; i++) {
          const T s = G.mass(arg, i) * v[i];

          energy += v[i] * s;
          v[i] = s;
        }
        PointsMultiply<n, c, false, true>(arg.B, v, [&](int i, T s) { u[k][j][i] = s; });
      }
    }
    interpolate<1, n, c, true>(u);
    interpolate<2, n, c, true>(u);
  }

  /* a row: u = mass u + C'flux in x; v: derivatives in y, and at w those in z, which become fluxes */
  __device__ __forceinline__ void row(int j, int k, T u[n], T v[n], T *w, T &energy) const
  {
    __syncwarp(); /* nothing is read before its turn: registers are what is short */
    const PointsComputed<S, T> G(arg, map(), j, k);
    T                          g[n];

    PointsMultiply<n, n, true, false>(arg.C, u, [&](int i, T s) { g[i] = s; });
#pragma unroll
    for (int i = 0; i < n; i++) {
      const T in[3] = {g[i], v[i], w[i]};
      T       out[3] = {in[0], in[1], in[2]}, mass = 0;

      G.flux(arg, i, out);
      energy += in[0] * out[0] + in[1] * out[1] + in[2] * out[2];
      if (arg.shift) mass = G.mass(arg, i) * u[i];
      energy += u[i] * mass;
      u[i] = mass;
      g[i] = out[0];
      v[i] = out[1];
      w[i] = out[2];
    }
    PointsMultiply<n, n, true, true>(arg.C, g, [&](int i, T s) { u[i] += s; });
  }
  /* derivatives and fluxes in z are in shared memory; planes normal to z one after the other */
  __device__ __forceinline__ void stiffness(T u[c][c][n], T &energy) const
  {
    T *const z = nodes + lane * S::NODES;

#pragma unroll
    for (int m = 0; m < n * n; m++) {
      const T in[n] = {u[0][m / n][m % n], u[1][m / n][m % n], u[2][m / n][m % n]};

      PointsMultiply<n, n, true, false>(arg.C, in, [&](int k, T s) { z[k * n * n + m] = s; });
    }
#pragma unroll
    for (int k = 0; k < n; k++) {
      T v[n][n];

#pragma unroll
      for (int i = 0; i < n; i++) {
        const T in[n] = {u[k][0][i], u[k][1][i], u[k][2][i]};

        PointsMultiply<n, n, true, false>(arg.C, in, [&](int j, T s) { v[j][i] = s; });
      }
#pragma unroll
      for (int j = 0; j < n; j++) row(j, k, u[k][j], v[j], z + (k * n + j) * n, energy);
#pragma unroll
      for (int i = 0; i < n; i++) {
        const T in[n] = {v[0][i], v[1][i], v[2][i]};

        PointsMultiply<n, n, true, true>(arg.C, in, [&](int j, T s) { u[k][j][i] += s; });
      }
    }
#pragma unroll
    for (int m = 0; m < n * n; m++) {
      const T in[n] = {z[m], z[n * n + m], z[2 * n * n + m]};

      PointsMultiply<n, n, true, true>(arg.C, in, [&](int k, T s) { u[k][m / n][m % n] += s; });
    }
  }
};

template <typename S, int KIND, typename T>
static __global__ void __launch_bounds__(32 * S::WARPS, S::BLOCKS) PointsCellKernel(const __grid_constant__ PointsArguments<T> arg)
{
  extern __shared__ double       shared_memory[];
  const PointsCell<S, KIND, T> cell(arg, (T *)shared_memory);
  T                              energy = 0;

  if ((arg.sweep && arg.sweep->stop) || cell.first >= arg.cells) return;
  cell.fetch();
  FetchWait();
  __syncwarp();
  for (int comp = 0; comp < arg.nodes.ncomp; comp++) {
    T u[S::c][S::c][S::n];

    cell.load(comp, u);
    if constexpr (S::MASS) cell.mass(u, energy);
    else cell.stiffness(u, energy);
    cell.store(comp, u);
  }
  if (arg.sweep) PointsSum(arg, cell.mine ? energy : T(0));
}

template <typename S, int KIND, typename T>
static PointsKernel<T> PointsCellKernelOf()
{
  return {{S::c, 0, 0, 1, S::c * S::c, S::c, 0},
          S::WARPS * S::PER,
          32 * S::WARPS,
          S::NUMBERS,
          false,
          (size_t)(S::WARPS * S::SHARED) * sizeof(T),
          INT_MAX,
          PointsCellKernel<S, KIND, T>};
}

} // namespace patchfd
