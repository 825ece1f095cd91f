#pragma once
/*
  Sparse rows of floats (src/host/csr.c), for the matrices of type MATAIJSINGLE and the factors made of them.

  Columns are 16 bits wide where those of a block of rows are close to each other or, in matrices made on a GPU, close to a few places, as
  those of a stencil in three layers of nodes are, and otherwise 32 bits.
*/
#include <patchfd/private/kernels.h>

typedef struct _n_PatchFDCSR *PatchFDCSR;

enum {
  PATCHFD_CSR_BLOCK   = 64, /* rows that have their columns in one format */
  PATCHFD_CSR_WINDOWS = 4,
  PATCHFD_CSR_BITS    = 14, /* of a column in its window */
  PATCHFD_CSR_MASK    = (1 << PATCHFD_CSR_BITS) - 1,
  PATCHFD_CSR_RANGE   = PATCHFD_CSR_WINDOWS + 2
};
typedef enum {
  PATCHFD_CSR_WIDE,
  PATCHFD_CSR_NARROW, /* the windows follow each other */
  PATCHFD_CSR_WINDOWED
} PatchFDCSRFormat;
typedef struct {
  PetscInt         row, first; /* the first row, and the column from which the others count */
  PetscCount       at;         /* where the columns of the first row begin, in numbers of 16 bits */
  PatchFDCSRFormat format;
  int32_t          window[PATCHFD_CSR_WINDOWS]; /* where the columns begin whose number in 16 bits has this above the lowest 14 */
} PatchFDCSRBlock;

/* what a PatchFDCSR consists of */
typedef struct {
  PetscInt               m, n, nblock;
  const PetscInt        *i; /* where the rows begin; m + 1 */
  float                 *a; /* NULL while the entries, with their columns, are in GPU memory only */
  uint16_t              *j;
  const PatchFDCSRBlock *block; /* nblock, and one more that ends the last */
} PatchFDCSRArrays;

/* m rows of n columns: row r has the columns j[i[r]] .. j[i[r + 1] - 1], in ascending order */
PETSC_INTERN PetscErrorCode PatchFDCSRCreate(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], PatchFDCSR *);
/*
  The same without entries. range[] has PATCHFD_CSR_RANGE numbers a block: its first column; the first one that is 2^14 or more behind that;
  and so on, PETSC_INT_MAX where there is none; and the last column. Behind the first, numbers are not read if that is less than 2^16 away.
*/
PETSC_INTERN PetscErrorCode PatchFDCSRCreateOutline(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt range[], PatchFDCSR *);
/* room for values and columns */
PETSC_INTERN PetscErrorCode PatchFDCSRNeedEntries(PatchFDCSR);
PETSC_INTERN PetscErrorCode PatchFDCSRForgetEntries(PatchFDCSR);
/* are these its rows and columns? */
PETSC_INTERN PetscErrorCode PatchFDCSRHasPattern(PatchFDCSR, PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], PetscBool *);
PETSC_INTERN PetscErrorCode PatchFDCSRReference(PatchFDCSR);
PETSC_INTERN PetscErrorCode PatchFDCSRDestroy(PatchFDCSR *);
PETSC_INTERN PetscErrorCode PatchFDCSRSetValues(PatchFDCSR, const PetscScalar a[]);
/* into arrays of the caller, which may be NULL, of m + 1 and of as many numbers as there are entries */
PETSC_INTERN PetscErrorCode PatchFDCSRGet(PatchFDCSR, PetscInt i[], PetscInt j[], PetscScalar a[]);
PETSC_INTERN PetscErrorCode PatchFDCSRGetArrays(PatchFDCSR, PatchFDCSRArrays *);
/* entries, those of them whose columns are 16 bits wide, and bytes of all */
PETSC_INTERN PetscErrorCode PatchFDCSRGetSize(PatchFDCSR, PetscCount *entries, PetscCount *narrow, PetscLogDouble *bytes);

/* y = z + s A x, z = NULL for zero; z may be y */
PETSC_INTERN PetscErrorCode PatchFDCSRMult(PatchFDCSR, float s, const float x[], const float z[], float y[]);
/* y += A' x */
PETSC_INTERN PetscErrorCode PatchFDCSRMultTransposeAdd(PatchFDCSR, const float x[], float y[]);
#if defined(PETSC_HAVE_CUDA)
/* the same in GPU memory (src/cuda/sparse/csr.cu), and its product, with arrays there */
typedef struct _n_PatchFDCSRCUDA *PatchFDCSRCUDA;
PETSC_INTERN PetscErrorCode       PatchFDCSRCUDACreate(PatchFDCSR, PatchFDCSRCUDA *);
/* of columns in GPU memory, without values; and its outline on the host */
PETSC_INTERN PetscErrorCode PatchFDCSRCUDACreateFrom(PetscInt m, PetscInt n, const PetscInt i[], const PetscInt j[], PatchFDCSR *,
                                                     PatchFDCSRCUDA *);
PETSC_INTERN PetscErrorCode PatchFDCSRCUDACreateTranspose(PatchFDCSRCUDA, PatchFDCSRCUDA *);
PETSC_INTERN PetscErrorCode PatchFDCSRCUDADestroy(PatchFDCSRCUDA *);
PETSC_INTERN PetscErrorCode PatchFDCSRCUDASetValues(PatchFDCSRCUDA, const PetscScalar a[]);
PETSC_INTERN PetscErrorCode PatchFDCSRCUDAGet(PatchFDCSRCUDA, PatchFDCSR);
PETSC_INTERN PetscErrorCode PatchFDCSRCUDAGetDiagonal(PatchFDCSRCUDA, float d[]);
PETSC_INTERN PetscErrorCode PatchFDCSRCUDAMult(PatchFDCSRCUDA, float s, const float x[], const float z[], float y[]);
#endif
/* the diagonal, zero where there is no entry */
PETSC_INTERN PetscErrorCode PatchFDCSRGetDiagonal(PatchFDCSR, float d[]);

/* d = omega / (d + shift), and is there a zero to divide by? */
PETSC_INTERN PetscErrorCode PatchFDCSRReciprocal(PetscInt n, float omega, float shift, float d[], PetscBool *zero);

/* how a sweep goes over the rows */
typedef struct {
  PetscBool forward, backward; /* one of them or both, in this order */
  PetscBool zero;              /* x is taken for zero */
  float     omega;
} PatchFDRelaxation;
/* One sweep of successive over-relaxation for A x = b; scale[row] is omega over the diagonal, t has room for a number a row */
PETSC_INTERN PetscErrorCode PatchFDCSRSweep(PatchFDCSR, const PatchFDRelaxation *, const float scale[], const float b[], float t[],
                                            float x[]);
/* x = U^-1 L^-1 b for L = 1 + the entries below the diagonal, U = 1 / inverse + those above: row by row; x may be b */
PETSC_INTERN PetscErrorCode PatchFDCSRSolve(PatchFDCSR lower, PatchFDCSR upper, const float inverse[], const float b[], float x[]);
/* x = L'^-1 U'^-1 x */
PETSC_INTERN PetscErrorCode PatchFDCSRSolveTranspose(PatchFDCSR lower, PatchFDCSR upper, const float inverse[], float x[]);

/*
  Factors as PETSc's MATSEQAIJ and MATSEQSBAIJ hold them (src/host/csrfactor.c), of n rows: in both the diagonal is inverted and the last
  entry of a row of U.  The rows of L, without diagonal, are at i[r] .. i[r + 1] - 1, and behind them those of U, the last one first; a
  Cholesky factor has the rows of -D^-1 U at i[r] .. i[r + 1] - 1, and L = U'D^-1.
*/
typedef struct {
  PatchFDCSR lower, upper;
  float     *inverse;
} PatchFDCSRFactor;
PETSC_INTERN PetscErrorCode PatchFDCSRFactorSetLU(PetscInt n, const PetscInt i[], const PetscInt j[], const PetscScalar a[],
                                                  PatchFDCSRFactor *);
PETSC_INTERN PetscErrorCode PatchFDCSRFactorSetCholesky(PetscInt n, const PetscInt i[], const PetscInt j[], const PetscScalar a[],
                                                        PatchFDCSRFactor *);
PETSC_INTERN PetscErrorCode PatchFDCSRFactorReset(PatchFDCSRFactor *);
/* y[i] = x[p[i]], and back; p = NULL for the identity */
PETSC_INTERN PetscErrorCode PatchFDCSRPermute(PetscInt n, const PetscInt p[], PetscBool back, const float x[], float y[]);
