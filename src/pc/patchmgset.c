/* The public routines of PCPATCHMG, each the setter or getter of an option; what they do is in patchmg.c */
#include <petscpatchfd.h> /*I "petscpatchfd.h" I*/
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
  `KSPCG` needs a symmetric V-cycle; `KSPFGMRES` needs one to three iterations less without it.

  Must be called before `PCSetUp()`.

  In `PCSetUp()` the post-smoother takes over all settings of the pre-smoother, whether they come from options (`-mg_levels_*`) or from
  routines, and visits the colours in the reverse order. `-mg_levels_up_*` then changes the post-smoother, and the V-cycle is symmetric
  only if that is. Later changes by routines have to be made to both, `PCMGGetSmootherDown()` and `PCMGGetSmootherUp()`.

  The pre-smoother must be a fixed linear iteration: `KSPRICHARDSON`, `KSPCHEBYSHEV` or `KSPPREONLY` with a fixed number of steps. Where it
  is not
  `KSPRICHARDSON` with `PCPATCHFD`, the post-smoother is one step with the transpose of the pre-smoother, `KSPSolveTranspose()`. For
  other pre-smoothers there is an error, unless `-mg_levels_up_ksp_type` or `-mg_levels_up_pc_type` choose the post-smoother.

  It applies to V- and W-cycles, `PC_MG_MULTIPLICATIVE`. A `PCPATCHFD` on the coarsest level must be symmetric.

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
. symmetric - `PETSC_TRUE` if the smoother after the coarse correction is the adjoint of the one before it

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
. -pc_patchmg_graph (true|false) - record and replay

  Level: intermediate

  Notes:
  Without effect on the host, and on several ranks whose exchanges need the host (`PatchFDHaloType`).

  A cycle is recorded if it is all done by kernels of this library, without a norm or any other result that the host waits for: on all
  levels `KSPRICHARDSON` of scale 1 with `PCPATCHFD`, without norms, monitors, viewers, hooks and guesses, and the operators and the
  interpolation of the `DMBOX`. Others work as without a recording.

  A recording ends, and a new one is made, when an operator, a solver or a setting changes.

  An error in the application that is recorded ends the recording and is returned; this cycle is then not recorded again, as when CUDA
  refuses to
  record it (`-info` says so), until something changes or this function is called.

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

/*@
  PCPatchMGSetCoarseEqLim - Ends the levels of a `PCPATCHMG` at a mesh with at most so many unknowns, which is solved directly

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- limit - the number of unknowns, on all processes together; 0 to halve the mesh as far as possible; `PETSC_UNLIMITED` to solve the mesh
          itself directly; or `PETSC_DECIDE` (default) for an estimate

  Options Database Key:
. -pc_patchmg_coarse_eq_limit limit - the number of unknowns, decide or unlimited

  Level: intermediate

  Notes:
  0 makes the V-cycles of C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU: down
  to one patch where cells can be halved so often.

  With `PETSC_DECIDE`, for operators that fast diagonalization solves (`poisson`), the time of set-up and of one solve to 1e-8 is estimated
  for each number of levels, by a model for the
  processes, the precision and the memory of the vectors in use, and the least one is taken: on meshes of two and three dimensions often one
  level, the direct solve, which leaves nothing
  to iterate; in one dimension V-cycles. Set-up counts, since it is what the direct solve has more of: eigenproblems of whole lines, n^3
  operations. Many solves with one operator would have
  more reason to solve directly.

  With `PETSC_DECIDE` a mesh of `diffusion` that cannot be halved and is too large to be factored gets one level more, of degree 1
  (`PCPATCHMG`); with any other limit it is factored. For `biharmonic` more
  than 20000 unknowns (2D: 300000) on the coarsest mesh are an error with `PETSC_DECIDE`, and with any other limit they are factored, by
  every process.

  There is no estimate, and the mesh is coarsened as far as possible, for other operators, on a mesh that `DMSetUp()` has not been called
  for when options are read, and where anything is
  said about cycles: `PCMGSetType()`, or an option that begins with `-pc_mg_`, `-mg_levels_`, `-mg_coarse_` or `-mg_fine_` (and the prefix
  of the `PC`), unless it only looks: options with
  `monitor`, `view`, `converged_reason` or `converged_rate` in their names, `-pc_mg_log` and `-pc_mg_dump_*`. (Then on GPUs, for `poisson`
  with 5e5 unknowns
  or more, the limit is 1e5, and 1.5e6 with 5e6 or more in three dimensions: these take less time so than the kernels and exchanges of the
  levels below them.) A program that sets solvers of levels by routines first says how many there
  are, by `PCMGSetLevels()`, or calls this routine with 0.

  `-ksp_view` and `PCPatchMGGetCoarseReason()` say what was chosen and why.

  Must be called before `PCSetUp()`. It has no effect where `PCMGSetLevels()` or `-pc_mg_levels` say how many levels there are.

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
  PCPatchMGGetCoarseEqLim - Tells with how many unknowns the levels of a `PCPATCHMG` end

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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(limit, 2);
  PetscUseMethod(pc, "PCPatchMGGetCoarseEqLim_C", (PC, PetscInt *), (pc, limit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCPatchMGGetCoarseReason - Tells why the levels of a `PCPATCHMG` end where they do

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHMG`

  Output Parameter:
. why - a sentence, which belongs to the preconditioner: an estimate with the times of what was chosen and of all levels, or the option or
        the routine that it was left to

  Level: intermediate

  Note:
  `PCMGGetLevels()` tells how many there are. They are chosen in `PCSetFromOptions()` if the DM or the matrix is known there, or else in
  `PCSetUp()`, and again in a later `PCSetUp()` with a matrix of another
  `DMBOX`, or with coefficients for which other directions are to be halved.

.seealso: `PCPATCHMG`, `PCPatchMGSetCoarseEqLim()`, `PCMGGetLevels()`
@*/
PetscErrorCode PCPatchMGGetCoarseReason(PC pc, const char *why[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(why, 2);
  PetscUseMethod(pc, "PCPatchMGGetCoarseReason_C", (PC, const char *[]), (pc, why));
  PetscFunctionReturn(PETSC_SUCCESS);
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
