static char help[] =
  "Time to a relative residual of 1e-9 for -div(K grad u) = 1 on a lattice, assembled by finite volumes in matrices of a DMDA: PCMG with \
bricks (PCPATCHFD) against\n\
its other smoothers.  Set-up of the smoothers and solve; the ratio is to the first line.\n\
  -dim <2,3>, -n <unknowns in a direction, 2^l - 1> : the lattice (default 3, 63)\n\
  -problems <name:number,...> : const, smooth, contrast, check, sphere, aniso, graded (default all)\n\
  -smoothers <i,...> : only these lines of the table, from 0 on (default all)\n\
  -repeat <r> : the best time of r is taken (default 3)\n\n";

#include <petscpatchfd.h>
#include <petsctime.h>
#include "../tests/bricks.h"

#define RICHARDSON " -b_mg_levels_ksp_type richardson -b_mg_levels_ksp_max_it 1 "
static const struct {
  const char *name, *options;
} smoothers[] = {
  {"patchfd, bricks of 4",
   RICHARDSON "-b_mg_levels_pc_type patchfd -b_mg_levels_pc_patchfd_type multiplicative -b_mg_levels_pc_patchfd_brick_size 4"},
  {"patchfd, bricks of 8",
   RICHARDSON "-b_mg_levels_pc_type patchfd -b_mg_levels_pc_patchfd_type multiplicative -b_mg_levels_pc_patchfd_brick_size 8"},
  {"chebyshev(2), bricks of 4", "-b_mg_levels_ksp_type chebyshev -b_mg_levels_ksp_max_it 2 -b_mg_levels_pc_type patchfd "
                                "-b_mg_levels_pc_patchfd_type additive -b_mg_levels_pc_patchfd_brick_size 4"},
  {"sor", RICHARDSON "-b_mg_levels_pc_type sor"},
  {"chebyshev(2), sor", "-b_mg_levels_ksp_type chebyshev -b_mg_levels_ksp_max_it 2 -b_mg_levels_pc_type sor"},
  {"chebyshev(2), jacobi", "-b_mg_levels_ksp_type chebyshev -b_mg_levels_ksp_max_it 2 -b_mg_levels_pc_type jacobi"},
};

static PetscErrorCode ParseProblem(const char *text, PetscInt dim, PetscInt n, Problem *p)
{
  const char *colon = strchr(text, ':');

  PetscFunctionBeginUser;
  *p = (Problem){.kind = DIRICHLET, .dim = dim, .n = {n, n, dim == 3 ? n : 1}, .value = colon ? atof(colon + 1) : 1};
  PetscCall(PetscStrncpy(p->name, text, colon ? (size_t)(colon - text) + 1 : sizeof(p->name)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* seconds of the smoothers' set-up and of the solve, the best of `repeat` */
static PetscErrorCode Measure(const Problem *p, const char *options, PetscInt repeat, PetscLogDouble seconds[2], PetscInt *its)
{
  KSP                ksp;
  Vec                b, x;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, options));
  for (PetscInt i = 0; i < repeat; i++) {
    PetscLogDouble t[3];

    PetscCall(CreateHierarchy(p, "b_", &ksp, &b, &x));
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 40));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&t[0]));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&t[1]));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&t[2]));
    for (int s = 0; s < 2; s++) seconds[s] = i ? PetscMin(seconds[s], t[s + 1] - t[s]) : t[s + 1] - t[s];
    PetscCall(KSPGetIterationNumber(ksp, its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    if (reason < 0) *its = -1;
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *all[] = {"const",    "smooth:0.9", "contrast:1e4", "check:1e3", "sphere:1e3",
                       "aniso:10", "aniso:100",  "graded:10",    "graded:100"};
  char       *given[16];
  PetscInt    lines[PETSC_STATIC_ARRAY_LENGTH(smoothers)], nlines = PETSC_STATIC_ARRAY_LENGTH(smoothers);
  PetscInt    dim = 3, n = 63, repeat = 3, nproblem = PETSC_STATIC_ARRAY_LENGTH(given);
  PetscBool   flg;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < nlines; i++) lines[i] = i;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCheck(dim == 2 || dim == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-dim must be 2 or 3, found %" PetscInt_FMT, dim);
  PetscCheck(n >= 7 && !(n & (n + 1)), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n must be 2^l - 1, 7 at least, found %" PetscInt_FMT, n);
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-smoothers", lines, &nlines, &flg));
  if (!flg) nlines = PETSC_STATIC_ARRAY_LENGTH(lines);
  for (PetscInt i = 0; i < nlines; i++)
    PetscCheck(lines[i] >= 0 && lines[i] < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(smoothers), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-smoothers has no line %" PetscInt_FMT, lines[i]);
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-problems", given, &nproblem, &flg));
  if (!flg) nproblem = PETSC_STATIC_ARRAY_LENGTH(all);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%" PetscInt_FMT "D, %" PetscInt_FMT
                        " unknowns in a direction: iterations, set-up and solve in seconds, and how many times the first line both take\n",
                        dim, n));
  for (PetscInt i = 0; i < nproblem; i++) {
    PetscLogDouble first = 0;
    Problem        p;

    PetscCall(ParseProblem(flg ? given[i] : all[i], dim, n, &p));
    for (PetscInt s = 0; s < nlines; s++) {
      PetscLogDouble seconds[2] = {0, 0};
      PetscInt       its        = 0;

      PetscCall(Measure(&p, smoothers[lines[s]].options, repeat, seconds, &its));
      if (s == 0) first = seconds[0] + seconds[1];
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-8s %6g  %-26s ", p.name, (double)p.value, smoothers[lines[s]].name));
      if (its < 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ">40\n"));
      else
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%3" PetscInt_FMT "  %7.3f %7.3f  %5.2f\n", its, seconds[0], seconds[1],
                              (seconds[0] + seconds[1]) / first));
    }
    if (flg) PetscCall(PetscFree(given[i]));
  }
  PetscCall(PetscFinalize());
  return 0;
}
