/*
  Eigenvectors of small matrices of a team of threads of a warp, in shared memory and in double precision, by Jacobi's method, as those of
  src/host/lanes.h
*/
#pragma once
#include "fit/fit.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

static constexpr int fit_warp = 32, fit_threads = 128; /* of a block of teams */

template <int TEAM>
struct FitTeam {
  int      n, lane;
  unsigned mask;
  double  *A, *M, *S, *V, *work; /* [n][n] */

  /* memory: [teams of the block][5][longest^2] */
  __device__ FitTeam(double *memory, int longest, int size) : n(size), lane((int)threadIdx.x % TEAM)
  {
    const int room = longest * longest;

    mask = (TEAM == fit_warp ? ~0u : (1u << TEAM % fit_warp) - 1) << (int)threadIdx.x % fit_warp / TEAM * TEAM;
    A    = memory + (int)threadIdx.x / TEAM * 5 * room;
    M    = A + room;
    S    = M + room;
    V    = S + room;
    work = V + room;
  }

  __device__ void sync() const { __syncwarp(mask); }
  template <typename F>
  __device__ void entries(F &&f) const
  {
    for (int e = lane; e < n * n; e += TEAM) f(e / n, e % n);
    sync();
  }
  /* Z = X Y or X' Y */
  __device__ void product(bool transpose, const double *X, const double *Y, double *Z) const
  {
    entries([&](int i, int j) {
      double sum = 0;

      for (int k = 0; k < n; k++) sum += X[transpose ? k * n + i : i * n + k] * Y[k * n + j];
      Z[i * n + j] = sum;
    });
  }
  /* X = the integrals of a weight times products of the kind's functions, or of their derivatives */
  template <typename T>
  __device__ void matrix(const PatchFDFitKind &kind, int k, int c, const T *w, const T *basis, const T *weight, bool zero, double *X) const
  {
    entries([&](int i, int j) {
      double sum = 0;

      for (int cell = 0; cell < (int)kind.ncells && !zero; cell++) {
        const int a = i + (int)kind.lower - cell * k, b = j + (int)kind.lower - cell * k;

        if (a < 0 || a > k || b < 0 || b > k) continue;
        for (int q = 0; q < c; q++)
          sum += (double)(w[q] * weight[cell * c + q]) * (double)basis[q * (k + 1) + a] * (double)basis[q * (k + 1) + b];
      }
      X[i * n + j] = sum;
    });
  }
  /* M = L L' in place of M, column by column */
  __device__ void cholesky() const
  {
    for (int j = 0; j < n; j++) {
      const double root = sqrt(M[j * n + j]);

      sync();
      for (int i = j + lane; i < n; i += TEAM) M[i * n + j] = i == j ? root : M[i * n + j] / root;
      sync();
      for (int e = lane; e < (n - j - 1) * (n - j - 1); e += TEAM) {
        const int i = j + 1 + e / (n - j - 1), k = j + 1 + e % (n - j - 1);

        if (k <= i) M[i * n + k] -= M[i * n + j] * M[k * n + j];
      }
      sync();
    }
  }
  /* X = L^{-1} X or L^{-T} X: a lane a column */
  __device__ void solve(bool transpose, double *X) const
  {
    for (int j = lane; j < n; j += TEAM) {
      for (int s = 0; s < n; s++) {
        const int i   = transpose ? n - 1 - s : s;
        double    sum = X[i * n + j];

        for (int k = transpose ? i + 1 : 0; k < (transpose ? n : i); k++) sum -= M[transpose ? k * n + i : i * n + k] * X[k * n + j];
        X[i * n + j] = sum / M[i * n + i];
      }
    }
    sync();
  }
  __device__ void transpose(double *X) const
  {
    for (int e = lane; e < n * n; e += TEAM) {
      const int i = e / n, j = e % n;

      if (i <= j) continue;
      const double x = X[i * n + j];

      X[i * n + j] = X[j * n + i];
      X[j * n + i] = x;
    }
    sync();
  }
  __device__ bool diagonal(double tolerance, const double *X) const
  {
    double off = 0, trace = 0;

    for (int i = 0; i < n; i++) trace += X[i * n + i];
    for (int e = lane; e < n * n; e += TEAM)
      if (e / n > e % n) off = fmax(off, fabs(X[e]));
    for (int step = TEAM / 2; step > 0; step /= 2) off = fmax(off, __shfl_xor_sync(mask, off, step));
    return !(off > tolerance * fabs(trace));
  }
  /* pair i of round r of a tournament of `even` players, in which all meet once; player n may be nobody */
  __device__ bool pair(int even, int r, int i, int *p, int *q) const
  {
    const int others = even - 1, x = i ? (r + i) % others : r, y = i ? (r - i + others) % others : others;

    *p = min(x, y);
    *q = max(x, y);
    return *q < n;
  }
  /* makes A[p][q] zero */
  __device__ void rotation(int p, int q, double *c, double *s) const
  {
    const double off = A[p * n + q], theta = off == 0 ? 0 : (A[q * n + q] - A[p * n + p]) / (2 * off);
    const double t = off == 0 ? 0 : (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));

    *c = rsqrt(t * t + 1);
    *s = t * *c;
  }
  /* eigenvalues on the diagonal of A, V times the eigenvectors: Jacobi's method, the rotations of a round at once, which are in work */
  __device__ void jacobi(double tolerance) const
  {
    const int even = n + n % 2, pairs = even / 2;
    int       p, q;

    for (int sweep = 0; sweep < 30 && !diagonal(tolerance, A); sweep++) {
      for (int r = 0; r < even - 1; r++) {
        for (int i = lane; i < pairs; i += TEAM)
          if (pair(even, r, i, &p, &q)) rotation(p, q, &work[2 * i], &work[2 * i + 1]);
        sync();
        for (int e = lane; e < pairs * 2 * n; e += TEAM) {
          const int i = e / (2 * n), row = e % (2 * n);

          if (pair(even, r, i, &p, &q)) rotate(work[2 * i], work[2 * i + 1], row < n ? A + row * n : V + (row - n) * n, p, q);
        }
        sync();
        for (int e = lane; e < pairs * n; e += TEAM)
          if (pair(even, r, e / n, &p, &q)) rotate(work[e / n * 2], work[e / n * 2 + 1], A + e % n, p * n, q * n);
        sync();
      }
    }
  }
  __device__ static void rotate(double c, double s, double *x, int p, int q)
  {
    const double u = x[p], v = x[q];

    x[p] = c * u - s * v;
    x[q] = s * u + c * v;
  }
  /* S from a guess S, eigenvalues on the diagonal of A; A and M are overwritten */
  __device__ void eigen(double tolerance) const
  {
    product(false, A, S, work);
    product(true, S, work, A);
    product(false, M, S, work);
    product(true, S, work, M);
    cholesky();
    solve(false, A);
    transpose(A);
    solve(false, A);
    entries([&](int i, int j) { V[i * n + j] = i == j; });
    jacobi(tolerance);
    solve(true, V);
    product(false, S, V, work);
    entries([&](int i, int j) { S[i * n + j] = work[i * n + j]; });
  }
  /* S and lambda, and the diagonals of A and M, which are there before */
  template <typename T>
  __device__ void record(const T *guess, T *out, T *diagonals) const
  {
    double largest = 0;

    for (int i = lane; i < n; i += TEAM) {
      diagonals[i]     = (T)A[i * n + i];
      diagonals[n + i] = (T)M[i * n + i];
    }
    entries([&](int i, int j) { S[i * n + j] = guess[i * n + j]; });
    eigen(sizeof(T) == 4 ? 1e-9 : 1e-13);
    for (int i = 0; i < n; i++) largest = fmax(largest, A[i * n + i]);
    entries([&](int i, int j) { out[i * n + j] = (T)S[i * n + j]; });
    /* what rounding makes of zero */
    for (int i = lane; i < n; i += TEAM) out[n * n + i] = (T)(A[i * n + i] > 1e-12 * largest ? A[i * n + i] : 0);
  }
};

/* work(the threads of a team for matrices of up to this size) */
template <typename F>
static PetscErrorCode FitTeams(int longest, F &&work)
{
  if (longest <= 5) return work(std::integral_constant<int, 8>());
  if (longest <= 9) return work(std::integral_constant<int, 16>());
  return work(std::integral_constant<int, fit_warp>());
}

/* bytes of the shared memory of a block */
static inline size_t FitTeamsShared(int longest, int team)
{
  return (size_t)(fit_threads / team * 5 * longest * longest) * sizeof(double);
}

} // namespace patchfd
