/*
  Two colours that follow each other and differ in x only, in one pass: the same iterates at half the traffic.

  Patches of the same parity in y and z touch each other only along x: those of both colours form rows, one for each pair of patches in y and
  z, and no row reads what another one writes.  In the modes of y and z a row falls apart into N^2 problems along x,

    (A_x + lambda M_x) y = r,   lambda = lambda_y + lambda_z,

  where y_i, r_i are numbers of a mode at the node i, y = [T]_y [T]_z x over the closure in y and z, and r = (S' S')_{y,z} b - M_x c with what
  the faces in y and z give (notation of smoother_fast.cuh; sums or differences of opposite faces, according to the mode):

    c = alpha_y G + alpha_z Z,   G = [T]_z F_y,  Z = [T]_y F_z;

  back in nodes, x = S_z S_y (y - mu_y (G - mu_z R) - mu_z Z) with the corners R of the closure.  None of these depends on the colour.  Of the
  first colour (A) only the value in the middle of a patch is needed, since the second one (B) replaces all others; patches at the ends of the
  row excepted.

  A block works on a row and marches along x, each warp P patches of A (slots) a time:

    1. A lane owns a node in x: all of b's values with this x go to modes in registers, then to V.  G, Z, R, too.
       x-planes between patches of A, to modes: Y.
    2. A lane owns a mode (in y and z) and marches through the warp's slots: y, in the place of V, but half a patch later.  It begins with
       the slot before, to have what is carried from slot to slot.  Few modes: groups of lanes march through parts of the slots.
    3. A lane owns a node in x: back, and to x.
*/
#pragma once

namespace patchfd
{

/*
  Coefficients of a mode: alpha_y, alpha_z; matrices (upper halves) on even and odd values of r; effects of face values in x; effect of c
  on the middle.
*/
template <int K>
struct RowPlaces {
  static constexpr int AY = 0, AZ = 1, E = 2, O = E + K * (K + 1) / 2, FE = O + K * (K - 1) / 2, FO = FE + K, MIDDLE = FO + K - 1, SIZE = MIDDLE + K + 1;
};

/* by degree: warps of a block and of a multiprocessor (a bound for the compiler's registers); measured on an H200 */
static constexpr int row_double[][2] = {{}, {}, {4, 20}, {4, 12}, {4, 8}};
static constexpr int row_float[][2]  = {{}, {}, {4, 28}, {4, 16}, {4, 12}, {4, 8}};

template <typename T, int K>
struct Row {
  static constexpr int N = 2 * K - 1, C = N + 2, MODES = N * N, P = 16 / K, NX = 2 * K * P, ROUNDS = (MODES + 31) / 32, GROUPS = ROUNDS > 1 ? 1 : 32 / MODES, PART = (P + GROUPS - 1) / GROUPS;
  static constexpr int WARPS = (sizeof(T) == 4 ? row_float : row_double)[K][0], BLOCKS = (sizeof(T) == 4 ? row_float : row_double)[K][1] / WARPS;
  /* places in a warp's shared memory and strides there, odd ones: no bank conflicts */
  static constexpr int LV = NX + 1, LG = NX + 1, LY = P | 1, FACES = 4 * N + 4;
  static constexpr int V = 0, G = V + MODES * LV, Z = G + 2 * N * LG, R = Z + 2 * N * LG, Y = G + FACES * LG, SIZE = Y + MODES * LY;
  /* the block's, before: what is carried from chunk to chunk: state of the modes, faces of the last K nodes (of even and odd chunks) */
  static constexpr int STATE = 0, FRONT = STATE + (2 * K + 3) * MODES, SHARED = FRONT + 2 * FACES * K;
  static constexpr size_t bytes(int warps) { return (SHARED + warps * SIZE) * sizeof(T); }
};

struct RowGeometry {
  FastGeometry g;      /* first[0]: node below the first patch; count[0]: patches of both colours */
  int          second; /* the first patch belongs to the second colour */
};

/* the patch with the numbers r of its unknowns, c and y of its closure */
template <typename T, int K>
__device__ __forceinline__ void RowSolve(const FastMatrices<T, K> &m, const T *t, const T r[2 * K - 1], const T c[2 * K + 1], T below, T above, T u[2 * K - 1])
{
  using M = RowPlaces<K>;
  T e[K], o[K], ue[K], uo[K];

  Fold<T, K>(r, e, o);
#pragma unroll
  for (int j = 0; j <= K; j++) {
    const T sum = c[j] + c[2 * K - j], difference = c[j] - c[2 * K - j];

#pragma unroll
    for (int i = 0; i < K - 1; i++) {
      e[i] -= m.d[0].M[i * (K + 1) + j] * sum;
      if (j < K) o[i] -= m.d[0].M[i * (K + 1) + j] * difference;
    }
    e[K - 1] -= m.d[0].Mv[j] * (j < K ? sum : c[K]);
  }
#pragma unroll
  for (int i = 0; i < K; i++) {
    ue[i] = t[M::FE + i] * (below + above);
    if (i < K - 1) uo[i] = t[M::FO + i] * (below - above);
  }
#pragma unroll
  for (int i = 0, at = 0; i < K; i++) {
#pragma unroll
    for (int j = i; j < K; j++, at++) {
      const T a = t[M::E + at];

      ue[i] += a * e[j];
      if (i != j) ue[j] += a * e[i];
    }
  }
#pragma unroll
  for (int i = 0, at = 0; i < K - 1; i++) {
#pragma unroll
    for (int j = i; j < K - 1; j++, at++) {
      const T a = t[M::O + at];

      uo[i] += a * o[j];
      if (i != j) uo[j] += a * o[i];
    }
  }
#pragma unroll
  for (int i = 0; i < K - 1; i++) {
    u[i]             = ue[i] + uo[i];
    u[2 * K - 2 - i] = ue[i] - uo[i];
  }
  u[K - 1] = ue[K - 1];
}

/* without BOUNDARY x is zero but for what the first colour's other patches have left at the ends of rows */
template <typename T, int K, bool BOUNDARY>
__launch_bounds__(32 * Row<T, K>::WARPS, Row<T, K>::BLOCKS) static __global__ void RowKernel(const __grid_constant__ FastMatrices<T, K> m, const __grid_constant__ RowGeometry rg, T *x, const T *__restrict__ b, const T *__restrict__ table)
{
  using F         = Row<T, K>;
  using M         = RowPlaces<K>;
  constexpr int N = F::N, C = F::C, P = F::P, NX = F::NX, MODES = F::MODES, LV = F::LV, LG = F::LG, LY = F::LY;
  extern __shared__ double shared_memory[];
  const FastGeometry &g = rg.g;
  const int           lane = threadIdx.x, warp = threadIdx.y, warps = blockDim.y;
  T                  *block = (T *)shared_memory, *sm = block + F::SHARED + warp * F::SIZE;
  /* positions: patches begin at node K q of the row, A at even q, B at odd q; slot p: the place of patch 2 p of A, there or not */
  const int first = rg.second, last = first + g.count[0] - 1, end = last / 2 + 1;
  const int o[3] = {g.first[0] - K * first, g.first[1] + (int)blockIdx.x % g.count[1] * 2 * K, g.first[2] + (int)blockIdx.x / g.count[1] * 2 * K};
  /* lowest and highest unknown */
  const int  low = K * first + 1, high = K * (last + 2) - 1;
  const bool below[3] = {false, Inside(g.read, 1, o[1]), Inside(g.read, 2, o[2])}, above[3] = {false, Inside(g.read, 1, o[1] + 2 * K), Inside(g.read, 2, o[2] + 2 * K)};

  /* slot -1 has nothing but the node at its upper end */
  for (int slot0 = -1, odd = 0; slot0 <= end; slot0 += warps * P, odd = !odd) {
    const int       slot = slot0 + warp * P;
    const int       node0 = slot * 2 * K + 1, node = node0 + lane;
    const ptrdiff_t at = g.l.at(o[0] + node, o[1], o[2]), row = g.l.row, plane = g.l.plane;

    /* 1. all loads before the first of these numbers is needed */
    {
      /* a lane's line of an x-plane: at the right end of its slot; in the middle where there is no patch but a neighbour of B */
      const int       p = lane / N, line = lane % N, s = slot + p, at0 = s == -1 && first ? K : s == end ? 2 * K * s + K : 2 * K * (s + 1);
      const bool      wanted = p < P && (BOUNDARY ? s <= end && (s < end || last % 2) : (s == -1 && first) || (s == end && last % 2));
      const bool      planes = wanted && at0 >= low - 1 && at0 <= high + 1 && Inside(g.read, 0, o[0] + at0);
      const bool      here = lane < NX && node >= low && node <= high, face = BOUNDARY && lane < NX && node >= low - 1 && node <= high + 1 && Inside(g.read, 0, o[0] + node);
      const ptrdiff_t zline = g.l.at(o[0] + at0, o[1] + 1 + line, o[2]);
      T               q[C], f[2][C], h[2][C], v[N][N], w[N];

#pragma unroll
      for (int k = 0; k < C; k++) q[k] = planes && (k > 0 || below[2]) && (k < C - 1 || above[2]) ? x[zline + k * plane] : T(0);
#pragma unroll
      for (int k = 0; k < C; k++) {
        const bool zk = face && (k > 0 || below[2]) && (k < C - 1 || above[2]), yk = face && k > 0 && k < C - 1;

        f[0][k] = zk && below[1] ? x[at + k * plane] : T(0);
        f[1][k] = zk && above[1] ? x[at + 2 * K * row + k * plane] : T(0);
        h[0][k] = yk && below[2] ? x[at + k * row] : T(0);
        h[1][k] = yk && above[2] ? x[at + k * row + 2 * K * plane] : T(0);
      }
#pragma unroll
      for (int k = 0; k < N; k++)
#pragma unroll
        for (int j = 0; j < N; j++) v[j][k] = here ? b[at + (j + 1) * row + (k + 1) * plane] : T(0);
      if (p < P) {
        FaceModes<T, K>(m.d[2], q + 1, w);
        Rim<T, K>(m.d[2], q[0], q[C - 1], w);
        Store<T, N>(w, sm + F::Y + line * LY + p, N * LY);
      }
      if (BOUNDARY) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
          h[e][0]     = f[0][e * (C - 1)];
          h[e][C - 1] = f[1][e * (C - 1)];
        }
#pragma unroll
        for (int k = 0; k < C; k++) {
          const T a = f[0][k], c = h[0][k];

          f[0][k] = a + f[1][k];
          f[1][k] = a - f[1][k];
          h[0][k] = c + h[1][k];
          h[1][k] = c - h[1][k];
        }
      }
      if (BOUNDARY && lane < NX) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
          FaceModes<T, K>(m.d[2], f[e] + 1, w);
          Rim<T, K>(m.d[2], f[e][0], f[e][C - 1], w);
          Store<T, N>(w, sm + F::G + e * N * LG + lane, LG);
          FaceModes<T, K>(m.d[1], h[e] + 1, w);
          Rim<T, K>(m.d[1], h[e][0], h[e][C - 1], w);
          Store<T, N>(w, sm + F::Z + e * N * LG + lane, LG);
          sm[F::R + 2 * e * LG + lane]       = f[e][0] + f[e][C - 1];
          sm[F::R + (2 * e + 1) * LG + lane] = f[e][0] - f[e][C - 1];
        }
      }
#pragma unroll
      for (int j = 0; j < N; j++) {
        ToModes<T, K>(m.d[2], v[j], w);
#pragma unroll
        for (int k = 0; k < N; k++) v[j][k] = w[k];
      }
#pragma unroll
      for (int k = 0; k < N; k++) {
        T u[N];

#pragma unroll
        for (int j = 0; j < N; j++) u[j] = v[j][k];
        ToModes<T, K>(m.d[1], u, w);
        if (lane < NX) Store<T, N>(w, sm + F::V + k * N * LV + lane, LV);
      }
      __syncwarp();
      if (p < P) { /* y-lines of planes */
        T       *y = sm + F::Y + line * N * LY + p, u[N];
        const T *rim = sm + F::G + line * LG + at0 - node0;

        Load<T, N>(y, LY, u);
        FaceModes<T, K>(m.d[1], u, w);
        if (BOUNDARY) Subtract<T, K>(m.d[1].mu, -rim[0], -rim[N * LG], w);
        Store<T, N>(w, y, LY);
      }
    }
    for (int i = lane; BOUNDARY && warp == warps - 1 && i < F::FACES * K; i += 32) block[F::FRONT + odd * F::FACES * K + i] = sm[F::G + i / K * LG + NX - K + i % K];
    /* 2. */
#pragma unroll
    for (int round = 0; round < F::ROUNDS; round++) {
      const int  group = lane / MODES, from = group * F::PART, mode = F::GROUPS > 1 ? lane % MODES : lane + 32 * round;
      const bool active = mode < MODES && group < F::GROUPS, head = warp == 0 && group == 0;
      T         *state = block + F::STATE + mode;
      const int  G = F::G + ((mode % N < K ? 0 : N) + mode / N) * LG, Z = F::Z + ((mode / N < K ? 0 : N) + mode % N) * LG, Y = F::Y + mode * LY, V = F::V + mode * LV;
      T          t[M::SIZE];
      /* r above the middle, at the face; c from the middle on, at the face; y at the face, in the middle */
      T bh[K - 1], bl = 0, ch[K], cl = 0, yl = 0, ym = 0;

#pragma unroll
      for (int i = 0; i < K - 1; i++) bh[i] = 0;
#pragma unroll
      for (int i = 0; i < K; i++) ch[i] = 0;
#pragma unroll
      for (int i = 0; i < M::SIZE; i++) t[i] = active ? table[i * MODES + mode] : T(0);
      if (round == 0) __syncthreads();
      if (active) {
        if (!head) {
          const T  *before = group ? sm : sm - F::SIZE;
          const int p = (group ? from : P) - 1;

          cl = BOUNDARY ? t[M::AY] * before[G + p * 2 * K - 1] + t[M::AZ] * before[Z + p * 2 * K - 1] : T(0);
          yl = before[Y + p - 1];
        } else if (slot > -1) {
#pragma unroll
          for (int i = 0; i < K - 1; i++) bh[i] = state[i * MODES];
#pragma unroll
          for (int i = 0; i < K; i++) ch[i] = state[(K - 1 + i) * MODES];
          bl = state[(2 * K - 1) * MODES];
          cl = state[2 * K * MODES];
          yl = state[(2 * K + 1) * MODES];
          ym = state[(2 * K + 2) * MODES];
        }
      }
#pragma unroll 1
      for (int step = -1; step < F::PART; step++) {
        const int  p = slot + from + step;
        const bool write = step >= 0;

        if (step == 0) __syncthreads(); /* until here others read V */
        if (active && p <= end && (write ? from + step < P : !head)) {
          T         *at = write || group ? sm : sm - F::SIZE;
          const int  l = write || group ? from + step : P - 1;
          const bool there = 2 * p >= first && 2 * p <= last;
          const T    yr = at[Y + l];
          T         *v = at + V + l * 2 * K, bn[2 * K], cn[2 * K + 1], mid; /* c from the face below on */

          cn[0] = cl;
#pragma unroll
          for (int i = 0; i < 2 * K; i++) {
            bn[i]     = v[i];
            cn[i + 1] = BOUNDARY ? t[M::AY] * at[G + l * 2 * K + i] + t[M::AZ] * at[Z + l * 2 * K + i] : T(0);
          }
          if (there) {
            mid = t[M::FE + K - 1] * (yl + yr);
#pragma unroll
            for (int i = 0; i < K; i++) mid += t[M::E + i * K - i * (i - 1) / 2 + K - 1 - i] * (i < K - 1 ? bn[i] + bn[2 * K - 2 - i] : bn[i]);
#pragma unroll
            for (int j = 0; j <= K; j++) mid -= t[M::MIDDLE + j] * (j < K ? cn[j] + cn[2 * K - j] : cn[j]);
          } else mid = p == end ? yr : yl;
          if (write) {
            if (2 * p - 1 >= first && 2 * p - 1 <= last) {
              T r[N], c[C], u[N];

#pragma unroll
              for (int i = 0; i < K - 1; i++) {
                r[i]     = bh[i];
                r[K + i] = bn[i];
              }
              r[K - 1] = bl;
#pragma unroll
              for (int i = 0; i < K; i++) {
                c[i]     = ch[i];
                c[K + i] = cn[i];
              }
              c[2 * K] = cn[K];
              RowSolve<T, K>(m, t, r, c, ym, mid, u);
              Store<T, N>(u, v, 1);
            } else { /* the end of a row that ends with A */
              Store<T, K - 1>(bh, v, 1);
            }
            v[2 * K - 1] = mid;
          }
          if (there && (2 * p == first || 2 * p == last)) {
            T u[N];

            RowSolve<T, K>(m, t, bn, cn, yl, yr, u);
#pragma unroll
            for (int i = 0; i < K - 1; i++) {
              if (write && 2 * p == first) v[K + i] = u[i];
              if (2 * p == last) bn[K + i] = u[K + i];
            }
          }
#pragma unroll
          for (int i = 0; i < K - 1; i++) bh[i] = bn[K + i];
#pragma unroll
          for (int i = 0; i < K; i++) ch[i] = cn[K + i];
          bl = bn[2 * K - 1];
          cl = cn[2 * K];
          yl = yr;
          ym = mid;
        }
      }
      if (active && warp == warps - 1 && group == F::GROUPS - 1) {
        Store<T, K - 1>(bh, state, MODES);
        Store<T, K>(ch, state + (K - 1) * MODES, MODES);
        state[(2 * K - 1) * MODES] = bl;
        state[2 * K * MODES]       = cl;
        state[(2 * K + 1) * MODES] = yl;
        state[(2 * K + 2) * MODES] = ym;
      }
    }
    __syncwarp();
    /* 3. */
    if (lane < NX && node - K >= low && node - K <= high) {
      /* faces: of this warp's nodes, of the warp's before, of the chunk before */
      const bool own = lane >= K, chunk = !own && warp == 0;
      const int  stride = chunk ? K : LG;
      const T   *G = chunk ? block + F::FRONT + !odd * F::FACES * K + lane : (own ? sm : sm - F::SIZE + NX) + F::G + lane - K, *Z = G + 2 * N * stride, *R = Z + 2 * N * stride;
      T          v[N][N], w[N], u[N];

#pragma unroll
      for (int k = 0; k < N; k++) {
        Load<T, N>(sm + F::V + k * N * LV + lane, LV, w);
        if (BOUNDARY) {
          const int z   = k < K ? 0 : 1;
          const T   sum = G[k * stride] - m.d[2].mu[k] * R[z * stride], difference = G[(N + k) * stride] - m.d[2].mu[k] * R[(2 + z) * stride];

          Subtract<T, K>(m.d[1].mu, sum, difference, w);
#pragma unroll
          for (int j = 0; j < N; j++) w[j] -= m.d[2].mu[k] * Z[(z * N + j) * stride];
        }
        ToNodes<T, K>(m.d[1], w, u);
#pragma unroll
        for (int j = 0; j < N; j++) v[j][k] = u[j];
      }
#pragma unroll
      for (int j = 0; j < N; j++) {
        ToNodes<T, K>(m.d[2], v[j], w);
#pragma unroll
        for (int k = 0; k < N; k++) x[at - K + (j + 1) * row + (k + 1) * plane] = w[k];
      }
    }
    __syncthreads();
  }
}

/* the coefficients [SIZE][N^2], from the modes in x: in even ones, u = S (1 / D (S' r - alpha (y)) - mu (y)) */
template <typename T, int K>
static std::vector<PetscReal> RowTable(const PatchFDEigen *const e[3])
{
  using M         = RowPlaces<K>;
  constexpr int          n = 2 * K - 1;
  std::vector<PetscReal> table(M::SIZE * n * n, 0);

  for (int ky = 0; ky < n; ky++) {
    for (int kz = 0; kz < n; kz++) {
      PetscReal *t = &table[kz * n + ky], Q[K] = {0};
      auto       at = [&](int row) -> PetscReal & { return t[row * n * n]; };

      at(M::AY) = e[1]->alpha[0][ky];
      at(M::AZ) = e[2]->alpha[0][kz];
      for (int m = 0; m < n; m++) {
        const PetscReal  D = e[0]->lambda[m] + e[1]->lambda[ky] + e[2]->lambda[kz], inverse = D == 0 ? 0 : 1 / D;
        const PetscReal *S = e[0]->S + m;
        const int        h = m < K ? K : K - 1;

        for (int i = 0, a = m < K ? M::E : M::O; i < h; i++) {
          for (int j = i; j < h; j++, a++) at(a) += S[i * n] * inverse * S[j * n];
          at((m < K ? M::FE : M::FO) + i) -= S[i * n] * (inverse * e[0]->alpha[0][m] + e[0]->mu[0][m]);
          if (m < K) Q[i] += S[(K - 1) * n] * inverse * S[i * n];
        }
      }
      for (int j = 0; j <= K; j++)
        for (int i = 0; i < K; i++) at(M::MIDDLE + j) += Q[i] * e[0]->MI[i * (n + 2) + j] * (j == K && i < K - 1 ? 2 : 1);
    }
  }
  return table;
}

} // namespace patchfd
