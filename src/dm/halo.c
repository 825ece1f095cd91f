/*
  The ghosts of local arrays: a stage for each direction that is split over ranks or is a ring, one after the other.

  In the stage of a direction a rank hears of the ranks before and behind it in that direction only.  They have the same nodes in the other
  directions, and pass on what they have heard themselves in the stages before: two messages a direction, in place of one for each of 26
  neighbours.  On a ring the last rank and the first one are neighbours, too.  The ghosts of a rank that has all of a ring are images of its
  own nodes: its stage is a copy, without messages and lists.

  Smoothing steps exchange between colours, one direction at a time: DMBOX_HALO_SLAB and DMBOX_HALO_FACES, whose stages are about all nodes
  of the local array in the other directions, whichever stage comes first.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/sysimpl.h>

struct _n_DMBoxHalo {
  PatchFDHalo stage[DMBOX_HALO_NUM_KINDS][3]; /* made when they are needed */
  PetscBool   straddled[3][2];                /* is there a patch of this parity in this direction that two ranks have? */
};

/* the first direction from d on that has ghosts; 3 if there is none */
static PetscInt NextStage(const DM_Box *box, PetscInt d)
{
  while (d < 3 && !DMBoxHasGhosts(box, d)) d++;
  return d;
}

PetscErrorCode DMBoxHaloCreate(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  if (NextStage(box, 0) == 3) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&box->halo));
  for (PetscInt d = 0; d < 3; d++) {
    const PatchFDLine *line = &box->field[0].line[d];

    for (PetscInt p = line->turn ? 0 : 1; p < box->processes[d]; p++) {
      const PetscInt cell = line->turn + box->splits[d][p];

      if (cell > 0 && cell < line->ncells) box->halo->straddled[d][(cell - 1) % 2] = PETSC_TRUE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxHaloDestroy(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  if (!box->halo) PetscFunctionReturn(PETSC_SUCCESS);
  for (int kind = 0; kind < DMBOX_HALO_NUM_KINDS; kind++)
    for (int d = 0; d < 3; d++) PetscCall(PatchFDHaloDestroy(&box->halo->stage[kind][d]));
  PetscCall(PetscFree(box->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool DMBoxHaloIsStraddled(const DM_Box *box, PetscInt d, PetscInt parity)
{
  return box->halo->straddled[d][parity];
}

/* ---- the graph of a stage ---- */

/* the nodes of a field whose ghosts are filled in the stage of direction d, with those in d that the rank owns */
static void StageRange(const DMBoxField *f, DMBoxHaloKind kind, PetscInt d, PatchFDRange r)
{
  for (PetscInt e = 0; e < 3; e++) {
    const PetscBool own = (PetscBool)(kind == DMBOX_HALO_ALL && e > d);

    r[e][0] = own ? f->own[e][0] : f->local.lo[e];
    r[e][1] = own ? f->own[e][1] : f->local.lo[e] + f->local.n[e];
  }
}

/* patches read values inside of cells of no other patch */
static PetscBool StageSkips(const DMBoxField *f, DMBoxHaloKind kind, const PetscInt node[3])
{
  PetscBool inside = (PetscBool)(kind == DMBOX_HALO_FACES);

  for (PetscInt e = 0; e < 3; e++)
    if (f->line[e].ncells > 1) inside = (PetscBool)(inside && node[e] % f->line[e].stride);
  return inside;
}

/* the rank at place p of direction d, in line with this one */
static PetscInt StageRank(const DM_Box *box, PetscInt d, PetscInt p)
{
  PetscInt coord[3] = {box->coord[0], box->coord[1], box->coord[2]};

  coord[d] = p;
  return coord[0] + box->processes[0] * (coord[1] + box->processes[1] * coord[2]);
}

/* the ghosts of a field that come from the rank at place p, so many nodes above those that it owns; *n counts on, ghost may be NULL */
static void StageGhosts(const DM_Box *box, PetscInt field, DMBoxHaloKind kind, PetscInt d, PetscInt p, PetscInt shift, PetscInt *n,
                        PetscInt ghost[], PetscSFNode source[])
{
  const DMBoxField *f     = &box->field[field];
  const PetscInt    rank  = StageRank(box, d, p);
  PatchFDBox        there = f->local;
  PatchFDRange      r;
  PetscInt          lo, hi, first, end, node[3];

  StageRange(f, kind, d, r);
  DMBoxOwnRange(box, f, d, p, &lo, &hi);
  DMBoxLocalRange(box, f, d, p, &first, &end);
  there.lo[d] = first + shift;
  there.n[d]  = end - first;
  r[d][0]     = PetscMax(r[d][0], lo + shift);
  r[d][1]     = PetscMin(r[d][1], hi + shift);
  for (node[2] = r[2][0]; node[2] < r[2][1]; node[2]++) {
    for (node[1] = r[1][0]; node[1] < r[1][1]; node[1]++) {
      for (node[0] = r[0][0]; node[0] < r[0][1]; node[0]++) {
        if (StageSkips(f, kind, node)) continue;
        if (ghost) {
          ghost[*n]  = (PetscInt)f->local0 + (PetscInt)PatchFDBoxNode(&f->local, node[0], node[1], node[2]);
          source[*n] = (PetscSFNode){.rank  = rank,
                                     .index = DMBoxFieldOffset(box, field, rank, PETSC_TRUE) +
                                              (PetscInt)PatchFDBoxNode(&there, node[0], node[1], node[2])};
        }
        (*n)++;
      }
    }
  }
}

static PetscErrorCode StageGet(DM dm, DMBoxHaloKind kind, PetscInt d, PatchFDHalo *stage)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PatchFDHalo  *h   = &box->halo->stage[kind][d];

  PetscFunctionBegin;
  if (!*h) {
    PetscSF      sf;
    PetscInt    *ghost  = NULL, n;
    PetscSFNode *source = NULL;

    for (int fill = 0; fill < 2; fill++) {
      n = 0;
      for (PetscInt field = 0; field < box->nfield; field++) {
        const PatchFDLine *line = &box->field[field].line[d];

        for (PetscInt turn = line->turn ? -1 : 0; turn <= (line->turn ? 2 : 0); turn++) /* node 0 is the last one, too, after three */
          for (PetscInt p = 0; p < box->processes[d]; p++)
            if (turn || p != box->coord[d]) StageGhosts(box, field, kind, d, p, turn * line->turn * line->stride, &n, ghost, source);
      }
      if (!fill) PetscCall(PetscMalloc1(n, &ghost));
      if (!fill) PetscCall(PetscMalloc1(n, &source));
    }
    PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)dm), &sf));
    PetscCall(PetscSFSetGraph(sf, (PetscInt)box->nlocal, n, ghost, PETSC_OWN_POINTER, source, PETSC_OWN_POINTER));
    PetscCall(PatchFDHaloCreate(sf, box->halotype, h));
    PetscCall(PetscSFDestroy(&sf));
  }
  *stage = *h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rings of one rank ---- */

static PetscBool StageIsCopy(const DM_Box *box, PetscInt d)
{
  return (PetscBool)(box->processes[d] == 1);
}

/* ghosts = the nodes that they are images of, or, with `add`, nodes += their images, turn by turn */
static PetscErrorCode StageCopy(const DM_Box *box, PatchFDKernels kern, DMBoxHaloKind kind, PetscInt d, PetscBool add, void *local)
{
  const PatchFDRange none = {{0, 0}, {0, 0}, {0, 0}};

  PetscFunctionBegin;
  for (PetscInt field = 0; field < box->nfield; field++) {
    const DMBoxField *f = &box->field[field];
    void             *a = (char *)local + f->local0 * kern->size;

    for (PetscInt turn = -1; turn <= 2; turn++) { /* node 0 is the last one, too, after three turns */
      const PetscInt shift = turn * f->line[d].turn * f->line[d].stride;
      PatchFDBox     there = f->local; /* as if the nodes were where their images are */
      PatchFDRange   r;

      if (!turn) continue;
      StageRange(f, kind, d, r);
      r[d][0] = PetscMax(r[d][0], f->own[d][0] + shift);
      r[d][1] = PetscMin(r[d][1], f->own[d][1] + shift);
      there.lo[d] += shift;
      if (r[d][0] >= r[d][1]) continue;
      if (add) PetscCall((*kern->fixed)((const PetscInt(*)[2])r, none, 1, &there, a, 1, &f->local, a));
      else PetscCall((*kern->copy)((const PetscInt(*)[2])r, &there, a, &f->local, a));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- exchanges ---- */

PetscErrorCode DMBoxHaloStageBegin(DM dm, PatchFDKernels kern, DMBoxHaloKind kind, PetscInt d, PetscInt n, void *const local[])
{
  PatchFDHalo stage = NULL;

  PetscFunctionBegin;
  if (StageIsCopy((const DM_Box *)dm->data, d)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PATCHFD_Halo, dm, 0, 0, 0));
  PetscCall(StageGet(dm, kind, d, &stage));
  PetscCall(PatchFDHaloBegin(stage, kern, 0, n, (const void *const *)local));
  PetscCall(PetscLogEventEnd(PATCHFD_Halo, dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxHaloStageEnd(DM dm, PatchFDKernels kern, DMBoxHaloKind kind, PetscInt d, PetscInt n, void *const local[])
{
  const DM_Box *box   = (const DM_Box *)dm->data;
  PatchFDHalo   stage = NULL;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_Halo, dm, 0, 0, 0));
  if (StageIsCopy(box, d)) {
    for (PetscInt i = 0; i < n; i++) PetscCall(StageCopy(box, kern, kind, d, PETSC_FALSE, local[i]));
  } else {
    PetscCall(StageGet(dm, kind, d, &stage));
    PetscCall(PatchFDHaloEnd(stage, kern, 0, n, local));
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Halo, dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxHaloBegin(DM dm, PatchFDKernels kern, PetscInt n, void *const local[])
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  if (box->halo) PetscCall(DMBoxHaloStageBegin(dm, kern, DMBOX_HALO_ALL, NextStage(box, 0), n, local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxHaloEnd(DM dm, PatchFDKernels kern, PetscInt n, void *const local[])
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscInt      d;

  PetscFunctionBegin;
  if (!box->halo) PetscFunctionReturn(PETSC_SUCCESS);
  d = NextStage(box, 0);
  PetscCall(DMBoxHaloStageEnd(dm, kern, DMBOX_HALO_ALL, d, n, local));
  for (d = NextStage(box, d + 1); d < 3; d = NextStage(box, d + 1)) {
    PetscCall(DMBoxHaloStageBegin(dm, kern, DMBOX_HALO_ALL, d, n, local));
    PetscCall(DMBoxHaloStageEnd(dm, kern, DMBOX_HALO_ALL, d, n, local));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxHaloAdd(DM dm, PatchFDKernels kern, void *local)
{
  const DM_Box *box   = (const DM_Box *)dm->data;
  PatchFDHalo   stage = NULL;

  PetscFunctionBegin;
  if (!box->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PATCHFD_Halo, dm, 0, 0, 0));
  for (PetscInt d = 2; d >= 0; d--) {
    if (!DMBoxHasGhosts(box, d)) continue;
    if (StageIsCopy(box, d)) {
      PetscCall(StageCopy(box, kern, DMBOX_HALO_ALL, d, PETSC_TRUE, local));
      continue;
    }
    PetscCall(StageGet(dm, DMBOX_HALO_ALL, d, &stage));
    PetscCall(PatchFDHaloBegin(stage, kern, 1, 1, (const void *const *)&local));
    PetscCall(PatchFDHaloEnd(stage, kern, 1, 1, &local));
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Halo, dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PatchFDHaloType DMBoxHaloTypeInUse(DM dm, PatchFDKernels kern)
{
  const DM_Box *box   = (const DM_Box *)dm->data;
  PatchFDHalo   stage = NULL;

  for (PetscInt d = 0; d < 3 && box->halo && !stage; d++) stage = box->halo->stage[DMBOX_HALO_ALL][d];
  return stage ? PatchFDHaloGetType(stage, kern) : box->halotype;
}

PetscBool DMBoxExchangesOnDevice(DM dm, PatchFDKernels kern)
{
  return (PetscBool)(DMBoxIsAlone((const DM_Box *)dm->data) || PatchFDHaloIsOnDevice(DMBoxHaloTypeInUse(dm, kern)));
}

/*@
  DMBoxSetHaloType - Sets how MPI processes exchange values at nodes

  Logically Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
- type - `PATCHFD_HALO_AUTO` (default), `PATCHFD_HALO_MPI`, `PATCHFD_HALO_HOST`, `PATCHFD_HALO_NCCL` or `PATCHFD_HALO_PEER`

  Options Database Key:
. -dm_box_halo (auto|mpi|host|nccl|peer) - the way of exchange

  Level: intermediate

  Notes:
  DMs made from this one, for example by `DMCoarsen()`, have the same type. Arrays in host memory are always exchanged by MPI.

  With `PATCHFD_HALO_PEER` and `PATCHFD_HALO_NCCL` the host takes no part in a V-cycle, so that `PCPATCHMG` can replay it as a CUDA
  graph on several processes too. `-info` and `-ksp_view` print the way in use.

.seealso: `DMBOX`, `DMBoxGetHaloType()`, `PatchFDHaloType`, `PCPatchMGSetGraph()`
@*/
PetscErrorCode DMBoxSetHaloType(DM dm, PatchFDHaloType type)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextToChange(dm, &box));
  PetscValidLogicalCollectiveEnum(dm, type, 2);
  PetscCheck(type >= PATCHFD_HALO_AUTO && type <= PATCHFD_HALO_PEER, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_halo (DMBoxSetHaloType()) is %d; it must be auto, mpi, host, nccl or peer", (int)type);
  box->halotype = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetHaloType - Returns how MPI processes exchange values at nodes

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. type - what was set

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetHaloType()`
@*/
PetscErrorCode DMBoxGetHaloType(DM dm, PatchFDHaloType *type)
{
  DMBOX_GET(dm, box->halotype, type);
}
