#pragma once
/* libpatchfd: high-order finite element multigrid for PETSc, by tensor-product patch smoothers.  The public interface. */
#include <petscts.h>
#include <petscdm.h>

#define PATCHFD_VERSION_MAJOR 0
#define PATCHFD_VERSION_MINOR 1
#define PATCHFD_VERSION_SUBMINOR 0

#define DMBOX     "box"
#define PCPATCHFD "patchfd"
#define PCPATCHMG "patchmg"
#define KSPFUSEDCG "fusedcg"

PETSC_EXTERN PetscErrorCode PatchFDInitializePackage(void);
PETSC_EXTERN PetscErrorCode PatchFDFinalizePackage(void);

/* ---- DMBOX ---- */
/*E
  DMBoxSpace - The finite element space on a `DMBOX`

  Values:
+ `DMBOX_Q` (`q`)     - continuous functions, polynomials of degree k in each direction on each cell (Q_k), with Gauss-Lobatto nodes
. `DMBOX_DGQ` (`dgq`) - the same without continuity (DGQ_k); operators have the face terms of interior penalty methods
- `DMBOX_RT` (`rt`)   - a velocity and a pressure: the Raviart-Thomas space RT_k, whose component i is continuous of degree k + 1 in direction i and discontinuous of
                        degree k in the others, and DGQ_k. The divergence of a velocity is in the space of the pressure

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetSpace()`, `DMBoxSetDegree()`
E*/
typedef enum {
  DMBOX_Q,
  DMBOX_DGQ,
  DMBOX_RT
} DMBoxSpace;
PETSC_EXTERN const char *const DMBoxSpaces[];

/*E
  DMBoxBoundaryType - The boundary condition on a side of a `DMBOX`

  Values:
+ `DMBOX_DIRICHLET` (`dirichlet`) - values are given; zero unless `DMBoxLiftDirichlet()` brings others in. For `biharmonic` a clamped side: the normal derivative is
                                    given, too; zero unless `DMBoxAddBendingLoad()` brings another in
. `DMBOX_NEUMANN` (`neumann`)     - the flux, or for `stokes` the stress, is given; zero unless `DMBoxAddNeumannLoad()` brings another in; not for `biharmonic`
- `DMBOX_SUPPORTED` (`supported`) - a simply supported side, for `biharmonic` only: values are given, and the second normal derivative (the moment); zero unless
                                    `DMBoxLiftDirichlet()` and `DMBoxAddBendingLoad()` bring others in

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetBoundary()`
E*/
typedef enum {
  DMBOX_DIRICHLET,
  DMBOX_NEUMANN,
  DMBOX_SUPPORTED
} DMBoxBoundaryType;
PETSC_EXTERN const char *const DMBoxBoundaryTypes[];

/*S
  DMBoxFunction - A function of space and time on a `DMBOX`

  Calling Sequence:
+ dim  - number of coordinates
. time - the time
. x    - the point, dim coordinates
. Nc   - number of components: 1; with the space `DMBOX_RT` dim + 1, the velocity and then the pressure.  The exceptions are named where they are
. u    - the values at the point, Nc of them, to be set
- ctx  - the context given with the function

  Level: beginner

.seealso: `DMBOX`, `DMBoxInterpolateFunction()`, `DMBoxAddLoad()`, `DMBoxAddNeumannLoad()`, `DMBoxAddBendingLoad()`, `DMBoxComputeError()`,
          `DMBoxComputeBendingError()`, `DMBoxComputeStokesError()`
S*/
typedef PetscErrorCode (*DMBoxFunction)(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx);

PETSC_EXTERN PetscErrorCode DMBoxCreate(MPI_Comm, PetscInt dim, const PetscInt cells[], PetscInt degree, DM *);
PETSC_EXTERN PetscErrorCode DMBoxSetCells(DM, const PetscInt[]);
PETSC_EXTERN PetscErrorCode DMBoxGetCells(DM, PetscInt[]);
PETSC_EXTERN PetscErrorCode DMBoxSetBounds(DM, const PetscReal lower[], const PetscReal upper[]);
PETSC_EXTERN PetscErrorCode DMBoxGetBounds(DM, PetscReal lower[], PetscReal upper[]);
PETSC_EXTERN PetscErrorCode DMBoxSetVertices(DM, PetscInt direction, PetscInt n, const PetscReal vertices[]);
PETSC_EXTERN PetscErrorCode DMBoxSetDegree(DM, PetscInt);
PETSC_EXTERN PetscErrorCode DMBoxGetDegree(DM, PetscInt *);
PETSC_EXTERN PetscErrorCode DMBoxSetSpace(DM, DMBoxSpace);
PETSC_EXTERN PetscErrorCode DMBoxGetSpace(DM, DMBoxSpace *);
PETSC_EXTERN PetscErrorCode DMBoxSetBoundary(DM, const DMBoxBoundaryType[]);
PETSC_EXTERN PetscErrorCode DMBoxGetBoundary(DM, DMBoxBoundaryType[]);
PETSC_EXTERN PetscErrorCode DMBoxSetProcesses(DM, const PetscInt[]);
PETSC_EXTERN PetscErrorCode DMBoxGetProcesses(DM, PetscInt[]);
PETSC_EXTERN PetscErrorCode DMBoxSetOperator(DM, const char name[]);
PETSC_EXTERN PetscErrorCode DMBoxGetOperator(DM, const char *name[]);
PETSC_EXTERN PetscErrorCode DMBoxSetPoisson(DM, const PetscReal diffusion[], PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxGetPoisson(DM, PetscReal diffusion[], PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxSetBiharmonic(DM, PetscReal bending, PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxGetBiharmonic(DM, PetscReal *bending, PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxSetStokes(DM, PetscReal viscosity, PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxGetStokes(DM, PetscReal *viscosity, PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxAddBendingLoad(DM, PetscReal time, DMBoxFunction slope, DMBoxFunction moment, void *ctx, Vec b);
PETSC_EXTERN PetscErrorCode DMBoxSetPenalty(DM, PetscReal interior, PetscReal boundary);
PETSC_EXTERN PetscErrorCode DMBoxGetPenalty(DM, PetscReal *interior, PetscReal *boundary);
PETSC_EXTERN PetscErrorCode DMBoxGetNumCoarsenings(DM, PetscInt *);

PETSC_EXTERN PetscErrorCode DMBoxInterpolateFunction(DM, PetscReal time, DMBoxFunction, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxAddLoad(DM, PetscReal time, DMBoxFunction, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxAddNeumannLoad(DM, PetscReal time, DMBoxFunction flux, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxLiftDirichlet(DM, Vec g, Vec b);
PETSC_EXTERN PetscErrorCode DMBoxComputeError(DM, PetscReal time, DMBoxFunction, void *ctx, Vec, PetscReal *l2, PetscReal *max);
PETSC_EXTERN PetscErrorCode DMBoxComputeBendingError(DM, PetscReal time, DMBoxFunction hessian, void *ctx, Vec, PetscReal *h2);
PETSC_EXTERN PetscErrorCode DMBoxComputeStokesError(DM, PetscReal time, DMBoxFunction, DMBoxFunction gradient, void *ctx, Vec, PetscReal *u, PetscReal *h1, PetscReal *p, PetscReal *div);

/*S
  DMBoxOperator - The operator that a `DMBOX` carries, with its coefficients

  Level: developer

.seealso: `DMBOX`, `DMBoxSetOperator()`, `DMBoxOperatorRegister()`
S*/
typedef struct _p_DMBoxOperator *DMBoxOperator;
PETSC_EXTERN PetscErrorCode DMBoxOperatorRegister(const char name[], PetscErrorCode (*create)(DMBoxOperator));

/* ---- matrices made by a DMBOX ---- */
PETSC_EXTERN PetscErrorCode MatBoxUpdate(Mat);

/* ---- a DMBOX's operator in SNES and TS ---- */
PETSC_EXTERN PetscErrorCode DMBoxSNESComputeFunction(SNES, Vec, Vec, void *);
PETSC_EXTERN PetscErrorCode DMBoxSNESComputeJacobian(SNES, Vec, Mat, Mat, void *);
PETSC_EXTERN PetscErrorCode DMBoxTSComputeIFunction(TS, PetscReal, Vec, Vec, Vec, void *);
PETSC_EXTERN PetscErrorCode DMBoxTSComputeIJacobian(TS, PetscReal, Vec, Vec, PetscReal, Mat, Mat, void *);

/* ---- PCPATCHFD ---- */
/*E
  PCPatchFDType - How the corrections of the patches of a `PCPATCHFD` are combined

  Values:
+ `PC_PATCHFD_MULTIPLICATIVE` (`multiplicative`) - one colour after another, each with the current values
- `PC_PATCHFD_ADDITIVE` (`additive`) - all patches from the same residual, corrections summed

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetType()`
E*/
typedef enum {
  PC_PATCHFD_MULTIPLICATIVE,
  PC_PATCHFD_ADDITIVE
} PCPatchFDType;
PETSC_EXTERN const char *const PCPatchFDTypes[];

/*E
  PCPatchFDPatch - What the patches of a `PCPATCHFD` are

  Values:
+ `PC_PATCHFD_VERTEX` (`vertex`) - the cells around each interior vertex
- `PC_PATCHFD_BOX` (`box`) - the whole box: a direct solver

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetPatch()`
E*/
typedef enum {
  PC_PATCHFD_VERTEX,
  PC_PATCHFD_BOX
} PCPatchFDPatch;
PETSC_EXTERN const char *const PCPatchFDPatches[];

/*E
  PCPatchFDVariant - Which kernels compute a step of a `PCPATCHFD`

  Values:
+ `PC_PATCHFD_AUTO` (`auto`) - the fastest one for the degree
. `PC_PATCHFD_BOUNDARY` (`boundary`) - new values from the right-hand side and the values on the patch's boundary, no residual
. `PC_PATCHFD_FUSED` (`fused`) - residual and solve patch by patch at once
. `PC_PATCHFD_SEPARATE` (`separate`) - the residual of the patches of a colour, then their solves
- `PC_PATCHFD_GLOBAL` (`global`) - the residual of the whole mesh, then the solves of the patches

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetVariant()`
E*/
typedef enum {
  PC_PATCHFD_AUTO,
  PC_PATCHFD_BOUNDARY,
  PC_PATCHFD_FUSED,
  PC_PATCHFD_SEPARATE,
  PC_PATCHFD_GLOBAL
} PCPatchFDVariant;
PETSC_EXTERN const char *const PCPatchFDVariants[];

/*E
  PCPatchFDOrder - In which order a multiplicative `PCPATCHFD` visits the colours

  Values:
+ `PC_PATCHFD_FORWARD` (`forward`) - by the parity of the first cell, x fastest
. `PC_PATCHFD_BACKWARD` (`backward`) - the reverse
- `PC_PATCHFD_SYMMETRIC` (`symmetric`) - forward, then backward

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetOrder()`
E*/
typedef enum {
  PC_PATCHFD_FORWARD,
  PC_PATCHFD_BACKWARD,
  PC_PATCHFD_SYMMETRIC
} PCPatchFDOrder;
PETSC_EXTERN const char *const PCPatchFDOrders[];

/*E
  PCPatchFDLocal - How a `PCPATCHFD` solves the problem of a patch

  Values:
+ `PC_PATCHFD_LOCAL_AUTO` (`auto`)             - what is fastest for the operator and the mesh
. `PC_PATCHFD_LOCAL_FD` (`fd`)                 - fast diagonalization, exact for separable operators
. `PC_PATCHFD_LOCAL_FD_INEXACT` (`fd_inexact`) - fast diagonalization of the separable part of an operator
. `PC_PATCHFD_LOCAL_DENSE` (`dense`)           - products with the inverse of the patch's matrix
- `PC_PATCHFD_LOCAL_SCHUR` (`schur`)           - for saddle points: fast diagonalization of the velocities, conjugate gradients for the pressure

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetLocal()`
E*/
typedef enum {
  PC_PATCHFD_LOCAL_AUTO,
  PC_PATCHFD_LOCAL_FD,
  PC_PATCHFD_LOCAL_FD_INEXACT,
  PC_PATCHFD_LOCAL_DENSE,
  PC_PATCHFD_LOCAL_SCHUR
} PCPatchFDLocal;
PETSC_EXTERN const char *const PCPatchFDLocals[];

/*E
  PCPatchFDClasses - Which matrices the patches of a `PCPATCHFD` have

  Values:
+ `PC_PATCHFD_CLASSES_AUTO` (`auto`)     - what is fastest
. `PC_PATCHFD_CLASSES_SINGLE` (`single`) - those of the patch as a mesh of its own, one for all patches of a uniform mesh with Dirichlet sides
- `PC_PATCHFD_CLASSES_EXACT` (`exact`)   - those that they have in the mesh

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetClasses()`
E*/
typedef enum {
  PC_PATCHFD_CLASSES_AUTO,
  PC_PATCHFD_CLASSES_SINGLE,
  PC_PATCHFD_CLASSES_EXACT
} PCPatchFDClasses;
PETSC_EXTERN const char *const PCPatchFDClassesTypes[];

/*E
  PCPatchFDPrecision - In which precision a `PCPATCHFD` multiplies with the dense inverses of patches

  Values:
+ `PC_PATCHFD_PRECISION_AUTO` (`auto`)     - the fastest that costs no iterations worth mentioning
. `PC_PATCHFD_PRECISION_SAME` (`same`)     - that of the vectors
. `PC_PATCHFD_PRECISION_SINGLE` (`single`) - single precision
. `PC_PATCHFD_PRECISION_TF32` (`tf32`)     - factors rounded to 11 bits, sums in single precision
- `PC_PATCHFD_PRECISION_BF16` (`bf16`)     - factors rounded to 8 bits, sums in single precision; with a triangular factor of the inverse, twice

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetPrecision()`
E*/
typedef enum {
  PC_PATCHFD_PRECISION_AUTO,
  PC_PATCHFD_PRECISION_SAME,
  PC_PATCHFD_PRECISION_SINGLE,
  PC_PATCHFD_PRECISION_TF32,
  PC_PATCHFD_PRECISION_BF16
} PCPatchFDPrecision;
PETSC_EXTERN const char *const PCPatchFDPrecisions[];

/*E
  PCPatchFDUpdate - How an additive `PCPATCHFD` sums the corrections of patches that overlap

  Values:
+ `PC_PATCHFD_UPDATE_COLORED` (`colored`) - one colour after another, in the same order each time
- `PC_PATCHFD_UPDATE_ATOMIC` (`atomic`)   - all patches at once by atomic additions, in any order

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetUpdate()`
E*/
typedef enum {
  PC_PATCHFD_UPDATE_COLORED,
  PC_PATCHFD_UPDATE_ATOMIC
} PCPatchFDUpdate;
PETSC_EXTERN const char *const PCPatchFDUpdates[];

PETSC_EXTERN PetscErrorCode PCPatchFDSetType(PC, PCPatchFDType);
PETSC_EXTERN PetscErrorCode PCPatchFDGetType(PC, PCPatchFDType *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetPatch(PC, PCPatchFDPatch);
PETSC_EXTERN PetscErrorCode PCPatchFDGetPatch(PC, PCPatchFDPatch *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetLocal(PC, PCPatchFDLocal);
PETSC_EXTERN PetscErrorCode PCPatchFDGetLocal(PC, PCPatchFDLocal *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetClasses(PC, PCPatchFDClasses);
PETSC_EXTERN PetscErrorCode PCPatchFDGetClasses(PC, PCPatchFDClasses *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetPrecision(PC, PCPatchFDPrecision);
PETSC_EXTERN PetscErrorCode PCPatchFDGetPrecision(PC, PCPatchFDPrecision *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetUpdate(PC, PCPatchFDUpdate);
PETSC_EXTERN PetscErrorCode PCPatchFDGetUpdate(PC, PCPatchFDUpdate *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetVariant(PC, PCPatchFDVariant);
PETSC_EXTERN PetscErrorCode PCPatchFDGetVariant(PC, PCPatchFDVariant *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetOrder(PC, PCPatchFDOrder);
PETSC_EXTERN PetscErrorCode PCPatchFDGetOrder(PC, PCPatchFDOrder *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetDamping(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCPatchFDGetDamping(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetSweeps(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCPatchFDGetSweeps(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetSchurTolerances(PC, PetscReal, PetscInt);
PETSC_EXTERN PetscErrorCode PCPatchFDGetSchurTolerances(PC, PetscReal *, PetscInt *);

/* ---- PCPATCHMG ---- */
PETSC_EXTERN PetscErrorCode PCPatchMGSetSymmetric(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCPatchMGGetSymmetric(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCPatchMGSetGraph(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCPatchMGGetGraph(PC, PetscBool *);

/* ---- KSPFUSEDCG ---- */
PETSC_EXTERN PetscErrorCode KSPFusedCGSetGraph(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPFusedCGGetGraph(KSP, PetscBool *);
PETSC_EXTERN PetscErrorCode KSPFusedCGSetSweep(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPFusedCGGetSweep(KSP, PetscBool *);

#include <petscvecsingle.h>
