/*
  How fits to closed cells are made (PatchFDCellFit in patchfd/private/fit.h):

    CellsFitKernel     a thread a cell and direction: weights of its matrices, and its numbers at both ends, from means of the metric
    CellsSidesKernel   a thread a side: these numbers to the sums at nodes, and what stands on the other side
    CellsRobinKernel   a thread a side with a condition
    CellsEigenKernel   a team of threads a cell and direction: the matrices with what stands on the other side, their eigenvectors
    CellsScaleKernel   a thread a node of a cell: C
*/
#pragma once
#include "fit/make.cuh"

namespace patchfd
{

template <typename T>
struct CellsMaker {
  int             dim, n, c, cells; /* nodes and points in a direction */
  bool            stiff;
  unsigned        ncomp;
  const unsigned *index;              /* as in PointsNodes */
  const T        *w, *B, *D, *guess;  /* [c], [c][n], [c][n], [n][n] */
  T              *weight, *diagonals; /* [cell][direction][A, M][c], [cell][direction][A, M][n] */
  double         *level, *end, *other;

  __device__ int line() const { return (int)(blockIdx.x * blockDim.x + threadIdx.x); }
  /* where the numbers of a side are, or of the first side of a direction of a cell */
  __device__ size_t side(int at) const { return (size_t)at * PATCHFD_CELL_END; }
};

template <typename T>
static __global__ void CellsFitKernel(const __grid_constant__ CellsMaker<T> m, const T *mean)
{
  const int line = m.line(), dim = m.dim, c = m.c, b = line % dim;
  double    total[3] = {}, sum = 0;

  if (line >= m.cells * dim) return;
  mean += (size_t)(line / dim) * (dim * dim * c);
  for (int a = 0; a < dim; a++) {
    for (int q = 0; q < c && m.stiff; q++) total[a] += m.w[q] * mean[a * dim * c + q];
    sum += total[a];
  }
  const double level = (sum - total[b]) / (dim - 1);
  T           *A = m.weight + (size_t)line * (2 * c), *M = A + c;
  double      *end = m.end + m.side(2 * line);

  m.level[line] = exp(level);
  for (int e = 0; e < 2 * PATCHFD_CELL_END; e++) end[e] = e % PATCHFD_CELL_END == 2 ? exp((total[b] + level) / 2) : 0;
  for (int q = 0; q < c; q++) {
    double log = 0;

    for (int a = 0; a < dim && m.stiff; a++)
      if (a != b) log += mean[(a * dim + b) * c + q] - total[a];
    A[q] = m.stiff ? exp(mean[(b * dim + b) * c + q]) : T(0);
    M[q] = (T)exp(log / (dim - 1));
    for (int e = 0; e < 2; e++) {
      const double D = m.D[q * m.n + e * (m.n - 1)], B = m.B[q * m.n + e * (m.n - 1)];

      end[e * PATCHFD_CELL_END] += m.w[q] * A[q] * D * D;
      end[e * PATCHFD_CELL_END + 1] += m.w[q] * M[q] * B * B * m.level[line];
    }
  }
}

/* number k of each side: to the sums at the nodes inside of it, or what is on the other side from these */
template <typename T, bool add>
static __global__ void CellsSidesKernel(const __grid_constant__ CellsMaker<T> m, int k, double *sums)
{
  const int at = m.line(), n = m.n, d = at / 2 % m.dim, size = PointsPower(n, m.dim), stride = d == 0 ? 1 : (d == 1 ? n : n * n),
            a = d == 0 ? n : 1, b = m.dim == 3 ? (d == 2 ? n : n * n) : 0, first = at % 2 * (n - 1) * stride, rows = b ? n : 1;

  if (at >= m.cells * m.dim * 2) return;
  const unsigned *index = m.index + (size_t)(at / (2 * m.dim)) * size + first;
  const unsigned  inner = n > 2 ? index[a + b] : points_none;
  const double    own   = m.end[m.side(at) + k];

  if (add) {
    for (int j = 1; j < max(2, rows - 1) && inner != points_none; j++)
      for (int i = 1; i < n - 1; i++) atomicAdd(sums + (size_t)(index[i * a + j * b] & points_node) * m.ncomp, own);
    return;
  }
  bool fixed = inner == points_none;

  for (int i = 0; i < n * rows && fixed; i++) fixed = index[i % n * a + i / n * b] == points_none;
  m.other[m.side(at) + k] = fixed ? -1 : (n == 2 ? own : (inner == points_none ? 0 : sums[(size_t)(inner & points_node) * m.ncomp] - own));
}

template <typename T>
static __global__ void CellsRobinKernel(const __grid_constant__ CellsMaker<T> m, int sides, const int *side, const double *mean)
{
  const int i = m.line();

  if (i >= sides) return;
  double *other = m.other + m.side(side[i]);

  if (other[2] < 0) return;
  if (other[2] == 0) other[2] = m.end[m.side(side[i]) + 2];
  other[0] += fmax(0.0, mean[i]);
}

template <typename T>
static __global__ void CellsCountKernel(const __grid_constant__ CellsMaker<T> m, size_t nodes, double *sums)
{
  const size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

  if (e < nodes && m.index[e] != points_none) atomicAdd(sums + (size_t)(m.index[e] & points_node) * m.ncomp, 1.0);
}

template <typename T, int TEAM>
static __global__ void __launch_bounds__(fit_threads) CellsEigenKernel(const __grid_constant__ CellsMaker<T> m, T *record)
{
  extern __shared__ double fit_numbers[];
  const int                n = m.n, line = (int)blockIdx.x * (fit_threads / TEAM) + (int)threadIdx.x / TEAM;

  if (line >= m.cells * m.dim) return;
  const FitTeam<TEAM>  t(fit_numbers, n, n);
  const PatchFDFitKind cell   = {1, n, 0, 0};
  const T             *weight = m.weight + (size_t)line * (2 * m.c);

  t.matrix(cell, n - 1, m.c, m.w, m.D, weight, !m.stiff, t.A);
  t.matrix(cell, n - 1, m.c, m.w, m.B, weight + m.c, false, t.M);
  for (int e = 0; e < 2; e++) {
    const double *own = m.end + m.side(2 * line + e), *other = m.other + m.side(2 * line + e);
    const int     at = e * (n - 1);

    for (int i = t.lane; i < n && other[2] < 0; i += TEAM)
      if (i != at) t.A[i * n + at] = t.A[at * n + i] = t.M[i * n + at] = t.M[at * n + i] = 0;
    if (other[2] > 0 && t.lane == 0) {
      const double f = fmax(1.0, own[2] / other[2]);

      t.A[at * n + at] += f * other[0];
      t.M[at * n + at] += f * other[1] / m.level[line];
    }
    t.sync();
  }
  t.record(m.guess, record + (size_t)line * (n * (n + 1)), m.diagonals + (size_t)line * (2 * n));
}

/* C, and whether there is an entry of the diagonal that is not positive */
template <typename T>
static __global__ void CellsScaleKernel(const __grid_constant__ CellsMaker<T> m, size_t nodes, const double *count, const T *diagonal,
                                        const T *shift, T *scale, int *bad)
{
  const size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  const int    n = m.n, size = PointsPower(n, m.dim), cell = (int)(e / size), node = (int)(e % size);
  const int    at[3] = {node % n, node / n % n, node / n / n};
  double       sum = 0, product = 1;

  if (e >= nodes) return;
  const unsigned number = m.index[e];

  for (int d = 0; d < m.dim; d++) {
    const T *A = m.diagonals + ((size_t)cell * m.dim + d) * (2 * n);

    sum = sum * A[n + at[d]] + A[at[d]] * product;
    product *= A[n + at[d]];
  }
  const size_t place = (size_t)(number & points_node) * m.ncomp;
  const double entry = number == points_none ? 1 : (double)diagonal[place];

  if (!(entry > 0 && entry < PETSC_MAX_REAL)) *bad = 1;
  scale[e] = number == points_none ? T(1) : (T)sqrt((sum + shift[cell] * product) / (entry * count[place]));
}

/* numbers of nodes as those of a mesh, for cells of a box */
template <typename T>
static __global__ void CellsIndexKernel(const __grid_constant__ PointsGeneric<T> g, const __grid_constant__ PointsNodes nodes, size_t count,
                                        unsigned *index)
{
  const size_t e    = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  const int    size = PointsPower(g.n, g.dim);

  if (e >= count) return;
  index[e] = points_none;
  g.node(nodes, (int)(e / size), (int)(e % size), 0, true, [&](unsigned at, bool shared) { index[e] = at | (shared ? points_shared : 0); });
}

/* ---- launches ---- */

static inline unsigned CellsBlocks(size_t threads)
{
  return (unsigned)((threads + fit_threads - 1) / fit_threads);
}

/* eigenvectors of constants, which others are near */
static PetscErrorCode CellsGuess(const PatchFDPoints *nodes, PetscInt gauss, std::vector<PetscReal> &record)
{
  PatchFDPoints  one = *nodes;
  PatchFDCellFit fit;

  PetscFunctionBegin;
  one.ncells = 1;
  PetscCall(PatchFDHostCellFitCreate(&one, gauss, &fit));
  for (PetscInt i = 0; i < one.dim * 2 * fit.rule.points; i++) fit.weight[i] = 1;
  record.resize((size_t)(one.dim * PatchFDFitRecordSize(one.degree + 1)));
  PetscCall(PatchFDHostCellFitRecords(&fit, record.data()));
  PetscCall(PatchFDHostCellFitDestroy(&fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* everything that is known before neighbours are; shift: [cells], in memory that stays */
template <typename T>
static PetscErrorCode CellsMakerCreate(const PatchFDPoints *nodes, const PointsGeneric<T> &g, const unsigned *index, PoolMemory *memory,
                                       T *shift, CellsMaker<T> *m)
{
  const PetscInt         gauss = g.gauss ? g.c : 0;
  const size_t           lines = (size_t)g.cells * (size_t)g.dim;
  std::vector<PetscReal> guess;
  PatchFDRule            rule;
  FitMetric<T>           metric;
  T                     *a;
  cudaStream_t           stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PatchFDRuleCreate(nodes->degree, gauss, &rule));
  PetscCall(CellsGuess(nodes, gauss, guess));
  PetscCall(FitMetricCreate(g, &rule, false, memory, &metric, stream));
  *m       = {};
  m->dim   = g.dim;
  m->n     = g.n;
  m->c     = g.c;
  m->cells = g.cells;
  m->stiff = g.stiff;
  m->ncomp = (unsigned)nodes->ncomp;
  m->index = index;
  PetscCall(memory->send((size_t)g.c, rule.w, &a));
  m->w = a;
  PetscCall(memory->send((size_t)(g.c * g.n), rule.B, &a));
  m->B = a;
  PetscCall(memory->send((size_t)(g.c * g.n), rule.D, &a));
  m->D = a;
  PetscCall(memory->send((size_t)(g.n * g.n), guess.data(), &a));
  m->guess = a;
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscCall(memory->borrow(lines * (size_t)(2 * g.c), &m->weight));
  PetscCall(memory->borrow(lines * (size_t)(2 * g.n), &m->diagonals));
  PetscCall(memory->borrow(lines, &m->level));
  PetscCall(memory->borrow(lines * 2 * PATCHFD_CELL_END, &m->end));
  PetscCall(memory->borrow(lines * 2 * PATCHFD_CELL_END, &m->other));
  if (!lines) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(shift, metric.shift, (size_t)g.cells * sizeof(T), cudaMemcpyDeviceToDevice, stream));
  CellsFitKernel<T><<<CellsBlocks(lines), fit_threads, 0, stream>>>(*m, metric.mean);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode CellsMakerSides(const CellsMaker<T> &m, PetscInt k, PetscBool add, double *sums)
{
  const size_t sides = (size_t)m.cells * (size_t)(m.dim * 2);
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  if (!sides) PetscFunctionReturn(PETSC_SUCCESS);
  if (add) CellsSidesKernel<T, true><<<CellsBlocks(sides), fit_threads, 0, stream>>>(m, (int)k, sums);
  else CellsSidesKernel<T, false><<<CellsBlocks(sides), fit_threads, 0, stream>>>(m, (int)k, sums);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode CellsMakerRobin(const CellsMaker<T> &m, PetscCount sides, const PetscInt *side, const PetscReal *mean,
                                      PoolMemory *memory)
{
  int         *at;
  double      *h;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!sides) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(memory->send((size_t)sides, side, &at));
  PetscCall(memory->send((size_t)sides, mean, &h));
  CellsRobinKernel<T><<<CellsBlocks((size_t)sides), fit_threads, 0, stream>>>(m, (int)sides, at, h);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* records and C from the diagonal of A and the number of cells at nodes */
template <typename T>
static PetscErrorCode CellsMakerFinish(const CellsMaker<T> &m, const double *count, const T *diagonal, const T *shift, T *record, T *scale,
                                       PoolMemory *memory, PetscBool *positive)
{
  const size_t lines = (size_t)m.cells * (size_t)m.dim, nodes = (size_t)m.cells * (size_t)PointsPower(m.n, m.dim);
  int         *bad, found                                     = 0;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  *positive = PETSC_TRUE;
  if (!lines) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory->send(1, &found, &bad));
  PetscCall(FitTeams(m.n, [&](auto team) {
    constexpr int TEAM = decltype(team)::value, teams = fit_threads / TEAM;
    const size_t  shared = FitTeamsShared(m.n, TEAM);

    PetscFunctionBegin;
    PetscCall(AllowShared(CellsEigenKernel<T, TEAM>, shared));
    CellsEigenKernel<T, TEAM><<<(unsigned)((lines + teams - 1) / teams), fit_threads, shared, stream>>>(m, record);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  CellsScaleKernel<T><<<CellsBlocks(nodes), fit_threads, 0, stream>>>(m, nodes, count, diagonal, shift, scale, bad);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&found, bad, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *positive = (PetscBool)!found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
