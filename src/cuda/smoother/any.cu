/* Any patches, colour by colour: see smoother.cuh for what is where */
#include "smoother/smoother.cuh"

namespace patchfd
{

/* the numbers of the shell's patch `item` in the directions */
static __device__ __forceinline__ void FindPatch(const PatchShell &s, size_t item, int at[3])
{
  s.find<unsigned>(item, at);
  for (int d = 0; d < 3; d++) at[d] = s.start[d] + 2 * at[d];
}

/* ---- patches of one unknown ---- */

template <typename T>
static __global__ void OnesKernel(const __grid_constant__ PatchData<T> s, const __grid_constant__ PatchShell shell, PatchFDPatchOp op,
                                  T omega, bool zero, T *x, const T *b, T *r)
{
  const size_t item = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  int          at[3], node[3];
  T            M[3][3], A[3][3], value, scale = 1, D = 0;

  if (item >= shell.size()) return;
  FindPatch(shell, item, at);
#pragma unroll
  for (int d = 0; d < 3; d++) {
    const PatchClass<T> &c = s.d[d].cls[s.d[d].number[at[d]]];

    node[d] = s.d[d].first[at[d]];
#pragma unroll
    for (int i = 0; i < 3; i++) {
      M[d][i] = i == 1 || s.d[d].ext ? c.MI[i] : T(0);
      A[d][i] = i == 1 || s.d[d].ext ? c.AI[i] : T(0);
    }
    scale *= c.S[0] * c.S[0];
    D += c.lambda[0];
  }
  if (!s.read.contains(node[0], node[1], node[2])) return;
  const ptrdiff_t center = s.l.at(node[0], node[1], node[2]);

  scale              = D == 0 ? T(0) : scale / D;
  value              = op == PATCHFD_OP_SOLVE ? r[center] : b[center];
  const auto product = [&](const auto &layout) {
    T sum = 0;

#pragma unroll
    for (int k = 0; k < 3; k++) {
#pragma unroll
      for (int j = 0; j < 3; j++) {
        const T    mm = M[1][j] * M[2][k], am = A[1][j] * M[2][k] + M[1][j] * A[2][k];
        const bool inside = node[1] + j - 1 >= s.read.lo[1] && node[1] + j - 1 < s.read.hi[1] && node[2] + k - 1 >= s.read.lo[2] &&
                            node[2] + k - 1 < s.read.hi[2];

#pragma unroll
        for (int i = 0; i < 3; i++) {
          if (op == PATCHFD_OP_BOUNDARY && i == 1 && j == 1 && k == 1) continue; /* not its own value */
          if (inside && node[0] + i - 1 >= s.read.lo[0] && node[0] + i - 1 < s.read.hi[0])
            sum += (A[0][i] * mm + M[0][i] * am) * x[layout.at(node[0] + i - 1, node[1] + j - 1, node[2] + k - 1)];
        }
      }
    }
    return sum;
  };

  if (op != PATCHFD_OP_SOLVE && !zero) value -= s.l.rings.any() ? product(s.l) : product((const Layout &)s.l);
  if (op == PATCHFD_OP_RESIDUAL) r[center] = value;
  else if (op == PATCHFD_OP_BOUNDARY) x[center] = (omega == 1 ? T(0) : (1 - omega) * x[center]) + omega * scale * value;
  else x[center] += omega * scale * value;
}

/* ---- any patch ---- */

/* of a block that has a multiprocessor for itself, or a patch in global memory */
static constexpr int any_threads = 1024;

template <typename T>
struct Patch {
  const PatchClass<T> *cls[3];
  int                  first[3], n[3], c[3]; /* first unknown; unknowns and nodes of the closure */

  __device__ __forceinline__ Patch(const PatchData<T> &s, const int at[3])
  {
    for (int d = 0; d < 3; d++) {
      cls[d]   = &s.d[d].cls[s.d[d].number[at[d]]];
      first[d] = s.d[d].first[at[d]];
      n[d]     = cls[d]->n;
      c[d]     = n[d] + 2 * s.d[d].ext;
    }
  }
};

/*
  The steps of PatchKernel.  A block's teams work on a patch each, and all of them meet at each barrier: those that have no patch (not
  `active`) take part in nothing else.  What a step reads has been written before the barrier at the end of the step before.
*/

/* B = A x: p, q = M0, A0 in B, C; s = M1 q + A1 p in A, t = M1 p in C; M2 s + A2 t in B */
template <typename T>
static __device__ __forceinline__ void PatchProduct(const PatchData<T> &s, const Patch<T> &p, bool active, const T *x, T *A, T *B, T *C)
{
  const int low[3] = {p.first[0] - s.d[0].ext, p.first[1] - s.d[1].ext, p.first[2] - s.d[2].ext}, n1[3] = {p.n[0], p.c[1], p.c[2]},
            n2[3] = {p.n[0], p.n[1], p.c[2]};
  Matrix<T> M[3], K[3];

  for (int d = 0; d < 3; d++) { /* without the columns of neighbours that do not exist */
    M[d] = {p.cls[d]->MI + 1 - s.d[d].ext, p.n[d] + 2, 1};
    K[d] = {p.cls[d]->AI + 1 - s.d[d].ext, p.n[d] + 2, 1};
  }
  if (active) Gather(low, p.c, s.read, s.l, x, A);
  __syncthreads();
  if (active) {
    Contract(0, p.c, p.n[0], M[0], A, B, false);
    Contract(0, p.c, p.n[0], K[0], A, C, false);
  }
  __syncthreads();
  if (active) {
    Contract(1, n1, p.n[1], M[1], C, A, false);
    Contract(1, n1, p.n[1], K[1], B, A, true); /* each thread adds to what it wrote itself */
  }
  __syncthreads();
  if (active) Contract(1, n1, p.n[1], M[1], B, C, false);
  __syncthreads();
  if (active) {
    Contract(2, n2, p.n[2], M[2], A, B, false);
    Contract(2, n2, p.n[2], K[2], C, B, true);
  }
  __syncthreads();
}

/* A = what the patch is solved for: r, or b, without the product in B if `product`; r = A if `residual` */
template <typename T>
static __device__ __forceinline__ void PatchRightSide(const PatchData<T> &s, const Patch<T> &p, int size, bool product, bool residual,
                                                      const T *from, const T *B, T *A, T *r)
{
  for (int e = threadIdx.x; e < size; e += blockDim.x) {
    const int  i = p.first[0] + e % p.n[0], j = p.first[1] + e / p.n[0] % p.n[1], k = p.first[2] + e / p.n[0] / p.n[1];
    const bool inside = s.read.contains(i, j, k);
    T          value  = inside ? from[s.l.at(i, j, k)] : T(0);

    if (product) value -= B[e];
    A[e] = value;
    if (residual && inside) r[s.l.at(i, j, k)] = value;
  }
}

/* B = (S' S' S') A or (S S S) A, with A in between */
template <typename T>
static __device__ __forceinline__ void PatchTransform(const Patch<T> &p, bool active, bool modes, T *A, T *B)
{
  for (int d = 0; d < 3; d++) {
    if (active)
      Contract(d, p.n, p.n[d], modes ? Matrix<T>{p.cls[d]->S, 1, p.n[d]} : Matrix<T>{p.cls[d]->S, p.n[d], 1}, d == 1 ? B : A,
               d == 1 ? A : B, false);
    __syncthreads();
  }
}

/*
  The face at the end e of direction f: B -= alpha (x) Y, A += mu (x) W.  Y is the face in modes of both its directions with its edges, W
  without edges in the directions before f, which have been left when mu is subtracted.
*/
template <typename T>
static __device__ __forceinline__ void PatchFace(const PatchData<T> &s, const Patch<T> &p, bool active, int size, int f, int e, const T *x,
                                                 T *A, T *B, T *C)
{
  const int a = f == 0 ? 1 : 0, b = f == 2 ? 1 : 2; /* the directions in the face, in order */
  const int na = p.n[a], ca = p.c[a], nb = p.n[b], cb = p.c[b];
  T        *F = C, *inner = F + ca * cb, *rimmed = inner + na * cb, *Y = rimmed + na * cb, *W = Y + na * nb;
  const int nodes[3] = {na, cb, 1}, modes[3] = {na, nb, 1};
  int       low[3], n[3];

  for (int d = 0; d < 3; d++) {
    low[d] = d == f ? p.first[d] + (e ? p.n[d] : -1) : p.first[d] - s.d[d].ext;
    n[d]   = d == f ? 1 : p.c[d];
  }
  __syncthreads();
  if (active) Gather(low, n, s.read, s.l, x, F);
  __syncthreads();
  if (active) {
    Contract(0, nodes, na, Matrix<T>{p.cls[a]->T_, na, 1}, F, inner, false, s.d[a].ext, ca);
    for (int q = threadIdx.x; q < na * cb; q += blockDim.x) {
      const int m = q % na, o = q / na;

      rimmed[q] = inner[q] + (s.d[a].ext ? p.cls[a]->mu[0][m] * F[o * ca] + p.cls[a]->mu[1][m] * F[o * ca + ca - 1] : T(0));
    }
  }
  __syncthreads();
  if (active) {
    Contract(1, modes, nb, Matrix<T>{p.cls[b]->T_, nb, 1}, rimmed, Y, false, s.d[b].ext, cb);
    Contract(1, modes, nb, Matrix<T>{p.cls[b]->T_, nb, 1}, inner, W, false, s.d[b].ext, cb);
    for (int q = threadIdx.x; q < na * nb; q += blockDim.x) {
      const int i = q % na, m = q / na;
      const T   below = s.d[b].ext ? p.cls[b]->mu[0][m] : T(0), above = s.d[b].ext ? p.cls[b]->mu[1][m] : T(0);

      Y[q] += below * rimmed[i] + above * rimmed[(cb - 1) * na + i];
      if (f == 0) W[q] = Y[q];
      else if (f == 1) W[q] += below * inner[i] + above * inner[(cb - 1) * na + i];
    }
  }
  __syncthreads();
  if (active) {
    for (int q = threadIdx.x; q < size; q += blockDim.x) {
      const int m[3] = {q % p.n[0], q / p.n[0] % p.n[1], q / p.n[0] / p.n[1]}, mf = m[f], at = m[a] + na * m[b];

      B[q] -= p.cls[f]->alpha[e][mf] * Y[at];
      A[q] += p.cls[f]->mu[e][mf] * W[at];
    }
  }
}

/* x = beta x + omega B */
template <typename T>
static __device__ __forceinline__ void PatchUpdate(const PatchData<T> &s, const Patch<T> &p, int size, T omega, T beta, const T *B, T *x)
{
  for (int e = threadIdx.x; e < size; e += blockDim.x) {
    const int i = p.first[0] + e % p.n[0], j = p.first[1] + e / p.n[0] % p.n[1], k = p.first[2] + e / p.n[0] / p.n[1];

    if (s.read.contains(i, j, k)) {
      T *xi = &x[s.l.at(i, j, k)];

      *xi = (beta == 0 ? T(0) : beta * *xi) + omega * B[e];
    }
  }
}

/*
  One team a patch.  Memory of a team: blocks A (closure), B and C (closure but for one direction).  The right-hand side is in A, its modes
  are in B; terms of faces that are not divided by D are collected in A; the result is in B.  FACES: the operation is BOUNDARY.
*/
template <typename T, bool FACES>
__launch_bounds__(any_threads) static __global__
  void PatchKernel(const __grid_constant__ PatchData<T> s, const __grid_constant__ PatchShell shell, PatchFDPatchOp op, T omega, bool zero,
                   T *x, const T *b, T *r)
{
  T         *A = TeamMemory<T>(s.team.global, s.team.size), *B = A + s.a, *C = B + s.b;
  const bool product = !FACES && op != PATCHFD_OP_SOLVE && !zero, faces = FACES && !zero;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < shell.size(); base += (size_t)gridDim.x * blockDim.y) {
    const size_t item   = base + threadIdx.y;
    const bool   active = item < shell.size();
    int          at[3];

    FindPatch(shell, active ? item : base, at);
    const Patch<T> p(s, at);
    const int      size = p.n[0] * p.n[1] * p.n[2];

    if (product) PatchProduct(s, p, active, x, A, B, C);
    if (active) PatchRightSide(s, p, size, product, !FACES && op == PATCHFD_OP_RESIDUAL, !FACES && op == PATCHFD_OP_SOLVE ? r : b, B, A, r);
    __syncthreads();
    if (!FACES && op == PATCHFD_OP_RESIDUAL) continue;
    PatchTransform(p, active, true, A, B);
    if (faces) {
      if (active)
        for (int e = threadIdx.x; e < size; e += blockDim.x) A[e] = 0;
#pragma unroll /* a known direction keeps the patch in registers; an unknown one, an index, moves it to local memory */
      for (int f = 0; f < 3; f++) {
        if (!s.d[f].ext) continue; /* the same for all patches */
        for (int e = 0; e < 2; e++) PatchFace(s, p, active, size, f, e, x, A, B, C);
      }
      __syncthreads();
    }
    if (active) {
      for (int e = threadIdx.x; e < size; e += blockDim.x) {
        const T D = p.cls[0]->lambda[e % p.n[0]] + p.cls[1]->lambda[e / p.n[0] % p.n[1]] + p.cls[2]->lambda[e / p.n[0] / p.n[1]];

        A[e] = (D == 0 ? T(0) : B[e] / D) - (faces ? A[e] : T(0));
      }
    }
    __syncthreads();
    PatchTransform(p, active, false, A, B);
    if (active) PatchUpdate(s, p, size, omega, FACES ? 1 - omega : T(1), B, x);
    __syncthreads();
  }
}

/* ---- plans ---- */

template <typename T>
PetscErrorCode AnyPatches<T>::upload(const PatchFDPatches *pd, int d)
{
  std::vector<PetscReal>     all;
  std::vector<PatchClass<T>> c((size_t)pd->nclass);
  std::vector<PetscInt>      places(pd->first, pd->first + pd->npatch);
  size_t                     at = 0;
  T                         *numbers;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < pd->nclass; i++) {
    const PatchFDEigen *e = &pd->eigen[i];
    const PetscInt      n = e->n;

    all.insert(all.end(), e->S, e->S + n * n);
    all.insert(all.end(), e->T, e->T + n * n);
    all.insert(all.end(), e->MI, e->MI + n * (n + 2));
    all.insert(all.end(), e->AI, e->AI + n * (n + 2));
    all.insert(all.end(), e->lambda, e->lambda + n);
    for (int end = 0; end < 2; end++) all.insert(all.end(), e->mu[end], e->mu[end] + n);
    for (int end = 0; end < 2; end++) all.insert(all.end(), e->alpha[end], e->alpha[end] + n);
  }
  PetscCall(memory.upload(all.size(), all.data(), &numbers));
  for (PetscInt i = 0; i < pd->nclass; i++) {
    const PetscInt n    = pd->eigen[i].n;
    auto           next = [&](PetscInt size) {
      const T *a = numbers + at;

      at += (size_t)size;
      return a;
    };

    c[i].n      = (int)n;
    c[i].S      = next(n * n);
    c[i].T_     = next(n * n);
    c[i].MI     = next(n * (n + 2));
    c[i].AI     = next(n * (n + 2));
    c[i].lambda = next(n);
    for (int end = 0; end < 2; end++) c[i].mu[end] = next(n);
    for (int end = 0; end < 2; end++) c[i].alpha[end] = next(n);
  }
  PetscCall(memory.upload(c.size(), c.data(), &data.d[d].cls));
  places.insert(places.end(), pd->cls, pd->cls + pd->npatch);
  PetscCall(memory.upload(places.size(), places.data(), &data.d[d].first));
  data.d[d].number = data.d[d].first + pd->npatch;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode AnyPatches<T>::create(const PatchFDLocalDesc *desc)
{
  int    c[3], volume = 1, area = 0;
  size_t limit;

  PetscFunctionBegin;
  data.l    = RingLayout(desc->field->box, desc->field->read);
  data.read = Range(desc->field->read);
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = desc->field->dir[d];

    n[d] = 1;
    for (PetscInt i = 0; i < pd->nclass; i++) n[d] = PetscMax(n[d], pd->eigen[i].n);
    data.d[d].ext = IsPoint(desc, d) ? 0 : 1;
    c[d]          = (int)n[d] + 2 * data.d[d].ext;
    volume *= c[d];
    PetscCall(upload(pd, d));
  }
  for (int d = 0; d < 3; d++) area = PetscMax(area, volume / c[d]);
  data.a = volume;
  data.b = volume / c[0] * (int)n[0];
  PetscCall(data.team.create((int)(n[0] * n[1] * n[2]), (size_t)(data.a + data.b + PetscMax(data.b, 5 * area)), &memory));
  PetscCall(SharedLimit(&limit));
  if (data.team.global || 2 * data.team.shared > limit) data.team.threads = any_threads;
  PetscCall(AllowShared(PatchKernel<T, false>, data.team.shared));
  PetscCall(AllowShared(PatchKernel<T, true>, data.team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* multiplications and additions of a patch of this size, without parity */
template <typename T>
PetscLogDouble AnyPatches<T>::flops(const PetscInt size[3], PatchFDPatchOp op, bool zero) const
{
  PetscLogDouble n[3], c[3], v = 1, f = 0;

  for (int d = 0; d < 3; d++) {
    n[d] = (PetscLogDouble)size[d];
    c[d] = n[d] + 2 * data.d[d].ext;
    v *= n[d];
  }
  if (op == PATCHFD_OP_RESIDUAL || op == PATCHFD_OP_FUSED) {
    f += v;
    if (!zero) f += 2 * (2 * n[0] * c[0] * c[1] * c[2] + 3 * n[0] * n[1] * c[1] * c[2] + 2 * v * c[2]);
  }
  if (op == PATCHFD_OP_RESIDUAL) return f;
  f += v * (4 * (n[0] + n[1] + n[2]) + 3);
  for (int d = 0; d < 3 && op == PATCHFD_OP_BOUNDARY && !zero; d++) {
    const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;

    f += 4 * n[a] * c[b] * (n[a] + 2) + 8 * n[a] * n[b] * (n[b] + 2) + 8 * v;
  }
  return f;
}

template <typename T>
PetscErrorCode AnyPatches<T>::ones(const PatchShell &shell, PatchFDPatchOp op, PetscReal omega, bool zero, void *x, const void *b, void *r,
                                   cudaStream_t stream)
{
  static const PetscInt one[] = {1, 1, 1};

  PetscFunctionBegin;
  OnesKernel<T><<<(unsigned)((shell.size() + 127) / 128), 128, 0, stream>>>(data, shell, op, (T)omega, zero, (T *)x, (const T *)b, (T *)r);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops((PetscLogDouble)shell.size() * flops(one, op, zero)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode AnyPatches<T>::apply(const PatchShell &shell, PatchFDPatchOp op, PetscReal omega, bool zero, void *x, const void *b, void *r,
                                    cudaStream_t stream)
{
  const auto kernel = op == PATCHFD_OP_BOUNDARY ? PatchKernel<T, true> : PatchKernel<T, false>;

  PetscFunctionBegin;
  kernel<<<data.team.grid(shell.size()), data.team.block(), data.team.shared, stream>>>(data, shell, op, (T)omega, zero, (T *)x,
                                                                                        (const T *)b, (T *)r);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops((PetscLogDouble)shell.size() * flops(n, op, zero)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct AnyPatches<double>;
template struct AnyPatches<float>;

} // namespace patchfd
