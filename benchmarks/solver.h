#pragma once
/* The solver of benchmarks that compare precisions */
#include <patchfd/private/compat.h>
#include <petscpatchfd.h>

/*
  mode: mixed, the V-cycle in single precision, or double.  cycles: on all levels, also where PCPATCHMG would solve directly.  What does not
  converge in so many iterations has to end, too: the residual that is printed says so
*/
static PetscErrorCode CreateSolver(DM dm, Mat A, const char *mode, PetscReal rtol, PetscBool cycles, KSP *ksp)
{
  PC        pc;
  PetscBool mixed;
  char      prefix[16];

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(mode, "mixed", &mixed));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", mode));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetDM(*ksp, dm));
  PetscCall(KSPSetDMActive(*ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetDM(pc, dm));
  if (mixed) PetscCall(PCSetType(pc, PCSINGLE));
  if (mixed) PetscCall(PCSingleGetPC(pc, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  if (cycles) PetscCall(PCMGSetType(pc, PC_MG_MULTIPLICATIVE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
