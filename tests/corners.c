static char help[] = "What processes have of a DMBOX: corners, ranges, nodes, values as arrays; the mesh alone in a file.\n\n";

#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include <petscviewer.h>

static PetscErrorCode Function(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                               PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) {
    u[c] = (PetscReal)(c + 1);
    for (PetscInt d = 0; d < dim; d++) u[c] += (PetscReal)(d + 1) * (x[d] + (PetscReal)c) * x[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Map(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal t[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                          PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) y[d] = t[d] + 0.1 * t[(d + 1) % dim] * t[(d + 1) % dim];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is true on all processes */
static PetscErrorCode Check(PetscBool right, DM dm, const char what[])
{
  DMBoxSpace space;

  PetscFunctionBeginUser;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &right, 1, PATCHFD_MPI_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  PetscCall(DMBoxGetSpace(dm, &space));
  if (!right) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "WRONG: %s, space %s\n", what, DMBoxSpaces[space]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar *Entry(PetscInt dim, void *array, PetscInt i, PetscInt j, PetscInt k)
{
  if (dim == 1) return &((PetscScalar *)array)[i];
  return dim == 2 ? &((PetscScalar **)array)[j][i] : &((PetscScalar ***)array)[k][j][i];
}

/* field f of v: its values are set, or compared, at all nodes from the corners on */
static PetscErrorCode Visit(DM dm, PetscInt f, PetscBool ghosts, PetscBool set, void *array, PetscBool *same)
{
  PetscInt   dim, nfield, N[3], first[3], n[3];
  PetscReal *x[3] = {NULL, NULL, NULL};

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetNumFields(dm, &nfield));
  PetscCall(DMBoxGetGlobalSizes(dm, f, &N[0], &N[1], &N[2]));
  if (ghosts) PetscCall(DMBoxGetGhostCorners(dm, f, &first[0], &first[1], &first[2], &n[0], &n[1], &n[2]));
  else PetscCall(DMBoxGetCorners(dm, f, &first[0], &first[1], &first[2], &n[0], &n[1], &n[2]));
  for (PetscInt d = 0; d < dim; d++) {
    PetscCall(PetscMalloc1(N[d], &x[d]));
    PetscCall(DMBoxGetNodes(dm, f, d, x[d]));
  }
  for (PetscInt k = first[2]; k < first[2] + n[2]; k++)
    for (PetscInt j = first[1]; j < first[1] + n[1]; j++)
      for (PetscInt i = first[0]; i < first[0] + n[0]; i++) {
        const PetscReal point[3] = {x[0][i], dim > 1 ? x[1][j] : 0, dim > 2 ? x[2][k] : 0};
        PetscScalar     u[4], *entry = Entry(dim, array, i, j, k);

        PetscCall(Function(dim, 0, point, nfield, u, NULL));
        if (set) *entry = u[f];
        else *same = (PetscBool)(*same && PetscAbsScalar(*entry - u[f]) <= 1e-5 * PetscAbsScalar(u[f])); /* in single precision, too */
      }
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscFree(x[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestArrays(DM dm)
{
  PetscInt  nfield;
  Vec       v, w, local;
  void     *array[4];
  PetscReal error, norm;
  PetscBool same = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetNumFields(dm, &nfield));
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(VecDuplicate(v, &w));
  for (PetscInt f = 0; f < nfield; f++) PetscCall(DMBoxVecGetArray(dm, v, f, &array[f]));
  for (PetscInt f = 0; f < nfield; f++) PetscCall(Visit(dm, f, PETSC_FALSE, PETSC_TRUE, array[f], NULL));
  for (PetscInt f = 0; f < nfield; f++) PetscCall(DMBoxVecRestoreArray(dm, v, f, &array[f]));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Function, NULL, w));
  PetscCall(VecNorm(w, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(w, -1, v));
  PetscCall(VecNorm(w, NORM_INFINITY, &error));
  PetscCall(Check((PetscBool)(error <= 1e-6 * norm && !array[0]), dm, "values set in an array"));
  PetscCall(DMCreateLocalVector(dm, &local));
  PetscCall(DMGlobalToLocal(dm, v, INSERT_VALUES, local));
  for (PetscInt f = 0; f < nfield; f++) {
    PetscCall(DMBoxVecGetArrayRead(dm, local, f, &array[f]));
    PetscCall(Visit(dm, f, PETSC_TRUE, PETSC_FALSE, array[f], &same));
    PetscCall(DMBoxVecRestoreArrayRead(dm, local, f, &array[f]));
  }
  PetscCall(Check(same, dm, "values read in an array with ghosts"));
  PetscCall(VecDestroy(&local));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the parts of all processes make the whole, those of a direction one after another */
static PetscErrorCode TestParts(DM dm, PetscInt field)
{
  const PetscInt *l[3];
  PetscInt        dim, N[3], first[3], n[3], lo[3], wide[3], processes[3] = {1, 1, 1}, rest;
  PetscInt64      count = 1;
  PetscMPIInt     rank;
  PetscBool       right = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(DMBoxGetGlobalSizes(dm, field, &N[0], &N[1], &N[2]));
  PetscCall(DMBoxGetCorners(dm, field, &first[0], &first[1], &first[2], &n[0], &n[1], &n[2]));
  PetscCall(DMBoxGetGhostCorners(dm, field, &lo[0], &lo[1], &lo[2], &wide[0], &wide[1], &wide[2]));
  PetscCall(DMBoxGetOwnershipRanges(dm, field, &l[0], &l[1], &l[2]));
  PetscCall(DMBoxGetProcesses(dm, processes));
  rest = rank;
  for (int d = 0; d < 3; rest /= processes[d++]) {
    PetscInt sum = 0;

    for (PetscInt p = 0; p < processes[d]; p++) {
      if (p == rest % processes[d]) right = (PetscBool)(right && sum == first[d] && l[d][p] == n[d]);
      sum += l[d][p];
    }
    right = (PetscBool)(right && sum == N[d] && lo[d] >= 0 && lo[d] <= first[d] && lo[d] + wide[d] >= first[d] + n[d]);
    right = (PetscBool)(right && lo[d] + wide[d] <= N[d] && (processes[d] > 1 ? wide[d] > n[d] : wide[d] == n[d]));
    count *= n[d];
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &count, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(Check((PetscBool)(right && count == (PetscInt64)N[0] * N[1] * N[2]), dm,
                  field == DMBOX_CELLS ? "parts of the cells" : "parts of the nodes"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestView(PetscInt dim, DMBoxSpace space)
{
  const PetscInt  cells[] = {7, 4, 3}, n = 4;
  const PetscReal graded[] = {0, 0.1, 0.3, 0.6}, *vertices;
  PetscInt        nfield, nvertices;
  DM              dm;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, space == DMBOX_SPACE_P1 ? 1 : 2, &dm));
  PetscCall(DMBoxSetSpace(dm, space));
  if (space == DMBOX_SPACE_RT) PetscCall(DMBoxSetOperator(dm, "stokes"));
  if (space == DMBOX_SPACE_P1) PetscCall(DMBoxSetOperator(dm, "heat"));
  else PetscCall(DMBoxSetVertices(dm, dim - 1, n, graded));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxGetVertices(dm, dim - 1, &nvertices, &vertices));
  PetscCall(Check((PetscBool)(space == DMBOX_SPACE_P1 ? !nvertices && !vertices : nvertices == n && vertices[2] == graded[2]), dm,
                  "vertices of a graded direction"));
  PetscCall(DMBoxGetNumFields(dm, &nfield));
  for (PetscInt f = DMBOX_CELLS; f < nfield; f++) PetscCall(TestParts(dm, f));
  PetscCall(TestArrays(dm));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes of a mesh that DMView() wrote are those of a mesh that is read from its file */
static PetscErrorCode TestFile(void)
{
  const PetscInt cells[] = {4, 3};
  PetscViewer    viewer;
  DM             dm[2];
  Vec            x[2], d;
  PetscReal      error;

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) {
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm[i]));
    PetscCall(DMBoxSetOperator(dm[i], "diffusion"));
    if (i) PetscCall(DMBoxSetMappingFile(dm[i], "corners_mesh.vts"));
    else PetscCall(DMBoxSetMapping(dm[i], Map, NULL));
    PetscCall(DMSetUp(dm[i]));
    PetscCall(DMGetCoordinates(dm[i], &x[i]));
    if (i) continue;
    PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, "corners_mesh.vts", FILE_MODE_WRITE, &viewer));
    PetscCall(DMView(dm[i], viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  }
  PetscCall(VecDuplicate(x[0], &d));
  PetscCall(VecWAXPY(d, -1, x[0], x[1]));
  PetscCall(VecNorm(d, NORM_INFINITY, &error));
  PetscCall(Check((PetscBool)(error < 1e-13), dm[0], "nodes of a mesh that was written"));
  PetscCall(VecDestroy(&d));
  for (int i = 0; i < 2; i++) PetscCall(DMDestroy(&dm[i]));
  /* of several fields */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm[0]));
  PetscCall(DMBoxSetSpace(dm[0], DMBOX_SPACE_RT));
  PetscCall(DMBoxSetOperator(dm[0], "stokes"));
  PetscCall(DMSetUp(dm[0]));
  PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, "corners_mesh.vts", FILE_MODE_WRITE, &viewer));
  PetscCall(DMView(dm[0], viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(DMDestroy(&dm[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what was set is what getters return */
static PetscErrorCode TestGetters(void)
{
  const PetscInt    cells[]     = {4, 3};
  const PetscReal   K[]         = {2, 0.5, 1};
  DMBoxBoundaryType boundary[4] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET};
  PetscReal         k[3], shift, parameter;
  PetscInt          n, degree;
  DMBoxFunctionFn  *f[2];
  DMBoxMappingType  type;
  void             *ctx;
  int               mine;
  Vec               v, w[2];
  PetscScalar       sum;
  DM                dm;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMBoxSetMapping(dm, Map, &mine));
  PetscCall(DMBoxSetMappingDegree(dm, 1));
  PetscCall(DMBoxGetMapping(dm, &f[0], &ctx));
  PetscCall(DMBoxGetMappingDegree(dm, &degree));
  PetscCall(Check((PetscBool)(f[0] == Map && ctx == &mine && degree == 1), dm, "a map"));
  PetscCall(DMBoxSetMappingType(dm, DMBOX_MAPPING_KERSHAW, 0.5));
  PetscCall(DMBoxGetMapping(dm, &f[0], NULL));
  PetscCall(DMBoxGetMappingType(dm, &type, &parameter));
  PetscCall(Check((PetscBool)(!f[0] && type == DMBOX_MAPPING_KERSHAW && parameter == 0.5), dm, "a map with a name"));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxSetDiffusion(dm, 3, K, 4));
  PetscCall(DMBoxGetDiffusion(dm, &n, k, &shift));
  PetscCall(Check((PetscBool)(n == 3 && k[0] == 2 && k[1] == 0.5 && k[2] == 1 && shift == 4), dm, "constants of diffusion"));
  PetscCall(DMBoxSetDiffusionFunction(dm, 2, Function, NULL, &mine));
  PetscCall(DMBoxGetDiffusionFunction(dm, &n, &f[0], &f[1], &ctx));
  PetscCall(Check((PetscBool)(n == 2 && f[0] == Function && !f[1] && ctx == &mine), dm, "functions of diffusion"));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_FALSE, 1, &v));
  PetscCall(VecSet(v, 3));
  PetscCall(DMBoxSetDiffusionVec(dm, 1, v, NULL));
  PetscCall(DMBoxGetDiffusionVec(dm, &n, &w[0], &w[1]));
  PetscCall(VecSum(w[0], &sum));
  PetscCall(Check((PetscBool)(n == 1 && w[0] && !w[1] && sum == 36), dm, "a Vec of diffusion"));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));

  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_P1));
  PetscCall(DMBoxSetOperator(dm, "heat"));
  PetscCall(DMBoxSetBoundary(dm, boundary));
  PetscCall(DMBoxSetHeatSource(dm, Function, &mine));
  PetscCall(DMBoxSetHeatFlux(dm, 0, Map, NULL));
  PetscCall(DMBoxGetHeatSource(dm, &f[0], &ctx));
  PetscCall(DMBoxGetHeatFlux(dm, 0, &f[1], NULL));
  PetscCall(Check((PetscBool)(f[0] == Function && ctx == &mine && f[1] == Map), dm, "source and flux"));
  PetscCall(DMBoxGetHeatFlux(dm, 1, &f[0], NULL));
  PetscCall(DMBoxGetHeatDirichlet(dm, &f[1], NULL));
  PetscCall(Check((PetscBool)(!f[0] && !f[1]), dm, "no flux and no values"));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  for (PetscInt dim = 1; dim <= 3; dim++)
    for (DMBoxSpace space = DMBOX_SPACE_Q; space <= DMBOX_SPACE_P1; space++)
      if (dim > 1 || space != DMBOX_SPACE_RT) PetscCall(TestView(dim, space));
  PetscCall(TestFile());
  PetscCall(TestGetters());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}
    suffix: 1
    output_file: output/ok.out
    args: -dm_vec_type {{standard single}}

TEST*/
