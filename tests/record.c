static char
  help[] = "V-cycles of PCPATCHMG on a GPU, replayed as a graph, against the same without: the results are equal, also after settings of\n\
the smoother, the operator, and the vectors have changed.  On the host nothing is recorded, and only that is tested.\n\n";

#include <petscpatchfd.h>
#include <petsc/private/petscimpl.h>

static PetscErrorCode Replays(PetscInt *n)
{
  PetscEventPerfInfo info;
  PetscLogEvent      event;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId("PatchFDReplay", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *n = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Difference of the two preconditioners' results for a random vector, three times, and twice with other vectors.  If the cycle may be
  recorded, the last of the three and the last of the two are replayed, and no others.
*/
static PetscErrorCode Compare(const char *what, PetscBool recorded, PC pc, PC plain, Vec b[2], Vec x[2], PetscRandom rnd)
{
  PetscReal norm, diff, worst = 0, tolerance;
  PetscBool single, cuda;
  PetscInt  before, after;

  PetscFunctionBeginUser;
  PetscCall(PetscStrendswith(((PetscObject)b[0])->type_name, "cuda", &cuda));
  PetscCall(Replays(&before));
  PetscCall(PetscStrbeginswith(((PetscObject)b[0])->type_name, VECSINGLE, &single));
  tolerance = single ? 1e-5 : 1e-12;
  for (int i = 0; i < 5; i++) {
    const int v = i / 3;

    PetscCall(VecSetRandom(b[v], rnd));
    PetscCall(VecSetRandom(x[v], rnd));
    PetscCall(PCApply(pc, b[v], x[v]));
    PetscCall(PCApply(plain, b[v], x[1 - v]));
    PetscCall(VecNorm(x[1 - v], NORM_2, &norm));
    PetscCall(VecAXPY(x[v], -1, x[1 - v]));
    PetscCall(VecNorm(x[v], NORM_2, &diff));
    worst = PetscMax(worst, diff / norm);
  }
  PetscCall(Replays(&after));
  PetscCheck(after - before == (cuda && recorded ? 2 : 0), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " replays", what,
             after - before);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, worst < tolerance ? "equal" : "DIFFERENT"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt  cells[] = {8, 8, 8};
  const PetscReal ones[] = {1, 1, 1}, skew[] = {1, 2, 3};
  DM              dm;
  Mat             A;
  Vec             b[2], x[2];
  PC              pc[2], smoother;
  KSP             ksp;
  PetscRandom     rnd;
  PetscBool       graph;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscLogDefaultBegin()); /* it counts replays */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 3, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  for (int i = 0; i < 2; i++) {
    PetscCall(DMCreateGlobalVector(dm, &b[i]));
    PetscCall(DMCreateGlobalVector(dm, &x[i]));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[i]));
    PetscCall(PCSetDM(pc[i], dm));
    PetscCall(PCSetOperators(pc[i], A, A));
    PetscCall(PCSetType(pc[i], PCPATCHMG));
    PetscCall(PCPatchMGSetCoarseEqLim(pc[i], 0));
    PetscCall(PCSetFromOptions(pc[i]));
  }
  PetscCall(PCPatchMGSetGraph(pc[1], PETSC_FALSE));
  PetscCall(PCPatchMGGetGraph(pc[0], &graph));
  PetscCheck(graph, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Graphs should be the default");
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &rnd));
  PetscCall(Compare("defaults", PETSC_TRUE, pc[0], pc[1], b, x, rnd));
  for (int i = 0; i < 2; i++) {
    PetscCall(PCMGGetSmoother(pc[i], 1, &ksp));
    PetscCall(KSPGetPC(ksp, &smoother));
    PetscCall(PCPatchFDSetDamping(smoother, 0.7));
  }
  PetscCall(Compare("damping", PETSC_TRUE, pc[0], pc[1], b, x, rnd));
  for (int i = 0; i < 2; i++) {
    PetscCall(PCMGGetSmoother(pc[i], 2, &ksp));
    PetscCall(KSPGetPC(ksp, &smoother));
    PetscCall(PCPatchFDSetOrder(smoother, PC_PATCHFD_ORDER_BACKWARD));
    PetscCall(PCPatchFDSetSweeps(smoother, 2));
  }
  PetscCall(Compare("order and sweeps", PETSC_TRUE, pc[0], pc[1], b, x, rnd));
  for (int i = 0; i < 2; i++) {
    PetscCall(PCMGGetSmoother(pc[i], 1, &ksp));
    PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
    PetscCall(PCMGSetCycleType(pc[i], PC_MG_CYCLE_W));
  }
  PetscCall(Compare("steps and W-cycle", PETSC_TRUE, pc[0], pc[1], b, x, rnd));
  PetscCall(DMBoxSetPoisson(dm, skew, 5));
  PetscCall(MatBoxUpdate(A));
  PetscCall(Compare("operator", PETSC_TRUE, pc[0], pc[1], b, x, rnd));
  PetscCall(DMBoxSetPoisson(dm, ones, 0));
  PetscCall(MatBoxUpdate(A));
  for (int i = 0; i < 2; i++) {
    PetscCall(PCMGSetType(pc[i], PC_MG_FULL));
    PetscCall(PCMGGetSmoother(pc[i], 1, &ksp));
    PetscCall(KSPSetType(ksp, KSPCHEBYSHEV)); /* needs norms: never recorded */
  }
  PetscCall(Compare("another smoother", PETSC_FALSE, pc[0], pc[1], b, x, rnd));
  PetscCall(PetscRandomDestroy(&rnd));
  for (int i = 0; i < 2; i++) {
    PetscCall(PCDestroy(&pc[i]));
    PetscCall(VecDestroy(&b[i]));
    PetscCall(VecDestroy(&x[i]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     output_file: output/record_1.out
     test:
       suffix: host
       args: -dm_vec_type {{standard single}}
     test:
       requires: cuda gpu
       suffix: cuda
       args: -dm_vec_type {{cuda singlecuda}}
     test:
       suffix: rings
       args: -dm_box_boundary periodic,periodic,periodic,periodic,dirichlet,dirichlet
     test:
       requires: cuda gpu
       suffix: cuda_rings
       args: -dm_vec_type {{cuda singlecuda}} -dm_box_boundary periodic,periodic,periodic,periodic,dirichlet,dirichlet
     test:
       requires: cuda gpu
       suffix: cuda_ring
       args: -dm_vec_type {{cuda singlecuda}} -dm_box_boundary dirichlet,dirichlet,dirichlet,dirichlet,periodic,periodic

TEST*/
