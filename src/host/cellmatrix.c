/*
  The matrices of cells of operators by quadrature (PatchFDPoints), LANES cells at a time: with the factors G_lm of the points, l and m derivatives or the value,

    E(i, j) = sum over l, m and points q of X_l(q0, i0) X_m(q0, j0) X_l(q1, i1) X_m(q1, j1) X_l(q2, i2) X_m(q2, j2) G_lm(q)

  with X_l = D in direction l and B in the others: products of small matrices with n^2 rows, for the pairs (i_d, j_d), direction by direction.  In double precision.
*/
#include "cell.h"
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
  room    = LANES * PetscPowInt(PetscMax(c, n * n), points->dim);
  PetscCall(PetscMalloc6(4 * n * n * c, &m->pair, LANES * m->geometry.npoint * m->geometry.nfactor, &m->factor, room, &m->work[0], room, &m->work[1], LANES * m->size * m->size, &m->E, m->size * m->size, &m->place));
  for (PetscInt t = 0; t < 4; t++) {
    const PetscReal *X = t / 2 ? m->geometry.rule.D : m->geometry.rule.B, *Y = t % 2 ? m->geometry.rule.D : m->geometry.rule.B;

    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++)
        for (PetscInt q = 0; q < c; q++) m->pair[((t * n + i) * n + j) * c + q] = X[q * n + i] * Y[q * n + j];
  }
  for (PetscInt i = 0; i < m->size; i++)
    for (PetscInt j = 0; j < m->size; j++) m->place[i * m->size + j] = ((i / n / n * n + j / n / n) * n * n + i / n % n * n + j / n % n) * n * n + i % n * n + j % n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCellMatricesDestroy(PatchFDCellMatrices *m)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(m->pair, m->factor, m->work[0], m->work[1], m->E, m->place));
  PetscCall(PatchFDGeometryDestroy(&m->geometry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what factor number f makes of the pairs, those of derivatives (or the value) l and mm; the result is in one of the work arrays */
static const PetscReal *Term(PatchFDCellMatrices *m, PetscInt f, PetscInt l, PetscInt mm)
{
  const PetscInt dim = m->geometry.p->dim, n = m->geometry.rule.nodes, c = m->geometry.rule.points, nfactor = m->geometry.nfactor;
  PetscReal     *in = m->work[0], *out = m->work[1];
  PetscInt       outer = 1, inner = LANES * PetscPowInt(c, dim - 1);

  for (PetscInt q = 0; q < m->geometry.npoint; q++)
    for (int lane = 0; lane < LANES; lane++) in[q * LANES + lane] = m->factor[(q * nfactor + f) * LANES + lane];
  for (PetscInt d = dim - 1; d >= 0; d--) {
    PetscReal *swap = in;

    Contract(outer, n * n, c, inner, m->pair + (2 * (l == d) + (mm == d)) * n * n * c, c, 1, in, out);
    outer *= n * n;
    inner /= c;
    in  = out;
    out = swap;
  }
  return in;
}

PetscErrorCode PatchFDCellMatricesGet(PatchFDCellMatrices *m, PetscCount first)
{
  const PatchFDPoints *p   = m->geometry.p;
  const PetscInt       dim = p->dim, size = m->size;
  PetscInt             f   = 0;

  PetscFunctionBegin;
  PetscCall(PatchFDGeometryCells(&m->geometry, first, m->factor));
  PetscCall(PetscArrayzero(m->E, LANES * size * size));
  for (PetscInt l = 0; l <= dim; l++) {
    for (PetscInt mm = l; mm <= dim; mm++) { /* dim is the value */
      const PetscReal *x;

      if (l == dim ? !p->shift : (mm == dim || !p->nkappa)) continue;
      x = Term(m, f++, l, mm);
      for (PetscInt i = 0; i < LANES * size * size; i++) m->E[i] += x[i];
      if (l == mm) continue;
      for (PetscInt i = 0; i < size; i++) /* and its transpose */
        for (PetscInt j = 0; j < size; j++)
          for (int lane = 0; lane < LANES; lane++) m->E[m->place[i * size + j] * LANES + lane] += x[m->place[j * size + i] * LANES + lane];
    }
  }
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
      for (PetscInt i = 0; i < m.size * m.size; i++) *E++ = m.E[m.place[i] * LANES + l];
  }
  PetscCall(PatchFDCellMatricesDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
