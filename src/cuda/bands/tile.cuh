/* what the stages of operator_fast.cu have in common (stages.cuh): tiles, the numbers of cells, places and parts of a line */
#pragma once
#include "bands/operator.cuh"
#include "base/dispatch.cuh"
#include "base/march.cuh"
#include "base/plan.cuh"

namespace patchfd
{

/* what the lines of stage 2 take: multiples of M P_B, M P_M, H P_M and K P_K in Q_M, of M P_K and K P_M in Q_K, of M P_M in Q_B; the ends
   of B as above */
enum {
  MIX_MB,
  MIX_MM,
  MIX_HM,
  MIX_KK,
  MIX_MK,
  MIX_KM,
  MIX_B,
  MIX_END,
  MIX_CELL = RoundUp(MIX_END + 2 * BAND_PER_END, 2) /* so that lanes do not meet in one bank of shared memory */
};

/* in 2D direction 2 is y, and direction 1 has one node */
struct BandGeometry {
  int    cell0[3];      /* the first cell of the first tile */
  int    number0[3];    /* the cell with the first numbers */
  int    layers, chunk; /* of all marches together and of each */
  Layout xl, yl;
  Range  read, write, store; /* nodes of x that are not zero, rows that are not zero, all of y */
};

template <typename T, int K>
struct BandMatrices {
  static constexpr int N = K + 1, H = (N + 1) / 2;
  T                    mass[H * N], stiff[H * N], bend[H * N], g[N], b[N]; /* for split lines */
  T                    mass0[N], stiff0[N], bend0[N], g0[N], b0[N];        /* first rows, and functionals of the lower end */

  void create(const CellReference &r)
  {
    Mirror<T, N>::fold(r.M.data(), mass);
    Mirror<T, N>::fold(r.K.data(), stiff);
    Mirror<T, N>::fold(r.H.data(), bend);
    Mirror<T, N>::foldrow(r.g.data(), g);
    Mirror<T, N>::foldrow(r.b.data(), b);
    for (int j = 0; j < N; j++) {
      mass0[j]  = (T)r.M[j];
      stiff0[j] = (T)r.K[j];
      bend0[j]  = (T)r.H[j];
      g0[j]     = (T)r.g[j];
      b0[j]     = (T)r.b[j];
    }
  }
};

/*
  By precision, degree and dimension: lanes C, cells R in y, least number B of resident blocks of threads, buffers in shared memory (two
  save a barrier), LATE.  For all nodes, and for the patches of a colour, two cells a direction
*/
template <typename T, int K, int DIM, bool COLOR>
struct BandTile;
#define TILE(T, K, DIM, COLOR, c, r, b, buffers, late) \
  template <> \
  struct BandTile<T, K, DIM, COLOR> { \
    static constexpr int  C = c, R = r, B = b, BUFFERS = buffers; \
    static constexpr bool LATE = late; \
  }
TILE(double, 2, 3, false, 16, 2, 4, 2, false);
TILE(double, 3, 3, false, 8, 2, 3, 2, false);
TILE(double, 4, 3, false, 8, 2, 2, 2, true);
TILE(double, 5, 3, false, 8, 1, 1, 2, false);
TILE(double, 6, 3, false, 6, 1, 1, 2, true);
TILE(double, 7, 3, false, 5, 1, 1, 2, true);
TILE(double, 8, 3, false, 4, 1, 1, 2, true);
TILE(float, 2, 3, false, 16, 2, 4, 2, false);
TILE(float, 3, 3, false, 8, 3, 5, 2, false);
TILE(float, 4, 3, false, 16, 1, 2, 2, false);
TILE(float, 5, 3, false, 8, 1, 2, 2, false);
TILE(float, 6, 3, false, 4, 1, 3, 1, true);
TILE(float, 7, 3, false, 5, 1, 1, 2, true);
TILE(float, 8, 3, false, 4, 1, 1, 2, true);
TILE(double, 2, 2, false, 32, 1, 8, 2, false);
TILE(double, 3, 2, false, 32, 1, 6, 2, false);
TILE(double, 4, 2, false, 32, 1, 4, 2, false);
TILE(double, 5, 2, false, 32, 1, 3, 2, false);
TILE(double, 6, 2, false, 32, 1, 2, 2, false);
TILE(double, 7, 2, false, 32, 1, 2, 2, false);
TILE(double, 8, 2, false, 32, 1, 2, 2, false);
TILE(float, 2, 2, false, 32, 1, 8, 2, false);
TILE(float, 3, 2, false, 32, 1, 6, 2, false);
TILE(float, 4, 2, false, 32, 1, 6, 2, false);
TILE(float, 5, 2, false, 32, 1, 4, 2, false);
TILE(float, 6, 2, false, 32, 1, 4, 2, false);
TILE(float, 7, 2, false, 32, 1, 3, 2, false);
TILE(float, 8, 2, false, 32, 1, 3, 2, false);
TILE(double, 2, 3, true, 16, 2, 6, 2, false);
TILE(double, 3, 3, true, 8, 2, 4, 2, false);
TILE(double, 4, 3, true, 8, 2, 2, 2, false);
TILE(double, 5, 3, true, 4, 2, 2, 2, false);
TILE(double, 6, 3, true, 4, 2, 1, 2, false);
TILE(double, 7, 3, true, 4, 2, 1, 1, true);
TILE(double, 8, 3, true, 2, 2, 1, 1, true);
TILE(float, 2, 3, true, 16, 2, 8, 2, false);
TILE(float, 3, 3, true, 8, 2, 5, 2, false);
TILE(float, 4, 3, true, 8, 2, 3, 2, false);
TILE(float, 5, 3, true, 4, 2, 3, 2, false);
TILE(float, 6, 3, true, 4, 2, 2, 2, false);
TILE(float, 7, 3, true, 4, 2, 1, 2, true);
TILE(float, 8, 3, true, 4, 2, 1, 2, true);
TILE(double, 2, 2, true, 32, 1, 8, 2, false);
TILE(double, 3, 2, true, 32, 1, 6, 2, false);
TILE(double, 4, 2, true, 32, 1, 4, 2, false);
TILE(double, 5, 2, true, 32, 1, 3, 2, false);
TILE(double, 6, 2, true, 32, 1, 2, 2, false);
TILE(double, 7, 2, true, 32, 1, 2, 2, false);
TILE(double, 8, 2, true, 32, 1, 2, 2, false);
TILE(float, 2, 2, true, 32, 1, 8, 2, false);
TILE(float, 3, 2, true, 32, 1, 6, 2, false);
TILE(float, 4, 2, true, 32, 1, 6, 2, false);
TILE(float, 5, 2, true, 32, 1, 4, 2, false);
TILE(float, 6, 2, true, 32, 1, 4, 2, false);
TILE(float, 7, 2, true, 32, 1, 3, 2, false);
TILE(float, 8, 2, true, 32, 1, 3, 2, false);
#undef TILE

/*
  LOW: cells below the tile that are computed for the nodes that they share with it; a tile of patches does not need these nodes.  ROWS and
  XLINES: nodes of the tile in y and x that results are wanted at
*/
template <typename T, int K, int DIM, bool COLOR>
struct BandSizes {
  using Tile               = BandTile<T, K, DIM, COLOR>;
  static constexpr int LOW = COLOR ? 0 : 1, N = K + 1, H = (N + 1) / 2, C = Tile::C, Q = C - LOW, R = Tile::R;
  static constexpr int wanted(int cells) { return COLOR ? cells / 2 * (2 * K - 1) : cells * K; }
  /* of wanted nodes, and back; the boundary of a patch is not wanted */
  __host__ __device__ static constexpr int  number(int node) { return COLOR ? node - 1 - node / (2 * K) : node; }
  __host__ __device__ static constexpr int  node(int number) { return COLOR ? number + 1 + number / (2 * K - 1) : number; }
  __host__ __device__ static constexpr bool wants(int node) { return !COLOR || node % (2 * K); }

  static constexpr int  ROWS = DIM == 3 ? wanted(R) : 1, XLINES = wanted(Q);
  static constexpr int  NP = (C + 2) * K + 1, NX = C * K + 1; /* columns, with the cells beside those that are computed and without */
  static constexpr int  GROUPS = 32 / C, LINES1 = NP * K, WARPS2 = (ROWS * K + GROUPS - 1) / GROUPS, LINES3 = XLINES * ROWS;
  static constexpr int  max(int a, int b) { return a < b ? b : a; }
  static constexpr int  THREADS = RoundUp(max(DIM == 3 ? LINES1 : 1, max(32 * WARPS2, LINES3)), 32);
  static constexpr bool LATE    = Tile::LATE;
  /* values of x that a thread has at a time; in 3D the first own one */
  static constexpr int OWN = (LOW + 1) * K, FETCH = DIM == 3 ? OWN + (R + 1) * K + 1 : (LINES1 + THREADS - 1) / THREADS;

  static constexpr bool PAD = 128 / sizeof(T) % K == 0 && (K % 4 == 0 || C > 8);
  using Row                 = SharedRow<T, C, K, PAD>;
  __host__ __device__ static constexpr int at(int e) { return Row::at(e); }
  /* at(cell * K + j) for j <= K, where padding is never within a cell */
  __host__ __device__ static constexpr int at(int cell, int j) { return j < K ? at(cell * K) + j : at((cell + 1) * K); }
  /* of P_M, of the others; numbers of a step */
  static constexpr int    PITCHM = Row::pitch(NP), PITCH = Row::pitch(NX), STEP = ROWS * K * (PITCHM + 2 * PITCH);
  static constexpr int    NUMBERS = C * MIX_CELL + (DIM == 3 ? (R + LOW) * BAND_CELL : 0);
  static constexpr size_t SHARED  = (Tile::BUFFERS * STEP + NUMBERS) * sizeof(T);

  static_assert(!COLOR || (Q % 2 == 0 && (DIM == 2 || R % 2 == 0)), "tiles of whole patches");
};

/* first derivatives, inward, and second derivatives at the lower and upper end of a cell; and what g and b of its ends are multiplied with
   */
template <typename T>
struct Ends {
  T g[2], b[2];
};

/* of the values v of a cell, split */
template <typename T, int K>
__device__ __forceinline__ Ends<T> EndsOf(const BandMatrices<T, K> &m, const T v[K + 1])
{
  using S   = Mirror<T, K + 1>;
  Ends<T> e = {{0, 0}, {0, 0}};

  S::add(m.g, v, 0, e.g[0], e.g[1]);
  S::add(m.b, v, 0, e.b[0], e.b[1]);
  S::split(e.g[0], e.g[1]);
  S::split(e.b[0], e.b[1]);
  return e;
}

/* of one end only; value(i): in the order of the distance from the end */
template <typename T, int K, typename Value>
__device__ __forceinline__ void EndOf(const BandMatrices<T, K> &m, Value value, T &g, T &b)
{
  g = b = 0;
#pragma unroll
  for (int i = 0; i <= K; i++) {
    const T v = value(i);

    g += m.g0[i] * v;
    b += m.b0[i] * v;
  }
}

/* a cell's part of the weight of its end e; what the cell beside it adds: the numbers of that end, and the other cell's derivatives there
   */
template <typename T>
__device__ __forceinline__ void AddOwn(const T *end, const Ends<T> &own, int e, Ends<T> &w)
{
  w.g[e] = end[BAND_GG] * own.g[e] + end[BAND_GB] * own.b[e];
  w.b[e] = end[BAND_GB] * own.g[e];
}

template <typename T>
__device__ __forceinline__ void AddBeside(const T *end, T g, T b, int e, Ends<T> &w)
{
  w.g[e] += end[BAND_P] * g + end[BAND_Q] * b;
  w.b[e] += end[BAND_R] * g;
}

/* both ends */
template <typename T>
__device__ __forceinline__ Ends<T> Weights(const T *ends, const Ends<T> &own, T belowg, T belowb, T aboveg, T aboveb)
{
  Ends<T> w;

  AddOwn(ends, own, 0, w);
  AddOwn(ends + BAND_PER_END, own, 1, w);
  AddBeside(ends, belowg, belowb, 0, w);
  AddBeside(ends + BAND_PER_END, aboveg, aboveb, 1, w);
  return w;
}

/* rows r and K - r of g and b times the weights of both ends, which are split */
template <typename T, int K>
__device__ __forceinline__ void AddEnds(const BandMatrices<T, K> &m, const Ends<T> &w, int r, T &lo, T &hi)
{
  lo += m.g[r] * w.g[0] + m.b[r] * w.b[0];
  if (r < (K + 1) / 2) hi += m.g[K - r] * w.g[1] + m.b[K - r] * w.b[1];
}

template <typename T>
__device__ __forceinline__ void SplitEnds(Ends<T> &w)
{
  Mirror<T, 2>::split(w.g[0], w.g[1]);
  Mirror<T, 2>::split(w.b[0], w.b[1]);
}

} // namespace patchfd
