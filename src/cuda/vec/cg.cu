/*
  The sweeps of conjugate gradients in GPU memory (patchfd/private/cg.h): one pass each, of 16-byte accesses where the arrays are aligned.
  The numbers of an iteration stay in GPU memory.  The last block of the second sweep, which has the sums, goes from one iteration to the
  next.
*/
#include "base/plan.cuh"
#include "base/reduce.cuh"
#include <patchfd/private/cg.h>
#include <utility>

namespace patchfd
{

typedef Sums<PATCHFD_CG_NUM_SUMS> CGSums;

struct CGPlan : Plan {
  PetscCount    n;
  const void   *q     = NULL;               /* direction of the step that x has not taken */
  PatchFDCG    *state = NULL, *host = NULL; /* on the GPU; pinned */
  CGSums       *partial;                    /* a state for each block */
  unsigned     *ticket;                     /* how many blocks have finished */
  LoopCondition loop = 0;
  PlanMemory    memory;

  ~CGPlan() { (void)cudaFreeHost(host); }
};

/* f(width, i) for groups of W numbers and then for what is left, i the number of the group, of `width` numbers */
template <int W, typename F>
static __device__ __forceinline__ void ForGroups(size_t n, F f)
{
  const size_t first = blockIdx.x * (size_t)THREADS + threadIdx.x, stride = gridDim.x * (size_t)THREADS;

#pragma unroll 2
  for (size_t i = first; i < n / W; i += stride) f(std::integral_constant<int, W>(), i);
  for (size_t i = n / W * W + first; i < n; i += stride) f(std::integral_constant<int, 1>(), i);
}

template <int V, typename T>
static __device__ __forceinline__ Group<V, T> Load(const T *a, size_t i)
{
  return ((const Group<V, T> *)a)[i];
}

template <int V, typename T>
static __device__ __forceinline__ void Store(const Group<V, T> &g, T *a, size_t i)
{
  ((Group<V, T> *)a)[i] = g;
}

/* z = d r, d NULL for ones: which of them is known to the compiler */
template <bool DIAGONAL, int V, typename T>
static __device__ __forceinline__ Group<V, T> Precondition(const T *d, size_t i, const Group<V, T> &r)
{
  Group<V, T> z = r;

  if constexpr (DIAGONAL) {
    const Group<V, T> g = Load<V>(d, i);

#pragma unroll
    for (int v = 0; v < V; v++) z.v[v] *= g.v[v];
  }
  return z;
}

template <int V, typename T>
static __device__ __forceinline__ void AddSums(CGSums &s, const Group<V, T> &r, const Group<V, T> &z)
{
#pragma unroll
  for (int v = 0; v < V; v++) {
    s.s[PATCHFD_CG_RZ] += (double)r.v[v] * (double)z.v[v];
    s.s[PATCHFD_CG_RR] += (double)r.v[v] * (double)r.v[v];
    s.s[PATCHFD_CG_ZZ] += (double)z.v[v] * (double)z.v[v];
  }
}

template <int W, bool DIAGONAL, typename T>
static __global__ void __launch_bounds__(THREADS)
  DirectionKernel(size_t n, const PatchFDCG *s, const T *__restrict__ d, const T *__restrict__ r, T *__restrict__ p)
{
  const T b = (T)s->sweep.b;

  if (s->sweep.stop) return;
  ForGroups<W>(n, [&](auto width, size_t i) {
    constexpr int V = decltype(width)::value;
    auto          z = Precondition<DIAGONAL>(d, i, Load<V>(r, i));

    if (b != 0) {
      const auto old = Load<V>(p, i);

#pragma unroll
      for (int v = 0; v < V; v++) z.v[v] += b * old.v[v];
    }
    Store(z, p, i);
  });
}

template <int W, typename T>
static __global__ void __launch_bounds__(THREADS)
  ProductKernel(size_t n, PatchFDCG *s, Sums<1> *partial, unsigned *ticket, const T *p, const T *w)
{
  Sums<1> sum = Sums<1>::none();

  if (s->sweep.stop) return;
  ForGroups<W>(n, [&](auto width, size_t i) {
    constexpr int V  = decltype(width)::value;
    const auto    gp = Load<V>(p, i), gw = Load<V>(w, i);

#pragma unroll
    for (int v = 0; v < V; v++) sum.s[0] += (double)gp.v[v] * (double)gw.v[v];
  });
  if (JoinGrid(sum, partial, ticket)) s->sweep.pw = sum.s[0];
}

static __device__ void StoreSums(const CGSums &sum, PatchFDCG *s)
{
  for (int j = 0; j < PATCHFD_CG_NUM_SUMS; j++) s->sum[j] = sum.s[j];
}

template <int W, typename T>
static __global__ void __launch_bounds__(THREADS)
  SumsKernel(size_t n, PatchFDCG *s, CGSums *partial, unsigned *ticket, const T *r, const T *z)
{
  CGSums sum = CGSums::none();

  ForGroups<W>(n, [&](auto width, size_t i) {
    constexpr int V = decltype(width)::value;

    AddSums(sum, Load<V>(r, i), Load<V>(z, i));
  });
  if (JoinGrid(sum, partial, ticket)) StoreSums(sum, s);
}

/* which steps x takes: none, that of direction p, and also that of q, which it has not taken yet */
enum CGSteps {
  CG_LATER,
  CG_NOW,
  CG_BOTH
};

template <int W, bool DIAGONAL, CGSteps STEPS, typename T>
static __device__ CGSums Advance(size_t n, T a, T later, const T *__restrict__ d, const T *__restrict__ q, const T *__restrict__ p,
                                 const T *__restrict__ w, T *__restrict__ x, T *__restrict__ r)
{
  CGSums sum = CGSums::none();

  ForGroups<W>(n, [&](auto width, size_t i) {
    constexpr int V  = decltype(width)::value;
    const auto    gw = Load<V>(w, i);
    auto          gr = Load<V>(r, i);

#pragma unroll
    for (int v = 0; v < V; v++) gr.v[v] -= a * gw.v[v];
    if constexpr (STEPS != CG_LATER) {
      const auto gp = Load<V>(p, i), gq = Load<V>(STEPS == CG_BOTH ? q : p, i);
      auto       gx = Load<V>(x, i);

#pragma unroll
      for (int v = 0; v < V; v++) {
        if (STEPS == CG_BOTH) gx.v[v] += later * gq.v[v];
        gx.v[v] += a * gp.v[v];
      }
      Store(gx, x, i);
    }
    Store(gr, r, i);
    AddSums(sum, gr, Precondition<DIAGONAL>(d, i, gr));
  });
  return sum;
}

template <int W, typename T>
static __device__ void TakeStep(size_t n, T a, const T *__restrict__ p, T *__restrict__ x)
{
  ForGroups<W>(n, [&](auto width, size_t i) {
    constexpr int V  = decltype(width)::value;
    const auto    gp = Load<V>(p, i);
    auto          gx = Load<V>(x, i);

#pragma unroll
    for (int v = 0; v < V; v++) gx.v[v] += a * gp.v[v];
    Store(gx, x, i);
  });
}

template <int W, bool DIAGONAL, CGSteps STEPS, typename T>
static __global__ void __launch_bounds__(THREADS)
  AdvanceKernel(size_t n, PatchFDCG *s, CGSums *partial, unsigned *ticket, LoopCondition loop, const T *d, const T *q, const T *p,
                const T *w, T *x, T *r)
{
  const T    a = (T)(s->rz / s->sweep.pw), later = STEPS == CG_BOTH ? (T)s->later : T(0);
  const bool stop = s->sweep.stop, moves = !stop && !PatchFDCGBreaksDown(s);
  CGSums     sum = CGSums::none();

  if (stop && later == 0) return;
  if (moves) sum = Advance<W, DIAGONAL, STEPS>(n, a, later, d, q, p, w, x, r);
  else if (later != 0) TakeStep<W>(n, later, q, x);
  if (!JoinGrid(sum, partial, ticket)) return;
  s->later = STEPS == CG_LATER && moves ? (double)a : 0;
  if (stop) return;
  StoreSums(sum, s);
  if (s->alone) PatchFDCGNextAlone(s);
  if (loop) cudaGraphSetConditional(loop, !s->sweep.stop);
}

/* rank after rank, so that all ranks have the same numbers, and stop together */
static __global__ void TotalKernel(PatchFDCG *s, PatchFDCGTotal what, int nrank, const double *part, LoopCondition loop)
{
  const int n     = what == PATCHFD_CG_TOTAL_PW ? 1 : PATCHFD_CG_NUM_SUMS;
  double   *total = what == PATCHFD_CG_TOTAL_PW ? &s->sweep.pw : s->sum;

  if (s->sweep.stop) return;
  for (int j = 0; j < n; j++) {
    total[j] = 0;
    for (int r = 0; r < nrank; r++) total[j] += part[r * n + j];
  }
  if (what == PATCHFD_CG_TOTAL_SUMS) PatchFDCGNextAlone(s);
  if (loop) cudaGraphSetConditional(loop, !s->sweep.stop);
}

template <typename T>
PetscErrorCode CG<T>::create(PetscCount n, void **plan)
{
  CGPlan      *p = new CGPlan;
  cudaStream_t stream;

  PetscFunctionBegin;
  *plan = p;
  p->n  = n;
  PetscCall(Stream(&stream));
  PetscCall(p->memory.malloc(1, &p->state));
  PetscCallCUDA(cudaMallocHost((void **)&p->host, sizeof(*p->host)));
  PetscCall(p->memory.malloc(MAX_BLOCKS, &p->partial));
  PetscCall(p->memory.malloc(1, &p->ticket));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode CG<T>::state(void *plan, PatchFDCG **state)
{
  PetscFunctionBegin;
  *state = ((CGPlan *)plan)->state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the copy before this one has arrived: get waits, and puts take turns with it */
template <typename T>
PetscErrorCode CG<T>::put(void *plan, const PatchFDCG *s)
{
  CGPlan      *p = (CGPlan *)plan;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  *p->host = *s;
  PetscCallCUDA(cudaMemcpyAsync(p->state, p->host, sizeof(*s), cudaMemcpyHostToDevice, stream));
  PetscCall(PetscLogCpuToGpuScalar(sizeof(*s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode CG<T>::get(void *plan, PatchFDCG *s)
{
  CGPlan      *p = (CGPlan *)plan;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(p->host, p->state, sizeof(*s), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar(sizeof(*s)));
  *s = *p->host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* launch(width, blocks, stream) with 16-byte groups if all arrays are aligned (NULL is) */
template <typename T, typename L, typename... A>
static PetscErrorCode LaunchGroups(const CGPlan *p, PetscLogDouble flops, L launch, const A *...arrays)
{
  constexpr int W = 16 / sizeof(T);

  return Launch(flops, [&](cudaStream_t stream) {
    if ((Aligned((const T *)arrays) && ...)) launch(std::integral_constant<int, W>(), Blocks(p->n, W, MAX_BLOCKS), stream);
    else launch(std::integral_constant<int, 1>(), Blocks(p->n, 1, MAX_BLOCKS), stream);
  });
}

template <typename T>
PetscErrorCode CG<T>::direction(void *plan, const void *d, const void *r, void *p)
{
  const CGPlan *cg = (const CGPlan *)plan;

  PetscFunctionBegin;
  PetscCall(LaunchGroups<T>(
    cg, (d ? 3.0 : 2.0) * cg->n,
    [&](auto width, unsigned blocks, cudaStream_t stream) {
      constexpr int W = decltype(width)::value;

      if (d) DirectionKernel<W, true><<<blocks, THREADS, 0, stream>>>((size_t)cg->n, cg->state, (const T *)d, (const T *)r, (T *)p);
      else DirectionKernel<W, false><<<blocks, THREADS, 0, stream>>>((size_t)cg->n, cg->state, (const T *)d, (const T *)r, (T *)p);
    },
    d, r, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode CG<T>::product(void *plan, const void *p, const void *w)
{
  const CGPlan *cg = (const CGPlan *)plan;

  PetscFunctionBegin;
  PetscCall(LaunchGroups<T>(
    cg, 2.0 * cg->n,
    [&](auto width, unsigned blocks, cudaStream_t stream) {
      ProductKernel<decltype(width)::value>
        <<<blocks, THREADS, 0, stream>>>((size_t)cg->n, cg->state, (Sums<1> *)cg->partial, cg->ticket, (const T *)p, (const T *)w);
    },
    p, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <CGSteps STEPS, typename T>
static PetscErrorCode LaunchAdvance(const CGPlan *cg, const T *d, const T *q, const T *p, const T *w, T *x, T *r)
{
  PetscFunctionBegin;
  PetscCall(LaunchGroups<T>(
    cg, (d ? 11.0 : 10.0) * cg->n,
    [&](auto width, unsigned blocks, cudaStream_t stream) {
      constexpr int W = decltype(width)::value;

      if (d)
        AdvanceKernel<W, true, STEPS>
          <<<blocks, THREADS, 0, stream>>>((size_t)cg->n, cg->state, cg->partial, cg->ticket, cg->loop, d, q, p, w, x, r);
      else
        AdvanceKernel<W, false, STEPS>
          <<<blocks, THREADS, 0, stream>>>((size_t)cg->n, cg->state, cg->partial, cg->ticket, cg->loop, d, q, p, w, x, r);
    },
    d, q, p, w, x, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode CG<T>::advance(void *plan, const void *d, const void *p, const void *w, void *x, void *r)
{
  CGPlan  *cg = (CGPlan *)plan;
  const T *q  = (const T *)cg->q;

  PetscFunctionBegin;
  if (!x) PetscCall(LaunchAdvance<CG_LATER>(cg, (const T *)d, q, (const T *)p, (const T *)w, (T *)x, (T *)r));
  else if (q) PetscCall(LaunchAdvance<CG_BOTH>(cg, (const T *)d, q, (const T *)p, (const T *)w, (T *)x, (T *)r));
  else PetscCall(LaunchAdvance<CG_NOW>(cg, (const T *)d, q, (const T *)p, (const T *)w, (T *)x, (T *)r));
  cg->q = x ? NULL : p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode CG<T>::sums(void *plan, const void *r, const void *z)
{
  const CGPlan *cg = (const CGPlan *)plan;

  PetscFunctionBegin;
  PetscCall(LaunchGroups<T>(
    cg, 6.0 * cg->n,
    [&](auto width, unsigned blocks, cudaStream_t stream) {
      SumsKernel<decltype(width)::value>
        <<<blocks, THREADS, 0, stream>>>((size_t)cg->n, cg->state, cg->partial, cg->ticket, (const T *)r, (const T *)z);
    },
    r, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode CG<T>::recordbegin(void *plan, void **record)
{
  return RecordBeginLoop(&((CGPlan *)plan)->loop, record);
}

template <typename T>
PetscErrorCode CG<T>::recordend(void *plan, PetscBool keep, void **record)
{
  PetscFunctionBegin;
  ((CGPlan *)plan)->loop = 0; /* kernels outside must not touch it */
  ((CGPlan *)plan)->q    = NULL;
  PetscCall(RecordEnd(keep, record));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct CG<double>;
template struct CG<float>;

} // namespace patchfd

PetscErrorCode PatchFDCGSetTotalCUDA(void *plan, PatchFDCGTotal what, PetscMPIInt nrank, const double part[])
{
  const patchfd::CGPlan *cg = (const patchfd::CGPlan *)plan;

  PetscFunctionBegin;
  PetscCall(
    patchfd::Launch([&](cudaStream_t stream) { patchfd::TotalKernel<<<1, 1, 0, stream>>>(cg->state, what, (int)nrank, part, cg->loop); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
