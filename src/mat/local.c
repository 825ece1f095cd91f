/*
  The local solvers of an operator, on distributed arrays: vertex patches, and the whole box as one patch.

  On several ranks the work is done on ghosted arrays: each rank solves all patches that touch its unknowns, and the ghosts are refreshed between
  two colours, so that the iterates do not depend on the number of ranks.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>

/* ---- set-up ---- */

/*
  A colour is the parity of a patch's first cell in each direction, x fastest, and its phase, where neighbouring patches of one parity are coupled.
  Directions with one patch have one parity, and there is a second phase only where a parity has two patches in some direction.
*/
static void MatBoxMakeColors(Mat_Box *m)
{
  PetscInt n[3];

  m->ncolor = 0;
  m->nphase = 1;
  for (int d = 0; d < 3; d++) {
    n[d] = PetscMin(2, m->patches[d].npatch);
    if (m->form.A[d]->reach) m->nphase = 2;
  }
  for (PetscInt c = 0; c < n[0] * n[1] * n[2]; c++) {
    const PetscInt parity[3] = {c % n[0], c / n[0] % n[1], c / n[0] / n[1]};
    PetscBool      second    = PETSC_FALSE;

    for (int d = 0; d < 3; d++) second = (PetscBool)(second || parity[d] + 2 < m->patches[d].npatch);
    for (PetscInt phase = 0; phase < (second ? m->nphase : 1); phase++) m->color[m->ncolor++] = (PatchFDColor){.parity = {parity[0], parity[1], parity[2]}, .phase = phase};
  }
}

PetscErrorCode MatBoxLocalSetUp(Mat_Box *m, PatchFDKernels kern)
{
  const DM_Box    *box = (const DM_Box *)m->dm->data;
  PatchFDLocalDesc desc;

  PetscFunctionBegin;
  if (m->local[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  if (!m->havepatches) {
    for (int d = 0; d < 3; d++) PetscCall(PatchFDPatchesCreate(&box->field[0].line[d], m->form.M[d], m->form.A[d], &m->patches[d]));
    m->havepatches = PETSC_TRUE;
    MatBoxMakeColors(m);
  }
  desc.nphase = m->nphase;
  desc.box    = box->field[0].local;
  for (int d = 0; d < 3; d++) desc.dir[d] = &m->patches[d];
  DMBoxFreeNodes(&box->field[0], PETSC_TRUE, desc.read);
  PetscCall(kern->localcreate(&desc, &m->local[kern->id]));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A patch of one unknown has a boundary that is all there is to read, and the residual is the shorter sum (benchmarks/kernels) */
PatchFDPatchOp MatBoxLocalBest(const Mat_Box *m)
{
  for (int d = 0; d < 3; d++)
    for (PetscInt i = 0; i < m->patches[d].npatch; i++)
      if (m->patches[d].n[i] > 2) return PATCHFD_OP_BOUNDARY; /* two at a free end */
  return PATCHFD_OP_FUSED;
}

/* ---- colours on ghosted arrays ---- */

typedef struct {
  Mat_Box       *m;
  PatchFDKernels kern;
  PatchFDPatchOp operation;
  PetscReal      omega;
  PetscBool      zero; /* x is known to be zero */
  void          *x, *r;
  const void    *b;
} LocalStep;

/* the patches that touch this rank's unknowns */
static void LocalPatchRange(const Mat_Box *m, PatchFDRange r)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  for (int d = 0; d < 3; d++) {
    r[d][0] = PetscMax(0, box->owncells[d][0] - 1);
    r[d][1] = box->owncells[d][1] > box->owncells[d][0] ? PetscMin(m->patches[d].npatch, box->owncells[d][1]) : r[d][0];
  }
}

/*
  How many of these colours need no exchange between them: those that only differ in directions that are not split over ranks.  A rank has all the
  patches that its patches overlap in these directions; with two phases patches also see others beside them, so that nothing can be said.
*/
static PetscInt LocalColorsTogether(const Mat_Box *m, PetscInt n, const PatchFDColor colors[])
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  if (!box->halo) return n;
  if (m->nphase > 1) return 1;
  for (PetscInt i = 1; i < n; i++)
    for (int d = 0; d < 3; d++)
      if (box->processes[d] > 1 && colors[i].parity[d] != colors[0].parity[d]) return i;
  return n;
}

static PetscErrorCode LocalApply(const LocalStep *s, PetscInt n, const PatchFDColor colors[], const PatchFDRange patches)
{
  PetscFunctionBegin;
  PetscCall(s->kern->localapply(s->m->local[s->kern->id], s->operation, n, colors, patches, s->omega, s->zero, s->x, s->b, s->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LocalApplyAll(const LocalStep *s, PetscInt n, const PatchFDColor colors[])
{
  PatchFDRange all;

  PetscFunctionBegin;
  LocalPatchRange(s->m, all);
  PetscCall(LocalApply(s, n, colors, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same with an exchange of x: first the patches whose unknowns other ranks wait for (those that touch the outermost layers of cells on each side
  with a neighbour, as many as there are layers of ghosts), then, while those values travel, the others.
*/
static PetscErrorCode LocalApplyExchange(const LocalStep *s, PetscInt n, const PatchFDColor colors[])
{
  const DM_Box *box = (const DM_Box *)s->m->dm->data;
  PatchFDRange  inner;

  PetscFunctionBegin;
  LocalPatchRange(s->m, inner);
  for (int d = 0; d < 3; d++) {
    for (int side = 0; side < 2; side++) {
      PatchFDRange slab;

      if (side ? box->owncells[d][1] == box->cells[d] : box->owncells[d][0] == 0) continue;
      PetscCall(PetscMemcpy(slab, inner, sizeof(slab)));
      if (side) slab[d][0] = inner[d][1] = PetscMax(inner[d][0], inner[d][1] - box->ghost - 1);
      else slab[d][1] = inner[d][0] = PetscMin(inner[d][1], inner[d][0] + box->ghost + 1);
      PetscCall(LocalApply(s, n, colors, slab));
    }
  }
  PetscCall(DMBoxHaloBegin(s->m->dm, s->kern, s->x));
  PetscCall(LocalApply(s, n, colors, inner));
  PetscCall(DMBoxHaloEnd(s->m->dm, s->kern, s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

PetscErrorCode MatBoxLocalSweep(Mat_Box *m, PatchFDKernels kern, PatchFDPatchOp operation, PetscInt64 its, PetscInt n, const PatchFDColor colors[], PetscReal omega, PetscBool zero, const void *b,
                                void *x)
{
  DM_Box   *box      = (DM_Box *)m->dm->data;
  PetscBool separate = (PetscBool)(operation == PATCHFD_OP_SOLVE);
  LocalStep s        = {.m = m, .kern = kern, .operation = operation, .omega = omega, .zero = zero};
  void     *bl;

  PetscFunctionBegin;
  if (separate) PetscCall(DMBoxGetWork(m->dm, kern, DMBOX_WORK_R, &s.r));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, b, DMBOX_WORK_B, &bl));
  if (zero && box->halo) {
    PetscCall(DMBoxGetWork(m->dm, kern, DMBOX_WORK_X, &s.x));
    PetscCall(kern->zero(box->nlocal, s.x));
  } else {
    PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, x, DMBOX_WORK_X, &s.x));
    PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, x, DMBOX_WORK_X, &s.x));
  }
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, b, DMBOX_WORK_B, &bl));
  s.b = bl;
  for (PetscInt64 it = 0; it < its; it++) {
    for (PetscInt i = 0, step; i < n; i += step, s.zero = PETSC_FALSE) {
      step = separate ? 1 : LocalColorsTogether(m, n - i, &colors[i]);
      if (separate) {
        s.operation = PATCHFD_OP_RESIDUAL;
        PetscCall(LocalApplyAll(&s, step, &colors[i]));
        s.operation = PATCHFD_OP_SOLVE;
      }
      if (box->halo && (i + step < n || it + 1 < its)) PetscCall(LocalApplyExchange(&s, step, &colors[i]));
      else PetscCall(LocalApplyAll(&s, step, &colors[i]));
    }
  }
  PetscCall(DMBoxLocalToGlobal(m->dm, kern, s.x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLocalCorrect(Mat_Box *m, PatchFDKernels kern, PetscInt n, const PatchFDColor colors[], PetscReal omega, const void *r, void *x)
{
  LocalStep s = {.m = m, .kern = kern, .operation = PATCHFD_OP_SOLVE, .omega = omega};

  PetscFunctionBegin;
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, r, DMBOX_WORK_R, &s.r));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, r, DMBOX_WORK_R, &s.r));
  PetscCall(DMBoxGlobalToLocalOwned(m->dm, kern, x, DMBOX_WORK_X, &s.x)); /* updates only add to x: its ghosts need no values */
  PetscCall(LocalApplyAll(&s, n, colors));
  PetscCall(DMBoxLocalToGlobal(m->dm, kern, s.x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bytes of the one-dimensional matrices and vectors of all classes of patches, in the kernels' precision */
static size_t LocalBytes(const Mat_Box *m, PatchFDKernels kern)
{
  size_t numbers = 0;

  for (int d = 0; d < 3; d++) {
    for (PetscInt c = 0; c < m->patches[d].nclass; c++) {
      const size_t n = (size_t)m->patches[d].eigen[c].n, ext = (size_t)m->patches[d].eigen[c].ext;

      numbers += 3 * n * n + 2 * n * (n + 2 * ext) + 5 * n;
    }
  }
  return numbers * kern->size;
}

PetscErrorCode MatBoxLocalView(Mat_Box *m, PatchFDKernels kern, PetscViewer viewer)
{
  PetscInt n[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    for (PetscInt i = 0; i < m->patches[d].npatch; i++) n[d] = PetscMax(n[d], m->patches[d].n[i]);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " patches of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " unknowns "
                                   "in %" PetscInt_FMT " colours, %d bytes of 1D matrices\n",
                                   m->patches[0].npatch, m->patches[1].npatch, m->patches[2].npatch, n[0], n[1], n[2], m->ncolor, (int)LocalBytes(m, kern)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the whole box ---- */

static void DirectDescribe(const Mat_Box *m, PatchFDBoxSolveDesc *desc)
{
  const DMBoxField *f = &((const DM_Box *)m->dm->data)->field[0];

  for (int d = 0; d < 3; d++) {
    desc->dir[d]    = &m->whole[d];
    desc->first[d]  = f->free[d][0];
    desc->box.lo[d] = 0;
    desc->box.n[d]  = f->line[d].nnodes;
  }
}

PetscErrorCode MatBoxDirectSetUp(Mat_Box *m, PatchFDKernels kern)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  PatchFDBoxSolveDesc desc;

  PetscFunctionBegin;
  if (m->boxsolve[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  if (!m->havewhole) {
    for (int d = 0; d < 3; d++) PetscCall(PatchFDLineEigenCreate(&box->field[0].line[d], m->form.M[d], m->form.A[d], &m->whole[d]));
    if (box->halo && !m->natural) PetscCall(DMBoxCreateNaturalSF(m->dm, &m->natural));
    m->havewhole = PETSC_TRUE;
  }
  DirectDescribe(m, &desc);
  if (box->halo) {
    PetscCall(kern->malloc(PatchFDBoxSize(&desc.box), &m->whole_b[kern->id]));
    PetscCall(kern->malloc(PatchFDBoxSize(&desc.box), &m->whole_x[kern->id]));
  }
  PetscCall(kern->boxsolvecreate(&desc, &m->boxsolve[kern->id]));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse problems are small: every rank gathers the right-hand side, solves, and keeps what it owns */
PetscErrorCode MatBoxDirectSolve(Mat_Box *m, PatchFDKernels kern, const void *b, void *x)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  PatchFDBoxSolveDesc desc;
  PatchFDRange        own;
  void               *whole_b = m->whole_b[kern->id], *whole_x = m->whole_x[kern->id];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  if (box->halo) {
    DirectDescribe(m, &desc);
    DMBoxFreeNodes(&box->field[0], PETSC_FALSE, own);
    PetscCall(PetscSFBcastWithMemTypeBegin(m->natural, kern->datatype(), kern->memtype, b, kern->memtype, whole_b, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(m->natural, kern->datatype(), b, whole_b, MPI_REPLACE));
    PetscCall(kern->boxsolveapply(m->boxsolve[kern->id], whole_b, whole_x));
    PetscCall(kern->copy(own, &desc.box, whole_x, &box->field[0].global, x));
  } else PetscCall(kern->boxsolveapply(m->boxsolve[kern->id], b, x));
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows of fixed nodes, zero ---- */

PetscErrorCode MatBoxSolveFixed(Mat_Box *m, PatchFDKernels kern, PetscReal omega, const void *b, void *x)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield; i++) {
    const DMBoxField *f  = &box->field[i];
    const size_t      at = f->global0 * kern->size;

    PetscCall(kern->fixed(f->own, f->free, 1 - omega, &f->global, (char *)x + at, omega / m->c.identity, &f->global, (const char *)b + at));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxZero(Mat_Box *m, PatchFDKernels kern, void *x)
{
  PetscFunctionBegin;
  PetscCall(kern->zero(((const DM_Box *)m->dm->data)->nglobal, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
