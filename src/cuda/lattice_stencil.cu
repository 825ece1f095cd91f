/*
  The operator on a lattice (lattice.cuh) in 3D with constant materials: a stencil of 15 points.

  A warp marches in z.  A plane of x, which comes through shared memory, two planes ahead, gives to the rows of the plane below, of its own and of the plane
  above, whose sums are in registers.  Around nodes of the sides some cubes are missing: there the weights are found from which of them exist.  The cubes around
  an edge in x are those on either side of it in y and in z, of which those on the same side in both have two tetrahedra with it, the others one; an edge in
  xy has two in either cube, that in xyz all six.  Memory bounds it.
*/
#include "lattice.cuh"

namespace patchfd
{

static constexpr int stencil_rows = 8;

/* what tetrahedra give to edges: one to that of an axis, those of a cube to that of a face, to that through it */
template <typename T>
struct StencilEntries {
  T axis[3], face, space, node; /* node: what one gives to the sum of a row */
};

/* do the cubes on either side exist, in each direction: those before (0) and behind (1) the node? */
template <typename T>
struct StencilSides {
  T x[2], y[2], z[2];
};

/* weights of the neighbours before and behind, in the plane and in the planes below and above: of v -+ x, v -+ (x + y), ... */
template <typename T>
struct StencilWeights {
  T own, x[2], y[2], xy[2];
  T z, xz[2], yz[2], xyz[2];
};

template <typename T>
static __host__ __device__ T Around(const T a[2], const T b[2])
{
  return 2 * (a[0] * b[0] + a[1] * b[1]) + a[0] * b[1] + a[1] * b[0];
}

template <typename T>
static __host__ __device__ StencilWeights<T> Weights(const StencilEntries<T> &e, const StencilSides<T> &s)
{
  StencilWeights<T> w;
  T                 tetrahedra = 2 * (s.x[0] + s.x[1]) * (s.y[0] + s.y[1]) * (s.z[0] + s.z[1]), off = 0; /* around the node: six of cubes of corner 0 or 7, two of others */

  w.z = Around(s.x, s.y) * e.axis[2];
  for (int i = 0; i < 2; i++) {
    w.x[i]   = s.x[i] * Around(s.y, s.z) * e.axis[0];
    w.y[i]   = s.y[i] * Around(s.x, s.z) * e.axis[1];
    w.xy[i]  = s.x[i] * s.y[i] * (s.z[0] + s.z[1]) * e.face;
    w.xz[i]  = s.x[i] * (s.y[0] + s.y[1]) * e.face; /* there is a plane below or above, or else x is zero there */
    w.yz[i]  = s.y[i] * (s.x[0] + s.x[1]) * e.face;
    w.xyz[i] = s.x[i] * s.y[i] * e.space;
    off += w.x[i] + w.y[i] + w.xy[i] + s.z[i] * (w.z + w.xz[i] + w.yz[i] + w.xyz[i]);
    tetrahedra += 4 * s.x[i] * s.y[i] * s.z[i];
  }
  w.own = tetrahedra * e.node - off;
  return w;
}

template <typename T>
struct StencilRow {
  T left, own, right;
};

/* entries, and the weights where all cubes exist */
template <typename T>
struct StencilTable {
  StencilEntries<T> entries;
  StencilWeights<T> whole;
};

/* WHOLE: have all nodes all their cubes?  ADD: is there y0? */
template <typename T, bool WHOLE, bool ADD>
struct LatticeStencil {
  static constexpr int ROWS = stencil_rows;
  using Tile                = LatticeTile<ROWS>;
  using Ring                = LatticeRing<T, 1, 1, ROWS>;

  const LatticeGeometry  &g;
  const StencilTable<T>  &table;
  const LatticeVectors<T> &v;
  const Tile             &tile;
  Ring                    ring;
  const unsigned          store, write; /* bits of rows */
  T                      *y;            /* row 0 of the plane to be written */
  T                       sum[ROWS + 1], own[ROWS + 1]; /* of the planes below: of that to be written, of the next one */

  __device__ __forceinline__ LatticeStencil(const LatticeGeometry &g, const StencilTable<T> &table, const LatticeVectors<T> &v, const Tile &tile, T *shared, int z) :
    g(g), table(table), v(v), tile(tile), ring(tile, g, shared), store(tile.stored(g)), write(tile.rows(g.write)), y(v.y + g.yl.at(tile.i, tile.j, z - 2))
  {
    ring.from[0] = v.x + g.xl.at(tile.i, tile.j, z - 1);
#pragma unroll
    for (int r = 0; r <= ROWS; r++) sum[r] = own[r] = 0;
  }

  __device__ __forceinline__ StencilRow<T> row(int r) const { return {ring.left(0, r), ring.get(0, r), ring.right(0, r)}; }

  /* the weights of row r of plane z */
  __device__ __forceinline__ StencilWeights<T> weights(int r, int z) const
  {
    const auto has = [&](int d, int i) { return Inside(g.cubes, d, i) ? T(1) : T(0); };
    const int  i = (int)Opaque((unsigned)tile.i), j = (int)Opaque((unsigned)tile.j) + r; /* or all of them would be kept */

    return Weights<T>(table.entries, {{has(0, i - 1), has(0, i)}, {has(1, j - 1), has(1, j)}, {has(2, z - 1), has(2, z)}});
  }

  /* plane z, whose row r is b, between rows a and c: to row r of the plane below, which is complete then, of its own plane and of that above */
  __device__ __forceinline__ T add(const StencilWeights<T> &w, int r, const StencilRow<T> &a, const StencilRow<T> &b, const StencilRow<T> &c)
  {
    const T below = sum[r] + (w.z * b.own + w.xz[1] * b.right + (w.yz[1] * c.own + w.xyz[1] * c.right));

    sum[r] = own[r] + (w.own * b.own + w.x[0] * b.left + w.x[1] * b.right) + (w.y[0] * a.own + w.y[1] * c.own + w.xy[0] * a.left + w.xy[1] * c.right);
    own[r] = w.z * b.own + w.xz[0] * b.left + (w.yz[0] * a.own + w.xyz[0] * a.left);
    return below;
  }

  __device__ __forceinline__ void layer(int z, bool last)
  {
    const unsigned put = last ? store : 0, rows = Inside(g.write, 2, z - 1) ? write : 0;
    StencilRow<T>  x[3];
    T              old[ROWS + 1];

    ring.wait();
    ring.request(g, z + 2);
    if constexpr (ADD) {
#pragma unroll
      for (int r = 1; r <= ROWS; r++) old[r] = put >> r & 1 ? (y + (v.y0 - v.y))[r * (size_t)Opaque((unsigned)g.yl.row)] : T(0);
    }
    x[0] = row(0);
    x[1] = row(1);
#pragma unroll
    for (int r = 1; r <= ROWS; r++) {
      x[2] = row(r + 1);
      const T below = WHOLE ? add(table.whole, r, x[0], x[1], x[2]) : add(weights(r, z), r, x[0], x[1], x[2]), alpha = rows >> r & 1 ? v.alpha : T(0);

      if (put >> r & 1) y[r * (size_t)Opaque((unsigned)g.yl.row)] = ADD ? alpha * below + old[r] : alpha * below;
      x[0] = x[1];
      x[1] = x[2];
    }
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
  }
};

template <typename T, bool ADD>
__launch_bounds__(LatticeTile<stencil_rows>::THREADS)
static __global__ void LatticeStencilKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ StencilTable<T> table, const __grid_constant__ LatticeVectors<T> v, const __grid_constant__ LatticeCut cut)
{
  using Whole = LatticeStencil<T, true, ADD>;
  using Sides = LatticeStencil<T, false, ADD>;
  extern __shared__ double shared_memory[];
  const typename Whole::Tile tile(g);
  int                        first, end;
  bool                       inner;

  cut.planes(g, &first, &end, &inner);
  if (tile.j + 1 >= g.store.hi[1] || first >= end) return; /* a warp without rows */
  if (inner && tile.inner(g)) {
    Whole march(g, table, v, tile, (T *)shared_memory, first);

    march.march(first, end);
  } else {
    Sides march(g, table, v, tile, (T *)shared_memory, first);

    march.march(first, end);
  }
}

template <typename T>
PetscErrorCode LatticeStencilCut(const LatticeGeometry &g, LatticeCut *cut)
{
  constexpr size_t shared = LatticeStencil<T, true, true>::Ring::SHARED;

  PetscFunctionBegin;
  PetscCall(AllowShared(LatticeStencilKernel<T, true>, shared));
  PetscCall(LatticeCutPlanes<LatticeTile<stencil_rows>>(LatticeStencilKernel<T, false>, shared, g, cut));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode LatticeStencilApply(const LatticeCut &cut, const LatticeGeometry &g, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  constexpr int    threads = LatticeTile<stencil_rows>::THREADS;
  constexpr size_t shared  = LatticeStencil<T, true, true>::Ring::SHARED;
  const T          edge    = 4 * m.mass * m.constc; /* an element's mass on an edge */
  StencilTable<T>  table;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) table.entries.axis[d] = edge - 4 * m.stiffness[d] * m.constk[d];
  table.entries.face  = 2 * edge; /* of the two in a cube */
  table.entries.space = 6 * edge;
  table.entries.node  = 5 * edge;
  table.whole         = Weights<T>(table.entries, {{1, 1}, {1, 1}, {1, 1}});
  if (v.y0) LatticeStencilKernel<T, true><<<cut.grid, threads, shared, stream>>>(g, table, v, cut);
  else LatticeStencilKernel<T, false><<<cut.grid, threads, shared, stream>>>(g, table, v, cut);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define INSTANTIATE(T) \
  template PetscErrorCode LatticeStencilCut<T>(const LatticeGeometry &, LatticeCut *); \
  template PetscErrorCode LatticeStencilApply(const LatticeCut &, const LatticeGeometry &, const LatticeMaterial<T> &, const LatticeVectors<T> &, cudaStream_t)
INSTANTIATE(double);
INSTANTIATE(float);
#undef INSTANTIATE

} // namespace patchfd
