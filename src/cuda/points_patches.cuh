/* An operator by quadrature on the cells of patches, from one on a mesh: each patch has its unknowns, x fastest, by themselves */
#pragma once
#include "cuda.cuh"

namespace patchfd
{

/* patches of up to two cells in each direction, numbers of each in GPU memory; cells and nodes are numbered in the whole mesh */
struct PointsPatches {
  int           count, low[3], cells[3]; /* patches; the cells that the operator has on the mesh, x fastest */
  size_t        unknowns;
  const int    *cell, *first, *n;        /* [count][3]: the first cell and node, unknowns */
  const size_t *at;                      /* [count] where its unknowns begin */
};

template <typename T>
PetscErrorCode PointsPickPatches(void *pointsplan, const PointsPatches &, void **picked);

} // namespace patchfd
