/*
  PCPATCHFD on an assembled matrix of a DMDA, bricks in place of vertex patches (patchfd/private/bricks.h): which colours a step visits.  Also the public routines about bricks.
*/
#include "bricks.h" /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petsc/private/pcimpl.h>
#include <petscdmda.h>

/* bricks are smoothed on the host alone */
static PetscErrorCode CheckHost(PC pc, PatchFDKernels kern)
{
  PetscFunctionBegin;
  PetscCheck(kern && PetscMemTypeHost(kern->memtype), PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCPATCHFD: bricks of a DMDA have kernels for the host alone; use -dm_vec_type standard -dm_mat_type aij, or on a GPU a DMBOX with -dm_box_operator diffusion, or -pc_type jacobi under chebyshev");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCBricksReset(PCBricks *b)
{
  PetscFunctionBegin;
  PetscCall(MatBricksDestroy(&b->bricks));
  PetscCall(VecDestroy(&b->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  BEST_SIZE = 8 /* by measurement (benchmarks/bricks) */
};

PetscErrorCode PCBricksSetUp(PC pc, DM da, const PatchFDFitRule *rule, PCBricks *b)
{
  VecType        type;
  PatchFDKernels kern = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(pc->pmat, &type));
  PetscCall(PatchFDVecTypeGetKernels(type, &kern));
  PetscCall(CheckHost(pc, kern));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, pc, pc->pmat, 0, 0));
  PetscCall(PCBricksReset(b));
  PetscCall(MatBricksCreate(pc->pmat, da, b->size == PETSC_DETERMINE ? BEST_SIZE : b->size, rule, kern, &b->bricks));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, pc, pc->pmat, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the sum of corrections of bricks of all colours is too large by up to a factor of two, since each has neighbours */
PetscReal PCBricksDamping(PCPatchFDType type)
{
  return type == PC_PATCHFD_ADDITIVE ? 0.75 : 1;
}

/* a symmetric order turns round at the last colour, which is not visited twice: its bricks would find no residual but what their fits leave */
static PetscInt Colors(PetscInt ncolor, PCPatchFDOrder order, PetscBool transpose, PetscInt colors[])
{
  const PetscInt n = order == PC_PATCHFD_SYMMETRIC ? 2 * ncolor - 1 : ncolor;

  for (PetscInt i = 0; i < n; i++) {
    if (order == PC_PATCHFD_SYMMETRIC) colors[i] = i < ncolor ? i : n - 1 - i;
    else colors[i] = (order == PC_PATCHFD_BACKWARD) != transpose ? n - 1 - i : i;
  }
  return n;
}

static PetscErrorCode Multiplicative(PCBricks *b, PatchFDKernels kern, const PCBricksStep *step, PetscInt64 steps, PetscBool transpose, PetscBool zero, Vec rhs, Vec x)
{
  PetscInt    colors[2 * PATCHFD_BRICK_COLORS], n = Colors(MatBricksColors(b->bricks), step->order, transpose, colors);
  const void *ba;
  void       *xa;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(rhs, kern, &ba));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  for (PetscInt64 i = 0; i < steps; i++) PetscCall(MatBricksSweep(b->bricks, kern, n, colors, step->omega, (PetscBool)(zero && i == 0), ba, xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(rhs, kern, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Additive(PC pc, PCBricks *b, PatchFDKernels kern, const PCBricksStep *step, PetscInt64 steps, PetscBool zero, Vec rhs, Vec x)
{
  PetscFunctionBegin;
  for (PetscInt64 i = 0; i < steps; i++) {
    const PetscBool known = (PetscBool)(zero && i == 0);
    const void     *ra;
    void           *xa;

    if (!known && !b->r) PetscCall(VecDuplicate(rhs, &b->r));
    if (!known) PetscCall(MatResidual(pc->pmat, rhs, x, b->r));
    PetscCall(PatchFDVecGetArrayRead(known ? rhs : b->r, kern, &ra));
    PetscCall(PatchFDVecGetArray(x, kern, &xa));
    PetscCall(MatBricksCorrect(b->bricks, kern, step->omega, ra, xa));
    PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
    PetscCall(PatchFDVecRestoreArrayRead(known ? rhs : b->r, kern, &ra));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCBricksSmooth(PC pc, PCBricks *b, const PCBricksStep *step, PetscInt64 steps, PetscBool transpose, PetscBool zero, Vec rhs, Vec x)
{
  PatchFDKernels kern = NULL;
  PetscBool      set, symmetric;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(rhs, &kern));
  PetscCall(CheckHost(pc, kern));
  PetscCheck(MatBricksHas(b->bricks, kern), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: the Vecs are of another precision (%s) than those that its matrix makes; convert them with VecSingleConvert(), or use PCSINGLE", kern->name);
  if (transpose) {
    PetscCall(MatIsSymmetricKnown(pc->pmat, &set, &symmetric));
    PetscCheck(set && symmetric, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE,
               "PCPATCHFD: the transpose of a smoother with bricks is the smoother in reverse where the matrix is symmetric; if this one is, MatSetOption(mat, MAT_SYMMETRIC, PETSC_TRUE) says so");
  }
  PetscCall(PetscLogEventBegin(PATCHFD_Smooth, pc, rhs, x, 0));
  if (zero) PetscCall(VecZeroEntries(x));
  if (step->type == PC_PATCHFD_ADDITIVE) PetscCall(Additive(pc, b, kern, step, steps, zero, rhs, x));
  else PetscCall(Multiplicative(b, kern, step, steps, transpose, zero, rhs, x));
  PetscCall(PetscLogEventEnd(PATCHFD_Smooth, pc, rhs, x, 0));
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
  It is for assembled matrices of a `DMDA`; with matrices of a `DMBOX` it is an error. A brick of size 1 is an unknown, and the smoother then a red-black Gauss-Seidel method.

  Larger bricks take fewer iterations, most with anisotropy and graded meshes (up to 25 per cent fewer with 8 than with 4 in 3D), and more work for each unknown: 4 floating-point
  operations for each unknown of a brick in a direction. Since it is memory that takes the time, 8 was as fast as 4 or faster in solves with 63^3 unknowns.

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
