/*
  Patches of at most two unknowns a direction, with any matrices (degree 1 at free ends): a thread each.  As many numbers as there are for
  two unknowns, zeros where there is one.  Plane by plane of the closure in z, x is multiplied by M and A in y and x; then by M and A in z.
*/
#pragma once
#include "base/plan.cuh"
#include "base/reciprocal.cuh"
#include "smoother/smoother.cuh"

namespace patchfd
{

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
      FewClass<T>             *classes;
      PlacePatch              *patches;

      for (PetscInt i = 0; i < pd->nclass; i++) cls.push_back(numbers(&pd->eigen[i]));
      for (PetscInt i = 0; i < pd->npatch; i++) patch.push_back({(int)pd->first[i], (int)pd->n[i], (int)pd->cls[i]});
      PetscCall(memory.upload(cls.size(), cls.data(), &classes));
      PetscCall(memory.upload(patch.size(), patch.data(), &patches));
      data.cls[d]   = classes;
      data.patch[d] = patches;
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
  PetscErrorCode destroy() override { return memory.free(); }

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
