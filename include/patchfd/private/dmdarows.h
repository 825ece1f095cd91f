#pragma once
/*
  The rows of an assembled matrix of a DMDA with one unknown a node.  A row is a stencil: its entries for the unknown itself and for those
  next to it.
*/
#include <patchfd/private/kernels.h>
#include <petscdm.h>

enum {
  PATCHFD_ROW_ENTRIES = 27
};

/* where the unknowns of a DMDA are: owner i of direction d has start[d][i] .. start[d][i + 1] - 1, and the ranks are numbered with x
   fastest */
typedef struct {
  PetscInt        dim, nproc[3], *start[3];
  const PetscInt *ranges; /* first row of each rank */
  PatchFDRange    own;
  PetscBool       ring[3]; /* periodic, and long enough that the unknowns on both sides of one are not the same */
} PatchFDGrid;

/* the entries that a row may have, itself first */
typedef struct {
  PetscInt n, offset[PATCHFD_ROW_ENTRIES][3];
} PatchFDStencil;

/* what a rank's rows are */
typedef struct {
  unsigned     entries; /* a bit for each place 9 (dz + 1) + 3 (dy + 1) + dx + 1 that has an entry */
  PatchFDRange coupled; /* the rows that have entries beside the diagonal are within this range */
  PetscCount   nalone;  /* rows that have none */
  /* the first row with an entry of an unknown that is not next to its own, and that column; PETSC_INT_MAX for none */
  PetscInt bad[2];
  PetscInt irregular; /* the first row whose diagonal entry is not positive, or that has entries that are not finite */
} PatchFDRowKinds;

/* ---- in the order of the matrix (src/host/dmdarows.c) ---- */

PETSC_INTERN PetscErrorCode PatchFDHostRowsScan(Mat, const PatchFDGrid *, PatchFDRowKinds *);
/* itself first, then the places that have a bit */
PETSC_INTERN void PatchFDStencilCreate(unsigned entries, PatchFDStencil *);
/* row[owned unknown][stencil.n]; local numbers and inverse diagonal entries of rows without couplings */
PETSC_INTERN PetscErrorCode PatchFDHostRowsRead(Mat, const PatchFDGrid *, const PatchFDStencil *, PetscReal row[], PetscInt alone[],
                                                PetscReal inverse[]);

/* ---- what is asked of matrix and DMDA (src/mat/dmdarows.c); errors begin with `who`, like "bricks take" ---- */

/* the DMDA of a matrix, or `other` if it is one and the matrix has no DM; otherwise NULL */
PETSC_INTERN PetscErrorCode MatFindDMDA(Mat, DM other, DM *da);
/* a scalar on a lattice, which is periodic only where it may be, and the matrix of its unknowns */
PETSC_INTERN PetscErrorCode MatCheckDMDA(Mat, DM da, const char who[], PetscBool periodic);
PETSC_INTERN PetscErrorCode PatchFDGridCreate(Mat, DM da, PatchFDGrid *);
PETSC_INTERN PetscErrorCode PatchFDGridDestroy(PatchFDGrid *);
/* what the rows of all ranks are, but for nalone; an error where one reaches farther than the next unknown */
PETSC_INTERN PetscErrorCode MatScanRows(Mat, const PatchFDGrid *, const char who[], PatchFDRowKinds *);
