/*
  Grid transfer between two DMBOXes as a MATSHELL: the embedding of the coarse space in the fine one (twice the cells, or the same cells
  and a higher degree), and its transpose as restriction.  Rows and columns of Dirichlet nodes are zero.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

typedef struct {
  DM               coarse, fine;
  PetscInt         nfield;
  PatchFDEmbedding dir[DMBOX_MAX_FIELDS][3];
  void            *plan[DMBOX_MAX_FIELDS][PATCHFD_NUM_KERNELS];
  Vec              mask, work; /* NULL, or one and zero at the fine nodes whose rows are there and are not; a fine Vec */
} Mat_Transfer;

static PetscErrorCode MatTransferDescribe(const Mat_Transfer *t, PetscInt f, PatchFDTransferDesc *desc)
{
  const DMBoxField *coarse = &((const DM_Box *)t->coarse->data)->field[f], *fine = &((const DM_Box *)t->fine->data)->field[f];

  PetscFunctionBegin;
  desc->mesh = NULL;
  desc->cbox = coarse->local;
  desc->fbox = fine->global;
  DMBoxFreeNodes(coarse, PETSC_TRUE, desc->coarse);
  DMBoxFreeNodes(fine, PETSC_FALSE, desc->fine);
  for (int d = 0; d < 3; d++) {
    const PatchFDEmbedding *e      = &t->dir[f][d];
    const PetscInt          stride = PetscMax(1, e->fstride);          /* fine nodes a coarse cell */
    const PetscInt          before = e->before * fine->line[d].stride; /* nodes of a cell that does not exist */
    const PetscInt          first = fine->own[d][0] + before, last = fine->own[d][1] + before - 1, lo = coarse->local.lo[d],
                   hi = lo + coarse->local.n[d];

    desc->dir[d] = e;
    desc->fbox.lo[d] += before;
    for (int i = 0; i < 2; i++) desc->fine[d][i] += before;
    /* the coarse cells that hold owned fine nodes */
    desc->cells[d][0] = PetscMin(first / stride, e->ncells - 1);
    desc->cells[d][1] = last < first ? desc->cells[d][0] : PetscMin(last / stride, e->ncells - 1) + 1;
    PetscCheck(last < first || (desc->cells[d][0] * e->cstride >= lo && (desc->cells[d][1] - 1) * e->cstride + e->nc <= hi),
               PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "The coarse DMBOX is distributed so that the cells below this rank's part of the fine one are out of reach in direction %d: "
               "make it by DMCoarsen() of the fine DMBOX, or the fine one by DMRefine()",
               d);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransferSetUp(Mat_Transfer *t, PatchFDKernels kern)
{
  PetscFunctionBegin;
  for (PetscInt f = 0; f < t->nfield; f++) {
    PatchFDTransferDesc desc;

    if (t->plan[f][kern->id]) continue;
    PetscCall(MatTransferDescribe(t, f, &desc));
    PetscCall(kern->transfercreate(&desc, &t->plan[f][kern->id]));
    PetscCall(DMBoxInfoKernels(t->fine, kern, "transfers", kern->transfername ? kern->transfername(t->plan[f][kern->id]) : NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fine += P coarse, the coarse array with ghosts */
static PetscErrorCode MatTransferProlongFields(const Mat_Transfer *t, PatchFDKernels kern, const void *coarse, void *fine)
{
  const DM_Box *cb = (const DM_Box *)t->coarse->data, *fb = (const DM_Box *)t->fine->data;

  PetscFunctionBegin;
  for (PetscInt f = 0; f < t->nfield; f++)
    PetscCall(kern->transferprolong(t->plan[f][kern->id], (const char *)coarse + cb->field[f].local0 * kern->size,
                                    (char *)fine + fb->field[f].global0 * kern->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coarse += P' fine, the coarse array with ghosts */
static PetscErrorCode MatTransferRestrictFields(const Mat_Transfer *t, PatchFDKernels kern, const void *fine, void *coarse)
{
  const DM_Box *cb = (const DM_Box *)t->coarse->data, *fb = (const DM_Box *)t->fine->data;

  PetscFunctionBegin;
  for (PetscInt f = 0; f < t->nfield; f++)
    PetscCall(kern->transferrestrict(t->plan[f][kern->id], (const char *)fine + fb->field[f].global0 * kern->size,
                                     (char *)coarse + cb->field[f].local0 * kern->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fine = fine0 + P coarse, fine0 = NULL for zero */
static PetscErrorCode MatTransferProlong(Mat P, Vec coarse, Vec fine0, Vec fine)
{
  Mat_Transfer  *t;
  PatchFDKernels kern;
  const void    *ac;
  void          *af, *local;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  PetscCall(PatchFDVecGetKernels(coarse, &kern));
  PetscCall(MatTransferSetUp(t, kern));
  PetscCall(PetscLogEventBegin(PATCHFD_Prolong, P, 0, 0, 0));
  if (fine0 && fine0 != fine) PetscCall(VecCopy(fine0, fine));
  PetscCall(PatchFDVecGetArrayRead(coarse, kern, &ac));
  PetscCall(DMBoxGlobalToLocalBegin(t->coarse, kern, ac, DMBOX_WORK_X, &local));
  PetscCall(DMBoxGlobalToLocalEnd(t->coarse, kern, ac, DMBOX_WORK_X, &local));
  if (fine0) {
    PetscCall(PatchFDVecGetArray(fine, kern, &af));
    PetscCall(MatTransferProlongFields(t, kern, local, af));
    PetscCall(PatchFDVecRestoreArray(fine, kern, &af));
  } else {
    PetscCall(PatchFDVecGetArrayWrite(fine, kern, &af));
    PetscCall(kern->zero(((DM_Box *)t->fine->data)->nglobal, af));
    PetscCall(MatTransferProlongFields(t, kern, local, af));
    PetscCall(PatchFDVecRestoreArrayWrite(fine, kern, &af));
  }
  PetscCall(PatchFDVecRestoreArrayRead(coarse, kern, &ac));
  PetscCall(PetscLogEventEnd(PATCHFD_Prolong, P, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coarse = coarse0 + P' fine.  On several ranks contributions gather in a ghosted array and then go to their owners. */
static PetscErrorCode MatTransferRestrict(Mat P, Vec fine, Vec coarse0, Vec coarse)
{
  Mat_Transfer  *t;
  DM_Box        *box;
  PatchFDKernels kern;
  const void    *af;
  void          *ac, *local;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  box = (DM_Box *)t->coarse->data;
  PetscCall(PatchFDVecGetKernels(fine, &kern));
  PetscCall(MatTransferSetUp(t, kern));
  PetscCall(PetscLogEventBegin(PATCHFD_Restrict, P, 0, 0, 0));
  if (coarse0 && coarse0 != coarse) PetscCall(VecCopy(coarse0, coarse));
  PetscCall(PatchFDVecGetArrayRead(fine, kern, &af));
  PetscCall(PatchFDVecGetArray(coarse, kern, &ac));
  if (!coarse0) PetscCall(kern->zero(box->nglobal, ac));
  PetscCall(DMBoxGlobalToLocalZero(t->coarse, kern, ac, (PetscBool)!coarse0, DMBOX_WORK_R, &local));
  PetscCall(MatTransferRestrictFields(t, kern, af, local));
  PetscCall(DMBoxHaloAdd(t->coarse, kern, local));
  PetscCall(DMBoxLocalToGlobal(t->coarse, kern, local, ac));
  PetscCall(PatchFDVecRestoreArray(coarse, kern, &ac));
  PetscCall(PatchFDVecRestoreArrayRead(fine, kern, &af));
  PetscCall(PetscLogEventEnd(PATCHFD_Restrict, P, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with a mask, which is not for matrices that are converted, since their entries are not masked */
static PetscErrorCode MatProlong_Transfer(Mat P, Vec coarse, Vec fine0, Vec fine)
{
  Mat_Transfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  if (!t->mask) {
    PetscCall(MatTransferProlong(P, coarse, fine0, fine));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatTransferProlong(P, coarse, NULL, t->work));
  PetscCall(VecPointwiseMult(t->work, t->work, t->mask));
  if (!fine0) PetscCall(VecCopy(t->work, fine));
  else if (fine0 == fine) PetscCall(VecAXPY(fine, 1, t->work));
  else PetscCall(VecWAXPY(fine, 1, t->work, fine0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestrict_Transfer(Mat P, Vec fine, Vec coarse0, Vec coarse)
{
  Mat_Transfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  if (t->mask) PetscCall(VecPointwiseMult(t->work, fine, t->mask));
  PetscCall(MatTransferRestrict(P, t->mask ? t->work : fine, coarse0, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatTransferSetMask(Mat P, Vec mask)
{
  Mat_Transfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  PetscCall(DMCreateGlobalVector(t->fine, &t->work));
  PetscCall(VecDuplicate(t->work, &t->mask));
  PetscCall(VecSingleConvert(mask, 1, t->mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MAT_TRANSFERS(Transfer)

PetscErrorCode MatTransferIsOwn(Mat P, PetscBool *own)
{
  PetscFunctionBegin;
  *own = (PetscBool)(P->ops->mult == MatMult_Transfer && P->ops->multadd == MatMultAdd_Transfer &&
                     P->ops->multtranspose == MatMultTranspose_Transfer);
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

static PetscErrorCode MatBoxTriples_Transfer(Mat P, PetscCount *count, PetscInt **i, PetscInt **j, PetscScalar **v)
{
  Mat_Transfer       *t;
  PatchFDTransferDesc desc[DMBOX_MAX_FIELDS];
  PetscInt           *column;
  PetscCount          n, first = 0;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  PetscCheck(!t->mask, PetscObjectComm((PetscObject)P), PETSC_ERR_SUP, "The interpolation of a body of voxels cannot be assembled");
  PetscCall(DMBoxGetLocalToGlobal(t->coarse, &column));
  *count = 0;
  for (int fill = 0; fill < 2; fill++) {
    for (PetscInt f = 0; f < t->nfield; f++) {
      const PetscInt  row = P->rmap->rstart + (PetscInt)((const DM_Box *)t->fine->data)->field[f].global0;
      const PetscInt *col = column + ((const DM_Box *)t->coarse->data)->field[f].local0;

      if (!fill) PetscCall(MatTransferDescribe(t, f, &desc[f]));
      PetscCall(
        PatchFDHostTransferTriples(&desc[f], row, col, &n, fill ? *i + first : NULL, fill ? *j + first : NULL, fill ? *v + first : NULL));
      if (fill) first += n;
      else *count += n;
    }
    if (!fill) PetscCall(PetscMalloc3(*count, i, *count, j, *count, v));
  }
  PetscCall(PetscFree(column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_Transfer(Mat P, PetscViewer viewer)
{
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(MatBoxShellViewASCII(P, viewer, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "matrix-free interpolation from a DMBOX with %" PetscInt_FMT " nodes to one with %" PetscInt_FMT "\n",
                                   P->cmap->N, P->rmap->N));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransferCreate(DM, DM, Mat *);

/* there is one set of values: with or without them the copy has it */
static PetscErrorCode MatDuplicate_Transfer(Mat P, PETSC_UNUSED MatDuplicateOption option, Mat *Q)
{
  Mat_Transfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  PetscCall(MatTransferCreate(t->coarse, t->fine, Q));
  if (t->mask) PetscCall(MatTransferSetMask(*Q, t->mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_Transfer(Mat P)
{
  Mat_Transfer *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  for (PetscInt f = 0; f < t->nfield; f++) {
    for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
      if (t->plan[f][i]) PetscCall(PatchFDKernelTables[i]->transferdestroy(&t->plan[f][i]));
    for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingDestroy(&t->dir[f][d]));
  }
  PetscCall(VecDestroy(&t->mask));
  PetscCall(VecDestroy(&t->work));
  PetscCall(DMDestroy(&t->coarse));
  PetscCall(DMDestroy(&t->fine));
  PetscCall(PetscFree(t));
  PetscCall(MatBoxShellDestroy(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransferCreate(DM coarse, DM fine, Mat *P)
{
  static const MatShellOperation operations[] = {MAT_TRANSFER_OPERATIONS(Transfer),
                                                 {MATOP_CREATE_VECS, (PetscVoidFn *)MatCreateVecs_Transfer},
                                                 {MATOP_DUPLICATE, (PetscVoidFn *)MatDuplicate_Transfer},
                                                 {MATOP_VIEW, (PetscVoidFn *)MatView_Transfer},
                                                 {MATOP_DESTROY, (PetscVoidFn *)MatDestroy_Transfer}};
  const DM_Box                  *cb = (const DM_Box *)coarse->data, *fb = (const DM_Box *)fine->data;
  Mat_Transfer                  *t;

  PetscFunctionBegin;
  PetscCall(PetscNew(&t));
  PetscCheck(cb->nfield == fb->nfield, PetscObjectComm((PetscObject)fine), PETSC_ERR_ARG_INCOMP,
             "Interpolation between two DMBOXes with %" PetscInt_FMT " and %" PetscInt_FMT " fields (-dm_box_space)", cb->nfield,
             fb->nfield);
  t->nfield = fb->nfield;
  for (PetscInt f = 0; f < t->nfield; f++)
    for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingCreate(&cb->field[f].line[d], &fb->field[f].line[d], &t->dir[f][d]));
  PetscCall(PetscObjectReference((PetscObject)coarse));
  PetscCall(PetscObjectReference((PetscObject)fine));
  t->coarse = coarse;
  t->fine   = fine;
  PetscCall(MatBoxShellCreate(fine, fb->nglobal, cb->nglobal, t, MatBoxTriples_Transfer, P));
  PetscCall(MatShellSetOperations(*P, PETSC_STATIC_ARRAY_LENGTH(operations), operations));
  PetscCall(MatSetUp(*P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMCreateInterpolation_MatBox(DM coarse, DM fine, Mat *P, Vec *scale)
{
  PetscBool isbox, shell, aij;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)fine, DMBOX, &isbox));
  PetscCheck(isbox, PetscObjectComm((PetscObject)fine), PETSC_ERR_ARG_INCOMP,
             "The fine DM of an interpolation from a DMBOX must be a DMBOX; it is of type %s", ((PetscObject)fine)->type_name);
  PetscCall(DMSetUp(coarse));
  PetscCall(DMSetUp(fine));
  PetscCall(MatTransferCreate(coarse, fine, P));
  PetscCall(PetscStrcmp(fine->mattype, MATSHELL, &shell));
  if (!shell) { /* -dm_mat_type aij: products P' A P are possible.  Not all types are for matrices that are not square */
    Mat assembled;

    PetscCall(PetscStrbeginswith(fine->mattype, MATAIJ, &aij));
    PetscCall(MatConvert(*P, aij ? fine->mattype : MATAIJ, MAT_INITIAL_MATRIX, &assembled));
    PetscCall(MatSetVecType(assembled, fine->vectype));
    PetscCall(MatDestroy(P));
    *P = assembled;
  }
  if (scale) *scale = NULL; /* the transpose is the restriction, without scaling */
  PetscFunctionReturn(PETSC_SUCCESS);
}
