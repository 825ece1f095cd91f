/*
  PCPATCHMG: the application of a cycle.  PCMG does it; here is what it needs for that, and on a GPU the recording that takes its place.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>
#include "patchmg.h"
#include <petsc/private/kspimpl.h>
#include <petsc/private/logimpl.h>

/* otherwise PCMG sets up the smoother of the finest level anew although the cycle is reused */
PetscErrorCode PCPatchMGSetReuse_Private(PC pc)
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  PetscFunctionBegin;
  if (!mg->levels) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PATCHFD_REUSE_INNER(pc, mg->levels[mg->nlevels - 1]->smoothd->pc));
  PetscCall(PATCHFD_REUSE_INNER(pc, mg->levels[mg->nlevels - 1]->smoothu->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyRichardson_PatchMG(PC pc, Vec b, Vec x, Vec w, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt its,
                                         PetscBool zeroguess, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(PCPatchMGSetReuse_Private(pc));
  PetscCall(PATCHMG(pc)->applyrichardson(pc, b, x, w, rtol, abstol, dtol, its, zeroguess, outits, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool PCPatchMGCycleIsFree_Private(PC pc)
{
  return (PetscBool)(pc->ops->applyrichardson == PCApplyRichardson_PatchMG);
}

void PCPatchMGFreeCycle_Private(PC pc)
{
  if (PCPatchMGCycleIsFree_Private(pc)) return;
  PATCHMG(pc)->applyrichardson = pc->ops->applyrichardson;
  pc->ops->applyrichardson     = PCApplyRichardson_PatchMG;
}

/*
  Before 3.26 PCMG lets a pre-smoother that is not the post-smoother, too, start from zero wherever it is: also where a W-cycle comes to a
  level for the second time, and where the transpose ends with it.
*/
PetscErrorCode PCPatchMGSetGuess_Private(PC pc, PetscBool transpose)
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  PetscFunctionBegin;
  if (PETSC_VERSION_GE(3, 26, 0)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 1; l < mg->nlevels; l++) {
    const PetscBool again = (PetscBool)(mg->am == PC_MG_MULTIPLICATIVE && l + 1 < mg->nlevels && mg->levels[l + 1]->cycles > 1);

    if (transpose || again) PetscCall(KSPSetInitialGuessNonzero(mg->levels[l]->smoothd, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchMGForget_Private(PC pc)
{
  PatchMGRecord *r = &PATCHMG(pc)->record;

  PetscFunctionBegin;
  if (r->record) PetscCall((*r->kern->recorddestroy)(&r->record));
  PetscCall(VecDestroy(&r->vb));
  PetscCall(VecDestroy(&r->vx));
  PetscCall(PetscFree(r->key));
  PetscCall(PetscMemzero(r, sizeof(*r)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what can be recorded ---- */

/*
  May the cycle be recorded?  Only if ranks exchange without the host, if nothing in it waits for a result or leaves the kernels of this
  library, and if all that it depends on is known: KSPRICHARDSON that hands fixed numbers of steps to PCPATCHFD, matrix-free operators and
  transfer, as they were made. The lists below are in the order in which KSPSolve() and KSPSolve_Richardson() look at these things.
*/
static PetscErrorCode PCPatchMGCanRecordMat(Mat A, PatchFDKernels kern, PetscBool *can)
{
  Mat_Box     *m;
  MatNullSpace null, nullt;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(A, &m));
  PetscCall(MatGetNullSpace(A, &null));
  PetscCall(MatGetTransposeNullSpace(A, &nullt));
  PetscCall(MatBoxIsOwn(A, can));
  *can = (PetscBool)(*can && m && (m->nullspace || (!null && !nullt))); /* those of singular operators are not there during a cycle */
  *can = (PetscBool)(*can && DMBoxExchangesOnDevice(m->dm, kern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchMGCanRecordSolver(KSP ksp, PatchFDKernels kern, PetscBool *can)
{
  const PetscBool views = (PetscBool)(ksp->view || ksp->viewPre || ksp->viewRate || ksp->viewMat || ksp->viewPMat || ksp->viewRhs ||
                                      ksp->viewSol || ksp->viewMatExp || ksp->viewEV || ksp->viewSV || ksp->viewEVExp ||
                                      ksp->viewFinalRes || ksp->viewPOpExp || ksp->convergedreasonviewer || ksp->numberreasonviews);
  /* which looks at the solver, once */
  const PetscBool quiet = (PetscBool)(!ksp->pc->ops->presolve || ksp->pc->ops->presolve == PCPreSolve_CheckKrylov);
  const PetscBool hooks = (PetscBool)(PATCHFD_KSP_HOOKS(ksp) || !quiet || ksp->pc->ops->postsolve || (ksp->dmActive & KSP_DMACTIVE_RHS));
  const PetscBool ready = (PetscBool)(ksp->setupstage == KSP_SETUP_NEWRHS && ksp->pc->setupcalled);
  const PetscBool fixed = (PetscBool)(ksp->normtype == KSP_NORM_NONE && ksp->converged == KSPConvergedSkip && ksp->max_it > 0 &&
                                      !ksp->numbermonitors);
  PetscReal       scale;
  PetscBool       selfscale;
  Mat             A, P;

  PetscFunctionBegin;
  *can = PETSC_FALSE;
  if (views || hooks || !ready || !fixed || ksp->guess || ksp->guess_knoll) PetscFunctionReturn(PETSC_SUCCESS);
#if PETSC_VERSION_LT(3, 26, 0)
  PetscCall(KSPGetDiagonalScale(ksp, &selfscale));
  if (selfscale) PetscFunctionReturn(PETSC_SUCCESS);
#endif
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPRICHARDSON, can));
  if (*can) PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCPATCHFD, can));
  if (*can) PetscCall(PCPatchFDCanRecord(ksp->pc, can));
  if (!*can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPRichardsonGetScale_Private(ksp, &scale, &selfscale));
  *can = (PetscBool)(scale == 1 && !selfscale);
  PetscCall(PCGetOperators(ksp->pc, &A, &P));
  if (*can) PetscCall(PCPatchMGCanRecordMat(A, kern, can));
  if (*can) PetscCall(PCPatchMGCanRecordMat(P, kern, can));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchMGCanRecord(PC pc, PatchFDKernels kern, PetscBool *can)
{
  PC_MG *mg = (PC_MG *)pc->data;

  PetscFunctionBegin;
  *can = (PetscBool)(PATCHMG(pc)->graph && kern->recordbegin && !PetscLogGpuTimeFlag && !PetscLogGpuEnergyFlag &&
                     !PetscLogGpuEnergyMeterFlag);
  for (PetscInt l = 0; l < mg->nlevels && *can; l++) {
    PC_MG_Levels *level = mg->levels[l];

    PetscCall(PCPatchMGCanRecordSolver(level->smoothd, kern, can));
    if (*can && level->smoothu != level->smoothd) PetscCall(PCPatchMGCanRecordSolver(level->smoothu, kern, can));
    if (l == 0 || !*can) continue;
    *can = (PetscBool)(level->residual == PCMGResidualDefault && level->A && !level->cr);
    if (*can) PetscCall(PCPatchMGCanRecordMat(level->A, kern, can));
    if (*can) PetscCall(MatTransferIsOwn(level->interpolate, can));
    if (*can) PetscCall(MatTransferIsOwn(level->restrct, can));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the key: everything that a cycle which may be recorded depends on, apart from b and x ---- */

enum {
  PATCHMG_KEY_LEVEL = 32 /* numbers a level, at most */
};

static void PCPatchMGKeyObject(const void *obj, PetscInt64 *key, size_t *n)
{
  key[(*n)++] = obj ? (PetscInt64)((PetscObject)obj)->id : 0;
}

/* with its contents */
static void PCPatchMGKeyState(const void *obj, PetscInt64 *key, size_t *n)
{
  PCPatchMGKeyObject(obj, key, n);
  key[(*n)++] = obj ? (PetscInt64)((PetscObject)obj)->state : 0;
}

static PetscErrorCode PCPatchMGGetKey(PC pc, PetscInt64 **key, size_t *size)
{
  const PC_MG *mg = (const PC_MG *)pc->data;
  PetscInt64  *list;
  size_t       n = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 + PATCHMG_KEY_LEVEL * mg->nlevels, key));
  list      = *key;
  list[n++] = mg->am;
  list[n++] = mg->cyclesperpcapply;
  for (PetscInt l = 0; l < mg->nlevels; l++) {
    const PC_MG_Levels *level  = mg->levels[l];
    const KSP           ksp[2] = {level->smoothd, level->smoothu};

    list[n++] = level->cycles;
    /* PCMG sets that of the coarsest level in its first application, and does not use it */
    if (l > 0) PCPatchMGKeyState(level->A, list, &n);
    PCPatchMGKeyState(level->interpolate, list, &n);
    PCPatchMGKeyState(level->restrct, list, &n);
    PCPatchMGKeyObject(level->r, list, &n);
    if (l < mg->nlevels - 1) {
      PCPatchMGKeyObject(level->b, list, &n);
      PCPatchMGKeyObject(level->x, list, &n);
    }
    for (int i = 0; i < 2; i++) {
      PCPatchMGKeyObject(ksp[i], list, &n);
      list[n++] = ksp[i]->max_it;
      list[n++] = ksp[i]->guess_zero;
      list[n++] = ksp[i]->guess_not_read;
      PCPatchMGKeyState(ksp[i]->pc, list, &n);
      PCPatchMGKeyState(ksp[i]->pc->mat, list, &n);
      PCPatchMGKeyState(ksp[i]->pc->pmat, list, &n);
    }
  }
  *size = n * sizeof(PetscInt64);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* more than this many unknowns keep the GPU busy while the host launches: copies into a recording's own vectors would cost more than it
   saves */
#define PATCHMG_RECORD_COPIES 10000000

/* the arrays, on the device from now on: what a recording writes must have been allocated before */
static PetscErrorCode PCPatchMGGetArrays(Vec b, Vec x, PatchFDKernels kern, const void **ab, void **ax)
{
  const void *a;
  void       *w;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(b, kern, &a));
  PetscCall(PatchFDVecGetArrayWrite(x, kern, &w));
  *ab = a;
  *ax = w;
  PetscCall(PatchFDVecRestoreArrayWrite(x, kern, &w));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* does PCPATCHFD solve on this level, with kernels alone, for a singular operator whose null space is no other than the matrix says? */
static PetscErrorCode PCPatchMGIsSingular(KSP ksp, PetscBool *singular)
{
  Mat       A;
  Mat_Box  *m;
  PetscBool kernels;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCPATCHFD, singular));
  if (!*singular) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCPatchFDCanRecord(ksp->pc, &kernels));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatBoxFind(A, &m));
  *singular = (PetscBool)(kernels && m && m->nullspace);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What a cycle does on a singular operator needs no null spaces: residuals are in the range, restriction leaves them in that of the coarser
  operator, since it maps one null space to the other, and patches and the coarsest mesh are solved by pseudo-inverses where they have a
  null space.  But KSPSolve() would remove it from all right-hand sides and corrections, by copies and by inner products that the host
  waits for, and KSPRICHARDSON would not leave its steps to the PC. So matrices are without it during a cycle: null[] gets both that they
  have, the matrix's and its transpose's, and gives them back. Pointers are exchanged, without references, so that nobody can tell
  afterwards
*/
static PetscErrorCode PCPatchMGExchangeNullSpaces(PC pc, MatNullSpace null[][2])
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < mg->nlevels; l++) {
    PetscBool singular;
    Mat       A;

    PetscCall(PCPatchMGIsSingular(mg->levels[l]->smoothd, &singular));
    if (!singular) continue;
    PetscCall(PCGetOperators(mg->levels[l]->smoothd->pc, &A, NULL));
    const MatNullSpace now[2] = {A->nullsp, A->transnullsp};

    A->nullsp      = null[l][0];
    A->transnullsp = null[l][1];
    null[l][0]     = now[0];
    null[l][1]     = now[1];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG's cycle or its transpose */
static PetscErrorCode PCPatchMGCycle(PC pc, PetscErrorCode (*apply)(PC, Vec, Vec), Vec b, Vec x)
{
  PC_MG *mg = (PC_MG *)pc->data;
  MatNullSpace(*null)[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(mg->nlevels, &null));
  PetscCall(PCPatchMGExchangeNullSpaces(pc, null));
  PetscCall(PCPatchMGSetReuse_Private(pc));
  /* a cycle that is reused is that of the old matrix */
  if (pc->reusepreconditioner) PetscCall(PCPatchFDExchange(mg->levels[mg->nlevels - 1]->smoothd->pc));
  ierr = (*apply)(pc, b, x);
  if (pc->reusepreconditioner) PetscCall(PCPatchFDExchange(mg->levels[mg->nlevels - 1]->smoothd->pc));
  if (ierr && mg->levels[mg->nlevels - 1]->b == b) mg->levels[mg->nlevels - 1]->b = NULL; /* only lent: PCMG would destroy it next time */
  PetscCall(PCPatchMGExchangeNullSpaces(pc, null));
  PetscCall(PetscFree(null));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* smoothers whose settings have changed would be set up inside the cycle, which would then differ from the next one */
static PetscErrorCode PCPatchMGSetUpSmoothers(PC pc)
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < mg->nlevels; l++) {
    const KSP ksp[2] = {mg->levels[l]->smoothd, mg->levels[l]->smoothu};

    for (int i = 0; i < 2; i++)
      if (ksp[i]->setupstage == KSP_SETUP_NEWRHS && !ksp[i]->pc->setupcalled) PetscCall(PCSetUp(ksp[i]->pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is there a cycle to record, or to replay, for these solvers?  If they have changed, what was recorded is forgotten. */
static PetscErrorCode PCPatchMGIsKnown(PC pc, PatchFDKernels kern, PetscBool *known)
{
  PatchMGRecord *r    = &PATCHMG(pc)->record;
  PetscInt64    *key  = NULL;
  size_t         size = 0;
  PetscBool      can;

  PetscFunctionBegin;
  if (PATCHMG(pc)->graph && kern->recordbegin) PetscCall(PCPatchMGSetUpSmoothers(pc));
  PetscCall(PCPatchMGCanRecord(pc, kern, &can));
  if (can) PetscCall(PCPatchMGGetKey(pc, &key, &size));
  *known = (PetscBool)(can && r->kern == kern && r->keysize == size);
  if (*known) PetscCall(PetscMemcmp(r->key, key, size, known));
  if (*known) {
    PetscCall(PetscFree(key));
    *known = (PetscBool)!r->failed;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCPatchMGForget_Private(pc));
  if (can) {
    r->kern    = kern;
    r->key     = key;
    r->keysize = size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The finest smoothers hold the vectors of the last cycle, perhaps as the last ones who do: they let go of them in the next cycle,
   and memory that is freed there would end a recording. */
static PetscErrorCode PCPatchMGHoldVectors(PC pc, Vec last[4])
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  PetscFunctionBegin;
  PetscCall(KSPGetRhs(mg->levels[mg->nlevels - 1]->smoothd, &last[0]));
  PetscCall(KSPGetSolution(mg->levels[mg->nlevels - 1]->smoothd, &last[1]));
  PetscCall(KSPGetRhs(mg->levels[mg->nlevels - 1]->smoothu, &last[2]));
  PetscCall(KSPGetSolution(mg->levels[mg->nlevels - 1]->smoothu, &last[3]));
  for (int i = 0; i < 4; i++) PetscCall(PetscObjectReference((PetscObject)last[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The first application after a change makes plans and work arrays.  The second is recorded, for the arrays that it is given: PCSINGLE and
  CG always give the same.  If the next one brings others, the recording is made again with vectors of its own.
*/
static PetscErrorCode PCPatchMGReplay(PC pc, Vec b, Vec x)
{
  PatchMGRecord *r = &PATCHMG(pc)->record;
  PatchFDKernels kern;
  PetscBool      known;
  const void    *ab;
  void          *ax;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(b, &kern));
  PetscCall(PCPatchMGIsKnown(pc, kern, &known));
  if (!known) {
    PetscCall(PCPatchMGCycle(pc, PATCHMG(pc)->apply, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->record && !r->vb) {
    PetscCall(PCPatchMGGetArrays(b, x, kern, &ab, &ax));
    if ((ab != r->b || ax != r->x) && b->map->n > PATCHMG_RECORD_COPIES) {
      PetscCall(PCPatchMGCycle(pc, PATCHMG(pc)->apply, b, x));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (ab != r->b || ax != r->x) {
      PetscCall((*kern->recorddestroy)(&r->record));
      PetscCall(VecDuplicate(b, &r->vb));
      PetscCall(VecDuplicate(x, &r->vx));
    }
  }
  if (r->vb) PetscCall(VecCopy(b, r->vb));
  PetscCall(PCPatchMGGetArrays(r->vb ? r->vb : b, r->vx ? r->vx : x, kern, &r->b, &r->x));
  if (r->record) {
    PetscCall(PetscLogEventBegin(PATCHFD_Replay, pc, b, x, 0));
    PetscCall((*kern->recordreplay)(r->record));
    PetscCall(PetscLogEventEnd(PATCHFD_Replay, pc, b, x, 0));
  } else {
    Vec            last[4];
    PetscErrorCode ierr;

    PetscCall(PCPatchMGHoldVectors(pc, last));
    PetscCall((*kern->recordbegin)(&r->record));
    ierr = PCPatchMGCycle(pc, PATCHMG(pc)->apply, r->vb ? r->vb : b, r->vx ? r->vx : x);
    PetscCall((*kern->recordend)((PetscBool)!ierr, &r->record));
    for (int i = 0; i < 4; i++) PetscCall(VecDestroy(&last[i]));
    r->failed = (PetscBool)!r->record;
    PetscCall(ierr);
    if (r->failed) {
      PetscCall(PCPatchMGCycle(pc, PATCHMG(pc)->apply, b, x));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  if (r->vx) PetscCall(VecCopy(r->vx, x));
  else PetscCall(PetscObjectStateIncrease((PetscObject)x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* smoothers and interpolations bring in something of the null space */
static PetscErrorCode PCPatchMGRemoveNullSpace(PC pc, PetscBool transpose, Vec x)
{
  const PC_MG *mg = (const PC_MG *)pc->data;
  PetscBool    singular;
  MatNullSpace null = NULL;

  PetscFunctionBegin;
  PetscCall(PCPatchMGIsSingular(mg->levels[mg->nlevels - 1]->smoothd, &singular));
  if (singular && transpose) PetscCall(MatGetTransposeNullSpace(pc->mat, &null));
  if (singular && !transpose) PetscCall(MatGetNullSpace(pc->mat, &null));
  if (null) PetscCall(MatNullSpaceRemove(null, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_PatchMG(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PCPatchMGReplay(pc, b, x));
  PetscCall(PCPatchMGRemoveNullSpace(pc, PETSC_FALSE, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_PatchMG(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PCPatchMGSetGuess_Private(pc, PETSC_TRUE));
  PetscCall(PCPatchMGCycle(pc, PATCHMG(pc)->applytranspose, b, x));
  PetscCall(PCPatchMGRemoveNullSpace(pc, PETSC_TRUE, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
