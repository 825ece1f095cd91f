/*
  Grid transfers (transfer.cuh): the choice of the kernel, and the generic one, a team of threads a coarse cell.

  A fine node that several coarse cells share belongs to the last of them, so that prolongation adds without conflicts; in the
  restriction neighbouring cells add to the same coarse nodes, with atomics.
*/
#include "base/lines.cuh"
#include "base/plan.cuh"
#include "base/products.cuh"
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
struct TransferPlan : Plan {
  TransferKernelData<T> cell = {};
  Owned<TransferFast>   fast;
  const char           *name  = NULL;
  bool                  line  = false; /* 1D, one point in the other directions */
  PetscLogDouble        flops = 0;
  PlanMemory            memory;
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
  PetscCall(cell.team.create(size, 2 * (size_t)size, &p->memory));
  PetscCall(AllowShared(TransferKernel<T, true>, cell.team.shared));
  PetscCall(AllowShared(TransferKernel<T, false>, cell.team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
const char *Transfer<T>::name(void *plan)
{
  return ((TransferPlan<T> *)plan)->name;
}

template <typename T, bool RESTRICT>
static PetscErrorCode TransferApply(void *plan, const void *from, void *to)
{
  TransferPlan<T> *p = (TransferPlan<T> *)plan;

  PetscFunctionBegin;
  if (!p->cell.cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Launch(p->flops, [&](cudaStream_t stream) {
    PetscFunctionBegin;
    if (p->fast) {
      if (RESTRICT) PetscCall(p->fast->restrict_(from, to, stream));
      else PetscCall(p->fast->prolong(from, to, stream));
    } else if (RESTRICT && p->line) {
      const int threads = 256, nodes = p->cell.count[0] * (p->cell.nc[0] - 1) + 1;

      RestrictLineKernel<T><<<(nodes + threads - 1) / threads, threads, 0, stream>>>(p->cell, (const T *)from, (T *)to);
    } else {
      TransferKernel<T, RESTRICT>
        <<<p->cell.team.grid(p->cell.cells), p->cell.team.block(), p->cell.team.shared, stream>>>(p->cell, (const T *)from, (T *)to);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Transfer<T>::apply(void *plan, bool restriction, const void *from, void *to)
{
  return restriction ? TransferApply<T, true>(plan, from, to) : TransferApply<T, false>(plan, from, to);
}

template struct Transfer<double>;
template struct Transfer<float>;

/* ---- of components of a velocity ---- */

template <typename T>
struct MixedTransferPlan : Plan {
  Products<T>              prolongation, restriction;
  Owned<MixedTransferFast> fast;
  PetscLogDouble           flops = 0;
};

/* a grid function on `from` becomes one on `to` */
static PatchFDField TransferField(const PatchFDBox &from, const PatchFDRange read, const PatchFDBox &to, const PatchFDRange write)
{
  PatchFDField f = {};

  f.xbox = from;
  f.ybox = to;
  for (int d = 0; d < 3; d++) {
    for (int e = 0; e < 2; e++) {
      f.read[d][e]  = read[d][e];
      f.write[d][e] = write[d][e];
    }
  }
  return f;
}

template <typename T>
bool MixedTransfer<T>::fast(const PatchFDTransferDesc *desc, PetscInt *k, int *shared)
{
  const PatchFDEmbedding *own = NULL; /* of a direction without shared nodes */

  *shared = -1;
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    if (e->nf == 1 && d == 2) continue;
    if (e->ratio != 2 || e->nclass != 1) return false;
    if (e->nc > e->cstride) {
      if (*shared >= 0) return false;
      *shared = d;
    } else if (!own) own = e;
    else if (e->nf != own->nf || e->nc != own->nc || !std::equal(e->P, e->P + e->nf * e->nc, own->P)) return false;
  }
  *k = own ? own->nc - 1 : 0;
  if (*k < 1 || *k > mixed_fast_degrees || own->nf != 2 * own->nc) return false;
  return *shared < 0 || (desc->dir[*shared]->nc == *k + 2 && desc->dir[*shared]->nf == 2 * *k + 3);
}

template <typename T>
PetscErrorCode MixedTransfer<T>::create(const PatchFDTransferDesc *desc, void **plan)
{
  MixedTransferPlan<T> *p  = new MixedTransferPlan<T>;
  const PatchFDField    up = TransferField(desc->cbox, desc->coarse, desc->fbox, desc->fine),
                     down  = TransferField(desc->fbox, desc->fine, desc->cbox, desc->coarse);
  ProductTerm    P = {0, 0, 1, {}}, transpose = {0, 0, 1, {}};
  PetscInt       k;
  int            shared;
  PetscLogDouble nf[3], nc[3];
  cudaStream_t   stream;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(Stream(&stream));
  p->flops = 2;
  for (int d = 0; d < 3; d++) {
    nf[d] = (PetscLogDouble)desc->dir[d]->nf;
    nc[d] = (PetscLogDouble)desc->dir[d]->nc;
    p->flops *= (PetscLogDouble)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
  }
  p->flops *= nf[0] * nc[0] * nc[1] * nc[2] + nf[0] * nf[1] * nc[1] * nc[2] + nf[0] * nf[1] * nf[2] * nc[2];
  if (fast(desc, &k, &shared)) {
    if (desc->dir[2]->nf == 1) PetscCall((MixedTransferFastCreate<T, 2>(desc, k, shared, &p->fast)));
    else PetscCall((MixedTransferFastCreate<T, 3>(desc, k, shared, &p->fast)));
  }
  if (p->fast) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    P.dir[d]         = OwnerLine::prolongation(desc->dir[d], desc->cells[d]);
    transpose.dir[d] = OwnerLine::restriction(desc->dir[d], desc->cells[d]);
  }
  PetscCall(p->prolongation.create(1, &up, {P}, desc->cells));
  PetscCall(p->restriction.create(1, &down, {transpose}, desc->cells));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode MixedTransfer<T>::apply(void *plan, bool restriction, const void *from, void *to)
{
  MixedTransferPlan<T> *p        = (MixedTransferPlan<T> *)plan;
  const Products<T>    &products = restriction ? p->restriction : p->prolongation;

  PetscFunctionBegin;
  PetscCall(Launch(p->flops, [&](cudaStream_t stream) {
    PetscFunctionBegin;
    if (!p->fast) PetscCall(products.add(1, (const T *)from, (T *)to, stream));
    else if (restriction) PetscCall(p->fast->restrict_(from, to, stream));
    else PetscCall(p->fast->prolong(from, to, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct MixedTransfer<double>;
template struct MixedTransfer<float>;

/*
  Transfers between degrees on a mesh.  A block takes a few cells: their nodes go to shared memory, are multiplied by the embedding (or its
  transpose) along one direction after another, a thread a line, and go out.  A fine node is of one cell, coarse nodes are summed by
  atomics.
*/

static constexpr int mesh_threads = 128;

struct MeshSizes {
  int from[3], to[3]; /* nodes of a cell in each direction */

  __host__ __device__ int nfrom() const { return from[0] * from[1] * from[2]; }
  __host__ __device__ int nto() const { return to[0] * to[1] * to[2]; }
  /* of the largest of the blocks in between */
  int largest() const
  {
    int n = 1;

    for (int d = 0; d < 3; d++) n *= from[d] > to[d] ? from[d] : to[d];
    return n;
  }
};

/* out = m in along direction d of blocks with n nodes, one block after another; m has nr rows */
template <typename T>
__device__ static void ContractLines(int cells, int d, const int n[3], int nr, const T *m, const T *in, T *out)
{
  const int inner = (d > 0 ? n[0] : 1) * (d > 1 ? n[1] : 1), nc = n[d], lines = cells * n[0] * n[1] * n[2] / nc;

  for (int line = threadIdx.x; line < lines; line += blockDim.x) {
    const int o = line / inner, i = line - o * inner;
    const T  *x = in + o * inner * nc + i;
    T        *y = out + o * inner * nr + i;

    for (int r = 0; r < nr; r++) {
      T sum = 0;

      for (int c = 0; c < nc; c++) sum += m[r * nc + c] * x[c * inner];
      y[r * inner] = sum;
    }
  }
  __syncthreads();
}

/* the cells of a block in shared memory; component `comp` of ncomp */
template <typename T>
__device__ static void LoadCells(int count, const int *node, int ncomp, int comp, const T *from, T *s)
{
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int at = node[i];

    s[i] = at < 0 ? T(0) : from[(ptrdiff_t)at * ncomp + comp];
  }
  __syncthreads();
}

/* unique: no other cell writes these nodes */
template <typename T>
__device__ static void AddCells(bool unique, int count, const int *node, int ncomp, int comp, const T *s, T *to)
{
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int at = node[i];

    if (at < 0) continue;
    if (unique) to[(ptrdiff_t)at * ncomp + comp] += s[i];
    else atomicAdd(&to[(ptrdiff_t)at * ncomp + comp], s[i]);
  }
  __syncthreads();
}

template <typename T>
__global__ static void __launch_bounds__(mesh_threads)
  MeshKernel(bool unique, int ncells, int cells, int ncomp, int size, MeshSizes n, const T *__restrict__ matrices,
             const int *__restrict__ nodefrom, const int *__restrict__ nodeto, const T *__restrict__ from, T *__restrict__ to)
{
  extern __shared__ __align__(16) unsigned char shared[];
  T                                            *m = (T *)shared, *a = m, *b;
  const int                                     first = blockIdx.x * cells, mine = min(cells, ncells - first);

  for (int d = 0; d < 3; d++) a += n.from[d] * n.to[d];
  b = a + cells * size;
  for (int i = threadIdx.x; i < a - m; i += blockDim.x) m[i] = matrices[i];
  for (int comp = 0; comp < ncomp; comp++) {
    int      now[3] = {n.from[0], n.from[1], n.from[2]};
    const T *M      = m;

    LoadCells(mine * n.nfrom(), nodefrom + (ptrdiff_t)first * n.nfrom(), ncomp, comp, from, a);
    for (int d = 0; d < 3; d++) {
      T *swap = a;

      ContractLines(mine, d, now, n.to[d], M, a, b);
      now[d] = n.to[d];
      M += n.from[d] * n.to[d];
      a = b;
      b = swap;
    }
    AddCells(unique, mine * n.nto(), nodeto + (ptrdiff_t)first * n.nto(), ncomp, comp, a, to);
  }
}

template <typename T>
struct MeshTransferPlan : Plan {
  PlanMemory     memory;
  int            ncells, ncomp, cells[2], size; /* cells a block: prolongation, restriction; numbers of the largest block of a cell */
  size_t         shared[2];
  MeshSizes      n[2];
  T             *matrices[2] = {};
  int           *node[2]     = {}; /* coarse, fine */
  PetscLogDouble flops;
};

template <typename T>
PetscErrorCode MeshTransfer<T>::create(const PatchFDTransferDesc *desc, void **plan)
{
  const PatchFDMeshTransfer *mesh = desc->mesh;
  MeshTransferPlan<T>       *p    = new MeshTransferPlan<T>;
  std::vector<PetscReal>     m[2];
  double                     flops = 2, nf[3], nc[3];
  size_t                     limit;
  cudaStream_t               stream;

  PetscFunctionBegin;
  *plan     = p;
  p->ncells = (int)mesh->ncells;
  p->ncomp  = (int)mesh->ncomp;
  PetscCall(Stream(&stream));
  PetscCall(SharedLimit(&limit));
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e = desc->dir[d];

    p->n[0].from[d] = p->n[1].to[d] = (int)(nc[d] = (double)e->nc);
    p->n[0].to[d] = p->n[1].from[d] = (int)(nf[d] = (double)e->nf);
    m[0].insert(m[0].end(), e->P, e->P + e->nf * e->nc);
    for (PetscInt j = 0; j < e->nc; j++)
      for (PetscInt i = 0; i < e->nf; i++) m[1].push_back(e->P[i * e->nc + j]);
  }
  p->size = p->n[0].largest();
  for (int r = 0; r < 2; r++) {
    const int lines = p->size / (p->n[0].to[0] > p->n[0].from[0] ? p->n[0].to[0] : p->n[0].from[0]);

    p->cells[r] = (mesh_threads + lines - 1) / lines;
    while (p->cells[r] > 1 && (m[r].size() + 2 * (size_t)p->cells[r] * p->size) * sizeof(T) > 48 * 1024) p->cells[r]--;
    p->shared[r] = (m[r].size() + 2 * (size_t)p->cells[r] * p->size) * sizeof(T);
    PetscCheck(p->shared[r] <= limit, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Transfers between the degrees %d and %d need %zu bytes of shared memory for a block of threads, the GPU has %zu",
               p->n[0].from[0] - 1, p->n[0].to[0] - 1, p->shared[r], limit);
    PetscCall(p->memory.upload(m[r].size(), m[r].data(), &p->matrices[r]));
    PetscCall(AllowShared(MeshKernel<T>, p->shared[r]));
  }
  PetscCall(p->memory.upload((size_t)mesh->ncells * p->n[0].nfrom(), mesh->coarse, &p->node[0]));
  PetscCall(p->memory.upload((size_t)mesh->ncells * p->n[0].nto(), mesh->fine, &p->node[1]));
  flops *= (double)mesh->ncells * (double)mesh->ncomp;
  p->flops = flops * (nf[0] * nc[0] * nc[1] * nc[2] + nf[0] * nf[1] * nc[1] * nc[2] + nf[0] * nf[1] * nf[2] * nc[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode MeshTransfer<T>::apply(void *plan, bool restriction, const void *from, void *to)
{
  MeshTransferPlan<T> *p = (MeshTransferPlan<T> *)plan;
  const int            r = restriction;

  PetscFunctionBegin;
  if (!p->ncells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Launch(p->flops, [&](cudaStream_t stream) {
    MeshKernel<T>
      <<<(p->ncells + p->cells[r] - 1) / p->cells[r], mesh_threads, p->shared[r], stream>>>(r == 0, p->ncells, p->cells[r], p->ncomp,
                                                                                            p->size, p->n[r], p->matrices[r], p->node[r],
                                                                                            p->node[1 - r], (const T *)from, (T *)to);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct MeshTransfer<double>;
template struct MeshTransfer<float>;

} // namespace patchfd
