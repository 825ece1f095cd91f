static char
  help[] = "The heat equation  c du/dt - div(k grad u) = s  with linear elements on tetrahedra and materials that vary in space.\n\
  -problem manufactured : a solution that is known; errors and their orders, on finer meshes and with shorter steps\n\
  -problem plate : two materials, a plate of sound and of corroded metal that is heated from below; temperatures at four points\n\
  -problem part : a part of three materials from an image of voxels, heated at the side x = 0 and cooled by the air at the side x = 1\n\
  -voxels file : the image, of as many voxels as there are cells (default heat_part.vtk, which python3 tutorials/heat_part.py makes)\n\
  -vtk name : part: write name_000.vts, name_005.vts, ... for ParaView, every fifth step\n\
  -checkpoint file : part: write it after each tenth step;  -restart file : part: go on from there\n\
  -dm_box_*, -ts_*, -ksp_*, -pc_* : mesh, time steps and solver, as in any program of PETSc\n\n";

#include <petscpatchfd.h>

/* ---- what all problems have ---- */

static PetscErrorCode CreateBox(const PetscInt cells[], const PetscReal upper[], DM *dm)
{
  const PetscReal         lower[3] = {0, 0, 0};
  const DMBoxBoundaryType type[6]  = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                      DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 1, dm));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_P1));
  PetscCall(DMBoxSetOperator(*dm, "heat"));
  PetscCall(DMBoxSetBounds(*dm, lower, upper));
  PetscCall(DMBoxSetBoundary(*dm, type));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all that a TS needs to know is in DMBoxTSSetHeat() */
static PetscErrorCode CreateTS(DM dm, PetscReal dt, PetscInt steps, TS *ts)
{
  PetscFunctionBeginUser;
  PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
  PetscCall(TSSetDM(*ts, dm));
  PetscCall(DMBoxTSSetHeat(*ts));
  PetscCall(TSSetTimeStep(*ts, dt));
  PetscCall(TSSetMaxTime(*ts, dt * (PetscReal)steps));
  PetscCall(TSSetMaxSteps(*ts, 100000));
  PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSSetFromOptions(*ts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- manufactured ---- */

/* u = cos(3 t) prod cos(pi x_i), insulated, with c = 2 and k = 1/2 */
static PetscErrorCode Exact(PetscInt dim, PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = PetscCosReal(3 * t);
  for (PetscInt d = 0; d < dim; d++) u[0] *= PetscCosReal(PETSC_PI * x[d]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Source(PetscInt dim, PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar s[],
                             PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  s[0] = -6 * PetscSinReal(3 * t) + 0.5 * (PetscReal)dim * PETSC_PI * PETSC_PI * PetscCosReal(3 * t);
  for (PetscInt d = 0; d < dim; d++) s[0] *= PetscCosReal(PETSC_PI * x[d]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the solution at t = 1/2, and how far it is from the exact one */
static PetscErrorCode SolveManufactured(PetscInt n, PetscInt steps, Vec *u, PetscReal *error)
{
  const PetscInt  cells[3] = {n, n, n};
  const PetscReal upper[3] = {1, 1, 1}, k[3] = {0.5, 0.5, 0.5};
  DM              dm;
  TS              ts;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(cells, upper, &dm));
  PetscCall(DMBoxSetHeat(dm, 2, k, 0));
  PetscCall(DMBoxSetHeatSource(dm, Source, NULL));
  PetscCall(CreateTS(dm, 0.5 / (PetscReal)steps, steps, &ts));
  PetscCall(DMCreateGlobalVector(dm, u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Exact, NULL, *u));
  PetscCall(TSSolve(ts, *u));
  PetscCall(DMBoxComputeError(dm, 0.5, Exact, NULL, *u, error, NULL));
  PetscCall(TSDestroy(&ts));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* in space against the exact solution, with short steps; in time on one mesh against short steps there, so that the error in space does not
   count */
static PetscErrorCode Manufactured(void)
{
  PetscReal before = 0, error, unused;
  Vec       u, fine;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  cells    L2 error   order\n"));
  for (PetscInt n = 4; n <= 32; n *= 2) {
    PetscCall(SolveManufactured(n, 64, &u, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%5" PetscInt_FMT "^3   %.3e", n, (double)error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, before > 0 ? "   %.2f\n" : "\n", (double)PetscLog2Real(before / error)));
    PetscCall(VecDestroy(&u));
    before = error;
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  steps    difference   order\n"));
  PetscCall(SolveManufactured(4, 1024, &fine, &unused));
  before = 0;
  for (PetscInt steps = 16; steps <= 128; steps *= 2) {
    PetscCall(SolveManufactured(4, steps, &u, &unused));
    PetscCall(VecAXPY(u, -1, fine));
    PetscCall(VecNorm(u, NORM_INFINITY, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%5" PetscInt_FMT "      %.2e", steps, (double)error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, before > 0 ? "    %.2f\n" : "\n", (double)PetscLog2Real(before / error)));
    PetscCall(VecDestroy(&u));
    before = error;
  }
  PetscCall(VecDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- plate ---- */

/* sound metal below z = 7 mm, J / (m^3 K) and W / (m K), corroded above */
static PetscErrorCode PlateCapacity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                    PetscScalar c[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  c[0] = x[2] > 0.007 + 1e-9 ? 2.1e6 : 3.6e6;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PlateConductivity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                        PetscScalar k[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  k[0] = x[2] > 0.007 + 1e-9 ? 0.5 : 50;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* W / m^2 */
static PetscErrorCode PlateFlux(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, PETSC_UNUSED const PetscReal x[],
                                PETSC_UNUSED PetscInt Nc, PetscScalar f[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  f[0] = 1e4;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the temperature at the node with these coordinates; one rank has it */
static PetscErrorCode Probe(DM dm, Vec u, const PetscReal x[3], PetscReal *value)
{
  const PetscScalar *a, *c;
  PetscInt           n;
  Vec                coordinates;

  PetscFunctionBeginUser;
  *value = -PETSC_MAX_REAL;
  PetscCall(DMGetCoordinates(dm, &coordinates));
  PetscCall(VecGetLocalSize(u, &n));
  PetscCall(VecGetArrayRead(u, &a));
  PetscCall(VecGetArrayRead(coordinates, &c));
  for (PetscInt i = 0; i < n; i++)
    if (PetscAbsReal(c[3 * i] - x[0]) + PetscAbsReal(c[3 * i + 1] - x[1]) + PetscAbsReal(c[3 * i + 2] - x[2]) < 1e-9) *value = a[i];
  PetscCall(VecRestoreArrayRead(coordinates, &c));
  PetscCall(VecRestoreArrayRead(u, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, value, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Plate(void)
{
  const PetscInt  cells[3] = {30, 30, 10};
  const PetscReal upper[3] = {0.03, 0.03, 0.01}, height[4] = {0, 0.005, 0.008, 0.01};
  PetscInt        its, steps;
  DM              dm;
  TS              ts;
  Vec             u;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(cells, upper, &dm));
  PetscCall(DMBoxSetHeatFunctions(dm, 0, PlateCapacity, PlateConductivity, NULL));
  PetscCall(DMBoxSetHeatFlux(dm, 4, PlateFlux, NULL));
  PetscCall(DMBoxSetHeatSteady(dm, PETSC_TRUE));
  PetscCall(CreateTS(dm, 0.1, 20, &ts));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecSet(u, 293.15));
  PetscCall(TSSolve(ts, u));
  PetscCall(TSGetKSPIterations(ts, &its));
  PetscCall(TSGetStepNumber(ts, &steps));
  for (int i = 0; i < 4; i++) {
    const PetscReal x[3] = {0, 0, height[i]};
    PetscReal       value;

    PetscCall(Probe(dm, u, x, &value));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "after 2 s at z = %2.0f mm: %.5f K\n", (double)(1000 * height[i]), (double)value));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " steps, %.1f iterations a step\n", steps, (double)its / (double)steps));
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- part ---- */

/* the heater at x = 0 is switched off after 20 s */
static PetscErrorCode Heater(PETSC_UNUSED PetscInt dim, PetscReal t, PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                             PetscScalar f[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  f[0] = t < 20 ? 5e4 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  char      vtk[PETSC_MAX_PATH_LEN], checkpoint[PETSC_MAX_PATH_LEN];
  PetscBool writevtk, writecheckpoint;
} Output;

static PetscErrorCode Write(TS ts, PetscInt step, PETSC_UNUSED PetscReal t, Vec u, void *ctx)
{
  const Output *out = (const Output *)ctx;
  PetscViewer   viewer;
  char          file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  if (out->writevtk && step % 5 == 0) {
    PetscCall(PetscSNPrintf(file, sizeof(file), "%s_%03" PetscInt_FMT ".vts", out->vtk, step));
    PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
    PetscCall(VecView(u, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  if (out->writecheckpoint && step && step % 10 == 0) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, out->checkpoint, FILE_MODE_WRITE, &viewer));
    PetscCall(DMBoxTSHeatView(ts, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Part(void)
{
  const PetscInt  cells[3]    = {32, 16, 16};
  const PetscReal upper[3]    = {0.064, 0.032, 0.032};                                    /* m */
  const PetscReal capacity[3] = {3.4e6, 2.4e6, 1.9e6}, conductivity[3] = {390, 160, 0.3}; /* copper, aluminium, plastic */
  char            voxels[PETSC_MAX_PATH_LEN] = "heat_part.vtk", restart[PETSC_MAX_PATH_LEN];
  unsigned char  *image;
  Output          out = {.writevtk = PETSC_FALSE};
  PetscReal       min, max, t;
  PetscBool       go;
  PetscInt        steps;
  DM              dm;
  TS              ts;
  Vec             u;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-voxels", voxels, sizeof(voxels), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vtk", out.vtk, sizeof(out.vtk), &out.writevtk));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-checkpoint", out.checkpoint, sizeof(out.checkpoint), &out.writecheckpoint));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-restart", restart, sizeof(restart), &go));
  PetscCall(CreateBox(cells, upper, &dm));
  PetscCall(DMBoxLoadVoxels(dm, voxels, &image));
  PetscCall(DMBoxSetHeatVoxels(dm, image, 3, capacity, conductivity));
  PetscCall(PetscFree(image));
  PetscCall(DMBoxSetHeatFlux(dm, 0, Heater, NULL));
  PetscCall(DMBoxSetHeatRobin(dm, 1, 100, 20)); /* W / (m^2 K), degrees Celsius */
  PetscCall(CreateTS(dm, 1, 40, &ts));
  PetscCall(TSMonitorSet(ts, Write, &out, NULL));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(PetscObjectSetName((PetscObject)u, "temperature"));
  PetscCall(VecSet(u, 20));
  PetscCall(TSSetSolution(ts, u));
  if (go) {
    PetscViewer viewer;

    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, restart, FILE_MODE_READ, &viewer));
    PetscCall(DMBoxTSHeatLoad(ts, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscCall(TSSolve(ts, u));
  PetscCall(TSGetSolveTime(ts, &t));
  PetscCall(TSGetStepNumber(ts, &steps));
  PetscCall(VecMin(u, NULL, &min));
  PetscCall(VecMax(u, NULL, &max));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "after %g s and %" PetscInt_FMT " steps: from %.3f to %.3f degrees\n", (double)t, steps,
                        (double)min, (double)max));
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      problem[32] = "manufactured";
  PetscBool manufactured, plate, part;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-problem", problem, sizeof(problem), NULL));
  PetscCall(PetscStrcmp(problem, "manufactured", &manufactured));
  PetscCall(PetscStrcmp(problem, "plate", &plate));
  PetscCall(PetscStrcmp(problem, "part", &part));
  PetscCheck(manufactured || plate || part, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-problem is %s; it must be manufactured, plate or part", problem);
  if (manufactured) PetscCall(Manufactured());
  if (plate) PetscCall(Plate());
  if (part) PetscCall(Part());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: manufactured
    nsize: {{1 2}}
    output_file: output/heat_manufactured.out
    args: -problem manufactured
  test:
    suffix: plate
    nsize: {{1 4}}
    output_file: output/heat_plate.out
    args: -problem plate
  test:
    requires: cuda gpu
    suffix: cuda
    output_file: output/heat_plate.out
    args: -problem plate -dm_vec_type cuda

TEST*/
