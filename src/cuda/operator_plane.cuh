/*
  y = y0 + alpha A x in 2D,  A = A0 (x) M1 + M0 (x) A1 summed over cells: all cells equal, the same degree K in both directions.

  A block of threads owns the nodes of OWN cells in x and of `chunk` cells in y, but those of their upper ends, which are their
  neighbours': every node is written once, without atomics.  So it computes the cells below and left of its own as well.  It marches in
  y; a step is over ROWS cells:

    1. a thread a y-line:  p = M1 u, q = A1 u in registers, to shared memory as lines of cells; shared nodes twice.  What the upper end
       gives waits in registers.  The values of the next step are loaded here, long before they are needed, and y0's of this one.
    2. a thread x-lines of a cell:  M0 q + A0 p, in place.
    3. a thread a y-line again: shared nodes are added up, and all goes to y (coalesced).

  Lines of cells have an odd stride in shared memory.  The matrices are kernel parameters: operands from the constant bank.
*/
#pragma once
#include "operator.cuh"

namespace patchfd
{

struct PlaneGeometry {
  int    first[2], count[2]; /* cells, visited or not, which together have all nodes of y */
  int    visit[2][2];        /* the cells to visit: first, end */
  int    chunk, point;       /* the node in z */
  Layout xl, yl;
  Range  read, write, store; /* nodes of x that are not zero, rows that are not zero, all of y */
};

template <typename T, int K>
struct PlaneCellMatrices {
  T M[2][(K + 1) * (K + 1)], A[2][(K + 1) * (K + 1)];
};

/* measured on an H200 */
template <typename T, int K>
struct PlaneTile {
  static constexpr int THREADS = 128, ROWS = K == 1 ? 4 : (K <= 4 ? 2 : 1);
  static constexpr int N = K + 1, CELLS = (THREADS - 1) / K, OWN = CELLS - 1, NX = CELLS * K + 1, STRIDE = N | 1;
  static constexpr int ROW = CELLS * STRIDE, SIZE = 2 * ROWS * K * ROW;
};

template <typename T, int K>
__launch_bounds__(PlaneTile<T, K>::THREADS) static __global__ void PlaneOperatorKernel(const __grid_constant__ PlaneCellMatrices<T, K> m, const __grid_constant__ PlaneGeometry g, int groups, T alpha, const T *__restrict__ x, const T *y0, T *y)
{
  using S         = PlaneTile<T, K>;
  constexpr int N = S::N, R = S::ROWS * K;
  extern __shared__ double shared_memory[];
  T              *P = (T *)shared_memory, *Q = P + R * S::ROW;
  const int       t = threadIdx.x, cell = t / K, r0 = t % K;
  const int       c0 = (int)(blockIdx.x % groups) * S::OWN - 1, c1 = (int)(blockIdx.x / groups) * g.chunk; /* first cells: in x that left of the own ones */
  const int       m1 = min(g.chunk, g.count[1] - c1), rows = c1 + m1 < g.count[1] ? m1 * K : m1 * K + 1;
  const int       i = (g.first[0] + c0) * K + t, j0 = (g.first[1] + c1) * K;
  const bool      load = t < S::NX && Inside(g.read, 0, i);
  const bool      own = t >= K && t < (c0 + S::CELLS < g.count[0] ? S::CELLS * K : S::NX) && Inside(g.store, 0, i);
  const bool      write = Inside(g.write, 0, i);
  const ptrdiff_t from = g.xl.at(i, j0, g.point), to = g.yl.at(i, j0, g.point);
  T               u[R + 1], next[R], carryp = 0, carryq = 0;
  const auto      visited = [&](int d, int c) { return g.first[d] + c >= g.visit[d][0] && g.first[d] + c < g.visit[d][1]; };
  const auto      value = [&](int j) { return load && j <= m1 * K && Inside(g.read, 1, j0 + j) ? x[from + j * g.xl.row] : T(0); };

#pragma unroll
  for (int j = 0; j < R; j++) next[j] = value(j + 1);
  u[R] = value(0);
  if (visited(1, c1 - 1)) { /* of the cell below only what it gives to its upper end */
    carryp = m.M[1][N * N - 1] * u[R];
    carryq = m.A[1][N * N - 1] * u[R];
#pragma unroll
    for (int j = 0; j < K; j++) {
      const T v = value(j - K);

      carryp += m.M[1][K * N + j] * v;
      carryq += m.A[1][K * N + j] * v;
    }
  }
  for (int c = 0; c * K < rows; c += S::ROWS) {
    T base[R];

    u[0] = u[R];
#pragma unroll
    for (int j = 0; j < R; j++) {
      const int row = c * K + j;

      u[j + 1] = next[j];
      next[j]  = value(row + R + 1);
      base[j]  = y0 && own && row < rows && Inside(g.store, 1, j0 + row) ? y0[to + row * g.yl.row] : T(0);
    }
    if (t < S::NX) {
#pragma unroll
      for (int s = 0; s < S::ROWS; s++) {
        const bool active = c + s < m1 && visited(1, c1 + c + s);

#pragma unroll
        for (int r = 0; r < N; r++) {
          T p = 0, q = 0;

#pragma unroll
          for (int j = 0; j < N; j++) {
            p += m.M[1][r * N + j] * u[s * K + j];
            q += m.A[1][r * N + j] * u[s * K + j];
          }
          p = (active ? p : T(0)) + (r ? T(0) : carryp);
          q = (active ? q : T(0)) + (r ? T(0) : carryq);
          if (r == K) {
            carryp = p;
            carryq = q;
          } else {
            const int at = (s * K + r) * S::ROW + cell * S::STRIDE + r0;

            if (cell < S::CELLS) {
              P[at] = p;
              Q[at] = q;
            }
            if (r0 == 0 && cell > 0) {
              P[at - S::STRIDE + K] = p;
              Q[at - S::STRIDE + K] = q;
            }
          }
        }
      }
    }
    __syncthreads();
    if (t < S::CELLS * K) {
#pragma unroll
      for (int s = 0; s < S::ROWS; s++) {
        T *line = P + (s * S::CELLS * K + t) * S::STRIDE, p[N], q[N];
        const bool active = visited(0, c0 + t % S::CELLS);

#pragma unroll
        for (int k = 0; k < N; k++) {
          p[k] = line[k];
          q[k] = line[Q - P + k];
        }
#pragma unroll
        for (int r = 0; r < N; r++) {
          T v = 0;

#pragma unroll
          for (int k = 0; k < N; k++) {
            v += m.M[0][r * N + k] * q[k];
            v += m.A[0][r * N + k] * p[k];
          }
          line[r] = active ? v : T(0);
        }
      }
    }
    __syncthreads();
    if (own) {
#pragma unroll
      for (int r = 0; r < R; r++) {
        const int at = r * S::ROW + cell * S::STRIDE + r0, row = c * K + r;
        const T   v  = (cell < S::CELLS ? P[at] : T(0)) + (r0 ? T(0) : P[at - S::STRIDE + K]);

        if (row < rows && Inside(g.store, 1, j0 + row)) y[to + row * g.yl.row] = base[r] + (write && Inside(g.write, 1, j0 + row) ? alpha * v : T(0));
      }
    }
    __syncthreads();
  }
}

template <typename T, int K>
struct OperatorPlaneDegree : OperatorMarch {
  PlaneCellMatrices<T, K> m;
  PlaneGeometry           g;
  int                     groups;

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) override
  {
    using S = PlaneTile<T, K>;

    PetscFunctionBegin;
    PlaneOperatorKernel<T, K><<<groups * ((g.count[1] + g.chunk - 1) / g.chunk), S::THREADS, S::SIZE * sizeof(T), stream>>>(m, g, groups, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int K>
static PetscErrorCode OperatorPlaneCreateDegree(const PatchFDOperatorDesc *desc, OperatorMarch **march)
{
  const PetscReal            M = desc->dir[2]->M[0], A = desc->dir[2]->A[0]; /* of the point */
  OperatorPlaneDegree<T, K> *p = new OperatorPlaneDegree<T, K>;

  PetscFunctionBegin;
  *march     = p;
  p->g.xl    = Layout(desc->xbox);
  p->g.yl    = Layout(desc->ybox);
  p->g.read  = Range(desc->read);
  p->g.write = Range(desc->write);
  p->g.point = (int)desc->ybox.lo[2];
  for (int d = 0; d < 2; d++) {
    const int first = (int)desc->ybox.lo[d], end = first + (int)desc->ybox.n[d];

    p->g.store.lo[d] = first;
    p->g.store.hi[d] = end;
    p->g.first[d]    = first / K;
    p->g.count[d]    = PetscMax(1, (end - 1 + K - 1) / K - first / K);
    for (int e = 0; e < 2; e++) p->g.visit[d][e] = (int)desc->cells[d][e];
  }
  p->groups = (p->g.count[0] + PlaneTile<T, K>::OWN - 1) / PlaneTile<T, K>::OWN;
  /* enough blocks to fill the device, few enough to share work between the cells of a march */
  p->g.chunk = (int)PetscMax(4, PetscMin(32, (size_t)p->g.count[1] * p->groups / 4096));
  for (int i = 0; i < (K + 1) * (K + 1); i++) {
    p->m.M[0][i] = (T)desc->dir[0]->M[i];
    p->m.A[0][i] = (T)desc->dir[0]->A[i];
    p->m.M[1][i] = (T)(M * desc->dir[1]->M[i]);
    p->m.A[1][i] = (T)(M * desc->dir[1]->A[i] + A * desc->dir[1]->M[i]);
  }
  PetscCall(AllowShared(PlaneOperatorKernel<T, K>, PlaneTile<T, K>::SIZE * sizeof(T)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* degrees 1 to K */
template <typename T, int K>
static PetscErrorCode OperatorPlaneCreateDegrees(const PatchFDOperatorDesc *desc, OperatorMarch **march)
{
  PetscFunctionBegin;
  if (desc->dir[0]->nloc == K + 1) PetscCall((OperatorPlaneCreateDegree<T, K>(desc, march)));
  else if constexpr (K > 1) PetscCall((OperatorPlaneCreateDegrees<T, K - 1>(desc, march)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
