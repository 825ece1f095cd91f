#pragma once
/* The matrices of a DMBOX: what operators are made of, and what a preconditioner can ask of them */
#include <patchfd/private/boximpl.h>
#include <patchfd/private/boxsolve.h>
#include <patchfd/private/fit.h>
#include <petsc/private/matimpl.h>

enum {
  MATBOX_MAX_BANDS = 27,
  MATBOX_MAX_TERMS = 24,
  MATBOX_MAX_ROWS  = 2 * MATBOX_MAX_BANDS /* of bands in patches; a band may have several fields with lines of their own */
};

typedef struct _Mat_Box Mat_Box;

/*
  What an operator is made of: a sum of terms, each a product of one-dimensional bands, which must be symmetric.  An operator (poisson.c,
  ...) fills it in for the fields of a DMBOX; everything else is made from it.  Terms point to the bands of the same form.
*/
struct _MatBoxForm {
  PetscInt    nband, nterm, nlift;
  PatchFDBand band[MATBOX_MAX_BANDS];
  PatchFDTerm term[MATBOX_MAX_TERMS];
  PatchFDTerm lift[MATBOX_MAX_TERMS]; /* what weak Dirichlet data bring into a right-hand side, from their values at the nodes */
  /* local solvers: fast diagonalization of A (x) M (x) M + M (x) A (x) M + M (x) M (x) A */
  const PatchFDBand *A[DMBOX_MAX_FIELDS][3], *M[DMBOX_MAX_FIELDS][3];
  PetscBool          odd[DMBOX_MAX_FIELDS][3]; /* does a reflection in this direction change the field's sign, too? */
  PetscBool          points;                   /* the operator is that of points, and the terms are a sum of products, */
  /* which is like it if that was asked for (MatBoxFormCreate()), and otherwise one of constants */
  PetscBool weighted;
  PetscBool separable; /* the operator is that sum; otherwise local solvers that diagonalize it are inexact */
  PetscBool spd;       /* positive definite, but for the null space */
  /* makes the null space, constants or vectors, or what costs little energy (`near`, for assembled matrices), or NULL; NULL for neither */
  PetscErrorCode (*nullspace)(const Mat_Box *, PetscBool near, MatNullSpace *);
  PetscInt    constants; /* a field whose constants can be that of a patch, and are that of MatBoxConstants(); or -1 */
  const char *defect;    /* NULL, or why solvers refuse the operator */
};

/* the first of these terms that has the band in direction d, or NULL */
static inline const PatchFDTerm *MatBoxFindTerm(PetscInt n, const PatchFDTerm term[], int d, const PatchFDBand *b)
{
  for (PetscInt i = 0; i < n; i++)
    if (term[i].dir[d] == b) return &term[i];
  return NULL;
}

/* All operators of a kind on a mesh are a linear space, whose elements have these coordinates: MatScale() and MatAXPY() work on them. */
typedef struct {
  PetscReal operator[DMBOX_MAX_COEFFICIENTS];
  PetscReal identity; /* the diagonal entries of fixed nodes: 1 until the matrix is scaled */
} MatBoxCoefficients;

/* entries (row, column, value) that this rank gives to the assembled matrix; the caller frees them with PetscFree3() */
typedef PetscErrorCode MatBoxTriplesFn(Mat, PetscCount *count, PetscInt **i, PetscInt **j, PetscScalar **v);

/* a MATSHELL with nrows x ncols local entries that refuses what its maker does not set (src/mat/shell.c) */
PETSC_INTERN PetscErrorCode MatBoxShellCreate(DM, size_t nrows, size_t ncols, void *ctx, MatBoxTriplesFn *, Mat *);
PETSC_INTERN PetscErrorCode MatBoxShellDestroy(Mat);
/* y = y0 + alpha A x for arrays of a kernel table, y0 NULL for zero, or y; and the same with Vecs */
typedef PetscErrorCode      MatArraysFn(void *ctx, PatchFDKernels, PetscReal alpha, const void *x, const void *y0, void *y);
PETSC_INTERN PetscErrorCode MatApplyArrays(MatArraysFn *, void *ctx, PetscReal alpha, Vec x, Vec y0, Vec y);
typedef struct {
  MatOperation op;
  PetscVoidFn *f;
} MatShellOperation;
PETSC_INTERN PetscErrorCode MatShellSetOperations(Mat, size_t n, const MatShellOperation[]);
/* MatMult_NAME(), MatMultAdd_NAME(), MatResidual_NAME() and MatIsSymmetric_NAME() by MatApply_NAME(A, alpha, x, y0, y), which is y = y0 +
   alpha A x with A = A' */
#define MAT_PRODUCTS(NAME) \
  static PetscErrorCode MatMult_##NAME(Mat A, Vec x, Vec y) \
  { \
    PetscFunctionBegin; \
    PetscCall(MatApply_##NAME(A, 1, x, NULL, y)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatMultAdd_##NAME(Mat A, Vec x, Vec v, Vec y) \
  { \
    PetscFunctionBegin; \
    PetscCall(MatApply_##NAME(A, 1, x, v, y)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatResidual_##NAME(Mat A, Vec b, Vec x, Vec r) \
  { \
    PetscFunctionBegin; \
    PetscCall(MatApply_##NAME(A, -1, x, b, r)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatIsSymmetric_##NAME(PETSC_UNUSED Mat A, PETSC_UNUSED PetscReal tol, PetscBool *symmetric) \
  { \
    PetscFunctionBegin; \
    *symmetric = PETSC_TRUE; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
/* the same and MatApply_NAME() for a Mat_NAME that MatNAMEGetCurrent(A, &m) finds and MatNAMEApply(), a MatArraysFn, applies */
#define MAT_ARRAY_PRODUCTS(NAME) \
  static PetscErrorCode MatApply_##NAME(Mat A, PetscReal alpha, Vec x, Vec y0, Vec y) \
  { \
    Mat_##NAME *m; \
    PetscFunctionBegin; \
    PetscCall(Mat##NAME##GetCurrent(A, &m)); \
    PetscCall(MatApplyArrays(Mat##NAME##Apply, m, alpha, x, y0, y)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  MAT_PRODUCTS(NAME)
/* and what they are in a table of operations */
#define MAT_PRODUCT_OPERATIONS(NAME) \
  {MATOP_MULT, (PetscVoidFn *)MatMult_##NAME}, {MATOP_MULT_ADD, (PetscVoidFn *)MatMultAdd_##NAME}, \
    {MATOP_MULT_TRANSPOSE, (PetscVoidFn *)MatMult_##NAME}, {MATOP_MULT_TRANSPOSE_ADD, (PetscVoidFn *)MatMultAdd_##NAME}, \
    {MATOP_RESIDUAL, (PetscVoidFn *)MatResidual_##NAME}, {MATOP_IS_SYMMETRIC, (PetscVoidFn *)MatIsSymmetric_##NAME}, \
  { \
    MATOP_IS_HERMITIAN, (PetscVoidFn *)MatIsSymmetric_##NAME \
  }
/* the four products of an interpolation by MatProlong_NAME(P, x, y0, y), which is y = y0 + P x, and MatRestrict_NAME(P, x, y0, y), y = y0 +
   P' x; y0 = NULL for zero */
#define MAT_TRANSFERS(NAME) \
  static PetscErrorCode MatMult_##NAME(Mat P, Vec x, Vec y) \
  { \
    PetscFunctionBegin; \
    PetscCall(MatProlong_##NAME(P, x, NULL, y)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatMultAdd_##NAME(Mat P, Vec x, Vec v, Vec y) \
  { \
    PetscFunctionBegin; \
    PetscCall(MatProlong_##NAME(P, x, v, y)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatMultTranspose_##NAME(Mat P, Vec x, Vec y) \
  { \
    PetscFunctionBegin; \
    PetscCall(MatRestrict_##NAME(P, x, NULL, y)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatMultTransposeAdd_##NAME(Mat P, Vec x, Vec v, Vec y) \
  { \
    PetscFunctionBegin; \
    PetscCall(MatRestrict_##NAME(P, x, v, y)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define MAT_TRANSFER_OPERATIONS(NAME) \
  {MATOP_MULT, (PetscVoidFn *)MatMult_##NAME}, {MATOP_MULT_ADD, (PetscVoidFn *)MatMultAdd_##NAME}, \
    {MATOP_MULT_TRANSPOSE, (PetscVoidFn *)MatMultTranspose_##NAME}, \
  { \
    MATOP_MULT_TRANSPOSE_ADD, (PetscVoidFn *)MatMultTransposeAdd_##NAME \
  }
/* an assembled matrix of the sizes of A; duplicate entries are summed, negative ones dropped; the arrays are overwritten */
PETSC_INTERN PetscErrorCode MatConvertTriples(Mat A, PetscCount count, PetscInt i[], PetscInt j[], PetscScalar v[], MatType, MatReuse,
                                              Mat *B);
/* for DMCreateMatrix() with -dm_mat_type aij or the like: the matrix assembled from the shell, which it keeps, in its place; nothing for
   shells */
PETSC_INTERN PetscErrorCode MatBoxShellAssemble(DM, Mat *);
/* is there something to print?  An error for viewers that want entries */
PETSC_INTERN PetscErrorCode MatBoxShellViewASCII(Mat, PetscViewer, PetscBool *ascii);

/*
  What a local solver is made of.  `alone`: the matrices of the patches are those of the patch as a mesh of its own, with the boundary
  terms at its own ends; on uniform meshes that is one matrix for nearly all patches.
*/
typedef enum {
  MATBOX_LOCAL_FD, /* fast diagonalization: exact if the form is separable */
  MATBOX_LOCAL_FD_ALONE,
  MATBOX_LOCAL_DENSE, /* inverses of the patches' matrices */
  MATBOX_LOCAL_DENSE_ALONE,
  MATBOX_LOCAL_SCHUR, /* fast diagonalization of the velocities, conjugate gradients for the pressure */
  MATBOX_LOCAL_SCHUR_ALONE,
  MATBOX_LOCAL_OWN,    /* fast diagonalization of a fit to each patch: matrices of its own, */
  MATBOX_LOCAL_SHARED, /* or numbers of its own and matrices of constants */
  MATBOX_LOCAL_WHOLE   /* the inverse of the matrix itself: the whole mesh is one patch */
} MatBoxLocalType;

typedef struct _MatBoxFit *MatBoxFit; /* fit.c */

/* all that is asked of a local solver; what its type does not read is zero */
typedef struct {
  MatBoxLocalType type;
  PetscReal       rtol; /* of conjugate gradients */
  PetscInt        maxit;
  PatchFDFitRule  fit;
} MatBoxLocalRule;

/* Those who ask for the same of the same matrix have one in common (MatBoxLocalGet()); it holds the matrix' numbers, not the Mat */
typedef struct _MatBoxLocal MatBoxLocal;
struct _MatBoxLocal {
  PetscInt          refct;
  Mat_Box          *m;
  MatBoxLocal      *next; /* of the same matrix */
  MatBoxLocalRule   rule;
  PetscReal         damping;                      /* see MatBoxGetDamping(); 0 before */
  Vec               scaling[PATCHFD_NUM_KERNELS]; /* see MatBoxLocalGetScaling() */
  MatBoxForm        weighted;                     /* whose patches those of MATBOX_LOCAL_FD are on a form of points; empty for others */
  PatchFDPatches    patches[DMBOX_MAX_FIELDS][3];
  PetscBool         havepatches;
  PetscInt          nclass[3], *cls[3];         /* the classes that say all about a patch in a direction, whatever the field */
  PatchFDLocalField field[2][DMBOX_MAX_FIELDS]; /* on local arrays, and on global ones that are rings */
  PetscInt          nterm;
  PetscInt          nrows; /* of the form's bands, for residuals and inverses */
  PatchFDRows       rows[MATBOX_MAX_ROWS];
  PatchFDRowTerm    term[MATBOX_MAX_TERMS];
  PetscInt          ndense;
  PatchFDDense     *dense;
  PetscInt          nphase, ncolor;
  PatchFDColor      color[PATCHFD_MAX_COLORS];
  void             *plan[PATCHFD_NUM_KERNELS][PATCHFD_NUM_PRECISIONS];
  PetscBool         wraps[PATCHFD_NUM_KERNELS]; /* do plans work on global arrays around rings, without ghosts? */
  MatBoxFit         fit[PATCHFD_NUM_KERNELS];   /* in place of plans */
  PetscBool         singular; /* a patch of this rank is, or is not definite where it should be: the solver must not be used */
};

/* of arrays to other ranks and back; nothing where it is NULL */
typedef struct {
  PatchFDHalo in, out;
} MatBoxTransfer;

/* What the nodes that are fixed by the boundary conditions have in a matrix */
typedef enum {
  MATBOX_FIXED_IDENTITY, /* rows and columns of the identity */
  MATBOX_FIXED_COLUMNS,  /* the columns of the operator's terms; their rows are zero */
  MATBOX_FIXED_BOTH      /* rows and columns of the terms, as other nodes */
} MatBoxFixedNodes;

/*
  The numbers of an operator matrix.  The one-dimensional objects are made on first use and live here, so that all smoothers of a level
  share them; plans are made for each kernel table that meets the matrix.  Local solvers hold it: if a matrix with such holders gets other
  coefficients it gets another one of these (MatBoxChange()), and they work on with the old one, until they are made anew.
*/
struct _Mat_Box {
  PetscInt           holders; /* beside the matrix */
  MatBoxLocal       *locals;  /* those that there are */
  DM                 dm;
  DMBoxMatrix        entry; /* in the DM's list of matrices */
  MatBoxFixedNodes   fixed;
  MatBoxCoefficients c;       /* what the objects below were made for */
  MatBoxCoefficients taken;   /* those of the DM's operator when the matrix last took them over */
  PetscInt64         version; /* of the operator's data, and which of them the objects were made for */
  MatBoxForm         form;
  MatNullSpace       nullspace; /* that form.nullspace made, or NULL */
  PatchFDEigen       whole[3];  /* eigenvectors of the lines of the whole box */
  PetscBool          havewhole[3];
  PC                 factors;     /* of the whole box, where there are no such eigenvectors, on one rank */
  MatNullSpace       factor_null; /* the constants, if these are what the first unknown is fixed for */
  Vec                factor_b, factor_x;
  /* to the arrays that are solved directly, and back: the whole box on every rank, or slabs that they share; whole.c */
  MatBoxTransfer  direct[2];
  PatchFDCut      cut; /* of the last direction into slabs of the ranks, and the eigenvectors of this one's piece */
  PatchFDEigen    piece;
  PetscBool       shared[PATCHFD_NUM_KERNELS]; /* do ranks share the direct solve? */
  void           *mult[PATCHFD_NUM_KERNELS];
  PetscBool       wraps[PATCHFD_NUM_KERNELS];   /* does it work on global arrays around rings, without ghosts? */
  void           *ghosted[PATCHFD_NUM_KERNELS]; /* between local arrays, for residuals in sweeps */
  PatchFDBoxSolve boxsolve[PATCHFD_NUM_KERNELS];
  void           *whole_b[PATCHFD_NUM_KERNELS], *whole_x[PATCHFD_NUM_KERNELS]; /* these arrays */
  PetscBool       wholesingular;                                               /* the direct solve divides by zero, or nearly so */
};

/* the functions of a DMBoxOperator that are the same for all operators with a form; the operator sets `form` and what is its own
   (src/mat/box.c) */
PETSC_INTERN PetscErrorCode DMBoxOperatorSetMatBox(DMBoxOperator);
PETSC_INTERN PetscErrorCode DMBoxLift_MatBox(DM, Vec g, Vec b);            /* its lift, for operators that have to look at the data first */
PETSC_INTERN PetscErrorCode DMBoxOperatorCreate_Poisson(DMBoxOperator);    /* poisson.c */
PETSC_INTERN PetscErrorCode DMBoxOperatorCreate_Biharmonic(DMBoxOperator); /* biharmonic.c */
PETSC_INTERN PetscErrorCode DMBoxOperatorCreate_Stokes(DMBoxOperator);     /* stokes.c */
PETSC_INTERN PetscErrorCode DMBoxOperatorCreate_Elasticity(DMBoxOperator); /* elasticity.c */
PETSC_INTERN PetscErrorCode DMBoxOperatorCreate_Heat(DMBoxOperator);       /* heat.c */
PETSC_INTERN PetscErrorCode DMBoxOperatorCreate_Diffusion(DMBoxOperator);  /* diffusion.c */
/* Robin conditions, of operators that have them: is one of these coefficients not zero?  And what `check`, `setfromoptions` and `view` do
   (robin.c) */
PETSC_INTERN PetscBool      DMBoxHasRobin(const DMBoxOperator, const PetscReal coefficient[]);
PETSC_INTERN PetscErrorCode DMBoxCheckRobin(DM, const DMBoxOperator);
PETSC_INTERN PetscErrorCode DMBoxOptionsRobin(DM, const DMBoxOperator, PatchFDOptionItems);
PETSC_INTERN PetscErrorCode DMBoxViewRobin(PetscInt dim, const PetscReal h[], PetscViewer);
PETSC_INTERN PetscErrorCode DMCreateInterpolation_MatBox(DM coarse, DM fine, Mat *, Vec *); /* transfer.c */
/* an interpolation, not assembled, to the nodes with a one only */
PETSC_INTERN PetscErrorCode MatTransferSetMask(Mat, Vec mask);
PETSC_INTERN PetscErrorCode DMSetUpSolvers_MatBox(DM); /* solvers.c */
/* called when a matrix is made, since that is the one thing that a SNES without callbacks asks of its DM: solvers.c */
PETSC_INTERN PetscErrorCode DMBoxSetSNESDefaults(DM);

/* a matrix of these coefficients, of the DM's operator for example; or other coefficients for one that is there, and the null space that
   they make */
PETSC_INTERN PetscErrorCode MatBoxCreate(DM, const MatBoxCoefficients *, Mat *);
PETSC_INTERN PetscErrorCode MatBoxBuild(Mat_Box *, const MatBoxCoefficients *);
/* the same for a matrix whose numbers others may hold: *m, which are its own, become those that it has then */
PETSC_INTERN PetscErrorCode MatBoxChange(Mat, const MatBoxCoefficients *, Mat_Box **m);
/* lets go of it; the last one frees it */
PETSC_INTERN PetscErrorCode MatBoxRelease(Mat_Box **);
/* the form of its mesh; its bands are to be destroyed */
PETSC_INTERN PetscErrorCode MatBoxFormCreate(const Mat_Box *, PetscBool weighted, MatBoxForm *);
PETSC_INTERN PetscErrorCode MatBoxFormDestroy(MatBoxForm *);
/* frees what was made */
PETSC_INTERN PetscErrorCode MatBoxReset(Mat_Box *);
/* its products with global arrays; the context is a Mat_Box */
PETSC_INTERN MatArraysFn MatBoxApply;
/* the terms on this rank's part, for a plan: the fields go to `field`, an array of DMBOX_MAX_FIELDS; and the plan */
PETSC_INTERN void           MatBoxDescribe(const Mat_Box *, PatchFDField field[], PatchFDOperatorDesc *);
PETSC_INTERN PetscErrorCode MatBoxOperatorCreate(const Mat_Box *, PatchFDKernels, PatchFDOperatorDesc *, PetscBool *wraps, void **plan);
/* the null space whose elements are the constants of the field that the form names */
PETSC_INTERN PetscErrorCode MatBoxConstants(const Mat_Box *, PetscBool near, MatNullSpace *);
/* the matrix says what PETSc asks for: its null space, that it is symmetric, and whether it is known to be definite or indefinite */
PETSC_INTERN PetscErrorCode MatBoxSetProperties(Mat, const Mat_Box *);

/* ---- what a matrix is after its DM has changed, src/mat/follow.c ---- */

/* What a matrix is to take over from its DM; CHANGES: if the DM has others than it had when the matrix last took them */
typedef enum {
  MATBOX_TAKE_NOTHING, /* look whether ALL would change the matrix; that can wait until its next use, unless a null space depends on it */
  MATBOX_TAKE_CHANGES,
  MATBOX_TAKE_ALL
} MatBoxTakeWhat;
/*
  rate: what a time integrator adds to the mass matrix; dm: NULL, or the one that a solver has, which may be another one on the same mesh.
  Object states are the caller's
*/
typedef PetscErrorCode MatBoxTakeFn(Mat shell, DM dm, PetscReal rate, MatBoxTakeWhat, PetscBool *changed);
/* for whoever makes a matrix: an entry in the DM's list, and what takes it out again before the matrix lets go of the DM */
PETSC_INTERN PetscErrorCode MatBoxRegister(Mat shell, DM, MatBoxTakeFn *, DMBoxMatrix *);
PETSC_INTERN PetscErrorCode MatBoxUnregister(DM, DMBoxMatrix *);
/* a matrix, the shell or what was assembled from it, that has just been made with all that the DM has follows it from now on */
PETSC_INTERN PetscErrorCode MatBoxFollowDM(DMBoxMatrix, Mat);
/*
  As MatBoxUpdate(), with what a time integrator adds to the mass matrix of the DM at the moment, but only CHANGES: a scaled matrix stays
  scaled.
  Nothing for other matrices and DMs
*/
PETSC_INTERN PetscErrorCode MatBoxUpdateStep(Mat, DM);
/* the same, but ALL, and the matrix does not follow its DM from now on */
PETSC_INTERN PetscErrorCode MatBoxComputeJacobian(Mat, DM);
/* instead of MatShellGetContext(): a matrix that follows its DM takes over what is new */
PETSC_INTERN PetscErrorCode MatBoxGetCurrent(Mat, Mat_Box **);
/* an error if the matrix does not follow its DM, and the DM's data are no longer those that it was made of */
PETSC_INTERN PetscErrorCode MatBoxCheckData(const Mat_Box *);

/* ---- coefficients, src/mat/algebra.c ---- */

/* of the DM's operator, with what a time integrator adds to the mass matrix */
PETSC_INTERN MatBoxCoefficients MatBoxCoefficientsOfDM(DM, PetscReal rate);
PETSC_INTERN PetscBool          MatBoxCoefficientsAXPBY(MatBoxCoefficients *, PetscReal, PetscReal, const MatBoxCoefficients *);
PETSC_INTERN MatBoxTakeFn       MatBoxTake_Box;
/* the matrix can be scaled, copied and added to others of its kind, and take over what its DM has */
PETSC_INTERN PetscErrorCode MatBoxSetAlgebra(Mat, Mat_Box *);

/* ---- what solvers ask for ---- */

/* name of the operator, degree of its space, and whether it is a saddle point */
static inline const char *MatBoxName(const Mat_Box *m)
{
  return ((const DM_Box *)m->dm->data)->op->name;
}
static inline PetscInt MatBoxDegree(const Mat_Box *m)
{
  return ((const DM_Box *)m->dm->data)->degree;
}
static inline PetscBool MatBoxIsSaddlePoint(const Mat_Box *m)
{
  return ((const DM_Box *)m->dm->data)->op->saddle;
}
/* is it that of a vector field, whose components are coupled? */
static inline PetscBool MatBoxIsCoupled(const Mat_Box *m)
{
  return (PetscBool)(((const DM_Box *)m->dm->data)->nfield > 1 && !MatBoxIsSaddlePoint(m));
}
/* the data of a DMBOX operator, or NULL for other matrices */
PETSC_INTERN PetscErrorCode MatBoxFind(Mat, Mat_Box **);
/* the same, or an error that says what is supported; `who` is named in it */
PETSC_INTERN PetscErrorCode MatBoxGet(Mat, const char *who, Mat_Box **);
/* if both are DMBOX operators of the same kind, and the one on the finer mesh does not follow its DM: the coarser one gets its coefficients
   */
PETSC_INTERN PetscErrorCode MatBoxFollow(Mat coarse, Mat fine);
/* what a matrix may compose as "MatCanRecord_C": after a first one, may its product with a vector be recorded?  By kernels alone, and
   between ranks without the host */
typedef PetscErrorCode MatCanRecordFn(Mat, PatchFDKernels, PetscBool *can);
/* is its residual computed by our kernels alone, does a transfer matrix prolongate and restrict by them alone: may it be recorded? */
PETSC_INTERN PetscErrorCode MatBoxIsOwn(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatBoxSetProducts(Mat); /* makes it so */
PETSC_INTERN PetscErrorCode MatTransferIsOwn(Mat, PetscBool *);
/* 0 A, and A - B with equal identity rows, are matrices as good as others until somebody wants to solve with them: an error then */
PETSC_INTERN PetscErrorCode MatBoxCheckRegular(const Mat_Box *);

/* ---- local solvers, src/mat/local.c; b, r and x are global arrays of a kernel table ---- */

/* the one that does what the rule says, or a new one; and lets go of it */
PETSC_INTERN PetscErrorCode MatBoxLocalGet(Mat_Box *, const MatBoxLocalRule *, MatBoxLocal **);
PETSC_INTERN PetscErrorCode MatBoxLocalRelease(MatBoxLocal **);
/* Patches, colours and the kernels' plan, unless they are there.  Collective, as everything here */
PETSC_INTERN PetscErrorCode MatBoxLocalSetUp(MatBoxLocal *, PatchFDKernels, PatchFDPrecision);
/* which kernels it has then, for people to read; NULL where there is no choice */
PETSC_INTERN const char *MatBoxLocalKernels(const MatBoxLocal *, PatchFDKernels, PatchFDPrecision);
/* do dense inverses converge faster in time than fast diagonalization of what is separable?  By measurement (benchmarks/poisson
   -dm_box_operator biharmonic) */
PETSC_INTERN PetscBool MatBoxLocalIsDenseBest(const Mat_Box *, PatchFDKernels);
/* the lowest precision of their products that costs no iterations and saves time; by measurement, too */
PETSC_INTERN PatchFDPrecision MatBoxLocalBestPrecision(const Mat_Box *, PatchFDKernels);
/* is the matrix all of one patch?  Then a local solver for exact matrices solves with it */
PETSC_INTERN PetscBool MatBoxIsOnePatch(const Mat_Box *);
/* may the whole mesh be one, with a dense inverse that takes no more time and memory than a factorization? */
#define MATBOX_WHOLE_ENTRIES_GPU 1.2e7 /* of the inverse of an operator by quadrature there */
PETSC_INTERN PetscBool MatBoxLocalTakesWhole(const Mat_Box *, PatchFDKernels);
/* how many patches of a direction are colours of their own: the last ones of a ring, see sweep.c */
static inline PetscInt MatBoxLocalSingles(const MatBoxLocal *l, int d)
{
  return ((const DM_Box *)l->m->dm->data)->field[0].line[d].turn % (2 * l->nphase);
}
static inline PetscBool MatBoxLocalHasSingles(const MatBoxLocal *l)
{
  return (PetscBool)(MatBoxLocalSingles(l, 0) || MatBoxLocalSingles(l, 1) || MatBoxLocalSingles(l, 2));
}
/* do operators know its colours, whose residuals they compute?  Not those of the last patches of rings, nor one of more than two cells */
static inline PetscBool MatBoxLocalHasOperatorColors(const MatBoxLocal *l)
{
  return (PetscBool)(!MatBoxLocalHasSingles(l) && l->rule.type != MATBOX_LOCAL_WHOLE);
}
/* the colours of a direction, without phases: those of all are their products, x fastest */
static inline PetscInt MatBoxLocalLineColors(const MatBoxLocal *l, int d)
{
  return PetscMin(2, l->patches[0][d].npatch) + MatBoxLocalSingles(l, d);
}
/*
  The colours of a sweep, PATCHFD_MAX_COLORS at most.  residual: the residual of all patches of a colour is computed before they are solved,
  which needs no phases with terms; otherwise patches must not see what others of their colour write
*/
PETSC_INTERN PetscInt MatBoxLocalColors(const MatBoxLocal *, PetscBool residual, PatchFDColor[]);
/* does the patches' residual have terms that are not in what is diagonalized, so that BOUNDARY does not exist? */
PETSC_INTERN PetscBool MatBoxLocalHasTerms(const MatBoxLocal *);
/* do all patches have one unknown? */
static inline PetscBool MatBoxLocalIsPointwise(const MatBoxLocal *l)
{
  const PatchFDPatches *const dir[3] = {&l->patches[0][0], &l->patches[0][1], &l->patches[0][2]};

  return PatchFDPatchesArePointwise(dir);
}
/*
  n colours, one after another, on x, `its` times.  operation: BOUNDARY, FUSED, or, with a residual of all patches of a colour before their
  solves, SOLVE, if patches compute it, or RESIDUAL, if the operator does; that is for what MatBoxLocalTakesOperator() says
*/
PETSC_INTERN PetscErrorCode MatBoxLocalSweep(MatBoxLocal *, PatchFDKernels, PatchFDPrecision, PatchFDPatchOp operation, PetscInt64 its,
                                             PetscInt n, const PatchFDColor[], PetscReal omega, PetscBool zero, const void *b, void *x);
PETSC_INTERN PetscBool      MatBoxLocalTakesOperator(const MatBoxLocal *);
/* r = b - A x for the patches of one colour, both phases of it: at their free nodes, other numbers of r become anything (boxform.c) */
PETSC_INTERN PetscErrorCode MatBoxResidual(Mat_Box *, PatchFDKernels, const PatchFDColor *, const void *b, const void *x, void *r);
/*
  Where local solvers are those of an operator nearby (scaling.c): the roots of the ratios of its diagonal and that of the matrix, a Vec
  like `v`, which belongs to the local solvers; NULL for others
*/
PETSC_INTERN PetscErrorCode MatBoxLocalGetScaling(MatBoxLocal *, Vec v, Vec *scaling);
/* as MatBoxLocalCorrect() on Vecs, from s r, and s times the corrections: sr and z have room, sr may be r */
PETSC_INTERN PetscErrorCode MatBoxLocalCorrectScaled(MatBoxLocal *, PatchFDKernels, PatchFDPrecision, PetscInt n, const PatchFDColor[],
                                                     PetscReal omega, Vec s, Vec r, Vec sr, Vec z, Vec x);
/* a damping with which that converges */
PETSC_INTERN PetscErrorCode MatBoxGetDamping(MatBoxLocal *, PatchFDPrecision, PetscReal *omega);
/* diagonals of the terms and of the points, box.c */
PETSC_INTERN PetscErrorCode MatBoxTermDiagonal(const Mat_Box *, Vec);
PETSC_INTERN PetscErrorCode MatBoxPointDiagonal(Mat_Box *, Vec);
/* x += omega times the corrections of all patches of these colours, from one residual */
PETSC_INTERN PetscErrorCode MatBoxLocalCorrect(MatBoxLocal *, PatchFDKernels, PatchFDPrecision, PetscInt n, const PatchFDColor[],
                                               PetscReal omega, const void *r, void *x);
PETSC_INTERN PetscErrorCode MatBoxLocalView(const MatBoxLocal *, PatchFDKernels, PetscViewer);
PETSC_INTERN PetscLogDouble MatBoxLocalBytes(const MatBoxLocal *, PatchFDKernels); /* this rank's */
/* numbers of the patches that touch this rank's unknowns */
PETSC_INTERN void MatBoxLocalRange(const Mat_Box *, const MatBoxLocal *, PatchFDRange);

/* ---- fits to each patch, src/mat/fit.c, for local.c ---- */

/* for operators by quadrature, fit.c: all patches that a rank has, each a class of its own; localcreate, with their inverses */
PETSC_INTERN PetscErrorCode MatBoxPointsClasses(const Mat_Box *, MatBoxLocal *);
PETSC_INTERN PetscErrorCode MatBoxPointsLocalCreate(const Mat_Box *, MatBoxLocal *, PatchFDKernels, PatchFDLocalDesc *, void **plan);
/* an operator by quadrature in these cells, on local arrays, to whose metric something is fitted: where that of the matrix has factors of
   a finer mesh, means of them, which are positive.  Collective */
PETSC_INTERN PetscErrorCode MatBoxMetricCreate(const Mat_Box *, PatchFDKernels, const PatchFDRange cells, void **plan);
PETSC_INTERN PetscErrorCode MatBoxFitSetUp(Mat_Box *, const MatBoxLocal *, PetscBool shared, PatchFDKernels, MatBoxFit *,
                                           PetscBool *regular);
PETSC_INTERN PetscErrorCode MatBoxFitDestroy(PatchFDKernels, MatBoxFit *);
/* x += omega times the corrections of all patches of these colours, from one residual; global arrays */
PETSC_INTERN PetscErrorCode MatBoxFitCorrect(const Mat_Box *, const MatBoxLocal *, PatchFDKernels, PetscInt n, const PatchFDColor[],
                                             PetscReal omega, const void *r, void *x);
/* do exact patches with rows take less time than fits, and not too much memory? */
PETSC_INTERN PetscBool MatBoxFitTakesRows(const Mat_Box *);
/* have patches residuals of their own, on GPUs? */
PETSC_INTERN PetscBool MatBoxFitTakesResiduals(const Mat_Box *, PatchFDKernels);
/* these colours one after another, `its` times, where all patches are exact and have rows, or residuals of their own */
PETSC_INTERN PetscErrorCode MatBoxFitSweep(Mat_Box *, const MatBoxLocal *, PatchFDKernels, PetscInt64 its, PetscInt n, const PatchFDColor[],
                                           PetscReal omega, PetscBool zero, const void *b, void *x);
/* how many patches take how many steps */
PETSC_INTERN PetscErrorCode MatBoxFitView(const Mat_Box *, const MatBoxLocal *, PatchFDKernels, PetscViewer);
PETSC_INTERN PetscLogDouble MatBoxFitBytes(const MatBoxLocal *, PatchFDKernels); /* this rank's */
/* f or data, n numbers a point, times `scale` plus `added` at the points of these cells, or NULL where there is neither; Vecs of others are
   not changed.  All ranks at once where there are data or rings (diffusionpoints.c) */
PETSC_INTERN PetscErrorCode DMBoxPointsCoefficient(DM, const PatchFDRange cells, PetscInt n, DMBoxFunctionFn *f, void *ctx,
                                                   DMBoxCellData *data, PetscReal scale, PetscReal added, Vec *);
/* of an operator by quadrature, box.c: its points in these cells (until ops.pointsdestroy), and a plan, which belongs to the matrix */
PETSC_INTERN PetscErrorCode MatBoxGetPoints(const Mat_Box *, const PatchFDRange cells, PetscBool device, PatchFDPoints *);
PETSC_INTERN PetscErrorCode MatBoxGetOperator(Mat_Box *, PatchFDKernels, void **plan);
/* from one local array to another, with the rows of all patches that this rank solves; for operators of terms, not around rings */
PETSC_INTERN PetscErrorCode MatBoxGetGhostedOperator(Mat_Box *, PatchFDKernels, void **plan);

/* ---- the whole box, src/mat/whole.c ---- */

/* x = A^{-1} b on the free nodes of a separable operator, by fast diagonalization of the whole box */
PETSC_INTERN PetscErrorCode MatBoxDirectSetUp(Mat_Box *, PatchFDKernels);
PETSC_INTERN PetscErrorCode MatBoxDirectSolve(Mat_Box *, PatchFDKernels, const void *b, void *x);
/*
  n, which is how often a mesh can be coarsened, becomes how often it should be: on a GPU kernels on small meshes take no longer than their
  launches, and one product with the dense inverse of a larger mesh, some microseconds, less than a visit of the levels below.  For
  saddle points on one rank
*/
/* the nodes of a line that has been halved so often (DMBoxGetHalvings()); is a direction its own mirror image, so that modes are even or
   odd, or a ring its own image after half a turn? */
static inline PetscLogDouble DMBoxCoarseNodes(const PatchFDLine *line, PetscInt halvings)
{
  if (line->turn) return (PetscLogDouble)((line->turn >> halvings) * line->stride);
  return (PetscLogDouble)(((line->ncells - 1) >> halvings) + 1) * line->stride + line->nnodes - line->ncells * line->stride;
}

static inline PetscBool DMBoxIsMirrored(const DM_Box *box, PetscInt d)
{
  return (PetscBool)(!box->nvertices[d] && box->field[0].line[d].turn % 2 == 0 && box->boundary[2 * d] == box->boundary[2 * d + 1]);
}

/* of n coarsenings no more than it takes to have at most so many unknowns; PETSC_DECIDE: some thousands for large problems on GPUs */
PETSC_INTERN PetscErrorCode MatBoxLimitCoarsenings(DM, PetscInt limit, PetscInt *n);
/* where n of them lead to a mesh that nothing diagonalizes and that is too large to be factored one more, which is to lower the degree to 1
   (DMBoxSetLowering()), if cells do not fold then, or to 2 for plates; whether even that is too large, and whether it is by quadrature */
PETSC_INTERN PetscErrorCode MatBoxLowerDegree(DM, PetscInt *n, PetscInt *degree, PetscBool *large, PetscBool *points);
/*
  Of n coarsenings as many as take the least time for set-up and one solve, by a model (cost.c) of operators that fast diagonalization
  solves; seconds, also of V-cycles after all n.
  Zeros where there is no estimate
*/
PETSC_INTERN PetscErrorCode MatBoxChooseCoarsenings(DM, PetscInt *n, PetscLogDouble *chosen, PetscLogDouble *cycles);
PETSC_INTERN PetscErrorCode MatBoxWholeCoarsenings(DM, PetscInt *n);
/* x = A^{-1} b for any operator, by a factorization of the assembled matrix, which every rank has: for coarse meshes */
PETSC_INTERN PetscErrorCode MatBoxFactorSetUp(Mat, Mat_Box *);
PETSC_INTERN PetscErrorCode MatBoxFactorSolve(Mat_Box *, Vec b, Vec x);
PETSC_INTERN PetscErrorCode MatBoxFactorReset(Mat_Box *);
/* are closed cells the faster smoothers of multigrid? (boxcells.c) */
PETSC_INTERN PetscErrorCode MatBoxPrefersCells(Mat, PetscBool *);
/* the rows of fixed nodes: x = (1 - omega) x + omega b / identity */
PETSC_INTERN PetscErrorCode MatBoxSolveFixed(Mat_Box *, PatchFDKernels, PetscReal omega, const void *b, void *x);
/* x = 0 */
PETSC_INTERN PetscErrorCode MatBoxZero(Mat_Box *, PatchFDKernels, void *x);
