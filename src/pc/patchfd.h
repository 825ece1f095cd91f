/* what the files of PCPATCHFD have of each other */
#pragma once
#include <petsc/private/pcimpl.h>
#include <patchfd/private/matimpl.h>
#include "bricks.h"

typedef struct {
  PCPatchFDType    type;
  PCPatchFDPatch   patch;
  PCPatchFDVariant variant;
  PCPatchFDLocal   local;
  PCPatchFDFit     fit;
  PatchFDFitRule   rule; /* its inner steps; exact may be PETSC_DETERMINE, or PETSC_UNLIMITED for none */
  PCPatchFDClasses classes;
  PCPatchFDPrecision precision;
  PCPatchFDUpdate  update;
  PCPatchFDOrder   order;
  PetscReal        damping; /* PETSC_DETERMINE for the one that suits the local solver */
  PetscInt         sweeps;
  PetscReal        schurrtol; /* PETSC_DETERMINE for what keeps the iteration counts of an exact solver */
  PetscInt         schurmaxit;
  Mat_Box         *matbox; /* belongs to the Pmat */
  PCBricks         bricks; /* where that is an assembled matrix of a DMDA */
  /* what is used, where something is left to the solver */
  PCPatchFDVariant use;
  MatBoxLocalType  solver;
  PatchFDFitRule   fitrule;
  PatchFDPrecision products;
  PetscBool        atomic;
  PetscReal        omega;
  enum {
    PATCHES, /* of vertices, or the one of a mesh that has no more */
    DIAGONALIZED_BOX,
    FACTORED_BOX
  } method;
  Vec              r, z; /* residual and correction, for the variants that need global ones */
} PC_PatchFD;

/* patchfdchoose.c: p->solver, p->products and p->atomic; damping and variant where none is given */
PETSC_INTERN PetscErrorCode   PCPatchFDCheckOptions(PC);
PETSC_INTERN PetscErrorCode   PCPatchFDChooseLocal(PC, PatchFDKernels);
PETSC_INTERN PetscErrorCode   PCPatchFDChooseProducts(PC, PatchFDKernels);
PETSC_INTERN PetscReal        PCPatchFDBestDamping(const PC_PatchFD *);
PETSC_INTERN PetscBool        PCPatchFDFitIsFused(const PC_PatchFD *, PatchFDKernels);
PETSC_INTERN PCPatchFDVariant PCPatchFDBestVariant(const PC_PatchFD *, PatchFDKernels);

/* composed functions (patchfdfit.c) */
PETSC_INTERN PetscErrorCode PCPatchFDSetFitSteps_PatchFD(PC, PetscInt maxsteps, PetscReal reduction, PetscReal stable, PetscInt lanczos);
PETSC_INTERN PetscErrorCode PCPatchFDGetFitSteps_PatchFD(PC, PetscInt *maxsteps, PetscReal *reduction, PetscReal *stable, PetscInt *lanczos);
