/*
  The operator on a lattice (lattice.cuh) in 2D.  A square has the triangles 0, 1, 3 and 0, 2, 3; with sums t_1 and t_2 over their corners an edge from v has

    x: t_1(v) + t_2(v - y)      y: t_2(v) + t_1(v - x)      xy: t_1 + t_2

  and the node t_1 + t_2 of v and of v - x - y, t_1(v - x), t_2(v - y).  A thread has the squares of a column and ROWS + 1 rows, in registers; squares that
  do not exist have sums zero.  Memory bounds it.
*/
#include "lattice.cuh"

namespace patchfd
{

static constexpr int plane_rows = 6;

template <typename T>
struct PlaneNode {
  T c, k[2], x;

  __device__ __forceinline__ PlaneNode right() const { return {FromRight(c), {FromRight(k[0]), FromRight(k[1])}, FromRight(x)}; }
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

template <typename T>
static __device__ PlaneNode<T> PlaneLoad(const LatticeMaterial<T> &m, const LatticeVectors<T> &v, bool there, bool readable, ptrdiff_t at)
{
  PlaneNode<T> n;

  n.c = m.mass * (there && m.c ? m.c[at] : m.constc);
#pragma unroll
  for (int d = 0; d < 2; d++) n.k[d] = m.stiffness[d] * (there && m.k[d] ? m.k[d][at] : m.constk[d]);
  n.x = readable ? v.x[at] : T(0);
  return n;
}

template <typename T>
__launch_bounds__(LatticeTile<plane_rows>::THREADS)
static __global__ void LatticePlaneKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ LatticeMaterial<T> m, const __grid_constant__ LatticeVectors<T> v)
{
  constexpr int                 ROWS = plane_rows;
  const LatticeTile<plane_rows> tile(g);
  const unsigned                there = tile.rows(g.box), readable = tile.rows(g.read), cubes = tile.rows(g.cubes), store = tile.stored(g), write = tile.rows(g.write);
  const ptrdiff_t               at = g.xl.at(tile.i, tile.j, g.box.lo[2]), to = g.yl.at(tile.i, tile.j, g.store.lo[2]);
  PlaneNode<T>                  n[ROWS + 2];
  unsigned char                 body[ROWS + 1];
  T                             c1 = 0, c2 = 0, k2 = 0; /* of the row of squares before: t_1 and t_2 of capacities, t_2 of conductivities in x */
  T                             Y = 0, S = 0;           /* what the row before gives to this node and to the one to the right */

#pragma unroll
  for (int r = 0; r < ROWS + 2; r++) n[r] = PlaneLoad(m, v, there >> r & 1, readable >> r & 1, at + r * g.xl.row);
#pragma unroll
  for (int r = 0; r <= ROWS; r++) body[r] = (there >> r & 1) && g.body ? g.body[at + r * g.xl.row] : LATTICE_CUBE;

  PlaneNode<T> right = n[0].right();

#pragma unroll
  for (int r = 0; r <= ROWS; r++) {
    const PlaneNode<T>   upright = n[r + 1].right();
    const T              on      = (cubes >> r & 1) && (body[r] & LATTICE_CUBE) ? T(1) : T(0);
    const PlaneSquare<T> c(on, n[r].c, right.c, n[r + 1].c, upright.c), kx(on, n[r].k[0], right.k[0], n[r + 1].k[0], upright.k[0]), ky(on, n[r].k[1], right.k[1], n[r + 1].k[1], upright.k[1]);
    const T              ax = c.t1 + c2 - kx.t1 - k2, ay = c.t2 - ky.t2 + FromLeft(c.t1 - ky.t1), axy = c.t1 + c.t2, sum = axy + c2 + FromLeft(c.t1 + c1 + c2);
    const T              fx = ax * (right.x - n[r].x), fy = ay * (n[r + 1].x - n[r].x), fxy = axy * (upright.x - n[r].x);
    T                    row = Y + fx + fy + fxy + FromLeft(S - fx) + 4 * sum * n[r].x;

    if (r && (store >> r & 1)) {
      const ptrdiff_t where = to + r * g.yl.row;
      const T         old   = v.y0 ? v.y0[where] : T(0);

      if (body[r] & LATTICE_VOID) row = n[r].x;
      v.y[where] = (write >> r & 1) ? v.alpha * row + old : old;
    }
    Y     = -fy;
    S     = -fxy;
    c1    = c.t1;
    c2    = c.t2;
    k2    = kx.t2;
    right = upright;
  }
}

template <typename T>
PetscErrorCode LatticePlaneApply(const LatticeGeometry &g, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  using Tile = LatticeTile<plane_rows>;

  PetscFunctionBegin;
  LatticePlaneKernel<<<Tile::grid(g, 1), Tile::THREADS, 0, stream>>>(g, m, v);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode LatticePlaneApply(const LatticeGeometry &, const LatticeMaterial<double> &, const LatticeVectors<double> &, cudaStream_t);
template PetscErrorCode LatticePlaneApply(const LatticeGeometry &, const LatticeMaterial<float> &, const LatticeVectors<float> &, cudaStream_t);

} // namespace patchfd
