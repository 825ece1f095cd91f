static char help[] = "What users do beside solving one problem once.\n\
  -test values    : zero, huge and exact data, results in vectors full of NaN, many kinds of solvers\n\
  -test bad       : coefficients that are no numbers, zero or negative at one point; what was refused can be mended and solved\n\
  -test reset     : PCReset() and KSPReset(), then the same solve\n\
  -test split     : communicators that are parts of others, with different problems at the same time\n\
  -test fields    : bricks as a block of a PCFIELDSPLIT\n\
  -test guesses   : many solves with kept guesses under symmetric cycles\n\
  -test setups    : many set-ups in one program\n\
  -test sizes     : more unknowns than a PetscInt counts\n\n";

#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include <petscdmda.h>
#include "catch.h"
#include "runtest.h"

static PetscErrorCode Check(PetscBool ok, const char format[], ...)
{
  char    text[1024];
  va_list args;

  PetscFunctionBeginUser;
  if (ok) PetscFunctionReturn(PETSC_SUCCESS);
  va_start(args, format);
  PetscCall(PetscVSNPrintf(text, sizeof(text), format, NULL, args));
  va_end(args);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "WRONG: %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a box and a solver of its operator, both with these options and no others; u is random and A u = b */
typedef struct {
  PetscOptions options;
  DM           dm;
  Mat          A;
  KSP          ksp;
  Vec          u, b, x;
} Problem;

static PetscErrorCode SolverCreate(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsPush(p->options));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)p->dm), &p->ksp));
  PetscCall(KSPSetDM(p->ksp, p->dm));
  PetscCall(KSPSetOperators(p->ksp, p->A, p->A));
  PetscCall(KSPSetType(p->ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(p->ksp, 1e-9, 0, PETSC_CURRENT, 100));
  PetscCall(KSPSetFromOptions(p->ksp));
  PetscCall(KSPSetUp(p->ksp));
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemCreate(MPI_Comm comm, const char mesh[], const char solver[], Problem *p)
{
  MatNullSpace nullspace;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&p->options));
  PetscCall(PetscOptionsInsertString(p->options, mesh));
  PetscCall(PetscOptionsInsertString(p->options, solver));
  PetscCall(PetscOptionsPush(p->options));
  PetscCall(DMCreate(comm, &p->dm));
  PetscCall(DMSetType(p->dm, DMBOX));
  PetscCall(DMSetFromOptions(p->dm));
  PetscCall(DMSetUp(p->dm));
  PetscCall(PetscOptionsPop());
  PetscCall(DMCreateMatrix(p->dm, &p->A));
  PetscCall(DMCreateGlobalVector(p->dm, &p->u));
  PetscCall(VecDuplicate(p->u, &p->b));
  PetscCall(VecDuplicate(p->u, &p->x));
  PetscCall(VecSetRandom(p->u, NULL));
  PetscCall(MatGetNullSpace(p->A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, p->u));
  PetscCall(MatMult(p->A, p->u, p->b));
  PetscCall(SolverCreate(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&p->ksp));
  PetscCall(VecDestroy(&p->u));
  PetscCall(VecDestroy(&p->b));
  PetscCall(VecDestroy(&p->x));
  PetscCall(MatDestroy(&p->A));
  PetscCall(DMDestroy(&p->dm));
  PetscCall(PetscOptionsDestroy(&p->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b times a number is solved, into a vector of NaN; the error relative to u times the number */
static PetscErrorCode Solve(Problem *p, PetscReal factor, PetscInt *its, PetscReal *error)
{
  KSPConvergedReason reason;
  MatNullSpace       nullspace;
  PetscReal          norm;
  Vec                b;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(p->b, &b));
  PetscCall(VecCopy(p->b, b));
  PetscCall(VecScale(b, factor));
  PetscCall(VecSet(p->x, NAN));
  PetscCall(PetscOptionsPush(p->options));
  PetscCall(KSPSolve(p->ksp, b, p->x));
  PetscCall(PetscOptionsPop());
  PetscCall(VecDestroy(&b));
  PetscCall(KSPGetIterationNumber(p->ksp, its));
  PetscCall(KSPGetConvergedReason(p->ksp, &reason));
  if (factor != 0) PetscCall(VecScale(p->x, 1 / factor));
  PetscCall(MatGetNullSpace(p->A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, p->x));
  PetscCall(VecAXPY(p->x, factor != 0 ? -1 : 0, p->u));
  PetscCall(VecNorm(p->u, NORM_2, &norm));
  PetscCall(VecNorm(p->x, NORM_2, error));
  *error = reason > 0 && !PetscIsInfOrNanReal(*error) ? *error / norm : PETSC_MAX_REAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const meshes[] = {
  "-dm_box_dim 2 -dm_box_cells 8,6 -dm_box_degree 2",
  "-dm_box_dim 2 -dm_box_cells 4,4 -dm_box_degree 3 -dm_box_boundary neumann",
  "-dm_box_dim 2 -dm_box_cells 4,8 -dm_box_degree 2 -dm_box_space dgq",
  "-dm_box_dim 3 -dm_box_cells 4 -dm_box_degree 1 -dm_box_operator diffusion -dm_box_mapping sine",
  "-dm_box_dim 2 -dm_box_cells 4 -dm_box_degree 3 -dm_box_operator biharmonic",
  "-dm_box_dim 2 -dm_box_cells 4 -dm_box_degree 1 -dm_box_space rt -dm_box_operator stokes",
};
static const char *const solvers[] = {
  "-pc_type patchmg -pc_patchmg_coarse_eq_limit 0", "-pc_type patchmg", "-pc_type single", "-pc_type patchfd -ksp_gmres_restart 100",
  "-pc_type patchfd -pc_patchfd_patch box",
};

static PetscErrorCode TestValues(void)
{
  const PetscReal factors[] = {1, 0, 1e-100, 1e100, -1}; /* squares of norms fit a double */

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(meshes); i++) {
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(solvers); j++) {
      Problem   p;
      PetscInt  its, first = 0;
      PetscReal error;

      PetscCall(ProblemCreate(PETSC_COMM_WORLD, meshes[i], solvers[j], &p));
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factors); k++) {
        PetscCall(Solve(&p, factors[k], &its, &error));
        if (k == 0) first = its;
        if (factors[k] == 0)
          PetscCall(Check((PetscBool)(error == 0 && its == 0), "%s, %s: b = 0 gives an error of %g after %" PetscInt_FMT " iterations",
                          meshes[i], solvers[j], (double)error, its));
        else
          PetscCall(Check((PetscBool)(error < 1e-5 && its >= first - 1 && its <= first + 1),
                          "%s, %s: b times %g gives an error of %g after %" PetscInt_FMT " iterations, once %" PetscInt_FMT, meshes[i],
                          solvers[j], (double)factors[k], (double)error, its, first));
      }
      PetscCall(KSPSetInitialGuessNonzero(p.ksp, PETSC_TRUE));
      PetscCall(VecCopy(p.u, p.x));
      PetscCall(PetscOptionsPush(p.options));
      PetscCall(KSPSolve(p.ksp, p.b, p.x));
      PetscCall(PetscOptionsPop());
      PetscCall(KSPGetIterationNumber(p.ksp, &its));
      PetscCall(Check((PetscBool)(its == 0), "%s, %s: %" PetscInt_FMT " iterations from the exact solution", meshes[i], solvers[j], its));
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- bad coefficients ---- */

typedef struct {
  PetscReal value; /* near one point */
} Bad;

static PetscErrorCode Coefficient(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                  PetscScalar K[], void *ctx)
{
  const Bad *bad = (const Bad *)ctx;

  PetscFunctionBeginUser;
  K[0] = x[0] > 0.26 && x[0] < 0.49 && x[1] > 0.51 && x[1] < 0.74 ? bad->value : 1 + x[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetAndSolve(Problem *p, Bad *bad)
{
  PetscFunctionBeginUser;
  PetscCall(DMBoxSetDiffusionFunction(p->dm, 1, Coefficient, NULL, bad));
  PetscCall(KSPSetOperators(p->ksp, p->A, p->A));
  PetscCall(PetscOptionsPush(p->options));
  PetscCall(KSPSolve(p->ksp, p->b, p->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* every bad value is refused, in each way of giving coefficients; then the same solver solves with good ones what a fresh one does */
static PetscErrorCode TestBad(void)
{
  const PetscReal values[] = {NAN, INFINITY, 0, -1};

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(values); i++) {
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(solvers); j++) {
      Problem        p;
      Bad            bad = {values[i]}, good = {5};
      PetscErrorCode ierr;
      PetscInt       its[2];
      PetscReal      error[2];

      PetscCall(ProblemCreate(PETSC_COMM_WORLD, meshes[3], solvers[j], &p));
      PetscCall(DMBoxSetDiffusionFunction(p.dm, 1, Coefficient, NULL, &good));
      PetscCall(MatBoxUpdate(p.A));
      PetscCall(MatMult(p.A, p.u, p.b));
      PetscCall(KSPSetOperators(p.ksp, p.A, p.A));
      PetscCall(Solve(&p, 1, &its[0], &error[0]));
      CATCH(ierr, SetAndSolve(&p, &bad));
      PetscCall(PetscOptionsPop());
      PetscCall(Check((PetscBool)(ierr == PETSC_SUCCESS ? PETSC_FALSE : lastcode == PETSC_ERR_ARG_OUTOFRANGE || lastcode == PETSC_ERR_FP),
                      "%s: K = %g in a cell ends in %d, %s", solvers[j], (double)values[i], (int)lastcode, lastmessage));
      PetscCall(DMBoxSetDiffusionFunction(p.dm, 1, Coefficient, NULL, &good));
      PetscCall(KSPSetOperators(p.ksp, p.A, p.A));
      PetscCall(Solve(&p, 1, &its[1], &error[1]));
      PetscCall(Check((PetscBool)(its[0] == its[1] && error[1] < 1e-6),
                      "%s: %" PetscInt_FMT " iterations, an error of %g, after K = %g %" PetscInt_FMT ", %g", solvers[j], its[0],
                      (double)error[0], (double)values[i], its[1], (double)error[1]));
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- lives of solvers ---- */

static PetscErrorCode TestReset(void)
{
  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(meshes); i++) {
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(solvers); j++) {
      Problem   p;
      PC        pc;
      PetscInt  its, first;
      PetscReal error;

      PetscCall(ProblemCreate(PETSC_COMM_WORLD, meshes[i], solvers[j], &p));
      PetscCall(Solve(&p, 1, &first, &error));
      for (int k = 0; k < 3; k++) {
        PetscCall(KSPGetPC(p.ksp, &pc));
        if (k == 0) PetscCall(PCReset(pc));
        else PetscCall(KSPReset(p.ksp));
        PetscCall(KSPSetOperators(p.ksp, p.A, p.A));
        PetscCall(Solve(&p, 1, &its, &error));
        PetscCall(Check((PetscBool)(its == first && error < 1e-6),
                        "%s, %s: %" PetscInt_FMT " iterations, after a reset %" PetscInt_FMT " and an error of %g", meshes[i], solvers[j],
                        first, its, (double)error));
      }
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the ranks of each part solve other problems than those of the other one, in another order of calls */
static PetscErrorCode TestSplit(void)
{
  const size_t n = PETSC_STATIC_ARRAY_LENGTH(meshes), m = PETSC_STATIC_ARRAY_LENGTH(solvers);
  PetscMPIInt  rank, size, color;
  PetscInt     wrong = 0;
  MPI_Comm     comm;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  color = rank % 3 == 1;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, color, -rank, &comm));
  for (size_t i = 0; i < n * m; i++) {
    const size_t at = color ? n * m - 1 - i : i;
    Problem      p;
    PetscInt     its;
    PetscReal    error;

    PetscCall(ProblemCreate(comm, meshes[at / m], solvers[at % m], &p));
    PetscCall(Solve(&p, 1, &its, &error));
    if (!(error < 1e-6)) wrong++;
    PetscCall(ProblemDestroy(&p));
  }
  PetscCallMPI(MPI_Comm_free(&comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(Check((PetscBool)!wrong, "%" PetscInt_FMT " solves on parts of the communicator", wrong));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestGuesses(void)
{
  const char *const options[] =
    {"-ksp_type cg -ksp_norm_type unpreconditioned -pc_type patchmg -pc_patchmg_symmetric -pc_patchmg_coarse_eq_limit 0",
     "-ksp_type cg -ksp_norm_type unpreconditioned -pc_type single -single_pc_type patchmg -single_pc_patchmg_symmetric "
     "-single_pc_patchmg_coarse_eq_limit 0"};

  PetscFunctionBeginUser;
  for (size_t i = 0; i < 2; i++) {
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(options); j++) {
      Problem   p;
      PetscInt  its, most = 0, begin  = 0;
      PetscReal norm, residual, worst = 0;
      Vec       r;

      PetscCall(ProblemCreate(PETSC_COMM_WORLD, meshes[i], options[j], &p));
      PetscCall(KSPSetInitialGuessNonzero(p.ksp, PETSC_TRUE));
      PetscCall(VecDuplicate(p.b, &r));
      PetscCall(VecSet(p.x, 0));
      PetscCall(PetscOptionsPush(p.options));
      for (int k = 0; k < 100; k++) {
        PetscCall(VecScale(p.b, 1.01));
        PetscCall(KSPSolve(p.ksp, p.b, p.x));
        PetscCall(KSPGetIterationNumber(p.ksp, &its));
        if (k == 0) begin = its;
        most = PetscMax(most, its);
        PetscCall(MatMult(p.A, p.x, r));
        PetscCall(VecAXPY(r, -1, p.b));
        PetscCall(VecNorm(r, NORM_2, &residual));
        PetscCall(VecNorm(p.b, NORM_2, &norm));
        worst = PetscMax(worst, residual / norm);
      }
      PetscCall(PetscOptionsPop());
      PetscCall(Check((PetscBool)(most <= begin && worst <= 2e-9),
                      "%s: %" PetscInt_FMT " iterations at first, then up to %" PetscInt_FMT ", residuals to %g", options[j], begin, most,
                      (double)worst));
      PetscCall(VecDestroy(&r));
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* memory does not grow */
static PetscErrorCode TestSetups(void)
{
  PetscLogDouble before = 0, after;

  PetscFunctionBeginUser;
  for (int k = 0; k < 300; k++) {
    const size_t i = (size_t)k % PETSC_STATIC_ARRAY_LENGTH(meshes), j = (size_t)(k / 7) % PETSC_STATIC_ARRAY_LENGTH(solvers);
    Problem      p;
    PetscInt     its;
    PetscReal    error;

    PetscCall(ProblemCreate(PETSC_COMM_WORLD, meshes[i], solvers[j], &p));
    PetscCall(Solve(&p, 1, &its, &error));
    PetscCall(Check((PetscBool)(error < 1e-6), "set-up %d, %s, %s: error %g", k, meshes[i], solvers[j], (double)error));
    PetscCall(ProblemDestroy(&p));
    if (k == 100) PetscCall(PetscMemoryGetCurrentUsage(&before));
  }
  PetscCall(PetscMemoryGetCurrentUsage(&after));
  PetscCall(Check((PetscBool)(after - before < 8e6), "200 set-ups leave %g bytes", after - before));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpBox(PetscInt dim, const PetscInt cells[], PetscInt degree, DMBoxSpace space)
{
  DM dm;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, degree, &dm));
  PetscCall(DMBoxSetSpace(dm, space));
  PetscCall(DMSetUp(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* numbers of unknowns whose remainder modulo 2^32 is small */
static PetscErrorCode TestSizes(void)
{
  const PetscInt large[][4] = {
    {65536, 65536, 1, 1}, /* 2^32 cells */
    {1024, 2048, 2048, 1}, {1625, 1625, 1625, 1}, {536870912, 8, 1, 1}, {1000000, 1000000, 1000, 7},
  };

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(large) && sizeof(PetscInt) == 4; i++) {
    for (int space = 0; space < 2; space++) {
      PetscErrorCode ierr;

      CATCH(ierr, SetUpBox(3, large[i], large[i][3], space ? DMBOX_SPACE_DGQ : DMBOX_SPACE_Q));
      PetscCall(Check((PetscBool)(ierr && (lastcode == PETSC_ERR_ARG_OUTOFRANGE || lastcode == PETSC_ERR_SUP ||
                                           lastcode == PETSC_ERR_INT_OVERFLOW)),
                      "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " cells: error %d, %s", large[i][0], large[i][1],
                      large[i][2], (int)lastcode, lastmessage));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* two unknowns a node, Laplacians that are weakly coupled; each block has bricks of its own */
static PetscErrorCode TestFields(void)
{
  DM            da;
  DMDALocalInfo i;
  Mat           A;
  KSP           ksp;
  Vec           x, b, u;
  PetscOptions  options;
  PetscInt      its;
  PetscReal     norm, error;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options,
                                     "-ksp_type fgmres -ksp_rtol 1e-9 -pc_type fieldsplit -pc_fieldsplit_type multiplicative "
                                     "-pc_fieldsplit_0_fields 0 -pc_fieldsplit_1_fields 1 "
                                     "-fieldsplit_0_ksp_type preonly -fieldsplit_0_pc_type patchfd -fieldsplit_0_pc_patchfd_brick_size 5 "
                                     "-fieldsplit_1_ksp_type preonly -fieldsplit_1_pc_type patchfd"));
  PetscCall(PetscOptionsPush(options));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 19, 17, PETSC_DECIDE, PETSC_DECIDE, 2, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMDASetFieldName(da, 0, "first"));
  PetscCall(DMDASetFieldName(da, 1, "second"));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetLocalInfo(da, &i));
  for (PetscInt y = i.ys; y < i.ys + i.ym; y++) {
    for (PetscInt x = i.xs; x < i.xs + i.xm; x++) {
      for (PetscInt c = 0; c < 2; c++) {
        MatStencil        row = {.i = x, .j = y, .c = c}, col[] = {row,
                                                                   {.i = x - 1, .j = y, .c = c},
                                                                   {.i = x + 1, .j = y, .c = c},
                                                                   {.i = x, .j = y - 1, .c = c},
                                                                   {.i = x, .j = y + 1, .c = c},
                                                                   {.i = x, .j = y, .c = 1 - c}};
        const PetscScalar v[] = {4 + (PetscReal)c, -1, -1, -1, -1, 0.1};

        for (int k = 1; k < 5; k++)
          if (col[k].i >= i.mx || col[k].j >= i.my) col[k].i = -1; /* not set, like others outside */
        PetscCall(MatSetValuesStencil(A, 1, &row, 6, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(VecSetRandom(u, NULL));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(VecAXPY(x, -1, u));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(Check((PetscBool)(its <= 40 && error < 1e-7 * norm), "%" PetscInt_FMT " iterations, error %g", its, (double)(error / norm)));
  PetscCall(PetscOptionsPop());
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscOptionsDestroy(&options));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("values", {"values", TestValues}, {"bad", TestBad}, {"reset", TestReset}, {"split", TestSplit}, {"fields", TestFields},
          {"guesses", TestGuesses}, {"setups", TestSetups}, {"sizes", TestSizes})

/*TEST

  testset:
    output_file: output/ok.out
    test:
      suffix: values
      nsize: {{1 2}}
      args: -each_test values:reset
    test:
      suffix: bad
      nsize: {{1 2}}
      args: -test bad -malloc_dump 0
    test:
      suffix: split
      nsize: {{1 3}}
      args: -test split
    test:
      suffix: fields
      nsize: {{1 3}}
      args: -test fields
    test:
      suffix: one
      args: -each_test guesses:setups
    test:
      suffix: sizes
      args: -test sizes -malloc_dump 0

TEST*/
