#pragma once
/*
  A matrix of a DMDA that is a sum of Kronecker products of one-dimensional matrices,

    A = W^{-1} K,   K = K_x (x) M_y (x) M_z + M_x (x) K_y (x) M_z + M_x (x) M_y (x) K_z,   W = W_x (x) W_y (x) W_z,

  M_d and W_d diagonal and positive, K_d symmetric and tridiagonal, or closed to a ring: differences on a lattice of any spacings, of nodes
  or of cells, with rows divided by volumes (W) or not (W = 1).  This holds on the free unknowns, a box.  All others have nothing but a
  diagonal entry, as rows of Dirichlet conditions have, and the free rows beside them may have entries for them, which are those of the sum,
  too.

  With the couplings a_d = W_d^{-1} K_d beside the diagonal and m_d = W_d^{-1} M_d, whose entries add up to one, sums over the rows with
  index i in direction d are multiples of what belongs to i: that is how they are found.  Rows of A add up to m_x m_y m_z (s_x + s_y + s_z),
  the sum over free unknowns.
*/
#include <patchfd/private/dmdarows.h>

typedef struct {
  PetscInt     dim, n[3];
  PatchFDRange free;
  PetscBool    ring[3];
  PetscReal   *up[3], *down[3]; /* [n[d]]: a_d(i, i + 1) and a_d(i, i - 1), also for unknowns that are not free */
  PetscReal   *m[3], *s[3], *w[3];
  PetscBool    constants; /* are all s zero? */
  PetscBool    weighted;  /* is a w not one? */
} PatchFDKroneckerLines;

/* an entry that the sum has not */
typedef struct {
  PetscReal excess; /* |found - expected| over what rounding may be: no misfit up to 1 */
  PetscReal found, expected;
  PetscInt  row[3], offset[3];
} PatchFDMisfit;

/* why there are no such one-dimensional matrices; d and i of the first place */
typedef enum {
  PATCHFD_KRONECKER_FITS,
  PATCHFD_KRONECKER_HOLE,        /* rows with index i in direction d are not coupled in any other, while others are */
  PATCHFD_KRONECKER_UNSYMMETRIC, /* no weights, up to a factor of PATCHFD_KRONECKER_MAX_WEIGHT, make i and i + 1 in direction d symmetric */
  PATCHFD_KRONECKER_IRREGULAR    /* numbers that are not finite */
} PatchFDKroneckerFault;

#define PATCHFD_KRONECKER_MAX_WEIGHT 1e8

enum {
  PATCHFD_KRONECKER_SUMS = 7 /* for an index of a direction */
};

/* ---- src/host/kroneckersum.c; row[own unknown][stencil.n] as from PatchFDHostRowsRead() ---- */

/* sums[n[0] + n[1] + n[2]][PATCHFD_KRONECKER_SUMS] over this rank's rows, to be added up over ranks */
PETSC_INTERN void PatchFDHostKroneckerSums(const PatchFDGrid *, const PatchFDStencil *, const PetscReal row[],
                                           const PatchFDKroneckerLines *, PetscReal sums[]);
/* up to s from the sums of all ranks */
PETSC_INTERN PetscErrorCode PatchFDHostKroneckerFit(const PetscReal sums[], PatchFDKroneckerLines *, PatchFDKroneckerFault *, int *d,
                                                    PetscInt *i);
/* the largest misfit of this rank's rows */
PETSC_INTERN void PatchFDHostKroneckerCheck(const PatchFDGrid *, const PatchFDStencil *, const PetscReal row[],
                                            const PatchFDKroneckerLines *, PatchFDMisfit *);
/* scale = w w w of free unknowns and the inverse diagonal entry of others; false if one of these is not finite */
PETSC_INTERN PetscBool PatchFDHostKroneckerScale(const PatchFDGrid *, const PatchFDStencil *, const PetscReal row[],
                                                 const PatchFDKroneckerLines *, PetscReal scale[]);
/* M_d and K_d on the free unknowns, from arrays that t has from here on */
PETSC_INTERN PetscErrorCode PatchFDKroneckerLineCreate(const PatchFDKroneckerLines *, int d, PatchFDThreePoint *t);
PETSC_INTERN PetscErrorCode PatchFDKroneckerLineDestroy(PatchFDThreePoint *);
/* x(i, j, k) = line[0][i] line[1][j] line[2][k] */
PETSC_INTERN void PatchFDHostProduct(const PatchFDBox *, const PetscReal *const line[3], PetscReal x[]);
/* y = A x on the unknowns of a box that are all free; xbox has those beside them, too, as far as they exist */
PETSC_INTERN void PatchFDHostKroneckerApply(const PatchFDKroneckerLines *, const PatchFDBox *xbox, const PetscReal x[],
                                            const PatchFDBox *ybox, PetscReal y[]);
/* arrays of zeros for lines of the length n, and a copy of all of it */
PETSC_INTERN PetscErrorCode PatchFDKroneckerLinesAllocate(PatchFDKroneckerLines *);
PETSC_INTERN PetscErrorCode PatchFDKroneckerLinesCopy(const PatchFDKroneckerLines *, PatchFDKroneckerLines *);
PETSC_INTERN PetscErrorCode PatchFDKroneckerLinesDestroy(PatchFDKroneckerLines *);

/*
  ---- src/mat/kroneckerrows.c ----

  From all ranks' rows, with errors that begin with `who` and name what does not fit; *scale over this rank's unknowns.  Not regular:
  entries are not finite, or a row of an unknown that is not free is zero
*/
PETSC_INTERN PetscErrorCode MatReadKroneckerLines(Mat, const PatchFDGrid *, const char who[], PatchFDKroneckerLines *, PetscReal **scale,
                                                  PetscBool *regular);

/* the lines of a matrix of MatCreateKroneckerSum(); NULL for others (src/mat/kroneckershell.c) */
PETSC_INTERN PetscErrorCode MatGetKroneckerLines(Mat, const PatchFDKroneckerLines **);
