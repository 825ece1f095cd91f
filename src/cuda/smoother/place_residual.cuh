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

template <class W, bool FLAT>
__launch_bounds__(PLACE_THREADS, W::N <= 16 ? 2 : 1) static __global__
  void PlaceResidualKernel(const __grid_constant__ PlaceData<typename W::REAL> g, const __grid_constant__ PlaceShell shell,
                           const typename W::REAL *x, const typename W::REAL *b, typename W::REAL *r)
{
  using T = typename W::REAL;
  extern __shared__ int4 place_memory[];
  __shared__ PlaceRow    row;

  PlaceFindRow(g, shell, row);

  const PlaceBlock<W> me(g, row, (T *)place_memory);
  const int           ny = me.y.n, nz = me.z.n, cy = FLAT ? 1 : ny + 2, below = FLAT ? 0 : 1, nodes = me.width + 2, plane = g.rows * g.frow,
            tile     = threadIdx.x / 32;
  const int     o[3] = {me.first[0] - 1, me.first[1] - below, me.first[2] - 1};
  T            *P = me.sm, *Q = P + g.closure[2] * plane;
  const Divisor ey(nodes), yy(ny);

  EachNode(nodes, cy, nz + 2,
           [&](int e, int j, int k) { PlaceFetchNode(me, P + k * plane + j * g.frow + e, x, o[0] + e, o[1] + j, o[2] + k); });
  FetchWait();
  __syncthreads();
  {
    const PlaceProduct<W> z(me.z);

    EachTile<W>(tile, nodes * cy, [&](const int l[], const bool own[]) {
      T                 *p[W::LINES], *q[W::LINES], end[2][W::LINES];
      typename W::Values v;

#pragma unroll
      for (int h = 0; h < W::LINES; h++) {
        const int at = l[h] + ey.quotient(l[h]) * (g.frow - nodes);

        p[h] = P + at;
        q[h] = Q + at;
      }
      z.load(p, plane, v, end);
      W::wait();
      z.apply(false, end, v, p, own, plane);
      z.apply(true, end, v, q, own, plane);
    });
  }
  __syncthreads();
  if (!FLAT) {
    const PlaceProduct<W> y(me.y);

    EachTile<W>(tile, nodes * nz, [&](const int l[], const bool own[]) {
      T                 *p[W::LINES], *q[W::LINES], pend[2][W::LINES], qend[2][W::LINES];
      typename W::Values v, u;

#pragma unroll
      for (int h = 0; h < W::LINES; h++) {
        const int at = l[h] + ey.quotient(l[h]) * (plane - nodes);

        p[h] = P + at;
        q[h] = Q + at;
      }
      y.load(p, g.frow, u, pend);
      y.load(q, g.frow, v, qend);
      W::wait();
      y.both(qend, pend, v, u, q, own, g.frow);
      y.apply(false, pend, u, p, own, g.frow);
    });
    __syncthreads();
  }
  EachPatchTile(me, tile, ny * nz, [&](int patch, const int l[], const bool own[]) {
    const PlaceProduct<W> m(me.x(patch));
    const T               point = FLAT ? me.y.weight(LAMBDA, 0) : T(0); /* A_y of the point, whose mass is 1 */
    T                    *t[W::LINES], *s[W::LINES], *to[W::LINES], send[2][W::LINES], tend[2][W::LINES];
    typename W::Values    v, u;

#pragma unroll
    for (int h = 0; h < W::LINES; h++) {
      const int k = yy.quotient(l[h]), at = k * plane + (l[h] - k * ny) * g.frow + me.column(patch);

      t[h]  = P + at;
      s[h]  = Q + at;
      to[h] = s[h] + 1; /* clear of the patches beside */
    }
    m.load(s, 1, v, send);
    m.load(t, 1, u, tend);
    W::wait();
    if (FLAT) {
      v.add(point, u);
#pragma unroll
      for (int i = 0; i < 2 * W::LINES; i++) send[i / W::LINES][i % W::LINES] += point * tend[i / W::LINES][i % W::LINES];
    }
    m.both(send, tend, v, u, to, own, 1);
  });
  __syncthreads();
  const unsigned long long between = PlaceBetween(me);

  EachNode(me.width, ny, nz, [&](int c, int j, int k) {
    const int       node[3] = {me.first[0] + c, me.first[1] + j, me.first[2] + k};
    const ptrdiff_t at      = g.at(node[0], node[1], node[2]);

    if (!(between >> c & 1) && g.read.contains(node[0], node[1], node[2])) r[at] = b[at] - Q[k * plane + j * g.frow + c + 1];
  });
}

} // namespace patchfd
