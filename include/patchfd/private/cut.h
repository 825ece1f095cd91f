#pragma once
/*
  A line cut into pieces of whole cells, for (A + mu M) x = b with many numbers mu: the direct solve of a box that ranks share (boxsolve.h).

  The inner nodes I of a piece are diagonalized alone.  With its S and lambda

    x_I = S (lambda + mu)^{-1} (S' b_I - sum_i c_i z_i),   c_i = alpha_i + (lambda + mu) mass_i,

  where z are a few numbers at the ends of the piece:

    continuous lines     x at the node that two pieces have in common, which is an inner node of neither
    discontinuous lines  value and derivative (on the reference cell) of the neighbour at the common vertex; every node is an inner one

  Without x_I the equations R z = g are left over,

    R = A + mu M - sum c c' / (lambda + mu),   g = (b at common nodes) - sum c S' b_I / (lambda + mu),

  the sums over all modes of all pieces, A and M what couples z itself.  R is a narrow band matrix, of one unknown a cut, or four.  Where A
  + mu M is definite it has factors
  L D L' without exchanges of rows, with pivots of its sign, or in a discontinuous line of the other sign below a cut and of its own above.
  If constants are a null space, one unknown is set to zero.

  An end has `nend` numbers; those below and above the first cut come first: piece r has the numbers nend (2 r - 1) .. nend (2 r + 1) - 1
  as far as they exist.  In a continuous line the two of a cut are one unknown.
*/
#include <patchfd/private/fe.h>

#if defined(__CUDACC__)
  #define PATCHFD_CUT_FUNCTION static __host__ __device__ inline
#else
  #define PATCHFD_CUT_FUNCTION static inline
#endif

enum {
  PATCHFD_CUT_MAX_ENDS = 4 /* 2 nend: numbers of a piece */
};

typedef struct {
  PetscInt   npiece, nend;
  PetscInt   nunknown, width; /* width: entries of a row of R, the diagonal and those before it */
  PetscInt  *cell;            /* [npiece + 1] first cells */
  PetscInt  *first;           /* [npiece + 1] first modes in these arrays: */
  PetscReal *lambda;          /* [first[npiece]] */
  PetscReal *alpha, *mass;    /* [first[npiece]][2 nend] */
  PetscReal *A, *M;           /* [nunknown][width]: entry (i, i - j) is [i][j] */
  /* numbers that begin at lambda and end with M, one array, zero but for the pieces that are set: for a sum over ranks */
  PetscCount size;
  PetscBool  singular; /* are constants a null space of A? */
} PatchFDCut;

/* without pieces; every one has a cell */
PETSC_INTERN PetscErrorCode PatchFDCutCreate(const PatchFDLine *, const PatchFDBand *A, PetscInt npiece, const PetscInt cell[],
                                             PatchFDCut *);
/* piece r, diagonalized here, and what it has in common with the one above it */
PETSC_INTERN PetscErrorCode PatchFDCutSetPiece(PatchFDCut *, const PatchFDLine *, const PatchFDBand *M, const PatchFDBand *A, PetscInt r,
                                               PatchFDEigen *);
/* is A + mu M definite, of one sign, for all mu from lo to hi?  All pieces have to be set */
PETSC_INTERN PetscErrorCode PatchFDCutIsDefinite(const PatchFDCut *, PetscReal lo, PetscReal hi, PetscBool *);
PETSC_INTERN PetscErrorCode PatchFDCutDestroy(PatchFDCut *);

/* numbers of all ends, and of an unknown */
PATCHFD_CUT_FUNCTION PetscInt PatchFDCutEnds(const PatchFDCut *c)
{
  return 2 * c->nend * (c->npiece - 1);
}
PATCHFD_CUT_FUNCTION PetscInt PatchFDCutCopies(const PatchFDCut *c)
{
  return c->nend == 1 ? 2 : 1;
}
/* those of piece r: the first one, and their number; *skip of the 2 nend numbers of a piece are before it, at an end of the line */
PATCHFD_CUT_FUNCTION PetscInt PatchFDCutPieceEnds(const PatchFDCut *c, PetscInt r, PetscInt *first, PetscInt *skip)
{
  *skip  = r == 0 ? c->nend : 0;
  *first = c->nend * (2 * r - 1) + *skip;
  return 2 * c->nend - *skip - (r == c->npiece - 1 ? c->nend : 0);
}

/* R, at first its lower half: entry [i][j] of it is R[(i * width + j) * stride] */
PATCHFD_CUT_FUNCTION void PatchFDCutAssemble(const PatchFDCut *c, double mu, size_t stride, double R[])
{
  const PetscInt w = c->width, copies = PatchFDCutCopies(c);

  for (PetscInt e = 0; e < c->nunknown * w; e++) R[(size_t)e * stride] = c->A[e] + mu * c->M[e];
  for (PetscInt r = 0; r < c->npiece; r++) {
    double   G[PATCHFD_CUT_MAX_ENDS][PATCHFD_CUT_MAX_ENDS] = {{0}};
    PetscInt at, skip, n = PatchFDCutPieceEnds(c, r, &at, &skip);

    for (PetscInt l = c->first[r]; l < c->first[r + 1]; l++) {
      const double D = c->lambda[l] + mu, inverse = 1 / D;
      double       v[PATCHFD_CUT_MAX_ENDS];

      for (PetscInt a = 0; a < n; a++) {
        v[a] = c->alpha[l * 2 * c->nend + skip + a] + D * c->mass[l * 2 * c->nend + skip + a];
        for (PetscInt b = 0; b <= a; b++) G[a][b] += v[a] * v[b] * inverse;
      }
    }
    for (PetscInt a = 0; a < n; a++) {
      for (PetscInt b = 0; b <= a; b++) {
        const PetscInt i = (at + a) / copies, j = (at + b) / copies;

        R[(size_t)(i * w + i - j) * stride] -= G[a][b];
      }
    }
  }
}

/* R becomes L D L': inverses of D on the diagonal, rows of L beside it */
PATCHFD_CUT_FUNCTION void PatchFDCutFactor(const PatchFDCut *c, double mu, size_t stride, double R[])
{
  const PetscInt w = c->width, fixed = c->singular && mu == 0 ? c->nunknown - c->nend : -1; /* the last unknown that a constant has */

  PatchFDCutAssemble(c, mu, stride, R);
  for (PetscInt i = 0; i < c->nunknown; i++) {
    double *row = R + (size_t)(i * w) * stride, pivot = row[0];

    for (PetscInt column = PetscMax(0, i - w + 1); column < i; column++) { /* L D, until the row is complete */
      const PetscInt j = i - column;

      for (PetscInt k = j + 1; k <= PetscMin(w - 1, i); k++) row[j * stride] -= row[k * stride] * R[(size_t)(column * w + k - j) * stride];
    }
    for (PetscInt j = 1; j <= PetscMin(w - 1, i); j++) {
      const double ld = row[j * stride];

      row[j * stride] *= R[(size_t)((i - j) * w) * stride];
      pivot -= ld * row[j * stride];
    }
    row[0] = i == fixed ? 0 : 1 / pivot;
  }
}
