/*
  VECSINGLE and VECSINGLECUDA: float storage under a double PetscScalar, in host or in GPU memory, one type name each for any number
  of ranks.  The two differ in their table of loops, VecSingleKernels, and in little else.

  Everything that solvers call often works on the floats.  VecGetArray() and its
  relatives hand out the double "shadow", a VECSTANDARD of the same layout: values are converted when the first access begins
  and converted back when a writable access ends.  Whatever PETSc does through arrays therefore works, at the price of two
  conversions, and the operations that do nothing else (view, load, strides) are VECSTANDARD's own.

  Here is how such Vecs are made, duplicated, divided and destroyed.  singlearray.c has the arrays and the shadow, singleops.c the
  operations.
*/
#include "single.h" /*I "petscvecsingle.h" I*/
#include <petscdevice.h>

PetscMemType VecSingleMemType_Private(Vec v)
{
  return Kernels(v)->memtype;
}

PetscErrorCode VecSingleSetRoom_Private(Vec v, const size_t room[2])
{
  PetscFunctionBegin;
  PetscCheck(!Single(v)->a, PETSC_COMM_SELF, PETSC_ERR_ORDER, "The Vec has its storage already");
  PetscCall(PetscArraycpy(Single(v)->room, room, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecCreateWithStorage_Single(Vec, VecSingleKernels, float *);

static PetscErrorCode VecDuplicate_Single(Vec v, Vec *w)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), w));
  PetscCall(PetscLayoutReference(v->map, &(*w)->map));
  PetscCall(VecCreateWithStorage_Single(*w, Kernels(v), NULL));
  PetscCall(VecSingleSetRoom_Private(*w, Single(v)->room));
  PetscCall(PatchFDVecInherit(v, *w));
  (*w)->ops->duplicate = v->ops->duplicate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a contiguous part of every rank is a window on the storage, anything else a copy made by a VecScatter */
static PetscErrorCode VecGetSubVector_Single(Vec v, IS is, Vec *w)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)v);
  PetscInt       n, N, start, bs, vbs, locked;
  PetscBool      flags[2]; /* contiguous, divisible by the block size */
  VecScatter     scatter;

  PetscFunctionBegin;
  PetscCall(NeedStorage(v));
  PetscCall(ISGetLocalSize(is, &n));
  PetscCall(ISGetSize(is, &N));
  PetscCall(ISGetBlockSize(is, &bs));
  PetscCall(VecGetBlockSize(v, &vbs));
  PetscCall(ISContiguousLocal(is, v->map->rstart, v->map->rend, &start, &flags[0]));
  flags[1] = (PetscBool)(n % vbs == 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, flags, 2, PATCHFD_MPI_BOOL, MPI_LAND, comm));
  if (bs == 1 && flags[0] && flags[1]) bs = vbs;

  PetscCall(VecCreate(comm, w));
  PetscCall(VecSetSizes(*w, n, N));
  PetscCall(VecSetBlockSize(*w, bs));
  if (flags[0]) {
    PetscCall(VecCreateWithStorage_Single(*w, Kernels(v), PetscSafePointerPlusOffset(Single(v)->a, start)));
    (*w)->ops->placearray   = NULL;
    (*w)->ops->replacearray = NULL;
  } else {
    PetscCall(VecCreateWithStorage_Single(*w, Kernels(v), NULL));
    PetscCall(VecScatterCreate(v, is, *w, NULL, &scatter));
    PetscCall(VecScatterBegin(scatter, v, *w, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, v, *w, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(PetscObjectCompose((PetscObject)*w, "VecGetSubVector_Scatter", (PetscObject)scatter));
    PetscCall(VecScatterDestroy(&scatter));
  }
  Single(*w)->written = PETSC_FALSE;
  PetscCall(VecLockGet(v, &locked));
  if (locked) PetscCall(VecLockReadPush(*w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecRestoreSubVector_Single(Vec v, PETSC_UNUSED IS is, Vec *w)
{
  VecScatter scatter;
  PetscBool  written;

  PetscFunctionBegin;
  VecCheckSingle(*w);
  written = Single(*w)->written;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &written, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)v)));
  if (written) {
    PetscCall(VecSetErrorIfLocked(v, 1));
    PetscCall(PetscObjectQuery((PetscObject)*w, "VecGetSubVector_Scatter", (PetscObject *)&scatter));
    if (scatter) {
      PetscCall(VecScatterBegin(scatter, *w, v, INSERT_VALUES, SCATTER_REVERSE));
      PetscCall(VecScatterEnd(scatter, *w, v, INSERT_VALUES, SCATTER_REVERSE));
    }
    Single(v)->written = PETSC_TRUE; /* through the window */
    PetscCall(PetscObjectStateIncrease((PetscObject)v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecDestroy_Single(Vec v)
{
  Vec_Single *s = Single(v);

  PetscFunctionBegin;
  PetscCall(PetscLogObjectState((PetscObject)v, "Length=%" PetscInt_FMT, v->map->n));
  if (s->placed) PetscCall(VecResetArray_Single(v));
  if (s->room[0] || s->room[1]) PetscCall(PatchFDRoomRemove(Own(v)));
  PetscCall(s->kern->free(&s->allocated));
  PetscCall(VecDestroy(&s->shadow));
  PetscCall(PetscFree(v->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The operations of VECSTANDARD that reach the values through VecGetArray() only and so serve any type.  They are not exported,
  but an object has them.
*/
static PetscErrorCode BorrowStandardOperations(Vec v)
{
  static struct _VecOps ops[2]; /* sequential, parallel */
  struct _VecOps       *std = &ops[v->map->size > 1];

  PetscFunctionBegin;
  if (!std->view) {
    Vec d;

    if (v->map->size > 1) PetscCall(VecCreateMPI(PETSC_COMM_SELF, 0, PETSC_DETERMINE, &d));
    else PetscCall(VecCreateSeq(PETSC_COMM_SELF, 0, &d));
    *std = *d->ops;
    PetscCall(VecDestroy(&d));
  }
  v->ops->view                = std->view;
  v->ops->viewnative          = std->viewnative;
  v->ops->load                = std->load;
  v->ops->loadnative          = std->loadnative;
  v->ops->getsize             = std->getsize;
  v->ops->getlocalsize        = std->getlocalsize;
  v->ops->setrandom           = std->setrandom;
  v->ops->stridegather        = std->stridegather;
  v->ops->stridescatter       = std->stridescatter;
  v->ops->stridesubsetgather  = std->stridesubsetgather;
  v->ops->stridesubsetscatter = std->stridesubsetscatter;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* storage of somebody else, or NULL to allocate when it is needed */
static PetscErrorCode VecCreateWithStorage_Single(Vec v, VecSingleKernels kern, float *storage)
{
  Vec_Single *s;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(v->map));
  PetscCall(PetscNew(&s));
  s->kern = kern;
  s->a    = storage;

  v->data             = s;
  v->petscnative      = PETSC_FALSE;       /* otherwise PETSc takes the storage for PetscScalars */
  v->offloadmask      = PETSC_OFFLOAD_CPU; /* where VecGetArray() returns one */
  v->stash.insertmode = NOT_SET_VALUES;

  PetscCall(PetscMemzero(v->ops, sizeof(*v->ops)));
  PetscCall(BorrowStandardOperations(v));
  v->ops->duplicate        = VecDuplicate_Single;
  v->ops->duplicatevecs    = PatchFDVecDuplicateVecs;
  v->ops->destroyvecs      = PatchFDVecDestroyVecs;
  v->ops->destroy          = VecDestroy_Single;
  v->ops->getsubvector     = VecGetSubVector_Single;
  v->ops->restoresubvector = VecRestoreSubVector_Single;
  VecSingleSetAccess(v);
  VecSingleSetOperations(v);
  PetscCall(PetscObjectChangeTypeName((PetscObject)v, kern->type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  VECSINGLE - "single" - A vector with float storage in a PETSc whose `PetscScalar` is double, on any number of ranks

  Options Database Keys:
+ -vec_type single    - sets the type in `VecSetFromOptions()`
- -dm_vec_type single - sets the type of the vectors that a `DM` makes

  Level: intermediate

  Notes:
  It holds half the bytes of a `VECSTANDARD`, and the operations that Krylov methods, smoothers, multigrid and time steppers use
  move half as many. Inner products, norms and sums accumulate in double precision.

  `VecGetArray()` and its relatives return a double copy, the shadow, that is converted when the access begins and converted back
  when a writable access ends. All of PETSc works with it, but code that should be fast calls `VecSingleGetArray()` and its
  relatives, which return the floats.

  Two vectors of different precision cannot be operands of one operation, except for `VecCopy()`: convert with `VecSingleConvert()`.

  Values outside the range of float (about 1e-38 to 3e38) become zero or infinity.

  `VecPlaceArray()` works on a float copy of the array and writes changes back in `VecResetArray()`.

  Ghosted vectors (`VecCreateGhost()`) are not supported. Neither are PETSc configurations with complex numbers or with real
  numbers other than double.

.seealso: `VECSINGLECUDA`, `PCSINGLE`, `VecSingleGetArray()`, `VecSingleGetArrayRead()`, `VecSingleGetArrayWrite()`, `VecSingleConvert()`,
`VecType`, `VecCreate()`
M*/
PetscErrorCode VecCreate_Single(Vec v)
{
  PetscFunctionBegin;
  PetscCall(VecCreateWithStorage_Single(v, &VecSingleKernelsHost, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_HAVE_CUDA)
/*MC
  VECSINGLECUDA - "singlecuda" - A `VECSINGLE` whose storage is in the memory of a CUDA GPU

  Options Database Keys:
+ -vec_type singlecuda    - sets the type in `VecSetFromOptions()`
- -dm_vec_type singlecuda - sets the type of the vectors that a `DM` makes

  Level: intermediate

  Notes:
  It is like `VECSINGLE`, but operations run on the GPU. The shadow, which `VecGetArray()` and related routines return, is in host
  memory: such an access copies the vector to the host and, if it may write, back. `VecSetValues()` begins such an access;
  `VecAssemblyEnd()` ends it.

  `PCSINGLE` uses this type for a `DMBOX` with vectors of type `VECCUDA`. The type exists if PETSc has CUDA; creating a vector needs
  a GPU.

.seealso: `VECSINGLE`, `VECCUDA`, `PCSINGLE`, `VecSingleGetArray()`, `VecSingleGetArrayRead()`, `VecSingleGetArrayWrite()`,
`VecSingleConvert()`, `VecType`, `VecCreate()`
M*/
PetscErrorCode VecCreate_SingleCUDA(Vec v)
{
  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* an error without a GPU */
  PetscCall(VecCreateWithStorage_Single(v, &VecSingleKernelsCUDA, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
