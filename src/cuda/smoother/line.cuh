/*
  One line of node values or modes in a thread's registers, and what the directions do to it.  Matrices are operands from the constant
  bank: they are members of a kernel's parameter, and all indices are known to the compiler.  Notation as in fast.cuh; a line has
  2 K - 1 values, with the ends of its closure 2 K + 1.
*/
#pragma once
#include "smoother/smoother.cuh"

namespace patchfd
{

/* A matrix between nodes and modes: on even modes and the sums of mirrored nodes, on odd modes and their differences; [node][mode] */
template <typename T, int K>
struct Halves {
  T e[K * K], o[(K - 1) * (K - 1)];
};

/* The matrices of one direction */
template <typename T, int K>
struct LineMatrices {
  Halves<T, K> S, Tt;                           /* Tt: T transposed */
  T            M[(K - 1) * (K + 1)], Mv[K + 1]; /* mass: rows of the unknowns in the lower cell, of its nodes; row of the vertex */
  T            mu[2 * K - 1], alpha[2 * K - 1]; /* of the node below; that of the node above has the other sign in odd modes */

  void set(const PatchFDEigen *e)
  {
    constexpr int n = 2 * K - 1;

    for (int i = 0; i < K; i++) {
      for (int j = 0; j < K; j++) {
        S.e[i * K + j]  = (T)e->S[i * n + j];
        Tt.e[i * K + j] = (T)e->T[j * n + i];
      }
    }
    for (int i = 0; i < K - 1; i++) {
      for (int j = 0; j < K - 1; j++) {
        S.o[i * (K - 1) + j]  = (T)e->S[i * n + K + j];
        Tt.o[i * (K - 1) + j] = (T)e->T[(K + j) * n + i];
      }
    }
    for (int i = 0; i < n; i++) {
      mu[i]    = (T)e->mu[0][i];
      alpha[i] = (T)e->alpha[0][i];
    }
    for (int j = 0; j <= K; j++) {
      for (int i = 0; i < K - 1; i++) M[i * (K + 1) + j] = (T)e->MI[i * (n + 2) + j];
      Mv[j] = (T)e->MI[(K - 1) * (n + 2) + j];
    }
  }
};

/* 1 / D of a patch with n0 x n1 x n2 modes, x fastest, in device memory; where D is zero (a constant of a Neumann problem) zero */
template <typename T>
static PetscErrorCode UploadInverse(int n0, int n1, int n2, const PatchFDEigen *const e[3], PlanMemory *memory, const T **inverse)
{
  std::vector<PetscReal> v((size_t)n0 * n1 * n2);

  PetscFunctionBegin;
  for (int i = 0; i < n0 * n1 * n2; i++) {
    const PetscReal D = e[0]->lambda[i % n0] + e[1]->lambda[i / n0 % n1] + e[2]->lambda[i / n0 / n1];

    v[i] = D == 0 ? 0 : 1 / D;
  }
  PetscCall(memory->upload(v.size(), v.data(), inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sums and differences of mirrored entries */
template <typename T, int K>
__device__ __forceinline__ void Fold(const T v[2 * K - 1], T e[K], T o[K])
{
#pragma unroll
  for (int i = 0; i < K - 1; i++) {
    e[i] = v[i] + v[2 * K - 2 - i];
    o[i] = v[i] - v[2 * K - 2 - i];
  }
  e[K - 1] = v[K - 1];
}

/* out = Q' v, to modes: Q = S for values of b, Q = T' for those of x in faces */
template <typename T, int K>
__device__ __forceinline__ void ToModes(const Halves<T, K> &Q, const T v[2 * K - 1], T out[2 * K - 1])
{
  T e[K], o[K];

  Fold<T, K>(v, e, o);
#pragma unroll
  for (int m = 0; m < K; m++) {
    T sum = 0;

#pragma unroll
    for (int i = 0; i < K; i++) sum += Q.e[i * K + m] * e[i];
    out[m] = sum;
  }
#pragma unroll
  for (int m = 0; m < K - 1; m++) {
    T sum = 0;

#pragma unroll
    for (int i = 0; i < K - 1; i++) sum += Q.o[i * (K - 1) + m] * o[i];
    out[K + m] = sum;
  }
}

/* u -= a (sum in even modes, difference in odd ones) */
template <typename T, int K>
__device__ __forceinline__ void Subtract(const T a[2 * K - 1], T sum, T difference, T u[2 * K - 1])
{
#pragma unroll
  for (int m = 0; m < 2 * K - 1; m++) u[m] -= a[m] * (m < K ? sum : difference);
}

/* out = [mu, T, mu] v: a line of a face, with its ends, to modes */
template <typename T, int K>
__device__ __forceinline__ void FaceModes(const LineMatrices<T, K> &m, const T v[2 * K + 1], T out[2 * K - 1])
{
  const T sum = v[0] + v[2 * K], difference = v[0] - v[2 * K];

  ToModes(m.Tt, v + 1, out);
#pragma unroll
  for (int i = 0; i < 2 * K - 1; i++) out[i] += m.mu[i] * (i < K ? sum : difference);
}

/* out = M v, from the closure to the unknowns */
template <typename T, int K>
__device__ __forceinline__ void Mass(const LineMatrices<T, K> &m, const T v[2 * K + 1], T out[2 * K - 1])
{
#pragma unroll
  for (int i = 0; i < K - 1; i++) {
    T a = 0, b = 0;

#pragma unroll
    for (int j = 0; j <= K; j++) {
      a += m.M[i * (K + 1) + j] * v[j];
      b += m.M[i * (K + 1) + j] * v[2 * K - j];
    }
    out[i]             = a;
    out[2 * K - 2 - i] = b;
  }
  out[K - 1] = m.Mv[K] * v[K];
#pragma unroll
  for (int j = 0; j < K; j++) out[K - 1] += m.Mv[j] * (v[j] + v[2 * K - j]);
}

/* out = S u */
template <typename T, int K>
__device__ __forceinline__ void ToNodes(const Halves<T, K> &S, const T u[2 * K - 1], T out[2 * K - 1])
{
#pragma unroll
  for (int i = 0; i < K; i++) {
    T e = 0, o = 0;

#pragma unroll
    for (int m = 0; m < K; m++) e += S.e[i * K + m] * u[m];
    if (i < K - 1) {
#pragma unroll
      for (int m = 0; m < K - 1; m++) o += S.o[i * (K - 1) + m] * u[K + m];
      out[i]             = e + o;
      out[2 * K - 2 - i] = e - o;
    } else out[i] = e;
  }
}

template <typename T, int N>
__device__ __forceinline__ void Load(const T *from, int stride, T v[N])
{
#pragma unroll
  for (int i = 0; i < N; i++) v[i] = from[i * stride];
}

template <typename T, int N>
__device__ __forceinline__ void Store(const T v[N], T *to, int stride)
{
#pragma unroll
  for (int i = 0; i < N; i++) to[i * stride] = v[i];
}

} // namespace patchfd
