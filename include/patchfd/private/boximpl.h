#pragma once
/* DMBOX: the mesh, its layout over the ranks, and what every operator on it shares */
#include <petscpatchfd.h>
#include <petsc/private/dmimpl.h>
#include <petscsf.h>
#include <patchfd/private/assembly.h>
#include <patchfd/private/halo.h>

/* The operator that a DMBOX carries, with its coefficients; its members are below */
typedef struct _p_DMBoxOperator *DMBoxOperator;
/* adds an operator to those that a DMBOX may carry: its name, as in -dm_box_operator, and the routine that sets its functions and the
   defaults of its coefficients (operator.c) */
PETSC_INTERN PetscErrorCode DMBoxOperatorRegister(const char name[], PetscErrorCode (*create)(DMBoxOperator));

/* how many ghosted work arrays a kernel table may hold on a DM */
enum {
  DMBOX_WORK_X,
  DMBOX_WORK_B,
  DMBOX_WORK_R,
  DMBOX_NUM_WORK
};

enum {
  DMBOX_MAX_FIELDS          = PATCHFD_MAX_FIELDS,
  DMBOX_MAX_COEFFICIENTS    = 10,
  DMBOX_GALERKIN_MAX_DEGREE = (PATCHFD_POINTS_MAX_DEGREE + 1) / 2 /* kernels have so many points in a direction, 2 degree + 1 */
};

/* which ghosts are filled: all in DMBoxHaloEnd(), direction by direction; all nodes of a layer in one direction; and without those inside
   of cells */
typedef enum {
  DMBOX_HALO_ALL,
  DMBOX_HALO_SLAB,
  DMBOX_HALO_FACES,
  DMBOX_HALO_NUM_KINDS
} DMBoxHaloKind;
typedef struct _n_DMBoxHalo *DMBoxHalo;

/* A scalar component of the functions on a DMBOX.  The fields of a rank lie one after another in its part of a Vec. */
typedef struct {
  PatchFDLine line[3];
  /* numbers of nodes are those of the lines, so that on a ring they begin after a turn.
     owned nodes: those of the rank's cells, without the last one where it belongs to the next cell, too, and that is another rank's */
  PatchFDRange own;
  PatchFDRange free;            /* nodes of the whole box that are not fixed */
  PatchFDBox   global, local;   /* storage of the owned nodes; of the owned nodes and `ghost` layers of cells around them */
  size_t       global0, local0; /* where the field begins in arrays of either kind */
} DMBoxField;

typedef struct _MatBoxForm MatBoxForm; /* matimpl.h */

/* Where the nodes of a mesh are in space, those of the rank's local box: src/dm/shape.c.  Vecs of coordinates, and DMs made from this
   one, hold it, too */
typedef struct DMBoxShape DMBoxShape;
struct DMBoxShape {
  PetscInt     refct, dim;
  PatchFDLine  line[3]; /* of these nodes; empty before the set-up of a mesh whose nodes come from a file */
  char        *file;    /* its name, for errors */
  PatchFDShape nodes;
  Vec          device;  /* nodes.x in GPU memory, or NULL */
  PetscBool    sound;   /* is it known that the rank's own cells have no defect? */
  PetscBool    bounded; /* and what is around them? */
  PetscReal    bounds[2][3];
  DMBoxShape  *coarser;  /* of the mesh that a coarsening made last, or NULL, */
  PetscBool    halve[3]; /* and which directions that halved */
};

/* Numbers of cells, or of their quadrature points, for all meshes of a hierarchy: src/dm/celldata.c */
typedef struct {
  PetscInt refct;
  PetscInt dim, n, points; /* numbers of a group; groups of a cell in a direction, 1 for one group a cell */
  /* the layout of the mesh that they were given for, and the first cell of each rank */
  PetscInt   cells[3], processes[3], *splits[3], *first;
  PetscInt   nvertices[3]; /* of the mesh's lines, with all turns of rings */
  PetscReal *vertices[3];
  PetscBool  device; /* are they in GPU memory? */
  Vec        values;
} DMBoxCellData;

/* An operator matrix that a DM made, which knows all of them: src/mat/follow.c.  It belongs to the matrix */
typedef struct _n_DMBoxMatrix *DMBoxMatrix;
struct _n_DMBoxMatrix {
  Mat              A, shell; /* not referenced; A is the shell, or assembled from it */
  PetscBool        follows;  /* are its coefficients those of the DM, whatever these become? */
  PetscObjectState state;    /* of A when it was assembled */
  PetscErrorCode (*changed)(DMBoxMatrix);
  DMBoxMatrix next;
};

typedef struct {
  /* what the user asks for, before set-up */
  PetscInt   cells[3]; /* global number of cells */
  PetscReal  lower[3], upper[3];
  PetscInt   nvertices[3]; /* number of the user's coordinates, 0 for a uniform direction */
  PetscReal *vertices[3];  /* user's coordinates, or NULL for a uniform direction */
  PetscInt   refine;       /* -dm_refine: how often set-up doubles the cells; zero afterwards */
  PetscInt   degree;
  /* for operators by quadrature: Gauss points in a direction, more than the degree, in double and in single precision */
  PetscInt          extra[2];
  DMBoxSpace        space;
  DMBoxBoundaryType boundary[6];  /* lower x, upper x, lower y, ... */
  PetscInt          symmetry[6];  /* the component that a plane of symmetry fixes, or PETSC_DETERMINE for that across the side of the box */
  PetscInt          processes[3]; /* PETSC_DECIDE until set-up */
  /* [processes + 1]: rank p of direction d owns the cells splits[d][p] .. splits[d][p+1] - 1; given by the finer DM or made in set-up */
  PetscInt        *splits[3];
  DMBoxMappingType maptype; /* the map from the box to space: one by name, with its parameter, */
  PetscReal        mapparameter;
  DMBoxFunctionFn *map; /* a function, */
  void            *mapctx;
  DMBoxShape      *mapfrom;    /* or the polynomials of the mesh of another DM */
  DMBoxShape      *known;      /* what comes of that, if another DM of the same mesh has it; until set-up */
  PetscInt64       mapversion; /* equal numbers are equal coordinates */
  PetscInt         mapdegree;  /* of the images of cells: 1, or PETSC_DETERMINE for that of the space */
  PetscBool        mayfold;    /* whoever makes the DM looks for cells that fold */
  PatchFDHaloType  halotype;
  /* directions with less than this of the strongest coupling are not halved; PETSC_DETERMINE until the user says it */
  PetscReal  semicoarsening;
  PetscBool  coupled;                            /* is it decided? */
  PetscReal  coupling[3];                        /* of neighbouring cells in each direction, the mean over the mesh, times any number, */
  PetscReal  coupledfor[DMBOX_MAX_COEFFICIENTS]; /* with these coefficients but for the mass, */
  PetscInt64 coupledversion;                     /* and these data of the operator */
  PetscBool3 galerkin;   /* coarse operators: those of the finer mesh; UNKNOWN: where coefficients jump much inside coarse cells */
  PetscBool  restricted; /* is the operator such a one?  It has 2 degree + 1 points in a direction */
  /* after so many coarsenings the next one leaves the cells as they are and lowers the degree to 1; -1 for none */
  PetscInt lowering;
  PetscInt folding;     /* after so many the next one has a Galerkin operator, since its cells fold; -1 for none */
  PetscInt higher;      /* the degree of the finer mesh where that made this one, or 0 */
  PetscInt coarsenings; /* that this mesh comes from, one after the other, */
  /* and which of them halved a direction: a bit each, the last one is bit 0; each one leaves at most half of the cells, so that there is
     room */
  PetscInt64    halved[3];
  PetscInt64    alone[2][3]; /* and which of these an odd number of cells, of which the one at the lower or upper end is left as it is */
  DMBoxOperator op;          /* the operator that the DM carries, with its coefficients; each DM has its own */
  DMBoxMatrix   matrix;      /* a list of its matrices */

  /* made by set-up */
  PetscInt   nfield;
  DMBoxField field[DMBOX_MAX_FIELDS];
  /* layers of cells around the owned ones: 2 where local solvers see the cells beside their patches, otherwise 1 */
  PetscInt     ghost;
  PetscInt     coord[3];        /* this rank's place in the process grid */
  PatchFDRange owncells;        /* in the numbers of the lines */
  size_t       nglobal, nlocal; /* sizes of global and local arrays; equal on one rank */
  DMBoxShape  *shape;           /* for operators on mapped meshes; otherwise NULL */
  DMBoxHalo    halo;            /* fills ghosts; NULL on one rank */
  /* numbers before and after the owned ones in a local array, where they are contiguous in it: global Vecs have room for them */
  size_t         room[2];
  PetscInt      *owned[DMBOX_MAX_FIELDS + 1][3]; /* for DMBoxGetOwnershipRanges(): cells, then nodes of each field; NULL before */
  PatchFDKernels kernels[PATCHFD_NUM_KERNELS];   /* the table that allocated work[id], NULL before */
  void          *work[PATCHFD_NUM_KERNELS][DMBOX_NUM_WORK];
} DM_Box;

/*
  An operator on a DMBOX: registered by name, made by the registered routine, which sets ops, data and the coefficients' defaults.  What it
  does for KSP, SNES and TS is in src/mat; here is what a DM needs to know of it.  An operator is linear in its coefficients, so that sums
  and multiples of operators are operators.
*/
struct _DMBoxOperatorOps {
  PetscErrorCode (*setfromoptions)(DM, DMBoxOperator, PatchFDOptionItems);
  PetscErrorCode (*check)(DM, DMBoxOperator); /* of space, degree and boundary conditions, before set-up; NULL if all are possible */
  PetscErrorCode (*view)(PetscInt dim, const PetscReal coefficient[], PetscViewer); /* a part of a line */
  PetscErrorCode (*creatematrix)(DM, Mat *);
  PetscErrorCode (*createinterpolation)(DM coarse, DM fine, Mat *, Vec *);
  PetscErrorCode (*lift)(DM, Vec g, Vec b); /* DMBoxLiftDirichlet() */
  PetscErrorCode (*setup)(DM);              /* what KSP, SNES and TS need of a new DM */
  /* NULL if there is nothing but coefficients: `data` to the operator of another DM, which before its set-up has no mesh yet; whether that
     changed it */
  PetscErrorCode (*copy)(DM from, DM to, PetscBool *changed);
  PetscErrorCode (*destroy)(DMBoxOperator); /* frees `data` */
  /* for DMBoxScaleOperator(): sets `exponent`, so that each term of the operator is multiplied by two to the power that is returned */
  PetscErrorCode (*scale)(DM, DMBoxOperator, int *exponent);
  /* what matrices are made of, for these coefficients, on the lines of each field: the mesh's own, or those of a patch by itself */
  PetscErrorCode (*form)(DM, DMBoxOperator, const PetscReal coefficient[], const PatchFDLine line[][3], MatBoxForm *);
  /*
    For operators by quadrature: their points in these cells, for these coefficients; until pointsdestroy.  `device`, if it can be: arrays
    that are not the same everywhere are in GPU memory, and geoindex is NULL, since positions are those of the nodes of the DM's local box
  */
  PetscErrorCode (*points)(DM, DMBoxOperator, const PetscReal coefficient[], const PatchFDRange cells, PetscBool device, PatchFDPoints *);
  PetscErrorCode (*pointsdestroy)(PatchFDPoints *);
  /* for semicoarsening, on a mesh that has been set up: mean(K_dd / h_d^2) in each direction, times any number; NULL where all directions
     are halved */
  PetscErrorCode (*coupling)(DM, DMBoxOperator, PetscReal coupling[]);
  /*
    For Galerkin operators of coarse meshes, which `copy` makes where they are `restricted`: the largest ratio of coefficients in two of
    the cells that become one where these directions are halved.  NULL where there are none
  */
  PetscErrorCode (*contrast)(DM, DMBoxOperator, const PetscBool halve[3], PetscReal *contrast);
};
struct _p_DMBoxOperator {
  struct _DMBoxOperatorOps ops;
  char                    *name;
  PetscReal                coefficient[DMBOX_MAX_COEFFICIENTS];
  PetscInt                 mass;       /* the coefficient that multiplies the mass matrix, or -1 */
  PetscInt                 robin;      /* the first of the six of Robin conditions, of the sides; 0: none */
  PetscBool                saddle;     /* a saddle point problem: the last field is the multiplier, and no coefficients make it definite */
  PetscBool                rings;      /* it takes periodic sides */
  PetscInt                 reach;      /* 1 if the rows of a cell see the cells beside it even in a continuous space, otherwise 0 */
  PetscReal                rate;       /* what a time integrator adds to it: its a in the Jacobian a M + A */
  PetscReal                penalty[2]; /* factors of interior penalties, between cells and at Dirichlet sides */
  PetscInt                 projection; /* degree that terms of elasticity are projected to, or PETSC_DETERMINE */
  PetscBool                mapped;     /* it takes a map from the box to space: there it is given by points, */
  PetscBool                points;     /* and with this on a box as it is, too */
  void                    *data;       /* what coefficients cannot hold, or NULL */
  PetscInt64               version;    /* of the data: equal numbers are equal data */
  int                      exponent[3][2]; /* for float: masses and stiffnesses of each direction are multiplied by two to these powers */
};

PETSC_INTERN PetscErrorCode DMBoxOperatorCreate(MPI_Comm, const char name[], DMBoxOperator *);
PETSC_INTERN PetscErrorCode DMBoxOperatorDestroy(DMBoxOperator *);
PETSC_INTERN PetscInt64     DMBoxOperatorNewVersion(void); /* one that no data had before */
/* to be called by all that changes the operator of a DM, or its coordinates: increases the state of the DM, and tells its matrices */
PETSC_INTERN PetscErrorCode DMBoxChanged(DM);
/* the operator with its coefficients and parameters, from one DMBOX to another */
PETSC_INTERN PetscErrorCode DMBoxCopyOperator(DM from, DM to);
/*
  what an operator has beside coefficients, between DMs that have been set up, with the coordinates of the mesh; MatBoxUpdate() or
  DMBoxScaleOperator() has to follow
*/
PETSC_INTERN PetscErrorCode DMBoxCopyOperatorData(DM from, DM to);
/*
  Give the DM these coefficients, and let it and the coarser DMs that solvers make from it multiply their operators, but for the rows of
  fixed nodes, by two to the power `exponent`, which brings them and the one-dimensional matrices that they are made of into the range of
  float; 0 if they are there.
*/
PETSC_INTERN PetscErrorCode DMBoxScaleOperator(DM, const PetscReal coefficient[], int *exponent);
/* the operator, or an error that names the routine `who` if it is another one */
PETSC_INTERN PetscErrorCode    DMBoxGetOperatorOfType(DM, const char name[], const char who[], DMBoxOperator *);
PETSC_INTERN PetscFunctionList DMBoxOperatorList;

PETSC_INTERN PetscErrorCode DMCreate_Box(DM);
/* the data of a DMBOX; an error for any other DM and for a dimension other than 1, 2, 3 */
PETSC_INTERN PetscErrorCode DMBoxGetContext(DM, DM_Box **);
/* the same, and an error before DMSetUp() */
PETSC_INTERN PetscErrorCode DMBoxGetContextSetUp(DM, DM_Box **);
/* and after it */
PETSC_INTERN PetscErrorCode DMBoxGetContextToChange(DM, DM_Box **);
/* functions without which there is nothing to compute */
#define DMBoxCheckFunction(dm, f, arg) \
  PetscCheck(f, PetscObjectComm((PetscObject)(dm)), PETSC_ERR_ARG_NULL, "%s() has no function: its argument %d, %s, is NULL", \
             PETSC_FUNCTION_NAME, arg, PetscStringize(f))
/* has the Vec the DM's communicator and size? */
PETSC_INTERN PetscErrorCode DMBoxCheckVec(DM, Vec);
/* a ghosted array of the kernel table's precision and memory, kept until the DM is destroyed */
PETSC_INTERN PetscErrorCode DMBoxGetWork(DM, PatchFDKernels, int slot, void **);
/* -info: which kernels the plans for `what` have, if they have a choice (kernels is not NULL) */
PETSC_INTERN PetscErrorCode DMBoxInfoKernels(DM, PatchFDKernels, const char what[], const char kernels[]);
/* do global Vecs have room for ghosts? */
PETSC_INTERN PetscBool DMBoxHasRoom(DM);
/* fill the ghosts of n local arrays, in messages that they share; no-op on one rank */
PETSC_INTERN PetscErrorCode DMBoxHaloBegin(DM, PatchFDKernels, PetscInt n, void *const local[]);
PETSC_INTERN PetscErrorCode DMBoxHaloEnd(DM, PatchFDKernels, PetscInt n, void *const local[]);
/* those of one direction alone, which must be split */
PETSC_INTERN PetscErrorCode DMBoxHaloStageBegin(DM, PatchFDKernels, DMBoxHaloKind, PetscInt direction, PetscInt n, void *const local[]);
PETSC_INTERN PetscErrorCode DMBoxHaloStageEnd(DM, PatchFDKernels, DMBoxHaloKind, PetscInt direction, PetscInt n, void *const local[]);
/* is there a patch whose first cell has this parity in direction d, and which two ranks have?  On several ranks */
PETSC_INTERN PetscBool       DMBoxHaloIsStraddled(const DM_Box *, PetscInt d, PetscInt parity);
PETSC_INTERN PatchFDHaloType DMBoxHaloTypeInUse(DM, PatchFDKernels);
/* without the host, once ghosts have been filled; on one rank, too */
PETSC_INTERN PetscBool DMBoxExchangesOnDevice(DM, PatchFDKernels);
/* add the ghosts of a local array to their owners (values in the ghosts are left undefined) */
PETSC_INTERN PetscErrorCode DMBoxHaloAdd(DM, PatchFDKernels, void *local);
/*
  A local array with valid ghosts for a global array: the global array itself on one rank (no copy), or with the room that a Vec has around
  it, else work array `slot`.
  Between Begin and End the owned part may be used.
*/
PETSC_INTERN PetscErrorCode DMBoxGlobalToLocalBegin(DM, PatchFDKernels, const void *global, int slot, void **local);
PETSC_INTERN PetscErrorCode DMBoxGlobalToLocalEnd(DM, PatchFDKernels, const void *global, int slot, void **local);
/* to = from at the owned nodes of all fields, between arrays of either kind */
PETSC_INTERN PetscErrorCode DMBoxCopyOwned(DM, PatchFDKernels, PetscBool fromlocal, const void *from, PetscBool tolocal, void *to);
/* the local array for a global one, with the owned values only: ghosts are left as they are */
PETSC_INTERN PetscErrorCode DMBoxGlobalToLocalOwned(DM, PatchFDKernels, const void *global, int slot, void **local);
/* the same with zeros as ghosts; zero: so are the owned values */
PETSC_INTERN PetscErrorCode DMBoxGlobalToLocalZero(DM, PatchFDKernels, const void *global, PetscBool zero, int slot, void **local);
/* the owned values of a local array into a global one; nothing to do where they are the same array */
PETSC_INTERN PetscErrorCode DMBoxLocalToGlobal(DM, PatchFDKernels, const void *local, void *global);
/* does the mesh have fixed nodes? */
PETSC_INTERN PetscBool DMBoxHasFixed(DM);
/* y = a y + b x, and y = b x, at the fixed nodes that this rank owns, for global arrays or Vecs */
PETSC_INTERN PetscErrorCode DMBoxSetFixed(DM, PatchFDKernels, PetscReal a, void *y, PetscReal b, const void *x);
PETSC_INTERN PetscErrorCode DMBoxSetFixedVec(DM, Vec y, PetscReal b, Vec x);
/* the nodes of a field that are not fixed and that this rank owns, or has in its local box */
PETSC_INTERN void DMBoxFreeNodes(const DMBoxField *, PetscBool local, PatchFDRange);
/* all nodes of a field's mesh, in the numbers of its lines */
static inline PatchFDBox DMBoxMesh(const DMBoxField *f)
{
  PatchFDBox mesh;

  for (int d = 0; d < 3; d++) {
    PatchFDLineMesh(&f->line[d], &mesh.lo[d], &mesh.n[d]);
    mesh.n[d] -= mesh.lo[d];
  }
  return mesh;
}
/* global numbers of the nodes of the local boxes, field by field from `first` on, in PETSc's numbering of these fields alone; or of all;
   the caller frees */
PETSC_INTERN PetscErrorCode  DMBoxGetFieldsLocalToGlobal(DM, PetscInt first, PetscInt **index);
static inline PetscErrorCode DMBoxGetLocalToGlobal(DM dm, PetscInt **index)
{
  return DMBoxGetFieldsLocalToGlobal(dm, 0, index);
}
/* PetscSF from the owned nodes of all ranks to the whole box in natural order, field by field, on every rank; the caller destroys */
PETSC_INTERN PetscErrorCode DMBoxCreateNaturalSF(DM, PetscSF *);

/* ---- between the files of src/dm ---- */
PETSC_INTERN PetscErrorCode  DMSetUp_Box(DM);                             /* layout.c */
PETSC_INTERN PetscErrorCode  DMBoxOptionsMapping(DM, PatchFDOptionItems); /* mappingfile.c */
PETSC_INTERN const PetscReal DMBoxMappingParameters[];                    /* mapping.c: of each DMBoxMappingType, by default */
PETSC_INTERN PetscErrorCode  DMBoxCopyMapping(DM from, DM to);
/* after set-up, to an equal mesh or a coarser one, if coordinates have changed */
PETSC_INTERN PetscErrorCode DMBoxUpdateMapping(DM from, DM to);
PETSC_INTERN PetscErrorCode DMBoxCheckMapping(DM);
PETSC_INTERN PetscErrorCode DMBoxSetUpMapping(DM);
static inline PetscBool     DMBoxIsMapped(const DM_Box *box)
{
  return (PetscBool)(box->map || box->mapfrom || box->maptype != DMBOX_MAPPING_NONE);
}
/* is the operator that of its points? */
static inline PetscBool DMBoxHasPoints(const DM_Box *box)
{
  return (PetscBool)(box->op->points || (box->op->mapped && DMBoxIsMapped(box)));
}
PETSC_INTERN PetscErrorCode DMBoxShapeCreate(DM dm, DMBoxShape **shape);
PETSC_INTERN PetscErrorCode DMBoxShapeFillGhosts(DM dm, DMBoxShape *shape);
PETSC_INTERN PetscErrorCode DMBoxShapeGather(DM dm, const DMBoxShape *shape, DMBoxShape **whole);
PETSC_INTERN PetscErrorCode DMBoxShapeEvaluate(DM dm, const DMBoxShape *from, DMBoxShape *shape);
PETSC_INTERN PetscErrorCode DMBoxShapeInterpolate(DM dm, DMBoxShape *shape);
PETSC_INTERN PetscErrorCode DMBoxShapeStraighten(DM dm, PetscInt images, DMBoxShape *shape);
PETSC_INTERN PetscErrorCode DMBoxShapeDefect(DM dm, DMBoxShape *shape, PatchFDMetric *m);
PETSC_INTERN PetscErrorCode DMBoxFirstDefect(DM dm, const PatchFDMetric *m, PetscInt64 *first);
PETSC_INTERN PetscErrorCode DMBoxCheckShape(DM dm, DMBoxShape *shape);
PETSC_INTERN PetscErrorCode DMBoxShapeDestroy(DMBoxShape **);
PETSC_INTERN PetscErrorCode DMBoxShapeGetDevice(DMBoxShape *, const PetscReal **x); /* nodes.x in GPU memory */
PETSC_INTERN PetscErrorCode DMBoxViewMapping(DM, PetscViewer);
PETSC_INTERN PetscErrorCode DMBoxSetUpMappingFile(DM); /* mappingfile.c; before the mesh is refined */
/* voxels.c: its contents, with a zero at the end, on all ranks */
PETSC_INTERN PetscErrorCode DMBoxReadFile(MPI_Comm, const char who[], const char file[], char **data, PetscInt64 *size);
PETSC_INTERN PetscInt       DMBoxGetMappingDegree_Private(DM); /* of the images of cells */
/* sums over all ranks, and an error, which names the cell, if there is a defect */
PETSC_INTERN PetscErrorCode DMBoxReduceMetric(DM, PatchFDMetric *);
PETSC_INTERN PetscErrorCode DMBoxResetLayout(DM); /* frees what set-up made */
/* a space on the cells of a direction */
PETSC_INTERN PetscErrorCode DMBoxCreateLine(DM, PatchFDContinuity, PetscInt degree, PetscInt direction, PatchFDLine *);
/* nodes that rank p of a direction owns */
PETSC_INTERN void DMBoxOwnRange(const DM_Box *, const DMBoxField *, PetscInt direction, PetscInt p, PetscInt *first, PetscInt *end);
/* and those that it has in its local box */
PETSC_INTERN void DMBoxLocalRange(const DM_Box *, const DMBoxField *, PetscInt direction, PetscInt p, PetscInt *first, PetscInt *end);
/* where a field begins in a rank's arrays */
PETSC_INTERN PetscInt       DMBoxFieldOffset(const DM_Box *, PetscInt field, PetscInt rank, PetscBool local);
PETSC_INTERN PetscErrorCode DMBoxHaloCreate(DM); /* halo.c */
PETSC_INTERN PetscErrorCode DMBoxHaloDestroy(DM);
PETSC_INTERN PetscErrorCode DMRefine_Box(DM, MPI_Comm, DM *); /* hierarchy.c */
PETSC_INTERN PetscErrorCode DMCoarsen_Box(DM, MPI_Comm, DM *);
PETSC_INTERN PetscErrorCode DMBoxCreateRedundant(DM, DM *);                              /* the same mesh for this process alone */
PETSC_INTERN PetscErrorCode DMBoxCoarsen_Private(DM, MPI_Comm, PetscBool mayfold, DM *); /* folded cells are no error then */
/* so many of n coarsenings have no cell that folds, or have Galerkin operators, in hierarchies that are made from then on */
PETSC_INTERN PetscErrorCode DMBoxLimitFolded(DM, PetscInt *n);
PETSC_INTERN PetscErrorCode DMClone_Box(DM, DM *);
PETSC_INTERN PetscErrorCode DMRestrictHook_Box(DM, Mat, Vec, Mat, DM, void *);
/* whether a mesh that n coarsenings lead to is to be coarsened once more, by lowering its degree, or by nothing (-1), in hierarchies that
   are made from then on */
PETSC_INTERN PetscErrorCode DMBoxSetLowering(DM, PetscInt n);
/* coarsening.c: a mesh as it sees it, */
typedef struct {
  PetscInt  dim, cells[3];
  PetscBool ring[3]; /* around which odd numbers are not halved */
  PetscBool even;    /* must cells be equal, and all directions halved? */
  PetscInt  few;     /* a mesh of so many cells with at most two in a direction is the coarsest one */
  PetscReal coupling[3], threshold;
  PetscBool uneven; /* has a direction been left out? */
} DMBoxCoarsening;
/* this one; and the directions that are halved next and the mesh that follows, or else PETSC_FALSE and the direction that ends it */
PETSC_INTERN PetscErrorCode DMBoxCoarseningBegin(DM, DMBoxCoarsening *);
PETSC_INTERN PetscBool      DMBoxCoarseningNext(DMBoxCoarsening *, PetscBool halve[3], PetscInt *end);
/* the directions that are halved, and the couplings that say so */
PETSC_INTERN PetscErrorCode DMBoxCoarseningDescribe(DM, const PetscBool halve[3], size_t size, char text[]);
/* the cells of a direction that a coarsening unites, on a mesh that has been set up */
PETSC_INTERN PatchFDUnion   DMBoxUniteCells(const DM_Box *, PetscInt d, PetscBool halve);
PETSC_INTERN PetscErrorCode DMBoxCheckCoarsening(DM); /* can the operator do what was asked for? */
/* which directions are halved is decided again if the coefficients are not those any more that it was decided for; collective */
PETSC_INTERN PetscErrorCode DMBoxUpdateCoarsening(DM);
/* halvings[l] = how often l coarsenings of the mesh halve each direction, for l = 0 .. n, which must not be more than there are */
PETSC_INTERN PetscErrorCode DMBoxGetHalvings(DM, PetscInt n, PetscInt halvings[][3]);
PETSC_INTERN PetscErrorCode DMBoxViewHalvings(DM, PetscViewer); /* a line, if directions were not halved equally often */
PETSC_INTERN PetscErrorCode DMBoxViewSemicoarsening(DM, PetscViewer);
PETSC_INTERN PetscReal      DMBoxMeanCellSize(const DM_Box *, PetscInt d); /* the geometric mean */
PETSC_INTERN PetscErrorCode DMBoxBisect(PetscInt *n, PetscReal **vertices);
PETSC_INTERN PetscErrorCode DMBoxCellDataCreate(DM, PetscInt n, Vec, const char who[], DMBoxCellData **); /* celldata.c */
PETSC_INTERN PetscErrorCode DMBoxCellDataDestroy(DMBoxCellData **);
/* of these cells, for all points, as PatchFDPoints has them, in a Vec that the caller destroys and nobody changes */
PETSC_INTERN PetscErrorCode DMBoxCellDataGet(DM, const DMBoxCellData *, const PatchFDRange cells, Vec *values);
PETSC_INTERN PetscInt       DMBoxNumGauss(DM);             /* Gauss points in a direction of a cell, for operators by quadrature, */
PETSC_INTERN PetscInt       DMBoxNumPoints(DM);            /* and in all of a cell */
PETSC_INTERN PetscErrorCode VecView_Box(Vec, PetscViewer); /* vtk.c */
/* a DMDA with dof numbers at each node of a field, distributed as the DM */
PETSC_INTERN PetscErrorCode DMBoxCreateDMDA(DM, const DMBoxField *, PetscInt dof, DM *);
/* a = f at this rank's nodes of a field, or, with side >= 0, at those of a side alone; a may be NULL */
PETSC_INTERN PetscErrorCode DMBoxVisitNodes(DM, PetscInt field, PetscInt side, PetscReal time, DMBoxFunctionBatchFn *, void *ctx,
                                            PetscScalar a[]);
PETSC_INTERN void           DMBoxLoadCells(const DM_Box *, PatchFDRange cells); /* that touch owned nodes: function.c */
PETSC_INTERN PetscErrorCode DMBoxViewMeshVTK(DM, PetscViewer);
PETSC_INTERN PetscErrorCode VecViewNatural_Box(Vec, PetscViewer); /* natural.c */
PETSC_INTERN PetscErrorCode VecLoad_Box(Vec, PetscViewer);
PETSC_INTERN PetscErrorCode DMCreateLocalVector_Box(DM, Vec *); /* local.c */
PETSC_INTERN PetscErrorCode DMGlobalToLocalBegin_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMGlobalToLocalEnd_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMLocalToGlobalBegin_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMLocalToGlobalEnd_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMLocalToLocalBegin_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMLocalToLocalEnd_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMGetLocalToGlobalMapping_Box(DM);
PETSC_INTERN PetscErrorCode DMCreateFieldIS_Box(DM, PetscInt *, char ***, IS **); /* fields.c */
PETSC_INTERN PetscErrorCode DMBoxSetUpCoordinates(DM);                            /* coordinates.c */
PETSC_INTERN PetscErrorCode DMBoxCheckCoordinates(DM);                            /* has somebody set others? */
/* dim numbers a node of a box on these lines, interleaved, which are computed when somebody looks at them */
/* where the mesh is mapped, of its own nodes only */
PETSC_INTERN PetscErrorCode DMBoxCreateCoordinateVec(DM, MPI_Comm, const PatchFDLine[3], const PatchFDBox *, Vec *);
PETSC_INTERN PetscErrorCode DMCreateCoordinateDM_Box(DM, DM *);
PETSC_INTERN PetscErrorCode DMGetLocalBoundingBox_Box(DM, PetscReal[], PetscReal[], PetscInt[], PetscInt[]);
/* -dm_box_penalty, for operators that have penalties; and k (k + 1), which the factors multiply */
PETSC_INTERN PetscErrorCode DMBoxOptionsPenalty(DM, PatchFDOptionItems);
static inline PetscReal     DMBoxPenalty(DM dm)
{
  const PetscInt k = ((const DM_Box *)dm->data)->degree;

  return (PetscReal)(k * (k + 1));
}
/*
  Points of the cells that all fields have in common: Gauss points, 4 more in a direction than the highest degree of a field, or, with
  nodes > 0, the Gauss-Lobatto nodes of that degree.  Fields lie as in local arrays or as in global ones.  points.c
*/
PETSC_INTERN PetscErrorCode DMBoxFieldPointsCreate(DM, PetscInt nodes, PetscBool local, PatchFDFieldPoints[]);
/* nq Gauss points in a direction */
PETSC_INTERN PetscErrorCode DMBoxFieldPointsCreateGauss(DM, PetscInt nq, PetscBool local, PatchFDFieldPoints[]);
/* in direction d only the end point instead, for values, or with the numbers B in place of the values of the nodes of the cell there */
PETSC_INTERN PetscErrorCode DMBoxFieldPointsSetEnd(DM, PetscInt d, PetscInt end, const PetscReal B[], PatchFDFieldPoints[]);
PETSC_INTERN PetscErrorCode DMBoxFieldPointsDestroy(DM, PatchFDFieldPoints[]);
/* the array of all fields with valid ghosts, in double precision on the host, for a Vec of any type; until Restore */
PETSC_INTERN PetscErrorCode DMBoxGetLocalRead(DM, Vec, const PetscScalar **array, const PetscScalar **local);
PETSC_INTERN PetscErrorCode DMBoxRestoreLocalRead(DM, Vec, const PetscScalar **array, const PetscScalar **local);
/* is this the condition on all sides that there are?  Periodic ones are none */
static inline PetscBool DMBoxHasOnly(DM dm, DMBoxBoundaryType type)
{
  PetscBool only = PETSC_TRUE;

  for (PetscInt i = 0; i < 2 * dm->dim; i++) {
    const DMBoxBoundaryType side = ((const DM_Box *)dm->data)->boundary[i];

    only = (PetscBool)(only && (side == type || side == DMBOX_BOUNDARY_PERIODIC));
  }
  return only;
}
/* the body of the getter of a number of DM_Box *box */
#define DMBOX_GET(dm, number, value) \
  DM_Box *box; \
\
  PetscFunctionBegin; \
  PetscAssertPointer(value, 2); \
  PetscCall(DMBoxGetContext(dm, &box)); \
  *value = number; \
  PetscFunctionReturn(PETSC_SUCCESS)
/* the bodies of the setter, before set-up, and of the getter of an array of DM_Box *box with n numbers */
#define DMBOX_SET_ARRAY(dm, array, n, values) \
  DM_Box *box; \
\
  PetscFunctionBegin; \
  PetscAssertPointer(values, 2); \
  PetscCall(DMBoxGetContextToChange(dm, &box)); \
  PetscCall(PetscArraycpy(array, values, n)); \
  PetscFunctionReturn(PETSC_SUCCESS)
#define DMBOX_GET_ARRAY(dm, array, n, values) \
  DM_Box *box; \
\
  PetscFunctionBegin; \
  PetscAssertPointer(values, 2); \
  PetscCall(DMBoxGetContext(dm, &box)); \
  PetscCall(PetscArraycpy(values, array, n)); \
  PetscFunctionReturn(PETSC_SUCCESS)
static inline PetscBool DMBoxIsRing(const DM_Box *box, PetscInt d)
{
  return (PetscBool)(box->boundary[2 * d] == DMBOX_BOUNDARY_PERIODIC);
}
static inline PetscBool DMBoxHasRings(const DM_Box *box)
{
  return (PetscBool)(DMBoxIsRing(box, 0) || DMBoxIsRing(box, 1) || DMBoxIsRing(box, 2));
}
static inline PetscBool DMBoxIsContinuous(const DM_Box *box)
{
  return (PetscBool)(box->space == DMBOX_SPACE_Q || box->space == DMBOX_SPACE_P1 || box->space == DMBOX_SPACE_VQ);
}
/* the degree of a mesh whose degree is lowered: plates have no degree 1, solids whose terms are projected no other */
static inline PetscInt DMBoxLeastDegree(const DM_Box *box)
{
  return box->space == DMBOX_SPACE_VQ ? box->degree : box->op->reach ? 2 : 1;
}
/* layers of ghosts, and phases of colours: 2 where patches see the cells beside them */
static inline PetscInt DMBoxLayers(const DM_Box *box)
{
  return !DMBoxIsContinuous(box) || box->op->reach ? 2 : 1;
}
/* is there one rank?  Then it has ghosts on rings only, images of its own nodes */
static inline PetscBool DMBoxIsAlone(const DM_Box *box)
{
  return (PetscBool)(box->processes[0] * box->processes[1] * box->processes[2] == 1);
}
/* and has it such rings? */
static inline PetscBool DMBoxIsAround(const DM_Box *box)
{
  return (PetscBool)(box->halo && DMBoxIsAlone(box));
}
/*
  Has this rank all of a ring, and two layers of ghosts where others have one?  Then patches of both parities can be solved, also those
  around the ring's ends, before these images of its own nodes are copied anew.  A ring of two cells is too short for that
*/
static inline PetscBool DMBoxIsWideRing(const DM_Box *box, PetscInt d)
{
  return (PetscBool)(box->ghost == 1 && box->processes[d] == 1 && box->field[0].line[d].turn > 2);
}
/* layers of ghost cells in a direction */
static inline PetscInt DMBoxGhosts(const DM_Box *box, PetscInt d)
{
  return DMBoxIsWideRing(box, d) ? 2 : box->ghost;
}
/* have local arrays ghosts in this direction: from other ranks, or from the other end of a ring? */
static inline PetscBool DMBoxHasGhosts(const DM_Box *box, PetscInt d)
{
  return (PetscBool)(box->processes[d] > 1 || box->field[0].line[d].turn);
}
/* is the velocity across it given on every side, so that the pressure is determined up to a constant? */
static inline PetscBool DMBoxIsClosed(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  for (PetscInt i = 0; i < 2 * dm->dim; i++)
    if (box->boundary[i] == DMBOX_BOUNDARY_NEUMANN) return PETSC_FALSE;
  return (PetscBool)(box->space == DMBOX_SPACE_RT);
}
/* b += what a function on a side brings in, for as many fields as it has components: B holds numbers for the nodes of the cell at the end
   of direction d; NULL for the values there */
PETSC_INTERN PetscErrorCode DMBoxAddSideLoad(DM, PetscInt d, PetscInt end, const PetscReal B[], PetscReal time, PetscInt Nc,
                                             DMBoxFunctionBatchFn *, void *ctx, Vec b);
/* options with one value for all directions or one for each: box.c; also for operators */
PETSC_INTERN PetscErrorCode DMBoxOptionsReal(DM, const char option[], const char text[], const char man[], PetscReal v[4], PetscBool *flg,
                                             PatchFDOptionItems);
/* one value for all Neumann sides or one for each side; errors if there is no such side, if one with such a value, `given`, is no Neumann
   side */
PETSC_INTERN PetscErrorCode DMBoxOptionsSides(DM, const char option[], const char text[], const char man[], PetscReal v[6], PetscBool *flg,
                                              PatchFDOptionItems);
PETSC_INTERN PetscErrorCode DMBoxCheckSide(DM, const char who[], PetscInt side);
PETSC_INTERN PetscErrorCode DMBoxCheckNatural(DM, const char what[], PetscInt side, PetscBool given);
