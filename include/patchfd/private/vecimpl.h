#pragma once
/*
  VECSINGLE inside the library, and how an object finds the kernel table that fits a Vec's storage, and the Vec's raw array for it.
*/
#include <petscvecsingle.h>
#include <petscksp.h>
#include <petsc/private/vecimpl.h>
#include <patchfd/private/kernels.h>

/* the table for the Vec's storage, and for that of Vecs of a type */
PETSC_INTERN PetscErrorCode PatchFDVecGetKernels(Vec, PatchFDKernels *);
PETSC_INTERN PetscErrorCode PatchFDVecTypeGetKernels(VecType, PatchFDKernels *);
/*
  The local array in the table's precision and memory, without any conversion: an error when the Vec's storage is another.
  Restoring a writable array increases the Vec's state, without which a cached norm would survive.
*/
PETSC_INTERN PetscErrorCode PatchFDVecGetArrayRead(Vec, PatchFDKernels, const void **);
PETSC_INTERN PetscErrorCode PatchFDVecRestoreArrayRead(Vec, PatchFDKernels, const void **);
PETSC_INTERN PetscErrorCode PatchFDVecGetArray(Vec, PatchFDKernels, void **);
PETSC_INTERN PetscErrorCode PatchFDVecRestoreArray(Vec, PatchFDKernels, void **);
PETSC_INTERN PetscErrorCode PatchFDVecGetArrayWrite(Vec, PatchFDKernels, void **);
PETSC_INTERN PetscErrorCode PatchFDVecRestoreArrayWrite(Vec, PatchFDKernels, void **);

/* onepass.c: what Krylov methods do with PETSc's own Vecs in GPU memory, in one pass each; it becomes the Vec's, and its duplicates' */
PETSC_INTERN PetscErrorCode PatchFDVecSetOnePass(Vec);
/* w = x - y, Vecs of one type, the same way */
PETSC_INTERN PetscErrorCode PatchFDVecDifference(Vec w, Vec x, Vec y);
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN PetscErrorCode PatchFDCUDADifference(PetscInt n, const double *x, const double *y, double *w);
PETSC_INTERN PetscErrorCode PatchFDCUDAAYPX(PetscInt n, double b, const double *x, double *y);
PETSC_INTERN PetscErrorCode PatchFDCUDAMDot(PetscInt n, PetscInt m, const double *x, const double *const *y, double *s);
/* y += sum a[j] x[j], and, where nothing is recorded, the sum of its squares for whoever asks before the next one */
PETSC_INTERN PetscErrorCode PatchFDCUDAMAXPY(PetscInt n, PetscInt m, const double *a, const double *const *x, double *y,
                                             PetscBool *squares);
PETSC_INTERN PetscErrorCode PatchFDCUDAGetSquares(PetscInt n, double *s);
#endif

/* for the duplicates of our kinds of Vecs (duplicate.c): what w has of v beside the storage and the layout; several duplicates, and their
   end */
PETSC_INTERN PetscErrorCode PatchFDVecInherit(Vec v, Vec w);
PETSC_INTERN PetscErrorCode PatchFDVecDuplicateVecs(Vec, PetscInt, Vec **);
PETSC_INTERN PetscErrorCode PatchFDVecDestroyVecs(PetscInt, Vec[]);

/*
  Arrays with room for room[0] numbers before and room[1] after the values (room.c): is there that much around an array?
  PatchFDVecCreate() (create.c) makes a Vec with room (NULL for none), and so do its duplicates;
  VecSingleSetRoom_Private() gives it to an unused VECSINGLE and its duplicates.
*/
PETSC_INTERN PetscErrorCode PatchFDRoomAdd(const void *array, const size_t room[2]);
PETSC_INTERN PetscErrorCode PatchFDRoomRemove(const void *array);
PETSC_INTERN PetscBool      PatchFDRoomHas(const void *array, const size_t room[2]);
static inline size_t        PatchFDRoomLead(const size_t room[2]) /* what to allocate before the values, which remain aligned */
{
  return (room[0] + 63) / 64 * 64;
}
PETSC_INTERN PetscErrorCode PatchFDVecCreate(MPI_Comm, VecType, PetscInt n, const size_t room[2], Vec *);
PETSC_INTERN PetscErrorCode VecSingleSetRoom_Private(Vec, const size_t room[2]);

/* KSP presolve of our PCs: a warning where a method on single Vecs is asked for more than floats can hold */
PETSC_INTERN PetscErrorCode PCPreSolve_CheckKrylov(PC, KSP, Vec b, Vec x);
/*
  What a PC may offer to a KSP by composing "PCAddTo_C": x += a B r, without a Vec for B r; without r, the B r of the last call.  With `can`
  it only says whether it does that now
*/
typedef PetscErrorCode PCAddToFn(PC, PetscReal a, Vec r, Vec x, PetscBool *can);
/* once, a warning about a method outside a PCSINGLE that does not see what single precision does to the preconditioner */
PETSC_INTERN PetscErrorCode PCSingleWarnOfMethod(PC, KSP, PetscBool *warned);
PETSC_INTERN int            PCSingleDepth; /* how many PCSINGLEs are at work */

/* constructors, for src/sys/register.c */
PETSC_INTERN PetscErrorCode VecCreate_Single(Vec);
PETSC_INTERN PetscErrorCode VecCreate_SingleCUDA(Vec);
PETSC_INTERN PetscErrorCode PCCreate_Single(PC);

/* whether a Vec is a VECSINGLE or a VECSINGLECUDA, without comparing strings */
PETSC_INTERN PetscErrorCode VecDestroy_Single(Vec);
static inline PetscBool     VecIsSingle_Private(Vec v)
{
  return (PetscBool)(v->ops->destroy == VecDestroy_Single);
}
/* y += a x for a VECSINGLE x and doubles in the same memory */
PETSC_INTERN PetscErrorCode VecSingleAdd_Private(Vec x, PetscReal a, Vec y);
/* a VECSINGLE or VECSINGLECUDA that is v, or has its values, if they are read; at the end v gets what was written (floats.c) */
PETSC_INTERN PetscErrorCode PatchFDVecBeginFloats(Vec v, PetscBool read, PetscMemType, Vec *floats);
PETSC_INTERN PetscErrorCode PatchFDVecEndFloats(Vec v, PetscBool write, Vec *floats);
/* With `off`, numbers below 1e-38 are zero until the mode that is returned is restored.  Floats get there where something decays
   exponentially, as in a triangular solve for a source in one place, and processors take many times as long for them (floats.c) */
PETSC_INTERN unsigned PatchFDSubnormalsOff(PetscBool off);
PETSC_INTERN void     PatchFDSubnormalsRestore(unsigned mode);
/* where the floats of a VECSINGLE or VECSINGLECUDA are, or will be: asking allocates nothing */
PETSC_INTERN PetscMemType VecSingleMemType_Private(Vec);

/*
  The loops of VECSINGLE, one table for each place of storage.  x, y, z, w are float arrays of n numbers; only where it is said
  may a result be one of the operands.  Reductions are local and accumulate in double precision.
*/
typedef struct {
  PetscReal sum[3]; /* sums of squares or maxima of error / tolerance: total, absolute, relative */
  PetscReal n[3];   /* how many entries went into each */
} VecSingleErrorNorms;

typedef const struct _VecSingleKernels *VecSingleKernels;
struct _VecSingleKernels {
  VecType      type;
  PetscMemType memtype;                            /* of the floats */
  PetscErrorCode (*malloc)(PetscInt n, float **x); /* zeroed */
  PetscErrorCode (*free)(float **x);

  /* y = a x, the doubles being in the same memory as the floats, or on the host */
  PetscErrorCode (*fromdouble)(PetscInt n, double a, const double *x, float *y);
  PetscErrorCode (*todouble)(PetscInt n, double a, const float *x, double *y);
  PetscErrorCode (*fromhost)(PetscInt n, double a, const double *x, float *y);
  PetscErrorCode (*tohost)(PetscInt n, double a, const float *x, double *y);
  PetscErrorCode (*addtodouble)(PetscInt n, double a, const float *x, double *y); /* y += a x, in the same memory */

  PetscErrorCode (*copy)(PetscInt n, const float *x, float *y);
  PetscErrorCode (*set)(PetscInt n, double a, float *x);
  PetscErrorCode (*swap)(PetscInt n, float *x, float *y);
  PetscErrorCode (*scale)(PetscInt n, double a, float *x);
  PetscErrorCode (*shift)(PetscInt n, double a, float *x);
  PetscErrorCode (*axpy)(PetscInt n, double a, const float *x, float *y);                                         /* y = a x + y       */
  PetscErrorCode (*axpby)(PetscInt n, double a, double b, const float *x, float *y);                              /* y = a x + b y     */
  PetscErrorCode (*axpbypcz)(PetscInt n, double a, double b, double c, const float *x, const float *y, float *z); /* z = a x + b y + c z */
  PetscErrorCode (*waxpy)(PetscInt n, double a, const float *x, const float *y, float *w);                        /* w = a x + y       */
  /* y = b y + sum a[j] x[j] */
  PetscErrorCode (*maxpby)(PetscInt n, PetscInt m, const double *a, double b, const float *const *x, float *y);

  /* w = x op y, w may be x or y; quotients are as VecPointwiseDivide() and VecReciprocal() define them for zeros */
  PetscErrorCode (*mult)(PetscInt n, const float *x, const float *y, float *w);
  PetscErrorCode (*divide)(PetscInt n, const float *x, const float *y, float *w);
  PetscErrorCode (*pointwisemax)(PetscInt n, const float *x, const float *y, float *w);
  PetscErrorCode (*pointwisemin)(PetscInt n, const float *x, const float *y, float *w);
  PetscErrorCode (*pointwisemaxabs)(PetscInt n, const float *x, const float *y, float *w);
  PetscErrorCode (*reciprocal)(PetscInt n, float *x);
  PetscErrorCode (*sqrtabs)(PetscInt n, float *x);
  PetscErrorCode (*abs)(PetscInt n, float *x);
  PetscErrorCode (*exp)(PetscInt n, float *x);
  PetscErrorCode (*log)(PetscInt n, float *x);

  PetscErrorCode (*mdot)(PetscInt n, PetscInt m, const float *x, const float *const *y, double *s); /* s[j] = x . y[j] */
  PetscErrorCode (*sum)(PetscInt n, const float *x, double *s);
  PetscErrorCode (*sumabs)(PetscInt n, const float *x, double *s);
  PetscErrorCode (*maxabs)(PetscInt n, const float *x, double *s);
  PetscErrorCode (*max)(PetscInt n, const float *x, PetscInt *i, double *s); /* i = -1 if n = 0 */
  PetscErrorCode (*min)(PetscInt n, const float *x, PetscInt *i, double *s);
  PetscErrorCode (*maxdivide)(PetscInt n, const float *x, const float *y, double *s); /* max |x / y| */
  /* as VecErrorWeightedNorms(); e, atol and rtol arrays may be NULL */
  PetscErrorCode (*errornorms)(PetscInt n, const float *u, const float *y, const float *e, PetscBool infinity, double atol,
                               const float *atols, double rtol, const float *rtols, double ignore, VecSingleErrorNorms *);
};
PETSC_INTERN const struct _VecSingleKernels VecSingleKernelsHost;
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _VecSingleKernels VecSingleKernelsCUDA;
#endif
