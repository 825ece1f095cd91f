/*
  Direct solver for the whole box: x = (S (x) S (x) S) D^{-1} (S (x) S (x) S)' b with the eigenvectors of whole lines (eq. 2.13-2.15
  of C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU, 2024, for one
  large patch).  Large matrices are multiplied by cuBLAS; a small box, and the coarsest mesh usually is one patch, is solved by one
  block of threads in one kernel.
*/
#include "lines.cuh"
#include "plan.cuh"

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
  PatchFDBox  box    = {}, in = {}; /* all nodes, the free ones */
  T          *u      = NULL, *v = NULL; /* on the free nodes */
  PlanMemory  memory = {};

  PetscErrorCode free() { return memory.free(); }
};

/* a batch of products C = A B; numbers of the arrays, and from each of a batch to the next: A and B may be transposed */
template <typename T>
struct Factor {
  const T          *a;
  int               lead;
  long long         stride;
  cublasOperation_t op;
};

template <typename T>
static cublasStatus_t Gemm(cublasHandle_t h, int m, int n, int k, Factor<T> A, Factor<T> B, T *C, int lead, long long stride, int batch)
{
  const T one = 1, zero = 0;

  if constexpr (sizeof(T) == 8) return cublasDgemmStridedBatched(h, A.op, B.op, m, n, k, &one, A.a, A.lead, A.stride, B.a, B.lead, B.stride, &zero, C, lead, stride, batch);
  else return cublasSgemmStridedBatched(h, A.op, B.op, m, n, k, &one, A.a, A.lead, A.stride, B.a, B.lead, B.stride, &zero, C, lead, stride, batch);
}

/* v = u / D; zero where D is: the constant of a pure Neumann problem */
template <typename T>
static __global__ void DivideKernel(int n0, int n1, size_t size, const T *__restrict__ l0, const T *__restrict__ l1, const T *__restrict__ l2, const T *__restrict__ u, T *__restrict__ v)
{
  for (size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x; t < size; t += (size_t)gridDim.x * blockDim.x) {
    const T D = l0[t % n0] + l1[t / n0 % n1] + l2[t / n0 / n1];

    v[t] = D == 0 ? T(0) : u[t] / D;
  }
}

/* to modes (u = S' u in each direction) or back to nodes (u = S u); three steps from one work array to the other, result in v */
template <typename T>
static PetscErrorCode BoxSolveTransform(const BoxSolvePlan<T> *p, cublasHandle_t h, bool back)
{
  const BoxLines<T>      &l = p->lines;
  const int              *n = l.n, plane = n[0] * n[1];
  const cublasOperation_t left = back ? CUBLAS_OP_T : CUBLAS_OP_N, right = back ? CUBLAS_OP_N : CUBLAS_OP_T;

  PetscFunctionBegin;
  /* BLAS reads our row-major S as its transpose */
  PetscCallCUBLAS(Gemm<T>(h, n[0], n[1] * n[2], n[0], {l.S[0], n[0], 0, left}, {p->u, n[0], 0, CUBLAS_OP_N}, p->v, n[0], 0, 1));
  PetscCallCUBLAS(Gemm<T>(h, n[0], n[1], n[1], {p->v, n[0], plane, CUBLAS_OP_N}, {l.S[1], n[1], 0, right}, p->u, n[0], plane, n[2]));
  PetscCallCUBLAS(Gemm<T>(h, plane, n[2], n[2], {p->u, plane, 0, CUBLAS_OP_N}, {l.S[2], n[2], 0, right}, p->v, plane, 0, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  BoxSolvePlan<T> *p = new BoxSolvePlan<T>;
  BoxLines<T>     &l = p->lines;

  PetscFunctionBegin;
  *plan  = p;
  p->box = desc->box;
  for (int d = 0; d < 3; d++) {
    const PatchFDEigen *e = desc->dir[d];

    l.n[d]        = (int)e->n;
    l.range.lo[d] = (int)desc->first[d];
    l.range.hi[d] = (int)(desc->first[d] + e->n);
    p->in.lo[d]   = desc->first[d];
    p->in.n[d]    = e->n;
    PetscCall(p->memory.upload((size_t)(e->n * e->n), e->S, &l.S[d]));
    PetscCall(p->memory.upload((size_t)e->n, e->lambda, &l.lambda[d]));
  }
  PetscCall(AllowShared(SmallKernel<T>, 2 * small_box * sizeof(T)));
  if (l.range.size() <= small_box) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(p->memory.malloc(l.range.size(), &p->u));
  PetscCall(p->memory.malloc(l.range.size(), &p->v));
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
  BoxSolvePlan<T>   *p    = (BoxSolvePlan<T> *)plan;
  const BoxLines<T> &l    = p->lines;
  const size_t       size = l.range.size();
  PatchFDRange       r;
  cublasHandle_t     h;
  cudaStream_t       stream;

  PetscFunctionBegin;
  if (!size) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    r[d][0] = l.range.lo[d];
    r[d][1] = l.range.hi[d];
  }
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (size <= small_box) SmallKernel<T><<<1, small_threads, 2 * size * sizeof(T), stream>>>(l, Layout(p->box), (const T *)b, (T *)x);
  else {
    PetscCall(PetscCUBLASGetHandle(&h));
    PetscCall(Grid<T>::copy(r, &p->box, b, &p->in, p->u));
    PetscCall(BoxSolveTransform(p, h, false));
    DivideKernel<T><<<(unsigned)PetscMin((size + 255) / 256, 8192), 256, 0, stream>>>(l.n[0], l.n[1], size, l.lambda[0], l.lambda[1], l.lambda[2], p->v, p->u);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(BoxSolveTransform(p, h, true));
    PetscCall(Grid<T>::copy(r, &p->in, p->v, &p->box, x));
  }
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops((PetscLogDouble)size * (4.0 * (l.n[0] + l.n[1] + l.n[2]) + 3)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct BoxSolve<double>;
template struct BoxSolve<float>;

} // namespace patchfd
