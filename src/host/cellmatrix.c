/*
  The matrices of cells of operators by quadrature (PatchFDPoints), LANES cells at a time: with the factors G_lr of the points, l and r
  derivatives or the value,

    E(i, j) = sum over l, r and points q of X_l(q0, i0) X_r(q0, j0) X_l(q1, i1) X_r(q1, j1) X_l(q2, i2) X_r(q2, j2) G_lr(q)

  with X_l = D in direction l and B in the others: products of small matrices with n^2 rows, for the pairs (i_d, j_d), direction by
  direction; the last, direction 0, is one for all terms with the same matrices there.  In double precision.
*/
#include "lanes.h"

PetscErrorCode PatchFDCellMatricesCreate(const PatchFDPoints *points, PatchFDCellMatrices *m)
{
  PetscInt n, c, room;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  PetscCall(PatchFDPointsCheck(points));
  PetscCall(PatchFDGeometryCreate(points, &m->geometry));
  n       = m->geometry.rule.nodes;
  c       = m->geometry.rule.points;
  m->size = PetscPowInt(n, points->dim);
  room    = PetscPowInt(PetscMax(c, n * n), points->dim);
  PetscCall(PetscMalloc7(4 * n * n * c, &m->pair, m->geometry.npoint * m->geometry.nfactor, &m->factor, room, &m->work[0], room,
                         &m->work[1], c * PetscPowInt(n * n, points->dim - 1), &m->sum, m->size * m->size, &m->E, m->size * m->size,
                         &m->place));
  for (PetscInt t = 0; t < 4; t++) {
    const PetscReal *X = t / 2 ? m->geometry.rule.D : m->geometry.rule.B, *Y = t % 2 ? m->geometry.rule.D : m->geometry.rule.B;

    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++)
        for (PetscInt q = 0; q < c; q++) m->pair[((t * n + i) * n + j) * c + q] = X[q * n + i] * Y[q * n + j];
  }
  for (PetscInt i = 0; i < m->size; i++)
    for (PetscInt j = 0; j < m->size; j++)
      m->place[i * m->size + j] = ((i / n / n * n + j / n / n) * n * n + i / n % n * n + j / n % n) * n * n + i % n * n + j % n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCellMatricesDestroy(PatchFDCellMatrices *m)
{
  PetscFunctionBegin;
  PetscCall(PetscFree7(m->pair, m->factor, m->work[0], m->work[1], m->sum, m->E, m->place));
  PetscCall(PatchFDGeometryDestroy(&m->geometry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += y, n numbers in all lanes */
static void LaneAdd(PetscInt n, const Lanes y[], Lanes x[])
{
  for (PetscInt i = 0; i < n; i++)
    for (int l = 0; l < LANES; l++) x[i][l] += y[i][l];
}

/* sum += what factor number f makes of the pairs of the last directions, those of derivatives (or the value) l and r of row and column; the
   points of direction 0 remain */
static void AddTerm(PatchFDCellMatrices *m, PetscInt f, PetscInt l, PetscInt r)
{
  const PetscInt dim = m->geometry.p->dim, n = m->geometry.rule.nodes, c = m->geometry.rule.points, nfactor = m->geometry.nfactor;
  Lanes         *in = m->work[0], *out = m->work[1];
  PetscInt       outer = 1, inner = PetscPowInt(c, dim - 1);

  for (PetscInt q = 0; q < m->geometry.npoint; q++)
    for (int lane = 0; lane < LANES; lane++) in[q][lane] = m->factor[q * nfactor + f][lane];
  for (PetscInt d = dim - 1; d > 0; d--) {
    Lanes *swap = in;

    LaneContract(outer, n * n, c, inner, m->pair + (2 * (l == d) + (r == d)) * n * n * c, c, 1, (const Lanes *)in, out);
    outer *= n * n;
    inner /= c;
    in  = out;
    out = swap;
  }
  LaneAdd(outer * c, (const Lanes *)in, m->sum);
}

/* the terms with so many derivatives in direction 0; with one it is that of the row, and the transposed matrix is added, too */
static void AddTerms(PatchFDCellMatrices *m, PetscInt derivatives)
{
  const PatchFDPoints *p = m->geometry.p;
  const PetscInt dim = p->dim, n = m->geometry.rule.nodes, c = m->geometry.rule.points, size = m->size, outer = PetscPowInt(n * n, dim - 1);
  const Lanes   *x = (const Lanes *)m->work[0];
  PetscInt       f = 0;

  for (PetscInt i = 0; i < outer * c; i++)
    for (int lane = 0; lane < LANES; lane++) m->sum[i][lane] = 0;
  for (PetscInt l = 0; l <= dim; l++) {
    for (PetscInt r = l; r <= dim; r++) { /* dim is the value */
      if (l == dim ? !p->shift : (r == dim || !p->nkappa)) continue;
      if ((l == 0) + (r == 0) == derivatives) AddTerm(m, f, l, r);
      if (derivatives == 0 && l > 0 && l != r) AddTerm(m, f, r, l);
      f++;
    }
  }
  LaneContract(outer, n * n, c, 1, m->pair + (derivatives == 2 ? 3 : 2 * derivatives) * n * n * c, c, 1, (const Lanes *)m->sum, m->work[0]);
  LaneAdd(size * size, x, m->E);
  for (PetscInt i = 0; i < size * size && derivatives == 1; i++) LaneAdd(1, x + m->place[i % size * size + i / size], m->E + m->place[i]);
}

/* E of lane l += the mass matrix of a side, from the factors of its points */
static void AddSide(PatchFDCellMatrices *m, PetscInt s, PetscInt l, const PetscReal factor[])
{
  const PetscInt   dim = m->geometry.p->dim, n = m->geometry.rule.nodes, n2 = n * n, c = m->geometry.rule.points, cb = dim == 3 ? c : 1;
  const PetscInt   a = s / 2 == 0 ? 1 : 0, b = s / 2 == 2 ? 1 : 2, stride[3] = {1, n2, n2 * n2}, first = s % 2 * (n2 - 1) * stride[s / 2];
  const PetscReal *pair = m->pair; /* of values */

  for (PetscInt i = 0; i < n2; i++) {
    PetscReal line[PATCHFD_POINTS_MAX_DEGREE + 2] = {0};

    for (PetscInt q = 0; q < cb; q++)
      for (PetscInt p = 0; p < c; p++) line[q] += factor[q * c + p] * pair[i * c + p];
    for (PetscInt j = 0; j < (dim == 3 ? n2 : 1); j++) {
      PetscReal sum = 0;

      for (PetscInt q = 0; q < cb; q++) sum += line[q] * (dim == 3 ? pair[j * c + q] : 1);
      m->E[first + i * stride[a] + j * stride[b]][l] += sum;
    }
  }
}

/* the terms of sides in all lanes */
static void AddSides(PatchFDCellMatrices *m, PetscCount first)
{
  const PatchFDPoints *p    = m->geometry.p;
  const PetscInt       size = PetscPowInt(m->geometry.rule.points, p->dim - 1);

  for (PetscInt s = 0; s < 6; s++) {
    for (PetscInt l = 0; l < LANES && p->side[s] && first + l < p->ncells; l++) {
      const PetscCount cell = PatchFDSideCell(p->grid, s, first + l);

      if (cell >= 0) AddSide(m, s, l, p->side[s] + cell * size);
    }
  }
}

PetscErrorCode PatchFDCellMatricesGet(PatchFDCellMatrices *m, PetscCount first)
{
  PetscFunctionBegin;
  PetscCall(PatchFDGeometryCells(&m->geometry, first, m->factor));
  PetscCall(PetscArrayzero(m->E, m->size * m->size));
  for (PetscInt derivatives = 0; derivatives <= (m->geometry.p->nkappa ? 2 : 0); derivatives++) AddTerms(m, derivatives);
  AddSides(m, first);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostCellMatrices(const PatchFDPoints *points, PetscReal E[])
{
  PatchFDCellMatrices m;

  PetscFunctionBegin;
  PetscCall(PatchFDCellMatricesCreate(points, &m));
  for (PetscCount first = 0; first < points->ncells; first += LANES) {
    PetscCall(PatchFDCellMatricesGet(&m, first));
    for (PetscCount l = 0; l < LANES && first + l < points->ncells; l++)
      for (PetscInt i = 0; i < m.size * m.size; i++) *E++ = m.E[m.place[i]][l];
  }
  PetscCall(PatchFDCellMatricesDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostPointsTriples(const PatchFDPoints *points, const PetscReal e[], const PetscInt rownumber[],
                                        const PetscInt colnumber[], PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const PetscInt size = PatchFDPointsCellSize(points), nodes = PetscPowInt(points->degree + 1, points->dim);
  const PetscInt ncomp = points->solid ? 1 : points->ncomp;
  PetscReal     *E     = NULL;

  PetscFunctionBegin;
  *count = points->ncells * size * size * ncomp;
  if (!i) PetscFunctionReturn(PETSC_SUCCESS);
  if (!e) {
    PetscCall(PetscMalloc1(points->ncells * size * size, &E));
    PetscCall(PatchFDHostCellMatrices(points, E));
    e = E;
  }
  for (PetscCount c = 0; c < points->ncells; c++) {
    for (PetscInt col = 0; col < size; col++) {
      for (PetscInt row = 0; row < size; row++, e++) {
        const PetscInt r      = rownumber[(row / nodes * points->ncells + c) * nodes + row % nodes];
        const PetscInt column = colnumber[(col / nodes * points->ncells + c) * nodes + col % nodes];

        for (PetscInt k = 0; k < ncomp; k++) {
          *i++ = r < 0 ? -1 : r * ncomp + k;
          *j++ = column < 0 ? -1 : column * ncomp + k;
          *v++ = *e;
        }
      }
    }
  }
  PetscCall(PetscFree(E));
  PetscFunctionReturn(PETSC_SUCCESS);
}
