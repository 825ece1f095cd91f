/*
  Local solvers of vertex patches: the patches of a colour in batches of VL, for each batch a residual (diagonalization.h, rows.h) and a solve
  (diagonalization.h, dense.h).
*/
#pragma once
#include "diagonalization.h"

/* the dense solve of a batch, one class after the other; nearly always there is one */
static void LocalDense(LocalPlan *p, int count, PetscInt cls[3][VL], size_t size)
{
  PetscInt all[VL];
  int      same = 1;

  for (int l = 0; l < count; l++) {
    all[l] = cls[0][l] + p->desc.dir[0]->nclass * (cls[1][l] + p->desc.dir[1]->nclass * cls[2][l]);
    same   = same && all[l] == all[0];
  }
  if (same) {
    DenseSolve(&p->dense[all[0]], p->u, p->work);
    return;
  }
  for (int first = 0; first < count; first++) {
    int seen = 0;

    for (int l = 0; l < first; l++) seen = seen || all[l] == all[first];
    if (seen) continue;
    memcpy(p->t, p->u, size * sizeof(V));
    DenseSolve(&p->dense[all[first]], p->t, p->work);
    for (size_t i = 0; i < size; i++) /* the others are still to be solved, or done, in u and s */
      for (int l = first; l < count; l++)
        if (all[l] == all[first]) p->s[i][l] = p->t[i][l];
  }
  memcpy(p->u, p->s, size * sizeof(V));
}

/* A batch where the residual is that of an operator's terms, or the solve a dense one */
static void LocalBatchTerms(LocalPlan *p, PatchFDPatchOp operation, PetscInt cls[3][VL], const PetscInt patch[3][VL], Batch *free, REAL omega, PetscBool zero, REAL *x, const REAL *b, REAL *r)
{
  const PatchFDBox     *box  = &p->desc.box;
  const BatchDirection *d    = p->dir;
  const PetscInt        n[3] = {d[0].n, d[1].n, d[2].n};
  const size_t          size = (size_t)(n[0] * n[1] * n[2]);

  Gather(free, n, box, operation == PATCHFD_OP_SOLVE ? r : b, p->u);
  if (operation != PATCHFD_OP_SOLVE && !zero) {
    RowsSelect(p->rows, free->count, patch);
    RowsSubtract(p->rows, n, free, &p->desc, x, p->u);
  }
  if (operation == PATCHFD_OP_RESIDUAL) {
    Scatter(free, n, 1, p->u, 0, box, r);
    return;
  }
  if (p->dense) LocalDense(p, free->count, cls, size);
  else {
    TransformBlock(d, TO_MODES, p->u, p->line);
    LocalScale(size, LocalReciprocals(p, d), p->u);
    TransformBlock(d, TO_NODES, p->u, p->line);
  }
  Scatter(free, n, omega, p->u, 1, box, x);
}

/* One batch of patches, all of the same size */
static void LocalBatch(LocalPlan *p, PatchFDPatchOp operation, PetscInt cls[3][VL], const PetscInt patch[3][VL], Batch *free, REAL omega, PetscBool zero, REAL *x, const REAL *b, REAL *r)
{
  const PatchFDBox *box = &p->desc.box;
  BatchDirection   *d   = p->dir;
  PetscInt          n[3];
  size_t            size;
  Coef              inv;

  for (int i = 0; i < 3; i++) {
    LocalSelect(p, i, free->count, cls[i], operation);
    n[i] = d[i].n;
  }
  p->lastop = operation;
  size = (size_t)(n[0] * n[1] * n[2]);
  BatchClip(free, n, p->desc.read);
  if (p->rows || p->dense) {
    LocalBatchTerms(p, operation, cls, patch, free, omega, zero, x, b, r);
    return;
  }
  if (operation == PATCHFD_OP_RESIDUAL) {
    if (p->discontinuous) LocalResidualCells(p, d, free, x, b, PETSC_TRUE, zero);
    else LocalResidual(p, d, free, x, b, zero);
    Scatter(free, n, 1, p->u, 0, box, r);
    return;
  }
  inv = LocalReciprocals(p, d);
  if (operation == PATCHFD_OP_BOUNDARY) {
    if (p->discontinuous) LocalResidualCells(p, d, free, x, b, PETSC_FALSE, zero);
    else Gather(free, n, box, b, p->u);
    TransformBlock(d, TO_MODES, p->u, p->line);
    if (zero || p->discontinuous) LocalScale(size, inv, p->u);
    else {
      for (int f = 0; f < 3; f++)
        if (d[f].ext) LocalFaces(p, d, free, f, x);
      LocalCombine(p, d, inv);
    }
    TransformBlock(d, TO_NODES, p->u, p->line);
    Scatter(free, n, omega, p->u, 1 - omega, box, x);
  } else {
    if (operation == PATCHFD_OP_FUSED && p->discontinuous) LocalResidualCells(p, d, free, x, b, PETSC_TRUE, zero);
    else if (operation == PATCHFD_OP_FUSED) LocalResidual(p, d, free, x, b, zero);
    else Gather(free, n, box, r, p->u);
    TransformBlock(d, TO_MODES, p->u, p->line);
    LocalScale(size, inv, p->u);
    TransformBlock(d, TO_NODES, p->u, p->line);
    Scatter(free, n, omega, p->u, 1, box, x);
  }
}

/* multiplications and additions of one patch, as executed for a patch with parity or without */
static PetscLogDouble LocalFlops(const LocalPlan *p, PatchFDPatchOp operation, const PetscInt n[3], PetscBool parity, PetscBool zero)
{
  const PetscInt *ext = p->ext;
  PetscLogDouble  c[3], v = (PetscLogDouble)n[0] * n[1] * n[2], f = 0, line[3], own = operation == PATCHFD_OP_BOUNDARY ? 0 : 1;

  if (p->rows && operation != PATCHFD_OP_SOLVE && !zero) f += RowsFlops(p->rows, n);
  if (p->dense && operation != PATCHFD_OP_RESIDUAL) {
    for (int i = 0; i < 8; i++) f += 2.0 * p->dense[0].desc.size[i] * p->dense[0].desc.size[i];
    return f;
  }
  for (int d = 0; d < 3; d++) {
    c[d]    = n[d] + 2 * ext[d];
    line[d] = !ext[d] ? 0 : (parity ? n[d] + 1 : 2 * n[d]); /* for each entry; parity halves the products and adds a fold */
  }
  if (operation != PATCHFD_OP_SOLVE && p->discontinuous && !zero) {
    f += v;
    for (int d = 0; d < 3; d++) f += ext[d] ? 2 * v * (2 * ext[d] + own * n[d]) + (d < 2 ? 2 : 4) * v * n[d] : 0;
  } else if (!p->rows && (operation == PATCHFD_OP_RESIDUAL || operation == PATCHFD_OP_FUSED)) {
    f += v;
    if (!zero) f += 2 * (2 * n[0] * c[0] * c[1] * c[2] + 3 * n[0] * n[1] * c[1] * c[2] + 2 * v * c[2]);
  }
  if (operation == PATCHFD_OP_RESIDUAL) return f;
  f += v * (2 * (line[0] + line[1] + line[2]) + 3);
  if (operation == PATCHFD_OP_BOUNDARY && !zero && !p->discontinuous) {
    for (int d = 0; d < 3; d++) {
      const int            a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
      const PetscLogDouble rim = 4 * (ext[a] + ext[b]);

      if (!ext[d]) continue;
      f += (d == 0 ? 2 : 4) * (n[a] * c[b] * line[a] + n[a] * n[b] * (line[b] + rim));
      f += (parity ? 4 : 8) * v;
    }
  }
  return f;
}

/* patches of one direction with the wanted colour, in at most a few runs of equal size: only the ends of a line differ */
static PetscInt LocalRun(const PatchFDPatches *pd, PetscInt color, PetscInt *next, PetscInt end)
{
  PetscInt count = 0, i = *next;

  for (; i < end; i++) {
    if (pd->cell[i] % 2 != color) continue;
    if (count && pd->n[i] != pd->n[*next]) break;
    if (!count++) *next = i;
  }
  return count;
}

/* Runs of patches in each direction, two apart; with two phases every other one of a row.  at[] is the next patch, of count[] */
typedef struct {
  PetscInt start[3], count[3], at[3], step, phase;
} LocalPatches;

/* the first patch of the row at[1], at[2] that has the phase */
static inline PetscInt LocalRowStart(const LocalPatches *q)
{
  return q->step == 1 ? 0 : (q->phase + q->start[0] / 2 + q->start[1] / 2 + q->at[1] + q->start[2] / 2 + q->at[2]) % 2;
}

/* to the next row that has a patch, if at[] is behind the end of one; at[2] is count[2] behind the last */
static inline void LocalSkipRows(LocalPatches *q)
{
  while (q->at[0] >= q->count[0]) {
    if (++q->at[1] == q->count[1]) {
      q->at[1] = 0;
      if (++q->at[2] == q->count[2]) return;
    }
    q->at[0] = LocalRowStart(q);
  }
}

/* the next batch of patches; its count is 0 behind the last */
static void LocalNextBatch(const LocalPlan *p, LocalPatches *patches, Batch *next, PetscInt cls[3][VL], PetscInt patch[3][VL])
{
  const PatchFDPatches *const pd[3] = {p->desc.dir[0], p->desc.dir[1], p->desc.dir[2]};
  LocalPatches                q     = *patches; /* in registers */
  int                         l;

  for (l = 0; l < VL && q.at[2] < q.count[2]; l++) {
    for (int d = 0; d < 3; d++) {
      const PetscInt i = q.start[d] + 2 * q.at[d];

      next->first[d][l] = pd[d]->first[i];
      cls[d][l]         = pd[d]->cls[i];
      if (p->rows) patch[d][l] = i;
    }
    q.at[0] += q.step;
    LocalSkipRows(&q);
  }
  next->count = l;
  *patches    = q;
}

/* all patches of such runs: they have the same size */
static PetscErrorCode LocalRuns(LocalPlan *p, PatchFDPatchOp operation, LocalPatches *q, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  const PatchFDPatches *const *pd   = p->desc.dir;
  const PetscInt               n[3] = {pd[0]->n[q->start[0]], pd[1]->n[q->start[1]], pd[2]->n[q->start[2]]};
  Batch                        batch[2];
  PetscInt                     cls[2][3][VL], patch[2][3][VL];
  PetscInt64                   total = 0;

  PetscFunctionBegin;
  q->at[1] = q->at[2] = 0;
  q->at[0]            = LocalRowStart(q);
  LocalSkipRows(q);
  batch[1].count = 0;
  /* a batch ahead, so that its rows come into the cache while the one before is worked on */
  for (int now = 0;; now = 1 - now) {
    Batch *next = &batch[now];

    LocalNextBatch(p, q, next, cls[now], patch[now]);
    Prefetch(next, n, &p->desc.box, (const REAL *)(operation == PATCHFD_OP_SOLVE ? r : b));
    if (operation != PATCHFD_OP_RESIDUAL) Prefetch(next, n, &p->desc.box, (const REAL *)x);
    if (batch[1 - now].count) LocalBatch(p, operation, cls[1 - now], (const PetscInt(*)[VL])patch[1 - now], &batch[1 - now], (REAL)omega, zero, (REAL *)x, (const REAL *)b, (REAL *)r);
    total += next->count;
    if (!next->count) break;
  }
  PetscCall(PetscLogFlops((PetscLogDouble)total * LocalFlops(p, operation, n, p->cls[0][pd[0]->cls[q->start[0]]].parity, zero)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LocalColor(LocalPlan *p, PatchFDPatchOp operation, const PatchFDColor *color, const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  const PatchFDPatches *const *pd = p->desc.dir;
  LocalPatches                 q  = {.step = color->phase == PATCHFD_ALL_PHASES ? 1 : p->desc.nphase, .phase = color->phase};

  PetscFunctionBegin;
  q.start[2] = patches[2][0];
  while ((q.count[2] = LocalRun(pd[2], color->parity[2], &q.start[2], patches[2][1]))) {
    q.start[1] = patches[1][0];
    while ((q.count[1] = LocalRun(pd[1], color->parity[1], &q.start[1], patches[1][1]))) {
      q.start[0] = patches[0][0];
      while ((q.count[0] = LocalRun(pd[0], color->parity[0], &q.start[0], patches[0][1]))) {
        PetscCall(LocalRuns(p, operation, &q, omega, zero, x, b, r));
        q.start[0] += 2 * q.count[0];
      }
      q.start[1] += 2 * q.count[1];
    }
    q.start[2] += 2 * q.count[2];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LocalApply(void *plan, PatchFDPatchOp operation, PetscInt ncolors, const PatchFDColor colors[], const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x,
                                 const void *b, void *r)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < ncolors; i++) PetscCall(LocalColor((LocalPlan *)plan, operation, &colors[i], patches, omega, (PetscBool)(zero && i == 0), x, b, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
