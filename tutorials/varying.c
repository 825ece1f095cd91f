static char help[] = "Heat conduction with a conductivity that changes in time, u' - div(K(t) grad u) = f on a part of a ring, with TS.\n\
One call gives the operator its K at the time of a stage; matrices and multigrid take it over in the stage's solve.\n\
A line for each number of steps: the error at t = 1, its order in the length of steps, and the iterations a linear solve took.\n\
  -steps <n>                   : the smallest number of steps (default 8)\n\
  -runs <n>                    : how many runs, each with twice as many steps (default 3)\n\
  -vec                         : K as numbers at quadrature points, not as a function\n\
  -dm_box_*, -dm_refine        : the mesh and the element (see DMBOX)\n\
  -ts_*, -ksp_*, -pc_*         : the solvers (default: BDF of order 2, FGMRES, PCPATCHMG)\n\n";

#include <petscpatchfd.h>
#include <petscts.h>

/* the ring is a quarter of that between these radii */
#define INNER 0.5
#define OUTER 1.0

/* K = k(r, t), u = g(t) b(r) sin(2 angle), zero on all sides */
typedef struct {
  PetscReal r, k, dk, b, db, ddb, c;
} Polar;

static void PolarAt(PetscReal t, const PetscReal x[], Polar *p)
{
  const PetscReal w = PETSC_PI / (OUTER - INNER);

  p->r   = PetscSqrtReal(x[0] * x[0] + x[1] * x[1]);
  p->k   = 1 + 5 * (1 + PetscSinReal(4 * t)) * p->r * p->r;
  p->dk  = 10 * (1 + PetscSinReal(4 * t)) * p->r;
  p->b   = PetscSinReal(w * (p->r - INNER));
  p->db  = w * PetscCosReal(w * (p->r - INNER));
  p->ddb = -w * w * p->b;
  p->c   = 2 * x[0] * x[1] / (p->r * p->r);
}

static PetscErrorCode Solution(PETSC_UNUSED PetscInt dim, PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                               PETSC_UNUSED void *ctx)
{
  Polar p;

  PetscFunctionBeginUser;
  PolarAt(t, x, &p);
  u[0] = PetscCosReal(3 * t) * p.b * p.c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g' b c - g div(K grad(b c)) */
static PetscErrorCode Source(PETSC_UNUSED PetscInt dim, PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                             PETSC_UNUSED void *ctx)
{
  Polar p;

  PetscFunctionBeginUser;
  PolarAt(t, x, &p);
  f[0] = -3 * PetscSinReal(3 * t) * p.b * p.c -
         PetscCosReal(3 * t) * p.c * (p.k * (p.ddb + p.db / p.r - 4 * p.b / (p.r * p.r)) + p.dk * p.db);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the coefficient ---- */

typedef struct {
  PetscReal time; /* of the K that the operator has */
  PetscBool vec;
} Medium;

static PetscErrorCode Conductivity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal zero, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                   PetscScalar K[], void *ctx)
{
  Polar p;

  PetscFunctionBeginUser;
  PolarAt(((Medium *)ctx)->time, x, &p);
  K[0] = p.k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetVec(DM dm, Medium *medium)
{
  const PetscScalar *x;
  PetscScalar       *K;
  PetscInt           dim, n;
  Vec                vx, vK;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, 1, &vK));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, dim, &vx));
  PetscCall(DMBoxComputeDiffusionPoints(dm, vx));
  PetscCall(VecGetLocalSize(vK, &n));
  PetscCall(VecGetArrayRead(vx, &x));
  PetscCall(VecGetArrayWrite(vK, &K));
  for (PetscInt i = 0; i < n; i++) PetscCall(Conductivity(dim, 0, &x[dim * i], 1, &K[i], medium));
  PetscCall(VecRestoreArrayWrite(vK, &K));
  PetscCall(VecRestoreArrayRead(vx, &x));
  PetscCall(DMBoxSetDiffusionVec(dm, 1, vK, NULL));
  PetscCall(VecDestroy(&vK));
  PetscCall(VecDestroy(&vx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetMedium(DM dm, PetscReal time, Medium *medium)
{
  PetscFunctionBeginUser;
  if (medium->time == time) PetscFunctionReturn(PETSC_SUCCESS);
  medium->time = time;
  if (medium->vec) PetscCall(SetVec(dm, medium));
  else PetscCall(DMBoxSetDiffusionFunction(dm, 1, Conductivity, NULL, medium));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- functions of TS ---- */

/* SNES evaluates it before the Jacobian of the stage, which so has this K, too */
static PetscErrorCode Function(TS ts, PetscReal t, Vec u, Vec udot, Vec f, void *ctx)
{
  DM dm;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(SetMedium(dm, t, (Medium *)ctx));
  PetscCall(DMBoxTSComputeIFunction(ts, t, u, udot, f, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Load(TS ts, PetscReal t, PETSC_UNUSED Vec u, Vec b, PETSC_UNUSED void *ctx)
{
  DM dm;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(VecSet(b, 0));
  PetscCall(DMBoxAddLoad(dm, t, Source, NULL, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(DM mesh, PetscInt steps, PetscBool vec, PetscReal *error, PetscReal *its)
{
  Medium   medium = {.time = PETSC_MIN_REAL, .vec = vec};
  DM       dm;
  TS       ts;
  SNES     snes;
  KSP      ksp;
  PC       pc;
  TSAdapt  adapt;
  Vec      u;
  PetscInt n, m;

  PetscFunctionBeginUser;
  PetscCall(DMClone(mesh, &dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Solution, NULL, u));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, dm));
  PetscCall(TSSetType(ts, TSBDF));
  PetscCall(TSSetIFunction(ts, NULL, Function, &medium));
  PetscCall(TSSetIJacobian(ts, NULL, NULL, DMBoxTSComputeIJacobian, NULL));
  PetscCall(TSSetRHSFunction(ts, NULL, Load, NULL));
  PetscCall(TSSetTimeStep(ts, 1 / (PetscReal)steps));
  PetscCall(TSSetMaxTime(ts, 1));
  PetscCall(TSSetMaxSteps(ts, PETSC_INT_MAX));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSGetAdapt(ts, &adapt));
  PetscCall(TSAdaptSetType(adapt, TSADAPTNONE));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESSetType(snes, SNESKSPONLY));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(TSSetFromOptions(ts));
  PetscCall(TSSolve(ts, u));
  PetscCall(DMBoxComputeError(dm, 1, Solution, NULL, u, error, NULL));
  PetscCall(TSGetKSPIterations(ts, &n));
  PetscCall(TSGetSNESIterations(ts, &m));
  *its = (PetscReal)n / (PetscReal)PetscMax(m, 1);
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt cells[2] = {4, 8};
  DM             dm;
  PetscInt       steps = 8, runs = 3;
  PetscReal      error = 0, last = 0, its = 0;
  PetscBool      vec = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-runs", &runs, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-vec", &vec, NULL));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 5, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMBoxSetMappingType(dm, DMBOX_MAPPING_ANNULUS, INNER / OUTER));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  for (PetscInt run = 0; run < runs; run++, steps *= 2, last = error) {
    PetscCall(Run(dm, steps, vec, &error, &its));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " steps: error %.2e", steps, (double)error));
    if (run) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", order %.1f", (double)PetscLog2Real(last / error)));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", iterations a solve %.1f\n", (double)its));
  }
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -runs 2 -dm_box_degree 4
    test:
      nsize: {{1 2}}
    test:
      suffix: vec
      args: -vec
    test:
      suffix: bdf3
      args: -ts_bdf_order 3
    test:
      suffix: cn
      nsize: 3
      args: -ts_type cn
    test:
      suffix: cuda
      requires: cuda gpu
      output_file: output/varying_1.out
      args: -dm_vec_type cuda -mg_levels_pc_patchfd_patch cell

TEST*/
