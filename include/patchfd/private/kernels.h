#pragma once
/*
  The kernel tables, by which PETSc objects call loops: one for each precision and place of storage.

  A grid function is an array over a box of nodes, x fastest.  Every problem here is three-dimensional; a direction that does
  not exist is a line with one node.  Descriptions hold the one-dimensional objects of src/fe (double precision, host); a
  kernel folder turns a description into a plan, once: matrices in its precision and memory, and a choice of kernels.  Nothing is
  allocated or converted in an apply.  Node numbers are global in each direction.

  Reads outside a range `read` give zero, writes outside a range `write` are dropped: Dirichlet conditions (ranges without the
  fixed nodes) and ownership (ranges of the owned nodes) are both expressed by ranges.
*/
#include <patchfd/private/compat.h>
#include <patchfd/private/fe.h>
#include <string.h>

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

/* the node of the box that is an image of node i of direction d, as around a ring of the box's nodes: itself, or at most two turns away */
static inline PetscInt PatchFDBoxImage(const PatchFDBox *b, int d, PetscInt i)
{
  if (i < b->lo[d]) return i + b->n[d];
  while (i >= b->lo[d] + b->n[d]) i -= b->n[d];
  return i;
}

typedef PetscInt PatchFDRange[3][2]; /* first, end of each direction */

static inline PetscCount PatchFDRangeSize(const PatchFDRange r)
{
  PetscCount size = 1;

  for (int d = 0; d < 3; d++) size *= PetscMax(0, r[d][1] - r[d][0]);
  return size;
}

static inline PetscBool PatchFDRangeHas(const PatchFDRange r, const PetscInt i[3])
{
  return (PetscBool)(i[0] >= r[0][0] && i[0] < r[0][1] && i[1] >= r[1][0] && i[1] < r[1][1] && i[2] >= r[2][0] && i[2] < r[2][1]);
}

/*
  A field is a scalar grid function on a product of three lines; the fields of a problem lie one after another in a Vec.  Ranges say which
  of its nodes exist: reads outside `read` give zero, writes outside `write` are dropped.
*/
typedef struct {
  PatchFDBox   xbox, ybox; /* of the arrays that are read and written */
  PatchFDRange read, write;
  size_t       x0, y0; /* where the field begins in these arrays */
} PatchFDField;

/* rows of field `row` += coef (dir[2] (x) dir[1] (x) dir[0]) columns of field `col` */
typedef struct {
  PetscInt           row, col;
  PetscReal          coef;
  const PatchFDBand *dir[3];
} PatchFDTerm;

/*
  An operator by quadrature on cells that are images of the unit square or cube: with R taking the Gauss-Lobatto nodes of each cell out of
  an array, B and D values and derivatives of their polynomials at the points of a cell, A = R' (B' shift w |J| B + D' w |J| J^{-1} K
  J^{-T} D) R (Swirydowicz, Chalmers, Karakus and Warburton 2017; the bake-off problems of CEED).  Nodes and points of a cell are numbered
  with x fastest.
*/
typedef enum {
  PATCHFD_NODES_BOX,   /* of the cells `cells` of field 0 of the operator, on a box of nodes */
  PATCHFD_NODES_INDEX, /* numbers in the array, from the mesh */
  PATCHFD_NODES_CELL   /* each cell has its own, one cell after another */
} PatchFDNodes;

typedef enum {
  PATCHFD_FACTORS_AUTO,
  PATCHFD_FACTORS_STORED,  /* w |J| J^{-1} K J^{-T} and w |J| shift of every point */
  PATCHFD_FACTORS_COMPUTED /* anew in each apply, from the corners of the cell: multilinear geometry, K and shift constant */
} PatchFDFactors;

typedef struct {
  PatchFDNodes nodes;
  /* 2 or 3; of the polynomials; components of a node, one after another, to which the same scalar operator is applied */
  PetscInt         dim, degree, ncomp;
  PetscInt         gauss; /* so many Gauss points in a direction, degree + 1, degree + 2 or 2 degree + 1; 0: the nodes are the points */
  PetscCount       ncells;
  PetscCount       nnodes;     /* nodes of the arrays, not for NODES_BOX */
  const PetscInt  *index;      /* [ncells][(degree + 1)^dim], NODES_INDEX: the node, or -1 for one that is read as zero and not written */
  PetscInt         geodegree;  /* of the map from the unit cell: polynomials with Gauss-Lobatto nodes, too */
  const PetscInt  *geoindex;   /* [ncells][(geodegree + 1)^dim]; NODES_BOX: the cells in `cells`, x fastest */
  const PetscReal *coordinate; /* [...][dim] */
  /* K: nkappa = 1, or dim (dim + 1) / 2 numbers (xx xy xz yy yz zz) at each point [ncells][points][nkappa], or the same everywhere */
  const PetscReal *kappa;
  PetscInt         nkappa; /* 0: no such term */
  PetscBool        kappaconstant;
  const PetscReal *shift; /* one number a point, or one in all; NULL: no such term */
  PetscBool        shiftconstant;
  /* kappa and shift are the factors themselves, those of a form that another mesh has (PatchFDHostRestrict()): no geometry, and kappa may
     be indefinite at single points */
  PetscBool      given;
  PatchFDFactors factors;
  /* NODES_BOX: of the terms h u v on the sides 2 d + e of the mesh, which are those of the cells, a grid: w h |surface| at the points of
     each cell's side, [cells there][points^(dim - 1)], x fastest; NULL: no such term */
  PetscInt         grid[3];
  const PetscReal *side[6];
  /* displacements of a solid: the components are coupled, on a box a field each; kappa are lambda and mu (nkappa = 2), and
     A = R' (B' shift w |J| B + eps' 2 mu w |J| eps + div' lambda w |J| div) R.  Or, on the host, kappa is the derivative of a
     stress S[a][e] by grad u[b][f], the upper triangle of a symmetric matrix of a dim + e and b dim + f, nkappa = PatchFDTangentSize().
     projection: degree in the unit cell to which div u is projected in L2, or -1 */
  PetscBool solid;
  PetscInt  projection;
  void     *owner; /* of the arrays, for who made them */
} PatchFDPoints;

enum {
  PATCHFD_POINTS_MAX_DEGREE = 15
};

/* are there so few that GPUs have kernels of their own for them? */
static inline PetscBool PatchFDPointsAreFew(PetscInt degree, PetscInt gauss)
{
  return (PetscBool)(gauss == degree + 1);
}

/* the number of a cell among those at a side of its grid, x fastest; or -1 */
static inline PetscCount PatchFDSideCell(const PetscInt grid[3], PetscInt side, PetscCount cell)
{
  const PetscInt at[3]  = {(PetscInt)(cell % grid[0]), (PetscInt)(cell / grid[0] % grid[1]), (PetscInt)(cell / grid[0] / grid[1])};
  PetscCount     number = 0;

  if (at[side / 2] != (side % 2 ? grid[side / 2] - 1 : 0)) return -1;
  for (int d = 2; d >= 0; d--)
    if (d != side / 2) number = number * grid[d] + at[d];
  return number;
}

/* how many factors a side has; the nodes are the points where gauss is 0 */
static inline PetscCount PatchFDSideSize(const PatchFDPoints *p, PetscInt side)
{
  if (!p->side[side]) return 0;
  return p->ncells / p->grid[side / 2] * PetscPowInt(p->gauss ? p->gauss : p->degree + 1, p->dim - 1);
}

/* can factors be computed in each apply? */
static inline PetscBool PatchFDPointsCanCompute(const PatchFDPoints *p)
{
  return (PetscBool)(!p->given && !p->solid && p->geodegree == 1 && (!p->nkappa || p->kappaconstant) && (!p->shift || p->shiftconstant));
}
/* numbers of a tangent, of a solid that is more than lambda and mu */
static inline PetscInt PatchFDTangentSize(PetscInt dim)
{
  return dim * dim * (dim * dim + 1) / 2;
}
/* the place of entry (i, j), i <= j, of such a triangle */
static inline PetscInt PatchFDTangentPlace(PetscInt dim, PetscInt i, PetscInt j)
{
  return i * dim * dim - i * (i + 1) / 2 + j;
}
/* nodes of a cell, with each component of a solid */
static inline PetscInt PatchFDPointsCellSize(const PatchFDPoints *p)
{
  return PetscPowInt(p->degree + 1, p->dim) * (p->solid ? p->dim : 1);
}
/* an error where the numbers are none that kernels take (src/host/geometry.c) */
PETSC_INTERN PetscErrorCode PatchFDPointsCheck(const PatchFDPoints *);

/* y = y0 + alpha A x, A the sum of the terms, or given by points; owners are cells */
typedef struct {
  PetscInt             nfield, nterm;
  const PatchFDField  *field;
  const PatchFDTerm   *term;
  PatchFDRange         cells;  /* the cells whose rows are to be computed */
  const PatchFDPoints *points; /* NULL for terms.  A cell that is inverted at a point is an error with its number */
} PatchFDOperatorDesc;

/* the numbers of a sweep of conjugate gradients, in the memory of the table's arrays, whatever its precision */
typedef struct {
  double b;    /* p = z + b q */
  double pw;   /* p'w, overwritten */
  int    stop; /* not zero: nothing is to be done; p, w and pw may become anything */
} PatchFDSweep;

/*
  Linear elements on a lattice: each cube of cells, its corners numbered with x fastest, is cut into the six tetrahedra whose corners are a
  monotone path from corner 0 to corner 7, a square into two triangles (Kuhn 1960).  Materials are numbers at the nodes, of which an
  element has the mean of its corners' for its matrices.  A = mass M(capacity) + stiffness K(conductivity) + Robin terms.
*/
typedef struct {
  PetscInt     dim;
  PetscReal    h[3];       /* size of a cube */
  PetscInt     n[3];       /* cubes of the whole box */
  PatchFDBox   xbox, ybox; /* of x and of materials, which have the layers of nodes around those of y; of y */
  PatchFDRange read, write;
  /* NULL, or which of the cubes between the nodes of xbox exist, x fastest: nodes that touch none have rows with a diagonal entry only */
  const unsigned char *active;
  PetscReal            robin[6]; /* a number for each side of the box: times the mass matrix of its triangles */
} PatchFDLatticeDesc;

/* where the table's arrays live, in its precision, over xbox; NULL for the constant */
typedef struct {
  PetscReal   mass, stiffness, side;      /* factors of M, K and the Robin terms */
  PetscReal   identity;                   /* the diagonal entry of nodes that touch no cube */
  const void *capacity, *conductivity[3]; /* one array for all directions may be given three times */
  PetscReal   constcapacity, constconductivity[3];
} PatchFDMaterial;

/*
  A sum of Kronecker products in one field, A_0 in direction 0 and M in the others, and so on: what most kernels are made for.  False for
  any other operator.
*/
static inline PetscBool PatchFDKroneckerSum(const PatchFDOperatorDesc *desc, const PatchFDBand *A[3], const PatchFDBand *M[3])
{
  if (desc->nfield != 1 || desc->nterm != 3) return PETSC_FALSE;
  for (int d = 0; d < 3; d++) {
    A[d] = desc->term[d].dir[d];
    M[d] = desc->term[d ? 0 : 1].dir[d];
    if (desc->term[d].coef != 1 || M[d]->reach) return PETSC_FALSE;
  }
  for (int t = 0; t < 3; t++)
    for (int d = 0; d < 3; d++)
      if (d != t && desc->term[t].dir[d] != M[d]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* do two bands of a line stay within cells, and have the same classes of them?  Kernels for whole cells want that of A and M */
static inline PetscBool PatchFDBandsMatch(const PatchFDBand *a, const PatchFDBand *b)
{
  return (PetscBool)(a->reach == 0 && b->reach == 0 && a->nclass == b->nclass &&
                     !memcmp(a->cls, b->cls, sizeof(*a->cls) * (size_t)a->ncells));
}

/*
  The cells of a mesh, for transfers between polynomials of two degrees on it: numbers of the nodes of each cell, x fastest, or -1 for
  those that do not exist.  A fine node is one of the first cell that has it and -1 in all others, and those of other ranks are -1: each is
  written, or read, once (PatchFDHostFirstNodes()).
*/
typedef struct {
  PetscInt        ncomp; /* numbers of a node, one after another */
  PetscCount      ncells;
  const PetscInt *coarse, *fine; /* [ncells][nodes of a cell] */
} PatchFDMeshTransfer;

/* fine += P coarse  and  coarse += P' fine; owners are coarse cells */
typedef struct {
  const PatchFDMeshTransfer *mesh; /* NULL for cells of a box; otherwise dir are embeddings of one cell, and nothing else is looked at */
  const PatchFDEmbedding    *dir[3];
  PatchFDRange               cells; /* the coarse cells to visit */
  PatchFDBox                 cbox, fbox;
  PatchFDRange               coarse, fine; /* range of coarse nodes read or written, of fine nodes written or read */
} PatchFDTransferDesc;

/*
  The patches of one colour do not overlap and are not coupled by the operator: their first cells have the same parity in each direction
  and, where a patch is coupled to those beside it (nphase = 2), the same phase, the parity of the sum of cell / 2: red and black.  Where
  the residual of all patches of a parity is computed before any of them is solved, both phases may be one colour.  All patches are one
  colour, too, for solves from a residual that sum into x by atomics: on GPUs, where the residual is that of terms.
*/
enum {
  PATCHFD_MAX_COLORS   = 250, /* two phases; in a direction two parities, and three patches of a ring */
  PATCHFD_ALL_PHASES   = -1,
  PATCHFD_ALL_PARITIES = -1 /* in all directions */
};
typedef struct {
  PetscInt parity[3], phase;
} PatchFDColor;

/* of the products with dense inverses; in a table of less precision that one */
typedef enum {
  PATCHFD_PRECISION_DOUBLE,
  PATCHFD_PRECISION_SINGLE,
  PATCHFD_PRECISION_TF32, /* operands of 11 bits, sums in single */
  PATCHFD_PRECISION_BF16, /* operands of 8 bits, sums in single, with factors of the inverses */
  PATCHFD_NUM_PRECISIONS
} PatchFDPrecision;

typedef enum {
  PATCHFD_LOCAL_FD,    /* fast diagonalization of A (x) M (x) M + M (x) A (x) M + M (x) M (x) A, whose eigenvectors the patches have */
  PATCHFD_LOCAL_DENSE, /* products with the inverse */
  PATCHFD_LOCAL_SCHUR /* the last field by conjugate gradients on its Schur complement, the others by fast diagonalization: saddle points */
} PatchFDLocalKind;

enum {
  PATCHFD_MAX_FIELDS = 4 /* three components of a velocity, and a pressure */
};

/*
  The inverse of the matrix of a patch, in the basis of its symmetries.  In a direction with parity the matrix looks the same from the
  other end: it maps sums r_i + r_{n-1-i} (and the middle node, if n is odd: the even part, (n + 1) / 2 numbers) to such sums, and
  differences r_i - r_{n-1-i} (the odd part, n / 2 numbers) to differences.  A field that is odd in a direction, as the component of a
  vector in its own direction, has differences where the others have sums.  With U' taking these sums and differences in each direction,
  inverse = U blocks U': there is a block for each choice of even (0) or odd (1) in the directions with parity, numbered px + 2 py + 4 pz.
  Its rows and columns are the numbers of the fields, one field after another, in each x fastest: the sums in a direction where choice and
  field are both even or both odd, otherwise the differences.  In directions without parity U is the identity, and blocks with a 1 there do
  not exist (size 0).
*/
typedef struct {
  PetscInt   nfield, n[PATCHFD_MAX_FIELDS][3];
  PetscBool  odd[PATCHFD_MAX_FIELDS][3];
  PetscBool  parity[3];
  PetscInt   size[8];
  PetscReal *block[8]; /* [size][size], symmetric */
} PatchFDDense;

/* rows of field `row` += coef dir[2] (x) dir[1] (x) dir[0] columns of field `col`, for the rows of a patch */
typedef struct {
  PetscInt           row, col;
  PetscReal          coef;
  const PatchFDRows *dir[3];
} PatchFDRowTerm;

/* What a field has in the patches, products of one patch of each direction; x, b and r all live on the same box and begin at the same place
   */
typedef struct {
  const PatchFDPatches *dir[3]; /* eigenvectors for fast diagonalization; all fields have the same patches */
  PatchFDBox            box;
  PatchFDRange          read; /* the free nodes that exist in the box */
  size_t                x0;
} PatchFDLocalField;

/* have they one unknown, or two at a free end? */
static inline PetscBool PatchFDPatchesArePointwise(const PatchFDPatches *const dir[3])
{
  for (int d = 0; d < 3; d++)
    for (PetscInt i = 0; i < dir[d]->npatch; i++)
      if (dir[d]->n[i] > 2) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Local solvers of vertex patches.  A patch has the class cls[d][its number] in direction d, which says all about its matrices */
typedef struct {
  PatchFDLocalKind         kind;
  PetscInt                 nphase; /* phases of a colour: 1 or 2 */
  PetscInt                 nfield;
  const PatchFDLocalField *field;
  PetscInt                 nclass[3];
  const PetscInt          *cls[3];
  const PatchFDDense      *dense;     /* [nclass of direction 2][nclass of 1][nclass of 0] */
  PatchFDPrecision         precision; /* of products with these where a kernel has it */
  /* of the residual b - A x; 0 if A is the sum that is diagonalized, with what the eigenvectors' structures have of it */
  PetscInt              nterm;
  const PatchFDRowTerm *term;
  /* of the conjugate gradients: the residual, in the norm of the inverse mass matrix, over that at the beginning */
  PetscReal rtol;
  PetscInt  maxit;
  /* where the matrices of `dense` have no numbers (`localpoints` of the table): the points of a solid on the cells `cells`, from which
     inverses are made.  Each patch from patch[d] on is a class of its own.  regular: are all of their matrices positive definite? */
  const PatchFDPoints *points;
  PatchFDRange         cells;
  PetscInt             patch[3];
  PetscBool           *regular;
} PatchFDLocalDesc;

typedef enum {
  PATCHFD_OP_RESIDUAL, /* r = b - A x at the free nodes of each patch                      */
  PATCHFD_OP_SOLVE,    /* x += omega A_j^{-1} r                                            */
  PATCHFD_OP_FUSED,    /* both: x += omega A_j^{-1} (b - A x)                              */
  PATCHFD_OP_BOUNDARY  /* x = (1 - omega) x + omega A_II^{-1} (b_I - A_IB x_B), no residual; only where A is the sum that is diagonalized */
} PatchFDPatchOp;

/* x = A^{-1} b on the free nodes of the whole box, by fast diagonalization; a zero eigenvalue has inverse zero */
typedef struct {
  const PatchFDEigen *dir[3];
  PetscInt            first[3]; /* first free node */
  PatchFDBox          box;      /* of x and b: the whole box of nodes */
} PatchFDBoxSolveDesc;

/*
  Corrections of closed cells: all (degree + 1)^dim nodes of a cell, boundary nodes too, are a patch, whose matrix is a sum of products
  that is diagonalized.  With D_c its diagonal, R_c taking the nodes of the cell, and v a number a node,
    B = sum of R_c' C_c (S (x) S (x) S) diag(1 / (lambda_i + mu_j + nu_k + shift)) (S (x) S (x) S)' C_c R_c,  C_c = v D_c^{1/2}
  with v = 1 / sqrt(diagonal of A times the number of cells) at a node.  B is applied to some of the components of nodes; the
  diagonal is that of the first of them.
*/
typedef struct {
  PatchFDPoints points; /* of these the nodes; in host memory they have numbers.  Arrays live until cellsfinish() */
  PatchFDField  field;  /* NODES_BOX: where they are, and the cells */
  PatchFDRange  cells;
  PetscInt      comp[2]; /* of the components those from comp[0] to comp[1] - 1 */
  /* sides with conditions K du/dn + h u: [nside] their number among all, [ncells][dim][2], and h by the area of a unit cell's side */
  PetscCount       nside;
  const PetscInt  *side;
  const PetscReal *mean;
} PatchFDCellsDesc;

enum {
  PATCHFD_CELL_END = 3 /* numbers of a side of a cell */
};

typedef struct PatchFDCG          PatchFDCG;          /* patchfd/private/cg.h */
typedef struct PatchFDFieldPoints PatchFDFieldPoints; /* patchfd/private/assembly.h */
typedef struct PatchFDMetric      PatchFDMetric;
typedef struct PatchFDFit         PatchFDFit; /* patchfd/private/fit.h */
typedef struct PatchFDFitRule     PatchFDFitRule;

typedef const struct _PatchFDKernels *PatchFDKernels;
struct _PatchFDKernels {
  const char  *name;
  size_t       size;    /* bytes of a number */
  PetscMemType memtype; /* where the arrays live */
  MPI_Datatype (*datatype)(void);
  int id; /* index for caches of plans, less than PATCHFD_NUM_KERNELS */

  /* where PetscSF cannot add these numbers in this memory: a table of the same memory for which it can, and conversions; otherwise NULL */
  const struct _PatchFDKernels *wide;
  PetscErrorCode (*widen)(size_t count, const void *from, void *to);
  PetscErrorCode (*narrow)(size_t count, const void *from, void *to);

  PetscErrorCode (*malloc)(size_t count, void **);
  PetscErrorCode (*free)(void *);
  PetscErrorCode (*zero)(size_t count, void *);
  /* y = s x, or with `add` y + s x, entry by entry; y may be x */
  PetscErrorCode (*multiply)(size_t count, const void *s, const void *x, PetscBool add, void *y);
  /* to = from on a range that the second box contains.  Nodes beyond the first one are images of its nodes, as around a ring, at most two
     turns away; the arrays are two then */
  PetscErrorCode (*copy)(const PatchFDRange, const PatchFDBox *, const void *from, const PatchFDBox *, void *to);
  /* y = a y + b x at the nodes of `range` that are not in `free`: the Dirichlet nodes */
  PetscErrorCode (*fixed)(const PatchFDRange range, const PatchFDRange free, PetscReal a, const PatchFDBox *, void *y, PetscReal b,
                          const PatchFDBox *, const void *x);

  /* may the box that is read be a ring in place of having ghosts: are nodes beyond it images of its nodes?  NULL: never */
  PetscBool (*operatorrings)(const PatchFDOperatorDesc *);
  PetscErrorCode (*operatorcreate)(const PatchFDOperatorDesc *, void **plan);
  /* on all of ybox: rows outside `write` and of nodes in none of the cells are zero rows.  y0 may be NULL for zero, or y itself */
  PetscErrorCode (*operatorapply)(void *plan, PetscReal alpha, const void *x, const void *y0, void *y);
  /* r = b - A x at the free nodes of the patches of a colour, both phases of it; other numbers of r may become anything */
  PetscErrorCode (*operatorresidual)(void *plan, const PatchFDColor *, const void *x, const void *b, void *r);
  /* the diagonal of A on all of y, for operators given by points */
  PetscErrorCode (*operatordiagonal)(void *plan, void *diagonal);
  /*
    The first half of an iteration of conjugate gradients in one pass over the cells, for operators given by points whose boxes are the
    same: p = z + b q, with z = r or, if d is given, z = d r node by node (d the inverse of a diagonal), w = A p, and pw = p'w.  All nodes
    of p and w are written; rows that the operator does not have (outside `write`, nodes of no cell) are those of the identity here: w = p.
    q, the p of the iteration before, and p are two arrays; b = 0 takes q for zero, whatever is in it.  Nothing is allocated or waits, and
    no number goes to the host.  NULL where a table has no such kernel.
  */
  PetscErrorCode (*operatorsweep)(void *plan, const void *d, const void *r, const void *q, void *p, void *w, PatchFDSweep *sweep);
  /* of an operator given by points: that of some of its cells, on arrays with nnodes numbers; index as in PatchFDPoints.  NULL where a
     table has no fits */
  PetscErrorCode (*operatorpick)(void *plan, PetscCount nnodes, PetscCount ncells, const PetscCount cells[], const PetscInt index[],
                                 void **picked);
  PetscErrorCode (*operatordestroy)(void **plan);

  PetscErrorCode (*latticecreate)(const PatchFDLatticeDesc *, void **plan);
  /*
    y = y0 + alpha A x, and the diagonal of A; y0 may be NULL for zero, or y itself.  Rows outside `write` are zero, but on the
    diagonal they have the number `identity`
  */
  PetscErrorCode (*latticeapply)(void *plan, const PatchFDMaterial *, PetscReal alpha, const void *x, const void *y0, void *y);
  PetscErrorCode (*latticediagonal)(void *plan, const PatchFDMaterial *, void *diagonal);
  /* as operatorsweep: p = z + b q, w = A p, pw = p'w, where `write` is within `read` */
  PetscErrorCode (*latticesweep)(void *plan, const PatchFDMaterial *, const void *d, const void *r, const void *q, void *p, void *w,
                                 PatchFDSweep *sweep);
  PetscErrorCode (*latticedestroy)(void **plan);

  PetscErrorCode (*transfercreate)(const PatchFDTransferDesc *, void **plan);
  PetscErrorCode (*transferprolong)(void *plan, const void *coarse, void *fine);
  PetscErrorCode (*transferrestrict)(void *plan, const void *fine, void *coarse);
  PetscErrorCode (*transferdestroy)(void **plan);

  /* may the boxes of these local solvers be rings in place of having ghosts: are nodes beyond them images of their nodes? */
  PetscBool (*localrings)(const PatchFDLocalDesc *);
  PetscErrorCode (*localcreate)(const PatchFDLocalDesc *, void **plan);
  /* The patches with numbers in `patches`, colour by colour in the order given.  zero: x is known to be zero before the first colour */
  PetscErrorCode (*localapply)(void *plan, PatchFDPatchOp, PetscInt ncolors, const PatchFDColor colors[], const PatchFDRange patches,
                               PetscReal omega, PetscBool zero, void *x, const void *b, void *r);
  PetscErrorCode (*localdestroy)(void **plan);

  /*
    What coarse meshes are chosen by and made of, from points of cells on a box of nodes, which are where the table's arrays are or, with
    geoindex, on the host; the results are in double precision where the table's arrays are.  nodes: the box of the nodes of the map.
    pointsrestrict: PatchFDHostRestrict(); pointscontrast: PatchFDHostContrast(); pointsmetric: PatchFDHostMetric(), on GPUs without layers
    and shift, and not of factors that are given
  */
  PetscErrorCode (*pointsrestrict)(const PatchFDPoints *, const PatchFDBox *nodes, const PatchFDRange cells, const PatchFDUnion[3],
                                   const PatchFDRange coarse, PetscInt degree, PetscReal kappa[], PetscReal shift[]);
  PetscErrorCode (*pointscontrast)(const PatchFDPoints *, const PatchFDRange cells, const PatchFDUnion[3], const PatchFDRange coarse,
                                   PetscReal *contrast);
  PetscErrorCode (*pointsmetric)(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange cells, const PatchFDPoints *,
                                 PatchFDMetric *);
  /* the matrices of all cells of an operator given by points, E[ncells][size][size]; all arrays are on the host */
  PetscErrorCode (*cellmatrices)(const PatchFDPoints *, PetscReal E[]);
  /* of a solid given by points, in double precision on the host or NULL: sum[...][node], on the box of field 0, or sum[node][...] for
     NODES_INDEX, += what its cells have there for displacements u: the stresses xx xy yy zz or xx xy xz yy yz zz, in two dimensions in
     plane strain, and 1 */
  PetscErrorCode (*stresses)(const PatchFDOperatorDesc *, const PetscReal u[], PetscReal sum[]);
  /* the inverses of symmetric positive definite matrices on the host, `count` of size n, in place; regular: is none of them singular? */
  PetscErrorCode (*invert)(PetscInt count, PetscInt n, PetscReal *const K[], PetscBool *regular);

  /* local solvers that are fitted to each patch; all arrays on the box of the description, but those of fitwork */
  /* from an operator by quadrature on the cells of the patches: groups of patches that take one step, or none where all are exact; of two
     steps for those whose eigenvalues are to be estimated */
  PetscErrorCode (*fitcreate)(PatchFDFit *, const PatchFDFitRule *, void *operatorplan, void **plan);
  /* makes groups, and their coefficients, from what fitsteps() found */
  PetscErrorCode (*fitgroups)(void *plan, const PatchFDFitRule *);
  /* step `step` of the patches of a group, from the residual r (step 0) or that of fitwork (r NULL, too); then x += omega z.  diagonal:
     that of A */
  PetscErrorCode (*fitapply)(void *plan, PetscInt group, PetscInt step, PetscReal omega, const void *diagonal, const void *r, void *x);
  /* residual and correction of the patches of a group between two of its steps, in PatchFDFit's compact order */
  PetscErrorCode (*fitwork)(void *plan, void **r, void **z);
  /*
    A step of preconditioned conjugate gradients on each patch of a group, from a residual without a pattern, on compact arrays: r -= a q,
    a = r'z / p'q with q = A p (not in step 0, which makes r), then p = z + b p.  After step `last` fitsteps() makes eigenvalues from a and
    b, and from these how many steps the patches take in the groups to come
  */
  PetscErrorCode (*fitcg)(void *plan, PetscInt group, PetscInt step, PetscInt last, const void *diagonal, const void *q, void *r, void *p);
  PetscErrorCode (*fitsteps)(void *plan, const PatchFDFitRule *, PetscInt group, PetscInt last);
  /* what groups without steps are solved with: Cholesky factors of the matrices of their patches; with `rows`, those of A.  From the points
     of all cells of the fit; NULL where a table has none */
  PetscErrorCode (*fitexact)(void *plan, const PatchFDPoints *, PetscBool rows, PetscBool *regular);
  /* x_I += omega A_j^{-1} (b - A x)_I in the patches of a group that has rows.  zero: x is known to be zero */
  PetscErrorCode (*fitfused)(void *plan, PetscInt group, PetscReal omega, PetscBool zero, const void *b, void *x);
  PetscErrorCode (*fitdestroy)(void **plan);

  /*
    y += alpha B x for closed cells, fitted to an operator by quadrature on them (patchfd/private/fit.h) in four steps, between which sums
    of all ranks are made, in double precision in the table's memory, at the first component of each node: cellscreate; for each number of a
    side cellssides() adds those of this rank's cells at the nodes inside of sides, and then finds in the sums what stands on the other
    side; cellscount() adds the number of cells at nodes; cellsfinish() gets that, and the diagonal of A.  positive: is that?
  */
  PetscErrorCode (*cellscreate)(const PatchFDCellsDesc *, void *operatorplan, void **plan);
  PetscErrorCode (*cellssides)(void *plan, PetscInt number, PetscBool add, double *sums);
  PetscErrorCode (*cellscount)(void *plan, double *sums);
  PetscErrorCode (*cellsfinish)(void *plan, const double *count, const void *diagonal, PetscBool *positive);
  PetscErrorCode (*cellsapply)(void *plan, PetscReal alpha, const void *x, void *y);
  /* numbers without a pattern at the nodes of a box (PatchFDFitNoise()), from which the largest eigenvalue of B A is looked for */
  PetscErrorCode (*cellsnoise)(const PatchFDBox *, void *);
  PetscErrorCode (*cellsdestroy)(void **plan);

  /* which kernels a plan has, and if they are not the fastest, why; NULL for plans that have no choice.  The functions may be NULL */
  const char *(*operatorname)(void *plan);
  const char *(*transfername)(void *plan);
  const char *(*localname)(void *plan);

  PetscErrorCode (*boxsolvecreate)(const PatchFDBoxSolveDesc *, void **plan);
  PetscErrorCode (*boxsolveapply)(void *plan, const void *b, void *x);
  PetscErrorCode (*boxsolvedestroy)(void **plan);

  /*
    Conjugate gradients (patchfd/private/cg.h) on arrays of n numbers.  The plan has the state, in the table's memory: cgstate() says
    where, for operatorsweep, of which it is the PatchFDSweep, too; put and get copy it from and to the host, get after all work has been
    done.  A rank's sums go to the state.
  */
  PetscErrorCode (*cgcreate)(PetscCount n, void **plan);
  PetscErrorCode (*cgdestroy)(void **plan);
  PetscErrorCode (*cgstate)(void *plan, PatchFDCG **state);
  PetscErrorCode (*cgput)(void *plan, const PatchFDCG *);
  PetscErrorCode (*cgget)(void *plan, PatchFDCG *);
  /* p = z + b p, where p may hold anything if b is zero; z = d r, or r if d is NULL, here and below */
  PetscErrorCode (*cgdirection)(void *plan, const void *d, const void *r, void *p);
  PetscErrorCode (*cgproduct)(void *plan, const void *p, const void *w);
  PetscErrorCode (*cgadvance)(void *plan, const void *d, const void *p, const void *w, void *x, void *r);
  /* the sums of the second sweep, alone */
  PetscErrorCode (*cgsums)(void *plan, const void *r, const void *z);
  /*
    As recordbegin and recordend, for iterations that are repeated until the state's `stop` is not zero, or, where loops cannot be
    recorded, a few times in each replay: then `stop` may still be zero.  NULL where recordbegin is
  */
  PetscErrorCode (*cgrecordbegin)(void *plan, void **record);
  PetscErrorCode (*cgrecordend)(void *plan, PetscBool keep, void **record);

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

  PetscInt localpoints; /* localcreate inverts matrices of up to so many unknowns from points; 0: of none */
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
PETSC_INTERN const PatchFDKernels PatchFDKernelTables[PATCHFD_NUM_KERNELS]; /* by id; NULL for what this build does not have */
