/* fine += P coarse and coarse += P' fine between polynomials of two degrees on the cells of a mesh: mesh.cu */
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

template <typename T>
struct MeshTransfer {
  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode prolong(void *, const void *, void *);
  static PetscErrorCode restrict_(void *, const void *, void *);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
