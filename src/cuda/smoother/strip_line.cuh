/* Of strips (strip.cu) the matrices of patches, as modes, what a block keeps of them, and the products with a line */
#pragma once
#include "base/dispatch.cuh"
#include "base/fetch.cuh"
#include "base/plan.cuh"
#include "base/reciprocal.cuh"
#include "smoother/smoother.cuh"

namespace patchfd
{

/* what a mode of a patch has in one direction */
template <typename T, int K>
struct alignas(16) StripMode {
  static constexpr int W = 16 / sizeof(T), NODES = RoundUp(2 * K - 1, W); /* numbers that are loaded at once */

  T q[NODES], c[2], d[2], lambda;
};

template <typename T, int K>
struct Strip {
  static constexpr int N = 2 * K - 1, MODES = 2 * K, EACH = sizeof(T) == 8 && K <= 7 ? 2 : 1 /* as measured on an H200 */,
                       THREADS = 128 / EACH, P = (EACH * THREADS - 1) / (2 * K), LINES = P * N,
                       STRIDE = LINES | 1 /* odd: no bank conflicts */;
  static constexpr int FACE   = (P + 1) * (2 * K + 1); /* of faces in y: node 2 K p + r at (2 K + 1) p + r */

  struct Shared {
    StripMode<T, K> y[2][MODES]; /* of this row and the next one */
    struct {
      StripMode<T, K> mode[MODES];
      int4            gap; /* patches beside each other: in other banks */
    } x[P];
    /* H: faces in y times M_x, at the nodes between ends; E: at free ends below and above */
    T V[MODES * STRIDE], X[MODES * (P + 1)], F[2][FACE], H[2][LINES], E[2][2][P];
  };

  static constexpr int REGISTERS = EACH == 2 ? 8 * N + 64 : 5 * N * (int)sizeof(T) / 8 + 36, BYTES = (int)sizeof(Shared) + 1024;
  static constexpr int FIT = (int)shared_limit / BYTES < 65536 / (THREADS * REGISTERS) ? (int)shared_limit / BYTES
                                                                                       : 65536 / (THREADS * REGISTERS);
  /* as many warps in each quarter of a multiprocessor, which has a quarter of its registers */
  static constexpr int BLOCKS = EACH == 2 && FIT > 5 ? FIT / 2 * 2 : FIT;
};

template <typename T, int K>
struct StripLine {
  const StripMode<T, K> *classes; /* [class][2 K] */
  const int             *cls;     /* of the patches */
  const T               *mass;    /* of the cells, in multiples of M */
  int                    last;    /* patch */
  bool                   free[2]; /* ends of the line */

  __device__ __forceinline__ bool below(int patch) const { return patch == 0 && free[0]; }
  __device__ __forceinline__ bool above(int patch) const { return patch == last && free[1]; }
};

template <typename T, int K>
struct StripData {
  T               M[K * (K + 1)]; /* mass of a cell; the rows but for the last node's, which is the first one's mirrored */
  StripLine<T, K> d[2];
  Layout          l;
  Range           read;
  int             z;
};

/* the patches of a shell in blocks of P x rows */
struct StripShell {
  PatchShell shell;
  unsigned   end[6];
  int        most, rows;

  StripShell(const PatchShell &s, int most, int rows) : shell(s), most(most), rows(rows)
  {
    unsigned total = 0;

    for (int i = 0; i < 6; i++) end[i] = total += shell.part[i].empty() ? 0 : groups(i, 0, most) * groups(i, 1, rows);
  }
  __host__ __device__ unsigned groups(int i, int d, int size) const
  {
    return (unsigned)(shell.part[i].hi[d] - shell.part[i].lo[d] + size - 1) / size;
  }
  /* of a block: its patches in x and y, and the first one */
  __device__ __forceinline__ void find(unsigned block, int count[2], int number[2]) const
  {
    int i = 0;

    while (block >= end[i]) i++;
    if (i) block -= end[i - 1];
    const unsigned n0 = groups(i, 0, most), row = block / n0;
    const int      at[] = {(int)(block - row * n0) * most, (int)row * rows}, size[] = {most, rows};

#pragma unroll
    for (int d = 0; d < 2; d++) {
      const int lo = shell.part[i].lo[d] + at[d];

      count[d]  = min(size[d], shell.part[i].hi[d] - lo);
      number[d] = shell.start[d] + 2 * lo;
    }
  }
};

/* ---- lines ---- */

/* f(i, q) for the numbers of a mode, which are loaded some at a time */
template <typename T, int K, typename F>
__device__ __forceinline__ void StripEach(const StripMode<T, K> &m, F f)
{
  using M = StripMode<T, K>;
  struct alignas(16) Some {
    T a[M::W];
  };

#pragma unroll
  for (int i = 0; i < M::NODES; i += M::W) {
    const Some s = *(const Some *)(m.q + i);

#pragma unroll
    for (int j = 0; j < M::W; j++)
      if (i + j < 2 * K - 1) f(i + j, s.a[j]);
  }
}

/* w = q v of each line */
template <typename T, int K, int EACH, int LENGTH>
__device__ __forceinline__ void StripDot(const StripMode<T, K> &m, const T v[EACH][LENGTH], T w[EACH])
{
  constexpr int skip         = (LENGTH - 2 * K + 1) / 2; /* ends of the line */
  T             sum[EACH][2] = {};

  StripEach(m, [&](int i, T q) {
#pragma unroll
    for (int l = 0; l < EACH; l++) sum[l][i % 2] += q * v[l][i + skip];
  });
#pragma unroll
  for (int l = 0; l < EACH; l++) w[l] = sum[l][0] + sum[l][1];
}

/* u += q' w */
template <typename T, int K, int EACH, int LENGTH>
__device__ __forceinline__ void StripAdd(const StripMode<T, K> &m, const T w[EACH], T u[EACH][LENGTH])
{
  constexpr int skip = (LENGTH - 2 * K + 1) / 2;

  StripEach(m, [&](int i, T q) {
#pragma unroll
    for (int l = 0; l < EACH; l++) u[l][i + skip] += q * w[l];
  });
}

/* a = M a on two cells, where they are `below` and `above` times the mass of a cell; at the ends only where these are free */
template <typename T, int K>
__device__ __forceinline__ void StripMass(const T M[K * (K + 1)], T below, T above, const bool free[2], T a[2 * K + 1])
{
  T out[2 * K + 1];

#pragma unroll
  for (int i = 0; i < K; i++) {
    if (i == 0 && !free[0] && !free[1]) continue;
    T lower = 0, upper = 0;

#pragma unroll
    for (int j = 0; j <= K; j++) {
      lower += M[i * (K + 1) + j] * a[j];
      upper += M[i * (K + 1) + j] * a[2 * K - j];
    }
    out[i]         = below * lower;
    out[2 * K - i] = above * upper;
  }
  T lower = 0, upper = 0;

#pragma unroll
  for (int j = 0; j <= K; j++) {
    lower += M[j] * a[K - j];
    upper += M[j] * a[K + j];
  }
#pragma unroll
  for (int i = 1; i < 2 * K; i++) a[i] = i == K ? below * lower + above * upper : out[i];
  a[0]     = free[0] ? out[0] : T(0);
  a[2 * K] = free[1] ? out[2 * K] : T(0);
}

} // namespace patchfd
