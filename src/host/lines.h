/*
  What every host kernel is made of: small matrices applied to lines of vectors.

  A batch of VL cells or patches is worked on at once, one in each lane of a SIMD vector V.  A block of node values is an array
  of V, x fastest: block[(k * n[1] + j) * n[0] + i] holds node (i, j, k) of every item of the batch.  So all arithmetic is on
  whole vectors, whatever the degree, and only gather() and scatter() see the grid's layout.

  The including file defines REAL and REAL_BYTES, its size.  The width of a vector follows what the compiler was told to use.
*/
#pragma once
#include <patchfd/private/kernels.h>
#include <stdint.h>
#if defined(__linux__)
  #include <sys/mman.h>
#endif

#if defined(__AVX512F__)
  #define VBYTES 64
#elif defined(__AVX__)
  #define VBYTES 32
#else
  #define VBYTES 16
#endif
#define VL       (VBYTES / REAL_BYTES)
#define ANYWHERE aligned(REAL_BYTES), may_alias /* in memory */
typedef REAL V __attribute__((vector_size(VBYTES)));
#if REAL_BYTES == 8
typedef int64_t VMask __attribute__((vector_size(VBYTES), may_alias));
#else
typedef int32_t VMask __attribute__((vector_size(VBYTES), may_alias));
#endif

/*
  SHUFFLE(a, b, numbers): the vector of the lanes with these numbers, those of b after those of a.  JOIN(type, a, b, LIST): b after a, in a
  vector of twice the length, whose numbers are LIST.  gcc has the builtin function for both since 12.
*/
#if defined(__clang__) || __GNUC__ >= 12
  #define SHUFFLE(a, b, ...)     __builtin_shufflevector(a, b, __VA_ARGS__)
  #define JOIN(type, a, b, LIST) __builtin_shufflevector(a, b, LIST(SAME, 0))
#else
  #define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (VMask){__VA_ARGS__})
  #define JOIN(type, a, b, LIST) \
    (((union { \
       __typeof__(a) half[2]; \
       type          whole; \
     }){{a, b}}) \
       .whole)
#endif

/* before a loop: its turns may be done in any order */
#if defined(__clang__)
  #define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
  #define INDEPENDENT _Pragma("GCC ivdep")
#endif

enum {
  PAIR_ROWS = 6 /* two lines of so many sums, a number of each and one of the matrix fit into 16 registers */
};

/* the same matrix for all lanes (s) or one for each (v); row-major */
typedef struct {
  const REAL *s;
  const V    *v;
} Coef;

/*
  Memory aligned for V: *base is what to free.  That of large arrays, all of which is written later, is not touched, and may come in large
  pages: set-up waits for fewer of them, and sweeps find them sooner
*/
static PetscErrorCode VMallocUntouched(size_t n, V **p, void **base)
{
  PETSC_UNUSED const uintptr_t page = 4096;

  PetscFunctionBegin;
  PetscCall(PetscMalloc((n + 1) * sizeof(V), base));
  *p = (V *)(((uintptr_t)*base + sizeof(V) - 1) & ~(uintptr_t)(sizeof(V) - 1));
#if defined(MADV_HUGEPAGE)
  /* or not */
  if (n * sizeof(V) >= 1024 * page)
    (void)madvise((void *)(((uintptr_t)*base + page - 1) & ~(page - 1)), (n - page / sizeof(V)) * sizeof(V) & ~(size_t)(page - 1),
                  MADV_HUGEPAGE);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VMalloc(size_t n, V **p, void **base)
{
  PetscFunctionBegin;
  PetscCall(VMallocUntouched(n, p, base));
  PetscCall(PetscArrayzero(*p, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RealCopy(size_t n, const PetscReal *from, REAL **to)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, to));
  for (size_t i = 0; i < n; i++) (*to)[i] = (REAL)from[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RealDuplicate(size_t n, const REAL *from, REAL **to)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, to));
  PetscCall(PetscArraycpy(*to, from, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n vectors of a long array are about to be read, others behind them soon: these are asked for, since processors stop reading ahead at the
   end of a page */
static inline __attribute__((always_inline)) void ReadAhead(size_t n, const V *v)
{
  const size_t ahead = 8192, line = 64;

  for (size_t l = 0; l < n * sizeof(V); l += line) __builtin_prefetch((const char *)v + ahead + l);
}

static inline V Splat(REAL a)
{
  return a - (V){0};
}

/*
  out[r] (+)= sum_c m[r][c] in[c] for K rows of a matrix with nc columns: the one inner loop.  K is a constant after inlining, so
  the sums stay in registers and each vector of the line is loaded once for K rows.  Sums begin with a product: a multiply-add to
  zero would need a copy of its operand.
*/
#define ROWS(K, UNROLL, MATRIX) \
  do { \
    const PetscInt begun = add || nc == 0 ? 0 : 1; \
    V              sum[K]; \
    for (int r = 0; r < K; r++) sum[r] = add ? out[r * os] : (begun ? in[0] * MATRIX[r * nc] : (V){0}); \
    _Pragma(UNROLL) for (PetscInt c = begun; c < nc; c++) \
    { \
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
    while (nr >= 8) ROWS(8, "GCC unroll 2", MATRIX); \
    if (nr >= 4) ROWS(4, "GCC unroll 4", MATRIX); \
    if (nr >= 2) ROWS(2, "GCC unroll 4", MATRIX); \
    if (nr >= 1) ROWS(1, "GCC unroll 4", MATRIX); \
  } while (0)

/* lengths that the compiler knows: no loops, and what is left of the rows in one piece */
#define SHORT_LINE(MATRIX) \
  do { \
    if (nr >= 8) ROWS(8, "GCC unroll 16", MATRIX); \
    if (nr >= 8) ROWS(8, "GCC unroll 16", MATRIX); \
    if (nr == 7) ROWS(7, "GCC unroll 16", MATRIX); \
    if (nr == 6) ROWS(6, "GCC unroll 16", MATRIX); \
    if (nr == 5) ROWS(5, "GCC unroll 16", MATRIX); \
    if (nr == 4) ROWS(4, "GCC unroll 16", MATRIX); \
    if (nr == 3) ROWS(3, "GCC unroll 16", MATRIX); \
    if (nr == 2) ROWS(2, "GCC unroll 16", MATRIX); \
    if (nr == 1) ROWS(1, "GCC unroll 16", MATRIX); \
  } while (0)

/* out = m in, or out += m in, for one line; in and out do not overlap.  Matrices in vectors are operands of the multiply-adds as they stand
   */
#define LINE_OF(NAME, T) \
  static inline __attribute__((always_inline)) void NAME(PetscInt nr, PetscInt nc, const T *m, const V *in, ptrdiff_t is, V *out, \
                                                         ptrdiff_t os, PetscBool add) \
  { \
    if (__builtin_constant_p(nr) && __builtin_constant_p(nc) && nr < 24 && nc <= 16) SHORT_LINE(m); \
    else LINE(m); \
  }
LINE_OF(LineSame, REAL)
LINE_OF(LineEach, V)
#undef LINE_OF

/* two lines, il and ol apart: a number of the matrix is read once for both */
static inline __attribute__((always_inline)) void LinePair(PetscInt nr, PetscInt nc, const REAL *m, const V *in, ptrdiff_t is, ptrdiff_t il,
                                                           V *out, ptrdiff_t os, ptrdiff_t ol, PetscBool add)
{
  V sum[2][PAIR_ROWS];

  _Pragma("GCC unroll 8") for (int r = 0; r < nr; r++) for (int l = 0; l < 2; l++) sum[l][r] = add ? out[l * ol + r * os]
                                                                                                   : in[l * il] * m[r * nc];
  _Pragma("GCC unroll 16") for (PetscInt c = add ? 0 : 1; c < nc; c++)
  {
    const V x[2] = {in[c * is], in[il + c * is]};

    _Pragma("GCC unroll 8") for (int r = 0; r < nr; r++)
    {
      sum[0][r] += x[0] * m[r * nc + c];
      sum[1][r] += x[1] * m[r * nc + c];
    }
  }
  _Pragma("GCC unroll 8") for (int r = 0; r < nr; r++) for (int l = 0; l < 2; l++) out[l * ol + r * os] = sum[l][r];
}

/* `count` lines, in pairs where the lengths are known to the compiler and all sums stay in registers */
static inline __attribute__((always_inline)) void LinesSame(int count, PetscInt nr, PetscInt nc, const REAL *m, const V *in, ptrdiff_t is,
                                                            ptrdiff_t il, V *out, ptrdiff_t os, ptrdiff_t ol, PetscBool add)
{
  int l = 0;

  if (__builtin_constant_p(nr) && __builtin_constant_p(nc) && nr <= PAIR_ROWS && nc <= 16)
    for (; l + 2 <= count; l += 2) LinePair(nr, nc, m, in + l * il, is, il, out + l * ol, os, ol, add);
  for (; l < count; l++) LineSame(nr, nc, m, in + l * il, is, out + l * ol, os, add);
}

static inline void Line(PetscInt nr, PetscInt nc, Coef m, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, PetscBool add)
{
  if (m.s) LINE(m.s);
  else LINE(m.v);
}

/* the usual degrees, for which lengths are known to the compiler */
#define EACH_DEGREE(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8)

static inline __attribute__((always_inline)) void ContractDirection(int d, const PetscInt n[3], PetscInt nr, Coef m, const V *in, V *out,
                                                                    PetscBool add)
{
  const PetscInt inner = (d > 0 ? n[0] : 1) * (d > 1 ? n[1] : 1), outer = (d < 1 ? n[1] : 1) * (d < 2 ? n[2] : 1);

#define LINES(LINE_OF, NR, NC, M) \
  for (PetscInt o = 0; o < outer; o++) \
    for (PetscInt i = 0; i < inner; i++) LINE_OF(NR, NC, M, in + o * inner * (NC) + i, inner, out + o * inner * (NR) + i, inner, add)
#define CASE(K) \
  case K + 1: \
    LINES(LineSame, K + 1, K + 1, m.s); \
    return;
  /* square matrices */
  if (m.s && nr == n[d]) {
    switch (nr) {
      EACH_DEGREE(CASE)
    }
  }
  LINES(Line, nr, n[d], m);
#undef CASE
#undef LINES
}

/* Each direction is compiled by itself, however many callers there are: strides are known there */
#define CONTRACT(D) \
  static __attribute__((noinline)) void Contract##D(const PetscInt n[3], PetscInt nr, Coef m, const V *in, V *out, PetscBool add) \
  { \
    if (add) ContractDirection(D, n, nr, m, in, out, PETSC_TRUE); \
    else ContractDirection(D, n, nr, m, in, out, PETSC_FALSE); \
  }
CONTRACT(0)
CONTRACT(1)
CONTRACT(2)
#undef CONTRACT

/* Apply the nr x n[d] matrix m along direction d of a block with n[] nodes; out has nr nodes in direction d */
static inline void Contract(int d, const PetscInt n[3], PetscInt nr, Coef m, const V *in, V *out, PetscBool add)
{
  if (d == 0) Contract0(n, nr, m, in, out, add);
  else if (d == 1) Contract1(n, nr, m, in, out, add);
  else Contract2(n, nr, m, in, out, add);
}
