/*
  Krylov methods that do not fit: warnings about those that do not see what single precision does, and would report convergence, and an
  error for those that need a definite matrix or preconditioner where there is none.  A PC learns what KSP it belongs to when a solve
  begins, and only then.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petsc/private/pcimpl.h>
#include <petsc/private/kspimpl.h>

int PCSingleDepth = 0;

/*
  Methods of conjugate gradients do not converge, or break down, on saddle points.  MINRES and SYMMLQ take an indefinite matrix, but
  measure in the norm of the preconditioner, which must be definite: one that is nearly the inverse of a saddle point is not.
*/
static PetscErrorCode CheckDefinite(PC pc, KSP ksp)
{
  Mat_Box  *m;
  PetscBool definite, definitepc;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(pc->pmat, &m));
  if (!m || pc->pmat->spd != PETSC_BOOL3_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &definite, KSPCG, KSPFCG, KSPPIPEFCG, KSPPIPECG, KSPPIPECG2, KSPPIPECGRR,
                                      KSPPIPELCG, KSPPIPEPRCG, KSPGROPPCG, KSPCGNE, KSPNASH, KSPSTCG, KSPGLTR, KSPQCG, KSPCR, KSPPIPECR,
                                      KSPFUSEDCG, ""));
  PetscCheck(!definite, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "-ksp_type %s needs a positive definite matrix; that of -dm_box_operator %s is indefinite: use fgmres (or gmres, gcr, bcgs)",
             ((PetscObject)ksp)->type_name, MatBoxName(m));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &definitepc, KSPMINRES, KSPSYMMLQ, ""));
  PetscCheck(!definitepc, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "-ksp_type %s needs a positive definite preconditioner; -pc_type %s for -dm_box_operator %s is nearly the inverse of an "
             "indefinite matrix, and so indefinite: use fgmres (or gmres, gcr, bcgs)",
             ((PetscObject)ksp)->type_name, ((PetscObject)pc)->type_name, MatBoxName(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  On Vecs that are float themselves, methods follow their residuals by recursions down to any tolerance, while the true residual stays near
  float's rounding errors.  A Vec does not know what solver uses it; our PCs do, when a solve begins.
*/
PetscErrorCode PCPreSolve_CheckKrylov(PC pc, KSP ksp, PETSC_UNUSED Vec b, Vec x)
{
  static PetscInt warned = -1; /* the number of a KSP's note that it has been warned */
  PetscInt        once   = 1;
  PetscBool       done;
  const char     *prefix;

  PetscFunctionBegin;
  PetscCall(CheckDefinite(pc, ksp));
  if (PCSingleDepth || !VecIsSingle_Private(x) || ksp->rtol >= 1e-6) PetscFunctionReturn(PETSC_SUCCESS);
  /* a fixed number of iterations, or an estimate of eigenvalues with a borrowed PC: nobody relies on convergence */
  if (ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE || ksp->skippcsetfromoptions) PetscFunctionReturn(PETSC_SUCCESS);
  if (warned < 0) PetscCall(PetscObjectComposedDataRegister(&warned));
  PetscCall(PetscObjectComposedDataGetInt((PetscObject)ksp, warned, once, done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectComposedDataSetInt((PetscObject)ksp, warned, once));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscFPrintf(
    PetscObjectComm((PetscObject)pc), PETSC_STDERR,
    "Warning: KSP type %s with relative tolerance %g on Vecs of type %s, whose rounding errors are 6e-8: it may report convergence\n"
    "         that the true residual does not show. Cure: double Vecs and -%spc_type single, or -%sksp_rtol 1e-6 or more.\n",
    ((PetscObject)ksp)->type_name, (double)ksp->rtol, ((PetscObject)x)->type_name, prefix ? prefix : "", prefix ? prefix : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The warning about methods that measure the preconditioned residual by a recursion, or apply the preconditioner once more to form
  the solution, or let recursions stand for products: none of them sees what single precision has done to the preconditioner.
  Measured, doc/single.md.
*/
PetscErrorCode PCSingleWarnOfMethod(PC pc, KSP ksp, PetscBool *warned)
{
  PetscBool   unsafe;
  const char *prefix;

  PetscFunctionBegin;
  /* a fixed number of iterations, or an estimate of eigenvalues with a borrowed PC: nobody relies on convergence */
  if (ksp->converged == KSPConvergedSkip || ksp->skippcsetfromoptions) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &unsafe, KSPGMRES, KSPLGMRES, KSPDGMRES, KSPPGMRES, KSPBCGS, KSPIBCGS, KSPBCGSL,
                                      KSPPIPEBCGS, KSPTFQMR, KSPTCQMR, KSPCGS, KSPIDR, KSPCR, KSPPIPECR, KSPLCD, KSPSYMMLQ, KSPGROPPCG,
                                      KSPPIPECG, KSPPIPECG2, KSPPIPECGRR, KSPPIPELCG, KSPPIPEPRCG, ""));
  if (!unsafe) PetscFunctionReturn(PETSC_SUCCESS);
  *warned = PETSC_TRUE;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscFPrintf(PetscObjectComm((PetscObject)pc), PETSC_STDERR,
                         "Warning: PCSINGLE under KSP type %s, which does not see the rounding errors of its preconditioner: it may report "
                         "convergence\n"
                         "         while the true residual is as large as 1e-3, or stall. Cure: -%sksp_type fgmres, fcg or cg. "
                         "(-%spc_single_warn 0 silences this.)\n",
                         ((PetscObject)ksp)->type_name, prefix ? prefix : "", ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}
