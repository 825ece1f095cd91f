#pragma once
/* Whole solves: solvers, times of all work, memory, and where the time goes */
#include <petscpatchfd.h>
#include "now.h"
#include "solver.h"
#include <petsc/private/logimpl.h> /* to switch GPU times on and off */

#if defined(PETSC_HAVE_CUDA)
  #define GPU_TIME(info) (info).GpuTime
#else
  #define GPU_TIME(info) (info).time
#endif

/* bytes in use, on the GPU if there is one in use */
static PetscErrorCode Memory(PetscLogDouble *bytes)
{
  PetscFunctionBeginUser;
#if defined(PETSC_HAVE_CUDA)
  if (GPU) {
    size_t        free, total;
    cudaMemPool_t pool;
    int           device;

    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCallCUDA(cudaGetDevice(&device));
    PetscCallCUDA(cudaDeviceGetDefaultMemPool(&pool, device));
    PetscCallCUDA(cudaMemPoolTrimTo(pool, 0)); /* PETSc's Vecs leave theirs there */
    PetscCallCUDA(cudaMemGetInfo(&free, &total));
    *bytes = (PetscLogDouble)(total - free);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(PetscMemoryGetCurrentUsage(bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GPU time, or the host's, and calls of an event, in the main stage and in PCMG's; zeros for unknown events */
static PetscErrorCode EventTime(const char *name, PetscBool gpu, PetscLogDouble *t, int *count)
{
  PetscLogEvent event;
  PetscLogStage stages[2] = {0, -1};

  PetscFunctionBeginUser;
  *t     = 0;
  *count = 0;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogStageGetId("MG Apply", &stages[1]));
  for (int s = 0; s < 2 && event >= 0; s++) {
    PetscEventPerfInfo info;

    if (stages[s] < 0) continue;
    PetscCall(PetscLogEventGetPerfInfo(stages[s], event, &info));
    *t += gpu ? GPU_TIME(info) : info.time;
    *count += info.count;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one more solve, with events; `total` is the time of a solve without them */
static PetscErrorCode Breakdown(KSP ksp, Vec b, Vec u, PetscLogDouble total, PetscInt N)
{
  static const char *const names[]  = {"PatchFDSmooth",    "PatchFDMult", "PatchFDRestrict", "PatchFDProlong", "PatchFDBoxSolve",
                                       "VecSingleConvert", "VecMDot",     "VecDot",          "VecTDot",        "VecNorm",
                                       "VecMAXPY",         "VecAXPY",     "VecAYPX",         "VecWAXPY",       "VecScale",
                                       "VecCopy",          "VecSet"};
  static const char *const levels[] = {"MGSmooth Level", "MGResid Level", "MGInterp Level"};
  enum {
    NAMES  = PETSC_STATIC_ARRAY_LENGTH(names),
    EVENTS = NAMES + 3 * 16
  };
  char            event[EVENTS][32];
  PetscLogDouble  t[2][EVENTS], sum = 0;
  int             count[2][EVENTS];
  const PetscBool gpu = GPU;

  PetscFunctionBeginUser;
  for (int i = 0; i < EVENTS; i++) {
    if (i < NAMES) PetscCall(PetscStrncpy(event[i], names[i], sizeof(event[i])));
    else PetscCall(PetscSNPrintf(event[i], sizeof(event[i]), "%s %d", levels[(i - NAMES) % 3], 15 - (i - NAMES) / 3));
  }
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < EVENTS; i++) PetscCall(EventTime(event[i], gpu, &t[pass][i], &count[pass][i]));
    PetscLogGpuTimeFlag = PETSC_TRUE;
    if (!pass) PetscCall(KSPSolve(ksp, b, u));
    PetscLogGpuTimeFlag = PETSC_FALSE;
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  by operation           ms  ps/unk. per cent  calls\n"));
  for (int i = 0; i < NAMES; i++) {
    const PetscLogDouble dt = t[1][i] - t[0][i];

    if (count[1][i] == count[0][i]) continue;
    sum += dt;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    %-16s %9.3f %8.2f %8.1f %6d\n", names[i], dt * 1e3, dt / N * 1e12, 100 * dt / total,
                          count[1][i] - count[0][i]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    %-16s %9.3f %8.2f %8.1f\n", "gaps and rest", (total - sum) * 1e3, (total - sum) / N * 1e12,
                        100 * (total - sum) / total));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  by level, ms     smoother  residual transfers\n"));
  for (int i = NAMES; i < EVENTS; i += 3) {
    if (count[1][i] == count[0][i]) continue;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    %2d            ", 15 - (i - NAMES) / 3));
    for (int j = 0; j < 3; j++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.3f", (t[1][i + j] - t[0][i + j]) * 1e3));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* kernels one by one, and PCMG's events of the levels, for Breakdown() */
static PetscErrorCode BreakdownBegin(PetscInt nm, char *const modes[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscLogDefaultBegin());
  for (PetscInt m = 0; m < nm; m++) {
    char option[64];

    PetscCall(PetscSNPrintf(option, sizeof(option), "-%s_%spc_mg_log", modes[m], modes[m][0] == 'm' ? "single_" : ""));
    PetscCall(PetscOptionsSetValue(NULL, option, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is to be solved: -dim, -degrees, -unknowns, -modes and -breakdown */
typedef struct {
  PetscInt  dim, degree[16], ndegree, nunknowns, nmode;
  PetscReal unknowns[32];
  char     *mode[2];
  PetscBool breakdown;
} Solves;

/* ndegree and degree[] are set to the default */
static PetscErrorCode SolvesCreate(Solves *s)
{
  PetscInt  degree[16], n = 16;
  PetscBool set;

  PetscFunctionBeginUser;
  s->dim         = 3;
  s->nunknowns   = PETSC_STATIC_ARRAY_LENGTH(s->unknowns);
  s->unknowns[0] = 2e5;
  s->nmode       = PETSC_STATIC_ARRAY_LENGTH(s->mode);
  s->breakdown   = PETSC_FALSE;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &s->dim, NULL));
  PetscCheck(s->dim == 2 || s->dim == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-dim must be 2 or 3, found %" PetscInt_FMT, s->dim);
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degree, &n, &set));
  if (set) {
    s->ndegree = n;
    PetscCall(PetscArraycpy(s->degree, degree, n));
  }
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-unknowns", s->unknowns, &s->nunknowns, &set));
  if (!set) s->nunknowns = 1;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-breakdown", &s->breakdown, NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-modes", s->mode, &s->nmode, &set));
  if (!set) {
    s->nmode = 2;
    PetscCall(PetscStrallocpy("mixed", &s->mode[0]));
    PetscCall(PetscStrallocpy("double", &s->mode[1]));
  }
  if (s->breakdown) PetscCall(BreakdownBegin(s->nmode, s->mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolvesDestroy(Solves *s)
{
  PetscFunctionBeginUser;
  for (PetscInt m = 0; m < s->nmode; m++) PetscCall(PetscFree(s->mode[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* set-up and a first solve, and the best of three more: seconds; memory after the first */
typedef struct {
  PetscLogDouble first, best, memory;
  PetscInt       its;
} SolveTimes;

static PetscErrorCode TimeSolves(KSP ksp, Vec b, Vec u, SolveTimes *t)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(Now(&start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(Now(&end));
  t->first = end - start;
  PetscCall(Memory(&t->memory));
  t->best = PETSC_MAX_REAL;
  for (int i = 0; i < 3; i++) {
    PetscCall(Now(&start));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(Now(&end));
    t->best = PetscMin(t->best, end - start);
  }
  PetscCall(KSPGetIterationNumber(ksp, &t->its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what both benchmarks print at the end of a line */
PETSC_UNUSED static PetscErrorCode PrintTimes(const SolveTimes *t, PetscLogDouble base, PetscInt N)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %9.3f %10.3f %8.1f %9.3e | %7.3f %6.1f\n", t->first, t->best * 1e3, t->best / N * 1e12,
                        N / t->best, (t->memory - base) * 1e-9, (t->memory - base) / N));
  PetscFunctionReturn(PETSC_SUCCESS);
}
