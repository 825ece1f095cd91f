/*
  Local solvers that are fitted to each patch (patchfd/private/fit.h).  A team of threads has a patch, a block several teams; a thread has
  LINES lines of the patch in registers, for which it reads matrices once:

    last     r of its line in the last direction, C, S' of that direction            to shared memory
    middle   (3D) S' of y                                                            in place
    first    S' of x, 1 / D, S of x                                                  in place
    middle   (3D) S of y                                                             in place
    last     S of the last direction, C, and what is to be done with the correction

  with a barrier between two of them.  Threads (a, b) of a team have the lines of nodes or modes (i, j), (i, k) and (j, k), a first, and
  those that follow in b by ROWS.  Shared memory holds the block of the patch, entry (i, j, k) at (k M + j) M + i with M the length that
  lines have room for, which is odd: no conflicts of banks; and the patch's records, of which all threads of a team read the same numbers
  at a time, 16 bytes of a row at once: rows have room for ROW numbers.

  Patches of two cells inside of the mesh have M = 2 k - 1 unknowns in all directions, which the compiler knows; others up to 2 k + 1.
*/
#pragma once
#include "base/plan.cuh"
#include "base/reciprocal.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

static constexpr int fit_degrees = 8;

/* of a run of patches of equal size */
template <typename T>
struct FitArguments {
  Layout     box;
  int        n[3], count;
  const int *first;             /* [count][3] */
  const int *number;            /* [count] */
  size_t     record[3], stride; /* where patch 0 has its records, and those of the others after it */
  size_t     compact, volume;   /* the same for its unknowns, of the first one of the run */
  const T   *records, *g /* [number][4] */, *coef /* [count][2] */;
  const T   *diagonal;
  /* a step */
  bool     begins, several, product; /* is it the first one, are there more, is there something in rwork that belongs to r? */
  T        omega;
  const T *r;
  T       *x, *rwork, *zwork;
  /* a step of conjugate gradients, on compact arrays */
  bool     ends; /* nobody asks for more than the step's length */
  const T *q;
  T       *residual, *direction;
  double  *rz, *a, *b; /* [count][2], [count], [count] */
};

template <typename T, int dim, int k, bool inner>
struct FitTile {
  static constexpr int    M = inner ? 2 * k - 1 : 2 * k + 1, VECTOR = 16 / sizeof(T), ROW = RoundUp(M, VECTOR);
  static constexpr bool   few   = M * sizeof(T) <= 60; /* is there room for more in registers? */
  static constexpr int    LINES = !inner || !few ? 1 : (M <= 3 ? M : 2), ROWS = dim == 3 ? (M + LINES - 1) / LINES : 1, team = M * ROWS;
  static constexpr int    volume = RoundUp(dim == 3 ? M * M * M : M * M, VECTOR), record = ROW * (M + 3), size = volume + dim * record;
  static constexpr int    teams = team >= 96 ? 1 : 128 / team, threads = RoundUp(teams * team, 32), most = LINES > 1 && M > 7 ? 384 : 512;
  static constexpr size_t shared = teams * size * sizeof(T) + threads * sizeof(double);
  static constexpr int    blocks = most / threads > 0 ? most / threads : 1; /* at a time: more registers do not pay for less threads */
};

/* a row of a record: memory is read 16 bytes at once */
template <int ROW, typename T>
struct alignas(16) FitRow {
  T v[ROW];

  __device__ __forceinline__ FitRow(const T *row)
  {
#pragma unroll
    for (int i = 0; i < ROW; i += 16 / (int)sizeof(T)) *(int4 *)(v + i) = *(const int4 *)(row + i);
  }
};

/* v = S' v or S v for n numbers in room for M, on several lines */
template <int M, int ROW, bool inner, bool modes, int LINES, typename T>
__device__ __forceinline__ void FitLines(int n, const T *S, T v[LINES][M])
{
  T w[LINES][M];

#pragma unroll
  for (int l = 0; l < LINES; l++)
#pragma unroll
    for (int a = 0; a < M; a++) w[l][a] = 0;
#pragma unroll
  for (int s = 0; s < M; s++) {
    if (!inner && s >= n) break;
    const FitRow<ROW, T> row(S + s * ROW);

#pragma unroll
    for (int a = 0; a < M; a++) {
      if (!inner && a >= n) break;
#pragma unroll
      for (int l = 0; l < LINES; l++) {
        if (modes) w[l][a] += row.v[a] * v[l][s];
        else w[l][s] += row.v[a] * v[l][a];
      }
    }
  }
#pragma unroll
  for (int l = 0; l < LINES; l++)
#pragma unroll
    for (int a = 0; a < M; a++) v[l][a] = w[l][a];
}

/* what a thread knows of its patch */
template <typename T, int dim, int k, bool inner>
struct FitThread {
  using Tile             = FitTile<T, dim, k, inner>;
  static constexpr int M = Tile::M, ROW = Tile::ROW, LINES = Tile::LINES;
  static constexpr int last = dim - 1;

  const FitArguments<T> &arg;
  T                     *block, *record;
  double                *sums;
  int                    team, thread, a, b, patch, number, n[3];
  bool                   live;
  ptrdiff_t              origin; /* entry 0 of line 0 in the last direction, in grid functions */
  size_t                 place;  /* and in compact arrays */
  T                      g[4];

  __device__ FitThread(const FitArguments<T> &arg, T *memory) : arg(arg)
  {
    team   = (int)threadIdx.x / Tile::team;
    thread = (int)threadIdx.x % Tile::team;
    a      = thread % M;
    b      = thread / M;
    patch  = (int)blockIdx.x * Tile::teams + team;
    live   = team < Tile::teams && patch < arg.count;
    number = live ? arg.number[patch] : 0;
    sums   = (double *)memory;
    block  = (T *)(sums + Tile::threads) + team * Tile::size;
    record = block + Tile::volume;
    for (int d = 0; d < 3; d++) n[d] = inner ? (d < dim ? M : 1) : arg.n[d];
    const int *f = arg.first + (live ? 3 * patch : 0);

    origin = arg.box.at(f[0] + a, f[1] + (dim == 3 ? b : 0), f[2]);
    place  = arg.compact + (size_t)patch * arg.volume + (size_t)(dim == 3 ? b * n[0] + a : a);
  }
  __device__ const T *matrix(int d) const { return record + d * Tile::record; }
  /* what comes behind the rows of S: lambda, diag A, diag M */
  __device__ const T *numbers(int d, int which) const { return matrix(d) + (n[d] + which) * ROW; }
  /* the second number of line l */
  __device__ int other(int l) const { return b + l * Tile::ROWS; }
  /* does the thread have line l of direction d? */
  __device__ bool has(int d, int l) const
  {
    if (dim == 2) return live && a < n[1 - d];
    return live && a < n[d == 0 ? 1 : 0] && other(l) < n[d == 2 ? 1 : 2];
  }
  /* entry s of line l in the block, where the line has direction d */
  __device__ int at(int d, int l, int s) const
  {
    if (dim == 2) return d ? s * M + a : a * M + s;
    return d == 0 ? (other(l) * M + a) * M + s : (d == 1 ? (other(l) * M + s) * M + a : (s * M + other(l)) * M + a);
  }
  /* and, for the last direction, in grid functions and in compact arrays */
  __device__ ptrdiff_t node(int l, int s) const
  {
    return origin + l * Tile::ROWS * arg.box.row + s * (dim == 3 ? arg.box.plane : arg.box.row);
  }
  __device__ size_t compact(int l, int s) const { return place + (size_t)(dim == 3 ? (s * n[1] + l * Tile::ROWS) * n[0] : s * n[0]); }
  /* f(l, s) for the entries of the thread's lines of direction d that there are; the others are zero */
  template <typename F>
  __device__ __forceinline__ void each(int d, F &&f) const
  {
#pragma unroll
    for (int l = 0; l < LINES; l++) {
      const bool mine = has(d, l);

#pragma unroll
      for (int s = 0; s < M; s++)
        if (mine && (inner || s < n[d])) f(l, s);
    }
  }

  /* all numbers are asked for before the first one is stored */
  __device__ void loadrecords()
  {
    constexpr int each = (M * (M + 3) + Tile::team - 1) / Tile::team;
    T             v[dim][each];

#pragma unroll
    for (int d = 0; d < dim; d++) {
      const T *from = arg.records + arg.record[d] + (size_t)number * arg.stride;

#pragma unroll
      for (int e = 0; e < each; e++) {
        const int i = thread + e * Tile::team;

        v[d][e] = live && i < n[d] * (n[d] + 3) ? from[i] : T(0);
      }
    }
#pragma unroll
    for (int d = 0; d < dim; d++) {
#pragma unroll
      for (int e = 0; e < each; e++) {
        const int i = thread + e * Tile::team;

        if (live && i < n[d] * (n[d] + 3)) record[d * Tile::record + i / n[d] * ROW + i % n[d]] = v[d][e];
      }
    }
    __syncthreads();
  }
  __device__ void load(int d, T v[LINES][M]) const
  {
#pragma unroll
    for (int l = 0; l < LINES; l++)
#pragma unroll
      for (int s = 0; s < M; s++) v[l][s] = has(d, l) && (inner || s < n[d]) ? block[at(d, l, s)] : T(0);
  }
  __device__ void store(int d, const T v[LINES][M])
  {
    each(d, [&](int l, int s) { block[at(d, l, s)] = v[l][s]; });
  }
  /* g, and the diagonal on the lines in the last direction: asked for with everything else from global memory, before the first barrier */
  __device__ void fetch(T c[LINES][M])
  {
#pragma unroll
    for (int i = 0; i < 4; i++) g[i] = arg.g[4 * (size_t)number + i];
#pragma unroll
    for (int l = 0; l < LINES; l++)
#pragma unroll
      for (int s = 0; s < M; s++) c[l][s] = has(last, l) && (inner || s < n[last]) ? arg.diagonal[node(l, s)] : T(1);
  }
  /* c = C there, from the diagonal */
  __device__ void scale(T c[LINES][M]) const
  {
    const T A0 = g[0] * numbers(0, 1)[a], M0 = numbers(0, 2)[a];

#pragma unroll
    for (int l = 0; l < LINES; l++) {
      if (!has(last, l)) continue;
      const T A1 = dim == 3 ? g[1] * numbers(1, 1)[other(l)] : T(0), M1 = dim == 3 ? numbers(1, 2)[other(l)] : T(1);
      const T mass = M0 * M1, rest = A0 * M1 + M0 * A1 + g[3] * mass;

#pragma unroll
      for (int s = 0; s < M; s++) {
        if (!inner && s >= n[last]) break;
        const T t = rest * numbers(last, 2)[s] + mass * g[last] * numbers(last, 1)[s];

        /* the root of the ratio, without a division or a product that is too small */
        c[l][s] = t * RootReciprocal(t) * RootReciprocal(c[l][s]);
      }
    }
  }
  /* v /= D on the lines of modes in the first direction; nothing where D is zero: the constants of a patch without Dirichlet nodes */
  __device__ void divide(T v[LINES][M]) const
  {
    const T *x = numbers(0, 0);

#pragma unroll
    for (int l = 0; l < LINES; l++) {
      const T rest = !has(0, l) ? g[3] : g[1] * numbers(1, 0)[a] + g[3] + (dim == 3 ? g[2] * numbers(2, 0)[other(l)] : T(0));

#pragma unroll
      for (int s = 0; s < M; s++) v[l][s] *= ReciprocalOrZero(inner || s < n[0] ? g[0] * x[s] + rest : T(0));
    }
  }
  template <bool modes>
  __device__ __forceinline__ void transform(int d, T v[LINES][M]) const
  {
    FitLines<M, ROW, inner, modes, LINES>(n[d], matrix(d), v);
  }
  /* the lines of the last direction in v: v = B v, with the diagonal in c; all threads of a block call it */
  __device__ void solve(T v[LINES][M], T c[LINES][M])
  {
    T w[LINES][M];

    if (has(last, 0)) {
      scale(c);
      each(last, [&](int l, int s) { v[l][s] *= c[l][s]; });
      transform<true>(last, v);
      store(last, v);
    }
    __syncthreads();
    if (dim == 3) middle<true>(w);
    if (has(0, 0)) {
      load(0, w);
      transform<true>(0, w);
      divide(w);
      if (M > 7) asm volatile("" : : : "memory"); /* the matrix is read once more: else its numbers take too many registers */
      transform<false>(0, w);
      store(0, w);
    }
    __syncthreads();
    if (dim == 3) middle<false>(w);
    if (has(last, 0)) {
      load(last, v);
      transform<false>(last, v);
      each(last, [&](int l, int s) { v[l][s] *= c[l][s]; });
    }
  }
  template <bool modes>
  __device__ void middle(T w[LINES][M])
  {
    if (has(1, 0)) {
      load(1, w);
      transform<modes>(1, w);
      store(1, w);
    }
    __syncthreads();
  }
  /* the sum of the team's values, in the same order each time */
  __device__ double sum(double mine)
  {
    double total = 0;

    __syncthreads();
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int i = 0; i < Tile::team && team < Tile::teams; i++) total += sums[team * Tile::team + i];
    return total;
  }
};

} // namespace patchfd
