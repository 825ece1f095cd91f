/*
  What the generic kernels are made of: small matrices of any size, applied along a direction of a block of node values by a team of
  threads.  A block of threads holds one or more teams (threadIdx.y), each of which works on one cell or patch at a time.

  Blocks of values have x fastest: block[(k * n[1] + j) * n[0] + i].  They lie in shared memory, or in global memory when they are too
  large for that.
*/
#pragma once
#include "base/plan.cuh"

namespace patchfd
{

/* how a generic kernel is launched: threads of a team, teams of a block, shared or global memory for each team's numbers */
template <typename T>
struct Team {
  int    threads, teams;
  size_t size;   /* numbers a team needs */
  size_t shared; /* bytes of shared memory of a block, 0 if `global` is used */
  T     *global;
  int    blocks; /* at most so many blocks, if `global` is used */

  /* for `volume` nodes, by so many threads (a multiple of 32) or as many as are good for lines of them; memory: of the plan */
  template <class Memory>
  PetscErrorCode create(int volume, size_t numbers, Memory *memory, int wanted = 0)
  {
    size_t limit;

    PetscFunctionBegin;
    PetscCall(SharedLimit(&limit));
    size    = numbers;
    threads = wanted ? wanted : volume <= 64 ? 32 : (volume <= 256 ? 64 : (volume <= 1024 ? 128 : 256));
    teams   = PetscMax(1, 128 / threads);
    while (teams > 1 && teams * size * sizeof(T) > 48 * 1024) teams /= 2;
    shared = teams * size * sizeof(T);
    global = NULL;
    blocks = 1 << 20;
    if (shared > limit) {
      shared = 0;
      PetscCall(Multiprocessors(&blocks));
      blocks *= 2; /* resident ones, to hide latency; more would only need more memory */
      PetscCall(memory->borrow((size_t)blocks * teams * size, &global));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  dim3     block() const { return dim3(threads, teams); }
  unsigned grid(size_t items) const { return (unsigned)PetscMin((items + teams - 1) / teams, (size_t)blocks); }
};

/* the numbers of the calling thread's team */
template <typename T>
__device__ inline T *TeamMemory(T *global, size_t size)
{
  extern __shared__ double shared_memory[];

  return global ? global + (blockIdx.x * (size_t)blockDim.y + threadIdx.y) * size : (T *)shared_memory + threadIdx.y * size;
}

/* nr rows and nc columns; entry (r, c) is a[r * row + c * col] */
template <typename T>
struct Matrix {
  const T *a;
  int      row, col;
};

/*
  out = m in along direction d of a block with n[] nodes (out has nr nodes in direction d); out += if `add`.  `skip`, `len`: in has
  `len` nodes in direction d, of which those from `skip` on are multiplied.
*/
template <typename T>
__device__ inline void Contract(int d, const int n[3], int nr, Matrix<T> m, const T *in, T *out, bool add, int skip = 0, int len = 0)
{
  const int nc = n[d], inner = (d > 0 ? n[0] : 1) * (d > 1 ? n[1] : 1), outer = (d < 1 ? n[1] : 1) * (d < 2 ? n[2] : 1);

  if (!len) len = nc;
  for (int e = threadIdx.x; e < outer * nr * inner; e += blockDim.x) {
    const int s = e % inner, r = e / inner % nr, o = e / inner / nr;
    const T  *x = in + (o * len + skip) * inner + s, *a = m.a + r * m.row;
    T         sum = add ? out[e] : T(0);

    for (int c = 0; c < nc; c++) sum += a[c * m.col] * x[c * inner];
    out[e] = sum;
  }
}

/* block = x, zero outside `range`; the block begins at node first[].  L: Layout or RingLayout */
template <typename T, typename L>
__device__ inline void Gather(const int first[3], const int n[3], const Range &range, const L &l, const T *__restrict__ x, T *block)
{
  for (int e = threadIdx.x; e < n[0] * n[1] * n[2]; e += blockDim.x) {
    const int i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];

    block[e] = range.contains(i, j, k) ? x[l.at(i, j, k)] : T(0);
  }
}

} // namespace patchfd
