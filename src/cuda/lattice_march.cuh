/*
  The operator on a lattice (lattice.cuh) in 3D, with fields of materials, by warps that march in z through the layers of cubes between two planes of nodes.

  A cube's tetrahedra are 0, p, q, 7 with p of 1, 2, 4 and q of 3, 5, 6: six, in a ring 13, 23, 26, 46, 45, 15.  t_pq is the sum of a field over the corners of
  one, a_1 = t_13 + t_15 and so on that over the two tetrahedra with a corner 1.  An edge from v is in the cubes v, v - e_x, v - e_y, v - e_z, ... :

    x: a_1(v) + t_23(v - y)      and of the layer below  t_45 + a_6(- y)     xy: a_3 and a_4 of the layer below     xyz: all six
    y: a_2(v) + t_13(v - x)      and of the layer below  t_46 + a_5(- x)     xz: a_5(v) + a_2(v - y)
    z: a_4(v) + t_26(v - y) + t_15(v - x) + a_3(v - x - y)                   yz: a_6(v) + a_1(v - x)

  and the sum around a node has a corner's sums in the same way.  Cubes that do not exist have sums zero: so sides and bodies need no other code.

  A thread has the cubes of a column and ROWS + 1 rows.  It keeps of the plane below the layer, for each row, the fields and x, and of the layer before what
  it has begun: sums Y for its nodes and S for those to the right, which get it by a shuffle, and the parts of sums around edges in the plane.
  The values of the plane after the next are on their way meanwhile.  Nothing is shared between warps: no barriers; arithmetic bounds it, then memory.
*/
#pragma once
#include "lattice.cuh"
#include "march.cuh"

namespace patchfd
{

/* by precision and kind: rows of a warp, least number of blocks of threads */
template <typename T, LatticeKind KIND>
struct LatticeShape {
  static constexpr int ROWS = sizeof(T) == 4 && KIND != LATTICE_TENSOR ? 6 : (KIND == LATTICE_TENSOR && sizeof(T) == 8 ? 2 : 4), BLOCKS = sizeof(T) == 4 ? 3 : 2;
};

/* sums over the tetrahedra of a cube */
template <typename T>
struct LatticeCube {
  T t13, t23, t26, t46, t45, t15;

  /* corners 0, 2 of the column and 1, 3 of the next one below, 4, 6 and 5, 7 above; m: 1, or 0 if there is no such cube */
  __device__ __forceinline__ LatticeCube(T m, T c0, T c1, T c2, T c3, T c4, T c5, T c6, T c7)
  {
    const T ends = m * (c0 + c7);

    t13 = m * (c1 + c3) + ends;
    t23 = m * (c2 + c3) + ends;
    t26 = m * (c2 + c6) + ends;
    t46 = m * (c4 + c6) + ends;
    t45 = m * (c4 + c5) + ends;
    t15 = m * (c1 + c5) + ends;
  }
  __device__ __forceinline__ T a1() const { return t13 + t15; }
  __device__ __forceinline__ T a2() const { return t23 + t26; }
  __device__ __forceinline__ T a3() const { return t13 + t23; }
  __device__ __forceinline__ T a4() const { return t45 + t46; }
  __device__ __forceinline__ T a5() const { return t15 + t45; }
  __device__ __forceinline__ T a6() const { return t26 + t46; }
  /* what it gives to axes' edges: of direction 0 to v, v + y; of v + z, v + y + z; of direction 1 to v, v + x; of v + z, v + x + z; of direction 2 to v, v + y, v + x, v + x + y */
  __device__ __forceinline__ void axes(T e[3][4]) const
  {
    e[0][0] = a1();
    e[0][1] = t23;
    e[0][2] = t45;
    e[0][3] = a6();
    e[1][0] = a2();
    e[1][1] = t13;
    e[1][2] = t46;
    e[1][3] = a5();
    e[2][0] = a4();
    e[2][1] = t26;
    e[2][2] = t15;
    e[2][3] = a3();
  }
};

/*
  Materials for the march, without branches: a constant is any array times zero.  Capacities become c0 + cscale c, which has their factor; what edges in axes need
  besides them becomes

    LATTICE_CUBES   k0 + cscale c + kscale k, their entries: these are linear in both
    LATTICE_SCALAR  k0 + kscale k, to be multiplied by `stiffness` in each direction
    LATTICE_TENSOR  k0[d] + kscale[d] k[d], with the factor
*/
template <typename T>
struct MarchMaterial {
  const T *c, *k[3];
  T        c0, cscale, k0[3], kscale[3], stiffness[3];

  MarchMaterial(LatticeKind kind, const LatticeMaterial<T> &m, const T *any)
  {
    c      = m.c ? m.c : any;
    c0     = m.c ? T(0) : m.mass * m.constc;
    cscale = m.c ? m.mass : T(0);
    for (int d = 0; d < 3; d++) {
      const T factor = kind == LATTICE_SCALAR ? T(1) : (kind == LATTICE_CUBES ? -m.stiffness[d] : m.stiffness[d]);

      k[d]         = m.k[d] ? m.k[d] : any;
      k0[d]        = (m.k[d] ? T(0) : factor * m.constk[d]) + (kind == LATTICE_CUBES ? c0 : T(0));
      kscale[d]    = m.k[d] ? factor : T(0);
      stiffness[d] = m.stiffness[d];
    }
  }
};

/* a node: capacity, what edges in axes need besides, x */
template <typename T, LatticeKind KIND>
struct LatticeNode {
  static constexpr int NK = KIND == LATTICE_TENSOR ? 3 : 1;
  T                    c, k[NK], x;

  /* the node to the right */
  __device__ __forceinline__ LatticeNode right() const
  {
    LatticeNode r;

    r.c = FromRight(c);
    r.x = FromRight(x);
#pragma unroll
    for (int d = 0; d < NK; d++) r.k[d] = FromRight(k[d]);
    return r;
  }
  /* from what has been loaded */
  __device__ __forceinline__ LatticeNode scaled(const MarchMaterial<T> &m) const
  {
    LatticeNode r;

    r.c = m.cscale * c + m.c0;
    r.x = x;
#pragma unroll
    for (int d = 0; d < NK; d++) r.k[d] = m.kscale[d] * k[d] + (KIND == LATTICE_CUBES ? m.cscale * c + m.k0[d] : m.k0[d]);
    return r;
  }
};

/* a layer's cubes of one row, with what the next row needs of them */
template <typename T>
struct LatticeSums {
  T axis[3][4], a1, a2, a3, a4, a5, a6, all;

  template <LatticeKind KIND>
  __device__ __forceinline__ void set(const MarchMaterial<T> &m, T on, const LatticeNode<T, KIND> v[8])
  {
    const LatticeCube<T> c(on, v[0].c, v[1].c, v[2].c, v[3].c, v[4].c, v[5].c, v[6].c, v[7].c);

    a1  = c.a1();
    a2  = c.a2();
    a3  = c.a3();
    a4  = c.a4();
    a5  = c.a5();
    a6  = c.a6();
    all = a1 + a2 + a4;
    if constexpr (KIND != LATTICE_CUBES) c.axes(axis);
#pragma unroll
    for (int d = 0; d < LatticeNode<T, KIND>::NK; d++) {
      const LatticeCube<T> k(on, v[0].k[d], v[1].k[d], v[2].k[d], v[3].k[d], v[4].k[d], v[5].k[d], v[6].k[d], v[7].k[d]);
      T                    e[3][4];

      k.axes(e);
#pragma unroll
      for (int a = 0; a < 3; a++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          if (KIND == LATTICE_CUBES) axis[a][i] = e[a][i];
          else if (KIND == LATTICE_SCALAR) axis[a][i] -= m.stiffness[a] * e[a][i];
          else if (a == d) axis[a][i] -= e[a][i];
        }
      }
    }
  }
};

/* what a node has of the layer below: sums for itself and for the node to the right, parts of sums around edges and nodes */
template <typename T>
struct LatticeBegun {
  T Y, S, x, y, yright, xy, node, noderight;
};

template <typename T, LatticeKind KIND, bool BODY>
struct LatticeMarch {
  static constexpr int ROWS = LatticeShape<T, KIND>::ROWS, NK = LatticeNode<T, KIND>::NK;
  using Tile                = LatticeTile<ROWS>;
  using Node                = LatticeNode<T, KIND>;

  const LatticeGeometry   &g;
  const MarchMaterial<T>  &m;
  const LatticeVectors<T> &v;
  const bool               inside, whole;                   /* are all nodes of the tile read, and have they materials; are all its rows rows of A? */
  const unsigned           there, readable, cubes, store, write; /* bits of rows: with materials, x, cubes, to be written, rows of A */
  const T                 *c, *k[NK], *x;                   /* row 0 of the next plane to be loaded */
  ptrdiff_t                to;                              /* row 0 of the plane to be written */
  Node                     below[ROWS + 2], next[ROWS + 2]; /* the plane below the layer; the one that comes after the one above it, as loaded */
  LatticeBegun<T>          begun[ROWS + 1];
  unsigned char            body[ROWS + 1]; /* flags of the layer's rows */

  __device__ __forceinline__ LatticeMarch(const LatticeGeometry &g, const MarchMaterial<T> &m, const LatticeVectors<T> &v, const Tile &tile, int plane) :
    g(g), m(m), v(v), inside(tile.within(g.read, g.box)), whole(tile.writes(g)), there(tile.rows(g.box)), readable(tile.rows(g.read)), cubes(tile.rows(g.cubes)), store(tile.stored(g)), write(tile.rows(g.write))
  {
    const ptrdiff_t at = g.xl.at(tile.i, tile.j, plane);

    c = m.c + at;
    x = v.x + at;
#pragma unroll
    for (int d = 0; d < NK; d++) k[d] = m.k[d] + at;
    to = g.yl.at(tile.i, tile.j, plane);
#pragma unroll
    for (int r = 0; r <= ROWS; r++) begun[r] = {};
  }

  /* where row r is */
  __device__ __forceinline__ const T *row(const T *field, int r) const { return field + r * (size_t)Opaque((unsigned)g.xl.row); }

  /* row r of plane z; all: if the tile and the plane are inside */
  __device__ __forceinline__ void fetch(int r, int z, bool all)
  {
    if (all) {
      next[r].c = *row(c, r);
#pragma unroll
      for (int d = 0; d < NK; d++) next[r].k[d] = *row(k[d], r);
      next[r].x = *row(x, r);
    } else {
      const bool is = (there >> r & 1) && Inside(g.box, 2, z);

      next[r].c = is ? *row(c, r) : T(0);
#pragma unroll
      for (int d = 0; d < NK; d++) next[r].k[d] = is ? *row(k[d], r) : T(0);
      next[r].x = (readable >> r & 1) && Inside(g.read, 2, z) ? *row(x, r) : T(0);
    }
  }
  __device__ __forceinline__ bool easy(int z) const { return inside && Inside(g.box, 2, z) && Inside(g.read, 2, z); }
  __device__ __forceinline__ void advance()
  {
    c += g.xl.plane;
    x += g.xl.plane;
#pragma unroll
    for (int d = 0; d < NK; d++) k[d] += g.xl.plane;
  }

  /* flags of layer z, two planes before the one that is loaded next */
  __device__ __forceinline__ void fetchbody(int z)
  {
    const unsigned char *from = g.body + (x - v.x) - 2 * g.xl.plane;

#pragma unroll
    for (int r = 0; r <= ROWS; r++) body[r] = (there >> r & 1) && Inside(g.box, 2, z) ? from[r * (size_t)Opaque((unsigned)g.xl.row)] : 0;
  }

  /* what edges from row r give to both of their ends, and the sum of row r; e: the parts of this layer in sums around edges, of this row of cubes and of the one before it */
  struct Row {
    T ax, ay, az, axy, axz, ayz, axyz, node;
  };
  __device__ __forceinline__ Row edges(LatticeBegun<T> &b, const LatticeSums<T> &s, const LatticeSums<T> &p) const
  {
    Row e;

    e.ax   = b.x + s.axis[0][0] + p.axis[0][1];
    e.ay   = b.y + s.axis[1][0] + FromLeft(b.yright + s.axis[1][1]);
    e.az   = s.axis[2][0] + p.axis[2][1] + FromLeft(s.axis[2][2] + p.axis[2][3]);
    e.axy  = b.xy + s.a3;
    e.axz  = s.a5 + p.a2;
    e.ayz  = s.a6 + FromLeft(s.a1);
    e.axyz = s.all;
    e.node = b.node + s.all + p.a2 + FromLeft(b.noderight + s.a1 + p.a3);
    b.x         = s.axis[0][2] + p.axis[0][3];
    b.y         = s.axis[1][2];
    b.yright    = s.axis[1][3];
    b.xy        = s.a4;
    b.node      = s.a4 + p.a6;
    b.noderight = s.a5 + p.all;
    return e;
  }

  /* y0 of row r */
  __device__ __forceinline__ T old(int r) const { return v.y0 && (store >> r & 1) ? v.y0[to + r * (size_t)Opaque((unsigned)g.yl.row)] : T(0); }

  /* row r is complete; all: if all rows of the tile and the plane are rows of A */
  __device__ __forceinline__ void put(int r, int z, bool all, T sum, T x, T old) const
  {
    if (BODY && body[r] & LATTICE_VOID) sum = x;
    if (!all) sum = (write >> r & 1) && Inside(g.write, 2, z) ? sum : T(0);
    if (store >> r & 1) v.y[to + r * (size_t)Opaque((unsigned)g.yl.row)] = v.alpha * sum + old;
  }

  /* the layer of cubes above plane z, whose rows are put if `last`; the plane two above is fetched */
  __device__ __forceinline__ void layer(int z, bool last)
  {
    const unsigned on = Inside(g.cubes, 2, z) ? cubes : 0;
    const bool     quick = easy(z + 2), rows = whole && Inside(g.write, 2, z);
    LatticeSums<T> sums, before = {};
    Node           n[8]; /* corners of the cube */
    T              up = 0, upright = 0; /* for row r of the plane above, from the row before */

    n[0] = below[0];
    n[4] = next[0].scaled(m);
    fetch(0, z + 2, quick);
    n[1] = n[0].right();
    n[5] = n[4].right();
#pragma unroll
    for (int r = 0; r <= ROWS; r++) {
      const T y0 = r && last ? old(r) : T(0);

      n[2] = below[r + 1];
      n[6] = next[r + 1].scaled(m);
      fetch(r + 1, z + 2, quick);
      n[3] = n[2].right();
      n[7] = n[6].right();
      sums.template set<KIND>(m, (on >> r & 1) && (!BODY || (body[r] & LATTICE_CUBE)) ? T(1) : T(0), n);
      const Row e = edges(begun[r], sums, before);
      const T   x = n[0].x, dy = n[2].x - x, dxy = n[3].x - x, dyz = n[6].x - x, dxyz = n[7].x - x;

      if (r) {
        const T dx = n[1].x - x, dz = n[4].x - x, dxz = n[5].x - x;
        T       Y = fma(5 * x, e.node, begun[r].Y);

        Y = fma(e.ax, dx, Y);
        Y = fma(e.ay, dy, Y);
        Y = fma(e.az, dz, Y);
        Y = fma(e.axy, dxy, Y);
        Y = fma(e.axz, dxz, Y);
        Y = fma(e.ayz, dyz, Y);
        Y = fma(e.axyz, dxyz, Y);
        Y += FromLeft(fma(-e.ax, dx, begun[r].S));
        if (last) put(r, z, rows, Y, x, y0);
        begun[r].Y = fma(-e.az, dz, up);
        begun[r].S = fma(-e.axz, dxz, upright);
      }
      if (r < ROWS) {
        begun[r + 1].Y = fma(-e.ay, dy, begun[r + 1].Y);
        begun[r + 1].S = fma(-e.axy, dxy, begun[r + 1].S);
      }
      up       = -e.ayz * dyz;
      upright  = -e.axyz * dxyz;
      below[r] = n[4];
      n[0]     = n[2];
      n[1]     = n[3];
      n[4]     = n[6];
      n[5]     = n[7];
      before   = sums;
    }
    below[ROWS + 1] = n[4];
  }

  /* planes from first to end; the pointers are at the plane before */
  __device__ __forceinline__ void march(int first, int end)
  {
#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) fetch(r, first - 1, false);
    advance();
#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) {
      below[r] = next[r].scaled(m);
      fetch(r, first, false);
    }
    for (int z = first - 1; z < end; z++) {
      advance();
      if (BODY) fetchbody(z);
      layer(z, z >= first);
      to += g.yl.plane;
    }
  }
};

template <typename T, LatticeKind KIND, bool BODY>
__launch_bounds__(LatticeMarch<T, KIND, BODY>::Tile::THREADS, LatticeShape<T, KIND>::BLOCKS)
static __global__ void LatticeMarchKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ MarchMaterial<T> m, const __grid_constant__ LatticeVectors<T> v, int chunk)
{
  using March = LatticeMarch<T, KIND, BODY>;
  const typename March::Tile tile(g);
  const int                  k = g.store.lo[2] + (int)blockIdx.z * chunk;

  if (tile.j + 1 >= g.store.hi[1]) return; /* a warp without rows */
  March march(g, m, v, tile, k - 1);

  march.march(k, min(k + chunk, g.store.hi[2]));
}

/* f(std::integral_constant<LatticeKind, kind>(), whether there is a body) */
template <int KIND = 0, typename F>
static PetscErrorCode ForLatticeKind(LatticeKind kind, bool body, F &&f)
{
  if constexpr (KIND < LATTICE_KINDS) {
    using Kind = std::integral_constant<LatticeKind, (LatticeKind)KIND>;
    if (kind != KIND) return ForLatticeKind<KIND + 1>(kind, body, f);
    return body ? f(Kind(), std::true_type()) : f(Kind(), std::false_type());
  }
  return PETSC_SUCCESS;
}

template <typename T>
PetscErrorCode LatticeMarchCut(LatticeKind kind, const LatticeGeometry &g, LatticeCut *cut)
{
  return ForLatticeKind(kind, g.body != NULL, [&](auto kind, auto body) {
    using Tile = typename LatticeMarch<T, kind(), body()>::Tile;

    PetscFunctionBegin;
    cut->grid = Tile::grid(g, 1);
    PetscCall(CutMarches(LatticeMarchKernel<T, kind(), body()>, Tile::THREADS, 0, (size_t)cut->grid.x * cut->grid.y, g.store.hi[2] - g.store.lo[2], 1, &cut->chunk, &cut->grid.z));
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

template <typename T>
PetscErrorCode LatticeMarchApply(LatticeKind kind, const LatticeCut &cut, const LatticeGeometry &g, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  return ForLatticeKind(kind, g.body != NULL, [&](auto kind, auto body) {
    PetscFunctionBegin;
    LatticeMarchKernel<T, kind(), body()><<<cut.grid, LatticeMarch<T, kind(), body()>::Tile::THREADS, 0, stream>>>(g, MarchMaterial<T>(kind(), m, v.x), v, cut.chunk);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

} // namespace patchfd
