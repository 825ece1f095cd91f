#pragma once
/*
  One-dimensional finite elements: the ground floor.  Everything that the library applies line by line is made here once,
  in double precision, from quadrature and LAPACKE.  No PETSc objects, no knowledge of grids in more than one dimension.

  All matrices are dense and row-major: X[i * cols + j].
*/
#include <petscsys.h>

/*
  A one-dimensional space: continuous piecewise polynomials with Gauss-Lobatto nodes.  Cell c owns the nodes
  c * degree .. (c + 1) * degree, the end nodes shared with its neighbours.

  degree 0 with one cell is a point (one node, mass 1, stiffness 0): the directions that a 1D or 2D problem does not have.
*/
typedef struct {
  PetscInt   degree;
  PetscInt   ncells;
  PetscReal *vertices; /* [ncells + 1], increasing */
  PetscBool  fixed[2]; /* Dirichlet condition at the lower, upper end */
  int        exponent[2]; /* mass and stiffness of its cells are multiplied by two to these powers, for float: DMBoxScaleOperator() */
} PatchFDLine;

PETSC_INTERN PetscErrorCode PatchFDLineCreate(PetscInt degree, PetscInt ncells, const PetscReal vertices[], const PetscBool fixed[2], PatchFDLine *);
PETSC_INTERN PetscErrorCode PatchFDLineDestroy(PatchFDLine *);
static inline PetscInt      PatchFDLineNumNodes(const PatchFDLine *l)
{
  return l->ncells * l->degree + 1;
}
/* the nodes without a Dirichlet condition are first .. end - 1 */
static inline void PatchFDLineFree(const PatchFDLine *l, PetscInt *first, PetscInt *end)
{
  *first = l->fixed[0] ? 1 : 0;
  *end   = PatchFDLineNumNodes(l) - (l->fixed[1] ? 1 : 0);
}

/* values B[npoints][degree + 1] and derivatives D (may be NULL) of the reference basis on [0, 1] */
PETSC_INTERN PetscErrorCode PatchFDBasis(PetscInt degree, PetscInt npoints, const PetscReal points[], PetscReal B[], PetscReal D[]);
/* coordinates x[nnodes] of all nodes */
PETSC_INTERN PetscErrorCode PatchFDLineNodes(const PatchFDLine *, PetscReal x[]);
/* nq Gauss points a cell: points x[ncells * nq], weights w[ncells * nq] (times the cell's length), basis values B[nq][degree + 1] */
PETSC_INTERN PetscErrorCode PatchFDLineTabulate(const PatchFDLine *, PetscInt nq, PetscReal x[], PetscReal w[], PetscReal B[]);

/* Cell matrices: mass M and "stiffness" A = kappa * stiffness + shift * M, times the line's powers of two, without boundary conditions, one pair a class of equal cells */
typedef struct {
  PetscInt   nloc;   /* degree + 1 */
  PetscInt   ncells;
  PetscInt   nclass; /* 1 when all cells have the same length */
  PetscInt  *cls;    /* [ncells] */
  PetscReal *M, *A;  /* [nclass][nloc][nloc] */
} PatchFDCells;

PETSC_INTERN PetscErrorCode PatchFDCellsCreate(const PatchFDLine *, PetscReal kappa, PetscReal shift, PatchFDCells *);
PETSC_INTERN PetscErrorCode PatchFDCellsDestroy(PatchFDCells *);

/*
  Fast diagonalization of one class of patches.  I are the n free nodes of the patch, the closure adds the node below and the
  node above.  S' A_II S = diag(lambda), S' M_II S = 1.  The columns of S with even symmetry come first when `parity` holds
  (S[n-1-i][j] = S[i][j] for j < (n+1)/2, -S[i][j] after), in increasing order of lambda within each half.

    T  = S' M_II = inverse(S)
    mu[e]    = S' M_{I,e}                     e = 0: the node below, e = 1: the node above
    alpha[e] = S' A_{I,e} - lambda mu[e]      (alpha' of the residual-free patch solve)
    MI, AI   = M, A with rows I and columns (below, I, above)

  At an end of the line there is no node below or above: the entries that belong to it are zero.
*/
typedef struct {
  PetscInt   n;
  PetscBool  parity;
  PetscReal *lambda;    /* [n] */
  PetscReal *S;         /* [n][n], row: node, column: mode */
  PetscReal *T;         /* [n][n], row: mode, column: node */
  PetscReal *mu[2];     /* [n] */
  PetscReal *alpha[2];  /* [n] */
  PetscReal *MI, *AI;   /* [n][n + 2] */
} PatchFDEigen;

/*
  A cover of the free nodes of a line by overlapping patches, in increasing order: the two cells around each interior vertex
  (free ends belong to the patch that reaches them); a line of one cell is one patch.  No patch has zero free nodes.
*/
typedef struct {
  PetscInt      npatch;
  PetscInt     *cell;      /* [npatch] first cell; its parity is the colour */
  PetscInt     *first;     /* [npatch] first free node */
  PetscInt     *n;         /* [npatch] number of free nodes */
  PetscInt     *cls;       /* [npatch] */
  PetscInt      nclass;
  PatchFDEigen *eigen;     /* [nclass]; uniform lines share one class in the interior */
} PatchFDPatches;

PETSC_INTERN PetscErrorCode PatchFDPatchesCreate(const PatchFDLine *, const PatchFDCells *, PatchFDPatches *);
PETSC_INTERN PetscErrorCode PatchFDPatchesDestroy(PatchFDPatches *);

/* All free nodes of the line as one patch (mu, alpha, MI, AI are not made).  A constant nullspace has lambda exactly zero. */
PETSC_INTERN PetscErrorCode PatchFDLineEigenCreate(const PatchFDLine *, const PatchFDCells *, PatchFDEigen *);
PETSC_INTERN PetscErrorCode PatchFDEigenDestroy(PatchFDEigen *);

/*
  Embedding of a coarse line in a fine one on the same interval: `ratio` fine cells a coarse cell (1 or 2), degrees may differ.
  P[nclass][nf][nc], nf = ratio * fine degree + 1, nc = coarse degree + 1, maps a coarse cell's nodes to the fine nodes in it.
  No boundary conditions.  Fails with PETSC_ERR_ARG_INCOMP when the lines are not nested.
*/
typedef struct {
  PetscInt   ratio, ncells /* coarse */, nf, nc, nclass;
  PetscInt  *cls; /* [ncells] */
  PetscReal *P;
} PatchFDEmbedding;

PETSC_INTERN PetscErrorCode PatchFDEmbeddingCreate(const PatchFDLine *coarse, const PatchFDLine *fine, PatchFDEmbedding *);
PETSC_INTERN PetscErrorCode PatchFDEmbeddingDestroy(PatchFDEmbedding *);
