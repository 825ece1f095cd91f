/*
  What an operator matrix is after the coefficients or the coordinates of its DMBOX have changed: the rule is in the manual page of
  MatBoxUpdate().

  A DM knows its matrices, and tells them of each change (DMBoxChanged()).  Those that follow it get another object state, which is where a
  KSP and its PC look whether they have to be set up again.  One without entries takes the coefficients over when it is used next; one with
  entries is assembled again at once.
*/
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/

static PetscErrorCode MatBoxFindEntry(Mat A, DMBoxMatrix *entry)
{
  PetscBool isbox = PETSC_FALSE;
  DM        dm;

  PetscFunctionBegin;
  *entry = NULL;
  PetscCall(MatGetDM(A, &dm));
  if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMBOX, &isbox));
  if (!isbox) PetscFunctionReturn(PETSC_SUCCESS);
  for (*entry = ((const DM_Box *)dm->data)->matrix; *entry && (*entry)->A != A && (*entry)->shell != A;) *entry = (*entry)->next;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxTake(DMBoxMatrix m, DM dm, PetscReal rate, MatBoxTakeWhat what, PetscBool *changed)
{
  PetscFunctionBegin;
  PetscUseMethod(m->shell, "MatBoxTake_C", (Mat, DM, PetscReal, MatBoxTakeWhat, PetscBool *), (m->shell, dm, rate, what, changed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is it assembled, and has somebody else written into it since? */
static PetscErrorCode MatBoxIsOverwritten(DMBoxMatrix m, PetscBool *is)
{
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)m->A, &state));
  *is = (PetscBool)(m->A != m->shell && state != m->state);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the shell has, or will take, other coefficients.  Where that fails an assembled matrix is of no use any more, and PETSc says so */
static PetscErrorCode MatBoxRenew(DMBoxMatrix m)
{
  Mat_Box *box;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)m->A));
  if (m->A == m->shell) PetscFunctionReturn(PETSC_SUCCESS);
  m->A->assembled = PETSC_FALSE;
  PetscCall(PetscObjectStateGet((PetscObject)m->A, &m->state));
  PetscCall(MatConvert(m->shell, ((PetscObject)m->A)->type_name, MAT_REUSE_MATRIX, &m->A));
  PetscCall(MatBoxFind(m->shell, &box));
  if (box) PetscCall(MatBoxSetProperties(m->A, box));
  PetscCall(PetscObjectStateGet((PetscObject)m->A, &m->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxChanged(DMBoxMatrix m)
{
  const PetscBool shell = (PetscBool)(m->A == m->shell), assembled = m->A->assembled;
  PetscBool       overwritten = PETSC_FALSE, changed;

  PetscFunctionBegin;
  PetscCall(MatBoxIsOverwritten(m, &overwritten));
  if (!m->follows || overwritten) PetscFunctionReturn(PETSC_SUCCESS);
  if (!shell) m->A->assembled = PETSC_FALSE; /* if the next line fails */
  PetscCall(MatBoxTake(m, NULL, 0, MATBOX_TAKE_NOTHING, &changed));
  m->A->assembled = assembled;
  if (changed) PetscCall(MatBoxRenew(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxUpdateEntry(Mat A, DM dm, PetscReal rate, MatBoxTakeWhat what, PetscBool follows)
{
  PetscBool   overwritten = PETSC_FALSE, changed;
  DMBoxMatrix m;

  PetscFunctionBegin;
  PetscCall(MatBoxFindEntry(A, &m));
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxIsOverwritten(m, &overwritten));
  PetscCall(MatBoxTake(m, dm, rate, what, &changed));
  changed = (PetscBool)(changed || (overwritten && what == MATBOX_TAKE_ALL));
  if (changed || what == MATBOX_TAKE_ALL) m->follows = follows;
  if (changed) PetscCall(MatBoxRenew(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxUpdateStep(Mat A, DM dm)
{
  PetscBool isbox;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMBOX, &isbox));
  if (isbox) {
    const PetscReal rate = ((const DM_Box *)dm->data)->op->rate;

    PetscCall(MatBoxUpdateEntry(A, dm, rate, MATBOX_TAKE_CHANGES, (PetscBool)(rate == 0)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxComputeJacobian(Mat A, DM dm)
{
  PetscFunctionBegin;
  PetscCall(MatBoxUpdateEntry(A, dm, ((const DM_Box *)dm->data)->op->rate, MATBOX_TAKE_ALL, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBoxUpdate - Gives an operator matrix of a `DMBOX` the current coefficients of its `DMBOX`

  Collective

  Input Parameter:
. A - a matrix made by `DMCreateMatrix()` of a `DMBOX`; nothing is done for other matrices

  Level: intermediate

  Notes:
  An operator matrix follows its `DMBOX`. When coefficients or coordinates change, for example by `DMBoxSetPoisson()` or
  `DMBoxSetMappingCoordinates()`, the matrix is the new operator from its next use on. A `KSP` sets up its preconditioner again in
  the next solve, with or without `KSPSetDM()`. A matrix with entries (`-dm_mat_type aij`) is assembled again at once.

  Matrices with values of their own do not follow:

.vb
  what MatScale(), MatAXPY(), MatCopy() or MatZeroEntries() have changed, and entries that were written into an assembled matrix copies by
  MatDuplicate() Jacobians that a SNES or TS has computed by DMBoxSNESComputeJacobian(), DMBoxTSComputeIJacobian() or by default, until the
  next one
.ve

  This routine drops such changes: the matrix follows its `DMBOX` again. `KSPSetUp()` after `KSPSetOperators()` does the same if the
  `KSP` has the `DMBOX` and the coefficients of the `DMBOX` differ from those that the matrix last took over. A matrix that was only
  scaled stays scaled.

  The coefficients and coordinates of the operator `diffusion` belong to the `DMBOX`. If they have changed, a matrix that does not
  follow keeps its old products, if it has been used before. Operations that need the old data are errors.

  Copies of an assembled matrix, and results of `MatConvert()`, are ordinary matrices: the routine does nothing for them.

  Matrices of DMs made by `DMClone()`, `DMRefine()` or `DMCoarsen()` follow those DMs. Multigrid passes changes to the coarser DMs
  of its hierarchy.

.seealso: `DMBOX`, `DMBoxSetPoisson()`, `DMBoxSetDiffusion()`, `DMBoxSetStokes()`, `DMBoxSetBiharmonic()`, `DMBoxSetHeat()`,
`DMBoxSetMappingCoordinates()`
@*/
PetscErrorCode MatBoxUpdate(Mat A)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatBoxUpdateEntry(A, NULL, 0, MATBOX_TAKE_ALL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- for those that make matrices ---- */

PetscErrorCode MatBoxRegister(Mat shell, DM dm, MatBoxTakeFn *take, DMBoxMatrix *m)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCall(PetscNew(m));
  (*m)->A = (*m)->shell = shell;
  (*m)->changed         = MatBoxChanged;
  (*m)->next            = box->matrix;
  box->matrix           = *m;
  PetscCall(PetscObjectComposeFunction((PetscObject)shell, "MatBoxTake_C", take));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxUnregister(DM dm, DMBoxMatrix *m)
{
  DMBoxMatrix *link = &((DM_Box *)dm->data)->matrix;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)(*m)->shell, "MatBoxTake_C", NULL));
  while (*link != *m) link = &(*link)->next;
  *link = (*m)->next;
  PetscCall(PetscFree(*m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFollowDM(DMBoxMatrix m, Mat A)
{
  PetscFunctionBegin;
  m->A       = A;
  m->follows = PETSC_TRUE;
  PetscCall(PetscObjectStateGet((PetscObject)A, &m->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}
