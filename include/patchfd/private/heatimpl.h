#pragma once
/* The operator "heat" of a DMBOX: what a DM has of it, and its matrices */
#include <patchfd/private/matimpl.h>

/*
  What a mesh is made of, shared by DMs on the same mesh and their matrices; it does not change: setters make another one.  A field is a
  Vec in double precision on the host; the arrays with ghosts that kernels want are made from it for each kernel table that asks.
*/
typedef struct _n_HeatBody *HeatBody;
struct _n_HeatBody {
  PetscInt       refct;
  PetscInt       cells[3];
  unsigned char *voxel;    /* of the whole box, on every rank, or NULL */
  Vec            field[4]; /* capacity, and conductivity in each direction, which may be one Vec; NULL for the constant */
  PetscInt64     made;     /* the number of the body, or of that on the finer mesh from which it was made */
  PatchFDKernels kernels[PATCHFD_NUM_KERNELS];
  void          *local[PATCHFD_NUM_KERNELS][4];
};
PETSC_INTERN PetscErrorCode HeatBodyCreate(DM, HeatBody from, HeatBody *); /* with what `from` has, or empty */
PETSC_INTERN PetscErrorCode HeatBodyReference(HeatBody);
PETSC_INTERN PetscErrorCode HeatBodyDestroy(HeatBody *);
PETSC_INTERN PetscErrorCode HeatBodySetField(HeatBody, PetscInt i, Vec); /* takes a reference */
/* one at nodes that touch a cube of the body, which has voxels, zero at others */
PETSC_INTERN PetscErrorCode HeatBodyInside(DM, HeatBody, Vec inside);
PETSC_INTERN PetscErrorCode HeatBodyCoarsen(DM fine, HeatBody, DM coarse, HeatBody *);
/* arrays of the fields with ghosts; NULL for constants */
PETSC_INTERN PetscErrorCode HeatBodyGetArrays(HeatBody, DM, PatchFDKernels, const void *field[4]);

typedef struct {
  DMBoxFunctionFn *f;
  void            *ctx;
} HeatFunction;

/* coefficients of the DMBoxOperator: constants for what is not given as a field */
enum {
  HEAT_CAPACITY,
  HEAT_CONDUCTIVITY,
  HEAT_SHIFT = HEAT_CONDUCTIVITY + 3
};

/* data of the DMBoxOperator */
typedef struct {
  HeatBody     body; /* NULL: constants everywhere */
  PetscReal    robin[6], outside[6];
  HeatFunction source, flux[6], dirichlet;
  PetscBool    steady; /* these functions do not depend on time */
} DMBox_Heat;

/* what a matrix is made of; K has the Robin terms */
typedef struct {
  PetscReal mass, stiffness; /* of M and K */
  PetscReal identity;        /* of nodes outside of the body and of fixed nodes */
  PetscBool unit;            /* capacity one, no conductivity, Robin coefficients one on the sides of the mask `sides`: for loads */
  PetscInt  sides;
  PetscBool whole; /* columns of fixed nodes are there, too */
} MatLatticeForm;

typedef struct {
  DM             dm;
  DMBoxMatrix    entry; /* in the DM's list of matrices */
  PetscReal      taken; /* form.mass when the matrix last took over what the DM has */
  MatLatticeForm form;
  HeatBody       body;
  PetscReal      constant[4], robin[6];
  void          *plan[PATCHFD_NUM_KERNELS];
} Mat_Lattice;

PETSC_INTERN PetscErrorCode DMBoxGetHeatData(DM, const char who[], DMBox_Heat **);
PETSC_INTERN PetscErrorCode MatLatticeCreate(DM, const MatLatticeForm *, Mat *);
PETSC_INTERN PetscErrorCode MatLatticeFind(Mat, Mat_Lattice **); /* NULL for other matrices */
PETSC_INTERN PetscErrorCode DMCreateMatrix_Heat(DM, Mat *);
/* A, a matrix of the DM, and those on coarser DMs become the matrix, but for a factor, on another DM of the same mesh */
PETSC_INTERN PetscErrorCode MatLatticeFollow(Mat A, DM, const Mat_Lattice *);
/* multigrid: point smoothers, on as many levels as there are (heatsolver.c) */
PETSC_INTERN PetscErrorCode DMBoxHeatSetMG(DM, PC);
/* is multigrid, in single precision, expected to be faster for this matrix than Jacobi's preconditioner? */
PETSC_INTERN PetscErrorCode DMBoxHeatPrefersMG(DM, Mat, PetscReal rtol, PetscBool *);
/* an error where there is a flux or an exchange on a side that is not a Neumann side */
PETSC_INTERN PetscErrorCode DMBoxHeatCheckSides(DM, const DMBox_Heat *);
/* is there any source, flux, or exchange with what is not zero outside? */
PETSC_INTERN PetscBool DMBoxHeatHasLoad(DM, const DMBox_Heat *);
/* a matrix with the DM's materials as they are now, kept with the DM under a name */
PETSC_INTERN PetscErrorCode DMBoxGetHeatMatrix(DM, const char name[], const MatLatticeForm *, Mat *);
PETSC_INTERN PetscErrorCode DMBoxLift_Heat(DM, Vec g, Vec b);

/* what a TS keeps (heatstep.c) */
typedef struct {
  TS               ts; /* not referenced: it has this */
  DMBoxHeatGuess   guess;
  DMBoxHeatSolver  solver;
  PetscBool        chosen;       /* has the solver been set up that `solver` means? */
  PetscReal        stage;        /* the time at which F was evaluated last */
  PetscReal        rtol;         /* of the KSP, as the user set it */
  Vec              last, before; /* the solutions at the beginning of this step and of the one before */
  PetscReal        tlast, tbefore;
  Vec              begun, begunbefore; /* for DMBOX_HEAT_GUESS_RECURSIVE: where the solves of these steps began */
  Vec              load, fixed;        /* N and g at a time, kept until another one or other data are asked for */
  PetscReal        tload, tfixed;
  PetscObjectState load_state, fixed_state;
} HeatSteps;
PETSC_INTERN PetscErrorCode TSGetHeatSteps(TS, const char who[], HeatSteps **);
