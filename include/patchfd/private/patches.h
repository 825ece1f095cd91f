#pragma once
/*
  Local solvers of a matrix, which a preconditioner owns.  A MatPatchesSpec has its settings.  The solvers have all numbers that they need:
  if the matrix is changed or destroyed, they keep the numbers that they were made of.  Makers are composed on matrices as
  MatCreatePatches_C (src/mat/boxpatches.c), or are those of a DMDA (src/mat/bricks.c, src/mat/kroneckersum.c).
*/
#include <patchfd/private/fit.h>
#include <petscpatchfd.h>

/* the settings of a PCPATCHFD */
/* local solvers know the settings of PCPATCHFD by these names, and their words in messages */
typedef PCPatchFDType    MatPatchesType;
typedef PCPatchFDVariant MatPatchesVariant;
typedef PCPatchFDLocal   MatPatchesLocal;
typedef PCPatchFDOrder   MatPatchesOrder;
#define PATCHES_WORDS_type          PCPatchFDTypes
#define PATCHES_WORDS_patch         PCPatchFDPatches
#define PATCHES_WORDS_variant       PCPatchFDVariants
#define PATCHES_WORDS_local         PCPatchFDLocals
#define PATCHES_WORDS_fit           PCPatchFDFits
#define PATCHES_WORDS_classes       PCPatchFDClassesTypes
#define PATCHES_WORDS_precision     PCPatchFDPrecisions
#define PATCHES_WORDS_update        PCPatchFDUpdates
#define PATCHES_WORDS_order         PCPatchFDOrders
#define PATCHES_WORD(spec, setting) PATCHES_WORDS_##setting[(spec)->setting]

typedef struct {
  PCPatchFDType        type;
  PCPatchFDPatch       patch;
  PCPatchFDVariant     variant;
  PCPatchFDLocal       local;
  PCPatchFDFit         fit;
  PatchFDFitRule       rule; /* its inner steps; exact may be PETSC_DETERMINE, or PETSC_UNLIMITED for none */
  PCPatchFDClassesType classes;
  PCPatchFDPrecision   precision;
  PCPatchFDUpdate      update;
  PCPatchFDOrder       order;     /* not auto where local solvers are made */
  PetscReal            damping;   /* PETSC_DETERMINE for the one that suits the local solver */
  PetscInt             sweeps;    /* or the degree of a polynomial */
  PetscReal            schurrtol; /* PETSC_DETERMINE for what keeps the iteration counts of an exact solver */
  PetscInt             schurmaxit;
  PetscInt             bricksize; /* unknowns of a brick in each direction, or PETSC_DETERMINE */
} MatPatchesSpec;

/* a direct solve */
static inline PetscBool MatPatchesSpecIsWhole(const MatPatchesSpec *s)
{
  return (PetscBool)(s->patch == PC_PATCHFD_PATCH_BOX);
}
static inline PetscBool MatPatchesSpecIsAdditive(const MatPatchesSpec *s)
{
  return (PetscBool)(s->type == PC_PATCHFD_TYPE_ADDITIVE);
}
static inline PetscBool MatPatchesSpecIsChebyshev(const MatPatchesSpec *s)
{
  return (PetscBool)(s->type == PC_PATCHFD_TYPE_CHEBYSHEV_FOURTH || s->type == PC_PATCHFD_TYPE_CHEBYSHEV_FIRST);
}

typedef enum {
  PATCHES_WORK_R,            /* residuals */
  PATCHES_WORK_Z,            /* and corrections in a sweep, */
  PATCHES_WORK_S,            /* other residuals of Chebyshev's iteration, */
  PATCHES_WORK_RICHARDSON_R, /* and around it */
  PATCHES_WORK_RICHARDSON_Z,
  PATCHES_NUM_WORK
} MatPatchesWork;

typedef struct _MatPatches *MatPatches;
struct _MatPatchesOps {
  const char *remedy; /* what may be wrong with a matrix whose local solvers are singular */
  /* what a kernel table needs; an error where it has none, or where the solver has no transpose */
  PetscErrorCode (*prepare)(MatPatches, PatchFDKernels, PetscBool transpose);
  /* n colours one after another, and all that `its` times; zero: x is zero, or has any values where `overwrites` says so */
  PetscErrorCode (*sweep)(MatPatches, PatchFDKernels, PetscInt64 its, PetscInt n, const PetscInt colors[], PetscBool zero, Vec b, Vec x);
  /* x += omega times the corrections of all patches from r */
  PetscErrorCode (*correct)(MatPatches, PatchFDKernels, Vec r, Vec x);
  /* NULL for that of A as it is now */
  PetscErrorCode (*residual)(MatPatches, Vec b, Vec x, Vec r);
  /* NULL, or what is left to do after so many steps */
  PetscErrorCode (*finish)(MatPatches, PatchFDKernels, PetscInt64 steps, Vec b, Vec x);
  /* NULL, or: A becomes what it was when they were made, without a word to anybody, or what it is now again */
  PetscErrorCode (*exchange)(MatPatches);
  PetscErrorCode (*view)(MatPatches, PetscViewer);
  /* NULL, or what the local solvers of this rank take; zero where that is not known, as of a direct solver */
  PetscLogDouble (*bytes)(MatPatches, PatchFDKernels);
  PetscErrorCode (*destroy)(MatPatches);
};

struct _MatPatches {
  const struct _MatPatchesOps *ops;
  void                        *data;
  MatPatches                   before; /* while they are made, those in whose place they come */
  Mat                          A;      /* of which they were made, in this state */
  PetscObjectState             state;
  PetscBool                    exchanged;
  MatPatchesSpec               spec;
  PetscReal                    omega;   /* damping */
  PetscReal                    largest; /* Chebyshev's iteration: a bound of the eigenvalues */
  PetscInt                     ncolor;
  PetscBool                    turns;      /* a symmetric order visits the last colour once */
  PetscBool                    overwrites; /* whatever is in x */
  PetscBool                    kernels;    /* nothing but kernels: they may be recorded */
  PetscBool                    singular;   /* one is, or is not definite where it should be, on some rank: they are not used */
  Vec                          work[PATCHFD_NUM_KERNELS][PATCHES_NUM_WORK];
};

/*
  Local solvers of A in place of *patches, which may be NULL, or have parts that are still good.  other: a DM for matrices that have none.
  Collective, as all here
*/
PETSC_INTERN PetscErrorCode MatCreatePatches(Mat A, DM other, const MatPatchesSpec *, MatPatches *patches);
PETSC_INTERN PetscErrorCode MatPatchesDestroy(MatPatches *);
/* are they those of the matrix as it is? */
PETSC_INTERN PetscErrorCode MatPatchesAreOf(MatPatches, Mat, PetscBool *);
/* for the time between two calls A is what it was when they were made */
PETSC_INTERN PetscErrorCode MatPatchesExchange(MatPatches);
/* `its` times the sweeps of the settings; zero: x is zero, whatever its values are */
PETSC_INTERN PetscErrorCode MatPatchesSmooth(MatPatches, PetscInt its, PetscBool transpose, PetscBool zero, Vec b, Vec x);
/* x += B (b - A x) with another matrix A, `its` times */
PETSC_INTERN PetscErrorCode MatPatchesIterate(MatPatches, Mat A, PetscInt its, PetscBool zero, Vec b, Vec x);

/* ---- for makers ---- */

/* makes them in place of *patches, of which it may take parts, and which it destroys */
typedef PetscErrorCode          MatCreatePatchesFn(Mat A, const MatPatchesSpec *, MatPatches *);
PETSC_INTERN MatCreatePatchesFn MatCreatePatches_Box, MatCreatePatches_BoxCells, MatCreatePatches_BoxRedundant, MatCreatePatches_Cells;
typedef PetscErrorCode          MatCreatePatchesOfDMDAFn(Mat A, DM da, const MatPatchesSpec *, MatPatches *);
PETSC_INTERN MatCreatePatchesOfDMDAFn MatCreatePatches_Bricks, MatCreatePatches_KroneckerSum;
/* an object without operations, with *patches as what was before */
PETSC_INTERN PetscErrorCode MatPatchesCreate(Mat A, const MatPatchesSpec *, MatPatches *);
/* errors where settings make no sense together, whatever the matrix is */
PETSC_INTERN PetscErrorCode MatPatchesCheckSpec(MPI_Comm, const MatPatchesSpec *);
PETSC_INTERN PetscErrorCode MatPatchesCheckBricksSpec(MPI_Comm, const MatPatchesSpec *); /* or for bricks, which have one local solver */
/* those of closed cells, or errors where settings are not for them */
PETSC_INTERN PetscErrorCode MatPatchesGetCellsSpec(MPI_Comm, const MatPatchesSpec *, MatPatchesSpec *cells);
/* the type, order, damping and number of steps, and the variant, if there is one */
PETSC_INTERN PetscErrorCode MatPatchesViewSteps(MatPatches, const char patches[], const char variant[], PetscViewer);
/* the type of what is summed from one residual, its steps, its damping or bound */
PETSC_INTERN PetscErrorCode MatPatchesViewSums(MatPatches, PetscViewer);
/* p->largest, from steps of conjugate gradients from r, which becomes anything */
PETSC_INTERN PetscErrorCode MatPatchesFindLargest(MatPatches, PatchFDKernels, Vec r);
/* a Vec like v, of a kernel table */
PETSC_INTERN PetscErrorCode MatPatchesGetWork(MatPatches, PatchFDKernels, MatPatchesWork, Vec v, Vec *work);
