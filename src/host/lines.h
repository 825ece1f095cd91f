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
#define VL (VBYTES / REAL_BYTES)
typedef REAL V __attribute__((vector_size(VBYTES)));
#if REAL_BYTES == 8
typedef int64_t VMask __attribute__((vector_size(VBYTES), may_alias));
#else
typedef int32_t VMask __attribute__((vector_size(VBYTES), may_alias));
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
  Memory aligned for V: *base is what to free.  That of large arrays, all of which is written later, is not touched, and may come in large pages: set-up waits for fewer of them, and sweeps find
  them sooner
*/
static PetscErrorCode VMallocUntouched(size_t n, V **p, void **base)
{
  PETSC_UNUSED const uintptr_t page = 4096;

  PetscFunctionBegin;
  PetscCall(PetscMalloc((n + 1) * sizeof(V), base));
  *p = (V *)(((uintptr_t)*base + sizeof(V) - 1) & ~(uintptr_t)(sizeof(V) - 1));
#if defined(MADV_HUGEPAGE)
  if (n * sizeof(V) >= 1024 * page) (void)madvise((void *)(((uintptr_t)*base + page - 1) & ~(page - 1)), (n - page / sizeof(V)) * sizeof(V) & ~(size_t)(page - 1), MADV_HUGEPAGE); /* or not */
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
    _Pragma(UNROLL) for (PetscInt c = begun; c < nc; c++) { \
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

/* out = m in, or out += m in, for one line; in and out do not overlap.  Matrices in vectors are operands of the multiply-adds as they stand */
#define LINE_OF(NAME, T) \
  static inline __attribute__((always_inline)) void NAME(PetscInt nr, PetscInt nc, const T *m, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, PetscBool add) \
  { \
    if (__builtin_constant_p(nr) && __builtin_constant_p(nc) && nr < 24 && nc <= 16) SHORT_LINE(m); \
    else LINE(m); \
  }
LINE_OF(LineSame, REAL)
LINE_OF(LineEach, V)
#undef LINE_OF

/* two lines, il and ol apart: a number of the matrix is read once for both */
static inline __attribute__((always_inline)) void LinePair(PetscInt nr, PetscInt nc, const REAL *m, const V *in, ptrdiff_t is, ptrdiff_t il, V *out, ptrdiff_t os, ptrdiff_t ol, PetscBool add)
{
  V sum[2][PAIR_ROWS];

  _Pragma("GCC unroll 8") for (int r = 0; r < nr; r++)
    for (int l = 0; l < 2; l++) sum[l][r] = add ? out[l * ol + r * os] : in[l * il] * m[r * nc];
  _Pragma("GCC unroll 16") for (PetscInt c = add ? 0 : 1; c < nc; c++) {
    const V x[2] = {in[c * is], in[il + c * is]};

    _Pragma("GCC unroll 8") for (int r = 0; r < nr; r++) {
      sum[0][r] += x[0] * m[r * nc + c];
      sum[1][r] += x[1] * m[r * nc + c];
    }
  }
  _Pragma("GCC unroll 8") for (int r = 0; r < nr; r++)
    for (int l = 0; l < 2; l++) out[l * ol + r * os] = sum[l][r];
}

/* `count` lines, in pairs where the lengths are known to the compiler and all sums stay in registers */
static inline __attribute__((always_inline)) void LinesSame(int count, PetscInt nr, PetscInt nc, const REAL *m, const V *in, ptrdiff_t is, ptrdiff_t il, V *out, ptrdiff_t os, ptrdiff_t ol, PetscBool add)
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

static inline __attribute__((always_inline)) void ContractDirection(int d, const PetscInt n[3], PetscInt nr, Coef m, const V *in, V *out, PetscBool add)
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

/* ---- between the grid and the lanes ---- */

/* A batch: where the block of each lane begins and which part of it is real.  Lanes from `count` on are empty. */
typedef struct {
  int       count;
  PetscInt  first[3][VL];
  PetscInt  lo[3][VL], hi[3][VL]; /* first <= lo <= hi <= first + n: the nodes that may be read or written */
  PetscBool full;                 /* all of them, in all lanes */
} Batch;

/* `count` patches that are given by their numbers */
static inline void BatchPlace(Batch *b, int count, const PatchFDPatches *const dir[3], const PetscInt patch[3][VL])
{
  b->count = count;
  for (int d = 0; d < 3; d++)
    for (int l = 0; l < count; l++) b->first[d][l] = dir[d]->first[patch[d][l]];
}

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

/*
  Rows of several lanes are turned into rows of lanes, and back, by transposing tiles of W x W numbers in registers, W = TILE or, of 16 bytes, SMALL: one
  number at a time would cost more than all arithmetic at low degrees.  A vector holds VL / W rows of a tile side by side.
*/
#define TILE  (VL < 8 ? VL : 8)
#if REAL_BYTES == 8
  #define SMALL 2
#else
  #define SMALL 4
#endif
#define ANYWHERE aligned(REAL_BYTES), may_alias /* in memory */
typedef REAL Row __attribute__((vector_size(TILE * REAL_BYTES), ANYWHERE));
typedef REAL SmallRow __attribute__((vector_size(SMALL * REAL_BYTES), ANYWHERE));
typedef REAL HalfRow __attribute__((vector_size(2 * SMALL * REAL_BYTES)));

#define LIST_2(f, b)  f(0, b), f(1, b)
#define LIST_4(f, b)  LIST_2(f, b), f(2, b), f(3, b)
#define LIST_8(f, b)  LIST_4(f, b), f(4, b), f(5, b), f(6, b), f(7, b)
#define LIST_16(f, b) LIST_8(f, b), f(8, b), f(9, b), f(10, b), f(11, b), f(12, b), f(13, b), f(14, b), f(15, b)
#define EACH_2(f)     f(0) f(1)
#define EACH_4(f)     EACH_2(f) f(2) f(3)
#define EACH_8(f)     EACH_4(f) f(4) f(5) f(6) f(7)
#define EACH_16(f)    EACH_8(f) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#if VL == 16
  #define LANE_LIST LIST_16
  #define EACH_LANE EACH_16
  #define HALF_LIST LIST_8
#elif VL == 8
  #define LANE_LIST LIST_8
  #define EACH_LANE EACH_8
  #define HALF_LIST LIST_4
#elif VL == 4
  #define LANE_LIST LIST_4
  #define EACH_LANE EACH_4
#else
  #define LANE_LIST LIST_2
  #define EACH_LANE EACH_2
#endif
#define SAME(p, b) (p)
/* swap bit b of a number's place in its vector with bit b of the vector's place in the tile: half of a butterfly each */
#define LOWER(p, b) ((p) & (b) ? VL + ((p) ^ (b)) : (p))
#define UPPER(p, b) ((p) & (b) ? VL + (p) : ((p) | (b)))
#define BUTTERFLY(W, v, b) \
  do { \
    _Pragma("GCC unroll 8") for (int j = 0; j < W; j++) { \
      if (!(j & (b))) { \
        const V lo = __builtin_shufflevector(v[j], v[j | (b)], LANE_LIST(LOWER, b)), hi = __builtin_shufflevector(v[j], v[j | (b)], LANE_LIST(UPPER, b)); \
\
        v[j]       = lo; \
        v[j | (b)] = hi; \
      } \
    } \
  } while (0)

/* v[j] with the columns 0..W-1 of the lanes j, j + W, ... becomes v[c] with column c of all lanes, and the reverse */
static inline __attribute__((always_inline)) void Transpose(int W, V v[])
{
  BUTTERFLY(W, v, 1);
#if VL > 2
  if (W > 2) BUTTERFLY(W, v, 2);
#endif
#if VL > 4
  if (W > 4) BUTTERFLY(W, v, 4);
#endif
}

/* the numbers i .. i + W - 1 of all lanes' rows, as columns.  Rows are joined in registers: a vector that is put together in memory would be waited for */
static inline __attribute__((always_inline)) void TileLoad(int W, REAL *const at[VL], ptrdiff_t i, V v[])
{
#define ROW(l) (*(const Row *)(at[l] + i))
#define PART(l) (*(const SmallRow *)(at[l] + i))
  _Pragma("GCC unroll 8") for (int j = 0; j < W; j++) {
#if VL > TILE
    if (W == TILE) v[j] = __builtin_shufflevector(ROW(j), ROW(j + TILE), LANE_LIST(SAME, 0));
#else
    if (W == TILE) v[j] = ROW(j);
#endif
#if VL == 4 * SMALL
    if (W == SMALL) {
      const HalfRow lo = __builtin_shufflevector(PART(j), PART(j + SMALL), HALF_LIST(SAME, 0)), hi = __builtin_shufflevector(PART(j + 2 * SMALL), PART(j + 3 * SMALL), HALF_LIST(SAME, 0));

      v[j] = __builtin_shufflevector(lo, hi, LANE_LIST(SAME, 0));
    }
#elif VL == 2 * SMALL
    if (W == SMALL) v[j] = __builtin_shufflevector(PART(j), PART(j + SMALL), LANE_LIST(SAME, 0));
#endif
  }
#undef ROW
#undef PART
  Transpose(W, v);
}

/* columns of a row that are taken together, of `rest`: a tile where most of it is wanted, a small one, or a single column */
static inline PetscInt TileColumns(PetscInt rest)
{
  if (rest >= PetscMax(SMALL + 2, TILE - 2) || (TILE == SMALL && rest > 1)) return PetscMin(rest, TILE);
  return rest > 1 ? PetscMin(rest, SMALL) : 1;
}

/*
  Where the rows of a batch's lanes begin, and which lanes can be moved as a whole: to be written, all of a lane must be writable; to be
  read, it is enough that it lies in the box, and what must not be read is set to zero afterwards.
*/
typedef struct {
  ptrdiff_t offset[VL];
  int       nwhole, whole[VL], npart, part[VL];
} BatchRows;

static inline void BatchGetRows(const Batch *b, const PetscInt n[3], const PatchFDBox *box, PetscBool read, BatchRows *r)
{
  r->nwhole = r->npart = 0;
  for (int l = 0; l < b->count; l++) {
    int whole = 1;

    for (int d = 0; d < 3 && !b->full; d++) whole &= read ? b->first[d][l] >= box->lo[d] && b->first[d][l] + n[d] <= box->lo[d] + box->n[d] : b->hi[d][l] - b->lo[d][l] == n[d];
    if (whole) r->whole[r->nwhole++] = l;
    else r->part[r->npart++] = l;
    r->offset[l] = PatchFDBoxNode(box, b->first[0][l], b->first[1][l], b->first[2][l]);
  }
}

/* the rows (k, j) of the real part of lane l's block: node + i and value + i * VL are its entries in the grid and in the block */
#define PART_ROWS(l, n, box, node, value) \
  for (PetscInt k = b->lo[2][l]; k < b->hi[2][l]; k++) \
    for (PetscInt j = b->lo[1][l]; j < b->hi[1][l]; j++) \
      for (ptrdiff_t node = PatchFDBoxNode(box, 0, j, k), value = (((ptrdiff_t)(k - b->first[2][l]) * n[1] + (j - b->first[1][l])) * n[0] - b->first[0][l]) * VL + l, once = 1; once; once = 0)

/* zero in the lanes in which nodes at an end of the block must not be read: beyond lo or hi, of which all lanes have few */
static void ZeroEnds(const Batch *b, const PetscInt n[3], const BatchRows *r, V *block)
{
  for (int d = 0; d < 3; d++) {
    for (int e = 0; e < 2; e++) {
      PetscInt cut[VL] = {0}, most = 0;

      for (int p = 0; p < r->nwhole; p++) {
        const int l = r->whole[p];

        cut[l] = PetscMin(n[d], e ? b->first[d][l] + n[d] - b->hi[d][l] : b->lo[d][l] - b->first[d][l]);
        most   = PetscMax(most, cut[l]);
      }
      for (PetscInt i = 0; i < most; i++) {
        const PetscInt from[3] = {d == 0 ? (e ? n[0] - 1 - i : i) : 0, d == 1 ? (e ? n[1] - 1 - i : i) : 0, d == 2 ? (e ? n[2] - 1 - i : i) : 0};
        const PetscInt to[3] = {d == 0 ? from[0] + 1 : n[0], d == 1 ? from[1] + 1 : n[1], d == 2 ? from[2] + 1 : n[2]};
        VMask          keep;

        for (int l = 0; l < VL; l++) keep[l] = cut[l] > i ? 0 : -1;
        for (PetscInt z = from[2]; z < to[2]; z++)
          for (PetscInt y = from[1]; y < to[1]; y++)
            for (PetscInt x = from[0]; x < to[0]; x++) ((VMask *)block)[(z * n[1] + y) * n[0] + x] &= keep;
      }
    }
  }
}

/* n numbers of all lanes' rows, from number `row` on.  more: what stands behind the rows is readable, too */
static inline __attribute__((always_inline)) void RowLoad(REAL *const at[VL], ptrdiff_t row, PetscInt n, PetscBool more, V *out)
{
  V        v[SMALL];
  PetscInt i = 0;

  _Pragma("GCC unroll 8") for (; i + SMALL <= n; i += SMALL) {
    TileLoad(SMALL, at, row + i, v);
    _Pragma("GCC unroll 4") for (int c = 0; c < SMALL; c++) out[i + c] = v[c];
  }
  if (n - i > 1 && n > SMALL) { /* some twice, rather than a rest */
    TileLoad(SMALL, at, row + n - SMALL, v);
    _Pragma("GCC unroll 4") for (int c = 0; c < SMALL; c++) out[n - SMALL + c] = v[c];
  } else if (n - i > 1 && more) {
    TileLoad(SMALL, at, row + i, v);
    _Pragma("GCC unroll 4") for (int c = 0; c < SMALL; c++)
      if (c < n - i) out[i + c] = v[c];
  } else {
#define NUMBER(l, i) at[l][row + i]
    _Pragma("GCC unroll 4") for (; i < n; i++) out[i] = (V){LANE_LIST(NUMBER, i)};
#undef NUMBER
  }
}

/* `columns` numbers of each lane, at most SMALL, to its row */
static inline __attribute__((always_inline)) void PieceStore(PetscInt columns, REAL *const at[VL], ptrdiff_t i, const V *in)
{
  V v[SMALL] = {{0}};

  _Pragma("GCC unroll 4") for (int c = 0; c < SMALL; c++)
    if (c < columns) v[c] = in[c];
  Transpose(SMALL, v);
#define STORE(l) \
  { \
    SmallRow part; \
\
    memcpy(&part, (const char *)&v[(l) % SMALL] + (l) / SMALL * 16, 16); \
    if (columns == SMALL) *(SmallRow *)(at[l] + i) = part; \
    else \
      for (int c = 0; c < columns; c++) at[l][i + c] = part[c]; \
  }
  EACH_LANE(STORE)
#undef STORE
}

/* the reverse; rows of different lanes do not overlap, or have the same numbers.  The loop stays one: unrolled it is slower by some per cent */
static inline __attribute__((always_inline)) void RowStore(REAL *const at[VL], ptrdiff_t row, PetscInt n, const V *in)
{
  PetscInt i = 0;

  _Pragma("GCC unroll 1") for (; i + SMALL <= n; i += SMALL) PieceStore(SMALL, at, row + i, in + i);
  if (n - i > 1 && n > SMALL) PieceStore(SMALL, at, row + n - SMALL, in + n - SMALL);
  else if (n - i > 1) PieceStore(n - i, at, row + i, in + i);
  else if (i < n) {
#define STORE(l) at[l][row + i] = in[i][l];
    EACH_LANE(STORE)
#undef STORE
  }
}

/* the rows of the whole lanes; the others get something readable */
static inline void RowsPlaces(const BatchRows *r, const REAL *x, REAL *at[VL])
{
  for (int l = 0; l < VL; l++) at[l] = (REAL *)x + r->offset[r->whole[0]];
  for (int i = 0; i < r->nwhole; i++) at[r->whole[i]] = (REAL *)x + r->offset[r->whole[i]];
}

/* the blocks of the whole lanes */
static void RowsGather(const BatchRows *r, const PetscInt n[3], const PatchFDBox *box, const REAL *restrict x, V *restrict block)
{
  REAL *at[VL];

  RowsPlaces(r, x, at);
  for (PetscInt k = 0; k < n[2]; k++)
    for (PetscInt j = 0; j < n[1]; j++) RowLoad(at, ((ptrdiff_t)k * box->n[1] + j) * box->n[0], n[0], PETSC_FALSE, block + (k * n[1] + j) * n[0]);
}

/* block = x, zero where nothing may be read */
static void Gather(const Batch *b, const PetscInt n[3], const PatchFDBox *box, const REAL *restrict x, V *block)
{
  REAL *restrict y = (REAL *)block;
  BatchRows r;

  BatchGetRows(b, n, box, PETSC_TRUE, &r);
  if (r.nwhole) {
    RowsGather(&r, n, box, x, block);
    if (!b->full) ZeroEnds(b, n, &r, block);
  }
  for (int l = b->count; l < VL && !r.nwhole; l++) r.part[r.npart++] = l; /* nothing was put into the empty lanes */
  for (int p = 0; p < r.npart; p++) {
    const int l = r.part[p];

    for (ptrdiff_t i = 0; i < (ptrdiff_t)n[0] * n[1] * n[2]; i++) y[i * VL + l] = 0;
    if (l >= b->count) continue;
    PART_ROWS(l, n, box, node, value)
    for (PetscInt i = b->lo[0][l]; i < b->hi[0][l]; i++) y[value + i * VL] = x[node + i];
  }
}

/* rows of a tile of W columns, of which the first `columns` are written, to those lanes that can be written as a whole */
static inline __attribute__((always_inline)) void TileStore(int W, int columns, const BatchRows *r, REAL alpha, const V *in, REAL beta, REAL *x)
{
  V           v[TILE] = {{0}};
  const REAL *tile    = (const REAL *)v;

  _Pragma("GCC unroll 8") for (int c = 0; c < columns; c++) v[c] = alpha * in[c];
  if (W > 1) Transpose(W, v);
  for (int p = 0; p < r->nwhole; p++) {
    const int   l    = r->whole[p];
    REAL       *to   = x + r->offset[l];
    const REAL *from = tile + (l % W) * VL + (l / W) * W;

    if (beta == 0) memcpy(to, from, (size_t)columns * sizeof(REAL));
    else
      _Pragma("GCC unroll 8") for (int c = 0; c < columns; c++) to[c] = beta * to[c] + from[c];
  }
}

static inline __attribute__((always_inline)) void RowsScatterScaled(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      REAL    *to = x + ((ptrdiff_t)k * box->n[1] + j) * box->n[0];
      const V *in = block + ((ptrdiff_t)k * n[1] + j) * n[0];

#define STORE(COLUMNS) \
  case COLUMNS: \
    TileStore(COLUMNS == 1 ? 1 : (COLUMNS > SMALL ? TILE : SMALL), COLUMNS, r, alpha, in + i, beta, to + i); \
    break
      for (PetscInt i = 0, columns; i < n[0]; i += columns) {
        columns = TileColumns(n[0] - i);
        switch (columns) { /* a number that the compiler knows */
          STORE(1);
          STORE(2);
#if VL > 2
          STORE(3);
          STORE(4);
#endif
#if VL > 4
          STORE(6);
          STORE(7);
          STORE(8);
#endif
        }
      }
#undef STORE
    }
  }
}

/* sums and values are compiled by themselves: that is nearly all writing */
static __attribute__((noinline)) void RowsAdd(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, const PatchFDBox *box, REAL *restrict x)
{
  RowsScatterScaled(r, n, alpha, block, 1, box, x);
}

static __attribute__((noinline)) void RowsSet(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, const PatchFDBox *box, REAL *restrict x)
{
  RowsScatterScaled(r, n, alpha, block, 0, box, x);
}

static __attribute__((noinline)) void RowsAny(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  RowsScatterScaled(r, n, alpha, block, beta, box, x);
}

/* x = beta x + alpha block in the whole lanes; blocks of different lanes may share nodes if beta is 1 */
static inline void RowsScatter(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  if (beta == 1) RowsAdd(r, n, alpha, block, box, x);
  else if (beta == 0) RowsSet(r, n, alpha, block, box, x);
  else RowsAny(r, n, alpha, block, beta, box, x);
}

/* the same where it may be written */
static void Scatter(const Batch *b, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  const REAL *restrict y = (const REAL *)block;
  BatchRows r;

  BatchGetRows(b, n, box, PETSC_FALSE, &r);
  if (r.nwhole) RowsScatter(&r, n, alpha, block, beta, box, x);
  for (int p = 0; p < r.npart; p++) {
    const int l = r.part[p];

    PART_ROWS(l, n, box, node, value)
    for (PetscInt i = b->lo[0][l]; i < b->hi[0][l]; i++) x[node + i] = (beta == 0 ? 0 : beta * x[node + i]) + alpha * y[value + i * VL];
  }
}

/* ---- the same for cells whose nodes have numbers ---- */

/* of the cells of all batches, or -1 for nodes that do not exist and for empty lanes */
typedef struct {
  PetscInt   size;  /* of a batch: nodes of a cell times VL */
  PetscInt  *node;  /* [batch][node of a cell][VL] */
  PetscBool *whole; /* [batch]: no -1 in it */
} Index;

/* from node[cell][size], or, if that is NULL, for cells that have their own nodes, one cell after another */
static PetscErrorCode IndexCreate(PetscCount ncells, PetscInt size, const PetscInt node[], Index *x)
{
  const PetscCount nbatch = (ncells + VL - 1) / VL;

  PetscFunctionBegin;
  x->size = size * VL;
  PetscCall(PetscMalloc2(nbatch * x->size, &x->node, nbatch, &x->whole));
  for (PetscCount b = 0; b < nbatch; b++) x->whole[b] = PETSC_TRUE;
  for (PetscCount cell = 0; cell < nbatch * VL; cell++) {
    for (PetscInt i = 0; i < size; i++) {
      const PetscCount at   = cell * size + i;
      const PetscInt   n = cell >= ncells ? -1 : (node ? node[at] : (PetscInt)at);

      x->node[cell / VL * x->size + i * VL + cell % VL] = n;
      if (n < 0) x->whole[cell / VL] = PETSC_FALSE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IndexDestroy(Index *x)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(x->node, x->whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline __attribute__((always_inline)) void NodesGather(PetscInt size, PetscBool whole, const PetscInt *restrict node, PetscInt stride, const REAL *restrict x, REAL *restrict u)
{
  if (whole)
    for (PetscInt i = 0; i < size; i++) u[i] = x[(size_t)node[i] * stride];
  else
    for (PetscInt i = 0; i < size; i++) u[i] = node[i] < 0 ? 0 : x[(size_t)node[i] * stride];
}

static inline __attribute__((always_inline)) void NodesScatter(PetscInt size, PetscBool whole, const PetscInt *restrict node, PetscInt stride, REAL alpha, const REAL *restrict u, REAL *restrict y)
{
  if (whole)
    for (PetscInt i = 0; i < size; i++) y[(size_t)node[i] * stride] += alpha * u[i];
  else
    for (PetscInt i = 0; i < size; i++)
      if (node[i] >= 0) y[(size_t)node[i] * stride] += alpha * u[i];
}

/* block = x in the cells of a batch; a node has `stride` numbers, of which x is the first that is wanted */
static void IndexGather(const Index *index, PetscCount batch, PetscInt stride, const REAL *x, V *block)
{
  const PetscInt *node = index->node + batch * index->size;

  if (stride == 1) NodesGather(index->size, index->whole[batch], node, 1, x, (REAL *)block);
  else NodesGather(index->size, index->whole[batch], node, stride, x, (REAL *)block);
}

/* x += alpha block; lanes may share nodes */
static void IndexScatter(const Index *index, PetscCount batch, PetscInt stride, REAL alpha, const V *block, REAL *x)
{
  const PetscInt *node = index->node + batch * index->size;

  if (stride == 1) NodesScatter(index->size, index->whole[batch], node, 1, alpha, (const REAL *)block, x);
  else NodesScatter(index->size, index->whole[batch], node, stride, alpha, (const REAL *)block, x);
}

/* the cells of a range in the batch that begins at number t (x fastest); how many */
static inline int RangeBatch(const PatchFDRange r, PetscInt64 t, PetscInt at[3][VL])
{
  const PetscInt n0 = r[0][1] - r[0][0], n1 = r[1][1] - r[1][0];
  const int      count = (int)PetscMin(VL, PatchFDRangeSize(r) - t);
  PetscInt       i = (PetscInt)(t % n0), j = (PetscInt)(t / n0 % n1), k = (PetscInt)(t / n0 / n1);

  for (int l = 0; l < count; l++) {
    at[0][l] = r[0][0] + i;
    at[1][l] = r[1][0] + j;
    at[2][l] = r[2][0] + k;
    if (++i < n0) continue;
    i = 0;
    if (++j < n1) continue;
    j = 0;
    k++;
  }
  return count;
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
