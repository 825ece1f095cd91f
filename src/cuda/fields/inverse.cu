/*
  Inverses of the matrices of patches of a solid by quadrature (points/solid.cuh), which all differ: layer after layer of cells, matrices of
  cells, then patch by patch their sum and its inverse, in double precision.

  A block of threads has a patch, A[n][n] in global memory, and sweeps its rows in panels of 16 (Goodnight 1979): with P the rows and
  columns of a panel and R the others, D = A_PP^{-1},

    A_RR -= A_RP D A_PR,  A_PR = D A_PR,  A_RP = A_PR',  A_PP = -D,

  after which A is -A^{-1} once all rows have been swept, and symmetric all the time.  Shared memory has A_P = A[16][n] as it was, D A_P, D,
  and where the nodes of a cell are in the patch.  A thread keeps its column of D A_P in registers; a warp has 32 columns of a row.
*/
#include "base/invert.cuh"
#include "fields/fields.cuh"
#include "points/points.cuh"
#include <climits>

namespace patchfd
{

static constexpr int inverse_threads = 256, inverse_panel = 16;

/* in each direction and class of patches: of field f the first node and their number, first[d][(f * classes + c) * 2] */
struct InverseArguments {
  int           dim, degree, nfield, most; /* most: unknowns of a patch */
  int           count[3], patches, first;  /* classes in a direction; those that are wanted, from number `first` on */
  int           cells[3][2];               /* those that have matrices */
  const int    *nodes[3];
  const double *E;    /* [cells][rows][columns] */
  double       *work; /* [blocks][most][most] */
  int          *bad;

  __device__ __forceinline__ int node(int d, int f, int c) const { return nodes[d][(f * count[d] + c) * 2]; }
  __device__ __forceinline__ int number(int d, int f, int c) const { return nodes[d][(f * count[d] + c) * 2 + 1]; }
  /* doubles and integers of shared memory */
  __host__ __device__ int    doubles() const { return inverse_panel * (2 * most + inverse_panel); }
  __host__ __device__ int    rows() const { return nfield * (degree + 1) * (degree + 1) * (dim == 3 ? degree + 1 : 1); }
  size_t                     shared() const { return (size_t)doubles() * sizeof(double) + (size_t)rows() * sizeof(int); }
  __host__ __device__ size_t matrix() const { return (size_t)rows() * rows(); }
};

/* where row `row` of a cell's matrix is in the patch of classes c; -1: nowhere */
static __device__ inline int InversePlace(const InverseArguments &a, const int c[3], const int cell[3], int row)
{
  const int n = a.degree + 1;
  int       at[3], f, first = 0;
  bool      in = true;

  at[0] = row % n;
  at[1] = row / n % n;
  at[2] = a.dim == 3 ? row / n / n % n : 0;
  f     = row / (a.dim == 3 ? n * n * n : n * n);
  for (int g = 0; g < f; g++) first += a.number(0, g, c[0]) * a.number(1, g, c[1]) * a.number(2, g, c[2]);
  for (int d = 0; d < 3; d++) {
    if (d < a.dim) at[d] += cell[d] * a.degree - a.node(d, f, c[d]);
    in = in && at[d] >= 0 && at[d] < a.number(d, f, c[d]);
  }
  return in ? first + (at[2] * a.number(1, f, c[1]) + at[1]) * a.number(0, f, c[0]) + at[0] : -1;
}

/* A = the sum of what the cells around have */
static __device__ inline void InverseAssemble(const InverseArguments &a, const int c[3], int n, int *place, double *A)
{
  const int size = a.rows();
  int       lo[3], hi[3], cell[3];

  for (int d = 0; d < 3; d++) {
    lo[d] = d < a.dim ? max(a.cells[d][0], a.node(d, 0, c[d]) / a.degree - 1) : 0;
    hi[d] = d < a.dim ? min(a.cells[d][1], (a.node(d, 0, c[d]) + a.number(d, 0, c[d])) / a.degree + 1) : 1;
  }
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) A[e] = 0;
  for (cell[2] = lo[2]; cell[2] < hi[2]; cell[2]++) {
    for (cell[1] = lo[1]; cell[1] < hi[1]; cell[1]++) {
      for (cell[0] = lo[0]; cell[0] < hi[0]; cell[0]++) {
        const int     ny = a.cells[1][1] - a.cells[1][0], nx = a.cells[0][1] - a.cells[0][0];
        const double *E = a.E +
                          (size_t)(((cell[2] - a.cells[2][0]) * ny + cell[1] - a.cells[1][0]) * nx + cell[0] - a.cells[0][0]) * a.matrix();

        __syncthreads();
        for (int i = threadIdx.x; i < size; i += blockDim.x) place[i] = InversePlace(a, c, cell, i);
        __syncthreads();
        for (int e = threadIdx.x; e < size * size; e += blockDim.x) {
          const int i = place[e / size], j = place[e % size];

          if (i >= 0 && j >= 0) A[i * n + j] += E[e];
        }
      }
    }
  }
  __syncthreads();
}

/* the rows from k on; are the pivots positive? */
static __device__ inline bool InverseSweep(int n, int k, double *A, double *R, double *W, double *D)
{
  const int p = min(inverse_panel, n - k), lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  bool      positive;

  for (int e = threadIdx.x; e < inverse_panel * n; e += blockDim.x) R[e] = e / n < p ? A[k * n + e] : 0;
  __syncthreads();
  for (int e = threadIdx.x; e < inverse_panel * inverse_panel; e += blockDim.x) {
    const int q = e / inverse_panel, r = e % inverse_panel;

    D[e] = q < p && r < p ? R[q * n + k + r] : double(q == r);
  }
  __syncthreads();
  positive = BlockInvert(inverse_panel, D);
  for (int e = threadIdx.x; e < inverse_panel * n; e += blockDim.x) {
    double sum = 0;

    for (int r = 0; r < inverse_panel; r++) sum += D[e / n * inverse_panel + r] * R[r * n + e % n];
    W[e] = sum;
  }
  __syncthreads();
  for (int j = lane; j < n; j += 32) {
    double w[inverse_panel];

    for (int q = 0; q < inverse_panel; q++) w[q] = W[q * n + j];
    for (int i = warp; i < n; i += warps) {
      const bool row = i >= k && i < k + p, col = j >= k && j < k + p;
      double    *at = A + i * n + j, sum = 0;

      for (int q = 0; q < inverse_panel; q++) sum += R[q * n + i] * w[q];
      if (row) *at = col ? -D[(i - k) * inverse_panel + j - k] : W[(i - k) * n + j];
      else *at = col ? W[(j - k) * n + i] : *at - sum;
    }
  }
  __syncthreads();
  return positive;
}

template <typename T>
__launch_bounds__(inverse_threads) static __global__
  void InverseKernel(const __grid_constant__ InverseArguments a, const FieldsClass<T> *classes)
{
  extern __shared__ double shared_memory[];
  double                  *R = shared_memory, *W = R + inverse_panel * a.most, *D = W + inverse_panel * a.most,
         *A  = a.work + (size_t)blockIdx.x * a.most * a.most;
  int *place = (int *)(shared_memory + a.doubles());

  for (int patch = a.first + (int)blockIdx.x; patch < a.first + a.patches; patch += (int)gridDim.x) {
    const int c[3]     = {patch % a.count[0], patch / a.count[0] % a.count[1], patch / a.count[0] / a.count[1]};
    const int n        = classes[patch].size[0];
    T        *X        = (T *)classes[patch].block[0];
    bool      positive = true;

    InverseAssemble(a, c, n, place, A);
    for (int k = 0; k < n; k += inverse_panel) positive = InverseSweep(n, k, A, R, W, D) && positive;
    for (int e = threadIdx.x; e < n * n; e += blockDim.x) X[e] = (T)(-0.5 * (A[e] + A[e % n * n + e / n]));
    if (!positive && threadIdx.x == 0) *a.bad = 1;
    __syncthreads();
  }
}

/* the cells that have nodes of the patches [first, end) of direction d */
static void InverseCells(const PatchFDLocalDesc *desc, int d, PetscInt first, PetscInt end, int cells[2])
{
  const PatchFDPatches *p = desc->field->dir[d];
  const PetscInt        k = desc->points->degree;

  cells[0] = (int)desc->cells[d][0];
  cells[1] = (int)desc->cells[d][1];
  if (d >= desc->points->dim) return;
  first += desc->patch[d];
  end += desc->patch[d] - 1;
  cells[0] = PetscMax(cells[0], (int)(p->first[first] / k - 1));
  cells[1] = PetscMin(cells[1], (int)((p->first[end] + p->n[end]) / k + 1));
}

template <typename T>
PetscErrorCode FieldsInverses(const PatchFDLocalDesc *desc, const FieldsClass<T> *classes, int most)
{
  const double     bytes = 1e9; /* of matrices of cells at a time */
  const int        d = (int)desc->points->dim - 1, none = 0;
  InverseArguments a = {};
  PoolMemory       memory;
  cudaStream_t     stream;
  size_t           layer = 1, plane = 1;
  int              blocks, processors, bad;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  a.dim    = (int)desc->points->dim;
  a.degree = (int)desc->points->degree;
  a.nfield = (int)desc->nfield;
  a.most   = most;
  for (int e = 0; e < 3; e++) {
    std::vector<int> nodes;

    a.count[e] = (int)desc->nclass[e];
    for (PetscInt f = 0; f < desc->nfield; f++) {
      for (int c = 0; c < a.count[e]; c++) {
        nodes.push_back((int)desc->field[f].dir[e]->first[desc->patch[e] + c]);
        nodes.push_back((int)desc->field[f].dir[e]->n[desc->patch[e] + c]);
      }
    }
    PetscCall(memory.send(nodes.size(), nodes.data(), (int **)&a.nodes[e]));
    InverseCells(desc, e, 0, desc->nclass[e], a.cells[e]);
    if (e < d) {
      for (int i = 0; i < 2; i++) a.cells[e][i] = (int)desc->cells[e][i]; /* whole layers */
      layer *= (size_t)(a.cells[e][1] - a.cells[e][0]);
      plane *= (size_t)a.count[e];
    }
  }
  PetscCall(memory.send(1, &none, &a.bad));
  PetscCall(ResidentOf((const void *)InverseKernel<T>, inverse_threads, a.shared(), &blocks));
  PetscCall(Multiprocessors(&processors));
  blocks = (int)PetscMin((size_t)(blocks * processors), plane * (size_t)a.count[d]);
  PetscCall(memory.borrow((size_t)blocks * (size_t)most * (size_t)most, &a.work));
  for (PetscInt first = 0, end; first < desc->nclass[d]; first = end) {
    PoolMemory some;
    int        next[2];
    size_t     cells;
    double    *E;

    for (end = first + 1; end < desc->nclass[d]; end++) {
      InverseCells(desc, d, first, end + 1, next);
      if ((double)(next[1] - next[0]) * (double)layer * (double)a.matrix() * 8 > bytes) break;
    }
    InverseCells(desc, d, first, end, a.cells[d]);
    cells = layer * (size_t)(a.cells[d][1] - a.cells[d][0]);
    PetscCall(some.borrow(cells * a.matrix(), &E));
    PetscCall(SolidSomeMatrices(desc->points, (PetscCount)(layer * (size_t)(a.cells[d][0] - desc->cells[d][0])), (PetscCount)cells, E));
    a.E       = E;
    a.first   = (int)(plane * (size_t)first);
    a.patches = (int)(plane * (size_t)(end - first));
    InverseKernel<T><<<(unsigned)blocks, inverse_threads, a.shared(), stream>>>(a, classes);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCallCUDA(cudaMemcpyAsync(&bad, a.bad, sizeof(bad), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *desc->regular = (PetscBool)!bad;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode FieldsInverses(const PatchFDLocalDesc *, const FieldsClass<double> *, int);
template PetscErrorCode FieldsInverses(const PatchFDLocalDesc *, const FieldsClass<float> *, int);

} // namespace patchfd
