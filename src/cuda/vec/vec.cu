/*
  The loops of VECSINGLE in GPU memory.  They are limited by memory bandwidth: each is one pass of 16-byte accesses.

  Two kernels do everything.  MapKernel computes out[i] = f(in[i]...), where the output may be one of the inputs: a thread reads its group
  of numbers before it writes them.  ReduceKernel folds f(in[i]...) into a state, whose kind says how two of them are joined: sums in
  double precision, maxima, maxima with their index (base/reduce.cuh).  The last block writes the result to host memory.  Only there
  does the host wait.

  Windows (VecGetSubVector()) may begin anywhere: arrays that are not aligned are read number by number.
*/
#include "base/reduce.cuh"
#include <patchfd/private/vecimpl.h>
#include <utility>
#include "vec/functions.cuh"

namespace patchfd
{

/* ---- memory ---- */

static constexpr size_t   MAX_STATE = 64;         /* bytes of a reduction's state */
static constexpr PetscInt CHUNK     = 256 * 1024; /* floats that pass between host and GPU at once */

/* what reductions and copies to and from the host need, kept until PetscFinalize(); whoever uses it waits before returning */
static struct {
  char     *partial; /* on the GPU: a state for each block */
  unsigned *ticket;  /* on the GPU: how many blocks have finished */
  float    *host;    /* pinned: CHUNK floats, or the result of a reduction */
} buffers;

static PetscErrorCode FreeBuffers(void)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(buffers.partial));
  PetscCallCUDA(cudaFree(buffers.ticket));
  PetscCallCUDA(cudaFreeHost(buffers.host));
  buffers = {};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NeedBuffers(void)
{
  PetscFunctionBegin;
  if (buffers.host) PetscFunctionReturn(PETSC_SUCCESS);
  if (!buffers.partial) PetscCall(DeviceMalloc(MAX_BLOCKS * MAX_STATE, (void **)&buffers.partial));
  if (!buffers.ticket) PetscCall(Grid<unsigned>::malloc(1, (void **)&buffers.ticket)); /* zero */
  PetscCallCUDA(cudaMallocHost((void **)&buffers.host, CHUNK * sizeof(float)));        /* the last one: with it the buffers are complete */
  PetscCall(PetscRegisterFinalize(FreeBuffers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Malloc(PetscInt n, float **x)
{
  PetscFunctionBegin;
  PetscCall(Grid<float>::malloc((size_t)n, (void **)x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Free(float **x)
{
  PetscFunctionBegin;
  PetscCall(Grid<float>::free(*x));
  *x = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- elementwise ---- */

template <int W, typename F, typename O, typename... I>
static __global__ void __launch_bounds__(THREADS) MapKernel(size_t n, F f, O *out, const I *...in)
{
  const size_t first = blockIdx.x * (size_t)THREADS + threadIdx.x, stride = gridDim.x * (size_t)THREADS;

  for (size_t i = first; i < n / W; i += stride) {
    Group<W, O> o;

    [&](const Group<W, I>... g) {
#pragma unroll
      for (int w = 0; w < W; w++) o.v[w] = f(g.v[w]...);
    }(((const Group<W, I> *)in)[i]...);
    ((Group<W, O> *)out)[i] = o;
  }
  for (size_t i = n / W * W + first; i < n; i += stride) out[i] = f(in[i]...);
}

template <typename F, typename O, typename... I>
static PetscErrorCode Map(PetscInt n, F f, O *out, const I *...in)
{
  constexpr int W = 16 / sizeof(O);

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Launch([&](cudaStream_t stream) {
    if ((Aligned(out) && ... && Aligned(in))) MapKernel<W><<<Blocks(n, W, 1 << 20), THREADS, 0, stream>>>((size_t)n, f, out, in...);
    else MapKernel<1><<<Blocks(n, 1, 1 << 20), THREADS, 0, stream>>>((size_t)n, f, out, in...);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode Unary(PetscInt n, float *x)
{
  PetscFunctionBegin;
  PetscCall(Map(n, F(), x, (const float *)x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode UnaryWithNumber(PetscInt n, double a, float *x)
{
  PetscFunctionBegin;
  PetscCall(Map(n, F{(float)a}, x, (const float *)x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode Binary(PetscInt n, const float *x, const float *y, float *w)
{
  PetscFunctionBegin;
  PetscCall(Map(n, F(), w, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename From, typename To>
static PetscErrorCode ConvertAll(PetscInt n, double a, const From *x, To *y)
{
  PetscFunctionBegin;
  PetscCall(Map(n, Convert<To>{a}, y, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetAll(PetscInt n, double a, float *x)
{
  PetscFunctionBegin;
  PetscCall(Map(n, Set{(float)a}, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(PetscInt n, const float *x, float *y)
{
  PetscFunctionBegin;
  PetscCall(Map(n, Identity(), y, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static __global__ void __launch_bounds__(THREADS) SwapKernel(size_t n, float *x, float *y)
{
  for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += gridDim.x * (size_t)THREADS) {
    const float t = x[i];

    x[i] = y[i];
    y[i] = t;
  }
}

static PetscErrorCode Swap(PetscInt n, float *x, float *y)
{
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Launch([&](cudaStream_t stream) { SwapKernel<<<Blocks(n, 1, 1 << 20), THREADS, 0, stream>>>((size_t)n, x, y); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPY(PetscInt n, double a, const float *x, float *y)
{
  PetscFunctionBegin;
  PetscCall(Map(n, AXPlusY{(float)a}, y, x, (const float *)y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WAXPY(PetscInt n, double a, const float *x, const float *y, float *w)
{
  PetscFunctionBegin;
  PetscCall(Map(n, AXPlusY{(float)a}, w, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the output may hold anything, also NaN, where its factor is zero: then it is not read */
static PetscErrorCode AXPBY(PetscInt n, double a, double b, const float *x, float *y)
{
  PetscFunctionBegin;
  if ((float)b == 0.0f) PetscCall(Map(n, Times{(float)a}, y, x));
  else PetscCall(Map(n, AXPlusBY{(float)a, (float)b}, y, x, (const float *)y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPBYPCZ(PetscInt n, double a, double b, double c, const float *x, const float *y, float *z)
{
  PetscFunctionBegin;
  if ((float)c == 0.0f) PetscCall(Map(n, AXPlusBY{(float)a, (float)b}, z, x, y));
  else PetscCall(Map(n, AXPlusBYPlusCZ{(float)a, (float)b, (float)c}, z, x, y, (const float *)z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m vectors in passes of up to four: f(j, std::make_index_sequence<M>()) for M of them, from j on */
template <typename F>
static PetscErrorCode ForFour(PetscInt m, F f)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < m; j += 4) {
    if (m - j == 1) PetscCall(f(j, std::make_index_sequence<1>()));
    else if (m - j == 2) PetscCall(f(j, std::make_index_sequence<2>()));
    else if (m - j == 3) PetscCall(f(j, std::make_index_sequence<3>()));
    else PetscCall(f(j, std::make_index_sequence<4>()));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <size_t... J>
static PetscErrorCode Combine(PetscInt n, const double *a, double b, const float *const *x, float *y, std::index_sequence<J...>)
{
  const Combination<sizeof...(J)> c = {{a[J]...}, b};

  PetscFunctionBegin;
  if (b == 0.0) PetscCall(Map(n, CombinationOnly<sizeof...(J)>{c}, y, x[J]...));
  else PetscCall(Map(n, CombinationAndOutput<sizeof...(J)>{c}, y, (const float *)y, x[J]...));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* up to four x in a pass */
static PetscErrorCode MAXPBY(PetscInt n, PetscInt m, const double *a, double b, const float *const *x, float *y)
{
  PetscFunctionBegin;
  if (!m) PetscCall(b == 0.0 ? SetAll(n, 0.0, y) : UnaryWithNumber<Times>(n, b, y));
  PetscCall(ForFour(m, [&](PetscInt j, auto pass) { return Combine(n, a + j, j ? 1.0 : b, x + j, y, pass); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- reductions ---- */

/* the states, beside sums */
struct LargestAbs { /* a NaN wins, so that a norm does not hide it */
  double s;

  __host__ __device__ static LargestAbs none() { return {0.0}; }
  __device__ void                       join(const LargestAbs &o)
  {
    if (o.s > s || o.s != o.s) s = o.s;
  }
};
struct Extreme { /* the largest and the first of them */
  double    s;
  long long i;

  __host__ __device__ static Extreme none() { return {PETSC_MIN_REAL, -1}; }
  __device__ void                    join(const Extreme &o)
  {
    if (o.i >= 0 && (i < 0 || o.s > s || (o.s == s && o.i < i))) *this = o;
  }
};
struct ErrorNorms {
  double sum[3], n[3];
  bool   infinity;

  __host__ __device__ static ErrorNorms none() { return {}; }
  __device__ void                       join(const ErrorNorms &o)
  {
    infinity |= o.infinity;
    for (int k = 0; k < 3; k++) {
      sum[k] = infinity ? fmax(sum[k], o.sum[k]) : sum[k] + o.sum[k];
      n[k] += o.n[k];
    }
  }
};

/* what is folded into them */
struct AddProducts {
  template <int M, typename... Y>
  __device__ void operator()(Sums<M> &s, size_t, float x, Y... y) const
  {
    int j = 0;

    ((s.s[j++] += (double)x * (double)y), ...);
  }
};
struct Add {
  __device__ void operator()(Sums<1> &s, size_t, float x) const { s.s[0] += (double)x; }
};
struct AddAbs {
  __device__ void operator()(Sums<1> &s, size_t, float x) const { s.s[0] += (double)fabsf(x); }
};
struct FindLargestAbs {
  __device__ void operator()(LargestAbs &s, size_t, float x) const { s.join({(double)fabsf(x)}); }
};
struct FindLargestQuotient {
  __device__ void operator()(LargestAbs &s, size_t, float x, float y) const { s.s = fmax(s.s, (double)fabsf(y == 0.0f ? x : x / y)); }
};
struct FindExtreme {
  double          sign;
  __device__ void operator()(Extreme &s, size_t i, float x) const { s.join({sign * (double)x, (long long)i}); }
};
struct AddErrors {
  bool   infinity, havee, haveatols, havertols;
  double atol, rtol, ignore;

  __device__ void operator()(ErrorNorms &s, size_t, float u, float y, float e, float atols, float rtols) const
  {
    const double au = fabs((double)u), ay = fabs((double)y), err = havee ? fabs((double)e) : fabs((double)y - (double)u);
    const double tola = haveatols ? (double)atols : atol, tolr = (havertols ? (double)rtols : rtol) * fmax(au, ay);
    const double tol[3] = {tola + tolr, tola, tolr};
    ErrorNorms   t      = {{}, {}, infinity};

    for (int k = 0; k < 3; k++) {
      if (ay < ignore || au < ignore || !(tol[k] > 0.0)) continue;
      t.sum[k] = infinity ? err / tol[k] : err / tol[k] * (err / tol[k]);
      t.n[k]   = 1;
    }
    s.join(t);
  }
};

template <int W, typename S, typename F, typename... I>
static __global__ void __launch_bounds__(THREADS) ReduceKernel(size_t n, F f, S *partial, unsigned *ticket, S *result, const I *...in)
{
  const size_t first = blockIdx.x * (size_t)THREADS + threadIdx.x, stride = gridDim.x * (size_t)THREADS;
  S            s = S::none();

#pragma unroll 4
  for (size_t i = first; i < n / W; i += stride) {
    [&](const Group<W, I>... g) {
#pragma unroll
      for (int w = 0; w < W; w++) f(s, i * W + w, g.v[w]...);
    }(((const Group<W, I> *)in)[i]...);
  }
  for (size_t i = n / W * W + first; i < n; i += stride) f(s, i, in[i]...);
  if (JoinGrid(s, partial, ticket)) *result = s;
}

template <typename S, typename F, typename... I>
static PetscErrorCode Reduce(PetscInt n, F f, S *s, const I *...in)
{
  cudaStream_t stream;

  static_assert(sizeof(S) <= MAX_STATE, "MAX_STATE");
  PetscFunctionBegin;
  *s = S::none();
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(NeedBuffers());
  PetscCall(Launch([&](cudaStream_t stream) {
    S *const partial = (S *)buffers.partial, *const result = (S *)buffers.host;

    if ((Aligned(in) && ...))
      ReduceKernel<4><<<Blocks(n, 4, MAX_BLOCKS), THREADS, 0, stream>>>((size_t)n, f, partial, buffers.ticket, result, in...);
    else ReduceKernel<1><<<Blocks(n, 1, MAX_BLOCKS), THREADS, 0, stream>>>((size_t)n, f, partial, buffers.ticket, result, in...);
  }));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar(sizeof(S)));
  *s = *(const S *)buffers.host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <size_t... J>
static PetscErrorCode Dots(PetscInt n, const float *x, const float *const *y, double *s, std::index_sequence<J...>)
{
  Sums<sizeof...(J)> sums;

  PetscFunctionBegin;
  PetscCall(Reduce(n, AddProducts(), &sums, x, y[J]...));
  ((s[J] = sums.s[J]), ...);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* up to four y in a pass */
static PetscErrorCode MDot(PetscInt n, PetscInt m, const float *x, const float *const *y, double *s)
{
  PetscFunctionBegin;
  PetscCall(ForFour(m, [&](PetscInt j, auto pass) { return Dots(n, x, y + j, s + j, pass); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode SumOf(PetscInt n, const float *x, double *s)
{
  Sums<1> sum;

  PetscFunctionBegin;
  PetscCall(Reduce(n, F(), &sum, x));
  *s = sum.s[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MaxAbs(PetscInt n, const float *x, double *s)
{
  LargestAbs m;

  PetscFunctionBegin;
  PetscCall(Reduce(n, FindLargestAbs(), &m, x));
  *s = m.s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MaxDivide(PetscInt n, const float *x, const float *y, double *s)
{
  LargestAbs m;

  PetscFunctionBegin;
  PetscCall(Reduce(n, FindLargestQuotient(), &m, x, y));
  *s = m.s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int SIGN>
static PetscErrorCode Find(PetscInt n, const float *x, PetscInt *index, double *s)
{
  Extreme m;

  PetscFunctionBegin;
  PetscCall(Reduce(n, FindExtreme{(double)SIGN}, &m, x));
  *index = (PetscInt)m.i;
  *s     = SIGN * m.s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Errors(PetscInt n, const float *u, const float *y, const float *e, PetscBool infinity, double atol,
                             const float *atols, double rtol, const float *rtols, double ignore, VecSingleErrorNorms *norms)
{
  const AddErrors f = {(bool)infinity, !!e, !!atols, !!rtols, atol, rtol, ignore};
  ErrorNorms      r;

  PetscFunctionBegin;
  PetscCall(Reduce(n, f, &r, u, y, e ? e : u, atols ? atols : u, rtols ? rtols : u)); /* f does not look at these u */
  for (int k = 0; k < 3; k++) {
    norms->sum[k] = r.sum[k];
    norms->n[k]   = r.n[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- to and from the host: floats travel, the host converts ---- */

/* pass(i, m, stream) for m <= CHUNK numbers from i on, which uses buffers.host and waits for it */
template <typename F>
static PetscErrorCode ForChunks(PetscInt n, F pass)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(NeedBuffers());
  /* i may pass the largest PetscInt */
  for (PetscCount i = 0; i < n; i += CHUNK) PetscCall(pass((PetscInt)i, (PetscInt)PetscMin(CHUNK, n - i), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToHost(PetscInt n, double a, const float *x, double *y)
{
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ForChunks(n, [&](PetscInt i, PetscInt m, cudaStream_t stream) {
    PetscFunctionBegin;
    PetscCallCUDA(cudaMemcpyAsync(buffers.host, x + i, m * sizeof(float), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(VecSingleKernelsHost.todouble(m, a, buffers.host, y + i));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)n * sizeof(float)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FromHost(PetscInt n, double a, const double *x, float *y)
{
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ForChunks(n, [&](PetscInt i, PetscInt m, cudaStream_t stream) {
    PetscFunctionBegin;
    PetscCall(VecSingleKernelsHost.fromdouble(m, a, x + i, buffers.host));
    PetscCallCUDA(cudaMemcpyAsync(y + i, buffers.host, m * sizeof(float), cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)n * sizeof(float)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- of PETSc's own Vecs ---- */

struct Minus {
  __device__ double operator()(double x, double y) const { return x - y; }
};
struct PlusTimes {
  double            b;
  __device__ double operator()(double x, double y) const { return x + b * y; }
};

} // namespace patchfd

PetscErrorCode PatchFDCUDADifference(PetscInt n, const double *x, const double *y, double *w)
{
  PetscFunctionBegin;
  PetscCall(patchfd::Map(n, patchfd::Minus(), w, x, y));
  PetscCall(PetscLogGpuFlops((PetscLogDouble)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCUDAAYPX(PetscInt n, double b, const double *x, double *y)
{
  PetscFunctionBegin;
  PetscCall(patchfd::Map(n, patchfd::PlusTimes{b}, y, x, (const double *)y));
  PetscCall(PetscLogGpuFlops(2 * (PetscLogDouble)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const struct _VecSingleKernels VecSingleKernelsCUDA = {
  .type            = VECSINGLECUDA,
  .memtype         = PETSC_MEMTYPE_CUDA,
  .malloc          = patchfd::Malloc,
  .free            = patchfd::Free,
  .fromdouble      = patchfd::ConvertAll<double, float>,
  .todouble        = patchfd::ConvertAll<float, double>,
  .fromhost        = patchfd::FromHost,
  .tohost          = patchfd::ToHost,
  .copy            = patchfd::Copy,
  .set             = patchfd::SetAll,
  .swap            = patchfd::Swap,
  .scale           = patchfd::UnaryWithNumber<patchfd::Times>,
  .shift           = patchfd::UnaryWithNumber<patchfd::Plus>,
  .axpy            = patchfd::AXPY,
  .axpby           = patchfd::AXPBY,
  .axpbypcz        = patchfd::AXPBYPCZ,
  .waxpy           = patchfd::WAXPY,
  .maxpby          = patchfd::MAXPBY,
  .mult            = patchfd::Binary<patchfd::Product>,
  .divide          = patchfd::Binary<patchfd::Quotient>,
  .pointwisemax    = patchfd::Binary<patchfd::Larger>,
  .pointwisemin    = patchfd::Binary<patchfd::Smaller>,
  .pointwisemaxabs = patchfd::Binary<patchfd::LargerAbs>,
  .reciprocal      = patchfd::Unary<patchfd::Inverse>,
  .sqrtabs         = patchfd::Unary<patchfd::SqrtAbs>,
  .abs             = patchfd::Unary<patchfd::Abs>,
  .exp             = patchfd::Unary<patchfd::Exp>,
  .log             = patchfd::Unary<patchfd::Log>,
  .mdot            = patchfd::MDot,
  .sum             = patchfd::SumOf<patchfd::Add>,
  .sumabs          = patchfd::SumOf<patchfd::AddAbs>,
  .maxabs          = patchfd::MaxAbs,
  .max             = patchfd::Find<1>,
  .min             = patchfd::Find<-1>,
  .maxdivide       = patchfd::MaxDivide,
  .errornorms      = patchfd::Errors,
};
