/*
  The fields of a DMBOX as PETSc asks a DM for them: index sets and names, which PCFIELDSPLIT takes without being told.
*/
#include <patchfd/private/boximpl.h>

/* Where a velocity is given on all sides, pressures are determined up to a constant: PETSc looks for that in the index set. */
static PetscErrorCode DMBoxSetPressureNullSpace(DM dm, IS pressure)
{
  MatNullSpace constant;

  PetscFunctionBegin;
  if (!DMBoxIsClosed(dm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)dm), PETSC_TRUE, 0, NULL, &constant));
  PetscCall(PetscObjectCompose((PetscObject)pressure, "nullspace", (PetscObject)constant));
  PetscCall(MatNullSpaceDestroy(&constant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "velocity" with all its components, and "pressure"; other spaces have no splits */
PetscErrorCode DMCreateFieldIS_Box(DM dm, PetscInt *n, char ***names, IS **fields)
{
  DM_Box  *box;
  PetscInt first, velocity, end;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  if (n) *n = box->space == DMBOX_SPACE_RT ? 2 : 0;
  if (names) *names = NULL;
  if (fields) *fields = NULL;
  if (box->space != DMBOX_SPACE_RT) PetscFunctionReturn(PETSC_SUCCESS);
  if (names) {
    PetscCall(PetscMalloc1(2, names));
    PetscCall(PetscStrallocpy("velocity", &(*names)[0]));
    PetscCall(PetscStrallocpy("pressure", &(*names)[1]));
  }
  if (fields) {
    velocity = (PetscInt)box->field[dm->dim].global0;
    end      = (PetscInt)box->nglobal;
    first    = 0;
    PetscCallMPI(MPI_Exscan(&end, &first, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)dm)));
    PetscCall(PetscMalloc1(2, fields));
    PetscCall(ISCreateStride(PetscObjectComm((PetscObject)dm), velocity, first, 1, &(*fields)[0]));
    PetscCall(ISCreateStride(PetscObjectComm((PetscObject)dm), end - velocity, first + velocity, 1, &(*fields)[1]));
    PetscCall(DMBoxSetPressureNullSpace(dm, (*fields)[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
