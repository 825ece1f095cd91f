/*
  Values of a rank that other ranks need (patchfd/private/halo.h): the plan from a PetscSF's graph, the choice of a transport, and what MPI
  has to do.

  Requests are persistent: an exchange starts them and waits.  For kernels on the host messages travel between Begin and End.  A GPU works
  on while End waits for what it packed before, and sends it: that is the time to hand it other work, between Begin and End.
*/
#include <patchfd/private/halo.h>
#include <petsc/private/petscimpl.h>

typedef struct {
  MPI_Request *all; /* n to receive, then n to send; NULL until they are used */
  PetscMPIInt  n[2];
  PetscCount   numbers[2];
} HaloRequests;

/* for the arrays of a kernel table */
typedef struct {
  void           *plan, *buffer[2];
  PatchFDHaloType type;                                 /* PATCHFD_HALO_AUTO until the plan is made */
  PetscBool       busy;                                 /* between Begin and End */
  HaloRequests    requests[2][PATCHFD_HALO_MAX_ARRAYS]; /* for each side that is packed, and number of arrays */
} HaloTable;

struct _n_PatchFDHalo {
  PetscSF         sf; /* its communicator; tags are its own */
  PatchFDHaloType want;
  PetscMPIInt     tag, n, *rank; /* ranks that this one receives from or sends to */
  PetscInt       *first[2], *index[2], unit;
  HaloTable       table[PATCHFD_NUM_KERNELS];
};

PetscInt PatchFDHaloPatience = 1800;

static const PatchFDHaloKernels tables[PATCHFD_NUM_KERNELS] = {
  [PATCHFD_KERNELS_HOST_DOUBLE] = &PatchFDHaloHostDouble,
  [PATCHFD_KERNELS_HOST_FLOAT]  = &PatchFDHaloHostFloat,
#if defined(PETSC_HAVE_CUDA)
  [PATCHFD_KERNELS_CUDA_DOUBLE] = &PatchFDHaloCUDADouble,
  [PATCHFD_KERNELS_CUDA_FLOAT]  = &PatchFDHaloCUDAFloat,
#endif
};

static const PatchFDHaloWay ways[] = {
  [PATCHFD_HALO_MPI]  = PATCHFD_HALO_MEMORY,
  [PATCHFD_HALO_HOST] = PATCHFD_HALO_PINNED,
  [PATCHFD_HALO_NCCL] = PATCHFD_HALO_STREAM,
  [PATCHFD_HALO_PEER] = PATCHFD_HALO_REMOTE,
};

/* ---- the plan ---- */

/* the entries of one side, rank by rank in the order of h->rank */
static PetscErrorCode HaloSetSide(PatchFDHalo h, int side, PetscMPIInt n, const PetscMPIInt rank[], const PetscInt offset[],
                                  const PetscInt entry[])
{
  PetscInt *first, *index;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(h->n + 1, &first));
  PetscCall(PetscMalloc1(n ? offset[n] - offset[0] : 0, &index));
  first[0] = 0;
  for (PetscMPIInt i = 0; i < h->n; i++) {
    first[i + 1] = first[i];
    for (PetscMPIInt j = 0; j < n; j++) {
      if (rank[j] != h->rank[i]) continue;
      PetscCall(PetscArraycpy(index + first[i], entry + offset[j], offset[j + 1] - offset[j]));
      first[i + 1] += offset[j + 1] - offset[j];
    }
  }
  h->first[side] = first;
  h->index[side] = index;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHaloCreate(PetscSF sf, PatchFDHaloType want, PatchFDHalo *halo)
{
  PatchFDHalo        h;
  PetscInt           all;
  PetscMPIInt        n[2];
  const PetscMPIInt *rank[2];
  const PetscInt    *offset[2], *entry[2];

  PetscFunctionBegin;
  PetscCall(PetscSFSetUp(sf));
  PetscCall(PetscSFGetLeafRanks(sf, &n[0], &rank[0], &offset[0], &entry[0]));
  PetscCall(PetscSFGetRootRanks(sf, &n[1], &rank[1], &offset[1], &entry[1], NULL));
  PetscCall(PetscNew(&h));
  PetscCall(PetscObjectReference((PetscObject)sf));
  h->sf   = sf;
  h->want = want;
  h->unit = 1;
  PetscCall(PetscObjectGetNewTag((PetscObject)sf, &h->tag));
  /* flags of PEER go both ways, so both sides have the same ranks */
  all = n[0] + n[1];
  PetscCall(PetscMalloc1(all, &h->rank));
  for (int side = 0; side < 2; side++) PetscCall(PetscArraycpy(h->rank + (side ? n[0] : 0), rank[side], n[side]));
  PetscCall(PetscSortRemoveDupsMPIInt(&all, h->rank));
  h->n = (PetscMPIInt)all;
  for (int side = 0; side < 2; side++) PetscCall(HaloSetSide(h, side, n[side], rank[side], offset[side], entry[side]));
  *halo = h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHaloCreateFromLists(MPI_Comm comm, PatchFDHaloType want, PetscMPIInt n, PetscMPIInt *rank, PetscInt *const first[2],
                                          PetscInt *const index[2], PatchFDHalo *halo)
{
  PatchFDHalo h;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  PetscCall(PetscSFCreate(comm, &h->sf)); /* no graph: for its communicator */
  PetscCall(PetscObjectGetNewTag((PetscObject)h->sf, &h->tag));
  h->want = want;
  h->unit = 1;
  h->n    = n;
  h->rank = rank;
  for (int side = 0; side < 2; side++) {
    h->first[side] = first[side];
    h->index[side] = index[side];
  }
  *halo = h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHaloSetUnit(PatchFDHalo h, PetscInt unit)
{
  PetscFunctionBegin;
  h->unit = unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transports ---- */

/* are all ranks on one machine, and do some share a GPU?  Of these only one is at work at a time, so that waiting for another on the GPU
   takes long */
typedef struct {
  char machine[MPI_MAX_PROCESSOR_NAME], device[PATCHFD_HALO_DEVICE_NAME];
} HaloPlace;

static int HaloComparePlaces(const void *a, const void *b)
{
  const HaloPlace *x = (const HaloPlace *)a, *y = (const HaloPlace *)b;
  const int        c = strcmp(x->machine, y->machine);

  return c ? c : strcmp(x->device, y->device);
}

static PetscErrorCode HaloFindPlaces(MPI_Comm comm, PatchFDHaloKernels k, PetscBool *together, PetscBool *sharing)
{
  HaloPlace   mine, *all;
  PetscMPIInt size, length;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&mine, sizeof(mine)));
  PetscCallMPI(MPI_Get_processor_name(mine.machine, &length));
  PetscCall((*k->device)(mine.device));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1(size, &all));
  PetscCallMPI(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, comm));
  qsort(all, (size_t)size, sizeof(*all), HaloComparePlaces);
  *together = (PetscBool)!strcmp(all[0].machine, all[size - 1].machine);
  *sharing  = PETSC_FALSE;
  for (PetscMPIInt i = 1; i < size; i++) *sharing = (PetscBool)(*sharing || !HaloComparePlaces(&all[i - 1], &all[i]));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ranks tell each other where to write; whether all of them can */
static PetscErrorCode HaloConnect(PatchFDHalo h, PatchFDHaloKernels k, void *plan, PetscBool *connected)
{
  const MPI_Comm      comm = PetscObjectComm((PetscObject)h->sf);
  PatchFDHaloAddress *mine, *theirs;
  MPI_Request        *request;
  PetscMPIInt         me;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &me));
  PetscCall(PetscCalloc3(h->n, &mine, h->n, &theirs, 2 * h->n, &request));
  for (PetscMPIInt i = 0; i < h->n; i++) {
    PetscCall((*k->address)(plan, i, &mine[i]));
    PetscCallMPI(MPI_Irecv(&theirs[i], sizeof(*theirs), MPI_BYTE, h->rank[i], h->tag, comm, &request[i]));
  }
  for (PetscMPIInt i = 0; i < h->n; i++)
    PetscCallMPI(MPI_Isend(&mine[i], sizeof(*mine), MPI_BYTE, h->rank[i], h->tag, comm, &request[h->n + i]));
  PetscCallMPI(MPI_Waitall(2 * h->n, request, MPI_STATUSES_IGNORE));
  *connected = PETSC_TRUE;
  for (PetscMPIInt i = 0; i < h->n && *connected; i++)
    PetscCall((*k->connect)(plan, i, (PetscBool)(h->rank[i] == me), &theirs[i], connected));
  PetscCall(PetscFree3(mine, theirs, request));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, connected, 1, PATCHFD_MPI_BOOL, MPI_LAND, comm));
  if (*connected) PetscCall((*k->connected)(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a plan for a transport, or none and the reason */
static PetscErrorCode HaloTry(PatchFDHalo h, PatchFDHaloKernels k, const PatchFDHaloDesc *desc, PatchFDHaloType type, void **plan,
                              const char **why)
{
  const MPI_Comm comm  = PetscObjectComm((PetscObject)h->sf);
  PetscBool      works = PETSC_TRUE;

  PetscFunctionBegin;
  *why = NULL;
  /* an attempt may end in a fault inside of MPI, after which MPI should not be used any more: only where the alternative is an error */
  if (type == PATCHFD_HALO_MPI && h->want == PATCHFD_HALO_MPI) PetscCall(PatchFDHaloProbeMPI(comm, &works));
  else if (type == PATCHFD_HALO_MPI) works = use_gpu_aware_mpi;
  if (!works) *why = h->want == PATCHFD_HALO_MPI ? "MPI cannot send from the memory of GPUs" : "-use_gpu_aware_mpi is 0";
  if (!works) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*k->create)(desc, ways[type], plan));
  if (type == PATCHFD_HALO_NCCL) PetscCall((*k->join)(*plan, comm, h->rank, why));
  if (type == PATCHFD_HALO_PEER) {
    PetscCall(HaloConnect(h, k, *plan, &works));
    if (!works) *why = "a GPU cannot reach the memory of another";
    if (!works) PetscCall((*k->disconnect)(*plan));
    PetscCallMPI(MPI_Barrier(comm));
  }
  if (*why) PetscCall((*k->destroy)(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the first that works of what there is to choose from, or what was asked for */
static PetscErrorCode HaloChoose(PatchFDHalo h, PatchFDKernels kern, const PatchFDHaloDesc *desc, PatchFDHaloType *type, void **plan)
{
  /* without the host first */
  static const PatchFDHaloType all[]    = {PATCHFD_HALO_PEER, PATCHFD_HALO_NCCL, PATCHFD_HALO_MPI, PATCHFD_HALO_HOST};
  const MPI_Comm               comm     = PetscObjectComm((PetscObject)h->sf);
  const PetscBool              any      = (PetscBool)(h->want == PATCHFD_HALO_AUTO);
  PetscBool                    together = PETSC_TRUE, sharing = PETSC_FALSE;

  PetscFunctionBegin;
  if (any || h->want == PATCHFD_HALO_PEER) PetscCall(HaloFindPlaces(comm, tables[kern->id], &together, &sharing));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all) && !*plan; i++) {
    const PetscBool device = PatchFDHaloIsOnDevice(all[i]);
    const char     *why    = NULL;

    if (!any && h->want != all[i]) continue;
    *type = all[i];
    if (all[i] == PATCHFD_HALO_PEER && !together) why = "the ranks are on several machines";
    else if (any && device && sharing) why = "ranks share a GPU";
    else PetscCall(HaloTry(h, tables[kern->id], desc, all[i], plan, &why));
    PetscCheck(!why || any, comm, PETSC_ERR_SUP, "-dm_box_halo %s (DMBoxSetHaloType()) is not possible: %s; use auto or host",
               PatchFDHaloTypes[h->want], why);
    if (why) PetscCall(PetscInfo(h->sf, "Halo of %s arrays, not by %s: %s\n", kern->name, PatchFDHaloTypes[all[i]], why));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaloSetUp(PatchFDHalo h, PatchFDKernels kern)
{
  const PatchFDHaloKernels k    = tables[kern->id];
  const PatchFDHaloDesc    desc = {.n = h->n, .unit = h->unit, .first = {h->first[0], h->first[1]}, .index = {h->index[0], h->index[1]}};
  HaloTable               *t    = &h->table[kern->id];

  PetscFunctionBegin;
  if (t->plan) PetscFunctionReturn(PETSC_SUCCESS);
  t->type = PATCHFD_HALO_MPI;
  if (PetscMemTypeHost(kern->memtype)) PetscCall((*k->create)(&desc, ways[t->type], &t->plan));
  else PetscCall(HaloChoose(h, kern, &desc, &t->type, &t->plan));
  if (!PatchFDHaloIsOnDevice(t->type)) PetscCall((*k->buffers)(t->plan, t->buffer));
  PetscCall(PetscInfo(h->sf, "Halo of %s arrays, with %d ranks: by %s\n", kern->name, (int)h->n, PatchFDHaloTypes[t->type]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaloRequestsCreate(PatchFDHalo h, PatchFDKernels kern, int side, PetscInt n, HaloRequests *r)
{
  const MPI_Comm   comm = PetscObjectComm((PetscObject)h->sf);
  const HaloTable *t    = &h->table[kern->id];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * h->n, &r->all));
  for (int send = 0; send < 2; send++) {
    const int       s     = send ? side : 1 - side;
    const PetscInt *first = h->first[s];
    MPI_Request    *all   = r->all + (send ? r->n[0] : 0);

    r->numbers[send] = (PetscCount)n * first[h->n] * h->unit;
    for (PetscMPIInt i = 0; i < h->n; i++) {
      char       *at = (char *)t->buffer[s] + (size_t)(n * first[i]) * h->unit * kern->size;
      PetscMPIInt count;

      if (first[i] == first[i + 1]) continue;
      PetscCall(PetscMPIIntCast((PetscCount)n * (first[i + 1] - first[i]) * h->unit, &count));
      if (send) PetscCallMPI(MPI_Send_init(at, count, (*kern->datatype)(), h->rank[i], h->tag, comm, &all[r->n[1]++]));
      else PetscCallMPI(MPI_Recv_init(at, count, (*kern->datatype)(), h->rank[i], h->tag, comm, &all[r->n[0]++]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaloStart(PatchFDHalo h, PatchFDKernels kern, int side, PetscInt n)
{
  HaloRequests *r = &h->table[kern->id].requests[side][n - 1];

  PetscFunctionBegin;
  if (!r->all) PetscCall(HaloRequestsCreate(h, kern, side, n, r));
  PetscCallMPI(MPI_Startall_irecv((PetscMPIInt)r->numbers[0], (*kern->datatype)(), r->n[0], r->all));
  PetscCallMPI(MPI_Startall_isend((PetscMPIInt)r->numbers[1], (*kern->datatype)(), r->n[1], r->all + r->n[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- exchanges ---- */

PetscErrorCode PatchFDHaloBegin(PatchFDHalo h, PatchFDKernels kern, int side, PetscInt n, const void *const from[])
{
  const PatchFDHaloKernels k = tables[kern->id];
  HaloTable               *t = &h->table[kern->id];

  PetscFunctionBegin;
  PetscCheck(!t->busy, PETSC_COMM_SELF, PETSC_ERR_ORDER, "An exchange of ghosts begins before the one before it has ended");
  PetscCall(HaloSetUp(h, kern));
  t->busy = PETSC_TRUE;
  PetscCall((*k->pack)(t->plan, side, n, from));
  if (!PatchFDHaloIsOnDevice(t->type) && !k->wait) PetscCall(HaloStart(h, kern, side, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHaloEnd(PatchFDHalo h, PatchFDKernels kern, int side, PetscInt n, void *const to[])
{
  const PatchFDHaloKernels k = tables[kern->id];
  HaloTable               *t = &h->table[kern->id];
  HaloRequests            *r = &t->requests[side][n - 1];

  PetscFunctionBegin;
  PetscCheck(t->busy, PETSC_COMM_SELF, PETSC_ERR_ORDER, "An exchange of ghosts ends that has not begun");
  if (!PatchFDHaloIsOnDevice(t->type)) {
    if (k->wait) {
      PetscCall((*k->wait)(t->plan));
      PetscCall(HaloStart(h, kern, side, n));
    }
    PetscCallMPI(MPI_Waitall(r->n[0] + r->n[1], r->all, MPI_STATUSES_IGNORE));
  }
  PetscCall((*k->unpack)(t->plan, 1 - side, (PetscBool)(side == 1), n, to));
  t->busy = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PatchFDHaloType PatchFDHaloGetType(PatchFDHalo h, PatchFDKernels kern)
{
  return h->table[kern->id].plan ? h->table[kern->id].type : h->want;
}

/* memory that peers write to has to outlive their last exchange */
PetscErrorCode PatchFDHaloDestroy(PatchFDHalo *halo)
{
  PatchFDHalo h = *halo;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  for (int id = 0; id < PATCHFD_NUM_KERNELS; id++) {
    HaloTable *t = &h->table[id];

    for (int i = 0; i < 2 * PATCHFD_HALO_MAX_ARRAYS; i++) {
      HaloRequests *r = &t->requests[i / PATCHFD_HALO_MAX_ARRAYS][i % PATCHFD_HALO_MAX_ARRAYS];

      for (PetscMPIInt j = 0; j < r->n[0] + r->n[1]; j++) PetscCallMPI(MPI_Request_free(&r->all[j]));
      PetscCall(PetscFree(r->all));
    }
    if (!t->plan) continue;
    if (t->type == PATCHFD_HALO_PEER) {
      PetscCall((*tables[id]->disconnect)(t->plan));
      PetscCallMPI(MPI_Barrier(PetscObjectComm((PetscObject)h->sf)));
    }
    PetscCall((*tables[id]->destroy)(&t->plan));
  }
  for (int side = 0; side < 2; side++) {
    PetscCall(PetscFree(h->first[side]));
    PetscCall(PetscFree(h->index[side]));
  }
  PetscCall(PetscFree(h->rank));
  PetscCall(PetscSFDestroy(&h->sf));
  PetscCall(PetscFree(*halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}
