#pragma once
/* Points of the cells of a DMPLEX, or of one side of each, and what pointwise functions of a PetscDS want to know there:
   src/dm/plexpoints.c */
#include <patchfd/private/fe.h>
#include <patchfd/private/plexcells.h>
#include <petscfe.h>

enum {
  PLEX_MAX_COMPONENTS = 3
};

/*
  A field at the points of a cell, with derivatives in PETSc's reference cell.  Of a PetscFE there are PETSc's tabulations, in the order of
  its closures.  A Lagrange space has `copies` of tensor products, x fastest, one component after another at each node: the matrix
  M[1 + dim][point][node] of values and derivatives, and what it makes of the nodes of a cell, at[1 + dim][point][copies].
*/
typedef struct {
  PetscTabulation tabulation;
  PetscInt        nb, nc, copies, npoint;
  PetscReal      *M;
  PetscScalar    *at;
} PlexField;

/* what all cells have in common, and the fields at a point */
typedef struct {
  PetscInt     dim, npoint, naux;
  PatchFDRule  rule;
  PetscInt     c[3]; /* points in each direction, at x[3][c] in the unit cell */
  PetscReal   *x[3], end;
  PetscReal   *point; /* [npoint][dim] in PETSc's reference cell */
  PlexField    geometry, solution, *aux;
  PetscScalar *place; /* of the nodes of a cell's geometry */
  PetscSection section;
  DM           dmaux;
  Vec          auxvec;
  PetscInt    *aoff, *aoffx;
  PetscScalar *u, *zero, *a, *ax; /* at a point: of the solution Nc values, then derivatives; of the auxiliary fields */
  PetscScalar *closure;           /* of the auxiliary fields, of a cell */
  PetscInt     auxcell;
} PlexPoints;

/* those of cells, or, with side = 0 to 2 dim - 1, of the side at the end side % 2 of direction side / 2; side = -1 for cells */
PETSC_INTERN PetscErrorCode PlexPointsCreate(const PlexCoefficients *, const PlexCells *, PetscInt gauss, PetscInt side, PlexPoints *);
PETSC_INTERN PetscErrorCode PlexPointsDestroy(PlexPoints *);
/* the geometry of cell i */
PETSC_INTERN PetscErrorCode PlexPointsGoTo(const PlexCells *, PetscCount i, PlexPoints *);
/* place x of a point, and, unless invJ is NULL, the inverse of the Jacobian of the map from PETSc's reference cell */
PETSC_INTERN void PlexPointsPlace(const PlexPoints *, PetscInt q, PetscReal x[3], PetscReal invJ[3][3]);
/* solution and auxiliary fields of cell i, where PlexPointsGoTo() went; then at a point of it, with place and invJ; and an end of that */
PETSC_INTERN PetscErrorCode PlexPointsGetFields(const PlexCoefficients *, const PlexCells *, PetscCount i, PlexPoints *);
PETSC_INTERN void           PlexPointsEvaluate(PlexPoints *, PetscInt q, PetscReal x[3], PetscReal invJ[3][3]);
PETSC_INTERN PetscErrorCode PlexPointsRestoreFields(PlexPoints *);
/* g0 and g3 of a vector have to be one scalar operator for each component: of the blocks x[nc][nc][size] equal ones on the diagonal */
PETSC_INTERN PetscErrorCode PlexPointsCheckBlocks(PetscInt cell, PetscInt nc, PetscInt size, const PetscScalar x[]);
