/*
  y = y0 + alpha B x with bands of whole lines, a row for each node of y: B = X2 (x) X1 (x) X0, or, for pairs of bands,
  A2 (x) M1 (x) M0 + M2 (x) A1 (x) M0 + M2 (x) M1 (x) A0.  Two planes of y at a time, in a march along y and a few rows at once,

    s = M2 x,  t = A2 x              rows of nodes as they lie in memory
    g = M1 s,  h = M1 t + A1 s
    y = y0 + alpha (A0 g + M0 h)     VL rows of the matrices at once, one in each lane

  No node is computed twice, none is added to, and nothing depends on the cells: the bands know which nodes may be read and written.
*/
#pragma once
#include "lines.h"

/* one direction, or the pair M, A of it */
typedef struct {
  PetscInt       n, width;              /* rows; room for the entries of each */
  PetscInt      *first, *count, *alike; /* columns first .. first + count - 1 of a row; rows from this one on that have the same ones */
  REAL          *X[2];                  /* [n][width] */
  PetscLogDouble size;                  /* entries of all rows */
} Band;

/*
  VL rows of a band, or of the pair of it, in the lanes of vectors: entry (l, first + c), or where rows slope (l, first + l + c), of the
  matrix m is X[c * matrices + m][l], zero where row l has no such column
*/
typedef struct {
  PetscInt first, count;
  V       *X;
} BandLanes;

/* the matrices of cells that a band is the sum of: entry (i, j) of class c is X[c][i][j], or X[c][j][i] */
typedef struct {
  PetscInt nrow, ncol, rowstride, colstride; /* nodes of a cell and from one cell to the next */
  /* local rows and columns that count in all cells but the last, since the next cell has the others */
  PetscInt         own[2];
  PetscInt         last;
  const PetscInt  *cls;
  const PetscReal *X[2];
  PetscBool        transpose;
} BandCells;

typedef struct {
  PatchFDBox     from, to;
  PetscBool      pair, flat; /* flat: there is no third direction */
  Band           dir[3];
  BandLanes     *lanes; /* of direction 0 */
  PetscBool      slope;
  void          *entries;   /* of lanes */
  PetscInt       columns;   /* of y at once: whole vectors */
  PetscInt       longest;   /* what most of them read */
  ptrdiff_t      ld, plane; /* of the rows of s, t, g and h, of the planes of s and t */
  REAL          *s, *t, *g, *h;
  void          *base;
  PetscLogDouble flops;
} BandsPlan;

enum {
  BANDS_COLUMNS = 256,              /* most columns of y at once */
  BANDS_ROWS    = 256 / REAL_BYTES, /* its rows, */
  BANDS_PLANES  = 2                 /* and planes: with more, s and t leave the second level of the cache */
};

static PetscErrorCode BandDestroy(Band *b)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(b->first, b->count, b->alike));
  PetscCall(PetscFree2(b->X[0], b->X[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscReal BandCellsEntry(const BandCells *m, int pair, PetscInt c, PetscInt i, PetscInt j)
{
  const PetscReal *X = m->X[pair] + (size_t)m->cls[c] * m->nrow * m->ncol;

  return m->transpose ? X[j * m->nrow + i] : X[i * m->ncol + j];
}

/* the sum over cells[0] .. cells[1] - 1 of rows[0] .. rows[1] - 1 and columns cols[0] .. cols[1] - 1; row0 and col0 are the first nodes of
   the arrays */
static PetscErrorCode BandCreate(const BandCells *m, const PetscInt cells[2], PetscInt n, PetscInt row0, const PetscInt rows[2],
                                 PetscInt col0, const PetscInt cols[2], Band *b)
{
  const int npair = m->X[1] ? 2 : 1;

  PetscFunctionBegin;
  b->n = n;
  PetscCall(PetscCalloc3(n, &b->first, n, &b->count, n, &b->alike));
  for (int fill = 0; fill < 2; fill++) {
    if (fill) PetscCall(PetscCalloc2(n * b->width, &b->X[0], n * b->width, &b->X[1]));
    for (PetscInt c = cells[0]; c < cells[1]; c++) {
      for (PetscInt i = 0; i < (c < m->last ? m->own[0] : m->nrow); i++) {
        for (PetscInt j = 0; j < (c < m->last ? m->own[1] : m->ncol); j++) {
          const PetscInt row = c * m->rowstride + i, col = c * m->colstride + j, r = row - row0, q = col - col0;

          if (row < rows[0] || row >= rows[1] || col < cols[0] || col >= cols[1]) continue;
          for (int p = 0; p < npair; p++) {
            const PetscReal x = BandCellsEntry(m, p, c, i, j);

            if (fill && q >= b->first[r] && q < b->first[r] + b->count[r]) b->X[p][r * b->width + q - b->first[r]] += (REAL)x;
            if (fill || x == 0) continue;
            if (!b->count[r] || q < b->first[r]) {
              b->count[r] = b->count[r] ? b->count[r] + b->first[r] - q : 1;
              b->first[r] = q;
            }
            b->count[r] = PetscMax(b->count[r], q - b->first[r] + 1);
            b->width    = PetscMax(b->width, b->count[r]);
          }
        }
      }
    }
  }
  for (PetscInt r = n - 1; r >= 0; r--) {
    b->alike[r] = r + 1 < n && b->first[r] == b->first[r + 1] && b->count[r] == b->count[r + 1] ? b->alike[r + 1] + 1 : 1;
    b->size += b->count[r];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the columns lo .. end - 1 that the rows from .. to - 1 read */
static void BandColumns(const Band *b, PetscInt from, PetscInt to, PetscInt *lo, PetscInt *end)
{
  *lo  = PETSC_INT_MAX;
  *end = 0;
  for (PetscInt r = from; r < to; r++) {
    if (!b->count[r]) continue;
    *lo  = PetscMin(*lo, b->first[r]);
    *end = PetscMax(*end, b->first[r] + b->count[r]);
  }
  *lo = PetscMin(*lo, *end);
}

static PetscErrorCode BandsDestroy(BandsPlan **plan)
{
  BandsPlan *p = *plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(BandDestroy(&p->dir[d]));
  PetscCall(PetscFree(p->lanes));
  PetscCall(PetscFree(p->entries));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the columns, as BandLanes has them, of VL rows from `row` on */
static void LanesColumns(const Band *b, PetscInt row, PetscBool slope, PetscInt *lo, PetscInt *end)
{
  *lo  = PETSC_INT_MAX;
  *end = -PETSC_INT_MAX;
  for (PetscInt r = row; r < PetscMin(row + VL, b->n); r++) {
    const PetscInt first = b->first[r] - (slope ? r - row : 0);

    if (!b->count[r]) continue;
    *lo  = PetscMin(*lo, first);
    *end = PetscMax(*end, first + b->count[r]);
  }
  if (*end < *lo) *lo = *end = 0;
}

/* columns are counted from the first one of a tile.  What is repeated after at most `period` vectors is stored once, so that it stays in
   the cache */
static PetscErrorCode LanesCreate(BandsPlan *p, PetscInt period)
{
  const Band    *b = &p->dir[0];
  const PetscInt n = (b->n + VL - 1) / VL, matrices = p->pair ? 2 : 1;
  PetscInt       lo, end, total[2] = {0, 0};
  V             *X = NULL;

  PetscFunctionBegin;
  for (PetscInt v = 0; v < n; v++) {
    for (int slope = 0; slope < 2; slope++) {
      LanesColumns(b, v * VL, (PetscBool)slope, &lo, &end);
      total[slope] += end - lo;
    }
  }
  p->slope = (PetscBool)(1.3 * total[1] < total[0]); /* vectors anywhere in memory take longer to load than single numbers */
  PetscCall(PetscMalloc1(n, &p->lanes));
  PetscCall(VMalloc((size_t)(total[p->slope] * matrices), &X, &p->entries));
  for (PetscInt v = 0; v < n; v++) {
    const PetscInt row = v * VL, tile = row / p->columns * p->columns;
    PetscInt       ilo, iend;
    size_t         size;

    BandColumns(b, tile, PetscMin(tile + p->columns, b->n), &ilo, &iend);
    LanesColumns(b, row, p->slope, &lo, &end);
    for (PetscInt c = lo; c < end; c++)
      for (PetscInt r = row; r < PetscMin(row + VL, b->n); r++) {
        const PetscInt at = c + (p->slope ? r - row : 0) - b->first[r];

        for (PetscInt m = 0; m < matrices && at >= 0 && at < b->count[r]; m++)
          X[(c - lo) * matrices + m][r - row] = b->X[m][r * b->width + at];
      }
    p->lanes[v] = (BandLanes){end > lo ? lo - ilo : 0, end - lo, X};
    size        = (size_t)((end - lo) * matrices);
    for (PetscInt w = v - 1; w >= PetscMax(0, v - period) && p->lanes[v].X == X; w--)
      if (p->lanes[w].count == end - lo && !memcmp(p->lanes[w].X, X, size * sizeof(V))) p->lanes[v].X = p->lanes[w].X;
    if (p->lanes[v].X == X) X += size;
    else memset(X, 0, size * sizeof(V));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BandsCreate(const BandCells m[3], const PatchFDRange cells, const PatchFDBox *from, const PatchFDRange read,
                                  const PatchFDBox *to, const PatchFDRange write, BandsPlan **plan)
{
  BandsPlan     *p;
  const PetscInt vectors    = (to->n[0] + VL - 1) / VL;
  PetscInt       longest[2] = {0, 0}; /* columns and rows that are read for those that are worked on at once */
  size_t         planes, rows;
  V             *v = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan   = p;
  p->from = *from;
  p->to   = *to;
  p->pair = (PetscBool)(m[0].X[1] != NULL);
  for (int d = 0; d < 3; d++) PetscCall(BandCreate(&m[d], cells[d], to->n[d], to->lo[d], write[d], from->lo[d], read[d], &p->dir[d]));
  p->flat    = (PetscBool)(from->n[2] == 1 && to->n[2] == 1 && p->dir[2].count[0] && p->dir[2].X[0][0] == 1 &&
                        !(p->pair && p->dir[2].X[1][0]));
  p->columns = (vectors / (vectors * VL / BANDS_COLUMNS + 1) + 1) * VL;
  PetscCall(LanesCreate(p, m[0].rowstride));
  for (int d = 0; d < 2; d++) {
    const PetscInt step = d ? BANDS_ROWS : p->columns;

    for (PetscInt r = 0; r < to->n[d]; r += step) {
      PetscInt lo, end;

      BandColumns(&p->dir[d], r, PetscMin(r + step, to->n[d]), &lo, &end);
      longest[d] = PetscMax(longest[d], end - lo);
    }
  }
  p->longest = longest[0];
  p->ld      = (longest[0] / VL + 2) * VL; /* sloping rows see up to VL numbers behind the others, and in front of them: zeros */
  p->plane   = p->ld * longest[1];
  planes     = (size_t)(BANDS_PLANES * p->plane) / VL;
  rows       = (size_t)(BANDS_ROWS * p->ld) / VL;
  PetscCall(VMalloc(2 * planes + 2 * (rows + 1), &v, &p->base));
  p->s = (REAL *)v;
  p->t = (REAL *)(v += planes);
  p->g = (REAL *)(v += planes + 1);
  p->h = (REAL *)(v += rows + 1);
  {
    const PetscLogDouble x0 = from->n[0], x1 = from->n[1], y1 = to->n[1], y2 = to->n[2],
                         of[3] = {p->pair ? 2 : 1, p->pair ? (p->flat ? 2 : 3) : 1, p->pair ? 2 : 1};

    p->flops = 2 * ((p->flat ? 0 : of[2] * p->dir[2].size * x1 * x0) + of[1] * y2 * p->dir[1].size * x0 + of[0] * y2 * y1 * p->dir[0].size);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what rows are made of: a = M x alone, with b = A x, or with b = A x + M z */
typedef enum {
  BAND_ONE,
  BAND_BOTH,
  BAND_CROSS
} BandWhat;

/* a vector that several multiply-adds need.  GCC would rather load it for each of them, which takes a quarter longer */
#if defined(__x86_64__)
  #define IN_REGISTER(v) __asm__("" : "+v"(v))
#else
  #define IN_REGISTER(v)
#endif
/* sums that registers hold beside operands: more than these and the compiler moves some through memory */
#if defined(__AVX512F__) || defined(__aarch64__)
  #define BANDS_SUMS 16
#else
  #define BANDS_SUMS 9
#endif
#define EACH(i, n) _Pragma("GCC unroll 4") for (int i = 0; i < n; i++)

typedef REAL VU __attribute__((vector_size(VBYTES), ANYWHERE)); /* VL numbers anywhere in memory */
/* sums of one row do not wait for each other */
#define COMBINE(T, SIZE, BLOCK) \
  do { \
    T u[4][BLOCK], v[4][BLOCK], t[BLOCK]; \
\
    EACH(l, BLOCK) t[l]               = (T){0}; \
    EACH(r, K) EACH(l, BLOCK) u[r][l] = v[r][l] = (T){0}; \
    for (PetscInt c = 0; c < count; c++) { \
      T w[BLOCK]; \
\
      EACH(l, BLOCK) \
      { \
        w[l] = *(const T *)(x + c * stride + i + l * SIZE); \
        IN_REGISTER(w[l]); \
      } \
      EACH(r, K) EACH(l, BLOCK) u[r][l] += M[r * width + c] * w[l]; \
      if (what == BAND_ONE) continue; \
      EACH(r, K) EACH(l, BLOCK) v[r][l] += A[r * width + c] * w[l]; \
      if (what == BAND_BOTH) continue; \
      EACH(l, BLOCK) \
      { \
        w[l] = *(const T *)(z + c * stride + i + l * SIZE); \
        IN_REGISTER(w[l]); \
      } \
      if (K == 1) EACH(l, BLOCK) t[l] += M[c] * w[l]; \
      else EACH(r, K) EACH(l, BLOCK) v[r][l] += M[r * width + c] * w[l]; \
    } \
    if (K == 1 && what == BAND_CROSS) EACH(l, BLOCK) v[0][l] += t[l]; \
    EACH(r, K) EACH(l, BLOCK) \
    { \
      *(T *)(a + r * next + i + l * SIZE) = u[r][l]; \
      if (what != BAND_ONE) *(T *)(b + r * next + i + l * SIZE) = v[r][l]; \
    } \
  } while (0)
/* K rows that have the same `count` columns, whose entries stand `width` apart, from rows x[c], z[c] of n numbers, `stride` apart, to rows
   of a and b, `next` apart */
static inline __attribute__((always_inline)) void CombineRows(int K, BandWhat what, PetscInt count, PetscInt width, const REAL *M,
                                                              const REAL *A, const REAL *x, const REAL *z, ptrdiff_t stride, PetscInt n,
                                                              REAL *restrict a, REAL *restrict b, ptrdiff_t next)
{
  const int block = BANDS_SUMS / (what == BAND_ONE ? K : (what == BAND_CROSS && K == 1 ? 3 : 2 * K));
  PetscInt  i     = 0;

#define BLOCKS(B) \
  for (; i + VL < n && n >= B * VL; i += B * VL) { \
    i = PetscMin(i, n - B * VL); /* some once more, rather than a rest of more than a vector */ \
    COMBINE(VU, VL, B); \
  }
  if (block >= 4) BLOCKS(4)
  else if (block == 3) BLOCKS(3)
  else BLOCKS(2)
#undef BLOCKS
  for (; i < n && n >= VL; i += VL) {
    i = PetscMin(i, n - VL);
    COMBINE(VU, VL, 1);
  }
  for (; i < n; i++) COMBINE(REAL, 1, 1);
}
#undef COMBINE

/* the rows from .. to - 1 of a band; x and z begin with column `lo` */
static inline __attribute__((always_inline)) void BandRows(BandWhat what, const Band *band, PetscInt from, PetscInt to, PetscInt lo,
                                                           const REAL *x, const REAL *z, ptrdiff_t stride, PetscInt n, REAL *a, REAL *b,
                                                           ptrdiff_t next)
{
  PetscInt k;

  for (PetscInt r = from; r < to; r += k, a += k * next, b += k * next) {
    const PetscInt  alike = PetscMin(band->alike[r], to - r), count = band->count[r], width = band->width;
    const REAL     *M = band->X[0] + r * width, *A = band->X[1] + r * width;
    const ptrdiff_t at = count ? (band->first[r] - lo) * stride : 0;

#define COMBINED(K) CombineRows(k = K, what, count, width, M, A, x + at, z + at, stride, n, a, b, next)
    if (what == BAND_ONE && alike >= 4) COMBINED(4);
    else if (alike >= 2) COMBINED(2);
    else COMBINED(1);
#undef COMBINED
  }
}

#define BAND_ROWS(NAME, WHAT) \
  static __attribute__((noinline)) void NAME(const Band *band, PetscInt from, PetscInt to, PetscInt lo, const REAL *x, const REAL *z, \
                                             ptrdiff_t stride, PetscInt n, REAL *a, REAL *b, ptrdiff_t next) \
  { \
    BandRows(WHAT, band, from, to, lo, x, z, stride, n, a, b, next); \
  }
BAND_ROWS(BandOne, BAND_ONE)
BAND_ROWS(BandBoth, BAND_BOTH)
BAND_ROWS(BandCross, BAND_CROSS)
#undef BAND_ROWS

/* y = y0 + u for n numbers, fewer than a vector has */
static __attribute__((noinline)) void LanesEnd(V u, PetscInt n, const REAL *y0, REAL *y)
{
  for (PetscInt l = 0; l < n; l++) y[l] = u[l] + (y0 ? y0[l] : 0);
}

/* R rows of y = y0 + alpha (M h + A g), or of y0 + alpha M h: n numbers each */
static inline __attribute__((always_inline)) void LanesRows(int R, PetscBool pair, PetscBool slope, const BandLanes *lanes, PetscInt n,
                                                            const REAL *g, const REAL *h, ptrdiff_t ld, REAL alpha, ptrdiff_t next,
                                                            const REAL *y0, REAL *y)
{
  for (PetscInt i = 0; i < n; i += VL, lanes++) {
    const REAL *x = h + lanes->first, *z = g + lanes->first;
    const V *X = lanes->X, *const end = X + lanes->count * (pair ? 2 : 1);
    V u[4], v[4];

    EACH(r, R) u[r] = v[r] = (V){0};
    for (; X < end; X += pair ? 2 : 1, x++, z++) {
      V m = X[0], a = X[pair];

      IN_REGISTER(m);
      IN_REGISTER(a);
      EACH(r, R)
      {
        u[r] += m * (slope ? (V) * (const VU *)(x + r * ld) : Splat(x[r * ld]));
        if (pair) v[r] += a * (slope ? (V) * (const VU *)(z + r * ld) : Splat(z[r * ld]));
      }
    }
    EACH(r, R) u[r] = alpha * (pair ? u[r] + v[r] : u[r]);
    if (i + VL <= n && y0) EACH(r, R) * (VU *)(y + r * next + i) = *(const VU *)(y0 + r * next + i) + (VU)u[r];
    else if (i + VL <= n) EACH(r, R) * (VU *)(y + r * next + i) = u[r];
    else EACH(r, R) LanesEnd(u[r], n - i, y0 ? y0 + r * next + i : NULL, y + r * next + i);
  }
}

static inline __attribute__((always_inline)) void LanesApply(PetscBool pair, PetscBool slope, const BandLanes *lanes, PetscInt rows,
                                                             PetscInt n, const REAL *g, const REAL *h, ptrdiff_t ld, REAL alpha,
                                                             ptrdiff_t next, const REAL *y0, REAL *y)
{
  PetscInt r = 0;

  for (; r + 4 <= rows; r += 4)
    LanesRows(4, pair, slope, lanes, n, g + r * ld, h + r * ld, ld, alpha, next, y0 ? y0 + r * next : NULL, y + r * next);
  for (; r < rows; r++)
    LanesRows(1, pair, slope, lanes, n, g + r * ld, h + r * ld, ld, alpha, next, y0 ? y0 + r * next : NULL, y + r * next);
}

/* rows of y from those of g and h: n columns from i0 on */
static __attribute__((noinline)) void BandsRows(const BandsPlan *p, PetscInt i0, PetscInt rows, PetscInt n, REAL alpha, const REAL *y0,
                                                REAL *y)
{
#define APPLY(PAIR, SLOPE) \
  LanesApply(PAIR, SLOPE, p->lanes + i0 / VL, rows, n, p->g, p->pair ? p->h : p->g, p->ld, alpha, p->to.n[0], y0, y)
  if (p->pair && p->slope) APPLY(PETSC_TRUE, PETSC_TRUE);
  else if (p->pair) APPLY(PETSC_TRUE, PETSC_FALSE);
  else if (p->slope) APPLY(PETSC_FALSE, PETSC_TRUE);
  else APPLY(PETSC_FALSE, PETSC_FALSE);
#undef APPLY
}

/* ask for n numbers, to be read or written soon: rows are too short for the processor to foresee them */
#define PrefetchRow(x, n, write) \
  for (PetscInt c_ = 0; c_ < (n); c_ += 64 / REAL_BYTES) __builtin_prefetch((x) + c_, write)

/*
  s and t of these planes for the rows in[0] .. in[1] - 1 of x, n columns, of which had[0] .. had[1] - 1 are there.  Beside it, what will
  be written next is asked for: `rows` rows of y and y0, m columns
*/
static void BandsFill(BandsPlan *p, PetscInt k, PetscInt planes, const PetscInt had[2], const PetscInt in[2], PetscInt n, const REAL *x,
                      PetscInt rows, PetscInt m, const REAL *y0, const REAL *y)
{
  const Band     *b   = &p->dir[2];
  const ptrdiff_t row = p->from.n[0], plane = row * p->from.n[1], toplane = (ptrdiff_t)p->to.n[0] * p->to.n[1];
  const PetscInt  keep = in[0] < had[0] ? 0 : PetscMax(0, PetscMin(had[1], in[1]) - in[0]), fresh = in[1] - in[0] - keep;
  PetscInt        lo, end;

  BandColumns(b, k, k + planes, &lo, &end);
  for (PetscInt q = 0; q < planes && keep; q++) {
    for (int i = 0; i < (p->pair ? 2 : 1); i++) {
      REAL *const s = (i ? p->t : p->s) + q * p->plane;

      memmove(s, s + (in[0] - had[0]) * p->ld, (size_t)(keep * p->ld) * sizeof(REAL));
    }
  }
  for (PetscInt j = 0; j < fresh; j++) {
    const ptrdiff_t   at   = (keep + j) * p->ld;
    const REAL *const from = x + lo * plane + (in[0] + keep + j) * row;

    for (PetscInt r = j * rows / fresh; r < (j + 1) * rows / fresh; r++)
      for (PetscInt q = 0; q < planes; q++) {
        const ptrdiff_t soon = q * toplane + (ptrdiff_t)r * p->to.n[0];

        PrefetchRow(y + soon, m, 1);
        if (y0 && y0 != y) PrefetchRow(y0 + soon, m, 0);
      }
    (p->pair ? BandBoth : BandOne)(b, k, k + planes, lo, from, from, plane, n, p->s + at, p->t + at, p->plane);
  }
}

/* columns i0 .. i1 - 1 of the planes from k on */
static void BandsMarch(BandsPlan *p, PetscInt i0, PetscInt i1, PetscInt k, PetscInt planes, REAL alpha, const REAL *x, const REAL *y0,
                       REAL *y)
{
  const Band     *by  = &p->dir[1];
  const ptrdiff_t row = p->to.n[0], plane = row * p->to.n[1], ld = p->flat ? p->from.n[0] : p->ld;
  PetscInt        lo, end, n, had[2] = {0, 0};

  BandColumns(&p->dir[0], i0, i1, &lo, &end);
  n = end - lo;
  if (y0) y0 += k * plane + i0;
  y += k * plane + i0;
  for (PetscInt j = 0; j < p->to.n[1]; j += BANDS_ROWS) {
    const PetscInt  rows = PetscMin(BANDS_ROWS, p->to.n[1] - j);
    const ptrdiff_t at   = j * row;
    PetscInt        in[2];

    BandColumns(by, j, j + rows, &in[0], &in[1]);
    if (!p->flat && in[1]) {
      BandsFill(p, k, planes, had, in, n, x + lo, rows, i1 - i0, y0 ? y0 + at : NULL, y + at);
      for (int e = 0; e < 2; e++) had[e] = in[e];
    }
    for (PetscInt q = 0; q < planes; q++) {
      const REAL *const s = p->flat ? x + lo + in[0] * ld : p->s + q * p->plane, *const t = p->t + q * p->plane;

      (p->pair ? (p->flat ? BandBoth : BandCross) : BandOne)(by, j, j + rows, in[0], s, t, ld, n, p->g, p->h, p->ld);
      for (PetscInt r = 0; r < rows && p->slope && n < p->longest; r++) { /* other columns left numbers there */
        memset(p->g + r * p->ld + n, 0, (size_t)(p->ld - n) * sizeof(REAL));
        memset(p->h + r * p->ld + n, 0, (size_t)(p->ld - n) * sizeof(REAL));
      }
      BandsRows(p, i0, rows, i1 - i0, alpha, y0 ? y0 + q * plane + at : NULL, y + q * plane + at);
    }
  }
}

/* y0 may be y, or NULL */
static PetscErrorCode BandsApply(BandsPlan *p, PetscReal alpha, const REAL *x, const REAL *y0, REAL *y)
{
  const PetscInt *n = p->to.n;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n[0]; i += p->columns)
    for (PetscInt k = 0; k < n[2]; k += BANDS_PLANES)
      BandsMarch(p, i, PetscMin(i + p->columns, n[0]), k, PetscMin(BANDS_PLANES, n[2] - k), (REAL)alpha, x, y0, y);
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
