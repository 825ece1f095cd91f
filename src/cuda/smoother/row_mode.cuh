/*
  One mode of a row (row.cuh): its coefficients, what is carried from slot to slot, and the patches of both colours in a thread's
  registers.
*/
#pragma once
#include "smoother/line.cuh"

namespace patchfd
{

/*
  Coefficients of a mode: alpha_y, alpha_z; matrices (upper halves) on even and odd values of r; effects of face values in x; effect of c
  on the middle.
*/
template <int K>
struct RowPlaces {
  static constexpr int AY = 0, AZ = 1, E = 2, O = E + K * (K + 1) / 2, FE = O + K * (K - 1) / 2, FO = FE + K, MIDDLE = FO + K - 1,
                       SIZE = MIDDLE + K + 1;
};

template <typename T, int K>
struct RowMatrices {
  static constexpr int ROUNDS_AT_ONCE = 4; /* of modes, in code */

  LineMatrices<T, K> d[3];
  const T           *table; /* the modes' coefficients, [RowPlaces::SIZE][N^2] */
};

/* What a mode carries from slot to slot: the upper half of a slot, with the numbers that the patch of B there needs */
template <typename T, int K>
struct Carried {
  static constexpr int SIZE = 2 * K + 3;

  T r[K - 1], c[K];              /* r above the middle; c from the middle on */
  T rface, cface, yface, middle; /* at the face: r, c, y; y in the middle */

  __device__ __forceinline__ void clear()
  {
#pragma unroll
    for (int i = 0; i < K - 1; i++) r[i] = 0;
#pragma unroll
    for (int i = 0; i < K; i++) c[i] = 0;
    rface = cface = yface = middle = 0;
  }
  __device__ __forceinline__ void load(const T *state, int stride)
  {
    Load<T, K - 1>(state, stride, r);
    Load<T, K>(state + (K - 1) * stride, stride, c);
    rface  = state[(2 * K - 1) * stride];
    cface  = state[2 * K * stride];
    yface  = state[(2 * K + 1) * stride];
    middle = state[(2 * K + 2) * stride];
  }
  __device__ __forceinline__ void store(T *state, int stride) const
  {
    Store<T, K - 1>(r, state, stride);
    Store<T, K>(c, state + (K - 1) * stride, stride);
    state[(2 * K - 1) * stride] = rface;
    state[2 * K * stride]       = cface;
    state[(2 * K + 1) * stride] = yface;
    state[(2 * K + 2) * stride] = middle;
  }
  /* to the next slot: rs at the slot's nodes, cs also at the face below, y at the face above and in the middle */
  __device__ __forceinline__ void shift(const T rs[2 * K], const T cs[2 * K + 1], T next, T mid)
  {
#pragma unroll
    for (int i = 0; i < K - 1; i++) r[i] = rs[K + i];
#pragma unroll
    for (int i = 0; i < K; i++) c[i] = cs[K + i];
    rface  = rs[2 * K - 1];
    cface  = cs[2 * K];
    yface  = next;
    middle = mid;
  }
};

/* patch number q of the row, with the numbers r of its unknowns, c and y of its closure */
template <typename T, int K, class Mode>
__device__ __forceinline__ void RowSolve(const RowMatrices<T, K> &m, const Mode &mode, int, const T r[2 * K - 1], const T c[2 * K + 1],
                                         T below, T above, T u[2 * K - 1])
{
  using M    = RowPlaces<K>;
  const T *t = mode.t;
  T        e[K], o[K], ue[K], uo[K];

  Fold<T, K>(r, e, o);
#pragma unroll
  for (int j = 0; j <= K; j++) {
    const T sum = c[j] + c[2 * K - j], difference = c[j] - c[2 * K - j];

#pragma unroll
    for (int i = 0; i < K - 1; i++) {
      e[i] -= m.d[0].M[i * (K + 1) + j] * sum;
      if (j < K) o[i] -= m.d[0].M[i * (K + 1) + j] * difference;
    }
    e[K - 1] -= m.d[0].Mv[j] * (j < K ? sum : c[K]);
  }
#pragma unroll
  for (int i = 0; i < K; i++) {
    ue[i] = t[M::FE + i] * (below + above);
    if (i < K - 1) uo[i] = t[M::FO + i] * (below - above);
  }
#pragma unroll
  for (int i = 0, at = 0; i < K; i++) {
#pragma unroll
    for (int j = i; j < K; j++, at++) {
      const T a = t[M::E + at];

      ue[i] += a * e[j];
      if (i != j) ue[j] += a * e[i];
    }
  }
#pragma unroll
  for (int i = 0, at = 0; i < K - 1; i++) {
#pragma unroll
    for (int j = i; j < K - 1; j++, at++) {
      const T a = t[M::O + at];

      uo[i] += a * o[j];
      if (i != j) uo[j] += a * o[i];
    }
  }
#pragma unroll
  for (int i = 0; i < K - 1; i++) {
    u[i]             = ue[i] + uo[i];
    u[2 * K - 2 - i] = ue[i] - uo[i];
  }
  u[K - 1] = ue[K - 1];
}

/* y in the middle of patch number q of the row, one of A */
template <typename T, int K, class Mode>
__device__ __forceinline__ T RowMiddle(const RowMatrices<T, K> &, const Mode &mode, int, const T r[2 * K], const T c[2 * K + 1], T below,
                                       T above)
{
  using M      = RowPlaces<K>;
  const T *t   = mode.t;
  T        mid = t[M::FE + K - 1] * (below + above);

#pragma unroll
  for (int i = 0; i < K; i++) mid += t[M::E + i * K - i * (i - 1) / 2 + K - 1 - i] * (i < K - 1 ? r[i] + r[2 * K - 2 - i] : r[i]);
#pragma unroll
  for (int j = 0; j <= K; j++) mid -= t[M::MIDDLE + j] * (j < K ? c[j] + c[2 * K - j] : c[j]);
  return mid;
}

/* r and c of the patch of B between the carried half slot and the lower half of a slot with rs and cs */
template <typename T, int K>
__device__ __forceinline__ void RowBetween(const Carried<T, K> &carried, const T rs[2 * K], const T cs[2 * K + 1], T r[2 * K - 1],
                                           T c[2 * K + 1])
{
#pragma unroll
  for (int i = 0; i < K - 1; i++) {
    r[i]     = carried.r[i];
    r[K + i] = rs[i];
  }
  r[K - 1] = carried.rface;
#pragma unroll
  for (int i = 0; i < K; i++) {
    c[i]     = carried.c[i];
    c[K + i] = cs[i];
  }
  c[2 * K] = cs[K];
}

/* the coefficients [SIZE][N^2], from the modes in x: in even ones, u = S (1 / D (S' r - alpha (y)) - mu (y)) */
template <typename T, int K>
static std::vector<PetscReal> RowTable(const PatchFDEigen *const e[3])
{
  using M                  = RowPlaces<K>;
  constexpr int          n = 2 * K - 1;
  std::vector<PetscReal> table(M::SIZE * n * n, 0);

  for (int ky = 0; ky < n; ky++) {
    for (int kz = 0; kz < n; kz++) {
      PetscReal *t = &table[kz * n + ky], Q[K] = {0};
      auto       at = [&](int row) -> PetscReal       &{ return t[row * n * n]; };

      at(M::AY) = e[1]->alpha[0][ky];
      at(M::AZ) = e[2]->alpha[0][kz];
      for (int m = 0; m < n; m++) {
        const PetscReal  D = e[0]->lambda[m] + e[1]->lambda[ky] + e[2]->lambda[kz], inverse = D == 0 ? 0 : 1 / D;
        const PetscReal *S = e[0]->S + m;
        const int        h = m < K ? K : K - 1;

        for (int i = 0, a = m < K ? M::E : M::O; i < h; i++) {
          for (int j = i; j < h; j++, a++) at(a) += S[i * n] * inverse * S[j * n];
          at((m < K ? M::FE : M::FO) + i) -= S[i * n] * (inverse * e[0]->alpha[0][m] + e[0]->mu[0][m]);
          if (m < K) Q[i] += S[(K - 1) * n] * inverse * S[i * n];
        }
      }
      for (int j = 0; j <= K; j++)
        for (int i = 0; i < K; i++) at(M::MIDDLE + j) += Q[i] * e[0]->MI[i * (n + 2) + j] * (j == K && i < K - 1 ? 2 : 1);
    }
  }
  return table;
}

} // namespace patchfd
