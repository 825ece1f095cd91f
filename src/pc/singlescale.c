/* PCSINGLE: the operators inside, brought into the range of float */
#include "single.h"
#include <petsc/private/matimpl.h>

/* The largest entry, more or less; 0 if it cannot be known.  Of a matrix on a GPU the largest on the diagonal, for PETSc computes norms on
   the host */
static PetscErrorCode PCSingleGetSize(PC pc, Mat A, PetscBool entries, PetscReal *size)
{
  PetscBool    mult;
  PetscMemType memtype;
  Vec          x, y;

  PetscFunctionBegin;
  *size = 0;
  PetscCall(MatGetCurrentMemType(A, &memtype));
  if (entries && !PetscMemTypeHost(memtype)) {
    PetscCall(MatCreateVecs(A, NULL, &y));
    PetscCall(MatGetDiagonal(A, y));
    PetscCall(VecNorm(y, NORM_INFINITY, size));
    PetscCall(VecDestroy(&y));
  }
  if (entries && *size == 0) PetscCall(MatNorm(A, NORM_INFINITY, size));
  if (!entries) {
    PetscCall(MatHasOperation(A, MATOP_MULT, &mult));
    if (mult) {
      PetscCall(MatCreateVecs(A, &x, &y));
      PetscCall(VecSetRandom(x, NULL));
      PetscCall(MatMult(A, x, y));
      PetscCall(VecNorm(y, NORM_INFINITY, size));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&y));
    }
  }
  PetscCheck(!PetscIsInfOrNanReal(*size), PetscObjectComm((PetscObject)pc), PETSC_ERR_FP,
             "PCSINGLE: the matrix, of type %s, has entries that are not finite", ((PetscObject)A)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the power of two that brings a matrix to one, 0 if it is near one; it takes a copy, so that what cannot be copied has to be in the range
   of float */
static PetscErrorCode PCSingleGetExponent(PC pc, Mat A, int *exponent)
{
  PetscBool shell, entries;
  PetscReal size;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELL, &shell)); /* copies would share their context with the original */
  entries = (PetscBool)(!shell && A->ops->norm && A->ops->scale && A->ops->duplicate);
  PetscCall(PCSingleGetSize(pc, A, entries, &size));
  *exponent = size > 0 ? -PetscMax(-1000, PetscMin(1000, ilogb(size))) : 0; /* of these, the powers of two are doubles */
  PetscCheck(entries || PetscAbs(*exponent) <= 100, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PCSINGLE: the matrix, of type %s, is near %g. Without entries that could be copied and scaled it must be between 1e-30 and "
             "1e30, "
             "so that floats can hold what it makes of them: scale the problem",
             ((PetscObject)A)->type_name, (double)size);
  if (!entries || PetscAbs(*exponent) <= 40) *exponent = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSingleScale(PC pc, Mat A, Mat *B)
{
  PC_Single *s = (PC_Single *)pc->data;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  PetscCall(MatScale(*B, ldexp(1.0, s->exponent)));
  if (s->floats == PCSINGLE_FLOATS_NONE) {
    PetscCall(MatSetVecType(*B, s->vectype));
    (*B)->ops->getvecs = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSingleSetOperators(PC pc)
{
  PC_Single *s = (PC_Single *)pc->data;
  Mat        A = pc->mat, P = pc->pmat;
  int        a;

  PetscFunctionBegin;
  s->exponent = 0;
  if (s->floats != PCSINGLE_FLOATS_DOUBLE) PetscCall(PCSingleGetExponent(pc, P, &s->exponent));
  if (s->exponent && pc->useAmat && A != P) { /* both or none */
    PetscCall(PCSingleGetExponent(pc, A, &a));
    if (!a) s->exponent = 0;
  }
  if (s->exponent) {
    PetscCall(PCSingleScale(pc, pc->pmat, &P));
    if (pc->useAmat && pc->mat != pc->pmat) PetscCall(PCSingleScale(pc, pc->mat, &A));
    else PetscCall(PetscObjectReference((PetscObject)(A = P)));
    PetscCall(PCSingleFloatsBeginSetUp(pc, A, P));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&P));
  } else PetscCall(PCSingleFloatsBeginSetUp(pc, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}
