/*
  The operator (operator.cuh) in 2D,  A = A0 (x) M1 + M0 (x) A1 summed over cells: all cells equal, or by place (march.cu), the
  same degree K in both directions.

  A block of threads owns the nodes of OWN cells in x and of `chunk` cells in y, but those of their upper ends, which are their
  neighbours': every node is written once, without atomics.  So it computes the cells below and left of its own as well.  It marches in
  y; a step is over ROWS cells:

    1. a thread a y-line:  p = M1 u, q = A1 u in registers, to shared memory as lines of cells; shared nodes twice.  What the upper end
       gives waits in registers.  The values of the next step are loaded here, long before they are needed, and y0's of this one.
    2. a thread x-lines of a cell:  M0 q + A0 p, in place.
    3. a thread a y-line again: shared nodes are added up, and all goes to y (coalesced).

  Lines of cells have an odd stride in shared memory.  The matrices are kernel parameters: operands from the constant bank.
*/
#include "base/dispatch.cuh"
#include "base/march.cuh"
#include "operator/operator.cuh"

namespace patchfd
{

struct PlaneGeometry {
  int        first[2], count[2]; /* cells, visited or not, which together have all nodes of y */
  int        visit[2][2];        /* the cells to visit: first, end */
  int        chunk, point;       /* the node in z */
  RingLayout xl;
  Layout     yl;
  Range      read, write, store; /* nodes of x that are not zero, rows that are not zero, all of y */
};

template <typename T, int K, bool PLACE>
struct PlaneCellMatrices {
  T M[2][(K + 1) * (K + 1)], A[2][(K + 1) * (K + 1)];

  __device__ __forceinline__ void scale(int, int, T &, T &) const { }
  __device__ __forceinline__ T    sum(int, int, T sum, T, T) const { return sum; }
};
template <typename T, int K>
struct PlaneCellMatrices<T, K, true> {
  T                   M[2][(K + 1) * (K + 1)], A[2][(K + 1) * (K + 1)];
  const CellScale<T> *place[2]; /* in device memory, from cell -1 on */

  /* M u and A u of cell c of direction d, from those of the first class */
  __device__ __forceinline__ void scale(int d, int c, T &p, T &q) const
  {
    const CellScale<T> s = place[d][c + 1];

    q = s.a * q + s.s * p;
    p *= s.m;
  }
  /* M q + A p from M q, A p and M p; of equal cells it is there already */
  __device__ __forceinline__ T sum(int d, int c, T mq, T ap, T mp) const
  {
    const CellScale<T> s = place[d][c + 1];

    return s.m * mq + s.a * ap + s.s * mp;
  }
};

/* measured on an H200 */
template <typename T, int K>
struct PlaneTile {
  static constexpr int THREADS = 128, ROWS = K == 1 ? 4 : (K <= 4 ? 2 : 1);
  static constexpr int N = K + 1, CELLS = (THREADS - 1) / K, OWN = CELLS - 1, NX = CELLS * K + 1, STRIDE = N | 1;
  static constexpr int ROW = CELLS * STRIDE, SIZE = 2 * ROWS * K * ROW;
};

/* a thread's part of a march: node t of the block's y-lines, and what it carries from step to step */
template <typename T, int K, bool PLACE, bool RING>
struct PlaneMarch {
  using S                = PlaneTile<T, K>;
  static constexpr int N = S::N, R = S::ROWS * K;
  int                  t, cell, node;    /* line `node` of a cell; its node 0 is the last one of the cell before, too */
  int                  c0, c1, m1, rows; /* first cells, in x that left of the own ones; own cells and nodes in y */
  int                  j0;
  bool                 load, own, write; /* has x the line; has y, here; has it other rows than zeros? */
  ptrdiff_t            from, to;
  T                    u[R + 1], next[R], old[R]; /* x of this step and of the next one, y0 of this one */
  T                    carryp, carryq;            /* what the last cell gives to its upper end */

  __device__ PlaneMarch(const PlaneGeometry &g, int groups)
  {
    t    = threadIdx.x;
    cell = t / K;
    node = t % K;
    c0   = (int)(blockIdx.x % groups) * S::OWN - 1;
    c1   = (int)(blockIdx.x / groups) * g.chunk;
    m1   = min(g.chunk, g.count[1] - c1);
    rows = c1 + m1 < g.count[1] ? m1 * K : m1 * K + 1;
    j0   = (g.first[1] + c1) * K;

    const int i = (g.first[0] + c0) * K + t;

    load  = t < S::NX && Inside(g.read, 0, i);
    own   = t >= K && t < (c0 + S::CELLS < g.count[0] ? S::CELLS * K : S::NX) && Inside(g.store, 0, i);
    write = Inside(g.write, 0, i);
    from  = g.xl.Layout::at(i, j0, g.point) + (RING ? g.xl.shift(0, i) : 0);
    to    = g.yl.at(i, j0, g.point);
  }

  static __device__ bool visited(const PlaneGeometry &g, int d, int c)
  {
    return g.first[d] + c >= g.visit[d][0] && g.first[d] + c < g.visit[d][1];
  }
  /* node j of the march's lines */
  __device__ T value(const PlaneGeometry &g, const T *x, int j) const
  {
    const int y = j0 + j;

    return load && j <= m1 * K && Inside(g.read, 1, y) ? x[from + j * g.xl.row + (RING ? g.xl.shift(1, y) : 0)] : T(0);
  }

  /* the first values, and what the cell below gives to its upper end */
  __device__ void begin(const PlaneCellMatrices<T, K, PLACE> &m, const PlaneGeometry &g, const T *x)
  {
    carryp = carryq = 0;
#pragma unroll
    for (int j = 0; j < R; j++) next[j] = value(g, x, j + 1);
    u[R] = value(g, x, 0);
    if (visited(g, 1, c1 - 1)) {
      carryp = m.M[1][N * N - 1] * u[R];
      carryq = m.A[1][N * N - 1] * u[R];
#pragma unroll
      for (int j = 0; j < K; j++) {
        const T v = value(g, x, j - K);

        carryp += m.M[1][K * N + j] * v;
        carryq += m.A[1][K * N + j] * v;
      }
      m.scale(1, c1 - 1, carryp, carryq);
    }
  }

  /* u and y0 of the step that begins with cell c, x of the next one */
  __device__ void fetch(const PlaneGeometry &g, const T *x, const T *y0, int c)
  {
    const bool is = y0 && own;

    u[0] = u[R];
#pragma unroll
    for (int j = 0; j < R; j++) {
      const int row = c * K + j;

      u[j + 1] = next[j];
      next[j]  = value(g, x, row + R + 1);
      old[j]   = is && row < rows && Inside(g.store, 1, j0 + row) ? y0[to + row * g.yl.row] : T(0);
    }
  }

  /* 1: P = p, Q = q */
  __device__ void applyy(const PlaneCellMatrices<T, K, PLACE> &m, const PlaneGeometry &g, int c, T *P, T *Q)
  {
#pragma unroll
    for (int s = 0; s < S::ROWS; s++) {
      const bool active = c + s < m1 && visited(g, 1, c1 + c + s);

#pragma unroll
      for (int r = 0; r < N; r++) {
        T p = 0, q = 0;

#pragma unroll
        for (int j = 0; j < N; j++) {
          p += m.M[1][r * N + j] * u[s * K + j];
          q += m.A[1][r * N + j] * u[s * K + j];
        }
        m.scale(1, c1 + c + s, p, q);
        p = (active ? p : T(0)) + (r ? T(0) : carryp);
        q = (active ? q : T(0)) + (r ? T(0) : carryq);
        if (r == K) {
          carryp = p;
          carryq = q;
        } else {
          const int at = (s * K + r) * S::ROW + cell * S::STRIDE + node;

          if (cell < S::CELLS) {
            P[at] = p;
            Q[at] = q;
          }
          if (node == 0 && cell > 0) {
            P[at - S::STRIDE + K] = p;
            Q[at - S::STRIDE + K] = q;
          }
        }
      }
    }
  }

  /* 2: P = M0 q + A0 p for x-line t of each row of cells */
  __device__ void applyx(const PlaneCellMatrices<T, K, PLACE> &m, const PlaneGeometry &g, T *P, const T *Q) const
  {
#pragma unroll
    for (int s = 0; s < S::ROWS; s++) {
      T         *line   = P + (s * S::CELLS * K + t) * S::STRIDE, p[N], q[N];
      const bool active = visited(g, 0, c0 + t % S::CELLS);

#pragma unroll
      for (int k = 0; k < N; k++) {
        p[k] = line[k];
        q[k] = line[Q - P + k];
      }
#pragma unroll
      for (int r = 0; r < N; r++) {
        T v = 0, ap = 0, mp = 0;

#pragma unroll
        for (int k = 0; k < N; k++) {
          v += m.M[0][r * N + k] * q[k];
          (PLACE ? ap : v) += m.A[0][r * N + k] * p[k];
          if (PLACE) mp += m.M[0][r * N + k] * p[k];
        }
        v       = m.sum(0, c0 + t % S::CELLS, v, ap, mp);
        line[r] = active ? v : T(0);
      }
    }
  }

  /* 3: what P has goes to y */
  __device__ void store(const PlaneGeometry &g, T alpha, T *y, int c, const T *P) const
  {
    /* multiples of the stride would stay in registers across the march; for two rows that is cheaper */
    const unsigned stride = K == 1 ? (unsigned)g.yl.row : Opaque((unsigned)g.yl.row);

#pragma unroll
    for (int r = 0; r < R; r++) {
      const int at = r * S::ROW + cell * S::STRIDE + node, row = c * K + r;
      const T   v = (cell < S::CELLS ? P[at] : T(0)) + (node ? T(0) : P[at - S::STRIDE + K]);

      if (row < rows && Inside(g.store, 1, j0 + row))
        y[to + row * (ptrdiff_t)stride] = old[r] + (write && Inside(g.write, 1, j0 + row) ? alpha * v : T(0));
    }
  }
};

template <typename T, int K, bool PLACE, bool RING>
__launch_bounds__(PlaneTile<T, K>::THREADS) static __global__
  void PlaneOperatorKernel(const __grid_constant__ PlaneCellMatrices<T, K, PLACE> m, const __grid_constant__ PlaneGeometry g, int groups,
                           T alpha, const T *__restrict__ x, const T *y0, T *y)
{
  using S = PlaneTile<T, K>;
  extern __shared__ double      shared_memory[];
  T                            *P = (T *)shared_memory, *Q = P + S::ROWS * K * S::ROW;
  PlaneMarch<T, K, PLACE, RING> march(g, groups);

  march.begin(m, g, x);
  for (int c = 0; c * K < march.rows; c += S::ROWS) {
    march.fetch(g, x, y0, c);
    if (march.t < S::NX) march.applyy(m, g, c, P, Q);
    __syncthreads(); /* p and q are there */
    if (march.t < S::CELLS * K) march.applyx(m, g, P, Q);
    __syncthreads();
    if (march.own) march.store(g, alpha, y, c, P);
    __syncthreads(); /* all have read what the next step overwrites */
  }
}

/* ---- how the generic part calls it ---- */

template <typename T, int K, bool PLACE>
struct OperatorPlane : OperatorFast {
  using S = PlaneTile<T, K>;
  PlaneCellMatrices<T, K, PLACE> m;
  PlaneGeometry                  g;
  int                            groups;

  OperatorPlane(const SumDesc *desc, int multiprocessors)
  {
    const PetscReal M = desc->dir[2].M[0], A = desc->dir[2].A[0]; /* of the point */

    g.xl    = RingLayout(desc->xbox, desc->read);
    g.yl    = Layout(desc->ybox);
    g.read  = Range(desc->read);
    g.write = Range(desc->write);
    g.point = (int)desc->ybox.lo[2];
    for (int d = 0; d < 2; d++) {
      const int first = (int)desc->ybox.lo[d], end = first + (int)desc->ybox.n[d];

      g.store.lo[d] = first;
      g.store.hi[d] = end;
      for (int e = 0; e < 2; e++) g.visit[d][e] = (int)desc->cells[d][e];
      /* all cells with nodes that are stored, whether they are visited or not; of those above the last node, which may be its only one, a
         visited one */
      g.first[d] = first / K;
      g.count[d] = PetscMax(1, PetscMax((end - 1 + K - 1) / K, PetscMin((end - 1) / K + 1, g.visit[d][1])) - g.first[d]);
    }
    groups = (g.count[0] + S::OWN - 1) / S::OWN;
    /* enough blocks to fill the device, few enough to share work between the cells of a march */
    g.chunk = (int)PetscMax(4, PetscMin(32, (size_t)g.count[1] * groups / (31 * multiprocessors)));
    for (int i = 0; i < (K + 1) * (K + 1); i++) {
      m.M[0][i] = (T)desc->dir[0].M[i];
      m.A[0][i] = (T)desc->dir[0].A[i];
      m.M[1][i] = (T)(M * desc->dir[1].M[i]);
      m.A[1][i] = (T)(M * desc->dir[1].A[i] + A * desc->dir[1].M[i]);
    }
  }

  /* by place: the numbers of the cells to visit, from the one before all tiles to the last one of the last tile */
  PetscErrorCode upload(const SumDesc *desc, PlanMemory *memory)
  {
    const PetscReal point    = desc->dir[2].A[0] / desc->dir[2].M[0]; /* of which A[1] has M[1] times so much */
    const int       cells[2] = {(groups + 1) * S::CELLS, g.count[1] + g.chunk + S::ROWS};

    PetscFunctionBegin;
    if constexpr (PLACE) {
      for (int d = 0; d < 2; d++) {
        std::vector<CellScale<T>> s = CellScales<T>(desc, d, g.first[d] - 1, cells[d] + 1);

        for (CellScale<T> &c : s) c.s += d ? (T)((c.m - c.a) * point) : T(0);
        PetscCall(memory->upload(s.size(), s.data(), &m.place[d]));
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  auto kernel() const { return g.xl.rings.any() ? PlaneOperatorKernel<T, K, PLACE, true> : PlaneOperatorKernel<T, K, PLACE, false>; }

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    kernel()<<<groups *((g.count[1] + g.chunk - 1) / g.chunk), S::THREADS, S::SIZE * sizeof(T), stream>>>(m, g, groups, (T)alpha,
                                                                                                          (const T *)x, (const T *)y0,
                                                                                                          (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, bool PLACE>
PetscErrorCode OperatorPlaneCreate(const SumDesc *desc, PlanMemory *memory, OperatorFast **fast)
{
  int multiprocessors;

  PetscFunctionBegin;
  PetscCall(Multiprocessors(&multiprocessors));
  PetscCall((ForDegree<1, operator_plane_degrees>(desc->dir[0].nloc - 1, [&](auto degree) {
    OperatorPlane<T, degree, PLACE> *p = new OperatorPlane<T, degree, PLACE>(desc, multiprocessors);

    PetscFunctionBegin;
    *fast = p;
    PetscCall(p->upload(desc, memory));
    PetscCall(AllowShared(p->kernel(), PlaneTile<T, degree>::SIZE * sizeof(T)));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::OperatorPlaneCreate<INSTANCE_T, INSTANCE_PLACE>(const SumDesc *, PlanMemory *, OperatorFast **);
