/* One-dimensional matrices from the rows of a matrix of a DMDA (patchfd/private/kroneckersum.h), and errors that name rows that do not
   fit */
#include <patchfd/private/kroneckersum.h>
#include <patchfd/private/compat.h>

static PetscErrorCode ReportFault(Mat A, const PatchFDKroneckerLines *s, PatchFDKroneckerFault fault, int d, PetscInt i, const char who[])
{
  const MPI_Comm   comm = PetscObjectComm((PetscObject)A);
  const PetscReal *up = s->up[d], *down = s->down[d];
  const PetscInt   next = s->ring[d] ? (i + 1) % s->n[d] : i + 1;

  PetscFunctionBegin;
  PetscCheck(fault != PATCHFD_KRONECKER_HOLE, comm, PETSC_ERR_SUP,
             "PCPATCHFD: %s a matrix that is a sum of Kronecker products; the rows with index %" PetscInt_FMT
             " in direction %d of the DMDA "
             "have no entries for unknowns beside them in the other directions, where other rows have some. Use -pc_patchfd_patch vertex",
             who, i, d);
  PetscCheck(fault != PATCHFD_KRONECKER_UNSYMMETRIC, comm, PETSC_ERR_SUP,
             "PCPATCHFD: %s a matrix that is symmetric, or would be if its rows were divided by factors up to %g; the rows with index "
             "%" PetscInt_FMT " in direction %d of the DMDA have entries for those with index %" PetscInt_FMT " that add up to %g, and %g "
             "the other way. Use another -pc_type for this matrix",
             who, PATCHFD_KRONECKER_MAX_WEIGHT, i, d, next, (double)up[i], (double)down[next]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReportMisfit(Mat A, PatchFDMisfit *m, const char who[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  struct {
    double      excess;
    PetscMPIInt rank;
  } worst = {.excess = m->excess};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &worst.rank));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
  PetscCallMPI(MPI_Bcast(m, sizeof(*m), MPI_BYTE, worst.rank, comm));
  PetscCheck(m->excess <= 1, comm, PETSC_ERR_SUP,
             "PCPATCHFD: %s a matrix that is a sum of Kronecker products; row (%" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT
             ") of the DMDA has %g for the unknown at (%+" PetscInt_FMT ", %+" PetscInt_FMT ", %+" PetscInt_FMT
             ") from it, expected %g. Use -pc_patchfd_patch vertex",
             who, m->row[0], m->row[1], m->row[2], (double)m->found, m->offset[0], m->offset[1], m->offset[2], (double)m->expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatReadKroneckerLines(Mat A, const PatchFDGrid *grid, const char who[], PatchFDKroneckerLines *s, PetscReal **scale,
                                     PetscBool *regular)
{
  const MPI_Comm        comm = PetscObjectComm((PetscObject)A);
  PatchFDRowKinds       kinds;
  PatchFDStencil        stencil;
  PatchFDKroneckerFault fault;
  PatchFDMisfit         misfit;
  PetscReal            *row, *inverse, *sums;
  PetscInt             *alone, local, nsum = 0, i;
  PetscBool             coupled = PETSC_TRUE;
  int                   d;

  PetscFunctionBegin;
  PetscCall(MatScanRows(A, grid, who, &kinds));
  PatchFDStencilCreate(kinds.entries, &stencil);
  s->dim = grid->dim;
  for (int e = 0; e < 3; e++) {
    coupled = (PetscBool)(coupled && kinds.coupled[e][0] < kinds.coupled[e][1]);
    s->n[e] = grid->start[e][grid->nproc[e]];
    nsum += s->n[e];
  }
  for (int e = 0; e < 3; e++) {
    s->ring[e]    = grid->ring[e];
    s->free[e][0] = grid->ring[e] || !coupled ? 0 : kinds.coupled[e][0];
    s->free[e][1] = grid->ring[e] && coupled ? s->n[e] : (coupled ? kinds.coupled[e][1] : 0);
  }
  PetscCall(MatGetLocalSize(A, &local, NULL));
  PetscCall(PetscMalloc2((PetscCount)local * stencil.n, &row, nsum * PATCHFD_KRONECKER_SUMS, &sums));
  PetscCall(PetscMalloc2(kinds.nalone, &alone, kinds.nalone, &inverse));
  PetscCall(PatchFDHostRowsRead(A, grid, &stencil, row, alone, inverse));
  PetscCall(PetscFree2(alone, inverse));
  PetscCall(PetscArrayzero(sums, nsum * PATCHFD_KRONECKER_SUMS));
  PatchFDHostKroneckerSums(grid, &stencil, row, s, sums);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, nsum * PATCHFD_KRONECKER_SUMS, MPIU_REAL, MPI_SUM, comm));
  PetscCall(PatchFDHostKroneckerFit(sums, s, &fault, &d, &i));
  PetscCall(PetscMalloc1(local, scale));
  *regular = (PetscBool)(PatchFDHostKroneckerScale(grid, &stencil, row, s, *scale) && !fault);
  if (!fault) PatchFDHostKroneckerCheck(grid, &stencil, row, s, &misfit);
  PetscCall(PetscFree2(row, sums));
  if (fault) PetscCall(ReportFault(A, s, fault, d, i, who));
  else PetscCall(ReportMisfit(A, &misfit, who));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, regular, 1, PATCHFD_MPI_BOOL, MPI_LAND, comm));
  if (!*regular) PetscCall(PetscInfo(A, "Entries of the matrix are not finite, or a row of zeros\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
