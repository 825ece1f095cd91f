/* PCPATCHFD on an assembled matrix of a DMDA (bricks.c), for patchfd.c */
#pragma once
#include <patchfd/private/bricks.h>
#include <petscpatchfd.h>

typedef struct {
  PetscInt  size;   /* unknowns of a brick in each direction, or PETSC_DETERMINE */
  MatBricks bricks; /* NULL where the Pmat is a DMBOX's */
  Vec       r;      /* residual, for additive smoothers */
} PCBricks;

/* how a step is made */
typedef struct {
  PCPatchFDType  type;
  PCPatchFDOrder order;
  PetscReal      omega;
} PCBricksStep;

PETSC_INTERN PetscErrorCode PCBricksSetUp(PC, DM da, const PatchFDFitRule *, PCBricks *);
PETSC_INTERN PetscErrorCode PCBricksReset(PCBricks *);
PETSC_INTERN PetscReal      PCBricksDamping(PCPatchFDType);
PETSC_INTERN PetscErrorCode PCBricksSmooth(PC, PCBricks *, const PCBricksStep *, PetscInt64 steps, PetscBool transpose, PetscBool zero, Vec b, Vec x);
