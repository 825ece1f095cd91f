/*
  Grid transfers (transfer.cuh): the choice of the kernel, and the generic one, a team of threads a coarse cell.

  A fine node that several coarse cells share belongs to the last of them, so that prolongation adds without conflicts; in the
  restriction neighbouring cells add to the same coarse nodes, with atomics.
*/
#include "lines.cuh"
#include "transfer.cuh"

namespace patchfd
{

template <typename T>
struct TransferPlan {
  int            nf[3], nc[3], first[3], count[3], ncells[3];
  Layout         cl, fl;
  Range          coarse, fine;
  T             *P[3];
  int           *cls[3];
  Team<T>        team;
  size_t         cells;
  TransferFast  *fast; /* or NULL */
  PetscLogDouble flops;
};

template <typename T, bool RESTRICT>
static __global__ void TransferKernel(const __grid_constant__ TransferPlan<T> p, const T *__restrict__ from, T *__restrict__ to)
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

template <typename T>
PetscErrorCode Transfer<T>::destroy(void **plan)
{
  TransferPlan<T> *p = (TransferPlan<T> *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    PetscCallCUDA(cudaFree(p->P[d]));
    PetscCallCUDA(cudaFree(p->cls[d]));
  }
  PetscCall(p->team.destroy());
  delete p->fast;
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Transfer<T>::create(const PatchFDTransferDesc *desc, void **plan)
{
  TransferPlan<T> *p;
  int              size = 1;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscNew(&p));
  *plan     = p;
  p->cl     = Layout(desc->cbox);
  p->fl     = Layout(desc->fbox);
  p->coarse = Range(desc->coarse);
  p->fine   = Range(desc->fine);
  p->cells  = p->fine.empty() ? 0 : 1;
  for (int d = 0; d < 3; d++) {
    p->nf[d]     = (int)desc->dir[d]->nf;
    p->nc[d]     = (int)desc->dir[d]->nc;
    p->ncells[d] = (int)desc->dir[d]->ncells;
    p->first[d]  = (int)desc->cells[d][0];
    p->count[d]  = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
    p->cells *= (size_t)p->count[d];
    size *= PetscMax(p->nf[d], p->nc[d]);
  }
  p->flops = 2.0 * (p->nf[0] * p->nc[0] * p->nc[1] * p->nc[2] + p->nf[0] * p->nf[1] * p->nc[1] * p->nc[2] + p->nf[0] * p->nf[1] * p->nf[2] * p->nc[2]) * (PetscLogDouble)p->cells;
  if (!p->cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((TransferFastCreate<T, 3>(desc, &p->fast)));
  if (!p->fast) PetscCall((TransferFastCreate<T, 2>(desc, &p->fast)));
  if (p->fast) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    PetscCall(Upload((size_t)(e->nclass * e->nf * e->nc), e->P, &p->P[d]));
    PetscCall(Upload((size_t)e->ncells, e->cls, &p->cls[d]));
  }
  PetscCall(p->team.create(size, 2 * (size_t)size));
  PetscCall(AllowShared(TransferKernel<T, true>, p->team.shared));
  PetscCall(AllowShared(TransferKernel<T, false>, p->team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, bool RESTRICT>
static PetscErrorCode TransferApply(void *plan, const void *from, void *to)
{
  TransferPlan<T> *p = (TransferPlan<T> *)plan;
  cudaStream_t     stream;

  PetscFunctionBegin;
  if (!p->cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (p->fast) {
    if (RESTRICT) PetscCall(p->fast->restrict_(from, to, stream));
    else PetscCall(p->fast->prolong(from, to, stream));
  } else {
    TransferKernel<T, RESTRICT><<<p->team.grid(p->cells), p->team.block(), p->team.shared, stream>>>(*p, (const T *)from, (T *)to);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Transfer<T>::prolong(void *plan, const void *coarse, void *fine)
{
  return TransferApply<T, false>(plan, coarse, fine);
}

template <typename T>
PetscErrorCode Transfer<T>::restrict_(void *plan, const void *fine, void *coarse)
{
  return TransferApply<T, true>(plan, fine, coarse);
}

template struct Transfer<double>;
template struct Transfer<float>;

} // namespace patchfd
