#pragma once
/* Between the files of VECSINGLE: its data, and what each file adds to it */
#include <patchfd/private/vecimpl.h>

typedef struct {
  VecSingleKernels kern;
  float           *a;         /* the storage in use; NULL until the first access: solvers make Vecs that they never use */
  float           *allocated; /* what the Vec owns: NULL for a subvector, which is a window on its parent's storage */
  size_t           room[2];   /* for ghosts, before and after the values: room.c */
  Vec              shadow;    /* made by the first VecGetArray() */
  PetscInt         nuse;      /* accesses to the shadow that have begun and not ended */
  PetscBool        written;   /* the storage has changed since it was borrowed (subvector, placed array) */
  PetscBool        placed;    /* a is a float image of the array given to VecPlaceArray(), which the shadow holds */
  PetscBool        stashed;   /* the shadow keeps values until assembly, see VecSetValues_Single() */
} Vec_Single;

static inline Vec_Single *Single(Vec v)
{
  return (Vec_Single *)v->data;
}

static inline const float *Read(Vec v)
{
  return Single(v)->a;
}

static inline float *Write(Vec v)
{
  Single(v)->written = PETSC_TRUE;
  return Single(v)->a;
}

#define Kernels(v) (Single(v)->kern)

static inline PetscBool SameStorage(Vec v, Vec w)
{
  return (PetscBool)(VecIsSingle_Private(v) && VecIsSingle_Private(w) && Kernels(v) == Kernels(w));
}

#define VecCheckSingle(v) \
  PetscCheck(VecIsSingle_Private(v), PetscObjectComm((PetscObject)(v)), PETSC_ERR_ARG_INCOMP, \
             "A Vec of type %s is none of type %s or %s: convert it with VecSingleConvert()", ((PetscObject)(v))->type_name, VECSINGLE, \
             VECSINGLECUDA)

/* the values in the storage that the Vec owns */
static inline float *Own(Vec v)
{
  return PetscSafePointerPlusOffset(Single(v)->allocated, PatchFDRoomLead(Single(v)->room));
}

/* before Read() and Write() */
static inline PetscErrorCode NeedStorage(Vec v)
{
  Vec_Single *s = Single(v);

  PetscFunctionBegin;
  if (!s->a) {
    PetscCall(s->kern->malloc((PetscInt)(PatchFDRoomLead(s->room) + s->room[1]) + v->map->n, &s->allocated));
    s->a = Own(v);
    if (s->room[0] || s->room[1]) PetscCall(PatchFDRoomAdd(s->a, s->room));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* singlearray.c: arrays, the shadow, values by index */
PETSC_INTERN void           VecSingleSetAccess(Vec);
PETSC_INTERN PetscErrorCode VecResetArray_Single(Vec);
/* singleops.c: elementwise operations and reductions */
PETSC_INTERN void VecSingleSetOperations(Vec);
