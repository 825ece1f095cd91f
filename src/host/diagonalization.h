/*
  Local problems of vertex patches by fast diagonalization (Cui, Grosse-Bley, Kanschat, Strzodka, eq. 2.8 and 2.13).  A batch is VL patches of one
  colour.

  With I the n free nodes of a patch in a direction, S' M_II S = 1, S' A_II S = diag(lambda), D = lambda (+) lambda (+) lambda:

    residual  r = b_I - A_{I,closure} x, then x_I += omega (S S S) D^{-1} (S' S' S') r

    boundary  x_I = (S S S) u,  u = ((S' S' S') b_I - sum_f alpha_f (x) Y_f) / D - sum_f mu_f (x) W_f

  The second form needs no residual: the free nodes of x are never read.  For a face f in direction d, Y_f is the face's closure
  transformed by [mu_0, T, mu_1] in the other directions; W_f is the same with the rim dropped in directions before d.  (Derivation
  and verification: the mass-orthogonal lifting of the boundary values, so that edges and corners have no terms of their own.)

  In a discontinuous space the masses do not couple a patch to anything, so that A_{I,B} has one term for each direction, whose columns are the cells
  below and above.  Then `boundary` is a solve with the residual of x without the patch's own values, x_I = A_II^{-1} (b_I - A_IB x_B).

  Where a patch is mirror-symmetric its modes are even or odd: transforms work on sums and differences of mirrored entries, at half
  the multiplications, and opposite faces enter through their sum and difference.
*/
#pragma once
#include "lines.h"

/* one class of patches of a direction */
typedef struct {
  PetscInt  n, even; /* modes; even ones come first */
  PetscBool parity;
  REAL     *S, *St, *T, *MI, *AI;             /* full matrices; MI and AI with the columns of the closure in a continuous space */
  REAL     *E[2];                             /* discontinuous: columns of A for the cell below and above; MI, AI are M_II, A_II */
  REAL     *Se, *So, *Ste, *Sto, *Te, *To;    /* parity: the halves that act on sums (even) and differences (odd) */
  REAL     *lambda, *mu[2], *alpha[2];
} EigenClass;

/* the matrices and vectors of one direction for the batch at hand */
typedef struct {
  PetscInt  n, ext, even;
  PetscBool same, parity;
  Coef      S, St, T, MI, AI, E[2];
  const EigenClass *c;                 /* the common class, when parity is used */
  V        *lambda, *mu[2], *alpha[2]; /* a vector for each lane */
} BatchDirection;

typedef struct {
  PatchFDLocalField   field;
  PetscInt            ext[3];        /* nodes of the closure below and above: 0 where the direction does not exist */
  PetscBool           discontinuous; /* the patches are whole cells */
  EigenClass         *cls[3];
  PetscInt            ntable;   /* products of classes with a table of reciprocals 1 / D, 0 if too many */
  REAL              **table;
  V                  *x, *p, *q, *s, *t, *u, *inv; /* blocks of closures */
  V                  *face[2], *part[2], *Y[3][2], *W[3][2], *line;
  V                  *lanes[3][7], *vec[3][5];
  void               *base;
  BatchDirection      dir[3]; /* of the last batch, whose classes were */
  PetscInt            last[3][VL];
  PatchFDPatchOp      lastop;
} SeparablePlan;

/* most reciprocals are tabulated: uniform meshes have at most three classes a direction */
enum {
  LOCAL_MAX_TABLES = 27
};

static PetscErrorCode EigenHalves(PetscInt n, PetscInt even, PetscBool forward, const REAL *full, REAL **e, REAL **o)
{
  const PetscInt odd = n - even;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2((size_t)(even * even), e, (size_t)(odd * odd), o));
  /* forward: rows are modes; backward: rows are nodes */
  for (PetscInt i = 0; i < even; i++)
    for (PetscInt j = 0; j < even; j++) (*e)[i * even + j] = full[i * n + j];
  for (PetscInt i = 0; i < odd; i++)
    for (PetscInt j = 0; j < odd; j++) (*o)[i * odd + j] = forward ? full[(even + i) * n + j] : full[i * n + even + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `count` columns of MI or AI, from column `first` on */
static PetscErrorCode ColumnsCopy(const PatchFDEigen *e, const PetscReal *X, size_t first, size_t count, REAL **to)
{
  const size_t n = (size_t)e->n, ld = n + 2 * (size_t)e->ext;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * count, to));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < count; j++) (*to)[i * count + j] = (REAL)X[i * ld + first + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EigenClassCreate(const PatchFDEigen *e, EigenClass *c)
{
  const size_t n = (size_t)e->n, ext = (size_t)e->ext;

  PetscFunctionBegin;
  c->n      = e->n;
  c->even   = (e->n + 1) / 2;
  c->parity = e->parity;
  PetscCall(RealCopy(n * n, e->S, &c->S));
  PetscCall(RealCopy(n * n, e->S, &c->St));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) c->St[i * n + j] = c->S[j * n + i];
  PetscCall(RealCopy(n * n, e->T, &c->T));
  PetscCall(ColumnsCopy(e, e->MI, e->mu[0] ? 0 : ext, e->mu[0] ? n + 2 * ext : n, &c->MI));
  PetscCall(ColumnsCopy(e, e->AI, e->mu[0] ? 0 : ext, e->mu[0] ? n + 2 * ext : n, &c->AI));
  for (int i = 0; i < 2 && !e->mu[0]; i++) PetscCall(ColumnsCopy(e, e->AI, i ? ext + n : 0, ext, &c->E[i]));
  PetscCall(RealCopy(n, e->lambda, &c->lambda));
  for (int i = 0; i < 2 && e->mu[i]; i++) {
    PetscCall(RealCopy(n, e->mu[i], &c->mu[i]));
    PetscCall(RealCopy(n, e->alpha[i], &c->alpha[i]));
  }
  if (e->parity) {
    PetscCall(EigenHalves(e->n, c->even, PETSC_FALSE, c->S, &c->Se, &c->So));
    PetscCall(EigenHalves(e->n, c->even, PETSC_TRUE, c->St, &c->Ste, &c->Sto));
    PetscCall(EigenHalves(e->n, c->even, PETSC_TRUE, c->T, &c->Te, &c->To));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EigenClassDestroy(EigenClass *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->S));
  PetscCall(PetscFree(c->St));
  PetscCall(PetscFree(c->T));
  PetscCall(PetscFree(c->MI));
  PetscCall(PetscFree(c->AI));
  PetscCall(PetscFree(c->lambda));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscFree(c->E[i]));
    PetscCall(PetscFree(c->mu[i]));
    PetscCall(PetscFree(c->alpha[i]));
  }
  PetscCall(PetscFree2(c->Se, c->So));
  PetscCall(PetscFree2(c->Ste, c->Sto));
  PetscCall(PetscFree2(c->Te, c->To));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SeparableDestroy(SeparablePlan **plan)
{
  SeparablePlan *p = *plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    for (PetscInt c = 0; c < p->field.dir[d]->nclass; c++) PetscCall(EigenClassDestroy(&p->cls[d][c]));
    PetscCall(PetscFree(p->cls[d]));
  }
  for (PetscInt i = 0; i < p->ntable; i++) PetscCall(PetscFree(p->table[i]));
  PetscCall(PetscFree(p->table));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 / D for every product of classes; zero where D is: only the constant of a pure Neumann problem on one patch */
static PetscErrorCode SeparableTables(SeparablePlan *p)
{
  PetscInt nc[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) nc[d] = p->field.dir[d]->nclass;
  if ((PetscInt64)nc[0] * nc[1] * nc[2] > LOCAL_MAX_TABLES) PetscFunctionReturn(PETSC_SUCCESS);
  p->ntable = nc[0] * nc[1] * nc[2];
  PetscCall(PetscCalloc1(p->ntable, &p->table));
  for (PetscInt t = 0; t < p->ntable; t++) {
    const EigenClass *c0 = &p->cls[0][t % nc[0]], *c1 = &p->cls[1][t / nc[0] % nc[1]], *c2 = &p->cls[2][t / nc[0] / nc[1]];
    REAL             *inv;

    PetscCall(PetscMalloc1((size_t)c0->n * c1->n * c2->n, &inv));
    p->table[t] = inv;
    for (PetscInt k = 0; k < c2->n; k++) {
      for (PetscInt j = 0; j < c1->n; j++) {
        for (PetscInt i = 0; i < c0->n; i++) {
          const REAL D = c0->lambda[i] + c1->lambda[j] + c2->lambda[k];

          *inv++ = D == 0 ? 0 : 1 / D;
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of one field */
static PetscErrorCode SeparableCreate(const PatchFDLocalField *field, SeparablePlan **plan)
{
  SeparablePlan *p;
  PetscInt       n[3], c[3], volume = 1, area = 1, longest = 1;
  size_t         total = 0;
  V             *v = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->field = *field;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = field->dir[d];

    n[d]      = 1;
    p->ext[d] = field->box.n[d] == 1 && pd->npatch == 1 && pd->n[0] == 1 ? 0 : 1;
    PetscCall(PetscCalloc1(pd->nclass, &p->cls[d]));
    for (PetscInt i = 0; i < pd->nclass; i++) {
      PetscCall(EigenClassCreate(&pd->eigen[i], &p->cls[d][i]));
      n[d] = PetscMax(n[d], pd->eigen[i].n);
      if (p->ext[d]) p->ext[d] = pd->eigen[i].ext;
      if (!pd->eigen[i].mu[0]) p->discontinuous = PETSC_TRUE;
    }
    c[d] = n[d] + 2 * p->ext[d];
    volume *= c[d];
    longest = PetscMax(longest, c[d]);
    total += (size_t)(7 * n[d] * c[d] + 5 * n[d]);
  }
  for (int d = 0; d < 3; d++) area = PetscMax(area, volume / c[d]);
  PetscCall(SeparableTables(p));
  total += 7 * (size_t)volume + 16 * (size_t)area + (size_t)longest;
  PetscCall(VMalloc(total, &v, &p->base));
  {
    V **const blocks[] = {&p->x, &p->p, &p->q, &p->s, &p->t, &p->u, &p->inv};

    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(blocks); i++, v += volume) *blocks[i] = v;
  }
  for (int i = 0; i < 2; i++, v += area) p->face[i] = v;
  for (int i = 0; i < 2; i++, v += area) p->part[i] = v;
  for (int i = 0; i < 6; i++, v += area) p->Y[i / 2][i % 2] = v;
  for (int i = 0; i < 6; i++, v += area) p->W[i / 2][i % 2] = v;
  p->line = v;
  v += longest;
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < 7; i++, v += n[d] * c[d]) p->lanes[d][i] = v;
    for (int i = 0; i < 5; i++, v += n[d]) p->vec[d][i] = v;
  }
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transforms of a direction ---- */

typedef enum {
  TO_MODES,   /* S': right-hand sides   */
  FACE_MODES, /* T:  values on the free nodes */
  TO_NODES    /* S */
} Transform;

/* One line to modes or back; in and out may be the same.  `line` is a work line. */
static inline __attribute__((always_inline)) void TransformLine(const BatchDirection *d, PetscBool parity, PetscInt n, Transform t, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, V *line)
{
  const PetscInt even = (n + 1) / 2, odd = n / 2;

  if (!parity) {
    for (PetscInt i = 0; i < n; i++) line[i] = in[i * is];
    Line(n, n, t == TO_MODES ? d->St : (t == FACE_MODES ? d->T : d->S), line, 1, out, os, PETSC_FALSE);
  } else if (t == TO_NODES) {
    LineSame(even, even, d->c->Se, in, is, line, 1, PETSC_FALSE);
    LineSame(odd, odd, d->c->So, in + even * is, is, line + even, 1, PETSC_FALSE);
    if (even > odd) out[odd * os] = line[odd];
    for (PetscInt i = 0; i < odd; i++) {
      const V e = line[i], o = line[even + i];

      out[i * os]           = e + o;
      out[(n - 1 - i) * os] = e - o;
    }
  } else {
    for (PetscInt i = 0; i < odd; i++) {
      const V a = in[i * is], b = in[(n - 1 - i) * is];

      line[i]        = a + b;
      line[even + i] = a - b;
    }
    if (even > odd) line[odd] = in[odd * is];
    LineSame(even, even, t == TO_MODES ? d->c->Ste : d->c->Te, line, 1, out, os, PETSC_FALSE);
    LineSame(odd, odd, t == TO_MODES ? d->c->Sto : d->c->To, line + even, 1, out + even * os, os, PETSC_FALSE);
  }
}

/*
  `inner` lines, each inner x outer of a block: entry i of line (l, o) at l + (i + o * n) * inner, with is and os entries between
  the groups o of in and out.  With parity and the usual degrees the lengths are known to the compiler.
*/
static void TransformLines(const BatchDirection *d, Transform t, PetscInt inner, PetscInt outer, const V *in, ptrdiff_t is, V *out, ptrdiff_t os, V *line)
{
#define LINES(PARITY, N) \
  for (PetscInt o = 0; o < outer; o++) \
    for (PetscInt l = 0; l < inner; l++) TransformLine(d, PARITY, N, t, in + o * is + l, inner, out + o * os + l, inner, line)
#define CASE(N) \
  case N: \
    LINES(PETSC_TRUE, N); \
    return
  if (d->parity) {
    switch (d->n) {
      CASE(1);
      CASE(3);
      CASE(5);
      CASE(7);
      CASE(9);
      CASE(11);
      CASE(13);
      CASE(15);
    }
  }
  LINES(d->parity, d->n);
#undef CASE
#undef LINES
}

/* all three directions of a block in place */
static void TransformBlock(const BatchDirection d[3], Transform t, V *u, V *line)
{
  const PetscInt n0 = d[0].n, n1 = d[1].n, n2 = d[2].n;

  if (d[0].ext) TransformLines(&d[0], t, 1, n1 * n2, u, n0, u, n0, line);
  if (d[1].ext) TransformLines(&d[1], t, n0, n2, u, n0 * n1, u, n0 * n1, line);
  if (d[2].ext) TransformLines(&d[2], t, n0 * n1, 1, u, 0, u, 0, line);
}

/* what the two end values of lines of closure values add to their modes */
static void FaceRim(const BatchDirection *d, PetscInt inner, PetscInt outer, const V *in, const V *interior, V *out)
{
  const PetscInt n = d->n;

  for (PetscInt o = 0; o < outer; o++) {
    for (PetscInt m = 0; m < n; m++) {
      for (PetscInt l = 0; l < inner; l++) {
        const V lo = in[o * inner * (n + 2) + l], hi = in[(o * (n + 2) + n + 1) * inner + l];

        out[(o * n + m) * inner + l] = interior[(o * n + m) * inner + l] + d->mu[0][m] * lo + d->mu[1][m] * hi;
      }
    }
  }
}

/* ---- batches ---- */

/* interleave the lanes' arrays, which stand `offset` bytes into their classes */
static inline V *Lanes(const SeparablePlan *p, int d, size_t offset, const PetscInt cls[VL], PetscInt size, V *v)
{
  for (int l = 0; l < VL; l++) {
    const REAL *a = *(REAL *const *)((const char *)&p->cls[d][cls[l]] + offset);

    for (PetscInt m = 0; m < size; m++) ((REAL *)v)[m * VL + l] = a[m];
  }
  return v;
}

#define SELECT_MATRIX(i, X, size) X = dir->same ? (Coef){c->X, NULL} : (Coef){NULL, Lanes(p, d, offsetof(EigenClass, X), cls, size, p->lanes[d][i])}
#define SELECT_VECTOR(i, X)       X = Lanes(p, d, offsetof(EigenClass, X), cls, dir->n, p->vec[d][i])

/* the matrices and vectors of direction d for patches that are given by their numbers */
static void SeparableSelect(SeparablePlan *p, int d, int count, const PetscInt patch[], PatchFDPatchOp operation)
{
  const PetscInt   *classes = p->field.dir[d]->cls;
  BatchDirection   *dir     = &p->dir[d];
  const EigenClass *c;
  PetscInt          cls[VL];

  for (int l = 0; l < VL; l++) cls[l] = classes[patch[PetscMin(l, count - 1)]];
  c = &p->cls[d][cls[0]];
  if (dir->c && p->lastop == operation && !memcmp(cls, p->last[d], sizeof(p->last[d]))) return; /* as in the last batch: always so on uniform meshes */
  memcpy(p->last[d], cls, sizeof(p->last[d]));
  dir->n    = c->n;
  dir->even = c->even;
  dir->ext  = p->ext[d];
  dir->same = PETSC_TRUE;
  for (int l = 1; l < count; l++) dir->same = (PetscBool)(dir->same && cls[l] == cls[0]);
  dir->parity = (PetscBool)(dir->same && c->parity);
  dir->c      = c;
  dir->SELECT_MATRIX(0, S, c->n * c->n);
  dir->SELECT_MATRIX(1, St, c->n * c->n);
  if (operation == PATCHFD_OP_BOUNDARY && !p->discontinuous) {
    dir->SELECT_MATRIX(2, T, c->n * c->n);
    dir->SELECT_VECTOR(0, mu[0]);
    dir->SELECT_VECTOR(1, mu[1]);
    dir->SELECT_VECTOR(2, alpha[0]);
    dir->SELECT_VECTOR(3, alpha[1]);
  } else if (operation != PATCHFD_OP_SOLVE) {
    const PetscInt columns = p->discontinuous ? c->n : c->n + 2;

    dir->SELECT_MATRIX(3, MI, c->n * columns);
    dir->SELECT_MATRIX(4, AI, c->n * columns);
    if (c->E[0]) {
      dir->SELECT_MATRIX(5, E[0], c->n * dir->ext);
      dir->SELECT_MATRIX(6, E[1], c->n * dir->ext);
    }
  }
  dir->SELECT_VECTOR(4, lambda);
}

/* 1 / D of the batch at hand, in the order of the modes */
static Coef SeparableReciprocals(SeparablePlan *p, const BatchDirection d[3])
{
  V *inv = p->inv;

  if (p->ntable && d[0].same && d[1].same && d[2].same) {
    const PetscInt t = (PetscInt)(d[0].c - p->cls[0]) + p->field.dir[0]->nclass * ((PetscInt)(d[1].c - p->cls[1]) + p->field.dir[1]->nclass * (PetscInt)(d[2].c - p->cls[2]));

    return (Coef){p->table[t], NULL};
  }
  for (PetscInt k = 0; k < d[2].n; k++) {
    for (PetscInt j = 0; j < d[1].n; j++) {
      for (PetscInt i = 0; i < d[0].n; i++, inv++) {
        const V D = d[0].lambda[i] + d[1].lambda[j] + d[2].lambda[k];

        for (int l = 0; l < VL; l++) (*inv)[l] = D[l] == 0 ? 0 : 1 / D[l];
      }
    }
  }
  return (Coef){NULL, p->inv};
}

static inline void SeparableScale(size_t size, Coef inv, V *u)
{
  for (size_t i = 0; i < size; i++) u[i] *= inv.s ? Splat(inv.s[i]) : inv.v[i];
}

/* u = b_I - A_{I,closure} x: the three-dimensional version of the operator in operator.h with rectangular matrices */
static void SeparableResidual(SeparablePlan *p, const BatchDirection d[3], const Batch *free, const REAL *x, const REAL *b, PetscBool zero)
{
  const PetscInt n[3] = {d[0].n, d[1].n, d[2].n};
  const PetscInt c[3] = {n[0] + 2 * d[0].ext, n[1] + 2 * d[1].ext, n[2] + 2 * d[2].ext};
  const PetscInt c1[3] = {n[0], c[1], c[2]}, c2[3] = {n[0], n[1], c[2]};
  const size_t   size = (size_t)(n[0] * n[1] * n[2]);
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
  const PetscInt n[3] = {d[0].n, d[1].n, d[2].n};
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
static void SeparableResidualCells(SeparablePlan *p, const BatchDirection d[3], const Batch *free, const REAL *x, const REAL *b, PetscBool own, PetscBool zero)
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

/* Y[e], W[e] of the two faces in direction f, as sum and difference where the patch has parity in that direction */
static void SeparableFaces(SeparablePlan *p, const BatchDirection d[3], const Batch *free, int f, const REAL *x)
{
  const int      a = f == 0 ? 1 : 0, b = f == 2 ? 1 : 2; /* the directions in the face, in order */
  const PetscInt na = d[a].n, ca = na + 2 * d[a].ext, cb = d[b].n + 2 * d[b].ext, size = ca * cb;
  PetscInt       c[3];

  for (int i = 0; i < 3; i++) c[i] = i == f ? 1 : d[i].n + 2 * d[i].ext;
  for (int e = 0; e < 2; e++) {
    Batch face = *free;

    for (int l = 0; l < free->count; l++) {
      face.first[a][l] -= d[a].ext;
      face.first[b][l] -= d[b].ext;
      face.first[f][l] += e ? d[f].n : -1;
    }
    BatchClip(&face, c, p->field.read);
    Gather(&face, c, &p->field.box, x, p->face[e]);
  }
  if (d[f].parity) {
    for (PetscInt i = 0; i < size; i++) {
      const V lo = p->face[0][i], hi = p->face[1][i];

      p->face[0][i] = lo + hi;
      p->face[1][i] = lo - hi;
    }
  }
  for (int e = 0; e < 2; e++) {
    const V *F = p->face[e], *rimmed = p->part[0];
    V       *Y = p->Y[f][e], *W = p->W[f][e];

    /* direction a: without the rim in part 0, with it in part 1 */
    TransformLines(&d[a], FACE_MODES, 1, cb, F + d[a].ext, ca, p->part[0], na, p->line);
    if (d[a].ext) {
      FaceRim(&d[a], 1, cb, F, p->part[0], p->part[1]);
      rimmed = p->part[1];
    }
    /* direction b: Y with both rims; W without those of directions before f */
    TransformLines(&d[b], FACE_MODES, na, 1, rimmed + d[b].ext * na, 0, Y, 0, p->line);
    if (d[b].ext) FaceRim(&d[b], na, 1, rimmed, Y, Y);
    if (f == 0) continue; /* W is Y */
    TransformLines(&d[b], FACE_MODES, na, 1, p->part[0] + d[b].ext * na, 0, W, 0, p->line);
    if (f == 1 && d[b].ext) FaceRim(&d[b], na, 1, p->part[0], W, W);
  }
}

/* what a face adds to a row of modes: alpha * Y[i] and mu * W[i] */
typedef struct {
  V        alpha, mu;
  const V *Y, *W;
} Term;

/* u = (u - alpha0 Y0 - terms) / D - mu0 Y0 - terms for the modes i of one row; Y0 is what the x faces give, constant in a row */
static inline __attribute__((always_inline)) void CombineModes(PetscInt from, PetscInt end, V *u, Coef inv, int nt, const Term t[], int n0, V *const alpha0[], V *const mu0[], const V Y0[])
{
  for (PetscInt i = from; i < end; i++) {
    V g = u[i], r = {0};

    for (int j = 0; j < n0; j++) {
      g -= alpha0[j][i] * Y0[j];
      r += mu0[j][i] * Y0[j];
    }
    for (int j = 0; j < nt; j++) {
      g -= t[j].alpha * t[j].Y[i];
      r += t[j].mu * t[j].W[i];
    }
    u[i] = g * (inv.s ? Splat(inv.s[i]) : inv.v[i]) - r;
  }
}

/*
  u = (u - sum_f alpha_f Y_f) / D - sum_f mu_f W_f.  With parity in a direction the even modes see the faces' sum (e = 0), the odd
  ones the difference (e = 1); without it every mode sees both.
*/
static void SeparableCombine(SeparablePlan *p, const BatchDirection d[3], Coef inv)
{
  const PetscInt n0 = d[0].n, n1 = d[1].n, n2 = d[2].n;

  for (PetscInt k = 0; k < n2; k++) {
    for (PetscInt j = 0; j < n1; j++) {
      const PetscInt m[3] = {0, j, k}, row[3] = {0, k * n0, j * n0};
      V             *u    = p->u + (k * n1 + j) * n0;
      const Coef     v    = {inv.s ? inv.s + (k * n1 + j) * n0 : NULL, inv.s ? NULL : inv.v + (k * n1 + j) * n0};
      Term           t[4];
      int            nt = 0;

      for (int f = 1; f < 3; f++) {
        for (int e = 0; e < 2; e++) {
          if (!d[f].ext || (d[f].parity && (m[f] >= d[f].even) != e)) continue;
          t[nt++] = (Term){d[f].alpha[d[f].parity ? 0 : e][m[f]], d[f].mu[d[f].parity ? 0 : e][m[f]], p->Y[f][e] + row[f], p->W[f][e] + row[f]};
        }
      }
      if (d[0].parity && nt == 2) { /* uniform meshes in 3D */
        CombineModes(0, d[0].even, u, v, 2, t, 1, d[0].alpha, d[0].mu, &p->Y[0][0][k * n1 + j]);
        CombineModes(d[0].even, n0, u, v, 2, t, 1, d[0].alpha, d[0].mu, &p->Y[0][1][k * n1 + j]);
      } else {
        const V Y0[2] = {p->Y[0][0][k * n1 + j], p->Y[0][1][k * n1 + j]};

        if (d[0].parity) {
          CombineModes(0, d[0].even, u, v, nt, t, 1, d[0].alpha, d[0].mu, &Y0[0]);
          CombineModes(d[0].even, n0, u, v, nt, t, 1, d[0].alpha, d[0].mu, &Y0[1]);
        } else CombineModes(0, n0, u, v, nt, t, 2, d[0].alpha, d[0].mu, Y0);
      }
    }
  }
}

/* u = (S S S) D^{-1} (S' S' S') u in all lanes, for the classes that are selected; inv = 1 / D */
static void SeparableInvert(SeparablePlan *p, Coef inv, V *u)
{
  const BatchDirection *d = p->dir;

  TransformBlock(d, TO_MODES, u, p->line);
  SeparableScale((size_t)(d[0].n * d[1].n * d[2].n), inv, u);
  TransformBlock(d, TO_NODES, u, p->line);
}

/* the same for patches that are given by their numbers */
static void SeparableSolve(SeparablePlan *p, int count, const PetscInt patch[3][VL], V *u)
{
  for (int i = 0; i < 3; i++) SeparableSelect(p, i, count, patch[i], PATCHFD_OP_SOLVE);
  p->lastop = PATCHFD_OP_SOLVE;
  SeparableInvert(p, SeparableReciprocals(p, p->dir), u);
}

/* One batch of patches, all of the same size */
static void SeparableBatch(SeparablePlan *p, PatchFDPatchOp operation, const PetscInt patch[3][VL], Batch *free, REAL omega, PetscBool zero, REAL *x, const REAL *b, REAL *r)
{
  const PatchFDBox *box = &p->field.box;
  BatchDirection   *d   = p->dir;
  PetscInt          n[3];
  size_t            size;
  Coef              inv;

  for (int i = 0; i < 3; i++) {
    SeparableSelect(p, i, free->count, patch[i], operation);
    n[i] = d[i].n;
  }
  p->lastop = operation;
  size = (size_t)(n[0] * n[1] * n[2]);
  BatchClip(free, n, p->field.read);
  if (operation == PATCHFD_OP_RESIDUAL) {
    if (p->discontinuous) SeparableResidualCells(p, d, free, x, b, PETSC_TRUE, zero);
    else SeparableResidual(p, d, free, x, b, zero);
    Scatter(free, n, 1, p->u, 0, box, r);
    return;
  }
  inv = SeparableReciprocals(p, d);
  if (operation == PATCHFD_OP_BOUNDARY) {
    if (p->discontinuous) SeparableResidualCells(p, d, free, x, b, PETSC_FALSE, zero);
    else Gather(free, n, box, b, p->u);
    TransformBlock(d, TO_MODES, p->u, p->line);
    if (zero || p->discontinuous) SeparableScale(size, inv, p->u);
    else {
      for (int f = 0; f < 3; f++)
        if (d[f].ext) SeparableFaces(p, d, free, f, x);
      SeparableCombine(p, d, inv);
    }
    TransformBlock(d, TO_NODES, p->u, p->line);
    Scatter(free, n, omega, p->u, 1 - omega, box, x);
  } else {
    if (operation == PATCHFD_OP_FUSED && p->discontinuous) SeparableResidualCells(p, d, free, x, b, PETSC_TRUE, zero);
    else if (operation == PATCHFD_OP_FUSED) SeparableResidual(p, d, free, x, b, zero);
    else Gather(free, n, box, r, p->u);
    SeparableInvert(p, inv, p->u);
    Scatter(free, n, omega, p->u, 1, box, x);
  }
}

/* multiplications and additions of one patch, as executed for a patch with parity or without */
static PetscLogDouble SeparableFlops(const SeparablePlan *p, PatchFDPatchOp operation, const PetscInt n[3], PetscBool parity, PetscBool zero)
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
      f += (d == 0 ? 2 : 4) * (n[a] * c[b] * line[a] + n[a] * n[b] * (line[b] + rim));
      f += (parity ? 4 : 8) * v;
    }
  }
  return f;
}
