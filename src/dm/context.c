/*
  From a DM to the data of a DMBOX, for everybody: is it one, is it set up?  And who has to know that they change.
*/
#include <patchfd/private/boximpl.h>

/* DMSetCoordinates() and DMSetCoordinatesLocal() do not tell the DM.  A clone has the local Vec of the DM that it was made of, and PETSc
   makes the global one from that */
PetscErrorCode DMBoxCheckCoordinates(DM dm)
{
  const Vec   x = dm->coordinates[0].x, xl = dm->coordinates[0].xl;
  PetscObject own = NULL;

  PetscFunctionBegin;
  if (xl) PetscCall(PetscObjectQuery((PetscObject)xl, "DMBoxNodes", &own));
  PetscCheck(own || (!x && !xl), PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "DMSetCoordinates() and DMSetCoordinatesLocal() do not move the nodes of a DMBOX; DMBoxSetMappingCoordinates() does, after "
             "DMSetUp() and for operators that take a map (diffusion)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxGetContext(DM dm, DM_Box **box)
{
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(dm, DM_CLASSID, 1);
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMBOX, &same));
  PetscCheck(same, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "The DM has type %s; only a DM of type %s (DMBOX) can be used here",
             ((PetscObject)dm)->type_name ? ((PetscObject)dm)->type_name : "(not set)", DMBOX);
  PetscCheck(dm->dim >= 1 && dm->dim <= 3, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_dim (DMSetDimension()) is %" PetscInt_FMT "; it must be 1, 2 or 3", dm->dim);
  *box = (DM_Box *)dm->data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxGetContextSetUp(DM dm, DM_Box **box)
{
  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, box));
  PetscCheck(dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE, "DMSetUp() must be called first");
  PetscCall(DMBoxCheckCoordinates(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxGetContextToChange(DM dm, DM_Box **box)
{
  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, box));
  PetscCheck(!dm->setupcalled, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONGSTATE,
             "The mesh of a DMBOX cannot be changed after DMSetUp()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt64 DMBoxOperatorNewVersion(void)
{
  static PetscInt64 last = 0;

  return ++last;
}

PetscErrorCode DMBoxChanged(DM dm)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)dm));
  for (DMBoxMatrix m = ((const DM_Box *)dm->data)->matrix; m; m = m->next) PetscCall((*m->changed)(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
