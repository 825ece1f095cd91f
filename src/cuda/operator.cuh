/*
  y += alpha A x,  A = A0 (x) M1 (x) M2 + M0 (x) A1 (x) M2 + M0 (x) M1 (x) A2  summed over cells (direction 0 is x).

  Generic kernel (operator.cu): one team of threads a cell, any degrees and matrices; cells add to y with atomics.

  Marching kernel (here): all cells equal, the same degree K in all directions.  A block of threads owns a tile of Q x MY cells in x and y
  and marches through `chunk` cells in z.  With n = K + 1, NX = Q K + 1 and NY = MY K + 1 nodes of the tile, a step over one cell is

    1. a thread a z-line of the tile (NX * NY lines):  p = M2 u, q = A2 u in registers.  What the upper end of the line gives belongs
       to the first plane of the next step, and waits there in registers: everything after is linear and the same for each plane.
       The K planes of p and q go to shared memory.  The values of the next step are loaded here, long before they are needed.
    2. a thread an x-line of a cell (Q * NY * K lines):  s = M0 q + A0 p, t = M0 p, in place.  Neighbours in x are neighbouring lanes
       and add their shared node by a shuffle.
    3. a thread a y-line of the tile (NX * K lines):  M1 s + A1 t, cell after cell, and from there to y by atomic additions without
       return value: consecutive lanes are consecutive in x.

  So a node enters y once a tile; only tiles' surfaces are added to more than once.  The matrices are kernel parameters: operands
  from the constant bank.  Shared memory: p and q [K][NY][ROW], a cell's nodes x padded to an odd number to avoid bank conflicts.
*/
#pragma once
#include "cuda.cuh"

namespace patchfd
{

struct OperatorGeometry {
  int    cell[3], count[3]; /* the cells to visit */
  int    chunk;
  Layout xl, yl;
  Range  read, write;
};

template <typename T, int K>
struct CellMatrices {
  T M[3][(K + 1) * (K + 1)], A[3][(K + 1) * (K + 1)];
};

/* cells of a tile, by degree: all three stages shall have about as many lines as a block has threads */
template <int K>
struct Tile {
  static constexpr int Q = K <= 2 ? 16 : (K <= 4 ? 8 : 4), MY = K == 1 ? 8 : (K <= 3 ? 2 : 1);
};

template <typename T, int K>
struct March {
  static constexpr int Q = Tile<K>::Q, MY = Tile<K>::MY, N = K + 1, NX = Q * K + 1, NY = MY * K + 1;
  static constexpr int KS = K | 1, ROW = Q * KS + 1; /* a cell's stride and a row in shared memory */
  static constexpr int LINES1 = NX * NY, LINES2 = Q * NY * K, LINES3 = NX * K;
  static constexpr int THREADS = RoundUp(LINES1 > LINES2 ? LINES1 : LINES2, 32);
  static constexpr size_t SHARED = 2 * sizeof(T) * K * NY * ROW;
};

template <typename T, int K>
__launch_bounds__(March<T, K>::THREADS) static __global__ void MarchKernel(const __grid_constant__ CellMatrices<T, K> m, const __grid_constant__ OperatorGeometry g, T alpha, const T *__restrict__ x, T *__restrict__ y)
{
  using S                = March<T, K>;
  constexpr int N        = S::N;
  extern __shared__ double shared_memory[];
  T        *P = (T *)shared_memory, *R = P + K * S::NY * S::ROW;
  const int t = threadIdx.x;
  const int c0 = blockIdx.x * S::Q, c1 = blockIdx.y * S::MY, c2 = blockIdx.z * g.chunk;                                          /* first cell of the tile */
  const int m0 = min(S::Q, g.count[0] - c0), m1 = min(S::MY, g.count[1] - c1), m2 = min(g.chunk, g.count[2] - c2);              /* cells that exist */
  const int i0 = (g.cell[0] + c0) * K, j0 = (g.cell[1] + c1) * K, k0 = (g.cell[2] + c2) * K;                                      /* first node */

  /* the z-line of stage 1 */
  const int       i1 = t % S::NX, j1 = t / S::NX, at1 = j1 * S::ROW + (i1 == S::Q * K ? S::Q * S::KS : i1 / K * S::KS + i1 % K);
  const bool      line1 = t < S::LINES1;
  const bool      load  = line1 && i1 <= m0 * K && j1 <= m1 * K && i0 + i1 >= g.read.lo[0] && i0 + i1 < g.read.hi[0] && j0 + j1 >= g.read.lo[1] && j0 + j1 < g.read.hi[1];
  const ptrdiff_t from  = g.xl.at(i0 + i1, j0 + j1, k0);
  T               u[N], next[K], carryp = 0, carryq = 0;

  /* the x-line of stage 2 */
  const int  p2 = t % S::Q, row2 = t / S::Q;
  const bool line2 = t < S::LINES2;
  const int  at2 = row2 * S::ROW + p2 * S::KS; /* rows are ordered as (j, k): j fastest */

  /* the y-line of stage 3 */
  const int  i3 = t % S::NX, z3 = t / S::NX;
  const bool line3 = t < S::LINES3 && i3 <= m0 * K && i0 + i3 >= g.write.lo[0] && i0 + i3 < g.write.hi[0];
  const int  at3 = z3 * S::NY * S::ROW + (i3 == S::Q * K ? S::Q * S::KS : i3 / K * S::KS + i3 % K);

  u[K] = load && k0 >= g.read.lo[2] && k0 < g.read.hi[2] ? x[from] : T(0);
#pragma unroll
  for (int k = 0; k < K; k++) next[k] = load && k0 + k + 1 >= g.read.lo[2] && k0 + k + 1 < g.read.hi[2] ? x[from + (k + 1) * g.xl.plane] : T(0);

  for (int c = 0; c <= m2; c++) { /* the last step does the uppermost plane */
    const int planes = c < m2 ? K : 1;

    if (line1) {
      if (c < m2) {
        u[0] = u[K];
#pragma unroll
        for (int k = 0; k < K; k++) u[k + 1] = next[k];
        if (c + 1 < m2) {
#pragma unroll
          for (int k = 0; k < K; k++) {
            const int z = (c + 1) * K + k + 1;

            next[k] = load && k0 + z >= g.read.lo[2] && k0 + z < g.read.hi[2] ? x[from + z * g.xl.plane] : T(0);
          }
        }
#pragma unroll
        for (int r = 0; r < N; r++) {
          T p = 0, q = 0;

#pragma unroll
          for (int k = 0; k < N; k++) {
            p += m.M[2][r * N + k] * u[k];
            q += m.A[2][r * N + k] * u[k];
          }
          if (r == 0) {
            p += carryp;
            q += carryq;
          }
          if (r < K) {
            P[r * S::NY * S::ROW + at1] = p;
            R[r * S::NY * S::ROW + at1] = q;
          } else {
            carryp = p;
            carryq = q;
          }
        }
      } else {
        P[at1] = carryp;
        R[at1] = carryq;
      }
    }
    __syncthreads();
    if (t / 32 * 32 < S::LINES2) { /* whole warps: lanes exchange values */
      const bool active = line2 && row2 < planes * S::NY && p2 < m0;
      T          p[N], q[N], s[N], w[N];

#pragma unroll
      for (int i = 0; i < N; i++) {
        p[i] = active ? P[at2 + (i == K ? S::KS : i)] : T(0);
        q[i] = active ? R[at2 + (i == K ? S::KS : i)] : T(0);
      }
#pragma unroll
      for (int r = 0; r < N; r++) {
        s[r] = w[r] = 0;
#pragma unroll
        for (int i = 0; i < N; i++) {
          s[r] += m.M[0][r * N + i] * q[i];
          s[r] += m.A[0][r * N + i] * p[i];
          w[r] += m.M[0][r * N + i] * p[i];
        }
      }
      const T es = __shfl_up_sync(0xffffffff, s[K], 1, S::Q), ew = __shfl_up_sync(0xffffffff, w[K], 1, S::Q);

      if (p2) {
        s[0] += es;
        w[0] += ew;
      }
      __syncwarp();
      if (line2 && row2 < planes * S::NY) {
#pragma unroll
        for (int i = 0; i < K; i++) {
          P[at2 + i] = s[i];
          R[at2 + i] = w[i];
        }
        if (p2 == S::Q - 1) {
          P[at2 + S::KS] = s[K];
          R[at2 + S::KS] = w[K];
        }
      }
    }
    __syncthreads();
    if (line3 && z3 < planes && k0 + c * K + z3 >= g.write.lo[2] && k0 + c * K + z3 < g.write.hi[2]) {
      T        *to = y + g.yl.at(i0 + i3, j0, k0 + c * K + z3);
      const int lo = g.write.lo[1] - j0, hi = g.write.hi[1] - j0;
      T         s[N], w[N], carry = 0;

      s[K] = P[at3];
      w[K] = R[at3];
      for (int b = 0; b < m1; b++) {
        s[0] = s[K];
        w[0] = w[K];
#pragma unroll
        for (int j = 1; j < N; j++) {
          s[j] = P[at3 + (b * K + j) * S::ROW];
          w[j] = R[at3 + (b * K + j) * S::ROW];
        }
#pragma unroll
        for (int r = 0; r < N; r++) {
          T v = r == 0 ? carry : T(0);

#pragma unroll
          for (int j = 0; j < N; j++) {
            v += m.M[1][r * N + j] * s[j];
            v += m.A[1][r * N + j] * w[j];
          }
          if (r == K) carry = v;
          else if (b * K + r >= lo && b * K + r < hi) atomicAdd(to + (b * K + r) * g.yl.row, alpha * v);
        }
      }
      if (m1 * K >= lo && m1 * K < hi) atomicAdd(to + m1 * K * g.yl.row, alpha * carry);
    }
    __syncthreads();
  }
}

/* ---- how the generic part calls it ---- */

struct OperatorMarch {
  virtual ~OperatorMarch() { }
  virtual PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t) = 0;
};

template <typename T, int K>
struct OperatorMarchDegree : OperatorMarch {
  CellMatrices<T, K> m;
  OperatorGeometry g;
  size_t size;

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) override
  {
    using S = March<T, K>;
    const dim3 grid((g.count[0] + S::Q - 1) / S::Q, (g.count[1] + S::MY - 1) / S::MY, (g.count[2] + g.chunk - 1) / g.chunk);

    PetscFunctionBegin;
    if (!y0) PetscCallCUDA(cudaMemsetAsync(y, 0, size * sizeof(T), stream));
    else if (y0 != y) PetscCallCUDA(cudaMemcpyAsync(y, y0, size * sizeof(T), cudaMemcpyDeviceToDevice, stream));
    MarchKernel<T, K><<<grid, S::THREADS, S::SHARED, stream>>>(m, g, (T)alpha, (const T *)x, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* operator_march.cu: NULL where there is no such kernel */
template <typename T>
PetscErrorCode OperatorMarchCreate(const PatchFDOperatorDesc *, OperatorMarch **, const OperatorGeometry &);
/* operator_plane.cuh: in 2D */
template <typename T>
PetscErrorCode OperatorPlaneCreate(const PatchFDOperatorDesc *, OperatorMarch **);

} // namespace patchfd
