/*
  PCPATCHMG: PCMG with the defaults that a DMBOX needs.  It is a PCMG in every respect (in the manner of PCGAMG: the type is set to PCMG
  and then renamed); only what PCMG would set by itself and what cannot work on matrix-free operators is replaced, just before
  PCMG sets up: the number of levels, Chebyshev and SOR on the levels, LU on the coarsest.
*/
#include <petsc/private/pcimpl.h>
#include <petsc/private/pcmgimpl.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petsc/private/kspimpl.h>
#include <petsc/private/logimpl.h>

/* on the GPU: the V-cycle as one recording of kernels, see PCApply_PatchMG() */
typedef struct {
  PatchFDKernels   k;
  void            *record;
  PetscObjectState state; /* of the solvers on the levels, when it was made */
  const void      *b;     /* the arrays that it works on */
  void            *x;
  Vec              vb, vx; /* they belong to these vectors, unless NULL */
} PatchMGRecord;

typedef struct {
  PetscBool     symmetric, graph;
  PatchMGRecord record;
  PetscErrorCode (*setfromoptions)(PC, PetscOptionItems), (*setup)(PC), (*apply)(PC, Vec, Vec), (*reset)(PC), (*destroy)(PC); /* PCMG's */
} PC_PatchMG;

#define PATCHMG(pc) ((PC_PatchMG *)((PC_MG *)(pc)->data)->innerctx)

/* as many levels as the mesh can be coarsened, unless the user chose */
static PetscErrorCode PCPatchMGSetLevels(PC pc)
{
  PetscBool isbox = PETSC_FALSE;
  PetscInt  n;

  PetscFunctionBegin;
  if (((PC_MG *)pc->data)->levels) PetscFunctionReturn(PETSC_SUCCESS);
  if (pc->dm) PetscCall(PetscObjectTypeCompare((PetscObject)pc->dm, DMBOX, &isbox));
  if (!isbox) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxGetNumCoarsenings(pc->dm, &n));
  PetscCall(PCMGSetLevels(pc, n + 1, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_PatchMG(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_PatchMG *p         = PATCHMG(pc);
  PetscBool   symmetric = p->symmetric, graph = p->graph, flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PATCHMG options");
  PetscCall(PetscOptionsBool("-pc_patchmg_symmetric", "Reverse the smoother after the coarse correction, for CG", "PCPatchMGSetSymmetric", symmetric, &symmetric, &flg));
  if (flg) PetscCall(PCPatchMGSetSymmetric(pc, symmetric));
  PetscCall(PetscOptionsBool("-pc_patchmg_graph", "On a GPU, replay the V-cycle as a graph", "PCPatchMGSetGraph", graph, &graph, &flg));
  if (flg) PetscCall(PCPatchMGSetGraph(pc, graph));
  PetscOptionsHeadEnd();
  PetscCall(PCPatchMGSetLevels(pc));
  PetscCall(p->setfromoptions(pc, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Richardson and patchfd in place of what PCMG chose for this level; anything else is the user's choice */
static PetscErrorCode PCPatchMGSetSmoother(KSP ksp, PetscBool coarsest, PetscBool reverse)
{
  PC        pc;
  PetscBool kspdefault, pcdefault;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &kspdefault, coarsest ? KSPPREONLY : KSPCHEBYSHEV, KSPCHEBYSHEV, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &pcdefault, PCSOR, coarsest ? PCLU : PCSOR, coarsest ? PCREDUNDANT : PCSOR, ""));
  if (!kspdefault || !pcdefault) PetscFunctionReturn(PETSC_SUCCESS);
  /* preonly would cost a reduction a cycle */
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(PCSetType(pc, PCPATCHFD));
  if (coarsest) PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_BOX));
  if (reverse) PetscCall(PCPatchFDSetOrder(pc, PC_PATCHFD_BACKWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchMGForget(PC pc)
{
  PatchMGRecord *r = &PATCHMG(pc)->record;

  PetscFunctionBegin;
  if (r->record) PetscCall((*r->k->recorddestroy)(&r->record));
  PetscCall(VecDestroy(&r->vb));
  PetscCall(VecDestroy(&r->vx));
  PetscCall(PetscMemzero(r, sizeof(*r)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_PatchMG(PC pc)
{
  PC_PatchMG *p = PATCHMG(pc);
  PetscInt    n;

  PetscFunctionBegin;
  PetscCall(PCPatchMGForget(pc));
  if (!pc->dm) {
    Mat_Box *m;

    PetscCall(MatBoxGet(pc->pmat, "PCPATCHMG without a DM", &m));
    PetscCall(PCSetDM(pc, m->dm));
  }
  PetscCall(PCPatchMGSetLevels(pc));
  PetscCall(PCMGGetLevels(pc, &n));
  if (!pc->setupcalled) {
    PC_MG_Levels **levels = ((PC_MG *)pc->data)->levels;

    if (p->symmetric) PetscCall(PCMGSetDistinctSmoothUp(pc));
    if (n == 1) { /* the only level is the coarsest, although PCMG calls it mg_levels_ */
      const char *prefix;

      PetscCall(PCGetOptionsPrefix(pc, &prefix));
      PetscCall(KSPSetOptionsPrefix(levels[0]->smoothd, prefix));
      PetscCall(KSPAppendOptionsPrefix(levels[0]->smoothd, "mg_coarse_"));
    }
    for (PetscInt l = 0; l < n; l++) {
      PetscCall(PCPatchMGSetSmoother(levels[l]->smoothd, (PetscBool)(l == 0), PETSC_FALSE));
      if (levels[l]->smoothu != levels[l]->smoothd) PetscCall(PCPatchMGSetSmoother(levels[l]->smoothu, (PetscBool)(l == 0), p->symmetric));
    }
  }
  PetscCall(p->setup(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- application ---- */

/*
  May the cycle be recorded?  It may if one rank does it all and if nothing in it waits for a result: fixed numbers of steps of PCPATCHFD on
  matrix-free operators.  `state` changes with every setting of the solvers on the levels, and with the operators.
*/
static PetscErrorCode PCPatchMGCanRecord(PC pc, PatchFDKernels k, PetscBool *can, PetscObjectState *state)
{
  PC_MG      *mg = (PC_MG *)pc->data;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  *can   = (PetscBool)(PATCHMG(pc)->graph && k->recordbegin && size == 1 && !PetscLogGpuTimeFlag);
  *state = 31 * (PetscObjectState)mg->am + mg->cyclesperpcapply;
  for (PetscInt l = 0; l < mg->nlevels && *can; l++) {
    PC_MG_Levels *level  = mg->levels[l];
    KSP           ksp[2] = {level->smoothd, level->smoothu};

    *state = 31 * *state + level->cycles;
    if (l > 0) PetscCall(PetscObjectTypeCompare((PetscObject)level->interpolate, MATSHELL, can));
    if (l > 0 && *can) PetscCall(PetscObjectTypeCompare((PetscObject)level->restrct, MATSHELL, can));
    for (int i = 0; i < 2 && *can; i++) {
      Mat          A;
      MatNullSpace null;
      PetscErrorCode (*get)(Mat, Mat_Box **);

      PetscCall(PetscObjectTypeCompare((PetscObject)ksp[i], KSPRICHARDSON, can));
      if (*can) PetscCall(PetscObjectTypeCompare((PetscObject)ksp[i]->pc, PCPATCHFD, can));
      if (!*can) break;
      PetscCall(PCGetOperators(ksp[i]->pc, NULL, &A));
      PetscCall(MatGetNullSpace(A, &null));
      PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatBoxGet_C", &get));
      *can   = (PetscBool)(get && !null && ksp[i]->normtype == KSP_NORM_NONE && ksp[i]->converged == KSPConvergedSkip && !ksp[i]->numbermonitors);
      *state = 31 * (31 * (31 * *state + ((PetscObject)ksp[i]->pc)->state) + ((PetscObject)A)->state) + ksp[i]->max_it;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* more than this many unknowns keep the GPU busy while the host launches: copies into a recording's own vectors would cost more than it saves */
#define PATCHMG_RECORD_COPIES 10000000

/* the arrays, on the device from now on: what a recording writes must have been allocated before */
static PetscErrorCode PCPatchMGGetArrays(Vec b, Vec x, PatchFDKernels k, const void **ab, void **ax)
{
  const void *a;
  void       *w;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(b, k, &a));
  PetscCall(PatchFDVecGetArrayWrite(x, k, &w));
  *ab = a;
  *ax = w;
  PetscCall(PatchFDVecRestoreArrayWrite(x, k, &w));
  PetscCall(PatchFDVecRestoreArrayRead(b, k, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The first application after a change makes plans and work arrays.  The second is recorded, for the arrays that it is given: PCSINGLE and CG always
  give the same.  If the next one brings others, the recording is made again with vectors of its own.
*/
static PetscErrorCode PCApply_PatchMG(PC pc, Vec b, Vec x)
{
  PC_PatchMG      *p = PATCHMG(pc);
  PatchMGRecord   *r = &p->record;
  PatchFDKernels   k;
  PetscObjectState state;
  PetscBool        can;
  const void      *ab;
  void            *ax;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(b, &k));
  PetscCall(PCPatchMGCanRecord(pc, k, &can, &state));
  if (!can || r->k != k || r->state != state) {
    PetscCall(PCPatchMGForget(pc));
    if (can) {
      r->k     = k;
      r->state = state;
    }
    PetscCall(p->apply(pc, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->record && !r->vb) {
    PetscCall(PCPatchMGGetArrays(b, x, k, &ab, &ax));
    if ((ab != r->b || ax != r->x) && b->map->n > PATCHMG_RECORD_COPIES) {
      PetscCall(p->apply(pc, b, x));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (ab != r->b || ax != r->x) {
      PetscCall((*k->recorddestroy)(&r->record));
      PetscCall(VecDuplicate(b, &r->vb));
      PetscCall(VecDuplicate(x, &r->vx));
    }
  }
  if (r->vb) PetscCall(VecCopy(b, r->vb));
  PetscCall(PCPatchMGGetArrays(r->vb ? r->vb : b, r->vx ? r->vx : x, k, &r->b, &r->x));
  if (r->record) {
    PetscCall((*k->recordreplay)(r->record));
  } else {
    PetscCall((*k->recordbegin)(&r->record));
    PetscCall(p->apply(pc, r->vb ? r->vb : b, r->vx ? r->vx : x));
    PetscCall((*k->recordend)(r->record));
  }
  if (r->vx) PetscCall(VecCopy(r->vx, x));
  else PetscCall(PetscObjectStateIncrease((PetscObject)x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_PatchMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCPatchMGForget(pc));
  PetscCall(PATCHMG(pc)->reset(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- setters, destruction, creation ---- */

static PetscErrorCode PCPatchMGSetGraph_PatchMG(PC pc, PetscBool graph)
{
  PetscFunctionBegin;
  PetscCall(PCPatchMGForget(pc));
  PATCHMG(pc)->graph = graph;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchMGGetGraph_PatchMG(PC pc, PetscBool *graph)
{
  PetscFunctionBegin;
  *graph = PATCHMG(pc)->graph;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchMGSetSymmetric_PatchMG(PC pc, PetscBool symmetric)
{
  PetscFunctionBegin;
  PetscCheck(!pc->setupcalled || PATCHMG(pc)->symmetric == symmetric, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE, "PCPATCHMG: -pc_patchmg_symmetric must be set before PCSetUp()");
  PATCHMG(pc)->symmetric = symmetric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchMGGetSymmetric_PatchMG(PC pc, PetscBool *symmetric)
{
  PetscFunctionBegin;
  *symmetric = PATCHMG(pc)->symmetric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_PatchMG(PC pc)
{
  PC_PatchMG *p = PATCHMG(pc);

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGSetSymmetric_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGGetSymmetric_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGSetGraph_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGGetGraph_C", NULL));
  PetscCall(PCPatchMGForget(pc));
  PetscCall(p->destroy(pc));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCPATCHMG - Geometric multigrid on a `DMBOX`: `PCMG` with `PCPATCHFD` smoothers and a direct solver on the coarsest mesh as defaults

  Options Database Keys:
+ -pc_patchmg_symmetric <bool> - reverse the order of the colours after the coarse correction, so that the V-cycle is symmetric, as `KSPCG` needs (default false)
. -pc_patchmg_graph <bool>     - replay the V-cycle as a CUDA graph on a GPU (default true)
- -pc_mg_*                     - all options of `PCMG`; `-mg_levels_*`, `-mg_levels_up_*` (with `-pc_patchmg_symmetric` or `-pc_mg_distinct_smoothup`) and `-mg_coarse_*` those of the levels

  Level: beginner

  Notes:
  The defaults: as many levels as the mesh can be halved; on each, one step of `KSPRICHARDSON` with `PCPATCHFD` before and one after
  the coarse correction; on the coarsest, `PCPATCHFD` with the whole box as one patch. That is the V-cycle of Algorithm 2.1 in
  C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU.

  A mesh that cannot be halved has one level: the direct solver, with the options prefix `mg_coarse_`.

  The mesh hierarchy comes from `KSPSetDM()`, or else from the matrix.

  On a GPU and one rank, a V-cycle of the default solvers is recorded as a CUDA graph in its second application and replayed from then
  on, until something is changed: kernels on coarse levels are shorter than their launches. `-log_view` then counts the events inside
  a V-cycle only for the applications that were not replayed; with `-log_view_gpu_time` nothing is recorded.

.seealso: `DMBOX`, `PCPATCHFD`, `PCMG`, `PCPatchMGSetSymmetric()`, `PCPatchMGSetGraph()`
M*/
PetscErrorCode PCCreate_PatchMG(PC pc)
{
  PC_PatchMG *p;

  PetscFunctionBegin;
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PetscObjectChangeTypeName((PetscObject)pc, PCPATCHMG));
  PetscCall(PetscNew(&p));
  ((PC_MG *)pc->data)->innerctx = p;
  p->graph                      = PETSC_TRUE;
  p->setfromoptions             = pc->ops->setfromoptions;
  p->setup                      = pc->ops->setup;
  p->apply                      = pc->ops->apply;
  p->reset                      = pc->ops->reset;
  p->destroy                    = pc->ops->destroy;
  pc->ops->presolve             = PCPreSolve_WarnOfSingle;
  pc->ops->setfromoptions       = PCSetFromOptions_PatchMG;
  pc->ops->setup                = PCSetUp_PatchMG;
  pc->ops->apply                = PCApply_PatchMG;
  pc->ops->reset                = PCReset_PatchMG;
  pc->ops->destroy              = PCDestroy_PatchMG;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGSetSymmetric_C", PCPatchMGSetSymmetric_PatchMG));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGGetSymmetric_C", PCPatchMGGetSymmetric_PatchMG));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGSetGraph_C", PCPatchMGSetGraph_PatchMG));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGGetGraph_C", PCPatchMGGetGraph_PatchMG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchMGSetSymmetric - Makes the V-cycle of a `PCPATCHMG` symmetric, by visiting the colours in reverse order after the coarse
  correction

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- symmetric - `PETSC_TRUE` for a symmetric V-cycle (default `PETSC_FALSE`)

  Options Database Key:
. -pc_patchmg_symmetric <bool> - make the V-cycle symmetric

  Level: beginner

  Notes:
  `KSPCG` needs a symmetric V-cycle; `KSPFGMRES` needs one to three iterations less without it.

  Must be called before `PCSetUp()`.

.seealso: `PCPATCHMG`, `PCPatchMGGetSymmetric()`, `PCPatchFDSetOrder()`
@*/
PetscErrorCode PCPatchMGSetSymmetric(PC pc, PetscBool symmetric)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, symmetric, 2);
  PetscTryMethod(pc, "PCPatchMGSetSymmetric_C", (PC, PetscBool), (pc, symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchMGGetSymmetric - Tells whether the V-cycle of a `PCPATCHMG` is made symmetric

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHMG`

  Output Parameter:
. symmetric - `PETSC_TRUE` if the smoother after the coarse correction is reversed

  Level: beginner

.seealso: `PCPATCHMG`, `PCPatchMGSetSymmetric()`
@*/
PetscErrorCode PCPatchMGGetSymmetric(PC pc, PetscBool *symmetric)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(symmetric, 2);
  PetscUseMethod(pc, "PCPatchMGGetSymmetric_C", (PC, PetscBool *), (pc, symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchMGSetGraph - Tells whether a `PCPATCHMG` on a GPU may record its V-cycle as a CUDA graph and replay it

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- graph - `PETSC_FALSE` to launch every kernel from the host each time (default `PETSC_TRUE`)

  Options Database Key:
. -pc_patchmg_graph <bool> - record and replay

  Level: intermediate

  Notes:
  Without effect on the host, on several ranks, and where the solvers on the levels are not the default ones.

  A recording ends, and a new one is made, when the operator, a setting of a `PCPATCHFD`, the number of steps on a level or the kind of cycle
  changes. After any other change to the solvers on the levels call this function again.

.seealso: `PCPATCHMG`, `PCPatchMGGetGraph()`
@*/
PetscErrorCode PCPatchMGSetGraph(PC pc, PetscBool graph)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, graph, 2);
  PetscTryMethod(pc, "PCPatchMGSetGraph_C", (PC, PetscBool), (pc, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchMGGetGraph - Tells whether a `PCPATCHMG` on a GPU may record its V-cycle and replay it

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHMG`

  Output Parameter:
. graph - `PETSC_TRUE` if it may

  Level: intermediate

.seealso: `PCPATCHMG`, `PCPatchMGSetGraph()`
@*/
PetscErrorCode PCPatchMGGetGraph(PC pc, PetscBool *graph)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(graph, 2);
  PetscUseMethod(pc, "PCPatchMGGetGraph_C", (PC, PetscBool *), (pc, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}
