/*
  One-dimensional matrices, cell by cell: mass, stiffness, and the terms of interior penalty methods on the vertices of a discontinuous
  line.
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
  Mass, stiffness and bending stiffness on the cell [0, 1], degree k: M_ij = int l_i l_j, K_ij = int l_i' l_j', H_ij = int l_i'' l_j''.  k
  + 1 Gauss points are exact.  For a point they are 1, 0 and 0.
*/
static PetscErrorCode ReferenceMatrices(PetscInt k, PetscReal M[], PetscReal K[], PetscReal H[])
{
  PetscReal         unit[] = {0.0, 1.0};
  const PatchFDLine ref    = {.degree = k, .ncells = 1, .vertices = unit};
  const PetscInt    n      = k + 1;
  PetscReal        *x, *w, *B, *D, *D2;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(n, &x, n, &w, n * n, &B, n * n, &D, n * n, &D2));
  PetscCall(PatchFDLineTabulate(&ref, n, x, w, B, D, D2));
  PetscCall(PetscArrayzero(M, n * n));
  PetscCall(PetscArrayzero(K, n * n));
  PetscCall(PetscArrayzero(H, n * n));
  for (PetscInt q = 0; q < n; q++) {
    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j < n; j++) {
        M[i * n + j] += w[q] * B[q * n + i] * B[q * n + j];
        K[i * n + j] += w[q] * D[q * n + i] * D[q * n + j];
        H[i * n + j] += w[q] * D2[q * n + i] * D2[q * n + j];
      }
    }
  }
  Symmetrize(n, M);
  Symmetrize(n, K);
  Symmetrize(n, H);
  PetscCall(PetscFree5(x, w, B, D, D2));
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

/* The reference cell and the line that is made of its images */
typedef struct {
  const PatchFDLine *line;
  PetscInt           n;         /* nodes of a cell */
  PetscReal         *M, *K, *H; /* mass, stiffness and bending stiffness on [0, 1] */
  PetscReal         *slope[2];  /* derivatives of the basis at 0 and 1 */
  PetscReal         *bend[2];   /* second derivatives there */
  PetscInt          *run;       /* of each cell; cells of equal length */
  PetscReal         *h;         /* length of the cells of a run: the mean is more accurate than any of them; a point has measure one */
} Cells;

static PetscErrorCode CellsCreate(const PatchFDLine *line, Cells *c)
{
  const PetscInt  n      = line->degree + 1;
  const PetscReal ends[] = {0.0, 1.0};
  PetscReal      *B, *D, *D2;
  PetscInt       *start, nruns;

  PetscFunctionBegin;
  c->line = line;
  c->n    = n;
  PetscCall(PetscMalloc7(n * n, &c->M, n * n, &c->K, n * n, &c->H, n, &c->slope[0], n, &c->slope[1], n, &c->bend[0], n, &c->bend[1]));
  PetscCall(ReferenceMatrices(line->degree, c->M, c->K, c->H));
  PetscCall(PetscMalloc3(2 * n, &B, 2 * n, &D, 2 * n, &D2));
  PetscCall(PatchFDBasis(line->degree, 2, ends, B, D, D2));
  for (PetscInt i = 0; i < n; i++) { /* mirror images of each other, whatever rounding says */
    c->slope[0][i]         = 0.5 * (D[i] - D[n + n - 1 - i]);
    c->slope[1][n - 1 - i] = -c->slope[0][i];
    c->bend[0][i]          = 0.5 * (D2[i] + D2[n + n - 1 - i]);
    c->bend[1][n - 1 - i]  = c->bend[0][i];
  }
  PetscCall(PetscFree3(B, D, D2));
  PetscCall(PetscMalloc2(line->ncells, &c->run, line->ncells, &c->h));
  PetscCall(PetscMalloc1(line->ncells + 1, &start));
  FindRuns(line, c->run, start, &nruns);
  for (PetscInt r = 0; r < nruns; r++)
    c->h[r] = line->degree ? (line->vertices[start[r + 1]] - line->vertices[start[r]]) / (start[r + 1] - start[r]) : 1.0;
  PetscCall(PetscFree(start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellsDestroy(Cells *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree7(c->M, c->K, c->H, c->slope[0], c->slope[1], c->bend[0], c->bend[1]));
  PetscCall(PetscFree2(c->run, c->h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cell's neighbour at an end: its run, or a number of its own for an end of the line.  The unrolled turns of a ring are a ring, too */
static inline PetscInt NeighbourRun(const Cells *cells, PetscInt c)
{
  if (cells->line->turn) c = (c + cells->line->ncells) % cells->line->ncells;
  return c < 0 || c >= cells->line->ncells ? -1 : cells->run[c];
}

/*
  Neighbouring cells with equal lengths, whose neighbours within reach have equal lengths, too, are one class.  representative[class] is
  its first cell.  `columns` has the same cells
*/
static PetscErrorCode BandCreate(const Cells *cells, const PatchFDLine *columns, PetscInt reach, PatchFDBand *b, PetscInt **representative)
{
  const PatchFDLine *line = cells->line;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(b, sizeof(*b)));
  b->nloc    = cells->n;
  b->stride  = line->stride;
  b->ncol    = columns->degree + 1;
  b->cstride = columns->stride;
  b->reach   = reach;
  b->ncells  = line->ncells;
  PetscCall(PetscMalloc1(line->ncells, &b->cls));
  PetscCall(PetscMalloc1(line->ncells, representative));
  for (PetscInt c = 0; c < line->ncells; c++) {
    PetscBool same = (PetscBool)(c > 0);

    for (PetscInt i = -reach; i <= reach && same; i++) same = (PetscBool)(NeighbourRun(cells, c + i) == NeighbourRun(cells, c - 1 + i));
    if (!same) (*representative)[b->nclass++] = c;
    b->cls[c] = b->nclass - 1;
  }
  PetscCall(PetscCalloc1((size_t)b->nclass * (size_t)PatchFDBandSize(b), &b->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDBandScale(PatchFDBand *b, int exponent)
{
  const PetscInt size = b->nclass * PatchFDBandSize(b);

  for (PetscInt i = 0; i < size && exponent; i++) b->X[i] = ldexp(b->X[i], exponent);
}

/* the matrix of a cell of length h */
static void WeightedCell(const PatchFDRule *rule, PetscReal h, const PetscReal a[], const PetscReal m[], PetscReal X[])
{
  const PetscInt n = rule->nodes;

  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      PetscReal sum = 0;

      for (PetscInt q = 0; q < rule->points; q++) {
        if (a) sum += rule->w[q] / h * a[q] * rule->D[q * n + i] * rule->D[q * n + j];
        if (m) sum += rule->w[q] * h * m[q] * rule->B[q * n + i] * rule->B[q * n + j];
      }
      X[i * n + j] = sum;
    }
  }
}

PetscErrorCode PatchFDBandWeighted(const PatchFDLine *line, PetscInt gauss, const PetscReal a[], const PetscReal m[], PatchFDBand *b)
{
  PatchFDRule rule;
  PetscReal  *X;
  PetscInt    size, nclass = 0, *cls;

  PetscFunctionBegin;
  PetscCall(PatchFDBandMass(line, b)); /* cells of equal length are a class of it */
  PetscCall(PatchFDRuleCreate(line->degree, gauss, &rule));
  size = PatchFDBandSize(b);
  PetscCall(PetscMalloc2(b->ncells, &cls, b->ncells * size, &X));
  for (PetscInt c = 0; c < b->ncells; c++) {
    const PetscReal *ac = a ? &a[c * rule.points] : NULL, *mc = m ? &m[c * rule.points] : NULL;
    PetscBool        same = (PetscBool)(c > 0 && b->cls[c] == b->cls[c - 1]);

    for (PetscInt q = 0; q < rule.points && same; q++)
      same = (PetscBool)((!a || ac[q] == ac[q - rule.points]) && (!m || mc[q] == mc[q - rule.points]));
    if (!same) WeightedCell(&rule, line->vertices[c + 1] - line->vertices[c], ac, mc, &X[nclass++ * size]);
    cls[c] = nclass - 1;
  }
  PetscCall(PetscFree(b->X));
  PetscCall(PetscMalloc1(nclass * size, &b->X));
  PetscCall(PetscArraycpy(b->X, X, nclass * size));
  PetscCall(PetscArraycpy(b->cls, cls, b->ncells));
  b->nclass = nclass;
  PetscCall(PetscFree2(cls, X));
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBandsUnify(PetscInt n, PatchFDBand *const bands[])
{
  const PetscInt ncells = n ? bands[0]->ncells : 0;
  PetscInt      *cls, nclass = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(ncells, &cls));
  for (PetscInt c = 0; c < ncells; c++) {
    PetscBool same = (PetscBool)(c > 0);

    for (PetscInt i = 0; i < n; i++) same = (PetscBool)(same && bands[i]->cls[c] == bands[i]->cls[c - 1]);
    if (!same) nclass++;
    cls[c] = nclass - 1;
  }
  for (PetscInt i = 0; i < n; i++) {
    PatchFDBand   *b    = bands[i];
    const PetscInt size = PatchFDBandSize(b);
    PetscReal     *X;

    PetscCall(PetscMalloc1(nclass * size, &X));
    for (PetscInt c = 0; c < ncells; c++) PetscCall(PetscArraycpy(X + cls[c] * size, b->X + b->cls[c] * size, size));
    PetscCall(PetscFree(b->X));
    b->X      = X;
    b->nclass = nclass;
    PetscCall(PetscArraycpy(b->cls, cls, ncells));
  }
  PetscCall(PetscFree(cls));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBandDestroy(PatchFDBand *b)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(b->cls));
  PetscCall(PetscFree(b->X));
  PetscCall(PetscMemzero(b, sizeof(*b)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A function's value and derivative in outward direction at end e of a cell of length h, as rows over the cell's nodes: with Gauss-Lobatto
  nodes the value is the one at the end node.
*/
static inline PetscReal EndValue(const Cells *cells, int e, PetscInt i)
{
  return i == (e ? cells->n - 1 : 0) ? 1.0 : 0.0;
}

static inline PetscReal EndSlope(const Cells *cells, int e, PetscReal h, PetscInt i)
{
  return (e ? 1.0 : -1.0) * cells->slope[e][i] / h;
}

/*
  The terms of the vertex at end e of cell c, for the rows of the cell: own columns X[.][0 ..], those of the neighbour Y (NULL at an end of
  the line). With n the outward normal, the mean of the derivatives is (n u' - n u'_neighbour) / 2 and the jump u - u_neighbour; at a
  Dirichlet end the neighbour counts as zero, with the one-sided derivative.
*/
static void AddVertex(const Cells *cells, PetscInt c, int e, PetscReal kappa, PetscReal sigma, PetscInt ld, PetscReal *X, PetscReal *Y)
{
  const PetscReal h = cells->h[cells->run[c]], mean = Y ? 0.5 : 1.0;

  for (PetscInt i = 0; i < cells->n; i++) {
    const PetscReal v = EndValue(cells, e, i), dv = EndSlope(cells, e, h, i);

    for (PetscInt j = 0; j < cells->n; j++) {
      X[i * ld + j] += kappa * (sigma * v * EndValue(cells, e, j) - mean * (v * EndSlope(cells, e, h, j) + dv * EndValue(cells, e, j)));
      if (Y) {
        const PetscReal u = EndValue(cells, 1 - e, j), du = EndSlope(cells, 1 - e, cells->h[NeighbourRun(cells, e ? c + 1 : c - 1)], j);

        Y[i * ld + j] += kappa * (-sigma * v * u + mean * (v * du + dv * u));
      }
    }
  }
}

/* The second derivative there */
static inline PetscReal EndBend(const Cells *cells, int e, PetscReal h, PetscInt i)
{
  return cells->bend[e][i] / (h * h);
}

/* AddVertex() for the fourth-order form */
static void AddVertexBending(const Cells *cells, PetscInt c, int e, PetscReal kappa, PetscReal sigma, PetscInt ld, PetscReal *X,
                             PetscReal *Y)
{
  const PetscReal h = cells->h[cells->run[c]], mean = Y ? 0.5 : 1.0;

  for (PetscInt i = 0; i < cells->n; i++) {
    const PetscReal jump = kappa * EndSlope(cells, e, h, i), bend = kappa * mean * EndBend(cells, e, h, i);

    for (PetscInt j = 0; j < cells->n; j++) {
      X[i * ld + j] += jump * (sigma * EndSlope(cells, e, h, j) - mean * EndBend(cells, e, h, j)) - bend * EndSlope(cells, e, h, j);
      if (Y) {
        const PetscReal H = cells->h[NeighbourRun(cells, e ? c + 1 : c - 1)], u = EndSlope(cells, 1 - e, H, j);

        Y[i * ld + j] += jump * (sigma * u - mean * EndBend(cells, 1 - e, H, j)) - bend * u;
      }
    }
  }
}

PetscErrorCode PatchFDBandMass(const PatchFDLine *line, PatchFDBand *b)
{
  Cells     cells;
  PetscInt *cell, nn;

  PetscFunctionBegin;
  PetscCall(CellsCreate(line, &cells));
  PetscCall(BandCreate(&cells, line, 0, b, &cell));
  nn = cells.n * cells.n;
  for (PetscInt r = 0; r < b->nclass; r++) {
    for (PetscInt i = 0; i < nn; i++) b->X[r * nn + i] = cells.h[cells.run[cell[r]]] * cells.M[i];
  }
  PetscCall(PetscFree(cell));
  PetscCall(CellsDestroy(&cells));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBandEnd(const PatchFDLine *line, int e, PatchFDBand *b)
{
  Cells     cells;
  PetscInt *cell;

  PetscFunctionBegin;
  PetscCall(CellsCreate(line, &cells));
  PetscCall(BandCreate(&cells, line, 0, b, &cell));
  PetscCall(PetscFree(cell));
  PetscCall(CellsDestroy(&cells));
  PetscCall(PatchFDBandAddEnd(e, 1, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBandAddEnd(int e, PetscReal h, PatchFDBand *b)
{
  const PetscInt last = b->ncells - 1, size = PatchFDBandSize(b), at = e ? b->nloc - 1 : 0;

  PetscFunctionBegin;
  if (last > 0 && b->cls[e ? last : 0] == b->cls[e ? last - 1 : 1]) { /* a copy of the first or last class becomes one */
    PetscReal *X;

    PetscCall(PetscMalloc1((size_t)(b->nclass + 1) * (size_t)size, &X));
    PetscCall(PetscArraycpy(X + (e ? 0 : size), b->X, b->nclass * size));
    PetscCall(PetscArraycpy(X + (e ? b->nclass * size : 0), b->X + (e ? (b->nclass - 1) * size : 0), size));
    for (PetscInt c = e ? last : 1; c <= last; c++) b->cls[c]++;
    PetscCall(PetscFree(b->X));
    b->X = X;
    b->nclass++;
  }
  b->X[b->cls[e ? last : 0] * size + at * PatchFDBandWidth(b) + b->reach * b->ncol + at] += h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLineIntegrals(const PatchFDLine *line, PetscReal **w)
{
  PatchFDBand M;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(line->nnodes, w));
  PetscCall(PatchFDBandMass(line, &M));
  for (PetscInt c = 0; c < M.ncells; c++)
    for (PetscInt i = 0; i < M.nloc; i++)
      for (PetscInt j = 0; j < M.ncol; j++) (*w)[c * M.stride + i] += M.X[M.cls[c] * PatchFDBandSize(&M) + i * M.ncol + j];
  PetscCall(PatchFDBandDestroy(&M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBandLaplace(const PatchFDLine *line, PetscReal kappa, PetscReal shift, PetscReal penalty, PetscReal boundary,
                                  PatchFDBand *b)
{
  const PetscInt reach = line->continuity == PATCHFD_DISCONTINUOUS ? 1 : 0;
  Cells          cells;
  PetscInt      *cell, n, ld;

  PetscFunctionBegin;
  PetscCall(CellsCreate(line, &cells));
  PetscCall(BandCreate(&cells, line, reach, b, &cell));
  n  = cells.n;
  ld = (2 * reach + 1) * n;
  for (PetscInt r = 0; r < b->nclass; r++) {
    const PetscInt  c = cell[r];
    const PetscReal h = cells.h[cells.run[c]];
    PetscReal      *X = b->X + r * n * ld, *own = X + reach * n;

    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j < n; j++) own[i * ld + j] = kappa / h * cells.K[i * n + j] + shift * h * cells.M[i * n + j];
    }
    for (int e = 0; e < 2 && reach; e++) {
      const PetscInt neighbour = NeighbourRun(&cells, e ? c + 1 : c - 1);

      if (neighbour >= 0) AddVertex(&cells, c, e, kappa, 0.5 * penalty * (1 / h + 1 / cells.h[neighbour]), ld, own, e ? own + n : own - n);
      else if (line->dirichlet[e]) AddVertex(&cells, c, e, kappa, boundary / h, ld, own, NULL);
    }
  }
  PetscCall(PetscFree(cell));
  PetscCall(CellsDestroy(&cells));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBandDerivative(const PatchFDLine *rows, const PatchFDLine *columns, PetscReal kappa, PetscBool transpose,
                                     PatchFDBand *b)
{
  PetscReal         unit[] = {0.0, 1.0};
  const PatchFDLine ref    = {.degree = rows->degree, .ncells = 1, .vertices = unit}; /* lengths cancel */
  const PetscInt    n = rows->degree + 1, m = columns->degree + 1, nq = PetscMax(n, m);
  PetscReal        *x, *w, *V, *U, *D;
  Cells             cells;
  PetscInt         *cell;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(nq, &x, nq, &w, nq * n, &V, nq * m, &U, nq * m, &D));
  PetscCall(PatchFDLineTabulate(&ref, nq, x, w, V, NULL, NULL));
  PetscCall(PatchFDBasis(columns->degree, nq, x, U, D, NULL));
  PetscCall(CellsCreate(transpose ? columns : rows, &cells));
  PetscCall(BandCreate(&cells, transpose ? rows : columns, 0, b, &cell));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < m; j++) {
      const PetscInt to     = transpose ? j * n + i : i * m + j;
      PetscReal      sum[2] = {0, 0}; /* the mirror image, whose integral is the opposite one, too */

      for (PetscInt q = 0; q < nq; q++) {
        sum[0] += w[q] * V[q * n + i] * D[q * m + j];
        sum[1] += w[q] * V[q * n + n - 1 - i] * D[q * m + m - 1 - j];
      }
      for (PetscInt r = 0; r < b->nclass; r++) b->X[r * n * m + to] = 0.5 * kappa * (sum[0] - sum[1]);
    }
  }
  PetscCall(PetscFree(cell));
  PetscCall(CellsDestroy(&cells));
  PetscCall(PetscFree5(x, w, V, U, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The polynomials that are 1 at one of degree + 1 Gauss points and 0 at the others are orthogonal, and the weights are their squares */
PetscErrorCode PatchFDBandProjected(const PatchFDLine *line, PetscInt degree, PetscInt dv, PetscInt du, PatchFDBand *b)
{
  const PetscInt  n = line->degree + 1, m = degree + 1, nn = n * n;
  const PetscReal mirror = (dv + du) % 2 ? -1 : 1;
  PatchFDRule     rule, onto;
  PetscReal      *L, *C[2], *X;
  Cells           cells;
  PetscInt       *cell;

  PetscFunctionBegin;
  PetscCall(PatchFDRuleCreate(line->degree, n, &rule));
  PetscCall(PatchFDRuleCreate(line->degree, m, &onto));
  PetscCall(PetscMalloc4(n * m, &L, n * m, &C[0], n * m, &C[1], nn, &X));
  PetscCall(PatchFDRuleBasis(&onto, n, rule.x, L));
  for (PetscInt p = 0; p < m; p++) {
    for (PetscInt i = 0; i < n; i++) {
      C[0][p * n + i] = C[1][p * n + i] = 0;
      for (PetscInt q = 0; q < n; q++) {
        C[0][p * n + i] += rule.w[q] * L[q * m + p] * rule.B[q * n + i];
        C[1][p * n + i] += rule.w[q] * L[q * m + p] * rule.D[q * n + i];
      }
    }
  }
  for (PetscInt i = 0; i < nn; i++) {
    X[i] = 0;
    for (PetscInt p = 0; p < m; p++) X[i] += C[dv][p * n + i / n] * C[du][p * n + i % n] / onto.w[p];
  }
  PetscCall(CellsCreate(line, &cells));
  PetscCall(BandCreate(&cells, line, 0, b, &cell));
  for (PetscInt r = 0; r < b->nclass; r++)
    for (PetscInt i = 0; i < nn; i++)
      b->X[r * nn + i] = 0.5 * PetscPowRealInt(cells.h[cells.run[cell[r]]], 1 - (int)(dv + du)) * (X[i] + mirror * X[nn - 1 - i]);
  PetscCall(PetscFree(cell));
  PetscCall(CellsDestroy(&cells));
  PetscCall(PetscFree4(L, C[0], C[1], X));
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscCall(PatchFDRuleDestroy(&onto));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBandDirichlet(const PatchFDLine *line, PetscReal kappa, PetscReal boundary, PatchFDBand *b)
{
  Cells     cells;
  PetscInt *cell, n;

  PetscFunctionBegin;
  PetscCall(CellsCreate(line, &cells));
  PetscCall(BandCreate(&cells, line, 1, b, &cell)); /* so that the cells at the ends are classes of their own */
  b->reach = 0;
  n        = cells.n;
  for (PetscInt r = 0; r < b->nclass; r++) {
    const PetscReal h = cells.h[cells.run[cell[r]]];
    PetscReal      *X = b->X + r * n * n;

    for (int e = 0; e < 2; e++) {
      if (cell[r] != (e ? line->ncells - 1 : 0) || !line->dirichlet[e] || line->continuity == PATCHFD_CONTINUOUS) continue;
      for (PetscInt i = 0; i < n; i++) {
        for (PetscInt j = 0; j < n; j++)
          X[i * n + j] += kappa * EndValue(&cells, e, j) * (boundary / h * EndValue(&cells, e, i) - EndSlope(&cells, e, h, i));
      }
    }
  }
  PetscCall(PetscFree(cell));
  PetscCall(CellsDestroy(&cells));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBandBilaplace(const PatchFDLine *line, PetscReal kappa, PetscReal shift, PetscReal penalty, PetscReal boundary,
                                    PatchFDBand *b)
{
  Cells     cells;
  PetscInt *cell, n, ld;

  PetscFunctionBegin;
  PetscCall(CellsCreate(line, &cells));
  PetscCall(BandCreate(&cells, line, 1, b, &cell));
  n  = cells.n;
  ld = 3 * n;
  for (PetscInt r = 0; r < b->nclass; r++) {
    const PetscInt  c   = cell[r];
    const PetscReal h   = cells.h[cells.run[c]];
    PetscReal      *own = b->X + r * n * ld + n;

    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j < n; j++) own[i * ld + j] = kappa / (h * h * h) * cells.H[i * n + j] + shift * h * cells.M[i * n + j];
    }
    for (int e = 0; e < 2; e++) {
      const PetscInt neighbour = NeighbourRun(&cells, e ? c + 1 : c - 1);

      if (neighbour >= 0)
        AddVertexBending(&cells, c, e, kappa, 0.5 * penalty * (1 / h + 1 / cells.h[neighbour]), ld, own, e ? own + n : own - n);
      else if (line->clamped[e]) AddVertexBending(&cells, c, e, kappa, boundary / h, ld, own, NULL);
    }
  }
  PetscCall(PetscFree(cell));
  PetscCall(CellsDestroy(&cells));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLineEndLoad(const PatchFDLine *line, int e, PetscReal kappa, PetscReal boundary, PetscReal load[])
{
  Cells     cells;
  PetscReal h;

  PetscFunctionBegin;
  PetscCall(CellsCreate(line, &cells));
  h = cells.h[cells.run[e ? line->ncells - 1 : 0]];
  for (PetscInt i = 0; i < cells.n; i++)
    load[i] = kappa * (line->clamped[e] ? boundary / h * EndSlope(&cells, e, h, i) - EndBend(&cells, e, h, i) : EndSlope(&cells, e, h, i));
  PetscCall(CellsDestroy(&cells));
  PetscFunctionReturn(PETSC_SUCCESS);
}
