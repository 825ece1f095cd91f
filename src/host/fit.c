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

/* What patches of a direction can be like: cells and unknowns; lower is 1 if the unknowns begin behind the first node */
typedef struct {
  PetscInt ncells, n, lower;
} Kind;

/* The means of the logarithms in all cells: mean[cell][a][b][point of direction b], and of |J| s */
typedef struct {
  PetscInt   dim, q;
  PetscReal *log, *shift;
} CellMeans;

/* ---- means ---- */

static PetscErrorCode CellMeansCreate(const PatchFDFitMesh *mesh, CellMeans *c)
{
  const PatchFDPoints *points = mesh->points;
  const PetscInt       dim = points->dim, diagonal[2][3] = {{0, 2, 0}, {0, 3, 5}};
  PatchFDGeometry      g;
  PetscReal           *factor;

  PetscFunctionBegin;
  PetscCall(PatchFDGeometryCreate(points, &g));
  c->dim = dim;
  c->q   = g.rule.points;
  PetscCall(PetscCalloc2(points->ncells * dim * dim * c->q, &c->log, points->ncells, &c->shift));
  PetscCall(PetscMalloc1(g.npoint * g.nfactor, &factor));
  for (PetscCount cell = 0; cell < points->ncells; cell++) {
    PetscReal *mean = c->log + cell * dim * dim * c->q;

    PetscCall(PatchFDGeometryCell(&g, cell, factor));
    for (PetscInt i = 0; i < g.npoint; i++) {
      const PetscReal *f      = factor + i * g.nfactor, *w = g.rule.w;
      const PetscInt   at[3]  = {i % c->q, i / c->q % c->q, i / c->q / c->q};
      const PetscReal  weight = w[at[0]] * w[at[1]] * (dim == 3 ? w[at[2]] : 1);

      for (PetscInt a = 0; a < dim && points->nkappa; a++) {
        const PetscReal v = PetscLogReal(f[diagonal[dim - 2][a]] / weight);

        for (PetscInt b = 0; b < dim; b++) mean[(a * dim + b) * c->q + at[b]] += weight / w[at[b]] * v;
      }
      if (points->shift) c->shift[cell] += f[g.nfactor - 1];
    }
  }
  PetscCall(PetscFree(factor));
  PetscCall(PatchFDGeometryDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellMeansDestroy(CellMeans *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(c->log, c->shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the means over a patch: log[a][b][cell of direction b][point], log of g_a, and g_3 */
typedef struct {
  PetscReal log[3][3][MAX_CELLS * PATCHFD_FIT_MAX_POINTS], total[3], shift;
} PatchMeans;

static void PatchMeansGet(const PatchFDFitMesh *mesh, const CellMeans *c, const PetscReal w[], const PetscInt cell[3], PatchMeans *m)
{
  const PetscInt dim = c->dim, q = c->q;
  PetscInt       n[3], count = 1;

  PetscCallAbort(PETSC_COMM_SELF, PetscMemzero(m, sizeof(*m)));
  for (int d = 0; d < 3; d++) {
    n[d] = PetscMin(MAX_CELLS, mesh->ncells[d] - cell[d]);
    count *= n[d];
  }
  for (PetscInt o = 0; o < count; o++) {
    const PetscInt   offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]};
    PetscCount       number    = 0;
    const PetscReal *mean;

    for (int d = 2; d >= 0; d--) number = number * (mesh->cells[d][1] - mesh->cells[d][0]) + cell[d] + offset[d] - mesh->cells[d][0];
    mean = c->log + number * dim * dim * q;
    m->shift += c->shift[number] / (PetscReal)count;
    for (PetscInt a = 0; a < dim; a++)
      for (PetscInt b = 0; b < dim; b++)
        for (PetscInt i = 0; i < q; i++) m->log[a][b][offset[b] * q + i] += mean[(a * dim + b) * q + i] * (PetscReal)n[b] / (PetscReal)count;
  }
  for (PetscInt a = 0; a < dim; a++)
    for (PetscInt i = 0; i < n[0] * q; i++) m->total[a] += w[i % q] * m->log[a][0][i] / (PetscReal)n[0];
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

static PetscErrorCode WorkshopCreate(const PatchFDPoints *points, Workshop *w)
{
  const PetscInt size = PetscSqr(2 * points->degree + 1);

  PetscFunctionBegin;
  PetscCall(PatchFDRuleCreate(points->degree, points->gauss, &w->rule));
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
  const PetscBool       real = (PetscBool)(d < mesh->points->dim);
  const Kind            kind = {PetscMin(MAX_CELLS, mesh->ncells[d] - p->cell[patch]), p->n[patch], real ? p->first[patch] - p->cell[patch] * mesh->degree : 0};
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

enum {
  MAX_KINDS = 4
};

/* numbers of all patches, x fastest, with their kinds of all directions */
typedef struct {
  PetscInt nkind[3];
  Kind     kind[3][MAX_KINDS];
  PetscInt *of[3]; /* [patches of direction d] */
} Kinds;

static PetscErrorCode KindsCreate(const PatchFDFitMesh *mesh, Kinds *k)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    k->nkind[d] = 0;
    PetscCall(PetscMalloc1(mesh->patches[d][1] - mesh->patches[d][0], &k->of[d]));
    for (PetscInt i = mesh->patches[d][0]; i < mesh->patches[d][1]; i++) k->of[d][i - mesh->patches[d][0]] = FindKind(mesh, d, i, &k->nkind[d], k->kind[d]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KindsDestroy(Kinds *k)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(k->of[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt ColorOf(const PatchFDFitMesh *mesh, const PetscInt cell[3])
{
  PetscInt c = 0;

  while (mesh->color[c].parity[0] != cell[0] % 2 || mesh->color[c].parity[1] != cell[1] % 2 || mesh->color[c].parity[2] != cell[2] % 2) c++;
  return c;
}

/* all patches, sorted by colour, then by kind, then x fastest; kind[patch][3] */
static PetscErrorCode ListPatches(const PatchFDFitMesh *mesh, const Kinds *kinds, PatchFDFit *fit, PetscInt kind[])
{
  const PetscInt nkind = kinds->nkind[0] * kinds->nkind[1] * kinds->nkind[2];
  PetscCount     at    = 0;
  PetscInt       i[3];

  PetscFunctionBegin;
  for (PetscInt color = 0; color < mesh->ncolor; color++) {
    fit->group[color] = at;
    for (PetscInt wanted = 0; wanted < nkind; wanted++) {
      for (i[2] = mesh->patches[2][0]; i[2] < mesh->patches[2][1]; i[2]++) {
        for (i[1] = mesh->patches[1][0]; i[1] < mesh->patches[1][1]; i[1]++) {
          for (i[0] = mesh->patches[0][0]; i[0] < mesh->patches[0][1]; i[0]++) {
            PetscInt of[3], cell[3];

            for (int d = 0; d < 3; d++) {
              of[d]   = kinds->of[d][i[d] - mesh->patches[d][0]];
              cell[d] = mesh->dir[d]->cell[i[d]];
            }
            if (of[0] + kinds->nkind[0] * (of[1] + kinds->nkind[1] * of[2]) != wanted || ColorOf(mesh, cell) != color) continue;
            for (int d = 0; d < 3; d++) {
              kind[3 * at + d]       = of[d];
              fit->cell[3 * at + d]  = cell[d];
              fit->first[3 * at + d] = mesh->dir[d]->first[i[d]];
              fit->n[3 * at + d]     = mesh->dir[d]->n[i[d]];
            }
            at++;
          }
        }
      }
    }
  }
  fit->group[mesh->ncolor] = at;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the records of constants, for each kind of each direction, one after another; place[d][kind] */
static PetscErrorCode SharedRecords(Workshop *w, const PatchFDFitMesh *mesh, const Kinds *kinds, PetscCount place[3][MAX_KINDS], PetscCount *size, PetscReal **records)
{
  PetscFunctionBegin;
  *size = 0;
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < kinds->nkind[d]; i++) {
      place[d][i] = *size;
      *size += RecordSize(kinds->kind[d][i].n);
    }
  }
  PetscCall(PetscMalloc1(*size, records));
  for (PetscInt i = 0; i < MAX_CELLS * w->rule.points; i++)
    for (int l = 0; l < LANES; l++) w->weight[0][i][l] = w->weight[1][i][l] = 1;
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < kinds->nkind[d]; i++) {
      PetscReal *record[LANES];

      for (int l = 0; l < LANES; l++) record[l] = *records + place[d][i];
      if (d < mesh->points->dim) MakeRecords(w, &kinds->kind[d][i], NULL, record);
      else PointRecord(record[0]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the records of patches p .. p + count - 1, all of one kind; guess[d] is that of constants, and what directions without an extent have */
static PetscErrorCode OwnRecords(Workshop *w, const PatchFDFitMesh *mesh, const CellMeans *c, const Kinds *kinds, const PetscInt kind[], const PetscCount place[3][MAX_KINDS], PetscCount p, PetscInt count, PatchFDFit *fit)
{
  const PetscInt dim = c->dim;
  PatchMeans     m[LANES];

  PetscFunctionBegin;
  for (PetscInt l = 0; l < count; l++) {
    PatchMeansGet(mesh, c, w->rule.w, fit->cell + 3 * (p + l), &m[l]);
    fit->g[4 * (p + l) + 3] = m[l].shift;
    for (int d = 0; d < 3; d++) fit->g[4 * (p + l) + d] = 1;
  }
  for (PetscInt b = 0; b < dim; b++) {
    const Kind *k = &kinds->kind[b][kind[b]];
    PetscReal  *record[LANES];

    for (PetscInt l = 0; l < LANES; l++) record[l] = fit->records + fit->record[3 * (p + PetscMin(l, count - 1)) + b];
    for (PetscInt i = 0; i < k->ncells * c->q; i++) {
      for (PetscInt l = 0; l < LANES; l++) {
        const PatchMeans *of  = &m[PetscMin(l, count - 1)];
        PetscReal         sum = 0;

        for (PetscInt a = 0; a < dim; a++)
          if (a != b) sum += of->log[a][b][i] - of->total[a];
        w->weight[0][i][l] = mesh->points->nkappa ? PetscExpReal(of->log[b][b][i]) : 0;
        w->weight[1][i][l] = PetscExpReal(sum / (PetscReal)(dim - 1));
      }
    }
    MakeRecords(w, k, fit->records + place[b][kind[b]], record);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* behind those of constants come the records of all patches */
static PetscErrorCode FitOwn(Workshop *w, const PatchFDFitMesh *mesh, const CellMeans *c, const Kinds *kinds, const PetscInt kind[], const PetscCount place[3][MAX_KINDS], PatchFDFit *fit)
{
  const PetscInt dim = c->dim;
  PetscCount     at  = fit->nrecord, count;

  PetscFunctionBegin;
  for (PetscCount p = 0; p < fit->npatch; p++) {
    for (int d = 0; d < 3; d++) {
      fit->record[3 * p + d] = d < dim ? at : place[d][kind[3 * p + d]];
      if (d < dim) at += RecordSize(fit->n[3 * p + d]);
    }
  }
  fit->nrecord = at;
  PetscCall(PetscRealloc(at * sizeof(*fit->records), &fit->records));
  for (PetscCount p = 0; p < fit->npatch; p += count) {
    PetscBool same = PETSC_TRUE;

    for (count = 1; count < LANES && p + count < fit->npatch && same; count += same)
      for (int d = 0; d < 3; d++) same = (PetscBool)(same && kind[3 * (p + count) + d] == kind[3 * p + d]);
    PetscCall(OwnRecords(w, mesh, c, kinds, kind + 3 * p, place, p, (PetscInt)count, fit));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitShared(Workshop *w, const PatchFDFitMesh *mesh, const CellMeans *c, const PetscInt kind[], const PetscCount place[3][MAX_KINDS], PatchFDFit *fit)
{
  PetscFunctionBegin;
  for (PetscCount p = 0; p < fit->npatch; p++) {
    PatchMeans m;

    PatchMeansGet(mesh, c, w->rule.w, fit->cell + 3 * p, &m);
    for (int d = 0; d < 3; d++) {
      fit->record[3 * p + d] = place[d][kind[3 * p + d]];
      fit->g[4 * p + d]      = d < c->dim && mesh->points->nkappa ? PetscExpReal(m.total[d]) : 0;
    }
    fit->g[4 * p + 3] = m.shift;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
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

PetscErrorCode PatchFDHostFitCreate(const PatchFDFitMesh *mesh, PetscBool shared, const PatchFDBox *box, PatchFDFit *fit)
{
  CellMeans  means;
  Kinds      kinds;
  Workshop   w;
  PetscCount place[3][MAX_KINDS];
  PetscInt  *kind;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(fit, sizeof(*fit)));
  fit->dim    = mesh->points->dim;
  fit->degree = mesh->degree;
  fit->box    = *box;
  fit->npatch = 1;
  for (int d = 0; d < 3; d++) fit->npatch *= mesh->patches[d][1] - mesh->patches[d][0];
  fit->ngroup = mesh->ncolor;
  PetscCall(PetscMalloc5(3 * fit->npatch, &fit->cell, 3 * fit->npatch, &fit->first, 3 * fit->npatch, &fit->n, 3 * fit->npatch, &fit->record, 4 * fit->npatch, &fit->g));
  PetscCall(PetscMalloc3(fit->ngroup + 1, &fit->group, fit->ngroup, &fit->color, fit->ngroup, &fit->steps));
  PetscCall(PetscMalloc1(3 * fit->npatch, &kind));
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    fit->color[i] = i;
    fit->steps[i] = 1;
  }
  PetscCall(KindsCreate(mesh, &kinds));
  PetscCall(ListPatches(mesh, &kinds, fit, kind));
  PetscCall(WorkshopCreate(mesh->points, &w));
  PetscCall(CellMeansCreate(mesh, &means));
  PetscCall(SharedRecords(&w, mesh, &kinds, place, &fit->nrecord, &fit->records));
  if (shared) PetscCall(FitShared(&w, mesh, &means, kind, (const PetscCount(*)[MAX_KINDS])place, fit));
  else PetscCall(FitOwn(&w, mesh, &means, &kinds, kind, (const PetscCount(*)[MAX_KINDS])place, fit));
  PetscCall(CellMeansDestroy(&means));
  PetscCall(WorkshopDestroy(&w));
  PetscCall(KindsDestroy(&kinds));
  PetscCall(PetscFree(kind));
  PetscCall(FitAllocateSteps(fit));
  for (PetscCount p = 0; p < fit->npatch; p++) {
    fit->coef[2 * p]     = 0;
    fit->coef[2 * p + 1] = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFitDestroy(PatchFDFit *fit)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(fit->cell, fit->first, fit->n, fit->record, fit->g));
  PetscCall(PetscFree3(fit->group, fit->color, fit->steps));
  PetscCall(PetscFree2(fit->coefat, fit->compact));
  PetscCall(PetscFree(fit->coef));
  PetscCall(PetscFree(fit->records));
  PetscCall(PetscMemzero(fit, sizeof(*fit)));
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

/* order[]: the patches by colour and steps, otherwise as they were; the groups that are not empty */
static PetscErrorCode RuleGroups(const PatchFDFitRule *rule, const PetscInt steps[], PatchFDFit *fit, PetscCount order[])
{
  const PetscInt    ncolor = fit->ngroup;
  const PetscCount *from   = fit->group;
  PetscCount       *group, at = 0;
  PetscInt         *color, *of;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(ncolor * rule->maxsteps + 1, &group, ncolor * rule->maxsteps, &color, ncolor * rule->maxsteps, &of));
  fit->ngroup = 0;
  for (PetscInt c = 0; c < ncolor; c++) {
    for (PetscInt m = 1; m <= rule->maxsteps; m++) {
      const PetscCount begin = at;

      for (PetscCount p = from[c]; p < from[c + 1]; p++)
        if (steps[p] == m) order[at++] = p;
      if (at == begin) continue;
      group[fit->ngroup] = begin;
      color[fit->ngroup] = fit->color[c];
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

PetscErrorCode PatchFDHostFitSetSteps(const PatchFDFitRule *rule, const PetscReal bound[], PatchFDFit *fit)
{
  PetscCount *order;
  PetscInt   *steps;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(fit->npatch, &order, fit->npatch, &steps));
  for (PetscCount p = 0; p < fit->npatch; p++) steps[p] = PatchFDHostFitRuleSteps(rule, bound + 2 * p);
  PetscCall(RuleGroups(rule, steps, fit, order));
  PetscCall(Permute(fit->npatch, order, 3 * sizeof(*fit->cell), fit->cell));
  PetscCall(Permute(fit->npatch, order, 3 * sizeof(*fit->first), fit->first));
  PetscCall(Permute(fit->npatch, order, 3 * sizeof(*fit->n), fit->n));
  PetscCall(Permute(fit->npatch, order, 3 * sizeof(*fit->record), fit->record));
  PetscCall(Permute(fit->npatch, order, 4 * sizeof(*fit->g), fit->g));
  PetscCall(PetscFree2(fit->coefat, fit->compact));
  PetscCall(PetscFree(fit->coef));
  PetscCall(FitAllocateSteps(fit));
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    const PetscCount count = fit->group[i + 1] - fit->group[i];

    for (PetscCount p = 0; p < count; p++) PatchFDHostFitRuleCoefficients(rule, fit->steps[i], bound + 2 * order[fit->group[i] + p], 2 * count, fit->coef + fit->coefat[i] + 2 * p);
  }
  PetscCall(PetscFree2(order, steps));
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

/* out = the groups of `size` numbers of these cells */
static PetscErrorCode PickCells(PetscCount count, const PetscCount cell[], PetscCount size, const PetscReal in[], const PetscReal **out)
{
  PetscReal *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(count * size, &v));
  for (PetscCount i = 0; i < count; i++) PetscCall(PetscArraycpy(v + i * size, in + cell[i] * size, size));
  *out = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFitPoints(const PatchFDFit *fit, PetscInt group, const PatchFDFitMesh *mesh, PatchFDPoints *sub)
{
  const PatchFDPoints *points = mesh->points;
  const PetscCount     npatch = fit->group[group + 1] - fit->group[group], last = fit->group[group + 1] - 1;
  const PetscInt       dim = fit->dim, nodes = PetscPowInt(points->degree + 1, dim), geo = PetscPowInt(points->geodegree + 1, dim);
  const PetscInt       npoint = PetscPowInt(points->degree + (points->gauss ? 2 : 1), dim);
  PetscCount          *cells;
  PetscInt            *index, *geoindex;

  PetscFunctionBegin;
  *sub        = *points;
  sub->nodes  = PATCHFD_NODES_INDEX;
  sub->nnodes = fit->compact[last] + (PetscCount)fit->n[3 * last] * fit->n[3 * last + 1] * fit->n[3 * last + 2];
  sub->ncells = 0;
  PetscCall(PetscMalloc1(npatch * (dim == 3 ? 8 : 4), &cells));
  PetscCall(PetscMalloc1(npatch * (dim == 3 ? 8 : 4) * nodes, &index));
  for (PetscCount p = fit->group[group]; p <= last; p++) {
    const PetscInt *low = fit->cell + 3 * p;
    PetscInt        c[3], end[3];

    for (int d = 0; d < 3; d++) end[d] = PetscMin(mesh->ncells[d], low[d] + MAX_CELLS);
    for (c[2] = low[2]; c[2] < end[2]; c[2]++) {
      for (c[1] = low[1]; c[1] < end[1]; c[1]++) {
        for (c[0] = low[0]; c[0] < end[0]; c[0]++) {
          PetscCount number = 0;

          for (int d = 2; d >= 0; d--) number = number * (mesh->cells[d][1] - mesh->cells[d][0]) + c[d] - mesh->cells[d][0];
          cells[sub->ncells] = number;
          CellIndex(fit, p, c, points->degree, index + sub->ncells++ * nodes);
        }
      }
    }
  }
  PetscCall(PetscMalloc1(sub->ncells * geo, &geoindex));
  for (PetscCount i = 0; i < sub->ncells; i++) PetscCall(PetscArraycpy(geoindex + i * geo, points->geoindex + cells[i] * geo, geo));
  sub->index    = index;
  sub->geoindex = geoindex;
  if (points->nkappa && !points->kappaconstant) PetscCall(PickCells(sub->ncells, cells, npoint * points->nkappa, points->kappa, &sub->kappa));
  if (points->shift && !points->shiftconstant) PetscCall(PickCells(sub->ncells, cells, npoint, points->shift, &sub->shift));
  PetscCall(PetscFree(cells));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFitPointsDestroy(PatchFDPoints *sub)
{
  PetscInt  *index = (PetscInt *)sub->index, *geoindex = (PetscInt *)sub->geoindex;
  PetscReal *kappa = (PetscReal *)sub->kappa, *shift = (PetscReal *)sub->shift;

  PetscFunctionBegin;
  PetscCall(PetscFree(index));
  PetscCall(PetscFree(geoindex));
  if (sub->nkappa && !sub->kappaconstant) PetscCall(PetscFree(kappa));
  if (shift && !sub->shiftconstant) PetscCall(PetscFree(shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}
