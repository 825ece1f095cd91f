/*
  y = y0 + alpha A x for operators by quadrature, A = R' (B' shift w |J| B + D' w |J| J^{-1} K J^{-T} D) R: the bake-off problems.

    points.cu    plans (plan.cuh), the choice of kernels
    pick.cu      operators on some of the cells of another, matrices of cells
    solid.cu     solids, whose components are coupled
    factors.cuh  the factors at the points, or maps of the cells for factors that are computed
    generic.cuh  the generic kernel, for squares, and the diagonal
    sides.cuh    h u v on sides
    shape.cuh    blocks of threads for cubes
    fast.cuh     cubes: a thread a line
    product.cu   cubes: products on patches
    restrict.cu  means over the points and factors of coarse meshes
    packed*      the same with factors in half precision: a thread a cell, a plane or a line
    planes.cu    cubes of low degree: a thread a plane; which of the two
*/
#pragma once
#include "base/plan.cuh"

namespace patchfd
{

/* of the fast kernels; points in a direction */
static constexpr int points_degrees = PATCHFD_POINTS_MAX_DEGREE, points_max = points_degrees + 2;

/* what an operator has at the points of a cell */
enum PointsRule {
  POINTS_MASS,       /* degree + 2 Gauss points, shift only */
  POINTS_GAUSS,      /* degree + 2 Gauss points */
  POINTS_FEW,        /* degree + 1 Gauss points, stored factors */
  POINTS_MANY,       /* 2 degree + 1 Gauss points, stored factors: coarse meshes, to degree 8 */
  POINTS_COLLOCATED, /* the nodes */
  POINTS_NUM_RULES
};

/* e / d for numbers below 2^31, without a division: d > 1 by the upper half of a product */
struct PointsDivisor {
  unsigned d, hi, lo;

  PointsDivisor() = default;
  PointsDivisor(int d) : d(d)
  {
    const unsigned long long m = d > 1 ? ~0ull / d + 1 : 0;

    hi = (unsigned)(m >> 32);
    lo = (unsigned)m;
  }
  __device__ __forceinline__ int operator()(int e) const
  {
    return d == 1 ? e : (int)(((unsigned long long)e * hi + __umulhi(e, lo)) >> 32);
  }
};

/*
  Which numbers of an array are the nodes of a cell.  An index is points_none, or the node with bits: points_shared where it is in several
  places, whose sums need atomics, points_own in one of these, points_joined in the upper x-side of a cell and the lower one of the next
  cell where both have it at the same place.  Joined nodes of these two cells alone are not called shared: their sum is complete where both
  cells are in a warp.
*/
static constexpr unsigned points_shared = 1u << 31, points_own = 1u << 30, points_joined = 1u << 29, points_node = points_joined - 1,
                          points_none = ~0u;

/* one of the boxes of nodes; nodes are counted from the first of the first cell.  Offsets are below 2^32: sums may overflow on their way */
struct PointsBox {
  unsigned base, row, plane;
  int      lo[3];
  unsigned count[3]; /* nodes lo .. lo + count - 1 are read, or written */

  PointsBox() = default;
  PointsBox(const Layout &l, const Range &r, const int first[3]) :
    base((unsigned)l.at(first[0], first[1], first[2])), row((unsigned)l.row), plane((unsigned)l.plane)
  {
    for (int d = 0; d < 3; d++) {
      lo[d]    = r.lo[d] - first[d];
      count[d] = (unsigned)(r.hi[d] > r.lo[d] ? r.hi[d] - r.lo[d] : 0);
    }
  }
  __device__ __forceinline__ bool has(int d, int i) const { return (unsigned)(i - lo[d]) < count[d]; }
};

struct PointsNodes {
  int             kind, n, dim; /* PatchFDNodes; nodes in a direction */
  unsigned        ncomp;
  const unsigned *index;
  int             count[3];   /* NODES_BOX: of the cells */
  PointsDivisor   row, plane; /* count[0], count[0] * count[1] */
  PointsBox       x, y;
};

/* a column of nodes of a cell in z: one component of them.  Either numbers are read, or places are base + k * stride for lo <= k < lo +
   count */
struct PointsColumn {
  const unsigned *index;
  unsigned        ncomp, comp, base, stride;
  int             lo;
  unsigned        count;
  /* is it the side of the cell before or behind in x, behind in y, or one of both in y; are there cells below, above? */
  bool left, right, back, sides, below, above;

  __device__ __forceinline__ bool     ends(int n, int k) const { return (k == 0 && below) || (k == n - 1 && above); }
  __device__ __forceinline__ unsigned number(int n, int k) const { return index[k * n * n]; }

  /* of n nodes node k, which has that number in the array, if there is one: does it exist, where is it, is it in other cells, too, and is
     this cell the one that owns it? */
  template <bool INDEX>
  __device__ __forceinline__ bool has(int k, unsigned number) const
  {
    return INDEX ? number != points_none : (unsigned)(k - lo) < count;
  }
  template <bool INDEX>
  __device__ __forceinline__ unsigned at(int k, unsigned number) const
  {
    return INDEX ? (number & points_node) * ncomp + comp : base + k * stride;
  }
  template <bool INDEX>
  __device__ __forceinline__ bool shared(int n, int k, unsigned number) const
  {
    return INDEX ? (number & (points_shared | points_joined)) != 0 : left || right || sides || ends(n, k);
  }
  template <bool INDEX>
  __device__ __forceinline__ bool own(int n, int k, unsigned number) const
  {
    return INDEX ? (number & points_own) != 0 : !right && !back && !(k == n - 1 && above);
  }
  /* all numbers at once, so that loads do not wait for each other */
  template <bool INDEX, int n>
  __device__ __forceinline__ void numbers(unsigned number[n]) const
  {
#pragma unroll
    for (int k = 0; k < n; k++) number[k] = INDEX ? this->number(n, k) : 0;
  }
  /* the same for what x has at the nodes, 0 where there is none */
  template <bool INDEX, int n, typename T>
  __device__ __forceinline__ void fetch(const unsigned number[n], const T *x, T u[n]) const
  {
#pragma unroll
    for (int k = 0; k < n; k++) {
      const bool here = has<INDEX>(k, number[k]);
      const T    v    = x[here ? at<INDEX>(k, number[k]) : 0];

      u[k] = here ? v : T(0);
    }
  }
};

/* of the cell at x, y, z of a box of nodes */
__device__ __forceinline__ void PointsBoxColumn(const PointsNodes &a, const PointsBox &b, int n, int dim, int x, int y, int z, int i, int j,
                                                PointsColumn *c)
{
  const int node[3] = {x * (n - 1) + i, y * (n - 1) + j, z * (n - 1)};

  c->base   = b.base + node[0] + node[1] * b.row + node[2] * b.plane;
  c->stride = b.plane;
  c->lo     = b.lo[2] - node[2];
  c->count  = b.has(0, node[0]) && b.has(1, node[1]) ? b.count[2] : 0;
  c->left   = i == 0 && x > 0;
  c->right  = i == n - 1 && x + 1 < a.count[0];
  c->back   = j == n - 1 && y + 1 < a.count[1];
  c->sides  = (j == 0 && y > 0) || c->back;
  c->below  = dim == 3 && z > 0;
  c->above  = dim == 3 && z + 1 < a.count[2];
}

/* of cell `cell`, for reading, or for writing; kind, n and dim as in a, known to the compiler or not */
__device__ __forceinline__ PointsColumn PointsPlace(const PointsNodes &a, int kind, int n, int dim, int cell, int i, int j, int comp,
                                                    bool write)
{
  const int      size  = dim == 3 ? n * n * n : n * n;
  const unsigned first = (unsigned)cell * size + j * n + i;
  PointsColumn   c     = {NULL,  a.ncomp, (unsigned)comp, first * a.ncomp + comp, n * n * a.ncomp, 0, (unsigned)n, false, false, false,
                          false, false,   false};

  if (kind == PATCHFD_NODES_INDEX) c.index = a.index + first;
  if (kind == PATCHFD_NODES_BOX) {
    const int z = a.plane(cell), rest = cell - z * a.count[0] * a.count[1], y = a.row(rest);

    PointsBoxColumn(a, write ? a.y : a.x, n, dim, rest - y * a.count[0], y, z, i, j, &c);
  }
  return c;
}

/*
  Threads of a block take lines (p, q) of the cells e of the block, in one of six orders: which of p, e and q (0, 1, 2) runs first, second,
  last.
*/
__host__ __device__ constexpr int PointsRole(int order, int place)
{
  constexpr int roles[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

  return roles[order][place];
}

/*
  How the factors of a mesh lie: f[block][level][number][lane], of `per` cells a block.  A level is what is at one place of the lines in
  direction `own`, in their order, a lane a line; or, if `order` is points_planes, a level is what is at one place of the planes of points
  that are normal to `own`, a lane a plane.
*/
static constexpr int points_planes = -1;

struct PointsLayout {
  int c, own, order, per, lanes, levels, numbers; /* points in a direction; lanes with gaps for alignment */

  size_t blocks(size_t cells) const { return (cells + per - 1) / per; }
  size_t size(size_t cells) const { return blocks(cells) * levels * numbers * lanes; }
  /* lanes of a level without gaps, and from a cell to the next one of the block */
  __host__ __device__ int used() const { return order == points_planes ? per * c : per * c * c; }
  __host__ __device__ int apart() const
  {
    if (order == points_planes) return c;
    return PointsRole(order, 0) == 1 ? 1 : PointsRole(order, 1) == 1 ? c : c * c;
  }
  __host__ __device__ ptrdiff_t at(int cell, int point) const
  {
    if (order == points_planes) {
      const int x[3] = {point % c, point / c % c, point / c / c};

      return ((cell / per * (ptrdiff_t)levels + x[2] * c + x[1 - own]) * numbers) * lanes + cell % per * c + x[own];
    }
    const int plane = c * c, level = own == 2 ? point / plane : point % c, line = own == 2 ? point % plane : point / c;
    const int size[3] = {c, per, c}, lane[3] = {line % c, cell % per, line / c}, a = PointsRole(order, 0), b = PointsRole(order, 1);

    return (cell / per * (ptrdiff_t)levels + level) * numbers * lanes + lane[a] +
           size[a] * (lane[b] + size[b] * lane[PointsRole(order, 2)]);
  }
};

/*
  A matrix X[c][n] that looks the same, or with the other sign (anti), from its other end: even[a][i] = (X[a][i] + X[a][n-1-i]) / 2, but
  X[a][i] in the middle, and odd[a][i] = (X[a][i] - X[a][n-1-i]) / 2.
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
  /* X[q][i], of a matrix that is not anti */
  template <int c, int n>
  __device__ __forceinline__ T entry(int q, int i) const
  {
    const int a = q < c - 1 - q ? q : c - 1 - q, column = q == a ? i : n - 1 - i, first = column < n - 1 - column ? column : n - 1 - column;
    const T   e = even[a * ((n + 1) / 2) + first], o = 2 * first + 1 == n || 2 * a + 1 == c ? T(0) : odd[a * (n / 2) + first];

    return column == first ? e + o : e - o;
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
  T                  *y, *p, alpha;
  const PatchFDSweep *sweep; /* of conjugate gradients */
  double             *sums;  /* [points_sums], of a sweep */
};

/* one number of a sweep's p = z + b q, z = d x */
template <typename T>
__device__ __forceinline__ T PointsDirection(const PointsArguments<T> &a, size_t at)
{
  const T b = (T)a.sweep->b, z = a.d ? a.d[at] * a.x[at] : a.x[at], p = b == 0 ? z : z + b * a.q[at];

  a.p[at] = p;
  return p;
}

/* y += alpha w */
template <typename T>
__device__ __forceinline__ void PointsAdd(const PointsArguments<T> &a, unsigned at, bool shared, T w)
{
  if (shared) atomicAdd(a.y + at, a.alpha * w);
  else a.y[at] = (a.y0 ? a.y0[at] : T(0)) + a.alpha * w;
}

/* what threads have for p'w goes to one of many sums: so many atomics on one would take longer than all else */
static constexpr int points_sums = 4096;

template <typename T>
__device__ __forceinline__ void PointsSum(const PointsArguments<T> &a, T energy)
{
  double s = energy;

#pragma unroll
  for (int i = 16; i; i /= 2) s += __shfl_down_sync(~0u, s, i);
  if (threadIdx.x % 32 == 0) atomicAdd(a.sums + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) % points_sums, s);
}

/* x = sum over l, m, n in {0, 1} of X_lmn r^l s^m t^n: three numbers each of X_100 X_010 X_001 X_110 X_011 X_101 X_111 */
static constexpr int points_geometry = 21;

/* the determinant of this map, which is a quadratic polynomial in r, in s and in t: [t][s][r] */
static constexpr int points_determinant = 27;

/* a fast kernel, and what is to be known to launch it */
template <typename T>
struct PointsKernel {
  PointsLayout layout;
  int          cells, threads; /* of a block */
  int          geometry;       /* numbers of a cell that it computes factors from, if it does that */
  bool         direction;      /* does it compute the new direction of a sweep, or find it in x? */
  size_t       shared;
  int          blocks; /* at most: they go on to other cells.  0: as many as there is room for */
  void (*kernel)(const PointsArguments<T>);
};

template <typename T, PointsRule>
PetscErrorCode PointsFind(PetscInt degree, int nodes, bool computed, PointsKernel<T> *);

template <typename T>
struct PointsGeneric; /* generic.cuh */
template <typename T>
struct PointsSides; /* sides.cuh */

/* see `cellmatrices` in the kernel table */
PetscErrorCode PointsCellMatrices(const PatchFDPoints *, PetscReal E[]);

/* see these names in the kernel table */
PetscErrorCode PointsRestrict(const PatchFDPoints *, const PatchFDBox *, const PatchFDRange, const PatchFDUnion[3], const PatchFDRange,
                              PetscInt degree, PetscReal kappa[], PetscReal shift[]);
PetscErrorCode PointsContrast(const PatchFDPoints *, const PatchFDRange, const PatchFDUnion[3], const PatchFDRange, PetscReal *);
PetscErrorCode PointsMetric(PetscInt dim, const PatchFDFieldPoints *, const PatchFDRange, const PatchFDPoints *, PatchFDMetric *);

template <typename T>
struct PointsOperator {
  static PetscErrorCode          create(const PatchFDOperatorDesc *, void **);
  static PetscErrorCode          pick(void *, PetscCount, PetscCount, const PetscCount[], const PetscInt[], void **);
  static const PointsGeneric<T> &generic(void *);
  static const PointsSides<T>   &sides(void *);
  static PetscErrorCode          apply(void *, PetscReal, const void *, const void *, void *);
  static PetscErrorCode          diagonal(void *, void *);
  static PetscErrorCode          sweep(void *, const void *, const void *, const void *, void *, void *, PatchFDSweep *);
  static PetscErrorCode          destroy(void **);
};

template <typename T>
struct SolidOperator {
  static PetscErrorCode create(const PatchFDOperatorDesc *, void **);
  static PetscErrorCode apply(void *, PetscReal, const void *, const void *, void *);
  static PetscErrorCode diagonal(void *, void *);
  static PetscErrorCode destroy(void **);
};

/* the matrices of cells of a solid */
PetscErrorCode SolidCellMatrices(const PatchFDPoints *, PetscReal E[]);
/* the same of `count` cells from `first` on, E in GPU memory */
PetscErrorCode SolidSomeMatrices(const PatchFDPoints *, PetscCount first, PetscCount count, double *E);

} // namespace patchfd
