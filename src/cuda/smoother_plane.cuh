/*
  x_I = (1 - omega) x_I + omega (S S) u,  u = ((S' S') b_I - sum_f alpha_f (x) Y_f) / D - sum_f mu_f (x) W_f

  for equal patches with parity in 2D: smoother_fast.cuh with one direction less, and with its transforms of a line.  Faces are lines:

    to modes     y   subtract alpha_y H_y,  H_y = M_x F_y                      (x in nodes)
                 x   subtract alpha_x Y_x,  Y_x = [mu, T, mu]_y F_x
    divide by D;     subtract mu_x Y_x
    to nodes     y   subtract mu_y F_y                                         (at the unknowns)

  A block works on P patches of one colour that follow each other in x; there is little arithmetic, so what counts is to have many loads
  under way.  A thread owns a y-line (x fastest: coalesced), from b to x, and hands it over twice through shared memory, to the x-lines
  and back.  Stages, with a barrier between each two:

    1. loads of b's y-lines, of the faces in y (rows) and in x (columns, by the last threads); rows as sum and difference   F[s][node]
    2. y-lines to modes.  Columns to modes X[m][plane], rows times M: H[s][line], by a few threads
    3. alpha_y H_y; V[m][line]
    4. x-lines: to modes, x faces, 1 / D, back
    5. mu_y F_y, y-lines back, and to x.
*/
#pragma once
#include "smoother_fast.cuh"

namespace patchfd
{

template <typename T, int K>
struct PlaneMatrices {
  Halves<T, K> d[2];
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
  static constexpr int N = 2 * K - 1, C = N + 2, P = THREADS / N, LINES = P * N, NX = 2 * K * P + 1, ROUNDS = (NX + THREADS - 1) / THREADS;
  static constexpr int ROW = (P + 1) * C; /* of a face in y: node 2 K p + r at C p + r, an odd stride */
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
  const int       node = t / N * 2 * K + 1 + t % N; /* of the y-line */
  const bool      line = t < LINES, here = t < np * N;
  const ptrdiff_t corner = g.l.at(o0, o1, g.first[2] + 1), at = corner + node + g.l.row;
  T               v[N], w[N];

#pragma unroll
  for (int j = 0; j < N; j++) v[j] = here ? b[at + j * g.l.row] : T(0);
  if (BOUNDARY) {
    const int  c     = S::THREADS - 1 - t;
    const bool below = Inside(g.read, 1, o1), above = Inside(g.read, 1, o1 + 2 * K);
    T          face[S::ROUNDS][2], column[C];

#pragma unroll
    for (int r = 0; r < S::ROUNDS; r++) {
      const int  i      = t + r * S::THREADS;
      const bool inside = i <= np * 2 * K && Inside(g.read, 0, o0 + i);

      face[r][0] = inside && below ? x[corner + i] : T(0);
      face[r][1] = inside && above ? x[corner + i + 2 * K * g.l.row] : T(0);
    }
    if (c <= P) LoadClosure<T, C>(x, corner + c * 2 * K, g.l.row, c <= np && Inside(g.read, 0, o0 + c * 2 * K), below, above, column);
#pragma unroll
    for (int r = 0; r < S::ROUNDS; r++) {
      const int i = t + r * S::THREADS;

      if (i < S::NX) {
        F[i + i / (2 * K)]          = face[r][0] + face[r][1];
        F[S::ROW + i + i / (2 * K)] = face[r][0] - face[r][1];
      }
    }
    __syncthreads();
    if (c <= P) {
      FaceModes<T, K>(m.d[1], column + 1, w);
      Rim<T, K>(m.d[1], column[0], column[C - 1], w);
      Store<T, N>(w, X + c, P + 1);
    }
    if (t < 2 * P) {
      const T *from = F + t / P * S::ROW + t % P * C;

      Load<T, C - 1>(from, 1, column);
      column[C - 1] = from[C];
      Mass<T, K>(m.d[0], column, w);
      Store<T, N>(w, H + t * N, 1);
    }
  }
  ToModes<T, K>(m.d[1], v, w);
  if (BOUNDARY) {
    __syncthreads();
    if (line) Subtract<T, K>(m.d[1].alpha, H[t], H[LINES + t], w);
  }
  if (line) Store<T, N>(w, V + t, LINES);
  __syncthreads();
  if (line) {
    const int p = t % P, j = t / P; /* j: mode in y */
    T         inverse[N];

#pragma unroll
    for (int i = 0; i < N; i++) inverse[i] = __ldg(m.inverse + j * N + i);
    Load<T, N>(V + t * N, 1, v);
    ToModes<T, K>(m.d[0], v, w);
    if (BOUNDARY) {
      const T *f   = X + j * (P + 1) + p;
      const T  sum = f[0] + f[1], difference = f[0] - f[1];

      Subtract<T, K>(m.d[0].alpha, sum, difference, w);
#pragma unroll
      for (int i = 0; i < N; i++) w[i] *= inverse[i];
      Subtract<T, K>(m.d[0].mu, sum, difference, w);
    } else {
#pragma unroll
      for (int i = 0; i < N; i++) w[i] *= inverse[i];
    }
    ToNodes<T, K>(m.d[0], w, v);
    Store<T, N>(v, V + t * N, 1);
  }
  __syncthreads();
  if (here) {
    Load<T, N>(V + t, LINES, w);
    if (BOUNDARY) Subtract<T, K>(m.d[1].mu, F[node + t / N], F[S::ROW + node + t / N], w);
    ToNodes<T, K>(m.d[1], w, v);
#pragma unroll
    for (int j = 0; j < N; j++) {
      T *xj = x + at + j * g.l.row;

      *xj = beta == 0 ? omega * v[j] : beta * *xj + omega * v[j];
    }
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

  PetscLogDouble flops(bool boundary) const override
  {
    constexpr PetscLogDouble n = 2 * K - 1, line = n * (n + 1); /* parity halves the products and adds a fold */
    PetscLogDouble           f = 4 * n * line + 3 * n * n;

    if (boundary) {
      constexpr PetscLogDouble rim = 2 * n + 2, mass = 4 * (K - 1) * (K + 1) + 3 * K + 1, c = n + 2;

      /* a column (shared by two patches), rows as sum and difference; one product and difference each for alpha and mu */
      f += line + rim + 2 * c + 2 * mass + 8 * n * n;
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
