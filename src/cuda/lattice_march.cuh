/*
  The operator on a lattice (lattice.cuh) in 3D, with fields of materials, by blocks that march in z through the layers of cubes between two planes of nodes.

  A cube's tetrahedra are 0, p, q, 7 with p of 1, 2, 4 and q of 3, 5, 6: six, in a ring 13, 23, 26, 46, 45, 15.  t_pq is the sum of a field over the corners of
  one, a_1 = t_13 + t_15 and so on that over the two tetrahedra with a corner 1.  An edge from v is in the cubes v, v - e_x, v - e_y, v - e_z, ... :

    x: a_1(v) + t_23(v - y)      and of the layer below  t_45 + a_6(- y)     xy: a_3 and a_4 of the layer below     xyz: all six
    y: a_2(v) + t_13(v - x)      and of the layer below  t_46 + a_5(- x)     xz: a_5(v) + a_2(v - y)
    z: a_4(v) + t_26(v - y) + t_15(v - x) + a_3(v - x - y)                   yz: a_6(v) + a_1(v - x)

  Cubes that do not exist have sums zero: so sides and bodies need no other code.  Each tetrahedron around a node has one diagonal of a square from it: so the
  sums of the rows of M, dim + 2 times the entries of an edge for each of them, are had by adding that to the diagonals' edges.

  A thread has a column and ROWS + 1 rows of edges.  Of the layer before it keeps what that has begun: sums for its nodes and for those to the right, which get
  them by a shuffle, and the parts of sums around edges in the plane.  Planes come through shared memory, two ahead of the layer.
*/
#pragma once
#include "lattice.cuh"

namespace patchfd
{

/* by precision and kind: rows of a warp, least number of blocks of threads */
template <typename T, LatticeKind KIND>
struct LatticeShape {
  static constexpr int ROWS = sizeof(T) == 4 && KIND == LATTICE_CUBES ? 8 : 4, BLOCKS = KIND == LATTICE_CUBES ? (sizeof(T) == 4 ? 4 : 3) : 2;
};

/* a node: x; capacity; what edges in axes need */
template <typename T, LatticeKind KIND>
struct LatticeNode {
  static constexpr int NK = KIND == LATTICE_CUBES ? 1 : 3;
  T                    x, c, k[NK];
};

/* entries of the edges from a node */
template <typename T>
struct LatticeEdges {
  T x, y, z, xy, xz, yz, xyz;
};

/* sums over the tetrahedra of a cube */
template <typename T>
struct LatticeCube {
  T t13, t23, t26, t46, t45, t15;

  /* exists: 1, or 0 if there is no such cube */
  __device__ __forceinline__ LatticeCube(T exists, const T f[8])
  {
    const T ends = exists * (f[0] + f[7]);

    t13 = exists * (f[1] + f[3]) + ends;
    t23 = exists * (f[2] + f[3]) + ends;
    t26 = exists * (f[2] + f[6]) + ends;
    t46 = exists * (f[4] + f[6]) + ends;
    t45 = exists * (f[4] + f[5]) + ends;
    t15 = exists * (f[1] + f[5]) + ends;
  }
};

/* entries of edges, row by row of each layer */
template <typename T, LatticeKind KIND, int ROWS>
struct LatticeSums {
  using Node = LatticeNode<T, KIND>;

  T x[ROWS + 1], y[ROWS + 1], xy[ROWS + 1]; /* begun by the layer before */
  T x23, x2646, z26, z1323, xz;             /* of the row before */

  __device__ __forceinline__ LatticeSums()
  {
#pragma unroll
    for (int r = 0; r <= ROWS; r++) x[r] = y[r] = xy[r] = 0;
  }
  __device__ __forceinline__ void begin() { x23 = x2646 = z26 = z1323 = xz = 0; }

  /* row r; v: the corners of its cube */
  __device__ __forceinline__ LatticeEdges<T> edges(int r, T exists, const Node v[8])
  {
    LatticeEdges<T> e;

    diagonals(r, cube(exists, v, [](const Node &n) { return n.c; }), e);
    const LatticeCube<T> t0 = cube(exists, v, [](const Node &n) { return n.k[0]; });

    e.x   = x[r] + x23 + (t0.t13 + t0.t15);
    x[r]  = x2646 + t0.t45;
    x23   = t0.t23;
    x2646 = t0.t26 + t0.t46;
    if constexpr (KIND == LATTICE_CUBES) yz(r, t0, t0, e);
    else yz(r, cube(exists, v, [](const Node &n) { return n.k[1]; }), cube(exists, v, [](const Node &n) { return n.k[2]; }), e);
    return e;
  }

private:
  template <typename F>
  static __device__ __forceinline__ LatticeCube<T> cube(T exists, const Node v[8], F &&field)
  {
    T f[8];

#pragma unroll
    for (int i = 0; i < 8; i++) f[i] = field(v[i]);
    return LatticeCube<T>(exists, f);
  }
  __device__ __forceinline__ void diagonals(int r, const LatticeCube<T> &c, LatticeEdges<T> &e)
  {
    const T a1 = c.t13 + c.t15, a2 = c.t23 + c.t26, a4 = c.t45 + c.t46;

    e.xy  = xy[r] + (c.t13 + c.t23);
    xy[r] = a4;
    e.xz  = xz + (c.t15 + c.t45);
    xz    = a2;
    e.yz  = FromLeft(a1) + (c.t26 + c.t46);
    e.xyz = a1 + a2 + a4;
  }
  __device__ __forceinline__ void yz(int r, const LatticeCube<T> &t1, const LatticeCube<T> &t2, LatticeEdges<T> &e)
  {
    e.y   = y[r] + FromLeft(t1.t13) + (t1.t23 + t1.t26);
    y[r]  = t1.t46 + FromLeft(t1.t15 + t1.t45);
    e.z   = z26 + FromLeft(z1323 + t2.t15) + (t2.t45 + t2.t46);
    z26   = t2.t26;
    z1323 = t2.t13 + t2.t23;
  }
};

template <typename T, LatticeKind KIND, bool BODY, LatticeMode MODE>
struct LatticeMarch {
  static constexpr int ROWS = LatticeShape<T, KIND>::ROWS, NK = KIND == LATTICE_TENSOR ? 3 : 1; /* fields of conductivities */
  using Tile                = LatticeTile<ROWS>;
  using Ring                = LatticeRing<T, 2 + NK, Tile, 4>;
  using Node                = LatticeNode<T, KIND>;

  const LatticeGeometry     &g;
  const LatticeScaled<T>    &m;
  const LatticeVectors<T>   &v;
  Ring                       ring;
  LatticeSums<T, KIND, ROWS> sums;
  const unsigned             store, write, there, cubes; /* bits of rows: that are written, that are rows of A, of materials, of cubes */
  unsigned                   on, empty;                  /* of cubes of this layer, of nodes without a cube */
  const unsigned char       *body;                       /* flags of row 0 of the plane below */
  T                         *y;                          /* row 0 of the plane to be written */
  T                          Y[ROWS + 1], S[ROWS + 1];   /* what the layer before gives to its upper plane: to nodes, to those to the right */
  double                     energy;

  __device__ __forceinline__ LatticeMarch(const LatticeGeometry &g, const LatticeScaled<T> &m, const LatticeVectors<T> &v, const Tile &tile, T *shared, int z) :
    g(g), m(m), v(v), ring(tile, g, shared, 0), store(tile.stored(g.store) & (MODE == LATTICE_ENERGY ? tile.rows(g.write) : ~0u)), write(tile.rows(g.write)), there(tile.rows(g.box)),
    cubes(tile.rows(g.cubes)), on(0), empty(0), body(BODY ? g.body + g.xl.at(tile.i, tile.j, z - 1) : NULL), y(v.y + g.yl.at(tile.i, tile.j, z - 1)), energy(0)
  {
    const ptrdiff_t at = g.xl.at(tile.i, tile.j, z - 1);

    ring.from[0] = v.x + at;
    ring.from[1] = m.c + at;
#pragma unroll
    for (int d = 0; d < NK; d++) ring.from[2 + d] = m.k[d] + at;
#pragma unroll
    for (int r = 0; r <= ROWS; r++) Y[r] = S[r] = 0;
  }

  /* row r of the plane that the ring had last, or has, and the nodes to the right */
  __device__ __forceinline__ void get(bool above, int r, Node &n, Node &right) const
  {
    n     = scaled(above, r, false);
    right = scaled(above, r, true);
  }

  /* which cubes of the layer above plane z there are */
  __device__ __forceinline__ void find(int z)
  {
    on = Inside(g.cubes, 2, z) ? cubes : 0;
    if constexpr (BODY) {
      const unsigned is     = Inside(g.box, 2, z) ? there : 0;
      unsigned       active = 0;

      empty = 0;
#pragma unroll
      for (int r = 0; r <= ROWS; r++) {
        const unsigned flags = is >> r & 1 ? body[r * (size_t)Opaque((unsigned)g.xl.row)] : 0;

        active |= (flags & LATTICE_CUBE ? 1u : 0u) << r;
        empty |= (flags & LATTICE_VOID ? 1u : 0u) << r;
      }
      on &= active;
      body += g.xl.plane;
    }
  }

  /* row r of y, or of another array like it */
  __device__ __forceinline__ T *row(int r, ptrdiff_t to = 0) const { return y + to + r * (size_t)Opaque((unsigned)g.yl.row); }

  /* y0 of the rows that are put */
  __device__ __forceinline__ void fetchold(unsigned put, T old[ROWS + 1]) const
  {
#pragma unroll
    for (int r = 1; r <= ROWS; r++) old[r] = put >> r & 1 ? *row(r, v.y0 - v.y) : T(0);
  }

  /* a node's sum is complete */
  __device__ __forceinline__ T putrow(int r, unsigned put, unsigned rows, T sum, T x, T old) const
  {
    if (BODY && (empty >> r & 1)) sum = m.identity * x;
    sum *= rows >> r & 1 ? v.alpha : T(0);
    if (MODE == LATTICE_ADD) sum += old;
    if (!(put >> r & 1)) return 0;
    *row(r) = sum;
    return sum * x;
  }

  /* the layer above plane z, which is complete then; planes from `first` on are put */
  __device__ __forceinline__ void layer(int z, int first)
  {
    const unsigned rows = Inside(g.write, 2, z) ? write : 0, put = z >= first && (MODE != LATTICE_ENERGY || rows) ? store : 0;
    Node           n[8];               /* corners of the cube */
    T              up = 0, upright = 0; /* for row r of the plane above, from the row before */
    T              old[ROWS + 1], partial = 0;

    ring.wait();
    ring.request(g, z + 3);
    find(z);
    sums.begin();
    if constexpr (MODE == LATTICE_ADD) fetchold(put, old);
    get(false, 0, n[0], n[1]);
    get(true, 0, n[4], n[5]);
#pragma unroll
    for (int r = 0; r <= ROWS; r++) {
      get(false, r + 1, n[2], n[3]);
      get(true, r + 1, n[6], n[7]);
      const LatticeEdges<T> e = sums.edges(r, on >> r & 1 ? T(1) : T(0), n);
      const T               x = n[0].x, x4 = 4 * x, dy = n[2].x - x, dyz = n[6].x, dxy = n[3].x, dxz = n[5].x, dxyz = n[7].x - x;

      if (r) {
        const T dx = n[1].x - x, dz = n[4].x - x;
        T       sum = fma(e.x, dx, Y[r]), diagonals = e.xy * (dxy + x4);

        sum       = fma(e.y, dy, sum);
        sum       = fma(e.z, dz, sum);
        sum       = fma(e.xyz, dxyz, sum);
        diagonals = fma(e.xz, dxz + x4, diagonals);
        diagonals = fma(e.yz, dyz + x4, diagonals);
        sum += diagonals + FromLeft(fma(-e.x, dx, S[r]));
        partial += putrow(r, put, rows, sum, x, MODE == LATTICE_ADD ? old[r] : T(0));
        Y[r] = fma(-e.z, dz, up);
        S[r] = fma(e.xz, fma(T(4), dxz, x), upright);
      }
      if (r < ROWS) {
        Y[r + 1] = fma(-e.y, dy, Y[r + 1]);
        S[r + 1] = fma(e.xy, fma(T(4), dxy, x), S[r + 1]);
      }
      up      = e.yz * fma(T(4), dyz, x);
      upright = -e.xyz * dxyz;
      n[0]    = n[2];
      n[1]    = n[3];
      n[4]    = n[6];
      n[5]    = n[7];
    }
    if (MODE == LATTICE_ENERGY) energy += partial;
  }

  /* planes from first to end */
  __device__ __forceinline__ void march(int first, int end)
  {
    for (int z = first - 1; z <= first + 1; z++) ring.request(g, z);
    for (int z = first - 1; z < end; z++) {
      layer(z, first);
      y += g.yl.plane;
    }
    if constexpr (MODE == LATTICE_ENERGY) AddEnergy(energy, v.sweep);
  }

private:
  __device__ __forceinline__ Node scaled(bool above, int r, bool right) const
  {
    const int slot = above ? ring.have : ring.had, to = right ? ring.right : 0;
    const T   c = ring.get(slot, 1, r, to);
    Node      n;

    n.x = ring.get(slot, 0, r, to);
    n.c = m.cscale * c + m.c0;
#pragma unroll
    for (int d = 0; d < Node::NK; d++) n.k[d] = m.kscale[d] * ring.get(slot, 2 + (NK > 1 ? d : 0), r, to) + (m.cscale * c + m.k0[d]);
    return n;
  }
};

template <typename T, LatticeKind KIND, bool BODY, LatticeMode MODE>
__launch_bounds__(LatticeTile<1>::THREADS, LatticeShape<T, KIND>::BLOCKS)
static __global__ void LatticeMarchKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ LatticeScaled<T> m, const __grid_constant__ LatticeVectors<T> v, const __grid_constant__ LatticeCut cut)
{
  using March = LatticeMarch<T, KIND, BODY, MODE>;
  extern __shared__ double shared_memory[];
  const typename March::Tile tile(g.store);
  const int                  first = cut.first(), end = cut.end();

  if (MODE == LATTICE_ENERGY && v.sweep->stop) return;
  March march(g, m, v, tile, (T *)shared_memory, first);

  march.march(first, end);
}

/* f(its kernel, bytes of shared memory, std::integral_constant of its rows) */
template <typename T, LatticeKind KIND, bool BODY, LatticeMode MODE, typename F>
static PetscErrorCode WithMarch(F &&f)
{
  return f(LatticeMarchKernel<T, KIND, BODY, MODE>, LatticeMarch<T, KIND, BODY, MODE>::Ring::SHARED, std::integral_constant<int, LatticeShape<T, KIND>::ROWS>());
}

template <typename T, LatticeKind KIND, bool BODY, typename F>
static PetscErrorCode ForMode(LatticeMode mode, F &&f)
{
  return mode == LATTICE_MULT ? WithMarch<T, KIND, BODY, LATTICE_MULT>(f) : (mode == LATTICE_ADD ? WithMarch<T, KIND, BODY, LATTICE_ADD>(f) : WithMarch<T, KIND, BODY, LATTICE_ENERGY>(f));
}

template <typename T, LatticeKind KIND = LATTICE_CUBES, typename F>
static PetscErrorCode ForMarch(LatticeKind kind, bool body, LatticeMode mode, F &&f)
{
  if constexpr (KIND + 1 < LATTICE_KINDS) {
    if (kind != KIND) return ForMarch<T, (LatticeKind)(KIND + 1)>(kind, body, mode, f);
  }
  return body ? ForMode<T, KIND, true>(mode, f) : ForMode<T, KIND, false>(mode, f);
}

template <typename T>
PetscErrorCode LatticeMarchCut(LatticeKind kind, LatticeMode mode, const LatticeGeometry &g, LatticeCut *cut)
{
  return ForMarch<T>(kind, g.body != NULL, mode, [&](auto kernel, size_t shared, auto rows) {
    PetscFunctionBegin;
    PetscCall(LatticeCutPlanes<LatticeTile<rows()>>(kernel, shared, g.store, cut));
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

template <typename T>
PetscErrorCode LatticeMarchApply(LatticeKind kind, LatticeMode mode, const LatticeCut &cut, const LatticeGeometry &g, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  return ForMarch<T>(kind, g.body != NULL, mode, [&](auto kernel, size_t shared, auto rows) {
    PetscFunctionBegin;
    kernel<<<cut.grid, LatticeTile<rows()>::THREADS, shared, stream>>>(g, LatticeScaled<T>(m, v.x), v, cut);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

} // namespace patchfd
