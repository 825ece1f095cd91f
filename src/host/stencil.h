/*
  Local solvers of one unknown each, linear elements between Dirichlet sides: a coloured sweep of Gauss and Seidel, row by row.  Of the
  rows beside one the sums with M1 M2 and with A1 M2 + M1 A2 serve both colours in x, since these rows have other colours in y or z.
*/
#pragma once
#include "bands.h"

typedef struct {
  PatchFDBox   box;
  PatchFDRange read;
  PetscInt     npatch[3], first[3];
  REAL        *M[3][3], *A[3][3]; /* [below, itself, above][patch] */
  /* of the rows at hand, which begin one node before the patches: sums of the rows beside, right-hand side, values before, between and
     after the colours */
  REAL *sum[2], *rhs, *x[3];
  /* for the entries of y and z at hand: what is left of x, of the right-hand side, and the neighbours' entries, for even and odd patches */
  REAL *keep[2], *solve[2], *side[2], m, a, omega;
} StencilPlan;

static PetscErrorCode StencilDestroy(StencilPlan **plan)
{
  StencilPlan *p = *plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PetscFree6(p->M[d][0], p->M[d][1], p->M[d][2], p->A[d][0], p->A[d][1], p->A[d][2]));
  PetscCall(PetscFree6(p->sum[0], p->sum[1], p->rhs, p->x[0], p->x[1], p->x[2]));
  PetscCall(PetscFree6(p->keep[0], p->keep[1], p->solve[0], p->solve[1], p->side[0], p->side[1]));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nothing is made unless all patches have one unknown, side by side, and see their neighbours */
static PetscErrorCode StencilCreate(const PatchFDLocalField *field, StencilPlan **plan)
{
  StencilPlan *p;
  size_t       n;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = field->dir[d];

    for (PetscInt i = 0; i < pd->npatch; i++)
      if (pd->n[i] != 1 || pd->cell[i] != i || pd->first[i] != pd->first[0] + i || !pd->eigen[pd->cls[i]].mu[0])
        PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscNew(&p));
  *plan  = p;
  p->box = field->box;
  PetscCall(PetscArraycpy(p->read, field->read, 3));
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = field->dir[d];

    n = (size_t)pd->npatch;
    PetscCall(PetscCalloc6(n, &p->M[d][0], n, &p->M[d][1], n, &p->M[d][2], n, &p->A[d][0], n, &p->A[d][1], n, &p->A[d][2]));
    p->npatch[d] = pd->npatch;
    p->first[d]  = n ? pd->first[0] : 0;
    for (PetscInt i = 0; i < pd->npatch; i++) {
      const PatchFDEigen *e = &pd->eigen[pd->cls[i]];

      if (field->box.n[d] == 1 && pd->npatch == 1) p->M[d][1][i] = 1; /* no such direction */
      else
        for (int s = 0; s < 3; s++) {
          p->M[d][s][i] = (REAL)e->MI[s];
          p->A[d][s][i] = (REAL)e->AI[s];
        }
    }
  }
  n = (size_t)p->npatch[0] + 2;
  PetscCall(PetscCalloc6(n, &p->sum[0], n, &p->sum[1], n, &p->rhs, n, &p->x[0], n, &p->x[1], n, &p->x[2]));
  PetscCall(PetscCalloc6(n, &p->keep[0], n, &p->keep[1], n, &p->solve[0], n, &p->solve[1], n, &p->side[0], n, &p->side[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BODY(T, i) for the numbers of a row, VL at once; some twice, rather than a rest */
#define ALONG(n, BODY) \
  do { \
    PetscInt i = 0; \
\
    for (; i < (n) && (n) >= VL; i += VL) { \
      i = PetscMin(i, (n)-VL); \
      BODY(VU); \
    } \
    for (; i < (n); i++) BODY(REAL); \
  } while (0)
#define AT(T, array) (*(T *)(array))

/* the entries of row (m, a) = (M1 M2, A1 M2 + M1 A2) that do not change along it: nearly always those of the last one */
static void StencilSelect(StencilPlan *p, REAL omega, REAL m, REAL a)
{
  if (p->m == m && p->a == a && p->omega == omega) return;
  p->m     = m;
  p->a     = a;
  p->omega = omega;
  for (PetscInt i = 0; i < p->npatch[0]; i++) {
    for (int s = 0; s < 2; s++) p->side[s][i] = p->A[0][2 * s][i] * m + p->M[0][2 * s][i] * a;
    for (int color = 0; color < 2; color++) {
      p->keep[color][i]  = i % 2 == color ? 1 - omega : 1;
      p->solve[color][i] = i % 2 == color ? omega / (p->A[0][1][i] * m + p->M[0][1][i] * a) : 0;
    }
  }
}

/* sum[0], sum[1] = M1 M2 x, (A1 M2 + M1 A2) x of the rows beside row (j, k), nodes lo .. end - 1 of the row; the row's own entries */
static void StencilBeside(StencilPlan *p, PetscInt j, PetscInt k, PetscInt lo, PetscInt end, const REAL *x, REAL *m, REAL *a)
{
  const PetscInt at = lo - p->first[0] + 1;
  const REAL    *row[8];
  REAL           M[8], A[8];
  int            count = 0;

  for (int t = -1; t < 2; t++) {
    for (int s = -1; s < 2; s++) {
      const PetscInt y = p->first[1] + j + s, z = p->first[2] + k + t;
      const REAL     my = p->M[1][s + 1][j], mz = p->M[2][t + 1][k], ay = p->A[1][s + 1][j], az = p->A[2][t + 1][k];

      if (!s && !t) {
        *m = my * mz;
        *a = ay * mz + my * az;
      } else if (y >= p->read[1][0] && y < p->read[1][1] && z >= p->read[2][0] && z < p->read[2][1]) {
        M[count]     = my * mz;
        A[count]     = ay * mz + my * az;
        row[count++] = x + PatchFDBoxNode(&p->box, lo, y, z);
      }
    }
  }
#define SUMS(T) \
  do { \
    T sum = {0}, other = {0}; \
\
    for (int r = 0; r < count; r++) { \
      const T value = AT(const T, row[r] + i); \
\
      sum += M[r] * value; \
      other += A[r] * value; \
    } \
    AT(T, p->sum[0] + at + i) = sum; \
    AT(T, p->sum[1] + at + i) = other; \
  } while (0)
  ALONG(end - lo, SUMS);
#undef SUMS
}

/* the colours in x, one after another, of patches i0 .. i1 - 1 of row (j, k) */
static void StencilRow(StencilPlan *p, PetscInt i0, PetscInt i1, PetscInt j, PetscInt k, PetscInt ncolors, const PatchFDColor colors[],
                       REAL omega, REAL *x, const REAL *b)
{
  const PetscInt first = p->first[0] + i0, n = i1 - i0, lo = PetscMax(first - 1, p->read[0][0]),
                 end = PetscMin(first + n + 1, p->read[0][1]), cut = lo - (first - 1);
  REAL *const row = x + PatchFDBoxNode(&p->box, first, p->first[1] + j, p->first[2] + k), *const sum0 = p->sum[0] + i0,
              *const sum1  = p->sum[1] + i0;
  const REAL        *right = b + PatchFDBoxNode(&p->box, first, p->first[1] + j, p->first[2] + k);
  REAL               m = 0, a = 0;

  if (n <= 0) return;
  for (int c = 0; c < 3; c++) p->x[c][0] = p->x[c][n + 1] = 0;
  sum0[0] = sum0[n + 1] = sum1[0] = sum1[n + 1] = 0;
  memcpy(p->x[0] + cut, row - 1 + cut, (size_t)(end - lo) * sizeof(REAL));
  StencilBeside(p, j, k, lo, end, x, &m, &a);
  StencilSelect(p, omega, m, a);
#define RIGHT(T) \
  do { \
    T sum = AT(const T, right + i); \
\
    for (int s = 0; s < 3; s++) \
      sum -= AT(const T, p->A[0][s] + i0 + i) * AT(const T, sum0 + i + s) + AT(const T, p->M[0][s] + i0 + i) * AT(const T, sum1 + i + s); \
    AT(T, p->rhs + i) = sum; \
  } while (0)
  ALONG(n, RIGHT);
#undef RIGHT
  for (PetscInt c = 0; c < ncolors; c++) {
    const REAL *from = p->x[c], *keep = p->keep[colors[c].parity[0]] + i0, *solve = p->solve[colors[c].parity[0]] + i0,
               *below = p->side[0] + i0, *above = p->side[1] + i0;
    REAL *to = p->x[c + 1];

    p->x[c + 1][0]     = from[0];
    p->x[c + 1][n + 1] = from[n + 1];
#define COLOR(T) \
  AT(T, to + i + 1) = AT(const T, keep + i) * AT(const T, from + i + 1) + \
                      AT(const T, solve + i) * (AT(const T, p->rhs + i) - AT(const T, below + i) * AT(const T, from + i) - \
                                                AT(const T, above + i) * AT(const T, from + i + 2))
    ALONG(n, COLOR);
#undef COLOR
  }
  memcpy(row, p->x[ncolors] + 1, (size_t)n * sizeof(REAL));
}
#undef ALONG
#undef AT

/* the patches of layer k of at most two colours that differ in x only */
static void StencilLayer(StencilPlan *p, PetscInt ncolors, const PatchFDColor colors[], const PatchFDRange patches, PetscInt k, REAL omega,
                         REAL *x, const REAL *b)
{
  for (PetscInt j = patches[1][0]; j < patches[1][1]; j++)
    if (j % 2 == colors[0].parity[1]) StencilRow(p, patches[0][0], patches[0][1], j, k, ncolors, colors, omega, x, b);
}

static PetscLogDouble StencilFlops(const StencilPlan *p)
{
  return (p->box.n[2] > 1 ? 32 : 8) + 12 + 7;
}
