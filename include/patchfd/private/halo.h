#pragma once
/*
  Values of a rank that other ranks need: what a PetscSF does, planned for arrays of a kernel table.

  A halo has two sides, arrays whose entries belong together: 0, the roots of the PetscSF's graph, and 1, its leaves.  They may be one
  array.  What travels to and from each rank is contiguous in a buffer, into which one kernel gathers it and out of which another takes it.

  Transports differ in where the buffers are and in who moves them:

    mpi    in the memory of the arrays; MPI sends from there.  On a GPU it must be able to
    host   in host memory that a GPU writes and reads; MPI sends from there, while the GPU works on
    nccl   in the memory of a GPU; NCCL sends from there, in the order of the GPU's work, without the host
    peer   on a GPU, in the memory of the rank that receives: the kernel that gathers writes there, across NVLink or PCIe, and sets a flag,
    for which the
           kernel that takes the values out waits, but not forever.  The host has no part in it, so that it can be recorded as a graph.  For
           ranks of one machine
*/
#include <petscpatchfd.h>
#include <petscsf.h>
#include <patchfd/private/kernels.h>

typedef struct _n_PatchFDHalo *PatchFDHalo;

enum {
  PATCHFD_HALO_MAX_ARRAYS = 2 /* that travel together */
};

/* has the host no part in exchanges, so that they can be recorded? */
static inline PetscBool PatchFDHaloIsOnDevice(PatchFDHaloType type)
{
  return (PetscBool)(type == PATCHFD_HALO_PEER || type == PATCHFD_HALO_NCCL);
}

/* the graph must not change; collective, as all of these */
PETSC_INTERN PetscErrorCode PatchFDHaloCreate(PetscSF, PatchFDHaloType, PatchFDHalo *);
/*
  The same from lists instead of a graph, which for many entries takes less time to set up: n ranks, and for each side the entries that
  belong to those of rank i on its other side, in one order there and here: index[side][first[side][i]] to index[side][first[side][i + 1] -
  1].  Who is in one's list has one in his.  The arrays are taken over
*/
PETSC_INTERN PetscErrorCode PatchFDHaloCreateFromLists(MPI_Comm, PatchFDHaloType, PetscMPIInt n, PetscMPIInt *rank,
                                                       PetscInt *const first[2], PetscInt *const index[2], PatchFDHalo *);
/* an entry of the graph stands for so many numbers, one after another; before the first exchange */
PETSC_INTERN PetscErrorCode PatchFDHaloSetUnit(PatchFDHalo, PetscInt unit);
PETSC_INTERN PetscErrorCode PatchFDHaloDestroy(PatchFDHalo *);
/*
  The entries of side 1 become those of side 0, or, with `side` 1, those of side 1 are added to side 0: from and to are n arrays of the
  side that is read and of the other one.  Between Begin and End the arrays may be used, but for entries that are received
*/
PETSC_INTERN PetscErrorCode PatchFDHaloBegin(PatchFDHalo, PatchFDKernels, int side, PetscInt n, const void *const from[]);
PETSC_INTERN PetscErrorCode PatchFDHaloEnd(PatchFDHalo, PatchFDKernels, int side, PetscInt n, void *const to[]);
/* what is in use for the arrays of a table, once something has travelled; before that what was asked for */
PETSC_INTERN PatchFDHaloType PatchFDHaloGetType(PatchFDHalo, PatchFDKernels);

/* can MPI send from the memory of GPUs, between all ranks of the communicator?  Collective; the first call finds out (haloprobe.c) */
PETSC_INTERN PetscErrorCode PatchFDHaloProbeMPI(MPI_Comm, PetscBool *);
/* n doubles to the rank dest and from the rank source: PETSC_FALSE if there is a fault or nothing arrives; the communicator is not to be
   used again then */
PETSC_INTERN PetscBool PatchFDHaloSurvives(MPI_Comm, PetscMPIInt n, PetscMPIInt dest, const void *from, PetscMPIInt source, void *to);

/* seconds that a GPU waits for what another rank writes there (PATCHFD_HALO_PEER) before that is an error; for plans made after it has been
   set: tests do not want to wait */
PETSC_INTERN PetscInt PatchFDHaloPatience;

/* ---- what a transport is made of, a table for each kernel table ---- */

/* where buffers are, and who moves them */
typedef enum {
  PATCHFD_HALO_MEMORY, /* in the memory of the arrays, for MPI */
  PATCHFD_HALO_PINNED, /* in host memory, for MPI; on a GPU */
  PATCHFD_HALO_STREAM, /* in the GPU's memory, for NCCL */
  PATCHFD_HALO_REMOTE  /* in that of the GPU that receives */
} PatchFDHaloWay;

/* entries in the order of the buffers: those of rank i are first[side][i] .. first[side][i + 1] - 1 */
typedef struct {
  PetscInt        n;    /* of ranks, each of which sends to this one and receives from it, if nothing but a flag */
  PetscInt        unit; /* numbers of an entry: entry i are those from unit * i on */
  const PetscInt *first[2], *index[2];
} PatchFDHaloDesc;

/* where rank i writes for this rank, to be told to that rank */
typedef struct {
  char     handle[64];
  PetscInt flag;             /* its number */
  PetscInt stride, first[2]; /* numbers: of a buffer; where those of rank i begin */
} PatchFDHaloAddress;

enum {
  PATCHFD_HALO_DEVICE_NAME = 32
};

typedef const struct _PatchFDHaloKernels *PatchFDHaloKernels;
struct _PatchFDHaloKernels {
  PetscErrorCode (*create)(const PatchFDHaloDesc *, PatchFDHaloWay, void **plan);
  PetscErrorCode (*destroy)(void **plan);
  /* from the arrays into the buffer of the side, and the other way; with REMOTE and STREAM to the other ranks, and from them */
  PetscErrorCode (*pack)(void *plan, int side, PetscInt n, const void *const from[]);
  PetscErrorCode (*unpack)(void *plan, int side, PetscBool add, PetscInt n, void *const to[]);
  /* the buffers, for MPI: n arrays of a rank begin at n first[side][rank] units */
  PetscErrorCode (*buffers)(void *plan, void *buffer[2]);
  /* waits until what has been packed is there, and the buffers that are received may be overwritten; NULL where it is */
  PetscErrorCode (*wait)(void *plan);
  /* for STREAM: the ranks of the plan in a communicator; the reason if that is not possible */
  PetscErrorCode (*join)(void *plan, MPI_Comm, const PetscMPIInt rank[], const char **why);
  /* for REMOTE: the GPU in use; what rank i has to know; what rank i has told, which may be this one itself */
  PetscErrorCode (*device)(char name[PATCHFD_HALO_DEVICE_NAME]);
  PetscErrorCode (*address)(void *plan, PetscInt i, PatchFDHaloAddress *);
  PetscErrorCode (*connect)(void *plan, PetscInt i, PetscBool self, const PatchFDHaloAddress *, PetscBool *connected);
  PetscErrorCode (*connected)(void *plan);  /* with all */
  PetscErrorCode (*disconnect)(void *plan); /* once all work is done; before any of them is destroyed */
};
PETSC_INTERN const struct _PatchFDHaloKernels PatchFDHaloHostDouble, PatchFDHaloHostFloat;
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _PatchFDHaloKernels PatchFDHaloCUDADouble, PatchFDHaloCUDAFloat;
#endif
