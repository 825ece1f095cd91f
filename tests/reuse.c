static char
  help[] = "A preconditioner that is reused is what it was, whatever becomes of its matrix; another one is what a new one would be.\n\
  -test smoother : PCPATCHFD on matrices of a DMBOX: changed in place, and replaced by that of another DMBOX\n\
  -test several  : PCs of one matrix keep what they have of it\n\
  -test bricks   : on matrices of a DMDA\n\
  -test ksp      : PCPATCHMG, PCPATCHFD as a solver, and lagged preconditioners of SNES\n\n";

#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include <petscdmda.h>
#include <petscsnes.h>

static PetscErrorCode Count(const char name[], PetscInt *n)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *n = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* how often local solvers have been made */
static PetscErrorCode SetUps(PetscInt *n)
{
  PetscFunctionBeginUser;
  PetscCall(Count("PatchFDSetUp", n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(const char *what, const char *name, PetscBool ok)
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ok, 1, PATCHFD_MPI_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s%s: %s\n", name, *name ? ", " : "", what, ok ? "ok" : "WRONG"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bit by bit what it was, without a set-up? */
static PetscErrorCode Same(const char *what, const char *name, PC pc, Vec b, Vec was, PetscInt setups)
{
  Vec       is;
  PetscInt  n;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &is));
  PetscCall(PCApply(pc, b, is));
  PetscCall(SetUps(&n));
  PetscCall(VecEqual(is, was, &same));
  PetscCall(VecDestroy(&is));
  PetscCall(Report(what, name, (PetscBool)(same && n == setups)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewPC(Mat A, const char *options, PC *pc)
{
  DM da;

  PetscFunctionBeginUser;
  PetscCall(MatGetDM(A, &da));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetType(*pc, PCPATCHFD));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetOptionsPrefix(*pc, "s_"));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a PC that is made now would do */
static PetscErrorCode AsNew(const char *what, const char *name, PC pc, Mat A, const char *options, Vec b)
{
  PC       fresh;
  PetscInt n;
  Vec      y;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &y));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSetUpOnBlocks(pc));
  PetscCall(NewPC(A, options, &fresh));
  PetscCall(PCApply(fresh, b, y));
  PetscCall(SetUps(&n));
  PetscCall(Same(what, name, pc, b, y, n));
  PetscCall(PCDestroy(&fresh));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to nowhere */
static PetscErrorCode View(PC pc)
{
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(PetscViewerASCIIOpen(PetscObjectComm((PetscObject)pc), "/dev/null", &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matrices of a DMBOX ---- */

typedef struct {
  const char *name, *operator;
  PetscInt    degree, cells;
  const char *options;
} Case;

static PetscErrorCode SetCoefficients(DM dm, const char *operator, PetscReal c)
{
  const PetscReal K[] = {1, c, 0.5 + 0.5 * c}, K2[] = {1, 0.2, 1 + c};

  PetscFunctionBeginUser;
  if (!strcmp(operator, "poisson")) PetscCall(DMBoxSetPoisson(dm, K, c));
  else if (!strcmp(operator, "diffusion")) PetscCall(DMBoxSetDiffusion(dm, 3, K2, c));
  else if (!strcmp(operator, "stokes")) PetscCall(DMBoxSetStokes(dm, c, 0));
  else PetscCall(DMBoxSetBiharmonic(dm, c, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewMatrix(const Case *c, PetscReal coefficient, DM *dm, Mat *A)
{
  const PetscInt cells[2] = {c->cells, c->cells};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, c->degree, dm));
  if (!strcmp(c->operator, "stokes")) PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_RT));
  PetscCall(DMBoxSetOperator(*dm, c->operator));
  PetscCall(SetCoefficients(*dm, c->operator, coefficient));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSmoother(void)
{
  static const Case cases[] = {
    {"Poisson", "poisson", 2, 8, ""},
    {"Poisson, degree 1", "poisson", 1, 8, "-s_pc_patchfd_order symmetric"},
    {"Poisson, global", "poisson", 2, 8, "-s_pc_patchfd_variant global -s_pc_patchfd_sweeps 2"},
    {"Poisson, additive", "poisson", 3, 6, "-s_pc_patchfd_type additive -s_pc_patchfd_sweeps 2"},
    {"Poisson, the box", "poisson", 2, 8, "-s_pc_patchfd_patch box"},
    {"biharmonic", "biharmonic", 3, 6, ""},
    {"biharmonic, inexact", "biharmonic", 3, 6, "-s_pc_patchfd_local fd_inexact"},
    {"biharmonic, the box", "biharmonic", 3, 6, "-s_pc_patchfd_patch box"},
    {"Stokes", "stokes", 1, 6, "-s_pc_patchfd_local schur"},
    {"Stokes, dense", "stokes", 1, 6, "-s_pc_patchfd_local dense"},
    {"diffusion, rows", "diffusion", 2, 8, ""},
    {"diffusion, fits", "diffusion", 4, 6, "-s_pc_patchfd_sweeps 2"},
    {"diffusion, exact and not", "diffusion", 4, 6, "-s_pc_patchfd_fit_exact 2 -s_pc_patchfd_fit shared"},
    {"diffusion, lines", "diffusion", 4, 6, "-s_pc_patchfd_fit line"},
    {"diffusion, dense", "diffusion", 2, 6, "-s_pc_patchfd_local dense -s_pc_patchfd_type additive -s_pc_patchfd_sweeps 2"},
    {"diffusion, the box", "diffusion", 2, 6, "-s_pc_patchfd_patch box"},
  };

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    const Case *c = &cases[i];
    DM          dm[2];
    Mat         A, A2;
    Vec         b, y;
    PC          pc;
    PetscInt    n;

    PetscCall(NewMatrix(c, 1, &dm[0], &A));
    PetscCall(MatCreateVecs(A, &y, &b));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(NewPC(A, c->options, &pc));
    PetscCall(PCApply(pc, b, y));
    PetscCall(SetUps(&n));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
    PetscCall(SetCoefficients(dm[0], c->operator, 3));
    PetscCall(MatBoxUpdate(A));
    PetscCall(Same("changed in place", c->name, pc, b, y, n));
    PetscCall(MatScale(A, 2));
    PetscCall(View(pc));
    PetscCall(Same("and again", c->name, pc, b, y, n));
    PetscCall(AsNew("no longer reused", c->name, pc, A, c->options, b));

    PetscCall(NewMatrix(c, 5, &dm[1], &A2));
    PetscCall(PCApply(pc, b, y));
    PetscCall(SetUps(&n));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
    PetscCall(PCSetOperators(pc, A2, A2));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm[0]));
    PetscCall(View(pc));
    PetscCall(Same("destroyed", c->name, pc, b, y, n));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
    PetscCall(View(pc));
    PetscCall(AsNew("replaced", c->name, pc, A2, c->options, b));
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, A2, A2));
    PetscCall(AsNew("reset", c->name, pc, A2, c->options, b));

    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A2));
    PetscCall(DMDestroy(&dm[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- several PCs of a matrix ---- */

static PetscErrorCode TestPair(const char *name, const Case *c, const char *first, const char *second, PetscInt expected)
{
  DM       dm;
  Mat      A;
  Vec      b, y[2];
  PC       pc[2];
  PetscInt before, n;

  PetscFunctionBeginUser;
  PetscCall(NewMatrix(c, 1, &dm, &A));
  PetscCall(MatCreateVecs(A, &y[0], &b));
  PetscCall(VecDuplicate(b, &y[1]));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(SetUps(&before));
  PetscCall(NewPC(A, first, &pc[0]));
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(NewPC(A, second, &pc[1]));
  PetscCall(PetscOptionsClear(NULL));
  for (int i = 0; i < 2; i++) PetscCall(PCApply(pc[i], b, y[i]));
  for (int it = 0; it < 3; it++)
    for (int i = 0; i < 2; i++) PetscCall(Same(i ? "the second" : "the first", name, pc[i], b, y[i], before + expected));
  PetscCall(PCPatchFDSetSweeps(pc[0], 2)); /* the same patches */
  PetscCall(PCSetUp(pc[0]));
  PetscCall(SetUps(&n));
  PetscCall(Report("more sweeps", name, (PetscBool)(n == before + expected)));
  PetscCall(PCDestroy(&pc[0]));
  PetscCall(Same("alone", name, pc[1], b, y[1], before + expected));
  PetscCall(PCDestroy(&pc[1]));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&y[i]));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSeveral(void)
{
  const Case stokes = {.operator= "stokes", .degree = 1, .cells = 6}, diffusion = {.operator= "diffusion", .degree = 4, .cells = 6};
  const Case poisson = {.operator= "poisson", .degree = 2, .cells = 8};
  const char schur[] = "-s_pc_patchfd_local schur -s_pc_patchfd_schur_rtol 1e-2";

  PetscFunctionBeginUser;
  PetscCall(TestPair("tolerances", &stokes, schur, "-s_pc_patchfd_local schur -s_pc_patchfd_schur_rtol 1e-8", 2));
  PetscCall(TestPair("fit rules", &diffusion, "-s_pc_patchfd_fit_lanczos 0", "-s_pc_patchfd_fit_reduction 0.1", 2));
  PetscCall(TestPair("orders", &poisson, "", "-s_pc_patchfd_order backward", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bricks ---- */

/* five points with the weights 1 and c, and with `corners` also across; for each of the degrees of freedom */
static PetscErrorCode Fill(DM da, PetscReal c, PetscReal corners, Mat A)
{
  PetscInt xs, ys, xm, ym, N, dof;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &N, NULL, NULL, NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(MatZeroEntries(A));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt k = 0; k < dof * xm; k++) {
      const PetscInt   i   = xs + k / dof;
      const MatStencil row = {.i = i, .j = j, .c = k % dof};

      for (PetscInt dj = -1; dj <= 1; dj++) {
        for (PetscInt di = -1; di <= 1; di++) {
          const MatStencil  col    = {.i = i + di, .j = j + dj, .c = row.c};
          const PetscBool   inside = (PetscBool)(i + di >= 0 && i + di < N && j + dj >= 0 && j + dj < N);
          const PetscScalar w = di && dj ? corners : (di ? 1 : c), v = -w, d = w;

          if (!di && !dj) continue;
          if (inside) PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, ADD_VALUES));
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &row, &d, ADD_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* blocks of a PCFIELDSPLIT are copies, which it changes in place */
static PetscErrorCode TestFieldSplit(void)
{
  static const char options[] = "-s_pc_type fieldsplit -s_fieldsplit_0_pc_type patchfd -s_fieldsplit_0_ksp_type preonly "
                                "-s_fieldsplit_1_pc_type patchfd -s_fieldsplit_1_ksp_type preonly";
  DM                da;
  Mat               A;
  Vec               b, y;
  PC                pc;
  PetscInt          n;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 13, 13, PETSC_DECIDE, PETSC_DECIDE, 2, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Fill(da, 1, 0, A));
  PetscCall(MatCreateVecs(A, &y, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(NewPC(A, options, &pc));
  PetscCall(PCApply(pc, b, y));
  PetscCall(SetUps(&n));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(Fill(da, 30, 0, A));
  PetscCall(Same("changed in place", "blocks", pc, b, y, n));
  PetscCall(AsNew("no longer reused", "blocks", pc, A, options, b));
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBricks(void)
{
  static const char *const options[] = {"-s_pc_patchfd_brick_size 4", "-s_pc_patchfd_order symmetric", "-s_pc_patchfd_type additive"};

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(options); i++) {
    DM       da;
    Mat      A, A2;
    Vec      b, y;
    PC       pc;
    PetscInt n, after;

    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 21, 21, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                           NULL, NULL, &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
    PetscCall(Fill(da, 1, 0, A));
    PetscCall(MatCreateVecs(A, &y, &b));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(NewPC(A, options[i], &pc));
    PetscCall(PCApply(pc, b, y));
    PetscCall(SetUps(&n));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
    PetscCall(Fill(da, 30, 0, A));
    PetscCall(Same("changed in place", options[i], pc, b, y, n));
    PetscCall(Count("SFSetUp", &n)); /* what ranks exchange stays as it is */
    PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
    PetscCall(PCSetUp(pc));
    PetscCall(Count("SFSetUp", &after));
    PetscCall(Report("where the bricks are", options[i], (PetscBool)(after == n)));
    PetscCall(AsNew("no longer reused", options[i], pc, A, options[i], b));
    PetscCall(Fill(da, 30, 0.5, A)); /* more colours */
    PetscCall(AsNew("with corners", options[i], pc, A, options[i], b));
    PetscCall(PCApply(pc, b, y));
    PetscCall(SetUps(&n));
    PetscCall(DMCreateMatrix(da, &A2));
    PetscCall(Fill(da, 2, 0, A2));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
    PetscCall(PCSetOperators(pc, A2, A2));
    PetscCall(MatDestroy(&A));
    PetscCall(View(pc));
    PetscCall(Same("destroyed", options[i], pc, b, y, n));
    PetscCall(AsNew("replaced", options[i], pc, A2, options[i], b));
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A2));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solvers ---- */

static PetscErrorCode NewSolver(Mat A, DM dm, PCType type, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPSetDM(*ksp, dm));
  PetscCall(KSPSetDMActive(*ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, type));
  if (!strcmp(type, PCPATCHMG)) PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
  PetscCall(KSPSetTolerances(*ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 0: new, 1 to 3: reused while the reaction grows, 4: set up again, as a new one */
static PetscErrorCode TestSteps(const char *name, const Case *c, PCType type)
{
  DM       dm;
  Mat      A;
  Vec      b, x, y;
  KSP      ksp, fresh;
  PC       pc;
  PetscInt before, its, expected;

  PetscFunctionBeginUser;
  PetscCall(NewMatrix(c, 1, &dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(NewSolver(A, dm, type, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  for (int step = 0; step < 5; step++) {
    const PetscBool reuse = (PetscBool)(step >= 1 && step <= 3);

    PetscCall(KSPSetReusePreconditioner(ksp, reuse));
    PetscCall(SetCoefficients(dm, c->operator, 1 + 4 * step));
    PetscCall(MatBoxUpdate(A));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(SetUps(&before));
    PetscCall(KSPSolve(ksp, b, x));
    if (step == 0) PetscCall(PCApply(pc, b, y));
    if (reuse) PetscCall(Same("reused", name, pc, b, y, before));
  }
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(NewSolver(A, dm, type, &fresh));
  PetscCall(KSPSolve(fresh, b, x));
  PetscCall(KSPGetIterationNumber(fresh, &expected));
  PetscCall(Report("set up again", name, (PetscBool)(its == expected)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&fresh));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Richardson's steps with what is reused lead to the solution of the matrix that there is */
static PetscErrorCode TestRichardson(void)
{
  const Case c = {.operator= "poisson", .degree = 2, .cells = 8};
  DM         dm;
  Mat        A;
  Vec        b, x, r;
  KSP        ksp;
  PC         pc;
  PetscReal  norm, start;

  PetscFunctionBeginUser;
  PetscCall(NewMatrix(&c, 1, &dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(NewSolver(A, dm, PCPATCHFD, &ksp));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 15));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(DMBoxSetPoisson(dm, (PetscReal[]){1, 1.1, 1}, 2));
  PetscCall(MatBoxUpdate(A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(b, NORM_2, &start));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(Report("the solution of the new matrix", "Richardson", (PetscBool)(norm < 1e-8 * start)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* F(u) = A u - 1, with Jacobians that are a little worse from step to step */
static PetscErrorCode Function(PETSC_UNUSED SNES snes, Vec u, Vec f, void *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult((Mat)A, u, f));
  PetscCall(VecShift(f, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Jacobian(SNES snes, PETSC_UNUSED Vec u, Mat J, PETSC_UNUSED Mat P, PETSC_UNUSED void *ctx)
{
  DM       dm;
  PetscInt it;

  PetscFunctionBeginUser;
  PetscCall(MatGetDM(J, &dm));
  PetscCall(SNESGetIterationNumber(snes, &it));
  PetscCall(SetCoefficients(dm, "poisson", 1 + 0.1 * (1 + it)));
  PetscCall(MatBoxUpdate(J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSNES(void)
{
  const Case c = {.operator= "poisson", .degree = 2, .cells = 4};
  DM         dm[2];
  Mat        A, J;
  Vec        u, f;
  SNES       snes;
  KSP        ksp;
  PC         pc;
  PetscInt   before, n;

  PetscFunctionBeginUser;
  PetscCall(NewMatrix(&c, 1, &dm[0], &A));
  PetscCall(NewMatrix(&c, 1, &dm[1], &J));
  PetscCall(MatCreateVecs(A, &u, &f));
  PetscCall(VecSet(u, 0));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetFunction(snes, f, Function, A));
  PetscCall(SNESSetJacobian(snes, J, J, Jacobian, NULL));
  PetscCall(SNESSetTolerances(snes, 0, 0, 0, 6, 100));
  PetscCall(SNESSetLagPreconditioner(snes, 3));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(SetUps(&before));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(SetUps(&n));
  PetscCall(Report("two preconditioners for six steps", "SNES", (PetscBool)(n == before + 2)));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&J));
  for (int i = 0; i < 2; i++) PetscCall(DMDestroy(&dm[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKSP(void)
{
  const Case poisson = {.operator= "poisson", .degree = 2, .cells = 8}, diffusion = {.operator= "diffusion", .degree = 2, .cells = 8};
  const Case small = {.operator= "poisson", .degree = 2, .cells = 4};

  PetscFunctionBeginUser;
  PetscCall(TestSteps("PCPATCHFD", &small, PCPATCHFD));
  PetscCall(TestSteps("PCPATCHMG", &poisson, PCPATCHMG));
  PetscCall(TestSteps("PCPATCHMG, diffusion", &diffusion, PCPATCHMG));
  PetscCall(TestRichardson());
  PetscCall(TestSNES());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char test[32] = "smoother";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", test, sizeof(test), NULL));
  if (!strcmp(test, "smoother")) PetscCall(TestSmoother());
  else if (!strcmp(test, "several")) PetscCall(TestSeveral());
  else if (!strcmp(test, "bricks")) {
    PetscCall(TestBricks());
    PetscCall(TestFieldSplit());
  } else if (!strcmp(test, "ksp")) PetscCall(TestKSP());
  else SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-test %s does not exist", test);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     nsize: {{1 2}}

     test:
       suffix: smoother
       output_file: output/reuse_smoother.out
       args: -test smoother

     test:
       suffix: several
       output_file: output/reuse_several.out
       args: -test several

     test:
       suffix: bricks
       output_file: output/reuse_bricks.out
       args: -test bricks

     test:
       suffix: ksp
       output_file: output/reuse_ksp.out
       args: -test ksp

TEST*/
