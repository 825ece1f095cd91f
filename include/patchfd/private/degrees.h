#pragma once
/* PCPATCHMG over degrees: src/pc/degrees.c */
#include <petscpc.h>

/* has the PC a DMPLEX, and a matrix, if any, that is none of ours? */
PETSC_INTERN PetscBool PCPatchMGHasPlex(PC);
/* are there levels of another matrix? */
PETSC_INTERN PetscErrorCode PCPatchMGDegreesAreStale(PC, PetscBool *);
/* of a DMPLEX, that of the cells, which is solved in its place, gets the coefficients of the PetscDS */
PETSC_INTERN PetscErrorCode PCPatchMGUpdateCells(PC);
/* of how many levels, with halved degrees, is there a choice?  0 if the matrix is none that this is for */
PETSC_INTERN PetscErrorCode PCPatchMGGetNumDegrees(PC, PetscInt *);
/* what smooths its levels */
PETSC_INTERN PetscErrorCode PCPatchMGGetDegreesSmoother(PC, PCType *, PetscBool *robust);
/* the solver of the coarsest level: one of the assembled matrix */
PETSC_INTERN PetscErrorCode PCPatchMGSetAssembled(PC);
/* matrices and interpolations of all levels, before PCMG sets up */
PETSC_INTERN PetscErrorCode PCPatchMGSetUpDegrees(PC);
