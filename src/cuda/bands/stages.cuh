/* the three stages of a step of the march of operator_fast.cu, each a structure of its own; what they have in common is in
   tile.cuh */
#pragma once
#include "bands/tile.cuh"

namespace patchfd
{

/* where a block of threads is: the first own cells, and the end of those in the direction of the march */
template <typename S>
struct BandPlace {
  int c[3], end;

  __device__ BandPlace(const BandGeometry &g)
  {
    c[0] = g.cell0[0] + blockIdx.x * S::Q;
    c[1] = g.cell0[1] + blockIdx.y * S::R;
    c[2] = g.cell0[2] + blockIdx.z * g.chunk;
    end  = min(c[2] + g.chunk, g.cell0[2] + g.layers);
  }
};

/* shared memory of a step, a row for each plane p and y-node j */
template <typename S, typename T>
struct BandStep {
  T *M, *K, *B;

  __device__ explicit BandStep(T *step) : M(step), K(step + S::ROWS * (S::N - 1) * S::PITCHM), B(K + S::ROWS * (S::N - 1) * S::PITCH) { }
};

/* ---- stage 1 ---- */

/* In 3D: a y-line.  u: from the cell below those that are computed to the one above them */
template <typename T, int K, int DIM, bool COLOR>
struct BandY {
  using S                = BandSizes<T, K, DIM, COLOR>;
  static constexpr int N = S::N, R = S::R;
  int                  i, p;               /* column, plane of the step */
  bool                 load, full, inside; /* has x the line; are all of P wanted; has x all of its nodes? */
  ptrdiff_t            from;
  T                    u[S::FETCH];

  __device__ BandY(const BandGeometry &g, const BandPlace<S> &place)
  {
    const int node = (place.c[0] - S::LOW - 1) * K + (int)threadIdx.x % S::NP, first = place.c[1] * K - S::OWN;

    i      = threadIdx.x % S::NP;
    p      = threadIdx.x / S::NP;
    load   = threadIdx.x < S::LINES1 && Inside(g.read, 0, node);
    full   = i >= K && i < K + S::NX;
    inside = first >= g.read.lo[1] && first + S::FETCH <= g.read.hi[1];
    from   = g.xl.at(node, first, p + 1);
  }

  /* x of step c, zero where it has no such plane; `only`: the last plane */
  __device__ __forceinline__ void fetch(const BandGeometry &g, const T *x, int c, bool only)
  {
    const bool     is   = load && Inside(g.read, 2, c * K + 1 + p) && (!only || p == K - 1);
    const T       *node = x + from + (ptrdiff_t)c * K * g.xl.plane;
    const unsigned row  = Opaque((unsigned)g.xl.row);

    if (is && inside) {
#pragma unroll
      for (int j = K; j < S::FETCH - K; j++) u[j] = node[j * (size_t)row];
      if (full) {
#pragma unroll
        for (int j = 0; j < K; j++) {
          u[j]                = node[j * (size_t)row];
          u[S::FETCH - K + j] = node[(S::FETCH - K + j) * (size_t)row];
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < S::FETCH; j++)
        u[j] = is && g.read.lo[1] - from1(g) <= j && j < g.read.hi[1] - from1(g) ? node[j * (size_t)row] : T(0);
    }
  }

  __device__ __forceinline__ void apply(const BandMatrices<T, K> &m, const T *numbers, bool only, const BandStep<S, T> &P) const
  {
    if (threadIdx.x >= S::LINES1 || (only && p < K - 1)) return;
    T *M = P.M + p * S::ROWS * S::PITCHM + S::at(i);

    if (full) {
      const int at = p * S::ROWS * S::PITCH + S::at(i - K);

      lines<true>(m, numbers, M, P.K + at, P.B + at);
    } else lines<false>(m, numbers, M, NULL, NULL);
  }

private:
  /* the line's first node */
  __device__ __forceinline__ int from1(const BandGeometry &g) const
  {
    return (g.cell0[1] + (int)blockIdx.y * R) * K - S::OWN;
  }

  static __device__ __forceinline__ void take(const T *from, T v[N])
  {
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = from[j];
    Mirror<T, N>::split(v);
  }

  /* what the cell below gives to the first own node */
  template <bool FULL>
  __device__ __forceinline__ void below(const BandMatrices<T, K> &m, const T *number, const Ends<T> &before, const Ends<T> &here,
                                        const Ends<T> &after, T carry[3]) const
  {
    T mass = 0, stiff = 0, bend = 0;

#pragma unroll
    for (int j = 0; j < N; j++) {
      mass += m.mass0[K - j] * u[K + j];
      if (FULL) stiff += m.stiff0[K - j] * u[K + j];
      if (FULL) bend += m.bend0[K - j] * u[K + j];
    }
    carry[0] = number[BAND_M] * mass;
    if (FULL) {
      const Ends<T> w = Weights(number + BAND_END, here, before.g[1], before.b[1], after.g[0], after.b[0]);

      carry[1] = number[BAND_K] * stiff;
      carry[2] = number[BAND_S] * mass + number[BAND_A] * bend + m.g0[K] * w.g[0] + m.b0[K] * w.b[0] + m.g0[0] * w.g[1] + m.b0[0] * w.b[1];
    }
  }

  template <bool FULL>
  __device__ __forceinline__ void lines(const BandMatrices<T, K> &m, const T *numbers, T *M, T *Ks, T *B) const
  {
    using F = Mirror<T, N>;
    Ends<T> before, here, after;
    T       v[N], next[N], carry[3] = {0, 0, 0};

    take(u + S::OWN, v);
    if (FULL) {
      EndOf<T, K>(
        m, [&](int j) { return u[K - j]; }, here.g[1], here.b[1]);
      after = EndsOf<T, K>(m, v);
    }
    if (S::LOW) {
      if (FULL) {
        take(u + K, next);
        before = here;
        here   = EndsOf<T, K>(m, next);
      }
      below<FULL>(m, numbers, before, here, after, carry);
    }
#pragma unroll
    for (int c = 0; c < R; c++) {
      const T *number = numbers + (S::LOW + c) * BAND_CELL;
      Ends<T>  w;

      if (c + 1 < R) take(u + S::OWN + (c + 1) * K, next);
      if (FULL) {
        before = here;
        here   = after;
        if (c + 1 < R) after = EndsOf<T, K>(m, next);
        else
          EndOf<T, K>(
            m, [&](int j) { return u[S::OWN + R * K + j]; }, after.g[0], after.b[0]);
        w = Weights(number + BAND_END, here, before.g[1], before.b[1], after.g[0], after.b[0]);
        SplitEnds(w);
      }
      T top[3];

#pragma unroll
      for (int r = 0; r < S::H; r++) {
        const bool pair    = r < N / 2;
        T          mass[2] = {0, 0}, stiff[2] = {0, 0}, bend[2] = {0, 0}, out[3][2];

        F::add(m.mass, v, r, mass[0], mass[1]);
        if (FULL) F::add(m.stiff, v, r, stiff[0], stiff[1]);
        if (FULL) F::add(m.bend, v, r, bend[0], bend[1]);
        if (FULL) {
#pragma unroll
          for (int h = 0; h < 2; h++) bend[h] = number[BAND_A] * bend[h] + number[BAND_S] * mass[h];
          AddEnds<T, K>(m, w, r, bend[0], bend[1]);
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
          out[0][h] = number[BAND_M] * mass[h];
          out[1][h] = FULL ? number[BAND_K] * stiff[h] : T(0);
          out[2][h] = bend[h];
        }
#pragma unroll
        for (int a = 0; a < (FULL ? 3 : 1); a++) {
          T        *to    = a == 0 ? M : (a == 1 ? Ks : B);
          const int pitch = a == 0 ? S::PITCHM : S::PITCH;

          if (pair) F::split(out[a][0], out[a][1]);
          if (S::wants(c * K + r)) to[S::number(c * K + r) * pitch] = r ? out[a][0] : out[a][0] + carry[a];
          if (r == 0) top[a] = out[a][1];
          else if (pair) to[S::number(c * K + K - r) * pitch] = out[a][1];
        }
      }
#pragma unroll
      for (int a = 0; a < (FULL ? 3 : 1); a++) carry[a] = top[a];
#pragma unroll
      for (int j = 0; j < N; j++) v[j] = next[j];
    }
  }
};

/* In 2D: x itself, FETCH nodes a thread */
template <typename T, int K, bool COLOR>
struct BandY<T, K, 2, COLOR> {
  using S = BandSizes<T, K, 2, COLOR>;
  T u[S::FETCH];

  __device__ BandY(const BandGeometry &, const BandPlace<S> &) { }

  __device__ __forceinline__ void fetch(const BandGeometry &g, const T *x, int c, bool only)
  {
    const int first = (g.cell0[0] + (int)blockIdx.x * S::Q - S::LOW - 1) * K;

#pragma unroll
    for (int f = 0; f < S::FETCH; f++) {
      const int line = threadIdx.x + f * S::THREADS, i = first + line % S::NP, p = line / S::NP, j = c * K + 1 + p;

      u[f] = p < K && (!only || p == K - 1) && Inside(g.read, 0, i) && Inside(g.read, 2, j) ? x[g.xl.at(i, 0, j)] : T(0);
    }
  }

  __device__ __forceinline__ void apply(const BandMatrices<T, K> &, const T *, bool, const BandStep<S, T> &P) const
  {
#pragma unroll
    for (int f = 0; f < S::FETCH; f++) {
      const int line = threadIdx.x + f * S::THREADS;

      if (line < S::LINES1) P.M[line / S::NP * S::PITCHM + S::at(line % S::NP)] = u[f];
    }
  }
};

/* ---- stage 2: an x-line of a cell, for the first lane the one below the tile if that is computed ---- */

template <typename T, int K, int DIM, bool COLOR>
struct BandX {
  using S                = BandSizes<T, K, DIM, COLOR>;
  static constexpr int N = S::N;
  int                  lane, row; /* row: plane and y-node */

  __device__ BandX()
  {
    const int l = threadIdx.x % 32;

    lane = l % S::C;
    row  = l / S::C < S::GROUPS ? (int)threadIdx.x / 32 * S::GROUPS + l / S::C : S::ROWS * K;
  }

  /* Q in place of P.  All lanes of a warp come here, because they exchange values */
  __device__ __forceinline__ void apply(const BandMatrices<T, K> &m, const T *numbers, bool only, const BandStep<S, T> &P) const
  {
    const bool active = row < S::ROWS * K && (!only || row >= S::ROWS * (K - 1));

    if (!__any_sync(0xffffffff, active)) return;
    const int at = row < S::ROWS * K ? row : (int)threadIdx.x / 32 * S::GROUPS; /* lanes without a row read one of their warp */
    T        *M = P.M + at * S::PITCHM, *Ks = P.K + at * S::PITCH, *B = P.B + at * S::PITCH;
    const T  *mix = numbers + lane * MIX_CELL;
    T         pm[N], pk[N], pb[N], out[3][2];
    Ends<T>   w;

#pragma unroll
    for (int j = 0; j < N; j++) {
      pm[j] = M[S::at(lane + 1, j)];
      if (DIM == 3) pk[j] = Ks[S::at(lane, j)];
      if (DIM == 3) pb[j] = B[S::at(lane, j)];
    }
    Mirror<T, N>::split(pm);
    if (DIM == 3) Mirror<T, N>::split(pk);
    if (DIM == 3) Mirror<T, N>::split(pb);
    w = weights(m, mix + MIX_END, M, pm);
    rows(m, mix, w, pm, pk, pb, 0, out);
#pragma unroll
    for (int a = 0; a < 3; a++) out[a][0] += __shfl_up_sync(0xffffffff, out[a][1], 1);
    __syncwarp(); /* all have read */
    if (!active || lane < S::LOW) return;
    store(0, out, M, Ks, B);
#pragma unroll
    for (int r = 1; r < S::H; r++) {
      rows(m, mix, w, pm, pk, pb, r, out);
      store(r, out, M, Ks, B);
    }
  }

private:
  /* of both ends, split: numbers of the cells beside come from the lanes beside; for the cells outside of the lanes they are made here */
  __device__ __forceinline__ Ends<T> weights(const BandMatrices<T, K> &m, const T *ends, const T *M, const T pm[N]) const
  {
    const Ends<T> own    = EndsOf<T, K>(m, pm);
    T             belowg = __shfl_up_sync(0xffffffff, own.g[1], 1), belowb = __shfl_up_sync(0xffffffff, own.b[1], 1);
    T             aboveg = __shfl_down_sync(0xffffffff, own.g[0], 1), aboveb = __shfl_down_sync(0xffffffff, own.b[0], 1);

    if (lane == 0 || lane == S::C - 1) {
      const bool low = lane == 0;
      T          g, b;

      EndOf<T, K>(
        m, [&](int j) { return M[low ? S::at(0, K - j) : S::at(S::C + 1, j)]; }, g, b);
      belowg = low ? g : belowg;
      belowb = low ? b : belowb;
      aboveg = low ? aboveg : g;
      aboveb = low ? aboveb : b;
    }
    Ends<T> w = Weights(ends, own, belowg, belowb, aboveg, aboveb);

    SplitEnds(w);
    return w;
  }

  /* rows r and K - r of Q_M, Q_K, Q_B */
  static __device__ __forceinline__ void rows(const BandMatrices<T, K> &m, const T *mix, const Ends<T> &w, const T pm[N], const T pk[N],
                                              const T pb[N], int r, T out[3][2])
  {
    using F = Mirror<T, N>;
    T mm[2] = {0, 0}, hm[2] = {0, 0}, km[2] = {0, 0}, mb[2] = {0, 0}, kk[2] = {0, 0}, mk[2] = {0, 0};

    F::add(m.mass, pm, r, mm[0], mm[1]);
    F::add(m.bend, pm, r, hm[0], hm[1]);
    F::add(m.stiff, pm, r, km[0], km[1]);
    if (DIM == 3) {
      F::add(m.mass, pb, r, mb[0], mb[1]);
      F::add(m.stiff, pk, r, kk[0], kk[1]);
      F::add(m.mass, pk, r, mk[0], mk[1]);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      out[0][h] = mix[MIX_HM] * hm[h] + mix[MIX_MM] * mm[h];
      out[1][h] = mix[MIX_KM] * km[h];
      out[2][h] = mix[MIX_B] * mm[h];
      if (DIM == 3) {
        out[0][h] += mix[MIX_MB] * mb[h] + mix[MIX_KK] * kk[h];
        out[1][h] += mix[MIX_MK] * mk[h];
      }
    }
    AddEnds<T, K>(m, w, r, out[0][0], out[0][1]);
#pragma unroll
    for (int a = 0; a < 3 && r < N / 2; a++) F::split(out[a][0], out[a][1]);
  }

  __device__ __forceinline__ void store(int r, const T out[3][2], T *M, T *Ks, T *B) const
  {
    M[S::at(lane + 1, r)] = out[0][0];
    Ks[S::at(lane, r)]    = out[1][0];
    B[S::at(lane, r)]     = out[2][0];
    if (r > 0 && r < N / 2) {
      M[S::at(lane + 1, K - r)] = out[0][1];
      Ks[S::at(lane, K - r)]    = out[1][1];
      B[S::at(lane, K - r)]     = out[2][1];
    }
  }
};

/* ---- stage 3: a line in the direction of the march ---- */

template <typename T, int K, int DIM, bool COLOR>
struct BandZ {
  using S                = BandSizes<T, K, DIM, COLOR>;
  static constexpr int N = S::N;
  int                  atm, at;
  bool                 store; /* is there such a node? */
  T                    alpha; /* zero for a zero row */
  ptrdiff_t            to;
  T                    shared[3];    /* Q_M, Q_K, Q_B of the node that the last cell shares with the next one */
  T                    sum[N], last; /* of the last cell, split, but for its ends; what the cell before it gives to its first node */
  Ends<T>              w;            /* of its ends, but for what the next cell gives */
  T                    g, b;         /* its derivatives at the upper end */
  T                    old[K];       /* y0 */

  __device__ BandZ(const BandGeometry &geo, const BandPlace<S> &place, T a)
  {
    const int t = threadIdx.x, i = S::node(t % S::XLINES), j = t / S::XLINES, x = place.c[0] * K + i,
              y = DIM == 3 ? place.c[1] * K + S::node(j) : place.c[1];

    atm   = j * S::PITCHM + S::at((S::LOW + 1) * K + i);
    at    = j * S::PITCH + S::at(S::LOW * K + i);
    store = t < S::LINES3 && Inside(geo.store, 0, x) && Inside(geo.store, 1, y);
    alpha = Inside(geo.write, 0, x) && Inside(geo.write, 1, y) ? a : T(0);
    to    = geo.yl.at(x, y, 0);
    last = g = b = 0;
#pragma unroll
    for (int a = 0; a < 3; a++) shared[a] = 0;
#pragma unroll
    for (int r = 0; r < N; r++) sum[r] = 0;
#pragma unroll
    for (int e = 0; e < 2; e++) w.g[e] = w.b[e] = 0;
  }

  /* is row r of cell c wanted? */
  static __device__ __forceinline__ bool wants(const BandGeometry &geo, int c, int r)
  {
    return !COLOR || r || (c - geo.cell0[2]) % 2;
  }

  /* y0 of the K planes of cell c */
  __device__ __forceinline__ void fetch(const BandGeometry &geo, int c, const T *y0)
  {
    const unsigned plane = Opaque((unsigned)geo.yl.plane);
    const T       *from  = y0 + to + (ptrdiff_t)c * K * geo.yl.plane;

#pragma unroll
    for (int r = 0; r < K; r++)
      old[r] = y0 && store && wants(geo, c, r) && Inside(geo.store, 2, c * K + r) ? from[r * (size_t)plane] : T(0);
  }

  /* the last plane of a step, for the first cell */
  __device__ __forceinline__ void begin(const BandStep<S, T> &Q)
  {
    shared[0] = Q.M[atm + (K - 1) * S::ROWS * S::PITCHM];
    shared[1] = Q.K[at + (K - 1) * S::ROWS * S::PITCH];
    shared[2] = Q.B[at + (K - 1) * S::ROWS * S::PITCH];
  }

  /* cell c, with numbers `number`: completes the cell before it, which goes to y if `write`.  `some`: Q is not zero, and there */
  __device__ __forceinline__ void apply(const BandMatrices<T, K> &m, const BandGeometry &geo, const T *number, int c, bool some, bool write,
                                        const BandStep<S, T> &Q, T *y)
  {
    using F = Mirror<T, N>;
    T v[N];

    take(Q.B + at, S::PITCH, some, shared[2], v);
    const Ends<T> own = EndsOf<T, K>(m, v);

    AddBeside(number - BAND_CELL + BAND_END + BAND_PER_END, own.g[0], own.b[0], 1, w);
    complete(m, geo, c - 1, write, y);
    AddOwn(number + BAND_END, own, 0, w);
    AddOwn(number + BAND_END + BAND_PER_END, own, 1, w);
    AddBeside(number + BAND_END, g, b, 0, w);
    g = own.g[1];
    b = own.b[1];
    /* sum = a H Q_B, then + K Q_K, then + M (Q_M + s Q_B) */
    const T s = number[BAND_S];
    T       mass[N];

#pragma unroll
    for (int r = 0; r < N; r++) mass[r] = s * v[r];
    product<false>(m.bend, number[BAND_A], v);
    take(Q.K + at, S::PITCH, some, shared[1], v);
    product<true>(m.stiff, number[BAND_K], v);
    take(Q.M + atm, S::PITCHM, some, shared[0], v);
#pragma unroll
    for (int r = 0; r < N; r++) mass[r] += number[BAND_M] * v[r];
#pragma unroll
    for (int r = 0; r < S::H; r++) F::add(m.mass, mass, r, sum[r], sum[r < N / 2 ? K - r : r]);
  }

private:
  /* a cell's line, split; its last node is the next one's first */
  static __device__ __forceinline__ void take(const T *from, int pitch, bool some, T &first, T v[N])
  {
    v[0] = first;
#pragma unroll
    for (int p = 0; p < K; p++) v[p + 1] = some ? from[p * S::ROWS * pitch] : T(0);
    first = v[K];
    Mirror<T, N>::split(v);
  }

  /* sum = number matrix v, or += if ADD */
  template <bool ADD>
  __device__ __forceinline__ void product(const T *matrix, T number, const T v[N])
  {
#pragma unroll
    for (int r = 0; r < S::H; r++) {
      T lo = 0, hi = 0;

      Mirror<T, N>::add(matrix, v, r, lo, hi);
      sum[r] = (ADD ? sum[r] : T(0)) + number * lo;
      if (r < N / 2) sum[K - r] = (ADD ? sum[K - r] : T(0)) + number * hi;
    }
  }

  /* cell c has all its parts */
  __device__ __forceinline__ void complete(const BandMatrices<T, K> &m, const BandGeometry &geo, int c, bool write, T *y)
  {
    const unsigned plane = Opaque((unsigned)geo.yl.plane);
    T             *node  = y + to + (ptrdiff_t)c * K * geo.yl.plane;
    const bool all = c * K >= geo.write.lo[2] && c * K + K <= geo.write.hi[2] && c * K >= geo.store.lo[2] && c * K + K <= geo.store.hi[2];

    SplitEnds(w);
#pragma unroll
    for (int r = 0; r < S::H; r++) {
      AddEnds<T, K>(m, w, r, sum[r], sum[r < N / 2 ? K - r : r]);
      if (r < N / 2) Mirror<T, N>::split(sum[r], sum[K - r]);
    }
    sum[0] += last;
    last = sum[K];
    if (!write || !store) return;
    if (all) {
#pragma unroll
      for (int r = 0; r < K; r++)
        if (wants(geo, c, r)) node[r * (size_t)plane] = old[r] + alpha * sum[r];
    } else {
#pragma unroll
      for (int r = 0; r < K; r++)
        if (wants(geo, c, r) && Inside(geo.store, 2, c * K + r))
          node[r * (size_t)plane] = old[r] + (Inside(geo.write, 2, c * K + r) ? alpha : T(0)) * sum[r];
    }
  }
};

} // namespace patchfd
