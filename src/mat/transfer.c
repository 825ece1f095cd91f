/*
  Grid transfer between two DMBOXes as a MATSHELL: the embedding of the coarse space in the fine one (twice the cells, or the same cells
  and a higher degree), and its transpose as restriction.  Rows and columns of Dirichlet nodes are zero.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

typedef struct {
  DM               coarse, fine;
  PatchFDEmbedding dir[3];
  void            *plan[PATCHFD_NUM_KERNELS];
} Mat_Transfer;

static PetscErrorCode MatTransferGetPlan(Mat_Transfer *t, PatchFDKernels k, void **plan)
{
  const DM_Box *coarse = (const DM_Box *)t->coarse->data, *fine = (const DM_Box *)t->fine->data;

  PetscFunctionBegin;
  if (!t->plan[k->id]) {
    PatchFDTransferDesc desc;

    desc.cbox = coarse->local;
    desc.fbox = fine->global;
    DMBoxFreeNodes(coarse, PETSC_TRUE, desc.coarse);
    DMBoxFreeNodes(fine, PETSC_FALSE, desc.fine);
    for (int d = 0; d < 3; d++) {
      const PatchFDEmbedding *e      = &t->dir[d];
      const PetscInt          stride = PetscMax(1, e->nf - 1); /* fine nodes a coarse cell */
      const PetscInt          first = fine->own[d][0], last = fine->own[d][1] - 1;

      desc.dir[d] = e;
      /* the coarse cells that hold owned fine nodes */
      desc.cells[d][0] = PetscMin(first / stride, e->ncells - 1);
      desc.cells[d][1] = last < first ? desc.cells[d][0] : PetscMin(last / stride, e->ncells - 1) + 1;
      PetscCheck(last < first || (desc.cells[d][0] * (e->nc - 1) >= coarse->local.lo[d] && desc.cells[d][1] * (e->nc - 1) < coarse->local.lo[d] + coarse->local.n[d]), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "The coarse DMBOX is distributed so that the cells below this rank's part of the fine one are out of reach in direction %d: make it by DMCoarsen() of the fine DMBOX, or the fine one by DMRefine()", d);
    }
    PetscCall(k->transfercreate(&desc, &t->plan[k->id]));
  }
  *plan = t->plan[k->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fine = fine0 + P coarse, fine0 = NULL for zero */
static PetscErrorCode MatTransferProlong(Mat P, Vec coarse, Vec fine0, Vec fine)
{
  Mat_Transfer  *t;
  PatchFDKernels k;
  const void    *ac;
  void          *af, *local, *plan;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  PetscCall(PatchFDVecGetKernels(coarse, &k));
  PetscCall(MatTransferGetPlan(t, k, &plan));
  PetscCall(PetscLogEventBegin(PATCHFD_Prolong, P, 0, 0, 0));
  if (fine0 && fine0 != fine) PetscCall(VecCopy(fine0, fine));
  PetscCall(PatchFDVecGetArrayRead(coarse, k, &ac));
  PetscCall(DMBoxGlobalToLocalBegin(t->coarse, k, ac, DMBOX_WORK_X, &local));
  PetscCall(DMBoxGlobalToLocalEnd(t->coarse, k, ac, DMBOX_WORK_X, &local));
  if (fine0) {
    PetscCall(PatchFDVecGetArray(fine, k, &af));
    PetscCall(k->transferprolong(plan, local, af));
    PetscCall(PatchFDVecRestoreArray(fine, k, &af));
  } else {
    PetscCall(PatchFDVecGetArrayWrite(fine, k, &af));
    PetscCall(k->zero(PatchFDBoxSize(&((DM_Box *)t->fine->data)->global), af));
    PetscCall(k->transferprolong(plan, local, af));
    PetscCall(PatchFDVecRestoreArrayWrite(fine, k, &af));
  }
  PetscCall(PatchFDVecRestoreArrayRead(coarse, k, &ac));
  PetscCall(PetscLogEventEnd(PATCHFD_Prolong, P, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coarse = coarse0 + P' fine.  On several ranks contributions gather in a ghosted array and then go to their owners. */
static PetscErrorCode MatTransferRestrict(Mat P, Vec fine, Vec coarse0, Vec coarse)
{
  Mat_Transfer  *t;
  DM_Box        *box;
  PatchFDKernels k;
  const void    *af;
  void          *ac, *local, *plan;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  box = (DM_Box *)t->coarse->data;
  PetscCall(PatchFDVecGetKernels(fine, &k));
  PetscCall(MatTransferGetPlan(t, k, &plan));
  PetscCall(PetscLogEventBegin(PATCHFD_Restrict, P, 0, 0, 0));
  if (coarse0 && coarse0 != coarse) PetscCall(VecCopy(coarse0, coarse));
  PetscCall(PatchFDVecGetArrayRead(fine, k, &af));
  PetscCall(PatchFDVecGetArray(coarse, k, &ac));
  if (!coarse0) PetscCall(k->zero(PatchFDBoxSize(&box->global), ac));
  if (box->halo) {
    PetscCall(DMBoxGetWork(t->coarse, k, DMBOX_WORK_R, &local));
    PetscCall(k->zero(PatchFDBoxSize(&box->local), local));
    PetscCall(k->copy(box->own, &box->global, ac, &box->local, local));
    PetscCall(k->transferrestrict(plan, af, local));
    PetscCall(DMBoxHaloAdd(t->coarse, k, local));
    PetscCall(k->copy(box->own, &box->local, local, &box->global, ac));
  } else PetscCall(k->transferrestrict(plan, af, ac));
  PetscCall(PatchFDVecRestoreArray(coarse, k, &ac));
  PetscCall(PatchFDVecRestoreArrayRead(fine, k, &af));
  PetscCall(PetscLogEventEnd(PATCHFD_Restrict, P, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_Transfer(Mat P, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatTransferProlong(P, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_Transfer(Mat P, Vec x, Vec v, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatTransferProlong(P, x, v, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_Transfer(Mat P, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatTransferRestrict(P, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_Transfer(Mat P, Vec x, Vec v, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatTransferRestrict(P, x, v, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatTransferIsOwn(Mat P, PetscBool *own)
{
  PetscFunctionBegin;
  *own = (PetscBool)(P->ops->mult == MatMult_Transfer && P->ops->multadd == MatMultAdd_Transfer && P->ops->multtranspose == MatMultTranspose_Transfer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateVecs_Transfer(Mat P, Vec *right, Vec *left)
{
  Mat_Transfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  if (right) PetscCall(DMCreateGlobalVector(t->coarse, right));
  if (left) PetscCall(DMCreateGlobalVector(t->fine, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_Transfer(Mat P)
{
  Mat_Transfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    if (t->plan[i]) PetscCall(PatchFDKernelTables[i]->transferdestroy(&t->plan[i]));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingDestroy(&t->dir[d]));
  PetscCall(DMDestroy(&t->coarse));
  PetscCall(DMDestroy(&t->fine));
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMCreateInterpolation_Box(DM coarse, DM fine, Mat *P, Vec *scale)
{
  DM_Box       *cb, *fb;
  Mat_Transfer *t;
  PetscInt      nc, nf;
  PetscBool     isbox;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)fine, DMBOX, &isbox));
  PetscCheck(isbox, PetscObjectComm((PetscObject)fine), PETSC_ERR_ARG_INCOMP, "The fine DM of an interpolation from a DMBOX must be a DMBOX; it is of type %s", ((PetscObject)fine)->type_name);
  PetscCall(DMSetUp(coarse));
  PetscCall(DMSetUp(fine));
  cb = (DM_Box *)coarse->data;
  fb = (DM_Box *)fine->data;
  PetscCall(PetscNew(&t));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingCreate(&cb->line[d], &fb->line[d], &t->dir[d]));
  PetscCall(PetscObjectReference((PetscObject)coarse));
  PetscCall(PetscObjectReference((PetscObject)fine));
  t->coarse = coarse;
  t->fine   = fine;
  PetscCall(PetscIntCast(PatchFDBoxSize(&cb->global), &nc));
  PetscCall(PetscIntCast(PatchFDBoxSize(&fb->global), &nf));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)fine), nf, nc, PETSC_DETERMINE, PETSC_DETERMINE, t, P));
  PetscCall(MatShellSetManageScalingShifts(*P));
  PetscCall(MatShellSetOperation(*P, MATOP_MULT, (PetscErrorCodeFn *)MatMult_Transfer));
  PetscCall(MatShellSetOperation(*P, MATOP_MULT_ADD, (PetscErrorCodeFn *)MatMultAdd_Transfer));
  PetscCall(MatShellSetOperation(*P, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MatMultTranspose_Transfer));
  PetscCall(MatShellSetOperation(*P, MATOP_MULT_TRANSPOSE_ADD, (PetscErrorCodeFn *)MatMultTransposeAdd_Transfer));
  PetscCall(MatShellSetOperation(*P, MATOP_CREATE_VECS, (PetscErrorCodeFn *)MatCreateVecs_Transfer));
  PetscCall(MatShellSetOperation(*P, MATOP_DESTROY, (PetscErrorCodeFn *)MatDestroy_Transfer));
  PetscCall(MatShellSetVecType(*P, fine->vectype));
  PetscCall(MatSetUp(*P));
  if (scale) *scale = NULL; /* the transpose is the restriction, without scaling */
  PetscFunctionReturn(PETSC_SUCCESS);
}
