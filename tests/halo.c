static char help[] = "What ranks exchange.  -part\n\
  transports : the operator and V-cycles, applied several times, are the same for every -dm_box_halo that is given as -types\n\
  messages   : of a V-cycle, its smoothing steps and the operator, on 8 ranks, against what a rank has to send\n\
  faults     : messages from memory that MPI cannot read do no harm\n\
  patience   : on GPUs, a rank that others wait for in vain\n\
  errors     : types that do not exist, or too late\n\n";

#include <petscpatchfd.h>
#include <petsc/private/dmimpl.h>
#include <patchfd/private/halo.h>
#include <sys/mman.h>
#include "catch.h"

static PetscErrorCode CreateProblem(const char type[], PetscInt cells, PetscInt degree, DM *dm, Mat *A, PC *pc, Vec *x, Vec *y)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  if (type) PetscCall(PetscOptionsSetValue(NULL, "-dm_box_halo", type));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, (const PetscInt[]){cells, cells, cells}, degree, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, *A, *A));
  PetscCall(PCSetDM(*pc, *dm));
  PetscCall(PCSetType(*pc, PCPATCHMG));
  PetscCall(PCPatchMGSetCoarseEqLim(*pc, 0)); /* cycles are what exchanges most */
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscCall(DMCreateGlobalVector(*dm, x));
  PetscCall(VecDuplicate(*x, y));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(*x, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyProblem(DM *dm, Mat *A, PC *pc, Vec *x, Vec *y)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(x));
  PetscCall(VecDestroy(y));
  PetscCall(PCDestroy(pc));
  PetscCall(MatDestroy(A));
  PetscCall(DMDestroy(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transports ---- */

/* y = A x after some x <- x - M^{-1} A x, which need all that ranks exchange; several, so that recordings are replayed.  size: of A x at
   the beginning */
static PetscErrorCode Iterate(Mat A, PC pc, Vec x, Vec y, PetscReal *size)
{
  Vec z;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &z));
  for (int i = 0; i < 4; i++) {
    PetscCall(MatMult(A, x, y));
    if (i == 0) PetscCall(VecNorm(y, NORM_2, size));
    PetscCall(PCApply(pc, y, z));
    PetscCall(VecAXPY(x, -1, z));
  }
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckTransports(void)
{
  char     *type[4];
  PetscInt  n = 4, cells = 8;
  Vec       first = NULL;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &cells, NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-types", type, &n, &set));
  for (PetscInt i = 0; i < (set ? n : 0); i++) {
    DM        dm;
    Mat       A;
    PC        pc;
    Vec       x, y;
    PetscReal norm, size;
    PetscBool single;

    PetscCall(CreateProblem(type[i], cells, 3, &dm, &A, &pc, &x, &y));
    PetscCall(Iterate(A, pc, x, y, &size));
    if (!first) PetscCall(VecDuplicate(y, &first));
    if (i == 0) PetscCall(VecCopy(y, first));
    PetscCall(VecAXPY(y, -1, first));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(PetscStrcmpAny(dm->vectype, &single, VECSINGLE, VECSINGLECUDA, ""));
    /* other transports take colours in other pieces, and so other kernels: the same to rounding */
    if (norm <= (single ? 1e-5 : 1e-12) * size) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the same\n"));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: DIFFERENT by %g\n", type[i], (double)(norm / size)));
    PetscCall(DestroyProblem(&dm, &A, &pc, &x, &y));
    PetscCall(PetscFree(type[i]));
  }
  PetscCall(VecDestroy(&first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- messages ---- */

static PetscErrorCode Messages(const char what[], PetscLogDouble before)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %g messages\n", what, petsc_isend_ct - before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  On 2 x 2 x 2 ranks a rank has a neighbour in each direction.  A smoothing step is 3 messages to begin with, and one before each of the 7
  colours after the first; operator, restriction and prolongation are 3 each.  So a V-cycle has 29 on each level but the coarsest, where
  everybody hears of all.
*/
static PetscErrorCode CheckMessages(void)
{
  DM             dm;
  Mat            A;
  PC             pc, smoother;
  KSP            ksp;
  Vec            x, y;
  PetscInt       n;
  PetscLogDouble before;

  PetscFunctionBeginUser;
  PetscCall(CreateProblem(NULL, 8, 2, &dm, &A, &pc, &x, &y));
  PetscCall(PCMGGetLevels(pc, &n));
  PetscCall(PCMGGetSmoother(pc, n - 1, &ksp));
  PetscCall(KSPGetPC(ksp, &smoother));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatMult(A, x, y));
    PetscCall(PCApply(smoother, x, y));
    PetscCall(PCApply(pc, x, y));
  }
  before = petsc_isend_ct;
  PetscCall(MatMult(A, x, y));
  PetscCall(Messages("operator", before));
  before = petsc_isend_ct;
  PetscCall(PCApply(smoother, x, y));
  PetscCall(Messages("smoothing step", before));
  before = petsc_isend_ct;
  PetscCall(PCApply(pc, x, y));
  PetscCall(Messages("V-cycle", before));
  PetscCall(DestroyProblem(&dm, &A, &pc, &x, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- faults ---- */

/* a fault, and then messages on another communicator, to the rank itself and to others */
static PetscErrorCode CheckFaults(void)
{
  const PetscMPIInt n     = 1000;
  const size_t      bytes = sizeof(double) * 1000;
  double           *own, *none;
  PetscMPIInt       rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscCalloc1(2 * n, &own));
  none = (double *)mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  PetscCheck(none != MAP_FAILED, PETSC_COMM_SELF, PETSC_ERR_MEM, "mmap() of %zu bytes", bytes);
  for (int i = 0; i < 3; i++) {
    const PetscMPIInt dest = i < 2 ? rank : (rank + 1) % size, source = i < 2 ? rank : (rank + size - 1) % size;
    PetscBool         survives;
    MPI_Comm          comm;

    PetscCallMPI(MPI_Comm_dup(PETSC_COMM_WORLD, &comm));
    own[0]   = rank + 1;
    own[n]   = 0;
    survives = PatchFDHaloSurvives(comm, n, dest, i ? own : none, source, own + n);
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &survives, 1, PATCHFD_MPI_BOOL, i ? MPI_LAND : MPI_LOR, PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: %s\n", i < 2 ? "to itself" : "to others", i ? "readable" : "not readable",
                          survives && own[n] == source + 1 ? "arrives" : "does not arrive"));
    if (survives) PetscCallMPI(MPI_Comm_free(&comm));
  }
  munmap(none, bytes);
  PetscCall(PetscFree(own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- patience ---- */

/* only rank 0 takes part in the second exchange: it gets no numbers, and an error in the next one */
static PetscErrorCode CheckPatience(void)
{
  DM             dm;
  Mat            A;
  PC             pc;
  Vec            x, y;
  PetscMPIInt    rank;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PatchFDHaloPatience = 1;
  PetscLogSyncOn      = PETSC_FALSE; /* -petsc_ci has all ranks wait for each other in each MatMult() */
  PetscCall(CreateProblem("peer", 4, 2, &dm, &A, &pc, &x, &y));
  PetscCall(MatMult(A, x, y));
  if (rank == 0) {
    const PetscScalar *a;
    PetscInt           n, numbers = 0;

    PetscCall(MatMult(A, x, y));
    PetscCall(VecGetLocalSize(y, &n));
    PetscCall(VecGetArrayRead(y, &a));
    for (PetscInt i = 0; i < n; i++) numbers += !PetscIsNanScalar(a[i]);
    PetscCall(VecRestoreArrayRead(y, &a));
    CATCH(ierr, MatMult(A, x, y));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "without the other rank: %s\n", numbers < n ? "not a number" : "NUMBERS"));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s\n", ierr == PETSC_ERR_LIB ? "ok" : "NO ERROR", lastmessage));
  }
  /* Nothing is destroyed: MatMult() of rank 0 still holds what it had when it failed, and ranks disconnect together */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

static PetscErrorCode CheckErrors(void)
{
  DM              dm;
  PC              pc;
  PatchFDHaloType type;
  PetscErrorCode  ierr;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, (const PetscInt[]){4, 4}, 1, &dm));
  CATCH(ierr, DMBoxSetHaloType(dm, (PatchFDHaloType)17));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_ARG_OUTOFRANGE ? "ok" : "NO ERROR", lastmessage));
  PetscCall(DMBoxSetHaloType(dm, PATCHFD_HALO_HOST));
  PetscCall(DMBoxGetHaloType(dm, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", PatchFDHaloTypes[type]));
  PetscCall(PetscOptionsSetValue(NULL, "-dm_box_halo", "pigeons"));
  CATCH(ierr, DMSetFromOptions(dm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr ? "ok" : "NO ERROR", lastmessage));
  PetscCall(PetscOptionsClearValue(NULL, "-dm_box_halo"));
  PetscCall(DMSetUp(dm));
  CATCH(ierr, DMBoxSetHaloType(dm, PATCHFD_HALO_AUTO));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_ARG_WRONGSTATE ? "ok" : "NO ERROR", lastmessage));
  PetscCall(DMDestroy(&dm));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  CATCH(ierr, PCPatchMGSetCoarseEqLim(pc, -5));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_ARG_OUTOFRANGE ? "ok" : "NO ERROR", lastmessage));
  PetscCall(PCMGSetLevels(pc, 2, NULL));
  CATCH(ierr, PCPatchMGSetCoarseEqLim(pc, 100));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_ARG_WRONGSTATE ? "ok" : "NO ERROR", lastmessage));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      part[32] = "";
  PetscBool is[5];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  PetscCall(PetscStrcmp(part, "transports", &is[0]));
  PetscCall(PetscStrcmp(part, "messages", &is[1]));
  PetscCall(PetscStrcmp(part, "errors", &is[2]));
  PetscCall(PetscStrcmp(part, "faults", &is[3]));
  PetscCall(PetscStrcmp(part, "patience", &is[4]));
  if (is[0]) PetscCall(CheckTransports());
  if (is[1]) PetscCall(CheckMessages());
  if (is[2]) PetscCall(CheckErrors());
  if (is[3]) PetscCall(CheckFaults());
  if (is[4]) PetscCall(CheckPatience());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: messages
     nsize: 8
     args: -part messages
   # two levels in place of three
   test:
     suffix: messages_coarse
     nsize: 8
     args: -part messages -pc_patchmg_coarse_eq_limit 1000
   test:
     suffix: errors
     nsize: 2
     args: -part errors -malloc_dump 0
     filter: sed "s/.pigeons[^ ]/ pigeons/"
   test:
     suffix: faults
     nsize: {{1 3}}
     args: -part faults
   test:
     suffix: host
     nsize: {{2 3 8}}
     output_file: output/halo_transports.out
     args: -part transports -types auto,mpi -dm_vec_type {{standard single}}
   # ranks that share a GPU, too
   testset:
     requires: cuda gpu
     nsize: {{2 4}}
     output_file: output/halo_transports.out
     args: -part transports -use_gpu_aware_mpi 0
     test:
       suffix: cuda
       args: -types host,peer -dm_vec_type {{cuda singlecuda}}
     test:
       suffix: cuda_graph
       args: -types peer,peer -pc_patchmg_graph {{0 1}} -dm_vec_type cuda
     # more ghosts than the kernel that takes them out waits for itself
     test:
       suffix: cuda_large
       args: -types host,peer -cells 24 -dm_vec_type cuda
   test:
     requires: cuda gpu
     suffix: patience
     nsize: 2
     args: -part patience -dm_vec_type {{cuda singlecuda}} -malloc_dump 0 -use_gpu_aware_mpi 0

TEST*/
