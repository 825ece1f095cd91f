/* Assembled matrices of a DMDA: what is asked of them, and where their rows are (patchfd/private/dmdarows.h) */
#include <patchfd/private/dmdarows.h>
#include <petsc/private/petscimpl.h>
#include <petscdmda.h>

PetscErrorCode MatFindDMDA(Mat A, DM other, DM *da)
{
  DM        of;
  PetscBool is = PETSC_FALSE;

  PetscFunctionBegin;
  *da = NULL;
  PetscCall(MatGetDM(A, &of));
  if (!of) of = other;
  if (of) PetscCall(PetscObjectTypeCompare((PetscObject)of, DMDA, &is));
  if (is) *da = of;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCheckDMDA(Mat A, DM da, const char who[], PetscBool periodic)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  DMBoundaryType boundary[3];
  PetscInt       dim, dof, N[3], rows, columns, local, own[3];
  PetscBool      row;
  PetscMPIInt    differ;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, &dof, NULL, &boundary[0], &boundary[1], &boundary[2], NULL));
  PetscCheck(dof == 1, comm, PETSC_ERR_SUP,
             "PCPATCHFD: %s a DMDA with one degree of freedom a node, found %" PetscInt_FMT "; -pc_type fieldsplit makes such "
             "matrices of others",
             who, dof);
  for (int d = 0; d < dim; d++)
    PetscCheck((periodic || boundary[d] != DM_BOUNDARY_PERIODIC) && boundary[d] != DM_BOUNDARY_TWIST, comm, PETSC_ERR_SUP,
               "PCPATCHFD: %s a DMDA that is not %s, found boundary type %s in direction %d; use -pc_type sor for this matrix", who,
               periodic ? "twisted" : "periodic", DMBoundaryTypes[boundary[d]], d);
  PetscCall(MatGetSize(A, &rows, &columns));
  PetscCheck(rows == N[0] * N[1] * N[2] && columns == rows, comm, PETSC_ERR_ARG_SIZ,
             "PCPATCHFD: the matrix has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns, its DMDA %" PetscInt_FMT " x %" PetscInt_FMT
             " x %" PetscInt_FMT " nodes; %s the matrix of the DMDA's unknowns, as of DMCreateMatrix()",
             rows, columns, N[0], N[1], N[2], who);
  PetscCall(MatGetLocalSize(A, &local, NULL));
  PetscCall(DMDAGetCorners(da, NULL, NULL, NULL, &own[0], &own[1], &own[2]));
  differ = (PetscMPIInt)(local != own[0] * own[1] * own[2]);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &differ, 1, MPI_INT, MPI_MAX, comm));
  PetscCheck(!differ, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: a rank has other rows of the matrix than unknowns of its DMDA; %s the matrix as of DMCreateMatrix()", who);
  PetscCall(MatHasOperation(A, MATOP_GET_ROW, &row));
  PetscCheck(row, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: %s an assembled matrix of a DMDA, and this one, of type %s, has no rows to read; use -dm_mat_type aij", who,
             ((PetscObject)A)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDGridCreate(Mat A, DM da, PatchFDGrid *g)
{
  const PetscInt *width[3];
  DMBoundaryType  boundary[3];
  PetscInt        N[3], n[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &g->dim, &N[0], &N[1], &N[2], &g->nproc[0], &g->nproc[1], &g->nproc[2], NULL, NULL, &boundary[0], &boundary[1],
                        &boundary[2], NULL));
  PetscCall(DMDAGetOwnershipRanges(da, &width[0], &width[1], &width[2]));
  PetscCall(DMDAGetCorners(da, &g->own[0][0], &g->own[1][0], &g->own[2][0], &n[0], &n[1], &n[2]));
  for (int d = 0; d < 3; d++) {
    g->own[d][1] = g->own[d][0] + n[d];
    g->ring[d]   = (PetscBool)(d < g->dim && boundary[d] == DM_BOUNDARY_PERIODIC && N[d] > 2);
    PetscCall(PetscMalloc1(g->nproc[d] + 1, &g->start[d]));
    g->start[d][0] = 0;
    for (PetscInt i = 0; i < g->nproc[d]; i++) g->start[d][i + 1] = g->start[d][i] + (d < g->dim ? width[d][i] : 1);
  }
  PetscCall(MatGetOwnershipRanges(A, &g->ranges));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDGridDestroy(PatchFDGrid *g)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(g->start[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatScanRows(Mat A, const PatchFDGrid *grid, const char who[], PatchFDRowKinds *kinds)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscInt       least[5], most[3], column;

  PetscFunctionBegin;
  PetscCall(PatchFDHostRowsScan(A, grid, kinds));
  for (int d = 0; d < 3; d++) {
    least[d] = kinds->coupled[d][0];
    most[d]  = kinds->coupled[d][1];
  }
  least[3] = kinds->bad[0];
  least[4] = kinds->irregular;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, least, 5, MPIU_INT, MPI_MIN, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 3, MPIU_INT, MPI_MAX, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &kinds->entries, 1, MPI_UNSIGNED, MPI_BOR, comm));
  column = least[3] == kinds->bad[0] ? kinds->bad[1] : PETSC_INT_MAX;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &column, 1, MPIU_INT, MPI_MIN, comm));
  PetscCheck(least[3] == PETSC_INT_MAX, comm, PETSC_ERR_SUP,
             "PCPATCHFD: row %" PetscInt_FMT " of the matrix has an entry in column %" PetscInt_FMT ", of an unknown of the DMDA that is "
             "not next to its own; %s stencils that reach one unknown far. Use -pc_type sor for this matrix",
             least[3], column, who);
  kinds->irregular = least[4];
  for (int d = 0; d < 3; d++) {
    kinds->coupled[d][0] = PetscMin(least[d], most[d]);
    kinds->coupled[d][1] = most[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
