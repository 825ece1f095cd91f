/* An operator by quadrature on the cells of patches, from one on a mesh: each patch has its unknowns, x fastest, by themselves */
#pragma once
#include "points.cuh"

namespace patchfd
{

/* patches of up to two cells in each direction, numbers of each in GPU memory; cells and nodes are numbered in the whole mesh */
struct PointsPatches {
  int           count, low[3], cells[3]; /* patches; the cells that the operator has on the mesh, x fastest */
  const int    *cell, *first, *n;        /* [count][3]: the first cell and node, unknowns */
  size_t        at, volume;              /* where the first one's unknowns begin, and those of others after it */
};

static constexpr int points_corners = 8; /* cells of a patch */

template <typename T>
struct PointsResidualArguments {
  PointsPatches patches;
  Layout        box; /* of b */
  const T      *b;
  T            *r;
  bool          zero; /* x = 0 */
};

/* begins the residuals of patches that are the inner nodes of eight cells, or of others: points_residual.cuh */
template <typename T>
PetscErrorCode PointsResiduals(PetscInt degree, bool inner, const PointsArguments<T> &, const PointsResidualArguments<T> &, cudaStream_t);

template <typename T>
PetscErrorCode PointsPickPatches(void *pointsplan, const PointsPatches &, void **picked);

/* r = b - A x, or b if x is zero, at the unknowns of patches that are the inner nodes of eight cells (inner), or of others; an operator that PatchFDFitTakesResiduals() */
template <typename T>
PetscErrorCode PointsPatchResiduals(void *pointsplan, const PointsPatches &, bool inner, const Layout &box, bool zero, const T *b, const T *x, T *r);

} // namespace patchfd
