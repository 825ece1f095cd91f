/* Fits of local solvers to each patch (patchfd/private/fit.h): which patches there are, how many steps they take, and their groups.  The
   numbers are in fitnumbers.c */
#include "lanes.h"
#include <patchfd/private/fit.h>

typedef PatchFDFitKind Kind;

/* the kinds of a direction: patches in the middle and at the ends */
static PetscInt FindKind(const PatchFDFitMesh *mesh, int d, PetscInt patch, PetscInt *nkind, Kind kinds[])
{
  const PatchFDPatches *p    = mesh->dir[d];
  const PetscBool       real = (PetscBool)(d < mesh->dim);
  const Kind            kind = {.ncells = PetscMin(PATCHFD_FIT_MAX_CELLS, mesh->ncells[d] - p->cell[patch]),
                                .n      = p->n[patch],
                                .lower  = real ? p->first[patch] - p->cell[patch] * mesh->degree : 0};
  PetscInt              i    = 0;

  while (i < *nkind && (kinds[i].ncells != kind.ncells || kinds[i].n != kind.n || kinds[i].lower != kind.lower)) i++;
  kinds[i] = kind;
  *nkind   = PetscMax(*nkind, i + 1);
  return i;
}

/* ---- create ---- */

static PetscInt ColorOf(const PatchFDFitMesh *mesh, int d, PetscInt cell)
{
  const PetscInt i = mesh->turn[d] ? cell % mesh->turn[d] : cell, first = mesh->turn[d] - mesh->singles[d];

  return mesh->singles[d] && i >= first ? 2 + i - first : i % 2;
}

/* patches of all directions, and their kinds; the patches in compact arrays have room for the largest one */
static PetscErrorCode LinesCreate(const PatchFDFitMesh *mesh, PatchFDFit *fit)
{
  PetscFunctionBegin;
  fit->volume = fit->ncolor = 1;
  for (int d = 0; d < 3; d++) {
    PetscInt longest = 0;

    PetscCall(PetscMalloc1(fit->grid[d], &fit->line[d]));
    for (PetscInt i = 0; i < fit->grid[d]; i++) {
      const PetscInt patch = mesh->patches[d][0] + i, cell = mesh->dir[d]->cell[patch],
                     kind = FindKind(mesh, d, patch, &fit->nkind[d], fit->kind[d]);

      fit->line[d][i] = (PatchFDFitLine){cell, mesh->dir[d]->first[patch], kind, fit->ncolor * ColorOf(mesh, d, cell)};
      longest         = PetscMax(longest, fit->kind[d][kind].n);
    }
    fit->volume *= longest;
    fit->ncolor *= mesh->ncolor[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* room for the records of patches of every kind */
static PetscCount RecordStride(const PatchFDFit *fit)
{
  PetscCount largest = 0;

  for (PetscInt d = 0; d < fit->dim; d++)
    for (PetscInt i = 0; i < fit->nkind[d]; i++) largest = PetscMax(largest, PatchFDFitRecordSize(fit->kind[d][i].n));
  return fit->dim * largest;
}

PetscErrorCode PatchFDHostFitCreate(const PatchFDFitMesh *mesh, PetscBool shared, const PatchFDBox *box, PatchFDFit *fit)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(fit, sizeof(*fit)));
  fit->dim    = mesh->dim;
  fit->degree = mesh->degree;
  fit->shared = shared;
  fit->box    = *box;
  fit->npatch = 1;
  for (int d = 0; d < 3; d++) {
    fit->grid[d] = mesh->patches[d][1] - mesh->patches[d][0];
    fit->npatch *= fit->grid[d];
    fit->cells[d][0] = mesh->cells[d][0];
    fit->cells[d][1] = mesh->cells[d][1];
  }
  PetscCall(LinesCreate(mesh, fit));
  PetscCall(PatchFDHostFitConstants(fit));
  fit->stride  = shared ? 0 : RecordStride(fit);
  fit->nrecord = fit->nconstant + fit->npatch * fit->stride;
  PetscCall(PetscMalloc1(fit->npatch, &fit->take));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GroupsDestroy(PatchFDFit *fit)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(fit->group, fit->color, fit->steps, fit->runs));
  PetscCall(PetscFree(fit->coefat));
  PetscCall(PetscFree(fit->run));
  PetscCall(PetscFree(fit->number));
  PetscCall(PetscFree(fit->coef));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFitDestroy(PatchFDFit *fit)
{
  PetscFunctionBegin;
  PetscCall(GroupsDestroy(fit));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(fit->line[d]));
  PetscCall(PetscFree(fit->take));
  PetscCall(PetscFree(fit->bound));
  PetscCall(PetscFree(fit->constants));
  PetscCall(PetscMemzero(fit, sizeof(*fit)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- groups ---- */

/* the runs of a group, from the bins of all kinds, and where they begin */
static void SetRuns(PatchFDFit *fit, PetscCount bin[], PetscInt *nrun, PetscCount *at)
{
  PetscInt kind[3];

  for (kind[2] = 0; kind[2] < fit->nkind[2]; kind[2]++) {
    for (kind[1] = 0; kind[1] < fit->nkind[1]; kind[1]++) {
      for (kind[0] = 0; kind[0] < fit->nkind[0]; kind[0]++, bin++) {
        PatchFDFitRun run = {.first = *at, .count = *bin};

        for (int d = 0; d < 3; d++) {
          run.kind[d] = kind[d];
          run.n[d]    = fit->kind[d][kind[d]].n;
        }
        *bin = *at;
        *at += run.count;
        if (run.count) fit->run[(*nrun)++] = run;
      }
    }
  }
}

PetscErrorCode PatchFDHostFitSetGroups(PatchFDFit *fit, PetscCount bin[])
{
  const PetscInt most = fit->ncolor * (PATCHFD_FIT_MAX_STEPS + 1), nkind = fit->nkind[0] * fit->nkind[1] * fit->nkind[2];
  PetscCount     at = 0, coef = 0;
  PetscInt       nrun = 0;

  PetscFunctionBegin;
  PetscCall(GroupsDestroy(fit));
  PetscCall(PetscMalloc4(most + 1, &fit->group, most, &fit->color, most, &fit->steps, most + 1, &fit->runs));
  PetscCall(PetscMalloc1(most + 1, &fit->coefat));
  PetscCall(PetscMalloc1(most * nkind, &fit->run));
  fit->ngroup   = 0;
  fit->maxsteps = 1;
  fit->group[0] = fit->coefat[0] = fit->runs[0] = 0;
  for (PetscInt i = 0; i < most; i++) {
    const PetscInt   steps = i % (PATCHFD_FIT_MAX_STEPS + 1);
    const PetscCount first = at;

    SetRuns(fit, bin + i * nkind, &nrun, &at);
    if (at == first) continue;
    coef += 2 * steps * (at - first);
    fit->color[fit->ngroup]   = i / (PATCHFD_FIT_MAX_STEPS + 1);
    fit->steps[fit->ngroup++] = steps;
    fit->group[fit->ngroup]   = at;
    fit->runs[fit->ngroup]    = nrun;
    fit->coefat[fit->ngroup]  = coef;
    fit->maxsteps             = PetscMax(fit->maxsteps, steps);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Goes through all patches by number: counts those of each bin, or puts them where bin[] says, which goes on */
static void SortPatches(const PatchFDFit *fit, PetscBool put, PetscCount bin[])
{
  PetscInt number = 0;

  for (PetscInt k = 0; k < fit->grid[2]; k++) {
    for (PetscInt j = 0; j < fit->grid[1]; j++) {
      for (PetscInt i = 0; i < fit->grid[0]; i++, number++) {
        const PatchFDFitLine *line[3] = {&fit->line[0][i], &fit->line[1][j], &fit->line[2][k]};
        const PetscInt   kind[3] = {line[0]->kind, line[1]->kind, line[2]->kind}, color = line[0]->color + line[1]->color + line[2]->color;
        const PetscCount at = bin[PatchFDFitBin(fit->nkind, color, fit->take[number], kind)]++;

        if (put) fit->number[at] = number;
      }
    }
  }
}

/* the coefficients of all groups */
static void SetCoefficients(const PatchFDFitRule *rule, PatchFDFit *fit)
{
  const PetscReal one[2] = {1, 1}; /* of patches that are close: one step with the factor 1 */

  for (PetscInt i = 0; i < fit->ngroup; i++) {
    const PetscCount count = PatchFDFitCount(fit, i);

    for (PetscCount p = 0; p < count && fit->steps[i]; p++)
      PatchFDFitRuleCoefficients(rule, fit->steps[i], fit->bound ? fit->bound + 2 * fit->number[fit->group[i] + p] : one, 2 * count,
                                 fit->coef + fit->coefat[i] + 2 * p);
  }
}

PetscErrorCode PatchFDHostFitSort(const PatchFDFitRule *rule, PatchFDFit *fit)
{
  PetscCount *bin;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(PatchFDHostFitBins(fit), &bin));
  SortPatches(fit, PETSC_FALSE, bin);
  PetscCall(PatchFDHostFitSetGroups(fit, bin));
  PetscCall(PetscMalloc1(fit->npatch, &fit->number));
  SortPatches(fit, PETSC_TRUE, bin);
  PetscCall(PetscFree(bin));
  PetscCall(PetscMalloc1(fit->coefat[fit->ngroup], &fit->coef));
  SetCoefficients(rule, fit);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rule ---- */

/*
  Lanczos' tridiagonal matrix of conjugate gradients: 1 / a_i + b_{i-1} / a_{i-1} on the diagonal and sqrt(b_{i-1}) / a_{i-1} beside it.
  Where the iteration has ended a = 1 and b = 0,
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

PetscErrorCode PatchFDHostFitSetSteps(const PatchFDFitRule *rule, PetscInt group, PetscInt n, const PetscReal a[], const PetscReal b[],
                                      PatchFDFit *fit)
{
  const PetscCount count  = PatchFDFitCount(fit, group);
  const PetscInt  *number = fit->number + fit->group[group];
  PetscReal       *bound;

  PetscFunctionBegin;
  if (!fit->bound) {
    PetscCall(PetscMalloc1(2 * fit->npatch, &fit->bound));
    for (PetscCount i = 0; i < 2 * fit->npatch; i++) fit->bound[i] = 1;
  }
  PetscCall(PetscMalloc1(2 * count, &bound));
  PetscCall(PatchFDHostFitBounds(count, n, a, b, bound));
  for (PetscCount p = 0; p < count; p++) {
    PetscCall(PetscArraycpy(fit->bound + 2 * number[p], bound + 2 * p, 2));
    fit->take[number[p]] = (char)(bound[2 * p + 1] > rule->exact * bound[2 * p] ? 0 : PatchFDFitRuleSteps(rule, bound + 2 * p));
  }
  PetscCall(PetscFree(bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDHostFitCount(const PatchFDFit *fit, const PatchFDRange cells, PetscInt64 count[PATCHFD_FIT_MAX_STEPS + 1])
{
  for (PetscInt number = 0; number < fit->npatch; number++) {
    PetscBool in = PETSC_TRUE;

    for (int d = 0; d < 3; d++) {
      const PetscInt cell = PatchFDFitLineOf(fit, number, d)->cell;

      in = (PetscBool)(in && cell >= cells[d][0] && cell < cells[d][1]);
    }
    count[(int)fit->take[number]] += in;
  }
}

/* ---- cells of groups ---- */

/* index[nodes of a cell]: the places of its nodes among the unknowns of a patch with `n` of them from node `first` on, counted from
   `compact`, or -1 */
static void CellIndex(const PetscInt n[3], const PetscInt first[3], const PetscInt cell[3], PetscInt dim, PetscInt degree,
                      PetscCount compact, PetscInt index[])
{
  const PetscInt nz = dim == 3 ? degree + 1 : 1;

  for (PetscInt k = 0; k < nz; k++) {
    for (PetscInt j = 0; j <= degree; j++) {
      for (PetscInt i = 0; i <= degree; i++) {
        const PetscInt at[3] = {cell[0] * degree + i - first[0], cell[1] * degree + j - first[1],
                                dim == 3 ? cell[2] * degree + k - first[2] : 0};
        PetscBool      in    = PETSC_TRUE;

        for (int d = 0; d < 3; d++) in = (PetscBool)(in && at[d] >= 0 && at[d] < n[d]);
        *index++ = in ? (PetscInt)compact + (at[2] * n[1] + at[1]) * n[0] + at[0] : -1;
      }
    }
  }
}

/* those of the patch at place p */
static void PatchCells(const PatchFDFit *fit, const PatchFDFitRun *run, PetscCount p, PetscCount compact, PetscCount *ncells,
                       PetscCount cells[], PetscInt index[])
{
  const PetscInt nodes = PetscPowInt(fit->degree + 1, fit->dim);
  PetscInt       n[3], low[3], first[3];

  for (int d = 0; d < 3; d++) {
    const PatchFDFitLine *line = PatchFDFitLineOf(fit, fit->number[p], d);

    n[d]     = fit->kind[d][run->kind[d]].ncells;
    low[d]   = line->cell;
    first[d] = line->first;
  }
  for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
    const PetscInt offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]},
                   cell[3]   = {low[0] + offset[0], low[1] + offset[1], low[2] + offset[2]};

    cells[*ncells] = PatchFDFitCellNumber(fit, low, offset);
    CellIndex(run->n, first, cell, fit->dim, fit->degree, compact, index + (*ncells)++ * nodes);
  }
}

PetscErrorCode PatchFDHostFitCells(const PatchFDFit *fit, PetscInt group, PetscCount *nnodes, PetscCount *ncells, PetscCount **cells,
                                   PetscInt **index)
{
  const PetscCount npatch = PatchFDFitCount(fit, group), room = npatch << fit->dim;

  PetscFunctionBegin;
  *nnodes = npatch * fit->volume;
  *ncells = 0;
  PetscCall(PetscMalloc2(room, cells, room * PetscPowInt(fit->degree + 1, fit->dim), index));
  for (PetscInt i = fit->runs[group]; i < fit->runs[group + 1]; i++) {
    const PatchFDFitRun *run = &fit->run[i];

    for (PetscCount p = run->first; p < run->first + run->count; p++)
      PatchCells(fit, run, p, (p - fit->group[group]) * fit->volume, ncells, *cells, *index);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
