static char help[] = "Poisson's equation -div(D grad u) + shift u = f on a box, with Q_k elements and multigrid with vertex-patch smoothers.\n\
The solution is u = prod_i sin(pi x_i); f, the Dirichlet data and the Neumann data follow from it.\n\
  -dm_box_*, -dm_refine : the mesh, the element and the operator (see DMBOX)\n\
  -ksp_*, -pc_*         : the solver (default: FGMRES, PCPATCHMG)\n\
  -ksp_view_solution vtk:u.vts : write the solution for ParaView\n\n";

#include <petscpatchfd.h>
#include <petsctime.h>

static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  for (PetscInt i = 0; i < dim; i++) u[0] *= PetscSinReal(PETSC_PI * x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RightHandSide(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  PetscReal D[3], shift, sum = 0;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetPoisson((DM)ctx, D, &shift));
  for (PetscInt i = 0; i < dim; i++) sum += D[i] * PETSC_PI * PETSC_PI;
  PetscCall(Exact(dim, time, x, Nc, f, NULL));
  f[0] *= sum + shift;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D du/dn: a point on a side lies on one bound of the box */
static PetscErrorCode Flux(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[], void *ctx)
{
  PetscReal lower[3], upper[3], D[3], shift;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds((DM)ctx, lower, upper));
  PetscCall(DMBoxGetPoisson((DM)ctx, D, &shift));
  for (PetscInt n = 0; n < dim; n++) {
    if (x[n] != lower[n] && x[n] != upper[n]) continue;
    g[0] = x[n] == lower[n] ? -D[n] : D[n];
    for (PetscInt i = 0; i < dim; i++) g[0] *= i == n ? PETSC_PI * PetscCosReal(PETSC_PI * x[i]) : PetscSinReal(PETSC_PI * x[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt cells[] = {32, 32, 32};
  DM             dm;
  Mat            A;
  Vec            u, b, g;
  KSP            ksp;
  PC             pc;
  PetscInt       dim, degree, n[3], N, its;
  PetscReal      bnorm, rnorm, l2, max;
  PetscLogDouble t[3];
  PetscBool      summary = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &summary, NULL));

  /* the mesh carries the element and the operator */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 3, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));

  /* load, Neumann data, Dirichlet data */
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &g));
  PetscCall(PetscObjectSetName((PetscObject)u, "u"));
  PetscCall(DMBoxAddLoad(dm, 0, RightHandSide, dm, b));
  PetscCall(DMBoxAddNeumannLoad(dm, 0, Flux, dm, b));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Exact, NULL, g));
  PetscCall(MatBoxLiftDirichlet(A, g, b));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetFromOptions(ksp));

  PetscCall(PetscTime(&t[0]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&t[1]));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(PetscTime(&t[2]));

  /* report */
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, n));
  PetscCall(DMBoxGetDegree(dm, &degree));
  PetscCall(VecGetSize(u, &N));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(MatResidual(A, b, u, g));
  PetscCall(VecNorm(g, NORM_2, &rnorm));
  PetscCall(DMBoxComputeError(dm, 0, Exact, NULL, u, &l2, &max));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "mesh %" PetscInt_FMT, n[0]));
  for (PetscInt d = 1; d < dim; d++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " x %" PetscInt_FMT, n[d]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", Q%" PetscInt_FMT ", %" PetscInt_FMT " unknowns\n", degree, N));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "iterations %" PetscInt_FMT ", true relative residual %s\n", its, rnorm <= 1e-9 * bnorm ? "<= 1e-9" : "> 1e-9"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "L2 error %.3e\n", (double)l2));
  if (summary) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "true relative residual %.2e, max error %.3e\n", (double)(rnorm / bnorm), (double)max));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "set-up %.3f s, solve %.3f s, %.3g unknowns/s\n", t[1] - t[0], t[2] - t[1], N / (t[2] - t[1])));
  }

  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&g));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}
