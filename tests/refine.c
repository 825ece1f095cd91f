static char help
  [] = "KSPREFINE: the iterates of KSPRICHARDSON while cycles converge; where they do not, another KSP goes on, to the same criterion.\n\
  -part <iterates,guard,cycles,settings,transpose>\n\
  -pcs <type,...> : preconditioners of iterates (default patchmg)\n\
  -null           : constants are the null space\n\n";

#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include "catch.h"
#include "runtest.h"

enum {
  MAX_HISTORY = 500
};

typedef struct {
  PetscScalar scale; /* times the inverse diagonal */
  PetscInt    bad;   /* the application that is: */
  PetscScalar value; /* scaled by this instead */
  PetscBool   fails;
  PetscInt    count;
  Vec         d;
} Shell;

typedef struct {
  DM        dm;
  Mat       A;
  Vec       b, x, y, r;
  KSP       ksp, inner;
  Shell     shell;
  PetscInt  monitored;
  PetscReal history[MAX_HISTORY];
} Case;

static PetscErrorCode ApplyShell(PC pc, Vec r, Vec z)
{
  Shell *s;

  PetscFunctionBeginUser;
  PetscCall(PCShellGetContext(pc, &s));
  PetscCall(VecPointwiseMult(z, s->d, r));
  s->count++;
  PetscCall(VecScale(z, s->count == s->bad ? s->value : s->scale));
  if (s->count == s->bad && s->fails) {
    PetscCall(PCSetFailedReason(pc, PC_SUBPC_ERROR));
    PetscCall(VecFlag(z, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* counts, and sees that the norm is that of the iterate which it is told of */
static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  Case     *c = (Case *)ctx;
  Vec       r;
  PetscReal is, b;

  PetscFunctionBeginUser;
  PetscCheck(it == c->monitored, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Iteration %" PetscInt_FMT " after %" PetscInt_FMT, it, c->monitored - 1);
  c->monitored++;
  PetscCall(KSPBuildResidual(ksp, NULL, c->r, &r));
  PetscCall(VecNorm(r, NORM_2, &is));
  PetscCall(VecNorm(c->b, NORM_2, &b));
  /* FGMRES has its norms from a recursion */
  PetscCheck(PetscAbsReal(is - norm) <= 1e-6 * PetscMax(norm, b) || PetscIsInfOrNanReal(norm), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Iteration %" PetscInt_FMT ": norm %g, of the iterate's residual %g", it, (double)norm, (double)is);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateKSP(Case *c, const char *type, const char *pctype, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, c->A, c->A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-9, 1e-200, 1e4, MAX_HISTORY - 1));
  PetscCall(KSPSetResidualHistory(*ksp, c->history, MAX_HISTORY, PETSC_TRUE));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0)); /* if it is one: cycles */
  if (c->dm) PetscCall(PCSetDM(pc, c->dm));
  if (!strcmp(pctype, PCSHELL)) {
    PetscCall(PCShellSetContext(pc, &c->shell));
    PetscCall(PCShellSetApply(pc, ApplyShell));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateCase(Case *c)
{
  const PetscInt cells[] = {4, 4, 4};
  PetscBool      null    = PETSC_FALSE;
  MatNullSpace   space;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, &c->dm));
  PetscCall(DMSetFromOptions(c->dm));
  PetscCall(DMSetUp(c->dm));
  PetscCall(DMCreateMatrix(c->dm, &c->A));
  PetscCall(DMCreateGlobalVector(c->dm, &c->b));
  PetscCall(VecDuplicate(c->b, &c->x));
  PetscCall(VecDuplicate(c->b, &c->y));
  PetscCall(VecDuplicate(c->b, &c->r));
  PetscCall(VecDuplicate(c->b, &c->shell.d));
  PetscCall(VecSetRandom(c->b, NULL));
  PetscCall(MatGetDiagonal(c->A, c->shell.d));
  PetscCall(VecReciprocal(c->shell.d));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-null", &null, NULL));
  if (null) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &space));
    PetscCall(MatSetNullSpace(c->A, space));
    PetscCall(MatNullSpaceDestroy(&space));
  }
  PetscCall(MatGetNullSpace(c->A, &space)); /* that of constant pressures, or the one above */
  if (space) PetscCall(MatNullSpaceRemove(space, c->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyCase(Case *c)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&c->ksp));
  PetscCall(VecDestroy(&c->b));
  PetscCall(VecDestroy(&c->x));
  PetscCall(VecDestroy(&c->y));
  PetscCall(VecDestroy(&c->r));
  PetscCall(VecDestroy(&c->shell.d));
  PetscCall(MatDestroy(&c->A));
  PetscCall(DMDestroy(&c->dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- against KSPRICHARDSON and KSPFGMRES ---- */

static PetscErrorCode Quiet(PETSC_UNUSED KSP ksp, PETSC_UNUSED PetscInt it, PETSC_UNUSED PetscReal norm, PETSC_UNUSED void *ctx)
{
  return PETSC_SUCCESS;
}

static PetscErrorCode Iterates(Case *c)
{
  char     *pcs[8], patchmg[] = PCPATCHMG;
  PetscInt  npcs = 8;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-pcs", pcs, &npcs, &set));
  if (!set) npcs = 1;
  for (PetscInt i = 0; i < npcs; i++) {
    const char        *types[] = {KSPRICHARDSON, KSPREFINE, KSPFGMRES}, *pctype = set ? pcs[i] : patchmg;
    PetscReal          first[MAX_HISTORY] = {0}, norm, diff, rtol;
    PetscInt           its[3], total;
    KSPConvergedReason reason[3];

    for (int j = 0; j < 3; j++) {
      Vec to = j ? c->y : c->x;

      PetscCall(CreateKSP(c, types[j], pctype, &c->ksp));
      PetscCall(KSPMonitorSet(c->ksp, Quiet, NULL, NULL)); /* KSPRICHARDSON leaves nothing to PCApplyRichardson() then */
      PetscCall(KSPRefineSetRate(c->ksp, 1));
      PetscCall(KSPSetFromOptions(c->ksp));
      PetscCall(KSPSolve(c->ksp, c->b, to));
      PetscCall(KSPGetIterationNumber(c->ksp, &its[j]));
      PetscCall(KSPGetConvergedReason(c->ksp, &reason[j]));
      if (j) {
        PetscCall(VecNorm(c->x, NORM_2, &norm));
        PetscCall(VecAXPY(to, -1, c->x));
        PetscCall(VecNorm(to, NORM_2, &diff));
        PetscCall(KSPGetTolerances(c->ksp, &rtol, NULL, NULL, NULL));
        PetscCheck(diff <= (j == 1 ? 1e-12 : 100 * rtol) * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "%s: solutions of richardson and %s differ by %g", pctype, types[j], (double)(diff / norm));
      }
      if (j == 1) {
        PetscCall(KSPRefineGetKSP(c->ksp, &c->inner));
        PetscCall(KSPGetTotalIterations(c->inner, &total));
        PetscCheck(!total, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: not plain cycles", pctype);
        PetscCheck(its[0] == its[1] && reason[0] == reason[1], PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "%s: %" PetscInt_FMT " iterations, %s; %" PetscInt_FMT ", %s", pctype, its[0], KSPConvergedReasons[reason[0]], its[1],
                   KSPConvergedReasons[reason[1]]);
        for (PetscInt k = 0; k <= its[1]; k++)
          PetscCheck(PetscAbsReal(c->history[k] - first[k]) <= 1e-12 * first[0], PETSC_COMM_SELF, PETSC_ERR_PLIB,
                     "%s: norm %" PetscInt_FMT " %g, of richardson %g", pctype, k, (double)c->history[k], (double)first[k]);
      }
      if (!j) PetscCall(PetscArraycpy(first, c->history, its[0] + 1));
      PetscCall(KSPDestroy(&c->ksp));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the preconditioner: iterates of richardson, the solution of fgmres, %s\n",
                          KSPConvergedReasons[reason[1]]));
    if (set) PetscCall(PetscFree(pcs[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is solved, how, and that it is so ---- */

static PetscErrorCode Solve(Case *c, const char *name)
{
  PetscInt           before, after, its, length;
  PetscReal          norm, b;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  c->monitored = c->shell.count = 0;
  PetscCall(KSPRefineGetKSP(c->ksp, &c->inner));
  PetscCall(KSPGetTotalIterations(c->inner, &before));
  PetscCall(KSPSolve(c->ksp, c->b, c->x));
  PetscCall(KSPGetTotalIterations(c->inner, &after));
  PetscCall(KSPGetIterationNumber(c->ksp, &its));
  PetscCall(KSPGetConvergedReason(c->ksp, &reason));
  PetscCall(KSPGetResidualHistory(c->ksp, NULL, &length));
  PetscCall(MatMult(c->A, c->x, c->r));
  PetscCall(VecAYPX(c->r, -1, c->b));
  PetscCall(VecNorm(c->r, NORM_2, &norm));
  PetscCall(VecNorm(c->b, NORM_2, &b));
  PetscCheck(reason < 0 || reason == KSP_CONVERGED_ITS || norm <= 1.01e-9 * b, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: relative residual %g",
             name, (double)(norm / b));
  PetscCheck(length == its + 1 || reason == KSP_DIVERGED_NANORINF || reason == KSP_DIVERGED_PC_FAILED, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %" PetscInt_FMT " iterations, history of %" PetscInt_FMT, name, its, length);
  PetscCheck(c->monitored == length, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " norms monitored, history of %" PetscInt_FMT,
             name, c->monitored, length);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " cycles%s, %s\n", name, its - (after - before),
                        after > before ? ", then iterations" : "", KSPConvergedReasons[reason]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Guarded(Case *c, const char *pctype)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&c->ksp));
  PetscCall(CreateKSP(c, KSPREFINE, pctype, &c->ksp));
  PetscCall(KSPMonitorSet(c->ksp, Monitor, c, NULL));
  PetscCall(KSPSetFromOptions(c->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a shell PC, wrong in many ways */
static PetscErrorCode Guard(Case *c)
{
  const struct {
    const char *name;
    PetscScalar scale, value;
    PetscInt    bad;
    PetscBool   fails;
  } shells[] = {
    {"too little", 1e-3, 1, 0, PETSC_FALSE},        {"too much", 100, 1, 0, PETSC_FALSE},
    {"far too much", 1e30, 1, 0, PETSC_FALSE},      {"backward", -0.01, 1, 0, PETSC_FALSE},
    {"overflow, once", 0.5, 1e307, 1, PETSC_FALSE}, {"not a number, once", 0.5, NAN, 1, PETSC_FALSE},
    {"not a number", NAN, 1, 0, PETSC_FALSE},       {"failure", 0.5, 1, 1, PETSC_TRUE},
    {"failure, later", 0.5, 1, 3, PETSC_TRUE},
  };

  PetscFunctionBeginUser;
  PetscCall(Guarded(c, PCSHELL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(shells); i++) {
    for (int guess = 0; guess < 2; guess++) {
      PC pc;

      c->shell.scale = shells[i].scale;
      c->shell.value = shells[i].value;
      c->shell.bad   = shells[i].bad;
      c->shell.fails = shells[i].fails;
      PetscCall(KSPGetPC(c->ksp, &pc));
      PetscCall(PCSetFailedReason(pc, PC_NOERROR));
      PetscCall(VecSet(c->x, 1e-3));
      PetscCall(KSPSetInitialGuessNonzero(c->ksp, (PetscBool)guess));
      PetscCall(Solve(c, shells[i].name));
      if (!guess && i < 2) { /* a cycle that was taken back */
        const PetscBool same = (PetscBool)(c->history[0] == c->history[1]);

        PetscCheck(same == (PetscBool)(i == 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Norms %g, %g", (double)c->history[0],
                   (double)c->history[1]);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* V-cycles, good or bad by options */
static PetscErrorCode Cycles(Case *c)
{
  PetscFunctionBeginUser;
  PetscCall(Guarded(c, PCPATCHMG));
  PetscCall(Solve(c, "V-cycle"));
  PetscCall(KSPSetInitialGuessNonzero(c->ksp, PETSC_TRUE));
  PetscCall(VecSet(c->x, 1e-3));
  PetscCall(Solve(c, "from a guess"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all that a KSP can be told ---- */

static PetscErrorCode ConvergedSeventh(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, PETSC_UNUSED void *ctx)
{
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCheck(its == it && norm >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Test of iteration %" PetscInt_FMT ", which is %" PetscInt_FMT, it,
             its);
  *reason = it == 7 ? KSP_CONVERGED_HAPPY_BREAKDOWN : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Guesses(Case *c)
{
  const PetscScalar factors[] = {1e-150, 1e150, 0};

  PetscFunctionBeginUser;
  PetscCall(Solve(c, "first"));
  PetscCall(Solve(c, "again"));
  PetscCall(KSPSetInitialGuessNonzero(c->ksp, PETSC_TRUE));
  PetscCall(Solve(c, "from the solution"));
  PetscCall(VecSet(c->x, 2e-3));
  PetscCall(Solve(c, "from a guess"));
  PetscCall(KSPSetInitialGuessNonzero(c->ksp, PETSC_FALSE));
  for (int i = 0; i < 3; i++) {
    PetscCall(VecCopy(c->b, c->y));
    PetscCall(VecScale(c->b, factors[i]));
    PetscCall(Solve(c, i == 0 ? "tiny" : i == 1 ? "huge" : "zero"));
    PetscCall(VecCopy(c->y, c->b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Limits(Case *c)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSetTolerances(c->ksp, 1e-9, 1e-200, 1e4, 3));
  PetscCall(Solve(c, "three iterations"));
  PetscCall(KSPSetTolerances(c->ksp, 1e-9, 1e-200, 1e4, 0));
  PetscCall(Solve(c, "no iteration"));
  PetscCall(KSPSetTolerances(c->ksp, 1e-9, 1e-200, 1e4, MAX_HISTORY - 1));
  PetscCall(KSPSetMinimumIterations(c->ksp, 6));
  PetscCall(Solve(c, "six iterations at least"));
  PetscCall(KSPSetMinimumIterations(c->ksp, 0));
  PetscCall(KSPRefineSetRate(c->ksp, 0));
  PetscCall(Solve(c, "one cycle"));
  PetscCall(KSPRefineGetKSP(c->ksp, &c->inner));
  PetscCall(KSPSetType(c->inner, KSPGMRES));
  PetscCall(Solve(c, "one cycle, then gmres"));
  PetscCall(KSPSetPCSide(c->ksp, PC_RIGHT));
  PetscCall(Solve(c, "from the right"));
  PetscCall(KSPSetPCSide(c->ksp, PC_LEFT));
  PetscCall(KSPRefineSetRate(c->ksp, 0.5));
  PetscCall(KSPSetConvergenceTest(c->ksp, ConvergedSeventh, NULL, NULL));
  c->monitored = 0;
  PetscCall(KSPSolve(c->ksp, c->b, c->x));
  PetscCall(KSPConvergedReasonView(c->ksp, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(KSPSetType(c->ksp, KSPFGMRES));
  PetscCall(KSPSetType(c->ksp, KSPREFINE));
  PetscCall(KSPSetNormType(c->ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetConvergenceTest(c->ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(c->ksp, 1e-9, 1e-200, 1e4, 5));
  PetscCall(Solve(c, "skip"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Changes(Case *c)
{
  const PetscReal nu = 3;

  PetscFunctionBeginUser;
  PetscCall(Solve(c, "another one"));
  PetscCall(DMBoxSetPoisson(c->dm, (PetscReal[]){nu, nu, nu}, 0));
  PetscCall(MatBoxUpdate(c->A));
  PetscCall(KSPSetOperators(c->ksp, c->A, c->A));
  PetscCall(Solve(c, "another matrix"));
  PetscCall(DMBoxSetPoisson(c->dm, (PetscReal[]){1, 1, 1}, 0));
  PetscCall(MatBoxUpdate(c->A));
  PetscCall(KSPReset(c->ksp));
  PetscCall(KSPSetOperators(c->ksp, c->A, c->A));
  PetscCall(Solve(c, "after reset"));
  PetscCall(KSPSetNormType(c->ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(c->ksp, 1e-9, 1e-200, 1e4, 4));
  PetscCall(KSPMonitorCancel(c->ksp));
  PetscCall(KSPSetFromOptions(c->ksp));
  PetscCall(KSPSolve(c->ksp, c->b, c->x));
  PetscCall(KSPConvergedReasonView(c->ksp, PETSC_VIEWER_STDOUT_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Settings(Case *c)
{
  PetscErrorCode ierr;
  PetscReal      rate;

  PetscFunctionBeginUser;
  for (int slow = 0; slow < 2; slow++) { /* good cycles, and bad ones */
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "-- %s cycles\n", slow ? "slow" : "fast"));
    PetscCall(Guarded(c, slow ? PCSHELL : PCPATCHMG));
    c->shell.scale = slow ? 1e-3 : 0.9;
    PetscCall(Guesses(c));
    PetscCall(Limits(c));
    PetscCall(Guarded(c, slow ? PCSHELL : PCPATCHMG));
    PetscCall(Changes(c));
  }
  PetscCall(KSPSetNormType(c->ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetErrorIfNotConverged(c->ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(c->ksp, 1e-9, 1e-200, 1e4, 2));
  CATCH(ierr, KSPSolve(c->ksp, c->b, c->x));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", ierr ? lastmessage : "no error"));
  CATCH(ierr, KSPRefineSetRate(c->ksp, 2));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", ierr ? lastmessage : "no error"));
  PetscCall(KSPRefineGetRate(c->ksp, &rate));
  PetscCheck(rate == 0.5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rate %g", (double)rate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* convection and diffusion in 1D: a matrix that is not symmetric */
static PetscErrorCode Transpose(Case *c)
{
  const char *pcs[] = {PCLU, PCJACOBI};
  PetscReal   norm, b;
  PetscInt    first, last;

  PetscFunctionBeginUser;
  PetscCall(DestroyCase(c));
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscCall(MatCreateAIJ(PETSC_COMM_SELF, PETSC_DECIDE, PETSC_DECIDE, 50, 50, 3, NULL, 0, NULL, &c->A));
  PetscCall(MatGetOwnershipRange(c->A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    PetscCall(MatSetValue(c->A, i, i, 2.5, INSERT_VALUES));
    if (i) PetscCall(MatSetValue(c->A, i, i - 1, -1.5, INSERT_VALUES));
    if (i < 49) PetscCall(MatSetValue(c->A, i, i + 1, -0.5, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(c->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(c->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(c->A, &c->x, &c->b));
  PetscCall(VecDuplicate(c->b, &c->r));
  PetscCall(VecDuplicate(c->b, &c->y));
  PetscCall(VecSetRandom(c->b, NULL));
  for (int i = 0; i < 2; i++) {
    KSPConvergedReason reason;
    PetscInt           its;

    PetscCall(CreateKSP(c, KSPREFINE, pcs[i], &c->ksp));
    PetscCall(KSPRefineGetKSP(c->ksp, &c->inner));
    PetscCall(KSPSolveTranspose(c->ksp, c->b, c->x));
    PetscCall(KSPGetConvergedReason(c->ksp, &reason));
    PetscCall(KSPGetTotalIterations(c->inner, &its));
    PetscCall(MatMultTranspose(c->A, c->x, c->r));
    PetscCall(VecAYPX(c->r, -1, c->b));
    PetscCall(VecNorm(c->r, NORM_2, &norm));
    PetscCall(VecNorm(c->b, NORM_2, &b));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "transposed, %s: %s, %s\n", pcs[i], its ? "cycles, then iterations" : "cycles",
                          KSPConvergedReasons[reason]));
    PetscCheck(norm <= 1.01e-9 * b, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Relative residual %g", (double)(norm / b));
    if (i) PetscCall(KSPView(c->ksp, PETSC_VIEWER_STDOUT_SELF));
    PetscCall(KSPDestroy(&c->ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  Case c;
  char part[16]                           = "iterates";
  PetscErrorCode (*const parts[])(Case *) = {Iterates, Guard, Cycles, Settings, Transpose};
  static const char *const names[]        = {"iterates", "guard", "cycles", "settings", "transpose"};
  PetscBool                found, any = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  PetscCall(CreateCase(&c));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(parts); i++) {
    PetscCall(PetscStrcmp(part, names[i], &found));
    if (found) PetscCall((*parts[i])(&c));
    any = (PetscBool)(any || found);
  }
  PetscCheck(any, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-part %s does not exist", part);
  PetscCall(DestroyCase(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST

  testset:
    output_file: output/refine_iterates.out
    nsize: {{1 3}}
    test:
      suffix: box
      args: -each_dm_box_degree 1:3 -each_pc_patchmg_coarse_eq_limit 0:1000000
    test:
      suffix: single
      args: -pcs single -each_single_pc_patchmg_coarse_eq_limit 0:1000000
    test:
      suffix: float
      args: -dm_vec_type single -ksp_rtol 1e-5
    test:
      suffix: null
      args: -null -dm_box_boundary neumann,neumann,neumann,neumann,neumann,neumann
    test:
      suffix: box_cuda
      requires: cuda gpu
      args: -dm_vec_type cuda -pcs {{patchmg single}}

  test:
    suffix: aij
    nsize: {{1 3}}
    args: -dm_mat_type aij -pcs sor,jacobi,gamg

  testset:
    output_file: output/refine_guard.out
    args: -part guard
    test:
      suffix: guard
      nsize: {{1 3}}
      args: -each_refine_ksp_type fgmres:cg
    test:
      suffix: guard_cuda
      requires: cuda gpu
      args: -dm_vec_type cuda

  testset:
    args: -part cycles
    nsize: {{1 2}}
    test:
      suffix: damped
      args: -mg_levels_pc_patchfd_damping 0.02
    test:
      suffix: diverging
      args: -mg_levels_pc_patchfd_damping 1.9
    test:
      suffix: indefinite
      args: -dm_box_shift -200
    test:
      suffix: stokes
      args: -dm_box_operator stokes -dm_box_space rt -dm_box_degree 1

  testset:
    output_file: output/refine_settings.out
    args: -part settings
    test:
      suffix: settings
      nsize: {{1 2}}
    test:
      suffix: settings_cuda
      requires: cuda gpu
      args: -dm_vec_type cuda

  # PETSc 3.24 and before word that line in another way
  test:
    suffix: transpose
    args: -part transpose
    filter: sed "s/matrix = precond matrix:/matrix, which is also used to construct the preconditioner:/"

TEST*/
