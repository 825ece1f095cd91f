static char help
  [] = "A DMBOX as PETSc knows DMs: coordinates, local vectors, files that do not depend on the number of ranks, SNES without callbacks.\n\
  -test coordinates | local | files | snes | contexts | errors\n\
  -cuda : vectors on the GPU\n\n";

#include <petscpatchfd.h>
#include <patchfd/private/compat.h>
#include <petsc/private/kspimpl.h>
#include "catch.h"
#include "runtest.h"

/* a graded box with Dirichlet and Neumann sides; its nodes are no multiples of each other */
static PetscErrorCode CreateBox(PetscInt dim, PetscInt degree, VecType type, DM *dm)
{
  const PetscInt          cells[3] = {6, 4, 5};
  const PetscReal         lower[3] = {-1, 2, 0.25}, upper[3] = {3, 4, 0.75}, graded[] = {-1, -0.5, 0, 0.25, 0.5, 1, 3};
  const DMBoxBoundaryType boundary[6] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN,   DMBOX_BOUNDARY_NEUMANN,
                                         DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, degree, dm));
  PetscCall(DMBoxSetBounds(*dm, lower, upper));
  PetscCall(DMBoxSetVertices(*dm, 0, 7, graded));
  PetscCall(DMBoxSetBoundary(*dm, boundary));
  PetscCall(DMSetVecType(*dm, type));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* different at any two nodes, and exact in single precision up to 1e-6 */
static PetscErrorCode Value(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) u[i] = x[0] + (dim > 1 ? 0.01 * x[1] : 0) + (dim > 2 ? 10 * x[2] : 0) + 0.001 * (Nc - 1 - i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* velocities have at least two dimensions */
static PetscInt LeastDimension(void)
{
  char      space[8] = "";
  PetscBool rt;

  PetscCallAbort(PETSC_COMM_SELF, PetscOptionsGetString(NULL, NULL, "-dm_box_space", space, sizeof(space), NULL));
  PetscCallAbort(PETSC_COMM_SELF, PetscStrcmp(space, "rt", &rt));
  return rt ? 2 : 1;
}

/* v, or of several fields the last one, is Value() at the points x */
static PetscErrorCode CheckValues(const char what[], PetscInt dim, Vec x, Vec v, PetscReal tol)
{
  const PetscScalar *ax, *av;
  PetscScalar        u;
  PetscInt           n, nx, bs, first = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetLocalSize(x, &nx));
  PetscCall(VecGetBlockSize(x, &bs));
  if (LeastDimension() == 2) first = n - nx / dim;
  PetscCheck(nx == dim * (n - first) && bs == dim, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %" PetscInt_FMT " coordinates in blocks of %" PetscInt_FMT " for %" PetscInt_FMT " nodes", what, nx, bs, n);
  PetscCall(VecGetArrayRead(x, &ax));
  PetscCall(VecGetArrayRead(v, &av));
  for (PetscInt i = first; i < n; i++) {
    PetscCall(Value(dim, 0, &ax[dim * (i - first)], 1, &u, NULL));
    PetscCheck(PetscAbsScalar(av[i] - u) <= tol, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " is %g, not %g", what, i,
               (double)av[i], (double)u);
  }
  PetscCall(VecRestoreArrayRead(v, &av));
  PetscCall(VecRestoreArrayRead(x, &ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* double and single precision, on the host or on the GPU */
static PetscErrorCode GetVecTypes(VecType types[2])
{
  PetscBool cuda = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cuda", &cuda, NULL));
  types[0] = cuda ? VECCUDA : VECSTANDARD;
  types[1] = cuda ? VECSINGLECUDA : VECSINGLE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- coordinates ---- */

/* the nodes' coordinates, parallel to the entries of a global and of a local vector, in this DM and in one made from it */
static PetscErrorCode CheckCoordinates(DM dm)
{
  DM        cdm;
  Vec       x, xl, y, yl, v, l;
  PetscInt  dim;
  PetscReal norm, lo[3], hi[3], lower[3], upper[3];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(DMCreateLocalVector(dm, &l));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Value, NULL, v));
  PetscCall(DMGetCoordinates(dm, &x));
  PetscCheck(x, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No coordinates");
  PetscCall(CheckValues("global", dim, x, v, 1e-14));
  PetscCall(DMGlobalToLocal(dm, v, INSERT_VALUES, l));
  PetscCall(DMGetCoordinatesLocal(dm, &xl));
  PetscCall(CheckValues("local", dim, xl, l, 1e-14));
  /* the DM of the coordinates moves them as the DM itself moves numbers */
  PetscCall(DMGetCoordinateDM(dm, &cdm));
  PetscCall(DMCreateLocalVector(cdm, &yl));
  PetscCall(DMGlobalToLocal(cdm, x, INSERT_VALUES, yl));
  PetscCall(VecAXPY(yl, -1, xl));
  PetscCall(VecNorm(yl, NORM_INFINITY, &norm));
  PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Coordinates from global to local: %g", (double)norm);
  PetscCall(DMCreateGlobalVector(cdm, &y));
  PetscCall(DMLocalToGlobal(cdm, xl, INSERT_VALUES, y));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Coordinates from local to global: %g", (double)norm);
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  PetscCall(DMGetBoundingBox(dm, lo, hi));
  for (PetscInt d = 0; d < dim; d++) {
    PetscCheck(lo[d] == lower[d] && hi[d] == upper[d], PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Direction %" PetscInt_FMT ": [%g, %g], not [%g, %g]", d, (double)lo[d], (double)hi[d], (double)lower[d], (double)upper[d]);
  }
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&yl));
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCoordinates(void)
{
  const PetscReal h = 1e-9;

  PetscFunctionBeginUser;
  for (PetscInt dim = LeastDimension(); dim <= 3; dim++) {
    DM        dm, clone, fine;
    Vec       x, keep;
    PetscReal norm;

    PetscCall(CreateBox(dim, 3, VECSTANDARD, &dm));
    PetscCall(DMGetCoordinates(dm, &x));
    PetscCall(VecDuplicate(x, &keep)); /* before anybody looked at them */
    PetscCall(VecNorm(keep, NORM_1, &norm));
    PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A duplicate is %g", (double)norm);
    PetscCall(VecDestroy(&keep));
    PetscCall(DMClone(dm, &clone));
    PetscCall(DMRefine(dm, MPI_COMM_NULL, &fine));
    PetscCall(CheckCoordinates(dm));
    PetscCall(CheckCoordinates(clone));
    PetscCall(CheckCoordinates(fine));
    PetscCall(DMDestroy(&clone));
    PetscCall(DMCoarsen(fine, MPI_COMM_NULL, &clone));
    PetscCall(CheckCoordinates(clone));
    PetscCall(DMDestroy(&clone));
    PetscCall(DMDestroy(&dm));
    /* coordinates outlive their DM */
    PetscCall(DMGetCoordinates(fine, &x));
    PetscCall(VecDuplicate(x, &keep));
    PetscCall(VecCopy(x, keep));
    PetscCall(PetscObjectReference((PetscObject)x));
    PetscCall(DMDestroy(&fine));
    PetscCall(VecAXPY(x, -1, keep));
    PetscCall(VecNorm(x, NORM_1, &norm));
    PetscCheck(norm < h, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Coordinates changed: %g", (double)norm);
    PetscCall(VecDestroy(&keep));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "coordinates\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- local vectors ---- */

/* a local vector's entries are those that the map names; adding all of them counts how many ranks have a node */
static PetscErrorCode CheckLocal(DM dm, PetscReal tol)
{
  Vec                    v, w, l, m;
  VecScatter             scatter;
  ISLocalToGlobalMapping map;
  const PetscInt        *index;
  IS                     is;
  PetscInt               n, start;
  PetscReal              norm;
  PetscScalar            sum, *a;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(VecDuplicate(v, &w));
  PetscCall(DMGetLocalVector(dm, &l));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Value, NULL, v));
  PetscCall(VecSet(l, 77));
  PetscCall(DMGlobalToLocal(dm, v, INSERT_VALUES, l));
  PetscCall(VecGetLocalSize(l, &n));
  PetscCall(DMGetLocalToGlobalMapping(dm, &map));
  PetscCall(ISLocalToGlobalMappingGetIndices(map, &index));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, index, PETSC_COPY_VALUES, &is));
  PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &index));
  PetscCall(VecDuplicate(l, &m));
  PetscCall(VecScatterCreate(v, is, m, NULL, &scatter));
  PetscCall(VecScatterBegin(scatter, v, m, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, v, m, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecAXPY(m, -1, l));
  PetscCall(VecNorm(m, NORM_INFINITY, &norm));
  PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Global to local: %g", (double)norm);
  /* and back */
  PetscCall(DMLocalToGlobal(dm, l, INSERT_VALUES, w));
  PetscCall(VecAXPY(w, -1, v));
  PetscCall(VecNorm(w, NORM_INFINITY, &norm));
  PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Local to global: %g", (double)norm);
  /* ghosts that are wrong are mended, in another vector and in place */
  PetscCall(VecSet(m, 77));
  PetscCall(DMLocalToGlobal(dm, l, INSERT_VALUES, w));
  PetscCall(VecGetOwnershipRange(v, &start, NULL));
  for (int place = 0; place < 2; place++) {
    Vec from = place ? m : l;

    PetscCall(VecCopy(l, m));
    PetscCall(VecGetArray(from, &a));
    PetscCall(ISGetIndices(is, &index));
    for (PetscInt i = 0, end = start; i < n; i++) {
      if (index[i] == end) end++; /* owned: they come in order */
      else a[i] = -3;
    }
    PetscCall(ISRestoreIndices(is, &index));
    PetscCall(VecRestoreArray(from, &a));
    PetscCall(DMLocalToLocalBegin(dm, from, INSERT_VALUES, m));
    PetscCall(DMLocalToLocalEnd(dm, from, INSERT_VALUES, m));
    PetscCall(DMGlobalToLocal(dm, v, INSERT_VALUES, l));
    PetscCall(VecAXPY(m, -1, l));
    PetscCall(VecNorm(m, NORM_INFINITY, &norm));
    PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Local to local: %g", (double)norm);
  }
  /* the sum over all ranks, added to what is there */
  PetscCall(VecSet(w, 1));
  PetscCall(VecSet(l, 1));
  PetscCall(DMLocalToGlobal(dm, l, ADD_VALUES, w));
  PetscCall(VecSum(w, &sum));
  PetscCall(VecGetSize(w, &start));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &n, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCheck(PetscAbsScalar(sum - n - start) <= tol * n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Adding gave %g, not %" PetscInt_FMT, (double)sum,
             n + start);
  PetscCall(VecSum(l, &sum));
  PetscCall(VecGetLocalSize(l, &n));
  PetscCheck(PetscAbsScalar(sum - n) <= tol * n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Adding changed the local vector");
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&is));
  PetscCall(DMRestoreLocalVector(dm, &l));
  PetscCall(VecDestroy(&m));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLocal(void)
{
  VecType types[2];

  PetscFunctionBeginUser;
  PetscCall(GetVecTypes(types));
  for (int t = 0; t < 2; t++) {
    for (PetscInt dim = LeastDimension(); dim <= 3; dim++) {
      DM        dm, fine, coarse;
      PetscReal tol = t ? 1e-6 : 1e-14;

      PetscCall(CreateBox(dim, 2, types[t], &dm));
      PetscCall(CheckLocal(dm, tol));
      PetscCall(DMRefine(dm, MPI_COMM_NULL, &fine));
      PetscCall(DMCoarsen(fine, MPI_COMM_NULL, &coarse));
      PetscCall(CheckLocal(coarse, tol));
      PetscCall(DMDestroy(&coarse));
      PetscCall(DMDestroy(&fine));
      PetscCall(DMDestroy(&dm));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "local vectors\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- files ---- */

/* written on all ranks and read on one, written on one and read on all; a DM on one rank has the natural order in memory */
static PetscErrorCode CheckFile(DM dm, PetscReal tol)
{
  DM          alone, from, to;
  Vec         v, w, x;
  PetscViewer viewer;
  MPI_Comm    comm;
  PetscInt    dim, degree;
  DMBoxSpace  space;
  const char *op;
  PetscReal   norm;
  PetscMPIInt rank;
  char        name[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetDegree(dm, &degree));
  {
    const PetscInt  cells[3] = {6, 4, 5};
    const PetscReal lower[3] = {-1, 2, 0.25}, upper[3] = {3, 4, 0.75}, graded[] = {-1, -0.5, 0, 0.25, 0.5, 1, 3};

    PetscCall(DMBoxCreate(PETSC_COMM_SELF, dim, cells, degree, &alone));
    PetscCall(DMBoxSetBounds(alone, lower, upper));
    PetscCall(DMBoxSetVertices(alone, 0, 7, graded));
    PetscCall(DMBoxGetSpace(dm, &space));
    PetscCall(DMBoxSetSpace(alone, space));
    PetscCall(DMBoxGetOperator(dm, &op));
    PetscCall(DMBoxSetOperator(alone, op));
    PetscCall(DMSetUp(alone));
  }
  PetscCall(PetscSNPrintf(name, sizeof(name), "dm_test_%" PetscInt_FMT ".bin", dim));
  for (int way = 0; way < 2; way++) {
    from = way ? alone : dm;
    to   = way ? dm : alone;
    PetscCall(PetscObjectGetComm((PetscObject)from, &comm));
    if (from == dm || rank == 0) {
      PetscCall(DMCreateGlobalVector(from, &v));
      PetscCall(DMBoxInterpolateFunction(from, 0, Value, NULL, v));
      PetscCall(PetscViewerBinaryOpen(comm, name, FILE_MODE_WRITE, &viewer));
      PetscCall(VecView(v, viewer));
      PetscCall(PetscViewerDestroy(&viewer));
      PetscCall(VecDestroy(&v));
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscObjectGetComm((PetscObject)to, &comm));
    if (to == dm || rank == 0) {
      PetscCall(DMCreateGlobalVector(to, &v));
      PetscCall(PetscViewerBinaryOpen(comm, name, FILE_MODE_READ, &viewer));
      PetscCall(VecLoad(v, viewer));
      PetscCall(PetscViewerDestroy(&viewer));
      PetscCall(DMGetCoordinates(to, &x));
      PetscCall(CheckValues(way ? "one to all" : "all to one", dim, x, v, tol));
      PetscCall(VecDuplicate(v, &w)); /* all fields */
      PetscCall(DMBoxInterpolateFunction(to, 0, Value, NULL, w));
      PetscCall(VecAXPY(w, -1, v));
      PetscCall(VecNorm(w, NORM_INFINITY, &norm));
      PetscCheck(norm <= tol, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Read what is %g away from what was written", (double)norm);
      PetscCall(VecDestroy(&w));
      PetscCall(VecDestroy(&v));
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    if (rank == 0) (void)remove(name);
    if (rank == 0) {
      PetscCall(PetscStrlcat(name, ".info", sizeof(name)));
      (void)remove(name);
      name[strlen(name) - 5] = 0;
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  }
  PetscCall(DMDestroy(&alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFiles(void)
{
  VecType types[2];

  PetscFunctionBeginUser;
  PetscCall(GetVecTypes(types));
  for (int t = 0; t < 2; t++) {
    for (PetscInt dim = LeastDimension(); dim <= 3; dim++) {
      DM dm;

      PetscCall(CreateBox(dim, 2, types[t], &dm));
      PetscCall(CheckFile(dm, t ? 1e-5 : 1e-14));
      PetscCall(DMDestroy(&dm));
    }
  }
  { /* on paper too: the same numbers in the same order for any number of ranks */
    const PetscInt cells[2] = {4, 2};
    DM             dm;
    Vec            v;

    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
    PetscCall(DMSetUp(dm));
    PetscCall(DMCreateGlobalVector(dm, &v));
    PetscCall(DMBoxInterpolateFunction(dm, 0, Value, NULL, v));
    PetscCall(PetscObjectSetName((PetscObject)v, "u"));
    PetscCall(VecView(v, PETSC_VIEWER_STDOUT_WORLD));
    PetscCall(VecDestroy(&v));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- SNES ---- */

/* u^3 beside the operator; its Jacobian is left to the DM: Newton's method becomes an iteration with a fixed matrix */
static PetscErrorCode Cubic(SNES snes, Vec u, Vec f, void *ctx)
{
  Vec w = (Vec)ctx;

  PetscFunctionBeginUser;
  PetscCall(DMBoxSNESComputeFunction(snes, u, f, NULL));
  PetscCall(VecPointwiseMult(w, u, u));
  PetscCall(VecPointwiseMult(w, w, u));
  PetscCall(VecAXPY(f, 1e-2, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A u = b without a callback; the same after the coefficients have changed; with a function of the user's and no Jacobian */
static PetscErrorCode TestSNES(void)
{
  const PetscReal diffusion[3] = {1, 2, 3};
  DM              dm, other;
  SNES            snes;
  KSP             ksp;
  Mat             A;
  Vec             b, u, r;
  PetscReal       norm, bnorm;
  PetscInt        its;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(3, 2, VECSTANDARD, &dm));
  PetscCall(DMClone(dm, &other));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &r));
  PetscCall(DMBoxAddLoad(dm, 0, Value, NULL, b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(SNESSetFromOptions(snes));
  for (int change = 0; change < 2; change++) {
    if (change) {
      PetscCall(DMBoxSetPoisson(dm, diffusion, 5));
      PetscCall(DMBoxSetPoisson(other, diffusion, 5));
    }
    PetscCall(VecZeroEntries(u));
    PetscCall(SNESSolve(snes, b, u));
    PetscCall(SNESGetLinearSolveIterations(snes, &its));
    PetscCall(DMCreateMatrix(other, &A));
    PetscCall(MatResidual(A, b, u, r));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "A u = b%s: true relative residual %s 1e-8, %s iterations\n",
                          change ? ", new coefficients" : "", norm <= 1e-8 * bnorm ? "<=" : ">", its <= 30 ? "few" : "many"));
  }
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&dm));
  PetscCall(DMClone(other, &dm));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESSetFunction(snes, NULL, Cubic, r));
  PetscCall(SNESSetTolerances(snes, PETSC_CURRENT, 1e-9, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecZeroEntries(u));
  PetscCall(SNESSolve(snes, b, u));
  PetscCall(SNESGetFunctionNorm(snes, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "A u + u^3 / 100 = b: %s\n", norm <= 1e-7 * bnorm ? "solved" : "not solved"));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscCall(DMDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

static PetscErrorCode Zero(PETSC_UNUSED TS ts, PETSC_UNUSED PetscReal t, PETSC_UNUSED Vec u, Vec f, PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(VecZeroEntries(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a TS with the functions of its DM, and one step to do */
static PetscErrorCode CreateTS(DM dm, TSType type, PetscBool jacobian, PetscBool rhs, TS *ts)
{
  PetscFunctionBeginUser;
  PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
  PetscCall(TSSetDM(*ts, dm));
  PetscCall(TSSetType(*ts, type));
  PetscCall(TSSetIFunction(*ts, NULL, DMBoxTSComputeIFunction, NULL));
  if (jacobian) PetscCall(TSSetIJacobian(*ts, NULL, NULL, DMBoxTSComputeIJacobian, NULL));
  if (rhs) PetscCall(TSSetRHSFunction(*ts, NULL, Zero, NULL));
  PetscCall(TSSetTimeStep(*ts, 0.1));
  PetscCall(TSSetMaxSteps(*ts, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(void)
{
  DM   dm, other;
  Vec  u, l;
  SNES snes;
  TS   ts;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(2, 2, VECSTANDARD, &dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMCreateLocalVector(dm, &l));
  FAILS(DMGlobalToLocal(dm, u, ADD_VALUES, l), PETSC_ERR_SUP, "INSERT_VALUES only");
  PetscCall(DMRefine(dm, MPI_COMM_NULL, &other));
  FAILS(DMGlobalToLocal(other, u, INSERT_VALUES, l), PETSC_ERR_ARG_SIZ, "global Vec has local size");
  FAILS(DMLocalToLocalBegin(other, l, INSERT_VALUES, l), PETSC_ERR_ARG_SIZ, "local Vec has size");
  PetscCall(DMDestroy(&other));
  PetscCall(VecDestroy(&l));
  PetscCall(VecSet(u, 1));
  /* without a Jacobian PETSc calls NULL */
  PetscCall(DMClone(dm, &other));
  PetscCall(CreateTS(other, TSBEULER, PETSC_FALSE, PETSC_FALSE, &ts));
  FAILS(TSSolve(ts, u), PETSC_ERR_ARG_WRONGSTATE, "TSSetIJacobian()");
  PetscCall(TSDestroy(&ts));
  PetscCall(DMDestroy(&other));
  /* without a mass matrix the answer is wrong */
  PetscCall(DMClone(dm, &other));
  PetscCall(CreateTS(other, TSARKIMEX, PETSC_TRUE, PETSC_TRUE, &ts));
  FAILS(TSSolve(ts, u), PETSC_ERR_SUP, "mass matrix");
  PetscCall(TSDestroy(&ts));
  PetscCall(DMDestroy(&other));
  /* what is set on the DM alone does not make TS replace the functions of a SNES: it would solve the steady problem */
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMTSSetIFunction(dm, DMBoxTSComputeIFunction, NULL));
  PetscCall(DMTSSetIJacobian(dm, DMBoxTSComputeIJacobian, NULL));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, dm));
  PetscCall(TSSetType(ts, TSBEULER));
  PetscCall(TSSetTimeStep(ts, 0.1));
  PetscCall(TSSetMaxSteps(ts, 1));
  FAILS(TSSolve(ts, u), PETSC_ERR_ARG_WRONGSTATE, "DMClone()");
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump")); /* calls that fail do not free what they had allocated */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "errors: all caught\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contexts of functions ---- */

typedef struct {
  PetscInt  calls;
  PetscBool gone;
} Context;

static PetscErrorCode ContextDestroy(PetscCtxRt ctx)
{
  Context *c = PATCHFD_DESTROY_CTX(Context, ctx);

  PetscFunctionBeginUser;
  c->gone = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the box as it is, and a coefficient */
static PetscErrorCode WithContext(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  Context *c = (Context *)ctx;

  PetscFunctionBeginUser;
  PetscCheck(!c->gone, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A function is called with a context that is gone");
  c->calls++;
  for (PetscInt i = 0; i < Nc; i++) u[i] = Nc == dim ? x[i] : 1 + x[0] * x[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what owns the contexts lives as long as a DM that may call the functions, whatever is destroyed first */
static PetscErrorCode TestContexts(void)
{
  const PetscInt cells[] = {4, 4};
  Context        old = {0}, c = {0};
  PetscContainer owner;
  PetscInt       calls;
  DM             dm, fine, coarse, clone;
  DMKSP          functions;
  Mat            A;
  Vec            v;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  for (int i = 0; i < 2; i++) { /* the second one in place of the first */
    PetscCall(DMBoxSetMapping(dm, WithContext, i ? &c : &old));
    PetscCall(DMBoxSetDiffusionFunction(dm, 1, WithContext, NULL, i ? &c : &old));
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &owner));
    PetscCall(PetscContainerSetPointer(owner, i ? &c : &old));
    PetscCall(PetscContainerSetCtxDestroy(owner, ContextDestroy));
    PetscCall(PetscObjectCompose((PetscObject)dm, "DMBoxFunctions", (PetscObject)owner));
    PetscCall(PetscContainerDestroy(&owner));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "set: the first %s\n", old.gone ? "is gone" : "lives"));
  }
  PetscCall(DMSetUp(dm));
  PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
  PetscCall(DMGetDMKSP(fine, &functions)); /* shared, it would name dm as its owner after dm is gone */
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "functions for KSP of a refined mesh: %s\n", functions->originaldm == fine ? "its own" : "SHARED"));
  PetscCall(DMCoarsen(dm, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMClone(dm, &clone));
  PetscCall(DMDestroy(&dm));
  calls = c.calls;
  PetscCall(DMCreateMatrix(fine, &A));
  PetscCall(DMDestroy(&fine));
  PetscCall(DMDestroy(&clone));
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(MatGetDiagonal(A, v));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a matrix alone: %s\n", c.calls > calls ? "called" : "NOT CALLED"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a coarse mesh alone: %s\n", c.gone ? "gone" : "lives"));
  PetscCall(DMDestroy(&coarse));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "after the last one: %s\n", c.gone ? "gone" : "LIVES"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("coordinates", {"coordinates", TestCoordinates}, {"local", TestLocal}, {"files", TestFiles}, {"snes", TestSNES},
          {"contexts", TestContexts}, {"errors", TestErrors})

/*TEST

  testset:
    nsize: {{1 2 3 4}}
    test:
      suffix: coordinates
      args: -test coordinates
    test:
      suffix: local
      args: -test local
    test:
      suffix: files
      filter: grep -v -E "Vec|type|Process"
      args: -test files

  # nodes on top of each other
  testset:
    nsize: {{1 3}}
    args: -dm_box_space dgq
    test:
      suffix: coordinates_dgq
      output_file: output/dm_coordinates.out
      args: -test coordinates
    test:
      suffix: local_dgq
      output_file: output/dm_local.out
      args: -test local
    test:
      suffix: files_dgq
      output_file: output/dm_files.out
      filter: grep -v -E "Vec|type|Process"
      args: -test files
    test:
      suffix: snes_dgq
      output_file: output/dm_snes.out
      args: -test snes -dm_refine 1 -pc_type patchmg -ksp_type fgmres -snes_linesearch_type basic

  # several fields: coordinates are those of the pressure
  testset:
    nsize: {{1 2 3 4}}
    args: -dm_box_space rt -dm_box_operator stokes
    test:
      suffix: coordinates_rt
      output_file: output/dm_coordinates.out
      args: -test coordinates
    test:
      suffix: local_rt
      output_file: output/dm_local.out
      args: -test local
    test:
      suffix: files_rt
      output_file: output/dm_files.out
      filter: grep -v -E "Vec|type|Process"
      args: -test files

  testset:
    requires: cuda gpu
    nsize: {{1 2}}
    test:
      suffix: local_cuda
      output_file: output/dm_local.out
      args: -test local -cuda
    test:
      suffix: files_cuda
      output_file: output/dm_files.out
      filter: grep -v -E "Vec|type|Process"
      args: -test files -cuda
    test:
      suffix: local_dgq_cuda
      output_file: output/dm_local.out
      args: -test local -cuda -dm_box_space dgq

  # SNES alone, and with what it takes the Jacobian for
  testset:
    nsize: {{1 3}}
    args: -test snes -dm_refine 1
    test:
      suffix: snes
      output_file: output/dm_snes.out
      args: -pc_type patchmg -ksp_type fgmres -snes_linesearch_type basic
    test:
      suffix: snes_linear
      output_file: output/dm_snes.out
      args: -pc_type patchmg -snes_type ksponly
    test:
      suffix: snes_mg
      output_file: output/dm_snes.out
      args: -pc_type mg -pc_mg_levels 2 -mg_levels_ksp_type richardson -mg_levels_pc_type patchfd -mg_coarse_pc_type patchfd -mg_coarse_pc_patchfd_patch box
  test:
    suffix: snes_mf
    args: -test snes -pc_type patchmg -ksp_type fgmres -snes_mf_operator
  test:
    suffix: snes_aij
    nsize: 2
    args: -test snes -dm_mat_type aij -pc_type jacobi

  test:
    suffix: contexts
    nsize: {{1 2}}
    args: -test contexts

  test:
    suffix: errors
    nsize: {{1 2}}
    args: -test errors

TEST*/
