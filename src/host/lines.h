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

#if defined(__AVX512F__)
  #define VBYTES 64
#elif defined(__AVX__)
  #define VBYTES 32
#else
  #define VBYTES 16
#endif
#define VL (VBYTES / REAL_BYTES)
typedef REAL V __attribute__((vector_size(VBYTES)));

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
  Rows of several lanes are turned into rows of lanes, and back, by transposing tiles of TILE x TILE numbers in registers: one
  number at a time would cost more than all arithmetic at low degrees.  A vector holds VL / TILE rows of a tile side by side.
*/
#define TILE (VL < 8 ? VL : 8)
typedef REAL Row __attribute__((vector_size(TILE * REAL_BYTES), aligned(REAL_BYTES), may_alias)); /* TILE numbers anywhere in memory */

#if VL == 16
  #define LANE_LIST(f, b) f(0, b), f(1, b), f(2, b), f(3, b), f(4, b), f(5, b), f(6, b), f(7, b), f(8, b), f(9, b), f(10, b), f(11, b), f(12, b), f(13, b), f(14, b), f(15, b)
#elif VL == 8
  #define LANE_LIST(f, b) f(0, b), f(1, b), f(2, b), f(3, b), f(4, b), f(5, b), f(6, b), f(7, b)
#elif VL == 4
  #define LANE_LIST(f, b) f(0, b), f(1, b), f(2, b), f(3, b)
#else
  #define LANE_LIST(f, b) f(0, b), f(1, b)
#endif
/* swap bit b of a number's place in its vector with bit b of the vector's place in the tile: half of a butterfly each */
#define LOWER(p, b) ((p) & (b) ? VL + ((p) ^ (b)) : (p))
#define UPPER(p, b) ((p) & (b) ? VL + (p) : ((p) | (b)))
#define BUTTERFLY(v, b) \
  do { \
    _Pragma("GCC unroll 8") for (int j = 0; j < TILE; j++) { \
      if (!(j & (b))) { \
        const V lo = __builtin_shufflevector(v[j], v[j | (b)], LANE_LIST(LOWER, b)), hi = __builtin_shufflevector(v[j], v[j | (b)], LANE_LIST(UPPER, b)); \
\
        v[j]       = lo; \
        v[j | (b)] = hi; \
      } \
    } \
  } while (0)

/* v[j] with the columns 0..TILE-1 of the lanes j, j + TILE, ... becomes v[c] with column c of all lanes, and the reverse */
static inline __attribute__((always_inline)) void Transpose(V v[TILE])
{
  BUTTERFLY(v, 1);
#if VL > 2
  BUTTERFLY(v, 2);
#endif
#if VL > 4
  BUTTERFLY(v, 4);
#endif
}

static inline __attribute__((always_inline)) void TileLoad(REAL *const at[VL], ptrdiff_t i, V v[TILE])
{
  _Pragma("GCC unroll 8") for (int j = 0; j < TILE; j++)
    for (int h = 0; h < VL / TILE; h++) ((Row *)&v[j])[h] = *(const Row *)(at[j + h * TILE] + i);
}

/*
  Where the rows of a batch's lanes begin, and which lanes can be moved as a whole: to be written, all of a lane must be writable; to be
  read, it is enough that it lies in the box, and what must not be read is set to zero afterwards.
*/
typedef struct {
  ptrdiff_t offset[VL], last; /* the largest offset */
  int       nwhole, whole[VL], npart, part[VL];
} BatchRows;

static inline void BatchGetRows(const Batch *b, const PetscInt n[3], const PatchFDBox *box, PetscBool read, BatchRows *r)
{
  r->last = r->nwhole = r->npart = 0;
  for (int l = 0; l < b->count; l++) {
    int whole = 1;

    for (int d = 0; d < 3 && !b->full; d++) whole &= read ? b->first[d][l] >= box->lo[d] && b->first[d][l] + n[d] <= box->lo[d] + box->n[d] : b->hi[d][l] - b->lo[d][l] == n[d];
    if (whole) r->whole[r->nwhole++] = l;
    else r->part[r->npart++] = l;
    r->offset[l] = PatchFDBoxNode(box, b->first[0][l], b->first[1][l], b->first[2][l]);
  }
  for (int i = 0; i < r->nwhole; i++) r->last = PetscMax(r->last, r->offset[r->whole[i]]);
}

/* the rows (k, j) of the real part of lane l's block: node + i and value + i * VL are its entries in the grid and in the block */
#define PART_ROWS(l, n, box, node, value) \
  for (PetscInt k = b->lo[2][l]; k < b->hi[2][l]; k++) \
    for (PetscInt j = b->lo[1][l]; j < b->hi[1][l]; j++) \
      for (ptrdiff_t node = PatchFDBoxNode(box, 0, j, k), value = (((ptrdiff_t)(k - b->first[2][l]) * n[1] + (j - b->first[1][l])) * n[0] - b->first[0][l]) * VL + l, once = 1; once; once = 0)

/* lane l of a block is zero on the nodes lo .. hi - 1 of direction d, counted from the block's first */
static inline void ZeroSlab(const PetscInt n[3], int l, int d, PetscInt lo, PetscInt hi, REAL *y)
{
  PetscInt from[3] = {0, 0, 0}, to[3] = {n[0], n[1], n[2]};

  from[d] = lo;
  to[d]   = hi;
  for (PetscInt k = from[2]; k < to[2]; k++)
    for (PetscInt j = from[1]; j < to[1]; j++)
      for (PetscInt i = from[0]; i < to[0]; i++) y[(((ptrdiff_t)k * n[1] + j) * n[0] + i) * VL + l] = 0;
}

/* ask for the rows of a batch's blocks, to be read soon; all lanes lie in the box, perhaps except for the outermost nodes */
static inline void Prefetch(const Batch *b, const PetscInt n[3], const PatchFDBox *box, const REAL *x)
{
  for (int l = 0; l < b->count; l++) {
    const REAL *at = x + PatchFDBoxNode(box, b->first[0][l], b->first[1][l], b->first[2][l]);

    for (PetscInt k = 0; k < n[2]; k++)
      for (PetscInt j = 0; j < n[1]; j++) __builtin_prefetch(at + ((ptrdiff_t)k * box->n[1] + j) * box->n[0]);
  }
}

/* block = x, zero where nothing may be read */
static void Gather(const Batch *b, const PetscInt n[3], const PatchFDBox *box, const REAL *restrict x, V *block)
{
  const ptrdiff_t size = (ptrdiff_t)PatchFDBoxSize(box);
  REAL *restrict y     = (REAL *)block;
  BatchRows r;

  BatchGetRows(b, n, box, PETSC_TRUE, &r);
  if (r.nwhole) {
    REAL *at[VL], *base[VL];
    V    *out = block;

    for (int l = 0; l < VL; l++) base[l] = (REAL *)x + r.offset[r.whole[0]]; /* something readable for the others */
    for (int i = 0; i < r.nwhole; i++) base[r.whole[i]] = (REAL *)x + r.offset[r.whole[i]];
    for (PetscInt k = 0; k < n[2]; k++) {
      for (PetscInt j = 0; j < n[1]; j++, out += n[0]) {
        const ptrdiff_t row = ((ptrdiff_t)k * box->n[1] + j) * box->n[0];
        PetscInt        i   = 0;

        for (int l = 0; l < VL; l++) at[l] = base[l] + row;
        for (; n[0] - i > 2 && r.last + row + i + TILE <= size; i += TILE) {
          const PetscInt columns = PetscMin(TILE, n[0] - i);
          V              v[TILE];

          TileLoad(at, i, v);
          Transpose(v);
          for (int c = 0; c < TILE; c++)
            if (c < columns) out[i + c] = v[c];
        }
        for (; i < n[0]; i++)
          for (int l = 0; l < VL; l++) ((REAL *)(out + i))[l] = at[l][i];
      }
    }
  }
  for (int p = 0; p < r.nwhole && !b->full; p++) {
    const int l = r.whole[p];

    for (int d = 0; d < 3; d++) {
      if (b->lo[d][l] > b->first[d][l]) ZeroSlab(n, l, d, 0, PetscMin(n[d], b->lo[d][l] - b->first[d][l]), y);
      if (b->hi[d][l] < b->first[d][l] + n[d]) ZeroSlab(n, l, d, PetscMax(0, b->hi[d][l] - b->first[d][l]), n[d], y);
    }
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

static inline __attribute__((always_inline)) void ScatterScaled(const Batch *b, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  const REAL *restrict y = (const REAL *)block;
  BatchRows r;

  BatchGetRows(b, n, box, PETSC_FALSE, &r);
  for (PetscInt k = 0; k < n[2] && r.nwhole; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      const ptrdiff_t row = ((ptrdiff_t)k * box->n[1] + j) * box->n[0];
      const V        *in  = block + ((ptrdiff_t)k * n[1] + j) * n[0];

      for (PetscInt i = 0; i < n[0]; i += TILE) {
        const PetscInt columns = PetscMin(TILE, n[0] - i);
        V              v[TILE] = {{0}};
        const REAL    *tile    = (const REAL *)v;

        for (int c = 0; c < TILE; c++)
          if (c < columns) v[c] = alpha * in[i + c];
        Transpose(v);
        for (int p = 0; p < r.nwhole; p++) {
          const int   l    = r.whole[p];
          REAL       *to   = x + r.offset[l] + row + i;
          const REAL *from = tile + (l % TILE) * VL + (l / TILE) * TILE;

          if (columns == TILE) {
            Row w = *(const Row *)from;

            if (beta != 0) w += beta * *(const Row *)to;
            *(Row *)to = w;
          } else {
            _Pragma("GCC unroll 8") for (int c = 0; c < TILE - 1; c++) /* a loop over the columns would be made for many of them */
              if (c < columns) to[c] = (beta == 0 ? 0 : beta * to[c]) + from[c];
          }
        }
      }
    }
  }
  for (int p = 0; p < r.npart; p++) {
    const int l = r.part[p];

    PART_ROWS(l, n, box, node, value)
    for (PetscInt i = b->lo[0][l]; i < b->hi[0][l]; i++) x[node + i] = (beta == 0 ? 0 : beta * x[node + i]) + alpha * y[value + i * VL];
  }
}

/* sums, which is what nearly all writing is, are compiled by themselves */
static __attribute__((noinline)) void ScatterAdd(const Batch *b, const PetscInt n[3], REAL alpha, const V *block, const PatchFDBox *box, REAL *restrict x)
{
  ScatterScaled(b, n, alpha, block, 1, box, x);
}

static __attribute__((noinline)) void ScatterAny(const Batch *b, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  ScatterScaled(b, n, alpha, block, beta, box, x);
}

/* x = beta x + alpha block where it may be written; blocks of different lanes may share nodes if beta is 1 */
static inline void Scatter(const Batch *b, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  if (beta == 1) ScatterAdd(b, n, alpha, block, box, x);
  else ScatterAny(b, n, alpha, block, beta, box, x);
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
