static char help[] = "The bake-off problems on a box of hexahedra: time of a product in ns an unknown, the fastest of several, and of one with the assembled matrix.\n\
  -degrees <k,...>, -unknowns <n>  : about n unknowns (default 1,2,4,8 and 25000)\n\
  -assembled <true>                : MatMult() of the AIJ matrix on the same mesh, too; its memory grows as the sixth power of the degree\n\
  -dm_vec_type <standard,cuda>     : where vectors live\n\n";

#include <petscdevice.h>
#include <petscdmplex.h>
#include <petscfe.h>
#include <petscpatchfd.h>
#include <petsctime.h>

static PetscErrorCode Now(PetscLogDouble *t)
{
  PetscFunctionBeginUser;
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) { /* kernels run on after a call returns */
    PetscDeviceContext device;

    PetscCall(PetscDeviceContextGetCurrentContext(&device));
    PetscCall(PetscDeviceContextSynchronize(device));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ns an unknown */
static PetscErrorCode Time(Mat A, PetscInt N, PetscReal *ns)
{
  PetscLogDouble t[2], total = 0;
  Vec            x, y;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSetRandom(x, NULL));
  *ns = PETSC_MAX_REAL;
  for (int rep = 0; rep < 50 && (rep < 5 || total < 0.5); rep++) {
    PetscCall(Now(&t[0]));
    PetscCall(MatMult(A, x, y));
    PetscCall(Now(&t[1]));
    if (rep) *ns = PetscMin(*ns, 1e9 * (t[1] - t[0]) / N); /* the first one makes plans */
    total += t[1] - t[0];
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(PetscInt degree, PetscInt unknowns, DM *dm)
{
  const PetscInt n = PetscMax(1, (PetscInt)(PetscPowReal((PetscReal)unknowns, 1. / 3) / degree + 0.5)), faces[3] = {n, n, n};
  PetscFE        fe;
  DM             parallel;

  PetscFunctionBeginUser;
  PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, 3, PETSC_FALSE, faces, NULL, NULL, NULL, PETSC_TRUE, 0, PETSC_FALSE, dm));
  PetscCall(DMPlexDistribute(*dm, 0, NULL, &parallel));
  if (parallel) {
    PetscCall(DMDestroy(dm));
    *dm = parallel;
  }
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, 3, 1, PETSC_FALSE, degree, degree, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Degree(PetscInt degree, PetscInt unknowns, PetscBool assembled)
{
  DM dm;

  PetscFunctionBeginUser;
  PetscCall(CreateMesh(degree, unknowns, &dm));
  for (MatBakeoffProblem problem = MAT_BAKEOFF_BP1; problem <= MAT_BAKEOFF_BP5; problem += 2) {
    PetscReal stored, computed, element, aij = 0;
    PetscInt  N;
    Mat       A, B;

    PetscCall(MatCreateBakeoff(dm, problem, MAT_BAKEOFF_GLOBAL, &A));
    PetscCall(MatGetSize(A, &N, NULL));
    PetscCall(MatBakeoffSetFactors(A, MAT_BAKEOFF_FACTORS_STORED));
    PetscCall(Time(A, N, &stored));
    PetscCall(MatBakeoffSetFactors(A, MAT_BAKEOFF_FACTORS_COMPUTED));
    PetscCall(Time(A, N, &computed));
    if (assembled) {
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
      PetscCall(Time(B, N, &aij));
      PetscCall(MatDestroy(&B));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatCreateBakeoff(dm, problem, MAT_BAKEOFF_ELEMENT, &A));
    PetscCall(Time(A, N, &element));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %2" PetscInt_FMT " %9" PetscInt_FMT " %9.3f %9.3f %9.3f", MatBakeoffProblems[problem], degree, N, (double)stored, (double)computed, (double)element));
    if (assembled) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.3f %7.1f", (double)aij, (double)(aij / PetscMin(stored, computed))));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  degrees[15] = {1, 2, 4, 8}, n = 15, unknowns = 25000;
  PetscBool assembled = PETSC_TRUE, set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &n, &set));
  if (!set) n = 4;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-unknowns", &unknowns, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-assembled", &assembled, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "      k  unknowns    stored  computed   element%s\n", assembled ? "       AIJ   ratio" : ""));
  for (PetscInt i = 0; i < n; i++) PetscCall(Degree(degrees[i], unknowns, assembled));
  PetscCall(PetscFinalize());
  return 0;
}
