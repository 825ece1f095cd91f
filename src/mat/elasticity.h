#pragma once
/* The operator elasticity between its files: its coefficients, which users set by the routines of elasticityset.c, and a material
   that varies (elasticitypoints.c) */
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h>

/* coefficients of the operator: those of the material or, where it varies, factors of them; and of the mass matrix */
enum {
  LAMBDA,
  MU,
  SHIFT
};

/* Young's modulus and Poisson's ratio, which an operator shares with its copies */
typedef struct {
  PetscInt         refct;
  DMBoxFunctionFn *function[2];
  void            *ctx;
  DMBoxCellData   *data[2];     /* in place of functions */
  PetscReal        constant[2]; /* where there is neither */
  DMBoxPlaneType   plane;
} ElasticMaterial;

/* of a DMBoxOperator */
typedef struct {
  ElasticMaterial *material; /* NULL: one that is the same everywhere, the coefficients */
  DMBoxPlaneType   plane;    /* of the coefficients */
  PetscReal        largest;  /* lambda / mu, of the version `known` */
  PetscInt64       known;
} Elasticity;

/* the missing directions in which there is no stress count, in lambda = 2 mu nu / (1 - n nu): n */
static inline PetscReal DMBoxMissingDirections(DM dm, DMBoxPlaneType plane)
{
  return plane == DMBOX_PLANE_STRESS ? (PetscReal)(dm->dim - 1) : 2;
}
PETSC_INTERN PetscErrorCode MatBoxMotions(const Mat_Box *, PetscBool all, MatNullSpace *); /* or those that nothing holds: motions.c */
PETSC_INTERN PetscErrorCode DMBoxMaterialDestroy(ElasticMaterial **);
/* `largest`, of all ranks; an error where the material is none */
PETSC_INTERN PetscErrorCode DMBoxMaterialCheck(DM, DMBoxOperator);
PETSC_INTERN PetscErrorCode DMBoxPoints_Elasticity(DM, DMBoxOperator, const PetscReal c[], const PatchFDRange cells, PetscBool device,
                                                   PatchFDPoints *);
PETSC_INTERN PetscErrorCode DMBoxPointsDestroy_Elasticity(PatchFDPoints *);
/* degree that lambda terms are projected to; that of the space for none.  Where the material varies it is known after the check */
PETSC_INTERN PetscInt       DMBoxElasticityDegree(DM, DMBoxOperator);
PETSC_INTERN PetscErrorCode DMBoxElasticityCheckLocking(DM, DMBoxOperator);
/* of the operator, for a material or a degree that may be another */
PETSC_INTERN PetscErrorCode DMBoxElasticityVersion(DM, DMBoxOperator);
