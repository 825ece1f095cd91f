#pragma once
/* The reference of tests/elasticity, which shares no code with the library: cell matrices by quadrature of the bilinear form, assembled */
#include <petsc/private/dmimpl.h>
#include "lines.h"
#include "reference.h"

/* ---- the reference: nodes of a component with x fastest, components one after another ---- */

typedef struct {
  PetscInt  dim, k, degree; /* degree: that the divergence is projected to */
  PetscInt  cells[3], n[3], nodes, N;
  PetscBool ring[3], bent; /* bent: by a map to space */
  enum {
    SAME,
    FUNCTION,
    CELLS
  } vary;                              /* the material */
  PetscReal  lambda, mu, shift, *v[3]; /* vertices */
  PetscBool *fixed;                    /* [N] */
  PetscReal *natural, *K;              /* [N][N]: before and after the rows and columns of fixed nodes */
  PetscInt  *number;                   /* natural numbers of the nown entries of this rank */
  PetscInt   nown, *failures;
  PetscReal  tol;
} Problem;

static PetscReal Legendre(PetscInt m, PetscReal x)
{
  PetscReal p[3] = {1, x, x};

  for (PetscInt i = 2; i <= m; i++) {
    p[2] = ((2 * i - 1) * x * p[1] - (i - 1) * p[0]) / i;
    p[0] = p[1];
    p[1] = p[2];
  }
  return m ? p[1] : 1;
}

/* digit d of a number in a basis, for directions that exist */
static PetscInt Digit(PetscInt i, PetscInt base, PetscInt d)
{
  while (d--) i /= base;
  return i % base;
}

/* where a point of the box goes */
static void Bend(const Problem *p, PetscReal x[3])
{
  PetscReal shift[3];

  for (PetscInt d = 0; d < 3; d++) shift[d] = p->bent && d < p->dim ? 0.1 * PetscSinReal(1.5 * x[0] + 2 * x[1] + 1.2 * x[2] + d) : 0;
  for (PetscInt d = 0; d < 3; d++) x[d] += shift[d];
}

static PetscErrorCode Young(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar u[], PETSC_UNUSED void *ctx)
{
  u[0] = 1.5 + x[0] + x[1] * x[1];
  return PETSC_SUCCESS;
}

static PetscErrorCode Ratio(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar u[], PETSC_UNUSED void *ctx)
{
  u[0] = 0.25 + 0.1 * x[1];
  return PETSC_SUCCESS;
}

/* numbers of a cell, where they are given for cells */
static PetscReal CellYoung(const PetscInt cell[3])
{
  return 1 + cell[0] + 2 * cell[1] + 3 * cell[2];
}

/* lambda and mu at a point of a cell */
static void Material(const Problem *p, const PetscInt cell[3], const PetscReal x[3], PetscReal *lambda, PetscReal *mu)
{
  PetscScalar E = CellYoung(cell), nu = 0.4;

  *lambda = p->lambda;
  *mu     = p->mu;
  if (p->vary == SAME) return;
  if (p->vary == FUNCTION) {
    (void)Young(p->dim, 0, x, 1, &E, NULL);
    (void)Ratio(p->dim, 0, x, 1, &nu, NULL);
  }
  *mu     = PetscRealPart(E / (2 * (1 + nu)));
  *lambda = PetscRealPart(E * nu / ((1 + nu) * (1 - 2 * nu)));
}

/* E[c * na + a][e * na + b] += the form of functions b of component e and a of component c at a point of weight w */
static void AddPoint(const Problem *p, PetscInt na, PetscReal w, PetscReal lambda, PetscReal mu, const PetscReal phi[], PetscReal (*g)[3],
                     PetscReal E[])
{
  if (p->degree < p->k) lambda = 0;
  for (PetscInt r = 0; r < p->dim * na; r++) {
    for (PetscInt s = 0; s < p->dim * na; s++) {
      const PetscInt c = r / na, a = r % na, e = s / na, b = s % na;
      PetscReal      f = mu * g[a][e] * g[b][c] + lambda * g[a][c] * g[b][e];

      for (PetscInt d = 0; d < p->dim && c == e; d++) f += mu * g[a][d] * g[b][d];
      E[r * p->dim * na + s] += w * (f + (c == e ? p->shift * phi[a] * phi[b] : 0));
    }
  }
}

/* gradients in the unit cell to those in space, for the nodes' places X; returns the determinant */
static PetscReal Transform(const Problem *p, PetscInt na, PetscReal (*X)[3], PetscReal (*g)[3])
{
  PetscReal J[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, C[3][3], det = 0;

  for (PetscInt d = 0; d < p->dim; d++)
    for (PetscInt e = 0; e < p->dim; e++) {
      J[d][e] = 0;
      for (PetscInt a = 0; a < na; a++) J[d][e] += X[a][d] * g[a][e];
    }
  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 3; e++)
      C[e][d] = J[(d + 1) % 3][(e + 1) % 3] * J[(d + 2) % 3][(e + 2) % 3] - J[(d + 1) % 3][(e + 2) % 3] * J[(d + 2) % 3][(e + 1) % 3];
  for (int d = 0; d < 3; d++) det += J[d][0] * C[0][d];
  for (PetscInt a = 0; a < na; a++) {
    const PetscReal r[3] = {g[a][0], g[a][1], g[a][2]};

    for (int d = 0; d < 3; d++) g[a][d] = (r[0] * C[0][d] + r[1] * C[1][d] + r[2] * C[2][d]) / det;
  }
  return det;
}

/* in a cell of the box, at -1 <= z <= 1 of each direction */
static void Place(const Problem *p, const PetscInt cell[3], const PetscReal z[3], PetscReal x[3])
{
  for (PetscInt d = 0; d < 3; d++) x[d] = d < p->dim ? p->v[d][cell[d]] + (p->v[d][cell[d] + 1] - p->v[d][cell[d]]) * (1 + z[d]) / 2 : 0;
  Bend(p, x);
}

/* D = M^{-1} D for nm x ne numbers, M positive definite, which Cholesky's factors replace */
static void SolveMoments(PetscInt nm, PetscInt ne, PetscReal M[], PetscReal D[])
{
  for (PetscInt i = 0; i < nm; i++)
    for (PetscInt j = 0; j <= i; j++) {
      for (PetscInt l = 0; l < j; l++) M[i * nm + j] -= M[i * nm + l] * M[j * nm + l];
      M[i * nm + j] = i == j ? PetscSqrtReal(M[i * nm + i]) : M[i * nm + j] / M[j * nm + j];
    }
  for (PetscInt r = 0; r < ne; r++) {
    for (PetscInt i = 0; i < nm; i++) {
      for (PetscInt l = 0; l < i; l++) D[i * ne + r] -= M[i * nm + l] * D[l * ne + r];
      D[i * ne + r] /= M[i * nm + i];
    }
    for (PetscInt i = nm - 1; i >= 0; i--) {
      for (PetscInt l = i + 1; l < nm; l++) D[i * ne + r] -= M[l * nm + i] * D[l * ne + r];
      D[i * ne + r] /= M[i * nm + i];
    }
  }
}

/* the lambda term of projections at a point: coefficients D of polynomials with the values L there */
static void AddProjected(PetscInt nm, PetscInt ne, PetscReal w, const PetscReal L[], const PetscReal D[], PetscReal S[], PetscReal E[])
{
  for (PetscInt r = 0; r < ne; r++) {
    S[r] = 0;
    for (PetscInt m = 0; m < nm; m++) S[r] += L[m] * D[m * ne + r];
  }
  for (PetscInt r = 0; r < ne; r++)
    for (PetscInt s = 0; s < ne; s++) E[r * ne + s] += w * S[r] * S[s];
}

static PetscErrorCode CellMatrix(const Problem *p, const PetscInt cell[3], PetscReal E[])
{
  const PetscInt n = p->k + 1, nq = n, na = PetscPowInt(n, p->dim), np = PetscPowInt(nq, p->dim), nm = PetscPowInt(p->degree + 1, p->dim),
                 ne = p->dim * na;
  PetscReal *z, *wz, *q, *wq, *phi, (*g)[3], (*X)[3], *D, *L, *S, *weight, *M;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(n, &z, n, &wz, nq, &q, nq, &wq));
  PetscCall(PetscMalloc7(na, &phi, na, &g, na, &X, nm * ne, &D, np * nm, &L, ne, &S, np, &weight));
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(n, PETSCGAUSSLOBATTOLEGENDRE_VIA_LINEAR_ALGEBRA, z, wz));
  PetscCall(PetscDTGaussQuadrature(nq, -1, 1, q, wq));
  PetscCall(PetscArrayzero(E, ne * ne));
  PetscCall(PetscArrayzero(D, nm * ne));
  PetscCall(PetscCalloc1(nm * nm, &M));
  for (PetscInt a = 0; a < na; a++) {
    const PetscReal at[3] = {z[Digit(a, n, 0)], z[Digit(a, n, 1)], z[Digit(a, n, 2)]};

    Place(p, cell, at, X[a]);
  }
  for (PetscInt i = 0; i < np; i++) {
    PetscReal w = 1, det, lambda, mu, x[3] = {0, 0, 0};

    for (PetscInt d = 0; d < p->dim; d++) w *= wq[Digit(i, nq, d)];
    for (PetscInt a = 0; a < na; a++) {
      phi[a]  = 1;
      g[a][0] = g[a][1] = g[a][2] = 1;
      for (PetscInt d = 0; d < p->dim; d++) {
        PetscReal l[3];

        Lagrange(p->k, z, Digit(a, n, d), q[Digit(i, nq, d)], l);
        phi[a] *= l[0];
        for (PetscInt e = 0; e < p->dim; e++) g[a][e] *= d == e ? l[1] : l[0];
      }
      for (PetscInt d = p->dim; d < 3; d++) g[a][d] = 0;
      for (PetscInt d = 0; d < 3; d++) x[d] += phi[a] * X[a][d];
    }
    det = Transform(p, na, X, g);
    Material(p, cell, x, &lambda, &mu);
    AddPoint(p, na, w * det, lambda, mu, phi, g, E);
    weight[i] = w * lambda * det;
    for (PetscInt m = 0; m < nm; m++) {
      L[i * nm + m] = 1;
      for (PetscInt d = 0; d < p->dim; d++) {
        const PetscInt j = Digit(m, p->degree + 1, d);

        L[i * nm + m] *= Legendre(j, q[Digit(i, nq, d)]) * PetscSqrtReal(j + 0.5);
      }
      for (PetscInt r = 0; r < ne; r++) D[m * ne + r] += w * det * L[i * nm + m] * g[r % na][r / na];
      for (PetscInt l = 0; l <= m; l++) M[m * nm + l] += w * det * L[i * nm + m] * L[i * nm + l];
    }
  }
  if (p->degree < p->k) SolveMoments(nm, ne, M, D);
  for (PetscInt i = 0; i < np && p->degree < p->k; i++) AddProjected(nm, ne, weight[i], L + i * nm, D, S, E);
  PetscCall(PetscFree4(z, wz, q, wq));
  PetscCall(PetscFree7(phi, g, X, D, L, S, weight));
  PetscCall(PetscFree(M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the number of local node a of a cell */
static PetscInt CellNode(const Problem *p, const PetscInt cell[3], PetscInt a)
{
  PetscInt i = 0;

  for (PetscInt d = p->dim - 1; d >= 0; d--) i = i * p->n[d] + (cell[d] * p->k + Digit(a, p->k + 1, d)) % p->n[d];
  return i;
}

/* where entry i of a lattice is, x fastest */
static void Split(PetscInt i, const PetscInt n[3], PetscInt at[3])
{
  at[0] = i % n[0];
  at[1] = i / n[0] % n[1];
  at[2] = i / n[0] / n[1];
}

static PetscErrorCode Assemble(Problem *p)
{
  const PetscInt na = PetscPowInt(p->k + 1, p->dim), ne = p->dim * na;
  PetscReal     *E;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(ne * ne, &E));
  PetscCall(PetscArrayzero(p->natural, p->N * p->N));
  for (PetscInt i = 0; i < p->cells[0] * p->cells[1] * p->cells[2]; i++) {
    PetscInt cell[3];

    Split(i, p->cells, cell);
    PetscCall(CellMatrix(p, cell, E));
    for (PetscInt r = 0; r < ne; r++)
      for (PetscInt s = 0; s < ne; s++)
        p->natural[(r / na * p->nodes + CellNode(p, cell, r % na)) * p->N + s / na * p->nodes + CellNode(p, cell, s % na)] += E[r * ne + s];
  }
  for (PetscInt i = 0; i < p->N; i++)
    for (PetscInt j = 0; j < p->N; j++) p->K[i * p->N + j] = p->fixed[i] || p->fixed[j] ? i == j : p->natural[i * p->N + j];
  PetscCall(PetscFree(E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the places of the nodes of the rank, if the mesh is bent, and the material, if it varies, to the DM, which has been set up */
static PetscErrorCode Vary(DM dm, Problem *p)
{
  PetscReal    lower[3], upper[3], z[3], *t;
  PetscInt     first[3] = {0, 0, 0}, end[3] = {1, 1, 1}, at = 0;
  Vec          x;
  PetscScalar *a;

  PetscFunctionBeginUser;
  if (p->bent) {
    PetscCall(PetscMalloc1(2 * (p->k + 1), &t));
    PetscCall(PetscDTGaussLobattoLegendreQuadrature(p->k + 1, PETSCGAUSSLOBATTOLEGENDRE_VIA_LINEAR_ALGEBRA, t, t + p->k + 1));
    PetscCall(DMGetCoordinates(dm, &x));
    PetscCall(VecDuplicate(x, &x));
    PetscCall(VecGetArrayWrite(x, &a));
    for (PetscInt j = 0; j < p->nown / p->dim; j++) {
      PetscInt  node[3], cell[3];
      PetscReal X[3];

      Split(p->number[j], p->n, node);
      for (PetscInt d = 0; d < 3; d++) {
        cell[d] = PetscMin(node[d] / p->k, p->cells[d] - 1);
        z[d]    = t[node[d] - cell[d] * p->k];
      }
      Place(p, cell, z, X);
      for (PetscInt d = 0; d < p->dim; d++) a[j * p->dim + d] = X[d];
    }
    PetscCall(VecRestoreArrayWrite(x, &a));
    PetscCall(DMBoxSetMappingCoordinates(dm, x));
    PetscCall(VecDestroy(&x));
    PetscCall(PetscFree(t));
  }
  if (p->vary == FUNCTION) PetscCall(DMBoxSetElasticModuliFunction(dm, Young, Ratio, DMBOX_PLANE_STRAIN, NULL));
  if (p->vary != CELLS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscUseTypeMethod(dm, getlocalboundingbox, lower, upper, first, end);
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_FALSE, 1, &x));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt k = first[2]; k < end[2]; k++)
    for (PetscInt j = first[1]; j < end[1]; j++)
      for (PetscInt i = first[0]; i < end[0]; i++) a[at++] = CellYoung((const PetscInt[]){i, j, k});
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscCall(DMBoxSetElasticModuli(dm, 1, 0.4, DMBOX_PLANE_STRAIN));
  PetscCall(DMBoxSetElasticModuliVec(dm, x, NULL, DMBOX_PLANE_STRAIN));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetMaterial(DM dm, Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(DMBoxGetElasticity(dm, &p->lambda, &p->mu, &p->shift));
  PetscCall(DMBoxGetLambdaDegree(dm, &p->degree));
  if (p->degree == PETSC_DETERMINE) p->degree = p->k > 1 && p->dim > 1 && p->lambda >= 48.9999 * p->mu ? p->k - 2 : p->k;
  PetscCall(Assemble(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemCreate(DM dm, PetscReal *const v[3], Problem *p)
{
  DMBoxBoundaryType bc[6];
  PetscInt          component[6];

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetSymmetryComponents(dm, component));
  PetscCall(DMGetDimension(dm, &p->dim));
  PetscCall(DMBoxGetCells(dm, p->cells));
  PetscCall(DMBoxGetDegree(dm, &p->k));
  PetscCall(DMBoxGetBoundary(dm, bc));
  p->nodes = 1;
  for (PetscInt d = 0; d < 3; d++) {
    p->ring[d] = (PetscBool)(d < p->dim && bc[2 * d] == DMBOX_BOUNDARY_PERIODIC);
    p->n[d]    = d < p->dim ? p->cells[d] * p->k + !p->ring[d] : 1;
    p->v[d]    = v[d];
    if (d >= p->dim) p->cells[d] = 1;
    p->nodes *= p->n[d];
  }
  p->N = p->dim * p->nodes;
  PetscCall(PetscCalloc4(p->N, &p->fixed, p->N * p->N, &p->natural, p->N * p->N, &p->K, p->N, &p->number));
  for (PetscInt i = 0; i < p->N; i++) {
    const PetscInt c = i / p->nodes;
    PetscInt       at[3];

    Split(i % p->nodes, p->n, at);
    for (PetscInt s = 0; s < 2 * p->dim; s++)
      if (at[s / 2] == (s % 2 ? p->n[s / 2] - 1 : 0) &&
          (bc[s] == DMBOX_BOUNDARY_DIRICHLET || (bc[s] == DMBOX_BOUNDARY_SYMMETRY && c == (component[s] < 0 ? s / 2 : component[s]))))
        p->fixed[i] = PETSC_TRUE;
  }
  PetscCall(SetMaterial(dm, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree4(p->fixed, p->natural, p->K, p->number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x */
static void Multiply(const Problem *p, const PetscReal A[], const PetscReal x[], PetscReal y[])
{
  for (PetscInt i = 0; i < p->N; i++) {
    y[i] = 0;
    for (PetscInt j = 0; j < p->N; j++) y[i] += A[i * p->N + j] * x[j];
  }
}

/* ---- between the library's numbering and the natural one ---- */

/* the components one after another, the rank's nodes with x fastest; a node that cells of two ranks share belongs to the upper one */
static PetscErrorCode Number(DM dm, Problem *p)
{
  PetscReal lower[3], upper[3];
  PetscInt  first[3] = {0, 0, 0}, end[3] = {1, 1, 1}, lo[3], n[3];

  PetscFunctionBeginUser;
  PetscUseTypeMethod(dm, getlocalboundingbox, lower, upper, first, end);
  for (PetscInt d = 0; d < 3; d++) {
    lo[d] = d < p->dim ? first[d] * p->k : 0;
    n[d]  = d < p->dim ? (end[d] == p->cells[d] ? p->n[d] : end[d] * p->k) - lo[d] : 1;
  }
  for (PetscInt c = 0; c < p->dim; c++) {
    for (PetscInt i = 0; i < n[0] * n[1] * n[2]; i++) {
      PetscInt at[3];

      Split(i, n, at);
      p->number[p->nown++] = c * p->nodes + ((at[2] + lo[2]) * p->n[1] + at[1] + lo[1]) * p->n[0] + at[0] + lo[0];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToVec(const Problem *p, const PetscReal a[], Vec v)
{
  PetscScalar *x;
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == p->nown, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries, not %" PetscInt_FMT, n, p->nown);
  PetscCall(VecGetArrayWrite(v, &x));
  for (PetscInt j = 0; j < n; j++) x[j] = a[p->number[j]];
  PetscCall(VecRestoreArrayWrite(v, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareTo(const Problem *p, const char name[], Vec v, const PetscReal a[], PetscReal tol)
{
  const PetscScalar *x;
  PetscReal          err = 0, max = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(v, &x));
  for (PetscInt j = 0; j < p->nown; j++) {
    const PetscReal e = PetscAbsScalar(x[j] - a[p->number[j]]);

    err = e > err || PetscIsNanReal(e) ? e : err;
  }
  PetscCall(VecRestoreArrayRead(v, &x));
  for (PetscInt i = 0; i < p->N; i++) max = PetscMax(max, PetscAbsReal(a[i]));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &err, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  if (err <= tol * max) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s deviates by %g, maximum %g\n", name, (double)err, (double)max));
  (*p->failures)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Problem *p, const char name[], Vec v, const PetscReal a[])
{
  PetscFunctionBeginUser;
  PetscCall(CompareTo(p, name, v, a, p->tol));
  PetscFunctionReturn(PETSC_SUCCESS);
}
