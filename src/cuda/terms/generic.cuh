/* Of local solvers with the residual of an operator's terms (terms.cuh) the generic kernels, for which terms.cu makes the data */
#pragma once
#include "base/plan.cuh"
#include "terms/terms.cuh"

namespace patchfd
{

static constexpr int max_terms = 16;

/* rows of one direction, times the coefficient of their term: of class c X + c * nX, and E[e] + c * nE of the nodes beyond the rim at end e
   */
template <typename T>
struct TermsMatrix {
  const T   *X, *E[2];
  const int *cls; /* of each patch */
  int        nX, nE, beyond;
};

/* patches of one direction */
template <typename T>
struct TermsDirection {
  const int *first, *n, *cls;
  const T   *S, *lambda; /* of class c from c ld^2, c ld */
  int        ld, rim, nmatrix, nclass;
};

/* a class of inverses; those of the symmetry classes are symmetric */
template <typename T>
struct TermsInverse {
  const T *block[8];
  int      size[8];
  bool     parity[3];

  __host__ __device__ bool is_whole() const { return !parity[0] && !parity[1] && !parity[2]; } /* one block */
};

template <typename T>
struct TermsData {
  TermsDirection<T>      d[3];
  TermsMatrix<T>         matrix[3][max_terms];
  int                    nterm, term[max_terms][3];
  const TermsInverse<T> *inverse; /* NULL: fast diagonalization */
  Layout                 l;
  Range                  read;
  Team<T>                team;
  int                    inner, slab; /* numbers of the largest patch with its rim, of the largest slab beyond */
};

/* ---- the generic kernel: one team a patch; all teams of a block meet at each barrier, those that have no patch (not active) take part in
   nothing else ---- */

template <typename T>
struct TermsPatch {
  int  number[3], first[3], n[3], size;
  bool active;

  __device__ __forceinline__ TermsPatch(const TermsData<T> &s, const ColorPatches &g, size_t item) : size(1), active(g.find(item, number))
  {
    for (int d = 0; d < 3; d++) {
      first[d] = s.d[d].first[number[d]];
      n[d]     = s.d[d].n[number[d]];
      size *= n[d];
    }
  }
  __device__ __forceinline__ const T *S(const TermsData<T> &s, int d) const
  {
    return s.d[d].S + (size_t)s.d[d].cls[number[d]] * s.d[d].ld * s.d[d].ld;
  }
  __device__ __forceinline__ const T *lambda(const TermsData<T> &s, int d) const
  {
    return s.d[d].lambda + s.d[d].cls[number[d]] * s.d[d].ld;
  }
  /* the matrix for the patch and its rim; for the slab beyond the rim at end e */
  __device__ __forceinline__ Matrix<T> rows(const TermsData<T> &s, int d, int matrix) const
  {
    const TermsMatrix<T> &m = s.matrix[d][matrix];

    return {m.X + (size_t)m.cls[number[d]] * m.nX, n[d] + 2 * s.d[d].rim, 1};
  }
  __device__ __forceinline__ Matrix<T> beyond(const TermsData<T> &s, int d, int matrix, int e) const
  {
    const TermsMatrix<T> &m = s.matrix[d][matrix];

    return {m.E[e] + (size_t)m.cls[number[d]] * m.nE, m.beyond, 1};
  }
};

/* where a team keeps what: the patch with its rim, two slabs, P of each matrix in x, Q of each in z.  The solve works in the first and
   behind it */
template <typename T>
struct TermsMemory {
  T  *x, *rest;
  int inner, slab_, nP;

  __device__ __forceinline__ TermsMemory(const TermsData<T> &s) :
    x(TeamMemory<T>(s.team.global, s.team.size)), rest(x + s.inner), inner(s.inner), slab_(s.slab), nP(s.d[0].nmatrix)
  {
  }
  __device__ __forceinline__ T *slab(int i) const { return rest + i * slab_; }
  __device__ __forceinline__ T *P(int a) const { return rest + 2 * slab_ + a * inner; }
  __device__ __forceinline__ T *Q(int c) const { return P(nP + c); }
};

/* x on the slab of `width` nodes beyond the rim at end e of direction d to slab 0; size[] is its size */
template <typename T>
static __device__ inline void TermsGatherBeyond(const TermsData<T> &s, const TermsPatch<T> &p, int d, int e, int width, const T *x, T *slab,
                                                int size[3])
{
  int first[3];

  for (int i = 0; i < 3; i++) {
    first[i] = p.first[i] - s.d[i].rim;
    size[i]  = p.n[i] + 2 * s.d[i].rim;
  }
  first[d] += e ? size[d] : -width;
  size[d] = width;
  if (p.active) Gather(first, size, s.read, s.l, x, slab);
  __syncthreads();
}

/* out += X_2 X_1 X_0 of the slab beyond end e of direction d, where out has the directions 0 .. d done */
template <typename T>
static __device__ inline void TermsAddBeyond(const TermsData<T> &s, const TermsPatch<T> &p, const TermsMemory<T> &m, int d,
                                             const int matrix[3], const T *x, T *out)
{
  const int width = s.matrix[d][matrix[d]].beyond;

  for (int e = 0; e < 2 && width; e++) {
    int size[3], now = 0;

    TermsGatherBeyond(s, p, d, e, width, x, m.slab(0), size);
    for (int i = 0; i < d; i++, now = 1 - now) {
      if (p.active) Contract(i, size, p.n[i], p.rows(s, i, matrix[i]), m.slab(now), m.slab(1 - now), false);
      size[i] = p.n[i];
      __syncthreads();
    }
    if (p.active) Contract(d, size, p.n[d], p.beyond(s, d, matrix[d], e), m.slab(now), out, true);
    __syncthreads();
  }
}

/* A x at the patch's nodes, in m.x.  Sums go to the same numbers in the same threads, so that there is no barrier between two of them */
template <typename T>
static __device__ inline void TermsProduct(const TermsData<T> &s, const TermsPatch<T> &p, const TermsMemory<T> &m, const T *x)
{
  int  low[3], c[3];
  bool started[max_terms] = {false};

  for (int d = 0; d < 3; d++) {
    low[d] = p.first[d] - s.d[d].rim;
    c[d]   = p.n[d] + 2 * s.d[d].rim;
  }
  const int c1[3] = {p.n[0], c[1], c[2]}, c2[3] = {p.n[0], p.n[1], c[2]};

  if (p.active) Gather(low, c, s.read, s.l, x, m.x);
  __syncthreads();
  for (int a = 0; a < s.d[0].nmatrix; a++) {
    if (p.active) Contract(0, c, p.n[0], p.rows(s, 0, a), m.x, m.P(a), false);
    TermsAddBeyond(s, p, m, 0, &a, x, m.P(a));
  }
  __syncthreads();
  for (int t = 0; t < s.nterm; t++) {
    const int *term = s.term[t];

    if (p.active) Contract(1, c1, p.n[1], p.rows(s, 1, term[1]), m.P(term[0]), m.Q(term[2]), started[term[2]]);
    started[term[2]] = true;
    TermsAddBeyond(s, p, m, 1, term, x, m.Q(term[2]));
  }
  __syncthreads();
  for (int i = 0; i < s.d[2].nmatrix; i++)
    if (p.active) Contract(2, c2, p.n[2], p.rows(s, 2, i), m.Q(i), m.x, i > 0);
  for (int t = 0; t < s.nterm; t++) TermsAddBeyond(s, p, m, 2, s.term[t], x, m.x);
  __syncthreads();
}

/* u = (S' S' S') u or (S S S) u, with w in between; the result is in w */
template <typename T>
static __device__ inline void TermsTransform(const TermsData<T> &s, const TermsPatch<T> &p, bool modes, T *u, T *w)
{
  for (int d = 0; d < 3; d++) {
    if (p.active)
      Contract(d, p.n, p.n[d], modes ? Matrix<T>{p.S(s, d), 1, p.n[d]} : Matrix<T>{p.S(s, d), p.n[d], 1}, d == 1 ? w : u, d == 1 ? u : w,
               false);
    __syncthreads();
  }
}

/* u = A^{-1} u by fast diagonalization, with w in between */
template <typename T>
static __device__ inline void TermsDiagonalize(const TermsData<T> &s, const TermsPatch<T> &p, T *u, T *w)
{
  TermsTransform(s, p, true, u, w);
  for (int i = threadIdx.x; i < p.size && p.active; i += blockDim.x) {
    const T D = p.lambda(s, 0)[i % p.n[0]] + p.lambda(s, 1)[i / p.n[0] % p.n[1]] + p.lambda(s, 2)[i / p.n[0] / p.n[1]];

    w[i] = D == 0 ? T(0) : w[i] / D;
  }
  __syncthreads();
  TermsTransform(s, p, false, w, u);
}

/* out = the lines of direction d in sums and differences of mirrored entries (fold), or back: the adjoint; a copy where there is no parity
   */
template <typename T>
static __device__ inline void TermsFold(const int n[3], int d, bool parity, bool fold, const T *in, T *out)
{
  const int m = n[d], even = (m + 1) / 2, stride = d == 0 ? 1 : (d == 1 ? n[0] : n[0] * n[1]);

  for (int q = threadIdx.x; q < n[0] * n[1] * n[2]; q += blockDim.x) {
    const int i    = q / stride % m;
    const T  *line = in + q - i * stride;

    if (!parity || (2 * i + 1 == m)) out[q] = in[q];
    else if (fold)
      out[q] = i < even ? line[i * stride] + line[(m - 1 - i) * stride] : line[(i - even) * stride] - line[(m - 1 - i + even) * stride];
    else out[q] = i < even ? line[i * stride] + line[(even + i) * stride] : line[(m - 1 - i) * stride] - line[(even + m - 1 - i) * stride];
  }
}

/* out = blocks in; a block's columns are those of its rows, since it is symmetric: neighbouring threads read neighbouring numbers */
template <typename T>
static __device__ inline void TermsBlocks(const TermsInverse<T> &inverse, const int n[3], const T *in, T *out)
{
  for (int q = threadIdx.x; q < n[0] * n[1] * n[2]; q += blockDim.x) {
    const int at[3] = {q % n[0], q / n[0] % n[1], q / n[0] / n[1]};
    int       lo[3], hi[3], block = 0;

    for (int d = 0; d < 3; d++) {
      const int  even = inverse.parity[d] ? (n[d] + 1) / 2 : n[d];
      const bool odd  = at[d] >= even;

      lo[d] = odd ? even : 0;
      hi[d] = odd ? n[d] : even;
      block += odd << d;
    }
    const T *X   = inverse.block[block] + ((at[2] - lo[2]) * (hi[1] - lo[1]) + at[1] - lo[1]) * (hi[0] - lo[0]) + at[0] - lo[0];
    T        sum = 0;

    for (int k = lo[2]; k < hi[2]; k++)
      for (int j = lo[1]; j < hi[1]; j++)
        for (int i = lo[0]; i < hi[0]; i++, X += inverse.size[block]) sum += *X * in[(k * n[1] + j) * n[0] + i];
    out[q] = sum;
  }
}

/* out = a block in: four threads of a warp have a row, eight rows beside each other, so that few patches keep many threads busy */
template <typename T>
static __device__ inline void TermsWhole(const T *block, int size, const T *in, T *out)
{
  const int lane = (int)threadIdx.x % 32, part = lane / 8;

  for (int first = (int)threadIdx.x / 32 * 8; first < size; first += (int)blockDim.x / 4) {
    const T *X   = block + min(first + lane % 8, size - 1);
    T        sum = 0;

#pragma unroll 8
    for (int e = part; e < size; e += 4) sum += X[(size_t)e * size] * in[e];
    sum += __shfl_xor_sync(~0u, sum, 8);
    sum += __shfl_xor_sync(~0u, sum, 16);
    if (part == 0 && first + lane < size) out[first + lane] = sum;
  }
}

template <typename T>
static __device__ __forceinline__ const TermsInverse<T> &TermsInverseOf(const TermsData<T> &s, const TermsPatch<T> &p)
{
  return s.inverse[s.d[0].cls[p.number[0]] + s.d[0].nclass * (s.d[1].cls[p.number[1]] + s.d[1].nclass * s.d[2].cls[p.number[2]])];
}

/* u = A^{-1} u by the inverse's blocks, with w in between */
template <typename T>
static __device__ inline void TermsDense(const TermsData<T> &s, const TermsPatch<T> &p, T *u, T *w)
{
  const TermsInverse<T> &inverse = TermsInverseOf(s, p);

  if (inverse.is_whole()) {
    if (p.active) TermsWhole(inverse.block[0], inverse.size[0], u, w);
    __syncthreads();
    for (int q = threadIdx.x; q < p.size && p.active; q += blockDim.x) u[q] = w[q];
    __syncthreads();
    return;
  }
  for (int d = 0; d < 3; d++) {
    if (p.active) TermsFold(p.n, d, inverse.parity[d], true, d == 1 ? w : u, d == 1 ? u : w);
    __syncthreads();
  }
  if (p.active) TermsBlocks(inverse, p.n, w, u);
  __syncthreads();
  for (int d = 0; d < 3; d++) {
    if (p.active) TermsFold(p.n, d, inverse.parity[d], false, d == 1 ? w : u, d == 1 ? u : w);
    __syncthreads();
  }
  if (p.active)
    for (int q = threadIdx.x; q < p.size; q += blockDim.x) u[q] = w[q];
  __syncthreads();
}

/* u = from, less the product in u if there is one, at the patch's nodes; zero at those that do not exist */
template <typename T>
static __device__ inline void TermsRightSide(const TermsData<T> &s, const TermsPatch<T> &p, bool product, const T *from, T *u)
{
  for (int q = threadIdx.x; q < p.size && p.active; q += blockDim.x) {
    const int  i = p.first[0] + q % p.n[0], j = p.first[1] + q / p.n[0] % p.n[1], k = p.first[2] + q / p.n[0] / p.n[1];
    const bool inside = s.read.contains(i, j, k);

    u[q] = (inside ? from[s.l.at(i, j, k)] : T(0)) - (product ? u[q] : T(0));
  }
  __syncthreads();
}

/* to = beta to + omega u, at node q of the patch */
template <typename T>
static __device__ __forceinline__ void TermsPut(const TermsData<T> &s, const ColorPatches &g, const TermsPatch<T> &p, int q, T omega,
                                                T beta, T u, T *to)
{
  const int i = p.first[0] + q % p.n[0], j = p.first[1] + q / p.n[0] % p.n[1], k = p.first[2] + q / p.n[0] / p.n[1];

  if (s.read.contains(i, j, k)) TermsUpdate(g, omega, beta, u, to + s.l.at(i, j, k));
}

template <typename T>
static __device__ inline void TermsScatter(const TermsData<T> &s, const ColorPatches &g, const TermsPatch<T> &p, T omega, T beta,
                                           const T *u, T *to)
{
  for (int q = threadIdx.x; q < p.size && p.active; q += blockDim.x) TermsPut(s, g, p, q, omega, beta, u[q], to);
  __syncthreads();
}

template <typename T>
static __global__ void TermsKernel(const __grid_constant__ TermsData<T> s, const __grid_constant__ ColorPatches g, PatchFDPatchOp op,
                                   T omega, bool zero, T *x, const T *b, T *r)
{
  const TermsMemory<T> m(s);
  const bool           product = op != PATCHFD_OP_SOLVE && !zero;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < g.items(); base += (size_t)gridDim.x * blockDim.y) {
    const TermsPatch<T> p(s, g, base + threadIdx.y);

    if (product) TermsProduct(s, p, m, x);
    TermsRightSide(s, p, product, op == PATCHFD_OP_SOLVE ? r : b, m.x);
    if (op == PATCHFD_OP_RESIDUAL) TermsScatter(s, g, p, T(1), T(0), m.x, r);
    else {
      if (s.inverse) TermsDense(s, p, m.x, m.rest);
      else TermsDiagonalize(s, p, m.x, m.rest);
      TermsScatter(s, g, p, omega, zero ? T(0) : T(1), m.x, x);
    }
  }
}

static constexpr int rows_warps = 8, rows_each = 2; /* of a block of the kernel below; rows of a warp */

/* to = beta to + omega A^{-1} from, with inverses of one block, for so few patches that each has many blocks of threads: a warp a row */
template <typename T>
static __global__ void __launch_bounds__(32 * rows_warps)
  TermsRowsKernel(const __grid_constant__ TermsData<T> s, const __grid_constant__ ColorPatches g, T omega, T beta, const T *from, T *to)
{
  T *const            u = TeamMemory<T>(NULL, 0);
  const TermsPatch<T> p(s, g, blockIdx.y);
  const int           first = ((int)blockIdx.x * rows_warps + (int)threadIdx.x / 32) * rows_each, lane = (int)threadIdx.x % 32;

  TermsRightSide(s, p, false, from, u);
  for (int row = first; row < min(first + rows_each, p.size) && p.active; row++) {
    const T *X   = TermsInverseOf(s, p).block[0] + (size_t)row * p.size;
    T        sum = 0;

#pragma unroll 8
    for (int e = lane; e < p.size; e += 32) sum += X[e] * u[e];
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) TermsPut(s, g, p, row, omega, beta, sum, to);
  }
}

} // namespace patchfd
