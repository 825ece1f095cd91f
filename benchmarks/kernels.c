static char help
  [] = "Speed of the kernels through PETSc: a smoothing step (nonzero guess), the operator, the residual, a load and an error from nodal \
values, the transfers.  A line each: nanoseconds\n\
an unknown; GB/s, every operand read once and the result written once, and per cent of the bandwidth of a copy; TFLOP/s of the flops that \
the\n\
algorithm needs, and per cent of the rate of multiply-adds; both ceilings are measured in the same run.\n\
  -dim <d>, -degrees <k,...>, -unknowns <n> : about n unknowns\n\
  -types <standard,single,cuda,singlecuda>      : Vec types (default standard, single)\n\
  -variants <auto,boundary,fused,separate,global>\n\
  -aij                                          : the assembled matrix, too\n\
  -dm_box_space <q,dgq>                         : the space; all options of DMBOX count\n\n";

#include <petscpatchfd.h>
#include <petsctime.h>

#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
  #include "rates.h"
#endif

/* kernels of a GPU run on after a call returns */
static PetscErrorCode Finish(void)
{
  PetscFunctionBeginUser;
#if defined(PETSC_HAVE_CUDA)
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscCallCUDA(cudaDeviceSynchronize());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* multiply-adds that wait for nothing else, in vectors as long as the compiler may use: flops a second of all ranks */
#if defined(__AVX512F__)
  #define VECTOR_BYTES 64
#elif defined(__AVX__)
  #define VECTOR_BYTES 32
#else
  #define VECTOR_BYTES 16
#endif
#define CHAINS 10
#define FMA_RATE(T) \
  do { \
    typedef T      Vector __attribute__((vector_size(VECTOR_BYTES))); \
    const int      n = 200000; \
    const Vector   a = {0}; \
    Vector         v[CHAINS]; \
    volatile T     sum = 0; \
    PetscLogDouble start, end, fastest = PETSC_MAX_REAL; \
    for (int rep = 0; rep < 20; rep++) { \
      for (int i = 0; i < CHAINS; i++) v[i] = a + (T)(i + 1); \
      PetscCall(PetscTime(&start)); \
      for (int j = 0; j < n; j++) { _Pragma("GCC unroll 10") for (int i = 0; i < CHAINS; i++) v[i] = v[i] * (T)0.5 + (T)1; } \
      for (int i = 0; i < CHAINS; i++) sum = sum + v[i][0]; \
      PetscCall(PetscTime(&end)); \
      fastest = PetscMin(fastest, end - start); \
    } \
    *flops = 2.0 * n * CHAINS * (VECTOR_BYTES / sizeof(T)) / fastest; \
  } while (0)
static PetscErrorCode HostRateFMA(PetscBool single, PetscLogDouble *flops)
{
  PetscFunctionBeginUser;
  if (single) FMA_RATE(float);
  else FMA_RATE(double);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, flops, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a call is compared with */
typedef struct {
  char           what[64];
  PetscLogDouble size, copy, fma; /* bytes of a number; bytes and flops a second */
} Rates;

/* `words` numbers an unknown go to and from memory */
static PetscErrorCode Report(const Rates *r, const char *what, PetscInt N, PetscReal words, PetscLogDouble t, PetscLogDouble flops)
{
  const PetscLogDouble bytes = words * r->size * N / t;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %-9s %9.4f %9.1f %6.1f %8.4f", r->what, what, t / N * 1e9, bytes * 1e-9,
                        100 * bytes / r->copy, flops / t * 1e-12));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %6.1f\n", 100 * flops / t / r->fma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the fastest of several calls: seconds, flops of all ranks */
#define TIME(t, flops, call) \
  do { \
    PetscLogDouble start, end, total = 0, f[2]; \
    t = PETSC_MAX_REAL; \
    for (int rep = 0; rep < 20 && (rep < 3 || total < 0.5); rep++) { \
      PetscCall(Finish()); \
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD)); \
      PetscCall(PetscGetFlops(&f[0])); \
      PetscCall(PetscTime(&start)); \
      PetscCall(call); \
      PetscCall(Finish()); \
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD)); \
      PetscCall(PetscTime(&end)); \
      PetscCall(PetscGetFlops(&f[1])); \
      if (rep) t = PetscMin(t, end - start); /* the first call makes plans */ \
      total += end - start; \
      PetscCallMPI(MPI_Bcast(&total, 1, MPI_DOUBLE, 0, PETSC_COMM_WORLD)); /* all ranks go on, or none */ \
    } \
    flops = f[1] - f[0]; \
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &flops, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD)); \
  } while (0)

/* about so many unknowns in an even number of cells */
static PetscErrorCode CreateBox(PetscInt dim, PetscInt k, PetscReal unknowns, VecType type, DM *dm)
{
  PetscInt   cells[3] = {2, 2, 2}, n;
  DMBoxSpace space;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, dm));
  PetscCall(DMSetVecType(*dm, type));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMBoxGetSpace(*dm, &space));
  n = 2 * PetscMax(1, (PetscInt)(PetscPowReal(unknowns, 1. / dim) / (space == DMBOX_SPACE_DGQ ? k + 1 : k) / 2 + 0.5));
  for (int d = 0; d < 3; d++) cells[d] = n;
  PetscCall(DMBoxSetCells(*dm, cells));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r += M v, and the L2 norm of x - v */
static PetscErrorCode BenchLoads(const Rates *rates, DM dm, PetscInt N, Vec v, Vec x, Vec r)
{
  PetscReal      l2;
  const char    *operator;
  PetscBool      heat;
  PetscLogDouble t, flops;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetOperator(dm, &operator));
  PetscCall(PetscStrcmp(operator, "heat", &heat));
  if (heat) PetscFunctionReturn(PETSC_SUCCESS);
  TIME(t, flops, DMBoxAddLoadVec(dm, v, r));
  PetscCall(Report(rates, "load", N, 3, t, flops));
  TIME(t, flops, DMBoxComputeErrorVec(dm, x, v, &l2, NULL));
  PetscCall(Report(rates, "error", N, 7, t, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the assembled matrix: an entry and its column for each of its numbers */
static PetscErrorCode BenchAIJ(const Rates *rates, Mat A, PetscInt N, Vec x, Vec r)
{
  PetscBool      wanted = PETSC_FALSE;
  MatInfo        info;
  Mat            B;
  PetscLogDouble t, flops;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-aij", &wanted, NULL));
  if (!wanted || rates->size != sizeof(PetscScalar)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatGetInfo(B, MAT_GLOBAL_SUM, &info));
  TIME(t, flops, MatMult(B, x, r));
  PetscCall(Report(rates, "A x, aij", N, 2 + info.nz_used / N * (1 + (PetscReal)sizeof(PetscInt) / sizeof(PetscScalar)), t, flops));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to the next coarser mesh and back */
static PetscErrorCode BenchTransfers(const Rates *rates, DM dm, PetscInt N, Vec r, Vec x)
{
  DM             coarse;
  Mat            P;
  Vec            xc;
  PetscInt       Nc;
  PetscLogDouble t, flops;

  PetscFunctionBeginUser;
  PetscCall(DMCoarsen(dm, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMCreateInterpolation(coarse, dm, &P, NULL));
  PetscCall(DMCreateGlobalVector(coarse, &xc));
  PetscCall(VecGetSize(xc, &Nc));
  TIME(t, flops, MatRestrict(P, r, xc));
  PetscCall(Report(rates, "restrict", N, 1 + (PetscReal)Nc / N, t, flops));
  TIME(t, flops, MatInterpolateAdd(P, xc, x, x));
  PetscCall(Report(rates, "prolong", N, 2 + (PetscReal)Nc / N, t, flops));
  PetscCall(VecDestroy(&xc));
  PetscCall(MatDestroy(&P));
  PetscCall(DMDestroy(&coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bench(PetscInt dim, PetscInt k, PetscReal unknowns, const char *type, char *variants[], PetscInt nv)
{
  DM             dm;
  Mat            A;
  Vec            x, b, r;
  KSP            ksp;
  PC             pc;
  PetscInt       N, levels;
  PetscLogDouble t, flops;
  PetscBool      single;
  Rates          rates = {"", 0, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(CreateBox(dim, k, unknowns, type, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecGetSize(x, &N));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(PetscStrbeginswith(type, VECSINGLE, &single));
  PetscCall(PetscSNPrintf(rates.what, sizeof(rates.what), "%-10s %2d %9" PetscInt_FMT, type, (int)k, N));
  rates.size = single ? sizeof(float) : sizeof(PetscScalar);
  PetscCall(HostRateFMA(single, &rates.fma));
#if defined(PETSC_HAVE_CUDA)
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscCall(RateFMA(single, &rates.fma));
#endif
  TIME(t, flops, VecCopy(b, r));
  rates.copy = 2 * rates.size * N / t;
#if defined(PETSC_HAVE_CUDA)
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscCall(RateCopy(&rates.copy));
#endif
  PetscCall(Report(&rates, "copy", N, 2, t, 0));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s multiply-adds: %.3f TFLOP/s\n", rates.what, rates.fma * 1e-12));
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
    TIME(t, flops, KSPSolve(ksp, b, x));
    PetscCall(Report(&rates, variants[v], N, 3, t, flops));
  }
  TIME(t, flops, MatMult(A, x, r));
  PetscCall(Report(&rates, "A x", N, 2, t, flops));
  PetscCall(BenchAIJ(&rates, A, N, x, r));
  TIME(t, flops, MatResidual(A, b, x, r));
  PetscCall(Report(&rates, "b - A x", N, 3, t, flops));
  PetscCall(BenchLoads(&rates, dm, N, b, x, r));
  PetscCall(DMBoxGetNumCoarsenings(dm, &levels));
  if (levels > 0) PetscCall(BenchTransfers(&rates, dm, N, r, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
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
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "type        k  unknowns call      ns/unknown      GB/s %% copy  TFLOP/s  %% FMA\n"));
  for (PetscInt t = 0; t < nt; t++)
    for (PetscInt i = 0; i < nd; i++) PetscCall(Bench(dim, degrees[i], unknowns, types[t], variants, nv));
  for (PetscInt t = 0; t < nt; t++) PetscCall(PetscFree(types[t]));
  for (PetscInt v = 0; v < nv; v++) PetscCall(PetscFree(variants[v]));
  PetscCall(PetscFinalize());
  return 0;
}
