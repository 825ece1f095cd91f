#pragma once
/* A problem of the operator diffusion on mapped meshes whose solution is known, and its matrix and vectors by quadrature cell by cell */
#include <patchfd/private/boximpl.h>

/* ---- solution and coefficients ---- */

typedef struct {
  const char *medium;
  PetscReal   contrast;
  PetscInt    dim;
  PetscBool   annulus; /* for the normals of its sides */
  PetscReal   robin;   /* h of all natural sides */
} Problem;

/* u = a(x) b(y) c(z), its derivatives of the given orders */
static PetscReal Product(PetscInt dim, const PetscReal x[], const PetscInt order[])
{
  const PetscReal frequency[3] = {1.1, 1.5, 0.7}, phase[3] = {0.5, -0.3, 0.2};
  PetscReal       u = 1;

  for (PetscInt d = 0; d < dim; d++)
    u *= PetscPowRealInt(frequency[d], order[d]) * PetscSinReal(frequency[d] * x[d] + phase[d] + order[d] * 0.5 * PETSC_PI);
  return u;
}

static PetscErrorCode Solution(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                               PETSC_UNUSED void *ctx)
{
  const PetscInt value[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  u[0] = Product(dim, x, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Gradient(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[],
                               PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt order[3] = {d == 0, d == 1, d == 2};

    g[d] = Product(dim, x, order);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K = k(x) T, T constant */
static PetscReal Tensor(const Problem *p, PetscInt a, PetscInt b)
{
  const PetscReal T[3][3] = {{2, 0.5, 0.3}, {0.5, 1, -0.2}, {0.3, -0.2, 1.5}};

  return !strcmp(p->medium, "tensor") ? T[a][b] : (a == b ? 1 : 0);
}

static PetscReal Factor(const Problem *p, const PetscReal x[], PetscReal slope[])
{
  PetscReal sum = 0, k;

  for (PetscInt d = 0; d < p->dim; d++) {
    slope[d] = 0;
    sum += (PetscReal)(d + 1) * x[d];
  }
  if (!strcmp(p->medium, "constant")) return 1;
  if (!strcmp(p->medium, "high")) { /* from 1 to the contrast */
    k = PetscPowReal(p->contrast, 0.5 * (1 + PetscSinReal(3 * sum)));
    for (PetscInt d = 0; d < p->dim; d++) slope[d] = k * 0.5 * PetscLogReal(p->contrast) * 3 * (PetscReal)(d + 1) * PetscCosReal(3 * sum);
    return k;
  }
  for (PetscInt d = 0; d < p->dim; d++) slope[d] = 0.5 * (PetscReal)(d + 1) * PetscCosReal(sum);
  return 1 + 0.5 * PetscSinReal(sum);
}

static PetscReal Shift(const Problem *p, const PetscReal x[])
{
  return !strcmp(p->medium, "constant") ? 0 : 1 + x[0] * x[0];
}

static PetscErrorCode Conductivity(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar K[], void *ctx)
{
  const Problem  *p = (Problem *)ctx;
  PetscReal       slope[3];
  const PetscReal k  = Factor(p, x, slope);
  PetscInt        at = 0;

  PetscFunctionBeginUser;
  if (Nc == 1) K[0] = k;
  else
    for (PetscInt a = 0; a < dim; a++)
      for (PetscInt b = a; b < dim; b++) K[at++] = k * Tensor(p, a, b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShiftFunction(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                    PetscScalar s[], void *ctx)
{
  PetscFunctionBeginUser;
  s[0] = Shift((Problem *)ctx, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Load(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                           void *ctx)
{
  const Problem  *p        = (Problem *)ctx;
  const PetscInt  value[3] = {0, 0, 0};
  PetscReal       slope[3];
  const PetscReal k = Factor(p, x, slope);

  PetscFunctionBeginUser;
  f[0] = Shift(p, x) * Product(dim, x, value);
  for (PetscInt a = 0; a < dim; a++) {
    for (PetscInt b = 0; b < dim; b++) {
      PetscInt first[3] = {0, 0, 0}, second[3] = {0, 0, 0};

      first[b]++;
      second[a]++;
      second[b]++;
      f[0] -= Tensor(p, a, b) * (slope[a] * Product(dim, x, first) + k * Product(dim, x, second));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n . K grad u + h u on the sides of the unit cube, or of the annulus with the radii 0.5 and 1 */
static PetscErrorCode Flux(PetscInt dim, PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar flux[], void *ctx)
{
  const Problem  *p        = (Problem *)ctx;
  const PetscBool annulus  = p->annulus;
  const PetscInt  value[3] = {0, 0, 0};
  PetscReal       n[3] = {0, 0, 0}, slope[3], r = PetscSqrtReal(x[0] * x[0] + x[1] * x[1]);
  PetscScalar     g[3];

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) {
    if (PetscAbsReal(x[d]) < 1e-10) n[d] = -1;
    if (PetscAbsReal(x[d] - 1) < 1e-10 && (!annulus || d == 2)) n[d] = 1;
  }
  if (annulus && n[0] == 0 && n[1] == 0 && n[2] == 0) {
    n[0] = (r < 0.75 ? -1 : 1) * x[0] / r;
    n[1] = (r < 0.75 ? -1 : 1) * x[1] / r;
  }
  PetscCall(Gradient(dim, time, x, dim, g, NULL));
  flux[0] = 0;
  for (PetscInt a = 0; a < dim; a++)
    for (PetscInt b = 0; b < dim; b++) flux[0] += n[a] * Tensor(p, a, b) * g[b];
  flux[0] = Factor(p, x, slope) * flux[0] + p->robin * Product(dim, x, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a map of the test's own */
static PetscErrorCode Map(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                          PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  y[0] = 2 * x[0] + 0.3 * x[1] * x[1];
  y[1] = x[1] + 0.2 * PetscSinReal(3 * x[0]);
  if (dim == 3) y[2] = 1.5 * x[2] + 0.2 * x[0] * x[1] - 0.1 * x[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetProblem(DM dm, Problem *p)
{
  const PetscInt n = !strcmp(p->medium, "tensor") ? dm->dim * (dm->dim + 1) / 2 : 1;

  PetscFunctionBeginUser;
  p->dim = dm->dim;
  if (strcmp(p->medium, "constant")) PetscCall(DMBoxSetDiffusionFunction(dm, n, Conductivity, ShiftFunction, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDM(PetscInt dim, PetscInt cells, PetscInt degree, Problem *p, DM *dm)
{
  const PetscInt n[3] = {cells, cells, cells};
  char           map[64];
  PetscBool      own = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, n, degree, dm));
  PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-map", map, sizeof(map), &own));
  if (own) PetscCall(DMBoxSetMapping(*dm, Map, NULL));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(SetProblem(*dm, p));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the definition ---- */

/* Gauss-Lobatto nodes or Gauss points on [0, 1] */
static PetscErrorCode UnitPoints(PetscBool lobatto, PetscInt n, PetscReal x[], PetscReal w[])
{
  PetscFunctionBeginUser;
  if (lobatto) PetscCall(PetscDTGaussLobattoLegendreQuadrature(n, PETSCGAUSSLOBATTOLEGENDRE_VIA_LINEAR_ALGEBRA, x, w));
  else PetscCall(PetscDTGaussQuadrature(n, 0, 1, x, w));
  for (PetscInt i = 0; i < n && lobatto; i++) x[i] = 0.5 * (1 + x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lagrange polynomial i of the nodes, or its derivative, by the products */
static PetscReal Lagrange(PetscInt n, const PetscReal node[], PetscInt i, PetscReal t, PetscBool derivative)
{
  PetscReal sum = 0;

  for (PetscInt m = 0; m < (derivative ? n : 1); m++) {
    PetscReal product = 1;

    if (derivative && m == i) continue;
    for (PetscInt j = 0; j < n; j++) {
      if (j == i) continue;
      product *= derivative && j == m ? 1 / (node[i] - node[j]) : (t - node[j]) / (node[i] - node[j]);
    }
    sum += product;
  }
  return sum;
}

static PetscReal Det3(const PetscReal J[3][3])
{
  return J[0][0] * (J[1][1] * J[2][2] - J[1][2] * J[2][1]) - J[0][1] * (J[1][0] * J[2][2] - J[1][2] * J[2][0]) +
         J[0][2] * (J[1][0] * J[2][1] - J[1][1] * J[2][0]);
}

/* by Cramer's rule; two dimensions have a 1 at the end of the diagonal */
static void Inverse3(const PetscReal J[3][3], PetscReal inverse[3][3])
{
  for (PetscInt i = 0; i < 3; i++) {
    for (PetscInt j = 0; j < 3; j++) {
      PetscReal M[3][3];

      for (PetscInt a = 0; a < 3; a++)
        for (PetscInt b = 0; b < 3; b++) M[a][b] = b == i ? (a == j ? 1 : 0) : J[a][b];
      inverse[i][j] = Det3((const PetscReal(*)[3])M) / Det3(J);
    }
  }
}

/*
  The dense matrix of the cell with lower corner `corner` and edges h of the box, added to A: gradients of all basis functions at all points;
  or that of `robin` u v on one of its sides, where that is not -1.  The map is that of the test through the nodes of the degree `geo`.
*/
static PetscErrorCode CellMatrix(const Problem *p, DMBoxFunctionFn *map, void *ctx, PetscInt k, PetscInt geo, const PetscReal corner[],
                                 const PetscReal h[], PetscInt side, PetscReal robin, PetscReal A[])
{
  const PetscInt dim = p->dim, n = k + 1, q = k + 1, g = geo + 1, size = PetscPowInt(n, dim), points = PetscPowInt(q, dim),
                 gsize = PetscPowInt(g, dim);
  PetscReal node[32], gnode[32], x[32], w[32], *X, *phi;

  PetscFunctionBeginUser;
  PetscCall(UnitPoints(PETSC_TRUE, n, node, w));
  PetscCall(UnitPoints(PETSC_TRUE, g, gnode, w));
  PetscCall(UnitPoints(PETSC_FALSE, q, x, w));
  PetscCall(PetscMalloc2(gsize * 3, &X, size * 4, &phi));
  for (PetscInt i = 0; i < gsize; i++) {
    const PetscInt at[3] = {i % g, i / g % g, i / g / g};
    PetscReal      t[3];

    for (PetscInt d = 0; d < dim; d++) t[d] = corner[d] + h[d] * gnode[at[d]];
    PetscCall((*map)(dim, 0, t, dim, &X[3 * i], ctx));
  }
  for (PetscInt m = 0; m < points; m++) {
    const PetscInt at[3]   = {m % q, m / q % q, m / q / q};
    PetscReal      J[3][3] = {{0}}, R[3][3], t[3], y[3] = {0, 0, 0}, weight = 1, slope[3], k0;

    if (side >= 0 && at[side / 2]) continue; /* once for each point of the side */
    for (PetscInt d = 0; d < dim; d++) {
      const PetscBool end = (PetscBool)(side >= 0 && d == side / 2);

      t[d] = end ? side % 2 : x[at[d]];
      weight *= end ? 1 : w[at[d]];
    }
    for (PetscInt i = 0; i < gsize; i++) {
      const PetscInt of[3] = {i % g, i / g % g, i / g / g};

      for (PetscInt e = -1; e < dim; e++) {
        PetscReal value = 1;

        for (PetscInt d = 0; d < dim; d++) value *= Lagrange(g, gnode, of[d], t[d], (PetscBool)(d == e));
        for (PetscInt a = 0; a < dim; a++) *(e < 0 ? &y[a] : &J[a][e]) += value * X[3 * i + a];
      }
    }
    for (PetscInt d = dim; d < 3; d++) J[d][d] = 1;
    Inverse3((const PetscReal(*)[3])J, R);
    weight *= Det3((const PetscReal(*)[3])J);
    if (side >= 0) { /* Nanson's formula */
      const PetscReal *normal = R[side / 2];

      weight *= PetscSqrtReal(PetscSqr(normal[0]) + PetscSqr(normal[1]) + (dim == 3 ? PetscSqr(normal[2]) : 0));
    }
    for (PetscInt i = 0; i < size; i++) { /* value and gradient in space */
      const PetscInt of[3] = {i % n, i / n % n, i / n / n};
      PetscReal      d[3]  = {0, 0, 0};

      for (PetscInt e = -1; e < dim; e++) {
        PetscReal value = 1;

        for (PetscInt a = 0; a < dim; a++) value *= Lagrange(n, node, of[a], t[a], (PetscBool)(a == e));
        if (e < 0) phi[4 * i + 3] = value;
        else d[e] = value;
      }
      for (PetscInt a = 0; a < dim; a++) phi[4 * i + a] = R[0][a] * d[0] + R[1][a] * d[1] + R[2][a] * d[2];
    }
    k0 = Factor(p, y, slope);
    for (PetscInt i = 0; i < size; i++) {
      for (PetscInt j = 0; j < size; j++) {
        PetscReal sum = (side < 0 ? Shift(p, y) : robin) * phi[4 * i + 3] * phi[4 * j + 3];

        for (PetscInt a = 0; a < dim && side < 0; a++)
          for (PetscInt b = 0; b < dim; b++) sum += k0 * Tensor(p, a, b) * phi[4 * i + a] * phi[4 * j + b];
        A[i * size + j] += weight * sum;
      }
    }
  }
  PetscCall(PetscFree2(X, phi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x and the diagonal on the whole mesh, natural order, every rank all of it */
static PetscErrorCode Reference(DM dm, const Problem *p, DMBoxFunctionFn *map, void *ctx, PetscInt geo, const PetscReal x[], PetscReal y[],
                                PetscReal diagonal[])
{
  const DM_Box  *box = (const DM_Box *)dm->data;
  const PetscInt k = box->degree, n = k + 1, size = PetscPowInt(n, dm->dim), *nc = box->cells;
  const PetscInt N[3]  = {box->field[0].line[0].nnodes, box->field[0].line[1].nnodes, box->field[0].line[2].nnodes},
                 total = N[0] * N[1] * N[2];
  PetscReal *A;
  PetscBool *fixed;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(size * size, &A, total, &fixed));
  for (PetscInt i = 0; i < total; i++) {
    const PetscInt at[3] = {i % N[0], i / N[0] % N[1], i / N[0] / N[1]};

    fixed[i] = PETSC_FALSE;
    for (PetscInt d = 0; d < dm->dim; d++)
      if ((at[d] == 0 && box->boundary[2 * d] == DMBOX_BOUNDARY_DIRICHLET) ||
          (at[d] == N[d] - 1 && box->boundary[2 * d + 1] == DMBOX_BOUNDARY_DIRICHLET))
        fixed[i] = PETSC_TRUE;
    y[i]        = fixed[i] ? x[i] : 0;
    diagonal[i] = fixed[i] ? 1 : 0;
  }
  for (PetscInt c = 0; c < nc[0] * nc[1] * nc[2]; c++) {
    const PetscInt cell[3] = {c % nc[0], c / nc[0] % nc[1], c / nc[0] / nc[1]};
    PetscReal      corner[3], h[3];
    PetscInt       first = 0;

    for (PetscInt d = dm->dim - 1; d >= 0; d--) {
      h[d]      = (box->upper[d] - box->lower[d]) / (PetscReal)nc[d];
      corner[d] = box->lower[d] + h[d] * (PetscReal)cell[d];
      first     = first * N[d] + cell[d] * k;
    }
    PetscCall(PetscArrayzero(A, size * size));
    PetscCall(CellMatrix(p, map, ctx, k, geo, corner, h, -1, 0, A));
    for (PetscInt s = 0; s < 2 * dm->dim; s++) {
      PetscReal robin;

      PetscCall(DMBoxGetRobin(dm, s, &robin));
      if (robin != 0 && cell[s / 2] == s % 2 * (nc[s / 2] - 1)) PetscCall(CellMatrix(p, map, ctx, k, geo, corner, h, s, robin, A));
    }
    for (PetscInt i = 0; i < size; i++) {
      const PetscInt row = first + i % n + N[0] * (i / n % n + N[1] * (i / n / n));

      if (fixed[row]) continue;
      diagonal[row] += A[i * size + i];
      for (PetscInt j = 0; j < size; j++) {
        const PetscInt col = first + j % n + N[0] * (j / n % n + N[1] * (j / n / n));

        if (!fixed[col]) y[row] += A[i * size + j] * x[col];
      }
    }
  }
  PetscCall(PetscFree2(A, fixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* numbers at the nodes of the whole mesh */
static PetscReal Number(PetscInt i)
{
  return PetscSinReal(1.0 + 0.37 * (PetscReal)i + 0.01 * (PetscReal)(i % 17) * (PetscReal)(i % 17));
}

/* a Vec from natural numbers, or the largest difference from them, relative to the largest of them */
static PetscErrorCode Natural(DM dm, Vec v, const PetscReal natural[], PetscReal *difference)
{
  const DMBoxField *f    = &((const DM_Box *)dm->data)->field[0];
  const PetscInt    N[3] = {f->line[0].nnodes, f->line[1].nnodes, f->line[2].nnodes};
  PetscScalar      *a;
  PetscReal         worst = 0, largest = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(v, &a));
  for (PetscInt k = f->own[2][0]; k < f->own[2][1]; k++) {
    for (PetscInt j = f->own[1][0]; j < f->own[1][1]; j++) {
      for (PetscInt i = f->own[0][0]; i < f->own[0][1]; i++) {
        PetscScalar    *at   = &a[PatchFDBoxNode(&f->global, i, j, k)];
        const PetscReal from = natural[i + N[0] * (j + N[1] * k)];

        if (!difference) *at = from;
        else if (!(PetscAbsScalar(*at - from) <= worst)) worst = PetscAbsScalar(*at - from);
      }
    }
  }
  PetscCall(VecRestoreArray(v, &a));
  if (!difference) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < N[0] * N[1] * N[2]; i++) largest = PetscMax(largest, PetscAbsReal(natural[i]));
  worst /= largest;
  PetscCallMPI(MPIU_Allreduce(&worst, difference, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Say(const char what[], PetscReal error, PetscReal tolerance)
{
  PetscFunctionBeginUser;
  if (error <= tolerance) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: yes\n", what));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: NO, %.3e\n", what, (double)error));
  PetscFunctionReturn(PETSC_SUCCESS);
}
