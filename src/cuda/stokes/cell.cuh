/*
  y = y0 + alpha A x for Stokes in 2D at degree 1, where lines of cells are so short that to find them costs more than to multiply: a
  thread has a cell in registers, one field after another.  The mathematics is that of operator_fast.cu:

    W = B_e u,   then with W of the cells beside in direction c   y_c = M_e (A_c u + M_c W + g G' p),   and the divergence is summed up

  A block of threads has ROWS rows of 32 cells; those at the four sides only help the others.  Lanes follow x, warps y.  What a cell needs
  of those beside it comes from the lanes beside in x.  In y it comes from global memory through L1, and through shared memory where it has
  been computed.
*/
#pragma once
#include "stokes/lines.cuh"

namespace patchfd
{

template <typename T, int K>
struct StokesCells {
  static constexpr int    n = K + 1, NZ = 1, NODES = n * n, ROWS = 8, PX = 30, PY = ROWS - 2, THREADS = 32 * ROWS;
  static constexpr int    BLOCKS = sizeof(T) == 4 ? 3 : 2; /* resident, for as many registers as it takes */
  static constexpr size_t SHARED = sizeof(T) * NODES * THREADS;
};

/* INNER: an inner tile.  Nodes of a cell have the number i + n j; node l of line t in direction D is t * across(D) + l * along(D) */
template <typename T, int K, bool INNER>
struct StokesCell {
  using S                = StokesCells<T, K>;
  static constexpr int n = S::n, NODES = S::NODES;
  struct Node {
    T u, w, p;
  };

  const StokesMatrices<T, K> &m;
  const StokesData<T>        &d;
  StokesPlace<S>              place;
  const T                    *x, *y0;
  T                          *y, *shared, alpha, p[NODES], q[NODES]; /* p: pressure; q: divergence, without masses */
  bool                        row, mine;                             /* in a row, a cell, of the tile */

  static __device__ __forceinline__ constexpr int along(int D) { return D ? n : 1; }
  static __device__ __forceinline__ constexpr int across(int D) { return D ? 1 : n; }

  __device__ __forceinline__ StokesCell(const StokesMatrices<T, K> &m, const StokesData<T> &d, const StokesPlace<S> &tile, T alpha,
                                        const T *x, const T *y0, T *y, T *shared) :
    m(m),
    d(d), place(tile), x(x), y0(y0), y(y), shared(shared), alpha(alpha), q{}
  {
    const int at[2] = {(int)threadIdx.x % 32 - 1, (int)threadIdx.x / 32 - 1};

    row  = at[1] >= 0 && at[1] < S::PY;
    mine = row && at[0] >= 0 && at[0] < S::PX;
    for (int e = 0; e < 2; e++) {
      place.cell[e] += at[e];
      place.node[e] += at[e] * n;
    }
  }

  /* ---- numbers of this cell, and of those beside it: side 0 below, 1 above ---- */

  /* node i of the cell that is `rows` cells above */
  __device__ __forceinline__ T value(int f, int rows, int i) const
  {
    const StokesField &s   = d.field[f];
    const int          j   = i / n + rows * n;
    const T           *all = x + s.xl.at(place.node[0], place.node[1], 0);

    return INNER || s.read.contains(place.node[0] + i % n, place.node[1] + j, 0) ? all[i % n + j * (int)s.xl.row] : T(0);
  }
  __device__ __forceinline__ void load(int f, T u[NODES]) const
  {
#pragma unroll
    for (int i = 0; i < NODES; i++) u[i] = value(f, 0, i);
  }
  __device__ __forceinline__ void store(int f, T scale, const T w[NODES]) const
  {
    const StokesField &s  = d.field[f];
    const ptrdiff_t    to = s.yl.at(place.node[0], place.node[1], 0);
    T                  old[NODES];
    auto               at  = [&](int i) { return to + (i % n + i / n * (int)s.yl.row); };
    auto               has = [&](const Range &r, int i) { return INNER || r.contains(place.node[0] + i % n, place.node[1] + i / n, 0); };

    if (!mine) return;
#pragma unroll
    for (int i = 0; i < NODES; i++) old[i] = y0 && has(s.store, i) ? y0[at(i)] : T(0);
#pragma unroll
    for (int i = 0; i < NODES; i++)
      if (has(s.store, i)) y[at(i)] = old[i] + (has(s.write, i) ? scale * w[i] : T(0));
  }
  static __device__ __forceinline__ T lane(int side, T v)
  {
    return side ? __shfl_down_sync(0xffffffffu, v, 1) : __shfl_up_sync(0xffffffffu, v, 1);
  }
  __device__ __forceinline__ void give(const T v[NODES])
  {
#pragma unroll
    for (int i = 0; i < NODES; i++) shared[i * S::THREADS + threadIdx.x] = v[i];
    __syncthreads();
  }
  __device__ __forceinline__ T take(int side, int i) const
  {
    return shared[i * S::THREADS + threadIdx.x + (side ? 32 : -32)];
  }

  /* ---- lines ---- */

  /* w = B_D u of the component that is continuous in the other direction; beside(side, i): u of the cells beside */
  template <int D, typename Beside>
  __device__ __forceinline__ void penalty(const T u[NODES], T w[NODES], Beside beside) const
  {
#pragma unroll
    for (int t = 0; t < n; t++) {
      T    line[n], sum[n] = {};
      auto at = [=](int l) { return t * across(D) + l * along(D); };

#pragma unroll
      for (int l = 0; l < n; l++) line[l] = u[at(l)];
      DGCellLine<T, K>(
        m.d, StokesNumbers<INNER>(d, 1 - D, D, place.cell[D]), line, [&](int l) { return beside(0, at(l)); },
        [&](int l) { return beside(1, at(l)); }, sum);
#pragma unroll
      for (int l = 0; l < n; l++) w[at(l)] = sum[l];
    }
  }
  template <int D>
  __device__ __forceinline__ void mass(T w[NODES]) const
  {
#pragma unroll
    for (int t = 0; t < n; t++) {
      T line[n], sum[n];

#pragma unroll
      for (int l = 0; l < n; l++) line[l] = w[t * across(D) + l * along(D)];
      DGMassLine<T, n>(m.d.M, line, sum);
#pragma unroll
      for (int l = 0; l < n; l++) w[t * across(D) + l * along(D)] = sum[l];
    }
  }
  /* y of component C; beside(side, i): a node of the cells beside in direction C, above only the first of a line */
  template <int C, typename Beside>
  __device__ __forceinline__ void own(const T u[NODES], const T w[NODES], Beside beside)
  {
    const int cell   = C == 0 ? max(place.cell[0], d.origin[0]) : place.cell[C]; /* before the first one nobody asks for these rows */
    const T   length = StokesLength<INNER>(d, 1 - C, place.cell[1 - C]);
    T         out[NODES];

#pragma unroll
    for (int t = 0; t < n; t++) {
      Node line[2 * n + 1];
      T    sum[n], div[n];
      auto at = [=](int l) { return t * across(C) + l * along(C); };

#pragma unroll
      for (int l = 0; l < n; l++) {
        line[l]     = beside(0, at(l));
        line[n + l] = {u[at(l)], w[at(l)], p[at(l)]};
      }
      line[2 * n] = beside(1, at(0));

      auto velocity  = [&](int l) { return line[l + n].u; };
      auto penalties = [&](int l) { return line[l + n].w; };
      auto pressure  = [&](int l) { return line[l + n].p; };

      StokesOwnLine<INNER, T, K>(m, d, C, cell,
                                 StokesLine<decltype(velocity), decltype(penalties), decltype(pressure)>{velocity, penalties, pressure},
                                 sum);
      StokesDivergence<T, K>(m, d.divergence[C] * length, velocity, div);
#pragma unroll
      for (int l = 0; l < n; l++) {
        out[at(l)] = sum[l];
        q[at(l)] += div[l];
      }
    }
    mass<1 - C>(out);
    store(C, alpha * length, out);
  }

  /* ---- fields ---- */

  __device__ __forceinline__ void first()
  {
    T u[NODES], w[NODES];

    if (!row) return;
    load(0, u);
    penalty<1>(u, w, [&](int side, int i) { return value(0, side ? 1 : -1, i); });
    own<0>(u, w, [&](int side, int i) { return Node{lane(side, u[i]), lane(side, w[i]), lane(side, p[i])}; });
  }
  __device__ __forceinline__ void second()
  {
    T u[NODES], w[NODES];

    load(1, u);
    penalty<0>(u, w, [&](int side, int i) { return lane(side, u[i]); });
    give(w);
    if (!row) return;
    own<1>(u, w, [&](int side, int i) { return Node{value(1, side ? 1 : -1, i), take(side, i), side ? T(0) : value(2, -1, i)}; });
  }
  __device__ __forceinline__ void all()
  {
    load(2, p);
    first();
    second();
    mass<0>(q);
    mass<1>(q);
    store(2, alpha, q);
  }
};

template <typename T, int K>
__launch_bounds__(StokesCells<T, K>::THREADS, StokesCells<T, K>::BLOCKS) static __global__
  void StokesCellKernel(const __grid_constant__ StokesMatrices<T, K> m, const __grid_constant__ StokesData<T> d, T alpha,
                        const T *__restrict__ x, const T *y0, T *y)
{
  extern __shared__ double2            stokes_shared[];
  const StokesPlace<StokesCells<T, K>> place(d);
  bool                                 inner = true;

  for (int e = 0; e < 2; e++) inner = inner && place.cell[e] >= d.inner[e][0] && place.cell[e] < d.inner[e][1];
  if (inner) StokesCell<T, K, true>(m, d, place, alpha, x, y0, y, (T *)stokes_shared).all();
  else StokesCell<T, K, false>(m, d, place, alpha, x, y0, y, (T *)stokes_shared).all();
}

} // namespace patchfd
