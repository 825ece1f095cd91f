/* inverses of patch matrices in parity blocks: set-up, from one-dimensional matrices */
#include <patchfd/private/assembly.h>
#include <lapacke.h>

/* the parity of a direction in block b: 0 if the direction has none */
static int BlockParity(const PatchFDDense *dense, int b, int d)
{
  return !dense->parity[d] ? 0 : (b >> d & 1 ? -1 : 1);
}

PetscInt PatchFDHostDenseSizes(PatchFDDense *dense)
{
  PetscInt total = 0;

  for (int b = 0; b < 8; b++) {
    dense->size[b] = 1;
    for (int d = 0; d < 3; d++) dense->size[b] *= b >> d & 1 && !dense->parity[d] ? 0 : PatchFDFoldSize(dense->n[d], BlockParity(dense, b, d));
    total += dense->size[b] * dense->size[b];
  }
  return total;
}

/* K += coef H[2] (x) H[1] (x) H[0] */
static void AddProduct(PetscReal coef, PetscReal *const H[3], const PetscInt n[3], PetscReal K[])
{
  const PetscInt size = n[0] * n[1] * n[2];

  for (PetscInt r = 0; r < size; r++) {
    const PetscInt   i[3] = {r % n[0], r / n[0] % n[1], r / n[0] / n[1]};
    const PetscReal *row  = H[0] + i[0] * n[0];
    PetscReal       *k    = K + (PetscCount)r * size;

    for (PetscInt c2 = 0; c2 < n[2]; c2++) {
      for (PetscInt c1 = 0; c1 < n[1]; c1++) {
        const PetscReal a = coef * H[2][i[2] * n[2] + c2] * H[1][i[1] * n[1] + c1];

        for (PetscInt c0 = 0; c0 < n[0]; c0++) *k++ += a * row[c0];
      }
    }
  }
}

/* the inverse of a symmetric matrix, in place; false if it is not positive definite */
static PetscErrorCode Invert(PetscInt n, PetscReal K[], PetscBool *definite)
{
  lapack_int info;

  PetscFunctionBegin;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', (lapack_int)n, K, (lapack_int)n);
  if (info == 0) info = LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', (lapack_int)n, K, (lapack_int)n);
  PetscCall(PetscFPTrapPop());
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Inverse of a patch matrix of size %" PetscInt_FMT ": LAPACK failed with info = %d", n, (int)info);
  *definite = (PetscBool)(info == 0);
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < i; j++) K[(PetscCount)i * n + j] = K[(PetscCount)j * n + i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostDenseParity(PetscInt nterm, const PetscReal *const X[][3], const PetscInt n[3], PatchFDDense *dense)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(dense, sizeof(*dense)));
  for (int d = 0; d < 3; d++) {
    dense->n[d]      = n[d];
    dense->parity[d] = (PetscBool)(n[d] > 1);
    for (PetscInt t = 0; t < nterm; t++) dense->parity[d] = (PetscBool)(dense->parity[d] && PatchFDMirrored(n[d], n[d], X[t][d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostDenseCreate(PetscInt nterm, const PetscReal coef[], const PetscReal *const X[][3], PatchFDDense *dense, PetscBool *definite)
{
  const PetscInt total = PatchFDHostDenseSizes(dense);
  PetscReal     *H[3];

  PetscFunctionBegin;
  *definite = PETSC_TRUE;
  PetscCall(PetscCalloc1(total, &dense->block[0]));
  for (int b = 1; b < 8; b++) dense->block[b] = dense->block[b - 1] + dense->size[b - 1] * dense->size[b - 1];
  PetscCall(PetscMalloc3(dense->n[0] * dense->n[0], &H[0], dense->n[1] * dense->n[1], &H[1], dense->n[2] * dense->n[2], &H[2]));
  for (int b = 0; b < 8 && *definite; b++) {
    PetscInt h[3];

    if (!dense->size[b]) continue;
    for (PetscInt t = 0; t < nterm; t++) {
      for (int d = 0; d < 3; d++) {
        h[d] = PatchFDFoldSize(dense->n[d], BlockParity(dense, b, d));
        PatchFDFold(dense->n[d], BlockParity(dense, b, d), X[t][d], dense->n[d], H[d]);
      }
      AddProduct(coef[t], H, h, dense->block[b]);
    }
    PetscCall(Invert(dense->size[b], dense->block[b], definite));
  }
  PetscCall(PetscFree3(H[0], H[1], H[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostDenseDestroy(PatchFDDense *dense)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(dense->block[0]));
  PetscCall(PetscMemzero(dense, sizeof(*dense)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
