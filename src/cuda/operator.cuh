/*
  y = y0 + alpha A x,  A = A0 (x) M1 (x) M2 + M0 (x) A1 (x) M2 + M0 (x) M1 (x) A2  summed over cells (direction 0 is x).

  Generic kernel (operator.cu): one team of threads a cell, any degrees and matrices; cells add to y = y0 with atomics.

  Marching kernel (here): all cells equal, the same degree K in all directions.  R cells in each direction make a block of L = K R, with
  N = L + 1 nodes in a direction: so all degrees have lines of about the same length.  For R > 1 the matrices have zeros that are known
  when this is compiled, for R = 1 their mirror symmetry halves the products.  They are kernel parameters: operands from the constant bank.

  A block of threads owns the nodes of a tile, Q L in x, L in y, and marches in z through `chunk` times L planes.  What cells below the
  tile's lower faces add to it is computed once more: each node is written once, without atomics, and two runs agree to the last bit.
  A step over L planes is

    1. a thread a y-line (a column of the tile and a plane):  p = M1 u, q = A1 u, where the K nodes below the tile contribute to its
       first node.  The values of x for the next step are loaded here, long before they are needed (or in 3, where registers are short).
    2. a thread an x-line of a block (C = Q + 1 lanes for the blocks of a tile and the one before it):  s = M0 q + A0 p, t = M0 p, in
       place.  Neighbours in x are neighbouring lanes and add their shared node by a shuffle.
    3. a thread a z-line (a node of the tile):  M2 s + A2 t, added up in N registers.  The first plane of a step completes the L nodes of
       the step before it, which go to y: consecutive lanes are consecutive in x.

  p and q, s and t are in shared memory, for one step and the one before it: two barriers a step.  A march begins with a step of the K
  planes below it, for what they contribute to its first plane, and ends with a step of one plane.

  Ends: nodes of x that do not exist are read as zero, so cells that do not exist contribute to one node only, the first or last one of
  the cells that do, and there M[0][0] (the same for both ends) too much: it is taken away again.
*/
#pragma once
#include "cuda.cuh"

namespace patchfd
{

struct OperatorGeometry {
  int    origin[3], end[3][2]; /* where the first tile begins; first and last node of the cells */
  int    planes, chunk;        /* of all marches together and of each, in units of L */
  Layout xl, yl;
  Range  read, write, store; /* nodes of x that are not zero, rows that are not zero, all of y */
};

template <typename T, int N>
struct CellMatrices {
  T M[3][N * N], A[3][N * N];
};

/* is there a cell of degree K with both nodes? */
template <int K>
__host__ __device__ constexpr bool Couples(int i, int j)
{
  return (i < j ? j : i) <= ((i < j ? i : j) / K + 1) * K;
}

/* by precision and degree, as measured on an H200: cells R of a block of cells, lanes C, least number B of resident blocks of threads */
template <typename T, int K>
struct Tile;
#define TILE(T, K, r, c, b) \
  template <> \
  struct Tile<T, K> { \
    static constexpr int R = r, C = c, B = b; \
  }
TILE(double, 1, 6, 8, 2);
TILE(double, 2, 2, 16, 3);
TILE(double, 3, 1, 16, 5);
TILE(double, 4, 1, 8, 4);
TILE(double, 5, 1, 8, 3);
TILE(double, 6, 1, 8, 2);
TILE(double, 7, 1, 4, 2);
TILE(double, 8, 1, 8, 1);
TILE(float, 1, 6, 8, 4);
TILE(float, 2, 3, 8, 4);
TILE(float, 3, 2, 8, 4);
TILE(float, 4, 2, 8, 2);
TILE(float, 5, 1, 8, 5);
TILE(float, 6, 1, 8, 3);
TILE(float, 7, 1, 4, 4);
TILE(float, 8, 1, 8, 2);
#undef TILE

/* v, as if it were not known: the compiler would compute all multiples of a stride ahead of a loop, and run out of registers */
__device__ inline unsigned Opaque(unsigned v)
{
  asm volatile("" : "+r"(v));
  return v;
}

template <typename T, int K, typename Tile>
struct March {
  static constexpr int  R = Tile::R, C = Tile::C, L = K * R, N = L + 1, H = (N + 1) / 2, Q = C - 1, NX = K + Q * L + 1; /* NX nodes in x */
  static constexpr int  LINES1 = NX * L, LINES2 = C * L * L, LINES3 = Q * L * L, THREADS = RoundUp(LINES1 > LINES2 ? LINES1 : LINES2, 32);
  static constexpr bool PARITY = R == 1, LATE = N * sizeof(T) > 64; /* LATE: registers are short */

  /* shared memory without bank conflicts, as far as possible: one number of padding after so many, and a row's length, for stage 2 */
  static constexpr int BANKS = 128 / sizeof(T), PAD = L % 4 == 0;
  __host__ __device__ static constexpr int at(int e) { return e + PAD * (e / BANKS); }
  static constexpr int conflicts(int row)
  {
    int sum = 0;

    for (int a = 0; a < BANKS; a++)
      for (int b = 0; b < a; b++) sum += (at(a % C * L) + a / C * row) % BANKS == (at(b % C * L) + b / C * row) % BANKS;
    return sum;
  }
  static constexpr int row()
  {
    int best = at(C * L) + 1;

    for (int r = best; r < at(C * L) + 1 + BANKS; r++)
      if (conflicts(r) < conflicts(best)) best = r;
    return best;
  }
  static constexpr int    ROW = row(), PLANE = L * ROW;
  static constexpr size_t SHARED = 4 * sizeof(T) * L * PLANE;

  /* the matrix of a block from that of a cell, for add() below; where its first row is */
  static constexpr int FIRST = PARITY ? H * N : 0;
  static void          matrix(const PetscReal *cell, T *m)
  {
    PetscReal b[N][N] = {{0}};

    for (int c = 0; c < R; c++)
      for (int i = 0; i <= K; i++)
        for (int j = 0; j <= K; j++) b[c * K + i][c * K + j] += cell[i * (K + 1) + j];
    for (int i = 0; i < H; i++)
      for (int j = 0; j < N; j++) m[i * N + j] = (T)(!PARITY || j == L - j ? b[i][j] : 0.5 * (j < H ? b[i][j] + b[i][L - j] : b[i][L - j] - b[i][j]));
    for (int j = 0; j < N; j++) m[FIRST + j] = (T)b[0][j];
  }

  /*
    Mirror symmetry: sums v[c] + v[L - c] and differences v[c] - v[L - c] in place of the two make the matrix two blocks of half the
    size, and what these give becomes the rows r and L - r in the same way.  Not for R > 1, where the zeros save as much.
  */
  static __device__ void split(T &lo, T &hi)
  {
    if constexpr (PARITY) {
      const T a = lo;

      lo = a + hi;
      hi = a - hi;
    }
  }
  static __device__ void split(T v[N])
  {
#pragma unroll
    for (int c = 0; c < N / 2; c++) split(v[c], v[L - c]);
  }
  /* what v[c] was before */
  static __device__ T entry(const T v[N], int c) { return PARITY && c != L - c ? T(0.5) * (c < H ? v[c] + v[L - c] : v[L - c] - v[c]) : v[c]; }
  /* rows r and L - r of m v */
  static __device__ void add(const T *m, const T v[N], int r, T &lo, T &hi)
  {
#pragma unroll
    for (int c = 0; c < N; c++) {
      if constexpr (PARITY) {
        if (c < H) lo += m[r * N + c] * v[c];
        else if (r < N / 2) hi += m[r * N + c] * v[c];
      } else {
        if (Couples<K>(r, c)) lo += m[r * N + c] * v[c];
        if (Couples<K>(r, L - c) && r < N / 2) hi += m[r * N + L - c] * v[c];
      }
    }
  }
};

template <typename T, int K, typename Tile>
__launch_bounds__(March<T, K, Tile>::THREADS, Tile::B) static __global__ void MarchKernel(const __grid_constant__ CellMatrices<T, March<T, K, Tile>::N> m, const __grid_constant__ OperatorGeometry g, T alpha, const T *__restrict__ x, const T *y0, T *y)
{
  using S         = March<T, K, Tile>;
  constexpr int L = S::L, N = S::N, ROW = S::ROW, PLANE = S::PLANE;
  extern __shared__ double shared_memory[];
  const int t  = threadIdx.x;
  const int i0 = g.origin[0] + blockIdx.x * S::Q * L, j0 = g.origin[1] + blockIdx.y * L, k0 = g.origin[2] + blockIdx.z * g.chunk * L; /* first node of the tile */
  const int steps = min(g.chunk, g.planes - (int)blockIdx.z * g.chunk);

  /* the y-line of stage 1: K nodes below the tile, its L nodes, one above */
  const int       i1 = t % S::NX, k1 = t / S::NX, at1 = k1 * PLANE + S::at(L - K + i1);
  const bool      load1   = t < S::LINES1 && i0 - K + i1 >= g.read.lo[0] && i0 - K + i1 < g.read.hi[0];
  const bool      inside1 = j0 - K >= g.read.lo[1] && j0 + L < g.read.hi[1];
  const bool      end1    = (g.end[1][0] >= j0 && g.end[1][0] < j0 + L) || (g.end[1][1] >= j0 && g.end[1][1] < j0 + L);
  const ptrdiff_t from1   = g.xl.at(i0 - K + i1, j0 - K, k0 + k1);
  T               u[K + N];

  /* the x-line of stage 2 */
  const int  c2 = t % S::C, row2 = t / S::C, at2 = min(row2, L * L - 1) * ROW + S::at(c2 * L), over2 = S::at(c2 * L + L) - S::at(c2 * L), n2 = i0 + (c2 - 1) * L; /* rows: j fastest, then k */
  const bool end2 = (g.end[0][0] >= n2 && g.end[0][0] < n2 + L) || (g.end[0][1] >= n2 && g.end[0][1] < n2 + L);

  /* the z-line of stage 3 */
  const int       i3 = t % (S::Q * L), j3 = t / (S::Q * L), at3 = j3 * ROW + S::at(L + i3);
  const bool      store3 = t < S::LINES3 && i0 + i3 >= g.store.lo[0] && i0 + i3 < g.store.hi[0] && j0 + j3 >= g.store.lo[1] && j0 + j3 < g.store.hi[1];
  const T         a3     = i0 + i3 >= g.write.lo[0] && i0 + i3 < g.write.hi[0] && j0 + j3 >= g.write.lo[1] && j0 + j3 < g.write.hi[1] ? alpha : T(0);
  const ptrdiff_t to3    = g.yl.at(i0 + i3, j0 + j3, k0);
  T               sum[N], old[L];

  const auto fetch = [&](int c) { /* u of step c */
    const int      z    = k0 + c * L + k1;
    const bool     is   = load1 && z >= g.read.lo[2] && z < g.read.hi[2] && (c >= 0 || k1 >= L - K) && (c < steps || (c == steps && k1 == 0));
    const T       *from = x + from1 + (ptrdiff_t)c * L * g.xl.plane;
    const unsigned row  = Opaque((unsigned)g.xl.row);

    if (is && inside1) {
#pragma unroll
      for (int j = 0; j < K + N; j++) u[j] = from[j * (size_t)row];
    } else {
#pragma unroll
      for (int j = 0; j < K + N; j++) u[j] = is && j0 - K + j >= g.read.lo[1] && j0 - K + j < g.read.hi[1] ? from[j * (size_t)row] : T(0);
    }
  };

  fetch(-1);
  for (int c = -1; c <= steps; c++) {
    const int lo = c < 0 ? L - K : 0, hi = c < steps ? L : 1; /* planes of this step */
    T *const  P = (T *)shared_memory + (c & 1 ? 2 * L * PLANE : 0), *const R = P + L * PLANE;

    if (t < S::LINES1 && k1 >= lo && k1 < hi) {
      T p0 = 0, q0 = 0, v[N];

#pragma unroll
      for (int j = 0; j <= K; j++) {
        p0 += m.M[1][S::FIRST + K - j] * u[j];
        q0 += m.A[1][S::FIRST + K - j] * u[j];
      }
#pragma unroll
      for (int j = 0; j < N; j++) v[j] = u[K + j];
      S::split(v);
#pragma unroll
      for (int r = 0; r < S::H; r++) {
        T p = 0, ph = 0, q = 0, qh = 0;

        S::add(m.M[1], v, r, p, ph);
        S::add(m.A[1], v, r, q, qh);
        if (r < N / 2) S::split(p, ph);
        if (r < N / 2) S::split(q, qh);
        P[at1 + r * ROW] = r ? p : p + p0;
        R[at1 + r * ROW] = r ? q : q + q0;
        if (r && r < N / 2) {
          P[at1 + (L - r) * ROW] = ph;
          R[at1 + (L - r) * ROW] = qh;
        }
      }
      if (end1) {
#pragma unroll
        for (int r = 0; r < L; r++) {
          if (j0 + r == g.end[1][0] || j0 + r == g.end[1][1]) {
            P[at1 + r * ROW] -= m.M[1][S::FIRST] * u[K + r];
            R[at1 + r * ROW] -= m.A[1][S::FIRST] * u[K + r];
          }
        }
      }
    }
    if (!S::LATE && c < steps) fetch(c + 1);
    __syncthreads();
    const bool line2 = row2 >= lo * L && row2 < hi * L;

    if (__any_sync(0xffffffff, line2)) { /* whole warps: lanes exchange values */
      T p[N], q[N], s[2] = {0, 0}, w[2] = {0, 0};

#pragma unroll
      for (int i = 0; i < N; i++) {
        p[i] = P[at2 + (i == L ? over2 : i)];
        q[i] = R[at2 + (i == L ? over2 : i)];
      }
      S::split(p);
      S::split(q);
      S::add(m.M[0], q, 0, s[0], s[1]);
      S::add(m.A[0], p, 0, s[0], s[1]);
      S::add(m.M[0], p, 0, w[0], w[1]);
      S::split(s[0], s[1]);
      S::split(w[0], w[1]);
      s[0] += __shfl_up_sync(0xffffffff, s[1], 1, S::C);
      w[0] += __shfl_up_sync(0xffffffff, w[1], 1, S::C);
      __syncwarp();
      if (line2 && c2) {
        P[at2] = s[0];
        R[at2] = w[0];
#pragma unroll
        for (int r = 1; r < S::H; r++) {
          s[0] = s[1] = w[0] = w[1] = 0;
          S::add(m.M[0], q, r, s[0], s[1]);
          S::add(m.A[0], p, r, s[0], s[1]);
          S::add(m.M[0], p, r, w[0], w[1]);
          if (r < N / 2) S::split(s[0], s[1]);
          if (r < N / 2) S::split(w[0], w[1]);
          P[at2 + r] = s[0];
          R[at2 + r] = w[0];
          if (r < N / 2) {
            P[at2 + L - r] = s[1];
            R[at2 + L - r] = w[1];
          }
        }
        if (end2) {
#pragma unroll
          for (int r = 0; r < L; r++) {
            if (n2 + r == g.end[0][0] || n2 + r == g.end[0][1]) {
              const T a = S::entry(p, r), b = S::entry(q, r);

              P[at2 + r] -= m.M[0][S::FIRST] * b + m.A[0][S::FIRST] * a;
              R[at2 + r] -= m.M[0][S::FIRST] * a;
            }
          }
        }
      }
    }
    const int      z       = k0 + (c - 1) * L; /* the first plane that this step completes */
    const bool     inside3 = z >= g.write.lo[2] && z + L <= g.write.hi[2] && z >= g.store.lo[2] && z + L <= g.store.hi[2];
    const unsigned plane   = Opaque((unsigned)g.yl.plane);
    T             *to      = y + to3 + (ptrdiff_t)(c - 1) * L * g.yl.plane;
    const bool     is      = y0 && c > 0 && store3;
    const T       *from    = y0 + (to - y);

    if (is && inside3) {
#pragma unroll
      for (int r = 0; r < L; r++) old[r] = from[r * (size_t)plane];
    } else {
#pragma unroll
      for (int r = 0; r < L; r++) old[r] = is && z + r >= g.store.lo[2] && z + r < g.store.hi[2] ? from[r * (size_t)plane] : T(0);
    }
    __syncthreads();
    if (S::LATE) fetch(c + 1);
    if (t < S::LINES3) {
      if (c >= 0) {
        const T s = P[at3], w = R[at3];

#pragma unroll
        for (int r = L - K; r < N; r++) {
          sum[r] += m.M[2][S::FIRST + L - r] * s;
          sum[r] += m.A[2][S::FIRST + L - r] * w;
        }
      }
      if (c > 0 && store3) {
        if (inside3) {
#pragma unroll
          for (int r = 0; r < L; r++) to[r * (size_t)plane] = old[r] + a3 * sum[r];
        } else {
#pragma unroll
          for (int r = 0; r < L; r++)
            if (z + r >= g.store.lo[2] && z + r < g.store.hi[2]) to[r * (size_t)plane] = old[r] + (z + r >= g.write.lo[2] && z + r < g.write.hi[2] ? a3 : T(0)) * sum[r];
        }
      }
      if (c < steps) {
        const T carry = c < 0 ? T(0) : sum[L];
        T       s[N], w[N];

#pragma unroll
        for (int k = 0; k < L; k++) {
          s[k] = P[at3 + k * PLANE];
          w[k] = R[at3 + k * PLANE];
        }
        s[L] = w[L] = 0; /* comes with the next step */
        S::split(s);
        S::split(w);
#pragma unroll
        for (int r = 0; r < S::H; r++) {
          T lo = 0, hi = 0;

          S::add(m.M[2], s, r, lo, hi);
          S::add(m.A[2], w, r, lo, hi);
          if (r < N / 2) {
            S::split(lo, hi);
            sum[L - r] = hi;
          }
          sum[r] = r ? lo : lo + carry;
        }
        for (int e = 0; e < 2; e++) {
          const int k = g.end[2][e] - z - L;

          if (k >= 0 && k < L) {
            const T v = m.M[2][S::FIRST] * P[at3 + k * PLANE] + m.A[2][S::FIRST] * R[at3 + k * PLANE];

#pragma unroll
            for (int r = 0; r < L; r++)
              if (r == k) sum[r] -= v;
          }
        }
      }
    }
  }
}

/* ---- how the generic part calls it ---- */

struct OperatorMarch {
  virtual ~OperatorMarch() { }
  virtual PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t) = 0;
};

template <typename T, int K, typename Tile>
struct OperatorMarchDegree : OperatorMarch {
  using S = March<T, K, Tile>;
  CellMatrices<T, S::N> m;
  OperatorGeometry      g;
  dim3                  grid;

  OperatorMarchDegree(const PatchFDOperatorDesc *desc)
  {
    int n[3];

    g.xl    = Layout(desc->xbox);
    g.yl    = Layout(desc->ybox);
    g.read  = Range(desc->read);
    g.write = Range(desc->write);
    for (int d = 0; d < 3; d++) {
      g.end[d][0]    = (int)desc->cells[d][0] * K;
      g.end[d][1]    = (int)desc->cells[d][1] * K;
      g.read.lo[d]   = PetscMax(g.read.lo[d], g.end[d][0]);
      g.read.hi[d]   = PetscMin(g.read.hi[d], g.end[d][1] + 1);
      g.write.lo[d]  = PetscMax(g.write.lo[d], g.end[d][0]);
      g.write.hi[d]  = g.end[d][1] > g.end[d][0] ? PetscMin(g.write.hi[d], g.end[d][1] + 1) : g.write.lo[d];
      g.store.lo[d]  = (int)desc->ybox.lo[d];
      g.store.hi[d]  = (int)(desc->ybox.lo[d] + desc->ybox.n[d]);
      g.origin[d]    = g.store.lo[d] / K * K;
      n[d]           = g.store.hi[d] - g.origin[d];
      S::matrix(desc->dir[d]->M, m.M[d]);
      S::matrix(desc->dir[d]->A, m.A[d]);
    }
    grid.x   = (n[0] + S::Q * S::L - 1) / (S::Q * S::L);
    grid.y   = (n[1] + S::L - 1) / S::L;
    g.planes = (n[2] + S::L - 1) / S::L;
  }

  /* cut the marches so that the device as a whole takes the fewest steps, with as many blocks at a time as it holds */
  PetscErrorCode cut()
  {
    int    processors, blocks;
    size_t best = SIZE_MAX;

    PetscFunctionBegin;
    PetscCall(Multiprocessors(&processors));
    PetscCallCUDA(cudaFuncSetAttribute(MarchKernel<T, K, Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)S::SHARED));
    PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, MarchKernel<T, K, Tile>, S::THREADS, S::SHARED));
    grid.z = 0;
    for (int z = 1; z <= PetscMin(g.planes, 65535); z++) {
      const int    chunk = (g.planes + z - 1) / z;
      const size_t total = (size_t)grid.x * grid.y * z, steps = (total + processors * blocks - 1) / (processors * blocks) * (chunk + 1);

      if (steps >= best) continue;
      best    = steps;
      g.chunk = chunk;
      grid.z  = (g.planes + chunk - 1) / chunk;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) override
  {
    PetscFunctionBegin;
    if (!grid.x || !grid.y || !grid.z) PetscFunctionReturn(PETSC_SUCCESS); /* no nodes here */
    MarchKernel<T, K, Tile><<<grid, S::THREADS, S::SHARED, stream>>>(m, g, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* operator_march.cuh: NULL where there is no such kernel */
template <typename T>
PetscErrorCode OperatorMarchCreate(const PatchFDOperatorDesc *, OperatorMarch **);
/* operator_plane.cuh: in 2D */
template <typename T>
PetscErrorCode OperatorPlaneCreate(const PatchFDOperatorDesc *, OperatorMarch **);

} // namespace patchfd
