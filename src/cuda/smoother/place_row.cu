/*
  Rows of two colours as in row.cuh, of patches with matrices of their own: graded meshes, coefficients that differ, free ends.

  All patches of a row have the same place in y and z, and so the same matrices there, which its block reads from shared memory, each
  number once for all lines of a lane.  In x each patch has others, which a warp's lanes (modes of y and z) read together, through L1.
  There is no parity: faces below and above enter one by one, with alpha and mu of their own, where row.cuh has sums and
  differences of them (G, Z; corners R[y][z]).  Of a mode with lambda = lambda_y + lambda_z the patch is solved by its modes in x, u = S (1
  / (lambda_x + lambda) (S' (r - M c) - alpha y) - mu y).

  A uniform mesh with free ends has rows of three kinds: inside (equal patches, of which the first and the last may have an unknown more in
  x), and at its sides in y and z (rims), which are by place and have as many numbers in y and z as for an unknown more, zeros where there
  is none.
*/
#include "base/dispatch.cuh"
#include "base/plan.cuh"
#include "smoother/row.cuh"

namespace patchfd
{

/* by degree: warps of a block and of a multiprocessor (a bound for the compiler's registers) */
static constexpr int placerow_double[][2] = {{}, {}, {4, 16}, {4, 12}, {4, 8}};
static constexpr int placerow_float[][2]  = {{}, {}, {4, 24}, {4, 16}, {4, 12}, {4, 8}};

template <typename T>
struct PlaceRows {
  const T          *numbers[3]; /* of the patches in each direction, in x of equal length */
  int               first;      /* node below the first of those in x */
  const T          *ends[2];    /* of the first and the last patch in x, if they have an unknown more */
  const PlacePatch *patch[3];   /* in y and z */
};

/* what a block has of them: in y and z in shared memory, in x of the patches of its row, patch 0 first */
template <typename T, int K, int E>
struct PlacedRow {
  static constexpr bool ENDS           = E > 0;
  static constexpr int  ROUNDS_AT_ONCE = 1; /* the code of more does not fit the instructions' cache */
  const T              *d[3], *ends[2];

  __device__ __forceinline__ PlacedRow(const PlaceRows<T> &rows, const int number[3], const RowThread<T, K, E> &me, T *shared)
  {
    using P = RowNumbers<T, 2 * K - 1 + E>;

    d[0] = rows.numbers[0] + (me.o[0] - rows.first) / K * RowNumbersX<T, K>::SIZE;
    for (int i = me.lane + 32 * me.warp; i < 2 * P::SIZE; i += 32 * me.warps)
      shared[i] = i < P::SIZE ? rows.numbers[1][number[1] * P::SIZE + i] : rows.numbers[2][number[2] * P::SIZE + i - P::SIZE];
    __syncthreads();
    d[1] = shared;
    d[2] = shared + P::SIZE;
    for (int s = 0; s < 2; s++) ends[s] = rows.ends[s];
  }
};

/* rows of equal patches, with such patches at their ends */
template <typename T, int K>
struct RowMatricesEnds : RowMatrices<T, K> {
  static constexpr bool ENDS           = true;
  static constexpr int  ROUNDS_AT_ONCE = 1;
  const T              *ends[2], *lambda; /* lambda: of the modes of y and z */
};

/* ---- stage 1 ---- */

template <typename T, int K, int E>
__device__ __forceinline__ void PlaneLine(const PlacedRow<T, K, E> &m, const T q[2 * K + 1 + E], T w[2 * K - 1 + E])
{
  using F = Row<T, K, E>;

  LinesToModes<1, F::C, F::N>(m.d[2] + RowNumbers<T, F::N>::F, (const T(*)[F::C])q, (T(*)[F::N])w);
}

template <bool BOUNDARY, typename T, int K, int E>
__device__ __forceinline__ void PlaneModes(const PlacedRow<T, K, E> &m, const RowPlane<T, K, E> &plane, int node0, T *sm)
{
  using F         = Row<T, K, E>;
  constexpr int N = F::N, C = F::C;
  T            *y   = sm + F::Y + plane.line * N * F::LY + plane.p, u[1][C], w[1][N];
  const T      *rim = sm + F::G + plane.line * F::LG + plane.node - node0;

  u[0][0]     = rim[0];
  u[0][N + 1] = rim[N * F::LG];
  Load<T, N>(y, F::LY, u[0] + 1);
  LinesToModes<1, C, N>(m.d[1] + RowNumbers<T, N>::F, u, w);
  Store<T, N>(w[0], y, F::LY);
}

template <typename T, int K, int E>
__device__ __forceinline__ void StoreFaces(const PlacedRow<T, K, E> &m, T f[2][2 * K + 1 + E], T h[2][2 * K + 1 + E], T *sm, int lane)
{
  using F         = Row<T, K, E>;
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

template <typename T, int K, int E>
__device__ __forceinline__ void StoreVolume(const PlacedRow<T, K, E> &m, T v[2 * K - 1 + E][2 * K - 1 + E], T *sm, int lane)
{
  using F         = Row<T, K, E>;
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
template <typename T, int K, int E>
struct PlacedMode {
  using F = Row<T, K, E>;
  int G, Z, Y, V;
  T   alpha[4], lambda; /* alpha: of the faces in y, in z */

  __device__ __forceinline__ PlacedMode(const PlacedRow<T, K, E> &m, int mode, bool active) : Y(F::Y + mode * F::LY), V(F::V + mode * F::LV)
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

template <typename T, int K, int E>
__device__ __forceinline__ PlacedMode<T, K, E> ModeOf(const PlacedRow<T, K, E> &m, int mode, bool active)
{
  return PlacedMode<T, K, E>(m, mode, active);
}

template <typename T, int K>
struct RowModeEnds : RowMode<T, K> {
  T lambda;
};
template <typename T, int K>
__device__ __forceinline__ RowModeEnds<T, K> ModeOf(const RowMatricesEnds<T, K> &m, int mode, bool active)
{
  return {RowMode<T, K>(m.table, mode, active), active ? m.lambda[mode] : T(1)};
}

template <typename T, int K, int E>
__device__ __forceinline__ void RowSolve(const PlacedRow<T, K, E> &m, const PlacedMode<T, K, E> &mode, int q, const T r[2 * K - 1],
                                         const T c[2 * K + 1], T below, T above, T u[2 * K - 1])
{
  constexpr int N = 2 * K - 1;
  const T      *x = m.d[0] + q * RowNumbersX<T, K>::SIZE;
  T             w[N];

  PlacedPatch<T, K>(x, mode.lambda, r, c, below, above, w);
#pragma unroll
  for (int i = 0; i < N; i++) u[i] = PlacedNode<N>(x, i, w);
}

template <typename T, int K, int E>
__device__ __forceinline__ T RowMiddle(const PlacedRow<T, K, E> &m, const PlacedMode<T, K, E> &mode, int q, const T r[2 * K],
                                       const T c[2 * K + 1], T below, T above)
{
  constexpr int N = 2 * K - 1;
  const T      *x = m.d[0] + q * RowNumbersX<T, K>::SIZE;
  T             w[N];

  PlacedPatch<T, K>(x, mode.lambda, r, c, below, above, w);
  return PlacedNode<N>(x, K - 1, w);
}

/* ---- stage 3 ---- */

template <bool BOUNDARY, typename T, int K, int E>
__device__ __forceinline__ void StoreRow(const PlacedRow<T, K, E> &m, const RowThread<T, K, E> &me, const RowChunk<T, K, E> &chunk, T *x)
{
  using F         = Row<T, K, E>;
  using P         = RowNumbers<T, F::N>;
  constexpr int N = F::N, L = line_group<N>;
  const RowFaces<T, K, E> f(me, chunk);
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
    for (int j = 0; j < N; j++)
      if (!E || (j + 1 < me.upper[1] && k + 1 < me.upper[2]))
        x[chunk.at - K + (j + 1) * chunk.row + (k + 1) * chunk.plane] = Dot<N>(row, v[j]);
  }
}

/* registers and shared memory of a block */
template <typename T, int K, int E>
struct PlaceRowShape {
  using F                   = Row<T, K, E>;
  static constexpr int WARPS = (sizeof(T) == 4 ? placerow_float : placerow_double)[K][0],
                       BLOCKS = (sizeof(T) == 4 ? placerow_float : placerow_double)[K][1] / WARPS - E;
  /* where the block's matrices begin in shared memory, and the bytes of all */
  __host__ __device__ static constexpr int matrices(int warps) { return RoundUp(F::SHARED + warps * F::SIZE, 16 / sizeof(T)); }
  static constexpr size_t                  bytes(int warps) { return (matrices(warps) + 2 * RowNumbers<T, F::N>::SIZE) * sizeof(T); }
};

/* rows at these places in y and z, whose number in x is 0 */
template <typename T, int K, int E>
__launch_bounds__(32 * PlaceRowShape<T, K, E>::WARPS, PlaceRowShape<T, K, E>::BLOCKS) static __global__
  void PlaceRowKernel(const __grid_constant__ PlaceRows<T> rows, const __grid_constant__ RowGeometry rg,
                      const __grid_constant__ PatchShell shell, T *x, const T *__restrict__ b)
{
  extern __shared__ int4 placerow_memory[];
  T  *sm = (T *)placerow_memory;
  int at[3], number[3];

  shell.find<unsigned>(blockIdx.x, at);
#pragma unroll
  for (int d = 1; d < 3; d++) number[d] = shell.start[d] + 2 * at[d];

  const RowThread<T, K, E> me = [&]() {
    if constexpr (E) {
      const PlacePatch y = rows.patch[1][number[1]], z = rows.patch[2][number[2]];

      return RowThread<T, K, E>(rg, y.first - 1, z.first - 1, y.n + 1, z.n + 1, sm, true);
    } else return RowThread<T, K, E>(rg, sm, true); /* numbers that can be computed again need no registers */
  }();

  RowOfPatches<true>(PlacedRow<T, K, E>(rows, number, me, sm + PlaceRowShape<T, K, E>::matrices(me.warps)), me, rg.g, x, b);
}

/* rows of equal patches between free ends in x */
template <typename T, int K>
__launch_bounds__(32 * Row<T, K>::WARPS, Row<T, K>::BLOCKS) static __global__
void RowEndsKernel(const __grid_constant__ RowMatricesEnds<T, K> m, const __grid_constant__ RowGeometry rg, T *x, const T *__restrict__ b)
{
  extern __shared__ double shared_memory[];

  RowOfPatches<true>(m, RowThread<T, K>(rg, (T *)shared_memory, true), rg.g, x, b);
}

/* ---- launch ---- */

/* rows by place of patches of at most 2 K - 1 + E unknowns in y and z */
template <typename T, int K, int E>
struct PlaceRowLauncher {
  using Shape = PlaceRowShape<T, K, E>;
  PlaceRows<T> rows = {};
  int          multiprocessors, warps = Shape::WARPS; /* warps: of a block, at most */

  PetscErrorCode create(const PatchFDPatches *const pd[3], const int run[2], PlanMemory *memory)
  {
    constexpr int N = 2 * K - 1 + E;

    PetscFunctionBegin;
    PetscCall((upload<RowNumbersX<T, K>>(pd[0], run[0], run[1], 2 * K - 1, memory, &rows.numbers[0])));
    rows.first = (int)pd[0]->first[run[0]] - 1;
    for (int s = 0; s < 2; s++) {
      const int end = s ? run[1] : run[0] - 1;

      if (E && end >= 0 && end < pd[0]->npatch) PetscCall((upload<RowNumbersEnd<T, K>>(pd[0], end, end + 1, 2 * K, memory, &rows.ends[s])));
    }
    for (int d = 1; d < 3; d++) {
      std::vector<PlacePatch> patch;
      PlacePatch             *to;

      for (PetscInt i = 0; i < pd[d]->npatch; i++) patch.push_back({(int)pd[d]->first[i], (int)pd[d]->n[i], (int)pd[d]->cls[i]});
      PetscCall(memory->upload(patch.size(), patch.data(), &to));
      rows.patch[d] = to;
      PetscCall((upload<RowNumbers<T, N>>(pd[d], 0, (int)pd[d]->npatch, N, memory, &rows.numbers[d])));
    }
    PetscCall(Multiprocessors(&multiprocessors));
    for (; warps > 2; warps--) { /* so many has a row at least that is long enough */
      bool fits;

      PetscCall(SharedFits(PlaceRowKernel<T, K, E>, Shape::bytes(warps), &fits));
      if (fits) break;
    }
    PetscCall(AllowShared(PlaceRowKernel<T, K, E>, Shape::bytes(warps)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode run(const RowGeometry &rg, const PatchShell &shell, void *x, const void *b, cudaStream_t stream) const
  {
    const dim3 threads(32, rg.warps((int)shell.size(), Row<T, K, E>::P, multiprocessors * Shape::BLOCKS * Shape::WARPS, warps));

    PetscFunctionBegin;
    PlaceRowKernel<T, K, E><<<(unsigned)shell.size(), threads, Shape::bytes(threads.y), stream>>>(rows, rg, shell, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscLogDouble flops()
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
  static PetscErrorCode upload(const PatchFDPatches *pd, int from, int to, int most, PlanMemory *memory, const T **numbers)
  {
    std::vector<PetscReal> v((size_t)(to - from) * Numbers::SIZE, 0);
    T                     *there;

    PetscFunctionBegin;
    for (int i = from; i < to; i++)
      if (pd->n[i] <= most) Numbers::set(&pd->eigen[pd->cls[i]], &v[(size_t)(i - from) * Numbers::SIZE]);
    PetscCall(memory->upload(v.size(), v.data(), &there));
    *numbers = there;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int K>
struct PlaceRowSmoother : SmootherFast {
  PlaceRowLauncher<T, K, 0> place;
  PlanMemory                memory;

  PetscErrorCode create(const PatchFDPatches *const pd[3], const int run[3][2])
  {
    this->pairs  = true;
    this->single = false;
    return place.create(pd, run[0], &memory);
  }
  PetscErrorCode pair(const FastGeometry &a, const FastGeometry &b, bool, void *x, const void *rhs, cudaStream_t stream) override
  {
    PatchShell shell;
    Range      all = Range::none();

    for (int d = 0; d < 3; d++) {
      shell.start[d] = a.start[d];
      all.hi[d]      = d ? a.count[d] : 1;
    }
    static_cast<Shell &>(shell) = Shell(all);
    return place.run(RowGeometry(a, b), shell, x, rhs, stream);
  }
  PetscErrorCode destroy() override { return memory.free(); }
  PetscLogDouble flops(bool, bool) const override { return place.flops(); }
};

/* a RowSmoother, and what lies between it and free ends */
template <typename T, int K>
struct RimSmoother : SmootherFast {
  SmootherFast             *inside = NULL;
  RowMatricesEnds<T, K>     m      = {};
  PlaceRowLauncher<T, K, 1> place;
  PlanMemory                memory;

  PetscErrorCode create(const PatchFDPatches *const pd[3], const int run[3][2], const PatchFDEigen *const e[3])
  {
    const std::vector<PetscReal> t = RowTable<T, K>(e);
    std::vector<PetscReal>       l;
    T                           *table, *lambda;

    PetscFunctionBegin;
    this->pairs = this->rims = true;
    PetscCall(place.create(pd, run[0], &memory));
    for (int d = 0; d < 3; d++) m.d[d].set(e[d]);
    for (PetscInt i = 0; i < e[1]->n * e[2]->n; i++) l.push_back(e[1]->lambda[i % e[1]->n] + e[2]->lambda[i / e[1]->n]);
    PetscCall(memory.upload(t.size(), t.data(), &table));
    PetscCall(memory.upload(l.size(), l.data(), &lambda));
    m.table  = table;
    m.lambda = lambda;
    for (int s = 0; s < 2; s++) m.ends[s] = place.rows.ends[s];
    PetscCall(AllowShared(RowEndsKernel<T, K>, Row<T, K>::bytes(Row<T, K>::WARPS)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode apply(const FastGeometry &g, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                       cudaStream_t stream) override
  {
    return inside->apply(g, omega, beta, boundary, x, b, stream);
  }
  PetscErrorCode pair(const FastGeometry &a, const FastGeometry &b, bool boundary, void *x, const void *rhs, cudaStream_t stream) override
  {
    using F = Row<T, K>;
    const RowGeometry rg(a, b);
    const dim3        threads(32, rg.warps(rg.rows(), F::P, place.multiprocessors * F::BLOCKS * F::WARPS, F::WARPS));

    if (!rg.open[0] && !rg.open[1]) return inside->pair(a, b, boundary, x, rhs, stream);
    PetscFunctionBegin;
    RowEndsKernel<T, K><<<rg.rows(), threads, F::bytes(threads.y), stream>>>(m, rg, (T *)x, (const T *)rhs);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode rim(const FastGeometry &a, const FastGeometry &b, const PatchShell &rows, void *x, const void *rhs,
                     cudaStream_t stream) override
  {
    return place.run(RowGeometry(a, b), rows, x, rhs, stream);
  }
  PetscErrorCode destroy() override
  {
    PetscFunctionBegin;
    if (inside) PetscCall(inside->destroy());
    delete inside;
    PetscCall(memory.free());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscLogDouble flops(bool boundary, bool pair) const override { return inside->flops(boundary, pair); }
};

/* the degrees at which these are faster than a pass for each colour, in double and in float; at free ends above there are too few registers
   */
static constexpr int highest_placerow[] = {4, 5}, highest_rim = 3;

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

template <typename T>
PetscErrorCode SmootherRimCreate(int K, const PatchFDPatches *const pd[3], const int run[3][2], const PatchFDEigen *const e[3],
                                 SmootherFast **fast)
{
  PetscFunctionBegin;
  if (K < 2 || K > highest_rim) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((ForDegree<2, highest_rim>(K, [&](auto k) {
    RimSmoother<T, k()> *p = new RimSmoother<T, k()>;

    p->inside = *fast;
    *fast     = p;
    return p->create(pd, run, e);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::SmootherPlaceRowCreate<INSTANCE_T>(int, const PatchFDPatches *const[3], const int[3][2], SmootherFast **);
template PetscErrorCode patchfd::SmootherRimCreate<INSTANCE_T>(int, const PatchFDPatches *const[3], const int[3][2],
                                                               const PatchFDEigen *const[3], SmootherFast **);
