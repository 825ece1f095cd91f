/* Numbers of cells and of their points (patchfd/private/celldata.h) in GPU memory, and inverses: kernels that run in set-up */
#include "base/plan.cuh"
#include <patchfd/private/assembly.h>
#include <patchfd/private/celldata.h>

namespace patchfd
{

struct CellValues {
  int           n, cells[3], points[3], from[3], groups[3];
  const int    *cell[3], *group[3];
  const double *weight[3];
};

/* a thread a number */
static __global__ void CellEvaluateKernel(const __grid_constant__ CellValues v, size_t size, const double *in, double *out)
{
  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < size; e += (size_t)gridDim.x * blockDim.x) {
    size_t rest = e / v.n, cell = 0;
    int    at[3];
    double sum = 0;

    for (int d = 0; d < 3; rest /= v.points[d++]) at[d] = (int)(rest % v.points[d]);
    for (int d = 0; d < 3; rest /= v.cells[d++]) at[d] += (int)(rest % v.cells[d]) * v.points[d];
    for (int d = 2; d >= 0; d--) cell = cell * v.from[d] + v.cell[d][at[d]];
    for (int corner = 0; corner < 8; corner++) {
      double weight = 1;
      size_t group  = cell;

      for (int d = 2; d >= 0; d--) {
        const double w = v.weight[d][at[d]];

        weight *= corner >> d & 1 ? w : 1 - w;
        group = group * v.groups[d] + v.group[d][at[d]] + (corner >> d & 1);
      }
      if (weight > 0) sum += weight * in[group * v.n + e % v.n];
    }
    out[e] = sum;
  }
}

/* a thread a point */
static __global__ void CellTensorsKernel(int dim, size_t size, int groups, int points, int n, const double *in, double *out)
{
  const int numbers = n == 1 ? 1 : dim * (dim + 1) / 2;

  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < size; i += (size_t)gridDim.x * blockDim.x) {
    const double *k = in + n * (groups == 1 ? i / points : i);
    double       *K = out + numbers * i;

    if (n == 1 || n > dim)
      for (int a = 0; a < n; a++) K[a] = k[a];
    else
      for (int a = 0; a < dim; a++)
        for (int b = a; b < dim; b++) *K++ = a == b ? k[a] : 0;
  }
}

static unsigned CellBlocks(size_t size)
{
  return (unsigned)PetscMin((size + 255) / 256, (size_t)1 << 20);
}

static PetscErrorCode Evaluate(const PatchFDCellValues *values, const PetscReal in[], PetscReal out[])
{
  CellValues   v;
  size_t       size = (size_t)values->n;
  PoolMemory   memory;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  v.n = (int)values->n;
  for (int d = 0; d < 3; d++) {
    const size_t count = (size_t)(values->cells[d] * values->points[d]);

    v.cells[d]  = (int)values->cells[d];
    v.points[d] = (int)values->points[d];
    v.from[d]   = (int)values->from[d];
    v.groups[d] = (int)values->groups[d];
    size *= count;
    PetscCall(memory.send(count, values->cell[d], const_cast<int **>(&v.cell[d])));
    PetscCall(memory.send(count, values->group[d], const_cast<int **>(&v.group[d])));
    PetscCall(memory.send(count, values->weight[d], const_cast<double **>(&v.weight[d])));
  }
  if (size) CellEvaluateKernel<<<CellBlocks(size), 256, 0, stream>>>(v, size, in, out);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tensors(PetscInt dim, PetscCount cells, PetscInt groups, PetscInt points, PetscInt n, const PetscReal in[],
                              PetscReal out[])
{
  const size_t size = (size_t)cells * (size_t)points;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  if (size) CellTensorsKernel<<<CellBlocks(size), 256, 0, stream>>>((int)dim, size, (int)groups, (int)points, (int)n, in, out);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- inverses of dense matrices: cuSOLVER ---- */

/* the upper triangle (of columns) from the lower one */
static __global__ void MirrorKernel(int n, double *K)
{
  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)n * n; e += (size_t)gridDim.x * blockDim.x) {
    const int row = (int)(e % n), col = (int)(e / n);

    if (row < col) K[e] = K[(size_t)row * n + col];
  }
}

/* the inverse of one of them, where it is; info: of the factorization */
static PetscErrorCode InvertOne(cusolverDnHandle_t solver, cudaStream_t stream, int n, double *K, int room, double *work, int *info)
{
  const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;

  PetscFunctionBegin;
  PetscCallCUSOLVER(cusolverDnDpotrf(solver, lower, n, K, n, work, room, info));
  PetscCallCUSOLVER(cusolverDnDpotri(solver, lower, n, K, n, work, room, info + 1));
  MirrorKernel<<<(unsigned)((n + 15) / 16), 256, 0, stream>>>(n, K);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Invert(PetscInt count, PetscInt size, PetscReal *const K[], PetscBool *regular)
{
  const double       small = 1e8; /* operations for which the way there and back does not pay */
  const int          n     = (int)size;
  const size_t       bytes = (size_t)n * (size_t)n * sizeof(double);
  std::vector<int>   info(2 * (size_t)count);
  PlanMemory         memory;
  cusolverDnHandle_t solver;
  cudaStream_t       stream;
  double            *a, *work;
  int               *found, room[2];

  PetscFunctionBegin;
  if ((double)count * n * n * n < small) {
    PetscCall(PatchFDHostInvert(count, size, K, regular));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Stream(&stream));
  PetscCall(PetscCUSOLVERDnGetHandle(&solver));
  PetscCall(memory.malloc((size_t)count * (size_t)n * (size_t)n, &a));
  PetscCall(memory.malloc(2 * (size_t)count, &found));
  PetscCallCUSOLVER(cusolverDnDpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, n, a, n, &room[0]));
  PetscCallCUSOLVER(cusolverDnDpotri_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, n, a, n, &room[1]));
  PetscCall(memory.malloc((size_t)PetscMax(room[0], room[1]), &work));
  for (PetscInt i = 0; i < count; i++) {
    double *at = a + (size_t)i * (size_t)n * (size_t)n;

    PetscCallCUDA(cudaMemcpyAsync(at, K[i], bytes, cudaMemcpyHostToDevice, stream));
    PetscCall(InvertOne(solver, stream, n, at, PetscMax(room[0], room[1]), work, found + 2 * i));
    PetscCallCUDA(cudaMemcpyAsync(K[i], at, bytes, cudaMemcpyDeviceToHost, stream));
  }
  PetscCallCUDA(cudaMemcpyAsync(info.data(), found, info.size() * sizeof(int), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *regular = PETSC_TRUE;
  for (const int i : info) *regular = (PetscBool)(*regular && i == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

const struct _PatchFDCellKernels PatchFDCellKernelsCUDA = {patchfd::Evaluate, patchfd::Tensors};
