/*
  y = y0 + alpha A x for operators by quadrature (PatchFDPoints in kernels.h): a batch is VL cells, one in each lane.

  With u the block of a cell's n^3 nodes, B and D = C B values and derivatives of its polynomials at c points in a direction (B = 1, c = n
  if the nodes are the points), and G the factors of the points,

    a = (B (x) B) u            n slices of c^2: directions x and y
    q = B a,  t = D a          direction z: values, and their derivatives in z, at the c^3 points
    r = C q,  s = C q          slice by slice: derivatives in x and y
    (r, s, t) = G (r, s, t)
    q = g q + C' r + C' s
    a = B' q + D' t,  u = (B' (x) B') a

  In two dimensions there is one slice, and no t.  With a mass matrix alone q = g q, with B in all directions.  The factors are read, or
  computed from the coefficients of the multilinear map of the cell (Swirydowicz, Chalmers, Karakus and Warburton 2017).
*/
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
  PatchFDField field; /* cells on a box of nodes, or one after another on a line of them; where there are no indices */
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
  void        *base, *factorbase, *mapbase;
  void (*apply)(const PointsPlan *, PetscCount batch);
  PetscLogDouble flops;
};

static PetscErrorCode PointsDestroy(PointsPlan *p)
{
  PetscFunctionBegin;
  PetscCall(IndexDestroy(&p->index));
  PetscCall(PetscFree(p->B));
  PetscCall(PetscFree(p->Bt));
  PetscCall(PetscFree(p->D));
  PetscCall(PetscFree(p->Dt));
  PetscCall(PetscFree(p->C));
  PetscCall(PetscFree(p->Ct));
  PetscCall(PetscFree(p->x));
  PetscCall(PetscFree(p->w));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(p->factorbase));
  PetscCall(PetscFree(p->mapbase));
  PetscCall(PetscFree(p));
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
POINTS_DEGREE(1)
POINTS_DEGREE(2)
POINTS_DEGREE(3)
POINTS_DEGREE(4)
POINTS_DEGREE(5)
POINTS_DEGREE(6)
POINTS_DEGREE(7)
POINTS_DEGREE(8)
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
    return
  if (p->dim == 3) {
    switch (p->n - 1) {
      CASE(1);
      CASE(2);
      CASE(3);
      CASE(4);
      CASE(5);
      CASE(6);
      CASE(7);
      CASE(8);
    }
  }
  p->apply = PointsAny;
#undef CASE
}

/* ---- create ---- */

static PetscErrorCode PointsMatrix(PetscInt rows, PetscInt cols, const PetscReal *M, REAL **R, REAL **Rt)
{
  PetscFunctionBegin;
  PetscCall(RealCopy((size_t)(rows * cols), M, R));
  PetscCall(RealCopy((size_t)(rows * cols), M, Rt));
  for (PetscInt i = 0; i < rows; i++)
    for (PetscInt j = 0; j < cols; j++) (*Rt)[j * rows + i] = (REAL)M[i * cols + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where nodes of cells lie: indices, or rows of a box */
static PetscErrorCode PointsNodes(const PatchFDOperatorDesc *desc, PointsPlan *p)
{
  const PatchFDPoints *points = desc->points;

  PetscFunctionBegin;
  p->ncells = points->ncells;
  for (int d = 0; d < 3; d++) {
    p->block[d]  = d < p->dim ? p->n : 1;
    p->stride[d] = d < p->dim ? points->degree : 0;
  }
  if (points->nodes == PATCHFD_NODES_BOX) {
    PetscCheck(desc->nfield == 1 && p->ncomp == 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "%" PetscInt_FMT " fields with %" PetscInt_FMT " components; operators by quadrature on a box of nodes have 1 of 1",
               desc->nfield, p->ncomp);
    p->field = desc->field[0];
    PetscCall(PetscArraycpy(p->cells, desc->cells, 3));
    p->ncells = PatchFDRangeSize(p->cells);
  } else if (points->nodes == PATCHFD_NODES_CELL && p->ncomp == 1) { /* a row of nodes, `size` from one cell to the next */
    PetscInt     nodes;
    PatchFDRange all = {{0, 0}, {0, 1}, {0, 1}}, cells = {{0, (PetscInt)p->ncells}, {0, 1}, {0, 1}};

    PetscCall(PetscIntCast(points->nnodes, &nodes));
    all[0][1] = nodes;
    for (int d = 0; d < 3; d++) {
      p->block[d]  = d ? 1 : p->size;
      p->stride[d] = d ? 0 : p->size;
    }
    p->field.xbox = p->field.ybox = (PatchFDBox){{0, 0, 0}, {nodes, 1, 1}};
    PetscCall(PetscArraycpy(p->field.read, all, 3));
    PetscCall(PetscArraycpy(p->field.write, all, 3));
    PetscCall(PetscArraycpy(p->cells, cells, 3));
    p->covers = (PetscBool)(points->nnodes == p->ncells * p->size);
  } else PetscCall(IndexCreate(p->ncells, p->size, points->nodes == PATCHFD_NODES_CELL ? NULL : points->index, &p->index));
  p->nbatch = (p->ncells + VL - 1) / VL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the coefficients of the map of a cell, from its corners */
static void PointsMap(const PatchFDPoints *points, PetscCount cell, int lane, V *map)
{
  const int dim = (int)points->dim, corners = 1 << dim;

  for (int a = 0; a < dim; a++) {
    PetscReal m[8];

    for (int i = 0; i < corners; i++) m[i] = points->coordinate[(size_t)points->geoindex[cell * corners + i] * dim + a];
    for (int bit = 1; bit < corners; bit *= 2)
      for (int i = 0; i < corners; i++)
        if (i & bit) m[i] -= m[i ^ bit];
    for (int i = 1; i < corners; i++) ((REAL *)&map[(i - 1) * dim + a])[lane] = (REAL)m[i];
  }
}

/* factors of all cells, which are checked even where they are computed anew; empty lanes are the last cell once more */
static PetscErrorCode PointsFactors(const PatchFDPoints *points, PatchFDGeometry *geometry, PointsPlan *p)
{
  const PetscInt size = p->npoint * p->nfactor, map = ((1 << p->dim) - 1) * p->dim;
  PatchFDLanes  *factor = NULL;

  PetscFunctionBegin;
  if (p->computed) PetscCall(VMalloc((size_t)p->nbatch * map, &p->map, &p->mapbase));
  else PetscCall(VMalloc((size_t)p->nbatch * size, &p->factor, &p->factorbase));
  PetscCall(PetscMalloc1(size, &factor));
  for (PetscCount first = 0; first < p->nbatch * VL; first += PATCHFD_LANES) {
    if (first < p->ncells) PetscCall(PatchFDGeometryCells(geometry, first, factor));
    for (PetscCount l = 0, i = first; l < PATCHFD_LANES && i < p->nbatch * VL; l++, i++) {
      /* behind the last cell that is still there */
      const PetscCount cell = PetscMin(i, p->ncells - 1), batch = i / VL, from = cell < first ? PATCHFD_LANES - 1 : cell - first;
      const int        lane = (int)(i % VL);

      if (p->computed) PointsMap(points, cell, lane, p->map + batch * map);
      else {
        REAL *to = (REAL *)(p->factor + (size_t)batch * size) + lane;

        for (PetscInt q = 0; q < size; q++) to[q * VL] = (REAL)factor[q][from];
      }
    }
  }
  PetscCall(PetscFree(factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Six factors take at least as long to be read as to be computed, at low degrees longer; one does not (tests/quadrature -time) */
static PetscBool PointsIsComputed(const PatchFDPoints *points)
{
  if (points->factors != PATCHFD_FACTORS_AUTO) return (PetscBool)(points->factors == PATCHFD_FACTORS_COMPUTED);
  return (PetscBool)(points->nkappa && PatchFDPointsCanCompute(points));
}

/* room for a batch, and what a product costs */
static PetscErrorCode PointsWork(PointsPlan *p)
{
  const size_t         slice = (size_t)(p->c * p->c), cube = (size_t)p->npoint;
  const PetscLogDouble n = p->n, c = p->c, third = p->dim == 3 ? c : 1;
  V                   *v = NULL;

  PetscFunctionBegin;
  PetscCall(VMalloc(4 * cube + 2 * slice, &v, &p->base));
  p->u     = v;
  p->a     = v + cube;
  p->q     = v + 2 * cube;
  p->t     = v + 3 * cube;
  p->r     = v + 4 * cube;
  p->s     = p->r + slice;
  p->flops = p->stiff ? (p->dim == 3 ? 12 : 8) * third * c * c * c + (p->dim == 3 ? 15 : 6) * third * c * c : 0;
  if (p->mass) p->flops += (p->stiff ? 2 : 1) * third * c * c;
  if (p->gauss) p->flops += 4 * (p->dim == 3 ? c * n * n * n + c * c * n * n + c * c * c * n : c * n * n + c * c * n);
  p->flops *= (PetscLogDouble)p->ncells * p->ncomp;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointsCreate(const PatchFDOperatorDesc *desc, PointsPlan **plan)
{
  const PatchFDPoints *points = desc->points;
  PatchFDGeometry      geometry;
  PointsPlan          *p;

  PetscFunctionBegin;
  PetscCall(PatchFDPointsCheck(points));
  PetscCall(PatchFDGeometryCreate(points, &geometry));
  PetscCall(PetscNew(&p));
  *plan       = p;
  p->dim      = points->dim;
  p->n        = geometry.rule.nodes;
  p->c        = geometry.rule.points;
  p->ncomp    = points->ncomp;
  p->size     = p->n * p->n * (p->dim == 3 ? p->n : 1);
  p->npoint   = geometry.npoint;
  p->nfactor  = geometry.nfactor;
  p->gauss    = (PetscBool)(points->gauss > 0);
  p->stiff    = (PetscBool)(points->nkappa > 0);
  p->mass     = (PetscBool)(points->shift != NULL);
  p->computed = PointsIsComputed(points);
  p->tensor   = (PetscBool)(points->nkappa > 1);
  for (PetscInt i = 0; i < points->nkappa && p->computed; i++) p->K[i] = (REAL)points->kappa[i];
  if (p->mass && p->computed) p->shift = (REAL)points->shift[0];
  PetscCall(PointsMatrix(p->c, p->n, geometry.rule.B, &p->B, &p->Bt));
  PetscCall(PointsMatrix(p->c, p->n, geometry.rule.D, &p->D, &p->Dt));
  PetscCall(PointsMatrix(p->c, p->c, geometry.rule.C, &p->C, &p->Ct));
  PetscCall(RealCopy((size_t)p->c, geometry.rule.x, &p->x));
  PetscCall(RealCopy((size_t)p->c, geometry.rule.w, &p->w));
  PetscCall(PointsNodes(desc, p));
  if (p->ncells) PetscCall(PointsFactors(points, &geometry, p));
  PetscCall(PatchFDGeometryDestroy(&geometry));
  PointsChoose(p);

  PetscCall(PointsWork(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `size` vectors of each batch of cells, picked lane by lane */
static PetscErrorCode PointsPickLanes(PetscCount ncells, const PetscCount cells[], PetscInt size, const V *from, V **to, void **base)
{
  const PetscCount nbatch = (ncells + VL - 1) / VL;

  PetscFunctionBegin;
  PetscCall(VMalloc((size_t)(nbatch * size), to, base));
  for (PetscCount i = 0; i < nbatch * VL; i++) {
    const PetscCount cell = cells[PetscMin(i, ncells - 1)];
    const V         *in   = from + cell / VL * size;
    V               *out  = *to + i / VL * size;

    for (PetscInt q = 0; q < size; q++) ((REAL *)&out[q])[i % VL] = ((const REAL *)&in[q])[cell % VL];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the operator of some of the cells */
static PetscErrorCode PointsPick(const PointsPlan *from, PetscCount ncells, const PetscCount cells[], const PetscInt index[],
                                 PointsPlan **plan)
{
  const PetscInt c = from->c, n = from->n;
  PointsPlan    *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan         = p;
  *p            = *from;
  p->base       = NULL;
  p->covers     = PETSC_FALSE;
  p->ncells     = ncells;
  p->nbatch     = (ncells + VL - 1) / VL;
  p->factorbase = p->mapbase = NULL;
  PetscCall(RealDuplicate((size_t)(c * n), from->B, &p->B));
  PetscCall(RealDuplicate((size_t)(c * n), from->Bt, &p->Bt));
  PetscCall(RealDuplicate((size_t)(c * n), from->D, &p->D));
  PetscCall(RealDuplicate((size_t)(c * n), from->Dt, &p->Dt));
  PetscCall(RealDuplicate((size_t)(c * c), from->C, &p->C));
  PetscCall(RealDuplicate((size_t)(c * c), from->Ct, &p->Ct));
  PetscCall(RealDuplicate((size_t)c, from->x, &p->x));
  PetscCall(RealDuplicate((size_t)c, from->w, &p->w));
  PetscCall(IndexCreate(ncells, p->size, index, &p->index));
  if (p->computed) PetscCall(PointsPickLanes(ncells, cells, ((1 << p->dim) - 1) * p->dim, from->map, &p->map, &p->mapbase));
  else PetscCall(PointsPickLanes(ncells, cells, p->npoint * p->nfactor, from->factor, &p->factor, &p->factorbase));
  PetscCall(PointsWork(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- apply ---- */

static void PointsBatchAt(const PointsPlan *p, PetscCount batch, const PatchFDRange clip, Batch *b)
{
  PetscInt cell[3][VL] = {{0}};

  b->count = RangeBatch(p->cells, batch * VL, cell);
  for (int d = 0; d < 3; d++)
    for (int l = 0; l < VL; l++) b->first[d][l] = cell[d][l] * p->stride[d];
  BatchClip(b, p->block, clip);
}

/* u = component `comp` of x in the cells of a batch */
static void PointsGather(const PointsPlan *p, PetscCount batch, PetscInt comp, const REAL *x)
{
  Batch b;

  if (p->index.node) {
    IndexGather(&p->index, batch, p->ncomp, x + comp, p->u);
    return;
  }
  PointsBatchAt(p, batch, p->field.read, &b);
  Gather(&b, p->block, &p->field.xbox, x + p->field.x0, p->u);
}

/* y = beta y + alpha u there; beta is 1 where cells share nodes */
static void PointsScatter(const PointsPlan *p, PetscCount batch, PetscInt comp, REAL alpha, REAL beta, REAL *y)
{
  Batch b;

  if (p->index.node) {
    IndexScatter(&p->index, batch, p->ncomp, alpha, p->u, y + comp);
    return;
  }
  PointsBatchAt(p, batch, p->field.write, &b);
  Scatter(&b, p->block, alpha, p->u, beta, &p->field.ybox, y + p->field.y0);
}

static PetscErrorCode PointsApply(PointsPlan *p, PetscReal alpha, const REAL *x, REAL beta, REAL *y)
{
  PetscFunctionBegin;
  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    for (PetscInt comp = 0; comp < p->ncomp; comp++) {
      PointsGather(p, batch, comp, x);
      (*p->apply)(p, batch);
      PointsScatter(p, batch, comp, (REAL)alpha, beta, y);
    }
  }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- diagonal ---- */

/* g[0 .. nfactor - 1] of point q of the cells: columns of what becomes of the derivatives of unit vectors, where they are computed */
static void PointsFactorsAt(const PointsPlan *p, PetscCount batch, PetscInt q, V g[7])
{
  const int      dim = (int)p->dim;
  const PetscInt c = p->c, i = q % c, j = q / c % c, k = q / c / c;
  const REAL     weight = p->w[i] * p->w[j] * (dim == 3 ? p->w[k] : 1);
  PointsSlice    slice;
  PetscInt       at  = 0;
  V              det = {0};

  if (!p->computed) {
    for (PetscInt f = 0; f < p->nfactor; f++) g[f] = p->factor[((size_t)batch * p->npoint + q) * p->nfactor + f];
    return;
  }
  PointsSliceAt(dim, p->map + batch * ((1 << dim) - 1) * dim, p->x[k], &slice);
  for (int l = 0; l < dim; l++) {
    V d[3] = {{0}};

    d[l] = Splat(1);
    det  = PointsCompute(dim, &slice, p->x[i], p->x[j], weight * (p->tensor ? 1 : p->K[0]), p->tensor ? p->K : NULL, d);
    for (int m = l; m < dim && p->stiff; m++) g[at++] = d[m];
  }
  if (p->mass) g[at] = weight * p->shift * det;
}

/* u += factor (M[2]' (x) M[1]' (x) M[0]') q, M[d] the products of entries of two of the matrices B (0) and D (1) of direction d */
static void PointsDiagonalTerm(const PointsPlan *p, const int deriv[2][3], REAL factor)
{
  const PetscInt n = p->n, c = p->c;
  PetscInt       size[3] = {c, c, p->dim == 3 ? c : 1};
  V             *in = p->q, *out = p->t;
  REAL           M[POINTS_MAX_POINTS * POINTS_MAX_POINTS];

  for (int d = 0; d < p->dim; d++) {
    const REAL *X = deriv[0][d] ? p->Dt : p->Bt, *Y = deriv[1][d] ? p->Dt : p->Bt;

    for (PetscInt i = 0; i < n * c; i++) M[i] = X[i] * Y[i];
    Contract(d, size, n, (Coef){M, NULL}, in, out, PETSC_FALSE);
    size[d] = n;
    in      = out;
    out     = out == p->t ? p->a : p->t;
  }
  for (PetscInt i = 0; i < p->size; i++) p->u[i] += factor * in[i];
}

static PetscErrorCode PointsDiagonal(PointsPlan *p, REAL *diagonal)
{
  PetscFunctionBegin;
  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    PetscInt f = 0;

    for (PetscInt i = 0; i < p->size; i++) p->u[i] = (V){0};
    for (int l = 0; l <= p->dim; l++) {
      for (int m = l; m <= p->dim; m++) { /* derivatives l and m; dim is the value */
        const int deriv[2][3] = {{l == 0, l == 1, l == 2 && p->dim == 3}, {m == 0, m == 1, m == 2 && p->dim == 3}};
        V         g[7];

        if (l == p->dim ? !p->mass : (m == p->dim || !p->stiff)) continue;
        for (PetscInt q = 0; q < p->npoint; q++) {
          PointsFactorsAt(p, batch, q, g);
          p->q[q] = g[f];
        }
        PointsDiagonalTerm(p, deriv, l == m ? 1 : 2);
        f++;
      }
    }
    for (PetscInt comp = 0; comp < p->ncomp; comp++) PointsScatter(p, batch, comp, 1, 1, diagonal);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
