/*
  fine += P coarse and coarse += P' fine with P = P2 (x) P1 (x) P0 for fields whose cells share nodes in some directions and not in others:
  components of a velocity.

    mixed.cu          what is chosen when
    mixed_fast.cu     the kernels for halved cells of the same degree, all alike, that share nodes in at most one direction
    base/products.cu  the generic kernel
*/
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

static constexpr int mixed_fast_degrees = 6; /* from 1 on */

struct MixedTransferFast {
  virtual ~MixedTransferFast() { }
  virtual PetscErrorCode prolong(const void *coarse, void *fine, cudaStream_t) const   = 0;
  virtual PetscErrorCode restrict_(const void *fine, void *coarse, cudaStream_t) const = 0;
};

/* degree k in directions without shared nodes; shared: the one with, or -1 */
template <typename T, int DIM>
PetscErrorCode MixedTransferFastCreate(const PatchFDTransferDesc *, PetscInt k, int shared, MixedTransferFast **);

template <typename T>
struct MixedTransfer {
  /* is there a fast kernel? */
  static bool fast(const PatchFDTransferDesc *, PetscInt *k, int *shared);

  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode apply(void *, bool restriction, const void *from, void *to);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
