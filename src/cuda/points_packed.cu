/* products on inner patches of operators by quadrature from factors in half precision */
#include "points_packed_cells.cuh"
#include "points_packed_planes.cuh"

namespace patchfd
{

template <bool SHIFT>
static PetscErrorCode PackedLaunch(PetscInt degree, const PointsArguments<float> &arg, const PointsProductArguments<float> &p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, PATCHFD_FIT_RESIDUAL_DEGREES>(degree, [&](auto k) {
    constexpr int K = decltype(k)::value;

    PetscFunctionBegin;
    if constexpr (PointsPackingOf(K) == POINTS_PACKED_CELLS) PetscCall((PointsPackedCellLaunch<PointsPackedCellShape<K, SHIFT>>(arg, p, stream)));
    else if constexpr (PointsPackingOf(K) == POINTS_PACKED_PLANES) PetscCall((PointsPackedPlaneLaunch<PointsPackedPlaneShape<K, SHIFT>>(arg, p, stream)));
    else PetscCall((PointsProductLaunch<PointsProductShape<float, K, true, true, SHIFT>>(arg, p, stream)));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PointsPackedProducts(PetscInt degree, const PointsArguments<float> &arg, const PointsProductArguments<float> &p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall((p.packed.shift ? PackedLaunch<true> : PackedLaunch<false>)(degree, arg, p, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PointsPackedCreate(const PointsGeneric<float> &from, PoolMemory *memory, PointsPacked *packed, cudaStream_t stream)
{
  const size_t cells = (size_t)from.cells;
  size_t       shared;
  unsigned    *words;
  float       *scale;

  PetscFunctionBegin;
  packed->c       = from.c;
  packed->packing = PointsPackingOf(from.n - 1);
  packed->swapped = PointsRole(PointsOrder(POINTS_FEW, true, from.c, 0), 0) == 2;
  packed->shift   = from.shift;
  PetscCall(memory->borrow(packed->size(cells), &words));
  PetscCall(memory->borrow(cells, &scale));
  shared = packed->packing == POINTS_PACKED_LINES ? 0 : packed->block() * sizeof(unsigned);
  PetscCall(AllowShared(PointsPackKernel, shared));
  if (cells) PointsPackKernel<<<(unsigned)((cells + points_packed_cells - 1) / points_packed_cells), 256, shared, stream>>>(from, *packed, words, scale);
  PetscCallCUDA(cudaGetLastError());
  packed->words = words;
  packed->scale = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
