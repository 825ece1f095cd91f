#pragma once
/* Solids on a DMPLEX of quadrilaterals or hexahedra: their meshes, materials and conditions; loads and solves; tests that -test chooses */
#include <petscdmplex.h>
#include <petscds.h>
#include <petscpatchfd.h>
#include <petscsnes.h>

typedef struct {
  PetscInt  dim, degree, cells;
  PetscInt  pins;            /* corners that are held, the first one in all components; */
  PetscBool edge;            /* and with it the edge in direction x */
  PetscInt  planes, clamped; /* not all sides are clamped: those with x_d = 0 for d < clamped; for other d < planes they are of symmetry */
  PetscReal bend, ratio;
  PetscBool free, turned, cuda, varies; /* no side is clamped; cells list their vertices in other orders; E and nu are functions */
} Case;

/* ---- material ---- */

static PetscErrorCode Moduli(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                             PetscReal m[], PETSC_UNUSED void *ctx)
{
  m[0] = PetscExpReal(PetscSinReal(3 * x[0] + 2 * x[1]));
  m[1] = 0.2 + 0.2 * PetscSinReal(4 * x[1]);
  return PETSC_SUCCESS;
}

static PetscErrorCode Shift(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                            PetscReal s[], PETSC_UNUSED void *ctx)
{
  s[0] = 2 + x[0];
  return PETSC_SUCCESS;
}

/* the Jacobian as PETSc's tutorials have it; constants: E, nu where they do not vary */
#define POINT \
  PetscInt dim, PETSC_UNUSED PetscInt Nf, PETSC_UNUSED PetscInt NfAux, PETSC_UNUSED const PetscInt uOff[], \
    PETSC_UNUSED const PetscInt uOff_x[], PETSC_UNUSED const PetscScalar u[], PETSC_UNUSED const PetscScalar u_t[], \
    PETSC_UNUSED const PetscScalar u_x[], PETSC_UNUSED const PetscInt aOff[], PETSC_UNUSED const PetscInt aOff_x[], \
    PETSC_UNUSED const PetscScalar a[], PETSC_UNUSED const PetscScalar a_t[], PETSC_UNUSED const PetscScalar a_x[], \
    PETSC_UNUSED PetscReal t, PETSC_UNUSED PetscReal shift, const PetscReal x[], PetscInt n, PETSC_UNUSED const PetscScalar constants[]

static void G0(POINT, PetscScalar g[])
{
  for (PetscInt c = 0; c < dim && !n; c++) g[c * dim + c] = 2 + x[0];
}

static void G3(POINT, PetscScalar g[])
{
  PetscReal m[2], mu, lambda;

  (void)Moduli(dim, 0, x, 2, m, NULL);
  for (PetscInt i = 0; i < n; i++) m[i] = PetscRealPart(constants[i]);
  mu     = m[0] / (2 * (1 + m[1]));
  lambda = m[0] * m[1] / ((1 + m[1]) * (1 - 2 * m[1]));
  for (PetscInt c = 0; c < dim; c++) {
    for (PetscInt d = 0; d < dim; d++) {
      g[((c * dim + c) * dim + d) * dim + d] += mu;
      g[((c * dim + d) * dim + d) * dim + c] += mu;
      g[((c * dim + d) * dim + c) * dim + d] += lambda;
    }
  }
}

/* ---- meshes ---- */

/* cells^dim of the unit cube, bent inside; every other cell begins with another corner, every third one with another direction */
static PetscErrorCode CreateMesh(const Case *c, DM *mesh)
{
  static const PetscInt order[8][3] = {{0, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 0, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  static const PetscInt quad[4][2]  = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  const PetscInt        n = c->cells, dim = c->dim, corners = 1 << dim, layers = dim == 3 ? n : 1;
  PetscInt              ncell = n * n * layers, nnode = (n + 1) * (n + 1) * (dim == 3 ? n + 1 : 1), *cell;
  PetscReal            *x;
  PetscMPIInt           rank;
  DM                    parallel;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank) ncell = nnode = 0;
  PetscCall(PetscMalloc2(ncell * corners, &cell, nnode * dim, &x));
  for (PetscInt i = 0; i < ncell * corners; i++) {
    const PetscInt number = i / corners, turn = c->turned ? number % 3 : 0;
    PetscInt       at[3] = {number % n, number / n % n, number / n / n};

    for (PetscInt d = 0; d < dim; d++) /* a cyclic change of directions keeps the volume positive, and a rotation of a square does */
      at[dim == 3 ? (d + turn) % 3 : d] += dim == 3 ? order[i % 8][d] : quad[(i + turn) % 4][d];
    cell[i] = (at[2] * (n + 1) + at[1]) * (n + 1) + at[0];
  }
  for (PetscInt i = 0; i < nnode; i++) {
    const PetscInt at[3] = {i % (n + 1), i / (n + 1) % (n + 1), i / (n + 1) / (n + 1)};

    PetscBool inside = PETSC_TRUE;

    for (PetscInt d = 0; d < dim; d++) inside = (PetscBool)(inside && at[d] > 0 && at[d] < n);
    for (PetscInt d = 0; d < dim; d++) x[i * dim + d] = (PetscReal)at[d] / (PetscReal)n;
    for (PetscInt d = 0; d < dim && inside; d++)
      x[i * dim + d] += c->bend / (PetscReal)n * PetscSinReal(5.0 * (PetscReal)at[(d + 1) % dim] + 2.0 * (PetscReal)at[d]);
  }
  PetscCall(DMPlexCreateFromCellListPetsc(PETSC_COMM_WORLD, dim, ncell, nnode, corners, PETSC_TRUE, cell, dim, x, mesh));
  PetscCall(PetscFree2(cell, x));
  PetscCall(DMPlexDistribute(*mesh, 0, NULL, &parallel));
  if (parallel) {
    PetscCall(DMDestroy(mesh));
    *mesh = parallel;
  }
  PetscCall(DMSetFromOptions(*mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the faces whose middle has coordinate d = at, with all points that they have */
static PetscErrorCode MarkSide(DM dm, const char name[], PetscInt d, PetscReal at, DMLabel *label)
{
  PetscInt  n;
  PetscReal x[3];
  IS        faces;

  PetscFunctionBeginUser;
  PetscCall(DMCreateLabel(dm, name));
  PetscCall(DMGetLabel(dm, name, label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, *label));
  PetscCall(DMLabelGetStratumIS(*label, 1, &faces));
  if (faces) {
    const PetscInt *face;

    PetscCall(ISGetLocalSize(faces, &n));
    PetscCall(ISGetIndices(faces, &face));
    for (PetscInt i = 0; i < n; i++) {
      PetscCall(DMPlexComputeCellGeometryFVM(dm, face[i], NULL, x, NULL));
      if (PetscAbsReal(x[d] - at) > 1e-10) PetscCall(DMLabelClearValue(*label, face[i], 1));
    }
    PetscCall(ISRestoreIndices(faces, &face));
  }
  PetscCall(ISDestroy(&faces));
  PetscCall(DMPlexLabelComplete(dm, *label));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of a body, or of its component `only` */
static PetscErrorCode SetPlanes(const Case *c, PetscInt only, DM dm)
{
  const PetscInt id = 1, zero = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < c->planes; d++) {
    const char name[] = {'p', 'l', 'a', 'n', 'e', (char)('x' + d), 0};
    DMLabel    label;

    if (only >= 0 && d != only && d >= c->clamped) continue;
    PetscCall(MarkSide(dm, name, d, 0, &label));
    PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, name, label, 1, &id, 0, d >= c->clamped, only >= 0 ? &zero : &d, NULL, NULL, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* corner 0, or an edge, then 1 but for component x, and 2 in z: after dim of them a body cannot move */
static PetscErrorCode SetPins(const Case *c, DM dm)
{
  const PetscInt  id = 1, component[] = {0, 1, 2};
  const PetscInt *cone;
  PetscInt        first, end, start, stop, value[2];
  DM              cdm;
  Vec             places;
  PetscScalar    *array, *x;

  PetscFunctionBeginUser;
  PetscCall(DMGetCoordinateDM(dm, &cdm));
  PetscCall(DMGetCoordinatesLocal(dm, &places));
  PetscCall(DMPlexGetDepthStratum(dm, 0, &first, &end));
  PetscCall(VecGetArray(places, &array));
  for (PetscInt p = 0; p < c->pins; p++) {
    const char name[] = {'p', 'i', 'n', (char)('0' + p), 0};
    DMLabel    label;

    PetscCall(DMCreateLabel(dm, name));
    PetscCall(DMGetLabel(dm, name, &label));
    for (PetscInt v = first; v < end; v++) {
      PetscReal distance = 0;

      PetscCall(DMPlexPointLocalRef(cdm, v, array, &x));
      for (PetscInt d = c->edge; d < c->dim; d++) distance += PetscAbsScalar(x[d] - (p == d + 1));
      if (distance < 1e-10) PetscCall(DMLabelSetValue(label, v, 1));
    }
    PetscCall(DMPlexGetDepthStratum(dm, 1, &start, &stop));
    for (PetscInt e = start; e < stop; e++) {
      PetscCall(DMPlexGetCone(dm, e, &cone));
      for (int i = 0; i < 2; i++) PetscCall(DMLabelGetValue(label, cone[i], &value[i]));
      if (value[0] == 1 && value[1] == 1) PetscCall(DMLabelSetValue(label, e, 1));
    }
    PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, name, label, 1, &id, 0, c->dim - p, component + p, NULL, NULL, NULL, NULL));
  }
  PetscCall(VecRestoreArray(places, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* that of component `only` alone, or of all for -1 */
static PetscErrorCode SetSpace(const Case *c, PetscInt only, DM dm)
{
  const PetscInt ncomp = only < 0 ? c->dim : 1;
  const PetscInt id    = 1;
  PetscFE        fe;
  PetscDS        ds;
  DMLabel        label;
  PetscScalar    moduli[2] = {1, c->ratio};

  PetscFunctionBeginUser;
  if (c->cuda) PetscCall(DMSetVecType(dm, VECCUDA));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, c->dim, ncomp, PETSC_FALSE, c->degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(dm));
  PetscCall(DMGetDS(dm, &ds));
  if (ncomp > 1) PetscCall(PetscDSSetJacobian(ds, 0, 0, G0, NULL, NULL, G3));
  if (!c->varies) PetscCall(PetscDSSetConstants(ds, 2, moduli));
  if (c->planes) PetscCall(SetPlanes(c, only, dm));
  if (c->pins) PetscCall(SetPins(c, dm));
  if (c->free || c->planes || c->pins) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMCreateLabel(dm, "wall"));
  PetscCall(DMGetLabel(dm, "wall", &label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, label));
  PetscCall(DMPlexLabelComplete(dm, label));
  PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, "wall", label, 1, &id, 0, 0, NULL, NULL, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolid(const Case *c, DM *dm, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(CreateMesh(c, dm));
  PetscCall(SetSpace(c, -1, *dm));
  PetscCall(MatCreateElasticityPlex(*dm, A));
  if (c->varies) PetscCall(MatElasticityPlexSetFunction(*A, Moduli, Shift, DMBOX_PLANE_STRAIN, NULL));
  else PetscCall(MatElasticityPlexSetModuli(*A, 1, c->ratio, DMBOX_PLANE_STRAIN, 0));
  PetscCall(MatSetFromOptions(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- comparisons ---- */

static PetscErrorCode Check(const char *what, PetscReal error, PetscReal size, PetscReal tolerance)
{
  PetscFunctionBeginUser;
  if (error <= tolerance * size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %g of %g\n", what, (double)error, (double)size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char *what, Vec found, Vec wanted, PetscReal tolerance)
{
  PetscReal error, size;
  Vec       d;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(found, &d));
  PetscCall(VecCopy(found, d));
  PetscCall(VecAXPY(d, -1, wanted));
  PetscCall(VecNorm(d, NORM_INFINITY, &error));
  PetscCall(VecNorm(wanted, NORM_INFINITY, &size));
  PetscCall(Check(what, error, size, tolerance));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solves ---- */

/* by PCPATCHMG, to 1e-9 in the residual; how many iterations at the mean rate */
static PetscErrorCode Solve(Mat A, KSPType type, Vec b, Vec x, PetscReal *iterations)
{
  const PetscReal   *history;
  PetscInt           n;
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  if (!strcmp(type, KSPCG)) PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-9, 0, PETSC_CURRENT, 60));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualHistory(ksp, &history, &n));
  if (reason <= 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "not solved: %s\n", KSPConvergedReasons[reason]));
  *iterations = n > 1 ? -9 * (PetscReal)(n - 1) / PetscLog10Real(history[n - 1] / history[0]) : 0;
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- loads ---- */

#define RESIDUAL \
  PetscInt dim, PETSC_UNUSED PetscInt Nf, PETSC_UNUSED PetscInt NfAux, PETSC_UNUSED const PetscInt uOff[], \
    PETSC_UNUSED const PetscInt uOff_x[], PETSC_UNUSED const PetscScalar u[], PETSC_UNUSED const PetscScalar u_t[], \
    PETSC_UNUSED const PetscScalar u_x[], PETSC_UNUSED const PetscInt aOff[], PETSC_UNUSED const PetscInt aOff_x[], \
    PETSC_UNUSED const PetscScalar a[], PETSC_UNUSED const PetscScalar a_t[], PETSC_UNUSED const PetscScalar a_x[], \
    PETSC_UNUSED PetscReal t, PETSC_UNUSED const PetscReal x[]

/* minus the residual at zero */
static PetscErrorCode GetLoad(DM dm, Vec b)
{
  Vec u, f;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(dm, &u));
  PetscCall(DMGetLocalVector(dm, &f));
  PetscCall(VecSet(u, 0));
  PetscCall(VecSet(f, 0));
  PetscCall(DMPlexSNESComputeResidualFEM(dm, u, f, NULL));
  PetscCall(VecSet(b, 0));
  PetscCall(DMLocalToGlobal(dm, f, ADD_VALUES, b));
  PetscCall(VecScale(b, -1));
  PetscCall(DMRestoreLocalVector(dm, &u));
  PetscCall(DMRestoreLocalVector(dm, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options ---- */

static PetscErrorCode CaseFromOptions(Case *c)
{
  PetscFunctionBeginUser;
  *c = (Case){.dim = 3, .degree = 2, .cells = 3, .bend = 0.1, .ratio = 0.3};
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &c->dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &c->degree, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &c->cells, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-planes", &c->planes, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-clamped", &c->clamped, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-pins", &c->pins, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-edge", &c->edge, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ratio", &c->ratio, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-turned", &c->turned, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cuda", &c->cuda, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RunNAME() for runtest.h: TestNAME(Case *) on what options say */
#define CASE_TEST(NAME) \
  static PetscErrorCode Run##NAME(void) \
  { \
    Case c; \
\
    PetscFunctionBeginUser; \
    PetscCall(CaseFromOptions(&c)); \
    PetscCall(Test##NAME(&c)); \
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n")); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
