/*
  PCSINGLE for assembled matrices: what of the inner PC works on matrices of floats (MATAIJSINGLE).

    matrix   PCs that need nothing but their matrix get one of floats.
    double   PCJACOBI and PCNONE take less time than the conversion of two vectors: they stay double, and nothing is converted.
    levels   PCMG and PCGAMG are set up in double precision; then the matrices of their levels are exchanged for copies in floats, and the
             PCs of the smoothers are set up anew with them, until the next set-up, which needs the double ones, exchanges them again.
    others   see single.c

  A copy passes for its original: it has the same identity and state.  So what has been computed of the original and depends on it alone,
  such as the eigenvalues of KSPCHEBYSHEV, is not computed again.
*/
#include "single.h"
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcmgimpl.h>
#include <patchfd/private/aijsingle.h>

struct _n_PCSingleCopy {
  Mat          A, single;
  PetscBool    used; /* in this set-up */
  PCSingleCopy next;
};

/* ---- copies ---- */

static PetscErrorCode CopyDestroy(PCSingleCopy *copy)
{
  PCSingleCopy c = *copy;

  PetscFunctionBegin;
  *copy = c->next;
  PetscCall(MatDestroy(&c->A));
  PetscCall(MatDestroy(&c->single));
  PetscCall(PetscFree(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* null spaces of constants serve all types of Vecs */
static PetscErrorCode CopyNullSpaces(Mat A, Mat B)
{
  MatNullSpace null;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(A, &null));
  PetscCall(MatSetNullSpace(B, null && !null->n ? null : NULL));
  PetscCall(MatGetTransposeNullSpace(A, &null));
  PetscCall(MatSetTransposeNullSpace(B, null && !null->n ? null : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is computed only in set-up takes the original */
static PetscErrorCode CopySetSource(Mat A, Mat B)
{
  PetscBool aij;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(MatAIJSingleSetSource(B, aij ? A : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a copy in floats, which is not referenced; it is made once and follows its original */
static PetscErrorCode PCSingleGetCopy(PC pc, Mat A, Mat *single)
{
  PC_Single   *s = (PC_Single *)pc->data;
  PCSingleCopy c = s->copies;

  PetscFunctionBegin;
  while (c && c->A != A) c = c->next;
  if (!c) {
    PetscCall(PetscNew(&c));
    PetscCall(PetscObjectReference((PetscObject)A));
    c->A      = A;
    c->next   = s->copies;
    s->copies = c;
  }
  if (c->single && c->single->nonzerostate != A->nonzerostate) PetscCall(MatDestroy(&c->single));
  if (!c->single || ((PetscObject)c->single)->state != ((PetscObject)A)->state)
    PetscCall(MatConvert(A, MATAIJSINGLE, c->single ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &c->single));
  PetscCall(MatSetVecType(c->single, s->vectype));
  PetscCall(CopyNullSpaces(A, c->single));
  PetscCall(CopySetSource(A, c->single));
  ((PetscObject)c->single)->id = ((PetscObject)A)->id;
  c->single->nonzerostate      = A->nonzerostate;
  PetscCall(PetscObjectStateSet((PetscObject)c->single, ((PetscObject)A)->state));
  c->used = PETSC_TRUE;
  *single = c->single;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the double matrix, or, if `tofloat`, its copy */
static PetscErrorCode Exchange(PC pc, PetscBool tofloat, Mat *A)
{
  Mat       B = NULL;
  PetscBool can;

  PetscFunctionBegin;
  if (!*A) PetscFunctionReturn(PETSC_SUCCESS);
  if (tofloat) {
    PetscCall(MatAIJSingleCanConvert(*A, &can));
    if (can) PetscCall(PCSingleGetCopy(pc, *A, &B));
  } else {
    for (PCSingleCopy c = ((PC_Single *)pc->data)->copies; c; c = c->next)
      if (c->single == *A) B = c->A;
  }
  if (!B) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectReference((PetscObject)B));
  PetscCall(MatDestroy(A));
  *A = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- levels ---- */

/* Krylov methods all of whose Vecs KSPSetWorkVecs() makes; others are reset */
static PetscErrorCode IsPlain(KSP ksp, PetscBool *plain)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, plain, KSPCHEBYSHEV, KSPRICHARDSON, KSPPREONLY, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExchangeKSP(PC pc, PetscBool tofloat, KSP ksp)
{
  PC        sub = ksp->pc;
  Mat       A = sub->mat, P = sub->pmat;
  PetscBool plain, asm_, stateless;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(PetscObjectReference((PetscObject)P));
  PetscCall(PetscObjectTypeCompare((PetscObject)sub, PCASM, &asm_));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)sub, &stateless, PCSOR, PCNONE, ""));
  PetscCall(IsPlain(ksp, &plain));
  if (asm_) { /* a reset would forget its subdomains */
    PetscInt n;
    KSP     *subksp;

    PetscCall(PCASMGetSubKSP(sub, &n, NULL, &subksp));
    for (PetscInt i = 0; i < n; i++) PetscCall(ExchangeKSP(pc, tofloat, subksp[i]));
  } else if (!plain) PetscCall(KSPReset(ksp));
  else if (!stateless) PetscCall(PCReset(sub));
  PetscCall(MatDestroy(&sub->mat));
  PetscCall(MatDestroy(&sub->pmat));
  PetscCall(Exchange(pc, tofloat, &A));
  PetscCall(Exchange(pc, tofloat, &P));
  sub->mat  = A;
  sub->pmat = P;
  PetscCall(VecDestroy(&ksp->vec_sol));
  PetscCall(VecDestroy(&ksp->vec_rhs));
  if (!tofloat) PetscFunctionReturn(PETSC_SUCCESS); /* set-up makes those that it needs */
  PetscCall(MatCreateVecs(A, &ksp->vec_sol, NULL)); /* the type of the others */
  if (plain && ksp->nwork) PetscCall(KSPSetWorkVecs(ksp, ksp->nwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of the type that a matrix makes */
static PetscErrorCode RenewVec(Mat A, Vec *v)
{
  PetscBool single;

  PetscFunctionBegin;
  if (!*v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmpAny(A->defaultvectype, &single, VECSINGLE, VECSINGLECUDA, ""));
  if (VecIsSingle_Private(*v) == single) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDestroy(v));
  PetscCall(MatCreateVecs(A, v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExchangeLevels(PC pc, PetscBool tofloat)
{
  PC_Single *s  = (PC_Single *)pc->data;
  PC_MG     *mg = (PC_MG *)s->pc->data;

  PetscFunctionBegin;
  for (PetscInt l = s->first; l < mg->nlevels; l++) {
    PC_MG_Levels *level = mg->levels[l];

    PetscCall(ExchangeKSP(pc, tofloat, level->smoothd));
    if (level->smoothu != level->smoothd) PetscCall(ExchangeKSP(pc, tofloat, level->smoothu));
    PetscCall(Exchange(pc, tofloat, &level->A));
    PetscCall(Exchange(pc, tofloat, &level->interpolate));
    PetscCall(Exchange(pc, tofloat, &level->restrct));
  }
  for (PetscInt l = 0; tofloat && l < mg->nlevels; l++) { /* set-up uses none of these */
    PC_MG_Levels *level = mg->levels[l];

    PetscCall(RenewVec(level->smoothd->pc->mat, &level->r));
    if (l == mg->nlevels - 1) continue; /* those of the finest level are passed to the PC */
    PetscCall(RenewVec(level->smoothd->pc->mat, &level->b));
    PetscCall(RenewVec(level->smoothd->pc->mat, &level->x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A factor of a singular matrix: a pivot of rounding errors would make the result as much larger than the rest as the right-hand side, in
  floats, is out of the matrix's range, and on finer levels floats would lose the rest.  Any other number there is as good, where it is in
  the range.
*/
static PetscErrorCode FixPivots(KSP ksp)
{
  PC        sub = ksp->pc;
  Mat       A = sub->mat, P = sub->pmat;
  PetscBool bjacobi, factor;
  PetscReal size;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)sub, PCBJACOBI, &bjacobi));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)sub, &factor, PCLU, PCCHOLESKY, ""));
  if (bjacobi) {
    PetscInt n;
    KSP     *subksp;

    PetscCall(PCBJacobiGetSubKSP(sub, &n, NULL, &subksp));
    for (PetscInt i = 0; i < n; i++) PetscCall(FixPivots(subksp[i]));
  }
  if (!factor) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNorm(P, NORM_INFINITY, &size));
  PetscCall(PCFactorSetShiftType(sub, MAT_SHIFT_INBLOCKS));
  PetscCall(PCFactorSetShiftAmount(sub, size));
  PetscCall(PCFactorSetZeroPivot(sub, 1e-8 * size));
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(PetscObjectReference((PetscObject)P));
  PetscCall(PCReset(sub));
  PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* may one of the PCs inside get copies of its matrices? In GPU memory, where there is no more than products and the diagonal, few */
static PetscErrorCode CanExchangePC(PC pc, PC sub, PetscBool *can)
{
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(((PC_Single *)pc->data)->vectype, VECSINGLECUDA, &cuda));
  if (cuda) PetscCall(PetscObjectTypeCompareAny((PetscObject)sub, can, PCNONE, PCJACOBI, ""));
  else PetscCall(PetscObjectTypeCompareAny((PetscObject)sub, can, PCNONE, PCJACOBI, PCPBJACOBI, PCSOR, PCBJACOBI, PCASM, ""));
  if (!*can && !cuda && sub->pmat->rmap->size == 1)
    PetscCall(PetscObjectTypeCompareAny((PetscObject)sub, can, PCILU, PCICC, PCLU, PCCHOLESKY, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* can a smoother work on a copy? */
static PetscErrorCode CanExchangeKSP(PC pc, KSP ksp, PetscBool *can)
{
  PetscBool plain, pcs, mats[2];

  PetscFunctionBegin;
  *can = PETSC_FALSE;
  if (!ksp->pc->mat || !((PetscObject)ksp)->type_name) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsPlain(ksp, &plain));
  PetscCall(CanExchangePC(pc, ksp->pc, &pcs));
  PetscCall(MatAIJSingleCanConvert(ksp->pc->mat, &mats[0]));
  PetscCall(MatAIJSingleCanConvert(ksp->pc->pmat, &mats[1]));
  /* what is reset would call for its operator again */
  *can = (PetscBool)(pcs && mats[0] && mats[1] && (plain || !(ksp->dmActive & KSP_DMACTIVE_OPERATOR)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* s->first, below which nothing is exchanged: levels above it that cannot be, would need both types of Vecs */
static PetscErrorCode FindFirstLevel(PC pc)
{
  PC_Single *s   = (PC_Single *)pc->data;
  PC_MG     *mg  = (PC_MG *)s->pc->data;
  PetscBool  can = PETSC_TRUE;

  PetscFunctionBegin;
  for (s->first = mg->nlevels; s->first > (s->coarse ? 0 : 1); s->first--) {
    const PC_MG_Levels *level = mg->levels[s->first - 1];

    PetscCall(CanExchangeKSP(pc, level->smoothd, &can));
    if (can && level->smoothu != level->smoothd) PetscCall(CanExchangeKSP(pc, level->smoothu, &can));
    can = (PetscBool)(can && !level->cr && (!level->residual || level->residual == PCMGResidualDefault));
    if (!can) break;
  }
  PetscCall(PetscInfo(pc, "levels %" PetscInt_FMT " to %" PetscInt_FMT " of PC type %s work on copies of their matrices in floats%s\n",
                      s->first, mg->nlevels - 1, ((PetscObject)s->pc)->type_name,
                      can ? "" : "; coarser ones do not, for their matrix, Krylov method or preconditioner has to stay double"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- for single.c ---- */

PetscErrorCode PCSingleChooseFloats(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;
  PetscBool  can[2], match;

  PetscFunctionBegin;
  s->floats = PCSINGLE_FLOATS_NONE;
  PetscCall(MatAIJSingleCanConvert(pc->pmat, &can[0]));
  PetscCall(MatAIJSingleCanConvert(pc->useAmat ? pc->mat : pc->pmat, &can[1]));
  if (can[0] && can[1] && !s->shadows) {
    PetscCall(PetscObjectTypeCompareAny((PetscObject)s->pc, &match, PCMG, PCGAMG, ""));
    if (match) s->floats = PCSINGLE_FLOATS_LEVELS;
    PetscCall(CanExchangePC(pc, s->pc, &match));
    if (match) s->floats = PCSINGLE_FLOATS_MATRIX;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)s->pc, &match, PCNONE, PCJACOBI, ""));
    if (match) s->floats = PCSINGLE_FLOATS_DOUBLE;
  }
  if (s->floats <= PCSINGLE_FLOATS_DOUBLE)
    PetscCall(PetscInfo(pc, "PC type %s works on the matrix of type %s in double precision%s\n", ((PetscObject)s->pc)->type_name,
                        ((PetscObject)pc->pmat)->type_name,
                        s->floats == PCSINGLE_FLOATS_NONE ? ", on double copies of single vectors" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG takes other matrices than the last ones in the finest smoother for those of the user, and leaves them there */
static PetscErrorCode SetFinestOperators(PC pc, Mat A, Mat P)
{
  PC_Single    *s  = (PC_Single *)pc->data;
  PC_MG        *mg = (PC_MG *)s->pc->data;
  PC_MG_Levels *finest;

  PetscFunctionBegin;
  if (s->floats != PCSINGLE_FLOATS_LEVELS || !s->pc->setupcalled || s->pc->pmat == P) PetscFunctionReturn(PETSC_SUCCESS);
  finest = mg->levels[mg->nlevels - 1];
  if (finest->smoothd->pc->pmat != s->pc->pmat) PetscFunctionReturn(PETSC_SUCCESS);
  if (!pc->useAmat) A = P;
  PetscCall(KSPSetOperators(finest->smoothd, A, P));
  if (finest->smoothu != finest->smoothd) PetscCall(KSPSetOperators(finest->smoothu, A, P));
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(MatDestroy(&finest->A));
  finest->A = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSingleFloatsBeginSetUp(PC pc, Mat A, Mat P)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  for (PCSingleCopy c = s->copies; c; c = c->next) c->used = PETSC_FALSE;
  if (s->exchanged) PetscCall(ExchangeLevels(pc, PETSC_FALSE));
  s->exchanged = PETSC_FALSE;
  if (s->floats == PCSINGLE_FLOATS_MATRIX) {
    if (pc->useAmat && A != P) PetscCall(PCSingleGetCopy(pc, A, &A));
    else A = NULL;
    PetscCall(PCSingleGetCopy(pc, P, &P));
    if (!A) A = P;
  }
  PetscCall(SetFinestOperators(pc, A, P));
  PetscCall(PCSetOperators(s->pc, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSingleFloatsEndSetUp(PC pc, PetscBool *again)
{
  PC_Single   *s = (PC_Single *)pc->data;
  MatNullSpace null;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (s->floats == PCSINGLE_FLOATS_LEVELS) {
    PetscCall(MatGetNullSpace(pc->pmat, &null));
    if (null) PetscCall(FixPivots(((PC_MG *)s->pc->data)->levels[0]->smoothd));
    PetscCall(FindFirstLevel(pc));
    s->shadows = *again = (PetscBool)(s->first == ((PC_MG *)s->pc->data)->nlevels);
    PetscCall(ExchangeLevels(pc, PETSC_TRUE));
    s->exchanged = PETSC_TRUE;
  }
  for (PCSingleCopy *c = &s->copies; *c;) {
    if ((*c)->used) c = &(*c)->next;
    else PetscCall(CopyDestroy(c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSingleFloatsReset(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  while (s->copies) PetscCall(CopyDestroy(&s->copies));
  s->exchanged = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSingleFloatsView(PC pc, PetscViewer viewer)
{
  PC_Single *s        = (PC_Single *)pc->data;
  PetscReal  bytes[2] = {0, 0};

  PetscFunctionBegin;
  if (!s->copies) PetscFunctionReturn(PETSC_SUCCESS);
  for (PCSingleCopy c = s->copies; c; c = c->next) {
    MatInfo info;

    PetscCall(MatGetInfo(c->single, MAT_GLOBAL_SUM, &info));
    bytes[0] += info.memory;
    PetscCall(MatGetInfo(c->A, MAT_GLOBAL_SUM, &info));
    bytes[1] += info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt)) + (PetscReal)c->A->rmap->N * sizeof(PetscInt);
  }
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "  matrices in floats: %g bytes, for %g in double precision\n", (double)bytes[0], (double)bytes[1]));
  if (s->floats == PCSINGLE_FLOATS_LEVELS) PetscCall(PetscViewerASCIIPrintf(viewer, "  from level %" PetscInt_FMT " on\n", s->first));
  PetscFunctionReturn(PETSC_SUCCESS);
}
