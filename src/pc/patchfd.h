/* what the files of PCPATCHFD have of each other */
#pragma once
#include <petsc/private/pcimpl.h>
#include <patchfd/private/patches.h>

typedef struct {
  MatPatchesSpec spec;
  PCPatchFDOrder autoorder; /* what the order `auto` is, where patches have colours: forward or backward */
  MatPatches     patches;   /* NULL before set-up */
} PC_PatchFD;

/* composed functions (patchfdfit.c) */
PETSC_INTERN PetscErrorCode PCPatchFDSetFitSteps_PatchFD(PC, PetscInt maxsteps, PetscReal reduction, PetscReal stable, PetscInt lanczos);
PETSC_INTERN PetscErrorCode PCPatchFDGetFitSteps_PatchFD(PC, PetscInt *maxsteps, PetscReal *reduction, PetscReal *stable,
                                                         PetscInt *lanczos);
