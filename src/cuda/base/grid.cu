/* Memory, copies between boxes and the Dirichlet nodes */
#include "base/cuda.cuh"
#include "base/patches.cuh"

namespace patchfd
{

static cudaMemPool_t pool     = NULL;
static int           has_pool = -1; /* is it one that the driver has for this GPU?  -1: nobody has asked */

static PetscErrorCode PoolDestroy(void)
{
  PetscFunctionBegin;
  if (pool) PetscCallCUDA(cudaMemPoolDestroy(pool));
  pool     = NULL;
  has_pool = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PoolCreate(void)
{
  cudaMemPoolProps properties = {};
  size_t           unused, total;
  cuuint64_t       keep;

  PetscFunctionBegin;
  properties.allocType     = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  PetscCallCUDA(cudaGetDevice(&properties.location.id));
  PetscCallCUDA(cudaDeviceGetAttribute(&has_pool, cudaDevAttrMemoryPoolsSupported, properties.location.id));
  PetscCall(PetscRegisterFinalize(PoolDestroy));
  if (!has_pool) PetscFunctionReturn(PETSC_SUCCESS); /* virtual GPUs */
  PetscCallCUDA(cudaMemPoolCreate(&pool, &properties));
  PetscCallCUDA(cudaMemGetInfo(&unused, &total));
  keep = total / 4;
  PetscCallCUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* memory, after another try without what the pool keeps: the only place that allocates on the GPU (config/testsource) */
template <typename F>
static PetscErrorCode Allocate(size_t bytes, F &&allocate)
{
  cudaError_t err = allocate();

  PetscFunctionBegin;
  if (err == cudaErrorMemoryAllocation && pool) {
    (void)cudaGetLastError();
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCallCUDA(cudaMemPoolTrimTo(pool, 0));
    err = allocate();
  }
  if (err != cudaSuccess) (void)cudaGetLastError(); /* it has been dealt with */
  PetscCheck(err == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_MEM, "Cannot allocate %.3f GB on the GPU: %s", (double)bytes * 1e-9,
             cudaGetErrorString(err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DeviceMalloc(size_t bytes, void **a)
{
  PetscFunctionBegin;
  *a = NULL;
  PetscCall(Allocate(bytes, [&]() { return cudaMalloc(a, PetscMax(bytes, 1)); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* waits, since pageable memory may be read after the copy has been enqueued */
PetscErrorCode ToDevice(size_t bytes, const void *from, void *to)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PoolBorrow(size_t bytes, void **a)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  *a = NULL;
  PetscCall(Stream(&stream));
  if (has_pool < 0) PetscCall(PoolCreate());
  if (!has_pool) PetscCall(DeviceMalloc(bytes, a));
  else PetscCall(Allocate(bytes, [&]() { return cudaMallocFromPoolAsync(a, PetscMax(bytes, 1), pool, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PoolReturn(void *a)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!a) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCallCUDA(has_pool ? cudaFreeAsync(a, stream) : cudaFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Grid<T>::malloc(size_t count, void **a)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(DeviceMalloc(PetscMax(count, 1) * sizeof(T), a));
  PetscCallCUDA(cudaMemsetAsync(*a, 0, PetscMax(count, 1) * sizeof(T), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Grid<T>::free(void *a)
{
  PetscFunctionBegin;
  if (a) PetscCallCUDA(cudaFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Grid<T>::zero(size_t count, void *a)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCallCUDA(cudaMemsetAsync(a, 0, count * sizeof(T), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* as PatchFDBoxImage() of the nodes of one direction of a box */
struct Ring {
  int lo, n;

  __device__ __forceinline__ int image(int i) const
  {
    if (i < lo) return i + n;
    while (i >= lo + n) i -= n;
    return i;
  }
};

struct BoxImages {
  Ring d[3];

  BoxImages(const PatchFDBox &b)
  {
    for (int e = 0; e < 3; e++) d[e] = {(int)b.lo[e], (int)b.n[e]};
  }
};

template <typename T>
static __global__ void CopyKernel(Range r, BoxImages f, Layout fl, const T *__restrict__ from, Layout tl, T *__restrict__ to)
{
  for (int k = r.lo[2] + blockIdx.z; k < r.hi[2]; k += gridDim.z)
    for (int j = r.lo[1] + blockIdx.y * blockDim.y + threadIdx.y; j < r.hi[1]; j += gridDim.y * blockDim.y)
      for (int i = r.lo[0] + blockIdx.x * blockDim.x + threadIdx.x; i < r.hi[0]; i += gridDim.x * blockDim.x)
        to[tl.at(i, j, k)] = from[fl.at(f.d[0].image(i), f.d[1].image(j), f.d[2].image(k))];
}

template <typename T>
PetscErrorCode Grid<T>::copy(const PatchFDRange range, const PatchFDBox *fbox, const void *from, const PatchFDBox *tbox, void *to)
{
  const Range  r(range);
  cudaStream_t stream;

  PetscFunctionBegin;
  if (r.empty()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  const int n = r.hi[0] - r.lo[0];
  int       x = 64;

  while (x > 1 && x / 2 >= n) x /= 2; /* layers of ghosts are thin */
  const int  y = 256 / x;
  const dim3 block(x, y), grid((n + x - 1) / x, PetscMin((r.hi[1] - r.lo[1] + y - 1) / y, 65535), PetscMin(r.hi[2] - r.lo[2], 65535));

  CopyKernel<T><<<grid, block, 0, stream>>>(r, BoxImages(*fbox), Layout(*fbox), (const T *)from, Layout(*tbox), (T *)to);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static __global__ void FixedKernel(Shell s, T a, Layout yl, T *__restrict__ y, T b, Layout xl, const T *__restrict__ x)
{
  for (size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x; t < s.size(); t += (size_t)gridDim.x * blockDim.x) {
    int at[3];

    s.find<size_t>(t, at);
    T *yi = y + yl.at(at[0], at[1], at[2]);

    *yi = (a == 0 ? 0 : a * *yi) + (b == 0 ? 0 : b * x[xl.at(at[0], at[1], at[2])]);
  }
}

template <typename T>
PetscErrorCode Grid<T>::fixed(const PatchFDRange range, const PatchFDRange free, PetscReal a, const PatchFDBox *ybox, void *y, PetscReal b,
                              const PatchFDBox *xbox, const void *x)
{
  const Shell  s(range, free);
  cudaStream_t stream;
  int          blocks;

  PetscFunctionBegin;
  if (!s.size()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(Multiprocessors(&blocks));
  blocks *= 32; /* several waves of blocks of 256, so that none idles at the end */
  FixedKernel<T><<<(unsigned)PetscMin((s.size() + 255) / 256, (size_t)blocks), 256, 0, stream>>>(s, (T)a, Layout(*ybox), (T *)y, (T)b,
                                                                                                 Layout(*xbox), (const T *)x);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static __global__ void MultiplyKernel(size_t count, const T *__restrict__ s, const T *x, bool add, T *y)
{
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
    y[i] = add ? y[i] + s[i] * x[i] : s[i] * x[i];
}

template <typename T>
PetscErrorCode Grid<T>::multiply(size_t count, const void *s, const void *x, PetscBool add, void *y)
{
  cudaStream_t stream;
  int          blocks;

  PetscFunctionBegin;
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(Multiprocessors(&blocks));
  blocks *= 32;
  MultiplyKernel<T>
    <<<(unsigned)PetscMin((count + 255) / 256, (size_t)blocks), 256, 0, stream>>>(count, (const T *)s, (const T *)x, (bool)add, (T *)y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct Grid<double>;
template struct Grid<float>;
/* numbers of nodes, flags */
template PetscErrorCode Grid<char>::malloc(size_t, void **);
template PetscErrorCode Grid<int>::malloc(size_t, void **);
template PetscErrorCode Grid<unsigned>::malloc(size_t, void **);

} // namespace patchfd
