/* The operator "heat" of a DMBOX: sources, fluxes into sides, exchange with what is outside, values on sides, as users set them; loads */
#include <patchfd/private/heatimpl.h> /*I "petscpatchfd.h" I*/

/* v = f at the nodes of a side, zero at others */
static PetscErrorCode HeatInterpolateSide(DM dm, PetscInt side, PetscReal t, const HeatFunction *h, PetscReal constant, Vec v)
{
  PatchFDPointwise f = {h->f, h->ctx};
  PetscScalar     *a;

  PetscFunctionBegin;
  PetscCall(VecSet(v, constant));
  if (!h->f) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArray(v, &a));
  PetscCall(DMBoxVisitNodes(dm, 0, side, t, PatchFDHostPointwise, &f, a));
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b += factor times the mass matrix of a side, or with side = -1 of the volume, times v */
static PetscErrorCode HeatAddLoad(DM dm, PetscInt side, PetscReal factor, Vec v, Vec b)
{
  const MatLatticeForm form = {.mass      = side < 0 ? factor : 0,
                               .stiffness = side < 0 ? 0 : factor,
                               .unit      = PETSC_TRUE,
                               .sides     = side < 0 ? 0 : 1 << side,
                               .whole     = PETSC_TRUE};
  char                 name[32];
  Mat                  A;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "DMBoxHeatLoad%" PetscInt_FMT, side));
  PetscCall(DMBoxGetHeatMatrix(dm, name, &form, &A));
  PetscCall(MatMultAdd(A, v, b, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool DMBoxHeatHasLoad(DM dm, const DMBox_Heat *heat)
{
  PetscBool has = (PetscBool)(heat->source.f != NULL);

  for (PetscInt s = 0; s < 2 * dm->dim; s++) has = (PetscBool)(has || heat->flux[s].f || heat->robin[s] * heat->outside[s] != 0);
  return has;
}

/*@
  DMBoxAddHeatLoad - Adds the load vector of the operator `heat` to a vector: source, fluxes through the sides and exchange of heat with
  the outside

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
. time - the time that the functions get
- b    - the vector, from `DMCreateGlobalVector()`; entries at Dirichlet nodes do not change

  Level: intermediate

  Notes:
  For a steady problem solve A u = b with A from `DMCreateMatrix()`; `DMBoxLiftDirichlet()` brings Dirichlet values into b.

  After `DMBoxTSSetHeat()` the `TS` does this in each step.

.seealso: `DMBOX`, `DMBoxSetHeatSource()`, `DMBoxSetHeatFlux()`, `DMBoxSetHeatRobin()`, `DMBoxLiftDirichlet()`, `DMBoxTSSetHeat()`
@*/
PetscErrorCode DMBoxAddHeatLoad(DM dm, PetscReal time, Vec b)
{
  const HeatFunction none = {NULL, NULL};
  DM_Box            *box;
  DMBox_Heat        *heat = NULL;
  Vec                v;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxAddHeatLoad()", &heat));
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxCheckVec(dm, b));
  PetscCall(DMGetGlobalVector(dm, &v));
  if (heat->source.f) {
    PetscCall(DMBoxInterpolateFunction(dm, time, heat->source.f, heat->source.ctx, v));
    PetscCall(HeatAddLoad(dm, -1, 1, v, b));
  }
  for (PetscInt s = 0; s < 2 * dm->dim; s++) {
    if (box->boundary[s] != DMBOX_BOUNDARY_NEUMANN) continue;
    if (heat->flux[s].f) {
      PetscCall(HeatInterpolateSide(dm, s, time, &heat->flux[s], 0, v));
      PetscCall(HeatAddLoad(dm, s, 1, v, b));
    }
    if (heat->robin[s] * heat->outside[s] != 0) {
      PetscCall(HeatInterpolateSide(dm, s, time, &none, heat->outside[s], v));
      PetscCall(HeatAddLoad(dm, s, heat->robin[s], v, b));
    }
  }
  PetscCall(DMRestoreGlobalVector(dm, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sides, source, values ---- */

static const char HEAT_ROBIN[] = "-dm_box_robin (DMBoxSetHeatRobin())", HEAT_FLUX[] = "DMBoxSetHeatFlux()";

PetscErrorCode DMBoxHeatCheckSides(DM dm, const DMBox_Heat *heat)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < 2 * dm->dim; s++) {
    PetscCall(DMBoxCheckNatural(dm, HEAT_ROBIN, s, (PetscBool)(heat->robin[s] > 0)));
    PetscCall(DMBoxCheckNatural(dm, HEAT_FLUX, s, (PetscBool)(heat->flux[s].f != NULL)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetHeatRobin - Sets the heat exchange of a side with the outside, for the operator `heat`: the outward flux is h (u - T)

  Logically Collective

  Input Parameters:
+ dm      - the `DM` of type `DMBOX`
. side    - the side: 0 for lower x, 1 for upper x, 2 for lower y, ...
. h       - coefficient of heat transfer, not negative; 0 for none
- outside - the temperature T

  Options Database Keys:
+ -dm_box_robin h0,h1,...   - coefficient of heat transfer of each side; one number is for all that are `DMBOX_BOUNDARY_NEUMANN` (default 0)
- -dm_box_outside T0,T1,... - temperature outside of each side; one number is for all (default 0)

  Level: beginner

  Note:
  The side must be of type `DMBOX_BOUNDARY_NEUMANN`; another type is an error, in `DMSetUp()` if you call this before. A flux of
  `DMBoxSetHeatFlux()` is added.

.seealso: `DMBOX`, `DMBoxGetHeatRobin()`, `DMBoxSetHeatFlux()`, `DMBoxSetBoundary()`
@*/
PetscErrorCode DMBoxSetHeatRobin(DM dm, PetscInt side, PetscReal h, PetscReal outside)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxSetHeatRobin()", &heat));
  PetscCall(DMBoxCheckSide(dm, "DMBoxSetHeatRobin()", side));
  PetscValidLogicalCollectiveReal(dm, h, 3);
  PetscValidLogicalCollectiveReal(dm, outside, 4);
  PetscCheck(h >= 0 && !PetscIsInfOrNanReal(h) && !PetscIsInfOrNanReal(outside), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_robin, -dm_box_outside (DMBoxSetHeatRobin()) are %g, %g at side %" PetscInt_FMT
             "; the first must not be negative, and both finite",
             (double)h, (double)outside, side);
  PetscCall(DMBoxCheckNatural(dm, HEAT_ROBIN, side, (PetscBool)(dm->setupcalled && h > 0)));
  heat->robin[side]   = h;
  heat->outside[side] = outside;
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetHeatRobin - Returns the heat exchange of a side with the outside

  Not Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
- side - the side

  Output Parameters:
+ h       - coefficient of heat transfer, or `NULL`
- outside - the temperature outside, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetHeatRobin()`
@*/
PetscErrorCode DMBoxGetHeatRobin(DM dm, PetscInt side, PetscReal *h, PetscReal *outside)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxGetHeatRobin()", &heat));
  PetscCall(DMBoxCheckSide(dm, "DMBoxGetHeatRobin()", side));
  if (h) *h = heat->robin[side];
  if (outside) *outside = heat->outside[side];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxSetHeatSource - Sets the source of heat in the volume for the operator `heat`

  Logically Collective

  Input Parameters:
+ dm  - the `DM` of type `DMBOX`
. f   - the function, of one component, or `NULL` for none
- ctx - for the function, or `NULL`

  Level: beginner

  Notes:
  Its values at the nodes are interpolated linearly.

  The function is called later, also for DMs that are made of this one: `DMBoxSetMapping()` says how long `ctx` must exist, and how it
  is destroyed with the last of them.

.seealso: `DMBOX`, `DMBoxGetHeatSource()`, `DMBoxSetHeatFlux()`, `DMBoxSetHeatDirichlet()`, `DMBoxSetHeatSteady()`, `DMBoxAddHeatLoad()`
@*/
PetscErrorCode DMBoxSetHeatSource(DM dm, DMBoxFunctionFn *f, void *ctx)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxSetHeatSource()", &heat));
  heat->source = (HeatFunction){f, ctx};
  PetscCall(PetscObjectStateIncrease((PetscObject)dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HeatGetFunction(const HeatFunction *from, DMBoxFunctionFn **f, void *ctx)
{
  if (f) *f = from->f;
  if (ctx) *(void **)ctx = from->ctx;
}

/*@C
  DMBoxGetHeatSource - Returns the source of heat in the volume of the operator `heat`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ f   - the function, `NULL` for none
- ctx - its context, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetHeatSource()`
@*/
PetscErrorCode DMBoxGetHeatSource(DM dm, DMBoxFunctionFn **f, void *ctx)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxGetHeatSource()", &heat));
  HeatGetFunction(&heat->source, f, ctx);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxSetHeatFlux - Sets the flux of heat into the body through a side for the operator `heat`

  Logically Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
. side - the side: 0 for lower x, 1 for upper x, 2 for lower y, ...
. f    - the flux, of one component, positive if it heats; `NULL` for none
- ctx  - for the function, or `NULL`

  Level: beginner

  Notes:
  Its values at the nodes of the side are interpolated linearly, on each side separately. Without it, and without
  `DMBoxSetHeatRobin()`, a `DMBOX_BOUNDARY_NEUMANN` side is insulated. On sides of other types it is an error, in `DMSetUp()` if you
  call this before.

  The function is called later, also for DMs that are made of this one: `DMBoxSetMapping()` says how long `ctx` must exist, and how it
  is destroyed with the last of them.

.seealso: `DMBOX`, `DMBoxGetHeatFlux()`, `DMBoxSetHeatSource()`, `DMBoxSetHeatRobin()`, `DMBoxSetHeatSteady()`, `DMBoxAddHeatLoad()`
@*/
PetscErrorCode DMBoxSetHeatFlux(DM dm, PetscInt side, DMBoxFunctionFn *f, void *ctx)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxSetHeatFlux()", &heat));
  PetscCall(DMBoxCheckSide(dm, HEAT_FLUX, side));
  PetscCall(DMBoxCheckNatural(dm, HEAT_FLUX, side, (PetscBool)(dm->setupcalled && f)));
  heat->flux[side] = (HeatFunction){f, ctx};
  PetscCall(PetscObjectStateIncrease((PetscObject)dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxGetHeatFlux - Returns the flux of heat into the body through a side of the operator `heat`

  Not Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
- side - the side

  Output Parameters:
+ f   - the function, `NULL` for none
- ctx - its context, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetHeatFlux()`
@*/
PetscErrorCode DMBoxGetHeatFlux(DM dm, PetscInt side, DMBoxFunctionFn **f, void *ctx)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxGetHeatFlux()", &heat));
  PetscCall(DMBoxCheckSide(dm, "DMBoxGetHeatFlux()", side));
  HeatGetFunction(&heat->flux[side], f, ctx);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxSetHeatDirichlet - Sets the values on the `DMBOX_BOUNDARY_DIRICHLET` sides for the operator `heat`

  Logically Collective

  Input Parameters:
+ dm  - the `DM` of type `DMBOX`
. f   - the function, of one component, or `NULL` for zero
- ctx - for the function, or `NULL`

  Level: beginner

  Notes:
  `DMBoxTSSetHeat()` uses it; the values may change in time. For a single solve use `DMBoxLiftDirichlet()`.

  The function is called later, also for DMs that are made of this one: `DMBoxSetMapping()` says how long `ctx` must exist, and how it
  is destroyed with the last of them.

.seealso: `DMBOX`, `DMBoxGetHeatDirichlet()`, `DMBoxSetBoundary()`, `DMBoxSetHeatSteady()`, `DMBoxTSSetHeat()`
@*/
PetscErrorCode DMBoxSetHeatDirichlet(DM dm, DMBoxFunctionFn *f, void *ctx)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxSetHeatDirichlet()", &heat));
  heat->dirichlet = (HeatFunction){f, ctx};
  PetscCall(PetscObjectStateIncrease((PetscObject)dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxGetHeatDirichlet - Returns the values on the `DMBOX_BOUNDARY_DIRICHLET` sides of the operator `heat`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ f   - the function, `NULL` for none
- ctx - its context, or `NULL`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetHeatDirichlet()`
@*/
PetscErrorCode DMBoxGetHeatDirichlet(DM dm, DMBoxFunctionFn **f, void *ctx)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxGetHeatDirichlet()", &heat));
  HeatGetFunction(&heat->dirichlet, f, ctx);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetHeatSteady - Declares that source, fluxes and given values of the operator `heat` do not depend on time, so that they are
  not evaluated in each step

  Logically Collective

  Input Parameters:
+ dm     - the `DM` of type `DMBOX`
- steady - `PETSC_TRUE` if they do not depend on time (default `PETSC_FALSE`)

  Options Database Key:
. -dm_box_steady - they do not depend on time

  Level: intermediate

.seealso: `DMBOX`, `DMBoxGetHeatSteady()`, `DMBoxSetHeatSource()`, `DMBoxSetHeatFlux()`, `DMBoxSetHeatDirichlet()`
@*/
PetscErrorCode DMBoxSetHeatSteady(DM dm, PetscBool steady)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxSetHeatSteady()", &heat));
  PetscValidLogicalCollectiveBool(dm, steady, 2);
  heat->steady = steady;
  PetscCall(PetscObjectStateIncrease((PetscObject)dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetHeatSteady - Returns whether source, fluxes and given values of the operator `heat` are declared independent of time

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. steady - `PETSC_TRUE` if they are

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetHeatSteady()`
@*/
PetscErrorCode DMBoxGetHeatSteady(DM dm, PetscBool *steady)
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscAssertPointer(steady, 2);
  PetscCall(DMBoxGetHeatData(dm, "DMBoxGetHeatSteady()", &heat));
  *steady = heat->steady;
  PetscFunctionReturn(PETSC_SUCCESS);
}
