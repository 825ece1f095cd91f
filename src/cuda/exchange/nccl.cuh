/* NCCL, where it is installed: messages on a stream, without the host */
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

struct NCCL {
  /* one of NCCL's for the ranks of an MPI communicator, made by the first call and kept with it; NULL and the reason where that is not
     possible.  Collective */
  static PetscErrorCode get(MPI_Comm, void **comm, const char **why);
  /* between begin and end: to and from ranks, in any order */
  static PetscErrorCode begin();
  static PetscErrorCode send(const void *, size_t bytes, int rank, void *comm, cudaStream_t);
  static PetscErrorCode receive(void *, size_t bytes, int rank, void *comm, cudaStream_t);
  static PetscErrorCode end();
};

} // namespace patchfd
