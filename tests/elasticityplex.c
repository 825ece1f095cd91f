static char help
  [] = "Solids on a DMPLEX: the operator, its diagonal and its assembled matrix against the Jacobian that PETSc assembles from pointwise\n\
functions; null spaces; planes of symmetry, and nodes that are held in some of their components; closed cells, component by component,\n\
against those of scalar operators; errors of a known displacement, and iterations.  Loads, stresses and messages:\n\
tests/elasticityplexloads.c\n\
  -test operator, tangent, cells, motions, corrections, convergence, iterations\n\n";

#include "elasticityplex.h"
#include "runtest.h"

/* ---- tests ---- */

/* what a matrix does, its diagonal and its entries, with those of PETSc's */
static PetscErrorCode CompareMatrices(const char *what, Mat A, Mat J)
{
  Vec       x, y, wanted;
  Mat       B, D;
  PetscReal error, size;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &wanted));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(J, x, wanted));
  PetscCall(Compare(what, y, wanted, 1e-12));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscCall(VecScale(wanted, 2));
  PetscCall(Compare("product that is added", y, wanted, 1e-12));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(MatGetDiagonal(J, wanted));
  PetscCall(Compare("diagonal", y, wanted, 1e-12));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatNorm(J, NORM_INFINITY, &size));
  PetscCall(MatDuplicate(J, MAT_COPY_VALUES, &D)); /* MatAXPY() would lose the near null space of B */
  PetscCall(MatAXPY(D, -1, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_INFINITY, &error));
  PetscCall(Check("assembled matrix", error, size, 1e-12));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&D));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* components that are not coupled */
static void Laplace(POINT, PetscScalar g[])
{
  (void)n;
  for (PetscInt i = 0; i < dim * dim; i++) g[(i / dim * (dim + 1) * dim + i % dim) * dim + i % dim] = 1 + x[0];
}

static PetscErrorCode Springs(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                              PetscReal h[], PETSC_UNUSED void *ctx)
{
  h[0] = 1 + x[1];
  return PETSC_SUCCESS;
}

static PetscErrorCode TestOperator(Case *c)
{
  const PetscInt id = 1;
  PetscReal      iterations;
  DM             dm;
  DMLabel        label;
  PetscDS        ds;
  Mat            A, J;
  Vec            local, x, b;

  PetscFunctionBeginUser;
  for (int varies = 0; varies < 2; varies++) {
    c->varies = (PetscBool)varies;
    PetscCall(CreateSolid(c, &dm, &A));
    PetscCall(DMCreateLocalVector(dm, &local));
    PetscCall(DMSetMatType(dm, MATAIJ));
    PetscCall(DMCreateMatrix(dm, &J));
    PetscCall(DMPlexSNESComputeJacobianFEM(dm, local, J, J, NULL));
    PetscCall(CompareMatrices(varies ? "operator" : "operator of one material", A, J));
    PetscCall(MatDestroy(&A));
    PetscCall(MatCreateDiffusionPlex(dm, &A));
    PetscCall(MatDiffusionPlexSetJacobian(A, dm, NULL, 0, 0));
    PetscCall(CompareMatrices("operator of a PetscDS", A, J));
    PetscCall(DMGetDS(dm, &ds));
    PetscCall(PetscDSSetJacobian(ds, 0, 0, G0, NULL, NULL, Laplace));
    PetscCall(DMPlexSNESComputeJacobianFEM(dm, local, J, J, NULL));
    PetscCall(MatDiffusionPlexSetJacobian(A, dm, NULL, 0, 0));
    PetscCall(CompareMatrices("components that are not coupled", A, J));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(Solve(A, KSPCG, b, x, &iterations));
    if (iterations > 12) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f iterations where components are not coupled\n", (double)iterations));
    PetscCall(MarkSide(dm, "end", 0, 1, &label));
    PetscCall(MatDiffusionPlexSetRobin(A, label, 1, &id, Springs, NULL));
    PetscCall(MatDestroy(&J));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &J));
    PetscCall(CompareMatrices("springs", A, J));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&J));
    PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP4, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &J));
    PetscCall(CompareMatrices("bake-off problem", A, J));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&J));
    PetscCall(VecDestroy(&local));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* that of a solid which is stiffer in the direction of its strains */
static void Tangent(POINT, PetscScalar g[])
{
  G3(dim, Nf, NfAux, uOff, uOff_x, u, u_t, u_x, aOff, aOff_x, a, a_t, a_x, t, shift, x, n, constants, g);
  for (PetscInt i = 0; i < dim * dim; i++)
    for (PetscInt j = 0; j < dim * dim; j++) g[((i / dim * dim + j / dim) * dim + i % dim) * dim + j % dim] += 0.3 * u_x[i] * u_x[j];
}

static PetscErrorCode Bent(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                           PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < n; c++) u[c] = PetscSinReal(2 * x[c] + (c + 1) * x[(c + 1) % dim]);
  return PETSC_SUCCESS;
}

/* a Jacobian that is no Hooke's law, at a displacement, and a solve with it */
static PetscErrorCode TestTangent(Case *c)
{
  PetscErrorCode (*bent[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Bent};
  DM        dm;
  Mat       A, J;
  Vec       u, x, local;
  PetscDS   ds;
  PetscReal iterations;

  PetscFunctionBeginUser;
  c->varies = PETSC_TRUE;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, G0, NULL, NULL, Tangent));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(DMProjectFunction(dm, 0, bent, NULL, INSERT_VALUES, u));
  PetscCall(DMCreateLocalVector(dm, &local));
  PetscCall(VecSet(local, 0));
  PetscCall(DMGlobalToLocal(dm, u, INSERT_VALUES, local));
  PetscCall(DMSetMatType(dm, MATAIJ));
  PetscCall(DMCreateMatrix(dm, &J));
  PetscCall(DMPlexSNESComputeJacobianFEM(dm, local, J, J, NULL));
  PetscCall(MatDiffusionPlexSetJacobian(A, dm, u, 0, 0));
  PetscCall(CompareMatrices("tangent", A, J));
  PetscCall(Solve(A, KSPCG, u, x, &iterations));
  if (iterations > 25) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f iterations with a tangent\n", (double)iterations));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&local));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&J));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* numbers of cells are a function that is constant in each; here everywhere, those of the options of A */
static PetscErrorCode TestCells(Case *c)
{
  DM           dm;
  Mat          A, B;
  Vec          moduli, shift, x, y, wanted;
  PetscInt     first, end;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(MatCreateElasticityPlex(dm, &B));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &first, &end));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 2 * (end - first), PETSC_DETERMINE, &moduli));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, end - first, PETSC_DETERMINE, &shift));
  PetscCall(VecGetArrayWrite(moduli, &a));
  for (PetscInt i = 0; i < 2 * (end - first); i++) a[i] = i % 2 ? 0.4 : 3;
  PetscCall(VecRestoreArrayWrite(moduli, &a));
  PetscCall(VecSet(shift, 2));
  PetscCall(MatElasticityPlexSetVec(B, moduli, shift, DMBOX_PLANE_STRESS));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &wanted));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, wanted));
  PetscCall(MatMult(B, x, y));
  PetscCall(Compare("numbers of cells", y, wanted, 1e-13));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscCall(VecDestroy(&moduli));
  PetscCall(VecDestroy(&shift));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rigid motions, and what is solved up to them */
static PetscErrorCode TestMotions(Case *c)
{
  const PetscInt rest = c->dim - (c->pins ? c->pins + c->edge : c->planes), all = c->dim * (c->dim + 1) / 2; /* rest: in all planes */
  const PetscInt wanted = c->clamped ? 0 : (c->planes || c->pins ? rest * (rest + 1) / 2 : all);
  DM             dm;
  Mat            A, B;
  Vec            x, b, y;
  const Vec     *v;
  PetscInt       n = 0;
  PetscReal      iterations;
  PetscBool      constants, is;
  MatNullSpace   motions;

  PetscFunctionBeginUser;
  c->free = PETSC_TRUE;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(MatGetNullSpace(A, &motions));
  constants = PETSC_FALSE;
  is        = PETSC_TRUE;
  if (motions) PetscCall(MatNullSpaceGetVecs(motions, &constants, &n, &v));
  if (n != wanted || constants) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " motions, not %" PetscInt_FMT "\n", n, wanted));
  if (motions) PetscCall(MatNullSpaceTest(motions, A, &is));
  if (!is) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "motions are no null space\n"));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatGetNearNullSpace(B, &motions));
  if (!c->planes && !c->pins) PetscCall(MatNullSpaceTest(motions, B, &is));
  if (!is) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the near null space is none\n"));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, b));
  PetscCall(Solve(A, KSPCG, b, y, &iterations));
  if (iterations > 12) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f iterations\n", (double)iterations));
  PetscCall(MatGetNullSpace(A, &motions));
  for (int i = 0; i < 2 && motions; i++) PetscCall(MatNullSpaceRemove(motions, i ? x : y));
  PetscCall(Compare("solution up to motions", y, x, 1e-5));
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreateDiffusionPlex(dm, &A));
  PetscCall(MatGetNullSpace(A, &motions));
  n = 0;
  if (motions) PetscCall(MatNullSpaceGetVecs(motions, NULL, &n, NULL));
  if (motions) PetscCall(MatNullSpaceTest(motions, A, &is));
  if (n != (c->clamped || c->pins ? 0 : c->dim - c->planes) || !is)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " constants of components\n", n));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* component `component` of a vector of dm, which has no others, from one of `scalar`, or the other way */
static PetscErrorCode Component(DM dm, DM scalar, PetscInt component, PetscBool back, Vec all, Vec one)
{
  PetscSection sections[2];
  PetscInt     dim, first, end, n, at[2];
  PetscScalar *a, *b;
  Vec          locals[2];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMGetLocalSection(dm, &sections[0]));
  PetscCall(DMGetLocalSection(scalar, &sections[1]));
  PetscCall(DMCreateLocalVector(dm, &locals[0]));
  PetscCall(DMCreateLocalVector(scalar, &locals[1]));
  PetscCall(DMGlobalToLocal(back ? dm : scalar, back ? all : one, INSERT_VALUES, locals[!back]));
  PetscCall(VecGetArray(locals[0], &a));
  PetscCall(VecGetArray(locals[1], &b));
  PetscCall(PetscSectionGetChart(sections[1], &first, &end));
  for (PetscInt q = first; q < end; q++) {
    PetscCall(PetscSectionGetDof(sections[1], q, &n));
    for (int i = 0; i < 2; i++) PetscCall(PetscSectionGetOffset(sections[i], q, &at[i]));
    for (PetscInt i = 0; i < n; i++)
      if (back) b[at[1] + i] = a[at[0] + i * dim + component];
      else a[at[0] + i * dim + component] = b[at[1] + i];
  }
  PetscCall(VecRestoreArray(locals[0], &a));
  PetscCall(VecRestoreArray(locals[1], &b));
  PetscCall(DMLocalToGlobal(back ? scalar : dm, locals[back], INSERT_VALUES, back ? one : all));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&locals[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what PCPATCHFD makes of a vector */
static PetscErrorCode Correct(Mat A, Vec r, Vec x)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, r, x));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K = mu I + (lambda + mu) e e', of component *ctx */
static PetscErrorCode Tensor(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt n, PetscReal K[], void *ctx)
{
  PetscReal m[2], mu, lambda;

  PetscFunctionBeginUser;
  PetscCall(Moduli(dim, time, x, 2, m, NULL));
  mu     = m[0] / (2 * (1 + m[1]));
  lambda = 2 * mu * m[1] / (1 - 2 * m[1]);
  for (PetscInt i = 0; i < n; i++) K[i] = mu + (i == *(PetscInt *)ctx ? lambda + mu : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* closed cells: the diagonal block of a component is a scalar operator, whose corrections tests/cells.c compares with dense matrices */
static PetscErrorCode TestCorrections(Case *c)
{
  DM  dm, scalar;
  Mat A, B;
  Vec r, x, wanted, all, out;

  PetscFunctionBeginUser;
  c->varies = PETSC_TRUE;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(MatCreateVecs(A, &all, &out));
  for (PetscInt component = 0; component < c->dim; component++) {
    PetscCall(CreateMesh(c, &scalar));
    PetscCall(SetSpace(c, component, scalar));
    PetscCall(MatCreateDiffusionPlex(scalar, &B));
    PetscCall(MatDiffusionPlexSetFunction(B, c->dim, Tensor, Shift, &component));
    PetscCall(MatCreateVecs(B, &x, &r));
    PetscCall(VecDuplicate(x, &wanted));
    PetscCall(VecSetRandom(r, NULL));
    PetscCall(VecSet(all, 0));
    PetscCall(Component(dm, scalar, component, PETSC_FALSE, all, r));
    PetscCall(Correct(A, all, out));
    PetscCall(Component(dm, scalar, component, PETSC_TRUE, out, x));
    PetscCall(Correct(B, r, wanted));
    PetscCall(Compare("correction of closed cells", x, wanted, 1e-11));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&wanted));
    PetscCall(MatDestroy(&B));
    PetscCall(DMDestroy(&scalar));
  }
  PetscCall(VecDestroy(&all));
  PetscCall(VecDestroy(&out));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tests of solutions ---- */

/* u_c = (c + 1) sin(pi x) sin(pi y) ..., and the force that makes it */
static PetscErrorCode Displacement(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                                   PETSC_UNUSED void *ctx)
{
  PetscReal s = 1;

  for (PetscInt d = 0; d < dim; d++) s *= PetscSinReal(PETSC_PI * x[d]);
  for (PetscInt c = 0; c < n; c++) u[c] = (c + 1) * s;
  return PETSC_SUCCESS;
}

static void Force(RESIDUAL, PETSC_UNUSED PetscInt n, const PetscScalar constants[], PetscScalar f[])
{
  const PetscReal nu = PetscRealPart(constants[1]), mu = 0.5 / (1 + nu), lambda = 2 * mu * nu / (1 - 2 * nu), pi2 = PetscSqr(PETSC_PI);

  for (PetscInt c = 0; c < dim; c++) {
    f[c] = 0;
    for (PetscInt j = 0; j < dim; j++) {
      PetscReal s = 1, second = 1;

      for (PetscInt d = 0; d < dim; d++) {
        const PetscReal sine = PetscSinReal(PETSC_PI * x[d]), cosine = PetscCosReal(PETSC_PI * x[d]);

        s *= sine;
        second *= c == j ? (d == c ? -sine : sine) : (d == c || d == j ? cosine : sine);
      }
      f[c] += pi2 * (-mu * (c + 1) * s + (lambda + mu) * (j + 1) * second);
    }
  }
}

static PetscErrorCode TestConvergence(Case *c)
{
  PetscErrorCode (*exact[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Displacement};
  PetscReal error[2], iterations[2], rate;

  PetscFunctionBeginUser;
  for (int level = 0; level < 2; level++) {
    DM      dm, fine;
    Mat     A;
    Vec     x, b;
    PetscDS ds;

    PetscCall(CreateMesh(c, &dm));
    PetscCall(DMPlexSetRefinementUniform(dm, PETSC_TRUE));
    for (int i = 0; i < level; i++) {
      PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
      PetscCall(DMDestroy(&dm));
      dm = fine;
    }
    PetscCall(SetSpace(c, -1, dm));
    PetscCall(DMGetDS(dm, &ds));
    PetscCall(PetscDSSetResidual(ds, 0, Force, NULL));
    PetscCall(MatCreateElasticityPlex(dm, &A));
    PetscCall(MatElasticityPlexSetModuli(A, 1, c->ratio, DMBOX_PLANE_STRAIN, 0));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(GetLoad(dm, b));
    PetscCall(Solve(A, KSPCG, b, x, &iterations[level]));
    PetscCall(DMComputeL2Diff(dm, 0, exact, NULL, x, &error[level]));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  rate = PetscLog2Real(error[0] / error[1]);
  if (!(rate > c->degree + 0.7)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "errors %g and %g\n", (double)error[0], (double)error[1]));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "order %d, iterations %.0f, %.0f\n", (int)(rate + 0.5), (double)iterations[0], (double)iterations[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Ones(RESIDUAL, PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[], PetscScalar f[])
{
  for (PetscInt c = 0; c < dim; c++) f[c] = -1;
}

/* those of the NumPy reference on 4 x 4 cells, whose bound of eigenvalues takes 25 steps in place of ten */
static PetscErrorCode TestIterations(Case *c)
{
  static const struct {
    PetscReal bend, ratio, iterations[3]; /* of degrees 2 to 4 */
  } reference[] = {{0, 0.3, {5.30, 5.63, 5.57}},
                   {0, 0.45, {6.52, 9.26, 8.81}},
                   {0.3, 0.3, {5.54, 5.99, 5.85}},
                   {0.3, 0.45, {6.97, 10.54, 9.98}}};

  PetscFunctionBeginUser;
  c->dim   = 2;
  c->cells = 4;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(reference); i++) {
    for (c->degree = 2; c->degree <= 4; c->degree++) {
      const PetscReal wanted = reference[i].iterations[c->degree - 2];
      PetscReal       iterations;
      PetscDS         ds;
      DM              dm;
      Mat             A;
      Vec             x, b;

      c->bend  = reference[i].bend;
      c->ratio = reference[i].ratio;
      PetscCall(CreateSolid(c, &dm, &A));
      PetscCall(DMGetDS(dm, &ds));
      PetscCall(PetscDSSetResidual(ds, 0, Ones, NULL));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(GetLoad(dm, b));
      PetscCall(Solve(A, KSPFGMRES, b, x, &iterations));
      if (PetscAbsReal(iterations - wanted) > 0.6)
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bend %g, ratio %g, degree %" PetscInt_FMT ": %.2f iterations, not %.2f\n", (double)c->bend,
                              (double)c->ratio, c->degree, (double)iterations, (double)wanted));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&dm));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

CASE_TEST(Operator)
CASE_TEST(Tangent)
CASE_TEST(Cells)
CASE_TEST(Motions)
CASE_TEST(Corrections)
CASE_TEST(Convergence)
CASE_TEST(Iterations)

TEST_MAIN("operator", {"operator", RunOperator}, {"tangent", RunTangent}, {"cells", RunCells}, {"motions", RunMotions},
          {"corrections", RunCorrections}, {"convergence", RunConvergence}, {"iterations", RunIterations})

/*TEST

  testset:
    output_file: output/elasticityplex_ok.out

    test:
      suffix: operator
      nsize: {{1 3}}
      args: -test operator -turned -dim 2 -each_degree 1:3:8

    test:
      suffix: operator_3d
      nsize: {{1 2}}
      args: -test operator -turned -each_degree 1:2:4 -cells 2

    test:
      suffix: tangent
      nsize: {{1 2}}
      args: -test tangent -turned -each_dim 2:3 -each_degree 2:3 -cells 2

    test:
      suffix: cells
      nsize: {{1 2}}
      args: -test cells -each_dim 2:3 -mat_elasticity_young 3 -mat_elasticity_poisson_ratio 0.4 -mat_elasticity_plane stress
      args: -mat_elasticity_shift 2

    test:
      suffix: motions
      nsize: {{1 3}}
      args: -test motions -each_dim 2:3 -turned

    test:
      suffix: corrections
      nsize: {{1 2}}
      args: -test corrections -each_dim 2:3 -each_degree 1:3 -turned

    test:
      suffix: iterations
      nsize: {{1 3}}
      args: -test iterations -mg_coarse_assembled_pc_type redundant

    test:
      suffix: planes
      nsize: {{1 3}}
      args: -each_test operator:motions:corrections -each_planes 1:2 -dim 2 -degree 3 -turned

    test:
      suffix: planes_3d
      nsize: {{1 2}}
      args: -each_test operator:tangent:motions:corrections -each_planes 1:3 -degree 3 -cells 2 -turned

    test:
      suffix: planes_clamped
      nsize: {{1 2}}
      args: -each_test operator:motions:corrections -planes 2 -clamped 1 -each_dim 2:3 -turned

    test:
      suffix: pins
      nsize: {{1 3}}
      args: -each_test operator:motions -each_pins 2:3 -turned

    test:
      suffix: pins_clamped
      nsize: {{1 3}}
      args: -each_test operator:motions -pins 1 -each_dim 2:3 -each_degree 1:3 -each_edge 0:1 -cells 2 -turned

    test:
      suffix: cuda
      requires: cuda gpu
      args: -cuda -each_test operator:motions:corrections -each_dim 2:3 -each_degree 1:2:3:5 -cells 2 -turned

    test:
      suffix: planes_cuda
      requires: cuda gpu
      nsize: {{1 2}}
      args: -cuda -each_test operator:corrections -planes 2 -each_dim 2:3 -each_degree 2:5 -cells 2 -turned

    test:
      suffix: ranks_cuda
      requires: cuda gpu
      nsize: 2
      args: -cuda -each_test operator:motions -turned -cells 2

  testset:
    args: -test convergence -turned

    test:
      suffix: convergence
      nsize: {{1 3}}
      args: -dim 2 -degree 3

    test:
      suffix: convergence_3d
      nsize: {{1 2}}
      args: -cells 2

    test:
      suffix: convergence_single
      args: -dim 2 -degree 3 -pc_type single -ksp_type fcg
      output_file: output/elasticityplex_convergence.out

    test:
      suffix: convergence_cuda
      requires: cuda gpu
      args: -cuda -dim 2 -degree 3 -each_pc_type patchmg:single -ksp_type fcg
      output_file: output/elasticityplex_convergence.out

  test:
    suffix: rubber
    args: -test convergence -dim 2 -degree 4 -ratio 0.45

TEST*/
