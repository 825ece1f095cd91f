/* what ranks exchange, in host memory: patchfd/private/halo.h */
#pragma once
#include "lines.h"
#include <patchfd/private/halo.h>

typedef struct {
  PatchFDHaloDesc desc; /* of whoever made the plan */
  REAL           *buffer[2];
} HaloPlan;

static PetscErrorCode HaloCreate(const PatchFDHaloDesc *desc, PETSC_UNUSED PatchFDHaloWay way, void **plan)
{
  HaloPlan *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->desc = *desc;
  for (int side = 0; side < 2; side++) PetscCall(PetscMalloc1(PATCHFD_HALO_MAX_ARRAYS * desc->first[side][desc->n], &p->buffer[side]));
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaloDestroy(void **plan)
{
  HaloPlan *p = (HaloPlan *)*plan;

  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) PetscCall(PetscFree(p->buffer[side]));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaloBuffers(void *plan, void *buffer[2])
{
  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) buffer[side] = ((HaloPlan *)plan)->buffer[side];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaloPack(void *plan, int side, PetscInt n, const void *const from[])
{
  const HaloPlan *p     = (const HaloPlan *)plan;
  const PetscInt *first = p->desc.first[side], *index = p->desc.index[side];

  PetscFunctionBegin;
  for (PetscInt rank = 0; rank < p->desc.n; rank++) {
    const PetscInt count = first[rank + 1] - first[rank];
    REAL          *to    = p->buffer[side] + n * first[rank];

    for (PetscInt a = 0; a < n; a++)
      for (PetscInt i = 0; i < count; i++) to[a * count + i] = ((const REAL *)from[a])[index[first[rank] + i]];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaloUnpack(void *plan, int side, PetscBool add, PetscInt n, void *const to[])
{
  const HaloPlan *p     = (const HaloPlan *)plan;
  const PetscInt *first = p->desc.first[side], *index = p->desc.index[side];

  PetscFunctionBegin;
  for (PetscInt rank = 0; rank < p->desc.n; rank++) {
    const PetscInt count = first[rank + 1] - first[rank];

    for (PetscInt a = 0; a < n; a++) {
      const REAL *from = p->buffer[side] + n * first[rank] + a * count;
      REAL       *x    = (REAL *)to[a];

      if (add)
        for (PetscInt i = 0; i < count; i++) x[index[first[rank] + i]] += from[i];
      else
        for (PetscInt i = 0; i < count; i++) x[index[first[rank] + i]] = from[i];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
