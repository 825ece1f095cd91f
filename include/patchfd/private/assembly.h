#pragma once
/* What set-up needs of loops: functions at nodes and quadrature points, sums, entries of operators.  On the host, in double precision: not
   part of the kernel tables. */
#include <patchfd/private/kernels.h>

/* A function of space at n points at once, u[n][Nc] from x[n][dim]; and one that gets a single point, which PatchFDHostPointwise() calls n
   times: this is its context */
typedef PetscErrorCode (*PatchFDFunction)(PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                                          void *ctx);
typedef struct {
  PetscErrorCode (*f)(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx);
  void *ctx;
} PatchFDPointwise;
PETSC_INTERN PetscErrorCode PatchFDHostPointwise(PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc,
                                                 PetscScalar u[], void *pointwise);

/* The image of a mesh: where the nodes of a box are, dim numbers each.  Within cells it is the polynomial with these values */
typedef struct {
  PatchFDBox box;
  PetscReal *x;
} PatchFDShape;

/*
  u(node) = f(x(node)) for the nodes of `range`: of the Nc components of f the n from `first` on, interleaved; nodes[d][i] is the
  coordinate of node i, unless there is a shape of these nodes
*/
PETSC_INTERN PetscErrorCode PatchFDHostInterpolate(PetscInt dim, PetscReal *const nodes[3], const PatchFDShape *, const PatchFDRange range,
                                                   PatchFDFunction f, void *ctx, PetscReal time, PetscInt Nc, PetscInt first, PetscInt n,
                                                   const PatchFDBox *, PetscScalar u[]);
/* nodes other than corners of cells go where multilinear images of the cells have them; t[degree + 1] are the nodes of the cell [0, 1] */
PETSC_INTERN void PatchFDHostMultilinear(PetscInt dim, PetscInt degree, const PetscReal t[], PatchFDShape *);
/* component a of count points, and back */
PETSC_INTERN void PatchFDHostGetComponent(PetscCount count, PetscInt dim, PetscInt a, const PetscReal x[], PetscReal v[]);
PETSC_INTERN void PatchFDHostSetComponent(PetscCount count, PetscInt dim, PetscInt a, const PetscReal v[], PetscReal x[]);
/* positions at these nodes, from an array over a box */
PETSC_INTERN void PatchFDHostCopyNodes(PetscInt dim, const PatchFDRange range, const PatchFDBox *, const PetscScalar x[], PatchFDShape *);
/* positions at nodes of a range: in direction d, the i-th of them lies in cell[d][i] of a mesh of this degree, with the shape `from`, whose
   basis has the values B[d][i] there */
PETSC_INTERN void PatchFDHostEvaluate(PetscInt dim, const PetscInt degree[3], PetscInt *const cell[3], PetscReal *const B[3],
                                      const PatchFDRange range, const PatchFDShape *from, PatchFDShape *to);
/* positions at the nodes of a range from x[nodes][3]; n numbers of `size` bytes, in this machine's order or swapped; n numbers of a text:
   how many there are */
/* how many of the points are finite, and were not among those that `placed` has; it has them then */
PETSC_INTERN PetscCount PatchFDHostPlacePoints(PetscInt dim, const PatchFDRange range, const PetscReal x[], PetscBT placed, PatchFDShape *);
PETSC_INTERN void       PatchFDHostBytesToReals(PetscInt n, PetscInt size, PetscBool swap, const char *bytes, PetscReal x[]);
PETSC_INTERN PetscInt   PatchFDHostParseReals(PetscInt n, const char *text, const char *end, PetscReal x[]);
/* around the nodes of these cells */
PETSC_INTERN void PatchFDHostBounds(PetscInt dim, const PatchFDShape *, const PatchFDRange cells, PetscInt degree, PetscReal lower[],
                                    PetscReal upper[]);
/* index[cell][...] of every step-th node of these cells, x fastest, in an array over the box; -1 outside of `free`, if that is not NULL */
PETSC_INTERN void PatchFDHostCellNodes(PetscInt dim, PetscInt degree, PetscInt step, const PatchFDRange cells, const PatchFDRange free,
                                       const PatchFDBox *, PetscInt index[]);

/* One direction of points in cells, quadrature points as a rule: nq points a cell.  The end of a line is one point of weight 1 in its last
   cell. */
typedef struct {
  PetscInt   degree, stride, nq;
  PetscReal *x, *w; /* [ncells * nq] */
  PetscReal *h;     /* [ncells] lengths of the cells */
  PetscReal *B[3];  /* [nq][degree + 1] the basis of the cell [0, 1] at the points: values, first and second derivatives */
} PatchFDQuadrature;

/* A field at points that all fields have in common, and where its nodes lie in an array */
struct PatchFDFieldPoints {
  PatchFDQuadrature   q[3];
  PatchFDBox          box;
  size_t              at;    /* where the field begins in the array */
  PatchFDRange        write; /* the nodes that get loads */
  const PatchFDShape *shape; /* of this field's nodes, or NULL where the mesh is the box itself; the first field's is that of the points */
  PetscInt            side;  /* the direction in which the points are at an end, or -1 */
};

/* b_i += integral of f_c phi_i over the cells of `cells`, for field c, c = 0 .. nfield - 1, and its nodes i of `write`; f has nfield
   components */
PETSC_INTERN PetscErrorCode PatchFDHostLoad(PetscInt dim, PetscInt nfield, const PatchFDFieldPoints[], const PatchFDRange cells,
                                            PatchFDFunction f, void *ctx, PetscReal time, PetscScalar b[]);

/* v[cell][point] = a times the weights of the points in space: of a side, where they are at an end */
PETSC_INTERN PetscErrorCode PatchFDHostPointWeights(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange cells, PetscReal a,
                                                    PetscReal v[]);

/* a derivative of a field, by its orders (0 to 2) in the three directions: a part of a component of what is compared with a function */
typedef struct {
  PetscInt component, field, order[3];
} PatchFDDerivative;
/* of a component: e = the sum of its derivatives - that of the function - shift; what is given, and what is added up */
typedef struct {
  PetscReal shift;
  PetscReal integral, square; /* of e and e^2 */
  PetscReal largest;          /* |e| at the points */
} PatchFDDeviation;
/* over the cells of `cells`; f has Nc components, NULL is zero */
PETSC_INTERN PetscErrorCode PatchFDHostDeviation(PetscInt dim, PetscInt nfield, const PatchFDFieldPoints[], const PatchFDRange cells,
                                                 PetscInt nder, const PatchFDDerivative[], PetscInt Nc, PatchFDFunction f, void *ctx,
                                                 PetscReal time, const PetscScalar u[], PatchFDDeviation[]);
/* the dim components of the gradient of the field against those of f */
PETSC_INTERN PetscErrorCode PatchFDHostGradientDeviation(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange cells,
                                                         PatchFDFunction f, void *ctx, PetscReal time, const PetscScalar u[],
                                                         PatchFDDeviation[]);
/* v[Nc * point + c] = the field at the points of `cells`, which are those of the box `points`, x fastest */
PETSC_INTERN PetscErrorCode PatchFDHostValues(const PatchFDFieldPoints *, const PatchFDRange cells, const PetscScalar u[],
                                              const PatchFDBox *points, PetscInt Nc, PetscInt c, PetscScalar v[]);

/* value[cell][point] = the field, gradient[cell][point][dim] = its derivatives in space, at the points of `cells`; either may be NULL */
PETSC_INTERN PetscErrorCode PatchFDHostPointFields(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange cells,
                                                   const PetscScalar u[], PetscScalar value[], PetscScalar gradient[]);
/* b_i += integral of source phi_i + flux . grad phi_i over these cells, from such values; either may be NULL */
PETSC_INTERN PetscErrorCode PatchFDHostPointLoad(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange cells,
                                                 const PetscScalar source[], const PetscScalar flux[], PetscScalar b[]);

/* v = value, in all of a field */
PETSC_INTERN PetscErrorCode PatchFDHostFill(size_t count, PetscScalar value, PetscScalar v[]);
/* sum[0] += v, sum[1] += |v|, of a whole field */
PETSC_INTERN PetscErrorCode PatchFDHostSum(size_t count, const PetscScalar v[], PetscReal sum[2]);
/* g -= change |g| outwards at the nodes of a side, where outwards is 1 or -1; then sum[0] += its flux outwards, sum[1] += |flux|;
   w[d][node] are weights, NULL for 1 */
PETSC_INTERN PetscErrorCode PatchFDHostFlux(const PatchFDRange side, PetscReal *const w[3], PetscReal outwards, PetscReal change,
                                            const PatchFDBox *, PetscScalar g[], PetscReal sum[2]);
/* v[cell][point][Nc] = f at the points of these cells, in space */
PETSC_INTERN PetscErrorCode PatchFDHostPointValues(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange cells, PatchFDFunction f,
                                                   void *ctx, PetscInt Nc, PetscReal v[]);
/*
  What an operator by quadrature is like as one on the box: integrals of the logarithms of the diagonal of |J| J^{-1} K J^{-T} (J the
  derivatives by the box's coordinates), of |J| shift and 1, and the largest shift; of the logarithms and 1 also over each layer of points
  of a direction, if there are arrays for them; or the first cell where something is wrong
*/
typedef enum {
  PATCHFD_DEFECT_NONE,
  PATCHFD_DEFECT_INVERTED, /* |J| is not positive */
  PATCHFD_DEFECT_KAPPA,    /* K is not positive definite */
  PATCHFD_DEFECT_SHIFT     /* shift is negative; all three: or not finite */
} PatchFDDefect;
struct PatchFDMetric {
  PetscReal     log[3], shift, weight, largest;
  PetscReal     side[6];  /* integrals of h over the sides with h u v */
  PetscReal    *layer[3]; /* [points of direction d][4]: three logarithms and 1; or NULL */
  PatchFDDefect defect;
  PetscInt      cell[3];
};
/* looks for the last two defects alone, and for the largest shift; npoint: points of a cell */
PETSC_INTERN void           PatchFDHostCheckCoefficients(const PatchFDPoints *, PetscInt npoint, const PatchFDRange cells, PatchFDMetric *);
PETSC_INTERN PetscErrorCode PatchFDHostMetric(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange cells, const PatchFDPoints *,
                                              PatchFDMetric *);
/* looks for the first defect, in cells of a mesh that is mapped (geometry.c) */
PETSC_INTERN PetscErrorCode PatchFDHostCheckShape(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange cells, PatchFDMetric *);

/* diagonal of the operator on the nodes of each field's `write`, `fixed` elsewhere */
PETSC_INTERN PetscErrorCode PatchFDHostDiagonal(const PatchFDOperatorDesc *, PetscReal fixed, PetscScalar diag[]);
/*
  Cell-by-cell triples (row, column, value) of the operator; index[f] gives the global number of each node of field f's xbox.  Call with
  i = NULL for the count only.
*/
PETSC_INTERN PetscErrorCode PatchFDHostTriples(const PatchFDOperatorDesc *, const PetscInt *const index[], PetscCount *count, PetscInt i[],
                                               PetscInt j[], PetscScalar v[]);
/* the same for the fixed nodes, those of `range` outside `free`: (node, node, value) */
PETSC_INTERN PetscErrorCode PatchFDHostFixedTriples(const PatchFDRange range, const PatchFDRange free, PetscReal value, const PatchFDBox *,
                                                    const PetscInt index[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[]);
/*
  The same for an interpolation and its rows on all of fbox, whose nodes have the numbers row, row + 1, ...; column[] on cbox.  The entries
  of fixed nodes are stored as zeros: a product P' A P then has a place for the diagonal entries of the coarse ones.
*/
PETSC_INTERN PetscErrorCode PatchFDHostTransferTriples(const PatchFDTransferDesc *, PetscInt row, const PetscInt column[],
                                                       PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[]);

/* ---- linear elements on a lattice, src/host/simplices.c ---- */

/* Voxels are bytes, one a cube of the whole box of n[] cubes, x fastest, zero outside of the body.  Those of the cubes between the nodes of
   a box */
PETSC_INTERN void PatchFDHostVoxelCut(PetscInt dim, const PetscInt n[3], const unsigned char voxel[], const PatchFDBox *,
                                      unsigned char active[]);
/* at the nodes of a box the mean of table[voxel] of the cubes of the body around them, table[0] where there are none */
PETSC_INTERN void PatchFDHostVoxelMean(PetscInt dim, const PetscInt n[3], const unsigned char voxel[], const PetscReal table[],
                                       const PatchFDBox *, PetscScalar u[]);
/* those of twice as large cubes, which are in the body if any of theirs is */
PETSC_INTERN void PatchFDHostVoxelCoarsen(PetscInt dim, const PetscInt n[3], const unsigned char fine[], unsigned char coarse[]);
/* triples (row, column, value) of the rows that are written, and of nodes that have no others; the material's arrays are in double
   precision on the host.  index[] on xbox; i = NULL for the count only */
PETSC_INTERN PetscErrorCode PatchFDHostLatticeTriples(const PatchFDLatticeDesc *, const PatchFDMaterial *, const PetscInt index[],
                                                      PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[]);

enum {
  PATCHFD_SIMPLEX_POINTS = 4 /* Gauss points in a direction */
};
/* sum += the integral of (u - f)^2 over the cubes of `cubes`, largest = the largest |u - f| at quadrature points; q and w: Gauss points and
   weights of [0, 1].  u on xbox */
PETSC_INTERN PetscErrorCode PatchFDHostLatticeError(const PatchFDLatticeDesc *, const PatchFDRange cubes, const PetscReal q[],
                                                    const PetscReal w[], const PetscReal lower[], PatchFDFunction f, void *ctx,
                                                    PetscReal time, const PetscScalar u[], PetscReal *sum, PetscReal *largest);

/* coef X[2] (x) X[1] (x) X[0] in the rows of field `row` and the columns of field `col` of a patch */
typedef struct {
  PetscInt         row, col;
  PetscReal        coef;
  const PetscReal *X[3];
} PatchFDMatrixTerm;

/*
  The inverse of the matrix of a patch, a sum of terms, with nfield, n and odd set: its symmetries and sizes first (the number of entries
  is returned), so that it is known what it will take; then its blocks.  spd: it should be positive definite.  constants: a field whose
  constants may be a null space, or -1; then it is the pseudo-inverse.  regular: whether all that is true; otherwise there is no inverse.
*/
PETSC_INTERN PetscErrorCode PatchFDHostDenseParity(PetscInt nterm, const PatchFDMatrixTerm[], PatchFDDense *);
PETSC_INTERN PetscCount     PatchFDHostDenseSizes(PatchFDDense *);
PETSC_INTERN PetscErrorCode PatchFDHostDenseCreate(PetscInt nterm, const PatchFDMatrixTerm[], PetscBool spd, PetscInt constants,
                                                   PatchFDDense *, PetscBool *regular);
PETSC_INTERN PetscErrorCode PatchFDHostDenseDestroy(PatchFDDense *);

enum {
  PATCHFD_LANES = 8 /* cells, or patches, that set-up works on at once */
};
typedef PetscReal PatchFDLanes[PATCHFD_LANES];

/*
  What an operator by quadrature (PatchFDPoints) has at each point of a cell: w |J| J^{-1} K J^{-T}, the numbers rr rs rt ss st tt or rr rs
  ss of it, where there is kappa; then w |J| shift, where there is shift.
*/
typedef struct {
  const PatchFDPoints *p;
  PatchFDRule          rule;
  PetscInt             npoint, nfactor; /* of a cell; of a point */
  PetscReal           *B, *D;           /* [points][geodegree + 1]: basis of the geometry at the points */
  PatchFDLanes        *x, *J, *work, *K;
} PatchFDGeometry;

/* numbers of a point of a solid: J^{-1}, and |J| with those of lambda and mu, or of the tangent, and the mass */
static inline PetscInt PatchFDSolidFactors(const PatchFDPoints *p)
{
  return p->dim * p->dim + 1 + p->nkappa + (p->shift ? 1 : 0);
}
PETSC_INTERN PetscErrorCode PatchFDGeometryCreate(const PatchFDPoints *, PatchFDGeometry *);
/* factor[npoint][nfactor] of the cells from `first` on, as far as they exist; an error where one is inverted or kappa not positive */
PETSC_INTERN PetscErrorCode PatchFDGeometryCells(PatchFDGeometry *, PetscCount first, PatchFDLanes factor[]);
PETSC_INTERN PetscErrorCode PatchFDGeometryDestroy(PatchFDGeometry *);
/*
  The Cholesky factors of symmetric matrices, in the first `count` lanes, in place of their lower triangles [n (n + 1) / 2], row after row,
  with the reciprocals of their diagonals.  A last pivot that is nothing but rounding, where constants are the null space, has the
  reciprocal 0.  regular: stays true if the matrices are positive definite otherwise (src/host/fitnumbers.c)
*/
PETSC_INTERN PetscErrorCode PatchFDHostFactorTriangles(PetscInt n, PetscInt count, PatchFDLanes triangle[], PetscBool *regular);
/* The matrices of cells, of one component: entry (i, j) of lane l is E[place[i * size + j]][l] (src/host/cellmatrix.c) */
typedef struct {
  PatchFDGeometry geometry;
  PetscInt        size; /* nodes of a cell */
  PetscReal      *pair;
  PatchFDLanes   *factor, *work[2], *sum, *E;
  PetscInt       *place;
} PatchFDCellMatrices;
PETSC_INTERN PetscErrorCode PatchFDCellMatricesCreate(const PatchFDPoints *, PatchFDCellMatrices *);
/* of the cells from `first` on, as far as they exist */
PETSC_INTERN PetscErrorCode PatchFDCellMatricesGet(PatchFDCellMatrices *, PetscCount first);
PETSC_INTERN PetscErrorCode PatchFDCellMatricesDestroy(PatchFDCellMatrices *);
/*
  Factors of a mesh as factors of a coarser one, at 2 degree + 1 Gauss points in a direction, whose cells are unions of its cells, with
  polynomials of the same degree or a lower one: kappa[cell][point][dim (dim + 1) / 2] and
  shift[cell][point], each if there is one, and the cells are all those of which the coarse ones consist (src/host/restrict.c)
*/
PETSC_INTERN PetscErrorCode PatchFDHostRestrict(const PatchFDPoints *, const PatchFDBox *, const PatchFDRange cells, const PatchFDUnion[3],
                                                const PatchFDRange coarse, PetscInt degree, PetscReal kappa[], PetscReal shift[]);
/* what it takes in a direction, of the fine cells first .. first + n - 1: their length in the coarse ones, which have length one, and the
   polynomials of the coarse points at the fine ones, L[n][coarse points][fine points] */
PETSC_INTERN PetscErrorCode PatchFDRestrictionLine(const PatchFDUnion *, PetscInt first, PetscInt n, const PatchFDRule *fine,
                                                   const PatchFDRule *coarse, PetscReal length[], PetscReal L[]);
/* such factors' means near degree + 1 Gauss points, which are positive definite */
PETSC_INTERN PetscErrorCode PatchFDHostPositiveCreate(const PatchFDPoints *, PatchFDPoints *positive);
PETSC_INTERN PetscErrorCode PatchFDHostPositiveDestroy(PatchFDPoints *positive);
/* the largest ratio of the means of K in two of the fine cells that a coarse one consists of, if it is larger than what it was */
PETSC_INTERN PetscErrorCode PatchFDHostContrast(const PatchFDPoints *, const PatchFDRange cells, const PatchFDUnion[3],
                                                const PatchFDRange coarse, PetscReal *contrast);
/* of all cells, E[ncells][nodes][nodes]; not of solids */
PETSC_INTERN PetscErrorCode PatchFDHostCellMatrices(const PatchFDPoints *, PetscReal E[]);
/* the matrix of dense->n[f] nodes from first[f] on of each field, the sum of those of cells, x fastest; its inverse, in place; inverses of
   several that are positive definite; otherwise as PatchFDHostDenseCreate() */
PETSC_INTERN PetscErrorCode PatchFDHostDenseCells(PetscInt degree, PetscInt dim, const PatchFDRange cells, const PetscReal E[],
                                                  const PetscInt first[][3], PatchFDDense *);
PETSC_INTERN PetscErrorCode PatchFDHostDenseInvert(PetscBool spd, PetscInt constants, PatchFDDense *, PetscBool *regular);
PETSC_INTERN PetscErrorCode PatchFDHostInvert(PetscInt count, PetscInt n, PetscReal *const K[], PetscBool *regular);
/*
  Triples (row, column, value) of an operator by quadrature, cell by cell: rownumber[ncells][nodes] and colnumber are the global numbers of
  a node as a row and as a column, or -1, as rows and columns of such triples then are; its components have the numbers ncomp * number + c.
  For solids the numbers are [component][ncells][nodes].  E: the matrices of the cells, or NULL if there are none yet.  Call with i = NULL
  for the count only.
*/
PETSC_INTERN PetscErrorCode PatchFDHostPointsTriples(const PatchFDPoints *, const PetscReal E[], const PetscInt rownumber[],
                                                     const PetscInt colnumber[], PetscCount *count, PetscInt i[], PetscInt j[],
                                                     PetscScalar v[]);
/* number[cell][...]: index[] on the box for the nodes of these cells, x fastest, -1 for those outside `range` */
PETSC_INTERN void PatchFDHostCellNumbers(PetscInt dim, PetscInt degree, const PatchFDRange cells, const PatchFDRange range,
                                         const PatchFDBox *, const PetscInt index[], PetscInt number[]);
/* first = node where a node less than nnodes, and not negative, stands in the list for the first time, otherwise -1 */
PETSC_INTERN PetscErrorCode PatchFDHostFirstNodes(PetscCount count, const PetscInt node[], PetscInt nnodes, PetscInt first[]);
/* own = node, or -1 where fixed[node ncomp] */
PETSC_INTERN void PatchFDHostFreeNodes(PetscCount count, const PetscInt node[], PetscInt ncomp, const PetscBool fixed[], PetscInt own[]);
