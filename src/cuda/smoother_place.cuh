/*
  Patches with matrices of their own (a class by place), on tensor instructions: graded meshes, patches that reach free ends, degrees that have no
  kernel of their own, coefficients that differ.  Sizes are known at run time: a direction has n <= 8 B unknowns.

  Formula, notation and the order of directions are those of smoother_fast.cuh, without parity: the faces below and above (s = 0, 1) enter one by one,
  with alpha_s and mu_s of their own.  All patches of a block have the same place in y and z, and so the same matrices there; in x each of its P patches
  has others.  A product with a matrix is B x B products of smoother_mma.cuh: two numbers a lane for each, which a warp loads for all of its tiles of
  16 lines (from L1: blocks beside each other want the same ones).  Rows and columns from n on are zero; entries from n on read the last one of the line.

  Patches of a colour lie side by side in x, with one node between two.  Column c of the volume is the node first_0 + c, the ones between patches are
  carried along; node e of faces is first_0 - 1 + e.  Plane q in x is below patch q, and above patch q - 1.  Stages, with a barrier between each two:

    1. b: z-lines to modes; x-planes and y-faces, z-lines to modes; z-faces, y-lines times M       X[q][k][j], G[s][k][e], Z[s][j][e], in place; FZ: z-faces themselves
    2. x-planes, y-lines to modes, in place; x-lines of y- and z-faces times M                     HY[s][k][c], Z in place
    3. y-lines: alpha_z Z, to modes, alpha_y HY
    4. x-lines, patch by patch: to modes, alpha_x X, 1 / D, mu_x X, to nodes
    5. y-lines: mu_y G, to nodes
    6. z-lines: mu_z FZ, to nodes, and to x

  In 2D (FLAT) directions 1 and 2 change places, y is the point, and what there is to do along y is left out; alpha_z Z is subtracted from x-lines.
*/
#pragma once
#include "smoother_place_line.cuh"

namespace patchfd
{

template <typename T, int B>
struct PlaceBlock {
  using F = PlaceSizes<T, B>;

  const PlaceData<T>  &g;
  const PlaceRow      &row;
  T                   *sm;
  PlaceClass<T, B>     y, z;
  int                  first[3], width; /* first unknown; columns */
  Divisor              columns;

  __device__ __forceinline__ PlaceBlock(const PlaceData<T> &g, const PlaceRow &row, T *sm) :
    g(g), row(row), sm(sm), y(g.d[1], row.number[1]), z(g.d[2], row.number[2]), width(row.first[row.count] - 1 - row.first[0]), columns(width)
  {
    first[0] = row.first[0];
    first[1] = g.d[1].patch[row.number[1]].first;
    first[2] = g.d[2].patch[row.number[2]].first;
  }
  __device__ __forceinline__ PlaceClass<T, B> x(int p) const { return PlaceClass<T, B>(g.d[0], row.number[0] + 2 * p); }
  __device__ __forceinline__ int              column(int p) const { return row.first[p] - row.first[0]; } /* of patch p's first unknown */
  __device__ __forceinline__ T *V(int c, int j, int k) const { return sm + k * g.plane + j * g.row + c; }
  __device__ __forceinline__ T *X(int q, int k, int j) const { return sm + g.X + (q * g.closure[2] + k) * g.xrow + j; }
  __device__ __forceinline__ T *G(int s, int k, int e) const { return sm + g.G + (s * g.closure[2] + k) * g.frow + e; }
  __device__ __forceinline__ T *Z(int s, int j, int e) const { return sm + g.Z + (s * g.closure[1] + j) * g.frow + e; }
  __device__ __forceinline__ T *HY(int s, int k, int c) const { return sm + g.HY + (s * g.closure[2] + k) * g.row + c; }
  __device__ __forceinline__ T *FZ(int s, int j, int c) const { return sm + g.FZ + (s * g.closure[1] + j) * g.row + c; }
};

/* the columns between patches, a bit each */
template <typename T, int B>
static __device__ __forceinline__ unsigned long long PlaceBetween(const PlaceBlock<T, B> &me)
{
  unsigned long long between = 0;

  for (int p = 1; p < me.row.count; p++) between |= 1ull << (me.column(p) - 1);
  return between;
}

/* ---- from global memory: asynchronous copies, all under way at once ---- */

/* to[at] = number (a, b, c) of n, for all that a thread has */
template <typename F>
static __device__ __forceinline__ void EachNode(int n0, int n1, int n2, F f)
{
  const Divisor d0(n0), d1(n1);

  for (int e = threadIdx.x; e < n0 * n1 * n2; e += blockDim.x) {
    const int r = d0.quotient(e), c = d1.quotient(r);

    f(e - r * n0, r - c * n1, c);
  }
}

template <typename T, int B>
static __device__ __forceinline__ void PlaceFetchNode(const PlaceBlock<T, B> &me, T *to, const T *from, int i, int j, int k)
{
  const bool here = me.g.read.contains(i, j, k);

  Fetch(to, from + (here ? me.g.l.at(i, j, k) : 0), here);
}

template <bool BOUNDARY, bool FLAT, typename T, int B>
static __device__ __forceinline__ void PlaceFetch(const PlaceBlock<T, B> &me, const T *x, const T *b)
{
  const int o[3] = {me.first[0] - 1, me.first[1] - 1, me.first[2] - 1}, ny = me.y.n, nz = me.z.n;

  EachNode(me.width, ny, nz, [&](int c, int j, int k) { PlaceFetchNode(me, me.V(c, j, k), b, o[0] + 1 + c, o[1] + 1 + j, o[2] + 1 + k); });
  if (!BOUNDARY) return;
  if (FLAT) {
    EachNode(me.width + 2, 2, 1, [&](int e, int s, int) { PlaceFetchNode(me, me.Z(s, 0, e), x, o[0] + e, me.first[1], o[2] + s * (nz + 1)); });
    EachNode(me.width, 2, 1, [&](int c, int s, int) { PlaceFetchNode(me, me.FZ(s, 0, c), x, me.first[0] + c, me.first[1], o[2] + s * (nz + 1)); });
    EachNode(me.row.count + 1, nz + 2, 1, [&](int q, int k, int) { PlaceFetchNode(me, me.X(q, k, 0), x, me.row.first[q] - 1, me.first[1], o[2] + k); });
    return;
  }
  EachNode(me.width + 2, 2, nz + 2, [&](int e, int s, int k) { PlaceFetchNode(me, me.G(s, k, e), x, o[0] + e, o[1] + s * (ny + 1), o[2] + k); });
  EachNode(me.width + 2, ny + 2, 2, [&](int e, int j, int s) { PlaceFetchNode(me, me.Z(s, j, e), x, o[0] + e, o[1] + j, o[2] + s * (nz + 1)); });
  EachNode(ny + 2, me.row.count + 1, nz + 2, [&](int j, int q, int k) { PlaceFetchNode(me, me.X(q, k, j), x, me.row.first[q] - 1, o[1] + j, o[2] + k); });
}

/* ---- tiles ---- */

/*
  The lines 0 .. count - 1 in tiles, from tile `tile` on one for each warp: f(l, own) with the numbers of a thread's two lines, the last one again (a copy,
  not its own) where there are no more.  Returns the warp's tile after all.
*/
template <typename F>
static __device__ __forceinline__ int EachTile(int tile, int count, F f)
{
  const int tiles = (count + 15) / 16;

#pragma unroll 1
  for (; tile < tiles; tile += blockDim.x / 32) {
    const int  at   = tile * 16 + threadIdx.x % 32 / 4;
    const int  l[2] = {min(at, count - 1), min(at + 8, count - 1)};
    const bool own[2] = {at < count, at + 8 < count};

    f(l, own);
  }
  return tile - tiles;
}

/* lines of the closure to[], times M or to modes: matrix and columns of the ends; from the first node of the closure on, to entries 0 .. n - 1 of `to` */
template <typename T, int B>
static __device__ __forceinline__ void PlaceFace(const PlaceClass<T, B> &m, const PlaceMatrix<T, B> &matrix, int rim, const T *const from[2], int stride, T *const to[2], int tostride, const bool own[2])
{
  const T          *const inner[2] = {from[0] + stride, from[1] + stride};
  const int         above          = (m.n + 1) * stride;
  const T           end[2][2]      = {{from[0][0], from[1][0]}, {from[0][above], from[1][above]}};
  PlaceValues<T, B> v;

  v.load(inner, stride, m.n);
  __syncwarp(); /* copies have read before lines are overwritten */
  matrix.apply(v);
#pragma unroll
  for (int s = 0; s < 2; s++) v.add(m, rim + s, end[s][0], end[s][1]);
  v.store(to, own, tostride, m.n);
}

/* stage 1; tile: the warp's first */
template <bool FLAT, typename T, int B>
static __device__ __forceinline__ void PlaceFaces1(const PlaceBlock<T, B> &me, int tile)
{
  const int ny = me.y.n, cy = FLAT ? 1 : ny + 2, nodes = me.width + 2;

  {
    const PlaceMatrix<T, B> modes(me.z, FACE_MODES);
    const Divisor           x(cy), y(nodes);

    tile = EachTile(tile, (me.row.count + 1) * cy, [&](const int l[2], const bool own[2]) {
      const int q[2]    = {x.quotient(l[0]), x.quotient(l[1])};
      T *const  line[2] = {me.X(q[0], 0, l[0] - q[0] * cy), me.X(q[1], 0, l[1] - q[1] * cy)};

      PlaceFace(me.z, modes, MU_PLACE, line, me.g.xrow, line, me.g.xrow, own);
    });
    if (FLAT) return;
    tile = EachTile(tile, 2 * nodes, [&](const int l[2], const bool own[2]) {
      const int s[2]    = {y.quotient(l[0]), y.quotient(l[1])};
      T *const  line[2] = {me.G(s[0], 0, l[0] - s[0] * nodes), me.G(s[1], 0, l[1] - s[1] * nodes)};

      PlaceFace(me.z, modes, MU_PLACE, line, me.g.frow, line, me.g.frow, own);
    });
  }
  const PlaceMatrix<T, B> mass(me.y, MASS);
  const Divisor           z(nodes);

  EachTile(tile, 2 * nodes, [&](const int l[2], const bool own[2]) {
    const int s[2]    = {z.quotient(l[0]), z.quotient(l[1])};
    T *const  line[2] = {me.Z(s[0], 0, l[0] - s[0] * nodes), me.Z(s[1], 0, l[1] - s[1] * nodes)};

#pragma unroll
    for (int i = 0; i < 2; i++) { /* the face itself, for the way back */
      const int e = l[i] - s[i] * nodes;

      if (own[i] && e > 0 && e <= me.width)
        for (int j = threadIdx.x % 4; j < ny; j += 4) *me.FZ(s[i], j, e - 1) = line[i][(j + 1) * me.g.frow];
    }
    PlaceFace(me.y, mass, RIM_PLACE, line, me.g.frow, line, me.g.frow, own);
  });
}

/* stage 2 */
template <bool FLAT, typename T, int B>
static __device__ __forceinline__ void PlaceFaces2(const PlaceBlock<T, B> &me)
{
  const int     ny = me.y.n, nz = me.z.n;
  const Divisor z(nz), y(ny);
  int           tile = threadIdx.x / 32;

  if (!FLAT) {
    const PlaceMatrix<T, B> modes(me.y, FACE_MODES);

    tile = EachTile(tile, (me.row.count + 1) * nz, [&](const int l[2], const bool own[2]) {
      const int q[2]    = {z.quotient(l[0]), z.quotient(l[1])};
      T *const  line[2] = {me.X(q[0], l[0] - q[0] * nz, 0), me.X(q[1], l[1] - q[1] * nz, 0)};

      PlaceFace(me.y, modes, MU_PLACE, line, 1, line, 1, own);
    });
  }
  for (int p = 0; p < me.row.count; p++) {
    const PlaceClass<T, B>  mx = me.x(p);
    const PlaceMatrix<T, B> mass(mx, MASS);
    const int               c = me.column(p);

    /* 2 nz lines of y-faces, then 2 ny of z-faces, whose results stay clear of the ends that they share with the patches beside */
    tile = EachTile(tile, 2 * (FLAT ? ny : ny + nz), [&](const int l[2], const bool own[2]) {
      T *from[2], *to[2];

#pragma unroll
      for (int i = 0; i < 2; i++) {
        const bool face = FLAT || l[i] >= 2 * nz; /* in z? */
        const int  m = face && !FLAT ? l[i] - 2 * nz : l[i], s = face ? y.quotient(m) : z.quotient(m), a = m - s * (face ? ny : nz);

        from[i] = face ? me.Z(s, a, c) : me.G(s, a, c);
        to[i]   = face ? me.Z(s, a, c + 1) : me.HY(s, a, c);
      }
      PlaceFace(mx, mass, RIM_PLACE, from, 1, to, 1, own);
    });
  }
}

/* ---- volume ---- */

/* lines along z (or y) of the volume, from[] by column and the other direction; before(l, v), the product, after(l, v) */
template <int D, typename T, int B, typename Before, typename After>
static __device__ __forceinline__ int PlaceVolume(const PlaceBlock<T, B> &me, TileMatrix which, Before before, After after)
{
  const PlaceClass<T, B> &m = D == 2 ? me.z : me.y;
  const PlaceMatrix<T, B> matrix(m, which);
  const int               stride = D == 2 ? me.g.plane : me.g.row;

  return EachTile(threadIdx.x / 32, me.width * (D == 2 ? me.y.n : me.z.n), [&](const int l[2], const bool own[2]) {
    const int         a[2]    = {me.columns.quotient(l[0]), me.columns.quotient(l[1])}; /* y, or mode in z */
    const int         c[2]    = {l[0] - a[0] * me.width, l[1] - a[1] * me.width};
    T *const          line[2] = {D == 2 ? me.V(c[0], a[0], 0) : me.V(c[0], 0, a[0]), D == 2 ? me.V(c[1], a[1], 0) : me.V(c[1], 0, a[1])};
    PlaceValues<T, B> v;

    v.load(line, stride, m.n);
    before(c, a, v);
    __syncwarp();
    matrix.apply(v);
    after(c, a, own, line, v);
  });
}

/* v -= what the faces in z give, where z is in modes (k): lines in a z-face from h[] on */
template <typename T, int B>
static __device__ __forceinline__ void PlaceZFaces(const PlaceBlock<T, B> &me, const int k[2], const T *const h[2][2], int stride, int n, PlaceValues<T, B> &v)
{
#pragma unroll
  for (int s = 0; s < 2; s++) {
    const T alpha[2] = {me.z.weight(ALPHA + s, k[0]), me.z.weight(ALPHA + s, k[1])};

    v.each([&](int i, T &a0, T &a1) {
      const int at = min(i, n - 1) * stride;

      a0 -= alpha[0] * h[s][0][at];
      a1 -= alpha[1] * h[s][1][at];
    });
  }
}

/* x-lines of patch p, with the planes p and p + 1 */
template <bool BOUNDARY, bool FLAT, typename T, int B>
static __device__ __forceinline__ int PlaceSolve(const PlaceBlock<T, B> &me, int p, int tile)
{
  const PlaceClass<T, B>  m = me.x(p);
  const Divisor           y(me.y.n);

  return EachTile(tile, me.y.n * me.z.n, [&](const int l[2], const bool own[2]) {
    const int         k[2] = {y.quotient(l[0]), y.quotient(l[1])}, j[2] = {l[0] - k[0] * me.y.n, l[1] - k[1] * me.y.n};
    T *const          line[2] = {me.V(me.column(p), j[0], k[0]), me.V(me.column(p), j[1], k[1])};
    const T           shift[2] = {me.y.weight(LAMBDA, j[0]) + me.z.weight(LAMBDA, k[0]), me.y.weight(LAMBDA, j[1]) + me.z.weight(LAMBDA, k[1])};
    T                 face[2][2];
    PlaceValues<T, B> v;

    v.load(line, 1, m.n);
    if (BOUNDARY && FLAT) {
      const int      c = me.column(p) + 1;
      const T *const h[2][2] = {{me.Z(0, 0, c), me.Z(0, 0, c)}, {me.Z(1, 0, c), me.Z(1, 0, c)}};

      PlaceZFaces(me, k, h, 1, m.n, v);
    }
    __syncwarp();
    PlaceMatrix<T, B>(m, TO_MODES).apply(v);
#pragma unroll
    for (int s = 0; s < (BOUNDARY ? 2 : 0); s++) {
#pragma unroll
      for (int i = 0; i < 2; i++) face[s][i] = *me.X(p + s, k[i], j[i]);
      v.add(m, ALPHA + s, -face[s][0], -face[s][1]);
    }
    v.each([&](int i, T &a0, T &a1) {
      const T lambda = m.weight(LAMBDA, i);

      a0 *= ReciprocalOrZero(lambda + shift[0]);
      a1 *= ReciprocalOrZero(lambda + shift[1]);
    });
#pragma unroll
    for (int s = 0; s < (BOUNDARY ? 2 : 0); s++) v.add(m, MU_PLACE + s, -face[s][0], -face[s][1]);
    PlaceMatrix<T, B>(m, TO_NODES).apply(v);
    v.store(line, own, 1, m.n);
  });
}

/* z-lines to x = beta x + omega v, where they are unknowns that exist */
template <typename T, int B>
static __device__ __forceinline__ void PlaceWrite(const PlaceBlock<T, B> &me, unsigned long long between, const int c[2], const int j[2], const bool own[2], T omega, T beta, PlaceValues<T, B> &v, T *x)
{
  bool      here[2];
  ptrdiff_t at[2];

#pragma unroll
  for (int i = 0; i < 2; i++) {
    here[i] = own[i] && !(between >> c[i] & 1) && Inside(me.g.read, 0, me.first[0] + c[i]) && Inside(me.g.read, 1, me.first[1] + j[i]);
    at[i]   = me.g.l.at(me.first[0] + c[i], me.first[1] + j[i], me.first[2]);
  }
  v.each([&](int k, T &a0, T &a1) {
    const bool in = k < me.z.n && Inside(me.g.read, 2, me.first[2] + k);

#pragma unroll
    for (int i = 0; i < 2; i++) {
      T *const to    = x + at[i] + k * me.g.l.plane;
      const T  value = i ? a1 : a0;

      if (in && here[i]) *to = beta == 0 ? omega * value : beta * *to + omega * value;
    }
  });
}

template <typename T, int B, bool BOUNDARY, bool FLAT>
__launch_bounds__(PlaceSizes<T, B>::THREADS, PlaceSizes<T, B>::BLOCKS) static __global__
void PlaceKernel(const __grid_constant__ PlaceData<T> g, const __grid_constant__ PlaceShell shell, T omega, T beta, T *x, const T *__restrict__ b)
{
  extern __shared__ int4 place_memory[];
  __shared__ PlaceRow row;

  PlaceFindRow(g, shell, row);

  const PlaceBlock<T, B>   me(g, row, (T *)place_memory);
  const unsigned long long between = PlaceBetween(me);
  const auto               nothing = [](const int *, const int *, PlaceValues<T, B> &) {};

  PlaceFetch<BOUNDARY, FLAT>(me, x, b);
  FetchWait();
  __syncthreads();
  int tile = PlaceVolume<2>(me, TO_MODES, nothing, [&](const int *, const int *, const bool own[2], T *const line[2], PlaceValues<T, B> &v) { v.store(line, own, g.plane, me.z.n); });
  if (BOUNDARY) {
    PlaceFaces1<FLAT>(me, tile);
    __syncthreads();
    PlaceFaces2<FLAT>(me);
  }
  __syncthreads();
  if (!FLAT) {
    PlaceVolume<1>(
      me, TO_MODES,
      [&](const int c[2], const int k[2], PlaceValues<T, B> &v) {
        const T *const h[2][2] = {{me.Z(0, 0, c[0] + 1), me.Z(0, 0, c[1] + 1)}, {me.Z(1, 0, c[0] + 1), me.Z(1, 0, c[1] + 1)}};

        if (BOUNDARY) PlaceZFaces(me, k, h, g.frow, me.y.n, v);
      },
      [&](const int c[2], const int k[2], const bool own[2], T *const line[2], PlaceValues<T, B> &v) {
#pragma unroll
        for (int s = 0; s < (BOUNDARY ? 2 : 0); s++) v.add(me.y, ALPHA + s, -*me.HY(s, k[0], c[0]), -*me.HY(s, k[1], c[1]));
        v.store(line, own, g.row, me.y.n);
      });
    __syncthreads();
  }
  for (int p = 0, next = threadIdx.x / 32; p < row.count; p++) next = PlaceSolve<BOUNDARY, FLAT>(me, p, next);
  __syncthreads();
  if (!FLAT) {
    PlaceVolume<1>(
      me, TO_NODES,
      [&](const int c[2], const int k[2], PlaceValues<T, B> &v) {
#pragma unroll
        for (int s = 0; s < (BOUNDARY ? 2 : 0); s++) v.add(me.y, MU_PLACE + s, -*me.G(s, k[0], c[0] + 1), -*me.G(s, k[1], c[1] + 1));
      },
      [&](const int *, const int *, const bool own[2], T *const line[2], PlaceValues<T, B> &v) { v.store(line, own, g.row, me.y.n); });
    __syncthreads();
  }
  PlaceVolume<2>(
    me, TO_NODES,
    [&](const int c[2], const int j[2], PlaceValues<T, B> &v) {
#pragma unroll
      for (int s = 0; s < (BOUNDARY ? 2 : 0); s++) v.add(me.z, MU_PLACE + s, -*me.FZ(s, j[0], c[0]), -*me.FZ(s, j[1], c[1]));
    },
    [&](const int c[2], const int j[2], const bool own[2], T *const *, PlaceValues<T, B> &v) { PlaceWrite(me, between, c, j, own, omega, beta, v, x); });
}

/* ---- the residual alone ---- */

/*
  r = b - A x at the unknowns, A = A_x M_y M_z + M_x A_y M_z + M_x M_y A_z: z-lines of the closure to p = M_z x and q = A_z x, y-lines to s = M_y q + A_y p and
  t = M_y p, x-lines to M_x s + A_x t, patch by patch.  p, t and q, s are in shared memory, [k][j][e] with places of the closure in y and x; x has two planes more.
*/
template <typename T, int B>
struct PlaceProduct {
  PlaceClass<T, B>  m;
  PlaceMatrix<T, B> mass, stiffness;

  __device__ __forceinline__ PlaceProduct(const PlaceClass<T, B> &m) : m(m), mass(m, MASS), stiffness(m, STIFFNESS) { }
  /* two lines of the closure */
  __device__ __forceinline__ void load(const T *const line[2], int stride, PlaceValues<T, B> &v, T end[2][2]) const
  {
    const T *const inner[2] = {line[0] + stride, line[1] + stride};

#pragma unroll
    for (int i = 0; i < 2; i++) {
      end[0][i] = line[i][0];
      end[1][i] = line[i][(m.n + 1) * stride];
    }
    v.load(inner, stride, m.n);
  }
  __device__ __forceinline__ void apply(bool stiff, const T end[2][2], PlaceValues<T, B> &v) const
  {
    (stiff ? stiffness : mass).apply(v);
#pragma unroll
    for (int s = 0; s < 2; s++) v.add(m, (stiff ? RIM_STIFFNESS : RIM_PLACE) + s, end[s][0], end[s][1]);
  }
  /* M v + A w, v's ends and w's: to v */
  __device__ __forceinline__ void both(const T vend[2][2], const T wend[2][2], PlaceValues<T, B> &v, PlaceValues<T, B> w) const
  {
    apply(false, vend, v);
    apply(true, wend, w);
#pragma unroll
    for (int i = 0; i < 4 * B; i++) v.a[i / 4][i / 2 % 2][i % 2] += w.a[i / 4][i / 2 % 2][i % 2];
  }
};

template <typename T, int B, bool FLAT>
__launch_bounds__(PlaceSizes<T, B>::THREADS, B < 3 ? 2 : 1) static __global__
void PlaceResidualKernel(const __grid_constant__ PlaceData<T> g, const __grid_constant__ PlaceShell shell, const T *x, const T *b, T *r)
{
  extern __shared__ int4 place_memory[];
  __shared__ PlaceRow row;

  PlaceFindRow(g, shell, row);

  const PlaceBlock<T, B> me(g, row, (T *)place_memory);
  const int              ny = me.y.n, nz = me.z.n, cy = FLAT ? 1 : ny + 2, below = FLAT ? 0 : 1, nodes = me.width + 2, plane = g.rows * g.frow, tile = threadIdx.x / 32;
  const int              o[3] = {me.first[0] - 1, me.first[1] - below, me.first[2] - 1};
  T                     *P = me.sm, *Q = P + g.closure[2] * plane;
  const Divisor          ey(nodes), yy(ny);

  EachNode(nodes, cy, nz + 2, [&](int e, int j, int k) { PlaceFetchNode(me, P + k * plane + j * g.frow + e, x, o[0] + e, o[1] + j, o[2] + k); });
  FetchWait();
  __syncthreads();
  {
    const PlaceProduct<T, B> z(me.z);

    EachTile(tile, nodes * cy, [&](const int l[2], const bool own[2]) {
      const int         j[2] = {ey.quotient(l[0]), ey.quotient(l[1])}, at[2] = {l[0] + j[0] * (g.frow - nodes), l[1] + j[1] * (g.frow - nodes)};
      T *const          p[2] = {P + at[0], P + at[1]}, *const q[2] = {Q + at[0], Q + at[1]};
      PlaceValues<T, B> v, w;
      T                 end[2][2];

      z.load(p, plane, v, end);
      __syncwarp(); /* copies have read before lines are overwritten */
      w = v;
      z.apply(false, end, v);
      v.store(p, own, plane, nz);
      z.apply(true, end, w);
      w.store(q, own, plane, nz);
    });
  }
  __syncthreads();
  if (!FLAT) {
    const PlaceProduct<T, B> y(me.y);

    EachTile(tile, nodes * nz, [&](const int l[2], const bool own[2]) {
      const int         k[2] = {ey.quotient(l[0]), ey.quotient(l[1])}, at[2] = {l[0] + k[0] * (plane - nodes), l[1] + k[1] * (plane - nodes)};
      T *const          p[2] = {P + at[0], P + at[1]}, *const q[2] = {Q + at[0], Q + at[1]};
      PlaceValues<T, B> v, w;
      T                 pend[2][2], qend[2][2];

      y.load(p, g.frow, v, pend);
      y.load(q, g.frow, w, qend);
      __syncwarp();
      y.both(qend, pend, w, v);
      w.store(q, own, g.frow, ny);
      y.apply(false, pend, v);
      v.store(p, own, g.frow, ny);
    });
    __syncthreads();
  }
  for (int p = 0, next = tile; p < row.count; p++) {
    const PlaceProduct<T, B> m(me.x(p));
    const int                c = me.column(p);
    const T                  point = FLAT ? me.y.weight(LAMBDA, 0) : T(0); /* A_y of the point, whose mass is 1 */

    next = EachTile(next, ny * nz, [&](const int l[2], const bool own[2]) {
      const int         k[2] = {yy.quotient(l[0]), yy.quotient(l[1])}, at[2] = {k[0] * plane + (l[0] - k[0] * ny) * g.frow + c, k[1] * plane + (l[1] - k[1] * ny) * g.frow + c};
      T *const          t[2] = {P + at[0], P + at[1]}, *const s[2] = {Q + at[0], Q + at[1]}, *const to[2] = {s[0] + 1, s[1] + 1}; /* clear of the patches beside */
      PlaceValues<T, B> v, w;
      T                 send[2][2], tend[2][2];

      m.load(s, 1, v, send);
      m.load(t, 1, w, tend);
      __syncwarp();
      if (FLAT) {
#pragma unroll
        for (int i = 0; i < 4 * B; i++) v.a[i / 4][i / 2 % 2][i % 2] += point * w.a[i / 4][i / 2 % 2][i % 2];
#pragma unroll
        for (int i = 0; i < 4; i++) send[i / 2][i % 2] += point * tend[i / 2][i % 2];
      }
      m.both(send, tend, v, w);
      v.store(to, own, 1, m.m.n);
    });
  }
  __syncthreads();
  const unsigned long long between = PlaceBetween(me);

  EachNode(me.width, ny, nz, [&](int c, int j, int k) {
    const int       node[3] = {me.first[0] + c, me.first[1] + j, me.first[2] + k};
    const ptrdiff_t at      = g.l.at(node[0], node[1], node[2]);

    if (!(between >> c & 1) && g.read.contains(node[0], node[1], node[2])) r[at] = b[at] - Q[k * plane + j * g.frow + c + 1];
  });
}

/* ---- launch ---- */

template <typename T, int B, bool FLAT>
struct PlaceSmootherBlocks : PlaceSmoother {
  using F = PlaceSizes<T, B>;
  PlaceData<T> data;
  PlanMemory   memory;
  size_t       bytes, bytes_solve, bytes_residual; /* of shared memory; without faces; of the residual */
  int          patches, threads;   /* of a block */

  /* has the code been compiled for a GPU with these instructions? */
  static PetscErrorCode supported(bool *yes)
  {
    cudaFuncAttributes attributes;

    PetscFunctionBegin;
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, PlaceKernel<T, B, true, FLAT>));
    *yes = PetscMin(attributes.binaryVersion, attributes.ptxVersion) >= (sizeof(T) == 4 ? 80 : 90);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode create(const PatchFDLocalDesc *desc, const int n[3])
  {
    PetscFunctionBegin;
    for (int d = 0; d < 3; d++) PetscCall(upload(desc->field->dir[FLAT && d ? 3 - d : d], &data.d[d]));
    data.l    = Layout(desc->field->box);
    data.read = Range(desc->field->read);
    if (FLAT) {
      std::swap(data.l.row, data.l.plane);
      std::swap(data.read.lo[1], data.read.lo[2]);
      std::swap(data.read.hi[1], data.read.hi[2]);
    }
    /* rows of about 32 nodes; in 2D, where there is less to do for each, of 64, the bits of a mask */
    patches   = B > 1 && !FLAT ? 1 : PetscMin(PLACE_ROW, PetscMax(1, (FLAT ? 64 : 32) / (n[0] + 1)));
    places(n);
    PetscCall(AllowShared(PlaceKernel<T, B, true, FLAT>, bytes));
    PetscCall(AllowShared(PlaceKernel<T, B, false, FLAT>, bytes_solve));
    if (residuals()) PetscCall(AllowShared(PlaceResidualKernel<T, B, FLAT>, bytes_residual));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const PatchShell &s, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b, cudaStream_t stream) override
  {
    const PlaceShell shell(s, patches, FLAT);

    PetscFunctionBegin;
    if (boundary) PlaceKernel<T, B, true, FLAT><<<shell.rows(), threads, bytes, stream>>>(data, shell, (T)omega, (T)beta, (T *)x, (const T *)b);
    else PlaceKernel<T, B, false, FLAT><<<shell.rows(), threads, bytes_solve, stream>>>(data, shell, (T)omega, (T)beta, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  bool           residuals() const override { return bytes_residual + sizeof(PlaceRow) <= shared_limit; }
  PetscErrorCode residual(const PatchShell &s, const void *x, const void *b, void *r, cudaStream_t stream) override
  {
    const PlaceShell shell(s, patches, FLAT);

    PetscFunctionBegin;
    PlaceResidualKernel<T, B, FLAT><<<shell.rows(), threads, bytes_residual, stream>>>(data, shell, (const T *)x, (const T *)b, (T *)r);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode destroy() override { return memory.free(); }

private:
  /* where arrays lie in shared memory, for the largest patch.  Lines of a tile lie beside each other, or a row apart: rows of 4 mod 8 numbers have no bank conflicts */
  void places(const int n[3])
  {
    auto      pad   = [](int m) { return m + (12 - m % 8) % 8; };
    const int width = (n[0] + 1) * patches - 1, tiles = (width * n[1] + 15) / 16;

    threads = 32 * PetscMin(F::WARPS, PetscMax(2, (tiles + 1) / 2)); /* a warp has two tiles in a stage */
    data.row   = patches > 1 ? pad(width) : width | 1;
    data.plane = pad(n[1] * data.row);
    data.xrow  = pad(n[1] + 2);
    data.frow  = pad(width + 2);
    for (int d = 0; d < 3; d++) data.closure[d] = n[d] + 2;
    data.X      = n[2] * data.plane;
    data.G      = data.X + (patches + 1) * data.closure[2] * data.xrow;
    data.Z      = data.G + 2 * data.closure[2] * data.frow;
    data.HY     = data.Z + 2 * data.closure[1] * data.frow;
    data.FZ     = data.HY + 2 * data.closure[2] * data.row;
    bytes       = (data.FZ + 2 * data.closure[1] * data.row) * sizeof(T);
    bytes_solve = data.X * sizeof(T);
    data.rows      = FLAT ? 1 : n[1] + 2;
    bytes_residual = (size_t)(data.closure[2] + n[2]) * data.rows * data.frow * sizeof(T);
  }

  /* a class: the matrices as lanes want them, and weights; zero where there is nothing, but for eigenvalues, which are divided by */
  static void numbers(const PatchFDEigen *e, PetscReal *to)
  {
    const int  n = (int)e->n, c = n + 2;
    PetscReal *weight = to + 5 * F::MATRIX;

    for (int at = 0; at < F::MATRIX; at++) {
      const int  block = at / 64, lane = at / 2 % 32, i = block / B * 8 + lane % 4 + 4 * (at % 2), j = block % B * 8 + lane / 8 + 4 * (lane / 4 % 2);
      const bool in = i < n && j < n; /* row i for the entry of the line, column j for that of the product */

      to[TO_MODES * F::MATRIX + at]   = in ? e->S[i * n + j] : 0;
      to[TO_NODES * F::MATRIX + at]   = in ? e->S[j * n + i] : 0;
      to[FACE_MODES * F::MATRIX + at] = in ? e->T[j * n + i] : 0;
      to[MASS * F::MATRIX + at]       = in ? e->MI[j * c + 1 + i] : 0;
      to[STIFFNESS * F::MATRIX + at]  = in ? e->AI[j * c + 1 + i] : 0;
    }
    for (int i = 0; i < 8 * B; i++) {
      for (int s = 0; s < 2; s++) {
        weight[(ALPHA + s) * 8 * B + i]     = i < n ? e->alpha[s][i] : 0;
        weight[(MU_PLACE + s) * 8 * B + i]  = i < n ? e->mu[s][i] : 0;
        weight[(RIM_PLACE + s) * 8 * B + i] = i < n ? e->MI[i * c + s * (n + 1)] : 0;
        weight[(RIM_STIFFNESS + s) * 8 * B + i] = i < n ? e->AI[i * c + s * (n + 1)] : 0;
      }
      weight[LAMBDA * 8 * B + i] = i < n ? e->lambda[i] : 1;
    }
  }

  PetscErrorCode upload(const PatchFDPatches *pd, PlaceLine<T> *line)
  {
    std::vector<PetscReal>  all((size_t)pd->nclass * F::CLASS);
    std::vector<PlacePatch> patch((size_t)pd->npatch);
    T                      *where;
    PlacePatch             *which;

    PetscFunctionBegin;
    for (PetscInt i = 0; i < pd->nclass; i++) numbers(&pd->eigen[i], &all[(size_t)i * F::CLASS]);
    for (PetscInt i = 0; i < pd->npatch; i++) patch[i] = {(int)pd->first[i], (int)pd->n[i], (int)pd->cls[i]};
    PetscCall(memory.upload(all.size(), all.data(), &where));
    PetscCall(memory.upload(patch.size(), patch.data(), &which));
    line->numbers = where;
    line->patch   = which;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int B, bool FLAT>
static PetscErrorCode PlaceSmootherNew(const PatchFDLocalDesc *desc, const int n[3], PlaceSmoother **place)
{
  bool supported;

  PetscFunctionBegin;
  PetscCall((PlaceSmootherBlocks<T, B, FLAT>::supported(&supported)));
  if (!supported) PetscFunctionReturn(PETSC_SUCCESS);
  PlaceSmootherBlocks<T, B, FLAT> *p = new PlaceSmootherBlocks<T, B, FLAT>;

  *place = p; /* there before its arrays, so that it can be destroyed after an error */
  PetscCall(p->create(desc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, bool FLAT>
PetscErrorCode SmootherPlaceCreate(const PatchFDLocalDesc *desc, PlaceSmoother **place)
{
  int n[3] = {0, 0, 0}, most = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = desc->field->dir[FLAT && d ? 3 - d : d];

    for (PetscInt i = 0; i < pd->npatch; i++) n[d] = PetscMax(n[d], (int)pd->n[i]);
    most = PetscMax(most, n[d]);
  }
  if (most > 1 && most <= 8 * place_blocks[FLAT]) PetscCall((ForDegree<1, place_blocks[FLAT]>((most + 7) / 8, [&](auto blocks) { return PlaceSmootherNew<T, blocks, FLAT>(desc, n, place); })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
