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
#include "march.cuh"
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
  T        identity; /* of nodes without a cube */
  bool     robin; /* is any of the sides' not zero? */
};

/* y = y0 + alpha A x; or, if there is a sweep, p = d x + b q, y = A p and p'y (kernels.h), where d is dscale d + d0 */
template <typename T>
struct LatticeVectors {
  T             alpha;
  const T      *x, *y0;
  T            *y;
  const T      *q, *d;
  T             dscale, d0;
  T            *p;
  PatchFDSweep *sweep;

  /* node by node */
  __device__ __forceinline__ T direction(T b, T x, T q, T d) const { return (dscale * d + d0) * x + (b == 0 ? T(0) : b * q); }
};

/* what is done with x and y */
enum LatticeMode {
  LATTICE_MULT,
  LATTICE_ADD, /* there is y0 */
  LATTICE_SWEEP,
  LATTICE_MODES
};

/*
  How the nodes are cut into marches of `chunk` planes: those of the planes from lo to hi, where all cubes below and above exist, of which there are `parts`,
  then one of the planes before lo, and one of those from hi on
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

/* so many parts that a device is full several times, since marches at sides take longer, but not shorter than `shortest`, since each begins with planes that give nothing */
template <typename Tile, typename Kernel>
static PetscErrorCode LatticeCutPlanes(Kernel kernel, size_t shared, const LatticeGeometry &g, LatticeCut *cut)
{
  constexpr int full = 8, shortest = 24;
  int           processors, blocks, planes;

  PetscFunctionBegin;
  PetscCall(Multiprocessors(&processors));
  PetscCall(AllowShared(kernel, shared));
  PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, Tile::THREADS, shared));
  cut->lo    = PetscMin(PetscMax(g.store.lo[2], g.cubes.lo[2] + 1), g.store.hi[2]);
  cut->hi    = PetscMax(cut->lo, PetscMin(g.store.hi[2], g.cubes.hi[2]));
  cut->grid  = Tile::grid(g, 1);
  planes     = cut->hi - cut->lo;
  cut->parts = PetscMax(1, PetscMin(planes / shortest, (int)((size_t)full * blocks * processors / ((size_t)cut->grid.x * cut->grid.y)) + 1));
  cut->chunk = (planes + cut->parts - 1) / cut->parts;
  cut->parts = cut->chunk ? (planes + cut->chunk - 1) / cut->chunk : 0;
  cut->grid.z = (unsigned)cut->parts + 2;
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
  Materials without branches: a constant is any array times zero.  Capacities become c0 + cscale c, which has their factor; what edges in axes need
  besides them becomes

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
PetscErrorCode LatticeMarchApply(LatticeKind, LatticeMode, const LatticeCut &, const LatticeGeometry &, const LatticeMaterial<T> &, const LatticeVectors<T> &, cudaStream_t);
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
  /* bit r: is row r of the range, if the lane's column is?  first: of what is left of it when so many columns and rows before it go */
  __device__ unsigned rows(const Range &range, int first = 0) const
  {
    const int lo = max(range.lo[1] + first - j, 0), hi = min(range.hi[1] - j, ROWS + 2);

    return i >= range.lo[0] + first && i < range.hi[0] && lo < hi ? (1u << hi) - (1u << lo) : 0;
  }
  /* bits of the rows that this lane writes */
  __device__ unsigned stored(const LatticeGeometry &g) const
  {
    const int lane = threadIdx.x % 32;

    return lane > 0 && lane <= NX ? rows(g.store) & ((2u << ROWS) - 2) : 0;
  }
  /* have all the nodes that the warp writes all their cubes in x and y? */
  __device__ bool inner(const LatticeGeometry &g) const { return __all_sync(0xffffffff, !(stored(g) & ~rows(g.cubes, 1))); }

  static dim3 grid(const LatticeGeometry &g, int z)
  {
    return dim3((g.store.hi[0] - g.store.lo[0] + NX - 1) / NX, (g.store.hi[1] - g.store.lo[1] + NY - 1) / NY, z);
  }
};

/*
  The values of N fields in the planes to come, in shared memory: a warp asks for a plane, and has it two planes later.  Nodes that do not exist have zero,
  in the first NX fields those that are not read.  All 32 lanes call its functions.
*/
template <typename T, int NX, int N, int ROWS>
struct LatticeRing {
  static constexpr int    SLOTS = 3, ROW = 32, FIELD = ROW * (ROWS + 2), SLOT = N * FIELD;
  static constexpr int    WARP = SLOTS * SLOT + 2; /* the first and the last lane read one too many */
  static constexpr size_t SHARED = sizeof(T) * LatticeTile<ROWS>::WARPS * WARP;

  T             *mine;          /* the lane's first number */
  const T       *from[N];       /* row 0 of the plane that is asked for next */
  unsigned       there, others; /* bits of rows of the first NX fields and of the other ones that exist */
  const bool     all;           /* do all? */
  const unsigned row;
  int            ask, have; /* slots */

  __device__ __forceinline__ LatticeRing(const LatticeTile<ROWS> &tile, const LatticeGeometry &g, T *shared) :
    mine(shared + (threadIdx.x / 32) * WARP + 1 + threadIdx.x % 32), there(tile.rows(g.read)), others(N > NX ? tile.rows(g.box) : there),
    all(__all_sync(0xffffffff, (there & others) == (4u << ROWS) - 1)), row((unsigned)g.xl.row), ask(0), have(SLOTS - 1)
  {
  }

  /* ask for plane z, the next one */
  __device__ __forceinline__ void request(const LatticeGeometry &g, int z)
  {
    const unsigned slot = (unsigned)__cvta_generic_to_shared(mine + ask * SLOT);
    const bool     read = Inside(g.read, 2, z), box = N == NX || Inside(g.box, 2, z);

    if (all && read && box) copy<true>(slot, 0, 0);
    else copy<false>(slot, read ? there : 0, box ? others : 0);
#pragma unroll
    for (int f = 0; f < N; f++) from[f] += g.xl.plane;
    asm volatile("cp.async.commit_group;" ::: "memory");
    ask = ask == SLOTS - 1 ? 0 : ask + 1;
  }
  /* the plane that was asked for before the last one is there */
  __device__ __forceinline__ void wait()
  {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncwarp();
    have = have == SLOTS - 1 ? 0 : have + 1;
  }
  __device__ __forceinline__ T get(int f, int r) const { return mine[have * SLOT + f * FIELD + r * ROW]; }
  __device__ __forceinline__ T left(int f, int r) const { return mine[have * SLOT + f * FIELD + r * ROW - 1]; }
  __device__ __forceinline__ T right(int f, int r) const { return mine[have * SLOT + f * FIELD + r * ROW + 1]; }

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

        if constexpr (ALL) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(where), "n"(sizeof(T)) : "memory");
        else asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(where), "n"(sizeof(T)), "r"((f < NX ? bits : otherbits) >> r & 1 ? (int)sizeof(T) : 0) : "memory"); /* without reading */
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
