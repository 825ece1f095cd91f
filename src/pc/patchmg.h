/* what the files of PCPATCHMG have of each other */
#pragma once
#include <petsc/private/pcmgimpl.h>
#include <patchfd/private/kernels.h>

/* on the GPU: the V-cycle as one recording of kernels, see PCApply_PatchMG() */
typedef struct {
  PatchFDKernels kern;
  PetscInt64    *key; /* of the cycle and the solvers on the levels, when it was made */
  size_t         keysize;
  PetscBool      failed; /* something in this cycle cannot be recorded */
  void          *record;
  const void    *b; /* the arrays that it works on */
  void          *x;
  Vec            vb, vx; /* they belong to these vectors, unless NULL */
} PatchMGRecord;

typedef struct {
  PetscBool     symmetric, graph;
  PetscInt      eqlimit; /* as many unknowns are solved directly; PETSC_DECIDE until the user says it */
  PetscInt      levels;  /* that were chosen, or 0, */
  char          why[256]; /* and why */
  PetscBool     lowered, assembled; /* with these levels: has the coarsest one a lower degree, and is it left to PCGAMG? */
  PatchMGRecord record;
  PetscErrorCode (*setfromoptions)(PC, PetscOptionItems), (*setup)(PC), (*apply)(PC, Vec, Vec), (*reset)(PC), (*destroy)(PC), (*view)(PC, PetscViewer); /* PCMG's */
  PetscErrorCode (*applyrichardson)(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *, PCRichardsonConvergedReason *);
} PC_PatchMG;

#define PATCHMG(pc) ((PC_PatchMG *)((PC_MG *)(pc)->data)->innerctx)

/* PCMG's.  As long as a PC has this one nobody has called PCMGSetType(), which sets what goes with the type: the kind of cycle is left to us */
PETSC_INTERN PetscErrorCode PCApplyRichardson_PatchMG(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *, PCRichardsonConvergedReason *);
PETSC_INTERN PetscBool      PCPatchMGCycleIsFree_Private(PC);
PETSC_INTERN void           PCPatchMGFreeCycle_Private(PC); /* again, after calls of ours */
/* patchmglevels.c: the number of levels, unless it was set, and what -ksp_view says of it */
PETSC_INTERN PetscErrorCode PCPatchMGSetLevels_Private(PC);
PETSC_INTERN PetscErrorCode PCPatchMGGetCoarseReason_PatchMG(PC, const char *[]);
PETSC_INTERN PetscErrorCode PCView_PatchMG(PC, PetscViewer);
/* of a KSPRICHARDSON: its scale, and whether it takes its own at each step */
PETSC_INTERN PetscErrorCode KSPRichardsonGetScale_Private(KSP, PetscReal *scale, PetscBool *selfscale);
/* a handler of the options of pre-smoothers that makes the post-smoother of its level, a PC_MG_Levels, their adjoint */
PETSC_INTERN PetscErrorCode PCPatchMGMirror_Private(PetscObject, PetscOptionItems, void *level);
PETSC_INTERN PetscErrorCode PCPatchMGCheckSymmetric_Private(PC);
