static char help[] = "Grid functions at the quadrature points of the operator diffusion, and loads from there.\n\
  -test load   : the load of K grad u and s u is the product of the operator with u\n\
  -test values : functions that are in the space, at the points where they are, and their gradients\n\
  -test errors : bad input\n\n";

#include <petscpatchfd.h>
#include "catch.h"

static PetscErrorCode Field(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 0.5;
  for (PetscInt d = 0; d < dim; d++) u[0] += PetscSinReal((1 + d) * x[d] + 0.3) + 0.2 * x[d] * x[(d + 1) % dim];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* in the space on any mapped mesh */
static PetscErrorCode Linear(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                             PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = -1;
  for (PetscInt d = 0; d < dim; d++) u[0] += (d + 2) * x[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K = [k_ab], a full matrix, in the order of DMBoxSetDiffusion() */
static PetscReal Entry(PetscInt a, PetscInt b, const PetscReal x[])
{
  return a == b ? 2 + a + PetscSinReal(x[0] + 2 * x[1]) : 0.3 / (1 + a + b);
}

/* at all points: K, s, and K grad u and s u from the values of u and its gradient there */
static PetscErrorCode Evaluate(PetscInt dim, Vec x, Vec u, Vec g, Vec K, Vec s)
{
  const PetscScalar *ax;
  PetscScalar       *au, *ag, *aK, *as;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(u, &n));
  PetscCall(VecGetArrayRead(x, &ax));
  PetscCall(VecGetArray(u, &au));
  PetscCall(VecGetArray(g, &ag));
  PetscCall(VecGetArray(K, &aK));
  PetscCall(VecGetArray(s, &as));
  for (PetscInt i = 0; i < n; i++, ax += dim, ag += dim) {
    PetscScalar flux[3] = {0, 0, 0};

    for (PetscInt a = 0; a < dim; a++) {
      for (PetscInt b = 0; b < dim; b++) flux[a] += Entry(a, b, ax) * ag[b];
      for (PetscInt b = a; b < dim; b++) *aK++ = Entry(a, b, ax);
    }
    for (PetscInt a = 0; a < dim; a++) ag[a] = flux[a];
    as[i] = 1 + ax[0] * ax[0];
    au[i] *= as[i];
  }
  ax -= dim * n;
  ag -= dim * n;
  aK -= n * dim * (dim + 1) / 2;
  PetscCall(VecRestoreArray(s, &as));
  PetscCall(VecRestoreArray(K, &aK));
  PetscCall(VecRestoreArray(g, &ag));
  PetscCall(VecRestoreArray(u, &au));
  PetscCall(VecRestoreArrayRead(x, &ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(const char what[], Vec a, Vec b)
{
  PetscReal norm, error;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(b, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(a, -1, b));
  PetscCall(VecNorm(a, NORM_INFINITY, &error));
  if (norm > 0 && error <= 1e-12 * norm) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: yes\n", what));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: NO, %g of %g\n", what, (double)error, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointVecs(DM dm, Vec *u, Vec *g, Vec *x)
{
  PetscInt dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, 1, u));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, dim, g));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, dim, x));
  PetscCall(DMBoxComputeDiffusionPoints(dm, *x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u vanishes at fixed nodes, whose columns matrices do not have */
static PetscErrorCode TestLoad(DM dm)
{
  Vec      u, b, Au, pu, pg, px, K, s;
  Mat      A;
  PetscInt dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &Au));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Field, NULL, u));
  PetscCall(VecSet(Au, 0));
  PetscCall(DMBoxLiftDirichlet(dm, Au, u)); /* 0 at fixed nodes, nothing else */
  PetscCall(PointVecs(dm, &pu, &pg, &px));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, dim * (dim + 1) / 2, &K));
  PetscCall(VecDuplicate(pu, &s));
  PetscCall(DMBoxComputeDiffusionValues(dm, u, pu, pg));
  PetscCall(Evaluate(dim, px, pu, pg, K, s));
  PetscCall(DMBoxSetDiffusionVec(dm, dim * (dim + 1) / 2, K, s));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatMult(A, u, Au));
  PetscCall(VecSet(b, 0));
  PetscCall(DMBoxAddDiffusionLoad(dm, pu, pg, b));
  PetscCall(Report("load of values and fluxes", b, Au));
  PetscCall(VecSet(b, 0));
  PetscCall(DMBoxAddDiffusionLoad(dm, pu, NULL, b));
  PetscCall(DMBoxAddDiffusionLoad(dm, NULL, pg, b));
  PetscCall(DMBoxAddDiffusionLoad(dm, NULL, NULL, b));
  PetscCall(Report("one after the other", b, Au));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&Au));
  PetscCall(VecDestroy(&pu));
  PetscCall(VecDestroy(&pg));
  PetscCall(VecDestroy(&px));
  PetscCall(VecDestroy(&K));
  PetscCall(VecDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestValues(DM dm)
{
  Vec          u, pu, pg, px, eu, eg;
  PetscInt     dim, n;
  PetscScalar *ax, *au, *ag;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Linear, NULL, u));
  PetscCall(PointVecs(dm, &pu, &pg, &px));
  PetscCall(VecDuplicate(pu, &eu));
  PetscCall(VecDuplicate(pg, &eg));
  PetscCall(VecGetLocalSize(pu, &n));
  PetscCall(VecGetArray(px, &ax));
  PetscCall(VecGetArray(eu, &au));
  PetscCall(VecGetArray(eg, &ag));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(Linear(dim, 0, &ax[dim * i], 1, &au[i], NULL));
    for (PetscInt d = 0; d < dim; d++) ag[dim * i + d] = d + 2;
  }
  PetscCall(VecRestoreArray(eg, &ag));
  PetscCall(VecRestoreArray(eu, &au));
  PetscCall(VecRestoreArray(px, &ax));
  PetscCall(DMBoxComputeDiffusionValues(dm, u, pu, pg));
  PetscCall(Report("values", pu, eu));
  PetscCall(Report("gradients", pg, eg));
  PetscCall(DMBoxComputeDiffusionValues(dm, u, NULL, pg));
  PetscCall(Report("gradients alone", pg, eg));
  PetscCall(DMBoxComputeDiffusionValues(dm, u, pu, NULL));
  PetscCall(Report("values alone", pu, eu));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&pu));
  PetscCall(VecDestroy(&pg));
  PetscCall(VecDestroy(&px));
  PetscCall(VecDestroy(&eu));
  PetscCall(VecDestroy(&eg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define EXPECT(what, ...) \
  do { \
    PetscErrorCode ierr_; \
    CATCH(ierr_, __VA_ARGS__); \
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, ierr_ ? lastmessage : "NO error")); \
  } while (0)

static PetscErrorCode TestErrors(DM dm)
{
  const PetscInt cells[2] = {2, 2};
  DM             poisson;
  Vec            u, pu, pg, px;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(PointVecs(dm, &pu, &pg, &px));
  EXPECT("values of another size", DMBoxComputeDiffusionValues(dm, u, u, NULL));
  EXPECT("gradients of another size", DMBoxComputeDiffusionValues(dm, u, pu, pu));
  EXPECT("fluxes of another size", DMBoxAddDiffusionLoad(dm, NULL, pu, u));
  EXPECT("no nodal values", DMBoxAddDiffusionLoad(dm, pu, NULL, pg));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &poisson));
  PetscCall(DMSetUp(poisson));
  EXPECT("another operator", DMBoxComputeDiffusionValues(poisson, u, pu, pg));
  PetscCall(DMDestroy(&poisson));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&pu));
  PetscCall(VecDestroy(&pg));
  PetscCall(VecDestroy(&px));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt cells[3] = {5, 4, 3};
  char           test[16] = "load";
  PetscBool      load, values, errors;
  DM             dm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", test, sizeof(test), NULL));
  PetscCall(PetscStrcmp(test, "load", &load));
  PetscCall(PetscStrcmp(test, "values", &values));
  PetscCall(PetscStrcmp(test, "errors", &errors));
  PetscCheck(load || values || errors, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-test is %s; it must be load, values or errors", test);
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 3, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMBoxSetMappingType(dm, DMBOX_MAPPING_SINE, PETSC_DETERMINE));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  if (load) PetscCall(TestLoad(dm));
  if (values) PetscCall(TestValues(dm));
  if (errors) PetscCall(TestErrors(dm));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 3 4}}
    args: -test load
    output_file: output/quasilinear_load.out
    test:
      suffix: load
      args: -dm_box_boundary {{dirichlet neumann}}
    test:
      suffix: load_3d
      args: -dm_box_dim 3 -dm_box_cells 3,2,4 -dm_box_degree 2 -dm_box_boundary neumann,dirichlet,dirichlet,neumann,dirichlet,neumann
  testset:
    nsize: {{1 3}}
    args: -test values
    output_file: output/quasilinear_values.out
    test:
      suffix: values
      args: -dm_box_mapping {{none annulus}}
    test:
      suffix: values_3d
      args: -dm_box_dim 3 -dm_box_cells 3,2,4 -dm_box_degree {{1 4}}
  test:
    suffix: errors
    args: -test errors -malloc_dump 0
  testset:
    requires: cuda gpu
    args: -dm_vec_type cuda
    test:
      suffix: cuda
      args: -test load
      output_file: output/quasilinear_load.out
    test:
      suffix: cuda_values
      args: -test values -dm_box_dim 3 -dm_box_cells 3 -dm_box_degree 2
      output_file: output/quasilinear_values.out

TEST*/
