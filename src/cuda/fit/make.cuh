/*
  The numbers of fits to each patch (patchfd/private/fit.h), from the factors of an operator by quadrature:

    FitMeansKernel     a block a cell: logarithms of the metric at its points, and their means
    FitNumbersKernel   a block a patch: means over the patch, whether one step is enough, the weights of its matrices
    FitEigenKernel     a team of 8 to 32 threads a patch and direction: the matrices, and their eigenvectors by Jacobi's method

  In the table's precision, but for eigenvectors, which are in double precision.
*/
#pragma once
#include "fit/eigen.cuh"
#include "fit/groups.cuh"
#include "points/sides.cuh"

namespace patchfd
{

static constexpr int fit_points = PATCHFD_FIT_MAX_POINTS;

template <typename R>
struct FitWeights {
  R w[fit_points];
};

/* the metric of the cells, as in PatchFDFitMeans */
template <typename R>
struct FitMetric {
  int    dim, points, npoint;
  bool   stiff, hasshift;
  R     *room; /* [block][dim][npoint] while this is made, if a block of threads has too little shared memory */
  R     *mean, *shift;
  R     *end;                    /* as there, or NULL */
  float *cross, *log, *logshift; /* logarithms are NULL where nobody asks for them */
};

/* the sums or the largest ones of N values of a block's threads, for all of them */
template <bool largest, int N, typename R>
static __device__ void FitBlock(R (&v)[N], R (*work)[N])
{
#pragma unroll
  for (int step = fit_warp / 2; step > 0; step /= 2) {
#pragma unroll
    for (int i = 0; i < N; i++) {
      const R other = __shfl_xor_sync(~0u, v[i], step);

      v[i] = largest ? fmax(v[i], other) : v[i] + other;
    }
  }
  __syncthreads();
  for (int i = 0; i < N && threadIdx.x % fit_warp == 0; i++) work[threadIdx.x / fit_warp][i] = v[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < N; i++) {
    v[i] = work[0][i];
    for (int w = 1; w < (int)blockDim.x / fit_warp; w++) v[i] = largest ? fmax(v[i], work[w][i]) : v[i] + work[w][i];
  }
}

/* |J| s = 0: a logarithm that no fit is close to, and that is a number */
template <typename R>
static __device__ R FitLogShift(R shift)
{
  return shift > 0 ? log(shift) : R(-1e3);
}

/* of a cell, by a block of threads; logs: [dim][npoint] */
template <typename T>
static __device__ __forceinline__ void FitCellMeans(const PointsGeneric<T> &g, const FitWeights<T> &w, const FitMetric<T> &m, int cell,
                                                    T *logs, T (*work)[1])
{
  const int dim = m.dim, c = m.points;
  T         cross[1] = {0}, shift[1] = {0};

  for (int i = threadIdx.x; i < m.npoint; i += blockDim.x) {
    const T weight = w.w[i % c] * w.w[i / c % c] * (dim == 3 ? w.w[i / c / c] : 1);
    T       sum    = 0;
    T       f[7];

    g.at(cell, i, f);
    for (int a = 0; a < dim && m.stiff; a++) {
      const T of = f[PointsEntry(dim, a, a)], v = log(of / weight);

      logs[a * m.npoint + i] = v;
      if (m.log) m.log[((size_t)cell * dim + a) * m.npoint + i] = (float)v;
      for (int b = 0; b < a; b++) sum += f[PointsEntry(dim, b, a)] * f[PointsEntry(dim, b, a)] / (of * f[PointsEntry(dim, b, b)]);
    }
    cross[0] = fmax(cross[0], sum);
    if (!m.hasshift) continue;
    shift[0] += f[g.layout.numbers - 1];
    if (m.logshift) m.logshift[(size_t)cell * m.npoint + i] = (float)FitLogShift(f[g.layout.numbers - 1] / weight);
  }
  FitBlock<true>(cross, work);
  FitBlock<false>(shift, work);
  if (threadIdx.x == 0) {
    m.cross[cell] = (float)cross[0];
    m.shift[cell] = shift[0];
  }
  for (int e = threadIdx.x; e < dim * dim * c && m.stiff; e += blockDim.x) { /* point e % c of direction b: the mean over the others */
    const int a = e / c / dim, b = e / c % dim, stride = b == 0 ? 1 : (b == 1 ? c : c * c), inner = b == 0 ? c : 1,
              outer = b == 2 ? c : c * c;
    T sum           = 0;

    for (int j = 0; j < (dim == 3 ? c : 1); j++) {
      for (int i = 0; i < c; i++) {
        const int at     = e % c * stride + i * inner + j * outer;
        const T   weight = w.w[i] * (dim == 3 ? w.w[j] : 1);

        sum += weight * logs[a * m.npoint + at];
      }
    }
    m.mean[((size_t)cell * dim * dim) * c + e] = sum;
  }
}

template <typename T>
static __global__ void __launch_bounds__(256) FitMeansKernel(const PointsGeneric<T> g, const FitWeights<T> w, const FitMetric<T> m)
{
  extern __shared__ double fit_memory[];
  __shared__ T             work[8][1];

  if (!m.room) FitCellMeans(g, w, m, (int)blockIdx.x, (T *)fit_memory, work);
  for (int cell = (int)blockIdx.x; m.room && cell < g.cells; cell += (int)gridDim.x) {
    FitCellMeans(g, w, m, cell, m.room + blockIdx.x * (size_t)(m.dim * m.npoint), work);
    __syncthreads();
  }
}

/* the sums over sides with h u v, a thread a side */
template <typename T>
static __global__ void FitEndsKernel(const __grid_constant__ PointsSides<T> s, int points, int dim, T *end)
{
  const int i   = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  T         sum = 0;

  if (i >= s.count) return;
  for (int q = 0; q < points; q++) sum += s.factor[(size_t)i * points + q];
  end[(size_t)s.side[i].cell * 2 * dim + s.side[i].side] = sum;
}

/* ---- patches ---- */

/* what a block needs to know of all patches */
template <typename T>
struct FitSource {
  FitMetric<T> metric;
  FitGrid      grid;
  int          degree, count[3], low[3]; /* of the cells */
  bool         shared, estimate;         /* are eigenvalues to be estimated where fits are not close? */
  double       stable, condition;
  const T     *w, *B, *D; /* [c], [c][k + 1] */
  const T     *constants;
  int          first;  /* patch of the launch */
  T           *weight; /* [patches of a launch][dim][4 c + 2]: those of A and M, and what is added to A at both ends */
  T           *g, *records;
  size_t       at, stride;
  char        *take;
};

/* the means over a patch, in shared memory: logarithms of the weights of A and M and of the means of G over all points */
template <typename R>
struct FitPatchMeans {
  R A[3][2 * fit_points], M[3][2 * fit_points], log[3][3][2 * fit_points], total[3], shift, end[3][2];
};

/* the cells of a patch: a block of up to 2 x 2 x 2 */
template <int dim>
struct FitPatchCells {
  int n[dim], first, stride[dim]; /* in each direction; the number of the first one; from cell to cell */

  template <typename T>
  __device__ FitPatchCells(const FitSource<T> &s, const int *const of[3])
  {
    int step = 1;

    first = 0;
#pragma unroll
    for (int d = 0; d < dim; d++) {
      n[d]      = (int)s.grid.kind[d][of[d][2]].ncells;
      stride[d] = step;
      first += (of[d][0] - s.low[d]) * step;
      step *= s.count[d];
    }
  }
  __device__ int all() const
  {
    int all = 1;

#pragma unroll
    for (int d = 0; d < dim; d++) all *= n[d];
    return all;
  }
  /* f(the number of a cell, its corner: a bit a direction) for all of them */
  template <typename F>
  __device__ __forceinline__ void each(F &&f) const
  {
#pragma unroll
    for (int corner = 0; corner < 1 << dim; corner++) {
      int  cell   = first;
      bool exists = true;

#pragma unroll
      for (int d = 0; d < dim; d++) {
        exists = exists && (corner >> d & 1) < n[d];
        cell += (corner >> d & 1) * stride[d];
      }
      if (exists) f(cell, corner);
    }
  }
};

template <int dim, typename T>
static __device__ void FitPatchMean(const FitSource<T> &s, const FitPatchCells<dim> &cells, FitPatchMeans<T> *m)
{
  const int c     = s.metric.points;
  const T   share = T(1) / cells.all(), across = T(1) / cells.n[0];

  for (int e = threadIdx.x; e < dim * dim * 2 * c; e += blockDim.x) { /* point e % (2 c) of direction b */
    const int a = e / (2 * c) / dim, b = e / (2 * c) % dim, half = e / c % 2;
    T         sum = 0;

    cells.each([&](int cell, int corner) {
      if ((corner >> b & 1) == half) sum += s.metric.mean[((size_t)cell * dim * dim + a * dim + b) * c + e % c];
    });
    m->log[a][b][e % (2 * c)] = s.metric.stiff ? sum * (b == 0 ? cells.n[0] : (b == 1 ? cells.n[1] : cells.n[dim - 1])) * share : 0;
  }
  if (threadIdx.x == 0) {
    T sum = 0;

    cells.each([&](int cell, int) { sum += s.metric.shift[cell]; });
    m->shift = sum * share;
  }
  for (int e = threadIdx.x; e < 2 * dim; e += blockDim.x) {
    const int b   = e / 2;
    T         sum = 0;

    if (s.metric.end) cells.each([&](int cell, int) { sum += s.metric.end[(size_t)cell * 2 * dim + e]; });
    m->end[b][e % 2] = sum * (b == 0 ? cells.n[0] : (b == 1 ? cells.n[1] : cells.n[dim - 1])) * share;
  }
  __syncthreads();
  if ((int)threadIdx.x < dim) {
    T sum = 0;

    for (int i = 0; i < c; i++) sum += s.w[i] * (m->log[threadIdx.x][0][i] + (cells.n[0] > 1 ? m->log[threadIdx.x][0][c + i] : 0));
    m->total[threadIdx.x] = sum * across;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < dim * 2 * c; e += blockDim.x) {
    const int b = e / (2 * c), i = e % (2 * c);
    T         sum = 0;

    for (int a = 0; a < dim; a++)
      if (a != b) sum += m->log[a][b][i] - m->total[a];
    m->A[b][i] = s.shared ? m->total[b] : m->log[b][b][i];
    m->M[b][i] = s.shared ? 0 : sum / (dim - 1);
  }
  __syncthreads();
}

/* is one step with the factor 1 enough? */
template <int dim, typename T>
static __device__ bool FitIsClose(const FitSource<T> &s, const FitPatchCells<dim> &cells, const FitPatchMeans<T> *m, double (*work)[4])
{
  const FitMetric<T> &metric   = s.metric;
  const int           c        = metric.points;
  const double        logshift = metric.hasshift ? (double)FitLogShift(m->shift) : 0;
  PatchFDFitRatio     ratio    = {1e300, -1e300, 0};
  double              cross    = 0;
  bool                ends     = false;

  for (int e = 0; e < 2 * dim; e++) ends = ends || m->end[e / 2][e % 2] != 0;
  for (int i = threadIdx.x; i < metric.npoint; i += blockDim.x) {
    const int point[3] = {i % c, i / c % c, i / c / c};

    cells.each([&](int cell, int corner) {
      double v[dim], mass = 0;

#pragma unroll
      for (int b = 0; b < dim; b++) mass += m->M[b][(corner >> b & 1) * c + point[b]];
#pragma unroll
      for (int b = 0; b < dim; b++) {
        const int at = (corner >> b & 1) * c + point[b];

        v[b] = metric.log[((size_t)cell * dim + b) * metric.npoint + i] - m->A[b][at] - mass + m->M[b][at];
      }
      PatchFDFitRatioAdd(dim, v, metric.hasshift ? metric.logshift[(size_t)cell * metric.npoint + i] - logshift - mass : 0, metric.hasshift,
                         &ratio);
      cross = fmax(cross, (double)metric.cross[cell]);
    });
  }
  double largest[4] = {-ratio.lo, ratio.hi, ratio.deviation, cross};

  FitBlock<true>(largest, work);
  ratio = {-largest[0], largest[1], largest[2]};
  return metric.stiff && !ends && PatchFDFitIsClose(dim, &ratio, largest[3], s.stable, s.condition);
}

template <typename T, int dim>
static __global__ void __launch_bounds__(128, 8) FitNumbersKernel(const __grid_constant__ FitSource<T> s)
{
  __shared__ FitPatchMeans<T> m;
  __shared__ double           work[4][4];
  const int                   number = s.first + (int)blockIdx.x, size = 2 * s.metric.points, stride = 2 * size + 2;
  T                          *weight = s.weight + (size_t)blockIdx.x * (dim * stride);
  const int                  *of[3];
  bool                        close;

  s.grid.get(number, of);
  const FitPatchCells<dim> cells(s, of);

  FitPatchMean(s, cells, &m);
  close = !s.estimate || FitIsClose(s, cells, &m, work);
  if (threadIdx.x == 0) {
    for (int e = 0; e < 3; e++) s.g[4 * (size_t)number + e] = (T)(!s.shared ? 1 : (e < dim && s.metric.stiff ? exp(m.total[e]) : 0));
    s.g[4 * (size_t)number + 3] = (T)m.shift;
    s.take[number]              = close ? 1 : 2;
  }
  for (int e = threadIdx.x; e < 2 * dim * size && !s.shared; e += blockDim.x) {
    const int b = e / (2 * size), i = e % size;

    weight[b * stride + e % (2 * size)] = exp(e / size % 2 ? m.M[b][i] : m.A[b][i]);
  }
  for (int e = threadIdx.x; e < 2 * dim && !s.shared; e += blockDim.x) weight[e / 2 * stride + 2 * size + e % 2] = m.end[e / 2][e % 2];
}

template <typename T, int TEAM>
static __global__ void __launch_bounds__(fit_threads) FitEigenKernel(const __grid_constant__ FitSource<T> s, int patches, int longest)
{
  extern __shared__ double fit_numbers[]; /* [teams][5][n n] */
  const int                dim = s.metric.dim, c = s.metric.points, team = (int)threadIdx.x / TEAM;
  const int                item = (int)blockIdx.x * (fit_threads / TEAM) + team, patch = item / dim, d = item % dim;
  const int               *of[3];

  if (patch >= patches) return;
  s.grid.get(s.first + patch, of);
  const PatchFDFitKind kind   = s.grid.kind[d][of[d][2]];
  const T             *weight = s.weight + (size_t)item * (4 * c + 2);
  T                   *record = s.records + s.at + (size_t)(s.first + patch) * s.stride + d * (s.stride / dim);
  const FitTeam<TEAM>  t(fit_numbers, longest, (int)kind.n);

  t.matrix(kind, s.degree, c, s.w, s.D, weight, !s.metric.stiff, t.A);
  t.matrix(kind, s.degree, c, s.w, s.B, weight + 2 * c, false, t.M);
  for (int e = t.lane; e < 2; e += TEAM)
    if (e ? kind.lower + kind.n == kind.ncells * s.degree + 1 : !kind.lower) t.A[e * (t.n * t.n - 1)] += weight[4 * c + e];
  t.sync();
  t.record(s.constants + kind.record, record, record + t.n * (t.n + 1));
}

/* ---- launches ---- */

/* the metric of all cells, in `memory` */
template <typename T>
static PetscErrorCode FitMetricCreate(const PointsGeneric<T> &g, const PatchFDRule *rule, bool logs, PoolMemory *memory, FitMetric<T> *m,
                                      cudaStream_t stream)
{
  const size_t  cells  = (size_t)g.cells;
  const int     npoint = (int)g.size, threads = RoundUp(PetscMin(npoint, 256), fit_warp);
  const size_t  shared = (size_t)(g.dim * npoint) * sizeof(T);
  FitWeights<T> w      = {};
  bool          fits;
  int           blocks = (int)cells;

  PetscFunctionBegin;
  *m          = {};
  m->dim      = g.dim;
  m->points   = g.c;
  m->npoint   = npoint;
  m->stiff    = g.stiff;
  m->hasshift = g.shift;
  for (int i = 0; i < g.c; i++) w.w[i] = (T)rule->w[i];
  PetscCall(memory->borrow(cells * (size_t)(g.dim * g.dim * g.c), &m->mean));
  PetscCall(memory->borrow(cells, &m->shift));
  PetscCall(memory->borrow(cells, &m->cross));
  if (logs && g.stiff) PetscCall(memory->borrow(cells * (size_t)(g.dim * npoint), &m->log));
  if (logs && g.shift) PetscCall(memory->borrow(cells * (size_t)npoint, &m->logshift));
  if (!cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SharedFits(FitMeansKernel<T>, shared, &fits));
  if (fits) PetscCall(AllowShared(FitMeansKernel<T>, shared));
  else {
    PetscCall(Multiprocessors(&blocks));
    PetscCall(memory->borrow((size_t)(blocks * g.dim * npoint), &m->room));
  }
  FitMeansKernel<T><<<(unsigned)PetscMin(blocks, (int)cells), threads, fits ? shared : 0, stream>>>(g, w, *m);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode FitEndsCreate(const PointsSides<T> &s, PoolMemory *memory, size_t cells, FitMetric<T> *m, cudaStream_t stream)
{
  const size_t size = cells * (size_t)(2 * m->dim);

  PetscFunctionBegin;
  if (!s.count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory->borrow(size, &m->end));
  PetscCallCUDA(cudaMemsetAsync(m->end, 0, size * sizeof(T), stream));
  FitEndsKernel<T><<<(unsigned)((s.count + 127) / 128), 128, 0, stream>>>(s, PointsPower(m->points, m->dim - 1), m->dim, m->end);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for all patches, some of them at a time, so that their weights take little room */
template <typename T>
static PetscErrorCode FitNumbersLaunch(FitSource<T> s, int patches, int longest, PoolMemory *memory, cudaStream_t stream)
{
  const int dim = s.metric.dim, most = PetscMin(patches, 1 << 16);
  auto     *numbers = dim == 3 ? FitNumbersKernel<T, 3> : FitNumbersKernel<T, 2>;

  PetscFunctionBegin;
  if (!s.shared) PetscCall(memory->borrow((size_t)most * (size_t)(dim * (4 * s.metric.points + 2)), &s.weight));
  for (s.first = 0; s.first < patches; s.first += most) {
    const int count = PetscMin(most, patches - s.first);

    numbers<<<(unsigned)count, s.metric.npoint <= 64 ? 64 : 128, 0, stream>>>(s);
    PetscCallCUDA(cudaGetLastError());
    if (s.shared) continue;
    PetscCall(FitTeams(longest, [&](auto team) {
      constexpr int TEAM = decltype(team)::value, teams = fit_threads / TEAM;

      PetscFunctionBegin;
      PetscCall(AllowShared(FitEigenKernel<T, TEAM>, FitTeamsShared(longest, TEAM)));
      FitEigenKernel<T, TEAM>
        <<<(unsigned)((count * dim + teams - 1) / teams), fit_threads, FitTeamsShared(longest, TEAM), stream>>>(s, count, longest);
      PetscCallCUDA(cudaGetLastError());
      PetscFunctionReturn(PETSC_SUCCESS);
    }));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g, records behind those of constants, and the steps that patches take: one, or two for those whose eigenvalues are to be estimated */
template <typename T>
static PetscErrorCode FitNumbersCreate(const PatchFDFit *fit, const PatchFDFitRule *rule, const FitGrid &grid,
                                       const PointsGeneric<T> &generic, const PointsSides<T> &sides, T *g, T *records, char *take)
{
  PoolMemory   memory;
  PatchFDRule  points;
  FitSource<T> s = {};
  T           *w;
  int          longest = 1;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PatchFDRuleCreate(fit->degree, generic.c, &points));
  PetscCall(FitMetricCreate(generic, &points, true, &memory, &s.metric, stream));
  PetscCall(FitEndsCreate(sides, &memory, (size_t)generic.cells, &s.metric, stream));
  s.grid = grid;
  for (int d = 0; d < 3; d++) {
    s.low[d]   = (int)fit->cells[d][0];
    s.count[d] = (int)(fit->cells[d][1] - fit->cells[d][0]);
    for (int i = 0; i < fit->nkind[d]; i++) longest = PetscMax(longest, (int)fit->kind[d][i].n);
  }
  s.degree    = (int)fit->degree;
  s.shared    = fit->shared;
  s.estimate  = rule->lanczos > 0;
  s.stable    = rule->stable;
  s.condition = PatchFDFitOneStep(rule);
  s.g         = g;
  s.records   = records;
  s.at        = (size_t)fit->nconstant;
  s.stride    = (size_t)fit->stride;
  s.take      = take;
  PetscCall(memory.send((size_t)points.points, points.w, &w));
  s.w = w;
  PetscCall(memory.send((size_t)(points.points * points.nodes), points.B, &w));
  s.B = w;
  PetscCall(memory.send((size_t)(points.points * points.nodes), points.D, &w));
  s.D = w;
  PetscCall(memory.send((size_t)fit->nconstant, fit->constants, &w));
  s.constants = w;
  PetscCall(PatchFDRuleDestroy(&points));
  if (fit->npatch) PetscCall(FitNumbersLaunch(s, (int)fit->npatch, longest, &memory, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
