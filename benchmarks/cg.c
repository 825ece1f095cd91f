static char help[] =
  "An iteration of KSPFUSEDCG against one of KSPCG, for the operator of a DMBOX in 3D.  A line a preconditioner and size: microseconds an \
iteration of KSPCG, of\n\
KSPFUSEDCG, the ratio, and without graphs; unknowns a second of both; of a product with the matrix alone; and how many numbers an unknown \
a copy moves in the time of an iteration.\n\
  -degree <k>, -unknowns <n,...>, -pcs <type,...>, -iterations <n> : defaults 4, 1e4,1e5, none,jacobi, 100\n\
  -dm_vec_type <type>, all options of DMBOX\n\n";

#include <petscpatchfd.h>
#include "now.h"
#if defined(PETSC_HAVE_CUDA)
  #include "rates.h"
#endif

/* about so many unknowns in an even number of cells */
static PetscErrorCode CreateBox(PetscInt k, PetscReal unknowns, DM *dm)
{
  PetscInt cells[3];

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) cells[d] = 2 * PetscMax(1, (PetscInt)(PetscCbrtReal(unknowns) / k / 2 + 0.5));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, k, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* seconds of a solve of n iterations, the best of three */
static PetscErrorCode TimeSolve(KSP ksp, Vec b, Vec x, PetscInt n, PetscLogDouble *t)
{
  PetscLogDouble start, end;
  PetscInt       its;

  PetscFunctionBeginUser;
  PetscCall(KSPSetTolerances(ksp, 1e-40, 1e-300, PETSC_CURRENT, n));
  *t = PETSC_MAX_REAL;
  for (int i = 0; i < 4; i++) {
    PetscCall(Now(&start));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Now(&end));
    if (i) *t = PetscMin(*t, end - start); /* the first one makes plans */
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCheck(its == n, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The method ended after %" PetscInt_FMT " of %" PetscInt_FMT " iterations", its,
               n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* seconds an iteration: what a solve of n more iterations takes longer */
static PetscErrorCode TimeIteration(Mat A, const char *type, const char *pctype, PetscBool graph, PetscInt n, Vec b, Vec x,
                                    PetscLogDouble *t)
{
  const PetscInt few = 10;
  PetscLogDouble begin;
  KSP            ksp;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPFusedCGSetGraph(ksp, graph));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(TimeSolve(ksp, b, x, few, &begin));
  PetscCall(TimeSolve(ksp, b, x, few + n, t));
  *t = (*t - begin) / n;
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* seconds of a product, bytes a second of a copy */
static PetscErrorCode TimeMult(Mat A, PetscInt n, Vec b, Vec x, PetscLogDouble *mult, PetscLogDouble *copy, PetscReal size)
{
  PetscLogDouble t[3];
  PetscInt       N;

  PetscFunctionBeginUser;
  PetscCall(VecGetSize(b, &N));
  PetscCall(MatMult(A, b, x));
  PetscCall(Now(&t[0]));
  for (PetscInt i = 0; i < n; i++) PetscCall(MatMult(A, b, x));
  PetscCall(Now(&t[1]));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecCopy(b, x));
  PetscCall(Now(&t[2]));
  *mult = (t[1] - t[0]) / n;
  *copy = 2 * size * N * n / (t[2] - t[1]);
#if defined(PETSC_HAVE_CUDA)
  if (GPU) PetscCall(RateCopy(copy));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bench(PetscInt k, PetscReal unknowns, PetscInt npc, char *pcs[], PetscInt n)
{
  DM             dm;
  Mat            A;
  Vec            b, x;
  PetscInt       N;
  VecType        type;
  PetscBool      single;
  PetscReal      size;
  PetscLogDouble t[3], mult = 0, copy = 0;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(k, unknowns, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecGetSize(b, &N));
  PetscCall(VecGetType(b, &type));
  PetscCall(PetscStrbeginswith(type, VECSINGLE, &single));
  size = single ? sizeof(float) : sizeof(PetscScalar);
  PetscCall(TimeMult(A, n, b, x, &mult, &copy, size));
  for (PetscInt i = 0; i < npc; i++) {
    PetscCall(TimeIteration(A, KSPCG, pcs[i], PETSC_FALSE, n, b, x, &t[0]));
    PetscCall(TimeIteration(A, KSPFUSEDCG, pcs[i], PETSC_TRUE, n, b, x, &t[1]));
    PetscCall(TimeIteration(A, KSPFUSEDCG, pcs[i], PETSC_FALSE, n, b, x, &t[2]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%-8s %2d %10" PetscInt_FMT " | %9.2f %9.2f %5.2f %9.2f | %9.3e %9.3e | %9.2f | %6.1f %6.1f %6.1f\n", pcs[i],
                          (int)k, N, t[0] * 1e6, t[1] * 1e6, t[0] / t[1], t[2] * 1e6, N / t[0], N / t[1], mult * 1e6,
                          t[0] * copy / N / size, t[1] * copy / N / size, mult * copy / N / size));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscReal unknowns[16] = {1e4, 1e5};
  PetscInt  k = 4, n = 100, nunknowns = 16, npc = 8;
  char     *pcs[8];
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &k, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-iterations", &n, NULL));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-unknowns", unknowns, &nunknowns, &set));
  if (!set) nunknowns = 2;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-pcs", pcs, &npc, &set));
  if (!set) {
    npc = 2;
    PetscCall(PetscStrallocpy(PCNONE, &pcs[0]));
    PetscCall(PetscStrallocpy(PCJACOBI, &pcs[1]));
  }
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD,
                "                       |  us an iteration                    | unknowns a second   | us        | numbers an unknown\n"
                "pc        k   unknowns |        cg   fusedcg ratio  no graph |        cg   fusedcg |   product |     cg  fused "
                "product\n"));
  for (PetscInt i = 0; i < nunknowns; i++) PetscCall(Bench(k, unknowns[i], npc, pcs, n));
  for (PetscInt i = 0; i < npc; i++) PetscCall(PetscFree(pcs[i]));
  PetscCall(PetscFinalize());
  return 0;
}
