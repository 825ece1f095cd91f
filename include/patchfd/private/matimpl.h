#pragma once
/* What the matrices of a DMBOX hold, for the preconditioners that work on them */
#include <patchfd/private/boximpl.h>
#include <petsc/private/matimpl.h>

/* entries (row, column, value) that this rank gives to the assembled matrix; the caller frees them with PetscFree3() */
typedef PetscErrorCode MatBoxTriplesFn(Mat, PetscCount *count, PetscInt **i, PetscInt **j, PetscScalar **v);

/* a MATSHELL with nrows x ncols local entries that refuses what its maker does not set (src/mat/shell.c) */
PETSC_INTERN PetscErrorCode MatBoxShellCreate(DM, size_t nrows, size_t ncols, void *ctx, MatBoxTriplesFn *, Mat *);
PETSC_INTERN PetscErrorCode MatBoxShellDestroy(Mat);
/* is there something to print?  An error for viewers that want entries */
PETSC_INTERN PetscErrorCode MatBoxShellViewASCII(Mat, PetscViewer, PetscBool *ascii);

/* All operators on a mesh are a linear space, whose elements have these coordinates: MatScale() and MatAXPY() work on them. */
typedef struct {
  PetscReal diffusion[3], shift;
  PetscReal identity; /* the diagonal entries of Dirichlet nodes: 1 until the matrix is scaled */
} MatBoxCoefficients;

/*
  An operator: sum over directions d of A_d in direction d, M in the others.  The one-dimensional objects are made on first use and
  live here, so that all smoothers of a level share them; plans are made for each kernel table that meets the matrix.
*/
typedef struct {
  DM                 dm;
  MatBoxCoefficients c;     /* what the objects below were made for */
  MatBoxCoefficients taken; /* the DM's when the matrix last took them over */
  PatchFDCells       cells[3];
  PatchFDPatches     patches[3];
  PatchFDEigen       whole[3]; /* eigenvectors of the lines of the whole box */
  PetscBool          havepatches, havewhole;
  PetscSF            natural; /* the whole box on every rank; NULL on one rank */
  void              *op[PATCHFD_NUM_KERNELS], *smoother[PATCHFD_NUM_KERNELS], *boxsolve[PATCHFD_NUM_KERNELS];
  void              *whole_b[PATCHFD_NUM_KERNELS], *whole_x[PATCHFD_NUM_KERNELS]; /* the whole box, for the direct solve on several ranks */
} Mat_Box;

/* the data of a DMBOX operator, or an error that says what is supported; `who` is named in it */
PETSC_INTERN PetscErrorCode MatBoxGet(Mat, const char *who, Mat_Box **);
/* is its residual computed by our kernels alone, does a transfer matrix prolongate and restrict by them alone: may it be recorded? */
PETSC_INTERN PetscErrorCode MatBoxIsOwn(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatTransferIsOwn(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatBoxGetSmoother(Mat_Box *, PatchFDKernels, void **plan);
/* x = A^{-1} b on the free nodes of a global array, by the direct solve of the whole box; collective */
PETSC_INTERN PetscErrorCode MatBoxSolve(Mat_Box *, PatchFDKernels, const void *b, void *x);
/* the free nodes that this rank owns or has in its local box */
PETSC_INTERN void DMBoxFreeNodes(const DM_Box *, PetscBool local, PatchFDRange);
