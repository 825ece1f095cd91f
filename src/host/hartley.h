/*
  Hartley's transform of lines of n numbers, H_r = sum over c of (cos + sin)(2 pi r c / n) x_c, which is its own inverse but for a factor n:
  the modes of a ring of equal cells.  Radix by radix (R. N. Bracewell, The fast Hartley transform, 1984), in the order of T. G. Stockham:
  [r][l] before a stage are the transforms of length m of the lines x_l, x_{l + n/m}, ...  A stage joins p of them, a_0 .. a_{p-1}:

    H_r = sum over q of cos(t q r) a_q[r mod m] + sin(t q r) a_q[-r mod m],   t = 2 pi / (p m).

  All H_{r + i m}, and those of -r - i m, are a Fourier transform of p complex numbers (b_q, d_q), a_q[r] and a_q[-r] turned by t q r.

  HARTLEY_WIDTH vectors of lines are transformed at once.
*/
#pragma once
#include "batch.h"
#include <patchfd/private/boxsolve.h>

enum {
  HARTLEY_WIDTH = 2,
  HARTLEY_LINES = HARTLEY_WIDTH * VL
};

typedef struct {
  PetscInt n;
  REAL    *turn;  /* cosine and sine of 2 pi i / n */
  REAL    *scale; /* of modes, and of what they become: they are normalized */
} Hartley;

static PetscErrorCode HartleyDestroy(Hartley *h)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(h->turn));
  PetscCall(PetscFree(h->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HartleyCreate(PetscInt n, const PetscReal scale[], Hartley *h)
{
  PetscFunctionBegin;
  h->n = n;
  PetscCall(PetscMalloc1(2 * n, &h->turn));
  PetscCall(RealCopy((size_t)n, scale, &h->scale));
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal angle = 2 * PETSC_PI * (PetscReal)i / (PetscReal)n;

    h->turn[2 * i]     = (REAL)PetscCosReal(angle);
    h->turn[2 * i + 1] = (REAL)PetscSinReal(angle);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* in place, the Fourier transform of p numbers (b, d), whose turns by 2 pi i / p are turn[2 step i].  An odd p: sums and differences of q
   and p - q first */
static inline __attribute__((always_inline)) void HartleyFourier(int p, const REAL *turn, PetscInt step, V *b, V *d)
{
  V x[PATCHFD_MAX_RADIX], y[PATCHFD_MAX_RADIX];

  if (p == 2 || p == 4) {
    const int h = p / 2;

    _Pragma("GCC unroll 2") for (int q = 0; q < h; q++)
    {
      x[q]     = b[q] + b[q + h];
      y[q]     = d[q] + d[q + h];
      x[q + h] = b[q] - b[q + h];
      y[q + h] = d[q] - d[q + h];
    }
    if (p == 4) {
      b[0] = x[0] + x[1], d[0] = y[0] + y[1];
      b[2] = x[0] - x[1], d[2] = y[0] - y[1];
      b[1] = x[2] + y[3], d[1] = y[2] - x[3];
      b[3] = x[2] - y[3], d[3] = y[2] + x[3];
    } else {
      for (int q = 0; q < 2; q++) b[q] = x[q], d[q] = y[q];
    }
    return;
  }
  x[0] = b[0], y[0] = d[0];
  _Pragma("GCC unroll 2") for (int q = 1; 2 * q < p; q++)
  {
    x[q]     = b[q] + b[p - q];
    y[q]     = d[q] + d[p - q];
    x[p - q] = b[q] - b[p - q];
    y[p - q] = d[q] - d[p - q];
    b[0] += x[q];
    d[0] += y[q];
  }
  _Pragma("GCC unroll 2") for (int i = 1; 2 * i < p; i++)
  {
    V   even[2] = {x[0], y[0]}, odd[2] = {{0}};
    int at = 0; /* i q modulo p */

    _Pragma("GCC unroll 2") for (int q = 1; 2 * q < p; q++)
    {
      const REAL *t = turn + 2 * step * (at += at + i < p ? i : i - p);

      even[0] += t[0] * x[q];
      even[1] += t[0] * y[q];
      odd[0] += t[1] * y[p - q];
      odd[1] -= t[1] * x[p - q];
    }
    b[i] = even[0] + odd[0], d[i] = even[1] + odd[1];
    b[p - i] = even[0] - odd[0], d[p - i] = even[1] - odd[1];
  }
}

/* frequencies r and m - r, or r alone, of a stage.  a, c: their numbers, x, y: those of r and of p m - r */
static inline __attribute__((always_inline)) void HartleyJoin(const Hartley *h, int p, PetscInt m, PetscInt r, PetscBool alone, const V *a,
                                                              const V *c, V *x, V *y)
{
  const PetscInt  last = h->n / (p * m), count = last * HARTLEY_WIDTH;
  const ptrdiff_t to = (ptrdiff_t)m * count;

  for (PetscInt i = 0; i < count; i++) {
    V b[PATCHFD_MAX_RADIX], d[PATCHFD_MAX_RADIX];

    b[0] = a[i], d[0] = c[i];
    _Pragma("GCC unroll 4") for (int q = 1; q < p; q++)
    {
      const REAL *t = h->turn + 2 * q * r * last;

      b[q] = t[0] * a[q * count + i] + t[1] * c[q * count + i];
      d[q] = t[0] * c[q * count + i] - t[1] * a[q * count + i];
    }
    HartleyFourier(p, h->turn, h->n / p, b, d);
    _Pragma("GCC unroll 4") for (int q = 0; q < p; q++)
    {
      x[q * to + i] = b[q];
      if (!alone) y[i - q * to] = d[q];
    }
  }
}

static inline __attribute__((always_inline)) void HartleyStage(const Hartley *h, int p, PetscInt m, const V *a, V *x)
{
  const PetscInt from = h->n / m * HARTLEY_WIDTH, to = from / p;

  HartleyJoin(h, p, m, 0, PETSC_TRUE, a, a, x, x);
  for (PetscInt r = 1; 2 * r < m; r++)
    HartleyJoin(h, p, m, r, PETSC_FALSE, a + r * from, a + (m - r) * from, x + r * to, x + (p * m - r) * to);
  if (m % 2 == 0) HartleyJoin(h, p, m, m / 2, PETSC_TRUE, a + m / 2 * from, a + m / 2 * from, x + m / 2 * to, x);
}

/* of [n][HARTLEY_WIDTH], with as much room; returns which of both it is in */
static V *HartleyTransform(const Hartley *h, V *u, V *room)
{
  for (PetscInt m = 1, p; m < h->n; m *= p) {
    V *x = u;

    p = PatchFDRadix(h->n / m);
    switch (p) { /* a number that the compiler knows */
    case 2:
      HartleyStage(h, 2, m, u, room);
      break;
    case 3:
      HartleyStage(h, 3, m, u, room);
      break;
    case 4:
      HartleyStage(h, 4, m, u, room);
      break;
    case 5:
      HartleyStage(h, 5, m, u, room);
      break;
    default:
      HartleyStage(h, (int)p, m, u, room);
    }
    u    = room;
    room = x;
  }
  return u;
}

/* ---- between the grid and lines ---- */

typedef REAL VAnywhere __attribute__((vector_size(VBYTES), ANYWHERE));

/* `count` lines beside each other, of up to `width` vectors, whose numbers are `stride` apart; back: to x.  scale[n] or NULL: of their
   numbers.  Lines from `count` on are zero */
static inline __attribute__((always_inline)) void LinesMove(PetscInt n, int width, PetscInt count, ptrdiff_t stride, const REAL *scale,
                                                            PetscBool back, REAL *x, V *u)
{
  for (PetscInt i = 0; i < n; i++, x += stride, u += width) {
    const REAL s = scale ? scale[i] : 1;
    PetscInt   c = 0;

    for (int v = 0; v < width && (v + 1) * VL <= count; v++, c += VL) {
      if (back) *(VAnywhere *)(x + c) = s * u[v];
      else u[v] = s * *(const VAnywhere *)(x + c);
    }
    for (; c < count; c++) {
      if (back) x[c] = s * ((REAL *)u)[c];
      else ((REAL *)u)[c] = s * x[c];
    }
    for (; c < width * VL && !back; c++) ((REAL *)u)[c] = 0;
  }
}

/* the same for lines that are one after another */
static inline __attribute__((always_inline)) void LinesTranspose(PetscInt n, PetscInt count, const REAL *scale, PetscBool back, REAL *x,
                                                                 V *u)
{
  for (int g = 0; g < HARTLEY_WIDTH && g * VL < count; g++, u++) {
    REAL    *at[VL];
    PetscInt i = 0;

    for (int l = 0; l < VL; l++) at[l] = x + PetscMin(g * VL + l, count - 1) * n; /* the last one several times */
    for (; i + TILE <= n; i += TILE) {
      V v[TILE];

      if (!back) TileLoad(TILE, at, i, v);
      _Pragma("GCC unroll 8") for (int c = 0; c < TILE; c++)
      {
        const REAL s = scale ? scale[i + c] : 1;

        if (back) v[c] = s * u[(i + c) * HARTLEY_WIDTH];
        else u[(i + c) * HARTLEY_WIDTH] = s * v[c];
      }
      if (!back) continue;
      Transpose(TILE, v);
      _Pragma("GCC unroll 16") for (int l = 0; l < VL; l++)
        memcpy(at[l] + i, (const REAL *)v + (l % TILE) * VL + (l / TILE) * TILE, TILE * sizeof(REAL));
    }
    for (; i < n; i++) {
      REAL      *number = (REAL *)&u[i * HARTLEY_WIDTH];
      const REAL s      = scale ? scale[i] : 1;

      for (int l = 0; l < VL; l++) {
        if (back) at[l][i] = s * number[l];
        else number[l] = s * at[l][i];
      }
    }
  }
}

/* what will be written, on its way to the cache during a transform: rows of `length` numbers */
static inline void LinesFetch(PetscInt rows, PetscInt length, ptrdiff_t stride, const REAL *x)
{
  const PetscInt line = 64 / REAL_BYTES; /* of a cache */

  for (PetscInt i = 0; i < rows; i++, x += stride)
    for (PetscInt c = 0; c < length + line; c += line) __builtin_prefetch(x + PetscMin(c, length - 1), 1);
}

/* of a line: half of what is counted for complex numbers, and the scale */
static inline PetscLogDouble HartleyFlops(PetscInt n)
{
  return (2.5 * PetscLog2Real((PetscReal)n) + 1) * (PetscLogDouble)n;
}

/* of all lines of a direction, from x to y; back: from modes.  room: 2 n HARTLEY_WIDTH vectors */
static void HartleyLines(const Hartley *h, PetscInt inner, PetscInt outer, PetscBool back, REAL *x, REAL *y, V *room)
{
  const PetscInt beside = inner > 1 ? inner : outer, planes = inner > 1 ? outer : 1;
  const REAL    *in = back ? h->scale : NULL, *out = back ? NULL : h->scale;

  for (PetscInt k = 0; k < planes; k++) {
    for (PetscInt i = 0; i < beside; i += HARTLEY_LINES) {
      const PetscInt  count = PetscMin(HARTLEY_LINES, beside - i);
      const ptrdiff_t at    = inner > 1 ? (ptrdiff_t)k * h->n * inner + i : (ptrdiff_t)i * h->n;
      V              *u;

      if (inner > 1) LinesMove(h->n, HARTLEY_WIDTH, count, inner, in, PETSC_FALSE, x + at, room);
      else LinesTranspose(h->n, count, in, PETSC_FALSE, x + at, room);
      if (inner > 1) LinesFetch(h->n, count, inner, y + at);
      else LinesFetch(1, count * h->n, 0, y + at);
      u = HartleyTransform(h, room, room + h->n * HARTLEY_WIDTH);
      if (inner > 1) LinesMove(h->n, HARTLEY_WIDTH, count, inner, out, PETSC_TRUE, y + at, u);
      else LinesTranspose(h->n, count, out, PETSC_TRUE, y + at, u);
    }
  }
}
