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
static constexpr int plane_double[][2] = {{}, {}, {128, 1024}, {128, 1280}, {128, 1024}, {128, 896}, {128, 768}, {128, 640}, {128, 512}, {128, 512}, {128, 512}};
static constexpr int plane_float[][2]  = {{}, {}, {128, 2048}, {128, 1536}, {128, 1536}, {128, 1280}, {128, 1152}, {128, 896}, {128, 768}, {128, 768}, {128, 640}};

template <typename T, int K>
struct Plane {
  static constexpr int THREADS = sizeof(T) == 4 ? plane_float[K][0] : plane_double[K][0], BLOCKS = (sizeof(T) == 4 ? plane_float[K][1] : plane_double[K][1]) / THREADS;
  static constexpr int N = 2 * K - 1, C = N + 2, P = (THREADS - 1) / (2 * K), LINES = P * N;
  static constexpr int ROW = (P + 1) * C; /* of faces in y: node 2 K p + r at C p + r, an odd stride */
  /* places in shared memory */
  static constexpr int V = 0, X = V + N * LINES, F = X + N * (P + 1), H = F + 2 * ROW, SIZE = H + 2 * LINES;
};

/*
  An x-line, of mode j in y, to the solution's modes: v the right-hand side, h what the faces in y give (of the mode's parity), below and
  above the faces in x
*/
template <typename T, int K>
__device__ __forceinline__ void SolveLine(const PlaneMatrices<T, K> &m, int j, const T *h, T below, T above, T v[2 * K - 1], T out[2 * K - 1])
{
  const T alpha = m.d[1].alpha[j], sum = below + above, difference = below - above;

#pragma unroll
  for (int i = 0; i < 2 * K - 1; i++) v[i] -= alpha * h[i];
  ToModes<T, K>(m.d[0], v, out);
  Subtract<T, K>(m.d[0].alpha, sum, difference, out);
#pragma unroll
  for (int i = 0; i < 2 * K - 1; i++) out[i] *= __ldg(m.inverse + j * (2 * K - 1) + i);
  Subtract<T, K>(m.d[0].mu, sum, difference, out);
}

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
      const T *f = X + j * (P + 1) + q;

      SolveLine<T, K>(m, j, H + ((j < K ? 0 : P) + q) * N, f[0], f[1], v, w);
    } else {
      ToModes<T, K>(m.d[0], v, w);
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

/* ---- two colours that differ in x only ---- */

#ifndef PAIR_D
  #define PAIR_D {128, 1280}, {128, 1280}, {128, 1024}, {128, 896}, {128, 768}, {128, 640}, {128, 512}, {128, 512}, {128, 512}
#endif
#ifndef PAIR_F
  #define PAIR_F {128, 2048}, {128, 1536}, {128, 1536}, {128, 1280}, {128, 1152}, {128, 896}, {128, 768}, {128, 768}, {128, 640}
#endif
static constexpr int pair_double[][2] = {{}, {}, PAIR_D};
static constexpr int pair_float[][2]  = {{}, {}, PAIR_F};

template <typename T, int K>
struct PlanePair {
  static constexpr int THREADS = sizeof(T) == 4 ? pair_float[K][0] : pair_double[K][0], BLOCKS = (sizeof(T) == 4 ? pair_float[K][1] : pair_double[K][1]) / THREADS;
  static constexpr int N = 2 * K - 1, C = N + 2, P = (THREADS - K - 1) / C;
  static constexpr int COLUMNS = 2 * K * P + K, LINES = COLUMNS + P + 1; /* y-lines of a block: from the middle of the slot before on, faces */
  static constexpr int ROW = C * P + K + 1;                              /* column j from there lies at j + j / 2 K */
  /* places in shared memory */
  static constexpr int V = 0, X = V + N * ROW, F = X + N * (P + 1), H = F + 2 * ROW, SIZE = H + 4 * N * P;
};

/* Slots are patches of the first colour, and places where one would be beside a patch of the second one; P a block, `parts` blocks a row */
struct PlaneSlots {
  int slots, first, count, parts; /* slots of a row; which of them are patches */
  int *ready;                     /* a block's last middle is there */
};

template <typename T, int K>
__launch_bounds__(PlanePair<T, K>::THREADS, PlanePair<T, K>::BLOCKS) static __global__ void PlanePairKernel(const __grid_constant__ PlaneMatrices<T, K> m, const __grid_constant__ FastGeometry g, const __grid_constant__ PlaneSlots slots, bool boundary, T *middle, T *x, const T *__restrict__ b)
{
  using S         = PlanePair<T, K>;
  constexpr int N = S::N, C = S::C, P = S::P;
  extern __shared__ double shared_memory[];
  T              *sm = (T *)shared_memory, *V = sm + S::V, *X = sm + S::X, *F = sm + S::F, *H = sm + S::H;
  const int       t = threadIdx.x, part = blockIdx.x % slots.parts, slot0 = part * P, ns = min(P, slots.slots - slot0);
  const bool      last = part == slots.parts - 1;
  const int       o0 = g.first[0] + slot0 * 2 * K, o1 = g.first[1] + (int)(blockIdx.x / slots.parts) * 2 * K;
  const auto      patch = [&](int s) { return slot0 + s >= slots.first && slot0 + s < slots.first + slots.count; };
  /* the y-line */
  const bool      column = t < S::COLUMNS;
  const int       face = t - S::COLUMNS, i = column ? t - K : face * 2 * K, at = i + K + (i + K) / (2 * K);
  const ptrdiff_t corner = g.l.at(o0 + i, o1, g.first[2] + 1);
  T               v[N], w[N];

  {
    const bool of_x = !column || (t % (2 * K) == 0 && !patch(t / (2 * K) - 1)), here = t < S::LINES && Inside(g.read, 0, o0 + i);
    const T   *from = of_x ? x : b;
    T          a[C];

#pragma unroll
    for (int j = 1; j <= N; j++) a[j] = here && (boundary || !of_x) ? from[corner + j * g.l.row] : T(0);
    a[0]     = here && boundary && Inside(g.read, 1, o1) ? x[corner] : T(0);
    a[N + 1] = here && boundary && Inside(g.read, 1, o1 + 2 * K) ? x[corner + 2 * K * g.l.row] : T(0);
    if (column || face == P) {
      F[at]          = a[0] + a[N + 1];
      F[S::ROW + at] = a[0] - a[N + 1];
    }
    if (of_x) Mass<T, K>(m.d[1], a, v);
    else Load<T, N>(a + 1, 1, v);
  }
  ToModes<T, K>(m.d[1], v, w);
  if (column) Store<T, N>(w, V + at, S::ROW);
  else if (face <= P) Store<T, N>(w, X + face, P + 1);
  __syncthreads();
  if (t < 4 * P) {
    const bool second = t >= 2 * P;
    const T   *low = F + t / P % 2 * S::ROW + t % P * C + (second ? 0 : K), *high = low + (second ? 0 : 1);
    T          a[C];

    Load<T, K>(low, 1, a);
    Load<T, K>(high + K, 1, a + K);
    a[2 * K] = low[C];
    Mass<T, K>(m.d[0], a, w);
    Store<T, N>(w, H + t * N, 1);
  }
  __syncthreads();
#pragma unroll 1
  for (int second = 0; second < 2; second++) {
    const int q = t % P, j = t / P; /* slot, or the patch that ends in its middle; mode in y */

    if (j < N && q < ns && (second ? slot0 + q > 0 : patch(q))) {
      T *low = V + j * S::ROW + q * C + (second ? 0 : K), *high = low + (second ? 0 : 1), *f = X + j * (P + 1) + q;

#pragma unroll
      for (int r = 1; r <= N; r++) v[r - 1] = (r < K ? low : high)[r];
      SolveLine<T, K>(m, j, H + ((2 * second + (j < K ? 0 : 1)) * P + q) * N, second ? low[0] : f[0], second ? low[C] : f[1], v, w);
      ToNodes<T, K>(m.back, w, v);
#pragma unroll
      for (int r = 1; r <= N; r++)
        if (r == K || second || slot0 + q == (r < K ? 0 : slots.slots - 1)) (r < K ? low : high)[r] = v[r - 1];
      if (!second && q == P - 1 && !last) {
        middle[(size_t)blockIdx.x * N + j] = v[K - 1];
        __threadfence();
      }
    }
    __syncthreads();
    if (!second) {
      if (t == 0) {
        if (!last) atomicExch(slots.ready + blockIdx.x, 1);
        if (part) {
          while (!atomicAdd(slots.ready + blockIdx.x - 1, 0)) { }
          slots.ready[blockIdx.x - 1] = 0;
          __threadfence();
        }
      }
      __syncthreads();
      if (part && t < N) V[t * S::ROW] = __ldcg(middle + (size_t)(blockIdx.x - 1) * N + t);
      __syncthreads();
    }
  }
  const int begin = part ? 1 - K : (slots.first ? K + 1 : 1), end = last ? 2 * K * ns - (slots.first + slots.count < slots.slots ? K : 0) : 2 * K * P - K + 1;

  if (column && i >= begin && i < end) {
    ptrdiff_t row = g.l.row;

    asm volatile("" : "+l"(row)); /* else the compiler keeps the N offsets of b's line in registers for this one */
    Load<T, N>(V + at, S::ROW, w);
    Subtract<T, K>(m.d[1].mu, F[at], F[S::ROW + at], w);
    ToNodes<T, K>(m.d[1], w, v);
#pragma unroll
    for (int j = 0; j < N; j++) x[corner + (j + 1) * row] = v[j];
  }
}

template <typename T, int K>
struct SmootherPlaneDegree : SmootherFast {
  PlaneMatrices<T, K> m;
  T                  *inverse, *middle;
  int                *ready;
  size_t              blocks; /* of pairs, at most */

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

  PetscErrorCode pair(const FastGeometry &a, const FastGeometry &c, bool boundary, void *x, const void *b, cudaStream_t stream) override
  {
    using S = PlanePair<T, K>;
    const int    first = c.first[0] < a.first[0] ? 1 : 0, count = c.count[0] + 1;
    PlaneSlots   slots = {count, first, a.count[0], (count + S::P - 1) / S::P, ready};
    FastGeometry g     = a;

    PetscFunctionBegin;
    PetscCheck(first + a.count[0] <= count && first + a.count[0] >= count - 1 && c.first[0] == a.first[0] + (first ? -K : K) && (size_t)slots.parts * a.count[1] <= blocks, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Patches of the two colours do not alternate");
    g.first[0] -= first * 2 * K;
    PlanePairKernel<T, K><<<slots.parts * g.count[1], S::THREADS, S::SIZE * sizeof(T), stream>>>(m, g, slots, boundary, middle, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode destroy() override
  {
    PetscFunctionBegin;
    PetscCallCUDA(cudaFree(inverse));
    PetscCallCUDA(cudaFree(middle));
    PetscCallCUDA(cudaFree(ready));
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
static PetscErrorCode SmootherPlaneCreateDegree(const PatchFDSmootherDesc *desc, const PatchFDEigen *const e[3], SmootherFast **fast)
{
  using S = Plane<T, K>;
  using R = PlanePair<T, K>;
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
  p->rows   = true;
  p->blocks = (size_t)((desc->dir[0]->npatch / 2 + 2 + R::P - 1) / R::P) * (size_t)(desc->dir[1]->npatch / 2 + 1);
  PetscCallCUDA(cudaMalloc((void **)&p->middle, p->blocks * S::N * sizeof(T)));
  PetscCallCUDA(cudaMalloc((void **)&p->ready, p->blocks * sizeof(int)));
  PetscCallCUDA(cudaMemset(p->ready, 0, p->blocks * sizeof(int)));
  PetscCall(Upload(inverse.size(), inverse.data(), &p->inverse));
  p->m.inverse = p->inverse;
  PetscCall(AllowShared(PlaneKernel<T, K, true>, S::SIZE * sizeof(T)));
  PetscCall(AllowShared(PlaneKernel<T, K, false>, S::X * sizeof(T)));
  PetscCall(AllowShared(PlanePairKernel<T, K>, R::SIZE * sizeof(T)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the degrees of one file in one precision */
template <typename T, int LOW, int HIGH>
static PetscErrorCode SmootherPlaneCreateDegrees(int K, const PatchFDSmootherDesc *desc, const PatchFDEigen *const e[3], SmootherFast **fast)
{
  PetscFunctionBegin;
  if (K == LOW) PetscCall((SmootherPlaneCreateDegree<T, LOW>(desc, e, fast)));
  else if constexpr (LOW < HIGH) PetscCall((SmootherPlaneCreateDegrees<T, LOW + 1, HIGH>(K, desc, e, fast)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
