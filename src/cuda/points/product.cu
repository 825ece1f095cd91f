/* products on patches of operators by quadrature */
#include "points/plan.cuh"
#include "points/product.cuh"

namespace patchfd
{

/* may the kernels have the shared memory that they need? */
template <typename T>
static PetscErrorCode PointsProductsAllow(PetscInt degree, PoolMemory *memory, PointsRoom<T> *room)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, PATCHFD_FIT_RESIDUAL_DEGREES>(degree, [&](auto k) {
    constexpr int K = decltype(k)::value;

    PetscFunctionBegin;
    PetscCall((PointsProductOf<PointsProductShape<T, K, true>, T>::allow(memory, room)));
    PetscCall((PointsProductOf<PointsProductShape<T, K, false>, T>::allow(memory, room)));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode PointsProducts(PetscInt degree, bool inner, const PointsArguments<T> &arg, const PointsProductArguments<T> &p,
                                     cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, PATCHFD_FIT_RESIDUAL_DEGREES>(degree, [&](auto k) {
    constexpr int K = decltype(k)::value;

    PetscFunctionBegin;
    if (inner) PetscCall((PointsProductOf<PointsProductShape<T, K, true>, T>::launch(arg, p, stream)));
    else PetscCall((PointsProductOf<PointsProductShape<T, K, false>, T>::launch(arg, p, stream)));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsProductsPrepare(void *plan)
{
  PointsPlan<T> *p = (PointsPlan<T> *)plan;

  PetscFunctionBegin;
  if (!p->room.blocks) PetscCall(PointsProductsAllow(p->generic.n - 1, &p->memory, &p->room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsPatchProducts(void *plan, const PointsPatches &patches, bool inner, bool packed, bool compact, bool subtract,
                                   const T *x, T *y)
{
  const PointsPlan<T>            *p       = (const PointsPlan<T> *)plan;
  PointsArguments<T>              arg     = p->arg;
  const PointsProductArguments<T> product = {patches, p->packed, compact, subtract, y, p->room};
  cudaStream_t                    stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  arg.x  = x;
  packed = packed && inner && p->packed.words;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (packed) PetscCall(PointsPackedProducts(p->generic.n - 1, arg, product, stream));
  }
  if (!packed) PetscCall(PointsProducts(p->generic.n - 1, inner, arg, product, stream));
  PetscCall(PetscLogGpuTimeEnd());
  if (arg.cells) PetscCall(PetscLogGpuFlops(p->flops / arg.cells * points_corners * patches.count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::PointsProductsPrepare<INSTANCE_T>(void *);
template PetscErrorCode patchfd::PointsPatchProducts<INSTANCE_T>(void *, const PointsPatches &, bool, bool, bool, bool, const INSTANCE_T *,
                                                                 INSTANCE_T *);
