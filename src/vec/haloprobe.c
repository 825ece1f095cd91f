/*
  Can MPI send from the memory of a GPU, and receive there?  No question to MPI tells: some that can do not say so, since only messages
  work and reductions do not, and those that cannot end in a fault.  So messages are sent, and what arrives is looked at: to the rank
  itself first, where it is the rank that sends in which there is a fault, and not another one that reads its memory; then to another rank,
  short and long.  A fault ends the attempt, by a jump out of MPI, so that the program can end with an error that says why: nobody knows
  what state MPI is in, and nothing but that is done with it.
*/
#include <patchfd/private/halo.h>
#include <patchfd/private/vecimpl.h>
#include <petsctime.h>
#include <setjmp.h>
#include <signal.h>

static const PetscLogDouble PATIENCE = 2; /* s: a rank waits in vain if there was a fault in the one that sends */

static sigjmp_buf escape;

static void Fault(PETSC_UNUSED int sig)
{
  siglongjmp(escape, 1);
}

static PetscBool TryExchange(MPI_Comm comm, PetscMPIInt n, PetscMPIInt dest, const void *from, PetscMPIInt source, void *to)
{
  MPI_Request    request[2];
  PetscLogDouble start, now;
  int            done = 0;

  if (MPI_Irecv(to, n, MPI_DOUBLE, source, 0, comm, &request[0]) || MPI_Isend(from, n, MPI_DOUBLE, dest, 0, comm, &request[1]))
    return PETSC_FALSE;
  (void)PetscTime(&start);
  for (now = start; !done && now < start + PATIENCE; (void)PetscTime(&now))
    if (MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE)) return PETSC_FALSE;
  return (PetscBool)done;
}

PetscBool PatchFDHaloSurvives(MPI_Comm comm, PetscMPIInt n, PetscMPIInt dest, const void *from, PetscMPIInt source, void *to)
{
  static const int   sig[2] = {SIGSEGV, SIGBUS};
  struct sigaction   fault  = {.sa_handler = Fault}, before[2];
  volatile PetscBool done   = PETSC_FALSE;

  sigemptyset(&fault.sa_mask);
  for (int i = 0; i < 2; i++) sigaction(sig[i], &fault, &before[i]);
  if (!sigsetjmp(escape, 1)) done = TryExchange(comm, n, dest, from, source, to);
  for (int i = 0; i < 2; i++) sigaction(sig[i], &before[i], NULL);
  return done;
}

/* n numbers from the GPU of this rank to that of `dest`, and from `source`: whether they have arrived, on all ranks */
static PetscErrorCode ProbeMessage(MPI_Comm comm, MPI_Comm probe, PetscMPIInt n, PetscMPIInt dest, PetscMPIInt source, PetscBool *arrives)
{
  const PatchFDKernels kern = PatchFDKernelTables[PATCHFD_KERNELS_CUDA_DOUBLE];
  PetscMPIInt          rank;
  PetscScalar          sum;
  Vec                  v[2];
  const void          *from;
  void                *to;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecCreate(PETSC_COMM_SELF, &v[i]));
    PetscCall(VecSetSizes(v[i], n, n));
    PetscCall(VecSetType(v[i], VECSEQCUDA));
    PetscCall(VecSet(v[i], i ? 0 : rank + 1));
    PetscCall(VecSum(v[i], &sum)); /* waits for the GPU */
  }
  PetscCall(PatchFDVecGetArrayRead(v[0], kern, &from));
  PetscCall(PatchFDVecGetArray(v[1], kern, &to));
  *arrives = PatchFDHaloSurvives(probe, n, dest, from, source, to);
  PetscCall(PatchFDVecRestoreArray(v[1], kern, &to));
  PetscCall(PatchFDVecRestoreArrayRead(v[0], kern, &from));
  PetscCall(VecSum(v[1], &sum));
  *arrives = (PetscBool)(*arrives && sum == (PetscScalar)n * (source + 1));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, arrives, 1, PATCHFD_MPI_BOOL, MPI_LAND, comm));
  for (int i = 0; i < 2; i++) {
    if (*arrives) PetscCall(VecDestroy(&v[i]));
    else PetscCall(PetscObjectRegisterDestroy((PetscObject)v[i])); /* what has not arrived might still come */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the answer, an attribute of the communicator ---- */

static PetscMPIInt keyval = MPI_KEYVAL_INVALID;

static PetscErrorCode FreeKeyval(void)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_free_keyval(&keyval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHaloProbeMPI(MPI_Comm comm, PetscBool *reads)
{
  static PetscBool  answer[2] = {PETSC_FALSE, PETSC_TRUE};
  const PetscMPIInt few = 64, many = 1 << 17;
  PetscBool        *known;
  PetscMPIInt       rank, size, found;
  int               threads;
  MPI_Comm          probe;

  PetscFunctionBegin;
  if (keyval == MPI_KEYVAL_INVALID) {
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    PetscCall(PetscRegisterFinalize(FreeKeyval));
  }
  PetscCallMPI(MPI_Comm_get_attr(comm, keyval, &known, &found));
  if (found) {
    *reads = *known;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Query_thread(&threads));
  *reads = (PetscBool)(threads < MPI_THREAD_MULTIPLE); /* otherwise a fault might leave locks behind */
  if (*reads) {
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCallMPI(MPI_Comm_dup(comm, &probe));
    PetscCallMPI(MPI_Comm_set_errhandler(probe, MPI_ERRORS_RETURN));
    PetscCall(ProbeMessage(comm, probe, few, rank, rank, reads));
    if (*reads) PetscCall(ProbeMessage(comm, probe, few, (rank + 1) % size, (rank + size - 1) % size, reads));
    if (*reads) PetscCall(ProbeMessage(comm, probe, many, (rank + 1) % size, (rank + size - 1) % size, reads));
    if (*reads) PetscCallMPI(MPI_Comm_free(&probe));
  }
  PetscCallMPI(MPI_Comm_set_attr(comm, keyval, &answer[*reads]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
