/* A matrix of a DMDA as a sum of Kronecker products (patchfd/private/kroneckersum.h): its one-dimensional matrices, and a check of all
   rows */
#include <patchfd/private/kroneckersum.h>

/* what couplings and sums of rows may differ by, relative to a coupling or to the entries of a row; and couplings in any case */
static const PetscReal rounding_coupling = 1e-11, rounding_sum = 1e-12, rounding_zero = 1e-14;

/* numbers of an index of a direction */
enum {
  SUM_COUPLINGS = 0, /* absolute values, in each of the three directions */
  SUM_UP        = 3,
  SUM_DOWN      = 4,
  SUM_ROWS      = 5,
  SUM_ENTRIES   = 6 /* absolute values of all entries */
};

/* the entries of a row by directions */
typedef struct {
  PetscReal diagonal, coupling[3][2]; /* down, up */
  PetscBool free[3][2];               /* is the neighbour a free one? */
} Row;

/* where they are */
static PetscInt SumsAt(const PatchFDKroneckerLines *s, int d, PetscInt i)
{
  for (int e = 0; e < d; e++) i += s->n[e];
  return i * PATCHFD_KRONECKER_SUMS;
}

/* the direction of a place of the stencil, and its end; -1 if it has several, or none */
static int Axis(const PetscInt offset[3], int *end)
{
  int axis = -1;

  for (int d = 0; d < 3; d++) {
    if (!offset[d]) continue;
    if (axis >= 0) return -1;
    axis = d;
    *end = offset[d] > 0;
  }
  return axis;
}

static void GetRow(const PatchFDKroneckerLines *s, const PatchFDStencil *stencil, const PetscInt at[3], const PetscReal entry[], Row *r)
{
  *r = (Row){.diagonal = entry[0]};
  for (PetscInt e = 1; e < stencil->n; e++) {
    int       end;
    const int d = Axis(stencil->offset[e], &end);

    if (d >= 0) r->coupling[d][end] = entry[e];
  }
  for (int d = 0; d < 3; d++) {
    r->free[d][0] = (PetscBool)(s->ring[d] || at[d] > s->free[d][0]);
    r->free[d][1] = (PetscBool)(s->ring[d] || at[d] + 1 < s->free[d][1]);
  }
}

static PetscReal RowSum(const Row *r)
{
  PetscReal sum = r->diagonal;

  for (int d = 0; d < 3; d++)
    for (int end = 0; end < 2; end++)
      if (r->free[d][end]) sum += r->coupling[d][end];
  return sum;
}

#define EACH_UNKNOWN(grid, at) \
  for ((at)[2] = (grid)->own[2][0]; (at)[2] < (grid)->own[2][1]; (at)[2]++) \
    for ((at)[1] = (grid)->own[1][0]; (at)[1] < (grid)->own[1][1]; (at)[1]++) \
      for ((at)[0] = (grid)->own[0][0]; (at)[0] < (grid)->own[0][1]; (at)[0]++)

void PatchFDHostKroneckerSums(const PatchFDGrid *grid, const PatchFDStencil *stencil, const PetscReal row[], const PatchFDKroneckerLines *s,
                              PetscReal sums[])
{
  PetscInt at[3];

  EACH_UNKNOWN(grid, at)
  {
    PetscReal entries = 0, coupled[3], rows;
    Row       r;

    for (PetscInt e = 0; e < stencil->n; e++) entries += PetscAbsReal(row[e]);
    GetRow(s, stencil, at, row, &r);
    row += stencil->n;
    if (!PatchFDRangeHas(s->free, at)) continue;
    rows = RowSum(&r);
    for (int d = 0; d < 3; d++) coupled[d] = PetscAbsReal(r.coupling[d][0]) + PetscAbsReal(r.coupling[d][1]);
    for (int d = 0; d < 3; d++) {
      PetscReal *x = sums + SumsAt(s, d, at[d]);

      for (int e = 0; e < 3; e++) x[SUM_COUPLINGS + e] += coupled[e];
      x[SUM_UP] += r.coupling[d][1];
      x[SUM_DOWN] += r.coupling[d][0];
      x[SUM_ROWS] += rows;
      x[SUM_ENTRIES] += entries;
    }
  }
}

/* ---- one-dimensional matrices ---- */

/* from the couplings in the direction that has the most of them; all the same where there are none. False for a hole at i */
static PetscBool FitMass(const PetscReal sums[], PatchFDKroneckerLines *s, int d, PetscInt *i)
{
  const PetscInt first = s->free[d][0], end = s->free[d][1];
  PetscReal      total[3] = {0, 0, 0};
  int            from     = d == 0 ? 1 : 0;

  for (PetscInt l = first; l < end; l++)
    for (int e = 0; e < 3; e++) total[e] += sums[SumsAt(s, d, l) + SUM_COUPLINGS + e];
  for (int e = 0; e < 3; e++)
    if (e != d && total[e] > total[from]) from = e;
  for (*i = first; *i < end; ++*i) {
    const PetscReal sum = sums[SumsAt(s, d, *i) + SUM_COUPLINGS + from];

    s->m[d][*i] = total[from] > 0 ? sum / total[from] : 1 / (PetscReal)(end - first);
    if (!(s->m[d][*i] > 0)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* false where i and i + 1 cannot be made symmetric */
static PetscBool FitWeights(PatchFDKroneckerLines *s, int d, PetscInt *i)
{
  const PetscInt   first = s->free[d][0], last = s->free[d][1] - 1;
  const PetscReal *up = s->up[d], *down = s->down[d];
  PetscReal       *w = s->w[d], least = 1, most = 1;

  w[first] = 1;
  for (*i = first; *i < last; ++*i) {
    const PetscReal u = up[*i], v = down[*i + 1];

    if (u != v && !(u * v > 0)) return PETSC_FALSE;
    w[*i + 1] = u == v ? w[*i] : w[*i] * u / v;
    least     = PetscMin(least, w[*i + 1]);
    most      = PetscMax(most, w[*i + 1]);
    if (most > PATCHFD_KRONECKER_MAX_WEIGHT * least) return PETSC_FALSE;
  }
  if (s->ring[d] && PetscAbsReal(w[last] * up[last] - down[first]) > rounding_coupling * PetscAbsReal(down[first])) return PETSC_FALSE;
  if (most - least > rounding_coupling) s->weighted = PETSC_TRUE;
  else
    for (PetscInt l = first; l <= last; l++) w[l] = 1;
  return PETSC_TRUE;
}

/*
  What is free is shared out so that s is not negative, and zero somewhere, but in the last direction, which has the rest.  What may be
  rounding is zero: whether constants are a null space has to be known, and not by a threshold for eigenvalues.
*/
static void FitShifts(const PetscReal sums[], PatchFDKroneckerLines *s)
{
  PetscReal removed = 0;

  s->constants = PETSC_TRUE;
  for (int d = 0; d < 3; d++) {
    PetscReal least = PETSC_MAX_REAL;

    for (PetscInt i = s->free[d][0]; i < s->free[d][1]; i++) {
      s->s[d][i] = sums[SumsAt(s, d, i) + SUM_ROWS] / s->m[d][i];
      least      = PetscMin(least, s->s[d][i]);
    }
    if (d == s->dim - 1) least = removed;
    for (PetscInt i = s->free[d][0]; i < s->free[d][1]; i++) {
      s->s[d][i] -= least;
      if (d >= s->dim || PetscAbsReal(s->s[d][i]) <= rounding_sum * sums[SumsAt(s, d, i) + SUM_ENTRIES] / s->m[d][i]) s->s[d][i] = 0;
      s->constants = (PetscBool)(s->constants && s->s[d][i] == 0);
      removed += s->m[d][i] * s->s[d][i];
    }
  }
}

PetscErrorCode PatchFDHostKroneckerFit(const PetscReal sums[], PatchFDKroneckerLines *s, PatchFDKroneckerFault *fault, int *d, PetscInt *i)
{
  PetscReal finite = 0;

  PetscFunctionBegin;
  *fault = PATCHFD_KRONECKER_FITS;
  *d     = 0;
  *i     = 0;
  PetscCall(PatchFDKroneckerLinesAllocate(s));
  for (int e = 0; e < 3; e++) {
    for (PetscInt l = s->free[e][0]; l < s->free[e][1]; l++) {
      s->up[e][l]   = sums[SumsAt(s, e, l) + SUM_UP];
      s->down[e][l] = sums[SumsAt(s, e, l) + SUM_DOWN];
      finite += sums[SumsAt(s, e, l) + SUM_ENTRIES];
    }
  }
  if (PetscIsInfOrNanReal(finite)) {
    *fault = PATCHFD_KRONECKER_IRREGULAR;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!PatchFDRangeSize(s->free)) PetscFunctionReturn(PETSC_SUCCESS);
  for (*d = 0; *d < 3; ++*d) {
    if (!FitMass(sums, s, *d, i)) *fault = PATCHFD_KRONECKER_HOLE;
    else if (!FitWeights(s, *d, i)) *fault = PATCHFD_KRONECKER_UNSYMMETRIC;
    if (*fault) PetscFunctionReturn(PETSC_SUCCESS);
  }
  FitShifts(sums, s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDKroneckerLineCreate(const PatchFDKroneckerLines *s, int d, PatchFDThreePoint *t)
{
  const PetscInt first = s->free[d][0], n = s->free[d][1] - first;

  PetscFunctionBegin;
  t->n = n;
  PetscCall(PetscMalloc3(n, &t->mass, n, &t->next, n, &t->rest));
  for (PetscInt i = 0; i < n; i++) {
    t->mass[i] = s->w[d][first + i] * s->m[d][first + i];
    t->next[i] = i + 1 < n || s->ring[d] ? s->w[d][first + i] * s->up[d][first + i] : 0;
    t->rest[i] = t->mass[i] * s->s[d][first + i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDKroneckerLineDestroy(PatchFDThreePoint *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(t->mass, t->next, t->rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDKroneckerLinesDestroy(PatchFDKroneckerLines *s)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) PetscCall(PetscFree5(s->up[d], s->down[d], s->m[d], s->s[d], s->w[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDKroneckerLinesAllocate(PatchFDKroneckerLines *s)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    PetscCall(PetscCalloc5(s->n[d], &s->up[d], s->n[d], &s->down[d], s->n[d], &s->m[d], s->n[d], &s->s[d], s->n[d], &s->w[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDKroneckerLinesCopy(const PatchFDKroneckerLines *from, PatchFDKroneckerLines *to)
{
  PetscFunctionBegin;
  *to = *from;
  PetscCall(PatchFDKroneckerLinesAllocate(to));
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscArraycpy(to->up[d], from->up[d], from->n[d]));
    PetscCall(PetscArraycpy(to->down[d], from->down[d], from->n[d]));
    PetscCall(PetscArraycpy(to->m[d], from->m[d], from->n[d]));
    PetscCall(PetscArraycpy(to->s[d], from->s[d], from->n[d]));
    PetscCall(PetscArraycpy(to->w[d], from->w[d], from->n[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all rows ---- */

static void Compare(const PetscInt at[3], const PetscInt offset[3], PetscReal found, PetscReal expected, PetscReal allowed,
                    PatchFDMisfit *misfit)
{
  const PetscReal difference = PetscAbsReal(found - expected);

  if (difference <= allowed * misfit->excess) return;
  misfit->excess   = allowed > 0 ? difference / allowed : PETSC_MAX_REAL;
  misfit->found    = found;
  misfit->expected = expected;
  for (int d = 0; d < 3; d++) {
    misfit->row[d]    = at[d];
    misfit->offset[d] = offset[d];
  }
}

void PatchFDHostKroneckerCheck(const PatchFDGrid *grid, const PatchFDStencil *stencil, const PetscReal row[],
                               const PatchFDKroneckerLines *s, PatchFDMisfit *misfit)
{
  PetscInt at[3];

  *misfit = (PatchFDMisfit){.excess = 0};
  EACH_UNKNOWN(grid, at)
  {
    PetscReal expected, entries = 0;
    Row       r, sum            = {0};

    if (!PatchFDRangeHas(s->free, at)) {
      row += stencil->n;
      continue;
    }
    GetRow(s, stencil, at, row, &r);
    expected = s->m[0][at[0]] * s->m[1][at[1]] * s->m[2][at[2]] * (s->s[0][at[0]] + s->s[1][at[1]] + s->s[2][at[2]]);
    for (int d = 0; d < 3; d++) {
      const int       e = (d + 1) % 3, f = (d + 2) % 3;
      const PetscReal m = s->m[e][at[e]] * s->m[f][at[f]];

      sum.coupling[d][0] = s->down[d][at[d]] * m;
      sum.coupling[d][1] = s->up[d][at[d]] * m;
      for (int end = 0; end < 2; end++) expected -= r.free[d][end] ? sum.coupling[d][end] : 0;
    }
    for (PetscInt e = 0; e < stencil->n; e++) entries += PetscAbsReal(row[e]);
    for (PetscInt e = 1; e < stencil->n; e++) {
      int             end;
      const int       d    = Axis(stencil->offset[e], &end);
      const PetscReal term = d < 0 ? 0 : sum.coupling[d][end];

      Compare(at, stencil->offset[e], row[e], term, rounding_coupling * PetscAbsReal(term) + rounding_zero * entries, misfit);
    }
    Compare(at, stencil->offset[0], row[0], expected, rounding_sum * entries, misfit);
    row += stencil->n;
  }
}

PetscBool PatchFDHostKroneckerScale(const PatchFDGrid *grid, const PatchFDStencil *stencil, const PetscReal row[],
                                    const PatchFDKroneckerLines *s, PetscReal scale[])
{
  PetscBool finite = PETSC_TRUE;
  PetscInt  at[3];

  EACH_UNKNOWN(grid, at)
  {
    if (PatchFDRangeHas(s->free, at)) *scale = s->w[0][at[0]] * s->w[1][at[1]] * s->w[2][at[2]];
    else *scale = 1 / row[0];
    finite = (PetscBool)(finite && !PetscIsInfOrNanReal(*scale++));
    row += stencil->n;
  }
  return finite;
}

void PatchFDHostProduct(const PatchFDBox *b, const PetscReal *const line[3], PetscReal x[])
{
  for (PetscInt k = b->lo[2]; k < b->lo[2] + b->n[2]; k++)
    for (PetscInt j = b->lo[1]; j < b->lo[1] + b->n[1]; j++)
      for (PetscInt i = b->lo[0]; i < b->lo[0] + b->n[0]; i++) *x++ = line[0][i] * line[1][j] * line[2][k];
}

void PatchFDHostKroneckerApply(const PatchFDKroneckerLines *s, const PatchFDBox *xbox, const PetscReal x[], const PatchFDBox *ybox,
                               PetscReal y[])
{
  const ptrdiff_t stride[3] = {1, xbox->n[0], (ptrdiff_t)xbox->n[0] * xbox->n[1]};
  PetscInt        at[3];

  for (at[2] = ybox->lo[2]; at[2] < ybox->lo[2] + ybox->n[2]; at[2]++) {
    for (at[1] = ybox->lo[1]; at[1] < ybox->lo[1] + ybox->n[1]; at[1]++) {
      for (at[0] = ybox->lo[0]; at[0] < ybox->lo[0] + ybox->n[0]; at[0]++) {
        const PetscReal *node = x + PatchFDBoxNode(xbox, at[0], at[1], at[2]);
        const PetscReal  m[3] = {s->m[0][at[0]], s->m[1][at[1]], s->m[2][at[2]]};
        PetscReal        sum  = m[0] * m[1] * m[2] * (s->s[0][at[0]] + s->s[1][at[1]] + s->s[2][at[2]]) * *node;

        for (int d = 0; d < 3; d++) {
          const PetscReal up = s->up[d][at[d]], down = s->down[d][at[d]], area = m[(d + 1) % 3] * m[(d + 2) % 3];

          if (up != 0) sum += area * up * (node[stride[d]] - *node);
          if (down != 0) sum += area * down * (node[-stride[d]] - *node);
        }
        *y++ = sum;
      }
    }
  }
}
