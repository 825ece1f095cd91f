/* Of the fast kernels by quadrature (fast.cuh) the factors at the points of a line: stored, on their way, or computed */
#pragma once
#include "base/fetch.cuh"
#include "points/shape.cuh"

namespace patchfd
{

/* ---- factors ---- */

template <typename T>
struct Vector3 {
  T x, y, z;

  __device__ __forceinline__ T       dot(const Vector3 &b) const { return x * b.x + y * b.y + z * b.z; }
  __device__ __forceinline__ Vector3 cross(const Vector3 &b) const { return {y * b.z - z * b.y, z * b.x - x * b.z, x * b.y - y * b.x}; }
  __device__ __forceinline__ Vector3 plus(T s, const Vector3 &b) const { return {x + s * b.x, y + s * b.y, z + s * b.z}; }
};

/* values g[3] (own, a, b) and u at a point become fluxes, factors from memory.  Returns what the point adds to u'A u */
template <typename S, typename T>
struct PointsStored {
  const T *f;
  int      level;

  __device__ __forceinline__      PointsStored(const PointsArguments<T> &a, const T *f) : f(f), level(a.numbers * S::LANES) { }
  __device__ __forceinline__ T    number(int i, int m) const { return __ldcs(f + i * level + m * S::LANES); }
  __device__ __forceinline__ T    mass(const PointsArguments<T> &a, int i) const { return number(i, a.numbers - 1); }
  __device__ __forceinline__ void flux(const PointsArguments<T> &a, int i, T g[3]) const
  {
    constexpr int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    T             G[6], in[3];

#pragma unroll
    for (int m = 0; m < 6; m++) G[m] = number(i, m);
#pragma unroll
    for (int d = 0; d < 3; d++) in[d] = g[(d + 3 - S::OWN) % 3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
      constexpr int own = S::OWN;

      g[(d + 3 - own) % 3] = G[at[d][0]] * in[0] + G[at[d][1]] * in[1] + G[at[d][2]] * in[2];
    }
  }
};

/* factors of masses that have been fetched to shared memory */
template <typename S, typename T>
struct PointsFetched {
  const T *f;

  __device__ __forceinline__ T mass(const PointsArguments<T> &, int i) const { return f[i * S::THREADS]; }
};

/* the same from the map of the cell: tangents x_a and x_b are linear along the line, x_own is constant */
template <typename S, typename T>
struct PointsComputed {
  using V = Vector3<T>;
  V pa, qa, pb, qb, o;
  T w; /* weight */

  static __device__ __forceinline__ V vector(const T *X, int m) { return {X[3 * m], X[3 * m + 1], X[3 * m + 2]}; }

  __device__ __forceinline__ PointsComputed(const PointsArguments<T> &arg, const T *geometry, int p, int q)
  {
    constexpr int mixed[3] = {4, 5, 3}; /* bilinear terms are without direction 0, 1, 2 */
    const T       a = arg.point[p], b = arg.point[q];
    const V       all = vector(geometry, 6), oa = vector(geometry, mixed[S::B]), ob = vector(geometry, mixed[S::A]),
            ab = vector(geometry, mixed[S::OWN]);

    w  = arg.weight[p] * arg.weight[q];
    qa = oa.plus(b, all);
    qb = ob.plus(a, all);
    o  = vector(geometry, S::OWN).plus(a, oa).plus(b, qb);
    pa = vector(geometry, S::A).plus(b, ab);
    pb = vector(geometry, S::B).plus(a, ab);
  }
  __device__ __forceinline__ T mass(const PointsArguments<T> &arg, int i) const
  {
    const T s = arg.point[i];

    return arg.s * arg.weight[i] * w * o.dot(pa.plus(s, qa).cross(pb.plus(s, qb)));
  }
  /* with C the cofactors, C_own = x_a x x_b and so on, and t = K C g / |J|: C't = x_a x x_b . t, x_b . (x_own x t), -x_a . (x_own x t) */
  __device__ __forceinline__ void flux(const PointsArguments<T> &arg, int i, T g[3]) const
  {
    const T  s  = arg.point[i];
    const V  xa = pa.plus(s, qa), xb = pb.plus(s, qb), co = xa.cross(xb);
    const T  r = arg.weight[i] * w * ReciprocalOrZero(o.dot(co));
    V        t = V{g[1] * xb.x - g[2] * xa.x, g[1] * xb.y - g[2] * xa.y, g[1] * xb.z - g[2] * xa.z}.cross(o).plus(g[0], co);
    const T *K = arg.K;

    if (arg.tensor)
      t = {r * (K[0] * t.x + K[1] * t.y + K[2] * t.z), r * (K[1] * t.x + K[3] * t.y + K[4] * t.z),
           r * (K[2] * t.x + K[4] * t.y + K[5] * t.z)};
    else t = {r * K[0] * t.x, r * K[0] * t.y, r * K[0] * t.z};
    const V ot = o.cross(t);

    g[0] = co.dot(t);
    g[1] = xb.dot(ot);
    g[2] = -xa.dot(ot);
  }
};

/* the mass alone from the determinant, a quadratic polynomial along a line in x; the square roots of the weights are in the matrices */
template <typename T>
struct PointsQuadratic {
  T d[3];

  __device__ __forceinline__ T mass(const PointsArguments<T> &arg, int i) const
  {
    return d[0] + arg.point[i] * (d[1] + arg.point[i] * d[2]);
  }
};

/* lines of one place in y */
template <typename T>
struct PointsDeterminant {
  T e[3][3]; /* [t][r] */

  __device__ __forceinline__ PointsDeterminant(const PointsArguments<T> &arg, const T *determinant, int p)
  {
    const T s = arg.point[p];

#pragma unroll
    for (int t = 0; t < 3; t++)
#pragma unroll
      for (int r = 0; r < 3; r++) e[t][r] = determinant[9 * t + r] + s * (determinant[9 * t + 3 + r] + s * determinant[9 * t + 6 + r]);
  }
  __device__ __forceinline__ PointsQuadratic<T> line(const PointsArguments<T> &arg, int q) const
  {
    const T            t = arg.point[q];
    PointsQuadratic<T> l;

#pragma unroll
    for (int r = 0; r < 3; r++) l.d[r] = e[0][r] + t * (e[1][r] + t * e[2][r]);
    return l;
  }
};

} // namespace patchfd
