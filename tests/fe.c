static char help[] = "Tests the one-dimensional finite elements: quadrature, bases, cell matrices, patch eigenproblems, embeddings.\n\
  -part basis,cells,patches,line,embedding,solve,discontinuous,bending,spaces,errors   what to test\n\
  -verbose                                                print what was measured, not only whether it is small\n";

#include <petscsys.h>
#include <patchfd/private/fe.h>
#include <lapacke.h>

#define MAXDEGREE 20
#define MAXCELLS  64

static PetscBool verbose = PETSC_FALSE;

/* One line of output for one property: it holds when `measured` is at most `allowed` (a quantity that is not a number fails) */
static PetscErrorCode Report(const char what[], PetscReal measured, PetscReal allowed)
{
  PetscFunctionBeginUser;
  if (measured <= allowed) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: ok", what));
    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_SELF, " (%.1e of %.1e)", (double)measured, (double)allowed));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  } else PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: FAILED, %g is more than %g\n", what, (double)measured, (double)allowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest of *worst and |error|; what is not a number stays */
static void Worst(PetscReal *worst, PetscReal error)
{
  if (!PetscIsNanReal(*worst) && !(PetscAbsReal(error) <= *worst)) *worst = PetscAbsReal(error);
}

static PetscReal Power(PetscReal x, PetscInt n)
{
  PetscReal p = 1.0;

  while (n-- > 0) p *= x;
  return p;
}

/* A repeatable random number in (-1, 1) */
static PetscReal Random(void)
{
  static unsigned long long state = 1;

  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (PetscReal)(state >> 11) / 4503599627370496.0 - 1.0;
}

/* The lines that patches and matrices are tested on */
typedef enum {
  UNIFORM,
  GRADED,
  PIECEWISE /* the first half of the cells is twice as long as the others */
} Spacing;
static const char *const spacings[] = {"uniform", "graded", "piecewise"};

static PetscErrorCode MakeLine(PetscInt degree, PetscInt ncells, Spacing spacing, PetscBool lower, PetscBool upper, PatchFDLine *line)
{
  const PetscBool fixed[] = {lower, upper};
  PetscReal       v[MAXCELLS + 1];

  PetscFunctionBeginUser;
  v[0] = -0.3;
  for (PetscInt c = 0; c < ncells; c++) {
    const PetscReal h = spacing == GRADED ? Power(1.2, c) : (spacing == PIECEWISE && c < ncells / 2 ? 2.0 : 1.0);

    v[c + 1] = v[c] + h / ncells;
  }
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, degree, ncells, v, fixed, line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* mass and kappa * stiffness + shift * mass of a line */
typedef struct {
  PatchFDBand M, A;
} Matrices;

static PetscErrorCode MatricesCreate(const PatchFDLine *line, PetscReal kappa, PetscReal shift, Matrices *m)
{
  const PetscReal penalty = (PetscReal)(line->degree * (line->degree + 1));

  PetscFunctionBeginUser;
  PetscCall(PatchFDBandMass(line, &m->M));
  PetscCall(PatchFDBandLaplace(line, kappa, shift, penalty, 2 * penalty, &m->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatricesDestroy(Matrices *m)
{
  PetscFunctionBeginUser;
  PetscCall(PatchFDBandDestroy(&m->M));
  PetscCall(PatchFDBandDestroy(&m->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

static PetscErrorCode TestBasis(void)
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
  PetscInt    nclass;
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

/* --- patches -------------------------------------------------------------------------------------------------------- */

/* The global matrix of a band, fixed nodes included, X[nodes of the rows][nodes of the columns]; the caller frees */
static PetscErrorCode GlobalMatrix(const PatchFDBand *b, PetscReal **X)
{
  const PetscInt n = b->nloc, m = b->ncol, width = (2 * b->reach + 1) * m, N = (b->ncells - 1) * b->stride + n,
                 M = (b->ncells - 1) * b->cstride + m;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(N * M, X));
  for (PetscInt c = 0; c < b->ncells; c++) {
    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j < width; j++) {
        const PetscInt column = (c - b->reach + j / m) * b->cstride + j % m;

        if (column >= 0 && column < M) (*X)[(c * b->stride + i) * M + column] += b->X[(b->cls[c] * n + i) * width + j];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is checked about eigenproblems, the worst of all lines */
typedef struct {
  PetscReal mass, stiffness, inverse, order, parity, closure, mu, alpha, nullspace, cover, classes;
} Defects;

/* S' M S = 1, S' A S = diag(lambda), T S = 1, the order of the modes and their parity.  X_II has rows of length ld */
static void CheckModes(const PatchFDEigen *e, const PetscReal M[], const PetscReal A[], PetscInt ld, Defects *d)
{
  const PetscInt n = e->n, even = (n + 1) / 2;
  PetscReal      scale = 0.0;

  for (PetscInt j = 0; j < n; j++) scale = PetscMax(scale, PetscAbsReal(e->lambda[j]));
  if (scale == 0.0) scale = 1.0;
  for (PetscInt a = 0; a < n; a++) {
    for (PetscInt b = 0; b < n; b++) {
      PetscReal sms = 0.0, sas = 0.0, ts = 0.0;

      for (PetscInt i = 0; i < n; i++) {
        for (PetscInt j = 0; j < n; j++) {
          sms += e->S[i * n + a] * M[i * ld + j] * e->S[j * n + b];
          sas += e->S[i * n + a] * A[i * ld + j] * e->S[j * n + b];
        }
        ts += e->T[a * n + i] * e->S[i * n + b];
      }
      Worst(&d->mass, sms - (a == b));
      Worst(&d->stiffness, (sas - (a == b ? e->lambda[a] : 0.0)) / scale);
      Worst(&d->inverse, ts - (a == b));
    }
  }
  for (PetscInt j = 1; j < n; j++) {
    if (!(e->parity && j == even)) Worst(&d->order, PetscMax(e->lambda[j - 1] - e->lambda[j], 0.0));
  }
  if (!e->parity) return;
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) {
      Worst(&d->parity, e->S[(n - 1 - i) * n + j] - (j < even ? 1 : -1) * e->S[i * n + j]);
      Worst(&d->parity, e->T[j * n + n - 1 - i] - (j < even ? 1 : -1) * e->T[j * n + i]);
    }
  }
}

/* MI and AI against the global matrices, mu and alpha against their definition */
static void CheckNeighbours(const PatchFDEigen *e, PetscInt row, PetscInt N, const PetscReal M[], const PetscReal A[], Defects *d)
{
  const PetscInt n = e->n, ld = n + 2;
  PetscReal      scale = 0.0;

  for (PetscInt i = 0; i < n * ld; i++) scale = PetscMax(scale, PetscAbsReal(e->AI[i]));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < ld; j++) {
      const PetscInt  col    = row - 1 + j;
      const PetscBool exists = (PetscBool)(col >= 0 && col < N);

      Worst(&d->closure, e->MI[i * ld + j] - (exists ? M[(row + i) * N + col] : 0.0));
      Worst(&d->closure, (e->AI[i * ld + j] - (exists ? A[(row + i) * N + col] : 0.0)) / scale);
    }
  }
  for (int end = 0; end < 2; end++) {
    const PetscInt col = end ? row + n : row - 1;

    for (PetscInt j = 0; j < n; j++) {
      PetscReal mu = 0.0, alpha = 0.0;

      for (PetscInt i = 0; i < n && col >= 0 && col < N; i++) {
        mu += e->S[i * n + j] * M[(row + i) * N + col];
        alpha += e->S[i * n + j] * A[(row + i) * N + col];
      }
      Worst(&d->mu, e->mu[end][j] - mu);
      Worst(&d->alpha, (e->alpha[end][j] - (alpha - e->lambda[j] * mu)) / scale);
      if (e->parity) {
        Worst(&d->parity, e->mu[1][j] - (j < (n + 1) / 2 ? 1 : -1) * e->mu[0][j]);
        Worst(&d->parity, e->alpha[1][j] - (j < (n + 1) / 2 ? 1 : -1) * e->alpha[0][j]);
      }
    }
  }
}

/* Patch i is the two cells around interior vertex i + 1 with the free ends that it reaches; together they cover what is free */
static void CheckCover(const PatchFDLine *line, const PatchFDPatches *p, Defects *d)
{
  const PetscInt k = line->degree, N = line->nnodes;
  PetscInt       first, end, expected = PetscMax(line->ncells - 1, 1);

  PatchFDLineFree(line, &first, &end);
  if (end <= first) expected = 0;
  Worst(&d->cover, (PetscReal)(p->npatch - expected));
  for (PetscInt i = 0; i < p->npatch; i++) {
    const PetscInt last = PetscMin(i + 2, line->ncells) * k;
    const PetscInt lo = i == 0 && !line->dirichlet[0] ? 0 : i * k + 1, hi = last == N - 1 && !line->dirichlet[1] ? last : last - 1;

    Worst(&d->cover, (PetscReal)(p->cell[i] - i));
    Worst(&d->cover, (PetscReal)(p->first[i] - lo));
    Worst(&d->cover, (PetscReal)(p->first[i] + p->n[i] - 1 - hi));
    Worst(&d->cover, (PetscReal)(p->n[i] - p->eigen[p->cls[i]].n));
    Worst(&d->cover, PetscMax(0.0, (PetscReal)(1 - p->n[i])));
    if (i > 0) Worst(&d->cover, PetscMax(0.0, (PetscReal)(p->first[i] - p->first[i - 1] - p->n[i - 1])));
  }
  if (p->npatch == 0) return;
  Worst(&d->cover, (PetscReal)(p->first[0] - first));
  Worst(&d->cover, (PetscReal)(p->first[p->npatch - 1] + p->n[p->npatch - 1] - end));
}

/* How many classes of patches a line of three cells or more has */
static PetscInt ExpectedClasses(const PatchFDLine *line, Spacing spacing)
{
  if (line->ncells < 3) return line->ncells == 2 || line->nnodes - line->dirichlet[0] - line->dirichlet[1] > 0;
  if (spacing == GRADED) return line->ncells - 1;
  if (spacing == UNIFORM) {
    const PetscInt special = !line->dirichlet[0] + !line->dirichlet[1];

    return special + (line->ncells - 1 > special);
  }
  return -1;
}

static PetscErrorCode CheckPatches(const PatchFDLine *line, Spacing spacing, const Matrices *cells, const PetscReal M[],
                                   const PetscReal A[], Defects *d)
{
  const PetscInt N = line->nnodes, classes = ExpectedClasses(line, spacing);
  PatchFDPatches patches;

  PetscFunctionBeginUser;
  PetscCall(PatchFDPatchesCreate(line, &cells->M, &cells->A, &patches));
  CheckCover(line, &patches, d);
  if (classes >= 0) Worst(&d->classes, (PetscReal)(patches.nclass - classes));
  for (PetscInt i = 0; i < patches.npatch; i++) {
    const PatchFDEigen *e     = &patches.eigen[patches.cls[i]];
    const PetscBool     below = (PetscBool)(patches.first[i] > 0), above = (PetscBool)(patches.first[i] + patches.n[i] < N);
    const PetscInt      c = patches.cell[i], last = PetscMin(c + 1, line->ncells - 1);

    CheckModes(e, e->MI + 1, e->AI + 1, e->n + 2, d);
    CheckNeighbours(e, patches.first[i], N, M, A, d);
    /* parity exactly where cells and ends mirror each other */
    Worst(&d->classes, (PetscReal)(e->parity != (cells->A.cls[c] == cells->A.cls[last] && below == above)));
    /* one patch that holds the whole line and is not fixed: its constants have lambda = 0, all others are positive */
    for (PetscInt j = 0; j < e->n; j++) {
      const PetscBool constant = (PetscBool)(!below && !above && j == 0);

      Worst(&d->nullspace, constant ? e->lambda[j] : (e->lambda[j] > 0.1 ? 0.0 : 1.0));
    }
  }
  PetscCall(PatchFDPatchesDestroy(&patches));
  PetscCall(PatchFDPatchesDestroy(&patches));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReportDefects(const char what[], PetscBool patches, const Defects *d)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", what));
  PetscCall(Report("  S' M S = 1", d->mass, 2e-13));
  PetscCall(Report("  S' A S = diag(lambda)", d->stiffness, 1e-13));
  PetscCall(Report("  T S = 1", d->inverse, 2e-13));
  PetscCall(Report("  lambda increases", d->order, 0.0));
  PetscCall(Report("  parity is exact", d->parity, 0.0));
  PetscCall(Report("  nullspace", d->nullspace, 0.0));
  if (!patches) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Report("  patches cover the free nodes", d->cover, 0.0));
  PetscCall(Report("  classes and parity are as expected", d->classes, 0.0));
  PetscCall(Report("  MI and AI are rows of M and A", d->closure, 1e-13));
  PetscCall(Report("  mu", d->mu, 1e-13));
  PetscCall(Report("  alpha", d->alpha, 1e-13));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPatches(void)
{
  const PetscInt counts[] = {1, 2, 3, 4, 7};

  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++) {
    Defects d = {0};

    for (PetscInt k = 1; k <= 9; k++) {
      for (int n = 0; n < 5; n++) {
        for (int ends = 0; ends < 4; ends++) {
          PatchFDLine line;
          Matrices    cells;
          PetscReal  *M, *A;

          PetscCall(MakeLine(k, counts[n], (Spacing)spacing, (PetscBool)(ends & 1), (PetscBool)(ends >> 1), &line));
          PetscCall(MatricesCreate(&line, 1.5, 0.0, &cells));
          PetscCall(GlobalMatrix(&cells.M, &M));
          PetscCall(GlobalMatrix(&cells.A, &A));
          PetscCall(CheckPatches(&line, (Spacing)spacing, &cells, M, A, &d));
          PetscCall(PetscFree(M));
          PetscCall(PetscFree(A));
          PetscCall(MatricesDestroy(&cells));
          PetscCall(MatricesDestroy(&cells));
          PetscCall(PatchFDLineDestroy(&line));
          PetscCall(PatchFDLineDestroy(&line));
        }
      }
    }
    PetscCall(ReportDefects(spacings[spacing], PETSC_TRUE, &d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- a line as one patch ---------------------------------------------------------------------------------------------- */

static PetscErrorCode TestLineEigen(void)
{
  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++) {
    Defects d = {0};

    for (PetscInt k = 1; k <= 8; k++) {
      for (PetscInt ncells = 1; ncells <= 6; ncells++) {
        for (int ends = 0; ends < 4; ends++) {
          PatchFDLine    line;
          Matrices       cells;
          PatchFDEigen   eigen;
          PetscReal     *M, *A;
          PetscInt       first, end;
          const PetscInt N = ncells * k + 1;

          PetscCall(MakeLine(k, ncells, (Spacing)spacing, (PetscBool)(ends & 1), (PetscBool)(ends >> 1), &line));
          PetscCall(MatricesCreate(&line, 1.5, 0.0, &cells));
          PetscCall(PatchFDLineEigenCreate(&line, &cells.M, &cells.A, &eigen));
          PetscCall(GlobalMatrix(&cells.M, &M));
          PetscCall(GlobalMatrix(&cells.A, &A));
          PatchFDLineFree(&line, &first, &end);
          Worst(&d.cover, (PetscReal)(eigen.n - (end - first)));
          CheckModes(&eigen, M + first * (N + 1), A + first * (N + 1), N, &d);
          for (PetscInt j = 0; j < eigen.n; j++)
            Worst(&d.nullspace, ends == 0 && j == 0 ? eigen.lambda[j] : (eigen.lambda[j] > 0.1 ? 0.0 : 1.0));
          PetscCall(PetscFree(M));
          PetscCall(PetscFree(A));
          PetscCall(PatchFDEigenDestroy(&eigen));
          PetscCall(PatchFDEigenDestroy(&eigen));
          PetscCall(MatricesDestroy(&cells));
          PetscCall(PatchFDLineDestroy(&line));
        }
      }
    }
    PetscCall(ReportDefects(spacings[spacing], PETSC_FALSE, &d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the middle turn of an unrolled ring, with columns modulo its n nodes; the caller frees */
static PetscErrorCode RingMatrix(const PatchFDBand *b, PetscInt n, PetscReal **X)
{
  const PetscInt N = (b->ncells - 1) * b->stride + b->nloc; /* three turns, and the first node once more */
  PetscReal     *all;

  PetscFunctionBeginUser;
  PetscCall(GlobalMatrix(b, &all));
  PetscCall(PetscCalloc1(n * n, X));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < N; j++) (*X)[i * n + j % n] += all[(n + i) * N + j];
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* eigenvectors of whole rings; on uniform ones all cells, and all patches, are a class */
static PetscErrorCode CheckRing(PatchFDContinuity continuity, PetscInt k, PetscInt ncells, Spacing spacing, Defects *d)
{
  PatchFDLine    line, ring;
  Matrices       cells;
  PatchFDEigen   e;
  PatchFDPatches patches;
  PetscReal     *M, *A;
  PetscInt       zero = 0, n;

  PetscFunctionBeginUser;
  PetscCall(MakeLine(k, ncells, spacing, PETSC_FALSE, PETSC_FALSE, &line));
  PetscCall(PatchFDRingCreate(continuity, k, ncells, line.vertices, &ring));
  PetscCall(MatricesCreate(&ring, 1.5, 0.0, &cells));
  PetscCall(PatchFDLineEigenCreate(&ring, &cells.M, &cells.A, &e));
  PetscCall(PatchFDPatchesCreate(&ring, &cells.M, &cells.A, &patches));
  n = ncells * ring.stride;
  Worst(&d->cover, (PetscReal)(e.n - n));
  PetscCall(RingMatrix(&cells.M, n, &M));
  PetscCall(RingMatrix(&cells.A, n, &A));
  CheckModes(&e, M, A, n, d);
  for (PetscInt j = 0; j < n; j++) {
    zero += e.lambda[j] == 0;
    Worst(&d->nullspace, PetscMin(e.lambda[j], 0.0));
    for (PetscInt i = 0; i < n / 2 && e.halfturn; i++) Worst(&d->parity, e.S[(i + n / 2) * n + j] - (j < n / 2 ? 1 : -1) * e.S[i * n + j]);
  }
  Worst(&d->nullspace, zero - 1);
  if (spacing == UNIFORM) Worst(&d->classes, cells.M.nclass - 1 + cells.A.nclass - 1 + patches.nclass - 1 + (e.halfturn != !(ncells % 2)));
  PetscCall(PetscFree(M));
  PetscCall(PetscFree(A));
  PetscCall(PatchFDPatchesDestroy(&patches));
  PetscCall(PatchFDEigenDestroy(&e));
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&ring));
  PetscCall(PatchFDLineDestroy(&line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRings(void)
{
  Defects d = {0};

  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++)
    for (int continuity = 0; continuity < 2; continuity++)
      for (PetscInt k = 1; k <= 7; k++)
        for (PetscInt ncells = 2; ncells <= 7; ncells++)
          PetscCall(CheckRing(continuity ? PATCHFD_DISCONTINUOUS : PATCHFD_CONTINUOUS, k, ncells, (Spacing)spacing, &d));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "rings\n"));
  PetscCall(Report("  S' M S = 1", d.mass, 2e-13));
  PetscCall(Report("  S' A S = diag(lambda)", d.stiffness, 1e-13));
  PetscCall(Report("  T S = 1", d.inverse, 2e-13));
  PetscCall(Report("  half a turn", d.parity, 1e-13));
  PetscCall(Report("  one zero, the others positive", d.nullspace, 0.0));
  PetscCall(Report("  classes are as expected", d.classes + d.cover, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q1 on n uniform cells of [0, 1], both ends fixed: lambda_j = 6/h^2 (1 - cos(j pi h)) / (2 + cos(j pi h)), odd j are even modes */
static PetscErrorCode TestKnownEigenvalues(void)
{
  const PetscInt  n       = 300;
  const PetscBool fixed[] = {PETSC_TRUE, PETSC_TRUE};
  const PetscReal h       = 1.0 / n;
  PetscReal       v[301], worst = 0.0;
  PatchFDLine     line;
  Matrices        cells;
  PatchFDEigen    eigen;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c <= n; c++) v[c] = c * h;
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, n, v, fixed, &line));
  PetscCall(MatricesCreate(&line, 1.0, 0.0, &cells));
  PetscCall(PatchFDLineEigenCreate(&line, &cells.M, &cells.A, &eigen));
  for (PetscInt i = 0; i < n - 1; i++) {
    const PetscInt  j = i < n / 2 ? 2 * i + 1 : 2 * (i - n / 2) + 2;
    const PetscReal c = PetscCosReal(j * PETSC_PI * h);

    Worst(&worst, (eigen.lambda[i] - 6.0 / (h * h) * (1.0 - c) / (2.0 + c)) * h * h / 12.0);
  }
  PetscCall(Report("Q1 on 300 cells: lambda", worst, 1e-14));
  PetscCall(PatchFDEigenDestroy(&eigen));
  PetscCall(MatricesDestroy(&cells));

  /* a mass term on a free line is no nullspace: the constant has lambda = shift */
  line.dirichlet[0] = line.dirichlet[1] = PETSC_FALSE;
  PetscCall(MatricesCreate(&line, 1.0, 1e-2, &cells));
  PetscCall(PatchFDLineEigenCreate(&line, &cells.M, &cells.A, &eigen));
  PetscCall(Report("Q1 on 300 cells, free, shift 0.01: smallest lambda", PetscAbsReal(eigen.lambda[0] - 1e-2), 1e-8));
  PetscCall(PatchFDEigenDestroy(&eigen));
  PetscCall(MatricesDestroy(&cells));
  PetscCall(PatchFDLineDestroy(&line));
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

  PetscFunctionBeginUser;
  PetscCall(PatchFDEmbeddingCreate(coarse, fine, &e));
  PetscCall(PatchFDLineNodes(coarse, xc));
  PetscCall(PatchFDLineNodes(fine, xf));
  Worst(&d->shapes, (PetscReal)(e.ncells * (e.nf - 1) + 1 - fine->nnodes));
  for (PetscInt m = 0; m <= coarse->degree; m++) {
    for (PetscInt i = 0; i < coarse->nnodes; i++) uc[i] = Power(xc[i], m);
    Worst(&d->jumps, Embed(&e, uc, uf));
    for (PetscInt i = 0; i < fine->nnodes; i++)
      Worst(&d->polynomials, (uf[i] - Power(xf[i], m)) / Power(PetscMax(xf[fine->nnodes - 1], 1.0), m));
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

static PetscErrorCode TestEmbedding(void)
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

/* --- the patch solve without a residual ----------------------------------------------------------------------------- */

typedef struct {
  PetscInt  n[3]; /* x fastest */
  PetscReal v[10 * 10 * 10];
} Tensor;

static PetscInt Index(const PetscInt n[3], PetscInt i, PetscInt j, PetscInt k)
{
  return i + n[0] * (j + n[1] * k);
}

/* Y = X[rows][cols] applied in direction d, where X_rc is X[r * rowstride + c * colstride] */
static void Apply(PetscInt d, PetscInt rows, const PetscReal X[], PetscInt rowstride, PetscInt colstride, const Tensor *x, Tensor *y)
{
  Tensor   out = {.n = {x->n[0], x->n[1], x->n[2]}};
  PetscInt i[3];

  out.n[d] = rows;
  for (i[2] = 0; i[2] < out.n[2]; i[2]++) {
    for (i[1] = 0; i[1] < out.n[1]; i[1]++) {
      for (i[0] = 0; i[0] < out.n[0]; i[0]++) {
        PetscReal sum = 0.0;
        PetscInt  j[] = {i[0], i[1], i[2]};

        for (j[d] = 0; j[d] < x->n[d]; j[d]++) sum += X[i[d] * rowstride + j[d] * colstride] * x->v[Index(x->n, j[0], j[1], j[2])];
        out.v[Index(out.n, i[0], i[1], i[2])] = sum;
      }
    }
  }
  *y = out;
}

/* The entries of x from `first` on in direction d, n of them */
static void Slice(PetscInt d, PetscInt first, PetscInt n, const Tensor *x, Tensor *y)
{
  PetscReal pick[10 * 10] = {0};

  for (PetscInt i = 0; i < n; i++) pick[i * 10 + first + i] = 1.0;
  Apply(d, n, pick, 10, 1, x, y);
}

/* y += v (in direction d) x face */
static void AddOuter(PetscInt d, const PetscReal v[], const Tensor *face, Tensor *y)
{
  PetscInt i[3];

  for (i[2] = 0; i[2] < y->n[2]; i[2]++) {
    for (i[1] = 0; i[1] < y->n[1]; i[1]++) {
      for (i[0] = 0; i[0] < y->n[0]; i[0]++) {
        PetscInt j[] = {i[0], i[1], i[2]};

        j[d] = 0;
        y->v[Index(y->n, i[0], i[1], i[2])] += v[i[d]] * face->v[Index(face->n, j[0], j[1], j[2])];
      }
    }
  }
}

/* The formula: x on the closed patch, b inside; only the faces of x are read */
static void SolveByFaces(PetscInt dim, const PatchFDEigen *e[], const Tensor *x, const Tensor *b, Tensor *solution)
{
  PetscReal Tbar[3][8 * 10];
  Tensor    u = *b, g = {.n = {b->n[0], b->n[1], b->n[2]}}, r = g;
  PetscInt  i[3];

  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt n = e[d]->n;

    for (PetscInt j = 0; j < n; j++) {
      Tbar[d][j * (n + 2)]         = e[d]->mu[0][j];
      Tbar[d][j * (n + 2) + n + 1] = e[d]->mu[1][j];
      for (PetscInt l = 0; l < n; l++) Tbar[d][j * (n + 2) + l + 1] = e[d]->T[j * n + l];
    }
    Apply(d, n, e[d]->S, 1, n, &u, &u);
  }
  for (PetscInt d = 0; d < dim; d++) {
    for (int end = 0; end < 2; end++) {
      Tensor face, y, w;

      Slice(d, end ? e[d]->n + 1 : 0, 1, x, &face);
      y = w = face;
      for (PetscInt a = 0; a < dim; a++) {
        const PetscInt n = e[a]->n;

        if (a == d) continue;
        Apply(a, n, Tbar[a], n + 2, 1, &y, &y);
        if (a > d) Apply(a, n, Tbar[a], n + 2, 1, &w, &w);
        else {
          Slice(a, 1, n, &w, &w);
          Apply(a, n, e[a]->T, n, 1, &w, &w);
        }
      }
      AddOuter(d, e[d]->alpha[end], &y, &g);
      AddOuter(d, e[d]->mu[end], &w, &r);
    }
  }
  for (i[2] = 0; i[2] < u.n[2]; i[2]++) {
    for (i[1] = 0; i[1] < u.n[1]; i[1]++) {
      for (i[0] = 0; i[0] < u.n[0]; i[0]++) {
        const PetscInt p   = Index(u.n, i[0], i[1], i[2]);
        PetscReal      sum = 0.0;

        for (PetscInt d = 0; d < dim; d++) sum += e[d]->lambda[i[d]];
        u.v[p] = (u.v[p] - g.v[p]) / sum - r.v[p];
      }
    }
  }
  for (PetscInt d = 0; d < dim; d++) Apply(d, e[d]->n, e[d]->S, e[d]->n, 1, &u, &u);
  *solution = u;
}

/* The same by the dense matrix A_I: solve A_II x_I = b_I - A_IB x_B */
static PetscErrorCode SolveDense(PetscInt dim, const PatchFDEigen *e[], const Tensor *x, const Tensor *b, Tensor *solution)
{
  const PetscInt N = b->n[0] * b->n[1] * b->n[2];
  PetscReal     *K;
  lapack_int    *pivots, info;
  PetscInt       i[3], j[3];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(N * N, &K, N, &pivots));
  *solution = *b;
  for (i[2] = 0; i[2] < b->n[2]; i[2]++) {
    for (i[1] = 0; i[1] < b->n[1]; i[1]++) {
      for (i[0] = 0; i[0] < b->n[0]; i[0]++) {
        const PetscInt row = Index(b->n, i[0], i[1], i[2]);

        for (j[2] = 0; j[2] < x->n[2]; j[2]++) {
          for (j[1] = 0; j[1] < x->n[1]; j[1]++) {
            for (j[0] = 0; j[0] < x->n[0]; j[0]++) {
              PetscReal entry  = 0.0;
              PetscBool inside = PETSC_TRUE;
              PetscInt  in[3]  = {0, 0, 0};

              for (PetscInt s = 0; s < dim; s++) { /* the sum over directions of A in direction s, M in the others */
                PetscReal product = 1.0;

                for (PetscInt d = 0; d < dim; d++) product *= (d == s ? e[d]->AI : e[d]->MI)[i[d] * (e[d]->n + 2) + j[d]];
                entry += product;
              }
              for (PetscInt d = 0; d < dim; d++) {
                in[d] = j[d] - 1;
                if (in[d] < 0 || in[d] >= e[d]->n) inside = PETSC_FALSE;
              }
              if (inside) K[row * N + Index(b->n, in[0], in[1], in[2])] = entry;
              else solution->v[row] -= entry * x->v[Index(x->n, j[0], j[1], j[2])];
            }
          }
        }
      }
    }
  }
  info = LAPACKE_dgesv(LAPACK_ROW_MAJOR, (lapack_int)N, 1, K, (lapack_int)N, pivots, solution->v, 1);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "dgesv failed with info = %d", (int)info);
  PetscCall(PetscFree2(K, pivots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another patch and another coefficient in each direction; in the last one the patch has a free end, beyond which x is not read */
static PetscErrorCode TestSolve(void)
{
  const PetscReal kappa[] = {1.0, 0.3, 2.0};

  PetscFunctionBeginUser;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int spacing = UNIFORM; spacing <= GRADED; spacing++) {
      PetscReal worst = 0.0;
      char      what[64];

      for (PetscInt k = 1; k <= 4; k++) {
        PatchFDPatches      patches[3];
        const PatchFDEigen *e[3];
        Tensor              x = {.n = {1, 1, 1}}, b = {.n = {1, 1, 1}}, dense, fast;
        PetscReal           scale = 0.0;

        for (PetscInt d = 0; d < dim; d++) {
          PatchFDLine line;
          Matrices    cells;

          PetscCall(MakeLine(k, 4 + d, (Spacing)spacing, PETSC_TRUE, (PetscBool)(d < dim - 1), &line));
          PetscCall(MatricesCreate(&line, kappa[d], d == 0 ? 0.5 : 0.0, &cells));
          PetscCall(PatchFDPatchesCreate(&line, &cells.M, &cells.A, &patches[d]));
          e[d]   = &patches[d].eigen[patches[d].cls[d == dim - 1 ? patches[d].npatch - 1 : d]];
          x.n[d] = e[d]->n + 2;
          b.n[d] = e[d]->n;
          PetscCall(MatricesDestroy(&cells));
          PetscCall(PatchFDLineDestroy(&line));
        }
        for (PetscInt i = 0; i < x.n[0] * x.n[1] * x.n[2]; i++) x.v[i] = Random();
        for (PetscInt i = 0; i < b.n[0] * b.n[1] * b.n[2]; i++) b.v[i] = Random();
        PetscCall(SolveDense(dim, e, &x, &b, &dense));
        SolveByFaces(dim, e, &x, &b, &fast);
        for (PetscInt i = 0; i < b.n[0] * b.n[1] * b.n[2]; i++) scale = PetscMax(scale, PetscAbsReal(dense.v[i]));
        for (PetscInt i = 0; i < b.n[0] * b.n[1] * b.n[2]; i++) Worst(&worst, (fast.v[i] - dense.v[i]) / scale);
        for (PetscInt d = 0; d < dim; d++) PetscCall(PatchFDPatchesDestroy(&patches[d]));
      }
      PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT "D, degree 1..4, %s", dim, spacings[spacing]));
      PetscCall(Report(what, worst, 1e-12));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- discontinuous lines -------------------------------------------------------------------------------------------- */

/* v' A u for the nodal values of two functions */
static PetscReal Form(PetscInt N, const PetscReal A[], const PetscReal u[], const PetscReal v[])
{
  PetscReal sum = 0.0;

  for (PetscInt i = 0; i < N; i++)
    for (PetscInt j = 0; j < N; j++) sum += v[i] * A[i * N + j] * u[j];
  return sum;
}

/* u(x), u'(x), -u''(x) of u = x^m on the line, and the derivative at its ends */
static void Monomial(const PatchFDLine *line, PetscInt m, const PetscReal x[], PetscReal u[], PetscReal f[], PetscReal slope[2])
{
  for (PetscInt i = 0; i < line->nnodes; i++) {
    u[i] = Power(x[i], m);
    f[i] = m < 2 ? 0.0 : -m * (m - 1) * Power(x[i], m - 2);
  }
  for (int e = 0; e < 2; e++) slope[e] = m < 1 ? 0.0 : m * Power(line->vertices[e ? line->ncells : 0], m - 1);
}

/*
  For a polynomial u, which has no jumps, and any v,

    v' A u = kappa ( int -u'' v + [n u' v at Neumann ends] ) + v' G u,

  where G is what the Dirichlet data u bring: the method is consistent.  Jumps of one cell against each other see the penalties alone.
*/
static PetscErrorCode CheckForm(const PatchFDLine *line, PetscReal kappa, const PetscReal M[], const PetscReal A[], const PetscReal G[],
                                PetscReal *consistency, PetscReal *penalty, PetscReal *symmetry)
{
  const PetscInt  N = line->nnodes, k = line->degree;
  const PetscReal sigma = (PetscReal)(k * (k + 1));
  PetscReal      *x, *u, *v, *f, slope[2], scale = 0.0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(N, &x, N, &u, N, &v, N, &f));
  PetscCall(PatchFDLineNodes(line, x));
  for (PetscInt i = 0; i < N * N; i++) scale = PetscMax(scale, PetscAbsReal(A[i]));
  for (PetscInt i = 0; i < N; i++)
    for (PetscInt j = 0; j < N; j++) Worst(symmetry, (A[i * N + j] - A[j * N + i]) / scale);
  for (PetscInt m = 0; m <= k; m++) {
    PetscReal expected;

    Monomial(line, m, x, u, f, slope);
    for (PetscInt i = 0; i < N; i++) v[i] = Random();
    expected = kappa * Form(N, M, f, v) + Form(N, G, u, v);
    for (int e = 0; e < 2; e++)
      if (!line->dirichlet[e]) expected += kappa * (e ? 1 : -1) * slope[e] * v[e ? N - 1 : 0];
    Worst(consistency, (Form(N, A, u, v) - expected) / scale);
  }
  for (PetscInt c = 0; c < line->ncells; c++) { /* the indicator function of a cell has no derivative */
    PetscReal expected = 0.0;

    for (PetscInt i = 0; i < N; i++) v[i] = i / (k + 1) == c ? 1.0 : 0.0;
    for (int e = 0; e < 2; e++) {
      const PetscInt  neighbour = e ? c + 1 : c - 1;
      const PetscReal h         = line->vertices[c + 1] - line->vertices[c];

      if (neighbour >= 0 && neighbour < line->ncells)
        expected += kappa * sigma * 0.5 * (1 / h + 1 / (line->vertices[neighbour + 1] - line->vertices[neighbour]));
      else if (line->dirichlet[e]) expected += kappa * 2 * sigma / h;
    }
    Worst(penalty, (Form(N, A, v, v) - expected) / scale);
  }
  PetscCall(PetscFree4(x, u, v, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the columns of A_{I,B} from their two functionals, against those of the whole matrix */
static void CheckFunctionals(const PatchFDLine *line, const PatchFDPatches *p, PetscInt i, const PetscReal A[], PetscReal *worst)
{
  const PatchFDEigen *e = &p->eigen[p->cls[i]];
  const PetscInt      N = line->nnodes, m = line->degree + 1;
  PetscReal           scale = 0.0;

  for (PetscInt l = 0; l < e->n * (e->n + 2 * m); l++) scale = PetscMax(scale, PetscAbsReal(e->AI[l]));
  for (int end = 0; end < 2; end++) {
    const PetscInt first = end ? p->first[i] + p->n[i] : p->first[i] - m, vertex = end ? 0 : m - 1;

    for (PetscInt a = 0; a < e->n; a++) {
      for (PetscInt j = 0; j < m; j++) {
        const PetscReal exact = first >= 0 && first < N ? A[(p->first[i] + a) * N + first + j] : 0.0;

        Worst(worst, (e->value[end][a] * (j == vertex) + e->slope[end][a] * e->derivative[end][j] - exact) / scale);
      }
    }
  }
}

static PetscErrorCode TestDiscontinuous(void)
{
  const PetscInt counts[] = {1, 2, 3, 4, 7};

  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++) {
    Defects   d           = {0};
    PetscReal consistency = 0.0, penalty = 0.0, symmetry = 0.0, functionals = 0.0, parity = 0.0;

    for (PetscInt k = 1; k <= 8; k++) {
      for (int n = 0; n < 5; n++) {
        for (int ends = 0; ends < 4; ends++) {
          PatchFDLine    line, shape;
          PatchFDBand    band;
          PatchFDPatches patches;
          PatchFDEigen   eigen;
          Matrices       matrices;
          PetscReal     *M, *A, *G;

          PetscCall(MakeLine(k, counts[n], (Spacing)spacing, (PetscBool)(ends & 1), (PetscBool)(ends >> 1), &shape));
          PetscCall(PatchFDLineCreate(PATCHFD_DISCONTINUOUS, k, shape.ncells, shape.vertices, shape.dirichlet, &line));
          PetscCall(MatricesCreate(&line, 1.5, 0.0, &matrices));
          PetscCall(PatchFDBandDirichlet(&line, 1.5, 2.0 * k * (k + 1), &band));
          PetscCall(GlobalMatrix(&matrices.M, &M));
          PetscCall(GlobalMatrix(&matrices.A, &A));
          PetscCall(GlobalMatrix(&band, &G));
          PetscCall(CheckForm(&line, 1.5, M, A, G, &consistency, &penalty, &symmetry));
          PetscCall(PatchFDPatchesCreate(&line, &matrices.M, &matrices.A, &patches));
          Worst(&d.cover, (PetscReal)(patches.npatch - PetscMax(line.ncells - 1, 1)));
          for (PetscInt i = 0; i < patches.npatch; i++) {
            const PatchFDEigen *e = &patches.eigen[patches.cls[i]];

            Worst(&d.cover, (PetscReal)(patches.first[i] - i * (k + 1)));
            Worst(&d.cover, (PetscReal)(patches.n[i] - PetscMin(2, line.ncells) * (k + 1)));
            CheckModes(e, e->MI + k + 1, e->AI + k + 1, e->n + 2 * (k + 1), &d);
            CheckFunctionals(&line, &patches, i, A, &functionals);
            if (spacing == UNIFORM && i > 0 && i < patches.npatch - 1) Worst(&parity, e->parity ? 0.0 : 1.0);
          }
          PetscCall(PatchFDLineEigenCreate(&line, &matrices.M, &matrices.A, &eigen));
          CheckModes(&eigen, M, A, line.nnodes, &d);
          for (PetscInt j = 0; j < eigen.n; j++)
            Worst(&d.nullspace, ends == 0 && j == 0 ? eigen.lambda[j] : (eigen.lambda[j] > 0.1 ? 0.0 : 1.0));
          PetscCall(PatchFDEigenDestroy(&eigen));
          PetscCall(PatchFDPatchesDestroy(&patches));
          PetscCall(PetscFree(M));
          PetscCall(PetscFree(A));
          PetscCall(PetscFree(G));
          PetscCall(PatchFDBandDestroy(&band));
          PetscCall(MatricesDestroy(&matrices));
          PetscCall(PatchFDLineDestroy(&line));
          PetscCall(PatchFDLineDestroy(&shape));
        }
      }
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", spacings[spacing]));
    PetscCall(Report("  the form is consistent", consistency, 1e-12));
    PetscCall(Report("  penalties of jumps", penalty, 1e-13));
    PetscCall(Report("  A is symmetric", symmetry, 1e-15));
    PetscCall(Report("  neighbours act by two functionals", functionals, 1e-13));
    PetscCall(Report("  interior patches of uniform lines have parity", parity, 0.0));
    PetscCall(Report("  patches cover the cells", d.cover, 0.0));
    PetscCall(Report("  S' M S = 1", d.mass, 2e-13));
    PetscCall(Report("  S' A S = diag(lambda)", d.stiffness, 1e-13));
    PetscCall(Report("  T S = 1", d.inverse, 2e-13));
    PetscCall(Report("  nullspace", d.nullspace, 0.0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a coarse function in a discontinuous line, and the embedding of a polynomial on each cell: exact at the fine nodes */
static PetscErrorCode TestDiscontinuousEmbedding(void)
{
  PetscReal worst = 0.0, shapes = 0.0;

  PetscFunctionBeginUser;
  for (PetscInt k = 1; k <= 8; k++) {
    PatchFDLine      shape, coarse, fine;
    PatchFDEmbedding e;
    PetscReal        v[9], *x;

    PetscCall(MakeLine(1, 4, GRADED, PETSC_TRUE, PETSC_FALSE, &shape));
    for (PetscInt i = 0; i < 9; i++) v[i] = i % 2 ? 0.4 * shape.vertices[i / 2] + 0.6 * shape.vertices[i / 2 + 1] : shape.vertices[i / 2];
    PetscCall(PatchFDLineCreate(PATCHFD_DISCONTINUOUS, k, 4, shape.vertices, shape.dirichlet, &coarse));
    PetscCall(PatchFDLineCreate(PATCHFD_DISCONTINUOUS, k, 8, v, shape.dirichlet, &fine));
    PetscCall(PatchFDEmbeddingCreate(&coarse, &fine, &e));
    Worst(&shapes, (PetscReal)(e.nf - 2 * (k + 1)));
    Worst(&shapes, (PetscReal)(e.fstride - e.nf));
    Worst(&shapes, (PetscReal)(e.cstride - (k + 1)));
    PetscCall(PetscMalloc1(fine.nnodes + coarse.nnodes, &x));
    PetscCall(PatchFDLineNodes(&fine, x));
    PetscCall(PatchFDLineNodes(&coarse, x + fine.nnodes));
    for (PetscInt c = 0; c < 4; c++) { /* (c + 1) x^k on coarse cell c */
      for (PetscInt i = 0; i < e.nf; i++) {
        PetscReal u = 0.0;

        for (PetscInt j = 0; j < e.nc; j++)
          u += e.P[(e.cls[c] * e.nf + i) * e.nc + j] * (c + 1) * Power(x[fine.nnodes + c * e.cstride + j], k);
        Worst(&worst, u - (c + 1) * Power(x[c * e.fstride + i], k));
      }
    }
    PetscCall(PetscFree(x));
    PetscCall(PatchFDEmbeddingDestroy(&e));
    PetscCall(PatchFDLineDestroy(&fine));
    PetscCall(PatchFDLineDestroy(&coarse));
    PetscCall(PatchFDLineDestroy(&shape));
  }
  PetscCall(Report("discontinuous embedding: shapes", shapes, 0.0));
  PetscCall(Report("discontinuous embedding: polynomials", worst, 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- plates --------------------------------------------------------------------------------------------------------- */

/* derivative of x^m */
static PetscReal MonomialDerivative(PetscInt m, PetscInt order, PetscReal x)
{
  PetscReal factor = 1.0;

  for (PetscInt i = 0; i < order; i++) factor *= m - i;
  return m < order ? 0.0 : factor * Power(x, m - order);
}

typedef struct {
  PetscReal symmetry, consistency, penalty, load, kernel, definite, least;
} BendingDefects;

/*
  For a polynomial u, whose derivatives have no jumps, and any continuous v,

    v' B u = kappa ( int u'''' v - [n u''' v at the ends] ) + sum over the ends of load(v) times what is given there: n u' where it is
    clamped, else u''.

  Of a function that is linear in each cell only the penalties are left.
*/
static PetscErrorCode CheckBendingForm(const PatchFDLine *line, PetscReal kappa, const PetscReal sigma[2], const PetscReal M[],
                                       const PetscReal B[], BendingDefects *d)
{
  const PetscInt N = line->nnodes, k = line->degree, n = line->ncells;
  PetscReal     *x, *u, *v, *f, *load[2], scale = 0.0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc6(N, &x, N, &u, N, &v, N, &f, k + 1, &load[0], k + 1, &load[1]));
  PetscCall(PatchFDLineNodes(line, x));
  for (PetscInt i = 0; i < N * N; i++) scale = PetscMax(scale, PetscAbsReal(B[i]));
  for (PetscInt i = 0; i < N; i++)
    for (PetscInt j = 0; j < N; j++) Worst(&d->symmetry, (B[i * N + j] - B[j * N + i]) / scale);
  for (int e = 0; e < 2; e++) PetscCall(PatchFDLineEndLoad(line, e, kappa, sigma[1], load[e]));
  for (PetscInt m = 0; m <= k; m++) {
    PetscReal expected = 0.0;

    for (PetscInt i = 0; i < N; i++) {
      u[i] = Power(x[i], m);
      f[i] = MonomialDerivative(m, 4, x[i]);
      v[i] = Random();
    }
    expected = kappa * Form(N, M, f, v);
    for (int e = 0; e < 2; e++) {
      const PetscReal normal = e ? 1 : -1, at = line->vertices[e ? n : 0], h = e ? at - line->vertices[n - 1] : line->vertices[1] - at;
      PetscReal       sum = 0.0, exact;

      expected -= kappa * normal * MonomialDerivative(m, 3, at) * v[e ? N - 1 : 0];
      for (PetscInt i = 0; i <= k; i++)
        expected += load[e][i] * v[(e ? N - 1 - k : 0) + i] *
                    (line->clamped[e] ? normal * MonomialDerivative(m, 1, at) : MonomialDerivative(m, 2, at));
      for (PetscInt i = 0; i <= k; i++) sum += load[e][i] * u[(e ? N - 1 - k : 0) + i];
      exact = kappa * normal * MonomialDerivative(m, 1, at);
      if (line->clamped[e]) exact = sigma[1] / h * exact - kappa * MonomialDerivative(m, 2, at);
      Worst(&d->load, (sum - exact) / scale);
    }
    Worst(&d->consistency, (Form(N, B, u, v) - expected) / scale);
    if (m < 2 && !line->clamped[0] && !line->clamped[1]) /* B u = 0 */
      for (PetscInt i = 0; i < N; i++) {
        PetscReal sum = 0.0;

        for (PetscInt j = 0; j < N; j++) sum += B[i * N + j] * u[j];
        Worst(&d->kernel, sum / scale);
      }
  }
  for (PetscInt c = 0; c <= n; c++) {                      /* the hat function of a vertex */
    PetscReal slope[MAXCELLS + 2] = {0.0}, expected = 0.0; /* slopes of the cells, with one at each side that does not exist */

    for (PetscInt i = 0; i < N; i++) v[i] = 0.0;
    for (PetscInt i = PetscMax(0, c - 1); i <= PetscMin(n - 1, c); i++) {
      slope[i + 1] = (i < c ? 1 : -1) / (line->vertices[i + 1] - line->vertices[i]);
      for (PetscInt l = 0; l <= k; l++)
        v[i * k + l] = (i < c ? x[i * k + l] - line->vertices[i] : x[i * k + l] - line->vertices[i + 1]) * slope[i + 1];
    }
    for (PetscInt i = 0; i <= n; i++) {
      const PetscReal h[2] = {i ? line->vertices[i] - line->vertices[i - 1] : 0, i < n ? line->vertices[i + 1] - line->vertices[i] : 0},
                      jump = slope[i] - slope[i + 1];

      if (i > 0 && i < n) expected += kappa * sigma[0] * 0.5 * (1 / h[0] + 1 / h[1]) * jump * jump;
      else if (line->clamped[i ? 1 : 0]) expected += kappa * sigma[1] / h[i ? 0 : 1] * jump * jump;
    }
    Worst(&d->penalty, (Form(N, B, v, v) - expected) / scale);
  }
  PetscCall(PetscFree6(x, u, v, f, load[0], load[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* eigenvalues on the free nodes: positive, but for the linear functions that the ends allow */
static PetscErrorCode CheckDefinite(const PatchFDLine *line, const PetscReal B[], PetscReal *worst)
{
  const PetscInt N = line->nnodes;
  PetscInt       first, end, n, kernel = 2;
  PetscReal     *X, *lambda;

  PetscFunctionBeginUser;
  for (int e = 0; e < 2; e++) kernel -= (line->dirichlet[e] ? 1 : 0) + (line->clamped[e] ? 1 : 0);
  PatchFDLineFree(line, &first, &end);
  n = end - first;
  PetscCall(PetscMalloc2(N * N, &X, N, &lambda));
  PetscCall(PetscArraycpy(X, B, N * N));
  PetscCheck(!LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', (lapack_int)n, X + first * (N + 1), (lapack_int)N, lambda), PETSC_COMM_SELF,
             PETSC_ERR_LIB, "no eigenvalues");
  for (PetscInt i = 0; i < n; i++)
    Worst(worst,
          i < kernel ? (PetscAbsReal(lambda[i]) < 1e-12 * lambda[n - 1] ? 0.0 : 1.0) : (lambda[i] > 1e-10 * lambda[n - 1] ? 0.0 : 1.0));
  PetscCall(PetscFree2(X, lambda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ends that are free, supported or clamped */
static PetscErrorCode TestBending(void)
{
  const PetscInt counts[] = {1, 2, 3, 4, 7};

  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++) {
    BendingDefects d = {0};

    for (PetscInt k = 2; k <= 8; k++) {
      const PetscReal sigma[] = {1.1 * k * (k + 1), 2.3 * k * (k + 1)};
      const PetscReal least   = 1.01 * k * (k - 1) *
                              (spacing == UNIFORM ? 0.5 : 1.0); /* what the operator biharmonic takes, and a little more */

      for (int n = 0; n < 5; n++) {
        for (int ends = 0; ends < 9; ends++) {
          const int   kind[] = {ends % 3, ends / 3};
          PatchFDLine line;
          PatchFDBand mass, band;
          PetscReal  *M, *B;

          PetscCall(MakeLine(k, counts[n], (Spacing)spacing, (PetscBool)(kind[0] > 0), (PetscBool)(kind[1] > 0), &line));
          for (int e = 0; e < 2; e++) line.clamped[e] = (PetscBool)(kind[e] == 2);
          PetscCall(PatchFDBandMass(&line, &mass));
          PetscCall(PatchFDBandBilaplace(&line, 1.5, 0.0, sigma[0], sigma[1], &band));
          PetscCall(GlobalMatrix(&mass, &M));
          PetscCall(GlobalMatrix(&band, &B));
          PetscCall(CheckBendingForm(&line, 1.5, sigma, M, B, &d));
          PetscCall(CheckDefinite(&line, B, &d.definite));
          PetscCall(PetscFree(M));
          PetscCall(PetscFree(B));
          PetscCall(PatchFDBandDestroy(&mass));
          PetscCall(PatchFDBandDestroy(&band));
          PetscCall(PatchFDBandBilaplace(&line, 1.5, 0.0, least, 2 * least, &band));
          PetscCall(GlobalMatrix(&band, &B));
          PetscCall(CheckDefinite(&line, B, &d.least));
          PetscCall(PetscFree(B));
          PetscCall(PatchFDBandDestroy(&band));
          PetscCall(PatchFDLineDestroy(&line));
        }
      }
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", spacings[spacing]));
    PetscCall(Report("  the form is consistent", d.consistency, 1e-13));
    PetscCall(Report("  loads of the ends", d.load, 1e-13));
    PetscCall(Report("  penalties of jumps", d.penalty, 1e-13));
    PetscCall(Report("  B is symmetric", d.symmetry, 1e-15));
    PetscCall(Report("  free lines have the linear functions as null space", d.kernel, 1e-13));
    PetscCall(Report("  B is definite but for what the ends allow", d.definite, 0.0));
    PetscCall(Report("  also with the least penalty", d.least, 0.0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q2 on a cell of length one: second derivatives 4, -8, 4, outward slopes at the lower end 3, -4, 1 */
static PetscErrorCode TestKnownBending(void)
{
  const PetscReal bend[] = {4, -8, 4}, jump[] = {3, -4, 1}, mass[] = {8, 4, -2, 4, 32, 4, -2, 4, 8},
                  sigma = 12; /* sixty times the mass matrix */
  PetscReal   worst     = 0.0;
  PatchFDLine line;
  PatchFDBand band;

  PetscFunctionBeginUser;
  PetscCall(MakeLine(2, 1, UNIFORM, PETSC_TRUE, PETSC_FALSE, &line));
  line.clamped[0] = PETSC_TRUE;
  PetscCall(PatchFDBandBilaplace(&line, 1.0, 60.0, 99.0, sigma, &band));
  for (PetscInt i = 0; i < 3; i++) {
    for (PetscInt j = 0; j < 3; j++)
      Worst(&worst, (band.X[i * 9 + 3 + j] -
                     (bend[i] * bend[j] + sigma * jump[i] * jump[j] - bend[i] * jump[j] - jump[i] * bend[j] + mass[3 * i + j])) /
                      256);
  }
  PetscCall(Report("Q2 on one clamped cell", worst, 1e-15));
  PetscCall(PatchFDBandDestroy(&band));
  PetscCall(PatchFDLineDestroy(&line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- two spaces ------------------------------------------------------------------------------------------------------ */

/*
  The derivative from a line to another one, G: for u = x^a and v = x^b on one cell, which a discontinuous line has, or everywhere,
  v' G u = kappa (the integral of v u').  G' is what the transpose is; G takes constants to zero, and mirror images to minus themselves.
*/
static PetscErrorCode CheckDerivative(const PatchFDLine *rows, const PatchFDLine *columns, Spacing spacing, PetscReal *integrals,
                                      PetscReal *constants, PetscReal *transposed, PetscReal *mirror)
{
  const PetscInt  N = rows->nnodes, M = columns->nnodes, cells = rows->continuity == PATCHFD_DISCONTINUOUS ? rows->ncells : 1;
  const PetscReal kappa = 0.7;
  PetscReal      *G, *Gt, *x, *y;
  PatchFDBand     band, adjoint;

  PetscFunctionBeginUser;
  PetscCall(PatchFDBandDerivative(rows, columns, kappa, PETSC_FALSE, &band));
  PetscCall(PatchFDBandDerivative(rows, columns, kappa, PETSC_TRUE, &adjoint));
  PetscCall(GlobalMatrix(&band, &G));
  PetscCall(GlobalMatrix(&adjoint, &Gt));
  PetscCall(PetscMalloc2(N, &x, M, &y));
  PetscCall(PatchFDLineNodes(rows, x));
  PetscCall(PatchFDLineNodes(columns, y));
  for (PetscInt c = 0; c < cells; c++) {
    const PetscReal lower = rows->vertices[c], upper = rows->vertices[cells > 1 ? c + 1 : rows->ncells];
    const PetscInt  first = cells > 1 ? c * rows->stride : 0, end = cells > 1 ? first + rows->stride : N;

    for (PetscInt a = 0; a <= columns->degree; a++) {
      for (PetscInt b = 0; b <= rows->degree; b++) {
        PetscReal sum = 0.0, scale = 0.0;

        for (PetscInt i = first; i < end; i++) {
          for (PetscInt j = 0; j < M; j++) {
            sum += Power(x[i], b) * G[i * M + j] * Power(y[j], a);
            scale = PetscMax(scale, PetscAbsReal(G[i * M + j]) * PetscMax(1.0, Power(upper, a + b)));
          }
        }
        Worst(a ? integrals : constants, (sum - (a ? kappa * a * (Power(upper, a + b) - Power(lower, a + b)) / (a + b) : 0.0)) / scale);
      }
    }
  }
  for (PetscInt i = 0; i < N; i++) {
    for (PetscInt j = 0; j < M; j++) {
      Worst(transposed, G[i * M + j] - Gt[j * N + i]);
      if (spacing == UNIFORM) Worst(mirror, G[i * M + j] + G[(N - 1 - i) * M + M - 1 - j]);
    }
  }
  PetscCall(PetscFree2(x, y));
  PetscCall(PetscFree(G));
  PetscCall(PetscFree(Gt));
  PetscCall(PatchFDBandDestroy(&band));
  PetscCall(PatchFDBandDestroy(&adjoint));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the rows of a band that belong to the patches, against the global matrix */
static PetscErrorCode CheckRows(const PatchFDBand *b, const PatchFDLine *row, const PatchFDPatches *rowcover, const PatchFDLine *col,
                                const PatchFDPatches *colcover, PetscReal *entries, PetscReal *blocks)
{
  const PetscInt N   = col->nnodes;
  const PetscInt ext = (col->continuity == PATCHFD_CONTINUOUS ? 1 : 0) + (b->reach ? col->stride : 0);
  PetscReal     *X, *block;
  PatchFDRows    rows;

  PetscFunctionBeginUser;
  PetscCall(GlobalMatrix(b, &X));
  PetscCall(PatchFDRowsCreate(b, row, rowcover, col, colcover, &rows));
  Worst(entries, (PetscReal)(rows.ext - ext));
  Worst(entries, (PetscReal)(rows.npatch - rowcover->npatch));
  for (PetscInt p = 0; p < rows.npatch; p++) {
    const PetscInt n = rowcover->n[p], m = colcover->n[p], first = colcover->first[p] - ext;

    PetscCall(PetscMalloc1(n * m, &block));
    PetscCall(PatchFDRowsBlock(&rows, n, m, p, block));
    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j < m + 2 * ext; j++) {
        const PetscReal got = rows.X[rows.at[rows.cls[p]] + i * (m + 2 * ext) + j];

        Worst(entries, got - (first + j < 0 || first + j >= N ? 0.0 : X[(rowcover->first[p] + i) * N + first + j]));
        if (j >= ext && j < m + ext) Worst(blocks, got - block[i * m + j - ext]);
      }
    }
    PetscCall(PetscFree(block));
  }
  PetscCall(PatchFDRowsDestroy(&rows));
  PetscCall(PetscFree(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a component of a velocity in its own direction, and the pressure */
static PetscErrorCode TestTwoSpaces(void)
{
  const PetscInt counts[] = {1, 2, 3, 4, 7};

  PetscFunctionBeginUser;
  for (int spacing = UNIFORM; spacing <= PIECEWISE; spacing++) {
    PetscReal integrals = 0.0, constants = 0.0, transposed = 0.0, mirror = 0.0, entries = 0.0, blocks = 0.0;

    for (PetscInt k = 1; k <= 6; k++) {
      for (int n = 0; n < 5; n++) {
        for (int ends = 0; ends < 4; ends++) {
          PatchFDLine    C, D;
          PatchFDBand    G, Gt;
          PatchFDPatches cover[2];
          Matrices       matrices[2];

          PetscCall(MakeLine(k + 1, counts[n], (Spacing)spacing, (PetscBool)(ends & 1), (PetscBool)(ends >> 1), &C));
          PetscCall(PatchFDLineCreate(PATCHFD_DISCONTINUOUS, k, C.ncells, C.vertices, C.dirichlet, &D));
          PetscCall(CheckDerivative(&D, &C, (Spacing)spacing, &integrals, &constants, &transposed, &mirror));
          PetscCall(CheckDerivative(&C, &C, (Spacing)spacing, &integrals, &constants, &transposed, &mirror));
          PetscCall(MatricesCreate(&C, 1.5, 0.3, &matrices[0]));
          PetscCall(MatricesCreate(&D, 1.5, 0.3, &matrices[1]));
          PetscCall(PatchFDBandDerivative(&D, &C, 2.0, PETSC_FALSE, &G));
          PetscCall(PatchFDBandDerivative(&D, &C, 2.0, PETSC_TRUE, &Gt));
          PetscCall(PatchFDPatchesCreate(&C, &matrices[0].M, &matrices[0].A, &cover[0]));
          PetscCall(PatchFDPatchesCreate(&D, &matrices[1].M, &matrices[1].A, &cover[1]));
          PetscCall(CheckRows(&G, &D, &cover[1], &C, &cover[0], &entries, &blocks));
          PetscCall(CheckRows(&Gt, &C, &cover[0], &D, &cover[1], &entries, &blocks));
          PetscCall(CheckRows(&matrices[0].A, &C, &cover[0], &C, &cover[0], &entries, &blocks));
          PetscCall(CheckRows(&matrices[1].A, &D, &cover[1], &D, &cover[1], &entries, &blocks));
          for (int i = 0; i < 2; i++) {
            PetscCall(PatchFDPatchesDestroy(&cover[i]));
            PetscCall(MatricesDestroy(&matrices[i]));
          }
          PetscCall(PatchFDBandDestroy(&G));
          PetscCall(PatchFDBandDestroy(&Gt));
          PetscCall(PatchFDLineDestroy(&C));
          PetscCall(PatchFDLineDestroy(&D));
        }
      }
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", spacings[spacing]));
    PetscCall(Report("  derivatives of monomials", integrals, 2e-14));
    PetscCall(Report("  derivatives of constants", constants, 2e-14));
    PetscCall(Report("  the transpose is one", transposed, 0.0));
    if (spacing == UNIFORM) PetscCall(Report("  mirror images", mirror, 0.0));
    PetscCall(Report("  rows of patches", entries, 1e-13));
    PetscCall(Report("  blocks of patches", blocks, 0.0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* entry (i, j) of the basis of the even or odd part of n numbers, or of all of them */
static PetscReal FoldBasis(PetscInt n, int parity, PetscInt i, PetscInt j)
{
  if (parity && i == n - 1 - j && i != j) return parity;
  return i == j ? 1.0 : 0.0;
}

/* matrices of all small sizes that look the same from the other end, or the negative */
static PetscErrorCode TestFold(void)
{
  PetscReal X[81], H[81], mirrored = 0.0, products = 0.0, sizes = 0.0;

  PetscFunctionBeginUser;
  for (PetscInt n = 1; n <= 9; n++) {
    for (PetscInt m = 1; m <= 9; m++) {
      for (int sign = -1; sign <= 1; sign += 2) {
        const PetscBool none = (PetscBool)(n == 1 && m == 1 && sign < 0); /* zero */

        for (PetscInt i = 0; i < n * m; i++) X[i] = Random();
        for (PetscInt i = 0; i < n * m; i++)
          X[i] = i < n * m - 1 - i ? X[i] : (i > n * m - 1 - i ? sign * X[n * m - 1 - i] : (sign > 0 ? X[i] : 0.0));
        Worst(&mirrored, PatchFDMirrored(n, m, sign, X) ? 0.0 : 1.0);
        if (n * m > 1) Worst(&mirrored, PatchFDMirrored(n, m, -sign, X) ? 1.0 : 0.0);
        for (int parity = -1; parity <= 1; parity++) {
          for (int colparity = -1; colparity <= 1; colparity++) {
            const PetscInt h = PatchFDFoldSize(n, parity), w = PatchFDFoldSize(m, colparity);

            Worst(&sizes, (PetscReal)(h - (parity == 0 ? n : (parity > 0 ? n - n / 2 : n / 2))));
            if (!h || !w) continue;
            PatchFDFold(n, parity, m, colparity, X, m, H);
            for (PetscInt a = 0; a < h; a++) {
              for (PetscInt b = 0; b < w; b++) {
                PetscReal sum = 0.0;

                for (PetscInt i = 0; i < n; i++)
                  for (PetscInt j = 0; j < m; j++) sum += FoldBasis(n, parity, i, a) * X[i * m + j] * FoldBasis(m, colparity, j, b);
                Worst(&products, H[a * w + b] - sum);
                if (parity * colparity == -sign)
                  Worst(&products, H[a * w + b]); /* that maps even to odd parts only if it changes the sign */
              }
            }
          }
        }
        if (!none && n * m > 1) {
          X[0] += 1e-6;
          Worst(&mirrored, PatchFDMirrored(n, m, sign, X) ? 1.0 : 0.0);
        }
      }
    }
  }
  PetscCall(Report("matrices and their mirror images", mirrored, 0.0));
  PetscCall(Report("sizes of even and odd parts", sizes, 0.0));
  PetscCall(Report("even and odd parts of matrices", products, 1e-14));
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

int main(int argc, char **argv)
{
  const char *const parts[] = {"basis", "cells", "patches", "line", "embedding", "solve", "discontinuous", "bending", "spaces", "errors"};
  PetscInt          part    = 0;
  PetscBool         set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-part", parts, PETSC_STATIC_ARRAY_LENGTH(parts), &part, &set));
  PetscCheck(set, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "Say what to test with -part");
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  switch (part) {
  case 0:
    PetscCall(TestNodes());
    PetscCall(TestBasis());
    PetscCall(TestTabulate());
    break;
  case 1:
    PetscCall(TestKnownMatrices());
    PetscCall(TestMonomials());
    PetscCall(TestClasses());
    PetscCall(TestPoint());
    break;
  case 2:
    PetscCall(TestPatches());
    break;
  case 3:
    PetscCall(TestLineEigen());
    PetscCall(TestKnownEigenvalues());
    PetscCall(TestRings());
    break;
  case 4:
    PetscCall(TestEmbedding());
    PetscCall(TestKnownEmbeddings());
    break;
  case 5:
    PetscCall(TestSolve());
    break;
  case 6:
    PetscCall(TestDiscontinuous());
    PetscCall(TestDiscontinuousEmbedding());
    break;
  case 7:
    PetscCall(TestBending());
    PetscCall(TestKnownBending());
    break;
  case 8:
    PetscCall(TestTwoSpaces());
    PetscCall(TestFold());
    break;
  default:
    PetscCall(TestErrors());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: basis
    args: -part basis

  test:
    suffix: cells
    args: -part cells

  test:
    suffix: patches
    args: -part patches

  test:
    suffix: line
    args: -part line

  test:
    suffix: embedding
    args: -part embedding

  test:
    suffix: solve
    args: -part solve

  test:
    suffix: discontinuous
    args: -part discontinuous

  test:
    suffix: bending
    args: -part bending

  test:
    suffix: spaces
    args: -part spaces

  test:
    suffix: errors
    args: -part errors -malloc_dump 0

TEST*/
