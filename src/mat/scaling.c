/*
  Local solvers that are those of an operator nearby: how their corrections are scaled and damped.

  With the diagonals D of the matrix and T of the operator nearby, whose patches have the matrices T_j, a correction is S T_j^{-1} S r with
  S = (T / D)^{1/2}: the matrices S^{-1} T_j S^{-1} have the diagonal of the matrix itself.  Largest eigenvalues of the corrected patches
  above 2 would make steps diverge: they are estimated, and corrections damped where they are large.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

PetscErrorCode MatBoxLocalGetScaling(MatBoxLocal *l, Vec v, Vec *scaling)
{
  PatchFDKernels kern;
  Vec            diagonal;

  PetscFunctionBegin;
  *scaling = NULL;
  if (!l->m->form.points) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecGetKernels(v, &kern));
  if (!l->scaling[kern->id]) {
    Mat_Box nearby = *l->m;

    if (l->weighted.weighted) nearby.form = l->weighted;
    PetscCall(VecDuplicate(v, &l->scaling[kern->id]));
    PetscCall(VecDuplicate(v, &diagonal));
    PetscCall(MatBoxTermDiagonal(&nearby, l->scaling[kern->id]));
    PetscCall(MatBoxPointDiagonal(l->m, diagonal));
    PetscCall(VecPointwiseDivide(l->scaling[kern->id], l->scaling[kern->id], diagonal));
    PetscCall(VecSqrtAbs(l->scaling[kern->id]));
    PetscCall(VecDestroy(&diagonal));
  }
  *scaling = l->scaling[kern->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = s x, or y + s x, entry by entry; y may be x */
static PetscErrorCode Multiply(PatchFDKernels kern, Vec s, Vec x, PetscBool add, Vec y)
{
  const void *as, *ax = NULL;
  void       *ay;
  PetscInt    n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(PatchFDVecGetArrayRead(s, kern, &as));
  if (x != y) PetscCall(PatchFDVecGetArrayRead(x, kern, &ax));
  PetscCall(PatchFDVecGetArray(y, kern, &ay));
  PetscCall(kern->multiply((size_t)n, as, x == y ? ay : ax, add, ay));
  PetscCall(PatchFDVecRestoreArray(y, kern, &ay));
  if (x != y) PetscCall(PatchFDVecRestoreArrayRead(x, kern, &ax));
  PetscCall(PatchFDVecRestoreArrayRead(s, kern, &as));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLocalCorrectScaled(MatBoxLocal *l, PatchFDKernels kern, PatchFDPrecision precision, PetscInt n,
                                        const PatchFDColor colors[], PetscReal omega, Vec s, Vec r, Vec sr, Vec z, Vec x)
{
  const void *ar;
  void       *az;

  PetscFunctionBegin;
  PetscCall(Multiply(kern, s, r, PETSC_FALSE, sr));
  PetscCall(PatchFDVecGetArrayRead(sr, kern, &ar));
  PetscCall(PatchFDVecGetArrayWrite(z, kern, &az));
  PetscCall(MatBoxZero(l->m, kern, az));
  PetscCall(MatBoxLocalCorrect(l, kern, precision, n, colors, omega, ar, az));
  PetscCall(PatchFDVecRestoreArrayWrite(z, kern, &az));
  PetscCall(PatchFDVecRestoreArrayRead(sr, kern, &ar));
  PetscCall(Multiply(kern, s, z, PETSC_TRUE, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* numbers without a pattern, which do not depend on the number of ranks */
static PetscErrorCode Noise(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscReal sum = 0.3;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) sum += (1000 + 700 * (PetscReal)d) * x[d];
  u[0] = PetscSinReal(sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the largest eigenvalue of all patches of a colour, by the power method on all of them at once; x is any vector, the others have room */
static PetscErrorCode LargestEigenvalue(MatBoxLocal *l, PatchFDKernels kern, PatchFDPrecision precision, const PatchFDColor *color,
                                        Vec zero, Vec x, Vec r, Vec z, PetscReal *largest)
{
  const PetscInt steps = 6;
  Vec            s;

  PetscFunctionBegin;
  PetscCall(MatBoxLocalGetScaling(l, x, &s));
  *largest = 0;
  for (PetscInt i = 0; i < steps; i++) {
    const void *ax, *ab;
    void       *ar;
    PetscReal   norm;

    PetscCall(PatchFDVecGetArrayRead(zero, kern, &ab));
    PetscCall(PatchFDVecGetArrayRead(x, kern, &ax));
    PetscCall(PatchFDVecGetArrayWrite(r, kern, &ar));
    PetscCall(MatBoxResidual(l->m, kern, color, ab, ax, ar));
    PetscCall(PatchFDVecRestoreArrayWrite(r, kern, &ar));
    PetscCall(PatchFDVecRestoreArrayRead(x, kern, &ax));
    PetscCall(PatchFDVecRestoreArrayRead(zero, kern, &ab));
    PetscCall(VecSet(x, 0));
    PetscCall(MatBoxLocalCorrectScaled(l, kern, precision, 1, color, 1, s, r, r, z, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    if (i > 0) *largest = norm; /* x was of norm one and lived on these patches alone */
    if (norm == 0) break;
    PetscCall(VecScale(x, 1 / norm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxGetDamping(MatBoxLocal *l, PatchFDPrecision precision, PetscReal *omega)
{
  const DM        dm     = l->m->dm;
  const PetscReal enough = 1.8;
  PatchFDColor    color[PATCHFD_MAX_COLORS];
  PatchFDKernels  kern;
  Vec             v[4];
  PetscReal       largest = 0;

  PetscFunctionBegin;
  if (!l->damping) {
    const PetscInt n = MatBoxLocalColors(l, PETSC_TRUE, color);

    PetscCall(PetscLogEventBegin(PATCHFD_SetUp, dm, 0, 0, 0));
    PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
    for (int i = 0; i < 4; i++) PetscCall(DMCreateGlobalVector(dm, &v[i]));
    PetscCall(VecSet(v[0], 0));
    for (PetscInt i = 0; i < n; i++) {
      PetscReal of = 0;

      PetscCall(DMBoxInterpolateFunction(dm, 0, Noise, NULL, v[1]));
      PetscCall(LargestEigenvalue(l, kern, precision, &color[i], v[0], v[1], v[2], v[3], &of));
      largest = PetscMax(largest, of);
    }
    for (int i = 0; i < 4; i++) PetscCall(VecDestroy(&v[i]));
    l->damping = largest <= enough ? 1 : enough / largest;
    PetscCall(PetscLogEventEnd(PATCHFD_SetUp, dm, 0, 0, 0));
  }
  *omega = l->damping;
  PetscFunctionReturn(PETSC_SUCCESS);
}
