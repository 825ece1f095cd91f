/* The public routines of PCPATCHMG, each the setter or getter of an option; what they do is in patchmg.c */
#include <patchfd/private/options.h> /*I "petscpatchfd.h" I*/
#include <petsc/private/pcimpl.h>

/*@
  PCPatchMGSetSymmetric - Makes the V-cycle of a `PCPATCHMG` symmetric: the smoother after the coarse correction is the adjoint of
  the one before it

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- symmetric - `PETSC_TRUE` for a symmetric V-cycle (default `PETSC_FALSE`)

  Options Database Key:
. -pc_patchmg_symmetric (true|false) - make the V-cycle symmetric

  Level: beginner

  Notes:
  Use it with `KSPCG`, which needs a symmetric V-cycle. `KSPFGMRES` without it mostly takes as many iterations, or one fewer.

  Call it before `PCSetUp()`.

  In `PCSetUp()` the post-smoother takes over all settings of the pre-smoother, from options (`-mg_levels_*`) and from routines, and
  visits the colours in the reverse order. Options `-mg_levels_up_*` then change the post-smoother; the V-cycle is symmetric only if
  what they choose is the adjoint. After `PCSetUp()`, change both smoothers, `PCMGGetSmootherDown()` and `PCMGGetSmootherUp()`.

  `KSPRICHARDSON` with `PCPATCHFD` goes backward in the pre-smoother and forward in the post-smoother. The colour that comes first in
  forward order, the patches inside of coarse cells, is then next to the coarse correction on both sides. `KSPCG` takes up to two
  iterations fewer than with the opposite orders. `-mg_levels_pc_patchfd_order forward` (`PCPatchFDSetOrder()`) chooses those. For
  `stokes`, and if `-mg_levels_up_pc_patchfd_order` is given, the default of the pre-smoother is forward.

  The pre-smoother must be a fixed linear iteration: `KSPRICHARDSON`, `KSPCHEBYSHEV` or `KSPPREONLY` with a fixed number of steps.
  If it is not `KSPRICHARDSON` with `PCPATCHFD`, the post-smoother is one step with its transpose, `KSPSolveTranspose()`. Other
  pre-smoothers are an error, unless `-mg_levels_up_ksp_type` or `-mg_levels_up_pc_type` choose the post-smoother.

  It applies to V- and W-cycles, `PC_MG_MULTIPLICATIVE`. A `PCPATCHFD` on the coarsest level must be symmetric.

.seealso: `PCPATCHMG`, `PCPatchMGGetSymmetric()`, `PCPatchFDSetOrder()`
@*/
PetscErrorCode PCPatchMGSetSymmetric(PC pc, PetscBool symmetric)
{
  PATCHFD_SET(PC, pc, PCPatchMGSetSymmetric, Bool, PetscBool, symmetric);
}

/*@
  PCPatchMGGetSymmetric - Gets whether the V-cycle of a `PCPATCHMG` is made symmetric

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHMG`

  Output Parameter:
. symmetric - `PETSC_TRUE` if the smoother after the coarse correction is the adjoint of the one before it

  Level: beginner

.seealso: `PCPATCHMG`, `PCPatchMGSetSymmetric()`
@*/
PetscErrorCode PCPatchMGGetSymmetric(PC pc, PetscBool *symmetric)
{
  PATCHFD_GET(PC, pc, PCPatchMGGetSymmetric, PetscBool *, symmetric);
}

/*@
  PCPatchMGSetGraph - Sets whether a `PCPATCHMG` on a GPU may record its V-cycle as a CUDA graph and replay it

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- graph - `PETSC_FALSE` to launch every kernel from the host each time (default `PETSC_TRUE`)

  Options Database Key:
. -pc_patchmg_graph (true|false) - record and replay

  Level: intermediate

  Notes:
  It has no effect on the host, and on several processes if their exchanges need the host (`PatchFDHaloType`).

  A cycle is recorded only if kernels of this library do all of it and the host waits for no result, such as a norm. This means, on
  all levels: `KSPRICHARDSON` of scale 1 with `PCPATCHFD`; no norms, monitors, viewers, hooks and guesses; the operators and the
  interpolation of the `DMBOX`. Other cycles run without a recording.

  If an operator, a solver or a setting changes, the next cycle is recorded anew.

  If an error occurs in the application that is recorded, the routine returns it and the recording ends. If CUDA refuses to record,
  `-info` says so. In both cases the cycle is not recorded again until something changes or you call this routine.

.seealso: `PCPATCHMG`, `PCPatchMGGetGraph()`
@*/
PetscErrorCode PCPatchMGSetGraph(PC pc, PetscBool graph)
{
  PATCHFD_SET(PC, pc, PCPatchMGSetGraph, Bool, PetscBool, graph);
}

/*@
  PCPatchMGGetGraph - Gets whether a `PCPATCHMG` on a GPU may record its V-cycle and replay it

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
  PATCHFD_GET(PC, pc, PCPatchMGGetGraph, PetscBool *, graph);
}

/*@
  PCPatchMGSetCoarseEqLim - Sets the number of unknowns at which a `PCPATCHMG` stops coarsening and solves directly

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- limit - the number of unknowns, on all processes together; 0 to halve the mesh as far as possible; `PETSC_UNLIMITED` to solve the mesh
          itself directly; or `PETSC_DECIDE` (default) for an estimate

  Options Database Key:
. -pc_patchmg_coarse_eq_limit limit - the number of unknowns, decide or unlimited

  Level: intermediate

  Notes:
  With 0 the mesh is halved as far as possible, usually to one patch. These are the V-cycles of C. Cui, P. Grosse-Bley, G. Kanschat,
  R. Strzodka, An implementation of tensor product patch smoothers on GPU.

  With `PETSC_DECIDE`, for operators that fast diagonalization solves (`poisson`), a model estimates the time of set-up and of one
  solve to 1e-8 for each number of levels. It knows the number of processes, the precision, and the memory of the vectors. The
  fastest choice is taken. On meshes of two and three dimensions this is often the direct solve alone, one level; in one dimension
  it is V-cycles. Set-up counts: the direct solve needs eigenproblems of whole lines, n^3 operations. If you solve many systems with
  one operator, consider `PETSC_UNLIMITED`.

  There is no estimate, and the mesh is halved as far as possible, for other operators, if `DMSetUp()` has not been called when
  options are read, and if something configures cycles: `PCMGSetType()`, or an option that begins with `-pc_mg_`, `-mg_levels_`,
  `-mg_coarse_` or `-mg_fine_` (with the prefix of the `PC`). Options that only observe do not count: those with `monitor`, `view`,
  `converged_reason` or `converged_rate` in their names, `-pc_mg_log` and `-pc_mg_dump_*`. On GPUs the limit for `poisson` is then
  1e5 on meshes of 5e5 unknowns or more, in three dimensions a sixth of them, from 1.3e5 to 1.5e6, because the small kernels of the
  levels below would take longer.

  With `PETSC_DECIDE`, a mesh of `diffusion` that cannot be halved and is too large to be factored gets an additional level of
  degree 1 (`PCPATCHMG`). With any other limit it is factored. Each process has all factors: a coarsest mesh that would be factored
  and has more than 30000 unknowns (2D: 300000, `stokes`: 12000) is an error.

  A program that configures solvers of levels by routines first sets their number by `PCMGSetLevels()`, or calls this routine with
  0.

  `-ksp_view` and `PCPatchMGGetCoarseReason()` say what was chosen and why.

  Call it before `PCSetUp()`. It has no effect if `PCMGSetLevels()` or `-pc_mg_levels` set the number of levels.

.seealso: `PCPATCHMG`, `PCPatchMGGetCoarseEqLim()`, `PCPatchMGGetCoarseReason()`, `PCMGSetLevels()`
@*/
PetscErrorCode PCPatchMGSetCoarseEqLim(PC pc, PetscInt limit)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, limit, 2);
  PetscCheck(limit >= 0 || limit == PETSC_DECIDE || limit == PETSC_UNLIMITED, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PCPATCHMG: -pc_patchmg_coarse_eq_limit must be a number of unknowns, decide or unlimited, found %" PetscInt_FMT, limit);
  PetscTryMethod(pc, "PCPatchMGSetCoarseEqLim_C", (PC, PetscInt), (pc, limit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchMGGetCoarseEqLim - Gets the number of unknowns at which a `PCPATCHMG` stops coarsening

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHMG`

  Output Parameter:
. limit - what was set

  Level: intermediate

.seealso: `PCPATCHMG`, `PCPatchMGSetCoarseEqLim()`
@*/
PetscErrorCode PCPatchMGGetCoarseEqLim(PC pc, PetscInt *limit)
{
  PATCHFD_GET(PC, pc, PCPatchMGGetCoarseEqLim, PetscInt *, limit);
}

/*@C
  PCPatchMGGetCoarseReason - Gets the reason for the number of levels of a `PCPATCHMG`

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHMG`

  Output Parameter:
. why - a sentence, which belongs to the preconditioner: the estimated times of the choice and of all levels, or the option or routine that
        decided

  Level: intermediate

  Note:
  `PCMGGetLevels()` returns the number of levels. It is chosen in `PCSetFromOptions()` if the DM or the matrix is known there, and
  otherwise in `PCSetUp()`. A later `PCSetUp()` chooses again if the matrix belongs to another `DMBOX`, or if its coefficients
  require other directions to be halved.

.seealso: `PCPATCHMG`, `PCPatchMGSetCoarseEqLim()`, `PCMGGetLevels()`
@*/
PetscErrorCode PCPatchMGGetCoarseReason(PC pc, const char *why[])
{
  PATCHFD_GET(PC, pc, PCPatchMGGetCoarseReason, const char *[], why);
}

/*@
  PCPatchMGViewLevels - Shows the levels of a `PCPATCHMG` as a table: cells, degree, unknowns, solver, kernels, bytes, time

  Collective

  Input Parameters:
+ pc     - the preconditioner, of type `PCPATCHMG`, set up
- viewer - where to, of type `PETSCVIEWERASCII`; nothing is shown on others

  Options Database Key:
. -pc_patchmg_view_levels (viewer) - does so after each set-up

  Level: intermediate

  Notes:
  The finest level comes first. Bytes are those of the local solvers of all processes, without vectors and the operator's data; they are not
  known for direct solvers and for other preconditioners.

  The time is that of one visit, in milliseconds: the smoother before and after the coarse correction, residual, restriction and
  prolongation, or the solver of the coarsest level. It is measured here, on vectors of ones, for about 0.05 seconds a level, each kernel
  launched by itself: a cycle replayed as a CUDA graph (`PCPatchMGSetGraph()`) takes less on coarse levels. The last column is the share of
  a V-cycle, which visits each level once. With a `KSP` that shows its iterations on the levels, these show up, too.

.seealso: `PCPATCHMG`, `PCView()`, `PCMGGetLevels()`, `PCPatchMGGetCoarseReason()`
@*/
PetscErrorCode PCPatchMGViewLevels(PC pc, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(pc, 1, viewer, 2);
  PetscCheck(pc->setupcalled, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE, "PCPATCHMG: PCSetUp() must be called first");
  PetscUseMethod(pc, "PCPatchMGViewLevels_C", (PC, PetscViewer), (pc, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
