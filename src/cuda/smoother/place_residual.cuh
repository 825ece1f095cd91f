/* The residual of patches with matrices of their own (place.cu), patch by patch: what `separate` computes before it solves */
#pragma once
#include "smoother/place_block.cuh"

namespace patchfd
{

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

} // namespace patchfd
