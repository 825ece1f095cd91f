/*
  PCSINGLE: a preconditioner whose inside works in single precision.

  It converts the residual to float, applies another PC (the inner one) to Vecs of type VECSINGLE, and converts the result back.
  What has to be arranged is that everything inside makes Vecs of that type:

    DM       the inner PC gets a clone of the DM with that Vec type, VECSINGLECUDA if it is a DMBOX whose Vecs are VECCUDA.  The clone passes on the coarsening hooks of the DM that it
             stands for: through them SNES and TS take the state, on which the operator depends, to coarser levels.
    Mats     a DMBOX makes its operator anew in the clone, and those of coarser levels.  All other Mats are used as they are, on
             the Vecs' shadows; while the inner PC is at work they are told to make Vecs of type VECSINGLE.  They gain nothing
             from it, so that the coarser levels of other DMs stay double.

  The routines follow in the order in which a solver calls them.
*/
#include <petsc/private/pcimpl.h>
#include <petsc/private/kspimpl.h>
#include <petsc/private/dmimpl.h>
#include <petsc/private/matimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petscpatchfd.h>
#include <petscdmda.h>

/* how a Mat makes Vecs; what a Mat has is exchanged with what stands here */
typedef struct {
  char *type;
  PetscErrorCode (*getvecs)(Mat, Vec *, Vec *);
} MatVecMaker;

typedef struct {
  PC          pc;           /* the inner one */
  PetscBool   scale;        /* bring the input to norm one before it is converted */
  PetscBool   warn, warned; /* about outer methods that cannot work */
  DM          outerdm, dm;  /* pc->dm and its clone */
  Vec         x, y;         /* the input and the output of the inner PC */
  VecType     vectype;      /* inside: VECSINGLE or VECSINGLECUDA */
  MatVecMaker maker[2];     /* of Amat and Pmat, in use while the inner PC is at work */
} PC_Single;

/* ---- the Vecs that Mats make ---- */

static void MatVecMakerExchange(Mat A, MatVecMaker *m)
{
  const MatVecMaker a = {A->defaultvectype, A->ops->getvecs};

  A->defaultvectype = m->type;
  A->ops->getvecs   = m->getvecs;
  *m                = a;
}

/* called in pairs around every use of the inner PC */
static PetscErrorCode PCSingleExchangeVecTypes(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (s->pc->pmat == pc->pmat) MatVecMakerExchange(pc->pmat, &s->maker[1]); /* otherwise it is the clone's and needs nothing */
  if (s->pc->mat == pc->mat && pc->mat != pc->pmat) MatVecMakerExchange(pc->mat, &s->maker[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the DM ---- */

static PetscErrorCode DMCoarsenHook_Single(DM single, DM coarse, void *ctx)
{
  DM        dm = (DM)ctx; /* that the single one stands for */
  PetscBool isbox;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMBOX, &isbox));
  PetscCall(DMSetVecType(coarse, isbox ? single->vectype : dm->vectype));
  for (DMCoarsenHookLink link = dm->coarsenhook; link; link = link->next) {
    if (link->coarsenhook) PetscCall((*link->coarsenhook)(dm, coarse, link->ctx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMRestrictHook_Single(PETSC_UNUSED DM single, Mat restrct, Vec rscale, Mat inject, DM coarse, void *ctx)
{
  DM dm = (DM)ctx;

  PetscFunctionBegin;
  for (DMCoarsenHookLink link = dm->coarsenhook; link; link = link->next) {
    if (link->restricthook) PetscCall((*link->restricthook)(dm, restrct, rscale, inject, coarse, link->ctx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCloneSingle(DM dm, VecType type, DM *single)
{
  PetscBool isda;

  PetscFunctionBegin;
  PetscCall(DMClone(dm, single));
  PetscCall(DMSetVecType(*single, type));
  (*single)->levelup   = dm->levelup;
  (*single)->leveldown = dm->leveldown;
  PetscCall(DMCopyDMKSP(dm, *single));
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &isda));
  if (isda) { /* DMClone() leaves these out */
    DMDAInterpolationType type;
    PetscInt              r[3];
    DM                    coordinates;
    Vec                   x;

    PetscCall(DMDAGetInterpolationType(dm, &type));
    PetscCall(DMDASetInterpolationType(*single, type));
    PetscCall(DMDAGetRefinementFactor(dm, &r[0], &r[1], &r[2]));
    PetscCall(DMDASetRefinementFactor(*single, r[0], r[1], r[2]));
    PetscCall(DMGetCoordinatesLocalNoncollective(dm, &x));
    if (x) {
      PetscCall(DMGetCoordinateDM(dm, &coordinates));
      PetscCall(DMSetCoordinateDM(*single, coordinates));
    }
  }
  PetscCall(DMCoarsenHookAdd(*single, DMCoarsenHook_Single, DMRestrictHook_Single, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- set-up ---- */

static PetscErrorCode PCSingleCreatePC(PC pc)
{
  PC_Single  *s = (PC_Single *)pc->data;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &s->pc));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)s->pc, (PetscObject)pc, 1));
  PetscCall(PCSetKSPNestLevel(s->pc, pc->kspnestlevel));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PCSetOptionsPrefix(s->pc, prefix));
  PetscCall(PCAppendOptionsPrefix(s->pc, "single_"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_Single(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (s->pc) PetscCall(PCReset(s->pc));
  PetscCall(VecDestroy(&s->x));
  PetscCall(VecDestroy(&s->y));
  if (s->dm) PetscCall(DMCoarsenHookRemove(s->dm, DMCoarsenHook_Single, DMRestrictHook_Single, s->outerdm));
  PetscCall(DMDestroy(&s->dm));
  PetscCall(DMDestroy(&s->outerdm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a Mat that a DMBOX made; such a Mat is made anew for the clone, so that its products are native */
static PetscErrorCode PCSingleIsBox(PC pc, Mat A, PetscBool *isbox)
{
  PetscErrorCode (*update)(Mat);

  PetscFunctionBegin;
  *isbox = PETSC_FALSE;
  if (pc->dm) PetscCall(PetscObjectTypeCompare((PetscObject)pc->dm, DMBOX, isbox));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatBoxUpdate_C", &update));
  *isbox = (PetscBool)(*isbox && update);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleSetOperators(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;
  Mat        A = pc->mat, P = pc->pmat;
  PetscBool  boxA, boxP;

  PetscFunctionBegin;
  PetscCall(PCSingleIsBox(pc, pc->mat, &boxA));
  PetscCall(PCSingleIsBox(pc, pc->pmat, &boxP));
  if (boxA || boxP) {
    PetscReal diffusion[3], shift;
    Mat       B;

    if (pc->setupcalled) {
      PetscCall(DMBoxGetPoisson(pc->dm, diffusion, &shift));
      PetscCall(DMBoxSetPoisson(s->dm, diffusion, shift));
      B = boxP ? s->pc->pmat : s->pc->mat;
      PetscCall(PetscObjectReference((PetscObject)B));
      PetscCall(MatBoxUpdate(B));
    } else {
      PetscCall(DMCreateMatrix(s->dm, &B));
    }
    PetscCall(PCSetOperators(s->pc, boxA ? B : A, boxP ? B : P));
    PetscCall(MatDestroy(&B));
  } else PetscCall(PCSetOperators(s->pc, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* only a DMBOX has anything to gain on the GPU: other Mats work through the shadows, which are on the host */
static PetscErrorCode PCSingleChooseVecType(PC pc)
{
  PC_Single *s    = (PC_Single *)pc->data;
  PetscBool  cuda = PETSC_FALSE;

  PetscFunctionBegin;
  if (pc->dm) PetscCall(PetscObjectTypeCompare((PetscObject)pc->dm, DMBOX, &cuda));
  if (cuda) PetscCall(PetscStrcmpAny(pc->dm->vectype, &cuda, VECCUDA, VECSEQCUDA, VECMPICUDA, VECSINGLECUDA, ""));
  s->vectype = cuda ? VECSINGLECUDA : VECSINGLE;
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscFree(s->maker[i].type));
    PetscCall(PetscStrallocpy(s->vectype, &s->maker[i].type));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_Single(PC pc)
{
  PC_Single     *s = (PC_Single *)pc->data;
  PCFailedReason reason;
  PetscBool      isbox, first = (PetscBool)!s->x;

  PetscFunctionBegin;
  if (!s->pc) PetscCall(PCSingleCreatePC(pc));
  if (pc->setupcalled && pc->dm != s->outerdm) { /* a new DM: start again */
    PetscCall(PCReset_Single(pc));
    first = PETSC_TRUE;
  }
  if (first) PetscCall(PCSingleChooseVecType(pc));
  if (first && pc->dm && pc->dm->ops->clone) {
    PetscCall(PetscObjectReference((PetscObject)pc->dm));
    s->outerdm = pc->dm;
    PetscCall(DMCloneSingle(pc->dm, s->vectype, &s->dm));
    PetscCall(PCSetDM(s->pc, s->dm));
  }
  PetscCall(PCSetUseAmat(s->pc, pc->useAmat));
  PetscCall(PCSetErrorIfFailure(s->pc, pc->erroriffailure));
  PetscCall(PCSingleSetOperators(pc));
  if (first) {
    PetscInt n;

    if (s->dm) PetscCall(DMCreateGlobalVector(s->dm, &s->x));
    else {
      PetscCall(VecCreate(PetscObjectComm((PetscObject)pc), &s->x));
      PetscCall(VecSetLayout(s->x, pc->pmat->rmap));
      PetscCall(VecSetType(s->x, s->vectype));
    }
    PetscCall(VecGetLocalSize(s->x, &n));
    PetscCheck(n == pc->pmat->rmap->n && n == pc->pmat->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "PCSINGLE needs a square matrix that fits its DM, if it has one: the matrix has %" PetscInt_FMT " x %" PetscInt_FMT " local rows and columns, the Vecs have %" PetscInt_FMT, pc->pmat->rmap->n, pc->pmat->cmap->n, n);
    PetscCall(VecDuplicate(s->x, &s->y));
    PetscCall(PCSingleIsBox(pc, pc->pmat, &isbox));
    if (isbox && !((PetscObject)s->pc)->type_name) PetscCall(PCSetType(s->pc, PCPATCHMG));
    PetscCall(PCSetFromOptions(s->pc));
  }
  PetscCall(PCSingleExchangeVecTypes(pc));
  PetscCall(PCSetUp(s->pc));
  PetscCall(PCSingleExchangeVecTypes(pc));
  PetscCall(PCGetFailedReason(s->pc, &reason));
  PetscCall(PCSetFailedReason(pc, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUpOnBlocks_Single(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCSingleExchangeVecTypes(pc));
  PetscCall(PCSetUpOnBlocks(((PC_Single *)pc->data)->pc));
  PetscCall(PCSingleExchangeVecTypes(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solve ---- */

/*
  The warning about methods that measure the preconditioned residual by a recursion, or apply the preconditioner once more to form
  the solution, or let recursions stand for products: none of them sees what single precision has done to the preconditioner.
  Measured, doc/single.md.  Here is the one place where a PC learns what KSP it belongs to.
*/
static PetscErrorCode PCPreSolve_Single(PC pc, KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x)
{
  PC_Single  *s = (PC_Single *)pc->data;
  PetscBool   unsafe;
  const char *prefix;

  PetscFunctionBegin;
  if (!s->warn || s->warned) PetscFunctionReturn(PETSC_SUCCESS);
  /* a fixed number of iterations, or an estimate of eigenvalues with a borrowed PC: nobody relies on convergence */
  if (ksp->converged == KSPConvergedSkip || ksp->skippcsetfromoptions) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &unsafe, KSPGMRES, KSPLGMRES, KSPDGMRES, KSPPGMRES, KSPBCGS, KSPIBCGS, KSPBCGSL, KSPPIPEBCGS, KSPTFQMR, KSPTCQMR, KSPCGS, KSPIDR, KSPCR, KSPPIPECR, KSPLCD, KSPSYMMLQ, KSPGROPPCG, KSPPIPECG, KSPPIPECG2, KSPPIPECGRR, KSPPIPELCG, KSPPIPEPRCG, ""));
  if (!unsafe) PetscFunctionReturn(PETSC_SUCCESS);
  s->warned = PETSC_TRUE;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscFPrintf(PetscObjectComm((PetscObject)pc), PETSC_STDERR,
                         "Warning: PCSINGLE under KSP type %s, which does not see the rounding errors of its preconditioner: it may report convergence\n"
                         "         while the true residual is as large as 1e-3, or stall. Cure: -%sksp_type fgmres, fcg or cg. (-%spc_single_warn 0 silences this.)\n",
                         ((PetscObject)ksp)->type_name, prefix ? prefix : "", ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A power of two, so that scaling rounds nothing, that brings the norm of x near one: residuals get as small as 1e-30 where the
  right-hand side is small, and floats end at 1e-38.
*/
static PetscErrorCode PCSingleGetFactor(PC pc, Vec x, PetscReal *factor)
{
  PetscReal norm;
  int       exponent;

  PetscFunctionBegin;
  *factor = 1.0;
  if (!((PC_Single *)pc->data)->scale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(x, NORM_2, &norm)); /* Krylov methods have just computed it, and then it is not computed again */
  /* squares of entries beyond 1e-154 or 1e+154 leave the range of double */
  if (norm == 0.0 || PetscIsInfReal(norm)) PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  if (norm == 0.0 || PetscIsInfOrNanReal(norm)) PetscFunctionReturn(PETSC_SUCCESS);
  (void)frexp(norm, &exponent);
  *factor = ldexp(1.0, -PetscMax(-1000, PetscMin(1000, exponent)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleApply(PC pc, PetscErrorCode (*apply)(PC, Vec, Vec), Vec x, Vec y)
{
  PC_Single     *s = (PC_Single *)pc->data;
  PetscReal      factor;
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(PCSingleGetFactor(pc, x, &factor));
  PetscCall(VecSingleConvert(x, factor, s->x));
  PetscCall(PCSingleExchangeVecTypes(pc));
  PetscCall((*apply)(s->pc, s->x, s->y));
  PetscCall(PCSingleExchangeVecTypes(pc));
  PetscCall(VecSingleConvert(s->y, 1.0 / factor, y));
  PetscCall(PCGetFailedReason(s->pc, &reason));
  if (reason) PetscCall(PCSetFailedReason(pc, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_Single(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCSingleApply(pc, PCApply, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_Single(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCSingleApply(pc, PCApplyTranspose, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options, view, destroy ---- */

static PetscErrorCode PCSetFromOptions_Single(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "SINGLE options");
  PetscCall(PetscOptionsBool("-pc_single_scale", "Scale by the norm of the input, so that float can hold it", "PCSingleSetScale", s->scale, &s->scale, NULL));
  PetscCall(PetscOptionsBool("-pc_single_warn", "Warn about outer methods that do not see single precision", "PCSingleSetWarn", s->warn, &s->warn, NULL));
  PetscOptionsHeadEnd();
  if (s->pc && pc->setupcalled) PetscCall(PCSetFromOptions(s->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_Single(PC pc, PetscViewer viewer)
{
  PC_Single *s = (PC_Single *)pc->data;
  PetscBool  isascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (isascii) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the preconditioner below works on Vecs of type %s, %s\n", s->vectype, s->scale ? "on input scaled by its norm" : "on input as it is"));
    if (s->x) {
      PetscLogDouble floats[2], shadows[2], bytes[2];

      PetscCall(VecSingleGetMemory(s->x, &floats[0], &shadows[0]));
      PetscCall(VecSingleGetMemory(s->y, &floats[1], &shadows[1]));
      bytes[0] = floats[0] + floats[1];
      bytes[1] = shadows[0] + shadows[1];
      PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, bytes, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)pc)));
      PetscCall(PetscViewerASCIIPrintf(viewer, "  work vectors: %g bytes of float, %g bytes of double shadow\n", bytes[0], bytes[1]));
    }
  }
  if (s->pc) {
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(PCView(s->pc, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_Single(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCReset_Single(pc));
  PetscCall(PCDestroy(&s->pc));
  for (int i = 0; i < 2; i++) PetscCall(PetscFree(s->maker[i].type));
  PetscCall(PetscFree(pc->data));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleGetPC_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleSetScale_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleGetScale_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleSetWarn_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleGetWarn_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- setters and getters ---- */

static PetscErrorCode PCSingleGetPC_Single(PC pc, PC *inner)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (!s->pc) PetscCall(PCSingleCreatePC(pc));
  *inner = s->pc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleSetScale_Single(PC pc, PetscBool flag)
{
  PetscFunctionBegin;
  ((PC_Single *)pc->data)->scale = flag;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleGetScale_Single(PC pc, PetscBool *flag)
{
  PetscFunctionBegin;
  *flag = ((PC_Single *)pc->data)->scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleSetWarn_Single(PC pc, PetscBool flag)
{
  PetscFunctionBegin;
  ((PC_Single *)pc->data)->warn = flag;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleGetWarn_Single(PC pc, PetscBool *flag)
{
  PetscFunctionBegin;
  *flag = ((PC_Single *)pc->data)->warn;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSingleGetPC - Gets the preconditioner that works in single precision inside a `PCSINGLE`

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCSINGLE`

  Output Parameter:
. inner - the preconditioner inside; its options prefix is that of `pc` with `single_` appended

  Level: intermediate

  Note:
  Its type and options may be set, its DM and operators are set by `pc`.

.seealso: `PCSINGLE`, `PCSingleSetScale()`, `PCKSPGetKSP()`
@*/
PetscErrorCode PCSingleGetPC(PC pc, PC *inner)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(inner, 2);
  PetscUseMethod(pc, "PCSingleGetPC_C", (PC, PC *), (pc, inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSingleSetScale - Sets whether a `PCSINGLE` scales its input by the norm of the input

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- flag - `PETSC_TRUE`, the default, to scale

  Options Database Key:
. -pc_single_scale (true|false) - scale or not

  Level: advanced

  Notes:
  Without scaling, residuals beyond the range of float, about 1e-38 to 3e38, become zero or infinite.

  The factor is a power of two, so that scaling does not round. It costs a norm where the outer method has not just computed it.

.seealso: `PCSINGLE`, `PCSingleGetScale()`
@*/
PetscErrorCode PCSingleSetScale(PC pc, PetscBool flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, flag, 2);
  PetscTryMethod(pc, "PCSingleSetScale_C", (PC, PetscBool), (pc, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSingleGetScale - Gets whether a `PCSINGLE` scales its input by the norm of the input

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. flag - whether it scales

  Level: advanced

.seealso: `PCSINGLE`, `PCSingleSetScale()`
@*/
PetscErrorCode PCSingleGetScale(PC pc, PetscBool *flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(flag, 2);
  PetscUseMethod(pc, "PCSingleGetScale_C", (PC, PetscBool *), (pc, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSingleSetWarn - Sets whether a `PCSINGLE` warns about an outer method that does not see what single precision does

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- flag - `PETSC_TRUE`, the default, to warn

  Options Database Key:
. -pc_single_warn (true|false) - warn or not

  Level: advanced

  Note:
  The warning is printed once, in the first `KSPSolve()` of the `KSP` that the preconditioner belongs to.

.seealso: `PCSINGLE`, `PCSingleGetWarn()`
@*/
PetscErrorCode PCSingleSetWarn(PC pc, PetscBool flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, flag, 2);
  PetscTryMethod(pc, "PCSingleSetWarn_C", (PC, PetscBool), (pc, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSingleGetWarn - Gets whether a `PCSINGLE` warns about an outer method that does not see what single precision does

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. flag - whether it warns

  Level: advanced

.seealso: `PCSINGLE`, `PCSingleSetWarn()`
@*/
PetscErrorCode PCSingleGetWarn(PC pc, PetscBool *flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(flag, 2);
  PetscUseMethod(pc, "PCSingleGetWarn_C", (PC, PetscBool *), (pc, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCSINGLE - "single" - Applies another preconditioner in single precision, on vectors of type `VECSINGLE` or `VECSINGLECUDA`

  Options Database Keys:
+ -single_pc_type type             - the preconditioner inside, and with the prefix `single_` all of its options
. -pc_single_scale (true|false)    - scale by the norm of the input, so that float can hold it (default true)
- -pc_single_warn (true|false)     - warn about outer methods that do not see single precision (default true)

  Level: intermediate

  Notes:
  The outer method must be `KSPFGMRES`, `KSPFCG`, `KSPCG` or another method whose residual recursion uses the very vectors that the
  preconditioner returned. `KSPGMRES`, `KSPBCGS` and their relatives report convergence while the true residual is as large as 1e-3;
  a warning says so.

  A `DMBOX` inside makes its operators in single precision, and with `PCPATCHMG`, the default inside then, the whole V-cycle moves half
  the bytes. If the vectors of the `DMBOX` are of type `VECCUDA`, those inside are of type `VECSINGLECUDA`, and everything happens on the
  GPU. Matrices of other kinds stay as they are: their products convert the vectors, so that results are right but
  nothing is gained by them.

  The matrix must have entries that float can hold. The residual may have any size.

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `PCSingleGetPC()`, `PCSingleSetScale()`, `PCSingleSetWarn()`, `PCPATCHMG`, `DMBOX`, `KSPFGMRES`, `KSPFCG`, `PCType`
M*/
PetscErrorCode PCCreate_Single(PC pc)
{
  PC_Single *s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  s->scale   = PETSC_TRUE;
  s->warn    = PETSC_TRUE;
  s->vectype = VECSINGLE;
  pc->data = s;

  pc->ops->setup          = PCSetUp_Single;
  pc->ops->setuponblocks  = PCSetUpOnBlocks_Single;
  pc->ops->presolve       = PCPreSolve_Single;
  pc->ops->apply          = PCApply_Single;
  pc->ops->applytranspose = PCApplyTranspose_Single;
  pc->ops->setfromoptions = PCSetFromOptions_Single;
  pc->ops->view           = PCView_Single;
  pc->ops->reset          = PCReset_Single;
  pc->ops->destroy        = PCDestroy_Single;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleGetPC_C", PCSingleGetPC_Single));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleSetScale_C", PCSingleSetScale_Single));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleGetScale_C", PCSingleGetScale_Single));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleSetWarn_C", PCSingleSetWarn_Single));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSingleGetWarn_C", PCSingleGetWarn_Single));
  PetscFunctionReturn(PETSC_SUCCESS);
}
