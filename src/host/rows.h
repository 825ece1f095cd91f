/*
  The residual of a batch of patches from the terms of an operator, for the rows of one field and the columns of one field.  With X_d the
  rows of a patch in direction d,

    sum coef X_2 X_1 X_0 x:   P_a = X_0a x,   Q_c = sum coef X_1b P_a,   sum X_2c Q_c

  so that terms share what they have in common.  x is gathered on the patch and its rim, the nodes that all bands of a direction see; bands
  that reach further see the slabs of nodes beyond on either side, too.  A term may have one such band.
*/
#pragma once
#include "batch.h"

enum {
  ROWS_MAX_TERMS = 16
};

/* rows of one direction, times the coefficient of their term */
typedef struct {
  const PatchFDRows *rows;
  PetscReal          coef;
  PetscInt           inner, beyond; /* columns of the patch and its rim, of a slab beyond */
  size_t             ninner, nslab; /* sizes of the matrices of a class */
  REAL              *X, *E[2];      /* [nclass][n][inner], [nclass][n][beyond] */
  V                 *lanes[3];
  Coef               x, e[2]; /* of the batch at hand */
} RowsMatrix;

typedef struct {
  PetscInt   row, col;            /* the fields */
  PetscInt   n[3], nc[3], rim[3]; /* the largest patch: rows, columns without the rim, the rim */
  int        nterm, nmatrix[3];
  RowsMatrix matrix[3][ROWS_MAX_TERMS];
  int        term[ROWS_MAX_TERMS][3]; /* the matrices of each term */
  V         *x, *slab[2], *P[ROWS_MAX_TERMS], *Q[ROWS_MAX_TERMS];
  void      *base;
} RowsPlan;

/* a class's matrices from the rows of its first patch, which has n nodes of the rows' field and nc of the columns' */
static void RowsMatrixFill(RowsMatrix *m, PetscInt c, PetscInt n, PetscInt nc)
{
  const PetscInt   ld   = nc + 2 * m->rows->ext;
  const PetscReal *from = m->rows->X + m->rows->at[c];

  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < ld; j++) {
      const PetscInt at = j - m->beyond, inner = ld - 2 * m->beyond;
      const REAL     x = (REAL)(m->coef * from[i * ld + j]);

      if (at < 0) m->E[0][c * m->nslab + i * m->beyond + j] = x;
      else if (at < inner) m->X[c * m->ninner + i * inner + at] = x;
      else m->E[1][c * m->nslab + i * m->beyond + at - inner] = x;
    }
  }
}

/* n and nc are those of the largest patch */
static PetscErrorCode RowsMatrixCreate(const PatchFDRows *rows, PetscReal coef, const PatchFDPatches *row, const PatchFDPatches *col,
                                       PetscInt n, PetscInt nc, PetscInt rim, RowsMatrix *m)
{
  const size_t nclass = (size_t)rows->nclass;

  PetscFunctionBegin;
  m->rows   = rows;
  m->coef   = coef;
  m->inner  = nc + 2 * rim;
  m->beyond = rows->ext - rim;
  m->ninner = (size_t)n * (size_t)m->inner;
  m->nslab  = (size_t)n * (size_t)m->beyond;
  PetscCall(PetscMalloc3(nclass * m->ninner, &m->X, nclass * m->nslab, &m->E[0], nclass * m->nslab, &m->E[1]));
  for (PetscInt p = 0; p < rows->npatch; p++)
    if (p == 0 || rows->cls[p] != rows->cls[p - 1]) RowsMatrixFill(m, rows->cls[p], row->n[p], col->n[p]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowsDestroy(RowsPlan **p)
{
  PetscFunctionBegin;
  if (!*p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++)
    for (int i = 0; i < (*p)->nmatrix[d]; i++)
      PetscCall(PetscFree3((*p)->matrix[d][i].X, (*p)->matrix[d][i].E[0], (*p)->matrix[d][i].E[1]));
  PetscCall(PetscFree((*p)->base));
  PetscCall(PetscFree(*p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrix of direction d with these rows and this coefficient, made if it is a new one */
static PetscErrorCode RowsFind(RowsPlan *p, int d, const PatchFDRows *rows, PetscReal coef, const PatchFDLocalField field[], int *found)
{
  PetscFunctionBegin;
  for (*found = 0; *found < p->nmatrix[d]; (*found)++)
    if (p->matrix[d][*found].rows == rows && p->matrix[d][*found].coef == coef) PetscFunctionReturn(PETSC_SUCCESS);
  p->nmatrix[d]++;
  PetscCall(RowsMatrixCreate(rows, coef, field[p->row].dir[d], field[p->col].dir[d], p->n[d], p->nc[d], p->rim[d], &p->matrix[d][*found]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the size of the largest patch, and of the rim */
static void RowsSizes(const PatchFDLocalDesc *desc, RowsPlan *p)
{
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *row = desc->field[p->row].dir[d], *col = desc->field[p->col].dir[d];

    p->rim[d] = PETSC_INT_MAX;
    for (PetscInt t = 0; t < desc->nterm; t++)
      if (desc->term[t].row == p->row && desc->term[t].col == p->col) p->rim[d] = PetscMin(p->rim[d], desc->term[t].dir[d]->ext);
    for (PetscInt i = 0; i < row->npatch; i++) {
      p->n[d]  = PetscMax(p->n[d], row->n[i]);
      p->nc[d] = PetscMax(p->nc[d], col->n[i]);
    }
  }
}

/* *plan stays NULL if the operator does not have such terms */
static PetscErrorCode RowsCreate(const PatchFDLocalDesc *desc, PetscInt row, PetscInt col, RowsPlan **plan)
{
  RowsPlan *p;
  size_t    inner = 1, width[3], wide[3] = {1, 1, 1}, slab = 0, lanes = 0, total;
  PetscBool exists = PETSC_FALSE;
  V        *v      = NULL;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < desc->nterm; t++) exists = (PetscBool)(exists || (desc->term[t].row == row && desc->term[t].col == col));
  if (!exists) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&p));
  *plan  = p;
  p->row = row;
  p->col = col;
  RowsSizes(desc, p);
  for (PetscInt t = 0; t < desc->nterm; t++) {
    PetscInt reach = 0;

    if (desc->term[t].row != row || desc->term[t].col != col) continue;
    PetscCheck(p->nterm < ROWS_MAX_TERMS, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "An operator of %" PetscInt_FMT " terms; patches' residuals can be computed for at most %d", desc->nterm, ROWS_MAX_TERMS);
    for (int d = 0; d < 3; d++) {
      PetscCall(RowsFind(p, d, desc->term[t].dir[d], d == 1 ? desc->term[t].coef : 1, desc->field, &p->term[p->nterm][d]));
      if (desc->term[t].dir[d]->ext > p->rim[d]) reach++;
    }
    p->nterm++;
    PetscCheck(reach <= 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Patches' residuals cannot be computed for terms that reach beyond a patch in more than one direction");
  }
  for (int d = 0; d < 3; d++) {
    width[d] = (size_t)PetscMax(p->n[d], p->nc[d] + 2 * p->rim[d]);
    inner *= width[d];
    for (int i = 0; i < p->nmatrix[d]; i++) {
      wide[d] = PetscMax(wide[d], (size_t)p->matrix[d][i].beyond);
      lanes += p->matrix[d][i].ninner + 2 * p->matrix[d][i].nslab;
    }
  }
  for (int d = 0; d < 3; d++) slab = PetscMax(slab, inner / width[d] * wide[d]);
  total = (1 + (size_t)(p->nmatrix[0] + p->nmatrix[2])) * inner + 2 * slab + lanes;
  PetscCall(VMalloc(total, &v, &p->base));
  p->x = v;
  v += inner;
  for (int i = 0; i < 2; i++, v += slab) p->slab[i] = v;
  for (int i = 0; i < p->nmatrix[0]; i++, v += inner) p->P[i] = v;
  for (int i = 0; i < p->nmatrix[2]; i++, v += inner) p->Q[i] = v;
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < p->nmatrix[d]; i++) {
      RowsMatrix *m = &p->matrix[d][i];

      m->lanes[0] = v;
      m->lanes[1] = m->lanes[0] + m->ninner;
      m->lanes[2] = m->lanes[1] + m->nslab;
      v           = m->lanes[2] + m->nslab;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrices of the batch at hand, whose patches are given by their numbers */
static void RowsSelect(RowsPlan *p, int count, const PetscInt patch[3][VL])
{
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < p->nmatrix[d]; i++) {
      RowsMatrix *m = &p->matrix[d][i];
      PetscInt    cls[VL];

      for (int l = 0; l < count; l++) cls[l] = m->rows->cls[patch[d][l]];
      m->x = CoefSelect(count, cls, m->ninner, m->X, m->lanes[0]);
      for (int e = 0; e < 2 && m->beyond; e++) m->e[e] = CoefSelect(count, cls, m->nslab, m->E[e], m->lanes[1 + e]);
    }
  }
}

/* x on the slab of nodes beyond the rim at end e of direction d, in slab[0]; size[] is its size */
static void RowsGatherBeyond(RowsPlan *p, const PetscInt c[3], const Batch *closure, int d, int e, PetscInt width,
                             const PatchFDLocalField *col, const REAL *x, PetscInt size[3])
{
  Batch beyond = *closure;

  for (int i = 0; i < 3; i++) size[i] = c[i];
  size[d] = width;
  for (int l = 0; l < closure->count; l++) beyond.first[d][l] += e ? c[d] : -width;
  BatchClip(&beyond, size, col->read);
  Gather(&beyond, size, &col->box, x, p->slab[0]);
}

/* u -= A x for patches of n[] free nodes in the rows' field and nc[] in the columns', where they begin at `free`; x is that field's part of
   the array */
static void RowsSubtract(RowsPlan *p, const PetscInt n[3], const PetscInt nc[3], const Batch *free, const PatchFDLocalField *col,
                         const REAL *x, V *u)
{
  const PetscInt c[3] = {nc[0] + 2 * p->rim[0], nc[1] + 2 * p->rim[1], nc[2] + 2 * p->rim[2]}, c1[3] = {n[0], c[1], c[2]},
                 c2[3] = {n[0], n[1], c[2]};
  PetscInt  size[3];
  PetscBool started[ROWS_MAX_TERMS] = {PETSC_FALSE};
  Batch     closure                 = *free;

  for (int d = 0; d < 3; d++)
    for (int l = 0; l < free->count; l++) closure.first[d][l] -= p->rim[d];
  BatchClip(&closure, c, col->read);
  Gather(&closure, c, &col->box, x, p->x);
  for (int a = 0; a < p->nmatrix[0]; a++) {
    const RowsMatrix *m = &p->matrix[0][a];

    Contract(0, c, n[0], m->x, p->x, p->P[a], PETSC_FALSE);
    for (int e = 0; e < 2 && m->beyond; e++) {
      RowsGatherBeyond(p, c, &closure, 0, e, m->beyond, col, x, size);
      Contract(0, size, n[0], m->e[e], p->slab[0], p->P[a], PETSC_TRUE);
    }
  }
  for (int t = 0; t < p->nterm; t++) {
    const RowsMatrix *m0 = &p->matrix[0][p->term[t][0]], *m = &p->matrix[1][p->term[t][1]];
    V                *Q = p->Q[p->term[t][2]];

    Contract(1, c1, n[1], m->x, p->P[p->term[t][0]], Q, started[p->term[t][2]]);
    started[p->term[t][2]] = PETSC_TRUE;
    for (int e = 0; e < 2 && m->beyond; e++) {
      RowsGatherBeyond(p, c, &closure, 1, e, m->beyond, col, x, size);
      Contract(0, size, n[0], m0->x, p->slab[0], p->slab[1], PETSC_FALSE);
      size[0] = n[0];
      Contract(1, size, n[1], m->e[e], p->slab[1], Q, PETSC_TRUE);
    }
  }
  for (int i = 0; i < p->nmatrix[2]; i++) Contract(2, c2, n[2], p->matrix[2][i].x, p->Q[i], p->x, (PetscBool)(i > 0));
  for (int t = 0; t < p->nterm; t++) {
    const RowsMatrix *m0 = &p->matrix[0][p->term[t][0]], *m1 = &p->matrix[1][p->term[t][1]], *m = &p->matrix[2][p->term[t][2]];

    for (int e = 0; e < 2 && m->beyond; e++) {
      RowsGatherBeyond(p, c, &closure, 2, e, m->beyond, col, x, size);
      Contract(0, size, n[0], m0->x, p->slab[0], p->slab[1], PETSC_FALSE);
      size[0] = n[0];
      Contract(1, size, n[1], m1->x, p->slab[1], p->slab[0], PETSC_FALSE);
      size[1] = n[1];
      Contract(2, size, n[2], m->e[e], p->slab[0], p->x, PETSC_TRUE);
    }
  }
  for (PetscInt i = 0; i < n[0] * n[1] * n[2]; i++) u[i] -= p->x[i];
}

/* multiplications and additions of RowsSubtract() for one patch */
static PetscLogDouble RowsFlops(const RowsPlan *p, const PetscInt n[3], const PetscInt nc[3])
{
  PetscLogDouble c[3], f = (PetscLogDouble)(n[0] * n[1] * n[2]);

  for (int d = 0; d < 3; d++) c[d] = (PetscLogDouble)(nc[d] + 2 * p->rim[d]);
  for (int a = 0; a < p->nmatrix[0]; a++) f += 2.0 * n[0] * c[1] * c[2] * (c[0] + 2.0 * p->matrix[0][a].beyond);
  for (int t = 0; t < p->nterm; t++) {
    const PetscLogDouble w1 = 2.0 * p->matrix[1][p->term[t][1]].beyond, w2 = 2.0 * p->matrix[2][p->term[t][2]].beyond;

    f += 2.0 * n[0] * (n[1] * c[2] * (c[1] + w1) + w1 * c[0] * c[2] + w2 * c[1] * (c[0] + n[1]) + n[1] * n[2] * w2);
  }
  for (int i = 0; i < p->nmatrix[2]; i++) f += 2.0 * n[0] * n[1] * n[2] * c[2];
  return f;
}
