/*
  Patches and their eigenproblems.

  First the fast diagonalization of the free nodes I of neighbouring cells, the generalized eigenproblem

    A_II S = M_II S diag(lambda),   S' M_II S = 1,   hence  S' A_II S = diag(lambda),

  which makes the inverse of a sum of Kronecker products cheap (Cui, Grosse-Bley, Kanschat, Strzodka, eq. 2.13 to 2.15):

    A_j^{-1} = (S x S x S) (Lambda x 1 x 1 + 1 x Lambda x 1 + 1 x 1 x Lambda)^{-1} (S x S x S)'.

  When I is symmetric about its middle, every eigenvector is even or odd.  The two halves are solved apart, which is four times
  cheaper and keeps the symmetry exact.  Then a whole line as one patch, and the cover of a line by small patches.
*/
#include <patchfd/private/fe.h>
#include <lapacke.h>
#include <math.h>

/* the largest n for which LAPACK's 32-bit work size 1 + 6 n + 2 n^2 does not overflow */
#define MAX_EIGEN_SIZE 32766

/* The band assembled from the cells first .. end - 1 for rows row .. row + nrows - 1 and columns col .. col + ncols - 1, or, where `ring`
   holds, for those modulo their number */
static void Assemble(const PatchFDBand *b, PetscInt first, PetscInt end, PetscInt row, PetscInt nrows, PetscInt col, PetscInt ncols,
                     PetscBool ring, PetscReal X[])
{
  const PetscInt n = b->nloc, m = b->ncol, width = PatchFDBandWidth(b);

  for (PetscCount i = 0; i < (PetscCount)nrows * ncols; i++) X[i] = 0.0;
  for (PetscInt c = first; c < end; c++) {
    const PetscReal *Xc = b->X + b->cls[c] * n * width;

    for (PetscInt a = 0; a < n; a++) {
      PetscInt i = c * b->stride + a - row;

      if (ring) i %= nrows;
      if (i < 0 || i >= nrows) continue;
      for (PetscInt l = 0; l < width; l++) {
        PetscInt j = (c - b->reach + l / m) * b->cstride + l % m - col;

        if (ring) j = (j + ncols) % ncols;
        if (j >= 0 && j < ncols) X[(PetscCount)i * ncols + j] += Xc[a * width + l];
      }
    }
  }
}

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

static PetscErrorCode CheckSize(PetscInt n)
{
  PetscFunctionBegin;
  PetscCheck(n <= MAX_EIGEN_SIZE, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscInt_FMT " free nodes are too many for a dense eigenproblem; the limit is %d", n, MAX_EIGEN_SIZE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `ext` is 0 if the patch is the whole line */
static PetscErrorCode Allocate(PetscInt n, PetscInt ext, PatchFDContinuity continuity, PatchFDEigen *e)
{
  const size_t nn = (size_t)n * n, ends = ext ? 2 * n : 0, closure = ext ? (size_t)n * (n + 2 * ext) : 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(e, sizeof(*e)));
  PetscCall(CheckSize(n));
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

/* lambda, S and T of the matrices M_II and A_II, which have rows of length ld */
static PetscErrorCode Diagonalize(PatchFDEigen *e, const PetscReal M[], const PetscReal A[], PetscInt ld)
{
  const PetscInt n = e->n;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (e->parity) {
    PetscCall(SolveClass(n, 1, M, A, ld, 0, e->lambda, e->S));
    PetscCall(SolveClass(n, -1, M, A, ld, (n + 1) / 2, e->lambda, e->S));
  } else PetscCall(SolveClass(n, 0, M, A, ld, 0, e->lambda, e->S));
  ZeroConstant(e, A, ld);
  InverseModes(e, M, ld);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDEigenCreate(PetscInt n, const PetscReal M[], const PetscReal A[], PatchFDEigen *e)
{
  PetscFunctionBegin;
  PetscCall(Allocate(n, 0, PATCHFD_CONTINUOUS, e));
  e->parity = (PetscBool)(PatchFDMirrored(n, n, 1, M) && PatchFDMirrored(n, n, 1, A));
  PetscCall(Diagonalize(e, M, A, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLineEigenCreate(const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, PatchFDEigen *e)
{
  const PetscBool ring = (PetscBool)(line->turn > 0);
  PetscInt        first, end, n;
  PetscReal      *MI, *AI;

  PetscFunctionBegin;
  PatchFDLineUnknowns(line, &first, &end);
  n = end - first;
  PetscCall(CheckSize(n));
  PetscCall(PetscMalloc2((size_t)n * n, &MI, (size_t)n * n, &AI));
  Assemble(M, line->turn, line->ncells - line->turn, first, n, first, n, ring, MI);
  Assemble(A, line->turn, line->ncells - line->turn, first, n, first, n, ring, AI);
  if (ring && M->nclass == 1 && A->nclass == 1) {
    PetscCall(Allocate(n, 0, line->continuity, e));
    e->halfturn = (PetscBool)(line->turn % 2 == 0);
    PetscCall(PatchFDRingModes(line->turn, M, A, e->lambda, e->S));
    ZeroConstant(e, AI, n);
    InverseModes(e, MI, n);
  } else PetscCall(PatchFDEigenCreate(n, MI, AI, e));
  PetscCall(PetscFree2(MI, AI));
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

/* A patch while the cover is made: its cells first .. end - 1, its free nodes row .. row + n - 1, and whether there are nodes below and
   above them */
typedef struct {
  PetscInt  first, end, row, n;
  PetscBool neighbour[2];
} Patch;

/* Does the line end with the patch of the cells first .. end - 1?  A ring does not */
static PetscBool EndsHere(const PatchFDLine *line, PetscInt first, PetscInt end, int e)
{
  return (PetscBool)(!line->turn && (e ? end == line->ncells : first == 0));
}

/* The patch of the cells c .. end - 1.  In a continuous line it ends before the nodes that it shares with other cells */
static Patch GetPatch(const PatchFDLine *line, PetscInt c, PetscInt end)
{
  const PetscInt stride = line->stride, shared = line->continuity == PATCHFD_CONTINUOUS ? 1 : 0;
  PetscInt       free[2], rowend;
  Patch          p;

  PatchFDLineFree(line, &free[0], &free[1]);
  p.first        = c;
  p.end          = end;
  p.row          = EndsHere(line, c, end, 0) ? free[0] : c * stride + shared;
  rowend         = EndsHere(line, c, end, 1) ? free[1] : end * stride;
  p.n            = rowend - p.row;
  p.neighbour[0] = (PetscBool)(line->turn || p.row > 0);
  p.neighbour[1] = (PetscBool)(line->turn || rowend < line->nnodes);
  return p;
}

/* The patch that starts at cell c: two cells, or the only one of the line */
static Patch GetVertexPatch(const PatchFDLine *line, PetscInt c)
{
  return GetPatch(line, c, PetscMin(c + 2, line->ncells));
}

/* A patch of a cover: one alone has the whole line */
static Patch GetCovered(const PatchFDLine *line, const PatchFDPatches *cover, PetscInt i)
{
  return cover->npatch == 1 ? GetPatch(line, 0, line->ncells) : GetVertexPatch(line, cover->cell[i]);
}

/* Patches with equal cells and equal neighbours have the same matrices */
static PetscBool SameClass(const PatchFDBand *b, const Patch *p, const Patch *q)
{
  return (PetscBool)(b->cls[p->first] == b->cls[q->first] && b->cls[p->end - 1] == b->cls[q->end - 1] &&
                     p->neighbour[0] == q->neighbour[0] && p->neighbour[1] == q->neighbour[1]);
}

static PetscErrorCode PatchEigenCreate(const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, const Patch *p, PatchFDEigen *e)
{
  const PetscBool continuous = (PetscBool)(line->continuity == PATCHFD_CONTINUOUS);
  const PetscInt  ext = continuous ? 1 : line->stride, ld = p->n + 2 * ext;

  PetscFunctionBegin;
  PetscCall(Allocate(p->n, ext, line->continuity, e));
  Assemble(M, p->first, p->end, p->row, p->n, p->row - ext, ld, PETSC_FALSE, e->MI);
  Assemble(A, p->first, p->end, p->row, p->n, p->row - ext, ld, PETSC_FALSE, e->AI);
  e->parity = (PetscBool)(p->neighbour[0] == p->neighbour[1] && PatchFDMirrored(p->n, ld, 1, e->MI) && PatchFDMirrored(p->n, ld, 1, e->AI));
  PetscCall(Diagonalize(e, e->MI + ext, e->AI + ext, ld));
  if (continuous) CoupleEnds(e);
  else PetscCall(CoupleNeighbours(e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDPieceFree(const PatchFDLine *line, PetscInt first, PetscInt end, PetscInt *row, PetscInt *n)
{
  const Patch p = GetPatch(line, first, end);

  *row = p.row;
  *n   = p.n;
}

PetscErrorCode PatchFDPieceEigenCreate(const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, PetscInt first, PetscInt end,
                                       PatchFDEigen *e)
{
  const Patch p = GetPatch(line, first, end);

  PetscFunctionBegin;
  PetscCall(PatchEigenCreate(line, M, A, &p, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* only in a line of one cell can there be nothing free */
static PetscInt CountPatches(const PatchFDLine *line)
{
  return GetVertexPatch(line, 0).n ? PetscMax(line->ncells - 1, 1) : 0;
}

/* The cover without classes */
static PetscErrorCode CoverCreate(const PatchFDLine *line, PatchFDPatches *patches)
{
  const PetscInt npatch = CountPatches(line);

  PetscFunctionBegin;
  PetscCall(PetscMemzero(patches, sizeof(*patches)));
  patches->npatch = npatch;
  PetscCall(PetscMalloc4(npatch, &patches->cell, npatch, &patches->first, npatch, &patches->n, npatch, &patches->cls));
  for (PetscInt i = 0; i < npatch; i++) {
    const Patch p = GetVertexPatch(line, i);

    patches->cell[i]  = p.first;
    patches->first[i] = p.row;
    patches->n[i]     = p.n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A patch has the class of the patch before it or a new one: a uniform line has one in its interior, a graded line one a patch */
PetscErrorCode PatchFDPatchesCreate(const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, PatchFDPatches *patches)
{
  PetscInt npatch;
  Patch    p, last = {0};

  PetscFunctionBegin;
  PetscCall(CoverCreate(line, patches));
  npatch = patches->npatch;
  for (PetscInt i = 0; i < npatch; i++, last = p) {
    p = GetVertexPatch(line, i);
    if (i == 0 || !SameClass(M, &p, &last) || !SameClass(A, &p, &last)) patches->nclass++;
    patches->cls[i] = patches->nclass - 1;
  }
  PetscCall(PetscCalloc1(patches->nclass, &patches->eigen));
  for (PetscInt i = 0; i < npatch; i++) {
    if (i > 0 && patches->cls[i] == patches->cls[i - 1]) continue;
    p = GetVertexPatch(line, i);
    PetscCall(PatchEigenCreate(line, M, A, &p, &patches->eigen[patches->cls[i]]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDPatchesCreateWhole(const PatchFDLine *line, PatchFDPatches *patches)
{
  const Patch p = GetPatch(line, 0, line->ncells);

  PetscFunctionBegin;
  PetscCall(PetscMemzero(patches, sizeof(*patches)));
  PetscCall(PetscMalloc4(1, &patches->cell, 1, &patches->first, 1, &patches->n, 1, &patches->cls));
  patches->npatch  = p.n ? 1 : 0;
  patches->nclass  = patches->npatch;
  patches->cell[0] = patches->cls[0] = 0;
  patches->first[0]                  = p.row;
  patches->n[0]                      = p.n;
  PetscCall(PetscCalloc1(patches->nclass, &patches->eigen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDPatchesDestroy(PatchFDPatches *patches)
{
  PetscFunctionBegin;
  for (PetscInt r = 0; r < patches->nclass; r++) PetscCall(PatchFDEigenDestroy(&patches->eigen[r]));
  PetscCall(PetscFree(patches->eigen));
  PetscCall(PetscFree4(patches->cell, patches->first, patches->n, patches->cls));
  PetscCall(PetscMemzero(patches, sizeof(*patches)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- patches as meshes of their own ---- */

/* What tells the patch that begins at cell c from others: its lengths, and the ends of the line that it has */
typedef struct {
  PetscInt  cells[2];
  PetscBool end[2];
} AloneKey;

static AloneKey GetAloneKey(const PatchFDLine *line, const PatchFDBand *M, PetscInt c)
{
  const Patch p   = GetVertexPatch(line, c);
  AloneKey    key = {.cells = {M->cls[p.first], M->cls[p.end - 1]}};

  for (int e = 0; e < 2; e++) key.end[e] = (PetscBool)(!(line->dirichlet[e] && line->clamped[e]) && EndsHere(line, p.first, p.end, e));
  return key;
}

static PetscErrorCode LineAloneCreate(const PatchFDLine *line, const Patch *p, PatchFDLine *alone)
{
  const PetscBool inside[2]    = {(PetscBool)!EndsHere(line, p->first, p->end, 0), (PetscBool)!EndsHere(line, p->first, p->end, 1)};
  const PetscBool dirichlet[2] = {(PetscBool)(inside[0] || line->dirichlet[0]), (PetscBool)(inside[1] || line->dirichlet[1])};

  PetscFunctionBegin;
  PetscCall(PatchFDLineCreate(line->continuity, line->degree, p->end - p->first, line->vertices + p->first, dirichlet, alone));
  for (int e = 0; e < 2; e++) alone->clamped[e] = (PetscBool)(inside[e] || line->clamped[e]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLinesAloneCreate(const PatchFDLine *line, const PatchFDBand *M, PatchFDLinesAlone *l)
{
  AloneKey key, last = {0};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(l, sizeof(*l)));
  l->npatch = CountPatches(line);
  PetscCall(PetscMalloc1(l->npatch, &l->cls));
  PetscCall(PetscMalloc1(l->npatch, &l->line));
  for (PetscInt i = 0; i < l->npatch; i++, last = key) {
    const Patch p = GetVertexPatch(line, i);

    key = GetAloneKey(line, M, i);
    if (i == 0 || key.cells[0] != last.cells[0] || key.cells[1] != last.cells[1] || key.end[0] != last.end[0] || key.end[1] != last.end[1])
      PetscCall(LineAloneCreate(line, &p, &l->line[l->nclass++]));
    l->cls[i] = l->nclass - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLinesAloneDestroy(PatchFDLinesAlone *l)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < l->nclass; c++) PetscCall(PatchFDLineDestroy(&l->line[c]));
  PetscCall(PetscFree(l->line));
  PetscCall(PetscFree(l->cls));
  PetscCall(PetscMemzero(l, sizeof(*l)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDPatchesCreateAlone(const PatchFDLine *line, const PatchFDLinesAlone *alone, PatchFDEigen eigen[],
                                         PatchFDPatches *patches)
{
  PetscFunctionBegin;
  PetscCall(CoverCreate(line, patches));
  patches->nclass = alone->nclass;
  PetscCall(PetscArraycpy(patches->cls, alone->cls, patches->npatch));
  PetscCall(PetscMalloc1(patches->nclass, &patches->eigen));
  PetscCall(PetscArraycpy(patches->eigen, eigen, patches->nclass));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows ---- */

PetscErrorCode PatchFDRowsCreate(const PatchFDBand *b, const PatchFDLine *row, const PatchFDPatches *rowcover, const PatchFDLine *col,
                                 const PatchFDPatches *colcover, PatchFDRows *rows)
{
  Patch      p, q, last[2] = {{0}, {0}};
  PetscCount size = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(rows, sizeof(*rows)));
  rows->ext    = b->reach * col->stride + (col->continuity == PATCHFD_CONTINUOUS && col->stride ? 1 : 0);
  rows->npatch = rowcover->npatch;
  PetscCall(PetscMalloc1(rows->npatch, &rows->cls));
  PetscCall(PetscMalloc1(rows->npatch + 1, &rows->at));
  for (PetscInt i = 0; i < rows->npatch; i++, last[0] = p, last[1] = q) {
    p = GetCovered(row, rowcover, i);
    q = GetCovered(col, colcover, i);
    if (i == 0 || !SameClass(b, &p, &last[0]) || q.n != last[1].n) {
      rows->at[rows->nclass++] = size;
      size += (PetscCount)p.n * (q.n + 2 * rows->ext);
    }
    rows->cls[i] = rows->nclass - 1;
  }
  rows->at[rows->nclass] = size;
  PetscCall(PetscMalloc1(size, &rows->X));
  for (PetscInt i = 0; i < rows->npatch; i++) {
    if (i > 0 && rows->cls[i] == rows->cls[i - 1]) continue;
    p = GetCovered(row, rowcover, i);
    q = GetCovered(col, colcover, i);
    Assemble(b, p.first, p.end, p.row, p.n, q.row - rows->ext, q.n + 2 * rows->ext, PETSC_FALSE, rows->X + rows->at[rows->cls[i]]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRowsDestroy(PatchFDRows *rows)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(rows->cls));
  PetscCall(PetscFree(rows->at));
  PetscCall(PetscFree(rows->X));
  PetscCall(PetscMemzero(rows, sizeof(*rows)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRowsBlock(const PatchFDRows *rows, PetscInt n, PetscInt ncol, PetscInt patch, PetscReal X[])
{
  const PetscReal *from = rows->X + rows->at[rows->cls[patch]];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscArraycpy(X + i * ncol, from + i * (ncol + 2 * rows->ext) + rows->ext, ncol));
  PetscFunctionReturn(PETSC_SUCCESS);
}
