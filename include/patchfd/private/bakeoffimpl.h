#pragma once
/* The bake-off problems: src/mat/bakeoffbase.c, bakeoffset.c, bakeoff.c; multigrid over degrees: degrees.c */
#include <patchfd/private/matimpl.h>
#include <patchfd/private/plexcells.h>
#include <patchfd/private/vecimpl.h>

/* what there is for each kernel table, made when it is first needed */
typedef struct {
  void *plan, *sides;   /* of cells; of sides with h u v */
  void *x, *y;          /* global: arrays with ghosts, for Vecs without room for them; element: x is the array of the nodes */
  void *leaf, *root;    /* copies in another precision, where this one cannot be summed */
  Vec   scale, inverse; /* element: S, and S^{-1}; zero at nodes that are not in the global vectors */
  Vec   work[2];
} BakeoffKernels;

typedef struct {
  DM                    dm;
  MatBakeoffProblem     problem;
  MatBakeoffLayout      layout;
  MatBakeoffFactorsType factors;
  PetscReal             lambda;
  PetscBool             diffusion; /* in place of a problem: MatCreateDiffusionPlex() */
  PlexCoefficients      from;      /* whose coefficients come from here, */
  PlexPointValues       values;    /* and are these; those of K = 1 before */
  PlexRobin             robin;
  PlexSides             sides;   /* from both */
  PetscInt64            version; /* of these; that of the finest matrix where it follows one */
  PlexCells             cells;
  PetscSF               sf;   /* from nodes to ghosts, or to the nodes of cells; NULL on one rank in the layout global */
  PatchFDHalo           halo; /* that of ghosts, in the layout global */
  PatchFDHaloType       halotype;
  PatchFDHalo           expand; /* where cells.dirichlet: from a rank's unknowns to the numbers of its nodes; otherwise NULL */
  size_t                nowned, nleaf, nlocal; /* numbers: of nodes of this rank, of the leaves' array, of the kernels' arrays */
  size_t                nfree;                 /* unknowns of this rank: nowned, but for components with Dirichlet conditions */
  BakeoffKernels        kern[PATCHFD_NUM_KERNELS];
} Mat_Bakeoff;

static inline PetscBool BakeoffIsMass(const Mat_Bakeoff *m)
{
  return (PetscBool)(!m->diffusion && (m->problem == MAT_BAKEOFF_BP1 || m->problem == MAT_BAKEOFF_BP2));
}

/* behind the rank's own numbers in an array of the layout global */
static inline void *BakeoffGhosts(const Mat_Bakeoff *m, PatchFDKernels kern, const void *local)
{
  return (char *)local + m->nowned * kern->size;
}

/* a matrix of MatCreateBakeoff(), or, where `diffusion`, of MatCreateDiffusionPlex() */
PETSC_INTERN PetscErrorCode MatCreateBakeoff_Private(DM, PetscBool diffusion, MatBakeoffProblem, MatBakeoffLayout, Mat *);
/* other coefficients */
PETSC_INTERN PetscErrorCode MatDiffusionPlexSet_Private(Mat, const PlexCoefficients *);
/* other conditions on sides: a copy of these, or, for NULL, those that there are, with other coefficients */
PETSC_INTERN PetscErrorCode MatDiffusionPlexSetSides_Private(Mat, const PlexRobin *);
/* from those of the PetscDS of a DM at u, a global vector of it, or NULL for zero */
PETSC_INTERN PetscErrorCode MatDiffusionPlexSetJacobian_Private(Mat, const PlexCoefficients *, Vec u);
/* the data of a matrix of MatCreateBakeoff(), or an error */
PETSC_INTERN PetscErrorCode BakeoffGet(Mat, Mat_Bakeoff **);
PETSC_INTERN void           BakeoffDescribe(const Mat_Bakeoff *, PatchFDPoints *);
/* of the sides, m->sides.n cells */
PETSC_INTERN void BakeoffDescribeSides(const Mat_Bakeoff *, PatchFDPoints *);
/* forget what was made for kernels: coefficients have changed */
PETSC_INTERN PetscErrorCode BakeoffReset(Mat_Bakeoff *);
/* the plan and arrays for a table */
PETSC_INTERN PetscErrorCode BakeoffGetKernels(Mat_Bakeoff *, PatchFDKernels, BakeoffKernels **);
/* is there room for ghosts behind this array?  On one rank there are none */
PETSC_INTERN PetscBool BakeoffHasRoom(const Mat_Bakeoff *, const void *global);
/* an array with ghosts, k->x or k->y: the global one's own, or one that is kept */
PETSC_INTERN PetscErrorCode BakeoffGetLocal(const Mat_Bakeoff *, PatchFDKernels, const void *global, void **kept, void **local);
/* y = a y + b x for global arrays */
PETSC_INTERN PetscErrorCode BakeoffAXPBY(const Mat_Bakeoff *, PatchFDKernels, PetscReal a, void *y, PetscReal b, const void *x);
/* the numbers of this rank's nodes from a global array, which may be that array; components with Dirichlet conditions stay as they are.
   And back: copied, or added */
PETSC_INTERN PetscErrorCode BakeoffToNodes(const Mat_Bakeoff *, PatchFDKernels, const void *global, void *nodes);
PETSC_INTERN PetscErrorCode BakeoffFromNodes(const Mat_Bakeoff *, PatchFDKernels, PetscBool add, const void *nodes, void *global);
/* from a Vec on the host, in double precision, to a global one of any type */
PETSC_INTERN PetscErrorCode BakeoffGetUnknowns(const Mat_Bakeoff *, Vec nodes, Vec unknowns);
/* leaf = the numbers of its nodes, other leaves stay as they are; root += the sum of the leaves */
PETSC_INTERN PetscErrorCode BakeoffBroadcast(Mat_Bakeoff *, PatchFDKernels, const void *root, void *leaf);
PETSC_INTERN PetscErrorCode BakeoffSum(Mat_Bakeoff *, PatchFDKernels, const void *leaf, void *root);
/* S and its inverse, from the number of leaves of each node */
PETSC_INTERN PetscErrorCode BakeoffGetScale(Mat_Bakeoff *, PatchFDKernels, Vec like, Vec *scale, Vec *inverse);
/* k->work[i] is there */
PETSC_INTERN PetscErrorCode BakeoffGetWork(BakeoffKernels *k, int i, Vec like);
/* the null space of the matrix, of stiffness without lambda; and the rigid motions of all nodes, on the host: translations, and, unless the
   mesh is periodic, rotations: motions.c */
PETSC_INTERN PetscErrorCode MatSetNullSpace_Bakeoff(Mat, const Mat_Bakeoff *);
PETSC_INTERN PetscErrorCode BakeoffMotions(Mat, const Mat_Bakeoff *, MatNullSpace *);
PETSC_INTERN PetscErrorCode MatSetFromOptions_Bakeoff(Mat, PatchFDOptionItems);
/* a vector with n numbers for each cell, or an error; what: its name */
PETSC_INTERN PetscErrorCode BakeoffCheckCellVec(const Mat_Bakeoff *, PetscInt n, const char *what, Vec);
PETSC_INTERN PetscErrorCode MatView_Bakeoff(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatCreateVecs_Bakeoff(Mat, Vec *right, Vec *left);

/* the data of a matrix by MatCreateBakeoff() in the layout global, or NULL for other matrices */
PETSC_INTERN PetscErrorCode MatBakeoffFind(Mat, Mat_Bakeoff **);
/* the same problem on the same mesh with polynomials of another degree, for vectors of the type that A makes at the moment */
PETSC_INTERN PetscErrorCode MatBakeoffCreateDegree(Mat A, PetscInt degree, Mat *B);
/* B, which that has made, gets what has been set for A since */
PETSC_INTERN PetscErrorCode MatBakeoffFollow(Mat B, Mat A);
/* The array of all nodes of the rank's cells for a global one, in the order of the numbers in PlexCells, with valid ghosts: the global
   array itself on one rank */
PETSC_INTERN PetscErrorCode MatBakeoffGlobalToLocal(Mat_Bakeoff *, PatchFDKernels, const void *global, const void **local);
/* such an array with zeros, to be summed; and its sums over all ranks added to a global array.  On one rank the global array itself, for
   which there is nothing to do */
PETSC_INTERN PetscErrorCode MatBakeoffSumBegin(Mat_Bakeoff *, PatchFDKernels, void *global, void **local);
PETSC_INTERN PetscErrorCode MatBakeoffSumEnd(Mat_Bakeoff *, PatchFDKernels, void *global, void **local);
/* interpolation between two such matrices' spaces, of different degrees on the same mesh: degrees.c */
PETSC_INTERN PetscErrorCode MatCreateDegrees(Mat coarse, Mat fine, Mat *P);
