/* Of the fast smoother without continuity (smoother_fast.cu) the matrices, the two lines of a thread, and the block with its threads */
#pragma once
#include "base/reciprocal.cuh"
#include "dg/dg.cuh"
#include <cuda_pipeline.h>

namespace patchfd
{

template <typename T, int K>
struct DGShape {
  static constexpr int packing[] = {0, 8, 5, 4, 3, 2, 2, 1, 1}; /* patches of a block */

  static constexpr int n = K + 1, N = 2 * n, P = packing[K], COLS = P * N, ROW = COLS + 1, LINES = COLS * n, THREADS = RoundUp(LINES, 32);
  /* a class of patches: R[node][mode], lambda, value and slope of the nodes, h of both cells */
  static constexpr int LAMBDA = N * N, VALUE = LAMBDA + N, SLOPE = VALUE + N, LENGTH = SLOPE + N, RECORD = LENGTH + 2;
  /* shared memory: classes of y, of z, of the patches in x; nodes; V and G of face f: layers 2 f and 2 f + 1 */
  static constexpr int U = (P + 2) * RECORD, LAYERS = U + N * N * ROW, LAYER = N * ROW, SIZE = LAYERS + 12 * LAYER;

  /* registers that do without spills; a quarter of a multiprocessor has 512 of them for a lane */
  static constexpr int registers_double[] = {0, 96, 96, 128, 128, 128, 168, 168, 168},
                       registers_float[]  = {0, 64, 64, 64, 72, 80, 96, 104, 104};
  static constexpr int WARPS = 4 * (512 / (sizeof(T) == 8 ? registers_double[K] : registers_float[K])), FIT = WARPS / (THREADS / 32),
                       ROOM   = (int)(shared_limit / (SIZE * sizeof(T) + 1024));
  static constexpr int BLOCKS = FIT < 1 || ROOM < 1 ? 1 : (FIT < ROOM ? FIT : ROOM);
};

template <typename T, int K>
struct DGHalves {
  T even[(K + 1) * (K + 1)], odd[(K + 1) * (K + 1)]; /* [node of the lower half][mode of the half] */
};

/* in the constant bank */
template <typename T, int K>
struct DGMatrices {
  T              derivative[K + 1]; /* of the basis at the lower end */
  T              M[(K + 1) * (K + 1)];
  DGHalves<T, K> half[3];
  int            main[3]; /* the class that `half` is of, or -1 */
  const T       *record[3];
  const int     *cls[3]; /* of each patch */
};

/* two numbers that are loaded at once */
template <typename T>
struct alignas(2 * sizeof(T)) DGPair {
  T a, b;
};

/* ---- two lines of a thread ---- */

/* w = R' v for v = in(line, node) */
template <typename T, int K, typename In>
__device__ __forceinline__ void DGToModes(const DGHalves<T, K> &h, bool main, const T *R, In in, T w[2][2 * K + 2])
{
  constexpr int n = K + 1, N = 2 * n;

#pragma unroll
  for (int m = 0; m < N; m++) w[0][m] = w[1][m] = 0;
  if (main) {
#pragma unroll
    for (int i = 0; i < n; i++) {
#pragma unroll
      for (int l = 0; l < 2; l++) {
        const T a = in(l, i), b = in(l, N - 1 - i), even = a + b, odd = a - b;

#pragma unroll
        for (int m = 0; m < n; m++) {
          w[l][m] += h.even[i * n + m] * even;
          w[l][n + m] += h.odd[i * n + m] * odd;
        }
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) {
      const T v0 = in(0, i), v1 = in(1, i);

#pragma unroll
      for (int m = 0; m < N; m += 2) {
        const DGPair<T> s = *(const DGPair<T> *)(R + i * N + m);

        w[0][m] += s.a * v0;
        w[1][m] += s.a * v1;
        w[0][m + 1] += s.b * v0;
        w[1][m + 1] += s.b * v1;
      }
    }
  }
}

/* out(line, node, value) for the values R w */
template <typename T, int K, typename Out>
__device__ __forceinline__ void DGToNodes(const DGHalves<T, K> &h, bool main, const T *R, const T w[2][2 * K + 2], Out out)
{
  constexpr int n = K + 1, N = 2 * n;

  if (main) {
#pragma unroll
    for (int i = 0; i < n; i++) {
#pragma unroll
      for (int l = 0; l < 2; l++) {
        T even = 0, odd = 0;

#pragma unroll
        for (int m = 0; m < n; m++) {
          even += h.even[i * n + m] * w[l][m];
          odd += h.odd[i * n + m] * w[l][n + m];
        }
        out(l, i, even + odd);
        out(l, N - 1 - i, even - odd);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) {
      T v0 = 0, v1 = 0;

#pragma unroll
      for (int m = 0; m < N; m += 2) {
        const DGPair<T> s = *(const DGPair<T> *)(R + i * N + m);

        v0 += s.a * w[0][m] + s.b * w[0][m + 1];
        v1 += s.a * w[1][m] + s.b * w[1][m + 1];
      }
      out(0, i, v0);
      out(1, i, v1);
    }
  }
}

/* ---- a block and its threads ---- */

template <typename T, int K>
struct DGBlock {
  using F                = DGShape<T, K>;
  static constexpr int n = F::n, N = F::N;

  const DGMatrices<T, K> &m;
  const ColorPatches     &g;
  T                      *sm;
  int                     t, y0, z0, ycls, zcls; /* first nodes, classes in y and z */

  __device__ __forceinline__ DGBlock(const DGMatrices<T, K> &m, const ColorPatches &g, T *sm) : m(m), g(g), sm(sm), t(threadIdx.x)
  {
    const int y = g.start[1] + 2 * (int)blockIdx.y, z = g.start[2] + 2 * (int)blockIdx.z;

    y0   = n * y;
    z0   = n * z;
    ycls = m.cls[1][y];
    zcls = m.cls[2][z];
  }
  __device__ __forceinline__ int  slot(int p) const { return g.q0((int)blockIdx.x * F::P + p, (int)blockIdx.y, (int)blockIdx.z); }
  __device__ __forceinline__ bool exists(int p) const { return slot(p) < g.count[0]; }
  __device__ __forceinline__ int  number(int p) const { return g.start[0] + 2 * min(slot(p), g.count[0] - 1); }
  __device__ __forceinline__ int  first(int d, int p) const { return d == 0 ? n * number(p) : (d == 1 ? y0 : z0); }
  __device__ __forceinline__ int  cls(int d, int p) const { return d == 0 ? m.cls[0][number(p)] : (d == 1 ? ycls : zcls); }
  /* is there a cell beside patch p at end e of direction d? */
  __device__ __forceinline__ bool neighbour(int d, int e, int p) const
  {
    return e ? first(d, p) + N + n <= g.read.hi[d] : first(d, p) - n >= g.read.lo[d];
  }
  /* class of direction d of patch p, in shared memory */
  __device__ __forceinline__ const T *record(int d, int p) const { return sm + (d ? d - 1 : 2 + p) * F::RECORD; }
  __device__ __forceinline__ bool     main(int d, int p) const { return cls(d, p) == m.main[d]; }
  __device__ __forceinline__ T       *layer(int face, int which) const { return sm + F::LAYERS + (2 * face + which) * F::LAYER; }

  /* the classes' records, of which R is left out where the constant bank has it.  No wait */
  __device__ __forceinline__ void records() const
  {
#pragma unroll
    for (int r = 0; r < F::P + 2; r++) {
      const int d = r < 2 ? r + 1 : 0, p = r < 2 ? 0 : r - 2, c = cls(d, p);

      for (int i = t + (c == m.main[d] ? F::LAMBDA : 0); i < F::RECORD; i += F::THREADS)
        __pipeline_memcpy_async(sm + r * F::RECORD + i, m.record[d] + (size_t)c * F::RECORD + i, sizeof(T));
    }
    __pipeline_commit();
  }

  /* U = v at the patches' nodes, or at those of the cells beside them in x: n below, then n above; each thread brings its z-lines.  No wait
     */
  template <bool BESIDE>
  __device__ __forceinline__ void fetch(const T *v, bool zero) const
  {
    const int c = t % F::COLS, y = t / F::COLS, p = c / N, j = c % N;

    if (t < F::LINES) {
      const int  shift = BESIDE ? (j < n ? -n : n) : 0;
      const bool there = !zero && exists(p) && (!BESIDE || neighbour(0, j < n ? 0 : 1, p));
      const T   *from  = v + g.l.at(first(0, p) + j + shift, y0 + y, z0);
      T         *to    = sm + F::U + y * F::ROW + c;

#pragma unroll
      for (int k = 0; k < N; k++) {
#pragma unroll
        for (int l = 0; l < 2; l++) {
          if (there) __pipeline_memcpy_async(to + (k * N + l * n) * F::ROW, from + k * g.l.plane + l * n * g.l.row, sizeof(T));
          else to[(k * N + l * n) * F::ROW] = 0;
        }
      }
    }
    __pipeline_commit();
  }

  /* value and derivative at the vertex, for e the lower end of the line v */
  __device__ __forceinline__ void functionals(const T v[n], int e, T *value, T *derivative) const
  {
    T sum = 0;

#pragma unroll
    for (int i = 0; i < n; i++) sum += m.derivative[i] * v[i];
    *value      = v[0];
    *derivative = e ? sum : -sum;
  }

  /* V and G of the faces in y and z: rows of z and of y, columns p N + x.  A thread has a column and two rows of each face, whose loads are
     under way together */
  __device__ __forceinline__ void gather(const T *x, bool zero) const
  {
    const int c = t % F::COLS, row = t / F::COLS, p = c / N;

    if (t >= F::LINES) return;
    const bool there = !zero && exists(p);
    const T   *node  = x + g.l.at(first(0, p) + c % N, y0, z0);

#pragma unroll
    for (int face = 2; face < 6; face++) {
      const int       d = face / 2, e = face % 2;
      const ptrdiff_t step = d == 1 ? g.l.row : g.l.plane, along = d == 1 ? g.l.plane : g.l.row;
      const bool      load = there && neighbour(d, e, p);
      T               v[2][n];

#pragma unroll
      for (int i = 0; i < n; i++) {
#pragma unroll
        for (int l = 0; l < 2; l++) v[l][i] = load ? node[(row + l * n) * along + (e ? N + i : -1 - i) * step] : T(0);
      }
#pragma unroll
      for (int l = 0; l < 2; l++)
        functionals(v[l], e, layer(face, 0) + (row + l * n) * F::ROW + c, layer(face, 1) + (row + l * n) * F::ROW + c);
    }
  }

  /* those of the faces in x, out of U: rows of z, columns p N + y */
  __device__ __forceinline__ void gatherX() const
  {
    for (int task = t; task < 2 * N * F::COLS; task += F::THREADS) {
      const int row = task % (N * N), rest = task / (N * N), e = rest % 2, p = rest / 2, at = row / N * F::ROW + p * N + row % N;

      const T *from = sm + F::U + row * F::ROW + p * N + n - 1 + e;
      T        v[n];

#pragma unroll
      for (int i = 0; i < n; i++) v[i] = from[e ? i : -i];
      functionals(v, e, layer(e, 0) + at, layer(e, 1) + at);
    }
  }

  /* n nodes of a cell times M, in place */
  __device__ __forceinline__ void massLine(T *line, int stride, T h) const
  {
    T v[n];

#pragma unroll
    for (int i = 0; i < n; i++) v[i] = line[i * stride];
#pragma unroll
    for (int i = 0; i < n; i++) {
      T sum = 0;

#pragma unroll
      for (int j = 0; j < n; j++) sum += m.M[i * n + j] * v[j];
      line[i * stride] = h * sum;
    }
  }
  /* of all layers, whose rows follow each other */
  __device__ __forceinline__ void massRows() const
  {
    for (int task = t; task < 24 * F::COLS; task += F::THREADS) {
      const int row = task % (12 * N), half = task / (12 * N) % 2, p = task / (24 * N);

      massLine(layer(0, 0) + row * F::ROW + p * N + half * n, 1, record(row < 4 * N ? 1 : 0, p)[F::LENGTH + half]);
    }
  }
  __device__ __forceinline__ void massColumns() const
  {
    for (int task = t; task < 24 * F::COLS; task += F::THREADS) {
      const int c = task % F::COLS, half = task / F::COLS % 2, which = task / F::COLS / 2;

      massLine(layer(0, which) + half * n * F::ROW + c, F::ROW, record(which < 8 ? 2 : 1, 0)[F::LENGTH + half]);
    }
  }
};

} // namespace patchfd
