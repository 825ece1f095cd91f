/* the steps of the direct solve of the whole box (patchfd/private/boxsolve.h).  The matrices are large, so BLAS multiplies them. */
#pragma once
#include "hartley.h"
#include <patchfd/private/boxsolve.h>
#include <petscblaslapack.h>

/* PETSc declares the BLAS for PetscScalar only */
extern void GEMM(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const REAL *, const REAL *,
                 const PetscBLASInt *, const REAL *, const PetscBLASInt *, const REAL *, REAL *, const PetscBLASInt *);

enum {
  COLUMNS_WIDTH = 4, /* vectors of lines that are eliminated at once, so that one does not wait for its pivot */
  COLUMNS       = COLUMNS_WIDTH * VL
};

typedef struct {
  PetscInt blocks[3], size[3];
  REAL    *S[3], *lambda[3];
  int      last, other;  /* the last direction, and the second one of its planes */
  PetscInt inner, modes; /* of the planes of numbers; how many there are */
  PetscInt nend, nkeep;
  Hartley  wave[3]; /* n is 0 for other lines */
  REAL    *band;    /* of the line that is eliminated, */
  PetscInt diagonals;
  REAL     least; /* and its least eigenvalue */
  V       *room;
  void    *base;
  REAL    *alpha, *mass; /* [modes][nend] */
  REAL    *row[2];       /* of numbers, room */
  /* equations of the ends, for n numbers of a plane: factors [nunknown][width][n] */
  PetscInt nunknown, width, copies, n;
  REAL    *factors;
} BoxSolvePlan;

static PetscErrorCode BoxSolveDestroy(void **plan)
{
  BoxSolvePlan *p = (BoxSolvePlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscFree(p->S[d]));
    PetscCall(PetscFree(p->lambda[d]));
    PetscCall(HartleyDestroy(&p->wave[d]));
  }
  PetscCall(PetscFree2(p->row[0], p->row[1]));
  PetscCall(PetscFree(p->band));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(p->alpha));
  PetscCall(PetscFree(p->mass));
  PetscCall(PetscFree(p->factors));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveFactor(const PatchFDBoxSteps *s, BoxSolvePlan *p)
{
  const PatchFDBoxLine *first = &s->line[0], *other = &s->line[p->other];
  const PetscInt        n0 = PatchFDBoxLineLength(first);
  PetscReal            *R;

  PetscFunctionBegin;
  p->nunknown = s->cut->nunknown;
  p->width    = s->cut->width;
  p->copies   = PatchFDCutCopies(s->cut);
  p->n        = s->n;
  PetscCall(PetscMalloc1((size_t)p->nunknown * p->width * p->n, &R));
  for (PetscInt i = 0; i < s->n; i++)
    PatchFDCutFactor(s->cut, first->lambda[(s->first + i) % n0] + other->lambda[(s->first + i) / n0], (size_t)s->n, R + i);
  PetscCall(RealCopy((size_t)p->nunknown * p->width * p->n, R, &p->factors));
  PetscCall(PetscFree(R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveLine(const PatchFDBoxLine *l, BoxSolvePlan *p, int d)
{
  PetscFunctionBegin;
  if (l->wave) PetscCall(HartleyCreate(l->n, l->wave + l->n, &p->wave[d]));
  else PetscCall(RealCopy((size_t)l->blocks * l->size * l->size, l->S, &p->S[d]));
  if (!l->band) PetscFunctionReturn(PETSC_SUCCESS);
  p->diagonals = l->width;
  p->least     = (REAL)l->lambda[0];
  for (PetscInt i = 1; i < l->n; i++) p->least = PetscMin(p->least, (REAL)l->lambda[i]);
  PetscCall(RealCopy((size_t)2 * l->n * (l->width + 1), l->band, &p->band));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveCreate(const PatchFDBoxSteps *s, void **plan)
{
  BoxSolvePlan *p;
  PetscCount    room = 0;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan    = p;
  p->last  = s->last;
  p->other = 3 - s->last;
  p->nend  = s->nend;
  p->nkeep = s->nkeep;
  for (int d = 0; d < 3; d++) {
    p->blocks[d] = s->line[d].blocks;
    p->size[d]   = s->line[d].size;
    PetscCall(BoxSolveLine(&s->line[d], p, d));
    PetscCall(RealCopy((size_t)PatchFDBoxLineLength(&s->line[d]), s->line[d].lambda, &p->lambda[d]));
    if (s->line[d].wave || s->line[d].band)
      room = PetscMax(room, PetscMax(COLUMNS_WIDTH, HARTLEY_WIDTH) * (PetscCount)s->line[d].n * (3 + s->line[d].width));
  }
  PetscCall(VMalloc((size_t)room, &p->room, &p->base));
  p->modes = PatchFDBoxLineLength(&s->line[p->last]);
  p->inner = PatchFDBoxLineLength(&s->line[0]) * PatchFDBoxLineLength(&s->line[p->other]);
  PetscCall(PetscMalloc2(PatchFDBoxLineLength(&s->line[0]), &p->row[0], PatchFDBoxLineLength(&s->line[0]), &p->row[1]));
  if (!s->nend) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RealCopy((size_t)p->modes * s->nend, s->alpha, &p->alpha));
  PetscCall(RealCopy((size_t)p->modes * s->nend, s->mass, &p->mass));
  PetscCall(BoxSolveFactor(s, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- folds: a node of a line and its image, in all directions that are folded, at once ---- */

/* numbers of a block in each direction, and where corner c of up to eight is: bit d of c is the second block of direction d, or the image
   */
static size_t BoxSolveNumber(const PatchFDBoxFold *f, const PetscInt i[3], int c)
{
  size_t at = 0;

  for (int d = 2; d >= 0; d--) at = at * (size_t)PatchFDBoxLineLength(&f->line[d]) + (size_t)((c >> d & 1) * f->line[d].size + i[d]);
  return at;
}

/* false for a node that does not exist, or that is its own image */
static PetscBool BoxSolveNode(const PatchFDBoxFold *f, const PetscInt i[3], int c, ptrdiff_t *at)
{
  PetscInt node[3];

  for (int d = 0; d < 3; d++) {
    const int image = c >> d & 1;

    if (i[d] >= PatchFDBoxLineCount(&f->line[d], image)) return PETSC_FALSE;
    node[d] = f->first[d] + (image ? PatchFDBoxLineImage(&f->line[d], i[d]) : i[d]);
  }
  *at = PatchFDBoxNode(&f->box, node[0], node[1], node[2]);
  return PETSC_TRUE;
}

/* which bits corners have */
static int BoxSolveBits(const PatchFDBoxFold *f)
{
  return (f->line[0].blocks - 1) | (f->line[1].blocks - 1) << 1 | (f->line[2].blocks - 1) << 2;
}

/* that many numbers of a line at once, in all corners */
enum {
  BOXSOLVE_PIECE = 32
};

/* sums and differences in the directions of these bits */
static inline void BoxSolveButterfly(unsigned bits, REAL a[8][BOXSOLVE_PIECE])
{
  for (unsigned bit = 1; bit < 8; bit *= 2) {
    for (unsigned c = 0; c < 8 && (bits & bit); c++) {
      if ((c & bit) || (c & ~bits)) continue;
      for (int i = 0; i < BOXSOLVE_PIECE; i++) {
        const REAL even = a[c][i], odd = a[c | bit][i];

        a[c][i]       = even + odd;
        a[c | bit][i] = even - odd;
      }
    }
  }
}

/* the lines of direction 0 that are folded into each other: where those of corners begin in both arrays, and how many of the nodes exist.
   Corner c | 1 has the images of c's */
static void BoxSolveLines(const PatchFDBoxFold *f, PetscInt j, PetscInt k, REAL *nodes, REAL *folded, REAL *node[8], PetscInt count[8],
                          REAL *number[8])
{
  const PetscInt i[3] = {0, j, k};

  for (int c = 0; c < 8; c++) {
    ptrdiff_t at = 0;

    count[c]  = BoxSolveNode(f, i, c, &at) ? PatchFDBoxLineCount(&f->line[0], c & 1) : 0;
    node[c]   = nodes + at;
    number[c] = folded + BoxSolveNumber(f, i, c);
  }
}

/* a piece of a line that goes forward or, that of the images, backward */
static inline void BoxSolveCopy(PetscInt n, const REAL *x, int xstep, REAL *y, int ystep)
{
  if (xstep == 1 && ystep == 1) memcpy(y, x, (size_t)n * sizeof(REAL));
  else
    for (PetscInt i = 0; i < n; i++) y[ystep * i] = x[xstep * i];
}

/* nodes to folded numbers, or back; the differences of a node with itself, which would not be zero, meet rows of zeros */
static inline __attribute__((always_inline)) void BoxSolveMove(const PatchFDBoxFold *f, PetscBool back, REAL *nodes, REAL *folded)
{
  const int      bits = BoxSolveBits(f), step[2] = {1, f->line[0].shift ? 1 : -1};
  const PetscInt size = f->line[0].size;
  REAL          *node[8], *number[8], a[8][BOXSOLVE_PIECE] = {{0}};
  PetscInt       count[8];

  for (PetscInt k = 0; k < f->line[2].size; k++) {
    for (PetscInt j = 0; j < f->line[1].size; j++) {
      BoxSolveLines(f, j, k, nodes, folded, node, count, number);
      for (PetscInt i = 0; i < size; i += BOXSOLVE_PIECE) {
        const PetscInt piece = PetscMin(BOXSOLVE_PIECE, size - i);

        for (int to = 0; to < 2; to++) {
          if (to) BoxSolveButterfly((unsigned)bits, a);
          for (int c = 0; c < 8; c++) {
            const PetscInt m  = PetscMax(0, PetscMin(piece, count[c] - i)); /* of the nodes */
            const int      s  = step[c & 1];
            REAL          *at = m ? node[c] + s * i : node[c];

            if (c & ~bits) continue;
            if (to && back) BoxSolveCopy(m, a[c], 1, at, s);
            else if (to) BoxSolveCopy(piece, a[c], 1, number[c] + i, 1);
            else if (back) BoxSolveCopy(piece, number[c] + i, 1, a[c], 1);
            else {
              BoxSolveCopy(m, at, s, a[c], 1);
              for (PetscInt z = m; z < piece; z++) a[c][z] = 0;
            }
          }
        }
      }
    }
  }
}

static PetscErrorCode BoxSolveFold(const PatchFDBoxFold *f, const void *nodes, void *folded)
{
  PetscFunctionBegin;
  BoxSolveMove(f, PETSC_FALSE, (REAL *)nodes, (REAL *)folded);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveUnfold(const PatchFDBoxFold *f, const void *folded, void *nodes)
{
  PetscFunctionBegin;
  BoxSolveMove(f, PETSC_TRUE, (REAL *)nodes, (REAL *)folded);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- modes ---- */

static PetscErrorCode BoxSolveProduct(void *plan, int d, PetscInt ninner, PetscInt nouter, PetscBool back, void *numbers, void *modes)
{
  const BoxSolvePlan *p      = (const BoxSolvePlan *)plan;
  const PetscInt      length = p->blocks[d] * p->size[d];
  const REAL         *S = p->S[d], one = 1, zero = 0;
  PetscBLASInt        h, l, inner, outer;

  PetscFunctionBegin;
  if (!length || !ninner || !nouter) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->wave[d].n) {
    HartleyLines(&p->wave[d], ninner, nouter, back, (REAL *)(back ? modes : numbers), (REAL *)(back ? numbers : modes), p->room);
    PetscCall(PetscLogFlops(HartleyFlops(length) * ninner * nouter));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscBLASIntCast(p->size[d], &h));
  PetscCall(PetscBLASIntCast(length, &l));
  PetscCall(PetscBLASIntCast(ninner, &inner));
  PetscCall(PetscBLASIntCast(nouter, &outer));
  for (PetscInt b = 0; b < p->blocks[d]; b++) {
    REAL *x = (REAL *)numbers + b * p->size[d] * ninner, *y = (REAL *)modes + b * p->size[d] * ninner;

    /* BLAS reads our row-major S as its transpose */
    if (inner == 1) {
      if (back) GEMM("T", "N", &h, &outer, &h, &one, S, &h, y, &l, &zero, x, &l);
      else GEMM("N", "N", &h, &outer, &h, &one, S, &h, x, &l, &zero, y, &l);
    } else {
      for (PetscBLASInt k = 0; k < outer; k++, x += (size_t)inner * l, y += (size_t)inner * l) {
        if (back) GEMM("N", "N", &inner, &h, &h, &one, y, &inner, S, &h, &zero, x, &inner);
        else GEMM("N", "T", &inner, &h, &h, &one, x, &inner, S, &h, &zero, y, &inner);
      }
    }
    S += (size_t)h * h;
  }
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)length * p->size[d] * ninner * nouter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 / (lambda + mu) for row j of the planes of a mode of the last direction.  Zero for the constant of a pure Neumann problem, and for
   numbers that stand for nothing */
static void BoxSolveInverses(const BoxSolvePlan *p, PetscInt mode, PetscInt j, PetscInt n0, REAL inverse[])
{
  const REAL *lambda0 = p->lambda[0], lambda = p->lambda[p->last][mode] + p->lambda[p->other][j];

  for (PetscInt i = 0; i < n0; i++) {
    const REAL D = lambda0[i] + lambda;

    inverse[i] = D == 0 ? 0 : 1 / D;
  }
}

static PetscErrorCode BoxSolveEnds(void *plan, const void *modes, void *ends)
{
  const BoxSolvePlan *p  = (const BoxSolvePlan *)plan;
  const PetscInt      n0 = p->blocks[0] * p->size[0], rows = p->blocks[p->other] * p->size[p->other];
  REAL               *inverse = p->row[0];

  PetscFunctionBegin;
  for (PetscInt e = p->nkeep; e < p->nend; e++) PetscCall(PetscArrayzero((REAL *)ends + (size_t)e * p->inner, p->inner));
  for (PetscInt j = 0; j < rows; j++) {
    for (PetscInt l = 0; l < p->modes; l++) {
      const REAL *u = (const REAL *)modes + (size_t)l * p->inner + j * n0;

      BoxSolveInverses(p, l, j, n0, inverse);
      for (PetscInt e = 0; e < p->nend; e++) {
        const REAL alpha = p->alpha[l * p->nend + e], mass = p->mass[l * p->nend + e];
        REAL      *g = (REAL *)ends + (size_t)e * p->inner + j * n0;

        for (PetscInt i = 0; i < n0; i++) g[i] -= u[i] * (alpha * inverse[i] + mass);
      }
    }
  }
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)p->inner * p->modes * (1 + 2 * p->nend)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveJoin(void *plan, void *ends)
{
  const BoxSolvePlan *p = (const BoxSolvePlan *)plan;
  const PetscInt      n = p->n, w = p->width, c = p->copies;
  REAL               *z = (REAL *)ends; /* unknown i begins at z + i * c * n */

  PetscFunctionBegin;
  for (PetscInt i = 0; i < p->nunknown; i++) {
    for (PetscInt q = 0; q < n && c == 2; q++) z[i * c * n + q] += z[(i * c + 1) * n + q];
    for (PetscInt j = 1; j <= PetscMin(w - 1, i); j++)
      for (PetscInt q = 0; q < n; q++) z[i * c * n + q] -= p->factors[(i * w + j) * n + q] * z[(i - j) * c * n + q];
  }
  for (PetscInt i = p->nunknown - 1; i >= 0; i--) {
    for (PetscInt q = 0; q < n; q++) z[i * c * n + q] *= p->factors[i * w * n + q];
    for (PetscInt j = 1; j < w && i + j < p->nunknown; j++)
      for (PetscInt q = 0; q < n; q++) z[i * c * n + q] -= p->factors[((i + j) * w + j) * n + q] * z[(i + j) * c * n + q];
    if (c == 2) PetscCall(PetscArraycpy(z + (i * c + 1) * n, z + i * c * n, n));
  }
  PetscCall(PetscLogFlops((PetscLogDouble)n * p->nunknown * (4 * w - 3)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxSolveDivide(void *plan, const void *ends, void *modes)
{
  const BoxSolvePlan *p  = (const BoxSolvePlan *)plan;
  const PetscInt      n0 = p->blocks[0] * p->size[0], rows = p->blocks[p->other] * p->size[p->other];
  REAL               *inverse = p->row[0], *carried = p->row[1];

  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->modes; l++) {
    for (PetscInt j = 0; j < rows; j++) {
      REAL *u = (REAL *)modes + (size_t)l * p->inner + j * n0;

      BoxSolveInverses(p, l, j, n0, inverse);
      for (PetscInt i = 0; i < n0; i++) carried[i] = 0;
      for (PetscInt e = 0; e < p->nend; e++) {
        const REAL *z = (const REAL *)ends + (size_t)e * p->inner + j * n0, alpha = p->alpha[l * p->nend + e],
                   mass = p->mass[l * p->nend + e];

        for (PetscInt i = 0; i < n0; i++) carried[i] += (alpha * inverse[i] + mass) * z[i];
      }
      for (PetscInt i = 0; i < n0; i++) u[i] = u[i] * inverse[i] - carried[i];
    }
  }
  PetscCall(PetscLogFlops((PetscLogDouble)p->inner * p->modes * (3 + 4 * p->nend)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  L D L' of A + (mu + the eigenvalue of each line) M for these lines, and the solution u in place.  Row i of `factor` has the inverse of D
  and the entries i - 1 .. i - width of L.  The last pivot of a singular line is zero but for rounding: what it becomes is not used.
*/
static inline __attribute__((always_inline)) void BoxSolveLDL(PetscInt n, PetscInt width, const REAL *band, const V mu[COLUMNS_WIDTH],
                                                              V (*factor)[COLUMNS_WIDTH], V (*u)[COLUMNS_WIDTH])
{
  const PetscInt row = width + 1;
  const V        one = (V){0} + 1; /* in place of a pivot that is zero */

  for (PetscInt i = 0; i < n; i++) {
    const REAL    *a = band + 2 * i * row, *m = a + row;
    const PetscInt w     = PetscMin(width, i);
    V(*f)[COLUMNS_WIDTH] = factor + i * row;

    _Pragma("GCC unroll 4") for (int v = 0; v < COLUMNS_WIDTH; v++)
    {
      V D = a[0] + mu[v] * m[0], z = u[i][v];

      for (PetscInt j = w; j > 0; j--) { /* L D, then L */
        f[j][v] = a[j] + mu[v] * m[j];
        for (PetscInt l = w; l > j; l--) f[j][v] -= f[l][v] * factor[(i - j) * row + l - j][v];
      }
      for (PetscInt j = w; j > 0; j--) {
        const V x = f[j][v];

        f[j][v] *= factor[(i - j) * row][v];
        D -= x * f[j][v];
        z -= f[j][v] * u[i - j][v];
      }
      f[0][v] = 1 / (V)((VMask)D | ((VMask)one & (D == 0)));
      u[i][v] = z;
    }
  }
  for (PetscInt i = n - 1; i >= 0; i--) {
    for (int v = 0; v < COLUMNS_WIDTH; v++) {
      V x = u[i][v] * factor[i * row][v];

      for (PetscInt j = 1; j <= width && i + j < n; j++) x -= factor[(i + j) * row + j][v] * u[i + j][v];
      u[i][v] = x;
    }
  }
}

/* a singular line, by its modes: x is solved in place, z is room */
static void BoxSolveSingular(PetscInt n, const REAL *S, const REAL *lambda, REAL mu, PetscInt stride, REAL *x, REAL *z)
{
  for (PetscInt l = 0; l < n; l++) {
    const REAL D = lambda[l] + mu;

    z[l] = 0;
    for (PetscInt i = 0; i < n; i++) z[l] += S[i * n + l] * x[i * stride];
    z[l] = D == 0 ? 0 : z[l] / D;
  }
  for (PetscInt i = 0; i < n; i++) {
    x[i * stride] = 0;
    for (PetscInt l = 0; l < n; l++) x[i * stride] += S[i * n + l] * z[l];
  }
}

/* lines from x on, `stride` from number to number, of the sums of eigenvalues lambda[count] + mu of the other directions */
static void BoxSolveColumns(const BoxSolvePlan *p, int d, PetscInt count, const REAL *lambda, REAL mu, PetscInt stride, REAL *x)
{
  const PetscInt n = p->size[d];
  V              sum[COLUMNS_WIDTH], (*u)[COLUMNS_WIDTH] = (V(*)[COLUMNS_WIDTH])p->room, (*factor)[COLUMNS_WIDTH] = u + n;
  REAL          *lane = (REAL *)sum;

  LinesMove(n, COLUMNS_WIDTH, count, stride, NULL, PETSC_FALSE, x, u[0]);
  for (PetscInt c = 0; c < COLUMNS; c++) lane[c] = c < count ? lambda[c] + mu : 1;
  if (p->diagonals == 1) BoxSolveLDL(n, 1, p->band, sum, factor, u);
  else BoxSolveLDL(n, p->diagonals, p->band, sum, factor, u);
  for (PetscInt c = 0; c < count; c++) {
    if (lane[c] + p->least != 0) continue;
    BoxSolveSingular(n, p->S[d], p->lambda[d], lane[c], stride, x + c, (REAL *)factor);
    for (PetscInt i = 0; i < n; i++) ((REAL *)u[i])[c] = x[c + i * stride];
  }
  LinesMove(n, COLUMNS_WIDTH, count, stride, NULL, PETSC_TRUE, x, u[0]);
}

static PetscErrorCode BoxSolveEliminate(void *plan, int d, void *modes)
{
  const BoxSolvePlan *p     = (const BoxSolvePlan *)plan;
  const int           other = 3 - d;
  const PetscInt      n0 = p->blocks[0] * p->size[0], planes = p->blocks[other] * p->size[other], n = p->size[d];
  const PetscInt      stride = d == 1 ? n0 : n0 * planes, from = d == 1 ? n0 * n : n0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < planes; k++)
    for (PetscInt i = 0; i < n0; i += COLUMNS)
      BoxSolveColumns(p, d, PetscMin(COLUMNS, n0 - i), p->lambda[0] + i, p->lambda[other][k], stride, (REAL *)modes + (size_t)k * from + i);
  PetscCall(PetscLogFlops((PetscLogDouble)n0 * planes * n * (1 + p->diagonals * (7 + p->diagonals))));
  PetscFunctionReturn(PETSC_SUCCESS);
}
