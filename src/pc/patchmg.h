/* what the files of PCPATCHMG have of each other */
#pragma once
#include <petscksp.h>

/* of a KSPRICHARDSON: its scale, and whether it takes its own at each step */
PETSC_INTERN PetscErrorCode KSPRichardsonGetScale_Private(KSP, PetscReal *scale, PetscBool *selfscale);
/* a handler of the options of pre-smoothers that makes the post-smoother of its level, a PC_MG_Levels, their adjoint */
PETSC_INTERN PetscErrorCode PCPatchMGMirror_Private(PetscObject, PetscOptionItems, void *level);
PETSC_INTERN PetscErrorCode PCPatchMGCheckSymmetric_Private(PC);
