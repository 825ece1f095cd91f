/*
  The numbers of fits to each patch (patchfd/private/fit.h), from the factors of an operator by quadrature:

    FitMeansKernel     a block a cell: logarithms of the metric at its points, and their means
    FitNumbersKernel   a block a patch, a warp a direction: means over the patch, whether one step is enough, and the matrices' eigenvectors by Jacobi's method

  In double precision but for the logarithms at points, which are compared only.
*/
#pragma once
#include "fit.cuh"
#include "plan.cuh"
#include "points_generic.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

static constexpr int fit_points = PATCHFD_FIT_MAX_POINTS, fit_warp = 32;

struct FitWeights {
  double w[fit_points];
};

/* the metric of the cells, as in PatchFDFitMeans */
struct FitMetric {
  int     dim, points, npoint;
  bool    stiff, hasshift;
  double *mean, *shift;
  float  *cross, *log, *logshift;
};

/* the sum or the largest of the values of a block's threads, for all of them */
template <bool largest>
static __device__ double FitBlock(double v, double *work)
{
  double total = largest ? -1e300 : 0;

  for (int step = fit_warp / 2; step > 0; step /= 2) {
    const double other = __shfl_xor_sync(~0u, v, step);

    v = largest ? fmax(v, other) : v + other;
  }
  __syncthreads();
  if (threadIdx.x % fit_warp == 0) work[threadIdx.x / fit_warp] = v;
  __syncthreads();
  for (int i = 0; i < (int)blockDim.x / fit_warp; i++) total = largest ? fmax(total, work[i]) : total + work[i];
  return total;
}

/* |J| s = 0: a logarithm that no fit is close to, and that is a number */
static __device__ double FitLogShift(double shift)
{
  return shift > 0 ? log(shift) : -1e3;
}

template <typename T>
static __global__ void __launch_bounds__(256) FitMeansKernel(const PointsGeneric<T> g, const FitWeights w, const FitMetric m)
{
  extern __shared__ double fit_logs[]; /* [dim][npoint] */
  __shared__ double        work[8];
  const int                dim = m.dim, c = m.points, cell = (int)blockIdx.x;
  double                   cross = 0, shift = 0;

  for (int i = threadIdx.x; i < m.npoint; i += blockDim.x) {
    const double weight = w.w[i % c] * w.w[i / c % c] * (dim == 3 ? w.w[i / c / c] : 1);
    double       sum = 0;
    T            f[7];

    g.at(cell, i, f);
    for (int a = 0; a < dim && m.stiff; a++) {
      const double of = (double)f[PointsEntry(dim, a, a)], v = log(of / weight);

      fit_logs[a * m.npoint + i]                          = v;
      m.log[((size_t)cell * dim + a) * m.npoint + i] = (float)v;
      for (int b = 0; b < a; b++) sum += (double)f[PointsEntry(dim, b, a)] * (double)f[PointsEntry(dim, b, a)] / (of * (double)f[PointsEntry(dim, b, b)]);
    }
    cross = fmax(cross, sum);
    if (!m.hasshift) continue;
    shift += (double)f[g.layout.numbers - 1];
    m.logshift[(size_t)cell * m.npoint + i] = (float)FitLogShift((double)f[g.layout.numbers - 1] / weight);
  }
  cross = FitBlock<true>(cross, work);
  shift = FitBlock<false>(shift, work);
  if (threadIdx.x == 0) {
    m.cross[cell] = (float)cross;
    m.shift[cell] = shift;
  }
  for (int e = threadIdx.x; e < dim * dim * c && m.stiff; e += blockDim.x) { /* point e % c of direction b: the mean over the others */
    const int a = e / c / dim, b = e / c % dim, stride = b == 0 ? 1 : (b == 1 ? c : c * c), inner = b == 0 ? c : 1, outer = b == 2 ? c : c * c;
    double    sum = 0;

    for (int j = 0; j < (dim == 3 ? c : 1); j++) {
      for (int i = 0; i < c; i++) {
        const int    at     = e % c * stride + i * inner + j * outer;
        const double weight = w.w[i] * (dim == 3 ? w.w[j] : 1);

        sum += weight * fit_logs[a * m.npoint + at];
      }
    }
    m.mean[((size_t)cell * dim * dim) * c + e] = sum;
  }
}

/* ---- patches ---- */

struct FitKinds {
  PatchFDFitKind kind[3][PATCHFD_FIT_MAX_KINDS];
};

/* what a block needs to know of all patches */
template <typename T>
struct FitSource {
  FitMetric     metric;
  FitKinds      kinds;
  int           degree, count[3], low[3]; /* of the cells */
  bool          shared;
  double        stable, condition;
  const int    *cell, *first, *n; /* [patches][3] */
  const size_t *record;          /* [patches][3] */
  const double *w, *B, *D;       /* [c], [c][k + 1] */
  const double *constants;
  T            *g, *records;
  char         *close;
};

/* the means over a patch, in shared memory: the weights of A and M, as logarithms until FitWeigh(), and logarithms of the means of G over all points */
struct FitPatchMeans {
  double A[3][2 * fit_points], M[3][2 * fit_points], log[3][3][2 * fit_points], total[3], shift;
};

struct FitPatchCells {
  int n[3];

  __device__ int all() const { return n[0] * n[1] * n[2]; }
};

template <typename T>
static __device__ int FitCellNumber(const FitSource<T> &s, const int cell[3], const int offset[3])
{
  return ((cell[2] + offset[2] - s.low[2]) * s.count[1] + cell[1] + offset[1] - s.low[1]) * s.count[0] + cell[0] + offset[0] - s.low[0];
}

template <typename T>
static __device__ void FitPatchMean(const FitSource<T> &s, const int cell[3], const FitPatchCells &cells, FitPatchMeans *m)
{
  const int    dim = s.metric.dim, c = s.metric.points;
  const double count = cells.all();

  for (int e = threadIdx.x; e < dim * dim * 2 * c; e += blockDim.x) { /* point e % (2 c) of direction b */
    const int a = e / (2 * c) / dim, b = e / (2 * c) % dim, half = e / c % 2;
    double    sum = 0;

    for (int o = 0; o < cells.all(); o++) {
      const int offset[3] = {o % cells.n[0], o / cells.n[0] % cells.n[1], o / cells.n[0] / cells.n[1]};

      if (offset[b] == half) sum += s.metric.mean[((size_t)FitCellNumber(s, cell, offset) * dim * dim + a * dim + b) * c + e % c];
    }
    m->log[a][b][e % (2 * c)] = s.metric.stiff ? sum * cells.n[b] / count : 0;
  }
  if (threadIdx.x == 0) {
    m->shift = 0;
    for (int o = 0; o < cells.all(); o++) {
      const int offset[3] = {o % cells.n[0], o / cells.n[0] % cells.n[1], o / cells.n[0] / cells.n[1]};

      m->shift += s.metric.shift[FitCellNumber(s, cell, offset)] / count;
    }
  }
  __syncthreads();
  if ((int)threadIdx.x < dim) {
    double sum = 0;

    for (int i = 0; i < cells.n[0] * c; i++) sum += s.w[i % c] * m->log[threadIdx.x][0][i] / cells.n[0];
    m->total[threadIdx.x] = sum;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < dim * 2 * c; e += blockDim.x) {
    const int b = e / (2 * c), i = e % (2 * c);
    double    sum = 0;

    for (int a = 0; a < dim; a++)
      if (a != b) sum += m->log[a][b][i] - m->total[a];
    m->A[b][i] = s.shared ? m->total[b] : m->log[b][b][i];
    m->M[b][i] = s.shared ? 0 : sum / (dim - 1);
  }
  __syncthreads();
}

/* is one step with the factor 1 enough? */
template <typename T>
static __device__ bool FitIsClose(const FitSource<T> &s, const int cell[3], const FitPatchCells &cells, const FitPatchMeans *m, double *work)
{
  const FitMetric &metric = s.metric;
  const int        dim = metric.dim, c = metric.points;
  const double     logshift = metric.hasshift ? FitLogShift(m->shift) : 0;
  PatchFDFitRatio  ratio = {1e300, -1e300, 0};
  double           cross = 0;

  for (int e = threadIdx.x; e < cells.all() * metric.npoint; e += blockDim.x) {
    const int o = e / metric.npoint, i = e % metric.npoint, offset[3] = {o % cells.n[0], o / cells.n[0] % cells.n[1], o / cells.n[0] / cells.n[1]};
    const int number = FitCellNumber(s, cell, offset), at[3] = {offset[0] * c + i % c, offset[1] * c + i / c % c, offset[2] * c + i / c / c};
    double    v[3], mass = 0;

    for (int b = 0; b < dim; b++) mass += m->M[b][at[b]];
    for (int b = 0; b < dim; b++) v[b] = metric.log[((size_t)number * dim + b) * metric.npoint + i] - m->A[b][at[b]] - mass + m->M[b][at[b]];
    PatchFDFitRatioAdd(dim, v, metric.hasshift ? metric.logshift[(size_t)number * metric.npoint + i] - logshift - mass : 0, metric.hasshift, &ratio);
    cross = fmax(cross, (double)metric.cross[number]);
  }
  ratio.lo        = -FitBlock<true>(-ratio.lo, work);
  ratio.hi        = FitBlock<true>(ratio.hi, work);
  ratio.deviation = FitBlock<true>(ratio.deviation, work);
  cross           = FitBlock<true>(cross, work);
  return metric.stiff && PatchFDFitIsClose(dim, &ratio, cross, s.stable, s.condition);
}

static __device__ void FitWeigh(int dim, int count, FitPatchMeans *m)
{
  for (int e = threadIdx.x; e < dim * count; e += blockDim.x) {
    m->A[e / count][e % count] = exp(m->A[e / count][e % count]);
    m->M[e / count][e % count] = exp(m->M[e / count][e % count]);
  }
  __syncthreads();
}

/* ---- eigenvectors: small matrices of a warp in shared memory, as those of src/host/lanes.h ---- */

struct FitWarp {
  int     n, lane;
  double *A, *M, *S, *V, *work;

  template <typename F>
  __device__ void entries(F &&f) const
  {
    for (int e = lane; e < n * n; e += fit_warp) f(e / n, e % n);
    __syncwarp();
  }
  /* Z = X Y or X' Y */
  __device__ void product(bool transpose, const double *X, const double *Y, double *Z) const
  {
    entries([&](int i, int j) {
      double sum = 0;

      for (int k = 0; k < n; k++) sum += X[transpose ? k * n + i : i * n + k] * Y[k * n + j];
      Z[i * n + j] = sum;
    });
  }
  /* X = the integrals of a weight times products of the kind's functions, or of their derivatives */
  __device__ void matrix(const PatchFDFitKind &kind, int k, int c, const double *w, const double *basis, const double *weight, bool zero, double *X) const
  {
    entries([&](int i, int j) {
      double sum = 0;

      for (int cell = 0; cell < (int)kind.ncells && !zero; cell++) {
        const int a = i + (int)kind.lower - cell * k, b = j + (int)kind.lower - cell * k;

        if (a < 0 || a > k || b < 0 || b > k) continue;
        for (int q = 0; q < c; q++) sum += w[q] * weight[cell * c + q] * basis[q * (k + 1) + a] * basis[q * (k + 1) + b];
      }
      X[i * n + j] = sum;
    });
  }
  /* M = L L' in place of M, column by column */
  __device__ void cholesky() const
  {
    for (int j = 0; j < n; j++) {
      const double root = sqrt(M[j * n + j]);

      __syncwarp();
      for (int i = j + lane; i < n; i += fit_warp) M[i * n + j] = i == j ? root : M[i * n + j] / root;
      __syncwarp();
      for (int e = lane; e < (n - j - 1) * (n - j - 1); e += fit_warp) {
        const int i = j + 1 + e / (n - j - 1), k = j + 1 + e % (n - j - 1);

        if (k <= i) M[i * n + k] -= M[i * n + j] * M[k * n + j];
      }
      __syncwarp();
    }
  }
  /* X = L^{-1} X or L^{-T} X: a lane a column */
  __device__ void solve(bool transpose, double *X) const
  {
    for (int j = lane; j < n; j += fit_warp) {
      for (int s = 0; s < n; s++) {
        const int i = transpose ? n - 1 - s : s;
        double    sum = X[i * n + j];

        for (int k = transpose ? i + 1 : 0; k < (transpose ? n : i); k++) sum -= M[transpose ? k * n + i : i * n + k] * X[k * n + j];
        X[i * n + j] = sum / M[i * n + i];
      }
    }
    __syncwarp();
  }
  __device__ void transpose(double *X) const
  {
    for (int e = lane; e < n * n; e += fit_warp) {
      const int i = e / n, j = e % n;

      if (i <= j) continue;
      const double x = X[i * n + j];

      X[i * n + j] = X[j * n + i];
      X[j * n + i] = x;
    }
    __syncwarp();
  }
  __device__ bool diagonal(double tolerance, const double *X) const
  {
    double off = 0, trace = 0;

    for (int i = 0; i < n; i++) trace += X[i * n + i];
    for (int e = lane; e < n * n; e += fit_warp)
      if (e / n > e % n) off = fmax(off, fabs(X[e]));
    for (int step = fit_warp / 2; step > 0; step /= 2) off = fmax(off, __shfl_xor_sync(~0u, off, step));
    return !(off > tolerance * fabs(trace));
  }
  /* eigenvalues on the diagonal of A, V times the eigenvectors: Jacobi's method */
  __device__ void jacobi(double tolerance) const
  {
    for (int sweep = 0; sweep < 30 && !diagonal(tolerance, A); sweep++) {
      for (int p = 0; p < n; p++) {
        for (int q = p + 1; q < n; q++) {
          const double off = A[p * n + q], theta = off == 0 ? 0 : (A[q * n + q] - A[p * n + p]) / (2 * off);
          const double t = off == 0 ? 0 : (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = rsqrt(t * t + 1), s = t * c;

          __syncwarp();
          for (int i = lane; i < 2 * n; i += fit_warp) rotate(c, s, i < n ? A + i * n : V + (i - n) * n, p, q);
          __syncwarp();
          for (int i = lane; i < n; i += fit_warp) rotate(c, s, A + i, p * n, q * n);
          __syncwarp();
        }
      }
    }
  }
  __device__ static void rotate(double c, double s, double *x, int p, int q)
  {
    const double u = x[p], v = x[q];

    x[p] = c * u - s * v;
    x[q] = s * u + c * v;
  }
  /* S from a guess S, eigenvalues on the diagonal of A; A and M are overwritten */
  __device__ void eigen(double tolerance) const
  {
    product(false, A, S, work);
    product(true, S, work, A);
    product(false, M, S, work);
    product(true, S, work, M);
    cholesky();
    solve(false, A);
    transpose(A);
    solve(false, A);
    entries([&](int i, int j) { V[i * n + j] = i == j; });
    jacobi(tolerance);
    solve(true, V);
    product(false, S, V, work);
    entries([&](int i, int j) { S[i * n + j] = work[i * n + j]; });
  }
  /* S, lambda, diagonals of A and M, which are there before */
  template <typename T>
  __device__ void record(const double *guess, T *out) const
  {
    double largest = 0;

    for (int i = lane; i < n; i += fit_warp) {
      out[n * (n + 1) + i] = (T)A[i * n + i];
      out[n * (n + 2) + i] = (T)M[i * n + i];
    }
    entries([&](int i, int j) { S[i * n + j] = guess[i * n + j]; });
    eigen(sizeof(T) == 4 ? 1e-9 : 1e-13);
    for (int i = 0; i < n; i++) largest = fmax(largest, A[i * n + i]);
    entries([&](int i, int j) { out[i * n + j] = (T)S[i * n + j]; });
    for (int i = lane; i < n; i += fit_warp) out[n * n + i] = (T)(A[i * n + i] > 1e-12 * largest ? A[i * n + i] : 0); /* what rounding makes of zero */
  }
};

template <typename T>
static __global__ void __launch_bounds__(96) FitNumbersKernel(const __grid_constant__ FitSource<T> s)
{
  extern __shared__ double     fit_numbers[]; /* [dim][5][n n] */
  __shared__ FitPatchMeans     m;
  __shared__ double            work[3];
  const int                    dim = s.metric.dim, c = s.metric.points, k = s.degree, M = 2 * k + 1, d = (int)threadIdx.x / fit_warp;
  const size_t                 p = blockIdx.x;
  const int                   *cell = s.cell + 3 * p;
  const PatchFDFitKind        *kind = s.kinds.kind[d];
  FitPatchCells                cells;
  FitWarp                      warp;
  bool                         close;

  for (int e = 0; e < 3; e++) cells.n[e] = min(2, s.low[e] + s.count[e] - cell[e]);
  FitPatchMean(s, cell, cells, &m);
  close = FitIsClose(s, cell, cells, &m, work);
  if (threadIdx.x == 0) {
    for (int e = 0; e < 3; e++) s.g[4 * p + e] = (T)(!s.shared ? 1 : (e < dim && s.metric.stiff ? exp(m.total[e]) : 0));
    s.g[4 * p + 3] = (T)m.shift;
    s.close[p]     = close;
  }
  if (s.shared) return;
  FitWeigh(dim, 2 * c, &m);
  while ((int)kind->ncells != cells.n[d] || (int)kind->lower != s.first[3 * p + d] - cell[d] * k || (int)kind->n != s.n[3 * p + d]) kind++;
  warp.n    = (int)kind->n;
  warp.lane = (int)threadIdx.x % fit_warp;
  warp.A    = fit_numbers + d * 5 * M * M;
  warp.M    = warp.A + M * M;
  warp.S    = warp.M + M * M;
  warp.V    = warp.S + M * M;
  warp.work = warp.V + M * M;
  warp.matrix(*kind, k, c, s.w, s.D, m.A[d], !s.metric.stiff, warp.A);
  warp.matrix(*kind, k, c, s.w, s.B, m.M[d], false, warp.M);
  warp.record(s.constants + kind->record, s.records + s.record[3 * p + d]);
}

/* ---- launches ---- */

/* the metric of all cells, in `memory` */
template <typename T>
static PetscErrorCode FitMetricCreate(const PointsGeneric<T> &g, const PatchFDRule *rule, PlanMemory *memory, FitMetric *m, cudaStream_t stream)
{
  const size_t cells  = (size_t)g.cells;
  const int    npoint = (int)g.size, threads = RoundUp(PetscMin(npoint, 256), fit_warp);
  const size_t shared = (size_t)(g.dim * npoint) * sizeof(double);
  FitWeights   w      = {};

  PetscFunctionBegin;
  *m          = {};
  m->dim      = g.dim;
  m->points   = g.c;
  m->npoint   = npoint;
  m->stiff    = g.stiff;
  m->hasshift = g.shift;
  for (int i = 0; i < g.c; i++) w.w[i] = rule->w[i];
  PetscCall(memory->malloc(cells * (size_t)(g.dim * g.dim * g.c), &m->mean));
  PetscCall(memory->malloc(cells, &m->shift));
  PetscCall(memory->malloc(cells, &m->cross));
  PetscCall(memory->malloc(g.stiff ? cells * (size_t)(g.dim * npoint) : 0, &m->log));
  PetscCall(memory->malloc(g.shift ? cells * (size_t)npoint : 0, &m->logshift));
  if (!cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AllowShared(FitMeansKernel<T>, shared));
  FitMeansKernel<T><<<(unsigned)cells, threads, shared, stream>>>(g, w, *m);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g, records behind those of constants, and which patches are close, on the host */
template <typename T>
static PetscErrorCode FitNumbersCreate(const PatchFDFit *fit, const PatchFDFitRule *rule, const PointsGeneric<T> &generic, T *g, T *records, char close[])
{
  const size_t n      = (size_t)fit->npatch, M = (size_t)(2 * fit->degree + 1);
  const size_t shared = fit->shared ? 0 : (size_t)fit->dim * 5 * M * M * sizeof(double);
  PlanMemory   memory;
  PatchFDRule  points;
  FitSource<T> s = {};
  int         *number;
  size_t      *record;
  double      *w;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PatchFDRuleCreate(fit->degree, generic.c, &points));
  PetscCall(FitMetricCreate(generic, &points, &memory, &s.metric, stream));
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < PATCHFD_FIT_MAX_KINDS; i++) s.kinds.kind[d][i] = fit->kind[d][i];
    s.low[d]   = (int)fit->cells[d][0];
    s.count[d] = (int)(fit->cells[d][1] - fit->cells[d][0]);
  }
  s.degree    = (int)fit->degree;
  s.shared    = fit->shared;
  s.stable    = rule->stable;
  s.condition = PatchFDFitOneStep(rule);
  s.g         = g;
  s.records   = records;
  PetscCall(memory.upload(3 * n, fit->cell, &number));
  s.cell = number;
  PetscCall(memory.upload(3 * n, fit->first, &number));
  s.first = number;
  PetscCall(memory.upload(3 * n, fit->n, &number));
  s.n = number;
  PetscCall(memory.upload(3 * n, fit->record, &record));
  s.record = record;
  PetscCall(memory.upload((size_t)points.points, points.w, &w));
  s.w = w;
  PetscCall(memory.upload((size_t)(points.points * points.nodes), points.B, &w));
  s.B = w;
  PetscCall(memory.upload((size_t)(points.points * points.nodes), points.D, &w));
  s.D = w;
  PetscCall(memory.upload((size_t)fit->nconstant, fit->constants, &w));
  s.constants = w;
  PetscCall(memory.upload(n, close, &s.close));
  PetscCall(PatchFDRuleDestroy(&points));
  if (n) {
    PetscCall(AllowShared(FitNumbersKernel<T>, shared));
    FitNumbersKernel<T><<<(unsigned)n, (unsigned)(fit->dim * fit_warp), shared, stream>>>(s);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(close, s.close, n, cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  PetscCall(memory.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
