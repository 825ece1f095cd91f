#pragma once
/*
  The direct solve of the whole box: x = (S (x) S (x) S) D^{-1} (S (x) S (x) S)' b on the free nodes, S and lambda the eigenvectors and
  eigenvalues of whole lines (eq. 2.13 to 2.15 of C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product
  patch smoothers on GPU, 2024, for one large patch); a zero eigenvalue has inverse zero.

  On several ranks lines of the last direction are cut into pieces (patchfd/private/cut.h), and a rank does with its piece what it would do
  with a box of its own: S and lambda of that direction are those of the inner nodes of the piece.  For each mode of the other directions,
  mu the sum of its eigenvalues, a piece has a few numbers at its ends.  These are all that travels, to the rank that solves the equations
  of a part of the modes, and back.
*/
#include <patchfd/private/cut.h>
#include <patchfd/private/halo.h>

typedef struct _n_PatchFDBoxSolve *PatchFDBoxSolve;

/* the ranks of a solve; more than one with dim > 1 only */
typedef struct {
  MPI_Comm          comm;
  const PatchFDCut *cut; /* of direction dim - 1, a piece for each rank */
  PatchFDHaloType   halo;
} PatchFDBoxSolveRanks;

/* collective; ranks may be NULL for one.  On several the direction that is cut is described by the eigenvectors of the piece, and its first
   inner node */
PETSC_INTERN PetscErrorCode PatchFDBoxSolveCreate(PatchFDKernels, PetscInt dim, const PatchFDBoxSolveDesc *, const PatchFDBoxSolveRanks *,
                                                  PatchFDBoxSolve *);
PETSC_INTERN PetscErrorCode PatchFDBoxSolveApply(PatchFDBoxSolve, const void *b, void *x);
PETSC_INTERN PetscErrorCode PatchFDBoxSolveDestroy(PatchFDBoxSolve *);
/* unknowns from which on ranks share a solve: below messages and launches take longer than the work of the others */
static inline PetscLogDouble PatchFDBoxSolveShareLimit(PatchFDKernels kern)
{
  return PetscMemTypeHost(kern->memtype) ? 4e3 : 1e6;
}
/* may they, for all sums of eigenvalues of the directions but the last? Otherwise a piece, or some of them, may be singular where the
   whole is not */
PETSC_INTERN PetscErrorCode PatchFDBoxSolveIsDefinite(const PatchFDEigen *const dir[3], int last, const PatchFDCut *, PetscBool *definite);
/* but for rounding and, with `constants`, for these; -info says so of the object */
PETSC_INTERN PetscErrorCode PatchFDBoxSolveIsSingular(PetscObject, const PatchFDEigen *const dir[3], PetscBool constants,
                                                      PetscBool *singular);
/* what is in both boxes, as entries of arrays over the first; counted, or with `index` listed, too */
PETSC_INTERN PetscInt PatchFDBoxCommon(const PatchFDBox *, const PatchFDBox *, PetscInt index[]);
/*
  What arrays over boxes on the ranks, side 0, and arrays over other boxes have in common: box[side][rank].  order: NULL, or the directions
  of a side's arrays from the fastest one to the slowest
*/
PETSC_INTERN PetscErrorCode PatchFDBoxHaloCreate(MPI_Comm, PatchFDHaloType, const PatchFDBox *const box[2], const int *const order[2],
                                                 PatchFDHalo *);

/*
  ---- its steps, a table for each kernel table ----

  (boxsolvecreate and boxsolveapply of a kernel table are all of it in one kernel, for boxes that are small enough: there is no plan for
  others, and no such function on the host.)
*/

/*
  A line whose eigenvectors are even or odd is folded: for its n nodes it has two blocks of `size` numbers, sums of nodes and their images
  and then differences, for which the even and the odd modes have matrices of half the size.  Other lines have one block, of the nodes as
  they are.  At the end of a block there may be zeros.

  Kernels that have `eliminate` need no matrices for two kinds of lines, which are of one block without zeros: those with `wave`, whose
  modes are waves, and the one with `band`, whose equations are solved by elimination, for each mode of the others.
*/
typedef struct {
  PetscInt   n, blocks, size;
  PetscInt   shift;  /* the image of node i is i + shift, half a turn around a ring, or, if that is 0, its mirror image n - 1 - i */
  PetscReal *S;      /* [blocks][size][size], row: number in the block, column: mode of the block */
  PetscReal *lambda; /* [blocks][size] */
  /* NULL for others, of PatchFDEigen */
  const PetscReal *wave, *band;
  PetscInt         width;
} PatchFDBoxLine;

enum {
  PATCHFD_MAX_RADIX = 128
};

/* n is a product of such numbers */
static inline PetscInt PatchFDRadix(PetscInt n)
{
  PetscInt p = 2;

  if (n % 4 == 0) return 4;
  while (n % p) p++;
  return p;
}

static inline PetscInt PatchFDBoxLineLength(const PatchFDBoxLine *l)
{
  return l->blocks * l->size;
}

/* so many numbers of a block (0 or 1) are of nodes, or of images */
static inline PetscInt PatchFDBoxLineCount(const PatchFDBoxLine *l, int block)
{
  return l->blocks == 1 ? (block ? 0 : l->n) : (l->n + 1 - block) / 2;
}

static inline PetscInt PatchFDBoxLineImage(const PatchFDBoxLine *l, PetscInt i)
{
  return l->shift ? i + l->shift : l->n - 1 - i;
}

/* between nodes, an array over a box, and lines that are folded or not: a box of blocks * size numbers a direction, x fastest.  S and
   lambda are not used */
typedef struct {
  PatchFDBoxLine line[3];
  PetscInt       first[3]; /* of the n nodes */
  PatchFDBox     box;
} PatchFDBoxFold;

/*
  The steps of a box, x fastest in all arrays, with `inner` numbers to a plane of nodes or modes of direction `last`, the last one.

  The ends of a rank's piece are so many planes; on one rank there are none.  The first nkeep of them are planes of nodes.
*/
typedef struct {
  const PatchFDBoxLine *line; /* [3] */
  int                   last;
  PetscInt              nend, nkeep;
  const PetscReal      *alpha, *mass; /* [length of the last line][nend] */
  const PatchFDCut     *cut;          /* whose equations are solved here for the numbers first .. first + n - 1 of a plane */
  PetscInt              first, n;
} PatchFDBoxSteps;

typedef const struct _PatchFDBoxKernels *PatchFDBoxKernels;
struct _PatchFDBoxKernels {
  PetscErrorCode (*create)(const PatchFDBoxSteps *, void **plan);
  PetscErrorCode (*destroy)(void **plan);
  PetscErrorCode (*fold)(const PatchFDBoxFold *, const void *nodes, void *folded);
  PetscErrorCode (*unfold)(const PatchFDBoxFold *, const void *folded, void *nodes);
  /* modes = S' numbers for the lines of direction d, or with `back` numbers = S modes; inner, outer: numbers in the directions before d and
     after it, of which outer is 1 where inner is not, and all are meant */
  PetscErrorCode (*product)(void *plan, int d, PetscInt inner, PetscInt outer, PetscBool back, void *numbers, void *modes);
  /* what the modes of the right-hand side do at the ends: g, to which nodes bring their own number */
  PetscErrorCode (*ends)(void *plan, const void *modes, void *ends);
  /* R z = g, in place: all ends of all pieces, n numbers of each */
  PetscErrorCode (*join)(void *plan, void *ends);
  /* modes of the right-hand side become those of the solution; what has a sum of eigenvalues that is zero becomes zero.  ends: z, unused if
     there are none */
  PetscErrorCode (*divide)(void *plan, const void *ends, void *modes);
  /* the same where direction d, not the first one, is not in modes but in nodes, by elimination; NULL for kernels that take matrices
     alone */
  PetscErrorCode (*eliminate)(void *plan, int d, void *modes);
};
PETSC_INTERN const struct _PatchFDBoxKernels PatchFDBoxHostDouble, PatchFDBoxHostFloat;
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _PatchFDBoxKernels PatchFDBoxCUDADouble, PatchFDBoxCUDAFloat;
#endif
