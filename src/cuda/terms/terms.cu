/* Local solvers with the residual of an operator's terms: see terms.cuh for what is where */
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

/* ---- plans ---- */

template <typename T>
struct TermsPlan {
  TermsData<T> data = {};
  TermsForm    form;
  TermsFast   *fast    = NULL;
  T           *between = NULL; /* residuals on their way to the fast solve */
  int          phases;
  PetscInt     n[3];  /* largest patch */
  TermsFlops   flops; /* of the generic kernel, for the largest patch */
  /* do all inverses consist of one block; has a block of threads room for a patch, to multiply rows of them? */
  bool       whole = true, byrows = false;
  PlanMemory memory;

  PetscErrorCode create(const PatchFDLocalDesc *);
  PetscErrorCode free();
  PetscErrorCode applyGeneric(const ColorPatches &, PatchFDPatchOp, PetscReal omega, bool zero, T *x, const T *b, T *r, cudaStream_t) const;
  PetscErrorCode applyFast(const ColorPatches &, PatchFDPatchOp, PetscReal omega, bool zero, T *x, const T *b, T *r, cudaStream_t) const;
  bool           isFast(const PatchFDRange patches) const;
  PetscLogDouble count(const ColorPatches &, PatchFDPatchOp, bool zero, const TermsFlops &) const;

private:
  PetscErrorCode direction(const PatchFDLocalDesc *, int d);
  PetscErrorCode find(const PatchFDPatches *, const PatchFDRows *, PetscReal coef, int d, int *found, std::vector<const PatchFDRows *> &,
                      std::vector<PetscReal> &);
  PetscErrorCode rows(const PatchFDPatches *, const PatchFDRows *, PetscReal coef, int d, TermsMatrix<T> *);
  PetscErrorCode terms(const PatchFDLocalDesc *);
  PetscErrorCode inverses(const PatchFDLocalDesc *);
};

/* the cover, and the eigenvectors of its classes where they are used; inverses have classes of the solver */
template <typename T>
PetscErrorCode TermsPlan<T>::direction(const PatchFDLocalDesc *desc, int d)
{
  const PatchFDPatches  *pd = desc->field->dir[d];
  const bool             fd = desc->kind != PATCHFD_LOCAL_DENSE;
  TermsDirection<T>     &t  = data.d[d];
  std::vector<PetscReal> S, lambda;

  PetscFunctionBegin;
  n[d] = 1;
  for (PetscInt i = 0; i < pd->npatch; i++) {
    n[d] = PetscMax(n[d], pd->n[i]);
    PetscCheck(pd->cell[i] == i, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Patch %" PetscInt_FMT " begins at cell %" PetscInt_FMT, i, pd->cell[i]);
  }
  t.ld     = (int)n[d];
  t.nclass = (int)(fd ? pd->nclass : desc->nclass[d]);
  S.resize((size_t)(pd->nclass * n[d] * n[d]));
  lambda.resize((size_t)(pd->nclass * n[d]));
  for (PetscInt c = 0; c < pd->nclass && fd; c++) {
    const PatchFDEigen *e = &pd->eigen[c];

    for (PetscInt i = 0; i < e->n * e->n; i++) S[(size_t)(c * n[d] * n[d] + i)] = e->S[i];
    for (PetscInt i = 0; i < e->n; i++) lambda[(size_t)(c * n[d] + i)] = e->lambda[i];
  }
  PetscCall(memory.upload((size_t)pd->npatch, pd->first, (int **)&t.first));
  PetscCall(memory.upload((size_t)pd->npatch, pd->n, (int **)&t.n));
  PetscCall(memory.upload((size_t)pd->npatch, fd ? pd->cls : desc->cls[d], (int **)&t.cls));
  PetscCall(memory.upload(S.size(), S.data(), (T **)&t.S));
  PetscCall(memory.upload(lambda.size(), lambda.data(), (T **)&t.lambda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* columns of the patch and its rim, and of the slabs beyond, for each class */
template <typename T>
PetscErrorCode TermsPlan<T>::rows(const PatchFDPatches *pd, const PatchFDRows *rows, PetscReal coef, int d, TermsMatrix<T> *m)
{
  const PetscInt         rim = data.d[d].rim, beyond = rows->ext - rim;
  std::vector<PetscReal> X((size_t)(rows->nclass * n[d] * (n[d] + 2 * rim))), E[2];

  PetscFunctionBegin;
  m->beyond = (int)beyond;
  m->nX     = (int)(n[d] * (n[d] + 2 * rim));
  m->nE     = (int)(n[d] * beyond);
  for (int e = 0; e < 2; e++) E[e].resize((size_t)(rows->nclass * m->nE));
  for (PetscInt p = 0; p < rows->npatch; p++) {
    const PetscInt   c = rows->cls[p], np = pd->n[p], inner = np + 2 * rim, ld = np + 2 * rows->ext;
    const PetscReal *from = rows->X + rows->at[c];

    if (p > 0 && c == rows->cls[p - 1]) continue;
    for (PetscInt i = 0; i < np; i++) {
      for (PetscInt j = 0; j < inner; j++) X[(size_t)(c * m->nX + i * inner + j)] = coef * from[i * ld + beyond + j];
      for (int e = 0; e < 2; e++)
        for (PetscInt j = 0; j < beyond; j++)
          E[e][(size_t)(c * m->nE + i * beyond + j)] = coef * from[i * ld + (e ? beyond + inner : 0) + j];
    }
  }
  PetscCall(memory.upload((size_t)rows->npatch, rows->cls, (int **)&m->cls));
  PetscCall(memory.upload(X.size(), X.data(), (T **)&m->X));
  for (int e = 0; e < 2; e++) PetscCall(memory.upload(E[e].size(), E[e].data(), (T **)&m->E[e]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrix of direction d with these rows and this coefficient, made if it is a new one */
template <typename T>
PetscErrorCode TermsPlan<T>::find(const PatchFDPatches *pd, const PatchFDRows *r, PetscReal coef, int d, int *found,
                                  std::vector<const PatchFDRows *> &known, std::vector<PetscReal> &coefs)
{
  PetscFunctionBegin;
  for (*found = 0; *found < (int)known.size(); (*found)++)
    if (known[*found] == r && coefs[*found] == coef) PetscFunctionReturn(PETSC_SUCCESS);
  known.push_back(r);
  coefs.push_back(coef);
  PetscCall(rows(pd, r, coef, d, &data.matrix[d][*found]));
  data.d[d].nmatrix = (int)known.size();
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsPlan<T>::terms(const PatchFDLocalDesc *desc)
{
  std::vector<const PatchFDRows *> known[3];
  std::vector<PetscReal>           coefs[3];

  PetscFunctionBegin;
  PetscCheck(desc->nterm <= max_terms, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "An operator of %" PetscInt_FMT " terms; patches' residuals can be computed for at most %d", desc->nterm, max_terms);
  data.nterm = (int)desc->nterm;
  for (int d = 0; d < 3; d++) {
    data.d[d].rim = (int)desc->term[0].dir[d]->ext;
    for (PetscInt t = 1; t < desc->nterm; t++) data.d[d].rim = PetscMin(data.d[d].rim, (int)desc->term[t].dir[d]->ext);
  }
  for (PetscInt t = 0; t < desc->nterm; t++) {
    int reach = 0;

    for (int d = 0; d < 3; d++) {
      PetscCall(find(desc->field->dir[d], desc->term[t].dir[d], d == 1 ? desc->term[t].coef : 1, d, &data.term[t][d], known[d], coefs[d]));
      if (data.matrix[d][data.term[t][d]].beyond) reach++;
    }
    PetscCheck(reach <= 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Patches' residuals cannot be computed for terms that reach beyond a patch in more than one direction");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsPlan<T>::inverses(const PatchFDLocalDesc *desc)
{
  const size_t                 count = (size_t)(desc->nclass[0] * desc->nclass[1] * desc->nclass[2]);
  std::vector<TermsInverse<T>> all(count);

  PetscFunctionBegin;
  for (size_t c = 0; c < count; c++) {
    const PatchFDDense *dense = &desc->dense[c];
    size_t              total = 0;
    T                  *block;

    for (int i = 0; i < 8; i++) total += (size_t)(dense->size[i] * dense->size[i]);
    PetscCall(memory.upload(total, dense->block[0], &block));
    for (int i = 0; i < 8; i++) {
      all[c].size[i]  = (int)dense->size[i];
      all[c].block[i] = block;
      block += dense->size[i] * dense->size[i];
    }
    for (int d = 0; d < 3; d++) all[c].parity[d] = dense->parity[d];
  }
  for (const TermsInverse<T> &inverse : all) whole = whole && inverse.is_whole();
  PetscCall(memory.upload(count, all.data(), (TermsInverse<T> **)&data.inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsPlan<T>::create(const PatchFDLocalDesc *desc)
{
  const bool dense = desc->kind == PATCHFD_LOCAL_DENSE;
  size_t     size  = 1, work;
  PetscInt   c[3], entries[3];

  PetscFunctionBegin;
  phases     = (int)desc->nphase;
  data.l     = Layout(desc->field->box);
  data.read  = Range(desc->field->read);
  data.inner = 1;
  for (int d = 0; d < 3; d++) PetscCall(direction(desc, d));
  PetscCall(terms(desc));
  if (dense) PetscCall(inverses(desc));
  for (int d = 0; d < 3; d++) {
    c[d] = n[d] + 2 * data.d[d].rim;
    size *= (size_t)n[d];
    data.inner *= (int)c[d];
    entries[d] = 0;
  }
  for (int d = 0; d < 3; d++)
    for (int i = 0; i < data.d[d].nmatrix; i++) data.slab = PetscMax(data.slab, data.inner / (int)c[d] * data.matrix[d][i].beyond);
  for (int i = 0; i < data.d[0].nmatrix; i++) entries[0] += c[0] + 2 * data.matrix[0][i].beyond;
  for (int t = 0; t < data.nterm; t++) entries[1] += c[1] + 2 * data.matrix[1][data.term[t][1]].beyond;
  for (int i = 0; i < data.d[2].nmatrix; i++) entries[2] += c[2] + 2 * data.matrix[2][i].beyond;
  flops.residual = 2.0 * (PetscLogDouble)n[0] * (PetscLogDouble)(c[2] * (entries[0] * c[1] + entries[1] * n[1]) + entries[2] * n[1] * n[2]);
  flops.solve    = 0;
  for (int i = 0; i < 8 && dense; i++) flops.solve += 2.0 * (PetscLogDouble)desc->dense[0].size[i] * (PetscLogDouble)desc->dense[0].size[i];
  if (!dense) flops.solve = (PetscLogDouble)size * (4.0 * (PetscLogDouble)(n[0] + n[1] + n[2]) + 3);
  work = PetscMax(2 * (size_t)data.slab + (size_t)(data.d[0].nmatrix + data.d[2].nmatrix) * (size_t)data.inner, size);
  PetscCall(data.team.create((int)size, (size_t)data.inner + work, dense && whole ? PetscMin(512, RoundUp(4 * (int)size, 32)) : 0));
  PetscCall(AllowShared(TermsKernel<T>, data.team.shared));
  if (dense && whole) PetscCall(SharedFits(TermsRowsKernel<T>, size * sizeof(T), &byrows));
  if (byrows) PetscCall(AllowShared(TermsRowsKernel<T>, size * sizeof(T)));
  form.create(desc);
  if (form.K) PetscCall(TermsFastCreate<T>(form, desc, &fast));
  if (!fast) form.K = 0;
  else PetscCall(memory.malloc(PatchFDBoxSize(&desc->field->box), &between));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsPlan<T>::free()
{
  PetscFunctionBegin;
  PetscCall(data.team.destroy());
  PetscCall(memory.free());
  if (fast) PetscCall(fast->destroy());
  delete fast;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsSmoother<T>::create(const PatchFDLocalDesc *desc, void **plan)
{
  TermsPlan<T> *p;
  cudaStream_t  stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  p     = new TermsPlan<T>();
  *plan = p;
  PetscCall(p->create(desc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode TermsSmoother<T>::destroy(void **plan)
{
  return DestroyPlan<TermsPlan<T>>(plan);
}

/* ---- applies ---- */

template <typename T>
PetscErrorCode TermsPlan<T>::applyGeneric(const ColorPatches &g, PatchFDPatchOp op, PetscReal omega, bool zero, T *x, const T *b, T *r,
                                          cudaStream_t stream) const
{
  const T  *from = op == PATCHFD_OP_SOLVE ? r : b;
  const int each = rows_warps * rows_each;
  /* patches: more of them fill a GPU with a block each; where the one gets quicker than the other has not been measured */
  const size_t size = (size_t)(n[0] * n[1] * n[2]), items = g.items(), few = 1024;

  PetscFunctionBegin;
  if (byrows && (zero || op == PATCHFD_OP_SOLVE) && op != PATCHFD_OP_RESIDUAL && from != x && items <= few) {
    TermsRowsKernel<T>
      <<<dim3((unsigned)((size + each - 1) / each), (unsigned)items), 32 * rows_warps, size * sizeof(T), stream>>>(data, g, (T)omega,
                                                                                                                   zero ? T(0) : T(1), from,
                                                                                                                   x);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  TermsKernel<T><<<data.team.grid(g.items()), data.team.block(), data.team.shared, stream>>>(data, g, op, (T)omega, zero, x, b, r);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* from zero the residual is b */
template <typename T>
PetscErrorCode TermsPlan<T>::applyFast(const ColorPatches &g, PatchFDPatchOp op, PetscReal omega, bool zero, T *x, const T *b, T *r,
                                       cudaStream_t stream) const
{
  const T *from = op == PATCHFD_OP_SOLVE ? r : (zero ? b : between);

  PetscFunctionBegin;
  if (op == PATCHFD_OP_RESIDUAL) PetscCall(fast->residual(g, x, b, r, stream));
  else if (from == between) PetscCall(fast->residual(g, x, b, between, stream));
  if (op != PATCHFD_OP_RESIDUAL) PetscCall(fast->solve(g, omega, zero ? 0 : 1, from, x, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* do all nodes of the patches of this range exist? */
template <typename T>
bool TermsPlan<T>::isFast(const PatchFDRange patches) const
{
  for (int d = 0; d < form.dim; d++)
    if (patches[d][0] * form.K + 1 < data.read.lo[d] || (patches[d][1] + 1) * form.K > data.read.hi[d]) return false;
  return form.K > 0;
}

/* flops of these patches */
template <typename T>
PetscLogDouble TermsPlan<T>::count(const ColorPatches &g, PatchFDPatchOp op, bool zero, const TermsFlops &flops) const
{
  return g.empty() ? 0
                   : g.patches() * ((op == PATCHFD_OP_SOLVE || zero ? 0 : flops.residual) + (op == PATCHFD_OP_RESIDUAL ? 0 : flops.solve));
}

/* The patches that the fast kernels can do, if there are any, and those around them: slabs at either end of each direction */
template <typename T>
PetscErrorCode TermsSmoother<T>::apply(void *plan, PatchFDPatchOp op, PetscInt ncolors, const PatchFDColor colors[],
                                       const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  const TermsPlan<T> *p = (const TermsPlan<T> *)plan;
  PatchFDRange        inner, slab[6];
  int                 nslab = 0;
  bool                fast;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCheck(op != PATCHFD_OP_BOUNDARY, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No residual-free step where the residual is that of terms");
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 2; e++) inner[d][e] = patches[d][e];
  for (int d = 0; d < 3 && p->form.K; d++) {
    for (int e = 0; e < 2; e++) {
      const PetscInt cut = PetscMin(PetscMax(p->form.range[d][e], inner[d][0]), inner[d][1]);

      if (cut == inner[d][e]) continue;
      PetscCall(PetscMemcpy(slab[nslab], inner, sizeof(inner)));
      slab[nslab++][d][1 - e] = inner[d][e] = cut;
    }
  }
  fast = p->isFast(inner);
  for (PetscInt i = 0; i < ncolors; i++) {
    const bool         first = zero && i == 0;
    const ColorPatches g(colors[i], p->phases, inner, p->data.l, p->data.read);
    PetscLogDouble     flops = p->count(g, op, first, fast ? p->fast->flops : p->flops);

    if (!g.empty() && fast) PetscCall(p->applyFast(g, op, omega, first, (T *)x, (const T *)b, (T *)r, stream));
    else if (!g.empty()) PetscCall(p->applyGeneric(g, op, omega, first, (T *)x, (const T *)b, (T *)r, stream));
    for (int s = 0; s < nslab; s++) {
      const ColorPatches beside(colors[i], p->phases, slab[s], p->data.l, p->data.read);

      if (!beside.empty()) PetscCall(p->applyGeneric(beside, op, omega, first, (T *)x, (const T *)b, (T *)r, stream));
      flops += p->count(beside, op, first, p->flops);
    }
    PetscCall(PetscLogGpuFlops(flops));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct TermsSmoother<double>;
template struct TermsSmoother<float>;

} // namespace patchfd
