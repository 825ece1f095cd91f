#pragma once
/* instances of the marching operator kernel: see operator.cuh.  PRECISION is set by the including file. */
#include "operator.cuh"

namespace patchfd
{

template <typename T, int K>
static PetscErrorCode Create(const PatchFDOperatorDesc *desc, OperatorMarch **march)
{
  OperatorMarchDegree<T, K, Tile<T, K>> *p = new OperatorMarchDegree<T, K, Tile<T, K>>(desc);

  PetscFunctionBegin;
  *march = p;
  PetscCall(p->cut());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode OperatorMarchCreate(const PatchFDOperatorDesc *desc, OperatorMarch **march)
{
  const PetscInt n = desc->dir[0]->nloc;

  PetscFunctionBegin;
  *march = NULL;
  for (int d = 0; d < 3; d++)
    if (desc->dir[d]->nclass != 1 || (desc->dir[d]->nloc != n && !(d == 2 && desc->dir[d]->nloc == 1))) PetscFunctionReturn(PETSC_SUCCESS);
  if (desc->dir[2]->nloc == 1) PetscCall(OperatorPlaneCreate<T>(desc, march));
  else switch (n - 1) {
  case 1:
    PetscCall((Create<T, 1>(desc, march)));
    break;
  case 2:
    PetscCall((Create<T, 2>(desc, march)));
    break;
  case 3:
    PetscCall((Create<T, 3>(desc, march)));
    break;
  case 4:
    PetscCall((Create<T, 4>(desc, march)));
    break;
  case 5:
    PetscCall((Create<T, 5>(desc, march)));
    break;
  case 6:
    PetscCall((Create<T, 6>(desc, march)));
    break;
  case 7:
    PetscCall((Create<T, 7>(desc, march)));
    break;
  case 8:
    PetscCall((Create<T, 8>(desc, march)));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode OperatorMarchCreate<PRECISION>(const PatchFDOperatorDesc *, OperatorMarch **);

} // namespace patchfd
