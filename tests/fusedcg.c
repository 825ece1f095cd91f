static char help[] =
  "KSPFUSEDCG against KSPCG: the same residual norms, reasons and solutions, for the operator of a DMBOX, assembled and dense matrices, \
preconditioners that are\n\
fused and that are not, all norms, tests and guesses, and where the method breaks down.  On a GPU iterations are replayed as a graph where \
they may be.\n\
  -part <iterates,settings,breakdown,replay>\n\
  -matrix <dm,dense,sweep> : the DMBOX's matrix (-dm_mat_type), the same as a dense one, or one that offers a sweep (host)\n\
  -pcs <type,...>    : preconditioners (default none,jacobi)\n\n";

#include <petscpatchfd.h>
#include <petsc/private/petscimpl.h>
#include <patchfd/private/cg.h>
#include "catch.h"
#include "runtest.h"

enum {
  MAX_HISTORY = 500
};

typedef struct {
  DM        dm;
  Mat       A;
  Vec       b, x[2];
  KSP       ksp[2]; /* KSPCG and KSPFUSEDCG */
  PetscReal tolerance;
  PetscBool single;
  PetscBool recorded; /* may the next solve replay iterations? */
  PetscBool replays;  /* may something else be replayed: by the preconditioner, or as ranks exchange? */
  PetscInt  norms;    /* norms of the histories that are compared: rounding errors grow */
} Pair;

static PetscErrorCode Replays(PetscInt *n)
{
  PetscEventPerfInfo info;
  PetscLogEvent      event;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId("PatchFDReplay", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *n = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateKSPs(Pair *p, const char *pctype)
{
  PatchFDHaloType type = PATCHFD_HALO_HOST;
  PetscMPIInt     size;

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) {
    PC pc;

    PetscCall(KSPDestroy(&p->ksp[i]));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &p->ksp[i]));
    PetscCall(KSPSetOperators(p->ksp[i], p->A, p->A));
    PetscCall(KSPSetType(p->ksp[i], i ? KSPFUSEDCG : KSPCG));
    PetscCall(KSPSetTolerances(p->ksp[i], p->single ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(KSPGetPC(p->ksp[i], &pc));
    PetscCall(PCSetType(pc, pctype));
    PetscCall(PCPatchMGSetCoarseEqLim(pc, 0)); /* if it is one: cycles */
    PetscCall(PCSetDM(pc, p->dm));
    PetscCall(KSPSetFromOptions(p->ksp[i]));
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (p->dm) PetscCall(DMBoxGetHaloType(p->dm, &type));
  PetscCall(PetscStrcmp(pctype, PCPATCHMG, &p->replays));
  p->replays  = (PetscBool)(p->replays || (size > 1 && type == PATCHFD_HALO_AUTO));
  p->recorded = PETSC_FALSE;
  p->norms    = MAX_HISTORY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int sweeps; /* calls of: */

/* a sweep on one rank of the host, not fused at all, which forbids what KSPFUSEDCG must not rely on */
static PetscErrorCode Sweep(Mat A, PatchFDKernels kern, const void *d, const void *r, const void *q, void *p, void *w, PatchFDSweep *sweep,
                            PetscBool *can)
{
  const PetscScalar *ad = (const PetscScalar *)d, *ar = (const PetscScalar *)r, *aq = (const PetscScalar *)q;
  PetscScalar       *ap = (PetscScalar *)p;
  PetscInt           n;
  PetscMPIInt        size;
  Vec                P, W;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  *can = (PetscBool)(kern->id == PATCHFD_KERNELS_HOST_DOUBLE && size == 1);
  if (!r || !*can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(p != q, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Directions in one array");
  PetscCheck(!sweep->stop, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A sweep after the end");
  sweeps++;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  for (PetscInt i = 0; i < n; i++) ap[i] = (ad ? ad[i] : 1) * ar[i] + (sweep->b == 0 ? 0 : sweep->b * aq[i]);
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, ap, &P));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, (PetscScalar *)w, &W));
  PetscCall(MatMult(A, P, W));
  PetscCall(VecDot(P, W, &sweep->pw));
  PetscCall(VecDestroy(&P));
  PetscCall(VecDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePair(Pair *p)
{
  const PetscInt cells[] = {4, 4, 4};
  PetscBool      dense, sweep;
  char           matrix[16] = "dm";
  Mat            B;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, &p->dm));
  PetscCall(DMSetFromOptions(p->dm));
  PetscCall(DMSetUp(p->dm));
  PetscCall(DMCreateMatrix(p->dm, &p->A));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", matrix, sizeof(matrix), NULL));
  PetscCall(PetscStrcmp(matrix, "dense", &dense));
  PetscCall(PetscStrcmp(matrix, "sweep", &sweep));
  if (sweep) PetscCall(PetscObjectComposeFunction((PetscObject)p->A, "MatFusedCGSweep_C", Sweep));
  if (dense) {
    PetscCall(MatConvert(p->A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatDestroy(&p->A));
    PetscCall(MatConvert(B, MATDENSE, MAT_INITIAL_MATRIX, &p->A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(DMCreateGlobalVector(p->dm, &p->b));
  PetscCall(VecSetRandom(p->b, NULL));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(p->b, &p->x[i]));
  PetscCall(PetscStrbeginswith(((PetscObject)p->b)->type_name, VECSINGLE, &p->single));
  p->tolerance = p->single ? 1e-3 : 1e-7;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPair(Pair *p)
{
  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPDestroy(&p->ksp[i]));
    PetscCall(VecDestroy(&p->x[i]));
  }
  PetscCall(VecDestroy(&p->b));
  PetscCall(PetscObjectComposeFunction((PetscObject)p->A, "MatFusedCGSweep_C", NULL));
  PetscCall(MatDestroy(&p->A));
  PetscCall(DMDestroy(&p->dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* are all norms of the second history those of the first, to rounding that has grown?  That is of the size of b where the guess is good. */
static PetscErrorCode SameHistory(const Pair *p, PetscInt n, PetscReal h[2][MAX_HISTORY], PetscBool *same)
{
  PetscReal scale;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(p->b, NORM_2, &scale));
  *same = PETSC_TRUE;
  if (!PetscIsInfOrNanReal(h[0][0])) scale = PetscMax(scale, h[0][0]);
  for (PetscInt i = 0; i < PetscMin(n, p->norms); i++) {
    if (PetscIsInfOrNanReal(h[0][i]) && PetscIsInfOrNanReal(h[1][i])) continue;
    if (!(PetscAbsReal(h[1][i] - h[0][i]) <= p->tolerance * (h[0][i] + p->tolerance * scale))) *same = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* norms of x[0] and of the difference, from the arrays on the host: they have to be those of the vectors, wherever these live */
static PetscErrorCode Difference(const Pair *p, PetscReal *norm, PetscReal *diff)
{
  const PetscScalar *a, *b;
  PetscReal          sum[2] = {0, 0};
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(p->x[0], &n));
  PetscCall(VecGetArrayRead(p->x[0], &a));
  PetscCall(VecGetArrayRead(p->x[1], &b));
  for (PetscInt i = 0; i < n; i++) {
    sum[0] += a[i] * a[i];
    sum[1] += (a[i] - b[i]) * (a[i] - b[i]);
  }
  PetscCall(VecRestoreArrayRead(p->x[0], &a));
  PetscCall(VecRestoreArrayRead(p->x[1], &b));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  *norm = PetscSqrtReal(sum[0]);
  *diff = PetscSqrtReal(sum[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* solves with both and compares; x[] has the initial guesses */
static PetscErrorCode Compare(Pair *p, const char *what)
{
  PetscReal          h[2][MAX_HISTORY] = {{0}}, rnorm[2], norm = 0, diff = 0;
  PetscInt           n[2], its[2], before, after;
  KSPConvergedReason reason[2];
  PetscBool          same = PETSC_TRUE, cuda;

  PetscFunctionBeginUser;
  PetscCall(PetscStrendswith(((PetscObject)p->b)->type_name, "cuda", &cuda));
  PetscCall(Replays(&before));
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPSetResidualHistory(p->ksp[i], h[i], MAX_HISTORY, PETSC_TRUE));
    PetscCall(KSPSolve(p->ksp[i], p->b, p->x[i]));
    PetscCall(KSPGetResidualHistory(p->ksp[i], NULL, &n[i]));
    PetscCall(KSPGetConvergedReason(p->ksp[i], &reason[i]));
    PetscCall(KSPGetIterationNumber(p->ksp[i], &its[i]));
    PetscCall(KSPGetResidualNorm(p->ksp[i], &rnorm[i]));
  }
  PetscCall(Replays(&after));
  PetscCheck((after > before) <= (cuda && p->recorded) || p->replays, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: replayed, but should not be",
             what);
  PetscCheck((after > before) >= (cuda && p->recorded) || its[1] < 3, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: not replayed", what);
  PetscCall(Difference(p, &norm, &diff));
  PetscCall(SameHistory(p, (PetscInt)n[0], h, &same));
  same = (PetscBool)(same && reason[0] == reason[1] && its[0] == its[1] && n[0] == n[1]);
  same = (PetscBool)(same &&
                     (diff <= p->tolerance * norm || p->norms < MAX_HISTORY || (PetscIsInfOrNanReal(norm) && PetscIsInfOrNanReal(diff))));
  if (same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: equal, %s\n", what, KSPConvergedReasons[reason[0]]));
  else {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%s: DIFFERENT: %s after %" PetscInt_FMT ", %s after %" PetscInt_FMT
                          " iterations, norms %g %g, %d and %d of them, solutions differ by %g\n",
                          what, KSPConvergedReasons[reason[0]], its[0], KSPConvergedReasons[reason[1]], its[1], (double)rnorm[0],
                          (double)rnorm[1], (int)n[0], (int)n[1], (double)(diff / norm)));
    for (PetscInt i = 0; i < PetscMax(n[0], n[1]); i++)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %3d %16.10e %16.10e\n", (int)i, (double)h[0][i], (double)h[1][i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetGuess(Pair *p, PetscBool guess)
{
  PetscFunctionBeginUser;
  PetscCall(VecSetRandom(p->x[0], NULL));
  PetscCall(VecCopy(p->x[0], p->x[1]));
  for (int i = 0; i < 2; i++) PetscCall(KSPSetInitialGuessNonzero(p->ksp[i], guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* may the iterations with this preconditioner be recorded where there is a GPU? */
static PetscErrorCode MayRecord(const Pair *p, const char *pctype, PetscBool *may)
{
  PatchFDHaloType type = PATCHFD_HALO_HOST;
  PetscBool       none, jacobi, shell;
  PetscMPIInt     size;

  PetscFunctionBeginUser;
  if (p->dm) PetscCall(DMBoxGetHaloType(p->dm, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscStrcmp(pctype, PCNONE, &none));
  PetscCall(PetscStrcmp(pctype, PCJACOBI, &jacobi));
  PetscCall(PetscObjectTypeCompare((PetscObject)p->A, MATSHELL, &shell));
  *may = (PetscBool)((none || jacobi) && shell && (size == 1 || type == PATCHFD_HALO_PEER || type == PATCHFD_HALO_NCCL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Iterates(Pair *p)
{
  static const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL, KSP_NORM_NONE};
  char                    *types[16];
  PetscInt                 n = PETSC_STATIC_ARRAY_LENGTH(types);
  PetscBool                set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-pcs", types, &n, &set));
  if (!set) {
    n = 2;
    PetscCall(PetscStrallocpy(PCNONE, &types[0]));
    PetscCall(PetscStrallocpy(PCJACOBI, &types[1]));
  }
  for (PetscInt t = 0; t < n; t++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(norms); k++) {
      for (int guess = 0; guess < 2; guess++) {
        char what[64];

        PetscCall(CreateKSPs(p, types[t]));
        for (int i = 0; i < 2; i++) {
          PetscCall(KSPSetNormType(p->ksp[i], norms[k]));
          if (norms[k] == KSP_NORM_NONE) PetscCall(KSPSetTolerances(p->ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 7));
        }
        PetscCall(MayRecord(p, types[t], &p->recorded));
        PetscCall(SetGuess(p, (PetscBool)guess));
        PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s%s", types[t], KSPNormTypes[norms[k]], guess ? ", guess" : ""));
        PetscCall(Compare(p, what));
      }
    }
    PetscCall(PetscFree(types[t]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- settings ---- */

/* counts, and looks at the solution that belongs to the norm */
typedef struct {
  PetscInt  calls;
  PetscReal worst;
} MonitorCtx;

static PetscErrorCode Monitor(KSP ksp, PETSC_UNUSED PetscInt it, PetscReal rnorm, void *ctx)
{
  MonitorCtx *m = (MonitorCtx *)ctx;
  Vec         r, kr;
  PetscReal   norm, diff;

  PetscFunctionBeginUser;
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &kr));
  PetscCall(KSPBuildSolution(ksp, NULL, &r));
  PetscCall(VecNorm(kr, NORM_2, &norm));
  diff = PetscAbsReal(norm - rnorm) / (rnorm + 1e-30);
  m->calls++;
  m->worst = PetscMax(m->worst, diff);
  PetscCall(VecDestroy(&kr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EndAtFive(PETSC_UNUSED KSP ksp, PetscInt it, PETSC_UNUSED PetscReal rnorm, KSPConvergedReason *reason,
                                PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  *reason = it == 5 ? KSP_CONVERGED_HAPPY_BREAKDOWN : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Eigenvalues(Pair *p)
{
  PetscReal re[2][MAX_HISTORY], im[MAX_HISTORY], emax[2], emin[2], worst = 0;
  PetscInt  n[2];

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) PetscCall(KSPSetComputeEigenvalues(p->ksp[i], PETSC_TRUE));
  PetscCall(Compare(p, "eigenvalues"));
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPComputeEigenvalues(p->ksp[i], MAX_HISTORY, re[i], im, &n[i]));
    PetscCall(KSPComputeExtremeSingularValues(p->ksp[i], &emax[i], &emin[i]));
  }
  PetscCheck(n[0] == n[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " and %" PetscInt_FMT " eigenvalues", n[0], n[1]);
  PetscCheck(emin[1] == re[1][0] && emax[1] == re[1][n[1] - 1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Extreme values %g %g", (double)emin[1],
             (double)emax[1]);
  for (PetscInt j = 0; j < n[0]; j++) worst = PetscMax(worst, PetscAbsReal(re[1][j] / re[0][j] - 1));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "eigenvalues: %s\n", worst < p->tolerance * 10 ? "equal" : "DIFFERENT"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComputeOperators(PETSC_UNUSED KSP ksp, Mat A, Mat P, PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  PetscCheck(A == P, PETSC_COMM_SELF, PETSC_ERR_PLIB, "One matrix expected");
  PetscCall(MatBoxUpdate(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* matrices that the DM makes when the methods are set up; Chebyshev's bounds from KSPFUSEDCG */
static PetscErrorCode FromDM(Pair *p)
{
  KSP cheby, estimate;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(CreateKSPs(p, PCJACOBI));
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPReset(p->ksp[i]));
    PetscCall(KSPSetDM(p->ksp[i], p->dm));
    PetscCall(KSPSetComputeOperators(p->ksp[i], ComputeOperators, NULL));
  }
  PetscCall(SetGuess(p, PETSC_FALSE));
  PetscCall(MayRecord(p, PCJACOBI, &p->recorded));
  PetscCall(Compare(p, "matrix of the DM"));
  PetscCall(CreateKSPs(p, PCJACOBI));
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPSetType(p->ksp[i], KSPCHEBYSHEV));
    PetscCall(KSPSetNormType(p->ksp[i], KSP_NORM_NONE));
    PetscCall(KSPSetTolerances(p->ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 4));
    PetscCall(KSPChebyshevEstEigSet(p->ksp[i], 0, 0.1, 0, 1.1));
    PetscCall(KSPGetPC(p->ksp[i], &pc));
    PetscCall(KSPSetUp(p->ksp[i]));
    cheby = p->ksp[i];
    PetscCall(KSPChebyshevEstEigGetKSP(cheby, &estimate));
    PetscCall(KSPSetType(estimate, i ? KSPFUSEDCG : KSPCG));
  }
  p->recorded = PETSC_FALSE;
  PetscCall(Compare(p, "Chebyshev"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a fresh pair with Jacobi for each setting; body is executed with i = 0 and 1 */
#define SETTING(what, record, ...) \
  do { \
    PetscCall(CreateKSPs(p, PCJACOBI)); \
    PetscCall(SetGuess(p, PETSC_FALSE)); \
    for (int i = 0; i < 2; i++) { __VA_ARGS__; } \
    PetscCall(MayRecord(p, PCJACOBI, &p->recorded)); \
    p->recorded = (PetscBool)(p->recorded && (record)); \
    PetscCall(Compare(p, what)); \
  } while (0)

static PetscErrorCode Settings(Pair *p)
{
  MonitorCtx         ctx[2] = {{0, 0}, {0, 0}};
  PetscReal          norm, h[2];
  PetscInt           its;
  PetscBool          graph, sweep;
  PC                 pc;
  MatFusedCGSweepFn *f;
  PetscMPIInt        size;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(p->b, NORM_2, &norm));
  SETTING("rtol", PETSC_TRUE, PetscCall(KSPSetTolerances(p->ksp[i], 1e-2, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT)));
  SETTING("atol", PETSC_TRUE, PetscCall(KSPSetTolerances(p->ksp[i], 1e-30, 1e-2 * norm, PETSC_CURRENT, PETSC_CURRENT));
          PetscCall(KSPSetNormType(p->ksp[i], KSP_NORM_UNPRECONDITIONED)));
  SETTING("dtol", PETSC_TRUE, PetscCall(KSPSetTolerances(p->ksp[i], PETSC_CURRENT, PETSC_CURRENT, 1e-6, PETSC_CURRENT));
          PetscCall(KSPSetMinimumIterations(p->ksp[i], 4)));
  SETTING("max_it", PETSC_TRUE, PetscCall(KSPSetTolerances(p->ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 6)));
  SETTING("max_it 0", PETSC_FALSE, PetscCall(KSPSetTolerances(p->ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 0)));
  SETTING("max_it converged", PETSC_TRUE, PetscCall(KSPSetTolerances(p->ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 6));
          PetscCall(KSPConvergedDefaultSetConvergedMaxits(p->ksp[i], PETSC_TRUE)));
  SETTING("min_it", PETSC_TRUE, PetscCall(KSPSetTolerances(p->ksp[i], 1e-1, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
          PetscCall(KSPSetMinimumIterations(p->ksp[i], 9)));
  SETTING("check norm later", PETSC_FALSE, PetscCall(KSPSetCheckNormIteration(p->ksp[i], 7)));
  SETTING("skip", PETSC_TRUE, PetscCall(KSPSetConvergenceTest(p->ksp[i], KSPConvergedSkip, NULL, NULL));
          PetscCall(KSPSetTolerances(p->ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 5)));
  SETTING("own test", PETSC_FALSE, PetscCall(KSPSetConvergenceTest(p->ksp[i], EndAtFive, NULL, NULL)));
  SETTING("initial residual", PETSC_TRUE, PetscCall(KSPSetInitialGuessNonzero(p->ksp[i], PETSC_TRUE));
          PetscCall(KSPConvergedDefaultSetUIRNorm(p->ksp[i])));
  SETTING("no graph", PETSC_FALSE, PetscCall(KSPFusedCGSetGraph(p->ksp[i], PETSC_FALSE)));
  PetscCall(KSPFusedCGGetGraph(p->ksp[1], &graph));
  PetscCheck(!graph, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "KSPFusedCGSetGraph() without effect");
  sweeps = 0;
  SETTING("sweep", PETSC_TRUE, PetscCall(KSPFusedCGSetSweep(p->ksp[i], PETSC_TRUE)));
  PetscCall(KSPFusedCGGetSweep(p->ksp[1], &sweep));
  PetscCall(PetscObjectQueryFunction((PetscObject)p->A, "MatFusedCGSweep_C", &f));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(sweep && (sweeps > 0) == (f && size == 1), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "KSPFusedCGSetSweep(): %d sweeps", sweeps);
  sweeps = 0;
  SETTING("no sweep", PETSC_TRUE, PetscCall(KSPFusedCGSetSweep(p->ksp[i], PETSC_FALSE)));
  PetscCheck(!sweeps, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%d sweeps that nobody wants", sweeps);
  SETTING("monitor", PETSC_FALSE, PetscCall(KSPMonitorSet(p->ksp[i], Monitor, &ctx[i], NULL));
          PetscCall(KSPSetNormType(p->ksp[i], KSP_NORM_UNPRECONDITIONED)));
  PetscCall(KSPGetIterationNumber(p->ksp[1], &its));
  PetscCheck(ctx[1].calls == its + 1 && ctx[1].worst < p->tolerance, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "Monitor: %" PetscInt_FMT " calls in %" PetscInt_FMT " iterations, residual differs by %g", ctx[1].calls, its,
             (double)ctx[1].worst);
  SETTING("absolute diagonal", PETSC_TRUE, PetscCall(KSPGetPC(p->ksp[i], &pc)); PetscCall(PCJacobiSetUseAbs(pc, PETSC_TRUE)));
  PetscCall(CreateKSPs(p, PCJACOBI));
  PetscCall(SetGuess(p, PETSC_FALSE));
  PetscCall(Eigenvalues(p));
  /* a short history is filled as far as it goes */
  PetscCall(KSPSetComputeEigenvalues(p->ksp[1], PETSC_FALSE));
  PetscCall(KSPSetResidualHistory(p->ksp[1], h, 2, PETSC_TRUE));
  PetscCall(KSPSolve(p->ksp[1], p->b, p->x[1]));
  PetscCall(FromDM(p));
  /* zero right-hand side */
  PetscCall(CreateKSPs(p, PCJACOBI));
  PetscCall(VecZeroEntries(p->b));
  PetscCall(SetGuess(p, PETSC_FALSE));
  PetscCall(Compare(p, "zero right-hand side"));
  PetscCall(VecSetRandom(p->b, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- breakdown ---- */

/* b with a NaN, an indefinite or negative matrix, an indefinite preconditioner, singular systems */
static PetscErrorCode Breakdown(Pair *p)
{
  PetscErrorCode ierr;
  const PetscInt n = 40;
  PetscInt       first, last;
  Mat            A;
  Vec            d;

  PetscFunctionBeginUser;
  for (int bad = 0; bad < 5; bad++) {
    static const char *const names[] = {"indefinite matrix", "negative matrix", "indefinite preconditioner", "NaN in the matrix",
                                        "zero matrix"};
    Mat                      B;
    Pair                     q;

    PetscCall(PetscMemzero(&q, sizeof(q)));
    q.tolerance = 1e-7;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 2, NULL, &A));
    PetscCall(MatSetVecType(A, ((PetscObject)p->b)->type_name));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
      PetscScalar v = 2 + i;

      if (bad == 0) v = i < n / 2 ? 2 + i : -2. - i;
      if (bad == 1) v = -2. - i;
      if (bad == 3 && i == 7) v = PetscSqrtReal(-1.);
      if (bad == 4) v = 0;
      PetscCall(MatSetValue(A, i, i, v, INSERT_VALUES));
      if (i + 1 < n) PetscCall(MatSetValue(A, i, i + 1, bad == 4 ? 0 : 0.5, INSERT_VALUES));
      if (i > 0) PetscCall(MatSetValue(A, i, i - 1, bad == 4 ? 0 : 0.5, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(MatSetVecType(B, ((PetscObject)p->b)->type_name));
    if (bad == 2) {
      PetscCall(MatCreateVecs(A, &d, NULL));
      PetscCall(VecSetRandom(d, NULL));
      PetscCall(VecShift(d, -0.5));
      PetscCall(MatDiagonalSet(B, d, INSERT_VALUES));
      PetscCall(VecDestroy(&d));
    }
    q.A = A;
    PetscCall(MatCreateVecs(A, &q.b, NULL));
    PetscCall(VecSetRandom(q.b, NULL));
    for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(q.b, &q.x[i]));
    for (int t = 0; t < 2; t++) {
      PetscCall(CreateKSPs(&q, bad == 2 || t ? PCJACOBI : PCNONE));
      for (int i = 0; i < 2; i++) PetscCall(KSPSetOperators(q.ksp[i], A, B));
      PetscCall(SetGuess(&q, PETSC_FALSE));
      PetscCall(Compare(&q, names[bad]));
    }
    if (bad != 3) { /* PETSc's own check for NaN is an error on one rank only */
      PetscCall(KSPSetErrorIfNotConverged(q.ksp[1], PETSC_TRUE));
      CATCH(ierr, KSPSolve(q.ksp[1], q.b, q.x[1]));
      if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: an error if asked for\n", names[bad]));
    }
    PetscCall(MatDestroy(&B));
    PetscCall(DestroyPair(&q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- several solves ---- */

/* what changes from solve to solve: nothing, right-hand side, coefficients, vectors, preconditioner, and the method's own settings */
static PetscErrorCode Replay(Pair *p)
{
  const PetscReal skew[] = {1, 2, 3}, ones[] = {1, 1, 1}, bad[] = {1, 1e2, 1e4};
  Vec             keep;
  PC              pc;

  PetscFunctionBeginUser;
  PetscCall(CreateKSPs(p, PCNONE));
  PetscCall(MayRecord(p, PCNONE, &p->recorded));
  PetscCall(SetGuess(p, PETSC_FALSE));
  PetscCall(Compare(p, "first"));
  PetscCall(Compare(p, "again"));
  PetscCall(VecSetRandom(p->b, NULL));
  PetscCall(Compare(p, "another right-hand side"));
  PetscCall(SetGuess(p, PETSC_TRUE));
  PetscCall(Compare(p, "a guess"));
  for (int i = 0; i < 2; i++) PetscCall(KSPSetTolerances(p->ksp[i], p->single ? 1e-5 : 1e-10, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(Compare(p, "the solution as a guess"));
  PetscCall(DMBoxSetPoisson(p->dm, skew, 5));
  PetscCall(MatBoxUpdate(p->A));
  PetscCall(Compare(p, "other coefficients"));
  PetscCall(DMBoxSetPoisson(p->dm, ones, 0));
  for (int i = 0; i < 2; i++) PetscCall(KSPSetOperators(p->ksp[i], p->A, p->A));
  PetscCall(MatBoxUpdate(p->A));
  PetscCall(SetGuess(p, PETSC_FALSE));
  PetscCall(Compare(p, "the first coefficients"));
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPGetPC(p->ksp[i], &pc));
    PetscCall(PCSetType(pc, PCJACOBI));
  }
  PetscCall(Compare(p, "Jacobi"));
  PetscCall(Compare(p, "again"));
  for (int i = 0; i < 2; i++) PetscCall(KSPSetNormType(p->ksp[i], KSP_NORM_NATURAL));
  PetscCall(Compare(p, "natural norm"));
  for (int i = 0; i < 2; i++) PetscCall(KSPSetTolerances(p->ksp[i], 1e-2, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(Compare(p, "tolerance"));
  keep = p->x[1];
  PetscCall(VecDuplicate(keep, &p->x[1]));
  PetscCall(Compare(p, "another solution"));
  PetscCall(VecDestroy(&p->x[1]));
  p->x[1] = keep;
  PetscCall(Compare(p, "the first solution"));
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPGetPC(p->ksp[i], &pc));
    PetscCall(PCSetType(pc, PCNONE));
    PetscCall(KSPSetTolerances(p->ksp[i], p->single ? 1e-5 : 1e-10, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  }
  PetscCall(Compare(p, "none again"));
  for (int i = 0; i < 2; i++) PetscCall(KSPReset(p->ksp[i]));
  for (int i = 0; i < 2; i++) PetscCall(KSPSetOperators(p->ksp[i], p->A, p->A));
  PetscCall(Compare(p, "after reset"));
  /* more than a recording does at a time */
  PetscCall(DMBoxSetPoisson(p->dm, bad, 0));
  PetscCall(MatBoxUpdate(p->A));
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPSetConvergenceTest(p->ksp[i], KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSetTolerances(p->ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 300));
  }
  p->norms = 15;
  PetscCall(Compare(p, "many iterations"));
  PetscCall(Compare(p, "again"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  Pair p;
  char part[16]                           = "iterates";
  PetscErrorCode (*const parts[])(Pair *) = {Iterates, Settings, Breakdown, Replay};
  static const char *const names[]        = {"iterates", "settings", "breakdown", "replay"};
  PetscBool                found;

  PetscFunctionBeginUser;
  PetscCall(PetscLogDefaultBegin()); /* it counts replays */
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  PetscCall(CreatePair(&p));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(parts); i++) {
    PetscCall(PetscStrcmp(part, names[i], &found));
    if (found) PetscCall((*parts[i])(&p));
  }
  PetscCall(DestroyPair(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST

  testset:
    output_file: output/fusedcg_iterates.out
    args: -each_dm_vec_type standard:single
    test:
      suffix: box
      nsize: {{1 3}}
      args: -each_dm_box_degree 1:2
    test:
      suffix: box_3
      args: -dm_box_degree 3
    test:
      suffix: aij
      nsize: {{1 4}}
      args: -dm_mat_type aij
    test:
      requires: cuda gpu
      suffix: box_cuda
      args: -dm_vec_type {{cuda singlecuda}} -dm_box_degree {{1 2 3}}
    test:
      requires: cuda gpu
      suffix: box_cuda_ranks
      nsize: 2
      args: -dm_vec_type {{cuda singlecuda}} -dm_box_halo {{auto peer}}

  testset:
    output_file: output/fusedcg_iterates.out
    test:
      suffix: dense
      nsize: {{1 2}}
      args: -matrix dense
    test:
      suffix: sweep
      nsize: {{1 2}}
      args: -matrix sweep -each_ksp_fusedcg_sweep 0:1

  testset:
    output_file: output/fusedcg_unfused.out
    test:
      suffix: sor
      args: -dm_mat_type aij -pcs sor
      filter: sed "s/sor/the preconditioner/"
    test:
      suffix: icc
      nsize: {{1 2}}
      args: -dm_mat_type aij -pcs bjacobi -sub_pc_type icc
      filter: sed "s/bjacobi/the preconditioner/"
    test:
      suffix: patchmg
      nsize: {{1 3}}
      args: -pcs patchmg -pc_patchmg_symmetric -each_dm_vec_type standard:single
      filter: sed "s/patchmg/the preconditioner/"
    test:
      requires: cuda gpu
      suffix: patchmg_cuda
      args: -pcs patchmg -pc_patchmg_symmetric -dm_vec_type {{cuda singlecuda}}
      filter: sed "s/patchmg/the preconditioner/"

  testset:
    output_file: output/fusedcg_settings.out
    args: -part settings
    test:
      suffix: settings
      nsize: {{1 2}}
      args: -each_dm_vec_type standard:single
    test:
      suffix: settings_sweep
      args: -matrix sweep -ksp_fusedcg_sweep
    test:
      requires: cuda gpu
      suffix: settings_cuda
      args: -dm_vec_type {{cuda singlecuda}}

  testset:
    output_file: output/fusedcg_breakdown.out
    args: -part breakdown
    test:
      suffix: breakdown
      nsize: {{1 3}}
    test:
      requires: cuda gpu
      suffix: breakdown_cuda
      nsize: {{1 2}}
      args: -dm_vec_type cuda -dm_box_halo peer

  testset:
    output_file: output/fusedcg_replay.out
    args: -part replay
    test:
      suffix: replay
      nsize: {{1 2}}
      args: -each_dm_vec_type standard:single
    test:
      suffix: replay_sweep
      args: -matrix sweep -ksp_fusedcg_sweep
    test:
      requires: cuda gpu
      suffix: replay_cuda
      args: -dm_vec_type {{cuda singlecuda}}
    test:
      requires: cuda gpu
      suffix: replay_cuda_ranks
      nsize: 2
      args: -dm_vec_type cuda -dm_box_halo peer

TEST*/
