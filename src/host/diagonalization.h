/*
  Local problems of vertex patches by fast diagonalization (Cui, Grosse-Bley, Kanschat, Strzodka, eq. 2.8 and 2.13).  A batch is VL patches
  of one colour.

  With I the n free nodes of a patch in a direction, S' M_II S = 1, S' A_II S = diag(lambda), D = lambda (+) lambda (+) lambda:

    residual  r = b_I - A_{I,closure} x, then x_I += omega (S S S) D^{-1} (S' S' S') r

    boundary  x_I = (S S S) ((S' S' S' b_I - sum_f alpha_f (x) Y_f) / D - sum_f mu_f (x) W_f)

  The second form needs no residual: the free nodes of x are never read. For a face f in direction d, Y_f is the face's closure transformed
  by C = [mu_0, T, mu_1] in the other directions; W_f is the same without the rim in directions after d. (Derivation:
  doc/method/patches.md. The lifting of boundary values is orthogonal in mass, so that edges and corners have no terms of their own.) As S
  T = 1, nothing has to be transformed for W: the way back goes through z, y and x, and before each direction its two faces enter as they
  stand there, one number each for a line.

  In a discontinuous space the masses do not couple a patch to anything, so that A_{I,B} has one term for each direction, whose columns are
  the cells below and above.  Then `boundary` is a solve with the residual of x without the patch's own values, x_I = A_II^{-1} (b_I - A_IB
  x_B).

  Opposite faces enter through their sum and difference where a patch has parity (eigen.h).
*/
#pragma once
#include "separable.h"

/* u = b_I - A_{I,closure} x: the three-dimensional version of the operator in operator.h with rectangular matrices */
static void SeparableResidual(SeparablePlan *p, const BatchDirection d[3], const Batch *free, const REAL *x, const REAL *b, PetscBool zero)
{
  const PetscInt n[3]  = {d[0].n, d[1].n, d[2].n};
  const PetscInt c[3]  = {n[0] + 2 * d[0].ext, n[1] + 2 * d[1].ext, n[2] + 2 * d[2].ext};
  const PetscInt c1[3] = {n[0], c[1], c[2]}, c2[3] = {n[0], n[1], c[2]};
  const size_t   size    = (size_t)(n[0] * n[1] * n[2]);
  Batch          closure = *free;
  Coef           M[3], A[3];

  Gather(free, n, &p->field.box, b, p->u);
  if (zero) return;
  for (int i = 0; i < 3; i++) {
    static const REAL one = 1, nil = 0;

    M[i] = d[i].ext ? d[i].MI : (Coef){&one, NULL};
    A[i] = d[i].ext ? d[i].AI : (Coef){&nil, NULL};
    for (int l = 0; l < free->count; l++) closure.first[i][l] -= d[i].ext;
  }
  BatchClip(&closure, c, p->field.read);
  Gather(&closure, c, &p->field.box, x, p->x);
  Contract(0, c, n[0], M[0], p->x, p->p, PETSC_FALSE);
  Contract(0, c, n[0], A[0], p->x, p->q, PETSC_FALSE);
  Contract(1, c1, n[1], M[1], p->q, p->s, PETSC_FALSE);
  Contract(1, c1, n[1], A[1], p->p, p->s, PETSC_TRUE);
  Contract(1, c1, n[1], M[1], p->p, p->t, PETSC_FALSE);
  Contract(2, c2, n[2], M[2], p->s, p->x, PETSC_FALSE);
  Contract(2, c2, n[2], A[2], p->t, p->x, PETSC_TRUE);
  for (size_t i = 0; i < size; i++) p->u[i] -= p->x[i];
}

/* out = A x in direction f for the patch's own nodes (`own`) and the cells below and above: a block of the patch's size */
static void SeparableCross(SeparablePlan *p, const BatchDirection d[3], const Batch *free, int f, PetscBool own, const REAL *x, V *out)
{
  const PetscInt n[3]    = {d[0].n, d[1].n, d[2].n};
  PetscInt       slab[3] = {n[0], n[1], n[2]};

  if (own) {
    Gather(free, n, &p->field.box, x, p->x);
    Contract(f, n, n[f], d[f].AI, p->x, out, PETSC_FALSE);
  }
  slab[f] = d[f].ext;
  for (int e = 0; e < 2; e++) {
    Batch beyond = *free;

    for (int l = 0; l < free->count; l++) beyond.first[f][l] += e ? n[f] : -d[f].ext;
    BatchClip(&beyond, slab, p->field.read);
    Gather(&beyond, slab, &p->field.box, x, p->x);
    Contract(f, slab, n[f], d[f].E[e], p->x, out, (PetscBool)(own || e));
  }
}

/*
  u = b_I - A_{I,closure} x in a discontinuous space, with g_d what A in direction d gives: the masses of the other directions follow,
  M2 (M1 g0 + M0 g1) + M0 M1 g2.
*/
static void SeparableResidualCells(SeparablePlan *p, const BatchDirection d[3], const Batch *free, const REAL *x, const REAL *b,
                                   PetscBool own, PetscBool zero)
{
  static const REAL one  = 1;
  const PetscInt    n[3] = {d[0].n, d[1].n, d[2].n};
  const size_t      size = (size_t)(n[0] * n[1] * n[2]);
  Coef              M[3];

  Gather(free, n, &p->field.box, b, p->u);
  if (zero) return;
  for (int i = 0; i < 3; i++) M[i] = d[i].ext ? d[i].MI : (Coef){&one, NULL};
  memset(p->s, 0, size * sizeof(V));
  for (int f = 0; f < 2; f++) {
    if (!d[f].ext) continue;
    SeparableCross(p, d, free, f, own, x, p->p);
    Contract(1 - f, n, n[1 - f], M[1 - f], p->p, p->s, PETSC_TRUE);
  }
  Contract(2, n, n[2], M[2], p->s, p->t, PETSC_FALSE);
  if (d[2].ext) {
    SeparableCross(p, d, free, 2, own, x, p->p);
    Contract(0, n, n[0], M[0], p->p, p->q, PETSC_FALSE);
    Contract(1, n, n[1], M[1], p->q, p->t, PETSC_TRUE);
  }
  for (size_t i = 0; i < size; i++) p->u[i] -= p->t[i];
}

/* The rows of the lanes in an array, if all of them have what is around them in the box: quicker than a Batch.  Empty lanes have those of
   the last one, and its numbers */
typedef struct {
  ptrdiff_t offset[VL];
  VMask     keep[3][2]; /* zero in the lanes that must not read below or above, if there are any */
  PetscBool any;
} LaneRows;

static PetscBool SeparableRows(const SeparablePlan *p, int count, const PetscInt patch[3][VL], LaneRows *r)
{
  const PetscBool row    = (PetscBool)(patch[1][0] == patch[1][count - 1] && patch[2][0] == patch[2][count - 1]); /* one row of patches */
  ptrdiff_t       offset = 0;
  unsigned char   cut[3][VL];
  int             all = 0;

  for (int l = 0; l < VL; l++) {
    const int from = PetscMin(l, count - 1);

    if (l == 0 || !row) offset = p->offset[1][patch[1][from]] + p->offset[2][patch[2][from]];
    r->offset[l] = offset + p->offset[0][patch[0][from]];
    for (int d = 0; d < 3; d++) all |= cut[d][l] = p->cut[d][patch[d][from]];
  }
  r->any = (PetscBool)(all != 0);
  for (int d = 0; d < 3 && r->any; d++)
    for (int e = 0; e < 2; e++)
      for (int l = 0; l < VL; l++) r->keep[d][e][l] = cut[d][l] & (e + 1) ? 0 : -1;
  return (PetscBool) !(all & 4);
}

static inline void LanePlaces(const LaneRows *r, const REAL *x, REAL *at[VL])
{
  for (int l = 0; l < VL; l++) at[l] = (REAL *)x + r->offset[l];
}

/* in cubes that the compiler knows by their length all directions have parity, and the third one may not exist: the length, or 0 for other
   patches */
static inline PetscInt SeparableCube(const BatchDirection d[3])
{
  const PetscBool square = (PetscBool)(d[0].ext && d[1].ext && d[0].n == d[1].n && d[0].parity && d[1].parity);

  return square && (!d[2].ext || (d[2].n == d[0].n && d[2].parity)) ? d[0].n : 0;
}

/* The closures of the faces into face[f][e] in direction f, that in y without its rim in z, that in x without rims but with room for them:
   where there are no LaneRows */
static void SeparableGatherFaces(SeparablePlan *p, const BatchDirection d[3], const Batch *free, const REAL *x)
{
  for (int f = 0; f < 3; f++) {
    const ptrdiff_t plane = d[1].n + 2 * d[1].ext;
    PetscInt        c[3];

    if (!d[f].ext) continue;
    for (int i = 0; i < 3; i++) c[i] = i == f ? 1 : d[i].n + (i < f ? 2 * d[i].ext : 0);
    for (int e = 0; e < 2; e++) {
      V *const to   = p->face[f][e];
      Batch    face = *free;

      for (int l = 0; l < free->count; l++)
        for (int i = 0; i < 3; i++) face.first[i][l] += i == f ? (e ? d[f].n : -1) : (i < f ? -d[i].ext : 0);
      BatchClip(&face, c, p->field.read);
      Gather(&face, c, &p->field.box, x, f ? to : p->p);
      for (PetscInt k = 0; k < c[2] && !f; k++)
        for (PetscInt j = 0; j < c[1]; j++) to[(k + d[2].ext) * plane + j + d[1].ext] = p->p[k * c[1] + j];
    }
  }
}

/* where the values of the faces are: in rows of an array, `stride` apart, or, without rows, in p->face */
typedef struct {
  const LaneRows *rows;
  REAL           *at[VL];
  ptrdiff_t       stride[3];
} Faces;

static inline __attribute__((always_inline)) void LanesKeep(VMask keep, PetscInt n, V *u)
{
  _Pragma("GCC unroll 17") for (PetscInt i = 0; i < n; i++) u[i] = (V)((VMask)u[i] & keep);
}

/* row (j, k) of the closure of face e in direction f, y or z; `rim` is the end in y at which it is, or -1 */
static inline __attribute__((always_inline)) void FaceRow(const Faces *s, int f, int e, int rim, PetscInt c0, PetscInt j, PetscInt k,
                                                          const V *gathered, V *row)
{
  if (!s->rows) {
    for (PetscInt i = 0; i < c0; i++) row[i] = gathered[i];
    return;
  }
  RowLoad(s->at, j * s->stride[1] + k * s->stride[2] - 1, c0, PETSC_FALSE, row);
  if (!s->rows->any) return;
  LanesKeep(s->rows->keep[f][e], c0, row);
  if (rim >= 0) LanesKeep(s->rows->keep[1][rim], c0, row);
  LanesKeep(s->rows->keep[0][0], 1, row);
  LanesKeep(s->rows->keep[0][1], 1, row + c0 - 1);
}

/* a number of both faces in x; their sum and difference where modes are even or odd */
static inline void FacesInXPut(const SeparablePlan *p, PetscBool parity, PetscInt i, V lo, V hi)
{
  p->face[0][0][i] = parity ? lo + hi : lo;
  p->face[0][1][i] = parity ? lo - hi : hi;
}

/* a, b = a + b, a - b where modes are even or odd */
static inline __attribute__((always_inline)) void SeparablePair(PetscBool parity, PetscInt count, V *a, V *b)
{
  for (PetscInt i = 0; i < count && parity; i++) {
    const V lo = a[i], hi = b[i];

    a[i] = lo + hi;
    b[i] = lo - hi;
  }
}

/*
  Y[f][e] of all faces, and what faces are on the way back: face[0][e] in nodes, rows[e], the faces in y transformed in x with a rim in z,
  and Y[2] itself; each as sum and difference where the patch has parity in direction f.  A row of a face in y or z is transformed while it
  is in registers; its ends are rims of the faces in x, and the outermost rows of a face in z those of the faces in y.
*/
static inline __attribute__((always_inline)) void FacesToModes(const SeparablePlan *p, PetscInt n0, PetscInt n1, PetscBool parity,
                                                               const Faces *s, V *row, V *line)
{
  const BatchDirection *d = p->dir;
  const PetscBool p0 = (PetscBool)(parity || d[0].parity), p1 = (PetscBool)(parity || d[1].parity), p2 = (PetscBool)(parity || d[2].parity);
  const PetscInt  n2 = d[2].n, e1 = parity ? 1 : d[1].ext, e2 = d[2].ext, c0 = n0 + 2, c1 = n1 + 2 * e1, c2 = n2 + 2 * e2,
                 nz = parity ? n0 : n2;

  for (int e = 0; e < 2 && e2; e++) {
    for (PetscInt j = 0; j < c1; j++) {
      FaceRow(s, 2, e, !e1 || (j > 0 && j < c1 - 1) ? -1 : j > 0, c0, j - e1, e ? n2 : -1, p->face[2][e] + j * c0, row);
      FacesInXPut(p, p0, e * (c2 - 1) * c1 + j, row[0], row[c0 - 1]);
      ModesLine(d[0].closure, p0, n0, PETSC_TRUE, row, 1, p->x + j * n0, 1, line);
    }
    for (int i = 0; i < 2; i++)
      for (PetscInt l = 0; l < n0; l++) p->rows[i][e * (c2 - 1) * n0 + l] = p->x[i * (c1 - 1) * n0 + l];
    ClosureLines(&d[1], p1, n1, n0, 1, p->x, p->Y[2][e], line);
  }
  for (int e = 0; e < 2 && e1; e++) {
    for (PetscInt k = 0; k < n2; k++) {
      FaceRow(s, 1, e, -1, c0, e ? n1 : -1, k, p->face[1][e] + k * c0, row);
      FacesInXPut(p, p0, (k + e2) * c1 + e * (c1 - 1), row[0], row[c0 - 1]);
      ModesLine(d[0].closure, p0, n0, PETSC_TRUE, row, 1, p->rows[e] + (k + e2) * n0, 1, line);
    }
  }
  for (PetscInt k = 0; k < n2; k++) {
    for (PetscInt j = 0; j < n1; j++) {
      const PetscInt at = (k + e2) * c1 + j + e1;

      for (int e = 0; e < 2; e++) {
        if (s->rows) RowLoad(s->at, j * s->stride[1] + k * s->stride[2] + (e ? n0 : -1), 1, PETSC_FALSE, row + e);
        else row[e] = p->face[0][e][at];
        if (s->rows && s->rows->any) LanesKeep(s->rows->keep[0][e], 1, row + e);
      }
      FacesInXPut(p, p0, at, row[0], row[1]);
    }
  }
  SeparablePair((PetscBool)(p1 && e1), n0 * c2, p->rows[0], p->rows[1]);
  SeparablePair((PetscBool)(p2 && e2), n0 * n1, p->Y[2][0], p->Y[2][1]);
  for (int e = 0; e < 2; e++) {
    ClosureLines(&d[1], p1, n1, 1, c2, p->face[0][e], p->x, line);
    ClosureLines(&d[2], p2, nz, n1, 1, p->x, p->Y[0][e], line);
    if (e1) ClosureLines(&d[2], p2, nz, n0, 1, p->rows[e], p->Y[1][e], line);
  }
}

/* the same with lengths that the compiler knows */
#define LENGTH(N) \
  static __attribute__((noinline)) void FacesOfCube##N(const SeparablePlan *p, const Faces *s) \
  { \
    V row[N + 2], line[N + 2]; \
\
    FacesToModes(p, N, N, PETSC_TRUE, s, row, line); \
  }
LENGTHS(LENGTH)
#undef LENGTH

static __attribute__((noinline)) void SeparableFaces(SeparablePlan *p, const Batch *free, const LaneRows *rows, const REAL *x)
{
  const PatchFDBox *box = &p->field.box;
  Faces             s   = {.rows = rows, .stride = {1, box->n[0], (ptrdiff_t)box->n[0] * box->n[1]}};

  if (rows) LanePlaces(rows, x, s.at);
  else SeparableGatherFaces(p, p->dir, free, x);
  switch (SeparableCube(p->dir)) {
#define LENGTH(N) \
  case N: \
    FacesOfCube##N(p, &s); \
    break;
    LENGTHS(LENGTH)
#undef LENGTH
  default:
    FacesToModes(p, p->dir[0].n, p->dir[1].n, PETSC_FALSE, &s, p->line, p->line + p->longest);
  }
}

/* What a batch is solved with: 1 / D; the values of the faces, or not; where rows of b are read and of x written, or NULL where u has the
   one and gets the other */
typedef struct {
  Coef            inv;
  PetscBool       faces;
  const LaneRows *rows;
  const REAL     *b;
  REAL           *x, omega;
} Solve;

/* u = (S' S') b or u, plane by plane, which stays in the cache */
static inline __attribute__((always_inline)) void SolveToModes(const SeparablePlan *p, PetscInt n0, PetscInt n1, PetscBool parity,
                                                               const Solve *s, V *u, V *line)
{
  const BatchDirection *d   = p->dir;
  const PatchFDBox     *box = &p->field.box;
  REAL                 *at[VL];

  if (s->rows) LanePlaces(s->rows, s->b, at);
  for (PetscInt k = 0; k < d[2].n; k++, u += n0 * n1) {
    ptrdiff_t from = (ptrdiff_t)k * box->n[1] * box->n[0];

    for (PetscInt j = 0; j < n1; j++, from += box->n[0]) {
      V *const row = u + j * n0;

      if (s->rows) RowLoad(at, from, n0, parity || d[0].ext, row);
      if (parity || d[0].ext) ModesLine(d[0].modes, parity || d[0].parity, n0, PETSC_FALSE, row, 1, row, 1, line);
    }
    for (PetscInt i = 0; i < n0 && (parity || d[1].ext); i++)
      ModesLine(d[1].modes, parity || d[1].parity, n1, PETSC_FALSE, u + i, n0, u + i, n0, line);
  }
}

/*
  A line in z: to modes, u = (u - sum_f alpha_f Y_f) / D, and back.  With parity in a direction the even modes see the faces' sum (e = 0),
  the odd ones the difference (e = 1); without it every mode sees both.
*/
static inline __attribute__((always_inline)) void SolveLine(const SeparablePlan *p, PetscInt n0, PetscInt n1, PetscInt n2, PetscBool parity,
                                                            const Solve *s, PetscInt i, PetscInt j, V *u, V *line, V *g)
{
  const BatchDirection *d = p->dir;
  const PetscBool p0 = (PetscBool)(parity || d[0].parity), p1 = (PetscBool)(parity || d[1].parity), p2 = (PetscBool)(parity || d[2].parity),
                  deep = (PetscBool)(n2 > 1 || d[2].ext);
  const PetscInt plane = n0 * n1, at = j * n0 + i, odd0 = i >= (n0 + 1) / 2, odd1 = j >= (n1 + 1) / 2;
  const V *const x[2] = {p->Y[0][p0 ? odd0 : 0] + j, p->Y[0][p0 ? odd0 : 1] + j}, *const y[2] = {p->Y[1][p1 ? odd1 : 0] + i,
                                                                                                 p->Y[1][p1 ? odd1 : 1] + i};
  const V *const    z[2] = {p->Y[2][0] + at, p->Y[2][1] + at};
  const REAL *const inv  = s->inv.s + at;

  if (deep) ModesLine(d[2].modes, p2, n2, PETSC_FALSE, u + at, plane, g, 1, line);
  else g[0] = u[at];
  if (s->faces) _Pragma("GCC unroll 16") for (PetscInt k = 0; k < n2; k++)
    {
      g[k] -= FacePair(p0, n0, i, d[0].alpha, x[0][k * n1], x[1][k * n1]);
      if (parity || d[1].ext) g[k] -= FacePair(p1, n1, j, d[1].alpha, y[0][k * n0], y[1][k * n0]);
      if (deep) g[k] -= FacePair(p2, n2, k, d[2].alpha, *z[0], *z[1]);
    }
  _Pragma("GCC unroll 16") for (PetscInt k = 0; k < n2; k++) g[k] *= parity || s->inv.s ? Splat(inv[k * plane]) : s->inv.v[k * plane + at];
  if (deep) NodesLine(&d[2], p2, n2, s->faces ? z[0] : NULL, z[1], g, 1, u + at, plane, line);
  else u[at] = g[0];
}

/* (S S) u, with what the faces give on the way, to u or x = (1 - omega) x + omega u */
static inline __attribute__((always_inline)) void SolveToNodes(const SeparablePlan *p, PetscInt n0, PetscInt n1, PetscBool parity,
                                                               const Solve *s, V *u, V *line)
{
  const BatchDirection *d   = p->dir;
  const PatchFDBox     *box = &p->field.box;
  REAL                 *at[VL];

  if (s->rows) LanePlaces(s->rows, s->x, at);
  for (PetscInt k = 0; k < d[2].n; k++, u += n0 * n1) {
    ptrdiff_t      to     = (ptrdiff_t)k * box->n[1] * box->n[0];
    const PetscInt across = (k + d[2].ext) * n0, along = (k + d[2].ext) * (n1 + 2 * d[1].ext) + d[1].ext;

    for (PetscInt i = 0; i < n0 && (parity || d[1].ext); i++)
      NodesLine(&d[1], parity || d[1].parity, n1, s->faces ? p->rows[0] + across + i : NULL, p->rows[1] + across + i, u + i, n0, u + i, n0,
                line);
    for (PetscInt j = 0; j < n1; j++, to += box->n[0]) {
      V *const row = u + j * n0;

      if (parity || d[0].ext)
        NodesLine(&d[0], parity || d[0].parity, n0, s->faces ? p->face[0][0] + along + j : NULL, p->face[0][1] + along + j, row, 1, row, 1,
                  line);
      if (!s->rows) continue;
      if (s->omega != 1) {
        RowLoad(at, to, n0, parity || d[0].ext, line);
        for (PetscInt i = 0; i < n0; i++) row[i] = (1 - s->omega) * line[i] + s->omega * row[i];
      }
      RowStore(at, to, n0, row);
    }
  }
}

static inline __attribute__((always_inline)) void SolveLines(const SeparablePlan *p, PetscInt n0, PetscInt n1, PetscInt n2,
                                                             PetscBool parity, const Solve *s, V *u, V *line, V *g)
{
  for (PetscInt j = 0; j < n1; j++)
    for (PetscInt i = 0; i < n0; i++) SolveLine(p, n0, n1, n2, parity, s, i, j, u, line, g);
}

/* the same with lengths that the compiler knows: squares and cubes with parity in all directions and numbers 1 / D for all lanes */
#define LENGTH(N) \
  static __attribute__((noinline)) void SolveCube##N(const SeparablePlan *p, const Solve *s, V *u) \
  { \
    V line[2 * N], g[N]; \
\
    SolveToModes(p, N, N, PETSC_TRUE, s, u, line); \
    if (p->dir[2].ext) SolveLines(p, N, N, N, PETSC_TRUE, s, u, line, g); \
    else SolveLines(p, N, N, 1, PETSC_TRUE, s, u, line, g); \
    SolveToNodes(p, N, N, PETSC_TRUE, s, u, line); \
  }
LENGTHS(LENGTH)
#undef LENGTH

/* u = (S S S) D^{-1} (S' S' S') u in all lanes, for the classes that are selected, and what else s asks for */
static __attribute__((noinline)) void SeparableInvert(SeparablePlan *p, const Solve *s, V *u)
{
  const BatchDirection *d = p->dir;

  switch (s->inv.s ? SeparableCube(d) : 0) {
#define LENGTH(N) \
  case N: \
    SolveCube##N(p, s, u); \
    break;
    LENGTHS(LENGTH)
#undef LENGTH
  default:
    SolveToModes(p, d[0].n, d[1].n, PETSC_FALSE, s, u, p->line);
    SolveLines(p, d[0].n, d[1].n, d[2].n, PETSC_FALSE, s, u, p->line, p->line + 2 * p->longest);
    SolveToNodes(p, d[0].n, d[1].n, PETSC_FALSE, s, u, p->line);
  }
}

/* the same for patches that are given by their numbers */
static void SeparableSolve(SeparablePlan *p, int count, const PetscInt patch[3][VL], V *u)
{
  for (int i = 0; i < 3; i++) SeparableSelect(p, i, count, patch[i], PATCHFD_OP_SOLVE);
  p->lastop = PATCHFD_OP_SOLVE;
  SeparableInvert(p, &(Solve){.inv = SeparableReciprocals(p, p->dir)}, u);
}

/* x_I = (1 - omega) x_I + omega A_II^{-1} (b_I - A_IB x_B) in a continuous space */
static void SeparableBoundary(SeparablePlan *p, int count, const PetscInt patch[3][VL], const PetscInt n[3], Coef inv, REAL omega,
                              PetscBool zero, REAL *x, const REAL *b)
{
  const PatchFDBox *box = &p->field.box;
  Batch             free;
  LaneRows          rows;
  const PetscBool   quick = SeparableRows(p, count, patch, &rows);

  free.count = count;
  if (!quick) {
    BatchPlace(&free, count, p->field.dir, patch);
    BatchClip(&free, n, p->field.read);
    Gather(&free, n, box, b, p->u);
  }
  if (!zero) SeparableFaces(p, &free, quick ? &rows : NULL, x);
  SeparableInvert(p, &(Solve){.inv = inv, .faces = (PetscBool)!zero, .rows = quick ? &rows : NULL, .b = b, .x = x, .omega = omega}, p->u);
  if (!quick) Scatter(&free, n, omega, p->u, 1 - omega, box, x);
}

/* One batch of patches, all of the same size */
static void SeparableBatch(SeparablePlan *p, PatchFDPatchOp operation, int count, const PetscInt patch[3][VL], REAL omega, PetscBool zero,
                           REAL *x, const REAL *b, REAL *r)
{
  const PatchFDBox *box = &p->field.box;
  BatchDirection   *d   = p->dir;
  Batch             free;
  PetscInt          n[3];

  for (int i = 0; i < 3; i++) {
    SeparableSelect(p, i, count, patch[i], operation);
    n[i] = d[i].n;
  }
  p->lastop = operation;
  if (operation == PATCHFD_OP_BOUNDARY && !p->discontinuous) {
    SeparableBoundary(p, count, patch, n, SeparableReciprocals(p, d), omega, zero, x, b);
    return;
  }
  BatchPlace(&free, count, p->field.dir, patch);
  BatchClip(&free, n, p->field.read);
  if (operation == PATCHFD_OP_SOLVE) Gather(&free, n, box, r, p->u);
  else if (p->discontinuous) SeparableResidualCells(p, d, &free, x, b, (PetscBool)(operation != PATCHFD_OP_BOUNDARY), zero);
  else SeparableResidual(p, d, &free, x, b, zero);
  if (operation == PATCHFD_OP_RESIDUAL) {
    Scatter(&free, n, 1, p->u, 0, box, r);
    return;
  }
  SeparableInvert(p, &(Solve){.inv = SeparableReciprocals(p, d)}, p->u);
  Scatter(&free, n, omega, p->u, operation == PATCHFD_OP_BOUNDARY ? 1 - omega : 1, box, x);
}

/* multiplications and additions of one patch, as executed for a patch with parity or without */
static PetscLogDouble SeparableFlops(const SeparablePlan *p, PatchFDPatchOp operation, const PetscInt n[3], PetscBool parity,
                                     PetscBool zero)
{
  const PetscInt *ext = p->ext;
  PetscLogDouble  c[3], v = (PetscLogDouble)n[0] * n[1] * n[2], f = 0, line[3], own = operation == PATCHFD_OP_BOUNDARY ? 0 : 1;

  for (int d = 0; d < 3; d++) {
    c[d]    = n[d] + 2 * ext[d];
    line[d] = !ext[d] ? 0 : (parity ? n[d] + 1 : 2 * n[d]); /* for each entry; parity halves the products and adds a fold */
  }
  if (operation != PATCHFD_OP_SOLVE && p->discontinuous && !zero) {
    f += v;
    for (int d = 0; d < 3; d++) f += ext[d] ? 2 * v * (2 * ext[d] + own * n[d]) + (d < 2 ? 2 : 4) * v * n[d] : 0;
  } else if (operation == PATCHFD_OP_RESIDUAL || operation == PATCHFD_OP_FUSED) {
    f += v;
    if (!zero) f += 2 * (2 * n[0] * c[0] * c[1] * c[2] + 3 * n[0] * n[1] * c[1] * c[2] + 2 * v * c[2]);
  }
  if (operation == PATCHFD_OP_RESIDUAL) return f;
  f += v * (2 * (line[0] + line[1] + line[2]) + 3);
  if (operation == PATCHFD_OP_BOUNDARY && !zero && !p->discontinuous) {
    for (int d = 0; d < 3; d++) {
      const int            a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
      const PetscLogDouble rim = 4 * (ext[a] + ext[b]);

      if (!ext[d]) continue;
      f += 2 * (n[a] * c[b] * line[a] + n[a] * n[b] * (line[b] + rim));
      f += (parity ? 4 : 8) * v;
    }
  }
  return f;
}
