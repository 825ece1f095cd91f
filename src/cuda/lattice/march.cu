/*
  The operator on a lattice (lattice.cuh) in 3D, with fields of materials, by warps that march in z through the layers of cubes between two
  planes of nodes.

  A cube's tetrahedra are 0, p, q, 7 with p of 1, 2, 4 and q of 3, 5, 6: six, in a ring 13, 23, 26, 46, 45, 15.  t_pq is the sum of a field
  over the corners of one, a_1 = t_13 + t_15 and so on that over the two tetrahedra with a corner 1.  An edge from v is in the cubes v, v -
  e_x, v - e_y, v - e_z, ... :

    x: a_1(v) + t_23(v - y)      and of the layer below  t_45 + a_6(- y)     xy: a_3 and a_4 of the layer below     xyz: all six
    y: a_2(v) + t_13(v - x)      and of the layer below  t_46 + a_5(- x)     xz: a_5(v) + a_2(v - y)
    z: a_4(v) + t_26(v - y) + t_15(v - x) + a_3(v - x - y)                   yz: a_6(v) + a_1(v - x)

  Cubes that do not exist have sums zero: so sides and bodies need no other code (LatticeSides).  Where all cubes exist (LatticeInner) the
  sums around edges are, with p_d(v) = f(v) + f(v + e_d) and Q_de(v) the sum over the four corners of a square, 2 times

    x:   2 p_x(v) + Q_yz(v + x) + Q_yz(v - y - z)
    xy:  Q_xy(v) + p_z(v - z) + p_z(v + x + y)
    xyz: 2 (f(v) + f(v + x + y + z)) + Q_xy(v) + Q_xy(v + z)

  and so on.  Each tetrahedron around a node has one diagonal of a square from it: so the sums of the rows of M, dim + 2 times the entries
  of an edge for each of them, are had by adding that to the diagonals' edges.

  A thread has a column and ROWS + 1 rows of edges.  It keeps of the plane below the layer, for each row, the fields and x, and of the
  layer before what it has begun: sums Y for its nodes and S for those to the right, which get it by a shuffle, and the parts of sums
  around edges in the plane. Planes come through shared memory, two ahead.  Nothing is shared between warps: no barriers.  Arithmetic
  bounds it, then memory.
*/
#include "lattice/lattice.cuh"

namespace patchfd
{

/* by precision and kind: rows of a warp, least number of blocks of threads */
template <typename T, LatticeKind KIND>
struct LatticeShape {
  static constexpr int ROWS = sizeof(T) == 4 && KIND != LATTICE_TENSOR ? 8 : 4, BLOCKS = sizeof(T) == 4 ? 3 : 2;
};

/* a node: x; capacity; what edges in axes need besides */
template <typename T, LatticeKind KIND>
struct LatticeNode {
  static constexpr int NK = KIND == LATTICE_TENSOR ? 3 : 1;
  T                    x, c, k[NK];
};

/* entries of the edges from a node */
template <typename T>
struct LatticeEdges {
  T x, y, z, xy, xz, yz, xyz;
};

/* ---- where some cubes do not exist ---- */

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
  /* what it gives to axes' edges: of direction 0 to v, v + y; of v + z, v + y + z; of direction 1 to v, v + x; of v + z, v + x + z; of
     direction 2 to v, v + y, v + x, v + x + y */
  __device__ __forceinline__ void axes(T e[3][4]) const
  {
    e[0][0] = t13 + t15;
    e[0][1] = t23;
    e[0][2] = t45;
    e[0][3] = t26 + t46;
    e[1][0] = t23 + t26;
    e[1][1] = t13;
    e[1][2] = t46;
    e[1][3] = t15 + t45;
    e[2][0] = t45 + t46;
    e[2][1] = t26;
    e[2][2] = t15;
    e[2][3] = t13 + t23;
  }
};

/* a layer's cubes of one row */
template <typename T>
struct LatticeSums {
  T axis[3][4], a1, a2, a3, a4, a5, a6;
};

template <typename T, LatticeKind KIND, int ROWS, bool BODY>
struct LatticeSides {
  using Node = LatticeNode<T, KIND>;

  const LatticeGeometry  &g;
  const LatticeScaled<T> &m;
  const unsigned          there, cubes; /* bits of rows */
  const unsigned char    *body;         /* flags of row 0 of the plane below */
  unsigned                on, empty;    /* bits of rows: cubes of this layer, nodes without a cube */
  T                       x[ROWS + 1], y[ROWS + 1], yright[ROWS + 1], xy[ROWS + 1]; /* begun by the layer before */
  LatticeSums<T>          before;                                                   /* of the row before */

  __device__ __forceinline__ LatticeSides(const LatticeGeometry &g, const LatticeScaled<T> &m, const LatticeTile<ROWS> &tile, int z) :
    g(g), m(m), there(tile.rows(g.box)), cubes(tile.rows(g.cubes)), body(BODY ? g.body + g.xl.at(tile.i, tile.j, z) : NULL), on(0), empty(0)
  {
#pragma unroll
    for (int r = 0; r <= ROWS; r++) x[r] = y[r] = yright[r] = xy[r] = 0;
  }

  /* the layer above plane z, the next one */
  __device__ __forceinline__ void begin(int z)
  {
    on     = Inside(g.cubes, 2, z) ? cubes : 0;
    before = {};
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

  /* entries of the edges of row r; v: the corners of its cube, n the row, the next one, below and above, own and to the right */
  __device__ __forceinline__ LatticeEdges<T> edges(int r, const Node v[8])
  {
    LatticeSums<T>        s;
    LatticeEdges<T>       e;
    const LatticeSums<T> &p = before;

    sums(on >> r & 1 ? T(1) : T(0), v, s);
    e.x       = x[r] + s.axis[0][0] + p.axis[0][1];
    e.y       = y[r] + s.axis[1][0] + FromLeft(yright[r] + s.axis[1][1]);
    e.z       = s.axis[2][0] + p.axis[2][1] + FromLeft(s.axis[2][2] + p.axis[2][3]);
    e.xy      = xy[r] + s.a3;
    e.xz      = s.a5 + p.a2;
    e.yz      = s.a6 + FromLeft(s.a1);
    e.xyz     = s.a1 + s.a2 + s.a4;
    x[r]      = s.axis[0][2] + p.axis[0][3];
    y[r]      = s.axis[1][2];
    yright[r] = s.axis[1][3];
    xy[r]     = s.a4;
    before    = s;
    return e;
  }

private:
  __device__ __forceinline__ void sums(T exists, const Node v[8], LatticeSums<T> &s) const
  {
    const LatticeCube<T> c(exists, v[0].c, v[1].c, v[2].c, v[3].c, v[4].c, v[5].c, v[6].c, v[7].c);

    s.a1 = c.t13 + c.t15;
    s.a2 = c.t23 + c.t26;
    s.a3 = c.t13 + c.t23;
    s.a4 = c.t45 + c.t46;
    s.a5 = c.t15 + c.t45;
    s.a6 = c.t26 + c.t46;
    if constexpr (KIND != LATTICE_CUBES) c.axes(s.axis);
#pragma unroll
    for (int d = 0; d < Node::NK; d++) {
      const LatticeCube<T> k(exists, v[0].k[d], v[1].k[d], v[2].k[d], v[3].k[d], v[4].k[d], v[5].k[d], v[6].k[d], v[7].k[d]);
      T                    e[3][4];

      k.axes(e);
#pragma unroll
      for (int a = 0; a < 3; a++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          if (KIND == LATTICE_CUBES) s.axis[a][i] = e[a][i];
          else if (KIND == LATTICE_SCALAR) s.axis[a][i] -= m.stiffness[a] * e[a][i];
          else if (a == d) s.axis[a][i] -= e[a][i];
        }
      }
    }
  }
};

/* ---- where all cubes exist ---- */

/* the sums of a field around edges in axes, times 1/2 */
template <typename T, int ROWS>
struct LatticeAxes {
  T yz[ROWS + 1], xz[ROWS + 1]; /* squares of the layer below */
  T yzbefore, xybefore;         /* of the row before: of the layer below, of this plane */

  __device__ __forceinline__ T x(int r, const T f[8], T squareyz)
  {
    const T e = 2 * (f[0] + f[1]) + (f[1] + f[5] + (f[3] + f[7])) + yzbefore;

    yzbefore = yz[r];
    yz[r]    = squareyz;
    return e;
  }
  __device__ __forceinline__ T y(int r, const T f[8])
  {
    const T e = 2 * (f[0] + f[2]) + (f[2] + f[6] + (f[3] + f[7])) + FromLeft(xz[r]);

    xz[r] = f[0] + f[4] + (f[1] + f[5]);
    return e;
  }
  __device__ __forceinline__ T z(const T f[8])
  {
    const T e = 2 * (f[0] + f[4]) + (f[4] + f[5] + (f[6] + f[7])) + FromLeft(xybefore);

    xybefore = f[0] + f[1] + (f[2] + f[3]);
    return e;
  }
};

template <typename T, LatticeKind KIND, int ROWS, bool>
struct LatticeInner {
  using Node                         = LatticeNode<T, KIND>;
  static constexpr bool     CAPACITY = KIND == LATTICE_SCALAR; /* are sums of capacities around axes' edges needed, too? */
  static constexpr unsigned empty    = 0;

  const LatticeScaled<T> &m;
  LatticeAxes<T, ROWS>    axes[Node::NK], caxes;
  T                       below[ROWS + 1], before; /* c(v - z) + c(v), c(v - y) + c(v) */

  __device__ __forceinline__ LatticeInner(const LatticeGeometry &, const LatticeScaled<T> &m, const LatticeTile<ROWS> &, int) : m(m)
  {
#pragma unroll
    for (int r = 0; r <= ROWS; r++) {
      below[r] = caxes.yz[r] = caxes.xz[r] = 0;
#pragma unroll
      for (int d = 0; d < Node::NK; d++) axes[d].yz[r] = axes[d].xz[r] = 0;
    }
  }

  __device__ __forceinline__ void begin(int)
  {
    before = caxes.yzbefore = caxes.xybefore = 0;
#pragma unroll
    for (int d = 0; d < Node::NK; d++) axes[d].yzbefore = axes[d].xybefore = 0;
  }

  __device__ __forceinline__ LatticeEdges<T> edges(int r, const Node v[8])
  {
    LatticeEdges<T> e;
    T               f[8];

#pragma unroll
    for (int i = 0; i < 8; i++) f[i] = v[i].c;
    const T square = f[0] + f[1] + (f[2] + f[3]);

    e.xy     = square + below[r] + (f[3] + f[7]);
    below[r] = f[0] + f[4];
    e.xz     = f[0] + f[4] + (f[1] + f[5]) + before + (f[5] + f[7]);
    before   = f[0] + f[2];
    e.yz     = f[0] + f[4] + (f[2] + f[6]) + FromLeft(f[0] + f[1]) + (f[6] + f[7]);
    e.xyz    = 2 * (f[0] + f[7]) + square + (f[4] + f[5] + (f[6] + f[7]));
    if constexpr (CAPACITY) {
      e.x = caxes.x(r, f, f[0] + f[4] + (f[2] + f[6]));
      e.y = caxes.y(r, f);
      e.z = caxes.z(f);
    }
#pragma unroll
    for (int d = 0; d < Node::NK; d++) {
      T t[3];

#pragma unroll
      for (int i = 0; i < 8; i++) f[i] = KIND == LATTICE_TENSOR ? v[i].c - v[i].k[d] : v[i].k[d];
      if (d == 0) t[0] = axes[d].x(r, f, f[0] + f[4] + (f[2] + f[6]));
      if (d == 1 || Node::NK == 1) t[1] = axes[d].y(r, f);
      if (d == 2 || Node::NK == 1) t[2] = axes[d].z(f);
      if constexpr (KIND == LATTICE_SCALAR) {
        e.x -= m.stiffness[0] * t[0];
        e.y -= m.stiffness[1] * t[1];
        e.z -= m.stiffness[2] * t[2];
      } else {
        if (d == 0) e.x = t[0];
        if (d == 1 || Node::NK == 1) e.y = t[1];
        if (d == 2 || Node::NK == 1) e.z = t[2];
      }
    }
    return e;
  }
};

/* ---- marches ---- */

/* Edges: LatticeSides or LatticeInner, whose entries of edges are to be multiplied by `factor` */
template <typename T, LatticeKind KIND, bool BODY, LatticeMode MODE, template <typename, LatticeKind, int, bool> typename Edges>
struct LatticeMarch {
  static constexpr int ROWS = LatticeShape<T, KIND>::ROWS, NK = LatticeNode<T, KIND>::NK;
  using Tile = LatticeTile<ROWS>;
  using Ring = LatticeRing<T, 2 + NK, Tile>;
  using Node = LatticeNode<T, KIND>;

  const LatticeGeometry     &g;
  const LatticeScaled<T>    &m;
  const LatticeVectors<T>   &v;
  Ring                       ring;
  Edges<T, KIND, ROWS, BODY> sums;
  const unsigned             store, write; /* bits of rows: that are written, that are rows of A */
  const T                    alpha;
  T                         *y;                                     /* row 0 of the plane to be written */
  Node                       below[ROWS + 2], belowright[ROWS + 2]; /* the plane below the layer */
  /* what the layer before gives to its upper plane: to nodes, to those to the right */
  T      Y[ROWS + 1], S[ROWS + 1];
  double energy;

  __device__ __forceinline__ LatticeMarch(const LatticeGeometry &g, const LatticeScaled<T> &m, const LatticeVectors<T> &v, const Tile &tile,
                                          T *shared, int z, T factor) :
    g(g),
    m(m), v(v), ring(tile, g, shared), sums(g, m, tile, z - 1),
    store(tile.stored(g.store) & (MODE == LATTICE_ENERGY ? tile.rows(g.write) : ~0u)), write(tile.rows(g.write)), alpha(factor * v.alpha),
    y(v.y + g.yl.at(tile.i, tile.j, z - 1)), energy(0)
  {
    const ptrdiff_t at = g.xl.at(tile.i, tile.j, z - 1);

    ring.from[0] = v.x + at;
    ring.from[1] = m.c + at;
#pragma unroll
    for (int d = 0; d < NK; d++) ring.from[2 + d] = m.k[d] + at;
#pragma unroll
    for (int r = 0; r <= ROWS; r++) Y[r] = S[r] = 0;
  }

  /* row r of the plane that the ring has, and the nodes to the right */
  __device__ __forceinline__ void get(int r, Node &n, Node &right) const
  {
    const T c = ring.get(1, r);

    n.x     = ring.get(0, r);
    right.x = ring.get(0, r, ring.right);
    n.c     = m.cscale * c + m.c0;
    right.c = FromRight(n.c);
#pragma unroll
    for (int d = 0; d < NK; d++) {
      n.k[d]     = m.kscale[d] * ring.get(2 + d, r) + (KIND == LATTICE_CUBES ? m.cscale * c + m.k0[d] : m.k0[d]);
      right.k[d] = FromRight(n.k[d]);
    }
  }

  /* row r of y, or of another array like it */
  __device__ __forceinline__ T *row(int r, ptrdiff_t to = 0) const
  {
    return y + to + r * (size_t)Opaque((unsigned)g.yl.row);
  }

  /* y0 of the rows that are put */
  __device__ __forceinline__ void fetchold(unsigned put, T old[ROWS + 1]) const
  {
#pragma unroll
    for (int r = 1; r <= ROWS; r++) old[r] = put >> r & 1 ? *row(r, v.y0 - v.y) : T(0);
  }

  /* a node's sum is complete */
  __device__ __forceinline__ T putrow(int r, unsigned put, unsigned rows, T sum, T x, T old) const
  {
    if (sums.empty >> r & 1) sum = m.identity * x; /* LatticeSides only, whose factor is one */
    sum *= rows >> r & 1 ? alpha : T(0);
    if (MODE == LATTICE_ADD) sum += old;
    if (!(put >> r & 1)) return 0;
    *row(r) = sum;
    return sum * x;
  }

  /* the layer above plane z, which is complete then; planes from `first` to end are put */
  __device__ __forceinline__ void layer(int z, int first, int end)
  {
    const unsigned rows = Inside(g.write, 2, z) ? write : 0, put = z >= first && (MODE != LATTICE_ENERGY || rows) ? store : 0;
    Node           n[8];                       /* corners of the cube */
    T              up = 0, upright        = 0; /* for row r of the plane above, from the row before */
    T              old[ROWS + 1], partial = 0;

    ring.wait();
    ring.request(g, z + 3, end);
    sums.begin(z);
    if constexpr (MODE == LATTICE_ADD) fetchold(put, old);
    n[0] = below[0];
    n[1] = belowright[0];
    get(0, n[4], n[5]);
#pragma unroll
    for (int r = 0; r <= ROWS; r++) {
      n[2] = below[r + 1];
      n[3] = belowright[r + 1];
      get(r + 1, n[6], n[7]);
      const LatticeEdges<T> e = sums.edges(r, n);
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
      up            = e.yz * fma(T(4), dyz, x);
      upright       = -e.xyz * dxyz;
      below[r]      = n[4];
      belowright[r] = n[5];
      n[0]          = n[2];
      n[1]          = n[3];
      n[4]          = n[6];
      n[5]          = n[7];
    }
    below[ROWS + 1]      = n[4];
    belowright[ROWS + 1] = n[5];
    if (MODE == LATTICE_ENERGY) energy += partial;
  }

  /* planes from first to end */
  __device__ __forceinline__ void march(int first, int end)
  {
    for (int z = first - 1; z <= first + 1; z++) {
      if (z > first) ring.wait();
      ring.request(g, z, end);
    }
#pragma unroll
    for (int r = 0; r < ROWS + 2; r++) get(r, below[r], belowright[r]);
    for (int z = first - 1; z < end; z++) {
      layer(z, first, end);
      y += g.yl.plane;
    }
    if constexpr (MODE == LATTICE_ENERGY) AddEnergy(energy, v.sweep);
  }
};

template <typename T, LatticeKind KIND, bool BODY, LatticeMode MODE>
__launch_bounds__(LatticeTile<1>::THREADS, LatticeShape<T, KIND>::BLOCKS) static __global__
  void LatticeMarchKernel(const __grid_constant__ LatticeGeometry g, const __grid_constant__ LatticeScaled<T> m,
                          const __grid_constant__ LatticeVectors<T> v, const __grid_constant__ LatticeCut cut)
{
  using Sides = LatticeMarch<T, KIND, BODY, MODE, LatticeSides>;
  using Inner = LatticeMarch<T, KIND, BODY, MODE, LatticeInner>;
  extern __shared__ double   shared_memory[];
  const typename Sides::Tile tile(g.store);
  int                        first, end;
  bool                       inner;

  cut.planes(g, &first, &end, &inner);
  if (tile.j + 1 >= g.store.hi[1] || first >= end) return; /* a warp without rows */
  if (MODE == LATTICE_ENERGY && v.sweep->stop) return;
  if (!BODY && inner && tile.inner(g)) {
    Inner march(g, m, v, tile, (T *)shared_memory, first, T(2));

    march.march(first, end);
  } else {
    Sides march(g, m, v, tile, (T *)shared_memory, first, T(1));

    march.march(first, end);
  }
}

/* f(its kernel, bytes of shared memory, std::integral_constant of its rows) */
template <typename T, LatticeKind KIND, bool BODY, LatticeMode MODE, typename F>
static PetscErrorCode WithMarch(F &&f)
{
  return f(LatticeMarchKernel<T, KIND, BODY, MODE>, LatticeMarch<T, KIND, BODY, MODE, LatticeSides>::Ring::SHARED,
           std::integral_constant<int, LatticeShape<T, KIND>::ROWS>());
}

template <typename T, LatticeKind KIND, bool BODY, typename F>
static PetscErrorCode ForMode(LatticeMode mode, F &&f)
{
  return mode == LATTICE_MULT
         ? WithMarch<T, KIND, BODY, LATTICE_MULT>(f)
         : (mode == LATTICE_ADD ? WithMarch<T, KIND, BODY, LATTICE_ADD>(f) : WithMarch<T, KIND, BODY, LATTICE_ENERGY>(f));
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
    using Tile   = LatticeTile<rows()>;
    const int lo = PetscMin(PetscMax(g.store.lo[2], g.cubes.lo[2] + 1), g.store.hi[2]),
              hi = PetscMax(lo, PetscMin(g.store.hi[2], g.cubes.hi[2]));

    PetscFunctionBegin;
    PetscCall(LatticeCutPlanes(kernel, Tile::THREADS, shared, Tile::grid(g.store), lo, hi, 16, cut));
    cut->grid.z += 2;
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

template <typename T>
PetscErrorCode LatticeMarchApply(LatticeKind kind, LatticeMode mode, const LatticeCut &cut, const LatticeGeometry &g,
                                 const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  return ForMarch<T>(kind, g.body != NULL, mode, [&](auto kernel, size_t shared, auto rows) {
    PetscFunctionBegin;
    kernel<<<cut.grid, LatticeTile<rows()>::THREADS, shared, stream>>>(g, LatticeScaled<T>(kind, m, v.x), v, cut);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

} // namespace patchfd

template PetscErrorCode patchfd::LatticeMarchCut<INSTANCE_T>(LatticeKind, LatticeMode, const LatticeGeometry &, LatticeCut *);
template PetscErrorCode patchfd::LatticeMarchApply<INSTANCE_T>(LatticeKind, LatticeMode, const LatticeCut &, const LatticeGeometry &,
                                                               const LatticeMaterial<INSTANCE_T> &, const LatticeVectors<INSTANCE_T> &,
                                                               cudaStream_t);
