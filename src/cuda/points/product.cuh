/*
  Products on patches of an operator by quadrature with few points (points.cuh): y = A x at the unknowns of patches of up to 2 x 2 x 2
  cells, from an array on the mesh to one where each patch has its unknowns by
  themselves.

  A block of threads takes the eight cells of a patch, or of several, through the stages of fast.cuh; then sums of cells are made in
  shared memory: no atomics, nothing is written but y.  Cells that a patch lacks have x = 0, and the factors of another one.  Factors are
  those of the mesh, where a cell has its numbers at a level together, or, of inner patches in single precision, packed ones
  (packed.cuh).
*/
#pragma once
#include "points/fast.cuh"
#include "points/packed.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

/* patches of a block: four warps or more, and few threads without a line */
__host__ __device__ constexpr int PointsPatchesPerBlock(int lines)
{
  return points_corners * lines >= 128 ? 1 : 4;
}

template <typename T, int K, bool INNER, bool PACK = false, bool SHIFT = false>
struct PointsProductShape : PointsShape<T, K, POINTS_FEW, false, points_corners * PointsPatchesPerBlock((K + 1) * (K + 1))> {
  /* whole: all patches have eight cells, and their inner nodes; the last two of packed factors */
  static constexpr bool WHOLE = INNER, PACKED = PACK, SHIFTED = SHIFT;
  /* for unknowns in a direction */
  static constexpr int PATCHES = PointsPatchesPerBlock((K + 1) * (K + 1)), ROOM = INNER ? 2 * K - 1 : 2 * K + 1;

  static __device__ __forceinline__ int slot(int patch, int corner) { return patch * points_corners + corner; }
};

/* one of the eight cells of a patch, counted from the operator's first one */
template <bool WHOLE>
struct PointsCorner {
  int  x[3], patch, corner;
  bool exists; /* or it is another one of the patch */

  __device__ __forceinline__ PointsCorner(const PointsNodes &nodes, const PointsPatches &p, int number, int corner) :
    patch(min(number, p.count - 1)), corner(corner), exists(true)
  {
#pragma unroll
    for (int d = 0; d < 3; d++) {
      x[d] = p.cell[3 * patch + d] - p.low[d] + (corner >> d & 1);
      if (WHOLE) continue;
      exists = exists && x[d] < nodes.count[d];
      x[d]   = min(x[d], nodes.count[d] - 1);
    }
  }
  __device__ __forceinline__ int number(const PointsNodes &nodes) const
  {
    return (x[2] * nodes.count[1] + x[1]) * nodes.count[0] + x[0];
  }
  /* column (i, j) of the cell's n nodes: on the mesh, or among the unknowns of the patch */
  __device__ __forceinline__ PointsColumn column(const PointsNodes &nodes, const PointsPatches &p, bool compact, int n, int i, int j) const
  {
    PointsColumn c;

    if (compact) {
      const int at[2] = {i, j}, degree = n - 1;
      int       size[3], place[3]; /* of node 0 in z, which need not be an unknown */

#pragma unroll
      for (int d = 0; d < 3; d++) {
        size[d]  = WHOLE ? 2 * degree - 1 : p.n[3 * patch + d];
        place[d] = (d < 2 ? at[d] : 0) + (corner >> d & 1) * degree - (WHOLE ? 1 : p.first[3 * patch + d] - p.cell[3 * patch + d] * degree);
      }
      c.base   = (unsigned)(p.at + (size_t)patch * p.volume) + (place[2] * size[1] + place[1]) * size[0] + place[0];
      c.stride = (unsigned)(size[1] * size[0]);
      c.lo     = -place[2];
      c.count  = (unsigned)place[0] < (unsigned)size[0] && (unsigned)place[1] < (unsigned)size[1] ? (unsigned)size[2] : 0;
    } else PointsBoxColumn(nodes, nodes.x, n, 3, x[0], x[1], x[2], i, j, &c);
    if (!exists) c.count = 0;
    return c;
  }
};

/*
  Sums of what the cells of patches have at their nodes, in shared memory: that of a corner of a patch of the block at S::slot(patch,
  corner) S::CELL, z-planes S::PLANE apart and rows S::ROW.  A thread takes columns of the patch's unknowns in z.
*/
template <typename S, typename T>
struct PointsPatchSums {
  const PointsProductArguments<T> &p;
  const T                         *U;
  const int                        first, count; /* patches */

  __device__ __forceinline__ PointsPatchSums(const PointsProductArguments<T> &p, const T *U, int block) :
    p(p), U(U), first(block * S::PATCHES), count(min(S::PATCHES, p.patches.count - first))
  {
  }

  /* node: that of unknown 0 of the column, counted from the first one of the patch's first cell; sum[z] of unknown z */
  __device__ __forceinline__ void sums(int patch, const int node[3], T sum[S::ROOM]) const
  {
    const int base      = S::slot(patch, 0),
              behind[2] = {(S::slot(patch, 1) - base) * S::CELL - S::N, (S::slot(patch, 2) - base) * S::CELL - S::N * S::ROW},
              above     = (S::slot(patch, 4) - base) * S::CELL - S::N * S::PLANE;
    const T *from       = U + base * S::CELL + node[2] * S::PLANE + node[1] * S::ROW + node[0];

#pragma unroll
    for (int z = 0; z < S::ROOM; z++) sum[z] = 0;
#pragma unroll
    for (int corner = 0; corner < 4; corner++) {
      const T *at   = from + (corner & 1 ? behind[0] : 0) + (corner & 2 ? behind[1] : 0);
      bool     here = true;

#pragma unroll
      for (int d = 0; d < 2; d++) here = here && (corner >> d & 1 ? node[d] >= S::N : node[d] <= S::N);
      if (!here) continue;
#pragma unroll
      for (int z = 0; z < S::ROOM; z++) {
        const int k = (S::WHOLE ? 1 : node[2]) + z;

        if (k <= S::N) sum[z] += at[z * S::PLANE];
        if (k >= S::N && k <= 2 * S::N) sum[z] += at[above + z * S::PLANE];
      }
    }
  }
  __device__ __forceinline__ void store() const
  {
    constexpr int M = S::ROOM;

    for (int e = threadIdx.x; e < count * M * M; e += S::THREADS) {
      const int in = e / (M * M), patch = first + in, l[2] = {e % M, e / M % M}, *n = p.patches.n + 3 * patch;
      int       node[3], size[3];
      T         sum[M];

#pragma unroll
      for (int d = 0; d < 3; d++) {
        node[d] = (d < 2 ? l[d] : 0) + (S::WHOLE ? 1 : p.patches.first[3 * patch + d] - p.patches.cell[3 * patch + d] * S::N);
        size[d] = S::WHOLE ? M : n[d];
      }
      if (l[0] >= size[0] || l[1] >= size[1]) continue;
      T *to = p.y + p.patches.at + (size_t)patch * p.patches.volume + (size_t)(l[1] * size[0] + l[0]);

      sums(in, node, sum);
#pragma unroll
      for (int z = 0; z < M; z++)
        if (z < size[2]) to[z * size[1] * size[0]] = p.subtract ? to[z * size[1] * size[0]] - sum[z] : sum[z];
    }
  }
};

template <typename S, typename T>
struct PointsPatchBlock {
  const PointsArguments<T>        &arg;
  const PointsProductArguments<T> &p;
  const int                        first, count; /* patches */
  PointsBlock<S, false, T>         block;

  __device__ __forceinline__ PointsPatchBlock(const PointsArguments<T> &arg, const PointsProductArguments<T> &p, T *shared, int block) :
    arg(arg), p(p), first(block * S::PATCHES), count(min(S::PATCHES, p.patches.count - first)), block(arg, shared, points_corners * count)
  {
  }

  /* a column of nodes of one of the cells */
  __device__ __forceinline__ void nodes(T u[S::n]) const
  {
    const PointsLane<0, S::n, S::n, S::PER> lane(threadIdx.x);
    unsigned                                number[S::n] = {};

    if (threadIdx.x >= S::n * S::n * S::PER || lane.e() >= points_corners * count) return;
    const PointsCorner<S::WHOLE> cell(arg.nodes, p.patches, first + lane.e() / points_corners, lane.e() % points_corners);

    cell.column(arg.nodes, p.patches, p.compact, S::n, lane.p(), lane.q()).template fetch<false, S::n>(number, arg.x, u);
    if constexpr (S::PACKED) {
      const T scale = p.packed.scale[cell.number(arg.nodes)];

#pragma unroll
      for (int k = 0; k < S::n; k++) u[k] *= scale;
    }
  }
  /* the factors of the thread's line: the cell comes last in the order of x-lines */
  __device__ __forceinline__ auto factors() const
  {
    const int                    thread = min((int)threadIdx.x, points_corners * count * S::LINES - 1);
    const PointsCorner<S::WHOLE> at(arg.nodes, p.patches, first + thread / S::LINES / points_corners, thread / S::LINES % points_corners);
    const int                    cell = at.number(arg.nodes);

    if constexpr (S::PACKED) return PointsPackedLine<S>{PointsPackedWords<S, S::LINES>(p.packed, cell) + thread % S::LINES};
    else
      return PointsStored<S, T>(arg, arg.factors + cell / S::MESH * ((size_t)(S::c * arg.numbers) * S::LANES) + cell % S::MESH * S::LINES +
                                       thread % S::LINES);
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
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
  PointsProductKernel(const __grid_constant__ PointsArguments<T> arg, const __grid_constant__ PointsProductArguments<T> p)
{
  extern __shared__ double shared_memory[];
  PointsPatchBlock<S, T>   block(arg, p, (T *)shared_memory, (int)blockIdx.x);

  block.product();
  PointsPatchSums<S, T>(p, (const T *)shared_memory, (int)blockIdx.x).store();
}

/* the same with global memory in the place of shared memory: patches of a block of threads one after another */
template <typename S, typename T>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
  PointsProductRoomKernel(const __grid_constant__ PointsArguments<T> arg, const __grid_constant__ PointsProductArguments<T> p)
{
  T *const memory = p.room.numbers + blockIdx.x * (size_t)S::SHARED;

  for (int block = (int)blockIdx.x; block * S::PATCHES < p.patches.count; block += (int)gridDim.x) {
    PointsPatchBlock<S, T>(arg, p, memory, block).product();
    PointsPatchSums<S, T>(p, memory, block).store();
    __syncthreads();
  }
}

template <typename S, typename T>
struct PointsProductOf {
  static constexpr size_t SHARED = (size_t)S::SHARED * sizeof(T);

  static PetscErrorCode allow(PoolMemory *memory, PointsRoom<T> *room)
  {
    bool fits;

    PetscFunctionBegin;
    PetscCall(SharedFits(PointsProductKernel<S, T>, SHARED, &fits));
    if (fits) PetscCall(AllowShared(PointsProductKernel<S, T>, SHARED));
    else if (!room->blocks) {
      PetscCall(Multiprocessors(&room->blocks));
      PetscCall(memory->borrow((size_t)room->blocks * S::SHARED, &room->numbers));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode launch(const PointsArguments<T> &arg, const PointsProductArguments<T> &p, cudaStream_t stream)
  {
    const int blocks = (p.patches.count + S::PATCHES - 1) / S::PATCHES;

    PetscFunctionBegin;
    if constexpr (SHARED > shared_least) {
      if (p.room.blocks) PointsProductRoomKernel<S, T><<<(unsigned)PetscMin(blocks, p.room.blocks), S::THREADS, 0, stream>>>(arg, p);
      else PointsProductKernel<S, T><<<(unsigned)blocks, S::THREADS, SHARED, stream>>>(arg, p);
    } else PointsProductKernel<S, T><<<(unsigned)blocks, S::THREADS, SHARED, stream>>>(arg, p);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

} // namespace patchfd
