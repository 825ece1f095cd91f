#pragma once
/* Rigid motions, in double precision on the host: src/host/motions.c */
#include <petscsys.h>

enum {
  PATCHFD_MAX_MOTIONS = 6
};

/* n: translations of ncomp components, and, where there are more, rotations about a place, at a rate */
typedef struct {
  PetscInt  n, ncomp;
  PetscReal middle[3], rate;
} PatchFDMotions;

/* product[n][n] += those of component c at points x[][ncomp] */
PETSC_INTERN void PatchFDMotionsAddProducts(const PatchFDMotions *, PetscInt c, PetscInt points, const PetscReal x[], PetscReal product[]);
/* u[nodes][ncomp] = the sum of coef[n] motions at the places of nodes, but zero where they are not of a body, unless that is NULL; there
   need not be places for translations */
PETSC_INTERN void PatchFDHostMotion(const PatchFDMotions *, const PetscReal coef[], PetscCount nodes, const PetscScalar place[],
                                    const PetscInt body[], PetscInt which, PetscScalar u[]);
