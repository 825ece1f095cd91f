/*
  fine += P coarse and coarse += P' fine with P = P2 (x) P1 (x) P0; owners are coarse cells.

    transfer.cu        what is chosen when; the generic kernel (any degrees, split cells, 1D)
    transfer_fast.cuh  the kernels for halved cells of the same degree, all alike: every uniform mesh in 2D and 3D

  As for the operator, the last template of transfer_fast.cuh is the door, and transfer_double_2d.cu and the like instantiate it.
*/
#pragma once
#include "cuda.cuh"

namespace patchfd
{

struct TransferFast {
  virtual ~TransferFast() { }
  virtual PetscErrorCode prolong(const void *coarse, void *fine, cudaStream_t) const   = 0;
  virtual PetscErrorCode restrict_(const void *fine, void *coarse, cudaStream_t) const = 0;
};

/* for degrees from 1 on */
static constexpr int transfer_fast_degrees(int dim)
{
  return dim == 2 ? 10 : 8;
}

template <typename T, int DIM>
PetscErrorCode TransferFastCreate(const PatchFDTransferDesc *, TransferFast **);

} // namespace patchfd
