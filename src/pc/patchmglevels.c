/*
  PCPATCHMG: how many levels?  What the user says; otherwise, where fast diagonalization solves the whole box, what an estimate says,
  unless the user says anything about cycles; otherwise as many as there are.
*/
#include <petsc/private/pcimpl.h>
#include <patchfd/private/degrees.h>
#include <patchfd/private/matimpl.h>
#include "patchmg.h"
#include <strings.h>

/* is it an option that only looks? */
static PetscErrorCode OptionLooks(const char option[], PetscBool *looks)
{
  static const char *const names[] = {"monitor", "view", "converged_reason", "converged_rate", "mg_log", "mg_dump"};
  char                    *lower;

  PetscFunctionBegin;
  *looks = PETSC_FALSE;
  PetscCall(PetscStrallocpy(option, &lower));
  PetscCall(PetscStrtolower(lower));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(names); i++) *looks = (PetscBool)(*looks || strstr(lower, names[i]));
  PetscCall(PetscFree(lower));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the first option that is about cycles or levels, and does more than look, or "" */
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
      char      begin[256];
      PetscBool looks;

      PetscCall(PetscSNPrintf(begin, sizeof(begin), "-%s%s", prefix ? prefix : "", about[j]));
      if (strncasecmp(word[i], begin, strlen(begin))) continue; /* as PETSc compares options */
      PetscCall(OptionLooks(word[i] + strlen(begin) - strlen(about[j]), &looks));
      if (!looks) PetscCall(PetscStrncpy(option, word[i], size));
    }
  }
  PetscCall(PetscStrToArrayDestroy(n, word));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of n coarsenings those that make levels, and why */
static PetscErrorCode PCPatchMGChoose(PC pc, PetscInt *n)
{
  PC_PatchMG    *p      = PATCHMG(pc);
  PetscLogDouble chosen = 0, cycles = 0;
  const PetscInt coarsest = *n;
  PetscInt       limited;
  char           option[128];

  PetscFunctionBegin;
  PetscCall(PCPatchMGFindOption(pc, option, sizeof(option)));
  if (p->eqlimit == PETSC_DECIDE && !option[0] && PCPatchMGCycleIsFree_Private(pc))
    PetscCall(MatBoxChooseCoarsenings(pc->dm, n, &chosen, &cycles));
  if (chosen == 0) PetscCall(MatBoxLimitCoarsenings(pc->dm, p->eqlimit, n));
  limited = *n;
  if (p->eqlimit != 0) PetscCall(MatBoxWholeCoarsenings(pc->dm, n));
  if (p->eqlimit == PETSC_UNLIMITED) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "-pc_patchmg_coarse_eq_limit unlimited"));
  else if (p->eqlimit != PETSC_DECIDE)
    PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "-pc_patchmg_coarse_eq_limit %" PetscInt_FMT, p->eqlimit));
  else if (!coarsest) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "the mesh cannot be coarsened"));
  else if (chosen > 0)
    PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "set-up and a solve are estimated to take %.3g ms, with all levels %.3g ms",
                            chosen * 1e3, cycles * 1e3));
  else if (option[0]) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "%s asks for cycles", option));
  else if (*n < limited)
    PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "a dense inverse takes less time on a GPU than the kernels of coarser levels"));
  else if (!pc->dm->setupcalled) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "DMSetUp() had not been called"));
  else if (!PCPatchMGCycleIsFree_Private(pc)) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "PCMGSetType() asks for cycles"));
  else PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "there is no estimate for this operator"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one coarsening more where the mesh would have many unknowns to factor; what it leaves is for PCGAMG, if it still is much */
static PetscErrorCode PCPatchMGLowerDegree(PC pc, PetscInt *n)
{
  const PetscInt coarsenings = *n;
  PetscInt       degree      = 0;
  PC_PatchMG    *p           = PATCHMG(pc);
  PetscBool      large       = PETSC_FALSE;

  PetscFunctionBegin;
  if (p->eqlimit == PETSC_DECIDE) PetscCall(MatBoxLowerDegree(pc->dm, n, &degree, &large));
  p->lowered = (PetscBool)(*n > coarsenings);
  p->coarse  = large ? PATCHMG_COARSE_ASSEMBLED : PATCHMG_COARSE_BOX;
  if (p->lowered)
    PetscCall(
      PetscSNPrintf(p->why, sizeof(p->why), "degree %" PetscInt_FMT " on the cells of a mesh that is too large to be factored", degree));
  else if (p->coarse != PATCHMG_COARSE_BOX) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "the mesh is too large to be factored"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the mesh ---- */

/* levels of another mesh, or halved in other directions, are made again: also those whose number the user has set */
PetscErrorCode PCPatchMGSetStale_Private(PC pc)
{
  PetscFunctionBegin;
  PetscCall((*pc->ops->reset)(pc));
  pc->setupcalled    = PETSC_FALSE;
  PATCHMG(pc)->stale = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SNES and TS give a DMSHELL to a solver that has no DM: one that cannot be coarsened is none, nor is a DMPLEX, whose degrees are halved */
PetscBool PCPatchMGHasDM_Private(PC pc)
{
  return (PetscBool)(pc->dm && pc->dm->ops->coarsen && !PCPatchMGHasPlex(pc));
}

PetscErrorCode PCPatchMGFindDM_Private(PC pc)
{
  PC_PatchMG     *p     = PATCHMG(pc);
  const PetscBool given = (PetscBool)(PCPatchMGHasDM_Private(pc) && ((PetscObject)pc->dm)->id != p->dm);
  Mat_Box        *m     = NULL;

  PetscFunctionBegin;
  if (pc->pmat && !given) PetscCall(MatBoxFind(pc->pmat, &m));
  if (!m || m->dm == pc->dm) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->dm && p->dm != ((PetscObject)m->dm)->id) PetscCall(PCPatchMGSetStale_Private(pc));
  p->dm = ((PetscObject)m->dm)->id;
  PetscCall(PCSetDM(pc, m->dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* how directions are halved now, and whether that is how the levels that there are halve them */
static PetscErrorCode PCPatchMGUpdateHalvings(PC pc, PetscBool *same)
{
  PC_PatchMG *p = PATCHMG(pc);
  PetscInt    n, (*halvings)[3];

  PetscFunctionBegin;
  PetscCall(DMBoxGetNumCoarsenings(pc->dm, &n));
  PetscCall(PetscMalloc1(n + 1, &halvings));
  PetscCall(DMBoxGetHalvings(pc->dm, n, halvings));
  *same = (PetscBool)(n == p->nhalvings);
  if (*same && p->halvings) PetscCall(PetscArraycmp(&halvings[0][0], &p->halvings[0][0], 3 * (n + 1), same));
  *same = (PetscBool)(*same || !p->halvings);
  PetscCall(PetscFree(p->halvings));
  p->nhalvings = n;
  p->halvings  = halvings;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* before set-up, where the DM is a DMBOX */
PetscErrorCode PCPatchMGCheckHalvings_Private(PC pc)
{
  PetscBool isbox, same;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc->dm, DMBOX, &isbox));
  if (!isbox) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMSetUp(pc->dm));
  PetscCall(DMBoxUpdateCoarsening(pc->dm));
  PetscCall(PCPatchMGUpdateHalvings(pc, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "Other directions are to be halved than in the levels that there are, which are made again\n"));
  PetscCall(PCPatchMGSetStale_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the levels ---- */

PetscErrorCode PCPatchMGReadOptions_Private(PC pc, PatchFDOptionItems PetscOptionsObject)
{
  const PetscBool isfree = PCPatchMGCycleIsFree_Private(pc);
  PetscBool       type;

  PetscFunctionBegin;
  PetscCall(PATCHMG(pc)->setfromoptions(pc, PetscOptionsObject)); /* -pc_mg_levels calls PCMGSetType(), too */
  PetscCall(PetscOptionsHasName(((PetscObject)pc)->options, ((PetscObject)pc)->prefix, "-pc_mg_type", &type));
  if (isfree && !type) PCPatchMGFreeCycle_Private(pc);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n levels, with what was set for all of them, also by -pc_mg_* */
static PetscErrorCode PCPatchMGMakeLevels(PC pc, PetscInt n)
{
  PC_MG          *mg     = (PC_MG *)pc->data;
  const PetscBool isfree = PCPatchMGCycleIsFree_Private(pc), made = (PetscBool)(mg->nlevels == n);
  const PetscBool distinct = (PetscBool)(mg->levels && mg->levels[mg->nlevels - 1]->smoothd != mg->levels[mg->nlevels - 1]->smoothu);

  PetscFunctionBegin;
  PetscCall(PCMGSetLevels(pc, n, NULL)); /* which calls PCMGSetType() */
  if (isfree) PCPatchMGFreeCycle_Private(pc);
  if (distinct && !made) PetscCall(PCMGSetDistinctSmoothUp(pc));
  if (!PATCHMG(pc)->options || made) PetscFunctionReturn(PETSC_SUCCESS);
  PetscObjectOptionsBegin((PetscObject)pc);
  PetscCall(PCPatchMGReadOptions_Private(pc, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* as many levels as the mesh can be coarsened without cells that fold, or fewer; or as degrees can be halved; unless the user chose */
PetscErrorCode PCPatchMGSetLevels_Private(PC pc)
{
  PC_MG          *mg     = (PC_MG *)pc->data;
  PC_PatchMG     *p      = PATCHMG(pc);
  const PetscBool again  = (PetscBool)(mg->levels && p->stale && p->levels == mg->nlevels);
  PatchMGCoarse   before = p->coarse;
  PetscBool       isbox  = PETSC_FALSE, same;
  PetscInt        n;

  PetscFunctionBegin;
  p->stale = PETSC_FALSE;
  if (mg->levels && !again) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->changed) {
    mg->am                   = PC_MG_MULTIPLICATIVE;
    pc->ops->applyrichardson = PCApplyRichardson_PatchMG;
    p->changed               = PETSC_FALSE;
  }
  PetscCall(PCPatchMGGetNumDegrees(pc, &n));
  if (n) PetscCall(PetscSNPrintf(p->why, sizeof(p->why), "degrees are halved down to 1"));
  if (pc->dm) PetscCall(PetscObjectTypeCompare((PetscObject)pc->dm, DMBOX, &isbox));
  if (isbox) {
    PetscCall(PCPatchMGUpdateHalvings(pc, &same));
    PetscCall(DMBoxGetNumCoarsenings(pc->dm, &n));
    PetscCall(DMBoxLimitFolded(pc->dm, &n));
    PetscCall(PCPatchMGChoose(pc, &n));
    PetscCall(PCPatchMGLowerDegree(pc, &n));
    n++;
  }
  p->levels = n;
  if (n) PetscCall(PCPatchMGMakeLevels(pc, n));
  if (again && before != p->coarse) { /* the coarsest one gets a solver as if it were new */
    PC coarse;

    PetscCall(KSPSetType(mg->levels[0]->smoothd, KSPPREONLY));
    PetscCall(KSPGetPC(mg->levels[0]->smoothd, &coarse));
    PetscCall(PCSetType(coarse, PCLU));
  }
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
