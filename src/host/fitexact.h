/* Local solvers that are fitted to each patch: set-up of those that are exact, and their corrections without a residual of the whole mesh.
   What a batch has is in fitfactor.h */
#pragma once
#include "fit.h"

/* what all patches of these kinds have in common */
static PetscInt FitKindNumber(const PetscInt kind[3])
{
  return (kind[2] * PATCHFD_FIT_MAX_KINDS + kind[1]) * PATCHFD_FIT_MAX_KINDS + kind[0];
}

/* room for what exact batches have; it is not touched here, but for batches that are not full */
static PetscErrorCode FitExactMalloc(FitPlan *p, PetscBool rows)
{
  const PetscLogDouble limit = 64.0 * 1073741824.0;
  size_t               size = 0, nodes = 0;
  V                   *v = NULL;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(FIT_KINDS, &p->boundary));
  for (int allocated = 0; allocated < 2; allocated++) {
    for (PetscCount i = 0; i < p->nbatch; i++) {
      FitBatch    *b = &p->batch[i];
      FitBoundary *s = &p->boundary[FitKindNumber(b->run->kind)];
      size_t       factor, row;

      if (!b->exact) continue;
      if (!s->at) PetscCall(FitBoundaryCreate(p->desc, b->run->kind, s));
      factor = (size_t)FitTriangle(s->size);
      row    = rows ? (size_t)s->at[s->size] : 0;
      nodes  = PetscMax(nodes, (size_t)s->nodes[0] * (size_t)s->nodes[1] * (size_t)s->nodes[2]);
      if (!allocated) {
        size += factor + row;
        continue;
      }
      b->boundary = s;
      b->factor   = v;
      b->rows     = rows ? v + factor : NULL;
      v += factor + row;
      if (b->count < VL) PetscCall(PetscArrayzero(b->factor, factor + row));
    }
    if (!allocated) {
      PetscCheck((PetscLogDouble)size * (PetscLogDouble)sizeof(V) <= limit, PETSC_COMM_SELF, PETSC_ERR_MEM,
                 "-pc_patchfd_fit_exact: the exact solvers of the patches take %.3g GiB; allowed are %g",
                 (PetscLogDouble)size * (PetscLogDouble)sizeof(V) / 1073741824.0, limit / 1073741824.0);
      PetscCall(VMallocUntouched(size, &v, &p->exactbase));
    }
  }
  if (rows) PetscCall(VMalloc(nodes, &p->nodes, &p->nodesbase));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- set-up ---- */

/* an entry of the lower triangle of a cell's matrix, and where it goes in a patch: in its triangle and, behind that, its rows */
typedef struct {
  PetscInt from, to;
} FitPlace;

/* the exact patches of a run, one after another: the next one, its batch, and the triangles of this batch, PATCHFD_LANES patches at a time
   */
typedef struct {
  const PatchFDFitRun *run;
  PetscCount           next;
  FitBatch            *batch;
  PatchFDLanes        *triangle;
} FitCursor;

/*
  Cells are visited in their order, and a patch is summed up when its last cell is there, while its first ones still are: so matrices of
  cells are those of two layers and stay in a cache.  All patches of a run come in the order of their cells
*/
typedef struct {
  PatchFDCellMatrices cells;
  PetscInt            size;              /* of the lower triangle of a cell's matrix */
  PetscCount          layer, ring, done; /* cells of a layer; matrices at hand, that of cell c is number c % ring; cells visited */
  PetscReal          *E;
  PetscBool          *wanted; /* groups of PATCHFD_LANES cells of which exact patches have some */
  PetscReal          *sum;    /* of a patch: its triangle and its rows */
  PetscInt            ncursor;
  FitCursor          *cursor;
  FitPlace           *places[FIT_KINDS][8];
  PetscInt            nplaces[FIT_KINDS][8];
} FitExactMaker;

/* the cells of patch q: the first one, and how many there are in each direction */
static void FitPatchCells(const PatchFDFit *fit, const FitBatch *b, PetscCount q, PetscInt low[3], PetscInt n[3])
{
  for (int d = 0; d < 3; d++) {
    low[d] = PatchFDFitLineOf(fit, fit->number[q], d)->cell;
    n[d]   = fit->kind[d][b->run->kind[d]].ncells;
  }
}

/* wants the cells of all patches of a batch */
static void FitExactWant(const FitPlan *p, const FitBatch *b, FitExactMaker *m)
{
  for (PetscCount q = b->first; q < b->first + b->count; q++) {
    PetscInt low[3], n[3];

    FitPatchCells(p->desc, b, q, low, n);
    for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
      const PetscInt offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]};

      m->wanted[PatchFDFitCellNumber(p->desc, low, offset) / PATCHFD_LANES] = PETSC_TRUE;
    }
  }
}

static PetscErrorCode FitExactMakerCreate(FitPlan *p, const PatchFDPoints *points, FitExactMaker *m)
{
  const PatchFDFit *fit    = p->desc;
  const PetscCount  ncells = PatchFDRangeSize(fit->cells), groups = (ncells + PATCHFD_LANES - 1) / PATCHFD_LANES;
  PetscInt          room = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  PetscCall(PatchFDCellMatricesCreate(points, &m->cells));
  m->size  = FitTriangle(m->cells.size);
  m->layer = (PetscCount)(fit->cells[0][1] - fit->cells[0][0]) * (fit->cells[1][1] - fit->cells[1][0]);
  m->ring  = PetscMin((2 * m->layer + PATCHFD_LANES - 1) / PATCHFD_LANES + 1, groups) * PATCHFD_LANES;
  PetscCall(PetscMalloc1(m->ring * m->size, &m->E));
  PetscCall(PetscCalloc1(groups, &m->wanted));
  PetscCall(PetscMalloc1(fit->runs[fit->ngroup], &m->cursor));
  for (PetscCount i = 0; i < p->nbatch; i++) {
    FitBatch *b = &p->batch[i];

    if (!b->exact) continue;
    FitExactWant(p, b, m);
    room = PetscMax(room, FitTriangle(b->boundary->size) + b->boundary->at[b->boundary->size]);
    if (b->first > b->run->first) continue;
    m->cursor[m->ncursor] = (FitCursor){.run = b->run, .next = b->first, .batch = b};
    PetscCall(PetscCalloc1((VL + PATCHFD_LANES - 1) / PATCHFD_LANES * FitTriangle(b->boundary->size), &m->cursor[m->ncursor++].triangle));
  }
  PetscCall(PetscMalloc1(room, &m->sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitExactMakerDestroy(FitExactMaker *m)
{
  PetscFunctionBegin;
  PetscCall(PatchFDCellMatricesDestroy(&m->cells));
  for (PetscInt i = 0; i < m->ncursor; i++) PetscCall(PetscFree(m->cursor[i].triangle));
  PetscCall(PetscFree(m->cursor));
  PetscCall(PetscFree(m->E));
  PetscCall(PetscFree(m->wanted));
  PetscCall(PetscFree(m->sum));
  for (int i = 0; i < FIT_KINDS; i++)
    for (int o = 0; o < 8; o++) PetscCall(PetscFree(m->places[i][o]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all entries of the matrix of the cell number `corner` of a patch that go anywhere */
static PetscErrorCode FitPlaces(const PatchFDFit *fit, const FitBoundary *boundary, PetscInt corner, PetscBool rows, PetscInt size,
                                FitPlace **places, PetscInt *count)
{
  const PetscInt n = fit->degree + 1, offset[3] = {corner & 1, corner >> 1 & 1, corner >> 2};

  PetscFunctionBegin;
  *count = 0;
  PetscCall(PetscMalloc1(size * size, places));
  for (PetscInt e = 0; e < size * size; e++) {
    const PetscInt at[2] = {e / size, e % size}; /* row and column */
    PetscInt       node[2][3], to;

    for (int s = 0; s < 2; s++)
      for (int d = 0; d < 3; d++)
        node[s][d] = d < fit->dim ? offset[d] * fit->degree + (d == 0 ? at[s] % n : (d == 1 ? at[s] / n % n : at[s] / n / n)) : 0;
    to = FitEntry(boundary, node[0], node[1]);
    if (to >= 0 && (rows || to < FitTriangle(boundary->size)))
      (*places)[(*count)++] = (FitPlace){.from = FitTriangle(PetscMax(at[0], at[1])) + PetscMin(at[0], at[1]), .to = to};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the factors of the patches of a batch from their triangles */
static PetscErrorCode FitFactors(FitBatch *b, PatchFDLanes triangle[], PetscBool *regular)
{
  const PetscInt size = FitTriangle(b->boundary->size);

  PetscFunctionBegin;
  for (int from = 0; from < b->count; from += PATCHFD_LANES, triangle += size) {
    const int count = PetscMin(PATCHFD_LANES, b->count - from);

    PetscCall(PatchFDHostFactorTriangles(b->boundary->size, count, triangle, regular));
    for (PetscInt i = 0; i < size; i++)
      for (int l = 0; l < count; l++) b->factor[i][from + l] = (REAL)triangle[i][l];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the next patch of a run */
static PetscErrorCode FitExactPatch(const FitPlan *p, FitExactMaker *m, FitCursor *c, PetscBool *regular)
{
  FitBatch      *b        = c->batch;
  const PetscInt triangle = FitTriangle(b->boundary->size), size = triangle + (b->rows ? b->boundary->at[b->boundary->size] : 0),
                 kind = FitKindNumber(b->run->kind);
  const int     lane  = (int)(c->next - b->first);
  PatchFDLanes *out   = c->triangle + lane / PATCHFD_LANES * triangle;
  PetscInt      low[3], n[3];

  PetscFunctionBegin;
  FitPatchCells(p->desc, b, c->next++, low, n);
  PetscCall(PetscArrayzero(m->sum, size));
  for (PetscInt o = 0; o < n[0] * n[1] * n[2]; o++) {
    const PetscInt   offset[3] = {o % n[0], o / n[0] % n[1], o / n[0] / n[1]}, corner = offset[0] + 2 * offset[1] + 4 * offset[2];
    const PetscReal *E = m->E + PatchFDFitCellNumber(p->desc, low, offset) % m->ring * m->size;
    const FitPlace  *place;

    if (!m->places[kind][corner])
      PetscCall(FitPlaces(p->desc, b->boundary, corner, (PetscBool)(b->rows != NULL), m->cells.size, &m->places[kind][corner],
                          &m->nplaces[kind][corner]));
    place = m->places[kind][corner];
    for (PetscInt i = 0; i < m->nplaces[kind][corner]; i++) m->sum[place[i].to] += E[place[i].from];
  }
  for (PetscInt i = 0; i < triangle; i++) out[i][lane % PATCHFD_LANES] = m->sum[i];
  for (PetscInt i = triangle; i < size; i++) ((REAL *)&b->rows[i - triangle])[lane] = (REAL)m->sum[i];
  if (lane == b->count - 1) {
    PetscCall(FitFactors(b, c->triangle, regular));
    c->batch++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrices of cells up to number `end`, if they are wanted */
static PetscErrorCode FitExactCells(FitExactMaker *m, PetscCount end)
{
  const PetscInt n = m->cells.size;

  PetscFunctionBegin;
  for (; m->done < end; m->done += PATCHFD_LANES) {
    PetscReal *E = m->E + m->done % m->ring * m->size;

    if (!m->wanted[m->done / PATCHFD_LANES]) continue;
    PetscCall(PatchFDCellMatricesGet(&m->cells, m->done));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j <= i; j++, E++)
        for (int l = 0; l < PATCHFD_LANES; l++) E[l * m->size] = m->cells.E[m->cells.place[i * n + j]][l];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FitExact(void *plan, const PatchFDPoints *points, PetscBool rows, PetscBool *regular)
{
  FitPlan          *p   = (FitPlan *)plan;
  const PatchFDFit *fit = p->desc;
  FitExactMaker     m;

  PetscFunctionBegin;
  PetscCall(FitExactMalloc(p, rows));
  PetscCall(FitExactMakerCreate(p, points, &m));
  for (PetscInt layer = fit->cells[2][0]; layer < fit->cells[2][1]; layer++) {
    PetscCall(FitExactCells(&m, m.layer * (layer + 1 - fit->cells[2][0])));
    for (FitCursor *c = m.cursor; c < m.cursor + m.ncursor; c++) {
      const PatchFDFitRun *run  = c->run;
      const PetscInt       last = fit->kind[2][run->kind[2]].ncells - 1;

      while (c->next < run->first + run->count && PatchFDFitLineOf(fit, fit->number[c->next], 2)->cell + last <= layer)
        PetscCall(FitExactPatch(p, &m, c, regular));
    }
  }
  PetscCall(FitExactMakerDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- corrections ---- */

/* all nodes of the cells of a batch; those that are fixed have columns of zeros, so that they are read as they are not */
static void FitCellNodes(const FitPlan *p, const FitBatch *b, Batch *nodes)
{
  nodes->count = b->count;
  for (int d = 0; d < 3; d++)
    for (int l = 0; l < b->count; l++) nodes->first[d][l] = b->node[d][l] - b->boundary->lower[d];
  BatchClip(nodes, b->boundary->nodes, p->desc->read);
}

static PetscErrorCode FitFused(void *plan, PetscInt group, PetscReal omega, PetscBool zero, const void *b, void *x)
{
  FitPlan       *p     = (FitPlan *)plan;
  PetscLogDouble flops = 0;
  Batch          nodes, all;
  PetscInt       n[3];

  PetscFunctionBegin;
  for (PetscCount i = p->at[group]; i < p->at[group + 1]; i++) {
    const FitBatch    *at = &p->batch[i];
    const FitBoundary *s  = at->boundary;

    FitNodes(p, at, &nodes, n);
    Gather(&nodes, n, &p->desc->box, (const REAL *)b, p->u);
    if (!zero) {
      FitCellNodes(p, at, &all);
      Gather(&all, s->nodes, &p->desc->box, (const REAL *)x, p->nodes);
      FitBoundarySubtract(s, at->rows, p->nodes, p->u);
      flops += 2.0 * at->count * s->at[s->size];
    }
    FitExactSolve(s->size, at->factor, p->u);
    Scatter(&nodes, n, (REAL)omega, p->u, (REAL)(1 - omega), &p->desc->box, (REAL *)x);
    flops += 2.0 * at->count * s->size * s->size;
  }
  PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
