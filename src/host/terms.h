/*
  y += alpha A x for any sum of terms, each a product of three bands: the columns that a band reaches are a block that begins `reach` cells
  before the cell; it is contracted in one direction after the other.

  A batch is VL cells.  Each term gathers its own block: simple, and good enough for operators that have no kernel of their own.
*/
#pragma once
#include "batch.h"

/* a band as matrices on the nodes from the first column on: nodes that cells share are one column */
typedef struct {
  const PatchFDBand *band;
  PetscInt           rows, cols;
  REAL              *X; /* [nclass][rows][cols] */
} BandMatrix;

typedef struct {
  PetscInt   row, col;
  REAL       coef;
  BandMatrix dir[3];
} TermMatrices;

typedef struct {
  PetscInt       nfield, nterm;
  PatchFDField  *field;
  TermMatrices  *term;
  PatchFDRange   cells;
  V             *block[2], *sum, *lanes;
  void          *base;
  PetscLogDouble flops;
} TermsPlan;

static PetscErrorCode BandMatrixCreate(const PatchFDBand *b, BandMatrix *m)
{
  const PetscInt n = b->ncol, width = PatchFDBandWidth(b);

  PetscFunctionBegin;
  m->band = b;
  m->rows = b->nloc;
  m->cols = 2 * b->reach * b->cstride + n;
  PetscCall(PetscCalloc1((size_t)(b->nclass * m->rows * m->cols), &m->X));
  for (PetscInt r = 0; r < b->nclass * b->nloc; r++)
    for (PetscInt j = 0; j < width; j++) m->X[r * m->cols + j / n * b->cstride + j % n] += (REAL)b->X[r * width + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TermsDestroy(TermsPlan *p)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < p->nterm; t++)
    for (int d = 0; d < 3; d++) PetscCall(PetscFree(p->term[t].dir[d].X));
  PetscCall(PetscFree2(p->field, p->term));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TermsCreate(const PatchFDOperatorDesc *desc, TermsPlan **plan)
{
  TermsPlan *p;
  PetscInt   size = 1, lanes = 1;
  V         *v = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->nfield = desc->nfield;
  p->nterm  = desc->nterm;
  PetscCall(PetscArraycpy(p->cells, desc->cells, 3));
  PetscCall(PetscCalloc2(p->nfield, &p->field, p->nterm, &p->term));
  PetscCall(PetscArraycpy(p->field, desc->field, p->nfield));
  for (PetscInt t = 0; t < p->nterm; t++) {
    PetscInt       block = 1;
    PetscLogDouble n[3], c[3];

    p->term[t].row  = desc->term[t].row;
    p->term[t].col  = desc->term[t].col;
    p->term[t].coef = (REAL)desc->term[t].coef;
    for (int d = 0; d < 3; d++) {
      BandMatrix *m = &p->term[t].dir[d];

      PetscCall(BandMatrixCreate(desc->term[t].dir[d], m));
      n[d] = m->rows;
      c[d] = m->cols;
      block *= PetscMax(m->rows, m->cols);
      lanes = PetscMax(lanes, m->rows * m->cols);
    }
    size = PetscMax(size, block);
    p->flops += 2.0 * PatchFDRangeSize(desc->cells) *
                (n[0] * c[0] * c[1] * c[2] + n[0] * n[1] * c[1] * c[2] + n[0] * n[1] * n[2] * (c[2] + 1));
  }
  PetscCall(VMalloc(3 * (size_t)size + lanes, &v, &p->base));
  p->block[0] = v;
  p->block[1] = v + size;
  p->sum      = v + 2 * (size_t)size;
  p->lanes    = v + 3 * (size_t)size;
  *plan       = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one term of a batch of cells, in block[1] */
static void TermBlock(TermsPlan *p, const TermMatrices *t, const PetscInt cell[3][VL], int count, const REAL *x)
{
  const PatchFDField *field = &p->field[t->col];
  PetscInt            n[3], cls[VL];
  Batch               b;
  V                  *in = p->block[0], *out = p->block[1], *swap;

  b.count = count;
  for (int d = 0; d < 3; d++) {
    n[d] = t->dir[d].cols;
    for (int l = 0; l < count; l++) b.first[d][l] = (cell[d][l] - t->dir[d].band->reach) * t->dir[d].band->cstride;
  }
  BatchClip(&b, n, field->read);
  Gather(&b, n, &field->xbox, x + field->x0, in);
  for (int d = 0; d < 3; d++) {
    const BandMatrix *m = &t->dir[d];

    for (int l = 0; l < count; l++) cls[l] = m->band->cls[cell[d][l]];
    Contract(d, n, m->rows, CoefSelect(count, cls, (size_t)(m->rows * m->cols), m->X, p->lanes), in, out, PETSC_FALSE);
    n[d] = m->rows;
    swap = in;
    in   = out;
    out  = swap;
  }
}

static PetscErrorCode TermsApply(TermsPlan *p, PetscReal alpha, const REAL *x, REAL *y)
{
  const PetscInt64 total = PatchFDRangeSize(p->cells);

  PetscFunctionBegin;
  for (PetscInt f = 0; f < p->nfield; f++) {
    const PatchFDField *field = &p->field[f];

    for (PetscInt64 i = 0; i < total; i += VL) {
      PetscInt  cell[3][VL], n[3] = {0, 0, 0};
      PetscBool first = PETSC_TRUE;
      Batch     b;

      b.count = RangeBatch(p->cells, i, cell);
      for (PetscInt t = 0; t < p->nterm; t++) {
        const TermMatrices *term = &p->term[t];

        if (term->row != f) continue;
        for (int d = 0; d < 3; d++) {
          n[d] = term->dir[d].rows;
          for (int l = 0; l < b.count; l++) b.first[d][l] = cell[d][l] * term->dir[d].band->stride;
        }
        TermBlock(p, term, cell, b.count, x);
        for (PetscInt j = 0; j < n[0] * n[1] * n[2]; j++) p->sum[j] = (first ? (V){0} : p->sum[j]) + term->coef * p->block[1][j];
        first = PETSC_FALSE;
      }
      if (first) continue;
      BatchClip(&b, n, field->write);
      Scatter(&b, n, (REAL)alpha, p->sum, 1, &field->ybox, y + field->y0);
    }
  }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
