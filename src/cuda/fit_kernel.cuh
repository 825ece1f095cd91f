/*
  Local solvers that are fitted to each patch: kernels of a step (FitApplyKernel) and of conjugate gradients for eigenvalues (FitCGKernel, FitBoundsKernel), on what a thread knows of
  its patch (fit_patch.cuh), and plans.  How fits are made: fit_make.cuh.
*/
#pragma once
#include "dispatch.cuh"
#include "fit_make.cuh"
#include "fit_patch.cuh"

namespace patchfd
{

template <typename T, int dim, int k, bool inner>
__global__ void __launch_bounds__(FitTile<T, dim, k, inner>::threads, FitTile<T, dim, k, inner>::blocks) FitApplyKernel(FitArguments<T> arg)
{
  extern __shared__ __align__(16) double fit_memory[];

  FitThread<T, dim, k, inner> t(arg, (T *)fit_memory);
  constexpr int               M = t.M, last = dim - 1;
  constexpr bool              early = M * sizeof(T) <= 60; /* x, too, before the first barrier: where there are registers for it */
  const bool                  mine = t.has(last);
  const T                     before = mine && !arg.begins ? arg.coef[2 * t.patch] : T(0), factor = mine ? arg.coef[2 * t.patch + 1] : T(0);
  T                           v[M], c[M], x[M];

  t.fetch(c);
#pragma unroll
  for (int s = 0; s < M; s++) {
    v[s] = x[s] = 0;
    if (!mine || (!inner && s >= t.n[last])) continue;
    v[s] = arg.r ? arg.r[t.node(s)] : arg.rwork[t.compact(s)];
    if (early) x[s] = arg.x[t.node(s)];
  }
  t.loadrecords();
#pragma unroll
  for (int s = 0; s < M && arg.r && arg.several && mine; s++)
    if (inner || s < t.n[last]) arg.rwork[t.compact(s)] = v[s];
  t.solve(v, c);
  if (!mine) return;
#pragma unroll
  for (int s = 0; s < M; s++) {
    if (!inner && s >= t.n[last]) break;
    v[s] *= factor;
    if (!arg.begins) v[s] += before * arg.zwork[t.compact(s)];
    if (arg.several) arg.zwork[t.compact(s)] = v[s];
    arg.x[t.node(s)] = (early ? x[s] : arg.x[t.node(s)]) + arg.omega * v[s];
  }
}

template <typename T, int dim, int k, bool inner>
__global__ void __launch_bounds__(FitTile<T, dim, k, inner>::threads) FitCGKernel(FitArguments<T> arg)
{
  extern __shared__ __align__(16) double fit_memory[];

  FitThread<T, dim, k, inner> t(arg, (T *)fit_memory);
  constexpr int               M = t.M, last = dim - 1;
  const double                tiny = sizeof(T) == 8 ? 1e-20 : 1e-9;
  const bool                  mine = t.has(last);
  double                      partial = 0, old = 0, begin = 0, product, length = 0, factor = 0;
  T                           v[M], c[M];

  t.fetch(c);
  t.loadrecords();
  if (t.live && !arg.begins) {
    old   = arg.rz[2 * t.patch];
    begin = arg.rz[2 * t.patch + 1];
  }
#pragma unroll
  for (int s = 0; s < M; s++) {
    v[s] = 0;
    if (!mine || (!inner && s >= t.n[last])) continue;
    if (arg.begins) v[s] = (T)PatchFDFitNoise(t.a, dim == 2 ? s : t.b, dim == 2 ? 0 : s);
    else {
      v[s] = arg.residual[t.compact(s)];
      partial += (double)arg.direction[t.compact(s)] * (double)arg.q[t.compact(s)];
    }
  }
  product = t.sum(partial);
  if (!arg.begins) {
    const bool go = old > tiny * begin && product > 0;

    length = go ? old / product : 0;
    if (!go) old = 0; /* it ends here */
    if (t.live && t.thread == 0) arg.a[t.patch] = go ? (double)(T)length : 1;
  }
  if (arg.ends) return;
  partial = 0;
#pragma unroll
  for (int s = 0; s < M; s++) {
    if (!mine || (!inner && s >= t.n[last])) continue;
    if (!arg.begins) v[s] -= (T)length * arg.q[t.compact(s)];
    arg.residual[t.compact(s)] = v[s];
  }
  t.solve(v, c);
#pragma unroll
  for (int s = 0; s < M; s++)
    if (mine && (inner || s < t.n[last])) partial += (double)v[s] * (double)arg.residual[t.compact(s)];
  product = t.sum(partial);
  if (!arg.begins && old > 0) factor = product > 0 ? product / old : 0;
  if (t.live && t.thread == 0) {
    if (!arg.begins) arg.b[t.patch] = (double)(T)factor;
    arg.rz[2 * t.patch]     = product;
    arg.rz[2 * t.patch + 1] = arg.begins ? product : begin;
  }
#pragma unroll
  for (int s = 0; s < M; s++) {
    if (!mine || (!inner && s >= t.n[last])) continue;
    if (!arg.begins) v[s] += (T)factor * arg.direction[t.compact(s)];
    arg.direction[t.compact(s)] = v[s];
  }
}

/*
  The extreme eigenvalues of Lanczos' tridiagonal matrix, as in PatchFDHostFitBounds(), a thread a patch: bisection between Gershgorin's bounds, with the numbers of eigenvalues below x
  from the signs of the pivots of T - x
*/
static __global__ void FitBoundsKernel(int count, int n, const double *a, const double *b, double *bound)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  double    d[PATCHFD_FIT_MAX_LANCZOS], e[PATCHFD_FIT_MAX_LANCZOS], range[2] = {1e300, -1e300}, found[2];

  if (p >= count) return;
  for (int i = 0; i < n; i++) {
    const double before = i ? a[(size_t)(i - 1) * count + p] : 1, beta = i ? b[(size_t)(i - 1) * count + p] : 0;

    d[i] = 1 / a[(size_t)i * count + p] + beta / before;
    e[i] = beta / (before * before); /* squares */
  }
  for (int i = 0; i < n; i++) {
    const double radius = sqrt(e[i]) + (i + 1 < n ? sqrt(e[i + 1]) : 0);

    range[0] = fmin(range[0], d[i] - radius);
    range[1] = fmax(range[1], d[i] + radius);
  }
  for (int which = 0; which < 2; which++) {
    double lo = range[0], hi = range[1];

    for (int step = 0; step < 56; step++) {
      const double x = 0.5 * (lo + hi);
      double       q = 1;
      int          below = 0;

      for (int i = 0; i < n; i++) {
        q = d[i] - x - (i ? e[i] / q : 0);
        if (q == 0) q = 1e-300;
        below += q < 0;
      }
      if (below > (which ? n - 1 : 0)) hi = x;
      else lo = x;
    }
    found[which] = 0.5 * (lo + hi);
  }
  bound[2 * p]     = fmax(found[0], 1e-12 * found[1]);
  bound[2 * p + 1] = found[1];
}

/* ---- plans ---- */

/* patches of a group that have equal sizes: first .. first + count - 1 */
struct FitRun {
  PetscCount first;
  int        count, n[3];
  bool       inner;
};

template <typename T>
struct FitPlan {
  const PatchFDFit   *desc;
  std::vector<FitRun> run;
  std::vector<size_t> at; /* runs of group i: at[i] .. at[i + 1] - 1 */
  FitArguments<T>     arg = {};
  double             *rz = NULL, *a = NULL, *b = NULL; /* of a group */
  const T            *coef = NULL;
  const int          *cell = NULL, *n = NULL;
  PlanMemory          memory, groups, cg; /* groups: what goes with the groups */

  PetscErrorCode free()
  {
    PetscFunctionBegin;
    PetscCall(cg.free());
    PetscCall(groups.free());
    PetscCall(memory.free());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T>
static void FitMakeRuns(FitPlan<T> *p)
{
  const PatchFDFit *f = p->desc;
  const int         M = (int)(2 * f->degree - 1);

  p->run.clear();
  p->at.clear();
  for (PetscInt group = 0; group < f->ngroup; group++) {
    p->at.push_back(p->run.size());
    for (PetscCount i = f->group[group]; i < f->group[group + 1]; i++) {
      const PetscInt *n = f->n + 3 * i;

      if (i == f->group[group] || n[0] != n[-3] || n[1] != n[-2] || n[2] != n[-1])
        p->run.push_back({i, 0, {(int)n[0], (int)n[1], (int)n[2]}, f->dim == 3 && n[0] == M && n[1] == M && n[2] == M});
      p->run.back().count++;
    }
  }
  p->at.push_back(p->run.size());
}

template <typename T>
PetscErrorCode Fit<T>::groups(void *plan)
{
  FitPlan<T>       *p       = (FitPlan<T> *)plan;
  const PatchFDFit *desc    = p->desc;
  const size_t      n       = (size_t)desc->npatch;
  PetscCount        compact = 0;
  FitArguments<T>  &arg     = p->arg;
  int              *first;
  size_t           *place;
  T                *numbers;

  PetscFunctionBegin;
  PetscCall(p->groups.free());
  FitMakeRuns(p);
  for (PetscInt i = 0; i < desc->ngroup; i++)
    if (desc->steps[i] > 1 || desc->residuals) compact = PetscMax(compact, PatchFDFitUnknowns(desc, i));
  PetscCall(p->groups.upload(3 * n, desc->first, &first));
  arg.first = first;
  PetscCall(p->groups.upload(3 * n, desc->cell, &first));
  p->cell = first;
  PetscCall(p->groups.upload(3 * n, desc->n, &first));
  p->n = first;
  PetscCall(p->groups.upload(n, desc->number, &first));
  arg.number = first;
  PetscCall(p->groups.upload(3 * n, desc->record, &place));
  arg.record = place;
  PetscCall(p->groups.upload(n, desc->compact, &place));
  arg.compact = place;
  PetscCall(p->groups.upload((size_t)desc->coefat[desc->ngroup], desc->coef, &numbers));
  p->coef = numbers;
  PetscCall(p->groups.malloc((size_t)compact, &arg.rwork));
  PetscCall(p->groups.malloc((size_t)compact, &arg.zwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those of constants are the first records */
template <typename T>
static PetscErrorCode FitConstants(const PatchFDFit *fit, T *records)
{
  std::vector<T> v(fit->constants, fit->constants + fit->nconstant);

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpy(records, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::create(const PatchFDFit *desc, const PatchFDFitRule *rule, void *points, char close[], void **plan)
{
  FitPlan<T> *p = new FitPlan<T>;
  T          *g, *records;

  PetscFunctionBegin;
  *plan   = p;
  p->desc = desc;
  PetscCheck(desc->degree <= fit_degrees, PETSC_COMM_SELF, PETSC_ERR_SUP, "-pc_patchfd_fit own and shared have kernels for degrees up to %d on GPUs, found %" PetscInt_FMT "; use line", fit_degrees, desc->degree);
  PetscCheck(desc->npatch <= PETSC_INT32_MAX / 4, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscCount_FMT " patches; on GPUs there can be up to %d on a rank", desc->npatch, PETSC_INT32_MAX / 4);
  p->arg.box = Layout(desc->box);
  PetscCall(p->memory.malloc(4 * (size_t)desc->npatch, &g));
  PetscCall(p->memory.malloc((size_t)desc->nrecord, &records));
  PetscCall(FitConstants(desc, records));
  PetscCall(FitNumbersCreate(desc, rule, PointsOperator<T>::generic(points), g, records, close));
  p->arg.g       = g;
  p->arg.records = records;
  PetscCall(groups(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::bounds(void *plan, PetscInt group, PetscInt steps, PetscReal bound[])
{
  FitPlan<T>  *p     = (FitPlan<T> *)plan;
  const int    count = (int)(p->desc->group[group + 1] - p->desc->group[group]);
  double      *found;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(p->cg.malloc(2 * (size_t)count, &found));
  FitBoundsKernel<<<(count + 127) / 128, 128, 0, stream>>>(count, (int)steps, p->a, p->b, found);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(bound, found, 2 * (size_t)count * sizeof(double), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(p->cg.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PointsPatches FitPatches(const FitPlan<T> *p, PetscCount first, int count)
{
  const PatchFDFit *desc = p->desc;
  PointsPatches     patches;

  patches.count    = count;
  patches.unknowns = 0;
  patches.cell     = p->cell + 3 * first;
  patches.first    = p->arg.first + 3 * first;
  patches.n        = p->n + 3 * first;
  patches.at       = p->arg.compact + first;
  for (int d = 0; d < 3; d++) {
    patches.low[d]   = (int)desc->cells[d][0];
    patches.cells[d] = (int)(desc->cells[d][1] - desc->cells[d][0]);
  }
  return patches;
}

template <typename T>
PointsPatches Fit<T>::patches(void *plan, PetscInt group)
{
  const FitPlan<T> *p       = (const FitPlan<T> *)plan;
  const PatchFDFit *desc    = p->desc;
  PointsPatches     patches = FitPatches(p, desc->group[group], (int)(desc->group[group + 1] - desc->group[group]));

  patches.unknowns = (size_t)PatchFDFitUnknowns(desc, group);
  return patches;
}

template <typename T>
PetscErrorCode Fit<T>::residual(void *plan, PetscInt group, void *points, PetscBool zero, const void *b, const void *x)
{
  const FitPlan<T> *p = (const FitPlan<T> *)plan;

  PetscFunctionBegin;
  for (size_t i = p->at[group]; i < p->at[group + 1]; i++)
    PetscCall(PointsPatchResiduals<T>(points, FitPatches(p, p->run[i].first, p->run[i].count), p->run[i].inner, p->arg.box, zero, (const T *)b, (const T *)x, p->arg.rwork));
  PetscFunctionReturn(PETSC_SUCCESS);
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
static FitArguments<T> FitRunArguments(const FitPlan<T> *p, const FitRun &run, PetscInt group, PetscInt step)
{
  const PatchFDFit *f     = p->desc;
  FitArguments<T>   arg   = p->arg;
  const PetscCount  count = f->group[group + 1] - f->group[group];

  for (int d = 0; d < 3; d++) arg.n[d] = run.n[d];
  arg.count   = run.count;
  arg.begins  = step == 0;
  arg.several = f->steps[group] > 1;
  arg.first += 3 * run.first;
  arg.record += 3 * run.first;
  arg.compact += run.first;
  arg.number += run.first;
  if (step < f->steps[group]) arg.coef = p->coef + f->coefat[group] + 2 * (step * count + run.first - f->group[group]);
  return arg;
}

template <typename T, int dim, int k, bool inner, class Kernel>
static PetscErrorCode FitStart(Kernel kernel, const FitArguments<T> &arg, cudaStream_t stream)
{
  using Tile = FitTile<T, dim, k, inner>;

  PetscFunctionBegin;
  PetscCall(AllowShared(kernel, Tile::shared));
  kernel<<<(unsigned)((arg.count + Tile::teams - 1) / Tile::teams), Tile::threads, Tile::shared, stream>>>(arg);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::apply(void *plan, PetscInt group, PetscInt step, PetscReal omega, const void *diagonal, const void *r, void *x)
{
  const FitPlan<T> *p     = (const FitPlan<T> *)plan;
  PetscLogDouble    flops = 0;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (size_t i = p->at[group]; i < p->at[group + 1]; i++) {
    const FitRun   &run = p->run[i];
    FitArguments<T> arg = FitRunArguments(p, run, group, step);

    arg.omega    = (T)omega;
    arg.diagonal = (const T *)diagonal;
    arg.r        = (const T *)r;
    arg.x        = (T *)x;
    flops += (PetscLogDouble)run.count * run.n[0] * run.n[1] * run.n[2] * (4 * (run.n[0] + run.n[1] + (p->desc->dim == 3 ? run.n[2] : 0)) + 16); /* transforms there and back, C, D */
    PetscCall((ForDegree<1, fit_degrees>(p->desc->degree, [&](auto degree) {
      constexpr int k = decltype(degree)::value;

      PetscFunctionBegin;
      if (run.inner) PetscCall((FitStart<T, 3, k, true>(FitApplyKernel<T, 3, k, true>, arg, stream)));
      else if (p->desc->dim == 3) PetscCall((FitStart<T, 3, k, false>(FitApplyKernel<T, 3, k, false>, arg, stream)));
      else PetscCall((FitStart<T, 2, k, false>(FitApplyKernel<T, 2, k, false>, arg, stream)));
      PetscFunctionReturn(PETSC_SUCCESS);
    })));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where a step of conjugate gradients has its numbers: [last][patches] for a and b */
template <typename T>
static PetscErrorCode FitCGBegin(FitPlan<T> *p, size_t count, PetscInt last)
{
  PetscFunctionBegin;
  PetscCall(p->cg.free());
  PetscCall(p->cg.malloc(2 * count, &p->rz));
  PetscCall(p->cg.malloc(count * (size_t)last, &p->a));
  PetscCall(p->cg.malloc(count * (size_t)last, &p->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Fit<T>::cg(void *plan, PetscInt group, PetscInt step, PetscInt last, const void *diagonal, const void *q, void *r, void *direction, PetscReal a[], PetscReal b[])
{
  FitPlan<T>      *p     = (FitPlan<T> *)plan;
  const PetscCount first = p->desc->group[group];
  const size_t     count = (size_t)(p->desc->group[group + 1] - first);
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  if (step == 0) PetscCall(FitCGBegin(p, count, last));
  for (size_t i = p->at[group]; i < p->at[group + 1]; i++) {
    FitArguments<T> arg = FitRunArguments(p, p->run[i], group, step);
    const size_t    at  = (size_t)(p->run[i].first - first), row = step ? (size_t)(step - 1) * count + at : 0;

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
      if (p->desc->dim == 3) PetscCall((FitStart<T, 3, k, false>(FitCGKernel<T, 3, k, false>, arg, stream)));
      else PetscCall((FitStart<T, 2, k, false>(FitCGKernel<T, 2, k, false>, arg, stream)));
      PetscFunctionReturn(PETSC_SUCCESS);
    })));
  }
  if (step < last || !a) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(a, p->a, count * (size_t)last * sizeof(double), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(b, p->b, count * (size_t)last * sizeof(double), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(p->cg.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
