/*
  Grid transfers (transfer.cuh): the choice of the kernel, and the generic one, a team of threads a coarse cell.

  A fine node that several coarse cells share belongs to the last of them, so that prolongation adds without conflicts; in the
  restriction neighbouring cells add to the same coarse nodes, with atomics.
*/
#include "base/lines.cuh"
#include "transfer/transfer.cuh"
#include <algorithm>

namespace patchfd
{

template <typename T>
struct TransferKernelData {
  int     nf[3], nc[3], first[3], count[3], ncells[3];
  Layout  cl, fl;
  Range   coarse, fine;
  T      *P[3];
  int    *cls[3];
  Team<T> team;
  size_t  cells;
};

template <typename T>
struct TransferPlan {
  TransferKernelData<T> cell  = {};
  TransferFast         *fast  = NULL; /* or NULL */
  const char           *name  = NULL;
  bool                  line  = false; /* 1D, one point in the other directions */
  PetscLogDouble        flops = 0;
  PlanMemory            memory;

  PetscErrorCode free()
  {
    PetscFunctionBegin;
    PetscCall(cell.team.destroy());
    PetscCall(memory.free());
    delete fast;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, bool RESTRICT>
static __global__ void TransferKernel(const __grid_constant__ TransferKernelData<T> p, const T *__restrict__ from, T *__restrict__ to)
{
  T *in = TeamMemory<T>(p.team.global, p.team.size), *out = in + p.team.size / 2;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < p.cells; base += (size_t)gridDim.x * blockDim.y) {
    const size_t item   = base + threadIdx.y;
    const bool   active = item < p.cells;
    int          cell[3], first[3], n[3];
    Range        own = p.fine;

    cell[0] = p.first[0] + (int)(item % p.count[0]);
    cell[1] = p.first[1] + (int)(item / p.count[0] % p.count[1]);
    cell[2] = p.first[2] + (int)(item / p.count[0] / p.count[1]);
    for (int d = 0; d < 3; d++) { /* fine nodes of this cell alone */
      if (cell[d] < p.ncells[d] - 1) own.hi[d] = min(own.hi[d], (cell[d] + 1) * (p.nf[d] - 1));
      first[d] = cell[d] * ((RESTRICT ? p.nf[d] : p.nc[d]) - 1);
      n[d]     = RESTRICT ? p.nf[d] : p.nc[d];
    }
    if (active) Gather(first, n, RESTRICT ? own : p.coarse, RESTRICT ? p.fl : p.cl, from, in);
    for (int d = 0; d < 3; d++) {
      __syncthreads();
      if (active) {
        const T        *m = p.P[d] + (size_t)p.cls[d][cell[d]] * p.nf[d] * p.nc[d];
        const Matrix<T> P = RESTRICT ? Matrix<T>{m, 1, p.nc[d]} : Matrix<T>{m, p.nc[d], 1};

        Contract(d, n, RESTRICT ? p.nc[d] : p.nf[d], P, d == 1 ? out : in, d == 1 ? in : out, false);
        n[d] = RESTRICT ? p.nc[d] : p.nf[d];
      }
    }
    __syncthreads();
    if (active) {
      for (int d = 0; d < 3; d++) first[d] = cell[d] * (n[d] - 1);
      for (int e = threadIdx.x; e < n[0] * n[1] * n[2]; e += blockDim.x) {
        const int i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];

        if (RESTRICT) {
          if (p.coarse.contains(i, j, k)) atomicAdd(&to[p.cl.at(i, j, k)], out[e]);
        } else if (own.contains(i, j, k)) to[p.fl.at(i, j, k)] += out[e];
      }
    }
    __syncthreads();
  }
}

/*
  The restriction in 1D, a thread a coarse node: the first one of its cell, and then the last one of that before, or inside.  Cells have
  all their fine nodes but the last one, which is the first of the next
*/
template <typename T>
static __global__ void RestrictLineKernel(const __grid_constant__ TransferKernelData<T> p, const T *__restrict__ from, T *__restrict__ to)
{
  const int k = p.nc[0] - 1, node = p.first[0] * k + (int)(blockIdx.x * blockDim.x + threadIdx.x), cell = node / k;
  T         sum = 0;

  if (node < p.coarse.lo[0] || node >= p.coarse.hi[0] || node > (p.first[0] + p.count[0]) * k) return;
  for (int c = cell - (node % k == 0); c <= cell; c++) {
    if (c < p.first[0] || c >= p.first[0] + p.count[0]) continue;
    const T  *column = p.P[0] + (size_t)p.cls[0][c] * p.nf[0] * p.nc[0] + (node - c * k);
    const int first = c * (p.nf[0] - 1), rows = p.nf[0] - (c < p.ncells[0] - 1);

    for (int r = PetscMax(0, p.fine.lo[0] - first); r < PetscMin(rows, p.fine.hi[0] - first); r++)
      sum += column[r * p.nc[0]] * from[p.fl.at(first + r, p.fine.lo[1], p.fine.lo[2])];
  }
  to[p.cl.at(node, p.coarse.lo[1], p.coarse.lo[2])] += sum;
}

/* for halved cells of one degree, in 2D or 3D; NULL for others */
template <typename T>
static PetscErrorCode TransferFastChoose(const PatchFDTransferDesc *desc, PlanMemory *memory, TransferFast **fast, const char **name)
{
  const int               dim   = desc->dir[2]->nf == 1 ? 2 : 3;
  const PatchFDEmbedding *e     = desc->dir[0];
  bool                    equal = true;

  PetscFunctionBegin;
  *fast = NULL;
  *name = "any cells, by atomics: not halved cells of one degree that has a kernel of its own";
  if (e->ratio != 2 || e->nf != 2 * e->nc - 1 || e->nc < 2) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < dim; d++) {
    const PatchFDEmbedding *f = desc->dir[d];

    if (f->ratio != 2 || f->nf != e->nf || f->nc != e->nc) PetscFunctionReturn(PETSC_SUCCESS);
    equal = equal && f->nclass == 1 && std::equal(e->P, e->P + e->nf * e->nc, f->P);
  }
  if (e->nc - 1 > transfer_fast_degrees(dim, !equal)) PetscFunctionReturn(PETSC_SUCCESS);
  *name = equal ? "equal cells" : "cells by place: they are not equal";
  if (dim == 2) PetscCall((equal ? TransferFastCreate<T, 2, false> : TransferFastCreate<T, 2, true>)(desc, memory, fast));
  else PetscCall((equal ? TransferFastCreate<T, 3, false> : TransferFastCreate<T, 3, true>)(desc, memory, fast));
  if (!*fast) *name = "any cells, by atomics: too many for the kernel for this degree";
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Transfer<T>::create(const PatchFDTransferDesc *desc, void **plan)
{
  TransferPlan<T>       *p    = new TransferPlan<T>;
  TransferKernelData<T> &cell = p->cell;
  const int             *nf = cell.nf, *nc = cell.nc;
  int                    size = 1;
  cudaStream_t           stream;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(Stream(&stream));
  cell.cl     = Layout(desc->cbox);
  cell.fl     = Layout(desc->fbox);
  cell.coarse = Range(desc->coarse);
  cell.fine   = Range(desc->fine);
  cell.cells  = cell.fine.empty() ? 0 : 1;
  for (int d = 0; d < 3; d++) {
    cell.nf[d]     = (int)desc->dir[d]->nf;
    cell.nc[d]     = (int)desc->dir[d]->nc;
    cell.ncells[d] = (int)desc->dir[d]->ncells;
    cell.first[d]  = (int)desc->cells[d][0];
    cell.count[d]  = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
    cell.cells *= (size_t)cell.count[d];
    size *= PetscMax(nf[d], nc[d]);
  }
  p->flops = 2.0 * (nf[0] * nc[0] * nc[1] * nc[2] + nf[0] * nf[1] * nc[1] * nc[2] + nf[0] * nf[1] * nf[2] * nc[2]) *
             (PetscLogDouble)cell.cells;
  if (!cell.cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TransferFastChoose<T>(desc, &p->memory, &p->fast, &p->name));
  if (p->fast) PetscFunctionReturn(PETSC_SUCCESS);
  p->line = nc[0] > 1 && nf[1] == 1 && nc[1] == 1 && nf[2] == 1 && nc[2] == 1 && !cell.coarse.empty();
  if (p->line) p->name = "a line";
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    PetscCall(p->memory.upload((size_t)(e->nclass * e->nf * e->nc), e->P, &cell.P[d]));
    PetscCall(p->memory.upload((size_t)e->ncells, e->cls, &cell.cls[d]));
  }
  PetscCall(cell.team.create(size, 2 * (size_t)size));
  PetscCall(AllowShared(TransferKernel<T, true>, cell.team.shared));
  PetscCall(AllowShared(TransferKernel<T, false>, cell.team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
const char *Transfer<T>::name(void *plan)
{
  return ((TransferPlan<T> *)plan)->name;
}

template <typename T>
PetscErrorCode Transfer<T>::destroy(void **plan)
{
  return DestroyPlan<TransferPlan<T>>(plan);
}

template <typename T, bool RESTRICT>
static PetscErrorCode TransferApply(void *plan, const void *from, void *to)
{
  TransferPlan<T> *p = (TransferPlan<T> *)plan;
  cudaStream_t     stream;

  PetscFunctionBegin;
  if (!p->cell.cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (p->fast) {
    if (RESTRICT) PetscCall(p->fast->restrict_(from, to, stream));
    else PetscCall(p->fast->prolong(from, to, stream));
  } else if (RESTRICT && p->line) {
    const int threads = 256, nodes = p->cell.count[0] * (p->cell.nc[0] - 1) + 1;

    RestrictLineKernel<T><<<(nodes + threads - 1) / threads, threads, 0, stream>>>(p->cell, (const T *)from, (T *)to);
    PetscCallCUDA(cudaGetLastError());
  } else {
    TransferKernel<T, RESTRICT>
      <<<p->cell.team.grid(p->cell.cells), p->cell.team.block(), p->cell.team.shared, stream>>>(p->cell, (const T *)from, (T *)to);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Transfer<T>::apply(void *plan, bool restriction, const void *from, void *to)
{
  return restriction ? TransferApply<T, true>(plan, from, to) : TransferApply<T, false>(plan, from, to);
}

template struct Transfer<double>;
template struct Transfer<float>;

} // namespace patchfd
