/*
  Sweeps over the vertex patches of an operator, on distributed arrays.

  Kernels that go around rings work on the arrays of one rank as they are.  Others, and those of several ranks, work on ghosted arrays:
  each rank solves all patches that touch its unknowns, and the ghosts are refreshed between colours where they are read, so that the
  iterates do not depend on the number of ranks.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>

/* ---- colours on ghosted arrays ---- */

typedef struct {
  const Mat_Box     *m;
  const MatBoxLocal *local;
  PatchFDKernels     kern;
  void              *plan, *residual; /* of the patches, and of the operator, if that is what computes residuals */
  PatchFDPatchOp     operation;
  PetscReal          omega;
  PetscBool          zero;     /* x is known to be zero */
  PetscBool          wait;     /* b has no ghosts yet */
  PatchFDColor       first;    /* colour of the sweep */
  void              *x, *work; /* work: where residuals are computed */
  const void        *b, *r;
} LocalStep;

/*
  The split directions in which ghosts are exchanged before this colour, and how many.

  A patch that this rank solves in part for others, because it straddles a boundary between ranks in direction d, reads what patches beyond
  it have changed, which this rank does not solve.  Those have the other parity in d.  So it is enough to exchange in d when the colours'
  parity in d changes to one that some patch that straddles has.  Nodes that lie beyond the boundaries of several directions come through
  the rank that is beyond that of the last exchange, which by then has heard of them.  With two phases patches see others beside them, of
  their parity, too.  Around the ring of one rank there are layers of ghosts for both parities, so that every other change will do.
*/
static int LocalExchanges(const LocalStep *s, const PatchFDColor *before, const PatchFDColor *color, int dir[3])
{
  const DM_Box *box = (const DM_Box *)s->m->dm->data;
  int           n   = 0;

  for (int d = 0; d < 3 && box->halo && !s->local->wraps[s->kern->id]; d++) {
    if (!DMBoxHasGhosts(box, d)) continue;
    if (MatBoxLocalSingles(s->local, d)) {
      if (s->local->nphase > 1 || before->parity[d] != color->parity[d]) dir[n++] = d;
    } else if (DMBoxIsWideRing(box, d)) {
      if (before->parity[d] != color->parity[d] && color->parity[d] == s->first.parity[d]) dir[n++] = d;
    } else if (s->local->nphase > 1 || (before->parity[d] != color->parity[d] && DMBoxHaloIsStraddled(box, d, color->parity[d])))
      dir[n++] = d;
  }
  return n;
}

/*
  How many of these colours need no exchange between them.  Kernels that go layer by layer in the last direction have the last layer of a
  ring, which is of parity 1, after the first one
*/
static PetscInt LocalColorsTogether(const LocalStep *s, PetscInt n, const PatchFDColor colors[])
{
  const PetscBool ring = (PetscBool)(((const DM_Box *)s->m->dm->data)->field[0].line[2].turn > 0);
  int             dir[3];

  for (PetscInt i = 1; i < n; i++)
    if (LocalExchanges(s, &colors[i - 1], &colors[i], dir) || (ring && colors[i - 1].parity[2] > colors[i].parity[2])) return i;
  return n;
}

/*
  A colour as kernels know it, and its patches among these: false where there are none.  A ring whose number of cells is no multiple of the
  period of colours has the patches that remain, its last ones, in colours of their own, `parity` 2, 3, ...; image: of such a patch that one
  of a turn before, in a direction whose bit is set.  Colours count cells from the beginning of the mesh, kernels a turn more.
*/
static PetscBool LocalPart(const LocalStep *s, int image, PatchFDColor *color, PatchFDRange patches)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt  turn = ((const DM_Box *)s->m->dm->data)->field[0].line[d].turn, singles = MatBoxLocalSingles(s->local, d);
    const PetscBool single = (PetscBool)(singles && color->parity[d] >= 2), before = (PetscBool)(image >> d & 1);
    const PetscInt  first = single ? turn - singles + color->parity[d] - 2 : color->parity[d], cell = first + (before ? 0 : turn);

    if (before && !single) return PETSC_FALSE;
    if (!singles) continue;
    patches[d][0]    = PetscMax(patches[d][0], single ? cell : turn);
    patches[d][1]    = PetscMin(patches[d][1], single ? cell + 1 : 2 * turn - singles);
    color->parity[d] = cell % 2;
    if (color->phase >= 0) color->phase = (color->phase + first / 2 + cell / 2) % 2;
  }
  return (PetscBool)(PatchFDRangeSize((const PetscInt(*)[2])patches) > 0);
}

/* do two colours have their patches in the same ranges? */
static PetscBool LocalAlike(const LocalStep *s, const PatchFDColor *a, const PatchFDColor *b)
{
  for (int d = 0; d < 3; d++)
    if (MatBoxLocalSingles(s->local, d) && a->parity[d] != b->parity[d] && PetscMax(a->parity[d], b->parity[d]) >= 2) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscErrorCode LocalApply(const LocalStep *s, PetscInt n, const PatchFDColor colors[], const PatchFDRange patches)
{
  PetscFunctionBegin;
  for (PetscInt first = 0, next; first < n; first = next) {
    for (next = first + 1; next < n && LocalAlike(s, &colors[first], &colors[next]);) next++;
    for (int image = 0; image < 8; image++) {
      PatchFDColor color[PATCHFD_MAX_COLORS];
      PatchFDRange part;
      PetscBool    any = PETSC_FALSE;

      for (PetscInt i = first; i < next; i++) {
        color[i - first] = colors[i];
        PetscCall(PetscArraycpy(part, patches, 3));
        any = LocalPart(s, image, &color[i - first], part);
      }
      if (any)
        PetscCall(s->kern->localapply(s->plan, s->operation, next - first, color, (const PetscInt(*)[2])part, s->omega,
                                      (PetscBool)(s->zero && first == 0), s->x, s->b, (void *)s->r));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the patches that touch unknowns, and those beside them that the next colour reads around a ring; once each where kernels go around it */
static void LocalRange(const LocalStep *s, PatchFDRange r)
{
  const DM_Box *box = (const DM_Box *)s->m->dm->data;

  MatBoxLocalRange(s->m, s->local, r);
  for (int d = 0; d < 3; d++) {
    if (s->local->wraps[s->kern->id] && box->field[0].line[d].turn) r[d][0]++;
    else if (DMBoxIsWideRing(box, d) && !MatBoxLocalSingles(s->local, d)) {
      r[d][0]--;
      r[d][1]++;
    }
  }
}

static PetscErrorCode LocalApplyAll(const LocalStep *s, PetscInt n, const PatchFDColor colors[])
{
  PatchFDRange all;

  PetscFunctionBegin;
  LocalRange(s, all);
  PetscCall(LocalApply(s, n, colors, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the patches whose unknowns ranks beyond the boundaries of direction d wait for: those that touch the outermost layers of cells, as many
   as there are layers of ghosts */
static PetscErrorCode LocalApplySlabs(const LocalStep *s, PetscInt n, const PatchFDColor colors[], int d, PatchFDRange inner)
{
  const DM_Box *box = (const DM_Box *)s->m->dm->data;

  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) {
    PatchFDRange slab;

    if (side ? box->owncells[d][1] == box->field[0].line[d].ncells : box->owncells[d][0] == 0) continue;
    PetscCall(PetscMemcpy(slab, inner, sizeof(slab)));
    if (side) slab[d][0] = inner[d][1] = PetscMax(inner[d][0], inner[d][1] - box->ghost - 1);
    else slab[d][1] = inner[d][0] = PetscMin(inner[d][1], inner[d][0] + box->ghost + 1);
    PetscCall(LocalApply(s, n, colors, slab));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exchange of x, and of b as long as its ghosts are not here; in direction dir[0] under way while the patches `inner` are solved */
static PetscErrorCode LocalExchange(LocalStep *s, int ndir, const int dir[], PetscInt n, const PatchFDColor colors[],
                                    const PatchFDRange inner)
{
  void *const         array[2] = {s->x, (void *)s->b};
  const PetscInt      narray   = s->wait ? 2 : 1;
  const DMBoxHaloKind kind = s->operation == PATCHFD_OP_BOUNDARY && s->local->nphase == 1 && !s->wait ? DMBOX_HALO_FACES : DMBOX_HALO_SLAB;

  PetscFunctionBegin;
  for (int i = 0; i < ndir; i++) {
    PetscCall(DMBoxHaloStageBegin(s->m->dm, s->kern, kind, dir[i], narray, array));
    if (i == 0 && n) PetscCall(LocalApply(s, n, colors, inner));
    PetscCall(DMBoxHaloStageEnd(s->m->dm, s->kern, kind, dir[i], narray, array));
  }
  s->wait = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Colours, and then an exchange.  Of the last ones first the patches that other ranks wait for, and the others while values travel; those
  before must be done by then, unless they have the same parities in split directions.  Between GPUs that reach each other's memory values
  travel in less time than it takes to launch a kernel more, and around the rings of one rank nothing travels.
*/
static PetscErrorCode LocalApplyExchange(LocalStep *s, PetscInt n, const PatchFDColor colors[], int ndir, const int dir[])
{
  const DM_Box *box  = (const DM_Box *)s->m->dm->data;
  PetscInt      tail = n - 1;
  PatchFDRange  inner;

  PetscFunctionBegin;
  if (DMBoxExchangesOnDevice(s->m->dm, s->kern)) {
    PetscCall(LocalApplyAll(s, n, colors));
    PetscCall(LocalExchange(s, ndir, dir, 0, NULL, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscBool same = PETSC_TRUE; tail > 0; tail--) {
    for (int d = 0; d < 3; d++)
      same = (PetscBool)(same && (!DMBoxHasGhosts(box, d) || colors[tail - 1].parity[d] == colors[n - 1].parity[d]));
    if (!same || s->local->nphase > 1) break;
  }
  if (tail) PetscCall(LocalApplyAll(s, tail, colors));
  if (tail) s->zero = PETSC_FALSE;
  LocalRange(s, inner);
  PetscCall(LocalApplySlabs(s, n - tail, colors + tail, dir[0], inner));
  PetscCall(LocalExchange(s, ndir, dir, n - tail, colors + tail, (const PetscInt(*)[2])inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

/*
  The ghosted arrays.  From a zero guess only b has ghosts; where one direction is split, they travel with those of x before the first
  colour that reads them.
*/
static PetscErrorCode LocalGetArrays(LocalStep *s, const PatchFDColor *first, const void *b, void *x)
{
  DM            dm    = s->m->dm;
  const DM_Box *box   = (const DM_Box *)dm->data;
  int           split = 0, reads = s->local->nphase > 1;
  void         *array[2];

  PetscFunctionBegin;
  for (int d = 0; d < 3 && box->halo; d++) {
    split += DMBoxHasGhosts(box, d);
    if (DMBoxHasGhosts(box, d)) reads = reads || MatBoxLocalSingles(s->local, d) || DMBoxHaloIsStraddled(box, d, first->parity[d]);
  }
  if (s->local->wraps[s->kern->id]) {
    s->x = x;
    s->b = b;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (DMBoxIsAlone(box)) {
    PetscCall(DMBoxGlobalToLocalBegin(dm, s->kern, b, DMBOX_WORK_B, &array[1]));
    PetscCall(DMBoxGlobalToLocalEnd(dm, s->kern, b, DMBOX_WORK_B, &array[1]));
    if (s->zero && box->halo) PetscCall(DMBoxGlobalToLocalZero(dm, s->kern, x, PETSC_TRUE, DMBOX_WORK_X, &array[0]));
    else {
      PetscCall(DMBoxGlobalToLocalBegin(dm, s->kern, x, DMBOX_WORK_X, &array[0]));
      PetscCall(DMBoxGlobalToLocalEnd(dm, s->kern, x, DMBOX_WORK_X, &array[0]));
    }
    s->x = array[0];
    s->b = array[1];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMBoxGlobalToLocalOwned(dm, s->kern, b, DMBOX_WORK_B, &array[1]));
  if (s->zero && box->halo) {
    PetscCall(DMBoxGlobalToLocalZero(dm, s->kern, x, PETSC_TRUE, DMBOX_WORK_X, &array[0]));
    s->wait = (PetscBool)(split == 1 && !reads);
    if (!s->wait) PetscCall(DMBoxHaloBegin(dm, s->kern, 1, &array[1]));
    if (!s->wait) PetscCall(DMBoxHaloEnd(dm, s->kern, 1, &array[1]));
  } else {
    PetscCall(DMBoxGlobalToLocalOwned(dm, s->kern, x, DMBOX_WORK_X, &array[0]));
    PetscCall(DMBoxHaloBegin(dm, s->kern, 2, array));
    PetscCall(DMBoxHaloEnd(dm, s->kern, 2, array));
  }
  s->x = array[0];
  s->b = array[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual of the patches of a colour: b, as long as x is zero */
static PetscErrorCode LocalResidual(LocalStep *s, const PatchFDColor *color)
{
  PetscFunctionBegin;
  s->r = s->zero ? s->b : s->work;
  if (s->zero) PetscFunctionReturn(PETSC_SUCCESS);
  if (!s->residual) {
    s->operation = PATCHFD_OP_RESIDUAL;
    PetscCall(LocalApplyAll(s, 1, color));
    s->operation = PATCHFD_OP_SOLVE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, s->m->dm, 0, 0, 0));
  PetscCall(s->kern->operatorresidual(s->residual, color, s->x, s->b, s->work));
  PetscCall(PetscLogEventEnd(PATCHFD_Mult, s->m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operators by quadrature have metrics for the cells of their rank alone */
PetscBool MatBoxLocalTakesOperator(const MatBoxLocal *l)
{
  return (PetscBool)(!l->m->form.points && MatBoxLocalHasOperatorColors(l) && !DMBoxIsAround((const DM_Box *)l->m->dm->data));
}

PetscErrorCode MatBoxLocalSweep(MatBoxLocal *l, PatchFDKernels kern, PatchFDPrecision precision, PatchFDPatchOp operation, PetscInt64 its,
                                PetscInt n, const PatchFDColor colors[], PetscReal omega, PetscBool zero, const void *b, void *x)
{
  Mat_Box        *m        = l->m;
  void           *plan     = l->plan[kern->id][precision];
  const PetscBool separate = (PetscBool)(operation == PATCHFD_OP_SOLVE || operation == PATCHFD_OP_RESIDUAL);
  LocalStep s = {.m = m, .local = l, .kern = kern, .plan = plan, .operation = operation, .omega = omega, .zero = zero, .first = colors[0]};

  PetscFunctionBegin;
  if (l->fit[kern->id]) {
    PetscCall(MatBoxFitSweep(m, l, kern, its, n, colors, omega, zero, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (separate) PetscCall(DMBoxGetWork(m->dm, kern, DMBOX_WORK_R, &s.work));
  if (operation == PATCHFD_OP_RESIDUAL) {
    PetscCall(MatBoxGetGhostedOperator(m, kern, &s.residual));
    s.operation = PATCHFD_OP_SOLVE;
  }
  PetscCall(LocalGetArrays(&s, colors, b, x));
  for (PetscInt64 it = 0; it < its; it++) {
    for (PetscInt i = 0, step; i < n; i += step, s.zero = PETSC_FALSE) {
      int dir[3], ndir = 0;

      step = separate ? 1 : LocalColorsTogether(&s, n - i, &colors[i]);
      if (separate) PetscCall(LocalResidual(&s, &colors[i]));
      if (i + step < n || it + 1 < its) ndir = LocalExchanges(&s, &colors[i + step - 1], &colors[(i + step) % n], dir);
      if (ndir) PetscCall(LocalApplyExchange(&s, step, &colors[i], ndir, dir));
      else PetscCall(LocalApplyAll(&s, step, &colors[i]));
    }
  }
  if (!l->wraps[kern->id]) PetscCall(DMBoxLocalToGlobal(m->dm, kern, s.x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLocalCorrect(MatBoxLocal *l, PatchFDKernels kern, PatchFDPrecision precision, PetscInt n, const PatchFDColor colors[],
                                  PetscReal omega, const void *r, void *x)
{
  const Mat_Box *m    = l->m;
  void          *plan = l->plan[kern->id][precision];
  LocalStep      s    = {.m = m, .local = l, .kern = kern, .plan = plan, .operation = PATCHFD_OP_SOLVE, .omega = omega};

  PetscFunctionBegin;
  if (l->fit[kern->id]) {
    PetscCall(MatBoxFitCorrect(m, l, kern, n, colors, omega, r, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (l->wraps[kern->id]) {
    s.r = r;
    s.x = x;
    PetscCall(LocalApplyAll(&s, n, colors));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, r, DMBOX_WORK_R, &s.work));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, r, DMBOX_WORK_R, &s.work));
  s.r = s.work;
  PetscCall(DMBoxGlobalToLocalOwned(m->dm, kern, x, DMBOX_WORK_X, &s.x)); /* updates only add to x: its ghosts need no values */
  PetscCall(LocalApplyAll(&s, n, colors));
  PetscCall(DMBoxLocalToGlobal(m->dm, kern, s.x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
