/* What Krylov methods do with PETSc's own Vecs in GPU memory (src/vec/onepass.c) */
#include "vec/passes.cuh"

namespace patchfd
{

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
