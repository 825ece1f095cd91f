static char help[] = "DMBOX: layout, halo, hierarchy, functions, files, errors.\n\
  -test layout | hierarchy | function | vtk | errors | speed\n\n";

#include <patchfd/private/boximpl.h>
#include "catch.h"
#include "runtest.h"
#include "vtkfile.h"

#define RANGE(r) ((const PetscInt(*)[2])(r))

/* ------------------------------------------------ layout and halo ------------------------------------------------ */

static inline PetscInt Natural(const DM_Box *box, const PatchFDBox *b, PetscInt i, PetscInt j, PetscInt k)
{
  return (b->lo[0] + i) + box->field[0].line[0].nnodes * ((b->lo[1] + j) + box->field[0].line[1].nnodes * (b->lo[2] + k));
}

static inline PetscScalar Get(PatchFDKernels kern, const void *a, PetscInt i)
{
  return kern->size == sizeof(float) ? (PetscScalar)((const float *)a)[i] : ((const PetscScalar *)a)[i];
}

/* every node has one owner, and the natural star forest knows it */
static PetscErrorCode CheckOwners(DM dm)
{
  DM_Box      *box = (DM_Box *)dm->data;
  PetscInt     N = 1, n = 0, *count;
  PetscSF      sf;
  PetscScalar *owned, *all;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) N *= box->field[0].line[d].nnodes;
  PetscCall(PetscCalloc1(N, &count));
  PetscCall(PetscMalloc2(PatchFDBoxSize(&box->field[0].global), &owned, N, &all));
  for (PetscInt k = 0; k < box->field[0].global.n[2]; k++) {
    for (PetscInt j = 0; j < box->field[0].global.n[1]; j++) {
      for (PetscInt i = 0; i < box->field[0].global.n[0]; i++) {
        const PetscInt m = Natural(box, &box->field[0].global, i, j, k);

        count[m]++;
        owned[n++] = m;
      }
    }
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, count, N, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)dm)));
  PetscCall(DMBoxCreateNaturalSF(dm, &sf));
  PetscCall(PetscSFBcastBegin(sf, MPIU_SCALAR, owned, all, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_SCALAR, owned, all, MPI_REPLACE));
  for (PetscInt i = 0; i < N; i++) {
    PetscCheck(count[i] == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Node %" PetscInt_FMT " has %" PetscInt_FMT " owners", i, count[i]);
    PetscCheck(all[i] == i, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Natural node %" PetscInt_FMT " is %g", i, (double)all[i]);
  }
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscFree2(owned, all));
  PetscCall(PetscFree(count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* natural numbers, written by the owners, arrive at every ghost; so do PETSc's */
static PetscErrorCode CheckHalo(DM dm)
{
  DM_Box      *box = (DM_Box *)dm->data;
  Vec          v;
  PetscScalar *array;
  PetscInt     start, end, *index, n = 0;
  void        *local;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(VecGetOwnershipRange(v, &start, &end));
  PetscCall(DMBoxGetLocalToGlobal(dm, &index));
  for (int what = 0; what < 2; what++) {
    PetscCall(VecGetArrayWrite(v, &array));
    n = 0;
    for (PetscInt k = 0; k < box->field[0].global.n[2]; k++) {
      for (PetscInt j = 0; j < box->field[0].global.n[1]; j++) {
        for (PetscInt i = 0; i < box->field[0].global.n[0]; i++, n++)
          array[n] = what ? start + n : Natural(box, &box->field[0].global, i, j, k);
      }
    }
    PetscCheck(n == end - start, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Local size %" PetscInt_FMT " is not %" PetscInt_FMT, end - start, n);
    PetscCall(DMBoxGlobalToLocalBegin(dm, (PatchFDKernels)&PatchFDKernelsHostDouble, array, DMBOX_WORK_B, &local));
    PetscCall(DMBoxGlobalToLocalEnd(dm, (PatchFDKernels)&PatchFDKernelsHostDouble, array, DMBOX_WORK_B, &local));
    n = 0;
    for (PetscInt k = 0; k < box->field[0].local.n[2]; k++) {
      for (PetscInt j = 0; j < box->field[0].local.n[1]; j++) {
        for (PetscInt i = 0; i < box->field[0].local.n[0]; i++, n++) {
          const PetscInt expected = what ? index[n] : Natural(box, &box->field[0].local, i, j, k);

          PetscCheck(((PetscScalar *)local)[n] == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                     "Local node %" PetscInt_FMT " got %g, not %" PetscInt_FMT, n, (double)((PetscScalar *)local)[n], expected);
        }
      }
    }
    PetscCall(VecRestoreArrayWrite(v, &array));
  }
  PetscCall(PetscFree(index));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* <R x, y> = <x, R' y>, R the halo; small integers, so that float is exact too */
static PetscErrorCode CheckHaloAdd(DM dm, PatchFDKernels kern)
{
  DM_Box      *box = (DM_Box *)dm->data;
  const size_t n   = PatchFDBoxSize(&box->field[0].local);
  PetscRandom  rand;
  PetscReal    dot[2] = {0, 0}, r;
  PetscScalar *x, *y;
  void        *work[2];
  PetscMPIInt  rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)dm), &rank));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rand));
  PetscCall(PetscRandomSetInterval(rand, 0, 8));
  PetscCall(PetscRandomSetSeed(rand, 17 + (unsigned long)rank));
  PetscCall(PetscRandomSeed(rand));
  PetscCall(PetscMalloc2(n, &x, n, &y));
  for (int s = 0; s < 2; s++) PetscCall(DMBoxGetWork(dm, kern, s, &work[s]));
  for (size_t i = 0; i < n; i++) {
    PetscCall(PetscRandomGetValueReal(rand, &r));
    x[i] = PetscFloorReal(r);
    PetscCall(PetscRandomGetValueReal(rand, &r));
    y[i] = PetscFloorReal(r);
    if (kern->size == sizeof(float)) {
      ((float *)work[0])[i] = (float)x[i];
      ((float *)work[1])[i] = (float)y[i];
    } else {
      ((PetscScalar *)work[0])[i] = x[i];
      ((PetscScalar *)work[1])[i] = y[i];
    }
  }
  PetscCall(DMBoxHaloBegin(dm, kern, 1, work));
  PetscCall(DMBoxHaloEnd(dm, kern, 1, work));
  PetscCall(DMBoxHaloAdd(dm, kern, work[1]));
  for (PetscInt k = 0, m = 0; k < box->field[0].local.n[2]; k++) {
    for (PetscInt j = 0; j < box->field[0].local.n[1]; j++) {
      for (PetscInt i = 0; i < box->field[0].local.n[0]; i++, m++) {
        const PetscInt g[3]  = {i + box->field[0].local.lo[0], j + box->field[0].local.lo[1], k + box->field[0].local.lo[2]};
        PetscBool      owned = PETSC_TRUE;

        for (PetscInt d = 0; d < 3; d++) owned = (PetscBool)(owned && g[d] >= box->field[0].own[d][0] && g[d] < box->field[0].own[d][1]);
        dot[0] += Get(kern, work[0], m) * y[m];
        if (owned) dot[1] += x[m] * Get(kern, work[1], m);
      }
    }
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, dot, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)dm)));
  PetscCheck(dot[0] == dot[1] && dot[0] > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: <R x, y> = %g, <x, R' y> = %g", kern->name,
             (double)dot[0], (double)dot[1]);
  PetscCall(PetscFree2(x, y));
  PetscCall(PetscRandomDestroy(&rand));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckLayout(DM dm)
{
  DM_Box     *box = (DM_Box *)dm->data;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  PetscCheck((size == 1) == !box->halo, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A halo on one rank, or none on several");
  PetscCheck(box->processes[0] * box->processes[1] * box->processes[2] == size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Wrong process grid");
  PetscCall(CheckOwners(dm));
  PetscCall(CheckHalo(dm));
  PetscCall(CheckHaloAdd(dm, (PatchFDKernels)&PatchFDKernelsHostDouble));
  PetscCall(CheckHaloAdd(dm, (PatchFDKernels)&PatchFDKernelsHostFloat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLayout(void)
{
  const struct {
    PetscInt dim, cells[3], degree, line; /* line: all processes in this direction, or -1 */
  } c[] = {{1, {16, 0, 0}, 1, -1}, {1, {8, 0, 0}, 4, -1}, {2, {8, 16, 0}, 2, -1}, {2, {9, 8, 0}, 1, -1},
           {2, {8, 8, 0}, 3, 0},   {3, {8, 8, 8}, 1, -1}, {3, {8, 4, 16}, 2, -1}, {3, {5, 7, 9}, 2, -1},
           {3, {8, 8, 8}, 1, 2},   {3, {4, 16, 8}, 3, 1}, {3, {16, 4, 4}, 1, 0}};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(c); t++) {
    DM       dm, coarse;
    PetscInt levels, processes[3] = {1, 1, 1}, empty = 0;
    DM_Box  *box;

    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, c[t].dim, c[t].cells, c[t].degree, &dm));
    if (c[t].line >= 0) {
      processes[c[t].line] = size;
      PetscCall(DMBoxSetProcesses(dm, processes));
    }
    PetscCall(DMSetUp(dm));
    PetscCall(CheckLayout(dm));
    PetscCall(DMBoxGetNumCoarsenings(dm, &levels));
    for (PetscInt l = 0; l < levels; l++) {
      PetscCall(DMCoarsen(dm, MPI_COMM_NULL, &coarse));
      PetscCall(CheckLayout(coarse));
      PetscCall(DMDestroy(&dm));
      dm = coarse;
    }
    /* the ranks left without cells: the longest line of processes has one cell each at most */
    box = (DM_Box *)dm->data;
    for (PetscInt d = 0; d < 3; d++) {
      for (PetscInt p = 0; p < box->processes[d]; p++) empty += box->splits[d][p] == box->splits[d][p + 1];
    }
    if (size == 8 && t == 8) PetscCheck(empty == 6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " ranks without cells, not 6", empty);
    PetscCall(DMDestroy(&dm));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "layout and halo: %d boxes\n", (int)PETSC_STATIC_ARRAY_LENGTH(c)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ hierarchy ------------------------------------------------ */

static const PetscReal Graded[] = {-1, -0.5, 0.25, 0.5, 3};

static PetscErrorCode CreateGraded(MPI_Comm comm, DM *dm)
{
  const PetscInt          cells[2] = {4, 8};
  const PetscReal         lower[2] = {-1, 2}, upper[2] = {3, 4}, diffusion[2] = {2, 5};
  const DMBoxBoundaryType boundary[4] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET,
                                         DMBOX_BOUNDARY_NEUMANN};

  PetscFunctionBegin;
  PetscCall(DMBoxCreate(comm, 2, cells, 3, dm));
  PetscCall(DMBoxSetBounds(*dm, lower, upper));
  PetscCall(DMBoxSetVertices(*dm, 0, 5, Graded));
  PetscCall(DMBoxSetBoundary(*dm, boundary));
  PetscCall(DMBoxSetPoisson(*dm, diffusion, 0.5));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_Q));
  PetscCall(DMSetVecType(*dm, VECMPI));
  PetscCall(DMSetMatType(*dm, MATIS));
  PetscCall(DMSetOptionsPrefix(*dm, "my_"));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* everything that one DM gets from another; the cells are given */
static PetscErrorCode CheckGraded(DM dm, PetscInt nx, PetscInt ny)
{
  PetscInt          cells[2], degree, processes[2];
  PetscReal         lower[2], upper[2], diffusion[2], shift;
  DMBoxBoundaryType boundary[4];
  DMBoxSpace        space;
  const char       *prefix;
  PetscBool         flg[3];
  Vec               v;
  PetscMPIInt       size;
  DM_Box           *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCheck(cells[0] == nx && cells[1] == ny, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT " cells", cells[0],
             cells[1]);
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  PetscCheck(lower[0] == -1 && lower[1] == 2 && upper[0] == 3 && upper[1] == 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Bounds");
  PetscCheck(box->field[0].line[0].vertices[nx / 4] == -0.5 || nx < 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Vertex %g",
             (double)box->field[0].line[0].vertices[nx / 4]);
  PetscCheck(box->field[0].line[0].vertices[nx / 2] == 0.25, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Vertex %g",
             (double)box->field[0].line[0].vertices[nx / 2]);
  PetscCall(DMBoxGetDegree(dm, &degree));
  PetscCall(DMBoxGetSpace(dm, &space));
  PetscCheck(degree == 3 && space == DMBOX_SPACE_Q, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Degree %" PetscInt_FMT, degree);
  PetscCall(DMBoxGetBoundary(dm, boundary));
  PetscCheck(boundary[0] == DMBOX_BOUNDARY_NEUMANN && boundary[1] == DMBOX_BOUNDARY_DIRICHLET && boundary[2] == DMBOX_BOUNDARY_DIRICHLET &&
               boundary[3] == DMBOX_BOUNDARY_NEUMANN,
             PETSC_COMM_SELF, PETSC_ERR_PLIB, "Boundary");
  PetscCheck(!box->field[0].line[0].dirichlet[0] && box->field[0].line[0].dirichlet[1] && box->field[0].line[1].dirichlet[0] &&
               !box->field[0].line[1].dirichlet[1],
             PETSC_COMM_SELF, PETSC_ERR_PLIB, "Boundary of lines");
  PetscCall(DMBoxGetPoisson(dm, diffusion, &shift));
  PetscCheck(diffusion[0] == 2 && diffusion[1] == 5 && shift == 0.5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Coefficients");
  PetscCall(DMBoxGetProcesses(dm, processes));
  PetscCheck(processes[0] * processes[1] == size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Processes");
  PetscCall(DMGetOptionsPrefix(dm, &prefix));
  PetscCall(PetscStrcmp(prefix, "my_", &flg[0]));
  PetscCall(PetscStrcmp(dm->mattype, MATIS, &flg[1]));
  PetscCheck(flg[0] && flg[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Prefix %s, matrix type %s", prefix, dm->mattype);
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(PetscObjectTypeCompare((PetscObject)v, VECMPI, &flg[2]));
  PetscCheck(flg[2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Vec type");
  PetscCall(VecDestroy(&v));
  PetscCall(CheckLayout(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefineOption(void)
{
  DM       dm, clone;
  PetscInt cells[2] = {3, 5}, level;
  DM_Box  *box;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-r_dm_refine", "2"));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
  PetscCall(DMBoxSetVertices(dm, 0, 5, Graded));
  PetscCall(DMSetOptionsPrefix(dm, "r_"));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetFromOptions(dm)); /* the option holds once */
  PetscCall(DMClone(dm, &clone));
  for (int i = 0; i < 2; i++) {
    PetscCall(DMSetUp(i ? clone : dm));
    PetscCall(DMBoxGetCells(i ? clone : dm, cells));
    PetscCall(DMGetRefineLevel(i ? clone : dm, &level));
    PetscCheck(cells[0] == 16 && cells[1] == 20 && level == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%" PetscInt_FMT " x %" PetscInt_FMT " cells, level %" PetscInt_FMT, cells[0], cells[1], level);
    box = (DM_Box *)(i ? clone : dm)->data;
    PetscCheck(box->field[0].line[0].vertices[1] == -0.875 && box->field[0].line[0].vertices[4] == -0.5, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Vertices");
  }
  PetscCall(DMDestroy(&clone));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscOptionsClearValue(NULL, "-r_dm_refine"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOptions(void)
{
  DM                dm;
  PetscInt          cells[3], dim, degree;
  PetscReal         lower[3], upper[3], diffusion[3], shift;
  DMBoxBoundaryType boundary[6];

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(
    NULL, "-o_dm_box_dim 2 -o_dm_box_cells 10 -o_dm_box_lower -1 -o_dm_box_upper 2,3 -o_dm_box_degree 5 -o_dm_box_space q "
          "-o_dm_box_boundary Dirichlet,neumann,NEUMANN,neumann -o_dm_box_diffusion 3,4 -o_dm_box_shift 0.25 -o_dm_box_processes -1,1"));
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMCreate(PETSC_COMM_WORLD, &dm));
  PetscCall(DMSetType(dm, DMBOX));
  PetscCall(DMSetOptionsPrefix(dm, "o_"));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetDegree(dm, &degree));
  PetscCheck(dim == 2 && cells[0] == 10 && cells[1] == 10 && degree == 5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Dimension, cells, degree");
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  PetscCheck(lower[0] == -1 && lower[1] == -1 && upper[0] == 2 && upper[1] == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Bounds");
  PetscCall(DMBoxGetBoundary(dm, boundary));
  PetscCheck(boundary[0] == DMBOX_BOUNDARY_DIRICHLET && boundary[1] == DMBOX_BOUNDARY_NEUMANN && boundary[2] == DMBOX_BOUNDARY_NEUMANN &&
               boundary[3] == DMBOX_BOUNDARY_NEUMANN,
             PETSC_COMM_SELF, PETSC_ERR_PLIB, "Boundary");
  PetscCall(DMBoxGetPoisson(dm, diffusion, &shift));
  PetscCheck(diffusion[0] == 3 && diffusion[1] == 4 && shift == 0.25, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Coefficients");
  PetscCall(CheckLayout(dm));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestHierarchy(void)
{
  DM              dm, fine, coarse, clone;
  const PetscReal diffusion[2] = {2, 5}, other[2] = {1, 1};
  PetscReal       got[2], shift;
  PetscInt        n, up, down;

  PetscFunctionBegin;
  PetscCall(CreateGraded(PETSC_COMM_WORLD, &dm));
  PetscCall(CheckGraded(dm, 4, 8));
  PetscCall(DMBoxSetSemicoarsening(dm, 0)); /* for all that is made from it, too */
  PetscCall(DMBoxGetNumCoarsenings(dm, &n));
  PetscCheck(n == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " coarsenings", n);
  PetscCall(DMRefine(dm, MPI_COMM_NULL, &fine));
  PetscCall(CheckGraded(fine, 8, 16));
  PetscCall(DMCoarsen(fine, PETSC_COMM_WORLD, &coarse));
  PetscCall(CheckGraded(coarse, 4, 8));
  PetscCall(DMGetRefineLevel(coarse, &up));
  PetscCall(DMGetCoarsenLevel(coarse, &down));
  PetscCheck(up == 1 && down == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Levels %" PetscInt_FMT ", %" PetscInt_FMT, up, down);
  /* changed coefficients reach a coarse DM when a solver restricts the problem */
  PetscCall(DMBoxSetPoisson(fine, other, 7));
  PetscCall(DMRestrict(fine, NULL, NULL, NULL, coarse));
  PetscCall(DMBoxGetPoisson(coarse, got, &shift));
  PetscCheck(got[0] == 1 && got[1] == 1 && shift == 7, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Coefficients were not restricted");
  PetscCall(DMBoxSetPoisson(fine, diffusion, 0.5));
  PetscCall(DMRestrict(fine, NULL, NULL, NULL, coarse));
  PetscCall(DMDestroy(&fine));
  PetscCall(DMCoarsen(coarse, PETSC_COMM_WORLD, &fine));
  PetscCall(CheckGraded(fine, 2, 4));
  PetscCall(DMClone(fine, &clone));
  PetscCall(CheckGraded(clone, 2, 4));
  PetscCall(DMDestroy(&clone));
  PetscCall(DMDestroy(&fine));
  PetscCall(DMDestroy(&coarse));
  PetscCall(DMClone(dm, &clone));
  PetscCall(DMDestroy(&dm));
  PetscCall(CheckGraded(clone, 4, 8));
  PetscCall(DMDestroy(&clone));
  PetscCall(TestRefineOption());
  PetscCall(TestOptions());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "hierarchy and options\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ functions ------------------------------------------------ */

/* the product of ((1 + x) / 4)^power over the directions, times 1 + time */
static PetscErrorCode Power(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  PetscFunctionBegin;
  PetscCheck(Nc == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " components", Nc);
  u[0] = 1 + time;
  for (PetscInt d = 0; d < dim; d++) u[0] *= PetscPowRealInt((1 + x[d]) / 4, *(PetscInt *)ctx);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its integral over [lower, upper] in the directions that differ, a point value in the others */
static PetscReal PowerIntegral(PetscInt dim, PetscInt power, const PetscReal lower[], const PetscReal upper[])
{
  PetscReal s = 1;

  for (PetscInt d = 0; d < dim; d++) {
    const PetscReal a = (1 + lower[d]) / 4, b = (1 + upper[d]) / 4;

    s *= a == b ? PetscPowRealInt(a, power) : 4 * (PetscPowRealInt(b, power + 1) - PetscPowRealInt(a, power + 1)) / (power + 1);
  }
  return s;
}

/* one side of the boundary: a flux that knows where it is */
typedef struct {
  PetscInt  direction, power;
  PetscReal x;
} Side;

static PetscErrorCode PowerOnSide(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  Side *side = (Side *)ctx;

  PetscFunctionBegin;
  u[0] = 0;
  if (x[side->direction] == side->x) PetscCall(Power(dim, time, x, Nc, u, &side->power));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NotANumber(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                 PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBegin;
  u[0] = x[0] > 0.5 ? PetscSqrtReal(-PetscAbsReal(x[0])) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Close(const char what[], PetscReal a, PetscReal b)
{
  PetscFunctionBegin;
  PetscCheck(PetscAbsReal(a - b) <= 1e-12 * PetscMax(1, PetscAbsReal(b)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %.16g, not %.16g", what,
             (double)a, (double)b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStretched(MPI_Comm comm, PetscInt dim, PetscInt degree, const DMBoxBoundaryType boundary[], DM *dm)
{
  const PetscInt  cells[3] = {4, 8, 8};
  const PetscReal lower[3] = {-1, 0, 0.25}, upper[3] = {3, 2, 0.75};

  PetscFunctionBegin;
  PetscCall(DMBoxCreate(comm, dim, cells, degree, dm));
  PetscCall(DMBoxSetBounds(*dm, lower, upper));
  PetscCall(DMBoxSetVertices(*dm, 0, 5, Graded));
  PetscCall(DMBoxSetBoundary(*dm, boundary));
  PetscCall(DMSetFromOptions(*dm));
  if (dim == 1) { /* enough cells for 8 ranks */
    PetscCall(DMBoxSetVertices(*dm, 0, 0, NULL));
    PetscCall(DMBoxSetCells(*dm, &cells[1]));
  }
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckInterpolation(DM dm, PetscInt degree)
{
  Vec       v, w;
  PetscReal l2, max, lower[3], upper[3];
  PetscInt  power = degree, twice = 2 * degree;

  PetscFunctionBegin;
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(DMBoxInterpolateFunction(dm, 1, Power, &power, v));
  PetscCall(DMBoxComputeError(dm, 1, Power, &power, v, &l2, &max));
  PetscCall(Close("error of interpolation", l2, 0));
  PetscCall(Close("largest error of interpolation", max, 0));
  /* the L2 norm of a polynomial is known */
  PetscCall(VecDuplicate(v, &w));
  PetscCall(VecZeroEntries(w));
  PetscCall(DMBoxComputeError(dm, 0, Power, &power, w, &l2, NULL));
  PetscCall(Close("L2 norm", l2, PetscSqrtReal(PowerIntegral(dm->dim, twice, lower, upper))));
  PetscCall(DMBoxComputeError(dm, 0, NotANumber, NULL, w, &l2, &max));
  PetscCheck(PetscIsNanReal(l2) && PetscIsNanReal(max), PETSC_COMM_SELF, PETSC_ERR_PLIB, "NaN vanished: %g, %g", (double)l2, (double)max);
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sum of b_i u_i = integral of f u, for polynomials, without Dirichlet conditions */
static PetscErrorCode CheckLoad(DM dm, PetscInt degree)
{
  Vec       b, u;
  PetscReal lower[3], upper[3], volume = 1, area = 0, boundary = 0, dot;
  PetscInt  zero = 0, two = 2, total = degree + 2;

  PetscFunctionBegin;
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscReal side = 1;

    volume *= upper[d] - lower[d];
    for (PetscInt e = 0; e < dm->dim; e++) side *= e == d ? 1 : upper[e] - lower[e];
    area += 2 * side;
    for (PetscInt end = 0; end < 2; end++) {
      PetscReal l[3] = {lower[0], lower[1], lower[2]}, h[3] = {upper[0], upper[1], upper[2]};

      l[d] = h[d] = end ? upper[d] : lower[d];
      boundary += PowerIntegral(dm->dim, total, l, h);
    }
  }
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Power, &degree, u));
  PetscCall(VecZeroEntries(b));
  PetscCall(DMBoxAddLoad(dm, 0, Power, &zero, b));
  PetscCall(VecSum(b, &dot));
  PetscCall(Close("volume", dot, volume));
  PetscCall(DMBoxAddNeumannLoad(dm, 0, Power, &zero, b));
  PetscCall(VecSum(b, &dot));
  PetscCall(Close("volume and area", dot, volume + area));
  PetscCall(VecZeroEntries(b));
  PetscCall(DMBoxAddLoad(dm, 0, Power, &two, b));
  PetscCall(VecDot(b, u, &dot));
  PetscCall(Close("load", dot, PowerIntegral(dm->dim, total, lower, upper)));
  PetscCall(VecZeroEntries(b));
  PetscCall(DMBoxAddNeumannLoad(dm, 0, Power, &two, b));
  PetscCall(VecDot(b, u, &dot));
  PetscCall(Close("Neumann load", dot, boundary));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dirichlet rows stay as they were; the others are those of the problem without Dirichlet sides and with a flux on one side only */
static PetscErrorCode CheckDirichletRows(DM neumann, PetscInt degree)
{
  DM                 dm;
  DM_Box            *box;
  Vec                b, a;
  DMBoxBoundaryType  type[6];
  Side               side = {neumann->dim - 1, 2, 0};
  PetscReal          lower[3];
  const PetscScalar *x, *y;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 6; i++) type[i] = i == 2 * side.direction ? DMBOX_BOUNDARY_NEUMANN : DMBOX_BOUNDARY_DIRICHLET;
  PetscCall(CreateStretched(PetscObjectComm((PetscObject)neumann), neumann->dim, degree, type, &dm));
  PetscCall(DMBoxGetBounds(dm, lower, NULL));
  side.x = lower[side.direction];
  PetscCall(DMCreateGlobalVector(neumann, &a));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecSet(a, 42));
  PetscCall(VecSet(b, 42));
  PetscCall(DMBoxAddLoad(neumann, 0, Power, &degree, a));
  PetscCall(DMBoxAddNeumannLoad(neumann, 0, PowerOnSide, &side, a));
  PetscCall(DMBoxAddLoad(dm, 0, Power, &degree, b));
  PetscCall(DMBoxAddNeumannLoad(dm, 0, Power, &side.power, b));
  box = (DM_Box *)dm->data;
  PetscCall(VecGetArrayRead(a, &x));
  PetscCall(VecGetArrayRead(b, &y));
  for (PetscInt k = 0, m = 0; k < box->field[0].global.n[2]; k++) {
    for (PetscInt j = 0; j < box->field[0].global.n[1]; j++) {
      for (PetscInt i = 0; i < box->field[0].global.n[0]; i++, m++) {
        const PetscInt g[3] = {i + box->field[0].global.lo[0], j + box->field[0].global.lo[1], k + box->field[0].global.lo[2]};
        PetscBool      free = PETSC_TRUE;

        for (PetscInt d = 0; d < dm->dim; d++) {
          const PatchFDLine *line = &box->field[0].line[d];

          free = (PetscBool)(free && !(g[d] == 0 && PatchFDLineFixed(line, 0)) && !(g[d] == line->nnodes - 1 && PatchFDLineFixed(line, 1)));
        }
        PetscCall(Close(free ? "free row" : "Dirichlet row", y[m], free ? x[m] : 42));
      }
    }
  }
  PetscCall(VecRestoreArrayRead(a, &x));
  PetscCall(VecRestoreArrayRead(b, &y));
  PetscCall(VecDestroy(&a));
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFunction(void)
{
  const DMBoxBoundaryType neumann[6] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                        DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (PetscInt degree = 1; degree <= (dim == 3 ? 4 : 8); degree++) {
      DM       dm, coarse;
      PetscInt n;

      PetscCall(CreateStretched(PETSC_COMM_WORLD, dim, degree, neumann, &dm));
      PetscCall(CheckInterpolation(dm, degree));
      PetscCall(CheckLoad(dm, degree));
      PetscCall(CheckDirichletRows(dm, degree));
      PetscCall(DMBoxGetNumCoarsenings(dm, &n));
      for (PetscInt l = 0; l < n; l++) { /* some ranks have nothing */
        PetscCall(DMCoarsen(dm, MPI_COMM_NULL, &coarse));
        PetscCall(DMDestroy(&dm));
        dm = coarse;
      }
      PetscCall(CheckInterpolation(dm, degree));
      PetscCall(CheckLoad(dm, degree));
      PetscCall(DMDestroy(&dm));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "functions: interpolation, load, Neumann load, error\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ VTK ------------------------------------------------ */

static PetscErrorCode TestVTK(void)
{
  const DMBoxBoundaryType dirichlet[6] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET,
                                          DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET};
  PetscMPIInt             size;
  PetscInt                one = 1;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt dim = 1; dim <= 3; dim++) {
    DM          dm, coarse;
    Vec         u, v;
    PetscViewer viewer;
    const int   levels = size <= 4 ? 2 : 1; /* more ranks than cells of the coarse mesh cannot write a file */

    PetscCall(CreateStretched(PETSC_COMM_WORLD, dim, 2, dirichlet, &dm));
    for (int level = 0; level < levels; level++) {
      const DM_Box *box = (DM_Box *)dm->data;
      PetscReal    *nodes[3];
      PetscInt      n[3];

      for (PetscInt d = 0; d < 3; d++) {
        n[d] = box->field[0].line[d].nnodes;
        PetscCall(PetscMalloc1(n[d], &nodes[d]));
        PetscCall(PatchFDLineNodes(&box->field[0].line[d], nodes[d]));
      }
      PetscCall(DMCreateGlobalVector(dm, &u));
      PetscCall(DMBoxInterpolateFunction(dm, 0, Power, &one, u));
      PetscCall(VecDuplicate(u, &v)); /* a duplicate can be viewed as well, in the same file */
      PetscCall(VecSet(v, 3));
      PetscCall(PetscObjectSetName((PetscObject)u, "temperature"));
      PetscCall(PetscObjectSetName((PetscObject)v, "other"));
      PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, "box_test.vts", FILE_MODE_WRITE, &viewer));
      PetscCall(VecView(u, viewer));
      PetscCall(VecView(v, viewer));
      PetscCall(VecDestroy(&v));
      PetscCall(VecDestroy(&u));
      if (level == levels - 1) PetscCall(DMDestroy(&dm)); /* before the viewer writes */
      else {
        PetscCall(DMCoarsen(dm, MPI_COMM_NULL, &coarse));
        PetscCall(DMDestroy(&dm));
        dm = coarse;
      }
      PetscCall(PetscViewerDestroy(&viewer));
      PetscCall(VTKFileCheck(PETSC_COMM_WORLD, "box_test.vts", dim, nodes, n, size, Power, &one));
      for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(nodes[d]));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "VTK files\n"));
  {
    DM       dm;
    PetscInt cells = 1;
    Vec      u;

    PetscCall(DMBoxCreate(PETSC_COMM_SELF, 1, &cells, 1, &dm));
    PetscCall(DMSetUp(dm));
    PetscCall(DMCreateGlobalVector(dm, &u));
    PetscCall(VecSet(u, 3));
    PetscMPIInt rank;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    if (rank == 0) {
      PetscCall(DMView(dm, PETSC_VIEWER_STDOUT_SELF));
      PetscCall(VecView(u, PETSC_VIEWER_STDOUT_SELF));
    }
    PetscCall(VecDestroy(&u));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ errors ------------------------------------------------ */

static PetscErrorCode BadFunction(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                                  PETSC_UNUSED PetscInt Nc, PETSC_UNUSED PetscScalar u[], PETSC_UNUSED void *ctx)
{
  return PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_USER, PETSC_ERROR_INITIAL,
                    "thrown by the function");
}

/* a new DM with these options, up to set-up */
static PetscErrorCode SetUpWith(const char options[], DM *dm)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMBOX));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBadOptions(void)
{
  const struct {
    const char    *option, *value, *words;
    PetscErrorCode code;
  } bad[] = {
    {"-dm_box_dim", "0", "-dm_box_dim (DMSetDimension()) is 0", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_dim", "4", "it must be 1, 2 or 3", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_cells", "0", "-dm_box_cells (DMBoxSetCells()) has 0 cells", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_cells", "8,8,-3", "has -3 cells in direction 2", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_cells", "8,8", "-dm_box_cells has 2 values; in 3 dimensions it takes 1 or 3", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_cells", "8,8,8,8", "-dm_box_cells has at least 4 values", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_cells", "100000000000", "", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_degree", "0", "-dm_box_degree (DMBoxSetDegree()) is 0; it must be at least 1", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_lower", "2", "-dm_box_upper 1. is not larger than -dm_box_lower 2.", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_upper", "1,nan,1", "must be finite", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_upper", "1,1", "-dm_box_upper has 2 values", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_upper", "inf", "must be finite", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_lower", "0.999999999999999", "as small as rounding errors", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_upper", "1e-320", "as small as rounding errors", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_boundary", "dirichlet,robin", "-dm_box_boundary has 2 values; in 3 dimensions it takes 1 or 6", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_boundary", "robin", "\"robin\"; it takes dirichlet, neumann, supported, periodic and symmetry", PETSC_ERR_USER_INPUT},
    {"-dm_box_processes", "64,1,1", "-dm_box_processes (DMBoxSetProcesses()) is 64", PETSC_ERR_ARG_INCOMP},
    {"-dm_box_processes", "2,2,2", "Cannot arrange", PETSC_ERR_ARG_INCOMP},
    {"-dm_box_processes", "0", "must be at least 1, or -1", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_diffusion", "1,0,1", "-dm_box_diffusion (DMBoxSetPoisson()) is 0. in direction 1", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_box_diffusion", "nan", "positive and finite", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_refine", "-1", "-dm_refine is -1; it must be at least 0", PETSC_ERR_ARG_OUTOFRANGE},
    {"-dm_refine", "40", "refined 40 times", PETSC_ERR_ARG_OUTOFRANGE},
  };
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(bad); i++) {
    DM   dm = NULL;
    char options[128];

    if (PetscDefined(USE_64BIT_INDICES) && !bad[i].words[0]) continue;
    if (size == 8 && !strcmp(bad[i].value, "2,2,2")) continue;
    PetscCall(PetscSNPrintf(options, sizeof(options), "%s %s", bad[i].option, bad[i].value));
    FAILS(SetUpWith(options, &dm), bad[i].code, bad[i].words);
    PetscCall(PetscOptionsClearValue(NULL, bad[i].option));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBadVertices(void)
{
  const PetscInt  cells[2]     = {8, 8};
  const PetscReal decreasing[] = {0, 0.5, 0.5, 1}, lower[2] = {0, 0}, upper[2] = {2, 1};
  DM              dm;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
    FAILS(DMBoxSetVertices(dm, 2, 5, Graded), PETSC_ERR_ARG_OUTOFRANGE, "Direction is 2");
    FAILS(DMBoxSetVertices(dm, 0, 1, Graded), PETSC_ERR_ARG_OUTOFRANGE, "Number of vertices is 1");
    if (i == 0) {
      PetscCall(DMBoxSetVertices(dm, 0, 4, decreasing));
      FAILS(DMSetUp(dm), PETSC_ERR_ARG_OUTOFRANGE, "must be finite and increase");
    } else {
      PetscCall(DMBoxSetVertices(dm, 1, 5, Graded));
      if (i == 1) PetscCall(DMBoxSetCells(dm, cells));
      else PetscCall(DMBoxSetBounds(dm, lower, upper));
      if (i == 1)
        FAILS(DMSetUp(dm), PETSC_ERR_ARG_INCOMP, "gave 5 vertices for direction 1, but -dm_box_cells (DMBoxSetCells()) asks for 8");
      else FAILS(DMSetUp(dm), PETSC_ERR_ARG_INCOMP, "bounds [0., 1.]");
    }
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBadCalls(void)
{
  const PetscInt          cells[3] = {6, 10, 8};
  const PetscReal         one[3]   = {1, 1, 1};
  const DMBoxBoundaryType type[6]  = {(DMBoxBoundaryType)7,     DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET,
                                      DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET};
  PetscInt                degree;
  DM                      dm, da, other;
  Vec                     v;

  PetscFunctionBegin;
  /* another type of DM */
  PetscCall(DMCreate(PETSC_COMM_WORLD, &da));
  FAILS(DMBoxSetDegree(da, 2), PETSC_ERR_ARG_WRONG, "has type (not set)");
  PetscCall(DMSetType(da, DMSHELL));
  FAILS(DMBoxSetDegree(da, 2), PETSC_ERR_ARG_WRONG, "has type shell; only a DM of type box");
  FAILS(DMBoxGetDegree(da, &degree), PETSC_ERR_ARG_WRONG, "has type shell");
  FAILS(DMBoxInterpolateFunction(da, 0, BadFunction, NULL, NULL), PETSC_ERR_ARG_WRONG, "has type shell");
  PetscCall(DMDestroy(&da));
  /* the wrong moment */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, &dm));
  FAILS(DMCreateGlobalVector(dm, &v), PETSC_ERR_ARG_WRONGSTATE, "DMSetUp() must be called first");
  FAILS(DMRefine(dm, MPI_COMM_NULL, &other), PETSC_ERR_ARG_WRONGSTATE, "DMSetUp() must be called first");
  FAILS(DMCoarsen(dm, MPI_COMM_NULL, &other), PETSC_ERR_ARG_WRONGSTATE, "DMSetUp() must be called first");
  PetscCall(DMBoxSetBoundary(dm, type));
  FAILS(DMSetUp(dm), PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_boundary (DMBoxSetBoundary()) is 7");
  PetscCall(DMDestroy(&dm));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, &dm));
  PetscCall(DMBoxSetSpace(dm, (DMBoxSpace)9));
  FAILS(DMSetUp(dm), PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_space (DMBoxSetSpace()) is 9");
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_Q));
  PetscCall(DMSetUp(dm));
  FAILS(DMBoxSetCells(dm, cells), PETSC_ERR_ARG_WRONGSTATE, "cannot be changed after DMSetUp()");
  FAILS(DMBoxSetBounds(dm, one, one), PETSC_ERR_ARG_WRONGSTATE, "cannot be changed after DMSetUp()");
  FAILS(DMBoxSetVertices(dm, 0, 5, Graded), PETSC_ERR_ARG_WRONGSTATE, "cannot be changed after DMSetUp()");
  FAILS(DMBoxSetDegree(dm, 3), PETSC_ERR_ARG_WRONGSTATE, "cannot be changed after DMSetUp()");
  FAILS(DMBoxSetSpace(dm, DMBOX_SPACE_Q), PETSC_ERR_ARG_WRONGSTATE, "cannot be changed after DMSetUp()");
  FAILS(DMBoxSetBoundary(dm, type), PETSC_ERR_ARG_WRONGSTATE, "cannot be changed after DMSetUp()");
  FAILS(DMBoxSetProcesses(dm, cells), PETSC_ERR_ARG_WRONGSTATE, "cannot be changed after DMSetUp()");
  FAILS(DMSetFromOptions(dm), PETSC_ERR_ARG_WRONGSTATE, "cannot be called after DMSetUp()");
  FAILS(DMBoxSetPoisson(dm, one, PetscSqrtReal(-one[0])), PETSC_ERR_ARG_OUTOFRANGE, "it must be finite");
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sizes, communicators, functions that fail */
static PetscErrorCode TestBadVectors(void)
{
  const PetscInt cells[3] = {6, 10, 8};
  DM             dm, other;
  Vec            v;
  MPI_Comm       self = PETSC_COMM_SELF;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, &dm));
  PetscCall(DMSetUp(dm));
  FAILS(DMCoarsenHierarchy(dm, 4, (DM[4]){NULL, NULL, NULL, NULL}), PETSC_ERR_ARG_OUTOFRANGE, "Cannot coarsen 2 cells in direction 0");
  if (size > 1) FAILS(DMRefine(dm, self, &other), PETSC_ERR_SUP, "another communicator");
  PetscCall(VecCreateFromOptions(PETSC_COMM_WORLD, NULL, 1, 5, PETSC_DETERMINE, &v));
  FAILS(DMBoxInterpolateFunction(dm, 0, BadFunction, NULL, v), PETSC_ERR_ARG_SIZ, "local size 5");
  FAILS(DMBoxAddLoad(dm, 0, BadFunction, NULL, v), PETSC_ERR_ARG_SIZ, "local size 5");
  FAILS(DMBoxAddNeumannLoad(dm, 0, BadFunction, NULL, v), PETSC_ERR_ARG_SIZ, "local size 5");
  FAILS(DMBoxComputeError(dm, 0, BadFunction, NULL, v, NULL, NULL), PETSC_ERR_ARG_SIZ, "local size 5");
  PetscCall(VecDestroy(&v));
  PetscCall(DMCreateGlobalVector(dm, &v));
  FAILS(DMBoxInterpolateFunction(dm, 0, BadFunction, NULL, v), PETSC_ERR_USER, "thrown by the function");
  PetscCall(VecDestroy(&v));
  PetscCall(DMCreateGlobalVector(dm, &v));
  FAILS(DMBoxAddLoad(dm, 0, BadFunction, NULL, v), PETSC_ERR_USER, "thrown by the function");
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a file of a coarse mesh, of which one rank has nothing */
static PetscErrorCode TestBadFile(void)
{
  const PetscInt four = 4;
  DM             dm, other;
  Vec            v;
  PetscViewer    viewer;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size != 3) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 1, &four, 1, &dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCoarsen(dm, MPI_COMM_NULL, &other));
  PetscCall(DMCreateGlobalVector(other, &v));
  PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, "box_test_errors.vts", FILE_MODE_WRITE, &viewer));
  FAILS(VecView(v, viewer), PETSC_ERR_SUP, "number 1 has none of the 2 cells");
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&other));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(void)
{

  PetscFunctionBegin;
  PetscCall(PatchFDInitializePackage());
  PetscCall(TestBadOptions());
  PetscCall(TestBadVertices());
  PetscCall(TestBadCalls());
  PetscCall(TestBadVectors());
  PetscCall(TestBadFile());
  PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump")); /* calls that fail do not free what they had allocated */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "errors: all caught\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ speed ------------------------------------------------ */

static PetscErrorCode Sine(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                           PETSC_UNUSED void *ctx)
{
  u[0] = 1;
  for (PetscInt d = 0; d < dim; d++) u[0] *= PetscSinReal(PETSC_PI * x[d]);
  return PETSC_SUCCESS;
}

static PetscErrorCode TestSpeed(void)
{
  const PetscInt cells[3] = {32, 32, 32};
  DM             dm;
  Vec            v;
  PetscLogDouble t[5];

  PetscFunctionBegin;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 3, &dm));
  PetscCall(PetscTime(&t[0]));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(PetscTime(&t[1]));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Sine, NULL, v));
  PetscCall(PetscTime(&t[2]));
  PetscCall(DMBoxAddLoad(dm, 0, Sine, NULL, v));
  PetscCall(PetscTime(&t[3]));
  PetscCall(DMBoxComputeError(dm, 0, Sine, NULL, v, NULL, NULL));
  PetscCall(PetscTime(&t[4]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "set-up %.3f s, interpolation %.3f s, load %.3f s, error %.3f s\n", t[1] - t[0], t[2] - t[1],
                        t[3] - t[2], t[4] - t[3]));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("layout", {"layout", TestLayout}, {"hierarchy", TestHierarchy}, {"function", TestFunction}, {"vtk", TestVTK},
          {"errors", TestErrors}, {"speed", TestSpeed})

/*TEST

  testset:
    nsize: {{1 2 3 4 6 8}}
    test:
      suffix: layout
      args: -test layout
    test:
      suffix: hierarchy
      args: -test hierarchy
    test:
      suffix: function
      args: -test function
    test:
      suffix: vtk
      args: -test vtk
  test:
    suffix: function_dgq
    nsize: {{1 4}}
    output_file: output/box_function.out
    args: -test function -dm_box_space dgq
  test:
    suffix: vtk_dgq
    nsize: {{1 4}}
    output_file: output/box_vtk.out
    args: -test vtk -dm_box_space dgq

  test:
    suffix: errors
    nsize: {{1 2 3}}
    args: -test errors

TEST*/
