/*
  Patches with matrices of their own (place.cu): how they and their matrices lie in memory, which of them a block works on, and a
  thread's part of two lines with products by tensor instructions.
*/
#pragma once
#include "base/dispatch.cuh"
#include "base/plan.cuh"
#include "base/reciprocal.cuh"
#include "smoother/mma.cuh"

namespace patchfd
{

/* patches of a block, and unknowns of a direction, at most: in 3D fewer, as many as fit shared memory */
static constexpr int PLACE_ROW = 8, place_most = 32;

/* a direction's patches and their matrices, in device memory */
template <typename T>
struct PlaceLine {
  const PlacePatch *patch;
  const T          *numbers; /* of the classes */
};

template <typename T>
struct PlaceData {
  PlaceLine<T> d[3];
  ptrdiff_t    offset, stride[3]; /* of nodes */
  Range        read;
  Rings        rings;
  bool         ring;                                                      /* is there one? */
  int          row, plane, xrow, frow, rows, closure[3], X, G, Z, HY, FZ; /* strides and places in shared memory */

  /* from node i of direction d to its image */
  __device__ __forceinline__ ptrdiff_t shift(int d, int i) const { return (rings.image(d, i) - i) * stride[d]; }
  __device__ __forceinline__ ptrdiff_t at(int i, int j, int k) const
  {
    ptrdiff_t node = offset + i * stride[0] + j * stride[1] + k * stride[2];

    if (ring) node += shift(0, i) + shift(1, j) + shift(2, k);
    return node;
  }
};

/* the patches of a shell in rows of at most `most` in x; direction d of the kernels is direction dir[d] of the mesh */
struct PlaceShell {
  PatchShell shell;
  unsigned   end[6];
  int        most;

  PlaceShell(const PatchShell &s, int most, const int dir[3]) : shell(s), most(most)
  {
    unsigned total = 0;

    for (int d = 0; d < 3; d++) {
      shell.start[d] = s.start[dir[d]];
      for (int i = 0; i < 6; i++) {
        shell.part[i].lo[d] = s.part[i].lo[dir[d]];
        shell.part[i].hi[d] = s.part[i].hi[dir[d]];
      }
    }
    for (int i = 0; i < 6; i++)
      end[i] = total += shell.part[i].empty() ? 0 : (unsigned)(shell.part[i].size() / (shell.part[i].hi[0] - shell.part[i].lo[0])) * inx(i);
  }
  __host__ __device__ unsigned inx(int i) const { return (unsigned)(shell.part[i].hi[0] - shell.part[i].lo[0] + most - 1) / most; }
  __host__ __device__ unsigned rows() const { return end[5]; }
  /* row `item`: its patches and the numbers of the first one */
  __device__ __forceinline__ void find(unsigned item, int &count, int number[3]) const
  {
    int i = 0;

    while (item >= end[i]) i++;
    if (i) item -= end[i - 1];
    const Range   &r  = shell.part[i];
    const unsigned n0 = inx(i), n1 = r.hi[1] - r.lo[1], row = item / n0;
    const int      at = r.lo[0] + (int)(item - row * n0) * most;

    count     = min(most, r.hi[0] - at);
    number[0] = shell.start[0] + 2 * at;
    number[1] = shell.start[1] + 2 * (r.lo[1] + (int)(row % n1));
    number[2] = shell.start[2] + 2 * (r.lo[2] + (int)(row / n1));
  }
};

static constexpr TileMatrix STIFFNESS = (TileMatrix)(MASS + 1); /* beside those */
/* below and above; RIM_: columns of the ends */
enum PlaceWeight {
  ALPHA,
  MU_PLACE      = 2,
  RIM_PLACE     = 4,
  RIM_STIFFNESS = 6,
  LAMBDA        = 8,
  PLACE_WEIGHTS
};

/* x / n for x n < 2^32 */
struct Divisor {
  unsigned n, m;

  __device__ __forceinline__     Divisor(int n) : n(n), m(0xffffffffu / n + 1) { }
  __device__ __forceinline__ int quotient(int x) const { return n == 1 ? x : (int)__umulhi((unsigned)x, m); }
};

/*
  How a warp works on lines, in two ways: the template argument W of all that follows.

    REAL      type of the numbers
    N         entries of a line, at most
    LINES     lines of a thread
    WARP      and of a warp
    THREADS   of a block, at most
    Values    a thread's entries of its lines; each(f) is f(i, v), v[] the entries i of its lines
    Matrix    of a class; apply(v, n, f) is f(i, w) with the entries i of the product with v; those from n on, if there are any, are zero
*/

/* threads of a block, if a multiprocessor has several */
static constexpr int PLACE_WARPS = 8, PLACE_THREADS = 32 * PLACE_WARPS;

/* a patch in one direction */
template <class W>
struct PlaceClass {
  using T                     = typename W::REAL;
  static constexpr int MATRIX = W::MATRIX, SIZE = 5 * MATRIX + PLACE_WEIGHTS * W::N; /* numbers of a matrix, of a class */
  int                  n;
  const T             *numbers;

  __device__ __forceinline__ PlaceClass(const PlaceLine<T> &line, int patch) :
    n(line.patch[patch].n), numbers(line.numbers + (size_t)line.patch[patch].cls * SIZE)
  {
  }
  __device__ __forceinline__ const T *matrix(TileMatrix which) const { return numbers + which * MATRIX; }
  /* of node or mode i */
  __device__ __forceinline__ T weight(int which, int i) const { return __ldg(numbers + 5 * MATRIX + which * W::N + i); }
};

/* tensor instructions: tiles of 16 lines, B x B products of mma.cuh; entries that do not exist read the last one of the line, and
   meet zeros */
template <typename T, int B>
struct PlaceTiles {
  using REAL             = T;
  static constexpr int N = 8 * B, LINES = 2, WARP = 16, MATRIX = 64 * B * B, THREADS = B == 3 ? 2 * PLACE_THREADS : PLACE_THREADS,
                       BLOCKS = B >= 3                   ? 1
                              : B == 2 && sizeof(T) == 8 ? 3
                                                         : 4,
                       ARCH   = sizeof(T) == 4 ? 80 : 90;
  static constexpr bool TILES = true;

  /* row i and column j of number `at` of a matrix: the entry of the product and of the line */
  static void place(int at, int *i, int *j)
  {
    const int block = at / 64, lane = at / 2 % 32;

    *j = block / B * 8 + lane % 4 + 4 * (at % 2);
    *i = block % B * 8 + lane / 8 + 4 * (lane / 4 % 2);
  }
  /* line h of the thread, in its tile */
  static __device__ __forceinline__ int line(int h) { return (int)threadIdx.x % 32 / 4 + 8 * h; }
  /* all copies of a line have been read */
  static __device__ __forceinline__ void wait() { __syncwarp(); }

  struct Values {
    T a[B][2][2]; /* entries 8 c + 4 h + lane % 4: [c][line][h] */

    template <typename F>
    __device__ __forceinline__ void each(F f)
    {
#pragma unroll
      for (int c = 0; c < B; c++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          T v[2] = {a[c][0][h], a[c][1][h]};

          f(8 * c + 4 * h + (int)threadIdx.x % 4, v);
          a[c][0][h] = v[0];
          a[c][1][h] = v[1];
        }
    }
    __device__ __forceinline__ void load(const T *const line[2], int stride, int n)
    {
      each([&](int i, T v[2]) {
        const int at = min(i, n - 1) * stride;

        v[0] = line[0][at];
        v[1] = line[1][at];
      });
    }
    __device__ __forceinline__ void add(T f, const Values &u)
    {
#pragma unroll
      for (int i = 0; i < 4 * B; i++) a[i / 4][i / 2 % 2][i % 2] += f * u.a[i / 4][i / 2 % 2][i % 2];
    }
  };

  struct Matrix {
    MmaHalf<T> m[B][B]; /* [entries of the line][of the product] */

    __device__ __forceinline__ Matrix(const PlaceClass<PlaceTiles> &c, TileMatrix which)
    {
      const T *from = c.matrix(which) + threadIdx.x % 32 * 2;

#pragma unroll
      for (int i = 0; i < B * B; i++) m[i / B][i % B] = MmaHalf<T>(__ldg(from + i * 64), __ldg(from + i * 64 + 1));
    }
    template <typename F>
    __device__ __forceinline__ void apply(const Values &v, int, F f) const
    {
      Values w = {};

      add(v, w);
      w.each(f);
    }
    /* with b's product of u added to it */
    template <typename F>
    __device__ __forceinline__ void apply(const Values &v, const Matrix &b, const Values &u, int, F f) const
    {
      Values w = {};

      add(v, w);
      b.add(u, w);
      w.each(f);
    }
    /* v = f(the product) */
    template <typename F>
    __device__ __forceinline__ void replace(Values &v, T *const[2], const bool[2], int, int, F f) const
    {
      Values w = {};

      add(v, w);
      w.each(f);
      v = w;
    }

  private:
    __device__ __forceinline__ void add(const Values &v, Values &w) const
    {
#pragma unroll
      for (int i = 0; i < B; i++)
#pragma unroll
        for (int j = 0; j < B; j++) m[i][j].add(w.a[j], v.a[i]);
    }
  };
};

template <typename T>
struct PlacePair;
template <>
struct PlacePair<double> {
  using Type = double2;
};
template <>
struct PlacePair<float> {
  using Type = float2;
};

/* a thread a line: matrices by rows, from L1, where all threads of a warp want the same numbers or nearly so */
template <typename T, int SIZE>
struct PlaceThreads {
  using REAL              = T;
  static constexpr int  N = SIZE, LINES = 1, WARP = 32, MATRIX = N * N, ARCH = 80;
  static constexpr int  THREADS = PLACE_THREADS, BLOCKS = 4;
  static constexpr bool TILES = false;

  static void place(int at, int *i, int *j)
  {
    *i = at / N;
    *j = at % N;
  }
  static __device__ __forceinline__ int  line(int) { return (int)threadIdx.x % 32; }
  static __device__ __forceinline__ void wait() { }

  struct Values {
    T a[N];

    template <typename F>
    __device__ __forceinline__ void each(F f)
    {
#pragma unroll
      for (int i = 0; i < N; i++) f(i, &a[i]);
    }
    __device__ __forceinline__ void load(const T *const line[1], int stride, int n)
    {
#pragma unroll
      for (int i = 0; i < N; i++) a[i] = line[0][min(i, n - 1) * stride];
    }
    __device__ __forceinline__ void add(T f, const Values &u)
    {
#pragma unroll
      for (int i = 0; i < N; i++) a[i] += f * u.a[i];
    }
  };

  struct Matrix {
    const T *m;

    __device__ __forceinline__ Matrix(const PlaceClass<PlaceThreads> &c, TileMatrix which) : m(c.matrix(which)) { }
    template <typename F>
    __device__ __forceinline__ void apply(const Values &v, int n, F f) const
    {
#pragma unroll 2
      for (int i = 0; i < n; i++) {
        T w[1] = {row(i, v)};

        f(i, w);
      }
    }
    template <typename F>
    __device__ __forceinline__ void apply(const Values &v, const Matrix &b, const Values &u, int n, F f) const
    {
#pragma unroll 1
      for (int i = 0; i < n; i++) {
        T w[1] = {row(i, v) + b.row(i, u)};

        f(i, w);
      }
    }
    /* by way of the line */
    template <typename F>
    __device__ __forceinline__ void replace(Values &v, T *const line[1], const bool[1], int stride, int n, F f) const
    {
      apply(v, n, [&](int i, T w[1]) {
        f(i, w);
        line[0][i * stride] = w[0];
      });
      v.load(line, stride, n);
    }

  private:
    __device__ __forceinline__ T row(int i, const Values &v) const
    {
      using Pair       = typename PlacePair<T>::Type;
      const Pair *from = (const Pair *)(m + i * N);
      T           even = 0, odd = 0;

#pragma unroll
      for (int j = 0; j < N / 2; j++) {
        const Pair p = __ldg(from + j);

        even += p.x * v.a[2 * j];
        odd += p.y * v.a[2 * j + 1];
      }
      return even + odd;
    }
  };
};

/* v[] += the weight of entry i times numbers of the lines */
template <class W>
static __device__ __forceinline__ void AddWeight(const PlaceClass<W> &m, int which, int i, const typename W::REAL f[], typename W::REAL v[])
{
  const typename W::REAL w = m.weight(which, i);

#pragma unroll
  for (int h = 0; h < W::LINES; h++) v[h] += w * f[h];
}

/* to the lines, where they are the thread's own and not copies */
template <class W>
static __device__ __forceinline__ void PlaceStore(typename W::REAL *const line[], const bool own[], int stride, int n, int i,
                                                  const typename W::REAL v[])
{
#pragma unroll
  for (int h = 0; h < W::LINES; h++)
    if (i < n && own[h]) line[h][i * stride] = v[h];
}

/* the patches of a block: numbers in y and z, and a row of them in x, in shared memory */
struct PlaceRow {
  int count, number[3];     /* patches in x; the first one */
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
