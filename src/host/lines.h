/*
  What every host kernel is made of: small matrices applied to lines of vectors.

  A batch of VL cells or patches is worked on at once, one in each lane of a SIMD vector V.  A block of node values is an array
  of V, x fastest: block[(k * n[1] + j) * n[0] + i] holds node (i, j, k) of every item of the batch.  So all arithmetic is on
  whole vectors, whatever the degree, and only gather() and scatter() see the grid's layout.

  The including file defines REAL.  The width of a vector follows what the compiler was told to use.
*/
#pragma once
#include <patchfd/private/kernels.h>
#include <stdint.h>

#if defined(__AVX512F__)
  #define VBYTES 64
#elif defined(__AVX__)
  #define VBYTES 32
#else
  #define VBYTES 16
#endif
typedef REAL V __attribute__((vector_size(VBYTES)));
#define VL ((int)(VBYTES / sizeof(REAL)))

/* the same matrix for all lanes (s) or one for each (v); row-major */
typedef struct {
  const REAL *s;
  const V    *v;
} Coef;

/* memory aligned for V: *base is what to free */
static PetscErrorCode VMalloc(size_t n, V **p, void **base)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc((n + 1) * sizeof(V), base));
  *p = (V *)(((uintptr_t)*base + sizeof(V) - 1) & ~(uintptr_t)(sizeof(V) - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RealCopy(size_t n, const PetscReal *from, REAL **to)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, to));
  for (size_t i = 0; i < n; i++) (*to)[i] = (REAL)from[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline V Splat(REAL a)
{
  return a - (V){0};
}

/*
  out[r] (+)= sum_c m[r][c] in[c] for K rows of a matrix with nc columns: the one inner loop.  K is a constant after inlining, so
  the sums stay in registers and each vector of the line is loaded once for K rows.
*/
#define ROWS(K, MATRIX) \
  do { \
    V sum[K]; \
    for (int r = 0; r < K; r++) sum[r] = add ? out[r * os] : (V){0}; \
    _Pragma("GCC unroll 16") for (PetscInt c = 0; c < nc; c++) { \
      const V x = in[c * is]; \
      _Pragma("GCC unroll 8") for (int r = 0; r < K; r++) sum[r] += x * MATRIX[r * nc + c]; \
    } \
    for (int r = 0; r < K; r++) out[r * os] = sum[r]; \
    out += K * os; \
    MATRIX += K * nc; \
    nr -= K; \
  } while (0)

#define LINE(MATRIX) \
  do { \
    while (nr >= 8) ROWS(8, MATRIX); \
    if (nr >= 4) ROWS(4, MATRIX); \
    if (nr >= 2) ROWS(2, MATRIX); \
    if (nr >= 1) ROWS(1, MATRIX); \
  } while (0)

/* out = m in, or out += m in, for one line; in and out do not overlap */
static inline __attribute__((always_inline)) void LineSame(PetscInt nr, PetscInt nc, const REAL *m, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, PetscBool add)
{
  LINE(m);
}

static inline void Line(PetscInt nr, PetscInt nc, Coef m, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, PetscBool add)
{
  if (m.s) LINE(m.s);
  else LINE(m.v);
}

/* Apply the nr x n[d] matrix m along direction d of a block with n[] nodes; out has nr nodes in direction d */
static void Contract(int d, const PetscInt n[3], PetscInt nr, Coef m, const V *in, V *out, PetscBool add)
{
  const PetscInt inner = (d > 0 ? n[0] : 1) * (d > 1 ? n[1] : 1), outer = (d < 1 ? n[1] : 1) * (d < 2 ? n[2] : 1);

#define LINES(LINE_OF, NR, NC, M) \
  for (PetscInt o = 0; o < outer; o++) \
    for (PetscInt i = 0; i < inner; i++) LINE_OF(NR, NC, M, in + o * inner * (NC) + i, inner, out + o * inner * (NR) + i, inner, add)
#define CASE(N) \
  case N: \
    LINES(LineSame, N, N, m.s); \
    return
  /* square matrices of the usual degrees: lengths known to the compiler */
  if (m.s && nr == n[d]) {
    switch (nr) {
      CASE(2);
      CASE(3);
      CASE(4);
      CASE(5);
      CASE(6);
      CASE(7);
      CASE(8);
      CASE(9);
    }
  }
  LINES(Line, nr, n[d], m);
#undef CASE
#undef LINES
}

/* ---- between the grid and the lanes ---- */

/* A batch: where the block of each lane begins and which part of it is real.  Lanes from `count` on are empty. */
typedef struct {
  int       count;
  PetscInt  first[3][VL];
  PetscInt  lo[3][VL], hi[3][VL]; /* first <= lo <= hi <= first + n: the nodes that may be read or written */
  PetscBool full;                 /* all of them, in all lanes */
} Batch;

static inline void BatchClip(Batch *b, const PetscInt n[3], const PatchFDRange range)
{
  int partial = b->count < VL;

  for (int d = 0; d < 3; d++) {
    for (int l = 0; l < b->count; l++) {
      b->lo[d][l] = PetscMax(b->first[d][l], range[d][0]);
      b->hi[d][l] = PetscMax(b->lo[d][l], PetscMin(b->first[d][l] + n[d], range[d][1]));
      partial |= b->hi[d][l] - b->lo[d][l] != n[d];
    }
  }
  b->full = (PetscBool)!partial;
}

/* where the blocks of a full batch begin */
static inline void BatchOffsets(const Batch *b, const PatchFDBox *box, ptrdiff_t offset[VL])
{
  for (int l = 0; l < VL; l++) offset[l] = ((ptrdiff_t)(b->first[2][l] - box->lo[2]) * box->n[1] + (b->first[1][l] - box->lo[1])) * box->n[0] + b->first[0][l] - box->lo[0];
}

#define FULL_LOOP(n, box, row, i) \
  for (PetscInt k = 0; k < n[2]; k++) \
    for (PetscInt j = 0; j < n[1]; j++) \
      for (ptrdiff_t row = ((ptrdiff_t)k * box->n[1] + j) * box->n[0], i = 0; i < n[0]; i++)

#define PARTIAL_LOOP(n, box, node, value) \
  for (int l = 0; l < b->count; l++) { \
    for (PetscInt k = b->lo[2][l]; k < b->hi[2][l]; k++) { \
      for (PetscInt j = b->lo[1][l]; j < b->hi[1][l]; j++) { \
        const ptrdiff_t node  = ((ptrdiff_t)(k - box->lo[2]) * box->n[1] + (j - box->lo[1])) * box->n[0] - box->lo[0]; \
        const ptrdiff_t value = (((ptrdiff_t)(k - b->first[2][l]) * n[1] + (j - b->first[1][l])) * n[0] - b->first[0][l]) * VL + l; \
        for (PetscInt i = b->lo[0][l]; i < b->hi[0][l]; i++)

#define PARTIAL_LOOP_END \
  } \
  } \
  }

/* block = x, zero where nothing may be read */
static void Gather(const Batch *b, const PetscInt n[3], const PatchFDBox *box, const REAL *restrict x, V *block)
{
  REAL *restrict y = (REAL *)block;

  if (b->full) {
    ptrdiff_t offset[VL];

    BatchOffsets(b, box, offset);
    FULL_LOOP(n, box, row, i)
    {
      for (int l = 0; l < VL; l++) y[l] = x[offset[l] + row + i];
      y += VL;
    }
  } else {
    memset(block, 0, sizeof(V) * (size_t)(n[0] * n[1] * n[2]));
    PARTIAL_LOOP(n, box, node, value)
    y[value + i * VL] = x[node + i];
    PARTIAL_LOOP_END
  }
}

/* x = beta x + alpha block where it may be written; blocks of different lanes may share nodes if beta is 1 */
static void Scatter(const Batch *b, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  const REAL *restrict y = (const REAL *)block;

  if (b->full) {
    ptrdiff_t offset[VL];

    BatchOffsets(b, box, offset);
    if (beta == 0) {
      FULL_LOOP(n, box, row, i)
      {
        for (int l = 0; l < VL; l++) x[offset[l] + row + i] = alpha * y[l];
        y += VL;
      }
    } else {
      FULL_LOOP(n, box, row, i)
      {
        for (int l = 0; l < VL; l++) x[offset[l] + row + i] = beta * x[offset[l] + row + i] + alpha * y[l];
        y += VL;
      }
    }
  } else {
    PARTIAL_LOOP(n, box, node, value)
    x[node + i] = (beta == 0 ? 0 : beta * x[node + i]) + alpha * y[value + i * VL];
    PARTIAL_LOOP_END
  }
}

/*
  The matrices of one direction for a batch: item l has class cls[l].  Usually all lanes agree and the class's own matrix serves;
  else (graded meshes) the lanes' matrices are interleaved in `lanes`.
*/
static inline Coef CoefSelect(int count, const PetscInt cls[], size_t size, const REAL *all, V *lanes)
{
  int same = 1;

  for (int l = 1; l < count; l++) same = same && cls[l] == cls[0];
  if (same) return (Coef){all + (size_t)cls[0] * size, NULL};
  for (size_t i = 0; i < size; i++)
    for (int l = 0; l < VL; l++) ((REAL *)lanes)[i * VL + l] = all[(size_t)cls[PetscMin(l, count - 1)] * size + i];
  return (Coef){NULL, lanes};
}
