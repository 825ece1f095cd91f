static char help
  [] = "Load vectors, Neumann data and errors: from functions that get one point or many at once, and from values at the nodes, which must \
agree for polynomials.\n\
  -cuda     : vectors on the GPU\n\
  -constant : the function 1, for mapped meshes\n\n";

#include <petscpatchfd.h>

static PetscBool constant = PETSC_FALSE;

/* polynomials of degree 2 in each direction, other ones for each component; without quotients, so that many points and one give the same
   numbers */
static PetscErrorCode Polynomials(PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                                  void *ctx)
{
  const PetscReal shift = ctx ? *(PetscReal *)ctx : 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt c = 0; c < Nc; c++) {
      PetscReal product = 1;

      for (PetscInt d = 0; d < dim && !constant; d++)
        product *= 0.5 + (0.25 * (PetscReal)(c + d) - x[dim * i + d]) * (x[dim * i + d] - shift);
      u[Nc * i + c] = product;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Polynomial(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(Polynomials(dim, time, 1, x, Nc, u, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a graded box with Dirichlet and Neumann sides, unless options say otherwise */
static PetscErrorCode CreateBox(PetscInt dim, VecType type, DM *dm)
{
  const PetscInt          cells[3] = {6, 4, 5};
  const PetscReal         lower[3] = {-1, 2, 0.25}, upper[3] = {1, 3, 0.75}, graded[] = {-1, -0.8, -0.5, 0, 0.25, 0.5, 1};
  const DMBoxBoundaryType boundary[6] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                         DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, 3, dm));
  PetscCall(DMBoxSetBounds(*dm, lower, upper));
  PetscCall(DMBoxSetVertices(*dm, 0, 7, graded));
  PetscCall(DMBoxSetBoundary(*dm, boundary));
  PetscCall(DMSetVecType(*dm, type));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Near(const char what[], PetscReal a, PetscReal b, PetscReal tol)
{
  PetscFunctionBeginUser;
  PetscCheck(PetscAbsReal(a - b) <= tol * PetscAbsReal(b), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %.16g, not %.16g", what, (double)a,
             (double)b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = w to tol, relative; v is overwritten */
static PetscErrorCode Same(const char what[], Vec v, Vec w, PetscReal tol)
{
  PetscReal norm[2];

  PetscFunctionBeginUser;
  PetscCall(VecNorm(w, NORM_INFINITY, &norm[0]));
  PetscCall(VecAXPY(v, -1, w));
  PetscCall(VecNorm(v, NORM_INFINITY, &norm[1]));
  PetscCheck(norm[0] > 0 && norm[1] <= tol * norm[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g of %g", what, (double)norm[1],
             (double)norm[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLoads(DM dm, PetscReal tol)
{
  Vec               f, b, start, expected;
  PetscInt          dim;
  PetscBool         neumann = PETSC_FALSE;
  DMBoxBoundaryType boundary[6];
  const char       *op;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetBoundary(dm, boundary));
  PetscCall(DMBoxGetOperator(dm, &op));
  PetscCall(DMCreateGlobalVector(dm, &f));
  PetscCall(VecDuplicate(f, &b));
  PetscCall(VecDuplicate(f, &start));
  PetscCall(VecDuplicate(f, &expected));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Polynomial, NULL, f));
  PetscCall(DMBoxInterpolateFunctionBatch(dm, 0, Polynomials, NULL, b));
  PetscCall(Same("many nodes", b, f, 0));
  /* added to what is there, which stays on Dirichlet sides */
  PetscCall(VecSet(start, 0.01));
  for (int way = 0; way < 2; way++) {
    PetscCall(VecCopy(start, expected));
    PetscCall(DMBoxAddLoad(dm, 0, Polynomial, NULL, expected));
    for (int twice = 0; twice < 2; twice++) { /* the second time with what the first has left */
      PetscCall(VecCopy(start, b));
      if (way) PetscCall(DMBoxAddLoadVec(dm, f, b));
      else PetscCall(DMBoxAddLoadBatch(dm, 0, Polynomials, NULL, b));
      PetscCall(Same(way ? "a load from a Vec" : "a load from many points", b, expected, way ? tol : 0));
    }
  }
  for (PetscInt i = 0; i < 2 * dim; i++) neumann = (PetscBool)(neumann || boundary[i] == DMBOX_BOUNDARY_NEUMANN);
  if (neumann && strcmp(op, "diffusion")) {
    PetscCall(VecCopy(start, expected));
    PetscCall(DMBoxAddNeumannLoad(dm, 0, Polynomial, NULL, expected));
    PetscCall(VecCopy(start, b));
    PetscCall(DMBoxAddNeumannLoadBatch(dm, 0, Polynomials, NULL, b));
    PetscCall(Same("a flux at many points", b, expected, 0));
    PetscCall(VecCopy(start, b));
    PetscCall(DMBoxAddNeumannLoadVec(dm, PETSC_DETERMINE, f, b));
    PetscCall(Same("a flux from a Vec", b, expected, tol));
    PetscCall(VecCopy(start, b));
    for (PetscInt i = 0; i < 2 * dim; i++)
      if (boundary[i] == DMBOX_BOUNDARY_NEUMANN) PetscCall(DMBoxAddNeumannLoadVec(dm, i, f, b));
    PetscCall(Same("fluxes side by side", b, expected, tol));
  }
  PetscCall(VecDestroy(&expected));
  PetscCall(VecDestroy(&start));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* errors that integrate the same polynomials */
static PetscErrorCode TestErrors(DM dm, PetscReal tol, PetscReal energytol)
{
  PetscReal  other = 0.75, l2[3], max[2], gradient[3], energy;
  PetscInt   dim, fields = 1;
  Vec        u, v;
  DMBoxSpace space;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetSpace(dm, &space));
  if (space == DMBOX_SPACE_RT) fields = dim + 1;
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Polynomial, NULL, u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Polynomial, &other, v));
  if (constant) PetscCall(VecScale(u, 2));
  PetscCall(DMBoxComputeError(dm, 0, Polynomial, &other, u, &l2[0], &max[0]));
  PetscCall(DMBoxComputeErrorBatch(dm, 0, Polynomials, &other, u, &l2[1], &max[1]));
  PetscCheck(l2[0] == l2[1] && max[0] == max[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Errors from many points: %.16g %.16g, not %.16g %.16g",
             (double)l2[1], (double)max[1], (double)l2[0], (double)max[0]);
  PetscCall(DMBoxComputeErrorVec(dm, u, v, &l2[2], NULL));
  PetscCall(Near("an error from a Vec", l2[2], l2[0], tol));
  PetscCall(VecAXPY(u, -1, v));
  PetscCall(DMBoxComputeErrorVec(dm, u, NULL, &l2[2], NULL));
  PetscCall(Near("a norm", l2[2], l2[0], tol));
  if (fields == 1) {
    PetscCall(DMBoxComputeGradientError(dm, 0, NULL, NULL, u, &gradient[0]));
    PetscCall(DMBoxComputeGradientError(dm, 0, Polynomial, NULL, u, &gradient[1]));
    PetscCall(DMBoxComputeGradientErrorBatch(dm, 0, Polynomials, NULL, u, &gradient[2]));
    PetscCheck(gradient[1] == gradient[2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Gradients at many points: %.16g, not %.16g",
               (double)gradient[2], (double)gradient[1]);
    /* jumps of what is continuous are zero, but there are Dirichlet sides */
    PetscCall(DMBoxComputeErrorVec(dm, u, NULL, NULL, &energy));
    if (space == DMBOX_SPACE_Q) {
      const char *op;

      PetscCall(DMBoxGetOperator(dm, &op));
      if (strcmp(op, "biharmonic") && !constant) PetscCall(Near("an energy", energy, gradient[0], energytol));
    }
  } else {
    PetscReal e[2][4];

    PetscCall(DMBoxComputeStokesError(dm, 0, Polynomial, Polynomial, NULL, v, &e[0][0], &e[0][1], &e[0][2], &e[0][3]));
    PetscCall(DMBoxComputeStokesErrorBatch(dm, 0, Polynomials, Polynomials, NULL, v, &e[1][0], &e[1][1], &e[1][2], &e[1][3]));
    for (int i = 0; i < 4; i++)
      PetscCheck(e[0][i] == e[1][i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Errors of a flow from many points: %.16g, not %.16g",
                 (double)e[1][i], (double)e[0][i]);
  }
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of a function that is zero on Dirichlet sides: the matrix has its energy, before and after the coefficients change */
static PetscErrorCode TestEnergy(DM dm, PetscReal tol)
{
  Mat         A;
  Vec         u, w;
  PetscScalar square;
  PetscReal   energy;
  const char *op;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetOperator(dm, &op));
  if (!strcmp(op, "stokes")) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &w));
  PetscCall(DMBoxAddLoad(dm, 0, Polynomial, NULL, u));
  for (int change = 0; change < 2; change++) {
    if (change && !strcmp(op, "poisson")) PetscCall(DMBoxSetPoisson(dm, (const PetscReal[]){1, 2, 3}, 5));
    PetscCall(MatBoxUpdate(A));
    PetscCall(MatMult(A, u, w));
    PetscCall(VecDot(u, w, &square));
    PetscCall(DMBoxComputeErrorVec(dm, u, NULL, NULL, &energy));
    PetscCall(Near("the energy of the matrix", energy * energy, PetscRealPart(square), tol));
  }
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  dims[2] = {1, 3}, n = 2;
  PetscBool cuda = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cuda", &cuda, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-constant", &constant, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-dims", dims, &n, NULL));
  for (int single = 0; single < 2; single++) {
    for (PetscInt dim = dims[0]; dim <= dims[1]; dim++) {
      DM dm;

      PetscCall(CreateBox(dim, cuda ? (single ? VECSINGLECUDA : VECCUDA) : (single ? VECSINGLE : VECSTANDARD), &dm));
      PetscCall(TestLoads(dm, single ? 2e-6 : 1e-13));
      PetscCall(TestErrors(dm, single ? 1e-5 : 1e-12, single ? 2e-4 : 1e-11)); /* derivatives lose digits */
      PetscCall(TestEnergy(dm, single ? 1e-5 : 1e-12));
      PetscCall(DMDestroy(&dm));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "loads and errors agree\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3}}
    output_file: output/loads.out
    test:
      suffix: q
    test:
      suffix: q2
      args: -dm_box_degree 2 -dims 1,2
    test:
      suffix: q7
      args: -dm_box_degree 7 -dims 1,2
    test:
      suffix: dgq
      args: -dm_box_space dgq
    test:
      suffix: stokes
      args: -dims 2,3 -dm_box_space rt -dm_box_operator stokes -dm_box_degree 2
    test:
      suffix: biharmonic
      args: -dims 2,3 -dm_box_operator biharmonic -dm_box_boundary supported
    test:
      suffix: diffusion
      args: -dims 2,3 -dm_box_operator diffusion
    test:
      suffix: mapped
      args: -dims 2,3 -dm_box_operator diffusion -dm_box_mapping sine -dm_box_mapping_degree 1 -constant

  testset:
    requires: cuda gpu
    nsize: {{1 2}}
    output_file: output/loads.out
    test:
      suffix: cuda_q
      args: -cuda
    test:
      suffix: cuda_q7
      args: -cuda -dm_box_degree 7 -dims 2,3
    test:
      suffix: cuda_dgq
      args: -cuda -dm_box_space dgq
    test:
      suffix: cuda_stokes
      args: -cuda -dims 2,3 -dm_box_space rt -dm_box_operator stokes -dm_box_degree 2
    test:
      suffix: cuda_biharmonic
      args: -cuda -dims 2,3 -dm_box_operator biharmonic -dm_box_boundary supported
    test:
      suffix: cuda_diffusion
      args: -cuda -dims 2,3 -dm_box_operator diffusion
    test:
      suffix: cuda_mapped
      args: -cuda -dims 2,3 -dm_box_operator diffusion -dm_box_mapping sine -dm_box_mapping_degree 1 -constant

TEST*/
