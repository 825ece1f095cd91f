/*
  Fits of local solvers to the metric of each patch (patchfd/private/fit.h): set-up, in double precision.

  With G_a the diagonal of |J| J^{-1} K J^{-T} at the points of a patch, J the derivatives by the coordinates of unit cells, <> the mean over the patch and <>_b that over all
  directions but b, a function of t_b,

    shared   g_a = exp <log G_a>, and the matrices of constants
    own      A_b and M_b with the weights exp <log G_b>_b and exp of the mean over a != b of <log G_a>_b - <log G_a>: exact where every G_a is a product

  and g_3 = <|J| s> in both.
*/
#include "lanes.h"
#include <patchfd/private/fit.h>

enum {
  MAX_CELLS = 2 /* of a patch in a direction */
};

typedef PatchFDFitKind Kind;

/* ---- means ---- */

PetscErrorCode PatchFDHostFitMeansCreate(PetscInt dim, PetscInt points, PetscCount ncells, PetscBool stiff, PetscBool shift, PatchFDFitMeans *m)
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

/* the means over a patch: log[a][b][cell of direction b][point], log of g_a, and g_3 */
typedef struct {
  PetscReal log[3][3][MAX_CELLS * PATCHFD_FIT_MAX_POINTS], total[3], shift;
} PatchMeans;

/* a patch's cells in each direction, and the number of one of them among those that there are */
static void PatchCells(const PatchFDFit *fit, PetscCount p, PetscInt n[3])
{
  for (int d = 0; d < 3; d++) n[d] = PetscMin(MAX_CELLS, fit->cells[d][1] - fit->cell[3 * p + d]);
}

static PetscCount CellNumber(const PatchFDFit *fit, PetscCount p, const PetscInt offset[3])
{
  PetscCount number = 0;

  for (int d = 2; d >= 0; d--) number = number * (fit->cells[d][1] - fit->cells[d][0]) + fit->cell[3 * p + d] + offset[d] - fit->cells[d][0];
  return number;
}

static void PatchMeansGet(const PatchFDFit *fit, const PatchFDFitMeans *c, const PetscReal w[], PetscCount p, PatchMeans *m)
{
  const PetscInt dim = c->dim, q = c->points;
  PetscInt       n[3];
  PetscReal      count;

  PetscCallAbort(PETSC_COMM_SELF, PetscMemzero(m, sizeof(*m)));
  PatchCells(fit, p, n);
  count = (PetscReal)(n[0] * n[1] * n[2]);
  for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
    const PetscInt   offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]};
    const PetscCount number    = CellNumber(fit, p, offset);
    const PetscReal *mean      = c->mean + number * dim * dim * q;

    m->shift += c->shift[number] / count;
    for (PetscInt a = 0; a < dim; a++)
      for (PetscInt b = 0; b < dim; b++)
        for (PetscInt i = 0; i < q; i++) m->log[a][b][offset[b] * q + i] += mean[(a * dim + b) * q + i] * (PetscReal)n[b] / count;
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
static void RatioOfCell(const PatchFDFit *fit, const PatchFDFitMeans *c, const PatchMeans *m, const PetscInt offset[3], PetscCount cell, PatchFDFitRatio *ratio)
{
  const PetscInt dim = c->dim, q = c->points, npoint = PetscPowInt(q, dim);
  PetscReal      A[3][PATCHFD_FIT_MAX_POINTS], M[3][PATCHFD_FIT_MAX_POINTS];

  for (PetscInt b = 0; b < dim; b++) {
    for (PetscInt i = 0; i < q; i++) {
      A[b][i] = LogStiffness(m, fit->shared, b, offset[b] * q + i);
      M[b][i] = LogMass(dim, m, fit->shared, b, offset[b] * q + i);
    }
  }
  for (PetscInt i = 0; i < npoint; i++) {
    const PetscInt at[3] = {i % q, i / q % q, i / q / q};
    double         v[3], mass = 0;

    for (PetscInt b = 0; b < dim; b++) mass += M[b][at[b]];
    for (PetscInt b = 0; b < dim; b++) v[b] = c->log[(cell * dim + b) * npoint + i] - A[b][at[b]] - mass + M[b][at[b]];
    PatchFDFitRatioAdd((int)dim, v, c->hasshift ? c->logshift[cell * npoint + i] - LogShift(m->shift) - mass : 0, c->hasshift, ratio);
  }
}

static PetscBool PatchIsClose(const PatchFDFit *fit, const PatchFDFitRule *rule, const PatchFDFitMeans *c, const PatchMeans *m, PetscCount p)
{
  PatchFDFitRatio ratio = {.lo = PETSC_MAX_REAL, .hi = PETSC_MIN_REAL};
  PetscReal       cross = 0;
  PetscInt        n[3];

  if (!c->stiff) return PETSC_FALSE;
  PatchCells(fit, p, n);
  for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
    const PetscInt   offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]};
    const PetscCount cell      = CellNumber(fit, p, offset);

    RatioOfCell(fit, c, m, offset, cell, &ratio);
    cross = PetscMax(cross, c->cross[cell]);
  }
  return (PetscBool)PatchFDFitIsClose((int)c->dim, &ratio, cross, rule->stable, PatchFDFitOneStep(rule));
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

static PetscCount RecordSize(PetscInt n)
{
  return (PetscCount)n * (n + 3);
}

/* What the records of a direction are made with: for at most `count` lanes at a time */
typedef struct {
  PatchFDRule rule;
  Lanes      *A, *M, *S, *work, *weight[2];
} Workshop;

static PetscErrorCode WorkshopCreate(PetscInt degree, Workshop *w)
{
  const PetscInt size = PetscSqr(2 * degree + 1);

  PetscFunctionBegin;
  PetscCall(PatchFDRuleCreate(degree, PETSC_TRUE, &w->rule));
  PetscCall(PetscCalloc6(size, &w->A, size, &w->M, size, &w->S, 2 * size, &w->work, MAX_CELLS * w->rule.points, &w->weight[0], MAX_CELLS * w->rule.points, &w->weight[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WorkshopDestroy(Workshop *w)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(w->A, w->M, w->S, w->work, w->weight[0], w->weight[1]));
  PetscCall(PatchFDRuleDestroy(&w->rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the records of LANES patches of a kind with the weights of A and M in w->weight; guess: eigenvectors that may be near */
static void MakeRecords(Workshop *w, const Kind *kind, const PetscReal *guess, PetscReal *const record[LANES])
{
  const PetscReal constant = 1e-12; /* of the largest eigenvalue: what rounding makes of zero */
  const PetscInt  n        = kind->n;

  LaneMatrix(kind, &w->rule, w->rule.D, (const Lanes *)w->weight[0], w->A);
  LaneMatrix(kind, &w->rule, w->rule.B, (const Lanes *)w->weight[1], w->M);
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

/* the kinds of a direction: patches in the middle and at the ends */
static PetscInt FindKind(const PatchFDFitMesh *mesh, int d, PetscInt patch, PetscInt *nkind, Kind kinds[])
{
  const PatchFDPatches *p    = mesh->dir[d];
  const PetscBool       real = (PetscBool)(d < mesh->dim);
  const Kind            kind = {.ncells = PetscMin(MAX_CELLS, mesh->ncells[d] - p->cell[patch]), .n = p->n[patch], .lower = real ? p->first[patch] - p->cell[patch] * mesh->degree : 0};
  PetscInt              i    = 0;

  while (i < *nkind && (kinds[i].ncells != kind.ncells || kinds[i].n != kind.n || kinds[i].lower != kind.lower)) i++;
  kinds[i] = kind;
  *nkind   = PetscMax(*nkind, i + 1);
  return i;
}

/* a direction that is a point: S = 1, lambda = 0, A = 0, M = 1 */
static void PointRecord(PetscReal record[])
{
  record[0] = record[3] = 1;
  record[1] = record[2] = 0;
}

/* ---- create ---- */

/* the kinds of all patches of each direction */
static PetscErrorCode KindsCreate(const PatchFDFitMesh *mesh, PatchFDFit *fit, PetscInt *of[3])
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    fit->nkind[d] = 0;
    PetscCall(PetscMalloc1(mesh->patches[d][1] - mesh->patches[d][0], &of[d]));
    for (PetscInt i = mesh->patches[d][0]; i < mesh->patches[d][1]; i++) of[d][i - mesh->patches[d][0]] = FindKind(mesh, d, i, &fit->nkind[d], fit->kind[d]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt ColorOf(const PatchFDFitMesh *mesh, const PetscInt cell[3])
{
  PetscInt c = 0;

  while (mesh->color[c].parity[0] != cell[0] % 2 || mesh->color[c].parity[1] != cell[1] % 2 || mesh->color[c].parity[2] != cell[2] % 2) c++;
  return c;
}

/* Goes through all patches, x fastest: a bin is a colour and a kind.  Without `fit->cell` patches are counted, then they are put where at[bin] says, which goes on */
static void GoThroughPatches(const PatchFDFitMesh *mesh, PetscInt *const of[3], const PetscInt color[8], PetscBool put, PetscCount at[], PatchFDFit *fit)
{
  const PetscInt nkind = fit->nkind[0] * fit->nkind[1] * fit->nkind[2];
  PetscInt       i[3];

  for (i[2] = mesh->patches[2][0]; i[2] < mesh->patches[2][1]; i[2]++) {
    for (i[1] = mesh->patches[1][0]; i[1] < mesh->patches[1][1]; i[1]++) {
      for (i[0] = mesh->patches[0][0]; i[0] < mesh->patches[0][1]; i[0]++) {
        PetscInt   kind = 0, parity = 0;
        PetscCount p;

        for (int d = 2; d >= 0; d--) {
          kind   = kind * fit->nkind[d] + of[d][i[d] - mesh->patches[d][0]];
          parity = 2 * parity + mesh->dir[d]->cell[i[d]] % 2;
        }
        p = at[color[parity] * nkind + kind]++;
        for (int d = 0; d < 3 && put; d++) {
          fit->cell[3 * p + d]   = mesh->dir[d]->cell[i[d]];
          fit->first[3 * p + d]  = mesh->dir[d]->first[i[d]];
          fit->n[3 * p + d]      = mesh->dir[d]->n[i[d]];
          fit->record[3 * p + d] = fit->kind[d][of[d][i[d] - mesh->patches[d][0]]].record;
        }
      }
    }
  }
}

/* all patches, sorted by colour, then by kind, then x fastest, with the records of constants */
static PetscErrorCode ListPatches(const PatchFDFitMesh *mesh, PetscInt *const of[3], PatchFDFit *fit)
{
  const PetscInt nkind = fit->nkind[0] * fit->nkind[1] * fit->nkind[2];
  PetscCount    *at, sum = 0;
  PetscInt       color[8];

  PetscFunctionBegin;
  for (PetscInt parity = 0; parity < 8; parity++) {
    const PetscInt cell[3] = {parity % 2, parity / 2 % 2, parity / 4};
    PetscBool      there   = PETSC_TRUE;

    for (int d = 0; d < 3; d++) there = (PetscBool)(there && cell[d] < mesh->dir[d]->npatch);
    color[parity] = there ? ColorOf(mesh, cell) : -1;
  }
  PetscCall(PetscCalloc1(mesh->ncolor * nkind, &at));
  GoThroughPatches(mesh, of, color, PETSC_FALSE, at, fit);
  for (PetscInt bin = 0; bin < mesh->ncolor * nkind; bin++) {
    const PetscCount count = at[bin];

    if (bin % nkind == 0) fit->group[bin / nkind] = sum;
    at[bin] = sum;
    sum += count;
  }
  fit->group[mesh->ncolor] = sum;
  GoThroughPatches(mesh, of, color, PETSC_TRUE, at, fit);
  for (PetscCount p = 0; p < fit->npatch; p++) fit->number[p] = p;
  PetscCall(PetscFree(at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the records of constants, for each kind of each direction, one after another */
static PetscErrorCode ConstantRecords(Workshop *w, PatchFDFit *fit)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < fit->nkind[d]; i++) {
      fit->kind[d][i].record = fit->nconstant;
      fit->nconstant += RecordSize(fit->kind[d][i].n);
    }
  }
  PetscCall(PetscMalloc1(fit->nconstant, &fit->constants));
  for (PetscInt i = 0; i < MAX_CELLS * w->rule.points; i++)
    for (int l = 0; l < LANES; l++) w->weight[0][i][l] = w->weight[1][i][l] = 1;
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < fit->nkind[d]; i++) {
      PetscReal *record[LANES];

      for (int l = 0; l < LANES; l++) record[l] = fit->constants + fit->kind[d][i].record;
      if (d < fit->dim) MakeRecords(w, &fit->kind[d][i], NULL, record);
      else PointRecord(record[0]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* behind those of constants come the records of all patches */
static void PlaceOwnRecords(PatchFDFit *fit)
{
  for (PetscCount p = 0; p < fit->npatch; p++) {
    for (PetscInt d = 0; d < fit->dim; d++) {
      fit->record[3 * p + d] = fit->nrecord;
      fit->nrecord += RecordSize(fit->n[3 * p + d]);
    }
  }
}

/* arrays that go with the groups, for `ngroup` of them, whose steps are known */
static PetscErrorCode FitAllocateSteps(PatchFDFit *fit)
{
  PetscCount at = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(fit->ngroup + 1, &fit->coefat, fit->npatch + 1, &fit->compact));
  fit->maxsteps = 1;
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    fit->coefat[i] = at;
    at += 2 * fit->steps[i] * (fit->group[i + 1] - fit->group[i]);
    fit->maxsteps = PetscMax(fit->maxsteps, fit->steps[i]);
    for (PetscCount p = fit->group[i], place = 0; p < fit->group[i + 1]; p++) {
      fit->compact[p] = place;
      place += (PetscCount)fit->n[3 * p] * fit->n[3 * p + 1] * fit->n[3 * p + 2];
      fit->compact[p + 1] = place;
    }
  }
  fit->coefat[fit->ngroup] = at;
  PetscCall(PetscMalloc1(at, &fit->coef));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one step with the factor 1 */
static void SetOneStep(PatchFDFit *fit, PetscInt group)
{
  for (PetscCount p = 0; p < fit->group[group + 1] - fit->group[group]; p++) {
    fit->coef[fit->coefat[group] + 2 * p]     = 0;
    fit->coef[fit->coefat[group] + 2 * p + 1] = 1;
  }
}

PetscErrorCode PatchFDHostFitCreate(const PatchFDFitMesh *mesh, PetscBool shared, const PatchFDBox *box, PatchFDFit *fit)
{
  Workshop  w;
  PetscInt *of[3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(fit, sizeof(*fit)));
  fit->dim    = mesh->dim;
  fit->degree = mesh->degree;
  fit->shared = shared;
  fit->box    = *box;
  fit->npatch = 1;
  for (int d = 0; d < 3; d++) {
    fit->npatch *= mesh->patches[d][1] - mesh->patches[d][0];
    fit->cells[d][0] = mesh->cells[d][0];
    fit->cells[d][1] = mesh->cells[d][1];
  }
  fit->ngroup = mesh->ncolor;
  PetscCall(PetscMalloc5(3 * fit->npatch, &fit->cell, 3 * fit->npatch, &fit->first, 3 * fit->npatch, &fit->n, fit->npatch, &fit->number, 3 * fit->npatch, &fit->record));
  PetscCall(PetscMalloc3(fit->ngroup + 1, &fit->group, fit->ngroup, &fit->color, fit->ngroup, &fit->steps));
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    fit->color[i] = i;
    fit->steps[i] = 1;
  }
  PetscCall(WorkshopCreate(mesh->degree, &w));
  PetscCall(KindsCreate(mesh, fit, of));
  PetscCall(ConstantRecords(&w, fit));
  PetscCall(ListPatches(mesh, of, fit));
  PetscCall(WorkshopDestroy(&w));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(of[d]));
  fit->nrecord = fit->nconstant;
  if (!shared) PlaceOwnRecords(fit);
  PetscCall(FitAllocateSteps(fit));
  for (PetscInt i = 0; i < fit->ngroup; i++) SetOneStep(fit, i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFitDestroy(PatchFDFit *fit)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(fit->cell, fit->first, fit->n, fit->number, fit->record));
  PetscCall(PetscFree3(fit->group, fit->color, fit->steps));
  PetscCall(PetscFree2(fit->coefat, fit->compact));
  PetscCall(PetscFree(fit->coef));
  PetscCall(PetscFree(fit->constants));
  PetscCall(PetscMemzero(fit, sizeof(*fit)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numbers ---- */

/* the kind of a patch in a direction */
static const Kind *KindOf(const PatchFDFit *fit, PetscCount p, PetscInt d)
{
  const Kind    *kind   = fit->kind[d];
  const PetscInt ncells = PetscMin(MAX_CELLS, fit->cells[d][1] - fit->cell[3 * p + d]), lower = fit->first[3 * p + d] - fit->cell[3 * p + d] * fit->degree;

  while (kind->ncells != ncells || kind->n != fit->n[3 * p + d] || kind->lower != lower) kind++;
  return kind;
}

/* the records of patches p .. p + count - 1, all of one kind */
static void OwnRecords(Workshop *w, const PatchFDFit *fit, const PatchFDFitMeans *c, const PatchMeans m[], PetscCount p, PetscInt count, PetscReal records[])
{
  for (PetscInt b = 0; b < c->dim; b++) {
    const Kind *k = KindOf(fit, p, b);
    PetscReal  *record[LANES];

    for (PetscInt l = 0; l < LANES; l++) record[l] = records + fit->record[3 * (p + PetscMin(l, count - 1)) + b];
    for (PetscInt i = 0; i < k->ncells * c->points; i++) {
      for (PetscInt l = 0; l < LANES; l++) {
        const PatchMeans *of = &m[PetscMin(l, count - 1)];

        w->weight[0][i][l] = c->stiff ? PetscExpReal(LogStiffness(of, PETSC_FALSE, b, i)) : 0;
        w->weight[1][i][l] = PetscExpReal(LogMass(c->dim, of, PETSC_FALSE, b, i));
      }
    }
    MakeRecords(w, k, fit->constants + k->record, record);
  }
}

/* of these, how many from p on have the same kind in all directions, up to LANES? */
static PetscInt CountAlike(const PatchFDFit *fit, PetscCount p)
{
  PetscInt count = 1;

  for (; count < LANES && p + count < fit->npatch; count++)
    for (int d = 0; d < fit->dim; d++)
      if (KindOf(fit, p + count, d) != KindOf(fit, p, d)) return count;
  return count;
}

PetscErrorCode PatchFDHostFitNumbers(const PatchFDFit *fit, const PatchFDFitRule *rule, const PatchFDFitMeans *c, PetscReal g[], PetscReal records[], char close[])
{
  Workshop   w;
  PatchMeans m[LANES];
  PetscInt   count;

  PetscFunctionBegin;
  PetscCall(WorkshopCreate(fit->degree, &w));
  PetscCall(PetscArraycpy(records, fit->constants, fit->nconstant));
  for (PetscCount p = 0; p < fit->npatch; p += count) {
    count = CountAlike(fit, p);
    for (PetscInt l = 0; l < count; l++) {
      PetscReal *of = g + 4 * fit->number[p + l];

      PatchMeansGet(fit, c, w.rule.w, p + l, &m[l]);
      for (int d = 0; d < 3; d++) of[d] = !fit->shared ? 1 : (d < c->dim && c->stiff ? PetscExpReal(m[l].total[d]) : 0);
      of[3]        = m[l].shift;
      close[p + l] = (char)PatchIsClose(fit, rule, c, &m[l], p + l);
    }
    if (!fit->shared) OwnRecords(&w, fit, c, m, p, count, records);
  }
  PetscCall(WorkshopDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rule ---- */

/*
  Lanczos' tridiagonal matrix of conjugate gradients: 1 / a_i + b_{i-1} / a_{i-1} on the diagonal and sqrt(b_{i-1}) / a_{i-1} beside it.  Where the iteration has ended a = 1 and b = 0,
  so that the matrix goes on with ones
*/
PetscErrorCode PatchFDHostFitBounds(PetscCount count, PetscInt n, const PetscReal a[], const PetscReal b[], PetscReal bound[])
{
  Lanes *T, *V;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n * n, &T, n * n, &V));
  for (PetscCount p = 0; p < count; p += LANES) {
    for (PetscInt i = 0; i < n * n; i++)
      for (int l = 0; l < LANES; l++) T[i][l] = V[i][l] = 0;
    for (int l = 0; l < LANES; l++) {
      for (PetscInt i = 0; i < n; i++) {
        const PetscCount at = i * count + PetscMin(p + l, count - 1), before = at - count;

        T[i * n + i][l] = 1 / a[at] + (i ? b[before] / a[before] : 0);
        if (i) T[i * n + i - 1][l] = T[(i - 1) * n + i][l] = PetscSqrtReal(b[before]) / a[before];
      }
    }
    LaneJacobi(n, T, V);
    for (PetscCount l = 0; l < LANES && p + l < count; l++) {
      PetscReal *lo = &bound[2 * (p + l)], *hi = lo + 1;

      *lo = *hi = T[0][l];
      for (PetscInt i = 1; i < n; i++) {
        *lo = PetscMin(*lo, T[i * n + i][l]);
        *hi = PetscMax(*hi, T[i * n + i][l]);
      }
      *lo = PetscMax(*lo, 1e-12 * *hi);
    }
  }
  PetscCall(PetscFree2(T, V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt PatchFDHostFitRuleSteps(const PatchFDFitRule *rule, const PetscReal bound[2])
{
  const PetscReal slack = 1e-9, condition = PetscMax(bound[1] / bound[0], 1.001), factor = acosh((condition + 1) / (condition - 1));
  const PetscReal steps = PetscCeilReal(acosh(1 / rule->reduction) / factor - slack);

  return (PetscInt)PetscMin((PetscReal)rule->maxsteps, PetscMax(1, steps));
}

/* Chebyshev's iteration on [lo, 1.02 hi], since the largest eigenvalue is underestimated */
void PatchFDHostFitRuleCoefficients(const PatchFDFitRule *rule, PetscInt steps, const PetscReal bound[2], PetscCount stride, PetscReal coef[])
{
  const PetscReal lo = bound[0], hi = 1.02 * bound[1], theta = (hi + lo) / 2, delta = PetscMax((hi - lo) / 2, 1e-3 * hi), sigma = theta / delta;
  PetscReal       rho = 1 / sigma;

  coef[0] = 0;
  coef[1] = 1 / theta;
  if (steps == 1) coef[1] = bound[1] <= rule->stable ? 1 : 2 / (bound[0] + bound[1]);
  for (PetscInt i = 1; i < steps; i++) {
    const PetscReal next = 1 / (2 * sigma - rho);

    coef += stride;
    coef[0] = next * rho;
    coef[1] = 2 * next / delta;
    rho     = next;
  }
}

/* to[i] = from[order[i]], groups of m numbers of some size */
static PetscErrorCode Permute(PetscCount count, const PetscCount order[], size_t bytes, void *numbers)
{
  char *copy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)count * bytes, &copy));
  PetscCall(PetscMemcpy(copy, numbers, (size_t)count * bytes));
  for (PetscCount i = 0; i < count; i++) PetscCall(PetscMemcpy((char *)numbers + (size_t)i * bytes, copy + (size_t)order[i] * bytes, bytes));
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* order[]: the patches by colour and steps, 1 to `most`, otherwise as they were; the groups that are not empty */
static PetscErrorCode MakeGroups(PetscInt most, const char steps[], PatchFDFit *fit, PetscCount order[])
{
  const PetscInt    ngroup = fit->ngroup;
  const PetscCount *from   = fit->group;
  PetscCount       *group, at = 0;
  PetscInt         *color, *of;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(ngroup * most + 1, &group, ngroup * most, &color, ngroup * most, &of));
  fit->ngroup = 0;
  for (PetscInt i = 0, next; i < ngroup; i = next) {
    for (next = i + 1; next < ngroup && fit->color[next] == fit->color[i];) next++;
    for (PetscInt m = 1; m <= most; m++) {
      const PetscCount begin = at;

      for (PetscCount p = from[i]; p < from[next]; p++)
        if (steps[p] == m) order[at++] = p;
      if (at == begin) continue;
      group[fit->ngroup] = begin;
      color[fit->ngroup] = fit->color[i];
      of[fit->ngroup++]  = m;
    }
  }
  group[fit->ngroup] = at;
  PetscCall(PetscFree3(fit->group, fit->color, fit->steps));
  fit->group = group;
  fit->color = color;
  fit->steps = of;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* new groups of patches with these numbers of steps; order[]: where each was before */
static PetscErrorCode Regroup(PetscInt most, const char steps[], PatchFDFit *fit, PetscCount order[])
{
  PetscFunctionBegin;
  PetscCall(MakeGroups(most, steps, fit, order));
  PetscCall(Permute(fit->npatch, order, 3 * sizeof(*fit->cell), fit->cell));
  PetscCall(Permute(fit->npatch, order, 3 * sizeof(*fit->first), fit->first));
  PetscCall(Permute(fit->npatch, order, 3 * sizeof(*fit->n), fit->n));
  PetscCall(Permute(fit->npatch, order, sizeof(*fit->number), fit->number));
  PetscCall(Permute(fit->npatch, order, 3 * sizeof(*fit->record), fit->record));
  PetscCall(PetscFree2(fit->coefat, fit->compact));
  PetscCall(PetscFree(fit->coef));
  PetscCall(FitAllocateSteps(fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFitSetClose(const char close[], PatchFDFit *fit)
{
  PetscCount *order;
  char       *steps;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(fit->npatch, &order, fit->npatch, &steps));
  for (PetscCount p = 0; p < fit->npatch; p++) steps[p] = close[p] ? 1 : 2;
  PetscCall(Regroup(2, steps, fit, order));
  PetscCall(PetscArrayzero(fit->coef, fit->coefat[fit->ngroup]));
  for (PetscInt i = 0; i < fit->ngroup; i++) SetOneStep(fit, i);
  PetscCall(PetscFree2(order, steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFitSetSteps(const PatchFDFitRule *rule, const PetscReal bound[], PatchFDFit *fit)
{
  const PetscReal none[2] = {1, 1}; /* of patches that are close: one step with the factor 1 */
  PetscCount     *order;
  char           *steps;
  PetscBool      *close;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(fit->npatch, &order, fit->npatch, &steps, fit->npatch, &close));
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    for (PetscCount p = fit->group[i]; p < fit->group[i + 1]; p++) {
      close[p] = (PetscBool)(fit->steps[i] == 1);
      steps[p] = (char)(close[p] ? 1 : PatchFDHostFitRuleSteps(rule, bound + 2 * p));
    }
  }
  PetscCall(Regroup(rule->maxsteps, steps, fit, order));
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    const PetscCount count = fit->group[i + 1] - fit->group[i];

    for (PetscCount p = 0; p < count; p++) {
      const PetscCount was = order[fit->group[i] + p];

      PatchFDHostFitRuleCoefficients(rule, fit->steps[i], close[was] ? none : bound + 2 * was, 2 * count, fit->coef + fit->coefat[i] + 2 * p);
    }
  }
  PetscCall(PetscFree3(order, steps, close));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDHostFitCount(const PatchFDFit *fit, const PatchFDRange cells, PetscInt64 count[PATCHFD_FIT_MAX_STEPS + 1])
{
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    for (PetscCount p = fit->group[i]; p < fit->group[i + 1]; p++) {
      PetscBool in = PETSC_TRUE;

      for (int d = 0; d < 3; d++) in = (PetscBool)(in && fit->cell[3 * p + d] >= cells[d][0] && fit->cell[3 * p + d] < cells[d][1]);
      count[fit->steps[i]] += in;
    }
  }
}

/* ---- cells of groups ---- */

/* index[nodes of a cell]: the places of its nodes among the unknowns of patch p, or -1 */
static void CellIndex(const PatchFDFit *fit, PetscCount p, const PetscInt cell[3], PetscInt degree, PetscInt index[])
{
  const PetscInt *n = fit->n + 3 * p, *first = fit->first + 3 * p, nz = fit->dim == 3 ? degree + 1 : 1;

  for (PetscInt k = 0; k < nz; k++) {
    for (PetscInt j = 0; j <= degree; j++) {
      for (PetscInt i = 0; i <= degree; i++) {
        const PetscInt at[3] = {cell[0] * degree + i - first[0], cell[1] * degree + j - first[1], fit->dim == 3 ? cell[2] * degree + k - first[2] : 0};
        PetscBool      in    = PETSC_TRUE;

        for (int d = 0; d < 3; d++) in = (PetscBool)(in && at[d] >= 0 && at[d] < n[d]);
        *index++ = in ? (PetscInt)fit->compact[p] + (at[2] * n[1] + at[1]) * n[0] + at[0] : -1;
      }
    }
  }
}

PetscErrorCode PatchFDHostFitCells(const PatchFDFit *fit, PetscInt group, PetscCount *nnodes, PetscCount *ncells, PetscCount **cells, PetscInt **index)
{
  const PetscCount npatch = fit->group[group + 1] - fit->group[group], last = fit->group[group + 1] - 1;
  const PetscInt   dim = fit->dim, nodes = PetscPowInt(fit->degree + 1, dim);

  PetscFunctionBegin;
  *nnodes = fit->compact[last] + (PetscCount)fit->n[3 * last] * fit->n[3 * last + 1] * fit->n[3 * last + 2];
  *ncells = 0;
  PetscCall(PetscMalloc2(npatch * (dim == 3 ? 8 : 4), cells, npatch * (dim == 3 ? 8 : 4) * nodes, index));
  for (PetscCount p = fit->group[group]; p <= last; p++) {
    PetscInt n[3];

    PatchCells(fit, p, n);
    for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
      const PetscInt offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]}, *low = fit->cell + 3 * p, cell[3] = {low[0] + offset[0], low[1] + offset[1], low[2] + offset[2]};

      (*cells)[*ncells] = CellNumber(fit, p, offset);
      CellIndex(fit, p, cell, fit->degree, *index + *ncells * nodes);
      (*ncells)++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
