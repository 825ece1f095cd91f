/*
  The operator on a lattice (lattice.cuh) in 3D with constant materials: a stencil of 15 points.

  Where all cubes around a node exist in y and z, a warp marches in z.  A plane of x gives to the rows of the plane below, of its own and
  of the plane above, whose sums are in registers.  At a side in x, where half of the cubes exist, weights of nodes in that side are halves
  of those inside.  A lane asks for its columns of a plane before it needs them, and has its neighbours' by shuffles: no shared memory, no
  barriers; what warps beside each other both read is found in L1.  Other nodes are left to threads that have one each, in the first blocks
  of the launch: there the weights are found from which cubes exist.  The cubes around an edge in x are those on either side of it in y and
  in z, of which those on the same side in both have two tetrahedra with it, the others one; an edge in xy has two in either cube, that in
  xyz all six.  Memory bounds it.
*/
#include "base/patches.cuh"
#include "lattice/lattice.cuh"

namespace patchfd
{

/* a block: ACROSS x UP warps, whose lanes have COLUMNS columns each, at distance LANES, of ROWS rows, and ask for planes so far AHEAD;
   least number of blocks of a multiprocessor */
template <int COLUMNS_, int ROWS_, int ACROSS_, int UP_, int AHEAD_, int BLOCKS_>
struct StencilShape {
  static constexpr int COLUMNS = COLUMNS_, ROWS = ROWS_, ACROSS = ACROSS_, UP = UP_, AHEAD = AHEAD_, BLOCKS = BLOCKS_, LANES = 32,
                       THREADS = LANES * ACROSS * UP;
  /* nodes that a warp writes: all but the first and the last column */
  static constexpr int WIDTH = LANES * COLUMNS - 2, NX = ACROSS * WIDTH, NY = UP * ROWS;

  static dim3 grid(const Range &nodes)
  {
    return dim3(PetscMax(1, (nodes.hi[0] - nodes.lo[0] + NX - 1) / NX), PetscMax(1, (nodes.hi[1] - nodes.lo[1] + NY - 1) / NY));
  }
};

/* what tetrahedra give to edges: one to that of an axis, those of a cube to that of a face, to that through it */
template <typename T>
struct StencilEntries {
  T axis[3], face, space, node; /* node: what one gives to the sum of a row */
};

/* do the cubes on either side exist, in each direction: those before (0) and behind (1) the node? */
template <typename T>
struct StencilCubes {
  T x[2], y[2], z[2];
};

/* weights of the neighbours before and behind, in the plane and in the planes below and above: of v -+ x, v -+ (x + y), ... */
template <typename T>
struct StencilWeights {
  T own, x[2], y[2], xy[2], z[2], xz[2], yz[2], xyz[2];
};

template <typename T>
static __host__ __device__ T Around(const T a[2], const T b[2])
{
  return 2 * (a[0] * b[0] + a[1] * b[1]) + a[0] * b[1] + a[1] * b[0];
}

template <typename T>
static __host__ __device__ StencilWeights<T> Weights(const StencilEntries<T> &e, const StencilCubes<T> &s)
{
  StencilWeights<T> w;
  /* around the node: six of cubes of corner 0 or 7, two of others */
  T tetrahedra = 2 * (s.x[0] + s.x[1]) * (s.y[0] + s.y[1]) * (s.z[0] + s.z[1]), off = 0;

  for (int i = 0; i < 2; i++) {
    w.x[i]   = s.x[i] * Around(s.y, s.z) * e.axis[0];
    w.y[i]   = s.y[i] * Around(s.x, s.z) * e.axis[1];
    w.xy[i]  = s.x[i] * s.y[i] * (s.z[0] + s.z[1]) * e.face;
    w.z[i]   = s.z[i] * Around(s.x, s.y) * e.axis[2];
    w.xz[i]  = s.z[i] * s.x[i] * (s.y[0] + s.y[1]) * e.face;
    w.yz[i]  = s.z[i] * s.y[i] * (s.x[0] + s.x[1]) * e.face;
    w.xyz[i] = s.z[i] * s.x[i] * s.y[i] * e.space;
    off += w.x[i] + w.y[i] + w.xy[i] + w.z[i] + w.xz[i] + w.yz[i] + w.xyz[i];
    tetrahedra += 4 * s.x[i] * s.y[i] * s.z[i];
  }
  w.own = tetrahedra * e.node - off;
  return w;
}

template <typename T>
struct StencilRow {
  T left, own, right;
};

/* entries, the weights where all cubes exist; the nodes of marches, and the other ones */
template <typename T>
struct StencilTable {
  StencilEntries<T> entries;
  StencilWeights<T> whole;
  Range             inner;
  Shell             sides;
};

/* does the cube exist that begins at node i of direction d? */
template <typename T>
static __device__ T Exists(const LatticeGeometry &g, int d, int i)
{
  return Inside(g.cubes, d, i) ? T(1) : T(0);
}

/* ---- marches ---- */

template <typename T, LatticeMode MODE, typename Shape>
struct StencilMarch {
  static constexpr int ROWS = Shape::ROWS, COLUMNS = Shape::COLUMNS, LANES = Shape::LANES, PLANES = Shape::AHEAD + 1;

  const StencilWeights<T> &w;
  const LatticeVectors<T> &v;
  const ptrdiff_t          xplane, yplane;
  const unsigned           yrow;
  const int                lane;
  unsigned                 place[ROWS + 2];               /* of rows of x, from the first one */
  int                      rows;                          /* that are written */
  bool                     there[COLUMNS], mine[COLUMNS]; /* columns: that are read, that are written */
  T                        share[COLUMNS];                /* of the weights in the plane x = const: a half of them at sides */
  /* the lane's first column and row in the plane that is asked for next, from the node before those that are written */
  const T *from;
  T       *y; /* and in the plane to be written */
  T        x[PLANES][ROWS + 2][COLUMNS];
  T        sum[ROWS][COLUMNS], own[ROWS][COLUMNS]; /* of the planes below: of that to be written, of the next one */
  T        mid[ROWS][COLUMNS];                     /* x of the plane to be written, for its energy */
  double   energy;

  __device__ __forceinline__ StencilMarch(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, int z) :
    w(table.whole), v(v), xplane(g.xl.plane), yplane(g.yl.plane), yrow(Opaque((unsigned)g.yl.row)),
    lane((int)threadIdx.x % LANES), x{}, sum{}, own{}, mid{}, energy(0)
  {
    const Range &nodes = table.inner;
    const int    warp  = (int)threadIdx.x / LANES,
              i        = nodes.lo[0] + (int)blockIdx.x * Shape::NX + warp % Shape::ACROSS * Shape::WIDTH + lane - 1,
              j        = nodes.lo[1] + (int)blockIdx.y * Shape::NY + warp / Shape::ACROSS * ROWS - 1;

    rows = i - lane + 1 < nodes.hi[0] ? max(0, min(nodes.hi[1] - j - 1, ROWS)) : 0;
    from = v.x + g.xl.at(i, j, z - 1);
    y    = v.y + g.yl.at(i, j + 1, z - 2);
#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) place[r] = Opaque((unsigned)min(r, rows + 1) * (unsigned)g.xl.row);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      const int at = i + c * LANES;

      there[c] = Inside(g.read, 0, at);
      mine[c]  = Inside(nodes, 0, at) && (c > 0 || lane > 0) && (c < COLUMNS - 1 || lane < LANES - 1);
      share[c] = (Exists<T>(g, 0, at - 1) + Exists<T>(g, 0, at)) / 2;
    }
  }

  /* ask for the next plane */
  __device__ __forceinline__ void fetch(T x[ROWS + 2][COLUMNS])
  {
#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) {
      const T *const row = from + place[r];

#pragma unroll
      for (int c = 0; c < COLUMNS; c++)
        if (there[c]) x[r][c] = row[c * LANES];
    }
    from += xplane;
  }

  /* with the neighbours, which another lane has, in the same column of its or, at the ends, in one beside it; at sides there is none, and a
     share of the node */
  __device__ __forceinline__ StencilRow<T> neighbours(const T x[COLUMNS], int c) const
  {
    const T before = c > 0 && lane == LANES - 1 ? x[c > 0 ? c - 1 : c] : x[c],
            behind = c < COLUMNS - 1 && lane == 0 ? x[c < COLUMNS - 1 ? c + 1 : c] : x[c];

    return {__shfl_sync(0xffffffff, before, lane - 1), share[c] * x[c], __shfl_sync(0xffffffff, behind, lane + 1)};
  }

  /* row b of a plane, between rows a and c: to row r of the plane below, which is complete then, of its own plane and of that above */
  __device__ __forceinline__ T add(T &sum, T &own, const StencilRow<T> &a, const StencilRow<T> &b, const StencilRow<T> &c) const
  {
    const T below = fma(w.z[1], b.own, fma(w.xz[1], b.right, fma(w.yz[1], c.own, fma(w.xyz[1], c.right, sum))));

    sum = fma(w.own, b.own, fma(w.x[0], b.left, fma(w.x[1], b.right, own)));
    sum = fma(w.y[0], a.own, fma(w.y[1], c.own, fma(w.xy[0], a.left, fma(w.xy[1], c.right, sum))));
    own = fma(w.z[0], b.own, fma(w.xz[0], b.left, fma(w.yz[0], a.own, w.xyz[0] * a.left)));
    return below;
  }

  /* y0 of the rows that are put */
  __device__ __forceinline__ void fetchold(int put, T old[ROWS][COLUMNS]) const
  {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) old[r][c] = r < put && mine[c] ? (y + r * (size_t)yrow)[c * LANES + (v.y0 - v.y)] : T(0);
    }
  }

  /* what a plane gives; the one below is complete then, of which so many rows are put */
  __device__ __forceinline__ void layer(const T x[ROWS + 2][COLUMNS], const T old[ROWS][COLUMNS], int put)
  {
    StencilRow<T> before[COLUMNS], row[COLUMNS];
    T             partial = 0;

#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      before[c] = neighbours(x[0], c);
      row[c]    = neighbours(x[1], c);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      T *const to = y + r * (size_t)yrow;

#pragma unroll
      for (int c = 0; c < COLUMNS; c++) {
        const StencilRow<T> next  = neighbours(x[r + 2], c);
        T                   below = add(sum[r][c], own[r][c], before[c], row[c], next);

        if (r < put && mine[c]) {
          if (MODE == LATTICE_ADD) below += old[r][c];
          to[c * LANES] = below;
          if (MODE == LATTICE_ENERGY) partial += below * mid[r][c];
        }
        if (MODE == LATTICE_ENERGY) mid[r][c] = x[r + 1][c];
        before[c] = row[c];
        row[c]    = next;
      }
    }
    if (MODE == LATTICE_ENERGY) energy += partial;
    y += yplane;
  }

  /* planes from `first` to end; the loop is unrolled so that planes stay where they are in registers */
  __device__ __forceinline__ void march(int first, int end)
  {
#pragma unroll
    for (int p = 0; p < PLANES - 1; p++)
      if (first - 1 + p <= end) fetch(x[p]);
    for (int z = first - 1; z <= end; z += PLANES) {
#pragma unroll
      for (int p = 0; p < PLANES; p++) {
        const int put = z + p > first ? rows : 0;
        T         old[ROWS][COLUMNS];

        if (z + p > end) break;
        if (z + p + PLANES - 1 <= end) fetch(x[(p + PLANES - 1) % PLANES]);
        if constexpr (MODE == LATTICE_ADD) fetchold(put, old);
        layer(x[p], old, put);
      }
    }
    if constexpr (MODE == LATTICE_ENERGY) AddEnergy(energy, v.sweep);
  }
};

/* ---- nodes of the sides ---- */

template <typename T>
static __device__ StencilWeights<T> Weights(const LatticeGeometry &g, const StencilEntries<T> &e, const int node[3])
{
  StencilCubes<T> s;

  for (int i = 0; i < 2; i++) {
    s.x[i] = Exists<T>(g, 0, node[0] - 1 + i);
    s.y[i] = Exists<T>(g, 1, node[1] - 1 + i);
    s.z[i] = Exists<T>(g, 2, node[2] - 1 + i);
  }
  return Weights<T>(e, s);
}

/* what the row gives to x'y */
template <typename T, LatticeMode MODE>
static __device__ T StencilNode(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, const int node[3])
{
  const auto x = [&](int i, int j, int k) {
    return g.read.contains(node[0] + i, node[1] + j, node[2] + k) ? v.x[g.xl.at(node[0] + i, node[1] + j, node[2] + k)] : T(0);
  };
  const bool written = g.write.contains(node[0], node[1], node[2]);
  T         *y = v.y + g.yl.at(node[0], node[1], node[2]), sum = 0;

  if (written) {
    const StencilWeights<T> w = Weights(g, table.entries, node);

    sum = w.own * x(0, 0, 0);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int s = 2 * i - 1;

      sum += w.x[i] * x(s, 0, 0) + w.y[i] * x(0, s, 0) + w.z[i] * x(0, 0, s) + w.xy[i] * x(s, s, 0) + w.xz[i] * x(s, 0, s) +
             w.yz[i] * x(0, s, s) + w.xyz[i] * x(s, s, s);
    }
    sum *= v.alpha;
  } else if (MODE == LATTICE_ENERGY) return 0;
  *y = MODE == LATTICE_ADD ? sum + y[v.y0 - v.y] : sum;
  return MODE == LATTICE_ENERGY ? sum * x(0, 0, 0) : T(0);
}

template <typename T, LatticeMode MODE>
static __device__ void StencilSides(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, int layers)
{
  const size_t block  = ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x,
               blocks = (size_t)layers * gridDim.y * gridDim.x;
  double energy       = 0;

  for (size_t item = block * blockDim.x + threadIdx.x; item < table.sides.size(); item += blocks * blockDim.x) {
    int node[3];

    table.sides.template find<unsigned>(item, node);
    energy += StencilNode<T, MODE>(g, table, v, node);
  }
  if (MODE == LATTICE_ENERGY) AddEnergy(energy, v.sweep);
}

/* ---- launches ---- */

template <typename T, LatticeMode MODE, typename Shape>
__launch_bounds__(Shape::THREADS, Shape::BLOCKS) static __global__
  void LatticeStencilKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ StencilTable<T> table,
                            const __grid_constant__ LatticeVectors<T> v, const __grid_constant__ LatticeCut cut)
{
  const int layers = (int)gridDim.z - cut.parts, part = (int)blockIdx.z - layers; /* the sides come first: what is last is to be short */

  if (MODE == LATTICE_ENERGY && v.sweep->stop) return;
  if (part < 0) StencilSides<T, MODE>(g, table, v, layers);
  else {
    const int                    first = cut.lo + part * cut.chunk;
    StencilMarch<T, MODE, Shape> march(g, table, v, first);

    if (march.rows) march.march(first, min(first + cut.chunk, cut.hi));
  }
}

template <typename T, LatticeMode MODE>
using StencilShapeOf = std::conditional_t<sizeof(T) == 4, StencilShape<3, 2, 2, 4, 2, MODE == LATTICE_MULT ? 3 : 2>,
                                          StencilShape<2, MODE == LATTICE_MULT ? 3 : 2, 2, 4, 1, 2>>;

template <typename T, LatticeMode MODE, typename F>
static PetscErrorCode WithStencil(F &&f)
{
  using Shape = StencilShapeOf<T, MODE>;

  return f(LatticeStencilKernel<T, MODE, Shape>, Shape());
}

/* f(its kernel, its shape) */
template <typename T, typename F>
static PetscErrorCode ForStencil(LatticeMode mode, F &&f)
{
  return mode == LATTICE_MULT ? WithStencil<T, LATTICE_MULT>(f)
                              : (mode == LATTICE_ADD ? WithStencil<T, LATTICE_ADD>(f) : WithStencil<T, LATTICE_ENERGY>(f));
}

/* rows of A whose nodes have all their cubes in y and z, and neighbours there that are read */
static Range InnerNodes(const LatticeGeometry &g)
{
  Range r;

  for (int d = 0; d < 3; d++) {
    const int lo = d ? PetscMax(PetscMax(g.write.lo[d], g.read.lo[d] + 1), g.cubes.lo[d] + 1) : g.write.lo[d];
    const int hi = d ? PetscMin(PetscMin(g.write.hi[d], g.read.hi[d] - 1), g.cubes.hi[d]) : g.write.hi[d];

    r.lo[d] = PetscMin(PetscMax(g.store.lo[d], lo), g.store.hi[d]);
    r.hi[d] = PetscMax(r.lo[d], PetscMin(g.store.hi[d], hi));
  }
  return r;
}

template <typename T>
PetscErrorCode LatticeStencilCut(LatticeMode mode, const LatticeGeometry &g, LatticeCut *cut)
{
  const Range inner = InnerNodes(g);

  return ForStencil<T>(mode, [&](auto kernel, auto shape) {
    using Shape      = decltype(shape);
    const dim3 tiles = Shape::grid(inner);

    PetscFunctionBegin;
    PetscCall(LatticeCutPlanes(kernel, Shape::THREADS, 0, tiles, inner.lo[2], inner.hi[2], 10, cut));
    /* for those of the sides */
    cut->grid.z += (unsigned)PetscMin(Shell(g.store, inner).size() / ((size_t)tiles.x * tiles.y * Shape::THREADS * 2) + 1,
                                      (size_t)(65535 - cut->parts));
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

template <typename T>
PetscErrorCode LatticeStencilApply(LatticeMode mode, const LatticeCut &cut, const LatticeGeometry &g, const LatticeMaterial<T> &m,
                                   const LatticeVectors<T> &v, cudaStream_t stream)
{
  const T         edge = 4 * m.mass * m.constc; /* an element's mass on an edge */
  StencilTable<T> table;

  for (int d = 0; d < 3; d++) table.entries.axis[d] = edge - 4 * m.stiffness[d] * m.constk[d];
  table.entries.face  = 2 * edge; /* of the two in a cube */
  table.entries.space = 6 * edge;
  table.entries.node  = 5 * edge;
  table.whole         = Weights<T>(table.entries, {{1, 1}, {1, 1}, {1, 1}});
  for (size_t i = 0; i < sizeof(table.whole) / sizeof(T); i++) ((T *)&table.whole)[i] *= v.alpha;
  table.inner = InnerNodes(g);
  table.sides = Shell(g.store, table.inner);
  return ForStencil<T>(mode, [&](auto kernel, auto shape) {
    using Shape = decltype(shape);

    PetscFunctionBegin;
    kernel<<<cut.grid, Shape::THREADS, 0, stream>>>(g, table, v, cut);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

#define INSTANTIATE(T) \
  template PetscErrorCode LatticeStencilCut<T>(LatticeMode, const LatticeGeometry &, LatticeCut *); \
  template PetscErrorCode LatticeStencilApply(LatticeMode, const LatticeCut &, const LatticeGeometry &, const LatticeMaterial<T> &, \
                                              const LatticeVectors<T> &, cudaStream_t)
INSTANTIATE(double);
INSTANTIATE(float);
#undef INSTANTIATE

/*
  The operator on a lattice (lattice.cuh) in 2D.  A square has the triangles 0, 1, 3 and 0, 2, 3; with sums t_1 and t_2 over their corners
  an edge from v has

    x: t_1(v) + t_2(v - y)      y: t_2(v) + t_1(v - x)      xy: t_1 + t_2

  and the node t_1 + t_2 of v and of v - x - y, t_1(v - x), t_2(v - y).  A thread has the squares of a column and ROWS + 1 rows, in
  registers; squares that do not exist have sums zero.  Memory bounds it.
*/

static constexpr int plane_rows = 8;

/* a node: x, capacity and conductivities, with their factors */
template <typename T>
struct PlaneNode {
  T x, c, k[2];

  __device__ __forceinline__ PlaneNode right() const { return {FromRight(x), FromRight(c), {FromRight(k[0]), FromRight(k[1])}}; }
};

/* the triangles of a square, of one field */
template <typename T>
struct PlaneSquare {
  T t1, t2;

  __device__ __forceinline__ PlaneSquare(T on, T c0, T c1, T c2, T c3)
  {
    const T ends = on * (c0 + c3);

    t1 = on * c1 + ends;
    t2 = on * c2 + ends;
  }
};

template <typename T, bool TENSOR>
struct PlaneLoad {
  T x[plane_rows + 2], c[plane_rows + 2], k[TENSOR ? 2 : 1][plane_rows + 2];

  /* there, readable: bits of the rows with materials and of x, unless ALL */
  template <bool ALL>
  __device__ __forceinline__ void load(const LatticeScaled<T> &m, const T *from, ptrdiff_t at, unsigned row, unsigned there,
                                       unsigned readable)
  {
#pragma unroll
    for (int r = 0; r < plane_rows + 2; r++) {
      const size_t where = r * (size_t)Opaque(row);

      x[r] = ALL || (readable >> r & 1) ? (from + at)[where] : T(0);
      c[r] = ALL || (there >> r & 1) ? (m.c + at)[where] : T(0);
#pragma unroll
      for (int d = 0; d < (TENSOR ? 2 : 1); d++) k[d][r] = ALL || (there >> r & 1) ? (m.k[d] + at)[where] : T(0);
    }
  }
  __device__ __forceinline__ PlaneNode<T> node(const LatticeScaled<T> &m, int r) const
  {
    PlaneNode<T> n;

    n.x = x[r];
    n.c = m.cscale * c[r] + m.c0;
#pragma unroll
    for (int d = 0; d < 2; d++) n.k[d] = m.kscale[d] * k[TENSOR ? d : 0][r] + m.k0[d];
    return n;
  }
};

/* the rows of squares that belong to the body; empty: the rows of nodes that do not */
template <int ROWS>
static __device__ __forceinline__ unsigned PlaneBody(const LatticeGeometry &g, ptrdiff_t at, unsigned there, unsigned &empty)
{
  unsigned active = 0;

#pragma unroll
  for (int r = 0; r <= ROWS; r++) {
    const unsigned flags = there >> r & 1 ? g.body[at + r * g.xl.row] : 0;

    active |= (flags & LATTICE_CUBE ? 1u : 0u) << r;
    empty |= (flags & LATTICE_VOID ? 1u : 0u) << r;
  }
  return active;
}

template <typename T, bool TENSOR, bool ADD>
__launch_bounds__(LatticeTile<plane_rows>::THREADS) static __global__
  void LatticePlaneKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ LatticeScaled<T> m,
                          const __grid_constant__ LatticeVectors<T> v)
{
  constexpr int           ROWS = plane_rows;
  const LatticeTile<ROWS> tile(g.store);
  const unsigned          there = tile.rows(g.box), readable = tile.rows(g.read), store = tile.stored(g.store), write = tile.rows(g.write);
  const ptrdiff_t         at    = g.xl.at(tile.i, tile.j, g.box.lo[2]);
  T                      *y     = v.y + g.yl.at(tile.i, tile.j, g.store.lo[2]), old[ROWS + 1];
  unsigned                cubes = tile.rows(g.cubes), empty = 0;
  PlaneLoad<T, TENSOR>    loaded;
  T                       c1 = 0, c2 = 0, k2 = 0; /* of the row of squares before: t_1 and t_2 of capacities, t_2 of conductivities in x */
  T                       Y = 0, S = 0;           /* what the row before gives to this node and to the one to the right */

  if (tile.j + 1 >= g.store.hi[1]) return; /* a warp without rows */
  if (__all_sync(0xffffffff, (there & readable) == (4u << ROWS) - 1)) loaded.template load<true>(m, v.x, at, (unsigned)g.xl.row, 0, 0);
  else loaded.template load<false>(m, v.x, at, (unsigned)g.xl.row, there, readable);
  if constexpr (ADD) {
#pragma unroll
    for (int r = 1; r <= ROWS; r++) old[r] = store >> r & 1 ? (y + (v.y0 - v.y))[r * (size_t)Opaque((unsigned)g.yl.row)] : T(0);
  }
  if (g.body) cubes &= PlaneBody<ROWS>(g, at, there, empty);

  PlaneNode<T> own = loaded.node(m, 0), right = own.right();

#pragma unroll
  for (int r = 0; r <= ROWS; r++) {
    const PlaneNode<T>   up = loaded.node(m, r + 1), upright = up.right();
    const T              on = cubes >> r & 1 ? T(1) : T(0);
    const PlaneSquare<T> c(on, own.c, right.c, up.c, upright.c), kx(on, own.k[0], right.k[0], up.k[0], upright.k[0]),
      ky(on, own.k[1], right.k[1], up.k[1], upright.k[1]);
    const T ax = c.t1 + c2 - kx.t1 - k2, ay = c.t2 - ky.t2 + FromLeft(c.t1 - ky.t1), axy = c.t1 + c.t2,
            node = axy + c2 + FromLeft(c.t1 + c1 + c2);
    const T dx = right.x - own.x, dy = up.x - own.x, dxy = upright.x - own.x;

    if (r) {
      T sum = fma(ax, dx, Y);

      sum = fma(ay, dy, sum);
      sum = fma(axy, dxy, sum);
      sum = fma(4 * own.x, node, sum + FromLeft(fma(-ax, dx, S)));
      if (empty >> r & 1) sum = m.identity * own.x;
      const T alpha = write >> r & 1 ? v.alpha : T(0);

      if (store >> r & 1) y[r * (size_t)Opaque((unsigned)g.yl.row)] = ADD ? alpha * sum + old[r] : alpha * sum;
    }
    Y     = -ay * dy;
    S     = -axy * dxy;
    c1    = c.t1;
    c2    = c.t2;
    k2    = kx.t2;
    own   = up;
    right = upright;
  }
}

template <typename T>
PetscErrorCode LatticePlaneApply(const LatticeGeometry &g, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  using Tile = LatticeTile<plane_rows>;
  const LatticeScaled<T> material(LATTICE_TENSOR, m, v.x);
  const dim3             grid   = Tile::grid(g.store);
  const bool             tensor = m.k[0] != m.k[1];

  PetscFunctionBegin;
  PetscCheck(GridFits(grid.y), PETSC_COMM_SELF, PETSC_ERR_SUP, "A lattice in 2D has %d rows on a GPU, of at most %d",
             g.store.hi[1] - g.store.lo[1], 65535 * Tile::NY);
  if (tensor && v.y0) LatticePlaneKernel<T, true, true><<<grid, Tile::THREADS, 0, stream>>>(g, material, v);
  else if (tensor) LatticePlaneKernel<T, true, false><<<grid, Tile::THREADS, 0, stream>>>(g, material, v);
  else if (v.y0) LatticePlaneKernel<T, false, true><<<grid, Tile::THREADS, 0, stream>>>(g, material, v);
  else LatticePlaneKernel<T, false, false><<<grid, Tile::THREADS, 0, stream>>>(g, material, v);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode LatticePlaneApply(const LatticeGeometry &, const LatticeMaterial<double> &, const LatticeVectors<double> &,
                                          cudaStream_t);
template PetscErrorCode LatticePlaneApply(const LatticeGeometry &, const LatticeMaterial<float> &, const LatticeVectors<float> &,
                                          cudaStream_t);

} // namespace patchfd
