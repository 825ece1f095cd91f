static char help[] =
  "On which level should multigrid end and the direct solver of the whole box begin?  Set-up and one solve of Poisson's equation, random \
right-hand side, with each number\n\
of levels, beside PCPATCHMG's own choice: milliseconds, the best of some runs, each with a new mesh.\n\
  -dims <2,3>, -degrees <k,...>, -unknowns <n,...> : about so many unknowns, cells a direction a power of 2 times at most 7 (default 2,3, \
1,2,3,7, 1e3,1e4,1e5)\n\
  -modes <double,mixed> : FGMRES, or with PCSINGLE around PCPATCHMG (default double)\n\
  -kinds <dirichlet,neumann,graded> : all sides; Neumann conditions on all sides but one; graded in all directions (default \
dirichlet,graded)\n\
  -rtol <1e-8>, -repeat <3>, -levels <n> : at most so many numbers of levels, from 1 on (default all)\n\
  -cpu : the time of the processor, on one rank of a machine that others use, too\n\
  -parts : set-up apart from the solve, and iterations, in brackets\n\n";

#include "boxes.h"
#include "now.h"
#include "solver.h"
#include <time.h>

typedef struct {
  PetscInt       levels, its;
  PetscLogDouble setup, solve;
} Run;

static PetscErrorCode Clock(PetscLogDouble *t)
{
  PetscBool       cpu = PETSC_FALSE;
  struct timespec now;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cpu", &cpu, NULL));
  PetscCall(Now(t));
  if (!cpu) PetscFunctionReturn(PETSC_SUCCESS);
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  *t = (PetscLogDouble)now.tv_sec + 1e-9 * (PetscLogDouble)now.tv_nsec;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* levels: so many, or 0 for the choice of PCPATCHMG */
static PetscErrorCode RunOnce(PetscInt dim, PetscInt degree, PetscInt cells, const char kind[], const char mode[], PetscReal rtol,
                              PetscInt levels, Run *run, PetscInt *N, PetscInt *most)
{
  DM             dm;
  Mat            A;
  KSP            ksp;
  PC             pc;
  Vec            x, b;
  PetscRandom    rnd;
  PetscBool      mixed;
  PetscLogDouble t[3];
  char           option[64], number[16];

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(mode, "mixed", &mixed));
  PetscCall(PetscSNPrintf(option, sizeof(option), "-%s_%spc_mg_levels", mode, mixed ? "single_" : ""));
  PetscCall(PetscSNPrintf(number, sizeof(number), "%" PetscInt_FMT, levels));
  if (levels) PetscCall(PetscOptionsSetValue(NULL, option, number));
  else PetscCall(PetscOptionsClearValue(NULL, option));
  PetscCall(CreateBox(dim, degree, cells, kind, &dm));
  PetscCall(DMBoxGetNumCoarsenings(dm, most));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecGetSize(x, N));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &rnd));
  PetscCall(VecSetRandom(b, rnd));
  PetscCall(PetscRandomDestroy(&rnd));
  PetscCall(MatMult(A, b, x)); /* its plans are no part of the choice */
  PetscCall(Clock(&t[0]));
  PetscCall(CreateSolver(dm, A, mode, rtol, PETSC_FALSE, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(Clock(&t[1]));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Clock(&t[2]));
  run->setup = t[1] - t[0];
  run->solve = t[2] - t[1];
  PetscCall(KSPGetIterationNumber(ksp, &run->its));
  PetscCall(KSPGetPC(ksp, &pc));
  if (mixed) PetscCall(PCSingleGetPC(pc, &pc));
  PetscCall(PCMGGetLevels(pc, &run->levels));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Line(PetscInt dim, PetscInt degree, PetscReal unknowns, const char kind[], const char mode[])
{
  const PetscInt cells  = Cells(dim, degree, unknowns);
  PetscReal      rtol   = 1e-8;
  PetscInt       repeat = 3, limit = PETSC_INT_MAX, N, most = 0;
  PetscBool      parts  = PETSC_FALSE;
  Run            chosen = {0};
  PetscLogDouble time[32], best = PETSC_MAX_REAL;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &rtol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-levels", &limit, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-parts", &parts, NULL));
  PetscCall(RunOnce(dim, degree, cells, kind, mode, rtol, 0, &chosen, &N, &most)); /* warms up, too */
  limit = PetscMin(PetscMin(limit, most + 1), 31);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D %-9s %-6s %2" PetscInt_FMT " %9" PetscInt_FMT " %6" PetscInt_FMT " |", dim,
                        kind, mode, degree, N, chosen.levels));
  for (PetscInt l = 1; l <= limit; l++) {
    Run run, least = {0};

    time[l] = PETSC_MAX_REAL;
    for (PetscInt i = 0; i < repeat; i++) {
      PetscCall(RunOnce(dim, degree, cells, kind, mode, rtol, l, &run, &N, &most));
      if (run.setup + run.solve < time[l]) least = run;
      time[l] = PetscMin(time[l], run.setup + run.solve);
    }
    best = PetscMin(best, time[l]);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %.4g", time[l] * 1e3));
    if (parts) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " (%.3g+%.3g, %" PetscInt_FMT ")", least.setup * 1e3, least.solve * 1e3, least.its));
  }
  if (chosen.levels <= limit) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %.2f", time[chosen.levels] / best));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* names, or the defaults */
static PetscErrorCode Names(const char option[], PetscInt *n, char *name[], PetscInt ndefault, const char *const defaults[])
{
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, option, name, n, &set));
  if (set) PetscFunctionReturn(PETSC_SUCCESS);
  *n = ndefault;
  for (PetscInt i = 0; i < ndefault; i++) PetscCall(PetscStrallocpy(defaults[i], &name[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const kinds[] = {"dirichlet", "graded"}, *const modes[] = {"double"};
  char     *kind[3], *mode[2];
  PetscInt  dim[2] = {2, 3}, degree[16] = {1, 2, 3, 7}, ndim = 2, ndegree = 16, nunknowns = 16, nkind = 3, nmode = 2;
  PetscReal unknowns[16] = {1e3, 1e4, 1e5};
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-dims", dim, &ndim, &set));
  if (!set) ndim = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degree, &ndegree, &set));
  if (!set) ndegree = 4;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-unknowns", unknowns, &nunknowns, &set));
  if (!set) nunknowns = 3;
  PetscCall(Names("-kinds", &nkind, kind, 2, kinds));
  PetscCall(Names("-modes", &nmode, mode, 1, modes));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "   kind      mode    k  unknowns chosen | ms with 1, 2, ... levels | chosen / best\n"));
  for (PetscInt d = 0; d < ndim; d++)
    for (PetscInt i = 0; i < nkind; i++)
      for (PetscInt m = 0; m < nmode; m++)
        for (PetscInt k = 0; k < ndegree; k++)
          for (PetscInt u = 0; u < nunknowns; u++) PetscCall(Line(dim[d], degree[k], unknowns[u], kind[i], mode[m]));
  for (PetscInt i = 0; i < nkind; i++) PetscCall(PetscFree(kind[i]));
  for (PetscInt m = 0; m < nmode; m++) PetscCall(PetscFree(mode[m]));
  PetscCall(PetscFinalize());
  return 0;
}
