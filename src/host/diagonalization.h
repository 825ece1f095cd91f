/*
  Local problems of vertex patches by fast diagonalization (Cui, Grosse-Bley, Kanschat, Strzodka, eq. 2.8 and 2.13).  A batch is VL patches of one
  colour.

  With I the n free nodes of a patch in a direction, S' M_II S = 1, S' A_II S = diag(lambda), D = lambda (+) lambda (+) lambda:

    residual  r = b_I - A_{I,closure} x, then x_I += omega (S S S) D^{-1} (S' S' S') r

    boundary  x_I = (S S S) ((S' S' S' b_I - sum_f alpha_f (x) Y_f) / D - sum_f mu_f (x) W_f)

  The second form needs no residual: the free nodes of x are never read.  For a face f in direction d, Y_f is the face's closure transformed by
  C = [mu_0, T, mu_1] in the other directions; W_f is the same without the rim in directions after d.  (Derivation and verification: the
  mass-orthogonal lifting of the boundary values, so that edges and corners have no terms of their own.)  As S T = 1, nothing has to be transformed for
  W: the way back goes through z, y and x, and before each direction its two faces enter as they stand there, one number each for a line.

  In a discontinuous space the masses do not couple a patch to anything, so that A_{I,B} has one term for each direction, whose columns are the cells
  below and above.  Then `boundary` is a solve with the residual of x without the patch's own values, x_I = A_II^{-1} (b_I - A_IB x_B).

  Opposite faces enter through their sum and difference where a patch has parity (eigen.h).
*/
#pragma once
#include "eigen.h"

typedef struct {
  PatchFDLocalField   field;
  PetscInt            ext[3];        /* nodes of the closure below and above: 0 where the direction does not exist */
  PetscBool           discontinuous; /* the patches are whole cells */
  EigenClass         *cls[3];
  PetscInt            ntable;   /* products of classes with a table of reciprocals 1 / D, 0 if too many */
  REAL              **table;
  V                  *x, *p, *q, *s, *t, *u, *inv; /* blocks of closures */
  V                  *face[3][2], *rows[2], *Y[3][2], *line; /* of the faces: see SeparableFaces() */
  V                  *lanes[3][7], *vec[3][5];
  void               *base;
  ptrdiff_t          *offset[3]; /* of each patch: its first node in an array */
  unsigned char      *cut[3];    /* and which of its closure is not to be read: bits 1 and 2 the nodes below and above, 4 any other */
  BatchDirection      dir[3]; /* of the last batch, whose classes were */
  PetscInt            last[3][VL];
  PatchFDPatchOp      lastop;
} SeparablePlan;

/* most reciprocals are tabulated: uniform meshes have at most three classes a direction */
enum {
  LOCAL_MAX_TABLES = 27
};

static PetscErrorCode SeparableDestroy(SeparablePlan **plan)
{
  SeparablePlan *p = *plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    for (PetscInt c = 0; c < p->field.dir[d]->nclass; c++) PetscCall(EigenClassDestroy(&p->cls[d][c]));
    PetscCall(PetscFree(p->cls[d]));
    PetscCall(PetscFree2(p->offset[d], p->cut[d]));
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

static PetscErrorCode SeparablePlaces(SeparablePlan *p)
{
  const PatchFDBox *box = &p->field.box;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd  = p->field.dir[d];
    const PetscInt       *may = p->field.read[d], ext = p->ext[d];

    PetscCall(PetscMalloc2(pd->npatch, &p->offset[d], pd->npatch, &p->cut[d]));
    for (PetscInt i = 0; i < pd->npatch; i++) {
      const PetscInt first = pd->first[i], end = first + pd->n[i];

      p->offset[d][i] = (ptrdiff_t)(first - box->lo[d]) * (d > 0 ? box->n[0] : 1) * (d > 1 ? box->n[1] : 1);
      p->cut[d][i]    = (unsigned char)((ext && first - 1 < may[0] ? 1 : 0) | (ext && end >= may[1] ? 2 : 0));
      if (first < may[0] || end > may[1] || first - ext < box->lo[d] || end + ext > box->lo[d] + box->n[d]) p->cut[d][i] |= 4;
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
  PetscCall(SeparablePlaces(p));
  total += 7 * (size_t)volume + 14 * (size_t)area + 2 * (size_t)longest;
  PetscCall(VMalloc(total, &v, &p->base));
  {
    V **const blocks[] = {&p->x, &p->p, &p->q, &p->s, &p->t, &p->u, &p->inv};

    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(blocks); i++, v += volume) *blocks[i] = v;
  }
  for (int i = 0; i < 6; i++, v += area) p->face[i / 2][i % 2] = v;
  for (int i = 0; i < 6; i++, v += area) p->Y[i / 2][i % 2] = v;
  for (int i = 0; i < 2; i++, v += area) p->rows[i] = v;
  p->line = v;
  v += 2 * longest;
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < 7; i++, v += n[d] * c[d]) p->lanes[d][i] = v;
    for (int i = 0; i < 5; i++, v += n[d]) p->vec[d][i] = v;
  }
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
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
    dir->SELECT_MATRIX(2, C, c->n * (c->n + 2));
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

/* where the lanes are, if all of them have what is around them in the box: quicker than a Batch.  cut[d][l] as in the plan; whether any is */
static PetscBool SeparableRows(const SeparablePlan *p, int count, const PetscInt patch[3][VL], BatchRows *r, unsigned char cut[3][VL], PetscBool *any)
{
  int all = 0;

  r->last   = r->npart = 0;
  r->nwhole = count;
  for (int l = 0; l < count; l++) {
    r->whole[l]  = l;
    r->offset[l] = 0;
    for (int d = 0; d < 3; d++) {
      r->offset[l] += p->offset[d][patch[d][l]];
      all |= cut[d][l] = p->cut[d][patch[d][l]];
    }
    r->last = PetscMax(r->last, r->offset[l]);
  }
  *any = (PetscBool)(all != 0);
  return (PetscBool)!(all & 4);
}

/* zero in the lanes that are cut at end e of direction d: `count` numbers, `stride` apart */
static inline void SeparableCut(const unsigned char cut[VL], int count, int e, PetscInt numbers, PetscInt stride, V *u)
{
  VMask keep;
  int   any = 0;

  for (int l = 0; l < VL; l++) keep[l] = -1;
  for (int l = 0; l < count; l++) {
    if (!(cut[l] & (e + 1))) continue;
    keep[l] = 0;
    any     = 1;
  }
  for (PetscInt i = 0; i < numbers && any; i++) ((VMask *)u)[i * stride] &= keep;
}

/*
  The closures of the faces: face[f][e] in direction f, that in y without its rim in z, that in x without rims but with room for them, which
  SeparableFaces() takes from the others.  From rows where those are known, otherwise as batches.
*/
static void SeparableGatherFaces(SeparablePlan *p, const BatchDirection d[3], const Batch *free, const BatchRows *r, const unsigned char cut[3][VL], PetscBool any, const REAL *x)
{
  const PatchFDBox *box       = &p->field.box;
  const ptrdiff_t   stride[3] = {1, box->n[0], (ptrdiff_t)box->n[0] * box->n[1]};

  for (int f = 0; f < 3; f++) {
    PetscInt  c[3];
    ptrdiff_t pitch, plane, rim = 0;

    if (!d[f].ext) continue;
    for (int i = 0; i < 3; i++) {
      c[i] = i == f ? 1 : d[i].n + (i < f ? 2 * d[i].ext : 0);
      if (i < f) rim += d[i].ext * stride[i];
    }
    pitch = f ? c[0] : 1;
    plane = f ? c[0] * c[1] : d[1].n + 2 * d[1].ext;
    for (int e = 0; e < 2; e++) {
      V *const to = p->face[f][e] + (f ? 0 : d[2].ext * plane + d[1].ext);

      if (r) {
        RowsGather(r, (e ? d[f].n : -1) * stride[f] - rim, c, box, x, pitch, plane, to);
        if (!any) continue;
        SeparableCut(cut[f], r->nwhole, e, f ? c[0] * c[1] * c[2] : plane * d[2].n, 1, to);
        for (int i = 0; i < 2; i++) {
          if (f > 0) SeparableCut(cut[0], r->nwhole, i, c[1] * c[2], c[0], to + i * (c[0] - 1));
          if (f > 1 && d[1].ext) SeparableCut(cut[1], r->nwhole, i, c[0], 1, to + i * (c[1] - 1) * c[0]);
        }
      } else {
        Batch face = *free;

        for (int l = 0; l < free->count; l++)
          for (int i = 0; i < 3; i++) face.first[i][l] += i == f ? (e ? d[f].n : -1) : (i < f ? -d[i].ext : 0);
        BatchClip(&face, c, p->field.read);
        Gather(&face, c, box, x, p->p);
        for (PetscInt k = 0; k < c[2]; k++)
          for (PetscInt j = 0; j < c[1]; j++)
            for (PetscInt i = 0; i < c[0]; i++) to[k * plane + j * pitch + i] = p->p[(k * c[1] + j) * c[0] + i];
      }
    }
  }
}

/* a, b = a + b, a - b where modes are even or odd */
static inline void SeparablePair(PetscBool parity, PetscInt count, V *a, V *b)
{
  for (PetscInt i = 0; i < count && parity; i++) {
    const V lo = a[i], hi = b[i];

    a[i] = lo + hi;
    b[i] = lo - hi;
  }
}

/* lines of a direction from the closure to modes; nothing where the direction does not exist */
static inline void SeparableClosure(SeparablePlan *p, const BatchDirection *d, PetscInt inner, PetscInt outer, const V *in, V *out)
{
  if (d->ext) TransformClosure(d, inner, outer, in, inner * (d->n + 2), out, inner * d->n, p->line);
  else memcpy(out, in, (size_t)(inner * outer) * sizeof(V));
}

/*
  Y[f][e] of all faces, and what faces are on the way back: face[0][e] in nodes, rows[e], the faces in y transformed in x with a rim in z, and Y[2]
  itself; each as sum and difference where the patch has parity in direction f.
*/
static void SeparableFaces(SeparablePlan *p, const BatchDirection d[3])
{
  const PetscInt n0 = d[0].n, n1 = d[1].n, n2 = d[2].n, e1 = d[1].ext, e2 = d[2].ext, c0 = n0 + 2, c1 = n1 + 2 * e1, c2 = n2 + 2 * e2;

  for (int e = 0; e < 2 && e2; e++) { /* the faces in z, whose outermost rows are the rims of those in y */
    SeparableClosure(p, &d[0], 1, c1, p->face[2][e], p->x);
    SeparableClosure(p, &d[1], n0, 1, p->x, p->Y[2][e]);
    for (int i = 0; i < 2; i++) memcpy(p->rows[i] + e * (c2 - 1) * n0, p->x + i * (c1 - 1) * n0, (size_t)n0 * sizeof(V));
  }
  for (int e = 0; e < 2 && e1; e++) SeparableClosure(p, &d[0], 1, n2, p->face[1][e], p->rows[e] + e2 * n0);
  for (int e = 0; e < 2; e++) { /* the rims of the faces in x are in the others */
    V *const to = p->face[0][e];

    for (int i = 0; i < 2 && e1; i++)
      for (PetscInt k = 0; k < n2; k++) to[(k + e2) * c1 + i * (c1 - 1)] = p->face[1][i][k * c0 + e * (c0 - 1)];
    for (int i = 0; i < 2 && e2; i++)
      for (PetscInt j = 0; j < c1; j++) to[i * (c2 - 1) * c1 + j] = p->face[2][i][j * c0 + e * (c0 - 1)];
  }
  SeparablePair(d[0].parity, c1 * c2, p->face[0][0], p->face[0][1]);
  if (e1) SeparablePair(d[1].parity, n0 * c2, p->rows[0], p->rows[1]);
  if (e2) SeparablePair(d[2].parity, n0 * n1, p->Y[2][0], p->Y[2][1]);
  for (int e = 0; e < 2; e++) {
    SeparableClosure(p, &d[1], 1, c2, p->face[0][e], p->x);
    SeparableClosure(p, &d[2], n1, 1, p->x, p->Y[0][e]);
    if (e1) SeparableClosure(p, &d[2], n0, 1, p->rows[e], p->Y[1][e]);
  }
}

/* u = (u - sum of c[t] Y[t] - alpha0 Y0) / D for the modes i of one row; Y0 is what the x faces give, constant in a row */
static inline __attribute__((always_inline)) void CombineModes(PetscInt from, PetscInt end, V *u, Coef inv, int nt, const V c[], const V *const Y[], int n0, V *const alpha0[], const V Y0[])
{
  for (PetscInt i = from; i < end; i++) {
    V g = u[i];

    for (int j = 0; j < n0; j++) g -= alpha0[j][i] * Y0[j];
    for (int j = 0; j < nt; j++) g -= c[j] * Y[j][i];
    u[i] = g * (inv.s ? Splat(inv.s[i]) : inv.v[i]);
  }
}

/*
  u = (u - sum_f alpha_f Y_f) / D.  With parity in a direction the even modes see the faces' sum (e = 0), the odd ones the difference (e = 1); without it
  every mode sees both.
*/
static void SeparableCombine(SeparablePlan *p, const BatchDirection d[3], Coef inv)
{
  const PetscInt n0 = d[0].n, n1 = d[1].n, n2 = d[2].n;

  for (PetscInt k = 0; k < n2; k++) {
    for (PetscInt j = 0; j < n1; j++) {
      const PetscInt m[3] = {0, j, k}, row[3] = {0, k * n0, j * n0}, at = k * n1 + j;
      V             *u = p->u + at * n0;
      const Coef     v = {inv.s ? inv.s + at * n0 : NULL, inv.s ? NULL : inv.v + at * n0};
      const V        Y0[2] = {p->Y[0][0][at], p->Y[0][1][at]}, *Y[4];
      V              c[4];
      int            nt = 0;

      for (int f = 1; f < 3; f++) {
        for (int e = 0; e < 2; e++) {
          if (!d[f].ext || (d[f].parity && (m[f] >= d[f].even) != e)) continue;
          c[nt]   = d[f].alpha[d[f].parity ? 0 : e][m[f]];
          Y[nt++] = p->Y[f][e] + row[f];
        }
      }
      if (d[0].parity && nt == 2) { /* uniform meshes in 3D */
        CombineModes(0, d[0].even, u, v, 2, c, Y, 1, d[0].alpha, &Y0[0]);
        CombineModes(d[0].even, n0, u, v, 2, c, Y, 1, d[0].alpha, &Y0[1]);
      } else if (d[0].parity) {
        CombineModes(0, d[0].even, u, v, nt, c, Y, 1, d[0].alpha, &Y0[0]);
        CombineModes(d[0].even, n0, u, v, nt, c, Y, 1, d[0].alpha, &Y0[1]);
      } else CombineModes(0, n0, u, v, nt, c, Y, 2, d[0].alpha, Y0);
    }
  }
}

/* u = (S' S' S') u, all in place, by planes that stay in the cache */
static void SeparableToModes(SeparablePlan *p, V *u)
{
  const BatchDirection *d  = p->dir;
  const PetscInt        n0 = d[0].n, n1 = d[1].n, n2 = d[2].n;

  for (PetscInt k = 0; k < n2; k++) {
    if (d[0].ext) TransformToModes(&d[0], 1, n1, u + k * n1 * n0, n0, u + k * n1 * n0, n0, p->line);
    if (d[1].ext) TransformToModes(&d[1], n0, 1, u + k * n1 * n0, 0, u + k * n1 * n0, 0, p->line);
  }
  if (d[2].ext) TransformToModes(&d[2], n0 * n1, 1, u, 0, u, 0, p->line);
}

/* u = (S S S) u, and with faces what they give on the way */
static void SeparableToNodes(SeparablePlan *p, PetscBool faces, V *u)
{
  const BatchDirection *d  = p->dir;
  const PetscInt        n0 = d[0].n, n1 = d[1].n, n2 = d[2].n;

  if (d[2].ext) TransformToNodes(&d[2], n0 * n1, 1, u, faces ? p->Y[2][0] : NULL, faces ? p->Y[2][1] : NULL, p->line);
  for (PetscInt k = 0; k < n2; k++) {
    const PetscInt row = (k + d[2].ext) * n0, face = (k + d[2].ext) * (n1 + 2 * d[1].ext) + d[1].ext;

    if (d[1].ext) TransformToNodes(&d[1], n0, 1, u + k * n1 * n0, faces ? p->rows[0] + row : NULL, faces ? p->rows[1] + row : NULL, p->line);
    if (d[0].ext) TransformToNodes(&d[0], 1, n1, u + k * n1 * n0, faces ? p->face[0][0] + face : NULL, faces ? p->face[0][1] + face : NULL, p->line);
  }
}

/* u = (S S S) D^{-1} (S' S' S') u in all lanes, for the classes that are selected; inv = 1 / D */
static void SeparableInvert(SeparablePlan *p, Coef inv, V *u)
{
  const BatchDirection *d = p->dir;

  SeparableToModes(p, u);
  SeparableScale((size_t)(d[0].n * d[1].n * d[2].n), inv, u);
  SeparableToNodes(p, PETSC_FALSE, u);
}

/* the same for patches that are given by their numbers */
static void SeparableSolve(SeparablePlan *p, int count, const PetscInt patch[3][VL], V *u)
{
  for (int i = 0; i < 3; i++) SeparableSelect(p, i, count, patch[i], PATCHFD_OP_SOLVE);
  p->lastop = PATCHFD_OP_SOLVE;
  SeparableInvert(p, SeparableReciprocals(p, p->dir), u);
}

/* x_I = (1 - omega) x_I + omega A_II^{-1} (b_I - A_IB x_B) in a continuous space */
static void SeparableBoundary(SeparablePlan *p, const PetscInt patch[3][VL], Batch *free, const PetscInt n[3], Coef inv, REAL omega, PetscBool zero, REAL *x, const REAL *b)
{
  const PatchFDBox *box = &p->field.box;
  unsigned char     cut[3][VL];
  BatchRows         rows;
  PetscBool         any;
  const PetscBool   quick = SeparableRows(p, free->count, patch, &rows, cut, &any);

  if (quick) RowsGather(&rows, 0, n, box, b, n[0], n[0] * n[1], p->u);
  else {
    BatchClip(free, n, p->field.read);
    Gather(free, n, box, b, p->u);
  }
  SeparableToModes(p, p->u);
  if (zero) SeparableScale((size_t)(n[0] * n[1] * n[2]), inv, p->u);
  else {
    SeparableGatherFaces(p, p->dir, free, quick ? &rows : NULL, (const unsigned char(*)[VL])cut, any, x);
    SeparableFaces(p, p->dir);
    SeparableCombine(p, p->dir, inv);
  }
  SeparableToNodes(p, (PetscBool)!zero, p->u);
  if (quick) RowsScatter(&rows, n, omega, p->u, 1 - omega, box, x);
  else Scatter(free, n, omega, p->u, 1 - omega, box, x);
}

/* One batch of patches, all of the same size */
static void SeparableBatch(SeparablePlan *p, PatchFDPatchOp operation, const PetscInt patch[3][VL], Batch *free, REAL omega, PetscBool zero, REAL *x, const REAL *b, REAL *r)
{
  const PatchFDBox *box = &p->field.box;
  BatchDirection   *d   = p->dir;
  PetscInt          n[3];

  for (int i = 0; i < 3; i++) {
    SeparableSelect(p, i, free->count, patch[i], operation);
    n[i] = d[i].n;
  }
  p->lastop = operation;
  if (operation == PATCHFD_OP_BOUNDARY && !p->discontinuous) {
    SeparableBoundary(p, patch, free, n, SeparableReciprocals(p, d), omega, zero, x, b);
    return;
  }
  BatchClip(free, n, p->field.read);
  if (operation == PATCHFD_OP_SOLVE) Gather(free, n, box, r, p->u);
  else if (p->discontinuous) SeparableResidualCells(p, d, free, x, b, (PetscBool)(operation != PATCHFD_OP_BOUNDARY), zero);
  else SeparableResidual(p, d, free, x, b, zero);
  if (operation == PATCHFD_OP_RESIDUAL) {
    Scatter(free, n, 1, p->u, 0, box, r);
    return;
  }
  SeparableInvert(p, SeparableReciprocals(p, d), p->u);
  Scatter(free, n, omega, p->u, operation == PATCHFD_OP_BOUNDARY ? 1 - omega : 1, box, x);
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
      f += 2 * (n[a] * c[b] * line[a] + n[a] * n[b] * (line[b] + rim));
      f += (parity ? 4 : 8) * v;
    }
  }
  return f;
}
