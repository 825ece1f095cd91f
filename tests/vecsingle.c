static char help[] = "VECSINGLE: every operation against a double precision Vec with random data.\n\
  -type    : single (default) or singlecuda\n\
  -against : the type in double precision, standard (default) or cuda\n\
  -n       : local size\n\
  -time    : instead, time operations on vectors of this local size\n\n";

#include <petscpatchfd.h>
#include <petscdevice.h>

/* operations are wrong by more than this only if they are wrong; float has 6e-8 */
#define TOLERANCE 1e-6

static char single[64] = VECSINGLE, against[64] = VECSTANDARD; /* the Vec types */

#define NV 4
#define NS 12

/* in a switch over numbers: each case has the next one */
#define CASE(n, ...) \
  case __COUNTER__: \
    *name = n; \
    __VA_ARGS__; \
    break

/* operations with results in s[], too; name = NULL when there are no more */
static PetscErrorCode Reduction(PetscInt op, Vec x[], PetscScalar s[], const char **name)
{
  PetscInt  i[3];
  PetscReal r[3];

  PetscFunctionBeginUser;
  switch (op) {
    CASE("VecNormalize", PetscCall(VecNormalize(x[0], &r[0])); s[0] = r[0]);
    CASE("VecDot", PetscCall(VecDot(x[0], x[1], s)));
    CASE("VecTDot", PetscCall(VecTDot(x[0], x[1], s)));
    CASE("VecMDot", PetscCall(VecMDot(x[0], 3, x + 1, s)));
    CASE("VecMTDot", PetscCall(VecMTDot(x[0], 3, x + 1, s)));
    CASE("VecDotNorm2", PetscCall(VecDotNorm2(x[0], x[1], s, &r[0])); s[1] = r[0]);
    CASE("VecNorm 1", PetscCall(VecNorm(x[0], NORM_1, &r[0])); s[0] = r[0]);
    CASE("VecNorm 2", PetscCall(VecNorm(x[0], NORM_2, &r[0])); s[0] = r[0]);
    CASE("VecNorm infinity", PetscCall(VecNorm(x[0], NORM_INFINITY, &r[0])); s[0] = r[0]);
    CASE("VecNorm 1 and 2", PetscCall(VecNorm(x[0], NORM_1_AND_2, r)); s[0] = r[0]; s[1] = r[1]);
    CASE("VecSum", PetscCall(VecSum(x[0], s)));
    CASE("VecMean", PetscCall(VecMean(x[0], s)));
    CASE("VecMax", PetscCall(VecMax(x[0], &i[0], &r[0])); s[0] = r[0]; s[1] = i[0]);
    CASE("VecMin", PetscCall(VecMin(x[0], &i[0], &r[0])); s[0] = r[0]; s[1] = i[0]);
    CASE("VecMax without index", PetscCall(VecMax(x[0], NULL, &r[0])); s[0] = r[0]);
    CASE("VecMaxPointwiseDivide", PetscCall(VecMaxPointwiseDivide(x[0], x[1], &r[0]));
         if (PETSC_VERSION_LT(3, 23, 0)) /* whose MPI Vecs keep the maximum of each rank */
         PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &r[0], 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
         s[0] = r[0]);
    CASE("VecErrorWeightedNorms 2",
         PetscCall(VecErrorWeightedNorms(x[0], x[1], NULL, NORM_2, 0.1, NULL, 0.2, NULL, 0.01, &r[0], &i[0], &r[1], &i[1], &r[2], &i[2]));
         for (int k = 0; k < 3; k++) s[k] = r[k], s[3 + k] = i[k]);
    CASE("VecErrorWeightedNorms infinity", PetscCall(VecAbs(x[3])); PetscCall(
           VecErrorWeightedNorms(x[0], x[1], x[2], NORM_INFINITY, 0.1, x[3], 0.2, x[3], 0.01, &r[0], &i[0], &r[1], &i[1], &r[2], &i[2]));
         for (int k = 0; k < 3; k++) s[k] = r[k], s[3 + k] = i[k]);
    CASE("split-phase reductions", PetscCall(VecDotBegin(x[0], x[1], &s[0])); PetscCall(VecTDotBegin(x[0], x[2], &s[1]));
         PetscCall(VecNormBegin(x[0], NORM_2, &r[0])); PetscCall(VecNormBegin(x[1], NORM_1, &r[1]));
         PetscCall(VecMDotBegin(x[0], 3, x + 1, &s[2])); PetscCall(VecDotEnd(x[0], x[1], &s[0])); PetscCall(VecTDotEnd(x[0], x[2], &s[1]));
         PetscCall(VecNormEnd(x[0], NORM_2, &r[0])); PetscCall(VecNormEnd(x[1], NORM_1, &r[1]));
         PetscCall(VecMDotEnd(x[0], 3, x + 1, &s[2])); s[5] = r[0]; s[6] = r[1]);
    CASE("VecStrideNorm", PetscCall(VecStrideNorm(x[0], 1, NORM_2, &r[0])); s[0] = r[0]);
    CASE("norms after changes", /* a cached norm must not survive one */
         PetscCall(VecNorm(x[0], NORM_2, &r[0]));
         PetscCall(VecExp(x[0])); PetscCall(VecNorm(x[0], NORM_2, &r[0])); s[0] = r[0]; PetscCall(VecShift(x[0], 2));
         PetscCall(VecNorm(x[0], NORM_2, &r[0])); s[1] = r[0]; PetscScalar * v; PetscInt n; PetscCall(VecGetLocalSize(x[0], &n));
         PetscCall(VecGetArray(x[0], &v)); for (PetscInt k = 0; k < n; k++) v[k] *= 3; PetscCall(VecRestoreArray(x[0], &v));
         PetscCall(VecNorm(x[0], NORM_2, &r[0])); s[2] = r[0]);
  default:
    *name = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* operation `op` on x[], with results in x[] and in s[]; name = NULL when there are no more */
static PetscErrorCode Operation(PetscInt op, Vec x[], PetscScalar s[], const char **name)
{
  const PetscScalar a[3] = {0.3, -1.7, 2.5};

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < NS; k++) s[k] = 0;
  switch (op) {
    CASE("VecSet", PetscCall(VecSet(x[0], 0.7)));
    CASE("VecCopy", PetscCall(VecCopy(x[1], x[0])));
    CASE("VecSwap", PetscCall(VecSwap(x[1], x[0])));
    CASE("VecScale", PetscCall(VecScale(x[0], 0.3)));
    CASE("VecScale by 0", PetscCall(VecScale(x[0], 0)));
    CASE("VecShift", PetscCall(VecShift(x[0], 0.3)));
    CASE("VecAXPY", PetscCall(VecAXPY(x[0], 0.3, x[1])));
    CASE("VecAYPX", PetscCall(VecAYPX(x[0], 0.3, x[1])));
    CASE("VecAXPBY", PetscCall(VecAXPBY(x[0], 0.3, -1.7, x[1])));
    CASE("VecAXPBY with 0", PetscCall(VecAXPBY(x[0], 0.3, 0, x[1])));
    CASE("VecAXPBYPCZ", PetscCall(VecAXPBYPCZ(x[0], 0.3, -1.7, 2.5, x[1], x[2])));
    CASE("VecAXPBYPCZ with 0", PetscCall(VecAXPBYPCZ(x[0], 0.3, -1.7, 0, x[1], x[2])));
    CASE("VecWAXPY", PetscCall(VecWAXPY(x[0], 0.3, x[1], x[2])));
    CASE("VecMAXPY", PetscCall(VecMAXPY(x[0], 3, a, x + 1)));
    CASE("VecMAXPBY", PetscCall(VecMAXPBY(x[0], 3, a, 0.6, x + 1)));
    CASE("VecPointwiseMult", PetscCall(VecPointwiseMult(x[0], x[1], x[2])));
    CASE("VecPointwiseMult in place", PetscCall(VecPointwiseMult(x[0], x[0], x[2])));
    CASE("VecPointwiseDivide", PetscCall(VecPointwiseDivide(x[0], x[1], x[2])));
    CASE("VecPointwiseMax", PetscCall(VecPointwiseMax(x[0], x[1], x[2])));
    CASE("VecPointwiseMin", PetscCall(VecPointwiseMin(x[0], x[1], x[2])));
    CASE("VecPointwiseMaxAbs", PetscCall(VecPointwiseMaxAbs(x[0], x[1], x[2])));
    CASE("VecReciprocal", PetscCall(VecReciprocal(x[0])));
    CASE("VecSqrtAbs", PetscCall(VecSqrtAbs(x[0])));
    CASE("VecAbs", PetscCall(VecAbs(x[0])));
    CASE("VecExp", PetscCall(VecExp(x[0])));
    CASE("VecLog", PetscCall(VecAbs(x[0])); PetscCall(VecLog(x[0])));
    CASE("VecPow", PetscCall(VecPow(x[0], 2)));
    CASE("VecConjugate", PetscCall(VecConjugate(x[0])));
    CASE("VecChop", PetscCall(VecFilter(x[0], 0.1)));
    CASE("VecStrideScale", PetscCall(VecStrideScale(x[0], 1, 0.3)));
  default:
    PetscCall(Reduction(op, x, s, name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* largest difference, relative to the largest number */
static PetscErrorCode Difference(Vec x, Vec d, PetscReal *e)
{
  Vec       w;
  PetscReal m;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(d, &w));
  PetscCall(VecSingleConvert(x, 1, w));
  PetscCall(VecAXPY(w, -1, d));
  PetscCall(VecNorm(w, NORM_INFINITY, e));
  PetscCall(VecNorm(d, NORM_INFINITY, &m));
  *e /= PetscMax(m, PETSC_SMALL);
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(MPI_Comm comm, const char *what, PetscReal e)
{
  PetscFunctionBeginUser;
  if (!(e <= TOLERANCE)) PetscCall(PetscPrintf(comm, "%s: wrong by %g\n", what, (double)e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same random numbers, which float can hold, in single and in double precision */
static PetscErrorCode Fill(PetscRandom rand, Vec x, Vec d)
{
  PetscFunctionBeginUser;
  PetscCall(VecSetRandom(x, rand));
  PetscCall(VecSingleConvert(x, 1, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOperations(MPI_Comm comm, PetscRandom rand, Vec x[], Vec d[])
{
  const char *name;
  PetscScalar s[NS], t[NS];
  PetscReal   e, worst;
  PetscInt    op;

  PetscFunctionBeginUser;
  for (op = 0;; op++) {
    for (PetscInt i = 0; i < NV; i++) PetscCall(Fill(rand, x[i], d[i]));
    PetscCall(Operation(op, x, s, &name));
    if (!name) break;
    PetscCall(Operation(op, d, t, &name));
    worst = 0;
    for (PetscInt i = 0; i < NV; i++) {
      PetscCall(Difference(x[i], d[i], &e));
      worst = PetscMax(worst, e);
    }
    for (PetscInt i = 0; i < NS; i++) worst = PetscMax(worst, PetscAbsScalar(s[i] - t[i]) / PetscMax(1, PetscAbsScalar(t[i])));
    PetscCall(Check(comm, name, worst));
  }
  PetscCall(PetscPrintf(comm, "%" PetscInt_FMT " operations compared with double precision\n", op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the shadow, nested; raw arrays */
static PetscErrorCode TestArrays(MPI_Comm comm, PetscRandom rand, Vec x, Vec d)
{
  const PetscScalar *r;
  PetscScalar       *a;
  const float       *f;
  PetscMemType       m;
  float             *g;
  PetscInt           n;
  PetscReal          e, e2;
  PetscLogDouble     storage, shadow;
  Vec                y;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecCopy(x, y));
  PetscCall(VecSingleGetMemory(y, &storage, &shadow));
  PetscCheck(storage == 4.0 * n && shadow == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A VECSINGLE of %" PetscInt_FMT " numbers has %g + %g bytes", n, storage, shadow);
  PetscCall(VecDestroy(&y));

  PetscCall(Fill(rand, x, d));
  PetscCall(VecGetArray(x, &a));
  PetscCall(VecGetArrayRead(x, &r));
  for (PetscInt i = 0; i < n; i++) a[i] = 2 * r[i];
  PetscCall(VecRestoreArrayRead(x, &r));
  PetscCall(VecRestoreArray(x, &a));
  PetscCall(VecScale(d, 2));
  PetscCall(Difference(x, d, &e));
  PetscCall(Check(comm, "VecGetArray with VecGetArrayRead in between", e));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = 0.25;
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscCall(VecSet(d, 0.25));
  PetscCall(Difference(x, d, &e));
  PetscCall(Check(comm, "VecGetArrayWrite", e));
  PetscCall(VecSingleGetArray(x, &g, &m));
  if (PetscMemTypeHost(m)) {
    for (PetscInt i = 0; i < n; i++) g[i] *= 3;
  } else {
    PetscCheck(m == PETSC_MEMTYPE_CUDA && !strcmp(single, VECSINGLECUDA), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "The storage of a Vec of type %s is in memory of type %s", single, PetscMemTypeToString(m));
  }
  PetscCall(VecSingleRestoreArray(x, &g));
  if (!PetscMemTypeHost(m)) PetscCall(VecScale(x, 3)); /* no kernels here */
  PetscCall(VecScale(d, 3));
  PetscCall(Difference(x, d, &e));
  PetscCall(Check(comm, "VecSingleGetArray", e));
  PetscCall(VecNorm(x, NORM_INFINITY, &e));
  PetscCall(VecNorm(d, NORM_INFINITY, &e2));
  PetscCall(Check(comm, "norm after VecSingleGetArray", e - e2));
  if (PetscMemTypeHost(m)) {
    PetscCall(VecSingleGetArrayRead(x, &f, NULL));
    for (PetscInt i = 0; i < n; i++)
      PetscCheck(f[i] == 0.75f, PETSC_COMM_SELF, PETSC_ERR_PLIB, "VecSingleGetArrayRead() returned %g", (double)f[i]);
    PetscCall(VecSingleRestoreArrayRead(x, &f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a placed array: nothing but what changes is written, and what was there before comes back */
static PetscErrorCode TestPlacedArray(MPI_Comm comm, PetscRandom rand, Vec x, Vec d)
{
  const PetscScalar *r;
  PetscScalar       *array;
  PetscInt           n;
  PetscReal          e;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(Fill(rand, x, d));
  PetscCall(PetscMalloc1(n, &array));
  for (PetscInt i = 0; i < n; i++) array[i] = 1 + 1e-12;
  PetscCall(VecPlaceArray(x, array));
  PetscCall(VecNorm(x, NORM_INFINITY, &e));
  PetscCall(VecGetArrayRead(x, &r));
  PetscCall(VecRestoreArrayRead(x, &r));
  PetscCall(VecResetArray(x));
  for (PetscInt i = 0; i < n; i++)
    PetscCheck(array[i] == 1 + 1e-12, PETSC_COMM_SELF, PETSC_ERR_PLIB, "VecResetArray() rounded an array that was only read");
  PetscCall(VecPlaceArray(x, array));
  PetscCall(VecScale(x, 2));
  PetscCall(VecResetArray(x));
  for (PetscInt i = 0; i < n; i++)
    PetscCheck(PetscAbsScalar(array[i] - 2) < TOLERANCE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "VecResetArray() left %g in the array",
               (double)array[i]);
  PetscCall(PetscFree(array));
  PetscCall(Difference(x, d, &e));
  PetscCall(Check(comm, "VecPlaceArray and VecResetArray", e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a local vector of either type */
static PetscErrorCode TestLocalVector(MPI_Comm comm, PetscRandom rand, Vec x, Vec d)
{
  PetscReal e;
  Vec       z;

  PetscFunctionBeginUser;
  for (PetscInt local = 0; local < 2; local++) {
    PetscCall(Fill(rand, x, d));
    PetscCall(VecCreateLocalVector(x, &z));
    if (local) PetscCall(VecSetType(z, single));
    PetscCall(VecGetLocalVectorRead(x, z));
    PetscCall(VecNorm(z, NORM_2, &e));
    PetscCall(VecRestoreLocalVectorRead(x, z));
    PetscCall(VecGetLocalVector(x, z));
    PetscCall(VecScale(z, -2));
    PetscCall(VecRestoreLocalVector(x, z));
    PetscCall(VecScale(d, -2));
    PetscCall(Difference(x, d, &e));
    PetscCall(Check(comm, local ? "VecGetLocalVector of the same type" : "VecGetLocalVector", e));
    PetscCall(VecDestroy(&z));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to another type and back */
static PetscErrorCode TestConversion(MPI_Comm comm, PetscRandom rand, Vec x, Vec d)
{
  PetscScalar *a;
  PetscReal    e;
  Vec          y;
  PetscLayout  map;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(Fill(rand, x, d));
  PetscCall(VecCopy(x, y));
  PetscCall(VecSetType(y, VECSTANDARD));
  PetscCall(VecAXPY(y, -1, d));
  PetscCall(VecNorm(y, NORM_INFINITY, &e));
  PetscCall(Check(comm, "VecSetType to standard", e));
  PetscCall(VecCopy(d, y));
  PetscCall(VecSetType(y, single));
  PetscCall(Difference(y, d, &e));
  PetscCall(Check(comm, "VecSetType to single", e));

  /* conversions that float could not do without the factor */
  PetscCall(VecScale(d, 1e-50));
  PetscCall(VecSingleConvert(d, 1e50, y));
  PetscCall(VecScale(d, 1e50));
  PetscCall(Difference(y, d, &e));
  PetscCall(Check(comm, "VecSingleConvert to float with a factor", e));
  PetscCall(VecSingleConvert(y, 1e50, d));
  PetscCall(VecScale(d, 1e-50));
  PetscCall(Difference(y, d, &e));
  PetscCall(Check(comm, "VecSingleConvert to double with a factor", e));
  PetscCall(VecCopy(y, d)); /* the one operation that takes both types */
  PetscCall(VecCopy(d, x));
  PetscCall(Difference(x, d, &e));
  PetscCall(Check(comm, "VecCopy between types", e));
  PetscCall(VecGetArray(y, &a));
  PetscCall(VecRestoreArray(y, &a));
  PetscCall(VecDestroy(&y));
  /* between the two single types, one of which may be on the GPU, and back */
  PetscCall(VecCreate(comm, &y));
  PetscCall(VecGetLayout(x, &map));
  PetscCall(VecSetLayout(y, map));
  PetscCall(VecSetType(y, VECSINGLE));
  PetscCall(VecCopy(x, y));
  PetscCall(Difference(y, d, &e));
  PetscCall(Check(comm, "VecCopy to VECSINGLE", e));
  PetscCall(VecSet(x, 0));
  PetscCall(VecSingleConvert(y, 0.5, x));
  PetscCall(VecScale(d, 0.5));
  PetscCall(Difference(x, d, &e));
  PetscCall(Check(comm, "VecSingleConvert from VECSINGLE", e));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* set values anywhere, one by one, by block and by COO */
static PetscErrorCode TestValues(MPI_Comm comm, Vec x, Vec d)
{
  const char *names[] = {"VecSetValues, insert", "VecSetValues, add", "VecSetValuesBlocked, insert", "VecSetValuesBlocked, add",
                         "VecSetValuesCOO"};
  Vec         v[2]    = {x, d};
  PetscInt    N, start, end, bs;
  PetscMPIInt rank;
  PetscReal   e;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(VecGetSize(x, &N));
  PetscCall(VecGetBlockSize(x, &bs));
  PetscCall(VecGetOwnershipRange(x, &start, &end));
  for (PetscInt test = 0; test < 5; test++) {
    const PetscBool add = (PetscBool)(test == 1 || test == 3);

    for (PetscInt k = 0; k < 2; k++) {
      PetscCall(VecSet(v[k], 0.5));
      if (test < 2) {
        for (PetscInt i = rank; i < N; i += 3)
          PetscCall(VecSetValue(v[k], i, add ? 0.1 * (rank + 1) + i : i, add ? ADD_VALUES : INSERT_VALUES));
      } else if (test < 4) {
        for (PetscInt i = rank; i < N / bs; i += 2) {
          const PetscScalar values[] = {0.25 * i, -0.5 * i};

          PetscCall(VecSetValuesBlocked(v[k], 1, &i, values, add ? ADD_VALUES : INSERT_VALUES));
        }
      } else {
        const PetscInt    i[] = {rank, N - 1 - rank, rank, N / 2};
        const PetscScalar a[] = {1.5, 2.5, 3.5, 4.5};

        PetscCall(VecSetPreallocationCOO(v[k], 4, i));
        PetscCall(VecSetValuesCOO(v[k], a, ADD_VALUES));
      }
      PetscCall(VecAssemblyBegin(v[k]));
      PetscCall(VecAssemblyEnd(v[k]));
    }
    PetscCall(Difference(x, d, &e));
    PetscCall(Check(comm, names[test], e));
  }
  if (end > start) {
    PetscScalar a, b;

    PetscCall(VecGetValues(x, 1, &start, &a));
    PetscCall(VecGetValues(d, 1, &start, &b));
    PetscCheck(PetscAbsScalar(a - b) <= TOLERANCE * PetscAbsScalar(b), PETSC_COMM_SELF, PETSC_ERR_PLIB, "VecGetValues(): %g and %g",
               (double)a, (double)b);
  }
  /* nobody's business */
  for (PetscInt k = 0; k < 2; k++) {
    const PetscInt i = -1;

    PetscCall(VecSetOption(v[k], VEC_IGNORE_NEGATIVE_INDICES, PETSC_TRUE));
    PetscCall(VecSetOption(v[k], VEC_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
    PetscCall(VecSetValue(v[k], i, 7, INSERT_VALUES));
    PetscCall(VecSetValue(v[k], 0, 7, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(v[k]));
    PetscCall(VecAssemblyEnd(v[k]));
  }
  PetscCall(Difference(x, d, &e));
  PetscCall(Check(comm, "VecSetOption", e));
  PetscCall(PetscPrintf(comm, "values\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestViewLoad(MPI_Comm comm, PetscRandom rand, Vec x, Vec d)
{
  PetscViewer viewer;
  Vec         y, z;
  PetscInt    n;
  PetscReal   e;
  char        file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(Fill(rand, x, d));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(PetscSNPrintf(file, sizeof(file), "vecsingle.bin"));
  PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(x, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_READ, &viewer));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecLoad(y, viewer));
  PetscCall(Difference(y, d, &e));
  PetscCall(Check(comm, "VecView and VecLoad", e));
  PetscCall(VecDestroy(&y));
  PetscCall(PetscViewerDestroy(&viewer));
  /* sizes from the file */
  PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_READ, &viewer));
  PetscCall(VecCreate(comm, &y));
  PetscCall(VecSetType(y, single));
  PetscCall(VecLoad(y, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_READ, &viewer));
  PetscCall(VecCreate(comm, &z));
  PetscCall(VecLoad(z, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(Difference(y, z, &e));
  PetscCall(Check(comm, "VecLoad into a vector without size", e));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));

  PetscCall(VecCreate(comm, &y));
  PetscCall(VecSetSizes(y, 2, PETSC_DETERMINE));
  PetscCall(VecSetType(y, single));
  PetscCall(VecSet(y, 0.25));
  PetscCall(PetscObjectSetName((PetscObject)y, "quarter"));
  PetscCall(VecView(y, PETSC_VIEWER_STDOUT_(comm)));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a window, a strided part, a permutation over the ranks, of a Vec and its twin */
static PetscErrorCode TestSubVectors(MPI_Comm comm, Vec x, Vec d)
{
  Vec       v[2] = {x, d}, part[2], sub[2];
  IS        is;
  PetscInt  n, start;
  PetscReal e, r[2];

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetOwnershipRange(x, &start, NULL));
  for (PetscInt test = 0; test < 3; test++) {
    for (PetscInt k = 0; k < 2; k++) {
      if (test == 0) PetscCall(ISCreateStride(comm, n / 2, start, 1, &is));
      else if (test == 1) PetscCall(ISCreateStride(comm, (n + 1) / 2, start, 2, &is));
      else {
        PetscInt N;

        PetscCall(VecGetSize(v[0], &N));
        PetscCall(ISCreateStride(comm, n, N - 1 - start, -1, &is));
      }
      PetscCall(VecNorm(v[k], NORM_2, &r[k])); /* cached */
      PetscCall(VecGetSubVector(v[k], is, &sub[k]));
      PetscCall(VecScale(sub[k], -3));
      PetscCall(VecRestoreSubVector(v[k], is, &sub[k]));
      PetscCall(VecNorm(v[k], NORM_2, &r[k]));
      PetscCall(VecGetSubVector(v[k], is, &sub[k]));
      PetscCall(VecDuplicate(sub[k], &part[k]));
      PetscCall(VecCopy(sub[k], part[k]));
      PetscCall(VecRestoreSubVector(v[k], is, &sub[k]));
      PetscCall(ISDestroy(&is));
    }
    PetscCall(Difference(part[0], part[1], &e));
    PetscCall(Check(comm, "VecGetSubVector", e));
    PetscCall(Difference(v[0], v[1], &e));
    PetscCall(Check(comm, "VecRestoreSubVector", e));
    PetscCall(Check(comm, "norm after VecRestoreSubVector", (r[0] - r[1]) / r[1]));
    for (PetscInt k = 0; k < 2; k++) PetscCall(VecDestroy(&part[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecScatter, strides, subvectors, VecNest, VecConcatenate */
static PetscErrorCode TestParts(MPI_Comm comm, PetscRandom rand, Vec x[], Vec d[])
{
  Vec        v[2], all[2], gathered[2], nest[2], sub[2], *w[2] = {x, d};
  VecScatter scatter;
  PetscInt   n, start, end, bs;
  PetscReal  e, r[2];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < NV; i++) PetscCall(Fill(rand, x[i], d[i]));
  PetscCall(VecGetLocalSize(x[0], &n));
  PetscCall(VecGetBlockSize(x[0], &bs));
  PetscCall(VecGetOwnershipRange(x[0], &start, &end));

  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(VecScatterCreateToAll(w[k][0], &scatter, &all[k]));
    PetscCall(VecScatterBegin(scatter, w[k][0], all[k], INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, w[k][0], all[k], INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterBegin(scatter, all[k], w[k][1], ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(scatter, all[k], w[k][1], ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterDestroy(&scatter));
    PetscCall(VecSetType(all[k], VECSTANDARD));
  }
  PetscCall(VecAXPY(all[0], -1, all[1]));
  PetscCall(VecNorm(all[0], NORM_INFINITY, &e));
  PetscCall(Check(comm, "VecScatter", e));
  PetscCall(Difference(x[1], d[1], &e));
  PetscCall(Check(comm, "VecScatter reverse and add", e));
  for (PetscInt k = 0; k < 2; k++) PetscCall(VecDestroy(&all[k]));

  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(VecCreate(comm, &gathered[k]));
    PetscCall(VecSetSizes(gathered[k], n / bs, PETSC_DETERMINE));
    PetscCall(VecSetType(gathered[k], k ? against : single));
    PetscCall(VecStrideGather(w[k][0], 1, gathered[k], INSERT_VALUES));
    PetscCall(VecStrideScatter(gathered[k], 0, w[k][2], ADD_VALUES));
  }
  PetscCall(Difference(gathered[0], gathered[1], &e));
  PetscCall(Check(comm, "VecStrideGather", e));
  PetscCall(Difference(x[2], d[2], &e));
  PetscCall(Check(comm, "VecStrideScatter", e));

  PetscCall(TestSubVectors(comm, x[3], d[3]));

  for (PetscInt k = 0; k < 2; k++) {
    PetscScalar s;

    PetscCall(VecCreateNest(comm, 2, NULL, w[k], &nest[k]));
    PetscCall(VecDuplicate(nest[k], &v[k]));
    PetscCall(VecSet(v[k], 0.5));
    PetscCall(VecAXPY(v[k], -2, nest[k]));
    PetscCall(VecPointwiseMult(v[k], v[k], nest[k]));
    PetscCall(VecDot(v[k], nest[k], &s));
    PetscCall(VecScale(v[k], 1 / s));
    PetscCall(VecNorm(v[k], NORM_2, &r[k]));
    PetscCall(VecNestGetSubVec(v[k], 1, &sub[k]));
  }
  PetscCall(Difference(sub[0], sub[1], &e));
  PetscCall(Check(comm, "VecNest", e));
  PetscCall(Check(comm, "norm of VecNest", (r[0] - r[1]) / r[1]));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&v[k]));
    PetscCall(VecDestroy(&nest[k]));
    PetscCall(VecConcatenate(2, w[k], &v[k], NULL));
  }
  PetscCall(Difference(v[0], v[1], &e));
  PetscCall(Check(comm, "VecConcatenate", e));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&v[k]));
    PetscCall(VecDestroy(&gathered[k]));
  }
  PetscCall(PetscPrintf(comm, "scatters and parts\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMixing(MPI_Comm comm, Vec x0, Vec d0)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscScalar    s[2];
  const float   *f;
  Vec            x[2], d[2], host;
  PetscBool      ongpu;
  PetscLayout    map;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(single, VECSINGLECUDA, &ongpu));
  for (PetscInt test = 0; test < 8; test++) {
    for (PetscInt i = 0; i < 2; i++) { /* an error leaves Vecs locked: new ones for each */
      PetscCall(VecDuplicate(x0, &x[i]));
      PetscCall(VecDuplicate(d0, &d[i]));
    }
    PetscCall(VecCreate(comm, &host));
    PetscCall(VecGetLayout(x0, &map));
    PetscCall(VecSetLayout(host, map));
    PetscCall(VecSetType(host, VECSINGLE));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    if (test == 0) ierr = VecAXPY(x[0], 1, d[1]);
    if (test == 1) ierr = VecDot(x[0], d[1], s);
    if (test == 2) ierr = VecPointwiseMult(x[0], x[1], d[1]);
    if (test == 3) ierr = VecMDot(x[0], 2, d, s);
    if (test == 4) ierr = VecSwap(x[0], d[0]);
    if (test == 5) ierr = VecSingleGetArrayRead(d[0], &f, NULL);
    if (test >= 6 && !ongpu) ierr = PETSC_ERR_ARG_INCOMP; /* the rest is about memory */
    else if (test == 6) ierr = VecAXPY(x[0], 1, host);
    else if (test == 7) ierr = VecSingleGetArrayRead(x[0], &f, NULL);
    PetscCall(PetscPopErrorHandler());
    if (ierr != PETSC_ERR_ARG_INCOMP)
      PetscCall(PetscPrintf(comm, "mixing types, case %" PetscInt_FMT ": error code %d\n", test, (int)ierr));
    for (PetscInt i = 0; i < 2; i++) {
      PetscCall(VecDestroy(&x[i]));
      PetscCall(VecDestroy(&d[i]));
    }
    PetscCall(VecDestroy(&host));
  }
  PetscCall(PetscPrintf(comm, "mixing types is an error\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* time of the fastest of some repetitions; `bytes` is what has to move for each number */
#define TIME(name, bytes, ...) \
  do { \
    PetscLogDouble t, best = PETSC_MAX_REAL; \
    for (int r = 0; r < 5; r++) { \
      if (ctx) PetscCall(PetscDeviceContextSynchronize(ctx)); \
      t = -MPI_Wtime(); \
      for (int i = 0; i < 10; i++) { __VA_ARGS__; } \
      if (ctx) PetscCall(PetscDeviceContextSynchronize(ctx)); \
      best = PetscMin(best, (t + MPI_Wtime()) / 10); \
    } \
    PetscCall(PetscPrintf(comm, "%-40s %9.4f ms %7.1f GB/s\n", name, best * 1e3, (double)(bytes)*n / best * 1e-9)); \
  } while (0)

static PetscErrorCode TimeOperations(MPI_Comm comm, Vec x[], Vec d[])
{
  const PetscScalar  a[4] = {0.3, -1.7, 2.5, 1.1};
  PetscScalar        s[4];
  PetscInt           n;
  PetscDeviceContext ctx = NULL;

  PetscFunctionBeginUser;
  if (!strcmp(single, VECSINGLECUDA) || !strcmp(against, VECCUDA)) PetscCall(PetscDeviceContextGetCurrentContext(&ctx));
  PetscCall(VecGetLocalSize(x[0], &n));
  for (PetscInt i = 0; i < NV; i++) {
    PetscCall(VecSet(x[i], 1 + i));
    PetscCall(VecSet(d[i], 1 + i));
  }
  TIME("conversion to single", 12, PetscCall(VecSingleConvert(d[0], 0.5, x[0])));
  TIME("conversion to double", 12, PetscCall(VecSingleConvert(x[0], 0.5, d[0])));
  TIME("VecGetArray() and VecRestoreArray()", 24, PetscScalar * v; PetscCall(VecGetArray(x[0], &v)); PetscCall(VecRestoreArray(x[0], &v)));
  for (int k = 0; k < 2; k++) {
    Vec      *v = k ? d : x;
    const int b = k ? sizeof(PetscScalar) : sizeof(float);

    PetscCall(PetscPrintf(comm, "%s:\n", k ? against : single));
    TIME("VecCopy", 2 * b, PetscCall(VecCopy(v[0], v[1])));
    TIME("VecSet", b, PetscCall(VecSet(v[0], 0.1)));
    TIME("VecAXPY", 3 * b, PetscCall(VecAXPY(v[0], 1e-3, v[1])));
    TIME("VecAXPBYPCZ", 4 * b, PetscCall(VecAXPBYPCZ(v[0], 0.1, 0.2, 0.3, v[1], v[2])));
    TIME("VecPointwiseMult", 3 * b, PetscCall(VecPointwiseMult(v[0], v[1], v[2])));
    TIME("VecMAXPY, 3", 5 * b, PetscCall(VecMAXPY(v[0], 3, a, v + 1)));
    TIME("VecDot", 2 * b, PetscCall(VecDot(v[0], v[1], s)));
    TIME("VecDot with itself", b, PetscCall(VecDot(v[0], v[0], s)));
    TIME("VecMDot, 3", 4 * b, PetscCall(VecMDot(v[0], 3, v + 1, s)));
    TIME("VecMax", b, PetscInt j; PetscReal r; PetscCall(VecMax(v[0], &j, &r)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MPI_Comm    comm;
  PetscMPIInt rank;
  PetscRandom rand;
  Vec         x[NV], d[NV];
  PetscInt    n = 1000;
  PetscBool   timing;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-time", &n, &timing));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", single, sizeof(single), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-against", against, sizeof(against), NULL));
  if (rank == 2) n = 0; /* a rank with nothing must not disturb */
  n += 2 * rank * (n > 0);
  PetscCall(PetscRandomCreate(comm, &rand));
  PetscCall(PetscRandomSetInterval(rand, -1, 1));
  for (PetscInt i = 0; i < NV; i++) {
    PetscCall(VecCreate(comm, &x[i]));
    PetscCall(VecSetSizes(x[i], n, PETSC_DETERMINE));
    PetscCall(VecSetBlockSize(x[i], 2));
    PetscCall(VecSetType(x[i], single));
    PetscCall(VecCreate(comm, &d[i]));
    PetscCall(VecSetSizes(d[i], n, PETSC_DETERMINE));
    PetscCall(VecSetBlockSize(d[i], 2));
    PetscCall(VecSetType(d[i], against));
  }
  if (timing) {
    PetscCall(TimeOperations(comm, x, d));
  } else {
    PetscCall(TestOperations(comm, rand, x, d));
    PetscCall(TestArrays(comm, rand, x[0], d[0]));
    PetscCall(TestPlacedArray(comm, rand, x[0], d[0]));
    PetscCall(TestLocalVector(comm, rand, x[0], d[0]));
    PetscCall(TestConversion(comm, rand, x[0], d[0]));
    PetscCall(PetscPrintf(comm, "arrays\n"));
    PetscCall(TestParts(comm, rand, x, d));
    PetscCall(TestViewLoad(comm, rand, x[0], d[0]));
    PetscCall(TestMixing(comm, x[0], d[0]));
    PetscCall(TestValues(comm, x[0], d[0]));
  }
  for (PetscInt i = 0; i < NV; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(VecDestroy(&d[i]));
  }
  PetscCall(PetscRandomDestroy(&rand));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    filter: grep -v "MPI process" | grep -v "Process \["
    test:
      suffix: 1
      nsize: 1
    test:
      suffix: 2
      nsize: 2
    test:
      suffix: 3
      nsize: 3
    test:
      suffix: 4
      nsize: 4
    test:
      suffix: odd
      nsize: 2
      args: -n 14

  testset:
    requires: cuda gpu
    args: -use_gpu_aware_mpi 0
    filter: sed s/singlecuda/single/ | grep -v "MPI process" | grep -v "Process \["
    test:
      suffix: cuda
      args: -type singlecuda -against {{standard cuda}}
      output_file: output/vecsingle_1.out
    test:
      suffix: cuda_2
      nsize: 2
      args: -type singlecuda -against {{standard cuda}}
      output_file: output/vecsingle_2.out
    test:
      suffix: cuda_3
      nsize: 3
      args: -type singlecuda -against cuda
      output_file: output/vecsingle_3.out
    test:
      suffix: cuda_odd
      args: -type singlecuda -against cuda -n {{14 300002}}
      output_file: output/vecsingle_1.out
    test:
      suffix: host_cuda
      args: -against cuda
      output_file: output/vecsingle_1.out

TEST*/
