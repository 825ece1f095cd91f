/*
  A batch of cells or patches, one a lane: where their blocks lie on the grid, and how values travel between both (lines.h has the
  layout of a block).
*/
#pragma once
#include "lines.h"

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
  Rows of several lanes are turned into rows of lanes, and back, by transposing tiles of W x W numbers in registers, W = TILE or, of 16
  bytes, SMALL: one number at a time would cost more than all arithmetic at low degrees.  A vector holds VL / W rows of a tile side by
  side.
*/
#define TILE (VL < 8 ? VL : 8)
#if REAL_BYTES == 8
  #define SMALL 2
#else
  #define SMALL 4
#endif
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
    _Pragma("GCC unroll 8") for (int j = 0; j < W; j++) \
    { \
      if (!(j & (b))) { \
        const V lo = SHUFFLE(v[j], v[j | (b)], LANE_LIST(LOWER, b)), hi = SHUFFLE(v[j], v[j | (b)], LANE_LIST(UPPER, b)); \
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

/* the numbers i .. i + W - 1 of all lanes' rows, as columns.  Rows are joined in registers: a vector that is put together in memory would
   be waited for */
static inline __attribute__((always_inline)) void TileLoad(int W, REAL *const at[VL], ptrdiff_t i, V v[])
{
#define ROW(l)  (*(const Row *)(at[l] + i))
#define PART(l) (*(const SmallRow *)(at[l] + i))
  _Pragma("GCC unroll 8") for (int j = 0; j < W; j++)
  {
#if VL > TILE
    if (W == TILE) v[j] = JOIN(V, ROW(j), ROW(j + TILE), LANE_LIST);
#else
    if (W == TILE) v[j] = ROW(j);
#endif
#if VL == 4 * SMALL
    if (W == SMALL) {
      const HalfRow lo = JOIN(HalfRow, PART(j), PART(j + SMALL), HALF_LIST),
                    hi = JOIN(HalfRow, PART(j + 2 * SMALL), PART(j + 3 * SMALL), HALF_LIST);

      v[j] = JOIN(V, lo, hi, LANE_LIST);
    }
#elif VL == 2 * SMALL
    if (W == SMALL) v[j] = JOIN(V, PART(j), PART(j + SMALL), LANE_LIST);
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
  read, it is enough that it lies in the box, and what must not be read is set to zero afterwards.  Nodes beyond the box are images of its
  nodes, as around a ring: whole lanes leave it at the same place.
*/
typedef struct {
  ptrdiff_t offset[VL];
  int       nwhole, whole[VL], npart, part[VL];
  PetscInt  cut[3], shift[3][2]; /* nodes of whole lanes before it and from it on are so many nodes away from where their numbers are */
} BatchRows;

/* n nodes of a direction from `first` on; false if the whole lanes before leave the box elsewhere */
static inline PetscBool BatchCut(PetscInt first, PetscInt n, const PatchFDBox *box, int d, BatchRows *r)
{
  const PetscInt below = box->lo[d] - first, cut = PetscMin(n, PetscMax(0, below > 0 ? below : below + box->n[d]));
  const PetscInt shift = below > 0 ? box->n[d] : 0;

  if (r->nwhole) return (PetscBool)(r->cut[d] == cut && r->shift[d][0] == shift);
  r->cut[d]      = cut;
  r->shift[d][0] = shift;
  r->shift[d][1] = shift - box->n[d];
  return PETSC_TRUE;
}

static inline void BatchGetRows(const Batch *b, const PetscInt n[3], const PatchFDBox *box, PetscBool read, BatchRows *r)
{
  r->nwhole = r->npart = 0;
  for (int d = 0; d < 3; d++) r->cut[d] = r->shift[d][0] = r->shift[d][1] = 0;
  for (int l = 0; l < b->count; l++) {
    int whole = 1;

    for (int d = 0; d < 3; d++) {
      const PetscInt first = b->first[d][l];

      whole &= b->full || b->hi[d][l] - b->lo[d][l] == n[d] || (read && first >= box->lo[d] && first + n[d] <= box->lo[d] + box->n[d]);
      whole = whole && BatchCut(first, n[d], box, d, r);
    }
    if (whole) r->whole[r->nwhole++] = l;
    else r->part[r->npart++] = l;
    r->offset[l] = PatchFDBoxNode(box, b->first[0][l], b->first[1][l], b->first[2][l]);
  }
}

/* where row (j, k) of whole lanes begins, from their offsets on, but for the shift in x */
static inline ptrdiff_t RowsAt(const BatchRows *r, const PatchFDBox *box, PetscInt j, PetscInt k)
{
  const ptrdiff_t y = j + r->shift[1][j >= r->cut[1]], z = k + r->shift[2][k >= r->cut[2]];

  return (z * box->n[1] + y) * box->n[0];
}

/* the rows (k, j) of the real part of lane l's block: node + the image of i and value + i * VL are its entries in the grid and in the
   block */
#define PART_ROWS(l, n, box, node, value) \
  for (PetscInt k = b->lo[2][l]; k < b->hi[2][l]; k++) \
    for (PetscInt j = b->lo[1][l]; j < b->hi[1][l]; j++) \
      for (ptrdiff_t node  = PatchFDBoxNode(box, 0, PatchFDBoxImage(box, 1, j), PatchFDBoxImage(box, 2, k)), \
                     value = (((ptrdiff_t)(k - b->first[2][l]) * n[1] + (j - b->first[1][l])) * n[0] - b->first[0][l]) * VL + l, once = 1; \
           once; once = 0)

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
        const PetscInt from[3] = {d == 0 ? (e ? n[0] - 1 - i : i) : 0, d == 1 ? (e ? n[1] - 1 - i : i) : 0,
                                  d == 2 ? (e ? n[2] - 1 - i : i) : 0};
        const PetscInt to[3] = {d == 0 ? from[0] + 1 : n[0], d == 1 ? from[1] + 1 : n[1], d == 2 ? from[2] + 1 : n[2]};
        VMask keep;

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

  _Pragma("GCC unroll 8") for (; i + SMALL <= n; i += SMALL)
  {
    TileLoad(SMALL, at, row + i, v);
    _Pragma("GCC unroll 4") for (int c = 0; c < SMALL; c++) out[i + c] = v[c];
  }
  if (n - i > 1 && n > SMALL) { /* some twice, rather than a rest */
    TileLoad(SMALL, at, row + n - SMALL, v);
    _Pragma("GCC unroll 4") for (int c = 0; c < SMALL; c++) out[n - SMALL + c] = v[c];
  } else if (n - i > 1 && more) {
    TileLoad(SMALL, at, row + i, v);
    _Pragma("GCC unroll 4") for (int c = 0; c < SMALL; c++) if (c < n - i) out[i + c] = v[c];
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

  _Pragma("GCC unroll 4") for (int c = 0; c < SMALL; c++) if (c < columns) v[c] = in[c];
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

/* the reverse; rows of different lanes do not overlap, or have the same numbers.  The loop stays one: unrolled it is slower by some per
   cent */
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
    for (PetscInt j = 0; j < n[1]; j++)
      for (int e = 0; e < (r->cut[0] < n[0] ? 2 : 1); e++)
        RowLoad(at, RowsAt(r, box, j, k) + r->shift[0][e] + (e ? r->cut[0] : 0), e ? n[0] - r->cut[0] : r->cut[0], PETSC_FALSE,
                block + (k * n[1] + j) * n[0] + (e ? r->cut[0] : 0));
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

    for (ptrdiff_t i = 0; i < (ptrdiff_t)n[0] * n[1] * n[2] && !b->full; i++) y[i * VL + l] = 0;
    if (l >= b->count) continue;
    PART_ROWS(l, n, box, node, value)
    for (PetscInt i = b->lo[0][l]; i < b->hi[0][l]; i++) y[value + i * VL] = x[node + PatchFDBoxImage(box, 0, i)];
  }
}

/* rows of a tile of W columns, of which the first `columns` are written, to those lanes that can be written as a whole */
static inline __attribute__((always_inline)) void TileStore(int W, int columns, const BatchRows *r, REAL alpha, const V *in, REAL beta,
                                                            REAL *x)
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
    else _Pragma("GCC unroll 8") for (int c = 0; c < columns; c++) to[c] = beta * to[c] + from[c];
  }
}

static inline __attribute__((always_inline)) void RowsScatterScaled(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block,
                                                                    REAL beta, const PatchFDBox *box, REAL *restrict x)
{
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      REAL    *to = x + RowsAt(r, box, j, k) + r->shift[0][0];
      const V *in = block + ((ptrdiff_t)k * n[1] + j) * n[0];

#define STORE(COLUMNS) \
  case COLUMNS: \
    TileStore(COLUMNS == 1 ? 1 : (COLUMNS > SMALL ? TILE : SMALL), COLUMNS, r, alpha, in + i, beta, to + i); \
    break
      for (PetscInt i = 0, columns; i < n[0]; i += columns) {
        if (i == r->cut[0]) to += r->shift[0][1] - r->shift[0][0];
        columns = TileColumns((i < r->cut[0] ? r->cut[0] : n[0]) - i);
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
static __attribute__((noinline)) void RowsAdd(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, const PatchFDBox *box,
                                              REAL *restrict x)
{
  RowsScatterScaled(r, n, alpha, block, 1, box, x);
}

static __attribute__((noinline)) void RowsSet(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, const PatchFDBox *box,
                                              REAL *restrict x)
{
  RowsScatterScaled(r, n, alpha, block, 0, box, x);
}

static __attribute__((noinline)) void RowsAny(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, REAL beta,
                                              const PatchFDBox *box, REAL *restrict x)
{
  RowsScatterScaled(r, n, alpha, block, beta, box, x);
}

/* x = beta x + alpha block in the whole lanes; blocks of different lanes may share nodes if beta is 1 */
static inline void RowsScatter(const BatchRows *r, const PetscInt n[3], REAL alpha, const V *block, REAL beta, const PatchFDBox *box,
                               REAL *restrict x)
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
    for (PetscInt i = b->lo[0][l]; i < b->hi[0][l]; i++) {
      REAL *to = &x[node + PatchFDBoxImage(box, 0, i)];

      *to = (beta == 0 ? 0 : beta * *to) + alpha * y[value + i * VL];
    }
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
      const PetscCount at = cell * size + i;
      const PetscInt   n  = cell >= ncells ? -1 : (node ? node[at] : (PetscInt)at);

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

static inline __attribute__((always_inline)) void NodesGather(PetscInt size, PetscBool whole, const PetscInt *restrict node,
                                                              PetscInt stride, const REAL *restrict x, REAL *restrict u)
{
  if (whole)
    for (PetscInt i = 0; i < size; i++) u[i] = x[(size_t)node[i] * stride];
  else
    for (PetscInt i = 0; i < size; i++) u[i] = node[i] < 0 ? 0 : x[(size_t)node[i] * stride];
}

static inline __attribute__((always_inline)) void NodesScatter(PetscInt size, PetscBool whole, const PetscInt *restrict node,
                                                               PetscInt stride, REAL alpha, const REAL *restrict u, REAL *restrict y)
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
