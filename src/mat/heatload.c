/* Loads of the operator "heat" of a DMBOX: sources, fluxes into sides, exchange with what is outside */
#include <patchfd/private/heatimpl.h> /*I "petscpatchfd.h" I*/

/* v = f at the nodes of a side, zero at others */
static PetscErrorCode HeatInterpolateSide(DM dm, PetscInt side, PetscReal t, const HeatFunction *h, PetscReal constant, Vec v)
{
  const DM_Box     *box   = (const DM_Box *)dm->data;
  const DMBoxField *field = &box->field[0];
  const PetscInt    d = side / 2, node = side % 2 ? box->cells[d] : 0;
  PatchFDRange      range;
  PatchFDPointwise  f = {h->f, h->ctx};
  PetscReal        *nodes[3];
  PetscScalar      *a;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(range, field->own, 3));
  range[d][0] = PetscMax(range[d][0], node);
  range[d][1] = PetscMin(range[d][1], node + 1);
  PetscCall(VecSet(v, constant));
  if (!h->f) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 3; i++) {
    PetscCall(PetscMalloc1(field->line[i].nnodes, &nodes[i]));
    PetscCall(PatchFDLineNodes(&field->line[i], nodes[i]));
  }
  PetscCall(VecGetArray(v, &a));
  PetscCall(
    PatchFDHostInterpolate(dm->dim, nodes, NULL, (const PetscInt(*)[2])range, PatchFDHostPointwise, &f, t, 1, 0, 1, &field->global, a));
  PetscCall(VecRestoreArray(v, &a));
  for (int i = 0; i < 3; i++) PetscCall(PetscFree(nodes[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b += factor times the mass matrix of a side, or with side = -1 of the volume, times v */
static PetscErrorCode HeatAddLoad(DM dm, PetscInt side, PetscReal factor, Vec v, Vec b)
{
  const MatLatticeForm form = {.mass = side < 0 ? factor : 0,
                               .stiffness = side < 0 ? 0 : factor,
                               .unit = PETSC_TRUE,
                               .sides = side < 0 ? 0 : 1 << side,
                               .whole = PETSC_TRUE};
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
  DMBoxOperator      op;
  DMBox_Heat        *heat = NULL;
  Vec                v;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxAddHeatLoad()", &op, &heat));
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
