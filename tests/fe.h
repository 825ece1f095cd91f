#pragma once
/* What the programs about one-dimensional finite elements share: reports, random numbers, lines */
#include <patchfd/private/fe.h>
#include <lapacke.h>
#include "runtest.h"

#define MAXCELLS 64

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

/* --- patches -------------------------------------------------------------------------------------------------------- */

/* The global matrix of a band, fixed nodes included, X[nodes of the rows][nodes of the columns]; the caller frees */
static inline PetscErrorCode GlobalMatrix(const PatchFDBand *b, PetscReal **X)
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
static inline void CheckModes(const PatchFDEigen *e, const PetscReal M[], const PetscReal A[], PetscInt ld, Defects *d)
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
