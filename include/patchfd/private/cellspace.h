#pragma once
/*
  The closed cells of the mesh of an operator by quadrature, and how numbers travel between global arrays and arrays of all nodes of a
  rank's cells: what src/mat/cellpatches.c makes local solvers of.  Makers: bakeoffcells.c for a DMPLEX, boxcells.c for a DMBOX.
*/
#include <patchfd/private/kernels.h>
#include <petscpatchfd.h>

typedef struct _CellSpace CellSpace;
struct _CellSpace {
  void            *ctx;
  PetscInt         dim, degree, ncomp;
  PetscInt         nfit; /* ncomp: each component has a fit of its own; 1: all have the same */
  PetscCount       ncells;
  size_t           nlocal;    /* numbers of local arrays */
  const PetscBool *dirichlet; /* NULL, or [nlocal] which numbers are no unknowns, of nodes that have others; then nfit is ncomp */
  /* the cells, and the conditions of their sides, with numbers of nodes in local arrays; and a scalar operator by quadrature on them for
     each fit, which has positive factors and is given back */
  PetscErrorCode (*describe)(const CellSpace *, PatchFDKernels, PatchFDCellsDesc *);
  PetscErrorCode (*getmetric)(const CellSpace *, PatchFDKernels, PetscInt fit, void **operatorplan);
  PetscErrorCode (*restoremetric)(const CellSpace *, PatchFDKernels, void **operatorplan);
  /* the local array for a global one, with valid ghosts */
  PetscErrorCode (*tolocal)(const CellSpace *, PatchFDKernels, const void *global, const void **local);
  /* a local array to which sums are added; and those of all ranks added to a global one */
  PetscErrorCode (*sumbegin)(const CellSpace *, PatchFDKernels, void *global, void **local);
  PetscErrorCode (*sumend)(const CellSpace *, PatchFDKernels, void *global, void **local);
  /* a local array becomes its sums over all ranks, in ghosts too */
  PetscErrorCode (*sumall)(const CellSpace *, PatchFDKernels, void *local);
  /* NULL, or x = the solution at fixed nodes, which no cell has */
  PetscErrorCode (*fixed)(const CellSpace *, PatchFDKernels, const void *b, void *x);
  /* numbers without a pattern, the same whoever has the nodes, and zero at fixed nodes */
  PetscErrorCode (*noise)(const CellSpace *, Vec);
  PetscErrorCode (*destroy)(CellSpace *);
};

PETSC_INTERN PetscErrorCode MatGetCellSpace_Bakeoff(Mat, CellSpace *);
PETSC_INTERN PetscErrorCode MatGetCellSpace_Box(Mat, CellSpace *);
