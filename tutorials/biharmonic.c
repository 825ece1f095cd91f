static char help
  [] = "Bending of plates: D laplace^2 u + s u = f on a box, by C0 interior penalties on Q_k elements, k >= 2, and multigrid with vertex \
patches.\n\
  -problem plate : a square plate under the uniform load q = 1, its deflection in the middle against the series solution\n\
  -problem sine  : u = prod_i sin(pi x_i + 0.3), so that u, its slope and its second derivatives on the sides are not zero; errors and \
their orders\n\
  -levels n      : on n meshes, each with half the cell size of the one before (default 3)\n\
  -dm_box_boundary dirichlet, supported : clamped or simply supported sides, one kind for all or for each (see DMBOX)\n\
  -dm_box_cells, -dm_box_degree, -dm_box_bending, -dm_box_shift, ... : the first mesh, the element, D and s\n\
  -ksp_*, -pc_*  : the solver (default: FGMRES, PCPATCHMG)\n\
  -view_solution vtk:plate.vts : write the deflection on the finest mesh for ParaView\n\n";

#include <petscpatchfd.h>

/* ---- sine: everything follows from u ---- */

/* u = prod sin(pi x_d + 0.3), differentiated in the directions i and j (-1: not) */
static PetscReal Derivative(PetscInt dim, const PetscReal x[], PetscInt i, PetscInt j)
{
  PetscReal u = 1;

  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt order = (i == d) + (j == d);

    u *= PetscPowRealInt(PETSC_PI, order) * PetscSinReal(PETSC_PI * x[d] + 0.3 + order * PETSC_PI / 2);
  }
  return u;
}

static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = Derivative(dim, x, -1, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Hessian(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                              PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) u[i] = Derivative(dim, x, i / dim, i % dim);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* each derivative of second order is -pi^2 u, so that laplace^2 u = dim^2 pi^4 u */
static PetscErrorCode Force(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                            void *ctx)
{
  PetscReal D, s;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBiharmonic((DM)ctx, &D, &s));
  f[0] = (D * dim * dim * PetscPowRealInt(PETSC_PI, 4) + s) * Derivative(dim, x, -1, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* du/dn on clamped sides: a point on a side lies on one bound of the box */
static PetscErrorCode Slope(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[],
                            void *ctx)
{
  PetscReal lower[3], upper[3];

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds((DM)ctx, lower, upper));
  for (PetscInt d = 0; d < dim; d++) {
    if (x[d] == lower[d]) g[0] = -Derivative(dim, x, d, -1);
    if (x[d] == upper[d]) g[0] = Derivative(dim, x, d, -1);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d2u/dn2 on supported sides: it does not depend on the direction for this u */
static PetscErrorCode Moment(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar g[],
                             PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  g[0] = Derivative(dim, x, 0, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- plate ---- */

static PetscErrorCode Load(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                           PETSC_UNUSED PetscInt Nc, PetscScalar q[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  q[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The deflection in the middle as a multiple of q L^4 / D, all sides clamped or all supported: of a beam, and of a square plate by series
  (supported: Navier's; clamped: R. L. Taylor, S. Govindjee, Solution of clamped rectangular plate problems, 2004).  NaN if it is not known.
*/
static PetscErrorCode KnownDeflection(DM dm, PetscReal *known)
{
  const PetscReal   deflection[2][2] = {{1. / 384, 5. / 384}, {0.00126532, 0.00406235}};
  DMBoxBoundaryType boundary[6];
  PetscInt          dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetBoundary(dm, boundary));
  *known = dim < 3 ? deflection[dim - 1][boundary[0] == DMBOX_BOUNDARY_SUPPORTED] : NAN;
  for (PetscInt i = 1; i < 2 * dim; i++)
    if (boundary[i] != boundary[0]) *known = NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- both ---- */

static PetscErrorCode Solve(DM dm, PetscBool plate, Vec *u, PetscInt *its)
{
  KSP ksp;
  PC  pc;
  Vec b, g;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, u));
  PetscCall(PetscObjectSetName((PetscObject)*u, "deflection"));
  PetscCall(VecDuplicate(*u, &b));
  if (plate) PetscCall(DMBoxAddLoad(dm, 0, Load, NULL, b)); /* zero on the sides, as are slope or moment: nothing has to be done for that */
  else {
    PetscCall(DMBoxAddLoad(dm, 0, Force, dm, b));
    PetscCall(DMBoxAddBendingLoad(dm, 0, Slope, Moment, dm, b));
    PetscCall(VecDuplicate(*u, &g));
    PetscCall(DMBoxInterpolateFunction(dm, 0, Exact, NULL, g));
    PetscCall(DMBoxLiftDirichlet(dm, g, b));
    PetscCall(VecDestroy(&g));
  }

  PetscCall(KSPCreate(PetscObjectComm((PetscObject)dm), &ksp));
  PetscCall(KSPSetDM(ksp, dm)); /* the DM makes the operator and the coarser levels */
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  /* values on the sides bring entries of size h^-3 into b: what is small against these is not yet small against the load */
  PetscCall(KSPSetTolerances(ksp, plate ? 1e-10 : 1e-13, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, *u));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a line of the table for sine; `error` is that of the mesh before, zero if there is none, and becomes that of this one */
static PetscErrorCode PrintErrors(DM dm, Vec u, PetscReal error[2])
{
  PetscReal e[2];

  PetscFunctionBeginUser;
  PetscCall(DMBoxComputeError(dm, 0, Exact, NULL, u, &e[0], NULL));
  PetscCall(DMBoxComputeBendingError(dm, 0, Hessian, NULL, u, &e[1]));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %.2e", (double)e[i]));
    if (error[i] > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %5.1f", (double)PetscLog2Real(error[i] / e[i])));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "      "));
    error[i] = e[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a line of the table for plate: the deflection is largest in the middle, where a node has to be */
static PetscErrorCode PrintDeflection(DM dm, Vec u)
{
  PetscReal lower[3], upper[3], D, known = 0, largest;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  PetscCall(DMBoxGetBiharmonic(dm, &D, NULL));
  PetscCall(KnownDeflection(dm, &known));
  PetscCall(VecMax(u, NULL, &largest));
  largest *= D / PetscPowRealInt(upper[0] - lower[0], 4);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %.8f", (double)largest));
  if (PetscIsNanReal(known)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "           -"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %.8f", (double)known));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const problems[] = {"plate", "sine"};
  const PetscInt    cells[]    = {4, 4, 4};
  PetscReal         error[2]   = {0, 0};
  PetscInt          problem = 0, levels = 3, degree;
  DM                dm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem", problems, 2, &problem, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-levels", &levels, NULL));

  /* the mesh carries the element and the operator */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 4, &dm));
  PetscCall(DMBoxSetOperator(dm, "biharmonic"));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));

  PetscCall(DMBoxGetDegree(dm, &degree));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, Q%" PetscInt_FMT "\n", problems[problem], degree));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "cells  unknowns  %s\n",
                        problem == 0 ? "deflection       known  iterations" : "L2 error order  H2 error order  iterations"));
  for (PetscInt l = 0; l < levels; l++) {
    PetscInt n[3], N, its;
    DM       fine;
    Vec      u;

    PetscCall(Solve(dm, (PetscBool)(problem == 0), &u, &its));
    PetscCall(DMBoxGetCells(dm, n));
    PetscCall(VecGetSize(u, &N));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%5" PetscInt_FMT " %9" PetscInt_FMT, n[0], N));
    if (problem == 0) PetscCall(PrintDeflection(dm, u));
    else PetscCall(PrintErrors(dm, u, error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %11" PetscInt_FMT "\n", its));
    if (l == levels - 1) PetscCall(VecViewFromOptions(u, NULL, "-view_solution"));
    else {
      PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
      PetscCall(DMDestroy(&dm));
      dm = fine;
    }
    PetscCall(VecDestroy(&u));
  }
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     output_file: output/biharmonic_plate.out
     test:
       suffix: plate
       nsize: {{1 2 3}}
     test:
       suffix: plate_single
       args: -pc_type single
     test:
       suffix: plate_cuda
       requires: cuda gpu
       output_file: output/biharmonic_plate_cuda.out
       args: -dm_vec_type cuda -mg_levels_pc_patchfd_precision same
     test:
       suffix: plate_cuda_single
       requires: cuda gpu
       output_file: output/biharmonic_plate_cuda.out
       args: -dm_vec_type cuda -pc_type single -single_mg_levels_pc_patchfd_precision same

   testset:
     args: -dm_box_boundary supported
     test:
       suffix: supported
       nsize: 2
       args: -view_solution vtk:plate.vts
     # a beam
     test:
       suffix: beam
       args: -dm_box_dim 1 -levels 1
     # a wider, stiffer plate; nothing is known for sides of both kinds
     test:
       suffix: scaled
       args: -dm_box_degree 5 -levels 2 -dm_box_lower -1 -dm_box_upper 2 -dm_box_bending 1e6
     test:
       suffix: both
       args: -dm_box_boundary dirichlet,dirichlet,supported,supported -levels 2

   # orders of the L2 error 2 for k = 2, else k + 1, of second derivatives k - 1
   testset:
     args: -problem sine -dm_box_boundary dirichlet,supported,supported,dirichlet
     test:
       suffix: q2
       args: -dm_box_degree 2 -levels 4
     test:
       suffix: q3
       args: -dm_box_degree 3 -dm_box_boundary dirichlet
     test:
       suffix: q4
       nsize: {{1 2 3}}
       output_file: output/biharmonic_q4.out
     test:
       suffix: q4_cuda
       requires: cuda gpu
       output_file: output/biharmonic_q4.out
       args: -dm_vec_type cuda
     # the V-cycle in single precision
     test:
       suffix: q4_single
       nsize: {{1 2}}
       output_file: output/biharmonic_q4.out
       args: -pc_type single
     test:
       suffix: 3d
       nsize: 2
       args: -dm_box_dim 3 -dm_box_degree 3 -dm_box_cells 2 -dm_box_boundary dirichlet,supported,supported,dirichlet,supported,dirichlet
     # PCMG, written out
     test:
       suffix: mg
       args: -dm_box_cells 2 -pc_type mg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type patchfd
       args: -mg_coarse_ksp_type preonly -mg_coarse_pc_type patchfd -mg_coarse_pc_patchfd_patch box

   # other solvers: the same errors
   testset:
     args: -problem sine -dm_box_boundary dirichlet,supported,supported,dirichlet
     filter: cut -c -47
     output_file: output/biharmonic_errors.out
     test:
       suffix: cg
       args: -ksp_type cg -ksp_norm_type unpreconditioned -pc_patchmg_symmetric
     test:
       suffix: additive
       args: -ksp_type cg -ksp_norm_type unpreconditioned -mg_levels_pc_patchfd_type additive
     test:
       suffix: inexact
       args: -mg_levels_pc_patchfd_local fd_inexact
     test:
       suffix: box
       nsize: {{1 2}}
       args: -pc_type patchfd -pc_patchfd_patch box
     test:
       suffix: lu
       args: -dm_mat_type aij -pc_type lu

TEST*/
