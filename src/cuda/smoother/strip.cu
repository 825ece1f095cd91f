/*
  Patches with matrices of their own in 2D: graded meshes, patches that reach free ends, degrees that plane.cu does not take.
  Formula, notation and stages are those of plane.cu; without parity, so that the faces below and above (s = 0, 1) enter one by
  one.

  A block has P patches of one colour beside each other in x, a strip, whose matrices it keeps in shared memory while it goes up through
  some rows of patches in y; that direction's matrix is the same for the whole row.  Matrices are read by rows, one for each mode: [q, c,
  d, lambda] with q = S' at the 2 K - 1 nodes between the patch's ends.  An end is a face, and then c = -alpha, d = -mu; or it is free, the
  patch has one node and one mode more, c is the entry of S' there, and d is zero.  So a mode has the value (q v + c e) / D + d e either
  way, with e the numbers of the ends, and brings q and c times that value back to the nodes.  Masses of cells are multiples of one matrix,
  which comes from the constant bank.

  What limits this is the way from shared memory to registers, so in double precision a thread has EACH lines at a time, for which it loads
  a mode once.
*/
#include "smoother/strip_line.cuh"

namespace patchfd
{

/* ---- a block ---- */

/* A line in y: of unknowns between the ends of a patch, or at an end, which patches share */
template <typename T, int K>
struct StripOf {
  using S = Strip<T, K>;
  int  t, p, node;             /* its number, patch (or the one above the end), node in x */
  bool between, unknown, here; /* is it one between ends, of unknowns, is it there at all? */

  StripOf() = default;
  __device__ __forceinline__ StripOf(const StripLine<T, K> &line, int number, int count, int t) : t(t), between(t < S::LINES)
  {
    p       = between ? t / S::N : t - S::LINES;
    node    = p * 2 * K + (between ? 1 + t % S::N : 0);
    here    = p < count || (!between && p == count);
    unknown = here && (between || (p == 0 && line.below(number)) || (p == count && line.above(number + 2 * (count - 1))));
  }
  __device__ __forceinline__ bool exists() const { return p <= S::P; } /* is it one of the block's? */
  /* its number of the mode m in y */
  __device__ __forceinline__ T &mode(typename S::Shared &sm, int m) const
  {
    return between ? sm.V[m * S::STRIDE + t] : sm.X[m * (S::P + 1) + p];
  }
};

/* those of a thread */
template <typename T, int K>
struct StripLines {
  using S = Strip<T, K>;
  StripOf<T, K> line[S::EACH];

  __device__ __forceinline__ StripLines(const StripLine<T, K> &x, int number, int count)
  {
#pragma unroll
    for (int l = 0; l < S::EACH; l++) line[l] = StripOf<T, K>(x, number, count, (int)threadIdx.x + l * S::THREADS);
  }
};

/* the row of patches that a block works on */
template <typename T, int K>
struct StripRow {
  int                    number, node, modes; /* in y; node below */
  bool                   free[2];
  const StripMode<T, K> *mode;

  __device__ __forceinline__ StripRow(const StripLine<T, K> &line, int number, const StripMode<T, K> *mode) :
    number(number), node(number * K), modes(2 * K - 1), free{line.below(number), line.above(number)}, mode(mode)
  {
    modes += free[0] || free[1];
  }
};

/* the modes of a patch, to shared memory */
template <typename T, int K>
__device__ __forceinline__ void StripFetch(const StripLine<T, K> &line, int number, StripMode<T, K> *to, int thread, int threads)
{
  const int4 *from = (const int4 *)(line.classes + (size_t)line.cls[number] * 2 * K);

  for (int i = thread; i < 2 * K * (int)sizeof(StripMode<T, K>) / 16; i += threads) Fetch((int4 *)to + i, from + i, true);
}

/* a line of b or, in a face, of x, with its ends */
template <typename T, int K>
__device__ __forceinline__ void StripLoad(const StripData<T, K> &g, const StripOf<T, K> &me, const StripRow<T, K> &row, int x0,
                                          bool boundary, const T *x, const T *b, T a[2 * K + 1])
{
  const ptrdiff_t corner = g.l.at(x0 + me.node, row.node, g.z);
  const bool      here   = me.here && Inside(g.read, 0, x0 + me.node);
  const T        *from   = me.unknown ? b : x;

#pragma unroll
  for (int j = 0; j <= 2 * K; j++) {
    const bool end = j == 0 || j == 2 * K, face = end && !row.free[j > 0];
    const T   *node = face ? x : from;

    a[j] = here && Inside(g.read, 1, row.node + j) && (boundary || (me.unknown && !face)) ? node[corner + j * g.l.row] : T(0);
  }
}

/* stage 1: from global memory to modes in y; faces in y */
template <typename T, int K>
__device__ __forceinline__ void StripModes(const StripData<T, K> &g, const StripLines<T, K> &me, const StripRow<T, K> &row, int x0,
                                           bool boundary, const T *x, const T *b, typename Strip<T, K>::Shared &sm)
{
  using S = Strip<T, K>;
  T a[S::EACH][2 * K + 1];

#pragma unroll
  for (int l = 0; l < S::EACH; l++) StripLoad(g, me.line[l], row, x0, boundary, x, b, a[l]);
#pragma unroll
  for (int l = 0; l < S::EACH; l++) {
    const StripOf<T, K> &line = me.line[l];

#pragma unroll
    for (int s = 0; s < 2 && line.exists(); s++) sm.F[s][line.node + line.p] = row.free[s] ? T(0) : a[l][s * 2 * K];
    if (!line.unknown) StripMass<T, K>(g.M, g.d[1].mass[row.number], g.d[1].mass[row.number + 1], row.free, a[l]);
  }
  const bool ends = row.free[0] || row.free[1];

#pragma unroll 2
  for (int m = 0; m < row.modes; m++) {
    const StripMode<T, K> &y = row.mode[m];
    T                      w[S::EACH];

    StripDot<T, K, S::EACH, 2 * K + 1>(y, a, w);
#pragma unroll
    for (int l = 0; l < S::EACH; l++) {
      if (ends) w[l] += (row.free[0] ? y.c[0] * a[l][0] : T(0)) + (row.free[1] ? y.c[1] * a[l][2 * K] : T(0));
      if (me.line[l].exists()) me.line[l].mode(sm, m) = w[l];
    }
  }
}

/* stage 2: number t is patch t % P of the faces s = t / P times M_x */
template <typename T, int K>
__device__ __forceinline__ void StripFaces(const StripData<T, K> &g, int t, int number, typename Strip<T, K>::Shared &sm)
{
  using S      = Strip<T, K>;
  const int  s = t / S::P, p = t % S::P, patch = number + 2 * p;
  const bool free[2] = {g.d[0].below(patch), g.d[0].above(patch)};
  const T   *from    = sm.F[s] + p * (2 * K + 1);
  T          a[2 * K + 1];

#pragma unroll
  for (int i = 0; i <= 2 * K; i++) a[i] = from[i + i / (2 * K)];
  StripMass<T, K>(g.M, g.d[0].mass[patch], g.d[0].mass[patch + 1], free, a);
#pragma unroll
  for (int i = 1; i < 2 * K; i++) sm.H[s][p * S::N + i - 1] = a[i];
  sm.E[s][0][p] = a[0];
  sm.E[s][1][p] = a[2 * K];
}

/* stage 3: the lines in x of the modes j, j + MODES / EACH ... in y of patch p */
template <typename T, int K>
__device__ __forceinline__ void StripSolve(const StripData<T, K> &g, const StripRow<T, K> &row, int p, int j, int number,
                                           typename Strip<T, K>::Shared &sm)
{
  using S         = Strip<T, K>;
  constexpr int N = S::N, EACH = S::EACH;
  const bool    free[2] = {g.d[0].below(number + 2 * p), g.d[0].above(number + 2 * p)};
  T            *line[EACH], *end[EACH], v[EACH][N], u[EACH][N], e[EACH][2], f[EACH][2], lambda[EACH];

#pragma unroll
  for (int l = 0; l < EACH; l++) {
    /* there are as many in memory, what comes of those that are too many is not stored */
    const int              mode = j + l * S::MODES / EACH;
    const StripMode<T, K> &y    = row.mode[mode];
    const T                c[2] = {y.c[0], y.c[1]};

    lambda[l] = y.lambda;
    line[l]   = sm.V + mode * S::STRIDE + p * N;
    end[l]    = sm.X + mode * (S::P + 1) + p;
#pragma unroll
    for (int i = 0; i < N; i++) {
      v[l][i] = line[l][i] + c[0] * sm.H[0][p * N + i] + c[1] * sm.H[1][p * N + i];
      u[l][i] = 0;
    }
#pragma unroll
    for (int s = 0; s < 2; s++) {
      e[l][s] = end[l][s] + c[0] * sm.E[0][s][p] + c[1] * sm.E[1][s][p];
      f[l][s] = 0;
    }
  }
#pragma unroll(EACH *N > 10 ? 1 : 2)
  for (int m = 0; m < N + (free[0] || free[1]); m++) {
    const StripMode<T, K> &x    = sm.x[p].mode[m];
    const T                c[2] = {x.c[0], x.c[1]}, d[2] = {x.d[0], x.d[1]};
    T                      w[EACH];

    StripDot<T, K, EACH, N>(x, v, w);
#pragma unroll
    for (int l = 0; l < EACH; l++) {
      w[l] = (w[l] + c[0] * e[l][0] + c[1] * e[l][1]) * ReciprocalOrZero(x.lambda + lambda[l]) + d[0] * e[l][0] + d[1] * e[l][1];
#pragma unroll
      for (int s = 0; s < 2; s++) f[l][s] += c[s] * w[l];
    }
    if (N > 15) asm volatile("" : : : "memory"); /* the mode is read once more: else it takes too many registers */
    StripAdd<T, K, EACH, N>(x, w, u);
  }
#pragma unroll
  for (int l = 0; l < EACH; l++) {
    if (j + l * S::MODES / EACH >= row.modes) continue;
#pragma unroll
    for (int i = 0; i < N; i++) line[l][i] = u[l][i];
#pragma unroll
    for (int s = 0; s < 2; s++)
      if (free[s]) end[l][s] = f[l][s];
  }
}

/* a line of unknowns to x */
template <typename T, int K>
__device__ __forceinline__ void StripStore(const StripData<T, K> &g, const StripOf<T, K> &me, const StripRow<T, K> &row, int x0, T omega,
                                           T beta, const T a[2 * K + 1], T *x)
{
  const ptrdiff_t corner = g.l.at(x0 + me.node, row.node, g.z);

  if (!me.unknown || !Inside(g.read, 0, x0 + me.node)) return;
#pragma unroll
  for (int j = 0; j <= 2 * K; j++) {
    T *xj = x + corner + j * g.l.row;

    if (((j > 0 && j < 2 * K) || row.free[j > 0]) && Inside(g.read, 1, row.node + j))
      *xj = beta == 0 ? omega * a[j] : beta * *xj + omega * a[j];
  }
}

/* stage 4: from modes in y to x */
template <typename T, int K>
__device__ __forceinline__ void StripNodes(const StripData<T, K> &g, const StripLines<T, K> &me, const StripRow<T, K> &row, int x0, T omega,
                                           T beta, typename Strip<T, K>::Shared &sm, T *x)
{
  using S = Strip<T, K>;
  T face[S::EACH][2], a[S::EACH][2 * K + 1];

#pragma unroll
  for (int l = 0; l < S::EACH; l++) {
#pragma unroll
    for (int s = 0; s < 2; s++) face[l][s] = me.line[l].unknown ? sm.F[s][me.line[l].node + me.line[l].p] : T(0);
#pragma unroll
    for (int i = 0; i <= 2 * K; i++) a[l][i] = 0;
  }
#pragma unroll 2
  for (int m = 0; m < row.modes; m++) {
    const StripMode<T, K> &y    = row.mode[m];
    const T                c[2] = {y.c[0], y.c[1]}, d[2] = {y.d[0], y.d[1]};
    T                      w[S::EACH];

#pragma unroll
    for (int l = 0; l < S::EACH; l++) {
      w[l] = me.line[l].unknown ? me.line[l].mode(sm, m) + d[0] * face[l][0] + d[1] * face[l][1] : T(0);
      a[l][0] += c[0] * w[l];
      a[l][2 * K] += c[1] * w[l];
    }
    StripAdd<T, K, S::EACH, 2 * K + 1>(y, w, a);
  }
#pragma unroll
  for (int l = 0; l < S::EACH; l++) StripStore(g, me.line[l], row, x0, omega, beta, a[l], x);
}

template <typename T, int K>
__launch_bounds__(Strip<T, K>::THREADS, Strip<T, K>::BLOCKS) static __global__
  void StripKernel(const __grid_constant__ StripData<T, K> g, const __grid_constant__ StripShell shell, bool boundary, T omega, T beta,
                   T *x, const T *__restrict__ b)
{
  using S = Strip<T, K>;
  extern __shared__ int4 strip_memory[];
  typename S::Shared    &sm = *(typename S::Shared *)strip_memory;
  int                    count[2], number[2];

  shell.find(blockIdx.x, count, number);
  const StripLines<T, K> me(g.d[0], number[0], count[0]);
  const int              x0 = number[0] * K, t = threadIdx.x;

  StripFetch(g.d[1], number[1], sm.y[0], t, S::THREADS);
  for (int p = t / 32; p < count[0]; p += S::THREADS / 32) StripFetch(g.d[0], number[0] + 2 * p, sm.x[p].mode, t % 32, 32);
  for (int r = 0; r < count[1]; r++) {
    const StripRow<T, K> row(g.d[1], number[1] + 2 * r, sm.y[r % 2]);

    FetchWait();
    __syncthreads();
    if (r + 1 < count[1]) StripFetch(g.d[1], row.number + 2, sm.y[(r + 1) % 2], t, S::THREADS);
    StripModes(g, me, row, x0, boundary, x, b, sm);
    __syncthreads();
    for (int i = t; i < 2 * S::P; i += S::THREADS) {
      if (i % S::P < count[0]) StripFaces(g, i, number[0], sm);
    }
    __syncthreads();
    if (t < count[0] * S::MODES / S::EACH) StripSolve(g, row, t * S::EACH / S::MODES, t % (S::MODES / S::EACH), number[0], sm);
    __syncthreads();
    StripNodes(g, me, row, x0, omega, beta, sm, x);
  }
}

/* ---- launch ---- */

/* the degree of a line whose patches are two cells each, if there are several */
static inline int StripDegree(const PatchFDPatches *pd)
{
  const PetscInt last = pd->npatch - 1;

  return last > 0 ? (int)((pd->first[last] - 1) / last) : 0;
}

template <typename T, int K>
struct StripSmoother : PlaceSmoother {
  StripData<T, K> g;
  PlanMemory      memory;
  int             resident; /* blocks */

  PetscErrorCode create(const PatchFDLocalDesc *desc, bool *exists)
  {
    PetscReal M[K * (K + 1)] = {0};

    PetscFunctionBegin;
    *exists = true;
    for (int d = 0; d < 2 && *exists; d++) PetscCall(upload(desc->field->dir[d], M, &g.d[d], exists));
    if (!*exists) PetscFunctionReturn(PETSC_SUCCESS);
    for (int i = 0; i < K * (K + 1); i++) g.M[i] = (T)M[i];
    g.l    = Layout(desc->field->box);
    g.read = Range(desc->field->read);
    g.z    = (int)desc->field->dir[2]->first[0];
    PetscCall(Multiprocessors(&resident));
    resident *= Strip<T, K>::BLOCKS;
    PetscCall(AllowShared(StripKernel<T, K>, sizeof(typename Strip<T, K>::Shared)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const PatchShell &s, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                       cudaStream_t stream) override
  {
    const unsigned   blocks = StripShell(s, Strip<T, K>::P, 1).end[5];
    const StripShell shell(s, Strip<T, K>::P, PetscMin(8, PetscMax(1, (int)blocks / (2 * resident))));

    PetscFunctionBegin;
    StripKernel<T, K><<<shell.end[5], Strip<T, K>::THREADS, sizeof(typename Strip<T, K>::Shared), stream>>>(g, shell, boundary, (T)omega,
                                                                                                            (T)beta, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  bool           residuals() const override { return false; }
  PetscErrorCode residual(const PatchShell &, const void *, const void *, void *, cudaStream_t) override
  {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "These patches have no kernel for residuals");
  }

private:
  static constexpr int MODE = sizeof(StripMode<T, K>) / sizeof(T); /* numbers */

  /* is a == b, of numbers as large as `scale`? */
  static bool Same(PetscReal a, PetscReal b, PetscReal scale)
  {
    return PetscAbsReal(a - b) <= 1e4 * PETSC_MACHINE_EPSILON * PetscAbsReal(scale);
  }

  /* entry of M_II and its columns of the ends, between nodes i and j of the two cells; low: the lower end is free */
  static PetscReal Entry(const PatchFDEigen *e, int low, int i, int j) { return e->MI[(i - 1 + low) * (e->n + 2) + j + low]; }

  /* M from a patch, as of its lower cell */
  static void Reference(const PatchFDEigen *e, int low, PetscReal M[K * (K + 1)])
  {
    const PetscReal ratio = Entry(e, low, K, 2 * K) / Entry(e, low, K, 0);

    for (int i = 1; i < K; i++)
      for (int j = 0; j <= K; j++) M[i * (K + 1) + j] = Entry(e, low, i, j);
    for (int j = 1; j < K; j++) M[j] = Entry(e, low, j, 0);
    M[K] = Entry(e, low, K, 0);
    M[0] = Entry(e, low, K, K) / (1 + ratio);
  }

  /* the masses of a patch's cells in multiples of M; false if they are not */
  static bool Masses(const PatchFDEigen *e, int low, int high, const PetscReal M[K * (K + 1)], PetscReal mass[2])
  {
    const auto cell = [&](int i, int j) { return i < K ? M[i * (K + 1) + j] : M[K - j]; };
    bool       same = true;

    for (int s = 0; s < 2; s++) mass[s] = Entry(e, low, K, s * 2 * K) / M[K];
    for (int i = 1 - low; i < 2 * K + high; i++)
      for (int j = 0; j <= 2 * K; j++) {
        const PetscReal lower = i <= K && j <= K ? cell(i, j) : 0, upper = i >= K && j >= K ? cell(2 * K - i, 2 * K - j) : 0;

        same = same && Same(Entry(e, low, i, j), mass[0] * lower + mass[1] * upper, (mass[0] + mass[1]) * M[0]);
      }
    return same;
  }

  /* a class of patches, as StripMode lies in memory */
  static void numbers(const PatchFDEigen *e, int low, int high, PetscReal *to)
  {
    constexpr int c = StripMode<T, K>::NODES, d = c + 2, lambda = d + 2;
    const int     n = (int)e->n, free[2] = {low, high}, end[2] = {0, n - 1};

    for (int m = 0; m < n; m++, to += MODE) {
      for (int i = 0; i < 2 * K - 1; i++) to[i] = e->S[(i + low) * n + m];
      for (int s = 0; s < 2; s++) {
        to[c + s] = free[s] ? e->S[end[s] * n + m] : -e->alpha[s][m];
        to[d + s] = free[s] ? 0 : -e->mu[s][m];
      }
      to[lambda] = e->lambda[m];
    }
  }

  /* a direction; M is found in the first one.  *exists: false where patches are not two cells of this degree with such masses */
  PetscErrorCode upload(const PatchFDPatches *pd, PetscReal M[], StripLine<T, K> *line, bool *exists)
  {
    constexpr size_t       size = 2 * K * MODE; /* of a class */
    const PetscInt         n    = pd->npatch;
    std::vector<PetscReal> modes((size_t)pd->nclass * size), mass((size_t)n + 1);
    T                     *classes;

    PetscFunctionBegin;
    line->last = (int)n - 1;
    for (PetscInt i = 0; i < n && *exists; i++) {
      const PatchFDEigen *e   = &pd->eigen[pd->cls[i]];
      const int           low = pd->first[i] == i * K, high = pd->first[i] + pd->n[i] == (i + 2) * K + 1;

      *exists = pd->first[i] == i * K + 1 - low && e->n == 2 * K - 1 + low + high && !(low && high) && !(low && i) && !(high && i < n - 1);
      if (!*exists) break;
      if (M[0] == 0) Reference(e, low, M);
      *exists = Masses(e, low, high, M, &mass[i]);
      if (i == 0) line->free[0] = low;
      line->free[1] = high;
      numbers(e, low, high, &modes[(size_t)pd->cls[i] * size]);
    }
    if (!*exists) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(memory.upload(modes.size(), modes.data(), &classes));
    PetscCall(memory.upload((size_t)n, pd->cls, &line->cls));
    PetscCall(memory.upload(mass.size(), mass.data(), &line->mass));
    line->classes = (const StripMode<T, K> *)classes;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T>
PetscErrorCode SmootherStripCreate(const PatchFDLocalDesc *desc, PlaceSmoother **strip)
{
  const int degree = StripDegree(desc->field->dir[0]);
  bool      exists = false;

  PetscFunctionBegin;
  if (degree < 1 || degree > 16 || StripDegree(desc->field->dir[1]) != degree) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((ForDegree<1, 16>(degree, [&](auto k) {
    StripSmoother<T, k()> *s = new StripSmoother<T, k()>;

    PetscFunctionBegin;
    *strip = s; /* there before its arrays, so that it can be destroyed after an error */
    PetscCall(s->create(desc, &exists));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  if (exists) PetscFunctionReturn(PETSC_SUCCESS);
  delete *strip;
  *strip = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::SmootherStripCreate<INSTANCE_T>(const PatchFDLocalDesc *, PlaceSmoother **);
