/* Of the march (march.cu) the cells: their matrices, the products with a line, where a block of threads is, and the first stage */
#pragma once
#include "base/dispatch.cuh"
#include "base/march.cuh"
#include "operator/operator.cuh"

namespace patchfd
{

struct OperatorGeometry {
  int        origin[3], end[3][2]; /* where the first tile begins; first and last node of the cells */
  int        planes, chunk;        /* of all marches together and of each, in units of L */
  RingLayout xl;
  Layout     yl;
  Range      read, write, store; /* nodes of x that are not zero, rows that are not zero, all of y */
};

template <typename T, int N, bool BY_PLACE>
struct CellMatrices {
  T M[3][N * N], A[3][N * N];
};
template <typename T, int N>
struct CellMatrices<T, N, true> {
  T                   M[3][N * N], A[3][N * N];
  const CellScale<T> *scale[3]; /* in device memory; the first block of cells is that before the first tile */
};

/* is there a cell of degree K with both nodes? */
template <int K>
__host__ __device__ constexpr bool Couples(int i, int j)
{
  return (i < j ? j : i) <= ((i < j ? i : j) / K + 1) * K;
}

/*
  By precision and degree, up to 8 as measured on an H200: cells R of a block of cells, lanes C, least number B of resident blocks of
  threads, and whether registers are so short that x is loaded LATE.
*/
template <typename T, int K>
struct Tile;
#define TILE(T, K, r, c, b, late) \
  template <> \
  struct Tile<T, K> { \
    static constexpr int  R = r, C = c, B = b; \
    static constexpr bool LATE = late; \
  }
TILE(double, 1, 6, 8, 2, false);
TILE(double, 2, 2, 16, 3, false);
TILE(double, 3, 1, 16, 5, false);
TILE(double, 4, 1, 8, 4, false);
TILE(double, 5, 1, 8, 3, false);
TILE(double, 6, 1, 8, 2, true);
TILE(double, 7, 1, 4, 2, false);
TILE(double, 8, 1, 8, 1, true);
TILE(double, 9, 1, 4, 1, true);
TILE(double, 10, 1, 4, 1, true);
TILE(double, 11, 1, 4, 1, true);
TILE(double, 12, 1, 4, 1, true);
TILE(float, 1, 6, 8, 4, false);
TILE(float, 2, 3, 8, 4, false);
TILE(float, 3, 2, 8, 4, false);
TILE(float, 4, 2, 8, 2, false);
TILE(float, 5, 1, 8, 5, false);
TILE(float, 6, 1, 8, 3, false);
TILE(float, 7, 1, 4, 4, true);
TILE(float, 8, 1, 8, 2, false);
TILE(float, 9, 1, 4, 2, true);
TILE(float, 10, 1, 4, 2, true);
TILE(float, 11, 1, 4, 1, true);
TILE(float, 12, 1, 4, 1, true);
#undef TILE

/* sizes, and the arithmetic of a line */
template <typename T, int K, bool PLACE>
struct March {
  using Tile              = patchfd::Tile<T, K>;
  static constexpr int  R = Tile::R, C = Tile::C, L = K * R, N = L + 1, H = (N + 1) / 2, Q = C - 1, NX = K + Q * L + 1; /* NX nodes in x */
  static constexpr int  LINES1 = NX * L, LINES2 = C * L * L, LINES3 = Q * L * L, THREADS = RoundUp(LINES1 > LINES2 ? LINES1 : LINES2, 32);
  static constexpr bool PARITY = R == 1, LATE = Tile::LATE;

  using Row = SharedRow<T, C, L, L % 4 == 0 && 128 / sizeof(T) % L == 0>; /* blocks lie in one piece */
  __host__ __device__ static constexpr int at(int e) { return Row::at(e); }
  static constexpr int                     ROW = Row::pitch(C * L + 1), PLANE = L * ROW;
  static constexpr size_t                  SHARED = 4 * sizeof(T) * L * PLANE;

  /* the matrix of a block from that of a cell, for add() below; where its first row is */
  static constexpr int FIRST = PARITY ? H * N : 0;
  static void          matrix(const PetscReal *cell, T *m)
  {
    PetscReal b[N][N] = {{0}};

    for (int c = 0; c < R; c++)
      for (int i = 0; i <= K; i++)
        for (int j = 0; j <= K; j++) b[c * K + i][c * K + j] += cell[i * (K + 1) + j];
    if (PARITY) Mirror<T, N>::fold(b[0], m);
    else if (PLACE) std::copy(cell, cell + (K + 1) * (K + 1), m);
    else std::copy(b[0], b[H], m);
    for (int j = 0; j < N && (PARITY || !PLACE); j++) m[FIRST + j] = (T)b[0][j];
  }

  /* mirror symmetry, but for R > 1, where the zeros save as much */
  static __device__ void split(T &lo, T &hi)
  {
    if constexpr (PARITY) Mirror<T, N>::split(lo, hi);
  }
  static __device__ void split(T v[N])
  {
    if constexpr (PARITY) Mirror<T, N>::split(v);
  }
  static __device__ T entry(const T v[N], int c)
  {
    if constexpr (PARITY) return Mirror<T, N>::entry(v, c);
    else return v[c];
  }
  /* rows r and L - r of m v */
  static __device__ void add(const T *m, const T v[N], int r, T &lo, T &hi)
  {
    if constexpr (PARITY) Mirror<T, N>::add(m, v, r, lo, hi);
    else {
#pragma unroll
      for (int c = 0; c < N; c++) {
        if (Couples<K>(r, c)) lo += m[r * N + c] * v[c];
        if (Couples<K>(r, L - c) && r < N / 2) hi += m[r * N + L - c] * v[c];
      }
    }
  }

  /*
    By place: for each cell of the block with row r, f(lo, hi, rows): rows[i] are the rows r and L - r of m[i] v[i] within the cells `lo`
    and `hi`, where v[i] is split
  */
  template <int COUNT, typename F>
  static __device__ __forceinline__ void products(const T *const (&m)[COUNT], const T *const (&v)[COUNT], int r, F f)
  {
#pragma unroll
    for (int cell = 0; cell < R; cell++) {
      T rows[COUNT][2];

      if (r < cell * K || r > cell * K + K) continue;
#pragma unroll
      for (int i = 0; i < COUNT; i++) {
        rows[i][0] = rows[i][1] = 0;
        if constexpr (PARITY) {
          Mirror<T, N>::add(m[i], v[i], r, rows[i][0], rows[i][1]);
          if (r < N / 2) split(rows[i][0], rows[i][1]);
        } else {
#pragma unroll
          for (int j = 0; j <= K; j++) { /* a cell looks the same from the other end */
            rows[i][0] += m[i][(r - cell * K) * (K + 1) + j] * v[i][cell * K + j];
            if (r < N / 2) rows[i][1] += m[i][(r - cell * K) * (K + 1) + j] * v[i][L - cell * K - j];
          }
        }
      }
      f(cell, R - 1 - cell, rows);
    }
  }
};

/* where a block of threads is: the first node of its tile, and the steps of its march but the one before it and the one after it */
template <typename S>
struct MarchPlace {
  int i, j, k, steps;

  __device__ MarchPlace(const OperatorGeometry &g)
  {
    i     = g.origin[0] + blockIdx.x * S::Q * S::L;
    j     = g.origin[1] + blockIdx.y * S::L;
    k     = g.origin[2] + blockIdx.z * g.chunk * S::L;
    steps = min(g.chunk, g.planes - (int)blockIdx.z * g.chunk);
  }
};

/* remove(r) for the nodes n + r, r < L, that are an end of the cells: what cells that do not exist contribute there */
template <int L, typename F>
__device__ inline void RemoveEnd(const int end[2], int n, F remove)
{
  if ((end[0] < n || end[0] >= n + L) && (end[1] < n || end[1] >= n + L)) return; /* as nearly always */
#pragma unroll
  for (int r = 0; r < L; r++)
    if (n + r == end[0] || n + r == end[1]) remove(r);
}

/* numbers of block `block` of R cells in direction d; those of the blocks before and after it exist, too */
template <int R, typename T, int N, bool PLACE>
static __device__ __forceinline__ const CellScale<T> *Scale(const CellMatrices<T, N, PLACE> &m, int d, int block)
{
  if constexpr (PLACE) return m.scale[d] + (ptrdiff_t)(block + 1) * R;
  else return NULL;
}

/* stage 1 and its y-line: K nodes below the tile, its L nodes, one above */
template <typename T, int K, bool PLACE, bool RING>
struct MarchY {
  using S                = March<T, K, PLACE>;
  static constexpr int L = S::L, N = S::N;
  int                  k, at;        /* plane of the step; where p and q go */
  bool                 load, inside; /* is there such a line; has x all of its nodes? */
  ptrdiff_t            from;
  T                    u[K + N];

  /* to a node's image around a ring */
  static __device__ ptrdiff_t shift(const OperatorGeometry &g, int d, int i) { return RING ? g.xl.shift(d, i) : 0; }

  __device__ MarchY(const OperatorGeometry &g, const MarchPlace<S> &place)
  {
    const int t = threadIdx.x, i = t % S::NX;
    const int lo = RING ? max(g.read.lo[1], g.xl.rings.lo[1]) : g.read.lo[1],
              hi = RING ? min(g.read.hi[1], g.xl.rings.hi[1]) : g.read.hi[1];

    k      = t / S::NX;
    at     = k * S::PLANE + S::at(L - K + i);
    load   = t < S::LINES1 && Inside(g.read, 0, place.i - K + i);
    inside = place.j - K >= lo && place.j + L < hi;
    from   = g.xl.Layout::at(place.i - K + i, place.j - K, place.k + k) + shift(g, 0, place.i - K + i);
  }

  /* u of step c, zero where it has no such plane */
  __device__ void fetch(const OperatorGeometry &g, const MarchPlace<S> &place, const T *x, int c)
  {
    const int      z    = place.k + c * L + k;
    const bool     is   = load && Inside(g.read, 2, z) && k >= (c < 0 ? L - K : 0) && k < (c < place.steps ? L : c == place.steps);
    const unsigned row  = Opaque((unsigned)g.xl.row);
    const T       *node = x + from + (ptrdiff_t)c * L * g.xl.plane + shift(g, 2, z);

    if (is && inside) {
#pragma unroll
      for (int j = 0; j < K + N; j++) u[j] = node[j * (size_t)row];
    } else {
#pragma unroll
      for (int j = 0; j < K + N; j++) {
        const int y = place.j - K + j;

        u[j] = is && Inside(g.read, 1, y) ? node[j * (size_t)row + shift(g, 1, y)] : T(0);
      }
    }
  }

  /* P = p, R = q */
  __device__ void apply(const CellMatrices<T, N, PLACE> &m, const OperatorGeometry &g, const MarchPlace<S> &place, T *P, T *R) const
  {
    T p0 = 0, q0 = 0, v[N];

#pragma unroll
    for (int j = 0; j <= K; j++) { /* from below the tile */
      p0 += m.M[1][S::FIRST + K - j] * u[j];
      q0 += m.A[1][S::FIRST + K - j] * u[j];
    }
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = u[K + j];
    S::split(v);

    const CellScale<T> *scale = Scale<S::R>(m, 1, (int)blockIdx.y);

    if constexpr (PLACE) {
      q0 = scale[-1].a * q0 + scale[-1].s * p0;
      p0 *= scale[-1].m;
    }
#pragma unroll
    for (int r = 0; r < S::H; r++) {
      T p = 0, ph = 0, q = 0, qh = 0;

      if constexpr (PLACE) {
        S::template products<2>({m.M[1], m.A[1]}, {v, v}, r, [&](int lo, int hi, const T rows[2][2]) {
          p += scale[lo].m * rows[0][0];
          q += scale[lo].a * rows[1][0] + scale[lo].s * rows[0][0];
          ph += scale[hi].m * rows[0][1];
          qh += scale[hi].a * rows[1][1] + scale[hi].s * rows[0][1];
        });
      } else {
        S::add(m.M[1], v, r, p, ph);
        S::add(m.A[1], v, r, q, qh);
        if (r < N / 2) S::split(p, ph);
        if (r < N / 2) S::split(q, qh);
      }
      P[at + r * S::ROW] = r ? p : p + p0;
      R[at + r * S::ROW] = r ? q : q + q0;
      if (r && r < N / 2) {
        P[at + (L - r) * S::ROW] = ph;
        R[at + (L - r) * S::ROW] = qh;
      }
    }
    if constexpr (PLACE) return;
    RemoveEnd<L>(g.end[1], place.j, [&](int r) {
      P[at + r * S::ROW] -= m.M[1][S::FIRST] * u[K + r];
      R[at + r * S::ROW] -= m.A[1][S::FIRST] * u[K + r];
    });
  }
};

} // namespace patchfd
