/* The loops of VECSINGLE in GPU memory: passes over vectors (passes.cuh), and copies to and from the host; sums of PETSc's own Vecs */
#include "base/cuda.cuh"
#include "vec/passes.cuh"

namespace patchfd
{

/* ---- what is computed of each number ---- */
struct Set {
  float            a;
  __device__ float operator()() const { return a; }
};
struct Identity {
  __device__ float operator()(float x) const { return x; }
};
template <typename To>
struct Convert {
  double        a;
  __device__ To operator()(double x) const { return (To)(a * x); }
};
struct AddConverted {
  double            a;
  __device__ double operator()(float x, double y) const { return y + a * (double)x; }
};
struct Times {
  float            a;
  __device__ float operator()(float x) const { return a * x; }
};
struct Plus {
  float            a;
  __device__ float operator()(float x) const { return a + x; }
};
struct AXPlusBY {
  float            a, b;
  __device__ float operator()(float x, float y) const { return a * x + b * y; }
};
struct AXPlusY {
  float            a;
  __device__ float operator()(float x, float y) const { return a * x + y; }
};
struct AXPlusBYPlusCZ {
  float            a, b, c;
  __device__ float operator()(float x, float y, float z) const { return a * x + b * y + c * z; }
};
struct Product {
  __device__ float operator()(float x, float y) const { return x * y; }
};
struct Quotient {
  __device__ float operator()(float x, float y) const { return y == 0.0f ? (x == 0.0f ? 1.0f : 0.0f) : x / y; }
};
struct Larger {
  __device__ float operator()(float x, float y) const { return x < y ? y : x; }
};
struct Smaller {
  __device__ float operator()(float x, float y) const { return x < y ? x : y; }
};
struct LargerAbs {
  __device__ float operator()(float x, float y) const { return Larger()(fabsf(x), fabsf(y)); }
};
struct Inverse {
  __device__ float operator()(float x) const { return x == 0.0f ? 0.0f : 1.0f / x; }
};
struct SqrtAbs {
  __device__ float operator()(float x) const { return sqrtf(fabsf(x)); }
};
struct Abs {
  __device__ float operator()(float x) const { return fabsf(x); }
};
struct Exp {
  __device__ float operator()(float x) const { return expf(x); }
};
struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};

/* ---- memory ---- */

static PetscErrorCode Malloc(PetscInt n, float **x)
{
  return Grid<float>::malloc((size_t)n, (void **)x);
}

static PetscErrorCode Free(float **x)
{
  PetscFunctionBegin;
  PetscCall(Grid<float>::free(*x));
  *x = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- elementwise ---- */

template <typename F>
static PetscErrorCode Unary(PetscInt n, float *x)
{
  return Map(n, F(), x, (const float *)x);
}

template <typename F>
static PetscErrorCode UnaryWithNumber(PetscInt n, double a, float *x)
{
  return Map(n, F{(float)a}, x, (const float *)x);
}

template <typename F>
static PetscErrorCode Binary(PetscInt n, const float *x, const float *y, float *w)
{
  return Map(n, F(), w, x, y);
}

template <typename From, typename To>
static PetscErrorCode ConvertAll(PetscInt n, double a, const From *x, To *y)
{
  return Map(n, Convert<To>{a}, y, x);
}

static PetscErrorCode AddToDouble(PetscInt n, double a, const float *x, double *y)
{
  return Map(n, AddConverted{a}, y, x, (const double *)y);
}

static PetscErrorCode SetAll(PetscInt n, double a, float *x)
{
  return Map(n, Set{(float)a}, x);
}

static PetscErrorCode Copy(PetscInt n, const float *x, float *y)
{
  return Map(n, Identity(), y, x);
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
  return Map(n, AXPlusY{(float)a}, y, x, (const float *)y);
}

static PetscErrorCode WAXPY(PetscInt n, double a, const float *x, const float *y, float *w)
{
  return Map(n, AXPlusY{(float)a}, w, x, y);
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

static PetscErrorCode MAXPBY(PetscInt n, PetscInt m, const double *a, double b, const float *const *x, float *y)
{
  PetscFunctionBegin;
  if (!m) PetscCall(b == 0.0 ? SetAll(n, 0.0, y) : UnaryWithNumber<Times>(n, b, y));
  PetscCall(ForEight(m, [&](PetscInt j, auto pass) { return Combine(n, a + j, j ? 1.0 : b, x + j, y, pass); }));
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

/* ---- what Krylov methods do with PETSc's own Vecs in GPU memory (src/vec/onepass.c) ---- */

struct Minus {
  __device__ double operator()(double x, double y) const { return x - y; }
};
struct PlusTimes {
  double            b;
  __device__ double operator()(double x, double y) const { return x + b * y; }
};

/* y += sum a[j] x[j], and the sum of its squares */
template <int W, int M, typename... X>
static __global__ void __launch_bounds__(THREADS)
  CombineKernel(size_t n, Combination<M> c, Sums<1> *partial, unsigned *ticket, double *squares, double *y, const X *...x)
{
  const size_t first = blockIdx.x * (size_t)THREADS + threadIdx.x, stride = gridDim.x * (size_t)THREADS;
  Sums<1>      s = Sums<1>::none();

#pragma unroll 2
  for (size_t i = first; i < n / W; i += stride) {
    Group<W, double> o = ((const Group<W, double> *)y)[i];

    [&](const Group<W, X>... g) {
#pragma unroll
      for (int w = 0; w < W; w++) {
        o.v[w] = c.sum(o.v[w], g.v[w]...);
        s.s[0] += o.v[w] * o.v[w];
      }
    }(((const Group<W, X> *)x)[i]...);
    ((Group<W, double> *)y)[i] = o;
  }
  for (size_t i = n / W * W + first; i < n; i += stride) {
    y[i] = c.sum(y[i], x[i]...);
    s.s[0] += y[i] * y[i];
  }
  if (JoinGrid(s, partial, ticket)) *squares = s.s[0];
}

template <size_t... J>
static PetscErrorCode CombineAndSquare(PetscInt n, const double *a, const double *const *x, double *y, std::index_sequence<J...>)
{
  constexpr int        M = sizeof...(J);
  const Combination<M> c = {{a[J]...}, 1};

  PetscFunctionBegin;
  PetscCall(Launch([&](cudaStream_t stream) {
    Sums<1> *const partial = (Sums<1> *)buffers.partial;

    if (Aligned(y) && (Aligned(x[J]) && ...))
      CombineKernel<2>
        <<<Blocks(n, 2, MAX_BLOCKS), THREADS, 0, stream>>>((size_t)n, c, partial, buffers.ticket, buffers.squares, y, x[J]...);
    else
      CombineKernel<1>
        <<<Blocks(n, 1, MAX_BLOCKS), THREADS, 0, stream>>>((size_t)n, c, partial, buffers.ticket, buffers.squares, y, x[J]...);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

const struct _VecSingleKernels VecSingleKernelsCUDA = {
  .type            = VECSINGLECUDA,
  .memtype         = PETSC_MEMTYPE_CUDA,
  .malloc          = patchfd::Malloc,
  .free            = patchfd::Free,
  .fromdouble      = patchfd::ConvertAll<double, float>,
  .todouble        = patchfd::ConvertAll<float, double>,
  .fromhost        = patchfd::FromHost,
  .tohost          = patchfd::ToHost,
  .addtodouble     = patchfd::AddToDouble,
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
  .mdot            = patchfd::MDot<float>,
  .sum             = patchfd::SumOf<patchfd::Add>,
  .sumabs          = patchfd::SumOf<patchfd::AddAbs>,
  .maxabs          = patchfd::MaxAbs,
  .max             = patchfd::Find<1>,
  .min             = patchfd::Find<-1>,
  .maxdivide       = patchfd::MaxDivide,
  .errornorms      = patchfd::Errors,
};
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

PetscErrorCode PatchFDCUDAMDot(PetscInt n, PetscInt m, const double *x, const double *const *y, double *s)
{
  PetscFunctionBegin;
  PetscCall(patchfd::MDot(n, m, x, y, s));
  PetscCall(PetscLogGpuFlops(2.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is recorded sums nothing: its replays would change a sum that belongs to another Vec by then */
PetscErrorCode PatchFDCUDAMAXPY(PetscInt n, PetscInt m, const double *a, const double *const *x, double *y, PetscBool *squares)
{
  cudaStream_t            stream;
  cudaStreamCaptureStatus recording;

  PetscFunctionBegin;
  PetscCall(patchfd::Stream(&stream));
  PetscCallCUDA(cudaStreamIsCapturing(stream, &recording));
  *squares = (PetscBool)(recording == cudaStreamCaptureStatusNone);
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if (*squares) PetscCall(patchfd::NeedBuffers());
  PetscCall(patchfd::ForEight(m, [&](PetscInt j, auto pass) {
    return *squares && j + 8 >= m ? patchfd::CombineAndSquare(n, a + j, x + j, y, pass) : patchfd::Combine(n, a + j, 1, x + j, y, pass);
  }));
  PetscCall(PetscLogGpuFlops(2.0 * (m + *squares) * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCUDAGetSquares(PetscInt n, double *s)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  *s = 0;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(patchfd::Stream(&stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar(sizeof(*s)));
  *s = *patchfd::buffers.squares;
  PetscFunctionReturn(PETSC_SUCCESS);
}
