/*
  NCCL is loaded when it is asked for, so that this library needs it neither to be built nor to be used.  The functions below have been the
  same since version 2.7, which brought sending and receiving.
*/
#include "exchange/nccl.cuh"
#include <dlfcn.h>

namespace patchfd
{

struct UniqueId {
  char internal[128];
};

static struct {
  void *library;
  int (*GetUniqueId)(UniqueId *);
  int (*CommInitRank)(void **comm, int ranks, UniqueId, int rank);
  int (*CommDestroy)(void *comm);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*Send)(const void *, size_t count, int type, int rank, void *comm, cudaStream_t);
  int (*Recv)(void *, size_t count, int type, int rank, void *comm, cudaStream_t);
  const char *(*GetErrorString)(int);
} nccl;

static constexpr int BYTES = 0; /* ncclInt8 */

#define PetscCallNCCL(...) \
  do { \
    const int err_ = __VA_ARGS__; \
    PetscCheck(!err_, PETSC_COMM_SELF, PETSC_ERR_LIB, "NCCL: %s", nccl.GetErrorString(err_)); \
  } while (0)

template <typename F>
static bool Find(const char *name, F *f)
{
  *f = (F)dlsym(nccl.library, name);
  return *f;
}

static bool Load()
{
  if (nccl.library) return true;
  nccl.library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!nccl.library) return false;
  if (Find("ncclGetUniqueId", &nccl.GetUniqueId) && Find("ncclCommInitRank", &nccl.CommInitRank) &&
      Find("ncclCommDestroy", &nccl.CommDestroy) && Find("ncclGroupStart", &nccl.GroupStart) && Find("ncclGroupEnd", &nccl.GroupEnd) &&
      Find("ncclSend", &nccl.Send) && Find("ncclRecv", &nccl.Recv) && Find("ncclGetErrorString", &nccl.GetErrorString))
    return true;
  dlclose(nccl.library);
  nccl.library = NULL;
  return false;
}

/* ---- NCCL's communicator, an attribute of MPI's ---- */

static int keyval = MPI_KEYVAL_INVALID;

static int MPIAPI DeleteComm(MPI_Comm, int, void *comm, void *)
{
  return nccl.CommDestroy(comm) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static PetscErrorCode FreeKeyval(void)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_free_keyval(&keyval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NCCL::get(MPI_Comm mpi, void **comm, const char **why)
{
  UniqueId     id;
  cudaStream_t stream;
  PetscMPIInt  rank, size, found;
  int          ok = Load();

  PetscFunctionBegin;
  PetscCall(Stream(&stream)); /* starts the GPU */
  *comm = NULL;
  *why  = NULL;
  if (keyval == MPI_KEYVAL_INVALID) {
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, DeleteComm, &keyval, NULL));
    PetscCall(PetscRegisterFinalize(FreeKeyval));
  }
  PetscCallMPI(MPI_Comm_get_attr(mpi, keyval, comm, &found));
  if (found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(mpi, &rank));
  PetscCallMPI(MPI_Comm_size(mpi, &size));
  if (ok && rank == 0) ok = !nccl.GetUniqueId(&id);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, mpi));
  if (!ok) *why = "libnccl.so.2, version 2.7 or later, cannot be loaded";
  if (*why) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, mpi));
  ok = !nccl.CommInitRank(comm, size, id, rank);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, mpi));
  if (ok) PetscCallMPI(MPI_Comm_set_attr(mpi, keyval, *comm));
  else *why = "NCCL cannot connect the ranks, which need a GPU each";
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NCCL::begin()
{
  PetscFunctionBegin;
  PetscCallNCCL(nccl.GroupStart());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NCCL::send(const void *from, size_t bytes, int rank, void *comm, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallNCCL(nccl.Send(from, bytes, BYTES, rank, comm, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NCCL::receive(void *to, size_t bytes, int rank, void *comm, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallNCCL(nccl.Recv(to, bytes, BYTES, rank, comm, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NCCL::end()
{
  PetscFunctionBegin;
  PetscCallNCCL(nccl.GroupEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
