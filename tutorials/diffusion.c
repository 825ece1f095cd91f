static char help[] =
  "Conduction through a bent channel: -div(K grad u) = 0, u = 1 at one end and 0 at the other, its other sides insulated.  Four layers, \
two of them with a K that\n\
is larger by a factor, and round inclusions with a K that is smaller by the factor; layers end at faces of cells, inclusions do not.\n\
A line for each factor and each angle by which the channel is bent: iterations, and the flux that goes through it.\n\
  -contrasts <c,...>           : the factors (default 1,10,100)\n\
  -bends <a,...>               : the angles, 0 for a straight channel (default 0,1.5,3)\n\
  -inclusions <n>              : how many (default 0)\n\
  -dm_box_*, -dm_refine        : the mesh and the element (see DMBOX)\n\
  -ksp_*, -pc_*                : the solver (default: FGMRES, PCPATCHMG)\n\
  -ksp_view_solution vtk:u.vts : write the solution for ParaView\n\n";

#include <petscpatchfd.h>

/* the channel is a box of this length, and of width and height 1, which a map bends */
#define LENGTH 3.0

typedef struct {
  PetscReal contrast, bend;
  PetscInt  inclusions;
} Channel;

/* the middle of the channel becomes an arc; y = 0 and y = 1 are inside and outside of it */
static PetscErrorCode Bend(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                           void *ctx)
{
  const Channel  *c      = (Channel *)ctx;
  const PetscReal radius = LENGTH / c->bend, angle = x[0] / radius, r = radius + 0.5 - x[1];

  PetscFunctionBeginUser;
  y[0] = r * PetscSinReal(angle);
  y[1] = radius - r * PetscCosReal(angle);
  if (dim == 3) y[2] = x[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* and back */
static void Straighten(const Channel *c, PetscInt dim, const PetscReal y[], PetscReal x[3])
{
  const PetscReal radius = c->bend == 0 ? 0 : LENGTH / c->bend;

  x[0] = c->bend == 0 ? y[0] : radius * PetscAtan2Real(y[0], radius - y[1]);
  x[1] = c->bend == 0 ? y[1] : radius + 0.5 - PetscSqrtReal(y[0] * y[0] + (radius - y[1]) * (radius - y[1]));
  x[2] = dim == 3 ? y[2] : 0.5;
}

static PetscErrorCode Conductivity(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal y[], PETSC_UNUSED PetscInt Nc,
                                   PetscScalar K[], void *ctx)
{
  const Channel *c = (Channel *)ctx;
  PetscReal      x[3];

  PetscFunctionBeginUser;
  Straighten(c, dim, y, x);
  K[0] = (PetscInt)(4 * x[1]) % 2 ? c->contrast : 1;
  for (PetscInt i = 0; i < c->inclusions; i++) {
    const PetscReal middle[3] = {LENGTH * ((PetscReal)i + 0.5) / (PetscReal)c->inclusions, i % 2 ? 0.3 : 0.7, 0.5};
    PetscReal       distance  = 0;

    for (PetscInt d = 0; d < 3; d++) distance += (x[d] - middle[d]) * (x[d] - middle[d]);
    if (distance < 0.04) K[0] = 1 / c->contrast;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 at the beginning of the channel; elsewhere it does not matter */
static PetscErrorCode Ends(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal y[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                           void *ctx)
{
  PetscReal x[3];

  PetscFunctionBeginUser;
  Straighten((Channel *)ctx, dim, y, x);
  u[0] = x[0] < 0.5 * LENGTH ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ends: what there is at both ends; the other sides are insulated */
static PetscErrorCode CreateMesh(Channel *c, DMBoxBoundaryType ends, DM *dm)
{
  const PetscInt          cells[3] = {12, 4, 4};
  const PetscReal         lower[3] = {0, 0, 0}, upper[3] = {LENGTH, 1, 1};
  const DMBoxBoundaryType sides[6] =
    {ends, ends, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 3, dm));
  PetscCall(DMBoxSetBounds(*dm, lower, upper));
  PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  if (c->bend != 0) PetscCall(DMBoxSetMapping(*dm, Bend, c));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMBoxSetBoundary(*dm, sides));
  PetscCall(DMBoxSetDiffusionFunction(*dm, 1, Conductivity, NULL, c));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the integral of K |grad u|^2 is the flux for a difference of 1; without Dirichlet sides the matrix has it */
static PetscErrorCode Flux(Channel *c, Vec u, PetscReal *flux)
{
  DM          dm;
  Mat         A;
  Vec         y;
  PetscScalar energy;

  PetscFunctionBeginUser;
  PetscCall(CreateMesh(c, DMBOX_BOUNDARY_NEUMANN, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(VecDuplicate(u, &y));
  PetscCall(MatMult(A, u, y));
  PetscCall(VecDot(u, y, &energy));
  *flux = PetscRealPart(energy);
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Channel *c)
{
  DM                 dm;
  KSP                ksp;
  PC                 pc;
  Vec                b, u;
  PetscReal          flux = 0;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMesh(c, DMBOX_BOUNDARY_DIRICHLET, &dm));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(PetscObjectSetName((PetscObject)u, "u"));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Ends, c, u));
  PetscCall(DMBoxLiftDirichlet(dm, u, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Flux(c, u, &flux));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "contrast %g, bend %g: ", (double)c->contrast, (double)c->bend));
  if (reason > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "iterations %" PetscInt_FMT ", flux %.5g\n", its, (double)flux));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "not solved in %" PetscInt_FMT " iterations\n", its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Channel   c            = {0, 0, 0};
  PetscReal contrast[16] = {1, 10, 100}, bend[16] = {0, 1.5, 3};
  PetscInt  n = 16, m = 16;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-contrasts", contrast, &n, &set));
  if (!set) n = 3;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-bends", bend, &m, &set));
  if (!set) m = 3;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-inclusions", &c.inclusions, NULL));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < m; j++) {
      c.contrast = contrast[i];
      c.bend     = bend[j];
      PetscCall(Solve(&c));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     nsize: {{1 3}}
   test:
     suffix: 2d
     nsize: 2
     args: -dm_box_dim 2 -dm_refine 1 -inclusions 4 -contrasts 10 -dm_box_degree 2
   test:
     suffix: cuda
     requires: cuda gpu
     output_file: output/diffusion_1.out
     args: -dm_vec_type cuda -mg_levels_pc_patchfd_patch cell
     # coarse meshes have operators of their own there
     filter: sed "s/iterations 7/iterations 6/"

TEST*/
