/*
  The kernel for large degrees, on tensor instructions.  Formula, notation and the order of directions are those of smoother_fast.cuh.

  A warp transforms 16 lines at a time (a tile): an mma of 16 x 8 x 8 multiplies their even halves by the even half of a matrix, another
  one their odd halves.  "Slot" i of a line is the pair of its entries i and N - 1 - i: two nodes that mirror each other, or even and odd
  mode number i.  A thread holds slots lane % 4 and lane % 4 + 4 of lines lane / 4 and lane / 4 + 8, in the arguments of a product
  and in its result alike (the columns of the matrices are permuted for that), so that one product feeds the next, few registers are
  needed, and the matrices lie in registers as well.  Slots that do not exist (from K on) read other entries of the line, and meet zeros.
  Tiles' lines that do not exist are copies of the last one, and write the same numbers.

  Such an instruction exists for double.  Its relative for float reads 11 bits of each operand, so operands are split in two.

  All directions share the matrices S, T, M, mu of direction 0: those of direction d are S / sqrt(m), T sqrt(m), M m, mu sqrt(m) with
  m = m_d, the ratio of the cells' lengths, but for signs of modes.  What differs goes into alpha and lambda.

  A block works on one patch.  b and the faces of x come to shared memory by asynchronous copies, all under way at once.  Stages, with
  a barrier between each two:

    1. z-lines of b to modes.  Faces, as sum (s = 0) and difference (s = 1) of opposite ones, along one of their directions, in place:
       x and y, z-lines to modes; z, y-lines times M               R[f][s][mode or node][node of the closure], FZ[s][j][i]: z-faces themselves
    2. Faces, along the other direction: x to modes, in place; y and z times M, y to HY[s][k][i], z in place
    3. y-lines: alpha_z H_z, to modes, alpha_y H_y
    4. x-lines: to modes, alpha_x Y_x, 1 / D, mu_x Y_x, to nodes
    5. y-lines: mu_y G_y, to nodes
    6. z-lines: mu_z F_z, to nodes, and to x

  The planes of the volume are N^2 + 3 = 4 mod 8 numbers apart, and so are the rows of faces: a thread's neighbours then meet in a bank of
  shared memory only where a tile's lines do not follow each other regularly.
*/
#pragma once
#include "smoother_fast.cuh"

namespace patchfd
{

/* degrees 7 and 8: warps of a block, blocks of a multiprocessor (a bound for the compiler's registers; one more is slower on an H200) */
static constexpr int tiling[][2] = {{6, 4}, {8, 3}}, tiling_float[][2] = {{6, 6}, {8, 4}};

template <typename T, int K>
struct Tiling {
  static constexpr int N = 2 * K - 1, C = N + 2, WARPS = (sizeof(T) == 4 ? tiling_float : tiling)[K - 7][0], BLOCKS = (sizeof(T) == 4 ? tiling_float : tiling)[K - 7][1];
  static constexpr int THREADS = 32 * WARPS, TILES = (N * N + 15) / 16 /* with N = 15 a tile is a row */, FACES1 = (C + 7) / 8, FACES2 = (N + 7) / 8;
  /* places in shared memory */
  static constexpr int PLANE = N * N + 3, ROW = (C + 3) / 8 * 8 + 4, R = N * PLANE, FACE = 2 * C * ROW, HY = R + 3 * FACE, FZ = HY + 2 * N * N, SIZE = FZ + 2 * N * N;
};

enum Matrix { TO_MODES, TO_NODES, FACE_MODES, MASS };
enum Weight { ALPHA_X, ALPHA_Y, LAMBDA_X, MU, RIM }; /* RIM: mass matrix, columns of the ends */

/* numbers in device memory */
template <typename T, int K>
struct TileMatrices {
  alignas(16) T half[4][2][32][2];        /* of a matrix, even and odd, a lane's two numbers */
  T weight[5][4][2][2];                   /* of lane % 4, even and odd, of its two slots */
  T alpha_z[2 * K - 1], lambda_y[2 * K - 1], lambda_z[2 * K - 1]; /* by place in a line: even mode m at m, odd mode m at N - 1 - m */
};

/* ---- products ---- */

/* half of a matrix; it takes a[line][slot] to the product */
template <typename T>
struct Half;

template <>
struct Half<double> {
  double b[2];

  __device__ __forceinline__ Half(const double from[2])
  {
    const double2 v = *(const double2 *)from;

    b[0] = v.x;
    b[1] = v.y;
  }
  __device__ __forceinline__ void apply(double a[2][2]) const
  {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=d"(a[0][0]), "=d"(a[0][1]), "=d"(a[1][0]), "=d"(a[1][1])
                 : "d"(a[0][0]), "d"(a[1][0]), "d"(a[0][1]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]), "d"(0.0));
#endif
  }
};

/* a = high + low: 11 bits that count in high, 13 in low, of which an mma reads 11 */
static __device__ __forceinline__ void Split(float a, unsigned &high, unsigned &low)
{
  high = __float_as_uint(a) & 0xffffe000u;
  low  = __float_as_uint(a - __uint_as_float(high));
}

template <>
struct Half<float> {
  unsigned high[2], low[2];

  __device__ __forceinline__ Half(const float from[2])
  {
    const float2 v = *(const float2 *)from;

    Split(v.x, high[0], low[0]);
    Split(v.y, high[1], low[1]);
  }
  static __device__ __forceinline__ void add(float c[2][2], const unsigned a[2][2], const unsigned b[2])
  {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[1][0]), "+f"(c[1][1])
                 : "r"(a[0][0]), "r"(a[1][0]), "r"(a[0][1]), "r"(a[1][1]), "r"(b[0]), "r"(b[1]));
#endif
  }
  __device__ __forceinline__ void apply(float a[2][2]) const
  {
    unsigned h[2][2], l[2][2];

#pragma unroll
    for (int i = 0; i < 4; i++) {
      Split(a[i / 2][i % 2], h[i / 2][i % 2], l[i / 2][i % 2]);
      a[i / 2][i % 2] = 0;
    }
    add(a, l, high);
    add(a, h, low);
    add(a, h, high);
  }
};

/* a thread's part of two lines, [line][slot]: even modes or the first of two mirrored nodes, odd modes or the second */
template <typename T>
struct Slots {
  T e[2][2], o[2][2];

  /* mirrored nodes to even and odd parts, and back */
  __device__ __forceinline__ void butterfly()
  {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const T a = e[i / 2][i % 2], b = o[i / 2][i % 2];

      e[i / 2][i % 2] = a + b;
      o[i / 2][i % 2] = a - b;
    }
  }
};

template <typename T>
struct Product {
  Half<T> e, o;

  template <int K>
  __device__ __forceinline__ Product(const TileMatrices<T, K> *m, Matrix matrix) : e(m->half[matrix][0][threadIdx.x % 32]), o(m->half[matrix][1][threadIdx.x % 32]) { }
  __device__ __forceinline__ void apply(Slots<T> &v) const
  {
    e.apply(v.e);
    o.apply(v.o);
  }
};

/* numbers that belong to a thread's slots */
template <typename T>
struct Weights {
  T e[2], o[2];

  template <int K>
  __device__ __forceinline__ Weights(const TileMatrices<T, K> *m, Weight w)
  {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      e[i] = m->weight[w][threadIdx.x % 4][0][i];
      o[i] = m->weight[w][threadIdx.x % 4][1][i];
    }
  }
  /* line -= what a face gives: its sum in even modes, its difference in odd ones */
  __device__ __forceinline__ void subtract(T sum, T difference, int line, Slots<T> &v) const
  {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      v.e[line][i] -= e[i] * sum;
      v.o[line][i] -= o[i] * difference;
    }
  }
};

static __device__ __forceinline__ float Reciprocal(float a)
{
  return __fdividef(1.f, a);
}

static __device__ __forceinline__ double Reciprocal(double a)
{
  double r;

  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a)); /* 20 bits */
  r = fma(r, fma(-a, r, 1.), r);
  return fma(r, fma(-a, r, 1.), r);
}

/* a thread's place in a tile */
template <int K>
struct Lane {
  static constexpr int N = 2 * K - 1;
  int  line, slot;
  bool in, pair; /* does the second slot exist, and with two entries? */

  __device__ __forceinline__ Lane() : line(threadIdx.x % 32 / 4), slot(threadIdx.x % 4), in(slot + 4 < K), pair(slot + 4 < K - 1) { }

  template <int STRIDE, typename T>
  __device__ __forceinline__ void load(const T *line0, const T *line1, Slots<T> &v) const
  {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      v.e[0][i] = line0[slot * STRIDE + 4 * i * STRIDE];
      v.o[0][i] = line0[(N - 1 - 4 * i) * STRIDE - slot * STRIDE];
      v.e[1][i] = line1[slot * STRIDE + 4 * i * STRIDE];
      v.o[1][i] = line1[(N - 1 - 4 * i) * STRIDE - slot * STRIDE];
    }
  }
  template <int STRIDE, typename T>
  __device__ __forceinline__ void store(const Slots<T> &v, T *line0, T *line1) const
  {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (!i || in) line0[slot * STRIDE + 4 * i * STRIDE] = v.e[0][i];
      if (!i || pair) line0[(N - 1 - 4 * i) * STRIDE - slot * STRIDE] = v.o[0][i];
      if (!i || in) line1[slot * STRIDE + 4 * i * STRIDE] = v.e[1][i];
      if (!i || pair) line1[(N - 1 - 4 * i) * STRIDE - slot * STRIDE] = v.o[1][i];
    }
  }
};

/* a thread's two lines of a tile: their places in the two other directions */
template <int K>
struct Lines {
  static constexpr int N = 2 * K - 1;
  int l[2], a[2], b[2];

  __device__ __forceinline__ Lines(const Lane<K> &lane, int tile)
  {
#pragma unroll
    for (int s = 0; s < 2; s++) {
      if (N == 15) {
        a[s] = tile;
        b[s] = min(lane.line + 8 * s, N - 1);
        l[s] = tile * N + b[s];
      } else {
        l[s] = min(tile * 16 + lane.line + 8 * s, N * N - 1);
        a[s] = l[s] / N;
        b[s] = l[s] - a[s] * N;
      }
    }
  }
};

/* a number on its way from global to shared memory, zero if it may not be read */
template <typename T>
static __device__ __forceinline__ void Fetch(T *to, const T *from, bool here)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" : : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(T)), "r"(here ? (int)sizeof(T) : 0) : "memory");
#endif
}

/* ---- faces ---- */

/* lines of the closure, from node to node or to modes: the product with M or T, and with the columns of the ends */
template <typename T, int K>
static __device__ __forceinline__ void FaceProduct(const TileMatrices<T, K> *m, bool mass, const T ends[2][2], Slots<T> &v)
{
  const Product<T> product(m, mass ? MASS : FACE_MODES);
  const Weights<T> rim(m, mass ? RIM : MU);

  v.butterfly();
  product.apply(v);
#pragma unroll
  for (int s = 0; s < 2; s++) rim.subtract(-(ends[s][0] + ends[s][1]), ends[s][1] - ends[s][0], s, v);
  if (mass) v.butterfly();
}

/* stage 1, in place */
template <typename T, int K>
static __device__ __forceinline__ void FaceStage1(const TileMatrices<T, K> *m, const Lane<K> &lane, int f, int chunk, T *sm)
{
  using F     = Tiling<T, K>;
  const int l = min(chunk * 8 + lane.line, F::C - 1);
  T        *line[2], ends[2][2];
  Slots<T>  v;

#pragma unroll
  for (int s = 0; s < 2; s++) {
    line[s]    = sm + F::R + f * F::FACE + s * F::C * F::ROW + l;
    ends[s][0] = line[s][0];
    ends[s][1] = line[s][(F::C - 1) * F::ROW];
  }
  lane.template load<F::ROW>(line[0] + F::ROW, line[1] + F::ROW, v);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 2; i++) { /* sums and differences of opposite faces */
    const T end = ends[1][i], e = v.e[1][i], o = v.o[1][i];

    ends[1][i] = ends[0][i] - end;
    v.e[1][i]  = v.e[0][i] - e;
    v.o[1][i]  = v.o[0][i] - o;
    ends[0][i] += end;
    v.e[0][i] += e;
    v.o[0][i] += o;
  }
  if (f == 2 && l > 0 && l < F::C - 1) lane.template store<F::N>(v, sm + F::FZ + l - 1, sm + F::FZ + F::N * F::N + l - 1);
  FaceProduct(m, f == 2, ends, v);
  lane.template store<F::ROW>(v, line[0], line[1]);
}

/* stage 2 */
template <typename T, int K>
static __device__ __forceinline__ void FaceStage2(const TileMatrices<T, K> *m, const Lane<K> &lane, int f, int chunk, T *sm)
{
  using F    = Tiling<T, K>;
  const int l = min(chunk * 8 + lane.line, F::N - 1);
  T        *from[2], ends[2][2];
  Slots<T>  v;

#pragma unroll
  for (int s = 0; s < 2; s++) {
    from[s]    = sm + F::R + f * F::FACE + s * F::C * F::ROW + l * F::ROW;
    ends[s][0] = from[s][0];
    ends[s][1] = from[s][F::C - 1];
  }
  lane.template load<1>(from[0] + 1, from[1] + 1, v);
  __syncwarp();
  FaceProduct(m, f > 0, ends, v);
  if (f == 1) lane.template store<1>(v, sm + F::HY + l * F::N, sm + F::HY + F::N * F::N + l * F::N);
  else lane.template store<1>(v, from[0], from[1]);
}

/* ---- volume ---- */

template <typename T, int K, bool BOUNDARY>
__launch_bounds__(Tiling<T, K>::THREADS, Tiling<T, K>::BLOCKS) static __global__ void TileKernel(const TileMatrices<T, K> *matrices, const __grid_constant__ FastGeometry g, T omega, T beta, T *x, const T *__restrict__ b)
{
  using F         = Tiling<T, K>;
  constexpr int N = F::N, C = F::C;
  extern __shared__ int4 tile_memory[];
  const TileMatrices<T, K> *m    = (const TileMatrices<T, K> *)tile_memory;
  T                        *sm   = (T *)(m + 1);
  const int                 warp = threadIdx.x / 32, o[3] = {g.first[0] + 2 * K * (int)blockIdx.x, g.first[1] + 2 * K * (int)blockIdx.y, g.first[2] + 2 * K * (int)blockIdx.z};
  const ptrdiff_t           first = g.l.at(o[0], o[1], o[2]), inner = g.l.at(o[0] + 1, o[1] + 1, o[2] + 1); /* node of the closure, unknown */
  const Lane<K>             lane;
  Slots<T>                  v;

  for (int i = threadIdx.x; i < (int)(sizeof(*m) / sizeof(int4)); i += F::THREADS) tile_memory[i] = ((const int4 *)matrices)[i];
  { /* b: x-lines, half a warp each */
    constexpr int LINES = F::THREADS / 16, DJ = LINES % N, DK = LINES / N;
    int           i = threadIdx.x % 16, j = threadIdx.x / 16 % N, k = threadIdx.x / 16 / N;
    T            *to   = sm + k * F::PLANE + j * N + i;
    const T      *from = b + inner + i + j * g.l.row + k * g.l.plane;

    while (k < N) {
      if (i < N) Fetch(to, from, true);
      j += DJ;
      k += DK;
      to += DK * F::PLANE + DJ * N;
      from += DK * g.l.plane + DJ * g.l.row;
      if (j >= N) {
        j -= N;
        k++;
        to += F::PLANE - N * N;
        from += g.l.plane - N * g.l.row;
      }
    }
  }
  if (BOUNDARY) {
    int exists = 0; /* bits d and 3 + d: may the nodes below and above in direction d be read? */

#pragma unroll
    for (int d = 0; d < 3; d++) exists |= (o[d] >= g.read.lo[d]) << d | (o[d] + 2 * K < g.read.hi[d]) << (3 + d);
    for (int q = warp; q < 3 * C; q += F::WARPS) { /* a line of both faces f, from end to end */
      const int       f = q / C, a = q - f * C, along = f == 2 ? 1 : 2, by = f == 0 ? 1 : 0;
      const bool      line = (a > 0 || exists >> along & 1) && (a < 2 * K || exists >> (3 + along) & 1);
      const ptrdiff_t from = first + a * (f == 2 ? g.l.row : g.l.plane), across = f == 0 ? 1 : f == 1 ? g.l.row : g.l.plane, next = f == 0 ? g.l.row : 1;
      T              *to   = sm + F::R + f * F::FACE + a * F::ROW;

      for (int i = threadIdx.x % 32; i < 2 * C; i += 32) {
        const int  s = i >= C, l = i - s * C;
        const bool here = line && exists >> (f + 3 * s) & 1 && (l > 0 || exists >> by & 1) && (l < 2 * K || exists >> (3 + by) & 1);

        Fetch(to + s * C * F::ROW + l, x + (here ? from + s * 2 * K * across + l * next : first), here);
      }
    }
  }
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
  __syncthreads();
  {
    const Product<T> toModes(m, TO_MODES);
    int              task = warp;

    for (; task < F::TILES; task += F::WARPS) {
      const Lines<K> line(lane, task); /* a: j, b: i */

      lane.template load<F::PLANE>(sm + line.l[0], sm + line.l[1], v);
      __syncwarp();
      v.butterfly();
      toModes.apply(v);
      lane.template store<F::PLANE>(v, sm + line.l[0], sm + line.l[1]);
    }
    if (BOUNDARY) {
      for (task -= F::TILES; task < 3 * F::FACES1; task += F::WARPS) FaceStage1(m, lane, task / F::FACES1, task % F::FACES1, sm);
    }
  }
  if (BOUNDARY) {
    __syncthreads();
    for (int task = warp; task < 3 * F::FACES2; task += F::WARPS) FaceStage2(m, lane, task / F::FACES2, task % F::FACES2, sm);
  }
  __syncthreads();
  {
    const Product<T> toModes(m, TO_MODES);

    for (int tile = warp; tile < F::TILES; tile += F::WARPS) {
      const Lines<K> line(lane, tile); /* a: i, b: k */
      T             *at[2] = {sm + line.a[0] + line.b[0] * F::PLANE, sm + line.a[1] + line.b[1] * F::PLANE};

      lane.template load<N>(at[0], at[1], v);
      if (BOUNDARY) {
        Slots<T> h;
        const T *from[2];

#pragma unroll
        for (int s = 0; s < 2; s++) from[s] = sm + F::R + 2 * F::FACE + (line.b[s] < K ? 0 : F::C * F::ROW) + line.a[s];
        lane.template load<F::ROW>(from[0], from[1], h);
#pragma unroll
        for (int s = 0; s < 2; s++) {
          const T alpha = m->alpha_z[line.b[s]];

#pragma unroll
          for (int i = 0; i < 2; i++) {
            v.e[s][i] -= alpha * h.e[s][i];
            v.o[s][i] -= alpha * h.o[s][i];
          }
        }
      }
      __syncwarp();
      v.butterfly();
      toModes.apply(v);
      if (BOUNDARY) {
        const Weights<T> alpha(m, ALPHA_Y);

#pragma unroll
        for (int s = 0; s < 2; s++) {
          const T *h = sm + F::HY + line.b[s] * N + line.a[s];

          alpha.subtract(h[0], h[N * N], s, v);
        }
      }
      lane.template store<N>(v, at[0], at[1]);
    }
  }
  __syncthreads();
  {
    const Product<T> toModes(m, TO_MODES);

    for (int tile = warp; tile < F::TILES; tile += F::WARPS) {
      const Lines<K> line(lane, tile); /* a: j, b: k */
      T             *at[2] = {sm + line.a[0] * N + line.b[0] * F::PLANE, sm + line.a[1] * N + line.b[1] * F::PLANE}, face[2][2];

      lane.template load<1>(at[0], at[1], v);
      __syncwarp();
      v.butterfly();
      toModes.apply(v);
      if (BOUNDARY) {
        const Weights<T> alpha(m, ALPHA_X);

#pragma unroll
        for (int s = 0; s < 2; s++) {
          const T *y = sm + F::R + line.b[s] * F::ROW + line.a[s];

          face[s][0] = y[0];
          face[s][1] = y[F::C * F::ROW];
          alpha.subtract(face[s][0], face[s][1], s, v);
        }
      }
      const Weights<T> lambda(m, LAMBDA_X);
#pragma unroll
      for (int s = 0; s < 2; s++) {
        const T shift = m->lambda_y[line.a[s]] + m->lambda_z[line.b[s]];

#pragma unroll
        for (int i = 0; i < 2; i++) {
          v.e[s][i] *= Reciprocal(lambda.e[i] + shift);
          v.o[s][i] *= Reciprocal(lambda.o[i] + shift);
        }
      }
      if (BOUNDARY) {
        const Weights<T> mu(m, MU);

        mu.subtract(face[0][0], face[0][1], 0, v);
        mu.subtract(face[1][0], face[1][1], 1, v);
      }
      Product<T>(m, TO_NODES).apply(v);
      v.butterfly();
      lane.template store<1>(v, at[0], at[1]);
    }
  }
  __syncthreads();
  const Product<T> toNodes(m, TO_NODES);
  const Weights<T> mu(m, MU);

  for (int tile = warp; tile < F::TILES; tile += F::WARPS) {
    const Lines<K> line(lane, tile); /* a: i, b: k */
    T             *at[2] = {sm + line.a[0] + line.b[0] * F::PLANE, sm + line.a[1] + line.b[1] * F::PLANE};

    lane.template load<N>(at[0], at[1], v);
    if (BOUNDARY) {
#pragma unroll
      for (int s = 0; s < 2; s++) {
        const T *face = sm + F::R + F::FACE + line.b[s] * F::ROW + 1 + line.a[s];

        mu.subtract(face[0], face[F::C * F::ROW], s, v);
      }
    }
    __syncwarp();
    toNodes.apply(v);
    v.butterfly();
    lane.template store<N>(v, at[0], at[1]);
  }
  __syncthreads();
  for (int tile = warp; tile < F::TILES; tile += F::WARPS) {
    const Lines<K> line(lane, tile); /* a: j, b: i */

    lane.template load<F::PLANE>(sm + line.l[0], sm + line.l[1], v);
    if (BOUNDARY) {
#pragma unroll
      for (int s = 0; s < 2; s++) mu.subtract(sm[F::FZ + line.l[s]], sm[F::FZ + N * N + line.l[s]], s, v);
    }
    toNodes.apply(v);
    v.butterfly();
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const ptrdiff_t at  = inner + line.b[s] + line.a[s] * g.l.row + lane.slot * g.l.plane, mirror = at + (N - 1 - 2 * lane.slot) * g.l.plane;
      const bool      own = N == 15 ? lane.line + 8 * s < N : tile * 16 + lane.line + 8 * s < N * N; /* not a copy */
      auto            write = [&](bool here, ptrdiff_t node, T value) {
        if (own && here) x[node] = beta == 0 ? omega * value : beta * x[node] + omega * value;
      };

      write(true, at, v.e[s][0]);
      write(true, mirror, v.o[s][0]);
      write(lane.in, at + 4 * g.l.plane, v.e[s][1]);
      write(lane.pair, mirror - 4 * g.l.plane, v.o[s][1]);
    }
  }
}

template <typename T, int K>
struct SmootherTileDegree : SmootherFast {
  using F = Tiling<T, K>;
  static constexpr size_t BYTES = sizeof(TileMatrices<T, K>) + F::SIZE * sizeof(T), BYTES_SOLVE = sizeof(TileMatrices<T, K>) + F::R * sizeof(T); /* without faces */
  TileMatrices<T, K>     *m;

  PetscErrorCode apply(const FastGeometry &g, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b, cudaStream_t stream) override
  {
    const dim3 grid(g.count[0], g.count[1], g.count[2]);

    PetscFunctionBegin;
    if (boundary) TileKernel<T, K, true><<<grid, F::THREADS, BYTES, stream>>>(m, g, (T)omega, (T)beta, (T *)x, (const T *)b);
    else TileKernel<T, K, false><<<grid, F::THREADS, BYTES_SOLVE, stream>>>(m, g, (T)omega, (T)beta, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode destroy() override
  {
    PetscFunctionBegin;
    PetscCallCUDA(cudaFree(m));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscLogDouble flops(bool boundary, bool) const override { return FastFlops<K>(boundary); }
};

/* lines in threads where the code was compiled for a GPU without these instructions */
template <typename T, int K>
static PetscErrorCode SmootherTileCreateDegree(const PatchFDEigen *const e[3], SmootherFast **fast)
{
  cudaFuncAttributes        attributes;
  constexpr int             n = 2 * K - 1, c = n + 2;
  SmootherTileDegree<T, K> *p;
  TileMatrices<T, K>        m;
  const PetscReal          *S = e[0]->S, *M = e[0]->MI + 1;
  PetscReal                 ratio[3], volume = 1;

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, TileKernel<T, K, true>));
  if (PetscMin(attributes.binaryVersion, attributes.ptxVersion) < (sizeof(T) == 4 ? 80 : 90)) {
    PetscCall((SmootherLinesCreateDegree<T, K>(e, fast)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  p     = new SmootherTileDegree<T, K>;
  *fast = p;
  for (int d = 0; d < 3; d++) volume *= ratio[d] = e[d]->MI[0] / e[0]->MI[0];
  /* even and odd halves: row i for the entry of slot i, column j for the result; the sum of mirrored nodes is twice the middle one */
  for (int lane = 0; lane < 32; lane++) {
    for (int q = 0; q < 2; q++) {
      const int       i = lane % 4 + 4 * q, j = lane / 8 + 4 * (lane / 4 % 2), mi = n - 1 - i;
      const bool      even = i < K && j < K, odd = i < K - 1 && j < K - 1;
      const PetscReal half = i == K - 1 ? 0.5 : 1;
      auto            set  = [&](Matrix matrix, PetscReal a, PetscReal b) {
        m.half[matrix][0][lane][q] = (T)a;
        m.half[matrix][1][lane][q] = (T)b;
      };

      set(TO_MODES, even ? half * S[i * n + j] : 0, odd ? S[i * n + K + j] : 0);
      set(TO_NODES, even ? S[j * n + i] : 0, odd ? S[j * n + K + i] : 0);
      set(FACE_MODES, even ? half * e[0]->T[j * n + i] : 0, odd ? e[0]->T[(K + j) * n + i] : 0);
      set(MASS, even ? half * (M[j * c + i] + M[j * c + mi]) / 2 : 0, odd ? (M[j * c + i] - M[j * c + mi]) / 2 : 0);
    }
  }
  for (int mode = 0; mode < n; mode++) {
    const bool odd   = mode >= K;
    const int  slot  = odd ? mode - K : mode, place = odd ? n - 1 - slot : slot;
    auto       set   = [&](Weight w, PetscReal a) { m.weight[w][slot % 4][odd][slot / 4] = (T)a; };
    PetscReal  alpha[3];

    for (int d = 0; d < 3; d++) {
      PetscReal same = 0; /* with another sign? */

      for (int i = 0; i < n; i++) same += e[d]->S[i * n + mode] * S[i * n + mode];
      alpha[d] = e[d]->alpha[0][mode] * (same < 0 ? -1 : 1) * volume / PetscSqrtReal(ratio[d]);
    }
    set(ALPHA_X, alpha[0]);
    set(ALPHA_Y, alpha[1]);
    m.alpha_z[place] = (T)alpha[2];
    m.lambda_y[place] = (T)(e[1]->lambda[mode] * volume);
    m.lambda_z[place] = (T)(e[2]->lambda[mode] * volume);
    set(LAMBDA_X, e[0]->lambda[mode] * volume);
    set(MU, e[0]->mu[0][mode]);
    set(RIM, (M[slot * c - 1] + (odd ? -1 : 1) * M[slot * c + n]) / 2);
  }
  /* slots that do not exist */
  for (int w = 0; w < 5; w++)
    for (int slot = K - 1; slot < 8; slot++)
      for (int odd = slot < K; odd < 2; odd++) m.weight[w][slot % 4][odd][slot / 4] = (T)(w == LAMBDA_X ? volume : 0);
  PetscCallCUDA(cudaMalloc((void **)&p->m, sizeof(m)));
  PetscCallCUDA(cudaMemcpy(p->m, &m, sizeof(m), cudaMemcpyHostToDevice));
  PetscCall(AllowShared(TileKernel<T, K, true>, p->BYTES));
  PetscCall(AllowShared(TileKernel<T, K, false>, p->BYTES_SOLVE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
