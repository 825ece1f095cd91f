/*
  Residuals of patches of an operator by quadrature with few points (points.cuh): r = (b - A x) at the unknowns of patches of up to 2 x 2 x 2 cells, from arrays on the mesh to arrays
  where each patch has its unknowns by themselves.

  A block of threads takes the eight cells of a patch, or of several, through the stages of points_fast.cuh; then sums of cells are made in shared memory: no atomics, nothing is
  written but r.  Cells that a patch lacks have x = 0, and the factors of another one.  Factors are those of the mesh, where a cell has its numbers at a level together.
*/
#pragma once
#include "points_fast.cuh"
#include "points_patches.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

/* patches of a block: four warps or more, and few threads without a line */
__host__ __device__ constexpr int PointsPatchesPerBlock(int lines)
{
  return points_corners * lines >= 128 ? 1 : 4;
}

template <typename T, int K, bool INNER>
struct PointsResidualShape : PointsShape<T, K, POINTS_FEW, false, points_corners * PointsPatchesPerBlock((K + 1) * (K + 1))> {
  static constexpr bool WHOLE = INNER; /* all patches have eight cells, and their inner nodes */
  static constexpr int  PATCHES = PointsPatchesPerBlock((K + 1) * (K + 1)), ROOM = INNER ? 2 * K - 1 : 2 * K + 1; /* for unknowns in a direction */
};

/* one of the eight cells of a patch, counted from the operator's first one */
template <bool WHOLE>
struct PointsCorner {
  int  x[3], patch, corner;
  bool exists; /* or it is another one of the patch */

  __device__ __forceinline__ PointsCorner(const PointsNodes &nodes, const PointsPatches &p, int first, int e) : patch(min(first + e / points_corners, p.count - 1)), corner(e % points_corners), exists(true)
  {
#pragma unroll
    for (int d = 0; d < 3; d++) {
      x[d] = p.cell[3 * patch + d] - p.low[d] + (corner >> d & 1);
      if (WHOLE) continue;
      exists = exists && x[d] < nodes.count[d];
      x[d]   = min(x[d], nodes.count[d] - 1);
    }
  }
};

template <typename S, typename T>
struct PointsPatchBlock {
  const PointsArguments<T>         &arg;
  const PointsResidualArguments<T> &p;
  const int                         first, count; /* patches */
  PointsBlock<S, false, T>          block;

  __device__ __forceinline__ PointsPatchBlock(const PointsArguments<T> &arg, const PointsResidualArguments<T> &p, T *shared) :
    arg(arg), p(p), first((int)blockIdx.x * S::PATCHES), count(min(S::PATCHES, p.patches.count - first)), block(arg, shared, points_corners * count)
  {
  }

  /* a column of nodes of one of the cells */
  __device__ __forceinline__ void nodes(T u[S::n]) const
  {
    const PointsLane<0, S::n, S::n, S::PER> lane(threadIdx.x);
    unsigned                                number[S::n] = {};
    PointsColumn                            column;

    if (threadIdx.x >= S::n * S::n * S::PER || lane.e() >= points_corners * count) return;
    const PointsCorner<S::WHOLE> cell(arg.nodes, p.patches, first, lane.e());

    PointsBoxColumn(arg.nodes, arg.nodes.x, S::n, 3, cell.x[0], cell.x[1], cell.x[2], lane.p(), lane.q(), &column);
    if (!cell.exists) column.count = 0;
    column.template fetch<false, S::n>(number, arg.x, u);
  }
  /* the factors of the thread's line: the cell comes last in the order of x-lines */
  __device__ __forceinline__ PointsStored<S, T> factors() const
  {
    const int          thread = min((int)threadIdx.x, points_corners * count * S::LINES - 1);
    const PointsCorner<S::WHOLE> at(arg.nodes, p.patches, first, thread / S::LINES);
    const int          cell = (at.x[2] * arg.nodes.count[1] + at.x[1]) * arg.nodes.count[0] + at.x[0];

    return PointsStored<S, T>(arg, arg.factors + cell / S::MESH * ((size_t)(S::c * arg.numbers) * S::LANES) + cell % S::MESH * S::LINES + thread % S::LINES);
  }
  /* the sum of the cells' numbers at a node of a patch, counted from the first one of its first cell */
  __device__ __forceinline__ T sum(int patch, const int node[3]) const
  {
    int lower = 0, both = 0; /* bits of directions */
    T   total = 0;

#pragma unroll
    for (int d = 0; d < 3; d++) {
      lower |= (node[d] > S::N) << d;
      both |= (node[d] == S::N) << d;
    }
#pragma unroll
    for (int e = 0; e < points_corners; e++) {
      if (e & ~both) continue;
      const int cell = lower | e, i = node[0] - (cell & 1) * S::N, j = node[1] - (cell >> 1 & 1) * S::N, k = node[2] - (cell >> 2) * S::N;

      total += block.U[(patch * points_corners + cell) * S::CELL + k * S::PLANE + j * S::ROW + i];
    }
    return total;
  }
  /* r = b - sums */
  __device__ __forceinline__ void store() const
  {
    constexpr int M = S::ROOM;

    for (int e = threadIdx.x; e < count * M * M * M; e += S::THREADS) {
      const int  in = e / (M * M * M), patch = first + in, l[3] = {e % M, e / M % M, e / (M * M) % M}, *n = p.patches.n + 3 * patch;
      int        node[3], at[3];
      bool       mine = true;

#pragma unroll
      for (int d = 0; d < 3; d++) {
        const int begin = p.patches.cell[3 * patch + d] * S::N;

        at[d]   = l[d] + (S::WHOLE ? begin + 1 : p.patches.first[3 * patch + d]);
        node[d] = at[d] - begin;
        mine    = mine && (S::WHOLE || l[d] < n[d]);
      }
      if (mine) p.r[p.patches.at + (size_t)patch * p.patches.volume + (size_t)(S::WHOLE ? e - in * M * M * M : (l[2] * n[1] + l[1]) * n[0] + l[0])] = p.b[p.box.at(at[0], at[1], at[2])] - (p.zero ? T(0) : sum(in, node));
    }
  }
  __device__ __forceinline__ void product()
  {
    T energy = 0, u[S::c] = {}, column[S::n] = {};

    nodes(column);
    block.interpolate(column, u);
    block.points(factors(), u, energy);
    block.project(u, column);
    block.columns([&](int cell, int i, int j) {
#pragma unroll
      for (int k = 0; k < S::n; k++) block.U[cell + S::template line<2>(i, j) + k * S::PLANE] = column[k];
    });
    __syncthreads();
  }
};

template <typename S, typename T>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) PointsResidualKernel(const __grid_constant__ PointsArguments<T> arg, const __grid_constant__ PointsResidualArguments<T> p)
{
  extern __shared__ double shared_memory[];
  PointsPatchBlock<S, T>   block(arg, p, (T *)shared_memory);

  if (!p.zero) block.product();
  block.store();
}

template <typename T, bool INNER>
static PetscErrorCode PointsResidualLaunch(PetscInt degree, const PointsArguments<T> &arg, const PointsResidualArguments<T> &p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, PATCHFD_FIT_RESIDUAL_DEGREES>(degree, [&](auto k) {
    using S = PointsResidualShape<T, decltype(k)::value, INNER>;
    const size_t shared = (size_t)S::SHARED * sizeof(T);

    PetscFunctionBegin;
    PetscCall(AllowShared(PointsResidualKernel<S, T>, shared));
    PointsResidualKernel<S, T><<<(unsigned)((p.patches.count + S::PATCHES - 1) / S::PATCHES), S::THREADS, shared, stream>>>(arg, p);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsResiduals(PetscInt degree, bool inner, const PointsArguments<T> &arg, const PointsResidualArguments<T> &p, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (inner) PetscCall((PointsResidualLaunch<T, true>(degree, arg, p, stream)));
  else PetscCall((PointsResidualLaunch<T, false>(degree, arg, p, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
