/* Numbers of cells and of their points (patchfd/private/celldata.h) in GPU memory: kernels that run in set-up */
#include "plan.cuh"
#include <patchfd/private/celldata.h>

namespace patchfd
{

struct CellMeans {
  int           n, cells[3], ratio[3], from[3], to[3];
  const double *W[3];
};

/* where the weights of a row that are not zero begin and end */
__device__ static void CellWeights(const double *W, int count, int *first, int *end)
{
  *first = 0;
  *end   = count;
  while (*first < count - 1 && W[*first] == 0) ++*first;
  while (*end > *first + 1 && W[*end - 1] == 0) --*end;
}

/* a thread a number */
static __global__ void CellMeansKernel(const __grid_constant__ CellMeans m, size_t size, const double *in, double *out)
{
  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < size; e += (size_t)gridDim.x * blockDim.x) {
    const double *W[3];
    double        sum  = 0;
    size_t        rest = e / m.n, fine = 1;
    int           group[3], cell[3], first[3], end[3];

    for (int d = 0; d < 3; rest /= m.to[d++]) group[d] = (int)(rest % m.to[d]);
    for (int d = 0; d < 3; rest /= m.cells[d++]) cell[d] = (int)(rest % m.cells[d]);
    for (int d = 0; d < 3; d++) {
      W[d] = m.W[d] + group[d] * m.ratio[d] * m.from[d];
      CellWeights(W[d], m.ratio[d] * m.from[d], &first[d], &end[d]);
    }
    for (int z = first[2]; z < end[2]; z++) {
      for (int y = first[1]; y < end[1]; y++) {
        for (int x = first[0]; x < end[0]; x++) {
          fine = (size_t)(cell[2] * m.ratio[2] + z / m.from[2]) * m.cells[1] * m.ratio[1] + cell[1] * m.ratio[1] + y / m.from[1];
          fine = fine * m.cells[0] * m.ratio[0] + cell[0] * m.ratio[0] + x / m.from[0];
          fine = ((fine * m.from[2] + z % m.from[2]) * m.from[1] + y % m.from[1]) * m.from[0] + x % m.from[0];
          sum += W[2][z] * W[1][y] * W[0][x] * in[fine * m.n + e % m.n];
        }
      }
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

static PetscErrorCode Means(const PatchFDCellMeans *means, const PetscReal in[], PetscReal out[])
{
  CellMeans    m;
  size_t       size = (size_t)means->n;
  PlanMemory   memory;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  m.n = (int)means->n;
  for (int d = 0; d < 3; d++) {
    double *W;

    m.cells[d] = (int)means->cells[d];
    m.ratio[d] = (int)means->ratio[d];
    m.from[d]  = (int)means->from[d];
    m.to[d]    = (int)means->to[d];
    size *= (size_t)m.cells[d] * (size_t)m.to[d];
    PetscCall(memory.upload((size_t)(m.to[d] * m.ratio[d] * m.from[d]), means->W[d], &W));
    m.W[d] = W;
  }
  if (size) CellMeansKernel<<<CellBlocks(size), 256, 0, stream>>>(m, size, in, out);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(memory.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tensors(PetscInt dim, PetscCount cells, PetscInt groups, PetscInt points, PetscInt n, const PetscReal in[], PetscReal out[])
{
  const size_t size = (size_t)cells * (size_t)points;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  if (size) CellTensorsKernel<<<CellBlocks(size), 256, 0, stream>>>((int)dim, size, (int)groups, (int)points, (int)n, in, out);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

const struct _PatchFDCellKernels PatchFDCellKernelsCUDA = {patchfd::Means, patchfd::Tensors};
