static char help
  [] = "The L2 error of the solution of -div(D grad u) + s u = f falls by 2^(k+1) when cells are halved: k = 1 to 4, 1 to 3 dimensions,\n\
on three meshes each, with Dirichlet and Neumann sides, data on both, and cells of different lengths (-graded false: of equal lengths).\n\
With -dm_box_operator biharmonic the same for D laplace^2 u + s u = f, k = 2 to 4, with clamped and supported sides: by 2^(k+1), 2^2 for k \
= 2,\n\
and the error of second derivatives by 2^(k-1).\n\
  -dims : the dimensions\n\n";

#include <petscpatchfd.h>

/* u = prod cos((d + 1) x_d + 1/2), differentiated in the directions i and j (-1: not) */
static PetscReal Derivative(PetscInt dim, const PetscReal x[], PetscInt i, PetscInt j)
{
  PetscReal u = 1;

  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt order = (i == d) + (j == d);

    u *= PetscPowRealInt(d + 1, order) * PetscCosReal((d + 1) * x[d] + 0.5 + order * PETSC_PI / 2);
  }
  return u;
}

static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = Derivative(dim, x, -1, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Hessian(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                              PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) u[i] = Derivative(dim, x, i / dim, i % dim);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the direction in which the side with the point x lies, upwards or downwards */
static PetscErrorCode Side(DM dm, const PetscReal x[], PetscInt *direction, PetscReal *normal)
{
  PetscReal lower[3], upper[3];
  PetscInt  dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  *direction = -1;
  for (PetscInt d = 0; d < dim; d++)
    if (x[d] == lower[d] || x[d] == upper[d]) {
      *direction = d;
      *normal    = x[d] == lower[d] ? -1 : 1;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- poisson ---- */

static PetscErrorCode PoissonForce(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                   PetscScalar f[], void *ctx)
{
  PetscReal D[3], s;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetPoisson((DM)ctx, D, &s));
  f[0] = s * Derivative(dim, x, -1, -1);
  for (PetscInt d = 0; d < dim; d++) f[0] -= D[d] * Derivative(dim, x, d, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D du/dn + h u */
static PetscErrorCode Flux(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[],
                           void *ctx)
{
  PetscReal D[3], h, normal = 0;
  PetscInt  n = 0;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetPoisson((DM)ctx, D, NULL));
  PetscCall(Side((DM)ctx, x, &n, &normal));
  PetscCall(DMBoxGetRobin((DM)ctx, 2 * n + (normal > 0), &h));
  g[0] = D[n] * normal * Derivative(dim, x, n, -1) + h * Derivative(dim, x, -1, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- biharmonic ---- */

static PetscErrorCode BendingForce(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                   PetscScalar f[], void *ctx)
{
  PetscReal D, s, laplace = 0;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBiharmonic((DM)ctx, &D, &s));
  for (PetscInt d = 0; d < dim; d++) laplace -= (d + 1) * (d + 1);
  f[0] = (D * laplace * laplace + s) * Derivative(dim, x, -1, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Slope(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[],
                            void *ctx)
{
  PetscReal normal = 0;
  PetscInt  n      = 0;

  PetscFunctionBeginUser;
  PetscCall(Side((DM)ctx, x, &n, &normal));
  g[0] = normal * Derivative(dim, x, n, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Moment(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[],
                             void *ctx)
{
  PetscReal normal = 0;
  PetscInt  n      = 0;

  PetscFunctionBeginUser;
  PetscCall(Side((DM)ctx, x, &n, &normal));
  g[0] = Derivative(dim, x, n, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* error[0] is that of u in L2, error[1] that of its second derivatives */
static PetscErrorCode Solve(PetscInt dim, PetscInt degree, PetscInt n, PetscBool graded, PetscBool bending, PetscReal error[2])
{
  const PetscInt          cells[3]    = {n, n, n};
  const PetscReal         D[3]        = {1, 0.5, 2};
  const DMBoxBoundaryType other       = bending ? DMBOX_BOUNDARY_SUPPORTED : DMBOX_BOUNDARY_NEUMANN;
  const DMBoxBoundaryType boundary[6] = {DMBOX_BOUNDARY_DIRICHLET, other, DMBOX_BOUNDARY_DIRICHLET, other, DMBOX_BOUNDARY_DIRICHLET, other};
  PetscReal              *v;
  DM                      dm;
  KSP                     ksp;
  PC                      pc;
  Mat                     A;
  Vec                     u, g, b;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, degree, &dm));
  PetscCall(PetscMalloc1(n + 1, &v));
  for (PetscInt i = 0; i <= n; i++) v[i] = (PetscReal)i / n * (1 + (PetscReal)i / n) / 2;
  if (graded) PetscCall(DMBoxSetVertices(dm, 0, n + 1, v));
  PetscCall(PetscFree(v));
  PetscCall(DMBoxSetBoundary(dm, boundary));
  PetscCall(DMSetFromOptions(dm));
  if (bending) PetscCall(DMBoxSetBiharmonic(dm, 2, 3));
  else PetscCall(DMBoxSetPoisson(dm, D, 3));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &g));
  PetscCall(DMBoxAddLoad(dm, 0, bending ? BendingForce : PoissonForce, dm, b));
  if (bending) PetscCall(DMBoxAddBendingLoad(dm, 0, Slope, Moment, dm, b));
  else PetscCall(DMBoxAddNeumannLoad(dm, 0, Flux, dm, b));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Exact, NULL, g));
  PetscCall(DMBoxLiftDirichlet(dm, g, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-11, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(DMBoxComputeError(dm, 0, Exact, NULL, u, &error[0], NULL));
  PetscCall(DMBoxComputeBendingError(dm, 0, Hessian, NULL, u, &error[1]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* does the error fall by 2^expected twice, up to the slack that meshes as coarse as these need? */
static PetscErrorCode Order(const char what[], const PetscReal error[3][2], int m, PetscInt expected, const PetscReal slack[2],
                            const char name[])
{
  PetscReal order[2];
  PetscBool as = PETSC_TRUE;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 2; i++) {
    order[i] = PetscLog2Real(error[i][m] / error[i + 1][m]);
    as       = (PetscBool)(as && order[i] > expected - slack[i] && order[i] < expected + 1);
  }
  PetscCall(PetscInfo(NULL, "%s: errors %g %g %g, orders %.2f %.2f\n", what, (double)error[0][m], (double)error[1][m], (double)error[2][m],
                      (double)order[0], (double)order[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s %s\n", what, as ? "=" : "!=", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool graded = PETSC_TRUE, bending, given;
  PetscInt  dims[] = {1, 2, 3}, ndims = 3;
  PetscReal slack[2][2] = {{0.35, 0.15}, {0.6, 0.3}}; /* rounding keeps the meshes of biharmonic coarse */
  char      name[32]    = "poisson", what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graded", &graded, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_box_operator", name, sizeof(name), NULL));
  PetscCall(PetscStrcmp(name, "biharmonic", &bending));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-dims", dims, &ndims, &given));
  for (PetscInt d = 0; d < (given ? ndims : 3); d++) {
    const PetscInt dim = dims[d];

    for (PetscInt degree = 1 + bending; degree <= (dim == 3 && !bending ? 3 : 4); degree++) {
      PetscReal error[3][2];

      for (PetscInt i = 0; i < 3; i++)
        PetscCall(Solve(dim, degree, (dim == 3 && degree > 1) || (bending && degree > 3) ? 2 << i : 4 << i, graded, bending, error[i]));
      PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT "D, Q%" PetscInt_FMT ": order", dim, degree));
      PetscCall(Order(what, error, 0, bending && degree == 2 ? 2 : degree + 1, slack[bending], bending && degree == 2 ? "2" : "k + 1"));
      PetscCall(PetscStrlcat(what, " of second derivatives", sizeof(what)));
      if (bending) PetscCall(Order(what, error, 1, degree - 1, slack[0], "k - 1"));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # small enough for valgrind
  test:
    suffix: 1d
    nsize: {{1 2}}
    args: -dims 1
  test:
    nsize: {{1 2}}

  test:
    suffix: robin
    output_file: output/convergence_1.out
    args: -dm_box_robin 2

  # interior penalties
  test:
    suffix: dgq
    nsize: {{1 2}}
    output_file: output/convergence_1.out
    args: -dm_box_space dgq
  test:
    suffix: dgq_uniform
    output_file: output/convergence_1.out
    args: -dm_box_space dgq -graded 0

  # C0 interior penalties; second derivatives are as accurate as the solver makes them
  testset:
    args: -dm_box_operator biharmonic -ksp_rtol 1e-13
    test:
      suffix: biharmonic
      nsize: {{1 2}}
      output_file: output/convergence_biharmonic.out
    test:
      suffix: biharmonic_uniform
      output_file: output/convergence_biharmonic.out
      args: -graded 0

TEST*/
