/*
  Transfer between polynomials of two degrees on the cells of a mesh, as a MATSHELL: the embedding of the lower degree in the higher one,
  and its transpose as restriction.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/bakeoffimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

typedef struct {
  Mat              coarse, fine;
  PatchFDEmbedding dir[3];
  void            *plan[PATCHFD_NUM_KERNELS];
} Mat_Degrees;

static PetscErrorCode DegreesGetPlan(Mat_Degrees *t, PatchFDKernels kern, void **plan)
{
  PetscFunctionBegin;
  if (!t->plan[kern->id]) {
    Mat_Bakeoff        *c, *f;
    PatchFDMeshTransfer mesh;
    PatchFDTransferDesc desc = {.mesh = &mesh, .dir = {&t->dir[0], &t->dir[1], &t->dir[2]}};
    PetscInt           *first;

    PetscCall(MatBakeoffFind(t->coarse, &c));
    PetscCall(MatBakeoffFind(t->fine, &f));
    PetscCall(PetscMalloc1(f->cells.ncells * f->cells.size, &first));
    PetscCall(PatchFDHostFirstNodes(f->cells.ncells * f->cells.size, f->cells.index, f->cells.nodes->n, first));
    mesh = (PatchFDMeshTransfer){.ncomp = f->cells.ncomp, .ncells = f->cells.ncells, .coarse = c->cells.index, .fine = first};
    PetscCall((*kern->transfercreate)(&desc, &t->plan[kern->id]));
    PetscCall(PetscFree(first));
  }
  *plan = t->plan[kern->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an array of this rank's fine nodes, which need no ghosts: the vector's own, but where it does not have all of their components */
static PetscErrorCode DegreesGetNodes(const Mat_Bakeoff *f, PatchFDKernels kern, const void *fine, void **kept, void **own)
{
  PetscFunctionBegin;
  *own = (void *)fine;
  if (f->expand) PetscCall(BakeoffGetLocal(f, kern, fine, kept, own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fine = fine0 + P coarse, fine0 = NULL for zero */
static PetscErrorCode MatProlong_Degrees(Mat P, Vec coarse, Vec fine0, Vec fine)
{
  Mat_Degrees   *t;
  Mat_Bakeoff   *m, *f;
  PatchFDKernels kern;
  const void    *ac, *local;
  void          *af, *own, *plan;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  PetscCall(MatBakeoffFind(t->coarse, &m));
  PetscCall(MatBakeoffFind(t->fine, &f));
  PetscCall(PatchFDVecGetKernels(coarse, &kern));
  PetscCall(DegreesGetPlan(t, kern, &plan));
  PetscCall(PetscLogEventBegin(PATCHFD_Prolong, P, 0, 0, 0));
  if (!fine0) PetscCall(VecZeroEntries(fine));
  else if (fine0 != fine) PetscCall(VecCopy(fine0, fine));
  PetscCall(PatchFDVecGetArrayRead(coarse, kern, &ac));
  PetscCall(PatchFDVecGetArray(fine, kern, &af));
  PetscCall(MatBakeoffGlobalToLocal(m, kern, ac, &local));
  PetscCall(DegreesGetNodes(f, kern, af, &f->kern[kern->id].y, &own));
  if (own != af) PetscCall((*kern->zero)(f->nowned, own));
  PetscCall((*kern->transferprolong)(plan, local, own));
  PetscCall(BakeoffFromNodes(f, kern, PETSC_TRUE, own, af));
  PetscCall(PatchFDVecRestoreArray(fine, kern, &af));
  PetscCall(PatchFDVecRestoreArrayRead(coarse, kern, &ac));
  PetscCall(PetscLogEventEnd(PATCHFD_Prolong, P, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coarse = coarse0 + P' fine */
static PetscErrorCode MatRestrict_Degrees(Mat P, Vec fine, Vec coarse0, Vec coarse)
{
  Mat_Degrees   *t;
  Mat_Bakeoff   *m, *f;
  PatchFDKernels kern;
  const void    *af;
  void          *ac, *local, *own, *plan;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  PetscCall(MatBakeoffFind(t->coarse, &m));
  PetscCall(MatBakeoffFind(t->fine, &f));
  PetscCall(PatchFDVecGetKernels(fine, &kern));
  PetscCall(DegreesGetPlan(t, kern, &plan));
  PetscCall(PetscLogEventBegin(PATCHFD_Restrict, P, 0, 0, 0));
  if (!coarse0) PetscCall(VecZeroEntries(coarse));
  else if (coarse0 != coarse) PetscCall(VecCopy(coarse0, coarse));
  PetscCall(PatchFDVecGetArrayRead(fine, kern, &af));
  PetscCall(PatchFDVecGetArray(coarse, kern, &ac));
  PetscCall(DegreesGetNodes(f, kern, af, &f->kern[kern->id].x, &own));
  PetscCall(BakeoffToNodes(f, kern, af, own));
  PetscCall(MatBakeoffSumBegin(m, kern, ac, &local));
  PetscCall((*kern->transferrestrict)(plan, own, local));
  PetscCall(MatBakeoffSumEnd(m, kern, ac, &local));
  PetscCall(PatchFDVecRestoreArray(coarse, kern, &ac));
  PetscCall(PatchFDVecRestoreArrayRead(fine, kern, &af));
  PetscCall(PetscLogEventEnd(PATCHFD_Restrict, P, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MAT_TRANSFERS(Degrees)

static PetscErrorCode MatDestroy_Degrees(Mat P)
{
  Mat_Degrees *t;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(P, &t));
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    if (t->plan[i]) PetscCall(PatchFDKernelTables[i]->transferdestroy(&t->plan[i]));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingDestroy(&t->dir[d]));
  PetscCall(MatDestroy(&t->coarse));
  PetscCall(MatDestroy(&t->fine));
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of one cell in a direction; directions that do not exist are points */
static PetscErrorCode DegreesEmbed(PetscInt coarse, PetscInt fine, PatchFDEmbedding *e)
{
  const PetscReal cell[]    = {0, 1};
  const PetscBool neither[] = {PETSC_FALSE, PETSC_FALSE};
  PatchFDLine     from, to;

  PetscFunctionBegin;
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, coarse, 1, cell, neither, &from));
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, fine, 1, cell, neither, &to));
  PetscCall(PatchFDEmbeddingCreate(&from, &to, e));
  PetscCall(PatchFDLineDestroy(&from));
  PetscCall(PatchFDLineDestroy(&to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateDegrees(Mat coarse, Mat fine, Mat *P)
{
  static const MatShellOperation operations[] = {MAT_TRANSFER_OPERATIONS(Degrees), {MATOP_DESTROY, (PetscVoidFn *)MatDestroy_Degrees}};
  Mat_Degrees                   *t;
  Mat_Bakeoff                   *c, *f;

  PetscFunctionBegin;
  PetscCall(PetscNew(&t));
  PetscCall(MatBakeoffFind(coarse, &c));
  PetscCall(MatBakeoffFind(fine, &f));
  for (int d = 0; d < 3; d++) {
    const PetscBool exists = (PetscBool)(d < f->cells.dim);

    PetscCall(DegreesEmbed(exists ? c->cells.degree : 0, exists ? f->cells.degree : 0, &t->dir[d]));
  }
  PetscCall(PetscObjectReference((PetscObject)coarse));
  PetscCall(PetscObjectReference((PetscObject)fine));
  t->coarse = coarse;
  t->fine   = fine;
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)fine), fine->rmap->n, coarse->rmap->n, fine->rmap->N, coarse->rmap->N, t, P));
  PetscCall(MatShellSetManageScalingShifts(*P));
  PetscCall(MatShellSetVecType(*P, fine->defaultvectype));
  PetscCall(MatShellSetOperations(*P, PETSC_STATIC_ARRAY_LENGTH(operations), operations));
  PetscCall(MatSetUp(*P));
  PetscFunctionReturn(PETSC_SUCCESS);
}
