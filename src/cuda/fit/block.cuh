/*
  Products of small matrices of their own with all lines of a patch or of a cell.  A team of threads has a patch, a block several teams; a
  thread has LINES lines of the patch in registers, for which it reads matrices once:

    last     S' of the last direction, on what the thread has there                  to shared memory
    middle   (3D) S' of y                                                            in place
    first    S' of x, what is to be done with the modes, S of x                      in place
    middle   (3D) S of y                                                             in place
    last     S of the last direction

  with a barrier between two of them.  Threads (a, b) of a team have the lines of nodes or modes (i, j), (i, k) and (j, k), a first, and
  those that follow in b by ROWS.  Shared memory holds the block of the patch, entry (i, j, k) at (k M + j) PITCH + i with M the length that
  lines have room for, and PITCH odd: no conflicts of banks; and the patch's records, of which all threads of a team read the same numbers
  at a time, 16 bytes of a row at once: rows have room for ROW numbers.
*/
#pragma once
#include "base/plan.cuh"
#include "base/reciprocal.cuh"

namespace patchfd
{

/* FULL: all lines have M numbers, which the compiler knows.  RECORD: rows of a direction's record, behind the M of S */
template <typename T, int DIM, int LENGTH, bool FULL, int RECORD>
struct FitShape {
  using Number              = T;
  static constexpr int  dim = DIM, M = LENGTH, rows = M + RECORD, VECTOR = 16 / sizeof(T), ROW = RoundUp(M, VECTOR), PITCH = M | 1;
  static constexpr bool full = FULL, few = M * sizeof(T) <= 60; /* is there room for more in registers? */
  static constexpr int  LINES = !full || !few || dim < 3 ? 1 : (M <= 3 ? M : 2), ROWS = dim == 3 ? (M + LINES - 1) / LINES : 1,
                       team      = M * ROWS;
  static constexpr int    volume = RoundUp(dim == 3 ? M * M * PITCH : M * PITCH, VECTOR), record = ROW * rows, size = volume + dim * record;
  static constexpr int    teams = team >= 96 ? 1 : 128 / team, threads = RoundUp(teams * team, 32), most = LINES > 1 && M > 7 ? 384 : 512;
  static constexpr int    blocks = most / threads > 0 ? most / threads : 1; /* at a time: more registers do not pay for less threads */
  static constexpr size_t shared = teams * size * sizeof(T);
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
template <typename Shape, bool modes, typename T>
__device__ __forceinline__ void FitLines(int n, const T *S, T v[Shape::LINES][Shape::M])
{
  constexpr int M = Shape::M, LINES = Shape::LINES;
  T             w[LINES][M];

#pragma unroll
  for (int l = 0; l < LINES; l++)
#pragma unroll
    for (int a = 0; a < M; a++) w[l][a] = 0;
#pragma unroll
  for (int s = 0; s < M; s++) {
    if (!Shape::full && s >= n) break;
    const FitRow<Shape::ROW, T> row(S + s * Shape::ROW);

#pragma unroll
    for (int a = 0; a < M; a++) {
      if (!Shape::full && a >= n) break;
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

/* what a thread knows of its team's block */
template <typename Shape>
struct FitTensor {
  using T                = typename Shape::Number;
  static constexpr int M = Shape::M, ROW = Shape::ROW, LINES = Shape::LINES, dim = Shape::dim, last = dim - 1;

  T   *block, *record;
  int  team, thread, a, b, n[3];
  bool live; /* is there something for the team? */

  /* memory: of the block of threads; place: of the team's patch in the grid */
  __device__ FitTensor(T *memory, int count, int *place)
  {
    team   = (int)threadIdx.x / Shape::team;
    thread = (int)threadIdx.x % Shape::team;
    a      = thread % M;
    b      = thread / M;
    *place = (int)blockIdx.x * Shape::teams + team;
    live   = team < Shape::teams && *place < count;
    block  = memory + team * Shape::size;
    record = block + Shape::volume;
    for (int d = 0; d < 3; d++) n[d] = d < dim ? M : 1;
  }
  __device__ const T *matrix(int d) const { return record + d * Shape::record; }
  /* what comes behind the rows of S: lambda and, where records have them, diag A, diag M */
  __device__ const T *numbers(int d, int which) const { return matrix(d) + (n[d] + which) * ROW; }
  /* the second number of line l */
  __device__ int other(int l) const { return b + l * Shape::ROWS; }
  /* does the thread have line l of direction d? */
  __device__ bool has(int d, int l) const
  {
    if (dim == 2) return live && a < n[1 - d];
    return live && a < n[d == 0 ? 1 : 0] && other(l) < n[d == 2 ? 1 : 2];
  }
  /* entry s of line l in the block, where the line has direction d */
  __device__ int at(int d, int l, int s) const
  {
    if (dim == 2) return d ? s * Shape::PITCH + a : a * Shape::PITCH + s;
    if (d == 0) return (other(l) * M + a) * Shape::PITCH + s;
    return d == 1 ? (other(l) * M + s) * Shape::PITCH + a : (s * M + other(l)) * Shape::PITCH + a;
  }
  /* f(l, s) for the entries of the thread's lines of direction d that there are; the others are zero */
  template <typename F>
  __device__ __forceinline__ void each(int d, F &&f) const
  {
#pragma unroll
    for (int l = 0; l < LINES; l++) {
      const bool mine = has(d, l);

#pragma unroll
      for (int s = 0; s < M; s++)
        if (mine && (Shape::full || s < n[d])) f(l, s);
    }
  }

  /* records whose rows follow each other at from[d]: all numbers are asked for before the first one is stored */
  __device__ void loadrecords(const T *const from[dim])
  {
    constexpr int each = (M * Shape::rows + Shape::team - 1) / Shape::team;
    T             v[dim][each];

#pragma unroll
    for (int d = 0; d < dim; d++) {
#pragma unroll
      for (int e = 0; e < each; e++) {
        const int i = thread + e * Shape::team;

        v[d][e] = live && i < n[d] * (n[d] + Shape::rows - M) ? from[d][i] : T(0);
      }
    }
#pragma unroll
    for (int d = 0; d < dim; d++) {
#pragma unroll
      for (int e = 0; e < each; e++) {
        const int i = thread + e * Shape::team;

        if (live && i < n[d] * (n[d] + Shape::rows - M)) record[d * Shape::record + i / n[d] * ROW + i % n[d]] = v[d][e];
      }
    }
    __syncthreads();
  }
  __device__ void load(int d, T v[LINES][M]) const
  {
#pragma unroll
    for (int l = 0; l < LINES; l++)
#pragma unroll
      for (int s = 0; s < M; s++) v[l][s] = has(d, l) && (Shape::full || s < n[d]) ? block[at(d, l, s)] : T(0);
  }
  __device__ void store(int d, const T v[LINES][M])
  {
    each(d, [&](int l, int s) { block[at(d, l, s)] = v[l][s]; });
  }
  template <bool modes>
  __device__ __forceinline__ void transform(int d, T v[LINES][M]) const
  {
    FitLines<Shape, modes>(n[d], matrix(d), v);
  }
  /* the lines of the last direction in v, a thread those that it has; middle(w): on the modes, lines in x.  All threads call it */
  template <typename Middle>
  __device__ __forceinline__ void diagonalize(T v[LINES][M], Middle &&middle)
  {
    T w[LINES][M];

    if (has(last, 0)) {
      transform<true>(last, v);
      store(last, v);
    }
    __syncthreads();
    if (dim == 3) second<true>(w);
    if (has(0, 0)) {
      load(0, w);
      transform<true>(0, w);
      middle(w);
      if (M > 7) asm volatile("" : : : "memory"); /* the matrix is read once more: else its numbers take too many registers */
      transform<false>(0, w);
      store(0, w);
    }
    __syncthreads();
    if (dim == 3) second<false>(w);
    if (has(last, 0)) {
      load(last, v);
      transform<false>(last, v);
    }
  }
  template <bool modes>
  __device__ void second(T w[LINES][M])
  {
    if (has(1, 0)) {
      load(1, w);
      transform<modes>(1, w);
      store(1, w);
    }
    __syncthreads();
  }
};

} // namespace patchfd
