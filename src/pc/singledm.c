/* PCSINGLE: the clone of the DM outside that makes the Vecs inside, and passes on what SNES, TS and KSP have told the one outside */
#include "single.h"
#include <petsc/private/dmimpl.h>
#include <petsc/private/kspimpl.h>
#include <petsc/private/tsimpl.h>
#include <patchfd/private/heatimpl.h>
#include <petscdmda.h>

/* a DMBOX's operator knows its DM, whether the solver does or not; of other DMs (SNES and TS make a DMSHELL where they are given none) only
   those that can be cloned are of use */
PetscErrorCode PCSingleFindDM(PC pc, DM *dm, PetscBool *native)
{
  Mat_Box     *m;
  Mat_Lattice *l;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(pc->pmat, &m));
  if (!m) PetscCall(MatBoxFind(pc->mat, &m));
  PetscCall(MatLatticeFind(pc->pmat, &l));
  *native = (PetscBool)(m || l);
  *dm     = m ? m->dm : l ? l->dm : (pc->dm && pc->dm->ops->clone ? pc->dm : NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCoarsenHook_Single(DM single, DM coarse, void *ctx)
{
  DM        dm = ((PC_Single *)ctx)->outerdm;
  PetscBool isbox;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMBOX, &isbox));
  PetscCall(DMSetVecType(coarse, isbox ? single->vectype : dm->vectype));
  for (DMCoarsenHookLink link = dm->coarsenhook; link; link = link->next) {
    if (link->coarsenhook) PetscCall((*link->coarsenhook)(dm, coarse, link->ctx));
  }
  PetscCall(DMCopyDMKSP(single, coarse)); /* KSPComputeOperators_Single() */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMRestrictHook_Single(PETSC_UNUSED DM single, Mat restrct, Vec rscale, Mat inject, DM coarse, void *ctx)
{
  DM dm = ((PC_Single *)ctx)->outerdm;

  PetscFunctionBegin;
  for (DMCoarsenHookLink link = dm->coarsenhook; link; link = link->next) {
    if (link->restricthook) PetscCall((*link->restricthook)(dm, restrct, rscale, inject, coarse, link->ctx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the operators of coarser levels as the DM outside computes them, multiplied like that of the finest level */
static PetscErrorCode KSPComputeOperators_Single(KSP ksp, Mat A, Mat P, void *ctx)
{
  PC_Single             *s    = (PC_Single *)ctx;
  Mat                    M[2] = {A, P};
  PetscObjectState       before[2], after;
  KSPComputeOperatorsFn *compute;
  void                  *computectx;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(PetscObjectStateGet((PetscObject)M[i], &before[i]));
  PetscCall(DMKSPGetComputeOperators(s->outerdm, &compute, &computectx));
  PetscCall((*compute)(ksp, A, P, computectx));
  for (int i = A == P; i < 2 && s->exponent; i++) {
    PetscCall(PetscObjectStateGet((PetscObject)M[i], &after));
    if (after != before[i]) PetscCall(MatScale(M[i], ldexp(1.0, s->exponent))); /* otherwise it has been done */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a clone of a DM that SNES, TS or a KSP use has to know of them */
static PetscErrorCode PCSingleConnectDM(PC pc)
{
  PC_Single             *s  = (PC_Single *)pc->data;
  DM                     dm = s->outerdm;
  PetscBool              isda;
  KSPComputeOperatorsFn *compute;

  PetscFunctionBegin;
  PetscCall(DMCopyDMKSP(dm, s->dm));
  if (dm->dmts) PetscCall(DMCopyDMTS(dm, s->dm)); /* a PCPATCHMG inside asks whether there are steps in time */
  PetscCall(DMKSPGetComputeOperators(dm, &compute, NULL));
  if (compute) PetscCall(DMKSPSetComputeOperators(s->dm, KSPComputeOperators_Single, s));
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &isda));
  if (isda) { /* DMClone() leaves these out */
    DMDAInterpolationType type;
    PetscInt              r[3];
    DM                    coordinates;
    Vec                   x;

    PetscCall(DMDAGetInterpolationType(dm, &type));
    PetscCall(DMDASetInterpolationType(s->dm, type));
    PetscCall(DMDAGetRefinementFactor(dm, &r[0], &r[1], &r[2]));
    PetscCall(DMDASetRefinementFactor(s->dm, r[0], r[1], r[2]));
    PetscCall(DMGetCoordinatesLocalNoncollective(dm, &x));
    if (x) {
      PetscCall(DMGetCoordinateDM(dm, &coordinates));
      PetscCall(DMSetCoordinateDM(s->dm, coordinates));
    }
  }
  PetscCall(DMCoarsenHookAdd(s->dm, DMCoarsenHook_Single, DMRestrictHook_Single, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSingleCloneDM(PC pc, DM dm)
{
  PC_Single   *s              = (PC_Single *)pc->data;
  PetscObject  discretization = NULL;
  PetscSection section;
  PetscInt     fields;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)dm));
  s->outerdm = dm;
  PetscCall(DMClone(dm, &s->dm));
  PetscCall(DMSetVecType(s->dm, s->vectype));
  PetscCall(DMGetNumFields(dm, &fields));
  if (fields) PetscCall(DMGetField(dm, 0, NULL, &discretization));
  if (discretization) { /* those of a DMPLEX: DMClone() leaves them out, and where their unknowns are */
    PetscCall(DMCopyDisc(dm, s->dm));
    PetscCall(DMGetLocalSection(dm, &section));
    PetscCall(DMSetLocalSection(s->dm, section));
  }
  s->dm->levelup   = dm->levelup;
  s->dm->leveldown = dm->leveldown;
  if (!s->native) PetscCall(PCSingleConnectDM(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
