/*
  Patches with matrices of their own (smoother_place.cuh): how they and their matrices lie in memory, which of them a block works on, and a thread's part of
  two lines with products by tensor instructions.
*/
#pragma once
#include "dispatch.cuh"
#include "plan.cuh"
#include "reciprocal.cuh"
#include "smoother_mma.cuh"

namespace patchfd
{

static constexpr int PLACE_ROW = 8, place_blocks[] = {3, 4}; /* patches of a block, at most; 8 of these are the unknowns of a direction, at most, in 3D and 2D */

struct PlacePatch {
  int first, n, cls;
};

/* a direction's patches and their matrices, in device memory */
template <typename T>
struct PlaceLine {
  const PlacePatch *patch;
  const T          *numbers; /* of the classes */
};

template <typename T>
struct PlaceData {
  PlaceLine<T> d[3];
  Layout       l;
  Range        read;
  int          row, plane, xrow, frow, rows, closure[3], X, G, Z, HY, FZ; /* strides and places in shared memory */
};

/* the patches of a shell in rows of at most `most` in x */
struct PlaceShell {
  PatchShell shell;
  unsigned   end[6];
  int        most;

  PlaceShell(const PatchShell &s, int most, bool flat) : shell(s), most(most)
  {
    unsigned total = 0;

    for (int i = 0; i < 6 && flat; i++) {
      std::swap(shell.part[i].lo[1], shell.part[i].lo[2]);
      std::swap(shell.part[i].hi[1], shell.part[i].hi[2]);
    }
    if (flat) std::swap(shell.start[1], shell.start[2]);
    for (int i = 0; i < 6; i++) end[i] = total += shell.part[i].empty() ? 0 : (unsigned)(shell.part[i].size() / (shell.part[i].hi[0] - shell.part[i].lo[0])) * inx(i);
  }
  __host__ __device__ unsigned inx(int i) const { return (unsigned)(shell.part[i].hi[0] - shell.part[i].lo[0] + most - 1) / most; }
  unsigned                     rows() const { return end[5]; }
  /* row `item`: its patches and the numbers of the first one */
  __device__ __forceinline__ void find(unsigned item, int &count, int number[3]) const
  {
    int i = 0;

    while (item >= end[i]) i++;
    if (i) item -= end[i - 1];
    const Range   &r   = shell.part[i];
    const unsigned n0 = inx(i), n1 = r.hi[1] - r.lo[1], row = item / n0;
    const int      at = r.lo[0] + (int)(item - row * n0) * most;

    count     = min(most, r.hi[0] - at);
    number[0] = shell.start[0] + 2 * at;
    number[1] = shell.start[1] + 2 * (r.lo[1] + (int)(row % n1));
    number[2] = shell.start[2] + 2 * (r.lo[2] + (int)(row / n1));
  }
};

static constexpr TileMatrix STIFFNESS = (TileMatrix)(MASS + 1); /* beside those */
enum PlaceWeight { ALPHA, MU_PLACE = 2, RIM_PLACE = 4, RIM_STIFFNESS = 6, LAMBDA = 8, PLACE_WEIGHTS }; /* below and above; RIM_: columns of the ends */

/* threads of a block, at most; blocks of so many on a multiprocessor (a bound for the compiler's registers) */
template <typename T, int B>
struct PlaceSizes {
  static constexpr int WARPS = 8, THREADS = 32 * WARPS, BLOCKS = B == 4 ? 1 : B == 3 ? 2 : B == 2 && sizeof(T) == 8 ? 3 : 4;
  static constexpr int MATRIX = B * B * 64, CLASS = 5 * MATRIX + PLACE_WEIGHTS * 8 * B; /* numbers of a class */
};

/* x / n for x n < 2^32 */
struct Divisor {
  unsigned n, m;

  __device__ __forceinline__ Divisor(int n) : n(n), m(0xffffffffu / n + 1) { }
  __device__ __forceinline__ int quotient(int x) const { return n == 1 ? x : (int)__umulhi((unsigned)x, m); }
};

/* a patch in one direction */
template <typename T, int B>
struct PlaceClass {
  using F = PlaceSizes<T, B>;
  int      n;
  const T *numbers;

  __device__ __forceinline__ PlaceClass(const PlaceLine<T> &line, int patch) : n(line.patch[patch].n), numbers(line.numbers + (size_t)line.patch[patch].cls * F::CLASS) { }
  __device__ __forceinline__ const T *matrix(TileMatrix which) const { return numbers + which * F::MATRIX; }
  /* of node or mode i */
  __device__ __forceinline__ T weight(int which, int i) const { return __ldg(numbers + 5 * F::MATRIX + which * 8 * B + i); }
};

/* a thread's part of two lines: entries 8 c + 4 h + lane % 4 */
template <typename T, int B>
struct PlaceValues {
  T a[B][2][2]; /* [c][line][h] */

  static __device__ __forceinline__ int entry(int c, int h) { return 8 * c + 4 * h + (int)threadIdx.x % 4; }
  template <typename F>
  __device__ __forceinline__ void each(F f)
  {
#pragma unroll
    for (int c = 0; c < B; c++)
#pragma unroll
      for (int h = 0; h < 2; h++) f(entry(c, h), a[c][0][h], a[c][1][h]);
  }
  __device__ __forceinline__ void load(const T *const line[2], int stride, int n)
  {
    each([&](int i, T &a0, T &a1) {
      const int at = min(i, n - 1) * stride;

      a0 = line[0][at];
      a1 = line[1][at];
    });
  }
  /* own: not a copy of the tile's last line, which another thread writes */
  __device__ __forceinline__ void store(T *const line[2], const bool own[2], int stride, int n)
  {
    each([&](int i, T &a0, T &a1) {
      if (i < n && own[0]) line[0][i * stride] = a0;
      if (i < n && own[1]) line[1][i * stride] = a1;
    });
  }
  /* += weights times a number for each line */
  __device__ __forceinline__ void add(const PlaceClass<T, B> &m, int which, T f0, T f1)
  {
    each([&](int i, T &a0, T &a1) {
      const T w = m.weight(which, i);

      a0 += w * f0;
      a1 += w * f1;
    });
  }
};

/* a matrix in registers */
template <typename T, int B>
struct PlaceMatrix {
  MmaHalf<T> m[B][B]; /* [entries of the line][of the product] */

  __device__ __forceinline__ PlaceMatrix(const PlaceClass<T, B> &c, TileMatrix which)
  {
    const T *from = c.matrix(which) + threadIdx.x % 32 * 2;

#pragma unroll
    for (int i = 0; i < B * B; i++) m[i / B][i % B] = MmaHalf<T>(__ldg(from + i * 64), __ldg(from + i * 64 + 1));
  }
  __device__ __forceinline__ void apply(PlaceValues<T, B> &v) const
  {
    PlaceValues<T, B> w = {};

#pragma unroll
    for (int i = 0; i < B; i++)
#pragma unroll
      for (int j = 0; j < B; j++) m[i][j].add(w.a[j], v.a[i]);
    v = w;
  }
};

/* the patches of a block: numbers in y and z, and a row of them in x, in shared memory */
struct PlaceRow {
  int count, number[3];      /* patches in x; the first one */
  int first[PLACE_ROW + 1]; /* first unknowns in x; the last one: where a patch after the row would begin */
};

/* the block's row; all threads take part */
template <typename T>
static __device__ __forceinline__ void PlaceFindRow(const PlaceData<T> &g, const PlaceShell &shell, PlaceRow &row)
{
  if (threadIdx.x == 0) shell.find(blockIdx.x, row.count, row.number);
  __syncthreads();
  if (threadIdx.x <= row.count) {
    const PlacePatch last = g.d[0].patch[row.number[0] + 2 * min((int)threadIdx.x, row.count - 1)];

    row.first[threadIdx.x] = threadIdx.x < row.count ? last.first : last.first + last.n + 1;
  }
  __syncthreads();
}

} // namespace patchfd
