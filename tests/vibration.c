static char help[] = "A block between planes of symmetry, which vibrates: u'' - div (2 mu eps(u) + lambda div u) = 0 with TSALPHA2.\n\
The solution has a longitudinal and a transversal wave of known frequencies.  After n and 2 n steps its error, in which that of the mesh\n\
is small, gives the order of convergence.\n\
  -steps n   : number of steps (default 32)\n\
  -damping c : and c u'; the waves fade\n\n";

#include <petscpatchfd.h>

typedef struct {
  PetscReal speed[2], damping; /* squares of the speeds of both waves */
} Context;

/* grad prod cos(pi x_d), and the curl in the first two directions of sin(pi x) sin(pi y), in 3D times cos(pi z) */
static PetscErrorCode Exact(PetscInt dim, PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[], void *ctx)
{
  const Context  *m = (const Context *)ctx;
  const PetscReal a = PETSC_PI * x[0], b = PETSC_PI * x[1], third = dim == 3 ? PetscCosReal(PETSC_PI * x[2]) : 1;
  PetscReal       swing[2];

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) { /* from rest, u' = 0 */
    const PetscReal half = m->damping / 2, w = PetscSqrtReal(dim * PETSC_PI * PETSC_PI * m->speed[i] - half * half);

    swing[i] = PetscExpReal(-half * time) * (PetscCosReal(w * time) + half / w * PetscSinReal(w * time));
  }
  u[0] = third * (-swing[0] * PetscSinReal(a) * PetscCosReal(b) + swing[1] * PetscSinReal(a) * PetscCosReal(b));
  u[1] = third * (-swing[0] * PetscCosReal(a) * PetscSinReal(b) - swing[1] * PetscCosReal(a) * PetscSinReal(b));
  if (dim == 3) u[2] = -swing[0] * PetscCosReal(a) * PetscCosReal(b) * PetscSinReal(PETSC_PI * x[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the error at t = 1, and how many iterations a linear solve took */
static PetscErrorCode Solve(PetscInt steps, PetscReal *error, PetscReal *its)
{
  const PetscInt          cells[3] = {4, 4, 2};
  const DMBoxBoundaryType side[6]  = {DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_SYMMETRY,
                                      DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_SYMMETRY};
  PetscReal               lambda, mu, shift;
  PetscInt                n, m;
  Context                 c = {.damping = 0};
  DM                      dm;
  TS                      ts;
  SNES                    snes;
  KSP                     ksp;
  PC                      pc;
  Vec                     u, v;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-damping", &c.damping, NULL));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 5, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetOperator(dm, "elasticity"));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMBoxSetBoundary(dm, side));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxGetElasticity(dm, &lambda, &mu, NULL));
  c.speed[0] = lambda + 2 * mu;
  c.speed[1] = mu;
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Exact, &c, u));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, dm));
  PetscCall(TSSetType(ts, TSALPHA2));
  PetscCall(TSSetI2Function(ts, NULL, DMBoxTSComputeI2Function, c.damping ? &c.damping : NULL));
  PetscCall(TSSetI2Jacobian(ts, NULL, NULL, DMBoxTSComputeI2Jacobian, c.damping ? &c.damping : NULL));
  PetscCall(TS2SetSolution(ts, u, v));
  PetscCall(TSSetTimeStep(ts, 1.0 / steps));
  PetscCall(TSSetMaxTime(ts, 1));
  PetscCall(TSSetMaxSteps(ts, 1000000));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetSymmetric(pc, PETSC_TRUE));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0)); /* all levels have the shift of the step */
  PetscCall(TSSetFromOptions(ts));
  PetscCall(TSSolve(ts, NULL));
  PetscCall(DMBoxComputeError(dm, 1, Exact, &c, u, error, NULL));
  PetscCall(TSGetKSPIterations(ts, &n));
  PetscCall(TSGetStepNumber(ts, &m));
  *its = (PetscReal)n / (PetscReal)PetscMax(m, 1);
  PetscCall(DMBoxGetElasticity(dm, NULL, NULL, &shift)); /* the user's coefficients are as they were */
  PetscCheck(shift == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The shift has become %g", (double)shift);
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  steps = 32;
  PetscReal error[2], its[2], rate;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  for (int i = 0; i < 2; i++) PetscCall(Solve((1 + i) * steps, &error[i], &its[i]));
  rate = PetscLog2Real(error[0] / error[1]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "order 2: %s, iterations a step: %s\n", PetscAbsReal(rate - 2) < 0.1 ? "yes" : "no",
                        its[0] <= 11 && its[1] <= 11 ? "few" : "many"));
  PetscCall(PetscInfo(NULL, "errors %g, %g, order %.2f; %.1f, %.1f iterations\n", (double)error[0], (double)error[1], (double)rate,
                      (double)its[0], (double)its[1]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     output_file: output/vibration_1.out
     test:
       suffix: 2d
       nsize: {{1 3}}
     test:
       suffix: damped
       args: -damping 3
     test:
       suffix: incompressible
       args: -dm_box_poisson_ratio 0.495 -steps 128 -dm_box_degree 6
     test:
       suffix: 3d
       nsize: 2
       args: -dm_box_dim 3 -dm_box_cells 4,2,2 -dm_box_degree 5 -dm_box_young 0.8 -steps 16
     test:
       suffix: aij
       args: -dm_mat_type aij -pc_type gamg -dm_box_degree 4

TEST*/
