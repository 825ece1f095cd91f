/* Of PCPATCHFD what concerns fits of its local solvers to coefficients that vary, and bricks: public routines, and inner steps */
#include "patchfd.h" /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>

/*@
  PCPatchFDSetFit - Sets what the matrices that a `PCPATCHFD` diagonalizes are fitted to, where coefficients vary or meshes are mapped

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner
- fit - the choice, `PC_PATCHFD_FIT_AUTO` by default

  Options Database Key:
. -pc_patchfd_fit (auto|own|shared|line) - the choice

  Level: intermediate

  Notes:
  It is for the operator `diffusion` (`DMBoxSetOperator()`) alone: others have separable matrices, which are diagonalized as they are.

  Let G_i be the diagonal of the metric |J| J^{-1} K J^{-T} in the coordinates of a patch's cells, J the derivatives of the map.  All
  choices take geometric means of G_i: over the other directions,
  which gives weights along the lines of a patch (`own`), over the patch (`shared`), or over the whole mesh in the other directions
  (`line`).  What the patch solvers then make is scaled, so that the diagonals of
  their matrices are those of the operator's.  `own` is exact where each G_i is a product of functions of one coordinate each within every
  patch: layers, grading, annuli.

  With `own` and `shared` each patch takes as many steps as it needs, see `PCPatchFDSetFitSteps()`; with `line` all corrections are damped
  by one factor where that is necessary.

  Eigenvalues are estimated, by about 10 applications of the smoother to these patches, only where bounds from the metric do not tell that
  one step with the factor 1 is enough: with smooth coefficients on fine meshes
  in few patches.

.seealso: `PCPATCHFD`, `PCPatchFDGetFit()`, `PCPatchFDSetFitSteps()`, `DMBoxSetDiffusion()`
@*/
PetscErrorCode PCPatchFDSetFit(PC pc, PCPatchFDFit fit)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, fit, 2);
  PetscTryMethod(pc, "PCPatchFDSetFit_C", (PC, PCPatchFDFit), (pc, fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetFit - Gets what the matrices that a `PCPATCHFD` diagonalizes are fitted to

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. fit - the choice that was set

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetFit()`
@*/
PetscErrorCode PCPatchFDGetFit(PC pc, PCPatchFDFit *fit)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(fit, 2);
  PetscUseMethod(pc, "PCPatchFDGetFit_C", (PC, PCPatchFDFit *), (pc, fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetFitSteps - Sets how many inner steps a `PCPATCHFD` takes on the patches that its local solvers do not fit well

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
. maxsteps  - the most steps, 1 to 16
. reduction - how far the steps reduce the error of a patch, between 0 and 1
. stable    - the largest eigenvalue with which a single step is not damped, between 0 and 2
- lanczos   - steps of Lanczos' method in set-up, at least 2, from which the extreme eigenvalues of each patch are estimated; or 0 for one
              step on all patches, without estimates

  Options Database Keys:
+ -pc_patchfd_fit_max_steps maxsteps - (default 6)
. -pc_patchfd_fit_reduction reduction - (default 0.7)
. -pc_patchfd_fit_stable stable      - (default 1.8)
- -pc_patchfd_fit_lanczos lanczos    - (default 10)

  Level: advanced

  Notes:
  With the local solver B_j for the matrix A_j of a patch and the extreme eigenvalues lo and hi of B_j A_j, the patch takes as many steps of
  Chebyshev's iteration on [lo, hi] as reduce its error by the factor
  `reduction`; a single step has the factor 1 if hi is not above `stable`, otherwise 2 / (lo + hi).  `-ksp_view` prints how many patches
  take how many steps.

  A smoother in which hi times the factor is below 2 on all patches does not diverge, whatever the coefficients are.

.seealso: `PCPATCHFD`, `PCPatchFDGetFitSteps()`, `PCPatchFDSetFit()`
@*/
PetscErrorCode PCPatchFDSetFitSteps(PC pc, PetscInt maxsteps, PetscReal reduction, PetscReal stable, PetscInt lanczos)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, maxsteps, 2);
  PetscValidLogicalCollectiveReal(pc, reduction, 3);
  PetscValidLogicalCollectiveReal(pc, stable, 4);
  PetscValidLogicalCollectiveInt(pc, lanczos, 5);
  PetscTryMethod(pc, "PCPatchFDSetFitSteps_C", (PC, PetscInt, PetscReal, PetscReal, PetscInt), (pc, maxsteps, reduction, stable, lanczos));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetFitSteps - Gets how many inner steps a `PCPATCHFD` takes on the patches that its local solvers do not fit well

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameters:
+ maxsteps  - the most steps, or `NULL`
. reduction - how far they reduce the error of a patch, or `NULL`
. stable    - the largest eigenvalue with which a single step is not damped, or `NULL`
- lanczos   - steps of Lanczos' method in set-up, or `NULL`

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetFitSteps()`
@*/
PetscErrorCode PCPatchFDGetFitSteps(PC pc, PetscInt *maxsteps, PetscReal *reduction, PetscReal *stable, PetscInt *lanczos)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCPatchFDGetFitSteps_C", (PC, PetscInt *, PetscReal *, PetscReal *, PetscInt *),
                 (pc, maxsteps, reduction, stable, lanczos));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetFitExact - Sets which patches of a `PCPATCHFD` are solved exactly, because the matrices that are diagonalized do not fit them
  well

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- condition - patches in which the matrix, with the local solver for a preconditioner, has a larger condition number are solved by a
              Cholesky factorization; 0 for all of them,
              `PETSC_UNLIMITED` for none, `PETSC_DETERMINE` (default): all of them where patches are so small that this takes less time,
              otherwise none

  Options Database Key:
. -pc_patchfd_fit_exact condition - the condition number, or `unlimited`

  Level: advanced

  Notes:
  It is for the operator `diffusion` with `PC_PATCHFD_FIT_OWN` or `PC_PATCHFD_FIT_SHARED`, and for vectors on the host: on a GPU it is an
  error.

  Large condition numbers come from jumps of coefficients inside of cells and from cells that are very skewed.  There inner steps
  (`PCPatchFDSetFitSteps()`) do not help enough, and exact solves of the few patches
  above 30, say, do: a jump by 1e4 in a circle through the cells.  A patch of n unknowns takes n (n + 1) / 2 numbers and n^3 / 3 operations
  in set-up; n is (2 k - 1)^d.

  With 0 nothing is fitted and no eigenvalues are estimated.  Up to degree 2 in three dimensions and 3 in two that is the default, as long
  as it takes no more than 4 GiB on each rank.  Multiplicative
  steps have the rows of the matrix that belong to each patch then, too, and need no residual of the whole mesh.

  `-ksp_view` prints how many patches are solved exactly.

.seealso: `PCPATCHFD`, `PCPatchFDGetFitExact()`, `PCPatchFDSetFit()`, `PCPatchFDSetFitSteps()`
@*/
PetscErrorCode PCPatchFDSetFitExact(PC pc, PetscReal condition)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, condition, 2);
  PetscTryMethod(pc, "PCPatchFDSetFitExact_C", (PC, PetscReal), (pc, condition));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetFitExact - Gets which patches of a `PCPATCHFD` are solved exactly

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. condition - the condition number above which they are, see `PCPatchFDSetFitExact()`

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetFitExact()`
@*/
PetscErrorCode PCPatchFDGetFitExact(PC pc, PetscReal *condition)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(condition, 2);
  PetscUseMethod(pc, "PCPatchFDGetFitExact_C", (PC, PetscReal *), (pc, condition));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetBrickSize - Sets how many unknowns of a `DMDA` the bricks of a `PCPATCHFD` have in each direction

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- size - unknowns in a direction, 1 to 16, or `PETSC_DETERMINE` (default) for 8

  Options Database Key:
. -pc_patchfd_brick_size size - the size

  Level: intermediate

  Notes:
  It is for assembled matrices of a `DMDA`; with matrices of a `DMBOX` it is an error. A brick of size 1 is an unknown, and the smoother
  then a red-black Gauss-Seidel method.

  Larger bricks take fewer iterations, most with anisotropy and graded meshes (up to 25 per cent fewer with 8 than with 4 in 3D), and more
  work for each unknown: 4 floating-point
  operations for each unknown of a brick in a direction. Since it is memory that takes the time, 8 was as fast as 4 or faster in solves with
  63^3 unknowns.

.seealso: `PCPATCHFD`, `PCPatchFDGetBrickSize()`, `PCPatchFDSetFitSteps()`, `DMDA`
@*/
PetscErrorCode PCPatchFDSetBrickSize(PC pc, PetscInt size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, size, 2);
  PetscTryMethod(pc, "PCPatchFDSetBrickSize_C", (PC, PetscInt), (pc, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetBrickSize - Gets how many unknowns of a `DMDA` the bricks of a `PCPATCHFD` have in each direction

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. size - what was set

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetBrickSize()`
@*/
PetscErrorCode PCPatchFDGetBrickSize(PC pc, PetscInt *size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(size, 2);
  PetscUseMethod(pc, "PCPatchFDGetBrickSize_C", (PC, PetscInt *), (pc, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchFDSetFitSteps_PatchFD(PC pc, PetscInt maxsteps, PetscReal reduction, PetscReal stable, PetscInt lanczos)
{
  const MPI_Comm  comm = PetscObjectComm((PetscObject)pc);
  PatchFDFitRule *rule = &((PC_PatchFD *)pc->data)->spec.rule;

  PetscFunctionBegin;
  PetscCheck(maxsteps >= 1 && maxsteps <= PATCHFD_FIT_MAX_STEPS, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "PCPATCHFD: -pc_patchfd_fit_max_steps must be 1 to %d, found %" PetscInt_FMT, PATCHFD_FIT_MAX_STEPS, maxsteps);
  PetscCheck(reduction > 0 && reduction < 1, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "PCPATCHFD: -pc_patchfd_fit_reduction must be in (0, 1), found %g", (double)reduction);
  PetscCheck(stable > 0 && stable < 2, comm, PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_fit_stable must be in (0, 2), found %g",
             (double)stable);
  PetscCheck(lanczos == 0 || lanczos >= 2, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "PCPATCHFD: -pc_patchfd_fit_lanczos must be 0 or at least 2, found %" PetscInt_FMT, lanczos);
  if (rule->maxsteps != maxsteps || rule->reduction != reduction || rule->stable != stable || rule->lanczos != lanczos)
    pc->setupcalled = PETSC_FALSE;
  *rule = (PatchFDFitRule){.maxsteps = maxsteps, .reduction = reduction, .stable = stable, .lanczos = lanczos, .exact = rule->exact};
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchFDGetFitSteps_PatchFD(PC pc, PetscInt *maxsteps, PetscReal *reduction, PetscReal *stable, PetscInt *lanczos)
{
  const PatchFDFitRule *rule = &((const PC_PatchFD *)pc->data)->spec.rule;

  PetscFunctionBegin;
  if (maxsteps) *maxsteps = rule->maxsteps;
  if (reduction) *reduction = rule->reduction;
  if (stable) *stable = rule->stable;
  if (lanczos) *lanczos = rule->lanczos;
  PetscFunctionReturn(PETSC_SUCCESS);
}
