/* Fits of local solvers to each patch (patchfd/private/fit.h): which patches there are, how many steps they take, and their groups.  The numbers are in fitnumbers.c */
#include "lanes.h"
#include <patchfd/private/fit.h>

typedef PatchFDFitKind Kind;

/* the kinds of a direction: patches in the middle and at the ends */
static PetscInt FindKind(const PatchFDFitMesh *mesh, int d, PetscInt patch, PetscInt *nkind, Kind kinds[])
{
  const PatchFDPatches *p    = mesh->dir[d];
  const PetscBool       real = (PetscBool)(d < mesh->dim);
  const Kind            kind = {.ncells = PetscMin(PATCHFD_FIT_MAX_CELLS, mesh->ncells[d] - p->cell[patch]), .n = p->n[patch], .lower = real ? p->first[patch] - p->cell[patch] * mesh->degree : 0};
  PetscInt              i    = 0;

  while (i < *nkind && (kinds[i].ncells != kind.ncells || kinds[i].n != kind.n || kinds[i].lower != kind.lower)) i++;
  kinds[i] = kind;
  *nkind   = PetscMax(*nkind, i + 1);
  return i;
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

/* behind those of constants come the records of all patches */
static void PlaceOwnRecords(PatchFDFit *fit)
{
  for (PetscCount p = 0; p < fit->npatch; p++) {
    for (PetscInt d = 0; d < fit->dim; d++) {
      fit->record[3 * p + d] = fit->nrecord;
      fit->nrecord += PatchFDFitRecordSize(fit->n[3 * p + d]);
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
  PetscCall(PetscCalloc3(fit->ngroup + 1, &fit->group, fit->ngroup, &fit->color, fit->ngroup, &fit->steps)); /* without patches there are no kinds, and groups are empty */
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    fit->color[i] = i;
    fit->steps[i] = 1;
  }
  PetscCall(KindsCreate(mesh, fit, of));
  PetscCall(PatchFDHostFitConstants(fit));
  PetscCall(ListPatches(mesh, of, fit));
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

/* order[]: the patches by colour and steps, 0 to `most`, otherwise as they were; the groups that are not empty */
static PetscErrorCode MakeGroups(PetscInt most, const char steps[], PatchFDFit *fit, PetscCount order[])
{
  const PetscInt    ngroup = fit->ngroup;
  const PetscCount *from   = fit->group;
  PetscCount       *group, at = 0;
  PetscInt         *color, *of;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(ngroup * (most + 1) + 1, &group, ngroup * (most + 1), &color, ngroup * (most + 1), &of));
  fit->ngroup = 0;
  for (PetscInt i = 0, next; i < ngroup; i = next) {
    for (next = i + 1; next < ngroup && fit->color[next] == fit->color[i];) next++;
    for (PetscInt m = 0; m <= most; m++) {
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
      close[p] = (PetscBool)(fit->steps[i] == 1 && !PatchFDFitIsExact(rule));
      if (close[p]) steps[p] = 1;
      else steps[p] = (char)(PatchFDFitIsExact(rule) || bound[2 * p + 1] > rule->exact * bound[2 * p] ? 0 : PatchFDHostFitRuleSteps(rule, bound + 2 * p));
    }
  }
  PetscCall(Regroup(rule->maxsteps, steps, fit, order));
  for (PetscInt i = 0; i < fit->ngroup; i++) {
    const PetscCount count = fit->group[i + 1] - fit->group[i];

    for (PetscCount p = 0; p < count && fit->steps[i]; p++) {
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
  *nnodes = PatchFDFitUnknowns(fit, group);
  *ncells = 0;
  PetscCall(PetscMalloc2(npatch * (dim == 3 ? 8 : 4), cells, npatch * (dim == 3 ? 8 : 4) * nodes, index));
  for (PetscCount p = fit->group[group]; p <= last; p++) {
    PetscInt n[3];

    PatchFDFitPatchCells(fit, p, n);
    for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
      const PetscInt offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]}, *low = fit->cell + 3 * p, cell[3] = {low[0] + offset[0], low[1] + offset[1], low[2] + offset[2]};

      (*cells)[*ncells] = PatchFDFitCellNumber(fit, p, offset);
      CellIndex(fit, p, cell, fit->degree, *index + *ncells * nodes);
      (*ncells)++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
