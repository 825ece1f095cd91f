/*
  The operator on a lattice (lattice.cuh) in 2D.  A square has the triangles 0, 1, 3 and 0, 2, 3; with sums t_1 and t_2 over their corners
  an edge from v has

    x: t_1(v) + t_2(v - y)      y: t_2(v) + t_1(v - x)      xy: t_1 + t_2

  and the node t_1 + t_2 of v and of v - x - y, t_1(v - x), t_2(v - y).  A thread has the squares of a column and ROWS + 1 rows, in
  registers; squares that do not exist have sums zero.  Memory bounds it.
*/
#include "lattice/lattice.cuh"

namespace patchfd
{

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
