/*
  x_I = (1 - omega) x_I + omega (S S) u,  u = ((S' S') b_I - sum_f alpha_f (x) Y_f) / D - sum_f mu_f (x) W_f

  for equal patches with parity in 2D: fast.cuh with one direction less, and with its transforms of a line.  Faces are lines:

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
#include "base/dispatch.cuh"
#include "smoother/line.cuh"

namespace patchfd
{

template <typename T, int K>
struct PlaneMatrices {
  LineMatrices<T, K> d[2];
  Halves<T, K>       back;    /* d[0].S once more: else the compiler keeps its numbers in registers until they are needed again */
  const T           *inverse; /* 1 / D, [N][N], x fastest */
};

/* by degree: threads of a block, and of a multiprocessor (a bound for the compiler's registers); measured on an H200 */
static constexpr int plane_double[][2] = {{},         {},         {128, 1024}, {128, 1280}, {128, 1024}, {128, 896},
                                          {128, 768}, {128, 640}, {128, 512},  {128, 512},  {128, 512}};
static constexpr int plane_float[][2]  = {{},          {},          {128, 2048}, {128, 1536}, {128, 1536}, {128, 1280},
                                          {128, 1280}, {128, 1024}, {128, 1024}, {128, 896},  {128, 896}};

template <typename T, int K>
struct Plane {
  static constexpr int THREADS = sizeof(T) == 4 ? plane_float[K][0] : plane_double[K][0],
                       BLOCKS  = (sizeof(T) == 4 ? plane_float[K][1] : plane_double[K][1]) / THREADS;
  static constexpr int N = 2 * K - 1, C = N + 2, P = (THREADS - 1) / (2 * K), LINES = P * N;
  static constexpr int ROW = (P + 1) * C; /* of faces in y: node 2 K p + r at C p + r, an odd stride */
  /* places in shared memory */
  static constexpr int V = 0, X = V + N * LINES, F = X + N * (P + 1), H = F + 2 * ROW, SIZE = H + 2 * LINES;
};

/* the y-lines of a block, which a thread owns: first those of unknowns, then those of faces in x */
template <typename T, int K>
struct PlaneThread {
  using S = Plane<T, K>;
  int  t, np;      /* np: patches of the block that exist */
  bool line, here; /* a line of unknowns, in a patch that exists? */
  int  p, node;    /* patch, node in x */

  __device__ __forceinline__ PlaneThread(int count) :
    t(threadIdx.x), np(min(S::P, count)), line(t < S::LINES), here(t < np * S::N), p(line ? t / S::N : t - S::LINES),
    node(p * 2 * K + (line ? 1 + t % S::N : 0))
  {
  }
};

/* stage 1 with faces: v is the line, F its ends */
template <typename T, int K>
__device__ __forceinline__ void PlaneLoad(const PlaneMatrices<T, K> &m, const PlaneThread<T, K> &me, const FastGeometry &g, int o0, int o1,
                                          ptrdiff_t corner, const T *x, const T *b, T *F, T v[2 * K - 1])
{
  using S            = Plane<T, K>;
  constexpr int N    = S::N;
  const bool    face = !me.line && me.p <= me.np && Inside(g.read, 0, o0 + me.node);
  const T      *from = face ? x : b;
  T             a[S::C];

#pragma unroll
  for (int j = 1; j <= N; j++) a[j] = me.here || face ? from[corner + j * g.l.row] : T(0);
  a[0]     = (me.here || face) && Inside(g.read, 1, o1) ? x[corner] : T(0);
  a[N + 1] = (me.here || face) && Inside(g.read, 1, o1 + 2 * K) ? x[corner + 2 * K * g.l.row] : T(0);
  if (me.p <= S::P) {
    F[me.node + me.p]          = a[0] + a[N + 1];
    F[S::ROW + me.node + me.p] = a[0] - a[N + 1];
  }
  if (me.line) Load<T, N>(a + 1, 1, v);
  else Mass(m.d[1], a, v);
}

/* stage 2: number t is patch t % P of the faces' sum or difference */
template <typename T, int K>
__device__ __forceinline__ void PlaneMass(const PlaneMatrices<T, K> &m, int t, const T *F, T *H)
{
  using S       = Plane<T, K>;
  const T *from = F + t / S::P * S::ROW + t % S::P * S::C;
  T        a[S::C], w[S::N];

  Load<T, S::C - 1>(from, 1, a);
  a[S::C - 1] = from[S::C];
  Mass(m.d[0], a, w);
  Store<T, S::N>(w, H + t * S::N, 1);
}

/* stage 3 */
template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void PlaneSolve(const PlaneMatrices<T, K> &m, int t, T *sm)
{
  using S         = Plane<T, K>;
  constexpr int N = S::N, P = S::P;
  const int     p = t % P, j = t / P; /* patch, mode in y */
  T            *V = sm + S::V, v[N], w[N];

  Load<T, N>(V + t * N, 1, v);
  if (BOUNDARY) {
    const T *h = sm + S::H + ((j < K ? 0 : P) + p) * N, alpha = m.d[1].alpha[j];

#pragma unroll
    for (int i = 0; i < N; i++) v[i] -= alpha * h[i];
  }
  ToModes(m.d[0].S, v, w);

  const T *f   = sm + S::X + j * (P + 1) + p;
  const T  sum = BOUNDARY ? f[0] + f[1] : T(0), difference = BOUNDARY ? f[0] - f[1] : T(0);

  if (BOUNDARY) Subtract<T, K>(m.d[0].alpha, sum, difference, w);
#pragma unroll
  for (int i = 0; i < N; i++) w[i] *= __ldg(m.inverse + j * N + i);
  if (BOUNDARY) Subtract<T, K>(m.d[0].mu, sum, difference, w);
  ToNodes(m.back, w, v);
  Store<T, N>(v, V + t * N, 1);
}

template <typename T, int K, bool BOUNDARY>
__launch_bounds__(Plane<T, K>::THREADS, Plane<T, K>::BLOCKS) static __global__
  void PlaneKernel(const __grid_constant__ PlaneMatrices<T, K> m, const __grid_constant__ FastGeometry g, int groups, T omega, T beta, T *x,
                   const T *__restrict__ b)
{
  using S                    = Plane<T, K>;
  constexpr int            N = S::N, P = S::P, LINES = S::LINES;
  extern __shared__ double shared_memory[];
  T                       *sm = (T *)shared_memory, *V = sm + S::V, *F = sm + S::F;
  const int                group = blockIdx.x % groups;
  const int                o0 = g.first[0] + group * P * 2 * K, o1 = g.first[1] + (int)(blockIdx.x / groups) * 2 * K;
  const PlaneThread<T, K>  me(g.count[0] - group * P);
  const ptrdiff_t          corner = g.l.at(o0 + me.node, o1, g.first[2] + 1);
  T                        v[N], w[N];

  if (BOUNDARY) PlaneLoad(m, me, g, o0, o1, corner, x, b, F, v);
  else {
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = me.here ? b[corner + (j + 1) * g.l.row] : T(0);
  }
  ToModes(m.d[1].S, v, w);
  if (me.line) Store<T, N>(w, V + me.t, LINES);
  else if (BOUNDARY && me.p <= P) Store<T, N>(w, sm + S::X + me.p, P + 1);
  __syncthreads();
  if (BOUNDARY) {
    if (me.t < 2 * P) PlaneMass(m, me.t, F, sm + S::H);
    __syncthreads();
  }
  if (me.line) PlaneSolve<BOUNDARY>(m, me.t, sm);
  T         old[N];
  ptrdiff_t row = g.l.row;

  asm volatile("" : "+l"(row)); /* else the compiler keeps the N offsets of b's line in registers for this one */
#pragma unroll
  for (int j = 0; j < N; j++) old[j] = me.here && beta != 0 ? x[corner + (j + 1) * row] : T(0); /* under way while others solve */
  __syncthreads();
  if (me.here) {
    Load<T, N>(V + me.t, LINES, w);
    if (BOUNDARY) Subtract<T, K>(m.d[1].mu, F[me.node + me.p], F[S::ROW + me.node + me.p], w);
    ToNodes(m.d[1].S, w, v);
#pragma unroll
    for (int j = 0; j < N; j++) x[corner + (j + 1) * row] = beta * old[j] + omega * v[j];
  }
}

template <typename T, int K>
struct PlaneSmoother : SmootherFast {
  PlaneMatrices<T, K> m;
  PlanMemory          memory;

  PetscErrorCode create(const PatchFDEigen *const e[3])
  {
    using S         = Plane<T, K>;
    constexpr int n = S::N;

    PetscFunctionBegin;
    for (int d = 0; d < 2; d++) m.d[d].set(e[d]);
    m.back = m.d[0].S;
    PetscCall(UploadInverse(n, n, 1, e, &memory, &m.inverse));
    PetscCall(AllowShared(PlaneKernel<T, K, true>, S::SIZE * sizeof(T)));
    PetscCall(AllowShared(PlaneKernel<T, K, false>, S::X * sizeof(T)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const FastGeometry &g, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                       cudaStream_t stream) override
  {
    using S          = Plane<T, K>;
    const int groups = (g.count[0] + S::P - 1) / S::P;

    PetscFunctionBegin;
    if (boundary)
      PlaneKernel<T, K, true>
        <<<groups * g.count[1], S::THREADS, S::SIZE * sizeof(T), stream>>>(m, g, groups, (T)omega, (T)beta, (T *)x, (const T *)b);
    else
      PlaneKernel<T, K, false>
        <<<groups * g.count[1], S::THREADS, S::X * sizeof(T), stream>>>(m, g, groups, (T)omega, (T)beta, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
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

template <typename T>
PetscErrorCode SmootherPlaneCreate(int K, const PatchFDEigen *const e[3], SmootherFast **fast)
{
  PetscFunctionBegin;
  if (K >= 2 && K <= 10) PetscCall((ForDegree<2, 10>(K, [&](auto k) { return SmootherFastNew<PlaneSmoother<T, k()>>(e, fast); })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::SmootherPlaneCreate<INSTANCE_T>(int, const PatchFDEigen *const[3], SmootherFast **);
