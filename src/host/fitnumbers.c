/*
  Fits of local solvers to the metric of each patch (patchfd/private/fit.h): their numbers, in double precision.

  With G_a the diagonal of |J| J^{-1} K J^{-T} at the points of a patch, J the derivatives by the coordinates of unit cells, <> the mean
  over the patch and <>_b that over all directions but b, a function of t_b,

    shared   g_a = exp <log G_a>, and the matrices of constants
    own      A_b and M_b with the weights exp <log G_b>_b and exp of the mean over a != b of <log G_a>_b - <log G_a>: exact where every G_a
    is a product; A_b also with the mean of h |surface| on a side with h u v, at the node there

  and g_3 = <|J| s> in both.
*/
#include "cell.h"
#include "lanes.h"
#include <patchfd/private/fit.h>

typedef PatchFDFitKind Kind;

/* ---- means ---- */

PetscErrorCode PatchFDHostFitMeansCreate(PetscInt dim, PetscInt points, PetscCount ncells, PetscBool stiff, PetscBool shift,
                                         PatchFDFitMeans *m)
{
  const PetscCount n = ncells * PetscPowInt(points, dim);

  PetscFunctionBegin;
  *m = (PatchFDFitMeans){.dim = dim, .points = points, .ncells = ncells, .stiff = stiff, .hasshift = shift};
  PetscCall(PetscCalloc3(ncells * dim * dim * points, &m->mean, ncells, &m->cross, ncells, &m->shift));
  PetscCall(PetscMalloc2(stiff ? dim * n : 0, &m->log, shift ? n : 0, &m->logshift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFitMeansDestroy(PatchFDFitMeans *m)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(m->mean, m->cross, m->shift));
  PetscCall(PetscFree2(m->log, m->logshift));
  PetscCall(PetscFree(m->end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |J| s at a point is zero where s is: a logarithm that no fit is close to, and that is a number */
static PetscReal LogShift(PetscReal shift)
{
  const PetscReal none = -1e3;

  return shift > 0 ? PetscLogReal(shift) : none;
}

void PatchFDHostFitMeansAdd(PatchFDFitMeans *m, const PetscReal w[], PetscCount cell, PetscInt i, const PetscReal f[])
{
  const PetscInt  dim = m->dim, q = m->points, npoint = PetscPowInt(q, dim), at[3] = {i % q, i / q % q, i / q / q};
  const PetscInt  entry[2][3][3] = {{{0, 1}, {1, 2}}, {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}}};
  const PetscReal weight         = w[at[0]] * w[at[1]] * (dim == 3 ? w[at[2]] : 1);
  PetscReal       cross = 0, *mean = m->mean + cell * dim * dim * q;

  for (PetscInt a = 0; a < dim && m->stiff; a++) {
    const PetscReal *of = f, v = PetscLogReal(of[entry[dim - 2][a][a]] / weight);

    m->log[(cell * dim + a) * npoint + i] = (float)v;
    for (PetscInt b = 0; b < dim; b++) mean[(a * dim + b) * q + at[b]] += weight / w[at[b]] * v;
    for (PetscInt b = 0; b < a; b++) cross += PetscSqr(of[entry[dim - 2][a][b]]) / (of[entry[dim - 2][a][a]] * of[entry[dim - 2][b][b]]);
  }
  m->cross[cell] = PetscMax(m->cross[cell], cross);
  if (!m->hasshift) return;
  f += m->stiff ? dim * (dim + 1) / 2 : 0;
  m->shift[cell] += *f;
  m->logshift[cell * npoint + i] = (float)LogShift(*f / weight);
}

/* the cells of a patch: the first one, and how many there are in each direction */
typedef struct {
  PetscInt low[3], n[3];
} PatchCells;

static void PatchCellsGet(const PatchFDFit *fit, PetscInt number, PatchCells *p)
{
  for (int d = 0; d < 3; d++) {
    const PatchFDFitLine *line = PatchFDFitLineOf(fit, number, d);

    p->low[d] = line->cell;
    p->n[d]   = fit->kind[d][line->kind].ncells;
  }
}

/* the means over a patch: log[a][b][cell of direction b][point], log of g_a, and g_3; over its sides with h u v */
typedef struct {
  PetscReal log[3][3][PATCHFD_FIT_MAX_CELLS * PATCHFD_FIT_MAX_POINTS], total[3], shift, end[3][2];
  PetscBool ends; /* are there any? */
} PatchMeans;

static void PatchMeansGet(const PatchFDFit *fit, const PatchFDFitMeans *c, const PetscReal w[], const PatchCells *p, PatchMeans *m)
{
  const PetscInt  dim = c->dim, q = c->points, *n = p->n;
  const PetscReal count = (PetscReal)(n[0] * n[1] * n[2]);

  PetscCallAbort(PETSC_COMM_SELF, PetscMemzero(m, sizeof(*m)));
  for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
    const PetscInt   offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]};
    const PetscCount number    = PatchFDFitCellNumber(fit, p->low, offset);
    const PetscReal *mean      = c->mean + number * dim * dim * q;

    m->shift += c->shift[number] / count;
    for (PetscInt a = 0; a < dim; a++)
      for (PetscInt b = 0; b < dim; b++)
        for (PetscInt i = 0; i < q; i++) m->log[a][b][offset[b] * q + i] += mean[(a * dim + b) * q + i] * (PetscReal)n[b] / count;
    for (PetscInt s = 0; s < 2 * dim && c->end; s++) {
      const PetscReal end = c->end[number * 2 * dim + s];

      m->end[s / 2][s % 2] += end * (PetscReal)n[s / 2] / count;
      m->ends = (PetscBool)(m->ends || end != 0);
    }
  }
  for (PetscInt a = 0; a < dim; a++)
    for (PetscInt i = 0; i < n[0] * q; i++) m->total[a] += w[i % q] * m->log[a][0][i] / (PetscReal)n[0];
}

/* the logarithms of the weights of the patch's matrices in direction b: of A, and of M */
static PetscReal LogStiffness(const PatchMeans *m, PetscBool shared, PetscInt b, PetscInt i)
{
  return shared ? m->total[b] : m->log[b][b][i];
}

static PetscReal LogMass(PetscInt dim, const PatchMeans *m, PetscBool shared, PetscInt b, PetscInt i)
{
  PetscReal sum = 0;

  for (PetscInt a = 0; a < dim && !shared; a++)
    if (a != b) sum += m->log[a][b][i] - m->total[a];
  return sum / (PetscReal)(dim - 1);
}

/* ratios of all points of a cell of the patch */
static void RatioOfCell(const PatchFDFit *fit, const PatchFDFitMeans *c, const PatchMeans *m, const PetscInt offset[3], PetscCount cell,
                        PatchFDFitRatio *ratio)
{
  const PetscInt  dim = c->dim, q = c->points, npoint = PetscPowInt(q, dim);
  const PetscReal shift = c->hasshift ? LogShift(m->shift) : 0;
  PetscReal       A[3][PATCHFD_FIT_MAX_POINTS], M[3][PATCHFD_FIT_MAX_POINTS];

  for (PetscInt b = 0; b < dim; b++) {
    for (PetscInt i = 0; i < q; i++) {
      A[b][i] = LogStiffness(m, fit->shared, b, offset[b] * q + i);
      M[b][i] = LogMass(dim, m, fit->shared, b, offset[b] * q + i);
    }
  }
  for (PetscInt k = 0, i = 0; k < (dim == 3 ? q : 1); k++)
    for (PetscInt j = 0; j < q; j++)
      for (PetscInt l = 0; l < q; l++, i++) {
        const double mass = M[0][l] + M[1][j] + (dim == 3 ? M[2][k] : 0);
        const float *log  = c->log + cell * dim * npoint + i;
        const double v[3] = {log[0] - A[0][l] - mass + M[0][l], log[npoint] - A[1][j] - mass + M[1][j],
                             dim == 3 ? log[2 * npoint] - A[2][k] - mass + M[2][k] : 0};

        PatchFDFitRatioAdd((int)dim, v, c->hasshift ? c->logshift[cell * npoint + i] - shift - mass : 0, c->hasshift, ratio);
      }
}

static PetscBool PatchIsClose(const PatchFDFit *fit, const PatchFDFitRule *rule, const PatchFDFitMeans *c, const PatchMeans *m,
                              const PatchCells *p)
{
  PatchFDFitRatio ratio = {.lo = PETSC_MAX_REAL, .hi = PETSC_MIN_REAL};
  PetscReal       cross = 0;
  const PetscInt *n     = p->n;

  if (!c->stiff || m->ends) return PETSC_FALSE;
  for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
    const PetscInt   offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]};
    const PetscCount cell      = PatchFDFitCellNumber(fit, p->low, offset);

    RatioOfCell(fit, c, m, offset, cell, &ratio);
    cross = PetscMax(cross, c->cross[cell]);
  }
  return (PetscBool)PatchFDFitIsClose((int)c->dim, &ratio, cross, rule->stable, PetscMin(PatchFDFitOneStep(rule), rule->exact));
}

/* ---- small matrices of LANES patches ---- */

/* X = the integrals of weight times the products of the kind's functions, or of their derivatives */
static void LaneMatrix(const Kind *kind, const PatchFDRule *rule, const PetscReal basis[], const Lanes weight[], Lanes X[])
{
  const PetscInt k = rule->nodes - 1, n = kind->n;

  for (PetscInt i = 0; i < n * n; i++)
    for (int l = 0; l < LANES; l++) X[i][l] = 0;
  for (PetscInt cell = 0; cell < kind->ncells; cell++) {
    const PetscInt shift = cell * k - kind->lower, from = PetscMax(0, -shift), to = PetscMin(k, n - 1 - shift);

    for (PetscInt q = 0; q < rule->points; q++) {
      const PetscReal *B = basis + q * (k + 1);

      for (PetscInt i = from; i <= to; i++) {
        for (PetscInt j = from; j <= to; j++) {
          const PetscReal f = rule->w[q] * B[i] * B[j];

          for (int l = 0; l < LANES; l++) X[(i + shift) * n + j + shift][l] += f * weight[cell * rule->points + q][l];
        }
      }
    }
  }
}

/* ---- records ---- */

/* What the records of a direction are made with: for at most `count` lanes at a time */
typedef struct {
  PatchFDRule rule;
  Lanes      *A, *M, *S, *work, *weight[2];
} Workshop;

static PetscErrorCode WorkshopCreate(PetscInt degree, PetscInt gauss, Workshop *w)
{
  const PetscInt size = PetscSqr(2 * degree + 1);

  PetscFunctionBegin;
  PetscCall(PatchFDRuleCreate(degree, gauss, &w->rule));
  PetscCall(PetscCalloc6(size, &w->A, size, &w->M, size, &w->S, 2 * size, &w->work, PATCHFD_FIT_MAX_CELLS * w->rule.points, &w->weight[0],
                         PATCHFD_FIT_MAX_CELLS * w->rule.points, &w->weight[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WorkshopDestroy(Workshop *w)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(w->A, w->M, w->S, w->work, w->weight[0], w->weight[1]));
  PetscCall(PatchFDRuleDestroy(&w->rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the records of LANES patches with n unknowns whose matrices are w->A and w->M; guess: eigenvectors that may be near */
static void SolveRecords(Workshop *w, PetscInt n, const PetscReal *guess, PetscReal *const record[LANES])
{
  const PetscReal constant = 1e-12; /* of the largest eigenvalue: what rounding makes of zero */

  for (PetscInt i = 0; i < n * n; i++)
    for (int l = 0; l < LANES; l++) w->S[i][l] = guess ? guess[i] : (i % (n + 1) == 0);
  for (int l = 0; l < LANES; l++) {
    for (PetscInt i = 0; i < n; i++) {
      record[l][n * (n + 1) + i] = w->A[i * (n + 1)][l];
      record[l][n * (n + 2) + i] = w->M[i * (n + 1)][l];
    }
  }
  LaneEigen(n, w->A, w->M, w->S, w->work);
  for (int l = 0; l < LANES; l++) {
    PetscReal largest = 0;

    for (PetscInt i = 0; i < n * n; i++) record[l][i] = w->S[i][l];
    for (PetscInt i = 0; i < n; i++) largest = PetscMax(largest, w->A[i * (n + 1)][l]);
    for (PetscInt i = 0; i < n; i++) record[l][n * n + i] = w->A[i * (n + 1)][l] > constant * largest ? w->A[i * (n + 1)][l] : 0;
  }
}

/* the matrices of a kind with the weights in w->weight */
static void SetMatrices(Workshop *w, const Kind *kind)
{
  LaneMatrix(kind, &w->rule, w->rule.D, (const Lanes *)w->weight[0], w->A);
  LaneMatrix(kind, &w->rule, w->rule.B, (const Lanes *)w->weight[1], w->M);
}

/* A += the term of a side at the node there, if that is an unknown */
static void AddSide(Workshop *w, const Kind *kind, PetscInt degree, PetscInt end, PetscInt l, PetscReal h)
{
  const PetscInt n = kind->n, has = end ? kind->lower + n == kind->ncells * degree + 1 : !kind->lower;

  if (has) w->A[end * (n * n - 1)][l] += h;
}

static void MakeRecords(Workshop *w, const Kind *kind, const PetscReal *guess, PetscReal *const record[LANES])
{
  SetMatrices(w, kind);
  SolveRecords(w, kind->n, guess, record);
}

/* a direction that is a point: S = 1, lambda = 0, A = 0, M = 1 */
static void PointRecord(PetscReal record[])
{
  record[0] = record[3] = 1;
  record[1] = record[2] = 0;
}

/* the records of constants, for each kind of each direction, one after another */
PetscErrorCode PatchFDHostFitConstants(PatchFDFit *fit)
{
  Workshop w;

  PetscFunctionBegin;
  PetscCall(WorkshopCreate(fit->degree, fit->degree + 2, &w));
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < fit->nkind[d]; i++) {
      fit->kind[d][i].record = fit->nconstant;
      fit->nconstant += PatchFDFitRecordSize(fit->kind[d][i].n);
    }
  }
  PetscCall(PetscMalloc1(fit->nconstant, &fit->constants));
  for (PetscInt i = 0; i < PATCHFD_FIT_MAX_CELLS * w.rule.points; i++)
    for (int l = 0; l < LANES; l++) w.weight[0][i][l] = w.weight[1][i][l] = 1;
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < fit->nkind[d]; i++) {
      PetscReal *record[LANES];

      for (int l = 0; l < LANES; l++) record[l] = fit->constants + fit->kind[d][i].record;
      if (d < fit->dim) MakeRecords(&w, &fit->kind[d][i], NULL, record);
      else PointRecord(record[0]);
    }
  }
  PetscCall(WorkshopDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numbers ---- */

/* the records of patches of one kind */
static void OwnRecords(Workshop *w, const PatchFDFit *fit, const PatchFDFitMeans *c, const PatchMeans m[], const PetscInt kind[3],
                       const PetscInt number[], PetscInt count, PetscReal records[])
{
  for (PetscInt b = 0; b < c->dim; b++) {
    const Kind *k = &fit->kind[b][kind[b]];
    PetscReal  *record[LANES];

    for (PetscInt l = 0; l < LANES; l++) record[l] = records + PatchFDFitRecord(fit, number[PetscMin(l, count - 1)], b, kind[b]);
    for (PetscInt i = 0; i < k->ncells * c->points; i++) {
      for (PetscInt l = 0; l < LANES; l++) {
        const PatchMeans *of = &m[PetscMin(l, count - 1)];

        w->weight[0][i][l] = c->stiff ? PetscExpReal(LogStiffness(of, PETSC_FALSE, b, i)) : 0;
        w->weight[1][i][l] = PetscExpReal(LogMass(c->dim, of, PETSC_FALSE, b, i));
      }
    }
    SetMatrices(w, k);
    for (PetscInt l = 0; l < LANES; l++)
      for (PetscInt e = 0; e < 2; e++) AddSide(w, k, fit->degree, e, l, m[PetscMin(l, count - 1)].end[b][e]);
    SolveRecords(w, k->n, fit->constants + k->record, record);
  }
}

/* the numbers of a patch but its records, and how many steps it takes */
static void PatchNumbers(PatchFDFit *fit, const PatchFDFitRule *rule, const PatchFDFitMeans *c, const PetscReal w[], PetscInt number,
                         PatchMeans *m, PetscReal g[])
{
  PatchCells cells;

  PatchCellsGet(fit, number, &cells);
  PatchMeansGet(fit, c, w, &cells, m);
  for (int d = 0; d < 3; d++) g[d] = !fit->shared ? 1 : (d < c->dim && c->stiff ? PetscExpReal(m->total[d]) : 0);
  g[3]              = m->shift;
  fit->take[number] = rule->lanczos && !PatchIsClose(fit, rule, c, m, &cells) ? 2 : 1;
}

PetscErrorCode PatchFDHostFitNumbers(PatchFDFit *fit, const PatchFDFitRule *rule, const PatchFDFitMeans *c, PetscReal g[],
                                     PetscReal records[])
{
  Workshop   w;
  PatchMeans m[LANES];

  PetscFunctionBegin;
  PetscCall(WorkshopCreate(fit->degree, c->points, &w));
  PetscCall(PetscArraycpy(records, fit->constants, fit->nconstant));
  for (PetscInt i = 0; i < fit->runs[fit->ngroup]; i++) {
    const PatchFDFitRun *run = &fit->run[i];

    for (PetscCount p = 0; p < run->count; p += LANES) {
      const PetscInt  count  = (PetscInt)PetscMin(LANES, run->count - p);
      const PetscInt *number = fit->number + run->first + p;

      for (PetscInt l = 0; l < count; l++) PatchNumbers(fit, rule, c, w.rule.w, number[l], &m[l], g + 4 * number[l]);
      if (!fit->shared) OwnRecords(&w, fit, c, m, run->kind, number, count, records);
    }
  }
  PetscCall(WorkshopDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- closed cells ---- */

void PatchFDHostCellFitSet(const PatchFDFitMeans *m, PetscInt i, PetscCount cell, PatchFDCellFit *fit)
{
  const PatchFDRule *rule = &fit->rule;
  const PetscInt     dim = fit->dim, q = m->points, k = fit->degree;
  const PetscReal   *mean     = m->mean + i * dim * dim * q;
  PetscReal          total[3] = {0}, sum = 0;

  fit->shift[cell] = m->shift[i];
  for (PetscInt a = 0; a < dim; a++) {
    for (PetscInt p = 0; p < q; p++) total[a] += rule->w[p] * mean[a * dim * q + p];
    sum += total[a];
  }
  for (PetscInt b = 0; b < dim; b++) {
    const PetscReal level = (sum - total[b]) / (PetscReal)(dim - 1);
    PetscReal      *A = fit->weight + (cell * dim + b) * 2 * q, *M = A + q, *end = fit->end + (cell * dim + b) * 2 * PATCHFD_CELL_END;

    fit->level[cell * dim + b] = PetscExpReal(level);
    for (PetscInt p = 0; p < q; p++) {
      PetscReal log = 0;

      for (PetscInt a = 0; a < dim; a++) log += a == b ? 0 : mean[(a * dim + b) * q + p] - total[a];
      A[p] = m->stiff ? PetscExpReal(mean[(b * dim + b) * q + p]) : 0;
      M[p] = PetscExpReal(log / (PetscReal)(dim - 1));
    }
    for (PetscInt e = 0; e < 2; e++, end += PATCHFD_CELL_END) {
      for (PetscInt p = 0; p < q; p++) {
        const PetscInt at = p * (k + 1) + e * k;

        end[0] += rule->w[p] * A[p] * PetscSqr(rule->D[at]);
        end[1] += rule->w[p] * M[p] * PetscSqr(rule->B[at]) * fit->level[cell * dim + b];
      }
      end[2] = PetscExpReal((total[b] + level) / 2);
    }
  }
}

PetscErrorCode PatchFDHostCellFitCreate(const PatchFDPoints *nodes, PetscInt gauss, PatchFDCellFit *fit)
{
  const PetscCount lines = nodes->ncells * nodes->dim;

  PetscFunctionBegin;
  *fit = (PatchFDCellFit){.dim = nodes->dim, .degree = nodes->degree, .gauss = gauss, .ncells = nodes->ncells};
  PetscCall(PatchFDRuleCreate(nodes->degree, gauss, &fit->rule));
  PetscCall(PetscCalloc5(lines * 2 * fit->rule.points, &fit->weight, lines, &fit->level, nodes->ncells, &fit->shift,
                         lines * 2 * PATCHFD_CELL_END, &fit->end, lines * 2 * PATCHFD_CELL_END, &fit->other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostCellFitDestroy(PatchFDCellFit *fit)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(fit->weight, fit->level, fit->shift, fit->end, fit->other));
  PetscCall(PatchFDRuleDestroy(&fit->rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a neighbour adds to the matrices of lane l at node `at`, or nodes that are fixed: decoupled, with a diagonal of the others' size */
static void AddEnd(PetscInt n, PetscInt at, int l, const PetscReal own[], const PetscReal other[], PetscReal level, Lanes A[], Lanes M[])
{
  if (other[2] < 0) {
    for (PetscInt i = 0; i < n; i++) {
      if (i == at) continue;
      A[i * n + at][l] = A[at * n + i][l] = 0;
      M[i * n + at][l] = M[at * n + i][l] = 0;
    }
  } else if (other[2] > 0) {
    const PetscReal f = PetscMax(1, own[2] / other[2]);

    A[at * n + at][l] += f * other[0];
    M[at * n + at][l] += f * other[1] / level;
  }
}

PetscErrorCode PatchFDHostCellFitRecords(const PatchFDCellFit *fit, PetscReal records[])
{
  const PetscInt   dim = fit->dim, n = fit->degree + 1, ends = 2 * PATCHFD_CELL_END;
  const PetscCount size = PatchFDFitRecordSize(n);
  const Kind       kind = {.ncells = 1, .n = n};
  PetscReal       *guess, *record[LANES];
  Workshop         w;

  PetscFunctionBegin;
  PetscCall(WorkshopCreate(fit->degree, fit->gauss, &w));
  PetscCall(PetscMalloc1(size, &guess));
  for (PetscInt i = 0; i < w.rule.points; i++)
    for (int l = 0; l < LANES; l++) w.weight[0][i][l] = w.weight[1][i][l] = 1;
  for (int l = 0; l < LANES; l++) record[l] = guess;
  MakeRecords(&w, &kind, NULL, record);
  for (PetscCount first = 0; first < fit->ncells * dim; first += LANES) { /* lanes are directions of cells */
    for (PetscInt l = 0; l < LANES; l++) {
      const PetscCount at     = PetscMin(first + l, fit->ncells * dim - 1);
      const PetscReal *weight = fit->weight + at * 2 * w.rule.points;

      record[l] = records + at * size;
      for (PetscInt i = 0; i < w.rule.points; i++)
        for (int m = 0; m < 2; m++) w.weight[m][i][l] = weight[m * w.rule.points + i];
    }
    SetMatrices(&w, &kind);
    for (int l = 0; l < LANES; l++) {
      const PetscCount at = PetscMin(first + l, fit->ncells * dim - 1);

      for (PetscInt e = 0; e < 2; e++) {
        const PetscCount side = at * ends + e * PATCHFD_CELL_END;

        AddEnd(n, e * (n - 1), l, fit->end + side, fit->other + side, fit->level[at], w.A, w.M);
      }
    }
    SolveRecords(&w, n, guess, record);
  }
  PetscCall(PetscFree(guess));
  PetscCall(WorkshopDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDHostCellScale(const PatchFDPoints *nodes, const PetscReal record[], PetscReal shift, const PetscInt index[],
                          const PetscReal v[], PetscReal scale[])
{
  const PetscInt n = nodes->degree + 1, size = PetscPowInt(n, nodes->dim);

  for (PetscInt i = 0; i < size; i++) {
    const PetscInt at[3] = {i % n, i / n % n, i / n / n};
    PetscReal      sum = 0, product = 1;

    for (PetscInt d = 0; d < nodes->dim; d++) {
      const PetscReal A = record[(d * (n + 3) + n + 1) * n + at[d]], M = record[(d * (n + 3) + n + 2) * n + at[d]];

      sum = sum * M + A * product;
      product *= M;
    }
    scale[i] = index[i] < 0 ? 1 : v[index[i]] * PetscSqrtReal(sum + shift * product);
  }
}

/* ---- exact solvers ---- */

static inline PetscInt Triangle(PetscInt row)
{
  return row * (row + 1) / 2;
}

/* the reciprocal of the pivot of row n, all of whose other entries are those of the factor; zero: where it is nothing but rounding */
static void Pivot(PetscInt n, Lanes row[], PetscBool zero[])
{
  const PetscReal rounding = 1e-13;

  for (int l = 0; l < LANES; l++) {
    PetscReal rest = row[n][l];

    for (PetscInt k = 0; k < n; k++) rest -= PetscSqr(row[k][l]);
    zero[l]   = (PetscBool) !(rest > rounding * row[n][l]); /* not a number is none, too */
    row[n][l] = zero[l] ? 0 : 1 / PetscSqrtReal(rest);
  }
}

PetscErrorCode PatchFDHostFactorTriangles(PetscInt n, PetscInt count, PatchFDLanes triangle[], PetscBool *regular)
{
  enum {
    ROWS = 4
  };

  PetscFunctionBegin;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  for (PetscInt first = 0; first < n; first += ROWS) {
    const PetscInt rows = PetscMin(ROWS, n - first);
    Lanes         *row[ROWS];

    for (PetscInt i = 0; i < rows; i++) row[i] = triangle + Triangle(first + i);
    for (PetscInt c = 0; c < first; c++) {
      if (rows == ROWS) LaneEliminate(ROWS, c, row, (const Lanes *)triangle + Triangle(c));
      else
        for (PetscInt i = 0; i < rows; i++) LaneEliminate(1, c, row + i, (const Lanes *)triangle + Triangle(c));
    }
    for (PetscInt i = 0; i < rows; i++) {
      PetscBool zero[LANES];

      for (PetscInt c = 0; c < i; c++) LaneEliminate(1, first + c, row + i, (const Lanes *)row[c]);
      Pivot(first + i, row[i], zero);
      for (PetscInt l = 0; l < count; l++) *regular = (PetscBool)(*regular && (!zero[l] || first + i == n - 1));
    }
  }
  PetscCall(PetscFPTrapPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}
