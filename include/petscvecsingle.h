#pragma once
/* VECSINGLE, MATAIJSINGLE and PCSINGLE: single-precision storage in a double-precision PETSc.  Included by petscpatchfd.h. */
#include <petscpc.h>

#define VECSINGLE     "single"
#define VECSINGLECUDA "singlecuda"
#define PCSINGLE      "single"
#define MATAIJSINGLE  "aijsingle"

/* the float storage of a VECSINGLE or VECSINGLECUDA, in host or in device memory as PetscMemType says (the last argument of Get may be
   NULL: host wanted) */
PETSC_EXTERN PetscErrorCode VecSingleGetArray(Vec, float *[], PetscMemType *);
PETSC_EXTERN PetscErrorCode VecSingleRestoreArray(Vec, float *[]);
PETSC_EXTERN PetscErrorCode VecSingleGetArrayRead(Vec, const float *[], PetscMemType *);
PETSC_EXTERN PetscErrorCode VecSingleRestoreArrayRead(Vec, const float *[]);
PETSC_EXTERN PetscErrorCode VecSingleGetArrayWrite(Vec, float *[], PetscMemType *);
PETSC_EXTERN PetscErrorCode VecSingleRestoreArrayWrite(Vec, float *[]);
PETSC_EXTERN PetscErrorCode VecSingleConvert(Vec, PetscReal, Vec);
PETSC_EXTERN PetscErrorCode VecSingleGetMemory(Vec, PetscLogDouble *, PetscLogDouble *);

PETSC_EXTERN PetscErrorCode PCSingleGetPC(PC, PC *);
PETSC_EXTERN PetscErrorCode PCSingleSetScale(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCSingleGetScale(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCSingleSetCoarse(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCSingleGetCoarse(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCSingleSetWarn(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCSingleGetWarn(PC, PetscBool *);
