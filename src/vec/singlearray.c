/*
  Access to the values of VECSINGLE and VECSINGLECUDA: the floats as they are, conversion, and the shadow of PetscScalars for all who call
  VecGetArray(), VecPlaceArray() or VecSetValues().
*/
#include "single.h" /*I "petscvecsingle.h" I*/

/* ---- the floats ---- */

static PetscErrorCode NeedStorageIn(Vec v, PetscMemType *m)
{
  PetscFunctionBegin;
  PetscCheck(m || PetscMemTypeHost(Kernels(v)->memtype), PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_INCOMP,
             "The array of a Vec of type %s is not in host memory: the argument for its PetscMemType cannot be NULL",
             ((PetscObject)v)->type_name);
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

.seealso: `VECSINGLE`, `VECSINGLECUDA`, `VecSingleRestoreArray()`, `VecSingleGetArrayRead()`, `VecSingleGetArrayWrite()`,
`VecSingleConvert()`
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

PetscErrorCode VecSingleAdd_Private(Vec x, PetscReal a, Vec y)
{
  PetscScalar *ya;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(VecGetArrayAndMemType(y, &ya, NULL));
  PetscCall(Kernels(x)->addtodouble(x->map->n, a, Read(x), ya));
  PetscCall(VecRestoreArrayAndMemType(y, &ya));
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
  PetscCheck(!s->placed, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_WRONGSTATE,
             "VecPlaceArray() was already called on this vector, without a call to VecResetArray()");
  PetscCheck(!s->nuse, PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_WRONGSTATE,
             "VecPlaceArray() between VecGetArray() and VecRestoreArray()");
  PetscCall(NeedShadow(v));
  PetscCall(VecPlaceArray(s->shadow, array));
  PetscCall(s->kern->malloc(v->map->n, &s->a));
  PetscCall(s->kern->fromhost(v->map->n, 1.0, array, s->a));
  s->placed  = PETSC_TRUE;
  s->written = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecResetArray_Single(Vec v)
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
  s->a      = Own(v);
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

/* the storage is lent to a Vec of the same kind; others get the shadow, as PETSc does it */
static PetscErrorCode VecGetLocalVector_Single(Vec v, Vec w)
{
  PetscScalar *a;

  PetscFunctionBegin;
  if (SameStorage(v, w)) {
    PetscCall(NeedStorage(v));
    Single(w)->a = Single(v)->a;
  } else {
    PetscCall(VecGetArray(v, &a));
    PetscCall(VecPlaceArray(w, a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecRestoreLocalVector_Single(Vec v, Vec w)
{
  PetscScalar *a;

  PetscFunctionBegin;
  if (SameStorage(v, w)) {
    Single(w)->a       = Own(w);
    Single(v)->written = PETSC_TRUE;
  } else {
    PetscCall(VecGetArray(w, &a));
    PetscCall(VecRestoreArray(v, &a));
    PetscCall(VecResetArray(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetLocalVectorRead_Single(Vec v, Vec w)
{
  const PetscScalar *a;

  PetscFunctionBegin;
  if (SameStorage(v, w)) PetscCall(VecGetLocalVector_Single(v, w));
  else {
    PetscCall(VecGetArrayRead(v, &a));
    PetscCall(VecPlaceArray(w, a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecRestoreLocalVectorRead_Single(Vec v, Vec w)
{
  const PetscScalar *a;

  PetscFunctionBegin;
  if (SameStorage(v, w)) Single(w)->a = Own(w);
  else {
    PetscCall(VecGetArrayRead(w, &a));
    PetscCall(VecRestoreArrayRead(v, &a));
    PetscCall(VecResetArray(w));
  }
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
    PetscCheck(v->stash.insertmode == NOT_SET_VALUES || v->stash.insertmode == mode, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "VecSetValues() with both ADD_VALUES and INSERT_VALUES needs an assembly in between");
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
    PetscCheck(ix[i] >= 0 && ix[i] < v->map->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Out of range index value %" PetscInt_FMT ", should be nonnegative and less than %" PetscInt_FMT, ix[i], v->map->N);
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
  if (v->map->size > 1 && !v->stash.donotstash)
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &s->stashed, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)v)));
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
    PetscCheck(ix[i] >= start && ix[i] < end, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Can only get local values, trying %" PetscInt_FMT,
               ix[i]);
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

void VecSingleSetAccess(Vec v)
{
  v->ops->getarray               = VecGetArray_Single;
  v->ops->restorearray           = VecRestoreArray_Single;
  v->ops->getarrayread           = VecGetArrayRead_Single;
  v->ops->restorearrayread       = VecRestoreArrayRead_Single;
  v->ops->getarraywrite          = VecGetArrayWrite_Single;
  v->ops->restorearraywrite      = VecRestoreArray_Single;
  v->ops->placearray             = VecPlaceArray_Single;
  v->ops->resetarray             = VecResetArray_Single;
  v->ops->replacearray           = VecReplaceArray_Single;
  v->ops->getlocalvector         = VecGetLocalVector_Single;
  v->ops->getlocalvectorread     = VecGetLocalVectorRead_Single;
  v->ops->restorelocalvector     = VecRestoreLocalVector_Single;
  v->ops->restorelocalvectorread = VecRestoreLocalVectorRead_Single;
  v->ops->setvalues              = VecSetValues_Single;
  v->ops->setvaluesblocked       = VecSetValuesBlocked_Single;
  v->ops->assemblybegin          = VecAssemblyBegin_Single;
  v->ops->assemblyend            = VecAssemblyEnd_Single;
  v->ops->getvalues              = VecGetValues_Single;
  v->ops->setoption              = VecSetOption_Single;
}
