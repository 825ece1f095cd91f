/*
  The operator (operator.cuh) on cells of the same degree K in all directions that are equal or (BY_PLACE) whose matrices are multiples of
  the same two, by blocks of threads that march.

  R cells in each direction make a block of L = K R, with N = L + 1 nodes in a direction: so all degrees have lines of about the same
  length.  For R > 1 the matrices have zeros that are known when this is compiled, for R = 1 their mirror symmetry halves the products.
  They are kernel parameters: operands from the constant bank.

  A block of threads owns the nodes of a tile, Q L in x, L in y, and marches in z through `chunk` times L planes.  What cells below the
  tile's lower faces add to it is computed once more: each node is written once, without atomics, and two runs agree to the last bit.
  A step over L planes is

    1. a thread a y-line (a column of the tile and a plane):  p = M1 u, q = A1 u, where the K nodes below the tile contribute to its
       first node.  The values of x for the next step are loaded here, long before they are needed (or in 3, if LATE).
    2. a thread an x-line of a block (C = Q + 1 lanes for the blocks of a tile and the one before it):  s = M0 q + A0 p, t = M0 p, in
       place.  Neighbours in x are neighbouring lanes and add their shared node by a shuffle.
    3. a thread a z-line (a node of the tile):  M2 s + A2 t, added up in N registers.  The first plane of a step completes the L nodes of
       the step before it, which go to y: consecutive lanes are consecutive in x.

  p and q, s and t are in shared memory, for one step and the one before it: two barriers a step.  A march begins with a step of the K
  planes below it, for what they contribute to its first plane, and ends with a step of one plane.

  By place, cell c of a direction has the matrices m_c M and a_c A + s_c M, as cells of a graded mesh do: what M and A give is multiplied
  by these numbers cell by cell, and cells that do not exist have zeros.

  Ends of equal cells: nodes of x that do not exist are read as zero, so cells that do not exist contribute to one node only, the first or
  last one of the cells that do, and there M[0][0] (the same for both ends) too much: RemoveEnd() takes it away again.
*/
#include "operator/march_cell.cuh"

namespace patchfd
{

/* stage 2 and its x-line: a block of cells, for the first lane the one before the tile */
template <typename T, int K, bool PLACE>
struct MarchX {
  using S                = March<T, K, PLACE>;
  static constexpr int L = S::L, N = S::N;
  int                  lane, row, first; /* row of the step, j fastest, then k; first node */
  int                  at, over;         /* where it begins, and how far from there its last node is */

  __device__ MarchX(const OperatorGeometry &g, const MarchPlace<S> &place)
  {
    const int t = threadIdx.x;

    lane  = t % S::C;
    row   = t / S::C;
    first = place.i + (lane - 1) * L;
    at    = min(row, L * L - 1) * S::ROW + S::at(lane * L);
    over  = S::at(lane * L + L) - S::at(lane * L);
  }

  /* P = s, R = t, where they were p and q, if `active`; all lanes of a warp come here, because they exchange values */
  __device__ void apply(const CellMatrices<T, N, PLACE> &m, const OperatorGeometry &g, bool active, T *P, T *R) const
  {
    T p[N], q[N], s[2] = {0, 0}, w[2] = {0, 0};

#pragma unroll
    for (int i = 0; i < N; i++) {
      p[i] = P[at + (i == L ? over : i)];
      q[i] = R[at + (i == L ? over : i)];
    }
    S::split(p);
    S::split(q);
    const CellScale<T> *scale = Scale<S::R>(m, 0, (int)blockIdx.x * S::Q + lane - 1);

    rows(m, scale, p, q, 0, s, w);
    s[0] += __shfl_up_sync(0xffffffff, s[1], 1, S::C);
    w[0] += __shfl_up_sync(0xffffffff, w[1], 1, S::C);
    __syncwarp(); /* all have read */
    if (!active || !lane) return;
    P[at] = s[0];
    R[at] = w[0];
#pragma unroll
    for (int r = 1; r < S::H; r++) {
      s[0] = s[1] = w[0] = w[1] = 0;
      rows(m, scale, p, q, r, s, w);
      P[at + r] = s[0];
      R[at + r] = w[0];
      if (r < N / 2) {
        P[at + L - r] = s[1];
        R[at + L - r] = w[1];
      }
    }
    if constexpr (PLACE) return;
    RemoveEnd<L>(g.end[0], first, [&](int r) {
      const T a = S::entry(p, r), b = S::entry(q, r);

      P[at + r] -= m.M[0][S::FIRST] * b + m.A[0][S::FIRST] * a;
      R[at + r] -= m.M[0][S::FIRST] * a;
    });
  }

private:
  /* rows r and L - r of s and t; s and w are zero before */
  static __device__ __forceinline__ void rows(const CellMatrices<T, N, PLACE> &m, const CellScale<T> *scale, const T p[N], const T q[N],
                                              int r, T s[2], T w[2])
  {
    if constexpr (PLACE) {
      S::template products<3>({m.M[0], m.A[0], m.M[0]}, {q, p, p}, r, [&](int lo, int hi, const T rows[3][2]) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
          const CellScale<T> &c = scale[e ? hi : lo];

          s[e] += c.m * rows[0][e] + c.a * rows[1][e] + c.s * rows[2][e];
          w[e] += c.m * rows[2][e];
        }
      });
      return;
    }
    S::add(m.M[0], q, r, s[0], s[1]);
    S::add(m.A[0], p, r, s[0], s[1]);
    S::add(m.M[0], p, r, w[0], w[1]);
    if (r < N / 2) S::split(s[0], s[1]);
    if (r < N / 2) S::split(w[0], w[1]);
  }
};

/* stage 3 and its z-line: `sum` is M2 s + A2 t, `old` is y0 */
template <typename T, int K, bool PLACE>
struct MarchZ {
  using S                = March<T, K, PLACE>;
  static constexpr int L = S::L, N = S::N;
  int                  at;
  bool                 store; /* is there such a node? */
  T                    alpha; /* zero for a zero row */
  ptrdiff_t            to;
  T                    sum[N], old[L];

  __device__ MarchZ(const OperatorGeometry &g, const MarchPlace<S> &place, T a)
  {
    const int t = threadIdx.x, i = t % (S::Q * L), j = t / (S::Q * L);

    at    = j * S::ROW + S::at(L + i);
    store = t < S::LINES3 && Inside(g.store, 0, place.i + i) && Inside(g.store, 1, place.j + j);
    alpha = Inside(g.write, 0, place.i + i) && Inside(g.write, 1, place.j + j) ? a : T(0);
    to    = g.yl.at(place.i + i, place.j + j, place.k);
  }

  /* the L planes from z on are written, and none of them has a zero row */
  static __device__ bool inside(const OperatorGeometry &g, int z)
  {
    return z >= g.write.lo[2] && z + L <= g.write.hi[2] && z >= g.store.lo[2] && z + L <= g.store.hi[2];
  }

  /* y0 of the planes from z on, zero unless `is` */
  __device__ void fetch(const OperatorGeometry &g, int z, const T *from, unsigned plane, bool is, bool inside)
  {
    if (is && inside) {
#pragma unroll
      for (int r = 0; r < L; r++) old[r] = from[r * (size_t)plane];
    } else {
#pragma unroll
      for (int r = 0; r < L; r++) old[r] = is && Inside(g.store, 2, z + r) ? from[r * (size_t)plane] : T(0);
    }
  }

  /* what the first plane of a step gives to the step before, which is number `block` of all blocks in z */
  __device__ void complete(const CellMatrices<T, N, PLACE> &m, int block, const T *P, const T *R)
  {
    T s = P[at], w = R[at];

    if constexpr (PLACE) {
      const CellScale<T> c = Scale<S::R>(m, 2, block)[S::R - 1];

      s = c.m * s + c.s * w;
      w *= c.a;
    }

#pragma unroll
    for (int r = L - K; r < N; r++) {
      sum[r] += m.M[2][S::FIRST + L - r] * s;
      sum[r] += m.A[2][S::FIRST + L - r] * w;
    }
  }

  /* which goes to y */
  __device__ void write(const OperatorGeometry &g, int z, T *y, unsigned plane, bool inside) const
  {
    if (inside) {
#pragma unroll
      for (int r = 0; r < L; r++) y[r * (size_t)plane] = old[r] + alpha * sum[r];
    } else {
#pragma unroll
      for (int r = 0; r < L; r++)
        if (Inside(g.store, 2, z + r)) y[r * (size_t)plane] = old[r] + (Inside(g.write, 2, z + r) ? alpha : T(0)) * sum[r];
    }
  }

  /* sum of the L planes from z on, but what the plane after them gives */
  __device__ void apply(const CellMatrices<T, N, PLACE> &m, const OperatorGeometry &g, int block, int z, bool first, const T *P, const T *R)
  {
    const T carry = first ? T(0) : sum[L];
    T       s[N], w[N];

#pragma unroll
    for (int k = 0; k < L; k++) {
      s[k] = P[at + k * S::PLANE];
      w[k] = R[at + k * S::PLANE];
    }
    s[L] = w[L] = 0; /* comes with the next step */
    S::split(s);
    S::split(w);

    const CellScale<T> *scale = Scale<S::R>(m, 2, block);

#pragma unroll
    for (int r = 0; r < S::H; r++) {
      T lo = 0, hi = 0;

      if constexpr (PLACE) {
        S::template products<3>({m.M[2], m.A[2], m.M[2]}, {s, w, w}, r, [&](int cl, int ch, const T rows[3][2]) {
          lo += scale[cl].m * rows[0][0] + scale[cl].a * rows[1][0] + scale[cl].s * rows[2][0];
          hi += scale[ch].m * rows[0][1] + scale[ch].a * rows[1][1] + scale[ch].s * rows[2][1];
        });
      } else {
        S::add(m.M[2], s, r, lo, hi);
        S::add(m.A[2], w, r, lo, hi);
        if (r < N / 2) S::split(lo, hi);
      }
      if (r < N / 2) sum[L - r] = hi;
      sum[r] = r ? lo : lo + carry;
    }
    if constexpr (PLACE) return;
    const int again = Opaque(at); /* s and t, read again: registers are short */

    RemoveEnd<L>(g.end[2], z,
                 [&](int r) { sum[r] -= m.M[2][S::FIRST] * P[again + r * S::PLANE] + m.A[2][S::FIRST] * R[again + r * S::PLANE]; });
  }
};

template <typename T, int K, bool PLACE, bool RING>
__launch_bounds__(March<T, K, PLACE>::THREADS, Tile<T, K>::B) static __global__
  void MarchKernel(const __grid_constant__ CellMatrices<T, March<T, K, PLACE>::N, PLACE> m, const __grid_constant__ OperatorGeometry g,
                   T alpha, const T *__restrict__ x, const T *y0, T *y)
{
  using S                     = March<T, K, PLACE>;
  constexpr int             L = S::L;
  extern __shared__ double  shared_memory[];
  const int                 t = threadIdx.x;
  const MarchPlace<S>       place(g);
  MarchY<T, K, PLACE, RING> liney(g, place);
  const MarchX<T, K, PLACE> linex(g, place);
  MarchZ<T, K, PLACE>       linez(g, place, alpha);

  liney.fetch(g, place, x, -1);
  for (int c = -1; c <= place.steps; c++) {
    const int lo = c < 0 ? L - K : 0, hi = c < place.steps ? L : 1; /* first and end of the planes of this step */
    T *const P = (T *)shared_memory + (c & 1 ? 2 * L * S::PLANE : 0), *const R = P + L * S::PLANE;

    if (t < S::LINES1 && liney.k >= lo && liney.k < hi) liney.apply(m, g, place, P, R);
    if (!S::LATE && c < place.steps) liney.fetch(g, place, x, c + 1);
    __syncthreads(); /* p and q are there */
    const bool active = linex.row / L >= lo && linex.row / L < hi;

    if (__any_sync(0xffffffff, active)) linex.apply(m, g, active, P, R);
    const int      z      = place.k + (c - 1) * L; /* the first plane that this step completes */
    const bool     inside = linez.inside(g, z);
    const unsigned plane  = Opaque((unsigned)g.yl.plane);
    T *const       to     = y + linez.to + (ptrdiff_t)(c - 1) * L * g.yl.plane;

    linez.fetch(g, z, y0 + (to - y), plane, y0 && c > 0 && linez.store, inside);
    __syncthreads(); /* s and t are there, until the step after the next: all threads have passed the next step's barriers then */
    if (S::LATE) liney.fetch(g, place, x, c + 1);
    if (t < S::LINES3) {
      if (c >= 0) linez.complete(m, (int)blockIdx.z * g.chunk + c - 1, P, R);
      if (c > 0 && linez.store) linez.write(g, z, to, plane, inside);
      if (c < place.steps) linez.apply(m, g, (int)blockIdx.z * g.chunk + c, z + L, c < 0, P, R);
    }
  }
}

/* ---- how the generic part calls it ---- */

template <typename T, int K, bool PLACE>
struct OperatorMarch : OperatorFast {
  using S = March<T, K, PLACE>;
  CellMatrices<T, S::N, PLACE> m;
  OperatorGeometry             g;
  dim3                         grid;

  OperatorMarch(const SumDesc *desc)
  {
    int n[3];

    g.xl    = RingLayout(desc->xbox, desc->read);
    g.yl    = Layout(desc->ybox);
    g.read  = Range(desc->read);
    g.write = Range(desc->write);
    for (int d = 0; d < 3; d++) {
      g.end[d][0]   = (int)desc->cells[d][0] * K;
      g.end[d][1]   = (int)desc->cells[d][1] * K;
      g.read.lo[d]  = PetscMax(g.read.lo[d], g.end[d][0]);
      g.read.hi[d]  = PetscMin(g.read.hi[d], g.end[d][1] + 1);
      g.write.lo[d] = PetscMax(g.write.lo[d], g.end[d][0]);
      g.write.hi[d] = g.end[d][1] > g.end[d][0] ? PetscMin(g.write.hi[d], g.end[d][1] + 1) : g.write.lo[d];
      g.store.lo[d] = (int)desc->ybox.lo[d];
      g.store.hi[d] = (int)(desc->ybox.lo[d] + desc->ybox.n[d]);
      g.origin[d]   = g.store.lo[d] / K * K;
      n[d]          = g.store.hi[d] - g.origin[d];
      S::matrix(desc->dir[d].M, m.M[d]);
      S::matrix(desc->dir[d].A, m.A[d]);
    }
    grid.x   = (n[0] + S::Q * S::L - 1) / (S::Q * S::L);
    grid.y   = (n[1] + S::L - 1) / S::L;
    g.planes = (n[2] + S::L - 1) / S::L;
  }

  /* by place: the numbers of the cells to visit, zeros for others */
  PetscErrorCode upload(const SumDesc *desc, PlanMemory *memory)
  {
    const unsigned blocks[3] = {grid.x * S::Q, grid.y, (unsigned)g.planes};

    PetscFunctionBegin;
    if constexpr (PLACE) {
      for (int d = 0; d < 3; d++) {
        const std::vector<CellScale<T>> s = CellScales<T>(desc, d, g.origin[d] / K - S::R, (blocks[d] + 2) * S::R);

        PetscCall(memory->upload(s.size(), s.data(), &m.scale[d]));
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  auto kernel() const { return g.xl.rings.any() ? MarchKernel<T, K, PLACE, true> : MarchKernel<T, K, PLACE, false>; }

  PetscErrorCode fits(bool *yes) const
  {
    PetscFunctionBegin;
    PetscCall(SharedFits(kernel(), S::SHARED, yes));
    *yes = *yes && GridFits(grid.y);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode cut() { return CutMarches(kernel(), S::THREADS, S::SHARED, (size_t)grid.x * grid.y, g.planes, 1, &g.chunk, &grid.z); }

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    if (!grid.x || !grid.y || !grid.z) PetscFunctionReturn(PETSC_SUCCESS); /* no nodes here */
    kernel()<<<grid, S::THREADS, S::SHARED, stream>>>(m, g, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, bool PLACE>
PetscErrorCode OperatorMarchCreate(const SumDesc *desc, PlanMemory *memory, OperatorFast **fast)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, operator_march_degrees>(desc->dir[0].nloc - 1, [&](auto degree) {
    OperatorMarch<T, degree, PLACE> *p = new OperatorMarch<T, degree, PLACE>(desc);
    bool                             fits;

    PetscFunctionBegin;
    *fast = p;
    PetscCall(p->fits(&fits));
    if (!fits) {
      delete p;
      *fast = NULL;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(p->upload(desc, memory));
    PetscCall(p->cut());
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::OperatorMarchCreate<INSTANCE_T, INSTANCE_PLACE>(const SumDesc *, PlanMemory *, OperatorFast **);
