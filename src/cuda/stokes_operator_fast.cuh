/*
  y = y0 + alpha A x for Stokes in RT_k, DGQ_k: all fields of a tile of cells in one pass.

  Masses in directions where cells share no nodes stay in their cells.  Without them the component c of the velocity is

    y_c = M_e M_f ( A_c u + M_c (B_e + B_f) u + g_c G' p ),   B_e = M_e^{-1} A_e (dg_line.cuh),

  where A_c and M_c, stiffness and mass in its own direction, and G' couple a vertex's node to the cells above and below.  G' = D' M with D the derivative at
  the pressure's nodes, and y_p = M M M sum_c q_c D_c u_c.  Cells of all meshes differ by a few numbers, which are zero for cells that do not exist: ends of
  the box and graded meshes need nothing else.  Inner tiles, all of whose cells are alike and away from the ends, have these numbers as operands from the
  constant bank, and do not ask which nodes exist.

  Mapping: a block of threads takes a tile of PX x PY cells of one layer, and writes the nodes that these cells own, of a shared node's cells the upper one;
  what it needs of the cells beside it is computed twice.  A thread takes a line of a cell, n = k + 1 nodes; between the stages numbers are in shared
  memory: U the component with the cells beside the tile, W what becomes y, P the pressure with the cells below, Q the divergence.

    c = 0, 1   z  U = u, W = B_z u                     from global memory, and on the lines that 'own' reads beside the tile
               beside  W += B_e u                      e the other one of x and y
               own     W = A_c u + M_c W + g G' p, Q += q D u
               beside  W = M_e W
               z       y = M_z W
    c = 2      z  U = M_z u, W = A_z u + g G' p, Q += q D u        (the operators of different directions commute)
               y  W += B_y U          and Q = M_x Q
               x  W = M_x (W + B_x U) and Q = M_y Q
               y  y = M_y W           and y_p = M_z Q

  In 2D the layers of cells are one node thick, without the stages in z.  Lanes follow x, in x-lines y: rows have an odd pitch, there are no bank conflicts.

  Floors an unknown in 3D, double, H200: memory 24 B with y0, 5.7 ps; L2 about 4 words, 4 ps; 27 n + 45 products in four unknowns, 2 ps at k = 2, 3 at
  k = 5; shared memory about 17 words, 4 ps.
*/
#pragma once
#include "plan.cuh"
#include "terms_operator.cuh"
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
SHAPE(double, 1, 2, 16, 12, 3);
SHAPE(double, 2, 2, 10, 8, 3);
SHAPE(double, 3, 2, 8, 6, 3);
SHAPE(double, 4, 2, 8, 4, 3);
SHAPE(double, 5, 2, 6, 4, 2);
SHAPE(double, 6, 2, 6, 3, 2);
SHAPE(float, 1, 2, 16, 12, 3);
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
  using U = Part<-n, X + n, -n, Y + n>;
  using W = Part<-n, X + 1, -n, Y + 1>;
  using P = Part<-n, X, -n, Y>;
  using Q = Part<0, X, 0, Y>;
  static constexpr size_t SHARED = sizeof(T) * (U::SIZE + W::SIZE + P::SIZE + Q::SIZE);
};

template <typename T, int K>
struct StokesMatrices {
  static constexpr int  n = K + 1;
  DGLineMatrices<T, K>  d;
  T                     K1[(n + 1) * (n + 1)], M1[(n + 1) * (n + 1)], D[n * (n + 1)], G[n * (n + 1)];
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
  int         inner[3][2]; /* first cells of inner tiles: all nodes that they need and have exist, and all their cells have these numbers: */
  T           length[3], number[3][3][DG_CELL];
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
  static constexpr int A = D == 0 ? Part::hi1 - Part::lo1 : Part::hi0 - Part::lo0, C = D == 0 ? (Part::hi0 - Part::lo0) / S::n : (Part::hi1 - Part::lo1) / (D == 1 ? S::n : 1);
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
      if (INNER || f.read.contains(place.node[0] + i, place.node[1] + j, place.node[2] + k)) __pipeline_memcpy_async(node + k * To::template stride<2>, from + k * plane, sizeof(T));
      else node[k * To::template stride<2>] = 0;
    }
  }
}

/* a z-line of x, nodes counted from the cell's first */
template <typename T, bool INNER>
struct StokesColumn {
  const T *x;
  int      plane, lo, hi; /* nodes that exist */

  template <typename S>
  __device__ __forceinline__ StokesColumn(const StokesField &f, const StokesPlace<S> &place, const T *__restrict__ all, int i, int j)
  {
    const bool line = Inside(f.read, 0, place.node[0] + i) && Inside(f.read, 1, place.node[1] + j);

    x     = all + f.xl.at(place.node[0], place.node[1], place.node[2]) + (i + j * (int)f.xl.row);
    plane = (int)f.xl.plane;
    lo    = f.read.lo[2] - place.node[2];
    hi    = line ? f.read.hi[2] - place.node[2] : lo;
  }
  __device__ __forceinline__ T operator()(int l) const { return INNER || (l >= lo && l < hi) ? x[l * plane] : T(0); }
};

/* y = y0 + scale w on N nodes in direction D from a node of the tile on */
template <int D, int N, bool INNER, typename S, typename T>
__device__ __forceinline__ void StokesStore(const StokesField &f, const StokesPlace<S> &place, int i, int j, int k, T scale, const T w[N], const T *y0, T *y)
{
  constexpr int   a = D == 0, b = D == 2 ? 1 : 2;
  const int       node[3] = {place.node[0] + i, place.node[1] + j, place.node[2] + k}, stride = D == 0 ? 1 : (int)(D == 1 ? f.yl.row : f.yl.plane);
  const bool      rows    = Inside(f.write, a, node[a]) && Inside(f.write, b, node[b]);
  const ptrdiff_t at      = f.yl.at(place.node[0], place.node[1], place.node[2]) + (i + j * (int)f.yl.row + k * (int)f.yl.plane);
  auto            has     = [&](int l) { return INNER || Inside(f.store, D, node[D] + l); };
  T               old[N];

  if (!INNER && (!Inside(f.store, a, node[a]) || !Inside(f.store, b, node[b]))) return;
#pragma unroll
  for (int l = 0; l < N; l++) old[l] = y0 && has(l) ? y0[at + l * stride] : T(0);
#pragma unroll
  for (int l = 0; l < N; l++) {
    if (has(l)) y[at + l * stride] = old[l] + (INNER || (rows && Inside(f.write, D, node[D] + l)) ? scale * w[l] : T(0));
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
__device__ __forceinline__ void StokesOwnCell(const StokesMatrices<T, K> &m, const T *__restrict__ c, T h, T g, const Line &line, int at, int first, int last, T *w)
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
__device__ __forceinline__ void StokesOwnLine(const StokesMatrices<T, K> &m, const StokesData<T> &d, int c, int cell, const Line &line, T w[K + 1])
{
  constexpr int n = K + 1;

#pragma unroll
  for (int r = 0; r < n; r++) w[r] = 0;
  StokesOwnCell(m, StokesNumbers<INNER>(d, c, c, cell - 1), StokesLength<INNER>(d, c, cell - 1), d.gradient[c], line, -n, n, n + 1, w);
  StokesOwnCell(m, StokesNumbers<INNER>(d, c, c, cell), StokesLength<INNER>(d, c, cell), d.gradient[c], line, 0, 0, n, w);
}

/* v = M u, the same */
template <bool INNER, typename T, int K, typename U>
__device__ __forceinline__ void StokesMassLine(const StokesMatrices<T, K> &m, const StokesData<T> &d, int c, int cell, const U &u, T v[K + 1])
{
  constexpr int n = K + 1;
  const T       h[2] = {StokesLength<INNER>(d, c, cell - 1), StokesLength<INNER>(d, c, cell)};
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

/* ---- a block of threads ---- */

/* INNER: an inner tile */
template <typename T, int K, int DIM, bool INNER>
struct StokesBlock {
  using S                   = StokesTile<T, K, DIM>;
  static constexpr int n = S::n, NZ = S::NZ, X = S::X, Y = S::Y;
  using TileQ = typename S::Q;
  using PartU = typename S::U;
  using PartW = typename S::W;
  using PartP = typename S::P;

  const StokesMatrices<T, K> &m;
  const StokesData<T>        &d;
  const StokesPlace<S>        place;
  const T                    *x, *y0;
  T                          *y, *U, *W, *P, *Q, alpha;

  __device__ StokesBlock(const StokesMatrices<T, K> &m, const StokesData<T> &d, const StokesPlace<S> &place, T alpha, const T *x, const T *y0, T *y, T *shared) :
    m(m), d(d), place(place), x(x), y0(y0), y(y), U(shared), W(U + PartU::SIZE), P(W + PartW::SIZE), Q(P + PartP::SIZE), alpha(alpha)
  {
  }

  __device__ __forceinline__ T length(int e, int i) const { return e < DIM ? StokesLength<INNER>(d, e, place.at(e, i)) : T(1); }
  /* the product of the lengths of a node's cell, but for direction c */
  __device__ __forceinline__ T lengths(int c, int i, int j) const { return (c == 0 ? T(1) : length(0, i)) * (c == 1 ? T(1) : length(1, j)) * (c == 2 ? T(1) : length(2, 0)); }

  /* no row of the tile but zero rows */
  __device__ void zero()
  {
    const T w[n] = {};

    for (int f = 0; f <= DIM; f++) StokesLines<S, 2, TileQ>::each([&](int i, int j, int k) { StokesStore<2, NZ, INNER>(d.field[f], place, i, j, k, T(0), w, y0, y); });
  }
  __device__ __forceinline__ void all()
  {
    fetchP();
    fetchU<0>();
    __pipeline_commit();
    component<0>();
    component<1>();
    if constexpr (DIM == 3) last();
  }

  /* pressure of the tile and of the cells below it, whose corner nobody needs */
  __device__ __forceinline__ void fetchP()
  {
    StokesFetch<S, INNER, PartP, -n, X, 0, Y>(d.field[DIM], place, x, P);
    StokesFetch<S, INNER, PartP, 0, X, -n, 0>(d.field[DIM], place, x, P);
  }
  /* component c beside the tile; in 2D also in it */
  template <int C>
  __device__ __forceinline__ void fetchU()
  {
    if constexpr (DIM == 2) {
      if (C == 0) StokesFetch<S, INNER, PartU, -n, X + 1, -n, Y + n>(d.field[C], place, x, U);
      else StokesFetch<S, INNER, PartU, -n, X + n, -n, Y + 1>(d.field[C], place, x, U);
    } else if (C == 0) {
      StokesFetch<S, INNER, PartU, -n, X + 1, -n, 0>(d.field[C], place, x, U);
      StokesFetch<S, INNER, PartU, -n, X + 1, Y, Y + n>(d.field[C], place, x, U);
    } else {
      StokesFetch<S, INNER, PartU, -n, 0, -n, Y + 1>(d.field[C], place, x, U);
      StokesFetch<S, INNER, PartU, X, X + n, -n, Y + 1>(d.field[C], place, x, U);
    }
  }

  /* the part of the tile that has what component C needs in its own direction */
  template <int C>
  using Own = typename S::template Part<C == 0 ? -n : 0, X + (C == 0), C == 1 ? -n : 0, Y + (C == 1)>;

  /* U = u, W = B_z u */
  template <int C>
  __device__ __forceinline__ void penaltyZ()
  {
    StokesLines<S, 2, Own<C>>::each([&](int i, int j, int) {
      const StokesColumn<T, INNER> node(d.field[C], place, x, i, j);
      T                     u[n], w[n] = {};

#pragma unroll
      for (int l = 0; l < n; l++) u[l] = node(l);
      DGCellLine<T, K>(m.d, StokesNumbers<INNER>(d, C, 2, place.cell[2]), u, [&](int l) { return node(l - n); }, [&](int l) { return node(l + n); }, w);
#pragma unroll
      for (int l = 0; l < n; l++) {
        U[PartU::at(i, j, l)] = u[l];
        W[PartW::at(i, j, l)] = w[l];
      }
    });
  }

  /* W += B_E U, or W = M_E (W + B_E U), or, where there was nothing in W, W = B_E U */
  template <int C, int E, typename Part, bool NEW, bool MASS>
  __device__ __forceinline__ void penalty()
  {
    constexpr int su = PartU::template stride<E>, sw = PartW::template stride<E>;

    StokesLines<S, E, Part>::each([&](int i, int j, int k) {
      const T *from = U + PartU::at(i, j, k);
      T       *to   = W + PartW::at(i, j, k), u[n], w[n], v[n];

#pragma unroll
      for (int l = 0; l < n; l++) {
        u[l] = from[l * su];
        w[l] = NEW ? T(0) : to[l * sw];
      }
      DGCellLine<T, K>(m.d, StokesNumbers<INNER>(d, C, E, place.at(E, E ? j : i)), u, [=](int l) { return from[(l - n) * su]; }, [=](int l) { return from[(l + n) * su]; }, w);
      if (MASS) DGMassLine<T, n>(m.d.M, w, v);
#pragma unroll
      for (int l = 0; l < n; l++) to[l * sw] = MASS ? v[l] : w[l];
    });
  }

  /* W = A u + M W + g G' p, Q += q D u, C < 2.  The next component's nodes are asked for when nobody reads this one's any more */
  template <int C>
  __device__ __forceinline__ void own()
  {
    using Lines      = StokesLines<S, C, TileQ>;
    constexpr int su = PartU::template stride<C>, sw = PartW::template stride<C>, sp = PartP::template stride<C>, sq = TileQ::template stride<C>;
    const bool    mine = threadIdx.x < Lines::COUNT;
    T             w[n], *to = NULL;

    static_assert(Lines::COUNT <= S::THREADS, "a line a thread");
    if (mine) {
      Lines::at(threadIdx.x, [&](int i, int j, int k) {
        const T *u = U + PartU::at(i, j, k), *p = P + PartP::at(i, j, k);
        T       *q = Q + TileQ::at(i, j, k), div[n];
        auto     line = [=](int l) { return u[l * su]; };

        to = W + PartW::at(i, j, k);
        const T *t = to;
        auto     sum = [=](int l) { return t[l * sw]; };
        auto     pressure = [=](int l) { return p[l * sp]; };

        StokesOwnLine<INNER, T, K>(m, d, C, place.at(C, C ? j : i), StokesLine<decltype(line), decltype(sum), decltype(pressure)>{line, sum, pressure}, w);
        StokesDivergence<T, K>(m, d.divergence[C] * lengths(C, i, j), line, div);
#pragma unroll
        for (int l = 0; l < n; l++) q[l * sq] = (C ? q[l * sq] : T(0)) + div[l];
      });
    }
    __syncthreads();
    if constexpr (C == 0) {
      fetchU<1>();
      __pipeline_commit();
    }
    if (mine) {
#pragma unroll
      for (int l = 0; l < n; l++) to[l * sw] = w[l];
    }
  }

  /* V = M_E V on the tile, V in shared memory of shape Part */
  template <int E, typename Part>
  __device__ __forceinline__ void mass(T *V)
  {
    constexpr int s = Part::template stride<E>;

    StokesLines<S, E, TileQ>::each([&](int i, int j, int k) {
      T *at = V + Part::at(i, j, k), w[n], v[n];

#pragma unroll
      for (int l = 0; l < n; l++) w[l] = at[l * s];
      DGMassLine<T, n>(m.d.M, w, v);
#pragma unroll
      for (int l = 0; l < n; l++) at[l * s] = v[l];
    });
  }

  /* y = M_E V for the rows of field F, scaled by the lengths of the cells but in direction C (-1: those that the divergence has are in it) */
  template <int E, int F, typename Part>
  __device__ __forceinline__ void store(const T *V)
  {
    constexpr int s = Part::template stride<E>, N = E == 2 ? NZ : n;

    StokesLines<S, E, TileQ>::each([&](int i, int j, int k) {
      const T *at = V + Part::at(i, j, k);
      T        w[n], v[n];

#pragma unroll
      for (int l = 0; l < N; l++) w[l] = at[l * s];
      if (N > 1) DGMassLine<T, n>(m.d.M, w, v);
      StokesStore<E, N, INNER>(d.field[F], place, i, j, k, F == DIM ? alpha : alpha * lengths(F, i, j), N > 1 ? v : w, y0, y);
    });
  }

  /* the components 0 and 1 */
  template <int C>
  __device__ __forceinline__ void component()
  {
    if constexpr (DIM == 3) penaltyZ<C>();
    __pipeline_wait_prior(0);
    __syncthreads();
    penalty<C, 1 - C, Own<C>, DIM == 2, false>();
    __syncthreads();
    own<C>();
    __syncthreads();
    mass<1 - C, PartW>(W);
    if constexpr (DIM == 2 && C == 1) mass<0, TileQ>(Q);
    __syncthreads();
    store<2, C, PartW>(W);
    if constexpr (DIM == 2 && C == 1) store<1, 2, TileQ>(Q);
    else __syncthreads();
  }

  /* U = M_z u, W = A_z u + g G' p, Q += q D u, and U beside the tile */
  __device__ __forceinline__ void ownZ()
  {
    auto nothing = [](int) { return T(0); };

    StokesLines<S, 2, TileQ>::each([&](int i, int j, int) {
      const StokesColumn<T, INNER> node(d.field[2], place, x, i, j), p(d.field[3], place, x, i, j);
      T                        u[2 * n + 1], v[n], w[n], div[n];

#pragma unroll
      for (int l = 0; l <= 2 * n; l++) u[l] = node(l - n);
      auto line = [&](int l) { return u[l + n]; };
      StokesOwnLine<INNER, T, K>(m, d, 2, place.cell[2], StokesLine<decltype(line), decltype(nothing), StokesColumn<T, INNER>>{line, nothing, p}, w);
      StokesMassLine<INNER, T, K>(m, d, 2, place.cell[2], line, v);
      StokesDivergence<T, K>(m, d.divergence[2] * lengths(2, i, j), line, div);
#pragma unroll
      for (int l = 0; l < n; l++) {
        U[PartU::at(i, j, l)] = v[l];
        W[PartW::at(i, j, l)] = w[l];
        Q[TileQ::at(i, j, l)] += div[l];
      }
    });
    besideZ<typename S::template Part<-n, 0, 0, Y>>();
    besideZ<typename S::template Part<X, X + n, 0, Y>>();
    besideZ<typename S::template Part<0, X, -n, 0>>();
    besideZ<typename S::template Part<0, X, Y, Y + n>>();
  }
  template <typename Part>
  __device__ __forceinline__ void besideZ()
  {
    StokesLines<S, 2, Part>::each([&](int i, int j, int) {
      const StokesColumn<T, INNER> node(d.field[2], place, x, i, j);
      T                     v[n];

      StokesMassLine<INNER, T, K>(m, d, 2, place.cell[2], node, v);
#pragma unroll
      for (int l = 0; l < n; l++) U[PartU::at(i, j, l)] = v[l];
    });
  }

  /* the last component and the pressure, in 3D */
  __device__ __forceinline__ void last()
  {
    ownZ();
    __syncthreads();
    penalty<2, 1, TileQ, false, false>();
    mass<0, TileQ>(Q);
    __syncthreads();
    penalty<2, 0, TileQ, false, true>();
    mass<1, TileQ>(Q);
    __syncthreads();
    store<1, 2, PartW>(W);
    store<2, 3, TileQ>(Q);
  }
};

template <typename T, int K, int DIM>
__launch_bounds__(StokesTile<T, K, DIM>::THREADS, StokesTile<T, K, DIM>::BLOCKS) static __global__
void StokesKernel(const __grid_constant__ StokesMatrices<T, K> m, const __grid_constant__ StokesData<T> d, T alpha, const T *__restrict__ x, const T *y0, T *y)
{
  extern __shared__ double2 stokes_shared[];
  const StokesPlace<StokesTile<T, K, DIM>> place(d);
  bool                      inner = true, empty = false;

  for (int e = 0; e < DIM; e++) {
    inner = inner && place.cell[e] >= d.inner[e][0] && place.cell[e] < d.inner[e][1];
    empty = empty || place.cell[e] > d.end[e] || (place.cell[e] == d.end[e] && !d.closing[e]);
  }
  if (inner) StokesBlock<T, K, DIM, true>(m, d, place, alpha, x, y0, y, (T *)stokes_shared).all();
  else {
    StokesBlock<T, K, DIM, false> block(m, d, place, alpha, x, y0, y, (T *)stokes_shared);

    if (empty) block.zero();
    else block.all();
  }
}

/* ---- how the generic part calls it ---- */

template <typename T, int K, int DIM>
struct StokesDegree : StokesFast {
  using S = StokesTile<T, K, DIM>;
  StokesMatrices<T, K> m;
  StokesData<T>        d;
  dim3                 grid;
  PlanMemory           memory;

  PetscErrorCode create(const StokesForm *form)
  {
    const int size[3] = {S::PX, S::PY, 1};
    int       tiles[3];

    PetscFunctionBegin;
    m.d.create(form->cell);
    std::copy(form->K.begin(), form->K.end(), m.K1);
    std::copy(form->M.begin(), form->M.end(), m.M1);
    std::copy(form->D.begin(), form->D.end(), m.D);
    std::copy(form->G.begin(), form->G.end(), m.G);
    for (int f = 0; f <= DIM; f++) fields(form, f);
    for (int e = 0; e < 3; e++) {
      const int n = e < DIM ? S::n : 1;
      int       lo = d.field[0].store.lo[e], hi = d.field[0].store.hi[e];

      for (int f = 1; f <= DIM; f++) {
        lo = PetscMin(lo, d.field[f].store.lo[e]);
        hi = PetscMax(hi, d.field[f].store.hi[e]);
      }
      d.origin[e] = lo / n;
      tiles[e]    = ((hi + n - 1) / n - d.origin[e] + size[e] - 1) / size[e];
      d.end[e]    = (int)form->cells[e][1];
      if (e >= DIM) continue;
      d.closing[e]    = d.field[e].write.hi[e] > d.end[e] * n;
      d.gradient[e]   = (T)form->gradient[e];
      d.divergence[e] = (T)form->divergence[e];
      PetscCall(upload(form, e, form->h[e], 1, tiles[e] * size[e], &d.h[e]));
      for (int c = 0; c < DIM; c++) PetscCall(upload(form, e, form->numbers[c][e], c == e ? STOKES_CELL : DG_CELL, tiles[e] * size[e], &d.numbers[c][e]));
    }
    for (int e = 0; e < DIM; e++) inner(form, e, size[e]);
    grid = dim3(tiles[0], tiles[1], tiles[2]);
    PetscCall(AllowShared(StokesKernel<T, K, DIM>, S::SHARED));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* inner tiles of `size` cells in direction e: the cells around the middle one that are like it, as far as all nodes exist in all fields */
  void inner(const StokesForm *form, int e, int size)
  {
    const int first = (int)form->cells[e][0], end = (int)form->cells[e][1], middle = (first + end) / 2;
    int       lo = middle, hi = middle;
    auto      same = [&](const std::vector<PetscReal> &v, int cell) {
      const size_t count = v.size() / form->h[e].size();

      return std::equal(v.begin() + cell * count, v.begin() + (cell + 1) * count, v.begin() + middle * count);
    };
    auto alike = [&](int cell) {
      bool is = same(form->h[e], cell);

      for (int c = 0; c < DIM; c++) is = is && same(form->numbers[c][e], cell);
      return is;
    };

    while (lo > first && alike(lo - 1)) lo--;
    while (hi < end && alike(hi)) hi++;
    lo++; /* what a tile needs begins a cell before it */
    hi -= size;
    for (int f = 0; f <= DIM; f++) {
      const StokesField &field = d.field[f];
      const int          has = PetscMax(field.write.lo[e], field.store.lo[e]), ends = PetscMin(field.write.hi[e], field.store.hi[e]);

      lo = PetscMax(lo, PetscMax((has + S::n - 1) / S::n, (field.read.lo[e] + S::n - 1) / S::n + 1));
      hi = PetscMin(hi, PetscMin(ends / S::n - size, field.read.hi[e] / S::n - size - 1));
    }
    d.inner[e][0] = lo;
    d.inner[e][1] = hi + 1;
    if (middle >= end) d.inner[e][1] = lo; /* no cells */
    else {
      d.length[e] = (T)form->h[e][middle];
      for (int c = 0; c < DIM; c++) {
        const int count = c == e ? (int)STOKES_CELL : (int)DG_CELL;

        std::copy_n(form->numbers[c][e].begin() + middle * count, count, d.number[c][e]);
      }
    }
  }

  void fields(const StokesForm *form, int f)
  {
    const PatchFDField *from = form->field + f;
    StokesField        *to   = d.field + f;

    to->xl = Layout(from->xbox);
    to->yl = Layout(from->ybox);
    to->xl.offset += (ptrdiff_t)from->x0;
    to->yl.offset += (ptrdiff_t)from->y0;
    for (int e = 0; e < 3; e++) {
      const int n = e < DIM ? S::n : 1;

      to->store.lo[e] = (int)from->ybox.lo[e];
      to->store.hi[e] = (int)(from->ybox.lo[e] + from->ybox.n[e]);
      to->read.lo[e]  = (int)PetscMax(from->read[e][0], from->xbox.lo[e]);
      to->read.hi[e]  = (int)PetscMin(from->read[e][1], from->xbox.lo[e] + from->xbox.n[e]);
      to->write.lo[e] = (int)PetscMax(from->write[e][0], form->cells[e][0] * n);
      to->write.hi[e] = (int)PetscMin(from->write[e][1], form->cells[e][1] * n + (f == e));
    }
  }

  /* `size` numbers of each of the cells from the one before the first tile on, zero for those that are not to be visited */
  PetscErrorCode upload(const StokesForm *form, int e, const std::vector<PetscReal> &numbers, int size, int count, const T **to)
  {
    std::vector<PetscReal> v((size_t)(count + 1) * size);
    T                     *device;

    PetscFunctionBegin;
    for (int i = 0; i <= count; i++) {
      const int c = d.origin[e] - 1 + i;

      if (c >= form->cells[e][0] && c < form->cells[e][1]) std::copy_n(numbers.begin() + (size_t)c * size, size, v.begin() + (size_t)i * size);
    }
    PetscCall(memory.upload(v.size(), v.data(), &device));
    *to = device;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    if (!grid.x || !grid.y || !grid.z) PetscFunctionReturn(PETSC_SUCCESS); /* no nodes here */
    StokesKernel<T, K, DIM><<<grid, S::THREADS, S::SHARED, stream>>>(m, d, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode destroy() override { return memory.free(); }
};

template <typename T, int DIM>
PetscErrorCode StokesFastCreate(const StokesForm *form, StokesFast **fast)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, stokes_fast_degrees>(form->degree, [&](auto degree) {
    StokesDegree<T, degree, DIM> *p = new StokesDegree<T, degree, DIM>();

    PetscFunctionBegin;
    *fast = p;
    PetscCall(p->create(form));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
