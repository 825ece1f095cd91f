/*
  The operator on a lattice (lattice.cuh) in 3D with constant materials: a stencil of 15 points.

  Where all cubes around a node exist, a block marches in z.  A plane of x, which comes through shared memory, two planes ahead, gives to the rows of the plane
  below, of its own and of the plane above, whose sums are in registers.  Nodes of the sides are left to threads that have one each, in the first blocks of the launch:
  there the weights are found from which cubes exist.  The cubes around an edge in x are those on either side of it in y and in z, of which those on the
  same side in both have two tetrahedra with it, the others one; an edge in xy has two in either cube, that in xyz all six.  Memory bounds it.
*/
#include "lattice_planes.cuh"
#include "shell.cuh"

namespace patchfd
{

/* a block: LANES threads with COLUMNS columns each, at distance LANES, in GROUPS of ROWS rows; planes in shared memory; least number of blocks of a multiprocessor */
template <typename T, int ROWS_, int COLUMNS_, int LANES_, int GROUPS_, int SLOTS_, int BLOCKS_>
struct StencilShape {
  static constexpr int ROWS = ROWS_, COLUMNS = COLUMNS_, LANES = LANES_, GROUPS = GROUPS_, BLOCKS = BLOCKS_, THREADS = LANES * GROUPS, NX = LANES * COLUMNS, NY = ROWS * GROUPS;
  using Planes = LatticePlanes<T, 1, NX, NY, SLOTS_>;
};

/* the nodes that a block writes: tiles of the same size, as far as possible */
struct StencilTile {
  int i, j, columns, rows;

  template <typename Shape>
  static __device__ StencilTile of(const Range &nodes)
  {
    StencilTile t;

    cut(nodes.lo[0], nodes.hi[0], Shape::NX, (int)blockIdx.x, &t.i, &t.columns);
    cut(nodes.lo[1], nodes.hi[1], Shape::NY, (int)blockIdx.y, &t.j, &t.rows);
    return t;
  }
  template <typename Shape>
  static dim3 grid(const Range &nodes)
  {
    return dim3(PetscMax(1, (nodes.hi[0] - nodes.lo[0] + Shape::NX - 1) / Shape::NX), PetscMax(1, (nodes.hi[1] - nodes.lo[1] + Shape::NY - 1) / Shape::NY));
  }

private:
  static __device__ void cut(int lo, int hi, int most, int tile, int *first, int *count)
  {
    const int tiles = max(1, (hi - lo + most - 1) / most), size = (hi - lo + tiles - 1) / tiles;

    *first = lo + tile * size;
    *count = max(0, min(size, hi - *first));
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
  T                 tetrahedra = 2 * (s.x[0] + s.x[1]) * (s.y[0] + s.y[1]) * (s.z[0] + s.z[1]), off = 0; /* around the node: six of cubes of corner 0 or 7, two of others */

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

/* entries, the weights where all cubes exist, and which nodes these are, and the other ones */
template <typename T>
struct StencilTable {
  StencilEntries<T> entries;
  StencilWeights<T> whole;
  Range             inner;
  Shell             sides;
};

/* ---- where all cubes exist ---- */

template <typename T, LatticeMode MODE, typename Shape>
struct StencilMarch {
  static constexpr int ROWS = Shape::ROWS, COLUMNS = Shape::COLUMNS;
  using Planes              = typename Shape::Planes;

  const LatticeGeometry   &g;
  const StencilWeights<T> &w;
  const LatticeVectors<T> &v;
  const StencilTile        tile;
  Planes                   planes;
  const int                column, first; /* the thread's first one; its first row, of the block's */
  T                       *y;             /* its first node in the plane to be written */
  T                        sum[ROWS][COLUMNS], own[ROWS][COLUMNS]; /* of the planes below: of that to be written, of the next one */
  T                        x[ROWS][COLUMNS];                       /* of the plane to be written, for its energy */
  T                        old[ROWS][COLUMNS];                     /* y0 of that plane */
  double                   energy;

  __device__ __forceinline__ StencilMarch(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, const StencilTile &tile, T *shared, int z) :
    g(g), w(table.whole), v(v), tile(tile), planes(g, shared, tile.i - 1, tile.j - 1, tile.columns + 2, tile.rows + 2), column((int)threadIdx.x % Shape::LANES),
    first((int)threadIdx.x / Shape::LANES * ROWS), y(v.y + g.yl.at(tile.i + column, tile.j + first, z - 2)), energy(0)
  {
    planes.field[0] = v.x;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) sum[r][c] = own[r][c] = x[r][c] = 0;
    }
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

  /* the thread's node of row r and column c in the plane to be written */
  __device__ __forceinline__ T *node(int r, int c) const { return y + r * (size_t)Opaque((unsigned)g.yl.row) + c * Shape::LANES; }
  __device__ __forceinline__ bool has(int r, int c) const { return column + c * Shape::LANES < tile.columns && first + r < tile.rows; }

  /* row r, from the one before the thread's first one, of the plane that is there */
  __device__ __forceinline__ StencilRow<T> get(int r, int c, unsigned placed) const
  {
    const T *const from = planes.row(0, first + r, placed) + column + c * Shape::LANES;

    return {from[0], from[1], from[2]};
  }

  __device__ __forceinline__ void fetchold(bool put)
  {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) old[r][c] = put && has(r, c) ? node(r, c)[v.y0 - v.y] : T(0);
    }
  }

  /* what plane z gives, that is there; the plane below is complete then, and may be put */
  __device__ __forceinline__ void layer(int z, bool put)
  {
    const unsigned placed = planes.place(0, z);
    StencilRow<T>  before[COLUMNS], row[COLUMNS];
    T              partial = 0;

#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      before[c] = get(0, c, placed);
      row[c]    = get(1, c, placed);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) {
        const StencilRow<T> next  = get(r + 2, c, placed);
        T                   below = add(sum[r][c], own[r][c], before[c], row[c], next);

        if (put && has(r, c)) {
          if (MODE == LATTICE_ADD) below += old[r][c];
          *node(r, c) = below;
          if (MODE == LATTICE_ENERGY) partial += below * x[r][c];
        }
        if (MODE == LATTICE_ENERGY) x[r][c] = row[c].own;
        before[c] = row[c];
        row[c]    = next;
      }
    }
    if (MODE == LATTICE_ENERGY) energy += partial;
  }

  /* planes from `from` to end */
  __device__ __forceinline__ void march(int from, int end)
  {
    for (int z = from - 1; z < min(from - 2 + Planes::SLOTS, end + 1); z++) planes.request(z);
    for (int z = from - 1; z <= end; z++) {
      __syncthreads();
      if (z + Planes::SLOTS - 1 <= end) planes.request(z + Planes::SLOTS - 1);
      if (MODE == LATTICE_ADD) fetchold(z > from);
      planes.wait();
      layer(z, z > from);
      y += g.yl.plane;
    }
    if constexpr (MODE == LATTICE_ENERGY) AddEnergy(energy, v.sweep);
  }
};

/* ---- nodes of the sides ---- */

template <typename T>
static __device__ StencilWeights<T> Weights(const LatticeGeometry &g, const StencilEntries<T> &e, const int node[3])
{
  const auto has = [&](int d, int i) { return Inside(g.cubes, d, i) ? T(1) : T(0); };

  return Weights<T>(e, {{has(0, node[0] - 1), has(0, node[0])}, {has(1, node[1] - 1), has(1, node[1])}, {has(2, node[2] - 1), has(2, node[2])}});
}

/* what the row gives to x'y */
template <typename T, LatticeMode MODE>
static __device__ T StencilNode(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, const int node[3])
{
  const auto x = [&](int i, int j, int k) { return g.read.contains(node[0] + i, node[1] + j, node[2] + k) ? v.x[g.xl.at(node[0] + i, node[1] + j, node[2] + k)] : T(0); };
  const bool written = g.write.contains(node[0], node[1], node[2]);
  T         *y       = v.y + g.yl.at(node[0], node[1], node[2]), sum = 0;

  if (written) {
    const StencilWeights<T> w = Weights(g, table.entries, node);

    sum = w.own * x(0, 0, 0);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int s = 2 * i - 1;

      sum += w.x[i] * x(s, 0, 0) + w.y[i] * x(0, s, 0) + w.z[i] * x(0, 0, s) + w.xy[i] * x(s, s, 0) + w.xz[i] * x(s, 0, s) + w.yz[i] * x(0, s, s) + w.xyz[i] * x(s, s, s);
    }
    sum *= v.alpha;
  } else if (MODE == LATTICE_ENERGY) return 0;
  *y = MODE == LATTICE_ADD ? sum + y[v.y0 - v.y] : sum;
  return MODE == LATTICE_ENERGY ? sum * x(0, 0, 0) : T(0);
}

template <typename T, LatticeMode MODE>
static __device__ void StencilSides(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, int layers)
{
  const size_t block = ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x, blocks = (size_t)layers * gridDim.y * gridDim.x;
  double       energy = 0;

  for (size_t item = block * blockDim.x + threadIdx.x; item < table.sides.size(); item += blocks * blockDim.x) {
    int node[3];

    table.sides.template find<unsigned>(item, node);
    energy += StencilNode<T, MODE>(g, table, v, node);
  }
  if (MODE == LATTICE_ENERGY) AddEnergy(energy, v.sweep);
}

/* ---- launches ---- */

template <typename T, LatticeMode MODE, typename Shape>
__launch_bounds__(Shape::THREADS, Shape::BLOCKS)
static __global__ void LatticeStencilKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ StencilTable<T> table, const __grid_constant__ LatticeVectors<T> v, const __grid_constant__ LatticeCut cut)
{
  extern __shared__ double shared_memory[];
  const int                layers = (int)gridDim.z - cut.parts, part = (int)blockIdx.z - layers; /* the sides come first: what is last is to be short */

  if (MODE == LATTICE_ENERGY && v.sweep->stop) return;
  if (part < 0) StencilSides<T, MODE>(g, table, v, layers);
  else {
    const int                    first = cut.lo + part * cut.chunk;
    StencilMarch<T, MODE, Shape> march(g, table, v, StencilTile::of<Shape>(table.inner), (T *)shared_memory, first);

    march.march(first, min(first + cut.chunk, cut.hi));
  }
}

/* f(its kernel, its shape) */
template <typename T, typename F>
static PetscErrorCode ForStencil(LatticeMode mode, F &&f)
{
  using Shape = StencilShape<T, sizeof(T) == 4 ? 8 : 4, 2, 128, 2, 3, sizeof(T) == 4 ? 2 : 3>;

  return mode == LATTICE_MULT ? f(LatticeStencilKernel<T, LATTICE_MULT, Shape>, Shape()) : (mode == LATTICE_ADD ? f(LatticeStencilKernel<T, LATTICE_ADD, Shape>, Shape()) : f(LatticeStencilKernel<T, LATTICE_ENERGY, Shape>, Shape()));
}

/* rows of A whose nodes have all their cubes, and neighbours that are read */
static Range InnerNodes(const LatticeGeometry &g)
{
  Range r;

  for (int d = 0; d < 3; d++) {
    const int lo = PetscMax(PetscMax(g.write.lo[d], g.read.lo[d] + 1), g.cubes.lo[d] + 1), hi = PetscMin(PetscMin(g.write.hi[d], g.read.hi[d] - 1), g.cubes.hi[d]);

    r.lo[d] = PetscMin(PetscMax(g.store.lo[d], lo), g.store.hi[d]);
    r.hi[d] = PetscMax(r.lo[d], PetscMin(g.store.hi[d], hi));
  }
  return r;
}

template <typename T>
PetscErrorCode LatticeStencilCut(LatticeMode mode, const LatticeGeometry &g, LatticeCut *cut)
{
  constexpr int full = 6, shortest = 24; /* times that a device is full; planes of a march, which begins with some that give nothing */
  const Range   inner = InnerNodes(g);

  return ForStencil<T>(mode, [&](auto kernel, auto shape) {
    using Shape = decltype(shape);
    const int  planes = inner.hi[2] - inner.lo[2];
    const dim3 tiles  = StencilTile::grid<Shape>(inner);
    const auto block  = (size_t)tiles.x * tiles.y;
    int        processors, blocks;

    PetscFunctionBegin;
    PetscCall(Multiprocessors(&processors));
    PetscCall(AllowShared(kernel, Shape::Planes::SHARED));
    PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, Shape::THREADS, Shape::Planes::SHARED));
    cut->lo    = inner.lo[2];
    cut->hi    = inner.hi[2];
    cut->parts = PetscMax(1, PetscMin(planes / shortest, (int)((size_t)full * blocks * processors / block) + 1));
    cut->chunk = (planes + cut->parts - 1) / cut->parts;
    cut->parts = cut->chunk ? (planes + cut->chunk - 1) / cut->chunk : 0;
    cut->grid  = dim3(tiles.x, tiles.y, (unsigned)cut->parts + (unsigned)(Shell(g.store, inner).size() / (block * Shape::THREADS * 2) + 1)); /* for those of the sides */
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

template <typename T>
PetscErrorCode LatticeStencilApply(LatticeMode mode, const LatticeCut &cut, const LatticeGeometry &g, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  const T         edge = 4 * m.mass * m.constc; /* an element's mass on an edge */
  StencilTable<T> table;

  for (int d = 0; d < 3; d++) table.entries.axis[d] = edge - 4 * m.stiffness[d] * m.constk[d];
  table.entries.face  = 2 * edge; /* of the two in a cube */
  table.entries.space = 6 * edge;
  table.entries.node  = 5 * edge;
  table.whole         = Weights<T>(table.entries, {{1, 1}, {1, 1}, {1, 1}});
  for (size_t i = 0; i < sizeof(table.whole) / sizeof(T); i++) ((T *)&table.whole)[i] *= v.alpha;
  table.inner         = InnerNodes(g);
  table.sides         = Shell(g.store, table.inner);
  return ForStencil<T>(mode, [&](auto kernel, auto shape) {
    using Shape = decltype(shape);

    PetscFunctionBegin;
    kernel<<<cut.grid, Shape::THREADS, Shape::Planes::SHARED, stream>>>(g, table, v, cut);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

#define INSTANTIATE(T) \
  template PetscErrorCode LatticeStencilCut<T>(LatticeMode, const LatticeGeometry &, LatticeCut *); \
  template PetscErrorCode LatticeStencilApply(LatticeMode, const LatticeCut &, const LatticeGeometry &, const LatticeMaterial<T> &, const LatticeVectors<T> &, cudaStream_t)
INSTANTIATE(double);
INSTANTIATE(float);
#undef INSTANTIATE

} // namespace patchfd
