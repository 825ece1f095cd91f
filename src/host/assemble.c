/* what set-up and tests need of the entries of operators and interpolations: the diagonal, and triples (row, column, value) */
#include <patchfd/private/assembly.h>
#include <petscbt.h>

/* the diagonal entry of a square band at node i: the sum over the cells that share it, and over the columns that are node i */
static PetscReal BandDiagonal(const PatchFDBand *b, PetscInt i)
{
  const PetscInt n = b->nloc, width = (2 * b->reach + 1) * n;
  PetscReal      sum = 0;

  for (PetscInt cell = b->stride ? PetscMax(0, i / b->stride - 1) : 0; cell < b->ncells && cell * b->stride <= i; cell++) {
    const PetscInt l = i - cell * b->stride;

    for (PetscInt c = 0; c < width && l < n; c++)
      if ((cell - b->reach + c / n) * b->stride + c % n == i) sum += b->X[(b->cls[cell] * n + l) * width + c];
  }
  return sum;
}

/* diag += coef dir[2] (x) dir[1] (x) dir[0] on the nodes of `range` */
static PetscErrorCode TermDiagonal(const PatchFDTerm *t, const PatchFDRange range, const PatchFDBox *box, PetscScalar diag[])
{
  PetscReal *D[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PetscInt n = range[d][1] - range[d][0];

    PetscCall(PetscMalloc1(n, &D[d]));
    for (PetscInt i = 0; i < n; i++) D[d][i] = BandDiagonal(t->dir[d], range[d][0] + i);
  }
  for (PetscInt k = range[2][0]; k < range[2][1]; k++) {
    for (PetscInt j = range[1][0]; j < range[1][1]; j++) {
      const PetscReal a   = t->coef * D[1][j - range[1][0]] * D[2][k - range[2][0]];
      PetscScalar    *row = diag + PatchFDBoxNode(box, 0, j, k);

      for (PetscInt i = range[0][0]; i < range[0][1]; i++) row[i] += a * D[0][i - range[0][0]];
    }
  }
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(D[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostDiagonal(const PatchFDOperatorDesc *desc, PetscReal fixed, PetscScalar diag[])
{
  PetscFunctionBegin;
  for (PetscInt f = 0; f < desc->nfield; f++) {
    const PatchFDField *field = &desc->field[f];
    const PetscInt(*r)[2]     = field->write;
    PetscScalar *d            = diag + field->y0;

    for (size_t i = 0; i < PatchFDBoxSize(&field->ybox); i++) d[i] = fixed;
    for (PetscInt k = r[2][0]; k < r[2][1]; k++)
      for (PetscInt j = r[1][0]; j < r[1][1]; j++)
        PetscCall(PetscArrayzero(d + PatchFDBoxNode(&field->ybox, r[0][0], j, k), r[0][1] - r[0][0]));
    for (PetscInt t = 0; t < desc->nterm; t++)
      if (desc->term[t].row == f && desc->term[t].col == f) PetscCall(TermDiagonal(&desc->term[t], field->write, &field->ybox, d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nodes l of a block of n[] nodes, x fastest */
static inline void Unflatten(PetscInt l, const PetscInt n[3], PetscInt at[3])
{
  at[0] = l % n[0];
  at[1] = l / n[0] % n[1];
  at[2] = l / n[0] / n[1];
}

/* have two terms entries in the same places? */
static PetscBool SamePlaces(const PatchFDTerm *s, const PatchFDTerm *t)
{
  PetscBool same = (PetscBool)(s->row == t->row && s->col == t->col);

  for (int d = 0; d < 3; d++) same = (PetscBool)(same && s->dir[d]->reach == t->dir[d]->reach);
  return same;
}

/* an entry of a term in a cell */
static PetscReal TermEntry(const PatchFDTerm *t, const PetscInt cell[3], const PetscInt a[3], const PetscInt b[3])
{
  PetscReal value = t->coef;

  for (int d = 0; d < 3; d++) {
    const PatchFDBand *X = t->dir[d];

    value *= X->X[(X->cls[cell[d]] * X->nloc + a[d]) * PatchFDBandWidth(X) + b[d]];
  }
  return value;
}

/* the triples of a cell for n terms that have the same places: rows of the cell, columns of those within reach */
static void CellTriples(const PatchFDOperatorDesc *desc, PetscInt nterm, const PatchFDTerm *const term[], const PetscInt cell[3],
                        const PetscInt *const index[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const PatchFDTerm  *t  = term[0];
  const PatchFDField *rf = &desc->field[t->row], *cf = &desc->field[t->col];
  PetscInt            n[3], w[3];

  for (int d = 0; d < 3; d++) {
    n[d] = t->dir[d]->nloc;
    w[d] = PatchFDBandWidth(t->dir[d]);
  }
  for (PetscInt r = 0; r < n[0] * n[1] * n[2]; r++) {
    PetscInt a[3], row[3];

    Unflatten(r, n, a);
    for (int d = 0; d < 3; d++) row[d] = cell[d] * t->dir[d]->stride + a[d];
    if (!PatchFDRangeHas(rf->write, row)) continue;
    for (PetscInt c = 0; c < w[0] * w[1] * w[2]; c++) {
      PetscInt b[3], col[3];

      Unflatten(c, w, b);
      for (int d = 0; d < 3; d++)
        col[d] = (cell[d] - t->dir[d]->reach + b[d] / t->dir[d]->ncol) * t->dir[d]->cstride + b[d] % t->dir[d]->ncol;
      if (!PatchFDRangeHas(cf->read, col)) continue;
      if (i) {
        i[*count] = index[t->row][PatchFDBoxNode(&rf->xbox, row[0], row[1], row[2])];
        j[*count] = index[t->col][PatchFDBoxNode(&cf->xbox, col[0], col[1], col[2])];
        v[*count] = 0;
        for (PetscInt s = 0; s < nterm; s++) v[*count] += TermEntry(term[s], cell, a, b);
      }
      (*count)++;
    }
  }
}

PetscErrorCode PatchFDHostTriples(const PatchFDOperatorDesc *desc, const PetscInt *const index[], PetscCount *count, PetscInt i[],
                                  PetscInt j[], PetscScalar v[])
{
  const PatchFDTerm **same;
  PetscInt            at[3];

  PetscFunctionBegin;
  *count = 0;
  PetscCall(PetscMalloc1(desc->nterm, &same));
  for (PetscInt t = 0; t < desc->nterm; t++) {
    PetscInt s = 0, n = 0;

    while (s < t && !SamePlaces(&desc->term[s], &desc->term[t])) s++;
    if (s < t) continue; /* it went with that one */
    for (s = t; s < desc->nterm; s++)
      if (SamePlaces(&desc->term[s], &desc->term[t])) same[n++] = &desc->term[s];
    for (at[2] = desc->cells[2][0]; at[2] < desc->cells[2][1]; at[2]++)
      for (at[1] = desc->cells[1][0]; at[1] < desc->cells[1][1]; at[1]++)
        for (at[0] = desc->cells[0][0]; at[0] < desc->cells[0][1]; at[0]++) CellTriples(desc, n, same, at, index, count, i, j, v);
  }
  PetscCall(PetscFree(same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDHostCellNumbers(PetscInt dim, PetscInt degree, const PatchFDRange cells, const PatchFDRange range, const PatchFDBox *box,
                            const PetscInt index[], PetscInt number[])
{
  const PetscInt n[3] = {degree + 1, degree + 1, dim == 3 ? degree + 1 : 1};
  PetscInt       at[3];

  for (at[2] = cells[2][0]; at[2] < cells[2][1]; at[2]++) {
    for (at[1] = cells[1][0]; at[1] < cells[1][1]; at[1]++) {
      for (at[0] = cells[0][0]; at[0] < cells[0][1]; at[0]++) {
        for (PetscInt l = 0; l < n[0] * n[1] * n[2]; l++) {
          PetscInt node[3];

          Unflatten(l, n, node);
          for (int d = 0; d < dim; d++) node[d] += at[d] * degree;
          *number++ = PatchFDRangeHas(range, node) ? index[PatchFDBoxNode(box, node[0], node[1], node[2])] : -1;
        }
      }
    }
  }
}

PetscErrorCode PatchFDHostFixedTriples(const PatchFDRange range, const PatchFDRange free, PetscReal value, const PatchFDBox *box,
                                       const PetscInt index[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscInt at[3];

  PetscFunctionBegin;
  *count = 0;
  for (at[2] = range[2][0]; at[2] < range[2][1]; at[2]++) {
    for (at[1] = range[1][0]; at[1] < range[1][1]; at[1]++) {
      for (at[0] = range[0][0]; at[0] < range[0][1]; at[0]++) {
        if (PatchFDRangeHas(free, at)) continue;
        if (i) {
          i[*count] = j[*count] = index[PatchFDBoxNode(box, at[0], at[1], at[2])];
          v[*count]             = value;
        }
        (*count)++;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of one coarse cell: a fine node that several of them share belongs to the last */
static void CellTransferTriples(const PatchFDTransferDesc *desc, const PetscInt cell[3], PetscInt first, const PetscInt column[],
                                PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const PetscInt nf[3] = {desc->dir[0]->nf, desc->dir[1]->nf, desc->dir[2]->nf},
                 nc[3] = {desc->dir[0]->nc, desc->dir[1]->nc, desc->dir[2]->nc};

  for (PetscInt r = 0; r < nf[0] * nf[1] * nf[2]; r++) {
    PetscInt  a[3], row[3];
    PetscBool mine = PETSC_TRUE;

    Unflatten(r, nf, a);
    for (int d = 0; d < 3; d++) {
      const PetscInt lo = desc->fbox.lo[d];

      row[d] = cell[d] * desc->dir[d]->fstride + a[d];
      mine   = (PetscBool)(mine && row[d] >= lo && row[d] < lo + desc->fbox.n[d] &&
                         (a[d] < desc->dir[d]->fstride || cell[d] == desc->dir[d]->ncells - 1));
    }
    for (PetscInt c = 0; c < nc[0] * nc[1] * nc[2] && mine; c++) {
      PetscInt  b[3], col[3];
      PetscReal w = 1;

      Unflatten(c, nc, b);
      for (int d = 0; d < 3; d++) {
        col[d] = cell[d] * desc->dir[d]->cstride + b[d];
        w *= desc->dir[d]->P[(desc->dir[d]->cls[cell[d]] * nf[d] + a[d]) * nc[d] + b[d]];
      }
      if (w == 0) continue;
      if (i) {
        i[*count] = first + (PetscInt)PatchFDBoxNode(&desc->fbox, row[0], row[1], row[2]);
        j[*count] = column[PatchFDBoxNode(&desc->cbox, col[0], col[1], col[2])];
        v[*count] = PatchFDRangeHas(desc->fine, row) && PatchFDRangeHas(desc->coarse, col) ? w : 0;
      }
      (*count)++;
    }
  }
}

PetscErrorCode PatchFDHostTransferTriples(const PatchFDTransferDesc *desc, PetscInt row, const PetscInt column[], PetscCount *count,
                                          PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscInt at[3];

  PetscFunctionBegin;
  *count = 0;
  for (at[2] = desc->cells[2][0]; at[2] < desc->cells[2][1]; at[2]++)
    for (at[1] = desc->cells[1][0]; at[1] < desc->cells[1][1]; at[1]++)
      for (at[0] = desc->cells[0][0]; at[0] < desc->cells[0][1]; at[0]++) CellTransferTriples(desc, at, row, column, count, i, j, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFirstNodes(PetscCount count, const PetscInt node[], PetscInt nnodes, PetscInt first[])
{
  PetscBT seen;

  PetscFunctionBegin;
  PetscCall(PetscBTCreate(nnodes, &seen));
  for (PetscCount i = 0; i < count; i++) first[i] = node[i] < 0 || node[i] >= nnodes || PetscBTLookupSet(seen, node[i]) ? -1 : node[i];
  PetscCall(PetscBTDestroy(&seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDHostFreeNodes(PetscCount count, const PetscInt node[], PetscInt ncomp, const PetscBool fixed[], PetscInt own[])
{
  for (PetscCount i = 0; i < count; i++) own[i] = node[i] < 0 || fixed[(size_t)node[i] * ncomp] ? -1 : node[i];
}
