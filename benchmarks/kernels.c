static char help[] = "Speed of the kernels: a smoothing step (nonzero guess), the operator, the transfers, in nanoseconds an unknown,\n\
beside the memory bandwidth of a copy measured in the same run.\n\
  -dim <d>, -degrees <k,...>, -unknowns <n> : about n unknowns\n\
  -types <standard,single,cuda>                 : Vec types\n\
  -variants <auto,boundary,fused,separate,global>\n\n";

#include <petscpatchfd.h>
#include <petsctime.h>

#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

/* kernels of a GPU run on after a call returns */
static PetscErrorCode Finish(const char *type)
{
  PetscFunctionBeginUser;
#if defined(PETSC_HAVE_CUDA)
  PetscBool cuda;

  PetscCall(PetscStrcmp(type, VECCUDA, &cuda));
  if (cuda) PetscCallCUDA(cudaDeviceSynchronize());
#else
  (void)type;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* seconds of the fastest of several calls */
#define TIME(t, call) \
  do { \
    PetscLogDouble start, end, total = 0; \
    t = PETSC_MAX_REAL; \
    for (int rep = 0; rep < 20 && (rep < 3 || total < 0.5); rep++) { \
      PetscCall(Finish(type)); \
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD)); \
      PetscCall(PetscTime(&start)); \
      PetscCall(call); \
      PetscCall(Finish(type)); \
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD)); \
      PetscCall(PetscTime(&end)); \
      if (rep) t = PetscMin(t, end - start); /* the first call makes plans */ \
      total += end - start; \
    } \
  } while (0)

static PetscErrorCode Bench(PetscInt dim, PetscInt k, PetscReal unknowns, const char *type, char *variants[], PetscInt nv)
{
  const PetscInt n = 2 * PetscMax(1, (PetscInt)(PetscPowReal(unknowns, 1. / dim) / k / 2 + 0.5)), cells[] = {n, n, n};
  DM             dm, coarse;
  Mat            A, P;
  Vec            x, b, xc;
  KSP            ksp;
  PC             pc;
  PetscInt       N;
  PetscReal      t;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, &dm));
  PetscCall(DMSetVecType(dm, type));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecGetSize(x, &N));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-8s %d %9" PetscInt_FMT, type, (int)k, N));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  for (PetscInt v = 0; v < nv; v++) {
    PetscInt  variant;
    PetscBool found;

    PetscCall(PetscEListFind(5, PCPatchFDVariants, variants[v], &variant, &found));
    PetscCheck(found, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-variants: unknown variant %s", variants[v]);
    PetscCall(PCPatchFDSetVariant(pc, (PCPatchFDVariant)variant));
    TIME(t, KSPSolve(ksp, b, x));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %8.4f", (double)(t / N * 1e9)));
  }
  TIME(t, MatMult(A, x, b));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %8.4f", (double)(t / N * 1e9)));
  if (n >= 4) {
    PetscCall(DMCoarsen(dm, PETSC_COMM_WORLD, &coarse));
    PetscCall(DMCreateInterpolation(coarse, dm, &P, NULL));
    PetscCall(DMCreateGlobalVector(coarse, &xc));
    TIME(t, MatRestrict(P, x, xc));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %8.4f", (double)(t / N * 1e9)));
    TIME(t, MatInterpolateAdd(P, xc, x, x));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %8.4f", (double)(t / N * 1e9)));
    PetscCall(VecDestroy(&xc));
    PetscCall(MatDestroy(&P));
    PetscCall(DMDestroy(&coarse));
  }
  TIME(t, VecCopy(b, x));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %6.4f\n", (double)(t / N * 1e9)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  dim = 3, degrees[16] = {1, 2, 3, 4, 5, 6, 7, 8}, nd = 16, nt = 4, nv = 4;
  PetscReal unknowns = 1e6;
  char     *types[4], *variants[4];
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  if (!set) nd = 8;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-unknowns", &unknowns, NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-types", types, &nt, &set));
  if (!set) {
    nt = 2;
    PetscCall(PetscStrallocpy(VECSTANDARD, &types[0]));
    PetscCall(PetscStrallocpy(VECSINGLE, &types[1]));
  }
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-variants", variants, &nv, &set));
  if (!set) {
    nv = 1;
    PetscCall(PetscStrallocpy("auto", &variants[0]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "nanoseconds an unknown\ntype     k  unknowns"));
  for (PetscInt v = 0; v < nv; v++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %8s", variants[v]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | operator restrict  prolong |   copy\n"));
  for (PetscInt t = 0; t < nt; t++)
    for (PetscInt i = 0; i < nd; i++) PetscCall(Bench(dim, degrees[i], unknowns, types[t], variants, nv));
  for (PetscInt t = 0; t < nt; t++) PetscCall(PetscFree(types[t]));
  for (PetscInt v = 0; v < nv; v++) PetscCall(PetscFree(variants[v]));
  PetscCall(PetscFinalize());
  return 0;
}
