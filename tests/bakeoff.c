static char
  help[] = "The bake-off problems on a DMPLEX: reference numbers, PETSc's own finite elements, vectors of elements, ranks and precisions.\n\
  -part <nodes,solve,eigenvalues,errors_l2,fem,periodic,vectors,options,errors>\n\
  -degrees <k,...>\n\
  -turn : cells are turned at random\n\n";

#include "catch.h"
#include <petscsnes.h>
#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include "bakeoffmesh.h"
#include "bend.h"

static void StiffnessJacobian(POINT, PetscReal shift, const PetscReal x[], PetscInt numConstants, const PetscScalar constants[],
                              PetscScalar g3[])
{
  const PetscInt nc = (PetscInt)constants[2];

  (void)shift, UNUSED;
  for (PetscInt c = 0; c < nc; c++)
    for (PetscInt d = 0; d < dim; d++) g3[((c * nc + c) * dim + d) * dim + d] = constants[1];
}

static void SinesLoad(POINT, const PetscReal x[], PetscInt numConstants, const PetscScalar constants[], PetscScalar f0[])
{
  UNUSED;
  f0[0] = -3 * PETSC_PI * PETSC_PI * PetscSinReal(PETSC_PI * x[0]) * PetscSinReal(PETSC_PI * x[1]) * PetscSinReal(PETSC_PI * x[2]);
}

static void WaveLoad(POINT, const PetscReal x[], PetscInt numConstants, const PetscScalar constants[], PetscScalar f0[])
{
  UNUSED;
  f0[0] = -PetscCosReal(2 * x[0] + 3 * x[1] + 5 * x[2]);
}

/* the load vector by the quadrature of the PetscFE */
static PetscErrorCode Load(DM dm, PetscBool wave, Vec *b)
{
  PetscDS ds;
  Vec     x, f;

  PetscFunctionBeginUser;
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetResidual(ds, 0, wave ? WaveLoad : SinesLoad, NULL));
  PetscCall(DMGetLocalVector(dm, &x));
  PetscCall(DMGetLocalVector(dm, &f));
  PetscCall(VecSet(x, 0));
  PetscCall(VecSet(f, 0));
  PetscCall(DMPlexSNESComputeResidualFEM(dm, x, f, NULL));
  PetscCall(DMCreateGlobalVector(dm, b));
  PetscCall(VecSet(*b, 0));
  PetscCall(DMLocalToGlobal(dm, f, ADD_VALUES, *b));
  PetscCall(VecScale(*b, -1));
  PetscCall(DMRestoreLocalVector(dm, &x));
  PetscCall(DMRestoreLocalVector(dm, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assemble(DM dm, const Mesh *m, PetscReal mass, PetscReal stiffness, Mat *J)
{
  const PetscScalar constants[3] = {mass, stiffness, (PetscScalar)m->ncomp};
  PetscDS           ds;
  Vec               x;

  PetscFunctionBeginUser;
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetConstants(ds, 3, (PetscScalar *)constants));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, MassJacobian, NULL, NULL, StiffnessJacobian));
  PetscCall(DMCreateMatrix(dm, J));
  PetscCall(DMGetLocalVector(dm, &x));
  PetscCall(VecSet(x, 0));
  PetscCall(DMPlexSNESComputeJacobianFEM(dm, x, *J, *J, NULL));
  PetscCall(MatAssemblyBegin(*J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*J, MAT_FINAL_ASSEMBLY));
  PetscCall(DMRestoreLocalVector(dm, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks ---- */

static PetscInt failures = 0;

static PetscErrorCode Check(const char *what, const char *problem, PetscInt degree, PetscReal found, PetscReal wanted, PetscReal tolerance)
{
  PetscFunctionBeginUser;
  if (PetscAbsReal(found - wanted) <= tolerance) PetscFunctionReturn(PETSC_SUCCESS); /* not for NaN */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, degree %" PetscInt_FMT ", %s: %.12g, not %.12g\n", problem, degree, what, (double)found,
                        (double)wanted));
  failures++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char *what, const char *problem, PetscInt degree, Vec found, Vec wanted, PetscReal tolerance)
{
  PetscReal norm, diff;
  Vec       d;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(wanted, NORM_2, &norm));
  PetscCall(VecDuplicate(wanted, &d));
  PetscCall(VecWAXPY(d, -1, wanted, found));
  PetscCall(VecNorm(d, NORM_2, &diff));
  PetscCall(VecDestroy(&d));
  if (norm == 0) PetscCall(Check("the norm", problem, degree, 0, 1, 0));
  PetscCall(Check(what, problem, degree, diff / norm, 0, tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MatBakeoffProblem scalar[3] = {MAT_BAKEOFF_BP1, MAT_BAKEOFF_BP3, MAT_BAKEOFF_BP5};

/* the vector of the layout for a global one, and back */
static PetscErrorCode ToLayout(Mat A, MatBakeoffLayout layout, Vec g, Vec *v)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, v, NULL));
  if (layout == MAT_BAKEOFF_LAYOUT_ELEMENT) PetscCall(MatBakeoffGlobalToElement(A, g, *v));
  else PetscCall(VecCopy(g, *v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToGlobal(Mat A, MatBakeoffLayout layout, Vec v, Vec g)
{
  PetscFunctionBeginUser;
  if (layout == MAT_BAKEOFF_LAYOUT_ELEMENT) PetscCall(MatBakeoffElementToGlobal(A, v, g));
  else PetscCall(VecCopy(v, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- |A x|, x.A x and a diagonal entry against reference numbers ---- */

static PetscErrorCode NodesOf(PetscInt degree, PetscBool turn, int i, MatBakeoffLayout layout)
{
  Mesh        m = {3, {2, 3, 4}, degree, 1, degree + 2, turn, (PetscBool)(i > 0), PETSC_FALSE, Sine}, all = m;
  const char *name = MatBakeoffProblems[scalar[i]];
  Vec         x, y, gx, gy, d, at;
  PetscReal   norm, dot, whole, inner, entry, tolerance;
  Mat         A;
  DM          dm, dmall;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(&m, 0, &dm));
  PetscCall(Interpolate(dm, Wave, &gx));
  PetscCall(VecNorm(gx, NORM_2, &inner));
  /* nodes of the boundary are not in these vectors: what they are in the reference comes from a mesh without conditions */
  all.dirichlet = PETSC_FALSE;
  PetscCall(MeshCreate(&all, 0, &dmall));
  PetscCall(Interpolate(dmall, Wave, &y));
  PetscCall(VecNorm(y, NORM_2, &whole));
  PetscCall(VecDestroy(&y));
  PetscCall(DMDestroy(&dmall));
  whole = whole * whole - inner * inner;

  PetscCall(MatCreateBakeoff(dm, scalar[i], layout, &A));
  PetscCall(ToLayout(A, layout, gx, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecDot(x, y, &dot));
  PetscCall(VecDuplicate(gx, &gy));
  PetscCall(ToGlobal(A, layout, y, gy));
  PetscCall(Check("|A x| of the global vector", name, degree, PetscSqrtReal(norm * norm + whole), nodenumbers[degree - 1][i][0],
                  5e-9 * nodenumbers[degree - 1][i][0]));
  PetscCall(Check("x.A x", name, degree, dot + whole, nodenumbers[degree - 1][i][1], 5e-9 * nodenumbers[degree - 1][i][1]));
  PetscCall(VecDot(gx, gy, &dot));
  PetscCall(
    Check("x.A x of global vectors", name, degree, dot + whole, nodenumbers[degree - 1][i][1], 5e-9 * nodenumbers[degree - 1][i][1]));

  PetscCall(VecDuplicate(x, &d));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(Interpolate(dm, AtVertex, &at));
  PetscCall(VecNorm(at, NORM_1, &entry));
  PetscCall(Check("number of such vertices", name, degree, entry, 1, 0));
  PetscCall(VecDestroy(&y));
  PetscCall(ToLayout(A, layout, at, &y));
  PetscCall(VecPointwiseMult(d, d, y));
  PetscCall(VecDot(d, y, &entry));
  tolerance = 5e-8 * nodenumbers[degree - 1][i][2];
  PetscCall(Check("a diagonal entry", name, degree, entry, nodenumbers[degree - 1][i][2], tolerance));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&gx));
  PetscCall(VecDestroy(&gy));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&at));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- conjugate gradients ---- */

static PetscErrorCode Solve(Mat A, PCType type, PetscReal rtol, Vec b, Vec x, PetscInt *its, PetscReal *condition)
{
  KSP       ksp;
  PC        pc;
  PetscReal max, min;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  if (condition) PetscCall(KSPSetComputeSingularValues(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (condition) {
    PetscCall(KSPComputeExtremeSingularValues(ksp, &max, &min));
    *condition = max / min;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* problem 0 to 3: BP1, BP3, BP5 with Dirichlet conditions but for BP1, and BP5 with lambda = 1 without */
static PetscErrorCode SolveOf(const Mesh *mesh, int i, MatBakeoffLayout layout, const PetscInt wanted[2][2], const PetscReal *kappa)
{
  const char *name = i == 3 ? "bp5, lambda 1" : MatBakeoffProblems[scalar[i]];
  Mesh        m    = *mesh;
  DM          dm;
  Mat         A;

  PetscFunctionBeginUser;
  m.dirichlet = (PetscBool)(i == 1 || i == 2);
  m.points    = i < 2 ? m.degree + 2 : 0;
  PetscCall(MeshCreate(&m, 0, &dm));
  PetscCall(MatCreateBakeoff(dm, scalar[PetscMin(i, 2)], layout, &A));
  if (i == 3) PetscCall(MatBakeoffSetLambda(A, 1));
  for (int rhs = 0; rhs < 2; rhs++) {
    Vec       g, b, x;
    PetscInt  its;
    PetscReal found = 0;

    if (rhs) {
      PetscCall(DMCreateGlobalVector(dm, &g));
      PetscCall(VecSet(g, 1));
    } else PetscCall(Load(dm, (PetscBool)!m.dirichlet, &g));
    PetscCall(ToLayout(A, layout, g, &b));
    PetscCall(VecDuplicate(b, &x));
    for (int jacobi = 0; jacobi < 2; jacobi++) {
      const PetscInt want = wanted[rhs][jacobi];

      PetscCall(Solve(A, jacobi ? PCJACOBI : PCNONE, 1e-8, b, x, &its, NULL));
      PetscCall(
        Check(rhs ? (jacobi ? "iterations, ones, Jacobi" : "iterations, ones") : (jacobi ? "iterations, load, Jacobi" : "iterations, load"),
              name, m.degree, its, want, want < 100 ? 1 : 0.02 * want));
    }
    if (rhs && kappa) {
      PetscCall(Solve(A, PCJACOBI, 1e-13, b, x, &its, &found));
      PetscCall(Check("condition number", name, m.degree, found, *kappa, (i ? 6e-4 : 4e-3) * *kappa));
    }
    PetscCall(VecDestroy(&g));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* problem 1 or 2, BP3 or BP5: inverse iteration from the interpolant of the eigenfunction; the mass matrix is what lambda = 1 adds */
static PetscErrorCode EigenvalueOf(PetscInt degree, int i, MatBakeoffLayout layout)
{
  const Mesh      m      = {3, {2, 2, 2}, degree, 1, 0, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, NULL};
  const PetscReal wanted = eigenvalue[i - 1][degree - 1];
  DM              dm;
  Mat             S, T;
  Vec             g, v, Sv, Mv;
  PetscReal       vSv = 0, vMv = 1, norm;
  PetscInt        its;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(&m, 0, &dm));
  PetscCall(MatCreateBakeoff(dm, scalar[i], layout, &S));
  PetscCall(MatCreateBakeoff(dm, scalar[i], layout, &T));
  PetscCall(MatBakeoffSetLambda(T, 1));
  PetscCall(Interpolate(dm, Sines, &g));
  PetscCall(ToLayout(S, layout, g, &v));
  PetscCall(VecDuplicate(v, &Sv));
  PetscCall(VecDuplicate(v, &Mv));
  for (int step = 0; step < 30; step++) {
    PetscCall(MatMult(S, v, Sv));
    PetscCall(MatMult(T, v, Mv));
    PetscCall(VecAXPY(Mv, -1, Sv));
    PetscCall(VecDot(v, Sv, &vSv));
    PetscCall(VecDot(v, Mv, &vMv));
    PetscCall(Solve(S, PCJACOBI, 1e-13, Mv, v, &its, NULL));
    PetscCall(VecNormalize(v, &norm));
  }
  PetscCall(Check("smallest eigenvalue", MatBakeoffProblems[scalar[i]], degree, vSv / vMv / (3 * PETSC_PI * PETSC_PI) - 1, wanted,
                  6e-7 * PetscAbsReal(wanted) + 1e-12));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&Sv));
  PetscCall(VecDestroy(&Mv));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&T));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* errors of solutions on two meshes */
static PetscErrorCode ErrorsOf(PetscInt degree, int i)
{
  PetscFunctionBeginUser;
  for (int level = 0; level < 2; level++) {
    Mesh            m        = {3, {2, 2, 2}, degree, 1, i < 2 ? degree + 2 : 0, PETSC_FALSE, (PetscBool)(i > 0), PETSC_FALSE, Sine};
    Function        exact[1] = {i ? Sines : Wave};
    PetscReal       want     = errors[degree - 1][i][level], error;
    PetscInt        its, refine = level;
    PetscQuadrature q;
    PetscObject     fe;
    Vec             load, b, x;
    Mat             A;
    DM              dm;

    for (PetscInt n = errorcells[degree - 1]; n > 2; n /= 2) refine++;
    PetscCall(MeshCreate(&m, refine, &dm));
    PetscCall(MatCreateBakeoff(dm, scalar[i], MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
    PetscCall(MatSetFromOptions(A));
    PetscCall(Load(dm, (PetscBool)(i == 0), &load));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecCopy(load, b));
    PetscCall(VecDestroy(&load));
    PetscCall(Solve(A, PCJACOBI, 1e-13, b, x, &its, NULL));
    PetscCall(DMGetField(dm, 0, NULL, &fe));
    PetscCall(PetscDTGaussTensorQuadrature(3, 1, degree + 4, -1, 1, &q));
    PetscCall(PetscFESetQuadrature((PetscFE)fe, q));
    PetscCall(PetscQuadratureDestroy(&q));
    PetscCall(DMComputeL2Diff(dm, 0, exact, NULL, x, &error));
    PetscCall(Check(level ? "error, fine mesh" : "error", MatBakeoffProblems[scalar[i]], degree, error, want, 1e-3 * want));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- against PETSc's finite elements ---- */

static PetscErrorCode CompareFEM(DM dm, const Mesh *m, MatBakeoffProblem problem, PetscReal lambda, MatBakeoffFactorsType factors)
{
  const PetscBool mass = (PetscBool)(problem <= MAT_BAKEOFF_BP2);
  const char     *name = MatBakeoffProblems[problem];
  Vec             x, y, z, e, f;
  Mat             A, B, C;

  PetscFunctionBeginUser;
  PetscCall(Assemble(dm, m, mass ? 1 : lambda, mass ? 0 : 1, &B));
  PetscCall(MatCreateBakeoff(dm, problem, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  if (!mass) PetscCall(MatBakeoffSetLambda(A, lambda));
  PetscCall(MatBakeoffSetFactors(A, factors));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(B, x, z));
  PetscCall(MatMult(A, x, y));
  PetscCall(Compare("product", name, m->degree, y, z, 1e-12));
  PetscCall(MatMult(C, x, y));
  PetscCall(Compare("product with the assembled matrix", name, m->degree, y, z, 1e-12));
  PetscCall(MatGetDiagonal(B, z));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(Compare("diagonal", name, m->degree, y, z, 1e-12));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&A));

  /* vectors of elements */
  PetscCall(MatMult(B, x, z));
  PetscCall(MatCreateBakeoff(dm, problem, MAT_BAKEOFF_LAYOUT_ELEMENT, &A));
  if (!mass) PetscCall(MatBakeoffSetLambda(A, lambda));
  PetscCall(MatBakeoffSetFactors(A, factors));
  PetscCall(MatCreateVecs(A, &e, &f));
  PetscCall(MatBakeoffGlobalToElement(A, x, e));
  PetscCall(MatMult(A, e, f));
  PetscCall(MatBakeoffElementToGlobal(A, f, y));
  PetscCall(Compare("product on elements", name, m->degree, y, z, 1e-12));
  PetscCall(MatBakeoffGlobalToElement(A, z, e));
  PetscCall(Compare("numbers of elements", name, m->degree, f, e, 1e-12));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&e));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FEM(PetscInt dim, PetscInt degree, PetscInt bend)
{
  PetscFunctionBeginUser;
  for (MatBakeoffProblem problem = MAT_BAKEOFF_BP1; problem <= MAT_BAKEOFF_BP6; problem++) {
    const PetscBool vector = (PetscBool)(problem == MAT_BAKEOFF_BP2 || problem == MAT_BAKEOFF_BP4 || problem == MAT_BAKEOFF_BP6);
    const PetscInt  few    = vector || bend > 1; /* PETSc's assembly takes most of the time */
    const Mesh      m      = {dim,
                              {3 - few, 2, 2 - few},
                              degree,
                    vector ? dim : 1,
                    problem < MAT_BAKEOFF_BP5 ? degree + 2 : 0,
                              PETSC_TRUE,
                              (PetscBool)(problem % 3 != 1 && few * degree != 1),
                              PETSC_FALSE,
                    bend > 1 ? NULL : Sine};
    DM              dm;

    PetscCall(MeshCreate(&m, 0, &dm));
    if (bend > 1) PetscCall(Bend(dm, dim, bend, Sine));
    PetscCall(CompareFEM(dm, &m, problem, 0, MAT_BAKEOFF_FACTORS_AUTO));
    if (problem > MAT_BAKEOFF_BP2) PetscCall(CompareFEM(dm, &m, problem, 3.5, MAT_BAKEOFF_FACTORS_STORED));
    if (bend == 1 && !vector) PetscCall(CompareFEM(dm, &m, problem, 0, MAT_BAKEOFF_FACTORS_COMPUTED));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a periodic box, straight, with coordinates of its own in each cell */
static PetscErrorCode Periodic(PetscInt dim, PetscInt degree)
{
  const PetscInt       cells[3] = {3, 4, 3};
  const PetscReal      lower[3] = {0, 0, 0}, upper[3] = {1, 2, 3};
  const DMBoundaryType type[3] = {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC};

  PetscFunctionBeginUser;
  for (MatBakeoffProblem problem = MAT_BAKEOFF_BP1; problem <= MAT_BAKEOFF_BP5; problem += 2) {
    const Mesh m = {dim, {3, 4, 3}, degree, 1, problem < MAT_BAKEOFF_BP5 ? degree + 2 : 0, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, NULL};
    DM         dm, other;

    PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, dim, PETSC_FALSE, cells, lower, upper, type, PETSC_TRUE, 0, PETSC_FALSE, &dm));
    PetscCall(DMPlexDistribute(dm, 0, NULL, &other));
    if (other) {
      PetscCall(DMDestroy(&dm));
      dm = other;
    }
    PetscCall(DMSetFromOptions(dm));
    PetscCall(SpaceCreate(dm, &m));
    PetscCall(CompareFEM(dm, &m, problem, 0, MAT_BAKEOFF_FACTORS_AUTO));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* single precision: the product, the diagonal, and a solve with PCSINGLE inside; x becomes the solution */
static PetscErrorCode SingleVectors(Mat A, const char name[], PetscInt degree, Vec b, Vec x)
{
  Vec       single, result, y, z;
  PetscReal found[2];
  PetscInt  its[2], n;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &result));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &single));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecSetSizes(single, n, PETSC_DETERMINE));
  PetscCall(VecSetType(single, VECSINGLE));
  PetscCall(VecDuplicate(single, &z));
  PetscCall(VecSingleConvert(x, 1, single));
  PetscCall(MatMult(A, single, z));
  PetscCall(VecSingleConvert(z, 1, result));
  PetscCall(Compare("product in single precision", name, degree, result, y, 3e-6));
  PetscCall(MatGetDiagonal(A, z));
  PetscCall(VecSingleConvert(z, 1, result));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(Compare("diagonal in single precision", name, degree, result, y, 1e-6));
  PetscCall(Solve(A, PCJACOBI, 1e-10, b, x, &its[0], NULL));
  PetscCall(MatResidual(A, b, x, y));
  PetscCall(VecNorm(y, NORM_2, &found[0]));
  PetscCall(VecNorm(b, NORM_2, &found[1]));
  PetscCall(Check("residual after a solve", name, degree, found[0] / found[1], 0, 1.1e-10));
  PetscCall(Solve(A, PCJACOBI, 1e-4, b, x, &its[0], NULL));
  PetscCall(PetscOptionsSetValue(NULL, "-single_pc_type", PCJACOBI));
  PetscCall(Solve(A, PCSINGLE, 1e-4, b, x, &its[1], NULL));
  PetscCall(Check("iterations with PCSINGLE of Jacobi", name, degree, its[1], its[0], 1));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&single));
  PetscCall(VecDestroy(&result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- operations, precisions, options ---- */

static PetscErrorCode Vectors(PetscInt degree, PetscBool turn, MatBakeoffProblem problem, MatBakeoffLayout layout)
{
  const PetscBool vector = (PetscBool)(problem == MAT_BAKEOFF_BP2 || problem == MAT_BAKEOFF_BP4 || problem == MAT_BAKEOFF_BP6);
  const Mesh      m      = {3, {2, 3, 4}, degree, vector ? 3 : 1, degree + 2, turn, PETSC_TRUE, PETSC_FALSE, Sine};
  const char     *name   = MatBakeoffProblems[problem];
  Vec             g, b, x, y, z, result, own[2];
  PetscReal       found[2];
  PetscBool       symmetric;
  Mat             A;
  DM              dm;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(&m, 0, &dm));
  PetscCall(MatCreateBakeoff(dm, problem, layout, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(Interpolate(dm, Wave, &g));
  PetscCall(ToLayout(A, layout, g, &x));
  PetscCall(VecNorm(g, NORM_2, &found[0]));
  PetscCall(VecNorm(x, NORM_2, &found[1]));
  PetscCall(Check("norm", name, degree, found[1], found[0], 1e-13 * found[0]));
  PetscCall(VecSetRandom(g, NULL));
  PetscCall(ToLayout(A, layout, g, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(MatMult(A, x, y));

  /* b + A x and b - A x, out of place and in place */
  PetscCall(VecWAXPY(z, 1, b, y));
  PetscCall(VecDuplicate(x, &result));
  PetscCall(MatMultAdd(A, x, b, result));
  PetscCall(Compare("MatMultAdd()", name, degree, result, z, 1e-13));
  PetscCall(VecCopy(b, result));
  PetscCall(MatMultAdd(A, x, result, result));
  PetscCall(Compare("MatMultAdd() in place", name, degree, result, z, 1e-13));
  PetscCall(VecWAXPY(z, -1, y, b));
  PetscCall(MatResidual(A, b, x, result));
  PetscCall(Compare("MatResidual()", name, degree, result, z, 1e-13));
  PetscCall(MatMultTranspose(A, x, z));
  PetscCall(Compare("MatMultTranspose()", name, degree, z, y, 1e-14));
  PetscCall(MatIsSymmetric(A, 0, &symmetric));
  PetscCall(Check("is symmetric", name, degree, symmetric, 1, 0));

  /* vectors of the matrix have a VecAYPX() of their own where they are in GPU memory, and so have their duplicates */
  PetscCall(VecCopy(x, z));
  PetscCall(VecAXPY(z, 0.3, b));
  PetscCall(MatCreateVecs(A, &own[0], NULL));
  PetscCall(VecDuplicate(own[0], &own[1]));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecCopy(b, own[i]));
    PetscCall(VecAYPX(own[i], 0.3, x));
    PetscCall(Compare("VecAYPX()", name, degree, own[i], z, 1e-15));
    PetscCall(VecDestroy(&own[i]));
  }

  PetscCall(SingleVectors(A, name, degree, b, x));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&result));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* without conditions and lambda: the constants of each component on each body are the null space, and a compatible problem is solved */
static PetscErrorCode NullSpace(PetscInt degree, MatBakeoffProblem problem, MatBakeoffLayout layout, PetscBool two)
{
  const Mesh   m    = {3,           {two ? 3 : 2, 3, 2}, degree, problem == MAT_BAKEOFF_BP4 ? 3 : 1, degree + 2, PETSC_TRUE, PETSC_FALSE,
                       PETSC_FALSE, two ? Split : Sine};
  const char  *name = MatBakeoffProblems[problem];
  MatNullSpace null;
  PetscBool    is, known, spd;
  PetscInt     its, n;
  Vec          b, x, y, g;
  Mat          A;
  DM           dm;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(&m, 0, &dm));
  PetscCall(MatCreateBakeoff(dm, problem, layout, &A));
  PetscCall(MatGetNullSpace(A, &null));
  PetscCall(MatNullSpaceGetVecs(null, NULL, &n, NULL));
  PetscCall(Check("dimension of the null space", name, degree, (PetscReal)n, (PetscReal)(two ? 2 * m.ncomp : m.ncomp), 0));
  PetscCall(MatNullSpaceTest(null, A, &is));
  PetscCall(Check("null space", name, degree, is, 1, 0));
  PetscCall(Interpolate(dm, Wave, &g));
  PetscCall(ToLayout(A, layout, g, &y));
  PetscCall(VecDuplicate(y, &b));
  PetscCall(VecDuplicate(y, &x));
  PetscCall(MatMult(A, y, b));
  PetscCall(Solve(A, PCJACOBI, 1e-12, b, x, &its, NULL));
  PetscCall(MatNullSpaceRemove(null, x));
  PetscCall(MatNullSpaceRemove(null, y));
  PetscCall(Compare("solution", name, degree, x, y, 1e-9));
  PetscCall(MatBakeoffSetLambda(A, 1));
  PetscCall(MatGetNullSpace(A, &null));
  PetscCall(Check("no null space with lambda", name, degree, null == NULL, 1, 0));
  PetscCall(MatIsSPDKnown(A, &known, &spd));
  PetscCall(Check("definite with lambda", name, degree, layout == MAT_BAKEOFF_LAYOUT_ELEMENT || (known && spd), 1, 0));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* options do what setters do; views */
static PetscErrorCode Options(void)
{
  const Mesh            m = {3, {2, 1, 3}, 3, 1, 5, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, Sine};
  MatBakeoffFactorsType factors;
  PatchFDHaloType       halo;
  PetscReal             lambda;
  Vec                   x, y, z;
  Mat                   A, B;
  DM                    dm;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(&m, 0, &dm));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP3, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP3, MAT_BAKEOFF_LAYOUT_ELEMENT, &B));
  PetscCall(MatDestroy(&B));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP3, MAT_BAKEOFF_LAYOUT_GLOBAL, &B));
  PetscCall(PetscOptionsSetValue(NULL, "-other_mat_bakeoff_lambda", "2.5"));
  PetscCall(PetscOptionsSetValue(NULL, "-other_mat_bakeoff_factors", "stored"));
  PetscCall(PetscOptionsSetValue(NULL, "-other_mat_bakeoff_halo", "host"));
  PetscCall(MatSetOptionsPrefix(B, "other_"));
  PetscCall(MatSetFromOptions(B));
  PetscCall(MatBakeoffGetLambda(B, &lambda));
  PetscCall(MatBakeoffGetFactors(B, &factors));
  PetscCall(MatBakeoffGetHaloType(B, &halo));
  PetscCall(Check("-mat_bakeoff_lambda", "bp3", 3, lambda, 2.5, 0));
  PetscCall(Check("-mat_bakeoff_factors", "bp3", 3, factors, MAT_BAKEOFF_FACTORS_STORED, 0));
  PetscCall(Check("-mat_bakeoff_halo", "bp3", 3, halo, PATCHFD_HALO_HOST, 0));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(B, x, z));
  PetscCall(MatMult(A, x, y)); /* without lambda before, so that it is seen that products change */
  PetscCall(MatBakeoffSetLambda(A, 2.5));
  PetscCall(MatMult(A, x, y));
  PetscCall(Compare("lambda set after a product", "bp3", 3, y, z, 1e-13));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatView(B, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is refused ---- */

static PetscErrorCode Message(PetscErrorCode ierr, const char *message)
{
  PetscFunctionBeginUser;
  if (!ierr || !strstr(lastmessage, message)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\"%s\" in place of \"%s\"\n", lastmessage, message));
    failures++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refuse(const Mesh *m, MatBakeoffProblem problem, const char *message)
{
  PetscErrorCode ierr;
  DM             dm;
  Mat            A = NULL;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(m, 0, &dm));
  CATCH(ierr, MatCreateBakeoff(dm, problem, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(Message(ierr, message));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void TurnOver(PETSC_UNUSED PetscInt dim, PetscReal x[])
{
  x[0] = -x[0];
}

static void Fold(PETSC_UNUSED PetscInt dim, PetscReal x[])
{
  if (x[0] > 0.9 && x[1] > 0.9) x[0] = x[1] = -1;
}

static PetscErrorCode Errors(void)
{
  const Mesh     good = {3, {2, 2, 2}, 2, 1, 4, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, NULL};
  Mesh           m;
  PetscErrorCode ierr;
  DM             dm, box;
  Mat            A, M, E;
  Vec            x, y;

  PetscFunctionBeginUser;
#define REFUSE(change, problem, message) \
  do { \
    m = good; \
    change; \
    PetscCall(Refuse(&m, problem, message)); \
  } while (0)
  REFUSE((m.dim = 2, m.degree = 16), MAT_BAKEOFF_BP3, "degree 16; it has to be 1 to 15");
  REFUSE(m.degree = 0, MAT_BAKEOFF_BP3, "is discontinuous");
  REFUSE(m.ncomp = 2, MAT_BAKEOFF_BP3, "2 components; bp3 has 1");
  REFUSE(m.ncomp = 2, MAT_BAKEOFF_BP4, "2 components; bp4 has 3");
  REFUSE(m.simplex = PETSC_TRUE, MAT_BAKEOFF_BP3, "is for simplices");
  REFUSE(m.move = TurnOver, MAT_BAKEOFF_BP1, "Cell 0 is inverted");
  REFUSE(m.move = Fold, MAT_BAKEOFF_BP5, "Cell 3 is inverted");
  REFUSE((void)m, (MatBakeoffProblem)6, "Bake-off problem 6");
#undef REFUSE

  PetscCall(DMPlexCreateReferenceCell(PETSC_COMM_SELF, DM_POLYTOPE_TETRAHEDRON, &dm));
  CATCH(ierr, MatCreateBakeoff(dm, MAT_BAKEOFF_BP1, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(Message(ierr, "has 0 fields"));
  PetscCall(SpaceCreate(dm, &good));
  CATCH(ierr, MatCreateBakeoff(dm, MAT_BAKEOFF_BP1, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(Message(ierr, "Cell 0 of the DMPLEX is a tetrahedron"));
  PetscCall(DMDestroy(&dm));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, good.n, 2, &box));
  CATCH(ierr, MatCreateBakeoff(box, MAT_BAKEOFF_BP1, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(Message(ierr, "type box; it has to be a DMPLEX"));
  PetscCall(DMDestroy(&box));

  PetscCall(MeshCreate(&good, 0, &dm));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP3, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP1, MAT_BAKEOFF_LAYOUT_GLOBAL, &M));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP3, MAT_BAKEOFF_LAYOUT_ELEMENT, &E));
  CATCH(ierr, MatBakeoffSetLambda(A, -1));
  PetscCall(Message(ierr, "-mat_bakeoff_lambda must be 0 or more, found -1"));
  CATCH(ierr, MatBakeoffSetLambda(A, NAN));
  PetscCall(Message(ierr, "-mat_bakeoff_lambda must be 0 or more"));
  CATCH(ierr, MatBakeoffSetLambda(M, 1));
  PetscCall(Message(ierr, "for the problems bp3 to bp6; this one is bp1"));
  CATCH(ierr, MatScale(A, 2));
  PetscCall(Message(ierr, "scale"));
  PetscCall(MatCreateVecs(A, &x, &y));
  CATCH(ierr, MatBakeoffGlobalToElement(A, x, y));
  PetscCall(Message(ierr, "has the layout global"));
  CATCH(ierr, MatBakeoffGlobalToElement(E, x, y));
  PetscCall(Message(ierr, "local sizes 125 and 125; a global one has 125, one of elements 216"));
  CATCH(ierr, MatConvert(E, MATAIJ, MAT_INITIAL_MATRIX, &M));
  PetscCall(Message(ierr, "Only in the layout global"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&E));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, 1, 1, PETSC_DETERMINE, PETSC_DETERMINE, NULL, &A));
  CATCH(ierr, MatBakeoffSetLambda(A, 1));
  PetscCall(Message(ierr, "was not made by MatCreateBakeoff()"));
  PetscCall(MatDestroy(&A));
  PetscCall(Bend(dm, 3, 2, Sine));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP3, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  CATCH(ierr, MatBakeoffSetFactors(A, MAT_BAKEOFF_FACTORS_COMPUTED));
  PetscCall(Message(ierr, "needs coordinates of degree 1; those of the DMPLEX have degree 2"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      part[32]    = "nodes";
  PetscInt  degrees[15] = {1, 2, 3, 4}, ndegree = 15;
  PetscBool turn = PETSC_FALSE, set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-turn", &turn, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &ndegree, &set));
  if (!set) ndegree = 4;
  for (PetscInt d = 0; d < ndegree; d++) {
    for (MatBakeoffLayout layout = MAT_BAKEOFF_LAYOUT_GLOBAL; layout <= MAT_BAKEOFF_LAYOUT_ELEMENT; layout++) {
      if (!strcmp(part, "nodes")) {
        for (int i = 0; i < 3; i++) PetscCall(NodesOf(degrees[d], turn, i, layout));
      } else if (!strcmp(part, "solve")) {
        const Mesh sine    = {3, {4, 4, 4}, degrees[d], 1, 0, turn, PETSC_FALSE, PETSC_FALSE, Sine},
                   kershaw = {3, {6, 6, 6}, degrees[d], 1, 0, turn, PETSC_FALSE, PETSC_FALSE, Kershaw};

        for (int i = 0; i < 4; i++)
          PetscCall(SolveOf(&sine, i, layout, iterations[degrees[d] - 1][i], i < 3 ? &condition[i][degrees[d] - 1] : NULL));
        for (int i = 0; i < 3; i++)
          for (int k = 0; k < 4; k++)
            if (kershawdegrees[k] == degrees[d] && layout == MAT_BAKEOFF_LAYOUT_GLOBAL)
              PetscCall(SolveOf(&kershaw, i, layout, kershawiterations[k][i], NULL));
      } else if (!strcmp(part, "eigenvalues")) {
        for (int i = 1; i < 3; i++) PetscCall(EigenvalueOf(degrees[d], i, layout));
      } else if (!strcmp(part, "errors_l2") && layout == MAT_BAKEOFF_LAYOUT_GLOBAL) {
        for (int i = 0; i < 3; i++) PetscCall(ErrorsOf(degrees[d], i));
      } else if (!strcmp(part, "vectors")) {
        for (MatBakeoffProblem p = MAT_BAKEOFF_BP1; p <= MAT_BAKEOFF_BP6; p++) PetscCall(Vectors(degrees[d], turn, p, layout));
        for (MatBakeoffProblem p = MAT_BAKEOFF_BP3; p <= MAT_BAKEOFF_BP5; p++)
          PetscCall(NullSpace(degrees[d], p, layout, p == MAT_BAKEOFF_BP4));
        PetscCall(NullSpace(degrees[d], MAT_BAKEOFF_BP3, layout, PETSC_TRUE));
      } else if (!strcmp(part, "fem") && layout == MAT_BAKEOFF_LAYOUT_GLOBAL) {
        for (PetscInt dim = 2; dim <= 3; dim++)
          for (PetscInt bend = 1; bend <= 3; bend++) PetscCall(FEM(dim, degrees[d], bend));
      } else if (!strcmp(part, "periodic") && layout == MAT_BAKEOFF_LAYOUT_GLOBAL) {
        for (PetscInt dim = 2; dim <= 3; dim++) PetscCall(Periodic(dim, degrees[d]));
      }
    }
  }
  if (!strcmp(part, "options")) PetscCall(Options());
  if (!strcmp(part, "errors")) PetscCall(Errors());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, failures ? "%" PetscInt_FMT " failures\n" : "ok\n", failures));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/ok.out
    args: -petscpartitioner_type simple
    test:
      suffix: nodes
      args: -degrees 1,2,3,5
    test:
      suffix: nodes_turned
      args: -degrees 1,2,4,8 -turn
    test:
      suffix: nodes_ranks
      nsize: {{2 3 4 8}}
      args: -degrees 2,3 -turn
    test:
      suffix: nodes_overlap
      nsize: 3
      args: -degrees 3 -turn -overlap 1
    test:
      suffix: nodes_parmetis
      requires: parmetis
      nsize: 4
      args: -degrees 3 -turn -petscpartitioner_type parmetis
    test:
      suffix: solve
      args: -part solve -degrees 1,2
    test:
      suffix: solve_ranks
      nsize: 4
      args: -part solve -degrees 3 -turn
    test:
      suffix: cuda
      requires: cuda gpu
      nsize: {{1 2}}
      args: -degrees 1,2,4,8 -turn -dm_vec_type cuda
    test:
      suffix: cuda_solve
      requires: cuda gpu
      args: -part solve -degrees 3 -dm_vec_type cuda
    # ranks that share a GPU, too
    test:
      suffix: cuda_fusedcg
      requires: cuda gpu
      nsize: {{1 2}}
      args: -part errors_l2 -degrees 3 -dm_vec_type cuda -ksp_type fusedcg -ksp_fusedcg_sweep {{0 1}} -mat_bakeoff_halo {{host peer}}
    test:
      suffix: eigenvalues
      nsize: {{1 2}}
      args: -part eigenvalues
    test:
      suffix: vectors_halo
      nsize: 2
      args: -part vectors -degrees 2 -turn -mat_bakeoff_halo host
    test:
      suffix: errors_l2
      args: -part errors_l2 -degrees 3,4
    test:
      suffix: fem
      args: -part fem -degrees 1,2
    test:
      suffix: fem_ranks
      nsize: 3
      args: -part fem -degrees 1
    test:
      suffix: periodic
      nsize: {{1 2}}
      args: -part periodic -degrees 3
    test:
      suffix: vectors
      nsize: {{1 3}}
      args: -part vectors -degrees 2 -turn
    test:
      suffix: cuda_vectors
      requires: cuda gpu
      nsize: {{1 2}}
      args: -part vectors -degrees 2 -turn -dm_vec_type cuda
    test:
      suffix: errors
      args: -part errors -malloc_dump 0

  test:
    suffix: options
    args: -part options

TEST*/
