/*
  Eigenproblems of patches: the fast diagonalization of the free nodes I of neighbouring cells, the generalized eigenproblem

    A_II S = M_II S diag(lambda),   S' M_II S = 1,   hence  S' A_II S = diag(lambda),

  which makes the inverse of a sum of Kronecker products cheap (Cui, Grosse-Bley, Kanschat, Strzodka, eq. 2.13 to 2.15):

    A_j^{-1} = (S x S x S) (Lambda x 1 x 1 + 1 x Lambda x 1 + 1 x 1 x Lambda)^{-1} (S x S x S)'.

  When I is symmetric about its middle, every eigenvector is even or odd.  The two halves are solved apart, which is four times
  cheaper and keeps the symmetry exact.
*/
#include <patchfd/private/fe.h>
#include <lapacke.h>
#include <math.h>

/* the largest n for which LAPACK's 32-bit work size 1 + 6 n + 2 n^2 does not overflow */
#define MAX_EIGEN_SIZE 32766

/*
  A symmetry class of vectors of length n: parity 1 is even, -1 odd, 0 no symmetry.  Such a vector is given by its first
  PatchFDFoldSize() entries; entry i is Fold()'s sign times the entry that Fold() returns.
*/
PetscInt PatchFDFoldSize(PetscInt n, int parity)
{
  return parity == 0 ? n : (parity > 0 ? (n + 1) / 2 : n / 2);
}

static PetscInt Fold(PetscInt n, int parity, PetscInt i, PetscReal *sign)
{
  const PetscInt mirror = n - 1 - i;

  *sign = 1.0;
  if (parity == 0 || i < mirror) return i;
  if (i > mirror) {
    *sign = parity;
    return mirror;
  }
  if (parity > 0) return i;
  *sign = 0.0; /* an odd vector is zero in the middle */
  return 0;
}

/* H = E' X E, E the bases of the symmetry classes of rows and columns; X has rows of length ld */
void PatchFDFold(PetscInt n, int parity, PetscInt m, int colparity, const PetscReal X[], PetscInt ld, PetscReal H[])
{
  const PetscInt h = PatchFDFoldSize(n, parity), w = PatchFDFoldSize(m, colparity);

  for (PetscCount i = 0; i < (PetscCount)h * w; i++) H[i] = 0.0;
  for (PetscInt i = 0; i < n; i++) {
    PetscReal      si, sj;
    const PetscInt fi = Fold(n, parity, i, &si);

    for (PetscInt j = 0; j < m; j++) {
      const PetscInt fj = Fold(m, colparity, j, &sj);

      if (w) H[(PetscCount)fi * w + fj] += si * sj * X[(PetscCount)i * ld + j];
    }
  }
}

static PetscBool IsThreePoint(PetscInt n, const PetscReal M[], const PetscReal A[])
{
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++)
      if ((i == j && !(M[(PetscCount)i * n + i] > 0)) || (i != j && M[(PetscCount)i * n + j] != 0) ||
          (PetscAbsInt(i - j) > 1 && A[(PetscCount)i * n + j] != 0))
        return PETSC_FALSE;
  return PETSC_TRUE;
}

/* dsygvd for a positive diagonal M and a tridiagonal A, in a tenth of the time for a thousand unknowns */
static PetscErrorCode SolveThreePoint(PetscInt n, PetscReal M[], PetscReal A[], PetscReal lambda[], lapack_int *info)
{
  PetscReal *root, *next;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &root, n, &next));
  for (PetscInt i = 0; i < n; i++) {
    root[i]   = sqrt(M[(PetscCount)i * n + i]);
    lambda[i] = A[(PetscCount)i * n + i] / M[(PetscCount)i * n + i];
    if (i) next[i - 1] = A[(PetscCount)i * n + i - 1] / (root[i] * root[i - 1]);
  }
  *info = LAPACKE_dstevd(LAPACK_COL_MAJOR, 'V', (lapack_int)n, lambda, next, A, (lapack_int)n);
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n; i++) A[(PetscCount)j * n + i] /= root[i];
  PetscCall(PetscFree2(root, next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The modes of one symmetry class become the modes `mode` .. of the whole */
static PetscErrorCode SolveClass(PetscInt n, int parity, const PetscReal M[], const PetscReal A[], PetscInt ld, PetscInt mode,
                                 PetscReal lambda[], PetscReal S[])
{
  const PetscInt h = PatchFDFoldSize(n, parity);
  PetscReal     *HM, *HA;
  lapack_int     info;

  PetscFunctionBegin;
  if (h == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2((size_t)h * h, &HM, (size_t)h * h, &HA));
  PatchFDFold(n, parity, n, parity, M, ld, HM);
  PatchFDFold(n, parity, n, parity, A, ld, HA);
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  if (IsThreePoint(h, HM, HA)) PetscCall(SolveThreePoint(h, HM, HA, lambda + mode, &info));
  else info = LAPACKE_dsygvd(LAPACK_COL_MAJOR, 1, 'V', 'L', (lapack_int)h, HA, (lapack_int)h, HM, (lapack_int)h, lambda + mode);
  PetscCall(PetscFPTrapPop());
  PetscCheck(info <= h, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "Eigenproblem of size %" PetscInt_FMT ": the mass matrix is not positive definite (dsygvd, info = %d)", h, (int)info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "Eigenproblem of size %" PetscInt_FMT
             ": dsygvd failed with info = %d (negative: an argument that is not a number, or no memory)",
             h, (int)info);
  for (PetscInt i = 0; i < n; i++) {
    PetscReal      s;
    const PetscInt f = Fold(n, parity, i, &s);

    for (PetscInt j = 0; j < h; j++) S[(PetscCount)i * n + mode + j] = s * HA[(PetscCount)j * h + f];
  }
  PetscCall(PetscFree2(HM, HA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEigenCheckSize(PetscInt n)
{
  PetscFunctionBegin;
  PetscCheck(n <= MAX_EIGEN_SIZE, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscInt_FMT " free nodes are too many for a dense eigenproblem; the limit is %d", n, MAX_EIGEN_SIZE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEigenAllocate(PetscInt n, PetscInt ext, PatchFDContinuity continuity, PatchFDEigen *e)
{
  const size_t nn = (size_t)n * n, ends = ext ? 2 * n : 0, closure = ext ? (size_t)n * (n + 2 * ext) : 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(e, sizeof(*e)));
  PetscCall(PatchFDEigenCheckSize(n));
  e->n   = n;
  e->ext = ext;
  PetscCall(PetscMalloc5(n, &e->lambda, nn, &e->S, nn, &e->T, closure, &e->MI, closure, &e->AI));
  if (ext && continuity == PATCHFD_CONTINUOUS) {
    PetscCall(PetscMalloc2(ends, &e->mu[0], ends, &e->alpha[0]));
    e->mu[1]    = e->mu[0] + n;
    e->alpha[1] = e->alpha[0] + n;
  } else if (ext) {
    PetscCall(PetscMalloc3(ends, &e->value[0], ends, &e->slope[0], 2 * ext, &e->derivative[0]));
    e->value[1]      = e->value[0] + n;
    e->slope[1]      = e->slope[0] + n;
    e->derivative[1] = e->derivative[0] + ext;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEigenDestroy(PatchFDEigen *e)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(e->lambda, e->S, e->T, e->MI, e->AI));
  PetscCall(PetscFree2(e->mu[0], e->alpha[0]));
  PetscCall(PetscFree3(e->value[0], e->slope[0], e->derivative[0]));
  PetscCall(PetscFree(e->band));
  PetscCall(PetscFree(e->wave));
  PetscCall(PetscMemzero(e, sizeof(*e)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool PatchFDMirrored(PetscInt n, PetscInt m, int sign, const PetscReal X[])
{
  PetscReal norm = 0.0, defect = 0.0;

  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < m; j++) {
      const PetscReal x = X[(PetscCount)i * m + j];

      norm   = PetscMax(norm, PetscAbsReal(x));
      defect = PetscMax(defect, PetscAbsReal(x - sign * X[(PetscCount)(n - 1 - i) * m + m - 1 - j]));
    }
  }
  return (PetscBool)(defect <= 1e-13 * norm);
}

/* Is A_II 1 zero?  Then nothing holds the patch and constants are a nullspace */
static PetscBool ConstantsInNullspace(PetscInt n, const PetscReal A[], PetscInt ld)
{
  PetscReal norm = 0.0, defect = 0.0;

  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = 0.0, abs = 0.0;

    for (PetscInt j = 0; j < n; j++) {
      sum += A[(PetscCount)i * ld + j];
      abs += PetscAbsReal(A[(PetscCount)i * ld + j]);
    }
    norm   = PetscMax(norm, abs);
    defect = PetscMax(defect, PetscAbsReal(sum));
  }
  return (PetscBool)(defect <= 1e-12 * norm);
}

/*
  T = S' M_II.  M_II is banded for a long line: only its nonzero range is visited.  With parity the second half of each row
  mirrors the first.
*/
static void InverseModes(PatchFDEigen *e, const PetscReal M[], PetscInt ld)
{
  const PetscInt n = e->n, even = (n + 1) / 2;

  for (PetscInt i = 0; i < (e->parity ? even : n); i++) {
    const PetscReal *row = M + (PetscCount)i * ld;
    PetscInt         lo = 0, hi = n;

    while (lo < hi && row[lo] == 0.0) lo++;
    while (hi > lo && row[hi - 1] == 0.0) hi--;
    for (PetscInt j = 0; j < n; j++) {
      PetscReal *T   = e->T + (PetscCount)j * n;
      PetscReal  sum = 0.0;

      for (PetscInt l = lo; l < hi; l++) sum += e->S[(PetscCount)l * n + j] * row[l];
      T[i] = sum;
      if (e->parity && i < n / 2) T[n - 1 - i] = j < even ? sum : -sum;
      else if (e->parity && j >= even) T[i] = 0.0;
    }
  }
}

/* the constant is the mode whose lambda is zero but for rounding; the first one, unless A was scaled by a negative number */
static void ZeroConstant(PatchFDEigen *e, const PetscReal A[], PetscInt ld)
{
  PetscInt constant = 0;

  if (!ConstantsInNullspace(e->n, A, ld)) return;
  for (PetscInt i = 1; i < e->n; i++)
    if (PetscAbsReal(e->lambda[i]) < PetscAbsReal(e->lambda[constant])) constant = i;
  e->lambda[constant] = 0.0;
}

/* diagonals, if they are few */
static PetscErrorCode KeepBand(PatchFDEigen *e, const PetscReal M[], const PetscReal A[])
{
  const PetscInt few = 4, n = e->n;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < i - e->width; j++)
      if (M[(PetscCount)i * n + j] != 0 || A[(PetscCount)i * n + j] != 0) e->width = i - j;
  if (e->width > few) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(2 * n * (e->width + 1), &e->band));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal *band = e->band + 2 * i * (e->width + 1);

    for (PetscInt j = 0; j <= PetscMin(i, e->width); j++) {
      band[j]                = A[(PetscCount)i * n + i - j];
      band[e->width + 1 + j] = M[(PetscCount)i * n + i - j];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEigenFinish(PatchFDEigen *e, const PetscReal M[], const PetscReal A[], PetscInt ld)
{
  PetscFunctionBegin;
  ZeroConstant(e, A, ld);
  InverseModes(e, M, ld);
  if (!e->ext) {
    PetscCall(KeepBand(e, M, A));
    PetscCall(PatchFDRingWaves(M, A, e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEigenDiagonalize(PatchFDEigen *e, const PetscReal M[], const PetscReal A[], PetscInt ld)
{
  const PetscInt n = e->n;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (e->parity) {
    PetscCall(SolveClass(n, 1, M, A, ld, 0, e->lambda, e->S));
    PetscCall(SolveClass(n, -1, M, A, ld, (n + 1) / 2, e->lambda, e->S));
  } else PetscCall(SolveClass(n, 0, M, A, ld, 0, e->lambda, e->S));
  PetscCall(PatchFDEigenFinish(e, M, A, ld));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEigenCreate(PetscInt n, const PetscReal M[], const PetscReal A[], PatchFDEigen *e)
{
  PetscFunctionBegin;
  PetscCall(PatchFDEigenAllocate(n, 0, PATCHFD_CONTINUOUS, e));
  e->parity = (PetscBool)(PatchFDMirrored(n, n, 1, M) && PatchFDMirrored(n, n, 1, A));
  PetscCall(PatchFDEigenDiagonalize(e, M, A, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the first of the sorted numbers x[n] that is not less than y, or n */
static PetscInt FindNext(PetscInt n, const PetscReal x[], PetscReal y)
{
  PetscInt lo = 0, hi = n; /* x[i] < y below lo, and not from hi on */

  while (lo < hi) {
    const PetscInt mid = (lo + hi) / 2;

    if (x[mid] < y) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

PetscErrorCode PatchFDEigenSums(const PatchFDEigen *const e[3], PetscBool constants, PetscReal *least, PetscReal *largest)
{
  PetscReal *x[3], lo = 0, hi = 0;
  PetscInt   next;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscMalloc1(e[d]->n, &x[d]));
    PetscCall(PetscArraycpy(x[d], e[d]->lambda, e[d]->n));
    PetscCall(PetscSortReal(e[d]->n, x[d]));
    lo += e[d]->n ? x[d][0] : 0;
    hi += e[d]->n ? x[d][e[d]->n - 1] : 0;
  }
  *largest = PetscMax(PetscAbsReal(lo), PetscAbsReal(hi));
  *least   = *largest;
  for (PetscInt i = 0; i < e[0]->n; i++) {
    if (!constants && (lo > 0 || hi < 0)) break; /* at an end */
    for (PetscInt j = 0; j < e[1]->n; j++) {
      const PetscReal sum   = x[0][i] + x[1][j];
      const PetscBool zeros = (PetscBool)(constants && x[0][i] == 0 && x[1][j] == 0);

      next = FindNext(e[2]->n, x[2], -sum);
      for (PetscInt k = PetscMax(0, next - 1); k <= PetscMin(e[2]->n - 1, next + 1); k++)
        if (!zeros || x[2][k] != 0) *least = PetscMin(*least, PetscAbsReal(sum + x[2][k]));
    }
  }
  if (!constants && (lo > 0 || hi < 0)) *least = PetscMin(PetscAbsReal(lo), PetscAbsReal(hi));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(x[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What the nodes below and above do to the modes: mu = S' M_{I,e} and alpha = S' A_{I,e} - lambda mu.  alpha is the coupling of
  a boundary value in the patch solve without a residual (doc/method/patches.md; in 1D: x_I = S ((S' b - sum_e alpha_e x_e) / lambda -
  sum_e mu_e x_e)).  Columns of MI and AI are zero where there is no such node, and so are mu and alpha.
*/
static void CoupleEnds(PatchFDEigen *e)
{
  const PetscInt n = e->n, ld = n + 2;

  for (int end = 0; end < 2; end++) {
    const PetscInt col = end ? n + 1 : 0;

    for (PetscInt j = 0; j < n; j++) {
      PetscReal m = 0.0, a = 0.0;

      for (PetscInt i = 0; i < n; i++) {
        m += e->S[i * n + j] * e->MI[i * ld + col];
        a += e->S[i * n + j] * e->AI[i * ld + col];
      }
      e->mu[end][j]    = m;
      e->alpha[end][j] = a - e->lambda[j] * m;
    }
  }
  if (e->parity) {
    /* equal but for rounding already: the ends mirror each other */
    for (PetscInt j = 0; j < n; j++) {
      const PetscReal s = j < (n + 1) / 2 ? 1.0 : -1.0;

      e->mu[1][j]    = s * e->mu[0][j];
      e->alpha[1][j] = s * e->alpha[0][j];
    }
  }
}

/*
  The same in a discontinuous line, A_{I,e} = value (x) (node at the vertex) + slope (x) derivative.  The basis has derivatives at the
  vertex, so that the column of any other node is a multiple of `slope`: that of the node at the far end of the neighbour is taken.
*/
static PetscErrorCode CoupleNeighbours(PatchFDEigen *e)
{
  const PetscInt  n = e->n, m = e->ext, ld = n + 2 * m;
  const PetscReal ends[] = {0.0, 1.0};
  PetscReal      *B, *D;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(2 * m, &B, 2 * m, &D));
  PetscCall(PatchFDBasis(m - 1, 2, ends, B, D, NULL));
  for (int end = 0; end < 2; end++) {
    const PetscReal *derivative = D + (end ? 0 : m); /* the neighbour above touches with its lower end */
    const PetscInt   col = end ? n + m : 0, vertex = end ? 0 : m - 1, far = m - 1 - vertex;

    PetscCall(PetscArraycpy(e->derivative[end], derivative, m));
    for (PetscInt i = 0; i < n; i++) {
      const PetscReal *A = e->AI + i * ld + col;

      e->slope[end][i] = A[far] / derivative[far];
      e->value[end][i] = A[vertex] - e->slope[end][i] * derivative[vertex];
    }
  }
  PetscCall(PetscFree2(B, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEigenCouple(PatchFDEigen *e, PatchFDContinuity continuity)
{
  PetscFunctionBegin;
  if (continuity == PATCHFD_CONTINUOUS) CoupleEnds(e);
  else PetscCall(CoupleNeighbours(e));
  PetscFunctionReturn(PETSC_SUCCESS);
}
