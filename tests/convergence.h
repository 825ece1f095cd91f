#pragma once
/* How fast V-cycles on a DMBOX converge: nu, a number of iterations to 1e-9 that need not be an integer */
#include <petscpatchfd.h>

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                          PETSC_UNUSED PetscInt Nc, PetscScalar f[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  f[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* FGMRES to 1e-9 with V-cycles */
static PetscErrorCode CreateKSP(DM dm, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)dm), ksp));
  PetscCall(KSPSetDM(*ksp, dm));
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPGMRESSetRestart(*ksp, 60));
  PetscCall(KSPSetTolerances(*ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 60));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with the load 1: iterations (or NULL), and nu = -9 / log10(mean reduction of the true residual an iteration) */
static PetscErrorCode SolveKSP(KSP ksp, PetscInt *iterations, PetscReal *nu)
{
  DM        dm;
  Mat       A;
  Vec       b, u, r;
  PetscInt  its;
  PetscReal r0, rn;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &r));
  PetscCall(DMBoxAddLoad(dm, 0, One, NULL, b));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatResidual(A, b, u, r));
  PetscCall(VecNorm(b, NORM_2, &r0));
  PetscCall(VecNorm(r, NORM_2, &rn));
  if (iterations) *iterations = its;
  *nu = -9 * (PetscReal)its / PetscLog10Real(rn / r0);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
