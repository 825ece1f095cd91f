/*
  Operators of solids by quadrature (solid.cuh): plans, and what is made from them.
*/
#include "base/dispatch.cuh"
#include "points/plan.cuh"
#include "points/solid.cuh"

namespace patchfd
{

template <typename T>
struct SolidPlan : Plan {
  SolidArguments<T> arg = {};
  void (*kernel)(const SolidArguments<T>);
  size_t         size   = 0; /* numbers of y */
  int            blocks = 0; /* at most */
  PetscLogDouble flops  = 0;
  PoolMemory     memory, setup;
};

/* the cells of the components' boxes of nodes */
template <typename T>
static PetscErrorCode SolidBoxes(const PatchFDOperatorDesc *desc, SolidPlan<T> *p)
{
  SolidArguments<T> &a = p->arg;
  int                first[3], cells[3];

  PetscFunctionBegin;
  PetscCheck(desc->nfield == desc->points->dim, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscInt_FMT " fields; the displacements of a solid are one for each of %" PetscInt_FMT " directions", desc->nfield,
             desc->points->dim);
  for (int d = 0; d < 3; d++) {
    first[d] = (int)desc->cells[d][0] * (d < a.dim ? a.n - 1 : 0);
    cells[d] = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
  }
  a.cells    = cells[0] * cells[1] * cells[2];
  a.count[0] = PetscMax(1, cells[0]);
  a.count[1] = PetscMax(1, cells[1]);
  for (int e = 0; e < a.dim; e++) {
    const PatchFDField *f = &desc->field[e];

    PetscCheck(PatchFDBoxSize(&f->xbox) <= UINT_MAX && PatchFDBoxSize(&f->ybox) <= UINT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "%zu nodes; on GPUs an operator by quadrature has up to %u on a rank", PatchFDBoxSize(&f->xbox), UINT_MAX);
    a.from[e] = PointsBox(f->xbox, f->read, first);
    a.to[e]   = PointsBox(f->ybox, f->write, first);
    a.x0[e]   = f->x0;
    a.y0[e]   = f->y0;
    p->size   = PetscMax(p->size, f->y0 + PatchFDBoxSize(&f->ybox));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the numbers of nodes of cells in any order */
template <typename T>
static PetscErrorCode SolidIndex(const PatchFDPoints *points, SolidPlan<T> *p)
{
  unsigned *index;

  PetscFunctionBegin;
  p->size = (size_t)(points->nnodes * points->ncomp);
  PetscCheck(points->nnodes <= (PetscCount)points_node && p->size <= UINT_MAX && points->ncells < INT_MAX / 8, PETSC_COMM_SELF,
             PETSC_ERR_SUP,
             "%" PetscCount_FMT " nodes in %" PetscCount_FMT " cells; on GPUs there can be up to %u in up to %d cells on a rank",
             points->nnodes, points->ncells, points_node, (int)(INT_MAX / 8));
  PetscCall(
    p->memory.send((size_t)points->ncells * (size_t)PointsPower(p->arg.n, p->arg.dim), points->index, &index)); /* -1 is points_none */
  p->arg.index = index;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrices of a direction */
template <typename T>
static PetscErrorCode SolidMatrices(const PatchFDPoints *points, const PatchFDRule *rule, SolidPlan<T> *p)
{
  SolidArguments<T>     &a = p->arg;
  std::vector<PetscReal> L((size_t)(a.c * a.m));
  PatchFDRule            onto;
  T                     *X[4];

  PetscFunctionBegin;
  if (a.m) {
    PetscCall(PatchFDRuleCreate(points->degree, a.m, &onto));
    PetscCall(PatchFDRuleBasis(&onto, a.c, rule->x, L.data()));
    PetscCall(PatchFDRuleDestroy(&onto));
  }
  PetscCall(p->memory.send((size_t)(a.c * a.n), rule->B, &X[0]));
  PetscCall(p->memory.send((size_t)(a.c * a.n), rule->D, &X[1]));
  PetscCall(p->memory.send((size_t)(a.c * a.c), rule->C, &X[2]));
  PetscCall(p->memory.send(L.size(), L.data(), &X[3]));
  a.B = X[0];
  a.D = X[1];
  a.C = X[2];
  a.L = X[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what cells have at their points, and the matrices of their projections */
template <typename T, int DIM>
static PetscErrorCode SolidFactors(const PatchFDPoints *points, const PatchFDRule *rule, SolidPlan<T> *p)
{
  SolidArguments<T> &a    = p->arg;
  const size_t       size = PetscSqr((size_t)PointsPower(a.m, DIM)), threads = (size_t)a.cells * PointsPower(a.c, DIM);
  const unsigned     blocks = (unsigned)PetscMin((size_t)a.cells, (size_t)1 << 10);
  const PointsBad    none   = {INT_MAX, INT_MAX};
  PointsBad          found, *bad;
  PointsMap          map = {};
  T                 *factors, *N;
  double            *work;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PointsMapCreate(points, rule, PointsNodes(), a.cells, &p->setup, &map));
  PetscCall(p->setup.send(1, &none, &bad));
  PetscCall(p->memory.borrow((size_t)((a.cells + a.per - 1) / a.per) * (DIM == 3 ? a.c : 1) * a.numbers() * a.lanes(), &factors));
  SolidFactorsKernel<T, DIM><<<(unsigned)PetscMin(threads / 128 + 1, (size_t)1 << 20), 128, 0, stream>>>(map, a, factors, bad);
  PetscCallCUDA(cudaGetLastError());
  a.factors = factors;
  PetscCallCUDA(cudaMemcpyAsync(&found, bad, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCheck(found.inverted == none.inverted, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Cell %d is inverted or degenerate: the determinant of its map from the unit %s has to be positive at all of its points",
             found.inverted, DIM == 3 ? "cube" : "square");
  if (a.m) {
    PetscCall(p->memory.borrow((size_t)a.cells * size, &N));
    PetscCall(p->setup.borrow(3 * blocks * size, &work));
    SolidProjectionKernel<T, DIM><<<blocks, 128, 0, stream>>>(a, work, N);
    PetscCallCUDA(cudaGetLastError());
    a.N = N;
  }
  PetscCall(p->setup.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, int DIM>
static PetscErrorCode SolidChoose(SolidPlan<T> *p)
{
  PetscFunctionBegin;
  if (p->arg.n == p->arg.c && p->arg.n <= solid_degrees + 1) {
    PetscCall((ForDegree<1, solid_degrees>(p->arg.n - 1, [p](auto k) {
      p->kernel = SolidKernel<T, DIM, decltype(k)::value + 1, decltype(k)::value + 1>;
      return PETSC_SUCCESS;
    })));
  } else p->kernel = SolidKernel<T, DIM, 0, 0>;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode SolidPlanCreate(const PatchFDOperatorDesc *desc, const PatchFDRule *rule, SolidPlan<T> *p)
{
  const PatchFDPoints *points = desc->points;
  SolidArguments<T>   &a      = p->arg;
  PetscLogDouble       n, c, d, all;
  size_t               bytes;
  int                  resident, processors;

  PetscFunctionBegin;
  a.dim   = (int)points->dim;
  a.n     = (int)rule->nodes;
  a.c     = (int)rule->points;
  a.m     = (int)points->projection + 1;
  a.per   = PetscMax(1, 128 / (a.c * a.c));
  a.mass  = points->shift != NULL;
  a.cells = (int)points->ncells;
  for (int e = 0; e < 2; e++) a.count[e] = 1;
  if (points->nodes == PATCHFD_NODES_BOX) PetscCall(SolidBoxes(desc, p));
  else if (points->nodes == PATCHFD_NODES_INDEX) PetscCall(SolidIndex(points, p));
  a.row   = PointsDivisor(a.count[0]);
  a.plane = PointsDivisor(a.count[0] * a.count[1]);
  PetscCall(SolidMatrices(points, rule, p));
  PetscCall((a.dim == 3 ? SolidChoose<T, 3> : SolidChoose<T, 2>)(p));
  bytes = (size_t)a.shared() * sizeof(T);
  PetscCall(ResidentOf((const void *)p->kernel, a.per * a.c * a.c, bytes, &resident));
  PetscCall(Multiprocessors(&processors));
  p->blocks = resident * processors;
  if (a.cells) PetscCall((a.dim == 3 ? SolidFactors<T, 3> : SolidFactors<T, 2>)(points, rule, p));
  n        = a.n;
  c        = a.c;
  d        = a.dim;
  all      = PointsPower(a.c, a.dim);
  p->flops = all * (4 * d * d * d + 3 * d * d + (a.m ? 4 * d * c : 0) + 8 * d * c + (a.mass ? d : 0));
  p->flops += d * 4 * (a.dim == 3 ? c * n * n * n + c * c * n * n + 2 * c * c * c * n : c * n * n + c * c * n);
  p->flops *= a.cells;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode SolidOperator<T>::create(const PatchFDOperatorDesc *desc, void **plan)
{
  SolidPlan<T>  *p = new SolidPlan<T>;
  PatchFDRule    rule;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(PatchFDPointsCheck(desc->points));
  PetscCheck(desc->points->nkappa == 2, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "A tangent that is not lambda div u 1 + 2 mu eps(u) has no kernels on GPUs; take vectors in host memory");
  PetscCall(PatchFDRuleCreate(desc->points->degree, desc->points->gauss, &rule));
  ierr = SolidPlanCreate(desc, &rule, p);
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode SolidOperator<T>::destroy(void **plan)
{
  return DestroyPlan<SolidPlan<T>>(plan);
}

template <typename T>
static PetscErrorCode SolidLaunch(const SolidPlan<T> *p, const SolidArguments<T> &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!a.cells) PetscFunctionReturn(PETSC_SUCCESS);
  p->kernel<<<(unsigned)PetscMin((a.cells + a.per - 1) / a.per, p->blocks), dim3(a.c, a.c, a.per), (size_t)a.shared() * sizeof(T),
              stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode SolidOperator<T>::apply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
{
  SolidPlan<T>     *p = (SolidPlan<T> *)plan;
  SolidArguments<T> a = p->arg;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  a.alpha = (T)alpha;
  a.x     = (const T *)x;
  a.y     = (T *)y;
  PetscCall(StartSum<T>(p->size, y0, y, stream));
  PetscCall(SolidLaunch(p, a, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a column of the matrices of all cells after the other */
template <typename T>
static PetscErrorCode SolidColumns(const SolidPlan<T> *p, SolidArguments<T> *a, cudaStream_t stream)
{
  PetscFunctionBegin;
  a->alpha = 1;
  for (a->column = 0; a->column < a->dim * PointsPower(a->n, a->dim); a->column++) PetscCall(SolidLaunch(p, *a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode SolidOperator<T>::diagonal(void *plan, void *diagonal)
{
  SolidPlan<T>     *p = (SolidPlan<T> *)plan;
  SolidArguments<T> a = p->arg;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  a.y = (T *)diagonal;
  PetscCall(StartSum<T>(p->size, NULL, diagonal, stream));
  PetscCall(SolidColumns(p, &a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SolidSomeMatrices(const PatchFDPoints *points, PetscCount first, PetscCount count, double *E)
{
  const PetscCount       at   = first * PointsPower((int)points->gauss, (int)points->dim);
  PatchFDPoints          own  = *points;
  PatchFDOperatorDesc    desc = {};
  void                  *plan = NULL;
  SolidArguments<double> a;
  cudaStream_t           stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  desc.points  = &own;
  own.nodes    = PATCHFD_NODES_CELL;
  own.ncells   = count;
  own.geoindex = points->geoindex + first * PointsPower((int)points->geodegree + 1, (int)points->dim);
  if (!points->kappaconstant) own.kappa = points->kappa + 2 * at;
  if (!points->shiftconstant && points->shift) own.shift = points->shift + at;
  PetscCall(SolidOperator<double>::create(&desc, &plan));
  a          = ((SolidPlan<double> *)plan)->arg;
  a.matrices = E;
  PetscCall(SolidColumns((SolidPlan<double> *)plan, &a, stream));
  PetscCall(SolidOperator<double>::destroy(&plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SolidCellMatrices(const PatchFDPoints *points, PetscReal E[])
{
  const size_t size = PetscSqr((size_t)PatchFDPointsCellSize(points)), bytes = (size_t)1 << 28;
  PetscCount   count;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  for (PetscCount first = 0; first < points->ncells; first += count) {
    PoolMemory memory;
    double    *some;

    count = PetscMax(1, PetscMin(points->ncells - first, (PetscCount)(bytes / size / sizeof(double))));
    PetscCall(memory.borrow((size_t)count * size, &some));
    PetscCall(SolidSomeMatrices(points, first, count, some));
    PetscCallCUDA(cudaMemcpyAsync(E + (size_t)first * size, some, (size_t)count * size * sizeof(double), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct SolidOperator<double>;
template struct SolidOperator<float>;

} // namespace patchfd
