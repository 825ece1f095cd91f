#pragma once
/* The operator diffusion: what diffusion.c has and users set by the routines of diffusionset.c */
#include <patchfd/private/matimpl.h>

/* K and s, which an operator shares with its copies */
typedef struct {
  PetscInt      refct;
  PetscInt      nK; /* numbers of K: 1, dim for a diagonal, or dim (dim + 1) / 2 */
  PetscInt      nconstant; /* of K where there are no functions and data */
  PetscReal     K[6], shift;
  DMBoxFunction Kfunction, shiftfunction;
  void         *ctx;
  DMBoxCellData *Kdata, *shiftdata; /* in place of functions */
} DiffusionMedium;

PETSC_INTERN const DiffusionMedium *DMBoxDiffusionGetMedium(DMBoxOperator);
/* in place of the one that the operator has; nobody changes one that may be shared.  Takes the data over */
PETSC_INTERN PetscErrorCode DMBoxDiffusionSetMedium(DMBoxOperator, const DiffusionMedium *);
