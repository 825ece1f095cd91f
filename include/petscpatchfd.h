#pragma once
/* libpatchfd: high-order finite element multigrid for PETSc, by tensor-product patch smoothers.  The public interface. */
#include <petscts.h>
#include <petscdm.h>

#define PATCHFD_VERSION_MAJOR    1
#define PATCHFD_VERSION_MINOR    0
#define PATCHFD_VERSION_SUBMINOR 0

#define DMBOX      "box"
#define PCPATCHFD  "patchfd"
#define PCPATCHMG  "patchmg"
#define MATPATCHFD "patchfd"
#define KSPFUSEDCG "fusedcg"
#define KSPREFINE  "refine"

PETSC_EXTERN PetscErrorCode PatchFDInitializePackage(void);
PETSC_EXTERN PetscErrorCode PatchFDFinalizePackage(void);

/* ---- DMBOX ---- */
/*E
  DMBoxSpace - The finite element space on a `DMBOX`

  Values:
+ `DMBOX_SPACE_Q` (`q`)     - continuous functions, polynomials of degree k in each direction on each cell (Q_k), with Gauss-Lobatto nodes
. `DMBOX_SPACE_DGQ` (`dgq`) - the same without continuity (DGQ_k); operators have the face terms of interior penalty methods
. `DMBOX_SPACE_P1` (`p1`)   - continuous functions, linear on simplices: each square is cut into two triangles and each cube into six
  tetrahedra, along the paths from its lower to its upper corner. The nodes are the corners of the cells
. `DMBOX_SPACE_RT` (`rt`)   - a velocity and a pressure: the Raviart-Thomas space RT_k, the component i of which is continuous of degree
  k + 1 in direction i and discontinuous of degree k in the others, and DGQ_k. The divergence of a velocity is in the space of the pressure
- `DMBOX_SPACE_VQ` (`vq`)   - continuous vector fields with as many components as there are dimensions, each in Q_k

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetSpace()`, `DMBoxSetDegree()`
E*/
typedef enum {
  DMBOX_SPACE_Q,
  DMBOX_SPACE_DGQ,
  DMBOX_SPACE_RT,
  DMBOX_SPACE_P1,
  DMBOX_SPACE_VQ
} DMBoxSpace;
PETSC_EXTERN const char *const DMBoxSpaces[];

/*E
  PatchFDHaloType - How MPI processes exchange values at nodes, in the solvers of a `DMBOX`

  Values:
+ `PATCHFD_HALO_AUTO` (`auto`) - `mpi` for arrays in host memory. For arrays on GPUs the first of these that works: `peer`, if all
  processes are on one machine and no two share a GPU; `nccl`, if no two share a GPU; `mpi`, if PETSc uses an MPI that reads the memory
  of GPUs (not with `-use_gpu_aware_mpi 0`); `host`
. `PATCHFD_HALO_MPI` (`mpi`)   - by MPI, from and to the memory of the arrays. On GPUs test messages find out whether MPI can do this,
  whatever `-use_gpu_aware_mpi` is; if it cannot, that is an error
. `PATCHFD_HALO_HOST` (`host`) - by MPI, from and to host memory
. `PATCHFD_HALO_NCCL` (`nccl`) - by NCCL, from and to the memory of GPUs, without the host. Each process needs its own GPU, and
  `libnccl.so.2` must be found
- `PATCHFD_HALO_PEER` (`peer`) - kernels write into the memory of the other GPU (CUDA IPC), without the host. The processes must be
  on one machine with GPUs that can access each other

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetHaloType()`
E*/
typedef enum {
  PATCHFD_HALO_AUTO,
  PATCHFD_HALO_MPI,
  PATCHFD_HALO_HOST,
  PATCHFD_HALO_NCCL,
  PATCHFD_HALO_PEER
} PatchFDHaloType;
PETSC_EXTERN const char *const PatchFDHaloTypes[];

/*E
  DMBoxBoundaryType - The boundary condition on a side of a `DMBOX`

  Values:
+ `DMBOX_BOUNDARY_DIRICHLET` (`dirichlet`) - values are given: zero, or those of `DMBoxLiftDirichlet()`. For `biharmonic` a clamped
  side: the normal derivative is also given, zero or that of `DMBoxAddBendingLoad()`
. `DMBOX_BOUNDARY_NEUMANN` (`neumann`)     - the flux, or for `stokes` and `elasticity` the traction, is given: zero, or that of
  `DMBoxAddNeumannLoad()`. Not for `biharmonic`
. `DMBOX_BOUNDARY_SUPPORTED` (`supported`) - a simply supported side, for `biharmonic` only: values are given, and the second
  normal derivative (the moment): zero, or those of `DMBoxLiftDirichlet()` and `DMBoxAddBendingLoad()`
. `DMBOX_BOUNDARY_PERIODIC` (`periodic`)   - for both sides of a direction, which is then a ring: they are the same points
- `DMBOX_BOUNDARY_SYMMETRY` (`symmetry`)   - a plane of symmetry, or a side on which a flow slips, for vector fields
  (`DMBOX_SPACE_VQ` and `DMBOX_SPACE_RT`) only: the component across the side is given, zero or that of `DMBoxLiftDirichlet()`, and the
  tangential traction is zero

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetBoundary()`
E*/
typedef enum {
  DMBOX_BOUNDARY_DIRICHLET,
  DMBOX_BOUNDARY_NEUMANN,
  DMBOX_BOUNDARY_SUPPORTED,
  DMBOX_BOUNDARY_PERIODIC,
  DMBOX_BOUNDARY_SYMMETRY
} DMBoxBoundaryType;
PETSC_EXTERN const char *const DMBoxBoundaryTypes[];

/*E
  DMBoxPlaneType - What holds in the directions that a problem of elasticity in one or two dimensions does not have

  Values:
+ `DMBOX_PLANE_STRAIN` (`strain`) - no strain: the body is long, or held there
- `DMBOX_PLANE_STRESS` (`stress`) - no stress: a thin plate, or in one dimension a bar

  Level: beginner

.seealso: `DMBOX`, `DMBoxSetElasticModuli()`
E*/
typedef enum {
  DMBOX_PLANE_STRAIN,
  DMBOX_PLANE_STRESS
} DMBoxPlaneType;
PETSC_EXTERN const char *const DMBoxPlaneTypes[];

/*E
  DMBoxMappingType - Named maps from the box of a `DMBOX` to space

  Values:
+ `DMBOX_MAPPING_NONE` (`none`)                     - no map, or the one of `DMBoxSetMapping()`
. `DMBOX_MAPPING_SINE` (`sine`)                     - t + a s (1, t_0 - 1.3, 0.3 + 0.6 t_1), s the product of sin(pi t_d); a = 0.1
. `DMBOX_MAPPING_SINE1` (`sine1`)                   - t + a s (1, 1, 1), with the same s; a = 0.2
. `DMBOX_MAPPING_SINE2` (`sine2`)                   - t + a s (1, 1, 1), s the product of sin(2 pi t_d); a = 0.1, cells are inverted from
  0.159 on
. `DMBOX_MAPPING_KERSHAW` (`kershaw`)               - six layers in direction 0, between which the others are squeezed towards either end; a
  = 0.3 is the width of the narrowest cells, 1 leaves the box as it is
. `DMBOX_MAPPING_KERSHAW_SMOOTH` (`kershaw_smooth`) - the same with smooth transitions between the layers
- `DMBOX_MAPPING_ANNULUS` (`annulus`)               - the quarter of an annulus with radii from a to 1, t_0 along the radius and t_1 the
  angle; a = 0.5

  Level: intermediate

  Note:
  The coordinates t of a point in the box run from 0 to 1. The results of the maps are stretched to the bounds of the box, except for the
  first two coordinates of the annulus.

.seealso: `DMBOX`, `DMBoxSetMappingType()`, `DMBoxSetMapping()`
E*/
typedef enum {
  DMBOX_MAPPING_NONE,
  DMBOX_MAPPING_SINE,
  DMBOX_MAPPING_SINE1,
  DMBOX_MAPPING_SINE2,
  DMBOX_MAPPING_KERSHAW,
  DMBOX_MAPPING_KERSHAW_SMOOTH,
  DMBOX_MAPPING_ANNULUS
} DMBoxMappingType;
PETSC_EXTERN const char *const DMBoxMappingTypes[];

/*S
  DMBoxFunctionFn - A function of space and time on a `DMBOX`

  Calling Sequence:
+ dim  - number of coordinates
. time - the time
. x    - the point, dim coordinates
. Nc   - number of components: 1; with the space `DMBOX_SPACE_VQ` dim; with `DMBOX_SPACE_RT` dim + 1, the velocity and then the pressure.
         The pages of routines name exceptions
. u    - the values at the point, Nc of them, to be set
- ctx  - the context given with the function

  Level: beginner

.seealso: `DMBOX`, `DMBoxInterpolateFunction()`, `DMBoxAddLoad()`, `DMBoxAddNeumannLoad()`, `DMBoxAddBendingLoad()`, `DMBoxComputeError()`,
          `DMBoxComputeBendingError()`, `DMBoxComputeStokesError()`, `DMBoxFunctionBatchFn`
S*/
typedef PetscErrorCode DMBoxFunctionFn(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx);

/*S
  DMBoxFunctionBatchFn - A function of space and time on a `DMBOX` that gets many points at once

  Calling Sequence:
+ dim  - number of coordinates
. time - the time
. n    - number of points
. x    - the points: coordinate d of point i is `x[dim * i + d]`
. Nc   - number of components, as for a `DMBoxFunctionFn`
. u    - the values, to be set: component c at point i is `u[Nc * i + c]`
- ctx  - the context given with the function

  Level: intermediate

  Note:
  It is much faster than a `DMBoxFunctionFn`: one call gets the points of a cell or of a row of nodes, and the compiler sees the loop over
  them. Do work that does not depend on the point once per call. The first coordinate runs fastest, so on a mesh without map the others
  mostly equal those of the point before.

.seealso: `DMBOX`, `DMBoxFunctionFn`, `DMBoxInterpolateFunctionBatch()`, `DMBoxAddLoadBatch()`, `DMBoxAddNeumannLoadBatch()`,
          `DMBoxComputeErrorBatch()`,
          `DMBoxComputeGradientErrorBatch()`, `DMBoxComputeStokesErrorBatch()`, `DMBoxAddLoadVec()`
S*/
typedef PetscErrorCode DMBoxFunctionBatchFn(PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                                            void *ctx);

PETSC_EXTERN PetscErrorCode DMBoxCreate(MPI_Comm, PetscInt dim, const PetscInt cells[], PetscInt degree, DM *);
PETSC_EXTERN PetscErrorCode DMBoxSetCells(DM, const PetscInt[]);
PETSC_EXTERN PetscErrorCode DMBoxGetCells(DM, PetscInt[]);
PETSC_EXTERN PetscErrorCode DMBoxSetBounds(DM, const PetscReal lower[], const PetscReal upper[]);
PETSC_EXTERN PetscErrorCode DMBoxGetBounds(DM, PetscReal lower[], PetscReal upper[]);
PETSC_EXTERN PetscErrorCode DMBoxSetVertices(DM, PetscInt direction, PetscInt n, const PetscReal vertices[]);
PETSC_EXTERN PetscErrorCode DMBoxGetVertices(DM, PetscInt direction, PetscInt *n, const PetscReal *vertices[]);
PETSC_EXTERN PetscErrorCode DMBoxSetDegree(DM, PetscInt);
PETSC_EXTERN PetscErrorCode DMBoxSetExtraPoints(DM, PetscInt extra, PetscInt single);
PETSC_EXTERN PetscErrorCode DMBoxGetExtraPoints(DM, PetscInt *extra, PetscInt *single);
PETSC_EXTERN PetscErrorCode DMBoxGetDegree(DM, PetscInt *);
PETSC_EXTERN PetscErrorCode DMBoxSetSpace(DM, DMBoxSpace);
PETSC_EXTERN PetscErrorCode DMBoxGetSpace(DM, DMBoxSpace *);
PETSC_EXTERN PetscErrorCode DMBoxSetHaloType(DM, PatchFDHaloType);
PETSC_EXTERN PetscErrorCode DMBoxGetHaloType(DM, PatchFDHaloType *);
PETSC_EXTERN PetscErrorCode DMBoxSetMapping(DM, DMBoxFunctionFn *, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxGetMapping(DM, DMBoxFunctionFn **, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxSetMappingType(DM, DMBoxMappingType, PetscReal parameter);
PETSC_EXTERN PetscErrorCode DMBoxGetMappingType(DM, DMBoxMappingType *, PetscReal *parameter);
PETSC_EXTERN PetscErrorCode DMBoxSetMappingDegree(DM, PetscInt);
PETSC_EXTERN PetscErrorCode DMBoxGetMappingDegree(DM, PetscInt *);
PETSC_EXTERN PetscErrorCode DMBoxSetMappingCoordinates(DM, Vec);
PETSC_EXTERN PetscErrorCode DMBoxSetMappingFile(DM, const char file[]);
PETSC_EXTERN PetscErrorCode DMBoxSetBoundary(DM, const DMBoxBoundaryType[]);
PETSC_EXTERN PetscErrorCode DMBoxGetBoundary(DM, DMBoxBoundaryType[]);
PETSC_EXTERN PetscErrorCode DMBoxSetSymmetryComponents(DM, const PetscInt component[]);
PETSC_EXTERN PetscErrorCode DMBoxGetSymmetryComponents(DM, PetscInt component[]);
PETSC_EXTERN PetscErrorCode DMBoxSetProcesses(DM, const PetscInt[]);
PETSC_EXTERN PetscErrorCode DMBoxGetProcesses(DM, PetscInt[]);
PETSC_EXTERN PetscErrorCode DMBoxSetOperator(DM, const char name[]);
PETSC_EXTERN PetscErrorCode DMBoxGetOperator(DM, const char *name[]);
PETSC_EXTERN PetscErrorCode DMBoxSetPoisson(DM, const PetscReal diffusion[], PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxSetRobin(DM, PetscInt side, PetscReal h);
PETSC_EXTERN PetscErrorCode DMBoxGetRobin(DM, PetscInt side, PetscReal *h);
PETSC_EXTERN PetscErrorCode DMBoxGetPoisson(DM, PetscReal diffusion[], PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxSetBiharmonic(DM, PetscReal bending, PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxGetBiharmonic(DM, PetscReal *bending, PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxSetStokes(DM, PetscReal viscosity, PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxGetStokes(DM, PetscReal *viscosity, PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxSetElasticity(DM, PetscReal lambda, PetscReal mu, PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxGetElasticity(DM, PetscReal *lambda, PetscReal *mu, PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxSetElasticModuli(DM, PetscReal young, PetscReal ratio, DMBoxPlaneType);
PETSC_EXTERN PetscErrorCode DMBoxGetElasticModuli(DM, PetscReal *young, PetscReal *ratio);
PETSC_EXTERN PetscErrorCode DMBoxSetElasticModuliFunction(DM, DMBoxFunctionFn *young, DMBoxFunctionFn *ratio, DMBoxPlaneType, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxGetElasticModuliFunction(DM, DMBoxFunctionFn **young, DMBoxFunctionFn **ratio, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxSetElasticModuliVec(DM, Vec young, Vec ratio, DMBoxPlaneType);
PETSC_EXTERN PetscErrorCode DMBoxGetElasticModuliVec(DM, Vec *young, Vec *ratio);
PETSC_EXTERN PetscErrorCode DMBoxComputeStresses(DM, Vec u, Vec *stress);
PETSC_EXTERN PetscErrorCode DMBoxSetLambdaDegree(DM, PetscInt degree);
PETSC_EXTERN PetscErrorCode DMBoxGetLambdaDegree(DM, PetscInt *degree);
PETSC_EXTERN PetscErrorCode DMBoxSetDiffusion(DM, PetscInt n, const PetscReal K[], PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxSetDiffusionFunction(DM, PetscInt n, DMBoxFunctionFn *K, DMBoxFunctionFn *shift, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxGetDiffusion(DM, PetscInt *n, PetscReal K[], PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxGetDiffusionFunction(DM, PetscInt *n, DMBoxFunctionFn **K, DMBoxFunctionFn **shift, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxCreateDiffusionVec(DM, PetscBool points, PetscInt n, Vec *);
PETSC_EXTERN PetscErrorCode DMBoxSetDiffusionVec(DM, PetscInt n, Vec K, Vec shift);
PETSC_EXTERN PetscErrorCode DMBoxGetDiffusionVec(DM, PetscInt *n, Vec *K, Vec *shift);
PETSC_EXTERN PetscErrorCode DMBoxComputeDiffusionPoints(DM, Vec);
PETSC_EXTERN PetscErrorCode DMBoxComputeDiffusionValues(DM, Vec u, Vec values, Vec gradients);
PETSC_EXTERN PetscErrorCode DMBoxAddDiffusionLoad(DM, Vec source, Vec flux, Vec b);
PETSC_EXTERN PetscErrorCode DMBoxAddBendingLoad(DM, PetscReal time, DMBoxFunctionFn *slope, DMBoxFunctionFn *moment, void *ctx, Vec b);
PETSC_EXTERN PetscErrorCode DMBoxSetPenalty(DM, PetscReal interior, PetscReal boundary);
PETSC_EXTERN PetscErrorCode DMBoxGetPenalty(DM, PetscReal *interior, PetscReal *boundary);
PETSC_EXTERN PetscErrorCode DMBoxGetNumCoarsenings(DM, PetscInt *);
PETSC_EXTERN PetscErrorCode DMBoxSetSemicoarsening(DM, PetscReal threshold);
PETSC_EXTERN PetscErrorCode DMBoxGetSemicoarsening(DM, PetscReal *threshold);
PETSC_EXTERN PetscErrorCode DMBoxSetGalerkin(DM, PetscBool3);
PETSC_EXTERN PetscErrorCode DMBoxGetGalerkin(DM, PetscBool3 *);

/*MC
  DMBOX_CELLS - Cells, in place of the number of a field, in `DMBoxGetCorners()` and its relatives

  Level: beginner

.seealso: `DMBOX`, `DMBoxGetCorners()`, `DMBoxGetGhostCorners()`, `DMBoxGetGlobalSizes()`, `DMBoxGetOwnershipRanges()`
M*/
#define DMBOX_CELLS -1
/* what each process has, after DMSetUp(): nodes of a field, or cells */
PETSC_EXTERN PetscErrorCode DMBoxGetNumFields(DM, PetscInt *);
PETSC_EXTERN PetscErrorCode DMBoxGetGlobalSizes(DM, PetscInt field, PetscInt *M, PetscInt *N, PetscInt *P);
PETSC_EXTERN PetscErrorCode DMBoxGetCorners(DM, PetscInt field, PetscInt *x, PetscInt *y, PetscInt *z, PetscInt *m, PetscInt *n,
                                            PetscInt *p);
PETSC_EXTERN PetscErrorCode DMBoxGetGhostCorners(DM, PetscInt field, PetscInt *x, PetscInt *y, PetscInt *z, PetscInt *m, PetscInt *n,
                                                 PetscInt *p);
PETSC_EXTERN PetscErrorCode DMBoxGetOwnershipRanges(DM, PetscInt field, const PetscInt *lx[], const PetscInt *ly[], const PetscInt *lz[]);
PETSC_EXTERN PetscErrorCode DMBoxGetNodes(DM, PetscInt field, PetscInt direction, PetscReal x[]);
PETSC_EXTERN PetscErrorCode DMBoxVecGetArray(DM, Vec, PetscInt field, void *array);
PETSC_EXTERN PetscErrorCode DMBoxVecRestoreArray(DM, Vec, PetscInt field, void *array);
PETSC_EXTERN PetscErrorCode DMBoxVecGetArrayRead(DM, Vec, PetscInt field, void *array);
PETSC_EXTERN PetscErrorCode DMBoxVecRestoreArrayRead(DM, Vec, PetscInt field, void *array);

PETSC_EXTERN PetscErrorCode DMBoxInterpolateFunction(DM, PetscReal time, DMBoxFunctionFn *, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxAddLoad(DM, PetscReal time, DMBoxFunctionFn *, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxAddNeumannLoad(DM, PetscReal time, DMBoxFunctionFn *flux, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxLiftDirichlet(DM, Vec g, Vec b);
PETSC_EXTERN PetscErrorCode DMBoxComputeError(DM, PetscReal time, DMBoxFunctionFn *, void *ctx, Vec, PetscReal *l2, PetscReal *max);
PETSC_EXTERN PetscErrorCode DMBoxComputeGradientError(DM, PetscReal time, DMBoxFunctionFn *gradient, void *ctx, Vec, PetscReal *h1);
PETSC_EXTERN PetscErrorCode DMBoxComputeBendingError(DM, PetscReal time, DMBoxFunctionFn *hessian, void *ctx, Vec, PetscReal *h2);
PETSC_EXTERN PetscErrorCode DMBoxComputeStokesError(DM, PetscReal time, DMBoxFunctionFn *, DMBoxFunctionFn *gradient, void *ctx, Vec,
                                                    PetscReal *u, PetscReal *h1, PetscReal *p, PetscReal *div);

/* the same with functions that get many points at once */
PETSC_EXTERN PetscErrorCode DMBoxInterpolateFunctionBatch(DM, PetscReal time, DMBoxFunctionBatchFn *, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxAddLoadBatch(DM, PetscReal time, DMBoxFunctionBatchFn *, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxAddNeumannLoadBatch(DM, PetscReal time, DMBoxFunctionBatchFn *flux, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxComputeErrorBatch(DM, PetscReal time, DMBoxFunctionBatchFn *, void *ctx, Vec, PetscReal *l2,
                                                   PetscReal *max);
PETSC_EXTERN PetscErrorCode DMBoxComputeGradientErrorBatch(DM, PetscReal time, DMBoxFunctionBatchFn *gradient, void *ctx, Vec,
                                                           PetscReal *h1);
PETSC_EXTERN PetscErrorCode DMBoxComputeStokesErrorBatch(DM, PetscReal time, DMBoxFunctionBatchFn *, DMBoxFunctionBatchFn *gradient,
                                                         void *ctx, Vec, PetscReal *u, PetscReal *h1, PetscReal *p, PetscReal *div);

/* and with values at the nodes in their place: where the vectors are, on the GPU if they are there */
PETSC_EXTERN PetscErrorCode DMBoxAddLoadVec(DM, Vec f, Vec b);
PETSC_EXTERN PetscErrorCode DMBoxAddNeumannLoadVec(DM, PetscInt side, Vec flux, Vec b);
PETSC_EXTERN PetscErrorCode DMBoxComputeErrorVec(DM, Vec u, Vec v, PetscReal *l2, PetscReal *energy);

/* ---- the operator heat ---- */
PETSC_EXTERN PetscErrorCode DMBoxSetHeat(DM, PetscReal capacity, const PetscReal conductivity[], PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxGetHeat(DM, PetscReal *capacity, PetscReal conductivity[], PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxSetHeatFields(DM, Vec capacity, PetscInt n, const Vec conductivity[]);
PETSC_EXTERN PetscErrorCode DMBoxGetHeatFields(DM, Vec *capacity, Vec conductivity[]);
PETSC_EXTERN PetscErrorCode DMBoxSetHeatFunctions(DM, PetscReal time, DMBoxFunctionFn *capacity, DMBoxFunctionFn *conductivity, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxSetHeatVoxels(DM, const unsigned char voxel[], PetscInt n, const PetscReal capacity[],
                                               const PetscReal conductivity[]);
PETSC_EXTERN PetscErrorCode DMBoxLoadVoxels(DM, const char file[], unsigned char *voxel[]);
PETSC_EXTERN PetscErrorCode DMBoxSetHeatRobin(DM, PetscInt side, PetscReal h, PetscReal outside);
PETSC_EXTERN PetscErrorCode DMBoxGetHeatRobin(DM, PetscInt side, PetscReal *h, PetscReal *outside);
PETSC_EXTERN PetscErrorCode DMBoxSetHeatSource(DM, DMBoxFunctionFn *, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxGetHeatSource(DM, DMBoxFunctionFn **, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxSetHeatFlux(DM, PetscInt side, DMBoxFunctionFn *, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxGetHeatFlux(DM, PetscInt side, DMBoxFunctionFn **, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxSetHeatDirichlet(DM, DMBoxFunctionFn *, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxGetHeatDirichlet(DM, DMBoxFunctionFn **, void *ctx);
PETSC_EXTERN PetscErrorCode DMBoxSetHeatSteady(DM, PetscBool);
PETSC_EXTERN PetscErrorCode DMBoxGetHeatSteady(DM, PetscBool *);
PETSC_EXTERN PetscErrorCode DMBoxAddHeatLoad(DM, PetscReal time, Vec);

/*E
  DMBoxHeatGuess - The initial guess of the linear solve of a time step of the operator `heat`

  Values:
+ `DMBOX_HEAT_GUESS_NONE` (`none`)           - the default of `TS`
. `DMBOX_HEAT_GUESS_ZERO` (`zero`)           - zero
. `DMBOX_HEAT_GUESS_PREVIOUS` (`previous`)   - the last solution
. `DMBOX_HEAT_GUESS_LINEAR` (`linear`)       - extrapolation of the last two solutions
- `DMBOX_HEAT_GUESS_RECURSIVE` (`recursive`) - twice the last solution minus its guess, for comparison

  Level: intermediate

.seealso: `DMBOX`, `DMBoxTSSetHeat()`, `DMBoxTSSetHeatGuess()`
E*/
typedef enum {
  DMBOX_HEAT_GUESS_NONE,
  DMBOX_HEAT_GUESS_ZERO,
  DMBOX_HEAT_GUESS_PREVIOUS,
  DMBOX_HEAT_GUESS_LINEAR,
  DMBOX_HEAT_GUESS_RECURSIVE
} DMBoxHeatGuess;
PETSC_EXTERN const char *const DMBoxHeatGuesses[];
PETSC_EXTERN PetscErrorCode    DMBoxTSSetHeat(TS);
PETSC_EXTERN PetscErrorCode    DMBoxTSSetHeatGuess(TS, DMBoxHeatGuess);
PETSC_EXTERN PetscErrorCode    DMBoxTSGetHeatGuess(TS, DMBoxHeatGuess *);

/*E
  DMBoxHeatSolver - The preconditioner of the time steps of the operator `heat`

  Values:
+ `DMBOX_HEAT_SOLVER_AUTO` (`auto`)     - the one that is expected to be faster
. `DMBOX_HEAT_SOLVER_JACOBI` (`jacobi`) - `PCJACOBI`
- `DMBOX_HEAT_SOLVER_MG` (`mg`)         - multigrid in single precision

  Level: intermediate

.seealso: `DMBOX`, `DMBoxTSSetHeat()`, `DMBoxTSSetHeatSolver()`
E*/
typedef enum {
  DMBOX_HEAT_SOLVER_AUTO,
  DMBOX_HEAT_SOLVER_JACOBI,
  DMBOX_HEAT_SOLVER_MG
} DMBoxHeatSolver;
PETSC_EXTERN const char *const DMBoxHeatSolvers[];
PETSC_EXTERN PetscErrorCode    DMBoxTSSetHeatSolver(TS, DMBoxHeatSolver);
PETSC_EXTERN PetscErrorCode    DMBoxTSGetHeatSolver(TS, DMBoxHeatSolver *);
PETSC_EXTERN PetscErrorCode    DMBoxTSHeatView(TS, PetscViewer);
PETSC_EXTERN PetscErrorCode    DMBoxTSHeatLoad(TS, PetscViewer);

/* ---- matrices made by a DMBOX ---- */
PETSC_EXTERN PetscErrorCode MatBoxUpdate(Mat);

/* ---- bake-off problems on a DMPLEX ---- */
/*E
  MatBakeoffProblem - A bake-off problem of CEED

  Values:
+ `MAT_BAKEOFF_BP1` (`bp1`) - mass matrix, N + 2 Gauss points in a direction
. `MAT_BAKEOFF_BP2` (`bp2`) - the same for a vector
. `MAT_BAKEOFF_BP3` (`bp3`) - stiffness matrix, N + 2 Gauss points in a direction
. `MAT_BAKEOFF_BP4` (`bp4`) - the same for a vector
. `MAT_BAKEOFF_BP5` (`bp5`) - stiffness matrix, N + 1 Gauss-Lobatto points in a direction; also called bp3.5
- `MAT_BAKEOFF_BP6` (`bp6`) - the same for a vector

  Level: intermediate

.seealso: `MatCreateBakeoff()`
E*/
typedef enum {
  MAT_BAKEOFF_BP1,
  MAT_BAKEOFF_BP2,
  MAT_BAKEOFF_BP3,
  MAT_BAKEOFF_BP4,
  MAT_BAKEOFF_BP5,
  MAT_BAKEOFF_BP6
} MatBakeoffProblem;
PETSC_EXTERN const char *const MatBakeoffProblems[];

/*E
  MatBakeoffLayout - The vectors of a matrix of `MatCreateBakeoff()`

  Values:
+ `MAT_BAKEOFF_LAYOUT_GLOBAL` (`global`)   - those of the `DM`
- `MAT_BAKEOFF_LAYOUT_ELEMENT` (`element`) - all nodes of one cell after the other

  Level: intermediate

.seealso: `MatCreateBakeoff()`
E*/
typedef enum {
  MAT_BAKEOFF_LAYOUT_GLOBAL,
  MAT_BAKEOFF_LAYOUT_ELEMENT
} MatBakeoffLayout;
PETSC_EXTERN const char *const MatBakeoffLayouts[];

/*E
  MatBakeoffFactorsType - Whether a matrix of `MatCreateBakeoff()` stores or computes the geometric factors of its quadrature points

  Values:
+ `MAT_BAKEOFF_FACTORS_AUTO` (`auto`)         - the faster choice
. `MAT_BAKEOFF_FACTORS_STORED` (`stored`)     - stored: one number a point for mass, six or seven with stiffness in three dimensions
- `MAT_BAKEOFF_FACTORS_COMPUTED` (`computed`) - computed from the corners of the cell in each product; for coordinates of degree 1

  Level: intermediate

.seealso: `MatCreateBakeoff()`, `MatBakeoffSetFactors()`
E*/
typedef enum {
  MAT_BAKEOFF_FACTORS_AUTO,
  MAT_BAKEOFF_FACTORS_STORED,
  MAT_BAKEOFF_FACTORS_COMPUTED
} MatBakeoffFactorsType;
PETSC_EXTERN const char *const MatBakeoffFactorsTypes[];

PETSC_EXTERN PetscErrorCode MatCreateKroneckerSum(DM, const PetscReal[], const PetscReal[], const PetscReal[], Mat *);
PETSC_EXTERN PetscErrorCode MatCreateDiffusionPlex(DM, Mat *);
PETSC_EXTERN PetscErrorCode MatDiffusionPlexSetFunction(Mat, PetscInt n, DMBoxFunctionFn *K, DMBoxFunctionFn *shift, void *ctx);
PETSC_EXTERN PetscErrorCode MatDiffusionPlexSetVec(Mat, Vec K, Vec shift);
PETSC_EXTERN PetscErrorCode MatDiffusionPlexSetRobin(Mat, DMLabel, PetscInt n, const PetscInt values[], DMBoxFunctionFn *h, void *ctx);
PETSC_EXTERN PetscErrorCode MatDiffusionPlexSetJacobian(Mat, DM, Vec, PetscReal time, PetscReal a);
PETSC_EXTERN PetscErrorCode MatCreateElasticityPlex(DM, Mat *);
PETSC_EXTERN PetscErrorCode MatElasticityPlexSetModuli(Mat, PetscReal young, PetscReal ratio, DMBoxPlaneType, PetscReal shift);
PETSC_EXTERN PetscErrorCode MatElasticityPlexGetModuli(Mat, PetscReal *young, PetscReal *ratio, DMBoxPlaneType *, PetscReal *shift);
PETSC_EXTERN PetscErrorCode MatElasticityPlexSetFunction(Mat, DMBoxFunctionFn *moduli, DMBoxFunctionFn *shift, DMBoxPlaneType, void *ctx);
PETSC_EXTERN PetscErrorCode MatElasticityPlexSetVec(Mat, Vec moduli, Vec shift, DMBoxPlaneType);
PETSC_EXTERN PetscErrorCode MatElasticityPlexComputeStresses(Mat, Vec u, Vec *stress);
PETSC_EXTERN PetscErrorCode MatCreateBakeoff(DM, MatBakeoffProblem, MatBakeoffLayout, Mat *);
PETSC_EXTERN PetscErrorCode MatBakeoffSetLambda(Mat, PetscReal);
PETSC_EXTERN PetscErrorCode MatBakeoffGetLambda(Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MatBakeoffSetFactors(Mat, MatBakeoffFactorsType);
PETSC_EXTERN PetscErrorCode MatBakeoffGetFactors(Mat, MatBakeoffFactorsType *);
PETSC_EXTERN PetscErrorCode MatBakeoffSetHaloType(Mat, PatchFDHaloType);
PETSC_EXTERN PetscErrorCode MatBakeoffGetHaloType(Mat, PatchFDHaloType *);
PETSC_EXTERN PetscErrorCode MatBakeoffGlobalToElement(Mat, Vec global, Vec element);
PETSC_EXTERN PetscErrorCode MatBakeoffElementToGlobal(Mat, Vec element, Vec global);

/* ---- a DMBOX's operator in SNES and TS ---- */
PETSC_EXTERN PetscErrorCode DMBoxSNESComputeFunction(SNES, Vec, Vec, void *);
PETSC_EXTERN PetscErrorCode DMBoxSNESComputeJacobian(SNES, Vec, Mat, Mat, void *);
PETSC_EXTERN PetscErrorCode DMBoxTSComputeIFunction(TS, PetscReal, Vec, Vec, Vec, void *);
PETSC_EXTERN PetscErrorCode DMBoxTSComputeIJacobian(TS, PetscReal, Vec, Vec, PetscReal, Mat, Mat, void *);
PETSC_EXTERN PetscErrorCode DMBoxTSComputeI2Function(TS, PetscReal, Vec, Vec, Vec, Vec, void *);
PETSC_EXTERN PetscErrorCode DMBoxTSComputeI2Jacobian(TS, PetscReal, Vec, Vec, Vec, PetscReal, PetscReal, Mat, Mat, void *);

/* ---- PCPATCHFD ---- */
/*E
  PCPatchFDType - How the corrections of the patches of a `PCPATCHFD` are combined

  Values:
+ `PC_PATCHFD_TYPE_MULTIPLICATIVE` (`multiplicative`) - one colour after another, each with the current values
. `PC_PATCHFD_TYPE_ADDITIVE` (`additive`) - all patches from the same residual, corrections summed
. `PC_PATCHFD_TYPE_CHEBYSHEV_FOURTH` (`chebyshev_fourth`) - the same under Chebyshev's iteration with polynomials of the fourth kind, whose
  degree is the number of sweeps; for closed cells
- `PC_PATCHFD_TYPE_CHEBYSHEV_FIRST` (`chebyshev_first`) - of the first kind, for eigenvalues from a tenth of the largest one on

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetType()`
E*/
typedef enum {
  PC_PATCHFD_TYPE_MULTIPLICATIVE,
  PC_PATCHFD_TYPE_ADDITIVE,
  PC_PATCHFD_TYPE_CHEBYSHEV_FOURTH,
  PC_PATCHFD_TYPE_CHEBYSHEV_FIRST
} PCPatchFDType;
PETSC_EXTERN const char *const PCPatchFDTypes[];

/*E
  PCPatchFDPatch - What the patches of a `PCPATCHFD` are

  Values:
+ `PC_PATCHFD_PATCH_AUTO` (`auto`) - vertex patches for a `DMBOX`, closed cells for a `DMPLEX`, bricks for a `DMDA`
. `PC_PATCHFD_PATCH_VERTEX` (`vertex`) - the cells around each interior vertex
. `PC_PATCHFD_PATCH_BOX` (`box`) - the whole box: a direct solver
- `PC_PATCHFD_PATCH_CELL` (`cell`) - all nodes of a cell, boundary nodes too

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetPatch()`
E*/
typedef enum {
  PC_PATCHFD_PATCH_AUTO,
  PC_PATCHFD_PATCH_VERTEX,
  PC_PATCHFD_PATCH_BOX,
  PC_PATCHFD_PATCH_CELL
} PCPatchFDPatch;
PETSC_EXTERN const char *const PCPatchFDPatches[];

/*E
  PCPatchFDVariant - Which kernels compute a step of a `PCPATCHFD`

  Values:
+ `PC_PATCHFD_VARIANT_AUTO` (`auto`) - the fastest one for the degree
. `PC_PATCHFD_VARIANT_BOUNDARY` (`boundary`) - new values from the right-hand side and the values on the patch's boundary, no residual
. `PC_PATCHFD_VARIANT_FUSED` (`fused`) - residual and solve patch by patch at once
. `PC_PATCHFD_VARIANT_SEPARATE` (`separate`) - the residual of the patches of a colour, then their solves
- `PC_PATCHFD_VARIANT_GLOBAL` (`global`) - the residual of the whole mesh, then the solves of the patches

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetVariant()`
E*/
typedef enum {
  PC_PATCHFD_VARIANT_AUTO,
  PC_PATCHFD_VARIANT_BOUNDARY,
  PC_PATCHFD_VARIANT_FUSED,
  PC_PATCHFD_VARIANT_SEPARATE,
  PC_PATCHFD_VARIANT_GLOBAL
} PCPatchFDVariant;
PETSC_EXTERN const char *const PCPatchFDVariants[];

/*E
  PCPatchFDOrder - The order in which a multiplicative `PCPATCHFD` visits the colours

  Values:
+ `PC_PATCHFD_ORDER_AUTO` (`auto`)           - `backward` for the pre-smoother of a symmetric cycle of `PCPATCHMG`, otherwise `forward`
. `PC_PATCHFD_ORDER_FORWARD` (`forward`)     - by the parity of the first cell, x fastest
. `PC_PATCHFD_ORDER_BACKWARD` (`backward`)   - the reverse
- `PC_PATCHFD_ORDER_SYMMETRIC` (`symmetric`) - forward, then backward

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetOrder()`
E*/
typedef enum {
  PC_PATCHFD_ORDER_AUTO,
  PC_PATCHFD_ORDER_FORWARD,
  PC_PATCHFD_ORDER_BACKWARD,
  PC_PATCHFD_ORDER_SYMMETRIC
} PCPatchFDOrder;
PETSC_EXTERN const char *const PCPatchFDOrders[];

/*E
  PCPatchFDLocal - How a `PCPATCHFD` solves the problem of a patch

  Values:
+ `PC_PATCHFD_LOCAL_AUTO` (`auto`)             - the fastest one for the operator and the mesh
. `PC_PATCHFD_LOCAL_FD` (`fd`)                 - fast diagonalization, exact for separable operators
. `PC_PATCHFD_LOCAL_FD_INEXACT` (`fd_inexact`) - fast diagonalization of the separable part of an operator
. `PC_PATCHFD_LOCAL_DENSE` (`dense`)           - products with the inverse of the patch's matrix
- `PC_PATCHFD_LOCAL_SCHUR` (`schur`)           - for saddle points: fast diagonalization of the velocities, conjugate gradients for the
  pressure

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
  PCPatchFDFit - How a `PCPATCHFD` fits its local matrices where coefficients vary or meshes are mapped

  Values:
+ `PC_PATCHFD_FIT_AUTO` (`auto`)     - `own`
. `PC_PATCHFD_FIT_OWN` (`own`)       - each patch has its own eigenvectors, from means over its lines
. `PC_PATCHFD_FIT_SHARED` (`shared`) - all patches have the eigenvectors of constants, and each has factors for the directions, from
  means over the patch: needs least memory
- `PC_PATCHFD_FIT_LINE` (`line`)     - all patches at the same place on a line share their matrices, from means over the mesh: exact, and
  fastest, for graded meshes and layered coefficients

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetFit()`, `PCPatchFDSetFitSteps()`
E*/
typedef enum {
  PC_PATCHFD_FIT_AUTO,
  PC_PATCHFD_FIT_OWN,
  PC_PATCHFD_FIT_SHARED,
  PC_PATCHFD_FIT_LINE
} PCPatchFDFit;
PETSC_EXTERN const char *const PCPatchFDFits[];

/*E
  PCPatchFDClassesType - Which matrices the patches of a `PCPATCHFD` have

  Values:
+ `PC_PATCHFD_CLASSES_AUTO` (`auto`)     - the fastest choice
. `PC_PATCHFD_CLASSES_SINGLE` (`single`) - those of the patch as a mesh of its own: one for all patches of a uniform mesh with Dirichlet
  sides
- `PC_PATCHFD_CLASSES_EXACT` (`exact`)   - those of the patch in the mesh

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetClasses()`
E*/
typedef enum {
  PC_PATCHFD_CLASSES_AUTO,
  PC_PATCHFD_CLASSES_SINGLE,
  PC_PATCHFD_CLASSES_EXACT
} PCPatchFDClassesType;
PETSC_EXTERN const char *const PCPatchFDClassesTypes[];

/*E
  PCPatchFDPrecision - The precision in which a `PCPATCHFD` multiplies with the dense inverses of patches

  Values:
+ `PC_PATCHFD_PRECISION_AUTO` (`auto`)     - the fastest one that hardly costs iterations
. `PC_PATCHFD_PRECISION_SAME` (`same`)     - that of the vectors
. `PC_PATCHFD_PRECISION_SINGLE` (`single`) - single precision
. `PC_PATCHFD_PRECISION_TF32` (`tf32`)     - factors rounded to 11 bits, sums in single precision
. `PC_PATCHFD_PRECISION_BF16` (`bf16`)     - factors rounded to 8 bits, sums in single precision; with a triangular factor of the inverse,
  twice
- `PC_PATCHFD_PRECISION_FP16` (`fp16`)     - for factors at quadrature points: rounded to 11 bits, sums in single precision

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetPrecision()`
E*/
typedef enum {
  PC_PATCHFD_PRECISION_AUTO,
  PC_PATCHFD_PRECISION_SAME,
  PC_PATCHFD_PRECISION_SINGLE,
  PC_PATCHFD_PRECISION_TF32,
  PC_PATCHFD_PRECISION_BF16,
  PC_PATCHFD_PRECISION_FP16
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
PETSC_EXTERN PetscErrorCode PCPatchFDSetFit(PC, PCPatchFDFit);
PETSC_EXTERN PetscErrorCode PCPatchFDGetFit(PC, PCPatchFDFit *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetFitSteps(PC, PetscInt, PetscReal, PetscReal, PetscInt);
PETSC_EXTERN PetscErrorCode PCPatchFDSetFitExact(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCPatchFDGetFitExact(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCPatchFDGetFitSteps(PC, PetscInt *, PetscReal *, PetscReal *, PetscInt *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetBrickSize(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCPatchFDGetBrickSize(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetClasses(PC, PCPatchFDClassesType);
PETSC_EXTERN PetscErrorCode PCPatchFDGetClasses(PC, PCPatchFDClassesType *);
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
PETSC_EXTERN PetscErrorCode PCPatchMGSetCoarseEqLim(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCPatchMGGetCoarseEqLim(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCPatchMGGetCoarseReason(PC, const char *[]);
PETSC_EXTERN PetscErrorCode PCPatchMGViewLevels(PC, PetscViewer);
PETSC_EXTERN PetscErrorCode PCPatchMGSetGraph(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCPatchMGGetGraph(PC, PetscBool *);

/* ---- KSPFUSEDCG ---- */
PETSC_EXTERN PetscErrorCode KSPFusedCGSetGraph(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPFusedCGGetGraph(KSP, PetscBool *);
PETSC_EXTERN PetscErrorCode KSPFusedCGSetSweep(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPFusedCGGetSweep(KSP, PetscBool *);

/* ---- KSPREFINE ---- */
PETSC_EXTERN PetscErrorCode KSPRefineSetRate(KSP, PetscReal);
PETSC_EXTERN PetscErrorCode KSPRefineGetRate(KSP, PetscReal *);
PETSC_EXTERN PetscErrorCode KSPRefineGetKSP(KSP, KSP *);

#include <petscvecsingle.h>
