/* Patches with matrices of their own (place.cu): a block of threads, what it fetches, and which of its warps works on which lines
   */
#pragma once
#include "smoother/place_line.cuh"

namespace patchfd
{

template <class W>
struct PlaceBlock {
  using T = typename W::REAL;

  const PlaceData<T> &g;
  const PlaceRow     &row;
  T                  *sm;
  PlaceClass<W>       y, z;
  int                 first[3], width; /* first unknown; columns */
  Divisor             columns;

  __device__ __forceinline__ PlaceBlock(const PlaceData<T> &g, const PlaceRow &row, T *sm) :
    g(g), row(row), sm(sm), y(g.d[1], row.number[1]), z(g.d[2], row.number[2]), width(row.first[row.count] - 1 - row.first[0]),
    columns(width)
  {
    first[0] = row.first[0];
    first[1] = g.d[1].patch[row.number[1]].first;
    first[2] = g.d[2].patch[row.number[2]].first;
  }
  __device__ __forceinline__ PlaceClass<W> x(int p) const { return PlaceClass<W>(g.d[0], row.number[0] + 2 * p); }
  __device__ __forceinline__ int           column(int p) const { return row.first[p] - row.first[0]; } /* of patch p's first unknown */
  __device__ __forceinline__ T            *V(int c, int j, int k) const { return sm + k * g.plane + j * g.row + c; }
  __device__ __forceinline__ T            *X(int q, int k, int j) const { return sm + g.X + (q * g.closure[2] + k) * g.xrow + j; }
  __device__ __forceinline__ T            *G(int s, int k, int e) const { return sm + g.G + (s * g.closure[2] + k) * g.frow + e; }
  __device__ __forceinline__ T            *Z(int s, int j, int e) const { return sm + g.Z + (s * g.closure[1] + j) * g.frow + e; }
  __device__ __forceinline__ T            *HY(int s, int k, int c) const { return sm + g.HY + (s * g.closure[2] + k) * g.row + c; }
  __device__ __forceinline__ T            *FZ(int s, int j, int c) const { return sm + g.FZ + (s * g.closure[1] + j) * g.row + c; }
};

/* the columns between patches, a bit each */
template <class W>
static __device__ __forceinline__ unsigned long long PlaceBetween(const PlaceBlock<W> &me)
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

template <class W>
static __device__ __forceinline__ void PlaceFetchNode(const PlaceBlock<W> &me, typename W::REAL *to, const typename W::REAL *from, int i,
                                                      int j, int k)
{
  const bool here = me.g.read.contains(i, j, k);

  Fetch(to, from + (here ? me.g.at(i, j, k) : 0), here);
}

/* ---- tiles ---- */

/*
  The lines 0 .. count - 1 in tiles, from tile `tile` on one for each warp: f(l, own) with the numbers of a thread's lines.  Of tensor
  instructions all threads take part: the last line again (a copy, not its own) where there are no more.  Returns the warp's tile after
  all.
*/
template <class W, typename F>
static __device__ __forceinline__ int EachTile(int tile, int count, F f)
{
  const int tiles = (count + W::WARP - 1) / W::WARP;

#pragma unroll 1
  for (; tile < tiles; tile += blockDim.x / 32) {
    int  l[W::LINES];
    bool own[W::LINES];

#pragma unroll
    for (int h = 0; h < W::LINES; h++) {
      const int at = tile * W::WARP + W::line(h);

      own[h] = at < count;
      l[h]   = min(at, count - 1);
    }
    if (W::TILES || own[0]) f(l, own);
  }
  return tile - tiles;
}

/* f(p, l, own) with the numbers of `count` lines of each of the row's patches; a tile, whose lines have one matrix, is of one patch */
template <class W, typename F>
static __device__ __forceinline__ int EachPatchTile(const PlaceBlock<W> &me, int tile, int count, F f)
{
  if constexpr (W::TILES) {
    for (int p = 0; p < me.row.count; p++) tile = EachTile<W>(tile, count, [&](const int l[], const bool own[]) { f(p, l, own); });
    return tile;
  } else {
    const Divisor patch(count);

    return EachTile<W>(tile, me.row.count * count, [&](const int l[], const bool own[]) {
      const int p = patch.quotient(l[0]), m[1] = {l[0] - p * count};

      f(p, m, own);
    });
  }
}

/* The residual of patches with matrices of their own (place.cu), patch by patch: what `separate` computes before it solves */

/*
  r = b - A x at the unknowns, A = A_x M_y M_z + M_x A_y M_z + M_x M_y A_z: z-lines of the closure to p = M_z x and q = A_z x, y-lines to s
  = M_y q + A_y p and t = M_y p, x-lines to M_x s + A_x t, patch by patch.  p, t and q, s are in shared memory, [k][j][e] with places of
  the closure in y and x; x has two planes more.
*/
template <class W>
struct PlaceProduct {
  using T = typename W::REAL;
  PlaceClass<W>      m;
  typename W::Matrix mass, stiffness;

  __device__ __forceinline__ PlaceProduct(const PlaceClass<W> &m) : m(m), mass(m, MASS), stiffness(m, STIFFNESS) { }
  /* lines of the closure */
  __device__ __forceinline__ void load(T *const line[], int stride, typename W::Values &v, T end[2][W::LINES]) const
  {
    const T *inner[W::LINES];

#pragma unroll
    for (int h = 0; h < W::LINES; h++) {
      inner[h]  = line[h] + stride;
      end[0][h] = line[h][0];
      end[1][h] = line[h][(m.n + 1) * stride];
    }
    v.load(inner, stride, m.n);
  }
  /* M v or A v */
  __device__ __forceinline__ void apply(bool stiff, const T end[2][W::LINES], const typename W::Values &v, T *const to[], const bool own[],
                                        int stride) const
  {
    (stiff ? stiffness : mass).apply(v, m.n, [&](int i, T w[]) {
#pragma unroll
      for (int s = 0; s < 2; s++) AddWeight(m, (stiff ? RIM_STIFFNESS : RIM_PLACE) + s, i, end[s], w);
      PlaceStore<W>(to, own, stride, m.n, i, w);
    });
  }
  /* M v + A u */
  __device__ __forceinline__ void both(const T vend[2][W::LINES], const T uend[2][W::LINES], const typename W::Values &v,
                                       const typename W::Values &u, T *const to[], const bool own[], int stride) const
  {
    mass.apply(v, stiffness, u, m.n, [&](int i, T w[]) {
#pragma unroll
      for (int s = 0; s < 2; s++) {
        AddWeight(m, RIM_PLACE + s, i, vend[s], w);
        AddWeight(m, RIM_STIFFNESS + s, i, uend[s], w);
      }
      PlaceStore<W>(to, own, stride, m.n, i, w);
    });
  }
};

/* where P and Q of a block of patches are */
template <class W>
struct PlacePlanes {
  using T = typename W::REAL;
  const PlaceBlock<W> &me;
  int                  nodes, cy, plane; /* of the closure in x and y; numbers of a plane */
  T                   *P, *Q;

  __device__ __forceinline__ PlacePlanes(const PlaceBlock<W> &me, int cy) :
    me(me), nodes(me.width + 2), cy(cy), plane(me.g.rows * me.g.frow), P(me.sm), Q(P + me.g.closure[2] * plane)
  {
  }
  /* places of the lines l of nodes in x; `skip`: from the last node of a row to the first one of the next */
  __device__ __forceinline__ void lines(const int l[], const Divisor &row, int skip, T *p[], T *q[]) const
  {
#pragma unroll
    for (int h = 0; h < W::LINES; h++) {
      const int at = l[h] + row.quotient(l[h]) * skip;

      p[h] = P + at;
      q[h] = Q + at;
    }
  }
  /* p = M_z x, q = A_z x */
  __device__ __forceinline__ void z(int tile) const
  {
    const PlaceProduct<W> z(me.z);
    const Divisor         row(nodes);

    EachTile<W>(tile, nodes * cy, [&](const int l[], const bool own[]) {
      T                 *p[W::LINES], *q[W::LINES], end[2][W::LINES];
      typename W::Values v;

      lines(l, row, me.g.frow - nodes, p, q);
      z.load(p, plane, v, end);
      W::wait();
      z.apply(false, end, v, p, own, plane);
      z.apply(true, end, v, q, own, plane);
    });
  }
  /* s = M_y q + A_y p, t = M_y p */
  __device__ __forceinline__ void y(int tile) const
  {
    const PlaceProduct<W> y(me.y);
    const Divisor         row(nodes);

    EachTile<W>(tile, nodes * me.z.n, [&](const int l[], const bool own[]) {
      T                 *p[W::LINES], *q[W::LINES], pend[2][W::LINES], qend[2][W::LINES];
      typename W::Values v, u;

      lines(l, row, plane - nodes, p, q);
      y.load(p, me.g.frow, u, pend);
      y.load(q, me.g.frow, v, qend);
      W::wait();
      y.both(qend, pend, v, u, q, own, me.g.frow);
      y.apply(false, pend, u, p, own, me.g.frow);
    });
  }
  /* A x, where s was, by columns of the block */
  template <bool FLAT>
  __device__ __forceinline__ void x(int tile) const
  {
    const Divisor row(me.y.n);

    EachPatchTile(me, tile, me.y.n * me.z.n, [&](int patch, const int l[], const bool own[]) {
      const PlaceProduct<W> m(me.x(patch));
      T                    *t[W::LINES], *s[W::LINES], *to[W::LINES], send[2][W::LINES], tend[2][W::LINES];
      typename W::Values    v, u;

#pragma unroll
      for (int h = 0; h < W::LINES; h++) {
        const int k = row.quotient(l[h]), at = k * plane + (l[h] - k * me.y.n) * me.g.frow + me.column(patch);

        t[h]  = P + at;
        s[h]  = Q + at;
        to[h] = s[h] + 1; /* clear of the patches beside */
      }
      m.load(s, 1, v, send);
      m.load(t, 1, u, tend);
      W::wait();
      if (FLAT) {
        const T point = me.y.weight(LAMBDA, 0); /* A_y of the point, whose mass is 1 */

        v.add(point, u);
#pragma unroll
        for (int i = 0; i < 2 * W::LINES; i++) send[i / W::LINES][i % W::LINES] += point * tend[i / W::LINES][i % W::LINES];
      }
      m.both(send, tend, v, u, to, own, 1);
    });
  }
};

template <class W, bool FLAT>
__launch_bounds__(PLACE_THREADS, W::N <= 16 ? 2 : 1) static __global__
  void PlaceResidualKernel(const __grid_constant__ PlaceData<typename W::REAL> g, const __grid_constant__ PlaceShell shell,
                           const typename W::REAL *x, const typename W::REAL *b, typename W::REAL *r)
{
  using T = typename W::REAL;
  extern __shared__ int4 place_memory[];
  __shared__ PlaceRow    row;

  PlaceFindRow(g, shell, row);

  const PlaceBlock<W>  me(g, row, (T *)place_memory);
  const PlacePlanes<W> sm(me, FLAT ? 1 : me.y.n + 2);
  const int            tile = threadIdx.x / 32, o[3] = {me.first[0] - 1, me.first[1] - (FLAT ? 0 : 1), me.first[2] - 1};

  EachNode(sm.nodes, sm.cy, me.z.n + 2,
           [&](int e, int j, int k) { PlaceFetchNode(me, sm.P + k * sm.plane + j * g.frow + e, x, o[0] + e, o[1] + j, o[2] + k); });
  FetchWait();
  __syncthreads();
  sm.z(tile);
  __syncthreads();
  if (!FLAT) {
    sm.y(tile);
    __syncthreads();
  }
  sm.template x<FLAT>(tile);
  __syncthreads();
  const unsigned long long between = PlaceBetween(me);

  EachNode(me.width, me.y.n, me.z.n, [&](int c, int j, int k) {
    const int       node[3] = {me.first[0] + c, me.first[1] + j, me.first[2] + k};
    const ptrdiff_t at      = g.at(node[0], node[1], node[2]);

    if (!(between >> c & 1) && g.read.contains(node[0], node[1], node[2])) r[at] = b[at] - sm.Q[k * sm.plane + j * g.frow + c + 1];
  });
}

/* Of patches with matrices of their own (place.cu) what the faces need: x and b of a block's patches, and the stages on faces */

template <bool BOUNDARY, bool FLAT, class W>
static __device__ __forceinline__ void PlaceFetch(const PlaceBlock<W> &me, const typename W::REAL *x, const typename W::REAL *b)
{
  const int o[3] = {me.first[0] - 1, me.first[1] - 1, me.first[2] - 1}, ny = me.y.n, nz = me.z.n;

  EachNode(me.width, ny, nz, [&](int c, int j, int k) { PlaceFetchNode(me, me.V(c, j, k), b, o[0] + 1 + c, o[1] + 1 + j, o[2] + 1 + k); });
  if (!BOUNDARY) return;
  if (FLAT) {
    EachNode(me.width + 2, 2, 1,
             [&](int e, int s, int) { PlaceFetchNode(me, me.Z(s, 0, e), x, o[0] + e, me.first[1], o[2] + s * (nz + 1)); });
    EachNode(me.width, 2, 1,
             [&](int c, int s, int) { PlaceFetchNode(me, me.FZ(s, 0, c), x, me.first[0] + c, me.first[1], o[2] + s * (nz + 1)); });
    EachNode(me.row.count + 1, nz + 2, 1,
             [&](int q, int k, int) { PlaceFetchNode(me, me.X(q, k, 0), x, me.row.first[q] - 1, me.first[1], o[2] + k); });
    return;
  }
  EachNode(me.width + 2, 2, nz + 2,
           [&](int e, int s, int k) { PlaceFetchNode(me, me.G(s, k, e), x, o[0] + e, o[1] + s * (ny + 1), o[2] + k); });
  EachNode(me.width + 2, ny + 2, 2,
           [&](int e, int j, int s) { PlaceFetchNode(me, me.Z(s, j, e), x, o[0] + e, o[1] + j, o[2] + s * (nz + 1)); });
  EachNode(ny + 2, me.row.count + 1, nz + 2,
           [&](int j, int q, int k) { PlaceFetchNode(me, me.X(q, k, j), x, me.row.first[q] - 1, o[1] + j, o[2] + k); });
}

/* lines of the closure, times M or to modes: matrix and columns of the ends; from the first node of the closure on, to entries 0 .. n - 1
   of `to` */
template <class W>
static __device__ __forceinline__ void PlaceFace(const PlaceClass<W> &m, const typename W::Matrix &matrix, int rim,
                                                 typename W::REAL *const from[], int stride, typename W::REAL *const to[], int tostride,
                                                 const bool own[])
{
  using T                  = typename W::REAL;
  const int          above = (m.n + 1) * stride;
  const T           *inner[W::LINES];
  T                  end[2][W::LINES];
  typename W::Values v;

#pragma unroll
  for (int h = 0; h < W::LINES; h++) {
    inner[h]  = from[h] + stride;
    end[0][h] = from[h][0];
    end[1][h] = from[h][above];
  }
  v.load(inner, stride, m.n);
  W::wait();
  matrix.apply(v, m.n, [&](int i, T w[]) {
#pragma unroll
    for (int s = 0; s < 2; s++) AddWeight(m, rim + s, i, end[s], w);
    PlaceStore<W>(to, own, tostride, m.n, i, w);
  });
}

/* stage 1; tile: the warp's first */
template <bool FLAT, class W>
static __device__ __forceinline__ void PlaceFaces1(const PlaceBlock<W> &me, int tile)
{
  using T      = typename W::REAL;
  const int ny = me.y.n, cy = FLAT ? 1 : ny + 2, nodes = me.width + 2;

  {
    const typename W::Matrix modes(me.z, FACE_MODES);
    const Divisor            x(cy), y(nodes);

    tile = EachTile<W>(tile, (me.row.count + 1) * cy, [&](const int l[], const bool own[]) {
      T *line[W::LINES];

#pragma unroll
      for (int h = 0; h < W::LINES; h++) {
        const int q = x.quotient(l[h]);

        line[h] = me.X(q, 0, l[h] - q * cy);
      }
      PlaceFace<W>(me.z, modes, MU_PLACE, line, me.g.xrow, line, me.g.xrow, own);
    });
    if (FLAT) return;
    tile = EachTile<W>(tile, 2 * nodes, [&](const int l[], const bool own[]) {
      T *line[W::LINES];

#pragma unroll
      for (int h = 0; h < W::LINES; h++) {
        const int s = y.quotient(l[h]);

        line[h] = me.G(s, 0, l[h] - s * nodes);
      }
      PlaceFace<W>(me.z, modes, MU_PLACE, line, me.g.frow, line, me.g.frow, own);
    });
  }
  const typename W::Matrix mass(me.y, MASS);
  const Divisor            z(nodes);

  EachTile<W>(tile, 2 * nodes, [&](const int l[], const bool own[]) {
    T *line[W::LINES];

#pragma unroll
    for (int h = 0; h < W::LINES; h++) { /* the face itself, for the way back */
      const int s = z.quotient(l[h]), e = l[h] - s * nodes;

      line[h] = me.Z(s, 0, e);
      if (own[h] && e > 0 && e <= me.width)
        for (int j = W::TILES ? threadIdx.x % 4 : 0; j < ny; j += W::TILES ? 4 : 1) *me.FZ(s, j, e - 1) = line[h][(j + 1) * me.g.frow];
    }
    PlaceFace<W>(me.y, mass, RIM_PLACE, line, me.g.frow, line, me.g.frow, own);
  });
}

/* stage 2 */
template <bool FLAT, class W>
static __device__ __forceinline__ void PlaceFaces2(const PlaceBlock<W> &me)
{
  using T          = typename W::REAL;
  const int     ny = me.y.n, nz = me.z.n;
  const Divisor z(nz), y(ny);
  int           tile = threadIdx.x / 32;

  if (!FLAT) {
    const typename W::Matrix modes(me.y, FACE_MODES);

    tile = EachTile<W>(tile, (me.row.count + 1) * nz, [&](const int l[], const bool own[]) {
      T *line[W::LINES];

#pragma unroll
      for (int h = 0; h < W::LINES; h++) {
        const int q = z.quotient(l[h]);

        line[h] = me.X(q, l[h] - q * nz, 0);
      }
      PlaceFace<W>(me.y, modes, MU_PLACE, line, 1, line, 1, own);
    });
  }
  /* 2 nz lines of y-faces, then 2 ny of z-faces, whose results stay clear of the ends that they share with the patches beside */
  EachPatchTile(me, tile, 2 * (FLAT ? ny : ny + nz), [&](int p, const int l[], const bool own[]) {
    const PlaceClass<W> mx = me.x(p);
    const int           c  = me.column(p);
    T                  *from[W::LINES], *to[W::LINES];

#pragma unroll
    for (int h = 0; h < W::LINES; h++) {
      const bool face = FLAT || l[h] >= 2 * nz; /* in z? */
      const int  m = face && !FLAT ? l[h] - 2 * nz : l[h], s = face ? y.quotient(m) : z.quotient(m), a = m - s * (face ? ny : nz);

      from[h] = face ? me.Z(s, a, c) : me.G(s, a, c);
      to[h]   = face ? me.Z(s, a, c + 1) : me.HY(s, a, c);
    }
    PlaceFace<W>(mx, typename W::Matrix(mx, MASS), RIM_PLACE, from, 1, to, 1, own);
  });
}

} // namespace patchfd
