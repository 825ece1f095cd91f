/*
  x_I = (1 - omega) x_I + omega (S S S) u,  u = ((S' S' S') b_I - sum_f alpha_f (x) Y_f) / D - sum_f mu_f (x) W_f

  for equal patches with parity in 3D, N = 2 K - 1 unknowns a direction, C = N + 2 nodes of the closure.

  With T = S' M_II and mu = S' M_{I,e} the faces' transforms are S' after a mass matrix, [mu, T, mu] = S' [M_{I,0}, M_II, M_{I,1}] = S' M,
  and S T = 1.  So a face in direction f can enter where the lines run in direction f, as one number a line, untransformed in the
  directions that come later on the way to modes and in those that have already been left on the way back:

    to modes     z   subtract alpha_z H_z,  H_z = M_x M_y F_z                  (x and y in nodes)
                 y   subtract alpha_y H_y,  H_y = M_x G_y,  G_y = [T]_z F_y    (x in nodes, z in modes)
                 x   subtract alpha_x Y_x,  Y_x = [T]_y [T]_z F_x
    divide by D;     subtract mu_x Y_x
    to nodes     y   subtract mu_y G_y      (at the unknowns)
                 z   subtract mu_z F_z      (at the unknowns)

  Opposite faces enter as their sum in even modes and as their difference in odd ones.

  A block of P N^2 threads (rounded up to warps) works on P patches of one colour that follow each other in x.  A thread owns a line of N
  values in registers and transforms it with the even and odd halves of the matrices as operands from the constant bank (kernel
  parameters, line.cuh); between directions the lines go through shared memory.  Stages, with a barrier between each two:

    1. z-lines of b, x fastest (coalesced), to modes in z.
       Faces (FaceTask): x-planes (P + 1 of them, patches share them), z-lines to modes     X[k][j'][plane]    j' in the closure
              y-planes, z-lines to modes: G_y                        G[s][k][p][i']     i' in the closure, s: sum, difference
              z-planes: F_z, and y-lines times M                     F[s][j][p][i],  Z[s][j][p][i']
    2. Faces (FacesOtherWay): x-planes, y-lines to modes, in place; H_y: HY[s][k][p][i]; H_z: in place of Z
    3. FaceZModes   alpha_z H_z;                                                            V[k][j][p N + i]
    4. YModes       y-lines to modes, alpha_y H_y.
    5. XSolve       x-lines to modes, x faces, 1 / D, x-lines back.
    6. YNodes       mu_y G_y, y-lines back.
    7. ZNodes       mu_z F_z, z-lines back, and to x.

  Lines that a thread owns in x begin at odd multiples of its number, so that there are no bank conflicts in any stage.
*/
#pragma once
#include "smoother/line.cuh"

namespace patchfd
{

template <typename T, int K>
struct FastMatrices {
  LineMatrices<T, K> d[3];
  const T           *inverse; /* 1 / D, [N][N][N], x fastest */
};

/* by degree: patches of a block, and threads of a multiprocessor (a bound for the compiler's registers); measured on an H200 */
static constexpr int packing_double[][2] = {{},       {},       {14, 1280}, {10, 1024}, {4, 1024}, {4, 704},
                                            {2, 512}, {1, 576}, {2, 512},   {1, 640},   {1, 384}};
static constexpr int packing_float[][2]  = {{},       {},       {14, 1280}, {10, 1280}, {6, 1280}, {3, 1024}, {2, 768},
                                            {2, 704}, {1, 512}, {1, 640},   {1, 384},   {1, 448},  {1, 544}};

template <typename T, int K>
struct Packing {
  static constexpr int N        = 2 * K - 1;
  static constexpr int P        = sizeof(T) == 4 ? packing_float[K][0] : packing_double[K][0],
                       RESIDENT = sizeof(T) == 4 ? packing_float[K][1] : packing_double[K][1];
  static constexpr int THREADS  = RoundUp(P * N * N, 32);
  static constexpr int BLOCKS   = RESIDENT < THREADS ? 1 : RESIDENT / THREADS;
};

template <typename T, int K>
struct Fast {
  static constexpr int  N = 2 * K - 1, C = N + 2, P = Packing<T, K>::P, THREADS = Packing<T, K>::THREADS, NX = 2 * K * P + 1;
  static constexpr bool HOLD = sizeof(T) == 4 && K <= 5; /* b's modes in z wait in registers for H_z, else in shared memory */
  /* places in shared memory */
  static constexpr int V = 0, X = V + P * N * N * N, G = X + (P + 1) * C * N, HY = G + 2 * N * P * C, Z = HY + 2 * N * P * N,
                       FZ = Z + 2 * N * P * C, SIZE = FZ + 2 * N * P * N;
};

/* ---- faces, stage 1: global memory to lines of modes in shared memory ---- */

/* a closure line of length C: zero where nothing may be read; `line` tells that for the other directions */
template <typename T, int C>
__device__ __forceinline__ void LoadClosure(const T *__restrict__ x, ptrdiff_t at, ptrdiff_t stride, bool line, bool below, bool above,
                                            T v[C])
{
#pragma unroll
  for (int i = 0; i < C; i++) v[i] = line && (i > 0 || below) && (i < C - 1 || above) ? x[at + i * stride] : T(0);
}

/* value of node i (of the block's nodes in x) of line L of closure lines: also the end of the line before it, if it is shared */
template <typename T, int K>
__device__ __forceinline__ void StoreClosure(T v, T *lines, int L, int i)
{
  using F     = Fast<T, K>;
  const int p = i / (2 * K), r = i % (2 * K);

  if (p < F::P) lines[(L * F::P + p) * F::C + r] = v;
  if (r == 0 && p > 0) lines[(L * F::P + p - 1) * F::C + 2 * K] = v;
}

/*
  One thread's task: a line of an x-plane; or the same line of both y-planes or both z-planes, as sum and difference.  For large K a
  task is only one of these two, to need fewer registers.  Each kind begins with a warp.
*/
template <typename T, int K>
struct FaceTask {
  using F                     = Fast<T, K>;
  static constexpr bool SPLIT = K >= 6;
  static constexpr int  X = (F::P + 1) * F::C, YZ = (SPLIT ? 2 : 1) * F::NX, Y0 = RoundUp(X, 32), Z0 = Y0 + RoundUp(YZ, 32), END = Z0 + YZ;

  /* kind: direction of the face, or -1 for nothing; i: plane or node in x; s: line in the plane, or which of sum and difference */
  int l, kind, i, s;
  T   a[F::C], b[F::C];

  /* only loads: they are under way while other work is done */
  __device__ __forceinline__ void load(const FastGeometry &g, const int o[3], int np, const T *__restrict__ x)
  {
    const int dir = l < Z0 ? 2 : 1; /* along the line */

    kind = -1;
    if (l < X) {
      kind = 0;
      i    = l % (F::P + 1);
      s    = l / (F::P + 1);
      LoadClosure<T, F::C>(x, g.l.at(o[0] + i * 2 * K, o[1] + s, o[2]), g.l.plane,
                           i <= np && Inside(g.read, 0, o[0] + i * 2 * K) && Inside(g.read, 1, o[1] + s), Inside(g.read, 2, o[2]),
                           Inside(g.read, 2, o[2] + 2 * K), a);
    } else if (l >= Y0 && l < END && (l < Y0 + YZ || l >= Z0)) {
      const int  face  = l < Z0 ? 1 : 2;
      const bool below = Inside(g.read, dir, o[dir]), above = Inside(g.read, dir, o[dir] + 2 * K);

      kind                 = face;
      i                    = (l - (face == 1 ? Y0 : Z0)) % F::NX;
      s                    = (l - (face == 1 ? Y0 : Z0)) / F::NX;
      const bool      line = i <= np * 2 * K && Inside(g.read, 0, o[0] + i);
      const ptrdiff_t at = g.l.at(o[0] + i, o[1], o[2]), along = face == 1 ? g.l.plane : g.l.row, across = face == 1 ? g.l.row : g.l.plane;

      LoadClosure<T, F::C>(x, at, along, line && Inside(g.read, face, o[face]), below, above, a);
      LoadClosure<T, F::C>(x, at + 2 * K * across, along, line && Inside(g.read, face, o[face] + 2 * K), below, above, b);
    }
  }

  /* to modes along the line, and to shared memory */
  __device__ __forceinline__ void store(const FastMatrices<T, K> &m, T *sm)
  {
    if (kind == 0) {
      T w[F::N];

      FaceModes(m.d[2], a, w);
      Store<T, F::N>(w, sm + F::X + s * (F::P + 1) + i, F::C * (F::P + 1));
    } else if (kind > 0) {
      if (SPLIT) {
#pragma unroll
        for (int k = 0; k < F::C; k++) a[k] = s ? a[k] - b[k] : a[k] + b[k];
        pair(m, sm, s, a);
      } else {
#pragma unroll
        for (int k = 0; k < F::C; k++) {
          const T v = a[k];

          a[k] = v + b[k];
          b[k] = v - b[k];
        }
        pair(m, sm, 0, a);
        pair(m, sm, 1, b);
      }
    }
  }

private:
  __device__ __forceinline__ void pair(const FastMatrices<T, K> &m, T *sm, int which, const T v[F::C])
  {
    T w[F::N];

    if (kind == 1) {
      FaceModes(m.d[2], v, w);
#pragma unroll
      for (int k = 0; k < F::N; k++) StoreClosure<T, K>(w[k], sm + F::G, which * F::N + k, i);
    } else {
      const int p = i / (2 * K), r = i % (2 * K);

      if (r) {
#pragma unroll
        for (int j = 0; j < F::N; j++) sm[F::FZ + ((which * F::N + j) * F::P + p) * F::N + r - 1] = v[j + 1];
      }
      Mass(m.d[1], v, w);
#pragma unroll
      for (int j = 0; j < F::N; j++) StoreClosure<T, K>(w[j], sm + F::Z, which * F::N + j, i);
    }
  }
};

/* ---- faces, stage 2: the other direction ---- */

/* a y-line of an x-plane to modes, in place */
template <typename T, int K>
__device__ __forceinline__ void XPlaneModes(const FastMatrices<T, K> &m, T *sm, int l)
{
  using F = Fast<T, K>;
  T *line = sm + F::X + l / (F::P + 1) * F::C * (F::P + 1) + l % (F::P + 1), v[F::C], w[F::N];

  Load<T, F::C>(line, F::P + 1, v);
  FaceModes(m.d[1], v, w);
  Store<T, F::N>(w, line, F::P + 1);
}

/* an x-line of the closure times M */
template <typename T, int K>
__device__ __forceinline__ void MassLine(const FastMatrices<T, K> &m, const T *from, T *to)
{
  T v[2 * K + 1], w[2 * K - 1];

  Load<T, 2 * K + 1>(from, 1, v);
  Mass(m.d[0], v, w);
  Store<T, 2 * K - 1>(w, to, 1);
}

template <typename T, int K>
__device__ __forceinline__ void FacesOtherWay(const FastMatrices<T, K> &m, T *sm)
{
  using F          = Fast<T, K>;
  constexpr int  N = F::N, X = (F::P + 1) * N, YZ = 2 * N * F::P;
  constexpr bool warps = RoundUp(X, 32) + RoundUp(YZ, 32) + YZ <= F::THREADS; /* each kind begins with a warp, if there are enough */
  constexpr int  Y0 = warps ? RoundUp(X, 32) : X, Z0 = Y0 + (warps ? RoundUp(YZ, 32) : YZ);

  for (int l = threadIdx.x; l < Z0 + YZ; l += F::THREADS) {
    if (l < X) XPlaneModes(m, sm, l);
    else if (l >= Y0 && l < Y0 + YZ) MassLine(m, sm + F::G + (l - Y0) * F::C, sm + F::HY + (l - Y0) * N);
    else if (l >= Z0) MassLine(m, sm + F::Z + (l - Z0) * F::C, sm + F::Z + (l - Z0) * F::C);
  }
}

/* ---- volume ---- */

/* the lines that a thread owns; `row` is y or a mode in z, lx is x in all patches of the block */
template <typename T, int K>
struct FastThread {
  using F                = Fast<T, K>;
  static constexpr int N = F::N, LINES = F::P * N * N;

  T   *sm, *V;
  int  t, np; /* patches of the block that exist */
  int  lx, row;
  bool line, here; /* is there a line for this thread, and in a patch that exists? */

  __device__ __forceinline__ FastThread(const FastGeometry &g, T *shared) :
    sm(shared), V(shared + F::V), t(threadIdx.x), np(min(F::P, g.count[0] - (int)blockIdx.x * F::P)), lx(t % (F::P * N)),
    row(t / (F::P * N)), line(t < LINES), here(line && lx / N < np)
  {
  }

  /* first unknown of the z-line */
  __device__ __forceinline__ ptrdiff_t node(const FastGeometry &g, const int o[3]) const
  {
    return g.l.at(o[0] + lx / N * 2 * K + 1 + lx % N, o[1] + 1 + row, o[2] + 1);
  }
  __device__ __forceinline__ T *zline() const { return V + t; }
  __device__ __forceinline__ T *yline() const { return V + row * LINES + lx; }
  __device__ __forceinline__ T *xline() const { return V + t * N; } /* patch fastest */
};

/* w: modes of the z-line, here or in V */
template <typename T, int K>
__device__ __forceinline__ void FaceZModes(const FastMatrices<T, K> &m, const FastThread<T, K> &me, T w[2 * K - 1])
{
  using F    = Fast<T, K>;
  const T *h = me.sm + F::Z + (me.row * F::P + me.lx / F::N) * F::C + me.lx % F::N;

  if (!F::HOLD) Load<T, F::N>(me.zline(), me.LINES, w);
  Subtract<T, K>(m.d[2].alpha, h[0], h[F::N * F::P * F::C], w);
  Store<T, F::N>(w, me.zline(), me.LINES);
}

template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void YModes(const FastMatrices<T, K> &m, const FastThread<T, K> &me)
{
  using F         = Fast<T, K>;
  constexpr int N = F::N;
  T             v[N], w[N];

  Load<T, N>(me.yline(), F::P * N, v);
  ToModes(m.d[1].S, v, w);
  if (BOUNDARY) {
    const T *h = me.sm + F::HY + me.row * F::P * N + me.lx;

    Subtract<T, K>(m.d[1].alpha, h[0], h[N * F::P * N], w);
  }
  Store<T, N>(w, me.yline(), F::P * N);
}

template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void XSolve(const FastMatrices<T, K> &m, const FastThread<T, K> &me)
{
  using F         = Fast<T, K>;
  constexpr int N = F::N;
  const int     p = me.t % F::P, j = me.t / F::P % N, k = me.t / F::P / N;
  T             v[N], w[N], inverse[N];

#pragma unroll
  for (int i = 0; i < N; i++) inverse[i] = __ldg(m.inverse + (k * N + j) * N + i);
  Load<T, N>(me.xline(), 1, v);
  ToModes(m.d[0].S, v, w);

  const T *x   = me.sm + F::X + (k * F::C + j) * (F::P + 1) + p;
  const T  sum = BOUNDARY ? x[0] + x[1] : T(0), difference = BOUNDARY ? x[0] - x[1] : T(0);

  if (BOUNDARY) Subtract<T, K>(m.d[0].alpha, sum, difference, w);
#pragma unroll
  for (int i = 0; i < N; i++) w[i] *= inverse[i];
  if (BOUNDARY) Subtract<T, K>(m.d[0].mu, sum, difference, w);
  ToNodes(m.d[0].S, w, v);
  Store<T, N>(v, me.xline(), 1);
}

template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void YNodes(const FastMatrices<T, K> &m, const FastThread<T, K> &me)
{
  using F         = Fast<T, K>;
  constexpr int N = F::N;
  T             v[N], w[N];

  Load<T, N>(me.yline(), F::P * N, w);
  if (BOUNDARY) {
    const T *f = me.sm + F::G + (me.row * F::P + me.lx / N) * F::C + 1 + me.lx % N;

    Subtract<T, K>(m.d[1].mu, f[0], f[N * F::P * F::C], w);
  }
  ToNodes(m.d[1].S, w, v);
  Store<T, N>(v, me.yline(), F::P * N);
}

template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void ZNodes(const FastMatrices<T, K> &m, const FastThread<T, K> &me, ptrdiff_t at, ptrdiff_t plane, T omega,
                                       T beta, T *x)
{
  using F         = Fast<T, K>;
  constexpr int N = F::N;
  T             v[N], w[N];

  Load<T, N>(me.zline(), me.LINES, w);
  if (BOUNDARY) {
    const T *f = me.sm + F::FZ + me.row * F::P * N + me.lx;

    Subtract<T, K>(m.d[2].mu, f[0], f[N * F::P * N], w);
  }
  ToNodes(m.d[2].S, w, v);
#pragma unroll
  for (int k = 0; k < N; k++) {
    T *xk = x + at + k * plane;

    *xk = beta == 0 ? omega * v[k] : beta * *xk + omega * v[k];
  }
}

template <typename T, int K, bool BOUNDARY>
__launch_bounds__(Packing<T, K>::THREADS, Packing<T, K>::BLOCKS) static __global__
  void FastKernel(const __grid_constant__ FastMatrices<T, K> m, const __grid_constant__ FastGeometry g, T omega, T beta, T *x,
                  const T *__restrict__ b)
{
  using F                    = Fast<T, K>;
  constexpr int            N = F::N;
  extern __shared__ double shared_memory[];
  const FastThread<T, K>   me(g, (T *)shared_memory);
  /* node below the first unknown */
  const int       o[3] = {g.first[0] + (int)blockIdx.x * F::P * 2 * K, g.first[1] + (int)blockIdx.y * 2 * K,
                          g.first[2] + (int)blockIdx.z * 2 * K};
  const ptrdiff_t at   = me.node(g, o);
  T               v[N], w[N];
  FaceTask<T, K>  task;

#pragma unroll
  for (int k = 0; k < N; k++) v[k] = me.here ? b[at + k * g.l.plane] : T(0);
  if (BOUNDARY) {
    task.l = me.t;
    task.load(g, o, me.np, x);
  }
  if (me.line) {
    ToModes(m.d[2].S, v, w);
    if (!BOUNDARY || !F::HOLD) Store<T, N>(w, me.zline(), me.LINES);
  }
  if (BOUNDARY) {
    for (;;) {
      task.store(m, me.sm);
      task.l += F::THREADS;
      if (task.l >= task.END) break;
      task.load(g, o, me.np, x);
    }
    __syncthreads();
    FacesOtherWay(m, me.sm);
    __syncthreads();
    if (me.line) FaceZModes(m, me, w);
  }
  __syncthreads();
  if (me.line) YModes<BOUNDARY>(m, me);
  __syncthreads();
  if (me.line) XSolve<BOUNDARY>(m, me);
  __syncthreads();
  if (me.line) YNodes<BOUNDARY>(m, me);
  __syncthreads();
  if (me.here) ZNodes<BOUNDARY>(m, me, at, g.l.plane, omega, beta, x);
}

/* of one patch */
template <int K>
static PetscLogDouble FastFlops(bool boundary)
{
  constexpr PetscLogDouble n = 2 * K - 1, line = n * (n + 1); /* parity halves the products and adds a fold */
  PetscLogDouble           f = 6 * n * n * line + 3 * n * n * n;

  if (boundary) {
    constexpr PetscLogDouble rim = 2 * n + 2, mass = 4 * (K - 1) * (K + 1) + 3 * K + 1, c = n + 2;

    /* x-planes (shared by two patches), y-planes, z-planes, sums and differences; one product and difference each for alpha and mu */
    f += c * (line + rim) + n * (line + rim) + 2 * c * (line + rim) + 2 * n * mass + 2 * c * mass + 2 * n * mass + 4 * c * c;
    f += 12 * n * n * n;
  }
  return f;
}

/* ---- launch ---- */

template <typename T, int K>
struct FastSmoother : SmootherFast {
  FastMatrices<T, K> m;
  PlanMemory         memory;

  PetscErrorCode create(const PatchFDEigen *const e[3])
  {
    using F         = Fast<T, K>;
    constexpr int n = F::N;

    PetscFunctionBegin;
    for (int d = 0; d < 3; d++) m.d[d].set(e[d]);
    PetscCall(UploadInverse(n, n, n, e, &memory, &m.inverse));
    PetscCall(AllowShared(FastKernel<T, K, true>, F::SIZE * sizeof(T)));
    PetscCall(AllowShared(FastKernel<T, K, false>, F::X * sizeof(T)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const FastGeometry &g, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                       cudaStream_t stream) override
  {
    using F = Fast<T, K>;
    const dim3 grid((g.count[0] + F::P - 1) / F::P, g.count[1], g.count[2]);

    PetscFunctionBegin;
    if (boundary) FastKernel<T, K, true><<<grid, F::THREADS, F::SIZE * sizeof(T), stream>>>(m, g, (T)omega, (T)beta, (T *)x, (const T *)b);
    else FastKernel<T, K, false><<<grid, F::THREADS, F::X * sizeof(T), stream>>>(m, g, (T)omega, (T)beta, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscLogDouble flops(bool boundary, bool) const override { return FastFlops<K>(boundary); }
};

} // namespace patchfd
