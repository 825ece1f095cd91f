/*
  x_I = (1 - omega) x_I + omega (S S) u,  u = ((S' S') b_I - sum_f alpha_f (x) Y_f) / D - sum_f mu_f (x) W_f

  for equal patches with parity in 2D: smoother_fast.cuh with one direction less, and with its transforms of a line.  Faces are lines:

    to modes     y
                 x   subtract alpha_y H_y before,  H_y = M_x F_y               (x in nodes)
                     subtract alpha_x Y_x after,   Y_x = [S']_y M_y F_x        (like a line of b)
    divide by D;     subtract mu_x Y_x
    to nodes     y   subtract mu_y F_y before                                  (at the unknowns)

  A block works on P patches of one colour that follow each other in x.  There is little arithmetic, so what counts is to have many loads
  under way: a thread owns a y-line of b, or of x in a face in x, with both ends in the faces in y (x fastest: coalesced), and hands it
  over twice through shared memory, to the x-lines and back.  Stages, with a barrier between each two:

    1. loads; y-lines to modes, those of faces after M_y; V[m][line], X[m][face]; faces in y as sum and difference F[s][node]
    2. a few threads: M_x to faces in y, H[s][line]
    3. x-lines: faces in y; to modes, faces in x, 1 / D, back
    4. faces in y, y-lines back, and to x
*/
#pragma once
#include "smoother_fast.cuh"

namespace patchfd
{

template <typename T, int K>
struct PlaneMatrices {
  Halves<T, K> d[2];
  Halves<T, K> back; /* d[0] once more: else the compiler keeps its numbers in registers until they are needed again */
  const T     *inverse; /* 1 / D, [N][N], x fastest */
};

/* by degree: threads of a block, and of a multiprocessor (a bound for the compiler's registers); measured on an H200 */
#ifndef PLANE_D
  #define PLANE_D {128, 1024}, {128, 1280}, {128, 1024}, {128, 896}, {128, 768}, {128, 640}, {128, 512}, {128, 512}, {128, 512}
#endif
#ifndef PLANE_F
  #define PLANE_F {128, 2048}, {128, 1536}, {128, 1536}, {128, 1280}, {128, 1280}, {128, 1024}, {128, 1024}, {128, 896}, {128, 896}
#endif
static constexpr int plane_double[][2] = {{}, {}, PLANE_D};
static constexpr int plane_float[][2]  = {{}, {}, PLANE_F};

template <typename T, int K>
struct Plane {
  static constexpr int THREADS = sizeof(T) == 4 ? plane_float[K][0] : plane_double[K][0], BLOCKS = (sizeof(T) == 4 ? plane_float[K][1] : plane_double[K][1]) / THREADS;
  static constexpr int N = 2 * K - 1, C = N + 2, P = (THREADS - 1) / (2 * K), LINES = P * N;
  static constexpr int ROW = (P + 1) * C; /* of faces in y: node 2 K p + r at C p + r, an odd stride */
  /* places in shared memory */
  static constexpr int V = 0, X = V + N * LINES, F = X + N * (P + 1), H = F + 2 * ROW, SIZE = H + 2 * LINES;
};

template <typename T, int K, bool BOUNDARY>
__launch_bounds__(Plane<T, K>::THREADS, Plane<T, K>::BLOCKS) static __global__ void PlaneKernel(const __grid_constant__ PlaneMatrices<T, K> m, const __grid_constant__ FastGeometry g, int groups, T omega, T beta, T *x, const T *__restrict__ b)
{
  using S         = Plane<T, K>;
  constexpr int N = S::N, C = S::C, P = S::P, LINES = S::LINES;
  extern __shared__ double shared_memory[];
  T              *sm = (T *)shared_memory, *V = sm + S::V, *X = sm + S::X, *F = sm + S::F, *H = sm + S::H;
  const int       t = threadIdx.x, group = blockIdx.x % groups, np = min(P, g.count[0] - group * P);
  const int       o0 = g.first[0] + group * P * 2 * K, o1 = g.first[1] + (int)(blockIdx.x / groups) * 2 * K;
  const bool      line = t < LINES, here = t < np * N;
  const int       p = line ? t / N : t - LINES, node = p * 2 * K + (line ? 1 + t % N : 0); /* of the y-line: first unknowns, then faces */
  const ptrdiff_t corner = g.l.at(o0 + node, o1, g.first[2] + 1);
  T               v[N], w[N];

  if (BOUNDARY) {
    const bool face = !line && p <= np && Inside(g.read, 0, o0 + node);
    const T   *from = face ? x : b;
    T          a[C];

#pragma unroll
    for (int j = 1; j <= N; j++) a[j] = here || face ? from[corner + j * g.l.row] : T(0);
    a[0]     = (here || face) && Inside(g.read, 1, o1) ? x[corner] : T(0);
    a[N + 1] = (here || face) && Inside(g.read, 1, o1 + 2 * K) ? x[corner + 2 * K * g.l.row] : T(0);
    if (p <= P) {
      F[node + p]          = a[0] + a[N + 1];
      F[S::ROW + node + p] = a[0] - a[N + 1];
    }
    if (line) Load<T, N>(a + 1, 1, v);
    else Mass<T, K>(m.d[1], a, v);
  } else {
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = here ? b[corner + (j + 1) * g.l.row] : T(0);
  }
  ToModes<T, K>(m.d[1], v, w);
  if (line) Store<T, N>(w, V + t, LINES);
  else if (BOUNDARY && p <= P) Store<T, N>(w, X + p, P + 1);
  __syncthreads();
  if (BOUNDARY) {
    if (t < 2 * P) {
      const T *from = F + t / P * S::ROW + t % P * C;
      T        a[C];

      Load<T, C - 1>(from, 1, a);
      a[C - 1] = from[C];
      Mass<T, K>(m.d[0], a, w);
      Store<T, N>(w, H + t * N, 1);
    }
    __syncthreads();
  }
  if (line) {
    const int q = t % P, j = t / P; /* patch, mode in y */

    Load<T, N>(V + t * N, 1, v);
    if (BOUNDARY) {
      const T *h = H + ((j < K ? 0 : P) + q) * N, alpha = m.d[1].alpha[j];

#pragma unroll
      for (int i = 0; i < N; i++) v[i] -= alpha * h[i];
    }
    ToModes<T, K>(m.d[0], v, w);
    if (BOUNDARY) {
      const T *f   = X + j * (P + 1) + q;
      const T  sum = f[0] + f[1], difference = f[0] - f[1];

      Subtract<T, K>(m.d[0].alpha, sum, difference, w);
#pragma unroll
      for (int i = 0; i < N; i++) w[i] *= __ldg(m.inverse + j * N + i);
      Subtract<T, K>(m.d[0].mu, sum, difference, w);
    } else {
#pragma unroll
      for (int i = 0; i < N; i++) w[i] *= __ldg(m.inverse + j * N + i);
    }
    ToNodes<T, K>(m.back, w, v);
    Store<T, N>(v, V + t * N, 1);
  }
  T         old[N];
  ptrdiff_t row = g.l.row;

  asm volatile("" : "+l"(row)); /* else the compiler keeps the N offsets of b's line in registers for this one */
#pragma unroll
  for (int j = 0; j < N; j++) old[j] = here && beta != 0 ? x[corner + (j + 1) * row] : T(0);
  __syncthreads();
  if (here) {
    Load<T, N>(V + t, LINES, w);
    if (BOUNDARY) Subtract<T, K>(m.d[1].mu, F[node + p], F[S::ROW + node + p], w);
    ToNodes<T, K>(m.d[1], w, v);
#pragma unroll
    for (int j = 0; j < N; j++) x[corner + (j + 1) * row] = beta * old[j] + omega * v[j];
  }
}

template <typename T, int K>
struct SmootherPlaneDegree : SmootherFast {
  PlaneMatrices<T, K> m;
  T                  *inverse;

  PetscErrorCode apply(const FastGeometry &g, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b, cudaStream_t stream) override
  {
    using S          = Plane<T, K>;
    const int groups = (g.count[0] + S::P - 1) / S::P;

    PetscFunctionBegin;
    if (boundary) PlaneKernel<T, K, true><<<groups * g.count[1], S::THREADS, S::SIZE * sizeof(T), stream>>>(m, g, groups, (T)omega, (T)beta, (T *)x, (const T *)b);
    else PlaneKernel<T, K, false><<<groups * g.count[1], S::THREADS, S::X * sizeof(T), stream>>>(m, g, groups, (T)omega, (T)beta, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode destroy() override
  {
    PetscFunctionBegin;
    PetscCallCUDA(cudaFree(inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscLogDouble flops(bool boundary, bool) const override
  {
    constexpr PetscLogDouble n = 2 * K - 1, line = n * (n + 1); /* parity halves the products and adds a fold */
    PetscLogDouble           f = 4 * n * line + 3 * n * n;

    if (boundary) {
      constexpr PetscLogDouble mass = 4 * (K - 1) * (K + 1) + 3 * K + 1, c = n + 2;

      /* a face in x (shared by two patches), those in y as sum and difference; one product and difference each for alpha and mu */
      f += line + mass + 2 * c + 2 * mass + 8 * n * n;
    }
    return f;
  }
};

template <typename T, int K>
static PetscErrorCode SmootherPlaneCreateDegree(const PatchFDEigen *const e[3], SmootherFast **fast)
{
  using S = Plane<T, K>;
  SmootherPlaneDegree<T, K> *p = new SmootherPlaneDegree<T, K>;
  std::vector<PetscReal>     inverse(S::N * S::N);

  PetscFunctionBegin;
  *fast = p;
  for (int d = 0; d < 2; d++) p->m.d[d].set(e[d]);
  p->m.back.set(e[0]);
  for (int i = 0; i < S::N * S::N; i++) {
    const PetscReal D = e[0]->lambda[i % S::N] + e[1]->lambda[i / S::N] + e[2]->lambda[0];

    inverse[i] = D == 0 ? 0 : 1 / D;
  }
  PetscCall(Upload(inverse.size(), inverse.data(), &p->inverse));
  p->m.inverse = p->inverse;
  PetscCall(AllowShared(PlaneKernel<T, K, true>, S::SIZE * sizeof(T)));
  PetscCall(AllowShared(PlaneKernel<T, K, false>, S::X * sizeof(T)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the degrees of one file in one precision */
template <typename T, int LOW, int HIGH>
static PetscErrorCode SmootherPlaneCreateDegrees(int K, const PatchFDEigen *const e[3], SmootherFast **fast)
{
  PetscFunctionBegin;
  if (K == LOW) PetscCall((SmootherPlaneCreateDegree<T, LOW>(e, fast)));
  else if constexpr (LOW < HIGH) PetscCall((SmootherPlaneCreateDegrees<T, LOW + 1, HIGH>(K, e, fast)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
