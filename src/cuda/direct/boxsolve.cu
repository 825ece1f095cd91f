/*
  The direct solve of the whole box (patchfd/private/boxsolve.h): a small box, and the coarsest mesh usually is one patch, by one block of
  threads in one kernel; the steps of any other.  Large matrices are multiplied by cuBLAS, whose kernels want lines that begin at multiples
  of 8 numbers, and get them.
*/
#include "base/lines.cuh"
#include "base/plan.cuh"
#include <patchfd/private/boxsolve.h>

namespace patchfd
{

/* ---- mirrored lines are folded, and unfolded ---- */

/* what a thread has: node i of each direction and, where lines are folded, its image */
struct FoldShape {
  int    n[3], shift[3], size[3], begin[3] = {0, 0, 0}, bits; /* nodes; threads, and the first of a launch; bit d: direction d is folded */
  Layout nodes, blocks; /* node 0 of the lines is at (0, 0, 0), as is the first number of the first blocks */

  FoldShape(const PatchFDBoxFold *f)
  {
    PatchFDBox in = {};

    bits = 0;
    for (int d = 0; d < 3; d++) {
      n[d]     = (int)f->line[d].n;
      shift[d] = (int)f->line[d].shift;
      size[d]  = (int)f->line[d].size;
      in.n[d]  = PatchFDBoxLineLength(&f->line[d]);
      if (f->line[d].blocks == 2) bits |= 1 << d;
    }
    blocks = Layout(in);
    nodes  = Layout(f->box);
    nodes.offset += f->first[0] + f->first[1] * nodes.row + f->first[2] * nodes.plane;
  }
  size_t threads() const { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }

  /* the node of a corner, bit d of which is its image in direction d; false if it does not exist, or is that image itself */
  __device__ __forceinline__ bool node(const int i[3], int corner, ptrdiff_t *at) const
  {
    int at3[3];

#pragma unroll
    for (int d = 0; d < 3; d++) {
      const int image = corner >> d & 1;

      if (i[d] >= (bits >> d & 1 ? (n[d] + 1 - image) / 2 : n[d])) return false;
      at3[d] = !image ? i[d] : shift[d] ? i[d] + shift[d] : n[d] - 1 - i[d];
    }
    *at = nodes.at(at3[0], at3[1], at3[2]);
    return true;
  }
  __device__ __forceinline__ ptrdiff_t number(const int i[3], int corner) const
  {
    return blocks.at(i[0] + (corner & 1 ? size[0] : 0), i[1] + (corner & 2 ? size[1] : 0), i[2] + (corner & 4 ? size[2] : 0));
  }
};

/* sums and differences in the directions that are folded */
template <typename T>
static __device__ __forceinline__ void Butterfly(int bits, T a[8])
{
#pragma unroll
  for (int d = 0; d < 3; d++) {
#pragma unroll
    for (int c = 0; c < 8; c++) {
      if ((c >> d & 1) || !(bits >> d & 1)) continue;
      const T even = a[c], odd = a[c | 1 << d];

      a[c]          = even + odd;
      a[c | 1 << d] = even - odd;
    }
  }
}

/* the differences of a node with itself, which would not be zero, meet rows of zeros */
template <typename T, bool BACK>
static __global__ void FoldKernel(FoldShape s, const T *__restrict__ from, T *__restrict__ to)
{
  const int i[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), s.begin[1] + (int)(blockIdx.y * blockDim.y + threadIdx.y),
                    s.begin[2] + (int)blockIdx.z};

  if (i[0] >= s.size[0] || i[1] >= s.size[1]) return;
  T         a[8];
  ptrdiff_t at = 0;

#pragma unroll
  for (int c = 0; c < 8; c++) {
    a[c] = 0;
    if (c & ~s.bits) continue;
    if constexpr (BACK) a[c] = from[s.number(i, c)];
    else if (s.node(i, c, &at)) a[c] = from[at];
  }
  Butterfly(s.bits, a);
#pragma unroll
  for (int c = 0; c < 8; c++) {
    if (c & ~s.bits) continue;
    if constexpr (!BACK) to[s.number(i, c)] = a[c];
    else if (s.node(i, c, &at)) to[at] = a[c];
  }
}

/* the lines of the box, for kernels */
template <typename T>
struct BoxLines {
  int   n[3];
  Range range; /* the free nodes */
  T    *S[3], *lambda[3];
};

template <typename T>
struct BoxSolvePlan : Plan {
  BoxLines<T> lines = {};
  PatchFDBox  box   = {}; /* all nodes */
  PlanMemory  memory;
};

/* ---- small boxes ---- */

static constexpr int small_box = 15 * 15 * 15, small_threads = 512;

/* u and v hold the box in shared memory */
template <typename T>
static __global__ void SmallKernel(const __grid_constant__ BoxLines<T> p, Layout l, const T *__restrict__ b, T *__restrict__ x)
{
  extern __shared__ double shared_memory[];
  const int                n[3] = {p.n[0], p.n[1], p.n[2]}, size = n[0] * n[1] * n[2];
  T                       *u = (T *)shared_memory, *v = u + size;

  Gather(p.range.lo, n, p.range, l, b, u);
  for (int d = 0; d < 6; d++) { /* to modes, and back */
    __syncthreads();
    Contract(d % 3, n, n[d % 3], d < 3 ? Matrix<T>{p.S[d % 3], 1, n[d % 3]} : Matrix<T>{p.S[d % 3], n[d % 3], 1}, d % 2 ? v : u,
             d % 2 ? u : v, false);
    if (d == 2) {
      for (int e = threadIdx.x; e < size; e += blockDim.x) { /* each thread what it wrote itself */
        const T D = p.lambda[0][e % n[0]] + p.lambda[1][e / n[0] % n[1]] + p.lambda[2][e / n[0] / n[1]];

        v[e] = D == 0 ? T(0) : v[e] / D;
      }
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < size; e += blockDim.x)
    x[l.at(p.range.lo[0] + e % n[0], p.range.lo[1] + e / n[0] % n[1], p.range.lo[2] + e / n[0] / n[1])] = u[e];
}

template <typename T>
PetscErrorCode BoxSolve<T>::create(const PatchFDBoxSolveDesc *desc, void **plan)
{
  BoxSolvePlan<T> *p;
  size_t           size = 1;

  PetscFunctionBegin;
  *plan = NULL;
  for (int d = 0; d < 3; d++) size *= (size_t)desc->dir[d]->n;
  if (size > small_box) PetscFunctionReturn(PETSC_SUCCESS);
  p      = new BoxSolvePlan<T>;
  *plan  = p;
  p->box = desc->box;
  for (int d = 0; d < 3; d++) {
    const PatchFDEigen *e = desc->dir[d];
    BoxLines<T>        &l = p->lines;

    l.n[d]        = (int)e->n;
    l.range.lo[d] = (int)desc->first[d];
    l.range.hi[d] = (int)(desc->first[d] + e->n);
    PetscCall(p->memory.upload((size_t)(e->n * e->n), e->S, &l.S[d]));
    PetscCall(p->memory.upload((size_t)e->n, e->lambda, &l.lambda[d]));
  }
  PetscCall(AllowShared(SmallKernel<T>, 2 * small_box * sizeof(T)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode BoxSolve<T>::apply(void *plan, const void *b, void *x)
{
  const BoxSolvePlan<T> *p    = (const BoxSolvePlan<T> *)plan;
  const BoxLines<T>     &l    = p->lines;
  const size_t           size = l.range.size();

  PetscFunctionBegin;
  if (!size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Launch((PetscLogDouble)size * (4.0 * (l.n[0] + l.n[1] + l.n[2]) + 3), [&](cudaStream_t stream) {
    SmallKernel<T><<<1, small_threads, 2 * size * sizeof(T), stream>>>(l, Layout(p->box), (const T *)b, (T *)x);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct BoxSolve<double>;
template struct BoxSolve<float>;

/* ---- modes ---- */

/* the modes of a box, planes of n0 times n1 numbers one after another, and what they have to do with the ends of the piece */
template <typename T>
struct BoxModes {
  int      n0, inner, n; /* numbers of a plane, planes */
  const T *lambda[3];    /* of a plane's directions, and of the last one */
  const T *alpha, *mass; /* [n][nend] */

  /* what number t of a plane has of the sum of its eigenvalues */
  __device__ __forceinline__ T mu(int t) const { return lambda[0][t % n0] + lambda[1][t / n0]; }
  /* zero: the constant of a pure Neumann problem, and numbers that stand for nothing */
  __device__ __forceinline__ T inverse(T mu, int l) const
  {
    const T D = mu + lambda[2][l];

    return D == 0 ? T(0) : 1 / D;
  }
  __device__ __forceinline__ T end(int nend, int e, int l, T inverse) const { return alpha[l * nend + e] * inverse + mass[l * nend + e]; }
};

/* equations of the ends for n numbers of a plane: factors [nunknown][width][n] */
template <typename T>
struct BoxJoins {
  int nunknown, width, copies, n;
  T  *factors;
};

template <typename T>
struct BoxStepsPlan : Plan {
  int         blocks[3], size[3];
  T          *S[3], *R[3]; /* R is S with rows and columns exchanged, block by block: cuBLAS is up to a fifth slower with S in its place */
  BoxModes<T> modes;
  BoxJoins<T> joins;
  int         nend, nkeep;
  PlanMemory  memory;
};

/* a factor of a batch of products, and how far it is to that of the next */
template <typename T>
struct Factor {
  const T          *a;
  int               lead;
  long long         stride;
  cublasOperation_t op;
};

/* the mode of PETSc's handle is whatever its last user left */
struct HostScalars {
  cublasHandle_t      handle;
  cublasPointerMode_t before;

  explicit HostScalars(cublasHandle_t handle) : handle(handle)
  {
    (void)cublasGetPointerMode(handle, &before);
    (void)cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
  }
  HostScalars(const HostScalars &) = delete;
  ~HostScalars() { (void)cublasSetPointerMode(handle, before); }
};

/* C = A B */
template <typename T>
static cublasStatus_t Gemm(cublasHandle_t h, int m, int n, int k, Factor<T> A, Factor<T> B, T *C, int lead, long long stride, int batch)
{
  const T           one = 1, zero = 0;
  const HostScalars host(h);

  if constexpr (sizeof(T) == 8)
    return cublasDgemmStridedBatched(h, A.op, B.op, m, n, k, &one, A.a, A.lead, A.stride, B.a, B.lead, B.stride, &zero, C, lead, stride,
                                     batch);
  else
    return cublasSgemmStridedBatched(h, A.op, B.op, m, n, k, &one, A.a, A.lead, A.stride, B.a, B.lead, B.stride, &zero, C, lead, stride,
                                     batch);
}

/* a thread has a number of all planes of a part, with z at its ends */
template <typename T, int NEND>
static __global__ void DivideKernel(BoxModes<T> m, const T *__restrict__ ends, T *__restrict__ u)
{
  const int t = blockIdx.x * blockDim.x + threadIdx.x;

  if (t >= m.inner) return;
  const T mu = m.mu(t);
  T       z[NEND + 1];

#pragma unroll
  for (int e = 0; e < NEND; e++) z[e] = ends[(size_t)e * m.inner + t];
#pragma unroll 4
  for (int l = blockIdx.y; l < m.n; l += gridDim.y) {
    T      *at      = u + (size_t)l * m.inner + t;
    const T inverse = m.inverse(mu, l);
    T       x       = *at * inverse;

#pragma unroll
    for (int e = 0; e < NEND; e++) x -= m.end(NEND, e, l, inverse) * z[e];
    *at = x;
  }
}

static constexpr int ends_numbers = 32, ends_parts = 16; /* of a block: numbers of a plane, threads for the planes of each */

/* what all planes do at the ends; those of nodes have a number of their own there */
template <typename T, int NEND>
static __global__ void EndsKernel(BoxModes<T> m, int nkeep, const T *__restrict__ u, T *__restrict__ ends)
{
  __shared__ T sums[NEND][ends_parts][ends_numbers];
  const int    t       = blockIdx.x * ends_numbers + threadIdx.x;
  const T      mu      = t < m.inner ? m.mu(t) : T(0);
  T            g[NEND] = {};

#pragma unroll 4
  for (int l = threadIdx.y; l < m.n && t < m.inner; l += ends_parts) {
    const T x = u[(size_t)l * m.inner + t], inverse = m.inverse(mu, l);

#pragma unroll
    for (int e = 0; e < NEND; e++) g[e] -= m.end(NEND, e, l, inverse) * x;
  }
#pragma unroll
  for (int e = 0; e < NEND; e++) sums[e][threadIdx.y][threadIdx.x] = g[e];
  __syncthreads();
  for (int e = threadIdx.y; e < NEND && t < m.inner; e += ends_parts) {
    T *at = ends + (size_t)e * m.inner + t, sum = e < nkeep ? *at : T(0);

    for (int i = 0; i < ends_parts; i++) sum += sums[e][i][threadIdx.x];
    *at = sum;
  }
}

/* a thread solves for a number of the planes; unknown i is in plane i * copies, and in the next one */
template <typename T>
static __global__ void JoinKernel(BoxJoins<T> j, T *__restrict__ ends)
{
  const int    t = blockIdx.x * blockDim.x + threadIdx.x, w = j.width;
  const size_t n = j.n, step = n * j.copies;

  if (t >= j.n) return;
  const T *L = j.factors + t;
  T       *z = ends + t;

  for (int i = 0; i < j.nunknown; i++) {
    T g = j.copies == 2 ? z[i * step] + z[i * step + n] : z[i * step];

    for (int k = 1; k < w && k <= i; k++) g -= L[(i * w + k) * n] * z[(i - k) * step];
    z[i * step] = g;
  }
  for (int i = j.nunknown - 1; i >= 0; i--) {
    T x = z[i * step] * L[i * w * n];

    for (int k = 1; k < w && i + k < j.nunknown; k++) x -= L[((i + k) * w + k) * n] * z[(i + k) * step];
    z[i * step] = x;
    if (j.copies == 2) z[i * step + n] = x;
  }
}

/* R, a number of a plane for each thread, in double precision whatever the factors have */
template <typename T>
static __global__ void FactorKernel(const __grid_constant__ PatchFDCut cut, int n0, int first, const double *__restrict__ lambda0,
                                    const double *__restrict__ lambda1, BoxJoins<T> j, double *__restrict__ R)
{
  const int t = blockIdx.x * blockDim.x + threadIdx.x;

  if (t >= j.n) return;
  PatchFDCutFactor(&cut, lambda0[(first + t) % n0] + lambda1[(first + t) / n0], (size_t)j.n, R + t);
  for (int e = 0; e < j.nunknown * j.width; e++) j.factors[(size_t)e * j.n + t] = (T)R[(size_t)e * j.n + t];
}

template <typename T>
struct BoxSteps {
  static constexpr int threads = 128;

  static PetscErrorCode lines(const PatchFDBoxSteps *s, BoxStepsPlan<T> *p)
  {
    const int order[3] = {0, 3 - s->last, s->last};

    PetscFunctionBegin;
    for (int d = 0; d < 3; d++) {
      const PatchFDBoxLine  *l = &s->line[d];
      const size_t           h = (size_t)l->size, hh = h * h;
      std::vector<PetscReal> R(l->blocks * hh);

      p->blocks[d] = (int)l->blocks;
      p->size[d]   = (int)l->size;
      for (size_t b = 0; b < (size_t)l->blocks; b++)
        for (size_t i = 0; i < h; i++)
          for (size_t j = 0; j < h; j++) R[b * hh + j * h + i] = l->S[b * hh + i * h + j];
      PetscCall(p->memory.upload(R.size(), l->S, &p->S[d]));
      PetscCall(p->memory.upload(R.size(), R.data(), &p->R[d]));
    }
    for (int d = 0; d < 3; d++)
      PetscCall(p->memory.upload((size_t)PatchFDBoxLineLength(&s->line[order[d]]), s->line[order[d]].lambda, &p->modes.lambda[d]));
    p->modes.n0    = (int)PatchFDBoxLineLength(&s->line[0]);
    p->modes.inner = p->modes.n0 * (int)PatchFDBoxLineLength(&s->line[order[1]]);
    p->modes.n     = (int)PatchFDBoxLineLength(&s->line[s->last]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode factor(const PatchFDBoxSteps *s, BoxStepsPlan<T> *p)
  {
    const PatchFDBoxLine *l0 = &s->line[0], *l1 = &s->line[3 - s->last];
    BoxJoins<T>          &j   = p->joins;
    PatchFDCut            cut = *s->cut;
    PlanMemory            set;
    double               *lambda0, *lambda1, *numbers, *R;
    cudaStream_t          stream;

    PetscFunctionBegin;
    j = {(int)cut.nunknown, (int)cut.width, (int)PatchFDCutCopies(&cut), (int)s->n, NULL};
    PetscCall(p->memory.malloc((size_t)j.nunknown * j.width * j.n, &j.factors));
    if (!j.n) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(set.upload((size_t)PatchFDBoxLineLength(l0), l0->lambda, &lambda0));
    PetscCall(set.upload((size_t)PatchFDBoxLineLength(l1), l1->lambda, &lambda1));
    PetscCall(set.upload((size_t)cut.size, cut.lambda, &numbers));
    PetscCall(set.upload((size_t)cut.npiece + 1, cut.first, &cut.first));
    PetscCall(set.malloc((size_t)j.nunknown * j.width * j.n, &R));
    cut.alpha  = numbers + (s->cut->alpha - s->cut->lambda);
    cut.mass   = numbers + (s->cut->mass - s->cut->lambda);
    cut.A      = numbers + (s->cut->A - s->cut->lambda);
    cut.M      = numbers + (s->cut->M - s->cut->lambda);
    cut.lambda = numbers;
    PetscCall(Stream(&stream));
    FactorKernel<T><<<(j.n + threads - 1) / threads, threads, 0, stream>>>(cut, p->modes.n0, (int)s->first, lambda0, lambda1, j, R);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode create(const PatchFDBoxSteps *s, void **plan)
  {
    BoxStepsPlan<T> *p = new BoxStepsPlan<T>;

    PetscFunctionBegin;
    *plan    = p;
    p->nend  = (int)s->nend;
    p->nkeep = (int)s->nkeep;
    PetscCall(lines(s, p));
    if (!s->nend) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(p->memory.upload((size_t)p->modes.n * p->nend, s->alpha, &p->modes.alpha));
    PetscCall(p->memory.upload((size_t)p->modes.n * p->nend, s->mass, &p->modes.mass));
    PetscCall(factor(s, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  template <bool BACK>
  static PetscErrorCode move(const PatchFDBoxFold *f, const void *from, void *to)
  {
    FoldShape     s(f);
    constexpr int most = 65535; /* blocks of a grid in y and z */
    const dim3    block(s.size[0] > 32 ? 64 : 32, 4);

    PetscFunctionBegin;
    if (!s.threads()) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(Launch([&](cudaStream_t stream) {
      for (s.begin[2] = 0; s.begin[2] < s.size[2]; s.begin[2] += most) {
        for (s.begin[1] = 0; s.begin[1] < s.size[1]; s.begin[1] += most * (int)block.y) {
          const dim3 grid((s.size[0] + block.x - 1) / block.x, PetscMin(most, (s.size[1] - s.begin[1] + block.y - 1) / block.y),
                          PetscMin(most, s.size[2] - s.begin[2]));

          FoldKernel<T, BACK><<<grid, block, 0, stream>>>(s, (const T *)from, (T *)to);
        }
      }
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode product(void *plan, int d, PetscInt ninner, PetscInt nouter, PetscBool back, void *numbers, void *modes)
  {
    const BoxStepsPlan<T> *p = (const BoxStepsPlan<T> *)plan;
    const int              h = p->size[d], length = p->blocks[d] * h, inner = (int)ninner, outer = (int)nouter;
    const bool             lines = inner > 1 && outer > 1; /* a batch of lines, for each block; or of blocks */
    const int              batch = lines ? outer : p->blocks[d];
    const long long        sS = lines ? 0 : (long long)h * h, sx = (long long)inner * (lines ? length : h);
    cublasHandle_t         cublas;

    PetscFunctionBegin;
    if (!h || !inner || !outer) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscCUBLASGetHandle(&cublas));
    PetscCall(PetscLogGpuTimeBegin());
    for (int b = 0; b < (lines ? p->blocks[d] : 1); b++) {
      const T *S = p->S[d] + (size_t)b * h * h, *R = p->R[d] + (size_t)b * h * h;
      T       *x = (T *)numbers + (size_t)b * h * inner, *y = (T *)modes + (size_t)b * h * inner;

      /* BLAS reads our row-major S as its transpose */
      if (inner == 1 && back)
        PetscCallCUBLAS(Gemm<T>(cublas, h, outer, h, {S, h, sS, CUBLAS_OP_T}, {y, length, sx, CUBLAS_OP_N}, x, length, sx, batch));
      else if (inner == 1)
        PetscCallCUBLAS(Gemm<T>(cublas, h, outer, h, {S, h, sS, CUBLAS_OP_N}, {x, length, sx, CUBLAS_OP_N}, y, length, sx, batch));
      else if (back)
        PetscCallCUBLAS(Gemm<T>(cublas, inner, h, h, {y, inner, sx, CUBLAS_OP_N}, {R, h, sS, CUBLAS_OP_T}, x, inner, sx, batch));
      else PetscCallCUBLAS(Gemm<T>(cublas, inner, h, h, {x, inner, sx, CUBLAS_OP_N}, {S, h, sS, CUBLAS_OP_T}, y, inner, sx, batch));
    }
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)length * h * inner * outer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* a thread has eight numbers */
  template <int NEND>
  static void launchDivide(const BoxModes<T> &m, const T *ends, T *u, cudaStream_t stream)
  {
    const int blocks = (m.inner + threads - 1) / threads;

    DivideKernel<T, NEND><<<dim3(blocks, PetscMin(65535, PetscMax(1, (m.n + 7) / 8))), threads, 0, stream>>>(m, ends, u);
  }

  static PetscErrorCode divide(void *plan, const void *ends, void *modes)
  {
    const BoxStepsPlan<T> *p = (const BoxStepsPlan<T> *)plan;
    const BoxModes<T>     &m = p->modes;

    PetscFunctionBegin;
    if (!m.inner || !m.n) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(Launch((PetscLogDouble)m.inner * m.n * (3 + 4 * p->nend), [&](cudaStream_t stream) {
      switch (p->nend) {
      case 0:
        launchDivide<0>(m, (const T *)ends, (T *)modes, stream);
        break;
      case 1:
        launchDivide<1>(m, (const T *)ends, (T *)modes, stream);
        break;
      case 2:
        launchDivide<2>(m, (const T *)ends, (T *)modes, stream);
        break;
      default:
        launchDivide<4>(m, (const T *)ends, (T *)modes, stream);
        break;
      }
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* ---- ends of pieces ---- */

  static PetscErrorCode ends(void *plan, const void *modes, void *ends)
  {
    const BoxStepsPlan<T> *p    = (const BoxStepsPlan<T> *)plan;
    const BoxModes<T>     &m    = p->modes;
    const int              grid = (m.inner + ends_numbers - 1) / ends_numbers;
    const dim3             block(ends_numbers, ends_parts);

    PetscFunctionBegin;
    if (!m.inner) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(Launch(2.0 * (PetscLogDouble)m.inner * m.n * (1 + 2 * p->nend), [&](cudaStream_t stream) {
      switch (p->nend) {
      case 1:
        EndsKernel<T, 1><<<grid, block, 0, stream>>>(m, p->nkeep, (const T *)modes, (T *)ends);
        break;
      case 2:
        EndsKernel<T, 2><<<grid, block, 0, stream>>>(m, p->nkeep, (const T *)modes, (T *)ends);
        break;
      default:
        EndsKernel<T, 4><<<grid, block, 0, stream>>>(m, p->nkeep, (const T *)modes, (T *)ends);
        break;
      }
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode join(void *plan, void *ends)
  {
    const BoxJoins<T> &j = ((const BoxStepsPlan<T> *)plan)->joins;

    PetscFunctionBegin;
    if (!j.n) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(Launch((PetscLogDouble)j.n * j.nunknown * (4 * j.width - 3),
                     [&](cudaStream_t stream) { JoinKernel<T><<<(j.n + threads - 1) / threads, threads, 0, stream>>>(j, (T *)ends); }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

} // namespace patchfd

#define BOX_TABLE(T) \
  { \
    .create = patchfd::BoxSteps<T>::create, .destroy = patchfd::DestroyPlan<>, .fold = patchfd::BoxSteps<T>::move<false>, \
    .unfold = patchfd::BoxSteps<T>::move<true>, .product = patchfd::BoxSteps<T>::product, .ends = patchfd::BoxSteps<T>::ends, \
    .join = patchfd::BoxSteps<T>::join, .divide = patchfd::BoxSteps<T>::divide, .eliminate = NULL, \
  }

const struct _PatchFDBoxKernels PatchFDBoxCUDADouble = BOX_TABLE(double);
const struct _PatchFDBoxKernels PatchFDBoxCUDAFloat  = BOX_TABLE(float);
