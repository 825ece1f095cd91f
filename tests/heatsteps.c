static char help[] = "The heat equation with linear elements on simplices: steps in time, their solvers and guesses, checkpoints.\n\
  -part energy | space | time | iterations | types | multigrid | restart\n\n";

#include "heat.h"

FUNCTION(MinusYZ, -x[1] * x[2])

/* ---- energy ---- */

FUNCTION(EnergyCapacity, 1 + x[0] + x[1] * x[2])
FUNCTION(EnergyBegin, PetscCosReal(5 * x[0]) * x[1] + x[2])

static PetscErrorCode EnergyPart(void)
{
  PetscReal before, after, norm;
  DM        dm;
  Mat       M;
  Vec       u, w;

  PetscFunctionBeginUser;
  PetscCall(CreateCube(8, DMBOX_BOUNDARY_NEUMANN, &dm));
  PetscCall(DMBoxSetHeatFunctions(dm, 0, EnergyCapacity, Conductivity, NULL));
  PetscCall(DMBoxSetHeatSteady(dm, PETSC_TRUE));
  PetscCall(CreateMatrix(dm, 1, 0, &M));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &w));
  for (int i = 0; i < 2; i++) {
    March m = {.theta = i ? 0.5 : 1, .dt = 0.01, .steps = 50, .rtol = 1e-10, .guess = DMBOX_HEAT_GUESS_PREVIOUS};

    PetscCall(DMBoxInterpolateFunction(dm, 0, EnergyBegin, NULL, u));
    PetscCall(Energy(dm, u, &before));
    PetscCall(Near("energy", before, 0.686059785285, 1e-11));
    PetscCall(Solve(dm, &m, u));
    PetscCall(Energy(dm, u, &after));
    PetscCall(Near("energy that is kept", after, before, 1e-9));
    PetscCall(MatMult(M, u, w));
    PetscCall(VecDot(u, w, &norm));
    PetscCall(Near("|u|_M", PetscSqrtReal(norm), i ? 0.51843088567 : 0.51843746436, 1e-8));
  }
  for (int i = 0; i < 2; i++) {
    March m = {.theta = i ? 0.5 : 1, .dt = 0.01, .steps = 50, .rtol = 1e-10, .guess = DMBOX_HEAT_GUESS_PREVIOUS};

    for (PetscInt s = 0; s < 6; s++) PetscCall(DMBoxSetHeatFlux(dm, s, i ? NULL : One, NULL));
    if (i) PetscCall(DMBoxSetHeatFlux(dm, 4, CoordinateX, NULL));
    if (i) PetscCall(DMBoxSetHeatFlux(dm, 1, MinusYZ, NULL));
    PetscCall(DMBoxInterpolateFunction(dm, 0, EnergyBegin, NULL, u));
    PetscCall(Solve(dm, &m, u));
    PetscCall(Energy(dm, u, &after));
    PetscCall(Near("energy gained", after - before, i ? 0.124348958333 : 3, 1e-8));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&M));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- orders ---- */

FUNCTION(SpaceExact, PetscExpReal(-3 * PETSC_PI * PETSC_PI * t) * PetscCosReal(PETSC_PI * x[0]) * PetscCosReal(PETSC_PI * x[1]) *
                       PetscCosReal(PETSC_PI * x[2]))

static PetscErrorCode Space(void)
{
  const PetscReal want[4] = {5.751228e-02, 1.679676e-02, 4.385567e-03, 1.109474e-03};

  PetscFunctionBeginUser;
  for (int i = 0; i < 4; i++) {
    March     m = {.theta = 0.5, .dt = 2e-4, .steps = 100, .rtol = 1e-12, .guess = DMBOX_HEAT_GUESS_LINEAR};
    PetscReal error;
    DM        dm;
    Vec       u;

    PetscCall(CreateCube(4 << i, DMBOX_BOUNDARY_NEUMANN, &dm));
    PetscCall(DMCreateGlobalVector(dm, &u));
    PetscCall(DMBoxInterpolateFunction(dm, 0, SpaceExact, NULL, u));
    PetscCall(Solve(dm, &m, u));
    PetscCall(DMBoxComputeError(dm, 0.02, SpaceExact, NULL, u, &error, NULL));
    PetscCall(Near("L2 error", error, want[i], 1e-4)); /* the reference integrates with fewer points */
    PetscCall(VecDestroy(&u));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

FUNCTION(TimeExact, (1 + x[0] + 2 * x[1] - 3 * x[2]) * PetscCosReal(3 * t))
FUNCTION(TimeSource, -6 * (1 + x[0] + 2 * x[1] - 3 * x[2]) * PetscSinReal(3 * t))
FUNCTION(TimeFlux, *(const PetscReal *)ctx *PetscCosReal(3 * t))

static PetscErrorCode CreateTimeProblem(DMBoxBoundaryType type, PetscReal flux[6], DM *dm)
{
  const PetscReal gradient[3] = {1, 2, -3}, k[3] = {0.5, 0.5, 0.5};

  PetscFunctionBeginUser;
  PetscCall(CreateCube(4, type, dm));
  PetscCall(DMBoxSetHeat(*dm, 2, k, 0));
  PetscCall(DMBoxSetHeatSource(*dm, TimeSource, NULL));
  PetscCall(DMBoxSetHeatDirichlet(*dm, TimeExact, NULL));
  for (PetscInt s = 0; s < 6; s++) {
    flux[s] = (s % 2 ? 0.5 : -0.5) * gradient[s / 2];
    if (type == DMBOX_BOUNDARY_NEUMANN) PetscCall(DMBoxSetHeatFlux(*dm, s, TimeFlux, &flux[s]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the largest error at nodes */
static PetscErrorCode TimeError(DM dm, PetscReal t, Vec u, PetscReal *error)
{
  Vec w;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(u, &w));
  PetscCall(DMBoxInterpolateFunction(dm, t, TimeExact, NULL, w));
  PetscCall(VecAXPY(w, -1, u));
  PetscCall(VecNorm(w, NORM_INFINITY, error));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(void)
{
  static const struct {
    PetscReal theta;
    PetscInt  midpoint;
    PetscReal error[4];
  } cases[] = {{1, 0, {1.66453e-01, 8.93714e-02, 4.62687e-02, 2.35368e-02}},
               {0.5, 0, {2.75724e-02, 6.87412e-03, 1.71735e-03, 4.29263e-04}},
               {0.75, 0, {9.60982e-02, 4.57946e-02, 2.32717e-02, 1.18416e-02}},
               {0.5, 1, {3.05200e-02, 7.60579e-03, 1.90024e-03, 4.74985e-04}}};
  PetscReal flux[6];
  DM        dm;
  Vec       u;

  PetscFunctionBeginUser;
  PetscCall(CreateTimeProblem(DMBOX_BOUNDARY_NEUMANN, flux, &dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    for (int i = 0; i < 4; i++) {
      March     m = {.theta    = cases[c].theta,
                     .midpoint = cases[c].midpoint,
                     .steps    = 10 << i,
                     .dt       = 1. / (10 << i),
                     .rtol     = 1e-12,
                     .guess    = DMBOX_HEAT_GUESS_LINEAR};
      PetscReal error;

      PetscCall(DMBoxInterpolateFunction(dm, 0, TimeExact, NULL, u));
      PetscCall(Solve(dm, &m, u));
      PetscCall(TimeError(dm, 1, u, &error));
      /* heat.md gives the third of theta = 3/4 in its output only: an order of one */
      if (cases[c].theta == 0.75 && i == 2)
        PetscCall(Check((PetscBool)(error > 2.2e-2 && error < 2.4e-2), "error for theta = 3/4, 40 steps: %g", (double)error));
      else PetscCall(Near("error in time", error, cases[c].error[i], 1e-5));
    }
  }
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- iterations ---- */

static PetscErrorCode Iterations(void)
{
  static const PetscInt  total[2][2][4] = {{{657, 510, 380, 620}, {1157, 981, 841, 1074}}, {{516, 416, 381, 518}, {825, 751, 720, 823}}};
  static const PetscInt  first[2][2]    = {{34, 58}, {27, 42}};
  static const PetscInt  last[2][2][4]  = {{{32, 22, 13, 29}, {57, 46, 36, 51}}, {{25, 18, 15, 25}, {41, 35, 32, 40}}};
  static const PetscReal probe[2][3]    = {{0.5004137031, 0.1580713814, 0.0626593030}, {0.5032295597, 0.1580253859, 0.0599188034}};
  static const PetscInt  bydt[5]        = {14, 14, 46, 95, 113};
  PetscScalar           *all;
  DM                     dm;
  Vec                    u;

  PetscFunctionBeginUser;
  PetscCall(CreateCube(16, DMBOX_BOUNDARY_NEUMANN, &dm));
  PetscCall(DMBoxSetHeatFlux(dm, 4, One, NULL));
  PetscCall(DMBoxSetHeatSteady(dm, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(dm, &u));
  for (int t = 0; t < 2; t++) {
    for (int r = 0; r < 2; r++) {
      for (int g = 0; g < 4; g++) {
        March m = {.theta = t ? 0.5 : 1,
                   .steps = 20,
                   .dt    = 0.01,
                   .rtol  = r ? 1e-10 : 1e-6,
                   .guess = (DMBoxHeatGuess)(DMBOX_HEAT_GUESS_ZERO + g)};

        PetscCall(VecSet(u, 0));
        PetscCall(Solve(dm, &m, u));
        PetscCall(CheckCounts(&m, total[t][r][g], first[t][r], last[t][r][g]));
      }
    }
    PetscCall(Gather(dm, u, &all));
    PetscCall(Near("u(0,0,0)", all[0], probe[t][0], 1e-8));
    PetscCall(Near("u(1/2,1/2,1/2)", all[8 + 17 * (8 + 17 * 8)], probe[t][1], 1e-8));
    PetscCall(Near("u(1,1,1)", all[17 * 17 * 17 - 1], probe[t][2], 2e-8));
    PetscCall(PetscFree(all));
  }
  for (int i = 0; i < 5; i++) {
    March m = {.theta = 1, .steps = 1, .dt = 1e-4 * PetscPowRealInt(10, i), .rtol = 1e-8, .guess = DMBOX_HEAT_GUESS_ZERO};

    PetscCall(VecSet(u, 0));
    PetscCall(Solve(dm, &m, u));
    PetscCall(Check((PetscBool)(PetscAbsInt(m.its[0] - bydt[i]) <= 1), "%d iterations for dt = %g, not %d", (int)m.its[0], (double)m.dt,
                    (int)bydt[i]));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- types of TS, with fluxes and with values on the sides that change in time ---- */

static PetscErrorCode TypesError(DM dm, TSType type, PetscInt steps, PetscReal *error)
{
  TS        ts;
  TSAdapt   adapt;
  Vec       u;
  SNES      snes;
  KSP       ksp;
  PetscReal t;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, TimeExact, NULL, u));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, dm));
  PetscCall(TSSetType(ts, type));
  PetscCall(DMBoxTSSetHeat(ts));
  PetscCall(TSSetTimeStep(ts, 1. / (PetscReal)steps));
  PetscCall(TSSetMaxTime(ts, 1));
  PetscCall(TSSetMaxSteps(ts, 10000));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(TSGetAdapt(ts, &adapt));
  PetscCall(TSAdaptSetType(adapt, TSADAPTNONE));
  PetscCall(TSSetFromOptions(ts));
  PetscCall(TSSolve(ts, u));
  PetscCall(TSGetSolveTime(ts, &t));
  PetscCall(Near("time at the end", t, 1, 1e-12));
  PetscCall(TimeError(dm, t, u, error));
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Types(void)
{
  static const struct {
    TSType    type;
    PetscReal order;
  } types[] = {{TSBEULER, 1}, {TSCN, 2}, {TSTHETA, 2}, {TSBDF, 2}, {TSARKIMEX, 2.5}};
  PetscBool adapt;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ts_rtol", &adapt));
  for (int dirichlet = 0; dirichlet < 2; dirichlet++) {
    PetscReal flux[6];
    DM        dm;

    PetscCall(CreateTimeProblem(dirichlet ? DMBOX_BOUNDARY_DIRICHLET : DMBOX_BOUNDARY_NEUMANN, flux, &dm));
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(types); i++) {
      PetscReal error[2];

      /* the values at the middle of steps are those that are given, not the values at their ends: with steps of other lengths these drift
         away */
      if (adapt && dirichlet && types[i].type[0] == 't') continue;
      for (int n = 0; n < 2; n++) PetscCall(TypesError(dm, types[i].type, 16 << n, &error[n]));
      if (adapt) PetscCall(Check((PetscBool)(error[1] < 0.1), "%s with adaptive steps has the error %g", types[i].type, (double)error[1]));
      else
        PetscCall(Check((PetscBool)(PetscLog2Real(error[0] / error[1]) > types[i].order - 0.3 && error[1] < 0.1),
                        "%s%s has the errors %g and %g", types[i].type, dirichlet ? " with values on the sides" : "", (double)error[0],
                        (double)error[1]));
    }
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- multigrid ---- */

static PetscErrorCode SolveWith(DM dm, DMBoxHeatSolver solver, PetscReal dt, Vec u, PetscReal *its)
{
  March    m = {.theta = 0.5, .dt = dt, .steps = 5, .rtol = 1e-9, .guess = DMBOX_HEAT_GUESS_LINEAR};
  PetscInt n;
  TS       ts;

  PetscFunctionBeginUser;
  PetscCall(CreateTS(dm, &m, &ts));
  PetscCall(DMBoxTSSetHeatSolver(ts, solver));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Begin, NULL, u));
  PetscCall(TSSolve(ts, u));
  PetscCall(TSGetKSPIterations(ts, &n));
  *its = (PetscReal)n / 5;
  PetscCall(TSDestroy(&ts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* few iterations where Jacobi's preconditioner needs many, and the same temperatures: insulated, with values given, on a body with holes */
static PetscErrorCode Multigrid(void)
{
  static unsigned char voxel[16 * 16 * 16];
  const char *const    names[3] = {"insulated", "with values given", "of voxels"};

  PetscFunctionBeginUser;
  for (int i = 0; i < 16 * 16 * 16; i++)
    voxel[i] = (unsigned char)(i % 16 < 10 || i / 16 % 16 > 5) && !(i % 16 == 4 && i / 256 > 3 && i / 256 < 12);
  for (int c = 0; c < 3; c++) {
    PetscReal its[3];
    DM        dm;
    Vec       u, v;

    PetscCall(CreateCube(16, c == 1 ? DMBOX_BOUNDARY_DIRICHLET : DMBOX_BOUNDARY_NEUMANN, &dm));
    PetscCall(DMBoxSetHeatFunctions(dm, 0, Capacity, Conductivity, NULL));
    PetscCall(DMBoxSetHeatDirichlet(dm, Begin, NULL));
    if (c != 1) PetscCall(DMBoxSetHeatFlux(dm, 4, One, NULL));
    if (c != 1) PetscCall(DMBoxSetHeatRobin(dm, 1, 2, 1));
    if (c == 2) PetscCall(DMBoxSetHeatVoxels(dm, voxel, 0, NULL, NULL));
    PetscCall(DMCreateGlobalVector(dm, &u));
    PetscCall(VecDuplicate(u, &v));
    PetscCall(SolveWith(dm, DMBOX_HEAT_SOLVER_JACOBI, 0.2, u, &its[0]));
    PetscCall(SolveWith(dm, DMBOX_HEAT_SOLVER_MG, 0.2, v, &its[1]));
    PetscCall(Same("the temperature by multigrid", v, u, 1e-7));
    PetscCall(Check((PetscBool)(its[1] <= (c == 2 ? 14 : 9) && its[0] > 3 * its[1]),
                    "body %s: %g iterations with multigrid, %g with Jacobi", names[c], (double)its[1], (double)its[0]));
    PetscCall(SolveWith(dm, DMBOX_HEAT_SOLVER_AUTO, 1e-4, v, &its[2]));
    PetscCall(Check((PetscBool)(its[2] > 7.5 && its[2] < 30), "body %s: %g iterations in short steps, which Jacobi's preconditioner is for",
                    names[c], (double)its[2]));
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&v));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checkpoints ---- */

static PetscErrorCode WriteCheckpoint(TS ts, PetscInt step, PETSC_UNUSED PetscReal t, PETSC_UNUSED Vec u, void *ctx)
{
  PetscViewer viewer;

  PetscFunctionBeginUser;
  if (step != 7) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, (const char *)ctx, FILE_MODE_WRITE, &viewer));
  PetscCall(DMBoxTSHeatView(ts, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a run that is continued from a checkpoint, by another TS, against one that was not interrupted */
static PetscErrorCode RestartGuess(DMBoxHeatGuess guess)
{
  const char  file[] = "heat_checkpoint.bin";
  March       m      = {.theta = 0.5, .dt = 0.01, .steps = 15, .rtol = 1e-6, .guess = guess};
  PetscReal   flux[6];
  PetscInt    step, its[15];
  PetscBool   same;
  DM          dm;
  TS          ts;
  Vec         u, v;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(CreateTimeProblem(DMBOX_BOUNDARY_NEUMANN, flux, &dm));
  PetscCall(DMBoxSetHeatFunctions(dm, 0, Capacity, Conductivity, NULL));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(DMBoxInterpolateFunction(dm, 0, TimeExact, NULL, u));
  PetscCall(CreateTS(dm, &m, &ts));
  PetscCall(TSMonitorSet(ts, WriteCheckpoint, (void *)file, NULL));
  PetscCall(TSSolve(ts, u));
  PetscCall(TSDestroy(&ts));
  PetscCall(PetscArraycpy(its, m.its, 15));
  /* another TS goes on from the seventh step */
  m.total = 0;
  PetscCall(CreateTS(dm, &m, &ts));
  PetscCall(TSSetSolution(ts, v));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(DMBoxTSHeatLoad(ts, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(TSSolve(ts, v));
  PetscCall(TSGetStepNumber(ts, &step));
  PetscCall(Check((PetscBool)(step == 15), "stopped at step %d", (int)step));
  PetscCall(VecEqual(u, v, &same));
  PetscCall(Check(same, "the solution that was continued is another one"));
  for (int i = 7; i < 15; i++)
    PetscCall(Check((PetscBool)(its[i] == m.its[i]), "step %d took %d iterations, not %d", i, (int)m.its[i], (int)its[i]));
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Restart(void)
{
  PetscFunctionBeginUser;
  PetscCall(RestartGuess(DMBOX_HEAT_GUESS_LINEAR));
  PetscCall(RestartGuess(DMBOX_HEAT_GUESS_RECURSIVE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program ---- */

FUNCTION(Waves, PetscSinReal(2 * PETSC_PI * x[0]) * PetscCosReal(2 * PETSC_PI * Y))

/* in time steps waves around two rings, one of an odd number of cells, decay as they should */
static PetscErrorCode Rings(void)
{
  const PetscInt          cells[3] = {36, 33, 1};
  const PetscReal         upper[3] = {1, 1, 1};
  const DMBoxBoundaryType types[6] = {DMBOX_BOUNDARY_PERIODIC, DMBOX_BOUNDARY_PERIODIC, DMBOX_BOUNDARY_PERIODIC,
                                      DMBOX_BOUNDARY_PERIODIC, DMBOX_BOUNDARY_NEUMANN,  DMBOX_BOUNDARY_NEUMANN};
  March                   m        = {.theta = 0.5, .dt = 0.001, .steps = 10, .rtol = 1e-10, .guess = DMBOX_HEAT_GUESS_LINEAR};
  DM                      dm;
  TS                      ts;
  Vec                     u, v;

  PetscFunctionBeginUser;
  PetscCall(CreateBoxOf(2, cells, upper, types, &dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &v));
  for (int mg = 0; mg < 2; mg++) {
    PetscCall(DMBoxInterpolateFunction(dm, 0, Waves, NULL, u));
    PetscCall(VecCopy(u, v));
    PetscCall(VecScale(v, PetscExpReal(-8 * PETSC_PI * PETSC_PI * m.dt * (PetscReal)m.steps)));
    m.total = 0;
    PetscCall(CreateTS(dm, &m, &ts));
    if (mg) PetscCall(DMBoxTSSetHeatSolver(ts, DMBOX_HEAT_SOLVER_MG));
    PetscCall(TSSolve(ts, u));
    PetscCall(TSDestroy(&ts));
    PetscCall(Same(mg ? "a wave after ten steps, multigrid" : "a wave after ten steps", u, v, 0.01));
  }
  FAILS(DMBoxSetHeatVoxels(dm, (const unsigned char[]){1}, 0, NULL, NULL), PETSC_ERR_SUP, "no periodic sides");
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Test parts[] = {{"energy", EnergyPart}, {"space", Space},         {"time", Time},       {"iterations", Iterations},
                               {"types", Types},       {"multigrid", Multigrid}, {"restart", Restart}, {"rings", Rings}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(RunParts(PETSC_STATIC_ARRAY_LENGTH(parts), parts));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 4}}
    test:
      suffix: energy
      args: -part energy
    test:
      suffix: time
      args: -part time
    test:
      suffix: types
      args: -part types
    test:
      suffix: multigrid
      args: -part multigrid
    test:
      suffix: restart
      args: -part restart
  testset:
    nsize: {{1 2 3 4 8}}
    test:
      suffix: rings
      args: -part rings
  testset:
    nsize: {{1 3}}
    test:
      suffix: space
      args: -part space
    test:
      suffix: iterations
      args: -part iterations
  # steps of other lengths, hence other matrices
  test:
    suffix: adapt
    output_file: output/heatsteps_types.out
    args: -part types -ts_adapt_type basic -ts_rtol 1e-4 -ts_atol 1e-4
  # the same with matrices that are assembled
  test:
    suffix: aij
    nsize: {{1 2}}
    output_file: output/heatsteps_time.out
    args: -part time -dm_mat_type aij
  testset:
    requires: cuda gpu
    nsize: {{1 2}}
    args: -dm_vec_type cuda
    test:
      suffix: cuda_time
      output_file: output/heatsteps_time.out
      args: -part time
    test:
      suffix: cuda_multigrid
      output_file: output/heatsteps_multigrid.out
      args: -part multigrid
    test:
      suffix: cuda_rings
      output_file: output/heatsteps_rings.out
      args: -part rings
    test:
      suffix: cuda_types
      output_file: output/heatsteps_types.out
      args: -part types

TEST*/
