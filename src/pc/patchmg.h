/* what the files of PCPATCHMG have of each other */
#pragma once
#include <petsc/private/pcmgimpl.h>
#include <patchfd/private/kernels.h>

/* on the GPU: the V-cycle as one recording of kernels, see patchmgcycle.c */
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

/* who solves on the coarsest level: the whole box as one patch, a cycle of PCGAMG on the assembled matrix, or KSPFGMRES with patches */
typedef enum {
  PATCHMG_COARSE_BOX,
  PATCHMG_COARSE_ASSEMBLED
} PatchMGCoarse;

typedef struct {
  PetscBool         symmetric, graph;
  PetscInt          eqlimit;  /* as many unknowns are solved directly; PETSC_DECIDE until the user says it */
  PetscInt          levels;   /* that were chosen, or 0, */
  char              why[256]; /* and why */
  PetscBool         lowered;  /* with these levels: has the coarsest one a lower degree, */
  PatchMGCoarse     coarse;   /* and who solves there */
  PetscBool         options;  /* those of PCMG belong to the levels: they are read when there are some, and again for others */
  PetscBool         stale;    /* the mesh or its directions that are halved are others than those of the levels */
  PetscBool         changed;  /* the cycle is not a V-cycle, or PCMG's steps of KSPRICHARDSON are not used, by our own choice */
  PetscObjectId     dm;       /* that was taken from the matrix, or 0 */
  PetscObjectId     finest;   /* the matrix of the last set-up */
  PetscObjectId     degrees;  /* the matrix whose degrees were halved, or 0 */
  Mat               cells;    /* that of a DMPLEX, where the matrix is not ours */
  PetscInt          nhalvings, (*halvings)[3]; /* of the levels that there are (DMBoxGetHalvings()) */
  PatchMGRecord     record;
  PetscViewer       viewer;                                 /* NULL, or where set-up shows the levels, */
  PetscViewerFormat format;                                 /* in this format */
  PetscErrorCode (*setfromoptions)(PC, PatchFDOptionItems); /* PCMG's, and these */
  PetscErrorCode (*setup)(PC), (*reset)(PC), (*destroy)(PC), (*view)(PC, PetscViewer);
  PetscErrorCode (*apply)(PC, Vec, Vec), (*applytranspose)(PC, Vec, Vec);
  PetscErrorCode (*applyrichardson)(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *,
                                    PCRichardsonConvergedReason *);
} PC_PatchMG;

#define PATCHMG(pc) ((PC_PatchMG *)((PC_MG *)(pc)->data)->innerctx)

/* patchmgcycle.c.  PCMG's, with replay; what has been recorded is forgotten; pc->reusepreconditioner is handed on to the finest level; and
   does the transpose follow? */
PETSC_INTERN PetscErrorCode PCApply_PatchMG(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_PatchMG(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCPatchMGForget_Private(PC);
PETSC_INTERN PetscErrorCode PCPatchMGSetReuse_Private(PC);
PETSC_INTERN PetscErrorCode PCPatchMGSetGuess_Private(PC, PetscBool transpose);
/* PCMG's.  As long as a PC has this one nobody has called PCMGSetType(), which sets what goes with the type: the kind of cycle is left to
   us */
PETSC_INTERN PetscErrorCode PCApplyRichardson_PatchMG(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *,
                                                      PCRichardsonConvergedReason *);
PETSC_INTERN PetscBool      PCPatchMGCycleIsFree_Private(PC);
PETSC_INTERN void           PCPatchMGFreeCycle_Private(PC); /* again, after calls of ours */
/* patchmglevels.c: the mesh, that of the matrix unless KSPSetDM() gave one; the number of levels, unless it was set, and PCMG's options for
   them; what -ksp_view says of it */
PETSC_INTERN PetscErrorCode PCPatchMGFindDM_Private(PC);
PETSC_INTERN PetscBool      PCPatchMGHasDM_Private(PC);
/* are directions to be halved otherwise than in the levels that there are?  Then, and where the mesh is another one, they are forgotten */
PETSC_INTERN PetscErrorCode PCPatchMGCheckHalvings_Private(PC);
PETSC_INTERN PetscErrorCode PCPatchMGSetStale_Private(PC);
PETSC_INTERN PetscErrorCode PCPatchMGSetLevels_Private(PC);
PETSC_INTERN PetscErrorCode PCPatchMGReadOptions_Private(PC, PatchFDOptionItems);
PETSC_INTERN PetscErrorCode PCPatchMGGetCoarseReason_PatchMG(PC, const char *[]);
/* patchmgview.c */
PETSC_INTERN PetscErrorCode PCView_PatchMG(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCPatchMGViewLevels_PatchMG(PC, PetscViewer);
/* of a KSPRICHARDSON: its scale, and whether it takes its own at each step */
PETSC_INTERN PetscErrorCode KSPRichardsonGetScale_Private(KSP, PetscReal *scale, PetscBool *selfscale);
/* when the PC of a pre-smoother has read its options, the post-smoother of the level becomes its adjoint */
PETSC_INTERN PetscErrorCode PCPatchMGSetMirror_Private(KSP down, PC pc);
PETSC_INTERN PetscErrorCode PCPatchMGCheckSymmetric_Private(PC);
