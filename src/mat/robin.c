/* Robin conditions on the sides of a DMBOX, of operators that have six coefficients for them */
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/

static const char NAME[] = "-dm_box_robin (DMBoxSetRobin())";

PetscBool DMBoxHasRobin(const DMBoxOperator op, const PetscReal c[])
{
  PetscBool has = PETSC_FALSE;

  for (int s = 0; s < 6 && op->robin; s++) has = (PetscBool)(has || c[op->robin + s] != 0);
  return has;
}

PetscErrorCode DMBoxCheckRobin(DM dm, const DMBoxOperator op)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < 2 * dm->dim; s++) PetscCall(DMBoxCheckNatural(dm, NAME, s, (PetscBool)(op->coefficient[op->robin + s] != 0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOptionsRobin(DM dm, const DMBoxOperator op, PatchFDOptionItems PetscOptionsObject)
{
  PetscReal h[6];
  PetscBool flg;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(h, &op->coefficient[op->robin], 6));
  PetscCall(
    DMBoxOptionsSides(dm, "-dm_box_robin", "h in diffusion du/dn + h u = g, on each side", "DMBoxSetRobin", h, &flg, PetscOptionsObject));
  for (PetscInt s = 0; flg && s < 2 * dm->dim; s++) PetscCall(DMBoxSetRobin(dm, s, h[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxViewRobin(PetscInt dim, const PetscReal h[], PetscViewer viewer)
{
  PetscBool has = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < 2 * dim; s++) has = (PetscBool)(has || h[s] != 0);
  if (has) PetscCall(PetscViewerASCIIPrintf(viewer, ", Robin sides:"));
  for (PetscInt s = 0; s < 2 * dim && has; s++) PetscCall(PetscViewerASCIIPrintf(viewer, " %g", (double)h[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOperator(DM dm, const char who[], DMBoxOperator *op)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  *op = box->op;
  PetscCheck((*op)->robin, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "%s is for -dm_box_operator poisson and diffusion (DMBoxSetOperator()); this DMBOX has %s", who, (*op)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetRobin - Sets the coefficient h of a Robin condition on a side: diffusion du/dn + h u = g for the operator `poisson`,
  n . K grad u + h u = g for `diffusion`

  Logically Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
. side - the side: 0 for lower x, 1 for upper x, 2 for lower y, ...
- h    - the coefficient, not negative and finite; 0 for a Neumann condition (default)

  Options Database Key:
. -dm_box_robin h0,h1,... - the coefficient of each side; one number is for all that are `DMBOX_BOUNDARY_NEUMANN`

  Level: beginner

  Notes:
  The side must be of type `DMBOX_BOUNDARY_NEUMANN`; another type is an error, in `DMSetUp()` if you call this before. n is the outward
  normal, and g is zero, or what `DMBoxAddNeumannLoad()` brings in.

  With `poisson` patches and the direct solve are exact with it, as with other sides. With `diffusion` h is for the surface of the mapped
  mesh, and fitted patches have its mean over their side.

  You may call it at any time, as `DMBoxSetPoisson()`. Where h is 1e12 times the diffusion over the length of a cell, or more, take a
  Dirichlet side: solvers see a singular matrix in the rounding.

.seealso: `DMBOX`, `DMBoxGetRobin()`, `DMBoxSetPoisson()`, `DMBoxSetDiffusion()`, `DMBoxSetBoundary()`, `DMBoxAddNeumannLoad()`,
          `DMBoxSetHeatRobin()`, `MatDiffusionPlexSetRobin()`
@*/
PetscErrorCode DMBoxSetRobin(DM dm, PetscInt side, PetscReal h)
{
  DMBoxOperator op = NULL;

  PetscFunctionBegin;
  PetscCall(GetOperator(dm, "DMBoxSetRobin()", &op));
  PetscCall(DMBoxCheckSide(dm, "DMBoxSetRobin()", side));
  PetscValidLogicalCollectiveReal(dm, h, 3);
  PetscCheck(h >= 0 && !PetscIsInfOrNanReal(h), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "%s is %g at side %" PetscInt_FMT "; it must not be negative, and finite", NAME, (double)h, side);
  PetscCall(DMBoxCheckNatural(dm, NAME, side, (PetscBool)(dm->setupcalled && h > 0)));
  op->coefficient[op->robin + side] = h;
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetRobin - Returns the coefficient of the Robin condition of a side of the operator `poisson` or `diffusion`

  Not Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
- side - the side

  Output Parameter:
. h - the coefficient

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetRobin()`
@*/
PetscErrorCode DMBoxGetRobin(DM dm, PetscInt side, PetscReal *h)
{
  DMBoxOperator op = NULL;

  PetscFunctionBegin;
  PetscCall(GetOperator(dm, "DMBoxGetRobin()", &op));
  PetscCall(DMBoxCheckSide(dm, "DMBoxGetRobin()", side));
  PetscAssertPointer(h, 3);
  *h = op->coefficient[op->robin + side];
  PetscFunctionReturn(PETSC_SUCCESS);
}
