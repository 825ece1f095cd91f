/*
  The eigenvectors of a ring of N equal cells, whose matrices are block circulant: with the `stride` nodes of a cell from its first one on,
  modes of frequency theta = 2 pi r / N have u_b exp(i theta c) / sqrt(N) at node b of cell c, where

    A_r u = lambda M_r u,   A_r = sum over columns m cells above their row of A's entries times exp(i theta m)

  is Hermitian of size `stride`.  Frequencies theta and 2 pi - theta have conjugate modes: sqrt(2) times real and imaginary part are two
  real ones.  Those of theta = 0 and pi are real.
*/
#include <patchfd/private/fe.h>
#include <lapacke.h>
#include <math.h>

/* column by column; the nodes of a cell beyond its own are the first ones of the next cell */
static void FrequencyMatrix(const PatchFDBand *b, PetscReal theta, lapack_complex_double H[])
{
  const PetscInt k = b->stride, width = PatchFDBandWidth(b);

  for (PetscInt i = 0; i < k * k; i++) H[i] = 0;
  for (PetscInt a = 0; a < b->nloc; a++) {
    for (PetscInt l = 0; l < width; l++) {
      const PetscInt  col = (1 + l / b->ncol - b->reach) * k + l % b->ncol; /* from the first node of the cell below on */
      const PetscReal m = (PetscReal)(col / k - 1 - a / k), x = b->X[a * width + l];

      H[col % k * k + a % k] += lapack_make_complex_double(x * cos(theta * m), theta == 0 || theta == PETSC_PI ? 0 : x * sin(theta * m));
    }
  }
}

/* mode u becomes column `mode` of S, and, unless the frequency has no other, the one after it */
static void SetModes(PetscInt N, PetscInt k, PetscInt r, const lapack_complex_double u[], PetscInt mode, PetscReal S[])
{
  const PetscBool two = (PetscBool)(r > 0 && 2 * r < N);
  const PetscReal s   = sqrt((two ? 2.0 : 1.0) / (PetscReal)N);

  for (PetscInt c = 0; c < N; c++) {
    const PetscReal phi = 2 * PETSC_PI * (PetscReal)((PetscInt)((PetscInt64)r * c % N)) / (PetscReal)N, x = cos(phi), y = sin(phi);

    for (PetscInt b = 0; b < k; b++) {
      const PetscReal re = lapack_complex_double_real(u[b]), im = lapack_complex_double_imag(u[b]);
      PetscReal      *to = &S[((PetscCount)c * k + b) * N * k + mode];

      to[0] = s * (x * re - y * im);
      if (two) to[1] = s * (x * im + y * re);
    }
  }
}

PetscErrorCode PatchFDRingModes(PetscInt N, const PatchFDBand *M, const PatchFDBand *A, PetscReal lambda[], PetscReal S[])
{
  const PetscInt         k       = A->stride;
  PetscInt               mode[2] = {0, N % 2 ? 0 : N * k / 2};
  PetscReal             *l;
  lapack_complex_double *HM, *HA;
  lapack_int             info;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(k, &l, k * k, &HM, k * k, &HA));
  for (PetscInt r = 0; 2 * r <= N; r++) {
    const PetscReal theta = 2 * r == N ? PETSC_PI : 2 * PETSC_PI * (PetscReal)r / (PetscReal)N;
    PetscInt       *at = &mode[N % 2 ? 0 : r % 2], count = r > 0 && 2 * r < N ? 2 : 1;

    FrequencyMatrix(M, theta, HM);
    FrequencyMatrix(A, theta, HA);
    PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
    info = LAPACKE_zhegvd(LAPACK_COL_MAJOR, 1, 'V', 'L', (lapack_int)k, HA, (lapack_int)k, HM, (lapack_int)k, l);
    PetscCall(PetscFPTrapPop());
    PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Eigenproblem of size %" PetscInt_FMT ": zhegvd failed with info = %d", k,
               (int)info);
    for (PetscInt j = 0; j < k; j++, *at += count) {
      SetModes(N, k, r, &HA[j * k], *at, S);
      for (PetscInt i = 0; i < count; i++) lambda[*at + i] = l[j];
    }
  }
  PetscCall(PetscFree3(l, HM, HA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is each row the one above it, moved by one, but for rounding? */
static PetscBool IsCirculant(PetscInt n, const PetscReal X[])
{
  PetscReal norm = 0, defect = 0;

  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const PetscReal x = X[(PetscCount)i * n + j];

      norm   = PetscMax(norm, PetscAbsReal(x));
      defect = PetscMax(defect, PetscAbsReal(x - X[(PetscCount)((i + 1) % n) * n + (j + 1) % n]));
    }
  }
  return (PetscBool)(defect <= 1e-13 * norm);
}

PetscErrorCode PatchFDRingWaves(const PetscReal M[], const PetscReal A[], PatchFDEigen *e)
{
  const PetscInt n = e->n;

  PetscFunctionBegin;
  if (e->band || !IsCirculant(n, M) || !IsCirculant(n, A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(2 * n, &e->wave));
  for (PetscInt r = 0; r < n; r++) {
    PetscReal m = 0, a = 0;

    for (PetscInt j = 0; j < n; j++) {
      const PetscReal x = PetscCosReal(2 * PETSC_PI * (PetscReal)((PetscInt)((PetscInt64)r * j % n)) / (PetscReal)n);

      m += x * M[j];
      a += x * A[j];
    }
    e->wave[r]     = a / m;
    e->wave[n + r] = 1 / PetscSqrtReal(m * (PetscReal)n);
  }
  for (PetscInt i = 0; i < n; i++) /* constants are a null space */
    if (e->lambda[i] == 0) e->wave[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
