#pragma once
/* KSPFUSEDCG: fusedcg.c solves, fusedcgtotal.c sums over ranks without the host, fusedcgset.c has all else */
#include <petsc/private/kspimpl.h>
#include <patchfd/private/cg.h>
#include <patchfd/private/halo.h>

/* a recording and what it depends on, apart from the work vectors */
typedef struct {
  void            *record;
  PetscBool        failed;
  PetscObjectId    mat;
  PetscObjectState state;
  const void      *x, *d, *p;
} FusedCGRecord;

/* sums over ranks without the host: each hears the numbers of all of them, its own included */
typedef struct {
  PatchFDHalo halo; /* NULL where they go by way of the host */
  void       *part; /* [ranks][numbers] */
} FusedCGTotal;

typedef struct {
  PetscBool graph;  /* may be recorded */
  PetscBool wanted; /* may the matrix's sweep be used? */

  /* of a solve */
  PatchFDKernels     kern;
  PetscInt           n;
  void              *plan;
  PatchFDSweep      *device;  /* the state of the plan */
  PatchFDCG          s;       /* the host's copy */
  PetscBool          changed; /* by the host: to be put */
  PetscBool          diagonal, alone, record;
  PetscMPIInt        nrank;
  PetscBool          tried; /* totals without the host */
  FusedCGTotal       total[PATCHFD_CG_NUM_TOTALS];
  Vec                d;       /* of a diagonal preconditioner; NULL in the sweeps of none */
  Vec                p[2];    /* the direction, and where the matrix has a sweep the one before */
  PetscInt           turn;    /* which is next */
  PetscBool          offered; /* has the matrix a sweep? */
  MatFusedCGSweepFn *sweep;   /* NULL if it is not used */
  FusedCGRecord      recorded;

  PetscInt   nritz; /* size of: */
  PetscReal *diag, *off, *work;
} KSP_FusedCG;

PETSC_INTERN PetscErrorCode KSPSetUp_FusedCG(KSP);
PETSC_INTERN PetscErrorCode KSPSolve_FusedCG(KSP);
PETSC_INTERN PetscErrorCode KSPReset_FusedCG(KSP);
/* is there a transport for totals?  An exchange tells; one of them, after a sweep */
PETSC_INTERN PetscErrorCode FusedCGSetTotals(KSP, KSP_FusedCG *);
PETSC_INTERN PetscErrorCode FusedCGSetTotal(KSP_FusedCG *, PatchFDCGTotal);
PETSC_INTERN PetscErrorCode FusedCGDestroyTotals(KSP_FusedCG *);
