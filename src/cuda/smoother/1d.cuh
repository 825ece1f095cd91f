/*
  Patches in 1D, with any matrices: a thread an unknown.  x_I = (1 - omega) x_I + omega W [x_0, b_I, x_1], a row of which is all that there
  is to do:

    W = [-S (alpha_0 / D + mu_0), S S' / D, -S (alpha_1 / D + mu_1)]

  or for the residual r_I = b_I - A [x_0, x_I, x_1].  A row is read by the threads of the patches' other rows beside it: [column][row].
*/
#pragma once
#include "base/plan.cuh"
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
    T                     *W, *A;
    int                   *numbers[3];

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
    PetscCall(memory.upload(solve.size(), solve.data(), &W));
    PetscCall(memory.upload(product.size(), product.data(), &A));
    PetscCall(memory.upload((size_t)pd->npatch, pd->first, &numbers[0]));
    PetscCall(memory.upload((size_t)pd->npatch, pd->n, &numbers[1]));
    PetscCall(memory.upload((size_t)pd->npatch, pd->cls, &numbers[2]));
    data.solve   = W;
    data.product = A;
    data.first   = numbers[0];
    data.n       = numbers[1];
    data.cls     = numbers[2];
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
  PetscErrorCode destroy() override { return memory.free(); }

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

} // namespace patchfd
