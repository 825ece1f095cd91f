/* what operator_fast.cu computes with: tiles, the numbers of cells, lines and nodes of parts of a tile, and the arithmetic of a
   line */
#pragma once
#include "base/plan.cuh"
#include "terms/operator.cuh"
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

} // namespace patchfd
