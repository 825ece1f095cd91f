/*
  Shapes of the blocks of threads of fast.cuh: how many cells, where lines lie in shared memory and in which orders threads take
  them.
*/
#pragma once
#include "base/dispatch.cuh"
#include "points/points.cuh"

namespace patchfd
{

/*
  So that lanes are on different banks as far as can be: what planes and cells of c points have beyond their numbers, and the orders in
  which threads take the lines in x, y and z.  Found by counting; double, float; collocated, Gauss points.
*/
__host__ __device__ constexpr int PointsBanks(bool single, bool gauss, int c, int what)
{
  /* digits: plane, two of the cell, x, y, z */
  constexpr int table[2][2][18] =
    {{{0, 0, 100500, 202240, 100100, 8100, 500400, 100, 100300, 100, 500400, 0, 100400, 0, 500400, 0, 100400, 0},
      {0, 0, 0, 151, 100151, 152, 106321, 154, 100330, 2322, 514322, 0, 100400, 0, 500400, 0, 100440, 0}},
     {{0, 0, 100500, 202540, 104500, 110, 110300, 100, 108300, 30100, 1310400, 0, 100400, 0, 1300400, 0, 100400, 0},
      {0, 0, 0, 152, 304111, 408001, 110322, 212031, 700411, 206031, 522322, 0, 100400, 0, 1300400, 1300000, 1500400, 0}}};
  constexpr int divisor[] = {100000, 1000, 100, 10, 1};

  return table[single][gauss][c] / divisor[what] % (what < 2 ? 100 : 10);
}

/* the order of lines in direction d; with few points the numbers of a cell at a level of x-lines lie together, so that other blocks than
   those of the mesh can read them */
__host__ __device__ constexpr int PointsOrder(PointsRule rule, bool single, int c, int d)
{
  const int order = PointsBanks(single, rule != POINTS_COLLOCATED, c, 2 + d);

  return rule == POINTS_FEW && d == 0 && PointsRole(order, 2) != 1 ? 1 : order;
}

/* cells of a block: as few as use nine of ten threads, if there are three warps of them */
__host__ __device__ constexpr int PointsPerBlock(int lines)
{
  int best = 1;

  for (int per = 1; per * lines <= 256; per++) {
    const int all = RoundUp(per * lines, 32), most = RoundUp(best * lines, 32);

    if (per * lines >= 96 && per * lines * 10 >= all * 9) return per;
    if (per * lines * most > best * lines * all) best = per;
  }
  return best;
}

/* points in a direction of a cell */
__host__ __device__ constexpr int PointsCount(PointsRule rule, int degree)
{
  return rule == POINTS_COLLOCATED || rule == POINTS_FEW ? degree + 1 : (rule == POINTS_MANY ? 2 * degree + 1 : degree + 2);
}

/* CELLS: of a block, if it is not what is best for cells in the order of the mesh, whose factors lie in blocks of MESH */
template <typename T, int K, PointsRule RULE, bool COMPUTED, int CELLS = 0>
struct PointsShape {
  static constexpr int  N = K, n = K + 1, c = PointsCount(RULE, K), LINES = c * c;
  static constexpr int  OWN = RULE == POINTS_COLLOCATED ? 2 : 0, A = (OWN + 1) % 3, B = (OWN + 2) % 3; /* cyclic */
  static constexpr bool MASS = RULE == POINTS_MASS;
  static constexpr int  MESH = MASS && LINES >= 96 ? 1 : PointsPerBlock(LINES), PER = CELLS ? CELLS : MESH,
                       THREADS    = RoundUp(PER * LINES, 32);
  static constexpr int  LINE      = c * (int)sizeof(T) / 4; /* registers of a line */
  static constexpr int  REGISTERS = MASS ? (PER == 1 ? 52 : 36) + 2 * LINE : 38 + 3 * LINE + (COMPUTED ? (int)sizeof(T) * 3 : 0);
  static constexpr int  BLOCKS    = 65536 / THREADS / REGISTERS;
  static constexpr bool GAUSS     = RULE != POINTS_COLLOCATED;
  static constexpr int  ROW = c, PLANE = ROW * c + PointsBanks(sizeof(T) == 4, GAUSS, c, 0),
                       CELL = PLANE * c + PointsBanks(sizeof(T) == 4, GAUSS, c, 1);
  template <int D>
  static constexpr int order  = PointsOrder(RULE, sizeof(T) == 4, c, D);
  static constexpr int ARRAYS = MASS ? 1 : 3, NUMBERS = MASS ? points_determinant : points_geometry;
  static constexpr int LANES = RoundUp(MESH * LINES, 16 / sizeof(T)); /* of stored factors */
  /* do blocks go on to other cells; are factors, too, fetched to shared memory before? */
  static constexpr bool ROUNDS = MASS, AHEAD = ROUNDS && !COMPUTED;
  static constexpr int  SHARED = PER * CELL * ARRAYS, X = ROUNDS ? n * THREADS : 0, GEOMETRY = COMPUTED ? PER * NUMBERS : 0;
  static constexpr int  ALL = SHARED + X + (AHEAD ? c * THREADS : (ROUNDS ? 2 : 1) * GEOMETRY);

  template <int D>
  static constexpr int stride = D == 0 ? 1 : (D == 1 ? ROW : PLANE);
  /* where a line in direction D begins */
  template <int D>
  static __device__ __forceinline__ int line(int p, int q)
  {
    return D == 0 ? p * ROW + q * PLANE : (D == 1 ? p + q * PLANE : p + q * ROW);
  }
};

} // namespace patchfd
