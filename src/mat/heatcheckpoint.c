/* Checkpoints of the time steps of the operator "heat" of a DMBOX */
#include <patchfd/private/heatimpl.h> /*I "petscpatchfd.h" I*/

enum {
  HEAT_CHECKPOINT_TIME,
  HEAT_CHECKPOINT_STEP,
  HEAT_CHECKPOINT_DT,
  HEAT_CHECKPOINT_HAVE,  /* is there a solution before? */
  HEAT_CHECKPOINT_BEGUN, /* is there where the solve for the solution began? */
  HEAT_CHECKPOINT_BEFORE,
  HEAT_CHECKPOINT_SIZE
};

static PetscErrorCode HeatCheckViewer(TS ts, PetscViewer viewer, const char who[], Vec *u, HeatSteps **s)
{
  PetscBool binary;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ts, TS_CLASSID, 1);
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCall(TSGetHeatSteps(ts, who, s));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERBINARY, &binary));
  PetscCheck(binary, PetscObjectComm((PetscObject)viewer), PETSC_ERR_ARG_WRONG, "%s takes a viewer of type binary, not %s", who,
             ((PetscObject)viewer)->type_name);
  PetscCall(TSGetSolution(ts, u));
  PetscCheck(*u, PetscObjectComm((PetscObject)ts), PETSC_ERR_ARG_WRONGSTATE, "%s needs TSSetSolution() first", who);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxTSHeatView - Writes a checkpoint of the time steps of the operator `heat`

  Collective

  Input Parameters:
+ ts     - the `TS`, after `DMBoxTSSetHeat()`
- viewer - a viewer of type `PETSCVIEWERBINARY`, for writing

  Level: intermediate

  Notes:
  The checkpoint has the solution, in an order that does not depend on the number of processes, the time, the number of steps, the
  length of the next step, and the data for the next initial guess (the solution before, or the last guess). Call it between steps,
  for instance from a monitor (`TSMonitorSet()`).

  With one-step methods (`TSTHETA`, `TSCN`, `TSBEULER`, `TSARKIMEX`) and steps of fixed length, a run that continues from a
  checkpoint gives the same numbers as a run without interruption; on the same number of processes, bit for bit. `TSBDF` starts
  again with first order.

.seealso: `DMBOX`, `DMBoxTSHeatLoad()`, `DMBoxTSSetHeat()`
@*/
PetscErrorCode DMBoxTSHeatView(TS ts, PetscViewer viewer)
{
  PetscReal  number[HEAT_CHECKPOINT_SIZE];
  PetscInt   step;
  HeatSteps *s;
  Vec        u;

  PetscFunctionBegin;
  PetscCall(HeatCheckViewer(ts, viewer, "DMBoxTSHeatView()", &u, &s));
  PetscCall(TSGetTime(ts, &number[HEAT_CHECKPOINT_TIME]));
  PetscCall(TSGetStepNumber(ts, &step));
  PetscCall(TSGetTimeStep(ts, &number[HEAT_CHECKPOINT_DT]));
  number[HEAT_CHECKPOINT_STEP]   = (PetscReal)step;
  number[HEAT_CHECKPOINT_HAVE]   = s->last != NULL;
  number[HEAT_CHECKPOINT_BEGUN]  = s->begun != NULL;
  number[HEAT_CHECKPOINT_BEFORE] = s->tlast;
  PetscCall(PetscViewerBinaryWrite(viewer, number, HEAT_CHECKPOINT_SIZE, PETSC_REAL));
  PetscCall(VecView(u, viewer));
  if (s->last) PetscCall(VecView(s->last, viewer));
  if (s->begun) PetscCall(VecView(s->begun, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxTSHeatLoad - Reads a checkpoint of `DMBoxTSHeatView()`, so that `TSSolve()` continues from there

  Collective

  Input Parameters:
+ ts     - the `TS`, after `DMBoxTSSetHeat()` and `TSSetSolution()`
- viewer - a viewer of type `PETSCVIEWERBINARY`, for reading

  Level: intermediate

  Note:
  The file does not have materials, data, the method and its options: set them as before.

.seealso: `DMBOX`, `DMBoxTSHeatView()`, `DMBoxTSSetHeat()`
@*/
PetscErrorCode DMBoxTSHeatLoad(TS ts, PetscViewer viewer)
{
  PetscReal  number[HEAT_CHECKPOINT_SIZE];
  HeatSteps *s;
  Vec        u;

  PetscFunctionBegin;
  PetscCall(HeatCheckViewer(ts, viewer, "DMBoxTSHeatLoad()", &u, &s));
  PetscCall(PetscViewerBinaryRead(viewer, number, HEAT_CHECKPOINT_SIZE, NULL, PETSC_REAL));
  PetscCall(VecLoad(u, viewer));
  PetscCall(TSSetTime(ts, number[HEAT_CHECKPOINT_TIME]));
  PetscCall(TSSetStepNumber(ts, (PetscInt)number[HEAT_CHECKPOINT_STEP]));
  PetscCall(TSSetTimeStep(ts, number[HEAT_CHECKPOINT_DT]));
  PetscCall(VecDestroy(&s->before));
  PetscCall(VecDestroy(&s->last));
  PetscCall(VecDestroy(&s->begun));
  PetscCall(VecDestroy(&s->begunbefore));
  if (number[HEAT_CHECKPOINT_HAVE] != 0) {
    PetscCall(VecDuplicate(u, &s->last));
    PetscCall(VecLoad(s->last, viewer));
    s->tlast = number[HEAT_CHECKPOINT_BEFORE];
  }
  if (number[HEAT_CHECKPOINT_BEGUN] != 0) {
    PetscCall(VecDuplicate(u, &s->begun));
    PetscCall(VecLoad(s->begun, viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
