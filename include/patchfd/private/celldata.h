#pragma once
/*
  Numbers of the cells of a box, x fastest: a group for each cell, or one for each point of a cell, x fastest, too.  Loops over them, in the memory that the arrays are in, in double
  precision; not part of the kernel tables.
*/
#include <patchfd/private/kernels.h>

/* Means of the groups of `ratio` cells in each direction: sums along one direction after the other with these weights, which are not negative and have sum 1 */
typedef struct {
  PetscInt   n;               /* numbers of a group */
  PetscInt   cells[3];        /* that are made */
  PetscInt   ratio[3];        /* cells of which one is made */
  PetscInt   from[3], to[3];  /* groups of a cell in each direction, before and after */
  PetscReal *W[3];            /* [to][ratio from] */
} PatchFDCellMeans;

struct _PatchFDCellKernels {
  PetscErrorCode (*means)(const PatchFDCellMeans *, const PetscReal in[], PetscReal out[]);
  /*
    out[cells][points][..], a number for n = 1, otherwise a symmetric matrix in PatchFDPoints' order, from in[cells][groups][n]: numbers as they are, diagonals, or such matrices; groups
    is 1 or points
  */
  PetscErrorCode (*tensors)(PetscInt dim, PetscCount cells, PetscInt groups, PetscInt points, PetscInt n, const PetscReal in[], PetscReal out[]);
};
PETSC_INTERN const struct _PatchFDCellKernels PatchFDCellKernelsHost;
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _PatchFDCellKernels PatchFDCellKernelsCUDA;
#endif
