/* Local solvers that are fitted to each patch: set-up of those that are exact, and their corrections without a residual of the whole mesh.  What a batch has is in fitfactor.h */
#pragma once
#include "fit.h"

static void FitLines(const PatchFDFit *fit, const FitBatch *b, FitLine line[3])
{
  for (int d = 0; d < 3; d++) {
    const PatchFDFitKind *kind = &fit->kind[d][b->run->kind[d]];

    FitLineSet(d < fit->dim ? fit->degree : 0, kind->ncells, kind->n, kind->lower, &line[d]);
  }
}

/* room for what exact batches have */
static PetscErrorCode FitExactMalloc(FitPlan *p, PetscBool rows)
{
  const PetscLogDouble limit = 64.0 * 1073741824.0;
  size_t               size = 0, nodes = 0;
  V                   *v    = NULL;

  PetscFunctionBegin;
  for (int allocated = 0; allocated < 2; allocated++) {
    for (PetscCount i = 0; i < p->nbatch; i++) {
      FitBatch *b = &p->batch[i];
      FitLine   line[3];
      size_t    factor, row = 1, all = 1;

      if (!b->exact) continue;
      FitLines(p->desc, b, line);
      factor = (size_t)FitTriangle(line[0].n * line[1].n * line[2].n);
      for (int d = 0; d < 3; d++) {
        row *= (size_t)line[d].before[line[d].n];
        all *= (size_t)line[d].nodes;
      }
      if (allocated) {
        b->factor = v;
        b->rows   = rows ? v + factor : NULL;
        v += factor + (rows ? row : 0);
      } else size += factor + (rows ? row : 0);
      nodes = PetscMax(nodes, all);
    }
    if (!allocated) {
      PetscCheck((PetscLogDouble)size * (PetscLogDouble)sizeof(V) <= limit, PETSC_COMM_SELF, PETSC_ERR_MEM, "-pc_patchfd_fit_exact: the exact solvers of the patches take %.3g GiB; allowed are %g",
                 (PetscLogDouble)size * (PetscLogDouble)sizeof(V) / 1073741824.0, limit / 1073741824.0);
      PetscCall(VMalloc(size, &v, &p->exactbase));
    }
  }
  if (rows) PetscCall(VMalloc(nodes, &p->nodes, &p->nodesbase));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What set-up knows of the exact patches: which one begins in a cell of the fit (or -1), its batch, where its triangle is, and where entries of cells go in patches of all kinds */
typedef struct {
  PetscCount *patch, *batch, *at;
  double     *triangle;
  FitPlace   *places[PATCHFD_FIT_MAX_KINDS * PATCHFD_FIT_MAX_KINDS * PATCHFD_FIT_MAX_KINDS][8];
  PetscInt    nplaces[PATCHFD_FIT_MAX_KINDS * PATCHFD_FIT_MAX_KINDS * PATCHFD_FIT_MAX_KINDS][8];
} FitExactMaker;

static PetscErrorCode FitExactMakerCreate(const FitPlan *p, FitExactMaker *m)
{
  const PatchFDFit *fit    = p->desc;
  const PetscInt    none[3] = {0, 0, 0};
  const PetscCount  ncells = PatchFDRangeSize(fit->cells);
  PetscCount        size   = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  PetscCall(PetscMalloc3(ncells, &m->patch, fit->npatch, &m->batch, fit->npatch, &m->at));
  for (PetscCount i = 0; i < ncells; i++) m->patch[i] = -1;
  for (PetscCount i = 0; i < p->nbatch; i++) {
    const FitBatch *b = &p->batch[i];

    for (PetscCount q = b->first; q < b->first + b->count && b->exact; q++) {
      PetscInt cell[3];

      for (int d = 0; d < 3; d++) cell[d] = PatchFDFitLineOf(fit, fit->number[q], d)->cell;
      m->patch[PatchFDFitCellNumber(fit, cell, none)] = q;
      m->batch[q]                                     = i;
      m->at[q]                                        = size;
      size += FitTriangle(b->run->n[0] * b->run->n[1] * b->run->n[2]);
    }
  }
  PetscCall(PetscCalloc1(size, &m->triangle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitExactMakerDestroy(FitExactMaker *m)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(m->patch, m->batch, m->at));
  PetscCall(PetscFree(m->triangle));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(m->places); i++)
    for (int o = 0; o < 8; o++) PetscCall(PetscFree(m->places[i][o]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the exact patch that has a cell as its cell number `corner`, or -1 */
static PetscCount FitPatchOfCell(const FitPlan *p, const FitExactMaker *m, const PetscInt cell[3], int corner)
{
  const PatchFDFit *fit  = p->desc;
  const PetscInt offset[3] = {corner & 1, corner >> 1 & 1, corner >> 2};
  PetscCount     number    = 0;

  for (int d = 2; d >= 0; d--) {
    if (cell[d] - offset[d] < fit->cells[d][0]) return -1;
    number = number * (fit->cells[d][1] - fit->cells[d][0]) + cell[d] - offset[d] - fit->cells[d][0];
  }
  if (m->patch[number] < 0) return -1;
  for (int d = 0; d < 3; d++)
    if (offset[d] >= fit->kind[d][p->batch[m->batch[m->patch[number]]].run->kind[d]].ncells) return -1;
  return m->patch[number];
}

/* the matrix of a cell, E[][PATCHFD_LANES], is added to those of a patch */
static PetscErrorCode FitExactAdd(FitPlan *p, FitExactMaker *m, PetscCount patch, int corner, const PatchFDCellMatrices *cells, const PetscReal E[])
{
  const PatchFDFit *fit      = p->desc;
  FitBatch         *b        = &p->batch[m->batch[patch]];
  double           *triangle = m->triangle + m->at[patch];
  REAL             *rows     = b->rows ? (REAL *)b->rows + (patch - b->first) : NULL;
  PetscInt          kind     = 0;
  const FitPlace   *place;

  PetscFunctionBegin;
  for (PetscInt d = 2; d >= 0; d--) kind = kind * PATCHFD_FIT_MAX_KINDS + b->run->kind[d];
  if (!m->places[kind][corner]) {
    const PetscInt offset[3] = {corner & 1, corner >> 1 & 1, corner >> 2};
    FitLine        line[3];

    FitLines(fit, b, line);
    PetscCall(PetscMalloc1(cells->size * cells->size, &m->places[kind][corner]));
    m->nplaces[kind][corner] = FitPlaces(fit->dim, fit->degree, line, offset, cells->place, m->places[kind][corner]);
  }
  place = m->places[kind][corner];
  for (PetscInt i = 0; i < m->nplaces[kind][corner]; i++) {
    const PetscReal e = E[place[i].entry * PATCHFD_LANES];

    if (place[i].triangle >= 0) triangle[place[i].triangle] += e;
    if (rows) rows[place[i].row * VL] += (REAL)e;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cells `first` .. of the fit are added to all exact patches that have them; their matrices are made if there is one */
static PetscErrorCode FitExactAddCells(FitPlan *p, FitExactMaker *m, PetscCount first, PatchFDCellMatrices *cells)
{
  const PatchFDFit *fit   = p->desc;
  PetscBool         known = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscCount l = 0; l < PATCHFD_LANES && first + l < PatchFDRangeSize(fit->cells); l++) {
    const PetscInt n[2] = {fit->cells[0][1] - fit->cells[0][0], fit->cells[1][1] - fit->cells[1][0]}, i = (PetscInt)(first + l);
    const PetscInt cell[3] = {fit->cells[0][0] + i % n[0], fit->cells[1][0] + i / n[0] % n[1], fit->cells[2][0] + i / n[0] / n[1]};

    for (int corner = 0; corner < 8; corner++) {
      const PetscCount patch = FitPatchOfCell(p, m, cell, corner);

      if (patch < 0) continue;
      if (!known) PetscCall(PatchFDCellMatricesGet(cells, first));
      known = PETSC_TRUE;
      PetscCall(FitExactAdd(p, m, patch, corner, cells, cells->E + l));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitExact(void *plan, const PatchFDPoints *points, PetscBool rows)
{
  FitPlan            *p       = (FitPlan *)plan;
  PetscBool           regular = PETSC_TRUE;
  PatchFDCellMatrices cells;
  FitExactMaker       m;

  PetscFunctionBegin;
  PetscCall(FitExactMalloc(p, rows));
  PetscCall(FitExactMakerCreate(p, &m));
  PetscCall(PatchFDCellMatricesCreate(points, &cells));
  for (PetscCount first = 0; first < points->ncells; first += PATCHFD_LANES) PetscCall(FitExactAddCells(p, &m, first, &cells));
  PetscCall(PatchFDCellMatricesDestroy(&cells));
  for (PetscCount i = 0; i < p->nbatch; i++) {
    const FitBatch *b = &p->batch[i];
    const PetscInt *n = b->run->n, size = n[0] * n[1] * n[2];

    if (b->exact) PetscCall(FitFactors(size, b->count, m.triangle + m.at[b->first], b->factor, &regular));
  }
  PetscCall(FitExactMakerDestroy(&m));
  PetscCheck(regular, PETSC_COMM_SELF, PETSC_ERR_MAT_CH_ZRPVT, "The matrix of a patch is not positive definite");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all nodes of the cells of a batch; those that are fixed have columns of zeros, so that they are read as they are not */
static void FitCellNodes(const FitPlan *p, const FitBatch *b, const FitLine line[3], Batch *nodes, PetscInt n[3])
{
  nodes->count = b->count;
  for (int d = 0; d < 3; d++) {
    n[d] = line[d].nodes;
    for (int l = 0; l < b->count; l++) nodes->first[d][l] = b->node[d][l] - line[d].lower;
  }
  BatchClip(nodes, n, p->desc->read);
}

static PetscErrorCode FitFused(void *plan, PetscInt group, PetscReal omega, PetscBool zero, const void *b, void *x)
{
  FitPlan        *p     = (FitPlan *)plan;
  PetscLogDouble  flops = 0;
  FitLine         line[3];
  Batch           nodes, all;
  PetscInt        n[3], m[3];

  PetscFunctionBegin;
  for (PetscCount i = p->at[group]; i < p->at[group + 1]; i++) {
    const FitBatch *at = &p->batch[i];
    PetscInt        size;

    FitNodes(p, at, &nodes, n);
    size = n[0] * n[1] * n[2];
    FitLines(p->desc, at, line);
    Gather(&nodes, n, &p->desc->box, (const REAL *)b, p->u);
    if (!zero) {
      FitCellNodes(p, at, line, &all, m);
      Gather(&all, m, &p->desc->box, (const REAL *)x, p->nodes);
      FitRowsSubtract(line, at->rows, p->nodes, p->u);
      flops += 2.0 * at->count * line[0].before[n[0]] * line[1].before[n[1]] * line[2].before[n[2]];
    }
    FitExactSolve(size, at->factor, p->u);
    Scatter(&nodes, n, (REAL)omega, p->u, 1, &p->desc->box, (REAL *)x);
    flops += 2.0 * at->count * size * size;
  }
  PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
