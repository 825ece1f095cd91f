/*
  Transfers between degrees on a mesh.  A block takes a few cells: their nodes go to shared memory, are multiplied by the embedding (or its
  transpose) along one direction after another, a thread a line, and go out.  A fine node is of one cell, coarse nodes are summed by
  atomics.
*/
#include "transfer/mesh.cuh"
#include "base/plan.cuh"

namespace patchfd
{

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
struct MeshTransferPlan : PlanMemory {
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
    PetscCall(p->upload(m[r].size(), m[r].data(), &p->matrices[r]));
    PetscCall(AllowShared(MeshKernel<T>, p->shared[r]));
  }
  PetscCall(p->upload((size_t)mesh->ncells * p->n[0].nfrom(), mesh->coarse, &p->node[0]));
  PetscCall(p->upload((size_t)mesh->ncells * p->n[0].nto(), mesh->fine, &p->node[1]));
  flops *= (double)mesh->ncells * (double)mesh->ncomp;
  p->flops = flops * (nf[0] * nc[0] * nc[1] * nc[2] + nf[0] * nf[1] * nc[1] * nc[2] + nf[0] * nf[1] * nf[2] * nc[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode MeshTransfer<T>::destroy(void **plan)
{
  return DestroyPlan<MeshTransferPlan<T>>(plan);
}

template <typename T>
PetscErrorCode MeshTransfer<T>::apply(void *plan, bool restriction, const void *from, void *to)
{
  MeshTransferPlan<T> *p = (MeshTransferPlan<T> *)plan;
  const int            r = restriction;
  cudaStream_t         stream;

  PetscFunctionBegin;
  if (!p->ncells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  MeshKernel<T>
    <<<(p->ncells + p->cells[r] - 1) / p->cells[r], mesh_threads, p->shared[r], stream>>>(r == 0, p->ncells, p->cells[r], p->ncomp, p->size,
                                                                                          p->n[r], p->matrices[r], p->node[r],
                                                                                          p->node[1 - r], (const T *)from, (T *)to);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct MeshTransfer<double>;
template struct MeshTransfer<float>;

} // namespace patchfd
