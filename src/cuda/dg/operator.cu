/*
  y = y0 + alpha A x for a discontinuous field,  A = A_0 (x) M_1 (x) M_2 + M_0 (x) A_1 (x) M_2 + M_0 (x) M_1 (x) A_2.

  Fast kernel (3D, one degree in all directions).  M_d couples nothing but a cell's own nodes, so

    A = (M_0 (x) M_1 (x) M_2) (B_0 + B_1 + B_2),   B_d = M_d^{-1} A_d in direction d,

  six products with n = k + 1 nodes a line, and the faces enter the sum untransformed.  Interior penalties in a line of cells have few
  parameters:
  with v and g the values at a cell's end and the derivatives there, inward, K and M of the reference cell and ' for those of the neighbour,

    h B u = M^{-1} ( a K u + b M u + sum_ends v (vv v.u + vg g.u + p v'.u' + q g'.u') + g (vg v.u + s v'.u') )

  with numbers a, b, vv, vg, p, q, s of a cell: found by least squares from the bands' blocks, which have to be met to rounding.  So M^{-1}
  K, M^{-1} v, M^{-1} g and M are the same for all cells of all meshes and stand in the constant bank; graded meshes take the kernel of
  uniform ones.

  Mapping: a block of threads takes a tile of PX x PY cells, a thread a line of a cell.

    1. z-lines from global memory, with those of the cells below and above:  W = B_2 u;  u to shared memory.  What lies beside the tile in x
    and in y
       comes to shared memory asynchronously.
    2. y-lines  W += B_1 u       3. x-lines  W = M_0 (W + B_0 u)       4. y-lines  W = M_1 W       5. z-lines  y = y0 + alpha M_2 W

  Lanes follow x in 1, 2, 4 and 5 and rows of odd pitch in 3: no bank conflicts.

  Floors a node, double, H200: memory 16 B (24 with y0), 3.8 ps; L2 reads 1 + 2 (z) + 2 / PX + 2 / PY words, 4 to 5 ps; products 6 n + 33,
  4 ps at k = 3 and 5 ps at k = 5; shared memory 15 words, 4 ps.

  Generic kernel (any directions, degrees and matrices): one team of threads a cell; A_d times the three cells in direction d, then the
  masses.
*/
#include "dg/dg.cuh"
#include "base/lines.cuh"
#include <cuda_pipeline.h>

namespace patchfd
{

template <typename T>
struct DGOperatorFast {
  virtual ~DGOperatorFast() { }
  virtual PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t) const = 0;
};

template <typename T>
struct DGOperatorData {
  int     n[3], first[3], count[3]; /* nodes of a cell, the cells to visit */
  int     reach[3];
  Layout  xl, yl;
  Range   read, write;
  T      *M[3], *A[3]; /* generic: [class][n][n], [class][n][(2 reach + 1) n] */
  int    *mcls[3], *acls[3];
  T      *cells[3]; /* fast: [cell][DG_CELL] */
  Team<T> team;
  size_t  size; /* cells */
};

template <typename T>
struct DGOperatorPlan : Plan {
  DGOperatorData<T>        data;
  Owned<DGOperatorFast<T>> fast;
  bool                     covers; /* all of y is written */
  size_t                   size;   /* nodes of y */
  PetscLogDouble           flops;
  PlanMemory               memory;
};

/* ---- fast kernel ---- */

template <int K>
struct DGTile {
  static constexpr int px[] = {0, 16, 10, 8, 6, 5, 4, 4, 3}, py[] = {0, 4, 3, 2, 2, 2, 1, 1, 1};

  static constexpr int n = K + 1, PX = px[K], PY = py[K], X = PX * n, Y = PY * n, THREADS = RoundUp(X * Y, 32);
  static constexpr int UROW = (X + 2 * n) | 1, UPLANE = UROW * (Y + 2 * n), WROW = X | 1, WPLANE = WROW * Y, SIZE = n * (UPLANE + WPLANE);
};

/* nodes beside the tile in x and y, zero where there are none; U[z][y + n][x + n].  No wait */
template <typename T, int K>
__device__ __forceinline__ void DGFetchRim(const DGOperatorData<T> &d, const int first[3], const T *__restrict__ x, T *U)
{
  using F         = DGTile<K>;
  constexpr int n = F::n, SIDES = 2 * n * F::Y, ENDS = 2 * n * F::X;

  for (int task = threadIdx.x; task < n * (SIDES + ENDS); task += F::THREADS) {
    const int  k = task / (SIDES + ENDS), l = task % (SIDES + ENDS);
    const bool side = l < SIDES;
    const int  a = side ? l % (2 * n) : (l - SIDES) / F::X, i = side ? (a < n ? a - n : F::X + a - n) : (l - SIDES) % F::X,
              j = side ? l / (2 * n) : (a < n ? a - n : F::Y + a - n);
    T *to       = U + k * F::UPLANE + (j + n) * F::UROW + i + n;

    if (d.read.contains(first[0] + i, first[1] + j, first[2] + k))
      __pipeline_memcpy_async(to, x + d.xl.at(first[0] + i, first[1] + j, first[2] + k), sizeof(T));
    else *to = 0;
  }
  __pipeline_commit();
}

template <typename T, int n>
static __device__ __forceinline__ void DGLoad(const T *from, int stride, T v[n])
{
#pragma unroll
  for (int l = 0; l < n; l++) v[l] = from[l * stride];
}

template <typename T, int n>
static __device__ __forceinline__ void DGStore(const T v[n], T *to, int stride)
{
#pragma unroll
  for (int l = 0; l < n; l++) to[l * stride] = v[l];
}

/* w: what the line `from` of a cell and those of its neighbours give, added to the line at W */
template <typename T, int K>
static __device__ __forceinline__ void DGAddLine(const DGLineMatrices<T, K> &m, const T *cell, const T *from, int stride, const T *W,
                                                 int wstride, T w[K + 1])
{
  constexpr int n = K + 1;
  T             u[n];

  DGLoad<T, n>(from, stride, u);
  DGLoad<T, n>(W, wstride, w);
  DGCellLine<T, K>(
    m, cell, u, [=](int l) { return from[(l - n) * stride]; }, [=](int l) { return from[(l + n) * stride]; }, w);
}

/* the z-line (i, j) of the tile, read from x and left in U; w: what it and its neighbours give */
template <typename T, int K>
static __device__ __forceinline__ void DGFirstLine(const DGLineMatrices<T, K> &m, const T *cell, const DGOperatorData<T> &d,
                                                   const int first[3], int i, int j, const T *x, T *U, T w[K + 1])
{
  constexpr int   n    = K + 1;
  const bool      line = Inside(d.read, 0, first[0] + i) && Inside(d.read, 1, first[1] + j);
  const ptrdiff_t at   = d.xl.at(first[0] + i, first[1] + j, first[2]);
  auto            node = [&](int l) { return line && Inside(d.read, 2, first[2] + l) ? x[at + l * d.xl.plane] : T(0); };
  T               u[n];

#pragma unroll
  for (int l = 0; l < n; l++) {
    u[l] = node(l);
    w[l] = 0;
  }
  DGStore<T, n>(u, U, DGTile<K>::UPLANE);
  DGCellLine<T, K>(
    m, cell, u, [&](int l) { return node(l - n); }, [&](int l) { return node(l + n); }, w);
}

template <typename T, int K>
__launch_bounds__(DGTile<K>::THREADS) static __global__
  void DGCellKernel(const __grid_constant__ DGLineMatrices<T, K> m, const __grid_constant__ DGOperatorData<T> d, T alpha,
                    const T *__restrict__ x, const T *y0, T *y)
{
  using F                     = DGTile<K>;
  constexpr int             n = F::n;
  extern __shared__ double2 dg_shared[];
  T                        *U = (T *)dg_shared, *W = U + n * F::UPLANE;
  const int                 t = threadIdx.x,
            cell[3]           = {d.first[0] + (int)blockIdx.x * F::PX, d.first[1] + (int)blockIdx.y * F::PY, d.first[2] + (int)blockIdx.z},
            first[3]          = {cell[0] * n, cell[1] * n, cell[2] * n};
  const bool mine             = t < F::X * F::Y;
  /* z-lines (i, j), y-lines (i, z = k) of cell cy, x-lines (y = r, z = s) of cell cx; numbers of the cells of the last tile that do not
     exist are those of the last one */
  const int i = t % F::X, j = t / F::X, k = j % n, cy = j / n, r = t % F::Y, s = t / F::Y % n, cx = t / F::Y / n;
  const int last0 = d.first[0] + d.count[0] - 1, last1 = d.first[1] + d.count[1] - 1;
  const T  *zcell = d.cells[2] + (size_t)cell[2] * DG_CELL;
  T *const zline = W + j * F::WROW + i, *const yline = W + k * F::WPLANE + cy * n * F::WROW + i;
  T u[n], w[n], v[n];

  DGFetchRim<T, K>(d, first, x, U);
  if (mine) {
    DGFirstLine<T, K>(m, zcell, d, first, i, j, x, U + (j + n) * F::UROW + i + n, w);
    DGStore<T, n>(w, zline, F::WPLANE);
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  if (mine) {
    DGAddLine<T, K>(m, d.cells[1] + (size_t)min(cell[1] + cy, last1) * DG_CELL, U + k * F::UPLANE + (cy + 1) * n * F::UROW + i + n, F::UROW,
                    yline, F::WROW, w);
    DGStore<T, n>(w, yline, F::WROW);
  }
  __syncthreads();
  if (mine) {
    T *const xline = W + s * F::WPLANE + r * F::WROW + cx * n;

    DGAddLine<T, K>(m, d.cells[0] + (size_t)min(cell[0] + cx, last0) * DG_CELL, U + s * F::UPLANE + (r + n) * F::UROW + (cx + 1) * n, 1,
                    xline, 1, w);
    DGMassLine<T, n>(m.M, w, v);
    DGStore<T, n>(v, xline, 1);
  }
  __syncthreads();
  if (mine) {
    DGLoad<T, n>(yline, F::WROW, w);
    DGMassLine<T, n>(m.M, w, v);
    DGStore<T, n>(v, yline, F::WROW);
  }
  __syncthreads();
  const int ci = cell[0] + i / n, cj = cell[1] + j / n; /* the cell of the z-line */

  if (!mine || ci > last0 || cj > last1 || !Inside(d.write, 0, first[0] + i) || !Inside(d.write, 1, first[1] + j)) return;
  const T         scale = alpha * d.cells[0][(size_t)ci * DG_CELL + DG_H] * d.cells[1][(size_t)cj * DG_CELL + DG_H] * zcell[DG_H];
  const ptrdiff_t at    = d.yl.at(first[0] + i, first[1] + j, first[2]);

  DGLoad<T, n>(zline, F::WPLANE, w);
  DGMassLine<T, n>(m.M, w, v);
#pragma unroll
  for (int l = 0; l < n; l++) {
    if (Inside(d.write, 2, first[2] + l)) y[at + l * d.yl.plane] = (y0 ? y0[at + l * d.yl.plane] : T(0)) + scale * v[l];
  }
}

template <typename T, int K>
struct DGOperatorDegree : DGOperatorFast<T> {
  DGLineMatrices<T, K> m;
  DGOperatorData<T>    d;

  PetscErrorCode create(const DGReference &ref, const DGOperatorData<T> &data)
  {
    PetscFunctionBegin;
    d = data;
    m.create(ref);
    PetscCall(AllowShared(DGCellKernel<T, K>, DGTile<K>::SIZE * sizeof(T)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode fits(const DGOperatorData<T> &d, bool *yes)
  {
    PetscFunctionBegin;
    PetscCall(SharedFits(DGCellKernel<T, K>, DGTile<K>::SIZE * sizeof(T), yes));
    *yes = *yes && GridFits((d.count[1] + DGTile<K>::PY - 1) / DGTile<K>::PY, d.count[2]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const override
  {
    using F = DGTile<K>;
    const dim3 grid((d.count[0] + F::PX - 1) / F::PX, (d.count[1] + F::PY - 1) / F::PY, d.count[2]);

    PetscFunctionBegin;
    DGCellKernel<T, K><<<grid, F::THREADS, F::SIZE * sizeof(T), stream>>>(m, d, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T>
static PetscErrorCode DGOperatorFastCreate(int K, const DGReference &ref, const DGOperatorData<T> &data, DGOperatorFast<T> **fast)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, dg_fast_degrees>(K, [&](auto degree) {
    DGOperatorDegree<T, degree> *p;
    bool                         fits;

    PetscFunctionBegin;
    PetscCall((DGOperatorDegree<T, degree>::fits(data, &fits)));
    if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
    p     = new DGOperatorDegree<T, degree>;
    *fast = p;
    PetscCall(p->create(ref, data));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- generic kernel ---- */

template <typename T>
static __global__ void DGGenericCellKernel(const __grid_constant__ DGOperatorData<T> c, T alpha, const T *__restrict__ x, T *y)
{
  const int *n = c.n, size = n[0] * n[1] * n[2];
  T         *closure = TeamMemory<T>(c.team.global, c.team.size), *p = closure + 3 * size, *q = p + size, *sum = q + size;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < c.size; base += (size_t)gridDim.x * blockDim.y) {
    const size_t item     = base + threadIdx.y;
    const bool   active   = item < c.size;
    const int    cell[3]  = {c.first[0] + (int)(item % c.count[0]), c.first[1] + (int)(item / c.count[0] % c.count[1]),
                             c.first[2] + (int)(item / c.count[0] / c.count[1])};
    const int    first[3] = {cell[0] * n[0], cell[1] * n[1], cell[2] * n[2]};

    for (int f = 0; f < 3; f++) {
      const int a = f == 0 ? 1 : 0, b = f == 2 ? 1 : 2, width = (2 * c.reach[f] + 1) * n[f];
      int       low[3] = {first[0], first[1], first[2]}, wide[3] = {n[0], n[1], n[2]};

      low[f] -= c.reach[f] * n[f];
      wide[f] = width;
      if (active) Gather(low, wide, c.read, c.xl, x, closure);
      __syncthreads();
      if (active) Contract(f, wide, n[f], Matrix<T>{c.A[f] + (size_t)c.acls[f][cell[f]] * n[f] * width, width, 1}, closure, p, false);
      __syncthreads();
      if (active) Contract(a, n, n[a], Matrix<T>{c.M[a] + (size_t)c.mcls[a][cell[a]] * n[a] * n[a], n[a], 1}, p, q, false);
      __syncthreads();
      if (active) Contract(b, n, n[b], Matrix<T>{c.M[b] + (size_t)c.mcls[b][cell[b]] * n[b] * n[b], n[b], 1}, q, sum, f > 0);
      __syncthreads();
    }
    if (active) {
      for (int e = threadIdx.x; e < size; e += blockDim.x) {
        const int i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];

        if (c.write.contains(i, j, k)) y[c.yl.at(i, j, k)] += alpha * sum[e];
      }
    }
    __syncthreads();
  }
}

/* ---- plans ---- */

/* the fast kernel, where the bands are of its form */
template <typename T>
static PetscErrorCode DGChooseFast(const PatchFDBand *A[3], const PatchFDBand *M[3], DGOperatorPlan<T> *p)
{
  const PetscInt         n = A[0]->nloc;
  DGReference            ref;
  std::vector<PetscReal> numbers[3];

  PetscFunctionBegin;
  if (n < 2 || n - 1 > dg_fast_degrees) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++)
    if (A[d]->reach != 1 || A[d]->nloc != n || A[d]->stride != n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ref.create(n - 1));
  for (int d = 0; d < 3; d++)
    if (!DGLineNumbers(ref, M[d], A[d], numbers[d])) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(p->memory.upload(numbers[d].size(), numbers[d].data(), &p->data.cells[d]));
  PetscCall(DGOperatorFastCreate<T>((int)n - 1, ref, p->data, &p->fast));
  if (!p->fast) PetscFunctionReturn(PETSC_SUCCESS);
  p->flops = 2.0 * n * n * n * (6.0 * n + 33) * (PetscLogDouble)p->data.size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode DGChooseGeneric(const PatchFDBand *A[3], const PatchFDBand *M[3], DGOperatorPlan<T> *p)
{
  DGOperatorData<T> *c    = &p->data;
  const int          size = c->n[0] * c->n[1] * c->n[2];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PetscCall(p->memory.upload((size_t)(M[d]->nclass * M[d]->nloc * M[d]->nloc), M[d]->X, &c->M[d]));
    PetscCall(p->memory.upload((size_t)(A[d]->nclass * A[d]->nloc * A[d]->nloc * (2 * A[d]->reach + 1)), A[d]->X, &c->A[d]));
    PetscCall(p->memory.upload((size_t)M[d]->ncells, M[d]->cls, &c->mcls[d]));
    PetscCall(p->memory.upload((size_t)A[d]->ncells, A[d]->cls, &c->acls[d]));
    p->flops += 2.0 * size * ((2 * c->reach[d] + 3) * c->n[d]) * (PetscLogDouble)c->size;
  }
  PetscCall(c->team.create(size, 6 * (size_t)size, &p->memory));
  PetscCall(AllowShared(DGGenericCellKernel<T>, c->team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode DGOperator<T>::create(const PatchFDOperatorDesc *desc, void **plan)
{
  const PatchFDField *field = desc->field;
  const PatchFDBand  *A[3], *M[3];
  DGOperatorPlan<T>  *p;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCheck(PatchFDKroneckerSum(desc, A, M), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The CUDA operator of a discontinuous field has to be one direction's matrix times the others' masses, summed over "
             "directions");
  PetscCheck(field->x0 == 0 && field->y0 == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A single field begins at %zu and %zu of its arrays",
             field->x0, field->y0);
  PetscCall(Stream(&stream));
  p             = new DGOperatorPlan<T>();
  *plan         = p;
  p->size       = PatchFDBoxSize(&field->ybox);
  p->covers     = true;
  p->data.xl    = Layout(field->xbox);
  p->data.yl    = Layout(field->ybox);
  p->data.read  = Range(field->read);
  p->data.write = Range(field->write);
  p->data.size  = 1;
  for (int d = 0; d < 3; d++) {
    const PetscInt lo = field->ybox.lo[d], hi = lo + field->ybox.n[d], n = A[d]->nloc;

    p->data.n[d]     = (int)n;
    p->data.reach[d] = (int)A[d]->reach;
    p->data.first[d] = (int)desc->cells[d][0];
    p->data.count[d] = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
    p->data.size *= (size_t)p->data.count[d];
    /* nothing is written outside of y */
    p->data.write.lo[d] = (int)PetscMax(field->write[d][0], lo);
    p->data.write.hi[d] = (int)PetscMin(field->write[d][1], hi);
    p->covers           = p->covers && p->data.write.lo[d] <= lo && p->data.write.hi[d] >= hi && desc->cells[d][0] * n <= lo &&
                desc->cells[d][1] * n >= hi;
  }
  if (!p->data.size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DGChooseFast<T>(A, M, p));
  if (!p->fast) PetscCall(DGChooseGeneric<T>(A, M, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode DGOperator<T>::apply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
{
  DGOperatorPlan<T> *p = (DGOperatorPlan<T> *)plan;

  PetscFunctionBegin;
  PetscCall(Launch(p->flops, [&](cudaStream_t stream) {
    PetscFunctionBegin;
    if (!p->fast || !p->covers) {
      PetscCall(StartSum<T>(p->size, y0, y, stream));
      y0 = y;
    }
    if (p->fast) PetscCall(p->fast->apply(alpha, x, y0, y, stream));
    else if (p->data.size) {
      DGGenericCellKernel<T>
        <<<p->data.team.grid(p->data.size), p->data.team.block(), p->data.team.shared, stream>>>(p->data, (T)alpha, (const T *)x, (T *)y);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct DGOperator<double>;
template struct DGOperator<float>;

} // namespace patchfd
