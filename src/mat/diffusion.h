#pragma once
/* The operator diffusion: what diffusion.c has and users set by the routines of diffusionset.c */
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h>

/* coefficients of the operator */
enum {
  KAPPA, /* factors of K and of s, and what is added to s */
  SHIFT,
  MASS
};

/* K and s, which an operator shares with its copies */
typedef struct _DiffusionMedium DiffusionMedium;
struct _DiffusionMedium {
  PetscInt      refct;
  PetscInt      nK; /* numbers of K: 1, dim for a diagonal, or dim (dim + 1) / 2 */
  PetscInt      nconstant; /* of K where there are no functions and data */
  PetscReal     K[6], shift;
  DMBoxFunctionFn *Kfunction, *shiftfunction;
  void         *ctx;
  DMBoxCellData *Kdata, *shiftdata; /* in place of functions */
  /* of a coarse mesh with a Galerkin operator: the data, and those of s = 1, are factors that were restricted from a finer mesh, and s the
     constant plus what the data say */
  DiffusionMedium *fine;     /* that of the finest mesh, or NULL */
  DMBoxCellData   *massdata;
  PetscReal        largest;  /* s of that mesh */
};

PETSC_INTERN const DiffusionMedium *DMBoxDiffusionGetMedium(DMBoxOperator);
/* in place of the one that the operator has; nobody changes one that may be shared.  Takes the data over */
PETSC_INTERN PetscErrorCode DMBoxDiffusionSetMedium(DMBoxOperator, const DiffusionMedium *);
/* the medium of a coarse mesh with a Galerkin operator, from that of the fine mesh, whose largest s is known; both are set up (galerkin.c)
   */
PETSC_INTERN PetscErrorCode DMBoxDiffusionRestrict(DM fine, DM coarse, PetscReal largest);
/* what `contrast` of a DMBoxOperator is, where points have been checked (galerkin.c) */
PETSC_INTERN PetscErrorCode DMBoxDiffusionContrast(DM, DMBoxOperator, const PetscBool halve[3], PetscReal *contrast);
/* the metric for the factor 1 of K and these of s and of what is added to it, the mean of all ranks; layers, if there are arrays for them,
   of this one (diffusionform.c) */
PETSC_INTERN PetscErrorCode DMBoxDiffusionMetric(DM, DMBoxOperator, PetscReal shift, PetscReal mass, PatchFDMetric *);
/* form->band: stiffnesses of the three directions, then masses */
PETSC_INTERN PetscErrorCode DMBoxDiffusionBands(DM, DMBoxOperator, const PetscReal c[], const PatchFDLine lines[][3], MatBoxForm *);
