/*
  Operators of solids by quadrature, whose components are coupled (src/host/solid.h has the formulas): a thread a column of points in z, a
  layer of threads (threadIdx.z) a cell.  Of all components the values and the derivatives in z at the points of its column are in the
  registers of a thread; planes of them go through shared memory, one after another.
*/
#pragma once
#include "base/invert.cuh"
#include "points/factors.cuh"

namespace patchfd
{

static constexpr int solid_degrees = 4; /* of kernels that know the sizes of cells */

template <typename T>
struct SolidArguments {
  int             dim, n, c, m; /* nodes, points and points of the projection in a direction; m = 0: no projection */
  int             cells, per;   /* per: of a block */
  bool            mass;
  int             count[2];   /* cells of the box in x and y */
  PointsDivisor   row, plane; /* count[0], count[0] * count[1] */
  PointsBox       from[3], to[3];
  size_t          x0[3], y0[3]; /* where components begin */
  const unsigned *index; /* [cells][n^dim] in place of boxes: nodes, whose components lie one after another, or points_none; or NULL */
  const T        *B, *D, *C, *L; /* [c][n], [c][n], [c][c], [c][m] */
  const T        *factors, *N;   /* at(); [cells][m^dim][m^dim] */
  const T        *x;             /* NULL: a unit vector in each cell, number `column`, of whose product */
  T  *y, *matrices, alpha;       /* column `column` of matrices[cells][rows][columns] is set, or if that is NULL, its entry there added */
  int column;

  /* the first of the numbers of a point, which are planes[1] apart: J^{-1}[reference direction][direction], then w |J|, lambda w |J|, mu w
     |J| and shift w |J| */
  __host__ __device__ int       numbers() const { return dim * dim + 3 + (mass ? 1 : 0); }
  __host__ __device__ int       lanes() const { return per * c * c; }
  __host__ __device__ ptrdiff_t at(int cell, int z) const
  {
    return ((ptrdiff_t)(cell / per) * (dim == 3 ? c : 1) + z) * numbers() * lanes() + cell % per * c * c;
  }
  __host__ __device__ int planes() const { return PetscMax(n, 2 * dim); }                         /* that a cell has in shared memory */
  __host__ __device__ int shared() const { return c * (2 * n + c + m) + per * planes() * c * c; } /* numbers of a block */
};

/* one cell; NODES and POINTS of a direction, or 0 if they are known at run time only */
template <typename T, int DIM, int NODES, int POINTS>
struct SolidCell {
  static constexpr int most = POINTS ? POINTS : points_max, most_nodes = NODES ? NODES : points_max;

  const SolidArguments<T> &a;
  const T                 *B, *D, *C, *L;
  T                       *S; /* planes of c^2 numbers in shared memory */
  int                      p, q, cell;
  T                        v[DIM][most], t[DIM][most], s[most]; /* values, derivatives in z, w |J| L N L' (w |J| div u) */

  __device__ __forceinline__ int      n() const { return NODES ? NODES : a.n; }
  __device__ __forceinline__ int      c() const { return POINTS ? POINTS : a.c; }
  __device__ __forceinline__ int      levels() const { return DIM == 3 ? c() : 1; }
  __device__ __forceinline__ int      slices(int nodes) const { return DIM == 3 ? nodes : 1; }
  __device__ __forceinline__ T       &plane(int k, int j, int i) const { return S[(k * c() + j) * c() + i]; }
  __device__ __forceinline__ const T *factor(int z) const { return a.factors + a.at(cell, z) + q * c() + p; }

  /* w[k] in the threads p, q < rows = the product with X[rows][cols] in x and y of what it is in the threads p, q < cols; or, transposed,
     with X'[rows][cols] */
  __device__ __forceinline__ void planes(int count, const T *X, bool transposed, int rows, int cols, T *w) const
  {
    const int along = transposed ? rows : 1, across = transposed ? 1 : cols; /* X[r * across + i * along] */

    for (int k = 0; k < count; k++) plane(k, q, p) = w[k];
    __syncthreads();
    for (int k = 0; k < count && p < rows && q < cols; k++) {
      T sum = 0;

      for (int i = 0; i < cols; i++) sum += X[p * across + i * along] * plane(k, q, i);
      w[k] = sum;
    }
    __syncthreads();
    for (int k = 0; k < count; k++) plane(k, q, p) = w[k];
    __syncthreads();
    for (int k = 0; k < count && p < rows && q < rows; k++) {
      T sum = 0;

      for (int j = 0; j < cols; j++) sum += X[q * across + j * along] * plane(k, j, p);
      w[k] = sum;
    }
    __syncthreads();
  }
  /* from the nodes of component e, in z */
  __device__ __forceinline__ void forward(int e, T *w)
  {
    planes(slices(n()), B, false, c(), n(), w);
    if (DIM == 2) v[e][0] = w[0];
#pragma unroll
    for (int z = 0; z < levels() && DIM == 3; z++) {
      v[e][z] = t[e][z] = 0;
      for (int k = 0; k < n(); k++) {
        v[e][z] += B[z * n() + k] * w[k];
        t[e][z] += D[z * n() + k] * w[k];
      }
    }
  }
  /* the adjoint */
  __device__ __forceinline__ void backward(int e, T *w) const
  {
    if (DIM == 2) w[0] = v[e][0];
#pragma unroll
    for (int k = 0; k < slices(n()) && DIM == 3; k++) {
      w[k] = 0;
      for (int z = 0; z < c(); z++) w[k] += B[z * n() + k] * v[e][z] + D[z * n() + k] * t[e][z];
    }
    planes(slices(n()), B, true, n(), c(), w);
  }
  /* H[e][b] = derivative of component e in direction b at level z of the column */
  __device__ __forceinline__ void gradient(int z, const T J[DIM][DIM], T H[DIM][DIM]) const
  {
#pragma unroll
    for (int e = 0; e < DIM; e++) plane(e, q, p) = v[e][z];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < DIM; e++) {
      T d[3] = {};

      for (int i = 0; i < c(); i++) {
        d[0] += C[p * c() + i] * plane(e, q, i);
        d[1] += C[q * c() + i] * plane(e, i, p);
      }
      if (DIM == 3) d[2] = t[e][z];
#pragma unroll
      for (int b = 0; b < DIM; b++) {
        H[e][b] = 0;
#pragma unroll
        for (int r = 0; r < DIM; r++) H[e][b] += d[r] * J[r][b];
      }
    }
    __syncthreads();
  }
  /* J^{-1} at level z and what scales stresses there: w |J|, lambda w |J|, mu w |J|, shift w |J| */
  __device__ __forceinline__ void numbers(int z, T J[DIM][DIM], T scale[4]) const
  {
    const T        *f     = factor(z);
    const ptrdiff_t apart = a.lanes();

#pragma unroll
    for (int r = 0; r < DIM; r++)
#pragma unroll
      for (int b = 0; b < DIM; b++) J[r][b] = f[(r * DIM + b) * apart];
#pragma unroll
    for (int i = 0; i < 4; i++) scale[i] = i < 3 || a.mass ? f[(DIM * DIM + i) * apart] : T(0);
  }
  /* s = L N L' (w |J| div u) */
  __device__ __forceinline__ void pressure()
  {
    const int m = a.m, size = PointsPower(m, DIM);
    const T  *N = a.N + (ptrdiff_t)cell * size * size;
    T         y[most], sum[most];

    for (int k = 0; k < slices(m); k++) y[k] = 0;
    for (int z = 0; z < levels(); z++) {
      T J[DIM][DIM], H[DIM][DIM], scale[4], trace = 0;

      numbers(z, J, scale);
      gradient(z, J, H);
#pragma unroll
      for (int e = 0; e < DIM; e++) trace += H[e][e];
      for (int k = 0; k < slices(m); k++) y[k] += (DIM == 3 ? L[z * m + k] : T(1)) * scale[0] * trace;
    }
    planes(slices(m), L, true, m, c(), y);
    for (int k = 0; k < slices(m) && p < m && q < m; k++) S[(k * m + q) * m + p] = y[k];
    __syncthreads();
    for (int k = 0; k < slices(m); k++) {
      sum[k] = 0;
      for (int i = 0; i < size && p < m && q < m; i++) sum[k] += N[((k * m + q) * m + p) * size + i] * S[i];
    }
    __syncthreads();
    planes(slices(m), L, false, c(), m, sum);
    for (int z = 0; z < levels(); z++) {
      s[z] = DIM == 3 ? T(0) : sum[0];
      for (int k = 0; k < m && DIM == 3; k++) s[z] += L[z * m + k] * sum[k];
    }
  }
  /* values and derivatives become those of the functions that are tested with, at level z */
  __device__ __forceinline__ void stresses(int z)
  {
    T J[DIM][DIM], H[DIM][DIM], scale[4], pressure = 0;

    numbers(z, J, scale);
    gradient(z, J, H);
#pragma unroll
    for (int e = 0; e < DIM; e++) pressure += H[e][e];
    pressure = a.m ? scale[0] * s[z] : scale[1] * pressure;
#pragma unroll
    for (int e = 0; e < DIM; e++) {
      T flux[3] = {};

#pragma unroll
      for (int r = 0; r < DIM; r++) {
        flux[r] = pressure * J[r][e];
#pragma unroll
        for (int b = 0; b < DIM; b++) flux[r] += scale[2] * (H[e][b] + H[b][e]) * J[r][b];
      }
      plane(e, q, p)       = flux[0];
      plane(DIM + e, q, p) = flux[1];
      if (DIM == 3) t[e][z] = flux[2];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < DIM; e++) {
      T sum = scale[3] * v[e][z];

      for (int i = 0; i < c(); i++) sum += C[i * c() + p] * plane(e, q, i) + C[i * c() + q] * plane(DIM + e, i, p);
      v[e][z] = sum;
    }
    __syncthreads();
  }
};

/* of the nodes of component e in the column of a thread */
template <int DIM, typename T>
static __device__ __forceinline__ PointsColumn SolidColumn(const SolidArguments<T> &a, const PointsBox &box, int n, int cell, int p, int q,
                                                           int e)
{
  const int    z = a.plane(cell), rest = cell - z * a.count[0] * a.count[1], y = a.row(rest);
  PointsNodes  nodes;
  PointsColumn column;

  nodes.count[0] = nodes.count[1] = nodes.count[2] = 0; /* nobody asks who shares them */
  PointsBoxColumn(nodes, box, n, DIM, rest - y * a.count[0], y, z, p, q, &column);
  column.index = a.index ? a.index + (size_t)cell * PointsPower(n, DIM) + q * n + p : NULL;
  column.ncomp = DIM;
  column.comp  = (unsigned)e;
  return column;
}

/* where its node k lies behind the begin of the component, or -1 */
static __device__ __forceinline__ ptrdiff_t SolidPlace(const PointsColumn &column, int n, int k)
{
  if (!column.index) return column.has<false>(k, 0) ? (ptrdiff_t)column.at<false>(k, 0) : -1;
  const unsigned number = column.number(n, k);

  return column.has<true>(k, number) ? (ptrdiff_t)column.at<true>(k, number) : -1;
}

/* the nodes of component e of the thread's column in x, or its part of the unit vector */
template <int DIM, typename T>
static __device__ __forceinline__ void SolidLoad(const SolidArguments<T> &a, int n, int cell, bool active, int p, int q, int e, T *w)
{
  const int nodes = DIM == 3 ? n : 1;

  active = active && p < n && q < n;
  if (!a.x) {
    for (int k = 0; k < nodes; k++) w[k] = a.column == ((e * nodes + k) * n + q) * n + p ? T(1) : T(0);
    return;
  }
  for (int k = 0; k < nodes; k++) w[k] = 0;
  if (!active) return;
  const PointsColumn column = SolidColumn<DIM>(a, a.from[e], n, cell, p, q, e);

  for (int k = 0; k < nodes; k++) {
    const ptrdiff_t at = SolidPlace(column, n, k);

    if (at >= 0) w[k] = a.x[a.x0[e] + at];
  }
}

/* y += alpha w at these nodes, or what is wanted of the column of the cell's matrix */
template <int DIM, typename T>
static __device__ __forceinline__ void SolidStore(const SolidArguments<T> &a, int n, int cell, bool active, int p, int q, int e, const T *w)
{
  const int nodes = DIM == 3 ? n : 1, rows = DIM * PointsPower(n, DIM);

  if (!active || p >= n || q >= n) return;
  const PointsColumn column = SolidColumn<DIM>(a, a.to[e], n, cell, p, q, e);

  for (int k = 0; k < nodes; k++) {
    const int       row = ((e * nodes + k) * n + q) * n + p;
    const ptrdiff_t at  = SolidPlace(column, n, k);

    if (a.matrices) a.matrices[((ptrdiff_t)cell * rows + row) * rows + a.column] = w[k];
    else if (at >= 0 && (a.x || row == a.column)) atomicAdd(a.y + a.y0[e] + at, a.alpha * w[k]);
  }
}

template <typename T, int DIM, int NODES, int POINTS>
static __global__ void SolidKernel(const __grid_constant__ SolidArguments<T> a)
{
  extern __shared__ double         shared_memory[];
  SolidCell<T, DIM, NODES, POINTS> s = {a};
  const int                        n = s.n(), c = s.c(), blocks = (a.cells + a.per - 1) / a.per;
  const int                        size[] = {c * n, c * n, c * c, c * a.m};
  const T *const                   from[] = {a.B, a.D, a.C, a.L};
  T                               *to     = (T *)shared_memory, w[SolidCell<T, DIM, NODES, POINTS>::most_nodes];

  s.p = (int)threadIdx.x;
  s.q = (int)threadIdx.y;
  s.B = to;
  s.D = s.B + size[0];
  s.C = s.D + size[1];
  s.L = s.C + size[2];
  for (int i = 0; i < 4; to += size[i], i++)
    for (int e = (int)((threadIdx.z * c + s.q) * c + s.p); e < size[i]; e += a.per * c * c) to[e] = from[i][e];
  s.S = to + (int)threadIdx.z * a.planes() * c * c;
  __syncthreads();
  for (int block = (int)blockIdx.x; block < blocks; block += (int)gridDim.x) {
    const int  cell   = block * a.per + (int)threadIdx.z;
    const bool active = cell < a.cells;

    s.cell = active ? cell : a.cells - 1;
    for (int e = 0; e < DIM; e++) {
      SolidLoad<DIM>(a, n, s.cell, active, s.p, s.q, e, w);
      s.forward(e, w);
    }
    if (a.m) s.pressure();
#pragma unroll
    for (int z = 0; z < s.levels(); z++) s.stresses(z);
    for (int e = 0; e < DIM; e++) {
      s.backward(e, w);
      SolidStore<DIM>(a, n, s.cell, active, s.p, s.q, e, w);
    }
  }
}

/* ---- set-up ---- */

/* the numbers of a point, a thread a point */
template <typename T, int DIM>
static __global__ void SolidFactorsKernel(const PointsMap map, const __grid_constant__ SolidArguments<T> a, T *factors, PointsBad *bad)
{
  const int      c      = map.c;
  const unsigned points = PointsPower(c, DIM);

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)a.cells * points; e += (size_t)gridDim.x * blockDim.x) {
    const int     cell = (int)(e / points), point = (int)(e % points), q[3] = {point % c, point / c % c, point / c / c};
    const double *k = map.kappa + (map.kappaconstant ? 0 : 2 * e), weight = map.w[q[0]] * map.w[q[1]] * (DIM == 3 ? map.w[q[2]] : 1);
    T            *f = factors + a.at(cell, q[2]) + q[1] * c + q[0];
    double        J[3][3], X[3][3], det;
    int           m = 0;

    PointsJacobian<DIM>(map, cell, q, J);
    det = PointsCofactors<DIM>(J, X);
    if (!(det > 0 && isfinite(det))) atomicMin(&bad->inverted, cell);
    for (int r = 0; r < DIM; r++)
      for (int b = 0; b < DIM; b++, m++) f[(ptrdiff_t)m * a.lanes()] = (T)(X[r][b] / det);
    for (int i = 0; i < (a.mass ? 4 : 3); i++, m++) {
      const double scale = i == 0 ? 1 : (i < 3 ? k[i - 1] : map.shift[map.shiftconstant ? 0 : e]);

      f[(ptrdiff_t)m * a.lanes()] = (T)(weight * det * scale);
    }
  }
}

/* C = A B */
template <typename T>
static __device__ void SolidProduct(int n, const double *A, const double *B, T *C)
{
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
    const int i = e / n, j = e % n;
    double    sum = 0;

    for (int k = 0; k < n; k++) sum += A[i * n + k] * B[k * n + j];
    C[e] = (T)sum;
  }
  __syncthreads();
}

/* the matrices N = M^{-1} M_lambda M^{-1} of cells, a block of threads a cell, with three matrices each to work in */
template <typename T, int DIM>
static __global__ void SolidProjectionKernel(const __grid_constant__ SolidArguments<T> a, double *work, T *N)
{
  const int c = a.c, m = a.m, n = PointsPower(m, DIM);
  double   *M = work + (size_t)blockIdx.x * 3 * n * n, *X = M + n * n, *P = X + n * n;

  for (int cell = (int)blockIdx.x; cell < a.cells; cell += (int)gridDim.x) {
    for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
      M[e] = X[e] = 0;
      for (int point = 0; point < PointsPower(c, DIM); point++) {
        const T *f = a.factors + a.at(cell, point / (c * c)) + point % (c * c) + (ptrdiff_t)(DIM * DIM) * a.lanes();
        double   l = 1;

        for (int d = 0, at = point, r = e / n, s = e % n; d < DIM; d++, at /= c, r /= m, s /= m)
          l *= (double)a.L[at % c * m + r % m] * (double)a.L[at % c * m + s % m];
        M[e] += l * (double)f[0];
        X[e] += l * (double)f[a.lanes()];
      }
    }
    __syncthreads();
    (void)BlockInvert(n, M);
    SolidProduct(n, M, X, P);
    SolidProduct(n, P, M, N + (size_t)cell * n * n);
  }
}

} // namespace patchfd
