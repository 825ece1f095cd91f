/*
  The operator (operator.cuh): the choice of the kernel, that of 1D, a thread a node, and the generic one, a team of threads a cell.  Cells
  add to y = y0 with atomics.
*/
#include "base/lines.cuh"
#include "operator/operator.cuh"

namespace patchfd
{

template <typename T>
struct CellKernelData {
  int        n[3], first[3], count[3]; /* nodes of a cell, the cells to visit */
  RingLayout xl;
  Layout     yl;
  Range      read, write;
  T         *M[3], *A[3]; /* [class][n][n] */
  int       *cls[3];
  Team<T>    team;
  size_t     cells;
};

template <typename T>
struct OperatorPlan : Plan {
  CellKernelData<T>   cell = {};
  Owned<OperatorFast> fast;
  const char         *name  = NULL;
  size_t              size  = 0; /* nodes of y */
  PetscLogDouble      flops = 0;
  PlanMemory          memory;
};

/* p = M0 u, q = A0 u, s = M1 q + A1 p, t = M1 p, y += M2 s + A2 t; three blocks: u and s share one, q and t another */
template <typename T>
static __global__ void CellKernel(const __grid_constant__ CellKernelData<T> c, T alpha, const T *__restrict__ x, T *__restrict__ y)
{
  const int *n = c.n, size = n[0] * n[1] * n[2];
  T         *u = TeamMemory<T>(c.team.global, c.team.size), *p = u + size, *q = p + size;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < c.cells; base += (size_t)gridDim.x * blockDim.y) {
    const size_t item     = base + threadIdx.y;
    const bool   active   = item < c.cells;
    const int    cell[3]  = {c.first[0] + (int)(item % c.count[0]), c.first[1] + (int)(item / c.count[0] % c.count[1]),
                             c.first[2] + (int)(item / c.count[0] / c.count[1])};
    const int    first[3] = {cell[0] * (n[0] - 1), cell[1] * (n[1] - 1), cell[2] * (n[2] - 1)};
    Matrix<T>    M[3], A[3];

    if (active) {
      for (int d = 0; d < 3; d++) {
        const size_t offset = (size_t)c.cls[d][cell[d]] * n[d] * n[d];

        M[d] = {c.M[d] + offset, n[d], 1};
        A[d] = {c.A[d] + offset, n[d], 1};
      }
      Gather(first, n, c.read, c.xl, x, u);
    }
    __syncthreads();
    if (active) {
      Contract(0, n, n[0], M[0], u, p, false);
      Contract(0, n, n[0], A[0], u, q, false);
    }
    __syncthreads();
    if (active) {
      Contract(1, n, n[1], M[1], q, u, false);
      Contract(1, n, n[1], A[1], p, u, true);
    }
    __syncthreads();
    if (active) Contract(1, n, n[1], M[1], p, q, false);
    __syncthreads();
    if (active) {
      Contract(2, n, n[2], M[2], u, p, false);
      Contract(2, n, n[2], A[2], q, p, true); /* each thread adds to what it wrote itself */
      for (int e = threadIdx.x; e < size; e += blockDim.x) {
        const int i = first[0] + e % n[0], j = first[1] + e / n[0] % n[1], k = first[2] + e / n[0] / n[1];

        if (c.write.contains(i, j, k)) atomicAdd(&y[c.yl.at(i, j, k)], alpha * p[e]);
      }
    }
    __syncthreads();
  }
}

/* ---- 1D ---- */

template <typename T>
struct LineKernelData {
  int        k, first, end;                 /* nodes from one cell to the next, the cells to visit */
  int        y, size, x, read[2], write[2]; /* first node of y, their number, first node of x */
  const T   *X;                             /* [class][k + 1][k + 1] */
  const int *cls;
};

/* row r of a cell times x */
template <typename T>
static __device__ T LineRow(const LineKernelData<T> &c, int cell, int r, const T *__restrict__ x)
{
  const T *row = c.X + ((size_t)c.cls[cell] * (c.k + 1) + r) * (c.k + 1);
  T        sum = 0;

  for (int j = 0; j <= c.k; j++) {
    const int node = cell * c.k + j;

    if (node >= c.read[0] && node < c.read[1]) sum += row[j] * x[node - c.x];
  }
  return sum;
}

/* a node is the first one of its cell, and then the last one of that before, or inside; y may be y0 */
template <typename T>
static __global__ void LineKernel(const __grid_constant__ LineKernelData<T> c, T alpha, const T *__restrict__ x, const T *y0, T *y)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x, node = c.y + i, cell = node / c.k, r = node % c.k;
  T         sum = 0;

  if (i >= c.size) return;
  if (node >= c.write[0] && node < c.write[1]) {
    if (cell >= c.first && cell < c.end) sum += LineRow(c, cell, r, x);
    if (r == 0 && cell - 1 >= c.first && cell - 1 < c.end) sum += LineRow(c, cell - 1, c.k, x);
  }
  y[i] = (y0 ? y0[i] : T(0)) + alpha * sum;
}

template <typename T>
struct OperatorLine : OperatorFast {
  LineKernelData<T> data;

  PetscErrorCode create(const SumDesc *desc, PlanMemory *memory)
  {
    const SumDesc::Line   &line = desc->dir[0];
    const PetscReal        M1 = desc->dir[1].M[0], M2 = desc->dir[2].M[0], point = desc->dir[1].A[0] * M2 + M1 * desc->dir[2].A[0];
    std::vector<PetscReal> X((size_t)(line.nclass * line.nloc * line.nloc));
    T                     *device;
    int                   *cls;

    PetscFunctionBegin;
    for (size_t i = 0; i < X.size(); i++) X[i] = line.A[i] * M1 * M2 + line.M[i] * point;
    PetscCall(memory->upload(X.size(), X.data(), &device));
    PetscCall(memory->upload((size_t)line.ncells, line.cls, &cls));
    data = {(int)line.nloc - 1,
            (int)desc->cells[0][0],
            (int)desc->cells[0][1],
            (int)desc->ybox.lo[0],
            (int)desc->ybox.n[0],
            (int)desc->xbox.lo[0],
            {},
            {},
            device,
            cls};
    for (int e = 0; e < 2; e++) {
      data.read[e]  = (int)desc->read[0][e];
      data.write[e] = (int)desc->write[0][e];
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const override
  {
    const int threads = 256;

    PetscFunctionBegin;
    if (!data.size) PetscFunctionReturn(PETSC_SUCCESS);
    LineKernel<T><<<(data.size + threads - 1) / threads, threads, 0, stream>>>(data, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* ---- what is chosen ---- */

/* is X = a A + s M for n numbers, to rounding?  These have the least squares of the rest */
static bool Combination(PetscInt n, const PetscReal *X, const PetscReal *A, const PetscReal *M, PetscReal *a, PetscReal *s)
{
  PetscReal AA = 0, AM = 0, MM = 0, XA = 0, XM = 0, rest = 0, most = 0;

  for (PetscInt i = 0; i < n; i++) {
    AA += A[i] * A[i];
    AM += A[i] * M[i];
    MM += M[i] * M[i];
    XA += X[i] * A[i];
    XM += X[i] * M[i];
  }
  const PetscReal det = AA * MM - AM * AM;
  const bool      two = det > 1e-15 * AA * MM; /* otherwise A is zero or a multiple of M: mass matrices */

  *a = two ? (XA * MM - XM * AM) / det : 0;
  *s = two ? (XM * AA - XA * AM) / det : XM / MM;
  for (PetscInt i = 0; i < n; i++) {
    rest = PetscMax(rest, PetscAbsReal(X[i] - *a * A[i] - *s * M[i]));
    most = PetscMax(most, PetscAbsReal(X[i]));
  }
  return rest <= 1e-13 * most;
}

std::vector<CellScale<PetscReal>> ClassScales(const SumDesc *desc, int d)
{
  const SumDesc::Line              &line = desc->dir[d];
  const PetscInt                    n    = line.nloc * line.nloc;
  std::vector<CellScale<PetscReal>> scales((size_t)line.nclass);

  for (PetscInt c = 0; c < line.nclass; c++) {
    const PetscReal *M = line.M + c * n, *A = line.A + c * n;
    PetscReal        none;

    if (!Combination(n, M, line.M, line.M, &none, &scales[c].m)) return {}; /* a multiple */
    if (!Combination(n, A, line.A, line.M, &scales[c].a, &scales[c].s)) return {};
  }
  return scales;
}

/* in 1D, and for cells of one degree, in 2D or 3D, that are equal or nearly so; NULL for others */
template <typename T>
static PetscErrorCode OperatorFastChoose(const SumDesc *desc, PlanMemory *memory, OperatorFast **fast, const char **name)
{
  const bool     plane = desc->dir[2].nloc == 1;
  const PetscInt n     = desc->dir[0].nloc;
  bool           equal = true, scaled = true;

  PetscFunctionBegin;
  *fast = NULL;
  if (n > 1 && desc->dir[1].nloc == 1 && plane) {
    OperatorLine<T> *line = new OperatorLine<T>;

    *fast = line;
    *name = "a line";
    PetscCall(line->create(desc, memory));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *name = "any cells, by atomics: directions or degrees that have no kernel of their own";
  if (n < 2 || n - 1 > (plane ? operator_plane_degrees : operator_march_degrees)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    if (desc->dir[d].nloc != n && !(d == 2 && plane)) PetscFunctionReturn(PETSC_SUCCESS);
    equal  = equal && desc->dir[d].nclass == 1;
    scaled = scaled && ((d == 2 && plane) || !ClassScales(desc, d).empty());
  }
  *name = equal  ? "equal cells"
        : scaled ? "cells by place: they are not equal"
                 : "any cells, by atomics: their matrices are not multiples of each other";
  if (plane && equal) PetscCall((OperatorPlaneCreate<T, false>(desc, memory, fast)));
  else if (equal) PetscCall((OperatorMarchCreate<T, false>(desc, memory, fast)));
  else if (plane && scaled) PetscCall((OperatorPlaneCreate<T, true>(desc, memory, fast)));
  else if (scaled) PetscCall((OperatorMarchCreate<T, true>(desc, memory, fast)));
  if (!*fast && scaled) *name = "any cells, by atomics: the kernel for this degree does not fit the GPU";
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Operator<T>::create(const SumDesc *desc, void **plan)
{
  OperatorPlan<T>   *p    = new OperatorPlan<T>;
  CellKernelData<T> &cell = p->cell;
  int                size = 1;
  cudaStream_t       stream;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(Stream(&stream));
  p->size    = PatchFDBoxSize(&desc->ybox);
  cell.xl    = RingLayout(desc->xbox, desc->read);
  cell.yl    = Layout(desc->ybox);
  cell.read  = Range(desc->read);
  cell.write = Range(desc->write);
  cell.cells = 1;
  for (int d = 0; d < 3; d++) {
    cell.first[d] = (int)desc->cells[d][0];
    cell.count[d] = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
    cell.n[d]     = (int)desc->dir[d].nloc;
    cell.cells *= (size_t)cell.count[d];
    size *= cell.n[d];
  }
  p->flops = 2.0 * size * (2 * cell.n[0] + 3 * cell.n[1] + 2 * cell.n[2] + 1) * (PetscLogDouble)cell.cells;
  PetscCall(OperatorFastChoose<T>(desc, &p->memory, &p->fast, &p->name));
  if (p->fast) { /* works with lines of the assembled matrices, k + 2 entries a row on average */
    PetscLogDouble products = 1, nodes = (PetscLogDouble)cell.cells;

    for (int d = 0; d < 3; d++) {
      products += 2.0 * (d == 1 ? 3 : 2) * (cell.n[d] > 1 ? cell.n[d] + 1 : 1);
      nodes *= PetscMax(1, cell.n[d] - 1);
    }
    p->flops = products * nodes;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int d = 0; d < 3; d++) {
    const SumDesc::Line &c = desc->dir[d];
    const size_t         m = (size_t)(c.nclass * c.nloc * c.nloc);

    PetscCall(p->memory.upload(m, c.M, &cell.M[d]));
    PetscCall(p->memory.upload(m, c.A, &cell.A[d]));
    PetscCall(p->memory.upload((size_t)c.ncells, c.cls, &cell.cls[d]));
  }
  PetscCall(cell.team.create(size, 3 * (size_t)size, &p->memory));
  PetscCall(AllowShared(CellKernel<T>, cell.team.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
const char *Operator<T>::name(void *plan)
{
  return ((OperatorPlan<T> *)plan)->name;
}

template <typename T>
PetscErrorCode Operator<T>::apply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
{
  OperatorPlan<T> *p = (OperatorPlan<T> *)plan;

  PetscFunctionBegin;
  PetscCall(Launch(p->flops, [&](cudaStream_t stream) {
    PetscFunctionBegin;
    if (p->fast) PetscCall(p->fast->apply(alpha, x, y0, y, stream));
    else {
      PetscCall(StartSum<T>(p->size, y0, y, stream));
      if (p->cell.cells) {
        CellKernel<T><<<p->cell.team.grid(p->cell.cells), p->cell.team.block(), p->cell.team.shared, stream>>>(p->cell, (T)alpha,
                                                                                                               (const T *)x, (T *)y);
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct Operator<double>;
template struct Operator<float>;

} // namespace patchfd
