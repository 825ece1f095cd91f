/*
  Conjugate gradients in two sweeps over memory, patchfd/private/cg.h.  The iterates, and what is decided when, are those of KSPCG.

  With a diagonal preconditioner, or none, on one rank, and on some whose GPUs exchange without the host, the numbers of an iteration stay
  where the vectors are ("alone"): the host looks at the norm once an iteration, or, where a GPU does the work and nobody but
  KSPConvergedDefault() wants to see each norm, when iterations that were recorded as a loop have stopped by themselves.  They stop when
  the host may have to decide something, on all ranks at once, since all have the same numbers to the last bit; the host then decides as
  after any other iteration. Otherwise the sums of all ranks, and the preconditioner's result, go by way of the host.
*/
#include "fusedcg.h"
#include <petsc/private/logimpl.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

static inline Vec FusedCGDiagonal(const KSP_FusedCG *cg)
{
  return cg->diagonal ? cg->d : NULL;
}

/* ---- set-up of a solve ---- */

static PetscErrorCode FusedCGForget(KSP_FusedCG *cg)
{
  PetscFunctionBegin;
  if (cg->recorded.record) PetscCall((*cg->kern->recorddestroy)(&cg->recorded.record));
  PetscCall(PetscMemzero(&cg->recorded, sizeof(cg->recorded)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPReset_FusedCG(KSP ksp)
{
  KSP_FusedCG *cg = (KSP_FusedCG *)ksp->data;

  PetscFunctionBegin;
  PetscCall(FusedCGForget(cg));
  PetscCall(FusedCGDestroyTotals(cg));
  cg->tried = PETSC_FALSE;
  if (cg->kern) PetscCall((*cg->kern->cgdestroy)(&cg->plan));
  cg->kern = NULL;
  PetscCall(VecDestroy(&cg->d));
  PetscCall(VecDestroy(&cg->p[1]));
  cg->p[0]  = NULL;
  cg->nritz = 0;
  PetscCall(PetscFree3(cg->diag, cg->off, cg->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSetUp_FusedCG(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPReset_FusedCG(ksp));
  PetscCall(KSPSetWorkVecs(ksp, 3)); /* r, p, and w, which is z while it is not A p */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the table of all vectors: that of the solution, or, if the work vectors are of another type, the host's */
static PetscErrorCode FusedCGSetPlan(KSP ksp, KSP_FusedCG *cg)
{
  PatchFDKernels kern, work;
  PatchFDCG     *state;
  PetscInt       n;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(ksp->vec_sol, &kern));
  PetscCall(PatchFDVecGetKernels(ksp->work[0], &work));
  if (kern != work) kern = PatchFDKernelTables[PATCHFD_KERNELS_HOST_DOUBLE];
  PetscCall(VecGetLocalSize(ksp->vec_sol, &n));
  if (cg->plan && (cg->kern != kern || cg->n != n)) {
    PetscCall(FusedCGForget(cg));
    PetscCall((*cg->kern->cgdestroy)(&cg->plan));
  }
  if (!cg->plan) PetscCall((*kern->cgcreate)(n, &cg->plan));
  cg->kern = kern;
  cg->n    = n;
  PetscCall((*kern->cgstate)(cg->plan, &state));
  cg->device = (PatchFDSweep *)state; /* its first member */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Is z = d r, node by node?  The preconditioner itself says what d is, whatever its options are.  Constants that KSP takes out of z are no
  part of such a sweep
*/
static PetscErrorCode FusedCGSetDiagonal(KSP ksp, KSP_FusedCG *cg)
{
  Mat          A;
  MatNullSpace null;
  PetscBool    jacobi, none;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetNullSpace(A, &null));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCJACOBI, &jacobi));
  cg->diagonal = (PetscBool)((none || jacobi) && !null && !ksp->transpose_solve);
  if (none || !cg->diagonal) PetscCall(VecDestroy(&cg->d));
  else {
    if (!cg->d) PetscCall(VecDuplicate(ksp->work[0], &cg->d));
    PetscCall(VecSet(ksp->work[2], 1));
    PetscCall(KSP_PCApply(ksp, ksp->work[2], cg->d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what a solve may use ---- */

/* may the iterations of this solve be recorded, and run without the host? */
static PetscErrorCode FusedCGCanRecord(KSP ksp, const KSP_FusedCG *cg, Mat A, PetscBool *can)
{
  MatCanRecordFn *canrecord;

  PetscFunctionBegin;
  *can = PETSC_FALSE;
  if (!cg->graph || !cg->alone || !cg->kern->cgrecordbegin || ksp->numbermonitors || ksp->err_hist || ksp->calc_sings || ksp->chknorm > 1 ||
      A->erroriffailure)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscLogGpuTimeFlag || PetscLogGpuEnergyFlag || PetscLogGpuEnergyMeterFlag) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip) PetscFunctionReturn(PETSC_SUCCESS);
  *can = (PetscBool)(cg->offered && cg->nrank == 1);
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatCanRecord_C", &canrecord));
  if (!*can && canrecord) PetscCall((*canrecord)(A, cg->kern, can));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FusedCGSetMat(KSP ksp, KSP_FusedCG *cg)
{
  Mat   A;
  void *like;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatFusedCGSweep_C", &cg->sweep));
  cg->offered = PETSC_FALSE;
  if (cg->sweep && cg->diagonal) {
    PetscCall(PatchFDVecGetArray(ksp->work[1], cg->kern, &like));
    PetscCall((*cg->sweep)(A, cg->kern, NULL, NULL, NULL, like, NULL, NULL, &cg->offered));
    PetscCall(PatchFDVecRestoreArray(ksp->work[1], cg->kern, &like));
    /* ranks without unknowns have no arrays to look at */
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &cg->offered, 1, PATCHFD_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)ksp)));
  }
  if (!cg->offered || !cg->wanted) cg->sweep = NULL;
  cg->p[0] = ksp->work[1];
  if (!cg->sweep) PetscCall(VecDestroy(&cg->p[1]));
  else if (!cg->p[1]) PetscCall(VecDuplicate(cg->p[0], &cg->p[1]));
  cg->turn = 0;
  PetscCall(FusedCGCanRecord(ksp, cg, A, &cg->record));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FusedCGPrepare(KSP ksp, KSP_FusedCG *cg)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &cg->nrank));
  PetscCall(FusedCGSetPlan(ksp, cg));
  PetscCall(FusedCGSetDiagonal(ksp, cg));
  if (cg->diagonal) PetscCall(FusedCGSetTotals(ksp, cg));
  cg->alone = (PetscBool)(cg->diagonal && (cg->nrank == 1 || cg->total[0].halo));
  PetscCall(FusedCGSetMat(ksp, cg));
  if (ksp->calc_sings && cg->nritz < ksp->max_it + 1) {
    cg->nritz = ksp->max_it + 1;
    PetscCall(PetscFree3(cg->diag, cg->off, cg->work));
    PetscCall(PetscMalloc3(cg->nritz, &cg->diag, cg->nritz, &cg->off, cg->nritz, &cg->work));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- kernels on Vecs ---- */

enum {
  FUSEDCG_MAX_VECS = 5
};

/* arrays of Vecs (or NULL), of which the last nwrite are written */
static PetscErrorCode FusedCGGetArrays(const KSP_FusedCG *cg, PetscInt n, PetscInt nwrite, const Vec v[], void *a[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    a[i] = NULL;
    if (!v[i]) continue;
    if (i < n - nwrite) PetscCall(PatchFDVecGetArrayRead(v[i], cg->kern, (const void **)&a[i]));
    else PetscCall(PatchFDVecGetArray(v[i], cg->kern, &a[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FusedCGRestoreArrays(const KSP_FusedCG *cg, PetscInt n, PetscInt nwrite, const Vec v[], void *a[])
{
  PetscFunctionBegin;
  for (PetscInt i = n - 1; i >= 0; i--) {
    if (!v[i]) continue;
    if (i < n - nwrite) PetscCall(PatchFDVecRestoreArrayRead(v[i], cg->kern, (const void **)&a[i]));
    else PetscCall(PatchFDVecRestoreArray(v[i], cg->kern, &a[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p, w = A p and p'w, by the matrix's own sweep or one after the other */
static PetscErrorCode FusedCGFirstSweep(KSP ksp, KSP_FusedCG *cg)
{
  const PatchFDKernels kern = cg->kern;
  const Vec            P = cg->p[cg->sweep ? cg->turn : 0], W = ksp->work[2];
  void                *a[FUSEDCG_MAX_VECS];
  PetscBool            can;
  Mat                  A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (cg->sweep) {
    const Vec v[] = {FusedCGDiagonal(cg), ksp->work[0], cg->p[1 - cg->turn], P, W};

    PetscCall(FusedCGGetArrays(cg, 5, 2, v, a));
    PetscCall((*cg->sweep)(A, kern, a[0], a[1], a[2], a[3], a[4], cg->device, &can));
    PetscCall(FusedCGRestoreArrays(cg, 5, 2, v, a));
  } else {
    const Vec v[] = {FusedCGDiagonal(cg), cg->diagonal ? ksp->work[0] : W, P}, pw[] = {P, W};

    PetscCall(FusedCGGetArrays(cg, 3, 1, v, a));
    PetscCall((*kern->cgdirection)(cg->plan, a[0], a[1], a[2]));
    PetscCall(FusedCGRestoreArrays(cg, 3, 1, v, a));
    PetscCall(KSP_MatMult(ksp, A, P, W));
    PetscCall(FusedCGGetArrays(cg, 2, 0, pw, a));
    PetscCall((*kern->cgproduct)(cg->plan, a[0], a[1]));
    PetscCall(FusedCGRestoreArrays(cg, 2, 0, pw, a));
  }
  if (cg->alone) PetscCall(FusedCGSetTotal(cg, PATCHFD_CG_TOTAL_PW));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* later: x takes its step with the next one */
static PetscErrorCode FusedCGSecondSweep(KSP ksp, KSP_FusedCG *cg, PetscBool later)
{
  const Vec v[] = {FusedCGDiagonal(cg), cg->p[cg->sweep ? cg->turn : 0], ksp->work[2], later ? NULL : ksp->vec_sol, ksp->work[0]};
  void     *a[FUSEDCG_MAX_VECS];

  PetscFunctionBegin;
  PetscCall(FusedCGGetArrays(cg, 5, 2, v, a));
  PetscCall((*cg->kern->cgadvance)(cg->plan, a[0], a[1], a[2], a[3], a[4]));
  PetscCall(FusedCGRestoreArrays(cg, 5, 2, v, a));
  if (cg->alone) PetscCall(FusedCGSetTotal(cg, PATCHFD_CG_TOTAL_SUMS));
  cg->turn = 1 - cg->turn;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the sums with z, on this rank */
static PetscErrorCode FusedCGSums(KSP ksp, KSP_FusedCG *cg, Vec z)
{
  const Vec v[] = {ksp->work[0], z};
  void     *a[FUSEDCG_MAX_VECS];

  PetscFunctionBegin;
  PetscCall(FusedCGGetArrays(cg, 2, 0, v, a));
  PetscCall((*cg->kern->cgsums)(cg->plan, a[0], a[1]));
  PetscCall(FusedCGRestoreArrays(cg, 2, 0, v, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the numbers, between the host and where the vectors are ---- */

static PetscErrorCode FusedCGPut(KSP_FusedCG *cg)
{
  PetscFunctionBegin;
  if (cg->changed) PetscCall((*cg->kern->cgput)(cg->plan, &cg->s));
  cg->changed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the sums, and n of them summed over all ranks */
static PetscErrorCode FusedCGGather(KSP ksp, KSP_FusedCG *cg, double sum[], PetscMPIInt n)
{
  PatchFDCG s;

  PetscFunctionBegin;
  PetscCall((*cg->kern->cgget)(cg->plan, &s));
  cg->s.sweep.pw = s.sweep.pw;
  PetscCall(PetscArraycpy(cg->s.sum, s.sum, PATCHFD_CG_NUM_SUMS));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, n, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)ksp)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is there a norm to be tested after this iteration? */
static PetscBool FusedCGHasNorm(KSP ksp, const KSP_FusedCG *cg)
{
  return (PetscBool)(ksp->normtype == KSP_NORM_NATURAL || !cg->s.it || cg->s.it >= ksp->chknorm);
}

/* z = B r, where a kernel does not do that by the way, and the sums with it */
static PetscErrorCode FusedCGPrecondition(KSP ksp, KSP_FusedCG *cg)
{
  PetscFunctionBegin;
  PetscCall(KSP_PCApply(ksp, ksp->work[0], ksp->work[2]));
  PetscCall(FusedCGSums(ksp, cg, ksp->work[2]));
  PetscCall(FusedCGGather(ksp, cg, cg->s.sum, PATCHFD_CG_NUM_SUMS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* does the norm need the preconditioner's result, which is still to be computed? */
static PetscBool FusedCGNormNeedsZ(KSP ksp, const KSP_FusedCG *cg)
{
  return (PetscBool)(!cg->diagonal && FusedCGHasNorm(ksp, cg) &&
                     (ksp->normtype == KSP_NORM_PRECONDITIONED || ksp->normtype == KSP_NORM_NATURAL));
}

/* ---- iterations ---- */

/* the initial residual and its norm */
static PetscErrorCode FusedCGStart(KSP ksp, KSP_FusedCG *cg)
{
  const Vec  R = ksp->work[0];
  PatchFDCG *s = &cg->s;
  Mat        A;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->normtype = ksp->normtype;
  s->alone    = cg->nrank == 1 && cg->alone;
  s->low      = -1;
  s->high     = PETSC_INFINITY;
  s->until    = PETSC_INT_MAX;
  cg->changed = PETSC_TRUE;
  PetscCall(FusedCGPut(cg));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (ksp->guess_zero) PetscCall(VecCopy(ksp->vec_rhs, R));
  else {
    PetscCall(KSP_MatMult(ksp, A, ksp->vec_sol, R));
    PetscCall(VecAYPX(R, -1.0, ksp->vec_rhs));
  }
  /* perhaps on some ranks only: the norm tells all of them */
  PetscCall(VecFlag(R, ksp->reason == KSP_DIVERGED_PC_FAILED));
  if (cg->diagonal || FusedCGNormNeedsZ(ksp, cg)) PetscCall(FusedCGPrecondition(ksp, cg));
  else if (ksp->normtype == KSP_NORM_UNPRECONDITIONED) {
    PetscCall(FusedCGSums(ksp, cg, R));
    PetscCall(FusedCGGather(ksp, cg, s->sum, PATCHFD_CG_NUM_SUMS));
  }
  s->norm = PatchFDCGNorm(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what belongs to an iteration's norm; ksp->reason says whether it was the last one */
static PetscErrorCode FusedCGTest(KSP ksp, KSP_FusedCG *cg)
{
  const PetscReal norm = FusedCGHasNorm(ksp, cg) ? cg->s.norm : 0;

  PetscFunctionBegin;
  ksp->its = cg->s.it;
  if (ksp->normtype == KSP_NORM_NATURAL) KSPCheckDot(ksp, norm);
  else KSPCheckNorm(ksp, norm);
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, ksp->its, norm));
  PetscCall((*ksp->converged)(ksp, ksp->its, norm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z'r, and whether there can be another iteration; where kernels are not alone the numbers go on to it */
static PetscErrorCode FusedCGNext(KSP ksp, KSP_FusedCG *cg, PetscBool havez)
{
  PatchFDCG *s = &cg->s;

  PetscFunctionBegin;
  if (!cg->diagonal && !havez) PetscCall(FusedCGPrecondition(ksp, cg));
  if (!s->it) s->rz = s->sum[PATCHFD_CG_RZ];
  else if (!cg->alone) PatchFDCGNext(s);
  cg->changed = (PetscBool)(cg->changed || !s->it || !cg->alone);
  KSPCheckDot(ksp, s->rz);
  if (s->it && s->it >= ksp->max_it) {
    ksp->reason = KSP_DIVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ksp->its = s->it + 1;
  if (s->rz == 0) {
    PetscCall(PetscInfo(ksp, "converged due to beta = 0\n"));
    ksp->reason = KSP_CONVERGED_ATOL;
  } else if ((s->rz > 0 && s->rzold < 0) || (s->rz < 0 && s->rzold > 0)) {
    PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
               "Diverged due to indefinite preconditioner, beta %g, betaold %g", s->rz, s->rzold);
    PetscCall(PetscInfo(ksp, "diverging due to indefinite preconditioner\n"));
    ksp->reason = KSP_DIVERGED_INDEFINITE_PC;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p'w, which is in s.pwold then, does not allow another step */
static PetscErrorCode FusedCGBreakDown(KSP ksp, KSP_FusedCG *cg)
{
  PetscFunctionBegin;
  ksp->its = cg->s.it + 1;
  KSPCheckDot(ksp, cg->s.pwold);
  if (ksp->converged_neg_curve) {
    PetscCall(PetscInfo(ksp, "converged due to negative curvature: %g\n", cg->s.pwold));
    ksp->reason = KSP_CONVERGED_NEG_CURVE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
             "Diverged due to indefinite matrix, p'Ap %g", cg->s.pwold);
  PetscCall(PetscInfo(ksp, "diverging due to indefinite matrix\n"));
  ksp->reason = KSP_DIVERGED_INDEFINITE_MAT;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an iteration, up to the norm of its residual */
static PetscErrorCode FusedCGIterate(KSP ksp, KSP_FusedCG *cg, PetscBool *havez)
{
  PatchFDCG *s = &cg->s;

  PetscFunctionBegin;
  PetscCall(FusedCGPut(cg));
  PetscCall(FusedCGFirstSweep(ksp, cg));
  if (!cg->alone) {
    PetscCall(FusedCGGather(ksp, cg, &s->sweep.pw, 1));
    if (PatchFDCGBreaksDown(s)) {
      s->pwold      = s->sweep.pw;
      s->sweep.stop = PATCHFD_CG_BREAKDOWN;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall((*cg->kern->cgput)(cg->plan, s));
  }
  PetscCall(FusedCGSecondSweep(ksp, cg, PETSC_FALSE));
  if (cg->alone) {
    PetscCall((*cg->kern->cgget)(cg->plan, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->it++;
  *havez = FusedCGNormNeedsZ(ksp, cg);
  if (*havez) PetscCall(FusedCGPrecondition(ksp, cg));
  else if (cg->diagonal || ksp->normtype == KSP_NORM_UNPRECONDITIONED) PetscCall(FusedCGGather(ksp, cg, s->sum, PATCHFD_CG_NUM_SUMS));
  s->norm = PatchFDCGNorm(s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the Ritz values' tridiagonal matrix: the row of an iteration with step a, from its own b and the step before */
static void FusedCGAddRitz(KSP_FusedCG *cg, PetscInt i, PetscReal a, PetscReal aold, PetscReal b)
{
  cg->diag[i] = 1 / a + (i ? b / aold : 0);
  if (i) cg->off[i - 1] = PetscSqrtReal(PetscAbsReal(b)) / aold;
}

/* ---- iterations without the host ---- */

/* the loop stops where KSPConvergedDefault() or KSPConvergedSkip() would say something, and before its record of norms is full */
static void FusedCGSetLoop(KSP ksp, KSP_FusedCG *cg)
{
  PatchFDCG *s = &cg->s;

  if (ksp->converged == KSPConvergedDefault && ksp->normtype != KSP_NORM_NONE) {
    s->low   = ksp->ttol;
    s->high  = ksp->divtol * ksp->rnorm0;
    s->first = PetscMax(ksp->min_it, ksp->chknorm + 1);
  }
  s->until    = PetscMin(ksp->max_it, s->it + PATCHFD_CG_HISTORY);
  cg->changed = PETSC_TRUE;
}

/* two iterations where directions take turns, so that the next replay begins with the same one, and x takes both steps at once */
static PetscErrorCode FusedCGRecordBody(KSP ksp, KSP_FusedCG *cg)
{
  const int count = cg->sweep ? 2 : 1;

  PetscFunctionBegin;
  for (int i = 0; i < count; i++) {
    PetscCall(FusedCGFirstSweep(ksp, cg));
    PetscCall(FusedCGSecondSweep(ksp, cg, (PetscBool)(i + 1 < count)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FusedCGMakeRecord(KSP ksp, KSP_FusedCG *cg)
{
  FusedCGRecord *r = &cg->recorded;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall((*cg->kern->cgrecordbegin)(cg->plan, &r->record));
  ierr = FusedCGRecordBody(ksp, cg);
  PetscCall((*cg->kern->cgrecordend)(cg->plan, (PetscBool)!ierr, &r->record));
  r->failed = (PetscBool)!r->record;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is there a recording for these vectors, or may one be made now?  That has to wait until an iteration has made all plans */
static PetscErrorCode FusedCGIsRecorded(KSP ksp, KSP_FusedCG *cg, PetscBool *ready)
{
  FusedCGRecord *r   = &cg->recorded;
  const Vec      v[] = {ksp->vec_sol, FusedCGDiagonal(cg), cg->p[1]};
  void          *a[FUSEDCG_MAX_VECS];
  Mat            A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(FusedCGGetArrays(cg, 3, 0, v, a));
  if (r->mat != ((PetscObject)A)->id || r->state != ((PetscObject)A)->state || r->x != a[0] || r->d != a[1] || r->p != a[2]) {
    PetscCall(FusedCGForget(cg));
    *r = (FusedCGRecord){.mat = ((PetscObject)A)->id, .state = ((PetscObject)A)->state, .x = a[0], .d = a[1], .p = a[2]};
  }
  PetscCall(FusedCGRestoreArrays(cg, 3, 0, v, a));
  *ready = (PetscBool)((r->record || cg->s.it > 0) && !r->failed && (!cg->sweep || cg->turn == 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* as many iterations as the numbers allow: after it, the norms of all but the last one have been seen to */
static PetscErrorCode FusedCGLoop(KSP ksp, KSP_FusedCG *cg, PetscBool *done)
{
  PatchFDCG     *s        = &cg->s;
  const PetscInt first    = s->it;
  const Vec      writes[] = {ksp->vec_sol, ksp->work[0], ksp->work[2], cg->p[0], cg->p[1]};
  void          *a[FUSEDCG_MAX_VECS];

  PetscFunctionBegin;
  PetscCall(FusedCGIsRecorded(ksp, cg, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  /* from here on copies elsewhere, and norms that are known, are those of old values */
  PetscCall(FusedCGGetArrays(cg, 5, 5, writes, a));
  PetscCall(FusedCGRestoreArrays(cg, 5, 5, writes, a));
  FusedCGSetLoop(ksp, cg);
  PetscCall(FusedCGPut(cg));
  PetscCall(PetscLogEventBegin(PATCHFD_Replay, ksp, 0, 0, 0));
  if (cg->recorded.record) PetscCall((*cg->kern->recordreplay)(cg->recorded.record));
  else PetscCall(FusedCGMakeRecord(ksp, cg));
  *done = (PetscBool)!cg->recorded.failed;
  if (*done) PetscCall((*cg->kern->cgget)(cg->plan, s));
  while (*done && !s->sweep.stop) {
    PetscCall((*cg->kern->recordreplay)(cg->recorded.record));
    PetscCall((*cg->kern->cgget)(cg->plan, s));
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Replay, ksp, 0, 0, 0));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  cg->turn = (s->it - first) % 2;
  for (PetscInt i = first + 1; i < s->it + (s->sweep.stop == PATCHFD_CG_BREAKDOWN); i++)
    PetscCall(KSPLogResidualHistory(ksp, s->history[i % PATCHFD_CG_HISTORY]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSolve_FusedCG(KSP ksp)
{
  KSP_FusedCG *cg   = (KSP_FusedCG *)ksp->data;
  PatchFDCG   *s    = &cg->s;
  PetscReal    aold = 1;
  PetscBool    havez, done;

  PetscFunctionBegin;
  PetscCall(FusedCGPrepare(ksp, cg));
  PetscCall(FusedCGStart(ksp, cg));
  havez = FusedCGNormNeedsZ(ksp, cg);
  for (;;) {
    double b, rz;

    PetscCall(FusedCGTest(ksp, cg));
    if (ksp->reason) break;
    PetscCall(FusedCGNext(ksp, cg, havez));
    if (ksp->reason) break;
    if (s->sweep.stop) cg->changed = PETSC_TRUE; /* a false alarm */
    s->sweep.stop = PATCHFD_CG_RUN;
    b             = s->sweep.b;
    rz            = s->rz;
    done          = PETSC_FALSE;
    if (cg->record) PetscCall(FusedCGLoop(ksp, cg, &done));
    if (!done) PetscCall(FusedCGIterate(ksp, cg, &havez));
    if (s->sweep.stop == PATCHFD_CG_BREAKDOWN) {
      PetscCall(FusedCGBreakDown(ksp, cg));
      break;
    }
    if (ksp->calc_sings) {
      const PetscReal a = rz / s->sweep.pw;

      PetscCheck(s->it <= cg->nritz, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
                 "The maximum number of iterations may not change while eigenvalues are computed");
      FusedCGAddRitz(cg, s->it - 1, a, aold, b);
      aold = a;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
