/*
  PCPATCHFD: vertex-patch smoothers whose local problems are solved by fast diagonalization or by dense inverses.

  As a solver calls it:
     PCSetUp_PatchFD()            checks the operator, makes the patches' eigenvectors and the work arrays
     PCApplyRichardson_PatchFD()  smoothing steps on a given or zero guess: where the work is
     PCApply_PatchFD(), PCApplyTranspose_PatchFD()   steps from a zero guess; the transpose visits the colours in reverse
     PCSetFromOptions_PatchFD(), PCView_PatchFD(), PCReset/Destroy, PCCreate_PatchFD(), and the public setters.

  A step visits the colours of the patches one after another (Cui, Grosse-Bley, Kanschat, Strzodka, Algorithm 2.3).  Patches, colours and the work
  itself come from the matrix (src/mat/local.c): here is decided what is to be done, and in which order.
*/
#include "patchfd.h" /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

const char *const PCPatchFDTypes[]    = {"multiplicative", "additive", "PCPatchFDType", "PC_PATCHFD_", NULL};
const char *const PCPatchFDPatches[]  = {"vertex", "box", "PCPatchFDPatch", "PC_PATCHFD_", NULL};
const char *const PCPatchFDVariants[] = {"auto", "boundary", "fused", "separate", "global", "PCPatchFDVariant", "PC_PATCHFD_", NULL};
const char *const PCPatchFDLocals[]   = {"auto", "fd", "fd_inexact", "dense", "schur", "PCPatchFDLocal", "PC_PATCHFD_LOCAL_", NULL};
const char *const PCPatchFDFits[]     = {"auto", "own", "shared", "line", "PCPatchFDFit", "PC_PATCHFD_FIT_", NULL};
const char *const PCPatchFDClassesTypes[] = {"auto", "single", "exact", "PCPatchFDClasses", "PC_PATCHFD_CLASSES_", NULL};
const char *const PCPatchFDPrecisions[] = {"auto", "same", "single", "tf32", "bf16", "fp16", "PCPatchFDPrecision", "PC_PATCHFD_PRECISION_", NULL};
const char *const PCPatchFDUpdates[]  = {"colored", "atomic", "PCPatchFDUpdate", "PC_PATCHFD_UPDATE_", NULL};
const char *const PCPatchFDOrders[]   = {"forward", "backward", "symmetric", "PCPatchFDOrder", "PC_PATCHFD_", NULL};

/*
  A relative residual of 1e-3 for degrees up to 3 and of 1e-4 above keeps the iteration counts of exact local solvers (tutorials/iterations, and Cui, Kanschat,
  table 2)
*/
static PetscErrorCode PatchFDSetTolerances(PC_PatchFD *p)
{
  const PetscInt degree = MatBoxDegree(p->matbox);

  PetscFunctionBegin;
  if (p->method == PATCHES && (p->solver == MATBOX_LOCAL_OWN || p->solver == MATBOX_LOCAL_SHARED)) PetscCall(MatBoxLocalSetFitRule(p->matbox, p->solver, &p->fitrule));
  if (p->method != PATCHES || (p->solver != MATBOX_LOCAL_SCHUR && p->solver != MATBOX_LOCAL_SCHUR_ALONE)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxLocalSetTolerances(p->matbox, p->solver, p->schurrtol == PETSC_DETERMINE ? (degree <= 3 ? 1e-3 : 1e-4) : p->schurrtol, p->schurmaxit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all that a kernel table needs: in set-up, or when Vecs of another kind come */
static PetscErrorCode PatchFDSetUpKernels(PC pc, PatchFDKernels kern)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  if (p->method == DIAGONALIZED_BOX) PetscCall(MatBoxDirectSetUp(p->matbox, kern));
  else if (p->method == FACTORED_BOX) PetscCall(MatBoxFactorSetUp(pc->pmat, p->matbox));
  else {
    PetscCall(PatchFDSetTolerances(p)); /* other PCs of the matrix may have set theirs since */
    PetscCall(MatBoxLocalSetUp(p->matbox, p->solver, kern, p->products));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A patch, or the whole box, that is singular or not definite is no error: SNES, TS and others that learn of it take another step (KSP_DIVERGED_PC_FAILED).  All ranks must know
*/
static PetscErrorCode PatchFDSetFailedReason(PC pc)
{
  const PC_PatchFD *p = (const PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  pc->failedreason = (p->method == PATCHES ? p->matbox->local[p->solver].singular : p->matbox->wholesingular) ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_NOERROR;
  PetscCall(PCReduceFailedReason(pc));
  PetscCheck(!pc->failedreason || !pc->erroriffailure, PetscObjectComm((PetscObject)pc), PETSC_ERR_MAT_LU_ZRPVT,
             "PCPATCHFD: the matrix of %s is singular, or not positive definite where it has to be: too small a penalty (-dm_box_penalty), or a negative shift (-dm_box_shift)",
             p->method == PATCHES && p->patch == PC_PATCHFD_VERTEX ? "a patch" : "the whole box");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

/*
  The colours of a sweep in their order; the transpose visits them in reverse.  At the turning point of a symmetric sweep an exact solve would be
  repeated, if patches of a colour do not see each other.
*/
static void PatchSweep(const PC_PatchFD *pc, PetscBool transpose, PetscInt *n, PatchFDColor colors[])
{
  const PetscBool residual = (PetscBool)(pc->use == PC_PATCHFD_SEPARATE || pc->use == PC_PATCHFD_GLOBAL);
  const PetscBool exact    = (PetscBool)(pc->omega == 1 && (pc->matbox->form.separable || ((pc->solver == MATBOX_LOCAL_DENSE || pc->fitrule.rows) && !residual)));
  PatchFDColor    forward[MATBOX_MAX_COLORS];
  const PetscInt  ncolor = MatBoxLocalColors(pc->matbox, pc->solver, residual, forward);

  if (pc->atomic) {
    *n        = 1;
    colors[0] = (PatchFDColor){.parity = {PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES}, .phase = PATCHFD_ALL_PHASES};
    return;
  }
  *n = pc->order == PC_PATCHFD_SYMMETRIC && ncolor ? 2 * ncolor - exact : ncolor;
  for (PetscInt i = 0; i < *n; i++) {
    PetscInt c = (pc->order == PC_PATCHFD_BACKWARD) != transpose ? *n - 1 - i : i;

    if (pc->order == PC_PATCHFD_SYMMETRIC) c = i < ncolor ? i : *n - 1 - i;
    colors[i] = forward[c];
  }
}

/* corrections from the residual r for all patches of these colours, on Vecs */
static PetscErrorCode PatchCorrect(PC_PatchFD *pc, PatchFDKernels kern, PetscInt n, const PatchFDColor colors[], Vec r, Vec x)
{
  const void *ra;
  void       *xa;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(r, kern, &ra));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  PetscCall(MatBoxLocalCorrect(pc->matbox, pc->solver, kern, pc->products, n, colors, pc->omega, ra, xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(r, kern, &ra));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the residual that all patches of a colour need, on Vecs */
static PetscErrorCode PatchResidual(PC_PatchFD *pc, PatchFDKernels kern, const PatchFDColor *color, Vec b, Vec x, Vec r)
{
  const void *ba, *xa;
  void       *ra;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(b, kern, &ba));
  PetscCall(PatchFDVecGetArrayRead(x, kern, &xa));
  PetscCall(PatchFDVecGetArrayWrite(r, kern, &ra));
  PetscCall(MatBoxResidual(pc->matbox, kern, color, ba, xa, ra));
  PetscCall(PatchFDVecRestoreArrayWrite(r, kern, &ra));
  PetscCall(PatchFDVecRestoreArrayRead(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the global residual before each colour (multiplicative) or once (additive); before a colour only what its patches read, unless the matrix has another residual */
static PetscErrorCode SweepGlobal(PC pc, PatchFDKernels kern, PetscInt n, const PatchFDColor colors[], PetscBool zero, Vec b, Vec x)
{
  PC_PatchFD    *p    = (PC_PatchFD *)pc->data;
  const PetscInt step = p->type == PC_PATCHFD_ADDITIVE ? n : 1;
  Vec            s = NULL;
  PetscBool      own;

  PetscFunctionBegin;
  PetscCall(MatBoxIsOwn(pc->pmat, &own));
  if (p->solver == MATBOX_LOCAL_FD || p->solver == MATBOX_LOCAL_FD_ALONE) PetscCall(MatBoxGetScaling(p->matbox, b, &s)); /* fits have theirs */
  if (!p->r) PetscCall(VecDuplicate(b, &p->r));
  if (s && !p->z) PetscCall(VecDuplicate(b, &p->z));
  for (PetscInt i = 0; i < n; i += step) {
    const PetscBool known = (PetscBool)(zero && i == 0);

    if (!known && step == 1 && own) PetscCall(PatchResidual(p, kern, &colors[i], b, x, p->r));
    else if (!known) PetscCall(MatResidual(pc->pmat, b, x, p->r));
    if (s) PetscCall(MatBoxLocalCorrectScaled(p->matbox, p->solver, kern, p->products, step, &colors[i], p->omega, s, known ? b : p->r, p->r, p->z, x));
    else PetscCall(PatchCorrect(p, kern, step, &colors[i], known ? b : p->r, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with the residual taken patch by patch or not at all, or the direct solve */
static PetscErrorCode SweepLocal(PC_PatchFD *p, PatchFDKernels kern, PetscInt64 its, PetscInt n, const PatchFDColor colors[], PetscBool zero, Vec b, Vec x)
{
  const PatchFDPatchOp operation = p->use == PC_PATCHFD_SEPARATE ? PATCHFD_OP_SOLVE : (p->use == PC_PATCHFD_FUSED ? PATCHFD_OP_FUSED : PATCHFD_OP_BOUNDARY);
  const void          *ba;
  void                *xa;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(b, kern, &ba));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  if (p->method == DIAGONALIZED_BOX) PetscCall(MatBoxDirectSolve(p->matbox, kern, ba, xa));
  else PetscCall(MatBoxLocalSweep(p->matbox, p->solver, kern, p->products, operation, its, n, colors, p->omega, zero, ba, xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the rows of fixed nodes are solved exactly, too: 1 - (1 - damping)^its of the way */
static PetscErrorCode SolveFixed(PC_PatchFD *p, PatchFDKernels kern, PetscInt64 its, Vec b, Vec x)
{
  const void *ba;
  void       *xa;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(b, kern, &ba));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  PetscCall(MatBoxSolveFixed(p->matbox, kern, 1 - PetscPowReal(1 - p->omega, (PetscReal)its), ba, xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  x = 0 by our own kernels: PETSc's device Vecs work on another stream than the current one, and a recording of the V-cycle (src/pc/patchmg.c)
  would not contain it.  That a VECSINGLE is zero already is part of the recording, and so can be relied on; on the host nothing is recorded.
*/
static PetscErrorCode PatchFDZero(Mat_Box *m, PatchFDKernels kern, Vec x)
{
  PetscBool known;
  PetscReal norm;
  void     *a;

  PetscFunctionBegin;
  PetscCall(VecNormAvailable(x, NORM_2, &known, &norm));
  if (known && norm == 0 && (VecIsSingle_Private(x) || PetscMemTypeHost(kern->memtype))) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecGetArrayWrite(x, kern, &a));
  PetscCall(MatBoxZero(m, kern, a));
  PetscCall(PatchFDVecRestoreArrayWrite(x, kern, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its times the sweeps of an application on x; the product of the two need not fit a PetscInt */
static PetscErrorCode PatchFDSmooth(PC pc, PetscInt its, PetscBool transpose, PetscBool zero, Vec b, Vec x)
{
  PC_PatchFD      *p      = (PC_PatchFD *)pc->data;
  const PetscInt64 sweeps = (PetscInt64)its * p->sweeps;
  PatchFDKernels   kern;
  PatchFDColor     colors[2 * MATBOX_MAX_COLORS];
  PetscInt         n = 0;

  PetscFunctionBegin;
  if (pc->failedreason) { /* solvers find that something is not finite, and look for the reason */
    PetscCall(VecFlag(x, PETSC_TRUE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->bricks.bricks) {
    const PCBricksStep step = {.type = p->type, .order = p->order, .omega = p->omega};

    PetscCall(PCBricksSmooth(pc, &p->bricks, &step, sweeps, transpose, zero, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PatchFDVecGetKernels(b, &kern));
  PetscCall(PatchFDSetUpKernels(pc, kern));
  PetscCall(PetscLogEventBegin(PATCHFD_Smooth, pc, b, x, 0));
  if (zero && (p->method != DIAGONALIZED_BOX || p->omega != 1)) PetscCall(PatchFDZero(p->matbox, kern, x)); /* a direct solve does not read it */
  if (p->method == PATCHES) PatchSweep(p, transpose, &n, colors);
  if (p->method == FACTORED_BOX) PetscCall(MatBoxFactorSolve(p->matbox, b, x));
  else if (p->method == PATCHES && p->use == PC_PATCHFD_GLOBAL) {
    for (PetscInt64 i = 0; i < sweeps; i++) PetscCall(SweepGlobal(pc, kern, n, colors, (PetscBool)(zero && i == 0), b, x));
  } else PetscCall(SweepLocal(p, kern, sweeps, n, colors, zero, b, x));
  PetscCall(SolveFixed(p, kern, sweeps, b, x));
  PetscCall(PetscLogEventEnd(PATCHFD_Smooth, pc, b, x, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_PatchFD(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PatchFDSmooth(pc, 1, PETSC_FALSE, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_PatchFD(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PatchFDSmooth(pc, 1, PETSC_TRUE, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyRichardson_PatchFD(PC pc, Vec b, Vec x, PETSC_UNUSED Vec w, PETSC_UNUSED PetscReal rtol, PETSC_UNUSED PetscReal abstol, PETSC_UNUSED PetscReal dtol, PetscInt its,
                                                PetscBool guesszero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(PatchFDSmooth(pc, its, PETSC_FALSE, guesszero, b, x));
  *outits = its;
  *reason = PCRICHARDSON_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bricks have one kind of local solver and of kernels */
static PetscErrorCode PatchFDSetUpBricks(PC pc, DM da)
{
  PC_PatchFD    *p    = (PC_PatchFD *)pc->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  PetscCheck(p->patch == PC_PATCHFD_VERTEX, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_patch %s is for matrices of a DMBOX; an assembled matrix of a DMDA has bricks, use vertex, and on a coarsest level -mg_coarse_pc_type redundant",
             PCPatchFDPatches[p->patch]);
  PetscCheck((p->local == PC_PATCHFD_LOCAL_AUTO || p->local == PC_PATCHFD_LOCAL_FD_INEXACT) && p->fit <= PC_PATCHFD_FIT_OWN, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: bricks of a DMDA take -pc_patchfd_local auto or fd_inexact and -pc_patchfd_fit auto or own; found %s and %s", PCPatchFDLocals[p->local], PCPatchFDFits[p->fit]);
  PetscCheck((p->variant == PC_PATCHFD_AUTO || p->variant == PC_PATCHFD_FUSED) && p->classes == PC_PATCHFD_CLASSES_AUTO && p->precision <= PC_PATCHFD_PRECISION_SAME && p->update == PC_PATCHFD_UPDATE_COLORED, comm,
             PETSC_ERR_ARG_INCOMP, "PCPATCHFD: bricks of a DMDA take -pc_patchfd_variant auto or fused, -pc_patchfd_classes auto, -pc_patchfd_precision auto or same, and -pc_patchfd_update colored; found %s, %s, %s and %s",
             PCPatchFDVariants[p->variant], PCPatchFDClassesTypes[p->classes], PCPatchFDPrecisions[p->precision], PCPatchFDUpdates[p->update]);
  PetscCheck(p->rule.exact < 0, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_fit_exact %g is for -dm_box_operator diffusion, not for bricks of a DMDA", (double)p->rule.exact);
  PetscCall(PCPatchFDCheckOptions(pc));
  PetscCall(PCBricksSetUp(pc, da, &p->rule, &p->bricks));
  p->omega = p->damping == PETSC_DETERMINE ? PCBricksDamping(p->type) : p->damping;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_PatchFD(PC pc)
{
  PC_PatchFD    *p = (PC_PatchFD *)pc->data;
  PatchFDKernels kern;
  DM             da = NULL;

  PetscFunctionBegin;
  pc->failedreason = PC_NOERROR;
  PetscCall(MatBoxFind(pc->pmat, &p->matbox));
  if (!p->matbox) PetscCall(MatBricksFindDMDA(pc->pmat, pc->dm, &da));
  if (da) {
    PetscCall(PatchFDSetUpBricks(pc, da));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCBricksReset(&p->bricks));
  PetscCall(MatBoxGet(pc->pmat, "PCPATCHFD, for a matrix without a DMDA,", &p->matbox));
  PetscCheck(p->bricks.size == PETSC_DETERMINE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_brick_size is for assembled matrices of a DMDA; those of a DMBOX have vertex patches");
  PetscCall(PCPatchFDCheckOptions(pc));
  PetscCall(PatchFDVecTypeGetKernels(p->matbox->dm->vectype, &kern));
  p->method = PATCHES;
  if (p->patch == PC_PATCHFD_VERTEX) PetscCall(PCPatchFDChooseLocal(pc, kern));
  else if (p->matbox->form.separable) p->method = DIAGONALIZED_BOX;
  else if (MatBoxIsOnePatch(p->matbox) && !p->matbox->form.points) p->solver = MATBOX_LOCAL_DENSE_ALONE;
  else if (MatBoxLocalTakesWhole(p->matbox, kern)) p->solver = MATBOX_LOCAL_WHOLE;
  else p->method = FACTORED_BOX;
  PetscCall(PCPatchFDChooseProducts(pc, kern));
  p->omega = p->damping == PETSC_DETERMINE ? PCPatchFDBestDamping(p) : p->damping;
  PetscCall(PatchFDSetUpKernels(pc, kern));
  PetscCall(PatchFDSetFailedReason(pc));
  if (!pc->failedreason && p->matbox->form.points && p->fit == PC_PATCHFD_FIT_LINE && p->method == PATCHES && p->type == PC_PATCHFD_MULTIPLICATIVE && p->damping == PETSC_DETERMINE) PetscCall(MatBoxGetDamping(p->matbox, p->solver, p->products, &p->omega));
  p->use = p->variant;
  if (p->type == PC_PATCHFD_ADDITIVE) p->use = PC_PATCHFD_GLOBAL;
  else if (p->variant == PC_PATCHFD_AUTO) p->use = PCPatchFDBestVariant(p, kern);
  PetscCheck(!p->matbox->form.points || p->method != PATCHES || p->use == PC_PATCHFD_GLOBAL || (p->use == PC_PATCHFD_FUSED && PCPatchFDFitIsFused(p, kern)), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_variant %s is for operators whose patches have a residual of their own; -dm_box_operator %s takes auto or global, and fused "
             "on the host with -pc_patchfd_fit_exact 0 and, in 3D to degree 8, on GPUs with -dm_box_extra_points 1",
              PCPatchFDVariants[p->variant], MatBoxName(p->matbox));
  PetscCheck(p->variant != PC_PATCHFD_BOUNDARY || p->method != PATCHES || !MatBoxLocalHasTerms(p->matbox, p->solver), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_variant boundary is for local solvers by fast diagonalization that are exact; with this operator and -pc_patchfd_local use auto, fused, separate or global");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_PatchFD(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_PatchFD      *p       = (PC_PatchFD *)pc->data;
  PCPatchFDType    type    = p->type;
  PCPatchFDPatch   patch   = p->patch;
  PCPatchFDVariant variant = p->variant;
  PCPatchFDLocal   local   = p->local;
  PCPatchFDFit     fit     = p->fit;
  PatchFDFitRule   rule    = p->rule;
  PCPatchFDClasses classes = p->classes;
  PCPatchFDPrecision precision = p->precision;
  PCPatchFDUpdate  update  = p->update;
  PCPatchFDOrder   order   = p->order;
  PetscReal        damping = p->damping;
  PetscInt         sweeps  = p->sweeps, maxit = p->schurmaxit, brick = p->bricks.size;
  PetscReal        rtol    = p->schurrtol;
  PetscBool        flg, flgs[4];

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PATCHFD options");
  PetscCall(PetscOptionsEnum("-pc_patchfd_type", "How the patches' corrections are combined", "PCPatchFDSetType", PCPatchFDTypes, (PetscEnum)type, (PetscEnum *)&type, &flg));
  if (flg) PetscCall(PCPatchFDSetType(pc, type));
  PetscCall(PetscOptionsEnum("-pc_patchfd_patch", "What a patch is", "PCPatchFDSetPatch", PCPatchFDPatches, (PetscEnum)patch, (PetscEnum *)&patch, &flg));
  if (flg) PetscCall(PCPatchFDSetPatch(pc, patch));
  PetscCall(PetscOptionsEnum("-pc_patchfd_local", "How the problem of a patch is solved", "PCPatchFDSetLocal", PCPatchFDLocals, (PetscEnum)local, (PetscEnum *)&local, &flg));
  if (flg) PetscCall(PCPatchFDSetLocal(pc, local));
  PetscCall(PetscOptionsEnum("-pc_patchfd_fit", "What diagonalized matrices are fitted to", "PCPatchFDSetFit", PCPatchFDFits, (PetscEnum)fit, (PetscEnum *)&fit, &flg));
  if (flg) PetscCall(PCPatchFDSetFit(pc, fit));
  PetscCall(PetscOptionsInt("-pc_patchfd_fit_max_steps", "Most inner steps of a patch", "PCPatchFDSetFitSteps", rule.maxsteps, &rule.maxsteps, &flgs[0]));
  PetscCall(PetscOptionsReal("-pc_patchfd_fit_reduction", "Factor by which they reduce errors", "PCPatchFDSetFitSteps", rule.reduction, &rule.reduction, &flgs[1]));
  PetscCall(PetscOptionsReal("-pc_patchfd_fit_stable", "Largest eigenvalue of single steps without damping", "PCPatchFDSetFitSteps", rule.stable, &rule.stable, &flgs[2]));
  PetscCall(PetscOptionsInt("-pc_patchfd_fit_lanczos", "Steps to estimate eigenvalues", "PCPatchFDSetFitSteps", rule.lanczos, &rule.lanczos, &flgs[3]));
  if (flgs[0] || flgs[1] || flgs[2] || flgs[3]) PetscCall(PCPatchFDSetFitSteps(pc, rule.maxsteps, rule.reduction, rule.stable, rule.lanczos));
  PetscCall(PetscOptionsReal("-pc_patchfd_fit_exact", "Condition number above which a patch is solved exactly", "PCPatchFDSetFitExact", rule.exact, &rule.exact, &flg));
  if (flg) PetscCall(PCPatchFDSetFitExact(pc, rule.exact));
  PetscCall(PetscOptionsEnum("-pc_patchfd_classes", "Which matrices the patches have", "PCPatchFDSetClasses", PCPatchFDClassesTypes, (PetscEnum)classes, (PetscEnum *)&classes, &flg));
  if (flg) PetscCall(PCPatchFDSetClasses(pc, classes));
  PetscCall(PetscOptionsEnum("-pc_patchfd_precision", "Precision of products with dense inverses, or of factors at points", "PCPatchFDSetPrecision", PCPatchFDPrecisions, (PetscEnum)precision, (PetscEnum *)&precision, &flg));
  if (flg) PetscCall(PCPatchFDSetPrecision(pc, precision));
  PetscCall(PetscOptionsEnum("-pc_patchfd_update", "How additive corrections are summed", "PCPatchFDSetUpdate", PCPatchFDUpdates, (PetscEnum)update, (PetscEnum *)&update, &flg));
  if (flg) PetscCall(PCPatchFDSetUpdate(pc, update));
  PetscCall(PetscOptionsEnum("-pc_patchfd_variant", "Which kernels", "PCPatchFDSetVariant", PCPatchFDVariants, (PetscEnum)variant, (PetscEnum *)&variant, &flg));
  if (flg) PetscCall(PCPatchFDSetVariant(pc, variant));
  PetscCall(PetscOptionsEnum("-pc_patchfd_order", "Order of the colours", "PCPatchFDSetOrder", PCPatchFDOrders, (PetscEnum)order, (PetscEnum *)&order, &flg));
  if (flg) PetscCall(PCPatchFDSetOrder(pc, order));
  PetscCall(PetscOptionsReal("-pc_patchfd_damping", "Factor of the corrections", "PCPatchFDSetDamping", damping, &damping, &flg));
  if (flg) PetscCall(PCPatchFDSetDamping(pc, damping));
  PetscCall(PetscOptionsInt("-pc_patchfd_sweeps", "Sweeps an application", "PCPatchFDSetSweeps", sweeps, &sweeps, &flg));
  if (flg) PetscCall(PCPatchFDSetSweeps(pc, sweeps));
  PetscCall(PetscOptionsInt("-pc_patchfd_brick_size", "Unknowns of a DMDA's bricks in a direction", "PCPatchFDSetBrickSize", brick, &brick, &flg));
  if (flg) PetscCall(PCPatchFDSetBrickSize(pc, brick));
  PetscCall(PetscOptionsReal("-pc_patchfd_schur_rtol", "Relative tolerance of the pressure's iterations in a patch", "PCPatchFDSetSchurTolerances", rtol, &rtol, &flgs[0]));
  PetscCall(PetscOptionsInt("-pc_patchfd_schur_max_it", "Most iterations of the pressure in a patch", "PCPatchFDSetSchurTolerances", maxit, &maxit, &flgs[1]));
  if (flgs[0] || flgs[1]) PetscCall(PCPatchFDSetSchurTolerances(pc, rtol, maxit));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_PatchFD(PC pc, PetscViewer viewer)
{
  static const char *const solvers[] = {"fd_inexact", "dense", "schur", "fd_inexact"}; /* of pairs of a MatBoxLocalType */
  PC_PatchFD    *p = (PC_PatchFD *)pc->data;
  PetscBool      ascii;
  PetscMPIInt    size;
  PatchFDKernels kern;
  const char    *kernels;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->bricks.bricks) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s bricks, %s order, damping %g, %" PetscInt_FMT " sweep(s)\n", PCPatchFDTypes[p->type], PCPatchFDOrders[p->order], (double)p->omega, p->sweeps));
    PetscCall(MatBricksView(p->bricks.bricks, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->patch == PC_PATCHFD_BOX)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  whole box as one patch: direct solve by %s\n",
                                     p->method == FACTORED_BOX ? "a factorization of the assembled matrix on the host" : (p->method == PATCHES && pc->setupcalled ? "its dense inverse" : "fast diagonalization")));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  %s vertex patches, %s order, damping %g, %" PetscInt_FMT " sweep(s), variant %s\n",
                                        PCPatchFDTypes[p->type], PCPatchFDOrders[p->order], (double)(pc->setupcalled ? p->omega : p->damping), p->sweeps, PCPatchFDVariants[pc->setupcalled ? p->use : p->variant]));
  if (!pc->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(DMBoxViewHalvings(p->matbox->dm, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PatchFDVecTypeGetKernels(p->matbox->dm->vectype, &kern));
  if (p->patch == PC_PATCHFD_VERTEX && !p->matbox->form.separable)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  local solver %s, %s matrices%s%s%s%s\n", solvers[p->solver / 2],
                                     p->solver == MATBOX_LOCAL_OWN ? "own" : (p->solver == MATBOX_LOCAL_SHARED ? "shared" : (p->solver % 2 ? "single" : "exact")), p->products ? ", products in " : "",
                                     p->products ? PCPatchFDPrecisions[PC_PATCHFD_PRECISION_SAME + (int)p->products] : "", p->fitrule.packed ? ", residuals with factors in fp16" : "", p->atomic ? ", atomic updates" : ""));
  if (p->patch == PC_PATCHFD_VERTEX && solvers[p->solver / 2] == solvers[MATBOX_LOCAL_SCHUR / 2])
    PetscCall(PetscViewerASCIIPrintf(viewer, "  pressures by conjugate gradients, relative tolerance %g, at most %" PetscInt_FMT " iterations\n", (double)p->matbox->local[p->solver].rtol, p->schurmaxit));
  if (p->patch == PC_PATCHFD_VERTEX) PetscCall(MatBoxLocalView(p->matbox, p->solver, kern, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  kernels: %s (%s memory, %d bytes a number)\n", kern->name, PetscMemTypeHost(kern->memtype) ? "host" : "device", (int)kern->size));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (size > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "  between ranks: %s\n", DMBoxHaloTypes[DMBoxHaloTypeInUse(p->matbox->dm, kern)]));
  kernels = p->patch == PC_PATCHFD_VERTEX ? MatBoxLocalKernels(p->matbox, p->solver, kern, p->products) : NULL;
  if (kernels) PetscCall(PetscViewerASCIIPrintf(viewer, "  kernels for patches: %s\n", kernels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_PatchFD(PC pc)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&p->r));
  PetscCall(VecDestroy(&p->z));
  PetscCall(PCBricksReset(&p->bricks));
  p->matbox = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the setters' implementations; a changed state ends recordings of the smoother, see PCApply_PatchMG() ---- */

/* the methods behind PCPatchFDSetX() and PCPatchFDGetX(); a new value is one for the next PCSetUp() */
#define Setting(Name, Kind, member, check) \
  static PetscErrorCode PCPatchFDSet##Name##_PatchFD(PC pc, Kind value) \
  { \
    PC_PatchFD *p = (PC_PatchFD *)pc->data; \
\
    PetscFunctionBegin; \
    check; \
    if (p->member != value) pc->setupcalled = PETSC_FALSE; \
    p->member = value; \
    PetscCall(PetscObjectStateIncrease((PetscObject)pc)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode PCPatchFDGet##Name##_PatchFD(PC pc, Kind *value) \
  { \
    PetscFunctionBegin; \
    *value = pc->setupcalled && offsetof(PC_PatchFD, member) == offsetof(PC_PatchFD, damping) ? (Kind)((PC_PatchFD *)pc->data)->omega : ((PC_PatchFD *)pc->data)->member; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define CheckDamping PetscCheck((value > 0 && value < 2) || value == PETSC_DETERMINE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_damping must be in (0, 2), found %g", (double)value)
#define CheckSweeps  PetscCheck(value >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_sweeps must be at least 1, found %" PetscInt_FMT, value)
#define CheckExact \
  PetscCheck(value >= 0 || value == PETSC_UNLIMITED || value == PETSC_DETERMINE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_fit_exact must be at least 0, or unlimited, found %g", (double)value)
#define CheckBrick \
  PetscCheck((value >= 1 && value <= PATCHFD_BRICK_MAX) || value == PETSC_DETERMINE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_brick_size must be 1 to %d, found %" PetscInt_FMT, PATCHFD_BRICK_MAX, value)
Setting(Type, PCPatchFDType, type, )
Setting(Patch, PCPatchFDPatch, patch, )
Setting(Variant, PCPatchFDVariant, variant, )
Setting(Local, PCPatchFDLocal, local, )
Setting(Fit, PCPatchFDFit, fit, )
Setting(Classes, PCPatchFDClasses, classes, )
Setting(Precision, PCPatchFDPrecision, precision, )
Setting(Update, PCPatchFDUpdate, update, )
Setting(Order, PCPatchFDOrder, order, )
Setting(Damping, PetscReal, damping, CheckDamping)
Setting(Sweeps, PetscInt, sweeps, CheckSweeps)
Setting(BrickSize, PetscInt, bricks.size, CheckBrick)
Setting(FitExact, PetscReal, rule.exact, CheckExact)

static PetscErrorCode PCPatchFDSetSchurTolerances_PatchFD(PC pc, PetscReal rtol, PetscInt maxit)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  PetscCheck(rtol == PETSC_DETERMINE || (rtol > 0 && rtol < 1), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_schur_rtol must be in (0, 1), found %g", (double)rtol);
  PetscCheck(maxit >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_schur_max_it must be at least 1, found %" PetscInt_FMT, maxit);
  if (p->schurrtol != rtol || p->schurmaxit != maxit) pc->setupcalled = PETSC_FALSE;
  p->schurrtol  = rtol;
  p->schurmaxit = maxit;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDGetSchurTolerances_PatchFD(PC pc, PetscReal *rtol, PetscInt *maxit)
{
  const PC_PatchFD *p = (const PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  if (rtol) *rtol = p->schurrtol;
  if (maxit) *maxit = p->schurmaxit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char       *name;
  PetscErrorCodeFn *fn;
} methods[] = {
  {"PCPatchFDSetFit_C",     (PetscErrorCodeFn *)PCPatchFDSetFit_PatchFD    },
  {"PCPatchFDGetFit_C",     (PetscErrorCodeFn *)PCPatchFDGetFit_PatchFD    },
  {"PCPatchFDSetFitExact_C", (PetscErrorCodeFn *)PCPatchFDSetFitExact_PatchFD},
  {"PCPatchFDGetFitExact_C", (PetscErrorCodeFn *)PCPatchFDGetFitExact_PatchFD},
  {"PCPatchFDSetFitSteps_C", (PetscErrorCodeFn *)PCPatchFDSetFitSteps_PatchFD},
  {"PCPatchFDGetFitSteps_C", (PetscErrorCodeFn *)PCPatchFDGetFitSteps_PatchFD},
  {"PCPatchFDSetSchurTolerances_C", (PetscErrorCodeFn *)PCPatchFDSetSchurTolerances_PatchFD},
  {"PCPatchFDGetSchurTolerances_C", (PetscErrorCodeFn *)PCPatchFDGetSchurTolerances_PatchFD},
  {"PCPatchFDSetType_C",    (PetscErrorCodeFn *)PCPatchFDSetType_PatchFD   },
  {"PCPatchFDGetType_C",    (PetscErrorCodeFn *)PCPatchFDGetType_PatchFD   },
  {"PCPatchFDSetPatch_C",   (PetscErrorCodeFn *)PCPatchFDSetPatch_PatchFD  },
  {"PCPatchFDGetPatch_C",   (PetscErrorCodeFn *)PCPatchFDGetPatch_PatchFD  },
  {"PCPatchFDSetVariant_C", (PetscErrorCodeFn *)PCPatchFDSetVariant_PatchFD},
  {"PCPatchFDGetVariant_C", (PetscErrorCodeFn *)PCPatchFDGetVariant_PatchFD},
  {"PCPatchFDSetLocal_C",   (PetscErrorCodeFn *)PCPatchFDSetLocal_PatchFD  },
  {"PCPatchFDGetLocal_C",   (PetscErrorCodeFn *)PCPatchFDGetLocal_PatchFD  },
  {"PCPatchFDSetClasses_C", (PetscErrorCodeFn *)PCPatchFDSetClasses_PatchFD},
  {"PCPatchFDGetClasses_C", (PetscErrorCodeFn *)PCPatchFDGetClasses_PatchFD},
  {"PCPatchFDSetPrecision_C", (PetscErrorCodeFn *)PCPatchFDSetPrecision_PatchFD},
  {"PCPatchFDGetPrecision_C", (PetscErrorCodeFn *)PCPatchFDGetPrecision_PatchFD},
  {"PCPatchFDSetUpdate_C",  (PetscErrorCodeFn *)PCPatchFDSetUpdate_PatchFD },
  {"PCPatchFDGetUpdate_C",  (PetscErrorCodeFn *)PCPatchFDGetUpdate_PatchFD },
  {"PCPatchFDSetOrder_C",   (PetscErrorCodeFn *)PCPatchFDSetOrder_PatchFD  },
  {"PCPatchFDGetOrder_C",   (PetscErrorCodeFn *)PCPatchFDGetOrder_PatchFD  },
  {"PCPatchFDSetDamping_C", (PetscErrorCodeFn *)PCPatchFDSetDamping_PatchFD},
  {"PCPatchFDGetDamping_C", (PetscErrorCodeFn *)PCPatchFDGetDamping_PatchFD},
  {"PCPatchFDSetBrickSize_C", (PetscErrorCodeFn *)PCPatchFDSetBrickSize_PatchFD},
  {"PCPatchFDGetBrickSize_C", (PetscErrorCodeFn *)PCPatchFDGetBrickSize_PatchFD},
  {"PCPatchFDSetSweeps_C",  (PetscErrorCodeFn *)PCPatchFDSetSweeps_PatchFD },
  {"PCPatchFDGetSweeps_C",  (PetscErrorCodeFn *)PCPatchFDGetSweeps_PatchFD },
};

/*
  With the settings of `pc`, but the adjoint: what PCApplyTranspose(pc) is, for KSPRICHARDSON's steps on an iterate, too.  A symmetric order is its own
  mirror image, and so is a sum of patches.
*/
PetscErrorCode PCPatchFDSetAdjoint(PC adjoint, PC pc)
{
  const PC_PatchFD    *p        = (const PC_PatchFD *)pc->data;
  const PCPatchFDOrder mirror[] = {[PC_PATCHFD_FORWARD] = PC_PATCHFD_BACKWARD, [PC_PATCHFD_BACKWARD] = PC_PATCHFD_FORWARD, [PC_PATCHFD_SYMMETRIC] = PC_PATCHFD_SYMMETRIC};

  PetscFunctionBegin;
  PetscCall(PCSetType(adjoint, PCPATCHFD));
  PetscCall(PCPatchFDSetType(adjoint, p->type));
  PetscCall(PCPatchFDSetPatch(adjoint, p->patch));
  PetscCall(PCPatchFDSetVariant(adjoint, p->variant));
  PetscCall(PCPatchFDSetLocal(adjoint, p->local));
  PetscCall(PCPatchFDSetFit(adjoint, p->fit));
  PetscCall(PCPatchFDSetFitSteps(adjoint, p->rule.maxsteps, p->rule.reduction, p->rule.stable, p->rule.lanczos));
  PetscCall(PCPatchFDSetFitExact(adjoint, p->rule.exact));
  PetscCall(PCPatchFDSetClasses(adjoint, p->classes));
  PetscCall(PCPatchFDSetPrecision(adjoint, p->precision));
  PetscCall(PCPatchFDSetUpdate(adjoint, p->update));
  if (p->type == PC_PATCHFD_MULTIPLICATIVE && p->patch == PC_PATCHFD_VERTEX) PetscCall(PCPatchFDSetOrder(adjoint, mirror[p->order]));
  PetscCall(PCPatchFDSetDamping(adjoint, p->damping));
  PetscCall(PCPatchFDSetSweeps(adjoint, p->sweeps));
  PetscCall(PCPatchFDSetBrickSize(adjoint, p->bricks.size));
  PetscCall(PCPatchFDSetSchurTolerances(adjoint, p->schurrtol, p->schurmaxit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchFDCanRecord(PC pc, PetscBool *can)
{
  PetscFunctionBegin;
  *can = (PetscBool)(((PC_PatchFD *)pc->data)->method != FACTORED_BOX);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_PatchFD(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_PatchFD(pc));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(methods); i++) PetscCall(PetscObjectComposeFunction_Private((PetscObject)pc, methods[i].name, NULL));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCPATCHFD - Tensor-product vertex-patch smoother: on each patch of cells around an interior vertex the local problem is solved, by fast
  diagonalization or by a small dense inverse

  Options Database Keys:
+ -pc_patchfd_type (multiplicative|additive)                - one colour after another (default), or all patches from one residual
. -pc_patchfd_patch (vertex|box)                            - the cells around each vertex (default), or the whole box as one patch (a direct solver)
. -pc_patchfd_variant (auto|boundary|fused|separate|global) - which kernels compute a step; all give the same result (default auto)
. -pc_patchfd_local (auto|fd|fd_inexact|dense|schur)        - how the problem of a patch is solved (default auto)
. -pc_patchfd_fit (auto|own|shared|line)                    - what `fd_inexact` diagonalizes where coefficients vary (default auto), see `PCPatchFDSetFit()`
. -pc_patchfd_fit_max_steps m, -pc_patchfd_fit_reduction q, -pc_patchfd_fit_stable l, -pc_patchfd_fit_lanczos n - inner steps of its patches, see `PCPatchFDSetFitSteps()`
. -pc_patchfd_fit_exact kappa                              - those with a larger condition number are solved exactly, see `PCPatchFDSetFitExact()`
. -pc_patchfd_classes (auto|single|exact)                   - which matrices the patches have (default auto)
. -pc_patchfd_precision (auto|same|single|tf32|bf16|fp16)    - of products with dense inverses, or of factors at points, on GPUs (default auto)
. -pc_patchfd_update (colored|atomic)                       - how additive corrections are summed (default colored)
. -pc_patchfd_order (forward|backward|symmetric)            - order of the colours (default forward)
. -pc_patchfd_damping w                                     - factor of the corrections, 0 < w < 2 (default: what converges)
. -pc_patchfd_sweeps n                                      - sweeps an application (default 1)
. -pc_patchfd_brick_size m                                  - unknowns of a `DMDA`'s bricks in each direction, see `PCPatchFDSetBrickSize()` (default 8)
. -pc_patchfd_schur_rtol r                                  - tolerance of `schur`, for the pressure in a patch (default 1e-3, from degree 4 on 1e-4)
- -pc_patchfd_schur_max_it n                                - limit of its iterations (default 200)

  Level: beginner

  Notes:
  The Pmat is an operator made by `DMCreateMatrix()` of a `DMBOX`, or an assembled matrix of a `DMDA` (below). The patches of a line of cells are the pairs of neighbouring
  cells; a patch in d dimensions is a product of d pairs. Unknowns on Neumann sides belong to the patches that reach them.

  With `KSPRICHARDSON` as smoother (without monitors and with the default or skipped convergence test) a step works on the current
  iterate directly, which is what makes it fast; as a preconditioner of other methods it starts from zero.

  The variants. `global` takes the residual of the whole mesh before each colour, `separate` that of the patches of the colour,
  `fused` does the same and solves at once, and `boundary` computes the new values of a patch from the
  right-hand side and the values on the patch's boundary alone (`auto` is `boundary`, but `fused` for degree 1). For the additive smoother only `global`
  applies.

  For operators that are not separable there is no `boundary`. There patches of a colour are coupled through the cells between them: in `separate` and
  `global` all of them see the state before the colour; `fused` has twice as many colours, in which no patch is beside another. Iterates differ, but
  not how fast they converge. `auto` is `separate` on the host and `global` on a GPU.

  Multiplicative steps in the same order before and after the coarse correction converge fastest, with `KSPFGMRES`. For `KSPCG` the
  V-cycle must be symmetric: use the reverse order after the coarse correction (see `PCPatchMGSetSymmetric()`) or the symmetric order.

  On any number of ranks the iterates are the same to rounding.

  Or the Pmat may be an assembled matrix of a `DMDA`, which it has from `DMCreateMatrix()`, or the solver from `KSPSetDM()`: a program that knows nothing of this library can use it on the
  levels of `PCMG`, with matrices that the program assembles on each level or with `-pc_mg_galerkin pmat`,
.vb
     -pc_type mg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type patchfd
.ve
  Then bricks of m^d unknowns, which do not overlap, take the place of vertex patches. Their local solvers, by fast diagonalization, are fitted to the rows of the matrix, scaled to its
  diagonal, and repeated where that is needed (`PCPatchFDSetFitSteps()`). There are two colours, or 2^d if rows couple unknowns that differ in more than one direction. `multiplicative` and
  `additive` (with `-pc_patchfd_damping`, 0.75 by default, or under `KSPCHEBYSHEV`), order and sweeps are as above; other settings do not apply and are errors. The `DMDA` must have one degree
  of freedom a node and not be periodic, rows must reach no farther than the next unknown in each direction, and have positive diagonal entries. Unknowns whose rows have nothing but the
  diagonal are solved first, and exactly. Kernels are for the host.

  Bricks save passes over the matrix: with 63^3 and 511^2 unknowns they took no more iterations than a symmetric sweep of `PCSOR`, with grading and anisotropy 30 to 40 per cent fewer, and solves took
  10 to 50 per cent less time than with that or with `KSPCHEBYSHEV` and `PCSOR`. Set-up costs as much as 6 or 7 iterations, so that `PCSOR` is the better choice for a single solve that takes few, as
  with constant and smooth coefficients; bricks pay where several systems are solved with a matrix, or iterations are many. They are not for large jumps of coefficients inside of bricks: with a jump of
  1e3 on a sphere `KSPCHEBYSHEV` with `PCSOR` converges, and bricks do not.

  Sources: C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU, Algorithm
  2.3 and equations (2.8), (2.13); C. Cui, J. Witte, F. Bonizzoni, G. Kanschat, Tensor-product vertex patch smoothers for biharmonic problems;
  C. Cui, G. Kanschat, Multigrid methods for the Stokes problem on GPU systems.

.seealso: `DMBOX`, `PCPATCHMG`, `PCPatchFDSetType()`, `PCPatchFDSetPatch()`, `PCPatchFDSetVariant()`, `PCPatchFDSetLocal()`, `PCPatchFDSetFit()`, `PCPatchFDSetFitSteps()`, `PCPatchFDSetClasses()`, `PCPatchFDSetPrecision()`, `PCPatchFDSetUpdate()`,
          `PCPatchFDSetOrder()`, `PCPatchFDSetDamping()`, `PCPatchFDSetSweeps()`, `PCPatchFDSetBrickSize()`, `PCPatchFDSetSchurTolerances()`, `PCPATCH`, `PCASM`
M*/
PetscErrorCode PCCreate_PatchFD(PC pc)
{
  PC_PatchFD *p;

  PetscFunctionBegin;
  PetscCall(PatchFDCite());
  PetscCall(PetscNew(&p));
  p->damping = PETSC_DETERMINE;
  p->sweeps  = 1;
  p->bricks.size = PETSC_DETERMINE;
  p->schurrtol  = PETSC_DETERMINE;
  p->schurmaxit = 200;
  p->rule       = (PatchFDFitRule){.maxsteps = 6, .reduction = 0.7, .stable = 1.8, .lanczos = 10, .exact = PETSC_DETERMINE};
  pc->data   = p;

  pc->ops->setup           = PCSetUp_PatchFD;
  pc->ops->apply           = PCApply_PatchFD;
  pc->ops->applytranspose  = PCApplyTranspose_PatchFD;
  pc->ops->applyrichardson = PCApplyRichardson_PatchFD;
  pc->ops->presolve        = PCPreSolve_CheckKrylov;
  pc->ops->setfromoptions  = PCSetFromOptions_PatchFD;
  pc->ops->view            = PCView_PatchFD;
  pc->ops->reset           = PCReset_PatchFD;
  pc->ops->destroy         = PCDestroy_PatchFD;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(methods); i++) PetscCall(PetscObjectComposeFunction_Private((PetscObject)pc, methods[i].name, methods[i].fn));
  PetscFunctionReturn(PETSC_SUCCESS);
}
