/*
  y = y0 + alpha A x for operators by quadrature, A = R' (B' shift w |J| B + D' w |J| J^{-1} K J^{-T} D) R: the bake-off problems.

    points.cu         plans: the choice of kernels, the factors at the points, the generic kernel (any degree, squares), the diagonal
    points_fast.cuh   cubes of degrees 1 to 15: a thread a line

  points_double_mass.cu and the like instantiate the fast ones, a precision and a kind each.
*/
#pragma once
#include "plan.cuh"

namespace patchfd
{

static constexpr int points_degrees = 15, points_max = points_degrees + 2; /* of the fast kernels; points in a direction */

/* what an operator has at the points of a cell */
enum PointsRule {
  POINTS_MASS,       /* Gauss points, shift only */
  POINTS_GAUSS,      /* Gauss points */
  POINTS_COLLOCATED, /* the nodes */
  POINTS_NUM_RULES
};

/*
  Which numbers of an array are the nodes of a cell.  An index is points_none, or the node with two bits: points_shared where it is in several places, whose sums need
  atomics, and points_own in one of these.
*/
static constexpr unsigned points_shared = 1u << 31, points_own = 1u << 30, points_node = points_own - 1, points_none = ~0u;

struct PointsNodes {
  int             kind, n, dim, ncomp; /* PatchFDNodes; nodes in a direction */
  const unsigned *index;
  int             first[3], count[3]; /* NODES_BOX: the cells */
  Layout          xl, yl;
  Range           read, write;
};

/* a column of nodes of a cell in z: either index numbers are read, or places are base + k * stride for lo <= k < hi */
struct PointsColumn {
  const unsigned *index;
  ptrdiff_t       base;
  int             stride, lo, hi;
  bool            left, right, front, back, below, above; /* is it the side of the cells before, behind in x, in y; are there cells below, above? */

  struct Place {
    ptrdiff_t at; /* the node, negative if it is none */
    bool      shared, own;
  };
  static __device__ __forceinline__ Place indexed(unsigned v) { return {v == points_none ? -1 : (ptrdiff_t)(v & points_node), (v & points_shared) != 0, (v & points_own) != 0}; }
  __device__ __forceinline__ bool      ends(int n, int k) const { return (k == 0 && below) || (k == n - 1 && above); }
  __device__ __forceinline__ bool      has(int k) const { return k >= lo && k < hi; }
  __device__ __forceinline__ ptrdiff_t at(int k) const { return base + (ptrdiff_t)k * stride; }
  /* one of n nodes */
  __device__ __forceinline__ Place place(int n, int k) const
  {
    if (index) return indexed(index[k * n * n]);
    return {has(k) ? at(k) : -1, left || right || front || back || ends(n, k), !right && !back && !(k == n - 1 && above)};
  }
};

/* of cell `cell`, for reading, or for writing; n and dim as in a, known to the compiler or not */
__device__ __forceinline__ PointsColumn PointsPlace(const PointsNodes &a, int n, int dim, int cell, int i, int j, bool write)
{
  const int    size = dim == 3 ? n * n * n : n * n;
  PointsColumn c    = {NULL, (ptrdiff_t)cell * size + j * n + i, n * n, 0, n, false, false, false, false, false, false};

  if (a.kind == PATCHFD_NODES_INDEX) c.index = a.index + c.base;
  if (a.kind == PATCHFD_NODES_BOX) {
    const Layout &l     = write ? a.yl : a.xl;
    const Range  &r     = write ? a.write : a.read;
    const int     at[3] = {cell % a.count[0], cell / a.count[0] % a.count[1], cell / a.count[0] / a.count[1]};
    const int     node[3] = {(a.first[0] + at[0]) * (n - 1) + i, (a.first[1] + at[1]) * (n - 1) + j, (a.first[2] + at[2]) * (n - 1)};

    c.base   = l.at(node[0], node[1], node[2]);
    c.stride = (int)l.plane;
    c.lo     = r.lo[2] - node[2];
    c.hi     = Inside(r, 0, node[0]) && Inside(r, 1, node[1]) ? r.hi[2] - node[2] : c.lo;
    c.left   = i == 0 && at[0] > 0;
    c.right  = i == n - 1 && at[0] + 1 < a.count[0];
    c.front  = j == 0 && at[1] > 0;
    c.back   = j == n - 1 && at[1] + 1 < a.count[1];
    c.below  = dim == 3 && at[2] > 0;
    c.above  = dim == 3 && at[2] + 1 < a.count[2];
  }
  return c;
}

/*
  Threads of a block take lines (p, q) of the cells e of the block, in one of six orders: which of p, e and q (0, 1, 2) runs first, second, last.
*/
__host__ __device__ constexpr int PointsRole(int order, int place)
{
  constexpr int roles[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

  return roles[order][place];
}

/* how the factors of a mesh lie: f[block][level][number][line], of `per` cells a block; a level is what is at one place of the lines in direction `own`, in their order */
struct PointsLayout {
  int c, own, order, per, lanes, levels, numbers; /* points in a direction; lines of a block, with gaps for alignment */

  size_t                      blocks(size_t cells) const { return (cells + per - 1) / per; }
  size_t                      size(size_t cells) const { return blocks(cells) * levels * numbers * lanes; }
  __host__ __device__ ptrdiff_t at(int cell, int point) const
  {
    const int plane = c * c, level = own == 2 ? point / plane : point % c, line = own == 2 ? point % plane : point / c;
    const int size[3] = {c, per, c}, lane[3] = {line % c, cell % per, line / c}, a = PointsRole(order, 0), b = PointsRole(order, 1);

    return (cell / per * (ptrdiff_t)levels + level) * numbers * lanes + lane[a] + size[a] * (lane[b] + size[b] * lane[PointsRole(order, 2)]);
  }
};

/*
  A matrix X[c][n] that looks the same, or with the other sign (anti), from its other end: even[a][i] = (X[a][i] + X[a][n-1-i]) / 2, but X[a][i] in the middle, and
  odd[a][i] = (X[a][i] - X[a][n-1-i]) / 2.
*/
template <typename T>
struct PointsMatrix {
  T even[(points_max + 1) / 2 * (points_max / 2)], odd[(points_max + 1) / 2 * (points_max / 2)];

  void set(int c, int n, bool anti, const PetscReal *X)
  {
    const int rows[] = {anti ? c / 2 : (c + 1) / 2, anti ? (c + 1) / 2 : c / 2}, he = (n + 1) / 2, ho = n / 2;

    for (int a = 0; a < rows[0]; a++)
      for (int i = 0; i < he; i++) even[a * he + i] = (T)((X[a * n + i] + X[a * n + n - 1 - i]) / 2);
    for (int a = 0; a < rows[1]; a++)
      for (int i = 0; i < ho; i++) odd[a * ho + i] = (T)((X[a * n + i] - X[a * n + n - 1 - i]) / 2);
  }
};

/* the arguments of kernels */
template <typename T>
struct PointsArguments {
  PointsMatrix<T>     B, C; /* values at the points, derivatives of what has values at the points */
  T                   point[points_max], weight[points_max];
  PointsNodes         nodes;
  int                 cells, numbers;
  bool                stiff, shift, tensor;
  T                   K[6], s; /* for factors that are computed: K, or kappa in K[0]; shift */
  const T            *factors; /* as PointsLayout says; for those that are computed the geometry, points_geometry numbers a cell */
  const T            *x, *y0, *d, *q;
  T                  *y, *p, alpha; /* of a sweep: d, q, p */
  PatchFDSweep       *sweep;
};

/* one number of x, or of a sweep's p = z + b q */
template <typename T>
__device__ __forceinline__ T PointsRead(const PointsArguments<T> &a, ptrdiff_t at)
{
  if (!a.sweep) return a.x[at];
  const T b = (T)a.sweep->b, z = a.d ? a.d[at] * a.x[at] : a.x[at], p = b == 0 ? z : z + b * a.q[at];

  a.p[at] = p;
  return p;
}

/* y += alpha w at a node of a cell */
template <typename T>
__device__ __forceinline__ void PointsAdd(const PointsArguments<T> &a, PointsColumn::Place place, int comp, T w)
{
  const ptrdiff_t at = place.at * a.nodes.ncomp + comp;

  if (place.at < 0) return;
  if (place.shared) atomicAdd(a.y + at, a.alpha * w);
  else a.y[at] = (a.y0 ? a.y0[at] : T(0)) + a.alpha * w;
}

/* the sum of the threads' numbers goes to *sum */
template <typename T>
__device__ __forceinline__ void PointsSum(T energy, double *sum)
{
  double s = energy;

#pragma unroll
  for (int i = 16; i; i /= 2) s += __shfl_down_sync(~0u, s, i);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, s);
}

/* x = sum over l, m, n in {0, 1} of X_lmn r^l s^m t^n: three numbers each of X_100 X_010 X_001 X_110 X_011 X_101 X_111 */
static constexpr int points_geometry = 21;

/* a fast kernel, and what is to be known to launch it */
template <typename T>
struct PointsKernel {
  PointsLayout layout;
  int          threads;
  size_t       shared;
  void (*kernel)(const PointsArguments<T>);
};

template <typename T, PointsRule>
PetscErrorCode PointsFind(PetscInt degree, bool computed, PointsKernel<T> *);

template <typename T>
struct PointsOperator {
  static PetscErrorCode create(const PatchFDOperatorDesc *, void **);
  static PetscErrorCode apply(void *, PetscReal, const void *, const void *, void *);
  static PetscErrorCode diagonal(void *, void *);
  static PetscErrorCode sweep(void *, const void *, const void *, const void *, void *, void *, PatchFDSweep *);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
