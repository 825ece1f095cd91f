/*
  fine += P coarse and coarse += P' fine with P = P2 (x) P1 (x) P0; owners are coarse cells.

    transfer.cu  what is chosen when; the generic kernel (any degrees, split cells, 1D)
    fast.cu      the kernels for halved cells of the same degree in 2D and 3D, all alike (every uniform mesh) or by place: with
                 matrices of their own

  As for the operator, the last template of fast.cu is their entry.
*/
#pragma once
#include "base/cuda.cuh"
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

/*
  fine += P coarse and coarse += P' fine with P = P2 (x) P1 (x) P0 for fields whose cells share nodes in some directions and not in others:
  components of a velocity.

    transfer.cu       what is chosen when
    mixed_fast.cu     the kernels for halved cells of the same degree, all alike, that share nodes in at most one direction
    base/products.cu  the generic kernel
*/

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
};

/* fine += P coarse and coarse += P' fine between polynomials of two degrees on the cells of a mesh */

template <typename T>
struct MeshTransfer {
  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode apply(void *, bool restriction, const void *from, void *to);
};

} // namespace patchfd
