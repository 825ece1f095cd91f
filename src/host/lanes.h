#pragma once
/* Small dense symmetric matrices, LANES of them at a time: entry (i, j) of the one in lane l is X[i * n + j][l].  Double precision */
#include <patchfd/private/assembly.h>

enum {
  LANES = PATCHFD_LANES
};

typedef PatchFDLanes Lanes;

/* half of the numbers of all lanes, in registers */
typedef PetscReal LaneHalf __attribute__((vector_size(LANES / 2 * sizeof(PetscReal)), aligned(sizeof(PetscReal)), may_alias));

/* `rows` rows of LaneContract(), whose sums stay in registers */
static inline __attribute__((always_inline)) void LaneContractRows(int rows, PetscInt nj, PetscInt stride, const PetscReal X[],
                                                                   PetscInt row, PetscInt col, const Lanes in[], Lanes out[])
{
  for (PetscInt s = 0; s < stride; s++) {
    LaneHalf sum[4][2] = {{{0}}};

    _Pragma("GCC unroll 8") for (PetscInt j = 0; j < nj; j++)
    {
      const LaneHalf *x = (const LaneHalf *)in[j * stride + s];

      _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)
      {
        sum[i][0] += X[i * row + j * col] * x[0];
        sum[i][1] += X[i * row + j * col] * x[1];
      }
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)
    {
      LaneHalf *y = (LaneHalf *)out[i * stride + s];

      y[0] = sum[i][0];
      y[1] = sum[i][1];
    }
  }
}

static inline __attribute__((always_inline)) void LaneContractOf(PetscInt outer, PetscInt ni, PetscInt nj, PetscInt stride,
                                                                 const PetscReal X[], PetscInt row, PetscInt col, const Lanes in[],
                                                                 Lanes out[])
{
  for (PetscInt o = 0; o < outer; o++, in += nj * stride) {
    for (PetscInt i = 0, rows; i < ni; i += rows, out += rows * stride) {
      const PetscReal *x = X + i * row;

      rows = ni - i == 5 ? 3 : PetscMin(4, ni - i); /* a single row would wait for its sums */
      if (rows == 4) LaneContractRows(4, nj, stride, x, row, col, in, out);
      else if (rows == 3) LaneContractRows(3, nj, stride, x, row, col, in, out);
      else if (rows == 2) LaneContractRows(2, nj, stride, x, row, col, in, out);
      else LaneContractRows(1, nj, stride, x, row, col, in, out);
    }
  }
}

/* out[o][i][s] = sum over j of X(i, j) in[o][j][s], where X(i, j) = X[i * row + j * col]; short sums have lengths that the compiler knows
   */
static inline void LaneContract(PetscInt outer, PetscInt ni, PetscInt nj, PetscInt stride, const PetscReal X[], PetscInt row, PetscInt col,
                                const Lanes in[], Lanes out[])
{
  switch (nj) {
#define CASE(N) \
  case N: \
    LaneContractOf(outer, ni, N, stride, X, row, col, in, out); \
    break
    CASE(2);
    CASE(3);
    CASE(4);
    CASE(5);
    CASE(6);
#undef CASE
  default:
    LaneContractOf(outer, ni, nj, stride, X, row, col, in, out);
  }
}

/* Z = X Y or X' Y; Z is none of them */
static inline void LaneProduct(PetscInt n, PetscBool transpose, const Lanes X[], const Lanes Y[], Lanes Z[])
{
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      Lanes sum = {0};

      for (PetscInt k = 0; k < n; k++) {
        const PetscReal *x = X[transpose ? k * n + i : i * n + k];

        for (int l = 0; l < LANES; l++) sum[l] += x[l] * Y[k * n + j][l];
      }
      for (int l = 0; l < LANES; l++) Z[i * n + j][l] = sum[l];
    }
  }
}

/* M = L L', in place of M; above the diagonal are zeros */
static inline void LaneCholesky(PetscInt n, Lanes M[])
{
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = j; i < n; i++) {
      for (PetscInt k = 0; k < j; k++)
        for (int l = 0; l < LANES; l++) M[i * n + j][l] -= M[i * n + k][l] * M[j * n + k][l];
      for (int l = 0; l < LANES; l++) M[i * n + j][l] = i == j ? PetscSqrtReal(M[i * n + j][l]) : M[i * n + j][l] / M[j * n + j][l];
    }
    for (PetscInt i = 0; i < j; i++)
      for (int l = 0; l < LANES; l++) M[i * n + j][l] = 0;
  }
}

/* x[i][n] = y[n] (x[i][n] - sum over k < n of x[i][k] y[k]) for `rows` rows x[i], whose sums do not wait for each other */
static inline __attribute__((always_inline)) void LaneEliminate(int rows, PetscInt n, Lanes *const x[], const Lanes y[])
{
  LaneHalf        sum[4][2] = {{{0}}};
  const LaneHalf *last      = (const LaneHalf *)y[n];

  for (PetscInt k = 0; k < n; k++) {
    const LaneHalf *f = (const LaneHalf *)y[k];

    _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)
    {
      const LaneHalf *xk = (const LaneHalf *)x[i][k];

      sum[i][0] += xk[0] * f[0];
      sum[i][1] += xk[1] * f[1];
    }
  }
  _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)
  {
    LaneHalf *xn = (LaneHalf *)x[i][n];

    xn[0] = last[0] * (xn[0] - sum[i][0]);
    xn[1] = last[1] * (xn[1] - sum[i][1]);
  }
}

/* X = L^{-1} X */
static inline void LaneForward(PetscInt n, const Lanes L[], Lanes X[])
{
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      for (PetscInt k = 0; k < i; k++)
        for (int l = 0; l < LANES; l++) X[i * n + j][l] -= L[i * n + k][l] * X[k * n + j][l];
      for (int l = 0; l < LANES; l++) X[i * n + j][l] /= L[i * n + i][l];
    }
  }
}

/* X = L^{-T} X */
static inline void LaneBackward(PetscInt n, const Lanes L[], Lanes X[])
{
  for (PetscInt i = n - 1; i >= 0; i--) {
    for (PetscInt j = 0; j < n; j++) {
      for (PetscInt k = i + 1; k < n; k++)
        for (int l = 0; l < LANES; l++) X[i * n + j][l] -= L[k * n + i][l] * X[k * n + j][l];
      for (int l = 0; l < LANES; l++) X[i * n + j][l] /= L[i * n + i][l];
    }
  }
}

static inline void LaneTranspose(PetscInt n, Lanes X[])
{
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < i; j++) {
      for (int l = 0; l < LANES; l++) {
        const PetscReal x = X[i * n + j][l];

        X[i * n + j][l] = X[j * n + i][l];
        X[j * n + i][l] = x;
      }
    }
  }
}

/* is what is left of C outside of its diagonal so small that a further sweep would change nothing? */
static inline PetscBool LaneIsDiagonal(PetscInt n, const Lanes C[])
{
  const PetscReal tolerance = 1e-13;

  for (int l = 0; l < LANES; l++) {
    PetscReal trace = 0, off = 0;

    for (PetscInt i = 0; i < n; i++) trace += C[i * n + i][l];
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < i; j++) off = PetscMax(off, PetscAbsReal(C[i * n + j][l]));
    if (off > tolerance * PetscAbsReal(trace)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* the rotation of rows and columns p and q that makes C[p][q] zero: by c and s (Golub and Van Loan, Matrix Computations, 8.5) */
static inline void LaneRotation(PetscInt n, const Lanes C[], PetscInt p, PetscInt q, Lanes c, Lanes s)
{
  for (int l = 0; l < LANES; l++) {
    const PetscReal off = C[p * n + q][l], theta = off == 0 ? 0 : (C[q * n + q][l] - C[p * n + p][l]) / (2 * off);
    const PetscReal t = off == 0 ? 0 : (theta < 0 ? -1 : 1) / (PetscAbsReal(theta) + PetscSqrtReal(theta * theta + 1));

    c[l] = 1 / PetscSqrtReal(t * t + 1);
    s[l] = t * c[l];
  }
}

/* x, y = c x - s y, s x + c y */
static inline void LaneRotate(const Lanes c, const Lanes s, Lanes x, Lanes y)
{
  for (int l = 0; l < LANES; l++) {
    const PetscReal u = x[l], v = y[l];

    x[l] = c[l] * u - s[l] * v;
    y[l] = s[l] * u + c[l] * v;
  }
}

/* the eigenvalues of symmetric matrices, on the diagonal of C afterwards, and V times their eigenvectors: Jacobi's method */
static inline void LaneJacobi(PetscInt n, Lanes C[], Lanes V[])
{
  const PetscInt most = 30;

  for (PetscInt sweep = 0; sweep < most && !LaneIsDiagonal(n, (const Lanes *)C); sweep++) {
    for (PetscInt p = 0; p < n; p++) {
      for (PetscInt q = p + 1; q < n; q++) {
        Lanes c, s;

        LaneRotation(n, (const Lanes *)C, p, q, c, s);
        for (PetscInt i = 0; i < n; i++) LaneRotate(c, s, C[i * n + p], C[i * n + q]);
        for (PetscInt i = 0; i < n; i++) LaneRotate(c, s, C[p * n + i], C[q * n + i]);
        for (PetscInt i = 0; i < n; i++) LaneRotate(c, s, V[i * n + p], V[i * n + q]);
      }
    }
  }
}

/*
  S with S' A S = diag(lambda) and S' M S = 1, on the diagonal of A afterwards, from a guess S.  M and A are overwritten; work has room for
  two matrices
*/
static inline void LaneEigen(PetscInt n, Lanes A[], Lanes M[], Lanes S[], Lanes work[])
{
  Lanes *V = work + n * n;

  LaneProduct(n, PETSC_FALSE, (const Lanes *)A, (const Lanes *)S, work);
  LaneProduct(n, PETSC_TRUE, (const Lanes *)S, (const Lanes *)work, A);
  LaneProduct(n, PETSC_FALSE, (const Lanes *)M, (const Lanes *)S, work);
  LaneProduct(n, PETSC_TRUE, (const Lanes *)S, (const Lanes *)work, M);
  LaneCholesky(n, M);
  LaneForward(n, (const Lanes *)M, A);
  LaneTranspose(n, A);
  LaneForward(n, (const Lanes *)M, A);
  for (PetscInt i = 0; i < n * n; i++)
    for (int l = 0; l < LANES; l++) V[i][l] = i % (n + 1) == 0;
  LaneJacobi(n, A, V);
  LaneBackward(n, (const Lanes *)M, V);
  LaneProduct(n, PETSC_FALSE, (const Lanes *)S, (const Lanes *)V, work);
  for (PetscInt i = 0; i < n * n; i++)
    for (int l = 0; l < LANES; l++) S[i][l] = work[i][l];
}
