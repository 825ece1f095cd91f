#pragma once
/*
  One-dimensional finite elements.  Everything that the library applies line by line is made here once, in double precision, from
  quadrature and LAPACKE.  No PETSc objects, no grids in more than one dimension.

  All matrices are dense and row-major: X[i * cols + j].
*/
#include <petscsys.h>

typedef enum {
  PATCHFD_CONTINUOUS,   /* neighbouring cells share their common node */
  PATCHFD_DISCONTINUOUS /* each cell has nodes of its own             */
} PatchFDContinuity;

/*
  A one-dimensional space: piecewise polynomials with Gauss-Lobatto nodes in each cell.  Cell c owns the nodes c * stride .. c * stride +
  degree;
  in a continuous line the end nodes are shared with its neighbours.

  A continuous line of degree 0 with one cell is a point (one node, mass 1, stiffness 0): the directions that a 1D or 2D problem does not
  have.

  A ring, the line of a periodic direction, is unrolled: three turns of its cells one after another, of which the middle one is the mesh.
  Nodes of the other turns are images of its nodes, for ghosts, patches and bands that reach across its ends: nothing there needs to know
  that it is a ring.
*/
typedef struct {
  PatchFDContinuity continuity;
  PetscInt          degree;
  PetscInt          ncells;
  PetscInt          stride; /* nodes from a cell to the next: degree, or degree + 1 where nothing is shared */
  PetscInt          nnodes;
  PetscInt          turn;     /* cells of a turn of a ring; 0 for a line with ends */
  PetscReal        *vertices; /* [ncells + 1], increasing */
  /* Dirichlet condition at the lower, upper end: the end node is fixed, or, in a discontinuous line, weak */
  PetscBool dirichlet[2];
  /* the derivative is given there, too, weakly: fourth-order problems.  False until the line's maker says otherwise */
  PetscBool clamped[2];
} PatchFDLine;

PETSC_INTERN PetscErrorCode PatchFDLineCreate(PatchFDContinuity, PetscInt degree, PetscInt ncells, const PetscReal vertices[],
                                              const PetscBool dirichlet[2], PatchFDLine *);
/* a ring of so many cells */
PETSC_INTERN PetscErrorCode PatchFDRingCreate(PatchFDContinuity, PetscInt degree, PetscInt ncells, const PetscReal vertices[],
                                              PatchFDLine *);
PETSC_INTERN PetscErrorCode PatchFDLineDestroy(PatchFDLine *);
/* the nodes of the mesh are first .. end - 1: all, or the middle turn of a ring */
static inline void PatchFDLineMesh(const PatchFDLine *l, PetscInt *first, PetscInt *end)
{
  *first = l->turn * l->stride;
  *end   = l->turn ? 2 * l->turn * l->stride : l->nnodes;
}
/* is the node at this end fixed? */
static inline PetscBool PatchFDLineFixed(const PatchFDLine *l, int end)
{
  return (PetscBool)(l->continuity == PATCHFD_CONTINUOUS && l->dirichlet[end]);
}
/* the nodes that are not fixed are first .. end - 1 */
static inline void PatchFDLineFree(const PatchFDLine *l, PetscInt *first, PetscInt *end)
{
  *first = PatchFDLineFixed(l, 0) ? 1 : 0;
  *end   = l->nnodes - (PatchFDLineFixed(l, 1) ? 1 : 0);
}
/* and these those of the mesh */
static inline void PatchFDLineUnknowns(const PatchFDLine *l, PetscInt *first, PetscInt *end)
{
  if (l->turn) PatchFDLineMesh(l, first, end);
  else PatchFDLineFree(l, first, end);
}

/* values B[npoints][degree + 1], first and second derivatives D and D2 of the reference basis on [0, 1]; D2, or both, may be NULL */
PETSC_INTERN PetscErrorCode PatchFDBasis(PetscInt degree, PetscInt npoints, const PetscReal points[], PetscReal B[], PetscReal D[],
                                         PetscReal D2[]);
/* coordinates x[nnodes] of all nodes */
PETSC_INTERN PetscErrorCode PatchFDLineNodes(const PatchFDLine *, PetscReal x[]);
/* nq Gauss points a cell: points x[ncells * nq], weights w[ncells * nq] (times the cell's length), and the reference basis there, as from
   PatchFDBasis().  On a ring all points are in the middle turn: functions are asked for no others */
PETSC_INTERN PetscErrorCode PatchFDLineTabulate(const PatchFDLine *, PetscInt nq, PetscReal x[], PetscReal w[], PetscReal B[],
                                                PetscReal D[], PetscReal D2[]);

/*
  Quadrature on the reference cell [0, 1]: `points` points in a direction, the Gauss points or the Gauss-Lobatto points, which are then the
  nodes, and the basis of a degree there, as from PatchFDBasis().  C differentiates polynomials that are given by their values at the
  points: D = C B if there are as many points as nodes, or more.
*/
typedef struct {
  PetscInt   nodes, points;
  PetscReal *x, *w; /* [points] */
  PetscReal *B, *D; /* [points][nodes] */
  PetscReal *C;     /* [points][points] */
} PatchFDRule;

/* so many Gauss points, or 0: the nodes */
PETSC_INTERN PetscErrorCode PatchFDRuleCreate(PetscInt degree, PetscInt gauss, PatchFDRule *);
PETSC_INTERN PetscErrorCode PatchFDRuleDestroy(PatchFDRule *);
/* values L[npoints][rule's points] of the polynomials that are 1 at one of the rule's points and 0 at the others */
PETSC_INTERN PetscErrorCode PatchFDRuleBasis(const PatchFDRule *, PetscInt npoints, const PetscReal points[], PetscReal L[]);

/*
  A one-dimensional matrix on a line, cell by cell: the rows are the nodes of cell c, the columns those of the cells c - reach .. c +
  reach. Rows of a node that cells share are to be summed.  Columns of cells that do not exist are zero.  Neighbouring cells with equal
  matrices are one class.  Rows and columns may belong to two lines with the same cells.
*/
typedef struct {
  PetscInt   nloc, stride;  /* of the rows: nodes of a cell; nodes from a cell to the next */
  PetscInt   ncol, cstride; /* of the columns */
  PetscInt   reach;         /* 0: nothing but the cell; 1: terms on the faces between cells */
  PetscInt   ncells;
  PetscInt   nclass;
  PetscInt  *cls; /* [ncells] */
  PetscReal *X;   /* [nclass][nloc][(2 * reach + 1) * ncol] */
} PatchFDBand;

/* columns of a cell's rows, and entries of its matrix */
static inline PetscInt PatchFDBandWidth(const PatchFDBand *b)
{
  return (2 * b->reach + 1) * b->ncol;
}
static inline PetscInt PatchFDBandSize(const PatchFDBand *b)
{
  return b->nloc * PatchFDBandWidth(b);
}

/* the mass matrix */
PETSC_INTERN PetscErrorCode PatchFDBandMass(const PatchFDLine *, PatchFDBand *);
/* the product of the values at end e of the line: what the mass matrix of a side has in the direction across it */
PETSC_INTERN PetscErrorCode PatchFDBandEnd(const PatchFDLine *, int e, PatchFDBand *);
/* += h times that, on the same line, which has ends: a Robin condition */
PETSC_INTERN PetscErrorCode PatchFDBandAddEnd(int e, PetscReal h, PatchFDBand *);
/* (*w)[node] = the integral of its function */
PETSC_INTERN PetscErrorCode PatchFDLineIntegrals(const PatchFDLine *, PetscReal **w);
/*
  kappa * stiffness + shift * mass.  In a discontinuous line by symmetric interior penalties (Arnold 1982): to int kappa u' v' come

    kappa ( - {u'} [v] - {v'} [u] + sigma [u] [v] ),   sigma = penalty (1 / h- + 1 / h+) / 2 between two cells,
    kappa ( - n u' v - n v' u + sigma u v ),           sigma = boundary / h at a Dirichlet end.
*/
PETSC_INTERN PetscErrorCode PatchFDBandLaplace(const PatchFDLine *, PetscReal kappa, PetscReal shift, PetscReal penalty, PetscReal boundary,
                                               PatchFDBand *);
/* kappa * int v u', v in the space of the line `rows`, u in that of `columns`; or its transpose, int v' u */
PETSC_INTERN PetscErrorCode PatchFDBandDerivative(const PatchFDLine *rows, const PatchFDLine *columns, PetscReal kappa, PetscBool transpose,
                                                  PatchFDBand *);
/* int pi v pi u with the L2 projection pi of each cell to a degree up to that of the continuous line; dv, du: 1 for derivatives of v, u */
PETSC_INTERN PetscErrorCode PatchFDBandProjected(const PatchFDLine *, PetscInt degree, PetscInt dv, PetscInt du, PatchFDBand *);
/* what weak Dirichlet values g at the ends of a discontinuous line bring into a right-hand side: int kappa (sigma g v - n v' g), a matrix
   for the nodes' values g */
PETSC_INTERN PetscErrorCode PatchFDBandDirichlet(const PatchFDLine *, PetscReal kappa, PetscReal boundary, PatchFDBand *);
/*
  kappa * (the fourth derivative) + shift * mass by C0 interior penalties, on a continuous line (Brenner and Sung 2005; Cui, Witte,
  Bonizzoni and Kanschat 2024, eq. 8): to int u'' v'' of the cells come at each vertex

    kappa ( sigma [u'] [v'] - {u''} [v'] - [u'] {v''} ),

  [u'] the sum of the derivatives in outward direction, {u''} the mean; sigma = penalty (1 / h- + 1 / h+) / 2 between two cells, boundary /
  h, with the one-sided mean, at a clamped end, and nothing at other ends.
*/
PETSC_INTERN PetscErrorCode PatchFDBandBilaplace(const PatchFDLine *, PetscReal kappa, PetscReal shift, PetscReal penalty,
                                                 PetscReal boundary, PatchFDBand *);
/*
  What data at end e of a line bring into the right-hand side of that form, as numbers for the nodes of the cell there: kappa (sigma n v' -
  v'') times a given outward derivative at a clamped end, kappa n v' times a given second derivative at any other.
*/
PETSC_INTERN PetscErrorCode PatchFDLineEndLoad(const PatchFDLine *, int e, PetscReal kappa, PetscReal boundary, PetscReal load[]);
/* multiply by two to a power */
PETSC_INTERN void PatchFDBandScale(PatchFDBand *, int exponent);
/* int (a u' v' + m u v) on a continuous line, a and m given at so many Gauss points of each cell, or NULL */
PETSC_INTERN PetscErrorCode PatchFDBandWeighted(const PatchFDLine *, PetscInt gauss, const PetscReal a[], const PetscReal m[],
                                                PatchFDBand *);
/* give bands on the same line common classes of cells, which kernels for whole cells want */
PETSC_INTERN PetscErrorCode PatchFDBandsUnify(PetscInt, PatchFDBand *const[]);
PETSC_INTERN PetscErrorCode PatchFDBandDestroy(PatchFDBand *);

/*
  Fast diagonalization of one class of patches.  I are the n free nodes of the patch; the closure adds the `ext` nodes below and the `ext`
  nodes above that its rows reach: one of a continuous line, those of a cell in a discontinuous one.  S' A_II S = diag(lambda), S' M_II S =
  1. The columns of S with even symmetry come first when `parity` holds (S[n-1-i][j] = S[i][j] for j < (n+1)/2, -S[i][j] after), in
  increasing order of lambda within each half.

    T  = S' M_II = inverse(S)
    MI, AI = M, A with rows I and columns (below, I, above)

  Continuous lines:
    mu[e]    = S' M_{I,e}                     e = 0: the node below, e = 1: the node above
    alpha[e] = S' A_{I,e} - lambda mu[e]      (of the patch solve without a residual)

  Discontinuous lines, where M does not couple cells and A couples them by two functionals of the neighbour, its value and its derivative
  at the common vertex:
    A_{I,e} = value[e] (x) (the neighbour's node at the vertex) + slope[e] (x) derivative[e]

  At an end of the line there are no nodes below or above: the entries that belong to them are zero.

  Around a whole ring of an even number of equal cells `halfturn` holds instead of `parity`: half a turn leaves the first n / 2 modes as
  they are and changes the sign of the others, S[i + n/2][j] = S[i][j] for j < n/2, -S[i][j] after, in no order of lambda.

  Of whole lines (ext = 0): `band` if M and A have few diagonals, A(i, i - j) and M(i, i - j) for j <= width; `wave` around a ring of equal
  cells with a node each, whose matrices are circulant: wave[n + r] (cos + sin)(2 pi r i / n) is a mode of eigenvalue wave[r], too.
*/
typedef struct {
  PetscInt   n, ext;
  PetscBool  parity, halfturn;
  PetscReal *lambda;              /* [n] */
  PetscReal *S;                   /* [n][n], row: node, column: mode */
  PetscReal *T;                   /* [n][n], row: mode, column: node */
  PetscReal *MI, *AI;             /* [n][n + 2 ext] */
  PetscReal *mu[2], *alpha[2];    /* [n], continuous */
  PetscReal *value[2], *slope[2]; /* [n], discontinuous */
  PetscReal *derivative[2];       /* [ext], discontinuous */
  PetscInt   width;
  PetscReal *band; /* [n][2][width + 1], or NULL */
  PetscReal *wave; /* [2][n], or NULL */
} PatchFDEigen;

/*
  A cover of the free nodes of a line by patches, in increasing order: the two cells around each interior vertex (free ends belong to the
  patch that reaches them); a line of one cell is one patch.  In a continuous line the nodes at the patch's own ends are not part of it,
  unless they are free ends of the line.  No patch has zero free nodes.
*/
typedef struct {
  PetscInt      npatch;
  PetscInt     *cell;  /* [npatch] first cell; its parity is the colour */
  PetscInt     *first; /* [npatch] first free node */
  PetscInt     *n;     /* [npatch] number of free nodes */
  PetscInt     *cls;   /* [npatch] */
  PetscInt      nclass;
  PatchFDEigen *eigen; /* [nclass]; uniform lines share one class in the interior */
} PatchFDPatches;

PETSC_INTERN PetscErrorCode PatchFDPatchesCreate(const PatchFDLine *, const PatchFDBand *M, const PatchFDBand *A, PatchFDPatches *);
/* the whole line as one patch, whose eigenvectors nobody asks for */
PETSC_INTERN PetscErrorCode PatchFDPatchesCreateWhole(const PatchFDLine *, PatchFDPatches *);
PETSC_INTERN PetscErrorCode PatchFDPatchesDestroy(PatchFDPatches *);

/*
  The patches as meshes of their own: the line of the cells of each, with Dirichlet (and clamped) ends where the patch ends inside the
  line, and the line's own condition where it ends with it.  Patches with equal lines are a class: on a uniform line with Dirichlet and
  clamped ends there is one. `M` is the mass matrix of the line.
*/
typedef struct {
  PetscInt     npatch, nclass;
  PetscInt    *cls;  /* [npatch] */
  PatchFDLine *line; /* [nclass] */
} PatchFDLinesAlone;

PETSC_INTERN PetscErrorCode PatchFDLinesAloneCreate(const PatchFDLine *, const PatchFDBand *M, PatchFDLinesAlone *);
PETSC_INTERN PetscErrorCode PatchFDLinesAloneDestroy(PatchFDLinesAlone *);
/* the cover of a line with the eigenvectors of such patches; eigen[nclass] becomes its own */
PETSC_INTERN PetscErrorCode PatchFDPatchesCreateAlone(const PatchFDLine *, const PatchFDLinesAlone *, PatchFDEigen eigen[],
                                                      PatchFDPatches *);

/*
  Symmetries of an n x m matrix of nodes: does it look the same from the other end, or (sign -1) the negative of it?  The even (parity 1)
  or odd (-1) part of the space of n nodes has the size that PatchFDFoldSize() gives, with the basis e_i + e_{n-1-i} (and the middle node)
  or e_i - e_{n-1-i}; H = E' X E in the bases of the rows and columns, for X with rows of length ld.  Parity 0 is the whole space.
*/
PETSC_INTERN PetscBool PatchFDMirrored(PetscInt n, PetscInt m, int sign, const PetscReal X[]);
PETSC_INTERN PetscInt  PatchFDFoldSize(PetscInt n, int parity);
PETSC_INTERN void      PatchFDFold(PetscInt n, int parity, PetscInt m, int colparity, const PetscReal X[], PetscInt ld, PetscReal H[]);

/*
  The rows of a band that belong to the patches of a cover: X + at[cls[p]] are the n[p] free nodes of patch p times the nodes first[p] -
  ext .. first[p] + n[p] - 1 + ext, where n and first are those of the columns' cover.  Columns of nodes that do not exist are zero.  For
  columns in a continuous line ext is 1 for a band that stays in its cells, in a discontinuous one 0; it is one cell more for a band that
  does not.
*/
typedef struct {
  PetscInt    ext, npatch, nclass;
  PetscInt   *cls; /* [npatch] */
  PetscCount *at;  /* [nclass + 1] */
  PetscReal  *X;
} PatchFDRows;

PETSC_INTERN PetscErrorCode PatchFDRowsCreate(const PatchFDBand *, const PatchFDLine *row, const PatchFDPatches *rowcover,
                                              const PatchFDLine *col, const PatchFDPatches *colcover, PatchFDRows *);
PETSC_INTERN PetscErrorCode PatchFDRowsDestroy(PatchFDRows *);
/* the columns of the patch's own nodes: X[n][ncol] */
PETSC_INTERN PetscErrorCode PatchFDRowsBlock(const PatchFDRows *, PetscInt n, PetscInt ncol, PetscInt patch, PetscReal X[]);

/* lambda, S and T alone of n x n matrices.  A constant nullspace has lambda exactly zero. */
PETSC_INTERN PetscErrorCode PatchFDEigenCreate(PetscInt n, const PetscReal M[], const PetscReal A[], PatchFDEigen *);
/* the same for all free nodes of the line as one patch, or those of a ring */
PETSC_INTERN PetscErrorCode PatchFDLineEigenCreate(const PatchFDLine *, const PatchFDBand *M, const PatchFDBand *A, PatchFDEigen *);
/* lambda[n] and S[n][n] of a ring of N equal cells, n = N stride; ring.c */
PETSC_INTERN PetscErrorCode PatchFDRingModes(PetscInt N, const PatchFDBand *M, const PatchFDBand *A, PetscReal lambda[], PetscReal S[]);
/* `wave` of n x n matrices that are circulant */
PETSC_INTERN PetscErrorCode PatchFDRingWaves(const PetscReal M[], const PetscReal A[], PatchFDEigen *);
/* the cells first .. end - 1 as one patch, and its free nodes row .. row + n - 1 */
PETSC_INTERN PetscErrorCode PatchFDPieceEigenCreate(const PatchFDLine *, const PatchFDBand *M, const PatchFDBand *A, PetscInt first,
                                                    PetscInt end, PatchFDEigen *);
PETSC_INTERN void           PatchFDPieceFree(const PatchFDLine *, PetscInt first, PetscInt end, PetscInt *row, PetscInt *n);
PETSC_INTERN PetscErrorCode PatchFDEigenDestroy(PatchFDEigen *);
/*
  For those who assemble (patches.c): an error if n is too large; room for n modes, and for matrices with the `ext` nodes beyond each end,
  0 if the patch is the whole line; lambda, S and T of M_II and A_II, which have rows of length ld; of these, all but lambda and S; what
  nodes beyond the ends do to the modes
*/
PETSC_INTERN PetscErrorCode PatchFDEigenCheckSize(PetscInt n);
PETSC_INTERN PetscErrorCode PatchFDEigenAllocate(PetscInt n, PetscInt ext, PatchFDContinuity, PatchFDEigen *);
PETSC_INTERN PetscErrorCode PatchFDEigenDiagonalize(PatchFDEigen *, const PetscReal M[], const PetscReal A[], PetscInt ld);
PETSC_INTERN PetscErrorCode PatchFDEigenFinish(PatchFDEigen *, const PetscReal M[], const PetscReal A[], PetscInt ld);
PETSC_INTERN PetscErrorCode PatchFDEigenCouple(PatchFDEigen *, PatchFDContinuity);
/* the least and the largest absolute value of all sums of an eigenvalue of each of three lines; constants: but for the sum of three zeros
   */
PETSC_INTERN PetscErrorCode PatchFDEigenSums(const PatchFDEigen *const e[3], PetscBool constants, PetscReal *least, PetscReal *largest);

/*
  Matrices of differences on a lattice of n unknowns: M = diag(mass), and A with next[i] between i and i + 1 and rows that add up to
  rest[i]. next[n - 1] closes a ring; on an open line it is zero.
*/
typedef struct {
  PetscInt   n;
  PetscReal *mass, *next, *rest;
} PatchFDThreePoint;

PETSC_INTERN PetscErrorCode PatchFDThreePointEigenCreate(const PatchFDThreePoint *, PatchFDEigen *);
/* the same matrices as bands of degree 1, of an open line of at least two unknowns */
PETSC_INTERN PetscErrorCode PatchFDThreePointLineCreate(const PatchFDThreePoint *, PatchFDLine *, PatchFDBand *M, PatchFDBand *A);

/*
  Embedding of a coarse line in a fine one on the same interval: `ratio` fine cells a coarse cell (1 or 2), degrees may differ, both
  continuous or both discontinuous.  P[nclass][nf][nc] maps a coarse cell's nodes to the fine nodes in it.  No boundary conditions.  Fails
  with PETSC_ERR_ARG_INCOMP when the lines are not nested.

  Where an odd number of fine cells is halved the coarse cell at one end has one of them.  P is as if there was another one, of no length,
  beyond that end: for that, `before` (0 or 1) cells are to be counted before the first fine one, and nobody asks for nodes of cells that
  do not exist.
*/
typedef struct {
  PetscInt   ratio, before, ncells /* coarse */, nf, nc, nclass;
  PetscInt   fstride, cstride; /* fine, coarse nodes from a coarse cell to the next */
  PetscInt  *cls;              /* [ncells] */
  PetscReal *P;
} PatchFDEmbedding;

PETSC_INTERN PetscErrorCode PatchFDEmbeddingCreate(const PatchFDLine *coarse, const PatchFDLine *fine, PatchFDEmbedding *);
PETSC_INTERN PetscErrorCode PatchFDEmbeddingDestroy(PatchFDEmbedding *);

/* Cells of a fine line that are united, `ratio` and `before` as above, to coarse ones: */
typedef struct {
  PetscInt           ratio, before;
  const PatchFDLine *fine;
} PatchFDUnion;
/* the first fine cell of a coarse cell; the first coarse cell that begins with a fine cell or behind it */
static inline PetscInt PatchFDUnionFirst(const PatchFDUnion *u, PetscInt coarse)
{
  return PetscMin(PetscMax(u->ratio * coarse - u->before, 0), u->fine->ncells);
}
static inline PetscInt PatchFDUnionBegin(const PatchFDUnion *u, PetscInt fine)
{
  return fine ? (fine + u->before + u->ratio - 1) / u->ratio : 0;
}
/* the coarse cell that a fine one is in; where this begins in it, and how long it is, if that has length one */
static inline PetscInt PatchFDUnionCell(const PatchFDUnion *u, PetscInt fine)
{
  return (fine + u->before) / u->ratio;
}
static inline void PatchFDUnionPart(const PatchFDUnion *u, PetscInt fine, PetscReal *at, PetscReal *length)
{
  const PetscInt   coarse = PatchFDUnionCell(u, fine);
  const PetscReal *v = u->fine->vertices, first = v[PatchFDUnionFirst(u, coarse)], all = v[PatchFDUnionFirst(u, coarse + 1)] - first;

  *at     = (v[fine] - first) / all;
  *length = (v[fine + 1] - v[fine]) / all;
}
