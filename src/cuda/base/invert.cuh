/* inverses of small matrices by a block of threads */
#pragma once

namespace patchfd
{

/* A[n][n] = its inverse, A positive definite (Gauss-Jordan); is it that? */
static __device__ inline bool BlockInvert(int n, double *A)
{
  bool positive = true;

  for (int k = 0; k < n; k++) {
    const double diagonal = A[k * n + k], pivot = 1 / diagonal;

    positive = positive && diagonal > 0;
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += blockDim.x) A[k * n + j] = j == k ? pivot : pivot * A[k * n + j];
    __syncthreads();
    for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
      const int i = e / n, j = e % n;

      if (i != k && j != k) A[e] -= A[i * n + k] * A[k * n + j];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
      if (i != k) A[i * n + k] *= -pivot;
    __syncthreads();
  }
  return positive;
}

} // namespace patchfd
