#pragma once
/*
  The closed cells of the mesh of an operator by quadrature, and how numbers travel between global arrays and arrays of all nodes of a
  rank's cells: what src/mat/cellpatches.c makes local solvers of.  Makers: bakeoffcells.c for a DMPLEX, boxcells.c for a DMBOX.
*/
#include <patchfd/private/kernels.h>
#include <patchfd/private/plexcells.h>

typedef struct _CellSpace CellSpace;
struct _CellSpace {
  void            *ctx;
  const PlexSides *sides;  /* NULL, or those with Robin conditions */
  const PlexCells *cells;  /* their index is into local arrays, */
  size_t           nlocal; /* which have so many numbers */
  /* the points of the operator in these cells, in host memory, with positive factors */
  PetscErrorCode (*getpoints)(const CellSpace *, PatchFDPoints *);
  PetscErrorCode (*restorepoints)(const CellSpace *, PatchFDPoints *);
  /* the local array for a global one, with valid ghosts */
  PetscErrorCode (*tolocal)(const CellSpace *, PatchFDKernels, const void *global, const void **local);
  /* a local array to which sums are added; and those of all ranks added to a global one */
  PetscErrorCode (*sumbegin)(const CellSpace *, PatchFDKernels, void *global, void **local);
  PetscErrorCode (*sumend)(const CellSpace *, PatchFDKernels, void *global, void **local);
  /* a number for each local node, in double precision on the host, becomes the sum over all ranks, in ghosts too */
  PetscErrorCode (*sumall)(const CellSpace *, PetscReal local[]);
  /* NULL, or x = the solution at fixed nodes, which no cell has */
  PetscErrorCode (*fixed)(const CellSpace *, PatchFDKernels, const void *b, void *x);
  /* numbers without a pattern, the same whoever has the nodes, and zero at fixed nodes */
  PetscErrorCode (*noise)(const CellSpace *, Vec);
  PetscErrorCode (*destroy)(CellSpace *);
};

PETSC_INTERN PetscErrorCode MatGetCellSpace_Bakeoff(Mat, CellSpace *);
PETSC_INTERN PetscErrorCode MatGetCellSpace_Box(Mat, CellSpace *);
/* at x, for meshes of size *ctx: waves that no mesh resolves */
static inline PetscErrorCode PatchFDNoise(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscReal u[],
                                          void *ctx)
{
  const PetscReal wave[3] = {7919, 10007, 12553};
  PetscReal       phase   = 0;

  for (PetscInt d = 0; d < dim; d++) phase += wave[d] * x[d] / *(const PetscReal *)ctx;
  for (PetscInt c = 0; c < n; c++) u[c] = PetscSinReal(phase + (PetscReal)c);
  return PETSC_SUCCESS;
}
