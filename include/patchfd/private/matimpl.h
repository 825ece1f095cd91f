#pragma once
/* What the matrices of a DMBOX hold, for the preconditioners that work on them */
#include <patchfd/private/boximpl.h>
#include <petsc/private/matimpl.h>

/*
  An operator: sum over directions d of A_d in direction d, M in the others.  The one-dimensional objects are made on first use and
  live here, so that all smoothers of a level share them; plans are made for each kernel table that meets the matrix.
*/
typedef struct {
  DM             dm;
  PetscReal      diffusion[3], shift; /* what the objects below were made for */
  PatchFDCells   cells[3];
  PatchFDPatches patches[3];
  PatchFDEigen   whole[3]; /* eigenvectors of the lines of the whole box */
  PetscBool      havepatches, havewhole;
  PetscSF        natural; /* the whole box on every rank; NULL on one rank */
  void          *op[PATCHFD_NUM_KERNELS], *smoother[PATCHFD_NUM_KERNELS], *boxsolve[PATCHFD_NUM_KERNELS];
  void          *whole_b[PATCHFD_NUM_KERNELS], *whole_x[PATCHFD_NUM_KERNELS]; /* the whole box, for the direct solve on several ranks */
} Mat_Box;

/* the data of a DMBOX operator, or an error that says what is supported; `who` is named in it */
PETSC_INTERN PetscErrorCode MatBoxGet(Mat, const char *who, Mat_Box **);
/* as MatBoxUpdate(), and with what a time integrator adds to the shift of the DM at the moment; nothing for other matrices and DMs */
PETSC_INTERN PetscErrorCode MatBoxUpdateStep(Mat, DM);
/* called when a matrix is made, since that is the one thing that a SNES without callbacks asks of its DM: solvers.c */
PETSC_INTERN PetscErrorCode DMBoxSetSNESDefaults(DM);
PETSC_INTERN PetscErrorCode MatBoxGetSmoother(Mat_Box *, PatchFDKernels, void **plan);
/* x = A^{-1} b on the free nodes of a global array, by the direct solve of the whole box; collective */
PETSC_INTERN PetscErrorCode MatBoxSolve(Mat_Box *, PatchFDKernels, const void *b, void *x);
/* the free nodes that this rank owns or has in its local box */
PETSC_INTERN void DMBoxFreeNodes(const DM_Box *, PetscBool local, PatchFDRange);
