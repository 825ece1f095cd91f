/*
  The operator "heat" of a DMBOX with the space p1: capacity du/dt - div(conductivity grad u) = source, with materials that vary in space,
  on all of the box or on a body of voxels; values, fluxes or exchange with a surrounding temperature on the sides.  Its matrices are in
  lattice.c, what users set for sides and loads in heatload.c, time steps in heatstep.c.
*/
#include <patchfd/private/heatimpl.h> /*I "petscpatchfd.h" I*/

/* ---- relatives ---- */

/* before set-up a DM has no mesh, and nothing that lives on one: src/dm/hierarchy.c comes again */
static PetscErrorCode DMBoxCopy_Heat(DM from, DM to, PetscBool *changed)
{
  const DM_Box *a = (const DM_Box *)from->data, *b = (const DM_Box *)to->data;
  DMBox_Heat   *f = (DMBox_Heat *)a->op->data, *t = (DMBox_Heat *)b->op->data;
  HeatBody      body = t->body;
  DMBox_Heat    copy = *f;
  PetscBool     same;

  PetscFunctionBegin;
  if (to->setupcalled) {
    PetscBool coarse = PETSC_TRUE;

    PetscCall(PetscArraycmp(a->cells, b->cells, 3, &same));
    for (PetscInt d = 0; d < from->dim; d++) coarse = (PetscBool)(coarse && a->cells[d] == 2 * b->cells[d]);
    PetscCheck(!f->body || same || coarse, PetscObjectComm((PetscObject)from), PETSC_ERR_SUP,
               "A DMBOX of -dm_box_operator heat with voxels or with fields of capacity or conductivity cannot be refined: refine it first "
               "(-dm_refine), then set them");
    if (!f->body) body = NULL;
    else if (same) body = f->body;
    else if (!body || body->made != f->body->made) PetscCall(HeatBodyCoarsen(from, f->body, to, &body));
    if (body != t->body) {
      if (same) PetscCall(HeatBodyReference(body));
      PetscCall(HeatBodyDestroy(&t->body));
      *changed = PETSC_TRUE;
    }
  }
  copy.body = t->body = body;
  PetscCall(PetscMemcmp(&copy, t, sizeof(copy), &same));
  *changed = (PetscBool)(*changed || !same);
  *t       = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorDestroy_Heat(DMBoxOperator op)
{
  DMBox_Heat *heat = (DMBox_Heat *)op->data;

  PetscFunctionBegin;
  PetscCall(HeatBodyDestroy(&heat->body));
  PetscCall(PetscFree(op->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* between bodies of voxels: nodes outside of them are not part of it */
static PetscErrorCode DMCreateInterpolation_Heat(DM coarse, DM fine, Mat *P, Vec *scale)
{
  const DM_Box *box  = (const DM_Box *)fine->data;
  DMBox_Heat   *heat = (DMBox_Heat *)box->op->data;
  PetscBool     same;
  Vec           inside;

  PetscFunctionBegin;
  PetscCall(DMCreateInterpolation_MatBox(coarse, fine, P, scale));
  PetscCall(PetscStrcmp(box->op->name, "heat", &same));
  if (!same || !heat->body || !heat->body->voxel) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)*P, MATSHELL, &same));
  PetscCheck(same, PetscObjectComm((PetscObject)fine), PETSC_ERR_SUP,
             "The interpolation of a body of voxels cannot be assembled: leave -dm_mat_type as it is");
  PetscCall(VecCreate(PetscObjectComm((PetscObject)fine), &inside));
  PetscCall(VecSetSizes(inside, (PetscInt)box->nglobal, PETSC_DETERMINE));
  PetscCall(VecSetType(inside, VECSTANDARD));
  PetscCall(HeatBodyInside(fine, heat->body, inside));
  PetscCall(MatTransferSetMask(*P, inside));
  PetscCall(VecDestroy(&inside));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks, options, view ---- */

static PetscErrorCode DMBoxOperatorCheck_Heat(DM dm, DMBoxOperator op)
{
  const DM_Box  *box  = (const DM_Box *)dm->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)dm);

  PetscFunctionBegin;
  PetscCheck(box->space == DMBOX_SPACE_P1, comm, PETSC_ERR_ARG_INCOMP,
             "-dm_box_space (DMBoxSetSpace()) is %s; -dm_box_operator heat takes p1", DMBoxSpaces[box->space]);
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscCheck(!box->nvertices[d], comm, PETSC_ERR_ARG_INCOMP,
               "DMBoxSetVertices() was called for direction %" PetscInt_FMT
               "; -dm_box_operator heat takes cells of equal length in each direction",
               d);
    for (PetscInt e = 0; e < 2; e++)
      PetscCheck(box->boundary[2 * d + e] != DMBOX_BOUNDARY_SUPPORTED, comm, PETSC_ERR_ARG_INCOMP,
                 "-dm_box_boundary (DMBoxSetBoundary()) is supported at the %s side of direction %" PetscInt_FMT
                 "; -dm_box_operator heat takes dirichlet, neumann and periodic",
                 e ? "upper" : "lower", d);
  }
  PetscCall(DMBoxHeatCheckSides(dm, (const DMBox_Heat *)op->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorSetFromOptions_Heat(DM dm, DMBoxOperator op, PatchFDOptionItems PetscOptionsObject)
{
  DMBox_Heat *heat     = (DMBox_Heat *)op->data;
  PetscReal   capacity = op->coefficient[HEAT_CAPACITY], shift = op->coefficient[HEAT_SHIFT], robin[6], outside[6];
  PetscReal v[4] = {op->coefficient[HEAT_CONDUCTIVITY], op->coefficient[HEAT_CONDUCTIVITY + 1], op->coefficient[HEAT_CONDUCTIVITY + 2], 0};
  PetscBool flg[5];

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(robin, heat->robin, 6));
  PetscCall(PetscArraycpy(outside, heat->outside, 6));
  PetscCall(PetscOptionsReal("-dm_box_capacity", "Heat capacity of a volume", "DMBoxSetHeat", capacity, &capacity, &flg[0]));
  PetscCall(DMBoxOptionsReal(dm, "-dm_box_conductivity", "Conductivity in each direction", "DMBoxSetHeat", v, &flg[1], PetscOptionsObject));
  PetscCall(PetscOptionsReal("-dm_box_shift", "Multiple of the mass matrix added to the operator", "DMBoxSetHeat", shift, &shift, &flg[2]));
  if (flg[0] || flg[1] || flg[2]) PetscCall(DMBoxSetHeat(dm, capacity, v, shift));
  PetscCall(DMBoxOptionsSides(dm, "-dm_box_robin", "Coefficient of heat transfer to the outside, on each side", "DMBoxSetHeatRobin", robin,
                              &flg[3], PetscOptionsObject));
  PetscCall(DMBoxOptionsSides(dm, "-dm_box_outside", "Temperature outside of each side", "DMBoxSetHeatRobin", outside, &flg[4],
                              PetscOptionsObject));
  for (PetscInt s = 0; (flg[3] || flg[4]) && s < 2 * dm->dim; s++) PetscCall(DMBoxSetHeatRobin(dm, s, robin[s], outside[s]));
  PetscCall(PetscOptionsBool("-dm_box_steady", "Source, fluxes and given values do not depend on time", "DMBoxSetHeatSteady", heat->steady,
                             &heat->steady, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOperatorView_Heat(PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "capacity du/dt - div(conductivity grad u), where no fields are given capacity = %g, conductivity =",
                                   (double)c[HEAT_CAPACITY]));
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscViewerASCIIPrintf(viewer, " %g", (double)c[HEAT_CONDUCTIVITY + d]));
  if (c[HEAT_SHIFT] != 0) PetscCall(PetscViewerASCIIPrintf(viewer, ", shift = %g", (double)c[HEAT_SHIFT]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOperatorCreate_Heat(DMBoxOperator op)
{
  DMBox_Heat *heat;

  PetscFunctionBegin;
  PetscCall(PetscNew(&heat));
  op->data                    = heat;
  op->ops.setfromoptions      = DMBoxOperatorSetFromOptions_Heat;
  op->ops.check               = DMBoxOperatorCheck_Heat;
  op->ops.view                = DMBoxOperatorView_Heat;
  op->ops.creatematrix        = DMCreateMatrix_Heat;
  op->ops.createinterpolation = DMCreateInterpolation_Heat;
  op->ops.lift                = DMBoxLift_Heat;
  op->ops.setup               = DMSetUpSolvers_MatBox;
  op->ops.copy                = DMBoxCopy_Heat;
  op->ops.destroy             = DMBoxOperatorDestroy_Heat;
  op->rings                   = PETSC_TRUE;
  for (int i = 0; i < 4; i++) op->coefficient[i] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- constants ---- */

/*@
  DMBoxSetHeat - Sets the constants of the operator `heat`, capacity du/dt - div(conductivity grad u)

  Logically Collective

  Input Parameters:
+ dm           - the `DM` of type `DMBOX`
. capacity     - heat capacity of a volume, density times specific heat, positive; used where no field is given
. conductivity - the conductivity in each direction, of length dim, not negative; used where no field is given
- shift        - the matrix of the operator is shift M(capacity) + K(conductivity), not negative. Use 0 unless you
                 program time steps yourself: `TS` adds its own multiple

  Options Database Keys:
+ -dm_box_capacity c            - heat capacity of a volume (default 1)
. -dm_box_conductivity kx,ky,kz - conductivity; one number is for all directions (default 1)
- -dm_box_shift s               - multiple of the mass matrix (default 0)

  Level: beginner

  Note:
  You may call it at any time. Matrices of this `DM` follow (`MatBoxUpdate()`), those of a `TS` in the next step.

.seealso: `DMBOX`, `DMBoxGetHeat()`, `DMBoxSetHeatFields()`, `DMBoxSetHeatFunctions()`, `DMBoxSetHeatVoxels()`, `DMBoxSetHeatRobin()`,
`DMBoxTSSetHeat()`
@*/
PetscErrorCode DMBoxSetHeat(DM dm, PetscReal capacity, const PetscReal conductivity[], PetscReal shift)
{
  DMBoxOperator op = NULL;

  PetscFunctionBegin;
  PetscAssertPointer(conductivity, 3);
  PetscCall(DMBoxGetOperatorOfType(dm, "heat", "DMBoxSetHeat()", &op));
  PetscValidLogicalCollectiveReal(dm, capacity, 2);
  PetscValidLogicalCollectiveReal(dm, shift, 4);
  PetscCheck(capacity > 0 && !PetscIsInfOrNanReal(capacity), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_capacity (DMBoxSetHeat()) is %g; it must be positive and finite", (double)capacity);
  PetscCheck(shift >= 0 && !PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_shift (DMBoxSetHeat()) is %g; it must not be negative, and finite", (double)shift);
  for (PetscInt d = 0; d < dm->dim; d++)
    PetscCheck(conductivity[d] >= 0 && !PetscIsInfOrNanReal(conductivity[d]), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
               "-dm_box_conductivity (DMBoxSetHeat()) is %g in direction %" PetscInt_FMT "; it must not be negative, and finite",
               (double)conductivity[d], d);
  op->coefficient[HEAT_CAPACITY] = capacity;
  for (PetscInt d = 0; d < dm->dim; d++) op->coefficient[HEAT_CONDUCTIVITY + d] = conductivity[d];
  op->coefficient[HEAT_SHIFT] = shift;
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetHeat - Returns the constants of the operator `heat`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ capacity     - the heat capacity, or `NULL`
. conductivity - the conductivity in each direction, of length dim, or `NULL`
- shift        - the multiple of the mass matrix, or `NULL`

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetHeat()`
@*/
PetscErrorCode DMBoxGetHeat(DM dm, PetscReal *capacity, PetscReal conductivity[], PetscReal *shift)
{
  DMBoxOperator op = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetOperatorOfType(dm, "heat", "DMBoxGetHeat()", &op));
  if (capacity) *capacity = op->coefficient[HEAT_CAPACITY];
  for (PetscInt d = 0; conductivity && d < dm->dim; d++) conductivity[d] = op->coefficient[HEAT_CONDUCTIVITY + d];
  if (shift) *shift = op->coefficient[HEAT_SHIFT];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- fields ---- */

/* a copy in double precision on the host, without the DM, which it would keep alive */
static PetscErrorCode HeatCopyField(DM dm, const char what[], PetscBool zero, Vec v, Vec *copy)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscReal     min, norm;

  PetscFunctionBegin;
  PetscCall(DMBoxCheckVec(dm, v));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)dm), copy));
  PetscCall(VecSetSizes(*copy, (PetscInt)box->nglobal, PETSC_DETERMINE));
  PetscCall(VecSetType(*copy, VECSTANDARD));
  PetscCall(VecSingleConvert(v, 1, *copy));
  PetscCall(VecNorm(*copy, NORM_1, &norm));
  PetscCall(VecMin(*copy, NULL, &min));
  PetscCheck(!PetscIsInfOrNanReal(norm) && (zero ? min >= 0 : min > 0), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "The field of the %s has the smallest value %g and the sum %g; it must be %s, and finite", what, (double)min, (double)norm,
             zero ? "nowhere negative" : "positive everywhere");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the body with other fields; it takes those over */
static PetscErrorCode HeatSetFields(DM dm, Vec field[4])
{
  DMBox_Heat *heat = NULL;
  HeatBody    body;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "This routine", &heat));
  PetscCall(HeatBodyCreate(dm, heat->body, &body));
  for (PetscInt i = 0; i < 4; i++) {
    PetscCall(HeatBodySetField(body, i, field[i]));
    PetscCall(VecDestroy(&field[i]));
  }
  PetscCall(HeatBodyDestroy(&heat->body));
  heat->body = body;
  PetscCall(DMBoxChanged(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetHeatFields - Sets the materials of the operator `heat` to fields with a number for each node

  Collective

  Input Parameters:
+ dm           - the `DM` of type `DMBOX`, set up
. capacity     - heat capacity of a volume, positive; `NULL` for the constant of `DMBoxSetHeat()`
. n            - number of conductivities: 0 for the constants of `DMBoxSetHeat()`, 1 for one in all directions, or dim for one in each
- conductivity - the conductivities, n vectors, not negative

  Level: beginner

  Notes:
  The vectors come from `DMCreateGlobalVector()`; they are copied. An element has the mean of the values at its corners, so a sharp
  interface between two materials is smeared over one layer of elements.

  You may call it as often as you want, for instance between two steps of a `TS`, for materials that change in time. Coarser meshes
  of a multigrid solver have averages.

.seealso: `DMBOX`, `DMBoxGetHeatFields()`, `DMBoxSetHeat()`, `DMBoxSetHeatFunctions()`, `DMBoxSetHeatVoxels()`
@*/
PetscErrorCode DMBoxSetHeatFields(DM dm, Vec capacity, PetscInt n, const Vec conductivity[])
{
  DM_Box     *box;
  DMBox_Heat *heat     = NULL;
  Vec         field[4] = {NULL, NULL, NULL, NULL};

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxSetHeatFields()", &heat));
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscValidLogicalCollectiveInt(dm, n, 3);
  PetscCheck(n == 0 || n == 1 || n == dm->dim, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "DMBoxSetHeatFields() has %" PetscInt_FMT " conductivities; in %" PetscInt_FMT " dimensions it takes 0, 1 or %" PetscInt_FMT,
             n, dm->dim, dm->dim);
  if (n) PetscAssertPointer(conductivity, 4);
  if (capacity) PetscCall(HeatCopyField(dm, "capacity", PETSC_FALSE, capacity, &field[0]));
  for (PetscInt i = 0; i < n; i++) PetscCall(HeatCopyField(dm, "conductivity", PETSC_TRUE, conductivity[i], &field[1 + i]));
  for (PetscInt i = 1; n == 1 && i < 3; i++) {
    PetscCall(PetscObjectReference((PetscObject)field[1]));
    field[1 + i] = field[1];
  }
  PetscCall(HeatSetFields(dm, field));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetHeatFields - Returns the fields of the materials of the operator `heat`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameters:
+ capacity     - the heat capacity, or `NULL` if it is a constant
- conductivity - the conductivity in each direction, of length dim, each `NULL` if it is a constant

  Level: intermediate

  Note:
  The vectors are in double precision on the host and belong to the `DMBOX`: do not change them.

.seealso: `DMBOX`, `DMBoxSetHeatFields()`, `DMBoxSetHeatFunctions()`, `DMBoxSetHeatVoxels()`
@*/
PetscErrorCode DMBoxGetHeatFields(DM dm, Vec *capacity, Vec conductivity[])
{
  DMBox_Heat *heat = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxGetHeatFields()", &heat));
  if (capacity) *capacity = heat->body ? heat->body->field[0] : NULL;
  for (PetscInt d = 0; conductivity && d < dm->dim; d++) conductivity[d] = heat->body ? heat->body->field[1 + d] : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxSetHeatFunctions - Sets the materials of the operator `heat` to functions

  Collective

  Input Parameters:
+ dm           - the `DM` of type `DMBOX`, set up
. time         - the time that the functions get
. capacity     - heat capacity of a volume, positive; `NULL` for the constant of `DMBoxSetHeat()`
. conductivity - the conductivity, not negative; `NULL` for the constants of `DMBoxSetHeat()`
- ctx          - for the functions, or `NULL`

  Level: beginner

  Note:
  The functions have one component. This call evaluates them at the nodes and sets fields, as `DMBoxSetHeatFields()` does.

.seealso: `DMBOX`, `DMBoxSetHeat()`, `DMBoxSetHeatFields()`, `DMBoxSetHeatVoxels()`
@*/
PetscErrorCode DMBoxSetHeatFunctions(DM dm, PetscReal time, DMBoxFunctionFn *capacity, DMBoxFunctionFn *conductivity, void *ctx)
{
  DMBox_Heat *heat = NULL;
  DM_Box     *box;
  Vec         c = NULL, k = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxSetHeatFunctions()", &heat));
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  if (capacity) {
    PetscCall(DMGetGlobalVector(dm, &c));
    PetscCall(DMBoxInterpolateFunction(dm, time, capacity, ctx, c));
  }
  if (conductivity) {
    PetscCall(DMGetGlobalVector(dm, &k));
    PetscCall(DMBoxInterpolateFunction(dm, time, conductivity, ctx, k));
  }
  PetscCall(DMBoxSetHeatFields(dm, c, k ? 1 : 0, &k));
  if (c) PetscCall(DMRestoreGlobalVector(dm, &c));
  if (k) PetscCall(DMRestoreGlobalVector(dm, &k));
  PetscFunctionReturn(PETSC_SUCCESS);
}
