/*
  Patches of few unknowns.

  In 1D, with any matrices: a thread an unknown.  x_I = (1 - omega) x_I + omega W [x_0, b_I, x_1], a row of which is all that there is to
  do:

    W = [-S (alpha_0 / D + mu_0), S S' / D, -S (alpha_1 / D + mu_1)]

  or for the residual r_I = b_I - A [x_0, x_I, x_1].  A row is read by the threads of the patches' other rows beside it: [column][row].
*/
#pragma once
#include "base/plan.cuh"
#include "base/reciprocal.cuh"
#include "smoother/smoother.cuh"

namespace patchfd
{

template <typename T>
struct LinePatches {
  const int *first, *n, *cls; /* of each patch */
  const T   *solve, *product; /* of each class: W and A, [most + 2][most] */
  int        most;
  ptrdiff_t  offset;
  int        lo, hi; /* what may be read */

  __device__ __forceinline__ T value(const T *x, int node) const { return node >= lo && node < hi ? x[offset + node] : T(0); }
};

/* the patches start + 2 p, p = 0 .. count - 1 */
template <typename T>
static __global__ void LinePatchKernel(const __grid_constant__ LinePatches<T> g, int start, int count, bool residual, bool faces, T omega,
                                       T beta, T *x, const T *b, T *r)
{
  const int item = blockIdx.x * blockDim.x + threadIdx.x, i = item % g.most, p = start + 2 * (item / g.most);

  if (item >= count * g.most || i >= g.n[p]) return;
  const int first = g.first[p], n = g.n[p], node = first + i, stride = g.most;
  const T  *row = (residual ? g.product : g.solve) + (size_t)g.cls[p] * (stride + 2) * stride + i, *from = residual ? x : b;
  T         sum = faces ? row[0] * g.value(x, first - 1) + row[(n + 1) * stride] * g.value(x, first + n) : T(0);

  if (node < g.lo || node >= g.hi) return;
  for (int j = 0; j < n; j++) sum += row[(j + 1) * stride] * g.value(from, first + j);
  if (residual) r[g.offset + node] = b[g.offset + node] - sum;
  else x[g.offset + node] = (beta == 0 ? T(0) : beta * x[g.offset + node]) + omega * sum;
}

template <typename T>
struct LineSmoother : PlaceSmoother {
  LinePatches<T> data;
  PlanMemory     memory;

  PetscErrorCode create(const PatchFDLocalDesc *desc)
  {
    const PatchFDPatches  *pd    = desc->field->dir[0];
    const PatchFDEigen    *other = desc->field->dir[1]->eigen, *point = desc->field->dir[2]->eigen;
    const PetscReal        lambda = other->lambda[0] + point->lambda[0], mass = other->MI[1] * point->MI[1];
    const Range            read(desc->field->read);
    std::vector<PetscReal> solve, product;

    PetscFunctionBegin;
    data.most   = 0;
    data.offset = Layout(desc->field->box).at(0, read.lo[1], read.lo[2]);
    data.lo     = read.lo[0];
    data.hi     = read.hi[0];
    for (PetscInt c = 0; c < pd->nclass; c++) data.most = PetscMax(data.most, (int)pd->eigen[c].n);
    const size_t entries = (size_t)(data.most + 2) * data.most;

    solve.assign(pd->nclass * entries, 0);
    product.assign(pd->nclass * entries, 0);
    for (PetscInt c = 0; c < pd->nclass; c++) rows(&pd->eigen[c], lambda, mass, &solve[c * entries], &product[c * entries]);
    PetscCall(memory.upload(solve.size(), solve.data(), &data.solve));
    PetscCall(memory.upload(product.size(), product.data(), &data.product));
    PetscCall(memory.upload((size_t)pd->npatch, pd->first, &data.first));
    PetscCall(memory.upload((size_t)pd->npatch, pd->n, &data.n));
    PetscCall(memory.upload((size_t)pd->npatch, pd->cls, &data.cls));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const PatchShell &s, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                       cudaStream_t stream) override
  {
    return launch(s, false, boundary, omega, beta, x, b, NULL, stream);
  }
  bool           residuals() const override { return true; }
  PetscErrorCode residual(const PatchShell &s, const void *x, const void *b, void *r, cudaStream_t stream) override
  {
    return launch(s, true, true, 0, 0, (void *)x, b, r, stream);
  }

private:
  /* of a class with the eigenvalue and the mass of the other directions */
  void rows(const PatchFDEigen *e, PetscReal lambda, PetscReal mass, PetscReal *W, PetscReal *A) const
  {
    const int n = (int)e->n;

    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n + 2; j++) A[j * data.most + i] = (e->AI[i * (n + 2) + j] + lambda * e->MI[i * (n + 2) + j]) * mass;
      for (int m = 0; m < n; m++) {
        const PetscReal D = e->lambda[m] + lambda, inverse = D == 0 ? 0 : 1 / D;

        for (int s = 0; s < 2; s++) W[s * (n + 1) * data.most + i] -= e->S[i * n + m] * (e->alpha[s][m] * inverse + e->mu[s][m]);
        for (int j = 0; j < n; j++) W[(j + 1) * data.most + i] += e->S[i * n + m] * inverse * e->S[j * n + m] / mass;
      }
    }
  }

  PetscErrorCode launch(const PatchShell &s, bool residual, bool faces, PetscReal omega, PetscReal beta, void *x, const void *b, void *r,
                        cudaStream_t stream)
  {
    const int threads = 256;

    PetscFunctionBegin;
    for (int i = 0; i < 6; i++) {
      const int count = s.part[i].empty() ? 0 : s.part[i].hi[0] - s.part[i].lo[0];

      if (!count) continue;
      const int blocks = (int)(((size_t)count * data.most + threads - 1) / threads), first = s.start[0] + 2 * s.part[i].lo[0];

      LinePatchKernel<T>
        <<<blocks, threads, 0, stream>>>(data, first, count, residual, faces, (T)omega, (T)beta, (T *)x, (const T *)b, (T *)r);
      PetscCallCUDA(cudaGetLastError());
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/*
  Patches of at most two unknowns a direction, with any matrices (degree 1 at free ends): a thread each.  As many numbers as there are for
  two unknowns, zeros where there is one.  Plane by plane of the closure in z, x is multiplied by M and A in y and x; then by M and A in z.
*/

/* a class of patches of a direction: rows of the unknowns, from the node below on; eigenvectors [node][mode] */
template <typename T>
struct FewClass {
  T M[2][4], A[2][4], S[2][2], lambda[2];
};

template <typename T>
struct FewPatches {
  const PlacePatch  *patch[3];
  const FewClass<T> *cls[3];
  RingLayout         l;
  Range              read;
};

/* a thread's patch */
template <typename T>
struct FewPatch {
  const FewClass<T> *c[3];
  int                first[3], n[3];

  __device__ __forceinline__ FewPatch(const FewPatches<T> &g, const PatchShell &shell, unsigned item)
  {
    int at[3];

    shell.find<unsigned>(item, at);
#pragma unroll
    for (int d = 0; d < 3; d++) {
      const PlacePatch p = g.patch[d][shell.start[d] + 2 * at[d]];

      first[d] = p.first;
      n[d]     = p.n;
      c[d]     = g.cls[d] + p.cls;
    }
  }
  /* is (i, j, k) of the closure an unknown? */
  __device__ __forceinline__ bool unknown(int i, int j, int k) const
  {
    return i > 0 && i <= n[0] && j > 0 && j <= n[1] && k > 0 && k <= n[2];
  }
};

/* f(k, j, i) for the places of unknowns */
template <typename F>
static __device__ __forceinline__ void EachOfFew(F f)
{
#pragma unroll
  for (int e = 0; e < 8; e++) f(e / 4, e / 2 % 2, e % 2);
}

/* r -= A x; inner: x at the unknowns, too */
template <typename T, typename L>
static __device__ __forceinline__ void FewProduct(const FewPatches<T> &g, const L &l, const FewPatch<T> &me, bool inner, const T *x,
                                                  T r[2][2][2])
{
#pragma unroll
  for (int k = 0; k < 4; k++) {
    T mass[2][2] = {}, stiff[2][2] = {}; /* in y and x */

    if (k >= me.n[2] + 2) break;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      T m[2] = {}, a[2] = {}; /* in x */

#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int  node[3] = {me.first[0] - 1 + i, me.first[1] - 1 + j, me.first[2] - 1 + k};
        const bool here    = i < me.n[0] + 2 && j < me.n[1] + 2 && (inner || !me.unknown(i, j, k)) &&
                          g.read.contains(node[0], node[1], node[2]);
        const T v = here ? x[l.at(node[0], node[1], node[2])] : T(0);

#pragma unroll
        for (int s = 0; s < 2; s++) {
          m[s] += __ldg(&me.c[0]->M[s][i]) * v;
          a[s] += __ldg(&me.c[0]->A[s][i]) * v;
        }
      }
#pragma unroll
      for (int t = 0; t < 2; t++) {
        const T M = __ldg(&me.c[1]->M[t][j]), A = __ldg(&me.c[1]->A[t][j]);

#pragma unroll
        for (int s = 0; s < 2; s++) {
          mass[t][s] += M * m[s];
          stiff[t][s] += M * a[s] + A * m[s];
        }
      }
    }
    EachOfFew([&](int u, int t, int s) { r[u][t][s] -= __ldg(&me.c[2]->M[u][k]) * stiff[t][s] + __ldg(&me.c[2]->A[u][k]) * mass[t][s]; });
  }
}

/* r = S^{-1} .. r in all directions: to modes, over the eigenvalues, and back */
template <typename T>
static __device__ __forceinline__ void FewSolve(const FewPatch<T> &me, T r[2][2][2])
{
  T *const v = &r[0][0][0];

  for (int way = 0; way < 2; way++) {
#pragma unroll
    for (int d = 0; d < 3; d++) {
      const T *S = &me.c[d]->S[0][0], s[4] = {__ldg(S), __ldg(S + (way ? 1 : 2)), __ldg(S + (way ? 2 : 1)), __ldg(S + 3)};

#pragma unroll
      for (int e = 0; e < 8; e++) {
        if (e >> d & 1) continue;
        T      &lo = v[e], &hi = v[e | 1 << d];
        const T below = s[0] * lo + s[1] * hi, above = s[2] * lo + s[3] * hi;

        lo = below;
        hi = above;
      }
    }
    if (!way)
      EachOfFew([&](int k, int j, int i) {
        r[k][j][i] *= ReciprocalOrZero(__ldg(&me.c[0]->lambda[i]) + __ldg(&me.c[1]->lambda[j]) + __ldg(&me.c[2]->lambda[k]));
      });
  }
}

/* x = beta x + omega A_II^{-1} (b_I - A_IB x_B), without `faces` A_II^{-1} b_I; or, with r, r = b - A x */
template <typename T>
static __global__ void FewKernel(const __grid_constant__ FewPatches<T> g, const __grid_constant__ PatchShell shell, bool faces, T omega,
                                 T beta, T *x, const T *__restrict__ b, T *residual)
{
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;

  if (item >= shell.size()) return;
  const FewPatch<T> me(g, shell, item);
  const auto        here = [&](int k, int j, int i) {
    return me.unknown(i + 1, j + 1, k + 1) && g.read.contains(me.first[0] + i, me.first[1] + j, me.first[2] + k);
  };
  const auto at = [&](int k, int j, int i) { return g.l.at(me.first[0] + i, me.first[1] + j, me.first[2] + k); };
  T          r[2][2][2];

  EachOfFew([&](int k, int j, int i) { r[k][j][i] = here(k, j, i) ? b[at(k, j, i)] : T(0); });
  if (faces && g.l.rings.any()) FewProduct(g, g.l, me, residual != NULL, x, r);
  else if (faces) FewProduct(g, (const Layout &)g.l, me, residual != NULL, x, r);
  if (!residual) FewSolve(me, r);
  EachOfFew([&](int k, int j, int i) {
    const ptrdiff_t node = at(k, j, i);

    if (!here(k, j, i)) return;
    if (residual) residual[node] = r[k][j][i];
    else x[node] = beta == 0 ? omega * r[k][j][i] : beta * x[node] + omega * r[k][j][i];
  });
}

template <typename T>
struct FewSmoother : PlaceSmoother {
  FewPatches<T> data;
  PlanMemory    memory;

  static bool suits(const PatchFDLocalDesc *desc) { return PatchFDPatchesArePointwise(desc->field->dir); }

  PetscErrorCode create(const PatchFDLocalDesc *desc)
  {
    PetscFunctionBegin;
    data.l    = RingLayout(desc->field->box, desc->field->read);
    data.read = Range(desc->field->read);
    for (int d = 0; d < 3; d++) {
      const PatchFDPatches    *pd = desc->field->dir[d];
      std::vector<FewClass<T>> cls;
      std::vector<PlacePatch>  patch;

      for (PetscInt i = 0; i < pd->nclass; i++) cls.push_back(numbers(&pd->eigen[i]));
      for (PetscInt i = 0; i < pd->npatch; i++) patch.push_back({(int)pd->first[i], (int)pd->n[i], (int)pd->cls[i]});
      PetscCall(memory.upload(cls.size(), cls.data(), &data.cls[d]));
      PetscCall(memory.upload(patch.size(), patch.data(), &data.patch[d]));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const PatchShell &s, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                       cudaStream_t stream) override
  {
    return launch(s, boundary, omega, beta, x, b, NULL, stream);
  }
  bool           residuals() const override { return true; }
  PetscErrorCode residual(const PatchShell &s, const void *x, const void *b, void *r, cudaStream_t stream) override
  {
    return launch(s, true, 0, 0, (void *)x, b, r, stream);
  }

private:
  /* zero where there is nothing, but for eigenvalues, which are divided by */
  static FewClass<T> numbers(const PatchFDEigen *e)
  {
    const int   n = (int)e->n;
    FewClass<T> c = {};

    for (int i = 0; i < 2; i++) {
      for (int j = 0; j < n + 2 && i < n; j++) {
        c.M[i][j] = (T)e->MI[i * (n + 2) + j];
        c.A[i][j] = (T)e->AI[i * (n + 2) + j];
      }
      for (int m = 0; m < n && i < n; m++) c.S[i][m] = (T)e->S[i * n + m];
      c.lambda[i] = i < n ? (T)e->lambda[i] : T(1);
    }
    return c;
  }

  PetscErrorCode launch(const PatchShell &s, bool faces, PetscReal omega, PetscReal beta, void *x, const void *b, void *r,
                        cudaStream_t stream)
  {
    const int      threads = 64;
    const unsigned blocks  = (unsigned)((s.size() + threads - 1) / threads);

    PetscFunctionBegin;
    FewKernel<T><<<blocks, threads, 0, stream>>>(data, s, faces, (T)omega, (T)beta, (T *)x, (const T *)b, (T *)r);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

} // namespace patchfd
