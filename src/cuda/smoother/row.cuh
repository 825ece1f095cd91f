/*
  Two colours that follow each other and differ in x only, in one pass: the same iterates at half the traffic.

  Patches of the same parity in y and z touch each other only along x: those of both colours form rows, one for each pair of patches in y
  and z, and no row reads what another one writes.  In the modes of y and z a row falls apart into N^2 problems along x,

    (A_x + lambda M_x) y = r,   lambda = lambda_y + lambda_z,

  where y_i, r_i are numbers of a mode at the node i, y = [T]_y [T]_z x over the closure in y and z, and r = (S' S')_{y,z} b - M_x c with
  what the faces in y and z give (notation of fast.cuh; sums or differences of opposite faces, according to the mode):

    c = alpha_y G + alpha_z Z,   G = [T]_z F_y,  Z = [T]_y F_z;

  back in nodes, x = S_z S_y (y - mu_y (G - mu_z R) - mu_z Z) with the corners R of the closure.  None of these depends on the colour.  Of
  the first colour (A) only the value in the middle of a patch is needed, since the second one (B) replaces all others; patches at the ends
  of the row excepted.

  A block works on a row and marches along x, each warp P patches of A (slots) a time.  Patches begin at node K q of the row, A's at even q,
  B's at odd q.  Slot p is the place of A's patch 2 p, there or not: its unknowns and the node at its upper end, 2 K nodes:

      node        2Kp - K         2Kp         2Kp + K       2Kp + 2K
                     .             .             .             .
      A    ----- 2p - 2 -----------|------------ 2p -----------|---- 2p + 2 ----
      B    ----------|---------- 2p - 1 ---------|---------- 2p + 1 ---------
      slot ------- p - 1 ----------]------------ p ------------]----- p + 1 ----

      y           middle         yface          mid          next
      r, c           |   carried   |            new            |

  The step at slot p finds `mid`, A's value in the middle of 2 p, from y at both of its faces and the new r and c; then all of B's patch
  2 p - 1, from `middle`, `mid`, what is carried and the lower half of the new; and carries the upper half on.

    1. LoadRow.  A lane owns a node in x: all of b's values with this x go to modes in registers, then to V.  G, Z, R, too.
       x-planes between patches of A, to modes: Y.
    2. MarchModes.  A lane owns a mode (in y and z) and marches through the warp's slots: y, in the place of V, but half a patch later.
       It begins with the slot before, to have what is carried from slot to slot.  Few modes: groups of lanes march through parts of the
       slots.
    3. StoreRow.  A lane owns a node in x: back, and to x.

  What a step of the march computes is in row_mode.cuh.
*/
#pragma once
#include "smoother/fast.cuh"
#include "smoother/row_mode.cuh"

namespace patchfd
{

/* by degree: warps of a block and of a multiprocessor (a bound for the compiler's registers); measured on an H200 */
static constexpr int row_double[][2] = {{}, {}, {4, 20}, {4, 12}, {4, 8}};
static constexpr int row_float[][2]  = {{}, {}, {4, 28}, {4, 16}, {4, 12}, {4, 8}};

template <typename T, int K>
struct Row {
  static constexpr int N = 2 * K - 1, C = N + 2, MODES = N * N, P = 16 / K, NX = 2 * K * P, ROUNDS = (MODES + 31) / 32,
                       GROUPS = ROUNDS > 1 ? 1 : 32 / MODES, PART = (P + GROUPS - 1) / GROUPS;
  static constexpr int WARPS  = (sizeof(T) == 4 ? row_float : row_double)[K][0],
                       BLOCKS = (sizeof(T) == 4 ? row_float : row_double)[K][1] / WARPS;
  /* places in a warp's shared memory and strides there, odd ones: no bank conflicts */
  static constexpr int LV = NX + 1, LG = NX + 1, LY = P | 1, FACES = 4 * N + 4;
  static constexpr int V = 0, G = V + MODES * LV, Z = G + 2 * N * LG, R = Z + 2 * N * LG, Y = G + FACES * LG, SIZE = Y + MODES * LY;
  /* the block's, before: what is carried from chunk to chunk: by the modes (Carried), faces of the last K nodes (of even and odd chunks) */
  static constexpr int    STATE = 0, FRONT = STATE + Carried<T, K>::SIZE * MODES, SHARED = FRONT + 2 * FACES * K;
  static constexpr size_t bytes(int warps) { return (SHARED + warps * SIZE) * sizeof(T); }
};

struct RowGeometry {
  FastGeometry g;      /* first[0]: node below the first patch; count[0]: patches of both colours */
  int          second; /* the first patch belongs to the second colour */

  RowGeometry(const FastGeometry &a, const FastGeometry &b) : g(a), second(b.first[0] < a.first[0])
  {
    g.first[0] = PetscMin(a.first[0], b.first[0]);
    g.count[0] = a.count[0] + b.count[0];
  }
  int rows() const { return g.count[1] * g.count[2]; }
  /* of a block, `most` at most, for so many slots of each: small blocks, unless there are too few rows, one of a block, to fill the device,
     which holds `resident` warps */
  int warps(int rows, int slots, int resident, int most) const
  {
    if (rows * 2 >= resident) most = 2;
    const int chunks = ((g.count[0] + second - 1) / 2 + 2) / slots + 1, rounds = (chunks + most - 1) / most;

    return (chunks + rounds - 1) / rounds;
  }
};

/* a thread and its row */
template <typename T, int K>
struct RowThread {
  using F = Row<T, K>;

  int  lane, warp, warps;
  T   *block, *sm;         /* shared memory of the block and of the warp */
  int  first, last, end;   /* the row's patches, and its last slot */
  int  low, high;          /* lowest and highest unknown */
  int  o[3];               /* node 0 of the row, below the unknowns in y and z */
  bool below[3], above[3]; /* may the faces in y and z be read? */

  __device__ __forceinline__ RowThread(const RowGeometry &rg, T *shared) :
    lane(threadIdx.x), warp(threadIdx.y), warps(blockDim.y), block(shared), sm(shared + F::SHARED + warp * F::SIZE), first(rg.second),
    last(first + rg.g.count[0] - 1), end(last / 2 + 1), low(K * first + 1), high(K * (last + 2) - 1)
  {
    o[0] = rg.g.first[0] - K * first;
    o[1] = rg.g.first[1] + (int)blockIdx.x % rg.g.count[1] * 2 * K;
    o[2] = rg.g.first[2] + (int)blockIdx.x / rg.g.count[1] * 2 * K;
#pragma unroll
    for (int d = 1; d < 3; d++) {
      below[d] = Inside(rg.g.read, d, o[d]);
      above[d] = Inside(rg.g.read, d, o[d] + 2 * K);
    }
  }
  __device__ __forceinline__ bool exists(int q) const
  {
    return q >= first && q <= last;
  }
  /* may node k of a line of the closure in y or z be read? */
  __device__ __forceinline__ bool there(int d, int k) const
  {
    return (k > 0 || below[d]) && (k < F::C - 1 || above[d]);
  }
};

/* where a warp is in the row: its first slot, that slot's first node, and the lane's node of stages 1 and 3 */
template <typename T, int K>
struct RowChunk {
  int       slot, node0, node;
  ptrdiff_t at, row, plane; /* the node on the lower edge of the row; the strides once for all stages, so that they share offsets */
  int       odd;            /* which half of the front */

  __device__ __forceinline__ RowChunk(const RowThread<T, K> &me, const Layout &l, int slot0, int which) :
    slot(slot0 + me.warp * Row<T, K>::P), node0(slot * 2 * K + 1), node(node0 + me.lane), at(l.at(me.o[0] + node, me.o[1], me.o[2])),
    row(l.row), plane(l.plane), odd(which)
  {
  }
};

/* ---- stage 1 ---- */

/* a lane's line of an x-plane: at the right end of its slot; in the middle where there is no patch but a neighbour of B */
template <typename T, int K>
struct RowPlane {
  using F = Row<T, K>;
  int  p, line, node; /* slot of the warp, line of the plane, the plane's node in x */
  bool here;

  template <bool BOUNDARY>
  __device__ __forceinline__ RowPlane(const RowThread<T, K> &me, const RowChunk<T, K> &chunk, const Range &read,
                                      std::bool_constant<BOUNDARY>) :
    p(me.lane / F::N),
    line(me.lane % F::N)
  {
    const int  s     = chunk.slot + p;
    const bool start = s == -1 && me.first, finish = s == me.end && me.last % 2;
    const bool wanted = p < F::P && (BOUNDARY ? s <= me.end && (s < me.end || me.last % 2) : start || finish);

    node = start ? K : s == me.end ? 2 * K * s + K : 2 * K * (s + 1);
    here = wanted && node >= me.low - 1 && node <= me.high + 1 && Inside(read, 0, me.o[0] + node);
  }
};

template <typename T, int K>
__device__ __forceinline__ void LoadPlane(const RowThread<T, K> &me, const RowChunk<T, K> &chunk, const RowPlane<T, K> &plane,
                                          const Layout &l, const T *x, T q[2 * K + 1])
{
  constexpr int   C     = 2 * K + 1;
  const ptrdiff_t zline = l.at(me.o[0] + plane.node, me.o[1] + 1 + plane.line, me.o[2]);

#pragma unroll
  for (int k = 0; k < C; k++) q[k] = plane.here && me.there(2, k) ? x[zline + k * chunk.plane] : T(0);
}

/* z-lines of the faces in y, with their ends, and y-lines of those in z without them */
template <typename T, int K>
__device__ __forceinline__ void LoadFaces(const RowThread<T, K> &me, const RowChunk<T, K> &chunk, const Range &read, const T *x,
                                          T f[2][2 * K + 1], T h[2][2 * K + 1])
{
  constexpr int C    = 2 * K + 1;
  const bool    face = me.lane < Row<T, K>::NX && chunk.node >= me.low - 1 && chunk.node <= me.high + 1 &&
                    Inside(read, 0, me.o[0] + chunk.node);
  const ptrdiff_t at = chunk.at, row = chunk.row, plane = chunk.plane;

#pragma unroll
  for (int k = 0; k < C; k++) {
    const bool      zk = face && me.there(2, k), yk = face && k > 0 && k < C - 1;
    const ptrdiff_t z = k * plane;

    f[0][k] = zk && me.below[1] ? x[at + z] : T(0);
    f[1][k] = zk && me.above[1] ? x[at + (C - 1) * row + z] : T(0);
    h[0][k] = yk && me.below[2] ? x[at + k * row] : T(0);
    h[1][k] = yk && me.above[2] ? x[at + k * row + (C - 1) * plane] : T(0);
  }
}

/* G, Z and R at a lane's node */
template <typename T, int K>
__device__ __forceinline__ void StoreFaces(const RowMatrices<T, K> &m, T f[2][2 * K + 1], T h[2][2 * K + 1], T *sm, int lane)
{
  using F         = Row<T, K>;
  constexpr int N = F::N, C = F::C, LG = F::LG;
  T             w[N];

#pragma unroll
  for (int e = 0; e < 2; e++) { /* the ends of lines in z-faces are those of lines in y-faces */
    h[e][0]     = f[0][e * (C - 1)];
    h[e][C - 1] = f[1][e * (C - 1)];
  }
#pragma unroll
  for (int k = 0; k < C; k++) { /* sums and differences of opposite faces */
    const T a = f[0][k], c = h[0][k];

    f[0][k] = a + f[1][k];
    f[1][k] = a - f[1][k];
    h[0][k] = c + h[1][k];
    h[1][k] = c - h[1][k];
  }
  if (lane >= F::NX) return;
#pragma unroll
  for (int e = 0; e < 2; e++) {
    FaceModes(m.d[2], f[e], w);
    Store<T, N>(w, sm + F::G + e * N * LG + lane, LG);
    FaceModes(m.d[1], h[e], w);
    Store<T, N>(w, sm + F::Z + e * N * LG + lane, LG);
    sm[F::R + 2 * e * LG + lane]       = f[e][0] + f[e][C - 1];
    sm[F::R + (2 * e + 1) * LG + lane] = f[e][0] - f[e][C - 1];
  }
}

/* the values v[y][z] of b at a lane's node in x, to modes */
template <typename T, int K>
__device__ __forceinline__ void StoreVolume(const RowMatrices<T, K> &m, T v[2 * K - 1][2 * K - 1], T *sm, int lane)
{
  using F         = Row<T, K>;
  constexpr int N = F::N;
  T             w[N];

#pragma unroll
  for (int j = 0; j < N; j++) {
    ToModes(m.d[2].S, v[j], w);
#pragma unroll
    for (int k = 0; k < N; k++) v[j][k] = w[k];
  }
#pragma unroll
  for (int k = 0; k < N; k++) {
    T u[N];

#pragma unroll
    for (int j = 0; j < N; j++) u[j] = v[j][k];
    ToModes(m.d[1].S, u, w);
    if (lane < F::NX) Store<T, N>(w, sm + F::V + k * N * F::LV + lane, F::LV);
  }
}

/* a z-line of an x-plane to modes */
template <typename T, int K>
__device__ __forceinline__ void PlaneLine(const RowMatrices<T, K> &m, const T q[2 * K + 1], T w[2 * K - 1])
{
  FaceModes(m.d[2], q, w);
}

/* a y-line of an x-plane to modes, its ends from G, the faces in y */
template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void PlaneModes(const RowMatrices<T, K> &m, const RowPlane<T, K> &plane, int node0, T *sm)
{
  using F           = Row<T, K>;
  constexpr int N   = F::N;
  T            *y   = sm + F::Y + plane.line * N * F::LY + plane.p, u[N], w[N];
  const T      *rim = sm + F::G + plane.line * F::LG + plane.node - node0;

  Load<T, N>(y, F::LY, u);
  ToModes(m.d[1].Tt, u, w);
  if (BOUNDARY) Subtract<T, K>(m.d[1].mu, -rim[0], -rim[N * F::LG], w);
  Store<T, N>(w, y, F::LY);
}

/* all loads before the first of these numbers is needed */
template <bool BOUNDARY, class M, typename T, int K>
__device__ __forceinline__ void LoadRow(const M &m, const RowThread<T, K> &me, const RowChunk<T, K> &chunk, const FastGeometry &g,
                                        const T *x, const T *__restrict__ b)
{
  using F                = Row<T, K>;
  constexpr int        N = F::N, C = F::C;
  const RowPlane<T, K> plane(me, chunk, g.read, std::bool_constant<BOUNDARY>());
  const bool           here = me.lane < F::NX && chunk.node >= me.low && chunk.node <= me.high;
  T                    q[C], f[2][C], h[2][C], v[N][N], w[N];

  LoadPlane(me, chunk, plane, g.l, x, q);
  if (BOUNDARY) LoadFaces(me, chunk, g.read, x, f, h);
#pragma unroll
  for (int k = 0; k < N; k++)
#pragma unroll
    for (int j = 0; j < N; j++) v[j][k] = here ? b[chunk.at + (j + 1) * chunk.row + (k + 1) * chunk.plane] : T(0);
  if (plane.p < F::P) {
    PlaneLine(m, q, w);
    Store<T, N>(w, me.sm + F::Y + plane.line * F::LY + plane.p, N * F::LY);
  }
  if (BOUNDARY) StoreFaces(m, f, h, me.sm, me.lane);
  StoreVolume(m, v, me.sm, me.lane);
  __syncwarp();
  if (plane.p < F::P) PlaneModes<BOUNDARY>(m, plane, chunk.node0, me.sm);
  /* for the next chunk */
  for (int i = me.lane; BOUNDARY && me.warp == me.warps - 1 && i < F::FACES * K; i += 32)
    me.block[F::FRONT + chunk.odd * F::FACES * K + i] = me.sm[F::G + i / K * F::LG + F::NX - K + i % K];
}

/* ---- stage 2 ---- */

/* where a mode finds its numbers in a warp's shared memory, and its coefficients */
template <typename T, int K>
struct RowMode {
  using F = Row<T, K>;
  using M = RowPlaces<K>;
  int G, Z, Y, V;
  T   t[M::SIZE];

  __device__ __forceinline__ RowMode(const T *table, int mode, bool active) :
    G(F::G + ((mode % F::N < K ? 0 : F::N) + mode / F::N) * F::LG), Z(F::Z + ((mode / F::N < K ? 0 : F::N) + mode % F::N) * F::LG),
    Y(F::Y + mode * F::LY), V(F::V + mode * F::LV)
  {
#pragma unroll
    for (int i = 0; i < M::SIZE; i++) t[i] = active ? table[i * F::MODES + mode] : T(0);
  }
  /* c at node i of slot l */
  template <bool BOUNDARY>
  __device__ __forceinline__ T face(const T *sm, int l, int i, std::bool_constant<BOUNDARY>) const
  {
    return BOUNDARY ? t[M::AY] * sm[G + l * 2 * K + i] + t[M::AZ] * sm[Z + l * 2 * K + i] : T(0);
  }
};

template <typename T, int K>
__device__ __forceinline__ RowMode<T, K> ModeOf(const RowMatrices<T, K> &m, int mode, bool active)
{
  return RowMode<T, K>(m.table, mode, active);
}

/* slot p of the row, which is slot l of a warp with the numbers sm; without `write` only for what is carried on */
template <bool BOUNDARY, class M, class Mode, typename T, int K>
__device__ __forceinline__ void MarchStep(const M &m, const RowThread<T, K> &me, const Mode &mode, int p, int l, bool write, T *sm,
                                          Carried<T, K> &carried)
{
  const bool there = me.exists(2 * p);
  const T    next  = sm[mode.Y + l];
  T         *v     = sm + mode.V + l * 2 * K, r[2 * K], c[2 * K + 1], u[2 * K - 1], mid; /* c from the face below on */

  c[0] = carried.cface;
#pragma unroll
  for (int i = 0; i < 2 * K; i++) {
    r[i]     = v[i];
    c[i + 1] = mode.face(sm, l, i, std::bool_constant<BOUNDARY>());
  }
  if (there) mid = RowMiddle<T, K>(m, mode, 2 * p, r, c, carried.yface, next);
  else mid = p == me.end ? next : carried.yface;
  if (write) {
    if (me.exists(2 * p - 1)) {
      T rb[2 * K - 1], cb[2 * K + 1], ub[2 * K - 1];

      RowBetween<T, K>(carried, r, c, rb, cb);
      RowSolve<T, K>(m, mode, 2 * p - 1, rb, cb, carried.middle, mid, ub);
      Store<T, 2 * K - 1>(ub, v, 1);
    } else Store<T, K - 1>(carried.r, v, 1); /* the end of a row that ends with A */
    v[2 * K - 1] = mid;
  }
  if (there && (2 * p == me.first || 2 * p == me.last)) { /* no patch of B replaces the values at the end of the row */
    RowSolve<T, K>(m, mode, 2 * p, r, c, carried.yface, next, u);
#pragma unroll
    for (int i = 0; i < K - 1; i++) {
      if (write && 2 * p == me.first) v[K + i] = u[i];
      if (2 * p == me.last) r[K + i] = u[K + i];
    }
  }
  carried.shift(r, c, next, mid);
}

/*
  Barriers.  Before the first step of the first round: all warps' V, G, Z and Y of stage 1 are there, which a warp's step -1 reads of the
  warp before.  Before step 0 of each round: all warps have done their step -1, so that V may be overwritten.
*/
template <bool BOUNDARY, class M, typename T, int K>
__device__ __forceinline__ void MarchModes(const M &m, const RowThread<T, K> &me, int slot, int round)
{
  using F             = Row<T, K>;
  const int     group = me.lane / F::MODES, from = group * F::PART, number = F::GROUPS > 1 ? me.lane % F::MODES : me.lane + 32 * round;
  const bool    active = number < F::MODES && group < F::GROUPS, head = me.warp == 0 && group == 0;
  T            *state = me.block + F::STATE + number;
  Carried<T, K> carried;
  const auto    mode = ModeOf(m, number, active);

  carried.clear();
  if (round == 0) __syncthreads();
  if (active) {
    if (!head) {
      const T  *before = group ? me.sm : me.sm - F::SIZE;
      const int p      = (group ? from : F::P) - 1;

      carried.cface = mode.face(before, p, -1, std::bool_constant<BOUNDARY>());
      carried.yface = before[mode.Y + p - 1];
    } else if (slot > -1) carried.load(state, F::MODES);
  }
#pragma unroll 1
  for (int step = -1; step < F::PART; step++) {
    const int  p     = slot + from + step;
    const bool write = step >= 0;

    if (step == 0) __syncthreads();
    if (active && p <= me.end && (write ? from + step < F::P : !head)) {
      const bool own = write || group;

      MarchStep<BOUNDARY>(m, me, mode, p, own ? from + step : F::P - 1, write, own ? me.sm : me.sm - F::SIZE, carried);
    }
  }
  if (active && me.warp == me.warps - 1 && group == F::GROUPS - 1) carried.store(state, F::MODES);
}

/* ---- stage 3 ---- */

/* where a lane finds the faces of its node of stage 3: of this warp's nodes, of the warp's before, of the chunk before */
template <typename T, int K>
struct RowFaces {
  int      stride;
  const T *G, *Z, *R;

  __device__ __forceinline__ RowFaces(const RowThread<T, K> &me, const RowChunk<T, K> &chunk)
  {
    using F        = Row<T, K>;
    const bool own = me.lane >= K, front = !own && me.warp == 0;

    stride = front ? K : F::LG;
    G = front ? me.block + F::FRONT + !chunk.odd * F::FACES * K + me.lane : (own ? me.sm : me.sm - F::SIZE + F::NX) + F::G + me.lane - K;
    Z = G + 2 * F::N * stride;
    R = Z + 2 * F::N * stride;
  }
};

template <bool BOUNDARY, typename T, int K>
__device__ __forceinline__ void StoreRow(const RowMatrices<T, K> &m, const RowThread<T, K> &me, const RowChunk<T, K> &chunk, T *x)
{
  using F                = Row<T, K>;
  constexpr int        N = F::N;
  const RowFaces<T, K> f(me, chunk);
  const int            stride = f.stride;
  T                    v[N][N], w[N], u[N];

#pragma unroll
  for (int k = 0; k < N; k++) {
    Load<T, N>(me.sm + F::V + k * N * F::LV + me.lane, F::LV, w);
    if (BOUNDARY) {
      const int z        = k < K ? 0 : 1;
      const T   sum      = f.G[k * stride] - m.d[2].mu[k] * f.R[z * stride],
              difference = f.G[(N + k) * stride] - m.d[2].mu[k] * f.R[(2 + z) * stride];

      Subtract<T, K>(m.d[1].mu, sum, difference, w);
#pragma unroll
      for (int j = 0; j < N; j++) w[j] -= m.d[2].mu[k] * f.Z[(z * N + j) * stride];
    }
    ToNodes(m.d[1].S, w, u);
#pragma unroll
    for (int j = 0; j < N; j++) v[j][k] = u[j];
  }
#pragma unroll
  for (int j = 0; j < N; j++) {
    ToNodes(m.d[2].S, v[j], w);
#pragma unroll
    for (int k = 0; k < N; k++) x[chunk.at - K + (j + 1) * chunk.row + (k + 1) * chunk.plane] = w[k];
  }
}

/* the block's row of patches */
template <bool BOUNDARY, class M, typename T, int K>
__device__ __forceinline__ void RowOfPatches(const M &m, const RowThread<T, K> &me, const FastGeometry &g, T *x, const T *__restrict__ b)
{
  using F = Row<T, K>;

  /* slot -1 has nothing but the node at its upper end */
  for (int slot0 = -1, odd = 0; slot0 <= me.end; slot0 += me.warps * F::P, odd = !odd) {
    const RowChunk<T, K> chunk(me, g.l, slot0, odd);

    LoadRow<BOUNDARY>(m, me, chunk, g, x, b);
#pragma unroll M::ROUNDS_AT_ONCE
    for (int round = 0; round < F::ROUNDS; round++) MarchModes<BOUNDARY>(m, me, chunk.slot, round);
    __syncwarp(); /* other lanes' modes */
    if (me.lane < F::NX && chunk.node - K >= me.low && chunk.node - K <= me.high) StoreRow<BOUNDARY>(m, me, chunk, x);
    __syncthreads(); /* the next chunk overwrites what the next warp has been reading */
  }
}

/* without BOUNDARY x is zero but for what the first colour's other patches have left at the ends of rows */
template <typename T, int K, bool BOUNDARY>
__launch_bounds__(32 * Row<T, K>::WARPS, Row<T, K>::BLOCKS) static __global__
  void RowKernel(const __grid_constant__ RowMatrices<T, K> m, const __grid_constant__ RowGeometry rg, T *x, const T *__restrict__ b)
{
  extern __shared__ double shared_memory[];

  RowOfPatches<BOUNDARY>(m, RowThread<T, K>(rg, (T *)shared_memory), rg.g, x, b);
}

/* ---- launch ---- */

/* FastSmoother with a pass of two colours */
template <typename T, int K>
struct RowSmoother : FastSmoother<T, K> {
  using F = Row<T, K>;

  RowMatrices<T, K> rm;
  int               multiprocessors;

  PetscErrorCode create(const PatchFDEigen *const e[3])
  {
    const std::vector<PetscReal> t = RowTable<T, K>(e);

    PetscFunctionBegin;
    PetscCall((FastSmoother<T, K>::create(e)));
    this->pairs = true;
    for (int d = 0; d < 3; d++) rm.d[d] = this->m.d[d];
    PetscCall(Multiprocessors(&multiprocessors));
    PetscCall(this->memory.upload(t.size(), t.data(), &rm.table));
    PetscCall(AllowShared(RowKernel<T, K, true>, F::bytes(F::WARPS)));
    PetscCall(AllowShared(RowKernel<T, K, false>, F::bytes(F::WARPS)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode pair(const FastGeometry &a, const FastGeometry &b, bool boundary, void *x, const void *rhs, cudaStream_t stream) override
  {
    const RowGeometry rg(a, b);
    const dim3        threads(32, rg.warps(rg.rows(), Row<T, K>::P, multiprocessors * F::BLOCKS * F::WARPS, F::WARPS));

    PetscFunctionBegin;
    if (boundary) RowKernel<T, K, true><<<rg.rows(), threads, F::bytes(threads.y), stream>>>(rm, rg, (T *)x, (const T *)rhs);
    else RowKernel<T, K, false><<<rg.rows(), threads, F::bytes(threads.y), stream>>>(rm, rg, (T *)x, (const T *)rhs);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscLogDouble flops(bool boundary, bool pair) const override
  {
    constexpr PetscLogDouble n = 2 * K - 1, c = n + 2, line = n * (n + 1), rim = 2 * n + 2;
    PetscLogDouble           f;

    if (!pair) return FastFlops<K>(boundary);
    /* two patches are 2 K nodes in x; of each mode a middle value and a patch with a dense matrix for its even and its odd part */
    f = 2 * K * 4 * n * line + n * n * (line + 5 * n);
    if (boundary) f += 2 * K * (4 * (line + rim) + 4 * n * n) + 2 * n * (line + rim) + n * n * (8 * K + 4 * c + 4 * K * K);
    return f / 2;
  }
};

} // namespace patchfd
