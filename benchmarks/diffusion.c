static char help[] = "Times of the operator diffusion: a product, a smoothing step (patchfd), a V-cycle (patchmg), and a solve to 1e-9, f = 1, K = 1 + sin(x) / 2 in every direction;\n\
and of set-up: the first one, and once more after the coefficients have changed.\n\
  -degrees <k,...>, -cells <n,...> : polynomial degrees and cells in a direction (default 2,4,7 and 32,16,8)\n\
  -constant                        : K = 1\n\
  -contrast <c>                    : K = c^((1 + sin(2 pi x) sin(2 pi y) cos(pi x)) / 2)\n\
  -dm_box_*, -dm_vec_type <type>   : as for any solve; dimension 3 unless -dm_box_dim says otherwise\n\n";

#include <petscpatchfd.h>
#include <petsctime.h>

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  u[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Conductivity(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar K[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  K[0] = 1;
  for (PetscInt d = 0; d < dim; d++) K[0] *= 1 + 0.5 * PetscSinReal(6 * x[d]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Contrast(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar K[], void *ctx)
{
  PetscFunctionBeginUser;
  K[0] = PetscPowReal(*(const PetscReal *)ctx, (1 + PetscSinReal(2 * PETSC_PI * x[0]) * PetscSinReal(2 * PETSC_PI * x[1]) * PetscCosReal(PETSC_PI * x[0])) / 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat A;
  PC  pc; /* or NULL for the product */
  Vec b, x;
} Work;

/* seconds; a norm waits for the device */
static PetscErrorCode Time(const Work *w, PetscLogDouble *seconds)
{
  PetscLogDouble t[2] = {0, 0};
  PetscReal      norm;
  PetscInt       n = 1;

  PetscFunctionBeginUser;
  for (PetscInt repeat = 0; t[1] - t[0] < 0.1; repeat++) {
    if (repeat) n *= 2;
    for (PetscInt i = repeat ? 0 : -3; i < n; i++) {
      if (i == 0) {
        PetscCall(VecNorm(w->x, NORM_2, &norm));
        PetscCall(PetscTime(&t[0]));
      }
      if (w->pc) PetscCall(PCApply(w->pc, w->b, w->x));
      else PetscCall(MatMult(w->A, w->b, w->x));
    }
    PetscCall(VecNorm(w->x, NORM_2, &norm));
    PetscCall(PetscTime(&t[1]));
  }
  *seconds = (t[1] - t[0]) / n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same coefficients once more, as if they were others */
static PetscErrorCode SetCoefficients(DM dm, PetscBool constant, PetscReal *contrast)
{
  PetscFunctionBeginUser;
  if (constant) {
    const PetscReal one = 1;

    PetscCall(DMBoxSetDiffusion(dm, 1, &one, 0));
  } else PetscCall(DMBoxSetDiffusionFunction(dm, 1, *contrast > 1 ? Contrast : Conductivity, NULL, contrast));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(PetscInt degree, PetscInt n, PetscBool constant, PetscReal contrast)
{
  const PetscInt cells[3] = {n, n, n};
  DM             dm;
  KSP            ksp;
  PC             smoother;
  Work           w[3] = {{0}};
  PetscLogDouble t[5], seconds[3];
  PetscInt       N, its;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, degree, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(SetCoefficients(dm, constant, &contrast));
  PetscCall(PetscTime(&t[0]));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &w[0].A));
  PetscCall(DMCreateGlobalVector(dm, &w[0].b));
  PetscCall(VecDuplicate(w[0].b, &w[0].x));
  PetscCall(VecGetSize(w[0].b, &N));
  PetscCall(DMBoxAddLoad(dm, 0, One, NULL, w[0].b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, w[0].A, w[0].A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  w[2] = w[1] = w[0];
  PetscCall(KSPGetPC(ksp, &w[2].pc));
  PetscCall(PCSetType(w[2].pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&t[1]));
  PetscCall(KSPSolve(ksp, w[0].b, w[0].x)); /* records, and finds room */
  PetscCall(SetCoefficients(dm, constant, &contrast));
  PetscCall(PetscTime(&t[2]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&t[3]));
  PetscCall(KSPSolve(ksp, w[0].b, w[0].x));
  PetscCall(PetscTime(&t[4]));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &smoother));
  PetscCall(PCSetOperators(smoother, w[0].A, w[0].A));
  PetscCall(PCSetType(smoother, PCPATCHFD));
  PetscCall(PCSetOptionsPrefix(smoother, "mg_levels_")); /* that of the finest level */
  PetscCall(PCSetFromOptions(smoother));
  PetscCall(PCSetUp(smoother));
  w[1].pc = smoother;
  for (int i = 0; i < 3; i++) PetscCall(Time(&w[i], &seconds[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ", %" PetscInt_FMT " unknowns: ns an unknown: product %.3f, step %.3f, V-cycle %.3f, solve %.1f; %" PetscInt_FMT " iterations; set-up with the mesh %.3f s, again %.3f s\n", degree, N,
                        1e9 * seconds[0] / N, 1e9 * seconds[1] / N, 1e9 * seconds[2] / N, 1e9 * (t[4] - t[3]) / N, its, t[1] - t[0], t[3] - t[2]));
  PetscCall(PCDestroy(&smoother));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&w[0].x));
  PetscCall(VecDestroy(&w[0].b));
  PetscCall(MatDestroy(&w[0].A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  degrees[16] = {2, 4, 7}, cells[16] = {32, 16, 8}, n = 16, m = 16;
  PetscBool set, constant = PETSC_FALSE;
  PetscReal contrast = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &n, &set));
  if (!set) n = 3;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", cells, &m, &set));
  if (!set) m = 3;
  PetscCheck(n == m, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-degrees has %" PetscInt_FMT " numbers and -cells %" PetscInt_FMT, n, m);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-constant", &constant, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &contrast, NULL));
  for (PetscInt i = 0; i < n; i++) PetscCall(Case(degrees[i], cells[i], constant, contrast));
  PetscCall(PetscFinalize());
  return 0;
}
