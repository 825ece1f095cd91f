/* what operator_fast.cu computes with: tiles, the numbers of cells, lines and nodes of parts of a tile, and the arithmetic of a
   line */
#pragma once
#include "base/plan.cuh"
#include "terms/terms.cuh"
#include <algorithm>
#include <cuda_pipeline.h>

namespace patchfd
{

/* by dimension, precision and degree, as measured on an H200: cells of a tile in x and y, and resident blocks of threads */
template <typename T, int K, int DIM>
struct StokesShape;
#define SHAPE(T, K, DIM, px, py, blocks) \
  template <> \
  struct StokesShape<T, K, DIM> { \
    static constexpr int PX = px, PY = py, BLOCKS = blocks; \
  }
SHAPE(double, 2, 2, 10, 8, 3);
SHAPE(double, 3, 2, 8, 6, 3);
SHAPE(double, 4, 2, 8, 4, 3);
SHAPE(double, 5, 2, 6, 4, 2);
SHAPE(double, 6, 2, 6, 3, 2);
SHAPE(float, 2, 2, 10, 8, 3);
SHAPE(float, 3, 2, 8, 6, 3);
SHAPE(float, 4, 2, 8, 4, 3);
SHAPE(float, 5, 2, 6, 4, 3);
SHAPE(float, 6, 2, 6, 3, 3);
SHAPE(double, 1, 3, 10, 6, 6);
SHAPE(double, 2, 3, 6, 4, 5);
SHAPE(double, 3, 3, 4, 4, 4);
SHAPE(double, 4, 3, 5, 2, 3);
SHAPE(double, 5, 3, 2, 2, 3);
SHAPE(double, 6, 3, 2, 2, 2);
SHAPE(float, 1, 3, 10, 6, 6);
SHAPE(float, 2, 3, 6, 4, 5);
SHAPE(float, 3, 3, 4, 4, 4);
SHAPE(float, 4, 3, 4, 3, 2);
SHAPE(float, 5, 3, 3, 2, 2);
SHAPE(float, 6, 3, 2, 2, 2);
#undef SHAPE

template <typename T, int K, int DIM>
struct StokesTile : StokesShape<T, K, DIM> {
  using StokesShape<T, K, DIM>::PX;
  using StokesShape<T, K, DIM>::PY;
  static constexpr int n = K + 1, NZ = DIM == 3 ? n : 1, X = PX * n, Y = PY * n;
  static constexpr int THREADS = RoundUp(NZ * (X * PY > Y * PX ? X * PY : Y * PX), 32);

  /* the nodes LO0 .. HI0 - 1 in x and LO1 .. HI1 - 1 in y, counted from the tile's first */
  template <int LO0, int HI0, int LO1, int HI1>
  struct Part {
    static constexpr int lo0 = LO0, hi0 = HI0, lo1 = LO1, hi1 = HI1, ROW = (HI0 - LO0) | 1, SIZE = NZ * (HI1 - LO1) * ROW;

    static __device__ __forceinline__ int at(int i, int j, int k) { return (k * (HI1 - LO1) + j - LO1) * ROW + i - LO0; }
    /* from a node to the next one in direction D */
    template <int D>
    static constexpr int stride = D == 0 ? 1 : (D == 1 ? ROW : (HI1 - LO1) * ROW);
  };
  using U                        = Part<-n, X + n, -n, Y + n>;
  using W                        = Part<-n, X + 1, -n, Y + 1>;
  using P                        = Part<-n, X, -n, Y>;
  using Q                        = Part<0, X, 0, Y>;
  static constexpr size_t SHARED = sizeof(T) * (U::SIZE + W::SIZE + P::SIZE + Q::SIZE);
};

template <typename T, int K>
struct StokesMatrices {
  static constexpr int n = K + 1;
  DGLineMatrices<T, K> d;
  T                    K1[(n + 1) * (n + 1)], M1[(n + 1) * (n + 1)], D[n * (n + 1)], G[n * (n + 1)];
};

struct StokesField {
  Layout xl, yl;
  Range  read, write, store; /* nodes of x that are not zero, rows that are not zero, all of y */
};

template <typename T>
struct StokesData {
  int         origin[3], end[3]; /* the first tile's first cell; the cells to visit end here */
  bool        closing[3];        /* has the last node of direction d's component a row? */
  StokesField field[4];
  const T    *h[3], *numbers[3][3]; /* [direction], [component][direction]: of the cells from the one before the first tile on */
  T           gradient[3], divergence[3];
  /* first cells of inner tiles: all nodes that they need and have exist, and all their cells have these numbers: */
  int inner[3][2];
  T   length[3], number[3][3][DG_CELL];
};

/* where a block of threads is: cell and node */
template <typename S>
struct StokesPlace {
  int cell[3], node[3];

  template <typename T>
  __device__ __forceinline__ StokesPlace(const StokesData<T> &d)
  {
    cell[0] = d.origin[0] + (int)blockIdx.x * S::PX;
    cell[1] = d.origin[1] + (int)blockIdx.y * S::PY;
    cell[2] = d.origin[2] + (int)blockIdx.z;
    node[0] = cell[0] * S::n;
    node[1] = cell[1] * S::n;
    node[2] = cell[2] * S::NZ;
  }
  /* the cell of a node of the tile, or of the one before it, in direction e */
  __device__ __forceinline__ int at(int e, int i) const { return cell[e] + (i + S::n) / S::n - 1; }
};

/* of inner tiles they are operands from the constant bank */
template <bool INNER, typename T>
__device__ __forceinline__ T StokesLength(const StokesData<T> &d, int e, int cell)
{
  return INNER ? d.length[e] : d.h[e][cell - d.origin[e] + 1];
}

/* numbers of component c in direction e */
template <bool INNER, typename T>
__device__ __forceinline__ const T *StokesNumbers(const StokesData<T> &d, int c, int e, int cell)
{
  return INNER ? d.number[c][e] : d.numbers[c][e] + (cell - d.origin[e] + 1) * (c == e ? STOKES_CELL : DG_CELL);
}

/* ---- lines and nodes of a part of the tile ---- */

/* the number of lines of cells in direction D, and f(i, j, k) for the first node of number t */
template <typename S, int D, typename Part>
struct StokesLines {
  static constexpr int A = D == 0 ? Part::hi1 - Part::lo1 : Part::hi0 - Part::lo0,
                       C = D == 0 ? (Part::hi0 - Part::lo0) / S::n : (Part::hi1 - Part::lo1) / (D == 1 ? S::n : 1);
  static constexpr int B = D == 2 ? 1 : S::NZ, COUNT = A * B * C;

  template <typename F>
  static __device__ __forceinline__ void at(int t, F f)
  {
    const int a = t % A, b = t / A % B, c = t / A / B;

    if (D == 0) f(Part::lo0 + c * S::n, Part::lo1 + a, b);
    else f(Part::lo0 + a, Part::lo1 + c * (D == 1 ? S::n : 1), b);
  }
  template <typename F>
  static __device__ __forceinline__ void each(F f)
  {
#pragma unroll 1 /* the kernel's instructions have to fit their cache */
    for (int t = threadIdx.x; t < COUNT; t += S::THREADS) at(t, f);
  }
};

/* the nodes of x in a part of the tile, zero where there are none, to shared memory of shape To, a thread a column.  No wait */
template <typename S, bool INNER, typename To, int LO0, int HI0, int LO1, int HI1, typename T>
__device__ __forceinline__ void StokesFetch(const StokesField &f, const StokesPlace<S> &place, const T *__restrict__ x, T *to)
{
  constexpr int A = HI0 - LO0, B = HI1 - LO1;
  const T      *all = x + f.xl.at(place.node[0], place.node[1], place.node[2]);
  const int     row = (int)f.xl.row, plane = (int)f.xl.plane;

#pragma unroll 1
  for (int t = threadIdx.x; t < A * B; t += S::THREADS) {
    const int i = LO0 + t % A, j = LO1 + t / A;
    T        *node = to + To::at(i, j, 0);
    const T  *from = all + (i + j * row);

#pragma unroll
    for (int k = 0; k < S::NZ; k++) {
      if (INNER || f.read.contains(place.node[0] + i, place.node[1] + j, place.node[2] + k))
        __pipeline_memcpy_async(node + k * To::template stride<2>, from + k * plane, sizeof(T));
      else node[k * To::template stride<2>] = 0;
    }
  }
}

/* ---- arithmetic of lines in the direction in which a component's cells share nodes ---- */

/* sum += row r of m v, v with n + 1 nodes */
template <typename T, int n>
__device__ __forceinline__ void StokesRow(const T *m, int r, const T v[n + 1], T &sum)
{
#pragma unroll
  for (int j = 0; j <= n; j++) sum += m[r * (n + 1) + j] * v[j];
}

/* a line of u, t and p, or of u and p, as functors of the number of a node, counted from the cell's first one */
template <typename U, typename W, typename P>
struct StokesLine {
  U u;
  W t;
  P p;
};

/* rows first .. last - 1 of w += A u + M t + g G' p in one cell, whose nodes begin at `at`; c and h: its numbers */
template <typename T, int K, typename Line>
__device__ __forceinline__ void StokesOwnCell(const StokesMatrices<T, K> &m, const T *__restrict__ c, T h, T g, const Line &line, int at,
                                              int first, int last, T *w)
{
  constexpr int n = K + 1;
  const T       a = c[STOKES_K], b = c[STOKES_M], gradient = h ? g : T(0); /* cells without a length do not exist */
  T             u[n + 1], t[n + 1];

#pragma unroll
  for (int l = 0; l <= n; l++) {
    const T v = line.u(at + l);

    u[l] = a * v;
    t[l] = b * v + h * line.t(at + l);
  }
#pragma unroll
  for (int r = 0; r <= n; r++) {
    if (r < first || r >= last) continue;
    StokesRow<T, n>(m.K1, r, u, w[r - first]);
    StokesRow<T, n>(m.M1, r, t, w[r - first]);
  }
#pragma unroll
  for (int l = 0; l < n; l++) {
    const T p = gradient * line.p(at + l);

#pragma unroll
    for (int r = 0; r <= n; r++)
      if (r >= first && r < last) w[r - first] += m.G[l * (n + 1) + r] * p;
  }
}

/* w = A u + M t + g G' p at the cell's own nodes, to the first of which the cell below adds */
template <bool INNER, typename T, int K, typename Line>
__device__ __forceinline__ void StokesOwnLine(const StokesMatrices<T, K> &m, const StokesData<T> &d, int c, int cell, const Line &line,
                                              T w[K + 1])
{
  constexpr int n = K + 1;

#pragma unroll
  for (int r = 0; r < n; r++) w[r] = 0;
  StokesOwnCell(m, StokesNumbers<INNER>(d, c, c, cell - 1), StokesLength<INNER>(d, c, cell - 1), d.gradient[c], line, -n, n, n + 1, w);
  StokesOwnCell(m, StokesNumbers<INNER>(d, c, c, cell), StokesLength<INNER>(d, c, cell), d.gradient[c], line, 0, 0, n, w);
}

/* v = M u, the same */
template <bool INNER, typename T, int K, typename U>
__device__ __forceinline__ void StokesMassLine(const StokesMatrices<T, K> &m, const StokesData<T> &d, int c, int cell, const U &u,
                                               T v[K + 1])
{
  constexpr int n     = K + 1;
  const T       h[2]  = {StokesLength<INNER>(d, c, cell - 1), StokesLength<INNER>(d, c, cell)};
  T             below = 0;

#pragma unroll
  for (int l = 0; l <= n; l++) below += m.M1[n * (n + 1) + l] * u(l - n);
#pragma unroll
  for (int r = 0; r < n; r++) v[r] = 0;
#pragma unroll
  for (int l = 0; l <= n; l++) {
    const T value = u(l);

#pragma unroll
    for (int r = 0; r < n; r++) v[r] += m.M1[r * (n + 1) + l] * value;
  }
#pragma unroll
  for (int r = 0; r < n; r++) v[r] = h[1] * v[r] + (r ? T(0) : h[0] * below);
}

/* q D u in a cell, to be multiplied by masses of the reference cell in all directions */
template <typename T, int K, typename U>
__device__ __forceinline__ void StokesDivergence(const StokesMatrices<T, K> &m, T q, const U &u, T div[K + 1])
{
  constexpr int n = K + 1;

#pragma unroll
  for (int r = 0; r < n; r++) div[r] = 0;
#pragma unroll
  for (int l = 0; l <= n; l++) {
    const T value = q * u(l);

#pragma unroll
    for (int r = 0; r < n; r++) div[r] += m.D[r * (n + 1) + l] * value;
  }
}

/*
  y = y0 + alpha A x for Stokes in 2D at degree 1, where lines of cells are so short that to find them costs more than to multiply: a
  thread has a cell in registers, one field after another.  The mathematics is that of operator_fast.cu:

    W = B_e u,   then with W of the cells beside in direction c   y_c = M_e (A_c u + M_c W + g G' p),   and the divergence is summed up

  A block of threads has ROWS rows of 32 cells; those at the four sides only help the others.  Lanes follow x, warps y.  What a cell needs
  of those beside it comes from the lanes beside in x.  In y it comes from global memory through L1, and through shared memory where it has
  been computed.
*/

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
