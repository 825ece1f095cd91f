/*
  Vertex patches of discontinuous fields in 3D, N = 2 n nodes a direction, n = K + 1 in each of the two cells:

    boundary   x_I = (1 - omega) x_I + omega (S S S) D^{-1} (S' S' S') (b_I - A_IB x_B)
    solve      x_I = x_I + omega (S S S) D^{-1} (S' S' S') r_I
    residual   r_I = b_I - A_IB x_B - (T' T' T') D (T T T) x_I,            T = S^{-1} = S' M_II

  D = lambda_0 + lambda_1 + lambda_2, 1 / 0 = 0.  The last one is the second with another matrix: R = T' in place of S (below, R is either).

  Faces.  Of the neighbour across face e of direction f a layer of N^2 values V at the vertex and one of derivatives G count, and

    A_IB x_B = sum_f value_f (x) (M M V_f) + slope_f (x) (M M G_f),

  M the masses of the two other directions, which are a cell's h times the reference mass, and value, slope nonzero in the half of the
  patch that touches the face: one number a node.

  Mapping.  A block of P N^2 / 2 threads (rounded up to warps) works on P patches of one colour that follow each other in x.  Nodes lie in
  shared memory in rows that hold all patches, U[z][y][p N + x] with an odd pitch: lines in y and z are taken with p N + x fastest (also
  from and to global memory), lines in x with the row fastest: no bank conflicts.  A thread owns the same line of the lower and of the
  upper half of the patch, so that an entry of R that comes from shared memory serves two products.  Where a direction's patches are of its
  most frequent class and that has parity, halves of R are operands from the constant bank instead and half of the products go: decided
  direction by direction when a block runs, so that boundaries and graded meshes need no other kernel.

    1. values of the cells beside the patch in x to U (asynchronously);  y- and z-faces: a thread a line of the neighbour to V, G
    2. x-faces: the same out of U
    3. b to U (asynchronously);  V, G times M in rows     4. ... in columns
    5. z-lines, less the faces, to modes     6. y-lines     7. x-lines, 1 / D, and back     8. y-lines back     9. z-lines back, to x

  with a barrier between each two.

  Floors, an unknown of the mesh and a step of all colours (each node is in 8 patches), double, on an H200.  Memory: b, x and the other
  phase's x once, 192 B, 46 ps at 4.2 TB/s; out of L2 40 B a node and patch, 40 ps.  Products, a node and patch: 3 N + 24 with parity, 25
  (k = 3) to 31 ps (k = 5); 6 N + 24 without, 37 to 50 ps.  Shared memory: 18 words of nodes and faces a node and patch, 35 ps; without
  parity 3 N words of R as well, 46 (k = 3) to 69 ps (k = 5).
*/
#include "dg/block.cuh"

namespace patchfd
{

/* What the faces subtract on the z-lines of a thread: columns c of rows y and y + n */
template <typename T, int K>
struct DGFaces {
  using F                = DGShape<T, K>;
  static constexpr int n = F::n, N = F::N;

  const T *zvalue, *zslope, *xlayer, *ylayer;
  T        z[2][2][2], xvalue, xslope, yvalue[2], yslope[2]; /* z: of line, end, V or G */

  __device__ __forceinline__ DGFaces(const DGBlock<T, K> &b, int c, int y)
  {
    const int p = c / N, j = c % N;
    const T  *rx = b.record(0, p), *ry = b.record(1, p);

    zvalue = b.record(2, p) + F::VALUE;
    zslope = b.record(2, p) + F::SLOPE;
    xvalue = rx[F::VALUE + j];
    xslope = rx[F::SLOPE + j];
    xlayer = b.layer(j < n ? 0 : 1, 0) + p * N + y;
    ylayer = b.layer(2, 0) + c;
#pragma unroll
    for (int l = 0; l < 2; l++) {
      yvalue[l] = ry[F::VALUE + y + l * n];
      yslope[l] = ry[F::SLOPE + y + l * n];
#pragma unroll
      for (int e = 0; e < 2; e++) {
#pragma unroll
        for (int which = 0; which < 2; which++) z[l][e][which] = b.layer(4 + e, which)[(y + l * n) * F::ROW + c];
      }
    }
  }
  /* node k of line l */
  __device__ __forceinline__ T operator()(int l, int k) const
  {
    const int e  = k < n ? 0 : 1;
    const T  *fx = xlayer + k * F::ROW + l * n, *fy = ylayer + 2 * l * F::LAYER + k * F::ROW;

    return zvalue[k] * z[l][e][0] + zslope[k] * z[l][e][1] + yvalue[l] * fy[0] + yslope[l] * fy[F::LAYER] + xvalue * fx[0] +
           xslope * fx[F::LAYER];
  }
};

/* ---- stages 5 to 9 ---- */

/* lines in y, or back */
template <typename T, int K, bool BACK>
__device__ __forceinline__ void DGLinesY(const DGBlock<T, K> &b)
{
  using F = DGShape<T, K>;
  T *line = b.sm + F::U + b.t / F::COLS * F::N * F::ROW + b.t % F::COLS, w[2][F::N];

  if (b.t >= F::LINES) return;
  if (BACK) {
#pragma unroll
    for (int i = 0; i < F::N; i++) {
      w[0][i] = line[i * F::ROW];
      w[1][i] = line[(F::n * F::N + i) * F::ROW];
    }
    DGToNodes<T, K>(b.m.half[1], b.main(1, 0), b.record(1, 0), w, [=](int l, int i, T v) { line[(l * F::n * F::N + i) * F::ROW] = v; });
  } else {
    DGToModes<T, K>(
      b.m.half[1], b.main(1, 0), b.record(1, 0), [=](int l, int i) { return line[(l * F::n * F::N + i) * F::ROW]; }, w);
#pragma unroll
    for (int i = 0; i < F::N; i++) {
      line[i * F::ROW]                 = w[0][i];
      line[(F::n * F::N + i) * F::ROW] = w[1][i];
    }
  }
}

/* lines in x, times D or 1 / D, and back */
template <typename T, int K, bool DIVIDE>
__device__ __forceinline__ void DGLinesX(const DGBlock<T, K> &b)
{
  using F       = DGShape<T, K>;
  const int row = b.t % (F::N * F::n), p = b.t / (F::N * F::n), y = row % F::N, z = row / F::N;
  T        *line = b.sm + F::U + row * F::ROW + p * F::N, w[2][F::N];

  if (b.t >= F::LINES) return;
  const T   *R = b.record(0, p), *lambda = R + F::LAMBDA;
  const bool main  = b.main(0, p);
  const T    yz[2] = {b.record(1, p)[F::LAMBDA + y] + b.record(2, p)[F::LAMBDA + z],
                      b.record(1, p)[F::LAMBDA + y] + b.record(2, p)[F::LAMBDA + z + F::n]};

  DGToModes<T, K>(
    b.m.half[0], main, R, [=](int l, int i) { return line[l * F::n * F::N * F::ROW + i]; }, w);
#pragma unroll
  for (int i = 0; i < F::N; i++) {
#pragma unroll
    for (int l = 0; l < 2; l++) w[l][i] *= DIVIDE ? ReciprocalOrZero(lambda[i] + yz[l]) : lambda[i] + yz[l];
  }
  DGToNodes<T, K>(b.m.half[0], main, R, w, [=](int l, int i, T v) { line[l * F::n * F::N * F::ROW + i] = v; });
}

/* stages 1 to 4; U = values, on whose arrival is not waited here */
template <typename T, int K>
__device__ __forceinline__ void DGGatherFaces(const DGBlock<T, K> &b, const T *x, const T *values, bool zero, bool novalues)
{
  b.template fetch<true>(x, zero);
  b.records();
  b.gather(x, zero);
  __pipeline_wait_prior(0);
  __syncthreads();
  b.gatherX();
  __syncthreads();
  b.template fetch<false>(values, novalues);
  b.massRows();
  __syncthreads();
  b.massColumns();
}

template <typename T, int K, PatchFDPatchOp OP>
__launch_bounds__(DGShape<T, K>::THREADS, DGShape<T, K>::BLOCKS) static __global__
  void DGPatchKernel(const __grid_constant__ DGMatrices<T, K> m, const __grid_constant__ ColorPatches g, T omega, T beta, bool zero, T *x,
                     const T *b, T *r)
{
  using F = DGShape<T, K>;
  extern __shared__ double2 dg_shared[];
  const DGBlock<T, K>       block(m, g, (T *)dg_shared);
  const int                 c = block.t % F::COLS, y = block.t / F::COLS, p = c / F::N;
  const bool                mine = block.t < F::LINES, main = block.main(2, 0);
  T                        *line = block.sm + F::U + y * F::ROW + c, w[2][F::N];

  if (OP == PATCHFD_OP_SOLVE) {
    block.template fetch<false>(b, false);
    block.records();
  } else DGGatherFaces<T, K>(block, x, OP == PATCHFD_OP_RESIDUAL ? x : b, zero, OP == PATCHFD_OP_RESIDUAL && zero);
  __pipeline_wait_prior(0);
  __syncthreads();
  if (mine) {
    if constexpr (OP == PATCHFD_OP_BOUNDARY) {
      const DGFaces<T, K> faces(block, c, y);

      DGToModes<T, K>(
        m.half[2], main, block.record(2, 0), [&](int l, int k) { return line[(k * F::N + l * F::n) * F::ROW] - faces(l, k); }, w);
    } else
      DGToModes<T, K>(
        m.half[2], main, block.record(2, 0), [=](int l, int k) { return line[(k * F::N + l * F::n) * F::ROW]; }, w);
#pragma unroll
    for (int k = 0; k < F::N; k++) {
      line[k * F::N * F::ROW]          = w[0][k];
      line[(k * F::N + F::n) * F::ROW] = w[1][k];
    }
  }
  __syncthreads();
  DGLinesY<T, K, false>(block);
  __syncthreads();
  DGLinesX<T, K, OP != PATCHFD_OP_RESIDUAL>(block);
  __syncthreads();
  DGLinesY<T, K, true>(block);
  __syncthreads();
  if (!mine || !block.exists(p)) return;
  const ptrdiff_t at = g.l.at(block.first(0, p) + c % F::N, block.y0 + y, block.z0);

#pragma unroll
  for (int k = 0; k < F::N; k++) {
    w[0][k] = line[k * F::N * F::ROW];
    w[1][k] = line[(k * F::N + F::n) * F::ROW];
  }
  if constexpr (OP == PATCHFD_OP_RESIDUAL) {
    const DGFaces<T, K> faces(block, c, y);

    DGToNodes<T, K>(m.half[2], main, block.record(2, 0), w, [&](int l, int k, T v) {
      const ptrdiff_t node = at + k * g.l.plane + l * F::n * g.l.row;

      r[node] = b[node] - faces(l, k) - v;
    });
  } else {
    DGToNodes<T, K>(m.half[2], main, block.record(2, 0), w, [=](int l, int k, T v) {
      T *node = x + at + k * g.l.plane + l * F::n * g.l.row;

      *node = beta == 0 ? omega * v : beta * *node + omega * v;
    });
  }
}

/* ---- plans ---- */

template <typename T, int K>
struct DGSmootherDegree : DGSmootherFast {
  using F = DGShape<T, K>;
  DGMatrices<T, K> solve, residual; /* R = S, R = T' */
  PlanMemory       memory;

  template <PatchFDPatchOp OP>
  PetscErrorCode launch(const ColorPatches &g, PetscReal omega, PetscReal beta, bool zero, void *x, const void *b, void *r,
                        cudaStream_t stream) const
  {
    const dim3              grid((g.slots() + F::P - 1) / F::P, g.count[1], g.count[2]);
    const size_t            shared = (OP == PATCHFD_OP_SOLVE ? F::LAYERS : F::SIZE) * sizeof(T);
    const DGMatrices<T, K> &m      = OP == PATCHFD_OP_RESIDUAL ? residual : solve;

    PetscFunctionBegin;
    DGPatchKernel<T, K, OP><<<grid, F::THREADS, shared, stream>>>(m, g, (T)omega, (T)beta, zero, (T *)x, (const T *)b, (T *)r);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const ColorPatches &g, PatchFDPatchOp op, PetscReal omega, PetscReal beta, bool zero, void *x, const void *b,
                       void *r, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    if (op == PATCHFD_OP_RESIDUAL) PetscCall(launch<PATCHFD_OP_RESIDUAL>(g, omega, beta, zero, x, b, r, stream));
    else if (op == PATCHFD_OP_SOLVE) PetscCall(launch<PATCHFD_OP_SOLVE>(g, omega, beta, zero, x, b, r, stream));
    else PetscCall(launch<PATCHFD_OP_BOUNDARY>(g, omega, beta, zero, x, b, r, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscLogDouble flops(PatchFDPatchOp op) const override
  {
    constexpr PetscLogDouble n = F::n, N = F::N;
    const PetscLogDouble     lines = 6 * N * N * (solve.main[0] >= 0 ? N * (N + 2) : 2 * N * N) + 3 * N * N * N;

    return op == PATCHFD_OP_SOLVE ? lines : lines + 12 * N * N * n + 24 * 2 * N * N * n + 12 * N * N * N;
  }

  PetscErrorCode create(const PatchFDLocalDesc *);

private:
  PetscErrorCode direction(const PatchFDPatches *, int d);
};

/* the most frequent class with parity, or -1 */
static inline int DGMainClass(const PatchFDPatches *pd)
{
  std::vector<int> count((size_t)pd->nclass, 0);
  int              main = -1;

  for (PetscInt i = 0; i < pd->npatch; i++) {
    const int c = (int)pd->cls[i];

    count[c]++;
    if (pd->eigen[c].parity && (main < 0 || count[c] > count[main])) main = c;
  }
  return main;
}

/* records of all classes, with R = S and with R = T' */
template <typename T, int K>
PetscErrorCode DGSmootherDegree<T, K>::direction(const PatchFDPatches *pd, int d)
{
  constexpr int n = F::n, N = F::N, ld = N + 2 * n;
  const int     main = DGMainClass(pd);

  PetscFunctionBegin;
  PetscCall(memory.upload((size_t)pd->npatch, pd->cls, &solve.cls[d]));
  for (int which = 0; which < 2; which++) {
    DGMatrices<T, K>      &m = which ? residual : solve;
    std::vector<PetscReal> all((size_t)pd->nclass * F::RECORD);

    for (PetscInt c = 0; c < pd->nclass; c++) {
      const PatchFDEigen *e = &pd->eigen[c];
      PetscReal          *v = all.data() + c * F::RECORD;

      for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) v[i * N + j] = which ? e->T[j * N + i] : e->S[i * N + j];
        v[F::LAMBDA + i] = e->lambda[i];
        v[F::VALUE + i]  = e->value[i < n ? 0 : 1][i];
        v[F::SLOPE + i]  = e->slope[i < n ? 0 : 1][i];
      }
      /* M of the reference has M[0][0] = 1 */
      for (int half = 0; half < 2; half++) v[F::LENGTH + half] = e->MI[half * n * ld + n + half * n];
      if (c != main) continue;
      for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
          m.half[d].even[i * n + j] = (T)v[i * N + j];
          m.half[d].odd[i * n + j]  = (T)v[i * N + n + j];
        }
      }
    }
    PetscCall(memory.upload(all.size(), all.data(), &m.record[d]));
    m.main[d] = main;
    m.cls[d]  = solve.cls[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, int K>
PetscErrorCode DGSmootherDegree<T, K>::create(const PatchFDLocalDesc *desc)
{
  constexpr int       n = F::n, N = F::N, ld = N + 2 * n;
  const PatchFDEigen *e = &desc->field->dir[0]->eigen[0];

  PetscFunctionBegin;
  for (DGMatrices<T, K> *m : {&solve, &residual}) {
    for (int i = 0; i < n; i++) {
      m->derivative[i] = (T)e->derivative[1][i];
      for (int j = 0; j < n; j++) m->M[i * n + j] = (T)(e->MI[i * ld + n + j] / e->MI[n]);
    }
  }
  for (int d = 0; d < 3; d++) PetscCall(direction(desc->field->dir[d], d));
  PetscCall(AllowShared(DGPatchKernel<T, K, PATCHFD_OP_RESIDUAL>, F::SIZE * sizeof(T)));
  PetscCall(AllowShared(DGPatchKernel<T, K, PATCHFD_OP_SOLVE>, F::LAYERS * sizeof(T)));
  PetscCall(AllowShared(DGPatchKernel<T, K, PATCHFD_OP_BOUNDARY>, F::SIZE * sizeof(T)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode DGSmootherFastCreate(int K, const PatchFDLocalDesc *desc, DGSmootherFast **fast)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, dg_fast_degrees>(K, [&](auto degree) {
    DGSmootherDegree<T, degree> *p = new DGSmootherDegree<T, degree>();

    PetscFunctionBegin;
    *fast = p;
    PetscCall(p->create(desc));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::DGSmootherFastCreate<INSTANCE_T>(int, const PatchFDLocalDesc *, DGSmootherFast **);
