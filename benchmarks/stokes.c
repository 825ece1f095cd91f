static char help
  [] = "Whole solves of Stokes' equations, RT_k velocities and DGQ_k pressures on the unit square or cube without slip, to a true relative \
residual of 1e-8; the\n\
second solve is timed, set-up is not in it.  A line a solve: unknowns, iterations, residual,\n\
difference to the flow at the nodes (it has the order of the space), time, unknowns a second, memory.\n\
  -dim <2,3>, -degrees <k,...>, -unknowns <n,...> : about so many unknowns, cells a direction are a power of 2 (default 2e5)\n\
  -modes <mixed,double>               : the V-cycle in single precision under a double precision method, and double throughout (default \
both)\n\
  -breakdown                          : where the time goes, by operation and by level (GPU: time of kernels; each is waited for)\n\
  -dm_vec_type <type>, -mixed_ksp_type, -double_ksp_type, -mixed_single_pc_..., -double_pc_... : as for any solve\n\n";

#include "solve.h"

/* s(x), x^2 (1 - x)^2 times the normal distribution of mean 0.65 and variance 1/3, and its first three derivatives */
static void Bell(PetscReal x, PetscReal s[4])
{
  const PetscReal y = x - 0.65, e = PetscExpReal(-1.5 * y * y) / PetscSqrtReal(2 * PETSC_PI / 3);
  const PetscReal p[4] = {x * x * (1 - x) * (1 - x), 2 * x * (1 - x) * (1 - 2 * x), 2 - 12 * x + 12 * x * x, 24 * x - 12};
  const PetscReal g[4] = {e, -3 * y * e, (9 * y * y - 3) * e, (27 * y - 27 * y * y * y) * e};

  s[0] = p[0] * g[0];
  s[1] = p[1] * g[0] + p[0] * g[1];
  s[2] = p[2] * g[0] + 2 * p[1] * g[1] + p[0] * g[2];
  s[3] = p[3] * g[0] + 3 * p[2] * g[1] + 3 * p[1] * g[2] + p[0] * g[3];
}

/*
  The flow of Cui, Kanschat, section 5: component c is the sum over the other directions j of products of s and, in direction j, s', with
  signs that make it free of divergence; or -laplace of it
*/
static PetscReal Velocity(PetscInt dim, PetscInt c, PetscReal s[3][4], PetscBool laplace)
{
  PetscReal u = 0;

  for (PetscInt j = 0; j < dim; j++) {
    const PetscReal sign = c == 0 || (c == 2 && j == 1) ? 1 : -1;

    if (j == c) continue;
    for (PetscInt d = 0; d < (laplace ? dim : 1); d++) {
      PetscReal product = laplace ? -sign : sign;

      for (PetscInt i = 0; i < dim; i++) product *= s[i][(i == j ? 1 : 0) + (laplace && i == d ? 2 : 0)];
      u += product;
    }
  }
  return u;
}

/* what both functions need of a point: Bell() in each direction, sine and cosine of 2 pi x; on a box most coordinates are those of the
   point before */
typedef struct {
  PetscReal s[3][4], sine[3], cosine[3];
} Place;

static void SetPlace(PetscInt dim, PetscInt i, const PetscReal x[], Place *p)
{
  for (PetscInt d = 0; d < dim; d++) {
    const PetscReal t = x[dim * i + d];

    if (i && t == x[dim * (i - 1) + d]) continue;
    Bell(t, p->s[d]);
    p->sine[d]   = PetscSinReal(2 * PETSC_PI * t);
    p->cosine[d] = PetscCosReal(2 * PETSC_PI * t);
  }
}

/* velocity, and the pressure, a product of cosines */
static PetscErrorCode Flow(PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                           PETSC_UNUSED void *ctx)
{
  Place p;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++, u += Nc) {
    SetPlace(dim, i, x, &p);
    for (PetscInt c = 0; c < dim; c++) u[c] = Velocity(dim, c, p.s, PETSC_FALSE);
    u[dim] = 1;
    for (PetscInt d = 0; d < dim; d++) u[dim] *= p.cosine[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -laplace u + grad p, and no sources */
static PetscErrorCode Load(PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar f[],
                           PETSC_UNUSED void *ctx)
{
  Place p;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++, f += Nc) {
    SetPlace(dim, i, x, &p);
    for (PetscInt c = 0; c < dim; c++) {
      PetscReal gradient = -2 * PETSC_PI;

      for (PetscInt d = 0; d < dim; d++) gradient *= d == c ? p.sine[d] : p.cosine[d];
      f[c] = Velocity(dim, c, p.s, PETSC_TRUE) + gradient;
    }
    f[dim] = 0;
  }
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
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_RT));
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
  PetscInt       cells[3], N;
  DM             dm;
  Mat            A;
  Vec            x, b, u;
  KSP            ksp;
  PetscReal      residual = 0, error = 0;
  PetscLogDouble base;
  SolveTimes     t;

  PetscFunctionBeginUser;
  PetscCall(Memory(&base));
  PetscCall(CreateMesh(dim, k, unknowns, cells, &dm));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecGetSize(x, &N));
  PetscCall(DMBoxInterpolateFunctionBatch(dm, 0, Flow, NULL, x));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(VecSet(u, 0));
  PetscCall(DMBoxAddLoadBatch(dm, 0, Load, NULL, b));
  PetscCall(DMBoxLiftDirichlet(dm, u, b));
  PetscCall(VecScale(b, 2)); /* from now on its values are on the device */
  PetscCall(VecScale(b, 0.5));
  PetscCall(CreateSolver(dm, A, mode, 1e-8, PETSC_FALSE, &ksp));
  PetscCall(TimeSolves(ksp, b, u, &t));
  if (breakdown) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "k = %" PetscInt_FMT ", %" PetscInt_FMT "^%" PetscInt_FMT " cells, %" PetscInt_FMT " unknowns, %s, %.3f ms\n", k,
                          cells[0], dim, N, mode, t.best * 1e3));
    PetscCall(Breakdown(ksp, b, u, t.best, N));
  } else {
    PetscCall(Check(A, b, u, x, &residual, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-6s %2" PetscInt_FMT " %5" PetscInt_FMT " %10" PetscInt_FMT " %3" PetscInt_FMT " %9.2e %9.2e",
                          mode, k, cells[0], N, t.its, (double)residual, (double)error));
    PetscCall(PrintTimes(&t, base, N));
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
  Solves s = {.degree = {1, 2, 3, 4}, .ndegree = 4};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(SolvesCreate(&s));
  if (!s.breakdown)
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD,
                  "mode    k cells   unknowns its  residual     error | first, s  solve, ms   ps/unk.     unk./s |      GB  B/unk.\n"));
  for (PetscInt m = 0; m < s.nmode; m++)
    for (PetscInt i = 0; i < s.ndegree; i++)
      for (PetscInt j = 0; j < s.nunknowns; j++) PetscCall(Solve(s.dim, s.degree[i], s.unknowns[j], s.mode[m], s.breakdown));
  PetscCall(SolvesDestroy(&s));
  PetscCall(PetscFinalize());
  return 0;
}
