/*
  Files of Vecs.  They hold the values in the natural order, that of all nodes with x fastest, which does not depend on the number of
  ranks: what n ranks write, m ranks can read.  One rank has that order in memory.
*/
#include <patchfd/private/boximpl.h>
#include <petsc/private/vecimpl.h>

/* from a Vec in natural order, field by field and with the layout that PETSc gives it, to the owned nodes of all ranks */
static PetscErrorCode DMBoxCreateNaturalVecSF(DM dm, Vec natural, PetscSF *sf)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscLayout   layout;
  PetscInt     *index, n = 0, first = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(box->nglobal, &index));
  for (PetscInt field = 0; field < box->nfield; field++) {
    const DMBoxField *f    = &box->field[field];
    const PatchFDBox *g    = &f->global;
    const PatchFDBox  mesh = DMBoxMesh(f);

    for (PetscInt k = 0; k < g->n[2]; k++) {
      for (PetscInt j = 0; j < g->n[1]; j++) {
        for (PetscInt i = 0; i < g->n[0]; i++)
          index[n++] = first + (PetscInt)PatchFDBoxNode(&mesh, i + g->lo[0], j + g->lo[1], k + g->lo[2]);
      }
    }
    first += (PetscInt)PatchFDBoxSize(&mesh);
  }
  PetscCall(VecGetLayout(natural, &layout));
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)dm), sf));
  PetscCall(PetscSFSetGraphLayout(*sf, layout, n, NULL, PETSC_COPY_VALUES, index));
  PetscCall(PetscFree(index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Vec in natural order that stands for v, always in double precision on the host, and how its entries are found. */
static PetscErrorCode VecCreateNatural_Box(Vec v, Vec *natural, PetscSF *sf)
{
  DM          dm;
  DM_Box     *box;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(VecGetDM(v, &dm));
  PetscCheck(dm, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_WRONGSTATE,
             "The Vec has lost its DMBOX, without which it cannot be written or read in an order that does not depend on the number of "
             "processes; use VecSetDM()");
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), natural));
  PetscCall(VecSetSizes(*natural, v->map->n, v->map->N));
  PetscCall(VecSetType(*natural, VECSTANDARD));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)v, &prefix));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)*natural, prefix));
  if (((PetscObject)v)->name) PetscCall(PetscObjectSetName((PetscObject)*natural, ((PetscObject)v)->name));
  PetscCall(DMBoxCreateNaturalVecSF(dm, *natural, sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecViewNatural_Box(Vec v, PetscViewer viewer)
{
  Vec                natural;
  PetscSF            sf;
  const PetscScalar *a;
  PetscScalar       *n;

  PetscFunctionBegin;
  if (v->map->size == 1) {
    PetscUseTypeMethod(v, viewnative, viewer);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCreateNatural_Box(v, &natural, &sf));
  PetscCall(VecGetArrayRead(v, &a));
  PetscCall(VecGetArrayWrite(natural, &n));
  PetscCall(PetscSFReduceBegin(sf, MPIU_SCALAR, a, n, MPI_REPLACE));
  PetscCall(PetscSFReduceEnd(sf, MPIU_SCALAR, a, n, MPI_REPLACE));
  PetscCall(VecRestoreArrayWrite(natural, &n));
  PetscCall(VecRestoreArrayRead(v, &a));
  ((PetscObject)natural)->donotPetscObjectPrintClassNamePrefixType = PETSC_TRUE; /* VecView() of v has printed them */
  PetscCall(VecView(natural, viewer));
  PetscCall(VecDestroy(&natural));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecLoad_Box(Vec v, PetscViewer viewer)
{
  Vec                natural;
  PetscSF            sf;
  PetscScalar       *a;
  const PetscScalar *n;

  PetscFunctionBegin;
  PetscCall(VecCreateNatural_Box(v, &natural, &sf));
  PetscCall(VecLoad(natural, viewer));
  PetscCall(VecGetArrayRead(natural, &n));
  PetscCall(VecGetArrayWrite(v, &a));
  PetscCall(PetscSFBcastBegin(sf, MPIU_SCALAR, n, a, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_SCALAR, n, a, MPI_REPLACE));
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscCall(VecRestoreArrayRead(natural, &n));
  PetscCall(VecDestroy(&natural));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}
