static char help[] = "What -help prints for the objects of the library: each option once, and a word where a value is chosen.\n\n";

#include <petscpatchfd.h>
#include <petscdmda.h>
#include <petscdmplex.h>

/* ---- what was printed, in place of a print ---- */

static char   text[1 << 20];
static size_t length;

static PetscErrorCode Collect(PETSC_UNUSED MPI_Comm comm, const char format[], ...)
{
  va_list arguments;

  PetscFunctionBeginUser;
  va_start(arguments, format);
  PetscCall(PetscVSNPrintf(text + length, sizeof(text) - length, format, NULL, arguments));
  va_end(arguments);
  length += strlen(text + length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is this an option of the library, and not of a viewer?  Its name, without the prefix */
static PetscBool IsOurs(const char line[], const char prefix[], char name[128])
{
  const char *const ours[] = {"dm_box_",      "pc_patchfd_", "pc_patchmg_",  "pc_single_",
                              "ksp_fusedcg_", "ksp_refine_", "mat_bakeoff_", "ts_heat_"};
  const size_t      skip   = 3 + strlen(prefix);
  PetscBool         is     = PETSC_FALSE;

  if (strncmp(line, "  -", 3) || strncmp(line + 3, prefix, skip - 3) || !strchr(line, '<')) return PETSC_FALSE;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(ours); i++) is = (PetscBool)(is || !strncmp(line + skip, ours[i], strlen(ours[i])));
  (void)PetscStrncpy(name, line + skip, PetscMin(128, strcspn(line + skip, ": ") + 1));
  return is;
}

/* the options of an object, of which the last call has printed the help */
static PetscErrorCode Report(const char what[], const char prefix[])
{
  char     name[128], before[128][128];
  PetscInt n = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", what));
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    if (!IsOurs(line, prefix, name)) continue;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  -%s", name));
    for (PetscInt i = 0; i < n; i++)
      if (!strcmp(before[i], name)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ": TWICE"));
    PetscCheck(n < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(before), PETSC_COMM_SELF, PETSC_ERR_PLIB, "More options than there is room for");
    PetscCall(PetscStrncpy(before[n++], name, sizeof(name)));
    if (strstr(line, "(null)") || strstr(line, "<-") || strstr(line, "now -"))
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, ": NO WORD IN %s", line));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  length  = 0;
  text[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- objects, each with a prefix of its own: PETSc prints the help of a prefix once ---- */

static PetscErrorCode CreateBox(const char prefix[], const char options[], PetscInt dim, PetscInt degree, DM *dm)
{
  const PetscInt cells[] = {4, 4, 4};

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, degree, dm));
  PetscCall(DMSetOptionsPrefix(*dm, prefix));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBoxes(void)
{
  const struct {
    const char *prefix, *options;
    PetscInt    dim, degree;
  } all[] = {
    {"poisson_", "", 3, 2},
    {"diffusion_", "-diffusion_dm_box_operator diffusion", 3, 2},
    {"biharmonic_", "-biharmonic_dm_box_operator biharmonic", 2, 2},
    {"stokes_", "-stokes_dm_box_operator stokes -stokes_dm_box_space rt", 2, 1},
    {"heat_", "-heat_dm_box_operator heat -heat_dm_box_space p1 -heat_dm_box_boundary neumann", 3, 1},
  };

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) {
    DM dm;

    PetscCall(CreateBox(all[i].prefix, all[i].options, all[i].dim, all[i].degree, &dm));
    PetscCall(Report(all[i].prefix, all[i].prefix));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* options are read by all levels: each prints its own */
static PetscErrorCode TestSolver(const char what[], const char prefix[], Mat A, KSPType type, PCType pctype, const char part[])
{
  char full[64];
  KSP  ksp;
  PC   pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscSNPrintf(full, sizeof(full), "%s%s", prefix, part));
  PetscCall(Report(what, full));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolvers(void)
{
  DM  dm, da;
  Mat A, B;

  PetscFunctionBeginUser;
  PetscCall(CreateBox("mesh_", "", 2, 2, &dm));
  length = 0;
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(TestSolver("PCPATCHFD", "patches_", A, KSPRICHARDSON, PCPATCHFD, ""));
  PetscCall(TestSolver("PCPATCHMG", "mg_", A, KSPFGMRES, PCPATCHMG, ""));
  PetscCall(PetscOptionsInsertString(NULL, "-cycle_pc_patchmg_coarse_eq_limit 0"));
  PetscCall(TestSolver("a level of PCPATCHMG", "cycle_", A, KSPFGMRES, PCPATCHMG, "mg_levels_1_"));
  PetscCall(TestSolver("PCSINGLE", "float_", A, KSPFGMRES, PCSINGLE, ""));
  PetscCall(TestSolver("KSPFUSEDCG", "cg_", A, KSPFUSEDCG, PCJACOBI, ""));
  PetscCall(TestSolver("KSPREFINE", "guarded_", A, KSPREFINE, PCJACOBI, ""));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 9, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &B));
  PetscCall(MatShift(B, 1));
  PetscCall(TestSolver("PCPATCHFD of a DMDA", "bricks_", B, KSPRICHARDSON, PCPATCHFD, ""));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBakeoff(void)
{
  const PetscInt  faces[] = {2, 2, 2};
  const PetscReal lower[] = {0, 0, 0}, upper[] = {1, 1, 1};
  DM              dm;
  PetscFE         fe;
  Mat             A;

  PetscFunctionBeginUser;
  PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, 3, PETSC_FALSE, faces, lower, upper, NULL, PETSC_TRUE, 0, PETSC_TRUE, &dm));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, 3, 1, PETSC_FALSE, 2, PETSC_DETERMINE, &fe));
  PetscCall(DMAddField(dm, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(dm));
  length = 0;
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP3, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(MatSetOptionsPrefix(A, "ceed_"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(Report("a bake-off problem", "ceed_"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSteps(void)
{
  DM dm;
  TS ts;

  PetscFunctionBeginUser;
  PetscCall(CreateBox("body_", "-body_dm_box_operator heat -body_dm_box_space p1", 3, 1, &dm));
  length = 0;
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetOptionsPrefix(ts, "steps_"));
  PetscCall(TSSetDM(ts, dm));
  PetscCall(DMBoxTSSetHeat(ts));
  PetscCall(TSSetFromOptions(ts));
  PetscCall(Report("time steps of heat", "steps_"));
  PetscCall(TSDestroy(&ts));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscHelpPrintf = Collect;
  PetscCall(PetscOptionsSetValue(NULL, "-help", NULL));
  PetscCall(TestBoxes());
  PetscCall(TestSolvers());
  PetscCall(TestBakeoff());
  PetscCall(TestSteps());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     nsize: {{1 2}}
     output_file: output/help_1.out

TEST*/
