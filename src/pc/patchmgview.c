/*
  What a PCPATCHMG shows of itself: -ksp_view, and a table of its levels
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petsc/private/kspimpl.h>
#include <petscdevice.h>
#include "patchfd.h"
#include "patchmg.h"

/* PCMG would warn of a single level, which here is a direct solver */
PetscErrorCode PCView_PatchMG(PC pc, PetscViewer viewer)
{
  const PC_MG *mg = (const PC_MG *)pc->data;
  PetscBool    isascii;
  const char  *why = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PCPatchMGGetCoarseReason_PatchMG(pc, &why));
  if (isascii && mg->levels && mg->nlevels == 1) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  one level, the whole mesh: %s\n", why));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(KSPView(mg->levels[0]->smoothd, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (isascii && mg->levels) PetscCall(PetscViewerASCIIPrintf(viewer, "  coarsest level: %s\n", why));
  PetscCall(PATCHMG(pc)->view(pc, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one visit of a level: all that a V-cycle does there, on vectors of its own, as often as asked for */
static PetscErrorCode VisitLevel(const PC_MG *mg, PetscInt l, PetscInt n, const Vec v[])
{
  const PC_MG_Levels *level = mg->levels[l];
  PatchFDKernels      kern;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(KSPSolve(level->smoothd, v[0], v[1]));
    if (!l) continue;
    PetscCall((*level->residual)(level->A, v[0], v[1], v[2]));
    PetscCall(MatRestrict(level->restrct, v[2], v[3]));
    PetscCall(MatInterpolateAdd(level->interpolate, v[3], v[1], v[1]));
    PetscCall(KSPSolve(level->smoothu, v[0], v[1]));
  }
  PetscCall(PatchFDVecGetKernels(v[1], &kern));
  if (!PetscMemTypeHost(kern->memtype)) PetscCall(PetscDeviceContextSynchronize(NULL)); /* starts CUDA where nobody uses it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeLevel(PC pc, PetscInt l, PetscLogDouble *seconds)
{
  const PC_MG   *mg   = (const PC_MG *)pc->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  PetscInt       n    = 1;
  Vec            v[4] = {NULL, NULL, NULL, NULL};
  Mat            P;
  PetscLogDouble start;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(mg->levels[l]->smoothd, NULL, &P));
  PetscCall(MatCreateVecs(P, &v[1], &v[0]));
  PetscCall(VecDuplicate(v[0], &v[2]));
  if (l) PetscCall(MatCreateVecs(mg->levels[l]->interpolate, &v[3], NULL));
  PetscCall(VecSet(v[0], 1));
  PetscCall(VisitLevel(mg, l, 1, v)); /* which makes plans and work arrays */
  do {                                /* a twentieth of a second, or one visit */
    PetscCallMPI(MPI_Barrier(comm));
    PetscCall(PetscTime(&start));
    PetscCall(VisitLevel(mg, l, n, v));
    PetscCall(PetscTime(seconds));
    *seconds -= start;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, comm));
    n *= 4;
  } while (*seconds < 0.05 && n < 1000);
  *seconds /= (PetscLogDouble)(n / 4);
  for (int i = 0; i < 4; i++) PetscCall(VecDestroy(&v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewLevel(PC pc, PetscInt l, PetscLogDouble seconds, PetscLogDouble all, PetscViewer viewer)
{
  const PC_MG        *mg        = (const PC_MG *)pc->data;
  const PC_MG_Levels *level     = mg->levels[l];
  char                cells[64] = "-", degree[16] = "-", solver[64], size[32] = "-";
  PetscLogDouble      bytes = 0;
  PatchFDKernels      kern  = NULL;
  PetscBool           patches;
  PetscInt            N;
  VecType             type;
  Mat_Box            *m;
  Mat                 P;
  PC                  sub;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(level->smoothd, NULL, &P));
  PetscCall(KSPGetPC(level->smoothd, &sub));
  PetscCall(MatGetSize(P, &N, NULL));
  PetscCall(MatGetVecType(P, &type));
  PetscCall(PatchFDVecTypeGetKernels(type, &kern));
  PetscCall(MatBoxFind(P, &m));
  if (m) {
    PetscInt n[3] = {1, 1, 1}, dim;

    PetscCall(DMGetDimension(m->dm, &dim));
    PetscCall(DMBoxGetCells(m->dm, n));
    PetscCall(PetscSNPrintf(cells, sizeof(cells), "%" PetscInt_FMT, n[0]));
    for (PetscInt d = 1; d < dim; d++) {
      const size_t end = strlen(cells);

      PetscCall(PetscSNPrintf(cells + end, sizeof(cells) - end, " x %" PetscInt_FMT, n[d]));
    }
    PetscCall(PetscSNPrintf(degree, sizeof(degree), "%" PetscInt_FMT, MatBoxDegree(m)));
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)sub, PCPATCHFD, &patches));
  if (patches) {
    const MatPatches p = ((const PC_PatchFD *)sub->data)->patches;

    if (p->ops->bytes) bytes = (*p->ops->bytes)(p, kern);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  if (bytes) PetscCall(PetscSNPrintf(size, sizeof(size), "%.3g", bytes));
  PetscCall(PetscSNPrintf(solver, sizeof(solver), "%s, %s", ((PetscObject)level->smoothd)->type_name, ((PetscObject)sub)->type_name));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%5" PetscInt_FMT "  %-18s %6s %12" PetscInt_FMT "  %-20s %-12s %9s %10.3g %6.1f\n", l, cells,
                                   degree, N, solver, kern->name, size, 1e3 * seconds, 100 * seconds / all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchMGViewLevels_PatchMG(PC pc, PetscViewer viewer)
{
  const PC_MG    *mg = (const PC_MG *)pc->data;
  PetscBool       ascii;
  PetscLogDouble *seconds, all = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || pc->failedreason) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(mg->nlevels, &seconds));
  for (PetscInt l = 0; l < mg->nlevels; l++) {
    PetscCall(TimeLevel(pc, l, &seconds[l]));
    all += seconds[l];
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "level  %-18s %6s %12s  %-20s %-12s %9s %10s %6s\n", "cells", "degree", "unknowns", "solver",
                                   "kernels", "bytes", "visit, ms", "%"));
  for (PetscInt l = mg->nlevels; l-- > 0;) PetscCall(ViewLevel(pc, l, seconds[l], all, viewer));
  PetscCall(PetscFree(seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}
