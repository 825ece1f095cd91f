/*
  PCPATCHMG: how many levels?  What the user says; otherwise, where fast diagonalization solves the whole box, what an estimate says, unless the user says anything about
  cycles; otherwise as many as there are.
*/
#include <petsc/private/pcimpl.h>
#include <patchfd/private/degrees.h>
#include <patchfd/private/matimpl.h>
#include "patchmg.h"
#include <strings.h>

/* the first option that is about cycles or levels, or "" */
static PetscErrorCode PCPatchMGFindOption(PC pc, char option[], size_t size)
{
  static const char *const about[] = {"pc_mg_", "mg_levels_", "mg_coarse_", "mg_fine_"};
  const char              *prefix  = ((PetscObject)pc)->prefix;
  char                    *all, **word;
  int                      n;

  PetscFunctionBegin;
  option[0] = 0;
  PetscCall(PetscOptionsGetAll(((PetscObject)pc)->options, &all));
  PetscCall(PetscStrToArray(all, ' ', &n, &word));
  for (int i = 0; i < n && !option[0]; i++) {
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(about); j++) {
      char begin[256];

      PetscCall(PetscSNPrintf(begin, sizeof(begin), "-%s%s", prefix ? prefix : "", about[j]));
      if (!strncasecmp(word[i], begin, strlen(begin))) PetscCall(PetscStrncpy(option, word[i], size)); /* as PETSc compares options */
    }
  }
  PetscCall(PetscStrToArrayDestroy(n, word));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of n coarsenings those that make levels, and why */
static PetscErrorCode PCPatchMGChoose(PC pc, PetscInt *n)
{
  PC_PatchMG    *p = PATCHMG(pc);
  PetscLogDouble chosen = 0, cycles = 0;
  const PetscInt coarsest = *n;
  PetscInt       limited;
  char           option[128];

  PetscFunctionBegin;
  PetscCall(PCPatchMGFindOption(pc, option, sizeof(option)));
  if (p->eqlimit == PETSC_DECIDE && !option[0] && PCPatchMGCycleIsFree_Private(pc)) PetscCall(MatBoxChooseCoarsenings(pc->dm, n, &chosen, &cycles));
  if (chosen == 0) PetscCall(MatBoxLimitCoarsenings(pc->dm, p->eqlimit, n));
  limited = *n;
  if (p->eqlimit != 0) PetscCall(MatBoxWholeCoarsenings(pc->dm, n));
  if (p->eqlimit == PETSC_UNLIMITED) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "-pc_patchmg_coarse_eq_limit unlimited"));
  else if (p->eqlimit != PETSC_DECIDE) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "-pc_patchmg_coarse_eq_limit %" PetscInt_FMT, p->eqlimit));
  else if (!coarsest) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "the mesh cannot be coarsened"));
  else if (chosen > 0) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "set-up and a solve are estimated to take %.3g ms, with all levels %.3g ms", chosen * 1e3, cycles * 1e3));
  else if (option[0]) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "%s asks for cycles", option));
  else if (*n < limited) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "a dense inverse takes less time on a GPU than the kernels of coarser levels"));
  else if (!pc->dm->setupcalled) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "DMSetUp() had not been called"));
  else if (!PCPatchMGCycleIsFree_Private(pc)) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "PCMGSetType() asks for cycles"));
  else PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "there is no estimate for this operator"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one coarsening more where the mesh would have many unknowns to factor; what it leaves is for PCGAMG, if it still is much */
static PetscErrorCode PCPatchMGLowerDegree(PC pc, PetscInt *n)
{
  const PetscLogDouble most        = 8000;
  const PetscInt       coarsenings = *n;
  PC_PatchMG          *p           = PATCHMG(pc);
  PetscLogDouble       unknowns    = 0;

  PetscFunctionBegin;
  if (p->eqlimit == PETSC_DECIDE) PetscCall(MatBoxLowerDegree(pc->dm, n, &unknowns));
  p->lowered   = (PetscBool)(*n > coarsenings);
  p->assembled = (PetscBool)(unknowns > most);
  if (p->lowered) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "degree 1 on the cells of a mesh that is too large to be factored"));
  else if (p->assembled) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "the mesh is too large to be factored"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* as many levels as the mesh can be coarsened without cells that fold, or fewer; or as degrees can be halved; unless the user chose */
PetscErrorCode PCPatchMGSetLevels_Private(PC pc)
{
  const PetscBool isfree = PCPatchMGCycleIsFree_Private(pc);
  PetscBool       isbox  = PETSC_FALSE;
  PetscInt        n;

  PetscFunctionBegin;
  if (((PC_MG *)pc->data)->levels) PetscFunctionReturn(PETSC_SUCCESS);
  if (pc->dm) PetscCall(PetscObjectTypeCompare((PetscObject)pc->dm, DMBOX, &isbox));
  PetscCall(PCPatchMGGetNumDegrees(pc, &n));
  if (isbox) {
    PetscCall(DMBoxGetNumCoarsenings(pc->dm, &n));
    PetscCall(DMBoxLimitFolded(pc->dm, &n));
    PetscCall(PCPatchMGChoose(pc, &n));
    PetscCall(PCPatchMGLowerDegree(pc, &n));
    n++;
    PATCHMG(pc)->levels = n;
  }
  if (n) PetscCall(PCMGSetLevels(pc, n, NULL)); /* which calls PCMGSetType() */
  if (isfree) PCPatchMGFreeCycle_Private(pc);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchMGGetCoarseReason_PatchMG(PC pc, const char *why[])
{
  PetscInt levels;

  PetscFunctionBegin;
  PetscCall(PCMGGetLevels(pc, &levels));
  *why = levels == PATCHMG(pc)->levels ? PATCHMG(pc)->why : (levels > 0 ? "the number of levels was set" : "not chosen yet");
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
