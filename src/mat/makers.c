/* Which local solvers a matrix has (patchfd/private/patches.h) */
#include <patchfd/private/dmdarows.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/patches.h>

PetscErrorCode MatCreatePatches(Mat A, DM other, const MatPatchesSpec *spec, MatPatches *patches)
{
  MatCreatePatchesFn *create = NULL;
  DM                  da     = NULL;
  Mat_Box            *none;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatCreatePatches_C", &create));
  if (!create) PetscCall(MatFindDMDA(A, other, &da));
  if (create) PetscCall((*create)(A, spec, patches));
  else if (da && MatPatchesSpecIsWhole(spec)) PetscCall(MatCreatePatches_KroneckerSum(A, da, spec, patches));
  else if (da) PetscCall(MatCreatePatches_Bricks(A, da, spec, patches));
  else PetscCall(MatBoxGet(A, "PCPATCHFD, for a matrix without a DMDA,", &none));
  PetscFunctionReturn(PETSC_SUCCESS);
}
