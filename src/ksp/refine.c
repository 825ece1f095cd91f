/*
  KSPREFINE: x += B (b - A x), one product and one norm a cycle, until a cycle leaves too much of the residual; then another KSP, with the
  same PC, goes on from there.  B gets the same two arrays in every cycle, so that a PC which records what it does can replay it; that is
  why the correction is added to x, by the PC itself if it can, and subtracted again where it was a bad one, and x and x + B r do not take
  turns.
*/
#include <petsc/private/kspimpl.h>
#include <patchfd/private/options.h>
#include <patchfd/private/vecimpl.h>
#include <patchfd/private/sysimpl.h> /*I "petscpatchfd.h" I*/

/* beyond this growth of the residual x + z - z has too few digits of x */
#define REFINE_LOST 1e10

typedef struct {
  PetscReal rate;
  KSP       inner;  /* that goes on; NULL until it is asked for */
  PetscBool handed; /* is it at work? */
  PetscInt  cycles; /* of the last solve, before that */

  PCAddToFn *add; /* the PC's own addition to x in this solve, or NULL and */
  Vec        z;   /* the correction */
} KSP_Refine;

static PetscErrorCode KSPSetUp_Refine(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetWorkVecs(ksp, 1)); /* the residual */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_Refine(KSP ksp)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&refine->z));
  if (!refine->inner) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPSetPC(refine->inner, NULL)); /* whose reset is not its business */
  PetscCall(KSPReset(refine->inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the other KSP ---- */

static PetscErrorCode KSPRefineGetKSP_Refine(KSP ksp, KSP *inner)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;
  const char *prefix;

  PetscFunctionBegin;
  if (!refine->inner) {
    PetscCall(KSPCreate(PetscObjectComm((PetscObject)ksp), &refine->inner));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)refine->inner, (PetscObject)ksp, 1));
    PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
    PetscCall(KSPSetOptionsPrefix(refine->inner, prefix));
    PetscCall(KSPAppendOptionsPrefix(refine->inner, "refine_"));
    PetscCall(KSPSetType(refine->inner, KSPFGMRES));
  }
  *inner = refine->inner;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* iterations of the inner KSP are those of the outer one, whichever of the two functions below it calls first */
static KSP RefineCount(void *ctx, PetscInt n, PetscReal norm)
{
  KSP ksp = (KSP)ctx;

  ksp->its   = ((KSP_Refine *)ksp->data)->cycles + n;
  ksp->rnorm = norm;
  return ksp;
}

/* what is at its beginning has been seen */
static PetscErrorCode RefineMonitor(PETSC_UNUSED KSP inner, PetscInt n, PetscReal norm, void *ctx)
{
  KSP ksp;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  ksp = RefineCount(ctx, n, norm);
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, ksp->its, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RefineConverged(PETSC_UNUSED KSP inner, PetscInt n, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  KSP ksp;

  PetscFunctionBegin;
  *reason = KSP_CONVERGED_ITERATING;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  ksp = RefineCount(ctx, n, norm);
  PetscCall((*ksp->converged)(ksp, ksp->its, norm, reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RefineHandOver(KSP ksp, PetscBool zero)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;
  KSP         inner;

  PetscFunctionBegin;
  PetscCall(KSPRefineGetKSP_Refine(ksp, &inner));
  PetscCall(PetscInfo(ksp, "Cycle %" PetscInt_FMT " leaves more than %g of the residual: going on with %s\n", ksp->its,
                      (double)refine->rate, ((PetscObject)inner)->type_name));
  PetscCall(KSPSetPC(inner, ksp->pc));
  PetscCall(KSPSetNormType(inner, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetInitialGuessNonzero(inner, (PetscBool)!zero));
  PetscCall(KSPSetTolerances(inner, ksp->rtol, ksp->abstol, ksp->divtol, ksp->max_it - ksp->its));
  PetscCall(KSPSetConvergenceTest(inner, RefineConverged, ksp, NULL));
  PetscCall(KSPMonitorSet(inner, RefineMonitor, ksp, NULL)); /* once more is not twice */
  refine->cycles = ksp->its;
  refine->handed = PETSC_TRUE;
  if (ksp->transpose_solve) PetscCall(KSPSolveTranspose(inner, ksp->vec_rhs, ksp->vec_sol));
  else PetscCall(KSPSolve(inner, ksp->vec_rhs, ksp->vec_sol));
  refine->handed = PETSC_FALSE;
  ksp->its       = refine->cycles + inner->its;
  ksp->rnorm     = inner->rnorm;
  ksp->reason    = inner->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cycles ---- */

/* r = b - A x, by the matrix's own kernel where it has one */
static PetscErrorCode RefineResidual(KSP ksp)
{
  const Vec R = ksp->work[0];
  Mat       A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (!ksp->transpose_solve) PetscCall(MatResidual(A, ksp->vec_rhs, ksp->vec_sol, R));
  else {
    PetscCall(KSP_MatMult(ksp, A, ksp->vec_sol, R));
    PetscCall(VecAYPX(R, -1.0, ksp->vec_rhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* will the PC add to x itself in this solve? */
static PetscErrorCode RefineSetAdd(KSP ksp)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;
  PetscBool   can    = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp->pc, "PCAddTo_C", &refine->add));
  if (refine->add && !ksp->transpose_solve) PetscCall((*refine->add)(ksp->pc, 1, NULL, ksp->vec_sol, &can));
  if (can) PetscFunctionReturn(PETSC_SUCCESS);
  refine->add = NULL;
  if (!refine->z) PetscCall(VecDuplicate(ksp->work[0], &refine->z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += a B r, without r that of the last call */
static PetscErrorCode RefineAdd(KSP ksp, PetscReal a, Vec r)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;

  PetscFunctionBegin;
  if (refine->add) {
    PetscCall((*refine->add)(ksp->pc, a, r, ksp->vec_sol, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r) PetscCall(KSP_PCApply(ksp, r, refine->z));
  PetscCall(VecAXPY(ksp->vec_sol, a, refine->z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* after a cycle that enlarged the residual: x and the norm are what they were, or x is zero where that is lost; zero: is x known to be? */
static PetscErrorCode RefineTakeBack(KSP ksp, PetscReal old, PetscReal *norm, PetscBool *zero)
{
  PCFailedReason failed = PC_NOERROR;

  PetscFunctionBegin;
  if (PetscIsInfOrNanReal(*norm)) {
    PetscCall(PCReduceFailedReason(ksp->pc));
    PetscCall(PCGetFailedReason(ksp->pc, &failed));
  }
  if (failed) PetscFunctionReturn(PETSC_SUCCESS); /* the norm will say it */
  *zero = (PetscBool)((ksp->its == 1 && ksp->guess_zero) || !(*norm < REFINE_LOST * old));
  PetscCall(PetscInfo(ksp, "Cycle %" PetscInt_FMT " is taken back: residual norm %g after %g\n", ksp->its, (double)*norm, (double)old));
  if (*zero) {
    PetscCall(VecSet(ksp->vec_sol, 0));
    PetscCall(VecNorm(ksp->vec_rhs, NORM_2, norm));
  } else {
    PetscCall(RefineAdd(ksp, -1, NULL));
    *norm = old;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_Refine(KSP ksp)
{
  KSP_Refine     *refine = (KSP_Refine *)ksp->data;
  const PetscBool none   = (PetscBool)(ksp->normtype == KSP_NORM_NONE);
  PetscBool       slow = PETSC_FALSE, zero = PETSC_FALSE;
  PetscReal       norm = 0;

  PetscFunctionBegin;
  ksp->its       = 0;
  refine->handed = PETSC_FALSE;
  if (ksp->guess_zero) PetscCall(VecCopy(ksp->vec_rhs, ksp->work[0]));
  else PetscCall(RefineResidual(ksp));
  /* perhaps on some ranks only: the norm tells all of them */
  PetscCall(VecFlag(ksp->work[0], ksp->reason == KSP_DIVERGED_PC_FAILED));
  if (!none) PetscCall(VecNorm(ksp->work[0], NORM_2, &norm));
  for (;;) {
    const PetscReal old = norm;

    refine->cycles = ksp->its;
    KSPCheckNorm(ksp, norm);
    ksp->rnorm = norm;
    PetscCall(KSPLogResidualHistory(ksp, norm));
    PetscCall(KSPMonitor(ksp, ksp->its, norm));
    PetscCall((*ksp->converged)(ksp, ksp->its, norm, &ksp->reason, ksp->cnvP));
    if (!ksp->reason && ksp->its >= ksp->max_it) ksp->reason = none ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
    if (ksp->reason) break;
    if (slow) {
      PetscCall(RefineHandOver(ksp, zero));
      break;
    }
    if (!ksp->its) PetscCall(RefineSetAdd(ksp));
    PetscCall(RefineAdd(ksp, 1, ksp->work[0]));
    ksp->its++;
    if (none && ksp->its == ksp->max_it) continue;
    PetscCall(RefineResidual(ksp));
    if (none) continue;
    PetscCall(VecNorm(ksp->work[0], NORM_2, &norm));
    slow = (PetscBool)(old > 0 && !(norm <= refine->rate * old)); /* NaN is slow */
    if (slow && !(norm <= old)) PetscCall(RefineTakeBack(ksp, old, &norm, &zero));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options, creation, destruction ---- */

static PetscErrorCode KSPBuildSolution_Refine(KSP ksp, Vec v, Vec *V)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;

  PetscFunctionBegin;
  if (refine->handed) PetscCall(KSPBuildSolution(refine->inner, v, V));
  else if (v) {
    PetscCall(VecCopy(ksp->vec_sol, v));
    if (V) *V = v;
  } else *V = ksp->vec_sol;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_Refine(KSP ksp, PatchFDOptionItems PetscOptionsObject)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;
  PetscReal   rate;
  PetscBool   set, skip;
  KSP         inner;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "KSP refine options");
  PetscCall(
    PetscOptionsReal("-ksp_refine_rate", "Most that a cycle may leave of the residual", "KSPRefineSetRate", refine->rate, &rate, &set));
  if (set) PetscCall(KSPRefineSetRate(ksp, rate));
  PetscOptionsHeadEnd();
  PetscCall(KSPRefineGetKSP_Refine(ksp, &inner));
  PetscCall(KSPSetPC(inner, ksp->pc));
  skip                        = inner->skippcsetfromoptions;
  inner->skippcsetfromoptions = PETSC_TRUE; /* the PC has its own from the outer KSP */
  PetscCall(KSPSetFromOptions(inner));
  inner->skippcsetfromoptions = skip;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_Refine(KSP ksp, PetscViewer viewer)
{
  const KSP_Refine *refine = (const KSP_Refine *)ksp->data;
  PetscBool         ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  cycles while each leaves at most %g of the residual, then %s\n", (double)refine->rate,
                                   refine->inner ? ((PetscObject)refine->inner)->type_name : KSPFGMRES));
  if (!ksp->totalits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  last solve: cycles=%" PetscInt_FMT ", iterations after them=%" PetscInt_FMT "\n",
                                   refine->cycles, ksp->its - refine->cycles));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PATCHFD_SETTING(KSP, Refine, Rate, PetscReal, ((KSP_Refine *)object->data)->rate, )
static const PatchFDMethod methods[] = {PATCHFD_METHODS(KSP, Refine, Rate), PATCHFD_METHOD(KSPRefineGetKSP, Refine)};

/*@
  KSPRefineSetRate - Sets how much of the residual a cycle of `KSPREFINE` may leave

  Logically Collective

  Input Parameters:
+ ksp  - the solver
- rate - between 0 and 1 (default 0.5): if the norm of the residual after a cycle is more than `rate` times that before, another `KSP`
         goes on

  Options Database Key:
. -ksp_refine_rate rate - the same

  Level: intermediate

  Notes:
  With 0 there is one cycle, and then the other `KSP` if it is not enough. With 1 only a cycle that enlarges the residual is the last.

  It is an error if `rate` is not between 0 and 1. Nothing happens if `ksp` is of another type.

.seealso: `KSPREFINE`, `KSPRefineGetRate()`, `KSPRefineGetKSP()`
@*/
PetscErrorCode KSPRefineSetRate(KSP ksp, PetscReal rate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveReal(ksp, rate, 2);
  PetscCheck(rate >= 0 && rate <= 1, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE,
             "KSPRefineSetRate(), -ksp_refine_rate: %g must be between 0 and 1", (double)rate);
  PetscTryMethod(ksp, "KSPRefineSetRate_C", (KSP, PetscReal), (ksp, rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPRefineGetRate - Gets how much of the residual a cycle of `KSPREFINE` may leave

  Not Collective

  Input Parameter:
. ksp - the solver, of type `KSPREFINE`

  Output Parameter:
. rate - the largest factor

  Level: intermediate

.seealso: `KSPREFINE`, `KSPRefineSetRate()`
@*/
PetscErrorCode KSPRefineGetRate(KSP ksp, PetscReal *rate)
{
  PATCHFD_GET(KSP, ksp, KSPRefineGetRate, PetscReal *, rate);
}

/*@
  KSPRefineGetKSP - Gets the solver that goes on where the cycles of a `KSPREFINE` are too slow

  Collective

  Input Parameter:
. ksp - the solver, of type `KSPREFINE`

  Output Parameter:
. inner - the other solver, `KSPFGMRES` unless its type is set; do not destroy it

  Options Database Key:
. -refine_ksp_type type - its type; other options with the prefix refine_ apply, too

  Level: intermediate

  Note:
  It uses the `PC` of `ksp`. In a solve `ksp` sets its initial guess, its norm (`KSP_NORM_UNPRECONDITIONED`, which the type must support),
  its convergence test and its tolerances: those of `ksp`, with the iterations that are left.

.seealso: `KSPREFINE`, `KSPRefineSetRate()`
@*/
PetscErrorCode KSPRefineGetKSP(KSP ksp, KSP *inner)
{
  PATCHFD_GET(KSP, ksp, KSPRefineGetKSP, KSP *, inner);
}

static PetscErrorCode KSPDestroy_Refine(KSP ksp)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&refine->z));
  PetscCall(KSPDestroy(&refine->inner));
  PetscCall(PatchFDComposeMethods((PetscObject)ksp, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_FALSE));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  KSPREFINE - "refine": iterative refinement, plain cycles x += B (b - A x), with a guard: another `KSP` goes on where they are too slow

  Options Database Keys:
+ -ksp_refine_rate rate - the most that a cycle may leave of the residual, see `KSPRefineSetRate()`
- -refine_ksp_type type - the `KSP` that goes on (default `KSPFGMRES`), see `KSPRefineGetKSP()`

  Level: intermediate

  Notes:
  It is meant for preconditioners that are nearly solvers: multigrid cycles, direct solves, and either in single precision (`PCSINGLE`).
  They need about as many cycles as iterations of `KSPFGMRES`. A cycle applies the preconditioner once, computes the true residual and its
  norm, and keeps no vectors: besides the solution and the right-hand side there are two. Iterates are those of `KSPRICHARDSON`.

  Any matrix and any preconditioner will do. If the norm of the residual after a cycle is more than `-ksp_refine_rate` times that
  before, the other `KSP` goes on with the same preconditioner from the iterate reached. A cycle that enlarged the residual is taken
  back first. If it was enlarged by more than 1e10, or is not finite, the other `KSP` starts from zero. The next solve begins with
  cycles again.

  Iterations of the two are counted together. Monitors, histories, convergence tests, tolerances and `KSPSetMinimumIterations()` are those
  of the outer `KSP`, relative to the same norm. A cycle that is taken back counts; its norm is that of the iterate that stays. The reason
  may be one of the other `KSP`, such as `KSP_DIVERGED_INDEFINITE_MAT` of `KSPCG`.

  Norms are `KSP_NORM_UNPRECONDITIONED`, or `KSP_NORM_NONE`, which gives cycles without a guard. `KSPSolveTranspose()` works if both the
  matrix and the preconditioner have transposes.

.seealso: `KSPRefineSetRate()`, `KSPRefineGetKSP()`, `KSPRICHARDSON`, `KSPFGMRES`, `PCSINGLE`, `PCPATCHMG`, `PatchFDInitializePackage()`
M*/
PetscErrorCode KSPCreate_Refine(KSP ksp)
{
  KSP_Refine *refine;

  PetscFunctionBegin;
  PetscCall(PetscNew(&refine));
  refine->rate = 0.5;
  ksp->data    = refine;
  for (PCSide side = PC_LEFT; side <= PC_RIGHT; side++) {
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, side, side == PC_LEFT ? 4 : 3));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, side, side == PC_LEFT ? 2 : 1));
  }
  ksp->ops->setup          = KSPSetUp_Refine;
  ksp->ops->solve          = KSPSolve_Refine;
  ksp->ops->reset          = KSPReset_Refine;
  ksp->ops->destroy        = KSPDestroy_Refine;
  ksp->ops->view           = KSPView_Refine;
  ksp->ops->setfromoptions = KSPSetFromOptions_Refine;
  ksp->ops->buildsolution  = KSPBuildSolution_Refine;
  ksp->ops->buildresidual  = KSPBuildResidualDefault;
  PetscCall(PatchFDComposeMethods((PetscObject)ksp, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
