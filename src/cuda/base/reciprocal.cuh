/* 1 / D for the eigenvalues of patches */
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

/* 1 / D, 0 for D = 0, in a few instructions: an approximation of 20 bits and Newton's iteration */
__device__ __forceinline__ double ReciprocalOrZero(double D)
{
  double r;

#if defined(__CUDA_ARCH__)
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(D));
#else
  r = (double)(1 / (float)D);
#endif
  r += r * (1 - D * r);
  r += r * (1 - D * r);
  return D == 0 ? 0 : r;
}

/* of 23 bits */
__device__ __forceinline__ float ReciprocalOrZero(float D)
{
  float r;

#if defined(__CUDA_ARCH__)
  asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(D));
#else
  r = 1 / D;
#endif
  return D == 0 ? 0 : r;
}

/* D^(-1/2) of a positive number, in single precision of 22 bits, of one that is normalized */
__device__ __forceinline__ double RootReciprocal(double D)
{
  return rsqrt(D);
}
__device__ __forceinline__ float RootReciprocal(float D)
{
  float r;

#if defined(__CUDA_ARCH__)
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(D));
#else
  r = 1 / sqrtf(D);
#endif
  return r;
}

} // namespace patchfd
