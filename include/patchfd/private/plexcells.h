#pragma once
/* The cells of a DMPLEX of quadrilaterals or hexahedra with nodes and geometry as operators by quadrature want them */
#include <patchfd/private/motions.h>
#include <petscdmplex.h>
#include <petscpatchfd.h>

/* Nodes are those that a rank owns, in the order of global vectors, and then ghosts, whose numbers increase.  Those with Dirichlet
   conditions are not in vectors, and not here.  Where a node has conditions for some of its components only, all nodes are here, and
   `dirichlet` says which of their components are not in vectors */
typedef struct {
  PetscInt    dim, degree, ncomp;
  PetscCount  ncells; /* without the overlap */
  PetscInt   *cell;   /* [ncells] their points in the DMPLEX */
  PetscInt    size;   /* nodes of a cell, x fastest */
  PetscInt    nghost;
  PetscLayout nodes;
  PetscInt   *index;     /* [ncells][size], -1 for nodes with Dirichlet conditions */
  PetscInt   *ghost;     /* [nghost] global numbers */
  PetscBool  *dirichlet; /* NULL, or [own nodes, ghosts][ncomp] */
  PetscInt    geodegree;
  PetscInt   *geoindex;   /* [ncells][(geodegree + 1)^dim] */
  PetscReal  *coordinate; /* [...][dim] */
} PlexCells;

/* the degree and the components of a PetscFE, which must be Q_N with Gauss-Lobatto nodes; what: its name in errors */
PETSC_INTERN PetscErrorCode PlexCellsGetTensorDegree(PetscFE, const char *what, PetscInt *degree, PetscInt *ncomp);
/* a copy of a section that gives the nodes of cells with x fastest */
PETSC_INTERN PetscErrorCode PlexCellsCreateSection(DM, PetscSection from, PetscSection *);
/* Collective */
PETSC_INTERN PetscErrorCode PlexCellsCreate(DM, PlexCells *);
PETSC_INTERN PetscErrorCode PlexCellsDestroy(PlexCells *);
/* index[ncells][size]: the nodes of these cells in local vectors of a DM with the same mesh and degree, and ncomp components */
PETSC_INTERN PetscErrorCode PlexCellsGetLocalNodes(DM, const PlexCells *, PetscInt ncomp, PetscInt index[]);
/* the same mesh with a space of at most half the degree, and Dirichlet conditions at the same points.  Collective */
PETSC_INTERN PetscErrorCode PlexCellsCreateDegree(MPI_Comm, const PlexCells *, PetscInt degree, PlexCells *);

/* ---- coefficients of -div(K grad u) + shift u, and of solids: src/dm/plexcoefficients.c ---- */

/* where they come from: functions with n numbers of K (1, dim, or dim (dim + 1) / 2; of a solid Young's modulus and Poisson's ratio), or
   Vecs with n and 1 for each cell, or n + 1 numbers, or, where n = 0, g3 and g0 of the PetscDS of dm at `local`, a local Vec with
   boundary values */
typedef struct {
  DM               dm;
  PetscInt         n;
  DMBoxFunctionFn *K, *shift;
  void            *ctx;
  Vec              cellK, cellshift;
  PetscReal        number[3];
  PetscBool        solid;
  PetscReal        missing; /* of a solid: lambda = 2 mu nu / (1 - missing nu) */
  Vec              local;
  PetscReal        time, shift_t; /* derivative of u_t by u */
  PetscBool        exact;         /* an error where the Jacobian has more than g0 and g3; */
  PetscReal        floor;         /* otherwise K is at least this times the largest K of all cells */
} PlexCoefficients;
/* are they Young's modulus, Poisson's ratio and shift, the same everywhere? */
static inline PetscBool PlexCoefficientsAreModuli(const PlexCoefficients *c)
{
  return (PetscBool)(c->solid && !c->K && !c->cellK);
}
/* what PatchFDPoints has; shift is NULL where it is zero everywhere.  Where the PetscDS has the Jacobian of a solid it is one, too */
typedef struct {
  PetscBool  solid;
  PetscInt   nkappa;
  PetscReal *kappa, *shift;
  PetscBool  kappaconstant, shiftconstant;
  PetscReal  leastshift; /* of all ranks */
  PetscReal  largest;    /* lambda / mu of a solid, of all ranks */
} PlexPointValues;
/* At the points of cells that may be of another degree than those of dm, on the same mesh.  Collective */
PETSC_INTERN PetscErrorCode PlexPointValuesCreate(const PlexCoefficients *, const PlexCells *, PetscInt gauss, PlexPointValues *);
PETSC_INTERN PetscErrorCode PlexPointValuesDestroy(PlexPointValues *);
PETSC_INTERN PetscErrorCode PlexCoefficientsDestroy(PlexCoefficients *);
/* x, an array with ghosts, dim numbers a node: the places of nodes */
PETSC_INTERN PetscErrorCode PlexCellsGetPlaces(DM, const PlexCells *, PetscScalar x[]);
/* adds to u, an array with ghosts, for each cell the multilinear function of f at its corners, at its nodes as if these were uniform */
PETSC_INTERN PetscErrorCode PlexCellsAddValues(DM, const PlexCells *, DMBoxFunctionFn *, void *ctx, PetscScalar u[]);

/* ---- conditions K du/dn + h u = g: src/dm/plexsides.c ---- */

/* h >= 0 on the faces that a label has with one of n values */
typedef struct {
  DMLabel          label;
  PetscInt         n, *value;
  DMBoxFunctionFn *h;
  void            *ctx;
} PlexRobin;
/* The integral of h u v over n sides, as an operator on n cells whose other nodes are not there */
typedef struct {
  PetscCount n;
  PetscInt  *side, *index; /* [n] its number among all, [ncells][dim][2]; [n][nodes of a cell] as in PlexCells */
  PetscReal *value, *mean; /* [n][points of a cell] shift of PatchFDPoints, given; [n] of h by area of the side / area of a unit cell's */
  PetscBool  any;          /* on any rank */
  PetscReal  least;        /* h of all ranks, or 0 */
} PlexSides;
/* with the boundary terms of the PetscDS, if that is what the coefficients are of.  Collective */
PETSC_INTERN PetscErrorCode PlexSidesCreate(const PlexRobin *, const PlexCoefficients *, DM, const PlexCells *, PetscInt gauss,
                                            PlexSides *);
PETSC_INTERN PetscErrorCode PlexSidesDestroy(PlexSides *);
PETSC_INTERN PetscErrorCode PlexRobinDestroy(PlexRobin *);

/* ---- bodies: src/dm/plexbodies.c ---- */

/* Bodies: cells that hang together, by more than nodes fixed in all components.  How many have no such sides; which of these each node, own
   or ghost, belongs to, or -1: the caller frees.  Collective */
PETSC_INTERN PetscErrorCode PlexCellsFindBodies(MPI_Comm, const PlexCells *, const PlexSides *, PetscInt *nbody, PetscInt **body);
/* product[body][motion][motion] += what motions are where Dirichlet conditions fix them, on this rank */
PETSC_INTERN PetscErrorCode PlexCellsGetFixed(DM, const PlexCells *, const PetscInt body[], const PatchFDMotions *, PetscReal product[]);
