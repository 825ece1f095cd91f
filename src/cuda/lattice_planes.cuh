/*
  Planes of grid functions on a lattice on their way through shared memory, for kernels that march in z: a block of threads has W + 2 columns of NY + 2 rows of
  each of N functions that have the same nodes.  The copy engine takes rows in units of 16 bytes, wherever they begin: so each row has its own place, to so many
  numbers, in shared memory.  What is not there is not copied: numbers beside it are those of other nodes, or zero.
*/
#pragma once
#include "lattice.cuh"

namespace patchfd
{

template <typename T, int N, int W, int NY, int SLOTS_>
struct LatticePlanes {
  static constexpr int    SLOTS = SLOTS_, UNIT = 16 / sizeof(T), ROW = RoundUp(W + 2 + UNIT - 1, UNIT), FIELD = (NY + 2) * ROW, SLOT = N * FIELD;
  static constexpr size_t SHARED = SLOTS * (SLOT * sizeof(T) + sizeof(unsigned long long));

  const LatticeGeometry &g;
  const T               *field[N];
  T *const               numbers;
  const int              i, j, columns, rows; /* of the first column and row; how many */
  unsigned               barriers;            /* one a slot: is its plane there? */
  int                    ask, have;           /* slots: for the next plane, of the last one that is there */
  unsigned               turn;                /* of the slots, for the barrier of the next plane */

  /* a block's columns and rows, with those around them that belong to others */
  __device__ __forceinline__ LatticePlanes(const LatticeGeometry &g, T *shared, int i, int j, int columns, int rows) :
    g(g), numbers(shared), i(i), j(j), columns(columns), rows(rows), barriers((unsigned)__cvta_generic_to_shared(shared + SLOTS * SLOT)), ask(0), have(SLOTS - 1), turn(1)
  {
    for (int n = threadIdx.x; n < SLOTS * SLOT; n += blockDim.x) numbers[n] = 0;
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x < SLOTS) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barriers + 8 * threadIdx.x), "r"(rows) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncthreads();
  }

  /* where the thread's row r of a group is, in the plane z that is there: that of column 0 */
  __device__ __forceinline__ unsigned place(int f, int z) const { return (unsigned)((size_t)field[f] / sizeof(T)) + (unsigned)g.xl.at(i, j, z); }
  __device__ __forceinline__ const T *row(int f, int r, unsigned placed) const { return numbers + have * SLOT + f * FIELD + r * ROW + (placed + r * (unsigned)g.xl.row) % UNIT; }

  /* ask for plane z, the next one: when nobody needs what its slot has.  Rows are spread over the warps, since a warp asks for one after the other */
  __device__ __forceinline__ void request(int z)
  {
    const int r = (int)(threadIdx.x / 32 + threadIdx.x % 32 * (blockDim.x / 32));

    if (r < rows) {
      unsigned bytes = 0;

#pragma unroll
      for (int f = 0; f < N; f++) bytes += copyrow(f, r, z);
#if __CUDA_ARCH__ >= 900
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barriers + 8 * ask), "r"(bytes) : "memory");
#endif
    }
    ask = ask == SLOTS - 1 ? 0 : ask + 1;
  }
  /* the plane that was asked for first, of those that have not come */
  __device__ __forceinline__ void wait()
  {
    have = have == SLOTS - 1 ? 0 : have + 1;
    turn ^= have == 0;
#if __CUDA_ARCH__ >= 900
    unsigned there;

    do {
      asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(there) : "r"(barriers + 8 * have), "r"(turn) : "memory");
    } while (!there);
#else
    __syncthreads();
#endif
  }

private:
  /* whole units by the copy engine, unless they have numbers that are not x's; how many bytes it is to bring */
  __device__ __forceinline__ unsigned copyrow(int f, int r, int z) const
  {
    const int first = max(g.box.lo[0] - i, 0), last = min(g.box.hi[0] - i, columns);

    if (first >= last || !Inside(g.box, 1, j + r) || !Inside(g.box, 2, z)) return 0;
    const T *const all = field[f] + g.xl.at(g.box.lo[0], g.box.lo[1], g.box.lo[2]), *const end = all + g.xl.plane * (g.box.hi[2] - g.box.lo[2]);
    const T *const from = field[f] + g.xl.at(i + first, j + r, z), *const to = field[f] + g.xl.at(i + last, j + r, z);
    const T       *lo = from - (size_t)from / sizeof(T) % UNIT, *hi = to + (UNIT - (size_t)to / sizeof(T) % UNIT) % UNIT;
    T *const       row = numbers + ask * SLOT + f * FIELD + r * ROW + first + (ptrdiff_t)(((size_t)(field[f] + g.xl.at(i, j + r, z)) / sizeof(T)) % UNIT);

#if __CUDA_ARCH__ >= 900
    if (lo < all) lo += UNIT;
    if (hi > end) hi -= UNIT;
    const unsigned bytes = lo < hi ? (unsigned)((hi - lo) * sizeof(T)) : 0;
#else
    const unsigned bytes = 0;
#endif
    if (!bytes) lo = hi = to;
#pragma unroll 1
    for (const T *v = from; v < lo; v++) row[v - from] = *v;
#pragma unroll 1
    for (const T *v = hi; v < to; v++) row[v - from] = *v;
#if __CUDA_ARCH__ >= 900
    if (lo > from || hi < to) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (bytes) {
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"((unsigned)__cvta_generic_to_shared(row + (lo - from))), "l"(lo), "r"(bytes),
                   "r"(barriers + 8 * ask)
                   : "memory");
    }
#endif
    return bytes;
  }
};

} // namespace patchfd
