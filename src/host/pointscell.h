/* Operators by quadrature (points.h): what a batch of cells has, and its product, from the values at the nodes to those of A u */
#pragma once
#include "batch.h"
#include <patchfd/private/assembly.h>

enum {
  POINTS_MAX_POINTS = PATCHFD_POINTS_MAX_DEGREE + 2 /* in a direction */
};

typedef struct _PointsPlan PointsPlan;
struct _PointsPlan {
  PetscInt     dim, n, c, ncomp, size, npoint; /* nodes and points in a direction; in a cell */
  PetscBool    gauss, stiff, mass, computed;   /* gauss: the points are not the nodes */
  PetscCount   ncells, nbatch;
  PatchFDField field[3]; /* cells on a box of nodes, or one after another on a line of them; where there are no indices.  Solids: of each
                            component */
  PatchFDRange cells;
  PetscInt     block[3], stride[3];
  Index        index;  /* where there are */
  PetscBool    covers; /* all numbers of y are written, each by one cell */
  REAL        *B, *Bt, *D, *Dt, *C, *Ct, *x, *w;
  PetscInt     nfactor;
  V           *factor; /* [nbatch][npoint][nfactor] */
  V           *map;    /* computed: [nbatch][2^dim - 1][dim] */
  REAL         K[6], shift;
  PetscBool    tensor; /* K is one */
  V           *u, *a, *q, *t, *r, *s;
  PetscBool    solid;  /* solid.h: u, q [component], t [component][derivative] */
  PetscInt     nkappa; /* of a solid: 2, or those of its tangent */
  V           *diagonal;
  PetscInt     m; /* its projection: polynomials in a direction, their values [c][m] at the points, [nbatch][m^dim][m^dim]; or NULL */
  REAL        *L, *Lt;
  V           *N;
  void        *Nbase;
  void        *base, *factorbase, *mapbase;
  void (*apply)(const PointsPlan *, PetscCount batch);
  PetscLogDouble flops;
};

static PetscErrorCode PointsMatrix(PetscInt rows, PetscInt cols, const PetscReal *M, REAL **R, REAL **Rt)
{
  PetscFunctionBegin;
  PetscCall(RealCopy((size_t)(rows * cols), M, R));
  PetscCall(RealCopy((size_t)(rows * cols), M, Rt));
  for (PetscInt i = 0; i < rows; i++)
    for (PetscInt j = 0; j < cols; j++) (*Rt)[j * rows + i] = (REAL)M[i * cols + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- factors from the map of a cell ---- */

/*
  The map is the sum of m[i] times the product of the reference coordinates whose bits are set in i + 1: m[0] r, m[1] s, m[2] r s, m[3] t,
  ...
  On a slice of points, at t, the derivative in r is that at s = 0 and its slope in s, the other way round, and the derivative in t is
  bilinear.
*/
typedef struct {
  V r[3], s[3], rs[3]; /* dx/dr = r + s rs, dx/ds = s + r rs */
  V t[3], tr[3], ts[3], trs[3];
} PointsSlice;

static inline __attribute__((always_inline)) void PointsSliceAt(int dim, const V *m, REAL t, PointsSlice *slice)
{
  for (int a = 0; a < dim; a++) {
    slice->r[a]  = m[a];
    slice->s[a]  = m[dim + a];
    slice->rs[a] = m[2 * dim + a];
    if (dim == 2) continue;
    slice->t[a]   = m[3 * 3 + a];
    slice->tr[a]  = m[4 * 3 + a];
    slice->ts[a]  = m[5 * 3 + a];
    slice->trs[a] = m[6 * 3 + a];
    slice->r[a] += t * slice->tr[a];
    slice->s[a] += t * slice->ts[a];
    slice->rs[a] += t * slice->trs[a];
  }
}

/* columns C[b] of cofactors of dx/d(r, s, t) at (r, s), and the determinant */
static inline __attribute__((always_inline)) V PointsCofactors(int dim, const PointsSlice *slice, REAL r, REAL s, V C[3][3])
{
  V J[3][3] = {{{0}}};

  for (int a = 0; a < dim; a++) {
    J[0][a] = slice->r[a] + s * slice->rs[a];
    J[1][a] = slice->s[a] + r * slice->rs[a];
    if (dim == 3) J[2][a] = (slice->t[a] + s * slice->ts[a]) + r * (slice->tr[a] + s * slice->trs[a]);
  }
  if (dim == 2) {
    C[0][0] = J[1][1];
    C[0][1] = -J[1][0];
    C[1][0] = -J[0][1];
    C[1][1] = J[0][0];
    return J[0][0] * C[0][0] + J[0][1] * C[0][1];
  }
  for (int b = 0; b < 3; b++)
    for (int a = 0; a < 3; a++)
      C[b][a] = J[(b + 1) % 3][(a + 1) % 3] * J[(b + 2) % 3][(a + 2) % 3] - J[(b + 1) % 3][(a + 2) % 3] * J[(b + 2) % 3][(a + 1) % 3];
  return J[0][0] * C[0][0] + J[0][1] * C[0][1] + J[0][2] * C[0][2];
}

/* f = K g for a tensor (xx xy xz yy yz zz) */
static inline __attribute__((always_inline)) void PointsTensor(int dim, const REAL K[], V g[3])
{
  if (dim == 2) {
    const V x = K[0] * g[0] + K[1] * g[1];

    g[1] = K[1] * g[0] + K[2] * g[1];
    g[0] = x;
  } else {
    const V x = K[0] * g[0] + K[1] * g[1] + K[2] * g[2], y = K[1] * g[0] + K[3] * g[1] + K[4] * g[2];

    g[2] = K[2] * g[0] + K[4] * g[1] + K[5] * g[2];
    g[1] = y;
    g[0] = x;
  }
}

/* ---- the points ---- */

/* d = G d for the derivatives at a point, with factors that are read */
static inline __attribute__((always_inline)) void PointsRead(int dim, const V *g, V d[3])
{
  const V r = d[0], s = d[1], t = d[2];

  if (dim == 2) {
    d[0] = g[0] * r + g[1] * s;
    d[1] = g[1] * r + g[2] * s;
  } else {
    d[0] = g[0] * r + g[1] * s + g[2] * t;
    d[1] = g[1] * r + g[3] * s + g[4] * t;
    d[2] = g[2] * r + g[4] * s + g[5] * t;
  }
}

/* the same with factors that are computed; kappa is a number or, with K, one.  Returns the determinant */
static inline __attribute__((always_inline)) V PointsCompute(int dim, const PointsSlice *slice, REAL r, REAL s, REAL kappa, const REAL *K,
                                                             V d[3])
{
  V       C[3][3], g[3] = {{0}};
  const V det = PointsCofactors(dim, slice, r, s, C), scale = kappa / det;

  for (int a = 0; a < dim; a++) {
    g[a] = C[0][a] * d[0] + C[1][a] * d[1];
    if (dim == 3) g[a] += C[2][a] * d[2];
    g[a] *= scale;
  }
  if (K) PointsTensor(dim, K, g);
  for (int b = 0; b < dim; b++) {
    d[b] = C[b][0] * g[0] + C[b][1] * g[1];
    if (dim == 3) d[b] += C[b][2] * g[2];
  }
  return det;
}

/* the points of slice k: q, its derivatives r, s, t */
static inline __attribute__((always_inline)) void PointsSliceRead(int dim, int c, PetscBool mass, const V *g, V *q, V *r, V *s, V *t)
{
  const int nfactor = (dim == 3 ? 6 : 3) + (mass ? 1 : 0);

  for (int i = 0; i < c * c; i++, g += nfactor) {
    V d[3] = {r[i], s[i], dim == 3 ? t[i] : (V){0}};

    ReadAhead(nfactor, g);
    PointsRead(dim, g, d);
    q[i] = mass ? g[nfactor - 1] * q[i] : (V){0};
    r[i] = d[0];
    s[i] = d[1];
    if (dim == 3) t[i] = d[2];
  }
}

static inline __attribute__((always_inline)) void PointsSliceCompute(const PointsPlan *p, int dim, int c, PetscInt k, const V *map,
                                                                     const REAL *K, V *q, V *r, V *s, V *t)
{
  const REAL  kappa = K ? 1 : p->K[0], shift = p->shift;
  const REAL *x = p->x, *w = p->w;
  PointsSlice slice;

  PointsSliceAt(dim, map, x[k], &slice);
  for (int j = 0; j < c; j++) {
    const REAL wj = w[j] * (dim == 3 ? w[k] : 1);

    for (int i = 0; i < c; i++) {
      const int at   = j * c + i;
      V         d[3] = {r[at], s[at], dim == 3 ? t[at] : (V){0}};
      const V   det  = PointsCompute(dim, &slice, x[i], x[j], wj * w[i] * kappa, K, d);

      q[at] *= wj * w[i] * shift * det;
      r[at] = d[0];
      s[at] = d[1];
      if (dim == 3) t[at] = d[2];
    }
  }
}

static inline __attribute__((always_inline)) void PointsSliceFactors(const PointsPlan *p, PetscCount batch, int dim, int c, PetscInt k,
                                                                     V *q, V *r, V *s, V *t)
{
  if (p->computed) {
    const V *map = p->map + batch * ((1 << dim) - 1) * dim;

    if (p->tensor) PointsSliceCompute(p, dim, c, k, map, p->K, q, r, s, t);
    else PointsSliceCompute(p, dim, c, k, map, NULL, q, r, s, t);
  } else {
    const V *g = p->factor + ((size_t)batch * p->npoint + (size_t)k * c * c) * p->nfactor;

    if (p->mass) PointsSliceRead(dim, c, PETSC_TRUE, g, q, r, s, t);
    else PointsSliceRead(dim, c, PETSC_FALSE, g, q, r, s, t);
  }
}

static inline __attribute__((always_inline)) void PointsStiffness(const PointsPlan *p, PetscCount batch, int dim, int c, V *q, V *t)
{
  V *r = p->r, *s = p->s;

  for (int k = 0; k < (dim == 3 ? c : 1); k++, q += c * c, t += c * c) {
    LinesSame(c, c, c, p->C, q, 1, c, r, 1, c, PETSC_FALSE);
    LinesSame(c, c, c, p->C, q, c, 1, s, c, 1, PETSC_FALSE);
    PointsSliceFactors(p, batch, dim, c, k, q, r, s, t);
    LinesSame(c, c, c, p->Ct, r, 1, c, q, 1, c, PETSC_TRUE);
    LinesSame(c, c, c, p->Ct, s, c, 1, q, c, 1, PETSC_TRUE);
  }
}

static inline __attribute__((always_inline)) void PointsMass(const PointsPlan *p, PetscCount batch, int dim, int c, V *q)
{
  const V    *g = p->factor + (size_t)batch * p->npoint, *m = p->map + batch * ((1 << dim) - 1) * dim;
  PointsSlice slice;
  V           C[3][3];

  if (!p->computed) {
    for (PetscInt i = 0; i < p->npoint; i++) q[i] *= g[i];
    return;
  }
  for (int k = 0; k < (dim == 3 ? c : 1); k++) {
    PointsSliceAt(dim, m, p->x[k], &slice);
    for (int j = 0; j < c; j++) {
      const REAL wj = p->w[j] * (dim == 3 ? p->w[k] : 1) * p->shift;

      for (int i = 0; i < c; i++, q++) *q *= wj * p->w[i] * PointsCofactors(dim, &slice, p->x[i], p->x[j], C);
    }
  }
}

/* ---- a cell ---- */

/* a = (B (x) B) u and u = (B' (x) B') a in x and y, slice by slice */
static inline __attribute__((always_inline)) void PointsInterpolate(const PointsPlan *p, int n, int c, int slices, const V *u, V *a)
{
  for (int k = 0; k < slices; k++, u += n * n, a += c * c) {
    LinesSame(n, c, n, p->B, u, 1, n, p->r, 1, c, PETSC_FALSE);
    LinesSame(c, c, n, p->B, p->r, c, 1, a, c, 1, PETSC_FALSE);
  }
}

static inline __attribute__((always_inline)) void PointsProject(const PointsPlan *p, int n, int c, int slices, const V *a, V *u)
{
  for (int k = 0; k < slices; k++, u += n * n, a += c * c) {
    LinesSame(c, n, c, p->Bt, a, c, 1, p->r, c, 1, PETSC_FALSE);
    LinesSame(n, n, c, p->Bt, p->r, 1, c, u, 1, n, PETSC_FALSE);
  }
}

/* out (+)= M in in direction z */
static inline __attribute__((always_inline)) void PointsThird(int rows, int cols, int c, const REAL *M, const V *in, V *out, PetscBool add)
{
  LinesSame(c * c, rows, cols, M, in, c * c, 1, out, c * c, 1, add);
}

/* u = A u for a batch; dim, n, c and gauss are constants after inlining, as a rule */
static inline __attribute__((always_inline)) void PointsBatch(const PointsPlan *p, PetscCount batch, int dim, int n, int c, PetscBool gauss)
{
  const PetscBool third = (PetscBool)(dim == 3 && gauss);
  V              *a = gauss ? p->a : p->u, *q = third ? p->q : a;

  if (gauss) PointsInterpolate(p, n, c, dim == 3 ? n : 1, p->u, a);
  if (third) PointsThird(c, n, c, p->B, a, q, PETSC_FALSE);
  if (p->stiff) {
    if (dim == 3) PointsThird(c, n, c, p->D, a, p->t, PETSC_FALSE);
    PointsStiffness(p, batch, dim, c, q, p->t);
  } else PointsMass(p, batch, dim, c, q);
  if (third) PointsThird(n, c, c, p->Bt, q, a, PETSC_FALSE);
  if (p->stiff && dim == 3) PointsThird(n, c, c, p->Dt, p->t, a, PETSC_TRUE);
  if (gauss) PointsProject(p, n, c, dim == 3 ? n : 1, a, p->u);
}

#define POINTS_DEGREE(N) \
  static void PointsGauss##N(const PointsPlan *p, PetscCount batch) \
  { \
    PointsBatch(p, batch, 3, (N) + 1, (N) + 2, PETSC_TRUE); \
  } \
  static void PointsFew##N(const PointsPlan *p, PetscCount batch) \
  { \
    PointsBatch(p, batch, 3, (N) + 1, (N) + 1, PETSC_TRUE); \
  } \
  static void PointsMany##N(const PointsPlan *p, PetscCount batch) \
  { \
    PointsBatch(p, batch, 3, (N) + 1, 2 * (N) + 1, PETSC_TRUE); \
  } \
  static void PointsLobatto##N(const PointsPlan *p, PetscCount batch) \
  { \
    PointsBatch(p, batch, 3, (N) + 1, (N) + 1, PETSC_FALSE); \
  }
EACH_DEGREE(POINTS_DEGREE)
#undef POINTS_DEGREE

static void PointsAny(const PointsPlan *p, PetscCount batch)
{
  if (p->dim == 2) PointsBatch(p, batch, 2, (int)p->n, (int)p->c, p->gauss);
  else PointsBatch(p, batch, 3, (int)p->n, (int)p->c, p->gauss);
}

static void PointsChoose(PointsPlan *p)
{
#define CASE(N) \
  case N: \
    p->apply = !p->gauss ? PointsLobatto##N : (p->c == p->n ? PointsFew##N : (p->c == p->n + 1 ? PointsGauss##N : PointsMany##N)); \
    return;
  if (p->dim == 3) {
    switch (p->n - 1) {
      EACH_DEGREE(CASE)
    }
  }
  p->apply = PointsAny;
#undef CASE
}
