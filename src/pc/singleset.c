/* The public routines of PCSINGLE, setters and getters; what they do is in single.c */
#include <patchfd/private/options.h> /*I "petscpatchfd.h" I*/

/*@
  PCSingleGetPC - Gets the preconditioner that works in single precision inside a `PCSINGLE`

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCSINGLE`

  Output Parameter:
. inner - the preconditioner inside; its options prefix is that of `pc` with `single_` appended

  Level: intermediate

  Note:
  You may set its type and options; `pc` sets its DM and operators.

.seealso: `PCSINGLE`, `PCSingleSetScale()`, `PCKSPGetKSP()`
@*/
PetscErrorCode PCSingleGetPC(PC pc, PC *inner)
{
  PATCHFD_GET(PC, pc, PCSingleGetPC, PC *, inner);
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
  Without scaling, residuals outside the range of float, about 1e-38 to 3e38, become zero or infinite.

  The factor is a power of two, so that scaling does not round. It costs a norm if the outer method has not just computed one.

.seealso: `PCSINGLE`, `PCSingleGetScale()`
@*/
PetscErrorCode PCSingleSetScale(PC pc, PetscBool flag)
{
  PATCHFD_SET(PC, pc, PCSingleSetScale, Bool, PetscBool, flag);
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
  PATCHFD_GET(PC, pc, PCSingleGetScale, PetscBool *, flag);
}

/*@
  PCSingleSetWarn - Sets whether a `PCSINGLE` warns about an outer method that does not detect errors of single precision

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
  PATCHFD_SET(PC, pc, PCSingleSetWarn, Bool, PetscBool, flag);
}

/*@
  PCSingleGetWarn - Gets whether a `PCSINGLE` warns about an outer method that does not detect errors of single precision

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
  PATCHFD_GET(PC, pc, PCSingleGetWarn, PetscBool *, flag);
}

/*@
  PCSingleSetCoarse - Sets whether the coarsest level of the `PCMG` or `PCGAMG` inside a `PCSINGLE` works in floats, too

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- flag - `PETSC_FALSE`, the default, for double precision

  Options Database Key:
. -pc_single_coarse (true|false) - floats or not

  Level: advanced

  Notes:
  Call it before the preconditioner is set up. It holds for an assembled matrix, if the preconditioner of the coarsest level is one of those
  that work in floats, see `PCSINGLE`; `PCREDUNDANT` is none.

  The coarsest level is usually small, and its factors are better conditioned in double precision.

.seealso: `PCSINGLE`, `PCSingleGetCoarse()`, `MATAIJSINGLE`
@*/
PetscErrorCode PCSingleSetCoarse(PC pc, PetscBool flag)
{
  PATCHFD_SET(PC, pc, PCSingleSetCoarse, Bool, PetscBool, flag);
}

/*@
  PCSingleGetCoarse - Gets whether the coarsest level of the multigrid inside a `PCSINGLE` works in floats, too

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. flag - whether it does

  Level: advanced

.seealso: `PCSINGLE`, `PCSingleSetCoarse()`
@*/
PetscErrorCode PCSingleGetCoarse(PC pc, PetscBool *flag)
{
  PATCHFD_GET(PC, pc, PCSingleGetCoarse, PetscBool *, flag);
}
