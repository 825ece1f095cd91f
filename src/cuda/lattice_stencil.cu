/*
  The operator on a lattice (lattice.cuh) in 3D with constant materials: a stencil of 15 points.

  Where all cubes around a node exist, a block marches in z.  A plane of x, which comes through shared memory, two planes ahead, gives to the rows of the plane
  below, of its own and of the plane above, whose sums are in registers.  Nodes of the sides are left to threads that have one each, in blocks of the same launch:
  there the weights are found from which cubes exist.  The cubes around an edge in x are those on either side of it in y and in z, of which those on the
  same side in both have two tetrahedra with it, the others one; an edge in xy has two in either cube, that in xyz all six.  Memory bounds it.
*/
#include "lattice.cuh"
#include "shell.cuh"

namespace patchfd
{

using StencilTile = LatticeTile<8, 64>;

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

template <typename T, LatticeMode MODE>
struct StencilMarch {
  static constexpr int ROWS = StencilTile::ROWS;
  using Ring                = LatticeRing<T, 1, StencilTile, true>;

  const LatticeGeometry   &g;
  const StencilWeights<T> &w;
  const LatticeVectors<T> &v;
  Ring                     ring;
  const unsigned           store, write; /* bits of rows */
  T                       *y;            /* row 0 of the plane to be written */
  T                        sum[ROWS + 1], own[ROWS + 1]; /* of the planes below: of that to be written, of the next one */
  T                        x[ROWS + 1];                  /* of the plane to be written, for its energy */
  double                   energy;

  __device__ __forceinline__ StencilMarch(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, const StencilTile &tile, T *shared, int z) :
    g(g), w(table.whole), v(v), ring(tile, g, shared), store(tile.stored(table.inner)), write(tile.rows(g.write)), y(v.y + g.yl.at(tile.i, tile.j, z - 2)), energy(0)
  {
    ring.from[0] = v.x + g.xl.at(tile.i, tile.j, z - 1);
#pragma unroll
    for (int r = 0; r <= ROWS; r++) sum[r] = own[r] = x[r] = 0;
  }

  __device__ __forceinline__ StencilRow<T> row(int r) const { return {ring.get(0, r, ring.left), ring.get(0, r), ring.get(0, r, ring.right)}; }

  /* row b of a plane, between rows a and c: to row r of the plane below, which is complete then, of its own plane and of that above */
  __device__ __forceinline__ T add(int r, const StencilRow<T> &a, const StencilRow<T> &b, const StencilRow<T> &c)
  {
    const T below = sum[r] + (w.z[1] * b.own + w.xz[1] * b.right + (w.yz[1] * c.own + w.xyz[1] * c.right));

    sum[r] = own[r] + (w.own * b.own + w.x[0] * b.left + w.x[1] * b.right) + (w.y[0] * a.own + w.y[1] * c.own + w.xy[0] * a.left + w.xy[1] * c.right);
    own[r] = w.z[0] * b.own + w.xz[0] * b.left + (w.yz[0] * a.own + w.xyz[0] * a.left);
    return below;
  }

  __device__ __forceinline__ void layer(int z, bool last)
  {
    const unsigned rows = Inside(g.write, 2, z - 1) ? write : 0, put = !last ? 0 : (MODE == LATTICE_ENERGY ? store & rows : store);
    StencilRow<T>  row3[3];
    T              old[ROWS + 1], partial = 0;

    ring.wait();
    ring.request(g, z + 2);
    if constexpr (MODE == LATTICE_ADD) {
#pragma unroll
      for (int r = 1; r <= ROWS; r++) old[r] = put >> r & 1 ? (y + (v.y0 - v.y))[r * (size_t)Opaque((unsigned)g.yl.row)] : T(0);
    }
    row3[0] = row(0);
    row3[1] = row(1);
#pragma unroll
    for (int r = 1; r <= ROWS; r++) {
      row3[2] = row(r + 1);
      T below = (rows >> r & 1 ? v.alpha : T(0)) * add(r, row3[0], row3[1], row3[2]);

      if constexpr (MODE == LATTICE_ADD) below += old[r];
      if (put >> r & 1) {
        y[r * (size_t)Opaque((unsigned)g.yl.row)] = below;
        if (MODE == LATTICE_ENERGY) partial += below * x[r];
      }
      if (MODE == LATTICE_ENERGY) x[r] = row3[1].own;
      row3[0] = row3[1];
      row3[1] = row3[2];
    }
    if (MODE == LATTICE_ENERGY) energy += partial;
  }

  /* planes from first to end */
  __device__ __forceinline__ void march(int first, int end)
  {
    ring.request(g, first - 1);
    ring.request(g, first);
    for (int z = first - 1; z <= end; z++) {
      layer(z, z > first);
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
static __device__ void StencilSides(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, int parts)
{
  const size_t block = ((size_t)(blockIdx.z - parts) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x, blocks = (size_t)(gridDim.z - parts) * gridDim.y * gridDim.x;
  double       energy = 0;

  for (size_t item = block * StencilTile::THREADS + threadIdx.x; item < table.sides.size(); item += blocks * StencilTile::THREADS) {
    int node[3];

    table.sides.template find<unsigned>(item, node);
    energy += StencilNode<T, MODE>(g, table, v, node);
  }
  if (MODE == LATTICE_ENERGY) AddEnergy(energy, v.sweep);
}

/* ---- launches ---- */

template <typename T, LatticeMode MODE>
__launch_bounds__(StencilTile::THREADS, sizeof(T) == 4 ? 4 : 3)
static __global__ void LatticeStencilKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ StencilTable<T> table, const __grid_constant__ LatticeVectors<T> v, const __grid_constant__ LatticeCut cut)
{
  extern __shared__ double shared_memory[];
  int                      first, end;
  bool                     inner;

  if (MODE == LATTICE_ENERGY && v.sweep->stop) return;
  if ((int)blockIdx.z >= cut.parts) StencilSides<T, MODE>(g, table, v, cut.parts);
  else {
    cut.planes(g, &first, &end, &inner);
    StencilMarch<T, MODE> march(g, table, v, StencilTile(table.inner), (T *)shared_memory, first);

    march.march(first, end);
  }
}

/* f(its kernel) */
template <typename T, typename F>
static PetscErrorCode ForStencil(LatticeMode mode, F &&f)
{
  return mode == LATTICE_MULT ? f(LatticeStencilKernel<T, LATTICE_MULT>) : (mode == LATTICE_ADD ? f(LatticeStencilKernel<T, LATTICE_ADD>) : f(LatticeStencilKernel<T, LATTICE_ENERGY>));
}

/* the nodes of y that have all their cubes */
static Range InnerNodes(const LatticeGeometry &g)
{
  Range r;

  for (int d = 0; d < 3; d++) {
    r.lo[d] = PetscMin(PetscMax(g.store.lo[d], g.cubes.lo[d] + 1), g.store.hi[d]);
    r.hi[d] = PetscMax(r.lo[d], PetscMin(g.store.hi[d], g.cubes.hi[d]));
  }
  return r;
}

template <typename T>
PetscErrorCode LatticeStencilCut(LatticeMode mode, const LatticeGeometry &g, LatticeCut *cut)
{
  constexpr size_t shared = StencilMarch<T, LATTICE_MULT>::Ring::SHARED;
  const Range      inner  = InnerNodes(g);

  return ForStencil<T>(mode, [&](auto kernel) {
    PetscFunctionBegin;
    PetscCall(LatticeCutPlanes<StencilTile>(kernel, shared, g, cut));
    cut->grid   = StencilTile::grid(inner);
    cut->grid.z = (unsigned)cut->parts + (unsigned)(Shell(g.store, inner).size() / ((size_t)cut->grid.x * cut->grid.y * StencilTile::THREADS * 2) + 1); /* for those of the sides */
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
  table.inner         = InnerNodes(g);
  table.sides         = Shell(g.store, table.inner);
  return ForStencil<T>(mode, [&](auto kernel) {
    PetscFunctionBegin;
    kernel<<<cut.grid, StencilTile::THREADS, StencilMarch<T, LATTICE_MULT>::Ring::SHARED, stream>>>(g, table, v, cut);
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
