/*
  Linear elements on a lattice (lattice.h): the arithmetic of a row of cubes, VL of them at a time.

  The corners of a cube are in four rows of nodes, the node, the next one in y, those above both; corner m + 1 is one number to the right
  of corner m. A tetrahedron t_pq has the corners 0, p, q, 7: the six are a ring 13, 23, 26, 46, 45, 15, in a square there are t_1 and t_2.
  With their sums of a field over the corners, and a_1 = t_13 + t_15 and so on those over the two tetrahedra with corner 1, the edges from
  v have

    x: a_1(v) + t_23(v - y)  and of the layer below  t_45 + a_6(- y)     xy: a_3 and a_4 of the layer below     xyz: all six
    y: a_2(v) + t_13(v - x)  and of the layer below  t_46 + a_5(- x)     xz: a_5(v) + a_2(v - y)
    z: a_4(v) + t_26(v - y) + t_15(v - x) + a_3(v - x - y)               yz: a_6(v) + a_1(v - x)

  in squares x: t_1(v) + t_2(v - y), y: t_2(v) + t_1(v - x), xy: t_1 + t_2.  Cubes that do not exist have sums zero: so sides and bodies
  need no other code.

  Row sums of M are dim + 2 times the sum around the node of the means' factor: in three dimensions each tetrahedron around a node has one
  diagonal of a square from it, and these edges' entries take care of that; otherwise there is a sum for the node, t_1 + t_2 of v and of v
  - x - y, t_1(v - x), t_2(v - y).
*/
#pragma once
#include "lines.h"

enum {
  LATTICE_EDGES  = 8, /* rows of entries: edges by the mask of their directions, for the node in 0 */
  LATTICE_BEFORE = 4, /* rows that the row of cubes before has begun */
  LATTICE_BELOW  = 3  /* rows that the layer below has begun: x, y, xy */
};

typedef REAL LatticeUnaligned __attribute__((vector_size(VBYTES), aligned(REAL_BYTES), may_alias)); /* VL numbers anywhere in memory */

/* rows of numbers, in all of which a node has the same place; n is a multiple of VL, and there are VL more of zero */
typedef struct {
  PetscInt    n;
  const REAL *exists;                /* 1 or 0 for each cube */
  const REAL *c[4], *k[3][4], *x[4]; /* of the four rows of corners: capacities; what edges in axes have */
  REAL       *before[LATTICE_BEFORE], *below[LATTICE_BELOW], *edge[LATTICE_EDGES];
  REAL       *now[2], *up[2]; /* what rows of A x have so far: this one and the next, and those above; now[0] is completed */
} LatticeRows;

static inline V LatticeAt(const REAL *row, PetscInt i)
{
  return *(const V *)(row + i);
}

static inline V LatticeRight(const REAL *row, PetscInt i)
{
  return *(const LatticeUnaligned *)(row + i + 1);
}

static inline void LatticePut(REAL *row, PetscInt i, V v)
{
  *(V *)(row + i) = v;
}

/* v of the nodes to the left, given the vector before, which it becomes */
static inline V LatticeLeft(V *last, V v)
{
#define ONE_LEFT(l, b) (VL - (b) + (l))
  const V r = SHUFFLE(*last, v, LANE_LIST(ONE_LEFT, 1));
#undef ONE_LEFT

  *last = v;
  return r;
}

/* ---- edges ---- */

/* sums over the tetrahedra of a cube */
typedef struct {
  V t13, t23, t26, t46, t45, t15;
} LatticeCube;

static inline __attribute__((always_inline)) LatticeCube LatticeCubeSums(V exists, const REAL *const f[4], PetscInt i)
{
  const V c1 = LatticeRight(f[0], i), c2 = LatticeAt(f[1], i), c3 = LatticeRight(f[1], i), c4 = LatticeAt(f[2], i),
          c5 = LatticeRight(f[2], i), c6 = LatticeAt(f[3], i);
  const V ends = exists * (LatticeAt(f[0], i) + LatticeRight(f[3], i));

  return (LatticeCube){exists * (c1 + c3) + ends, exists * (c2 + c3) + ends, exists * (c2 + c6) + ends,
                       exists * (c4 + c6) + ends, exists * (c4 + c5) + ends, exists * (c1 + c5) + ends};
}

/* mass: are there capacities?  ndir: 1 if what edges in axes have is the same in all directions, or 3 */
static inline __attribute__((always_inline)) void LatticeEdges3(const PetscBool mass, const int ndir, const LatticeRows *rows)
{
  const LatticeRows r       = *rows; /* addresses that stores cannot change */
  V                 left[5] = {{0}};

  for (PetscInt i = 0; i < r.n; i += VL) {
    const V     exists = LatticeAt(r.exists, i);
    LatticeCube t      = LatticeCubeSums(exists, r.k[0], i);

    LatticePut(r.edge[1], i, LatticeAt(r.below[0], i) + LatticeAt(r.before[0], i) + (t.t13 + t.t15));
    LatticePut(r.below[0], i, LatticeAt(r.before[1], i) + t.t45);
    LatticePut(r.before[0], i, t.t23);
    LatticePut(r.before[1], i, t.t26 + t.t46);
    if (ndir > 1) t = LatticeCubeSums(exists, r.k[1], i);
    LatticePut(r.edge[2], i, LatticeAt(r.below[1], i) + LatticeLeft(&left[0], t.t13) + (t.t23 + t.t26));
    LatticePut(r.below[1], i, t.t46 + LatticeLeft(&left[1], t.t15 + t.t45));
    if (ndir > 1) t = LatticeCubeSums(exists, r.k[2], i);
    LatticePut(r.edge[4], i, LatticeAt(r.before[2], i) + LatticeLeft(&left[2], t.t15) + (t.t45 + t.t46));
    LatticePut(r.before[2], i, t.t26 + LatticeLeft(&left[3], t.t13 + t.t23));
    if (mass) {
      const LatticeCube c  = LatticeCubeSums(exists, r.c, i);
      const V           a1 = c.t13 + c.t15, a2 = c.t23 + c.t26, a4 = c.t45 + c.t46;

      LatticePut(r.edge[3], i, LatticeAt(r.below[2], i) + (c.t13 + c.t23));
      LatticePut(r.below[2], i, a4);
      LatticePut(r.edge[5], i, LatticeAt(r.before[3], i) + (c.t15 + c.t45));
      LatticePut(r.before[3], i, a2);
      LatticePut(r.edge[6], i, LatticeLeft(&left[4], a1) + (c.t26 + c.t46));
      LatticePut(r.edge[7], i, a1 + a2 + a4);
    }
  }
}

static inline void LatticeEdges2(const LatticeRows *rows)
{
  const LatticeRows r       = *rows;
  V                 left[3] = {{0}};

  for (PetscInt i = 0; i < r.n; i += VL) {
    const V exists = LatticeAt(r.exists, i);
    V       t[3][2]; /* of two directions, of capacities */

    for (int f = 0; f < 3; f++) {
      const REAL *const *row  = f < 2 ? r.k[f] : r.c;
      const V            ends = LatticeAt(row[0], i) + LatticeRight(row[1], i);

      t[f][0] = exists * (ends + LatticeRight(row[0], i));
      t[f][1] = exists * (ends + LatticeAt(row[1], i));
    }
    LatticePut(r.edge[1], i, LatticeAt(r.before[0], i) + t[0][0]);
    LatticePut(r.before[0], i, t[0][1]);
    LatticePut(r.edge[2], i, LatticeLeft(&left[0], t[1][0]) + t[1][1]);
    LatticePut(r.edge[3], i, t[2][0] + t[2][1]);
    LatticePut(r.edge[0], i, LatticeAt(r.before[1], i) + LatticeLeft(&left[1], t[2][0]) + (t[2][0] + t[2][1]));
    LatticePut(r.before[1], i, t[2][1] + LatticeLeft(&left[2], t[2][0] + t[2][1]));
  }
}

static inline void LatticeEdges1(const LatticeRows *rows)
{
  const LatticeRows r    = *rows;
  V                 left = {0};

  for (PetscInt i = 0; i < r.n; i += VL) {
    const V exists = LatticeAt(r.exists, i), c = exists * (LatticeAt(r.c[0], i) + LatticeRight(r.c[0], i));

    LatticePut(r.edge[1], i, exists * (LatticeAt(r.k[0][0], i) + LatticeRight(r.k[0][0], i)));
    LatticePut(r.edge[0], i, c + LatticeLeft(&left, c));
  }
}

/*
  The same for constants: entries that a simplex gives to an edge of axes, and to others.  y, z: do the rows of cubes before (0) and behind
  (1) the nodes exist? Around an edge in x the cubes on the same side in both other directions have two tetrahedra with it, the others one
*/
static inline void LatticeEdgesConstant(const int dim, PetscInt n, const REAL *exists, const REAL y[2], const REAL z[2], const REAL axis[3],
                                        REAL other, REAL *const edge[])
{
  V last = {0};

  for (PetscInt i = 0; i < n; i += VL) {
    const V m1 = LatticeAt(exists, i), m0 = LatticeLeft(&last, m1);

    if (dim == 1) {
      LatticePut(edge[1], i, m1 * axis[0]);
      LatticePut(edge[0], i, (m0 + m1) * other);
    } else if (dim == 2) {
      LatticePut(edge[1], i, m1 * ((y[0] + y[1]) * axis[0]));
      LatticePut(edge[2], i, (m0 + m1) * (y[1] * axis[1]));
      LatticePut(edge[3], i, m1 * (2 * y[1] * other));
      LatticePut(edge[0], i, (m1 * (2 * y[1] + y[0]) + m0 * (2 * y[0] + y[1])) * other);
    } else {
      LatticePut(edge[1], i, m1 * ((2 * (y[0] * z[0] + y[1] * z[1]) + y[0] * z[1] + y[1] * z[0]) * axis[0]));
      LatticePut(edge[2], i, (m0 * (2 * z[0] + z[1]) + m1 * (2 * z[1] + z[0])) * (y[1] * axis[1]));
      LatticePut(edge[3], i, m1 * (2 * y[1] * (z[0] + z[1]) * other));
      LatticePut(edge[4], i, (m0 * (2 * y[0] + y[1]) + m1 * (2 * y[1] + y[0])) * (z[1] * axis[2]));
      LatticePut(edge[5], i, m1 * (2 * z[1] * (y[0] + y[1]) * other));
      LatticePut(edge[6], i, (m0 + m1) * (2 * y[1] * z[1] * other));
      LatticePut(edge[7], i, m1 * (6 * y[1] * z[1] * other));
    }
  }
}

/* ---- what they give to rows ---- */

/* an edge with entry e between nodes with v and w, whose rows have no sum to take care of: to that of v, and what that of w gets; or to
   their diagonal entries */
static inline __attribute__((always_inline)) V LatticeFlow(const PetscBool diagonal, V e, V v, V w, V *own)
{
  const V f = diagonal ? e : e * (v - w);

  *own -= f;
  return diagonal ? -f : f;
}

/* one that has, in three dimensions */
static inline __attribute__((always_inline)) V LatticeDiagonalFlow(const PetscBool diagonal, V e, V v, V w, V *own)
{
  *own += e * (diagonal ? 4 + (V){0} : 4 * v + w);
  return e * (diagonal ? 4 + (V){0} : 4 * w + v);
}

static inline __attribute__((always_inline)) void LatticeFlows3(const PetscBool mass, const PetscBool diagonal, const LatticeRows *rows)
{
  const LatticeRows r       = *rows;
  V                 left[4] = {{0}};

  for (PetscInt i = 0; i < r.n; i += VL) {
    const V v   = LatticeAt(r.x[0], i);
    V       own = LatticeAt(r.now[0], i), to[8] = {{0}}; /* by the corner of the cube */

    to[1] = LatticeFlow(diagonal, LatticeAt(r.edge[1], i), v, LatticeRight(r.x[0], i), &own);
    to[2] = LatticeFlow(diagonal, LatticeAt(r.edge[2], i), v, LatticeAt(r.x[1], i), &own);
    to[4] = LatticeFlow(diagonal, LatticeAt(r.edge[4], i), v, LatticeAt(r.x[2], i), &own);
    if (mass) {
      to[3] = LatticeDiagonalFlow(diagonal, LatticeAt(r.edge[3], i), v, LatticeRight(r.x[1], i), &own);
      to[5] = LatticeDiagonalFlow(diagonal, LatticeAt(r.edge[5], i), v, LatticeRight(r.x[2], i), &own);
      to[6] = LatticeDiagonalFlow(diagonal, LatticeAt(r.edge[6], i), v, LatticeAt(r.x[3], i), &own);
      to[7] = LatticeFlow(diagonal, LatticeAt(r.edge[7], i), v, LatticeRight(r.x[3], i), &own);
    }
    LatticePut(r.now[0], i, own + LatticeLeft(&left[0], to[1]));
    LatticePut(r.now[1], i, LatticeAt(r.now[1], i) + to[2] + (mass ? LatticeLeft(&left[1], to[3]) : to[3]));
    LatticePut(r.up[0], i, LatticeAt(r.up[0], i) + to[4] + (mass ? LatticeLeft(&left[2], to[5]) : to[5]));
    LatticePut(r.up[1], i, mass ? to[6] + LatticeLeft(&left[3], to[7]) : to[6]);
  }
}

/* dim 1 or 2 */
static inline __attribute__((always_inline)) void LatticeFlows2(const int dim, const PetscBool diagonal, const LatticeRows *rows)
{
  const LatticeRows r       = *rows;
  V                 left[2] = {{0}};

  for (PetscInt i = 0; i < r.n; i += VL) {
    const V v = LatticeAt(r.x[0], i), node = (REAL)(dim + 2) * LatticeAt(r.edge[0], i);
    V       own = LatticeAt(r.now[0], i) + (diagonal ? node : node * v), to[4];

    to[1] = LatticeFlow(diagonal, LatticeAt(r.edge[1], i), v, LatticeRight(r.x[0], i), &own);
    if (dim > 1) {
      to[2] = LatticeFlow(diagonal, LatticeAt(r.edge[2], i), v, LatticeAt(r.x[1], i), &own);
      to[3] = LatticeFlow(diagonal, LatticeAt(r.edge[3], i), v, LatticeRight(r.x[1], i), &own);
      LatticePut(r.now[1], i, LatticeAt(r.now[1], i) + to[2] + LatticeLeft(&left[1], to[3]));
    }
    LatticePut(r.now[0], i, own + LatticeLeft(&left[0], to[1]));
  }
}
