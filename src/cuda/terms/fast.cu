/*
  Patches of two equal cells a direction, inside a uniform mesh, for

    A = B M M + M B M + M M B + c (L L M + L M L + M L L)        in 2D without the third direction

  M and L stay in their cells, B reaches one cell beyond the patch.  A step is two kernels: r = b - A x at the patches' nodes, and x +=
  omega A_j^{-1} r by fast diagonalization or by dense inverses; r goes through an array like x.

  N = 2 K - 1 nodes of a patch, C = N + 2 with the rim.  All patches have the same matrices, which are mirrored: a product with one costs
  half if the line is split into sums and differences of mirrored entries, and halves are operands from the constant bank.

  B and the cells beside a patch.  The K nodes beyond the rim enter by two functionals: of B's columns at one end, E = a d with d of two
  rows (the jump of the first derivative, the mean of the second one).  So a line has C + 4 entries for B.  At the boundary of the mesh
  there is no cell beside the patch; there the functionals are others, f, of the nodes of the patch's own outer cell, so that the matrix of
  the boundary's patch is that of all others plus a f: a mirror image of the cell in place of the neighbour.  That holds for all conditions
  that involve first and second derivatives.

  Residual: a block works on P patches.  What lies where in shared memory, for each of them:

    rows     x on C z-places and C y-places, in rows of 4 K + 1: the patch, its rim and the K nodes beyond on either side
    beside   functionals of the cells beside the patch in y and z, rows in x: [end][functional][z][x], [end][functional][y][x]
    P        M x, B x, L x in x-lines: [i][z][y] each; of the functionals M only: [i][end, functional][z], [i][end, functional][y]
    Q        over `rows`: M B x + B M x + L L x, M M x, M L x + L M x: [j][i][z] each; of the functionals in z [j][i][end, functional]

    1. rows (asynchronously), functionals in y and z    2. x-lines    3. y-lines    4. z-lines, b, r        with a barrier between each two

  A thread owns a line, reads mirrored entries in pairs and has three sums in registers.  Lines of neighbouring threads are an odd number
  of entries apart: no bank conflicts.
*/
#include "terms/dense.cuh"

namespace patchfd
{

/* ---- the residual ---- */

template <typename T, int K, int DIM>
struct TermsShape {
  static constexpr int N = 2 * K - 1, C = N + 2, NZ = DIM == 3 ? N : 1, CZ = DIM == 3 ? C : 1, WIDTH = 4 * K + 1;
  static constexpr int ROWS = C * CZ, BESIDE_Y = 4 * CZ, BESIDE_Z = DIM == 3 ? 4 * C : 0, BESIDE = BESIDE_Y + BESIDE_Z; /* lines in x */
  static constexpr int COLUMNS = N * CZ, COLUMNS_Z = DIM == 3 ? 4 * N : 0;                                              /* lines in y */
  /* nodes of a plane: lines in z */
  static constexpr int LINES = N * NZ;
  /* numbers of a patch in shared memory */
  static constexpr int FUNCTIONALS = ROWS * WIDTH, FIRST = FUNCTIONALS + BESIDE * C,
                       SECOND = DIM == 3 ? 3 * N * COLUMNS + N * COLUMNS_Z : 0;
  static constexpr int P = FIRST > SECOND ? FIRST : SECOND, PY = P + 3 * N * ROWS, PZ = PY + N * BESIDE_Y, SIZE = PZ + N * BESIDE_Z;
  static constexpr int QZ = 3 * N * COLUMNS;

  static constexpr int packing[2][7] = {{0, 0, 16, 12, 8, 8, 8}, {0, 0, 4, 2, 1, 1, 1}},
                       threads[2][7] = {{0, 0, 128, 128, 128, 128, 128}, {0, 0, 128, 128, 160, 224, 288}};
  static constexpr int registers[]   = {0, 0, 96, 96, 128, 128, 112}; /* that do with few spills */
  static constexpr int PATCHES = packing[DIM - 2][K], THREADS = threads[DIM - 2][K];
  static constexpr int ROOM   = (int)(shared_limit / (PATCHES * SIZE * sizeof(T) + 1024)),
                       FIT    = 65536 / (THREADS * (sizeof(T) == 8 ? registers[K] : 80));
  static constexpr int BLOCKS = ROOM < 1 ? 1 : (ROOM < FIT ? ROOM : (FIT < 1 ? 1 : FIT));
};

template <typename T, int K, int DIM>
struct TermsBlock {
  using F                = TermsShape<T, K, DIM>;
  static constexpr int N = F::N, C = F::C;

  const TermsMatrices<T, K> &m;
  const ColorPatches        &g;
  const TermsPlace          *place;
  T                         *sm;

  /* f(patch, its numbers in shared memory, item) for all items of all patches */
  template <int ITEMS, typename Function>
  __device__ __forceinline__ void forAll(Function f) const
  {
    for (int q = threadIdx.x; q < F::PATCHES * ITEMS; q += F::THREADS) f(place[q / ITEMS], sm + q / ITEMS * F::SIZE, q % ITEMS);
  }
  static __device__ __forceinline__ bool boundary(const TermsPlace &p, int d, int e) { return p.ends >> (2 * d + e) & 1; }

  /* 1. */
  __device__ __forceinline__ void fetch(const T *x) const
  {
    forAll<F::ROWS * F::WIDTH>([&](const TermsPlace &p, T *s, int q) {
      const int row = q / F::WIDTH, i = p.first[0] - 1 - K + q % F::WIDTH, j = p.first[1] - 1 + row % C,
                k      = DIM == 3 ? p.first[2] - 1 + row / C : p.first[2] - 1;
      const bool there = p.ends >= 0 && Inside(g.read, 0, i) && Inside(g.read, 1, j) && Inside(g.read, 2, k);

      if (there) __pipeline_memcpy_async(s + q, x + g.l.at(i, j, k), sizeof(T));
      else s[q] = 0;
    });
    __pipeline_commit();
  }
  /* both functionals of a line that leaves the patch at end e of direction d; `rim` is its node on the rim, `inside(i)` says whether node i
     of the direction may be read */
  __device__ __forceinline__ void functionals(const TermsPlace &p, int d, int e, const T *rim, ptrdiff_t step, T value[2]) const
  {
    const int  node = e ? p.first[d] + N : p.first[d] - 1, out = e ? 1 : -1;
    const bool own = boundary(p, d, e);

    value[0] = value[1] = 0;
    if (own) {
#pragma unroll
      for (int i = 0; i <= K; i++) {
        const T v = Inside(g.read, d, node - out * i) ? rim[-out * i * step] : T(0);

#pragma unroll
        for (int w = 0; w < 2; w++) value[w] += m.own[d][e][w][i] * v;
      }
    } else {
#pragma unroll
      for (int i = 0; i < K; i++) {
        const T v = Inside(g.read, d, node + out * (i + 1)) ? rim[out * (i + 1) * step] : T(0);

#pragma unroll
        for (int w = 0; w < 2; w++) value[w] += m.beyond[d][w][i] * v;
      }
    }
  }
  /* of the cells beside the patch in y and z: lines of one number of x and one of the third direction, on the patch's rim */
  template <int D>
  __device__ __forceinline__ void beside(const T *x) const
  {
    constexpr int O = 3 - D /* the third direction */, CO = D == 1 ? F::CZ : C, FIRST = F::FUNCTIONALS + (D == 2 ? F::BESIDE_Y * C : 0);

    forAll<2 * CO * C>([&](const TermsPlace &p, T *s, int q) {
      const int  e = q / (CO * C), o = q / C % CO, at[2] = {p.first[0] - 1 + q % C, p.first[O] + (CO > 1 ? o - 1 : -1)};
      const bool there    = p.ends >= 0 && Inside(g.read, 0, at[0]) && Inside(g.read, O, at[1]);
      T          value[2] = {0, 0};

      if (there) {
        const int rim = e ? p.first[D] + N : p.first[D] - 1;

        functionals(p, D, e, x + (D == 1 ? g.l.at(at[0], rim, at[1]) : g.l.at(at[0], at[1], rim)), D == 1 ? g.l.row : g.l.plane, value);
      }
#pragma unroll
      for (int w = 0; w < 2; w++) s[FIRST + ((2 * e + w) * CO + o) * C + q % C] = value[w];
    });
  }

  /* 2. M x, B x and L x of the patch's x-lines */
  __device__ __forceinline__ void linesX() const
  {
    forAll<F::ROWS>([&](const TermsPlace &p, T *s, int row) {
      const T        *in = s + row * F::WIDTH + K;
      TermsLine<T, K> M, B, L;

#pragma unroll
      for (int j = 0; j < K; j++) {
        const T a = in[j], b = in[C - 1 - j];

        M.add(m.M[0], j, a, b);
        B.add(m.B[0], j, a, b);
        L.add(m.L[0], j, a, b);
      }
      M.addMiddle(m.M[0], in[K]);
      B.addMiddle(m.B[0], in[K]);
      L.addMiddle(m.L[0], in[K]);
      M.store(s + F::P + row, F::ROWS);
      L.store(s + F::P + 2 * N * F::ROWS + row, F::ROWS);
      T end[2][2];

#pragma unroll
      for (int e = 0; e < 2; e++) rowFunctionals(p, e, in + (e ? C - 1 : 0), end[e]);
#pragma unroll
      for (int w = 0; w < 2; w++) B.addEnds(m.ends[0], w, end[0][w], end[1][w]);
      B.store(s + F::P + N * F::ROWS + row, F::ROWS);
    });
  }
  /* those of a row in shared memory, where what may not be read is zero */
  __device__ __forceinline__ void rowFunctionals(const TermsPlace &p, int e, const T *rim, T value[2]) const
  {
    const bool own = boundary(p, 0, e);

    value[0] = value[1] = 0;
#pragma unroll
    for (int i = 0; i <= K; i++) {
#pragma unroll
      for (int w = 0; w < 2; w++) {
        if (own) value[w] += m.own[0][e][w][i] * rim[e ? -i : i];
        else if (i < K) value[w] += m.beyond[0][w][i] * rim[e ? i + 1 : -1 - i];
      }
    }
  }
  /* 2. M times the rows of functionals */
  __device__ __forceinline__ void linesXBeside() const
  {
    forAll<F::BESIDE>([&](const TermsPlace &, T *s, int row) {
      const T *in = s + F::FUNCTIONALS + row * C;

      if (row < F::BESIDE_Y) single(m.M[0], in, s + F::PY + row, F::BESIDE_Y);
      else single(m.M[0], in, s + F::PZ + row - F::BESIDE_Y, F::BESIDE_Z);
    });
  }
  static __device__ __forceinline__ void single(const TermsHalves<T, K> &h, const T *in, T *out, int stride)
  {
    TermsLine<T, K> line;

#pragma unroll
    for (int j = 0; j < K; j++) line.add(h, j, in[j], in[C - 1 - j]);
    line.addMiddle(h, in[K]);
    line.store(out, stride);
  }

  /* 3. the sum M P_B + B P_M + L P_L of y-line `column`, which belongs to M in z */
  __device__ __forceinline__ TermsLine<T, K> mainY(const T *s, int column) const
  {
    const T *PM = s + F::P + column * C, *PB = PM + N * F::ROWS, *PL = PB + N * F::ROWS,
            *end = s + F::PY + column / F::CZ * F::BESIDE_Y + column % F::CZ;
    TermsLine<T, K> sum;

#pragma unroll
    for (int j = 0; j < K; j++) {
      sum.add(m.M[1], j, PB[j], PB[C - 1 - j]);
      sum.add(m.B[1], j, PM[j], PM[C - 1 - j]);
      sum.add(m.L[1], j, PL[j], PL[C - 1 - j]);
    }
    sum.addMiddle(m.M[1], PB[K]);
    sum.addMiddle(m.B[1], PM[K]);
    sum.addMiddle(m.L[1], PL[K]);
#pragma unroll
    for (int w = 0; w < 2; w++) sum.addEnds(m.ends[1], w, end[w * F::CZ], end[(2 + w) * F::CZ]);
    return sum;
  }
  /* those that belong to B and L in z */
  __device__ __forceinline__ void otherY(T *s, int column) const
  {
    const T        *PM = s + F::P + column * C, *PL = PM + 2 * N * F::ROWS;
    TermsLine<T, K> B, L;

#pragma unroll
    for (int j = 0; j < K; j++) {
      const T a = PM[j], b = PM[C - 1 - j];

      B.add(m.M[1], j, a, b);
      L.add(m.L[1], j, a, b);
      L.add(m.M[1], j, PL[j], PL[C - 1 - j]);
    }
    B.addMiddle(m.M[1], PM[K]);
    L.addMiddle(m.L[1], PM[K]);
    L.addMiddle(m.M[1], PL[K]);
    B.store(s + N * F::COLUMNS + column, F::COLUMNS);
    L.store(s + 2 * N * F::COLUMNS + column, F::COLUMNS);
  }
  __device__ __forceinline__ void linesY() const
  {
    forAll<F::COLUMNS>([&](const TermsPlace &, T *s, int column) {
      mainY(s, column).store(s + column, F::COLUMNS);
      otherY(s, column);
    });
    forAll<F::COLUMNS_Z>(
      [&](const TermsPlace &, T *s, int column) { single(m.M[1], s + F::PZ + column * C, s + F::QZ + column, F::COLUMNS_Z); });
  }

  /* 4. M Q_M + B Q_B + L Q_L of z-line l = j N + i */
  __device__ __forceinline__ TermsLine<T, K> sumZ(const T *s, int l) const
  {
    const T        *QM = s + l * C, *QB = QM + N * F::COLUMNS, *QL = QB + N * F::COLUMNS, *end = s + F::QZ + 4 * l;
    TermsLine<T, K> sum;

#pragma unroll
    for (int j = 0; j < K; j++) {
      sum.add(m.M[2], j, QM[j], QM[C - 1 - j]);
      sum.add(m.B[2], j, QB[j], QB[C - 1 - j]);
      sum.add(m.L[2], j, QL[j], QL[C - 1 - j]);
    }
    sum.addMiddle(m.M[2], QM[K]);
    sum.addMiddle(m.B[2], QB[K]);
    sum.addMiddle(m.L[2], QL[K]);
#pragma unroll
    for (int w = 0; w < 2; w++) sum.addEnds(m.ends[2], w, end[w], end[2 + w]);
    return sum;
  }
  /* r = b - the last sums, of lines of direction DIM - 1 whose first node is at `node` */
  __device__ __forceinline__ void finish(const TermsLine<T, K> &sum, const T *b, T *r, ptrdiff_t node, ptrdiff_t step) const
  {
    sum.unfold([=](int i, T v) { r[node + i * step] = b[node + i * step] - v; });
  }
  __device__ __forceinline__ void subtract(const T *b, T *r) const
  {
    forAll<DIM == 3 ? N * N : N>([&](const TermsPlace &p, T *s, int l) {
      if (p.ends < 0) return;
      if constexpr (DIM == 3) finish(sumZ(s, l), b, r, g.l.at(p.first[0] + l % N, p.first[1] + l / N, p.first[2]), g.l.plane);
      else finish(mainY(s, l), b, r, g.l.at(p.first[0] + l, p.first[1], p.first[2] - 1), g.l.row);
    });
  }
};

template <typename T, int K, int DIM>
__launch_bounds__(TermsShape<T, K, DIM>::THREADS, TermsShape<T, K, DIM>::BLOCKS) static __global__
  void TermsResidualKernel(const __grid_constant__ TermsMatrices<T, K> m, const __grid_constant__ ColorPatches g, const T *x, const T *b,
                           T *r)
{
  using F = TermsShape<T, K, DIM>;
  extern __shared__ double2   terms_shared[];
  __shared__ TermsPlace       place[F::PATCHES];
  const TermsBlock<T, K, DIM> block = {m, g, place, (T *)terms_shared};

  for (int p = threadIdx.x; p < F::PATCHES; p += F::THREADS) place[p] = FindPlace<T, K>(g, m.edge, blockIdx.x * (size_t)F::PATCHES + p);
  __syncthreads();
  block.fetch(x);
  block.template beside<1>(x);
  if constexpr (DIM == 3) block.template beside<2>(x);
  __pipeline_wait_prior(0);
  __syncthreads();
  block.linesX();
  block.linesXBeside();
  __syncthreads();
  if constexpr (DIM == 3) {
    block.linesY();
    __syncthreads();
  }
  block.subtract(b, r);
}

/* ---- the solve by fast diagonalization: x = beta x + omega S D^{-1} S' r ---- */

/* in the constant bank: S of each direction, modes of sums and of differences; lambda has the even modes first */
template <typename T, int K>
struct TermsModes {
  T even[3][K * K], odd[3][(K - 1) * (K - 1)], lambda[3][2 * K - 1];
};

/*
  U[k][j][i] of the patches in shared memory.  A thread owns a line: lines of the last direction come from r and go to x; lines of x are
  divided by the eigenvalues between their transforms.
*/
template <typename T, int K, int DIM>
struct TermsModesShape {
  static constexpr int N = 2 * K - 1, NZ = DIM == 3 ? N : 1, LINES = N * NZ, SIZE = N * LINES;
  static constexpr int packing[2][7] = {{0, 0, 40, 25, 18, 14, 11}, {0, 0, 14, 5, 4, 3, 2}};
  static constexpr int PATCHES = packing[DIM - 2][K], THREADS = RoundUp(PATCHES * LINES, 32);
};

/* a line to modes: w has the even modes, then the odd ones */
template <typename T, int K, typename In>
__device__ __forceinline__ void TermsToModes(const TermsModes<T, K> &m, int d, In in, T w[2 * K - 1])
{
#pragma unroll
  for (int l = 0; l < 2 * K - 1; l++) w[l] = 0;
#pragma unroll
  for (int i = 0; i < K - 1; i++) {
    const T a = in(i), b = in(2 * K - 2 - i), sum = a + b, difference = a - b;

#pragma unroll
    for (int l = 0; l < K; l++) w[l] += m.even[d][i * K + l] * sum;
#pragma unroll
    for (int l = 0; l < K - 1; l++) w[K + l] += m.odd[d][i * (K - 1) + l] * difference;
  }
  const T middle = in(K - 1);

#pragma unroll
  for (int l = 0; l < K; l++) w[l] += m.even[d][(K - 1) * K + l] * middle;
}

/* out(node, value) for a line of modes */
template <typename T, int K, typename Out>
__device__ __forceinline__ void TermsToNodes(const TermsModes<T, K> &m, int d, const T w[2 * K - 1], Out out)
{
#pragma unroll
  for (int i = 0; i < K; i++) {
    T even = 0, odd = 0;

#pragma unroll
    for (int l = 0; l < K; l++) even += m.even[d][i * K + l] * w[l];
    if (i < K - 1) {
#pragma unroll
      for (int l = 0; l < K - 1; l++) odd += m.odd[d][i * (K - 1) + l] * w[K + l];
      out(2 * K - 2 - i, even - odd);
    }
    out(i, even + odd);
  }
}

template <typename T, int K, int DIM>
__launch_bounds__(TermsModesShape<T, K, DIM>::THREADS) static __global__
  void TermsModesKernel(const __grid_constant__ TermsModes<T, K> m, const __grid_constant__ ColorPatches g, T omega, T beta, const T *r,
                        T *x)
{
  using F = TermsModesShape<T, K, DIM>;
  extern __shared__ double2 terms_shared[];
  constexpr int N = F::N, LAST = DIM - 1, PLANE = DIM == 3 ? N * N : N; /* entries of a line of the last direction are this far apart */
  const int     none[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, p = threadIdx.x / F::LINES, l = threadIdx.x % F::LINES, i = l % N, j = l / N;
  const TermsPlace place = FindPlace<T, K>(g, none, blockIdx.x * (size_t)F::PATCHES + p);
  const bool       mine  = p < F::PATCHES && place.ends >= 0;
  const ptrdiff_t  node  = mine ? g.l.at(place.first[0] + i, place.first[1] + (DIM == 3 ? j : 0), place.first[2] - (DIM == 3 ? 0 : 1)) : 0,
                  step   = DIM == 3 ? g.l.plane : g.l.row;
  T *U = (T *)terms_shared + p * F::SIZE, *last = U + l, *line = U + l * N, w[N];

  if (mine) {
    TermsToModes<T, K>(
      m, LAST, [=](int k) { return r[node + k * step]; }, w);
#pragma unroll
    for (int k = 0; k < N; k++) last[k * PLANE] = w[k];
  }
  __syncthreads();
  if (DIM == 3) {
    if (mine) {
      T *y = U + j * N * N + i;

      TermsToModes<T, K>(
        m, 1, [=](int k) { return y[k * N]; }, w);
#pragma unroll
      for (int k = 0; k < N; k++) y[k * N] = w[k];
    }
    __syncthreads();
  }
  if (mine) {
    const T others = DIM == 3 ? m.lambda[1][i] + m.lambda[2][j] : m.lambda[1][i]; /* of line l: i is its place in y, j in z */

    TermsToModes<T, K>(
      m, 0, [=](int k) { return line[k]; }, w);
#pragma unroll
    for (int k = 0; k < N; k++) w[k] *= ReciprocalOrZero(m.lambda[0][k] + others);
    TermsToNodes<T, K>(m, 0, w, [=](int k, T v) { line[k] = v; });
  }
  __syncthreads();
  if (DIM == 3) {
    if (mine) {
      T *y = U + j * N * N + i;

#pragma unroll
      for (int k = 0; k < N; k++) w[k] = y[k * N];
      TermsToNodes<T, K>(m, 1, w, [=](int k, T v) { y[k * N] = v; });
    }
    __syncthreads();
  }
  if (!mine) return;
#pragma unroll
  for (int k = 0; k < N; k++) w[k] = last[k * PLANE];
  TermsToNodes<T, K>(m, LAST, w, [=](int k, T v) { TermsUpdate(g, omega, beta, v, x + node + k * step); });
}

/* ---- plans ---- */

/* of an N x columns matrix, mirrored */
template <typename T, int K>
static void TermsHalve(const std::vector<PetscReal> &X, TermsHalves<T, K> *h)
{
  constexpr int C = 2 * K + 1;

  for (int i = 0; i < K; i++) {
    for (int j = 0; j < K; j++) {
      h->even[i * (K + 1) + j] = (T)((X[i * C + j] + X[i * C + C - 1 - j]) / 2);
      if (i < K - 1) h->odd[i * K + j] = (T)((X[i * C + j] - X[i * C + C - 1 - j]) / 2);
    }
    h->even[i * (K + 1) + K] = (T)X[i * C + K];
  }
}

template <typename T, int K, int DIM>
struct TermsDegree : TermsFast {
  using F                    = TermsShape<T, K, DIM>;
  using G                    = TermsModesShape<T, K, DIM>;
  TermsMatrices<T, K>  m     = {};
  TermsModes<T, K>     modes = {};
  Owned<TermsDense<T>> dense; /* or NULL: fast diagonalization */

  PetscErrorCode residual(const ColorPatches &g, const void *x, const void *b, void *r, cudaStream_t stream) const override
  {
    const unsigned blocks = (unsigned)((g.items() + F::PATCHES - 1) / F::PATCHES);

    PetscFunctionBegin;
    TermsResidualKernel<T, K, DIM>
      <<<blocks, F::THREADS, F::PATCHES * F::SIZE * sizeof(T), stream>>>(m, g, (const T *)x, (const T *)b, (T *)r);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode solve(const ColorPatches &g, PetscReal omega, PetscReal beta, const void *r, void *x, cudaStream_t stream) const override
  {
    const unsigned blocks = (unsigned)((g.items() + G::PATCHES - 1) / G::PATCHES);

    PetscFunctionBegin;
    if (!dense) {
      TermsModesKernel<T, K, DIM>
        <<<blocks, G::THREADS, G::PATCHES * G::SIZE * sizeof(T), stream>>>(modes, g, (T)omega, (T)beta, (const T *)r, (T *)x);
      PetscCallCUDA(cudaGetLastError());
    } else PetscCall(dense->solve(g, omega, beta, (const T *)r, (T *)x, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode create(const TermsForm &form, const PatchFDLocalDesc *desc, bool *supported)
  {
    const bool diagonalize = desc->kind == PATCHFD_LOCAL_FD;

    PetscFunctionBegin;
    PetscCall(SharedFits(TermsResidualKernel<T, K, DIM>, F::PATCHES * F::SIZE * sizeof(T), supported));
    if (!*supported) PetscFunctionReturn(PETSC_SUCCESS);
    countFlops(diagonalize);
    for (int d = 0; d < 3; d++)
      for (int e = 0; e < 2; e++) m.edge[d][e] = (int)form.edge[d][e];
    for (int d = 0; d < DIM; d++) residualMatrices(form, d);
    PetscCall(AllowShared(TermsResidualKernel<T, K, DIM>, F::PATCHES * F::SIZE * sizeof(T)));
    for (int d = 0; d < DIM && diagonalize; d++) modesOf(&desc->field->dir[d]->eigen[form.cls[d]], d);
    PetscCall(AllowShared(TermsModesKernel<T, K, DIM>, G::PATCHES * G::SIZE * sizeof(T)));
    if (!diagonalize)
      PetscCall(
        (TermsDenseCreate<T, K, DIM>(desc->precision,
                                     &desc->dense[form.cls[0] + desc->nclass[0] * (form.cls[1] + desc->nclass[1] * form.cls[2])], &dense)));
    *supported = diagonalize || dense;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  /* products of lines in halves, those of the residual with their functionals; of the blocks of inverses */
  void countFlops(bool diagonalize)
  {
    const PetscLogDouble products = DIM == 3 ? 3 * F::ROWS + F::BESIDE + 6 * F::COLUMNS + F::COLUMNS_Z + 3 * F::LINES
                                             : 3 * F::ROWS + F::BESIDE + 3 * F::COLUMNS;
    const PetscLogDouble ends     = F::ROWS + F::COLUMNS + (DIM == 3 ? F::LINES : 0);

    flops.residual = 4 * K * K * products + 4 * (2 * K - 1) * ends;
    flops.solve    = 0;
    if (diagonalize) flops.solve = (PetscLogDouble)G::LINES * (DIM * 4 * (K * K + (K - 1) * (K - 1)) + 3 * G::N);
    for (int b = 0; b < 1 << DIM && !diagonalize; b++) {
      const PetscLogDouble size = TermsDenseShape<TermsProduct<PATCHFD_PRECISION_DOUBLE>, K, DIM>::size(b);

      flops.solve += 2 * size * size;
    }
  }
  void residualMatrices(const TermsForm &form, int d)
  {
    const std::vector<PetscReal> &ends = form.ends[d];

    TermsHalve(form.M[d], &m.M[d]);
    TermsHalve(form.B[d], &m.B[d]);
    TermsHalve(form.L[d], &m.L[d]);
    for (int w = 0; w < 2; w++) {
      for (int i = 0; i < K; i++) {
        const PetscReal upper = ends[2 * i + w], lower = ends[2 * (2 * K - 2 - i) + w];

        m.ends[d].even[2 * i + w] = (T)((lower + upper) / 2);
        if (i < K - 1) m.ends[d].odd[2 * i + w] = (T)((lower - upper) / 2);
      }
      for (int i = 0; i < K; i++) m.beyond[d][w][i] = (T)form.beyond[d][w * K + i];
      for (int e = 0; e < 2; e++)
        for (int i = 0; i <= K; i++) m.own[d][e][w][i] = (T)form.own[d][e][w * (K + 1) + i];
    }
  }
  void modesOf(const PatchFDEigen *e, int d)
  {
    constexpr int N = 2 * K - 1;

    for (int i = 0; i < K; i++) {
      for (int l = 0; l < K; l++) modes.even[d][i * K + l] = (T)e->S[i * N + l];
      for (int l = 0; l < K - 1 && i < K - 1; l++) modes.odd[d][i * (K - 1) + l] = (T)e->S[i * N + K + l];
    }
    for (int l = 0; l < N; l++) modes.lambda[d][l] = (T)e->lambda[l];
  }
};

template <typename T>
PetscErrorCode TermsFastCreate(const TermsForm &form, const PatchFDLocalDesc *desc, TermsFast **fast)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<2, 3>(form.dim, [&](auto dim) {
    return ForDegree<TermsForm::low, TermsForm::high>(form.K, [&](auto degree) {
      TermsDegree<T, degree, dim> *p = new TermsDegree<T, degree, dim>();
      bool                         supported;

      PetscFunctionBegin;
      PetscCall(p->create(form, desc, &supported));
      if (supported) *fast = p;
      else delete p;
      PetscFunctionReturn(PETSC_SUCCESS);
    });
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::TermsFastCreate<INSTANCE_T>(const TermsForm &, const PatchFDLocalDesc *, TermsFast **);
