/*
  Vecs are made: also those whose arrays have room for ghosts before and after the values, so that a ghosted array can be the Vec's own and
  nobody copies.  VECSINGLE has such arrays itself; here are PETSc's own Vecs on them, those of one rank and of several.
*/
#include <patchfd/private/vecimpl.h>
#include <petscdevice.h>

typedef struct {
  PatchFDKernels kern;
  void          *memory, *array;
  size_t         room[2];
} VecRoom;

static const char VECROOM[] = "PatchFDVecRoom";

static PetscErrorCode VecRoomDestroy(PetscCtxRt ctx)
{
  VecRoom *r = PATCHFD_DESTROY_CTX(VecRoom, ctx);

  PetscFunctionBegin;
  PetscCall(PatchFDRoomRemove(r->array));
  PetscCall((*r->kern->free)(r->memory));
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecCreate_Room(MPI_Comm, PatchFDKernels, PetscInt, const size_t[2], Vec *);

static PetscErrorCode VecDuplicate_Room(Vec v, Vec *w)
{
  PetscContainer container;
  VecRoom       *r;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)v, VECROOM, (PetscObject *)&container));
  PetscCall(PetscContainerGetPointer(container, (void *)&r));
  PetscCall(VecCreate_Room(PetscObjectComm((PetscObject)v), r->kern, v->map->n, r->room, w));
  PetscCall(PetscLayoutReference(v->map, &(*w)->map));
  PetscCall(PetscObjectQuery((PetscObject)*w, VECROOM, (PetscObject *)&container));
  PetscCall(PetscObjectReference((PetscObject)container));
  PetscCall(PatchFDVecInherit(v, *w));
  PetscCall(PetscObjectCompose((PetscObject)*w, VECROOM, (PetscObject)container)); /* its own, in place of that of v */
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecCreate_Room(MPI_Comm comm, PatchFDKernels kern, PetscInt n, const size_t room[2], Vec *v)
{
  VecRoom    *r;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscNew(&r));
  r->kern    = kern;
  r->room[0] = room[0];
  r->room[1] = room[1];
  PetscCall((*kern->malloc)(PatchFDRoomLead(room) + (size_t)n + room[1], &r->memory));
  r->array = (char *)r->memory + PatchFDRoomLead(room) * kern->size;
  if (PetscMemTypeHost(kern->memtype) && size == 1) PetscCall(VecCreateSeqWithArray(comm, 1, n, (const PetscScalar *)r->array, v));
  else if (PetscMemTypeHost(kern->memtype)) PetscCall(VecCreateMPIWithArray(comm, 1, n, PETSC_DETERMINE, (const PetscScalar *)r->array, v));
  else if (size == 1) PetscCall(VecCreateSeqCUDAWithArray(comm, 1, n, (const PetscScalar *)r->array, v));
  else PetscCall(VecCreateMPICUDAWithArray(comm, 1, n, PETSC_DETERMINE, (const PetscScalar *)r->array, v));
  PetscCall(PatchFDRoomAdd(r->array, room));
  PetscCall(PetscObjectContainerCompose((PetscObject)*v, VECROOM, r, VecRoomDestroy)); /* freed after the Vec has let the array go */
  PetscCall(PatchFDVecSetOnePass(*v));
  (*v)->ops->duplicate     = VecDuplicate_Room;
  (*v)->ops->duplicatevecs = PatchFDVecDuplicateVecs;
  (*v)->ops->destroyvecs   = PatchFDVecDestroyVecs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecCreate(MPI_Comm comm, VecType type, PetscInt n, const size_t room[2], Vec *v)
{
  PetscMPIInt    size;
  PetscBool      petsc;
  PatchFDKernels kern;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscStrcmpAny(type, &petsc, VECSTANDARD, VECCUDA, size > 1 ? VECMPI : VECSEQ, size > 1 ? VECMPICUDA : VECSEQCUDA, ""));
  if (petsc && room) {
    PetscCall(PatchFDVecTypeGetKernels(type, &kern));
    PetscCall(VecCreate_Room(comm, kern, n, room, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCreate(comm, v));
  PetscCall(VecSetSizes(*v, n, PETSC_DETERMINE));
  PetscCall(VecSetType(*v, type));
  PetscCall(PatchFDVecSetOnePass(*v));
  if (room && VecIsSingle_Private(*v)) PetscCall(VecSingleSetRoom_Private(*v, room));
  PetscFunctionReturn(PETSC_SUCCESS);
}
