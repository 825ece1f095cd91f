/*
  The geometry of cells, and from it the factors at the points, for operators by quadrature (points.cuh): kernels that run once.

  With J = dx / d(r, s, t) and its cofactors C = |J| J^{-T}, whose rows are |J| grad of the reference coordinates, the factors are w / |J| C
  K C' and w |J| shift.
*/
#pragma once
#include "points/points.cuh"

namespace patchfd
{

/* maps of the cells and coefficients, always in double precision; c points in a direction, m nodes of the map */
struct PointsMap {
  int           dim, c, m, nkappa;
  bool          kappaconstant, shiftconstant;
  const double *B, *D, *w;                  /* [c][m], [c][m], [c] */
  const int    *index;                      /* [cells][m^dim] */
  const double *coordinate, *kappa, *shift; /* NULL: no such term */
};

/* which cell is not as it should be */
struct PointsBad {
  int inverted, kappa; /* the first such cells */
};

__host__ __device__ static int PointsPower(int n, int dim)
{
  return dim == 3 ? n * n * n : dim == 2 ? n * n : n;
}

/* the nodes of the maps of cells of a box of nodes, every step-th of a cell's: a thread a node */
static __global__ void PointsBoxIndexKernel(const PointsNodes nodes, int cells, int m, int step, int *index)
{
  const int size = PointsPower(m, nodes.dim), degree = nodes.n - 1;

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)cells * size; e += (size_t)gridDim.x * blockDim.x) {
    const int at = (int)(e % size), cell = (int)(e / size), x = cell % nodes.count[0], y = cell / nodes.count[0] % nodes.count[1],
              z = cell / nodes.count[0] / nodes.count[1];

    index[e] = (int)(nodes.x.base + x * degree + at % m * step + (y * degree + at / m % m * step) * nodes.x.row +
                     (z * degree + at / m / m * step) * nodes.x.plane);
  }
}

/* J[b] = dx / d(reference direction b) at a point of a cell */
template <int dim>
__device__ static void PointsJacobian(const PointsMap &map, int cell, const int q[3], double J[3][3])
{
  const int m = map.m, mz = dim == 3 ? m : 1, *node = map.index + (ptrdiff_t)cell * PointsPower(m, dim);

#pragma unroll
  for (int b = 0; b < 3; b++) J[b][0] = J[b][1] = J[b][2] = 0;
  for (int k = 0; k < mz; k++) {
    const double Bk = dim == 3 ? map.B[q[2] * m + k] : 1, Dk = dim == 3 ? map.D[q[2] * m + k] : 0;

    for (int j = 0; j < m; j++) {
      const double Bj = map.B[q[1] * m + j], Dj = map.D[q[1] * m + j];

      for (int i = 0; i < m; i++) {
        const double  Bi = map.B[q[0] * m + i], Di = map.D[q[0] * m + i], weight[3] = {Di * Bj * Bk, Bi * Dj * Bk, Bi * Bj * Dk};
        const double *x = map.coordinate + (ptrdiff_t)node[(k * m + j) * m + i] * dim;

#pragma unroll
        for (int b = 0; b < dim; b++)
#pragma unroll
          for (int a = 0; a < dim; a++) J[b][a] += weight[b] * x[a];
      }
    }
  }
}

/* cofactors C[b] and determinant of a matrix whose rows are M[b] */
template <int dim>
__device__ static double PointsCofactors(const double M[3][3], double C[3][3])
{
  if constexpr (dim == 2) {
    C[0][0] = M[1][1];
    C[0][1] = -M[1][0];
    C[1][0] = -M[0][1];
    C[1][1] = M[0][0];
    return M[0][0] * C[0][0] + M[0][1] * C[0][1];
  } else {
#pragma unroll
    for (int b = 0; b < 3; b++) {
      const double *u = M[(b + 1) % 3], *v = M[(b + 2) % 3];

#pragma unroll
      for (int a = 0; a < 3; a++) C[b][a] = u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
    }
    return M[0][0] * C[0][0] + M[0][1] * C[0][1] + M[0][2] * C[0][2];
  }
}

/* where entry (a, b), a <= b, of a symmetric matrix is: rr rs rt ss st tt, or rr rs ss */
__host__ __device__ constexpr int PointsEntry(int dim, int a, int b)
{
  return a * dim - a * (a - 1) / 2 + b - a;
}

/* K at a point as a matrix; is it positive definite (Sylvester's criterion)? */
template <int dim>
__device__ static bool PointsTensor(int nkappa, const double *k, double K[3][3])
{
  double C[3][3], det;

#pragma unroll
  for (int a = 0; a < dim; a++)
#pragma unroll
    for (int b = a; b < dim; b++) K[a][b] = K[b][a] = nkappa == 1 ? (a == b ? k[0] : 0) : k[PointsEntry(dim, a, b)];
  det = PointsCofactors<dim>(K, C);
  return K[0][0] > 0 && det > 0 && (dim == 2 || C[2][2] > 0) && isfinite(det);
}

/* f = w / |J| C' K C (rr rs rt ss st tt, or rr rs ss) and w |J| shift at a point with these derivatives; *bad may be lowered to the cell */
template <int dim>
__device__ static void PointsFactorsOf(const PointsMap &map, int cell, int point, const double J[3][3], double f[7], PointsBad *bad)
{
  const int       c = map.c, q[3] = {point % c, point / c % c, point / c / c};
  const ptrdiff_t at     = (ptrdiff_t)cell * PointsPower(c, dim) + point;
  const double    weight = map.w[q[0]] * map.w[q[1]] * (dim == 3 ? map.w[q[2]] : 1);
  double          C[3][3], K[3][3], det, mass;

  det = PointsCofactors<dim>(J, C);
  if (bad && !(det > 0 && isfinite(det))) atomicMin(&bad->inverted, cell);
  mass = map.shift ? weight * det * map.shift[map.shiftconstant ? 0 : at] : 0;
  if (!map.kappa) f[0] = mass;
  if (!map.kappa) return;
  if (!PointsTensor<dim>(map.nkappa, map.kappa + (map.kappaconstant ? 0 : at * map.nkappa), K) && bad) atomicMin(&bad->kappa, cell);
#pragma unroll
  for (int l = 0; l < dim; l++) {
#pragma unroll
    for (int m = l; m < dim; m++) {
      double sum = 0;

#pragma unroll
      for (int a = 0; a < dim; a++)
#pragma unroll
        for (int b = 0; b < dim; b++) sum += C[l][a] * K[a][b] * C[m][b];
      f[PointsEntry(dim, l, m)] = weight / det * sum;
    }
  }
  f[PointsEntry(dim, dim, dim)] = mass;
}

template <int dim>
__device__ static void PointsFactorsAt(const PointsMap &map, int cell, int point, double f[7], PointsBad *bad)
{
  const int c = map.c, q[3] = {point % c, point / c % c, point / c / c};
  double    J[3][3];

  PointsJacobian<dim>(map, cell, q, J);
  PointsFactorsOf<dim>(map, cell, point, J, f, bad);
}

/* the first numbers of f to the factors at a point */
template <typename F, typename T>
__device__ static void PointsStore(const PointsLayout &layout, int cell, int point, const F f[7], T *factors)
{
  T *to = factors + layout.at(cell, point);

#pragma unroll
  for (int m = 0; m < 7; m++)
    if (m < layout.numbers) to[(ptrdiff_t)m * layout.lanes] = (T)f[m];
}

/* a thread a point.  factors NULL: nothing but the check */
template <typename T, int dim>
static __global__ void PointsFactorsKernel(const PointsMap map, const PointsLayout layout, int cells, T *factors, PointsBad *bad)
{
  const unsigned points = PointsPower(map.c, dim);

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)cells * points; e += (size_t)gridDim.x * blockDim.x) {
    const int cell = (int)(e / points), point = (int)(e % points);
    double    f[7];

    PointsFactorsAt<dim>(map, cell, point, f, bad);
    if (factors) PointsStore(layout, cell, point, f, factors);
  }
}

/* factors that are given, a thread a point */
template <typename T>
static __global__ void PointsGivenKernel(const PointsMap map, const PointsLayout layout, int cells, T *factors)
{
  const unsigned points = PointsPower(map.c, map.dim);

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)cells * points; e += (size_t)gridDim.x * blockDim.x) {
    double f[7];

#pragma unroll
    for (int m = 0; m < 7; m++) f[m] = m < map.nkappa ? map.kappa[e * map.nkappa + m] : (map.shift && m == map.nkappa ? map.shift[e] : 0);
    PointsStore(layout, (int)(e / points), (int)(e % points), f, factors);
  }
}

/*
  PointsFactorsKernel() for cubes, direction by direction in shared memory: a team of threads a cell, threadIdx.y of the block.  Of each
  coordinate a

    X                            at the nodes, [k][j][i]
    U = B_x X, V = D_x X         [2][k][j][p]
    B_y V, D_y U, B_y U          [3][k][q][p], of which B_z, B_z and D_z make the derivatives at the points

  Threads take points in the order in which factors lie.
*/
struct PointsCubes {
  int first, second, size; /* where U and the last arrays begin, and numbers of a team */

  __host__ __device__ PointsCubes(int c, int m) : first(3 * m * m * m), second(first + 6 * m * m * c), size(second + 9 * m * c * c) { }
};

/* J[b] = dx / d(reference direction b) at a point, from the last arrays */
__device__ __forceinline__ void PointsCubeJacobian(const PointsMap &map, const double *last, int point, double J[3][3])
{
  const int c = map.c, m = map.m, plane = c * c, place = point % plane, z = point / plane;

#pragma unroll
  for (int a = 0; a < 3; a++) {
#pragma unroll
    for (int b = 0; b < 3; b++) {
      const double *from = last + (a * 3 + b) * m * plane + place, *Z = (b == 2 ? map.D : map.B) + z * m;
      double        sum = 0;

      for (int k = 0; k < m; k++) sum += Z[k] * from[k * plane];
      J[b][a] = sum;
    }
  }
}

template <typename T>
static __global__ void PointsCubeFactorsKernel(const PointsMap map, const PointsLayout layout, int cells, T *factors, PointsBad *bad)
{
  extern __shared__ double shared_memory[];
  const int                c = map.c, m = map.m, nodes = m * m * m, points = c * c * c, plane = c * c;
  const PointsCubes        room(c, m);
  double                  *X = shared_memory + threadIdx.y * room.size, *U = X + room.first, *last = X + room.second;

  for (int base = (int)(blockIdx.x * blockDim.y); base < cells; base += (int)(gridDim.x * blockDim.y)) {
    const int  cell = base + (int)threadIdx.y;
    const bool mine = cell < cells;

    for (int e = threadIdx.x; e < nodes && mine; e += blockDim.x) {
      const double *x = map.coordinate + (ptrdiff_t)map.index[(ptrdiff_t)cell * nodes + e] * 3;

#pragma unroll
      for (int a = 0; a < 3; a++) X[a * nodes + e] = x[a];
    }
    __syncthreads();
    for (int e = threadIdx.x; e < 3 * m * m * c && mine; e += blockDim.x) {
      const int p = e % c, row = e / c, a = row / (m * m); /* row: of X */
      double    value = 0, derivative = 0;

      for (int i = 0; i < m; i++) {
        value += map.B[p * m + i] * X[row * m + i];
        derivative += map.D[p * m + i] * X[row * m + i];
      }
      U[e + a * m * m * c]       = value;
      U[e + (a + 1) * m * m * c] = derivative;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < 3 * m * plane && mine; e += blockDim.x) {
      const int     p = e % c, q = e / c % c, k = e / plane % m, a = e / plane / m;
      const double *u = U + ((2 * a * m + k) * m) * c + p, *v = u + m * m * c;
      double        sum[3] = {};

      for (int j = 0; j < m; j++) {
        sum[0] += map.B[q * m + j] * v[j * c];
        sum[1] += map.D[q * m + j] * u[j * c];
        sum[2] += map.B[q * m + j] * u[j * c];
      }
#pragma unroll
      for (int b = 0; b < 3; b++) last[((a * 3 + b) * m + k) * plane + e % plane] = sum[b];
    }
    __syncthreads();
    for (int e = threadIdx.x; e < points && mine; e += blockDim.x) {
      const int point = layout.own == 0 ? e % plane * c + e / plane : e;
      double    J[3][3], f[7];

      PointsCubeJacobian(map, last, point, J);
      PointsFactorsOf<3>(map, cell, point, J, f, bad);
      if (factors) PointsStore(layout, cell, point, f, factors);
    }
    __syncthreads();
  }
}

/* the coefficients of trilinear maps, a thread a coordinate of a cell */
template <typename T>
static __global__ void PointsGeometryKernel(const PointsMap map, int cells, T *geometry)
{
  const int order[] = {1, 2, 4, 3, 6, 5, 7}; /* bits of the reference coordinates in a term, as in points_geometry */

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)cells * 3; e += (size_t)gridDim.x * blockDim.x) {
    const size_t cell = e / 3, a = e % 3;
    double       x[8];

    for (int i = 0; i < 8; i++) x[i] = map.coordinate[(ptrdiff_t)map.index[cell * 8 + i] * 3 + a];
    for (int bit = 1; bit < 8; bit *= 2)
      for (int i = 0; i < 8; i++)
        if (i & bit) x[i] -= x[i ^ bit];
    for (int i = 0; i < 7; i++) geometry[cell * points_geometry + 3 * i + a] = (T)x[order[i]];
  }
}

/* from these the coefficients of the determinants, times a number, a thread a cell */
template <typename T>
static __global__ void PointsDeterminantKernel(int cells, double scale, const double *geometry, T *determinant)
{
  const int at[] = {-1, 0, 1, 3, 2, 5, 4, 6}; /* in points_geometry, of the bits of the reference coordinates */

  for (size_t cell = blockIdx.x * (size_t)blockDim.x + threadIdx.x; cell < (size_t)cells; cell += (size_t)gridDim.x * blockDim.x) {
    const double *X                     = geometry + cell * points_geometry;
    double        d[points_determinant] = {};

    for (int r = 1; r < 8; r += 2) {
      for (int s = 2; s < 8; s += s == 3 ? 3 : 1) {
        for (int t = 4; t < 8; t++) { /* terms of the derivatives in r, s and t */
          const double *x = X + 3 * at[r], *y = X + 3 * at[s], *z = X + 3 * at[t];
          const int     power[3] = {(s & 1) + (t & 1), (r & 2) / 2 + (t & 2) / 2, (r & 4) / 4 + (s & 4) / 4};

          d[(power[2] * 3 + power[1]) * 3 + power[0]] += x[0] * (y[1] * z[2] - y[2] * z[1]) + x[1] * (y[2] * z[0] - y[0] * z[2]) +
                                                         x[2] * (y[0] * z[1] - y[1] * z[0]);
        }
      }
    }
    for (int i = 0; i < points_determinant; i++) determinant[cell * points_determinant + i] = (T)(scale * d[i]);
  }
}

} // namespace patchfd
