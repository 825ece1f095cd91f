static char help[] =
  "Meshes, coefficients and sizes at the edge of what PCPATCHMG solves on a DMPLEX: any number of cells at a vertex, K that jumps by 10^6\n\
from cell to cell, cells of aspect 1000, one cell, ranks without cells, degree 15; curved cells.  A solve ends with the solution, or with a reason.\n\
\n\
  hexahedra -valences 3,8 -contrasts 1e6 -aspects 1000 -degrees 4\n\n";

#include <petscpatchfd.h>
#include <petscdmplex.h>
#include "bend.h"
#include "catch.h"
#include "runtest.h"

typedef struct {
  PetscInt  valence, cells, layers; /* 0: the mesh of -dm_plex_*; cells in a direction of a part of the polygon; 0: two dimensions */
  PetscInt  degree;
  PetscReal aspect, contrast;
  PetscBool natural, curved, print;
} Case;

/* ---- a polygon cut into as many quadrilaterals as it has corners, which meet in its centre; each cut into cells^2, and stacked ---- */

/* node (i, j) of part p, counted from the centre towards the middle of a side, and to that of the next */
static PetscInt Node(const Case *c, PetscInt p, PetscInt i, PetscInt j)
{
  const PetscInt n = c->cells;

  if (i) return 1 + (p % c->valence * n + i - 1) * (n + 1) + j;
  return j ? Node(c, p + 1, j, 0) : 0;
}

static void Place(const Case *c, PetscInt p, PetscReal s, PetscReal t, PetscReal x[])
{
  const PetscReal turn = 2 * PETSC_PI / c->valence, middle = PetscCosReal(turn / 2);
  const PetscReal side[2] = {turn * p, turn * (p + 1)}, corner = turn * (p + 0.5);

  x[0] = s * (1 - t) * middle * PetscCosReal(side[0]) + s * t * PetscCosReal(corner) + (1 - s) * t * middle * PetscCosReal(side[1]);
  x[1] = s * (1 - t) * middle * PetscSinReal(side[0]) + s * t * PetscSinReal(corner) + (1 - s) * t * middle * PetscSinReal(side[1]);
}

static PetscErrorCode CreatePolygon(const Case *c, DM *dm)
{
  static const PetscInt order[8][3] = {{0, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 0, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  static const PetscInt quad[4][2]  = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  const PetscInt        n = c->cells, dim = c->layers ? 3 : 2, corners = 1 << dim, plane = 1 + c->valence * n * (n + 1);
  PetscInt              ncell = c->valence * n * n * PetscMax(1, c->layers), nnode = plane * (c->layers + 1), *cell;
  PetscReal            *x;
  PetscMPIInt           rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank) ncell = nnode = 0;
  PetscCall(PetscMalloc2(ncell * corners, &cell, nnode * dim, &x));
  for (PetscInt i = 0; i < ncell * corners; i++) {
    const PetscInt at = i / corners, in = i % corners, *o = dim == 3 ? order[in] : quad[in], p = at / n / n % c->valence;

    cell[i] = Node(c, p, at % n + o[0], at / n % n + o[1]);
    if (dim == 3) cell[i] += plane * (at / n / n / c->valence + o[2]);
  }
  for (PetscInt i = 0; i < nnode; i++) {
    const PetscInt at = i % plane - 1, p = at / (n + 1) / n, row = at < 0 ? 0 : at / (n + 1) % n + 1;

    Place(c, p, (PetscReal)row / n, at < 0 ? 0 : (PetscReal)(at % (n + 1)) / n, x + i * dim);
    if (dim == 3) x[i * dim + 2] = (PetscReal)(i / plane) / n;
    x[i * dim + dim - 1] /= c->aspect;
  }
  PetscCall(DMPlexCreateFromCellListPetsc(PETSC_COMM_WORLD, dim, ncell, nnode, corners, PETSC_TRUE, cell, dim, x, dm));
  PetscCall(PetscFree2(cell, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the unit square or cube around half of a hole, and u = 0 but on its side */
static void Ring(PETSC_UNUSED PetscInt dim, PetscScalar x[])
{
  const PetscReal r = 0.4 + 0.6 * x[0], angle = PETSC_PI * x[1];

  x[0] = r * PetscCosReal(angle);
  x[1] = r * PetscSinReal(angle);
}

static PetscErrorCode MarkAllButHole(DM dm, PetscInt dim, DMLabel label)
{
  const PetscInt hole = dim == 2 ? 4 : 6;
  IS             faces;

  PetscFunctionBeginUser;
  for (PetscInt side = 1; side <= 2 * dim; side++) {
    PetscCall(DMGetStratumIS(dm, "Face Sets", side, &faces));
    if (side != hole && faces) PetscCall(DMLabelInsertIS(label, faces, 1)); /* else other ranks have them */
    PetscCall(ISDestroy(&faces));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSpace(const Case *c, DM *dm)
{
  const PetscInt id = 1;
  PetscInt       dim;
  PetscFE        fe;
  DMLabel        label;

  PetscFunctionBeginUser;
  if (c->valence) PetscCall(CreatePolygon(c, dm));
  else PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMPLEX));
  PetscCall(DMSetFromOptions(*dm)); /* spreads it over ranks */
  PetscCall(DMGetDimension(*dm, &dim));
  if (c->curved) PetscCall(Bend(*dm, dim, c->degree, Ring));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, dim, 1, PETSC_FALSE, c->degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*dm));
  if (c->natural) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMCreateLabel(*dm, "sides"));
  PetscCall(DMGetLabel(*dm, "sides", &label));
  if (c->curved) PetscCall(MarkAllButHole(*dm, dim, label));
  else PetscCall(DMPlexMarkBoundaryFaces(*dm, 1, label));
  PetscCall(DMPlexLabelComplete(*dm, label));
  PetscCall(DMAddBoundary(*dm, DM_BC_ESSENTIAL, "sides", label, 1, &id, 0, 0, NULL, NULL, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K of cells, log-uniform between 1 and the contrast, by their centres: the same on any number of ranks */
static PetscErrorCode SetConductivity(const Case *c, DM dm, Mat A)
{
  const PetscReal wave[3] = {12.9898, 78.233, 37.719}, centre[3] = {0};
  PetscInt        first, end, n = 0, dim;
  PetscScalar    *k;
  Vec             K;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &first, &end)); /* meshes without an overlap */
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, end - first, PETSC_DETERMINE, &K));
  PetscCall(VecGetArray(K, &k));
  for (PetscInt cell = first; cell < end; cell++) {
    PetscReal x[3], sine = 0;

    PetscCall(DMPlexReferenceToCoordinates(dm, cell, 1, centre, x));
    x[dim - 1] *= c->aspect;
    for (PetscInt d = 0; d < dim; d++) sine += wave[d] * x[d];
    sine   = 437.585453 * PetscSinReal(sine);
    k[n++] = PetscPowReal(c->contrast, sine - PetscFloorReal(sine));
  }
  PetscCall(VecRestoreArray(K, &k));
  PetscCall(MatDiffusionPlexSetVec(A, K, NULL));
  PetscCall(VecDestroy(&K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one solve: with the solution in at most `most` iterations or, if that is 0, with a reason and the residual that it reports */
static PetscErrorCode Solve(const Case *c, PetscInt most, PetscInt *failures)
{
  DM                 dm;
  Mat                A;
  Vec                x, b, r;
  KSP                ksp;
  PC                 pc;
  MatNullSpace       constants;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          norm, reported, residual;
  PetscBool          good;

  PetscFunctionBeginUser;
  PetscCall(CreateSpace(c, &dm));
  PetscCall(MatCreateDiffusionPlex(dm, &A));
  PetscCall(SetConductivity(c, dm, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatGetNullSpace(A, &constants));
  if (constants) PetscCall(MatNullSpaceRemove(constants, b));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 0, PETSC_CURRENT, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualNorm(ksp, &reported));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &residual));
  good = (PetscBool)(reason > 0 ? residual <= 1.1e-8 * norm : PetscAbsReal(residual - reported) <= 0.1 * reported);
  if (most) good = (PetscBool)(good && reason > 0 && its <= most);
  *failures += !good;
  if (!good || c->print)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "valence %" PetscInt_FMT ", contrast %g, aspect %g, degree %" PetscInt_FMT ": %s, %" PetscInt_FMT
                          " iterations, residual %g, reported %g\n",
                          c->valence, (double)c->contrast, (double)c->aspect, c->degree, KSPConvergedReasons[reason], its, (double)residual,
                          (double)reported));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- numbers of cells ---- */

/* the same at all points of a cell of a unit box with 3, 2, ... cells */
static PetscErrorCode Steps(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscReal k[],
                            PETSC_UNUSED void *ctx)
{
  const PetscReal base = 1 + PetscFloorReal(3 * x[0]) + 5 * PetscFloorReal(2 * x[dim - 1]);

  for (PetscInt i = 0; i < n; i++) k[i] = n <= dim ? base * (1 + i) : 0;
  for (PetscInt a = 0, next = 0; a < dim && n > dim; a++)
    for (PetscInt b = a; b < dim; b++, next++) k[next] = base * (a == b ? 1 + a : 0.3);
  return PETSC_SUCCESS;
}

static PetscErrorCode StepsOfCells(DM dm, PetscInt n, Vec *v)
{
  const PetscReal centre[3] = {0};
  PetscInt        first, end, dim;
  PetscScalar    *a;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &first, &end));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n * (end - first), PETSC_DETERMINE, v));
  PetscCall(VecGetArray(*v, &a));
  for (PetscInt cell = first; cell < end; cell++) {
    PetscReal x[3];

    PetscCall(DMPlexReferenceToCoordinates(dm, cell, 1, centre, x));
    PetscCall(Steps(dim, 0, x, n, a + n * (cell - first), NULL));
  }
  PetscCall(VecRestoreArray(*v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatDiffusionPlexSetVec() against MatDiffusionPlexSetFunction(), and its errors */
static PetscErrorCode TestVec(Case *c)
{
  PetscErrorCode ierr;
  PetscInt       dim;
  PetscReal      norm, error;
  DM             dm;
  Mat            A;
  Vec            K, shift, x, y, wanted;

  PetscFunctionBeginUser;
  c->degree = 3;
  PetscCall(CreateSpace(c, &dm));
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(MatCreateDiffusionPlex(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &wanted));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(StepsOfCells(dm, 1, &shift));
  for (PetscInt i = 0; i < 4; i++) {
    const PetscInt n = i == 0 ? 1 : (i == 1 ? dim : dim * (dim + 1) / 2 + 1 * (i == 3));

    PetscCall(StepsOfCells(dm, n, &K));
    if (i == 3) {
      CATCH(ierr, MatDiffusionPlexSetVec(A, K, NULL));
      PetscCheck(ierr && strstr(lastmessage, dim == 2 ? "K has 4 numbers" : "K has 7 numbers"), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s",
                 lastmessage);
      CATCH(ierr, MatDiffusionPlexSetVec(A, shift, K));
      PetscCheck(ierr && strstr(lastmessage, "The vector with the shift has"), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s", lastmessage);
      PetscCall(VecDestroy(&K));
      break;
    }
    PetscCall(MatDiffusionPlexSetFunction(A, n, Steps, Steps, NULL));
    PetscCall(MatMult(A, x, wanted));
    PetscCall(VecNorm(wanted, NORM_2, &norm));
    PetscCall(MatDiffusionPlexSetVec(A, K, shift));
    PetscCall(VecDestroy(&K));
    PetscCall(MatMult(A, x, y));
    PetscCall(VecAXPY(y, -1, wanted));
    PetscCall(VecNorm(y, NORM_2, &error));
    PetscCheck(norm > 0 && error <= 1e-13 * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " numbers of cells: %g of %g", n,
               (double)error, (double)norm);
  }
  PetscCall(VecDestroy(&shift));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  enum {
    MOST = 16
  };
  Case      c            = {.cells = 2};
  PetscInt  degree[MOST] = {4}, valence[MOST] = {0}, ndegree = MOST, nvalence = MOST, naspect = MOST, ncontrast = MOST;
  PetscInt  most = 0, failures = 0, solves = 0;
  PetscReal aspect[MOST] = {1}, contrast[MOST] = {1};
  PetscBool vec = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degree, &ndegree, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-valences", valence, &nvalence, NULL));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-aspects", aspect, &naspect, NULL));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-contrasts", contrast, &ncontrast, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &c.cells, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-layers", &c.layers, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &c.print, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-natural", &c.natural, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-curved", &c.curved, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-vec", &vec, NULL));
  if (vec) PetscCall(TestVec(&c));
  for (PetscInt i = 0; i < PetscMax(1, nvalence) && !vec; i++) {
    for (PetscInt j = 0; j < PetscMax(1, ncontrast); j++) {
      for (PetscInt k = 0; k < PetscMax(1, naspect); k++) {
        for (PetscInt l = 0; l < PetscMax(1, ndegree); l++) {
          c.valence  = valence[i];
          c.contrast = contrast[j];
          c.aspect   = aspect[k];
          c.degree   = degree[l];
          PetscCall(Solve(&c, most, &failures));
          solves++;
        }
      }
    }
  }
  if (failures) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " of %" PetscInt_FMT " solves failed\n", failures, solves));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "all as it should be\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST
  testset:
    output_file: output/hexahedra.out
    args: -valences 3,4,5,6,7,8 -contrasts 1,1e3,1e6

    test:
      suffix: 2d
      args: -degrees 2,3,4,8 -most 14
    test:
      suffix: 3d
      args: -degrees 2,3 -layers 2 -most 11
    test: # 4,000 unknowns of rounding 1e-7
      suffix: single
      args: -degrees 4 -layers 2 -cells 1 -pc_type single -ksp_type fcg -most 14
    test:
      suffix: natural
      args: -degrees 2,4 -layers 2 -cells 1 -natural -each_pc_type patchmg:single -ksp_type fcg -most 16
    test:
      suffix: ranks
      nsize: {{2 5}}
      args: -degrees 3 -most 14
    test: # of free meshes, too, whose matrices are singular
      suffix: redundant
      nsize: {{2 5}}
      args: -degrees 2 -layers 2 -each_natural 0:1 -mg_coarse_assembled_redundant -ksp_type fcg -most 16

  testset:
    output_file: output/hexahedra.out
    nsize: {{1 3}}
    args: -curved -contrasts 1,1e3 -dm_plex_simplex 0 -ksp_type cg -each_pc_type patchmg:single

    test:
      suffix: curved_2d
      args: -dm_plex_box_faces 3,6 -degrees 2,3,4,6,8 -most 8
    test:
      suffix: curved_3d
      args: -dm_plex_dim 3 -dm_plex_box_faces 2,4,2 -degrees 2,3,4 -most 6

  testset:
    output_file: output/hexahedra.out
    args: -valences 3,5,8 -contrasts 1,1e3,1e6

    test:
      suffix: layers
      args: -aspects 0.1,1,10,100,1000 -degrees 2,4 -layers 2
    test:
      suffix: stretched
      args: -aspects 10,100,1000 -degrees 2,4,8 -each_pc_type patchmg:single -ksp_type fcg
    test:
      suffix: robust
      args: -aspects 0.001,1000 -degrees 2,4,6 -cells 1 -layers 2 -mg_levels_pc_patchfd_type chebyshev_first -mg_levels_pc_patchfd_sweeps 3 -most 19

  testset:
    output_file: output/hexahedra.out
    nsize: {{1 2 5}}
    args: -dm_plex_simplex 0 -degrees 1,2,5 -most 8

    test: # of degree 1 it has no unknowns
      suffix: one
      args: -dm_plex_box_faces 1,1 -each_natural 0:1
    test:
      suffix: two
      args: -dm_plex_dim 3 -dm_plex_box_faces 1,2,1 -contrasts 1e6 -each_natural 0:1 -each_pc_type patchmg:single -ksp_type fcg

  testset:
    output_file: output/hexahedra.out

    test:
      suffix: fifteen
      args: -valences 3,8 -contrasts 1,1e6 -degrees 15 -most 20
    test:
      suffix: small
      args: -dm_plex_simplex 0 -dm_plex_dim 3 -dm_plex_box_faces 3,3,3 -dm_plex_box_upper 1e-15,1e-15,1e-15 -degrees 1,3,6 -most 8
    test:
      suffix: vec
      nsize: {{1 3}}
      args: -vec -dm_plex_simplex 0 -dm_plex_dim 3 -dm_plex_box_faces 3,2,2
    test:
      suffix: vec_2d
      args: -vec -dm_plex_simplex 0 -dm_plex_box_faces 3,2
TEST*/
