/* Of patches with matrices of their own (place.cu) what the faces need: x and b of a block's patches, and the stages on faces */
#pragma once
#include "smoother/place_residual.cuh"

namespace patchfd
{

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
