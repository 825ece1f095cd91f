/*
  h u v on sides of the cells of an operator by quadrature (points.cuh): y += alpha times what these sides have, after what cells have.  A
  team of threads a side.  As of cells, sums at nodes that several sides have are in any order.
*/
#pragma once
#include "points/generic.cuh"

namespace patchfd
{

/* sides with a condition: a cell's number, and which of its sides, x lower, x upper, y lower, ... */
struct PointsSide {
  int cell, side;
};

template <typename T>
struct PointsSides {
  int         count = 0;
  PointsSide *side;
  T          *factor; /* [count][points of a side] */
  int         grid[3];
  int        *first; /* [6]: the number of the first side at each side of a grid of cells, or -1 */
  Team<T>     team;
};

/* node e of a side among those of its cell */
static __device__ __forceinline__ int PointsSideNode(int n, int side, int e)
{
  const int d = side / 2, stride = d == 0 ? 1 : (d == 1 ? n : n * n), a = d == 0 ? n : 1, b = d == 2 ? n : n * n;

  return side % 2 * (n - 1) * stride + e % n * a + e / n * b;
}

template <typename T, bool DIAGONAL>
static __global__ void PointsSidesKernel(const __grid_constant__ PointsGeneric<T> p, const __grid_constant__ PointsArguments<T> arg,
                                         const __grid_constant__ PointsSides<T> s)
{
  const int dim = p.dim - 1, nodes = PointsPower(p.n, dim), points = PointsPower(p.c, dim);
  T        *u = TeamMemory<T>(s.team.global, s.team.size), *v = u + points;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < (size_t)s.count; base += (size_t)gridDim.x * blockDim.y) {
    const size_t     item   = base + threadIdx.y;
    const bool       active = item < (size_t)s.count;
    const PointsSide side   = s.side[active ? item : 0];
    T               *in     = u;

    for (int e = threadIdx.x; e < nodes && !DIAGONAL; e += blockDim.x) {
      u[e] = 0;
      if (active) p.node(arg.nodes, side.cell, PointsSideNode(p.n, side.side, e), 0, false, [&](unsigned at, bool) { u[e] = arg.x[at]; });
    }
    __syncthreads();
    if (p.gauss && !DIAGONAL) in = PointsAll(dim, p.c, p.n, p.B, false, u, v);
    for (int q = threadIdx.x; q < points && active; q += blockDim.x) in[q] = s.factor[item * points + q] * (DIAGONAL ? T(1) : in[q]);
    __syncthreads();
    if (p.gauss) in = PointsAll(dim, p.n, p.c, DIAGONAL ? p.product[0] : p.B, true, in, in == u ? v : u);
    for (int e = threadIdx.x; e < nodes && active; e += blockDim.x)
      p.node(arg.nodes, side.cell, PointsSideNode(p.n, side.side, e), 0, true,
             [&](unsigned at, bool) { atomicAdd(arg.y + at, arg.alpha * in[e]); });
    __syncthreads();
  }
}

/* the sides of some of the cells, in any order: how many, and where they are, as `side`, and the numbers `from` that they had */
template <typename T>
static __global__ void PointsSidesFindKernel(const __grid_constant__ PointsSides<T> s, const int *cell, int cells, int *count,
                                             PointsSide *side, int *from)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i >= cells) return;
  const int at[3] = {cell[i] % s.grid[0], cell[i] / s.grid[0] % s.grid[1], cell[i] / s.grid[0] / s.grid[1]};

  for (int e = 0; e < 6; e++) {
    const int d = e / 2, a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;

    if (s.first[e] < 0 || at[d] != (e % 2 ? s.grid[d] - 1 : 0)) continue;
    const int slot = atomicAdd(count, 1);

    if (!side) continue;
    side[slot] = {i, e};
    from[slot] = s.first[e] + at[b] * s.grid[a] + at[a];
  }
}

template <typename T>
static __global__ void PointsSidesCopyKernel(const T *from, const int *number, int points, int size, T *to)
{
  const int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (e < size) to[e] = from[(size_t)number[e / points] * points + e % points];
}

/* all sides of a grid of cells */
template <typename T>
static PetscErrorCode PointsSidesCreate(const PatchFDPoints *points, const PointsGeneric<T> &g, PoolMemory *memory, PointsSides<T> *s)
{
  const int               size = PointsPower(g.c, g.dim - 1);
  std::vector<PointsSide> side;
  std::vector<PetscReal>  factor;
  int                     first[6];

  PetscFunctionBegin;
  for (int e = 0; e < 6; e++) {
    const int d = e / 2, a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
    int       at[3];

    first[e] = points->side[e] ? (int)side.size() : -1;
    if (!points->side[e]) continue;
    for (int i = 0; i < 3; i++) s->grid[i] = (int)points->grid[i];
    at[d] = e % 2 ? s->grid[d] - 1 : 0;
    for (at[b] = 0; at[b] < s->grid[b]; at[b]++)
      for (at[a] = 0; at[a] < s->grid[a]; at[a]++) side.push_back({at[0] + s->grid[0] * (at[1] + s->grid[1] * at[2]), e});
    factor.insert(factor.end(), points->side[e], points->side[e] + PatchFDSideSize(points, e));
  }
  s->count = (int)side.size();
  if (!s->count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory->send(side.size(), side.data(), &s->side));
  PetscCall(memory->send(factor.size(), factor.data(), &s->factor));
  PetscCall(memory->send(6, first, &s->first));
  PetscCall(s->team.create(size, 2 * (size_t)size, memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those of some cells, whose numbers are on the device */
template <typename T>
static PetscErrorCode PointsSidesPick(const PointsSides<T> &from, const PointsGeneric<T> &g, const int *cell, int cells, PoolMemory *memory,
                                      PointsSides<T> *s, cudaStream_t stream)
{
  const int  size = PointsPower(g.c, g.dim - 1), blocks = (cells + 127) / 128, none = 0;
  PoolMemory work;
  int       *count, *number = NULL;

  PetscFunctionBegin;
  if (!from.count || !cells) PetscFunctionReturn(PETSC_SUCCESS);
  for (int put = 0; put < 2; put++) {
    PetscCall(work.send(1, &none, &count));
    PointsSidesFindKernel<T><<<blocks, 128, 0, stream>>>(from, cell, cells, count, put ? s->side : NULL, number);
    PetscCallCUDA(cudaGetLastError());
    if (put) break;
    PetscCallCUDA(cudaMemcpyAsync(&s->count, count, sizeof(int), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    if (!s->count) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(memory->borrow((size_t)s->count, &s->side));
    PetscCall(memory->borrow((size_t)s->count * size, &s->factor));
    PetscCall(work.borrow((size_t)s->count, &number));
  }
  PointsSidesCopyKernel<T><<<(s->count * size + 127) / 128, 128, 0, stream>>>(from.factor, number, size, s->count * size, s->factor);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(s->team.create(size, 2 * (size_t)size, memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool DIAGONAL, typename T>
static PetscErrorCode PointsSidesApply(const PointsGeneric<T> &g, const PointsArguments<T> &arg, const PointsSides<T> &s,
                                       cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!s.count) PetscFunctionReturn(PETSC_SUCCESS);
  PointsSidesKernel<T, DIAGONAL><<<s.team.grid((size_t)s.count), s.team.block(), s.team.shared, stream>>>(g, arg, s);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
