#pragma once
/* DMBOX: the mesh, its layout over the ranks, and what every operator on it shares */
#include <petscpatchfd.h>
#include <petsc/private/dmimpl.h>
#include <petscsf.h>
#include <patchfd/private/kernels.h>

/* how many ghosted work arrays a kernel table may hold on a DM */
enum {
  DMBOX_WORK_X,
  DMBOX_WORK_B,
  DMBOX_WORK_R,
  DMBOX_NUM_WORK
};

typedef struct {
  /* what the user asks for, before set-up */
  PetscInt          cells[3];     /* global number of cells */
  PetscReal         lower[3], upper[3];
  PetscInt          nvertices[3]; /* number of the user's coordinates, 0 for a uniform direction */
  PetscReal        *vertices[3];  /* user's coordinates, or NULL for a uniform direction */
  PetscInt          refine;       /* -dm_refine: how often set-up doubles the cells; zero afterwards */
  PetscInt          degree;
  DMBoxSpace        space;
  DMBoxBoundaryType boundary[6];  /* lower x, upper x, lower y, ... */
  PetscInt          processes[3]; /* PETSC_DECIDE until set-up */
  PetscInt         *splits[3];    /* [processes + 1]: rank p of direction d owns the cells splits[d][p] .. splits[d][p+1] - 1; given by the finer DM or made in set-up */
  PetscReal         diffusion[3], shift; /* the operator that the DM carries: -div(diffusion grad u) + shift u */
  PetscReal         rate; /* what a time integrator adds to the shift: its a in the Jacobian a M + A */

  /* made by set-up */
  PatchFDLine  line[3];
  PetscInt     coord[3]; /* this rank's place in the process grid */
  PatchFDRange own;      /* owned nodes: [splits[p] * degree, splits[p+1] * degree), and the last node for the last rank */
  PatchFDRange owncells;
  PatchFDRange free;     /* nodes of the whole box without Dirichlet condition */
  PatchFDBox   global;   /* storage of a global Vec's local part: the owned nodes */
  PatchFDBox   local;    /* the owned nodes and one layer of cells around them; equal to `global` on one rank */
  PetscSF      halo;     /* local -> local: owners' nodes to ghosts; NULL on one rank */
  PatchFDKernels kernels[PATCHFD_NUM_KERNELS]; /* the table that allocated work[id], NULL before */
  void        *work[PATCHFD_NUM_KERNELS][DMBOX_NUM_WORK];
} DM_Box;

PETSC_INTERN PetscErrorCode DMCreate_Box(DM);
/* the data of a DMBOX; an error for any other DM and for a dimension other than 1, 2, 3 */
PETSC_INTERN PetscErrorCode DMBoxGetContext(DM, DM_Box **);
/* the same, and an error before DMSetUp() */
PETSC_INTERN PetscErrorCode DMBoxGetContextSetUp(DM, DM_Box **);
/* a ghosted array of the kernel table's precision and memory, kept until the DM is destroyed */
PETSC_INTERN PetscErrorCode DMBoxGetWork(DM, PatchFDKernels, int slot, void **);
/* fill the ghosts of a local array; no-op on one rank */
PETSC_INTERN PetscErrorCode DMBoxHaloBegin(DM, PatchFDKernels, void *local);
PETSC_INTERN PetscErrorCode DMBoxHaloEnd(DM, PatchFDKernels, void *local);
/* add the ghosts of a local array to their owners (values in the ghosts are left undefined) */
PETSC_INTERN PetscErrorCode DMBoxHaloAdd(DM, PatchFDKernels, void *local);
/*
  A local array with valid ghosts for a global array: the global array itself on one rank (no copy), else work array `slot`.
  Between Begin and End the owned part may be used.
*/
PETSC_INTERN PetscErrorCode DMBoxGlobalToLocalBegin(DM, PatchFDKernels, const void *global, int slot, void **local);
PETSC_INTERN PetscErrorCode DMBoxGlobalToLocalEnd(DM, PatchFDKernels, const void *global, int slot, void **local);
/* global numbers of the local box's nodes in PETSc's numbering; the caller frees */
PETSC_INTERN PetscErrorCode DMBoxGetLocalToGlobal(DM, PetscInt **index);
/* PetscSF from the owned nodes of all ranks to the whole box in natural order on every rank; the caller destroys */
PETSC_INTERN PetscErrorCode DMBoxCreateNaturalSF(DM, PetscSF *);
PETSC_INTERN PetscErrorCode DMCreateInterpolation_Box(DM coarse, DM fine, Mat *, Vec *); /* src/mat/transfer.c */
PETSC_INTERN PetscErrorCode DMCreateMatrix_Box(DM, Mat *);                               /* src/mat/poisson.c */
PETSC_INTERN PetscErrorCode DMSetUpSolvers_Box(DM);                                      /* src/mat/solvers.c: what KSP, SNES and TS need of a new DM */

/* ---- between the files of src/dm ---- */
PETSC_INTERN PetscErrorCode DMSetUp_Box(DM);        /* layout.c */
PETSC_INTERN PetscErrorCode DMBoxResetLayout(DM);   /* frees what set-up made */
PETSC_INTERN void           DMBoxOwnRange(const DM_Box *, PetscInt direction, PetscInt p, PetscInt *first, PetscInt *end); /* nodes that rank p of a direction owns */
PETSC_INTERN PetscErrorCode DMRefine_Box(DM, MPI_Comm, DM *); /* hierarchy.c */
PETSC_INTERN PetscErrorCode DMCoarsen_Box(DM, MPI_Comm, DM *);
PETSC_INTERN PetscErrorCode DMClone_Box(DM, DM *);
PETSC_INTERN PetscErrorCode DMRestrictHook_Box(DM, Mat, Vec, Mat, DM, void *);
PETSC_INTERN PetscErrorCode DMBoxBisect(PetscInt *n, PetscReal **vertices);
PETSC_INTERN PetscErrorCode VecView_Box(Vec, PetscViewer); /* vtk.c */
PETSC_INTERN PetscErrorCode VecViewNatural_Box(Vec, PetscViewer); /* natural.c */
PETSC_INTERN PetscErrorCode VecLoad_Box(Vec, PetscViewer);
PETSC_INTERN PetscErrorCode DMCreateLocalVector_Box(DM, Vec *); /* local.c */
PETSC_INTERN PetscErrorCode DMGlobalToLocalBegin_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMGlobalToLocalEnd_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMLocalToGlobalBegin_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMLocalToGlobalEnd_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMLocalToLocalBegin_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMLocalToLocalEnd_Box(DM, Vec, InsertMode, Vec);
PETSC_INTERN PetscErrorCode DMGetLocalToGlobalMapping_Box(DM);
PETSC_INTERN PetscErrorCode DMBoxSetUpCoordinates(DM); /* coordinates.c */
PETSC_INTERN PetscErrorCode DMCreateCoordinateDM_Box(DM, DM *);
PETSC_INTERN PetscErrorCode DMGetLocalBoundingBox_Box(DM, PetscReal[], PetscReal[], PetscInt[], PetscInt[]);
