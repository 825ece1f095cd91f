/* products on inner patches of operators by quadrature from factors in half precision */
#include "points/packed_cells.cuh"
#include "points/packed_planes.cuh"
#include "points/plan.cuh"

namespace patchfd
{

/* f(kernel, patches and threads of a block, bytes of shared memory) of the kernel for a degree */
template <bool SHIFT, typename F>
static PetscErrorCode WithPacked(PetscInt degree, F &&f)
{
  return ForDegree<1, PATCHFD_FIT_RESIDUAL_DEGREES>(degree, [&](auto k) {
    constexpr int K = decltype(k)::value;

    if constexpr (PointsPackingOf(K) == POINTS_PACKED_CELLS) {
      using S = PointsPackedCellShape<K, SHIFT>;

      return f(PointsPackedCellKernel<S>, S::PATCHES, S::THREADS, S::WORDS * S::THREADS * sizeof(unsigned));
    } else if constexpr (PointsPackingOf(K) == POINTS_PACKED_PLANES) {
      using S = PointsPackedPlaneShape<K, SHIFT>;

      return f(PointsPackedPlaneKernel<S>, S::PATCHES, S::THREADS, 2 * S::SHARED * sizeof(float));
    } else {
      using S = PointsProductShape<float, K, true, true, SHIFT>;

      return f(PointsProductKernel<S, float>, S::PATCHES, S::THREADS, S::SHARED * sizeof(float));
    }
  });
}

PetscErrorCode PointsPackedProducts(PetscInt degree, const PointsArguments<float> &arg, const PointsProductArguments<float> &p,
                                    cudaStream_t stream)
{
  const auto launch = [&](auto kernel, int patches, int threads, size_t shared) {
    PetscFunctionBegin;
    kernel<<<(unsigned)((p.patches.count + patches - 1) / patches), threads, shared, stream>>>(arg, p);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  };

  return p.packed.shift ? WithPacked<true>(degree, launch) : WithPacked<false>(degree, launch);
}

/* from the factors of an operator that has a stiffness, in three dimensions */
static PetscErrorCode PointsPackedCreate(const PointsGeneric<float> &from, PoolMemory *memory, PointsPacked *packed, cudaStream_t stream)
{
  const size_t cells = (size_t)from.cells;
  const auto   allow = [](auto kernel, int, int, size_t shared) { return AllowShared(kernel, shared); };
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
  PetscCall(from.shift ? WithPacked<true>(from.n - 1, allow) : WithPacked<false>(from.n - 1, allow));
  if (cells)
    PointsPackKernel<<<(unsigned)((cells + points_packed_cells - 1) / points_packed_cells), 256, shared, stream>>>(from, *packed, words,
                                                                                                                   scale);
  PetscCallCUDA(cudaGetLastError());
  packed->words = words;
  packed->scale = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PointsPack(void *plan)
{
  PointsPlan<float> *p = (PointsPlan<float> *)plan;
  cudaStream_t       stream;

  PetscFunctionBegin;
  if (p->packed.words || !p->generic.stiff) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(PointsPackedCreate(p->generic, &p->memory, &p->packed, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
