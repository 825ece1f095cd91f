static char
  help[] = "PCSINGLE on a DMBOX inside SNES and TS, which know the DM or do not, against a direct solver in double precision.\n\n";

#include <petscpatchfd.h>
#include <petscts.h>

/* du/dt - Laplace u = b, u = 0 on the boundary; M u' + A u = b with matrices of a DMBOX */
typedef struct {
  DM        dm;
  Mat       A, M;
  Vec       b, work;
  PetscReal shift; /* of the Jacobian A + shift M; one for SNES */
} Problem;

/* a mass matrix is all but the operator without diffusion */
static const PetscReal laplacian[] = {1, 1, 1}, none[] = {1e-12, 1e-12, 1e-12};

static PetscErrorCode CreateOperator(DM dm, const PetscReal diffusion[], PetscReal shift, Mat *A)
{
  DM box;

  PetscFunctionBeginUser;
  PetscCall(DMClone(dm, &box));
  PetscCall(DMBoxSetPoisson(box, diffusion, shift));
  PetscCall(DMCreateMatrix(box, A));
  PetscCall(DMDestroy(&box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = M u' + A u - b; multigrid asks for it on coarser levels, where SNES and TS know the DM */
static PetscErrorCode Residual(Problem *p, DM dm, Vec u, Vec udot, Vec f)
{
  PetscInt n, N;
  Mat      A, M;

  PetscFunctionBeginUser;
  PetscCall(VecGetSize(u, &n));
  PetscCall(VecGetSize(p->b, &N));
  if (n == N) {
    PetscCall(MatMult(p->A, u, f));
    if (udot) PetscCall(MatMultAdd(p->M, udot, f, f));
    PetscCall(VecAXPY(f, -1, p->b));
  } else {
    PetscCall(CreateOperator(dm, laplacian, udot ? 0 : 1, &A));
    PetscCall(MatMult(A, u, f));
    PetscCall(MatDestroy(&A));
    if (udot) {
      PetscCall(CreateOperator(dm, none, 1, &M));
      PetscCall(MatMultAdd(M, udot, f, f));
      PetscCall(MatDestroy(&M));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Jacobian(PetscReal shift, Mat A, Mat P)
{
  DM dm;

  PetscFunctionBeginUser;
  PetscCall(MatGetDM(P, &dm));
  PetscCall(DMBoxSetPoisson(dm, laplacian, shift));
  PetscCall(MatBoxUpdate(P));
  if (A != P) PetscCall(MatBoxUpdate(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESResidual(SNES snes, Vec u, Vec f, void *ctx)
{
  DM dm;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &dm));
  PetscCall(Residual((Problem *)ctx, dm, u, NULL, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESJacobian(PETSC_UNUSED SNES snes, PETSC_UNUSED Vec u, Mat A, Mat P, PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(Jacobian(1, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TSResidual(TS ts, PETSC_UNUSED PetscReal t, Vec u, Vec udot, Vec f, void *ctx)
{
  DM dm;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &dm));
  PetscCall(Residual((Problem *)ctx, dm, u, udot, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TSJacobian(PETSC_UNUSED TS ts, PETSC_UNUSED PetscReal t, PETSC_UNUSED Vec u, PETSC_UNUSED Vec udot, PetscReal shift,
                                 Mat A, Mat P, PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(Jacobian(shift, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the solution and the largest number of iterations of a linear solve; pc is the preconditioner, NULL for a direct solver */
static PetscErrorCode SetKSP(SNES snes, PCType pctype)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(SNESSetTolerances(snes, 1e-50, 1e-8, 1e-50, 10, PETSC_CURRENT));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-10, 1e-50, PETSC_CURRENT, 20));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype ? pctype : PCPATCHFD));
  if (!pctype) PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LargestCount(KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x, void *ctx)
{
  PetscInt its, *most = (PetscInt *)ctx;

  PetscFunctionBeginUser;
  PetscCall(KSPGetIterationNumber(ksp, &its));
  *most = PetscMax(*most, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Problem *p, const char *method, PetscBool withdm, PCType pctype, Vec u, PetscInt *most)
{
  PetscBool newton;
  SNES      snes;
  TS        ts = NULL;
  KSP       ksp;
  Mat       J;

  PetscFunctionBeginUser;
  *most = 0;
  PetscCall(PetscStrcmp(method, SNESNEWTONLS, &newton));
  PetscCall(DMCreateMatrix(p->dm, &J));
  if (newton) {
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetType(snes, method));
    if (withdm) PetscCall(SNESSetDM(snes, p->dm));
    PetscCall(SNESSetFunction(snes, NULL, SNESResidual, p));
    PetscCall(SNESSetJacobian(snes, J, J, SNESJacobian, p));
  } else {
    PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
    PetscCall(TSSetType(ts, method));
    if (withdm) PetscCall(TSSetDM(ts, p->dm));
    PetscCall(TSSetIFunction(ts, NULL, TSResidual, p));
    PetscCall(TSSetIJacobian(ts, J, J, TSJacobian, p));
    PetscCall(TSSetTimeStep(ts, 0.01));
    PetscCall(TSSetMaxSteps(ts, 3));
    PetscCall(TSSetMaxTime(ts, 1));
    PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
    PetscCall(TSGetSNES(ts, &snes));
  }
  PetscCall(SetKSP(snes, pctype));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetPostSolve(ksp, LargestCount, most));
  PetscCall(VecSet(u, 0));
  if (newton) {
    PetscCall(SNESSetFromOptions(snes));
    PetscCall(SNESSolve(snes, NULL, u));
    PetscCall(SNESDestroy(&snes));
  } else {
    TSAdapt adapt;

    PetscCall(TSGetAdapt(ts, &adapt));
    PetscCall(TSAdaptSetType(adapt, TSADAPTNONE));
    PetscCall(TSSetFromOptions(ts));
    PetscCall(TSSolve(ts, u));
    PetscCall(TSDestroy(&ts));
  }
  PetscCall(MatDestroy(&J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                          PetscScalar f[], PETSC_UNUSED void *ctx)
{
  f[0] = 1 + x[0];
  return PETSC_SUCCESS;
}

static PetscErrorCode Test(Problem *p, const char *method)
{
  Vec       u, v;
  PetscInt  most;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(CreateOperator(p->dm, laplacian, 1, &p->A));
  PetscCall(CreateOperator(p->dm, none, 1, &p->M));
  PetscCall(DMCreateGlobalVector(p->dm, &u));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(Solve(p, method, PETSC_FALSE, NULL, u, &most));
  PetscCall(VecNorm(u, NORM_2, &norm));
  for (int withdm = 0; withdm < 2; withdm++) {
    PetscCall(Solve(p, method, (PetscBool)withdm, PCSINGLE, v, &most));
    PetscCall(VecAXPY(v, -1, u));
    PetscCall(VecNorm(v, NORM_2, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: solution %s, iterations %s\n", method, withdm ? "DM given" : "DM not given",
                          norm > 0 && error < 1e-7 * norm ? "right" : "WRONG", most > 1 && most <= 9 ? "few" : "MANY"));
    if (!(error < 1e-7 * norm) || most <= 1 || most > 9)
      PetscCall(
        PetscPrintf(PETSC_COMM_WORLD, "  relative difference %g, at most %" PetscInt_FMT " iterations\n", (double)(error / norm), most));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&p->A));
  PetscCall(MatDestroy(&p->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem   p = {0};
  char     *method[16];
  PetscInt  n = PETSC_STATIC_ARRAY_LENGTH(method);
  PetscBool flg;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMCreate(PETSC_COMM_WORLD, &p.dm));
  PetscCall(DMSetType(p.dm, DMBOX));
  PetscCall(DMSetFromOptions(p.dm));
  PetscCall(DMSetUp(p.dm));
  PetscCall(DMCreateGlobalVector(p.dm, &p.b));
  PetscCall(DMBoxAddLoad(p.dm, 0, One, NULL, p.b));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-methods", method, &n, &flg));
  PetscCheck(flg, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-methods is missing: newtonls and types of TS");
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(Test(&p, method[i]));
    PetscCall(PetscFree(method[i]));
  }
  PetscCall(VecDestroy(&p.b));
  PetscCall(DMDestroy(&p.dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -dm_box_dim 2 -dm_box_cells 4 -dm_refine 1 -dm_box_degree 2
    test:
      suffix: 1
      nsize: {{1 2}}
      args: -methods newtonls,beuler,cn,theta,bdf,rosw,alpha
    test:
      suffix: arkimex
      args: -methods arkimex

TEST*/
