/*
  The direct solve of the whole box (patchfd/private/boxsolve.h): a small box, and the coarsest mesh usually is one patch, by one block of threads in one kernel; the steps of
  any other.  Large matrices are multiplied by cuBLAS, whose kernels want lines that begin at multiples of 8 numbers, and get them.
*/
#include "lines.cuh"
#include "plan.cuh"
#include <patchfd/private/boxsolve.h>

namespace patchfd
{

/* the lines of the box, for kernels */
template <typename T>
struct BoxLines {
  int   n[3];
  Range range; /* the free nodes */
  T    *S[3], *lambda[3];
};

template <typename T>
struct BoxSolvePlan {
  BoxLines<T> lines  = {};
  PatchFDBox  box    = {}; /* all nodes */
  PlanMemory  memory = {};

  PetscErrorCode free() { return memory.free(); }
};

/* ---- small boxes ---- */

static constexpr int small_box = 15 * 15 * 15, small_threads = 512;

/* u and v hold the box in shared memory */
template <typename T>
static __global__ void SmallKernel(const __grid_constant__ BoxLines<T> p, Layout l, const T *__restrict__ b, T *__restrict__ x)
{
  extern __shared__ double shared_memory[];
  const int n[3] = {p.n[0], p.n[1], p.n[2]}, size = n[0] * n[1] * n[2];
  T        *u = (T *)shared_memory, *v = u + size;

  Gather(p.range.lo, n, p.range, l, b, u);
  for (int d = 0; d < 6; d++) { /* to modes, and back */
    __syncthreads();
    Contract(d % 3, n, n[d % 3], d < 3 ? Matrix<T>{p.S[d % 3], 1, n[d % 3]} : Matrix<T>{p.S[d % 3], n[d % 3], 1}, d % 2 ? v : u, d % 2 ? u : v, false);
    if (d == 2) {
      for (int e = threadIdx.x; e < size; e += blockDim.x) { /* each thread what it wrote itself */
        const T D = p.lambda[0][e % n[0]] + p.lambda[1][e / n[0] % n[1]] + p.lambda[2][e / n[0] / n[1]];

        v[e] = D == 0 ? T(0) : v[e] / D;
      }
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < size; e += blockDim.x) x[l.at(p.range.lo[0] + e % n[0], p.range.lo[1] + e / n[0] % n[1], p.range.lo[2] + e / n[0] / n[1])] = u[e];
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
PetscErrorCode BoxSolve<T>::destroy(void **plan)
{
  return DestroyPlan<BoxSolvePlan<T>>(plan);
}

template <typename T>
PetscErrorCode BoxSolve<T>::apply(void *plan, const void *b, void *x)
{
  const BoxSolvePlan<T> *p    = (const BoxSolvePlan<T> *)plan;
  const BoxLines<T>     &l    = p->lines;
  const size_t           size = l.range.size();
  cudaStream_t           stream;

  PetscFunctionBegin;
  if (!size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  SmallKernel<T><<<1, small_threads, 2 * size * sizeof(T), stream>>>(l, Layout(p->box), (const T *)b, (T *)x);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops((PetscLogDouble)size * (4.0 * (l.n[0] + l.n[1] + l.n[2]) + 3)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct BoxSolve<double>;
template struct BoxSolve<float>;

/* ---- folds ---- */

/* what a thread has: node i of each direction and, where lines are folded, its mirror image */
struct FoldShape {
  int    n[3], size[3], bits; /* nodes; threads; bit d: direction d is folded */
  Layout nodes, blocks;       /* node 0 of the lines is at (0, 0, 0), as is the first number of the first blocks */

  FoldShape(const PatchFDBoxFold *f)
  {
    PatchFDBox in = {};

    bits = 0;
    for (int d = 0; d < 3; d++) {
      n[d]    = (int)f->line[d].n;
      size[d] = (int)f->line[d].size;
      in.n[d] = PatchFDBoxLineLength(&f->line[d]);
      if (f->line[d].blocks == 2) bits |= 1 << d;
    }
    blocks = Layout(in);
    nodes  = Layout(f->box);
    nodes.offset += f->first[0] + f->first[1] * nodes.row + f->first[2] * nodes.plane;
  }
  size_t threads() const { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }

  /* the node of a corner, bit d of which is its mirror image in direction d; false if it does not exist, or is that image itself */
  __device__ __forceinline__ bool node(const int i[3], int corner, ptrdiff_t *at) const
  {
    int at3[3];

#pragma unroll
    for (int d = 0; d < 3; d++) {
      const int mirror = n[d] - 1 - i[d];

      if (corner >> d & 1 ? mirror <= i[d] : i[d] >= n[d] || ((bits >> d & 1) && mirror < i[d])) return false;
      at3[d] = corner >> d & 1 ? mirror : i[d];
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
  const int i[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y), (int)blockIdx.z};

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

/* ---- modes ---- */

template <typename T>
struct BoxStepsPlan {
  int          blocks[3], size[3];
  T           *S[3], *R[3], *lambda[3]; /* R is S with rows and columns exchanged, block by block: cuBLAS is up to a fifth slower with S in its place */
  PlanMemory   memory = {};
  cudaStream_t side   = NULL; /* for copies to other GPUs, made when they are needed; as are the events, of the main stream and of copies */
  cudaEvent_t  forked, done[PATCHFD_BOX_MARKS];

  PetscErrorCode free()
  {
    PetscFunctionBegin;
    PetscCall(memory.free());
    if (!side) PetscFunctionReturn(PETSC_SUCCESS);
    for (cudaEvent_t e : done) PetscCallCUDA(cudaEventDestroy(e));
    PetscCallCUDA(cudaEventDestroy(forked));
    PetscCallCUDA(cudaStreamDestroy(side));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* a factor of a batch of products, and how far it is to that of the next */
template <typename T>
struct Factor {
  const T          *a;
  int               lead;
  long long         stride;
  cublasOperation_t op;
};

/* C = A B, or with `add` C += A B */
template <typename T>
static cublasStatus_t Gemm(cublasHandle_t h, int m, int n, int k, Factor<T> A, Factor<T> B, bool add, T *C, int lead, long long stride, int batch)
{
  const T one = 1, beta = add ? 1 : 0;

  if constexpr (sizeof(T) == 8) return cublasDgemmStridedBatched(h, A.op, B.op, m, n, k, &one, A.a, A.lead, A.stride, B.a, B.lead, B.stride, &beta, C, lead, stride, batch);
  else return cublasSgemmStridedBatched(h, A.op, B.op, m, n, k, &one, A.a, A.lead, A.stride, B.a, B.lead, B.stride, &beta, C, lead, stride, batch);
}

/* a range of modes, x fastest */
template <typename T>
struct ModeRange {
  int      n[3];
  const T *lambda[3]; /* of the first */
};

template <typename T>
static __global__ void DivideKernel(ModeRange<T> r, T *__restrict__ u)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.z;

  if (i >= r.n[0]) return;
  const T lambda = r.lambda[0][i] + r.lambda[2][k];

  for (int j = blockIdx.y * blockDim.y + threadIdx.y; j < r.n[1]; j += gridDim.y * blockDim.y) {
    T      *at = u + ((size_t)k * r.n[1] + j) * r.n[0] + i;
    const T D  = lambda + r.lambda[1][j];

    *at = D == 0 ? T(0) : *at / D; /* zero: the constant of a pure Neumann problem, and numbers that stand for nothing */
  }
}

template <typename T>
struct BoxSteps {
  static PetscErrorCode create(const PatchFDBoxLine line[3], void **plan)
  {
    BoxStepsPlan<T> *p = new BoxStepsPlan<T>;

    PetscFunctionBegin;
    *plan = p;
    for (int d = 0; d < 3; d++) {
      p->blocks[d] = (int)line[d].blocks;
      p->size[d]   = (int)line[d].size;
      const size_t           h = (size_t)line[d].size, hh = h * h;
      std::vector<PetscReal> R(line[d].blocks * hh);

      for (size_t b = 0; b < (size_t)line[d].blocks; b++)
        for (size_t i = 0; i < h; i++)
          for (size_t j = 0; j < h; j++) R[b * hh + j * h + i] = line[d].S[b * hh + i * h + j];
      PetscCall(p->memory.upload(R.size(), line[d].S, &p->S[d]));
      PetscCall(p->memory.upload(R.size(), R.data(), &p->R[d]));
      PetscCall(p->memory.upload((size_t)PatchFDBoxLineLength(&line[d]), line[d].lambda, &p->lambda[d]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  template <bool BACK>
  static PetscErrorCode move(const PatchFDBoxFold *f, const void *from, void *to)
  {
    const FoldShape s(f);
    const dim3      block(s.size[0] > 32 ? 64 : 32, 4), grid((s.size[0] + block.x - 1) / block.x, (s.size[1] + block.y - 1) / block.y, s.size[2]);
    cudaStream_t    stream;

    PetscFunctionBegin;
    if (!s.threads()) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(Stream(&stream));
    PetscCall(PetscLogGpuTimeBegin());
    FoldKernel<T, BACK><<<grid, block, 0, stream>>>(s, (const T *)from, (T *)to);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(PetscLogGpuTimeEnd());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode product(void *plan, const PatchFDBoxProduct *q, PetscBool back, PetscBool add, void *numbers, void *modes)
  {
    const BoxStepsPlan<T> *p = (const BoxStepsPlan<T> *)plan;
    const int              h = p->size[q->d], n = q->all ? h : (int)q->n, inner = (int)q->inner, outer = (int)q->outer, lx = (int)q->numbers, ly = (int)q->modes;
    const bool             lines = inner > 1 && outer > 1; /* a batch of lines, for each block; or of blocks */
    const int              blocks = q->all ? p->blocks[q->d] : 1, batch = lines ? outer : blocks;
    const long long        sS = lines ? 0 : (long long)h * h, sx = (long long)inner * (lines ? lx : h), sy = (long long)inner * (lines ? ly : h);
    cublasHandle_t         cublas;

    PetscFunctionBegin;
    if (!n || !inner || !outer) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscCUBLASGetHandle(&cublas));
    PetscCall(PetscLogGpuTimeBegin());
    for (int b = 0; b < (lines ? blocks : 1); b++) {
      const size_t at = q->all ? (size_t)b * h * h : (size_t)q->block * h * h;
      const T *S = p->S[q->d] + at + (q->all ? 0 : q->first), *R = p->R[q->d] + at + (q->all ? 0 : (size_t)q->first * h);
      T       *x = (T *)numbers + (size_t)b * h * inner, *y = (T *)modes + (size_t)b * h * inner;

      /* BLAS reads our row-major S as its transpose */
      if (inner == 1 && back) PetscCallCUBLAS(Gemm<T>(cublas, h, outer, n, {S, h, sS, CUBLAS_OP_T}, {y, ly, sy, CUBLAS_OP_N}, (bool)add, x, lx, sx, batch));
      else if (inner == 1) PetscCallCUBLAS(Gemm<T>(cublas, n, outer, h, {S, h, sS, CUBLAS_OP_N}, {x, lx, sx, CUBLAS_OP_N}, (bool)add, y, ly, sy, batch));
      else if (back) PetscCallCUBLAS(Gemm<T>(cublas, inner, h, n, {y, inner, sy, CUBLAS_OP_N}, {R, h, sS, CUBLAS_OP_T}, (bool)add, x, inner, sx, batch));
      else PetscCallCUBLAS(Gemm<T>(cublas, inner, n, h, {x, inner, sx, CUBLAS_OP_N}, {S, h, sS, CUBLAS_OP_T}, (bool)add, y, inner, sy, batch));
    }
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)blocks * h * n * inner * outer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode divide(void *plan, const PatchFDRange range, void *modes)
  {
    const BoxStepsPlan<T> *p = (const BoxStepsPlan<T> *)plan;
    ModeRange<T>           r;
    cudaStream_t           stream;

    PetscFunctionBegin;
    if (!PatchFDRangeSize(range)) PetscFunctionReturn(PETSC_SUCCESS);
    for (int d = 0; d < 3; d++) {
      r.n[d]      = (int)(range[d][1] - range[d][0]);
      r.lambda[d] = p->lambda[d] + range[d][0];
    }
    PetscCall(Stream(&stream));
    PetscCall(PetscLogGpuTimeBegin());
    DivideKernel<T><<<dim3((r.n[0] + 127) / 128, PetscMin((r.n[1] + 7) / 8, 65535), r.n[2]), 128, 0, stream>>>(r, (T *)modes);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(PetscLogGpuFlops(3.0 * (PetscLogDouble)PatchFDRangeSize(range)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* ---- to the memory of other ranks ---- */

  static PetscErrorCode share(void *array, char handle[PATCHFD_BOX_HANDLE])
  {
    cudaIpcMemHandle_t h;

    PetscFunctionBegin;
    static_assert(sizeof(h) == PATCHFD_BOX_HANDLE, "CUDA's handles have another size");
    PetscCallCUDA(cudaIpcGetMemHandle(&h, array));
    memcpy(handle, &h, sizeof(h));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode open(const char handle[PATCHFD_BOX_HANDLE], void **array)
  {
    cudaIpcMemHandle_t h;

    PetscFunctionBegin;
    memcpy(&h, handle, sizeof(h));
    PetscCallCUDA(cudaIpcOpenMemHandle(array, h, cudaIpcMemLazyEnablePeerAccess));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode close(void *array)
  {
    PetscFunctionBegin;
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCallCUDA(cudaIpcCloseMemHandle(array));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode fork(void *plan)
  {
    BoxStepsPlan<T> *p = (BoxStepsPlan<T> *)plan;
    cudaStream_t     stream;

    PetscFunctionBegin;
    PetscCall(Stream(&stream));
    if (!p->side) {
      PetscCallCUDA(cudaStreamCreateWithFlags(&p->side, cudaStreamNonBlocking));
      PetscCallCUDA(cudaEventCreateWithFlags(&p->forked, cudaEventDisableTiming));
      for (cudaEvent_t &e : p->done) PetscCallCUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    }
    PetscCallCUDA(cudaEventRecord(p->forked, stream));
    PetscCallCUDA(cudaStreamWaitEvent(p->side, p->forked));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode put(void *plan, size_t n, const void *from, void *to)
  {
    PetscFunctionBegin;
    if (n) PetscCallCUDA(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToDevice, ((BoxStepsPlan<T> *)plan)->side));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode mark(void *plan, int i)
  {
    BoxStepsPlan<T> *p = (BoxStepsPlan<T> *)plan;

    PetscFunctionBegin;
    PetscCallCUDA(cudaEventRecord(p->done[i], p->side));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static PetscErrorCode wait(void *plan, int i)
  {
    cudaStream_t stream;

    PetscFunctionBegin;
    PetscCall(Stream(&stream));
    PetscCallCUDA(cudaStreamWaitEvent(stream, ((BoxStepsPlan<T> *)plan)->done[i]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

} // namespace patchfd

#define BOX_TABLE(T) \
  { \
    .create  = patchfd::BoxSteps<T>::create, \
    .destroy = patchfd::DestroyPlan<patchfd::BoxStepsPlan<T>>, \
    .fold    = patchfd::BoxSteps<T>::move<false>, \
    .unfold  = patchfd::BoxSteps<T>::move<true>, \
    .product = patchfd::BoxSteps<T>::product, \
    .divide  = patchfd::BoxSteps<T>::divide, \
    .share   = patchfd::BoxSteps<T>::share, \
    .open    = patchfd::BoxSteps<T>::open, \
    .close   = patchfd::BoxSteps<T>::close, \
    .fork    = patchfd::BoxSteps<T>::fork, \
    .put     = patchfd::BoxSteps<T>::put, \
    .mark    = patchfd::BoxSteps<T>::mark, \
    .wait    = patchfd::BoxSteps<T>::wait, \
  }

const struct _PatchFDBoxKernels PatchFDBoxCUDADouble = BOX_TABLE(double);
const struct _PatchFDBoxKernels PatchFDBoxCUDAFloat  = BOX_TABLE(float);
