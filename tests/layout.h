#pragma once
/* The reference's problem of a DMBOX with one field, and its Vecs between the library's numbering and the natural one */
#include <petscpatchfd.h>
#include "kronecker.h"

/* ---- the problem of a DMBOX ---- */

static PetscErrorCode ProblemGetCoefficients(DM dm, Problem *p)
{
  PetscReal bending;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) p->D[d] = p->twist[d] = 0; /* of directions that do not exist */
  if (p->bending) {
    PetscCall(DMBoxGetBiharmonic(dm, &bending, &p->shift));
    for (int d = 0; d < 3; d++) {
      p->D[d]     = bending;
      p->twist[d] = 2 * bending;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMBoxGetPoisson(dm, p->D, &p->shift));
  for (PetscInt s = 0; s < 2 * p->dim; s++) PetscCall(DMBoxGetRobin(dm, s, &p->robin[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemCreate(DM dm, PetscReal *const vertices[3], Problem *p)
{
  const PetscReal   point[2] = {0, 1};
  PetscReal         penalty[2];
  PetscInt          cells[3], k;
  DMBoxBoundaryType bc[6];
  DMBoxSpace        space;
  const char       *name;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(DMGetDimension(dm, &p->dim));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetDegree(dm, &k));
  PetscCall(DMBoxGetBoundary(dm, bc));
  PetscCall(DMBoxGetSpace(dm, &space));
  PetscCall(DMBoxGetOperator(dm, &name));
  PetscCall(PetscStrcmp(name, "biharmonic", &p->bending));
  PetscCall(ProblemGetCoefficients(dm, p));
  PetscCall(DMBoxGetPenalty(dm, &penalty[0], &penalty[1]));
  p->N = 1;
  for (PetscInt d = 0; d < 3; d++) {
    PetscBool       dirichlet[2] = {PETSC_FALSE, PETSC_FALSE}, clamped[2] = {PETSC_FALSE, PETSC_FALSE};
    const PetscBool ring = (PetscBool)(d < p->dim && bc[2 * d] == DMBOX_BOUNDARY_PERIODIC);

    for (int e = 0; e < 2 && d < p->dim; e++) {
      dirichlet[e] = (PetscBool)(bc[2 * d + e] != DMBOX_BOUNDARY_NEUMANN);
      clamped[e]   = (PetscBool)(bc[2 * d + e] == DMBOX_BOUNDARY_DIRICHLET);
    }
    PetscCall(LineCreate(d < p->dim ? k : 0, (PetscBool)(d >= p->dim || space == DMBOX_SPACE_Q), d < p->dim ? cells[d] : 1,
                         d < p->dim ? vertices[d] : point, ring ? NULL : dirichlet, p->bending ? clamped : NULL, penalty, &p->line[d]));
    p->N *= p->line[d].n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- between the library's numbering and the natural one ---- */

/* the natural number of the node at x: how the test learns the layout without being told */
static PetscErrorCode NaturalNumber(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                    PetscScalar u[], void *ctx)
{
  const Problem *p     = (const Problem *)ctx;
  PetscInt       at[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++)
    for (PetscInt i = 1; i < p->line[d].n; i++)
      if (PetscAbsReal(p->line[d].x[i] - x[d]) < PetscAbsReal(p->line[d].x[at[d]] - x[d])) at[d] = i;
  u[0] = (at[2] * p->line[1].n + at[1]) * p->line[0].n + at[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  DM         dm;
  Problem   *p;
  Vec        number, all;
  VecScatter toall;
} Layout;

/* Without continuity nodes share positions: there the layout is what the manual page says, the rank's cells with x fastest. */
static PetscErrorCode NumberCells(DM dm, const Problem *p, Vec number)
{
  PetscReal    lower[3], upper[3];
  PetscInt     first[3] = {0, 0, 0}, end[3] = {1, 1, 1}, n = 0;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscUseTypeMethod(dm, getlocalboundingbox, lower, upper, first, end);
  PetscCall(VecGetArrayWrite(number, &a));
  for (PetscInt k = first[2] * p->line[2].stride; k < (p->dim > 2 ? end[2] * p->line[2].stride : 1); k++)
    for (PetscInt j = first[1] * p->line[1].stride; j < (p->dim > 1 ? end[1] * p->line[1].stride : 1); j++)
      for (PetscInt i = first[0] * p->line[0].stride; i < end[0] * p->line[0].stride; i++)
        a[n++] = (k * p->line[1].n + j) * p->line[0].n + i;
  PetscCall(VecRestoreArrayWrite(number, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LayoutCreate(DM dm, Problem *p, Layout *l)
{
  DMBoxSpace space;

  PetscFunctionBeginUser;
  l->dm = dm;
  l->p  = p;
  PetscCall(DMCreateGlobalVector(dm, &l->number));
  PetscCall(DMBoxGetSpace(dm, &space));
  if (space == DMBOX_SPACE_Q) PetscCall(DMBoxInterpolateFunction(dm, 0, NaturalNumber, p, l->number));
  else PetscCall(NumberCells(dm, p, l->number));
  PetscCall(VecScatterCreateToAll(l->number, &l->toall, &l->all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LayoutDestroy(Layout *l)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&l->number));
  PetscCall(VecDestroy(&l->all));
  PetscCall(VecScatterDestroy(&l->toall));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToVec(const Layout *l, const PetscReal a[], Vec v)
{
  const PetscScalar *i;
  PetscScalar       *x;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayRead(l->number, &i));
  PetscCall(VecGetArrayWrite(v, &x));
  for (PetscInt j = 0; j < n; j++) x[j] = a[(PetscInt)i[j]];
  PetscCall(VecRestoreArrayWrite(v, &x));
  PetscCall(VecRestoreArrayRead(l->number, &i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Layout *l, const char *name, Vec v, const PetscReal a[], PetscReal tol, PetscInt *failures)
{
  const PetscScalar *i, *x;
  PetscInt           n;
  PetscReal          err = 0, max = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayRead(l->number, &i));
  PetscCall(VecGetArrayRead(v, &x));
  for (PetscInt j = 0; j < n; j++) {
    const PetscReal e = PetscAbsScalar(x[j] - a[(PetscInt)i[j]]);

    err = e > err || PetscIsNanReal(e) ? e : err;
  }
  for (PetscInt j = 0; j < l->p->N; j++) max = PetscMax(max, PetscAbsReal(a[j]));
  PetscCall(VecRestoreArrayRead(v, &x));
  PetscCall(VecRestoreArrayRead(l->number, &i));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &err, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  if (!(err <= tol * max)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: deviates by %g\n", name, (double)(err / max)));
    (*failures)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
