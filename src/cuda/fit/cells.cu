/*
  Corrections of closed cells (PatchFDCellsDesc): a team of threads has a cell, on the lines of block.cuh, with the numbers of nodes and the
  sums of operators by quadrature (points.cuh).

  What bounds it: memory.  Of a cell with n nodes in a direction it reads n^dim numbers of nodes and of C, dim n (n + 1) of records, and x
  and y about once.
*/
#include "base/dispatch.cuh"
#include "fit/block.cuh"
#include "fit/cells.cuh"
#include "fit/makecells.cuh"
#include "points/plan.cuh"

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
  unsigned        ncomp, comp[2];
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
  for (unsigned comp = arg.comp[0]; comp < arg.comp[1]; comp++) {
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
  PetscLogDouble    flops  = 0;
  PatchFDCellsDesc  desc   = {};
  CellsMaker<T>     maker  = {}; /* until the plan is finished, as desc and making */
  T                *record = NULL, *shift = NULL, *scale = NULL;
  PoolMemory        memory, making;
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

/* the numbers of the nodes */
template <typename T>
static PetscErrorCode CellsNodes(const PatchFDCellsDesc *desc, CellsPlan<T> *p)
{
  const size_t        size      = (size_t)desc->points.ncells * (size_t)PetscPowInt(desc->points.degree + 1, desc->points.dim);
  PatchFDPoints       points    = desc->points;
  PatchFDOperatorDesc operator_ = {};
  PatchFDRule         rule;
  PetscErrorCode      ierr;
  unsigned           *index;
  cudaStream_t        stream;

  PetscFunctionBegin;
  operator_.nfield = 1;
  operator_.field  = &desc->field;
  operator_.points = &points;
  PetscCall(PetscArraycpy(operator_.cells, desc->cells, 3));
  points.gauss     = 0;
  points.geodegree = 1;
  points.factors   = PATCHFD_FACTORS_STORED;
  PetscCall(PatchFDRuleCreate(points.degree, points.gauss, &rule));
  ierr = PointsPlanBegin(&operator_, &rule, false, &p->points);
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscCall(ierr);
  p->arg.cells = p->points.arg.cells;
  p->arg.ncomp = p->points.arg.nodes.ncomp;
  for (int e = 0; e < 2; e++) p->arg.comp[e] = (unsigned)desc->comp[e];
  p->arg.index = p->points.arg.nodes.index;
  if (points.nodes == PATCHFD_NODES_INDEX || !size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(points.nnodes <= (PetscCount)points_node, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscCount_FMT " nodes; on GPUs closed cells have up to %u on a rank", points.nnodes, points_node);
  PetscCall(Stream(&stream));
  PetscCall(p->memory.borrow(size, &index));
  CellsIndexKernel<T><<<CellsBlocks(size), fit_threads, 0, stream>>>(p->points.generic, p->points.arg.nodes, size, index);
  PetscCallCUDA(cudaGetLastError());
  p->arg.index = index;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Cells<T>::create(const PatchFDCellsDesc *desc, void *operatorplan, void **plan)
{
  const size_t  n = (size_t)desc->points.degree + 1, cells = (size_t)desc->points.ncells, dim = (size_t)desc->points.dim;
  CellsPlan<T> *p = new CellsPlan<T>;

  PetscFunctionBegin;
  *plan     = p;
  p->desc   = *desc;
  p->dim    = (int)desc->points.dim;
  p->degree = (int)desc->points.degree;
  p->flops  = PatchFDCellsFlops(desc);
  PetscCall(CellsNodes(desc, p));
  PetscCall(p->memory.borrow(cells * dim * n * (n + 1), &p->record));
  PetscCall(p->memory.borrow(cells * (size_t)PetscPowInt((PetscInt)n, p->dim), &p->scale));
  PetscCall(p->memory.borrow(cells, &p->shift));
  PetscCall(CellsMakerCreate(&desc->points, PointsOperator<T>::generic(operatorplan), p->arg.index, &p->making, p->shift, &p->maker));
  p->arg.record = p->record;
  p->arg.scale  = p->scale;
  p->arg.shift  = p->shift;
  PetscCall(CellsShape(p, [&](auto shape) { return AllowShared(CellsKernel<decltype(shape)>, decltype(shape)::shared); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Cells<T>::sides(void *plan, PetscInt number, PetscBool add, double *sums)
{
  return CellsMakerSides(((CellsPlan<T> *)plan)->maker, number, add, sums);
}

template <typename T>
PetscErrorCode Cells<T>::count(void *plan, double *sums)
{
  const CellsMaker<T> &m     = ((CellsPlan<T> *)plan)->maker;
  const size_t         nodes = (size_t)m.cells * (size_t)PointsPower(m.n, m.dim);
  cudaStream_t         stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  if (nodes) CellsCountKernel<T><<<CellsBlocks(nodes), fit_threads, 0, stream>>>(m, nodes, sums);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Cells<T>::finish(void *plan, const double *count, const void *diagonal, PetscBool *positive)
{
  CellsPlan<T> *p = (CellsPlan<T> *)plan;

  PetscFunctionBegin;
  PetscCall(CellsMakerRobin(p->maker, p->desc.nside, p->desc.side, p->desc.mean, &p->making));
  PetscCall(CellsMakerFinish(p->maker, count, (const T *)diagonal + p->arg.comp[0], p->shift, p->record, p->scale, &p->making, positive));
  PetscCall(p->making.free());
  p->maker = {};
  p->desc  = {};
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

/* a thread a node */
template <typename T>
static __global__ void CellsNoiseKernel(const __grid_constant__ Range box, T *u)
{
  const int    nx = box.hi[0] - box.lo[0], ny = box.hi[1] - box.lo[1];
  const size_t size = (size_t)nx * ny * (box.hi[2] - box.lo[2]);

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < size; e += (size_t)gridDim.x * blockDim.x)
    u[e] = (T)PatchFDFitNoise((unsigned)(box.lo[0] + (int)(e % nx)), (unsigned)(box.lo[1] + (int)(e / nx % ny)),
                              (unsigned)(box.lo[2] + (int)(e / nx / ny)));
}

template <typename T>
PetscErrorCode Cells<T>::noise(const PatchFDBox *box, void *u)
{
  const size_t size = PatchFDBoxSize(box);
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  if (size) CellsNoiseKernel<<<(unsigned)PetscMin((size + 255) / 256, (size_t)1 << 20), 256, 0, stream>>>(Range(*box), (T *)u);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Cells<T>::destroy(void **plan)
{
  return DestroyPlan<CellsPlan<T>>(plan);
}

} // namespace patchfd

template struct patchfd::Cells<INSTANCE_T>;
