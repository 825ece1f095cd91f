/*
  The lines of a DMBOX, and which rank owns a node, and where: for layouts, exchanges, numbers of nodes and files.
*/
#include <patchfd/private/boximpl.h>

/* nodes that a cell shares with the next one */
static inline PetscInt DMBoxShared(const DMBoxField *f, PetscInt d)
{
  return f->line[d].continuity == PATCHFD_CONTINUOUS ? 1 : 0;
}

/* A shared node belongs to the rank of the cell above it, the last node to the rank with the last cell; ranks without cells own nothing. */
void DMBoxOwnRange(const DM_Box *box, const DMBoxField *f, PetscInt d, PetscInt p, PetscInt *first, PetscInt *end)
{
  const PetscInt turn = f->line[d].turn, cs = turn + box->splits[d][p], ce = turn + box->splits[d][p + 1]; /* cells */

  *first = cs * f->line[d].stride;
  *end   = ce * f->line[d].stride + (cs < ce && ce == f->line[d].ncells ? DMBoxShared(f, d) : 0);
}

/* the nodes of rank p's cells and of the layers of ghosts on either side */
void DMBoxLocalRange(const DM_Box *box, const DMBoxField *f, PetscInt d, PetscInt p, PetscInt *first, PetscInt *end)
{
  const PetscInt turn = f->line[d].turn, cs = turn + box->splits[d][p], ce = turn + box->splits[d][p + 1]; /* cells */
  const PetscInt layers = DMBoxGhosts(box, d);

  *first = PetscMax(cs - layers, 0) * f->line[d].stride;
  *end   = PetscMin(ce + layers, f->line[d].ncells) * f->line[d].stride + DMBoxShared(f, d);
}

void DMBoxFreeNodes(const DMBoxField *f, PetscBool local, PatchFDRange r)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt lo = local ? f->local.lo[d] : f->own[d][0], hi = local ? lo + f->local.n[d] : f->own[d][1];

    r[d][0] = PetscMax(lo, f->free[d][0]);
    r[d][1] = PetscMax(r[d][0], PetscMin(hi, f->free[d][1]));
  }
}

/* For the nodes of a range of one direction, images of nodes of a ring among them: the owner's place in the process grid, and where the
   node lies in the owner's array of that extent. */
typedef struct {
  PetscInt *owner, *position, *extent;
} DMBoxOwners;

static PetscErrorCode DMBoxOwnersCreate(const DM_Box *box, const DMBoxField *f, PetscInt d, PetscInt first, PetscInt n, PetscBool local,
                                        DMBoxOwners *o)
{
  const PetscInt turn = f->line[d].turn * f->line[d].stride;
  PetscInt       lo, hi;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &o->owner, n, &o->position, n, &o->extent));
  for (PetscInt p = 0; p < box->processes[d]; p++) {
    PetscInt as, ae; /* the array: ghosted or not */

    DMBoxOwnRange(box, f, d, p, &lo, &hi);
    as = lo;
    ae = hi;
    if (local) DMBoxLocalRange(box, f, d, p, &as, &ae);
    for (PetscInt i = 0; i < n; i++) {
      const PetscInt node = turn ? turn + (first + i) % turn : first + i;

      if (node < lo || node >= hi) continue;
      o->owner[i]    = p;
      o->position[i] = node - as;
      o->extent[i]   = ae - as;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxOwnersDestroy(DMBoxOwners *o)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(o->owner, o->position, o->extent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscSFNode DMBoxOwnersNode(const DM_Box *box, const DMBoxOwners o[3], PetscInt i, PetscInt j, PetscInt k)
{
  PetscSFNode node;

  node.rank  = o[0].owner[i] + box->processes[0] * (o[1].owner[j] + box->processes[1] * o[2].owner[k]);
  node.index = o[0].position[i] + o[0].extent[i] * (o[1].position[j] + o[1].extent[j] * o[2].position[k]);
  return node;
}

/* Where field i begins in rank r's arrays of the kind: the sizes of the fields before it. */
PetscInt DMBoxFieldOffset(const DM_Box *box, PetscInt i, PetscInt r, PetscBool local)
{
  PetscInt offset = 0;

  for (PetscInt j = 0; j < i; j++) {
    PetscInt size = 1, place = r, first, end;

    for (PetscInt d = 0; d < 3; place /= box->processes[d++]) {
      if (local) DMBoxLocalRange(box, &box->field[j], d, place % box->processes[d], &first, &end);
      else DMBoxOwnRange(box, &box->field[j], d, place % box->processes[d], &first, &end);
      size *= end - first;
    }
    offset += size;
  }
  return offset;
}

/* the same for all ranks; the caller frees */
static PetscErrorCode DMBoxFieldOffsets(DM dm, PetscInt i, PetscBool local, PetscInt **offset)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  PetscCall(PetscMalloc1(size, offset));
  for (PetscInt r = 0; r < size; r++) (*offset)[r] = DMBoxFieldOffset((const DM_Box *)dm->data, i, r, local);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCreateLine(DM dm, PatchFDContinuity continuity, PetscInt degree, PetscInt d, PatchFDLine *line)
{
  DM_Box         *box          = (DM_Box *)dm->data;
  const PetscInt  N            = box->cells[d];
  const PetscBool dirichlet[2] = {(PetscBool)(box->boundary[2 * d] != DMBOX_BOUNDARY_NEUMANN),
                                  (PetscBool)(box->boundary[2 * d + 1] != DMBOX_BOUNDARY_NEUMANN)};
  const PetscBool point        = (PetscBool)(d >= dm->dim);
  PetscReal      *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(N + 1, &v));
  if (!point && box->nvertices[d]) PetscCall(PetscArraycpy(v, box->vertices[d], N + 1));
  else {
    for (PetscInt i = 0; i < N; i++) v[i] = box->lower[d] + (box->upper[d] - box->lower[d]) * ((PetscReal)i / (PetscReal)N);
    v[N] = box->upper[d];
  }
  if (DMBoxIsRing(box, d)) PetscCall(PatchFDRingCreate(continuity, degree, N, v, line));
  else PetscCall(PatchFDLineCreate(point ? PATCHFD_CONTINUOUS : continuity, point ? 0 : degree, N, v, dirichlet, line));
  for (int e = 0; e < 2; e++) line->clamped[e] = (PetscBool)(!point && box->boundary[2 * d + e] == DMBOX_BOUNDARY_DIRICHLET);
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* first global number of each rank in a numbering of the fields from `first` on; the caller frees */
static PetscErrorCode DMBoxFirstNumbers(DM dm, PetscInt first, PetscInt **start)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  PetscCall(PetscMalloc1((PetscInt)size + 1, start));
  (*start)[0] = 0;
  for (PetscInt r = 0; r < size; r++)
    (*start)[r + 1] = (*start)[r] + DMBoxFieldOffset(box, box->nfield, r, PETSC_FALSE) - DMBoxFieldOffset(box, first, r, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxGetFieldsLocalToGlobal(DM dm, PetscInt first, PetscInt **index)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscInt     *start, *before, n = 0;

  PetscFunctionBegin;
  PetscCall(DMBoxFirstNumbers(dm, first, &start));
  PetscCall(DMBoxFieldOffsets(dm, first, PETSC_FALSE, &before));
  PetscCall(PetscMalloc1(box->nlocal - box->field[first].local0, index));
  for (PetscInt field = first; field < box->nfield; field++) {
    const DMBoxField *f = &box->field[field];
    const PatchFDBox *l = &f->local;
    DMBoxOwners       owners[3];
    PetscInt         *offset;

    for (PetscInt d = 0; d < 3; d++) PetscCall(DMBoxOwnersCreate(box, f, d, l->lo[d], l->n[d], PETSC_FALSE, &owners[d]));
    PetscCall(DMBoxFieldOffsets(dm, field, PETSC_FALSE, &offset));
    for (PetscInt k = 0; k < l->n[2]; k++) {
      for (PetscInt j = 0; j < l->n[1]; j++) {
        for (PetscInt i = 0; i < l->n[0]; i++) {
          const PetscSFNode node = DMBoxOwnersNode(box, owners, i, j, k);

          (*index)[n++] = start[node.rank] + offset[node.rank] - before[node.rank] + node.index;
        }
      }
    }
    PetscCall(PetscFree(offset));
    for (PetscInt d = 0; d < 3; d++) PetscCall(DMBoxOwnersDestroy(&owners[d]));
  }
  PetscCall(PetscFree(before));
  PetscCall(PetscFree(start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCreateNaturalSF(DM dm, PetscSF *sf)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscSFNode  *source;
  PetscInt      n = 0, total = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield; i++) {
    const PatchFDBox mesh = DMBoxMesh(&box->field[i]);

    total += (PetscInt)PatchFDBoxSize(&mesh);
  }
  PetscCall(PetscMalloc1(total, &source));
  for (PetscInt field = 0; field < box->nfield; field++) {
    const DMBoxField *f    = &box->field[field];
    const PatchFDBox  mesh = DMBoxMesh(f);
    const PetscInt   *N    = mesh.n;
    DMBoxOwners       owners[3];
    PetscInt         *offset;

    for (PetscInt d = 0; d < 3; d++) PetscCall(DMBoxOwnersCreate(box, f, d, mesh.lo[d], N[d], PETSC_FALSE, &owners[d]));
    PetscCall(DMBoxFieldOffsets(dm, field, PETSC_FALSE, &offset));
    for (PetscInt k = 0; k < N[2]; k++) {
      for (PetscInt j = 0; j < N[1]; j++) {
        for (PetscInt i = 0; i < N[0]; i++, n++) {
          source[n] = DMBoxOwnersNode(box, owners, i, j, k);
          source[n].index += offset[source[n].rank];
        }
      }
    }
    PetscCall(PetscFree(offset));
    for (PetscInt d = 0; d < 3; d++) PetscCall(DMBoxOwnersDestroy(&owners[d]));
  }
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)dm), sf));
  PetscCall(PetscSFSetGraph(*sf, (PetscInt)box->nglobal, n, NULL, PETSC_OWN_POINTER, source, PETSC_OWN_POINTER));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where only the slowest direction has ghosts, and there is one field, the owned nodes of a local array follow each other: on all ranks */
PetscBool DMBoxHasRoom(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  for (PetscInt e = 0; e < dm->dim - 1; e++)
    if (DMBoxHasGhosts(box, e)) return PETSC_FALSE;
  return (PetscBool)(box->nfield == 1 && DMBoxHasGhosts(box, dm->dim - 1));
}

/*@
  DMBoxSetProcesses - Sets the number of MPI processes in each direction

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
- processes - the numbers, of length dim, each at least 1 or `PETSC_DECIDE`

  Options Database Key:
. -dm_box_processes px,py,pz - number of processes, -1 for any

  Level: intermediate

  Note:
  Their product must be the size of the communicator, and no direction may have more processes than cells.

.seealso: `DMBOX`, `DMBoxGetProcesses()`
@*/
PetscErrorCode DMBoxSetProcesses(DM dm, const PetscInt processes[])
{
  DMBOX_SET_ARRAY(dm, box->processes, dm->dim, processes);
}

/*@
  DMBoxGetProcesses - Returns the number of MPI processes in each direction

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. processes - the numbers, of length dim; before `DMSetUp()` `PETSC_DECIDE` where nothing was set

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetProcesses()`
@*/
PetscErrorCode DMBoxGetProcesses(DM dm, PetscInt processes[])
{
  DMBOX_GET_ARRAY(dm, box->processes, dm->dim, processes);
}
