/*
  Local solvers that are fitted to each patch (patchfd/private/fit.h).  A team of threads has a patch, a block several teams; a thread has a line of the patch in
  registers:

    last     r of its line in the last direction, C, S' of that direction            to shared memory
    middle   (3D) S' of y                                                            in place
    first    S' of x, 1 / D, S of x                                                  in place
    middle   (3D) S of y                                                             in place
    last     S of the last direction, C, and what is to be done with the correction

  with a barrier between two of them.  Threads (a, b) of a team have the lines of nodes or modes (i, j), (i, k) and (j, k), a first.  Shared memory holds the block of the
  patch, entry (i, j, k) at (k M + j) M + i with M the length that lines have room for, which is odd: no conflicts of banks; and the patch's records, of which all
  threads of a team read the same numbers at a time, 16 bytes of a row at once: rows have room for ROW numbers.

  Patches of two cells inside of the mesh have M = 2 k - 1 unknowns in all directions, which the compiler knows; others up to 2 k + 1.
*/
#pragma once
#include "dispatch.cuh"
#include "fit_make.cuh"
#include "reciprocal.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

static constexpr int fit_degrees = 8;

/* of a run of patches of equal size */
template <typename T>
struct FitArguments {
  Layout        box;
  int           n[3], count;
  const int    *first;   /* [count][3] */
  const size_t *record;  /* [count][3] */
  const size_t *compact; /* [count] */
  const int    *number;  /* [count] */
  const T      *records, *g /* [number][4] */, *coef /* [count][2] */;
  const T      *diagonal;
  /* a step */
  bool     begins, several; /* is it the first one, are there more? */
  T        omega;
  const T *r;
  T       *x, *rwork, *zwork;
  /* a step of conjugate gradients, on compact arrays */
  bool     ends; /* nobody asks for more than the step's length */
  const T *q;
  T       *residual, *direction;
  double  *rz, *a, *b; /* [count][2], [count], [count] */
};

template <typename T, int dim, int k, bool inner>
struct FitTile {
  static constexpr int M = inner ? 2 * k - 1 : 2 * k + 1, lines = dim == 3 ? M * M : M, VECTOR = 16 / sizeof(T), ROW = RoundUp(M, VECTOR);
  static constexpr int volume = RoundUp(lines * M, VECTOR), record = ROW * (M + 3), size = volume + dim * record;
  static constexpr int teams = lines >= 96 ? 1 : 128 / lines, threads = RoundUp(teams * lines, 32);
  static constexpr size_t shared = teams * size * sizeof(T) + threads * sizeof(double);
  static constexpr int    blocks = 512 / threads > 0 ? 512 / threads : 1; /* at a time: more registers do not pay for less threads */
};

/* a row of a record: memory is read 16 bytes at once */
template <int ROW, typename T>
struct alignas(16) FitRow {
  T v[ROW];

  __device__ __forceinline__ FitRow(const T *row)
  {
#pragma unroll
    for (int i = 0; i < ROW; i += 16 / (int)sizeof(T)) *(int4 *)(v + i) = *(const int4 *)(row + i);
  }
};

/* v = S' v or S v for n numbers in room for M */
template <int M, int ROW, bool inner, bool modes, typename T>
__device__ __forceinline__ void FitLine(int n, const T *S, T v[M])
{
  T w[M];

#pragma unroll
  for (int a = 0; a < M; a++) w[a] = 0;
#pragma unroll
  for (int s = 0; s < M; s++) {
    if (!inner && s >= n) break;
    const FitRow<ROW, T> row(S + s * ROW);

#pragma unroll
    for (int a = 0; a < M; a++) {
      if (!inner && a >= n) break;
      if (modes) w[a] += row.v[a] * v[s];
      else w[s] += row.v[a] * v[a];
    }
  }
#pragma unroll
  for (int a = 0; a < M; a++) v[a] = w[a];
}

/* what a thread knows of its patch */
template <typename T, int dim, int k, bool inner>
struct FitThread {
  using Tile                = FitTile<T, dim, k, inner>;
  static constexpr int M    = Tile::M, ROW = Tile::ROW;
  static constexpr int last = dim - 1;

  const FitArguments<T> &arg;
  T                     *block, *record;
  double                *sums;
  int                    team, thread, a, b, patch, n[3];
  bool                   live;
  T                      g[4];

  __device__ FitThread(const FitArguments<T> &arg, T *memory) : arg(arg)
  {
    team   = (int)threadIdx.x / Tile::lines;
    thread = (int)threadIdx.x % Tile::lines;
    a      = thread % M;
    b      = thread / M;
    patch  = (int)blockIdx.x * Tile::teams + team;
    live   = team < Tile::teams && patch < arg.count;
    sums   = (double *)memory;
    block  = (T *)(sums + Tile::threads) + team * Tile::size;
    record = block + Tile::volume;
    for (int d = 0; d < 3; d++) n[d] = inner ? (d < dim ? M : 1) : arg.n[d];
  }
  __device__ const T *matrix(int d) const { return record + d * Tile::record; }
  /* what comes behind the rows of S: lambda, diag A, diag M */
  __device__ const T *numbers(int d, int which) const { return matrix(d) + (n[d] + which) * ROW; }
  /* has the thread a line of direction d? */
  __device__ bool has(int d) const
  {
    if (dim == 2) return live && a < n[1 - d];
    return live && a < n[d == 0 ? 1 : 0] && b < n[d == 2 ? 1 : 2];
  }
  /* its entry s in the block, where the line has direction d */
  __device__ int at(int d, int s) const
  {
    if (dim == 2) return d ? s * M + a : a * M + s;
    return d == 0 ? (b * M + a) * M + s : (d == 1 ? (b * M + s) * M + a : (s * M + b) * M + a);
  }
  /* and, for the last direction, in grid functions and in compact arrays */
  __device__ ptrdiff_t node(int s) const
  {
    const int *f = arg.first + 3 * patch;

    return dim == 2 ? arg.box.at(f[0] + a, f[1] + s, f[2]) : arg.box.at(f[0] + a, f[1] + b, f[2] + s);
  }
  __device__ size_t compact(int s) const { return arg.compact[patch] + (size_t)(dim == 2 ? s * n[0] + a : (s * n[1] + b) * n[0] + a); }

  /* all numbers are asked for before the first one is stored */
  __device__ void loadrecords()
  {
    constexpr int each = (M * (M + 3) + Tile::lines - 1) / Tile::lines;
    T             v[dim][each];

#pragma unroll
    for (int d = 0; d < dim; d++) {
      const T *from = arg.records + (live ? arg.record[3 * patch + d] : 0);

#pragma unroll
      for (int e = 0; e < each; e++) {
        const int i = thread + e * Tile::lines;

        v[d][e] = live && i < n[d] * (n[d] + 3) ? from[i] : T(0);
      }
    }
#pragma unroll
    for (int d = 0; d < dim; d++) {
#pragma unroll
      for (int e = 0; e < each; e++) {
        const int i = thread + e * Tile::lines;

        if (live && i < n[d] * (n[d] + 3)) record[d * Tile::record + i / n[d] * ROW + i % n[d]] = v[d][e];
      }
    }
    __syncthreads();
  }
  __device__ void load(int d, T v[M]) const
  {
#pragma unroll
    for (int s = 0; s < M; s++) v[s] = inner || s < n[d] ? block[at(d, s)] : T(0);
  }
  __device__ void store(int d, const T v[M])
  {
#pragma unroll
    for (int s = 0; s < M; s++)
      if (inner || s < n[d]) block[at(d, s)] = v[s];
  }
  /* g, and the diagonal on the line in the last direction: asked for with everything else from global memory, before the first barrier */
  __device__ void fetch(T c[M])
  {
    const int number = live ? arg.number[patch] : 0;

#pragma unroll
    for (int i = 0; i < 4; i++) g[i] = arg.g[4 * (size_t)number + i];
#pragma unroll
    for (int s = 0; s < M; s++) c[s] = has(last) && (inner || s < n[last]) ? arg.diagonal[node(s)] : T(1);
  }
  /* c[s] = C there, from the diagonal */
  __device__ void scale(T c[M]) const
  {
    const T  A0 = g[0] * numbers(0, 1)[a], M0 = numbers(0, 2)[a];
    const T  A1 = dim == 3 ? g[1] * numbers(1, 1)[b] : T(0), M1 = dim == 3 ? numbers(1, 2)[b] : T(1);
    const T  mass = M0 * M1, rest = A0 * M1 + M0 * A1 + g[3] * mass;

#pragma unroll
    for (int s = 0; s < M; s++) {
      if (!inner && s >= n[last]) break;
      const T t = rest * numbers(last, 2)[s] + mass * g[last] * numbers(last, 1)[s];

      c[s] = t * rsqrt(t * c[s]); /* the root of the ratio, without a division */
    }
  }
  /* v /= D on the line of modes in the first direction; nothing where D is zero: the constants of a patch without Dirichlet nodes */
  __device__ void divide(T v[M]) const
  {
    const T *x = numbers(0, 0);
    T        rest = g[1] * numbers(1, 0)[a] + g[3];

    if (dim == 3) rest += g[2] * numbers(2, 0)[b];
#pragma unroll
    for (int s = 0; s < M; s++) {
      const T D = inner || s < n[0] ? g[0] * x[s] + rest : T(0);

      v[s] *= ReciprocalOrZero(D);
    }
  }
  /* the line of the last direction in v: v = B v, with the diagonal in c; all threads of a block call it */
  __device__ void solve(T v[M], T c[M])
  {
    const bool mine = has(last);
    T          w[M];

    if (mine) {
      scale(c);
#pragma unroll
      for (int s = 0; s < M; s++) v[s] = inner || s < n[last] ? v[s] * c[s] : T(0);
      FitLine<M, ROW, inner, true>(n[last], matrix(last), v);
      store(last, v);
    }
    __syncthreads();
    if (dim == 3) middle<true>(w);
    if (has(0)) {
      load(0, w);
      FitLine<M, ROW, inner, true>(n[0], matrix(0), w);
      divide(w);
      if (M > 7) asm volatile("" : : : "memory"); /* the matrix is read once more: else its numbers take too many registers */
      FitLine<M, ROW, inner, false>(n[0], matrix(0), w);
      store(0, w);
    }
    __syncthreads();
    if (dim == 3) middle<false>(w);
    if (mine) {
      load(last, v);
      FitLine<M, ROW, inner, false>(n[last], matrix(last), v);
#pragma unroll
      for (int s = 0; s < M; s++)
        if (inner || s < n[last]) v[s] *= c[s];
    }
  }
  template <bool modes>
  __device__ void middle(T w[M])
  {
    if (has(1)) {
      load(1, w);
      FitLine<M, ROW, inner, modes>(n[1], matrix(1), w);
      store(1, w);
    }
    __syncthreads();
  }
  /* the sum of the team's values, in the same order each time */
  __device__ double sum(double mine)
  {
    double total = 0;

    __syncthreads();
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int i = 0; i < Tile::lines && team < Tile::teams; i++) total += sums[team * Tile::lines + i];
    return total;
  }
};

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
    v[s] = arg.begins ? arg.r[t.node(s)] : arg.rwork[t.compact(s)];
    if (early) x[s] = arg.x[t.node(s)];
  }
  t.loadrecords();
#pragma unroll
  for (int s = 0; s < M && arg.begins && arg.several && mine; s++)
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
    if (desc->steps[i] > 1) compact = PetscMax(compact, PatchFDFitUnknowns(desc, i));
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
PointsPatches Fit<T>::patches(void *plan, PetscInt group)
{
  const FitPlan<T> *p     = (const FitPlan<T> *)plan;
  const PatchFDFit *desc  = p->desc;
  const PetscCount  first = desc->group[group];
  PointsPatches     patches;

  patches.count    = (int)(desc->group[group + 1] - first);
  patches.unknowns = (size_t)PatchFDFitUnknowns(desc, group);
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
