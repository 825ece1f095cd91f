/*
  Local solvers of vertex patches: the patches of a colour in batches of VL.  What is done with a batch is in diagonalization.h where the
  operator is the Kronecker sum of one field that is diagonalized, otherwise in fields.h.
*/
#pragma once
#include "fields.h"
#include "stencil.h"

typedef struct {
  PatchFDLocalDesc desc;
  SeparablePlan   *separable; /* one of them is NULL */
  FieldsPlan      *fields;
  StencilPlan     *stencil; /* or NULL */
} LocalPlan;

static PetscErrorCode LocalDestroy(void **plan)
{
  LocalPlan *p = (LocalPlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SeparableDestroy(&p->separable));
  PetscCall(FieldsDestroy(&p->fields));
  PetscCall(StencilDestroy(&p->stencil));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all but patches of one unknown go around rings */
static PetscBool LocalRings(const PatchFDLocalDesc *desc)
{
  return (PetscBool)!PatchFDPatchesArePointwise(desc->field->dir);
}

static PetscErrorCode LocalCreate(const PatchFDLocalDesc *desc, void **plan)
{
  LocalPlan *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan   = p;
  p->desc = *desc;
  if (desc->nterm) PetscCall(FieldsCreate(desc, &p->fields));
  else {
    PetscCall(SeparableCreate(&desc->field[0], &p->separable));
    PetscCall(StencilCreate(&desc->field[0], &p->stencil));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* are a patch and the nodes beside it in the box, not across the ends of a ring? */
static inline PetscBool LocalIsInside(const PatchFDLocalField *f, int d, PetscInt i)
{
  const PetscInt lo = f->dir[d]->first[i] - 1, end = lo + f->dir[d]->n[i] + 2;

  return (PetscBool)(PetscMax(lo, f->read[d][0]) >= f->box.lo[d] && PetscMin(end, f->read[d][1]) <= f->box.lo[d] + f->box.n[d]);
}

/* can patches i and j of direction d go in one batch: have they the same size, in all fields, and take as long to read? */
static inline PetscBool LocalGoTogether(const LocalPlan *p, int d, PetscInt i, PetscInt j)
{
  PetscBool same = (PetscBool)(LocalIsInside(&p->desc.field[0], d, i) == LocalIsInside(&p->desc.field[0], d, j));

  for (PetscInt f = 0; f < p->desc.nfield; f++) same = (PetscBool)(same && p->desc.field[f].dir[d]->n[i] == p->desc.field[f].dir[d]->n[j]);
  return same;
}

/* patches of one direction with the wanted colour, in at most a few runs that go together: only the ends of a line differ */
static PetscInt LocalRun(const LocalPlan *p, int d, PetscInt color, PetscInt *next, PetscInt end)
{
  PetscInt count = 0, i = *next;

  for (; i < end; i++) {
    if (p->desc.field[0].dir[d]->cell[i] % 2 != color) continue;
    if (count && !LocalGoTogether(p, d, i, *next)) break;
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

/* the next batch of patches; how many, 0 behind the last */
static int LocalNextBatch(LocalPatches *patches, PetscInt patch[3][VL])
{
  LocalPatches q = *patches; /* in registers */
  int          count;

  for (count = 0; count < VL && q.at[2] < q.count[2]; count++) {
    for (int d = 0; d < 3; d++) patch[d][count] = q.start[d] + 2 * q.at[d];
    q.at[0] += q.step;
    LocalSkipRows(&q);
  }
  *patches = q;
  return count;
}

static void LocalBatch(LocalPlan *p, PatchFDPatchOp operation, int count, const PetscInt patch[3][VL], REAL omega, PetscBool zero, REAL *x,
                       const REAL *b, REAL *r)
{
  if (p->fields) FieldsBatch(p->fields, operation, count, patch, omega, zero, x, b, r);
  else SeparableBatch(p->separable, operation, count, patch, omega, zero, x, b, r);
}

static PetscLogDouble LocalFlops(const LocalPlan *p, PatchFDPatchOp operation, const PetscInt patch[3][VL], PetscBool zero)
{
  const PatchFDPatches *const *dir = p->desc.field[0].dir;

  if (p->fields) return FieldsFlops(p->fields, operation, patch, zero);
  return SeparableFlops(p->separable, operation, (const PetscInt[]){dir[0]->n[patch[0][0]], dir[1]->n[patch[1][0]], dir[2]->n[patch[2][0]]},
                        p->separable->dir[0].parity, zero);
}

/* all patches of such runs: they have the same size */
static PetscErrorCode LocalRuns(LocalPlan *p, PatchFDPatchOp operation, LocalPatches *q, PetscReal omega, PetscBool zero, void *x,
                                const void *b, void *r)
{
  PetscInt       patch[3][VL];
  PetscInt64     total = 0;
  int            count;
  PetscLogDouble flops = 0;

  PetscFunctionBegin;
  q->at[1] = q->at[2] = 0;
  q->at[0]            = LocalRowStart(q);
  LocalSkipRows(q);
  while ((count = LocalNextBatch(q, patch))) {
    LocalBatch(p, operation, count, (const PetscInt(*)[VL])patch, (REAL)omega, zero, (REAL *)x, (const REAL *)b, (REAL *)r);
    if (!total) flops = LocalFlops(p, operation, (const PetscInt(*)[VL])patch, zero);
    total += count;
  }
  PetscCall(PetscLogFlops((PetscLogDouble)total * flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LocalColor(LocalPlan *p, PatchFDPatchOp operation, const PatchFDColor *color, const PatchFDRange patches,
                                 PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  LocalPatches q = {.step = color->phase == PATCHFD_ALL_PHASES ? 1 : p->desc.nphase, .phase = color->phase};

  PetscFunctionBegin;
  q.start[2] = patches[2][0];
  while ((q.count[2] = LocalRun(p, 2, color->parity[2], &q.start[2], patches[2][1]))) {
    q.start[1] = patches[1][0];
    while ((q.count[1] = LocalRun(p, 1, color->parity[1], &q.start[1], patches[1][1]))) {
      q.start[0] = patches[0][0];
      while ((q.count[0] = LocalRun(p, 0, color->parity[0], &q.start[0], patches[0][1]))) {
        PetscCall(LocalRuns(p, operation, &q, omega, zero, x, b, r));
        q.start[0] += 2 * q.count[0];
      }
      q.start[1] += 2 * q.count[1];
    }
    q.start[2] += 2 * q.count[2];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* colours that differ in x only, from the first one on: they go through a row together */
static PetscInt LocalColorsOfRow(PetscInt ncolors, const PatchFDColor colors[])
{
  return ncolors > 1 && colors[1].parity[1] == colors[0].parity[1] && colors[1].parity[2] == colors[0].parity[2] &&
             colors[1].parity[0] != colors[0].parity[0]
         ? 2
         : 1;
}

/*
  Read what layer k of these patches has and the one below it has not, row by row, as the memory is quickest: patches, whose rows are short
  and far apart, wait for each piece of them
*/
static void LocalReadLayer(const LocalPlan *p, const PatchFDRange patches, PetscInt k, const REAL *x)
{
  const PatchFDBox *box = &p->desc.field[0].box;
  PetscInt          lo[3], end[3];

  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd   = p->desc.field[0].dir[d];
    const PetscInt        from = d < 2 ? patches[d][0] : k, to = d < 2 ? patches[d][1] - 1 : k;

    lo[d]  = PetscMax(d < 2 ? pd->first[from] - 1 : pd->first[k] + pd->n[k] / 2, box->lo[d]);
    end[d] = PetscMin(pd->first[to] + pd->n[to] + 1, box->lo[d] + box->n[d]);
  }
  for (PetscInt z = lo[2]; z < end[2]; z++)
    for (PetscInt y = lo[1]; y < end[1]; y++)
      for (PetscInt i = lo[0]; i < end[0]; i += 64 / REAL_BYTES) (void)*(const volatile REAL *)(x + PatchFDBoxNode(box, i, y, z));
}

/*
  The colours one after another, but layer by layer in z, so that a layer stays in the cache for all of its colours.  A patch reads what
  its neighbours write and no more: colours of one parity in z do not see each other's layers, and one of the other parity follows a layer
  behind.
*/
static PetscErrorCode LocalLayers(LocalPlan *p, PatchFDPatchOp operation, PetscInt ncolors, const PatchFDColor colors[],
                                  const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  PetscInt behind = 0;

  PetscFunctionBegin;
  for (PetscInt c = 1; c < ncolors; c++) behind += colors[c].parity[2] != colors[c - 1].parity[2];
  for (PetscInt slot = patches[2][0]; slot < patches[2][1] + behind; slot++) {
    if (slot < patches[2][1] && !p->stencil) {
      LocalReadLayer(p, patches, slot, (const REAL *)b);
      LocalReadLayer(p, patches, slot, (const REAL *)x);
    }
    for (PetscInt c = 0, next, k = slot; c < ncolors; c = next) {
      const PatchFDRange layer = {{patches[0][0], patches[0][1]}, {patches[1][0], patches[1][1]}, {k, k + 1}};

      next = c + (p->stencil ? LocalColorsOfRow(ncolors - c, colors + c) : 1);
      if (k >= patches[2][0] && k < patches[2][1] && p->desc.field[0].dir[2]->cell[k] % 2 == colors[c].parity[2]) {
        if (p->stencil) StencilLayer(p->stencil, next - c, colors + c, layer, k, (REAL)omega, (REAL *)x, (const REAL *)b);
        else PetscCall(LocalColor(p, operation, &colors[c], layer, omega, (PetscBool)(zero && c == 0), x, b, r));
      }
      if (next < ncolors) k -= colors[next].parity[2] != colors[c].parity[2];
    }
  }
  if (p->stencil)
    PetscCall(PetscLogFlops((PetscLogDouble)PatchFDRangeSize(patches) * ncolors / (p->desc.field[0].dir[2]->npatch > 1 ? 8 : 4) *
                            StencilFlops(p->stencil)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* layers pay where the patches of a colour in one fill many batches; linear elements have no batches */
static PetscBool LocalGoesByLayers(const LocalPlan *p, PatchFDPatchOp operation, const PatchFDRange patches)
{
  const PetscInt many = 8 * VL;

  if (!p->separable || p->separable->discontinuous) return PETSC_FALSE;
  if (operation != PATCHFD_OP_BOUNDARY && operation != PATCHFD_OP_FUSED) return PETSC_FALSE;
  return (PetscBool)(p->stencil || (patches[0][1] - patches[0][0]) * (patches[1][1] - patches[1][0]) / 4 >= many);
}

static PetscErrorCode LocalApply(void *plan, PatchFDPatchOp operation, PetscInt ncolors, const PatchFDColor colors[],
                                 const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  LocalPlan *p = (LocalPlan *)plan;

  PetscFunctionBegin;
  if (LocalGoesByLayers(p, operation, patches)) PetscCall(LocalLayers(p, operation, ncolors, colors, patches, omega, zero, x, b, r));
  else
    for (PetscInt i = 0; i < ncolors; i++)
      PetscCall(LocalColor(p, operation, &colors[i], patches, omega, (PetscBool)(zero && i == 0), x, b, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
