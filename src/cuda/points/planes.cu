/*
  Operators by quadrature on cubes of low degree (points.cuh): a thread a plane, warps by themselves.

  A warp takes PER cells, c threads a cell, c points in a direction.  A thread has a plane of numbers in registers and multiplies it by the
  matrices of its two directions there, in even and odd halves; the third direction's sums are along lines that cross the threads of a
  cell, by way of shared memory, where each thread takes the lines of one place in its plane.  So a number goes through shared memory a
  third as often as with a thread a line (fast.cuh), and no warp waits for another; a thread has many loads under way.  Planes have
  to fit in registers, and where factors are read, in so few that there are enough warps: so stiffnesses are computed, and in a sweep x is
  the new direction already: registers for its three vectors were slower than a pass of their own.

    Gauss      thread i: u = B_z B_y x, planes normal to x; lines: u = B_x u; thread j: planes normal to y
    collocated thread i: u = x, planes normal to x
    both       own  v = C u along the lines, w = C_z u, and row by row of the plane C_f u, fluxes, C_f'; then C_z' w and C' along the lines;
    own: normal to the planes
    Gauss      lines: u = B_x' u; thread i: y = B_y' B_z' u
*/
#include "points/fast.cuh"

namespace patchfd
{

/* bank conflicts of a warp: threads (e, p) with c threads a cell take place e cell + p, and then e cell + p row */
__host__ __device__ constexpr int PointsConflicts(int banks, int c, int per, int cell, int row)
{
  int all = 0;

  for (int pattern = 0; pattern < 2; pattern++) {
    for (int first = 0; first < c * per; first += banks) {
      int most = 0;

      for (int bank = 0; bank < banks; bank++) {
        int count = 0;

        for (int t = first; t < first + banks && t < c * per; t++) count += (t / c * cell + t % c * (pattern ? row : 1)) % banks == bank;
        most = count > most ? count : most;
      }
      all += most;
    }
  }
  return all;
}

/* the pitch of rows of at least `row` numbers, or then of cells of c^2 rows, with the fewest */
__host__ __device__ constexpr int PointsPitch(int banks, int c, int per, int row, bool cells)
{
  int best = 1 << 30, answer = 0;

  for (int r = row; r < row + 2; r++) {
    for (int cell = c * c * r; cell < c * c * r + banks; cell++) {
      const int conflicts = PointsConflicts(banks, c, per, cell, r);

      if (conflicts < best) {
        best   = conflicts;
        answer = cells ? cell : r;
      }
    }
  }
  return answer;
}

template <typename T, int K, PointsRule RULE, bool COMPUTED>
struct PointsPlaneShape {
  static constexpr int      n = K + 1, c = PointsCount(RULE, K), PER = 32 / c, WARPS = 4, LANES = PER * c;
  static constexpr unsigned MASK = LANES == 32 ? ~0u : (1u << LANES) - 1; /* the threads of a warp that have a plane */
  static constexpr bool     MASS = RULE == POINTS_MASS, GAUSS = RULE != POINTS_COLLOCATED;
  static constexpr int      OWN = GAUSS ? 0 : 1, A = (OWN + 1) % 3, B = (OWN + 2) % 3; /* of rows in planes */
  static constexpr int      NORMAL = GAUSS ? 1 : 0;                                    /* to planes of points */
  static constexpr int      PLANE = c * c * (int)sizeof(T) / 4, REGISTERS = (MASS ? PLANE + 4 * c + 32 : 2 * PLANE + (GAUSS ? 70 : 60)) +
                                                                       (COMPUTED && !MASS ? 4 * (int)sizeof(T) : 0);
  static constexpr int BLOCKS = 65536 / (32 * WARPS) / (REGISTERS > 255 ? 255 : REGISTERS);
  static constexpr int BANKS = 128 / (int)sizeof(T), ROW = PointsPitch(BANKS, c, PER, MASS ? n : c, false),
                       CELL = PointsPitch(BANKS, c, PER, MASS ? n : c, true);
  /* of a warp */
  static constexpr int NUMBERS = MASS ? points_determinant : points_geometry, GEOMETRY = COMPUTED ? PER * NUMBERS : 0,
                       SHARED = PER * CELL + GEOMETRY;
};

/* the nodes of a plane normal to x, of which a thread has one */
template <typename S, int KIND, typename T>
struct PointsPlane {
  static constexpr int      n     = S::n;
  static constexpr bool     INDEX = KIND == PATCHFD_NODES_INDEX;
  const PointsArguments<T> &a;
  const unsigned           *index; /* of the cell, in shared memory */
  int                       cell, i, comp;
  /* does the thread have a plane; is it the first or the last one of a cell and the cell before or behind one of the warp? */
  bool mine, before, behind;

  __device__ __forceinline__ PointsPlane(const PointsArguments<T> &a, const unsigned *indices, int first, int e, int i, int comp) :
    a(a), index(indices), cell(first + e), i(i), comp(comp)
  {
    mine   = i < n && cell < a.cells;
    before = mine && i == 0 && e > 0;
    behind = mine && i == n - 1 && e + 1 < S::PER && cell + 1 < a.cells;
    if (mine) index += e * n * n * n;
    else this->cell = this->i = 0; /* some node that exists */
  }
  __device__ __forceinline__ PointsColumn column(int j, bool write) const
  {
    PointsColumn col = PointsPlace(a.nodes, KIND, n, 3, cell, i, j, comp, write);

    if (INDEX) col.index = index + j * n + i;
    return col;
  }

  /* number[j] = numbers of a column, all at once */
  __device__ __forceinline__ void numbers(unsigned number[n][n]) const
  {
#pragma unroll
    for (int j = 0; j < n; j++) column(j, false).template numbers<INDEX, n>(number[j]);
  }
  __device__ __forceinline__ void load(T u[S::c][S::c]) const
  {
    unsigned number[n][n];
    T        v[n][n];

    numbers(number);
#pragma unroll
    for (int j = 0; j < n; j++) column(j, false).template fetch<INDEX, n>(number[j], a.x, v[j]);
#pragma unroll
    for (int j = 0; j < n; j++)
#pragma unroll
      for (int k = 0; k < n; k++) u[k][j] = v[j][k];
  }

  /* sums of sides that two cells of the warp have in common are at the latter's */
  __device__ __forceinline__ void join(const unsigned number[n][n], T w[S::c][S::c]) const
  {
#pragma unroll
    for (int j = 0; j < n; j++) {
      const PointsColumn col = column(j, true);

#pragma unroll
      for (int k = 0; k < n; k++) {
        const T left = __shfl_up_sync(S::MASK, w[k][j], S::c - n + 1);

        w[k][j] += before & (INDEX ? (number[j][k] & points_joined) != 0 : col.left) ? left : T(0);
      }
    }
  }
  /* y += alpha w.  All threads of S::MASK call this */
  __device__ __forceinline__ void store(T w[S::c][S::c]) const
  {
    unsigned number[n][n];

    numbers(number);
    if (KIND != PATCHFD_NODES_CELL) join(number, w);
    if (!mine) return;
#pragma unroll
    for (int j = 0; j < n; j++) {
      const PointsColumn col    = column(j, true);
      const bool         sides  = (col.left && !before) || col.right || col.sides;
      T                  old[n] = {};

      if (a.y0) col.template fetch<INDEX, n>(number[j], a.y0, old);
#pragma unroll
      for (int k = 0; k < n; k++) {
        const bool here = col.template has<INDEX>(k, number[j][k]) & !(behind & (INDEX ? (number[j][k] & points_joined) != 0 : col.right));
        const bool shared = INDEX ? (number[j][k] & (before ? points_shared : points_shared | points_joined)) != 0
                                  : KIND == PATCHFD_NODES_BOX && (sides || col.ends(n, k));
        T         *y      = a.y + col.template at<INDEX>(k, number[j][k]);

        if (here & shared) atomicAdd(y, a.alpha * w[k][j]);
        if (here & !shared) *y = old[k] + a.alpha * w[k][j];
      }
    }
  }
};

/* a warp */
template <typename S, int KIND, bool COMPUTED, typename T>
struct PointsWarp {
  static constexpr int n = S::n, c = S::c, NODES = n * n * n;
  /* bytes of a warp */
  static constexpr int      INDICES = KIND == PATCHFD_NODES_INDEX ? RoundUp(S::PER * NODES * (int)sizeof(unsigned), 16) : 0;
  const PointsArguments<T> &arg;
  int                       first, e, p; /* first cell; which cell of the warp and which plane of it the thread has */
  bool                      mine;
  T                        *own, *line; /* in shared memory: place (k, f) of the plane, and line (k, place p) through the planes */
  const T                  *source;     /* of factors */
  unsigned                 *indices;    /* of the nodes of the warp's cells, in shared memory */

  __device__ __forceinline__ PointsWarp(const PointsArguments<T> &arg, T *shared) : arg(arg)
  {
    const int warp = blockIdx.x * S::WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    T        *U = shared + threadIdx.x / 32 * S::SHARED, *geometry = U + S::PER * S::CELL;

    first   = warp * S::PER;
    indices = (unsigned *)((char *)(shared + S::WARPS * S::SHARED) + threadIdx.x / 32 * INDICES);
    if constexpr (KIND == PATCHFD_NODES_INDEX) {
      const int count = min(S::PER, arg.cells - first) * NODES;

#pragma unroll 4
      for (int i = lane; i < count; i += 32) Fetch(indices + i, arg.nodes.index + first * (ptrdiff_t)NODES + i, true);
    }
    e    = lane / c;
    p    = lane % c;
    mine = first + e < arg.cells;
    own  = U + e * S::CELL + (S::MASS ? min(p, n - 1) : p);
    line = U + e * S::CELL + p * S::ROW;
    if constexpr (COMPUTED) {
      const int count = min(S::PER, arg.cells - first) * S::NUMBERS;

#pragma unroll 4
      for (int i = lane; i < count; i += 32) Fetch(geometry + i, arg.factors + first * (ptrdiff_t)S::NUMBERS + i, true);
      source = geometry + e * S::NUMBERS;
    } else source = arg.factors + warp * ((size_t)(c * c * arg.numbers) * S::LANES) + lane;
    FetchWait();
    __syncwarp();
  }

  /* factors of row k of the plane */
  __device__ __forceinline__ auto factors(int k) const
  {
    if constexpr (!COMPUTED) return PointsStored<S, T>(arg, source + (size_t)(k * c * arg.numbers) * S::LANES);
    else return PointsComputed<S, T>(arg, source, S::GAUSS ? p : k, S::GAUSS ? k : p);
  }
  static __device__ __forceinline__ constexpr int at(int k, int f)
  {
    return (k * c + f) * S::ROW;
  }
  static __device__ __forceinline__ constexpr int along(int k)
  {
    return k * c * S::ROW;
  }

  /* v[.][f] = X u[.][f], u = X u, or with X' */
  template <int ROWS, int COLS, bool ANTI, bool TRANSPOSED>
  static __device__ __forceinline__ void column(const PointsMatrix<T> &X, const T u[c][c], int f, T v[c][c])
  {
    T in[COLS];

#pragma unroll
    for (int k = 0; k < COLS; k++) in[k] = u[k][f];
    PointsMultiply<ROWS, COLS, ANTI, TRANSPOSED>(X, in, [&](int k, T s) { v[k][f] = s; });
  }
  template <int ROWS, int COLS, bool ANTI, bool TRANSPOSED>
  static __device__ __forceinline__ void row(const PointsMatrix<T> &X, T u[c])
  {
    T in[COLS];

#pragma unroll
    for (int f = 0; f < COLS; f++) in[f] = u[f];
    PointsMultiply<ROWS, COLS, ANTI, TRANSPOSED>(X, in, [&](int f, T s) { u[f] = s; });
  }
  template <int COUNT>
  static __device__ __forceinline__ void read(const T *from, T u[COUNT])
  {
#pragma unroll
    for (int i = 0; i < COUNT; i++) u[i] = from[i];
  }
  /* the plane to shared memory */
  __device__ __forceinline__ void publish(const T u[c][c]) const
  {
    if (p >= n && S::GAUSS && S::MASS) return; /* rows have room for n */
#pragma unroll
    for (int k = 0; k < c; k++)
#pragma unroll
      for (int f = 0; f < c; f++) own[at(k, f)] = u[k][f];
  }

  /* u = rows of (mass + C'G C) u at the points of planes */
  __device__ __forceinline__ void points(T u[c][c], T &energy) const
  {
    T w[c][c];

    publish(u);
    __syncwarp(S::MASK);
    derivatives<false>();
#pragma unroll
    for (int f = 0; f < c; f++) column<c, c, true, false>(arg.C, u, f, w);
    __syncwarp(S::MASK);
#pragma unroll
    for (int k = 0; k < c; k++) fluxes(k, u[k], w[k], energy);
#pragma unroll
    for (int f = 0; f < c; f++) {
      column<c, c, true, true>(arg.C, w, f, w);
#pragma unroll
      for (int k = 0; k < c; k++) u[k][f] += w[k][f];
    }
    __syncwarp(S::MASK);
    derivatives<true>();
    __syncwarp(S::MASK);
#pragma unroll
    for (int k = 0; k < c; k++)
#pragma unroll
      for (int f = 0; f < c; f++) u[k][f] += own[at(k, f)];
  }
  template <bool TRANSPOSED>
  __device__ __forceinline__ void derivatives() const
  {
#pragma unroll
    for (int k = 0; k < c; k++) {
      T in[c];

      read<c>(line + along(k), in);
      PointsMultiply<c, c, true, TRANSPOSED>(arg.C, in, [&](int i, T s) { line[along(k) + i] = s; });
    }
  }
  /* a row of the plane: u = mass u + C'flux, w = flux in z, and that normal to the plane in shared memory */
  __device__ __forceinline__ void fluxes(int k, T u[c], T w[c], T &energy) const
  {
    const auto G = factors(k);
    T          g[c];

    PointsMultiply<c, c, true, false>(arg.C, u, [&](int f, T s) { g[f] = s; });
#pragma unroll
    for (int f = 0; f < c; f++) {
      const T normal = own[at(k, f)], in[3] = {g[f], S::GAUSS ? normal : w[f], S::GAUSS ? w[f] : normal};
      T       out[3] = {in[0], in[1], in[2]};

      if (mine) {
        G.flux(arg, f, out);
        energy += in[0] * out[0] + in[1] * out[1] + in[2] * out[2];
      }
      g[f]          = out[0];
      w[f]          = out[S::GAUSS ? 2 : 1];
      own[at(k, f)] = out[S::GAUSS ? 1 : 2];
    }
    if (arg.shift) masses(G, u, energy);
    else {
#pragma unroll
      for (int f = 0; f < c; f++) u[f] = 0;
    }
    PointsMultiply<c, c, true, true>(arg.C, g, [&](int f, T s) { u[f] += s; });
  }
  /* a row: u = mass u */
  template <typename Factors>
  __device__ __forceinline__ void masses(const Factors &G, T u[c], T &energy) const
  {
#pragma unroll
    for (int f = 0; f < c; f++) {
      const T v = mine ? G.mass(arg, f) * u[f] : T(0);

      energy += u[f] * v;
      u[f] = v;
    }
  }
  __device__ __forceinline__ void between(T u[c][c], T &energy) const
  {
    if (arg.stiff) points(u, energy);
    else {
#pragma unroll
      for (int k = 0; k < c; k++) masses(factors(k), u[k], energy);
    }
  }

  /* lines through the planes of nodes: u = B'mass B u */
  __device__ __forceinline__ void mass(T &energy) const
  {
    auto lines = [&](auto &&factors) {
#pragma unroll 2
      for (int k = 0; k < c; k++) {
        T in[n], u[c];

        read<n>(line + along(k), in);
        PointsMultiply<c, n, false, false>(arg.B, in, [&](int i, T s) { u[i] = s; });
        masses(factors(k), u, energy);
        PointsMultiply<n, c, false, true>(arg.B, u, [&](int i, T s) { line[along(k) + i] = s; });
      }
    };

    if constexpr (COMPUTED) {
      const PointsDeterminant<T> determinant(arg, source, p);

      lines([&](int k) { return determinant.line(arg, k); });
    } else lines([&](int k) { return factors(k); });
  }
  /* the same with planes of points between */
  __device__ __forceinline__ void stiffness(T u[c][c], T &energy) const
  {
#pragma unroll
    for (int k = 0; k < c; k++) {
      T in[n];

      read<n>(line + along(k), in);
      PointsMultiply<c, n, false, false>(arg.B, in, [&](int i, T s) { u[k][i] = s; });
    }
    __syncwarp(S::MASK);
    between(u, energy);
    __syncwarp(S::MASK);
#pragma unroll
    for (int k = 0; k < c; k++) PointsMultiply<n, c, false, true>(arg.B, u[k], [&](int i, T s) { line[along(k) + i] = s; });
  }

  __device__ __forceinline__ void component(int comp, T &energy) const
  {
    const PointsPlane<S, KIND, T> plane(arg, indices, first, e, p, comp);
    T                             u[c][c];

    plane.load(u);
    if constexpr (S::GAUSS) {
#pragma unroll
      for (int k = 0; k < n; k++) row<c, n, false, false>(arg.B, u[k]);
#pragma unroll
      for (int f = 0; f < c; f++) column<c, n, false, false>(arg.B, u, f, u);
      publish(u);
      __syncwarp(S::MASK);
      if constexpr (S::MASS) mass(energy);
      else stiffness(u, energy);
      __syncwarp(S::MASK);
#pragma unroll
      for (int f = 0; f < c; f++) {
        T in[c];

#pragma unroll
        for (int k = 0; k < c; k++) in[k] = own[at(k, f)];
        PointsMultiply<n, c, false, true>(arg.B, in, [&](int k, T s) { u[k][f] = s; });
      }
#pragma unroll
      for (int k = 0; k < n; k++) row<n, c, false, true>(arg.B, u[k]);
      __syncwarp(S::MASK);
    } else between(u, energy);
    plane.store(u);
  }
};

template <typename S, int KIND, bool COMPUTED, typename T>
static __global__ void __launch_bounds__(32 * S::WARPS, S::BLOCKS) PointsPlaneKernel(const __grid_constant__ PointsArguments<T> arg)
{
  extern __shared__ double shared_memory[];
  T                        energy = 0;

  if (arg.sweep && arg.sweep->stop) return;
  const PointsWarp<S, KIND, COMPUTED, T> warp(arg, (T *)shared_memory);

  if (warp.first >= arg.cells) return;
  for (int comp = 0; comp < arg.nodes.ncomp && warp.e < S::PER; comp++) warp.component(comp, energy);
  if (arg.sweep) PointsSum(arg, energy);
}

template <typename S, int KIND, bool COMPUTED, typename T>
static PointsKernel<T> PointsPlaneKernelOf()
{
  const PointsLayout layout = {S::c, S::NORMAL, points_planes, S::PER, S::LANES, S::c * S::c, 0};
  const size_t       shared = (size_t)(S::WARPS * S::SHARED) * sizeof(T) + S::WARPS * PointsWarp<S, KIND, COMPUTED, T>::INDICES;

  return {layout,        S::WARPS * S::PER,
          32 * S::WARPS, COMPUTED ? S::NUMBERS : 0,
          false,         shared,
          INT_MAX,       PointsPlaneKernel<S, KIND, COMPUTED, T>};
}

/* Measured on an H200: up to which degree planes are better than lines */
constexpr int PointsPlaneDegrees(PointsRule rule, bool computed, bool single)
{
  return rule == POINTS_MASS ? 6 : (!computed ? 0 : (rule == POINTS_GAUSS || single ? 2 : 3));
}

/* the kernel of a kind of nodes: of(kind) makes it */
template <typename T, typename F>
static PointsKernel<T> PointsOfNodes(int nodes, F &&of)
{
  switch (nodes) {
  case PATCHFD_NODES_BOX:
    return of(std::integral_constant<int, PATCHFD_NODES_BOX>());
  case PATCHFD_NODES_INDEX:
    return of(std::integral_constant<int, PATCHFD_NODES_INDEX>());
  default:
    return of(std::integral_constant<int, PATCHFD_NODES_CELL>());
  }
}

template <typename T, PointsRule RULE, bool COMPUTED>
static PetscErrorCode PointsFindAny(PetscInt degree, int nodes, PointsKernel<T> *kernel)
{
  constexpr int planes  = PointsPlaneDegrees(RULE, COMPUTED, sizeof(T) == 4),
                degrees = RULE == POINTS_MANY ? (points_max - 1) / 2 : points_degrees;

  PetscFunctionBegin;
  PetscCall((ForDegree<1, degrees>(degree, [&](auto k) {
    constexpr int K = decltype(k)::value;

    if constexpr (K <= planes)
      *kernel = PointsOfNodes<T>(nodes, [](auto kind) {
        return PointsPlaneKernelOf<PointsPlaneShape<T, K, RULE, COMPUTED>, decltype(kind)::value, COMPUTED, T>();
      });
    else *kernel = PointsKernelOf<PointsShape<T, K, RULE, COMPUTED>, COMPUTED, T>();
    return PETSC_SUCCESS;
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, PointsRule RULE>
PetscErrorCode PointsFind(PetscInt degree, int nodes, bool computed, PointsKernel<T> *kernel)
{
  bool fits = false;

  PetscFunctionBegin;
  if constexpr (RULE == POINTS_FEW || RULE == POINTS_MANY) PetscCall((PointsFindAny<T, RULE, false>(degree, nodes, kernel)));
  else if (computed) PetscCall((PointsFindAny<T, RULE, true>(degree, nodes, kernel)));
  else PetscCall((PointsFindAny<T, RULE, false>(degree, nodes, kernel)));
  if (kernel->kernel) PetscCall(SharedFits(kernel->kernel, kernel->shared, &fits));
  if (!fits) {
    kernel->kernel    = NULL;
    kernel->direction = false;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AllowShared(kernel->kernel, kernel->shared));
  if (!kernel->blocks) {
    int processors;

    PetscCall(Multiprocessors(&processors));
    PetscCall(Resident(kernel->kernel, kernel->threads, kernel->shared, &kernel->blocks));
    kernel->blocks *= processors;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::PointsFind<INSTANCE_T, patchfd::INSTANCE_KIND>(PetscInt, int, bool, PointsKernel<INSTANCE_T> *);
