static char help[] =
  "Whole solves of Poisson's or the biharmonic equation, u = prod sin(pi x_i) on the unit cube, to a true relative residual of 1e-9; the \
second solve is timed,\n\
set-up is not in it.  A line a solve: unknowns, iterations, residual, error, time, unknowns a second, memory.\n\
  -dim <2,3>                          : the square or the cube (default 3)\n\
  -degrees <k,...>, -unknowns <n,...> : about so many unknowns, cells a direction are a power of 2 times at most 7 (default 2e5)\n\
  -modes <mixed,double>               : the V-cycle in single precision under a double precision method, and double throughout (default \
both)\n\
  -breakdown                          : where the time goes, by operation and by level (GPU: time of kernels; each is waited for)\n\
  -error <n>                          : L2 error by quadrature on the host for up to n unknowns (default 1e6)\n\
  -dm_vec_type <type>, -dm_box_space <q,dgq>, -dm_box_operator <poisson,biharmonic>, -mixed_ksp_type, -double_ksp_type, \
-mixed_single_pc_..., -double_pc_... : as for any solve\n\n";

#include "solve.h"

/* most coordinates of a point are those of the point before */
static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscReal s[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt d = 0; d < dim; d++)
      if (i == 0 || x[dim * i + d] != x[dim * (i - 1) + d]) s[d] = PetscSinReal(PETSC_PI * x[dim * i + d]);
    u[i] = s[0] * s[1] * s[2];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the outward derivative of u at the ends of a line */
static PetscErrorCode Slope(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                            PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = -PETSC_PI;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  v = alpha w (x) w (x) w + s (x) w (x) w + w (x) s (x) w + w (x) w (x) s for w and s on all nodes of a direction, on each rank: the
  right-hand side of hundreds of millions of unknowns in seconds.  In 2D without the third direction
*/
static PetscErrorCode TensorProduct(DM dm, PetscReal alpha, Vec w, Vec s, Vec v)
{
  PetscInt           dim, x, y, z, nx, ny, nz, at = 0;
  const PetscScalar *a, *c;
  PetscScalar       *b;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCorners(dm, 0, &x, &y, &z, &nx, &ny, &nz));
  PetscCall(VecGetArrayRead(w, &a));
  PetscCall(VecGetArrayRead(s, &c));
  PetscCall(VecGetArrayWrite(v, &b));
  for (PetscInt k = z; k < z + nz; k++) {
    const PetscScalar ak = dim == 3 ? a[k] : 1, ck = dim == 3 ? c[k] : 0;

    for (PetscInt j = y; j < y + ny; j++) {
      const PetscScalar f = a[j] * ak, g = alpha * f + c[j] * ak + a[j] * ck;

      for (PetscInt i = x; i < x + nx; i++) b[at++] = g * a[i] + f * c[i];
    }
  }
  PetscCall(VecRestoreArrayWrite(v, &b));
  PetscCall(VecRestoreArrayRead(s, &c));
  PetscCall(VecRestoreArrayRead(w, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mesh with about so many unknowns, and the line that it is a power of */
static PetscErrorCode CreateMesh(PetscInt dim, PetscInt k, PetscReal unknowns, PetscInt cells[3], DM *dm, DM *line)
{
  PetscReal   want; /* cells a direction */
  PetscInt    n = 1, p = 2;
  DMBoxSpace  space;
  const char *operator;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, (const PetscInt[]){2, 2, 2}, k, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMBoxGetSpace(*dm, &space));
  want = PetscPowReal(unknowns, 1. / (PetscReal)dim) / (PetscReal)(space == DMBOX_SPACE_DGQ ? k + 1 : k);
  /* the nearest product of 1, 3, 5 or 7 and a power of two */
  for (PetscInt q = 1; q <= 7; q += 2)
    for (PetscInt e = 2; e <= 8192; e *= 2)
      if (PetscAbsReal(PetscLogReal(q * e / want)) < PetscAbsReal(PetscLogReal(n * p / want))) n = q, p = e;
  for (int d = 0; d < 3; d++) cells[d] = n * p;
  PetscCall(DMBoxSetCells(*dm, cells));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMBoxCreate(PETSC_COMM_SELF, 1, cells, k, line));
  PetscCall(DMBoxSetSpace(*line, space));
  PetscCall(DMBoxGetOperator(*dm, &operator));
  PetscCall(DMBoxSetOperator(*line, operator));
  PetscCall(DMSetUp(*line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* residual and errors of u, relative in the maximum norm, and in L2 up to `limit` unknowns; v is the exact solution on the line.  u is
   overwritten */
static PetscErrorCode Check(DM dm, Mat A, Vec b, Vec u, Vec v, PetscReal limit, PetscReal *residual, PetscReal *max, PetscReal *l2)
{
  Vec       r, zero;
  PetscReal norm[2];
  PetscInt  N;

  PetscFunctionBeginUser;
  PetscCall(VecGetSize(b, &N));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecNorm(b, NORM_2, &norm[0]));
  PetscCall(MatResidual(A, b, u, r));
  PetscCall(VecNorm(r, NORM_2, &norm[1]));
  *residual = norm[1] / norm[0];
  *l2       = -1;
  if (N <= limit) PetscCall(DMBoxComputeErrorBatch(dm, 0, Exact, NULL, u, l2, NULL));
  PetscCall(VecDuplicate(v, &zero));
  PetscCall(TensorProduct(dm, 1, v, zero, r));
  PetscCall(VecDestroy(&zero));
  PetscCall(VecAXPY(u, -1, r));
  PetscCall(VecNorm(u, NORM_INFINITY, &norm[1]));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm[0]));
  *max = norm[1] / norm[0];
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(PetscInt dim, PetscInt k, PetscReal unknowns, const char *mode, PetscBool breakdown, PetscReal limit)
{
  PetscInt       cells[3], N;
  DM             dm, line;
  Mat            A;
  Vec            w, v, s, b, u;
  const char    *operator;
  PetscBool      plate;
  KSP            ksp;
  PetscReal      norm, residual = 0, max = 0, l2 = -1;
  PetscLogDouble base;
  SolveTimes     t;

  PetscFunctionBeginUser;
  PetscCall(CreateMesh(dim, k, unknowns, cells, &dm, &line));
  PetscCall(DMBoxGetOperator(dm, &operator));
  PetscCall(PetscStrcmp(operator, "biharmonic", &plate));
  /* -laplace u = dim pi^2 u, laplace^2 u = dim^2 pi^4 u; loads are products, too, and what the slopes at the sides bring in is a sum of
     them */
  PetscCall(DMCreateGlobalVector(line, &w));
  PetscCall(VecDuplicate(w, &v));
  PetscCall(DMBoxAddLoadBatch(line, 0, Exact, NULL, w));
  PetscCall(VecDuplicate(w, &s));
  PetscCall(DMBoxLiftDirichlet(line, v, w));
  if (plate) PetscCall(DMBoxAddBendingLoad(line, 0, Slope, NULL, NULL, s));
  PetscCall(DMBoxInterpolateFunctionBatch(line, 0, Exact, NULL, v));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecGetSize(b, &N));
  PetscCall(VecSet(b, 1)); /* on the device, if that is where it lives */
  PetscCall(VecNorm(b, NORM_1, &norm));
  PetscCall(Memory(&base));
  base -= (PetscLogDouble)N * sizeof(PetscScalar);
  PetscCall(TensorProduct(dm, PetscPowReal((PetscReal)dim * PETSC_PI * PETSC_PI, plate ? 2 : 1), w, s, b));
  PetscCall(VecScale(b, 2)); /* from now on its values are on the device */
  PetscCall(VecScale(b, 0.5));

  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(CreateSolver(dm, A, mode, 1e-9, PETSC_TRUE, &ksp));
  PetscCall(TimeSolves(ksp, b, u, &t));
  if (breakdown) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "k = %" PetscInt_FMT ", %" PetscInt_FMT "^%" PetscInt_FMT " cells, %" PetscInt_FMT " unknowns, %s, %.3f ms\n", k,
                          cells[0], dim, N, mode, t.best * 1e3));
    PetscCall(Breakdown(ksp, b, u, t.best, N));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(Check(dm, A, b, u, v, limit, &residual, &max, &l2));
  if (!breakdown) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-6s %2" PetscInt_FMT " %5" PetscInt_FMT " %10" PetscInt_FMT " %3" PetscInt_FMT, mode, k,
                          cells[0], N, t.its));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.2e %9.2e ", (double)residual, (double)max));
    if (l2 >= 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%9.3e", (double)l2));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%9s", "-"));
    PetscCall(PrintTimes(&t, base, N));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&s));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&line));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Solves    s     = {.degree = {1, 3, 5, 7}, .ndegree = 4};
  PetscReal limit = 1e6;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(SolvesCreate(&s));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-error", &limit, NULL));
  if (!s.breakdown)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "mode    k cells   unknowns its  residual max error  L2 error | first, s  solve, ms   ps/unk.  "
                                            "   unk./s |      GB  B/unk.\n"));
  for (PetscInt m = 0; m < s.nmode; m++)
    for (PetscInt i = 0; i < s.ndegree; i++)
      for (PetscInt j = 0; j < s.nunknowns; j++) PetscCall(Solve(s.dim, s.degree[i], s.unknowns[j], s.mode[m], s.breakdown, limit));
  PetscCall(SolvesDestroy(&s));
  PetscCall(PetscFinalize());
  return 0;
}
