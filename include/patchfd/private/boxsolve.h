#pragma once
/*
  The direct solve of the whole box: x = (S (x) S (x) S) D^{-1} (S (x) S (x) S)' b on the free nodes, S and lambda the eigenvectors and eigenvalues of whole lines (eq. 2.13 to
  2.15 of C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU, 2024, for one large patch); a zero eigenvalue has inverse
  zero.

  On several ranks nodes are cut in the last direction: a rank has planes of them, and transforms the directions before.  For the last one it gets whole lines instead, for a
  part of the modes of the direction before: everybody sends a piece to everybody, in the order in which products make them and take them in.
*/
#include <patchfd/private/halo.h>

typedef struct _n_PatchFDBoxSolve *PatchFDBoxSolve;

/* the ranks of a solve; more than one with dim > 1 only */
typedef struct {
  MPI_Comm        comm;
  const PetscInt *node; /* [ranks + 1]: rank r has the free nodes node[r] .. node[r + 1] - 1 of direction dim - 1, counted from the first */
  DMBoxHaloType   halo;
} PatchFDBoxSolveRanks;

/* collective; ranks may be NULL for one.  In the direction that is cut the box of the description need only have the rank's own nodes */
PETSC_INTERN PetscErrorCode PatchFDBoxSolveCreate(PatchFDKernels, PetscInt dim, const PatchFDBoxSolveDesc *, const PatchFDBoxSolveRanks *, PatchFDBoxSolve *);
PETSC_INTERN PetscErrorCode PatchFDBoxSolveApply(PatchFDBoxSolve, const void *b, void *x);
PETSC_INTERN PetscErrorCode PatchFDBoxSolveDestroy(PatchFDBoxSolve *);

/*
  ---- its steps, a table for each kernel table ----

  (boxsolvecreate and boxsolveapply of a kernel table are all of it in one kernel, for boxes that are small enough: there is no plan for others, and no such function on the host.)
*/

/*
  A line whose eigenvectors are even or odd is folded: for its n nodes it has two blocks of `size` numbers, sums of mirrored nodes and then differences, for which the even and
  the odd modes have matrices of half the size.  Other lines have one block, of the nodes as they are.  At the end of a block there may be zeros.
*/
typedef struct {
  PetscInt   n, blocks, size;
  PetscReal *S;      /* [blocks][size][size], row: number in the block, column: mode of the block */
  PetscReal *lambda; /* [blocks][size] */
} PatchFDBoxLine;

static inline PetscInt PatchFDBoxLineLength(const PatchFDBoxLine *l)
{
  return l->blocks * l->size;
}

/* between nodes, an array over a box, and lines that are folded or not: a box of blocks * size numbers a direction, x fastest.  S and lambda are not used */
typedef struct {
  PatchFDBoxLine line[3];
  PetscInt       first[3]; /* of the n nodes */
  PatchFDBox     box;
} PatchFDBoxFold;

/* modes first .. first + n - 1 of a block of the lines of direction d: modes = S' numbers, or numbers = S modes */
typedef struct {
  PetscInt  d, block, first, n;
  PetscBool all;            /* all modes of all blocks; block, first and n are not used */
  PetscInt  inner, outer;   /* of the arrays: numbers in the directions before d and in those after it; outer is 1 where inner is not, and all are meant */
  PetscInt  numbers, modes; /* length of their lines */
} PatchFDBoxProduct;

enum {
  PATCHFD_BOX_HANDLE = 64,
  PATCHFD_BOX_MARKS  = 4 /* i is less */
};

typedef const struct _PatchFDBoxKernels *PatchFDBoxKernels;
struct _PatchFDBoxKernels {
  PetscErrorCode (*create)(const PatchFDBoxLine[3], void **plan);
  PetscErrorCode (*destroy)(void **plan);
  PetscErrorCode (*fold)(const PatchFDBoxFold *, const void *nodes, void *folded);
  PetscErrorCode (*unfold)(const PatchFDBoxFold *, const void *folded, void *nodes);
  /* the arrays begin with the first of the block, or of all; `back` makes numbers of modes, and adds them to what is there with `add` */
  PetscErrorCode (*product)(void *plan, const PatchFDBoxProduct *, PetscBool back, PetscBool add, void *numbers, void *modes);
  /* modes of this range are divided by the sums of their eigenvalues; what has the sum zero becomes zero */
  PetscErrorCode (*divide)(void *plan, const PatchFDRange, void *modes);
  /*
    Where one rank can write to the memory of another (a halo with `peer`): what others have to know of an array; the array of another rank, and its end.  put
    copies n numbers beside the work that is handed over after it, but not before what was handed over before fork; what follows on wait(i) waits for copies up to mark(i).
    NULL on the host
  */
  PetscErrorCode (*share)(void *array, char handle[PATCHFD_BOX_HANDLE]);
  PetscErrorCode (*open)(const char handle[PATCHFD_BOX_HANDLE], void **array);
  PetscErrorCode (*close)(void *array);
  PetscErrorCode (*fork)(void *plan);
  PetscErrorCode (*put)(void *plan, size_t n, const void *from, void *to);
  PetscErrorCode (*mark)(void *plan, int i);
  PetscErrorCode (*wait)(void *plan, int i);
};
PETSC_INTERN const struct _PatchFDBoxKernels PatchFDBoxHostDouble, PatchFDBoxHostFloat;
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _PatchFDBoxKernels PatchFDBoxCUDADouble, PatchFDBoxCUDAFloat;
#endif
