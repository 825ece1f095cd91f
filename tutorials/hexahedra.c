static char help[] = "-div((1 + c u^2) grad u) = f on any mesh of hexahedra or quadrilaterals: a program of PETSc's with SNES, DMPLEX and\n\
PetscDS, in which this library is nothing but options:\n\
  hexahedra -dm_plex_filename part.msh -degree 4 -pc_type patchmg\n\
  hexahedra -dm_plex_filename part.msh -degree 4 -pc_type patchmg -dm_mat_type patchfd -picard\n\n";

#include <petscdmplex.h>
#include <petscds.h>
#include <petscpatchfd.h>
#include <petscsnes.h>

/* what PETSc calls at the points of cells; constants[0] is c */
#define POINT \
  PetscInt dim, PETSC_UNUSED PetscInt Nf, PETSC_UNUSED PetscInt NfAux, PETSC_UNUSED const PetscInt uOff[], \
    PETSC_UNUSED const PetscInt uOff_x[], PETSC_UNUSED const PetscScalar u[], PETSC_UNUSED const PetscScalar u_t[], \
    PETSC_UNUSED const PetscScalar u_x[], PETSC_UNUSED const PetscInt aOff[], PETSC_UNUSED const PetscInt aOff_x[], \
    PETSC_UNUSED const PetscScalar a[], PETSC_UNUSED const PetscScalar a_t[], PETSC_UNUSED const PetscScalar a_x[], \
    PETSC_UNUSED PetscReal t
#define CONSTANTS PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[]

static void F0(POINT, CONSTANTS, PetscScalar f[])
{
  f[0] = -2.0 * dim;
}

static void F1(POINT, CONSTANTS, PetscScalar f[])
{
  for (PetscInt d = 0; d < dim; d++) f[d] = (1 + constants[0] * u[0] * u[0]) * u_x[d];
}

static void G2(POINT, PETSC_UNUSED PetscReal shift, CONSTANTS, PetscScalar g[])
{
  for (PetscInt d = 0; d < dim; d++) g[d] = 2 * constants[0] * u[0] * u_x[d];
}

static void G3(POINT, PETSC_UNUSED PetscReal shift, CONSTANTS, PetscScalar g[])
{
  for (PetscInt d = 0; d < dim; d++) g[d * dim + d] = 1 + constants[0] * u[0] * u[0];
}

static PetscErrorCode Zero(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                           PETSC_UNUSED PetscInt n, PetscScalar *u, PETSC_UNUSED void *ctx)
{
  u[0] = 0;
  return PETSC_SUCCESS;
}

/* Q_degree, zero on the whole boundary; with `picard` the Jacobian leaves out g2, which only Newton's method has */
static PetscErrorCode SetUpProblem(DM dm, PetscInt degree, PetscBool picard, PetscScalar c)
{
  const PetscInt id = 1;
  PetscInt       dim;
  PetscFE        fe;
  PetscDS        ds;
  DMLabel        label;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, dim, 1, PETSC_FALSE, degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(dm));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetResidual(ds, 0, F0, F1));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, NULL, NULL, picard ? NULL : G2, G3));
  PetscCall(PetscDSSetConstants(ds, 1, &c));
  PetscCall(DMCreateLabel(dm, "sides"));
  PetscCall(DMGetLabel(dm, "sides", &label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, label));
  PetscCall(DMPlexLabelComplete(dm, label));
  PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, "sides", label, 1, &id, 0, 0, NULL, (PetscVoidFn *)Zero, NULL, NULL, NULL));
  PetscCall(DMPlexSetSNESLocalFEM(dm, PETSC_FALSE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt            degree = 3, its, linear;
  PetscReal           c      = 1;
  PetscBool           picard = PETSC_FALSE;
  SNESConvergedReason reason;
  SNES                snes;
  DM                  dm;
  Vec                 u;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage()); /* or -dll_append */
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "A nonlinear problem", NULL);
  PetscCall(PetscOptionsInt("-degree", "Polynomial degree", NULL, degree, &degree, NULL));
  PetscCall(PetscOptionsReal("-c", "1 + c u^2 is the conductivity", NULL, c, &c, NULL));
  PetscCall(PetscOptionsBool("-picard", "Leave the derivative of the conductivity out of the Jacobian", NULL, picard, &picard, NULL));
  PetscOptionsEnd();
  PetscCall(DMCreate(PETSC_COMM_WORLD, &dm));
  PetscCall(DMSetType(dm, DMPLEX));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(SetUpProblem(dm, degree, picard, c));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(PetscObjectSetName((PetscObject)u, "solution"));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetIterationNumber(snes, &its));
  PetscCall(SNESGetLinearSolveIterations(snes, &linear));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " steps, %" PetscInt_FMT " linear iterations\n",
                        SNESConvergedReasons[reason], its, linear));
  PetscCall(VecViewFromOptions(u, NULL, "-vec_view"));
  PetscCall(VecDestroy(&u));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST
  testset:
    nsize: {{1 2}}
    args: -dm_plex_dim 3 -dm_plex_simplex 0 -dm_plex_box_faces 3,3,3 -pc_type patchmg -ksp_rtol 1e-8 -mg_coarse_assembled_pc_type redundant

    test:
      suffix: newton
      args: -ksp_type fgmres -degree 4
    test:
      suffix: free
      args: -ksp_type cg -degree 4 -dm_mat_type patchfd -picard
    test:
      suffix: operator
      args: -ksp_type fgmres -degree 3 -dm_mat_type patchfd -snes_mf_operator
TEST*/
