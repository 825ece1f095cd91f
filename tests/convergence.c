static char help[] = "The L2 error of the solution of -div(D grad u) + s u = f falls by 2^(k+1) when cells are halved: k = 1 to 4, 1 to 3 dimensions,\n\
on three meshes each, with Dirichlet and Neumann sides, data on both, and cells of different lengths (-graded false: of equal lengths).\n\
  -dims : the dimensions\n\n";

#include <petscpatchfd.h>

static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  for (PetscInt d = 0; d < dim; d++) u[0] *= PetscCosReal((d + 1) * x[d] + 0.5);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Force(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  PetscReal D[3], s;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetPoisson((DM)ctx, D, &s));
  for (PetscInt d = 0; d < dim; d++) s += D[d] * (d + 1) * (d + 1);
  PetscCall(Exact(dim, time, x, Nc, f, NULL));
  f[0] *= s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D du/dn on the upper sides, which are Neumann */
static PetscErrorCode Flux(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[], void *ctx)
{
  PetscReal D[3], upper[3];

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetPoisson((DM)ctx, D, NULL));
  PetscCall(DMBoxGetBounds((DM)ctx, NULL, upper));
  for (PetscInt n = 0; n < dim; n++) {
    if (x[n] != upper[n]) continue;
    g[0] = -D[n] * (n + 1);
    for (PetscInt d = 0; d < dim; d++) g[0] *= d == n ? PetscSinReal((d + 1) * x[d] + 0.5) : PetscCosReal((d + 1) * x[d] + 0.5);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(PetscInt dim, PetscInt degree, PetscInt n, PetscBool graded, PetscReal *error)
{
  const PetscInt          cells[3] = {n, n, n};
  const PetscReal         D[3] = {1, 0.5, 2};
  const DMBoxBoundaryType boundary[6] = {DMBOX_DIRICHLET, DMBOX_NEUMANN, DMBOX_DIRICHLET, DMBOX_NEUMANN, DMBOX_DIRICHLET, DMBOX_NEUMANN};
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
  PetscCall(DMBoxSetPoisson(dm, D, 3));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &g));
  PetscCall(DMBoxAddLoad(dm, 0, Force, dm, b));
  PetscCall(DMBoxAddNeumannLoad(dm, 0, Flux, dm, b));
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
  PetscCall(DMBoxComputeError(dm, 0, Exact, NULL, u, error, NULL));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool graded = PETSC_TRUE, given;
  PetscInt  dims[] = {1, 2, 3}, ndims = 3;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graded", &graded, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-dims", dims, &ndims, &given));
  for (PetscInt d = 0; d < (given ? ndims : 3); d++) {
    const PetscInt dim = dims[d];

    for (PetscInt degree = 1; degree <= (dim == 3 ? 3 : 4); degree++) {
      PetscReal error[3], order[2];

      for (PetscInt i = 0; i < 3; i++) PetscCall(Solve(dim, degree, dim == 3 && degree > 1 ? 2 << i : 4 << i, graded, &error[i]));
      for (PetscInt i = 0; i < 2; i++) order[i] = PetscLog2Real(error[i] / error[i + 1]);
      PetscCall(PetscInfo(NULL, "%" PetscInt_FMT "D, Q%" PetscInt_FMT ": errors %g %g %g, orders %.2f %.2f\n", dim, degree, (double)error[0], (double)error[1], (double)error[2],
                          (double)order[0], (double)order[1]));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D, Q%" PetscInt_FMT ": order %s k + 1\n", dim, degree,
                            PetscAbsReal(order[0] - degree - 1) < 0.35 && PetscAbsReal(order[1] - degree - 1) < 0.15 ? "=" : "!="));
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

TEST*/
