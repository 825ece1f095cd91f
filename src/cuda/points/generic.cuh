/*
  Operators by quadrature (points.cuh): a team of threads a cell, for squares; the diagonal, for squares and cubes; nodes of no cell.
*/
#pragma once
#include "base/lines.cuh"
#include "points/factors.cuh"

namespace patchfd
{

template <typename T>
struct PointsGeneric {
  PointsLayout layout;
  PointsMap    map;
  const T     *factors;             /* NULL: from the map */
  const T     *B, *C;               /* [c][n], [c][c] */
  const T     *product[3];          /* [c][n]: B B, B D, D D entry by entry, for the diagonal */
  bool         gauss, stiff, shift; /* gauss: the points are not the nodes */
  int          n, c, dim, cells, ncomp;
  Team<T>      team;
  size_t       size; /* of a block of numbers */

  /* factors of a point; those that there are not are zero */
  __device__ void at(int cell, int point, T f[7]) const
  {
    const T *from = factors + (factors ? layout.at(cell, point) : 0);
    double   g[7] = {};

    if (!factors && dim == 3) PointsFactorsAt<3>(map, cell, point, g, NULL);
    else if (!factors) PointsFactorsAt<2>(map, cell, point, g, NULL);
#pragma unroll
    for (int m = 0; m < 7; m++) f[m] = !factors ? (T)g[m] : m < layout.numbers ? from[(ptrdiff_t)m * layout.lanes] : T(0);
  }
  /* f(where node e of a cell is, do other cells have it, too?) if it exists */
  template <typename F>
  __device__ void node(const PointsNodes &nodes, int cell, int e, int comp, bool write, F &&f) const
  {
    const PointsColumn column = PointsPlace(nodes, nodes.kind, n, dim, cell, e % n, e / n % n, comp, write);
    const int          k      = e / n / n;

    if (column.index) {
      const unsigned number = column.number(n, k);

      if (column.has<true>(k, number)) f(column.at<true>(k, number), column.shared<true>(n, k, number));
    } else if (column.has<false>(k, 0)) f(column.at<false>(k, 0), column.shared<false>(n, k, 0));
  }
};

/* from[] becomes the product with X or X' in all directions; returns where it is: one of the two blocks */
template <typename T>
static __device__ T *PointsAll(int dim, int rows, int cols, const T *X, bool transposed, T *from, T *to)
{
  int n[3] = {cols, dim > 1 ? cols : 1, dim == 3 ? cols : 1};

  for (int d = 0; d < dim; d++) {
    T *in = from;

    Contract(d, n, rows, transposed ? Matrix<T>{X, 1, rows} : Matrix<T>{X, cols, 1}, in, to, false);
    n[d] = rows;
    from = to;
    to   = in;
    __syncthreads();
  }
  return from;
}

/* fluxes g and rows u of the points of a cell; returns the sum of u'A u of the thread's points */
template <typename T>
static __device__ T PointsGenericFluxes(const PointsGeneric<T> &p, int cell, T *u, T *const g[3])
{
  const int dim    = p.dim;
  T         energy = 0;

  for (int q = threadIdx.x; q < PointsPower(p.c, dim); q += blockDim.x) {
    T f[7], in[3], mass;

    p.at(cell, q, f);
    mass = p.shift ? f[p.layout.numbers - 1] * u[q] : T(0);
    energy += u[q] * mass;
    u[q] = mass;
    if (!p.stiff) continue;
    for (int d = 0; d < dim; d++) in[d] = g[d][q];
    for (int d = 0; d < dim; d++) {
      T sum = 0;

      for (int b = 0; b < dim; b++) sum += f[PointsEntry(dim, min(d, b), max(d, b))] * in[b];
      energy += in[d] * sum;
      g[d][q] = sum;
    }
  }
  return energy;
}

/* y += alpha A x; blocks u and v, and one for each derivative */
template <typename T>
static __global__ void PointsGenericKernel(const __grid_constant__ PointsGeneric<T> p, const __grid_constant__ PointsArguments<T> arg)
{
  const int n = p.n, c = p.c, dim = p.dim, nodes = PointsPower(n, dim), points[3] = {c, c, dim == 3 ? c : 1};
  T *u = TeamMemory<T>(p.team.global, p.team.size), *v = u + p.size, *g[3] = {v + p.size, v + 2 * p.size, v + 3 * p.size}, energy = 0;

  if (arg.sweep && arg.sweep->stop) return;
  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < (size_t)p.cells * p.ncomp; base += (size_t)gridDim.x * blockDim.y) {
    const size_t item = base + threadIdx.y;
    const int    cell = (int)(item / p.ncomp), comp = (int)(item % p.ncomp);
    const bool   active = cell < p.cells;
    T           *in, *rows;

    for (int e = threadIdx.x; e < nodes; e += blockDim.x) {
      u[e] = 0;
      if (active) p.node(arg.nodes, cell, e, comp, false, [&](unsigned at, bool) { u[e] = arg.x[at]; });
    }
    __syncthreads();
    in   = !p.gauss ? u : PointsAll(dim, c, n, p.B, false, u, v);
    rows = in == u ? v : u;
    for (int d = 0; d < dim && p.stiff; d++) Contract(d, points, c, Matrix<T>{p.C, c, 1}, in, g[d], false);
    __syncthreads();
    if (active) energy += PointsGenericFluxes(p, cell, in, g);
    __syncthreads();
    for (int d = 0; d < dim && p.stiff; d++) {
      Contract(d, points, c, Matrix<T>{p.C, 1, c}, g[d], in, true);
      __syncthreads();
    }
    if (p.gauss) in = PointsAll(dim, n, c, p.B, true, in, rows);
    for (int e = threadIdx.x; e < nodes && active; e += blockDim.x)
      p.node(arg.nodes, cell, e, comp, true, [&](unsigned at, bool shared) { PointsAdd(arg, at, shared, in[e]); });
    __syncthreads();
  }
  if (arg.sweep) PointsSum(arg, energy);
}

/* ---- the diagonal ---- */

/* number m of a point's factors belongs to derivatives l and r, or to none: how many of them are in direction d */
static __device__ __forceinline__ int PointsDerivatives(int dim, bool stiff, int m, int d)
{
  const int l = dim == 3 ? (m < 3 ? 0 : (m < 5 ? 1 : 2)) : (m < 2 ? 0 : 1),
            r = dim == 3 ? (m < 3 ? m : (m < 5 ? m - 2 : 2)) : (m < 2 ? m : 1);

  return stiff && m < dim * (dim + 1) / 2 ? (l == d) + (r == d) : 0;
}

/* numbers that a team has in shared memory: factors, and what comes of them in the first direction */
template <typename T>
static size_t PointsDiagonalSize(const PointsGeneric<T> &p)
{
  const size_t last = p.dim == 3 ? (size_t)p.c : 1;

  return (size_t)p.layout.numbers * last * (size_t)(p.c * (p.c + p.n));
}

/* out[m][z][y][i] = sum over x of f[m][z][y][x] times the product of B and B, B and D or D and D that m has in the first direction */
template <typename T>
static __device__ __forceinline__ void PointsDiagonalFirst(const PointsGeneric<T> &p, int n, int c, int last, const T *f, T *out)
{
  const int rows = p.layout.numbers * c * last;

  for (int e = threadIdx.x; e < rows * n; e += blockDim.x) {
    const int row = e / n, i = e - row * n;
    const T  *X = p.product[PointsDerivatives(p.dim, p.stiff, row / (c * last), 0)] + i, *from = f + row * c;
    T         sum = 0;

    for (int x = 0; x < c; x++) sum += from[x] * X[x * n];
    out[e] = sum;
  }
}

/* out[t][z][j][i] = the sum of those m that have t derivatives in the third direction, over y, as before; twice where derivatives differ,
   which have two places in the metric */
template <typename T>
static __device__ __forceinline__ void PointsDiagonalSecond(const PointsGeneric<T> &p, int n, int c, int last, const T *f, T *out)
{
  const int types = p.dim == 3 && p.stiff ? 3 : 1;

  for (int e = threadIdx.x; e < types * last * n * n; e += blockDim.x) {
    const int i = e % n, j = e / n % n, plane = e / (n * n), type = plane / last, z = plane - type * last;
    T         sum = 0;

    for (int m = 0; m < p.layout.numbers; m++) {
      const int x = PointsDerivatives(p.dim, p.stiff, m, 0), y = PointsDerivatives(p.dim, p.stiff, m, 1);
      const T  *Y = p.product[y] + j, *from = f + (m * last + z) * c * n + i;
      T         part = 0;

      if (p.dim == 3 && PointsDerivatives(p.dim, p.stiff, m, 2) != type) continue;
      for (int q = 0; q < c; q++) part += from[q * n] * Y[q * n];
      sum += x == 1 || y == 1 ? 2 * part : part;
    }
    out[e] = sum;
  }
}

/* node e: the sum over all types, and over z */
template <typename T>
static __device__ __forceinline__ T PointsDiagonalThird(const PointsGeneric<T> &p, int n, int c, const T *f, int e)
{
  const int k = e / (n * n), node = e - k * n * n;
  T         sum = 0;

  if (p.dim == 2) return f[e];
  for (int type = 0; type < (p.stiff ? 3 : 1); type++)
    for (int z = 0; z < c; z++) sum += f[(type * c + z) * n * n + node] * p.product[type][z * n + k];
  return sum;
}

/* y += the diagonal: the squares of the functions, or products of their derivatives, times the factors at the points, direction by
   direction.  CUBE: nodes in a direction, with EXTRA more points, or 0 */
template <typename T, int CUBE, int EXTRA>
static __global__ void PointsDiagonalKernel(const __grid_constant__ PointsGeneric<T> p, const __grid_constant__ PointsArguments<T> arg)
{
  const int n = CUBE ? CUBE : p.n, c = CUBE ? CUBE + EXTRA : p.c, dim = CUBE ? 3 : p.dim, last = dim == 3 ? c : 1, points = last * c * c,
            nodes = PointsPower(n, dim);
  T *f = TeamMemory<T>(p.team.global, p.team.size), *first = f + p.layout.numbers * points;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < (size_t)p.cells; base += (size_t)gridDim.x * blockDim.y) {
    const int  cell   = (int)(base + threadIdx.y);
    const bool active = cell < p.cells;

    for (int e = threadIdx.x; e < points && active; e += blockDim.x) {
      const int q = dim == 3 && p.layout.own == 0 ? e % (c * c) * c + e / (c * c) : e; /* as the factors lie */
      T         v[7];

      p.at(cell, q, v);
#pragma unroll
      for (int m = 0; m < 7; m++)
        if (m < p.layout.numbers) f[m * points + q] = v[m];
    }
    __syncthreads();
    PointsDiagonalFirst(p, n, c, last, f, first);
    __syncthreads();
    PointsDiagonalSecond(p, n, c, last, first, f);
    __syncthreads();
    for (int e = threadIdx.x; e < nodes && active; e += blockDim.x) {
      const T sum = PointsDiagonalThird(p, n, c, f, e);

      for (int comp = 0; comp < p.ncomp; comp++)
        p.node(arg.nodes, cell, e, comp, true, [&](unsigned at, bool shared) { PointsAdd(arg, at, shared, sum); });
    }
    __syncthreads();
  }
}

/* the direction, and y = 0 from number `sum` on, where sums go to */
template <typename T>
static __global__ void PointsDirectionKernel(const __grid_constant__ PointsArguments<T> arg, size_t size, size_t sum)
{
  const size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

  if (at >= size || arg.sweep->stop) return;
  PointsDirection(arg, at);
  if (at >= sum) arg.y[at] = 0;
}

/* the nodes of a box that are not in a range */
static void PointsRest(const PatchFDBox &box, const Range &range, std::vector<int> &rest)
{
  const int n = (int)box.n[0], lo = (int)PetscMax(0, PetscMin(n, range.lo[0] - box.lo[0])),
            hi = (int)PetscMax(lo, PetscMin(n, range.hi[0] - box.lo[0]));
  int at       = 0;

  for (int k = 0; k < box.n[2]; k++) {
    for (int j = 0; j < box.n[1]; j++, at += n) {
      const bool row = lo < hi && range.contains((int)box.lo[0] + lo, (int)box.lo[1] + j, (int)box.lo[2] + k);

      for (int i = 0; i < (row ? lo : n); i++) rest.push_back(at + i);
      for (int i = hi; i < n && row; i++) rest.push_back(at + i);
    }
  }
}

/* the direction, and y = the same, at nodes that no row has */
template <typename T>
static __global__ void PointsRestKernel(const __grid_constant__ PointsArguments<T> arg, int count, const int *rest)
{
  const int e      = blockIdx.x * blockDim.x + threadIdx.x;
  T         energy = 0;

  if (arg.sweep->stop) return;
  for (unsigned comp = 0; comp < arg.nodes.ncomp && e < count; comp++) {
    const unsigned at = rest[e] * arg.nodes.ncomp + comp;
    const T        p  = PointsDirection(arg, at);

    arg.y[at] = p;
    energy += p * p;
  }
  PointsSum(arg, energy);
}

/* pw = the sum of sums[], by one block of 1024 threads */
static __global__ void PointsTotalKernel(const double *sums, PatchFDSweep *sweep)
{
  __shared__ double part[32];
  double            s = 0;

  if (sweep->stop) return;
  for (int i = threadIdx.x; i < points_sums; i += blockDim.x) s += sums[i];
  for (int i = 16; i; i /= 2) s += __shfl_down_sync(~0u, s, i);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  s = part[threadIdx.x];
  for (int i = 16; i; i /= 2) s += __shfl_down_sync(~0u, s, i);
  if (threadIdx.x == 0) sweep->pw = s;
}

} // namespace patchfd
