#pragma once
/*
  Bricks: the unknowns of a DMDA, cut into bricks of m^d of them that do not overlap, and local solvers that are read off the rows of an
  assembled matrix.

  A row is a stencil: its entries for the unknown itself and for those next to it.  c_d(p) is the coupling of unknown p to the next plane
  in direction d, minus the sum of the entries there.  In a brick, geometric means over the unknowns of a plane make one-dimensional
  matrices, A_d tridiagonal with the means of c_d, and M_d diagonal with what the means of the other directions' couplings change along d
  (PatchFDFit's `own` on a lattice): then patchfd/private/fit.h holds with these, T is scaled to the diagonal of the matrix, and steps of
  Chebyshev's iteration are taken where one is not near enough.
*/
#include <patchfd/private/dmdarows.h>
#include <patchfd/private/fit.h>

enum {
  PATCHFD_BRICK_MAX    = 16, /* unknowns in a direction */
  PATCHFD_BRICK_COLORS = 8
};

typedef struct {
  PetscInt         dim, n[3]; /* unknowns of a brick */
  PatchFDStencil   stencil;
  PatchFDBox       box;    /* of the arrays: the bricks and the unknowns next to them */
  PatchFDRange     nodes;  /* the unknowns of the bricks; the last ones of a direction may be cut */
  const PetscReal *row;    /* [node of the box][stencil.n]: rows of the matrix, until the plans are made */
  PetscInt         ncolor; /* bricks of a colour are not coupled */
  PetscCount       nbrick;
  PetscInt        *first; /* [nbrick][3] first unknown */
  /* numbers of a record: for each direction S[n][n] and lambda[n], then the scale of each unknown, which is zero for those that do not
     belong to the brick */
  PetscCount  nrecord;
  PetscReal  *record;
  PetscInt    ngroup, maxsteps; /* bricks of a group have one colour and take the same number of steps */
  PetscCount *group, *order;    /* group i: bricks order[group[i]] .. order[group[i + 1] - 1] */
  PetscInt   *color, *steps;    /* of a group */
  PetscReal  *coef;             /* [nbrick][maxsteps][2], as in PatchFDFit */
} PatchFDBricks;

/* ---- set-up, in double precision (src/host/bricks.c) ---- */

/* the fits of all bricks, one step each; first, color, row, of finite numbers with positive diagonals, and sizes are given */
PETSC_INTERN PetscErrorCode PatchFDHostBricksFit(PatchFDBricks *);
PETSC_INTERN PetscErrorCode PatchFDHostBricksSetSteps(const PatchFDFitRule *, const PetscReal bound[], PatchFDBricks *);
PETSC_INTERN PetscErrorCode PatchFDHostBricksDestroy(PatchFDBricks *);

/* ---- kernels, on the host (src/host/bricks.h) ---- */

typedef struct {
  PetscErrorCode (*create)(const PatchFDBricks *, void **plan);
  /*
    x += omega z with the corrections z of all bricks of a colour, from the residual b - A x, or from b with `solve`.  Arrays are over the
    box
  */
  PetscErrorCode (*apply)(void *plan, PetscInt color, PetscBool solve, PetscReal omega, const void *b, void *x);
  /* conjugate gradients on each brick from a residual without a pattern: a and b, [steps][nbrick], for PatchFDHostFitBounds().  definite:
     has no brick shown a direction of negative energy? */
  PetscErrorCode (*cg)(void *plan, PetscInt steps, PetscReal a[], PetscReal b[], PetscBool *definite);
  /* x[i] = b[i] inverse[i], or with `add` that added, for the unknowns of a list, in a Vec's own array */
  PetscErrorCode (*alone)(PetscCount n, const PetscInt list[], const PetscReal inverse[], PetscBool add, const void *b, void *x);
  PetscErrorCode (*destroy)(void **plan);
} PatchFDBricksKernels;
PETSC_INTERN const PatchFDBricksKernels PatchFDBricksDouble, PatchFDBricksFloat;
