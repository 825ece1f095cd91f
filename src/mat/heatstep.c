/*
  Time steps of the operator "heat" of a DMBOX with TS: F(t, u, u') = M u' + K u - N(t), Jacobian a M + K, at fixed nodes u - g(t).

  A step has one linear solve, for which TS would begin at the last solution and measure convergence by the residual of that.  Instead it
  begins at an extrapolation of the last two solutions, and stops where a solve from zero would: at the KSP's relative tolerance times the
  norm of the right-hand side.
*/
#include <patchfd/private/heatimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/vecimpl.h>
#include <petsc/private/snesimpl.h>
#include <petscts.h>

const char *const DMBoxHeatSolvers[] = {"auto", "jacobi", "mg", "DMBoxHeatSolver", "DMBOX_HEAT_SOLVER_", NULL};
const char *const DMBoxHeatGuesses[] = {"none", "zero", "previous", "linear", "recursive", "DMBoxHeatGuess", "DMBOX_HEAT_GUESS_", NULL};

/* ---- what a TS keeps ---- */

static PetscErrorCode HeatStepsDestroy(PetscCtxRt ctx)
{
  HeatSteps *s = PATCHFD_DESTROY_CTX(HeatSteps, ctx);

  PetscFunctionBegin;
  PetscCall(VecDestroy(&s->last));
  PetscCall(VecDestroy(&s->before));
  PetscCall(VecDestroy(&s->begun));
  PetscCall(VecDestroy(&s->begunbefore));
  PetscCall(VecDestroy(&s->load));
  PetscCall(VecDestroy(&s->fixed));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TSGetHeatSteps(TS ts, const char who[], HeatSteps **s)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)ts, "DMBoxHeatSteps", (void *)s));
  PetscCheck(*s, PetscObjectComm((PetscObject)ts), PETSC_ERR_ARG_WRONGSTATE, "%s needs a TS to which DMBoxTSSetHeat() was applied", who);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vecs that hold these data; a state of the DM is one of its data */
static PetscErrorCode HeatIsCurrent(DM dm, const DMBox_Heat *heat, PetscReal t, Vec *v, PetscReal *time, PetscObjectState *state,
                                    PetscBool *current)
{
  PetscObjectState now;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)dm, &now));
  *current = (PetscBool)(*v && *state == now && (heat->steady || *time == t));
  if (!*v) PetscCall(DMCreateGlobalVector(dm, v));
  *time  = t;
  *state = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HeatGetLoad(DM dm, const DMBox_Heat *heat, HeatSteps *s, PetscReal t)
{
  PetscBool current;

  PetscFunctionBegin;
  PetscCall(HeatIsCurrent(dm, heat, t, &s->load, &s->tload, &s->load_state, &current));
  if (current) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecSet(s->load, 0));
  PetscCall(DMBoxAddHeatLoad(dm, t, s->load));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HeatGetFixed(DM dm, const DMBox_Heat *heat, HeatSteps *s, PetscReal t)
{
  PetscBool current;

  PetscFunctionBegin;
  PetscCall(HeatIsCurrent(dm, heat, t, &s->fixed, &s->tfixed, &s->fixed_state, &current));
  if (current) PetscFunctionReturn(PETSC_SUCCESS);
  if (heat->dirichlet.f) PetscCall(DMBoxInterpolateFunction(dm, t, heat->dirichlet.f, heat->dirichlet.ctx, s->fixed));
  else PetscCall(VecSet(s->fixed, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- functions of TS ---- */

/* was the Vec set to zero, as far as is known without reading it? */
static PetscErrorCode VecKnownZero(Vec v, PetscBool *zero)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecNormAvailable(v, NORM_2, zero, &norm));
  *zero = (PetscBool)(*zero && norm == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = M udot + K u: in a step with values at both ends one of them is zero twice */
static PetscErrorCode HeatMultiply(Mat M, Vec udot, Mat K, Vec u, Vec f)
{
  PetscBool zero[2];

  PetscFunctionBegin;
  PetscCall(VecKnownZero(udot, &zero[0]));
  PetscCall(VecKnownZero(u, &zero[1]));
  if (zero[0]) {
    PetscCall(MatMult(K, u, f));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatMult(M, udot, f));
  if (!zero[1]) PetscCall(MatMultAdd(K, u, f, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of fixed nodes are there: u and u' have what is given.  Nodes outside of the body have F = 0: they stay as they are. */
static PetscErrorCode HeatComputeIFunction(TS ts, PetscReal t, Vec u, Vec udot, Vec f, void *ctx)
{
  const MatLatticeForm mass = {.mass = 1, .whole = PETSC_TRUE};
  MatLatticeForm       A    = {.stiffness = 1, .whole = PETSC_TRUE};
  HeatSteps           *s    = (HeatSteps *)ctx;
  DMBoxOperator        op;
  DMBox_Heat          *heat = NULL;
  DM                   dm;
  Mat                  M, K;

  PetscFunctionBegin;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMBoxGetHeatData(dm, "DMBoxTSSetHeat()", &heat));
  op       = ((const DM_Box *)dm->data)->op;
  s->stage = t;
  A.mass   = op->coefficient[HEAT_SHIFT];
  PetscCall(DMBoxGetHeatMatrix(dm, "DMBoxHeatM", &mass, &M));
  PetscCall(DMBoxGetHeatMatrix(dm, "DMBoxHeatK", &A, &K));
  PetscCall(HeatMultiply(M, udot, K, u, f));
  if (DMBoxHeatHasLoad(dm, heat)) {
    PetscCall(HeatGetLoad(dm, heat, s, t));
    PetscCall(VecAXPY(f, -1, s->load));
  }
  if (DMBoxHasFixed(dm)) {
    Vec w;

    PetscCall(HeatGetFixed(dm, heat, s, t));
    PetscCall(DMGetGlobalVector(dm, &w));
    PetscCall(VecWAXPY(w, -1, s->fixed, u));
    PetscCall(DMBoxSetFixedVec(dm, f, 1, w));
    PetscCall(DMRestoreGlobalVector(dm, &w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the initial guess ---- */

/* TSARKIMEX may begin with a solve for u' at the beginning of a step, in place of u: zero, and at fixed nodes a difference in time of what
   is given there */
static PetscErrorCode HeatGuessRate(DM dm, HeatSteps *s, Vec x)
{
  DMBox_Heat *heat = NULL;
  PetscReal   dt;
  Vec         w;

  PetscFunctionBegin;
  PetscCall(DMBoxGetHeatData(dm, "DMBoxTSSetHeat()", &heat));
  PetscCall(VecSet(x, 0));
  if (!heat->dirichlet.f || heat->steady) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TSGetTimeStep(s->ts, &dt));
  dt *= 1e-3; /* an error of 1e-6 of the third derivative's term in a step, and no cancellation worth mentioning */
  PetscCall(DMGetGlobalVector(dm, &w));
  PetscCall(DMBoxInterpolateFunction(dm, s->stage + dt, heat->dirichlet.f, heat->dirichlet.ctx, w));
  PetscCall(DMBoxSetFixedVec(dm, x, 1, w));
  PetscCall(DMBoxInterpolateFunction(dm, s->stage - dt, heat->dirichlet.f, heat->dirichlet.ctx, w));
  PetscCall(VecScale(x, 1 / (2 * dt)));
  PetscCall(VecScale(w, 1 / (2 * dt)));
  PetscCall(VecAYPX(w, -1, x));
  PetscCall(DMBoxSetFixedVec(dm, x, 1, w));
  PetscCall(DMRestoreGlobalVector(dm, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is kept is that of a new step, if there is one, at time t */
static PetscErrorCode HeatNewStep(HeatSteps *s, PetscReal t)
{
  Vec u, oldest = s->before, begun = s->begunbefore;

  PetscFunctionBegin;
  if (s->last && t == s->tlast) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TSGetSolution(s->ts, &u));
  if (!oldest) PetscCall(VecDuplicate(u, &oldest));
  s->before      = s->last;
  s->tbefore     = s->tlast;
  s->last        = oldest;
  s->tlast       = t;
  s->begunbefore = s->begun;
  s->begun       = begun;
  PetscCall(VecCopy(u, s->last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = the last solution and its difference to where the solve for it began */
static PetscErrorCode HeatGuessRecursive(HeatSteps *s, Vec x)
{
  PetscFunctionBegin;
  if (s->begunbefore) PetscCall(VecAXPBY(x, -1, 2, s->begunbefore));
  if (!s->begun) PetscCall(VecDuplicate(x, &s->begun));
  PetscCall(VecCopy(x, s->begun));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* from the solution at the beginning of the step, and that of the step before, for x at the time of the stage */
static PetscErrorCode HeatExtrapolate(DM dm, HeatSteps *s, Vec x)
{
  PetscReal t, a;

  PetscFunctionBegin;
  PetscCall(TSGetTime(s->ts, &t));
  PetscCall(HeatNewStep(s, t));
  if (s->stage == t) {
    PetscCall(HeatGuessRate(dm, s, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCopy(s->last, x));
  if (s->guess == DMBOX_HEAT_GUESS_ZERO) PetscCall(VecSet(x, 0));
  if (s->guess == DMBOX_HEAT_GUESS_LINEAR && s->before) {
    a = (s->stage - s->tlast) / (s->tlast - s->tbefore);
    PetscCall(VecAXPBY(x, -a, 1 + a, s->before));
  }
  if (s->guess == DMBOX_HEAT_GUESS_RECURSIVE) PetscCall(HeatGuessRecursive(s, x));
  if (DMBoxHasFixed(dm)) PetscCall(DMBoxSetFixedVec(dm, x, 1, s->fixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the norm in which the KSP measures, of b */
static PetscErrorCode KSPNormOf(KSP ksp, Vec b, Vec work, PetscReal *norm)
{
  KSPNormType type;
  PetscScalar dot;
  PC          pc;

  PetscFunctionBegin;
  *norm = 0;
  PetscCall(KSPGetNormType(ksp, &type));
  PetscCall(KSPGetPC(ksp, &pc));
  if (type == KSP_NORM_NATURAL || type == KSP_NORM_PRECONDITIONED) PetscCall(PCApply(pc, b, work));
  if (type == KSP_NORM_NATURAL) {
    PetscCall(VecDot(b, work, &dot));
    *norm = PetscSqrtReal(PetscAbsScalar(dot));
  } else if (type == KSP_NORM_PRECONDITIONED) PetscCall(VecNorm(work, NORM_2, norm));
  else if (type == KSP_NORM_UNPRECONDITIONED) PetscCall(VecNorm(b, NORM_2, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where the user has left the preconditioner to the library */
static PetscErrorCode HeatChooseSolver(HeatSteps *s, DM dm, KSP ksp, Mat A)
{
  const char *prefix;
  PetscBool   jacobi, shell, given, mg = (PetscBool)(s->solver == DMBOX_HEAT_SOLVER_MG);
  PC          pc;

  PetscFunctionBegin;
  if (s->chosen) PetscFunctionReturn(PETSC_SUCCESS);
  s->chosen = PETSC_TRUE;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscOptionsHasName(((PetscObject)ksp)->options, prefix, "-pc_type", &given));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCJACOBI, &jacobi));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELL, &shell));
  if (given || !jacobi || !shell) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->solver == DMBOX_HEAT_SOLVER_AUTO) PetscCall(DMBoxHeatPrefersMG(dm, A, s->rtol, &mg));
  PetscCall(PetscInfo(s->ts, "Preconditioner of the steps: %s\n", mg ? "multigrid in single precision" : "Jacobi"));
  if (!mg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSetType(pc, PCSINGLE));
  PetscCall(PCSetFromOptions(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the KSP's absolute tolerance = the user's relative one times the norm of the right-hand side; without one the relative tolerance stays,
   since the solution is zero */
static PetscErrorCode HeatSetTolerance(SNES snes, DM dm, HeatSteps *s, Vec b, Vec work)
{
  const PetscReal none = 1e-50;
  Mat             A, P;
  KSP             ksp;
  PetscReal       rtol, norm;

  PetscFunctionBegin;
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  if (rtol != none) s->rtol = rtol;
  PetscCall(SNESGetJacobian(snes, &A, &P, NULL, NULL));
  PetscCall(SNESComputeJacobian(snes, s->last, A, P));
  PetscCall(HeatChooseSolver(s, dm, ksp, P));
  PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPNormOf(ksp, b, work, &norm));
  if (PetscIsInfOrNanReal(norm)) norm = 0; /* the solve itself finds out, and the step fails */
  PetscCall(KSPSetTolerances(ksp, norm > 0 ? none : s->rtol, norm > 0 ? s->rtol * norm : PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* F(0) is minus the right-hand side.  Only F knows the time of the stage, and it wants the given values at that time */
static PetscErrorCode HeatInitialGuess(SNES snes, Vec x, PetscCtx ctx)
{
  HeatSteps *s = (HeatSteps *)ctx;
  DM         dm;
  Vec        zero, b;

  PetscFunctionBegin;
  PetscCall(TSGetDM(s->ts, &dm));
  PetscCall(DMGetGlobalVector(dm, &zero));
  PetscCall(DMGetGlobalVector(dm, &b));
  PetscCall(VecSet(zero, 0));
  PetscCall(SNESComputeFunction(snes, zero, b));
  if (DMBoxHasFixed(dm)) { /* s->fixed is that of this time */
    PetscCall(DMBoxSetFixedVec(dm, zero, 1, s->fixed));
    PetscCall(SNESComputeFunction(snes, zero, b));
  }
  PetscCall(HeatExtrapolate(dm, s, x));
  PetscCall(HeatSetTolerance(snes, dm, s, b, zero));
  PetscCall(DMRestoreGlobalVector(dm, &b));
  PetscCall(DMRestoreGlobalVector(dm, &zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- public routines ---- */

/*@
  DMBoxTSSetHeat - Sets up a `TS` for the heat equation of its `DMBOX`, with the operator `heat`

  Logically Collective

  Input Parameter:
. ts - the `TS`; its `DM`, from `TSSetDM()`, is a `DMBOX` with the space `DMBOX_SPACE_P1` and the operator `heat`

  Options Database Keys:
+ -ts_heat_guess (none|zero|previous|linear|recursive) - the initial guess of the linear solve of a step, see `DMBoxTSSetHeatGuess()`
- -ts_heat_solver (auto|jacobi|mg)                     - the preconditioner, see `DMBoxTSSetHeatSolver()`

  Level: beginner

  Notes:
  It sets the functions M u' + K u - N(t) and a M + K, with the data of `DMBoxSetHeatSource()`, `DMBoxSetHeatFlux()`,
  `DMBoxSetHeatRobin()` and `DMBoxSetHeatDirichlet()`.

  It sets these defaults, which options of `TSSetFromOptions()` may change: the Crank-Nicolson method (`TSCN`); one linear solve a
  step by `KSPFUSEDCG`, with the iterates of `KSPCG`, in the natural norm with relative tolerance 1e-8; the preconditioner of
  `DMBoxTSSetHeatSolver()`. All implicit types work: `TSTHETA`, `TSBEULER`, `TSCN`, `TSBDF`, `TSARKIMEX`, with adaptive steps or
  without.

  Relative tolerances are relative to the right-hand side of the step for every initial guess; see `DMBoxTSSetHeatGuess()`.

  You may change materials and data between steps.

.seealso: `DMBOX`, `DMBoxSetHeat()`, `DMBoxTSSetHeatGuess()`, `DMBoxTSHeatView()`, `DMBoxTSHeatLoad()`, `DMBoxTSComputeIJacobian()`
@*/
PetscErrorCode DMBoxTSSetHeat(TS ts)
{
  DMBox_Heat *heat = NULL;
  HeatSteps  *s;
  TSType      type;
  DM          dm;
  SNES        snes;
  KSP         ksp;
  PC          pc;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ts, TS_CLASSID, 1);
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(DMBoxGetHeatData(dm, "DMBoxTSSetHeat()", &heat));
  PetscCall(PetscNew(&s));
  s->ts = ts;
  PetscCall(PetscObjectContainerCompose((PetscObject)ts, "DMBoxHeatSteps", s, HeatStepsDestroy));
  PetscCall(TSSetProblemType(ts, TS_LINEAR));
  PetscCall(TSGetType(ts, &type));
  if (!type) PetscCall(TSSetType(ts, TSCN));
  PetscCall(TSSetIFunction(ts, NULL, HeatComputeIFunction, s));
  PetscCall(TSSetIJacobian(ts, NULL, NULL, DMBoxTSComputeIJacobian, NULL));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESSetType(snes, SNESKSPONLY));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPFUSEDCG));
  PetscTryMethod(ksp, "KSPFusedCGSetSweep_C", (KSP, PetscBool), (ksp, PETSC_TRUE));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NATURAL));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(DMBoxTSSetHeatGuess(ts, DMBOX_HEAT_GUESS_LINEAR));
  PetscObjectOptionsBegin((PetscObject)ts);
  PetscCall(PetscOptionsEnum("-ts_heat_guess", "Where the linear solve of a step begins", "DMBoxTSSetHeatGuess", DMBoxHeatGuesses,
                             (PetscEnum)s->guess, (PetscEnum *)&s->guess, NULL));
  PetscCall(PetscOptionsEnum("-ts_heat_solver", "The preconditioner of the steps", "DMBoxTSSetHeatSolver", DMBoxHeatSolvers,
                             (PetscEnum)s->solver, (PetscEnum *)&s->solver, NULL));
  PetscOptionsEnd();
  PetscCall(DMBoxTSSetHeatGuess(ts, s->guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxTSSetHeatGuess - Sets the initial guess of the linear solve of a time step of the operator `heat`

  Logically Collective

  Input Parameters:
+ ts    - the `TS`, after `DMBoxTSSetHeat()`
- guess - `DMBOX_HEAT_GUESS_LINEAR` (default): extrapolation of the last two solutions; `DMBOX_HEAT_GUESS_PREVIOUS`: the last one;
          `DMBOX_HEAT_GUESS_ZERO`; `DMBOX_HEAT_GUESS_RECURSIVE`: from the last solution and its guess; or `DMBOX_HEAT_GUESS_NONE`: the
          default of `TS`

  Options Database Key:
. -ts_heat_guess (none|zero|previous|linear|recursive) - the guess; read by `DMBoxTSSetHeat()`

  Level: intermediate

  Notes:
  Except for `DMBOX_HEAT_GUESS_NONE`, the relative tolerance of the `KSP` is relative to the norm of the right-hand side of the
  step, in the norm of `KSPSetNormType()`. In each step the absolute tolerance of the `KSP` is set to their product, so that a
  better guess saves iterations. PETSc by itself measures relative to the residual of the guess.

  `DMBOX_HEAT_GUESS_RECURSIVE` is 2 u - v, with u the last solution and v the guess of its solve. It is for comparison: errors of
  guesses are not damped, and it takes more iterations than `DMBOX_HEAT_GUESS_PREVIOUS`.

.seealso: `DMBOX`, `DMBoxTSSetHeat()`, `DMBoxTSGetHeatGuess()`, `KSPSetTolerances()`, `KSPSetNormType()`
@*/
PetscErrorCode DMBoxTSSetHeatGuess(TS ts, DMBoxHeatGuess guess)
{
  HeatSteps *s;
  SNES       snes;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ts, TS_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ts, guess, 2);
  PetscCall(TSGetHeatSteps(ts, "DMBoxTSSetHeatGuess()", &s));
  if (guess != s->guess) { /* not where solves of long ago began */
    PetscCall(VecDestroy(&s->begun));
    PetscCall(VecDestroy(&s->begunbefore));
  }
  s->guess = guess;
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESSetComputeInitialGuess(snes, guess == DMBOX_HEAT_GUESS_NONE ? NULL : HeatInitialGuess, s));
  if (guess == DMBOX_HEAT_GUESS_NONE) snes->ops->computeinitialguess = NULL; /* the routine above takes NULL for no change */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxTSGetHeatGuess - Returns the initial guess of the linear solve of a time step of the operator `heat`

  Not Collective

  Input Parameter:
. ts - the `TS`, after `DMBoxTSSetHeat()`

  Output Parameter:
. guess - see `DMBoxTSSetHeatGuess()`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxTSSetHeatGuess()`
@*/
PetscErrorCode DMBoxTSGetHeatGuess(TS ts, DMBoxHeatGuess *guess)
{
  HeatSteps *s;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ts, TS_CLASSID, 1);
  PetscAssertPointer(guess, 2);
  PetscCall(TSGetHeatSteps(ts, "DMBoxTSGetHeatGuess()", &s));
  *guess = s->guess;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxTSSetHeatSolver - Sets the preconditioner of the time steps of the operator `heat`

  Logically Collective

  Input Parameters:
+ ts     - the `TS`, after `DMBoxTSSetHeat()`
- solver - `DMBOX_HEAT_SOLVER_JACOBI`: `PCJACOBI`; `DMBOX_HEAT_SOLVER_MG`: multigrid in single precision, `PCSINGLE` with `PCMG`,
           `KSPCHEBYSHEV` and `PCJACOBI` on each level; `DMBOX_HEAT_SOLVER_AUTO` (default): the one that is expected to be faster

  Options Database Key:
. -ts_heat_solver (auto|jacobi|mg) - the preconditioner; read by `DMBoxTSSetHeat()`

  Level: intermediate

  Notes:
  Call it before the first step. It has no effect if the preconditioner of the `KSP` was set to another type than `PCJACOBI`, if the
  option `-pc_type` sets it, or with assembled matrices.

  `auto` estimates the condition number with `PCJACOBI` from the matrix of the first step: the smaller one of 12 dt k / (c h^2) and half
  the square of the number of cells in the longest direction. Iterations grow with its square root. Multigrid is for long steps on fine
  meshes. It needs a mesh that can be coarsened at least twice.

.seealso: `DMBOX`, `DMBoxTSSetHeat()`, `DMBoxTSGetHeatSolver()`, `PCSINGLE`, `DMBoxGetNumCoarsenings()`
@*/
PetscErrorCode DMBoxTSSetHeatSolver(TS ts, DMBoxHeatSolver solver)
{
  HeatSteps *s;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ts, TS_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ts, solver, 2);
  PetscCall(TSGetHeatSteps(ts, "DMBoxTSSetHeatSolver()", &s));
  PetscCheck(!s->chosen, PetscObjectComm((PetscObject)ts), PETSC_ERR_ARG_WRONGSTATE,
             "DMBoxTSSetHeatSolver() must be called before the first step");
  s->solver = solver;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxTSGetHeatSolver - Returns the preconditioner of the time steps of the operator `heat`, as it was set

  Not Collective

  Input Parameter:
. ts - the `TS`, after `DMBoxTSSetHeat()`

  Output Parameter:
. solver - see `DMBoxTSSetHeatSolver()`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxTSSetHeatSolver()`
@*/
PetscErrorCode DMBoxTSGetHeatSolver(TS ts, DMBoxHeatSolver *solver)
{
  HeatSteps *s;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ts, TS_CLASSID, 1);
  PetscAssertPointer(solver, 2);
  PetscCall(TSGetHeatSteps(ts, "DMBoxTSGetHeatSolver()", &s));
  *solver = s->solver;
  PetscFunctionReturn(PETSC_SUCCESS);
}
