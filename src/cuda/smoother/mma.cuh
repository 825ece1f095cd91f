/*
  Lines of node values or modes in tiles, and their products with matrices by tensor instructions: what tile.cuh is made of.

  A warp transforms 16 lines at a time (a tile): an mma of 16 x 8 x 8 multiplies their even halves by the even half of a matrix, another
  one their odd halves.  "Slot" i of a line is the pair of its entries i and N - 1 - i: two nodes that mirror each other, or even and odd
  mode number i.  Of the products C = A B, lane 4 q + r holds

      A  lines x slots      a0 (q, r)   a1 (q + 8, r)       a2 (q, r + 4)   a3 (q + 8, r + 4)
      B  slots x columns    b0 (r, q)   b1 (r + 4, q)
      C  lines x columns    c0 (q, 2 r) c1 (q, 2 r + 1)     c2 (q + 8, 2 r) c3 (q + 8, 2 r + 1)

  Column n of B is that of slot n / 2 + 4 (n % 2) of the product: then C lies like A, slots r and r + 4 of lines q and q + 8, so that one
  product feeds the next and few registers are needed; the matrices lie in registers as well.  Slots that do not exist (from K on) read
  other entries of the line, and meet zeros.  Tiles' lines that do not exist are copies of the last one, and write the same numbers.

  Such an instruction exists for double.  Its relative for float reads 11 bits of each operand, so operands are split in two.
*/
#pragma once
#include "base/fetch.cuh"
#include "smoother/smoother.cuh"

namespace patchfd
{

/* degrees 7 and 8: warps of a block, blocks of a multiprocessor (a bound for the compiler's registers; one more is slower on an H200) */
static constexpr int tiling[][2] = {{6, 4}, {8, 3}}, tiling_float[][2] = {{6, 6}, {8, 4}};

template <typename T, int K>
struct Tiling {
  static constexpr int N = 2 * K - 1, C = N + 2, WARPS = (sizeof(T) == 4 ? tiling_float : tiling)[K - 7][0],
                       BLOCKS  = (sizeof(T) == 4 ? tiling_float : tiling)[K - 7][1];
  static constexpr int THREADS = 32 * WARPS, TILES = (N * N + 15) / 16 /* with N = 15 a tile is a row */, FACES1 = (C + 7) / 8,
                       FACES2 = (N + 7) / 8;
  /* places in shared memory */
  static constexpr int PLANE = N * N + 3, ROW = (C + 3) / 8 * 8 + 4, R = N * PLANE, FACE = 2 * C * ROW, HY = R + 3 * FACE,
                       FZ = HY + 2 * N * N, SIZE = FZ + 2 * N * N;
};

enum TileMatrix {
  TO_MODES,
  TO_NODES,
  FACE_MODES,
  MASS
};
enum TileWeight {
  ALPHA_X,
  ALPHA_Y,
  LAMBDA_X,
  MU,
  RIM
}; /* RIM: mass matrix, columns of the ends */

/* numbers in device memory */
template <typename T, int K>
struct TileMatrices {
  alignas(16) T half[4][2][32][2];                                /* of a matrix, even and odd, a lane's two numbers */
  T weight[5][4][2][2];                                           /* of lane % 4, even and odd, of its two slots */
  T alpha_z[2 * K - 1], lambda_y[2 * K - 1], lambda_z[2 * K - 1]; /* by place in a line: even mode m at m, odd mode m at N - 1 - m */
};

/* half of a matrix; it takes a[line][slot] to the product */
template <typename T>
struct MmaHalf;

template <>
struct MmaHalf<double> {
  double b[2];

  MmaHalf() = default;
  __device__ __forceinline__ MmaHalf(const double from[2])
  {
    const double2 v = *(const double2 *)from;

    b[0] = v.x;
    b[1] = v.y;
  }
  __device__ __forceinline__      MmaHalf(double b0, double b1) : b{b0, b1} { }
  __device__ __forceinline__ void apply(double a[2][2]) const
  {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=d"(a[0][0]), "=d"(a[0][1]), "=d"(a[1][0]), "=d"(a[1][1])
                 : "d"(a[0][0]), "d"(a[1][0]), "d"(a[0][1]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]), "d"(0.0));
#endif
  }
  /* c += the product, beside others */
  __device__ __forceinline__ void add(double c[2][2], const double a[2][2]) const
  {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(c[0][0]), "+d"(c[0][1]), "+d"(c[1][0]), "+d"(c[1][1])
                 : "d"(a[0][0]), "d"(a[1][0]), "d"(a[0][1]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]));
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
struct MmaHalf<float> {
  unsigned high[2], low[2];

  MmaHalf() = default;
  __device__ __forceinline__ MmaHalf(const float from[2])
  {
    const float2 v = *(const float2 *)from;

    Split(v.x, high[0], low[0]);
    Split(v.y, high[1], low[1]);
  }
  __device__ __forceinline__ MmaHalf(float b0, float b1)
  {
    Split(b0, high[0], low[0]);
    Split(b1, high[1], low[1]);
  }
  static __device__ __forceinline__ void add(float c[2][2], const unsigned a[2][2], const unsigned b[2])
  {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[1][0]), "+f"(c[1][1])
                 : "r"(a[0][0]), "r"(a[1][0]), "r"(a[0][1]), "r"(a[1][1]), "r"(b[0]), "r"(b[1]));
  }
  __device__ __forceinline__ void apply(float a[2][2]) const
  {
    const float v[2][2] = {{a[0][0], a[0][1]}, {a[1][0], a[1][1]}};

    a[0][0] = a[0][1] = a[1][0] = a[1][1] = 0;
    add(a, v);
  }
  __device__ __forceinline__ void add(float c[2][2], const float a[2][2]) const
  {
    unsigned h[2][2], l[2][2];

#pragma unroll
    for (int i = 0; i < 4; i++) Split(a[i / 2][i % 2], h[i / 2][i % 2], l[i / 2][i % 2]);
    add(c, l, high);
    add(c, h, low);
    add(c, h, high);
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

/* a matrix in registers */
template <typename T>
struct MmaMatrix {
  MmaHalf<T> e, o;

  template <int K>
  __device__ __forceinline__ MmaMatrix(const TileMatrices<T, K> *m, TileMatrix matrix) :
    e(m->half[matrix][0][threadIdx.x % 32]), o(m->half[matrix][1][threadIdx.x % 32])
  {
  }
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
  __device__ __forceinline__ Weights(const TileMatrices<T, K> *m, TileWeight w)
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
  int                  line, slot;
  bool                 in, pair; /* does the second slot exist, and with two entries? */

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

/* a thread's two lines of direction D of a tile: their places a, b in the two other directions, in order (if D is z: in y and x) */
template <int D, typename T, int K>
struct Lines {
  using F                = Tiling<T, K>;
  static constexpr int N = F::N, STRIDE = D == 0 ? 1 : D == 1 ? N : F::PLANE;
  int                  l[2], a[2], b[2];
  bool                 own[2]; /* not a copy */

  __device__ __forceinline__ Lines(const Lane<K> &lane, int tile)
  {
#pragma unroll
    for (int s = 0; s < 2; s++) {
      own[s] = N == 15 ? lane.line + 8 * s < N : tile * 16 + lane.line + 8 * s < N * N;
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
  /* the line's first entry in the volume */
  __device__ __forceinline__ T *at(T *sm, int s) const
  {
    return sm + (D == 2 ? l[s] : D == 1 ? a[s] + b[s] * F::PLANE : a[s] * N + b[s] * F::PLANE);
  }
};

} // namespace patchfd
