#pragma once
/* PCPATCHMG over degrees: src/pc/degrees.c */
#include <petscpc.h>

/* of how many levels, with halved degrees, is there a choice?  0 if the matrix is none that this is for */
PETSC_INTERN PetscErrorCode PCPatchMGGetNumDegrees(PC, PetscInt *);
/* the solver of the coarsest level: one of the assembled matrix */
PETSC_INTERN PetscErrorCode PCPatchMGSetAssembled(PC);
/* matrices and interpolations of all levels, before PCMG sets up */
PETSC_INTERN PetscErrorCode PCPatchMGSetUpDegrees(PC);
