/* KSPFUSEDCG: sums over ranks without the host, where GPUs exchange so */
#include "fusedcg.h"

enum {
  FUSEDCG_MAX_RANKS = 16 /* that hear of each other, one by one, for sums without the host */
};

PetscErrorCode FusedCGDestroyTotals(KSP_FusedCG *cg)
{
  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_CG_NUM_TOTALS; i++) {
    if (!cg->total[i].halo) continue;
    PetscCall(PatchFDHaloDestroy(&cg->total[i].halo));
    PetscCall((*PatchFDKernelTables[PATCHFD_KERNELS_CUDA_DOUBLE]->free)(cg->total[i].part));
  }
  PetscCall(PetscMemzero(cg->total, sizeof(cg->total)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FusedCGTotalCreate(MPI_Comm comm, PetscMPIInt nrank, PetscInt n, PatchFDHaloType type, FusedCGTotal *total)
{
  PetscSF      sf;
  PetscSFNode *source;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nrank * n, &source));
  for (PetscInt i = 0; i < nrank * n; i++) source[i] = (PetscSFNode){.rank = i / n, .index = i % n};
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraph(sf, n, nrank * n, NULL, PETSC_OWN_POINTER, source, PETSC_OWN_POINTER));
  PetscCall(PatchFDHaloCreate(sf, type, &total->halo));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall((*PatchFDKernelTables[PATCHFD_KERNELS_CUDA_DOUBLE]->malloc)(nrank * n, &total->part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* every rank's number, to all */
static PetscErrorCode FusedCGTell(KSP_FusedCG *cg, PatchFDCGTotal what)
{
  const PatchFDKernels kern = PatchFDKernelTables[PATCHFD_KERNELS_CUDA_DOUBLE]; /* of the numbers, whatever the vectors' precision */
  const FusedCGTotal  *t    = &cg->total[what];
  const void *from = (const char *)cg->device + (what == PATCHFD_CG_TOTAL_PW ? offsetof(PatchFDCG, sweep.pw) : offsetof(PatchFDCG, sum));

  PetscFunctionBegin;
  PetscCall(PatchFDHaloBegin(t->halo, kern, 0, 1, &from));
  PetscCall(PatchFDHaloEnd(t->halo, kern, 0, 1, &t->part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FusedCGSetTotal(KSP_FusedCG *cg, PatchFDCGTotal what)
{
  PetscFunctionBegin;
  if (!cg->total[what].halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FusedCGTell(cg, what));
#if defined(PETSC_HAVE_CUDA)
  PetscCall(PatchFDCGSetTotalCUDA(cg->plan, what, cg->nrank, (const double *)cg->total[what].part));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FusedCGSetTotals(KSP ksp, KSP_FusedCG *cg)
{
  const MPI_Comm  comm  = PetscObjectComm((PetscObject)ksp);
  PatchFDHaloType type  = PATCHFD_HALO_AUTO;
  PetscBool       isbox = PETSC_FALSE;
  DM              dm;
  Mat             A;

  PetscFunctionBegin;
  if (cg->tried || PetscMemTypeHost(cg->kern->memtype) || cg->nrank == 1 || cg->nrank > FUSEDCG_MAX_RANKS)
    PetscFunctionReturn(PETSC_SUCCESS);
  cg->tried = PETSC_TRUE;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetDM(A, &dm));
  if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMBOX, &isbox));
  if (isbox) PetscCall(DMBoxGetHaloType(dm, &type));
  PetscCall(FusedCGTotalCreate(comm, cg->nrank, 1, type, &cg->total[PATCHFD_CG_TOTAL_PW]));
  PetscCall(FusedCGTotalCreate(comm, cg->nrank, PATCHFD_CG_NUM_SUMS, type, &cg->total[PATCHFD_CG_TOTAL_SUMS]));
  for (int i = 0; i < PATCHFD_CG_NUM_TOTALS; i++) PetscCall(FusedCGTell(cg, (PatchFDCGTotal)i));
  type = PatchFDHaloGetType(cg->total[PATCHFD_CG_TOTAL_PW].halo, PatchFDKernelTables[PATCHFD_KERNELS_CUDA_DOUBLE]);
  if (!PatchFDHaloIsOnDevice(type)) PetscCall(FusedCGDestroyTotals(cg));
  PetscFunctionReturn(PETSC_SUCCESS);
}
