static char help[] = "Whole solves of Stokes' equations, RT_k velocities and DGQ_k pressures on the unit square or cube without slip, to a true relative residual of 1e-8; the\n\
second solve is timed, set-up is not in it.  The right-hand side is the matrix times a smooth velocity and pressure.  A line a solve: unknowns, iterations,\n\
residual, error, time, unknowns a second, memory.\n\
  -dim <2,3>, -degrees <k,...>, -unknowns <n,...> : about so many unknowns, cells a direction are a power of 2 (default 2e5)\n\
  -modes <mixed,double>               : the V-cycle in single precision under a double precision method, and double throughout (default both)\n\
  -breakdown                          : where the time goes, by operation and by level (GPU: time of kernels; each is waited for)\n\
  -dm_vec_type <type>, -mixed_ksp_type, -double_ksp_type, -mixed_single_pc_..., -double_pc_... : as for any solve\n\n";

#include "solve.h"

/* a flow that turns in the x, y plane, and vanishes on the boundary */
static PetscErrorCode Flow(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  const PetscReal s = PetscSinReal(PETSC_PI * x[0]), t = PetscSinReal(PETSC_PI * x[1]), z = dim == 3 ? PetscSinReal(PETSC_PI * x[2]) : 1;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) u[i] = 0;
  u[0]   = s * s * PetscSinReal(2 * PETSC_PI * x[1]) * z;
  u[1]   = -t * t * PetscSinReal(2 * PETSC_PI * x[0]) * z;
  u[dim] = PetscCosReal(2 * PETSC_PI * x[0]) * PetscCosReal(2 * PETSC_PI * x[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(PetscInt dim, PetscInt k, PetscReal unknowns, PetscInt cells[3], DM *dm)
{
  const PetscReal want = PetscPowReal(unknowns / (PetscReal)(dim + 1), 1. / (PetscReal)dim) / (PetscReal)(k + 1); /* cells a direction */
  PetscInt        n    = 2;

  PetscFunctionBeginUser;
  for (PetscInt e = 4; e <= 4096; e *= 2)
    if (PetscAbsReal(PetscLogReal(e / want)) < PetscAbsReal(PetscLogReal(n / want))) n = e;
  for (int d = 0; d < 3; d++) cells[d] = n;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, dm));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_RT));
  PetscCall(DMBoxSetOperator(*dm, "stokes"));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* relative residual, and the largest difference to the solution x, up to constant pressures; x is overwritten */
static PetscErrorCode Check(Mat A, Vec b, Vec u, Vec x, PetscReal *residual, PetscReal *error)
{
  Vec          r;
  PetscReal    norm[2];
  MatNullSpace nullspace;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecNorm(b, NORM_2, &norm[0]));
  PetscCall(MatResidual(A, b, u, r));
  PetscCall(VecNorm(r, NORM_2, &norm[1]));
  *residual = norm[1] / norm[0];
  PetscCall(VecNorm(x, NORM_INFINITY, &norm[0]));
  PetscCall(VecAXPY(x, -1, u));
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(MatNullSpaceRemove(nullspace, x));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm[1]));
  *error = norm[1] / norm[0];
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(PetscInt dim, PetscInt k, PetscReal unknowns, const char *mode, PetscBool breakdown)
{
  PetscInt       cells[3], N, its;
  DM             dm;
  Mat            A;
  Vec            x, b, u;
  KSP            ksp;
  PetscReal      residual, error;
  PetscLogDouble t[2], best = PETSC_MAX_REAL, base, used;

  PetscFunctionBeginUser;
  PetscCall(Memory(&base));
  PetscCall(CreateMesh(dim, k, unknowns, cells, &dm));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecGetSize(x, &N));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Flow, NULL, x));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(MatMult(A, x, b));
  PetscCall(CreateSolver(dm, A, mode, 1e-8, &ksp));
  PetscCall(Now(&t[0]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(Now(&t[1]));
  PetscCall(Memory(&used));
  for (int i = 0; i < 3; i++) {
    PetscLogDouble start, end;

    PetscCall(Now(&start));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(Now(&end));
    best = PetscMin(best, end - start);
  }
  PetscCall(KSPGetIterationNumber(ksp, &its));
  if (breakdown) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "k = %" PetscInt_FMT ", %" PetscInt_FMT "^%" PetscInt_FMT " cells, %" PetscInt_FMT " unknowns, %s, %.3f ms\n", k, cells[0], dim, N, mode, best * 1e3));
    PetscCall(Breakdown(ksp, b, u, best, N));
  } else {
    PetscCall(Check(A, b, u, x, &residual, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-6s %2" PetscInt_FMT " %5" PetscInt_FMT " %10" PetscInt_FMT " %3" PetscInt_FMT " %9.2e %9.2e | %9.3f %10.3f %8.1f %9.3e | %7.3f %6.1f\n", mode, k, cells[0], N, its,
                          (double)residual, (double)error, t[1] - t[0], best * 1e3, best / N * 1e12, N / best, (used - base) * 1e-9, (used - base) / N));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  dim = 3, degrees[16] = {1, 2, 3, 4}, nd = 16, nu = 32, nm = 2;
  PetscReal unknowns[32] = {2e5};
  char     *modes[2];
  PetscBool set, breakdown = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCheck(dim == 2 || dim == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-dim must be 2 or 3, found %" PetscInt_FMT, dim);
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  if (!set) nd = 4;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-unknowns", unknowns, &nu, &set));
  if (!set) nu = 1;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-breakdown", &breakdown, NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-modes", modes, &nm, &set));
  if (!set) {
    nm = 2;
    PetscCall(PetscStrallocpy("mixed", &modes[0]));
    PetscCall(PetscStrallocpy("double", &modes[1]));
  }
  if (breakdown) PetscCall(BreakdownBegin(nm, modes));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "mode    k cells   unknowns its  residual     error | first, s  solve, ms   ps/unk.     unk./s |      GB  B/unk.\n"));
  for (PetscInt m = 0; m < nm; m++)
    for (PetscInt i = 0; i < nd; i++)
      for (PetscInt j = 0; j < nu; j++) PetscCall(Solve(dim, degrees[i], unknowns[j], modes[m], breakdown));
  for (PetscInt m = 0; m < nm; m++) PetscCall(PetscFree(modes[m]));
  PetscCall(PetscFinalize());
  return 0;
}
