/*
  Set-up of smoothing with bricks (patchfd/private/bricks.h), in double precision: stencils become one-dimensional matrices.
*/
#include "lanes.h"
#include <patchfd/private/bricks.h>

/* ---- fits ---- */

/* a geometric mean: the product of numbers as mantissa in [1, 2^count) and exponent, since logarithms of all would cost more than all the
   rest */
typedef struct {
  double     mantissa;
  PetscInt64 exponent, count, none; /* numbers, and zeros beside them */
} Mean;

static inline void MeanAdd(Mean *m, double c)
{
  union
  {
    double   value;
    uint64_t bits;
  } u = {c};

  if (c < PETSC_REAL_MIN) { /* zero, or nothing that has a mantissa */
    m->none++;
    return;
  }
  m->exponent += (PetscInt64)(u.bits >> 52) - 1023;
  u.bits = (u.bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;
  m->mantissa *= u.value;
  m->count++;
}

/* its logarithm; 0 of none */
static inline PetscReal MeanLog(const Mean *m)
{
  return m->count ? ((PetscReal)m->exponent * log(2.0) + log(m->mantissa)) / (PetscReal)m->count : 0;
}

/* with the zeros, of which the part that they are is taken */
static inline PetscReal MeanValue(const Mean *m)
{
  return m->count ? PetscExpReal(MeanLog(m)) * (PetscReal)m->count / (PetscReal)(m->count + m->none) : 0;
}

/* the couplings of an unknown to the planes before and after it, in each direction */
static void Couplings(const PatchFDStencil *s, const PetscReal row[], PetscInt dim, PetscReal c[3][2])
{
  PetscReal rest = row[0], want = 0;

  for (int d = 0; d < 3; d++) c[d][0] = c[d][1] = 0;
  for (PetscInt e = 1; e < s->n; e++)
    for (int d = 0; d < dim; d++)
      if (s->offset[e][d]) c[d][s->offset[e][d] > 0] -= row[e];
  for (PetscInt e = 1; e < s->n; e++) rest += row[e];
  for (int d = 0; d < dim; d++)
    for (int side = 0; side < 2; side++) c[d][side] = PetscMax(c[d][side], 0);
  /* couplings to boundary values are on the diagonal alone: what the sum of the row has is shared among the directions without a neighbour,
     at most what is opposite */
  for (int d = 0; d < dim; d++) want += c[d][0] == 0 ? c[d][1] : (c[d][1] == 0 ? c[d][0] : 0);
  if (want == 0) return;
  rest = PetscMax(0, PetscMin(1, rest / want));
  for (int d = 0; d < dim; d++) {
    if (c[d][0] == 0) c[d][0] = rest * c[d][1];
    else if (c[d][1] == 0) c[d][1] = rest * c[d][0];
  }
}

/* what a brick's planes have: couplings before and after in their own direction, and cells' couplings in direction a over the planes of
   direction b, cell[a][b] */
typedef struct {
  Mean     before[3][PATCHFD_BRICK_MAX], after[3][PATCHFD_BRICK_MAX], cell[3][3][PATCHFD_BRICK_MAX];
  PetscInt count[3][PATCHFD_BRICK_MAX]; /* of unknowns */
} Planes;

static inline PetscBool IsCoupled(PetscInt entries, const PetscReal row[])
{
  for (PetscInt e = 1; e < entries; e++)
    if (row[e] != 0) return PETSC_TRUE;
  return PETSC_FALSE;
}

#define EACH_UNKNOWN(b, first, at, i) \
  for (PetscInt k = 0, i = 0; k < (b)->n[2]; k++) \
    for (PetscInt j = 0; j < (b)->n[1]; j++) \
      for (PetscInt at[3] = {0, j, k}; at[0] < (b)->n[0]; at[0]++, i++)

/* the row of an unknown of a brick; NULL if it has none, or no neighbours */
static inline const PetscReal *RowOf(const PatchFDBricks *b, const PetscInt first[3], const PetscInt at[3])
{
  const PetscInt   node[3] = {first[0] + at[0], first[1] + at[1], first[2] + at[2]};
  const PetscReal *row;

  if (!PatchFDRangeHas(b->nodes, node)) return NULL;
  row = b->row + PatchFDBoxNode(&b->box, node[0], node[1], node[2]) * b->stencil.n;
  return IsCoupled(b->stencil.n, row) ? row : NULL;
}

static void TakeMeans(const PatchFDBricks *b, const PetscInt first[3], Planes *planes)
{
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < b->n[d]; i++) {
      planes->before[d][i] = planes->after[d][i] = (Mean){.mantissa = 1};
      for (int a = 0; a < 3; a++) planes->cell[a][d][i] = (Mean){.mantissa = 1};
      planes->count[d][i] = 0;
    }
  }
  EACH_UNKNOWN(b, first, at, i)
  {
    const PetscReal *row = RowOf(b, first, at);
    PetscReal        c[3][2];

    if (!row) continue;
    Couplings(&b->stencil, row, b->dim, c);
    for (int d = 0; d < b->dim; d++) {
      const PetscReal mean = (c[d][0] + c[d][1]) / (c[d][0] > 0 && c[d][1] > 0 ? 2 : 1);

      MeanAdd(&planes->before[d][at[d]], c[d][0]);
      MeanAdd(&planes->after[d][at[d]], c[d][1]);
      for (int e = 0; e < b->dim; e++)
        if (e != d) MeanAdd(&planes->cell[d][e][at[e]], mean);
      planes->count[d][at[d]]++;
    }
  }
}

/* the diagonal of M in direction d: what the other directions' couplings change along it, the mean of these */
static void Masses(const PatchFDBricks *b, const Planes *planes, int d, PetscReal M[])
{
  const PetscReal share = b->dim == 3 ? 0.5 : 1; /* of the directions but d */

  for (PetscInt i = 0; i < b->n[d]; i++) M[i] = 0;
  for (int a = 0; a < b->dim; a++) {
    PetscReal  total = 0;
    PetscInt64 count = 0;

    if (a == d) continue;
    for (PetscInt i = 0; i < b->n[d]; i++) {
      total += MeanLog(&planes->cell[a][d][i]) * (PetscReal)planes->cell[a][d][i].count;
      count += planes->cell[a][d][i].count;
    }
    for (PetscInt i = 0; i < b->n[d] && count; i++)
      if (planes->cell[a][d][i].count) M[i] += share * (MeanLog(&planes->cell[a][d][i]) - total / (PetscReal)count);
  }
  for (PetscInt i = 0; i < b->n[d]; i++) M[i] = PetscExpReal(M[i]);
}

/* diagonals of A and M of one direction in a lane of matrices; a plane without unknowns has ones */
static void LineMatrices(const PatchFDBricks *b, const Planes *planes, int d, int lane, Lanes A[], Lanes M[], PetscReal dA[],
                         PetscReal dM[])
{
  const PetscInt n = b->n[d];

  Masses(b, planes, d, dM);
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal after = MeanValue(&planes->after[d][i]);
    const PetscBool next  = (PetscBool)(i + 1 < n && planes->count[d][i] && planes->count[d][i + 1]);

    dA[i] = planes->count[d][i] || d >= b->dim ? MeanValue(&planes->before[d][i]) + after : 1;
    for (PetscInt j = 0; j < n; j++)
      if (j != i + 1 && j != i - 1) A[i * n + j][lane] = M[i * n + j][lane] = 0;
    A[i * n + i][lane] = dA[i];
    M[i * n + i][lane] = dM[i];
    if (i + 1 < n) {
      A[i * n + i + 1][lane] = A[(i + 1) * n + i][lane] = next ? -after : 0;
      M[i * n + i + 1][lane] = M[(i + 1) * n + i][lane] = 0;
    }
  }
}

/* the scales (diag T / diag A)^(1/2) with T = sum of A + shift M.  Unknowns whose couplings are all positive have nothing but the shift */
static void Scales(const PatchFDBricks *b, const PetscInt first[3], PetscReal dA[3][PATCHFD_BRICK_MAX], PetscReal dM[3][PATCHFD_BRICK_MAX],
                   PetscReal shift, PetscReal scale[])
{
  EACH_UNKNOWN(b, first, at, i)
  {
    const PetscReal *row  = RowOf(b, first, at);
    const PetscReal *A[3] = {dA[0] + at[0], dA[1] + at[1], dA[2] + at[2]}, *M[3] = {dM[0] + at[0], dM[1] + at[1], dM[2] + at[2]};

    scale[i] = row ? PetscSqrtReal((*A[0] * *M[1] * *M[2] + *M[0] * (*A[1] * *M[2] + *M[1] * (*A[2] + shift * *M[2]))) / row[0]) : 0;
  }
}

/* smallest eigenvalues of zero, of bricks that are coupled to nothing, must not be divided by: what is added to them */
static PetscReal Shift(const PatchFDBricks *b, PetscReal record[])
{
  const PetscReal tiny = 1e-6;
  PetscReal       shift, least = 0, most = 0, *lambda = record + b->n[0] * b->n[0], *at = record;

  for (int d = 0; d < 3; d++) {
    PetscReal lo, hi;

    at += b->n[d] * b->n[d];
    lo = hi = at[0];
    for (PetscInt i = 1; i < b->n[d]; i++) {
      lo = PetscMin(lo, at[i]);
      hi = PetscMax(hi, at[i]);
    }
    at += b->n[d];
    least += lo;
    most += hi;
  }
  shift = most > 0 ? PetscMax(0, tiny * most - least) : 1;
  for (PetscInt i = 0; i < b->n[0]; i++) lambda[i] += shift;
  return shift;
}

/* bricks p .. p + count - 1, at most LANES of them */
static void FitBricks(PatchFDBricks *b, PetscCount p, int count, Planes *planes, Lanes *work)
{
  PetscReal dA[LANES][3][PATCHFD_BRICK_MAX], dM[LANES][3][PATCHFD_BRICK_MAX];
  PetscInt  at = 0;

  for (int d = 0; d < 3; at += b->n[d] * (b->n[d] + 1), d++) {
    const PetscInt n = b->n[d];
    Lanes         *A = work, *M = A + n * n, *S = M + n * n;

    for (int l = 0; l < LANES; l++) {
      const int lane = PetscMin(l, count - 1);

      LineMatrices(b, &planes[lane], d, l, A, M, dA[l][d], dM[l][d]);
      for (PetscInt i = 0; i < n * n; i++) S[i][l] = i % (n + 1) == 0;
    }
    LaneEigen(n, A, M, S, S + n * n);
    for (int l = 0; l < count; l++) {
      PetscReal *record = b->record + (p + l) * b->nrecord + at;

      for (PetscInt i = 0; i < n * n; i++) record[i] = S[i][l];
      for (PetscInt i = 0; i < n; i++) record[n * n + i] = A[i * n + i][l];
    }
  }
  for (int l = 0; l < count; l++) {
    PetscReal *record = b->record + (p + l) * b->nrecord;

    Scales(b, b->first + 3 * (p + l), dA[l], dM[l], Shift(b, record), record + at);
  }
}

PetscErrorCode PatchFDHostBricksFit(PatchFDBricks *b)
{
  const PetscInt longest = PetscMax(b->n[0], PetscMax(b->n[1], b->n[2]));
  Planes        *planes;
  Lanes         *work;

  PetscFunctionBegin;
  b->nrecord = b->n[0] * b->n[1] * b->n[2];
  for (int d = 0; d < 3; d++) b->nrecord += b->n[d] * (b->n[d] + 1);
  PetscCall(PetscMalloc1(b->nbrick * b->nrecord, &b->record));
  PetscCall(PetscMalloc2(LANES, &planes, 5 * longest * longest, &work));
  for (PetscCount p = 0; p < b->nbrick; p += LANES) {
    const int count = (int)PetscMin(LANES, b->nbrick - p);

    for (int l = 0; l < count; l++) TakeMeans(b, b->first + 3 * (p + l), &planes[l]);
    FitBricks(b, p, count, planes, work);
  }
  PetscCall(PetscFree2(planes, work));
  b->maxsteps = 1;
  PetscCall(PetscMalloc1(2 * b->nbrick, &b->coef));
  for (PetscCount p = 0; p < b->nbrick; p++) {
    b->coef[2 * p]     = 0;
    b->coef[2 * p + 1] = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostBricksSetSteps(const PatchFDFitRule *rule, const PetscReal bound[], PatchFDBricks *b)
{
  const PetscInt    ncolor = b->ngroup;
  const PetscCount *from   = b->group;
  PetscCount       *group, at = 0;
  PetscInt         *color, *of, *steps;

  PetscFunctionBegin;
  PetscCall(
    PetscMalloc4(ncolor * rule->maxsteps + 1, &group, ncolor * rule->maxsteps, &color, ncolor * rule->maxsteps, &of, b->nbrick, &steps));
  PetscCall(PetscFree(b->coef));
  PetscCall(PetscMalloc1(2 * b->nbrick * rule->maxsteps, &b->coef));
  b->maxsteps = rule->maxsteps;
  for (PetscCount p = 0; p < b->nbrick; p++) {
    steps[p] = PatchFDFitRuleSteps(rule, bound + 2 * p);
    PatchFDFitRuleCoefficients(rule, steps[p], bound + 2 * p, 2, b->coef + 2 * p * rule->maxsteps);
  }
  b->ngroup = 0;
  for (PetscInt c = 0; c < ncolor; c++) {
    for (PetscInt m = 1; m <= rule->maxsteps; m++) {
      group[b->ngroup] = at;
      for (PetscCount p = from[c]; p < from[c + 1]; p++)
        if (steps[p] == m) b->order[at++] = p;
      if (at == group[b->ngroup]) continue;
      color[b->ngroup] = c;
      of[b->ngroup++]  = m;
    }
  }
  group[b->ngroup] = at;
  PetscCall(PetscFree3(b->group, b->color, b->steps));
  PetscCall(PetscMalloc3(b->ngroup + 1, &b->group, b->ngroup, &b->color, b->ngroup, &b->steps));
  PetscCall(PetscArraycpy(b->group, group, b->ngroup + 1));
  PetscCall(PetscArraycpy(b->color, color, b->ngroup));
  PetscCall(PetscArraycpy(b->steps, of, b->ngroup));
  PetscCall(PetscFree4(group, color, of, steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostBricksDestroy(PatchFDBricks *b)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(b->first));
  PetscCall(PetscFree(b->record));
  PetscCall(PetscFree(b->coef));
  PetscCall(PetscFree(b->order));
  PetscCall(PetscFree3(b->group, b->color, b->steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}
