/* Sparse rows of floats (patchfd/private/csr.h).  All loops wait for memory, so that columns of 16 bits pay */
#include <patchfd/private/csr.h>

struct _n_PatchFDCSR {
  PetscInt         refct, m, n, nblock, narrow; /* the last: entries whose columns have 16 bits */
  PetscInt        *i;                           /* where the rows begin; m + 1 */
  PetscInt        *split;                       /* the first entries that are not left of the diagonal; NULL until they are needed */
  float           *a;
  uint16_t        *j;
  PatchFDCSRBlock *block; /* nblock, and one more that ends the last */
};

/* ---- the columns ---- */

/* the block that begins with a row and entry k */
static PetscErrorCode BlockSet(PatchFDCSR A, const PetscInt range[], PatchFDCSRBlock *b)
{
  const PetscInt entries = A->i[PetscMin(b->row + PATCHFD_CSR_BLOCK, A->m)] - A->i[b->row], max = range[PATCHFD_CSR_RANGE - 1];

  PetscFunctionBegin;
  b->first = PetscMin(range[0], max);
  PetscCheck((PetscInt64)max - b->first <= PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The rows from %" PetscInt_FMT " on have columns that are more than %d apart, found %" PetscInt_FMT " and %" PetscInt_FMT,
             b->row, PETSC_INT32_MAX, b->first, max);
  if (max - b->first <= UINT16_MAX) b->format = PATCHFD_CSR_NARROW;
  else b->format = range[PATCHFD_CSR_WINDOWS] == PETSC_INT_MAX ? PATCHFD_CSR_WINDOWED : PATCHFD_CSR_WIDE;
  for (int w = 0; w < PATCHFD_CSR_WINDOWS; w++)
    b->window[w] = b->format == PATCHFD_CSR_NARROW ? w << PATCHFD_CSR_BITS : (int32_t)PetscMin(range[w] - b->first, PETSC_INT32_MAX);
  b->at += b->at & (b->format == PATCHFD_CSR_WIDE); /* numbers of 32 bits are aligned */
  if (b->format != PATCHFD_CSR_WIDE) A->narrow += entries;
  b[1].row = PetscMin(b->row + PATCHFD_CSR_BLOCK, A->m);
  b[1].at  = b->at + entries * (b->format == PATCHFD_CSR_WIDE ? 2 : 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCreateOutline(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt range[], PatchFDCSR *csr)
{
  PatchFDCSR A;

  PetscFunctionBegin;
  PetscCall(PetscNew(&A));
  *csr      = A;
  A->refct  = 1;
  A->m      = m;
  A->n      = n;
  A->nblock = (m + PATCHFD_CSR_BLOCK - 1) / PATCHFD_CSR_BLOCK;
  PetscCall(PetscMalloc1(m + 1, &A->i));
  PetscCall(PetscArraycpy(A->i, i, m + 1));
  PetscCall(PetscCalloc1(A->nblock + 1, &A->block));
  for (PetscInt b = 0; b < A->nblock; b++) PetscCall(BlockSet(A, &range[PATCHFD_CSR_RANGE * b], &A->block[b]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRNeedEntries(PatchFDCSR A)
{
  PetscFunctionBegin;
  if (!A->a) PetscCall(PetscMalloc1(A->i[A->m] + 1, &A->a)); /* not NULL, which means something else */
  if (!A->j) PetscCall(PetscMalloc1(A->block[A->nblock].at, &A->j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRForgetEntries(PatchFDCSR A)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(A->a));
  PetscCall(PetscFree(A->j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRCreate(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], PatchFDCSR *csr)
{
  const PetscInt nblock = (m + PATCHFD_CSR_BLOCK - 1) / PATCHFD_CSR_BLOCK;
  PatchFDCSR     A;
  PetscInt      *range;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(PATCHFD_CSR_RANGE * nblock, &range)); /* no windows: here it takes longer to look into them than to read more */
  for (PetscInt b = 0; b < nblock; b++) {
    PetscInt min = PETSC_INT_MAX, max = 0;

    for (PetscInt k = i[b * PATCHFD_CSR_BLOCK]; k < i[PetscMin((b + 1) * PATCHFD_CSR_BLOCK, m)]; k++) {
      min = PetscMin(min, j[k]);
      max = PetscMax(max, j[k]);
    }
    range[PATCHFD_CSR_RANGE * b]           = min;
    range[PATCHFD_CSR_RANGE * (b + 1) - 1] = max;
  }
  PetscCall(PatchFDCSRCreateOutline(m, n, i, range, csr));
  PetscCall(PetscFree(range));
  A = *csr;
  PetscCall(PatchFDCSRNeedEntries(A));
  for (PetscInt b = 0; b < nblock; b++) {
    const PatchFDCSRBlock *block  = &A->block[b];
    uint16_t              *narrow = A->j + block->at;
    int32_t               *wide   = (int32_t *)narrow;

    for (PetscInt k = A->i[block->row]; k < A->i[block[1].row]; k++) {
      if (block->format == PATCHFD_CSR_NARROW) *narrow++ = (uint16_t)(j[k] - block->first);
      else *wide++ = (int32_t)(j[k] - block->first);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRReference(PatchFDCSR A)
{
  PetscFunctionBegin;
  A->refct++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRDestroy(PatchFDCSR *A)
{
  PetscFunctionBegin;
  if (*A && --(*A)->refct == 0) {
    PetscCall(PetscFree((*A)->i));
    PetscCall(PetscFree((*A)->split));
    PetscCall(PetscFree((*A)->a));
    PetscCall(PetscFree((*A)->j));
    PetscCall(PetscFree((*A)->block));
    PetscCall(PetscFree(*A));
  }
  *A = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRSetValues(PatchFDCSR A, const PetscScalar a[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < A->i[A->m]; k++) A->a[k] = (float)a[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the columns of a block; what the format is, the compiler knows */
typedef struct {
  const void      *j;
  PatchFDCSRFormat format;
  const int32_t   *window;
} Columns;

static inline PetscInt Column(Columns c, PetscInt k)
{
  const uint16_t *packed = (const uint16_t *)c.j;

  if (c.format == PATCHFD_CSR_WIDE) return ((const int32_t *)c.j)[k];
  return c.format == PATCHFD_CSR_NARROW ? packed[k] : c.window[packed[k] >> PATCHFD_CSR_BITS] + (packed[k] & PATCHFD_CSR_MASK);
}

/*
  For each block, with its `first` row, the one after its `last`, and columns c, which are those of entry k if counted from A->i[first]:
  the work is compiled once for each format
*/
#define FOR_BLOCKS(A, direction, Work, ...) \
  do { \
    for (PetscInt block_ = 0; block_ < (A)->nblock; block_++) { \
      const PatchFDCSRBlock *b_ = &(A)->block[(direction) > 0 ? block_ : (A)->nblock - 1 - block_]; \
      const uint16_t        *j_ = (A)->j + b_->at; \
      const PetscInt         i_ = (A)->i[b_->row]; \
\
      if (b_->format == PATCHFD_CSR_NARROW) Work(A, b_, ((Columns){j_ - i_, PATCHFD_CSR_NARROW, NULL}), __VA_ARGS__); \
      else if (b_->format == PATCHFD_CSR_WINDOWED) Work(A, b_, ((Columns){j_ - i_, PATCHFD_CSR_WINDOWED, b_->window}), __VA_ARGS__); \
      else Work(A, b_, ((Columns){(const int32_t *)j_ - i_, PATCHFD_CSR_WIDE, NULL}), __VA_ARGS__); \
    } \
  } while (0)
#define WORK static inline __attribute__((always_inline)) void

WORK BlockGet(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, PetscInt j[])
{
  for (PetscInt k = A->i[b->row]; k < A->i[b[1].row]; k++) j[k] = b->first + Column(c, k);
}

PetscErrorCode PatchFDCSRGet(PatchFDCSR A, PetscInt i[], PetscInt j[], PetscScalar a[])
{
  PetscFunctionBegin;
  if (i) PetscCall(PetscArraycpy(i, A->i, A->m + 1));
  if (j) FOR_BLOCKS(A, 1, BlockGet, j);
  for (PetscInt k = 0; a && k < A->i[A->m]; k++) a[k] = A->a[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRGetArrays(PatchFDCSR A, PatchFDCSRArrays *arrays)
{
  PetscFunctionBegin;
  *arrays = (PatchFDCSRArrays){A->m, A->n, A->nblock, A->i, A->a, A->j, A->block};
  PetscFunctionReturn(PETSC_SUCCESS);
}

WORK BlockCompare(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, const PetscInt j[], PetscBool *same)
{
  PetscInt others = 0;

  for (PetscInt k = A->i[b->row]; k < A->i[b[1].row]; k++) others += j[k] != b->first + Column(c, k);
  if (others) *same = PETSC_FALSE;
}

PetscErrorCode PatchFDCSRHasPattern(PatchFDCSR A, PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], PetscBool *same)
{
  PetscFunctionBegin;
  *same = (PetscBool)(A->m == m && A->n == n);
  if (*same) PetscCall(PetscArraycmp(A->i, i, m + 1, same));
  if (*same) FOR_BLOCKS(A, 1, BlockCompare, j, same);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRGetSize(PatchFDCSR A, PetscCount *entries, PetscCount *narrow, PetscLogDouble *bytes)
{
  PetscFunctionBegin;
  *entries = A->i[A->m];
  *narrow  = A->narrow;
  *bytes   = (PetscLogDouble)(*entries * (PetscCount)sizeof(float) + A->block[A->nblock].at * (PetscCount)sizeof(uint16_t)) +
           (PetscLogDouble)((A->split ? 2 : 1) * (A->m + 1)) * sizeof(PetscInt) + (PetscLogDouble)(A->nblock + 1) * sizeof(PatchFDCSRBlock);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products ---- */

/* sum of a[k] x[column k], `from` <= k < `to` */
static inline __attribute__((always_inline)) float RowSum(PetscInt from, PetscInt to, const float a[], Columns c, const float x[])
{
  float    s0 = 0, s1 = 0, s2 = 0, s3 = 0; /* sums that do not wait for each other */
  PetscInt k = from;

  for (; k + 4 <= to; k += 4) {
    s0 += a[k] * x[Column(c, k)];
    s1 += a[k + 1] * x[Column(c, k + 1)];
    s2 += a[k + 2] * x[Column(c, k + 2)];
    s3 += a[k + 3] * x[Column(c, k + 3)];
  }
  for (; k < to; k++) s0 += a[k] * x[Column(c, k)];
  return (s0 + s1) + (s2 + s3);
}

WORK BlockMult(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, float s, const float x[], const float z[], float y[])
{
  for (PetscInt r = b->row; r < b[1].row; r++) y[r] = (z ? z[r] : 0) + s * RowSum(A->i[r], A->i[r + 1], A->a, c, x + b->first);
}

PetscErrorCode PatchFDCSRMult(PatchFDCSR A, float s, const float x[], const float z[], float y[])
{
  PetscFunctionBegin;
  FOR_BLOCKS(A, 1, BlockMult, s, x, z, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

WORK BlockMultTransposeAdd(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, const float x[], float y[])
{
  float *yb = y + b->first;

  for (PetscInt r = b->row; r < b[1].row; r++)
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) yb[Column(c, k)] += A->a[k] * x[r];
}

PetscErrorCode PatchFDCSRMultTransposeAdd(PatchFDCSR A, const float x[], float y[])
{
  PetscFunctionBegin;
  FOR_BLOCKS(A, 1, BlockMultTransposeAdd, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

WORK BlockSplit(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, PetscInt split[])
{
  for (PetscInt r = b->row; r < b[1].row; r++)
    for (split[r] = A->i[r]; split[r] < A->i[r + 1] && b->first + Column(c, split[r]) < r;) split[r]++;
}

WORK BlockGetDiagonal(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, float d[])
{
  for (PetscInt r = b->row; r < b[1].row; r++) {
    const PetscInt k = A->split[r];

    d[r] = k < A->i[r + 1] && b->first + Column(c, k) == r ? A->a[k] : 0;
  }
}

PetscErrorCode PatchFDCSRGetDiagonal(PatchFDCSR A, float d[])
{
  PetscFunctionBegin;
  if (!A->split) {
    PetscCall(PetscMalloc1(A->m, &A->split));
    FOR_BLOCKS(A, 1, BlockSplit, A->split);
  }
  FOR_BLOCKS(A, 1, BlockGetDiagonal, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRReciprocal(PetscInt n, float omega, float shift, float d[], PetscBool *zero)
{
  PetscFunctionBegin;
  *zero = PETSC_FALSE;
  for (PetscInt r = 0; r < n; r++) {
    *zero = (PetscBool)(*zero || d[r] + shift == 0);
    d[r]  = omega / (d[r] + shift);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A row waits for the row before it, whose x is in its last entry below the diagonal, or in its first one above.  That one is apart from the
  others, so that a row ends with one multiplication and addition after it; and that x is handed on, since to write it and to read it again
  takes longer than to compute it
*/
typedef struct {
  float sum, a, x; /* of the others; the entry, and the number that it multiplies */
} Waiting;

/* before: the x of row r - 1, or, downwards, of row r + 1 */
static inline __attribute__((always_inline)) Waiting RowUpTo(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, PetscInt r, PetscInt to,
                                                             const float x[], float before)
{
  PetscInt last;

  if (to == A->i[r]) return (Waiting){0, 0, 0};
  last = b->first + Column(c, to - 1);
  return (Waiting){RowSum(A->i[r], to - 1, A->a, c, x + b->first), A->a[to - 1], last == r - 1 ? before : x[last]};
}

static inline __attribute__((always_inline)) Waiting RowDownTo(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, PetscInt r, PetscInt from,
                                                               const float x[], float before)
{
  PetscInt next;

  if (from >= A->i[r + 1]) return (Waiting){0, 0, 0}; /* > in a row without a diagonal, which is a zero pivot */
  next = b->first + Column(c, from);
  return (Waiting){RowSum(from + 1, A->i[r + 1], A->a, c, x + b->first), A->a[from], next == r + 1 ? before : x[next]};
}

/* t = b - what is left of the diagonal, which a sweep backwards uses again */
WORK BlockForward(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, const PatchFDRelaxation *s, const float scale[], const float rhs[],
                  float t[], float x[])
{
  const float *xb     = x + b->first;
  float        before = b->row ? x[b->row - 1] : 0;

  for (PetscInt r = b->row; r < b[1].row; r++) {
    const Waiting w     = RowUpTo(A, b, c, r, A->split[r], x, before);
    const float   right = s->zero ? 0 : RowSum(A->split[r] + 1, A->i[r + 1], A->a, c, xb);
    const float   old   = s->zero ? 0 : (1 - s->omega) * x[r];

    before = old + scale[r] * (rhs[r] - w.sum - right) - scale[r] * w.a * w.x;
    t[r]   = rhs[r] - w.sum - w.a * w.x;
    x[r]   = before;
  }
}

WORK BlockBackward(PatchFDCSR A, const PatchFDCSRBlock *b, Columns c, const PatchFDRelaxation *s, const float scale[], const float rhs[],
                   const float t[], float x[])
{
  const float *xb     = x + b->first;
  float        before = b[1].row < A->m ? x[b[1].row] : 0;

  for (PetscInt r = b[1].row - 1; r >= b->row; r--) {
    const Waiting w    = RowDownTo(A, b, c, r, A->split[r] + 1, x, before);
    const float   rest = s->forward ? t[r] : rhs[r] - (s->zero ? 0 : RowSum(A->i[r], A->split[r], A->a, c, xb));
    const float   old  = s->zero && !s->forward ? 0 : (1 - s->omega) * x[r];

    before = old + scale[r] * (rest - w.sum) - scale[r] * w.a * w.x;
    x[r]   = before;
  }
}

PetscErrorCode PatchFDCSRSweep(PatchFDCSR A, const PatchFDRelaxation *s, const float scale[], const float b[], float t[], float x[])
{
  PetscFunctionBegin;
  if (s->forward) FOR_BLOCKS(A, 1, BlockForward, s, scale, b, t, x);
  if (s->backward) FOR_BLOCKS(A, -1, BlockBackward, s, scale, b, t, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- triangular solves ---- */

WORK BlockLower(PatchFDCSR L, const PatchFDCSRBlock *b, Columns c, const float rhs[], float x[])
{
  float before = b->row ? x[b->row - 1] : 0;

  for (PetscInt r = b->row; r < b[1].row; r++) {
    const Waiting w = RowUpTo(L, b, c, r, L->i[r + 1], x, before);

    x[r] = before = rhs[r] - w.sum - w.a * w.x;
  }
}

WORK BlockUpper(PatchFDCSR U, const PatchFDCSRBlock *b, Columns c, const float inverse[], float x[])
{
  float before = b[1].row < U->m ? x[b[1].row] : 0;

  for (PetscInt r = b[1].row - 1; r >= b->row; r--) {
    const Waiting w = RowDownTo(U, b, c, r, U->i[r], x, before);

    x[r] = before = inverse[r] * (x[r] - w.sum) - inverse[r] * w.a * w.x;
  }
}

PetscErrorCode PatchFDCSRSolve(PatchFDCSR lower, PatchFDCSR upper, const float inverse[], const float b[], float x[])
{
  PetscFunctionBegin;
  FOR_BLOCKS(lower, 1, BlockLower, b, x);
  FOR_BLOCKS(upper, -1, BlockUpper, inverse, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

WORK BlockUpperTranspose(PatchFDCSR U, const PatchFDCSRBlock *b, Columns c, const float inverse[], float x[])
{
  for (PetscInt r = b->row; r < b[1].row; r++) {
    x[r] *= inverse[r];
    for (PetscInt k = U->i[r]; k < U->i[r + 1]; k++) x[b->first + Column(c, k)] -= U->a[k] * x[r];
  }
}

WORK BlockLowerTranspose(PatchFDCSR L, const PatchFDCSRBlock *b, Columns c, float x[])
{
  for (PetscInt r = b[1].row - 1; r >= b->row; r--)
    for (PetscInt k = L->i[r]; k < L->i[r + 1]; k++) x[b->first + Column(c, k)] -= L->a[k] * x[r];
}

PetscErrorCode PatchFDCSRSolveTranspose(PatchFDCSR lower, PatchFDCSR upper, const float inverse[], float x[])
{
  PetscFunctionBegin;
  FOR_BLOCKS(upper, 1, BlockUpperTranspose, inverse, x);
  FOR_BLOCKS(lower, -1, BlockLowerTranspose, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}
