/*
  Cell matrices.  Neighbouring cells of equal length are one class: a uniform line has a single pair of matrices.
*/
#include <patchfd/private/fe.h>

/*
  X and its mirror images: mass and stiffness are symmetric, and do not change when the cell is reversed.  Rounding may not
  break that, because the parity of uniform patches rests on it.
*/
static void Symmetrize(PetscInt n, PetscReal X[])
{
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt  ij[] = {i * n + j, j * n + i, (n - 1 - i) * n + n - 1 - j, (n - 1 - j) * n + n - 1 - i};
      const PetscReal mean = 0.25 * ((X[ij[0]] + X[ij[1]]) + (X[ij[2]] + X[ij[3]]));

      for (int s = 0; s < 4; s++) X[ij[s]] = mean;
    }
  }
}

/*
  Mass and stiffness on the cell [0, 1], degree k: M_ij = int l_i l_j, K_ij = int l_i' l_j'.  k + 1 Gauss points are exact.
  For a point they are 1 and 0.
*/
static PetscErrorCode ReferenceMatrices(PetscInt k, PetscReal M[], PetscReal K[])
{
  PetscReal         unit[] = {0.0, 1.0};
  const PatchFDLine ref    = {.degree = k, .ncells = 1, .vertices = unit};
  const PetscInt    n      = k + 1;
  PetscReal        *x, *w, *B, *D;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &x, n, &w, n * n, &B, n * n, &D));
  PetscCall(PatchFDLineTabulate(&ref, n, x, w, B));
  PetscCall(PatchFDBasis(k, n, x, B, D));
  PetscCall(PetscArrayzero(M, n * n));
  PetscCall(PetscArrayzero(K, n * n));
  for (PetscInt q = 0; q < n; q++) {
    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j < n; j++) {
        M[i * n + j] += w[q] * B[q * n + i] * B[q * n + j];
        K[i * n + j] += w[q] * D[q * n + i] * D[q * n + j];
      }
    }
  }
  Symmetrize(n, M);
  Symmetrize(n, K);
  PetscCall(PetscFree4(x, w, B, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Number the runs of neighbouring cells with equal lengths; start[r] is the first cell of run r.  Lengths are equal up to 1e-12
  of themselves and the rounding of the coordinates that they are differences of.
*/
static void FindRuns(const PatchFDLine *line, PetscInt cls[], PetscInt start[], PetscInt *nruns)
{
  const PetscReal *v        = line->vertices;
  const PetscReal  rounding = 4.0 * PETSC_MACHINE_EPSILON * PetscMax(PetscAbsReal(v[0]), PetscAbsReal(v[line->ncells]));
  PetscReal        h        = 0.0;

  *nruns = 0;
  for (PetscInt c = 0; c < line->ncells; c++) {
    const PetscReal hc = v[c + 1] - v[c];

    if (c == 0 || PetscAbsReal(hc - h) > 1e-12 * h + rounding) {
      start[(*nruns)++] = c;
      h                 = hc;
    }
    cls[c] = *nruns - 1;
  }
  start[*nruns] = line->ncells;
}

PetscErrorCode PatchFDCellsCreate(const PatchFDLine *line, PetscReal kappa, PetscReal shift, PatchFDCells *cells)
{
  const PetscInt   n = line->degree + 1, nn = n * n;
  const PetscReal *v = line->vertices;
  PetscReal       *M, *K;
  PetscInt        *start;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(cells, sizeof(*cells)));
  cells->nloc   = n;
  cells->ncells = line->ncells;
  PetscCall(PetscMalloc3(line->ncells + 1, &start, nn, &M, nn, &K));
  PetscCall(PetscMalloc1(line->ncells, &cells->cls));
  FindRuns(line, cells->cls, start, &cells->nclass);
  PetscCall(ReferenceMatrices(line->degree, M, K));
  PetscCall(PetscMalloc2(cells->nclass * nn, &cells->M, cells->nclass * nn, &cells->A));
  for (PetscInt r = 0; r < cells->nclass; r++) {
    /* the mean length of the run is more accurate than that of any of its cells; a point has measure one */
    const PetscReal h = line->degree ? (v[start[r + 1]] - v[start[r]]) / (start[r + 1] - start[r]) : 1.0;

    for (PetscInt i = 0; i < nn; i++) {
      cells->M[r * nn + i] = ldexp(h * M[i], line->exponent[0]);
      cells->A[r * nn + i] = ldexp(kappa / h * K[i] + shift * h * M[i], line->exponent[1]);
    }
  }
  PetscCall(PetscFree3(start, M, K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCellsDestroy(PatchFDCells *cells)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(cells->cls));
  PetscCall(PetscFree2(cells->M, cells->A));
  PetscCall(PetscMemzero(cells, sizeof(*cells)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
