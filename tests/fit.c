static char help[] = "Local solvers that are fitted to each patch of the operator diffusion (PCPatchFDSetFit()).\n\
  -test iterations : nu = -9 / log10(mean reduction of the residual an iteration) of FGMRES with V-cycles\n\
  -problem <name:number> : as in `problems` below\n\n";

#include <patchfd/private/boximpl.h>
#include "catch.h"

/* ---- problems: coefficients are functions of the coordinates of the box ---- */

typedef struct {
  char      name[32];
  PetscReal value;
} Problem;

static PetscReal Waves(PetscInt dim, PetscReal frequency, const PetscReal x[])
{
  PetscReal product = 1;

  for (PetscInt d = 0; d < dim; d++) product *= PetscSinReal(frequency * PETSC_PI * x[d]);
  return product;
}

/* six layers that lean to one side and the other (Kershaw) */
static PetscReal KershawStep(PetscReal a, PetscReal b, PetscReal t)
{
  if (t <= 0) return a;
  if (t >= 1) return b;
  return a + (b - a) * t * t * t * (t * (6 * t - 15) + 10);
}

static PetscReal KershawRight(PetscReal eps, PetscReal t)
{
  return t <= 0.5 ? (2 - eps) * t : 1 + eps * (t - 1);
}

static PetscReal Kershaw(PetscReal eps, PetscReal x, PetscReal y)
{
  const PetscInt  layer = PetscMin(5, (PetscInt)(6 * x));
  const PetscReal t = 6 * x - (PetscReal)layer, left = 1 - KershawRight(eps, 1 - y), right = KershawRight(eps, y);

  if (layer == 0) return left;
  if (layer == 1 || layer == 4) return KershawStep(left, right, t);
  if (layer == 2) return KershawStep(right, left, t / 2);
  if (layer == 3) return KershawStep(right, left, (1 + t) / 2);
  return right;
}

static PetscErrorCode Map(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar y[], void *ctx)
{
  const Problem *p = (const Problem *)ctx;
  PetscReal      shift = 0;

  PetscFunctionBeginUser;
  if (!strcmp(p->name, "sine2")) shift = p->value * Waves(dim, 2, x);
  if (!strcmp(p->name, "mix")) shift = 0.08 * Waves(dim, 2, x);
  for (PetscInt d = 0; d < dim; d++) y[d] = x[d] + shift;
  if (!strcmp(p->name, "kershaw"))
    for (PetscInt d = 1; d < dim; d++) y[d] = Kershaw(p->value, x[0], x[d]);
  if (!strcmp(p->name, "annulus")) {
    const PetscReal r = p->value + (1 - p->value) * x[0], angle = 0.5 * PETSC_PI * x[1];

    y[0] = r * PetscCosReal(angle);
    y[1] = r * PetscSinReal(angle);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the point of the box that the map of `mix` takes to x */
static void Inverse(PetscInt dim, const PetscReal x[], PetscReal y[])
{
  PetscReal lower = -0.1, upper = 0.1; /* the shift */

  for (PetscInt i = 0; i < 60; i++) {
    const PetscReal middle = 0.5 * (lower + upper);

    for (PetscInt d = 0; d < dim; d++) y[d] = x[d] - middle;
    if (middle < 0.08 * Waves(dim, 2, y)) lower = middle;
    else upper = middle;
  }
}

static PetscErrorCode Conductivity(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar K[], void *ctx)
{
  const Problem *p = (const Problem *)ctx;
  PetscReal      y[3];
  PetscInt       blocks = 0;

  PetscFunctionBeginUser;
  K[0] = 1;
  for (PetscInt d = 0; d < dim; d++) blocks += PetscMin(3, (PetscInt)(4 * x[d]));
  if (!strcmp(p->name, "smooth")) K[0] = 1 + p->value * Waves(dim, 2, x);
  if (!strcmp(p->name, "contrast")) K[0] = PetscPowReal(p->value, 0.5 * (1 + Waves(dim, 2, x) * PetscCosReal(PETSC_PI * x[0])));
  if (!strcmp(p->name, "check") && blocks % 2) K[0] = p->value;
  if (!strcmp(p->name, "mix")) {
    Inverse(dim, x, y);
    K[0] = PetscPowReal(p->value, 0.5 * (1 + Waves(dim, 2, y)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  f[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDM(PetscInt dim, PetscInt cells, PetscInt degree, Problem *p, DM *dm)
{
  const PetscInt n[3] = {cells, cells, cells};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, n, degree, dm));
  PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  PetscCall(DMBoxSetMapping(*dm, Map, p));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMBoxSetDiffusionFunction(*dm, 1, Conductivity, NULL, p));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nu, of the true residual */
static PetscErrorCode Solve(DM dm, PetscInt *its, PetscReal *nu)
{
  KSP       ksp;
  PC        pc;
  Mat       A;
  Vec       b, u, r;
  PetscReal r0, rn;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &r));
  PetscCall(DMBoxAddLoad(dm, 0, One, NULL, b));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)dm), &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 60));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "patchmg"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatResidual(A, b, u, r));
  PetscCall(VecNorm(b, NORM_2, &r0));
  PetscCall(VecNorm(r, NORM_2, &rn));
  *nu = -9 * *its / PetscLog10Real(rn / r0);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem   p = {.name = "const"};
  char      name[64] = "const", *colon;
  PetscInt  dim = 2, cells = 16, degree = 2, its;
  PetscReal nu;
  DM        dm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-problem", name, sizeof(name), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &cells, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &degree, NULL));
  colon = strchr(name, ':');
  if (colon) {
    *colon  = 0;
    p.value = strtod(colon + 1, NULL);
  }
  PetscCall(PetscStrncpy(p.name, name, sizeof(p.name)));
  PetscCall(CreateDM(dim, cells, degree, &p, &dm));
  PetscCall(Solve(dm, &its, &nu));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %g k %" PetscInt_FMT ": %" PetscInt_FMT " iterations, nu %.2f\n", p.name, (double)p.value, degree, its, (double)nu));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}
