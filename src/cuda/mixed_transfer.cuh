/*
  fine += P coarse and coarse += P' fine with P = P2 (x) P1 (x) P0 for fields whose cells share nodes in some directions and not in others: components of
  a velocity.

    mixed_transfer.cu  what is chosen when
    products.cu        the generic kernel
*/
#pragma once
#include "cuda.cuh"

namespace patchfd
{

template <typename T>
struct MixedTransfer {
  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode prolong(void *, const void *, void *);
  static PetscErrorCode restrict_(void *, const void *, void *);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
