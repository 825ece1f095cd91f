/*
  Operators by quadrature on cubes (points.cuh), degrees 1 to 15: sums along lines, a thread a line.

  A block of threads takes PER cells, c^2 threads a cell, c points in a direction: n = k + 1 (collocated, few) or c = k + 2 (Gauss).  A
  thread has a line of numbers in registers and multiplies it by a matrix in even and odd halves, whose entries come from the constant
  bank, with an instruction each from compute capability 9.0 on; between the stages numbers lie in shared memory, in three arrays U, V, W
  of c^3 numbers a cell, whose pitches keep lanes on different banks as far as can be (found by counting).  u = values at the points, C =
  derivatives there; 'own' is the direction of the lines in which a thread meets the points: x with Gauss points, z where the nodes are the
  points.

    Gauss, few z    U = B_z x                           n^2 lines, x from global memory: lanes follow x
               y    U = B_y U                           n c lines
               own  u = B_x U, U = u
    collocated own  u = x, U = u
    both       a, b V = C_a U, W = C_b U                the directions other than the own one
               own  g = G (C_own u, V, W), V = g_a, W = g_b, u = C_own' g_own + G_7 u
               (factors G from global memory, or from the geometry of the cell)
               a, b V = C_a' V, W = C_b' W
    collocated own  y = u + V + W
    Gauss, few own  U = B_x' (u + V + W)
               y    U = B_y' U
               z    y = B_z' U

  The mass matrix has none of the stages between.  y: nodes inside a cell are written, sums of several cells are made by atomics.  Two runs
  need not give the same bits.

  Computed factors: along a line the tangents x_a and x_b of the map are linear, x_own is constant: 15 numbers in registers, and about 50
  multiply-adds a point.  The mass alone needs the determinant, a quadratic polynomial along a line: two multiply-adds.

  What bounds it, in numbers (of eight bytes, in double precision) a point of a cell: memory, stored factors 6 or 7 (mass 1) and x and y
  once a node; shared memory 15 (collocated), about 23 (Gauss), about 8 (mass); products n (collocated: 3 n), half of what the dense
  matrices have.
*/
#pragma once
#include "base/fetch.cuh"
#include "points/shape.cuh"
#include "base/reciprocal.cuh"
#include "points/line_factors.cuh"

namespace patchfd
{

static constexpr int points_prefetch = 32 * 1024; /* bytes of a block's factors, at most */

/* ---- lines ---- */

/* which of P x Q lines of PER cells a thread has */
template <int ORDER, int P, int Q, int PER>
struct PointsLane {
  unsigned v[3];

  __device__ __forceinline__ PointsLane(unsigned thread)
  {
    constexpr unsigned size[3] = {P, PER, Q};
    constexpr int      first = PointsRole(ORDER, 0), second = PointsRole(ORDER, 1), last = PointsRole(ORDER, 2);

    v[first]  = thread % size[first];
    v[second] = thread / size[first] % size[second];
    v[last]   = thread / size[first] / size[second];
  }
  __device__ __forceinline__ int p() const { return (int)v[0]; }
  __device__ __forceinline__ int e() const { return (int)v[1]; }
  __device__ __forceinline__ int q() const { return (int)v[2]; }
};

/* put(i, (X in)_i), or X' in if TRANSPOSED, for X as in PointsMatrix, ROWS numbers from COLS */
template <int ROWS, int COLS, bool ANTI, bool TRANSPOSED, typename T, typename F>
__device__ __forceinline__ void PointsMultiply(const PointsMatrix<T> &X, const T in[COLS], F &&put)
{
  constexpr int  he = (COLS + 1) / 2, ho = COLS / 2, cols = TRANSPOSED ? ROWS : COLS;
  constexpr bool swapped = ANTI && !TRANSPOSED; /* the odd matrix makes what is even */
  T              e[he], o[ho ? ho : 1];

#pragma unroll
  for (int i = 0; i < ho; i++) {
    e[i] = in[i] + in[COLS - 1 - i];
    o[i] = in[i] - in[COLS - 1 - i];
  }
  if (COLS % 2) e[he - 1] = in[ho];
  auto sum = [&](bool odd, int count, const T *v, int a) {
    const T  *m     = odd ? X.odd : X.even;
    const int pitch = odd ? cols / 2 : (cols + 1) / 2;
    T         s     = 0;

#pragma unroll
    for (int i = 0; i < count; i++) s += m[TRANSPOSED ? i * pitch + a : a * pitch + i] * v[i];
    return s;
  };
#pragma unroll
  for (int a = 0; a < (ROWS + 1) / 2; a++) {
    const T even = ANTI ? sum(swapped, ho, o, a) : sum(false, he, e, a);

    if (a == ROWS / 2) put(a, even);
    else {
      const T odd = ANTI ? sum(!swapped, he, e, a) : sum(true, ho, o, a);

      put(a, even + odd);
      put(ROWS - 1 - a, even - odd);
    }
  }
}

/* ---- the nodes of a cell ---- */

/* a column of nodes of a cell: what threads have before and after the work of a cell.  Threads beside each other in a warp have columns
   beside each other in x */
template <int n, int PER, int THREADS, typename T>
struct PointsColumns {
  const PointsArguments<T> &a;
  PointsColumn              c;
  /* is there a cell; do the threads before and behind have the cells before and behind in the block? */
  bool mine, before, behind;

  __device__ __forceinline__ PointsColumns(const PointsArguments<T> &a, int group, int comp, bool write) : a(a)
  {
    const PointsLane<0, n, n, PER> lane(threadIdx.x);
    const int                      cell = group * PER + lane.e();

    mine   = threadIdx.x < n * n * PER && cell < a.cells;
    before = mine && lane.p() == 0 && lane.e() > 0 && threadIdx.x % 32 > 0;
    behind = mine && lane.p() == n - 1 && lane.e() + 1 < PER && cell + 1 < a.cells && threadIdx.x % 32 < 31;
    c      = PointsPlace(a.nodes, a.nodes.kind, n, 3, mine ? cell : 0, lane.p(), lane.q(), comp, write);
  }

  /* u = x; of sweeps the new direction, which the nodes' owners keep */
  template <bool INDEX>
  __device__ __forceinline__ void read(T u[n]) const
  {
    unsigned number[n];

    c.template numbers<INDEX, n>(number);
    c.template fetch<INDEX, n>(number, a.x, u);
    if (!a.sweep) return;
    const T b = (T)a.sweep->b;
    T       v[n];

    if (a.d) {
      c.template fetch<INDEX, n>(number, a.d, v);
#pragma unroll
      for (int k = 0; k < n; k++) u[k] *= v[k];
    }
    if (b != 0) {
      c.template fetch<INDEX, n>(number, a.q, v);
#pragma unroll
      for (int k = 0; k < n; k++) u[k] += b * v[k];
    }
#pragma unroll
    for (int k = 0; k < n; k++)
      if (c.template own<INDEX>(n, k, number[k]) && c.template has<INDEX>(k, number[k])) a.p[c.template at<INDEX>(k, number[k])] = u[k];
  }
  __device__ __forceinline__ void read(T u[n]) const
  {
    if (!mine) return;
    if (a.nodes.kind == PATCHFD_NODES_INDEX) read<true>(u);
    else read<false>(u);
  }
  /* x on its way to the thread's numbers in shared memory */
  template <bool INDEX>
  __device__ __forceinline__ void copy(T *to) const
  {
    unsigned number[n];

    c.template numbers<INDEX, n>(number);
#pragma unroll
    for (int k = 0; k < n; k++) {
      const bool here = c.template has<INDEX>(k, number[k]);

      Fetch(to + k * THREADS, a.x + (here ? c.template at<INDEX>(k, number[k]) : 0), here);
    }
  }
  __device__ __forceinline__ void request(T *to) const
  {
    if (!mine) return;
    if (a.nodes.kind == PATCHFD_NODES_INDEX) copy<true>(to);
    else copy<false>(to);
  }
  /* u = x, when it has arrived */
  __device__ __forceinline__ void load(const T *from, T u[n]) const
  {
#pragma unroll
    for (int k = 0; k < n && mine; k++) u[k] = from[k * THREADS];
  }

  /* y += alpha w, atomics where other cells have the node, too; the x-side of a cell behind or before is summed by way of the warp, if its
     thread is there */
  template <bool INDEX>
  __device__ __forceinline__ void add(T w[n]) const
  {
    const bool sides = (c.left && !before) || c.right || c.sides;
    unsigned   number[n];
    T          old[n] = {};

    if (mine) c.template numbers<INDEX, n>(number);
    if (a.nodes.kind != PATCHFD_NODES_CELL) {
#pragma unroll
      for (int k = 0; k < n; k++) {
        const T left = __shfl_up_sync(~0u, w[k], 1);

        w[k] += before & (INDEX ? (number[k] & points_joined) != 0 : c.left) ? left : T(0);
      }
    }
    if (!mine) return;
    if (a.y0) c.template fetch<INDEX, n>(number, a.y0, old);
#pragma unroll
    for (int k = 0; k < n; k++) {
      const bool here   = c.template has<INDEX>(k, number[k]) & !(behind & (INDEX ? (number[k] & points_joined) != 0 : c.right));
      const bool shared = INDEX ? (number[k] & (before ? points_shared : points_shared | points_joined)) != 0 : sides || c.ends(n, k);
      T         *y      = a.y + c.template at<INDEX>(k, number[k]);

      if (here & shared) atomicAdd(y, a.alpha * w[k]);
      if (here & !shared) *y = old[k] + a.alpha * w[k];
    }
  }
  /* all threads of a warp call this */
  __device__ __forceinline__ void store(T w[n]) const
  {
    if (a.nodes.kind == PATCHFD_NODES_INDEX) add<true>(w);
    else add<false>(w);
  }
};

/* ---- a block of threads ---- */

/*
  Of a group of PER cells; for masses, which wait for memory otherwise, of one group in gridDim.x after the other, and what is read of the
  next one is on its way meanwhile.
  Stiffnesses have work enough, and registers are what is short; they compute the direction of a sweep as they read.
*/
template <typename S, bool COMPUTED, typename T>
struct PointsBlock {
  static constexpr int      n = S::n, c = S::c;
  const PointsArguments<T> &arg;
  /* S::ROUNDS: x, a column of nodes for each thread, and two geometries, which take turns, or a line of factors for each thread */
  T  *U, *V, *W, *x, *geometry;
  int group, turn = 0, cells; /* cells: from the first one of the group on */

  __device__ __forceinline__ PointsBlock(const PointsArguments<T> &arg, T *shared, int cells) :
    arg(arg), U(shared), V(U + S::PER * S::CELL), W(V + S::PER * S::CELL), x(shared + S::SHARED), geometry(x + S::X), group(blockIdx.x),
    cells(cells)
  {
  }
  __device__ __forceinline__ PointsBlock(const PointsArguments<T> &arg, T *shared) :
    PointsBlock(arg, shared, arg.cells - (int)blockIdx.x * S::PER)
  {
  }

  __device__ __forceinline__ bool any(int group) const { return (size_t)group * S::PER < (size_t)arg.cells; }

  __device__ __forceinline__ void next()
  {
    group += gridDim.x;
    cells -= (int)gridDim.x * S::PER;
    turn ^= 1;
  }

  /* factors of a group on their way to the L2 cache, or the cells' maps to shared memory */
  __device__ __forceinline__ void fetch(int group, int turn)
  {
    if constexpr (COMPUTED) {
      const int count = min(S::PER, arg.cells - group * S::PER) * S::NUMBERS;

      for (int i = threadIdx.x; i < count; i += S::THREADS) {
        const T *from = arg.factors + group * (size_t)(S::PER * S::NUMBERS) + i;

        if constexpr (S::ROUNDS) Fetch(geometry + turn * S::GEOMETRY + i, from, true);
        else geometry[i] = *from;
      }
    } else if constexpr (!S::AHEAD) {
#if __CUDA_ARCH__ >= 900
      const unsigned bytes = min(c * arg.numbers * S::LANES * (int)sizeof(T), points_prefetch);

      if (S::GAUSS && threadIdx.x == 0)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(arg.factors + group * (size_t)(c * arg.numbers) * S::LANES),
                     "r"(bytes));
#endif
    }
  }
  /* the factors of the thread's line, when those before are done with */
  __device__ __forceinline__ void ahead(int group)
  {
    if constexpr (S::AHEAD) {
      if (!any(group) || threadIdx.x >= S::PER * S::LINES) return;
      const T *from = arg.factors + group * (size_t)c * S::LANES + threadIdx.x;

#pragma unroll
      for (int i = 0; i < c; i++) Fetch(geometry + i * S::THREADS + threadIdx.x, from + i * S::LANES, true);
    }
  }
  /* the same, if there is such a group and comp is 0, and x */
  __device__ __forceinline__ void request(int group, int comp, int turn)
  {
    if (!any(group)) return;
    Columns(arg, group, comp, false).request(x + threadIdx.x);
    if (!comp) fetch(group, turn);
  }

  /* the factors of the thread's line */
  __device__ __forceinline__ auto factors() const
  {
    const PointsLane<S::template order<S::OWN>, c, c, S::PER> lane(min(threadIdx.x, S::PER * S::LINES - 1));
    const T                                                  *from = geometry + turn * S::GEOMETRY + lane.e() * S::NUMBERS;

    if constexpr (S::AHEAD) return PointsFetched<S, T>{geometry + threadIdx.x};
    else if constexpr (!COMPUTED) return PointsStored<S, T>(arg, arg.factors + group * (size_t)(c * arg.numbers) * S::LANES + threadIdx.x);
    else if constexpr (S::MASS) return PointsDeterminant<T>(arg, from, lane.p()).line(arg, lane.q());
    else return PointsComputed<S, T>(arg, from, lane.p(), lane.q());
  }

  /* f(cell, p, q) for the thread's line in direction D among P x Q lines of a cell, if it has one: those in x are at j, k, in y at i, k, in
     z at i, j */
  template <int D, int P, int Q, typename F>
  __device__ __forceinline__ void lines(F &&f)
  {
    const PointsLane<S::template order<D>, P, Q, S::PER> lane(threadIdx.x);

    if (threadIdx.x < P * Q * S::PER && lane.e() < cells) f(lane.e() * S::CELL, lane.p(), lane.q());
  }
  /* columns of nodes: lanes follow x, from cell to cell */
  using Columns = PointsColumns<n, S::PER, S::THREADS, T>;
  template <typename F>
  __device__ __forceinline__ void columns(F &&f)
  {
    const PointsLane<0, n, n, S::PER> lane(threadIdx.x);

    if (threadIdx.x < n * n * S::PER && lane.e() < cells) f(lane.e() * S::CELL, lane.p(), lane.q());
  }

  /* a line in direction D from shared memory */
  template <int D, int COUNT>
  static __device__ __forceinline__ void read(const T *from, T u[COUNT])
  {
#pragma unroll
    for (int i = 0; i < COUNT; i++) u[i] = from[i * S::template stride<D>];
  }

  /* to = X from, or X' from, on a line in direction D */
  template <int D, int ROWS, int COLS, bool ANTI, bool TRANSPOSED>
  static __device__ __forceinline__ void multiply(const PointsMatrix<T> &X, const T *from, T *to)
  {
    T u[COLS];

    read<D, COLS>(from, u);
    PointsMultiply<ROWS, COLS, ANTI, TRANSPOSED>(X, u, [&](int i, T v) { to[i * S::template stride<D>] = v; });
  }

  /* u = x; then what is next is on its way */
  __device__ __forceinline__ void nodes(int comp, T u[n])
  {
    const bool last = comp + 1 == (int)arg.nodes.ncomp;

    if constexpr (!S::ROUNDS) Columns(arg, group, comp, false).read(u);
    else {
      FetchWait();
      Columns(arg, group, comp, false).load(x + threadIdx.x, u);
      request(last ? group + (int)gridDim.x : group, last ? 0 : comp + 1, turn ^ last);
    }
  }
  /* u = x at the points of the own line */
  __device__ __forceinline__ void load(int comp, T u[c])
  {
    if constexpr (S::OWN == 2) nodes(comp, u);
    else {
      T in[n];

      nodes(comp, in);
      interpolate(in, u);
    }
  }
  /* u = values at the points of the own line from a column of nodes */
  __device__ __forceinline__ void interpolate(const T in[n], T u[c])
  {
    columns([&](int cell, int i, int j) {
      PointsMultiply<c, n, false, false>(arg.B, in,
                                         [&](int k, T v) { U[cell + S::template line<2>(i, j) + k * S::template stride<2>] = v; });
    });
    __syncthreads();
    lines<1, n, c>([&](int cell, int i, int k) {
      T *at = U + cell + S::template line<1>(i, k);

      multiply<1, c, n, false, false>(arg.B, at, at);
    });
    __syncthreads();
    lines<0, c, c>([&](int cell, int j, int k) {
      T row[n];

      read<0, n>(U + cell + S::template line<0>(j, k), row);
      PointsMultiply<c, n, false, false>(arg.B, row, [&](int i, T v) { u[i] = v; });
    });
  }
  /* a column of nodes from rows of the own line */
  __device__ __forceinline__ void project(const T u[c], T w[n])
  {
    lines<0, c, c>([&](int cell, int j, int k) {
      PointsMultiply<n, c, false, true>(arg.B, u, [&](int i, T v) { U[cell + S::template line<0>(j, k) + i] = v; });
    });
    __syncthreads();
    lines<1, n, c>([&](int cell, int i, int k) {
      T *at = U + cell + S::template line<1>(i, k);

      multiply<1, n, c, false, true>(arg.B, at, at);
    });
    __syncthreads();
    columns([&](int cell, int i, int j) {
      T in[c];

      read<2, c>(U + cell + S::template line<2>(i, j), in);
      PointsMultiply<n, c, false, true>(arg.B, in, [&](int k, T v) { w[k] = v; });
    });
  }

  /* V = C_a U, W = C_b U, or C_a' V and C_b' W */
  template <bool TRANSPOSED>
  __device__ __forceinline__ void derivatives()
  {
    lines<S::A, c, c>([&](int cell, int p, int q) {
      const int at = cell + S::template line<S::A>(p, q);

      multiply<S::A, c, c, true, TRANSPOSED>(arg.C, (TRANSPOSED ? V : U) + at, V + at);
    });
    lines<S::B, c, c>([&](int cell, int p, int q) {
      const int at = cell + S::template line<S::B>(p, q);

      multiply<S::B, c, c, true, TRANSPOSED>(arg.C, (TRANSPOSED ? W : U) + at, W + at);
    });
  }

  /* V, W = fluxes of a and b, u = C' flux of the own direction + mass u; energy += u'A u.  For the mass u is read once more: registers are
     what is short */
  template <typename Factors>
  __device__ __forceinline__ void fluxes(const Factors &factors, T u[c], T &energy)
  {
    lines<S::OWN, c, c>([&](int cell, int p, int q) {
      const int at = cell + S::template line<S::OWN>(p, q);
      T         g[c];

      PointsMultiply<c, c, true, false>(arg.C, u, [&](int i, T v) { g[i] = v; });
#pragma unroll
      for (int i = 0; i < c; i++) {
        const int place  = at + i * S::template stride<S::OWN>;
        const T   in[3]  = {g[i], V[place], W[place]};
        T         out[3] = {in[0], in[1], in[2]};

        factors.flux(arg, i, out);
        energy += in[0] * out[0] + in[1] * out[1] + in[2] * out[2];
        g[i]     = out[0];
        V[place] = out[1];
        W[place] = out[2];
      }
      if (arg.shift) {
        read<S::OWN, c>(U + at, u);
        masses(factors, u, energy);
      } else {
#pragma unroll
        for (int i = 0; i < c; i++) u[i] = 0;
      }
      PointsMultiply<c, c, true, true>(arg.C, g, [&](int i, T v) { u[i] += v; });
    });
  }

  /* u = mass u */
  template <typename Factors>
  __device__ __forceinline__ void masses(const Factors &factors, T u[c], T &energy)
  {
#pragma unroll
    for (int i = 0; i < c; i++) {
      const T v = factors.mass(arg, i) * u[i];

      energy += u[i] * v;
      u[i] = v;
    }
  }

  /* what is between u = values and u = rows at the points */
  template <typename Factors>
  __device__ __forceinline__ void points(const Factors &factors, T u[c], T &energy)
  {
    if constexpr (S::MASS) lines<S::OWN, c, c>([&](int, int, int) { masses(factors, u, energy); });
    else if (arg.stiff) stiffness(factors, u, energy);
    else lines<S::OWN, c, c>([&](int, int, int) { masses(factors, u, energy); });
  }
  template <typename Factors>
  __device__ __forceinline__ void stiffness(const Factors &factors, T u[c], T &energy)
  {
    lines<S::OWN, c, c>([&](int cell, int p, int q) {
#pragma unroll
      for (int i = 0; i < c; i++) U[cell + S::template line<S::OWN>(p, q) + i * S::template stride<S::OWN>] = u[i];
    });
    __syncthreads();
    derivatives<false>();
    __syncthreads();
    fluxes(factors, u, energy);
    __syncthreads();
    derivatives<true>();
    __syncthreads();
    lines<S::OWN, c, c>([&](int cell, int p, int q) {
      const int at = cell + S::template line<S::OWN>(p, q);

#pragma unroll
      for (int i = 0; i < c; i++) u[i] += V[at + i * S::template stride<S::OWN>] + W[at + i * S::template stride<S::OWN>];
    });
  }

  /* y += rows */
  __device__ __forceinline__ void store(int comp, T u[c])
  {
    if constexpr (S::OWN == 2) Columns(arg, group, comp, true).store(u);
    else {
      T w[n] = {};

      project(u, w);
      Columns(arg, group, comp, true).store(w);
    }
  }
};

template <typename S, bool COMPUTED, typename T>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) PointsFastKernel(const __grid_constant__ PointsArguments<T> arg)
{
  extern __shared__ double    shared_memory[];
  PointsBlock<S, COMPUTED, T> block(arg, (T *)shared_memory);
  T                           energy = 0, u[S::c] = {};

  if (arg.sweep && arg.sweep->stop) return;
  if constexpr (S::ROUNDS) {
    block.ahead(block.group);
    block.request(block.group, 0, 0);
  } else block.fetch(block.group, 0);
  do {
    for (int comp = 0; comp < arg.nodes.ncomp; comp++) {
      block.load(comp, u);
      if (COMPUTED && S::OWN == 2 && comp == 0) __syncthreads();
      block.points(block.factors(), u, energy);
      if (comp + 1 == arg.nodes.ncomp) block.ahead(block.group + gridDim.x);
      block.store(comp, u);
    }
    block.next();
  } while (S::ROUNDS && block.any(block.group));
  if (arg.sweep) PointsSum(arg, energy);
}

template <typename S, bool COMPUTED, typename T>
static PointsKernel<T> PointsKernelOf()
{
  const PointsLayout layout = {S::c, S::OWN, S::template order<S::OWN>, S::PER, S::LANES, S::c, 0};
  const size_t       shared = (size_t)S::ALL * sizeof(T);

  return {layout,
          S::PER,
          S::THREADS,
          COMPUTED ? S::NUMBERS : 0,
          !S::ROUNDS,
          shared,
          S::ROUNDS ? 0 : INT_MAX,
          PointsFastKernel<S, COMPUTED, T>};
}

} // namespace patchfd
