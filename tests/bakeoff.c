static char help[] = "The bake-off problems on a DMPLEX: reference numbers, PETSc's own finite elements, vectors of elements, ranks and precisions.\n\
  -part <nodes,solve,errors_l2,fem,vectors,options,errors>\n\
  -degrees <k,...>\n\
  -turn : cells are turned at random\n\n";

#include "catch.h"
#include "ceed.h"
#include <petscdmplex.h>
#include <petscfe.h>
#include <petscds.h>
#include <petscsnes.h>
#include <petscpatchfd.h>

/* ---- meshes ---- */

typedef struct {
  PetscInt dim, n[3], degree, ncomp;
  PetscInt points; /* of the PetscFE's quadrature: Gauss points in a direction; 0: the Gauss-Lobatto points that are the nodes */
  PetscBool turn, dirichlet, simplex;
  void (*move)(PetscInt dim, PetscReal x[]);
} Mesh;

/* the corner, with its coordinates as bits, that corner i of a turned cell is: quarter turns around z, x and z once more.  64 turns are all 24 of a cube, the first 4 those of a square */
static PetscInt Turn(PetscInt turn, PetscInt corner)
{
  PetscInt bit[3] = {corner & 1, corner >> 1 & 1, corner >> 2 & 1};

  for (int step = 0; turn; turn /= 4, step++) {
    PetscInt *x = bit + step % 2;

    for (PetscInt quarter = turn % 4; quarter; quarter--) {
      const PetscInt keep = x[0];

      x[0] = 1 - x[1];
      x[1] = keep;
    }
  }
  return bit[0] + 2 * bit[1] + 4 * bit[2];
}

static PetscErrorCode QuadratureCreate(PetscInt dim, PetscInt degree, PetscInt points, PetscQuadrature *q)
{
  PetscReal *x1, *w1, *x, *w;
  PetscInt   n = degree + 1, all = dim == 3 ? n * n * n : n * n;

  PetscFunctionBeginUser;
  if (points) {
    PetscCall(PetscDTGaussTensorQuadrature(dim, 1, points, -1, 1, q));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc2(n, &x1, n, &w1));
  PetscCall(PetscMalloc1(all * dim, &x));
  PetscCall(PetscMalloc1(all, &w));
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(n, PETSCGAUSSLOBATTOLEGENDRE_VIA_NEWTON, x1, w1));
  for (PetscInt i = 0; i < all; i++) {
    const PetscInt at[3] = {i % n, i / n % n, i / n / n};

    w[i] = 1;
    for (int d = 0; d < dim; d++) {
      x[i * dim + d] = x1[at[d]];
      w[i] *= w1[at[d]];
    }
  }
  PetscCall(PetscFree2(x1, w1));
  PetscCall(PetscQuadratureCreate(PETSC_COMM_SELF, q));
  PetscCall(PetscQuadratureSetOrder(*q, 2 * degree - 1));
  PetscCall(PetscQuadratureSetData(*q, dim, 1, all, x, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Zero(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, PETSC_UNUSED const PetscReal x[], PetscInt Nc, PetscScalar *u, PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < Nc; c++) u[c] = 0;
  return PETSC_SUCCESS;
}

static PetscErrorCode SpaceCreate(DM dm, const Mesh *m)
{
  PetscFE         fe;
  PetscQuadrature q;

  PetscFunctionBeginUser;
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, m->dim, m->ncomp, m->simplex, m->degree, m->degree + 1, &fe));
  if (!m->simplex) {
    PetscCall(QuadratureCreate(m->dim, m->degree, m->points, &q));
    PetscCall(PetscFESetQuadrature(fe, q));
    PetscCall(PetscQuadratureDestroy(&q));
  }
  PetscCall(DMSetField(dm, 0, NULL, (PetscObject)fe));
  PetscCall(DMCreateDS(dm));
  if (m->dirichlet) {
    const PetscInt id = 1;
    DMLabel        label;

    PetscCall(DMGetLabel(dm, "wall", &label));
    PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, "wall", label, 1, &id, 0, 0, NULL, (PetscVoidFn *)Zero, NULL, NULL, NULL));
  }
  PetscCall(PetscFEDestroy(&fe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the cells and vertices of a box, on rank 0 */
static PetscErrorCode BoxCreate(const Mesh *m, DM *dm)
{
  static const PetscInt quad[4] = {0, 1, 3, 2}, hex[8] = {0, 2, 3, 1, 4, 5, 7, 6}; /* the corners of PETSc's cells, x fastest in each */
  const PetscInt        n[3] = {m->n[0], m->n[1], m->dim == 3 ? m->n[2] : 1}, corners = 1 << m->dim, third = m->dim == 3;
  PetscInt              ncells = n[0] * n[1] * n[2], nvertices = (n[0] + 1) * (n[1] + 1) * (n[2] * third + 1), *cells;
  PetscReal            *x;
  PetscRandom           rnd;
  PetscMPIInt           rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscMalloc2(ncells * corners, &cells, nvertices * m->dim, &x));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd));
  for (PetscInt c = 0; c < ncells; c++) {
    const PetscInt at[3] = {c % n[0], c / n[0] % n[1], c / n[0] / n[1]};
    PetscReal      r;

    PetscCall(PetscRandomGetValueReal(rnd, &r));
    for (PetscInt i = 0; i < corners; i++) {
      const PetscInt corner = Turn(m->turn ? (PetscInt)(r * (third ? 64 : 4)) : 0, third ? hex[i] : quad[i]);

      cells[c * corners + i] = ((at[2] + (corner >> 2 & 1)) * (n[1] + 1) + at[1] + (corner >> 1 & 1)) * (n[0] + 1) + at[0] + (corner & 1);
    }
  }
  PetscCall(PetscRandomDestroy(&rnd));
  for (PetscInt v = 0; v < nvertices; v++) {
    const PetscInt at[3] = {v % (n[0] + 1), v / (n[0] + 1) % (n[1] + 1), v / (n[0] + 1) / (n[1] + 1)};

    for (int d = 0; d < m->dim; d++) x[v * m->dim + d] = (PetscReal)at[d] / n[d];
    if (m->move) (*m->move)(m->dim, x + v * m->dim);
  }
  PetscCall(DMPlexCreateFromCellListPetsc(PETSC_COMM_WORLD, m->dim, rank ? 0 : ncells, rank ? 0 : nvertices, corners, PETSC_TRUE, cells, m->dim, x, dm));
  PetscCall(PetscFree2(cells, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshCreate(const Mesh *m, PetscInt refine, DM *dm)
{
  PetscPartitioner part;
  DMLabel          label;
  DM               other;

  PetscFunctionBeginUser;
  PetscCall(BoxCreate(m, dm));
  for (PetscInt i = 0; i < refine; i++) {
    PetscCall(DMPlexSetRefinementUniform(*dm, PETSC_TRUE));
    PetscCall(DMRefine(*dm, PETSC_COMM_WORLD, &other));
    PetscCall(DMDestroy(dm));
    *dm = other;
  }
  PetscCall(DMCreateLabel(*dm, "wall"));
  PetscCall(DMGetLabel(*dm, "wall", &label));
  PetscCall(DMPlexMarkBoundaryFaces(*dm, 1, label));
  PetscCall(DMPlexLabelComplete(*dm, label));
  PetscCall(DMPlexGetPartitioner(*dm, &part));
  PetscCall(PetscPartitionerSetFromOptions(part));
  {
    PetscInt overlap = 0;

    PetscCall(PetscOptionsGetInt(NULL, NULL, "-overlap", &overlap, NULL));
    PetscCall(DMPlexDistribute(*dm, overlap, NULL, &other));
  }
  if (other) {
    PetscCall(DMDestroy(dm));
    *dm = other;
  }
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(SpaceCreate(*dm, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- functions ---- */

static PetscErrorCode Wave(PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PetscInt Nc, PetscScalar *u, PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < Nc; c++) u[c] = PetscCosReal(2 * x[0] + 3 * x[1] + (dim == 3 ? 5 * x[2] : 0) + c);
  return PETSC_SUCCESS;
}

static PetscErrorCode Sines(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar *u, PETSC_UNUSED void *ctx)
{
  u[0] = PetscSinReal(PETSC_PI * x[0]) * PetscSinReal(PETSC_PI * x[1]) * PetscSinReal(PETSC_PI * x[2]);
  return PETSC_SUCCESS;
}

/* one at the vertex (1, 1, 2) of the mesh of 2 x 3 x 4 cells */
static PetscErrorCode AtVertex(PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar *u, PETSC_UNUSED void *ctx)
{
  PetscReal v[3] = {0.5, 1. / 3, 0.5};

  Sine(dim, v);
  u[0] = PetscAbsReal(x[0] - v[0]) + PetscAbsReal(x[1] - v[1]) + PetscAbsReal(x[2] - v[2]) < 1e-9;
  return PETSC_SUCCESS;
}

typedef PetscErrorCode (*Function)(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *);

/* the values of a function at the nodes */
static PetscErrorCode Interpolate(DM dm, Function f, Vec *v)
{
  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, v));
  PetscCall(DMProjectFunction(dm, 0, &f, NULL, INSERT_VALUES, *v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- PETSc's own finite elements ---- */

#define POINT \
  PetscInt dim, PetscInt Nf, PetscInt NfAux, const PetscInt uOff[], const PetscInt uOff_x[], const PetscScalar u[], const PetscScalar u_t[], const PetscScalar u_x[], const PetscInt aOff[], \
    const PetscInt aOff_x[], const PetscScalar a[], const PetscScalar a_t[], const PetscScalar a_x[], PetscReal t
#define UNUSED \
  (void)Nf, (void)NfAux, (void)uOff, (void)uOff_x, (void)u, (void)u_t, (void)u_x, (void)aOff, (void)aOff_x, (void)a, (void)a_t, (void)a_x, (void)t, (void)dim, (void)x, (void)numConstants, (void)constants

/* constants: coefficients of mass and stiffness, the number of components */
static void MassJacobian(POINT, PetscReal shift, const PetscReal x[], PetscInt numConstants, const PetscScalar constants[], PetscScalar g0[])
{
  const PetscInt nc = (PetscInt)constants[2];

  (void)shift, UNUSED;
  for (PetscInt c = 0; c < nc; c++) g0[c * nc + c] = constants[0];
}

static void StiffnessJacobian(POINT, PetscReal shift, const PetscReal x[], PetscInt numConstants, const PetscScalar constants[], PetscScalar g3[])
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
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, degree %" PetscInt_FMT ", %s: %.12g, not %.12g\n", problem, degree, what, (double)found, (double)wanted));
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
  if (layout == MAT_BAKEOFF_ELEMENT) PetscCall(MatBakeoffGlobalToElement(A, g, *v));
  else PetscCall(VecCopy(g, *v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToGlobal(Mat A, MatBakeoffLayout layout, Vec v, Vec g)
{
  PetscFunctionBeginUser;
  if (layout == MAT_BAKEOFF_ELEMENT) PetscCall(MatBakeoffElementToGlobal(A, v, g));
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
  PetscCall(Check("|A x| of the global vector", name, degree, PetscSqrtReal(norm * norm + whole), nodenumbers[degree - 1][i][0], 5e-9 * nodenumbers[degree - 1][i][0]));
  PetscCall(Check("x.A x", name, degree, dot + whole, nodenumbers[degree - 1][i][1], 5e-9 * nodenumbers[degree - 1][i][1]));
  PetscCall(VecDot(gx, gy, &dot));
  PetscCall(Check("x.A x of global vectors", name, degree, dot + whole, nodenumbers[degree - 1][i][1], 5e-9 * nodenumbers[degree - 1][i][1]));

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
    PetscReal found;

    if (rhs) {
      PetscCall(DMCreateGlobalVector(dm, &g));
      PetscCall(VecSet(g, 1));
    } else PetscCall(Load(dm, (PetscBool)!m.dirichlet, &g));
    PetscCall(ToLayout(A, layout, g, &b));
    PetscCall(VecDuplicate(b, &x));
    for (int jacobi = 0; jacobi < 2; jacobi++) {
      const PetscInt want = wanted[rhs][jacobi];

      PetscCall(Solve(A, jacobi ? PCJACOBI : PCNONE, 1e-8, b, x, &its, NULL));
      PetscCall(Check(rhs ? (jacobi ? "iterations, ones, Jacobi" : "iterations, ones") : (jacobi ? "iterations, load, Jacobi" : "iterations, load"), name, m.degree, its, want, want < 100 ? 1 : 0.01 * want));
    }
    if (rhs && kappa) {
      PetscCall(Solve(A, PCJACOBI, 1e-13, b, x, &its, &found));
      PetscCall(Check("condition number", name, m.degree, found, *kappa, 6e-4 * *kappa));
    }
    PetscCall(VecDestroy(&g));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(MatDestroy(&A));
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
    PetscReal       want = errors[degree - 1][i][level], error;
    PetscInt        its, refine = level;
    PetscQuadrature q;
    PetscObject     fe;
    Vec             b, x;
    Mat             A;
    DM              dm;

    for (PetscInt n = errorcells[degree - 1]; n > 2; n /= 2) refine++;
    PetscCall(MeshCreate(&m, refine, &dm));
    PetscCall(MatCreateBakeoff(dm, scalar[i], MAT_BAKEOFF_GLOBAL, &A));
    PetscCall(Load(dm, (PetscBool)(i == 0), &b));
    PetscCall(VecDuplicate(b, &x));
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

int main(int argc, char **argv)
{
  char      part[32] = "nodes";
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
    for (MatBakeoffLayout layout = MAT_BAKEOFF_GLOBAL; layout <= MAT_BAKEOFF_ELEMENT; layout++) {
      if (!strcmp(part, "nodes")) {
        for (int i = 0; i < 3; i++) PetscCall(NodesOf(degrees[d], turn, i, layout));
      } else if (!strcmp(part, "solve")) {
        const Mesh sine = {3, {4, 4, 4}, degrees[d], 1, 0, turn, PETSC_FALSE, PETSC_FALSE, Sine}, kershaw = {3, {6, 6, 6}, degrees[d], 1, 0, turn, PETSC_FALSE, PETSC_FALSE, Kershaw};

        for (int i = 0; i < 4; i++) PetscCall(SolveOf(&sine, i, layout, iterations[degrees[d] - 1][i], i < 3 ? &condition[i][degrees[d] - 1] : NULL));
        for (int i = 0; i < 3; i++)
          for (int k = 0; k < 4; k++)
            if (kershawdegrees[k] == degrees[d] && layout == MAT_BAKEOFF_GLOBAL) PetscCall(SolveOf(&kershaw, i, layout, kershawiterations[k][i], NULL));
      } else if (!strcmp(part, "errors_l2") && layout == MAT_BAKEOFF_GLOBAL) {
        for (int i = 0; i < 3; i++) PetscCall(ErrorsOf(degrees[d], i));
      }
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, failures ? "%" PetscInt_FMT " failures\n" : "ok\n", failures));
  PetscCall(PetscFinalize());
  return 0;
}
