#pragma once
/* The reference of tests/elasticity, which shares no code with the library: cell matrices by quadrature of the bilinear form, assembled */
#include <petsc/private/dmimpl.h>
#include "lines.h"
#include "reference.h"

/* ---- the reference: nodes of a component with x fastest, components one after another ---- */

typedef struct {
  PetscInt   dim, k, degree; /* degree: that the divergence is projected to */
  PetscInt   cells[3], n[3], nodes, N;
  PetscBool  ring[3];
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

/* E[c * na + a][e * na + b] += the form of functions b of component e and a of component c at a point of weight w */
static void AddPoint(const Problem *p, PetscInt na, PetscReal w, const PetscReal phi[], PetscReal (*g)[3], PetscReal E[])
{
  const PetscReal lambda = p->degree < p->k ? 0 : p->lambda;

  for (PetscInt r = 0; r < p->dim * na; r++) {
    for (PetscInt s = 0; s < p->dim * na; s++) {
      const PetscInt c = r / na, a = r % na, e = s / na, b = s % na;
      PetscReal      f = p->mu * g[a][e] * g[b][c] + lambda * g[a][c] * g[b][e];

      for (PetscInt d = 0; d < p->dim && c == e; d++) f += p->mu * g[a][d] * g[b][d];
      E[r * p->dim * na + s] += w * (f + (c == e ? p->shift * phi[a] * phi[b] : 0));
    }
  }
}

static PetscErrorCode CellMatrix(const Problem *p, const PetscReal h[3], PetscReal E[])
{
  const PetscInt n = p->k + 1, na = PetscPowInt(n, p->dim), nm = PetscPowInt(p->degree + 1, p->dim), ne = p->dim * na;
  PetscReal     *z, *wz, *q, *wq, *phi, (*g)[3], *D;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(n, &z, n, &wz, n, &q, n, &wq));
  PetscCall(PetscMalloc3(na, &phi, na, &g, nm * ne, &D));
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(n, PETSCGAUSSLOBATTOLEGENDRE_VIA_LINEAR_ALGEBRA, z, wz));
  PetscCall(PetscDTGaussQuadrature(n, -1, 1, q, wq));
  PetscCall(PetscArrayzero(E, ne * ne));
  PetscCall(PetscArrayzero(D, nm * ne));
  for (PetscInt i = 0; i < na; i++) {
    PetscReal w = 1;

    for (PetscInt d = 0; d < p->dim; d++) w *= wq[Digit(i, n, d)] * h[d] / 2;
    for (PetscInt a = 0; a < na; a++) {
      phi[a]  = 1;
      g[a][0] = g[a][1] = g[a][2] = 1;
      for (PetscInt d = 0; d < p->dim; d++) {
        PetscReal l[3];

        Lagrange(p->k, z, Digit(a, n, d), q[Digit(i, n, d)], l);
        phi[a] *= l[0];
        for (PetscInt e = 0; e < p->dim; e++) g[a][e] *= d == e ? l[1] * 2 / h[d] : l[0];
      }
    }
    AddPoint(p, na, w, phi, g, E);
    for (PetscInt m = 0; m < nm; m++) {
      PetscReal value = w;

      for (PetscInt d = 0; d < p->dim; d++) {
        const PetscInt j = Digit(m, p->degree + 1, d);

        value *= Legendre(j, q[Digit(i, n, d)]) * PetscSqrtReal((2 * j + 1) / h[d]);
      }
      for (PetscInt r = 0; r < ne; r++) D[m * ne + r] += value * g[r % na][r / na];
    }
  }
  for (PetscInt m = 0; m < nm && p->degree < p->k; m++)
    for (PetscInt r = 0; r < ne; r++)
      for (PetscInt s = 0; s < ne; s++) E[r * ne + s] += p->lambda * D[m * ne + r] * D[m * ne + s];
  PetscCall(PetscFree4(z, wz, q, wq));
  PetscCall(PetscFree3(phi, g, D));
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
    PetscInt  cell[3];
    PetscReal h[3];

    Split(i, p->cells, cell);
    for (PetscInt d = 0; d < p->dim; d++) h[d] = p->v[d][cell[d] + 1] - p->v[d][cell[d]];
    PetscCall(CellMatrix(p, h, E));
    for (PetscInt r = 0; r < ne; r++)
      for (PetscInt s = 0; s < ne; s++)
        p->natural[(r / na * p->nodes + CellNode(p, cell, r % na)) * p->N + s / na * p->nodes + CellNode(p, cell, s % na)] += E[r * ne + s];
  }
  for (PetscInt i = 0; i < p->N; i++)
    for (PetscInt j = 0; j < p->N; j++) p->K[i * p->N + j] = p->fixed[i] || p->fixed[j] ? i == j : p->natural[i * p->N + j];
  PetscCall(PetscFree(E));
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

  PetscFunctionBeginUser;
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
          (bc[s] == DMBOX_BOUNDARY_DIRICHLET || (bc[s] == DMBOX_BOUNDARY_SYMMETRY && c == s / 2)))
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
