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
  for (int side = 0; side < 2; side++)
    PetscCall(PetscMalloc1((size_t)PATCHFD_HALO_MAX_ARRAYS * desc->first[side][desc->n] * desc->unit, &p->buffer[side]));
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
  const PetscInt *first = p->desc.first[side], *index = p->desc.index[side], unit = p->desc.unit;

  PetscFunctionBegin;
  for (PetscInt rank = 0; rank < p->desc.n; rank++) {
    const PetscInt count = first[rank + 1] - first[rank];
    REAL          *to    = p->buffer[side] + (size_t)(n * first[rank]) * unit;

    for (PetscInt a = 0; a < n; a++)
      for (PetscInt i = 0; i < count; i++)
        for (PetscInt u = 0; u < unit; u++) *to++ = ((const REAL *)from[a])[(size_t)index[first[rank] + i] * unit + u];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaloUnpack(void *plan, int side, PetscBool add, PetscInt n, void *const to[])
{
  const HaloPlan *p     = (const HaloPlan *)plan;
  const PetscInt *first = p->desc.first[side], *index = p->desc.index[side], unit = p->desc.unit;

  PetscFunctionBegin;
  for (PetscInt rank = 0; rank < p->desc.n; rank++) {
    const PetscInt count = first[rank + 1] - first[rank];

    for (PetscInt a = 0; a < n; a++) {
      const REAL *from = p->buffer[side] + (size_t)(n * first[rank] + a * count) * unit;

      for (PetscInt i = 0; i < count; i++) {
        REAL *x = (REAL *)to[a] + (size_t)index[first[rank] + i] * unit;

        for (PetscInt u = 0; u < unit; u++) x[u] = add ? x[u] + *from++ : *from++;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
