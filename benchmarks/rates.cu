/* The bandwidth of a copy and the rate of multiply-adds on the GPU at hand, what the kernels' figures are compared with */
#include "rates.h"
#include <petscdevice_cuda.h>

/* eight chains of multiply-adds a thread */
template <typename T>
static __global__ void FMAKernel(int n, T a, T b, T *out)
{
  T v[8];

  for (int i = 0; i < 8; i++) v[i] = (T)(threadIdx.x + i);
  for (int j = 0; j < n; j++) {
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = a * v[i] + b;
  }
  for (int i = 1; i < 8; i++) v[0] += v[i];
  if (v[0] == (T)-1) *out = v[0]; /* never, but the compiler does not know */
}

static __global__ void CopyKernel(size_t n, const double2 *__restrict__ x, double2 *__restrict__ y)
{
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) y[i] = x[i];
}

/* seconds of the fastest of ten launches */
template <typename Launch>
static PetscErrorCode Fastest(Launch launch, PetscLogDouble *seconds)
{
  cudaEvent_t begin, end;

  PetscFunctionBegin;
  PetscCallCUDA(cudaEventCreate(&begin));
  PetscCallCUDA(cudaEventCreate(&end));
  *seconds = PETSC_MAX_REAL;
  for (int i = 0; i < 10; i++) {
    float ms;

    PetscCallCUDA(cudaEventRecord(begin));
    launch();
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaEventRecord(end));
    PetscCallCUDA(cudaEventSynchronize(end));
    PetscCallCUDA(cudaEventElapsedTime(&ms, begin, end));
    *seconds = PetscMin(*seconds, 1e-3 * ms);
  }
  PetscCallCUDA(cudaEventDestroy(begin));
  PetscCallCUDA(cudaEventDestroy(end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RateCopy(PetscLogDouble *bytes)
{
  const size_t   n = (1ull << 30) / sizeof(double2);
  double2       *x, *y;
  PetscLogDouble t;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)&x, n * sizeof(*x)));
  PetscCallCUDA(cudaMalloc((void **)&y, n * sizeof(*y)));
  PetscCallCUDA(cudaMemset(x, 1, n * sizeof(*x)));
  PetscCall(Fastest([&]() { CopyKernel<<<(unsigned)(n / 256), 256>>>(n, x, y); }, &t));
  *bytes = 2 * n * sizeof(*x) / t;
  PetscCallCUDA(cudaFree(x));
  PetscCallCUDA(cudaFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode FMA(PetscLogDouble *rate)
{
  const int      blocks = 132 * 64, threads = 256, n = 4096;
  T             *out;
  PetscLogDouble t;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)&out, sizeof(T)));
  PetscCall(Fastest([&]() { FMAKernel<T><<<blocks, threads>>>(n, (T)0.999, (T)0.001, out); }, &t));
  *rate = 2. * 8 * n * blocks * threads / t;
  PetscCallCUDA(cudaFree(out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RateFMA(PetscBool single, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  if (single) PetscCall(FMA<float>(flops));
  else PetscCall(FMA<double>(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
