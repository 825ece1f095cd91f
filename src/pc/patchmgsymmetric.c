/* PCPATCHMG's symmetric cycles: see patchmg.c for the rest */
#include <petsc/private/pcimpl.h>
#include <petsc/private/pcmgimpl.h>
#include <petscpatchfd.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include "patchmg.h"
#include <petsc/private/kspimpl.h>

/*
  The scale of a KSPRICHARDSON, and whether it takes its own at each step.  PETSc has no routine that tells, nor does it install the header
  of its data:
  that these begin as below is tried out first, and where they do not, nothing is claimed to be known.
*/
PetscErrorCode KSPRichardsonGetScale_Private(KSP ksp, PetscReal *scale, PetscBool *selfscale)
{
  typedef struct {
    PetscReal scale;
    PetscBool selfscale;
  } Richardson;
  static enum {
    UNTRIED,
    KNOWN,
    UNKNOWN
  } layout = UNTRIED;
  const Richardson *r;

  PetscFunctionBegin;
  if (layout == UNTRIED) {
    PetscBool known;
    KSP       probe;

    PetscCall(KSPCreate(PETSC_COMM_SELF, &probe));
    PetscCall(KSPSetType(probe, KSPRICHARDSON));
    r     = (const Richardson *)probe->data;
    known = (PetscBool)(r->scale == 1 && !r->selfscale);
    PetscCall(KSPRichardsonSetScale(probe, 0.375));
    known = (PetscBool)(known && r->scale == 0.375 && !r->selfscale);
    PetscCall(KSPRichardsonSetSelfScale(probe, PETSC_TRUE));
    layout = known && r->selfscale == PETSC_TRUE ? KNOWN : UNKNOWN;
    PetscCall(KSPDestroy(&probe));
  }
  r          = (const Richardson *)ksp->data;
  *scale     = layout == KNOWN ? r->scale : 1;
  *selfscale = layout == KNOWN ? r->selfscale : PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- symmetric cycles: the post-smoother is the adjoint of the pre-smoother ---- */

#define PRESMOOTHER "PCPatchMGPreSmoother" /* under this name a PC that is the adjoint of it keeps it */

/* x = S'b, where S stands for the steps of the pre-smoother from a zero guess */
static PetscErrorCode ApplySteps(PC pc, PetscErrorCode (*solve)(KSP, Vec, Vec), Vec b, Vec x)
{
  KSP down;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &down));
  PetscCall(VecSet(x, 0));
  PetscCall((*solve)(down, b, x));
  PetscCall(KSPCheckSolve(down, pc, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_Adjoint(PC pc, Vec b, Vec x)
{
  return ApplySteps(pc, KSPSolveTranspose, b, x);
}

static PetscErrorCode PCApplyTranspose_Adjoint(PC pc, Vec b, Vec x)
{
  return ApplySteps(pc, KSPSolve, b, x);
}

/* what reads its options last: before 3.25 a KSP does after its PC, since then before it */
#define LAST_READ(ksp) (PETSC_VERSION_LT(3, 25, 0) ? (PetscObject)(ksp) : (PetscObject)(ksp)->pc)

/* has the pre-smoother an adjoint?  linear: a fixed linear iteration, but for what is checked here */
static PetscErrorCode MirrorCheck(KSP down, PetscBool linear, PetscBool selfscale, const char *prefix)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)down);
  const char    *downprefix;

  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(down, &downprefix));
  PetscCheck(linear, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHMG: with -pc_patchmg_symmetric the post-smoother is the adjoint of the pre-smoother, which -%sksp_type %s has not: "
             "allowed are richardson, chebyshev and preonly, or choose the post-smoother with -%sksp_type",
             downprefix, ((PetscObject)down)->type_name, prefix);
  PetscCheck(!selfscale, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHMG: with -pc_patchmg_symmetric the post-smoother is the adjoint of the pre-smoother, which "
             "-%sksp_richardson_self_scale has not; use -%sksp_richardson_scale",
             downprefix, downprefix);
  PetscCheck(down->converged == KSPConvergedSkip || down->normtype == KSP_NORM_NONE, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHMG: with -pc_patchmg_symmetric the post-smoother is the adjoint of the pre-smoother, whose number of steps must be "
             "fixed: "
             "use -%sksp_convergence_test skip or -%sksp_norm_type none",
             downprefix, downprefix);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCMG reads the options of all pre-smoothers, and then those of the post-smoothers (-mg_levels_up_).  This is called in between, at the
  end of a pre-smoother's: whatever it is now, the post-smoother becomes its adjoint, and the options to come are changes to that.

  The pre-smoother makes I - S A of the error, the post-smoother is to make I - S' A of it.  Steps of Richardson's method with PCPATCHFD:
  the same number of the same steps, each with its colours in reverse.  Any other fixed linear iteration: one step x += S'(b - A x), by the
  transpose of the pre-smoother.

  Where no order is chosen, a PCPATCHFD before the coarse correction goes backward, and after it forward: so the first colour, the interiors
  of coarse cells, is next to the coarse correction on both sides, and CG converges faster than the other way round
  (doc/method/cycles.md).
*/
static PetscErrorCode PCPatchMGMirror(PetscObject obj, PETSC_UNUSED PatchFDOptionItems PetscOptionsObject, void *ctx)
{
  const PC     pc = (PC)ctx;
  const PC_MG *mg = (const PC_MG *)pc->data;
  PetscInt     l  = 1;
  KSP          down, up;
  const char  *prefix;
  PC           downpc, uppc;
  Mat_Box     *m = NULL;
  PetscBool    richardson, linear, patchfd, own, pcset, order, backward, selfscale = PETSC_FALSE;
  PetscReal    scale = 1;
  PetscInt     its;

  PetscFunctionBegin;
  while (l < mg->nlevels && LAST_READ(mg->levels[l]->smoothd) != obj) l++;
  if (l >= mg->nlevels) PetscFunctionReturn(PETSC_SUCCESS); /* it is a smoother no longer */
  down = mg->levels[l]->smoothd;
  up   = mg->levels[l]->smoothu;
  PetscCall(KSPGetPC(down, &downpc));
  PetscCall(KSPGetPC(up, &uppc));
  PetscCall(KSPGetOptionsPrefix(up, &prefix));
  PetscCall(PetscOptionsHasName(((PetscObject)up)->options, prefix, "-ksp_type", &own));
  PetscCall(PetscOptionsHasName(((PetscObject)up)->options, prefix, "-pc_type", &pcset));
  PetscCall(PetscOptionsHasName(((PetscObject)up)->options, prefix, "-pc_patchfd_order", &order));
  own = (PetscBool)(own || pcset); /* the post-smoother is of the user's own choice */
  PetscCall(PetscObjectTypeCompare((PetscObject)down, KSPRICHARDSON, &richardson));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)down, &linear, KSPRICHARDSON, KSPCHEBYSHEV, KSPPREONLY, ""));
  PetscCall(PetscObjectTypeCompare((PetscObject)downpc, PCPATCHFD, &patchfd));
  if (pc->pmat) PetscCall(MatBoxFind(pc->pmat, &m));
  backward = (PetscBool)(PATCHMG(pc)->symmetric && richardson && !order && m && pc->pmat->spd != PETSC_BOOL3_FALSE);
  PetscCall(PCPatchFDSetAutoOrder(downpc, backward ? PC_PATCHFD_ORDER_BACKWARD : PC_PATCHFD_ORDER_FORWARD));
  PetscCall(PCPatchFDSetAutoOrder(uppc, PC_PATCHFD_ORDER_FORWARD));
  if (!PATCHMG(pc)->symmetric) PetscFunctionReturn(PETSC_SUCCESS); /* but it was at an earlier set-up */
  PetscCall(KSPGetTolerances(down, NULL, NULL, NULL, &its));
  if (richardson) PetscCall(KSPRichardsonGetScale_Private(down, &scale, &selfscale));
  PetscCall(KSPSetNormType(up, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(up, KSPConvergedSkip, NULL, NULL));
  if (!own) PetscCall(MirrorCheck(down, linear, selfscale, prefix));
  if (richardson && patchfd) {
    PetscCall(KSPSetType(up, KSPRICHARDSON));
    PetscCall(KSPRichardsonSetScale(up, scale));
    PetscCall(KSPSetTolerances(up, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, its));
    PetscCall(PCPatchFDSetAdjoint(uppc, downpc));
  } else if (own) { /* it only begins with what the pre-smoother is */
    PetscCall(KSPSetType(up, ((PetscObject)down)->type_name));
    PetscCall(KSPSetTolerances(up, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, its));
    PetscCall(PCSetType(uppc, ((PetscObject)downpc)->type_name));
  } else {
    PetscCall(KSPSetType(up, KSPRICHARDSON));
    PetscCall(KSPRichardsonSetScale(up, 1));
    PetscCall(KSPSetTolerances(up, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
    PetscCall(PCSetType(uppc, PCSHELL));
    PetscCall(PCShellSetName(uppc, "adjoint of the pre-smoother"));
    PetscCall(PetscObjectCompose((PetscObject)uppc, PRESMOOTHER, (PetscObject)down));
    PetscCall(PCShellSetContext(uppc, down));
    PetscCall(PCShellSetApply(uppc, PCApply_Adjoint));
    PetscCall(PCShellSetApplyTranspose(uppc, PCApplyTranspose_Adjoint));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* not twice, if it is there from an earlier set-up */
PetscErrorCode PCPatchMGSetMirror_Private(KSP down, PC pc)
{
  const PetscObject obj = LAST_READ(down);

  PetscFunctionBegin;
  for (PetscInt i = 0; i < obj->noptionhandler; i++)
    if (obj->optionhandler[i] == PCPatchMGMirror) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectAddOptionsHandler(obj, PCPatchMGMirror, NULL, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what else a symmetric cycle needs, known when all is set up */
PetscErrorCode PCPatchMGCheckSymmetric_Private(PC pc)
{
  PC_MG         *mg = (PC_MG *)pc->data;
  PC             coarse;
  PCPatchFDType  type;
  PCPatchFDPatch patch;
  PCPatchFDOrder order;
  const char    *prefix;
  PetscBool      patchfd;

  PetscFunctionBegin;
  PetscCheck(mg->am == PC_MG_MULTIPLICATIVE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "PCPATCHMG: -pc_patchmg_symmetric makes V- and W-cycles symmetric, -pc_mg_type multiplicative; found -pc_mg_type %s",
             PCMGTypes[mg->am]);
  for (PetscInt l = 1; l < mg->nlevels; l++) {
    PetscObject down;
    PetscBool   exists = PETSC_TRUE;

    PetscCall(PetscObjectQuery((PetscObject)mg->levels[l]->smoothu->pc, PRESMOOTHER, &down));
    if (!down) continue;
    PetscCall(PCApplyTransposeExists(((KSP)down)->pc, &exists));
    PetscCall(KSPGetOptionsPrefix((KSP)down, &prefix));
    PetscCheck(exists, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
               "PCPATCHMG: with -pc_patchmg_symmetric the post-smoother is the adjoint of the pre-smoother, but -%spc_type %s has no "
               "transpose: "
               "choose another, or the post-smoother with -%sup_pc_type",
               prefix, ((PetscObject)((KSP)down)->pc)->type_name, prefix);
  }
  PetscCall(KSPGetPC(mg->levels[0]->smoothd, &coarse));
  PetscCall(PetscObjectTypeCompare((PetscObject)coarse, PCPATCHFD, &patchfd));
  if (!patchfd) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOptionsPrefix(coarse, &prefix));
  PetscCall(PCPatchFDGetType(coarse, &type));
  PetscCall(PCPatchFDGetPatch(coarse, &patch));
  PetscCall(PCPatchFDGetOrder(coarse, &order));
  PetscCheck(patch == PC_PATCHFD_PATCH_BOX || type != PC_PATCHFD_TYPE_MULTIPLICATIVE || order == PC_PATCHFD_ORDER_SYMMETRIC,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "PCPATCHMG: with -pc_patchmg_symmetric the coarsest level needs a symmetric solver, too: found -%spc_patchfd_order %s, "
             "allowed are symmetric, or -%spc_patchfd_type additive, or -%spc_patchfd_patch box",
             prefix, PCPatchFDOrders[order], prefix, prefix);
  PetscFunctionReturn(PETSC_SUCCESS);
}
