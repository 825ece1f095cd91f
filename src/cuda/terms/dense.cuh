/*
  x = beta x + omega A_j^{-1} r with the inverse in parity blocks (PatchFDDense), for patches of N = 2 K - 1 nodes that have parity in all
  directions: by tensor instructions.

  A block of threads has COLUMNS patches.  Their numbers lie in shared memory as [entry][patch], the entries of each parity block together,
  x fastest: the inverse is a block diagonal matrix times COLUMNS columns.  An octet of mirrored nodes becomes eight entries, one of each
  block, in the registers of the thread that brings it from r, and the same on the way back to x.

  A warp has several tiles of 16 rows; an instruction multiplies 8 columns of a piece of a tile, 16 x DEPTH.  A piece (zero beyond the
  block) lies in global memory as the lanes load it: words of 16 bytes of lanes 0 .. 31.  All sums stay in registers until no warp reads
  the entries any more.

  The products may have less precision than r and x: TermsProduct says which, and whether they are with the inverse or, twice, with a factor
  of it.

  The inverse is read once by each block of threads, out of L2: (K^2 + (K - 1)^2)^3 numbers for COLUMNS K^3 unknowns.
*/
#pragma once
#include "base/plan.cuh"
#include "base/reciprocal.cuh"
#include "smoother/mma.cuh"
#include "terms/terms.cuh"
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <lapacke.h>

namespace patchfd
{

/*
  How a tile's piece and columns are multiplied.  Number: of the entries and sums; Store: of the matrices.  WORDS of 16 bytes of a lane
  make up a piece. Number i of lane (q, r) = (lane / 4, lane % 4) is at row q + 8 row(i), column column(r, i) of the piece, and the
  columns' entries that it meets are column(r, .) as well.  FACTORS: 2 for inverse = W W', with W the lower Cholesky factor of the inverse:
  rounding W leaves it definite.
*/
template <PatchFDPrecision P>
struct TermsProduct;

template <>
struct TermsProduct<PATCHFD_PRECISION_DOUBLE> {
  using Number = double;
  using Store  = double;
  /* PAD: of a row of entries: a piece's columns lie in different banks */
  static constexpr int DEPTH = 8, WORDS = 2, FACTORS = 1, PAD = 4, GPU = 90;

  __host__ __device__ static constexpr int row(int i) { return i % 2; }
  __host__ __device__ static constexpr int column(int r, int i) { return r + 4 * (i / 2); }
  static Store                             round(PetscReal a) { return a; }
  static __device__ __forceinline__ Number operand(Number a) { return a; }
  /* c += a b */
  static __device__ __forceinline__ void multiply(Number c[4], const Store a[4], const Number b[2])
  {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#endif
  }
};

/* in two parts of 11 bits each, less the product of the lower ones */
template <>
struct TermsProduct<PATCHFD_PRECISION_SINGLE> {
  using Number               = float;
  using Store                = float;
  static constexpr int DEPTH = 8, WORDS = 1, FACTORS = 1, PAD = 8, GPU = 80;

  __host__ __device__ static constexpr int row(int i) { return i % 2; }
  __host__ __device__ static constexpr int column(int r, int i) { return r + 4 * (i / 2); }
  static Store                             round(PetscReal a) { return (float)a; }
  static __device__ __forceinline__ Number operand(Number a) { return a; }
  static __device__ __forceinline__ void   multiply(Number c[4], const Store a[4], const Number b[2])
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
};

/* operands of 11 bits, rounded before they are stored */
template <>
struct TermsProduct<PATCHFD_PRECISION_TF32> : TermsProduct<PATCHFD_PRECISION_SINGLE> {
  static Store round(PetscReal a)
  {
    const float f = (float)a;
    unsigned    u;

    memcpy(&u, &f, sizeof(u));
    u = (u + 0x1000u) & 0xffffe000u; /* to nearest */
    float g;
    memcpy(&g, &u, sizeof(g));
    return g;
  }
  static __device__ __forceinline__ Number operand(Number a) { return __uint_as_float((__float_as_uint(a) + 0x1000u) & 0xffffe000u); }
  static __device__ __forceinline__ void   multiply(Number c[4], const Store a[4], const Number b[2])
  {
    const unsigned au[2][2] = {{__float_as_uint(a[0]), __float_as_uint(a[2])}, {__float_as_uint(a[1]), __float_as_uint(a[3])}},
                   bu[2]    = {__float_as_uint(b[0]), __float_as_uint(b[1])};

    MmaHalf<float>::add((float(*)[2])c, au, bu);
  }
};

/* operands of 8 bits */
template <>
struct TermsProduct<PATCHFD_PRECISION_BF16> {
  using Number               = float;
  using Store                = __nv_bfloat16;
  static constexpr int DEPTH = 16, WORDS = 1, FACTORS = 2, PAD = 4, GPU = 80;

  __host__ __device__ static constexpr int row(int i) { return i / 2 % 2; }
  __host__ __device__ static constexpr int column(int r, int i) { return 2 * r + i % 2 + 8 * (i / 4); }
  static Store                             round(PetscReal a) { return __double2bfloat16(a); }
  static __device__ __forceinline__ Number operand(Number a) { return a; }
  static __device__ __forceinline__ void   multiply(Number c[4], const Store a[8], const Number b[4])
  {
    const unsigned      *au      = (const unsigned *)a;
    const __nv_bfloat162 pair[2] = {__floats2bfloat162_rn(b[0], b[1]), __floats2bfloat162_rn(b[2], b[3])};
    const unsigned      *bu      = (const unsigned *)pair;

    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(au[0]), "r"(au[1]), "r"(au[2]), "r"(au[3]), "r"(bu[0]), "r"(bu[1]));
  }
};

/* P: TermsProduct */
template <typename P, int K, int DIM>
struct TermsDenseShape {
  using Number           = typename P::Number;
  static constexpr int N = 2 * K - 1, BLOCKS = 1 << DIM, ENTRIES = DIM == 3 ? N * N * N : N * N, OCTETS = DIM == 3 ? K * K * K : K * K;

  /* nodes of direction d in block b */
  __host__ __device__ static constexpr int half(int b, int d) { return d >= DIM ? 1 : (b >> d & 1 ? K - 1 : K); }
  __host__ __device__ static constexpr int size(int b) { return half(b, 0) * half(b, 1) * half(b, 2); }
  __host__ __device__ static constexpr int tiles(int b) { return (size(b) + 15) / 16; }
  __host__ __device__ static constexpr int pieces(int b) { return (size(b) + P::DEPTH - 1) / P::DEPTH; } /* of a tile */
  /* of the blocks before b */
  __host__ __device__ static constexpr int entry(int b) { return b == 0 ? 0 : entry(b - 1) + size(b - 1); }
  __host__ __device__ static constexpr int tile(int b) { return b == 0 ? 0 : tile(b - 1) + tiles(b - 1); }
  __host__ __device__ static constexpr int piece(int b) { return b == 0 ? 0 : piece(b - 1) + tiles(b - 1) * pieces(b - 1); }

  static constexpr int warps[2][7] = {{0, 0, 4, 4, 4, 5, 5}, {0, 0, 8, 6, 8, 16, 16}};
  /* TILES: of a warp */
  static constexpr int GROUPS = 2, COLUMNS = 8 * GROUPS, WARPS = warps[DIM - 2][K], THREADS = 32 * WARPS,
                       TILES = (tile(BLOCKS) + WARPS - 1) / WARPS;
  /* BEYOND: rows after the entries, which meet zeros of the last pieces */
  static constexpr int ROW = COLUMNS + P::PAD, BEYOND = P::DEPTH - 1;
  static constexpr int SIZE = (ENTRIES + BEYOND) * ROW;
};

/* a word of a piece */
template <typename P>
struct alignas(16) TermsWord {
  static constexpr int LENGTH = 16 / sizeof(typename P::Store);
  typename P::Store    a[LENGTH];
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
template <typename P, int K, int DIM>
struct TermsOctet {
  using F = TermsDenseShape<P, K, DIM>;
  using T = typename P::Number;
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
  __device__ __forceinline__ int node(int b, int d) const
  {
    return d < DIM && (b >> d & 1) ? F::N - 1 - at[d] : at[d];
  }
  __device__ __forceinline__ int entry(int b) const
  {
    return F::entry(b) + (at[2] * F::half(b, 1) + at[1]) * F::half(b, 0) + at[0];
  }
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
template <typename P, int K, int DIM, typename Function>
__device__ __forceinline__ void TermsForOctets(Function f)
{
  using F = TermsDenseShape<P, K, DIM>;

  for (int q = threadIdx.x; q < F::OCTETS * F::COLUMNS; q += F::THREADS)
    f(TermsOctet<P, K, DIM>(q % K, q / (K * F::COLUMNS)), q / K % F::COLUMNS);
}

/*
  The entries times the matrices of one factor.  A factor's tiles are lower triangular (the second one: W) or upper triangular (the first:
  W'), and there is nothing to do beyond
*/
template <typename P, int K, int DIM>
__device__ __forceinline__ void TermsMultiply(const TermsWord<P> *__restrict__ pieces, int factor, typename P::Number *sm)
{
  using F            = TermsDenseShape<P, K, DIM>;
  using Word         = TermsWord<P>;
  using Number       = typename P::Number;
  constexpr int ROWS = P::DEPTH / 4; /* of the entries, which a lane multiplies */
  const int     lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Number        sum[F::TILES][F::GROUPS][4];

#pragma unroll
  for (int t = 0; t < F::TILES; t++) {
    const TermsTile<F> tile(warp + t * F::WARPS);
    const Word        *piece  = pieces + ((size_t)factor * F::piece(F::BLOCKS) + tile.piece) * 32 * P::WORDS + lane;
    const Number      *column = sm + tile.entry * F::ROW + lane / 4;
    const int          begin  = P::FACTORS == 2 && factor == 0 ? tile.row / P::DEPTH : 0,
              end             = P::FACTORS == 2 && factor == 1 ? min(tile.pieces, tile.row / P::DEPTH + 1) : tile.pieces;

#pragma unroll
    for (int n = 0; n < F::GROUPS; n++) sum[t][n][0] = sum[t][n][1] = sum[t][n][2] = sum[t][n][3] = 0;
#pragma unroll 4
    for (int l = begin; l < end; l++) {
      typename P::Store a[P::WORDS * Word::LENGTH];

#pragma unroll
      for (int w = 0; w < P::WORDS; w++) {
        const Word word = piece[(l * P::WORDS + w) * 32];

#pragma unroll
        for (int i = 0; i < Word::LENGTH; i++) a[w * Word::LENGTH + i] = word.a[i];
      }
#pragma unroll
      for (int n = 0; n < F::GROUPS; n++) {
        Number b[ROWS];

#pragma unroll
        for (int i = 0; i < ROWS; i++)
          b[i] = column[(P::DEPTH * l + P::column(lane % 4, P::DEPTH == 8 ? 2 * i : i % 2 + i / 2 * 4)) * F::ROW + 8 * n];
        P::multiply(sum[t][n], a, b);
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
}

template <typename T, typename P, int K, int DIM>
__launch_bounds__(TermsDenseShape<P, K, DIM>::THREADS) static __global__
  void TermsDenseKernel(const TermsWord<P> *__restrict__ pieces, const __grid_constant__ ColorPatches g, T omega, T beta, const T *r, T *x)
{
  using F      = TermsDenseShape<P, K, DIM>;
  using Number = typename P::Number;
  extern __shared__ double2 terms_shared[];
  __shared__ ptrdiff_t      origin[F::COLUMNS];
  Number                   *sm = (Number *)terms_shared;

  if (threadIdx.x < F::COLUMNS) origin[threadIdx.x] = TermsOrigin<K, DIM>(g, blockIdx.x * (size_t)F::COLUMNS + threadIdx.x);
  for (int q = threadIdx.x; q < F::BEYOND * F::ROW; q += F::THREADS) sm[F::ENTRIES * F::ROW + q] = 0;
  __syncthreads();
  TermsForOctets<P, K, DIM>([&](TermsOctet<P, K, DIM> o, int p) {
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++)
      o.v[b] = origin[p] >= 0 && o.exists(b) ? (Number)r[origin[p] + o.node(b, 0) + o.node(b, 1) * g.l.row + o.node(b, 2) * g.l.plane]
                                             : Number(0);
    o.butterfly();
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++)
      if (o.exists(b)) sm[o.entry(b) * F::ROW + p] = P::operand(o.v[b]);
  });
  __syncthreads();
  for (int f = 0; f < P::FACTORS; f++) TermsMultiply<P, K, DIM>(pieces, f, sm);
  TermsForOctets<P, K, DIM>([&](TermsOctet<P, K, DIM> o, int p) {
    if (origin[p] < 0) return;
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++) o.v[b] = o.exists(b) ? sm[o.entry(b) * F::ROW + p] : Number(0);
    o.butterfly();
#pragma unroll
    for (int b = 0; b < F::BLOCKS; b++)
      if (o.exists(b))
        TermsUpdate(g, omega, beta, (T)o.v[b], x + origin[p] + o.node(b, 0) + o.node(b, 1) * g.l.row + o.node(b, 2) * g.l.plane);
  });
}

/* of patches of one size, with parity in all directions; T: of r and x */
template <typename T>
struct TermsDense {
  virtual ~TermsDense() { }
  virtual PetscErrorCode solve(const ColorPatches &, PetscReal omega, PetscReal beta, const T *r, T *x, cudaStream_t) const = 0;
};

template <typename T, typename P, int K, int DIM>
struct TermsDenseBlocks : TermsDense<T> {
  using F                   = TermsDenseShape<P, K, DIM>;
  using Word                = TermsWord<P>;
  typename P::Store *pieces = NULL;
  PlanMemory         memory;

  /* has the kernel been compiled for a GPU with these instructions, and does a block of threads fit? */
  static PetscErrorCode supported(bool *yes)
  {
    cudaFuncAttributes attributes;

    PetscFunctionBegin;
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, TermsDenseKernel<T, P, K, DIM>));
    *yes = PetscMin(attributes.binaryVersion, attributes.ptxVersion) >= P::GPU;
    if (*yes) PetscCall(SharedFits(TermsDenseKernel<T, P, K, DIM>, F::SIZE * sizeof(typename P::Number), yes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode create(const PatchFDDense *inverse)
  {
    constexpr size_t               PIECE = 32 * P::WORDS * Word::LENGTH;
    std::vector<typename P::Store> all(P::FACTORS * (size_t)F::piece(F::BLOCKS) * PIECE, P::round(0));

    PetscFunctionBegin;
    for (int b = 0; b < F::BLOCKS; b++) {
      const int              n = F::size(b);
      std::vector<PetscReal> W(inverse->block[b], inverse->block[b] + (size_t)n * n);

      PetscCheck(inverse->size[b] == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Block %d of an inverse has size %" PetscInt_FMT ", not %d", b,
                 inverse->size[b], n);
      if (P::FACTORS == 2) PetscCall(factor(n, W.data()));
      for (int f = 0; f < P::FACTORS; f++) {
        for (int t = 0; t < F::tiles(b); t++) {
          for (int l = 0; l < F::pieces(b); l++) {
            for (size_t q = 0; q < PIECE; q++) {
              const int lane = (int)(q / Word::LENGTH % 32), i = (int)(q / (32 * Word::LENGTH) * Word::LENGTH + q % Word::LENGTH);
              const int row = 16 * t + lane / 4 + 8 * P::row(i), column = P::DEPTH * l + P::column(lane % 4, i);

              if (row < n && column < n)
                all[((size_t)f * F::piece(F::BLOCKS) + F::piece(b) + t * F::pieces(b) + l) * PIECE + q] = P::round(
                  P::FACTORS == 2 && f == 0 ? W[column * n + row] : W[row * n + column]);
            }
          }
        }
      }
    }
    PetscCall(memory.upload(all.size(), all.data(), &pieces));
    PetscCall(AllowShared(TermsDenseKernel<T, P, K, DIM>, F::SIZE * sizeof(typename P::Number)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode solve(const ColorPatches &g, PetscReal omega, PetscReal beta, const T *r, T *x, cudaStream_t stream) const override
  {
    const unsigned blocks = (unsigned)((g.items() + F::COLUMNS - 1) / F::COLUMNS);

    PetscFunctionBegin;
    TermsDenseKernel<T, P, K, DIM>
      <<<blocks, F::THREADS, F::SIZE * sizeof(typename P::Number), stream>>>((const Word *)pieces, g, (T)omega, (T)beta, r, x);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  /* W with W W' = the matrix, lower triangular by rows */
  static PetscErrorCode factor(int n, PetscReal W[])
  {
    lapack_int info;

    PetscFunctionBegin;
    info = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', n, W, n);
    PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Factor of a patch's inverse of size %d: LAPACK failed with info = %d", n,
               (int)info);
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) W[i * n + j] = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* f(precision) with a constant; DOUBLE in float is float */
template <typename T, typename Function>
static PetscErrorCode TermsForPrecision(PatchFDPrecision p, Function f)
{
  switch (p) {
  case PATCHFD_PRECISION_SINGLE:
    return f(std::integral_constant<PatchFDPrecision, PATCHFD_PRECISION_SINGLE>());
  case PATCHFD_PRECISION_TF32:
    return f(std::integral_constant<PatchFDPrecision, PATCHFD_PRECISION_TF32>());
  case PATCHFD_PRECISION_BF16:
    return f(std::integral_constant<PatchFDPrecision, PATCHFD_PRECISION_BF16>());
  default:
    return f(std::integral_constant < PatchFDPrecision, sizeof(T) == 8 ? PATCHFD_PRECISION_DOUBLE : PATCHFD_PRECISION_SINGLE > ());
  }
}

/* in the precision that is asked for, which is not higher than that of T; NULL if this GPU cannot do it */
template <typename T, int K, int DIM>
static PetscErrorCode TermsDenseCreate(PatchFDPrecision precision, const PatchFDDense *inverse, TermsDense<T> **dense)
{
  PetscFunctionBegin;
  *dense = NULL;
  PetscCall(TermsForPrecision<T>(precision, [&](auto p) {
    using Blocks = TermsDenseBlocks<T, TermsProduct<p()>, K, DIM>;
    Blocks *blocks;
    bool    supported;

    PetscFunctionBegin;
    PetscCall(Blocks::supported(&supported));
    if (!supported) PetscFunctionReturn(PETSC_SUCCESS);
    blocks = new Blocks;
    *dense = blocks;
    PetscCall(blocks->create(inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- fast.cu: matrices in halves, and products with a line ---- */

/* of a mirrored N x C matrix: rows 0 .. K - 1 for sums (the last one is the middle row), 0 .. K - 2 for differences */
template <typename T, int K>
struct TermsHalves {
  T even[K * (K + 1)], odd[(K - 1) * K];
};

/* columns of the functionals of both ends, as sums and differences */
template <typename T, int K>
struct TermsEnds {
  T even[2 * K], odd[2 * (K - 1)];
};

/* in the constant bank.  edge: the numbers of patches that have a boundary at their lower, upper end, or -1 */
template <typename T, int K>
struct TermsMatrices {
  TermsHalves<T, K> M[3], B[3], L[3];
  TermsEnds<T, K>   ends[3];
  /* functionals, by distance from the rim: of the cell beside; of the own one, at both ends */
  T   beyond[3][2][K], own[3][2][2][K + 1];
  int edge[3][2];
};

/* a line of N sums, in two halves */
template <typename T, int K>
struct TermsLine {
  T even[K], odd[K - 1];

  __device__ __forceinline__ TermsLine()
  {
#pragma unroll
    for (int i = 0; i < K; i++) even[i] = 0;
#pragma unroll
    for (int i = 0; i < K - 1; i++) odd[i] = 0;
  }
  /* entries j and C - 1 - j times a matrix; the one in the middle, too */
  __device__ __forceinline__ void add(const TermsHalves<T, K> &m, int j, T a, T b)
  {
    const T sum = a + b, difference = a - b;

#pragma unroll
    for (int i = 0; i < K; i++) even[i] += m.even[i * (K + 1) + j] * sum;
#pragma unroll
    for (int i = 0; i < K - 1; i++) odd[i] += m.odd[i * K + j] * difference;
  }
  __device__ __forceinline__ void addMiddle(const TermsHalves<T, K> &m, T a)
  {
#pragma unroll
    for (int i = 0; i < K; i++) even[i] += m.even[i * (K + 1) + K] * a;
  }
  /* functional w of the lower and upper end */
  __device__ __forceinline__ void addEnds(const TermsEnds<T, K> &m, int w, T lower, T upper)
  {
    const T sum = lower + upper, difference = lower - upper;

#pragma unroll
    for (int i = 0; i < K; i++) even[i] += m.even[2 * i + w] * sum;
#pragma unroll
    for (int i = 0; i < K - 1; i++) odd[i] += m.odd[2 * i + w] * difference;
  }
  /* f(node, value) for all nodes */
  template <typename F>
  __device__ __forceinline__ void unfold(F f) const
  {
#pragma unroll
    for (int i = 0; i < K - 1; i++) {
      f(i, even[i] + odd[i]);
      f(2 * K - 2 - i, even[i] - odd[i]);
    }
    f(K - 1, even[K - 1]);
  }
  __device__ __forceinline__ void store(T *line, int stride) const
  {
    unfold([=](int i, T v) { line[i * stride] = v; });
  }
};

/* ---- a block's patches ---- */

/* first node of a patch, in the mesh; ends: bit 2 d + e says that end e of direction d is a boundary of the mesh */
struct TermsPlace {
  int first[3], ends;
};

template <typename T, int K>
__device__ __forceinline__ TermsPlace FindPlace(const ColorPatches &g, const int edge[3][2], size_t item)
{
  TermsPlace p;
  int        number[3];
  const bool there = g.find(item, number);

  p.ends = there ? 0 : -1;
  for (int d = 0; d < 3; d++) {
    p.first[d] = number[d] * K + 1;
    for (int e = 0; e < 2 && there; e++) p.ends |= (number[d] == edge[d][e]) << (2 * d + e);
  }
  return p;
}

} // namespace patchfd
