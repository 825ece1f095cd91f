/*
  VECSINGLE and VECSINGLECUDA: float storage under a double PetscScalar, in host or in GPU memory, one type name each for any number
  of ranks.  The two differ in their table of loops, VecSingleKernels, and in little else.

  Everything that solvers call often works on the floats.  VecGetArray() and its
  relatives hand out the double "shadow", a VECSTANDARD of the same layout: values are converted when the first access begins
  and converted back when a writable access ends.  Whatever PETSc does through arrays therefore works, at the price of two
  conversions, and the operations that do nothing else (view, load, strides) are VECSTANDARD's own.
*/
#include <patchfd/private/vecimpl.h>
#include <petscdevice.h>

typedef struct {
  VecSingleKernels kern;
  float           *a;         /* the storage in use; NULL until the first access: solvers make Vecs that they never use */
  float           *allocated; /* what the Vec owns: NULL for a subvector, which is a window on its parent's storage */
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

PetscMemType VecSingleMemType_Private(Vec v)
{
  return Kernels(v)->memtype;
}

static inline PetscBool SameStorage(Vec v, Vec w)
{
  return (PetscBool)(VecIsSingle_Private(v) && VecIsSingle_Private(w) && Kernels(v) == Kernels(w));
}

#define VecCheckSingle(v) \
  PetscCheck(VecIsSingle_Private(v), PetscObjectComm((PetscObject)(v)), PETSC_ERR_ARG_INCOMP, "A Vec of type %s is none of type %s or %s: convert it with VecSingleConvert()", ((PetscObject)(v))->type_name, VECSINGLE, VECSINGLECUDA)

/* before Read() and Write() */
static PetscErrorCode NeedStorage(Vec v)
{
  Vec_Single *s = Single(v);

  PetscFunctionBegin;
  if (!s->a) {
    PetscCall(s->kern->malloc(v->map->n, &s->allocated));
    s->a = s->allocated;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same for w, which is an operand of an operation of v, and for v */
static PetscErrorCode NeedOperand(Vec v, Vec w)
{
  PetscFunctionBegin;
  PetscCheck(SameStorage(v, w), PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_INCOMP, "Cannot combine Vecs of type %s and %s: convert with VecSingleConvert()", ((PetscObject)v)->type_name, ((PetscObject)w)->type_name);
  PetscCall(NeedStorage(v));
  PetscCall(NeedStorage(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LogFlops(Vec v, PetscLogDouble flops)
{
  PetscFunctionBegin;
  PetscCall(PetscMemTypeHost(Kernels(v)->memtype) ? PetscLogFlops(flops) : PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the floats ---- */

static PetscErrorCode NeedStorageIn(Vec v, PetscMemType *m)
{
  PetscFunctionBegin;
  PetscCheck(m || PetscMemTypeHost(Kernels(v)->memtype), PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_INCOMP, "The array of a Vec of type %s is not in host memory: the argument for its PetscMemType cannot be NULL", ((PetscObject)v)->type_name);
  if (m) *m = Kernels(v)->memtype;
  PetscCall(NeedStorage(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  VecSingleGetArray - Gets the float storage of a `VECSINGLE` for reading and writing

  Logically Collective; No Fortran Support

  Input Parameter:
. v - the vector

  Output Parameters:
+ a - the array of this rank's values
- m - where the array lives: `PETSC_MEMTYPE_HOST`, or `PETSC_MEMTYPE_CUDA` if the type is `VECSINGLECUDA`, for which it cannot be `NULL`

  Level: intermediate

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `VecSingleRestoreArray()`, `VecSingleGetArrayRead()`, `VecSingleGetArrayWrite()`, `VecSingleConvert()`
@*/
PetscErrorCode VecSingleGetArray(Vec v, float *a[], PetscMemType *m)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(v, VEC_CLASSID, 1);
  PetscAssertPointer(a, 2);
  VecCheckSingle(v);
  PetscCall(VecSetErrorIfLocked(v, 1));
  PetscCall(NeedStorageIn(v, m));
  *a = Write(v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  VecSingleRestoreArray - Ends the access begun with `VecSingleGetArray()`

  Logically Collective; No Fortran Support

  Input Parameters:
+ v - the vector
- a - the array, invalid on return

  Level: intermediate

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `VecSingleGetArray()`
@*/
PetscErrorCode VecSingleRestoreArray(Vec v, float *a[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(v, VEC_CLASSID, 1);
  VecCheckSingle(v);
  PetscCall(PetscObjectStateIncrease((PetscObject)v));
  if (a) *a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  VecSingleGetArrayRead - Gets the float storage of a `VECSINGLE` for reading

  Not Collective; No Fortran Support

  Input Parameter:
. v - the vector

  Output Parameters:
+ a - the array of this rank's values
- m - where the array lives: `PETSC_MEMTYPE_HOST`, or `PETSC_MEMTYPE_CUDA` if the type is `VECSINGLECUDA`, for which it cannot be `NULL`

  Level: intermediate

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `VecSingleRestoreArrayRead()`, `VecSingleGetArray()`, `VecSingleGetArrayWrite()`
@*/
PetscErrorCode VecSingleGetArrayRead(Vec v, const float *a[], PetscMemType *m)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(v, VEC_CLASSID, 1);
  PetscAssertPointer(a, 2);
  VecCheckSingle(v);
  PetscCall(NeedStorageIn(v, m));
  *a = Read(v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  VecSingleRestoreArrayRead - Ends the access begun with `VecSingleGetArrayRead()`

  Not Collective; No Fortran Support

  Input Parameters:
+ v - the vector
- a - the array, invalid on return

  Level: intermediate

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `VecSingleGetArrayRead()`
@*/
PetscErrorCode VecSingleRestoreArrayRead(Vec v, const float *a[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(v, VEC_CLASSID, 1);
  VecCheckSingle(v);
  if (a) *a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  VecSingleGetArrayWrite - Gets the float storage of a `VECSINGLE` for writing; the values in it are undefined

  Logically Collective; No Fortran Support

  Input Parameter:
. v - the vector

  Output Parameters:
+ a - the array of this rank's values
- m - where the array lives: `PETSC_MEMTYPE_HOST`, or `PETSC_MEMTYPE_CUDA` if the type is `VECSINGLECUDA`, for which it cannot be `NULL`

  Level: intermediate

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `VecSingleRestoreArrayWrite()`, `VecSingleGetArray()`, `VecSingleGetArrayRead()`
@*/
PetscErrorCode VecSingleGetArrayWrite(Vec v, float *a[], PetscMemType *m)
{
  PetscFunctionBegin;
  PetscCall(VecSingleGetArray(v, a, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  VecSingleRestoreArrayWrite - Ends the access begun with `VecSingleGetArrayWrite()`

  Logically Collective; No Fortran Support

  Input Parameters:
+ v - the vector
- a - the array, invalid on return

  Level: intermediate

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `VecSingleGetArrayWrite()`
@*/
PetscErrorCode VecSingleRestoreArrayWrite(Vec v, float *a[])
{
  PetscFunctionBegin;
  PetscCall(VecSingleRestoreArray(v, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  VecSingleConvert - Computes y = a x for vectors of any two precisions

  Logically Collective

  Input Parameters:
+ x - the vector to convert
- a - the factor, usually 1; choose it so that the values fit in the range of the result's precision

  Output Parameter:
. y - a vector of the same layout as `x`

  Level: intermediate

  Note:
  The vectors may be of any types. Between `VECSINGLE` and types that have an array on the host, and between `VECSINGLECUDA` and `VECCUDA`,
  it is one pass on the host or on the GPU; between the host and the GPU the values are copied, too.

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `PCSINGLE`, `VecCopy()`
@*/
PetscErrorCode VecSingleConvert(Vec x, PetscReal a, Vec y)
{
  const PetscInt     n = x->map->n;
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscMemType       m;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(x, VEC_CLASSID, 1);
  PetscValidHeaderSpecific(y, VEC_CLASSID, 3);
  VecCheckSameLocalSize(x, 1, y, 3);
  PetscCall(VecSetErrorIfLocked(y, 3));
  if (SameStorage(x, y) || (!VecIsSingle_Private(x) && !VecIsSingle_Private(y))) {
    PetscCall(VecCopy(x, y));
    PetscCall(VecScale(y, a));
  } else if (VecIsSingle_Private(y)) { /* x may be the shadow of one in the other memory */
    const VecSingleKernels kern = Kernels(y);

    PetscCall(NeedStorage(y));
    if (PetscMemTypeHost(kern->memtype)) {
      PetscCall(VecGetArrayRead(x, &xa));
      PetscCall(kern->fromhost(n, a, xa, Write(y)));
      PetscCall(VecRestoreArrayRead(x, &xa));
    } else {
      PetscCall(VecGetArrayReadAndMemType(x, &xa, &m));
      PetscCall((PetscMemTypeHost(m) ? kern->fromhost : kern->fromdouble)(n, a, xa, Write(y)));
      PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
    }
    PetscCall(PetscObjectStateIncrease((PetscObject)y));
  } else {
    const VecSingleKernels kern = Kernels(x);

    PetscCall(NeedStorage(x));
    if (PetscMemTypeHost(kern->memtype)) {
      PetscCall(VecGetArrayWrite(y, &ya));
      PetscCall(kern->tohost(n, a, Read(x), ya));
      PetscCall(VecRestoreArrayWrite(y, &ya));
    } else {
      PetscCall(VecGetArrayWriteAndMemType(y, &ya, &m));
      PetscCall((PetscMemTypeHost(m) ? kern->tohost : kern->todouble)(n, a, Read(x), ya));
      PetscCall(VecRestoreArrayWriteAndMemType(y, &ya));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  VecSingleGetMemory - Gets the memory that a `VECSINGLE` or `VECSINGLECUDA` uses for its values on this rank

  Not Collective

  Input Parameter:
. v - the vector

  Output Parameters:
+ storage - bytes of float storage that the vector owns, on the host or on the GPU: zero before the first access
- shadow  - bytes of the double shadow, which is on the host: zero unless something has called `VecGetArray()` or one of its relatives

  Level: advanced

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `PCSINGLE`
@*/
PetscErrorCode VecSingleGetMemory(Vec v, PetscLogDouble *storage, PetscLogDouble *shadow)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(v, VEC_CLASSID, 1);
  VecCheckSingle(v);
  if (storage) *storage = Single(v)->allocated ? (PetscLogDouble)v->map->n * sizeof(float) : 0.0;
  if (shadow) *shadow = Single(v)->shadow ? (PetscLogDouble)v->map->n * sizeof(PetscScalar) : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the shadow ---- */

static PetscErrorCode NeedShadow(Vec v)
{
  Vec_Single *s = Single(v);

  PetscFunctionBegin;
  if (!s->shadow) {
    PetscCall(VecCreate(PetscObjectComm((PetscObject)v), &s->shadow));
    PetscCall(PetscLayoutReference(v->map, &s->shadow->map));
    PetscCall(VecSetType(s->shadow, VECSTANDARD));
    PetscCall(VecSetOption(s->shadow, VEC_IGNORE_OFF_PROC_ENTRIES, v->stash.donotstash));
    PetscCall(VecSetOption(s->shadow, VEC_IGNORE_NEGATIVE_INDICES, v->stash.ignorenegidx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShadowBegin(Vec v, PetscBool read, PetscScalar **a)
{
  Vec_Single *s = Single(v);

  PetscFunctionBegin;
  PetscCall(NeedStorage(v));
  PetscCall(NeedShadow(v));
  PetscCall(VecGetArray(s->shadow, a));
  /* an array placed by the user is not touched unless there is something new: it may be read-only or hold more digits */
  if (!s->nuse++ && read && !(s->placed && !s->written)) PetscCall(s->kern->tohost(v->map->n, 1.0, s->a, *a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShadowEnd(Vec v, PetscBool write, PetscScalar **a)
{
  Vec_Single  *s = Single(v);
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCheck(s->nuse > 0, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_WRONGSTATE, "VecRestoreArray() without VecGetArray()");
  if (write) {
    PetscCall(VecGetArray(s->shadow, &array));
    PetscCall(s->kern->fromhost(v->map->n, 1.0, array, Write(v)));
    PetscCall(VecRestoreArray(s->shadow, &array));
  }
  s->nuse--;
  if (a) *a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetArray_Single(Vec v, PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(ShadowBegin(v, PETSC_TRUE, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetArrayWrite_Single(Vec v, PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(ShadowBegin(v, PETSC_FALSE, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetArrayRead_Single(Vec v, const PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(ShadowBegin(v, PETSC_TRUE, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecRestoreArray_Single(Vec v, PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(ShadowEnd(v, PETSC_TRUE, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecRestoreArrayRead_Single(Vec v, const PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(ShadowEnd(v, PETSC_FALSE, (PetscScalar **)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* while an array is placed the Vec works on a float image of it; what changed goes back in VecResetArray() */
static PetscErrorCode VecPlaceArray_Single(Vec v, const PetscScalar *array)
{
  Vec_Single *s = Single(v);

  PetscFunctionBegin;
  PetscCheck(!s->placed, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_WRONGSTATE, "VecPlaceArray() was already called on this vector, without a call to VecResetArray()");
  PetscCheck(!s->nuse, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_WRONGSTATE, "VecPlaceArray() between VecGetArray() and VecRestoreArray()");
  PetscCall(NeedShadow(v));
  PetscCall(VecPlaceArray(s->shadow, array));
  PetscCall(s->kern->malloc(v->map->n, &s->a));
  PetscCall(s->kern->fromhost(v->map->n, 1.0, array, s->a));
  s->placed  = PETSC_TRUE;
  s->written = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecResetArray_Single(Vec v)
{
  Vec_Single  *s = Single(v);
  PetscScalar *array;

  PetscFunctionBegin;
  if (!s->placed) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->written) {
    PetscCall(VecGetArray(s->shadow, &array));
    PetscCall(s->kern->tohost(v->map->n, 1.0, s->a, array));
    PetscCall(VecRestoreArray(s->shadow, &array));
  }
  PetscCall(VecResetArray(s->shadow));
  s->nuse = 0; /* VecRestoreLocalVector() begins an access that it does not end */
  PetscCall(s->kern->free(&s->a));
  s->a      = s->allocated;
  s->placed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecReplaceArray_Single(Vec v, const PetscScalar *array)
{
  PetscFunctionBegin;
  if (!array) PetscFunctionReturn(PETSC_SUCCESS); /* VecSetType() of a Vec made without an array */
  PetscCall(NeedStorage(v));
  PetscCall(Kernels(v)->fromhost(v->map->n, 1.0, array, Write(v)));
  PetscCall(PetscFree(array)); /* the Vec owns it from now on */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- values by index ---- */

/*
  On the host, values of this rank go into the storage at once, the others into the shadow's stash until assembly.  On the GPU all go
  into the shadow, which is in use until assembly.
*/
static PetscErrorCode VecSetValues_Single(Vec v, PetscInt ni, const PetscInt ix[], const PetscScalar y[], InsertMode mode)
{
  const PetscInt start = v->map->rstart, end = v->map->rend;
  PetscScalar   *shadow;
  float         *a;

  PetscFunctionBegin;
  if (v->map->size > 1) {
    PetscCheck(v->stash.insertmode == NOT_SET_VALUES || v->stash.insertmode == mode, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "VecSetValues() with both ADD_VALUES and INSERT_VALUES needs an assembly in between");
    v->stash.insertmode = mode;
  }
  if (!PetscMemTypeHost(Kernels(v)->memtype)) {
    if (!Single(v)->stashed) PetscCall(ShadowBegin(v, PETSC_TRUE, &shadow));
    Single(v)->stashed = PETSC_TRUE;
    PetscCall(VecSetValues(Single(v)->shadow, ni, ix, y, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(NeedStorage(v));
  a = Write(v);
  for (PetscInt i = 0; i < ni; i++) {
    const PetscScalar value = y ? y[i] : 0.0;

    if (ix[i] < 0 && v->stash.ignorenegidx) continue;
    PetscCheck(ix[i] >= 0 && ix[i] < v->map->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Out of range index value %" PetscInt_FMT ", should be nonnegative and less than %" PetscInt_FMT, ix[i], v->map->N);
    if (ix[i] >= start && ix[i] < end) a[ix[i] - start] = (float)(mode == ADD_VALUES ? (double)a[ix[i] - start] + value : value);
    else if (!v->stash.donotstash) {
      PetscCall(NeedShadow(v));
      PetscCall(VecSetValues(Single(v)->shadow, 1, &ix[i], &value, mode));
      Single(v)->stashed = PETSC_TRUE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSetValuesBlocked_Single(Vec v, PetscInt ni, const PetscInt ix[], const PetscScalar y[], InsertMode mode)
{
  const PetscInt bs = v->map->bs;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < ni; i++) {
    if (ix[i] < 0) continue; /* as VECSTANDARD */
    for (PetscInt j = 0; j < bs; j++) {
      const PetscInt row = bs * ix[i] + j;

      PetscCall(VecSetValues_Single(v, 1, &row, y ? y + bs * i + j : NULL, mode));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAssemblyBegin_Single(Vec v)
{
  Vec_Single     *s     = Single(v);
  const PetscBool begun = (PetscBool)(s->stashed && !PetscMemTypeHost(s->kern->memtype));
  PetscScalar    *a;

  PetscFunctionBegin;
  if (v->map->size > 1 && !v->stash.donotstash) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &s->stashed, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)v)));
  if (!s->stashed) PetscFunctionReturn(PETSC_SUCCESS);
  if (!begun) PetscCall(ShadowBegin(v, PETSC_TRUE, &a));
  PetscCall(VecAssemblyBegin(s->shadow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAssemblyEnd_Single(Vec v)
{
  Vec_Single *s = Single(v);

  PetscFunctionBegin;
  v->stash.insertmode = NOT_SET_VALUES;
  if (!s->stashed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecAssemblyEnd(s->shadow));
  PetscCall(ShadowEnd(v, PETSC_TRUE, NULL));
  PetscCall(PetscObjectStateIncrease((PetscObject)v));
  s->stashed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetValues_Single(Vec v, PetscInt ni, const PetscInt ix[], PetscScalar y[])
{
  const PetscInt start = v->map->rstart, end = v->map->rend;
  PetscScalar   *shadow = NULL;

  PetscFunctionBegin;
  PetscCall(NeedStorage(v));
  if (!PetscMemTypeHost(Kernels(v)->memtype)) PetscCall(ShadowBegin(v, PETSC_TRUE, &shadow));
  for (PetscInt i = 0; i < ni; i++) {
    if (ix[i] < 0 && v->stash.ignorenegidx) continue;
    PetscCheck(ix[i] >= start && ix[i] < end, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Can only get local values, trying %" PetscInt_FMT, ix[i]);
    y[i] = shadow ? shadow[ix[i] - start] : (PetscScalar)Read(v)[ix[i] - start];
  }
  if (shadow) PetscCall(ShadowEnd(v, PETSC_FALSE, &shadow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSetOption_Single(Vec v, VecOption option, PetscBool flag)
{
  PetscFunctionBegin;
  if (option == VEC_IGNORE_OFF_PROC_ENTRIES) v->stash.donotstash = flag;
  else if (option == VEC_IGNORE_NEGATIVE_INDICES) v->stash.ignorenegidx = flag;
  if (Single(v)->shadow) PetscCall(VecSetOption(Single(v)->shadow, option, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- elementwise ---- */

static PetscErrorCode VecCopy_Single(Vec x, Vec y)
{
  PetscFunctionBegin;
  if (SameStorage(x, y)) {
    PetscCall(NeedOperand(x, y));
    PetscCall(Kernels(x)->copy(x->map->n, Read(x), Write(y)));
  } else PetscCall(VecSingleConvert(x, 1.0, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSet_Single(Vec x, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->set(x->map->n, a, Write(x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSwap_Single(Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(x, y));
  if (x != y) PetscCall(Kernels(x)->swap(x->map->n, Write(x), Write(y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecScale_Single(Vec x, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  if (a == (PetscScalar)0.0) PetscCall(Kernels(x)->set(x->map->n, 0.0, Write(x)));
  else PetscCall(Kernels(x)->scale(x->map->n, a, Write(x)));
  PetscCall(LogFlops(x, x->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPY_Single(Vec y, PetscScalar a, Vec x)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(y, x));
  PetscCall(Kernels(y)->axpy(y->map->n, a, Read(x), Write(y)));
  PetscCall(LogFlops(y, 2.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPBY_Single(Vec y, PetscScalar a, PetscScalar b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(y, x));
  PetscCall(Kernels(y)->axpby(y->map->n, a, b, Read(x), Write(y)));
  PetscCall(LogFlops(y, 3.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAYPX_Single(Vec y, PetscScalar b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(y, x));
  PetscCall(Kernels(y)->axpby(y->map->n, 1.0, b, Read(x), Write(y)));
  PetscCall(LogFlops(y, 2.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPBYPCZ_Single(Vec z, PetscScalar a, PetscScalar b, PetscScalar c, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(z, x));
  PetscCall(NeedOperand(z, y));
  PetscCall(Kernels(z)->axpbypcz(z->map->n, a, b, c, Read(x), Read(y), Write(z)));
  PetscCall(LogFlops(z, 5.0 * z->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecWAXPY_Single(Vec w, PetscScalar a, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(w, x));
  PetscCall(NeedOperand(w, y));
  PetscCall(Kernels(w)->waxpy(w->map->n, a, Read(x), Read(y), Write(w)));
  PetscCall(LogFlops(w, 2.0 * w->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetReadArrays(Vec v, PetscInt m, const Vec x[], const float ***a)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < m; j++) PetscCall(NeedOperand(v, x[j]));
  PetscCall(PetscMalloc1(m, a));
  for (PetscInt j = 0; j < m; j++) (*a)[j] = Read(x[j]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMAXPBY_Single(Vec y, PetscInt m, const PetscScalar *a, PetscScalar b, Vec *x)
{
  const float **xa;

  PetscFunctionBegin;
  PetscCall(NeedStorage(y));
  PetscCall(GetReadArrays(y, m, x, &xa));
  PetscCall(Kernels(y)->maxpby(y->map->n, m, a, b, xa, Write(y)));
  PetscCall(PetscFree(xa));
  PetscCall(LogFlops(y, m * 2.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMAXPY_Single(Vec y, PetscInt m, const PetscScalar *a, Vec *x)
{
  PetscFunctionBegin;
  PetscCall(VecMAXPBY_Single(y, m, a, 1.0, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PointwiseBinary(Name, kernel) \
  static PetscErrorCode Name##_Single(Vec w, Vec x, Vec y) \
  { \
    PetscFunctionBegin; \
    PetscCall(NeedOperand(w, x)); \
    PetscCall(NeedOperand(w, y)); \
    PetscCall(Kernels(w)->kernel(w->map->n, Read(x), Read(y), Write(w))); \
    PetscCall(LogFlops(w, w->map->n)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
PointwiseBinary(VecPointwiseMult, mult)
PointwiseBinary(VecPointwiseDivide, divide)
PointwiseBinary(VecPointwiseMax, pointwisemax)
PointwiseBinary(VecPointwiseMin, pointwisemin)
PointwiseBinary(VecPointwiseMaxAbs, pointwisemaxabs)

/* the callers of these leave the increase of the state to the type */
#define PointwiseUnary(Name, kernel) \
  static PetscErrorCode Name##_Single(Vec x) \
  { \
    PetscFunctionBegin; \
    PetscCall(NeedStorage(x)); \
    PetscCall(Kernels(x)->kernel(x->map->n, Write(x))); \
    PetscCall(PetscObjectStateIncrease((PetscObject)x)); \
    PetscCall(LogFlops(x, x->map->n)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
PointwiseUnary(VecReciprocal, reciprocal)
PointwiseUnary(VecSqrtAbs, sqrtabs)
PointwiseUnary(VecAbs, abs)
PointwiseUnary(VecExp, exp)
PointwiseUnary(VecLog, log)

static PetscErrorCode VecShift_Single(Vec x, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->shift(x->map->n, a, Write(x)));
  PetscCall(PetscObjectStateIncrease((PetscObject)x));
  PetscCall(LogFlops(x, x->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- reductions ---- */

static PetscErrorCode Reduce(Vec v, PetscMPIInt n, PetscReal *s, MPI_Op op)
{
  PetscFunctionBegin;
  if (v->map->size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, s, n, MPIU_REAL, op, PetscObjectComm((PetscObject)v)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDotLocal_Single(Vec x, PetscInt m, const Vec y[], PetscScalar *s)
{
  const float **ya;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(GetReadArrays(x, m, y, &ya));
  PetscCall(Kernels(x)->mdot(x->map->n, m, Read(x), ya, s));
  PetscCall(PetscFree(ya));
  if (x->map->n) PetscCall(LogFlops(x, m * (2.0 * x->map->n - 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDot_Single(Vec x, PetscInt m, const Vec y[], PetscScalar *s)
{
  PetscMPIInt mm;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(m, &mm));
  PetscCall(VecMDotLocal_Single(x, m, y, s));
  PetscCall(Reduce(x, mm, s, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDotLocal_Single(Vec x, Vec y, PetscScalar *s)
{
  const float *ya;

  PetscFunctionBegin;
  PetscCall(NeedOperand(x, y));
  ya = Read(y);
  PetscCall(Kernels(x)->mdot(x->map->n, 1, Read(x), &ya, s));
  if (x->map->n) PetscCall(LogFlops(x, 2.0 * x->map->n - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDot_Single(Vec x, Vec y, PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(VecDotLocal_Single(x, y, s));
  PetscCall(Reduce(x, 1, s, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDotNorm2_Single(Vec x, Vec y, PetscScalar *dot, PetscScalar *norm2)
{
  const Vec   v[2] = {x, y};
  PetscScalar s[2];

  PetscFunctionBegin;
  PetscCall(NeedOperand(x, y));
  PetscCall(VecMDotLocal_Single(y, 2, v, s));
  PetscCall(Reduce(x, 2, s, MPIU_SUM));
  *dot   = s[0];
  *norm2 = s[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with sums of squares instead of 2-norms, which is what ranks can add */
static PetscErrorCode NormParts(Vec x, NormType type, PetscReal *z)
{
  const PetscInt n = x->map->n;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  if (type == NORM_INFINITY) PetscCall(Kernels(x)->maxabs(n, Read(x), z));
  if (type == NORM_1 || type == NORM_1_AND_2) {
    PetscCall(Kernels(x)->sumabs(n, Read(x), z));
    if (n) PetscCall(LogFlops(x, n - 1.0));
  }
  if (type == NORM_2 || type == NORM_FROBENIUS || type == NORM_1_AND_2) PetscCall(VecDotLocal_Single(x, x, type == NORM_1_AND_2 ? z + 1 : z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void NormFinish(NormType type, PetscReal *z)
{
  if (type == NORM_2 || type == NORM_FROBENIUS) z[0] = PetscSqrtReal(z[0]);
  if (type == NORM_1_AND_2) z[1] = PetscSqrtReal(z[1]);
}

static PetscErrorCode VecNormLocal_Single(Vec x, NormType type, PetscReal *z)
{
  PetscFunctionBegin;
  PetscCall(NormParts(x, type, z));
  NormFinish(type, z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecNorm_Single(Vec x, NormType type, PetscReal *z)
{
  PetscFunctionBegin;
  PetscCall(NormParts(x, type, z));
  PetscCall(Reduce(x, type == NORM_1_AND_2 ? 2 : 1, z, type == NORM_INFINITY ? MPIU_MAX : MPIU_SUM));
  NormFinish(type, z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecSum() adds the ranks' parts itself */
static PetscErrorCode VecSumLocal_Single(Vec x, PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->sum(x->map->n, Read(x), s));
  if (x->map->n) PetscCall(LogFlops(x, x->map->n - 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReduceLocated(Vec x, PetscInt i, PetscReal v, PetscInt *index, PetscReal *z, MPI_Op op, MPI_Op oploc)
{
  struct {
    PetscReal v;
    PetscInt  i;
  } in = {v, i < 0 ? i : i + x->map->rstart};

  PetscFunctionBegin;
  if (index) {
    if (x->map->size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &in, 1, MPIU_REAL_INT, oploc, PetscObjectComm((PetscObject)x)));
    *index = in.i;
  } else PetscCall(Reduce(x, 1, &in.v, op));
  *z = in.v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMax_Single(Vec x, PetscInt *index, PetscReal *z)
{
  PetscInt  i;
  PetscReal v;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->max(x->map->n, Read(x), &i, &v));
  PetscCall(ReduceLocated(x, i, v, index, z, MPIU_MAX, MPIU_MAXLOC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMin_Single(Vec x, PetscInt *index, PetscReal *z)
{
  PetscInt  i;
  PetscReal v;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->min(x->map->n, Read(x), &i, &v));
  PetscCall(ReduceLocated(x, i, v, index, z, MPIU_MIN, MPIU_MINLOC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMaxPointwiseDivide_Single(Vec x, Vec y, PetscReal *z)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(x, y));
  PetscCall(Kernels(x)->maxdivide(x->map->n, Read(x), Read(y), z));
  PetscCall(Reduce(x, 1, z, MPIU_MAX));
  PetscCall(LogFlops(x, x->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecErrorWeightedNorms() calls this only when all the Vecs are of this type */
static PetscErrorCode VecErrorWeightedNorms_Single(Vec u, Vec y, Vec e, NormType type, PetscReal atol, Vec vatol, PetscReal rtol, Vec vrtol, PetscReal ignore, PetscReal *norm, PetscInt *n, PetscReal *norma, PetscInt *na, PetscReal *normr, PetscInt *nr)
{
  const PetscBool     infinity = (PetscBool)(type == NORM_INFINITY);
  VecSingleErrorNorms r;

  PetscFunctionBegin;
  PetscCall(NeedOperand(u, y));
  if (e) PetscCall(NeedOperand(u, e));
  if (vatol) PetscCall(NeedOperand(u, vatol));
  if (vrtol) PetscCall(NeedOperand(u, vrtol));
  PetscCall(Kernels(u)->errornorms(u->map->n, Read(u), Read(y), e ? Read(e) : NULL, infinity, atol, vatol ? Read(vatol) : NULL, rtol, vrtol ? Read(vrtol) : NULL, ignore, &r));
  PetscCall(Reduce(u, 3, r.sum, infinity ? MPIU_MAX : MPIU_SUM));
  PetscCall(Reduce(u, 3, r.n, MPIU_SUM));
  *norm  = infinity ? r.sum[0] : PetscSqrtReal(r.sum[0]);
  *norma = infinity ? r.sum[1] : PetscSqrtReal(r.sum[1]);
  *normr = infinity ? r.sum[2] : PetscSqrtReal(r.sum[2]);
  *n     = (PetscInt)r.n[0];
  *na    = (PetscInt)r.n[1];
  *nr    = (PetscInt)r.n[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- life ---- */

static PetscErrorCode VecCreateWithStorage_Single(Vec, VecSingleKernels, float *);

static PetscErrorCode VecDuplicate_Single(Vec v, Vec *w)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), w));
  PetscCall(PetscLayoutReference(v->map, &(*w)->map));
  PetscCall(VecCreateWithStorage_Single(*w, Kernels(v), NULL));
  PetscCall(PetscObjectListDuplicate(((PetscObject)v)->olist, &((PetscObject)*w)->olist));
  PetscCall(PetscFunctionListDuplicate(((PetscObject)v)->qlist, &((PetscObject)*w)->qlist));
  /* DMs replace view and load */
  (*w)->ops->view          = v->ops->view;
  (*w)->ops->viewnative    = v->ops->viewnative;
  (*w)->ops->load          = v->ops->load;
  (*w)->ops->loadnative    = v->ops->loadnative;
  (*w)->ops->duplicate     = v->ops->duplicate;
  (*w)->stash.donotstash   = v->stash.donotstash;
  (*w)->stash.ignorenegidx = v->stash.ignorenegidx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDuplicateVecs_Single(Vec v, PetscInt m, Vec **w)
{
  PetscFunctionBegin;
  PetscCheck(m > 0, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_OUTOFRANGE, "m must be > 0: m = %" PetscInt_FMT, m);
  PetscCall(PetscMalloc1(m, w));
  for (PetscInt i = 0; i < m; i++) PetscCall(VecDuplicate(v, *w + i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDestroyVecs_Single(PetscInt m, Vec w[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < m; i++) PetscCall(VecDestroy(&w[i]));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a contiguous part of every rank is a window on the storage, anything else a copy made by a VecScatter */
static PetscErrorCode VecGetSubVector_Single(Vec v, IS is, Vec *w)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)v);
  PetscInt       n, N, start, bs, vbs, locked;
  PetscBool      flags[2]; /* contiguous, divisible by the block size */
  VecScatter     scatter;

  PetscFunctionBegin;
  PetscCall(NeedStorage(v));
  PetscCall(ISGetLocalSize(is, &n));
  PetscCall(ISGetSize(is, &N));
  PetscCall(ISGetBlockSize(is, &bs));
  PetscCall(VecGetBlockSize(v, &vbs));
  PetscCall(ISContiguousLocal(is, v->map->rstart, v->map->rend, &start, &flags[0]));
  flags[1] = (PetscBool)(n % vbs == 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, flags, 2, MPI_C_BOOL, MPI_LAND, comm));
  if (bs == 1 && flags[0] && flags[1]) bs = vbs;

  PetscCall(VecCreate(comm, w));
  PetscCall(VecSetSizes(*w, n, N));
  PetscCall(VecSetBlockSize(*w, bs));
  if (flags[0]) {
    PetscCall(VecCreateWithStorage_Single(*w, Kernels(v), PetscSafePointerPlusOffset(Single(v)->a, start)));
    (*w)->ops->placearray   = NULL;
    (*w)->ops->replacearray = NULL;
  } else {
    PetscCall(VecCreateWithStorage_Single(*w, Kernels(v), NULL));
    PetscCall(VecScatterCreate(v, is, *w, NULL, &scatter));
    PetscCall(VecScatterBegin(scatter, v, *w, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, v, *w, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(PetscObjectCompose((PetscObject)*w, "VecGetSubVector_Scatter", (PetscObject)scatter));
    PetscCall(VecScatterDestroy(&scatter));
  }
  Single(*w)->written = PETSC_FALSE;
  PetscCall(VecLockGet(v, &locked));
  if (locked) PetscCall(VecLockReadPush(*w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecRestoreSubVector_Single(Vec v, PETSC_UNUSED IS is, Vec *w)
{
  VecScatter scatter;
  PetscBool  written;

  PetscFunctionBegin;
  VecCheckSingle(*w);
  written = Single(*w)->written;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &written, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)v)));
  if (written) {
    PetscCall(VecSetErrorIfLocked(v, 1));
    PetscCall(PetscObjectQuery((PetscObject)*w, "VecGetSubVector_Scatter", (PetscObject *)&scatter));
    if (scatter) {
      PetscCall(VecScatterBegin(scatter, *w, v, INSERT_VALUES, SCATTER_REVERSE));
      PetscCall(VecScatterEnd(scatter, *w, v, INSERT_VALUES, SCATTER_REVERSE));
    }
    Single(v)->written = PETSC_TRUE; /* through the window */
    PetscCall(PetscObjectStateIncrease((PetscObject)v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecDestroy_Single(Vec v)
{
  Vec_Single *s = Single(v);

  PetscFunctionBegin;
  PetscCall(PetscLogObjectState((PetscObject)v, "Length=%" PetscInt_FMT, v->map->n));
  if (s->placed) PetscCall(VecResetArray_Single(v));
  PetscCall(s->kern->free(&s->allocated));
  PetscCall(VecDestroy(&s->shadow));
  PetscCall(PetscFree(v->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The operations of VECSTANDARD that reach the values through VecGetArray() only and so serve any type.  They are not exported,
  but an object has them.
*/
static PetscErrorCode BorrowStandardOperations(Vec v)
{
  static struct _VecOps ops[2]; /* sequential, parallel */
  struct _VecOps       *std = &ops[v->map->size > 1];

  PetscFunctionBegin;
  if (!std->view) {
    Vec d;

    if (v->map->size > 1) PetscCall(VecCreateMPI(PETSC_COMM_SELF, 0, PETSC_DETERMINE, &d));
    else PetscCall(VecCreateSeq(PETSC_COMM_SELF, 0, &d));
    *std = *d->ops;
    PetscCall(VecDestroy(&d));
  }
  v->ops->view                = std->view;
  v->ops->viewnative          = std->viewnative;
  v->ops->load                = std->load;
  v->ops->loadnative          = std->loadnative;
  v->ops->getsize             = std->getsize;
  v->ops->getlocalsize        = std->getlocalsize;
  v->ops->setrandom           = std->setrandom;
  v->ops->stridegather        = std->stridegather;
  v->ops->stridescatter       = std->stridescatter;
  v->ops->stridesubsetgather  = std->stridesubsetgather;
  v->ops->stridesubsetscatter = std->stridesubsetscatter;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* storage of somebody else, or NULL to allocate when it is needed */
static PetscErrorCode VecCreateWithStorage_Single(Vec v, VecSingleKernels kern, float *storage)
{
  Vec_Single *s;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(v->map));
  PetscCall(PetscNew(&s));
  s->kern = kern;
  s->a = storage;

  v->data             = s;
  v->petscnative      = PETSC_FALSE; /* otherwise PETSc takes the storage for PetscScalars */
  v->offloadmask      = PETSC_OFFLOAD_CPU; /* where VecGetArray() returns one */
  v->stash.insertmode = NOT_SET_VALUES;

  PetscCall(PetscMemzero(v->ops, sizeof(*v->ops)));
  PetscCall(BorrowStandardOperations(v));
  v->ops->duplicate          = VecDuplicate_Single;
  v->ops->duplicatevecs      = VecDuplicateVecs_Single;
  v->ops->destroyvecs        = VecDestroyVecs_Single;
  v->ops->destroy            = VecDestroy_Single;
  v->ops->getsubvector       = VecGetSubVector_Single;
  v->ops->restoresubvector   = VecRestoreSubVector_Single;
  v->ops->getarray           = VecGetArray_Single;
  v->ops->restorearray       = VecRestoreArray_Single;
  v->ops->getarrayread       = VecGetArrayRead_Single;
  v->ops->restorearrayread   = VecRestoreArrayRead_Single;
  v->ops->getarraywrite      = VecGetArrayWrite_Single;
  v->ops->restorearraywrite  = VecRestoreArray_Single;
  v->ops->placearray         = VecPlaceArray_Single;
  v->ops->resetarray         = VecResetArray_Single;
  v->ops->replacearray       = VecReplaceArray_Single;
  v->ops->setvalues          = VecSetValues_Single;
  v->ops->setvaluesblocked   = VecSetValuesBlocked_Single;
  v->ops->assemblybegin      = VecAssemblyBegin_Single;
  v->ops->assemblyend        = VecAssemblyEnd_Single;
  v->ops->getvalues          = VecGetValues_Single;
  v->ops->setoption          = VecSetOption_Single;
  v->ops->copy               = VecCopy_Single;
  v->ops->set                = VecSet_Single;
  v->ops->swap               = VecSwap_Single;
  v->ops->scale              = VecScale_Single;
  v->ops->shift              = VecShift_Single;
  v->ops->axpy               = VecAXPY_Single;
  v->ops->axpby              = VecAXPBY_Single;
  v->ops->aypx               = VecAYPX_Single;
  v->ops->axpbypcz           = VecAXPBYPCZ_Single;
  v->ops->waxpy              = VecWAXPY_Single;
  v->ops->maxpy              = VecMAXPY_Single;
  v->ops->maxpby             = VecMAXPBY_Single;
  v->ops->pointwisemult      = VecPointwiseMult_Single;
  v->ops->pointwisedivide    = VecPointwiseDivide_Single;
  v->ops->pointwisemax       = VecPointwiseMax_Single;
  v->ops->pointwisemin       = VecPointwiseMin_Single;
  v->ops->pointwisemaxabs    = VecPointwiseMaxAbs_Single;
  v->ops->reciprocal         = VecReciprocal_Single;
  v->ops->sqrt               = VecSqrtAbs_Single;
  v->ops->abs                = VecAbs_Single;
  v->ops->exp                = VecExp_Single;
  v->ops->log                = VecLog_Single;
  v->ops->dot                = VecDot_Single;
  v->ops->tdot               = VecDot_Single;
  v->ops->mdot               = VecMDot_Single;
  v->ops->mtdot              = VecMDot_Single;
  v->ops->dot_local          = VecDotLocal_Single;
  v->ops->tdot_local         = VecDotLocal_Single;
  v->ops->mdot_local         = VecMDotLocal_Single;
  v->ops->mtdot_local        = VecMDotLocal_Single;
  v->ops->dotnorm2           = VecDotNorm2_Single;
  v->ops->norm               = VecNorm_Single;
  v->ops->norm_local         = VecNormLocal_Single;
  v->ops->sum                = VecSumLocal_Single;
  v->ops->max                = VecMax_Single;
  v->ops->min                = VecMin_Single;
  v->ops->maxpointwisedivide = VecMaxPointwiseDivide_Single;
  v->ops->errorwnorm         = VecErrorWeightedNorms_Single;
  PetscCall(PetscObjectChangeTypeName((PetscObject)v, kern->type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  VECSINGLE - "single" - A vector with float storage in a PETSc whose `PetscScalar` is double, on any number of ranks

  Options Database Keys:
+ -vec_type single    - sets the type in `VecSetFromOptions()`
- -dm_vec_type single - sets the type of the vectors that a `DM` makes

  Level: intermediate

  Notes:
  It holds half the bytes of a `VECSTANDARD`, and the operations that Krylov methods, smoothers, multigrid and time steppers use
  move half as many. Inner products, norms and sums accumulate in double precision.

  `VecGetArray()` and its relatives return a double copy, the shadow, that is converted when the access begins and converted back
  when a writable access ends. All of PETSc works with it, but code that should be fast calls `VecSingleGetArray()` and its
  relatives, which return the floats.

  Two vectors of different precision cannot be operands of one operation, except for `VecCopy()`: convert with `VecSingleConvert()`.

  Values outside the range of float (about 1e-38 to 3e38) become zero or infinity.

  `VecPlaceArray()` works on a float copy of the array and writes changes back in `VecResetArray()`.

  Ghosted vectors (`VecCreateGhost()`) are not supported. Neither are PETSc configurations with complex numbers or with real
  numbers other than double.

.seealso: `VECSINGLECUDA`, `PCSINGLE`, `VecSingleGetArray()`, `VecSingleGetArrayRead()`, `VecSingleGetArrayWrite()`, `VecSingleConvert()`, `VecType`, `VecCreate()`
M*/
PetscErrorCode VecCreate_Single(Vec v)
{
  PetscFunctionBegin;
  PetscCall(VecCreateWithStorage_Single(v, &VecSingleKernelsHost, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_HAVE_CUDA)
/*MC
  VECSINGLECUDA - "singlecuda" - A `VECSINGLE` whose storage is in the memory of a CUDA GPU

  Options Database Keys:
+ -vec_type singlecuda    - sets the type in `VecSetFromOptions()`
- -dm_vec_type singlecuda - sets the type of the vectors that a `DM` makes

  Level: intermediate

  Notes:
  What is said of `VECSINGLE` holds for it, except that the operations run on the GPU, and that the shadow, which `VecGetArray()` and its
  relatives return, is in host memory: an access through it copies the vector to the host and, if it may write, back. `VecSetValues()`
  begins such an access, which ends in `VecAssemblyEnd()`.

  `PCSINGLE` uses it where a `DMBOX` makes vectors of type `VECCUDA`. It exists where PETSc has CUDA, and making one needs a GPU.

.seealso: `VECSINGLE`, `VECCUDA`, `PCSINGLE`, `VecSingleGetArray()`, `VecSingleGetArrayRead()`, `VecSingleGetArrayWrite()`, `VecSingleConvert()`, `VecType`, `VecCreate()`
M*/
PetscErrorCode VecCreate_SingleCUDA(Vec v)
{
  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* an error without a GPU */
  PetscCall(VecCreateWithStorage_Single(v, &VecSingleKernelsCUDA, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
