/* Vertex patches of discontinuous fields: see dg.cuh for what is where, and smoother_fast.cu for the formulas */
#include "dg/dg.cuh"
#include "base/lines.cuh"

namespace patchfd
{

/* one class of patches of a direction, in device memory */
template <typename T>
struct DGClass {
  const T *S, *T_, *M, *lambda, *value[2], *slope[2];
  int      n;
};

template <typename T>
struct DGDirectionData {
  const DGClass<T> *cls;
  const int        *first, *number; /* first node and class of each patch */
  const T          *derivative;     /* of the basis at the lower end of a cell */
  int               ext;            /* nodes of a cell; 0 where the direction does not exist */
};

template <typename T>
struct DGSmootherData {
  DGDirectionData<T> d[3];
  Layout             l;
  Range              read;
  Team<T>            team;
  int                size, area; /* of the largest patch and its largest face */
};

template <typename T>
struct DGSmootherPlan : Plan {
  DGSmootherData<T>     data;
  Owned<DGSmootherFast> fast;
  int                   phases;
  PetscInt              n[3];  /* largest patch */
  PetscInt              nodes; /* of a cell, if the fast kernel exists */
  T                    *numbers[3];
  DGClass<T>           *cls[3];
  int                  *ints[3];
  PlanMemory            memory;
};

/* ---- the generic kernel: one team a patch ---- */

template <typename T>
struct DGPatch {
  const DGClass<T> *cls[3];
  int               first[3], n[3], size;
};

/* block = to modes (matrix[mode][node]) or to nodes along all directions, from `in` to `out`; both are overwritten */
template <typename T>
static __device__ inline void DGTransform(bool active, const DGPatch<T> &p, bool tonodes, bool residual, T *in, T *out)
{
  for (int d = 0; d < 3; d++) {
    const int n = p.n[d];

    const Matrix<T> S = {p.cls[d]->S, n, 1}, St = {p.cls[d]->S, 1, n}, M = {p.cls[d]->T_, n, 1}, Mt = {p.cls[d]->T_, 1, n};

    if (active) Contract(d, p.n, n, residual ? (tonodes ? Mt : M) : (tonodes ? S : St), d == 1 ? out : in, d == 1 ? in : out, false);
    __syncthreads();
  }
}

/* V and G of face e of direction f: value and derivative of each of the neighbour's lines at the vertex; pa, pb are the directions in the
   face */
template <typename T>
static __device__ inline void DGGather(const DGSmootherData<T> &s, const DGPatch<T> &p, int f, int pa, int pb, int e, const T *x, T *V,
                                       T *G)
{
  for (int q = threadIdx.x; q < p.n[pa] * p.n[pb]; q += blockDim.x) {
    int at[3];
    T   sum = 0;

    at[pa] = p.first[pa] + q % p.n[pa];
    at[pb] = p.first[pb] + q / p.n[pa];
    for (int i = 0; i < s.d[f].ext; i++) {
      at[f]     = p.first[f] + (e ? p.n[f] + i : -1 - i);
      const T v = s.read.contains(at[0], at[1], at[2]) ? x[s.l.at(at[0], at[1], at[2])] : T(0);

      if (i == 0) V[q] = v;
      sum += s.d[f].derivative[i] * v;
    }
    G[q] = e ? sum : -sum;
  }
}

/* block -= A_IB x_B; `faces` has room for four faces */
template <typename T>
static __device__ inline void DGSubtractFaces(bool active, const DGSmootherData<T> &s, const DGPatch<T> &p, const T *x, T *faces, T *block)
{
  for (int f = 0; f < 3; f++) {
    const int pa = f == 0 ? 1 : 0, pb = f == 2 ? 1 : 2, na = p.n[pa], nb = p.n[pb], n[3] = {na, nb, 1};
    T        *V = faces, *G = V + s.area, *MV = G + s.area, *MG = MV + s.area;

    if (!s.d[f].ext) continue; /* the same for all patches */
    for (int e = 0; e < 2; e++) {
      if (active) DGGather(s, p, f, pa, pb, e, x, V, G);
      __syncthreads();
      if (active) {
        Contract(0, n, na, Matrix<T>{p.cls[pa]->M, na, 1}, V, MV, false);
        Contract(0, n, na, Matrix<T>{p.cls[pa]->M, na, 1}, G, MG, false);
      }
      __syncthreads();
      if (active) {
        Contract(1, n, nb, Matrix<T>{p.cls[pb]->M, nb, 1}, MV, V, false);
        Contract(1, n, nb, Matrix<T>{p.cls[pb]->M, nb, 1}, MG, G, false);
      }
      __syncthreads();
      if (active) {
        for (int q = threadIdx.x; q < p.size; q += blockDim.x) {
          const int node[3] = {q % p.n[0], q / p.n[0] % p.n[1], q / p.n[0] / p.n[1]}, at = node[pa] + na * node[pb];

          block[q] -= p.cls[f]->value[e][node[f]] * V[at] + p.cls[f]->slope[e][node[f]] * G[at];
        }
      }
      __syncthreads();
    }
  }
}

/* block = v at the patch's nodes, zero outside what may be read */
template <typename T>
static __device__ inline void DGFetch(bool active, const DGSmootherData<T> &s, const DGPatch<T> &p, bool zero, const T *v, T *block)
{
  if (active) {
    if (!zero) Gather(p.first, p.n, s.read, s.l, v, block);
    else
      for (int q = threadIdx.x; q < p.size; q += blockDim.x) block[q] = 0;
  }
  __syncthreads();
}

template <typename T>
static __global__ void DGGenericKernel(const __grid_constant__ DGSmootherData<T> s, const __grid_constant__ ColorPatches g,
                                       PatchFDPatchOp op, T omega, T beta, bool zero, T *x, const T *b, T *r)
{
  T         *A = TeamMemory<T>(s.team.global, s.team.size), *B = A + s.size, *faces = B + s.size;
  const bool residual = op == PATCHFD_OP_RESIDUAL;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < g.items(); base += (size_t)gridDim.x * blockDim.y) {
    int        number[3];
    const bool active = g.find(base + threadIdx.y, number);
    DGPatch<T> p;

    p.size = 1;
    for (int d = 0; d < 3; d++) {
      p.cls[d]   = &s.d[d].cls[s.d[d].number[number[d]]];
      p.first[d] = s.d[d].first[number[d]];
      p.n[d]     = p.cls[d]->n;
      p.size *= p.n[d];
    }
    DGFetch(active, s, p, residual && zero, residual ? x : (op == PATCHFD_OP_SOLVE ? r : b), A);
    if (op == PATCHFD_OP_BOUNDARY && !zero) DGSubtractFaces(active, s, p, x, faces, A);
    DGTransform(active, p, false, residual, A, B);
    if (active) {
      for (int i = threadIdx.x; i < p.size; i += blockDim.x) {
        const T D = p.cls[0]->lambda[i % p.n[0]] + p.cls[1]->lambda[i / p.n[0] % p.n[1]] + p.cls[2]->lambda[i / p.n[0] / p.n[1]];

        B[i] = residual ? D * B[i] : (D == 0 ? T(0) : B[i] / D);
      }
    }
    __syncthreads();
    DGTransform(active, p, true, residual, B, A);
    if (residual) {
      DGFetch(active, s, p, false, b, B);
      if (!zero) DGSubtractFaces(active, s, p, x, faces, B);
    }
    if (active) {
      for (int i = threadIdx.x; i < p.size; i += blockDim.x) {
        const int       at[3] = {p.first[0] + i % p.n[0], p.first[1] + i / p.n[0] % p.n[1], p.first[2] + i / p.n[0] / p.n[1]};
        const ptrdiff_t node  = s.l.at(at[0], at[1], at[2]);

        if (!s.read.contains(at[0], at[1], at[2])) continue;
        if (residual) r[node] = B[i] - A[i];
        else x[node] = (beta == 0 ? T(0) : beta * x[node]) + omega * A[i];
      }
    }
    __syncthreads();
  }
}

/* ---- plans ---- */

/* the matrices of all classes of a direction, one after another, and where they are */
template <typename T>
static PetscErrorCode DGUploadDirection(const PatchFDPatches *pd, bool exists, DGSmootherPlan<T> *p, int d)
{
  std::vector<PetscReal>  all(exists ? pd->eigen[0].derivative[1] : NULL, exists ? pd->eigen[0].derivative[1] + pd->eigen[0].ext : NULL);
  std::vector<DGClass<T>> cls((size_t)pd->nclass);
  std::vector<PetscInt>   ints(pd->first, pd->first + pd->npatch);
  size_t                  at = all.size();

  PetscFunctionBegin;
  for (PetscInt i = 0; i < pd->nclass; i++) {
    const PatchFDEigen *e = &pd->eigen[i];
    const PetscInt      n = e->n, ext = e->ext;

    all.insert(all.end(), e->S, e->S + n * n);
    all.insert(all.end(), e->T, e->T + n * n);
    for (PetscInt j = 0; j < n; j++) all.insert(all.end(), e->MI + j * (n + 2 * ext) + ext, e->MI + j * (n + 2 * ext) + ext + n);
    all.insert(all.end(), e->lambda, e->lambda + n);
    for (int end = 0; end < 2 && exists; end++) {
      all.insert(all.end(), e->value[end], e->value[end] + n);
      all.insert(all.end(), e->slope[end], e->slope[end] + n);
    }
  }
  PetscCall(p->memory.upload(all.size(), all.data(), &p->numbers[d]));
  for (PetscInt i = 0; i < pd->nclass; i++) {
    const PetscInt n    = pd->eigen[i].n;
    auto           next = [&](PetscInt size) {
      const T *a = p->numbers[d] + at;

      at += (size_t)size;
      return a;
    };

    cls[i].n      = (int)n;
    cls[i].S      = next(n * n);
    cls[i].T_     = next(n * n);
    cls[i].M      = next(n * n);
    cls[i].lambda = next(n);
    for (int end = 0; end < 2 && exists; end++) {
      cls[i].value[end] = next(n);
      cls[i].slope[end] = next(n);
    }
  }
  PetscCall(p->memory.upload(cls.size(), cls.data(), &p->cls[d]));
  ints.insert(ints.end(), pd->cls, pd->cls + pd->npatch);
  PetscCall(p->memory.upload(ints.size(), ints.data(), &p->ints[d]));
  p->data.d[d].cls        = p->cls[d];
  p->data.d[d].first      = p->ints[d];
  p->data.d[d].number     = p->ints[d] + pd->npatch;
  p->data.d[d].derivative = p->numbers[d];
  p->data.d[d].ext        = exists ? (int)pd->eigen[0].ext : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* two cells a patch and the same degree in all three directions, and ranges that end between cells: then K, else 0 */
static int DGFastDegree(const PatchFDLocalDesc *desc)
{
  const PetscInt n = desc->field->dir[0]->eigen[0].ext;

  for (int d = 0; d < 3; d++) {
    if (!DGDirection(desc, d) || desc->field->dir[d]->eigen[0].ext != n || desc->field->read[d][0] % n || desc->field->read[d][1] % n)
      return 0;
    for (PetscInt c = 0; c < desc->field->dir[d]->nclass; c++)
      if (desc->field->dir[d]->eigen[c].n != 2 * n) return 0;
  }
  return (int)n - 1;
}

template <typename T>
PetscErrorCode DGSmoother<T>::create(const PatchFDLocalDesc *desc, void **plan)
{
  DGSmootherPlan<T> *p;
  DGSmootherData<T> *s;
  const int          K = DGFastDegree(desc);
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  p         = new DGSmootherPlan<T>();
  *plan     = p;
  s         = &p->data;
  s->l      = Layout(desc->field->box);
  s->read   = Range(desc->field->read);
  p->phases = (int)desc->nphase;
  p->nodes  = K + 1;
  s->size   = 1;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = desc->field->dir[d];

    p->n[d] = 1;
    for (PetscInt i = 0; i < pd->nclass; i++) p->n[d] = PetscMax(p->n[d], pd->eigen[i].n);
    for (PetscInt i = 0; i < pd->npatch; i++)
      PetscCheck(pd->cell[i] == i, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Patch %" PetscInt_FMT " begins at cell %" PetscInt_FMT, i,
                 pd->cell[i]);
    s->size *= (int)p->n[d];
    PetscCall(DGUploadDirection(pd, DGDirection(desc, d), p, d));
  }
  for (int d = 0; d < 3; d++) s->area = PetscMax(s->area, s->size / (int)p->n[d]);
  PetscCall(s->team.create(s->size, 2 * (size_t)s->size + 4 * (size_t)s->area, &p->memory));
  PetscCall(AllowShared(DGGenericKernel<T>, s->team.shared));
  if (K > 0 && K <= dg_fast_degrees && GridFits((desc->field->dir[1]->npatch + 1) / 2, (desc->field->dir[2]->npatch + 1) / 2))
    PetscCall(DGSmootherFastCreate<T>(K, desc, &p->fast));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of one patch, by the generic kernel */
template <typename T>
static PetscLogDouble DGPatchFlops(const DGSmootherPlan<T> *p, PatchFDPatchOp op, bool zero)
{
  PetscLogDouble f = 0, v = (PetscLogDouble)p->data.size;

  for (int d = 0; d < 3; d++) {
    f += 4 * v * p->n[d];
    if (op == PATCHFD_OP_SOLVE || zero || !p->data.d[d].ext) continue;
    f += 4 * v / p->n[d] * p->data.d[d].ext + 8 * v;
    for (int e = 0; e < 3; e++)
      if (e != d) f += 8 * v / p->n[d] * p->n[e];
  }
  return f + 3 * v;
}

/* are all nodes of the patches of this range in what may be read? */
template <typename T>
static bool DGWhole(const DGSmootherPlan<T> *p, const PatchFDRange patches)
{
  for (int d = 0; d < 3; d++)
    if (patches[d][0] * p->nodes < p->data.read.lo[d] || (patches[d][1] + 1) * p->nodes > p->data.read.hi[d]) return false;
  return true;
}

/* FUSED is BOUNDARY: A_II^{-1} (b_I - A_IB x_B - A_II x_I) is what that computes, less x_I */
template <typename T>
PetscErrorCode DGSmoother<T>::apply(void *plan, PatchFDPatchOp op, PetscInt ncolors, const PatchFDColor colors[],
                                    const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  DGSmootherPlan<T> *p    = (DGSmootherPlan<T> *)plan;
  const bool         fast = p->fast && DGWhole(p, patches);
  cudaStream_t       stream;

  PetscFunctionBegin;
  if (op == PATCHFD_OP_FUSED) op = PATCHFD_OP_BOUNDARY;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt i = 0; i < ncolors; i++) {
    const bool         first = zero && i == 0;
    const PetscReal    beta  = first ? 0 : (op == PATCHFD_OP_SOLVE ? 1 : 1 - omega);
    const ColorPatches g(colors[i], p->phases, patches, p->data.l, p->data.read);

    if (g.empty()) continue;
    if (!fast) {
      const Team<T> &team = p->data.team;

      DGGenericKernel<T><<<team.grid(g.items()), team.block(), team.shared, stream>>>(p->data, g, op, (T)omega, (T)beta, first, (T *)x,
                                                                                      (const T *)b, (T *)r);
      PetscCallCUDA(cudaGetLastError());
    } else if (op == PATCHFD_OP_SOLVE || (op == PATCHFD_OP_BOUNDARY && first))
      PetscCall(p->fast->apply(g, PATCHFD_OP_SOLVE, omega, beta, first, x, op == PATCHFD_OP_SOLVE ? r : b, r, stream));
    else PetscCall(p->fast->apply(g, op, omega, beta, first, x, b, r, stream));
    PetscCall(PetscLogGpuFlops(
      g.patches() * (fast ? p->fast->flops(op == PATCHFD_OP_BOUNDARY && first ? PATCHFD_OP_SOLVE : op) : DGPatchFlops(p, op, first))));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct DGSmoother<double>;
template struct DGSmoother<float>;

} // namespace patchfd
