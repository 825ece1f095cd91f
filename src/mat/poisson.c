/*
  The Poisson operator of a DMBOX, -div(diffusion grad u) + shift u, as a MATSHELL.

  Both coefficients are absorbed in the one-dimensional matrices (A_d = diffusion_d * stiffness; the shift times the mass matrix
  goes to direction 0), so everything below works with a plain Kronecker sum.  Rows of Dirichlet nodes are identity rows, and their
  columns are zero: such nodes never couple to the others.

  A solver calls, in this order: create, get diagonal or convert (some preconditioners), mult/residual, destroy.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

PetscErrorCode MatBoxGet(Mat A, const char *who, Mat_Box **m)
{
  PetscErrorCode (*get)(Mat, Mat_Box **);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatBoxGet_C", &get));
  PetscCheck(get, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP, "%s needs an operator matrix made by DMCreateMatrix() of a DMBOX (-dm_type box); this matrix is of type %s", who, ((PetscObject)A)->type_name);
  PetscCall(get(A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxGet_Poisson(Mat A, Mat_Box **m)
{
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void DMBoxFreeNodes(const DM_Box *box, PetscBool local, PatchFDRange r)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt lo = local ? box->local.lo[d] : box->own[d][0], hi = local ? lo + box->local.n[d] : box->own[d][1];

    r[d][0] = PetscMax(lo, box->free[d][0]);
    r[d][1] = PetscMax(r[d][0], PetscMin(hi, box->free[d][1]));
  }
}

/* ---- one-dimensional objects and plans ---- */

static PetscErrorCode MatBoxReset(Mat_Box *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++) {
    const PatchFDKernels k = PatchFDKernelTables[i];

    if (!k) continue;
    PetscCall(k->operatordestroy(&m->op[k->id]));
    PetscCall(k->smootherdestroy(&m->smoother[k->id]));
    PetscCall(k->boxsolvedestroy(&m->boxsolve[k->id]));
    PetscCall(k->free(m->whole_b[k->id]));
    PetscCall(k->free(m->whole_x[k->id]));
    m->whole_b[k->id] = m->whole_x[k->id] = NULL;
  }
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDCellsDestroy(&m->cells[d]));
    PetscCall(PatchFDPatchesDestroy(&m->patches[d]));
    PetscCall(PatchFDEigenDestroy(&m->whole[d]));
  }
  m->havepatches = m->havewhole = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* take over the coefficients that the DM has now; the shift is its own, or with what a time step adds */
static PetscErrorCode MatBoxBuild(Mat_Box *m, PetscReal shift)
{
  DM_Box *box = (DM_Box *)m->dm->data;

  PetscFunctionBegin;
  PetscCall(MatBoxReset(m));
  for (int d = 0; d < 3; d++) {
    m->diffusion[d] = box->diffusion[d];
    PetscCall(PatchFDCellsCreate(&box->line[d], box->diffusion[d], d == 0 ? shift : 0, &m->cells[d]));
  }
  m->shift = shift;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MatBoxDescribe(Mat_Box *m, PatchFDOperatorDesc *desc)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  DMBoxFreeNodes(box, PETSC_FALSE, desc->write);
  DMBoxFreeNodes(box, PETSC_TRUE, desc->read);
  desc->xbox = box->local;
  desc->ybox = box->global;
  for (int d = 0; d < 3; d++) {
    desc->dir[d] = &m->cells[d];
    /* every cell that touches an owned node */
    desc->cells[d][0] = PetscMax(0, box->owncells[d][0] - 1);
    desc->cells[d][1] = box->own[d][1] > box->own[d][0] ? box->owncells[d][1] : desc->cells[d][0];
  }
}

static PetscErrorCode MatBoxGetOperator(Mat_Box *m, PatchFDKernels k, void **plan)
{
  PetscFunctionBegin;
  if (!m->op[k->id]) {
    PatchFDOperatorDesc desc;

    MatBoxDescribe(m, &desc);
    PetscCall(k->operatorcreate(&desc, &m->op[k->id]));
  }
  *plan = m->op[k->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxGetSmoother(Mat_Box *m, PatchFDKernels k, void **plan)
{
  DM_Box *box = (DM_Box *)m->dm->data;

  PetscFunctionBegin;
  if (!m->smoother[k->id]) {
    PatchFDSmootherDesc desc;

    PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
    if (!m->havepatches) {
      for (int d = 0; d < 3; d++) PetscCall(PatchFDPatchesCreate(&box->line[d], &m->cells[d], &m->patches[d]));
      m->havepatches = PETSC_TRUE;
    }
    for (int d = 0; d < 3; d++) desc.dir[d] = &m->patches[d];
    desc.box = box->local;
    DMBoxFreeNodes(box, PETSC_TRUE, desc.read);
    PetscCall(k->smoothercreate(&desc, &m->smoother[k->id]));
    PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  }
  *plan = m->smoother[k->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxGetBoxSolve(Mat_Box *m, PatchFDKernels k, PatchFDBoxSolveDesc *desc, void **plan)
{
  DM_Box *box = (DM_Box *)m->dm->data;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    desc->dir[d]    = &m->whole[d];
    desc->first[d]  = box->free[d][0];
    desc->box.lo[d] = 0;
    desc->box.n[d]  = PatchFDLineNumNodes(&box->line[d]);
  }
  if (!m->boxsolve[k->id]) {
    PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
    if (!m->havewhole) {
      for (int d = 0; d < 3; d++) PetscCall(PatchFDLineEigenCreate(&box->line[d], &m->cells[d], &m->whole[d]));
      if (box->halo && !m->natural) PetscCall(DMBoxCreateNaturalSF(m->dm, &m->natural));
      m->havewhole = PETSC_TRUE;
    }
    if (box->halo) {
      PetscCall(k->malloc(PatchFDBoxSize(&desc->box), &m->whole_b[k->id]));
      PetscCall(k->malloc(PatchFDBoxSize(&desc->box), &m->whole_x[k->id]));
    }
    PetscCall(k->boxsolvecreate(desc, &m->boxsolve[k->id]));
    PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  }
  *plan = m->boxsolve[k->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse problems are small: every rank gathers the right-hand side, solves, and keeps what it owns */
PetscErrorCode MatBoxSolve(Mat_Box *m, PatchFDKernels k, const void *b, void *x)
{
  DM_Box             *box = (DM_Box *)m->dm->data;
  PatchFDBoxSolveDesc desc;
  PatchFDRange        own;
  void               *plan = NULL, *whole_b, *whole_x;

  PetscFunctionBegin;
  PetscCall(MatBoxGetBoxSolve(m, k, &desc, &plan));
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  if (box->halo) {
    whole_b = m->whole_b[k->id];
    whole_x = m->whole_x[k->id];
    DMBoxFreeNodes(box, PETSC_FALSE, own);
    PetscCall(PetscSFBcastWithMemTypeBegin(m->natural, k->datatype(), k->memtype, b, k->memtype, whole_b, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(m->natural, k->datatype(), b, whole_b, MPI_REPLACE));
    PetscCall(k->boxsolveapply(plan, whole_b, whole_x));
    PetscCall(k->copy(own, &desc.box, whole_x, &box->global, x));
  } else PetscCall(k->boxsolveapply(plan, b, x));
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the operations ---- */

/* y = y0 + alpha A x, y0 = NULL for zero */
static PetscErrorCode MatBoxApply(Mat_Box *m, PatchFDKernels k, PetscReal alpha, const void *x, const void *y0, void *y)
{
  DM_Box *box = (DM_Box *)m->dm->data;
  void   *plan = NULL, *local;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscCall(MatBoxGetOperator(m, k, &plan));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, k, x, DMBOX_WORK_X, &local));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, k, x, DMBOX_WORK_X, &local));
  PetscCall(k->operatorapply(plan, alpha, local, y0, y));
  PetscCall(k->fixed(box->own, box->free, 1, &box->global, y, alpha, &box->global, x));
  PetscCall(PetscLogEventEnd(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same with Vecs, y0 = y allowed */
static PetscErrorCode MatApply_Poisson(Mat A, PetscReal alpha, Vec x, Vec y0, Vec y)
{
  Mat_Box       *m;
  PatchFDKernels k;
  const void    *ax, *ay0 = NULL;
  void          *ay;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(PatchFDVecGetKernels(x, &k));
  PetscCall(PatchFDVecGetArrayRead(x, k, &ax));
  if (y0 == y) {
    PetscCall(PatchFDVecGetArray(y, k, &ay));
    PetscCall(MatBoxApply(m, k, alpha, ax, ay, ay));
    PetscCall(PatchFDVecRestoreArray(y, k, &ay));
  } else {
    if (y0) PetscCall(PatchFDVecGetArrayRead(y0, k, &ay0));
    PetscCall(PatchFDVecGetArrayWrite(y, k, &ay));
    PetscCall(MatBoxApply(m, k, alpha, ax, ay0, ay));
    PetscCall(PatchFDVecRestoreArrayWrite(y, k, &ay));
    if (y0) PetscCall(PatchFDVecRestoreArrayRead(y0, k, &ay0));
  }
  PetscCall(PatchFDVecRestoreArrayRead(x, k, &ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_Poisson(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatApply_Poisson(A, 1, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_Poisson(Mat A, Vec x, Vec v, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatApply_Poisson(A, 1, x, v, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatResidual_Poisson(Mat A, Vec b, Vec x, Vec r)
{
  PetscFunctionBegin;
  PetscCall(MatApply_Poisson(A, -1, x, b, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_Poisson(Mat A, Vec diag)
{
  Mat_Box            *m;
  DM_Box             *box;
  PatchFDOperatorDesc desc;
  PetscScalar        *a;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  box = (DM_Box *)m->dm->data;
  MatBoxDescribe(m, &desc);
  PetscCall(VecGetArrayWrite(diag, &a));
  PetscCall(PatchFDHostDiagonal(&desc, box->own, &box->global, a));
  PetscCall(VecRestoreArrayWrite(diag, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateVecs_Poisson(Mat A, Vec *right, Vec *left)
{
  Mat_Box *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  if (right) PetscCall(DMCreateGlobalVector(m->dm, right));
  if (left) PetscCall(DMCreateGlobalVector(m->dm, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the assembled matrix, for tests and for preconditioners that need one */
static PetscErrorCode MatConvert_Poisson(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  Mat_Box            *m;
  PatchFDOperatorDesc desc;
  Mat                 N;
  PetscInt           *index, *i, *j;
  PetscScalar        *v;
  PetscCount          count;

  PetscFunctionBegin;
  PetscCheck(reuse != MAT_INPLACE_MATRIX, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "A DMBOX operator cannot be converted in place: the DMBOX still needs its matrix-free form");
  PetscCall(MatShellGetContext(A, &m));
  MatBoxDescribe(m, &desc);
  PetscCall(DMBoxGetLocalToGlobal(m->dm, &index));
  PetscCall(PatchFDHostTriples(&desc, ((DM_Box *)m->dm->data)->own, index, &count, NULL, NULL, NULL));
  PetscCall(PetscMalloc3(count, &i, count, &j, count, &v));
  PetscCall(PatchFDHostTriples(&desc, ((DM_Box *)m->dm->data)->own, index, &count, i, j, v));
  if (reuse == MAT_REUSE_MATRIX) N = *B;
  else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &N));
    PetscCall(MatSetSizes(N, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetType(N, type));
  }
  PetscCall(MatSetPreallocationCOO(N, count, i, j));
  PetscCall(MatSetValuesCOO(N, v, INSERT_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscCall(PetscFree(index));
  *B = N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_Poisson(Mat A, PetscViewer viewer)
{
  Mat_Box  *m;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "matrix-free -div(D grad u) + shift u on a DMBOX: D = %g %g %g, shift = %g\n", (double)m->diffusion[0], (double)m->diffusion[1], (double)m->diffusion[2], (double)m->shift));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_Poisson(Mat A)
{
  Mat_Box *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(MatBoxReset(m));
  PetscCall(PetscSFDestroy(&m->natural));
  PetscCall(DMDestroy(&m->dm));
  PetscCall(PetscFree(m));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBoxGet_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBoxUpdate_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_shell_aij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_shell_seqaij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_shell_mpiaij_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a singular operator (pure Neumann, no shift) says so to KSP */
static PetscErrorCode MatBoxSetNullSpace(Mat A, Mat_Box *m)
{
  DM_Box      *box      = (DM_Box *)m->dm->data;
  PetscBool    singular = (PetscBool)(m->shift == 0);
  MatNullSpace constant = NULL;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) singular = (PetscBool)(singular && !box->line[d].fixed[0] && !box->line[d].fixed[1]);
  if (singular) PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_TRUE, 0, NULL, &constant));
  PetscCall(MatSetNullSpace(A, constant));
  PetscCall(MatSetTransposeNullSpace(A, constant));
  PetscCall(MatNullSpaceDestroy(&constant));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SPD, (PetscBool)(m->shift >= 0 && !singular)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxUpdate_Poisson(Mat A, PetscReal rate)
{
  Mat_Box  *m;
  DM_Box   *box;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  box  = (DM_Box *)m->dm->data;
  same = (PetscBool)(m->shift == box->shift + rate);
  for (int d = 0; d < 3; d++) same = (PetscBool)(same && m->diffusion[d] == box->diffusion[d]);
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxBuild(m, box->shift + rate));
  PetscCall(MatBoxSetNullSpace(A, m));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same for an assembled matrix and the matrix-free one that it was made from */
static PetscErrorCode MatBoxUpdate_Assembled(Mat A, Mat shell, PetscReal rate)
{
  Mat_Box         *m;
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)shell, &before));
  PetscCall(MatBoxUpdate_Poisson(shell, rate));
  PetscCall(PetscObjectStateGet((PetscObject)shell, &after));
  if (before == after) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatShellGetContext(shell, &m));
  PetscCall(MatConvert_Poisson(shell, NULL, MAT_REUSE_MATRIX, &A));
  PetscCall(MatBoxSetNullSpace(A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxUpdate_Private(Mat A, PetscReal rate)
{
  Mat shell;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, "MatBoxShell", (PetscObject *)&shell));
  if (shell) PetscCall(MatBoxUpdate_Assembled(A, shell, rate));
  else PetscTryMethod(A, "MatBoxUpdate_C", (Mat, PetscReal), (A, rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxUpdateStep(Mat A, DM dm)
{
  PetscBool isbox;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMBOX, &isbox));
  if (isbox) PetscCall(MatBoxUpdate_Private(A, ((DM_Box *)dm->data)->rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatBoxUpdate - Lets an operator matrix of a `DMBOX` take over coefficients that were changed after it was made

  Collective

  Input Parameter:
. A - a matrix made by `DMCreateMatrix()` of a `DMBOX`; nothing is done for other matrices

  Level: intermediate

  Note:
  A `KSP` with the `DMBOX` set by `KSPSetDM()` calls this by itself in `KSPSetUp()`, on all levels of a multigrid hierarchy.

.seealso: `DMBOX`, `DMBoxSetPoisson()`
@*/
PetscErrorCode MatBoxUpdate(Mat A)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatBoxUpdate_Private(A, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxLiftDirichlet - Puts non-homogeneous Dirichlet data into a right-hand side of the operator that a `DMBOX` carries

  Collective

  Input Parameters:
+ dm - the `DMBOX`
. g  - a vector whose entries at the Dirichlet nodes are the data; its other entries are not used
- b  - the load vector, for example from `DMBoxAddLoad()`

  Output Parameter:
. b - at the free nodes, b minus what the data contribute; at the Dirichlet nodes, the data

  Level: intermediate

  Note:
  The solution of A u = b with A from `DMCreateMatrix()` then has the data at the Dirichlet nodes, since the rows of A that belong to
  them are rows of the identity.

.seealso: `DMBOX`, `DMBoxAddLoad()`, `DMBoxInterpolateFunction()`
@*/
PetscErrorCode DMBoxLiftDirichlet(DM dm, Vec g, Vec b)
{
  DM_Box             *box;
  Mat_Box             m = {NULL};
  PatchFDOperatorDesc desc;
  PatchFDKernels      k;
  PetscInt            n, ng, nb;
  Vec                 w;
  const void         *ag;
  void               *aw, *ab, *local, *plan = NULL;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscValidHeaderSpecific(g, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(b, VEC_CLASSID, 3);
  PetscCall(PetscIntCast(PatchFDBoxSize(&box->global), &n));
  PetscCall(VecGetLocalSize(g, &ng));
  PetscCall(VecGetLocalSize(b, &nb));
  PetscCheck(n == ng && n == nb, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The vectors have %" PetscInt_FMT " and %" PetscInt_FMT " local entries; this DMBOX has %" PetscInt_FMT " nodes on this rank", ng, nb, n);
  m.dm = dm;
  PetscCall(MatBoxBuild(&m, box->shift));
  MatBoxDescribe(&m, &desc);
  for (int d = 0; d < 3; d++) { /* the operator without boundary conditions reads the Dirichlet nodes, too */
    desc.read[d][0] = box->local.lo[d];
    desc.read[d][1] = box->local.lo[d] + box->local.n[d];
  }
  PetscCall(PatchFDVecGetKernels(b, &k));
  PetscCall(k->operatorcreate(&desc, &plan));
  PetscCall(VecDuplicate(g, &w));
  PetscCall(PatchFDVecGetArrayRead(g, k, &ag));
  PetscCall(PatchFDVecGetArrayWrite(w, k, &aw));
  PetscCall(PatchFDVecGetArray(b, k, &ab));
  PetscCall(k->zero(PatchFDBoxSize(&box->global), aw));
  PetscCall(k->fixed(box->own, box->free, 0, &box->global, aw, 1, &box->global, ag));
  PetscCall(DMBoxGlobalToLocalBegin(dm, k, aw, DMBOX_WORK_X, &local));
  PetscCall(DMBoxGlobalToLocalEnd(dm, k, aw, DMBOX_WORK_X, &local));
  PetscCall(k->operatorapply(plan, -1, local, ab, ab));
  PetscCall(k->fixed(box->own, box->free, 0, &box->global, ab, 1, &box->global, ag));
  PetscCall(PatchFDVecRestoreArray(b, k, &ab));
  PetscCall(PatchFDVecRestoreArrayWrite(w, k, &aw));
  PetscCall(PatchFDVecRestoreArrayRead(g, k, &ag));
  PetscCall(VecDestroy(&w));
  PetscCall(k->operatordestroy(&plan));
  PetscCall(MatBoxReset(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMCreateMatrix_Box(DM dm, Mat *A)
{
  DM_Box  *box = (DM_Box *)dm->data;
  Mat_Box *m;
  PetscInt n;
  PetscBool shell;

  PetscFunctionBegin;
  PetscCall(DMSetUp(dm));
  PetscCall(PetscIntCast(PatchFDBoxSize(&box->global), &n));
  PetscCall(PetscNew(&m));
  PetscCall(PetscObjectReference((PetscObject)dm));
  m->dm = dm;
  PetscCall(MatBoxBuild(m, box->shift));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)dm), n, n, PETSC_DETERMINE, PETSC_DETERMINE, m, A));
  PetscCall(MatShellSetManageScalingShifts(*A)); /* scaling behind our back would be unknown to the smoothers */
  PetscCall(MatShellSetOperation(*A, MATOP_MULT, (PetscErrorCodeFn *)MatMult_Poisson));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT_ADD, (PetscErrorCodeFn *)MatMultAdd_Poisson));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MatMult_Poisson));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT_TRANSPOSE_ADD, (PetscErrorCodeFn *)MatMultAdd_Poisson));
  PetscCall(MatShellSetOperation(*A, MATOP_RESIDUAL, (PetscErrorCodeFn *)MatResidual_Poisson));
  PetscCall(MatShellSetOperation(*A, MATOP_GET_DIAGONAL, (PetscErrorCodeFn *)MatGetDiagonal_Poisson));
  PetscCall(MatShellSetOperation(*A, MATOP_CREATE_VECS, (PetscErrorCodeFn *)MatCreateVecs_Poisson));
  PetscCall(MatShellSetOperation(*A, MATOP_VIEW, (PetscErrorCodeFn *)MatView_Poisson));
  PetscCall(MatShellSetOperation(*A, MATOP_DESTROY, (PetscErrorCodeFn *)MatDestroy_Poisson));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatBoxGet_C", MatBoxGet_Poisson));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatBoxUpdate_C", MatBoxUpdate_Poisson));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatConvert_shell_aij_C", MatConvert_Poisson));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatConvert_shell_seqaij_C", MatConvert_Poisson));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatConvert_shell_mpiaij_C", MatConvert_Poisson));
  PetscCall(MatShellSetVecType(*A, dm->vectype));
  PetscCall(MatSetUp(*A));
  PetscCall(MatBoxSetNullSpace(*A, m));
  PetscCall(PetscStrcmp(dm->mattype, MATSHELL, &shell));
  if (!shell) { /* -dm_mat_type aij: the assembled matrix, for other preconditioners */
    Mat assembled;

    PetscCall(MatConvert(*A, dm->mattype, MAT_INITIAL_MATRIX, &assembled));
    PetscCall(MatBoxSetNullSpace(assembled, m));
    PetscCall(PetscObjectCompose((PetscObject)assembled, "MatBoxShell", (PetscObject)*A));
    PetscCall(MatDestroy(A));
    *A = assembled;
  }
  PetscCall(MatSetDM(*A, dm));
  PetscCall(DMBoxSetSNESDefaults(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
