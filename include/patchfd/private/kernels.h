#pragma once
/*
  The one door between PETSc objects and loops: a table of kernels for each precision and place of storage.

  A grid function is an array over a box of nodes, x fastest.  Every problem here is three-dimensional; a direction that does
  not exist is a line with one node.  Descriptions hold the one-dimensional objects of src/fe (double precision, host); a
  kernel folder turns a description into a plan with what its kernels like best, once, so that nothing is allocated or
  converted in an apply.  Node numbers are global in each direction.

  Reads outside a range `read` give zero, writes outside a range `write` are dropped: Dirichlet conditions (ranges without the
  fixed nodes) and ownership (ranges of the owned nodes) are both expressed so.
*/
#include <patchfd/private/fe.h>

typedef struct {
  PetscInt lo[3], n[3]; /* nodes lo .. lo + n - 1 of each direction */
} PatchFDBox;

static inline size_t PatchFDBoxSize(const PatchFDBox *b)
{
  return (size_t)b->n[0] * (size_t)b->n[1] * (size_t)b->n[2];
}

/* where node (i, j, k) lies in an array over the box */
static inline ptrdiff_t PatchFDBoxNode(const PatchFDBox *b, PetscInt i, PetscInt j, PetscInt k)
{
  return ((ptrdiff_t)(k - b->lo[2]) * b->n[1] + (j - b->lo[1])) * b->n[0] + (i - b->lo[0]);
}

typedef PetscInt PatchFDRange[3][2]; /* first, end of each direction */

/* y = y0 + alpha A x,  A = sum over directions d of A_d in direction d, M in the others; owners are cells */
typedef struct {
  const PatchFDCells *dir[3];
  PatchFDRange        cells; /* the cells to visit */
  PatchFDBox          xbox, ybox;
  PatchFDRange        read, write;
} PatchFDOperatorDesc;

/* fine += P coarse  and  coarse += P' fine; owners are coarse cells */
typedef struct {
  const PatchFDEmbedding *dir[3];
  PatchFDRange            cells; /* the coarse cells to visit */
  PatchFDBox              cbox, fbox;
  PatchFDRange            coarse, fine; /* range of coarse nodes read or written, of fine nodes written or read */
} PatchFDTransferDesc;

/* Vertex patches; x, b and r all live on the same box */
typedef struct {
  const PatchFDPatches *dir[3];
  PatchFDBox            box;
  PatchFDRange          read; /* the free nodes that exist in the box */
} PatchFDSmootherDesc;

typedef enum {
  PATCHFD_OP_RESIDUAL, /* r = b - A x at the free nodes of each patch                      */
  PATCHFD_OP_SOLVE,    /* x += omega A_j^{-1} r                                            */
  PATCHFD_OP_FUSED,    /* both: x += omega A_j^{-1} (b - A x)                              */
  PATCHFD_OP_BOUNDARY  /* x = (1 - omega) x + omega A_II^{-1} (b_I - A_IB x_B), no residual */
} PatchFDPatchOp;

/* x = A^{-1} b on the free nodes of the whole box, by fast diagonalization; a zero eigenvalue has inverse zero */
typedef struct {
  const PatchFDEigen *dir[3];
  PetscInt            first[3]; /* first free node */
  PatchFDBox          box;      /* of x and b: the whole box of nodes */
} PatchFDBoxSolveDesc;

typedef const struct _PatchFDKernels *PatchFDKernels;
struct _PatchFDKernels {
  const char  *name;
  size_t       size;    /* bytes of a number */
  PetscMemType memtype; /* where the arrays live */
  MPI_Datatype (*datatype)(void);
  int          id; /* index for caches of plans, less than PATCHFD_NUM_KERNELS */

  PetscErrorCode (*malloc)(size_t count, void **);
  PetscErrorCode (*free)(void *);
  PetscErrorCode (*zero)(size_t count, void *);
  /* to = from on a range that both boxes contain */
  PetscErrorCode (*copy)(const PatchFDRange, const PatchFDBox *, const void *from, const PatchFDBox *, void *to);
  /* y = a y + b x at the nodes of `range` that are not in `free`: the Dirichlet nodes */
  PetscErrorCode (*fixed)(const PatchFDRange range, const PatchFDRange free, PetscReal a, const PatchFDBox *, void *y, PetscReal b, const PatchFDBox *, const void *x);

  PetscErrorCode (*operatorcreate)(const PatchFDOperatorDesc *, void **plan);
  /* on all of ybox: rows outside `write` and of nodes in none of the cells are zero rows.  y0 may be NULL for zero, or y itself */
  PetscErrorCode (*operatorapply)(void *plan, PetscReal alpha, const void *x, const void *y0, void *y);
  PetscErrorCode (*operatordestroy)(void **plan);

  PetscErrorCode (*transfercreate)(const PatchFDTransferDesc *, void **plan);
  PetscErrorCode (*transferprolong)(void *plan, const void *coarse, void *fine);
  PetscErrorCode (*transferrestrict)(void *plan, const void *fine, void *coarse);
  PetscErrorCode (*transferdestroy)(void **plan);

  PetscErrorCode (*smoothercreate)(const PatchFDSmootherDesc *, void **plan);
  /*
    The patches with numbers in `patches`, colour by colour in the order given: those of a colour have first cells of the parity colors[i][d],
    and do not overlap.  zero: x is known to be zero before the first colour
  */
  PetscErrorCode (*smootherapply)(void *plan, PatchFDPatchOp, PetscInt ncolors, const PetscInt colors[][3], const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r);
  PetscErrorCode (*smootherdestroy)(void **plan);

  PetscErrorCode (*boxsolvecreate)(const PatchFDBoxSolveDesc *, void **plan);
  PetscErrorCode (*boxsolveapply)(void *plan, const void *b, void *x);
  PetscErrorCode (*boxsolvedestroy)(void **plan);

  /*
    The work that is enqueued between recordbegin and recordend is begun by recordend, and again by each recordreplay, on the same
    arrays and with little work on the host.  Nothing in between may allocate or wait.  recordend must follow recordbegin whatever
    happens in between, with keep = PETSC_FALSE after an error; *record = NULL if it was told not to keep the recording, or if
    something could not be recorded: nothing was begun then.  NULL where calls cost nothing.
  */
  PetscErrorCode (*recordbegin)(void **record);
  PetscErrorCode (*recordend)(PetscBool keep, void **record);
  PetscErrorCode (*recordreplay)(void *record);
  PetscErrorCode (*recorddestroy)(void **record);
};

enum {
  PATCHFD_KERNELS_HOST_DOUBLE,
  PATCHFD_KERNELS_HOST_FLOAT,
  PATCHFD_KERNELS_CUDA_DOUBLE,
  PATCHFD_KERNELS_CUDA_FLOAT,
  PATCHFD_NUM_KERNELS
};
PETSC_INTERN const struct _PatchFDKernels PatchFDKernelsHostDouble, PatchFDKernelsHostFloat;
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _PatchFDKernels PatchFDKernelsCUDADouble, PatchFDKernelsCUDAFloat;
#endif
PETSC_INTERN const PatchFDKernels         PatchFDKernelTables[PATCHFD_NUM_KERNELS]; /* by id; NULL for what this build does not have */

/*
  Functions and grid functions, assembled matrices: set-up work, host and double precision only.
*/
typedef PetscErrorCode (*PatchFDFunction)(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx);

/* u(node) = f(x(node)) for the nodes of `range`, Nc interleaved components; nodes[d][i] is the coordinate of node i */
PETSC_INTERN PetscErrorCode PatchFDHostInterpolate(PetscInt dim, PetscReal *const nodes[3], const PatchFDRange range, PatchFDFunction f, void *ctx, PetscReal time, PetscInt Nc, const PatchFDBox *, PetscScalar u[]);

/* One direction of a quadrature over cells: nq points a cell.  The end of a line is one point of weight 1 in its last cell. */
typedef struct {
  PetscInt   degree, nq;
  PetscReal *x, *w; /* [ncells * nq] */
  PetscReal *B;     /* [nq][degree + 1] */
} PatchFDQuadrature;

/* b_i += integral of f phi_i over the cells of `cells`, for the nodes i of `write` */
PETSC_INTERN PetscErrorCode PatchFDHostLoad(PetscInt dim, const PatchFDQuadrature q[3], const PatchFDRange cells, const PatchFDRange write, PatchFDFunction f, void *ctx, PetscReal time, const PatchFDBox *, PetscScalar b[]);
/* *l2 += integral of (u - f)^2 over the cells, *max = max(*max, |u - f|) at the quadrature points */
PETSC_INTERN PetscErrorCode PatchFDHostError(PetscInt dim, const PatchFDQuadrature q[3], const PatchFDRange cells, PatchFDFunction f, void *ctx, PetscReal time, const PatchFDBox *, const PetscScalar u[], PetscReal *l2, PetscReal *max);

/* diagonal of the operator (`fixed` at Dirichlet nodes): desc->write gives the free nodes, `range` the nodes wanted */
PETSC_INTERN PetscErrorCode PatchFDHostDiagonal(const PatchFDOperatorDesc *, PetscReal fixed, const PatchFDRange range, const PatchFDBox *, PetscScalar diag[]);
/*
  Cell-by-cell triples (row, column, value) of the operator's rows in `range`, and an entry `fixed` for each Dirichlet node; index[] on xbox
  gives the global number of a node.  Call with i = NULL for the count only.
*/
PETSC_INTERN PetscErrorCode PatchFDHostTriples(const PatchFDOperatorDesc *, PetscReal fixed, const PatchFDRange range, const PetscInt index[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[]);
/*
  The same for an interpolation and its rows on all of fbox, whose nodes have the numbers row, row + 1, ...; column[] on cbox.  The entries of
  Dirichlet nodes are stored as zeros: a product P' A P then has a place for the diagonal entries of the coarse ones.
*/
PETSC_INTERN PetscErrorCode PatchFDHostTransferTriples(const PatchFDTransferDesc *, PetscInt row, const PetscInt column[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[]);
