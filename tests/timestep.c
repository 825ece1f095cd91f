static char help[] = "The heat equation u' - div(D grad u) + s u = f with TS and the operator of a DMBOX.\n\
The solution, 1 + cos(3 t) prod x_i (1 - x_i), lies in the finite element space: all of the error is that of the time steps.\n\
It is solved with n and with 2 n steps, and the order of convergence follows from the two errors.\n\
  -steps n  : number of steps (default 8)\n\
  -order p  : the order that is expected (default 1)\n\
  -own      : the load is part of an IFunction of the test's own, not a right-hand side function\n\n";

#include <petscpatchfd.h>

static const PetscReal Diffusion[3] = {1, 0.5, 2}, Shift = 3;

static PetscErrorCode Exact(PetscInt dim, PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = PetscCosReal(3 * time);
  for (PetscInt d = 0; d < dim; d++) u[0] *= x[d] * (1 - x[d]);
  u[0] += 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Force(PetscInt dim, PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                            PETSC_UNUSED void *ctx)
{
  const PetscReal g = PetscCosReal(3 * time), dg = -3 * PetscSinReal(3 * time);
  PetscReal       v = 1, laplace = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) {
    PetscReal side = -2 * Diffusion[d];

    v *= x[d] * (1 - x[d]);
    for (PetscInt e = 0; e < dim; e++) side *= e == d ? 1 : x[e] * (1 - x[e]);
    laplace += side;
  }
  f[0] = dg * v - g * laplace + Shift * (1 + g * v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the load, and the boundary values, which are 1 at all times */
static PetscErrorCode Load(TS ts, PetscReal t, PETSC_UNUSED Vec u, Vec b, PETSC_UNUSED void *ctx)
{
  DM  dm;
  Vec one;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMGetGlobalVector(dm, &one));
  PetscCall(VecSet(one, 1));
  PetscCall(VecZeroEntries(b));
  PetscCall(DMBoxAddLoad(dm, t, Force, NULL, b));
  PetscCall(DMBoxLiftDirichlet(dm, one, b));
  PetscCall(DMRestoreGlobalVector(dm, &one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OwnFunction(TS ts, PetscReal t, Vec u, Vec udot, Vec f, void *ctx)
{
  DM  dm;
  Vec b;

  PetscFunctionBeginUser;
  PetscCall(DMBoxTSComputeIFunction(ts, t, u, udot, f, ctx));
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMGetGlobalVector(dm, &b));
  PetscCall(Load(ts, t, u, b, ctx));
  PetscCall(VecAXPY(f, -1, b));
  PetscCall(DMRestoreGlobalVector(dm, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the error at t = 1, and how many iterations a linear solve took */
static PetscErrorCode Solve(PetscInt steps, PetscReal *error, PetscReal *its)
{
  const PetscInt cells[3] = {4, 4, 4};
  DM             dm;
  TS             ts;
  SNES           snes;
  KSP            ksp;
  PC             pc;
  Vec            u;
  PetscInt       n, m;
  PetscReal      t, s;
  PetscBool      own = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-own", &own, NULL));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMBoxSetPoisson(dm, Diffusion, Shift));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Exact, NULL, u));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, dm));
  PetscCall(TSSetType(ts, TSBEULER));
  PetscCall(TSSetIFunction(ts, NULL, own ? OwnFunction : DMBoxTSComputeIFunction, NULL));
  PetscCall(TSSetIJacobian(ts, NULL, NULL, DMBoxTSComputeIJacobian, NULL));
  if (!own) PetscCall(TSSetRHSFunction(ts, NULL, Load, NULL));
  PetscCall(TSSetTimeStep(ts, 1.0 / steps));
  PetscCall(TSSetMaxTime(ts, 1));
  PetscCall(TSSetMaxSteps(ts, 1000000));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESSetTolerances(snes, PETSC_CURRENT, 1e-10, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0)); /* all levels have the shift of the step */
  PetscCall(TSSetFromOptions(ts));
  PetscCall(TSSolve(ts, u));
  PetscCall(TSGetSolveTime(ts, &t));
  PetscCheck(PetscAbsReal(t - 1) < 1e-10, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Stopped at time %g", (double)t);
  PetscCall(DMBoxComputeError(dm, t, Exact, NULL, u, error, NULL));
  PetscCall(TSGetKSPIterations(ts, &n));
  PetscCall(TSGetSNESIterations(ts, &m));
  *its = (PetscReal)n / (PetscReal)PetscMax(m, 1);
  /* the user's coefficients are as they were */
  PetscCall(DMBoxGetPoisson(dm, NULL, &s));
  PetscCheck(s == Shift, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The shift has become %g", (double)s);
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  steps = 8, order = 1;
  PetscReal error[2], its[2], rate;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-order", &order, NULL));
  for (int i = 0; i < 2; i++) PetscCall(Solve((1 + i) * steps, &error[i], &its[i]));
  rate = PetscLog2Real(error[0] / error[1]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "order %" PetscInt_FMT ": %s, iterations a linear solve: %s\n", order,
                        rate > order - 0.3 ? "yes" : "no", its[0] <= 8 && its[1] <= 8 ? "few" : "many"));
  PetscCall(PetscInfo(NULL, "errors %g, %g, order %.2f; %.1f, %.1f iterations\n", (double)error[0], (double)error[1], (double)rate,
                      (double)its[0], (double)its[1]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -ts_adapt_type none
    test:
      suffix: beuler
      nsize: {{1 3}}
      output_file: output/timestep_1.out
      args: -ts_type beuler
    test:
      suffix: cn
      output_file: output/timestep_2.out
      args: -ts_type cn -order 2
    test:
      suffix: theta
      nsize: 2
      output_file: output/timestep_2.out
      args: -ts_type theta -order 2
    test:
      suffix: bdf
      nsize: {{1 2}}
      output_file: output/timestep_2.out
      args: -ts_type bdf -ts_bdf_order 2 -order 2
    test:
      suffix: alpha
      nsize: {{1 2}}
      output_file: output/timestep_2.out
      args: -ts_type alpha -order 2
    # stages of higher order reach it with small steps only
    test:
      suffix: rosw
      output_file: output/timestep_3.out
      args: -ts_type rosw -order 3 -steps 32
    test:
      suffix: dirk
      output_file: output/timestep_1.out
      args: -ts_type dirk -ts_dirk_type s212 -own
    test:
      suffix: arkimex
      nsize: {{1 2}}
      output_file: output/timestep_3.out
      args: -ts_type arkimex -own -order 3 -steps 16
    # interior penalties: boundary values are in the load alone
    test:
      suffix: dgq
      nsize: {{1 2}}
      output_file: output/timestep_2.out
      args: -ts_type cn -order 2 -dm_box_space dgq
    # in three dimensions, and with an assembled matrix
    test:
      suffix: 3d
      nsize: 2
      output_file: output/timestep_1.out
      args: -ts_type beuler -dm_box_dim 3
    test:
      suffix: aij
      output_file: output/timestep_2.out
      args: -ts_type cn -order 2 -dm_mat_type aij -pc_type lu

  test:
    suffix: cuda
    requires: cuda gpu
    nsize: {{1 2}}
    output_file: output/timestep_2.out
    args: -ts_adapt_type none -ts_type cn -order 2 -dm_vec_type cuda

  # steps of other lengths, hence other shifts, in each step
  test:
    suffix: adapt
    output_file: output/timestep_adapt.out
    args: -ts_type bdf -ts_adapt_type basic -ts_rtol 1e-4 -ts_atol 1e-4 -order 0

TEST*/
