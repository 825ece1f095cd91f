/*
  Local solvers that are fitted to each patch: those that are exact.  A batch of patches has, one patch in each lane, the Cholesky factors
  of the matrices A_j and, if they are asked for, the entries of A that couple its unknowns I to the other nodes B of its cells, for steps
  with no residual of the whole mesh: where the solver is exact, x_I + A_j^{-1} (b - A x)_I is A_j^{-1} (b_I - A_IB x_B).

  The factor is a triangle, row after row, with the reciprocal of the diagonal; the rows of A_IB come one after another, too, without the
  nodes that are in no cell of the unknown.
*/
#pragma once
#include "lines.h"
#include <patchfd/private/assembly.h>
#include <patchfd/private/fit.h>

/* the rows of A_IB of patches that are alike: node[at[i]] .. node[at[i + 1] - 1] of unknown i, numbers of nodes of the patch's cells */
typedef struct {
  PetscInt  n[3], nodes[3], lower[3]; /* unknowns of a direction, all nodes of its cells, those before the unknowns */
  PetscInt  size;
  PetscInt *at, *node;
} FitBoundary;

static inline PetscInt FitTriangle(PetscInt row)
{
  return row * (row + 1) / 2;
}

/* node i (x, y, z) of the cells of a patch */
static inline PetscInt FitNode(const FitBoundary *p, const PetscInt i[3])
{
  return (i[2] * p->nodes[1] + i[1]) * p->nodes[0] + i[0];
}

/* its number among the unknowns, or -1 */
static inline PetscInt FitUnknown(const FitBoundary *p, const PetscInt i[3])
{
  PetscInt number = 0;

  for (int d = 2; d >= 0; d--) {
    if (i[d] < p->lower[d] || i[d] >= p->lower[d] + p->n[d]) return -1;
    number = number * p->n[d] + i[d] - p->lower[d];
  }
  return number;
}

/* the nodes of the cells of unknown u in direction d */
static void FitCouples(const FitBoundary *p, PetscInt degree, int d, PetscInt u, PetscInt range[2])
{
  const PetscInt node = u + p->lower[d], last = p->nodes[d] - 1;

  range[0] = last ? PetscMax(0, (node - 1) / degree * degree) : 0;
  range[1] = last ? PetscMin(last, (node / degree + 1) * degree) + 1 : 1;
}

/* the rows, or only how many entries there are */
static PetscInt FitBoundaryFill(PetscInt degree, FitBoundary *p)
{
  PetscInt unknown = 0, count = 0, u[3], i[3], range[3][2];

  for (u[2] = 0; u[2] < p->n[2]; u[2]++) {
    for (u[1] = 0; u[1] < p->n[1]; u[1]++) {
      for (u[0] = 0; u[0] < p->n[0]; u[0]++) {
        for (int d = 0; d < 3; d++) FitCouples(p, degree, d, u[d], range[d]);
        if (p->at) p->at[unknown++] = count;
        for (i[2] = range[2][0]; i[2] < range[2][1]; i[2]++) {
          for (i[1] = range[1][0]; i[1] < range[1][1]; i[1]++) {
            for (i[0] = range[0][0]; i[0] < range[0][1]; i[0]++) {
              if (FitUnknown(p, i) >= 0) continue;
              if (p->node) p->node[count] = FitNode(p, i);
              count++;
            }
          }
        }
      }
    }
  }
  if (p->at) p->at[unknown] = count;
  return count;
}

static PetscErrorCode FitBoundaryCreate(const PatchFDFit *fit, const PetscInt kind[3], FitBoundary *p)
{
  PetscInt count;

  PetscFunctionBegin;
  p->size = 1;
  for (int d = 0; d < 3; d++) {
    const PatchFDFitKind *k = &fit->kind[d][kind[d]];

    p->n[d]     = k->n;
    p->nodes[d] = d < fit->dim ? k->ncells * fit->degree + 1 : 1;
    p->lower[d] = k->lower;
    p->size *= k->n;
  }
  count = FitBoundaryFill(fit->degree, p);
  PetscCall(PetscMalloc2(p->size + 1, &p->at, count, &p->node));
  PetscCheck(FitBoundaryFill(fit->degree, p) == count, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rows of a patch");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where among the entries of a patch, its triangle and then its rows, that of these nodes is: row and column; -1 where it has none */
static PetscInt FitEntry(const FitBoundary *p, const PetscInt row[3], const PetscInt column[3])
{
  const PetscInt i = FitUnknown(p, row), j = FitUnknown(p, column), node = FitNode(p, column);
  PetscInt       at;

  if (i < 0 || j > i) return -1;
  if (j >= 0) return FitTriangle(i) + j;
  at = p->at[i];
  while (p->node[at] != node) at++;
  return FitTriangle(p->size) + at;
}

/* ---- a batch ---- */

/* u = A_j^{-1} u */
static void FitExactSolve(PetscInt n, const V *factor, V *u)
{
  const V *row = factor;

  for (PetscInt r = 0; r < n; row += ++r) {
    V        sum[4] = {u[r], {0}, {0}, {0}};
    PetscInt c      = 0;

    for (; c + 4 <= r; c += 4)
      for (int i = 0; i < 4; i++) sum[i] -= row[c + i] * u[c + i];
    for (; c < r; c++) sum[0] -= row[c] * u[c];
    u[r] = (sum[0] + sum[1] + (sum[2] + sum[3])) * row[r];
  }
  for (PetscInt r = n - 1; r >= 0; r--) {
    row -= r + 1;
    const V x = u[r] *= row[r];

    for (PetscInt c = 0; c < r; c++) u[c] -= row[c] * x;
  }
}

/* u -= A_IB x, x the nodes of the cells of the patches */
static void FitBoundarySubtract(const FitBoundary *p, const V *rows, const V *x, V *u)
{
  const PetscInt *node = p->node;

  for (PetscInt i = 0; i < p->size; i++) {
    const PetscInt end    = p->at[i + 1];
    PetscInt       e      = p->at[i];
    V              sum[4] = {u[i], {0}, {0}, {0}};

    for (; e + 4 <= end; e += 4)
      for (int s = 0; s < 4; s++) sum[s] -= rows[e + s] * x[node[e + s]];
    for (; e < end; e++) sum[0] -= rows[e] * x[node[e]];
    u[i] = sum[0] + sum[1] + (sum[2] + sum[3]);
  }
}
