/*
  VecView() and DMView() with a VTK viewer.  The points of a file are those of a DMDA with the ownership of the DMBOX, and PETSc writes
  DMDAs.  The viewer keeps the DMDA and a copy of the values until it is destroyed; it knows nothing of the DMBOX.

  A space with one field is written at its nodes, and so are displacements, whose components have the same.  The fields of a flow have no
  nodes in common: their values at the Gauss-Lobatto nodes of the highest degree in each cell are written, all components of the velocity as
  a vector, and the pressure.  A vector has three components in the file in two dimensions, too: what ParaView takes for one.
*/
#include <patchfd/private/boximpl.h>
#include <petscdmda.h>
#include <petsc/private/vecimpl.h>

/* PETSc counts a piece without nodes in the offsets of a file, but writes nothing for it, so that all that follows is read from wrong
   places. */
static PetscErrorCode DMBoxCheckPieces(DM dm, const DMBoxField *f)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    for (PetscInt p = 0; p < box->processes[d]; p++) {
      PetscInt first, end;

      DMBoxOwnRange(box, f, d, p, &first, &end);
      PetscCheck(first < end, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
                 "Cannot write a file for ParaView: of the %" PetscInt_FMT " MPI processes in direction %" PetscInt_FMT
                 ", number %" PetscInt_FMT " has none of the %" PetscInt_FMT " cells.  "
                 "Use fewer processes, or a finer mesh",
                 box->processes[d], d, p, box->cells[d]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCreateDMDA(DM dm, const DMBoxField *f, PetscInt dof, DM *da)
{
  const DM_Box    *box  = (const DM_Box *)dm->data;
  const PatchFDBox mesh = DMBoxMesh(f);
  PetscInt        *n[3]; /* nodes of each rank of a direction */
  Vec              x;

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
  PetscCall(DMDASetSizes(*da, mesh.n[0], mesh.n[1], mesh.n[2]));
  PetscCall(DMDASetNumProcs(*da, box->processes[0], box->processes[1], box->processes[2]));
  PetscCall(DMDASetBoundaryType(*da, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE));
  PetscCall(DMDASetDof(*da, dof));
  PetscCall(DMDASetStencilType(*da, DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(*da, 0));
  PetscCall(DMDASetOwnershipRanges(*da, n[0], dm->dim > 1 ? n[1] : NULL, dm->dim > 2 ? n[2] : NULL));
  PetscCall(DMSetUp(*da));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(n[d]));
  PetscCall(DMBoxCreateCoordinateVec(dm, PetscObjectComm((PetscObject)dm), f->line, &f->global, &x));
  PetscCall(DMSetCoordinates(*da, x));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the name of v and `what` */
static PetscErrorCode SetName(Vec w, Vec v, const char what[])
{
  const char *name = ((PetscObject)v)->name;
  char        full[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(full, sizeof(full), "%s%s%s", name ? name : "", name && what[0] ? "_" : "", what));
  if (full[0]) PetscCall(PetscObjectSetName((PetscObject)w, full));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ one field, or displacements ------------------------------------------------ */

static PetscErrorCode DMBoxViewVTK(DM dm, Vec v, PetscViewer viewer)
{
  const DM_Box      *box    = (const DM_Box *)dm->data;
  const DMBoxField  *f      = &box->field[0];
  const PetscBool    vector = (PetscBool)(box->space == DMBOX_SPACE_VQ);
  DM                 da;
  Vec                w;
  const PetscScalar *array;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(DMBoxCheckPieces(dm, f));
  PetscCall(DMBoxCreateDMDA(dm, f, vector ? 3 : 1, &da));
  PetscCall(DMCreateGlobalVector(da, &w));
  PetscCall(SetName(w, v, vector ? "displacement" : ""));
  PetscCall(VecGetArrayRead(v, &array));
  PetscCall(VecGetArray(w, &to));
  for (PetscInt i = 0; i < box->nfield; i++)
    PatchFDHostSetComponent((PetscCount)PatchFDBoxSize(&f->global), vector ? 3 : 1, i, array + box->field[i].global0, to);
  PetscCall(VecRestoreArray(w, &to));
  PetscCall(VecRestoreArrayRead(v, &array));
  PetscCall(VecView(w, viewer));
  PetscCall(VecDestroy(&w));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ velocity and pressure ------------------------------------------------ */

/* a discontinuous field of degree k + 1: its nodes are the points that are written */
static PetscErrorCode DMBoxPointsCreate(DM dm, DMBoxField *f)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(DMBoxCreateLine(dm, PATCHFD_DISCONTINUOUS, box->degree + 1, d, &f->line[d]));
    DMBoxOwnRange(box, f, d, box->coord[d], &f->own[d][0], &f->own[d][1]);
    f->global.lo[d] = f->own[d][0];
    f->global.n[d]  = f->own[d][1] - f->own[d][0];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n fields from `first` on, as a Vec with dof numbers a point */
static PetscErrorCode DMBoxViewFields(DM dm, const DMBoxField *points, const PatchFDFieldPoints fields[], const PetscScalar u[], Vec v,
                                      PetscInt first, PetscInt n, PetscInt dof, const char what[], PetscViewer viewer)
{
  DM           da;
  Vec          w;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(DMBoxCreateDMDA(dm, points, dof, &da));
  PetscCall(DMCreateGlobalVector(da, &w));
  PetscCall(SetName(w, v, what));
  PetscCall(VecSet(w, 0));
  PetscCall(VecGetArray(w, &array));
  for (PetscInt i = 0; i < n; i++)
    PetscCall(
      PatchFDHostValues(&fields[first + i], (const PetscInt(*)[2])((const DM_Box *)dm->data)->owncells, u, &points->global, dof, i, array));
  PetscCall(VecRestoreArray(w, &array));
  PetscCall(VecView(w, viewer));
  PetscCall(VecDestroy(&w));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxViewFlowVTK(DM dm, Vec v, PetscViewer viewer)
{
  const DM_Box      *box    = (const DM_Box *)dm->data;
  DMBoxField         points = {0};
  PatchFDFieldPoints fields[DMBOX_MAX_FIELDS];
  const PetscScalar *array, *local;

  PetscFunctionBegin;
  PetscCall(DMBoxPointsCreate(dm, &points));
  PetscCall(DMBoxCheckPieces(dm, &points));
  PetscCall(DMBoxFieldPointsCreate(dm, box->degree + 1, PETSC_TRUE, fields));
  PetscCall(DMBoxGetLocalRead(dm, v, &array, &local));
  PetscCall(DMBoxViewFields(dm, &points, fields, local, v, 0, dm->dim, 3, "velocity", viewer));
  PetscCall(DMBoxViewFields(dm, &points, fields, local, v, dm->dim, 1, 1, "pressure", viewer));
  PetscCall(DMBoxRestoreLocalRead(dm, v, &array, &local));
  PetscCall(DMBoxFieldPointsDestroy(dm, fields));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PatchFDLineDestroy(&points.line[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ files ------------------------------------------------ */

/* a file must have values: the rank of each node */
PetscErrorCode DMBoxViewMeshVTK(DM dm, PetscViewer viewer)
{
  DM_Box           *box;
  const DMBoxField *f;
  DMBoxField        points = {0};
  DM                da;
  Vec               w, local;
  PetscMPIInt       rank;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  f = box->space == DMBOX_SPACE_RT ? &points : &box->field[0];
  if (f == &points) PetscCall(DMBoxPointsCreate(dm, &points));
  PetscCall(DMBoxCheckPieces(dm, f));
  PetscCall(DMBoxCreateDMDA(dm, f, 1, &da));
  PetscCall(DMCreateGlobalVector(da, &w));
  PetscCall(PetscObjectSetName((PetscObject)w, "rank"));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)dm), &rank));
  PetscCall(VecCreateLocalVector(w, &local));
  PetscCall(VecGetLocalVector(w, local));
  PetscCall(VecSet(local, rank));
  PetscCall(VecRestoreLocalVector(w, local));
  PetscCall(VecView(w, viewer));
  PetscCall(VecDestroy(&local));
  PetscCall(VecDestroy(&w));
  PetscCall(DMDestroy(&da));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PatchFDLineDestroy(&points.line[d]));
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
  PetscCheck(dm, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_WRONGSTATE,
             "The Vec has lost its DMBOX, without which it cannot be written for VTK; use VecSetDM()");
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  if (box->space == DMBOX_SPACE_RT) PetscCall(DMBoxViewFlowVTK(dm, v, viewer));
  else PetscCall(DMBoxViewVTK(dm, v, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
