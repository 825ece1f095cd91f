static char
  help[] = "What Krylov methods do with the Vecs of a DMBOX: products and sums of several, norms, against PETSc's own on the host.\n\n";

#include <petscpatchfd.h>

enum {
  MAX_VECS = 19 /* more than two passes */
};

static PetscErrorCode Close(const char *what, PetscReal a, PetscReal b, PetscReal scale)
{
  PetscFunctionBeginUser;
  PetscCheck(PetscAbsReal(a - b) <= 1e-13 * scale, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %.16g, PETSc has %.16g", what, (double)a,
             (double)b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the norm that is known after each operation, one that has to be computed, and the Vec itself */
static PetscErrorCode Compare(const char *what, Vec x, Vec d)
{
  PetscScalar *array;
  PetscReal    norm[2];
  Vec          e;

  PetscFunctionBeginUser;
  for (int pass = 0; pass < 2; pass++) {
    PetscCall(VecNorm(x, NORM_2, &norm[0]));
    PetscCall(VecNorm(d, NORM_2, &norm[1]));
    PetscCall(Close(what, norm[0], norm[1], norm[1]));
    PetscCall(VecGetArrayAndMemType(x, &array, NULL)); /* it may be another one now */
    PetscCall(VecRestoreArrayAndMemType(x, &array));
  }
  PetscCall(VecDuplicate(d, &e));
  PetscCall(VecCopy(x, e));
  PetscCall(VecAXPY(e, -1, d));
  PetscCall(VecNorm(e, NORM_INFINITY, &norm[0]));
  PetscCall(VecNorm(d, NORM_INFINITY, &norm[1]));
  PetscCheck(norm[0] <= 1e-13 * norm[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a difference of %g, in numbers up to %g", what,
             (double)norm[0], (double)norm[1]);
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSeveral(PetscInt m, const Vec x[], const Vec d[], const PetscScalar a[])
{
  PetscScalar s[2][MAX_VECS];
  PetscReal   norm;
  Vec         y, e;

  PetscFunctionBeginUser;
  PetscCall(VecMDot(x[0], m, x, s[0]));
  PetscCall(VecMDot(d[0], m, d, s[1]));
  for (PetscInt j = 0; j < m; j++) PetscCall(Close("VecMDot", s[0][j], s[1][j], s[1][0]));
  PetscCall(VecDot(x[0], x[m - 1], &s[0][0]));
  PetscCall(VecTDot(x[0], x[m - 1], &s[0][1]));
  for (int j = 0; j < 2; j++) PetscCall(Close("VecDot", s[0][j], s[1][m - 1], s[1][0]));
  PetscCall(VecDuplicate(x[0], &y));
  PetscCall(VecDuplicate(d[0], &e));
  PetscCall(VecCopy(x[0], y));
  PetscCall(VecCopy(d[0], e));
  PetscCall(VecMAXPY(y, m, a, (Vec *)x));
  PetscCall(VecMAXPY(e, m, a, (Vec *)d));
  PetscCall(Compare("VecMAXPY", y, e));
  PetscCall(VecMAXPY(y, m, a, (Vec *)x));
  PetscCall(VecMAXPY(e, m, a, (Vec *)d));
  PetscCall(VecAXPY(x[0], 0.5, x[m - 1 ? 1 : 2])); /* the last sum is that of another Vec */
  PetscCall(VecAXPY(d[0], 0.5, d[m - 1 ? 1 : 2]));
  PetscCall(Compare("VecNorm after VecAXPY of another Vec", y, e));
  PetscCall(Compare("VecAXPY", x[0], d[0]));
  PetscCall(VecAYPX(y, -0.7, x[1]));
  PetscCall(VecAYPX(e, -0.7, d[1]));
  PetscCall(Compare("VecAYPX", y, e));
  PetscCall(VecMAXPBY(y, m, a, 0.3, (Vec *)x));
  PetscCall(VecMAXPBY(e, m, a, 0.3, (Vec *)d));
  PetscCall(VecNormalize(y, &norm));
  PetscCall(VecNormalize(e, NULL));
  PetscCall(Compare("VecMAXPBY and VecNormalize", y, e));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* squares near the ends of the range of double, other norms, NaN */
static PetscErrorCode TestNorms(Vec x, Vec d)
{
  const PetscReal scales[] = {1e-137, 1e155, 0};
  const NormType  types[]  = {NORM_1, NORM_2, NORM_FROBENIUS, NORM_INFINITY, NORM_1_AND_2};
  PetscReal       norm[2][2];
  Vec             y, e;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(d, &e));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(scales); i++) {
    PetscCall(VecSet(y, 0));
    PetscCall(VecSet(e, 0));
    PetscCall(VecAXPY(y, scales[i] / 1e5, x));
    PetscCall(VecAXPY(e, scales[i] / 1e5, d));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
      norm[0][1] = norm[1][1] = 0;
      PetscCall(VecNorm(y, types[t], norm[0]));
      PetscCall(VecNorm(e, types[t], norm[1]));
      for (int k = 0; k < 2; k++) PetscCall(Close(NormTypes[types[t]], norm[0][k], norm[1][k], norm[1][k]));
    }
  }
  PetscCall(VecFlag(y, PETSC_TRUE));
  PetscCall(VecAXPY(y, 1, x));
  PetscCall(VecNorm(y, NORM_2, norm[0]));
  PetscCheck(PetscIsInfOrNanReal(norm[0][0]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The norm of what is not a number is %g",
             (double)norm[0][0]);
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one of the Vecs, then all of them, on the host */
static PetscErrorCode TestBound(PetscInt m, const Vec x[], const Vec d[], const PetscScalar a[])
{
  PetscFunctionBeginUser;
  PetscCall(VecBindToCPU(x[2], PETSC_TRUE));
  PetscCall(TestSeveral(m, x, d, a));
  for (PetscInt j = 0; j < m; j++) PetscCall(VecBindToCPU(x[j], PETSC_TRUE));
  PetscCall(TestSeveral(m, x, d, a));
  for (PetscInt j = 0; j < m; j++) PetscCall(VecBindToCPU(x[j], PETSC_FALSE));
  PetscCall(TestSeveral(m, x, d, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM          dm;
  PetscRandom rand;
  Vec         x[MAX_VECS], d[MAX_VECS];
  PetscScalar a[MAX_VECS];
  PetscInt    n;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMCreate(PETSC_COMM_WORLD, &dm));
  PetscCall(DMSetType(dm, DMBOX));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &rand));
  PetscCall(PetscRandomSetInterval(rand, -1, 1));
  for (PetscInt j = 0; j < MAX_VECS; j++) {
    if (j) PetscCall(VecDuplicate(x[0], &x[j]));
    else PetscCall(DMCreateGlobalVector(dm, &x[0]));
    PetscCall(VecGetLocalSize(x[0], &n));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &d[j]));
    PetscCall(VecSetRandom(d[j], rand));
    PetscCall(VecCopy(d[j], x[j]));
    a[j] = PetscCosReal((PetscReal)j + 1);
  }
  for (PetscInt m = 1; m <= MAX_VECS; m++) PetscCall(TestSeveral(m, x, d, a));
  PetscCall(TestNorms(x[0], d[0]));
  PetscCall(TestBound(MAX_VECS, x, d, a));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the same\n"));
  for (PetscInt j = 0; j < MAX_VECS; j++) {
    PetscCall(VecDestroy(&x[j]));
    PetscCall(VecDestroy(&d[j]));
  }
  PetscCall(PetscRandomDestroy(&rand));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/onepass.out
    nsize: {{1 2}}
    args: -dm_box_cells {{2 30}} -dm_box_dim 2 -dm_box_degree 3
    test:
      suffix: host
    test:
      suffix: cuda
      requires: cuda gpu
      args: -dm_vec_type cuda -use_gpu_aware_mpi 0

TEST*/
