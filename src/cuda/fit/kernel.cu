/*
  Local solvers that are fitted to each patch: kernels of a step (FitApplyKernel) and of conjugate gradients for eigenvalues (FitCGKernel,
  FitBoundsKernel), on what a thread knows of its patch (patch.cuh), and plans.  How fits are made: make.cuh.
*/
#include "base/dispatch.cuh"
#include "fit/make.cuh"
#include "fit/patch.cuh"

namespace patchfd
{

template <typename T, int dim, int k, bool inner>
__global__ void __launch_bounds__(FitTile<T, dim, k, inner>::threads, FitTile<T, dim, k, inner>::blocks) FitApplyKernel(FitArguments<T> arg)
{
  extern __shared__ __align__(16) double fit_memory[];

  FitThread<T, dim, k, inner> t(arg, fit_memory);
  constexpr int               M = t.M, last = dim - 1, LINES = t.LINES;
  /* x, too, before the first barrier: where there are registers for it */
  constexpr bool early  = FitTile<T, dim, k, inner>::few;
  const bool     mine   = t.has(last, 0);
  const T        before = mine && !arg.begins ? arg.coef[2 * t.patch] : T(0), factor = mine ? arg.coef[2 * t.patch + 1] : T(0);
  T              v[LINES][M] = {}, c[LINES][M], x[LINES][M];

  t.fetch(c);
  if (arg.r) t.each(last, [&](int l, int s) { v[l][s] = arg.r[t.node(l, s)] - (arg.product ? arg.rwork[t.compact(l, s)] : T(0)); });
  else t.each(last, [&](int l, int s) { v[l][s] = arg.rwork[t.compact(l, s)]; });
  if (early) t.each(last, [&](int l, int s) { x[l][s] = arg.x[t.node(l, s)]; });
  t.loadrecords();
  if (arg.r && arg.several) t.each(last, [&](int l, int s) { arg.rwork[t.compact(l, s)] = v[l][s]; });
  t.solve(v, c);
  t.each(last, [&](int l, int s) { v[l][s] *= factor; });
  if (!arg.begins) t.each(last, [&](int l, int s) { v[l][s] += before * arg.zwork[t.compact(l, s)]; });
  if (arg.several) t.each(last, [&](int l, int s) { arg.zwork[t.compact(l, s)] = v[l][s]; });
  t.each(last, [&](int l, int s) { arg.x[t.node(l, s)] = (early ? x[l][s] : arg.x[t.node(l, s)]) + arg.omega * v[l][s]; });
}

template <typename T, int dim, int k, bool inner>
__global__ void __launch_bounds__(FitTile<T, dim, k, inner>::threads) FitCGKernel(FitArguments<T> arg)
{
  extern __shared__ __align__(16) double fit_memory[];

  FitThread<T, dim, k, inner> t(arg, fit_memory);
  constexpr int               M = t.M, last = dim - 1, LINES = t.LINES;
  const double                tiny    = sizeof(T) == 8 ? 1e-20 : 1e-9;
  double                      partial = 0, old = 0, begin = 0, product, length = 0, factor = 0;
  T                           v[LINES][M] = {}, c[LINES][M];

  t.fetch(c);
  t.loadrecords();
  if (t.live && !arg.begins) {
    old   = arg.rz[2 * t.patch];
    begin = arg.rz[2 * t.patch + 1];
  }
  t.each(last, [&](int l, int s) {
    if (arg.begins) v[l][s] = (T)PatchFDFitNoise(t.a, dim == 2 ? s : t.other(l), dim == 2 ? 0 : s);
    else {
      v[l][s] = arg.residual[t.compact(l, s)];
      partial += (double)arg.direction[t.compact(l, s)] * (double)arg.q[t.compact(l, s)];
    }
  });
  product = t.sum(partial);
  if (!arg.begins) {
    const bool go = old > tiny * begin && product > 0;

    length = go ? old / product : 0;
    if (!go) old = 0; /* it ends here */
    if (t.live && t.thread == 0) arg.a[t.patch] = go ? (double)(T)length : 1;
  }
  if (arg.ends) return;
  partial = 0;
  t.each(last, [&](int l, int s) {
    if (!arg.begins) v[l][s] -= (T)length * arg.q[t.compact(l, s)];
    arg.residual[t.compact(l, s)] = v[l][s];
  });
  t.solve(v, c);
  t.each(last, [&](int l, int s) { partial += (double)v[l][s] * (double)arg.residual[t.compact(l, s)]; });
  product = t.sum(partial);
  if (!arg.begins && old > 0) factor = product > 0 ? product / old : 0;
  if (t.live && t.thread == 0) {
    if (!arg.begins) arg.b[t.patch] = (double)(T)factor;
    arg.rz[2 * t.patch]     = product;
    arg.rz[2 * t.patch + 1] = arg.begins ? product : begin;
  }
  t.each(last, [&](int l, int s) {
    if (!arg.begins) v[l][s] += (T)factor * arg.direction[t.compact(l, s)];
    arg.direction[t.compact(l, s)] = v[l][s];
  });
}

/*
  The extreme eigenvalues of Lanczos' tridiagonal matrix, as in PatchFDHostFitBounds(), and the steps that follow from them, two threads a
  patch: bisection between Gershgorin's bounds, with the numbers of eigenvalues below x from the signs of the pivots of T - x.  The
  diagonal of T comes in place of a, the squares of what is beside it in place of b
*/
static __global__ void FitBoundsKernel(const __grid_constant__ PatchFDFitRule rule, int count, int n, const int *number, double *a,
                                       double *b, double *bound, char *take)
{
  const int t = (int)(blockIdx.x * blockDim.x + threadIdx.x), p = min(t / 2, count - 1), which = t % 2;
  double    lo = 1e300, hi = -1e300, before = 1, beside = 0;

  a += p;
  b += p;
  for (int i = 0; i < n && t == 2 * p; i++) {
    const size_t at     = (size_t)i * count;
    const double length = a[at], next = b[at];

    a[at]  = 1 / length + beside / before;
    b[at]  = beside / (before * before);
    before = length;
    beside = next;
  }
  __syncwarp();
  for (int i = 0; i < n; i++) {
    const size_t at     = (size_t)i * count;
    const double radius = sqrt(b[at]) + (i + 1 < n ? sqrt(b[at + count]) : 0);

    lo = fmin(lo, a[at] - radius);
    hi = fmax(hi, a[at] + radius);
  }
  for (int step = 0; step < 48; step++) {
    const double x     = 0.5 * (lo + hi);
    double       q     = 1;
    int          below = 0;

    for (int i = 0; i < n; i++) {
      q = a[(size_t)i * count] - x - (i ? b[(size_t)i * count] / q : 0);
      if (q == 0) q = 1e-300;
      below += q < 0;
    }
    if (below > (which ? n - 1 : 0)) hi = x;
    else lo = x;
  }
  const double mine = 0.5 * (lo + hi), other = __shfl_xor_sync(~0u, mine, 1);
  const double found[2] = {fmax(mine, 1e-12 * other), other};

  if (t != 2 * p) return;
  for (int i = 0; i < 2; i++) bound[2 * (size_t)number[p] + i] = found[i];
  take[number[p]] = (char)PatchFDFitRuleSteps(&rule, found);
}

/* the coefficients of the patches of a group; those that nobody has bounds of are close: one step with the factor 1 */
template <typename T>
static __global__ void FitCoefficientsKernel(const __grid_constant__ PatchFDFitRule rule, int count, int steps, const int *number,
                                             const double *bound, T *coef)
{
  const int p        = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  PetscReal known[2] = {1, 1}, found[2 * PATCHFD_FIT_MAX_STEPS];

  if (p >= count) return;
  for (int i = 0; i < 2 && bound && bound[2 * (size_t)number[p] + 1] > 0; i++) known[i] = bound[2 * (size_t)number[p] + i];
  PatchFDFitRuleCoefficients(&rule, steps, known, 2, found);
  for (int step = 0; step < steps; step++)
    for (int i = 0; i < 2; i++) coef[2 * ((size_t)step * count + p) + i] = (T)found[2 * step + i];
}

/* ---- plans ---- */

template <typename T>
struct FitPlan {
  PatchFDFit     *desc;
  FitGrid         grid  = {};
  FitOrder        order = {};
  FitArguments<T> arg   = {};
  char           *take  = NULL;                    /* [patches] by number: the steps of the groups to come */
  double         *bound = NULL;                    /* [patches][2], zero where nobody has estimated them */
  double         *rz = NULL, *a = NULL, *b = NULL; /* of a group */
  T              *coef = NULL;
  PoolMemory      memory, groups, cg, bounds; /* groups: what goes with the groups */
};

/* do patches have the inner nodes of two cells in each of three directions? */
static bool FitIsInner(const PatchFDFit *fit, const PatchFDFitRun &run)
{
  bool inner = fit->dim == 3;

  for (int d = 0; d < 3; d++) {
    const PatchFDFitKind &kind = fit->kind[d][run.kind[d]];

    inner = inner && kind.ncells == 2 && kind.lower == 1 && kind.n == 2 * fit->degree - 1;
  }
  return inner;
}

template <typename T>
static PetscErrorCode FitCoefficients(FitPlan<T> *p, const PatchFDFitRule *rule)
{
  const PatchFDFit *desc = p->desc;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(p->groups.borrow((size_t)desc->coefat[desc->ngroup], &p->coef));
  for (PetscInt i = 0; i < desc->ngroup; i++) {
    const int count = (int)PatchFDFitCount(desc, i);

    FitCoefficientsKernel<T><<<(unsigned)(count + 127) / 128, 128, 0, stream>>>(*rule, count, (int)desc->steps[i],
                                                                                p->order.number + desc->group[i], p->bound,
                                                                                p->coef + desc->coefat[i]);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCall(p->bounds.free());
  p->bound = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::groups(void *plan, const PatchFDFitRule *rule)
{
  FitPlan<T> *p       = (FitPlan<T> *)plan;
  PatchFDFit *desc    = p->desc;
  size_t      compact = 0;

  PetscFunctionBegin;
  PetscCall(p->groups.free());
  PetscCall(FitSort(desc, p->grid, p->take, &p->groups, &p->order));
  PetscCall(FitCoefficients(p, rule));
  for (PetscInt i = 0; i < desc->ngroup; i++)
    if (desc->steps[i] > 1 || desc->residuals) compact = PetscMax(compact, (size_t)(PatchFDFitCount(desc, i) * desc->volume));
  PetscCall(p->groups.borrow(compact, &p->arg.rwork));
  PetscCall(p->groups.borrow(desc->maxsteps > 1 ? compact : 0, &p->arg.zwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those of constants are the first records */
template <typename T>
static PetscErrorCode FitConstants(const PatchFDFit *fit, T *records)
{
  std::vector<T> v(fit->constants, fit->constants + fit->nconstant);

  PetscFunctionBegin;
  PetscCall(ToDevice(v.size() * sizeof(T), v.data(), records));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* before the first launch of the kernels of a degree */
template <typename T, int dim, int k, bool inner>
static PetscErrorCode FitAllowTile()
{
  PetscFunctionBegin;
  PetscCall(AllowShared(FitApplyKernel<T, dim, k, inner>, FitTile<T, dim, k, inner>::shared));
  PetscCall(AllowShared(FitCGKernel<T, dim, k, inner>, FitTile<T, dim, k, inner>::shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode FitAllow(PetscInt degree, PetscInt dim)
{
  return ForDegree<1, fit_degrees>(degree, [&](auto k) {
    PetscFunctionBegin;
    if (dim == 3) {
      PetscCall((FitAllowTile<T, 3, k, true>()));
      PetscCall((FitAllowTile<T, 3, k, false>()));
    } else PetscCall((FitAllowTile<T, 2, k, false>()));
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

template <typename T>
PetscErrorCode Fit<T>::create(PatchFDFit *desc, const PatchFDFitRule *rule, void *points, void **plan)
{
  FitPlan<T> *p = new FitPlan<T>;
  T          *g, *records;

  PetscFunctionBegin;
  *plan   = p;
  p->desc = desc;
  PetscCheck(desc->degree <= fit_degrees, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "-pc_patchfd_fit own and shared have kernels for degrees up to %d on GPUs, found %" PetscInt_FMT "; use line", fit_degrees,
             desc->degree);
  PetscCheck(desc->npatch <= PETSC_INT32_MAX / 4, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscCount_FMT " patches; on GPUs there can be up to %d on a rank", desc->npatch, PETSC_INT32_MAX / 4);
  PetscCall(FitAllow<T>(desc->degree, desc->dim));
  p->arg.box = Layout(desc->box);
  PetscCall(p->memory.borrow(4 * (size_t)desc->npatch, &g));
  PetscCall(p->memory.borrow((size_t)desc->nrecord, &records));
  PetscCall(p->memory.borrow((size_t)desc->npatch, &p->take));
  PetscCall(FitGridCreate(desc, &p->memory, &p->grid));
  PetscCall(FitConstants(desc, records));
  PetscCall(
    FitNumbersCreate(desc, rule, p->grid, PointsOperator<T>::generic(points), PointsOperator<T>::sides(points), g, records, p->take));
  if (desc->residuals) PetscCall(PointsProductsPrepare<T>(points));
  if (desc->residuals && desc->packed) PetscCall(PointsPack(points));
  p->arg.g       = g;
  p->arg.records = records;
  PetscCall(groups(p, rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::steps(void *plan, const PatchFDFitRule *rule, PetscInt group, PetscInt last)
{
  FitPlan<T>  *p     = (FitPlan<T> *)plan;
  const int    count = (int)PatchFDFitCount(p->desc, group);
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  if (!p->bound) {
    PetscCall(p->bounds.borrow(2 * (size_t)p->desc->npatch, &p->bound));
    PetscCall(Grid<double>::zero(2 * (size_t)p->desc->npatch, p->bound));
  }
  FitBoundsKernel<<<(unsigned)(count + 63) / 64, 128, 0, stream>>>(*rule, count, (int)last, p->order.number + p->desc->group[group], p->a,
                                                                   p->b, p->bound, p->take);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(p->cg.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `count` patches of a group from place `first` on */
template <typename T>
static PointsPatches FitPatches(const FitPlan<T> *p, PetscInt group, PetscCount first, PetscCount count)
{
  const PatchFDFit *desc = p->desc;
  PointsPatches     patches;

  patches.count  = (int)count;
  patches.cell   = p->order.cell + 3 * first;
  patches.first  = p->order.first + 3 * first;
  patches.n      = p->order.n + 3 * first;
  patches.at     = (size_t)((first - desc->group[group]) * desc->volume);
  patches.volume = (size_t)desc->volume;
  for (int d = 0; d < 3; d++) {
    patches.low[d]   = (int)desc->cells[d][0];
    patches.cells[d] = (int)(desc->cells[d][1] - desc->cells[d][0]);
  }
  return patches;
}

template <typename T>
PointsPatches Fit<T>::patches(void *plan, PetscInt group)
{
  const FitPlan<T> *p = (const FitPlan<T> *)plan;

  return FitPatches(p, group, p->desc->group[group], PatchFDFitCount(p->desc, group));
}

template <typename T>
static PetscErrorCode FitProduct(const FitPlan<T> *p, PetscInt group, void *points, bool compact, bool subtract, const T *x, T *y)
{
  PetscFunctionBegin;
  for (PetscInt i = p->desc->runs[group]; i < p->desc->runs[group + 1]; i++) {
    const PatchFDFitRun &run = p->desc->run[i];

    PetscCall(PointsPatchProducts<T>(points, FitPatches(p, group, run.first, run.count), FitIsInner(p->desc, run), p->desc->packed, compact,
                                     subtract, x, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::product(void *plan, PetscInt group, void *points, const void *x)
{
  const FitPlan<T> *p = (const FitPlan<T> *)plan;

  return FitProduct(p, group, points, false, false, (const T *)x, p->arg.rwork);
}

template <typename T>
PetscErrorCode Fit<T>::inner(void *plan, PetscInt group, void *points, PetscBool subtract, const void *x, void *y)
{
  return FitProduct((const FitPlan<T> *)plan, group, points, true, subtract, (const T *)x, (T *)y);
}

template <typename T>
PetscErrorCode Fit<T>::destroy(void **plan)
{
  return DestroyPlan<FitPlan<T>>(plan);
}

template <typename T>
PetscErrorCode Fit<T>::work(void *plan, void **r, void **z)
{
  PetscFunctionBegin;
  *r = ((FitPlan<T> *)plan)->arg.rwork;
  *z = ((FitPlan<T> *)plan)->arg.zwork;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the arguments for a run of a group */
template <typename T>
static FitArguments<T> FitRunArguments(const FitPlan<T> *p, const PatchFDFitRun &run, PetscInt group, PetscInt step)
{
  const PatchFDFit *f     = p->desc;
  FitArguments<T>   arg   = p->arg;
  const PetscCount  count = PatchFDFitCount(f, group), at = run.first - f->group[group];

  for (int d = 0; d < 3; d++) {
    arg.n[d]      = (int)run.n[d];
    arg.record[d] = (size_t)PatchFDFitRecord(f, 0, d, run.kind[d]);
  }
  arg.count   = (int)run.count;
  arg.begins  = step == 0;
  arg.several = f->steps[group] > 1;
  arg.first   = p->order.first + 3 * run.first;
  arg.number  = p->order.number + run.first;
  arg.stride  = (size_t)f->stride;
  arg.compact = (size_t)(at * f->volume);
  arg.volume  = (size_t)f->volume;
  if (step < f->steps[group]) arg.coef = p->coef + f->coefat[group] + 2 * (step * count + at);
  return arg;
}

template <typename T, int dim, int k, bool inner, class Kernel>
static PetscErrorCode FitStart(Kernel kernel, const FitArguments<T> &arg, cudaStream_t stream)
{
  using Tile = FitTile<T, dim, k, inner>;

  PetscFunctionBegin;
  kernel<<<(unsigned)((arg.count + Tile::teams - 1) / Tile::teams), Tile::threads, Tile::shared, stream>>>(arg);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* step `step`, from r, or from that less what is in rwork (product), or from rwork */
template <typename T>
static PetscErrorCode FitStep(const FitPlan<T> *p, PetscInt group, PetscInt step, PetscReal omega, const T *diagonal, const T *r,
                              bool product, T *x)
{
  PetscLogDouble flops = 0;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt i = p->desc->runs[group]; i < p->desc->runs[group + 1]; i++) {
    const PatchFDFitRun &run   = p->desc->run[i];
    const bool           inner = FitIsInner(p->desc, run);
    FitArguments<T>      arg   = FitRunArguments(p, run, group, step);

    arg.omega    = (T)omega;
    arg.diagonal = diagonal;
    arg.r        = r;
    arg.product  = product;
    arg.x        = x;
    /* transforms there and back, C, D */
    flops += (PetscLogDouble)run.count * (PetscLogDouble)run.n[0] * run.n[1] * run.n[2] *
             (4 * (run.n[0] + run.n[1] + (p->desc->dim == 3 ? run.n[2] : 0)) + 16);
    PetscCall((ForDegree<1, fit_degrees>(p->desc->degree, [&](auto degree) {
      constexpr int k = decltype(degree)::value;

      PetscFunctionBegin;
      if (inner) PetscCall((FitStart<T, 3, k, true>(FitApplyKernel<T, 3, k, true>, arg, stream)));
      else if (p->desc->dim == 3) PetscCall((FitStart<T, 3, k, false>(FitApplyKernel<T, 3, k, false>, arg, stream)));
      else PetscCall((FitStart<T, 2, k, false>(FitApplyKernel<T, 2, k, false>, arg, stream)));
      PetscFunctionReturn(PETSC_SUCCESS);
    })));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::apply(void *plan, PetscInt group, PetscInt step, PetscReal omega, const void *diagonal, const void *r, void *x)
{
  return FitStep((const FitPlan<T> *)plan, group, step, omega, (const T *)diagonal, (const T *)r, false, (T *)x);
}

template <typename T>
PetscErrorCode Fit<T>::correct(void *plan, PetscInt group, PetscReal omega, const void *diagonal, const void *b, void *x)
{
  return FitStep((const FitPlan<T> *)plan, group, 0, omega, (const T *)diagonal, (const T *)b, true, (T *)x);
}

/* where a step of conjugate gradients has its numbers: [last][patches] for a and b */
template <typename T>
static PetscErrorCode FitCGBegin(FitPlan<T> *p, size_t count, PetscInt last)
{
  PetscFunctionBegin;
  PetscCall(p->cg.free());
  PetscCall(p->cg.borrow(2 * count, &p->rz));
  PetscCall(p->cg.borrow(count * (size_t)last, &p->a));
  PetscCall(p->cg.borrow(count * (size_t)last, &p->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::cg(void *plan, PetscInt group, PetscInt step, PetscInt last, const void *diagonal, const void *q, void *r,
                          void *direction)
{
  FitPlan<T>      *p     = (FitPlan<T> *)plan;
  const PetscCount first = p->desc->group[group];
  const size_t     count = (size_t)PatchFDFitCount(p->desc, group);
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  if (step == 0) PetscCall(FitCGBegin(p, count, last));
  for (PetscInt i = p->desc->runs[group]; i < p->desc->runs[group + 1]; i++) {
    const bool      inner = FitIsInner(p->desc, p->desc->run[i]);
    FitArguments<T> arg   = FitRunArguments(p, p->desc->run[i], group, step);
    const size_t    at = (size_t)(p->desc->run[i].first - first), row = step ? (size_t)(step - 1) * count + at : 0;

    arg.ends      = step == last;
    arg.diagonal  = (const T *)diagonal;
    arg.q         = (const T *)q;
    arg.residual  = (T *)r;
    arg.direction = (T *)direction;
    arg.rz        = p->rz + 2 * at;
    arg.a         = p->a + row;
    arg.b         = p->b + row;
    PetscCall((ForDegree<1, fit_degrees>(p->desc->degree, [&](auto degree) {
      constexpr int k = decltype(degree)::value;

      PetscFunctionBegin;
      if (inner) PetscCall((FitStart<T, 3, k, true>(FitCGKernel<T, 3, k, true>, arg, stream)));
      else if (p->desc->dim == 3) PetscCall((FitStart<T, 3, k, false>(FitCGKernel<T, 3, k, false>, arg, stream)));
      else PetscCall((FitStart<T, 2, k, false>(FitCGKernel<T, 2, k, false>, arg, stream)));
      PetscFunctionReturn(PETSC_SUCCESS);
    })));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template struct patchfd::Fit<INSTANCE_T>;
