/* Of PCPATCHFD what concerns local solvers that are not exact: fits to coefficients, pressures, bricks; public routines, inner steps */
#include "patchfd.h" /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>
#include <patchfd/private/sysimpl.h>

/*@
  PCPatchFDSetFit - Sets how a `PCPATCHFD` fits its local matrices where coefficients vary or meshes are mapped

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner
- fit - the choice, `PC_PATCHFD_FIT_AUTO` by default

  Options Database Key:
. -pc_patchfd_fit (auto|own|shared|line) - the choice

  Level: intermediate

  Notes:
  This setting is for the operator `diffusion` (`DMBoxSetOperator()`). The other operators need no fits.

  Let G_i be the diagonal of |J| J^{-1} K J^{-T} in the coordinates of the cells of a patch, with J the derivative of the map and K
  the coefficient. All choices take geometric means of G_i. `own` takes means over the other directions in the patch, which gives
  weights along its lines. `shared` takes means over the patch. `line` takes means over the whole mesh in the other directions.
  Corrections are then scaled, so that the local matrices have the diagonals of the true ones.

  `own` is exact if each G_i is, within every patch, a product of functions of one coordinate, as for layers, grading and annuli.

  With `own` and `shared` each patch takes as many inner steps as it needs (`PCPatchFDSetFitSteps()`). With `line` one factor damps
  all corrections if necessary.

  Set-up estimates the eigenvalues of a patch only if bounds from G_i do not show that one undamped step is enough. An estimate
  costs as much as about 10 applications of the smoother to the patch. With smooth coefficients on fine meshes few patches need one.

.seealso: `PCPATCHFD`, `PCPatchFDGetFit()`, `PCPatchFDSetFitSteps()`, `DMBoxSetDiffusion()`
@*/
PetscErrorCode PCPatchFDSetFit(PC pc, PCPatchFDFit fit)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetFit, Enum, PCPatchFDFit, fit);
}

/*@
  PCPatchFDGetFit - Gets how a `PCPATCHFD` fits its local matrices

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
  PATCHFD_GET(PC, pc, PCPatchFDGetFit, PCPatchFDFit *, fit);
}

/*@
  PCPatchFDSetFitSteps - Sets how many inner steps a `PCPATCHFD` takes on patches with a bad fit

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
. maxsteps  - the most steps, 1 to 16
. reduction - the factor by which the steps must reduce the error of a patch, between 0 and 1
. stable    - the largest eigenvalue for which a single step is not damped, between 0 and 2
- lanczos   - steps of Lanczos' method in set-up, at least 2, from which the extreme eigenvalues of each patch are estimated; or 0 for one
              step on all patches, without estimates

  Options Database Keys:
+ -pc_patchfd_fit_max_steps maxsteps - (default 6)
. -pc_patchfd_fit_reduction reduction - (default 0.7)
. -pc_patchfd_fit_stable stable      - (default 1.8)
- -pc_patchfd_fit_lanczos lanczos    - (default 10)

  Level: advanced

  Notes:
  Let B_j be the local solver for the matrix A_j of a patch, and lo and hi the extreme eigenvalues of B_j A_j. The patch takes as
  many steps of Chebyshev's iteration on [lo, 1.02 hi] as reduce its error by the factor `reduction`. A single step has the factor 1
  if hi is at most `stable`, and 2 / (lo + hi) otherwise.

  `-ksp_view` prints how many patches take how many steps.

  The setting is for the operator `diffusion` and for bricks of a `DMDA`.

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
  PCPatchFDGetFitSteps - Gets how many inner steps a `PCPATCHFD` takes on patches with a bad fit

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameters:
+ maxsteps  - the most steps, or `NULL`
. reduction - the factor by which they must reduce the error of a patch, or `NULL`
. stable    - the largest eigenvalue for which a single step is not damped, or `NULL`
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
  PCPatchFDSetFitExact - Sets which patches of a `PCPATCHFD` with a bad fit are solved exactly

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- condition - a Cholesky factorization solves the patches with a larger condition number, which is that of the patch's matrix with the
              local solver as preconditioner; 0 for all patches, `PETSC_UNLIMITED` for none, `PETSC_DETERMINE` (default) for all
              patches at low degrees and none at others

  Options Database Key:
. -pc_patchfd_fit_exact condition - the condition number, or `unlimited`

  Level: advanced

  Notes:
  This setting is for the operator `diffusion` with `PC_PATCHFD_FIT_OWN` or `PC_PATCHFD_FIT_SHARED`, and for vectors on the host.
  With vectors on a GPU it is an error.

  Condition numbers are large where coefficients jump inside cells and where cells are very skewed. Inner steps
  (`PCPatchFDSetFitSteps()`) do not help enough there. Exact solves of the few patches with condition numbers above 30, say, help,
  for example with a jump by 1e4 on a circle through the cells.

  A patch of n = (2 k - 1)^d unknowns takes n (n + 1) / 2 numbers, and n^3 / 3 operations in set-up.

  With 0, set-up neither fits nor estimates eigenvalues. This is the default to degree 2 in three dimensions and 3 in two, as long
  as it takes no more than 4 GiB on each process. Multiplicative steps then also store the rows of the matrix that belong to each
  patch, and need no residual of the whole mesh.

  `-ksp_view` prints how many patches are solved exactly.

.seealso: `PCPATCHFD`, `PCPatchFDGetFitExact()`, `PCPatchFDSetFit()`, `PCPatchFDSetFitSteps()`
@*/
PetscErrorCode PCPatchFDSetFitExact(PC pc, PetscReal condition)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetFitExact, Real, PetscReal, condition);
}

/*@
  PCPatchFDGetFitExact - Gets which patches of a `PCPATCHFD` are solved exactly

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. condition - the condition number above which patches are solved exactly, see `PCPatchFDSetFitExact()`

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetFitExact()`
@*/
PetscErrorCode PCPatchFDGetFitExact(PC pc, PetscReal *condition)
{
  PATCHFD_GET(PC, pc, PCPatchFDGetFitExact, PetscReal *, condition);
}

/*@
  PCPatchFDSetSchurTolerances - Sets when the iterations for the pressure in a patch stop, for the local solver `PC_PATCHFD_LOCAL_SCHUR` of
  a `PCPATCHFD`

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
. rtol  - the relative residual of the Schur complement, in the norm of the inverse mass matrix, between 0 and 1; or `PETSC_DETERMINE`
          (default) for 1e-3, and 1e-4 for degrees above 3, which keep the iteration counts of exact local solvers
- maxit - the most iterations (default 200), at least 1

  Options Database Keys:
+ -pc_patchfd_schur_rtol rtol    - the tolerance
- -pc_patchfd_schur_max_it maxit - the limit

  Level: intermediate

  Note:
  The preconditioner then depends on its right-hand side in a nonlinear way: use `KSPFGMRES`.

.seealso: `PCPATCHFD`, `PCPatchFDGetSchurTolerances()`, `PCPatchFDSetLocal()`
@*/
PetscErrorCode PCPatchFDSetSchurTolerances(PC pc, PetscReal rtol, PetscInt maxit)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, rtol, 2);
  PetscValidLogicalCollectiveInt(pc, maxit, 3);
  PetscTryMethod(pc, "PCPatchFDSetSchurTolerances_C", (PC, PetscReal, PetscInt), (pc, rtol, maxit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetSchurTolerances - Gets when the iterations for the pressure in a patch stop

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameters:
+ rtol  - the relative tolerance that was set, or `NULL`
- maxit - the most iterations, or `NULL`

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetSchurTolerances()`
@*/
PetscErrorCode PCPatchFDGetSchurTolerances(PC pc, PetscReal *rtol, PetscInt *maxit)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCPatchFDGetSchurTolerances_C", (PC, PetscReal *, PetscInt *), (pc, rtol, maxit));
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
  This setting is for assembled matrices of a `DMDA`. With matrices of a `DMBOX` it is an error.

  With size 1 the smoother is a red-black Gauss-Seidel method.

  Larger bricks need fewer iterations, above all with anisotropy and graded meshes, and more work: 4 floating-point operations per
  unknown for each unknown of the brick in a direction. Solves are bound by memory, so this work often costs no time.

.seealso: `PCPATCHFD`, `PCPatchFDGetBrickSize()`, `PCPatchFDSetFitSteps()`, `DMDA`
@*/
PetscErrorCode PCPatchFDSetBrickSize(PC pc, PetscInt size)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetBrickSize, Int, PetscInt, size);
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
  PATCHFD_GET(PC, pc, PCPatchFDGetBrickSize, PetscInt *, size);
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
