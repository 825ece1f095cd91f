/*
  Local solvers that are fitted to each patch (patchfd/private/fit.h).  A team of threads has a patch, a block several teams; a thread has a line of the patch in
  registers:

    last     r of its line in the last direction, C, S' of that direction            to shared memory
    middle   (3D) S' of y                                                            in place
    first    S' of x, 1 / D, S of x                                                  in place
    middle   (3D) S of y                                                             in place
    last     S of the last direction, C, and what is to be done with the correction

  with a barrier between two of them.  Threads (a, b) of a team have the lines of nodes or modes (i, j), (i, k) and (j, k), a first.  Shared memory holds the block of the
  patch, entry (i, j, k) at (k M + j) M + i with M the length that lines have room for, which is odd: no conflicts of banks; and the patch's records, of which all
  threads of a team read the same numbers at a time, 16 bytes of a row at once: rows have room for ROW numbers.

  Patches of two cells inside of the mesh have M = 2 k - 1 unknowns in all directions, which the compiler knows; others up to 2 k + 1.
*/
#pragma once
#include "plan.cuh"
#include "reciprocal.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

static constexpr int fit_degrees = 8;

/* of a run of patches of equal size */
template <typename T>
struct FitArguments {
  Layout        box;
  int           n[3], count;
  const int    *first;   /* [count][3] */
  const int    *number;  /* [count] */
  size_t        record[3], stride; /* where patch 0 has its records, and those of the others after it */
  size_t        compact, volume;   /* the same for its unknowns, of the first one of the run */
  const T      *records, *g /* [number][4] */, *coef /* [count][2] */;
  const T      *diagonal;
  /* a step */
  bool     begins, several; /* is it the first one, are there more? */
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
  static constexpr int M = inner ? 2 * k - 1 : 2 * k + 1, lines = dim == 3 ? M * M : M, VECTOR = 16 / sizeof(T), ROW = RoundUp(M, VECTOR);
  static constexpr int volume = RoundUp(lines * M, VECTOR), record = ROW * (M + 3), size = volume + dim * record;
  static constexpr int teams = lines >= 96 ? 1 : 128 / lines, threads = RoundUp(teams * lines, 32);
  static constexpr size_t shared = teams * size * sizeof(T) + threads * sizeof(double);
  static constexpr int    blocks = 512 / threads > 0 ? 512 / threads : 1; /* at a time: more registers do not pay for less threads */
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

/* v = S' v or S v for n numbers in room for M */
template <int M, int ROW, bool inner, bool modes, typename T>
__device__ __forceinline__ void FitLine(int n, const T *S, T v[M])
{
  T w[M];

#pragma unroll
  for (int a = 0; a < M; a++) w[a] = 0;
#pragma unroll
  for (int s = 0; s < M; s++) {
    if (!inner && s >= n) break;
    const FitRow<ROW, T> row(S + s * ROW);

#pragma unroll
    for (int a = 0; a < M; a++) {
      if (!inner && a >= n) break;
      if (modes) w[a] += row.v[a] * v[s];
      else w[s] += row.v[a] * v[a];
    }
  }
#pragma unroll
  for (int a = 0; a < M; a++) v[a] = w[a];
}

/* what a thread knows of its patch */
template <typename T, int dim, int k, bool inner>
struct FitThread {
  using Tile                = FitTile<T, dim, k, inner>;
  static constexpr int M    = Tile::M, ROW = Tile::ROW;
  static constexpr int last = dim - 1;

  const FitArguments<T> &arg;
  T                     *block, *record;
  double                *sums;
  int                    team, thread, a, b, patch, number, n[3];
  bool                   live;
  T                      g[4];

  __device__ FitThread(const FitArguments<T> &arg, T *memory) : arg(arg)
  {
    team   = (int)threadIdx.x / Tile::lines;
    thread = (int)threadIdx.x % Tile::lines;
    a      = thread % M;
    b      = thread / M;
    patch  = (int)blockIdx.x * Tile::teams + team;
    live   = team < Tile::teams && patch < arg.count;
    number = live ? arg.number[patch] : 0;
    sums   = (double *)memory;
    block  = (T *)(sums + Tile::threads) + team * Tile::size;
    record = block + Tile::volume;
    for (int d = 0; d < 3; d++) n[d] = inner ? (d < dim ? M : 1) : arg.n[d];
  }
  __device__ const T *matrix(int d) const { return record + d * Tile::record; }
  /* what comes behind the rows of S: lambda, diag A, diag M */
  __device__ const T *numbers(int d, int which) const { return matrix(d) + (n[d] + which) * ROW; }
  /* has the thread a line of direction d? */
  __device__ bool has(int d) const
  {
    if (dim == 2) return live && a < n[1 - d];
    return live && a < n[d == 0 ? 1 : 0] && b < n[d == 2 ? 1 : 2];
  }
  /* its entry s in the block, where the line has direction d */
  __device__ int at(int d, int s) const
  {
    if (dim == 2) return d ? s * M + a : a * M + s;
    return d == 0 ? (b * M + a) * M + s : (d == 1 ? (b * M + s) * M + a : (s * M + b) * M + a);
  }
  /* and, for the last direction, in grid functions and in compact arrays */
  __device__ ptrdiff_t node(int s) const
  {
    const int *f = arg.first + 3 * patch;

    return dim == 2 ? arg.box.at(f[0] + a, f[1] + s, f[2]) : arg.box.at(f[0] + a, f[1] + b, f[2] + s);
  }
  __device__ size_t compact(int s) const { return arg.compact + (size_t)patch * arg.volume + (size_t)(dim == 2 ? s * n[0] + a : (s * n[1] + b) * n[0] + a); }

  /* all numbers are asked for before the first one is stored */
  __device__ void loadrecords()
  {
    constexpr int each = (M * (M + 3) + Tile::lines - 1) / Tile::lines;
    T             v[dim][each];

#pragma unroll
    for (int d = 0; d < dim; d++) {
      const T *from = arg.records + arg.record[d] + (size_t)number * arg.stride;

#pragma unroll
      for (int e = 0; e < each; e++) {
        const int i = thread + e * Tile::lines;

        v[d][e] = live && i < n[d] * (n[d] + 3) ? from[i] : T(0);
      }
    }
#pragma unroll
    for (int d = 0; d < dim; d++) {
#pragma unroll
      for (int e = 0; e < each; e++) {
        const int i = thread + e * Tile::lines;

        if (live && i < n[d] * (n[d] + 3)) record[d * Tile::record + i / n[d] * ROW + i % n[d]] = v[d][e];
      }
    }
    __syncthreads();
  }
  __device__ void load(int d, T v[M]) const
  {
#pragma unroll
    for (int s = 0; s < M; s++) v[s] = inner || s < n[d] ? block[at(d, s)] : T(0);
  }
  __device__ void store(int d, const T v[M])
  {
#pragma unroll
    for (int s = 0; s < M; s++)
      if (inner || s < n[d]) block[at(d, s)] = v[s];
  }
  /* g, and the diagonal on the line in the last direction: asked for with everything else from global memory, before the first barrier */
  __device__ void fetch(T c[M])
  {
#pragma unroll
    for (int i = 0; i < 4; i++) g[i] = arg.g[4 * (size_t)number + i];
#pragma unroll
    for (int s = 0; s < M; s++) c[s] = has(last) && (inner || s < n[last]) ? arg.diagonal[node(s)] : T(1);
  }
  /* c[s] = C there, from the diagonal */
  __device__ void scale(T c[M]) const
  {
    const T  A0 = g[0] * numbers(0, 1)[a], M0 = numbers(0, 2)[a];
    const T  A1 = dim == 3 ? g[1] * numbers(1, 1)[b] : T(0), M1 = dim == 3 ? numbers(1, 2)[b] : T(1);
    const T  mass = M0 * M1, rest = A0 * M1 + M0 * A1 + g[3] * mass;

#pragma unroll
    for (int s = 0; s < M; s++) {
      if (!inner && s >= n[last]) break;
      const T t = rest * numbers(last, 2)[s] + mass * g[last] * numbers(last, 1)[s];

      c[s] = t * rsqrt(t * c[s]); /* the root of the ratio, without a division */
    }
  }
  /* v /= D on the line of modes in the first direction; nothing where D is zero: the constants of a patch without Dirichlet nodes */
  __device__ void divide(T v[M]) const
  {
    const T *x = numbers(0, 0);
    T        rest = g[1] * numbers(1, 0)[a] + g[3];

    if (dim == 3) rest += g[2] * numbers(2, 0)[b];
#pragma unroll
    for (int s = 0; s < M; s++) {
      const T D = inner || s < n[0] ? g[0] * x[s] + rest : T(0);

      v[s] *= ReciprocalOrZero(D);
    }
  }
  /* the line of the last direction in v: v = B v, with the diagonal in c; all threads of a block call it */
  __device__ void solve(T v[M], T c[M])
  {
    const bool mine = has(last);
    T          w[M];

    if (mine) {
      scale(c);
#pragma unroll
      for (int s = 0; s < M; s++) v[s] = inner || s < n[last] ? v[s] * c[s] : T(0);
      FitLine<M, ROW, inner, true>(n[last], matrix(last), v);
      store(last, v);
    }
    __syncthreads();
    if (dim == 3) middle<true>(w);
    if (has(0)) {
      load(0, w);
      FitLine<M, ROW, inner, true>(n[0], matrix(0), w);
      divide(w);
      if (M > 7) asm volatile("" : : : "memory"); /* the matrix is read once more: else its numbers take too many registers */
      FitLine<M, ROW, inner, false>(n[0], matrix(0), w);
      store(0, w);
    }
    __syncthreads();
    if (dim == 3) middle<false>(w);
    if (mine) {
      load(last, v);
      FitLine<M, ROW, inner, false>(n[last], matrix(last), v);
#pragma unroll
      for (int s = 0; s < M; s++)
        if (inner || s < n[last]) v[s] *= c[s];
    }
  }
  template <bool modes>
  __device__ void middle(T w[M])
  {
    if (has(1)) {
      load(1, w);
      FitLine<M, ROW, inner, modes>(n[1], matrix(1), w);
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
    for (int i = 0; i < Tile::lines && team < Tile::teams; i++) total += sums[team * Tile::lines + i];
    return total;
  }
};

} // namespace patchfd
