#pragma once
/* MATAIJSINGLE inside the library */
#include <petscvecsingle.h>
#include <petsc/private/matimpl.h>
#include <petscsf.h>
#include <patchfd/private/csr.h>

typedef struct {
  PatchFDCSR diag, off;    /* the entries in columns of this rank, and the others', numbered as in column[]; NULL on one rank */
  PetscSF    sf;           /* from those who have them, */
  Vec        ghost;        /* to here; of the type of the vectors in use */
  PetscInt  *column;       /* global numbers; as many as there are ghosts */
  float     *scale, *work; /* for sweeps: omega / (diagonal + shift), and two numbers a row; NULL until they are used */
  PetscReal  omega, shift; /* what scale[] has been made for */
  PetscBool  pivot;        /* one of those was a division by zero */
  Mat        block;        /* what MatGetDiagonalBlock() lends */
  Mat        aij;          /* a double copy of the diagonal block while somebody uses it */
#if defined(PETSC_HAVE_CUDA)
  PatchFDCSRCUDA cuda[2][2]; /* diag and off, and their transposes, in GPU memory; NULL until they are used */
#endif
  Mat source; /* the MATAIJ whose entries these are, or NULL if it may have others by now */
} Mat_AIJSingle;

PETSC_INTERN PetscErrorCode MatCreate_AIJSingle(Mat);
/* aijsinglecuda.c: products with diag or off where the arrays are, y = z + s A x, or y += A' x, where z is y */
PETSC_INTERN PetscErrorCode MatAIJSingleMultLocal(Mat_AIJSingle *, PetscBool off, PetscBool transpose, PetscMemType, float s,
                                                  const float x[], const float z[], float y[]);
PETSC_INTERN PetscErrorCode MatAIJSingleGetDiagonalLocal(Mat_AIJSingle *, PetscMemType, float d[]);
/* an array for as many numbers as there are ghosts */
PETSC_INTERN PetscErrorCode MatAIJSingleGetGhosts(Mat_AIJSingle *, PetscMemType, float **);
/* diag's or off's entries are on the host; diag or off itself with them */
PETSC_INTERN PetscErrorCode MatAIJSingleNeedHost(Mat_AIJSingle *, PetscBool off);
PETSC_INTERN PetscErrorCode MatAIJSingleGetRows(Mat_AIJSingle *, PetscBool off, PatchFDCSR *);
/* the entries of a MATSEQAIJCUSPARSE, in GPU memory: the rows, unless they are known, and the values */
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN PetscErrorCode MatAIJSingleSetRowsCUDA(Mat_AIJSingle *, PetscBool off, Mat, PetscInt m, const PetscInt i[]);
#else
  #define MatAIJSingleSetRowsCUDA(...) PETSC_SUCCESS /* there is none */
#endif
/* what is in GPU memory, or the transposes there alone, since entries change or end */
PETSC_INTERN PetscErrorCode MatAIJSingleForgetCUDA(Mat_AIJSingle *, PetscBool transposes);
/* aijsingleconvert.c: to and from other types, and what is done by way of them */
PETSC_INTERN PetscErrorCode MatConvertFrom_AIJSingle(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatAIJSingleSetConversions(Mat);
PETSC_INTERN PetscErrorCode MatCreateAIJSingle_Private(Mat like, PatchFDCSR diag, Mat *);
/* the MATAIJ whose entries are those of B, until they change: what is computed by way of a MATAIJ takes it; NULL for none */
PETSC_INTERN PetscErrorCode MatAIJSingleSetSource(Mat B, Mat A);
/* a reference to a MATAIJ, which is not to be changed */
PETSC_INTERN PetscErrorCode MatAIJSingleGetAIJ(Mat, Mat *);
/* aijsinglefactor.c */
PETSC_INTERN PetscErrorCode MatGetFactor_AIJSingle(Mat, MatFactorType, Mat *);
/* is it of a type whose entries become floats? */
PETSC_INTERN PetscErrorCode MatAIJSingleCanConvert(Mat, PetscBool *);
