/*
  Local vectors: the nodes that a rank owns and those of the layers of ghost cells around them, field by field.
  All of it is the halo exchange that operators use, between Vecs of any type.
*/
#include <patchfd/private/boximpl.h>
#include <patchfd/private/vecimpl.h>

PetscErrorCode DMCreateLocalVector_Box(DM dm, Vec *v)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(VecCreate(PETSC_COMM_SELF, v));
  PetscCall(VecSetSizes(*v, (PetscInt)box->nlocal, PETSC_DETERMINE));
  PetscCall(VecSetType(*v, dm->vectype));
  PetscCall(VecSetDM(*v, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the kernels for a global and a local Vec, either of which may be NULL; both must be of the DM's sizes */
static PetscErrorCode DMBoxGetLocalKernels(DM dm, Vec global, Vec local, DM_Box **box, PatchFDKernels *kern)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, box));
  if (global) {
    PetscCall(VecGetLocalSize(global, &n));
    PetscCheck(n == (PetscInt)(*box)->nglobal, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "The global Vec has local size %" PetscInt_FMT ", but the DM has %" PetscInt_FMT
               " unknowns here; take a Vec from DMCreateGlobalVector()",
               n, (PetscInt)(*box)->nglobal);
  }
  PetscCall(VecGetLocalSize(local, &n));
  PetscCheck(n == (PetscInt)(*box)->nlocal, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The local Vec has size %" PetscInt_FMT ", but the DM has %" PetscInt_FMT " nodes here; take a Vec from DMCreateLocalVector()",
             n, (PetscInt)(*box)->nlocal);
  PetscCall(PatchFDVecGetKernels(local, kern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCheckInsert(DM dm, const char *who, InsertMode mode)
{
  PetscFunctionBegin;
  PetscCheck(mode == INSERT_VALUES, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "%s of a DMBOX has the mode INSERT_VALUES only, not %d", who, (int)mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* local = from, on the nodes that this rank owns, and ghosts.  All of it in Begin: several Vecs may be between Begin and End, and buffers
   have room for one */
static PetscErrorCode DMBoxHaloVec(DM dm, Vec from, PetscBool fromlocal, Vec local)
{
  PatchFDKernels kern;
  const void    *f;
  void          *l;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(local, &kern));
  PetscCall(PatchFDVecGetArrayRead(from, kern, &f));
  PetscCall(PatchFDVecGetArrayWrite(local, kern, &l));
  PetscCall(DMBoxCopyOwned(dm, kern, fromlocal, f, PETSC_TRUE, l));
  PetscCall(DMBoxHaloBegin(dm, kern, 1, &l));
  PetscCall(DMBoxHaloEnd(dm, kern, 1, &l));
  PetscCall(PatchFDVecRestoreArrayWrite(local, kern, &l));
  PetscCall(PatchFDVecRestoreArrayRead(from, kern, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMGlobalToLocalBegin_Box(DM dm, Vec global, InsertMode mode, Vec local)
{
  DM_Box        *box;
  PatchFDKernels kern;

  PetscFunctionBegin;
  PetscCall(DMBoxCheckInsert(dm, "DMGlobalToLocal()", mode));
  PetscCall(DMBoxGetLocalKernels(dm, global, local, &box, &kern));
  PetscCall(DMBoxHaloVec(dm, global, PETSC_FALSE, local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMGlobalToLocalEnd_Box(PETSC_UNUSED DM dm, PETSC_UNUSED Vec global, PETSC_UNUSED InsertMode mode, PETSC_UNUSED Vec local)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMLocalToLocalBegin_Box(DM dm, Vec from, InsertMode mode, Vec to)
{
  DM_Box        *box;
  PatchFDKernels kern;

  PetscFunctionBegin;
  PetscCall(DMBoxCheckInsert(dm, "DMLocalToLocal()", mode));
  PetscCall(DMBoxGetLocalKernels(dm, NULL, from, &box, &kern));
  PetscCall(DMBoxGetLocalKernels(dm, NULL, to, &box, &kern));
  if (from == to) { /* the owned nodes are in place */
    void *l;

    PetscCall(PatchFDVecGetArray(to, kern, &l));
    PetscCall(DMBoxHaloBegin(dm, kern, 1, &l));
    PetscCall(DMBoxHaloEnd(dm, kern, 1, &l));
    PetscCall(PatchFDVecRestoreArray(to, kern, &l));
  } else PetscCall(DMBoxHaloVec(dm, from, PETSC_TRUE, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMLocalToLocalEnd_Box(PETSC_UNUSED DM dm, PETSC_UNUSED Vec from, PETSC_UNUSED InsertMode mode, PETSC_UNUSED Vec to)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void DMBoxLocalNodes(const DMBoxField *f, PatchFDRange all)
{
  for (PetscInt d = 0; d < 3; d++) {
    all[d][0] = f->local.lo[d];
    all[d][1] = f->local.lo[d] + f->local.n[d];
  }
}

/* what all ranks have for a node goes to its owner; `l` itself is left as it is */
static PetscErrorCode DMBoxLocalToGlobalAdd(DM dm, PatchFDKernels kern, const void *l, void *g)
{
  DM_Box            *box  = (DM_Box *)dm->data;
  const PatchFDRange none = {{0, 0}, {0, 0}, {0, 0}};
  const void        *sum  = l;

  PetscFunctionBegin;
  if (box->halo) {
    void *work;

    PetscCall(DMBoxGetWork(dm, kern, DMBOX_WORK_B, &work));
    for (PetscInt i = 0; i < box->nfield; i++) {
      const DMBoxField *f  = &box->field[i];
      const size_t      at = f->local0 * kern->size;
      PatchFDRange      all;

      DMBoxLocalNodes(f, all);
      PetscCall((*kern->copy)(all, &f->local, (const char *)l + at, &f->local, (char *)work + at));
    }
    PetscCall(DMBoxHaloAdd(dm, kern, work));
    sum = work;
  }
  for (PetscInt i = 0; i < box->nfield; i++) {
    const DMBoxField *f = &box->field[i];

    PetscCall((*kern->fixed)(f->own, none, 1, &f->global, (char *)g + f->global0 * kern->size, 1, &f->local,
                             (const char *)sum + f->local0 * kern->size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxInfoKernels(DM dm, PatchFDKernels kern, const char what[], const char kernels[])
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  if (kernels)
    PetscCall(
      PetscInfo(dm, "%s kernels of degree %" PetscInt_FMT " for %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " cells, %s: %s\n",
                kern->name, box->degree, box->cells[0], dm->dim > 1 ? box->cells[1] : 1, dm->dim > 2 ? box->cells[2] : 1, what, kernels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMLocalToGlobalBegin_Box(DM dm, Vec local, InsertMode mode, Vec global)
{
  DM_Box        *box;
  PatchFDKernels kern;
  const void    *l;
  void          *g;

  PetscFunctionBegin;
  PetscCheck(mode == INSERT_VALUES || mode == ADD_VALUES, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "DMLocalToGlobal() of a DMBOX has the modes INSERT_VALUES and ADD_VALUES, not %d", (int)mode);
  PetscCall(DMBoxGetLocalKernels(dm, global, local, &box, &kern));
  PetscCall(PatchFDVecGetArrayRead(local, kern, &l));
  PetscCall(PatchFDVecGetArray(global, kern, &g));
  if (mode == INSERT_VALUES) PetscCall(DMBoxCopyOwned(dm, kern, PETSC_TRUE, l, PETSC_FALSE, g));
  else PetscCall(DMBoxLocalToGlobalAdd(dm, kern, l, g));
  PetscCall(PatchFDVecRestoreArray(global, kern, &g));
  PetscCall(PatchFDVecRestoreArrayRead(local, kern, &l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nothing is left to do */
PetscErrorCode DMLocalToGlobalEnd_Box(PETSC_UNUSED DM dm, PETSC_UNUSED Vec local, PETSC_UNUSED InsertMode mode, PETSC_UNUSED Vec global)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMGetLocalToGlobalMapping_Box(DM dm)
{
  DM_Box   *box;
  PetscInt *index;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxGetLocalToGlobal(dm, &index));
  PetscCall(
    ISLocalToGlobalMappingCreate(PetscObjectComm((PetscObject)dm), 1, (PetscInt)box->nlocal, index, PETSC_OWN_POINTER, &dm->ltogmap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ what operators use ------------------------------------------------ */

PetscErrorCode DMBoxGetWork(DM dm, PatchFDKernels kern, int slot, void **work)
{
  DM_Box *box = (DM_Box *)dm->data;
  void  **w   = &box->work[kern->id][slot];

  PetscFunctionBegin;
  if (!*w) {
    const size_t n = PetscMax(box->nlocal, 1);

    PetscCall((*kern->malloc)(n, w));
    PetscCall((*kern->zero)(n, *w));
    box->kernels[kern->id] = kern;
  }
  *work = *w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCopyOwned(DM dm, PatchFDKernels kern, PetscBool fromlocal, const void *from, PetscBool tolocal, void *to)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield; i++) {
    const DMBoxField *f    = &box->field[i];
    const char       *src  = (const char *)from + (fromlocal ? f->local0 : f->global0) * kern->size;
    char             *dest = (char *)to + (tolocal ? f->local0 : f->global0) * kern->size;

    PetscCall((*kern->copy)(f->own, fromlocal ? &f->local : &f->global, src, tolocal ? &f->local : &f->global, dest));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool DMBoxHasFixed(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  for (PetscInt i = 0; i < box->nfield; i++)
    for (int d = 0; d < 3; d++)
      if (PatchFDLineFixed(&box->field[i].line[d], 0) || PatchFDLineFixed(&box->field[i].line[d], 1)) return PETSC_TRUE;
  return PETSC_FALSE;
}

PetscErrorCode DMBoxSetFixed(DM dm, PatchFDKernels kern, PetscReal a, void *y, PetscReal b, const void *x)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield; i++) {
    const DMBoxField *f  = &box->field[i];
    const size_t      at = f->global0 * kern->size;

    PetscCall((*kern->fixed)(f->own, f->free, a, &f->global, (char *)y + at, b, &f->global, (const char *)x + at));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxSetFixedVec(DM dm, Vec y, PetscReal b, Vec x)
{
  PatchFDKernels kern;
  const void    *ax;
  void          *ay;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(y, &kern));
  PetscCall(PatchFDVecGetArrayRead(x, kern, &ax));
  PetscCall(PatchFDVecGetArray(y, kern, &ay));
  PetscCall(DMBoxSetFixed(dm, kern, 0, ay, b, ax));
  PetscCall(PatchFDVecRestoreArray(y, kern, &ay));
  PetscCall(PatchFDVecRestoreArrayRead(x, kern, &ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the local array that a global one is in, or NULL */
static void *DMBoxLocalAround(const DM_Box *box, PatchFDKernels kern, const void *global)
{
  const PetscBool has = (PetscBool)((box->room[0] || box->room[1]) && PatchFDRoomHas(global, box->room));

  return has ? (char *)global - box->room[0] * kern->size : NULL;
}

PetscErrorCode DMBoxGlobalToLocalOwned(DM dm, PatchFDKernels kern, const void *global, int slot, void **local)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  *local = box->halo ? DMBoxLocalAround(box, kern, global) : (void *)global;
  if (*local) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxGetWork(dm, kern, slot, local));
  PetscCall(DMBoxCopyOwned(dm, kern, PETSC_FALSE, global, PETSC_TRUE, *local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxGlobalToLocalZero(DM dm, PatchFDKernels kern, const void *global, PetscBool zero, int slot, void **local)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  *local = box->halo ? DMBoxLocalAround(box, kern, global) : (void *)global;
  if (*local && box->halo) {
    PetscCall((*kern->zero)(box->room[0], *local));
    PetscCall((*kern->zero)(box->room[1], (char *)*local + (box->nlocal - box->room[1]) * kern->size));
  }
  if (*local) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxGetWork(dm, kern, slot, local));
  PetscCall((*kern->zero)(box->nlocal, *local));
  if (!zero) PetscCall(DMBoxCopyOwned(dm, kern, PETSC_FALSE, global, PETSC_TRUE, *local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* are a local array and its ghosts one copy, because all of them are images of this rank's nodes, in another array? */
static PetscBool DMBoxIsOneCopy(const DM_Box *box, PatchFDKernels kern, const void *global)
{
  return (PetscBool)(DMBoxIsAround(box) && !DMBoxLocalAround(box, kern, global));
}

PetscErrorCode DMBoxGlobalToLocalBegin(DM dm, PatchFDKernels kern, const void *global, int slot, void **local)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  if (DMBoxIsOneCopy(box, kern, global)) {
    PetscCall(DMBoxGetWork(dm, kern, slot, local));
    for (PetscInt i = 0; i < box->nfield; i++) {
      const DMBoxField *f = &box->field[i];
      PatchFDRange      all;

      DMBoxLocalNodes(f, all);
      PetscCall((*kern->copy)((const PetscInt(*)[2])all, &f->global, (const char *)global + f->global0 * kern->size, &f->local,
                              (char *)*local + f->local0 * kern->size));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMBoxGlobalToLocalOwned(dm, kern, global, slot, local));
  PetscCall(DMBoxHaloBegin(dm, kern, 1, local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxGlobalToLocalEnd(DM dm, PatchFDKernels kern, const void *global, PETSC_UNUSED int slot, void **local)
{
  PetscFunctionBegin;
  if (!DMBoxIsOneCopy((const DM_Box *)dm->data, kern, global)) PetscCall(DMBoxHaloEnd(dm, kern, 1, local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxLocalToGlobal(DM dm, PatchFDKernels kern, const void *local, void *global)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  if (box->halo && local != DMBoxLocalAround(box, kern, global))
    PetscCall(DMBoxCopyOwned(dm, kern, PETSC_TRUE, local, PETSC_FALSE, global));
  PetscFunctionReturn(PETSC_SUCCESS);
}
