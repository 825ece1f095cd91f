/*
  Transfers between a mesh and the mesh of its halved cells of a field that has k + 1 nodes of its own in each cell, but for at most one
  direction, in which its degree is k + 1 and cells share nodes: a component of a velocity in RT_k, or its pressure.  With n = k + 1 a
  coarse cell owns n coarse and 2 n fine nodes in every direction, of a shared node's cells the upper one.

  A block of threads has a tile of cells, PX in x and PY across, and one layer of cells in the third direction, which is the one with
  shared nodes if x is not.  A thread has a line of 2 n fine nodes in that direction in registers.

    prolongation   x, across, and the line's direction, through shared memory; the fine values are under way before
    restriction    the same back, without atomics: a block marches over layers, and what a layer adds to the first nodes of the next
                   one stays in registers; what cells beside the tile add in x is computed twice

  Floor a fine node, double, H200: 17 B up, 4 ps, 9 B down, 2.1 ps; 1.75 n products, 1.6 words of shared memory.
*/
#include "base/dispatch.cuh"
#include "base/march.cuh"
#include "transfer/transfer.cuh"
#include "base/plan.cuh"
#include <cuda_pipeline.h>

namespace patchfd
{

/* cells of a tile: rows as long as can be */
template <int K, int DIM, bool SHARED_X, bool SHARED_Z>
struct MixedTile {
  static constexpr int px[] = {0, 16, 8, 6, 5, 4, 3};
  static constexpr int n = K + 1, N = 2 * n, PX = DIM == 2 ? 128 / n : px[K], PY = 1;
  static constexpr int X = N * PX, Y = DIM == 3 ? N * PY : 1, YC = DIM == 3 ? n * PY : 1; /* fine nodes, coarse nodes across */
  static constexpr int HALO    = SHARED_X ? N : 0;                                        /* of the cell below in x */
  static constexpr int THREADS = RoundUp(X * Y, 32), RESTRICT_THREADS = RoundUp((X + HALO) * Y, 32);

  /* blocks of values in shared memory: coarse nodes, fine ones in x, fine ones across, too */
  static constexpr int NZ = n + SHARED_Z, C = PX * n + SHARED_X, SIZE_C = NZ * YC * C, SIZE_A = NZ * YC * (X + HALO),
                       SIZE_B = DIM == 3 ? NZ * Y * (X + HALO) : 0, SIZE = SIZE_C + SIZE_A + SIZE_B;
};

/* the first 2 n rows of P, of cells with their own nodes and of those that share them */
template <typename T, int K>
struct MixedMatrices {
  T own[2 * (K + 1) * (K + 1)], shared[2 * (K + 1) * (K + 2)];
};

/* directions: x, across, of the lines */
struct MixedGeometry {
  int    cell[3], layers, chunk; /* the first tile's first cell; layers of cells of all marches and of each */
  Layout cl, fl;
  Range  coarse, fine;
};

/* fine = P coarse */
template <typename T, int K, bool SHARED>
__device__ __forceinline__ void MixedUp(const MixedMatrices<T, K> &m, const T coarse[K + 1 + SHARED], T fine[2 * (K + 1)])
{
  constexpr int nc = K + 1 + SHARED;
  const T      *P  = SHARED ? m.shared : m.own;

#pragma unroll
  for (int r = 0; r < 2 * (K + 1); r++) {
    fine[r] = 0;
#pragma unroll
    for (int j = 0; j < nc; j++) fine[r] += P[r * nc + j] * coarse[j];
  }
}

/* coarse = P' fine */
template <typename T, int K, bool SHARED>
__device__ __forceinline__ void MixedDown(const MixedMatrices<T, K> &m, const T fine[2 * (K + 1)], T coarse[K + 1 + SHARED])
{
  constexpr int nc = K + 1 + SHARED;
  const T      *P  = SHARED ? m.shared : m.own;

#pragma unroll
  for (int j = 0; j < nc; j++) {
    coarse[j] = 0;
#pragma unroll
    for (int r = 0; r < 2 * (K + 1); r++) coarse[j] += P[r * nc + j] * fine[r];
  }
}

/* a thread's line of fine nodes in the layers of cells */
template <int N>
struct MixedLine {
  ptrdiff_t at, plane;
  int       lo, hi; /* nodes that exist */

  __device__ __forceinline__ MixedLine(const MixedGeometry &g, int i, int j, bool mine) :
    at(g.fl.at(i, j, 0)), plane(g.fl.plane), lo(g.fine.lo[2]), hi(mine && Inside(g.fine, 0, i) && Inside(g.fine, 1, j) ? g.fine.hi[2] : lo)
  {
  }
  template <typename T>
  __device__ __forceinline__ void load(const T *fine, int layer, T v[N]) const
  {
#pragma unroll
    for (int l = 0; l < N; l++) {
      const int k = layer * N + l;

      v[l] = k >= lo && k < hi ? fine[at + k * plane] : T(0);
    }
  }
  template <typename T>
  __device__ __forceinline__ void store(T *fine, int layer, const T v[N]) const
  {
#pragma unroll
    for (int l = 0; l < N; l++) {
      const int k = layer * N + l;

      if (k >= lo && k < hi) fine[at + k * plane] = v[l];
    }
  }
};

template <typename T, int K, int DIM, bool SHARED_X, bool SHARED_Z>
__launch_bounds__(MixedTile<K, DIM, SHARED_X, SHARED_Z>::THREADS) static __global__
  void MixedProlongKernel(const __grid_constant__ MixedMatrices<T, K> m, const __grid_constant__ MixedGeometry g,
                          const T *__restrict__ coarse, T                                                     *fine)
{
  using S                     = MixedTile<K, DIM, SHARED_X, SHARED_Z>;
  constexpr int             n = S::n, N = S::N, NX = n + SHARED_X, NZ = S::NZ, C = S::C, X = S::X, Y = S::Y, YC = S::YC;
  extern __shared__ double2 mixed_shared[];
  T *const c = (T *)mixed_shared, *const a = c + S::SIZE_C, *const b = a + S::SIZE_A;
  const int          cell[3] = {g.cell[0] + (int)blockIdx.x * S::PX, g.cell[1] + (int)blockIdx.y * S::PY, g.cell[2] + (int)blockIdx.z};
  const int          x = threadIdx.x % X, y = threadIdx.x / X, first[3] = {cell[0] * n, cell[1] * (DIM == 3 ? n : 1), cell[2] * n};
  const MixedLine<N> line(g, cell[0] * N + x, cell[1] * (DIM == 3 ? N : 1) + y, threadIdx.x < X * Y);
  T                  v[N], old[N];

#pragma unroll 1
  for (int t = threadIdx.x; t < NZ * YC * C; t += S::THREADS) {
    const int i = first[0] + t % C, j = first[1] + t / C % YC, k = first[2] + t / C / YC;

    if (g.coarse.contains(i, j, k)) __pipeline_memcpy_async(&c[t], coarse + g.cl.at(i, j, k), sizeof(T));
    else c[t] = 0;
  }
  __pipeline_commit();
  line.load(fine, cell[2], old);
  __pipeline_wait_prior(0);
  __syncthreads();
#pragma unroll 1
  for (int t = threadIdx.x; t < NZ * YC * S::PX; t += S::THREADS) { /* x */
    const T *from = c + t / S::PX * C + t % S::PX * n;
    T       *to   = a + t / S::PX * X + t % S::PX * N, u[NX];

#pragma unroll
    for (int l = 0; l < NX; l++) u[l] = from[l];
    MixedUp<T, K, SHARED_X>(m, u, v);
#pragma unroll
    for (int l = 0; l < N; l++) to[l] = v[l];
  }
  __syncthreads();
  if constexpr (DIM == 3) { /* across */
#pragma unroll 1
    for (int t = threadIdx.x; t < NZ * S::PY * X; t += S::THREADS) {
      const T *from = a + t / X * n * X + t % X;
      T       *to   = b + t / X * N * X + t % X, u[n];

#pragma unroll
      for (int l = 0; l < n; l++) u[l] = from[l * X];
      MixedUp<T, K, false>(m, u, v);
#pragma unroll
      for (int l = 0; l < N; l++) to[l * X] = v[l];
    }
    __syncthreads();
  }
  if (threadIdx.x >= X * Y) return;
  const T *from = (DIM == 3 ? b : a) + y * X + x;
  T        u[NZ];

#pragma unroll
  for (int l = 0; l < NZ; l++) u[l] = from[l * Y * X];
  MixedUp<T, K, SHARED_Z>(m, u, v);
#pragma unroll
  for (int l = 0; l < N; l++) v[l] += old[l];
  line.store(fine, cell[2], v);
}

/* lines in y */
template <class S, typename T, int K>
static __device__ __forceinline__ void MixedRestrictY(const MixedMatrices<T, K> &m, const T *b, T *a)
{
  constexpr int n = S::n, N = S::N, X = S::X + S::HALO;
  T             v[N], w[n];

#pragma unroll 1
  for (int t = threadIdx.x; t < n * S::PY * X; t += S::RESTRICT_THREADS) {
    const T *from = b + t / X * N * X + t % X;
    T       *to   = a + t / X * n * X + t % X;

#pragma unroll
    for (int l = 0; l < N; l++) v[l] = from[l * X];
    MixedDown<T, K, false>(m, v, w);
#pragma unroll
    for (int l = 0; l < n; l++) to[l * X] = w[l];
  }
}

template <class S, typename T, int K>
static __device__ __forceinline__ void MixedRestrictX(const MixedMatrices<T, K> &m, const T *a, T *c)
{
  constexpr int n = S::n, N = S::N, C = S::PX * n, X = S::X + S::HALO, SHARED = S::HALO ? 1 : 0;
  T             v[N], w[n + SHARED];

#pragma unroll 1
  for (int t = threadIdx.x; t < n * S::YC * S::PX; t += S::RESTRICT_THREADS) {
    const T *from = a + t / S::PX * X + t % S::PX * N + S::HALO;
    T       *to   = c + t / S::PX * C + t % S::PX * n;

#pragma unroll
    for (int l = 0; l < N; l++) v[l] = from[l];
    MixedDown<T, K, SHARED>(m, v, w);
    if constexpr (SHARED) {
#pragma unroll
      for (int l = 0; l < N; l++) w[0] += m.shared[l * (n + 1) + n] * from[l - N];
    }
#pragma unroll
    for (int l = 0; l < n; l++) to[l] = w[l];
  }
}

template <typename T, int K, int DIM, bool SHARED_X, bool SHARED_Z>
__launch_bounds__(MixedTile<K, DIM, SHARED_X, SHARED_Z>::RESTRICT_THREADS) static __global__
  void MixedRestrictKernel(const __grid_constant__ MixedMatrices<T, K> m, const __grid_constant__ MixedGeometry g,
                           const T *__restrict__ fine, T                                                       *coarse)
{
  using S                     = MixedTile<K, DIM, SHARED_X, SHARED_Z>;
  constexpr int             n = S::n, N = S::N, C = S::PX * n, X = S::X + S::HALO, Y = S::Y, YC = S::YC;
  extern __shared__ double2 mixed_shared[];
  T *const c = (T *)mixed_shared, *const a = c + S::SIZE_C, *const b = a + S::SIZE_A;
  const int cell[3] = {g.cell[0] + (int)blockIdx.x * S::PX, g.cell[1] + (int)blockIdx.y * S::PY, g.cell[2] + (int)blockIdx.z * g.chunk};
  const int x = threadIdx.x % X, y = threadIdx.x / X, first[2] = {cell[0] * n, cell[1] * (DIM == 3 ? n : 1)},
            end           = min(cell[2] + g.chunk, g.cell[2] + g.layers);
  const bool         mine = threadIdx.x < X * Y;
  const MixedLine<N> line(g, cell[0] * N - S::HALO + x, cell[1] * (DIM == 3 ? N : 1) + y, mine);
  T                 *lines = DIM == 3 ? b : a, v[N], next[N], u[n + SHARED_Z], above = 0;

  line.load(fine, cell[2] - SHARED_Z, next);
  for (int layer = cell[2] - SHARED_Z; layer < end; layer++) {
#pragma unroll
    for (int l = 0; l < N; l++) v[l] = next[l];
    if (layer + 1 < end) line.load(fine, layer + 1, next);
    MixedDown<T, K, SHARED_Z>(m, v, u);
    if constexpr (SHARED_Z) {
      u[0] += above;
      above = u[n];
      if (layer < cell[2]) continue;
    }
    if (mine) {
#pragma unroll
      for (int l = 0; l < n; l++) lines[(l * Y + y) * X + x] = u[l];
    }
    __syncthreads();
    if constexpr (DIM == 3) {
      MixedRestrictY<S, T, K>(m, b, a);
      __syncthreads();
    }
    MixedRestrictX<S, T, K>(m, a, c);
    __syncthreads();
#pragma unroll 1
    for (int t = threadIdx.x; t < n * YC * C; t += S::RESTRICT_THREADS) {
      const int i = first[0] + t % C, j = first[1] + t / C % YC, k = layer * n + t / C / YC;

      if (g.coarse.contains(i, j, k)) coarse[g.cl.at(i, j, k)] += c[t];
    }
  }
}

/* ---- how the generic part calls it ---- */

template <typename T, int K, int DIM, bool SHARED_X, bool SHARED_Z>
struct MixedTransferDegree : MixedTransferFast {
  using S               = MixedTile<K, DIM, SHARED_X, SHARED_Z>;
  MixedMatrices<T, K> m = {};
  MixedGeometry       up, down;
  dim3                upgrid, downgrid;

  /* dir: the directions of the description that are x, across (3D) and those of the lines */
  PetscErrorCode create(const PatchFDTransferDesc *desc, const int dir[3])
  {
    const int size[3] = {S::PX, S::PY, 1};
    int       tiles[3];

    PetscFunctionBegin;
    up.cl = direction(Layout(desc->cbox), dir);
    up.fl = direction(Layout(desc->fbox), dir);
    for (int d = 0; d < 3; d++) {
      const PatchFDEmbedding *e     = desc->dir[dir[d]];
      const PetscInt         *cells = desc->cells[dir[d]], *coarse = desc->coarse[dir[d]], *fine = desc->fine[dir[d]];
      const bool              last = e->nc > e->cstride && e->nf > 1 && cells[1] == e->ncells; /* is the mesh's last node ours? */
      const int               n = (int)(e->nf > 1 ? S::n : 1), N = (int)(e->nf > 1 ? S::N : 1), end = (int)cells[1];

      if (e->nf > 1) std::copy(e->P, e->P + e->nc * N, e->nc > e->cstride ? m.shared : m.own);
      up.cell[d]      = (int)cells[0];
      up.coarse.lo[d] = (int)coarse[0];
      up.coarse.hi[d] = (int)coarse[1];
      up.fine.lo[d]   = (int)PetscMax(fine[0], cells[0] * N);
      up.fine.hi[d]   = (int)PetscMin(fine[1], end * N + last);
      tiles[d]        = (end - up.cell[d] + (up.fine.hi[d] > end * N) + size[d] - 1) / size[d];
    }
    up.layers = up.chunk = tiles[2];
    upgrid               = dim3(tiles[0], tiles[1], tiles[2]);
    down                 = up;
    for (int d = 0; d < 3; d++) {
      const PatchFDEmbedding *e = desc->dir[dir[d]];
      const int               n = (int)(e->nf > 1 ? S::n : 1), end = (int)desc->cells[dir[d]][1];
      const bool              shared = e->nc > e->cstride && e->nf > 1;

      down.coarse.lo[d] = PetscMax(up.coarse.lo[d], up.cell[d] * n);
      down.coarse.hi[d] = PetscMin(up.coarse.hi[d], end * n + shared);
      tiles[d]          = (end - up.cell[d] + (down.coarse.hi[d] > end * n) + size[d] - 1) / size[d];
    }
    down.layers = tiles[2];
    downgrid    = dim3(tiles[0], tiles[1], 1);
    PetscCall(AllowShared(MixedProlongKernel<T, K, DIM, SHARED_X, SHARED_Z>, S::SIZE * sizeof(T)));
    PetscCall(CutMarches(MixedRestrictKernel<T, K, DIM, SHARED_X, SHARED_Z>, S::RESTRICT_THREADS, S::SIZE * sizeof(T),
                         (size_t)tiles[0] * tiles[1], tiles[2], SHARED_Z, &down.chunk, &downgrid.z));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static Layout direction(const Layout &l, const int dir[3])
  {
    const ptrdiff_t stride[3] = {1, l.row, l.plane};
    Layout          to        = l;

    to.row   = stride[dir[1]];
    to.plane = stride[dir[2]];
    return to;
  }

  PetscErrorCode prolong(const void *coarse, void *fine, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    if (!upgrid.x || !upgrid.y || !upgrid.z) PetscFunctionReturn(PETSC_SUCCESS);
    MixedProlongKernel<T, K, DIM, SHARED_X, SHARED_Z>
      <<<upgrid, S::THREADS, S::SIZE * sizeof(T), stream>>>(m, up, (const T *)coarse, (T *)fine);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode restrict_(const void *fine, void *coarse, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    if (!downgrid.x || !downgrid.y || !downgrid.z) PetscFunctionReturn(PETSC_SUCCESS);
    MixedRestrictKernel<T, K, DIM, SHARED_X, SHARED_Z>
      <<<downgrid, S::RESTRICT_THREADS, S::SIZE * sizeof(T), stream>>>(m, down, (const T *)fine, (T *)coarse);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int K, int DIM, bool SHARED_X, bool SHARED_Z>
static PetscErrorCode MixedTransferCreate(const PatchFDTransferDesc *desc, const int dir[3], MixedTransferFast **fast)
{
  MixedTransferDegree<T, K, DIM, SHARED_X, SHARED_Z> *p = new MixedTransferDegree<T, K, DIM, SHARED_X, SHARED_Z>();

  PetscFunctionBegin;
  *fast = p;
  PetscCall(p->create(desc, dir));
  if (GridFits(PetscMax(p->upgrid.y, p->downgrid.y), p->upgrid.z)) PetscFunctionReturn(PETSC_SUCCESS);
  delete p;
  *fast = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, int DIM>
PetscErrorCode MixedTransferFastCreate(const PatchFDTransferDesc *desc, PetscInt k, int shared, MixedTransferFast **fast)
{
  /* lines are in the direction in which nodes are shared, unless that is x; the point of a problem in 2D is the direction across */
  const int lines = shared > 0 ? shared : DIM - 1, dir[3] = {0, 3 - lines, lines};

  PetscFunctionBegin;
  PetscCall((ForDegree<1, mixed_fast_degrees>(k, [&](auto degree) {
    PetscFunctionBegin;
    if (shared == 0) PetscCall((MixedTransferCreate<T, degree, DIM, true, false>(desc, dir, fast)));
    else if (shared > 0) PetscCall((MixedTransferCreate<T, degree, DIM, false, true>(desc, dir, fast)));
    else PetscCall((MixedTransferCreate<T, degree, DIM, false, false>(desc, dir, fast)));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::MixedTransferFastCreate<INSTANCE_T, INSTANCE_DIM>(const PatchFDTransferDesc *, PetscInt, int,
                                                                                   MixedTransferFast **);
