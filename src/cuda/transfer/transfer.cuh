/*
  fine += P coarse and coarse += P' fine with P = P2 (x) P1 (x) P0; owners are coarse cells.

    transfer.cu  what is chosen when; the generic kernel (any degrees, split cells, 1D)
    fast.cu      the kernels for halved cells of the same degree in 2D and 3D, all alike (every uniform mesh) or by place: with
                 matrices of their own

  As for the operator, the last template of fast.cu is their entry.
*/
#pragma once
#include "base/plan.cuh"

namespace patchfd
{

struct TransferFast {
  virtual ~TransferFast() { }
  virtual PetscErrorCode prolong(const void *coarse, void *fine, cudaStream_t) const   = 0;
  virtual PetscErrorCode restrict_(const void *fine, void *coarse, cudaStream_t) const = 0;
};

/* for degrees from 1 on; by place there is one less in the shared memory of a block */
static constexpr int transfer_fast_degrees(int dim, bool byplace)
{
  return (dim == 2 ? 16 : 12) - byplace;
}

template <typename T, int DIM, bool BY_PLACE>
PetscErrorCode TransferFastCreate(const PatchFDTransferDesc *, PlanMemory *, TransferFast **);

} // namespace patchfd
