/* what boundary data and null spaces need: constants and sums of a field */
#include <patchfd/private/assembly.h>

PetscErrorCode PatchFDHostFill(size_t count, PetscScalar value, PetscScalar v[])
{
  PetscFunctionBegin;
  for (size_t i = 0; i < count; i++) v[i] = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostSum(size_t count, const PetscScalar v[], PetscReal sum[2])
{
  PetscFunctionBegin;
  for (size_t i = 0; i < count; i++) {
    sum[0] += PetscRealPart(v[i]);
    sum[1] += PetscAbsScalar(v[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDHostFlux(const PatchFDRange side, PetscReal *const w[3], PetscReal outwards, PetscReal change, const PatchFDBox *box,
                               PetscScalar g[], PetscReal sum[2])
{
  PetscInt at[3];

  PetscFunctionBegin;
  for (at[2] = side[2][0]; at[2] < side[2][1]; at[2]++) {
    for (at[1] = side[1][0]; at[1] < side[1][1]; at[1]++) {
      for (at[0] = side[0][0]; at[0] < side[0][1]; at[0]++) {
        PetscScalar *v    = &g[PatchFDBoxNode(box, at[0], at[1], at[2])];
        PetscReal    area = 1;

        for (int d = 0; d < 3; d++)
          if (w[d]) area *= w[d][at[d]];
        *v -= change * outwards * PetscAbsScalar(*v);
        sum[0] += area * outwards * PetscRealPart(*v);
        sum[1] += area * PetscAbsScalar(*v);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
