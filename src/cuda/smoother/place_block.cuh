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

} // namespace patchfd
