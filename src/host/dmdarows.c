/* Rows of an assembled matrix of a DMDA become stencils (patchfd/private/dmdarows.h) */
#include <patchfd/private/dmdarows.h>

/* the place of an offset among the 27 that a row may have, and back */
static inline PetscInt Place(const PetscInt o[3])
{
  return 9 * (o[2] + 1) + 3 * (o[1] + 1) + o[0] + 1;
}

static inline void PlaceOffset(PetscInt place, PetscInt o[3])
{
  o[0] = place % 3 - 1;
  o[1] = place / 3 % 3 - 1;
  o[2] = place / 9 - 1;
}

/* rows in the order of the matrix; entry t of a row usually has the place of entry t of the row before */
typedef struct {
  const PatchFDGrid *grid;
  PetscMPIInt        rank, size;
  /* distance: of the columns of places from the row, if they are this rank's */
  PetscInt  first, end, guess[PATCHFD_ROW_ENTRIES], distance[PATCHFD_ROW_ENTRIES];
  PetscBool inner; /* are all unknowns next to that of the row? */
} Reader;

static PetscErrorCode ReaderBegin(Mat A, const PatchFDGrid *grid, Reader *r)
{
  PetscFunctionBegin;
  *r = (Reader){.grid = grid};
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &r->rank));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &r->size));
  r->first = grid->ranges[r->rank];
  r->end   = grid->ranges[r->rank + 1];
  for (PetscInt place = 0; place < PATCHFD_ROW_ENTRIES; place++) {
    PetscInt o[3];

    PlaceOffset(place, o);
    r->distance[place] = (o[2] * (grid->own[1][1] - grid->own[1][0]) + o[1]) * (grid->own[0][1] - grid->own[0][0]) + o[0];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the unknown of a column of another rank */
static void FindUnknown(const Reader *r, PetscInt column, PetscInt at[3])
{
  const PatchFDGrid *g  = r->grid;
  PetscMPIInt        lo = 0, hi = r->size;
  PetscInt           owner[3], local;

  while (hi - lo > 1) {
    const PetscMPIInt middle = (lo + hi) / 2;

    if (g->ranges[middle] <= column) lo = middle;
    else hi = middle;
  }
  owner[0] = lo % g->nproc[0];
  owner[1] = lo / g->nproc[0] % g->nproc[1];
  owner[2] = lo / g->nproc[0] / g->nproc[1];
  local    = column - g->ranges[lo];
  for (int d = 0; d < 3; d++) {
    const PetscInt *start = g->start[d] + owner[d], n = start[1] - start[0];

    at[d] = start[0] + (d < 2 ? local % n : local);
    local /= n;
  }
}

/* is this the column of the unknown at this place of the row?  In a part of few unknowns, places beyond its ends have the distances of
   others */
static inline PetscBool IsPlace(const Reader *r, const PetscInt at[3], PetscInt place, PetscInt distance)
{
  PetscInt to[3];

  if (r->distance[place] != distance) return PETSC_FALSE;
  PlaceOffset(place, to);
  for (int d = 0; d < 3; d++) to[d] += at[d];
  return PatchFDRangeHas(r->grid->own, to);
}

/* the place of entry t of the row of an own unknown; -1 if it is of an unknown that is not next to it */
static PetscInt FindPlace(Reader *r, const PetscInt at[3], PetscInt row, PetscInt t, PetscInt column)
{
  const PetscInt slot = PetscMin(t, PATCHFD_ROW_ENTRIES - 1);
  PetscInt       to[3];

  if (r->inner && r->distance[r->guess[slot]] == column - row) return r->guess[slot];
  if (column >= r->first && column < r->end) {
    if (IsPlace(r, at, r->guess[slot], column - row)) return r->guess[slot];
    for (PetscInt place = 0; place < PATCHFD_ROW_ENTRIES; place++)
      if (IsPlace(r, at, place, column - row)) return r->guess[slot] = place;
  }
  FindUnknown(r, column, to);
  for (int d = 0; d < 3; d++) {
    const PetscInt n = r->grid->start[d][r->grid->nproc[d]];

    to[d] -= at[d];
    if (r->grid->ring[d] && PetscAbsInt(to[d]) == n - 1) to[d] /= 1 - n;
    if (PetscAbsInt(to[d]) > 1) return -1;
  }
  return Place(to);
}

static inline void ReaderNext(Reader *r, const PetscInt at[3])
{
  r->inner = PETSC_TRUE;
  for (int d = 0; d < r->grid->dim; d++) r->inner = (PetscBool)(r->inner && at[d] > r->grid->own[d][0] && at[d] + 1 < r->grid->own[d][1]);
}

#define OWN_PLACE 13
#define EACH_ROW(grid, at) \
  for ((at)[2] = (grid)->own[2][0]; (at)[2] < (grid)->own[2][1]; (at)[2]++) \
    for ((at)[1] = (grid)->own[1][0]; (at)[1] < (grid)->own[1][1]; (at)[1]++) \
      for ((at)[0] = (grid)->own[0][0]; (at)[0] < (grid)->own[0][1]; (at)[0]++)

/* which places a row has; entries that are zero do not count */
static PetscErrorCode ScanRow(Mat A, Reader *r, const PetscInt at[3], PetscInt row, PatchFDRowKinds *kinds, unsigned *entries)
{
  const PetscInt    *columns;
  const PetscScalar *values;
  PetscInt           n;
  PetscReal          diagonal = 0;
  PetscBool          finite   = PETSC_TRUE;

  PetscFunctionBegin;
  *entries = 0;
  ReaderNext(r, at);
  PetscCall(MatGetRow(A, row, &n, &columns, &values));
  for (PetscInt t = 0; t < n; t++) {
    PetscInt place;

    if (values[t] == 0) continue;
    finite = (PetscBool)(finite && !PetscIsInfOrNanScalar(values[t]));
    place  = FindPlace(r, at, row, t, columns[t]);
    if (place >= 0) *entries |= 1U << place;
    else if (kinds->bad[0] == PETSC_INT_MAX) {
      kinds->bad[0] = row;
      kinds->bad[1] = columns[t];
    }
    if (place == OWN_PLACE) diagonal = PetscRealPart(values[t]);
  }
  PetscCall(MatRestoreRow(A, row, &n, &columns, &values));
  if (!finite || diagonal <= 0) kinds->irregular = PetscMin(kinds->irregular, row);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostRowsScan(Mat A, const PatchFDGrid *grid, PatchFDRowKinds *kinds)
{
  Reader   r;
  PetscInt at[3], row;

  PetscFunctionBegin;
  PetscCall(ReaderBegin(A, grid, &r));
  *kinds = (PatchFDRowKinds){.entries = 1U << OWN_PLACE, .bad = {PETSC_INT_MAX, PETSC_INT_MAX}, .irregular = PETSC_INT_MAX};
  for (int d = 0; d < 3; d++) {
    kinds->coupled[d][0] = PETSC_INT_MAX;
    kinds->coupled[d][1] = 0;
  }
  row = r.first;
  EACH_ROW(grid, at)
  {
    unsigned entries;

    PetscCall(ScanRow(A, &r, at, row++, kinds, &entries));
    kinds->entries |= entries;
    if (!(entries & ~(1U << OWN_PLACE))) {
      kinds->nalone++;
      continue;
    }
    for (int d = 0; d < 3; d++) {
      kinds->coupled[d][0] = PetscMin(kinds->coupled[d][0], at[d]);
      kinds->coupled[d][1] = PetscMax(kinds->coupled[d][1], at[d] + 1);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostRowsRead(Mat A, const PatchFDGrid *grid, const PatchFDStencil *stencil, PetscReal row[], PetscInt alone[],
                                   PetscReal inverse[])
{
  Reader   r;
  PetscInt at[3], i, entry[PATCHFD_ROW_ENTRIES], nalone = 0;

  PetscFunctionBegin;
  PetscCall(ReaderBegin(A, grid, &r));
  for (PetscInt e = 0; e < stencil->n; e++) entry[Place(stencil->offset[e])] = e;
  i = r.first;
  EACH_ROW(grid, at)
  {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n;
    PetscBool          coupled = PETSC_FALSE;

    for (PetscInt e = 0; e < stencil->n; e++) row[e] = 0;
    ReaderNext(&r, at);
    PetscCall(MatGetRow(A, i, &n, &columns, &values));
    for (PetscInt t = 0; t < n; t++) {
      if (values[t] == 0) continue;
      row[entry[FindPlace(&r, at, i, t, columns[t])]] = PetscRealPart(values[t]);
      coupled                                         = (PetscBool)(coupled || columns[t] != i);
    }
    PetscCall(MatRestoreRow(A, i, &n, &columns, &values));
    if (!coupled) {
      alone[nalone]     = i - r.first;
      inverse[nalone++] = 1 / row[0];
    }
    row += stencil->n;
    i++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDStencilCreate(unsigned entries, PatchFDStencil *s)
{
  s->n = 1;
  for (int d = 0; d < 3; d++) s->offset[0][d] = 0;
  for (PetscInt place = 0; place < PATCHFD_ROW_ENTRIES; place++)
    if (entries & (1U << place) && place != OWN_PLACE) PlaceOffset(place, s->offset[s->n++]);
}
