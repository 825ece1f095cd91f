/*
  Linear elements on a lattice of cubes (squares), each cut into the simplices whose corners are a monotone path from corner 0 to the opposite one (Kuhn 1960).

  A simplex has the means c and k of its corners' capacities and conductivities.  It adds mass V c / ((dim + 1) (dim + 2)) to each of its edges, and takes
  stiffness V k / h_d^2 from the edge of its path that lies in direction d.  With these entries a_e of edges the rows of A are

    (A x)_v = sum over edges e = (v, w)  a_e (x_w - x_v)  +  s_v x_v,   s_v the sum of the row of M, V mass / (dim + 1) times the sum of c around v,

  since the rows of K have sum zero.  Each edge is worked out once, and what it gives, a_e (x_w - x_v), is added to one end and taken from the other one.

    lattice.cu          plans, what is chosen when; the kernel that gathers simplex by simplex: diagonals, Robin terms, lines
    lattice_march.cuh   the kernels for fields of materials in 3D: sums around edges from cubes
    lattice_stencil.cu  the one for constants in 3D
    lattice_plane.cu    the one in 2D
*/
#pragma once
#include "plan.cuh"

namespace patchfd
{

/* of a node: is there the cube whose first corner it is; does it touch none? */
enum {
  LATTICE_CUBE = 1,
  LATTICE_VOID = 2
};

struct LatticeGeometry {
  Layout               xl, yl;
  Range                read, write, store; /* nodes of x that are not zero, rows of A, all of y */
  Range                box, cubes;         /* nodes of materials; cubes, by their first corner, if all are active */
  const unsigned char *body;               /* flags of the nodes of xbox, NULL if all cubes are active */
};

/* where a field is NULL its constant stands for it.  A factor is what the sum over the corners of a simplex is to be multiplied by, for an edge of it */
template <typename T>
struct LatticeMaterial {
  const T *c, *k[3];
  T        constc, constk[3];
  T        mass, stiffness[3], side[6];
};

/* y = y0 + alpha A x */
template <typename T>
struct LatticeVectors {
  T        alpha;
  const T *x, *y0;
  T       *y;
};

/* how the nodes are cut into marches of `chunk` planes */
struct LatticeCut {
  dim3 grid;
  int  chunk;
};

/* conductivities of the fast kernel in 3D: one, of cubes; one; one in each direction */
enum LatticeKind {
  LATTICE_CUBES,
  LATTICE_SCALAR,
  LATTICE_TENSOR,
  LATTICE_KINDS
};

template <typename T>
PetscErrorCode LatticeMarchCut(LatticeKind, const LatticeGeometry &, LatticeCut *);
template <typename T>
PetscErrorCode LatticeMarchApply(LatticeKind, const LatticeCut &, const LatticeGeometry &, const LatticeMaterial<T> &, const LatticeVectors<T> &, cudaStream_t);
template <typename T>
PetscErrorCode LatticeStencilCut(const LatticeGeometry &, LatticeCut *);
template <typename T>
PetscErrorCode LatticeStencilApply(const LatticeCut &, const LatticeGeometry &, const LatticeMaterial<T> &, const LatticeVectors<T> &, cudaStream_t);
template <typename T>
PetscErrorCode LatticePlaneApply(const LatticeGeometry &, const LatticeMaterial<T> &, const LatticeVectors<T> &, cudaStream_t);

/*
  What the fast kernels have in common: a warp has the nodes of ROWS rows of 30 nodes.  Lane l is node i of the row, lanes 0 and 31 for what their neighbours
  need of them, as rows 0 and ROWS + 1; values of neighbours in x are in the neighbouring lanes.
*/
template <int ROWS>
struct LatticeTile {
  static constexpr int WARPS = 4, THREADS = 32 * WARPS, NX = 30, NY = ROWS * WARPS;
  int                  i, j; /* of row 0 */

  __device__ LatticeTile(const LatticeGeometry &g)
  {
    i = g.store.lo[0] + (int)blockIdx.x * NX + (int)(threadIdx.x % 32) - 1;
    j = g.store.lo[1] + ((int)blockIdx.y * WARPS + (int)(threadIdx.x / 32)) * ROWS - 1;
  }
  /* bit r: is row r of the range, if the lane's column is? */
  __device__ unsigned rows(const Range &range) const
  {
    unsigned bits = 0;

#pragma unroll
    for (int r = 0; r < ROWS + 2; r++)
      if (Inside(range, 0, i) && Inside(range, 1, j + r)) bits |= 1u << r;
    return bits;
  }
  /* bits of the rows that this lane writes */
  __device__ unsigned stored(const LatticeGeometry &g) const
  {
    const int lane = threadIdx.x % 32;

    return lane > 0 && lane <= NX ? rows(g.store) & ((2u << ROWS) - 2) : 0;
  }
  /* are all its nodes in both ranges? */
  __device__ bool within(const Range &a, const Range &b) const { return __all_sync(0xffffffff, (rows(a) & rows(b)) == (4u << ROWS) - 1); }
  /* do all its lanes but the outer ones write all rows, all of which are rows of A? */
  __device__ bool writes(const LatticeGeometry &g) const
  {
    const int lane = threadIdx.x % 32;

    return __all_sync(0xffffffff, !lane || lane > NX || (rows(g.write) & stored(g)) == (2u << ROWS) - 2);
  }

  static dim3 grid(const LatticeGeometry &g, int z)
  {
    return dim3((g.store.hi[0] - g.store.lo[0] + NX - 1) / NX, (g.store.hi[1] - g.store.lo[1] + NY - 1) / NY, z);
  }
};

template <typename T>
__device__ __forceinline__ T FromLeft(T v)
{
  return __shfl_up_sync(0xffffffff, v, 1);
}

template <typename T>
__device__ __forceinline__ T FromRight(T v)
{
  return __shfl_down_sync(0xffffffff, v, 1);
}

} // namespace patchfd
