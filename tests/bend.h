/* Curved cells of a DMPLEX */
#pragma once
#include <petscdmplex.h>

/* its coordinates, of degree k, each node where the map takes it to */
static PetscErrorCode Bend(DM dm, PetscInt dim, PetscInt k, void (*map)(PetscInt, PetscScalar[]))
{
  Vec          local, global;
  PetscScalar *x;
  PetscInt     n;

  PetscFunctionBeginUser;
#if PETSC_VERSION_LT(3, 24, 0)
  PetscCall(DMPlexCreateCoordinateSpace(dm, k, PETSC_TRUE, NULL));
#else
  PetscCall(DMPlexCreateCoordinateSpace(dm, k, PETSC_FALSE, PETSC_TRUE));
#endif
  PetscCall(DMGetCoordinatesLocal(dm, &local));
  PetscCall(VecGetLocalSize(local, &n));
  PetscCall(VecGetArray(local, &x));
  for (PetscInt i = 0; i < n; i += dim) map(dim, x + i);
  PetscCall(VecRestoreArray(local, &x));
  PetscCall(DMGetCoordinates(dm, &global));
  PetscCall(VecGetLocalSize(global, &n));
  PetscCall(VecGetArray(global, &x));
  for (PetscInt i = 0; i < n; i += dim) map(dim, x + i);
  PetscCall(VecRestoreArray(global, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
