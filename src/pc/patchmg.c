/*
  PCPATCHMG: PCMG with the defaults that a DMBOX needs.  It is a PCMG in every respect (in the manner of PCGAMG: the type is set to PCMG
  and then renamed); only what PCMG would set by itself and what cannot work on matrix-free operators is replaced, just before
  PCMG sets up: the number of levels, Chebyshev and SOR on the levels, LU on the coarsest.
*/
#include <petsc/private/pcimpl.h>
#include <petsc/private/pcmgimpl.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>

typedef struct {
  PetscBool symmetric;
  PetscErrorCode (*setfromoptions)(PC, PetscOptionItems), (*setup)(PC), (*destroy)(PC); /* PCMG's */
} PC_PatchMG;

#define PATCHMG(pc) ((PC_PatchMG *)((PC_MG *)(pc)->data)->innerctx)

/* as many levels as the mesh can be coarsened, unless the user chose */
static PetscErrorCode PCPatchMGSetLevels(PC pc)
{
  PetscBool isbox = PETSC_FALSE;
  PetscInt  n;

  PetscFunctionBegin;
  if (((PC_MG *)pc->data)->levels) PetscFunctionReturn(PETSC_SUCCESS);
  if (pc->dm) PetscCall(PetscObjectTypeCompare((PetscObject)pc->dm, DMBOX, &isbox));
  if (!isbox) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxGetNumCoarsenings(pc->dm, &n));
  PetscCall(PCMGSetLevels(pc, n + 1, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_PatchMG(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_PatchMG *p         = PATCHMG(pc);
  PetscBool   symmetric = p->symmetric, flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PATCHMG options");
  PetscCall(PetscOptionsBool("-pc_patchmg_symmetric", "Reverse the smoother after the coarse correction, for CG", "PCPatchMGSetSymmetric", symmetric, &symmetric, &flg));
  if (flg) PetscCall(PCPatchMGSetSymmetric(pc, symmetric));
  PetscOptionsHeadEnd();
  PetscCall(PCPatchMGSetLevels(pc));
  PetscCall(p->setfromoptions(pc, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Richardson and patchfd in place of what PCMG chose for this level; anything else is the user's choice */
static PetscErrorCode PCPatchMGSetSmoother(KSP ksp, PetscBool coarsest, PetscBool reverse)
{
  PC        pc;
  PetscBool kspdefault, pcdefault;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &kspdefault, coarsest ? KSPPREONLY : KSPCHEBYSHEV, KSPCHEBYSHEV, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &pcdefault, PCSOR, coarsest ? PCLU : PCSOR, coarsest ? PCREDUNDANT : PCSOR, ""));
  if (!kspdefault || !pcdefault) PetscFunctionReturn(PETSC_SUCCESS);
  /* preonly would cost a reduction a cycle */
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(PCSetType(pc, PCPATCHFD));
  if (coarsest) PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_BOX));
  if (reverse) PetscCall(PCPatchFDSetOrder(pc, PC_PATCHFD_BACKWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_PatchMG(PC pc)
{
  PC_PatchMG *p = PATCHMG(pc);
  PetscInt    n;

  PetscFunctionBegin;
  if (!pc->dm) {
    Mat_Box *m;

    PetscCall(MatBoxGet(pc->pmat, "PCPATCHMG without a DM", &m));
    PetscCall(PCSetDM(pc, m->dm));
  }
  PetscCall(PCPatchMGSetLevels(pc));
  PetscCall(PCMGGetLevels(pc, &n));
  if (!pc->setupcalled) {
    PC_MG_Levels **levels = ((PC_MG *)pc->data)->levels;

    if (p->symmetric) PetscCall(PCMGSetDistinctSmoothUp(pc));
    if (n == 1) { /* the only level is the coarsest, although PCMG calls it mg_levels_ */
      const char *prefix;

      PetscCall(PCGetOptionsPrefix(pc, &prefix));
      PetscCall(KSPSetOptionsPrefix(levels[0]->smoothd, prefix));
      PetscCall(KSPAppendOptionsPrefix(levels[0]->smoothd, "mg_coarse_"));
    }
    for (PetscInt l = 0; l < n; l++) {
      PetscCall(PCPatchMGSetSmoother(levels[l]->smoothd, (PetscBool)(l == 0), PETSC_FALSE));
      if (levels[l]->smoothu != levels[l]->smoothd) PetscCall(PCPatchMGSetSmoother(levels[l]->smoothu, (PetscBool)(l == 0), p->symmetric));
    }
  }
  PetscCall(p->setup(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchMGSetSymmetric_PatchMG(PC pc, PetscBool symmetric)
{
  PetscFunctionBegin;
  PetscCheck(!pc->setupcalled || PATCHMG(pc)->symmetric == symmetric, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE, "PCPATCHMG: -pc_patchmg_symmetric must be set before PCSetUp()");
  PATCHMG(pc)->symmetric = symmetric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchMGGetSymmetric_PatchMG(PC pc, PetscBool *symmetric)
{
  PetscFunctionBegin;
  *symmetric = PATCHMG(pc)->symmetric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_PatchMG(PC pc)
{
  PC_PatchMG *p = PATCHMG(pc);

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGSetSymmetric_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGGetSymmetric_C", NULL));
  PetscCall(p->destroy(pc));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCPATCHMG - Geometric multigrid on a `DMBOX`: `PCMG` with `PCPATCHFD` smoothers and a direct solver on the coarsest mesh as defaults

  Options Database Keys:
+ -pc_patchmg_symmetric <bool> - reverse the order of the colours after the coarse correction, so that the V-cycle is symmetric, as `KSPCG` needs (default false)
- -pc_mg_*                     - all options of `PCMG`; `-mg_levels_*`, `-mg_levels_up_*` (with `-pc_patchmg_symmetric` or `-pc_mg_distinct_smoothup`) and `-mg_coarse_*` those of the levels

  Level: beginner

  Notes:
  The defaults: as many levels as the mesh can be halved; on each, one step of `KSPRICHARDSON` with `PCPATCHFD` before and one after
  the coarse correction; on the coarsest, `PCPATCHFD` with the whole box as one patch. That is the V-cycle of Algorithm 2.1 in
  C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU.

  A mesh that cannot be halved has one level: the direct solver, with the options prefix `mg_coarse_`.

  The mesh hierarchy comes from `KSPSetDM()`, or else from the matrix.

.seealso: `DMBOX`, `PCPATCHFD`, `PCMG`, `PCPatchMGSetSymmetric()`
M*/
PetscErrorCode PCCreate_PatchMG(PC pc)
{
  PC_PatchMG *p;

  PetscFunctionBegin;
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PetscObjectChangeTypeName((PetscObject)pc, PCPATCHMG));
  PetscCall(PetscNew(&p));
  ((PC_MG *)pc->data)->innerctx = p;
  p->setfromoptions             = pc->ops->setfromoptions;
  p->setup                      = pc->ops->setup;
  p->destroy                    = pc->ops->destroy;
  pc->ops->setfromoptions       = PCSetFromOptions_PatchMG;
  pc->ops->setup                = PCSetUp_PatchMG;
  pc->ops->destroy              = PCDestroy_PatchMG;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGSetSymmetric_C", PCPatchMGSetSymmetric_PatchMG));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCPatchMGGetSymmetric_C", PCPatchMGGetSymmetric_PatchMG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchMGSetSymmetric - Makes the V-cycle of a `PCPATCHMG` symmetric, by visiting the colours in reverse order after the coarse
  correction

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- symmetric - `PETSC_TRUE` for a symmetric V-cycle (default `PETSC_FALSE`)

  Options Database Key:
. -pc_patchmg_symmetric <bool> - make the V-cycle symmetric

  Level: beginner

  Notes:
  `KSPCG` needs a symmetric V-cycle; `KSPFGMRES` needs one to three iterations less without it.

  Must be called before `PCSetUp()`.

.seealso: `PCPATCHMG`, `PCPatchMGGetSymmetric()`, `PCPatchFDSetOrder()`
@*/
PetscErrorCode PCPatchMGSetSymmetric(PC pc, PetscBool symmetric)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, symmetric, 2);
  PetscTryMethod(pc, "PCPatchMGSetSymmetric_C", (PC, PetscBool), (pc, symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchMGGetSymmetric - Tells whether the V-cycle of a `PCPATCHMG` is made symmetric

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHMG`

  Output Parameter:
. symmetric - `PETSC_TRUE` if the smoother after the coarse correction is reversed

  Level: beginner

.seealso: `PCPATCHMG`, `PCPatchMGSetSymmetric()`
@*/
PetscErrorCode PCPatchMGGetSymmetric(PC pc, PetscBool *symmetric)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(symmetric, 2);
  PetscUseMethod(pc, "PCPatchMGGetSymmetric_C", (PC, PetscBool *), (pc, symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}
