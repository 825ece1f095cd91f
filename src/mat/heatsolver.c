/*
  Solvers of the steps of the operator "heat": multigrid with point smoothers, and when it pays.
*/
#include <patchfd/private/heatimpl.h>
#include <patchfd/private/vecimpl.h>
#include <petscksp.h>

/*
  As often as the mesh can be halved.  On a GPU a level of few nodes takes as long as a larger one, all of it for launches and exchanges,
  and some more iterations on the coarsest one, which are recorded, take less time
*/
static PetscErrorCode HeatGetNumCoarsenings(DM dm, PetscInt *n)
{
  const double   few = 10000;
  PetscInt       cells[3];
  PatchFDKernels kern;

  PetscFunctionBegin;
  PetscCall(DMBoxGetNumCoarsenings(dm, n));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  for (double nodes = 0; *n > 1 && !PetscMemTypeHost(kern->memtype); (*n)--) {
    nodes = 1;
    for (PetscInt d = 0; d < dm->dim; d++) nodes *= (double)(cells[d] >> (*n - 1)) + 1;
    if (nodes > few) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Chebyshev polynomials of degree 2 with Jacobi's preconditioner on each level, for the upper four fifths of the eigenvalues (nine tenths,
  PETSc's default, take up to a third more iterations);
  on the coarsest one conjugate gradients, to a tolerance that the outer ones do not see.
*/
PetscErrorCode DMBoxHeatSetMG(DM dm, PC pc)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(HeatGetNumCoarsenings(dm, &n));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, n + 1, NULL));
  for (PetscInt l = 0; l <= n; l++) {
    KSP ksp;
    PC  smoother;

    PetscCall(PCMGGetSmoother(pc, l, &ksp));
    PetscCall(KSPGetPC(ksp, &smoother));
    PetscCall(PCSetType(smoother, PCJACOBI));
    PetscCall(KSPSetType(ksp, l ? KSPCHEBYSHEV : KSPFUSEDCG));
    if (l) {
      PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 2));
      PetscCall(KSPChebyshevEstEigSet(ksp, 0, 0.2, 0, 1.1));
    } else {
      PetscCall(KSPSetNormType(ksp, KSP_NORM_NATURAL));
      PetscCall(KSPSetTolerances(ksp, 1e-4, PETSC_CURRENT, PETSC_CURRENT, 1000));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Eigenvalues of D^{-1} A are at most near 2, D being the diagonal; the smallest one is near the Rayleigh quotient of the constants, 1 /
  (0.4 + 6 k / (a c h^2)) for a M + K on cubes inside. On insulated boxes the constants are one vector only, and the next eigenvalue is
  that of half a wave in the longest direction.  From these follow the iterations of conjugate gradients.  A multigrid step costs as much
  as `cost` of theirs, on a GPU more since it has small levels, and reduces the error by more than RATE (benchmarks/heat).
*/
PetscErrorCode DMBoxHeatPrefersMG(DM dm, Mat A, PetscReal rtol, PetscBool *prefers)
{
  const PetscReal RATE = 0.05;
  PetscInt        n, cells[3], longest = 1;
  PetscReal       sum, diagonal, its, condition, cost;
  PatchFDKernels  kern;
  Vec             one, y;

  PetscFunctionBegin;
  *prefers = PETSC_FALSE;
  PetscCall(DMBoxGetNumCoarsenings(dm, &n));
  PetscCall(DMBoxGetCells(dm, cells));
  for (PetscInt d = 0; d < dm->dim; d++) longest = PetscMax(longest, cells[d]);
  if (n < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetGlobalVector(dm, &one));
  PetscCall(DMGetGlobalVector(dm, &y));
  PetscCall(PatchFDVecGetKernels(y, &kern));
  cost = PetscMemTypeHost(kern->memtype) ? 4.5 : 9;
  PetscCall(VecSet(one, 1));
  PetscCall(MatMult(A, one, y));
  PetscCall(VecSum(y, &sum));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(VecSum(y, &diagonal));
  PetscCall(DMRestoreGlobalVector(dm, &one));
  PetscCall(DMRestoreGlobalVector(dm, &y));
  if (sum <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  condition = PetscMin(2 * diagonal / sum, 0.5 * (PetscReal)longest * (PetscReal)longest);
  its       = 0.5 * PetscSqrtReal(condition) * PetscLogReal(2 / rtol);
  *prefers  = (PetscBool)(its > cost * PetscLogReal(rtol) / PetscLogReal(RATE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
