/* Which kernel for equal patches in 3D: by the degree, the precision and the GPU */
#include "base/dispatch.cuh"
#include "smoother/row.cuh"
#include "smoother/tile.cuh"

namespace patchfd
{

/* the degrees at which each kernel is the faster one on an H200, in double and in float */
static constexpr int highest_row[] = {4, 5}, lowest_tile[] = {7, 8}, highest_tile = 8, highest[] = {10, 12};

template <typename T, int K>
static PetscErrorCode SmootherVolumeCreateDegree(const PatchFDEigen *const e[3], SmootherFast **fast)
{
  constexpr bool single = sizeof(T) == 4;

  PetscFunctionBegin;
  if constexpr (K >= lowest_tile[single] && K <= highest_tile) {
    bool supported;

    PetscCall((TileSmoother<T, K>::supported(&supported)));
    if (supported) PetscCall((SmootherFastNew<TileSmoother<T, K>>(e, fast)));
    else PetscCall((SmootherFastNew<FastSmoother<T, K>>(e, fast)));
  } else if constexpr (K <= highest_row[single]) PetscCall((SmootherFastNew<RowSmoother<T, K>>(e, fast)));
  else PetscCall((SmootherFastNew<FastSmoother<T, K>>(e, fast)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode SmootherVolumeCreate(int K, const PatchFDEigen *const e[3], SmootherFast **fast)
{
  constexpr int most = highest[sizeof(T) == 4];

  PetscFunctionBegin;
  if (K >= 2 && K <= most) PetscCall((ForDegree<2, most>(K, [&](auto k) { return SmootherVolumeCreateDegree<T, k()>(e, fast); })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::SmootherVolumeCreate<INSTANCE_T>(int, const PatchFDEigen *const[3], SmootherFast **);
