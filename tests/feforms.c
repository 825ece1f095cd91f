static char help[] = "Tests the one-dimensional matrices of interior penalties, of plates and of two spaces.\n\
  -test discontinuous | bending | spaces\n\
  -verbose: print what was measured, not only whether it is small\n";

#include "fe.h"

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

static PetscErrorCode TestForms(void)
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
static PetscErrorCode TestPlates(void)
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

/* ---- the program ---- */

static PetscErrorCode TestDiscontinuous(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestForms());
  PetscCall(TestDiscontinuousEmbedding());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBending(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestPlates());
  PetscCall(TestKnownBending());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSpaces(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestTwoSpaces());
  PetscCall(TestFold());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"discontinuous", TestDiscontinuous}, {"bending", TestBending}, {"spaces", TestSpaces}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(RunTest(PETSC_STATIC_ARRAY_LENGTH(tests), tests, "discontinuous"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: discontinuous
    args: -test discontinuous
  test:
    suffix: bending
    args: -test bending
  test:
    suffix: spaces
    args: -test spaces

TEST*/
