/*
  Local solvers that are fitted to each patch: those that are exact.  A batch of patches has, one patch in each lane, the Cholesky factors of the matrices A_j and, if they are asked for, the rows
  of A that belong to its unknowns, for corrections with no residual of the whole mesh: x_I += omega A_j^{-1} (b - A x)_I.

  The factor is a triangle, row after row, with the reciprocal of the diagonal.  The row of an unknown is that of a box of nodes of the patch's cells, those of the cells that have the unknown: with
  width_d(i_d) nodes in direction d from lo_d(i_d) on, all rows one after another.
*/
#pragma once
#include "lines.h"
#include <patchfd/private/assembly.h>

/* of the unknowns of a direction of patches that are alike */
typedef struct {
  PetscInt n, lower, nodes;                    /* unknowns; nodes before them, all nodes of the cells */
  PetscInt lo[2 * PATCHFD_POINTS_MAX_DEGREE + 1], width[2 * PATCHFD_POINTS_MAX_DEGREE + 1], before[2 * PATCHFD_POINTS_MAX_DEGREE + 2]; /* the sum of the widths of unknowns before */
} FitLine;

static void FitLineSet(PetscInt degree, PetscInt ncells, PetscInt n, PetscInt lower, FitLine *line)
{
  line->n         = n;
  line->lower     = lower;
  line->nodes     = degree * ncells + 1;
  line->before[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt node = i + lower, cell = PetscMin(node / PetscMax(1, degree), PetscMax(0, ncells - 1)), first = degree && node % degree == 0 && node ? node / degree - 1 : cell;

    line->lo[i]         = first * degree;
    line->width[i]      = (cell + 1) * degree + 1 - line->lo[i];
    line->before[i + 1] = line->before[i] + line->width[i];
  }
}

/* where the row of an unknown begins */
static inline PetscInt FitRowAt(const FitLine line[3], const PetscInt i[3])
{
  const PetscInt all[2] = {line[0].before[line[0].n], line[1].before[line[1].n]};

  return (line[2].before[i[2]] * all[1] + line[2].width[i[2]] * line[1].before[i[1]]) * all[0] + line[2].width[i[2]] * line[1].width[i[1]] * line[0].before[i[0]];
}

static inline PetscInt FitTriangle(PetscInt row)
{
  return row * (row + 1) / 2;
}

/* ---- set-up ---- */

/* where one of the entries of a cell goes, among those of the patch: in its triangle and in its rows, or -1 */
typedef struct {
  PetscInt entry, triangle, row;
} FitPlace;

/* all entries of the matrix of the cell `offset` of a patch that go anywhere */
static PetscInt FitPlaces(PetscInt dim, PetscInt degree, const FitLine line[3], const PetscInt offset[3], const PetscInt place[], FitPlace places[])
{
  const PetscInt n = degree + 1, size = PetscPowInt(n, dim);
  PetscInt       count = 0;

  for (PetscInt e = 0; e < size * size; e++) {
    const PetscInt a[2] = {e / size, e % size}; /* row and column */
    PetscInt       node[2][3], i[2][3], number[2] = {0, 0};
    PetscBool      in[2] = {PETSC_TRUE, PETSC_TRUE};
    FitPlace      *p = &places[count];

    for (int s = 0; s < 2; s++) {
      for (int d = 2; d >= 0; d--) {
        node[s][d] = d < dim ? offset[d] * degree + (d == 0 ? a[s] % n : (d == 1 ? a[s] / n % n : a[s] / n / n)) : 0;
        i[s][d]    = node[s][d] - line[d].lower;
        in[s]      = (PetscBool)(in[s] && i[s][d] >= 0 && i[s][d] < line[d].n);
        number[s]  = number[s] * line[d].n + i[s][d];
      }
    }
    if (!in[0]) continue;
    p->entry    = place[e];
    p->triangle = in[1] && number[1] <= number[0] ? FitTriangle(number[0]) + number[1] : -1;
    p->row      = 0;
    for (int d = 2; d >= 0; d--) p->row = p->row * line[d].width[i[0][d]] + node[1][d] - line[d].lo[i[0][d]];
    p->row += FitRowAt(line, i[0]);
    count++;
  }
  return count;
}

/* the factors of the patches of a batch from their triangles, of `size` numbers each */
static PetscErrorCode FitFactors(PetscInt n, int count, double triangle[], V factor[], PetscBool *regular)
{
  const PetscInt size = FitTriangle(n);

  PetscFunctionBegin;
  for (int from = 0; from < count; from += PATCHFD_LANES) PetscCall(PatchFDHostFactorTriangles(n, PetscMin(PATCHFD_LANES, count - from), triangle + from * size, regular));
  for (PetscInt i = 0; i < size; i++)
    for (int l = 0; l < count; l++) factor[i][l] = (REAL)triangle[l * size + i];
  PetscFunctionReturn(PETSC_SUCCESS);
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

/* u -= the rows times x, the nodes of the cells of the patches */
static void FitRowsSubtract(const FitLine line[3], const V *row, const V *x, V *u)
{
  for (PetscInt k = 0; k < line[2].n; k++) {
    for (PetscInt j = 0; j < line[1].n; j++) {
      for (PetscInt i = 0; i < line[0].n; i++, u++) {
        const PetscInt width = line[0].width[i];
        V              sum[2] = {*u, {0}};

        for (PetscInt c = line[2].lo[k]; c < line[2].lo[k] + line[2].width[k]; c++) {
          for (PetscInt b = line[1].lo[j]; b < line[1].lo[j] + line[1].width[j]; b++, row += width) {
            const V *in = x + (c * line[1].nodes + b) * line[0].nodes + line[0].lo[i];
            PetscInt a  = 0;

            for (; a + 2 <= width; a += 2)
              for (int s = 0; s < 2; s++) sum[s] -= row[a + s] * in[a + s];
            if (a < width) sum[0] -= row[a] * in[a];
          }
        }
        *u = sum[0] + sum[1];
      }
    }
  }
}
