/* Of the fast smoother without continuity (smoother_fast.cu) the shape of a block, the matrices, and the two lines of a thread */
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

} // namespace patchfd
