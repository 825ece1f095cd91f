/* Vertex patches: see smoother.cuh for what is where */
#include "smoother.cuh"
#include "lines.cuh"

namespace patchfd
{

/* one class of patches of a direction, in device memory */
template <typename T>
struct PatchClass {
  int      n;
  const T *S, *T_, *MI, *AI, *lambda, *mu[2], *alpha[2];
};

template <typename T>
struct PatchDirection {
  const PatchClass<T> *cls;
  const int           *first, *number; /* first free node and class of each patch */
  int                  ext;            /* nodes of the closure on either side: 0 where the direction does not exist */
};

/* Patches of one colour in a box: number p_d of direction d is start[d] + 2 p_d.  Those of `part` are done, up to six boxes */
struct PatchShell {
  int    start[3];
  Range  part[6];
  size_t end[6]; /* patches up to and including this part */
};

template <typename T>
struct SmootherData {
  PatchDirection<T> d[3];
  Layout            l;
  Range             read;
  Team<T>           team;
  int               a, b; /* sizes of the first two blocks of a team */
};

template <typename T>
struct SmootherPlan {
  SmootherData<T>       data;
  SmootherFast         *fast;
  Stencil<T>            stencil;
  bool                  uniform; /* the stencil exists */
  int                   ones[3][2]; /* patches of one unknown in each direction, first and end */
  PetscInt              n[3]; /* largest patch */
  PetscInt              npatch[3];
  std::vector<PetscInt> first[3];
  T                    *numbers[3];
  PatchClass<T>        *cls[3];
  int                  *ints[3];
};

/* does the direction not exist? */
static bool IsPoint(const PatchFDSmootherDesc *desc, int d)
{
  return desc->box.n[d] == 1 && desc->dir[d]->npatch == 1 && desc->dir[d]->n[0] == 1;
}

/* patch number `item` of the shell */
static __device__ inline void ShellAt(const PatchShell &s, size_t item, int at[3])
{
  int part = 0;

  while (item >= s.end[part]) part++;
  if (part) item -= s.end[part - 1];
  const Range   &r  = s.part[part];
  const unsigned n0 = r.hi[0] - r.lo[0], n1 = r.hi[1] - r.lo[1], row = (unsigned)item / n0; /* a colour has less than 2^32 patches: 64 bits take their time */

  at[0] = s.start[0] + 2 * (r.lo[0] + (int)((unsigned)item - row * n0));
  at[1] = s.start[1] + 2 * (r.lo[1] + (int)(row % n1));
  at[2] = s.start[2] + 2 * (r.lo[2] + (int)(row / n1));
}

/* ---- patches of one unknown: a stencil ---- */

template <typename T>
static __global__ void OnesKernel(const __grid_constant__ SmootherData<T> s, const __grid_constant__ PatchShell shell, PatchFDPatchOp op, T omega, bool zero, T *x, const T *b, T *r)
{
  const size_t item = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  int          at[3], node[3];
  T            M[3][3], A[3][3], value, scale = 1, D = 0;

  if (item >= shell.end[5]) return;
  ShellAt(shell, item, at);
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

  scale = D == 0 ? T(0) : scale / D;
  value = op == PATCHFD_OP_SOLVE ? r[center] : b[center];
  if (op != PATCHFD_OP_SOLVE && !zero) {
    T sum = 0;

#pragma unroll
    for (int k = 0; k < 3; k++) {
#pragma unroll
      for (int j = 0; j < 3; j++) {
        const T    mm = M[1][j] * M[2][k], am = A[1][j] * M[2][k] + M[1][j] * A[2][k];
        const bool inside = node[1] + j - 1 >= s.read.lo[1] && node[1] + j - 1 < s.read.hi[1] && node[2] + k - 1 >= s.read.lo[2] && node[2] + k - 1 < s.read.hi[2];

#pragma unroll
        for (int i = 0; i < 3; i++) {
          if (op == PATCHFD_OP_BOUNDARY && i == 1 && j == 1 && k == 1) continue; /* not its own value */
          if (inside && node[0] + i - 1 >= s.read.lo[0] && node[0] + i - 1 < s.read.hi[0]) sum += (A[0][i] * mm + M[0][i] * am) * x[center + (i - 1) + (j - 1) * s.l.row + (k - 1) * s.l.plane];
        }
      }
    }
    value -= sum;
  }
  if (op == PATCHFD_OP_RESIDUAL) r[center] = value;
  else if (op == PATCHFD_OP_BOUNDARY) x[center] = (omega == 1 ? T(0) : (1 - omega) * x[center]) + omega * scale * value;
  else x[center] += omega * scale * value;
}

/* ---- any patch ---- */

/*
  One team a patch.  Memory of a team: blocks A (closure), B and C (closure but for one direction).

    residual   closure in A; p, q = M0, A0 in B, C; s = M1 q + A1 p in A, t = M1 p in C; M2 s + A2 t in B; then b minus that, in A
    transform  A -> B -> A -> B
    faces      part by part in C; the terms that are not divided by D in A
*/
template <typename T>
static __global__ void PatchKernel(const __grid_constant__ SmootherData<T> s, const __grid_constant__ PatchShell shell, PatchFDPatchOp op, T omega, bool zero, T *x, const T *b, T *r)
{
  T *A = TeamMemory<T>(s.team.global, s.team.size), *B = A + s.a, *C = B + s.b;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < shell.end[5]; base += (size_t)gridDim.x * blockDim.y) {
    const size_t         item   = base + threadIdx.y;
    const bool           active = item < shell.end[5];
    int                  at[3], first[3], n[3], c[3], ext[3], size;
    const PatchClass<T> *cls[3];

    ShellAt(shell, active ? item : base, at);
    for (int d = 0; d < 3; d++) {
      cls[d]   = &s.d[d].cls[s.d[d].number[at[d]]];
      first[d] = s.d[d].first[at[d]];
      ext[d]   = s.d[d].ext;
      n[d]     = cls[d]->n;
      c[d]     = n[d] + 2 * ext[d];
    }
    size = n[0] * n[1] * n[2];

    /* right-hand side in A */
    if ((op == PATCHFD_OP_RESIDUAL || op == PATCHFD_OP_FUSED) && !zero) {
      const int low[3] = {first[0] - ext[0], first[1] - ext[1], first[2] - ext[2]}, n1[3] = {n[0], c[1], c[2]}, n2[3] = {n[0], n[1], c[2]};
      Matrix<T> M[3], K[3];

      for (int d = 0; d < 3; d++) { /* without the columns of neighbours that do not exist */
        M[d] = {cls[d]->MI + 1 - ext[d], n[d] + 2, 1};
        K[d] = {cls[d]->AI + 1 - ext[d], n[d] + 2, 1};
      }
      if (active) Gather(low, c, s.read, s.l, x, A);
      __syncthreads();
      if (active) {
        Contract(0, c, n[0], M[0], A, B, false);
        Contract(0, c, n[0], K[0], A, C, false);
      }
      __syncthreads();
      if (active) {
        Contract(1, n1, n[1], M[1], C, A, false);
        Contract(1, n1, n[1], K[1], B, A, true);
      }
      __syncthreads();
      if (active) Contract(1, n1, n[1], M[1], B, C, false);
      __syncthreads();
      if (active) {
        Contract(2, n2, n[2], M[2], A, B, false);
        Contract(2, n2, n[2], K[2], C, B, true);
      }
      __syncthreads();
    }
    if (active) {
      const T *from = op == PATCHFD_OP_SOLVE ? r : b;

      for (int e = threadIdx.x; e < size; e += blockDim.x) {
        const int  i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];
        const bool inside = s.read.contains(i, j, k);
        T          value  = inside ? from[s.l.at(i, j, k)] : T(0);

        if ((op == PATCHFD_OP_RESIDUAL || op == PATCHFD_OP_FUSED) && !zero) value -= B[e];
        A[e] = value;
        if (op == PATCHFD_OP_RESIDUAL && inside) r[s.l.at(i, j, k)] = value;
      }
    }
    __syncthreads();
    if (op == PATCHFD_OP_RESIDUAL) continue;

    /* to modes, in B */
    for (int d = 0; d < 3; d++) {
      if (active) Contract(d, n, n[d], Matrix<T>{cls[d]->S, 1, n[d]}, d == 1 ? B : A, d == 1 ? A : B, false);
      __syncthreads();
    }
    if (op == PATCHFD_OP_BOUNDARY && !zero) {
      if (active)
        for (int e = threadIdx.x; e < size; e += blockDim.x) A[e] = 0;
      for (int f = 0; f < 3; f++) {
        const int pa = f == 0 ? 1 : 0, pb = f == 2 ? 1 : 2; /* the directions in the face, in order */
        const int na = n[pa], ca = c[pa], nb = n[pb], cb = c[pb];
        T        *F = C, *inner = F + ca * cb, *rimmed = inner + na * cb, *Y = rimmed + na * cb, *W = Y + na * nb;

        if (!ext[f]) continue; /* the same for all patches */
        for (int e = 0; e < 2; e++) {
          const int fa[3] = {ca, cb, 1}, fb[3] = {na, nb, 1}, fi[3] = {na, cb, 1}, face_n[3] = {na, cb, 1};
          int       low[3], fn[3];

          for (int d = 0; d < 3; d++) {
            low[d] = d == f ? first[d] + (e ? n[d] : -1) : first[d] - ext[d];
            fn[d]  = d == f ? 1 : c[d];
          }
          __syncthreads();
          if (active) Gather(low, fn, s.read, s.l, x, F);
          __syncthreads();
          if (active) {
            Contract(0, fi, na, Matrix<T>{cls[pa]->T_, na, 1}, F, inner, false, ext[pa], fa[0]);
            for (int q = threadIdx.x; q < na * cb; q += blockDim.x) {
              const int m = q % na, o = q / na;

              rimmed[q] = inner[q] + (ext[pa] ? cls[pa]->mu[0][m] * F[o * ca] + cls[pa]->mu[1][m] * F[o * ca + ca - 1] : T(0));
            }
          }
          __syncthreads();
          if (active) {
            Contract(1, fb, nb, Matrix<T>{cls[pb]->T_, nb, 1}, rimmed, Y, false, ext[pb], face_n[1]);
            Contract(1, fb, nb, Matrix<T>{cls[pb]->T_, nb, 1}, inner, W, false, ext[pb], face_n[1]);
            for (int q = threadIdx.x; q < na * nb; q += blockDim.x) {
              const int i = q % na, m = q / na;
              const T   below = ext[pb] ? cls[pb]->mu[0][m] : T(0), above = ext[pb] ? cls[pb]->mu[1][m] : T(0);

              Y[q] += below * rimmed[i] + above * rimmed[(cb - 1) * na + i];
              if (f == 0) W[q] = Y[q];
              else if (f == 1) W[q] += below * inner[i] + above * inner[(cb - 1) * na + i];
            }
          }
          __syncthreads();
          if (active) {
            for (int q = threadIdx.x; q < size; q += blockDim.x) {
              const int m[3] = {q % n[0], q / n[0] % n[1], q / n[0] / n[1]}, mf = m[f], at2 = m[pa] + na * m[pb];

              B[q] -= cls[f]->alpha[e][mf] * Y[at2];
              A[q] += cls[f]->mu[e][mf] * W[at2];
            }
          }
        }
      }
      __syncthreads();
    }
    if (active) {
      for (int e = threadIdx.x; e < size; e += blockDim.x) {
        const T D = cls[0]->lambda[e % n[0]] + cls[1]->lambda[e / n[0] % n[1]] + cls[2]->lambda[e / n[0] / n[1]];

        A[e] = (D == 0 ? T(0) : B[e] / D) - (op == PATCHFD_OP_BOUNDARY && !zero ? A[e] : T(0));
      }
    }
    __syncthreads();
    /* back to nodes, in B */
    for (int d = 0; d < 3; d++) {
      if (active) Contract(d, n, n[d], Matrix<T>{cls[d]->S, n[d], 1}, d == 1 ? B : A, d == 1 ? A : B, false);
      __syncthreads();
    }
    if (active) {
      const T beta = op == PATCHFD_OP_BOUNDARY ? 1 - omega : T(1);

      for (int e = threadIdx.x; e < size; e += blockDim.x) {
        const int i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];

        if (s.read.contains(i, j, k)) {
          T *xi = &x[s.l.at(i, j, k)];

          *xi = (beta == 0 ? T(0) : beta * *xi) + omega * B[e];
        }
      }
    }
    __syncthreads();
  }
}

/* ---- plans ---- */

template <typename T>
PetscErrorCode Smoother<T>::destroy(void **plan)
{
  SmootherPlan<T> *p = (SmootherPlan<T> *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    PetscCallCUDA(cudaFree(p->numbers[d]));
    PetscCallCUDA(cudaFree(p->cls[d]));
    PetscCallCUDA(cudaFree(p->ints[d]));
  }
  PetscCall(p->data.team.destroy());
  if (p->fast) PetscCall(p->fast->destroy());
  delete p->fast;
  delete p;
  *plan = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode UploadDirection(const PatchFDPatches *pd, SmootherPlan<T> *p, int d)
{
  std::vector<PetscReal>     all;
  std::vector<PatchClass<T>> cls((size_t)pd->nclass);
  std::vector<PetscInt>      ints(pd->first, pd->first + pd->npatch);
  size_t                     at = 0;

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
  PetscCall(Upload(all.size(), all.data(), &p->numbers[d]));
  for (PetscInt i = 0; i < pd->nclass; i++) {
    const PetscInt n = pd->eigen[i].n;
    auto           next = [&](PetscInt size) {
      const T *a = p->numbers[d] + at;

      at += (size_t)size;
      return a;
    };

    cls[i].n      = (int)n;
    cls[i].S      = next(n * n);
    cls[i].T_     = next(n * n);
    cls[i].MI     = next(n * (n + 2));
    cls[i].AI     = next(n * (n + 2));
    cls[i].lambda = next(n);
    for (int end = 0; end < 2; end++) cls[i].mu[end] = next(n);
    for (int end = 0; end < 2; end++) cls[i].alpha[end] = next(n);
  }
  PetscCall(Upload(cls.size(), cls.data(), &p->cls[d]));
  ints.insert(ints.end(), pd->cls, pd->cls + pd->npatch);
  PetscCall(Upload(ints.size(), ints.data(), &p->ints[d]));
  p->data.d[d].cls    = p->cls[d];
  p->data.d[d].first  = p->ints[d];
  p->data.d[d].number = p->ints[d] + pd->npatch;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Smoother<T>::create(const PatchFDSmootherDesc *desc, void **plan)
{
  SmootherPlan<T> *p;
  int              c[3], volume = 1, area = 0;
  bool             all; /* patches have one unknown */
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  p            = new SmootherPlan<T>();
  *plan        = p;
  p->data.l    = Layout(desc->box);
  p->data.read = Range(desc->read);
  all          = true;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = desc->dir[d];

    p->n[d] = 1;
    for (PetscInt i = 0; i < pd->nclass; i++) p->n[d] = PetscMax(p->n[d], pd->eigen[i].n);
    for (PetscInt i = 0; i < pd->npatch; i++) PetscCheck(pd->cell[i] == i, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Patch %" PetscInt_FMT " begins at cell %" PetscInt_FMT, i, pd->cell[i]);
    p->npatch[d]     = pd->npatch;
    all              = all && p->n[d] == 1;
    p->ones[d][0]    = 0; /* all of them but those at free ends */
    while (p->ones[d][0] < pd->npatch && pd->n[p->ones[d][0]] > 1) p->ones[d][0]++;
    p->ones[d][1] = p->ones[d][0];
    while (p->ones[d][1] < pd->npatch && pd->n[p->ones[d][1]] == 1) p->ones[d][1]++;
    p->data.d[d].ext = IsPoint(desc, d) ? 0 : 1;
    p->first[d].assign(pd->first, pd->first + pd->npatch);
    c[d] = (int)p->n[d] + 2 * p->data.d[d].ext;
    volume *= c[d];
    PetscCall(UploadDirection(pd, p, d));
  }
  for (int d = 0; d < 3; d++) area = PetscMax(area, volume / c[d]);
  p->data.a = volume;
  p->data.b = volume / c[0] * (int)p->n[0];
  if (!all) PetscCall(p->data.team.create((int)(p->n[0] * p->n[1] * p->n[2]), (size_t)(p->data.a + p->data.b + PetscMax(p->data.b, 5 * area))));
  PetscCall(AllowShared(PatchKernel<T>, p->data.team.shared));
  PetscCall(SmootherFastCreate<T>(desc, &p->fast));
  PetscCall(p->stencil.create(desc, &p->uniform));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* multiplications and additions of a patch of this size, without parity */
template <typename T>
static PetscLogDouble PatchFlops(const SmootherPlan<T> *p, const PetscInt size[3], PatchFDPatchOp op, bool zero)
{
  PetscLogDouble n[3], c[3], v = 1, f = 0;

  for (int d = 0; d < 3; d++) {
    n[d] = (PetscLogDouble)size[d];
    c[d] = n[d] + 2 * p->data.d[d].ext;
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

/* a colour's patches: those of the fast kernel or of the stencil, and the others */
struct ColorPatches {
  FastGeometry g;
  PatchShell   ones, shell;
  size_t       nfast, nones, nshell;
};

template <typename T>
static ColorPatches FindPatches(const SmootherPlan<T> *p, PatchFDPatchOp op, const PetscInt color[3], const PatchFDRange patches)
{
  const bool fast     = p->fast && (op == PATCHFD_OP_BOUNDARY || op == PATCHFD_OP_SOLVE);
  const int (*run)[2] = fast ? p->fast->run : p->ones; /* the patches that are not left to the generic kernel */
  ColorPatches c;
  Range        rest, inner;

  c.nfast = c.nones = c.nshell = 0;
  for (int d = 0; d < 3; d++) {
    c.shell.start[d] = (int)(patches[d][0] + (patches[d][0] + color[d]) % 2);
    rest.lo[d]       = 0;
    rest.hi[d]       = PetscMax(0, (int)(patches[d][1] - c.shell.start[d] + 1) / 2);
  }
  if (rest.empty()) return c;
  for (int d = 0; d < 3; d++) {
    inner.lo[d] = PetscMin(rest.hi[d], PetscMax(0, run[d][0] - c.shell.start[d] + 1) / 2);
    inner.hi[d] = PetscMin(rest.hi[d], PetscMax(0, run[d][1] - c.shell.start[d] + 1) / 2);
  }
  if (fast && !inner.empty()) {
    bool whole = true;

    c.g.l    = p->data.l;
    c.g.read = p->data.read;
    for (int d = 0; d < 3; d++) {
      c.g.count[d] = inner.hi[d] - inner.lo[d];
      c.g.first[d] = (int)p->first[d][c.shell.start[d] + 2 * inner.lo[d]] - 1;
      whole        = whole && c.g.first[d] + 1 >= c.g.read.lo[d] && c.g.first[d] + p->fast->step[d] * c.g.count[d] <= c.g.read.hi[d];
    }
    if (whole) c.nfast = inner.size();
    else inner.hi[0] = inner.lo[0];
  } else if (!inner.empty()) {
    c.ones         = c.shell;
    c.ones.part[0] = inner;
    c.nones        = inner.size();
    for (int i = 0; i < 6; i++) c.ones.end[i] = c.nones;
  }
  if (inner.empty()) inner.lo[2] = inner.hi[2] = rest.hi[2];
  /* what remains: below and above in z, then in y, then in x */
  for (int d = 2; d >= 0; d--) {
    c.shell.part[4 - 2 * d] = c.shell.part[5 - 2 * d] = rest;
    c.shell.part[4 - 2 * d].hi[d]                     = inner.lo[d];
    c.shell.part[5 - 2 * d].lo[d]                     = inner.hi[d];
    rest.lo[d]                                        = inner.lo[d];
    rest.hi[d]                                        = inner.hi[d];
  }
  for (int i = 0; i < 6; i++) c.shell.end[i] = c.nshell += c.shell.part[i].size();
  return c;
}

/* all but those of the fast kernel */
template <typename T>
static PetscErrorCode ApplyOthers(SmootherPlan<T> *p, const ColorPatches &c, PatchFDPatchOp op, PetscReal omega, bool zero, void *x, const void *b, void *r, cudaStream_t stream)
{
  static const PetscInt one[] = {1, 1, 1};

  PetscFunctionBegin;
  if (c.nones) OnesKernel<T><<<(unsigned)((c.nones + 127) / 128), 128, 0, stream>>>(p->data, c.ones, op, (T)omega, zero, (T *)x, (const T *)b, (T *)r);
  if (c.nshell) PatchKernel<T><<<p->data.team.grid(c.nshell), p->data.team.block(), p->data.team.shared, stream>>>(p->data, c.shell, op, (T)omega, zero, (T *)x, (const T *)b, (T *)r);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops((PetscLogDouble)c.nones * PatchFlops(p, one, op, zero) + (PetscLogDouble)c.nshell * PatchFlops(p, p->n, op, zero)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the next colour if it differs from this one in x only, so that both can go in one pass */
template <typename T>
static bool FindPair(const SmootherPlan<T> *p, PatchFDPatchOp op, PetscInt ncolors, const PetscInt colors[][3], const PatchFDRange patches, PetscReal omega, ColorPatches *next)
{
  if (!p->fast || !p->fast->rows || op != PATCHFD_OP_BOUNDARY || omega != 1 || ncolors < 2 || colors[0][0] == colors[1][0] || colors[0][1] != colors[1][1] || colors[0][2] != colors[1][2]) return false;
  *next = FindPatches(p, op, colors[1], patches);
  return next->nfast;
}

template <typename T>
PetscErrorCode Smoother<T>::apply(void *plan, PatchFDPatchOp op, PetscInt ncolors, const PetscInt colors[][3], const PatchFDRange patches, PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  SmootherPlan<T> *p = (SmootherPlan<T> *)plan;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt i = 0, n; i < ncolors; i += n) {
    const bool   boundary = op == PATCHFD_OP_BOUNDARY && !(zero && i == 0);
    ColorPatches c, next;

    n = p->uniform && (op == PATCHFD_OP_BOUNDARY || op == PATCHFD_OP_FUSED) ? p->stencil.colors(ncolors - i, colors + i, patches) : 0;
    if (n) {
      PetscCall(p->stencil.apply(n, colors[i], patches, omega, x, b, stream));
      continue;
    }
    n = 1;
    c = FindPatches(p, op, colors[i], patches);
    if (c.nfast && FindPair(p, op, ncolors - i, colors + i, patches, omega, &next)) {
      /* the others of the first colour come before, those of the second one after: they find each other's values as they do colour by colour */
      n = 2;
      PetscCall(ApplyOthers(p, c, op, omega, !boundary, x, b, r, stream));
      PetscCall(p->fast->pair(c.g, next.g, boundary, x, b, stream));
      PetscCall(ApplyOthers(p, next, op, omega, false, x, b, r, stream));
      PetscCall(PetscLogGpuFlops((PetscLogDouble)(c.nfast + next.nfast) * p->fast->flops(boundary, true)));
      continue;
    }
    if (c.nfast) {
      PetscCall(p->fast->apply(c.g, omega, op == PATCHFD_OP_SOLVE ? 1 : 1 - omega, boundary, x, op == PATCHFD_OP_SOLVE ? r : b, stream));
      PetscCall(PetscLogGpuFlops((PetscLogDouble)c.nfast * p->fast->flops(boundary, false)));
    }
    PetscCall(ApplyOthers(p, c, op, omega, zero && i == 0, x, b, r, stream));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the longest runs of equal, mirror-symmetric patches of 2 K - 1 unknowns ---- */

/* two equal cells around a vertex: unknowns in one are not coupled to those in the other */
static bool TwoCells(const PatchFDEigen *e)
{
  const PetscInt n = e->n, K = (n + 1) / 2;

  if (!e->parity || n % 2 == 0) return false;
  for (PetscInt i = 0; i < K - 1; i++)
    for (PetscInt j = K + 1; j < n + 2; j++)
      if (e->MI[i * (n + 2) + j] != 0) return false;
  return true;
}

template <typename T>
PetscErrorCode SmootherFastCreate(const PatchFDSmootherDesc *desc, SmootherFast **fast)
{
  const bool          point = IsPoint(desc, 2);
  int                 run[3][2], K = 0;
  const PatchFDEigen *e[3];

  PetscFunctionBegin;
  *fast = NULL;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = desc->dir[d];

    run[d][0] = run[d][1] = 0;
    for (PetscInt i = 0, end; i < pd->npatch; i = end) {
      for (end = i + 1; end < pd->npatch && pd->cls[end] == pd->cls[i] && pd->first[end] - pd->first[end - 1] == (pd->n[i] + 1) / 2;) end++;
      if (!TwoCells(&pd->eigen[pd->cls[i]]) || end - i <= run[d][1] - run[d][0]) continue;
      run[d][0] = (int)i;
      run[d][1] = (int)end;
    }
    if (run[d][0] == run[d][1]) PetscFunctionReturn(PETSC_SUCCESS);
    e[d] = &pd->eigen[pd->cls[run[d][0]]];
    if (d && (e[d]->n + 1) / 2 != K && !(d == 2 && point)) PetscFunctionReturn(PETSC_SUCCESS);
    if (d < 2) K = (int)(e[d]->n + 1) / 2;
  }
  if (point) PetscCall(SmootherPlaneCreate<T>(K, e, fast));
  else switch (K) {
  case 2:
    PetscCall((SmootherFastCreateDegree<T, 2>(e, fast)));
    break;
  case 3:
    PetscCall((SmootherFastCreateDegree<T, 3>(e, fast)));
    break;
  case 4:
    PetscCall((SmootherFastCreateDegree<T, 4>(e, fast)));
    break;
  case 5:
    PetscCall((SmootherFastCreateDegree<T, 5>(e, fast)));
    break;
  case 6:
    PetscCall((SmootherFastCreateDegree<T, 6>(e, fast)));
    break;
  case 7:
    PetscCall((SmootherFastCreateDegree<T, 7>(e, fast)));
    break;
  case 8:
    PetscCall((SmootherFastCreateDegree<T, 8>(e, fast)));
    break;
  }
  for (int d = 0; d < 3 && *fast; d++) {
    (*fast)->run[d][0] = run[d][0];
    (*fast)->run[d][1] = run[d][1];
    (*fast)->step[d]   = (int)e[d]->n + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct Smoother<double>;
template struct Smoother<float>;

} // namespace patchfd
