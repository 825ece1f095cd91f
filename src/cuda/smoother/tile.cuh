/*
  The kernel for large degrees, on tensor instructions (mma.cuh).  Formula, notation and the order of directions are those of
  fast.cuh.

  All directions share the matrices S, T, M, mu of direction 0: those of direction d are S / sqrt(m), T sqrt(m), M m, mu sqrt(m) with
  m = m_d, the ratio of the cells' lengths, but for signs of modes.  What differs goes into alpha and lambda.

  A block works on one patch.  b and the faces of x come to shared memory by asynchronous copies, all under way at once.  Stages, with
  a barrier between each two:

    1. b: z-lines to modes.
       FaceStage1: faces, as sum (s = 0) and difference (s = 1) of opposite ones, along one of their directions, in place: x and y,
       z-lines to modes; z, y-lines times M                R[f][s][mode or node][node of the closure], FZ[s][j][i]: z-faces themselves
    2. FaceStage2: along the other direction: x to modes, in place; y and z times M, y to HY[s][k][i], z in place
    3. y-lines: alpha_z H_z, to modes, alpha_y H_y
    4. x-lines: to modes, SolveLines: alpha_x Y_x, 1 / D, mu_x Y_x, to nodes
    5. y-lines: mu_y G_y, to nodes
    6. z-lines: mu_z F_z, to nodes, WriteLines: to x

  The planes of the volume are N^2 + 3 = 4 mod 8 numbers apart, and so are the rows of faces: a thread's neighbours then meet in a bank of
  shared memory only where a tile's lines do not follow each other regularly.
*/
#pragma once
#include "smoother/fast.cuh"
#include "smoother/mma.cuh"

namespace patchfd
{

/* ---- faces ---- */

/* lines of the closure, from node to node or to modes: the product with M or T, and with the columns of the ends */
template <typename T, int K>
static __device__ __forceinline__ void FaceProduct(const TileMatrices<T, K> *m, bool mass, const T ends[2][2], Slots<T> &v)
{
  const MmaMatrix<T> product(m, mass ? MASS : FACE_MODES);
  const Weights<T>   rim(m, mass ? RIM : MU);

  v.butterfly();
  product.apply(v);
#pragma unroll
  for (int s = 0; s < 2; s++) rim.subtract(-(ends[s][0] + ends[s][1]), ends[s][1] - ends[s][0], s, v);
  if (mass) v.butterfly();
}

/* stage 1, in place */
template <typename T, int K>
static __device__ __forceinline__ void FaceStage1(const TileMatrices<T, K> *m, const Lane<K> &lane, int f, int chunk, T *sm)
{
  using F     = Tiling<T, K>;
  const int l = min(chunk * 8 + lane.line, F::C - 1);
  T        *line[2], ends[2][2];
  Slots<T>  v;

#pragma unroll
  for (int s = 0; s < 2; s++) {
    line[s]    = sm + F::R + f * F::FACE + s * F::C * F::ROW + l;
    ends[s][0] = line[s][0];
    ends[s][1] = line[s][(F::C - 1) * F::ROW];
  }
  lane.template load<F::ROW>(line[0] + F::ROW, line[1] + F::ROW, v);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 2; i++) { /* sums and differences of opposite faces */
    const T end = ends[1][i], e = v.e[1][i], o = v.o[1][i];

    ends[1][i] = ends[0][i] - end;
    v.e[1][i]  = v.e[0][i] - e;
    v.o[1][i]  = v.o[0][i] - o;
    ends[0][i] += end;
    v.e[0][i] += e;
    v.o[0][i] += o;
  }
  if (f == 2 && l > 0 && l < F::C - 1) lane.template store<F::N>(v, sm + F::FZ + l - 1, sm + F::FZ + F::N * F::N + l - 1);
  FaceProduct(m, f == 2, ends, v);
  lane.template store<F::ROW>(v, line[0], line[1]);
}

/* stage 2 */
template <typename T, int K>
static __device__ __forceinline__ void FaceStage2(const TileMatrices<T, K> *m, const Lane<K> &lane, int f, int chunk, T *sm)
{
  using F     = Tiling<T, K>;
  const int l = min(chunk * 8 + lane.line, F::N - 1);
  T        *from[2], ends[2][2];
  Slots<T>  v;

#pragma unroll
  for (int s = 0; s < 2; s++) {
    from[s]    = sm + F::R + f * F::FACE + s * F::C * F::ROW + l * F::ROW;
    ends[s][0] = from[s][0];
    ends[s][1] = from[s][F::C - 1];
  }
  lane.template load<1>(from[0] + 1, from[1] + 1, v);
  __syncwarp();
  FaceProduct(m, f > 0, ends, v);
  if (f == 1) lane.template store<1>(v, sm + F::HY + l * F::N, sm + F::HY + F::N * F::N + l * F::N);
  else lane.template store<1>(v, from[0], from[1]);
}

/* ---- volume ---- */

/* b: x-lines, half a warp each */
template <typename T, int K>
static __device__ __forceinline__ void FetchVolume(const Layout &l, const T *inner, T *sm)
{
  using F         = Tiling<T, K>;
  constexpr int N = F::N, LINES = F::THREADS / 16, DJ = LINES % N, DK = LINES / N;
  int           i = threadIdx.x % 16, j = threadIdx.x / 16 % N, k = threadIdx.x / 16 / N;
  T            *to   = sm + k * F::PLANE + j * N + i;
  const T      *from = inner + i + j * l.row + k * l.plane;

  while (k < N) {
    if (i < N) Fetch(to, from, true);
    j += DJ;
    k += DK;
    to += DK * F::PLANE + DJ * N;
    from += DK * l.plane + DJ * l.row;
    if (j >= N) {
      j -= N;
      k++;
      to += F::PLANE - N * N;
      from += l.plane - N * l.row;
    }
  }
}

/* the faces of x; o: node below the first unknown */
template <typename T, int K>
static __device__ __forceinline__ void FetchFaces(const FastGeometry &g, const int o[3], const T *x, T *sm)
{
  using F                = Tiling<T, K>;
  constexpr int   C      = F::C;
  const ptrdiff_t first  = g.l.at(o[0], o[1], o[2]);
  int             exists = 0; /* bits d and 3 + d: may the nodes below and above in direction d be read? */

#pragma unroll
  for (int d = 0; d < 3; d++) exists |= (o[d] >= g.read.lo[d]) << d | (o[d] + 2 * K < g.read.hi[d]) << (3 + d);
  for (int q = threadIdx.x / 32; q < 3 * C; q += F::WARPS) { /* a line of both faces f, from end to end */
    const int       f = q / C, a = q - f * C, along = f == 2 ? 1 : 2, by = f == 0 ? 1 : 0;
    const bool      line   = (a > 0 || exists >> along & 1) && (a < 2 * K || exists >> (3 + along) & 1);
    const ptrdiff_t from   = first + a * (f == 2 ? g.l.row : g.l.plane),
                    across = f == 0 ? 1
                           : f == 1 ? g.l.row
                                    : g.l.plane,
                    next   = f == 0 ? g.l.row : 1;
    T *to                  = sm + F::R + f * F::FACE + a * F::ROW;

    for (int i = threadIdx.x % 32; i < 2 * C; i += 32) {
      const int  s = i >= C, l = i - s * C;
      const bool here = line && exists >> (f + 3 * s) & 1 && (l > 0 || exists >> by & 1) && (l < 2 * K || exists >> (3 + by) & 1);

      Fetch(to + s * C * F::ROW + l, x + (here ? from + s * 2 * K * across + l * next : first), here);
    }
  }
}

/*
  The lines of direction D, to modes or to nodes: before(line, v) on what is in shared memory, after(line, v) on the product.  Barrier:
  what `after` stores may lie in lines that other lanes have loaded, as copies.  Returns the warp's first task after all tiles.
*/
template <int D, TileMatrix TO, typename T, int K, typename Before, typename After>
static __device__ __forceinline__ int TransformTiles(const MmaMatrix<T> &matrix, const Lane<K> &lane, T *sm, Before before, After after)
{
  using F  = Tiling<T, K>;
  int tile = threadIdx.x / 32;

  for (; tile < F::TILES; tile += F::WARPS) {
    const Lines<D, T, K> line(lane, tile);
    Slots<T>             v;

    lane.template load<line.STRIDE>(line.at(sm, 0), line.at(sm, 1), v);
    before(line, v);
    __syncwarp();
    if (TO == TO_MODES) v.butterfly();
    matrix.apply(v);
    if (TO == TO_NODES) v.butterfly();
    after(line, v);
  }
  return tile - F::TILES;
}

/* lines -= what sums of opposite faces, number 0 of `face`, and differences, number APART, give */
template <int APART, typename T>
static __device__ __forceinline__ void SubtractFaces(const Weights<T> &weights, const T *const face[2], Slots<T> &v)
{
#pragma unroll
  for (int s = 0; s < 2; s++) weights.subtract(face[s][0], face[s][APART], s, v);
}

/* y-lines -= alpha_z H_z: sums of opposite faces in even modes of z, differences in odd ones */
template <typename T, int K>
static __device__ __forceinline__ void SubtractZFaces(const TileMatrices<T, K> *m, const Lane<K> &lane, const Lines<1, T, K> &line,
                                                      const T *sm, Slots<T> &v)
{
  using F = Tiling<T, K>;
  const T *from[2];
  Slots<T> h;

#pragma unroll
  for (int s = 0; s < 2; s++) from[s] = sm + F::R + 2 * F::FACE + (line.b[s] < K ? 0 : F::C * F::ROW) + line.a[s];
  lane.template load<F::ROW>(from[0], from[1], h);
#pragma unroll
  for (int s = 0; s < 2; s++) {
    const T alpha = m->alpha_z[line.b[s]];

#pragma unroll
    for (int i = 0; i < 2; i++) {
      v.e[s][i] -= alpha * h.e[s][i];
      v.o[s][i] -= alpha * h.o[s][i];
    }
  }
}

/* x-lines in modes: to nodes */
template <bool BOUNDARY, typename T, int K>
static __device__ __forceinline__ void SolveLines(const TileMatrices<T, K> *m, const Lines<0, T, K> &line, const T *sm, Slots<T> &v)
{
  using F = Tiling<T, K>;
  T face[2][2];

  if (BOUNDARY) {
    const Weights<T> alpha(m, ALPHA_X);

#pragma unroll
    for (int s = 0; s < 2; s++) {
      const T *y = sm + F::R + line.b[s] * F::ROW + line.a[s];

      face[s][0] = y[0];
      face[s][1] = y[F::C * F::ROW];
      alpha.subtract(face[s][0], face[s][1], s, v);
    }
  }
  const Weights<T> lambda(m, LAMBDA_X);
#pragma unroll
  for (int s = 0; s < 2; s++) {
    const T shift = m->lambda_y[line.a[s]] + m->lambda_z[line.b[s]];

#pragma unroll
    for (int i = 0; i < 2; i++) {
      v.e[s][i] *= Reciprocal(lambda.e[i] + shift);
      v.o[s][i] *= Reciprocal(lambda.o[i] + shift);
    }
  }
  if (BOUNDARY) {
    const Weights<T> mu(m, MU);

    mu.subtract(face[0][0], face[0][1], 0, v);
    mu.subtract(face[1][0], face[1][1], 1, v);
  }
  MmaMatrix<T>(m, TO_NODES).apply(v);
  v.butterfly();
}

/* z-lines to x = beta x + omega v; first: the patch's first unknown */
template <typename T, int K>
static __device__ __forceinline__ void WriteLines(const Lane<K> &lane, const Lines<2, T, K> &line, const Layout &l, ptrdiff_t first,
                                                  T omega, T beta, const Slots<T> &v, T *x)
{
  constexpr int N = 2 * K - 1;

#pragma unroll
  for (int s = 0; s < 2; s++) {
    const ptrdiff_t at = first + line.b[s] + line.a[s] * l.row + lane.slot * l.plane, mirror = at + (N - 1 - 2 * lane.slot) * l.plane;
    auto            write = [&](bool here, ptrdiff_t node, T value) {
      if (line.own[s] && here) x[node] = beta == 0 ? omega * value : beta * x[node] + omega * value;
    };

    write(true, at, v.e[s][0]);
    write(true, mirror, v.o[s][0]);
    write(lane.in, at + 4 * l.plane, v.e[s][1]);
    write(lane.pair, mirror - 4 * l.plane, v.o[s][1]);
  }
}

/* both stages of the faces, from task `task` of the first one on */
template <typename T, int K>
static __device__ __forceinline__ void FaceStages(const TileMatrices<T, K> *m, const Lane<K> &lane, int task, T *sm)
{
  using F = Tiling<T, K>;

  for (; task < 3 * F::FACES1; task += F::WARPS) FaceStage1(m, lane, task / F::FACES1, task % F::FACES1, sm);
  __syncthreads();
  for (task = threadIdx.x / 32; task < 3 * F::FACES2; task += F::WARPS) FaceStage2(m, lane, task / F::FACES2, task % F::FACES2, sm);
}

template <typename T, int K, bool BOUNDARY>
__launch_bounds__(Tiling<T, K>::THREADS, Tiling<T, K>::BLOCKS) static __global__
  void TileKernel(const TileMatrices<T, K> *matrices, const __grid_constant__ FastGeometry g, T omega, T beta, T *x,
                  const T *__restrict__ b)
{
  using F                     = Tiling<T, K>;
  constexpr int             N = F::N;
  extern __shared__ int4    tile_memory[];
  const TileMatrices<T, K> *m  = (const TileMatrices<T, K> *)tile_memory;
  T                        *sm = (T *)(m + 1);
  const int       o[3] = {g.first[0] + 2 * K * (int)blockIdx.x, g.first[1] + 2 * K * (int)blockIdx.y, g.first[2] + 2 * K * (int)blockIdx.z};
  const ptrdiff_t first = g.l.at(o[0] + 1, o[1] + 1, o[2] + 1);
  const Lane<K>   lane;
  const auto      nothing = [](const auto &, Slots<T> &) {};
  const auto      store = [&](const auto &line, const Slots<T> &v) { lane.template store<line.STRIDE>(v, line.at(sm, 0), line.at(sm, 1)); };

  for (int i = threadIdx.x; i < (int)(sizeof(*m) / sizeof(int4)); i += F::THREADS) tile_memory[i] = ((const int4 *)matrices)[i];
  FetchVolume<T, K>(g.l, b + first, sm);
  if (BOUNDARY) FetchFaces<T, K>(g, o, x, sm);
  FetchWait();
  __syncthreads();
  const int task = TransformTiles<2, TO_MODES>(MmaMatrix<T>(m, TO_MODES), lane, sm, nothing, store);
  if (BOUNDARY) FaceStages(m, lane, task, sm);
  __syncthreads();
  TransformTiles<1, TO_MODES>(
    MmaMatrix<T>(m, TO_MODES), lane, sm,
    [&](const auto &line, Slots<T> &v) {
      if (BOUNDARY) SubtractZFaces(m, lane, line, sm, v);
    },
    [&](const auto &line, Slots<T> &v) {
      const T *const h[2] = {sm + F::HY + line.b[0] * N + line.a[0], sm + F::HY + line.b[1] * N + line.a[1]};

      if (BOUNDARY) SubtractFaces<N * N>(Weights<T>(m, ALPHA_Y), h, v);
      store(line, v);
    });
  __syncthreads();
  TransformTiles<0, TO_MODES>(MmaMatrix<T>(m, TO_MODES), lane, sm, nothing, [&](const auto &line, Slots<T> &v) {
    SolveLines<BOUNDARY>(m, line, sm, v);
    store(line, v);
  });
  __syncthreads();
  const MmaMatrix<T> toNodes(m, TO_NODES);
  const Weights<T>   mu(m, MU);

  TransformTiles<1, TO_NODES>(
    toNodes, lane, sm,
    [&](const auto &line, Slots<T> &v) {
      const T *const face[2] = {sm + F::R + F::FACE + line.b[0] * F::ROW + 1 + line.a[0],
                                sm + F::R + F::FACE + line.b[1] * F::ROW + 1 + line.a[1]};

      if (BOUNDARY) SubtractFaces<F::C * F::ROW>(mu, face, v);
    },
    store);
  __syncthreads();
  TransformTiles<2, TO_NODES>(
    toNodes, lane, sm,
    [&](const auto &line, Slots<T> &v) {
      const T *const face[2] = {sm + F::FZ + line.l[0], sm + F::FZ + line.l[1]};

      if (BOUNDARY) SubtractFaces<N * N>(mu, face, v);
    },
    [&](const auto &line, Slots<T> &v) { WriteLines(lane, line, g.l, first, omega, beta, v, x); });
}

/* ---- launch ---- */

template <typename T, int K>
struct TileSmoother : SmootherFast {
  using F                = Tiling<T, K>;
  static constexpr int n = 2 * K - 1, c = n + 2;
  /* without faces */
  static constexpr size_t BYTES       = sizeof(TileMatrices<T, K>) + F::SIZE * sizeof(T),
                          BYTES_SOLVE = sizeof(TileMatrices<T, K>) + F::R * sizeof(T);

  TileMatrices<T, K> *m = NULL; /* in device memory */
  PlanMemory          memory;

  /* has the code been compiled for a GPU with these instructions? */
  static PetscErrorCode supported(bool *yes)
  {
    cudaFuncAttributes attributes;

    PetscFunctionBegin;
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, TileKernel<T, K, true>));
    *yes = PetscMin(attributes.binaryVersion, attributes.ptxVersion) >= (sizeof(T) == 4 ? 80 : 90);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode create(const PatchFDEigen *const e[3])
  {
    TileMatrices<T, K> host;

    PetscFunctionBegin;
    SetHalves(e[0], host);
    SetWeights(e, host);
    PetscCall(memory.upload(1, &host, &m));
    PetscCall(AllowShared(TileKernel<T, K, true>, BYTES));
    PetscCall(AllowShared(TileKernel<T, K, false>, BYTES_SOLVE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const FastGeometry &g, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                       cudaStream_t stream) override
  {
    const dim3 grid(g.count[0], g.count[1], g.count[2]);

    PetscFunctionBegin;
    if (boundary) TileKernel<T, K, true><<<grid, F::THREADS, BYTES, stream>>>(m, g, (T)omega, (T)beta, (T *)x, (const T *)b);
    else TileKernel<T, K, false><<<grid, F::THREADS, BYTES_SOLVE, stream>>>(m, g, (T)omega, (T)beta, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscLogDouble flops(bool boundary, bool) const override { return FastFlops<K>(boundary); }

private:
  /* even and odd halves: row i for the entry of slot i, column j for the result; the sum of mirrored nodes is twice the middle one */
  static void SetHalves(const PatchFDEigen *e, TileMatrices<T, K> &m)
  {
    const PetscReal *S = e->S, *M = e->MI + 1;

    for (int lane = 0; lane < 32; lane++) {
      for (int q = 0; q < 2; q++) {
        const int       i = lane % 4 + 4 * q, j = lane / 8 + 4 * (lane / 4 % 2), mi = n - 1 - i;
        const bool      even = i < K && j < K, odd = i < K - 1 && j < K - 1;
        const PetscReal half = i == K - 1 ? 0.5 : 1;
        auto            set  = [&](TileMatrix matrix, PetscReal a, PetscReal b) {
          m.half[matrix][0][lane][q] = (T)a;
          m.half[matrix][1][lane][q] = (T)b;
        };

        set(TO_MODES, even ? half * S[i * n + j] : 0, odd ? S[i * n + K + j] : 0);
        set(TO_NODES, even ? S[j * n + i] : 0, odd ? S[j * n + K + i] : 0);
        set(FACE_MODES, even ? half * e->T[j * n + i] : 0, odd ? e->T[(K + j) * n + i] : 0);
        set(MASS, even ? half * (M[j * c + i] + M[j * c + mi]) / 2 : 0, odd ? (M[j * c + i] - M[j * c + mi]) / 2 : 0);
      }
    }
  }

  /* volume and ratio bring all directions to the matrices of direction 0 */
  static void SetWeights(const PatchFDEigen *const e[3], TileMatrices<T, K> &m)
  {
    const PetscReal *S = e[0]->S, *M  = e[0]->MI + 1;
    PetscReal        ratio[3], volume = 1;

    for (int d = 0; d < 3; d++) volume *= ratio[d] = e[d]->MI[0] / e[0]->MI[0];
    for (int mode = 0; mode < n; mode++) {
      const bool odd  = mode >= K;
      const int  slot = odd ? mode - K : mode, place = odd ? n - 1 - slot : slot;
      auto       set = [&](TileWeight w, PetscReal a) { m.weight[w][slot % 4][odd][slot / 4] = (T)a; };
      PetscReal  alpha[3];

      for (int d = 0; d < 3; d++) {
        PetscReal same = 0; /* with another sign? */

        for (int i = 0; i < n; i++) same += e[d]->S[i * n + mode] * S[i * n + mode];
        alpha[d] = e[d]->alpha[0][mode] * (same < 0 ? -1 : 1) * volume / PetscSqrtReal(ratio[d]);
      }
      set(ALPHA_X, alpha[0]);
      set(ALPHA_Y, alpha[1]);
      m.alpha_z[place]  = (T)alpha[2];
      m.lambda_y[place] = (T)(e[1]->lambda[mode] * volume);
      m.lambda_z[place] = (T)(e[2]->lambda[mode] * volume);
      set(LAMBDA_X, e[0]->lambda[mode] * volume);
      set(MU, e[0]->mu[0][mode]);
      set(RIM, (M[slot * c - 1] + (odd ? -1 : 1) * M[slot * c + n]) / 2);
    }
    /* slots that do not exist */
    for (int w = 0; w < 5; w++)
      for (int slot = K - 1; slot < 8; slot++)
        for (int odd = slot < K; odd < 2; odd++) m.weight[w][slot % 4][odd][slot / 4] = (T)(w == LAMBDA_X ? volume : 0);
  }
};

} // namespace patchfd
