/*
  x = beta x + omega A_j^{-1} r with the inverse in parity blocks (PatchFDDense), for patches of N = 2 K - 1 nodes that have parity in all directions: by
  tensor instructions.

  A block of threads has COLUMNS patches.  Their numbers lie in shared memory as [entry][patch], the entries of each parity block together, x fastest:
  the inverse is a block diagonal matrix times COLUMNS columns.  An octet of mirrored nodes becomes eight entries, one of each block, in the registers
  of the thread that brings it from r, and the same on the way back to x.

  A warp has several tiles of 16 rows; an mma of 16 x 8 x 8 multiplies 8 columns of a tile.  Each 16 x 8 piece of the inverse (zero beyond the block) lies
  in global memory as the lanes load it: words of 16 bytes of lanes 0 .. 31, which hold a lane's four numbers (see smoother_mma.cuh for which).  All
  sums stay in registers until no warp reads the entries any more.

  The inverse is read once by each block of threads, out of L2: (K^2 + (K - 1)^2)^3 numbers for COLUMNS K^3 unknowns.
*/
#pragma once
#include "plan.cuh"
#include "smoother_mma.cuh"
#include "terms.cuh"

namespace patchfd
{

/* c += a b, 16 x 8 x 8 */
static __device__ __forceinline__ void TermsMma(double c[4], const double a[4], const double b[2])
{
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#endif
}

/* in two parts of 11 bits each, less the product of the lower ones */
static __device__ __forceinline__ void TermsMma(float c[4], const float a[4], const float b[2])
{
  float(*sum)[2] = (float(*)[2])c;
  unsigned ah[2][2], al[2][2], bh[2], bl[2];

#pragma unroll
  for (int i = 0; i < 4; i++) Split(a[i], ah[i % 2][i / 2], al[i % 2][i / 2]);
#pragma unroll
  for (int i = 0; i < 2; i++) Split(b[i], bh[i], bl[i]);
  MmaHalf<float>::add(sum, al, bh);
  MmaHalf<float>::add(sum, ah, bl);
  MmaHalf<float>::add(sum, ah, bh);
}

template <typename T, int K, int DIM>
struct TermsDenseShape {
  static constexpr int N = 2 * K - 1, BLOCKS = 1 << DIM, ENTRIES = DIM == 3 ? N * N * N : N * N, OCTETS = DIM == 3 ? K * K * K : K * K;

  __host__ __device__ static constexpr int half(int b, int d) { return d >= DIM ? 1 : (b >> d & 1 ? K - 1 : K); } /* nodes of direction d in block b */
  __host__ __device__ static constexpr int size(int b) { return half(b, 0) * half(b, 1) * half(b, 2); }
  __host__ __device__ static constexpr int tiles(int b) { return (size(b) + 15) / 16; }
  __host__ __device__ static constexpr int pieces(int b) { return (size(b) + 7) / 8; } /* of a tile */
  /* of the blocks before b */
  __host__ __device__ static constexpr int entry(int b) { return b == 0 ? 0 : entry(b - 1) + size(b - 1); }
  __host__ __device__ static constexpr int tile(int b) { return b == 0 ? 0 : tile(b - 1) + tiles(b - 1); }
  __host__ __device__ static constexpr int piece(int b) { return b == 0 ? 0 : piece(b - 1) + tiles(b - 1) * pieces(b - 1); }

  static constexpr int warps[2][7] = {{0, 0, 4, 4, 4, 5, 5}, {0, 0, 8, 6, 8, 16, 16}};
  static constexpr int GROUPS = 2, COLUMNS = 8 * GROUPS, WARPS = warps[DIM - 2][K], THREADS = 32 * WARPS, TILES = (tile(BLOCKS) + WARPS - 1) / WARPS; /* TILES: of a warp */
  static constexpr int ROW = sizeof(T) == 8 ? COLUMNS + 4 : COLUMNS + 8; /* rows of entries: a piece's columns lie in different banks */
  static constexpr int SIZE = (ENTRIES + 7) * ROW;
};

/* a word of a piece */
template <typename T>
struct alignas(16) TermsWord {
  static constexpr int LENGTH = 16 / sizeof(T), COUNT = 4 / LENGTH; /* COUNT: for a lane's four numbers */
  T                    a[LENGTH];
};

/* tile number t: its parity block and first row there */
template <typename F>
struct TermsTile {
  int entry, size, row, pieces, piece;

  __device__ __forceinline__ TermsTile(int t)
  {
    entry = size = row = pieces = piece = 0;
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++) {
      if (t < F::tile(b) || t >= F::tile(b + 1)) continue;
      entry  = F::entry(b);
      size   = F::size(b);
      row    = 16 * (t - F::tile(b));
      pieces = F::pieces(b);
      piece  = F::piece(b) + (t - F::tile(b)) * F::pieces(b);
    }
  }
};

/* the nodes that mirror node (i, j, k) of the lower octant, i, j, k < K; those in the middle are their own mirror images */
template <typename T, int K, int DIM>
struct TermsOctet {
  using F = TermsDenseShape<T, K, DIM>;
  int at[3];
  T   v[F::BLOCKS];

  __device__ __forceinline__ TermsOctet(int i, int jk)
  {
    at[0] = i;
    at[1] = jk % K;
    at[2] = DIM == 3 ? jk / K : 0;
  }
  __device__ __forceinline__ bool exists(int b) const
  {
    bool there = true;

#pragma unroll
    for (int d = 0; d < DIM; d++) there = there && !((b >> d & 1) && at[d] == K - 1);
    return there;
  }
  __device__ __forceinline__ int node(int b, int d) const { return d < DIM && (b >> d & 1) ? F::N - 1 - at[d] : at[d]; }
  __device__ __forceinline__ int entry(int b) const { return F::entry(b) + (at[2] * F::half(b, 1) + at[1]) * F::half(b, 0) + at[0]; }
  /* sums and differences of mirrored numbers, and back */
  __device__ __forceinline__ void butterfly()
  {
#pragma unroll
    for (int d = 0; d < DIM; d++) {
#pragma unroll
      for (int b = 0; b < F::BLOCKS; b++) {
        if (b >> d & 1) continue;
        const T a = v[b], c = v[b | 1 << d];

        v[b]          = a + c;
        v[b | 1 << d] = a - c;
      }
    }
  }
};

/* first node of the block's patch p, in the array; -1 if there is none */
template <int K, int DIM>
__device__ __forceinline__ ptrdiff_t TermsOrigin(const ColorPatches &g, size_t item)
{
  int number[3];

  return g.find(item, number) ? g.l.at(number[0] * K + 1, number[1] * K + 1, DIM == 3 ? number[2] * K + 1 : 0) : -1;
}

/* f(octet, patch) for all octets of the block's patches */
template <typename T, int K, int DIM, typename Function>
__device__ __forceinline__ void TermsForOctets(Function f)
{
  using F = TermsDenseShape<T, K, DIM>;

  for (int q = threadIdx.x; q < F::OCTETS * F::COLUMNS; q += F::THREADS) f(TermsOctet<T, K, DIM>(q % K, q / (K * F::COLUMNS)), q / K % F::COLUMNS);
}

template <typename T, int K, int DIM>
__launch_bounds__(TermsDenseShape<T, K, DIM>::THREADS) static __global__
void TermsDenseKernel(const TermsWord<T> *__restrict__ pieces, const __grid_constant__ ColorPatches g, T omega, T beta, const T *r, T *x)
{
  using F    = TermsDenseShape<T, K, DIM>;
  using Word = TermsWord<T>;
  extern __shared__ double2 terms_shared[];
  __shared__ ptrdiff_t      origin[F::COLUMNS];
  T                        *sm = (T *)terms_shared, sum[F::TILES][F::GROUPS][4];
  const int                 lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  if (threadIdx.x < F::COLUMNS) origin[threadIdx.x] = TermsOrigin<K, DIM>(g, blockIdx.x * (size_t)F::COLUMNS + threadIdx.x);
  for (int q = threadIdx.x; q < 7 * F::ROW; q += F::THREADS) sm[F::ENTRIES * F::ROW + q] = 0; /* meets zeros of the last pieces */
  __syncthreads();
  TermsForOctets<T, K, DIM>([&](TermsOctet<T, K, DIM> o, int p) {
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++) o.v[b] = origin[p] >= 0 && o.exists(b) ? r[origin[p] + o.node(b, 0) + o.node(b, 1) * g.l.row + o.node(b, 2) * g.l.plane] : T(0);
    o.butterfly();
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++)
      if (o.exists(b)) sm[o.entry(b) * F::ROW + p] = o.v[b];
  });
  __syncthreads();
#pragma unroll
  for (int t = 0; t < F::TILES; t++) {
    const TermsTile<F> tile(warp + t * F::WARPS);
    const Word        *piece = pieces + (size_t)tile.piece * 32 * Word::COUNT + lane;
    const T           *column = sm + (tile.entry + lane % 4) * F::ROW + lane / 4;

#pragma unroll
    for (int n = 0; n < F::GROUPS; n++) sum[t][n][0] = sum[t][n][1] = sum[t][n][2] = sum[t][n][3] = 0;
#pragma unroll 4
    for (int l = 0; l < tile.pieces; l++) {
      T a[4];

#pragma unroll
      for (int w = 0; w < Word::COUNT; w++) {
        const Word word = piece[(l * Word::COUNT + w) * 32];

#pragma unroll
        for (int i = 0; i < Word::LENGTH; i++) a[w * Word::LENGTH + i] = word.a[i];
      }
#pragma unroll
      for (int n = 0; n < F::GROUPS; n++) {
        const T b[2] = {column[8 * l * F::ROW + 8 * n], column[(8 * l + 4) * F::ROW + 8 * n]};

        TermsMma(sum[t][n], a, b);
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < F::TILES; t++) {
    const TermsTile<F> tile(warp + t * F::WARPS);

#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int row = tile.row + lane / 4 + 8 * (i / 2);

#pragma unroll
      for (int n = 0; n < F::GROUPS; n++)
        if (row < tile.size) sm[(tile.entry + row) * F::ROW + 8 * n + 2 * (lane % 4) + i % 2] = sum[t][n][i];
    }
  }
  __syncthreads();
  TermsForOctets<T, K, DIM>([&](TermsOctet<T, K, DIM> o, int p) {
    if (origin[p] < 0) return;
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++) o.v[b] = o.exists(b) ? sm[o.entry(b) * F::ROW + p] : T(0);
    o.butterfly();
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++) {
      if (!o.exists(b)) continue;
      T *node = x + origin[p] + o.node(b, 0) + o.node(b, 1) * g.l.row + o.node(b, 2) * g.l.plane;

      *node = beta == 0 ? omega * o.v[b] : beta * *node + omega * o.v[b];
    }
  });
}

template <typename T, int K, int DIM>
struct TermsDense {
  using F = TermsDenseShape<T, K, DIM>;
  using Word = TermsWord<T>;
  T         *pieces = NULL;
  PlanMemory memory;

  /* has the kernel been compiled for a GPU with these instructions? */
  static PetscErrorCode supported(bool *yes)
  {
    cudaFuncAttributes attributes;

    PetscFunctionBegin;
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, TermsDenseKernel<T, K, DIM>));
    *yes = PetscMin(attributes.binaryVersion, attributes.ptxVersion) >= (sizeof(T) == 4 ? 80 : 90);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode create(const PatchFDDense *inverse)
  {
    std::vector<PetscReal> all((size_t)F::piece(F::BLOCKS) * 128, 0);

    PetscFunctionBegin;
    for (int b = 0; b < F::BLOCKS; b++) {
      const int n = F::size(b);

      PetscCheck(inverse->size[b] == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Block %d of an inverse has size %" PetscInt_FMT ", not %d", b, inverse->size[b], n);
      for (int t = 0; t < F::tiles(b); t++) {
        for (int l = 0; l < F::pieces(b); l++) {
          for (int q = 0; q < 128; q++) {
            const int lane = q / Word::LENGTH % 32, i = q / (32 * Word::LENGTH) * Word::LENGTH + q % Word::LENGTH, row = 16 * t + lane / 4 + 8 * (i % 2), column = 8 * l + lane % 4 + 4 * (i / 2);

            if (row < n && column < n) all[(size_t)(F::piece(b) + t * F::pieces(b) + l) * 128 + q] = inverse->block[b][row * n + column];
          }
        }
      }
    }
    PetscCall(memory.upload(all.size(), all.data(), &pieces));
    PetscCall(AllowShared(TermsDenseKernel<T, K, DIM>, F::SIZE * sizeof(T)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode solve(const ColorPatches &g, PetscReal omega, PetscReal beta, const void *r, void *x, cudaStream_t stream) const
  {
    const unsigned blocks = (unsigned)((g.items() + F::COLUMNS - 1) / F::COLUMNS);

    PetscFunctionBegin;
    TermsDenseKernel<T, K, DIM><<<blocks, F::THREADS, F::SIZE * sizeof(T), stream>>>((const Word *)pieces, g, (T)omega, (T)beta, (const T *)r, (T *)x);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

} // namespace patchfd
