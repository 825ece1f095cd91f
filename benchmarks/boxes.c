static char help[] =
  "What an iteration costs on other boxes and with other variants than the fastest: FGMRES with V-cycles in double precision for Poisson's \
equation, random right-hand side,\n\
to 1e-9, the best of three solves, set-up not included.\n\
  -dim <2,3>, -degrees <k,...>, -unknowns <n,...> : about so many unknowns, cells a direction a power of 2 times at most 7 (default 3, \
1,3,7, 2e5)\n\
  -modes <mixed,double>, -breakdown : as in poisson.c (default double)\n\
  -kinds <dirichlet,neumann,graded,fused,separate,ringx,ringz,ringxy,ringxyz,channel> : Neumann conditions on all sides but one; graded in \
all directions; -pc_patchfd_variant; periodic directions; periodic but for the last direction, which has narrow cells at Neumann sides and\
 three quarters of the cells for each process\n\n";

#include "solve.h"
#include "boxes.h"

/* a line: picoseconds an unknown and iteration, and how many times those of the first */
static PetscErrorCode Solve(const Solves *s, PetscInt degree, PetscReal unknowns, const char kind[], const char mode[], PetscReal *first)
{
  DM           dm;
  Mat          A;
  KSP          ksp;
  Vec          x, b;
  PetscRandom  rnd;
  SolveTimes   t;
  PetscInt     N, n;
  PetscReal    each;
  PetscBool    variant, channel;
  char         option[64];
  MatNullSpace null;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmpAny(kind, &variant, "fused", "separate", ""));
  PetscCall(PetscSNPrintf(option, sizeof(option), "-%s_%smg_levels_pc_patchfd_variant", mode, mode[0] == 'm' ? "single_" : ""));
  PetscCall(PetscOptionsSetValue(NULL, option, variant ? kind : "auto"));
  PetscCall(PetscStrcmp(kind, "channel", &channel));
  n = channel ? 2 * (PetscInt)(PetscPowReal(unknowns * 4 / 3, 1. / s->dim) / degree / 2 + 0.5) : Cells(s->dim, degree, unknowns);
  PetscCall(CreateBox(s->dim, degree, n, kind, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &rnd));
  PetscCall(VecSetRandom(b, rnd));
  PetscCall(PetscRandomDestroy(&rnd));
  PetscCall(VecScale(b, 2)); /* on the device from now on, where its values are of use */
  PetscCall(MatGetNullSpace(A, &null));
  if (null) PetscCall(MatNullSpaceRemove(null, b));
  PetscCall(VecGetSize(x, &N));
  PetscCall(CreateSolver(dm, A, mode, 1e-9, PETSC_TRUE, &ksp));
  PetscCall(TimeSolves(ksp, b, x, &t));
  each = t.best / t.its / N * 1e12;
  if (*first == 0) *first = each;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-10s %-7s %2" PetscInt_FMT " %10" PetscInt_FMT " %6" PetscInt_FMT " | %10.1f %6.2f %8.3f\n",
                        kind, mode, degree, N, t.its, (double)each, (double)(each / *first), t.first - t.best));
  if (s->breakdown) PetscCall(Breakdown(ksp, b, x, t.best, N));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const all[] = {"dirichlet", "neumann", "graded", "fused",   "separate",
                                    "ringx",     "ringz",   "ringxy", "ringxyz", "channel"};
  const PetscInt           nall  = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(all);
  char                    *chosen[PETSC_STATIC_ARRAY_LENGTH(all)];
  Solves                   s  = {.degree = {1, 3, 7}, .ndegree = 3};
  PetscInt                 nk = nall;
  PetscBool                set, modes;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(SolvesCreate(&s));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-modes", &modes));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-kinds", chosen, &nk, &set));
  if (!set) nk = nall;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "kind       mode     k   unknowns   its | ps each, times the first kind, seconds of set-up\n"));
  for (PetscInt i = 0; i < s.ndegree; i++) {
    for (PetscInt u = 0; u < s.nunknowns; u++) {
      for (PetscInt m = modes ? 0 : s.nmode - 1; m < s.nmode; m++) {
        PetscReal first = 0;

        for (PetscInt j = 0; j < nk; j++) PetscCall(Solve(&s, s.degree[i], s.unknowns[u], set ? chosen[j] : all[j], s.mode[m], &first));
      }
    }
  }
  for (PetscInt j = 0; j < nk && set; j++) PetscCall(PetscFree(chosen[j]));
  PetscCall(SolvesDestroy(&s));
  PetscCall(PetscFinalize());
  return 0;
}
