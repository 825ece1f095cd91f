/*
  The operator on a lattice (lattice.cuh) in 3D with constant materials: a stencil of 15 points.

  A warp marches in z.  A plane of x gives to the rows of the plane below, of its own and of the plane above, whose sums are in registers; its values to the
  left and right come by shuffles.  Around nodes of the sides some cubes are missing: there the weights are found from which of them exist.  The cubes around
  an edge in x are those on either side of it in y and in z, of which those on the same side in both have two tetrahedra with it, the others one; an edge in
  xy has two in either cube, that in xyz all six.  The values of the next plane are on their way meanwhile.
*/
#include "lattice.cuh"
#include "march.cuh"

namespace patchfd
{

template <typename T>
struct StencilShape {
  static constexpr int ROWS = 6;
};

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

template <typename T>
struct LatticeStencil {
  static constexpr int ROWS = StencilShape<T>::ROWS;
  using Tile                = LatticeTile<ROWS>;

  const LatticeGeometry   &g;
  const LatticeVectors<T> &v;
  unsigned                 readable, store, write; /* bits of rows */
  ptrdiff_t                at, to;
  T                        next[ROWS + 2], sum[ROWS + 1], above[ROWS + 1]; /* x as loaded; rows of the plane below this one, of this one */

  __device__ __forceinline__ void fetch(int k)
  {
    const bool is = Inside(g.read, 2, k);

#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) next[r] = is && (readable >> r & 1) ? v.x[at + r * (size_t)Opaque((unsigned)g.xl.row)] : T(0);
    at += g.xl.plane;
  }

  __device__ __forceinline__ void put(int r, int k, T row) const
  {
    if (!(store >> r & 1)) return;
    const ptrdiff_t where = to + r * (size_t)Opaque((unsigned)g.yl.row);
    const T         old   = v.y0 ? v.y0[where] : T(0);

    v.y[where] = (write >> r & 1) && Inside(g.write, 2, k) ? v.alpha * row + old : old;
  }

  /* plane k, whose rows before r, r and behind it are p, q, n: to the planes below, its own, above.  Weights are those of row r in these planes */
  static __device__ __forceinline__ void add(const StencilWeights<T> &w, const StencilRow<T> &p, const StencilRow<T> &q, const StencilRow<T> &n, T &below, T &own, T &above)
  {
    below += w.z * q.own + w.xz[1] * q.right + w.yz[1] * n.own + w.xyz[1] * n.right;
    own += w.own * q.own + w.x[0] * q.left + w.x[1] * q.right + w.y[0] * p.own + w.y[1] * n.own + w.xy[0] * p.left + w.xy[1] * n.right;
    above = w.z * q.own + w.xz[0] * q.left + w.yz[0] * p.own + w.xyz[0] * p.left;
  }
};

/* entries, and the weights where all cubes exist */
template <typename T>
struct StencilTable {
  StencilEntries<T> entries;
  StencilWeights<T> whole;
};

template <typename T>
__launch_bounds__(LatticeStencil<T>::Tile::THREADS)
static __global__ void LatticeStencilKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ StencilTable<T> table, const __grid_constant__ LatticeVectors<T> v, int chunk)
{
  using S            = LatticeStencil<T>;
  constexpr int ROWS = S::ROWS;
  const typename S::Tile tile(g);
  const int              first = g.store.lo[2] + (int)blockIdx.z * chunk, end = min(first + chunk, g.store.hi[2]);

  if (tile.j + 1 >= g.store.hi[1]) return; /* a warp without rows */
  /* have all the nodes of the warp that are put all their cubes in x and y? */
  bool all = true;

#pragma unroll
  for (int r = 1; r <= ROWS; r++) all = all && tile.i > g.cubes.lo[0] && tile.i < g.cubes.hi[0] && tile.j + r > g.cubes.lo[1] && tile.j + r < g.cubes.hi[1];
  const unsigned store = tile.stored(g);
  S              s     = {g, v, tile.rows(g.read), store, tile.rows(g.write), g.xl.at(tile.i, tile.j, first - 1), g.yl.at(tile.i, tile.j, first - 2)};

  all = __all_sync(0xffffffff, all || !store);
#pragma unroll
  for (int r = 0; r <= ROWS; r++) s.sum[r] = s.above[r] = 0;
  s.fetch(first - 1);
  for (int k = first - 1; k <= end; k++) {
    StencilRow<T> x[3];
    T             now[ROWS + 2];
    const bool    whole = all && k > g.cubes.lo[2] && k < g.cubes.hi[2];

#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) now[r] = s.next[r];
    if (k < end) s.fetch(k + 1);
    x[0] = {FromLeft(now[0]), now[0], T(0)};
    x[1] = {FromLeft(now[1]), now[1], FromRight(now[1])};
#pragma unroll
    for (int r = 1; r <= ROWS; r++) {
      T below = s.sum[r], own = s.above[r], above;

      x[2] = {r < ROWS ? FromLeft(now[r + 1]) : T(0), now[r + 1], FromRight(now[r + 1])};
      if (whole) S::add(table.whole, x[0], x[1], x[2], below, own, above);
      else {
        const auto has = [&](int d, int i) { return Inside(g.cubes, d, i) ? T(1) : T(0); };
        const int  i = (int)Opaque((unsigned)tile.i), j = (int)Opaque((unsigned)tile.j) + r; /* or all weights would be kept */

        S::add(Weights<T>(table.entries, {{has(0, i - 1), has(0, i)}, {has(1, j - 1), has(1, j)}, {has(2, k - 1), has(2, k)}}), x[0], x[1], x[2], below, own, above);
      }
      if (k > first) s.put(r, k - 1, below);
      s.sum[r]   = own;
      s.above[r] = above;
      x[0]       = x[1];
      x[1]       = x[2];
    }
    s.to += g.yl.plane;
  }
}

template <typename T>
PetscErrorCode LatticeStencilCut(const LatticeGeometry &g, LatticeCut *cut)
{
  using Tile = typename LatticeStencil<T>::Tile;

  PetscFunctionBegin;
  cut->grid = Tile::grid(g, 1);
  PetscCall(CutMarches(LatticeStencilKernel<T>, Tile::THREADS, 0, (size_t)cut->grid.x * cut->grid.y, g.store.hi[2] - g.store.lo[2], 2, &cut->chunk, &cut->grid.z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode LatticeStencilApply(const LatticeCut &cut, const LatticeGeometry &g, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  const T         edge = 4 * m.mass * m.constc; /* an element's mass on an edge */
  StencilTable<T> table;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) table.entries.axis[d] = edge - 4 * m.stiffness[d] * m.constk[d];
  table.entries.face  = 2 * edge; /* of the two in a cube */
  table.entries.space = 6 * edge;
  table.entries.node  = 5 * edge;
  table.whole         = Weights<T>(table.entries, {{1, 1}, {1, 1}, {1, 1}});
  LatticeStencilKernel<<<cut.grid, LatticeStencil<T>::Tile::THREADS, 0, stream>>>(g, table, v, cut.chunk);
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
