/*
  Rows of two colours as in row.cuh, of patches with matrices of their own: graded meshes, coefficients that differ.

  All patches of a row have the same place in y and z, and so the same matrices there, which its block reads from shared memory, each
  number once for all lines of a lane.  In x each patch has others, which a warp's lanes (modes of y and z) read together, through L1.
  There is no parity: faces below and above enter one by one, with alpha and mu of their own, where row.cuh has sums and
  differences of them (G, Z; corners R[y][z]).  Of a mode with lambda = lambda_y + lambda_z the patch is solved by its modes in x, u = S (1
  / (lambda_x + lambda) (S' (r - M c) - alpha y) - mu y).
*/
#include "base/dispatch.cuh"
#include "base/plan.cuh"
#include "base/reciprocal.cuh"
#include "smoother/row.cuh"

namespace patchfd
{

/* by degree: warps of a block and of a multiprocessor (a bound for the compiler's registers) */
static constexpr int placerow_double[][2] = {{}, {}, {4, 16}, {4, 12}, {4, 8}};
static constexpr int placerow_float[][2]  = {{}, {}, {4, 24}, {4, 16}, {4, 12}, {4, 8}};

/* a patch's numbers in one direction, for N unknowns or fewer, in rows of whole 16 bytes: S [node][mode]; [mu, T, mu]' [node of the
   closure][mode]; alpha; lambda */
template <typename T, int N>
struct RowNumbers {
  static constexpr int W = 16 / sizeof(T), LINE = RoundUp(N, W), S = 0, F = S + N * LINE, ALPHA = F + (N + 2) * LINE,
                       LAMBDA = ALPHA + 2 * LINE, SIZE = LAMBDA + LINE;

  static void set(const PatchFDEigen *e, PetscReal v[])
  {
    const int n = (int)e->n;

    for (int i = 0; i < N; i++) v[LAMBDA + i] = i < n ? e->lambda[i] : 1;
    for (int i = 0; i < n; i++) {
      for (int m = 0; m < n; m++) {
        v[S + i * LINE + m]       = e->S[i * n + m];
        v[F + (i + 1) * LINE + m] = e->T[m * n + i];
      }
      for (int s = 0; s < 2; s++) {
        v[F + s * (N + 1) * LINE + i] = e->mu[s][i];
        v[ALPHA + s * LINE + i]       = e->alpha[s][i];
      }
    }
  }
};

/* in x, with M: of each unknown the row in its cell, of the vertex in both */
template <typename T, int K>
struct RowNumbersX : RowNumbers<T, 2 * K - 1> {
  using P                = RowNumbers<T, 2 * K - 1>;
  static constexpr int N = 2 * K - 1, C = N + 2, CELL = RoundUp(K + 1, P::W), WHOLE = RoundUp(C, P::W), M = P::SIZE,
                       SIZE = M + (N - 1) * CELL + WHOLE;
  /* row i of M */
  __host__ __device__ static constexpr int mass(int i) { return M + i * CELL + (i >= K ? WHOLE - CELL : 0); }

  static void set(const PatchFDEigen *e, PetscReal v[])
  {
    P::set(e, v);
    for (int i = 0; i < N; i++)
      for (int j = 0, from = i < K ? 0 : K; j < (i == K - 1 ? C : K + 1); j++) v[mass(i) + j] = e->MI[i * C + from + j];
  }
};

/* 16 bytes at once */
template <typename T>
struct Quad;
template <>
struct Quad<double> {
  using Type = double2;
};
template <>
struct Quad<float> {
  using Type = float4;
};

template <int N, typename T>
__device__ __forceinline__ void LoadQuads(const T *from, T v[N])
{
  constexpr int W = 16 / sizeof(T);

#pragma unroll
  for (int i = 0; i < N; i += W) {
    const typename Quad<T>::Type q = *(const typename Quad<T>::Type *)(from + i);

    v[i] = q.x;
    if (i + 1 < N) v[i + 1] = q.y;
    if constexpr (W == 4) {
      if (i + 2 < N) v[i + 2] = q.z;
      if (i + 3 < N) v[i + 3] = q.w;
    }
  }
}

/* out = Q' v, for L lines of I entries: of nodes to modes */
template <int L, int I, int N, typename T>
__device__ __forceinline__ void LinesToModes(const T *Q, const T v[L][I], T out[L][N])
{
  constexpr int LINE = RoundUp(N, 16 / sizeof(T));

#pragma unroll
  for (int i = 0; i < I; i++) {
    T q[N];

    LoadQuads<N>(Q + i * LINE, q);
#pragma unroll
    for (int l = 0; l < L; l++)
#pragma unroll
      for (int m = 0; m < N; m++) out[l][m] = i ? out[l][m] + q[m] * v[l][i] : q[m] * v[l][i];
  }
}

/* v . q */
template <int N, typename T>
__device__ __forceinline__ T Dot(const T q[N], const T v[N])
{
  T sum = 0;

#pragma unroll
  for (int m = 0; m < N; m++) sum += q[m] * v[m];
  return sum;
}

template <typename T>
struct PlaceRows {
  const T *numbers[3]; /* of the patches in each direction, in x of equal length */
  int      first;      /* node below the first of those in x */
};

/* what a block has of them: in y and z in shared memory, in x of the patches of its row, patch 0 first */
template <typename T, int K>
struct PlacedRow {
  static constexpr int ROUNDS_AT_ONCE = 1; /* the code of more does not fit the instructions' cache */
  const T             *d[3];

  __device__ __forceinline__ PlacedRow(const PlaceRows<T> &rows, const FastGeometry &g, const RowThread<T, K> &me, T *shared)
  {
    using P             = RowNumbers<T, 2 * K - 1>;
    const int number[2] = {g.start[1] + 2 * ((int)blockIdx.x % g.count[1]), g.start[2] + 2 * ((int)blockIdx.x / g.count[1])};

    d[0] = rows.numbers[0] + (me.o[0] - rows.first) / K * RowNumbersX<T, K>::SIZE;
    for (int i = me.lane + 32 * me.warp; i < 2 * P::SIZE; i += 32 * me.warps)
      shared[i] = i < P::SIZE ? rows.numbers[1][number[0] * P::SIZE + i] : rows.numbers[2][number[1] * P::SIZE + i - P::SIZE];
    __syncthreads();
    d[1] = shared;
    d[2] = shared + P::SIZE;
  }
};

/* ---- stage 1 ---- */

template <typename T, int K>
__device__ __forceinline__ void PlaneLine(const PlacedRow<T, K> &m, const T q[2 * K + 1], T w[2 * K - 1])
{
  using F = Row<T, K>;

  LinesToModes<1, F::C, F::N>(m.d[2] + RowNumbers<T, F::N>::F, (const T(*)[F::C])q, (T(*)[F::N])w);
}

template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void PlaneModes(const PlacedRow<T, K> &m, const RowPlane<T, K> &plane, int node0, T *sm)
{
  using F         = Row<T, K>;
  constexpr int N = F::N, C = F::C;
  T            *y   = sm + F::Y + plane.line * N * F::LY + plane.p, u[1][C], w[1][N];
  const T      *rim = sm + F::G + plane.line * F::LG + plane.node - node0;

  u[0][0]     = rim[0];
  u[0][N + 1] = rim[N * F::LG];
  Load<T, N>(y, F::LY, u[0] + 1);
  LinesToModes<1, C, N>(m.d[1] + RowNumbers<T, N>::F, u, w);
  Store<T, N>(w[0], y, F::LY);
}

template <typename T, int K>
__device__ __forceinline__ void StoreFaces(const PlacedRow<T, K> &m, T f[2][2 * K + 1], T h[2][2 * K + 1], T *sm, int lane)
{
  using F         = Row<T, K>;
  using P         = RowNumbers<T, F::N>;
  constexpr int N = F::N, C = F::C, LG = F::LG;
  T             w[2][N];

  if (lane >= F::NX) return;
#pragma unroll
  for (int e = 0; e < 2; e++) { /* the ends of lines in z-faces are those of lines in y-faces */
    h[e][0]     = f[0][e * (C - 1)];
    h[e][C - 1] = f[1][e * (C - 1)];
  }
  LinesToModes<2, C, N>(m.d[2] + P::F, f, w);
#pragma unroll
  for (int e = 0; e < 2; e++) {
    Store<T, N>(w[e], sm + F::G + e * N * LG + lane, LG);
    sm[F::R + 2 * e * LG + lane]       = f[e][0];
    sm[F::R + (2 * e + 1) * LG + lane] = f[e][C - 1];
  }
  LinesToModes<2, C, N>(m.d[1] + P::F, h, w);
#pragma unroll
  for (int e = 0; e < 2; e++) Store<T, N>(w[e], sm + F::Z + e * N * LG + lane, LG);
}

/* lines of a lane that go through a matrix together: a number is read once for them */
template <int N>
static constexpr int line_group = N > 5 ? 4 : N;

template <typename T, int K>
__device__ __forceinline__ void StoreVolume(const PlacedRow<T, K> &m, T v[2 * K - 1][2 * K - 1], T *sm, int lane)
{
  using F         = Row<T, K>;
  using P         = RowNumbers<T, F::N>;
  constexpr int N = F::N, L = line_group<N>;

  if (lane >= F::NX) return;
#pragma unroll
  for (int j0 = 0; j0 < N; j0 += L) {
    T u[L][N], w[L][N];

#pragma unroll
    for (int j = j0; j < j0 + L; j++)
#pragma unroll
      for (int k = 0; k < N; k++) u[j - j0][k] = j < N ? v[j < N ? j : 0][k] : T(0);
    LinesToModes<L, N, N>(m.d[2] + P::S, u, w);
#pragma unroll
    for (int j = j0; j < j0 + L && j < N; j++)
#pragma unroll
      for (int k = 0; k < N; k++) v[j][k] = w[j - j0][k];
  }
#pragma unroll
  for (int k0 = 0; k0 < N; k0 += L) {
    T u[L][N], w[L][N];

#pragma unroll
    for (int k = k0; k < k0 + L; k++)
#pragma unroll
      for (int j = 0; j < N; j++) u[k - k0][j] = k < N ? v[j][k < N ? k : 0] : T(0);
    LinesToModes<L, N, N>(m.d[1] + P::S, u, w);
#pragma unroll
    for (int k = k0; k < k0 + L && k < N; k++) Store<T, N>(w[k - k0], sm + F::V + k * N * F::LV + lane, F::LV);
  }
}

/* ---- stage 2 ---- */

/* where a mode finds its numbers in a warp's shared memory, and its coefficients */
template <typename T, int K>
struct PlacedMode {
  using F = Row<T, K>;
  int G, Z, Y, V;
  T   alpha[4], lambda; /* alpha: of the faces in y, in z */

  __device__ __forceinline__ PlacedMode(const PlacedRow<T, K> &m, int mode, bool active) : Y(F::Y + mode * F::LY), V(F::V + mode * F::LV)
  {
    using P      = RowNumbers<T, F::N>;
    const int kz = active ? mode / F::N : 0, ky = active ? mode % F::N : 0;

    G = F::G + kz * F::LG;
    Z = F::Z + ky * F::LG;
#pragma unroll
    for (int s = 0; s < 2; s++) {
      alpha[s]     = m.d[1][P::ALPHA + s * P::LINE + ky];
      alpha[2 + s] = m.d[2][P::ALPHA + s * P::LINE + kz];
    }
    lambda = m.d[1][P::LAMBDA + ky] + m.d[2][P::LAMBDA + kz];
  }
  /* c at node i of slot l */
  template <bool BOUNDARY>
  __device__ __forceinline__ T face(const T *sm, int l, int i, std::bool_constant<BOUNDARY>) const
  {
    const T *g = sm + G + l * 2 * K + i, *z = sm + Z + l * 2 * K + i;

    return alpha[0] * g[0] + alpha[1] * g[F::N * F::LG] + alpha[2] * z[0] + alpha[3] * z[F::N * F::LG];
  }
};

template <typename T, int K>
__device__ __forceinline__ PlacedMode<T, K> ModeOf(const PlacedRow<T, K> &m, int mode, bool active)
{
  return PlacedMode<T, K>(m, mode, active);
}

/* the modes w in x of a patch with r - M c = v */
template <int N, typename T>
__device__ __forceinline__ void PlacedModes(const T *x, T lambda, const T v[N], T below, T above, T w[N])
{
  using P = RowNumbers<T, N>;
  T u[1][N], q[N], a[2][N];

  LinesToModes<1, N, N>(x + P::S, (const T(*)[N])v, u);
  LoadQuads<N>(x + P::ALPHA, a[0]);
  LoadQuads<N>(x + P::ALPHA + P::LINE, a[1]);
  LoadQuads<N>(x + P::LAMBDA, q);
#pragma unroll
  for (int i = 0; i < N; i++) w[i] = (u[0][i] - a[0][i] * below - a[1][i] * above) * ReciprocalOrZero(q[i] + lambda);
  LoadQuads<N>(x + P::F, a[0]);
  LoadQuads<N>(x + P::F + (N + 1) * P::LINE, a[1]);
#pragma unroll
  for (int i = 0; i < N; i++) w[i] -= a[0][i] * below + a[1][i] * above;
}

/* the value of w at node i */
template <int N, typename T>
__device__ __forceinline__ T PlacedNode(const T *x, int i, const T w[N])
{
  using P = RowNumbers<T, N>;
  T row[N];

  LoadQuads<N>(x + P::S + i * P::LINE, row);
  return Dot<N>(row, w);
}

/* the modes of a patch with two cells beside it */
template <typename T, int K>
__device__ __forceinline__ void PlacedPatch(const T *x, T lambda, const T r[2 * K - 1], const T c[2 * K + 1], T below, T above,
                                            T w[2 * K - 1])
{
  using P = RowNumbersX<T, K>;
  T v[P::N], q[P::C];

#pragma unroll
  for (int i = 0; i < P::N; i++) {
    if (i == K - 1) {
      LoadQuads<P::C>(x + P::mass(i), q);
      v[i] = r[i] - Dot<P::C>(q, c);
    } else {
      LoadQuads<K + 1>(x + P::mass(i), q);
      v[i] = r[i] - Dot<K + 1>(q, c + (i < K ? 0 : K));
    }
  }
  PlacedModes<P::N>(x, lambda, v, below, above, w);
}

template <typename T, int K>
__device__ __forceinline__ void RowSolve(const PlacedRow<T, K> &m, const PlacedMode<T, K> &mode, int q, const T r[2 * K - 1],
                                         const T c[2 * K + 1], T below, T above, T u[2 * K - 1])
{
  constexpr int N = 2 * K - 1;
  const T      *x = m.d[0] + q * RowNumbersX<T, K>::SIZE;
  T             w[N];

  PlacedPatch<T, K>(x, mode.lambda, r, c, below, above, w);
#pragma unroll
  for (int i = 0; i < N; i++) u[i] = PlacedNode<N>(x, i, w);
}

template <typename T, int K>
__device__ __forceinline__ T RowMiddle(const PlacedRow<T, K> &m, const PlacedMode<T, K> &mode, int q, const T r[2 * K],
                                       const T c[2 * K + 1], T below, T above)
{
  constexpr int N = 2 * K - 1;
  const T      *x = m.d[0] + q * RowNumbersX<T, K>::SIZE;
  T             w[N];

  PlacedPatch<T, K>(x, mode.lambda, r, c, below, above, w);
  return PlacedNode<N>(x, K - 1, w);
}

/* ---- stage 3 ---- */

template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void StoreRow(const PlacedRow<T, K> &m, const RowThread<T, K> &me, const RowChunk<T, K> &chunk, T *x)
{
  using F                = Row<T, K>;
  using P                = RowNumbers<T, F::N>;
  constexpr int        N = F::N, L = line_group<N>;
  const RowFaces<T, K> f(me, chunk);
  const T             *mu[2] = {m.d[2] + P::F, m.d[2] + P::F + (N + 1) * P::LINE};
  T                    v[N][N], muy[2][N];

  LoadQuads<N>(m.d[1] + P::F, muy[0]);
  LoadQuads<N>(m.d[1] + P::F + (N + 1) * P::LINE, muy[1]);
#pragma unroll
  for (int k0 = 0; k0 < N; k0 += L) { /* y-lines to nodes */
    T w[L][N];

#pragma unroll
    for (int k = k0; k < k0 + L && k < N; k++) {
      const T muz[2] = {mu[0][k], mu[1][k]};

      Load<T, N>(me.sm + F::V + k * N * F::LV + me.lane, F::LV, w[k - k0]);
#pragma unroll
      for (int s = 0; s < 2; s++) {
        const T face = f.G[(s * N + k) * f.stride] - muz[0] * f.R[2 * s * f.stride] - muz[1] * f.R[(2 * s + 1) * f.stride];

#pragma unroll
        for (int j = 0; j < N; j++) w[k - k0][j] -= muy[s][j] * face + muz[s] * f.Z[(s * N + j) * f.stride];
      }
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
      T row[N];

      LoadQuads<N>(m.d[1] + P::S + j * P::LINE, row);
#pragma unroll
      for (int k = k0; k < k0 + L && k < N; k++) v[j][k] = Dot<N>(row, w[k - k0]);
    }
  }
#pragma unroll
  for (int k = 0; k < N; k++) {
    T row[N];

    LoadQuads<N>(m.d[2] + P::S + k * P::LINE, row);
#pragma unroll
    for (int j = 0; j < N; j++) x[chunk.at - K + (j + 1) * chunk.row + (k + 1) * chunk.plane] = Dot<N>(row, v[j]);
  }
}

/* registers and shared memory of a block */
template <typename T, int K>
struct PlaceRowShape {
  using F                     = Row<T, K>;
  static constexpr int WARPS  = (sizeof(T) == 4 ? placerow_float : placerow_double)[K][0],
                       BLOCKS = (sizeof(T) == 4 ? placerow_float : placerow_double)[K][1] / WARPS;
  /* where the block's matrices begin in shared memory, and the bytes of all */
  __host__ __device__ static constexpr int matrices(int warps) { return RoundUp(F::SHARED + warps * F::SIZE, 16 / sizeof(T)); }
  static constexpr size_t                  bytes(int warps) { return (matrices(warps) + 2 * RowNumbers<T, F::N>::SIZE) * sizeof(T); }
};

template <typename T, int K>
__launch_bounds__(32 * PlaceRowShape<T, K>::WARPS, PlaceRowShape<T, K>::BLOCKS) static __global__
  void PlaceRowKernel(const __grid_constant__ PlaceRows<T> rows, const __grid_constant__ RowGeometry rg, T *x, const T *__restrict__ b)
{
  extern __shared__ int4 placerow_memory[];
  T                     *sm = (T *)placerow_memory;
  const RowThread<T, K>  me(rg, sm);

  RowOfPatches<true>(PlacedRow<T, K>(rows, rg.g, me, sm + PlaceRowShape<T, K>::matrices(me.warps)), me, rg.g, x, b);
}

/* ---- launch ---- */

template <typename T, int K>
struct PlaceRowSmoother : SmootherFast {
  using Shape       = PlaceRowShape<T, K>;
  PlaceRows<T> rows = {};
  PlanMemory   memory;
  int          multiprocessors, warps = Shape::WARPS; /* warps: of a block, at most */

  PetscErrorCode create(const PatchFDPatches *const pd[3], const int run[3][2])
  {
    constexpr int N = 2 * K - 1;

    PetscFunctionBegin;
    this->pairs  = true;
    this->single = false;
    PetscCall((upload<RowNumbersX<T, K>>(pd[0], run[0][0], run[0][1], &rows.numbers[0])));
    rows.first = (int)pd[0]->first[run[0][0]] - 1;
    for (int d = 1; d < 3; d++) PetscCall((upload<RowNumbers<T, N>>(pd[d], 0, (int)pd[d]->npatch, &rows.numbers[d])));
    PetscCall(Multiprocessors(&multiprocessors));
    for (; warps > 2; warps--) { /* so many has a row at least that is long enough */
      bool fits;

      PetscCall(SharedFits(PlaceRowKernel<T, K>, Shape::bytes(warps), &fits));
      if (fits) break;
    }
    PetscCall(AllowShared(PlaceRowKernel<T, K>, Shape::bytes(warps)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode pair(const FastGeometry &a, const FastGeometry &b, bool, void *x, const void *rhs, cudaStream_t stream) override
  {
    const RowGeometry rg(a, b);
    const dim3        threads(32, rg.warps(rg.rows(), Row<T, K>::P, multiprocessors * Shape::BLOCKS * Shape::WARPS, warps));

    PetscFunctionBegin;
    PlaceRowKernel<T, K><<<rg.rows(), threads, Shape::bytes(threads.y), stream>>>(rows, rg, (T *)x, (const T *)rhs);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscLogDouble flops(bool, bool) const override
  {
    constexpr PetscLogDouble n = 2 * K - 1, c = n + 2, line = 2 * n * n, face = 2 * n * c;

    /* two patches are 2 K nodes in x: b and x between nodes and modes, faces; planes; of each mode a middle value and a patch */
    return (2 * K * (4 * n * line + 4 * face + 8 * n * n + 8 * n + 8 * n * n) + 2 * n * face +
            n * n * (3 * line + 4 * (K + 1) * n + 20 * n)) /
           2;
  }

private:
  /* of the patches from .. to - 1, where they are not too large */
  template <class Numbers>
  PetscErrorCode upload(const PatchFDPatches *pd, int from, int to, const T **numbers)
  {
    std::vector<PetscReal> v((size_t)(to - from) * Numbers::SIZE, 0);
    T                     *there;

    PetscFunctionBegin;
    for (int i = from; i < to; i++)
      if (pd->n[i] <= 2 * K - 1) Numbers::set(&pd->eigen[pd->cls[i]], &v[(size_t)(i - from) * Numbers::SIZE]);
    PetscCall(memory.upload(v.size(), v.data(), &there));
    *numbers = there;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* the degrees at which these are faster than a pass for each colour, in double and in float */
static constexpr int highest_placerow[] = {4, 5};

template <typename T>
PetscErrorCode SmootherPlaceRowCreate(int K, const PatchFDPatches *const pd[3], const int run[3][2], SmootherFast **fast)
{
  constexpr int highest = highest_placerow[sizeof(T) == 4];

  PetscFunctionBegin;
  if (K < 2 || K > highest) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((ForDegree<2, highest>(K, [&](auto k) {
    PlaceRowSmoother<T, k()> *p = new PlaceRowSmoother<T, k()>;

    *fast = p; /* there before its arrays, so that it can be destroyed after an error */
    return p->create(pd, run);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::SmootherPlaceRowCreate<INSTANCE_T>(int, const PatchFDPatches *const[3], const int[3][2], SmootherFast **);
