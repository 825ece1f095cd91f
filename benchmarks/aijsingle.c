static char help[] = "A preconditioner in floats (PCSINGLE) against the same one in double precision, for 27-point Laplacians on cubes.\n\
A line a size: unknowns; seconds of the set-up, of an application (the best of several), of the first solve and of a set-up and a solve\n\
after new values, each in double precision and in floats; iterations of both.\n\
  -n <n,...>      : nodes a direction, default 24\n\
  -inner <type>   : default gamg\n\
  -dm_mat_type aijcusparse -dm_vec_type cuda : on a GPU\n\
  -d_..., -s_...  : options of the KSP in double precision, and of the one with PCSINGLE; default CG to 1e-8\n\n";

#include <petscpatchfd.h>
#include <petscdmda.h>
#include "now.h"

enum {
  REPEATS = 5
};

static PetscErrorCode CreateLaplacian(PetscInt n, Mat *A)
{
  DM            da;
  DMDALocalInfo i;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n, n, n, PETSC_DECIDE,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetLocalInfo(da, &i));
  for (PetscInt r = 0; r < i.xm * i.ym * i.zm; r++) {
    const MatStencil row = {.i = i.xs + r % i.xm, .j = i.ys + r / i.xm % i.ym, .k = i.zs + r / i.xm / i.ym};
    MatStencil       col[27];
    PetscScalar      v[27];
    PetscInt         m = 0;

    for (int e = 0; e < 27; e++) {
      col[m] = (MatStencil){.i = row.i + e % 3 - 1, .j = row.j + e / 3 % 3 - 1, .k = row.k + e / 9 - 1};
      if (PetscMin(col[m].i, PetscMin(col[m].j, col[m].k)) < 0 || PetscMax(col[m].i, PetscMax(col[m].j, col[m].k)) >= n) continue;
      v[m++] = e == 13 ? 26 : -1;
    }
    PetscCall(MatSetValuesStencil(*A, 1, &row, m, col, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* seconds of set-up, application, first solve, and set-up and solve after new values */
static PetscErrorCode Time(Mat A, Vec b, Vec x, PetscBool single, const char inner[], PetscLogDouble t[4], PetscInt *its)
{
  PetscLogDouble begin, now;
  KSP            ksp;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, single ? "s_" : "d_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, single ? PCSINGLE : inner));
  if (single) {
    PC in;

    PetscCall(PCSingleGetPC(pc, &in));
    PetscCall(PCSetType(in, inner));
  }
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Now(&begin));
  PetscCall(KSPSetUp(ksp));
  PetscCall(Now(&t[0]));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Now(&t[2]));
  t[2] -= t[0];
  t[0] -= begin;
  PetscCall(KSPGetIterationNumber(ksp, its));
  for (int i = 0; i < 2; i++) { /* the second time nothing is new but the values */
    PetscCall(MatScale(A, 1));
    PetscCall(Now(&begin));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Now(&t[3]));
    t[3] -= begin;
  }
  t[1] = PETSC_MAX_REAL;
  for (int i = 0; i < REPEATS; i++) {
    PetscCall(Now(&begin));
    PetscCall(PCApply(pc, b, x));
    PetscCall(Now(&now));
    t[1] = PetscMin(t[1], now - begin);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     inner[64] = PCGAMG;
  PetscInt sizes[16] = {24}, nsizes = 16, n;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-inner", inner, sizeof(inner), NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "  unknowns | set-up, s   float  ratio | apply, s    float  ratio | solve, s    float  ratio | again, s    "
                        "float  ratio | its\n"));
  for (n = 0; n < PetscMax(1, nsizes); n++) {
    Mat            A;
    Vec            b, x;
    PetscLogDouble t[2][4];
    PetscInt       its[2];

    PetscCall(CreateLaplacian(sizes[n], &A));
    PetscCall(MatCreateVecs(A, &b, &x));
    PetscCall(VecSetRandom(b, NULL));
    for (int single = 0; single < 2; single++) PetscCall(Time(A, b, x, (PetscBool)single, inner, t[single], &its[single]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%10" PetscInt_FMT, sizes[n] * sizes[n] * sizes[n]));
    for (int i = 0; i < 4; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %9.4f %8.4f %5.2f", t[0][i], t[1][i], t[0][i] / t[1][i]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %" PetscInt_FMT " %" PetscInt_FMT "\n", its[0], its[1]));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFinalize());
  return 0;
}
