/*
  Numbers of a patch in one direction, for rows of patches with matrices of their own (place_row.cu), and what is made with those in x.
*/
#pragma once
#include "base/lines.cuh"
#include "base/reciprocal.cuh"

namespace patchfd
{

/* a patch's numbers in one direction, for N unknowns or fewer, in rows of whole 16 bytes: S [node][mode]; [mu, T, mu]' [node of the
   closure][mode]; alpha; lambda */
template <typename T, int N>
struct RowNumbers {
  static constexpr int W = 16 / sizeof(T), LINE = RoundUp(N, W), S = 0, F = S + N * LINE, ALPHA = F + (N + 2) * LINE,
                       LAMBDA = ALPHA + 2 * LINE, SIZE = LAMBDA + LINE;

  static void set(const PatchFDEigen *e, PetscReal v[])
  {
    const int n = (int)e->n;

    for (int i = 0; i < N; i++) v[LAMBDA + i] = i < n ? e->lambda[i] : 1;
    for (int i = 0; i < n; i++) {
      for (int m = 0; m < n; m++) {
        v[S + i * LINE + m]       = e->S[i * n + m];
        v[F + (i + 1) * LINE + m] = e->T[m * n + i];
      }
      for (int s = 0; s < 2; s++) {
        v[F + s * (N + 1) * LINE + i] = e->mu[s][i];
        v[ALPHA + s * LINE + i]       = e->alpha[s][i];
      }
    }
  }
};

/* in x, with M: of each unknown the row in its cell, of the vertex in both */
template <typename T, int K>
struct RowNumbersX : RowNumbers<T, 2 * K - 1> {
  using P = RowNumbers<T, 2 * K - 1>;
  static constexpr int N = 2 * K - 1, C = N + 2, CELL = RoundUp(K + 1, P::W), WHOLE = RoundUp(C, P::W), M = P::SIZE,
                       SIZE = M + (N - 1) * CELL + WHOLE;
  /* row i of M */
  __host__ __device__ static constexpr int mass(int i) { return M + i * CELL + (i >= K ? WHOLE - CELL : 0); }

  static void set(const PatchFDEigen *e, PetscReal v[])
  {
    P::set(e, v);
    for (int i = 0; i < N; i++)
      for (int j = 0, from = i < K ? 0 : K; j < (i == K - 1 ? C : K + 1); j++) v[mass(i) + j] = e->MI[i * C + from + j];
  }
};

/* of a patch at a free end in x, with all of M */
template <typename T, int K>
struct RowNumbersEnd : RowNumbers<T, 2 * K> {
  using P = RowNumbers<T, 2 * K>;
  static constexpr int N = 2 * K, C = N + 2, LINE = RoundUp(C, P::W), M = P::SIZE, SIZE = M + N * LINE;

  static void set(const PatchFDEigen *e, PetscReal v[])
  {
    P::set(e, v);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < C; j++) v[M + i * LINE + j] = e->MI[i * C + j];
  }
};

/* 16 bytes at once */
template <typename T>
struct Quad;
template <>
struct Quad<double> {
  using Type = double2;
};
template <>
struct Quad<float> {
  using Type = float4;
};

template <int N, typename T>
__device__ __forceinline__ void LoadQuads(const T *from, T v[N])
{
  constexpr int W = 16 / sizeof(T);

#pragma unroll
  for (int i = 0; i < N; i += W) {
    const typename Quad<T>::Type q = *(const typename Quad<T>::Type *)(from + i);

    v[i] = q.x;
    if (i + 1 < N) v[i + 1] = q.y;
    if constexpr (W == 4) {
      if (i + 2 < N) v[i + 2] = q.z;
      if (i + 3 < N) v[i + 3] = q.w;
    }
  }
}

/* out = Q' v, for L lines of I entries: of nodes to modes */
template <int L, int I, int N, typename T>
__device__ __forceinline__ void LinesToModes(const T *Q, const T v[L][I], T out[L][N])
{
  constexpr int LINE = RoundUp(N, 16 / sizeof(T));

#pragma unroll
  for (int i = 0; i < I; i++) {
    T q[N];

    LoadQuads<N>(Q + i * LINE, q);
#pragma unroll
    for (int l = 0; l < L; l++)
#pragma unroll
      for (int m = 0; m < N; m++) out[l][m] = i ? out[l][m] + q[m] * v[l][i] : q[m] * v[l][i];
  }
}

/* v . q */
template <int N, typename T>
__device__ __forceinline__ T Dot(const T q[N], const T v[N])
{
  T sum = 0;

#pragma unroll
  for (int m = 0; m < N; m++) sum += q[m] * v[m];
  return sum;
}

/* the modes w in x of a patch with r - M c = v */
template <int N, typename T>
__device__ __forceinline__ void PlacedModes(const T *x, T lambda, const T v[N], T below, T above, T w[N])
{
  using P = RowNumbers<T, N>;
  T u[1][N], q[N], a[2][N];

  LinesToModes<1, N, N>(x + P::S, (const T(*)[N])v, u);
  LoadQuads<N>(x + P::ALPHA, a[0]);
  LoadQuads<N>(x + P::ALPHA + P::LINE, a[1]);
  LoadQuads<N>(x + P::LAMBDA, q);
#pragma unroll
  for (int i = 0; i < N; i++) w[i] = (u[0][i] - a[0][i] * below - a[1][i] * above) * ReciprocalOrZero(q[i] + lambda);
  LoadQuads<N>(x + P::F, a[0]);
  LoadQuads<N>(x + P::F + (N + 1) * P::LINE, a[1]);
#pragma unroll
  for (int i = 0; i < N; i++) w[i] -= a[0][i] * below + a[1][i] * above;
}

/* the value of w at node i */
template <int N, typename T>
__device__ __forceinline__ T PlacedNode(const T *x, int i, const T w[N])
{
  using P = RowNumbers<T, N>;
  T row[N];

  LoadQuads<N>(x + P::S + i * P::LINE, row);
  return Dot<N>(row, w);
}

/* the modes of a patch with two cells beside it */
template <typename T, int K>
__device__ __forceinline__ void PlacedPatch(const T *x, T lambda, const T r[2 * K - 1], const T c[2 * K + 1], T below, T above,
                                            T w[2 * K - 1])
{
  using P = RowNumbersX<T, K>;
  T v[P::N], q[P::C];

#pragma unroll
  for (int i = 0; i < P::N; i++) {
    if (i == K - 1) {
      LoadQuads<P::C>(x + P::mass(i), q);
      v[i] = r[i] - Dot<P::C>(q, c);
    } else {
      LoadQuads<K + 1>(x + P::mass(i), q);
      v[i] = r[i] - Dot<K + 1>(q, c + (i < K ? 0 : K));
    }
  }
  PlacedModes<P::N>(x, lambda, v, below, above, w);
}

/* the patch with an unknown more at an end of the row */
template <typename T, int K, class M, class Mode>
__device__ __forceinline__ void RowEndSolve(const M &m, const Mode &mode, int end, const T r[2 * K], const T c[2 * K + 2], T below, T above,
                                            T u[2 * K])
{
  using P         = RowNumbersEnd<T, K>;
  constexpr int N = P::N;
  const T      *x = m.ends[end];
  T             v[N], w[N], q[P::C];

#pragma unroll
  for (int i = 0; i < N; i++) {
    LoadQuads<P::C>(x + P::M + i * P::LINE, q);
    v[i] = r[i] - Dot<P::C>(q, c);
  }
  PlacedModes<N>(x, mode.lambda, v, below, above, w);
#pragma unroll
  for (int i = 0; i < N; i++) u[i] = PlacedNode<N>(x, i, w);
}

} // namespace patchfd
