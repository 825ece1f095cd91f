static char help[] = "Tests the one-dimensional finite elements: quadrature, bases, cell matrices, embeddings, errors.\n\
  -test basis | cells | embedding | errors\n\
  -verbose: print what was measured, not only whether it is small\n";

#include "fe.h"

#define MAXDEGREE 20

/* --- basis ---------------------------------------------------------------------------------------------------------- */

/* How far x is from the root of L_k' next to it: one Newton step, x - L_k'(x) / L_k''(x), in extended precision */
static PetscReal LobattoDefect(PetscInt k, PetscReal x)
{
  const long double t = 2.0L * x - 1.0L;
  long double       p = 1.0L, q = 0.0L, d, dd;

  for (PetscInt j = 1; j <= k; j++) {
    const long double r = ((2 * j - 1) * t * p - (j - 1) * q) / j;

    q = p;
    p = r;
  }
  d  = k * (t * p - q) / (t * t - 1.0L);
  dd = (2.0L * t * d - k * (k + 1) * p) / (1.0L - t * t);
  return (PetscReal)(0.5L * d / dd);
}

static PetscErrorCode TestNodes(void)
{
  const PetscReal unit[]  = {0.0, 1.0};
  const PetscBool fixed[] = {PETSC_FALSE, PETSC_FALSE};
  PetscReal       x[MAXDEGREE + 1], lobatto = 0.0, ends = 0.0, mirror = 0.0;

  PetscFunctionBeginUser;
  for (PetscInt k = 1; k <= MAXDEGREE; k++) {
    PatchFDLine line;

    PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, k, 1, unit, fixed, &line));
    PetscCall(PatchFDLineNodes(&line, x));
    for (PetscInt i = 1; i < k; i++) Worst(&lobatto, LobattoDefect(k, x[i]));
    for (PetscInt i = 0; i <= k; i++) Worst(&mirror, x[i] + x[k - i] - 1.0);
    Worst(&ends, PetscMax(PetscAbsReal(x[0]), PetscAbsReal(x[k] - 1.0)));
    PetscCall(PatchFDLineDestroy(&line));
  }
  PetscCall(Report("nodes, degree 1..20, are Gauss-Lobatto points", lobatto, 1e-15));
  PetscCall(Report("nodes, degree 1..20, end at the ends", ends, 0.0));
  PetscCall(Report("nodes, degree 1..20, are symmetric", mirror, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTheBasis(void)
{
  const PetscInt npoints = 50;
  PetscReal      points[50], x[MAXDEGREE + 1], B[50 * (MAXDEGREE + 1)], D[50 * (MAXDEGREE + 1)], D2[50 * (MAXDEGREE + 1)];
  PetscReal      unity = 0.0, constants = 0.0, values = 0.0, derivatives = 0.0, second = 0.0, nodal = 0.0;
  PetscReal      unit[] = {0.0, 1.0};

  PetscFunctionBeginUser;
  for (PetscInt q = 0; q < npoints; q++) points[q] = 0.5 + 0.5 * Random();
  for (PetscInt k = 1; k <= MAXDEGREE; k++) {
    const PetscInt    n    = k + 1;
    const PatchFDLine line = {.degree = k, .stride = k, .nnodes = k + 1, .ncells = 1, .vertices = unit};

    PetscCall(PatchFDLineNodes(&line, x));
    points[0] = 1e-310; /* nearer to a node than can be divided by */
    points[1] = x[k / 2] + 2.0 * PETSC_MACHINE_EPSILON;
    PetscCall(PatchFDBasis(k, npoints, points, B, D, D2));
    for (PetscInt q = 0; q < npoints; q++) {
      PetscReal sum = 0.0, dsum = 0.0;

      for (PetscInt j = 0; j < n; j++) {
        sum += B[q * n + j];
        dsum += D[q * n + j];
      }
      Worst(&unity, sum - 1.0);
      Worst(&constants, dsum / (k * k));
      for (PetscInt m = 1; m <= k; m++) {
        PetscReal u = 0.0, du = 0.0, d2u = 0.0;

        for (PetscInt j = 0; j < n; j++) {
          u += B[q * n + j] * Power(x[j], m);
          du += D[q * n + j] * Power(x[j], m);
          d2u += D2[q * n + j] * Power(x[j], m);
        }
        Worst(&values, u - Power(points[q], m));
        Worst(&derivatives, (du - m * Power(points[q], m - 1)) / (k * k));
        Worst(&second, (d2u - (m < 2 ? 0.0 : m * (m - 1) * Power(points[q], m - 2))) / (k * k * k * k));
      }
    }
    PetscCall(PatchFDBasis(k, n, x, B, NULL, NULL));
    for (PetscInt i = 0; i < n * n; i++) Worst(&nodal, B[i] - (i % (n + 1) ? 0.0 : 1.0));
  }
  PetscCall(Report("basis, degree 1..20, sums to one", unity, 1e-14));
  PetscCall(Report("basis, degree 1..20, reproduces monomials", values, 2e-14));
  PetscCall(Report("basis, degree 1..20, is exact at the nodes", nodal, 0.0));
  PetscCall(Report("derivatives, degree 1..20, of a constant are zero", constants, 2e-14));
  PetscCall(Report("derivatives, degree 1..20, of monomials", derivatives, 2e-14));
  PetscCall(Report("second derivatives, degree 1..20, of monomials", second, 2e-14));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTabulate(void)
{
  PatchFDLine line;
  PetscReal   x[3 * MAXDEGREE], w[3 * MAXDEGREE], B[MAXDEGREE * 4], nodes[10];
  PetscReal   moments = 0.0, interpolated = 0.0;

  PetscFunctionBeginUser;
  PetscCall(MakeLine(3, 3, GRADED, PETSC_FALSE, PETSC_FALSE, &line));
  PetscCall(PatchFDLineNodes(&line, nodes));
  for (PetscInt nq = 1; nq <= MAXDEGREE; nq++) {
    const PetscReal a = line.vertices[0], b = line.vertices[3];

    PetscCall(PatchFDLineTabulate(&line, nq, x, w, B, NULL, NULL));
    for (PetscInt m = 0; m < 2 * nq; m++) {
      PetscReal sum = 0.0;

      for (PetscInt q = 0; q < 3 * nq; q++) sum += w[q] * Power(x[q], m);
      Worst(&moments, (sum - (Power(b, m + 1) - Power(a, m + 1)) / (m + 1)) / Power(b, m + 1));
    }
    for (PetscInt q = 0; q < 3 * nq; q++) {
      PetscReal u = 0.0;

      for (PetscInt j = 0; j < 4; j++) u += B[(q % nq) * 4 + j] * Power(nodes[q / nq * 3 + j], 3);
      Worst(&interpolated, u - Power(x[q], 3));
    }
  }
  PetscCall(Report("quadrature, 1..20 points, is exact on a graded line", moments, 4e-15));
  PetscCall(Report("tabulated cubic basis belongs to the points", interpolated, 4e-15));
  PetscCall(PatchFDLineDestroy(&line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- cells ---------------------------------------------------------------------------------------------------------- */

/* Scaled difference of X and known entries */
static PetscReal Difference(PetscInt n, const PetscReal X[], PetscReal scale, const PetscReal known[])
{
  PetscReal worst = 0.0;

  for (PetscInt i = 0; i < n; i++) Worst(&worst, X[i] / scale - known[i]);
  return worst;
}

static PetscErrorCode TestKnownMatrices(void)
{
  const PetscReal M1[] = {2, 1, 1, 2}, A1[] = {1, -1, -1, 1};
  const PetscReal M2[] = {4, 2, -1, 2, 16, 2, -1, 2, 4}, A2[] = {7, -8, 1, -8, 16, -8, 1, -8, 7};
  const PetscReal h = 0.25;
  PatchFDLine     line;
  Matrices        cells;

  PetscFunctionBeginUser;
  PetscCall(MakeLine(1, 4, UNIFORM, PETSC_TRUE, PETSC_TRUE, &line));
  PetscCall(MatricesCreate(&line, 1.0, 0.0, &cells));
  PetscCall(Report("Q1 mass is h/6 [2 1; 1 2]", Difference(4, cells.M.X, h / 6.0, M1), 2e-15));
  PetscCall(Report("Q1 stiffness is 1/h [1 -1; -1 1]", Difference(4, cells.A.X, 1.0 / h, A1), 2e-15));
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&line));
  PetscCall(MakeLine(2, 4, UNIFORM, PETSC_TRUE, PETSC_TRUE, &line));
  PetscCall(MatricesCreate(&line, 1.0, 0.0, &cells));
  PetscCall(Report("Q2 mass is h/30 [4 2 -1; 2 16 2; -1 2 4]", Difference(9, cells.M.X, h / 30.0, M2), 2e-14));
  PetscCall(Report("Q2 stiffness is 1/(3h) [7 -8 1; -8 16 -8; 1 -8 7]", Difference(9, cells.A.X, 1.0 / (3.0 * h), A2), 2e-14));
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x^a' M x^b and x^a' A x^b on one cell [0, h] against the integrals of monomials; symmetry and mirror symmetry are exact */
static PetscErrorCode TestMonomials(void)
{
  const PetscReal kappa = 0.7, shift = 1.3, h = 1.25;
  PetscReal       v[] = {0.0, h}, x[13], mass = 0.0, stiffness = 0.0, symmetry = 0.0;

  PetscFunctionBeginUser;
  for (PetscInt k = 1; k <= 12; k++) {
    const PetscInt    n    = k + 1;
    const PatchFDLine line = {.degree = k, .stride = k, .nnodes = k + 1, .ncells = 1, .vertices = v};
    Matrices          cells;

    PetscCall(MatricesCreate(&line, kappa, shift, &cells));
    PetscCall(PatchFDLineNodes(&line, x));
    for (PetscInt a = 0; a <= k; a++) {
      for (PetscInt b = 0; b <= k; b++) {
        const PetscReal scale = Power(h, a + b + 1), exactM = scale / (a + b + 1);
        const PetscReal exactA = kappa * (a && b ? a * b * scale / (h * h) / (a + b - 1) : 0.0) + shift * exactM;
        PetscReal       sumM = 0.0, sumA = 0.0;

        for (PetscInt i = 0; i < n; i++) {
          for (PetscInt j = 0; j < n; j++) {
            sumM += Power(x[i], a) * cells.M.X[i * n + j] * Power(x[j], b);
            sumA += Power(x[i], a) * cells.A.X[i * n + j] * Power(x[j], b);
          }
        }
        Worst(&mass, (sumM - exactM) / scale);
        Worst(&stiffness, (sumA - exactA) / scale / (k * k));
      }
    }
    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j < n; j++) {
        Worst(&symmetry, cells.M.X[i * n + j] - cells.M.X[j * n + i]);
        Worst(&symmetry, cells.A.X[i * n + j] - cells.A.X[j * n + i]);
        Worst(&symmetry, cells.M.X[i * n + j] - cells.M.X[(k - i) * n + k - j]);
        Worst(&symmetry, cells.A.X[i * n + j] - cells.A.X[(k - i) * n + k - j]);
      }
    }
    PetscCall(MatricesDestroy(&cells));
  }
  PetscCall(Report("M, degree 1..12", mass, 4e-15));
  PetscCall(Report("A, degree 1..12", stiffness, 4e-14));
  PetscCall(Report("M and A, degree 1..12, are symmetric both ways", symmetry, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountClasses(PetscInt degree, PetscInt ncells, PetscReal lower, PetscReal length, PetscReal grading, PetscInt *nclass,
                                   PetscReal *defect)
{
  const PetscBool fixed[] = {PETSC_TRUE, PETSC_TRUE};
  PetscReal      *v, total = 0.0;
  PatchFDLine     line;
  Matrices        cells;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(ncells + 1, &v));
  for (PetscInt c = 0; c <= ncells; c++) v[c] = lower + length * PetscPowReal((PetscReal)c / ncells, grading);
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, degree, ncells, v, fixed, &line));
  PetscCall(MatricesCreate(&line, 1.0, 0.0, &cells));
  for (PetscInt c = 0; c < ncells; c++) {
    for (PetscInt i = 0; i < cells.M.nloc * cells.M.nloc; i++) total += cells.M.X[cells.M.cls[c] * cells.M.nloc * cells.M.nloc + i];
  }
  *nclass = cells.M.nclass;
  *defect = PetscAbsReal(total / length - 1.0);
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&line));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestClasses(void)
{
  PetscInt    nclass = 0;
  PetscReal   defect, worst = 0.0;
  PatchFDLine line;
  Matrices    cells;

  PetscFunctionBeginUser;
  PetscCall(CountClasses(3, 4096, 0.0, 1.0, 1.0, &nclass, &defect));
  Worst(&worst, defect);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "classes of cells: uniform %" PetscInt_FMT, nclass));
  PetscCall(CountClasses(1, 3000, 1000.0, 0.7, 1.0, &nclass, &defect));
  Worst(&worst, defect);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, ", uniform far from the origin %" PetscInt_FMT, nclass));
  PetscCall(CountClasses(2, 32, 0.0, 1.0, 1.5, &nclass, &defect));
  Worst(&worst, defect);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, ", 32 graded %" PetscInt_FMT, nclass));
  PetscCall(MakeLine(2, 8, PIECEWISE, PETSC_TRUE, PETSC_TRUE, &line));
  PetscCall(MatricesCreate(&line, 1.0, 0.0, &cells));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, ", two lengths %" PetscInt_FMT "\n", cells.M.nclass));
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&line));
  PetscCall(Report("sum of M over all cells is the length", worst, 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPoint(void)
{
  const PetscReal vertices[] = {0.4, 0.4};
  const PetscBool fixed[]    = {PETSC_TRUE, PETSC_FALSE};
  PetscReal       x, xq, w, B, wrong = 0.0;
  PetscInt        first, end;
  PatchFDLine     line;
  Matrices        cells;
  PatchFDPatches  patches;
  PatchFDEigen    eigen;

  PetscFunctionBeginUser;
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 0, 1, vertices, fixed, &line));
  PetscCall(PatchFDLineNodes(&line, &x));
  PetscCall(PatchFDLineTabulate(&line, 1, &xq, &w, &B, NULL, NULL));
  PatchFDLineFree(&line, &first, &end);
  Worst(&wrong, x - 0.4);
  Worst(&wrong, xq - 0.4);
  Worst(&wrong, w - 1.0);
  Worst(&wrong, B - 1.0);
  Worst(&wrong, (PetscReal)(PetscAbsInt(first) + PetscAbsInt(end - 1)));
  PetscCall(MatricesCreate(&line, 3.0, 0.0, &cells));
  Worst(&wrong, cells.M.X[0] - 1.0);
  Worst(&wrong, cells.A.X[0]);
  PetscCall(PatchFDPatchesCreate(&line, &cells.M, &cells.A, &patches));
  PetscCall(PatchFDLineEigenCreate(&line, &cells.M, &cells.A, &eigen));
  Worst(&wrong,
        (PetscReal)(PetscAbsInt(patches.npatch - 1) + PetscAbsInt(patches.nclass - 1) + PetscAbsInt(patches.n[0] - 1) + patches.first[0]));
  Worst(&wrong, PetscAbsReal(patches.eigen[0].S[0]) - 1.0);
  Worst(&wrong, patches.eigen[0].S[0] * patches.eigen[0].T[0] - 1.0);
  Worst(&wrong, patches.eigen[0].lambda[0]);
  for (int e = 0; e < 2; e++) {
    Worst(&wrong, patches.eigen[0].mu[e][0]);
    Worst(&wrong, patches.eigen[0].alpha[e][0]);
  }
  for (PetscInt i = 0; i < 3; i++) {
    Worst(&wrong, patches.eigen[0].MI[i] - (i == 1 ? 1.0 : 0.0));
    Worst(&wrong, patches.eigen[0].AI[i]);
  }
  Worst(&wrong, eigen.S[0] * eigen.T[0] - 1.0);
  Worst(&wrong, eigen.lambda[0]);
  PetscCall(PatchFDEigenDestroy(&eigen));
  PetscCall(PatchFDPatchesDestroy(&patches));
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&line));
  PetscCall(Report("a point", wrong, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- embedding ------------------------------------------------------------------------------------------------------ */

/* A line of the same interval with cells halved, at their middle or (graded) elsewhere */
static PetscErrorCode Halve(const PatchFDLine *coarse, PetscInt degree, Spacing spacing, PatchFDLine *fine)
{
  PetscReal v[MAXCELLS + 1];

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < coarse->ncells; c++) {
    const PetscReal s = spacing == GRADED ? 0.4 + 0.03 * c : 0.5;

    v[2 * c]     = coarse->vertices[c];
    v[2 * c + 1] = (1.0 - s) * coarse->vertices[c] + s * coarse->vertices[c + 1];
  }
  v[2 * coarse->ncells] = coarse->vertices[coarse->ncells];
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, degree, 2 * coarse->ncells, v, coarse->dirichlet, fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same, but for the cell at an end, which remains whole */
static PetscErrorCode HalveButOne(const PatchFDLine *coarse, PetscInt degree, Spacing spacing, int end, PatchFDLine *fine)
{
  PatchFDLine    all;
  const PetscInt n = 2 * coarse->ncells;

  PetscFunctionBeginUser;
  PetscCall(Halve(coarse, degree, spacing, &all));
  if (end) all.vertices[n - 1] = all.vertices[n];
  else all.vertices[1] = all.vertices[0];
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, degree, n - 1, all.vertices + !end, coarse->dirichlet, fine));
  PetscCall(PatchFDLineDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fine = P coarse; nodes that two coarse cells share have to get the same value from both: the largest difference is returned */
static PetscReal Embed(const PatchFDEmbedding *e, const PetscReal coarse[], PetscReal fine[])
{
  PetscReal jump = 0.0;

  for (PetscInt c = 0; c < e->ncells; c++) {
    for (PetscInt i = 0; i < e->nf; i++) {
      const PetscReal *row = e->P + (e->cls[c] * e->nf + i) * e->nc;
      PetscReal        sum = 0.0;

      for (PetscInt j = 0; j < e->nc; j++) sum += row[j] * coarse[c * (e->nc - 1) + j];
      if (c > 0 && i == 0) Worst(&jump, sum - fine[c * (e->nf - 1)]);
      fine[c * (e->nf - 1) + i] = sum;
    }
  }
  return jump;
}

typedef struct {
  PetscReal polynomials, jumps, levels, shapes;
} EmbeddingDefects;

/* x^m, m up to the coarse degree, is embedded exactly */
static PetscErrorCode CheckEmbedding(const PatchFDLine *coarse, const PatchFDLine *fine, EmbeddingDefects *d)
{
  PetscReal        xc[MAXCELLS * MAXDEGREE + 1], xf[MAXCELLS * MAXDEGREE + 1], uc[MAXCELLS * MAXDEGREE + 1], uf[MAXCELLS * MAXDEGREE + 1];
  PatchFDEmbedding e;
  PetscInt         before;

  PetscFunctionBeginUser;
  PetscCall(PatchFDEmbeddingCreate(coarse, fine, &e));
  PetscCall(PatchFDLineNodes(coarse, xc));
  PetscCall(PatchFDLineNodes(fine, xf));
  before = e.before * fine->degree;
  Worst(&d->shapes, (PetscReal)(e.ncells * (e.nf - 1) - (e.ratio * e.ncells - fine->ncells) * fine->degree + 1 - fine->nnodes));
  for (PetscInt m = 0; m <= coarse->degree; m++) {
    for (PetscInt i = 0; i < coarse->nnodes; i++) uc[i] = Power(xc[i], m);
    Worst(&d->jumps, Embed(&e, uc, uf));
    for (PetscInt i = 0; i < fine->nnodes; i++)
      Worst(&d->polynomials, (uf[before + i] - Power(xf[i], m)) / Power(PetscMax(xf[fine->nnodes - 1], 1.0), m));
  }
  PetscCall(PatchFDEmbeddingDestroy(&e));
  PetscCall(PatchFDEmbeddingDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random coarse function embedded in two steps is still the coarse function: compare at points of the finest line's cells */
static PetscErrorCode CheckLevels(const PatchFDLine lines[3], EmbeddingDefects *d)
{
  PetscReal        u[3][MAXCELLS * MAXDEGREE + 1], x[MAXCELLS * MAXDEGREE + 1], B[MAXDEGREE + 1];
  PatchFDEmbedding e;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < lines[0].nnodes; i++) u[0][i] = Random();
  for (int l = 1; l < 3; l++) {
    PetscCall(PatchFDEmbeddingCreate(&lines[l - 1], &lines[l], &e));
    Worst(&d->jumps, Embed(&e, u[l - 1], u[l]));
    PetscCall(PatchFDEmbeddingDestroy(&e));
  }
  PetscCall(PatchFDLineNodes(&lines[2], x));
  for (PetscInt i = 0; i < lines[2].nnodes; i++) {
    const PetscReal *v = lines[0].vertices;
    const PetscInt   k = lines[0].degree;
    PetscInt         c = 0;
    PetscReal        t, sum = 0.0;

    while (c < lines[0].ncells - 1 && x[i] >= v[c + 1]) c++;
    t = (x[i] - v[c]) / (v[c + 1] - v[c]);
    PetscCall(PatchFDBasis(k, 1, &t, B, NULL, NULL));
    for (PetscInt j = 0; j <= k; j++) sum += B[j] * u[0][c * k + j];
    Worst(&d->levels, u[2][i] - sum);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestEmbeddings(void)
{
  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= GRADED; spacing++) {
    EmbeddingDefects d = {0};

    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", spacings[spacing]));
    for (PetscInt k = 1; k <= 8; k++) {
      for (PetscInt ncells = 1; ncells <= 5; ncells++) {
        for (PetscInt raise = 0; raise <= 2; raise++) {
          PatchFDLine lines[3], same;

          PetscCall(MakeLine(k, ncells, (Spacing)spacing, PETSC_TRUE, PETSC_FALSE, &lines[0]));
          PetscCall(Halve(&lines[0], k + raise, (Spacing)spacing, &lines[1]));
          PetscCall(Halve(&lines[1], k + raise, (Spacing)spacing, &lines[2]));
          PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, k + raise, ncells, lines[0].vertices, lines[0].dirichlet, &same));
          PetscCall(CheckEmbedding(&lines[0], &lines[1], &d));
          PetscCall(CheckEmbedding(&lines[1], &lines[2], &d));
          PetscCall(CheckEmbedding(&lines[0], &same, &d));
          PetscCall(CheckLevels(lines, &d));
          for (int end = 0; end < 2 && ncells > 1; end++) {
            PatchFDLine odd;

            PetscCall(HalveButOne(&lines[0], k + raise, (Spacing)spacing, end, &odd));
            PetscCall(CheckEmbedding(&lines[0], &odd, &d));
            PetscCall(PatchFDLineDestroy(&odd));
          }
          for (int l = 0; l < 3; l++) PetscCall(PatchFDLineDestroy(&lines[l]));
          PetscCall(PatchFDLineDestroy(&same));
        }
      }
    }
    PetscCall(Report("  sizes", d.shapes, 0.0));
    PetscCall(Report("  polynomials are reproduced", d.polynomials, 1e-14));
    PetscCall(Report("  shared nodes get one value", d.jumps, 0.0));
    PetscCall(Report("  two levels are one function", d.levels, 2e-13));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q1 halved is [1 0; 1/2 1/2; 0 1], same degree and cells the identity, a point in a point 1: all exactly, in one class */
static PetscErrorCode TestKnownEmbeddings(void)
{
  const PetscReal  half[] = {1.0, 0.0, 0.5, 0.5, 0.0, 1.0}, at[] = {0.1, 0.1};
  const PetscBool  fixed[]  = {PETSC_FALSE, PETSC_FALSE};
  PetscReal        identity = 0.0;
  PatchFDLine      coarse, fine, point;
  PatchFDEmbedding e;

  PetscFunctionBeginUser;
  PetscCall(MakeLine(1, 20, UNIFORM, PETSC_TRUE, PETSC_TRUE, &coarse));
  PetscCall(Halve(&coarse, 1, UNIFORM, &fine));
  PetscCall(PatchFDEmbeddingCreate(&coarse, &fine, &e));
  PetscCall(Report("Q1 in halved cells", Difference(6, e.P, 1.0, half) + (PetscReal)(e.nclass - 1), 0.0));
  PetscCall(PatchFDEmbeddingDestroy(&e));
  PetscCall(PatchFDLineDestroy(&coarse));
  PetscCall(PatchFDLineDestroy(&fine));

  PetscCall(MakeLine(7, 4, GRADED, PETSC_TRUE, PETSC_TRUE, &coarse));
  PetscCall(PatchFDEmbeddingCreate(&coarse, &coarse, &e));
  for (PetscInt i = 0; i < 64; i++) Worst(&identity, e.P[i] - (i % 9 ? 0.0 : 1.0));
  PetscCall(Report("Q7 in itself", identity + (PetscReal)(e.nclass - 1), 0.0));
  PetscCall(PatchFDEmbeddingDestroy(&e));
  PetscCall(PatchFDLineDestroy(&coarse));

  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 0, 1, at, fixed, &point));
  PetscCall(PatchFDEmbeddingCreate(&point, &point, &e));
  PetscCall(Report("point in point", PetscAbsReal(e.P[0] - 1.0) + (PetscReal)(e.nclass * e.nf * e.nc * e.ratio - 1), 0.0));
  PetscCall(PatchFDEmbeddingDestroy(&e));
  PetscCall(PatchFDLineDestroy(&point));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- bad input ------------------------------------------------------------------------------------------------------ */

static PetscErrorCode Expect(const char what[], PetscErrorCode got, PetscErrorCode expected)
{
  PetscFunctionBeginUser;
  if (got == expected) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: ok\n", what));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: FAILED, error %d instead of %d\n", what, (int)got, (int)expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(void)
{
  const PetscReal  v[] = {0.0, 0.5, 1.0, 2.0}, equal[] = {0.0, 0.5, 0.5}, down[] = {0.0, 1.0, 0.5}, off[] = {0.0, 0.6, 1.0};
  PetscReal        nan[] = {0.0, 0.5, 1.0}, inf[] = {0.0, 0.5, 1.0}, x[4], w[4], B[8];
  const PetscBool  fixed[] = {PETSC_TRUE, PETSC_TRUE};
  PatchFDLine      line, two, three, moved, quadratic, point;
  Matrices         cells;
  PatchFDPatches   patches;
  PatchFDEigen     eigen;
  PatchFDEmbedding e;

  PetscFunctionBeginUser;
  nan[1] = NAN;
  inf[2] = INFINITY;
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 2, v, fixed, &two));
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 3, v, fixed, &three));
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 2, off, fixed, &moved));
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 2, 2, v, fixed, &quadratic));
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 0, 1, v, fixed, &point));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(Expect("degree -1", PatchFDLineCreate(PATCHFD_CONTINUOUS, -1, 2, v, fixed, &line), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("degree 0 with two cells", PatchFDLineCreate(PATCHFD_CONTINUOUS, 0, 2, v, fixed, &line), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("no cells", PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 0, v, fixed, &line), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("equal vertices", PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 2, equal, fixed, &line), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("decreasing vertices", PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 2, down, fixed, &line), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("vertex not a number", PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 2, nan, fixed, &line), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("infinite vertex", PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, 2, inf, fixed, &line), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("destroy after failure", PatchFDLineDestroy(&line), PETSC_SUCCESS));
  PetscCall(Expect("basis of degree -1", PatchFDBasis(-1, 1, v, B, NULL, NULL), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("no quadrature points", PatchFDLineTabulate(&two, 0, x, w, B, NULL, NULL), PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(Expect("three cells in two", PatchFDEmbeddingCreate(&two, &three, &e), PETSC_ERR_ARG_INCOMP));
  PetscCall(Expect("coarser than coarse", PatchFDEmbeddingCreate(&three, &two, &e), PETSC_ERR_ARG_INCOMP));
  PetscCall(Expect("moved vertex", PatchFDEmbeddingCreate(&two, &moved, &e), PETSC_ERR_ARG_INCOMP));
  PetscCall(Expect("degree 2 in degree 1", PatchFDEmbeddingCreate(&quadratic, &two, &e), PETSC_ERR_ARG_INCOMP));
  PetscCall(Expect("point in line", PatchFDEmbeddingCreate(&point, &two, &e), PETSC_ERR_ARG_INCOMP));
  PetscCall(Expect("destroy after failure", PatchFDEmbeddingDestroy(&e), PETSC_SUCCESS));
  PetscCall(MatricesCreate(&two, 1.0, 0.0, &cells));
  for (PetscInt i = 0; i < 4; i++) cells.M.X[i] = -cells.M.X[i];
  PetscCall(Expect("negative mass", PatchFDPatchesCreate(&two, &cells.M, &cells.A, &patches), PETSC_ERR_LIB));
  PetscCall(Expect("negative mass of a line", PatchFDLineEigenCreate(&two, &cells.M, &cells.A, &eigen), PETSC_ERR_LIB));
  PetscCall(Expect("destroy after failure", PatchFDPatchesDestroy(&patches), PETSC_SUCCESS));
  PetscCall(Expect("destroy after failure", PatchFDEigenDestroy(&eigen), PETSC_SUCCESS));
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&two));
  PetscCall(PatchFDLineDestroy(&three));
  PetscCall(PatchFDLineDestroy(&moved));
  PetscCall(PatchFDLineDestroy(&quadratic));
  PetscCall(PatchFDLineDestroy(&point));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program ---- */

static PetscErrorCode TestBasis(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestNodes());
  PetscCall(TestTheBasis());
  PetscCall(TestTabulate());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCells(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestKnownMatrices());
  PetscCall(TestMonomials());
  PetscCall(TestClasses());
  PetscCall(TestPoint());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestEmbedding(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestEmbeddings());
  PetscCall(TestKnownEmbeddings());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"basis", TestBasis}, {"cells", TestCells}, {"embedding", TestEmbedding}, {"errors", TestErrors}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(RunTest(PETSC_STATIC_ARRAY_LENGTH(tests), tests, "basis"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: basis
    args: -test basis
  test:
    suffix: cells
    args: -test cells
  test:
    suffix: embedding
    args: -test embedding
  test:
    suffix: errors
    args: -test errors -malloc_dump 0

TEST*/
