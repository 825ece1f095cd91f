/*
  The plan of local problems that are diagonalized direction by direction (diagonalization.h): classes of patches, reciprocals of sums of
  eigenvalues, blocks; and the matrices of the batch at hand, a number for each lane
*/
#pragma once
#include "eigen.h"

typedef struct {
  PatchFDLocalField field;
  PetscInt          ext[3];        /* nodes of the closure below and above: 0 where the direction does not exist */
  PetscBool         discontinuous; /* the patches are whole cells */
  EigenClass       *cls[3];
  PetscInt          ntable; /* products of classes with a table of reciprocals 1 / D, 0 if too many */
  REAL            **table;
  V                *x, *p, *q, *s, *t, *u, *inv;           /* blocks of closures */
  V                *face[3][2], *rows[2], *Y[3][2], *line; /* of the faces: see SeparableFaces() */
  V                *lanes[3][7], *vec[3][5];
  void             *base;
  ptrdiff_t        *offset[3]; /* of each patch: its first node in an array */
  unsigned char    *cut[3];    /* and which of its closure is not to be read: bits 1 and 2 the nodes below and above, 4 any other */
  BatchDirection    dir[3];    /* of the last batch, whose classes were */
  PetscInt          last[3][VL], longest;
  PatchFDPatchOp    lastop;
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
  V             *v     = NULL;

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
  total += 7 * (size_t)volume + 14 * (size_t)area + 3 * (size_t)longest;
  PetscCall(VMalloc(total, &v, &p->base));
  {
    V **const blocks[] = {&p->x, &p->p, &p->q, &p->s, &p->t, &p->u, &p->inv};

    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(blocks); i++, v += volume) *blocks[i] = v;
  }
  for (int i = 0; i < 6; i++, v += area) p->face[i / 2][i % 2] = v;
  for (int i = 0; i < 6; i++, v += area) p->Y[i / 2][i % 2] = v;
  for (int i = 0; i < 2; i++, v += area) p->rows[i] = v;
  p->line    = v;
  p->longest = longest;
  v += 3 * longest;
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

/* a matrix of such lines: the whole one, or, with parity, both halves, one behind the other */
static inline void LanesOfLines(const SeparablePlan *p, int d, size_t offset, const PetscInt cls[VL], PetscInt rim, V *v, V *to[2])
{
  const PetscInt n = p->dir[d].n, even = (n + 1) / 2, odd = n / 2;

  if (!p->dir[d].parity) to[0] = Lanes(p, d, offset, cls, n * (n + 2 * rim), v);
  else {
    to[0] = Lanes(p, d, offset + sizeof(REAL *), cls, even * (even + rim), v);
    to[1] = Lanes(p, d, offset + 2 * sizeof(REAL *), cls, odd * (odd + rim), v + even * (even + rim));
  }
}

#define SELECT_MATRIX(i, X, size) \
  X = dir->same ? (Coef){c->X, NULL} : (Coef) \
  { \
    NULL, Lanes(p, d, offsetof(EigenClass, X), cls, size, p->lanes[d][i]) \
  }
#define SELECT_VECTOR(i, X)     X = Lanes(p, d, offsetof(EigenClass, X), cls, dir->n, p->vec[d][i])
#define SELECT_LINES(i, X, rim) LanesOfLines(p, d, offsetof(EigenClass, X), cls, rim, p->lanes[d][i], dir->X)

/* the matrices and vectors of direction d for patches that are given by their numbers */
static void SeparableSelect(SeparablePlan *p, int d, int count, const PetscInt patch[], PatchFDPatchOp operation)
{
  const PetscInt   *classes = p->field.dir[d]->cls;
  BatchDirection   *dir     = &p->dir[d];
  const EigenClass *c;
  PetscInt          cls[VL];

  /* a batch has few patches of low degree: classes of lanes take time */
  if (dir->c && p->lastop == operation && p->field.dir[d]->nclass == 1) return;
  for (int l = 0; l < VL; l++) cls[l] = classes[patch[PetscMin(l, count - 1)]];
  c = &p->cls[d][cls[0]];
  /* as in the last batch: always so on uniform meshes */
  if (dir->c && p->lastop == operation && !memcmp(cls, p->last[d], sizeof(p->last[d]))) return;
  memcpy(p->last[d], cls, sizeof(p->last[d]));
  dir->n    = c->n;
  dir->ext  = p->ext[d];
  dir->same = PETSC_TRUE;
  for (int l = 1; l < count; l++) dir->same = (PetscBool)(dir->same && cls[l] == cls[0]);
  dir->parity = (PetscBool)(dir->same && c->parity);
  dir->c      = c;
  SELECT_LINES(0, nodes, 0);
  SELECT_LINES(1, modes, 0);
  if (operation == PATCHFD_OP_BOUNDARY && !p->discontinuous) {
    SELECT_LINES(2, closure, 1);
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
    const PetscInt t = (PetscInt)(d[0].c - p->cls[0]) +
                       p->field.dir[0]->nclass *
                         ((PetscInt)(d[1].c - p->cls[1]) + p->field.dir[1]->nclass * (PetscInt)(d[2].c - p->cls[2]));

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
