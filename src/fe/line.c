/*
  Lines: one-dimensional spaces of piecewise polynomials with Gauss-Lobatto nodes, continuous or not.

  The routines come in the order in which they are used: make a line, its nodes, the basis on the reference cell [0, 1],
  the tabulation of a line for quadrature, and of the reference cell alone.
*/
#include <patchfd/private/fe.h>
#include <petscdt.h>

static PetscErrorCode CheckVertices(PetscInt n, const PetscReal v[], PetscBool increasing)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCheck(!PetscIsInfOrNanReal(v[i]), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Vertex %" PetscInt_FMT " of the line is at %g; coordinates have to be finite", i, (double)v[i]);
    PetscCheck(!increasing || i == 0 || v[i - 1] < v[i], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Vertices %" PetscInt_FMT " and %" PetscInt_FMT " of the line are at %g and %g; coordinates have to increase", i - 1, i,
               (double)v[i - 1], (double)v[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A point has no length and no ends: its vertices need not increase, and `dirichlet` does not apply to it */
PetscErrorCode PatchFDLineCreate(PatchFDContinuity continuity, PetscInt degree, PetscInt ncells, const PetscReal vertices[],
                                 const PetscBool dirichlet[2], PatchFDLine *line)
{
  const PetscBool point = (PetscBool)(degree == 0 && continuity == PATCHFD_CONTINUOUS);

  PetscFunctionBegin;
  PetscCall(PetscMemzero(line, sizeof(*line)));
  PetscCheck(degree >= 1 || point, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Degree %" PetscInt_FMT " of the line; it has to be 1 or more (0 with one cell of a continuous line is a point)", degree);
  PetscCheck(ncells >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " cells in the line; it has to have 1 or more",
             ncells);
  PetscCheck(!point || ncells == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Degree 0 with %" PetscInt_FMT " cells; degree 0 is a point and has exactly 1", ncells);
  PetscCall(CheckVertices(ncells + 1, vertices, (PetscBool)!point));

  line->continuity = continuity;
  line->degree     = degree;
  line->ncells     = ncells;
  line->stride     = continuity == PATCHFD_CONTINUOUS ? degree : degree + 1;
  PetscCall(PetscIntMultError(line->stride, ncells, &line->nnodes));
  if (continuity == PATCHFD_CONTINUOUS) line->nnodes++;
  for (int e = 0; e < 2; e++) line->dirichlet[e] = (PetscBool)(!point && dirichlet[e]);
  PetscCall(PetscMalloc1(ncells + 1, &line->vertices));
  PetscCall(PetscArraycpy(line->vertices, vertices, ncells + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRingCreate(PatchFDContinuity continuity, PetscInt degree, PetscInt ncells, const PetscReal vertices[],
                                 PatchFDLine *line)
{
  const PetscBool free[2] = {PETSC_FALSE, PETSC_FALSE};
  const PetscReal length  = vertices[ncells] - vertices[0];
  PetscReal      *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(3 * ncells + 1, &v));
  for (PetscInt i = 0; i <= 3 * ncells; i++) v[i] = vertices[i % ncells] + (PetscReal)(i / ncells - 1) * length;
  v[2 * ncells] = vertices[ncells];
  PetscCall(PatchFDLineCreate(continuity, degree, 3 * ncells, v, free, line));
  PetscCall(PetscFree(v));
  line->turn = ncells;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLineDestroy(PatchFDLine *line)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(line->vertices));
  PetscCall(PetscMemzero(line, sizeof(*line)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points on [-1, 1], symmetric but for rounding, become exactly symmetric points on [0, 1] */
static void MapToUnit(PetscInt n, PetscReal x[])
{
  for (PetscInt i = 0; i < (n + 1) / 2; i++) {
    const PetscReal s = 0.5 * (x[n - 1 - i] - x[i]);

    x[i]         = 0.5 * (1.0 - s);
    x[n - 1 - i] = 0.5 * (1.0 + s);
  }
}

/* The nodes of the reference cell [0, 1]; a point has its node at 0 */
static PetscErrorCode ReferenceNodes(PetscInt degree, PetscReal x[])
{
  PetscFunctionBegin;
  if (degree == 0) x[0] = 0.0;
  else {
    PetscReal *w;

    PetscCall(PetscMalloc1(degree + 1, &w));
    PetscCall(PetscDTGaussLobattoLegendreQuadrature(degree + 1, PETSCGAUSSLOBATTOLEGENDRE_VIA_NEWTON, x, w));
    PetscCall(PetscFree(w));
    MapToUnit(degree + 1, x);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLineNodes(const PatchFDLine *line, PetscReal x[])
{
  const PetscInt   k = line->degree;
  const PetscReal *v = line->vertices;
  PetscReal       *ref;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(k + 1, &ref));
  PetscCall(ReferenceNodes(k, ref));
  for (PetscInt c = 0; c < line->ncells; c++) {
    for (PetscInt i = 0; i < line->stride; i++) x[c * line->stride + i] = (1.0 - ref[i]) * v[c] + ref[i] * v[c + 1];
  }
  if (line->continuity == PATCHFD_CONTINUOUS) x[line->ncells * k] = v[k ? line->ncells : 0];
  PetscCall(PetscFree(ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Barycentric weights w[i] = 1 / prod_{j != i} (4 (x[i] - x[j])).  A common factor does not matter; that of 4 a difference, the
  inverse capacity of the unit interval, keeps the products near one for any degree.
*/
static void BarycentricWeights(PetscInt n, const PetscReal x[], PetscReal w[])
{
  for (PetscInt i = 0; i < n; i++) {
    PetscReal p = 1.0;

    for (PetscInt j = 0; j < n; j++) {
      if (j != i) p *= 4.0 * (x[i] - x[j]);
    }
    w[i] = 1.0 / p;
  }
}

/*
  Values of the basis at one point t by the second barycentric formula (Berrut and Trefethen, SIAM Review 46, eq. 4.2),

    l_j(t) = w_j / (t - x_j) / sum_i w_i / (t - x_i),

  and exactly the unit vector at a node.  A point nearer to a node than 1e-100 counts as the node: no division overflows.
*/
static void BasisValues(PetscInt n, const PetscReal x[], const PetscReal w[], PetscReal t, PetscReal b[])
{
  PetscInt  hit = -1;
  PetscReal sum = 0.0;

  for (PetscInt j = 0; j < n && hit < 0; j++) {
    const PetscReal d = t - x[j];

    if (PetscAbsReal(d) < 1e-100) hit = j;
    else sum += b[j] = w[j] / d;
  }
  for (PetscInt j = 0; j < n; j++) b[j] = hit < 0 ? b[j] / sum : (j == hit ? 1.0 : 0.0);
}

/* Derivatives at the nodes, d[i][j] = l_j'(x_i) (Berrut and Trefethen, eq. 9.3); rows sum to zero, so constants have none */
static void NodeDerivatives(PetscInt n, const PetscReal x[], const PetscReal w[], PetscReal d[])
{
  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = 0.0;

    for (PetscInt j = 0; j < n; j++) {
      if (j != i) sum += d[i * n + j] = w[j] / w[i] / (x[i] - x[j]);
    }
    d[i * n + i] = -sum;
  }
}

/* A derivative is a polynomial of lower degree: it is interpolated from the nodes, dX = X d */
static void Differentiate(PetscInt npoints, PetscInt n, const PetscReal d[], const PetscReal X[], PetscReal dX[])
{
  for (PetscInt q = 0; q < npoints; q++) {
    for (PetscInt j = 0; j < n; j++) {
      dX[q * n + j] = 0.0;
      for (PetscInt i = 0; i < n; i++) dX[q * n + j] += X[q * n + i] * d[i * n + j];
    }
  }
}

PetscErrorCode PatchFDBasis(PetscInt degree, PetscInt npoints, const PetscReal points[], PetscReal B[], PetscReal D[], PetscReal D2[])
{
  const PetscInt n = degree + 1;
  PetscReal     *x, *w, *d;

  PetscFunctionBegin;
  PetscCheck(degree >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Degree %" PetscInt_FMT " of the basis; it has to be 0 or more",
             degree);
  PetscCall(PetscMalloc3(n, &x, n, &w, n * n, &d));
  PetscCall(ReferenceNodes(degree, x));
  BarycentricWeights(n, x, w);
  for (PetscInt q = 0; q < npoints; q++) BasisValues(n, x, w, points[q], B + q * n);
  if (D) {
    NodeDerivatives(n, x, w, d);
    Differentiate(npoints, n, d, B, D);
    if (D2) Differentiate(npoints, n, d, D, D2);
  }
  PetscCall(PetscFree3(x, w, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Gauss points and weights of [0, 1] */
static PetscErrorCode ReferenceGauss(PetscInt nq, PetscReal x[], PetscReal w[])
{
  PetscFunctionBegin;
  PetscCall(PetscDTGaussQuadrature(nq, -1.0, 1.0, x, w));
  MapToUnit(nq, x);
  for (PetscInt q = 0; q < (nq + 1) / 2; q++) w[q] = w[nq - 1 - q] = 0.25 * (w[q] + w[nq - 1 - q]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The integral over a point is the value there: all quadrature points lie on it and the weights sum to one */
PetscErrorCode PatchFDLineTabulate(const PatchFDLine *line, PetscInt nq, PetscReal x[], PetscReal w[], PetscReal B[], PetscReal D[],
                                   PetscReal D2[])
{
  const PetscReal *v = line->vertices;
  PetscReal       *xq, *wq;

  PetscFunctionBegin;
  PetscCheck(nq >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " quadrature points a cell; there have to be 1 or more",
             nq);
  PetscCall(PetscMalloc2(nq, &xq, nq, &wq));
  PetscCall(ReferenceGauss(nq, xq, wq));
  for (PetscInt c = 0; c < line->ncells; c++) {
    const PetscInt image = line->turn ? line->turn + c % line->turn : c;

    for (PetscInt q = 0; q < nq; q++) {
      x[c * nq + q] = line->degree ? (1.0 - xq[q]) * v[image] + xq[q] * v[image + 1] : v[0];
      w[c * nq + q] = line->degree ? (v[c + 1] - v[c]) * wq[q] : wq[q];
    }
  }
  PetscCall(PatchFDBasis(line->degree, nq, xq, B, D, D2));
  PetscCall(PetscFree2(xq, wq));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Gauss-Lobatto points, which are the nodes of degree n - 1, and their weights 1 / (n (n - 1) P_{n-1}^2) on [0, 1] */
static PetscErrorCode ReferenceLobatto(PetscInt n, PetscReal x[], PetscReal w[])
{
  PetscFunctionBegin;
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(n, PETSCGAUSSLOBATTOLEGENDRE_VIA_NEWTON, x, w));
  PetscCall(ReferenceNodes(n - 1, x));
  for (PetscInt q = 0; q < (n + 1) / 2; q++) w[q] = w[n - 1 - q] = 0.25 * (w[q] + w[n - 1 - q]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRuleCreate(PetscInt degree, PetscInt gauss, PatchFDRule *rule)
{
  const PetscInt n = degree + 1, c = gauss ? gauss : n;
  PetscReal     *w;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(rule, sizeof(*rule)));
  PetscCheck(degree >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Degree %" PetscInt_FMT " of the polynomials; it has to be 1 or more",
             degree);
  rule->nodes  = n;
  rule->points = c;
  PetscCall(PetscMalloc5(c, &rule->x, c, &rule->w, c * n, &rule->B, c * n, &rule->D, c * c, &rule->C));
  if (gauss) PetscCall(ReferenceGauss(c, rule->x, rule->w));
  else PetscCall(ReferenceLobatto(c, rule->x, rule->w));
  PetscCall(PatchFDBasis(degree, c, rule->x, rule->B, rule->D, NULL));
  PetscCall(PetscMalloc1(c, &w));
  BarycentricWeights(c, rule->x, w);
  NodeDerivatives(c, rule->x, w, rule->C);
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRuleBasis(const PatchFDRule *rule, PetscInt npoints, const PetscReal points[], PetscReal L[])
{
  PetscReal *w;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(rule->points, &w));
  BarycentricWeights(rule->points, rule->x, w);
  for (PetscInt i = 0; i < npoints; i++) BasisValues(rule->points, rule->x, w, points[i], L + i * rule->points);
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRuleDestroy(PatchFDRule *rule)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(rule->x, rule->w, rule->B, rule->D, rule->C));
  PetscCall(PetscMemzero(rule, sizeof(*rule)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
