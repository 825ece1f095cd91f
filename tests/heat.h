#pragma once
/* What the programs about the operator heat share: boxes, matrices, functions, time steps, and checks that are counted */
#include <patchfd/private/heatimpl.h>
#include <petscts.h>
#include "runtest.h"
#include "catch.h"

/* ---- what all parts use ---- */

static PetscInt failures = 0;

static PetscErrorCode Check(PetscBool ok, const char format[], ...)
{
  char    text[512];
  va_list args;

  PetscFunctionBeginUser;
  if (ok) PetscFunctionReturn(PETSC_SUCCESS);
  failures++;
  va_start(args, format);
  PetscCall(PetscVSNPrintf(text, sizeof(text), format, NULL, args));
  va_end(args);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "wrong: %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* relative to the value that is wanted, absolute for zero */
static PetscErrorCode Near(const char what[], PetscReal value, PetscReal want, PetscReal tol)
{
  PetscFunctionBeginUser;
  PetscCall(Check((PetscBool)(PetscAbsReal(value - want) <= tol * (want != 0 ? PetscAbsReal(want) : 1)), "%s is %.12g, not %.12g", what,
                  (double)value, (double)want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateBoxOf(PetscInt dim, const PetscInt cells[], const PetscReal upper[], const DMBoxBoundaryType types[6], DM *dm)
{
  const PetscReal lower[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, 1, dm));
  PetscCall(DMBoxSetBounds(*dm, lower, upper));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_P1));
  PetscCall(DMBoxSetOperator(*dm, "heat"));
  PetscCall(DMBoxSetBoundary(*dm, types));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateBox(PetscInt dim, const PetscInt cells[], const PetscReal upper[], DMBoxBoundaryType type, DM *dm)
{
  const DMBoxBoundaryType types[6] = {type, type, type, type, type, type};

  PetscFunctionBeginUser;
  PetscCall(CreateBoxOf(dim, cells, upper, types, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateCube(PetscInt n, DMBoxBoundaryType type, DM *dm)
{
  const PetscInt  cells[3] = {n, n, n};
  const PetscReal upper[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  PetscCall(CreateBox(3, cells, upper, type, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the values of all nodes on every rank, x fastest; to be freed */
static PetscErrorCode Gather(DM dm, Vec v, PetscScalar **all)
{
  const PetscScalar *a;
  PetscInt           n;
  PetscSF            sf;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreateNaturalSF(dm, &sf));
  PetscCall(VecGetSize(v, &n));
  PetscCall(PetscMalloc1(n, all));
  PetscCall(VecGetArrayRead(v, &a));
  PetscCall(PetscSFBcastBegin(sf, MPIU_SCALAR, a, *all, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_SCALAR, a, *all, MPI_REPLACE));
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mass or the stiffness matrix of the DM's materials */
static PetscErrorCode CreateMatrix(DM dm, PetscReal mass, PetscReal stiffness, Mat *A)
{
  const MatLatticeForm form = {.mass = mass, .stiffness = stiffness, .identity = 1};

  PetscFunctionBeginUser;
  PetscCall(MatLatticeCreate(dm, &form, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1' M u */
static PetscErrorCode Energy(DM dm, Vec u, PetscReal *energy)
{
  Mat M;
  Vec w;

  PetscFunctionBeginUser;
  PetscCall(CreateMatrix(dm, 1, 0, &M));
  PetscCall(VecDuplicate(u, &w));
  PetscCall(MatMult(M, u, w));
  PetscCall(VecSum(w, energy));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define FUNCTION(name, expression) \
  static PetscErrorCode name(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, PETSC_UNUSED const PetscReal x[], \
                             PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx) \
  { \
    PetscFunctionBeginUser; \
    u[0] = (expression); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define Y (dim > 1 ? x[1] : 0)
#define Z (dim > 2 ? x[2] : 0)
FUNCTION(One, 1)
FUNCTION(CoordinateX, x[0])
FUNCTION(Capacity, 2 + x[0] + Y * Z)
FUNCTION(Begin, PetscCosReal(4 * x[0]) + x[1] - x[2] * x[0])
FUNCTION(Conductivity, 1 + x[0] * x[0] - 0.2 * Y * Y + Z)

/* |a - b| is small */
static PetscErrorCode Same(const char what[], Vec a, Vec b, PetscReal tol)
{
  PetscReal norm, size;
  Vec       w;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &w));
  PetscCall(VecWAXPY(w, -1, a, b));
  PetscCall(VecNorm(w, NORM_INFINITY, &norm));
  PetscCall(VecNorm(b, NORM_INFINITY, &size));
  PetscCall(Check((PetscBool)(norm <= tol * size), "%s differs by %g", what, (double)(norm / size)));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- steps ---- */

typedef struct {
  PetscReal      theta, dt, rtol;
  PetscInt       steps, midpoint;
  DMBoxHeatGuess guess;
  PetscInt       its[100], total;
} March;

static PetscErrorCode CountIterations(TS ts, PetscInt step, PETSC_UNUSED PetscReal t, PETSC_UNUSED Vec u, void *ctx)
{
  March   *m = (March *)ctx;
  PetscInt total;

  PetscFunctionBeginUser;
  PetscCall(TSGetKSPIterations(ts, &total));
  if (step > 0) m->its[step - 1] = total - m->total;
  m->total = total;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateTS(DM dm, March *m, TS *ts)
{
  SNES snes;
  KSP  ksp;

  PetscFunctionBeginUser;
  PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
  PetscCall(TSSetDM(*ts, dm));
  PetscCall(TSSetType(*ts, TSTHETA));
  PetscCall(TSThetaSetTheta(*ts, m->theta));
  PetscCall(TSThetaSetEndpoint(*ts, (PetscBool)!m->midpoint));
  PetscCall(DMBoxTSSetHeat(*ts));
  PetscCall(DMBoxTSSetHeatGuess(*ts, m->guess));
  PetscCall(DMBoxTSSetHeatSolver(*ts, DMBOX_HEAT_SOLVER_JACOBI));
  PetscCall(TSSetTimeStep(*ts, m->dt));
  PetscCall(TSSetMaxSteps(*ts, m->steps));
  PetscCall(TSSetMaxTime(*ts, PETSC_MAX_REAL));
  PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_STEPOVER));
  PetscCall(TSGetSNES(*ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetTolerances(ksp, m->rtol, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(TSSetFromOptions(*ts));
  PetscCall(TSMonitorSet(*ts, CountIterations, m, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(DM dm, March *m, Vec u)
{
  TS ts;

  PetscFunctionBeginUser;
  m->total = 0;
  PetscCall(CreateTS(dm, m, &ts));
  PetscCall(TSSolve(ts, u));
  PetscCall(TSDestroy(&ts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckCounts(const March *m, PetscInt total, PetscInt first, PetscInt last)
{
  PetscInt sum = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < m->steps; i++) sum += m->its[i];
  PetscCall(Check((PetscBool)(PetscAbsInt(m->its[0] - first) <= 1 && PetscAbsInt(m->its[m->steps - 1] - last) <= 1 &&
                              PetscAbsInt(sum - total) <= m->steps / 4),
                  "theta %g, tolerance %g, guess %s: %d iterations (%d ... %d), not %d (%d ... %d)", (double)m->theta, (double)m->rtol,
                  DMBoxHeatGuesses[m->guess], (int)sum, (int)m->its[0], (int)m->its[m->steps - 1], (int)total, (int)first, (int)last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the one of -part, or all, each with a word whether it is as it should be */
static PetscErrorCode RunParts(size_t n, const Test parts[])
{
  char      part[64] = "";
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  for (size_t i = 0; i < n; i++) {
    PetscCall(PetscStrcmp(part, parts[i].name, &same));
    if (!same && part[0]) continue;
    failures = 0;
    PetscCall((*parts[i].run)());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", parts[i].name, failures ? "wrong" : "ok"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
