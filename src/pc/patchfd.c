/*
  PCPATCHFD: vertex-patch smoothers whose local problems are solved by fast diagonalization or by dense inverses.

  In the order in which a solver calls them:
     PCSetUp_PatchFD()            gets local solvers from the matrix
     PCApplyRichardson_PatchFD()  smoothing steps on a given or zero guess: where the work is
     PCApply_PatchFD(), PCApplyTranspose_PatchFD()   steps from a zero guess; the transpose visits the colours in reverse
     PCSetFromOptions_PatchFD(), PCView_PatchFD(), PCReset/Destroy, PCCreate_PatchFD(), and the public setters.

  This file has the settings.  The local solvers (patchfd/private/patches.h) come from the matrix and belong to the PC; src/mat/patches.c
  makes the steps.  While the preconditioner is reused they stay as they are, even if the matrix changes.
*/
#include "patchfd.h" /*I "petscpatchfd.h" I*/
#include <patchfd/private/bricks.h>
#include <patchfd/private/options.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

const char *const PCPatchFDTypes[]        = {"multiplicative",   "additive", "chebyshev_fourth", "chebyshev_first", "PCPatchFDType",
                                             "PC_PATCHFD_TYPE_", NULL};
const char *const PCPatchFDPatches[]      = {"auto", "vertex", "box", "cell", "PCPatchFDPatch", "PC_PATCHFD_PATCH_", NULL};
const char *const PCPatchFDVariants[]     = {"auto", "boundary", "fused", "separate", "global", "PCPatchFDVariant", "PC_PATCHFD_VARIANT_",
                                             NULL};
const char *const PCPatchFDLocals[]       = {"auto", "fd", "fd_inexact", "dense", "schur", "PCPatchFDLocal", "PC_PATCHFD_LOCAL_", NULL};
const char *const PCPatchFDFits[]         = {"auto", "own", "shared", "line", "PCPatchFDFit", "PC_PATCHFD_FIT_", NULL};
const char *const PCPatchFDClassesTypes[] = {"auto", "single", "exact", "PCPatchFDClassesType", "PC_PATCHFD_CLASSES_", NULL};
const char *const PCPatchFDPrecisions[] = {"auto", "same", "single", "tf32", "bf16", "fp16", "PCPatchFDPrecision", "PC_PATCHFD_PRECISION_",
                                           NULL};
const char *const PCPatchFDUpdates[]    = {"colored", "atomic", "PCPatchFDUpdate", "PC_PATCHFD_UPDATE_", NULL};
const char *const PCPatchFDOrders[]     = {"auto", "forward", "backward", "symmetric", "PCPatchFDOrder", "PC_PATCHFD_ORDER_", NULL};

/* does an order of colours apply? */
static PetscBool HasColors(const MatPatchesSpec *s)
{
  return (PetscBool)(s->type == PC_PATCHFD_TYPE_MULTIPLICATIVE && s->patch <= PC_PATCHFD_PATCH_VERTEX);
}

/* A patch that is singular is no error: SNES, TS and others that learn of it (KSP_DIVERGED_PC_FAILED) take another step */
static PetscErrorCode PCSetUp_PatchFD(PC pc)
{
  PC_PatchFD    *p    = (PC_PatchFD *)pc->data;
  MatPatchesSpec spec = p->spec;
  PetscLogDouble start, end;
  PetscInt       N;

  PetscFunctionBegin;
  if (spec.order == PC_PATCHFD_ORDER_AUTO) spec.order = HasColors(&spec) ? p->autoorder : PC_PATCHFD_ORDER_FORWARD;
  pc->setupcalled = PETSC_FALSE; /* after an error */
  PetscCall(PetscTime(&start));
  PetscCall(MatCreatePatches(pc->pmat, pc->dm, &spec, &p->patches));
  PetscCall(PetscTime(&end));
  PetscCall(MatGetSize(pc->pmat, &N, NULL));
  PetscCall(PetscInfo(pc, "Local solvers for %" PetscInt_FMT " unknowns made in %.3g s\n", N, end - start));
  pc->failedreason = p->patches->singular ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_NOERROR;
  PetscCheck(!pc->failedreason || !pc->erroriffailure, PetscObjectComm((PetscObject)pc), PETSC_ERR_MAT_LU_ZRPVT,
             "PCPATCHFD: the matrix of %s is singular, or not positive definite where it has to be: %s",
             p->spec.patch == PC_PATCHFD_PATCH_BOX ? "the whole box" : "a patch", p->patches->ops->remedy);
  PetscCall(PetscObjectStateIncrease((PetscObject)pc)); /* recordings hold what was before */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_PatchFD(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(MatPatchesSmooth(((PC_PatchFD *)pc->data)->patches, 1, PETSC_FALSE, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_PatchFD(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(MatPatchesSmooth(((PC_PatchFD *)pc->data)->patches, 1, PETSC_TRUE, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* steps that know the matrix of their patches would lead to its solution: with a matrix that has changed since they take its residual */
static PetscErrorCode PCApplyRichardson_PatchFD(PC pc, Vec b, Vec x, PETSC_UNUSED Vec w, PETSC_UNUSED PetscReal rtol,
                                                PETSC_UNUSED PetscReal abstol, PETSC_UNUSED PetscReal dtol, PetscInt its,
                                                PetscBool guesszero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  MatPatches patches = ((PC_PatchFD *)pc->data)->patches;
  PetscBool  same;

  PetscFunctionBegin;
  PetscCall(MatPatchesAreOf(patches, pc->pmat, &same));
  if (same) PetscCall(MatPatchesSmooth(patches, its, PETSC_FALSE, guesszero, b, x));
  else PetscCall(MatPatchesIterate(patches, pc->pmat, its, guesszero, b, x));
  *outits = its;
  *reason = PCRICHARDSON_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_PatchFD(PC pc, PatchFDOptionItems PetscOptionsObject)
{
  MatPatchesSpec s = ((PC_PatchFD *)pc->data)->spec;
  PetscBool      flg, flgs[4];

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PATCHFD options");
  PATCHFD_OPTION_ENUM("-pc_patchfd_type", "How the patches' corrections are combined", PCPatchFDSetType, pc, PCPatchFDTypes, s.type);
  PATCHFD_OPTION_ENUM("-pc_patchfd_patch", "What a patch is", PCPatchFDSetPatch, pc, PCPatchFDPatches, s.patch);
  PATCHFD_OPTION_ENUM("-pc_patchfd_local", "How the problem of a patch is solved", PCPatchFDSetLocal, pc, PCPatchFDLocals, s.local);
  PATCHFD_OPTION_ENUM("-pc_patchfd_fit", "What diagonalized matrices are fitted to", PCPatchFDSetFit, pc, PCPatchFDFits, s.fit);
  PetscCall(PetscOptionsInt("-pc_patchfd_fit_max_steps", "Most inner steps of a patch", "PCPatchFDSetFitSteps", s.rule.maxsteps,
                            &s.rule.maxsteps, &flgs[0]));
  PetscCall(PetscOptionsReal("-pc_patchfd_fit_reduction", "Factor by which they reduce errors", "PCPatchFDSetFitSteps", s.rule.reduction,
                             &s.rule.reduction, &flgs[1]));
  PetscCall(PetscOptionsReal("-pc_patchfd_fit_stable", "Largest eigenvalue of single steps without damping", "PCPatchFDSetFitSteps",
                             s.rule.stable, &s.rule.stable, &flgs[2]));
  PetscCall(PetscOptionsInt("-pc_patchfd_fit_lanczos", "Steps to estimate eigenvalues", "PCPatchFDSetFitSteps", s.rule.lanczos,
                            &s.rule.lanczos, &flgs[3]));
  if (flgs[0] || flgs[1] || flgs[2] || flgs[3])
    PetscCall(PCPatchFDSetFitSteps(pc, s.rule.maxsteps, s.rule.reduction, s.rule.stable, s.rule.lanczos));
  PatchFDOptions(Real, PatchFDOptionsWord(s.rule.exact), "-pc_patchfd_fit_exact", "Condition number above which a patch is solved exactly",
                 "PCPatchFDSetFitExact", s.rule.exact, &s.rule.exact, &flg);
  if (flg) PetscCall(PCPatchFDSetFitExact(pc, s.rule.exact));
  PATCHFD_OPTION_ENUM("-pc_patchfd_classes", "Which matrices the patches have", PCPatchFDSetClasses, pc, PCPatchFDClassesTypes, s.classes);
  PATCHFD_OPTION_ENUM("-pc_patchfd_precision", "Precision of products with dense inverses, or of factors at points", PCPatchFDSetPrecision,
                      pc, PCPatchFDPrecisions, s.precision);
  PATCHFD_OPTION_ENUM("-pc_patchfd_update", "How additive corrections are summed", PCPatchFDSetUpdate, pc, PCPatchFDUpdates, s.update);
  PATCHFD_OPTION_ENUM("-pc_patchfd_variant", "Which kernels", PCPatchFDSetVariant, pc, PCPatchFDVariants, s.variant);
  PATCHFD_OPTION_ENUM("-pc_patchfd_order", "Order of the colours", PCPatchFDSetOrder, pc, PCPatchFDOrders, s.order);
  PatchFDOptions(Real, PatchFDOptionsWord(s.damping), "-pc_patchfd_damping", "Factor of the corrections", "PCPatchFDSetDamping", s.damping,
                 &s.damping, &flg);
  if (flg) PetscCall(PCPatchFDSetDamping(pc, s.damping));
  PetscCall(PetscOptionsInt("-pc_patchfd_sweeps", "Sweeps an application", "PCPatchFDSetSweeps", s.sweeps, &s.sweeps, &flg));
  if (flg) PetscCall(PCPatchFDSetSweeps(pc, s.sweeps));
  PatchFDOptions(Int, PatchFDOptionsWord((PetscReal)s.bricksize), "-pc_patchfd_brick_size", "Unknowns of a DMDA's bricks in a direction",
                 "PCPatchFDSetBrickSize", s.bricksize, &s.bricksize, &flg);
  if (flg) PetscCall(PCPatchFDSetBrickSize(pc, s.bricksize));
  PatchFDOptions(Real, PatchFDOptionsWord(s.schurrtol), "-pc_patchfd_schur_rtol",
                 "Relative tolerance of the pressure's iterations in a patch", "PCPatchFDSetSchurTolerances", s.schurrtol, &s.schurrtol,
                 &flgs[0]);
  PetscCall(PetscOptionsInt("-pc_patchfd_schur_max_it", "Most iterations of the pressure in a patch", "PCPatchFDSetSchurTolerances",
                            s.schurmaxit, &s.schurmaxit, &flgs[1]));
  if (flgs[0] || flgs[1]) PetscCall(PCPatchFDSetSchurTolerances(pc, s.schurrtol, s.schurmaxit));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_PatchFD(PC pc, PetscViewer viewer)
{
  const PC_PatchFD     *p = (const PC_PatchFD *)pc->data;
  const MatPatchesSpec *s = &p->spec;
  PetscBool             ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (pc->setupcalled) PetscCall((*p->patches->ops->view)(p->patches, viewer));
  else if (s->patch == PC_PATCHFD_PATCH_BOX) PetscCall(PetscViewerASCIIPrintf(viewer, "  whole box as one patch: direct solve\n"));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s vertex patches, %s order, damping %g, %" PetscInt_FMT " sweep(s), variant %s\n",
                                     PCPatchFDTypes[s->type], PCPatchFDOrders[s->order], (double)s->damping, s->sweeps,
                                     PCPatchFDVariants[s->variant]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_PatchFD(PC pc)
{
  PetscFunctionBegin;
  PetscCall(MatPatchesDestroy(&((PC_PatchFD *)pc->data)->patches));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the setters' implementations; a changed state ends recordings of the smoother, see PCApply_PatchMG() ---- */

/* the methods behind PCPatchFDSetX() and PCPatchFDGetX(); a new value is one for the next PCSetUp() */
#define Setting(Name, Kind, member, check) \
  static PetscErrorCode PCPatchFDSet##Name##_PatchFD(PC pc, Kind value) \
  { \
    MatPatchesSpec *s = &((PC_PatchFD *)pc->data)->spec; \
\
    PetscFunctionBegin; \
    check; \
    if (s->member != value) pc->setupcalled = PETSC_FALSE; \
    s->member = value; \
    PetscCall(PetscObjectStateIncrease((PetscObject)pc)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode PCPatchFDGet##Name##_PatchFD(PC pc, Kind *value) \
  { \
    const PC_PatchFD *p = (const PC_PatchFD *)pc->data; \
\
    PetscFunctionBegin; \
    *value = p->spec.member; \
    if (pc->setupcalled && offsetof(MatPatchesSpec, member) == offsetof(MatPatchesSpec, damping)) *value = (Kind)p->patches->omega; \
    if (pc->setupcalled && offsetof(MatPatchesSpec, member) == offsetof(MatPatchesSpec, order)) *value = (Kind)p->patches->spec.order; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define CheckDamping \
  PetscCheck((value > 0 && value < 2) || value == PETSC_DETERMINE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, \
             "PCPATCHFD: -pc_patchfd_damping must be in (0, 2), found %g", (double)value)
#define CheckSweeps \
  PetscCheck(value >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, \
             "PCPATCHFD: -pc_patchfd_sweeps must be at least 1, found %" PetscInt_FMT, value)
#define CheckExact \
  PetscCheck(value >= 0 || value == PETSC_UNLIMITED || value == PETSC_DETERMINE, PetscObjectComm((PetscObject)pc), \
             PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_fit_exact must be at least 0, or unlimited, found %g", (double)value)
#define CheckBrick \
  PetscCheck((value >= 1 && value <= PATCHFD_BRICK_MAX) || value == PETSC_DETERMINE, PetscObjectComm((PetscObject)pc), \
             PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_brick_size must be 1 to %d, found %" PetscInt_FMT, PATCHFD_BRICK_MAX, \
             value)
Setting(Type, PCPatchFDType, type, ) Setting(Patch, PCPatchFDPatch, patch, ) Setting(Variant, PCPatchFDVariant, variant, )
  Setting(Local, PCPatchFDLocal, local, ) Setting(Fit, PCPatchFDFit, fit, ) Setting(Classes, PCPatchFDClassesType, classes, )
    Setting(Precision, PCPatchFDPrecision, precision, ) Setting(Update, PCPatchFDUpdate, update, ) Setting(Order, PCPatchFDOrder, order, )
      Setting(Damping, PetscReal, damping, CheckDamping) Setting(Sweeps, PetscInt, sweeps, CheckSweeps)
        Setting(BrickSize, PetscInt, bricksize, CheckBrick) Setting(FitExact, PetscReal, rule.exact, CheckExact)

          static PetscErrorCode PCPatchFDSetSchurTolerances_PatchFD(PC pc, PetscReal rtol, PetscInt maxit)
{
  MatPatchesSpec *s = &((PC_PatchFD *)pc->data)->spec;

  PetscFunctionBegin;
  PetscCheck(rtol == PETSC_DETERMINE || (rtol > 0 && rtol < 1), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PCPATCHFD: -pc_patchfd_schur_rtol must be in (0, 1), found %g", (double)rtol);
  PetscCheck(maxit >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PCPATCHFD: -pc_patchfd_schur_max_it must be at least 1, found %" PetscInt_FMT, maxit);
  if (s->schurrtol != rtol || s->schurmaxit != maxit) pc->setupcalled = PETSC_FALSE;
  s->schurrtol  = rtol;
  s->schurmaxit = maxit;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDGetSchurTolerances_PatchFD(PC pc, PetscReal *rtol, PetscInt *maxit)
{
  const MatPatchesSpec *s = &((const PC_PatchFD *)pc->data)->spec;

  PetscFunctionBegin;
  if (rtol) *rtol = s->schurrtol;
  if (maxit) *maxit = s->schurmaxit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const PatchFDMethod methods[] = {PATCHFD_METHODS(PC, PatchFD, Fit),      PATCHFD_METHODS(PC, PatchFD, FitExact),
                                        PATCHFD_METHODS(PC, PatchFD, FitSteps), PATCHFD_METHODS(PC, PatchFD, SchurTolerances),
                                        PATCHFD_METHODS(PC, PatchFD, Type),     PATCHFD_METHODS(PC, PatchFD, Patch),
                                        PATCHFD_METHODS(PC, PatchFD, Variant),  PATCHFD_METHODS(PC, PatchFD, Local),
                                        PATCHFD_METHODS(PC, PatchFD, Classes),  PATCHFD_METHODS(PC, PatchFD, Precision),
                                        PATCHFD_METHODS(PC, PatchFD, Update),   PATCHFD_METHODS(PC, PatchFD, Order),
                                        PATCHFD_METHODS(PC, PatchFD, Damping),  PATCHFD_METHODS(PC, PatchFD, BrickSize),
                                        PATCHFD_METHODS(PC, PatchFD, Sweeps)};

/* what the order `auto` of a PCPATCHFD is, where patches have colours: forward unless this says otherwise; other PCs have none */
PetscErrorCode PCPatchFDSetAutoOrder(PC pc, PCPatchFDOrder order)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;
  PetscBool   is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCPATCHFD, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->spec.order == PC_PATCHFD_ORDER_AUTO && p->autoorder != order) pc->setupcalled = PETSC_FALSE;
  p->autoorder = order;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With the settings of `pc`, but the adjoint: what PCApplyTranspose(pc) is, for KSPRICHARDSON's steps on an iterate, too.  A symmetric
  order is its own mirror image, and so is a sum of patches.  An order `auto` stays that, and is the reverse of what it is in `pc`.
*/
PetscErrorCode PCPatchFDSetAdjoint(PC adjoint, PC pc)
{
  const PCPatchFDOrder mirror[] = {[PC_PATCHFD_ORDER_AUTO]      = PC_PATCHFD_ORDER_AUTO,
                                   [PC_PATCHFD_ORDER_FORWARD]   = PC_PATCHFD_ORDER_BACKWARD,
                                   [PC_PATCHFD_ORDER_BACKWARD]  = PC_PATCHFD_ORDER_FORWARD,
                                   [PC_PATCHFD_ORDER_SYMMETRIC] = PC_PATCHFD_ORDER_SYMMETRIC};
  MatPatchesSpec       spec     = ((const PC_PatchFD *)pc->data)->spec, *own;
  PetscBool            same;

  PetscFunctionBegin;
  PetscCall(PCSetType(adjoint, PCPATCHFD));
  own = &((PC_PatchFD *)adjoint->data)->spec;
  if (HasColors(&spec)) spec.order = mirror[spec.order];
  PetscCall(PetscMemcmp(own, &spec, sizeof(spec), &same));
  if (!same) adjoint->setupcalled = PETSC_FALSE;
  *own = spec;
  PetscCall(PCPatchFDSetAutoOrder(adjoint, mirror[((const PC_PatchFD *)pc->data)->autoorder]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchFDCanRecord(PC pc, PetscBool *can)
{
  const MatPatches patches = ((PC_PatchFD *)pc->data)->patches;

  PetscFunctionBegin;
  *can = (PetscBool)(!patches || patches->kernels);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchFDExchange(PC pc)
{
  PetscBool  is;
  MatPatches patches;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCPATCHFD, &is));
  patches = is ? ((PC_PatchFD *)pc->data)->patches : NULL;
  if (patches) PetscCall(MatPatchesExchange(patches));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_PatchFD(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_PatchFD(pc));
  PetscCall(PatchFDComposeMethods((PetscObject)pc, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_FALSE));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCPATCHFD - Vertex-patch smoother: solves a small problem on the cells around each interior vertex, by fast diagonalization or by a
  small dense inverse

  Options Database Keys:
+ -pc_patchfd_type (multiplicative|additive)                - one colour after another (default), or all patches from one residual
. -pc_patchfd_patch (auto|vertex|box|cell)                  - the cells around each vertex (default for a `DMBOX`), the whole box as one
  patch (a direct solver), or closed cells (default for a `DMPLEX`)
. -pc_patchfd_variant (auto|boundary|fused|separate|global) - which kernels compute a step (default auto), see `PCPatchFDSetVariant()`
. -pc_patchfd_local (auto|fd|fd_inexact|dense|schur)        - how the problem of a patch is solved (default auto)
. -pc_patchfd_fit (auto|own|shared|line)                    - what `fd_inexact` diagonalizes where coefficients vary (default auto), see
  `PCPatchFDSetFit()`
. -pc_patchfd_fit_max_steps m, -pc_patchfd_fit_reduction q, -pc_patchfd_fit_stable l, -pc_patchfd_fit_lanczos n - inner steps of its
  patches, see `PCPatchFDSetFitSteps()`
. -pc_patchfd_fit_exact kappa                              - patches with a larger condition number are solved exactly, see
  `PCPatchFDSetFitExact()`
. -pc_patchfd_classes (auto|single|exact)                   - which matrices the patches have (default auto)
. -pc_patchfd_precision (auto|same|single|tf32|bf16|fp16)    - of products with dense inverses, or of factors at points, on GPUs (default
  auto)
. -pc_patchfd_update (colored|atomic)                       - how additive corrections are summed (default colored)
. -pc_patchfd_order (auto|forward|backward|symmetric)       - order of the colours (default auto)
. -pc_patchfd_damping w                                     - factor of the corrections, 0 < w < 2 (default: see `PCPatchFDSetDamping()`)
. -pc_patchfd_sweeps n                                      - sweeps an application (default 1)
. -pc_patchfd_brick_size m                                  - unknowns of a `DMDA`'s bricks in each direction, see `PCPatchFDSetBrickSize()`
  (default 8)
. -pc_patchfd_schur_rtol r                                  - tolerance of `schur`, for the pressure in a patch (default 1e-3, and 1e-4 for
  degrees above 3)
- -pc_patchfd_schur_max_it n                                - limit of its iterations (default 200)

  Level: beginner

  Notes:
  The matrix from which `PCSetOperators()` builds the preconditioner, the Pmat, is one of three kinds: the operator of a `DMBOX`, made
  by `DMCreateMatrix()`, that of a `DMPLEX`, made by `MatCreateDiffusionPlex()`, `MatCreateElasticityPlex()` or `MatCreateBakeoff()`, or an
  assembled matrix of a `DMDA`.

  Operators of a `DMBOX`. On a line of cells the patches are the pairs of neighbouring cells. In d dimensions a patch is a product
  of d pairs. Unknowns on Neumann sides belong to the patches that reach them.

  A multiplicative smoother visits one colour of patches after another. Patches of one colour are independent and are solved
  together. Iterates do not depend on the number of processes, up to rounding.

  Use it with `KSPRICHARDSON` on the levels of multigrid, without monitors and with the default or skipped convergence test. The
  steps then update the iterate directly, which is fast. Inside other Krylov methods each application starts from zero.

  For `KSPFGMRES`, use the same order of the colours before and after the coarse correction; this converges fastest. `KSPCG` needs a
  symmetric V-cycle: opposite orders before and after the coarse correction (`PCPatchMGSetSymmetric()`), or the symmetric order.

  With `KSPSetReusePreconditioner()` or `-snes_lag_preconditioner` the patches remain those of the matrix at the last set-up, even
  if the matrix has changed. The steps of `KSPRICHARDSON` then start from the residual of the current matrix.

  Operators of a `DMPLEX`. The patches are closed cells: all (N + 1)^d nodes of a cell. Their matrices are sums of products that are
  fitted to the coefficients and the geometry of the cell and its face neighbours, scaled to the diagonal of the matrix. The corrections
  are summed, with the weight 1 / sqrt(number of cells) at a node before and after. So the preconditioner is symmetric positive definite:
  for `KSPCG`, or with Chebyshev's iteration inside (`PCPatchFDSetType()`) as a smoother; that is what `PCPATCHMG` does. Damping and sweeps
  apply; other settings are errors. `-pc_patchfd_patch cell` makes the same of the operator `diffusion` of a `DMBOX`.

  Matrices of a `DMDA`. The `DMDA` comes from `DMCreateMatrix()` or `KSPSetDM()`. The program need not use this library otherwise.
  It assembles the matrices of all levels, or `-pc_mg_galerkin pmat` makes them:

.vb
     -pc_type mg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type patchfd
.ve

  The vertex patches are bricks of m^d unknowns, which do not overlap, in two colours, or 2^d if rows couple unknowns that differ in more
  than one direction. The local solvers are fitted to the rows of the matrix and scaled to its diagonal. Bricks with a bad fit take
  several inner steps (`PCPatchFDSetFitSteps()`). Unknowns with nothing but a diagonal entry are solved first, exactly. The kernels
  are for the host.

  The `DMDA` must have one unknown per node and, for bricks, must not be periodic. Rows must reach no farther than the next unknown in each
  direction. Type (additive: damping 0.75 by default), order, damping and sweeps apply; other settings are errors. The solve ends with
  `KSP_DIVERGED_PC_FAILED` if a diagonal entry is not positive, an entry is not finite, or the estimates of inner steps find a brick
  that is not positive definite.

  Bricks need fewer passes over the matrix than `PCSOR`. Their set-up costs as much as 6 or 7 iterations. They pay off if several
  systems are solved with a matrix or if many iterations are needed, as on graded and anisotropic meshes. Do not use them if
  coefficients jump by large factors inside bricks: with a jump of 1e3 on a sphere they do not converge, and `KSPCHEBYSHEV` with
  `PCSOR` does.

  With `PC_PATCHFD_PATCH_BOX` a matrix of a `DMDA` is solved directly, if it is W^{-1} (K_x x M_y x M_z + M_x x K_y x M_z + M_x x M_y x
  K_z) on its free unknowns, a box: M_d and W = W_x x W_y x W_z diagonal and positive, K_d symmetric and tridiagonal, or closed to a ring
  where the `DMDA` is periodic. Differences of constant coefficients on any lattice are, of nodes or cells, stretched, with a shift or
  without. All other unknowns, on whole sides, have rows with a diagonal entry alone. K_d, M_d and W_d are read off the rows of all
  processes, which are then compared with the sum: a row that differs by more than rounding is an error that names it. The largest
  direction has 8192 unknowns. If constants are the null space, they are left out of the solution. The solve ends with
  `KSP_DIVERGED_PC_FAILED` if the matrix is singular otherwise or has entries that are not finite. Its transpose exists for symmetric
  matrices alone. `MATAIJ` and `MATSBAIJ` matrices are read on the host; vectors may be on a GPU. `MatCreateKroneckerSum()` is such a matrix
  without entries.

  Sources: R. E. Lynch, J. R. Rice, D. H. Thomas, Direct solution of partial difference equations by tensor product methods; C. Cui, P.
  Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU, Algorithm
  2.3 and equations (2.8), (2.13); C. Cui, J. Witte, F. Bonizzoni, G. Kanschat, Tensor-product vertex patch smoothers for biharmonic
  problems, equations (13), (28); C. Cui, G. Kanschat, Multigrid methods for the Stokes problem on GPU systems, section 3.2.

.seealso: `DMBOX`, `PCPATCHMG`, `PCPatchFDSetType()`, `PCPatchFDSetPatch()`, `PCPatchFDSetVariant()`, `PCPatchFDSetLocal()`,
`PCPatchFDSetFit()`, `PCPatchFDSetFitSteps()`, `PCPatchFDSetClasses()`, `PCPatchFDSetPrecision()`, `PCPatchFDSetUpdate()`,
          `PCPatchFDSetOrder()`, `PCPatchFDSetDamping()`, `PCPatchFDSetSweeps()`, `PCPatchFDSetBrickSize()`,
          `PCPatchFDSetSchurTolerances()`, `MatCreateKroneckerSum()`, `PCPATCH`, `PCASM`
M*/
PetscErrorCode PCCreate_PatchFD(PC pc)
{
  static PetscBool cite = PETSC_FALSE;
  PC_PatchFD      *p;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister("@article{CuiGrosseBleyKanschatStrzodka2024,\n"
                                   "  title  = {An Implementation of Tensor Product Patch Smoothers on {GPU}},\n"
                                   "  author = {Cu Cui and Paul Grosse-Bley and Guido Kanschat and Robert Strzodka},\n"
                                   "  year   = {2024}\n}\n",
                                   &cite));
  PetscCall(PetscNew(&p));
  p->autoorder       = PC_PATCHFD_ORDER_FORWARD;
  p->spec.damping    = PETSC_DETERMINE;
  p->spec.sweeps     = 1;
  p->spec.bricksize  = PETSC_DETERMINE;
  p->spec.schurrtol  = PETSC_DETERMINE;
  p->spec.schurmaxit = 200;
  p->spec.rule       = (PatchFDFitRule){.maxsteps = 6, .reduction = 0.7, .stable = 1.8, .lanczos = 10, .exact = PETSC_DETERMINE};
  pc->data           = p;

  pc->ops->setup           = PCSetUp_PatchFD;
  pc->ops->apply           = PCApply_PatchFD;
  pc->ops->applytranspose  = PCApplyTranspose_PatchFD;
  pc->ops->applyrichardson = PCApplyRichardson_PatchFD;
  pc->ops->presolve        = PCPreSolve_CheckKrylov;
  pc->ops->setfromoptions  = PCSetFromOptions_PatchFD;
  pc->ops->view            = PCView_PatchFD;
  pc->ops->reset           = PCReset_PatchFD;
  pc->ops->destroy         = PCDestroy_PatchFD;
  PetscCall(PatchFDComposeMethods((PetscObject)pc, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
