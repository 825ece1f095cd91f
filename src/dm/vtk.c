/*
  VecView() with a VTK viewer.  The nodes of a DMBOX are those of a DMDA with the same ownership, entry by entry, and PETSc writes DMDAs.
  The viewer keeps the DMDA and a copy of the values until it is destroyed; it knows nothing of the DMBOX.
*/
#include <patchfd/private/boximpl.h>
#include <petscdmda.h>
#include <petsc/private/vecimpl.h>

/* PETSc counts a piece without nodes in the offsets of a file, but writes nothing for it, so that all that follows is read from wrong places. */
static PetscErrorCode DMBoxCheckPieces(DM dm)
{
  const DM_Box     *box = (const DM_Box *)dm->data;
  const DMBoxField *f   = &box->field[0];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    for (PetscInt p = 0; p < box->processes[d]; p++) {
      PetscInt first, end;

      DMBoxOwnRange(box, f, d, p, &first, &end);
      PetscCheck(first < end, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
                 "Cannot write a file for ParaView: of the %" PetscInt_FMT " MPI processes in direction %" PetscInt_FMT ", number %" PetscInt_FMT " has none of the %" PetscInt_FMT " cells.  "
                 "Use fewer processes, or a finer mesh",
                 box->processes[d], d, p, box->cells[d]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCreateDMDA(DM dm, DM *da)
{
  const DM_Box     *box = (const DM_Box *)dm->data;
  const DMBoxField *f   = &box->field[0];
  PetscInt         *n[3]; /* nodes of each rank of a direction */
  Vec               x;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscMalloc1(box->processes[d], &n[d]));
    for (PetscInt p = 0; p < box->processes[d]; p++) {
      PetscInt first, end;

      DMBoxOwnRange(box, f, d, p, &first, &end);
      n[d][p] = end - first;
    }
  }
  PetscCall(DMDACreate(PetscObjectComm((PetscObject)dm), da));
  PetscCall(DMSetDimension(*da, dm->dim));
  PetscCall(DMDASetSizes(*da, f->line[0].nnodes, f->line[1].nnodes, f->line[2].nnodes));
  PetscCall(DMDASetNumProcs(*da, box->processes[0], box->processes[1], box->processes[2]));
  PetscCall(DMDASetBoundaryType(*da, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilType(*da, DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(*da, 0));
  PetscCall(DMDASetOwnershipRanges(*da, n[0], dm->dim > 1 ? n[1] : NULL, dm->dim > 2 ? n[2] : NULL));
  PetscCall(DMSetUp(*da));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(n[d]));
  PetscCall(DMGetCoordinates(dm, &x)); /* a Vec of the same order; set-up made it, but a clone may have to compute it */
  PetscCall(DMSetCoordinates(*da, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxViewVTK(DM dm, Vec v, PetscViewer viewer)
{
  DM                 da;
  Vec                w;
  const PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(DMBoxCheckPieces(dm));
  PetscCall(DMBoxCreateDMDA(dm, &da));
  PetscCall(DMCreateGlobalVector(da, &w));
  if (((PetscObject)v)->name) PetscCall(PetscObjectSetName((PetscObject)w, ((PetscObject)v)->name));
  PetscCall(VecGetArrayRead(v, &array));
  PetscCall(VecPlaceArray(w, array));
  PetscCall(VecView(w, viewer)); /* copies w */
  PetscCall(VecResetArray(w));
  PetscCall(VecRestoreArrayRead(v, &array));
  PetscCall(VecDestroy(&w));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecView_Box(Vec v, PetscViewer viewer)
{
  DM        dm;
  DM_Box   *box;
  PetscBool isvtk;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERVTK, &isvtk));
  if (!isvtk) {
    PetscCall(VecViewNatural_Box(v, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetDM(v, &dm));
  PetscCheck(dm, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_WRONGSTATE, "The Vec has lost its DMBOX, without which it cannot be written for VTK; use VecSetDM()");
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCall(DMBoxViewVTK(dm, v, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
