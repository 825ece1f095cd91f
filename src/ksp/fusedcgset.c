/* KSPFUSEDCG: eigenvalues, options, creation and destruction; fusedcg.c solves */
#include "fusedcg.h"
#include <petscblaslapack.h>
#include <patchfd/private/options.h>
#include <patchfd/private/sysimpl.h> /*I "petscpatchfd.h" I*/

/* ---- eigenvalues of the preconditioned matrix ---- */

/* ascending, in diag[]; that and off[] are overwritten copies */
static PetscErrorCode FusedCGRitzValues(const KSP_FusedCG *cg, PetscInt n, PetscReal diag[], PetscReal off[])
{
  PetscBLASInt bn, one = 1, info;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(diag, cg->diag, n));
  PetscCall(PetscArraycpy(off, cg->off, n - 1));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCallBLAS("LAPACKREALstev", LAPACKREALstev_("N", &bn, diag, off, NULL, &one, NULL, &info));
  PetscCall(PetscFPTrapPop());
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK's stev failed, info %d", (int)info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPComputeEigenvalues_FusedCG(KSP ksp, PetscInt nmax, PetscReal *r, PetscReal *c, PetscInt *neig)
{
  KSP_FusedCG *cg = (KSP_FusedCG *)ksp->data;

  PetscFunctionBegin;
  *neig = PetscMin(cg->s.it, cg->nritz);
  PetscCheck(nmax >= *neig, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_SIZ,
             "Room for %" PetscInt_FMT " eigenvalues, but there are %" PetscInt_FMT, nmax, *neig);
  PetscCall(PetscArrayzero(c, nmax));
  if (*neig) PetscCall(FusedCGRitzValues(cg, *neig, r, cg->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPComputeExtremeSingularValues_FusedCG(KSP ksp, PetscReal *emax, PetscReal *emin)
{
  KSP_FusedCG   *cg = (KSP_FusedCG *)ksp->data;
  const PetscInt n  = PetscMin(cg->s.it, cg->nritz);
  PetscReal     *values;

  PetscFunctionBegin;
  *emax = *emin = 1;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &values));
  PetscCall(FusedCGRitzValues(cg, n, values, cg->work));
  *emin = values[0];
  *emax = values[n - 1];
  PetscCall(PetscFree(values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options, destruction, creation ---- */

static PetscErrorCode KSPBuildResidual_FusedCG(KSP ksp, PETSC_UNUSED Vec t, Vec v, Vec *V)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(ksp->work[0], v));
  *V = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_FusedCG(KSP ksp, PatchFDOptionItems PetscOptionsObject)
{
  KSP_FusedCG *cg = (KSP_FusedCG *)ksp->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "KSP fusedcg options");
  PetscCall(
    PetscOptionsBool("-ksp_fusedcg_graph", "On GPUs record iterations and replay them", "KSPFusedCGSetGraph", cg->graph, &cg->graph, NULL));
  PetscCall(PetscOptionsBool("-ksp_fusedcg_sweep",
                             "Direction, product with the matrix and its own product in one pass, where the matrix offers it",
                             "KSPFusedCGSetSweep", cg->wanted, &cg->wanted, NULL));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_FusedCG(KSP ksp, PetscViewer viewer)
{
  const KSP_FusedCG *cg = (const KSP_FusedCG *)ksp->data;
  PetscBool          ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || !cg->kern) PetscFunctionReturn(PETSC_SUCCESS); /* nothing is known before the first solve */
  PetscCall(PetscViewerASCIIPrintf(viewer, "  preconditioner %s, product with the matrix %s\n", cg->diagonal ? "fused" : "not fused",
                                   cg->sweep ? "fused" : "not fused"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PATCHFD_SETTING(KSP, FusedCG, Graph, PetscBool, ((KSP_FusedCG *)object->data)->graph, )
PATCHFD_SETTING(KSP, FusedCG, Sweep, PetscBool, ((KSP_FusedCG *)object->data)->wanted, )
static const PatchFDMethod methods[] = {PATCHFD_METHODS(KSP, FusedCG, Graph), PATCHFD_METHODS(KSP, FusedCG, Sweep)};

/*@
  KSPFusedCGSetGraph - Sets whether a `KSPFUSEDCG` on a GPU may record its iterations as a CUDA graph and replay them

  Logically Collective

  Input Parameters:
+ ksp   - the Krylov method
- graph - `PETSC_FALSE` to start every iteration from the host (default `PETSC_TRUE`)

  Options Database Key:
. -ksp_fusedcg_graph (true|false) - record and replay

  Level: intermediate

  Notes:
  It has no effect on the host, for preconditioners other than `PCNONE` and `PCJACOBI`, on more than 16 processes, and on processes
  that do not exchange by `PATCHFD_HALO_PEER` or `PATCHFD_HALO_NCCL`.

  Iterations are recorded only if the host does not need each of them: no monitors, error histories, eigenvalue estimates and null
  spaces, and `KSPConvergedDefault()` or `KSPConvergedSkip()` as the test. This library must apply the matrix. A recording is a loop
  that stops when the test may succeed, or after some hundred iterations. It keeps residual norms for `KSPSetResidualHistory()`.

  If the matrix, the type of the preconditioner or the array of the solution changes, a new recording is made.

.seealso: `KSPFUSEDCG`, `KSPFusedCGGetGraph()`
@*/
PetscErrorCode KSPFusedCGSetGraph(KSP ksp, PetscBool graph)
{
  PATCHFD_SET(KSP, ksp, KSPFusedCGSetGraph, Bool, PetscBool, graph);
}

/*@
  KSPFusedCGGetGraph - Gets whether a `KSPFUSEDCG` on a GPU may record its iterations and replay them

  Not Collective

  Input Parameter:
. ksp - the Krylov method, of type `KSPFUSEDCG`

  Output Parameter:
. graph - `PETSC_TRUE` if it may

  Level: intermediate

.seealso: `KSPFUSEDCG`, `KSPFusedCGSetGraph()`
@*/
PetscErrorCode KSPFusedCGGetGraph(KSP ksp, PetscBool *graph)
{
  PATCHFD_GET(KSP, ksp, KSPFusedCGGetGraph, PetscBool *, graph);
}

/*@
  KSPFusedCGSetSweep - Sets whether a `KSPFUSEDCG` computes the new direction p, the product A p and the scalar product p'A p in one pass,
  if the matrix has a kernel for it

  Logically Collective

  Input Parameters:
+ ksp   - the Krylov method
- sweep - `PETSC_FALSE` for three passes (default `PETSC_TRUE`)

  Options Database Key:
. -ksp_fusedcg_sweep (true|false) - one pass

  Level: advanced

  Note:
  One pass reads and writes fewer numbers. It needs one more vector, and the preconditioner `PCNONE` or `PCJACOBI`. After a solve
  `KSPView()` prints whether it was used.

.seealso: `KSPFUSEDCG`, `KSPFusedCGGetSweep()`
@*/
PetscErrorCode KSPFusedCGSetSweep(KSP ksp, PetscBool sweep)
{
  PATCHFD_SET(KSP, ksp, KSPFusedCGSetSweep, Bool, PetscBool, sweep);
}

/*@
  KSPFusedCGGetSweep - Gets whether a `KSPFUSEDCG` uses the one-pass kernel of the matrix, if there is one

  Not Collective

  Input Parameter:
. ksp - the Krylov method, of type `KSPFUSEDCG`

  Output Parameter:
. sweep - `PETSC_TRUE` if it does

  Level: advanced

.seealso: `KSPFUSEDCG`, `KSPFusedCGSetSweep()`
@*/
PetscErrorCode KSPFusedCGGetSweep(KSP ksp, PetscBool *sweep)
{
  PATCHFD_GET(KSP, ksp, KSPFusedCGGetSweep, PetscBool *, sweep);
}

static PetscErrorCode KSPDestroy_FusedCG(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPReset_FusedCG(ksp));
  PetscCall(PatchFDComposeMethods((PetscObject)ksp, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_FALSE));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  KSPFUSEDCG - "fusedcg": conjugate gradients in two sweeps over memory

  Options Database Keys:
+ -ksp_fusedcg_graph (true|false) - on GPUs record iterations and replay them, see `KSPFusedCGSetGraph()`
- -ksp_fusedcg_sweep (true|false) - use a kernel of the matrix for the first sweep, see `KSPFusedCGSetSweep()`

  Level: intermediate

  Notes:
  Iterates, norms, convergence and divergence are those of `KSPCG`, up to rounding. Monitors, histories, convergence tests, initial
  guesses and `KSPSetComputeEigenvalues()` work as in `KSPCG`. It takes any matrix, any symmetric positive definite preconditioner,
  and any number of processes.

  With `PCNONE` or `PCJACOBI` an iteration has two sweeps. One updates the solution and the residual, applies the preconditioner and
  computes all scalar products. The other computes the new direction, the product with the matrix and the scalar product of both, in
  one pass if the matrix has a kernel for it (`KSPFusedCGSetSweep()`), otherwise in three. Other preconditioners are applied between
  the sweeps. On a GPU and one process the host gets one number per iteration, or none if iterations are recorded.

  The kernels are for the vectors of a `DMBOX`: PETSc's own in host memory, `VECCUDA`, `VECSINGLE` and `VECSINGLECUDA`. Others are
  copied to the host.

  The variants and trust regions of `KSPCG` (`KSPCGUseSingleReduction()`, `KSPCGSetRadius()`, `KSPCGSetObjectiveTarget()`) and right
  preconditioning are not supported.

.seealso: `KSPFusedCGSetGraph()`, `KSPFusedCGSetSweep()`, `KSPCG`, `PatchFDInitializePackage()`
M*/
PetscErrorCode KSPCreate_FusedCG(KSP ksp)
{
  KSP_FusedCG *cg;

  PetscFunctionBegin;
  PetscCall(PetscNew(&cg));
  cg->graph = cg->wanted = PETSC_TRUE;
  ksp->data              = cg;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NATURAL, PC_LEFT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  ksp->ops->setup                        = KSPSetUp_FusedCG;
  ksp->ops->solve                        = KSPSolve_FusedCG;
  ksp->ops->reset                        = KSPReset_FusedCG;
  ksp->ops->destroy                      = KSPDestroy_FusedCG;
  ksp->ops->view                         = KSPView_FusedCG;
  ksp->ops->setfromoptions               = KSPSetFromOptions_FusedCG;
  ksp->ops->buildsolution                = KSPBuildSolutionDefault;
  ksp->ops->buildresidual                = KSPBuildResidual_FusedCG;
  ksp->ops->computeextremesingularvalues = KSPComputeExtremeSingularValues_FusedCG;
  ksp->ops->computeeigenvalues           = KSPComputeEigenvalues_FusedCG;
  PetscCall(PatchFDComposeMethods((PetscObject)ksp, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
