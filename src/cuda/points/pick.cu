/*
  What is made from an operator by quadrature (points.cuh): operators on some of its cells, those of patches for example, and the matrices
  of cells.
*/
#include "points/plan.cuh"

namespace patchfd
{

/* the stored factors of some cells of another operator that lie as here, a block of threads a block of cells */
template <typename T>
static __global__ void PointsCopyKernel(const T *from, const int *cell, const PointsLayout l, int cells, T *to)
{
  const int    first = (int)blockIdx.x * l.per, apart = l.apart(), used = l.used();
  const size_t size = (size_t)l.levels * l.numbers * l.lanes;

  for (int e = threadIdx.x; e < l.levels * used; e += blockDim.x) {
    const int level = e / used, lane = e - level * used, i = lane / apart % l.per;

    if (first + i >= cells) continue;
    const int       source = cell[first + i];
    const ptrdiff_t at     = (ptrdiff_t)level * l.numbers * l.lanes + lane;
    const T        *in     = from + (source / l.per) * size + (source % l.per - i) * apart + at;
    T              *out    = to + blockIdx.x * size + at;

#pragma unroll
    for (int m = 0; m < 7; m++)
      if (m < l.numbers) out[(ptrdiff_t)m * l.lanes] = in[(ptrdiff_t)m * l.lanes];
  }
}

/* the factors of some cells of another operator, a thread a point */
template <typename T>
static __global__ void PointsPickKernel(const PointsGeneric<T> from, const int *cell, const PointsLayout to, int cells, T *factors)
{
  const unsigned points = (unsigned)from.size;

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)cells * points; e += (size_t)gridDim.x * blockDim.x) {
    const int i = (int)(e / points), point = (int)(e % points);
    T         f[7];

    from.at(cell[i], point, f);
    PointsStore(to, i, point, f, factors);
  }
}

/* what remains when nodes have their numbers: the factors of these cells, whose numbers are on the device, and of their sides */
template <typename T>
static PetscErrorCode PointsPickFactors(const PointsPlan<T> &source, const int *cell, PointsPlan<T> *p)
{
  const PointsGeneric<T> &from  = source.generic;
  const int               cells = p->arg.cells;
  T                      *factors;
  cudaStream_t            stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(p->memory.borrow(p->generic.layout.size((size_t)cells), &factors));
  p->generic.factors = p->arg.factors = factors;
  if (!cells) PetscFunctionReturn(PETSC_SUCCESS);
  if (from.factors && !memcmp(&from.layout, &p->generic.layout, sizeof(PointsLayout)))
    PointsCopyKernel<T>
      <<<(unsigned)p->generic.layout.blocks((size_t)cells), 256, 0, stream>>>(from.factors, cell, p->generic.layout, cells, factors);
  else
    PointsPickKernel<T><<<(unsigned)PetscMin((size_t)cells * from.size / 128 + 1, (size_t)1 << 20), 128, 0, stream>>>(from, cell,
                                                                                                                      p->generic.layout,
                                                                                                                      cells, factors);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PointsSidesPick(source.sides, from, cell, cells, &p->memory, &p->sides, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a plan for other cells and nodes than those of an operator, without factors */
template <typename T>
static PetscErrorCode PointsPickBegin(const PointsGeneric<T> &from, PatchFDNodes nodes, PetscCount nnodes, PetscCount ncells,
                                      const PetscInt index[], PointsPlan<T> **picked)
{
  const PetscReal     one    = 1;
  PatchFDPoints       points = {};
  PatchFDOperatorDesc desc   = {};
  PatchFDRule         rule;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  *picked          = new PointsPlan<T>;
  desc.points      = &points;
  points.nodes     = nodes;
  points.dim       = from.dim;
  points.degree    = from.n - 1;
  points.ncomp     = 1;
  points.gauss     = from.gauss ? from.c : 0;
  points.ncells    = ncells;
  points.nnodes    = nnodes;
  points.index     = index;
  points.geodegree = 1;
  points.nkappa    = from.stiff ? from.dim * (from.dim + 1) / 2 : 0;
  points.shift     = from.shift ? &one : NULL;
  points.factors   = PATCHFD_FACTORS_STORED;
  PetscCall(PatchFDRuleCreate(points.degree, points.gauss, &rule));
  ierr = PointsPlanBegin(&desc, &rule, false, *picked);
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Numbers of the nodes of the cells of patches, with what kernels want to know (PointsIndex()), and of the cells on the mesh: a thread a
  node.  Each patch gets 2^dim cells; those that it lacks have no nodes
*/
static __global__ void PointsPatchesKernel(const __grid_constant__ PointsPatches patches, int dim, int degree, int *cells, unsigned *index)
{
  const int    m = degree + 1, nodes = PointsPower(m, dim), corners = 1 << dim;
  const size_t size = (size_t)patches.count * corners * nodes;

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < size; e += (size_t)gridDim.x * blockDim.x) {
    const int    node = (int)(e % nodes), corner = (int)(e / nodes % corners), at[3] = {node % m, node / m % m, node / m / m};
    const size_t p      = e / nodes / corners;
    size_t       number = 0, cell = 0;
    int          times  = 1; /* cells that have it */
    bool         exists = true, here = true, own = true, joined = false;

    for (int d = dim - 1; d >= 0; d--) {
      const int  first = patches.cell[3 * p + d], upper = corner >> d & 1, l = (first + upper) * degree + at[d] - patches.first[3 * p + d];
      const bool two = first + 1 < patches.low[d] + patches.cells[d], inside = two && (upper ? at[d] == 0 : at[d] == degree);

      exists = exists && (!upper || two);
      here   = here && l >= 0 && l < patches.n[3 * p + d];
      own    = own && !(inside && upper);
      times *= inside ? 2 : 1;
      if (d == 0) joined = inside;
      number = number * patches.n[3 * p + d] + l;
      cell   = cell * patches.cells[d] + first + (upper && two) - patches.low[d];
    }
    here     = here && exists;
    index[e] = !here ? points_none
                     : (unsigned)(patches.at + p * patches.volume + number) | (times > (joined ? 2 : 1) ? points_shared : 0) |
                         (own ? points_own : 0) | (joined ? points_joined : 0);
    if (node == 0) cells[e / nodes] = (int)cell;
  }
}

template <typename T>
PetscErrorCode PointsPickPatches(void *plan, const PointsPatches &patches, void **picked)
{
  const PointsGeneric<T> &from  = PointsOperator<T>::generic(plan);
  const size_t            cells = (size_t)patches.count << from.dim, size = cells * (size_t)PointsPower(from.n, from.dim),
               unknowns = (size_t)patches.count * patches.volume;
  PointsPlan<T> *p;
  unsigned      *index;
  int           *cell;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCheck(unknowns <= (size_t)points_node, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%zu unknowns of patches; on GPUs there can be up to %u in a group on a rank", unknowns, points_node);
  PetscCall(Stream(&stream));
  PetscCall(PointsPickBegin(from, PATCHFD_NODES_INDEX, (PetscCount)unknowns, (PetscCount)cells, NULL, &p));
  *picked = p;
  PetscCall(p->memory.borrow(size, &index));
  PetscCall(p->setup.borrow(cells, &cell));
  if (size)
    PointsPatchesKernel<<<(unsigned)PetscMin(size / 256 + 1, (size_t)1 << 20), 256, 0, stream>>>(patches, from.dim, from.n - 1, cell,
                                                                                                 index);
  PetscCallCUDA(cudaGetLastError());
  p->arg.nodes.index = index;
  PetscCall(PointsPickFactors(*(PointsPlan<T> *)plan, cell, p));
  PetscCall(p->setup.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode PointsPickPatches<double>(void *, const PointsPatches &, void **);
template PetscErrorCode PointsPickPatches<float>(void *, const PointsPatches &, void **);

template <typename T>
PetscErrorCode PointsOperator<T>::pick(void *plan, PetscCount nnodes, PetscCount ncells, const PetscCount cells[], const PetscInt index[],
                                       void **picked)
{
  PointsPlan<T> *p;
  int           *cell;

  PetscFunctionBegin;
  PetscCall(PointsPickBegin(generic(plan), PATCHFD_NODES_INDEX, nnodes, ncells, index, &p));
  *picked = p;
  PetscCall(p->setup.send((size_t)ncells, cells, &cell));
  PetscCall(PointsPickFactors(*(PointsPlan<T> *)plan, cell, p));
  PetscCall(p->setup.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = unit vectors: block b of `size` numbers has a one at place b % size */
static __global__ void PointsUnitKernel(size_t n, int size, double *x)
{
  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < n; e += (size_t)gridDim.x * blockDim.x)
    x[e] = e / size % size == e % size;
}

/* the matrices of `count` cells from `first` on: their products with all unit vectors, on as many cells as there are columns */
static PetscErrorCode PointsCellColumns(const PointsPlan<double> &from, int first, int count, PetscReal E[])
{
  const int           size    = PointsPower(from.generic.n, from.generic.dim);
  const size_t        columns = (size_t)count * size, n = columns * size;
  std::vector<int>    cells(columns);
  PoolMemory          memory;
  PointsPlan<double> *picked;
  double             *x, *y;
  int                *cell;
  cudaStream_t        stream;

  PetscFunctionBegin;
  for (size_t i = 0; i < columns; i++) cells[i] = first + (int)(i / size);
  PetscCall(Stream(&stream));
  PetscCall(memory.send(columns, cells.data(), &cell));
  PetscCall(memory.borrow(n, &x));
  PetscCall(memory.borrow(n, &y));
  PetscCall(PointsPickBegin(from.generic, PATCHFD_NODES_CELL, 0, (PetscCount)columns, NULL, &picked));
  PetscCall(PointsPickFactors(from, cell, picked));
  PointsUnitKernel<<<(unsigned)PetscMin(n / 256 + 1, (size_t)1 << 20), 256, 0, stream>>>(n, size, x);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PointsOperator<double>::apply(picked, 1, x, NULL, y));
  PetscCallCUDA(cudaMemcpyAsync(E, y, n * sizeof(double), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PointsOperator<double>::destroy((void **)&picked));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PointsCellMatrices(const PatchFDPoints *points, PetscReal E[])
{
  const int     size = PointsPower((int)points->degree + 1, (int)points->dim), most = PetscMax(1, 8192 / size), cells = (int)points->ncells;
  PatchFDPoints own        = *points;
  PatchFDOperatorDesc desc = {};
  void               *plan = NULL;

  PetscFunctionBegin;
  if (points->solid) {
    PetscCall(SolidCellMatrices(points, E));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  desc.points = &own;
  own.nodes   = PATCHFD_NODES_CELL;
  own.ncomp   = 1;
  PetscCall(PointsOperator<double>::create(&desc, &plan));
  for (int c = 0; c < cells; c += most)
    PetscCall(PointsCellColumns(*(PointsPlan<double> *)plan, c, PetscMin(most, cells - c), E + (size_t)c * size * size));
  PetscCall(PointsOperator<double>::destroy(&plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode PointsOperator<double>::pick(void *, PetscCount, PetscCount, const PetscCount[], const PetscInt[], void **);
template PetscErrorCode PointsOperator<float>::pick(void *, PetscCount, PetscCount, const PetscCount[], const PetscInt[], void **);

} // namespace patchfd
