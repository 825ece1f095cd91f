/* what the files of PCSINGLE have of each other */
#pragma once
#include <petsc/private/pcimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petscpatchfd.h>

/* how a Mat makes Vecs; what a Mat has is exchanged with what stands here */
typedef struct {
  char *type;
  PetscErrorCode (*getvecs)(Mat, Vec *, Vec *);
} MatVecMaker;

/* what of the inner PC works on copies of its matrices in floats: nothing, all, or the levels from one on (singlefloat.c); or it works on
   the double Vecs outside */
typedef enum {
  PCSINGLE_FLOATS_NONE,
  PCSINGLE_FLOATS_DOUBLE,
  PCSINGLE_FLOATS_MATRIX,
  PCSINGLE_FLOATS_LEVELS
} PCSingleFloats;
typedef struct _n_PCSingleCopy *PCSingleCopy;

typedef struct {
  PC          pc;           /* the inner one */
  PetscBool   scale;        /* bring the input to norm one before it is converted */
  PetscBool   warn, warned; /* about outer methods that cannot work */
  PetscBool   native;       /* the operator is a matrix-free one of a DMBOX */
  int         exponent;     /* the operator inside is the one outside times two to this power, */
  PetscReal   identity;     /* native: but for the diagonal entries of fixed nodes, which are one inside; 0 where there are none */
  DM          outerdm, dm;  /* the DM and its clone */
  Mat         box;          /* native: the operator that the clone made */
  Vec         x, y;         /* the input and the output of the inner PC, */
  PetscReal   factor;       /* whose result is the latter times this number */
  VecType     vectype;      /* inside: VECSINGLE or VECSINGLECUDA */
  MatVecMaker maker[2];     /* of Amat and Pmat, in use while the inner PC is at work, */
  PetscBool   lent[2];      /* where it has them from the user; others were made for it */

  PetscInt   dim, ncoordinates; /* of the last PCSetCoordinates(), for the inner PC when it has a type; dim = 0: none */
  PetscReal *coordinates;

  PCSingleFloats floats;
  PCSingleCopy   copies;
  PetscInt       first;     /* level */
  PetscBool      exchanged; /* levels have the copies in place of their matrices */
  PetscBool      coarse;    /* also the coarsest one, if it can */
  PetscBool      shadows;   /* levels cannot have floats */
} PC_Single;

/* singledm.c: the DM of the operator, and is that a matrix-free one of a DMBOX? */
PETSC_INTERN PetscErrorCode PCSingleFindDM(PC, DM *, PetscBool *native);
/* the DM inside, which makes Vecs of the type there */
PETSC_INTERN PetscErrorCode PCSingleCloneDM(PC, DM);

/* singlescale.c: gives the inner PC the operators, other than those of a DMBOX, or scaled copies of them */
PETSC_INTERN PetscErrorCode PCSingleSetOperators(PC);

/* singlefloat.c: what of the inner PC, which has its type and options, may have floats */
PETSC_INTERN PetscErrorCode PCSingleChooseFloats(PC);
/* before the set-up of the inner PC, with its operators, and after it, with `again` if it has to be done without floats */
PETSC_INTERN PetscErrorCode PCSingleFloatsBeginSetUp(PC, Mat A, Mat P);
PETSC_INTERN PetscErrorCode PCSingleFloatsEndSetUp(PC, PetscBool *again);
PETSC_INTERN PetscErrorCode PCSingleFloatsReset(PC);
PETSC_INTERN PetscErrorCode PCSingleFloatsView(PC, PetscViewer);
