#pragma once
/* events, and the constructors that registration needs */
#include <petscpatchfd.h>

PETSC_INTERN PetscLogEvent PATCHFD_SetUp, PATCHFD_Mult, PATCHFD_Smooth, PATCHFD_BoxSolve, PATCHFD_Prolong, PATCHFD_Restrict, PATCHFD_Halo,
  PATCHFD_Function, PATCHFD_Replay;

PETSC_INTERN PetscErrorCode PCCreate_PatchFD(PC);
PETSC_INTERN PetscErrorCode PCCreate_PatchMG(PC);
PETSC_INTERN PetscErrorCode KSPCreate_FusedCG(KSP);
PETSC_INTERN PetscErrorCode KSPCreate_Refine(KSP);
/* DMPLEX knows the matrix type MATPATCHFD: src/mat/plexjacobian.c */
PETSC_INTERN PetscErrorCode DMPlexRegister_PatchFD(void);
/* if that is its type of matrix, the Jacobian that SNES and TS compute for it is the matrix-free one */
PETSC_INTERN PetscErrorCode DMPlexSetJacobian_PatchFD(DM);

/* makes a PC the PCPATCHFD that is the adjoint of another one */
PETSC_INTERN PetscErrorCode PCPatchFDSetAdjoint(PC adjoint, PC pc);
PETSC_INTERN PetscErrorCode PCPatchFDSetAutoOrder(PC, PCPatchFDOrder);
/* is all that it does work of a kernel table, so that it may be recorded? */
PETSC_INTERN PetscErrorCode PCPatchFDCanRecord(PC, PetscBool *);
/* between two calls the matrix of a PCPATCHFD is what it was when that was set up, which matters if it is reused; nothing for others */
PETSC_INTERN PetscErrorCode PCPatchFDExchange(PC);
