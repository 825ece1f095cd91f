static char
  help[] = "DMBoxComputeStresses() of polynomials, of which it is exact, and a file for ParaView with the displacement and the stresses.\n\
  -dm_box_*  : the mesh and the material (see DMBOX)\n\
  -affine    : mapped\n\
  -vary      : Young's modulus is a function\n\
  -linear    : the displacement is, otherwise it has degree 2\n\
  -ring      : it is, and does not depend on the first coordinate\n\
  -isochoric : its divergence is constant\n\
  -refine    : on the mesh that DMRefine() makes\n\
  -tolerance : allowed deviation, relative to the maximum\n\n";

#include <petscpatchfd.h>
#include <petscdmda.h>
#include "vtkfile.h"
#include "runtest.h"

typedef struct {
  PetscInt  dim;
  PetscBool affine, vary, linear, isochoric, stress; /* stress: plane stress */
  PetscReal young, lambda, mu, tol;
  PetscReal A[3][3];
} Context;

static PetscErrorCode Affine(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                             PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) y[d] = 0.7 + 1.5 * x[d] + 0.4 * x[(d + 1) % dim];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Young(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar E[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  E[0] = 1 + 0.5 * x[0] + 0.25 * x[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u_i = A_ij x_j + (i + 1) x_{i+1}^2 + 0.3 x_i x_{i+1} */
static PetscErrorCode Displacement(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  const Context *c = (const Context *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) {
    const PetscReal y = x[(i + 1) % dim];

    u[i] = c->linear ? 0 : (PetscReal)(i + 1) * y * y + (c->isochoric ? 0 : 0.3 * x[i] * y);
    for (PetscInt j = 0; j < dim; j++) u[i] += c->A[i][j] * x[j];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* xx, xy, ... and von Mises' stress, by the deviator */
static void Exact(const Context *c, const PetscReal x[], PetscReal s[])
{
  const PetscInt dim     = c->dim;
  PetscReal      H[3][3] = {{0}}, S[3][3] = {{0}}, trace = 0, square = 0, factor = 1;
  PetscScalar    E;
  PetscInt       n = 0;

  for (PetscInt i = 0; i < dim; i++) {
    const PetscInt next = (i + 1) % dim;

    for (PetscInt j = 0; j < dim; j++) H[i][j] = c->A[i][j];
    if (c->linear) continue;
    H[i][next] += 2 * (PetscReal)(i + 1) * x[next] + (c->isochoric ? 0 : 0.3 * x[i]);
    H[i][i] += c->isochoric ? 0 : 0.3 * x[next];
  }
  if (c->vary) {
    (void)Young(dim, 0, x, 1, &E, NULL);
    factor = PetscRealPart(E) / c->young;
  }
  for (int i = 0; i < 3; i++) trace += H[i][i];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) S[i][j] = factor * (c->mu * (H[i][j] + H[j][i]) + (i == j ? c->lambda * trace : 0));
  if (c->stress) S[2][2] = 0;
  for (int i = 0; i < 3; i++)
    for (int j = i; j < 3; j++)
      if (j < dim || i == j) s[n++] = S[i][j];
  trace = (S[0][0] + S[1][1] + S[2][2]) / 3;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) square += PetscSqr(S[i][j] - (i == j ? trace : 0));
  s[n] = PetscSqrtReal(1.5 * square);
}

static PetscErrorCode Compare(const Context *c, Vec stress)
{
  const PetscScalar *s, *x;
  PetscReal          error = 0, largest = 0, exact[7];
  PetscInt           nx, ny, nz, n = c->dim == 3 ? 7 : 5;
  Vec                coordinates;
  DM                 da;

  PetscFunctionBeginUser;
  PetscCall(VecGetDM(stress, &da));
  PetscCall(DMDAGetCorners(da, NULL, NULL, NULL, &nx, &ny, &nz));
  PetscCall(DMGetCoordinates(da, &coordinates));
  PetscCall(VecGetArrayRead(stress, &s));
  PetscCall(VecGetArrayRead(coordinates, &x));
  for (PetscInt i = 0; i < nx * ny * nz; i++) {
    Exact(c, &x[c->dim * i], exact);
    for (PetscInt j = 0; j < n; j++) {
      const PetscReal e = PetscAbsScalar(s[n * i + j] - exact[j]);

      error   = e > error || PetscIsNanReal(e) ? e : error;
      largest = PetscMax(largest, PetscAbsReal(exact[j]));
    }
  }
  PetscCall(VecRestoreArrayRead(coordinates, &x));
  PetscCall(VecRestoreArrayRead(stress, &s));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &error, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  if (!(error <= c->tol * largest))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "stresses deviate by %g, maximum %g\n", (double)error, (double)largest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a vector and the numbers of a component in one file, at the same places */
static PetscErrorCode CheckFile(Context *c, const char name[], PetscInt nodes)
{
  VTKFile  f;
  PetscInt visited = 0;

  PetscFunctionBeginUser;
  PetscCall(VTKFileRead(name, &f));
  for (char *piece = strstr(f.text, "<Piece "); piece && piece < f.data; piece = strstr(piece + 1, "<Piece ")) {
    long long   e[6];
    PetscInt    n;
    PetscReal  *x, *u, *v, s[7], error = 0;
    PetscScalar exact[3] = {0, 0, 0};

    PetscCheck(sscanf(piece, "<Piece Extent=\"%lld %lld %lld %lld %lld %lld\">", &e[0], &e[1], &e[2], &e[3], &e[4], &e[5]) == 6,
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "No extent");
    n = (PetscInt)((e[1] - e[0] + 1) * (e[3] - e[2] + 1) * (e[5] - e[4] + 1));
    PetscCall(PetscMalloc3(3 * n, &x, 3 * n, &u, n, &v));
    PetscCall(VTKFileArray(&f, piece, "Name=\"Position\"", 3 * n, x));
    PetscCall(VTKFileArray(&f, piece, "Name=\"solid_displacement\" NumberOfComponents=\"3\"", 3 * n, u));
    PetscCall(VTKFileArray(&f, piece, "Name=\"stress.von_mises\" NumberOfComponents=\"1\"", n, v));
    for (PetscInt i = 0; i < n; i++) {
      PetscCall(Displacement(c->dim, 0, &x[3 * i], c->dim, exact, c));
      Exact(c, &x[3 * i], s);
      error = PetscMax(error, PetscAbsReal(v[i] - s[c->dim == 3 ? 6 : 4]));
      for (int d = 0; d < 3; d++) error = PetscMax(error, PetscAbsScalar(u[3 * i + d] - exact[d]));
    }
    if (!(error <= c->tol * (1 + c->lambda))) PetscCall(PetscPrintf(PETSC_COMM_SELF, "the file deviates by %g\n", (double)error));
    visited += n;
    PetscCall(PetscFree3(x, u, v));
  }
  if (visited != nodes)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "the file has %" PetscInt_FMT " nodes, not %" PetscInt_FMT "\n", visited, nodes));
  PetscCall(PetscFree(f.text));
  remove(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFile(Context *c, Vec u, Vec stress)
{
  const char  name[] = "stresses_test.vts";
  PetscViewer viewer;
  PetscMPIInt rank;
  PetscInt    N;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectSetName((PetscObject)u, "solid"));
  PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(u, viewer));
  PetscCall(VecView(stress, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecGetSize(u, &N));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) PetscCall(CheckFile(c, name, N / c->dim));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  const PetscInt    cells[]  = {4, 3, 2};
  const char *const planes[] = {"strain", "stress"};
  Context           c        = {.tol = 1e-11, .A = {{0.2, -0.5, 0.1}, {0.9, -0.3, 0.4}, {-0.2, 0.6, 0.25}}};
  PetscInt          plane    = 0;
  PetscBool         ring = PETSC_FALSE, refine = PETSC_FALSE;
  DM                dm;
  Vec               u, stress;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-affine", &c.affine, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-vary", &c.vary, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-linear", &c.linear, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-isochoric", &c.isochoric, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-dm_box_plane", planes, 2, &plane, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &c.tol, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ring", &ring, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-refine", &refine, NULL));
  for (int i = 0; i < 3 && ring; i++) c.A[i][0] = 0;
  if (ring) c.linear = PETSC_TRUE;
  c.stress = (PetscBool)plane;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetCells(dm, cells));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetOperator(dm, "elasticity"));
  if (c.affine) PetscCall(DMBoxSetMapping(dm, Affine, NULL));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMGetDimension(dm, &c.dim));
  PetscCall(DMBoxGetElasticModuli(dm, &c.young, NULL));
  PetscCall(DMBoxGetElasticity(dm, &c.lambda, &c.mu, NULL));
  if (c.vary) PetscCall(DMBoxSetElasticModuliFunction(dm, Young, NULL, DMBOX_PLANE_STRAIN, NULL));
  if (refine) {
    DM finer;

    PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &finer));
    PetscCall(DMDestroy(&dm));
    dm = finer;
  }
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Displacement, &c, u));
  PetscCall(DMBoxComputeStresses(dm, u, &stress));
  PetscCall(Compare(&c, stress));
  PetscCall(TestFile(&c, u, stress));
  PetscCall(VecDestroy(&stress));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "stresses\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST

   testset:
     nsize: 3
     output_file: output/stresses_1.out
     args: -dm_box_boundary neumann
     test:
       suffix: degrees
       args: -each_dm_box_degree 2:3:4 -each_dm_box_dim 2:3 -each_affine 0:1
     test:
       suffix: linear
       args: -dm_box_degree 1 -linear -each_dm_box_dim 2:3 -each_affine 0:1 -each_vary 0:1
     test:
       suffix: vary
       args: -each_dm_box_degree 2:3 -each_dm_box_dim 2:3 -each_affine 0:1 -vary -each_refine 0:1
     test:
       suffix: projected
       args: -each_dm_box_degree 2:3 -each_dm_box_dim 2:3 -each_affine 0:1 -isochoric -dm_box_poisson_ratio 0.499
     test:
       suffix: projected_higher
       args: -each_dm_box_degree 3:4 -each_affine 0:1 -dm_box_poisson_ratio 0.499
     test:
       suffix: plane
       args: -dm_box_plane stress -each_affine 0:1 -each_refine 0:1
   testset:
     nsize: {{1 3}}
     output_file: output/stresses_1.out
     test:
       suffix: fixed
       args: -dm_box_boundary dirichlet,neumann,symmetry,dirichlet
     test:
       suffix: ring
       args: -ring -dm_box_boundary periodic,periodic,neumann,neumann -each_dm_box_degree 1:2
   test:
     suffix: single
     args: -dm_vec_type single -linear -dm_box_boundary neumann -tolerance 1e-5
     output_file: output/stresses_1.out

TEST*/
