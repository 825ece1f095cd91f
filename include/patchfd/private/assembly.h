#pragma once
/* What set-up needs of loops: functions at nodes and quadrature points, entries of operators.  On the host, in double precision: not part of the kernel tables. */
#include <patchfd/private/kernels.h>

typedef PetscErrorCode (*PatchFDFunction)(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx);

/* u(node) = f(x(node)) for the nodes of `range`: of the Nc components of f the n from `first` on, interleaved; nodes[d][i] is the coordinate of node i */
PETSC_INTERN PetscErrorCode PatchFDHostInterpolate(PetscInt dim, PetscReal *const nodes[3], const PatchFDRange range, PatchFDFunction f, void *ctx, PetscReal time, PetscInt Nc, PetscInt first,
                                                   PetscInt n, const PatchFDBox *, PetscScalar u[]);

/* One direction of points in cells, quadrature points as a rule: nq points a cell.  The end of a line is one point of weight 1 in its last cell. */
typedef struct {
  PetscInt   degree, stride, nq;
  PetscReal *x, *w; /* [ncells * nq] */
  PetscReal *h;     /* [ncells] lengths of the cells */
  PetscReal *B[3];  /* [nq][degree + 1] the basis of the cell [0, 1] at the points: values, first and second derivatives */
} PatchFDQuadrature;

/* A field at points that all fields have in common, and where its nodes lie in an array */
typedef struct {
  PatchFDQuadrature q[3];
  PatchFDBox        box;
  size_t            at;    /* where the field begins in the array */
  PatchFDRange      write; /* the nodes that get loads */
} PatchFDFieldPoints;

/* b_i += integral of f_c phi_i over the cells of `cells`, for field c, c = 0 .. nfield - 1, and its nodes i of `write`; f has nfield components */
PETSC_INTERN PetscErrorCode PatchFDHostLoad(PetscInt dim, PetscInt nfield, const PatchFDFieldPoints[], const PatchFDRange cells, PatchFDFunction f, void *ctx, PetscReal time, PetscScalar b[]);

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
PETSC_INTERN PetscErrorCode PatchFDHostDeviation(PetscInt dim, PetscInt nfield, const PatchFDFieldPoints[], const PatchFDRange cells, PetscInt nder, const PatchFDDerivative[], PetscInt Nc,
                                                 PatchFDFunction f, void *ctx, PetscReal time, const PetscScalar u[], PatchFDDeviation[]);
/* v[Nc * point + c] = the field at the points of `cells`, which are those of the box `points`, x fastest */
PETSC_INTERN PetscErrorCode PatchFDHostValues(const PatchFDFieldPoints *, const PatchFDRange cells, const PetscScalar u[], const PatchFDBox *points, PetscInt Nc, PetscInt c, PetscScalar v[]);

/* diagonal of the operator on the nodes of each field's `write`, `fixed` elsewhere */
PETSC_INTERN PetscErrorCode PatchFDHostDiagonal(const PatchFDOperatorDesc *, PetscReal fixed, PetscScalar diag[]);
/*
  Cell-by-cell triples (row, column, value) of the operator; index[f] gives the global number of each node of field f's xbox.  Call with
  i = NULL for the count only.
*/
PETSC_INTERN PetscErrorCode PatchFDHostTriples(const PatchFDOperatorDesc *, const PetscInt *const index[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[]);
/* the same for the fixed nodes, those of `range` outside `free`: (node, node, value) */
PETSC_INTERN PetscErrorCode PatchFDHostFixedTriples(const PatchFDRange range, const PatchFDRange free, PetscReal value, const PatchFDBox *, const PetscInt index[], PetscCount *count, PetscInt i[],
                                                    PetscInt j[], PetscScalar v[]);
/*
  The same for an interpolation and its rows on all of fbox, whose nodes have the numbers row, row + 1, ...; column[] on cbox.  The entries of
  fixed nodes are stored as zeros: a product P' A P then has a place for the diagonal entries of the coarse ones.
*/
PETSC_INTERN PetscErrorCode PatchFDHostTransferTriples(const PatchFDTransferDesc *, PetscInt row, const PetscInt column[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[]);

/* coef X[2] (x) X[1] (x) X[0] in the rows of field `row` and the columns of field `col` of a patch */
typedef struct {
  PetscInt         row, col;
  PetscReal        coef;
  const PetscReal *X[3];
} PatchFDMatrixTerm;

/*
  The inverse of the matrix of a patch, a sum of terms, with nfield, n and odd set: its symmetries and sizes first (the number of entries is returned), so
  that it is known what it will take; then its blocks.  spd: it should be positive definite.  constants: a field whose constants may be a null space, or -1;
  then it is the pseudo-inverse.  regular: whether all that is true; otherwise there is no inverse.
*/
PETSC_INTERN PetscErrorCode PatchFDHostDenseParity(PetscInt nterm, const PatchFDMatrixTerm[], PatchFDDense *);
PETSC_INTERN PetscCount     PatchFDHostDenseSizes(PatchFDDense *);
PETSC_INTERN PetscErrorCode PatchFDHostDenseCreate(PetscInt nterm, const PatchFDMatrixTerm[], PetscBool spd, PetscInt constants, PatchFDDense *, PetscBool *regular);
PETSC_INTERN PetscErrorCode PatchFDHostDenseDestroy(PatchFDDense *);

/*
  What an operator by quadrature (PatchFDPoints) has at each point of a cell: w |J| J^{-1} K J^{-T}, the numbers rr rs rt ss st tt or rr rs ss of it, where
  there is kappa; then w |J| shift, where there is shift.
*/
typedef struct {
  const PatchFDPoints *p;
  PatchFDRule          rule;
  PetscInt             npoint, nfactor; /* of a cell; of a point */
  PetscReal           *B, *D;           /* [points][geodegree + 1]: basis of the geometry at the points */
  PetscReal           *x, *J, *work;
} PatchFDGeometry;

PETSC_INTERN PetscErrorCode PatchFDGeometryCreate(const PatchFDPoints *, PatchFDGeometry *);
/* factor[npoint][nfactor]; an error where the cell is inverted or kappa not positive */
PETSC_INTERN PetscErrorCode PatchFDGeometryCell(PatchFDGeometry *, PetscCount cell, PetscReal factor[]);
PETSC_INTERN PetscErrorCode PatchFDGeometryDestroy(PatchFDGeometry *);
/*
  Triples (row, column, value) of an operator by quadrature, cell by cell: number[ncells][nodes] is the global number of a node, or -1, its components have the numbers
  ncomp * number + c.  Call with i = NULL for the count only.
*/
PETSC_INTERN PetscErrorCode PatchFDHostPointsTriples(const PatchFDPoints *, const PetscInt number[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[]);
