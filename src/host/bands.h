/*
  y = y0 + alpha B x with bands of whole lines, a row for each node of y: B = X2 (x) X1 (x) X0, or, for pairs of bands,
  A2 (x) M1 (x) M0 + M2 (x) A1 (x) M0 + M2 (x) M1 (x) A0.  Plane by plane of y, in tiles of rows that the cache holds,

    s = M2 x,  t = A2 x              rows of nodes as they lie in memory
    g = M1 s,  h = M1 t + A1 s
    y = y0 + alpha (A0 g + M0 h)     VL rows at once, turned so that each lane has one

  No node is computed twice, none is added to, and nothing depends on the cells: the bands know which nodes may be read and written.
*/
#pragma once
#include "lines.h"

/* one direction, or the pair M, A of it */
typedef struct {
  PetscInt  n, width;              /* rows; room for the entries of each */
  PetscInt *first, *count, *alike; /* columns first .. first + count - 1 of a row; rows from this one on that have the same ones */
  REAL     *X[2];                  /* [n][width] */
  PetscLogDouble size;             /* entries of all rows */
} Band;

/* the matrices of cells that a band is the sum of: entry (i, j) of class c is X[c][i][j], or X[c][j][i] */
typedef struct {
  PetscInt         nrow, ncol, rowstride, colstride; /* nodes of a cell and from one cell to the next */
  PetscInt         own[2];                           /* local rows and columns that count in all cells but the last, since the next cell has the others */
  PetscInt         last;
  const PetscInt  *cls;
  const PetscReal *X[2];
  PetscBool        transpose;
} BandCells;

typedef struct {
  PatchFDBox from, to;
  PetscBool  pair, flat; /* flat: there is no third direction */
  Band       dir[3];
  PetscInt   columns, rows;    /* of a tile of y */
  ptrdiff_t  ld, plane;        /* of the rows of a tile, of its planes */
  REAL      *s, *t, *g, *h;
  V         *G, *H, *O;
  void      *base;
  PetscLogDouble flops;
} BandsPlan;

enum {
  BANDS_COLUMNS = 256,   /* most columns of a tile */
  BANDS_PLANES  = 2,     /* planes of y that are worked on at once where they need the same ones of x */
  BANDS_BYTES   = 3 << 19 /* that a tile may take of the second level of the cache */
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

/* the sum over cells[0] .. cells[1] - 1 of rows[0] .. rows[1] - 1 and columns cols[0] .. cols[1] - 1; row0 and col0 are the first nodes of the arrays */
static PetscErrorCode BandCreate(const BandCells *m, const PetscInt cells[2], PetscInt n, PetscInt row0, const PetscInt rows[2], PetscInt col0, const PetscInt cols[2], Band *b)
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
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BandsCreate(const BandCells m[3], const PatchFDRange cells, const PatchFDBox *from, const PatchFDRange read, const PatchFDBox *to, const PatchFDRange write, BandsPlan **plan)
{
  BandsPlan     *p;
  const PetscInt pad = VL > TILE ? VL : TILE;
  PetscInt       longest[2] = {0, 0}; /* columns and rows that a tile reads */
  V             *v = NULL;
  size_t         planes;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan   = p;
  p->from = *from;
  p->to   = *to;
  p->pair = (PetscBool)(m[0].X[1] != NULL);
  for (int d = 0; d < 3; d++) PetscCall(BandCreate(&m[d], cells[d], to->n[d], to->lo[d], write[d], from->lo[d], read[d], &p->dir[d]));
  p->flat    = (PetscBool)(from->n[2] == 1 && to->n[2] == 1 && p->dir[2].count[0] && p->dir[2].X[0][0] == 1 && !(p->pair && p->dir[2].X[1][0]));
  p->columns = to->n[0] / (to->n[0] / BANDS_COLUMNS + 1) + 1;
  /* the planes of x that the next planes of y need again, s and t */
  p->rows = (PetscInt)(BANDS_BYTES / ((size_t)(p->dir[2].width / 2 + 2 + 2 * BANDS_PLANES) * p->columns * sizeof(REAL))) - p->dir[1].width;
  p->rows = PetscMax(2, p->rows / VL) * VL;
  for (int d = 0; d < 2; d++) {
    const PetscInt step = d ? p->rows : p->columns;

    for (PetscInt r = 0; r < to->n[d]; r += step) {
      PetscInt lo, end;

      BandColumns(&p->dir[d], r, PetscMin(r + step, to->n[d]), &lo, &end);
      longest[d] = PetscMax(longest[d], end - lo);
    }
  }
  p->ld = (longest[0] / pad + 2) * pad;
  p->plane = (p->ld * longest[1] / VL + 1) * VL;
  planes   = (size_t)(BANDS_PLANES * p->plane) / VL;
  PetscCall(VMalloc(2 * planes + 4 * (size_t)p->ld + (size_t)(p->columns + pad), &v, &p->base));
  p->s = (REAL *)v;
  p->t = (REAL *)(v += planes);
  p->g = (REAL *)(v += planes);
  p->h = (REAL *)(v += p->ld);
  p->G = v += p->ld;
  p->H = v += p->ld;
  p->O = v + p->ld;
  {
    const PetscLogDouble x0 = from->n[0], x1 = from->n[1], y1 = to->n[1], y2 = to->n[2], of[3] = {p->pair ? 2 : 1, p->pair ? (p->flat ? 2 : 3) : 1, p->pair ? 2 : 1};

    p->flops = 2 * ((p->flat ? 0 : of[2] * p->dir[2].size * x1 * x0) + of[1] * y2 * p->dir[1].size * x0 + of[0] * y2 * y1 * p->dir[0].size);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  a = sum_c M[c] x[c] and, with A, b = sum_c A[c] x[c] (+ M[c] z[c], if there is z) for `count` rows x[c], z[c] of n numbers, which stand `stride` apart: for K rows of M and A, which
  have the same columns and stand `width` apart, those of a and b `next`
*/
typedef REAL VU __attribute__((vector_size(VBYTES), ANYWHERE)); /* VL numbers anywhere in memory */
#define COMBINE(T, SIZE, BLOCK) \
  do { \
    T u[BANDS_PLANES][BLOCK] = {0}, v[BANDS_PLANES][BLOCK] = {0}, t[BANDS_PLANES][BLOCK] = {0}; \
    for (PetscInt c = 0; c < count; c++) { \
      _Pragma("GCC unroll 4") for (int l = 0; l < BLOCK; l++) { \
        const T w = *(const T *)(x + c * stride + i + l * SIZE); \
\
        _Pragma("GCC unroll 4") for (int r = 0; r < K; r++) { \
          u[r][l] += M[r * width + c] * w; \
          if (A) v[r][l] += A[r * width + c] * w; \
          if (z) t[r][l] += M[r * width + c] * *(const T *)(z + c * stride + i + l * SIZE); \
        } \
      } \
    } \
    _Pragma("GCC unroll 4") for (int r = 0; r < K; r++) { \
      _Pragma("GCC unroll 4") for (int l = 0; l < BLOCK; l++) { \
        *(T *)(a + r * next + i + l * SIZE) = u[r][l]; \
        if (z) v[r][l] += t[r][l]; \
        if (A) *(T *)(b + r * next + i + l * SIZE) = v[r][l]; \
      } \
    } \
  } while (0)
static inline __attribute__((always_inline)) void CombineRows(int K, PetscInt count, PetscInt width, const REAL *M, const REAL *A, const REAL *x, const REAL *z, ptrdiff_t stride, PetscInt n, REAL *restrict a, REAL *restrict b, ptrdiff_t next)
{
  PetscInt i = 0;

  for (; i + VL < n && n >= 4 * VL; i += 4 * VL) {
    i = PetscMin(i, n - 4 * VL); /* some once more, rather than a rest of more than a vector */
    COMBINE(VU, VL, 4);
  }
  for (; i < n && n >= VL; i += VL) {
    i = PetscMin(i, n - VL);
    COMBINE(VU, VL, 1);
  }
  for (; i < n; i++) COMBINE(REAL, 1, 1);
}
#undef COMBINE

/* the rows row .. row + lines - 1 of a band, n numbers each, from the rows of x and z, of which `first` is column `lo`; the rows of a and b are ld apart */
static void BandRows(const Band *band, PetscBool pair, PetscInt row, PetscInt lines, PetscInt lo, const REAL *x, const REAL *z, ptrdiff_t stride, PetscInt n, REAL *a, REAL *b, ptrdiff_t ld)
{
  for (PetscInt r = row; r < row + lines; r++, a += ld, b += ld) {
    const REAL *M = band->X[0] + r * band->width, *A = band->X[1] + r * band->width;
    const ptrdiff_t at = band->count[r] ? (band->first[r] - lo) * stride : 0;

    if (!pair) CombineRows(1, band->count[r], 0, M, NULL, x + at, NULL, stride, n, a, NULL, 0);
    else if (z) CombineRows(1, band->count[r], 0, M, A, x + at, z + at, stride, n, a, b, 0);
    else CombineRows(1, band->count[r], 0, M, A, x + at, NULL, stride, n, a, b, 0);
  }
}

/* row `row` of a band, or with `planes` BANDS_PLANES the rows from it on, which have the same columns */
static void BandPlanes(const Band *band, PetscBool pair, PetscInt row, PetscInt planes, const REAL *x, ptrdiff_t stride, PetscInt n, REAL *a, REAL *b, ptrdiff_t next)
{
  const REAL *M = band->X[0] + row * band->width, *A = band->X[1] + row * band->width;

  x += band->first[row] * stride;
  if (planes == 1) BandRows(band, pair, row, 1, band->first[row], x, NULL, stride, n, a, b, 0);
  else if (pair) CombineRows(BANDS_PLANES, band->count[row], band->width, M, A, x, NULL, stride, n, a, b, next);
  else CombineRows(BANDS_PLANES, band->count[row], band->width, M, NULL, x, NULL, stride, n, a, NULL, next);
}

/* v[l] = row l of VL rows -> columns, a vector for each */
static void BandsTurn(const REAL *rows, ptrdiff_t ld, PetscInt n, V *columns)
{
  REAL *at[VL];

  for (int l = 0; l < VL; l++) at[l] = (REAL *)rows + l * ld;
  for (PetscInt i = 0; i < n; i += TILE) {
    V v[TILE];

    TileLoad(TILE, at, i, v);
    _Pragma("GCC unroll 8") for (int c = 0; c < TILE; c++) columns[i + c] = v[c];
  }
}

/* out[r] = sum_c M[r][c] h[c] + A[r][c] g[c], or only the former, for K rows of the same columns */
static inline __attribute__((always_inline)) void BandsLines(int K, PetscInt count, PetscInt width, const REAL *M, const REAL *A, const V *h, const V *g, V *out)
{
  V m[4] = {{0}}, a[4] = {{0}}; /* apart, so that none waits for the other */

  for (PetscInt c = 0; c < count; c++) {
    _Pragma("GCC unroll 4") for (int r = 0; r < K; r++) {
      m[r] += M[r * width + c] * h[c];
      if (A) a[r] += A[r * width + c] * g[c];
    }
  }
  _Pragma("GCC unroll 4") for (int r = 0; r < K; r++) out[r] = A ? m[r] + a[r] : m[r];
}

static inline __attribute__((always_inline)) void BandsLine(const Band *b, PetscBool pair, PetscInt from, PetscInt to, PetscInt lo, const V *h, const V *g, V *out)
{
  PetscInt k;

  for (PetscInt r = from; r < to; r += k) {
    const PetscInt  alike = PetscMin(b->alike[r], to - r), count = b->count[r];
    const REAL     *M = b->X[0] + r * b->width, *A = pair ? b->X[1] + r * b->width : NULL;
    const ptrdiff_t at = count ? b->first[r] - lo : 0;

#define LINES(K) BandsLines(k = K, count, b->width, M, A, h + at, g + at, out + (r - from))
    if (alike >= 4) LINES(4);
    else if (alike >= 2) LINES(2);
    else LINES(1);
#undef LINES
  }
}

/* `lines` rows of y, `next` apart, from columns: y = y0 + alpha columns; y0 may be y, or NULL */
static void BandsStore(PetscInt lines, PetscInt n, REAL alpha, const V *columns, ptrdiff_t next, const REAL *y0, REAL *y)
{
  for (PetscInt i = 0; i < n; i += TILE) {
    V           v[TILE];
    const REAL *tile = (const REAL *)v;

    _Pragma("GCC unroll 8") for (int c = 0; c < TILE; c++) v[c] = alpha * columns[i + c];
    Transpose(TILE, v);
    for (PetscInt l = 0; l < lines; l++) {
      const ptrdiff_t at   = l * next + i;
      const REAL     *from = tile + (l % TILE) * VL + (l / TILE) * TILE;

      if (i + TILE <= n && y0) *(Row *)(y + at) = *(const Row *)(y0 + at) + *(const Row *)from;
      else if (i + TILE <= n) *(Row *)(y + at) = *(const Row *)from;
      else
        for (PetscInt c = 0; c < n - i; c++) y[at + c] = y0 ? y0[at + c] + from[c] : from[c];
    }
  }
}

/* ask for n numbers, to be read or written soon: rows are too short for the processor to foresee them */
#define PrefetchRow(x, n, write) \
  for (PetscInt c_ = 0; c_ < (n); c_ += 64 / REAL_BYTES) __builtin_prefetch((x) + c_, write)

/* rows and columns j0 .. j1 - 1, i0 .. i1 - 1 of the planes from k on, which need the same ones of x */
static void BandsTile(BandsPlan *p, PetscInt i0, PetscInt i1, PetscInt j0, PetscInt j1, PetscInt k, PetscInt planes, REAL alpha, const REAL *x, const REAL *y0, REAL *y)
{
  const Band     *bx = &p->dir[0], *by = &p->dir[1], *bz = &p->dir[2];
  const ptrdiff_t row = p->from.n[0], plane = row * p->from.n[1], torow = p->to.n[0];
  const PetscBool pair = p->pair;
  const ptrdiff_t soon = (ptrdiff_t)(k + planes) * p->from.n[2] / p->to.n[2] + bz->width / 2 + 1; /* the first plane of x that is wanted next */
  PetscInt        ilo, iend, jlo, jend;

  BandColumns(bx, i0, i1, &ilo, &iend);
  BandColumns(by, j0, j1, &jlo, &jend);
  for (PetscInt j = jlo; j < jend && !p->flat; j++) {
    for (PetscInt q = soon; q < PetscMin(soon + planes, p->from.n[2]); q++) PrefetchRow(x + q * plane + j * row + ilo, iend - ilo, 0);
    BandPlanes(bz, pair, k, planes, x + j * row + ilo, plane, iend - ilo, p->s + (j - jlo) * p->ld, p->t + (j - jlo) * p->ld, p->plane);
  }
  for (PetscInt q = 0; q < planes; q++) {
    const REAL *const s = p->s + q * p->plane, *const t = p->t + q * p->plane;

    for (PetscInt j = j0; j < j1; j += VL) {
      const PetscInt  lines = PetscMin(VL, j1 - j);
      const ptrdiff_t at    = ((k + q) * (ptrdiff_t)p->to.n[1] + j) * torow + i0;

      for (PetscInt l = 0; l < lines; l++) PrefetchRow(y + at + l * torow, i1 - i0, 1);
      if (p->flat) BandRows(by, pair, j, lines, 0, x + ilo, NULL, row, iend - ilo, p->g, p->h, p->ld);
      else BandRows(by, pair, j, lines, jlo, s, pair ? t : NULL, p->ld, iend - ilo, p->g, p->h, p->ld);
      BandsTurn(p->g, p->ld, iend - ilo, p->G);
      if (pair) {
        BandsTurn(p->h, p->ld, iend - ilo, p->H);
        BandsLine(bx, PETSC_TRUE, i0, i1, ilo, p->H, p->G, p->O);
      } else BandsLine(bx, PETSC_FALSE, i0, i1, ilo, p->G, p->G, p->O);
      BandsStore(lines, i1 - i0, alpha, p->O, torow, y0 ? y0 + at : NULL, y + at);
    }
  }
}

/* y0 may be y, or NULL */
static PetscErrorCode BandsApply(BandsPlan *p, PetscReal alpha, const REAL *x, const REAL *y0, REAL *y)
{
  const PetscInt *n = p->to.n;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n[0]; i += p->columns)
    for (PetscInt j = 0; j < n[1]; j += p->rows)
      for (PetscInt k = 0, planes; k < n[2]; k += planes) {
        planes = p->dir[2].alike[k] >= BANDS_PLANES && !p->flat ? BANDS_PLANES : 1;
        BandsTile(p, i, PetscMin(i + p->columns, n[0]), j, PetscMin(j + p->rows, n[1]), k, planes, (REAL)alpha, x, y0, y);
      }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
