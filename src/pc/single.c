/*
  PCSINGLE: a preconditioner whose inside works in single precision.

  It converts the residual to float, applies another PC (the inner one) to Vecs of type VECSINGLE, and converts the result back.
  What has to be arranged is that everything inside makes Vecs of that type, and that its numbers are in the range of float:

    native   A matrix-free operator of a DMBOX.  The inner PC gets a clone of the operator's DMBOX with that Vec type, VECSINGLECUDA if
             the DMBOX makes VECCUDA, and the operator made anew in the clone.  It has the coefficients of the Mat, on coarser levels too:
             hooks and callbacks of SNES and TS, which are for double Vecs and for the Mats outside, are not used.
    floats   Assembled matrices, in floats: singlefloat.c, which also says what stays double.
    others   The operators of MatCreateBakeoff() apply themselves to Vecs of any type.  All other Mats are used as they are, on the Vecs'
             shadows; while the inner PC is at work they make Vecs of type VECSINGLE.  Coarser levels stay double.  The clone of the DM, if
             there is one, passes on the coarsening hooks of the DM that it stands for: through them SNES and TS take the state, on which
             the operator depends, to coarser levels.
    range    An operator far from one is multiplied by a power of two, inside and on all levels, and the result by the same number.

  The routines follow in the order in which a solver calls them, those of the DM in singledm.c, of the range in singlescale.c.
*/
#include "single.h" /*I "petscpatchfd.h" I*/
#include <petsc/private/matimpl.h>
#include <patchfd/private/bakeoffimpl.h>
#include <patchfd/private/heatimpl.h>
#include <patchfd/private/options.h>

/* ---- the Vecs that Mats make ---- */

static void MatVecMakerExchange(Mat A, MatVecMaker *m)
{
  const MatVecMaker a = {A->defaultvectype, A->ops->getvecs};

  A->defaultvectype = m->type;
  A->ops->getvecs   = m->getvecs;
  *m                = a;
}

/* called in pairs around every use of the inner PC, also where that fails */
static void PCSingleExchangeVecTypes(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;

  if (s->lent[0]) MatVecMakerExchange(s->pc->mat, &s->maker[0]);
  if (s->lent[1]) MatVecMakerExchange(s->pc->pmat, &s->maker[1]);
}

/* Null spaces of vectors, which are double, are not there while the inner PC is at work on floats. Called in pairs, first with NULL:
   null[] gets those of Amat and Pmat and of their transposes, and gives them back */
static void PCSingleExchangeNullSpaces(PC pc, MatNullSpace null[2][2])
{
  const PC_Single *s    = (const PC_Single *)pc->data;
  const Mat        A[2] = {s->pc->mat, s->pc->pmat};

  for (int i = 0; i < 2; i++) {
    const MatNullSpace now[2] = {A[i]->nullsp, A[i]->transnullsp};

    if (!s->lent[i] || (now[0] && !now[0]->n) || (now[1] && !now[1]->n)) continue;
    A[i]->nullsp      = null[i][0];
    A[i]->transnullsp = null[i][1];
    null[i][0]        = now[0];
    null[i][1]        = now[1];
  }
}

/* ---- set-up ---- */

static PetscErrorCode PCSingleCreatePC(PC pc)
{
  PC_Single  *s = (PC_Single *)pc->data;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &s->pc));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)s->pc, (PetscObject)pc, 1));
  PetscCall(PCSetKSPNestLevel(s->pc, pc->kspnestlevel));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PCSetOptionsPrefix(s->pc, prefix));
  PetscCall(PCAppendOptionsPrefix(s->pc, "single_"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_Single(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (s->pc) PetscCall(PCReset(s->pc));
  PetscCall(PCSingleFloatsReset(pc));
  PetscCall(VecDestroy(&s->x));
  PetscCall(VecDestroy(&s->y));
  PetscCall(MatDestroy(&s->box));
  PetscCall(DMDestroy(&s->dm));
  PetscCall(DMDestroy(&s->outerdm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the clone takes over what the operator outside is, which need not be what its DM says by now */
static PetscErrorCode PCSingleSetOperatorsNative(PC pc)
{
  PC_Single   *s = (PC_Single *)pc->data;
  Mat_Box     *A, *P;
  Mat_Lattice *l;

  PetscFunctionBegin;
  PetscCall(MatLatticeFind(pc->pmat, &l));
  s->identity = 0;
  if (l) {
    if (!s->box) PetscCall(DMCreateMatrix(s->dm, &s->box));
    PetscCall(MatLatticeFollow(s->box, s->dm, l));
    PetscCall(PCSetOperators(s->pc, s->box, s->box));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBoxFind(pc->mat, &A));
  PetscCall(MatBoxFind(pc->pmat, &P));
  PetscCall(DMBoxCopyOperatorData((P ? P : A)->dm, s->dm));
  PetscCall(DMBoxScaleOperator(s->dm, (P ? P : A)->c.operator, & s->exponent));
  s->identity = (P ? P : A)->c.identity;
  if (s->box) PetscCall(MatBoxUpdate(s->box));
  else PetscCall(DMCreateMatrix(s->dm, &s->box));
  PetscCall(PCSetOperators(s->pc, A ? s->box : pc->mat, P ? s->box : pc->pmat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* operators with kernels of their own and assembled matrices are on the GPU: other Mats work through the shadows, which are on the host */
static PetscErrorCode PCSingleChooseVecType(PC pc, DM dm)
{
  PC_Single   *s    = (PC_Single *)pc->data;
  PetscBool    cuda = PETSC_FALSE, cusparse;
  Mat_Bakeoff *bakeoff;

  PetscFunctionBegin;
  PetscCall(MatBakeoffFind(pc->pmat, &bakeoff));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &cusparse, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  if (s->native || bakeoff || cusparse)
    PetscCall(
      PetscStrcmpAny(s->native ? dm->vectype : pc->pmat->defaultvectype, &cuda, VECCUDA, VECSEQCUDA, VECMPICUDA, VECSINGLECUDA, ""));
  s->vectype = cuda ? VECSINGLECUDA : VECSINGLE;
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscFree(s->maker[i].type));
    PetscCall(PetscStrallocpy(s->vectype, &s->maker[i].type));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleCreateVecs(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;
  PetscInt   n;

  PetscFunctionBegin;
  if (s->dm && s->floats == PCSINGLE_FLOATS_NONE) PetscCall(DMCreateGlobalVector(s->dm, &s->x));
  else {
    PetscCall(VecCreate(PetscObjectComm((PetscObject)pc), &s->x));
    PetscCall(VecSetLayout(s->x, pc->pmat->rmap));
    PetscCall(VecSetType(s->x, s->vectype));
  }
  PetscCall(VecGetLocalSize(s->x, &n));
  PetscCheck(n == pc->pmat->rmap->n && n == pc->pmat->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "PCSINGLE needs a square matrix that fits its DM, if it has one: the matrix has %" PetscInt_FMT " x %" PetscInt_FMT
             " local rows and columns, the Vecs have %" PetscInt_FMT,
             pc->pmat->rmap->n, pc->pmat->cmap->n, n);
  PetscCall(VecDuplicate(s->x, &s->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the type and the options of the inner PC, which has operators, and what follows of them */
static PetscErrorCode PCSingleSetOptions(PC pc)
{
  PC_Single   *s = (PC_Single *)pc->data;
  Mat_Bakeoff *bakeoff;
  Mat_Box     *m;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(pc->pmat, &m));
  PetscCall(MatBakeoffFind(pc->pmat, &bakeoff));
  if ((m || bakeoff) && !((PetscObject)s->pc)->type_name) PetscCall(PCSetType(s->pc, PCPATCHMG));
  if (s->native && !m && !((PetscObject)s->pc)->type_name) PetscCall(DMBoxHeatSetMG(s->dm, s->pc));
  PetscCall(PCSetFromOptions(s->pc));
  if (s->dim) PetscCall(PCSetCoordinates(s->pc, s->dim, s->ncoordinates, s->coordinates));
  PetscCall(PCSingleChooseFloats(pc));
  if (s->dm && s->floats != PCSINGLE_FLOATS_NONE) PetscCall(DMSetVecType(s->dm, s->outerdm->vectype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_Single(PC pc)
{
  PC_Single     *s = (PC_Single *)pc->data;
  PetscErrorCode ierr;
  PCFailedReason reason;
  PetscBool      native = PETSC_FALSE, first, again;
  DM             dm     = NULL;

  PetscFunctionBegin;
  if (!s->pc) PetscCall(PCSingleCreatePC(pc));
  PetscCall(PCSingleFindDM(pc, &dm, &native));
  if (s->x && (dm != s->outerdm || native != s->native)) PetscCall(PCReset_Single(pc)); /* start again */
  first = (PetscBool)!s->x;
  if (first) {
    s->native = native;
    PetscCall(PCSingleChooseVecType(pc, dm));
    if (dm) PetscCall(PCSingleCloneDM(pc, dm));
    PetscCall(PCSetDM(s->pc, s->dm));
  }
  PetscCall(PCSetUseAmat(s->pc, pc->useAmat));
  PetscCall(PCSetErrorIfFailure(s->pc, pc->erroriffailure));
  if (native) PetscCall(PCSingleSetOperatorsNative(pc));
  else if (first) PetscCall(PCSetOperators(s->pc, pc->mat, pc->pmat)); /* for the choice of a type */
  if (first) PetscCall(PCSingleSetOptions(pc));
  if (!native) PetscCall(PCSingleSetOperators(pc));
  if (first) PetscCall(PCSingleCreateVecs(pc));
  s->lent[0]                 = (PetscBool)(s->floats == PCSINGLE_FLOATS_NONE && s->pc->mat == pc->mat && pc->mat != pc->pmat);
  s->lent[1]                 = (PetscBool)(s->floats == PCSINGLE_FLOATS_NONE && s->pc->pmat == pc->pmat);
  s->pc->reusepreconditioner = PETSC_FALSE;
  PCSingleExchangeVecTypes(pc);
  ierr = PCSetUp(s->pc);
  PCSingleExchangeVecTypes(pc);
  PetscCall(ierr);
  PetscCall(PCSingleFloatsEndSetUp(pc, &again));
  if (again) {
    PetscCall(PCReset_Single(pc));
    PetscCall(PCSetUp_Single(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSetReusePreconditioner(s->pc, pc->reusepreconditioner));
  PetscCall(PCGetFailedReason(s->pc, &reason));
  PetscCall(PCSetFailedReason(pc, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUpOnBlocks_Single(PC pc)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PCSingleExchangeVecTypes(pc);
  ierr = PCSetUpOnBlocks(((PC_Single *)pc->data)->pc);
  PCSingleExchangeVecTypes(pc);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solve ---- */

static PetscErrorCode PCPreSolve_Single(PC pc, KSP ksp, Vec b, Vec x)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCPreSolve_CheckKrylov(pc, ksp, b, x));
  if (s->warn && !s->warned && s->floats != PCSINGLE_FLOATS_DOUBLE) PetscCall(PCSingleWarnOfMethod(pc, ksp, &s->warned));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x is multiplied by two to this power, so that scaling rounds nothing, and its norm gets near one: residuals get as small as 1e-30 where
   the
   right-hand side is small, and floats end at 1e-38 */
static PetscErrorCode PCSingleGetInputExponent(PC pc, Vec x, int *exponent)
{
  PetscReal norm;

  PetscFunctionBegin;
  *exponent = 0;
  if (!((PC_Single *)pc->data)->scale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(x, NORM_2, &norm)); /* Krylov methods have just computed it, and then it is not computed again */
  /* squares of entries beyond 1e-154 or 1e+154 leave the range of double */
  if (norm == 0.0 || PetscIsInfReal(norm)) PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  if (norm == 0.0 || PetscIsInfOrNanReal(norm)) PetscFunctionReturn(PETSC_SUCCESS);
  *exponent = -PetscMax(-1000, PetscMin(1000, ilogb(norm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A result that is zero, for an input that is not, ends Krylov methods in a breakdown that they report as convergence: it means that floats
  could not hold it.  Like a result that is not finite it is a failure, which PETSc passes on as infinity.
*/
static PetscErrorCode PCSingleCheckResult(PC pc, Vec x, Vec y)
{
  PC_Single     *s = (PC_Single *)pc->data;
  PetscReal      norm, input;
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(PCGetFailedReason(s->pc, &reason));
  PetscCall(VecNorm(s->y, NORM_2, &norm));
  norm *= s->factor;
  if (norm == 0.0 || PetscIsInfOrNanReal(norm)) { /* the same on all ranks, which the reason need not be */
    PetscCall(VecNorm(x, NORM_INFINITY, &input));
    if (input != 0.0 && !PetscIsInfOrNanReal(input)) {
      PetscCheck(reason || !pc->erroriffailure, PetscObjectComm((PetscObject)pc), PETSC_ERR_NOT_CONVERGED,
                 "PCSINGLE: the result of the preconditioner inside, of type %s, has norm %g for a residual of maximum norm %g: "
                 "the matrix, its inverse or, with -pc_single_scale 0, the residual is out of the range of float",
                 ((PetscObject)s->pc)->type_name, (double)norm, (double)input);
      PetscCall(PetscInfo(pc, "the result of the preconditioner inside has norm %g for a residual of maximum norm %g\n", (double)norm,
                          (double)input));
      if (!reason) reason = PC_SUBPC_ERROR;
      PetscCall(VecFlag(y, PETSC_TRUE));
    }
  }
  PetscCall(PCSetFailedReason(pc, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What floats leave of the null space would add up over the iterations of a method that does not remove it from what its preconditioner
  returns (those on the right side, such as FGMRES), and over solves that begin where the last one ended
*/
static PetscErrorCode PCSingleRemoveNullSpace(PC pc, PetscBool transpose, Vec y)
{
  MatNullSpace null;

  PetscFunctionBegin;
  if (transpose) PetscCall(MatGetTransposeNullSpace(pc->mat, &null));
  else PetscCall(MatGetNullSpace(pc->mat, &null));
  if (null) PetscCall(MatNullSpaceRemove(null, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* s->factor and s->y, of which the result is made */
static PetscErrorCode PCSingleApplyInner(PC pc, PetscBool transpose, Vec x)
{
  PC_Single     *s          = (PC_Single *)pc->data;
  MatNullSpace   null[2][2] = {{NULL}};
  PetscErrorCode ierr;
  int            exponent;
  unsigned       mode;

  PetscFunctionBegin;
  PetscCall(PCSingleGetInputExponent(pc, x, &exponent));
  PetscCall(VecSingleConvert(x, ldexp(1.0, exponent), s->x));
  PetscCall(PATCHFD_REUSE_INNER(pc, s->pc));
  PCSingleExchangeVecTypes(pc);
  PCSingleExchangeNullSpaces(pc, null);
  PCSingleDepth++;
  mode = PatchFDSubnormalsOff(s->scale); /* else the input may be as small */
  ierr = transpose ? PCApplyTranspose(s->pc, s->x, s->y) : PCApply(s->pc, s->x, s->y);
  PatchFDSubnormalsRestore(mode);
  PCSingleDepth--;
  PCSingleExchangeNullSpaces(pc, null);
  PCSingleExchangeVecTypes(pc);
  PetscCall(ierr);
  s->factor = ldexp(1.0, s->exponent - exponent);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the rows of the identity at Dirichlet nodes are not scaled with the others; they, too, remain what they were in the last set-up */
static PetscBool PCSingleHasOwnIdentity(const PC_Single *s)
{
  return (PetscBool)(s->identity != 0 && (s->exponent || s->identity != 1));
}

static PetscErrorCode PCSingleApplyDouble(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PC_Single     *s = (PC_Single *)pc->data;
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(PATCHFD_REUSE_INNER(pc, s->pc));
  PetscCall(transpose ? PCApplyTranspose(s->pc, x, y) : PCApply(s->pc, x, y));
  PetscCall(PCGetFailedReason(s->pc, &reason));
  PetscCall(PCSetFailedReason(pc, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleApply(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (s->floats == PCSINGLE_FLOATS_DOUBLE) {
    PetscCall(PCSingleApplyDouble(pc, transpose, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSingleApplyInner(pc, transpose, x));
  PetscCall(VecSingleConvert(s->y, s->factor, y));
  if (PCSingleHasOwnIdentity(s)) PetscCall(DMBoxSetFixedVec(s->outerdm, y, 1 / s->identity, x));
  PetscCall(PCSingleRemoveNullSpace(pc, transpose, y));
  PetscCall(PCSingleCheckResult(pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCAddTo_Single(PC pc, PetscReal a, Vec r, Vec x, PetscBool *can)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (can) {
    MatNullSpace   null;
    PatchFDKernels kern;

    PetscCall(MatGetNullSpace(pc->mat, &null));
    PetscCall(PatchFDVecGetKernels(x, &kern));
    *can = (PetscBool)(!null && s->floats != PCSINGLE_FLOATS_DOUBLE && !PCSingleHasOwnIdentity(s) && kern->size == sizeof(double) &&
                       kern->memtype == VecSingleMemType_Private(s->y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r) PetscCall(PCSingleApplyInner(pc, PETSC_FALSE, r));
  PetscCall(VecSingleAdd_Private(s->y, a * s->factor, x));
  if (r) PetscCall(PCSingleCheckResult(pc, r, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_Single(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCSingleApply(pc, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_Single(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCSingleApply(pc, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options, view ---- */

static PetscErrorCode PCSetFromOptions_Single(PC pc, PatchFDOptionItems PetscOptionsObject)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "SINGLE options");
  PetscCall(PetscOptionsBool("-pc_single_scale", "Scale by the norm of the input, so that float can hold it", "PCSingleSetScale", s->scale,
                             &s->scale, NULL));
  PetscCall(PetscOptionsBool("-pc_single_warn", "Warn about outer methods that do not see single precision", "PCSingleSetWarn", s->warn,
                             &s->warn, NULL));
  PetscCall(PetscOptionsBool("-pc_single_coarse", "The coarsest level of multigrid works in floats, too", "PCSingleSetCoarse", s->coarse,
                             &s->coarse, NULL));
  PetscOptionsHeadEnd();
  if (s->pc && pc->setupcalled) PetscCall(PCSetFromOptions(s->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_Single(PC pc, PetscViewer viewer)
{
  PC_Single *s = (PC_Single *)pc->data;
  PetscBool  isascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (isascii && s->floats == PCSINGLE_FLOATS_DOUBLE)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the preconditioner below works in double precision: conversions would take longer\n"));
  else if (isascii) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the preconditioner below works on Vecs of type %s, %s\n", s->vectype,
                                     s->scale ? "on input scaled by its norm" : "on input as it is"));
    if (s->x) {
      PetscLogDouble floats[2], shadows[2], bytes[2];

      PetscCall(VecSingleGetMemory(s->x, &floats[0], &shadows[0]));
      PetscCall(VecSingleGetMemory(s->y, &floats[1], &shadows[1]));
      bytes[0] = floats[0] + floats[1];
      bytes[1] = shadows[0] + shadows[1];
      PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, bytes, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)pc)));
      PetscCall(PetscViewerASCIIPrintf(viewer, "  work vectors: %g bytes of float, %g bytes of double shadow\n", bytes[0], bytes[1]));
      PetscCall(PCSingleFloatsView(pc, viewer));
    }
  }
  if (s->pc) {
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(PCView(s->pc, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- setters and getters ---- */

static PetscErrorCode PCSingleGetPC_Single(PC pc, PC *inner)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (!s->pc) PetscCall(PCSingleCreatePC(pc));
  *inner = s->pc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PATCHFD_SETTING(PC, Single, Scale, PetscBool, ((PC_Single *)object->data)->scale, )
PATCHFD_SETTING(PC, Single, Warn, PetscBool, ((PC_Single *)object->data)->warn, )
PATCHFD_SETTING(PC, Single, Coarse, PetscBool, ((PC_Single *)object->data)->coarse, )

/* the inner PC looks at its matrix in every application, and others than those of a DMBOX are the matrix outside */
static PetscErrorCode PCSetReusePreconditioner_Single(PC pc, PetscBool flag)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (s->pc && pc->setupcalled) PetscCall(PCSetReusePreconditioner(s->pc, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetCoordinates_Single(PC pc, PetscInt dim, PetscInt n, PetscReal coordinates[])
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  if (pc->setupcalled) PetscCall(PCSetCoordinates(s->pc, dim, n, coordinates));
  PetscCall(PetscFree(s->coordinates));
  PetscCall(PetscMalloc1(dim * n + 1, &s->coordinates)); /* not NULL, which means something else */
  PetscCall(PetscArraycpy(s->coordinates, coordinates, dim * n));
  s->dim          = dim;
  s->ncoordinates = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const PatchFDMethod methods[] = {PATCHFD_METHOD(PCSetCoordinates, Single), PATCHFD_METHOD(PCSingleGetPC, Single),
                                        PATCHFD_METHODS(PC, Single, Scale),       PATCHFD_METHODS(PC, Single, Warn),
                                        PATCHFD_METHODS(PC, Single, Coarse),      PATCHFD_METHOD(PCSetReusePreconditioner, Single),
                                        PATCHFD_METHOD(PCAddTo, Single)};

/* ---- destroy, create ---- */

static PetscErrorCode PCDestroy_Single(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCReset_Single(pc));
  PetscCall(PCDestroy(&s->pc));
  PetscCall(PetscFree(s->coordinates));
  for (int i = 0; i < 2; i++) PetscCall(PetscFree(s->maker[i].type));
  PetscCall(PetscFree(pc->data));
  PetscCall(PatchFDComposeMethods((PetscObject)pc, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCSINGLE - "single" - Applies another preconditioner in single precision, on vectors of type `VECSINGLE` or `VECSINGLECUDA`

  Options Database Keys:
+ -single_pc_type type             - the preconditioner inside, and with the prefix `single_` all of its options
. -pc_single_scale (true|false)    - scale by the norm of the input, so that float can hold it (default true)
. -pc_single_coarse (true|false)   - the coarsest level of a `PCMG` or `PCGAMG` works in floats, too (default false)
- -pc_single_warn (true|false)     - warn about outer methods that do not detect errors of single precision (default true)

  Level: intermediate

  Notes:
  Use `KSPREFINE`, for which the result is added to the solution without a vector of its own, `KSPFGMRES`, `KSPFCG`, `KSPCG` or
  another outer method that computes its residuals from the vectors that the preconditioner returns. `KSPGMRES`, `KSPBCGS` and
  related methods may report convergence while the true residual is as large as 1e-3; a warning says so.

  For a matrix of a `DMBOX`, the operators inside are in single precision. `PCPATCHMG` is then the default inside, and the whole
  V-cycle moves half the bytes. If the vectors of the `DMBOX` are of type `VECCUDA`, those inside are of type `VECSINGLECUDA`, and
  all work is done on the GPU.

  For a matrix of type `MATAIJ`, `MATBAIJ` or `MATSBAIJ`, the following work with matrices of type `MATAIJSINGLE`, of half the bytes.
  `PCMG` and `PCGAMG` are set up in double precision; then the operators, interpolations and restrictions of their levels, the finest
  ones first, are exchanged for copies in floats, and the smoothers work on these, if they are `PCJACOBI`, `PCPBJACOBI`, `PCSOR`,
  `PCBJACOBI`, `PCASM`, `PCILU`, `PCICC`, `PCLU`, `PCCHOLESKY` or `PCNONE`. The coarsest level stays double, unless
  `-pc_single_coarse` is given, and so do all below a smoother of another type. The matrices in double precision are kept for the
  next set-up. The same preconditioners work in floats also as the inner one, factorizations only on one rank;
  but `PCJACOBI` and `PCNONE` by themselves stay double and convert nothing, which would take longer than they do.

  Other matrices and other preconditioners stay in double precision: their products convert the vectors. The results are right, but
  nothing is gained; `-info` says so.

  The operator of a `DMBOX` inside has the coefficients of the matrix outside, on all levels. The `DMBOX` is found through the
  matrix. Functions of the user, of `SNES` or of `TS` that compute operators are called only for other matrices.

  Matrix and residual may have any size: a matrix with entries far from one is multiplied by a power of two inside, and so is the
  result. A `MATSHELL` and other matrices without entries to scale must be between 1e-30 and 1e30; otherwise there is an error.

  If the result is zero for a residual that is not, or is not finite, the solve fails with the reason `KSP_DIVERGED_PC_FAILED`.

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `MATAIJSINGLE`, `PCSingleGetPC()`, `PCSingleSetScale()`, `PCSingleSetWarn()`,
`PCSingleSetCoarse()`, `PCPATCHMG`, `DMBOX`, `KSPREFINE`,
`KSPFGMRES`, `KSPFCG`, `PCType`
M*/
PetscErrorCode PCCreate_Single(PC pc)
{
  PC_Single *s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  s->scale   = PETSC_TRUE;
  s->warn    = PETSC_TRUE;
  s->vectype = VECSINGLE;
  pc->data   = s;

  pc->ops->setup          = PCSetUp_Single;
  pc->ops->setuponblocks  = PCSetUpOnBlocks_Single;
  pc->ops->presolve       = PCPreSolve_Single;
  pc->ops->apply          = PCApply_Single;
  pc->ops->applytranspose = PCApplyTranspose_Single;
  pc->ops->setfromoptions = PCSetFromOptions_Single;
  pc->ops->view           = PCView_Single;
  pc->ops->reset          = PCReset_Single;
  pc->ops->destroy        = PCDestroy_Single;
  PetscCall(PatchFDComposeMethods((PetscObject)pc, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
