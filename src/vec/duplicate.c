/* What duplicates have of a Vec, and several of them: PETSc has these for its own types alone */
#include <patchfd/private/vecimpl.h>

PetscErrorCode PatchFDVecInherit(Vec v, Vec w)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectListDuplicate(((PetscObject)v)->olist, &((PetscObject)w)->olist));
  PetscCall(PetscFunctionListDuplicate(((PetscObject)v)->qlist, &((PetscObject)w)->qlist));
  /* DMs replace view and load */
  w->ops->view          = v->ops->view;
  w->ops->viewnative    = v->ops->viewnative;
  w->ops->load          = v->ops->load;
  w->ops->loadnative    = v->ops->loadnative;
  w->stash.donotstash   = v->stash.donotstash;
  w->stash.ignorenegidx = v->stash.ignorenegidx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecDuplicateVecs(Vec v, PetscInt m, Vec **w)
{
  PetscFunctionBegin;
  PetscCheck(m > 0, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_OUTOFRANGE, "m must be > 0: m = %" PetscInt_FMT, m);
  PetscCall(PetscMalloc1(m, w));
  for (PetscInt i = 0; i < m; i++) PetscCall(VecDuplicate(v, *w + i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecDestroyVecs(PetscInt m, Vec w[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < m; i++) PetscCall(VecDestroy(&w[i]));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
