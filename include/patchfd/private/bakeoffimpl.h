#pragma once
/* The matrices of bake-off problems: what multigrid over degrees needs of them */
#include <patchfd/private/matimpl.h>
#include <patchfd/private/plexcells.h>

typedef struct _Mat_Bakeoff Mat_Bakeoff;

/* the data of a matrix by MatCreateBakeoff() in the layout global, or NULL for other matrices */
PETSC_INTERN PetscErrorCode   MatBakeoffFind(Mat, Mat_Bakeoff **);
PETSC_INTERN const PlexCells *MatBakeoffGetCells(const Mat_Bakeoff *);
/* the same problem on the same mesh with polynomials of another degree, for vectors of the type that A makes at the moment */
PETSC_INTERN PetscErrorCode MatBakeoffCreateDegree(Mat A, PetscInt degree, Mat *B);
/* The array of all nodes of the rank's cells for a global one, in the order of the numbers in PlexCells, with valid ghosts: the global array itself on one rank */
PETSC_INTERN PetscErrorCode MatBakeoffGlobalToLocal(Mat_Bakeoff *, PatchFDKernels, const void *global, const void **local);
/* such an array with zeros, to be summed; and its sums over all ranks added to a global array.  On one rank the global array itself, for which there is nothing to do */
PETSC_INTERN PetscErrorCode MatBakeoffSumBegin(Mat_Bakeoff *, PatchFDKernels, void *global, void **local);
PETSC_INTERN PetscErrorCode MatBakeoffSumEnd(Mat_Bakeoff *, PatchFDKernels, void *global, void **local);

/* interpolation between two such matrices' spaces, of different degrees on the same mesh: src/mat/degrees.c */
PETSC_INTERN PetscErrorCode MatCreateDegrees(Mat coarse, Mat fine, Mat *P);
