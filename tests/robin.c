static char help[] =
  "K du/dn + h u on sides of a DMPLEX: the matrix-free operator, its diagonal and its assembled form against what PETSc assembles from the\n\
same PetscDS, the setter of functions against that, and solves with PCPATCHMG for small and large h.\n\
\n\
  robin -dm_plex_simplex 0 -dm_plex_dim 3 -dm_plex_box_faces 3,2,2 -degree 3\n\n";

#include <petscpatchfd.h>
#include <petscdmplex.h>
#include <petscds.h>
#include <petscsnes.h>
#include "runtest.h"

static PetscReal size = 1; /* of h */

#define POINT \
  PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscInt Nf, PETSC_UNUSED PetscInt NfAux, PETSC_UNUSED const PetscInt uOff[], \
    PETSC_UNUSED const PetscInt uOff_x[], PETSC_UNUSED const PetscScalar u[], PETSC_UNUSED const PetscScalar u_t[], \
    PETSC_UNUSED const PetscScalar u_x[], PETSC_UNUSED const PetscInt aOff[], PETSC_UNUSED const PetscInt aOff_x[], \
    PETSC_UNUSED const PetscScalar a[], PETSC_UNUSED const PetscScalar a_t[], PETSC_UNUSED const PetscScalar a_x[], \
    PETSC_UNUSED PetscReal t, PETSC_UNUSED PetscReal shift, const PetscReal x[]
#define CONSTANTS PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[]

static void G3(POINT, CONSTANTS, PetscScalar g[])
{
  for (PetscInt d = 0; d < dim; d++) g[d * dim + d] = 1 + x[0];
}

/* of the place; of the solution and the normal */
static void SideG0(POINT, PETSC_UNUSED const PetscReal normal[], CONSTANTS, PetscScalar g[])
{
  g[0] = size * (2 + x[0] * x[1]);
}

static void SideNonlinear(POINT, const PetscReal normal[], CONSTANTS, PetscScalar g[])
{
  g[0] = 2 + normal[1] + PetscSqr(u[0]) + 0.1 * PetscSqr(u_x[0]) + x[0];
}

static PetscErrorCode Conductivity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                                   PetscReal k[], PETSC_UNUSED void *ctx)
{
  k[0] = 1 + x[0];
  return PETSC_SUCCESS;
}

static PetscErrorCode Transfer(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                               PetscReal h[], PETSC_UNUSED void *ctx)
{
  h[0] = size * (2 + x[0] * x[1]);
  return PETSC_SUCCESS;
}

/* a bent box; the values 2 and 3 of the label "Face Sets" have h u, value 1 is fixed if `fixed` */
static PetscErrorCode CreateSpace(PetscInt degree, PetscBool fixed, PetscBool nonlinear, DM *dm, DMLabel *label)
{
  const PetscInt values[3] = {1, 2, 3};
  PetscInt       dim, bd, n;
  PetscFE        fe;
  PetscDS        ds;
  PetscWeakForm  wf;
  DMLabel        wall;
  PetscScalar   *x;
  Vec            coordinates;

  PetscFunctionBeginUser;
  PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMPLEX));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMGetDimension(*dm, &dim));
  PetscCall(DMGetCoordinatesLocal(*dm, &coordinates));
  PetscCall(VecGetLocalSize(coordinates, &n));
  PetscCall(VecGetArray(coordinates, &x));
  for (PetscInt i = 0; i < n; i += dim) {
    const PetscReal s = x[i + dim - 1];

    for (PetscInt d = 0; d < dim; d++) x[i + d] += 0.1 * PetscSinReal(3 * s + d);
  }
  PetscCall(VecRestoreArray(coordinates, &x));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, dim, 1, PETSC_FALSE, degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*dm));
  PetscCall(DMGetDS(*dm, &ds));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, NULL, NULL, NULL, G3));
  PetscCall(DMGetLabel(*dm, "Face Sets", label));
  PetscCall(DMLabelDuplicate(*label, &wall));
  PetscCall(PetscObjectSetName((PetscObject)wall, "wall"));
  PetscCall(DMPlexLabelComplete(*dm, wall));
  PetscCall(DMAddLabel(*dm, wall));
  if (fixed) PetscCall(DMAddBoundary(*dm, DM_BC_ESSENTIAL, "wall", wall, 1, values, 0, 0, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMLabelDestroy(&wall));
  PetscCall(DMAddBoundary(*dm, DM_BC_NATURAL, "cooled", *label, 2, values + 1, 0, 0, NULL, NULL, NULL, NULL, &bd));
  PetscCall(PetscDSGetBoundary(ds, bd, &wf, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  for (PetscInt v = 1; v < 3; v++)
    PetscCall(
      PetscWeakFormSetIndexBdJacobian(wf, *label, values[v], 0, 0, 0, 0, nonlinear ? SideNonlinear : SideG0, 0, NULL, 0, NULL, 0, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char *what, Vec found, Vec wanted)
{
  PetscReal norm, error;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(wanted, NORM_2, &norm));
  PetscCall(VecAXPY(found, -1, wanted));
  PetscCall(VecNorm(found, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, norm > 0 && error <= 1e-12 * norm ? "equal" : "DIFFERENT"));
  if (!(error <= 1e-12 * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %g of %g\n", (double)error, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOperator(PetscInt degree, PetscBool fixed, PetscBool nonlinear)
{
  const PetscInt values[2] = {2, 3};
  DM             dm;
  DMLabel        label;
  Mat            A, J, assembled;
  Vec            u, local, x, y, wanted, diagonal;

  PetscFunctionBeginUser;
  PetscCall(CreateSpace(degree, fixed, nonlinear, &dm, &label));
  PetscCall(DMCreateMatrix(dm, &J));
  PetscCall(MatCreateVecs(J, &x, &y));
  PetscCall(VecDuplicate(y, &wanted));
  PetscCall(VecDuplicate(y, &diagonal));
  PetscCall(VecDuplicate(y, &u));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(u, NULL));
  PetscCall(DMCreateLocalVector(dm, &local));
  PetscCall(VecSet(local, 0));
  PetscCall(DMGlobalToLocal(dm, u, INSERT_VALUES, local));
  PetscCall(DMPlexSNESComputeJacobianFEM(dm, local, J, J, NULL));
  PetscCall(MatMult(J, x, wanted));
  PetscCall(MatCreateDiffusionPlex(dm, &A));
  PetscCall(MatDiffusionPlexSetJacobian(A, dm, u, 0, 0));
  PetscCall(MatMult(A, x, y));
  PetscCall(Compare("product", y, wanted));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &assembled));
  PetscCall(MatMult(assembled, x, y));
  PetscCall(Compare("assembled", y, wanted));
  PetscCall(MatDestroy(&assembled));
  PetscCall(VecSet(y, 1));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscCall(VecShift(y, -1));
  PetscCall(Compare("sum", y, wanted));
  if (!nonlinear) {
    PetscCall(MatDiffusionPlexSetRobin(A, label, 2, values, Transfer, NULL)); /* and those of the PetscDS: twice */
    PetscCall(MatDiffusionPlexSetFunction(A, 1, Conductivity, NULL, NULL));
    PetscCall(MatMult(A, x, y));
    PetscCall(Compare("functions", y, wanted));
  }
  PetscCall(MatGetDiagonal(J, wanted));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(Compare("diagonal", diagonal, wanted));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(VecDestroy(&local));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&J));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG with PCPATCHMG, for each h; without it the matrix is singular, with it it is not */
static PetscErrorCode TestSolve(PetscInt degree, PetscBool fixed, PetscInt most)
{
  const PetscReal sizes[5]  = {0, 1e-3, 1, 1e3, 1e6};
  const PetscInt  values[2] = {2, 3};
  DM              dm;
  DMLabel         label;
  Mat             A;
  Vec             x, b;
  KSP             ksp;
  PC              pc;

  PetscFunctionBeginUser;
  PetscCall(CreateSpace(degree, fixed, PETSC_FALSE, &dm, &label));
  PetscCall(MatCreateDiffusionPlex(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-9, 0, PETSC_CURRENT, 30));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  for (int i = 0; i < 5; i++) {
    MatNullSpace       null;
    PetscInt           its;
    KSPConvergedReason reason;

    size = sizes[i];
    PetscCall(MatDiffusionPlexSetRobin(A, label, 2, values, Transfer, NULL));
    PetscCall(MatGetNullSpace(A, &null));
    PetscCall(VecSetRandom(b, NULL));
    if (null) PetscCall(MatNullSpaceRemove(null, b));
    PetscCall(VecSet(x, 0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "h %g: %s%s\n", (double)size, reason > 0 && its <= most ? "solved" : "NOT SOLVED",
                          (PetscBool) !!null == (PetscBool)(!fixed && size == 0) ? "" : ", WRONG null space"));
    if (reason < 0 || its > most) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " iterations\n", its));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  PetscInt  degree = 3, most = 9;
  PetscBool fixed = PETSC_TRUE, nonlinear = PETSC_FALSE, solve = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &degree, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fixed", &fixed, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-nonlinear", &nonlinear, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  if (solve) PetscCall(TestSolve(degree, fixed, most));
  else PetscCall(TestOperator(degree, fixed, nonlinear));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST
  testset:
    args: -dm_plex_simplex 0

    test:
      suffix: 2d
      nsize: {{1 3}}
      output_file: output/robin.out
      args: -dm_plex_box_faces 3,2 -each_degree 1:2:5 -each_fixed 0:1
    test:
      suffix: 3d
      nsize: {{1 3}}
      output_file: output/robin.out
      args: -dm_plex_dim 3 -dm_plex_box_faces 3,2,2 -each_degree 1:3
    test:
      suffix: nonlinear
      nsize: {{1 3}}
      args: -each_dm_plex_dim 2:3 -degree 3 -nonlinear
    test:
      suffix: solve
      nsize: {{1 3}}
      output_file: output/robin_solve.out
      args: -dm_plex_dim 3 -dm_plex_box_faces 3,3,3 -each_degree 2:4 -solve -each_fixed 0:1 -each_pc_type patchmg:single -ksp_type fcg
    test:
      suffix: solve_2d
      output_file: output/robin_solve.out
      args: -dm_plex_box_faces 6,5 -each_degree 1:3:8 -solve -each_fixed 0:1
TEST*/
