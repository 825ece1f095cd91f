/* fine += P coarse and coarse += P' fine between polynomials of two degrees on the cells of a mesh: mesh.cu */
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

template <typename T>
struct MeshTransfer {
  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode apply(void *, bool restriction, const void *from, void *to);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
