/*
  Transfers between a mesh and the mesh of its halved cells, both of degree K, with the same matrix P for all cells and directions, or by
  place: with one for each cell of a direction.

  A block of threads owns a tile of Q x MY coarse cells in x and y, W = 2 K Q by H = 2 K MY fine nodes, one thread a fine node, and
  marches through z, KZ = K MZ coarse planes and twice as many fine ones a step.  A thread's z-line of the step, fine values and coarse
  ones of which the last is the first of the next step, is in registers, and the matrix between them a kernel parameter: operands from
  the constant bank, or by place in global memory, where all threads want the same number.  Consecutive lanes are consecutive in x wherever
  global memory is accessed.

    prolongation:  coarse planes to shared memory (asynchronously, a step ahead), contraction in x, from there in y to the z-lines'
                   coarse values, z, added to the fine values, which were loaded a step ahead, too.
    restriction:   z, contraction in y and in x through shared memory, and added to the coarse values with atomics: tiles share surfaces.

  A cell has the fine nodes 0 ... 2 K - 1; the last node of the mesh is node 0 of one more cell without others, which gets its own tile
  (step, for z) where it is not a Dirichlet node.  Row 0 of P is a unit vector: coarse vertices are fine nodes.

  In 2D a tile is a row, directions 1 and 2 change places: the march is in y, and the contraction in x gives the lines' coarse values.
*/
#include "base/dispatch.cuh"
#include "transfer/transfer.cuh"
#include <cuda_pipeline.h>
#include <algorithm>
#include <utility>

namespace patchfd
{

/* the coarse cells from cell[] on; `fine` lies inside of them */
struct TransferGeometry {
  int    cell[3];
  int    steps; /* of a block's march */
  Layout cl, fl;
  Range  coarse, fine;
};

/* rows 0 ... 2 K - 1 */
template <typename T, int K, bool PLACE>
struct TransferMatrix {
  T P[2 * K * (K + 1)];

  /* entry a of row first + r of direction d, rows of all cells one after another; `first` is that of a cell */
  __device__ __forceinline__ T at(int, int, int r, int a) const { return P[r % (2 * K) * (K + 1) + a]; }
  /* entry e of the rows from there on */
  __device__ __forceinline__ T entry(int, int, int e) const { return P[e]; }
};
template <typename T, int K>
struct TransferMatrix<T, K, true> {
  const T *P[3]; /* in device memory, from the first cell on; cells that do not exist have the first row of the others */

  __device__ __forceinline__ T at(int d, int first, int r, int a) const { return __ldg(P[d] + (first + r) * (K + 1) + a); }
  __device__ __forceinline__ T entry(int d, int first, int e) const { return __ldg(P[d] + first * (K + 1) + e); }
};

/* cells of a tile in x and y, and of a step: a few hundred threads with about eight fine values each, rows as long as can be */
template <int K, int DIM>
struct TransferTile {
  static constexpr int Q = 128 / K, MY = 0, MZ = K == 1 ? 4 : (K <= 3 ? 2 : 1);
};
template <int K>
struct TransferTile<K, 3> {
  static constexpr int Q  = K == 1 ? 32 : (K == 2 ? 16 : (K == 3 ? 11 : (K == 4 ? 8 : (K == 5 ? 4 : (K <= 8 ? 2 : 1))))),
                       MY = K == 1 ? 2 : 1, MZ = K == 1 ? 4 : (K == 2 ? 2 : 1);
};

template <typename T, int K, int DIM, bool PLACE>
struct TransferSizes : TransferTile<K, DIM> {
  using Tile              = TransferTile<K, DIM>;
  static constexpr int KZ = K * Tile::MZ;                                        /* coarse planes of a step */
  static constexpr int W = 2 * K * Tile::Q, H = DIM == 3 ? 2 * K * Tile::MY : 1; /* the tile's fine nodes */
  static constexpr int WC = K * Tile::Q + 1, HC = K * Tile::MY + 1;              /* its coarse nodes */
  static constexpr int THREADS = RoundUp(W * H, 32);
  /* resident threads on a multiprocessor: as many as can be without many spilled registers */
  static constexpr int RESIDENT = DIM == 2 && sizeof(T) * KZ >= 64 ? 512 : 1024, BLOCKS = RESIDENT / THREADS;
  /* rows of matrices in shared memory: of all cells of the tile in x and y, or of one */
  static constexpr int RX = PLACE ? W : 2 * K, RY = PLACE ? H : 2 * K, RC = PLACE ? Tile::Q * (K + 1) : K + 1;
  /* the restriction's rows in x; the arrays behind them begin where 16 bytes can be read */
  static constexpr int WEIGHTS = RoundUp(RC * (2 * K + 1), 4);
  /* the restriction's contraction in x: GROUPS rows side by side, LANES threads each */
  static constexpr int LANES = Tile::Q * (K + 1), GROUPS = THREADS / LANES;
};

/* where a thread is: its block's cells, and the planes of its fine line, numbered from the block's first, that it reads or writes */
template <typename S, int K>
struct TransferPlace {
  int       cell[3], steps, lo, hi;
  ptrdiff_t line;

  __device__ TransferPlace(const TransferGeometry &g, int i, int j)
  {
    cell[0] = g.cell[0] + blockIdx.x * S::Q;
    cell[1] = g.cell[1] + blockIdx.y * S::MY;
    cell[2] = g.cell[2] + blockIdx.z * g.steps * S::MZ;
    i += cell[0] * 2 * K;
    j += cell[1] * 2 * K;

    const int  k = cell[2] * 2 * K, planes = min(g.steps * 2 * S::KZ, g.fine.hi[2] - k);
    const bool active = threadIdx.x < S::W * S::H && i >= g.fine.lo[0] && i < g.fine.hi[0] && j >= g.fine.lo[1] && j < g.fine.hi[1];

    steps = (planes + 2 * S::KZ - 1) / (2 * S::KZ);
    lo    = max(0, g.fine.lo[2] - k);
    hi    = active ? planes : 0;
    line  = g.fl.at(i, j, k);
  }
  __device__ bool has(int k) const { return k >= lo && k < hi; }
};

/* ---- prolongation ---- */

/* the coarse planes of a step, all but the first, which is the last of the step before; the step before the first has no others */
template <typename T, int K, int DIM, bool PLACE>
__device__ inline void FetchCoarse(const TransferGeometry &g, const TransferPlace<TransferSizes<T, K, DIM, PLACE>, K> &place, int step,
                                   const T *from, T *coarse)
{
  using S              = TransferSizes<T, K, DIM, PLACE>;
  constexpr int COARSE = S::HC * S::WC;

#pragma unroll 1
  for (int e = (int)threadIdx.x + (step < 0 ? (S::KZ - 1) * COARSE : 0); e < S::KZ * COARSE; e += S::THREADS) {
    const int ci = place.cell[0] * K + e % S::WC, cj = place.cell[1] * K + e / S::WC % S::HC,
              ck = (place.cell[2] + step * S::MZ) * K + 1 + e / COARSE;

    if (g.coarse.contains(ci, cj, ck)) __pipeline_memcpy_async(&coarse[e], &from[g.cl.at(ci, cj, ck)], sizeof(T));
    else coarse[e] = 0;
  }
  __pipeline_commit();
}

/* w, the coarse values of the thread's z-line, all but the first: row r of the `rows` rows of P times numbers that are `stride` apart, and
   `plane` from one w to the next */
template <typename T, int K, int KZ>
__device__ inline void ContractToLine(const T *weights, int rows, int r, const T *in, int stride, int plane, T w[KZ + 1])
{
  w[0] = w[KZ];
#pragma unroll
  for (int k = 1; k <= KZ; k++) w[k] = 0;
#pragma unroll
  for (int a = 0; a <= K; a++) {
    const T p = weights[a * rows + r];

#pragma unroll
    for (int k = 0; k < KZ; k++) w[k + 1] += p * in[a * stride + k * plane];
  }
}

/* lines = the contraction in x of the tile's coarse planes, node i of their rows from row j on */
template <typename T, int K, int DIM, bool PLACE>
__device__ inline void ProlongX(const T *weights, int step, int i, int j, const T *coarse, T *lines)
{
  using S        = TransferSizes<T, K, DIM, PLACE>;
  const int cell = i / (2 * K), r = i % S::RX;
  T         p[K + 1];

#pragma unroll
  for (int a = 0; a <= K; a++) p[a] = weights[a * S::RX + r];
#pragma unroll 1
  for (int row = j + (step < 0 ? (S::KZ - 1) * S::HC : 0); row < S::KZ * S::HC; row += S::H) {
    T v = 0;

#pragma unroll
    for (int a = 0; a <= K; a++) v += p[a] * coarse[row * S::WC + cell * K + a];
    lines[row * S::W + i] = v;
  }
}

/* v += row k of P of the step whose first row is `first`, times the coarse values of its cell of the z-line */
template <typename T, int K, bool PLACE>
__device__ inline void ProlongZ(const TransferMatrix<T, K, PLACE> &m, int first, int k, const T *w, T &v)
{
  const T *line = w + k / (2 * K) * K;

  if (k % (2 * K)) {
#pragma unroll
    for (int a = 0; a <= K; a++) v += m.at(2, first, k, a) * line[a];
  } else v += line[0];
}

template <typename T, int K, int DIM, bool PLACE>
__launch_bounds__(TransferSizes<T, K, DIM, PLACE>::THREADS, TransferSizes<T, K, DIM, PLACE>::BLOCKS) static __global__
  void ProlongKernel(const __grid_constant__ TransferMatrix<T, K, PLACE> m, const __grid_constant__ TransferGeometry g,
                     const T *__restrict__ from, T *__restrict__ to)
{
  using S          = TransferSizes<T, K, DIM, PLACE>;
  constexpr int KZ = S::KZ, COARSE = S::HC * S::WC; /* coarse nodes of a plane */
  __shared__ T  weightsx[(K + 1) * S::RX], weightsy[PLACE ? (K + 1) * S::RY : 1], coarse[KZ * COARSE],
    lines[DIM == 3 ? KZ * S::HC * S::W : 1];
  const int                 t = threadIdx.x, i = t % S::W, j = min(t / S::W, S::H - 1);
  T                         w[KZ + 1] = {0}, f[2 * KZ];
  const TransferPlace<S, K> place(g, i, j);
  const int                 first[3] = {(int)blockIdx.x * S::W, (int)blockIdx.y * S::H, (place.cell[2] - g.cell[2]) * 2 * K};
  T                        *wy       = PLACE ? weightsy : weightsx; /* equal cells have the same rows in all directions */

  for (int e = t; e < (K + 1) * S::RX; e += S::THREADS) weightsx[e % (K + 1) * S::RX + e / (K + 1)] = m.entry(0, first[0], e);
  for (int e = t; PLACE && DIM == 3 && e < (K + 1) * S::RY; e += S::THREADS)
    wy[e % (K + 1) * S::RY + e / (K + 1)] = m.entry(1, first[1], e);
  FetchCoarse<T, K, DIM, PLACE>(g, place, -1, from, coarse);
  to += place.line;
  for (int step = -1; step < place.steps; step++) { /* step -1 is for the first coarse plane, and to load the first fine values */
    __pipeline_wait_prior(0);
    __syncthreads(); /* the coarse planes are there, and nobody reads `lines` any more */
    if (DIM == 2) ContractToLine<T, K, KZ>(weightsx, S::RX, i % S::RX, coarse + i / (2 * K) * K, 1, COARSE, w);
    else if (t < S::W * S::H) ProlongX<T, K, DIM, PLACE>(weightsx, step, i, j, coarse, lines);
    __syncthreads(); /* nobody reads `coarse` any more, and `lines` are there */
    if (step + 1 < place.steps) FetchCoarse<T, K, DIM, PLACE>(g, place, step + 1, from, coarse);
    if (DIM == 3) ContractToLine<T, K, KZ>(wy, S::RY, j % S::RY, lines + j / (2 * K) * K * S::W + i, S::W, S::HC * S::W, w);
    if (step >= 0) {
#pragma unroll
      for (int k = 0; k < 2 * KZ; k++, to += g.fl.plane) {
        ProlongZ(m, first[2] + 2 * KZ * step, k, w, f[k]);
        if (place.has(2 * KZ * step + k)) *to = f[k];
      }
    }
#pragma unroll
    for (int k = 0; k < 2 * KZ; k++) f[k] = place.has(2 * KZ * (step + 1) + k) ? to[k * g.fl.plane] : T(0);
  }
}

/* ---- restriction ---- */

/* w, the coarse values of the thread's z-line, from its fine ones f, the rows from `first` on; w[0] has what the step before gives */
template <typename T, int K, int KZ, bool PLACE>
__device__ inline void RestrictZ(const TransferMatrix<T, K, PLACE> &m, int first, const T f[2 * KZ], T w[KZ + 1])
{
  w[0] = w[KZ];
#pragma unroll
  for (int k = 1; k <= KZ; k++) w[k] = 0;
#pragma unroll
  for (int k = 0; k < 2 * KZ; k++) {
    T *line = w + k / (2 * K) * K;

    if (k % (2 * K)) {
#pragma unroll
      for (int a = 0; a <= K; a++) line[a] += m.at(2, first, k, a) * f[k];
    } else line[0] += f[k];
  }
}

/* the tile's rows of P in y: those of all cells, or by place in shared memory, from where the compiler does not keep them in registers,
   which are too few */
template <typename T, int K, bool PLACE>
struct TransferTileRows {
  const TransferMatrix<T, K, PLACE> &m;

  __device__ __forceinline__ T at(int r, int a) const { return m.at(1, 0, r, a); }
};
template <typename T, int K>
struct TransferTileRows<T, K, true> {
  const T *rows;

  __device__ __forceinline__ T at(int r, int a) const { return rows[r * (K + 1) + a]; }
};

/* rows = the contraction in y of the planes in `in`, a thread a line of the tile */
template <typename T, int K, int DIM, bool PLACE>
__device__ inline void RestrictY(const TransferTileRows<T, K, PLACE> &m, int planes, const T *in, T *rows)
{
  using S            = TransferSizes<T, K, DIM, PLACE>;
  constexpr int FINE = S::H * S::W;

#pragma unroll 1
  for (int e = threadIdx.x; e < planes * S::W; e += S::THREADS) {
    const int i = e % S::W, k = e / S::W;
    const T  *x = in + k * FINE + i;
    T        *y = rows + k * S::HC * S::W + i, v[K + 1] = {0};

    for (int c = 0; c < S::MY; c++, x += 2 * K * S::W, y += K * S::W) {
      v[0] = v[K] + x[0];
#pragma unroll
      for (int a = 1; a <= K; a++) v[a] = 0;
#pragma unroll
      for (int r = 1; r < 2 * K; r++) {
        const T s = x[r * S::W];

#pragma unroll
        for (int a = 0; a <= K; a++) v[a] += m.at(c * 2 * K + r, a) * s;
      }
#pragma unroll
      for (int a = 0; a < K; a++) y[a * S::W] = v[a];
    }
    y[0] = v[K];
  }
}

/*
  to += the contraction in x of the rows in `in`, a thread a coarse node of a cell.  All threads take part: cells' common nodes are
  summed by a shuffle
*/
template <typename T, int K, int DIM, bool PLACE>
__device__ inline void RestrictX(const TransferGeometry &g, const TransferPlace<TransferSizes<T, K, DIM, PLACE>, K> &place, int step,
                                 int planes, const T *weights, const T *in, T *to)
{
  using S     = TransferSizes<T, K, DIM, PLACE>;
  const int t = threadIdx.x, cell = t % S::LANES / (K + 1), a1 = t % (K + 1), row1 = t / S::LANES;

#pragma unroll 1
  for (int first = 0; first < planes * S::HC; first += S::GROUPS) {
    const int row = first + row1, ci = (place.cell[0] + cell) * K + a1, cj = place.cell[1] * K + row % S::HC,
              ck    = (place.cell[2] + step * S::MZ) * K + row / S::HC;
    const bool work = t < S::LANES * S::GROUPS && row < planes * S::HC;
    const bool take = t % 32 > 0 && a1 == 0 && cell > 0, give = t % 32 < 31 && a1 == K && cell < S::Q - 1;
    T          v = 0;

    if (work) {
#pragma unroll
      for (int r = 0; r < 2 * K; r++) v += weights[t % S::RC * (2 * K + 1) + r] * in[row * S::W + cell * 2 * K + r];
    }
    const T before = __shfl_up_sync(0xffffffff, v, 1);

    if (take) v += before;
    if (work && !give && g.coarse.contains(ci, cj, ck)) atomicAdd(&to[g.cl.at(ci, cj, ck)], v);
  }
}

/* my = m: constants that are used at two places of a loop would be kept in registers */
template <typename T, int K, int DIM, bool PLACE>
__launch_bounds__(TransferSizes<T, K, DIM, PLACE>::THREADS, TransferSizes<T, K, DIM, PLACE>::BLOCKS) static __global__
  void RestrictKernel(const __grid_constant__ TransferMatrix<T, K, PLACE> m, const __grid_constant__ TransferMatrix<T, K, PLACE> my,
                      const __grid_constant__ TransferGeometry g, const T *__restrict__ from, T *__restrict__ to)
{
  using S                     = TransferSizes<T, K, DIM, PLACE>;
  constexpr int            KZ = S::KZ, FINE = S::H * S::W; /* fine nodes of a plane */
  extern __shared__ double shared_memory[];
  /* in 2D both are rows, of even and odd steps */
  T                        *weights = (T *)shared_memory, *lines = weights + S::WEIGHTS, *rows = lines + KZ * FINE;
  const int                 t = threadIdx.x;
  T                         f[2 * KZ], w[KZ + 1] = {0};
  const TransferPlace<S, K> place(g, t % S::W, t / S::W);
  const int                 first[3] = {(int)blockIdx.x * S::W, (int)blockIdx.y * S::H, (place.cell[2] - g.cell[2]) * 2 * K};
  const auto                ry       = [&]() -> TransferTileRows<T, K, PLACE> {
    if constexpr (PLACE) return {rows + KZ * S::HC * S::W};
    else return {my};
  }();

  if constexpr (PLACE && DIM == 3)
    for (int e = t; e < (K + 1) * S::RY; e += S::THREADS) rows[KZ * S::HC * S::W + e] = m.entry(1, first[1], e);
  for (int e = t; e < 2 * K * S::RC; e += S::THREADS) { /* entry a of row r of a cell */
    const int cell = PLACE ? e / (2 * K * (K + 1)) : 0, r = PLACE ? e / (K + 1) % (2 * K) : e / (K + 1);

    weights[(cell * (K + 1) + e % (K + 1)) * (2 * K + 1) + r] = m.entry(0, first[0], e);
  }
  from += place.line;
#pragma unroll
  for (int k = 0; k < 2 * KZ; k++, from += g.fl.plane) f[k] = place.has(k) ? *from : T(0);
  for (int step = 0; step <= place.steps; step++) { /* the last one is for the last coarse plane */
    const int planes = step < place.steps ? KZ : 1;
    T        *in     = DIM == 2 && step % 2 ? rows : lines;

    RestrictZ<T, K, KZ>(m, first[2] + 2 * KZ * step, f, w);
    if (t < FINE) {
#pragma unroll
      for (int k = 0; k < KZ; k++) in[k * FINE + t] = w[k];
    }
#pragma unroll
    for (int k = 0; k < 2 * KZ; k++, from += g.fl.plane) f[k] = place.has(2 * KZ * (step + 1) + k) ? *from : T(0);
    __syncthreads(); /* the lines are there */
    if (DIM == 3) {
      RestrictY<T, K, DIM, PLACE>(ry, planes, in, rows);
      __syncthreads(); /* the rows are, and nobody reads the lines any more */
      in = rows;
    }
    RestrictX<T, K, DIM, PLACE>(g, place, step, planes, weights, in, to);
  }
}

/* ---- how the generic part calls it ---- */

template <typename T, int K, int DIM, bool PLACE>
struct TransferFastDegree : TransferFast {
  using S = TransferSizes<T, K, DIM, PLACE>;
  /* of the restriction */
  static constexpr size_t shared = (S::WEIGHTS + S::KZ * S::W * (S::H + (DIM == 2 ? 1 : S::HC)) +
                                    (PLACE && DIM == 3 ? (K + 1) * S::RY : 0)) *
                                   sizeof(T);
  TransferMatrix<T, K, PLACE> m;
  TransferGeometry            g, prolonged, restricted;
  int                         n[3]; /* tiles */

  TransferFastDegree(const PatchFDTransferDesc *desc, int multiprocessors)
  {
    const int dir[3]  = {0, DIM == 2 ? 2 : 1, DIM == 2 ? 1 : 2}; /* the kernels' directions */
    const int tile[3] = {S::W, S::H, 2 * S::KZ};

    if constexpr (!PLACE) std::copy(desc->dir[0]->P, desc->dir[0]->P + 2 * K * (K + 1), m.P);
    g.cl = Layout(desc->cbox);
    g.fl = Layout(desc->fbox);
    if (DIM == 2) {
      std::swap(g.cl.row, g.cl.plane);
      std::swap(g.fl.row, g.fl.plane);
    }
    for (int d = 0; d < 3; d++) {
      const PatchFDEmbedding *e     = desc->dir[dir[d]];
      const PetscInt         *cells = desc->cells[dir[d]], *fine = desc->fine[dir[d]];

      g.cell[d]      = (int)cells[0];
      g.coarse.lo[d] = (int)desc->coarse[dir[d]][0];
      g.coarse.hi[d] = (int)desc->coarse[dir[d]][1];
      g.fine.lo[d]   = (int)PetscMax(fine[0], cells[0] * (e->nf - 1));
      g.fine.hi[d]   = (int)PetscMin(fine[1], cells[1] * (e->nf - 1) + (cells[1] == e->ncells));
      n[d]           = (g.fine.hi[d] - (int)(cells[0] * (e->nf - 1)) + tile[d] - 1) / tile[d];
    }
    prolonged  = cut(16 * (size_t)multiprocessors);
    restricted = cut(15 * (size_t)multiprocessors);
  }

  /* by place: the rows of the cells of all tiles, and of one step more */
  PetscErrorCode upload(const PatchFDTransferDesc *desc, PlanMemory *memory)
  {
    const int cells[3] = {S::Q, DIM == 2 ? 0 : S::MY, S::MZ};

    PetscFunctionBegin;
    if constexpr (PLACE) {
      for (int d = 0; d < 3; d++) {
        const PatchFDEmbedding *e       = desc->dir[DIM == 2 && d ? 3 - d : d];
        const size_t            entries = 2 * K * (K + 1), count = (size_t)(n[d] + 1) * cells[d];
        std::vector<PetscReal>  rows(count * entries, 0);

        for (size_t c = 0; c < count; c++) {
          const PetscInt cell = g.cell[d] + (PetscInt)c;

          if (cell < e->ncells)
            std::copy(e->P + e->cls[cell] * (PetscInt)(e->nf * e->nc), e->P + e->cls[cell] * (PetscInt)(e->nf * e->nc) + entries,
                      &rows[c * entries]);
          else rows[c * entries] = 1;
        }
        PetscCall(memory->upload(rows.size(), rows.data(), &m.P[d]));
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* enough blocks to fill the device, few enough to share work between the steps of a march; each kernel fills its last wave best with a
     number of its own */
  TransferGeometry cut(size_t blocks) const
  {
    TransferGeometry part = g;

    for (part.steps = 16; part.steps > 1 && (size_t)n[0] * n[1] * n[2] / part.steps < blocks;) part.steps /= 2;
    return part;
  }
  bool fits() const { return GridFits(n[1], PetscMax(grid(prolonged).z, grid(restricted).z)); }
  dim3 grid(const TransferGeometry &part) const { return dim3(n[0], n[1], (n[2] + part.steps - 1) / part.steps); }

  PetscErrorCode prolong(const void *coarse, void *fine, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    ProlongKernel<T, K, DIM, PLACE><<<grid(prolonged), S::THREADS, 0, stream>>>(m, prolonged, (const T *)coarse, (T *)fine);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode restrict_(const void *fine, void *coarse, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    RestrictKernel<T, K, DIM, PLACE><<<grid(restricted), S::THREADS, shared, stream>>>(m, m, restricted, (const T *)fine, (T *)coarse);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int DIM, bool PLACE>
PetscErrorCode TransferFastCreate(const PatchFDTransferDesc *desc, PlanMemory *memory, TransferFast **fast)
{
  int multiprocessors;

  PetscFunctionBegin;
  PetscCall(Multiprocessors(&multiprocessors));
  PetscCall((ForDegree<1, transfer_fast_degrees(DIM, PLACE)>(desc->dir[0]->nc - 1, [&](auto degree) {
    TransferFastDegree<T, degree, DIM, PLACE> *p = new TransferFastDegree<T, degree, DIM, PLACE>(desc, multiprocessors);

    PetscFunctionBegin;
    if (!p->fits()) {
      delete p;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    *fast = p;
    PetscCall(p->upload(desc, memory));
    PetscCall(AllowShared(RestrictKernel<T, degree, DIM, PLACE>, p->shared));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::TransferFastCreate<INSTANCE_T, INSTANCE_DIM, INSTANCE_PLACE>(const PatchFDTransferDesc *, PlanMemory *,
                                                                                              TransferFast **);
