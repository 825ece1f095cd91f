/*
  What kernels whose blocks of threads march have in common: the arithmetic of a line by mirror symmetry, rows in shared memory without bank
  conflicts, and where to cut the marches.
*/
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

/* v, as if it were not known: the compiler would compute all multiples of a stride ahead of a loop, and run out of registers */
__device__ inline unsigned Opaque(unsigned v)
{
  asm volatile("" : "+r"(v));
  return v;
}

/*
  Matrices of N rows and columns that look the same from the other end: sums v[c] + v[L - c] and differences v[c] - v[L - c] in place of
  the two make such a matrix two blocks of half the size, and what these give becomes the rows r and L - r in the same way.
*/
template <typename T, int N>
struct Mirror {
  static constexpr int L = N - 1, H = (N + 1) / 2;

  static __device__ __forceinline__ void split(T &lo, T &hi)
  {
    const T a = lo;

    lo = a + hi;
    hi = a - hi;
  }
  static __device__ __forceinline__ void split(T v[N])
  {
#pragma unroll
    for (int c = 0; c < N / 2; c++) split(v[c], v[L - c]);
  }
  /* what v[c] was before */
  static __device__ __forceinline__ T entry(const T v[N], int c)
  {
    return c == L - c ? v[c] : T(0.5) * (c < H ? v[c] + v[L - c] : v[L - c] - v[c]);
  }
  /* rows r and L - r of m v, split */
  static __device__ __forceinline__ void add(const T *m, const T v[N], int r, T &lo, T &hi)
  {
#pragma unroll
    for (int c = 0; c < N; c++) {
      if (c < H) lo += m[r * N + c] * v[c];
      else if (r < N / 2) hi += m[r * N + c] * v[c];
    }
  }
  /* for split v: a row of the matrix, or the first H */
  static void foldrow(const PetscReal *row, T *m)
  {
    for (int j = 0; j < N; j++) m[j] = (T)(j == L - j ? row[j] : 0.5 * (j < H ? row[j] + row[L - j] : row[L - j] - row[j]));
  }
  static void fold(const PetscReal *matrix, T *m)
  {
    for (int i = 0; i < H; i++) foldrow(matrix + i * N, m + i * N);
  }
};

/* Where the numbers of a row are in shared memory, for C lanes that read lines at distance L in it and then go to the next row: one number
   of padding after so many, if PAD */
template <typename T, int C, int L, bool PAD>
struct SharedRow {
  static constexpr int BANKS = 128 / sizeof(T);

  __host__ __device__ static constexpr int at(int e) { return e + PAD * (e / BANKS); }
  static constexpr int                     conflicts(int pitch)
  {
    int sum = 0;

    for (int a = 0; a < BANKS; a++)
      for (int b = 0; b < a; b++) sum += (at(a % C * L) + a / C * pitch) % BANKS == (at(b % C * L) + b / C * pitch) % BANKS;
    return sum;
  }
  /* the best distance between rows of n numbers */
  static constexpr int pitch(int n)
  {
    int best = at(n - 1) + 1;

    for (int r = best; r < at(n - 1) + 1 + BANKS; r++)
      if (conflicts(r) < conflicts(best)) best = r;
    return best;
  }
};

/*
  Cut marches of `steps` steps so that the device as a whole takes the fewest, with as many blocks of threads at a time as it holds, when
  each part takes `more` steps than its share.  `tiles`: marches side by side; chunk: steps of a part; parts: how many
*/
template <typename Kernel>
static PetscErrorCode CutMarches(Kernel kernel, int threads, size_t shared, size_t tiles, int steps, int more, int *chunk, unsigned *parts)
{
  int    processors, blocks;
  size_t best = SIZE_MAX;

  PetscFunctionBegin;
  PetscCall(Multiprocessors(&processors));
  PetscCall(Resident(kernel, threads, shared, &blocks));
  *chunk = 1;
  *parts = 0;
  for (int z = 1; z <= PetscMin(steps, 65534); z++) {
    const int c = (steps + z - 1) / z;
    /* 0 blocks: the launch will fail */
    const size_t total = tiles * z, waves = (size_t)processors * PetscMax(1, blocks), taken = (total + waves - 1) / waves * (c + more);

    if (taken >= best) continue;
    best   = taken;
    *chunk = c;
    *parts = (unsigned)((steps + c - 1) / c);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
