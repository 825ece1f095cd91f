static char help[] = "Newton's method for -div((1 + u^2) grad u) = f on a mapped box, u given on its sides.\n\
The residual is computed at the quadrature points of the operator diffusion.  Its derivative, v -> -div((1 + u^2) grad v + 2 u v grad u), \
is not symmetric: the first part of it is the operator with\n\
K = 1 + u^2, of which PCPATCHMG is made, too; the second one is added to products.\n\
A line for each step, its residual as a part of the first one, and for each mesh the error and how often it was halved; the solution is a \
plane wave.\n\
  -meshes <n>                  : how many, each with twice the cells in each direction (default 2)\n\
  -amplitude <a>               : of the solution (default 1)\n\
  -dm_box_*, -dm_refine        : the mesh, its map and the element (see DMBOX)\n\
  -snes_*, -ksp_*, -pc_*       : the solvers (default: FGMRES, PCPATCHMG).  -snes_ksp_ew for as much accuracy as a step needs, \
-snes_lag_preconditioner <n> for a new PCPATCHMG in each n-th step,\n\
                                 -snes_mf_operator for a derivative by differences\n\n";

#include <petscpatchfd.h>
#include <petscsnes.h>

/* ---- the solution ---- */

static const PetscReal Wave[3] = {1.1, 1.5, 0.7};

static PetscErrorCode Solution(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                               void *ctx)
{
  PetscReal phase = 0.3;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) phase += Wave[d] * x[d];
  u[0] = *(PetscReal *)ctx * PetscSinReal(phase);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -(1 + u^2) laplace u - 2 u |grad u|^2, where laplace u = -|w|^2 u and |grad u|^2 = |w|^2 (a^2 - u^2) */
static PetscErrorCode Source(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  const PetscReal a  = *(PetscReal *)ctx;
  PetscReal       ww = 0;
  PetscScalar     u;

  PetscFunctionBeginUser;
  PetscCall(Solution(dim, time, x, Nc, &u, ctx));
  for (PetscInt d = 0; d < dim; d++) ww += Wave[d] * Wave[d];
  f[0] = ww * u * (1 + 3 * u * u - 2 * a * a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- residual and derivative ---- */

/* at quadrature points */
typedef struct {
  Vec u, gradient, flux, K;
} Points;

/* the first part of the derivative, and what is multiplied with v in the second */
typedef struct {
  Mat A;
  Vec drift, v, flux;
} Derivative;

static PetscErrorCode PointsCreate(DM dm, Points *p)
{
  PetscInt dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, 1, &p->u));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, dim, &p->gradient));
  PetscCall(VecDuplicate(p->u, &p->K));
  PetscCall(VecDuplicate(p->gradient, &p->flux));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointsDestroy(Points *p)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&p->u));
  PetscCall(VecDestroy(&p->gradient));
  PetscCall(VecDestroy(&p->K));
  PetscCall(VecDestroy(&p->flux));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = s x, s a number for each point and x one or several */
static PetscErrorCode Multiply(Vec s, Vec x, Vec y)
{
  const PetscScalar *as, *ax;
  PetscScalar       *ay;
  PetscInt           n, bs;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(s, &n));
  PetscCall(VecGetBlockSize(x, &bs));
  PetscCall(VecGetArrayRead(s, &as));
  PetscCall(VecGetArrayRead(x, &ax));
  PetscCall(VecGetArrayWrite(y, &ay));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt d = 0; d < bs; d++) ay[bs * i + d] = as[i] * ax[bs * i + d];
  PetscCall(VecRestoreArrayWrite(y, &ay));
  PetscCall(VecRestoreArrayRead(x, &ax));
  PetscCall(VecRestoreArrayRead(s, &as));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u, its gradient and K = 1 + u^2 */
static PetscErrorCode PointsEvaluate(DM dm, Vec u, Points *p)
{
  PetscFunctionBeginUser;
  PetscCall(DMBoxComputeDiffusionValues(dm, u, p->u, p->gradient));
  PetscCall(VecPointwiseMult(p->K, p->u, p->u));
  PetscCall(VecShift(p->K, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* zero on the sides, where u is what is given */
static PetscErrorCode Residual(SNES snes, Vec u, Vec r, PETSC_UNUSED void *ctx)
{
  DM     dm;
  Points p;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &dm));
  PetscCall(PointsCreate(dm, &p));
  PetscCall(PointsEvaluate(dm, u, &p));
  PetscCall(Multiply(p.K, p.gradient, p.flux));
  PetscCall(VecSet(r, 0));
  PetscCall(DMBoxAddDiffusionLoad(dm, NULL, p.flux, r));
  PetscCall(PointsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DerivativeMult(Mat J, Vec v, Vec y)
{
  Derivative *d;
  DM          dm;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(J, &d));
  PetscCall(MatGetDM(d->A, &dm));
  PetscCall(MatMult(d->A, v, y));
  PetscCall(DMBoxComputeDiffusionValues(dm, v, d->v, NULL));
  PetscCall(Multiply(d->v, d->drift, d->flux));
  PetscCall(DMBoxAddDiffusionLoad(dm, NULL, d->flux, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* J is the derivative, or MATMFFD; on coarser meshes, which ask for their operator at the solution there, it is A */
static PetscErrorCode Jacobian(SNES snes, Vec u, Mat J, Mat A, void *ctx)
{
  Derivative *d = (Derivative *)ctx;
  DM          dm;
  Points      p;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &dm));
  PetscCall(PointsCreate(dm, &p));
  PetscCall(PointsEvaluate(dm, u, &p));
  PetscCall(DMBoxSetDiffusionVec(dm, 1, p.K, NULL));
  PetscCall(MatBoxUpdate(A));
  if (A == d->A) {
    PetscCall(Multiply(p.u, p.gradient, d->drift));
    PetscCall(VecScale(d->drift, 2));
  }
  if (J != A) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PointsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DerivativeCreate(DM dm, Derivative *d, Mat *J)
{
  PetscInt n, N, dim;
  VecType  type;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMCreateMatrix(dm, &d->A));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, 1, &d->v));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_TRUE, dim, &d->drift));
  PetscCall(VecDuplicate(d->drift, &d->flux));
  PetscCall(MatGetLocalSize(d->A, &n, NULL));
  PetscCall(MatGetSize(d->A, &N, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, N, N, d, J));
  PetscCall(DMGetVecType(dm, &type));
  PetscCall(MatShellSetVecType(*J, type));
  PetscCall(MatShellSetOperation(*J, MATOP_MULT, (PetscVoidFn *)DerivativeMult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DerivativeDestroy(Derivative *d, Mat *J)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(J));
  PetscCall(MatDestroy(&d->A));
  PetscCall(VecDestroy(&d->v));
  PetscCall(VecDestroy(&d->drift));
  PetscCall(VecDestroy(&d->flux));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solve ---- */

/* residuals at the level of rounding errors are not printed as numbers */
static PetscErrorCode PrintStep(SNES snes, PetscInt step, PetscReal norm, void *ctx)
{
  PetscReal *first = (PetscReal *)ctx;
  PetscInt   its;

  PetscFunctionBeginUser;
  if (step == 0) *first = norm;
  PetscCall(SNESGetLinearSolveIterations(snes, &its));
  if (norm > 1e-8 * *first)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  step %" PetscInt_FMT ": residual %.1e, iterations so far %" PetscInt_FMT "\n", step,
                          (double)(norm / *first), its));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  step %" PetscInt_FMT ": residual < 1e-8, iterations so far %" PetscInt_FMT "\n", step, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for K = 1 and no source, with what is given on the sides */
static PetscErrorCode InitialGuess(DM dm, PetscReal *amplitude, Vec u)
{
  const PetscReal one = 1;
  Vec             b;
  KSP             ksp;
  PC              pc;

  PetscFunctionBeginUser;
  PetscCall(DMGetGlobalVector(dm, &b));
  PetscCall(VecSet(b, 0));
  PetscCall(DMBoxSetDiffusion(dm, 1, &one, 0));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Solution, amplitude, u));
  PetscCall(DMBoxLiftDirichlet(dm, u, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT)); /* Newton's steps keep the boundary values */
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMRestoreGlobalVector(dm, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* solvers leave callbacks at their DM, so they get one of their own */
static PetscErrorCode Solve(DM mesh, PetscReal *amplitude, PetscReal *error)
{
  DM                  dm;
  SNES                snes;
  KSP                 ksp;
  PC                  pc;
  Derivative          derivative;
  Mat                 J;
  Vec                 u, b;
  PetscReal           first = 0;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(DMClone(mesh, &dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecSet(b, 0));
  PetscCall(DMBoxAddLoad(dm, 0, Source, amplitude, b));
  PetscCall(InitialGuess(dm, amplitude, u));
  PetscCall(DerivativeCreate(dm, &derivative, &J));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESSetFunction(snes, NULL, Residual, NULL));
  PetscCall(SNESSetJacobian(snes, J, derivative.A, Jacobian, &derivative));
  PetscCall(SNESSetTolerances(snes, PETSC_CURRENT, 1e-9, 0, 20, PETSC_CURRENT));
  PetscCall(SNESMonitorSet(snes, PrintStep, &first, NULL));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESSolve(snes, b, u));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Newton's method: %s", SNESConvergedReasons[reason]);
  PetscCall(DMBoxComputeError(dm, 0, Solution, amplitude, u, error, NULL));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DerivativeDestroy(&derivative, &J));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt cells[3]  = {8, 8, 8};
  PetscReal      amplitude = 1, error, last = 0;
  PetscInt       meshes = 2, n[3], degree;
  DM             dm, finer;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-meshes", &meshes, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-amplitude", &amplitude, NULL));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 3, &dm));
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMBoxSetMappingType(dm, DMBOX_MAPPING_ANNULUS, PETSC_DETERMINE));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  for (PetscInt mesh = 0; mesh < meshes; mesh++) {
    PetscCall(DMBoxGetCells(dm, n));
    PetscCall(DMBoxGetDegree(dm, &degree));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Q%" PetscInt_FMT ", %" PetscInt_FMT " cells in a direction\n", degree, n[0]));
    PetscCall(Solve(dm, &amplitude, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.2e", (double)error));
    if (mesh) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", order %.1f", (double)PetscLog2Real(last / error)));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    last = error;
    if (mesh + 1 == meshes) break;
    PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &finer));
    PetscCall(DMDestroy(&dm));
    dm = finer;
  }
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/quasilinear_1.out
    test:
      nsize: {{1 2 4}}
    test:
      suffix: mf
      args: -snes_mf_operator
    test:
      suffix: cuda
      requires: cuda gpu
      args: -dm_vec_type cuda -mg_levels_pc_patchfd_patch cell
      # coarse meshes have operators of their own there
      filter: sed "s/so far [0-9]*$//"
      output_file: output/quasilinear_steps.out
  # the first preconditioner in all steps
  test:
    suffix: lag
    args: -snes_lag_preconditioner -2
  test:
    suffix: ew
    nsize: 2
    args: -snes_ksp_ew
  test:
    suffix: 3d
    nsize: 2
    args: -dm_box_dim 3 -dm_box_cells 4 -dm_box_degree 2 -dm_box_mapping sine

TEST*/
