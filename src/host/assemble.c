/* what set-up and tests need of the entries of operators and interpolations: the diagonal, and triples (row, column, value) */
#include <patchfd/private/kernels.h>

/* sum over the cells that touch node i of the diagonal entries of M and A */
static void LineDiagonal(const PatchFDCells *c, PetscInt i, PetscReal *M, PetscReal *A)
{
  const PetscInt n = c->nloc, p = n - 1;

  *M = *A = 0;
  for (PetscInt cell = p ? PetscMax(0, (i - 1) / p - (i == 0)) : 0; cell < c->ncells && cell * p <= i; cell++) {
    const PetscInt l = i - cell * p;

    if (l < 0 || l >= n) continue;
    *M += c->M[(c->cls[cell] * n + l) * n + l];
    *A += c->A[(c->cls[cell] * n + l) * n + l];
  }
}

PetscErrorCode PatchFDHostDiagonal(const PatchFDOperatorDesc *desc, PetscReal fixed, const PatchFDRange range, const PatchFDBox *box, PetscScalar diag[])
{
  PetscReal *M[3], *A[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PetscInt n = range[d][1] - range[d][0];

    PetscCall(PetscMalloc2(n, &M[d], n, &A[d]));
    for (PetscInt i = 0; i < n; i++) LineDiagonal(desc->dir[d], range[d][0] + i, &M[d][i], &A[d][i]);
  }
  for (PetscInt k = range[2][0]; k < range[2][1]; k++) {
    for (PetscInt j = range[1][0]; j < range[1][1]; j++) {
      const PetscReal m1 = M[1][j - range[1][0]], m2 = M[2][k - range[2][0]], a1 = A[1][j - range[1][0]], a2 = A[2][k - range[2][0]];
      PetscScalar    *row  = diag + PatchFDBoxNode(box, 0, j, k);
      const PetscBool free = (PetscBool)(k >= desc->write[2][0] && k < desc->write[2][1] && j >= desc->write[1][0] && j < desc->write[1][1]);

      for (PetscInt i = range[0][0]; i < range[0][1]; i++) {
        const PetscReal m0 = M[0][i - range[0][0]], a0 = A[0][i - range[0][0]];

        row[i] = free && i >= desc->write[0][0] && i < desc->write[0][1] ? a0 * m1 * m2 + m0 * (a1 * m2 + m1 * a2) : fixed;
      }
    }
  }
  for (int d = 0; d < 3; d++) PetscCall(PetscFree2(M[d], A[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscBool InRange(const PatchFDRange r, const PetscInt i[3])
{
  return (PetscBool)(i[0] >= r[0][0] && i[0] < r[0][1] && i[1] >= r[1][0] && i[1] < r[1][1] && i[2] >= r[2][0] && i[2] < r[2][1]);
}

/* nodes l of a block of n[] nodes, x fastest */
static inline void Unflatten(PetscInt l, const PetscInt n[3], PetscInt at[3])
{
  at[0] = l % n[0];
  at[1] = l / n[0] % n[1];
  at[2] = l / n[0] / n[1];
}

/* the triples of one cell */
static void CellTriples(const PatchFDOperatorDesc *desc, const PetscInt cell[3], const PetscInt index[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const PetscInt n[3] = {desc->dir[0]->nloc, desc->dir[1]->nloc, desc->dir[2]->nloc}, size = n[0] * n[1] * n[2];

  for (PetscInt r = 0; r < size; r++) {
    PetscInt a[3], row[3];

    Unflatten(r, n, a);
    for (int d = 0; d < 3; d++) row[d] = cell[d] * (n[d] - 1) + a[d];
    if (!InRange(desc->write, row)) continue;
    for (PetscInt c = 0; c < size; c++) {
      PetscInt  b[3], col[3];
      PetscReal M[3], A[3];

      Unflatten(c, n, b);
      for (int d = 0; d < 3; d++) {
        const PetscInt at = (desc->dir[d]->cls[cell[d]] * n[d] + a[d]) * n[d] + b[d];

        col[d] = cell[d] * (n[d] - 1) + b[d];
        M[d]   = desc->dir[d]->M[at];
        A[d]   = desc->dir[d]->A[at];
      }
      if (!InRange(desc->read, col)) continue;
      if (i) {
        i[*count] = index[PatchFDBoxNode(&desc->xbox, row[0], row[1], row[2])];
        j[*count] = index[PatchFDBoxNode(&desc->xbox, col[0], col[1], col[2])];
        v[*count] = A[0] * M[1] * M[2] + M[0] * (A[1] * M[2] + M[1] * A[2]);
      }
      (*count)++;
    }
  }
}

PetscErrorCode PatchFDHostTriples(const PatchFDOperatorDesc *desc, PetscReal fixed, const PatchFDRange range, const PetscInt index[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscInt at[3];

  PetscFunctionBegin;
  *count = 0;
  for (at[2] = range[2][0]; at[2] < range[2][1]; at[2]++) {
    for (at[1] = range[1][0]; at[1] < range[1][1]; at[1]++) {
      for (at[0] = range[0][0]; at[0] < range[0][1]; at[0]++) {
        if (InRange(desc->write, at)) continue;
        if (i) {
          i[*count] = j[*count] = index[PatchFDBoxNode(&desc->xbox, at[0], at[1], at[2])];
          v[*count]             = fixed;
        }
        (*count)++;
      }
    }
  }
  for (at[2] = desc->cells[2][0]; at[2] < desc->cells[2][1]; at[2]++)
    for (at[1] = desc->cells[1][0]; at[1] < desc->cells[1][1]; at[1]++)
      for (at[0] = desc->cells[0][0]; at[0] < desc->cells[0][1]; at[0]++) CellTriples(desc, at, index, count, i, j, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of one coarse cell: a fine node that several of them share belongs to the last */
static void CellTransferTriples(const PatchFDTransferDesc *desc, const PetscInt cell[3], PetscInt first, const PetscInt column[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const PetscInt nf[3] = {desc->dir[0]->nf, desc->dir[1]->nf, desc->dir[2]->nf}, nc[3] = {desc->dir[0]->nc, desc->dir[1]->nc, desc->dir[2]->nc};

  for (PetscInt r = 0; r < nf[0] * nf[1] * nf[2]; r++) {
    PetscInt  a[3], row[3];
    PetscBool mine = PETSC_TRUE;

    Unflatten(r, nf, a);
    for (int d = 0; d < 3; d++) {
      const PetscInt lo = desc->fbox.lo[d];

      row[d] = cell[d] * (nf[d] - 1) + a[d];
      mine   = (PetscBool)(mine && row[d] >= lo && row[d] < lo + desc->fbox.n[d] && (a[d] < nf[d] - 1 || cell[d] == desc->dir[d]->ncells - 1));
    }
    for (PetscInt c = 0; c < nc[0] * nc[1] * nc[2] && mine; c++) {
      PetscInt  b[3], col[3];
      PetscReal w = 1;

      Unflatten(c, nc, b);
      for (int d = 0; d < 3; d++) {
        col[d] = cell[d] * (nc[d] - 1) + b[d];
        w *= desc->dir[d]->P[(desc->dir[d]->cls[cell[d]] * nf[d] + a[d]) * nc[d] + b[d]];
      }
      if (w == 0) continue;
      if (i) {
        i[*count] = first + (PetscInt)PatchFDBoxNode(&desc->fbox, row[0], row[1], row[2]);
        j[*count] = column[PatchFDBoxNode(&desc->cbox, col[0], col[1], col[2])];
        v[*count] = InRange(desc->fine, row) && InRange(desc->coarse, col) ? w : 0;
      }
      (*count)++;
    }
  }
}

PetscErrorCode PatchFDHostTransferTriples(const PatchFDTransferDesc *desc, PetscInt row, const PetscInt column[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscInt at[3];

  PetscFunctionBegin;
  *count = 0;
  for (at[2] = desc->cells[2][0]; at[2] < desc->cells[2][1]; at[2]++)
    for (at[1] = desc->cells[1][0]; at[1] < desc->cells[1][1]; at[1]++)
      for (at[0] = desc->cells[0][0]; at[0] < desc->cells[0][1]; at[0]++) CellTransferTriples(desc, at, row, column, count, i, j, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}
