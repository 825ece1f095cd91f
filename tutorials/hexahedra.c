static char
  help[] = "-div(K (1 + c u^2) grad u) = f on any mesh of hexahedra or quadrilaterals: a program of PETSc's with SNES, DMPLEX and\n\
PetscDS, in which this library is nothing but options:\n\
  hexahedra -dm_plex_filename part.msh -K 100,1 -sides 1 -degree 4 -pc_type patchmg\n\
  hexahedra -dm_plex_filename part.msh -K 100,1 -sides 1 -degree 4 -pc_type patchmg -dm_mat_type patchfd -picard\n\n";

#include <petscdmplex.h>
#include <petscds.h>
#include <petscpatchfd.h>
#include <petscsnes.h>

/* what PETSc calls at the points of cells; constants[0] is c, a[0] the K of the material */
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
  for (PetscInt d = 0; d < dim; d++) f[d] = a[0] * (1 + constants[0] * u[0] * u[0]) * u_x[d];
}

static void G2(POINT, PETSC_UNUSED PetscReal shift, CONSTANTS, PetscScalar g[])
{
  for (PetscInt d = 0; d < dim; d++) g[d] = a[0] * 2 * constants[0] * u[0] * u_x[d];
}

static void G3(POINT, PETSC_UNUSED PetscReal shift, CONSTANTS, PetscScalar g[])
{
  for (PetscInt d = 0; d < dim; d++) g[d * dim + d] = a[0] * (1 + constants[0] * u[0] * u[0]);
}

static PetscErrorCode Zero(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                           PETSC_UNUSED PetscInt n, PetscScalar *u, PETSC_UNUSED void *ctx)
{
  u[0] = 0;
  return PETSC_SUCCESS;
}

typedef struct {
  PetscInt  degree, nsides, nmaterials, sides[16];
  PetscReal c, K[16];
  PetscBool picard;
} Problem;

/* K of each cell, from the material that the mesh file says it is of, as an auxiliary field */
static PetscErrorCode SetMaterials(DM dm, const Problem *p, PetscFE solution)
{
  PetscInt     first, end, dim;
  DM           values;
  DMLabel      label;
  PetscFE      fe;
  PetscScalar *a;
  Vec          v;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMClone(dm, &values));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, dim, 1, PETSC_FALSE, 0, PETSC_DETERMINE, &fe));
  PetscCall(PetscFECopyQuadrature(solution, fe));
  PetscCall(DMSetField(values, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(values));
  PetscCall(DMCreateLocalVector(values, &v));
  PetscCall(DMGetLabel(dm, "Cell Sets", &label));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &first, &end));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt cell = first; cell < end; cell++) {
    PetscInt     material = 1;
    PetscScalar *K;

    if (label) PetscCall(DMLabelGetValue(label, cell, &material));
    PetscCheck(!p->nmaterials || (material > 0 && material <= p->nmaterials), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "Cell %" PetscInt_FMT " is of material %" PetscInt_FMT ", of which -K has no number", cell, material);
    PetscCall(DMPlexPointLocalRef(values, cell, a, &K));
    *K = p->nmaterials ? p->K[material - 1] : 1;
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscCall(DMSetAuxiliaryVec(dm, NULL, 0, 0, v));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u = 0 on the sides that the mesh file numbers so, or on the whole boundary */
static PetscErrorCode FixSides(DM dm, const Problem *p)
{
  const PetscInt one = 1, n = p->nsides ? p->nsides : 1, *values = p->nsides ? p->sides : &one;
  DMLabel        label;

  PetscFunctionBeginUser;
  if (p->nsides) PetscCall(DMGetLabel(dm, "Face Sets", &label));
  else {
    PetscCall(DMCreateLabel(dm, "boundary"));
    PetscCall(DMGetLabel(dm, "boundary", &label));
    PetscCall(DMPlexMarkBoundaryFaces(dm, 1, label));
  }
  PetscCheck(label, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-sides: the mesh has no label Face Sets");
  PetscCall(DMPlexLabelComplete(dm, label));
  PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, "sides", label, n, values, 0, 0, NULL, (PetscVoidFn *)Zero, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q_degree; with `picard` the Jacobian leaves out g2, which only Newton's method has */
static PetscErrorCode SetUpProblem(DM dm, const Problem *p)
{
  const PetscScalar c = p->c;
  PetscInt          dim;
  PetscFE           fe;
  PetscDS           ds;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, dim, 1, PETSC_FALSE, p->degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(dm, 0, NULL, (PetscObject)fe));
  PetscCall(DMCreateDS(dm));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetResidual(ds, 0, F0, F1));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, NULL, NULL, p->picard ? NULL : G2, G3));
  PetscCall(PetscDSSetConstants(ds, 1, (PetscScalar *)&c));
  PetscCall(SetMaterials(dm, p, fe));
  PetscCall(FixSides(dm, p));
  PetscCall(DMPlexSetSNESLocalFEM(dm, PETSC_FALSE, NULL));
  PetscCall(PetscFEDestroy(&fe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* places of a refined mesh, whose cells are then straight in the last refinement */
static PetscErrorCode RefineGeometry(DM dm, PetscInt degree, DM fine)
{
  DM  cdm, fcdm;
  Mat interpolate;
  Vec x, y;

  PetscFunctionBeginUser;
  PetscCall(DMPlexCreateCoordinateSpace(fine, degree, PETSC_FALSE, PETSC_FALSE));
  PetscCall(DMGetCoordinateDM(dm, &cdm));
  PetscCall(DMGetCoordinateDM(fine, &fcdm));
  PetscCall(DMSetCoarseDM(fcdm, cdm));
  PetscCall(DMPlexSetRegularRefinement(fcdm, PETSC_TRUE));
  PetscCall(DMCreateInterpolation(cdm, fcdm, &interpolate, NULL));
  PetscCall(DMGetCoordinates(dm, &x));
  PetscCall(DMCreateGlobalVector(fcdm, &y));
  PetscCall(MatInterpolate(interpolate, x, y));
  PetscCall(DMSetCoordinates(fine, y));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&interpolate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -vec_view of the solution on a mesh that is refined so often: PETSc's files for ParaView have no nodes but vertices */
static PetscErrorCode View(DM dm, Vec u, PetscInt refine)
{
  DM  fine;
  Mat interpolate;
  Vec v;

  PetscFunctionBeginUser;
  if (!refine) {
    PetscCall(PetscObjectSetName((PetscObject)u, "solution"));
    PetscCall(VecViewFromOptions(u, NULL, "-vec_view"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
  PetscCall(DMSetCoarseDM(fine, dm));
  PetscCall(DMPlexSetRegularRefinement(fine, PETSC_TRUE)); /* interpolation then is cell by cell */
  PetscCall(DMCreateInterpolation(dm, fine, &interpolate, NULL));
  PetscCall(DMCreateGlobalVector(fine, &v));
  PetscCall(MatInterpolate(interpolate, u, v));
  PetscCall(RefineGeometry(dm, refine > 1 ? 2 : 1, fine));
  PetscCall(View(fine, v, refine - 1));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&interpolate));
  PetscCall(DMDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem             p      = {.degree = 3, .nsides = 16, .nmaterials = 16, .c = 1};
  PetscInt            refine = 1, its, linear;
  PetscBool           set;
  SNESConvergedReason reason;
  SNES                snes;
  DM                  dm;
  Vec                 u;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage()); /* or -dll_append */
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "A nonlinear problem", NULL);
  PetscCall(PetscOptionsInt("-degree", "Polynomial degree", NULL, p.degree, &p.degree, NULL));
  PetscCall(PetscOptionsReal("-c", "1 + c u^2 is a factor of the conductivity", NULL, p.c, &p.c, NULL));
  PetscCall(PetscOptionsBool("-picard", "Leave the derivative of the conductivity out of the Jacobian", NULL, p.picard, &p.picard, NULL));
  PetscCall(PetscOptionsRealArray("-K", "Conductivities of the materials 1, 2, ... of the mesh", NULL, p.K, &p.nmaterials, &set));
  if (!set) p.nmaterials = 0;
  PetscCall(PetscOptionsIntArray("-sides", "Sides of the mesh where u = 0", NULL, p.sides, &p.nsides, &set));
  if (!set) p.nsides = 0;
  PetscCall(PetscOptionsInt("-refine_view", "How often the mesh is refined for -vec_view", NULL, refine, &refine, NULL));
  PetscOptionsEnd();
  PetscCall(DMCreate(PETSC_COMM_WORLD, &dm));
  PetscCall(DMSetType(dm, DMPLEX));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(SetUpProblem(dm, &p));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetIterationNumber(snes, &its));
  PetscCall(SNESGetLinearSolveIterations(snes, &linear));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " steps, %" PetscInt_FMT " linear iterations\n",
                        SNESConvergedReasons[reason], its, linear));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-vec_view", &set));
  PetscCall(DMSetMatType(dm, MATAIJ)); /* of interpolations */
  if (set) PetscCall(View(dm, u, refine));
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

  testset:
    nsize: {{1 2}}
    args: -pc_type patchmg -ksp_rtol 1e-8 -mg_coarse_assembled_pc_type redundant

    test: # reads and writes files
      suffix: ball
      args: -dm_plex_filename meshes/ball.msh -degree 4 -ksp_type fgmres -vec_view vtk:ball.vtu
      localrunfiles: meshes
    test:
      suffix: part
      args: -dm_plex_filename meshes/part.msh -K 100,1 -sides 1 -c 0 -degree 4 -ksp_type cg -dm_mat_type patchfd -picard
      localrunfiles: meshes
TEST*/
