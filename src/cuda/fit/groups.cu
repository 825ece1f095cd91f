/* the order of fits of local solvers by groups: CUB sorts */
#include "fit/groups.cuh"
#include <cub/device/device_radix_sort.cuh>

namespace patchfd
{

PetscErrorCode FitGridCreate(const PatchFDFit *fit, PoolMemory *memory, FitGrid *grid)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    int *line;

    grid->count[d] = (int)fit->grid[d];
    grid->nkind[d] = fit->nkind[d];
    for (int i = 0; i < PATCHFD_FIT_MAX_KINDS; i++) grid->kind[d][i] = fit->kind[d][i];
    PetscCall(memory->send(fit_line * (size_t)fit->grid[d], &fit->line[d]->cell, &line));
    grid->line[d] = line;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the bins of all patches */
static __global__ void FitBinsKernel(const __grid_constant__ FitGrid grid, int count, const char *take, unsigned *bin, int *number)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x), *of[3];

  if (p >= count) return;
  grid.get(p, of);
  const PetscInt kind[3] = {of[0][2], of[1][2], of[2][2]};

  bin[p]    = (unsigned)PatchFDFitBin(grid.nkind, of[0][3] + of[1][3] + of[2][3], take[p], kind);
  number[p] = p;
}

/* where bins begin, of those that are not empty; what else is asked for of sorted patches */
static __global__ void FitOrderKernel(const __grid_constant__ FitGrid grid, int count, const unsigned *bin,
                                      const __grid_constant__ FitOrder order, int *begin)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x), *of[3];

  if (p >= count) return;
  if (p == 0 || bin[p] != bin[p - 1]) begin[bin[p]] = p;
  grid.get(order.number[p], of);
  for (int d = 0; d < 3; d++) {
    order.cell[3 * p + d]  = of[d][0];
    order.first[3 * p + d] = of[d][1];
    order.n[3 * p + d]     = (int)grid.kind[d][of[d][2]].n;
  }
}

/* the groups of the description, from where bins begin, -1 for those that are empty */
static PetscErrorCode FitSetGroups(PatchFDFit *fit, const std::vector<int> &begin)
{
  std::vector<PetscCount> bin(begin.size());
  PetscCount              next = fit->npatch;

  PetscFunctionBegin;
  for (size_t i = begin.size(); i-- > 0;) {
    bin[i] = begin[i] < 0 ? 0 : next - begin[i];
    next -= bin[i];
  }
  PetscCall(PatchFDHostFitSetGroups(fit, bin.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FitSort(PatchFDFit *fit, const FitGrid &grid, const char *take, PoolMemory *memory, FitOrder *order)
{
  const size_t     n      = (size_t)fit->npatch;
  const unsigned   blocks = (unsigned)((n + 255) / 256);
  std::vector<int> begin((size_t)PatchFDHostFitBins(fit), -1);
  PoolMemory       work;
  unsigned        *bin, *sorted;
  int             *number, *start;
  char            *temporary;
  size_t           bytes = 0;
  int              bits  = 1;
  cudaStream_t     stream;

  PetscFunctionBegin;
  while ((size_t)1 << bits < begin.size()) bits++;
  PetscCall(Stream(&stream));
  PetscCall(memory->borrow(n, &order->number));
  PetscCall(memory->borrow(3 * n, &order->cell));
  PetscCall(memory->borrow(3 * n, &order->first));
  PetscCall(memory->borrow(3 * n, &order->n));
  if (n) {
    PetscCall(work.borrow(n, &bin));
    PetscCall(work.borrow(n, &sorted));
    PetscCall(work.borrow(n, &number));
    PetscCall(work.send(begin.size(), begin.data(), &start));
    FitBinsKernel<<<blocks, 256, 0, stream>>>(grid, (int)n, take, bin, number);
    PetscCallCUDA(cub::DeviceRadixSort::SortPairs(NULL, bytes, bin, sorted, number, order->number, (int)n, 0, bits, stream));
    PetscCall(work.borrow(bytes, &temporary));
    PetscCallCUDA(cub::DeviceRadixSort::SortPairs(temporary, bytes, bin, sorted, number, order->number, (int)n, 0, bits, stream));
    FitOrderKernel<<<blocks, 256, 0, stream>>>(grid, (int)n, sorted, *order, start);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(begin.data(), start, begin.size() * sizeof(int), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaMemcpyAsync(fit->take, take, n, cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  PetscCall(FitSetGroups(fit, begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
