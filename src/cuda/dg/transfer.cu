/*
  fine += P coarse and coarse += P' fine between discontinuous fields, P = P_2 (x) P_1 (x) P_0: coarse cell by coarse cell, which share
  nothing, so that each node is written once.

  Fast kernels (2D and 3D, coarse cells of up to 9 nodes in y and z; halved cells, higher degrees, or both; any splits).  A block of
  threads has CELLS cells that follow each other in x, whose fine nodes are X in a row:

    prolongation   x  an entry a thread     A[z][y][x']   from coarse nodes in global memory (with x', y', z' fine nodes)
                   y  a line a thread       B[z][y'][x']
                   z  a line a thread       added to the fine nodes, four at a time: their values are under way before the first sum is made
    restriction    the same back: z-lines from the fine nodes, y-lines, entries in x added to the coarse nodes

  Lanes follow x' in y and z.  Floor, a fine node, halved cells, double: 17 B (fine nodes are read and written), 4 ps; the restriction 9 B,
  2 ps.
  Products 1.75 n, each with an entry of P from shared memory: 2 ps at n = 4.

  Generic kernel: one team of threads a coarse cell.
*/
#include "dg/dg.cuh"
#include "base/lines.cuh"

namespace patchfd
{

template <typename T>
struct DGTransferData {
  int     nf[3], nc[3], first[3], count[3]; /* nodes of a coarse cell, the coarse cells to visit */
  Layout  cl, fl;
  Range   coarse, fine;
  T      *P[3]; /* [class][nf][nc] */
  int    *cls[3];
  Team<T> team;
  size_t  cells;
  int     across, X; /* fast: cells of a block, fine nodes of a row */
};

template <typename T>
struct DGTransferPlan : Plan {
  DGTransferData<T> data;
  void (*prolong)(DGTransferData<T>, const T *, T *); /* fast kernels, or NULL */
  void (*restrict_)(DGTransferData<T>, const T *, T *);
  size_t         shared;
  PetscLogDouble flops;
  PlanMemory     memory;
};

/* ---- fast kernels ---- */

/* where things are in shared memory: P_0 of each cell as [coarse][fine], P_1, P_2, A and B */
struct DGTransferMemory {
  int x, y, z, A, B, end;

  template <typename T>
  __host__ __device__ DGTransferMemory(const DGTransferData<T> &d) : x(0)
  {
    y   = x + d.across * d.nf[0] * d.nc[0];
    z   = y + d.nf[1] * d.nc[1];
    A   = z + d.nf[2] * d.nc[2];
    B   = A + d.X * d.nc[1] * d.nc[2];
    end = B + d.X * d.nf[1] * d.nc[2];
  }
};

template <typename T>
__device__ __forceinline__ void DGLoadMatrices(const DGTransferData<T> &d, const DGTransferMemory &at, const int cell[3], T *sm)
{
  const int size = d.nf[0] * d.nc[0];

  for (int e = threadIdx.x; e < d.across * size; e += blockDim.x) {
    const int c = min(cell[0] + e / size, d.first[0] + d.count[0] - 1), j = e % size / d.nf[0], r = e % d.nf[0];

    sm[at.x + e] = d.P[0][(size_t)d.cls[0][c] * size + r * d.nc[0] + j];
  }
  for (int e = threadIdx.x; e < d.nf[1] * d.nc[1]; e += blockDim.x)
    sm[at.y + e] = d.P[1][(size_t)d.cls[1][cell[1]] * d.nf[1] * d.nc[1] + e];
  for (int e = threadIdx.x; e < d.nf[2] * d.nc[2]; e += blockDim.x)
    sm[at.z + e] = d.P[2][(size_t)d.cls[2][cell[2]] * d.nf[2] * d.nc[2] + e];
  __syncthreads();
}

/* entry r of P v */
template <typename T, int NC>
__device__ __forceinline__ T DGFineEntry(const T *P, int r, const T v[NC])
{
  T sum = 0;

#pragma unroll
  for (int j = 0; j < NC; j++) sum += P[r * NC + j] * v[j];
  return sum;
}

/* sum += P' v */
template <typename T, int NC>
__device__ __forceinline__ void DGAddEntry(const T *P, int r, T v, T sum[NC])
{
#pragma unroll
  for (int j = 0; j < NC; j++) sum[j] += P[r * NC + j] * v;
}

/* the z-line c, y of a block: where its nodes are, and how many of them exist */
template <typename T>
struct DGFineLine {
  ptrdiff_t at;
  int       z, lo, hi; /* nodes z + lo .. z + hi - 1 exist */

  __device__ __forceinline__ DGFineLine(const DGTransferData<T> &d, const int cell[3], int c, int y)
  {
    const int  i = cell[0] * d.nf[0] + c, j = cell[1] * d.nf[1] + y;
    const bool line = cell[0] + c / d.nf[0] < d.first[0] + d.count[0] && Inside(d.fine, 0, i) && Inside(d.fine, 1, j);

    z  = cell[2] * d.nf[2];
    at = d.fl.at(i, j, z);
    lo = max(0, d.fine.lo[2] - z);
    hi = line ? min(d.nf[2], d.fine.hi[2] - z) : 0;
  }
};

template <typename T, int NY, int NZ>
__launch_bounds__(256) static __global__ void DGProlongKernel(const __grid_constant__ DGTransferData<T> d, const T *coarse, T *fine)
{
  extern __shared__ double2 dg_shared[];
  const DGTransferMemory    at(d);
  T                        *sm = (T *)dg_shared, *A = sm + at.A, *B = sm + at.B;
  const int                 cell[3] = {d.first[0] + (int)blockIdx.x * d.across, d.first[1] + (int)blockIdx.y, d.first[2] + (int)blockIdx.z};

  DGLoadMatrices(d, at, cell, sm);
  for (int e = threadIdx.x; e < d.X * NY * NZ; e += blockDim.x) {
    const int p = e % d.X / d.nf[0], r = e % d.nf[0], i = (cell[0] + p) * d.nc[0], j = cell[1] * NY + e / d.X % NY,
              k = cell[2] * NZ + e / d.X / NY;
    T sum       = 0;

    for (int l = 0; l < d.nc[0]; l++) {
      if (cell[0] + p < d.first[0] + d.count[0] && d.coarse.contains(i + l, j, k))
        sum += sm[at.x + (p * d.nc[0] + l) * d.nf[0] + r] * coarse[d.cl.at(i + l, j, k)];
    }
    A[e] = sum;
  }
  __syncthreads();
  for (int l = threadIdx.x; l < d.X * NZ; l += blockDim.x) {
    const int c = l % d.X, z = l / d.X;
    T         v[NY];

#pragma unroll
    for (int j = 0; j < NY; j++) v[j] = A[(z * NY + j) * d.X + c];
    for (int r = 0; r < d.nf[1]; r++) B[(z * d.nf[1] + r) * d.X + c] = DGFineEntry<T, NY>(sm + at.y, r, v);
  }
  __syncthreads();
  for (int l = threadIdx.x; l < d.X * d.nf[1]; l += blockDim.x) {
    const int           c = l % d.X, y = l / d.X;
    const DGFineLine<T> line(d, cell, c, y);
    T                   v[NZ], old[4];

#pragma unroll
    for (int j = 0; j < NZ; j++) v[j] = B[(j * d.nf[1] + y) * d.X + c];
    for (int r = line.lo; r < line.hi; r += 4) {
#pragma unroll
      for (int q = 0; q < 4; q++) old[q] = r + q < line.hi ? fine[line.at + (r + q) * d.fl.plane] : T(0);
#pragma unroll
      for (int q = 0; q < 4; q++) {
        if (r + q < line.hi) fine[line.at + (r + q) * d.fl.plane] = old[q] + DGFineEntry<T, NZ>(sm + at.z, r + q, v);
      }
    }
  }
}

template <typename T, int NY, int NZ>
__launch_bounds__(256) static __global__ void DGRestrictKernel(const __grid_constant__ DGTransferData<T> d, const T *fine, T *coarse)
{
  extern __shared__ double2 dg_shared[];
  const DGTransferMemory    at(d);
  T                        *sm = (T *)dg_shared, *A = sm + at.A, *B = sm + at.B;
  const int                 cell[3] = {d.first[0] + (int)blockIdx.x * d.across, d.first[1] + (int)blockIdx.y, d.first[2] + (int)blockIdx.z};

  DGLoadMatrices(d, at, cell, sm);
  for (int l = threadIdx.x; l < d.X * d.nf[1]; l += blockDim.x) {
    const int           c = l % d.X, y = l / d.X;
    const DGFineLine<T> line(d, cell, c, y);
    T                   sum[NZ] = {}, v[4];

    for (int r = line.lo; r < line.hi; r += 4) {
#pragma unroll
      for (int q = 0; q < 4; q++) v[q] = r + q < line.hi ? fine[line.at + (r + q) * d.fl.plane] : T(0);
#pragma unroll
      for (int q = 0; q < 4; q++) {
        if (r + q < line.hi) DGAddEntry<T, NZ>(sm + at.z, r + q, v[q], sum);
      }
    }
#pragma unroll
    for (int j = 0; j < NZ; j++) B[(j * d.nf[1] + y) * d.X + c] = sum[j];
  }
  __syncthreads();
  for (int l = threadIdx.x; l < d.X * NZ; l += blockDim.x) {
    const int c = l % d.X, z = l / d.X;
    T         sum[NY] = {};

    for (int r = 0; r < d.nf[1]; r++) DGAddEntry<T, NY>(sm + at.y, r, B[(z * d.nf[1] + r) * d.X + c], sum);
#pragma unroll
    for (int j = 0; j < NY; j++) A[(z * NY + j) * d.X + c] = sum[j];
  }
  __syncthreads();
  for (int e = threadIdx.x; e < d.across * d.nc[0] * NY * NZ; e += blockDim.x) {
    const int c = e % (d.across * d.nc[0]), row = e / (d.across * d.nc[0]), p = c / d.nc[0], l = c % d.nc[0];
    const int i = cell[0] * d.nc[0] + c, j = cell[1] * NY + row % NY, k = cell[2] * NZ + row / NY;
    T         sum = 0;

    if (cell[0] + p >= d.first[0] + d.count[0] || !d.coarse.contains(i, j, k)) continue;
    for (int r = 0; r < d.nf[0]; r++) sum += sm[at.x + (p * d.nc[0] + l) * d.nf[0] + r] * A[row * d.X + p * d.nf[0] + r];
    coarse[d.cl.at(i, j, k)] += sum;
  }
}

/* ---- the generic kernel ---- */

template <typename T, bool RESTRICT>
static __global__ void DGTransferKernel(const __grid_constant__ DGTransferData<T> p, const T *__restrict__ from, T *__restrict__ to)
{
  T *in = TeamMemory<T>(p.team.global, p.team.size), *out = in + p.team.size / 2;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < p.cells; base += (size_t)gridDim.x * blockDim.y) {
    const size_t item    = base + threadIdx.y;
    const bool   active  = item < p.cells;
    const int    cell[3] = {p.first[0] + (int)(item % p.count[0]), p.first[1] + (int)(item / p.count[0] % p.count[1]),
                            p.first[2] + (int)(item / p.count[0] / p.count[1])};
    int          first[3], n[3];

    for (int d = 0; d < 3; d++) {
      n[d]     = RESTRICT ? p.nf[d] : p.nc[d];
      first[d] = cell[d] * n[d];
    }
    if (active) Gather(first, n, RESTRICT ? p.fine : p.coarse, RESTRICT ? p.fl : p.cl, from, in);
    for (int d = 0; d < 3; d++) {
      const int nr = RESTRICT ? p.nc[d] : p.nf[d];

      __syncthreads();
      if (active) {
        const T *m = p.P[d] + (size_t)p.cls[d][cell[d]] * p.nf[d] * p.nc[d];

        Contract(d, n, nr, RESTRICT ? Matrix<T>{m, 1, p.nc[d]} : Matrix<T>{m, p.nc[d], 1}, d == 1 ? out : in, d == 1 ? in : out, false);
      }
      n[d]     = nr;
      first[d] = cell[d] * nr;
    }
    __syncthreads();
    if (active) {
      const Range &range = RESTRICT ? p.coarse : p.fine;
      const Layout l     = RESTRICT ? p.cl : p.fl;

      for (int e = threadIdx.x; e < n[0] * n[1] * n[2]; e += blockDim.x) {
        const int i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];

        if (range.contains(i, j, k)) to[l.at(i, j, k)] += out[e];
      }
    }
    __syncthreads();
  }
}

/* ---- plans ---- */

/* the kernels for NC coarse nodes of a cell, if that is what there is */
template <typename T, int NC>
static PetscErrorCode DGChooseTransfer(DGTransferPlan<T> *p)
{
  const DGTransferData<T> &d = p->data;

  PetscFunctionBegin;
  if constexpr (NC > 1) {
    if (d.nc[1] != NC) PetscCall((DGChooseTransfer<T, NC - 1>(p)));
    else if (d.nc[2] == NC || (d.nc[2] == 1 && d.nf[2] == 1)) {
      p->prolong   = d.nc[2] == 1 ? DGProlongKernel<T, NC, 1> : DGProlongKernel<T, NC, NC>;
      p->restrict_ = d.nc[2] == 1 ? DGRestrictKernel<T, NC, 1> : DGRestrictKernel<T, NC, NC>;
      PetscCall(AllowShared(p->prolong, p->shared));
      PetscCall(AllowShared(p->restrict_, p->shared));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode DGTransfer<T>::create(const PatchFDTransferDesc *desc, void **plan)
{
  DGTransferPlan<T> *p;
  DGTransferData<T> *t;
  int                size = 1;
  size_t             limit;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  p         = new DGTransferPlan<T>();
  *plan     = p;
  t         = &p->data;
  t->cl     = Layout(desc->cbox);
  t->fl     = Layout(desc->fbox);
  t->coarse = Range(desc->coarse);
  t->fine   = Range(desc->fine);
  t->cells  = t->fine.empty() ? 0 : 1;
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    PetscCheck((e->cstride == e->nc && e->fstride == e->nf) || e->nf == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Cells of %" PetscInt_FMT " nodes share nodes", e->nc);
    t->nf[d]    = (int)e->nf;
    t->nc[d]    = (int)e->nc;
    t->first[d] = (int)desc->cells[d][0];
    t->count[d] = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
    t->cells *= (size_t)t->count[d];
    size *= PetscMax(t->nf[d], t->nc[d]);
  }
  if (!t->cells) PetscFunctionReturn(PETSC_SUCCESS);
  p->flops = 2.0 *
             (t->nf[0] * t->nc[0] * t->nc[1] * t->nc[2] + t->nf[0] * t->nf[1] * t->nc[1] * t->nc[2] +
              t->nf[0] * t->nf[1] * t->nf[2] * t->nc[2]) *
             (PetscLogDouble)t->cells;
  for (int d = 0; d < 3; d++) {
    PetscCall(p->memory.upload((size_t)(desc->dir[d]->nclass * desc->dir[d]->nf * desc->dir[d]->nc), desc->dir[d]->P, &t->P[d]));
    PetscCall(p->memory.upload((size_t)desc->dir[d]->ncells, desc->dir[d]->cls, &t->cls[d]));
  }
  for (t->across = PetscMax(1, 64 / t->nf[0]);; t->across--) { /* so many that a multiprocessor has four blocks */
    t->X      = t->across * t->nf[0];
    p->shared = (size_t)DGTransferMemory(*t).end * sizeof(T);
    if (t->across == 1 || p->shared <= 56 * 1024) break;
  }
  PetscCall(SharedLimit(&limit));
  if (p->shared <= limit && GridFits(t->count[1], t->count[2])) PetscCall((DGChooseTransfer<T, 9>(p)));
  if (p->prolong) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(t->team.create(size, 2 * (size_t)size, &p->memory));
  PetscCall(AllowShared(DGTransferKernel<T, true>, t->team.shared));
  PetscCall(AllowShared(DGTransferKernel<T, false>, t->team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, bool RESTRICT>
static PetscErrorCode DGTransferApply(void *plan, const void *from, void *to)
{
  DGTransferPlan<T> *p    = (DGTransferPlan<T> *)plan;
  const auto         fast = RESTRICT ? p->restrict_ : p->prolong;
  const auto        &t    = p->data;

  PetscFunctionBegin;
  if (!t.cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Launch(p->flops, [&](cudaStream_t stream) {
    if (fast)
      fast<<<dim3((t.count[0] + t.across - 1) / t.across, t.count[1], t.count[2]), 256, p->shared, stream>>>(t, (const T *)from, (T *)to);
    else DGTransferKernel<T, RESTRICT><<<t.team.grid(t.cells), t.team.block(), t.team.shared, stream>>>(t, (const T *)from, (T *)to);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode DGTransfer<T>::apply(void *plan, bool restriction, const void *from, void *to)
{
  return restriction ? DGTransferApply<T, true>(plan, from, to) : DGTransferApply<T, false>(plan, from, to);
}

template struct DGTransfer<double>;
template struct DGTransfer<float>;

} // namespace patchfd
