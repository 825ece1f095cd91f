/*
  Linear elements on a lattice of cubes (squares), each cut into the simplices whose corners are a monotone path from corner 0 to the
  opposite one (Kuhn 1960).

  A simplex has the means c and k of its corners' capacities and conductivities.  It adds mass V c / ((dim + 1) (dim + 2)) to each of its
  edges, and takes stiffness V k / h_d^2 from the edge of its path that lies in direction d.  With these entries a_e of edges the rows of A
  are

    (A x)_v = sum over edges e = (v, w)  a_e (x_w - x_v)  +  s_v x_v,

  with s_v the sum of the row of M, V mass / (dim + 1) times the sum of c around v,
  since the rows of K have sum zero.  Each edge is worked out once, and what it gives, a_e (x_w - x_v), is added to one end and taken from
  the other one.

    lattice.cu  plans, what is chosen when; the kernel that gathers simplex by simplex: diagonals, Robin terms, lines
    march.cu    the kernels for fields of materials in 3D: sums around edges from cubes
    stencil.cu  the kernel for constants in 3D, and the one in 2D
*/
#pragma once
#include "base/march.cuh"
#include "base/plan.cuh"

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

/* where a field is NULL its constant stands for it.  A factor is what the sum over the corners of a simplex is to be multiplied by, for an
   edge of it */
template <typename T>
struct LatticeMaterial {
  const T *c, *k[3];
  T        constc, constk[3];
  T        mass, stiffness[3], side[6];
  T        identity; /* of nodes without a cube */
  bool     robin;    /* is any of the sides' not zero? */
};

/* y = y0 + alpha A x; or, if there is a sweep (kernels.h), y = A x and what rows of A give to x'y, of which the sweep has the sum */
template <typename T>
struct LatticeVectors {
  T             alpha;
  const T      *x, *y0;
  T            *y;
  PatchFDSweep *sweep;
};

/* what is done with x and y */
enum LatticeMode {
  LATTICE_MULT,
  LATTICE_ADD,    /* there is y0 */
  LATTICE_ENERGY, /* there is a sweep */
  LATTICE_MODES
};

template <typename T>
static LatticeMode Mode(const LatticeVectors<T> &v)
{
  return v.y0 ? LATTICE_ADD : (v.sweep ? LATTICE_ENERGY : LATTICE_MULT);
}

/*
  How the nodes are cut into marches of `chunk` planes: those of the planes from lo to hi, where all cubes below and above exist, of which
  there are `parts`; for fields then one of the planes before lo, and one of those from hi on
*/
struct LatticeCut {
  dim3 grid;
  int  lo, hi, chunk, parts;

  /* the planes of a block */
  __device__ void planes(const LatticeGeometry &g, int *first, int *end, bool *inner) const
  {
    const int z = (int)blockIdx.z;

    *inner = z < parts;
    *first = z < parts ? lo + z * chunk : (z == parts ? g.store.lo[2] : hi);
    *end   = z < parts ? min(*first + chunk, hi) : (z == parts ? lo : g.store.hi[2]);
  }
};

/*
  Cut the planes from lo to hi, of so many tiles: into so many parts that a device is full `full` times, since some marches take longer
  than others, but not shorter than `shortest`, since each begins with planes that give nothing.  How much of a multiprocessor's memory is
  to be shared is left to the driver: what warps beside each other both read is found in the rest of it
*/
template <typename Kernel>
static PetscErrorCode LatticeCutPlanes(Kernel kernel, int threads, size_t shared, dim3 tiles, int lo, int hi, int shortest, LatticeCut *cut)
{
  constexpr int full = 24;
  int           processors, blocks;

  PetscFunctionBegin;
  PetscCall(Multiprocessors(&processors));
  PetscCall(Resident(kernel, threads, shared, &blocks));
  PetscCheck(GridFits(tiles.y), PETSC_COMM_SELF, PETSC_ERR_SUP, "A lattice has %u tiles in y on a GPU, of at most 65535", tiles.y);
  cut->lo     = lo;
  cut->hi     = hi;
  cut->parts  = PetscMax(1, PetscMin(PetscMin((hi - lo) / shortest, 32767),
                                     (int)((size_t)full * blocks * processors / ((size_t)tiles.x * tiles.y)) + 1));
  cut->chunk  = (hi - lo + cut->parts - 1) / cut->parts;
  cut->parts  = cut->chunk ? (hi - lo + cut->chunk - 1) / cut->chunk : 0;
  cut->grid   = tiles;
  cut->grid.z = (unsigned)cut->parts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* conductivities of the fast kernel in 3D: one, of cubes; one; one in each direction */
enum LatticeKind {
  LATTICE_CUBES,
  LATTICE_SCALAR,
  LATTICE_TENSOR,
  LATTICE_KINDS
};

/*
  Materials without branches: a constant is any array times zero.  Capacities become c0 + cscale c, which has their factor; what edges in
  axes need besides them becomes

    LATTICE_CUBES   k0 + cscale c + kscale k, their entries: these are linear in both
    LATTICE_SCALAR  k0 + kscale k, to be multiplied by `stiffness` in each direction
    LATTICE_TENSOR  k0[d] + kscale[d] k[d], with the factor
*/
template <typename T>
struct LatticeScaled {
  const T *c, *k[3];
  T        c0, cscale, k0[3], kscale[3], stiffness[3], identity;

  LatticeScaled(LatticeKind kind, const LatticeMaterial<T> &m, const T *any)
  {
    c        = m.c ? m.c : any;
    c0       = m.c ? T(0) : m.mass * m.constc;
    cscale   = m.c ? m.mass : T(0);
    identity = m.identity;
    for (int d = 0; d < 3; d++) {
      const T factor = kind == LATTICE_SCALAR ? T(1) : (kind == LATTICE_CUBES ? -m.stiffness[d] : m.stiffness[d]);

      k[d]         = m.k[d] ? m.k[d] : any;
      k0[d]        = (m.k[d] ? T(0) : factor * m.constk[d]) + (kind == LATTICE_CUBES ? c0 : T(0));
      kscale[d]    = m.k[d] ? factor : T(0);
      stiffness[d] = m.stiffness[d];
    }
  }
};

template <typename T>
PetscErrorCode LatticeMarchCut(LatticeKind, LatticeMode, const LatticeGeometry &, LatticeCut *);
template <typename T>
PetscErrorCode LatticeMarchApply(LatticeKind, LatticeMode, const LatticeCut &, const LatticeGeometry &, const LatticeMaterial<T> &,
                                 const LatticeVectors<T> &, cudaStream_t);
template <typename T>
PetscErrorCode LatticeStencilCut(LatticeMode, const LatticeGeometry &, LatticeCut *);
template <typename T>
PetscErrorCode LatticeStencilApply(LatticeMode, const LatticeCut &, const LatticeGeometry &, const LatticeMaterial<T> &,
                                   const LatticeVectors<T> &, cudaStream_t);
template <typename T>
PetscErrorCode LatticePlaneApply(const LatticeGeometry &, const LatticeMaterial<T> &, const LatticeVectors<T> &, cudaStream_t);

/*
  What the kernels for fields have in common: the LANES threads of a warp have the nodes of ROWS rows of LANES - 2 nodes.  Thread l of them
  is node i of the row, the first and the last one for what their neighbours need of them, as rows 0 and ROWS + 1.  A block has several
  such groups, one behind the other.
*/
template <int ROWS_>
struct LatticeTile {
  static constexpr int ROWS = ROWS_, LANES = 32, GROUPS = 4, THREADS = LANES * GROUPS, NX = LANES - 2, NY = ROWS * GROUPS;
  const int            column, group;
  int                  i, j; /* of row 0 */

  /* of the tiles of `nodes` */
  __device__ LatticeTile(const Range &nodes) : column((int)threadIdx.x % LANES), group((int)threadIdx.x / LANES)
  {
    i = nodes.lo[0] + (int)blockIdx.x * NX + column - 1;
    j = nodes.lo[1] + ((int)blockIdx.y * GROUPS + group) * ROWS - 1;
  }
  /* bit r: is row r of the range, if the thread's column is?  first: of what is left of it when so many columns and rows before it go */
  __device__ unsigned rows(const Range &range, int first = 0) const
  {
    const int lo = max(range.lo[1] + first - j, 0), hi = min(range.hi[1] - j, ROWS + 2);

    return i >= range.lo[0] + first && i < range.hi[0] && lo < hi ? (1u << hi) - (1u << lo) : 0;
  }
  /* bits of the rows of `nodes` that this thread writes */
  __device__ unsigned stored(const Range &nodes) const { return column > 0 && column <= NX ? rows(nodes) & ((2u << ROWS) - 2) : 0; }
  /* have all the nodes that the warp writes all their cubes in x and y? */
  __device__ bool inner(const LatticeGeometry &g) const { return __all_sync(0xffffffff, !(stored(g.store) & ~rows(g.cubes, 1))); }

  static dim3 grid(const Range &nodes)
  {
    return dim3(PetscMax(1, (nodes.hi[0] - nodes.lo[0] + NX - 1) / NX), PetscMax(1, (nodes.hi[1] - nodes.lo[1] + NY - 1) / NY));
  }
};

/*
  The values of N fields, of which the first is x, in the planes to come, in shared memory: the threads of a warp ask for a plane, and have
  it two planes later.
  Nodes that do not exist have zero, in x those that are not read.
*/
template <typename T, int N, typename Tile>
struct LatticeRing {
  static constexpr int    ROWS = Tile::ROWS, SLOTS = 3, ROW = Tile::NX + 2, FIELD = ROW * (ROWS + 2), SLOT = N * FIELD;
  static constexpr size_t SHARED = sizeof(T) * SLOTS * SLOT * Tile::GROUPS;

  T *const       mine;          /* the thread's first number */
  const int      right;         /* where its neighbour's is; there is none at the end of a row */
  const T       *from[N];       /* row 0 of the plane that is asked for next */
  const unsigned there, others; /* bits of rows of x and of the other fields that exist */
  const bool     all;           /* do all, for the warp? */
  const unsigned row;
  int            ask, have; /* slots: for the next plane, of the last one that is there */

  __device__ __forceinline__ LatticeRing(const Tile &tile, const LatticeGeometry &g, T *shared) :
    mine(shared + tile.group * SLOTS * SLOT + tile.column), right(tile.column < ROW - 1 ? 1 : 0), there(tile.rows(g.read)),
    others(tile.rows(g.box)), all(__all_sync(0xffffffff, (there & others) == (4u << ROWS) - 1)), row((unsigned)g.xl.row), ask(0),
    have(SLOTS - 1)
  {
  }

  /* ask for plane z, the next one; last: of those that are needed */
  __device__ __forceinline__ void request(const LatticeGeometry &g, int z, int last)
  {
    const unsigned slot = (unsigned)__cvta_generic_to_shared(mine + ask * SLOT);
    const bool     read = Inside(g.read, 2, z), box = Inside(g.box, 2, z);

    if (all && read && box && z <= last) copy<true>(slot, 0, 0);
    else if (z <= last) copy<false>(slot, read ? there : 0, box ? others : 0);
#pragma unroll
    for (int f = 0; f < N; f++) from[f] += g.xl.plane;
    asm volatile("cp.async.commit_group;" ::: "memory");
    ask = ask == SLOTS - 1 ? 0 : ask + 1;
  }
  /* the plane that was asked for before the last one is there, and nobody needs the one before it */
  __device__ __forceinline__ void wait()
  {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncwarp();
    have = have == SLOTS - 1 ? 0 : have + 1;
  }
  __device__ __forceinline__ T get(int f, int r, int to = 0) const
  {
    return mine[have * SLOT + f * FIELD + r * ROW + to];
  }

private:
  template <bool ALL>
  __device__ __forceinline__ void copy(unsigned slot, unsigned bits, unsigned otherbits)
  {
#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) {
#pragma unroll
      for (int f = 0; f < N; f++) {
        const unsigned to    = slot + (unsigned)sizeof(T) * (f * FIELD + r * ROW);
        const T       *where = from[f] + r * (size_t)Opaque(row);

        if constexpr (ALL)
          asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(to), "l"(where), "n"(sizeof(T)) : "memory");
        /* without reading */
        else
          asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(to), "l"(where), "n"(sizeof(T)),
                       "r"((f ? otherbits : bits) >> r & 1 ? (int)sizeof(T) : 0)
                       : "memory");
      }
    }
  }
};

/* p'y of a sweep, from all lanes of a warp: which comes first varies */
static __device__ __forceinline__ void AddEnergy(double energy, PatchFDSweep *sweep)
{
#pragma unroll
  for (int i = 16; i; i /= 2) energy += __shfl_down_sync(0xffffffff, energy, i);
  if (threadIdx.x % 32 == 0) atomicAdd(&sweep->pw, energy);
}

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
