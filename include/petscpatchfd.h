#pragma once
/* libpatchfd: high-order finite element multigrid for PETSc, by tensor-product patch smoothers.  The public interface. */
#include <petscksp.h>
#include <petscdm.h>

#define PATCHFD_VERSION_MAJOR 0
#define PATCHFD_VERSION_MINOR 1
#define PATCHFD_VERSION_SUBMINOR 0

#define DMBOX     "box"
#define PCPATCHFD "patchfd"
#define PCPATCHMG "patchmg"

PETSC_EXTERN PetscErrorCode PatchFDInitializePackage(void);
PETSC_EXTERN PetscErrorCode PatchFDFinalizePackage(void);

/* ---- DMBOX ---- */
typedef enum {
  DMBOX_Q /* continuous, degree k in each direction */
} DMBoxSpace;
PETSC_EXTERN const char *const DMBoxSpaces[];

typedef enum {
  DMBOX_DIRICHLET,
  DMBOX_NEUMANN
} DMBoxBoundaryType;
PETSC_EXTERN const char *const DMBoxBoundaryTypes[];

/* a function of space and time, u[Nc] at x[dim] */
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
PETSC_EXTERN PetscErrorCode DMBoxSetPoisson(DM, const PetscReal diffusion[], PetscReal shift);
PETSC_EXTERN PetscErrorCode DMBoxGetPoisson(DM, PetscReal diffusion[], PetscReal *shift);
PETSC_EXTERN PetscErrorCode DMBoxGetNumCoarsenings(DM, PetscInt *);

PETSC_EXTERN PetscErrorCode DMBoxInterpolateFunction(DM, PetscReal time, DMBoxFunction, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxAddLoad(DM, PetscReal time, DMBoxFunction, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxAddNeumannLoad(DM, PetscReal time, DMBoxFunction flux, void *ctx, Vec);
PETSC_EXTERN PetscErrorCode DMBoxLiftDirichlet(DM, Vec g, Vec b);
PETSC_EXTERN PetscErrorCode DMBoxComputeError(DM, PetscReal time, DMBoxFunction, void *ctx, Vec, PetscReal *l2, PetscReal *max);

/* ---- matrices made by a DMBOX ---- */
PETSC_EXTERN PetscErrorCode MatBoxUpdate(Mat);

/* ---- PCPATCHFD ---- */
typedef enum {
  PC_PATCHFD_MULTIPLICATIVE,
  PC_PATCHFD_ADDITIVE
} PCPatchFDType;
PETSC_EXTERN const char *const PCPatchFDTypes[];

typedef enum {
  PC_PATCHFD_VERTEX,
  PC_PATCHFD_BOX
} PCPatchFDPatch;
PETSC_EXTERN const char *const PCPatchFDPatches[];

typedef enum {
  PC_PATCHFD_AUTO,
  PC_PATCHFD_BOUNDARY,
  PC_PATCHFD_FUSED,
  PC_PATCHFD_SEPARATE,
  PC_PATCHFD_GLOBAL
} PCPatchFDVariant;
PETSC_EXTERN const char *const PCPatchFDVariants[];

typedef enum {
  PC_PATCHFD_FORWARD,
  PC_PATCHFD_BACKWARD,
  PC_PATCHFD_SYMMETRIC
} PCPatchFDOrder;
PETSC_EXTERN const char *const PCPatchFDOrders[];

PETSC_EXTERN PetscErrorCode PCPatchFDSetType(PC, PCPatchFDType);
PETSC_EXTERN PetscErrorCode PCPatchFDGetType(PC, PCPatchFDType *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetPatch(PC, PCPatchFDPatch);
PETSC_EXTERN PetscErrorCode PCPatchFDGetPatch(PC, PCPatchFDPatch *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetVariant(PC, PCPatchFDVariant);
PETSC_EXTERN PetscErrorCode PCPatchFDGetVariant(PC, PCPatchFDVariant *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetOrder(PC, PCPatchFDOrder);
PETSC_EXTERN PetscErrorCode PCPatchFDGetOrder(PC, PCPatchFDOrder *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetDamping(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCPatchFDGetDamping(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCPatchFDSetSweeps(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCPatchFDGetSweeps(PC, PetscInt *);

/* ---- PCPATCHMG ---- */
PETSC_EXTERN PetscErrorCode PCPatchMGSetSymmetric(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCPatchMGGetSymmetric(PC, PetscBool *);

#include <petscvecsingle.h>
