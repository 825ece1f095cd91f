/*
  Local solvers that are fitted to each patch (patchfd/private/fit.h), on the lines of block.cuh: r, C and S' come first, S, C and what is
  to be done with the correction last, 1 / D in the middle.

  Patches of two cells inside of the mesh have M = 2 k - 1 unknowns in all directions, which the compiler knows; others up to 2 k + 1.
*/
#pragma once
#include "fit/block.cuh"
#include <patchfd/private/fit.h>

namespace patchfd
{

static constexpr int fit_degrees = 8;

/* of a run of patches of equal size */
template <typename T>
struct FitArguments {
  Layout     box;
  int        n[3], count;
  const int *first;             /* [count][3] */
  const int *number;            /* [count] */
  size_t     record[3], stride; /* where patch 0 has its records, and those of the others after it */
  size_t     compact, volume;   /* the same for its unknowns, of the first one of the run */
  const T   *records, *g /* [number][4] */, *coef /* [count][2] */;
  const T   *diagonal;
  /* a step */
  bool     begins, several, product; /* is it the first one, are there more, is there something in rwork that belongs to r? */
  T        omega;
  const T *r;
  T       *x, *rwork, *zwork;
  /* a step of conjugate gradients, on compact arrays */
  bool     ends; /* nobody asks for more than the step's length */
  const T *q;
  T       *residual, *direction;
  double  *rz, *a, *b; /* [count][2], [count], [count] */
};

template <typename T, int dim, int k, bool inner>
struct FitTile : FitShape<T, dim, inner ? 2 * k - 1 : 2 * k + 1, inner, 3> {
  using Shape = FitShape<T, dim, inner ? 2 * k - 1 : 2 * k + 1, inner, 3>;

  static constexpr size_t shared = Shape::shared + Shape::threads * sizeof(double);
};

/* what a thread knows of its patch */
template <typename T, int dim, int k, bool inner>
struct FitThread : FitTensor<typename FitTile<T, dim, k, inner>::Shape> {
  using Tile             = FitTile<T, dim, k, inner>;
  using Block            = FitTensor<typename Tile::Shape>;
  static constexpr int M = Tile::M, ROW = Tile::ROW, LINES = Tile::LINES;
  static constexpr int last = dim - 1;
  using Block::a;
  using Block::b;
  using Block::each;
  using Block::has;
  using Block::live;
  using Block::n;
  using Block::numbers;
  using Block::other;
  using Block::team;

  const FitArguments<T> &arg;
  double                *sums;
  int                    patch, number;
  ptrdiff_t              origin; /* entry 0 of line 0 in the last direction, in grid functions */
  size_t                 place;  /* and in compact arrays */
  T                      g[4];

  __device__ FitThread(const FitArguments<T> &arg, double *memory) :
    Block((T *)(memory + Tile::threads), arg.count, &patch), arg(arg), sums(memory)
  {
    number = live ? arg.number[patch] : 0;
    for (int d = 0; d < 3; d++)
      if (!inner) n[d] = arg.n[d];
    const int *f = arg.first + (live ? 3 * patch : 0);

    origin = arg.box.at(f[0] + a, f[1] + (dim == 3 ? b : 0), f[2]);
    place  = arg.compact + (size_t)patch * arg.volume + (size_t)(dim == 3 ? b * n[0] + a : a);
  }
  /* entry s of line l in the last direction in grid functions, and in compact arrays */
  __device__ ptrdiff_t node(int l, int s) const
  {
    return origin + l * Tile::ROWS * arg.box.row + s * (dim == 3 ? arg.box.plane : arg.box.row);
  }
  __device__ size_t compact(int l, int s) const { return place + (size_t)(dim == 3 ? (s * n[1] + l * Tile::ROWS) * n[0] : s * n[0]); }

  __device__ void loadrecords()
  {
    const T *from[dim];

#pragma unroll
    for (int d = 0; d < dim; d++) from[d] = arg.records + arg.record[d] + (size_t)number * arg.stride;
    Block::loadrecords(from);
  }
  /* g, and the diagonal on the lines in the last direction: asked for with everything else from global memory, before the first barrier */
  __device__ void fetch(T c[LINES][M])
  {
#pragma unroll
    for (int i = 0; i < 4; i++) g[i] = arg.g[4 * (size_t)number + i];
#pragma unroll
    for (int l = 0; l < LINES; l++)
#pragma unroll
      for (int s = 0; s < M; s++) c[l][s] = has(last, l) && (inner || s < n[last]) ? arg.diagonal[node(l, s)] : T(1);
  }
  /* c = C there, from the diagonal */
  __device__ void scale(T c[LINES][M]) const
  {
    const T A0 = g[0] * numbers(0, 1)[a], M0 = numbers(0, 2)[a];

#pragma unroll
    for (int l = 0; l < LINES; l++) {
      if (!has(last, l)) continue;
      const T A1 = dim == 3 ? g[1] * numbers(1, 1)[other(l)] : T(0), M1 = dim == 3 ? numbers(1, 2)[other(l)] : T(1);
      const T mass = M0 * M1, rest = A0 * M1 + M0 * A1 + g[3] * mass;

#pragma unroll
      for (int s = 0; s < M; s++) {
        if (!inner && s >= n[last]) break;
        const T t = rest * numbers(last, 2)[s] + mass * g[last] * numbers(last, 1)[s];

        /* the root of the ratio, without a division or a product that is too small */
        c[l][s] = t * RootReciprocal(t) * RootReciprocal(c[l][s]);
      }
    }
  }
  /* v /= D on the lines of modes in the first direction; nothing where D is zero: the constants of a patch without Dirichlet nodes */
  __device__ void divide(T v[LINES][M]) const
  {
    const T *x = numbers(0, 0);

#pragma unroll
    for (int l = 0; l < LINES; l++) {
      const T rest = !has(0, l) ? g[3] : g[1] * numbers(1, 0)[a] + g[3] + (dim == 3 ? g[2] * numbers(2, 0)[other(l)] : T(0));

#pragma unroll
      for (int s = 0; s < M; s++) v[l][s] *= ReciprocalOrZero(inner || s < n[0] ? g[0] * x[s] + rest : T(0));
    }
  }
  /* the lines of the last direction in v: v = B v, with the diagonal in c; all threads of a block call it */
  __device__ void solve(T v[LINES][M], T c[LINES][M])
  {
    if (has(last, 0)) {
      scale(c);
      each(last, [&](int l, int s) { v[l][s] *= c[l][s]; });
    }
    Block::diagonalize(v, [&](T w[LINES][M]) { divide(w); });
    if (has(last, 0)) each(last, [&](int l, int s) { v[l][s] *= c[l][s]; });
  }
  /* the sum of the team's values, in the same order each time */
  __device__ double sum(double mine)
  {
    double total = 0;

    __syncthreads();
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int i = 0; i < Tile::team && team < Tile::teams; i++) total += sums[team * Tile::team + i];
    return total;
  }
};

} // namespace patchfd
