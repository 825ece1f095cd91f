#pragma once
/* The operator diffusion between its files: its coefficients, which users set by the routines of diffusionset.c, and its data */
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h>

/* coefficients of the operator */
enum {
  KAPPA, /* factors of K and of s, and what is added to s */
  SHIFT,
  MASS,
  ROBIN, /* six numbers */
  COEFFICIENTS = ROBIN + 6
};

/* K and s, which an operator shares with its copies */
typedef struct _DiffusionMedium DiffusionMedium;
struct _DiffusionMedium {
  PetscInt         refct;
  PetscInt         nK;        /* numbers of K: 1, dim for a diagonal, or dim (dim + 1) / 2 */
  PetscInt         nconstant; /* of K where there are no functions and data */
  PetscReal        K[6], shift;
  DMBoxFunctionFn *Kfunction, *shiftfunction;
  void            *ctx;
  DMBoxCellData   *Kdata, *shiftdata; /* in place of functions */
  /* of a coarse mesh with a Galerkin operator: the data, and those of s = 1, are factors that were restricted from a finer mesh, and s the
     constant plus what the data say */
  DiffusionMedium *fine; /* that of the finest mesh, or NULL */
  DMBoxCellData   *massdata;
  PetscReal        largest; /* s of that mesh */
};

/* the points of some cells, which everything that is made of them shares */
typedef struct {
  PetscInt      refct;
  PatchFDPoints points;      /* but for the arrays */
  PetscInt     *index;       /* geoindex, if somebody wants it */
  PetscReal     constant[7]; /* K and s where they are the same everywhere */
  Vec           K, shift;    /* at the points, or NULL */
  PetscReal    *side[6];     /* h |surface| at those of Robin sides, or NULL */
} DiffusionPoints;

/* of a DMBoxOperator */
typedef struct {
  DiffusionMedium *medium;
  PetscInt64       known;   /* the version of what was checked, and that the points are of; or -1 */
  PetscInt         gauss;   /* points in a direction, where it was checked */
  PetscReal        largest; /* of s */
  DiffusionPoints *points;  /* of the cells and for the factors that were last asked for, or NULL */
  PatchFDRange     cells;
  PetscReal        c[COEFFICIENTS];
} Diffusion;

static inline const DiffusionMedium *DMBoxDiffusionGetMedium(DMBoxOperator op)
{
  return ((const Diffusion *)op->data)->medium;
}
/* these factors, and its own h */
static inline void DMBoxDiffusionCoefficients(DMBoxOperator op, PetscReal shift, PetscReal mass, PetscReal c[COEFFICIENTS])
{
  for (int i = 0; i < COEFFICIENTS; i++) c[i] = op->coefficient[i];
  c[KAPPA] = 1;
  c[SHIFT] = shift;
  c[MASS]  = mass;
}
/* in place of the one that the operator has; nobody changes one that may be shared.  Takes the data over */
PETSC_INTERN PetscErrorCode DMBoxDiffusionSetMedium(DMBoxOperator, const DiffusionMedium *);
PETSC_INTERN PetscErrorCode DMBoxDiffusionMediumDestroy(DiffusionMedium **);
/* what `points` and `pointsdestroy` of a DMBoxOperator are (diffusionpoints.c) */
PETSC_INTERN PetscErrorCode DMBoxPoints_Diffusion(DM, DMBoxOperator, const PetscReal c[], const PatchFDRange cells, PetscBool device,
                                                  PatchFDPoints *);
PETSC_INTERN PetscErrorCode DMBoxPointsDestroy_Diffusion(PatchFDPoints *);
PETSC_INTERN PetscErrorCode DMBoxDiffusionPointsDestroy(DiffusionPoints **);
/* the medium of a coarse mesh with a Galerkin operator, from that of the fine mesh, whose largest s is known; both are set up (galerkin.c)
   */
PETSC_INTERN PetscErrorCode DMBoxDiffusionRestrict(DM fine, DM coarse, PetscReal largest);
/* what `contrast` of a DMBoxOperator is, where points have been checked (galerkin.c) */
PETSC_INTERN PetscErrorCode DMBoxDiffusionContrast(DM, DMBoxOperator, const PetscBool halve[3], PetscReal *contrast);
/* the metric for the factor 1 of K and the coefficients c of others, the mean of all ranks; layers, if there are arrays for them,
   of this one (diffusionform.c) */
PETSC_INTERN PetscErrorCode DMBoxDiffusionMetric(DM, DMBoxOperator, const PetscReal c[], PatchFDMetric *);
/* form->band: stiffnesses of the three directions, then masses */
PETSC_INTERN PetscErrorCode DMBoxDiffusionBands(DM, DMBoxOperator, const PetscReal c[], const PatchFDLine lines[][3], MatBoxForm *);
