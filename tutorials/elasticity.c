static char help
  [] = "Solids: displacements u with -div (2 mu eps(u) + lambda div u) = f on a box, with Q_k elements and multigrid with vertex patches.\n\
  -problem cantilever : a beam, clamped at the lower side of x, with a force across it at the other end;\n\
                        the mean deflection of the end beside those of the theories of beams, and the stress along the beam in the\n\
                        middle of its lower side, in theory 18\n\
  -problem rubber     : a block between two rigid plates, which are pressed together by a tenth of its height; Poisson's ratio is 0.4999;\n\
                        its stiffness, and the stress across the plates in its middle\n\
  -problem cook       : Cook's membrane, a tapered panel that is clamped at the left and sheared at the right, in 2D by a map;\n\
                        the vertical displacements of the middle and of the upper corner of the loaded side, and von Mises' stress in the\n\
                        middle of the lower side\n\
  -problem cylinder   : a quarter of a thick-walled cylinder under pressure from inside, in 2D by a map; the radial\n\
                        displacements of both walls, and the stress along the inner one, beside those of Lame's solution\n\
  -levels n           : on n meshes, each with half the cell size of the one before (default 3)\n\
  -dm_box_dim, -dm_box_cells, -dm_box_degree, -dm_box_young, -dm_box_poisson_ratio, ... : the first mesh, the element, the material\n\
  -ksp_*, -pc_*       : the solver (default: CG, PCPATCHMG with symmetric cycles)\n\
  -view_solution vtk:solid.vts : write the displacement and the stresses on the finest mesh for ParaView\n\n";

#include <petscpatchfd.h>
#include <petscdmda.h>

typedef enum {
  CANTILEVER,
  RUBBER,
  COOK,
  CYLINDER
} Problem;
static const char *const Problems[] = {"cantilever", "rubber", "cook", "cylinder", "Problem", "", NULL};

static const PetscReal PRESSED = 0.1; /* the part of the block's height by which the plates come together */

/* a force of 1 in the last direction, spread over the end of the beam; the sides of x = upper[0] alone have it */
static PetscErrorCode EndForce(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar t[], void *ctx)
{
  PetscReal lower[3], upper[3], area = 1;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds((DM)ctx, lower, upper));
  for (PetscInt d = 1; d < dim; d++) area *= upper[d] - lower[d];
  for (PetscInt c = 0; c < Nc; c++) t[c] = c == dim - 1 && x[0] == upper[0] ? 1 / area : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the displacement of the plates, at the sides of the last direction */
static PetscErrorCode Plates(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  PetscReal lower[3], upper[3];

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds((DM)ctx, lower, upper));
  for (PetscInt c = 0; c < Nc; c++) u[c] = c == dim - 1 && x[c] == upper[c] ? -PRESSED * (upper[c] - lower[c]) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* from the unit square to the panel with the corners (0, 0), (48, 44), (48, 60) and (0, 44) */
static PetscErrorCode Panel(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal s[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar x[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  x[0] = 48 * s[0];
  x[1] = 44 * s[0] + (44 - 28 * s[0]) * s[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a force of 1 upwards, spread over the right side, which has the length 16 */
static PetscErrorCode Shear(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar t[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  t[0] = 0;
  t[1] = x[0] > 48 - 1e-6 ? 1.0 / 16 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* radius and angle to space */
static PetscErrorCode Sector(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal s[], PETSC_UNUSED PetscInt Nc,
                             PetscScalar x[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  x[0] = s[0] * PetscCosReal(s[1]);
  x[1] = s[0] * PetscSinReal(s[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a pressure of 1 on the wall of radius 1 */
static PetscErrorCode Pressure(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar t[],
                               PETSC_UNUSED void *ctx)
{
  const PetscReal r = PetscSqrtReal(x[0] * x[0] + x[1] * x[1]);

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) t[c] = r < 1.5 ? x[c] / r : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of Cook's membrane or the cylinder: plane strain but for the panel that is compressible */
static PetscErrorCode MappedMeshCreate(Problem problem, DM *dm)
{
  const PetscInt          cells[] = {2, 2}, component[] = {PETSC_DETERMINE, PETSC_DETERMINE, 1, 0};
  const PetscReal         lower[2][2] = {{0, 0}, {1, 0}}, upper[2][2] = {{1, 1}, {2, PETSC_PI / 2}};
  const DMBoxBoundaryType side[2][4] = {{DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN},
                                        {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_SYMMETRY}};
  const PetscBool         cook       = (PetscBool)(problem == COOK);

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, dm));
  PetscCall(DMBoxSetBounds(*dm, lower[!cook], upper[!cook]));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetOperator(*dm, "elasticity"));
  PetscCall(DMBoxSetBoundary(*dm, side[!cook]));
  PetscCall(DMBoxSetMapping(*dm, cook ? Panel : Sector, NULL));
  if (!cook) PetscCall(DMBoxSetSymmetryComponents(*dm, component));
  if (cook) PetscCall(DMBoxSetElasticModuli(*dm, 1, 1.0 / 3, DMBOX_PLANE_STRESS));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number of a node, the sum over the ranks: one of them has it.  The components of displacements are one after another, those of stresses
   node by node */
static PetscErrorCode NodeValue(Vec v, const PetscReal x[], PetscInt component, PetscReal *value)
{
  const PetscScalar *coordinate, *a;
  PetscInt           n, nodes, dim;
  PetscBool          stress;
  Vec                coordinates;
  DM                 dm;

  PetscFunctionBeginUser;
  *value = 0;
  PetscCall(VecGetDM(v, &dm));
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &stress));
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMGetCoordinates(dm, &coordinates));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetLocalSize(coordinates, &nodes));
  nodes /= dim;
  PetscCall(VecGetArrayRead(coordinates, &coordinate));
  PetscCall(VecGetArrayRead(v, &a));
  for (PetscInt i = 0; i < nodes; i++) {
    PetscReal distance = 0;

    for (PetscInt d = 0; d < dim; d++) distance += PetscAbsScalar(coordinate[dim * i + d] - x[d]);
    if (distance < 1e-6) *value = PetscRealPart(stress ? a[n / nodes * i + component] : a[component * nodes + i]);
  }
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscCall(VecRestoreArrayRead(coordinates, &coordinate));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, value, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lame: u = A r + B / r, without traction at r = 2, with a pressure of 1 at r = 1 */
static PetscErrorCode LameSolution(DM dm, PetscReal r, PetscReal *u)
{
  PetscReal lambda, mu;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetElasticity(dm, &lambda, &mu, NULL));
  *u = r / (6 * (lambda + mu)) + 2 / (3 * mu * r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mesh of level 0 */
static PetscErrorCode MeshCreate(Problem problem, DM *dm)
{
  const PetscInt    cells[2][3] = {{6, 2, 2}, {2, 2, 2}};
  const PetscReal   lower[] = {0, 0, 0}, upper[2][3] = {{6, 1, 1}, {1, 1, 1}};
  DMBoxBoundaryType side[6];
  PetscInt          dim = 3;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dm_box_dim", &dim, NULL));
  PetscCheck(dim == 2 || dim == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-dm_box_dim is %" PetscInt_FMT "; it must be 2 or 3", dim);
  for (int i = 0; i < 6; i++) side[i] = DMBOX_BOUNDARY_NEUMANN;
  if (problem == CANTILEVER) side[0] = DMBOX_BOUNDARY_DIRICHLET;
  else side[2 * dim - 2] = side[2 * dim - 1] = DMBOX_BOUNDARY_DIRICHLET;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells[problem], 2, dm));
  PetscCall(DMBoxSetBounds(*dm, lower, upper[problem]));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetOperator(*dm, "elasticity"));
  PetscCall(DMBoxSetBoundary(*dm, side));
  if (problem == RUBBER) PetscCall(DMBoxSetElasticModuli(*dm, 1, 0.4999, DMBOX_PLANE_STRAIN));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Deflections under a force of 1: L^3 / (3 E I), and that with the shear L / (5/6 mu A).  E is that of the dimension.  The stress in the
   middle of the lower side, (L / 2) (height / 2) / I */
static PetscErrorCode BeamTheories(DM dm, PetscReal *bernoulli, PetscReal *timoshenko, PetscReal *stress)
{
  PetscReal lower[3], upper[3], lambda, mu, E, width, height, length;
  PetscInt  dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  PetscCall(DMBoxGetElasticity(dm, &lambda, &mu, NULL));
  E           = 2 * mu * (dim * lambda + 2 * mu) / ((dim - 1) * lambda + 2 * mu);
  length      = upper[0] - lower[0];
  width       = dim == 3 ? upper[1] - lower[1] : 1;
  height      = upper[dim - 1] - lower[dim - 1];
  *bernoulli  = 4 * PetscPowRealInt(length / height, 3) / (E * width);
  *timoshenko = *bernoulli + 1.2 * length / (mu * width * height);
  *stress     = 3 * length / (width * height * height);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(DM dm, Problem problem, Vec b, Vec *x, PetscInt *its)
{
  KSP ksp;
  PC  pc;
  Vec g;

  PetscFunctionBeginUser;
  PetscCall(VecSet(b, 0));
  if (problem == CANTILEVER) PetscCall(DMBoxAddNeumannLoad(dm, 0, EndForce, dm, b));
  else if (problem != RUBBER) PetscCall(DMBoxAddNeumannLoad(dm, 0, problem == COOK ? Shear : Pressure, NULL, b));
  else {
    PetscCall(VecDuplicate(b, &g));
    PetscCall(DMBoxInterpolateFunction(dm, 0, Plates, dm, g));
    PetscCall(DMBoxLiftDirichlet(dm, g, b));
    PetscCall(VecDestroy(&g));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_RHS | KSP_DMACTIVE_INITIAL_GUESS, PETSC_FALSE));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetSymmetric(pc, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecDuplicate(b, x));
  PetscCall(KSPSolve(ksp, b, *x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the work of a force of 1 is the deflection; the energy of the block, u'A u, is its stiffness times the square of the displacement.
   Others have two numbers */
static PetscErrorCode Measure(DM dm, Problem problem, Vec b, Vec x, PetscReal number[2])
{
  const PetscReal place[2][2][2] = {{{48, 52}, {48, 60}}, {{1, 0}, {2, 0}}};
  PetscReal       energy, lower[3], upper[3];
  PetscScalar     work;
  PetscInt        dim;

  PetscFunctionBeginUser;
  if (problem == COOK || problem == CYLINDER) {
    for (int i = 0; i < 2; i++) PetscCall(NodeValue(x, place[problem == CYLINDER][i], problem == COOK, &number[i]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDot(b, x, &work));
  *number = PetscRealPart(work);
  if (problem == CANTILEVER) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  PetscCall(DMBoxComputeErrorVec(dm, x, NULL, NULL, &energy));
  *number = PetscSqr(energy / (PRESSED * (upper[dim - 1] - lower[dim - 1])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a component of the stress somewhere; displacement and stresses are written on the last mesh */
static PetscErrorCode Stress(DM dm, Problem problem, Vec x, PetscBool last, PetscReal *number)
{
  PetscReal         lower[3], upper[3], place[3] = {0, 0, 0};
  PetscInt          dim;
  PetscViewerFormat format;
  PetscViewer       viewer;
  PetscBool         view = PETSC_FALSE;
  Vec               stress;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  for (PetscInt d = 0; d < dim; d++) place[d] = 0.5 * (lower[d] + upper[d]);
  if (problem == CANTILEVER) place[dim - 1] = lower[dim - 1];
  if (problem == COOK) {
    place[0] = 24;
    place[1] = 22;
  }
  if (problem == CYLINDER) {
    place[0] = 1;
    place[1] = 0;
  }
  PetscCall(DMBoxComputeStresses(dm, x, &stress));
  if (problem == CANTILEVER) PetscCall(NodeValue(stress, place, 0, number));               /* xx */
  else if (problem == COOK) PetscCall(NodeValue(stress, place, 4, number));                /* von Mises */
  else PetscCall(NodeValue(stress, place, problem == RUBBER && dim == 3 ? 5 : 2, number)); /* zz in 3D, yy */
  if (last) PetscCall(PetscOptionsCreateViewer(PETSC_COMM_WORLD, NULL, NULL, "-view_solution", &viewer, &format, &view));
  if (view) {
    PetscCall(PetscViewerPushFormat(viewer, format));
    PetscCall(VecView(x, viewer));
    PetscCall(VecView(stress, viewer));
    PetscCall(PetscViewerPopFormat(viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscCall(VecDestroy(&stress));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the solutions of theories, and the titles of columns */
static PetscErrorCode Header(DM dm, Problem problem)
{
  const char *const titles[] = {"deflection", "stiffness ", "middle      corner    ", "inner       outer     "};
  PetscInt          degree;
  PetscReal         first = 0, second = 0, stress = 0, ratio;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetDegree(dm, &degree));
  PetscCall(DMBoxGetElasticModuli(dm, NULL, &ratio));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, Q%" PetscInt_FMT ", Poisson's ratio %g\n", Problems[problem], degree, (double)ratio));
  if (problem == CANTILEVER) {
    PetscCall(BeamTheories(dm, &first, &second, &stress));
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "Euler-Bernoulli %.4f, Timoshenko %.4f, stress %.4f\n", (double)first, (double)second, (double)stress));
  }
  if (problem == CYLINDER) {
    PetscCall(LameSolution(dm, 1, &first));
    PetscCall(LameSolution(dm, 2, &second));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Lame %.6f, %.6f, stress %.6f\n", (double)first, (double)second, 5.0 / 3));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "unknowns  %s  stress      iterations\n", titles[problem]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscEnum problem = (PetscEnum)CANTILEVER;
  PetscInt  levels  = 3;
  PetscBool mapped;
  DM        dm, finer;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-problem", Problems, &problem, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-levels", &levels, NULL));
  mapped = (PetscBool)(problem == (PetscEnum)COOK || problem == (PetscEnum)CYLINDER);
  if (mapped) PetscCall(MappedMeshCreate((Problem)problem, &dm));
  else PetscCall(MeshCreate((Problem)problem, &dm));
  PetscCall(Header(dm, (Problem)problem));
  for (PetscInt l = 0; l < levels; l++) {
    Vec       b, x;
    PetscInt  N, its;
    PetscReal number[2] = {0, 0}, stress;

    PetscCall(DMCreateGlobalVector(dm, &b));
    PetscCall(VecGetSize(b, &N));
    PetscCall(Solve(dm, (Problem)problem, b, &x, &its));
    PetscCall(Measure(dm, (Problem)problem, b, x, number));
    PetscCall(PetscObjectSetName((PetscObject)x, "solid"));
    PetscCall(Stress(dm, (Problem)problem, x, (PetscBool)(l == levels - 1), &stress));
    if (mapped)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%8" PetscInt_FMT "  %10.6f  %10.6f  %10.6f  %10" PetscInt_FMT "\n", N, (double)number[0],
                            (double)number[1], (double)stress, its));
    else
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%8" PetscInt_FMT "  %10.4f  %10.4f  %10" PetscInt_FMT "\n", N, (double)number[0],
                            (double)stress, its));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    if (l == levels - 1) break;
    PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &finer));
    PetscCall(DMDestroy(&dm));
    dm = finer;
  }
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: cantilever
     nsize: {{1 2}}
     output_file: output/elasticity_cantilever.out
   test:
     suffix: plane
     args: -dm_box_dim 2 -dm_box_plane stress -dm_box_degree 3
   test:
     suffix: cook
     nsize: {{1 2}}
     args: -problem cook -levels 4
     output_file: output/elasticity_cook.out
   test:
     suffix: cook_incompressible
     args: -problem cook -levels 4 -dm_box_young 1.1249999 -dm_box_poisson_ratio 0.4999
   test:
     suffix: cylinder
     nsize: {{1 2}}
     args: -problem cylinder -levels 4 -dm_box_degree 3
     output_file: output/elasticity_cylinder.out
   test:
     suffix: rubber
     nsize: {{1 2}}
     output_file: output/elasticity_rubber.out
     args: -problem rubber

TEST*/
