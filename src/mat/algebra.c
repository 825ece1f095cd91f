/*
  Operators as elements of a linear space: all operators of a kind on a mesh have coordinates, their coefficients.  MatScale(), MatAXPY(),
  MatCopy() and the like, which TS calls, work on them; how those of the DMBOX come in: follow.c.
*/
#include <patchfd/private/matimpl.h>

static PetscBool MatBoxCoefficientsAreFinite(const MatBoxCoefficients *c)
{
  PetscReal sum = c->identity;

  for (int i = 0; i < DMBOX_MAX_COEFFICIENTS; i++) sum += c->operator[i];
  return (PetscBool)!PetscIsInfOrNanReal(sum);
}

/* A = a A + b X */

static PetscErrorCode MatBoxAXPBY(Mat A, PetscReal a, PetscReal b, const MatBoxCoefficients *x)
{
  Mat_Box           *m;
  MatBoxCoefficients c;

  PetscFunctionBegin;
  PetscCall(MatBoxGetCurrent(A, &m));
  c = m->c;
  if (!MatBoxCoefficientsAXPBY(&c, a, b, x)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(MatBoxCoefficientsAreFinite(&c), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "The factors %g and %g of MatScale(), MatAXPY() or MatCopy() make coefficients of the DMBOX operator that are not finite",
             (double)a, (double)b);
  PetscCall(MatBoxCheckData(m));
  m->entry->follows = PETSC_FALSE;
  PetscCall(MatBoxChange(A, &c, &m));
  PetscCall(MatBoxSetProperties(A, m));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_Box(Mat A, PetscScalar a)
{
  const MatBoxCoefficients zero = {.identity = 0};

  PetscFunctionBegin;
  PetscCall(MatBoxAXPBY(A, a, 1, &zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroEntries_Box(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatScale_Box(A, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxSameLine(const PatchFDLine *a, const PatchFDLine *b, PetscBool *same)
{
  PetscFunctionBegin;
  *same = (PetscBool)(a->continuity == b->continuity && a->degree == b->degree && a->ncells == b->ncells &&
                      a->dirichlet[0] == b->dirichlet[0] && a->dirichlet[1] == b->dirichlet[1] && a->clamped[0] == b->clamped[0] &&
                      a->clamped[1] == b->clamped[1]);
  if (*same) PetscCall(PetscArraycmp(a->vertices, b->vertices, a->ncells + 1, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the other operator, which must be of the same kind and live on the same mesh and the same ranks */
static PetscErrorCode MatBoxGetSameMesh(Mat A, Mat X, const char *who, Mat_Box **x)
{
  Mat_Box      *m;
  const DM_Box *a, *b;
  PetscBool     same;

  PetscFunctionBegin;
  PetscCall(MatBoxGetCurrent(A, &m));
  PetscCall(MatBoxGet(X, who, x));
  a = (const DM_Box *)m->dm->data;
  b = (const DM_Box *)(*x)->dm->data;
  PetscCall(PetscStrcmp(a->op->name, b->op->name, &same));
  PetscCheck(same && a->nfield == b->nfield, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
             "%s needs two operators of the same kind; these are %s and %s, with %" PetscInt_FMT " and %" PetscInt_FMT " fields", who,
             a->op->name, b->op->name, a->nfield, b->nfield);
  PetscCall(PetscArraycmp(a->op->penalty, b->op->penalty, 2, &same));
  PetscCheck(same, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
             "%s needs two operators with the same penalties (-dm_box_penalty); these have %g, %g and %g, %g", who,
             (double)a->op->penalty[0], (double)a->op->penalty[1], (double)b->op->penalty[0], (double)b->op->penalty[1]);
  PetscCheck(m->version == (*x)->version, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
             "%s needs two operators with the same map, functions as coefficients (DMBoxSetDiffusionFunction()) and "
             "projections (-dm_box_lambda_degree)",
             who);
  for (PetscInt i = 0; i < a->nfield; i++) {
    for (int d = 0; d < 3; d++) {
      PetscCall(DMBoxSameLine(&a->field[i].line[d], &b->field[i].line[d], &same));
      same = (PetscBool)(same && a->processes[d] == b->processes[d]);
      if (same) PetscCall(PetscArraycmp(a->splits[d], b->splits[d], a->processes[d] + 1, &same));
      PetscCheck(same, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
                 "%s needs two operators on the same mesh; these differ in direction %d: in degree, cells, boundary conditions or "
                 "distribution",
                 who, d);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_Box(Mat A, PetscScalar a, Mat X, PETSC_UNUSED MatStructure str)
{
  Mat_Box *x;

  PetscFunctionBegin;
  PetscCall(MatBoxGetSameMesh(A, X, "MatAXPY() with a DMBOX operator", &x));
  PetscCall(MatBoxAXPBY(A, 1, a, &x->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCopy_Box(Mat A, Mat B, PETSC_UNUSED MatStructure str)
{
  Mat_Box *a, *b;

  PetscFunctionBegin;
  PetscCall(MatBoxGetSameMesh(A, B, "MatCopy() with a DMBOX operator", &b));
  PetscCall(MatShellGetContext(A, &a));
  PetscCall(MatBoxAXPBY(B, 0, 1, &a->c));
  PetscCall(MatShellGetContext(B, &b));
  b->taken          = a->taken;
  b->entry->follows = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* has the matrix been changed since it took over the coefficients of its DM? */
static PetscBool MatBoxIsChanged(const Mat_Box *m)
{
  MatBoxCoefficients taken = m->taken;

  return MatBoxCoefficientsAXPBY(&taken, 0, 1, &m->c);
}

PetscErrorCode MatBoxFollow(Mat coarse, Mat fine)
{
  Mat_Box  *c, *f;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(coarse, &c));
  PetscCall(MatBoxFind(fine, &f));
  if (!c || !f) PetscFunctionReturn(PETSC_SUCCESS);
  /* both are those of their DMs, which the user may have made different */
  if (!MatBoxIsChanged(c) && f->entry->follows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(((const DM_Box *)c->dm->data)->op->name, ((const DM_Box *)f->dm->data)->op->name, &same));
  if (same) PetscCall(MatBoxAXPBY(coarse, 0, 1, &f->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc does nothing for MAT_INPLACE_MATRIX, since the operator is symmetric */
static PetscErrorCode MatTranspose_Box(Mat A, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  else PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxSetAlgebra(Mat A, Mat_Box *m)
{
  PetscFunctionBegin;
  PetscCall(MatBoxRegister(A, m->dm, MatBoxTake_Box, &m->entry));
  PetscCall(MatShellSetOperation(A, MATOP_TRANSPOSE, (PetscVoidFn *)MatTranspose_Box));
  PetscCall(MatShellSetOperation(A, MATOP_SCALE, (PetscVoidFn *)MatScale_Box));
  PetscCall(MatShellSetOperation(A, MATOP_ZERO_ENTRIES, (PetscVoidFn *)MatZeroEntries_Box));
  PetscCall(MatShellSetOperation(A, MATOP_AXPY, (PetscVoidFn *)MatAXPY_Box));
  /* not MatShellSetOperation(), whose MATOP_COPY would first give the copy everything that the original has */
  PetscCall(MatSetOperation(A, MATOP_COPY, (PetscVoidFn *)MatCopy_Box));
  PetscFunctionReturn(PETSC_SUCCESS);
}
