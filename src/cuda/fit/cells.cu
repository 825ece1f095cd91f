/*
  Corrections of closed cells (PatchFDCellsDesc): a team of threads has a cell, on the lines of block.cuh, with the numbers of nodes and the
  sums of operators by quadrature (points.cuh).

  What bounds it: memory.  Of a cell with n nodes in a direction it reads n^dim numbers of nodes and of C, dim n (n + 1) of records, and x
  and y about once.
*/
#include "base/dispatch.cuh"
#include "fit/block.cuh"
#include "fit/cells.cuh"
#include "points/plan.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

/* lines of a thread and threads of a multiprocessor, measured on an H200; teams fill warps */
template <typename T, int DIM, int LENGTH>
struct CellsTile : FitShape<T, DIM, LENGTH, true, 1> {
  using Shape                   = FitShape<T, DIM, LENGTH, true, 1>;
  static constexpr int    LINES = DIM == 2 ? 1 : (LENGTH <= 3 ? LENGTH : (LENGTH == 4 || LENGTH == 6 ? 2 : 1));
  static constexpr int    ROWS = DIM == 3 ? (LENGTH + LINES - 1) / LINES : 1, team = LENGTH * ROWS;
  static constexpr int    teams = LENGTH == 9 ? 3 : (LENGTH == 7 ? 5 : (team >= 96 ? 1 : 128 / team)), threads = RoundUp(teams * team, 32);
  static constexpr int    most   = sizeof(T) == 8 ? 384 : (LENGTH <= 4 ? 768 : (LENGTH == 5 ? 1024 : 512));
  static constexpr int    blocks = most / threads > 0 ? most / threads : 1;
  static constexpr size_t shared = teams * Shape::size * sizeof(T);
};

template <typename T>
struct CellsArguments {
  int             cells;
  unsigned        ncomp;
  const unsigned *index;                  /* as in PointsNodes */
  const T        *record, *shift, *scale; /* [cell][direction][S, lambda], [cell], [cell][node] */
  T               alpha;
  const T        *x;
  T              *y;
};

template <typename Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
  CellsKernel(const __grid_constant__ CellsArguments<typename Shape::Number> arg)
{
  extern __shared__ __align__(16) double cells_memory[];
  using T            = typename Shape::Number;
  constexpr int    M = Shape::M, dim = Shape::dim, LINES = Shape::LINES, last = dim - 1, size = dim == 3 ? M * M * M : M * M;
  int              cell;
  FitTensor<Shape> t((T *)cells_memory, arg.cells, &cell);
  unsigned         number[LINES][M];
  T                v[LINES][M] = {}, c[LINES][M] = {};
  const T         *from[dim];
  const size_t     first = (size_t)(t.live ? cell : 0) * size;
  auto             node  = [&](int l, int s) { return first + (dim == 3 ? (s * M + t.other(l)) * M : s * M) + t.a; };

#pragma unroll
  for (int d = 0; d < dim; d++) from[d] = arg.record + ((size_t)(t.live ? cell : 0) * dim + d) * (M * (M + 1));
#pragma unroll
  for (int l = 0; l < LINES; l++)
#pragma unroll
    for (int s = 0; s < M; s++) number[l][s] = points_none;
  t.each(last, [&](int l, int s) { number[l][s] = arg.index[node(l, s)]; });
  t.each(last, [&](int l, int s) { c[l][s] = arg.scale[node(l, s)]; });
  const T shift = t.live ? arg.shift[cell] : T(0);

  t.loadrecords(from);
  for (unsigned comp = 0; comp < arg.ncomp; comp++) {
    auto at = [&](int l, int s) { return (size_t)(number[l][s] & points_node) * arg.ncomp + comp; };

#pragma unroll
    for (int l = 0; l < LINES; l++)
#pragma unroll
      for (int s = 0; s < M; s++) v[l][s] = number[l][s] == points_none ? T(0) : c[l][s] * arg.x[at(l, s)];
    t.diagonalize(v, [&](T w[LINES][M]) {
#pragma unroll
      for (int l = 0; l < LINES; l++) {
        const T rest = shift + t.numbers(1, 0)[t.a] + (dim == 3 && t.has(0, l) ? t.numbers(last, 0)[t.other(l)] : T(0));

#pragma unroll
        for (int s = 0; s < M; s++) w[l][s] *= ReciprocalOrZero(t.numbers(0, 0)[s] + rest);
      }
    });
    t.each(last, [&](int l, int s) {
      const T sum = arg.alpha * c[l][s] * v[l][s];

      if (number[l][s] == points_none) return;
      if (number[l][s] & (points_shared | points_joined)) atomicAdd(arg.y + at(l, s), sum);
      else arg.y[at(l, s)] += sum;
    });
  }
}

/* ---- plans ---- */

template <typename T>
struct CellsPlan {
  CellsArguments<T> arg = {};
  PointsPlan<T>     points; /* the numbers of nodes */
  int               dim = 0, degree = 0;
  PetscLogDouble    flops = 0;
  PoolMemory        memory;

  PetscErrorCode free()
  {
    PetscFunctionBegin;
    PetscCall(points.free());
    PetscCall(memory.free());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* work(shape) for the shape of the plan's cells */
template <typename T, typename F>
static PetscErrorCode CellsShape(const CellsPlan<T> *p, F &&work)
{
  return ForDegree<1, points_degrees>(p->degree, [&](auto k) {
    constexpr int n = decltype(k)::value + 1;

    return p->dim == 3 ? work(CellsTile<T, 3, n>()) : work(CellsTile<T, 2, n>());
  });
}

template <typename T>
static PetscErrorCode CellsNodes(const PatchFDCellsDesc *desc, CellsPlan<T> *p)
{
  PatchFDPoints       points    = {};
  PatchFDOperatorDesc operator_ = {};
  PatchFDRule         rule;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  operator_.points = &points;
  points.nodes     = PATCHFD_NODES_INDEX;
  points.dim       = desc->dim;
  points.degree    = desc->degree;
  points.ncomp     = desc->ncomp;
  points.ncells    = desc->ncells;
  points.nnodes    = desc->nnodes;
  points.index     = desc->index;
  points.geodegree = 1;
  points.factors   = PATCHFD_FACTORS_STORED;
  PetscCall(PatchFDRuleCreate(points.degree, points.gauss, &rule));
  ierr = PointsPlanBegin(&operator_, &rule, false, &p->points);
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscCall(ierr);
  p->arg.cells = p->points.arg.cells;
  p->arg.ncomp = p->points.arg.nodes.ncomp;
  p->arg.index = p->points.arg.nodes.index;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Cells<T>::create(const PatchFDCellsDesc *desc, void **plan)
{
  const size_t n = (size_t)desc->degree + 1, cells = (size_t)desc->ncells, size = (size_t)PetscPowInt((PetscInt)n, desc->dim),
               used = n * (n + 1), stride = n * (n + 3);
  CellsPlan<T>          *p = new CellsPlan<T>;
  std::vector<T>         record(cells * (size_t)desc->dim * used), scale(cells * size);
  std::vector<PetscReal> one(size);
  T                     *a;

  PetscFunctionBegin;
  *plan     = p;
  p->dim    = (int)desc->dim;
  p->degree = (int)desc->degree;
  p->flops  = PatchFDCellsFlops(desc);
  PetscCall(CellsNodes(desc, p));
  for (size_t i = 0; i < cells * (size_t)desc->dim; i++)
    for (size_t j = 0; j < used; j++) record[i * used + j] = (T)desc->record[i * stride + j];
  for (size_t i = 0; i < cells; i++) {
    PatchFDCellsScale(desc, (PetscCount)i, one.data());
    for (size_t j = 0; j < size; j++) scale[i * size + j] = (T)one[j];
  }
  PetscCall(p->memory.send(record.size(), record.data(), &a));
  p->arg.record = a;
  PetscCall(p->memory.send(scale.size(), scale.data(), &a));
  p->arg.scale = a;
  PetscCall(p->memory.send(cells, desc->shift, &a));
  p->arg.shift = a;
  PetscCall(CellsShape(p, [&](auto shape) { return AllowShared(CellsKernel<decltype(shape)>, decltype(shape)::shared); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Cells<T>::apply(void *plan, PetscReal alpha, const void *x, void *y)
{
  const CellsPlan<T> *p   = (const CellsPlan<T> *)plan;
  CellsArguments<T>   arg = p->arg;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  arg.alpha = (T)alpha;
  arg.x     = (const T *)x;
  arg.y     = (T *)y;
  if (arg.cells)
    PetscCall(CellsShape(p, [&](auto shape) {
      using Shape = decltype(shape);

      CellsKernel<Shape><<<(unsigned)((arg.cells + Shape::teams - 1) / Shape::teams), Shape::threads, Shape::shared, stream>>>(arg);
      return PETSC_SUCCESS;
    }));
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Cells<T>::destroy(void **plan)
{
  return DestroyPlan<CellsPlan<T>>(plan);
}

} // namespace patchfd

template struct patchfd::Cells<INSTANCE_T>;
