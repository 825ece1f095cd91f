#pragma once
/* DMBoxAddBendingLoad() against sums over the sides of a plate */
#include "layout.h"

/* data of the sides of a plate, a product of functions of one coordinate: slopes, and minus three times that for the moments */
static PetscReal SideFactor(PetscInt d, PetscReal x)
{
  return 1 + (d + 1) * x;
}

static PetscErrorCode Slope(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  for (PetscInt d = 0; d < dim; d++) u[0] *= SideFactor(d, x[d]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Moment(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(Slope(dim, time, x, Nc, u, ctx));
  u[0] *= -3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rows of the line's matrix X times the side data at its nodes, or at one of them */
static PetscReal SideRow(const Problem *p, PetscInt d, const PetscReal X[], PetscInt i, PetscInt first, PetscInt last)
{
  const Line *l   = &p->line[d];
  PetscReal   sum = 0;

  for (PetscInt j = first; j <= last; j++) sum += X[i * l->n + j] * (d < p->dim ? SideFactor(d, l->x[j]) : 1);
  return sum;
}

static PetscErrorCode TestBendingLoad(const Layout *l, const PetscReal b[], PetscReal tol, PetscInt *failures)
{
  const Problem    *p = l->p;
  DMBoxBoundaryType bc[6];
  PetscReal        *z;
  Vec               v;

  PetscFunctionBeginUser;
  /* the data are not periodic */
  if (!p->bending || p->line[0].ring || p->line[1].ring || p->line[2].ring) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxGetBoundary(l->dm, bc));
  PetscCall(PetscMalloc1(p->N, &z));
  for (int kinds = 1; kinds <= 3; kinds++) { /* slopes, moments, both */
    for (PetscInt i = 0; i < p->N; i++) {
      PetscInt at[3];

      Node(p, i, at);
      z[i] = b[i];
      for (PetscInt s = 0; s < 2 * p->dim && !Fixed(p, at); s++) {
        const PetscBool clamped = (PetscBool)(bc[s] == DMBOX_BOUNDARY_DIRICHLET);
        const PetscInt  end     = s % 2 ? p->line[s / 2].n - 1 : 0;
        PetscReal       load    = p->D[0] * (clamped ? 1 : -3);

        for (PetscInt d = 0; d < 3; d++)
          load *= d == s / 2 ? SideRow(p, d, p->line[d].G, at[d], end, end) : SideRow(p, d, p->line[d].M, at[d], 0, p->line[d].n - 1);
        if (kinds & (clamped ? 1 : 2)) z[i] += load;
      }
    }
    PetscCall(DMCreateGlobalVector(l->dm, &v));
    PetscCall(ToVec(l, b, v));
    PetscCall(DMBoxAddBendingLoad(l->dm, 0, kinds & 1 ? Slope : NULL, kinds & 2 ? Moment : NULL, NULL, v));
    PetscCall(Compare(l, "DMBoxAddBendingLoad", v, z, tol, failures));
    PetscCall(VecDestroy(&v));
  }
  PetscCall(PetscFree(z));
  PetscFunctionReturn(PETSC_SUCCESS);
}
