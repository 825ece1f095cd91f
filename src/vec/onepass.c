/*
  What Krylov methods do with PETSc's own Vecs in GPU memory, where PETSc's kernels take more passes over them, or slower ones: products
  with several Vecs in one pass, sums of several Vecs in one pass that also has the norm of the result, and VecAYPX() in one pass in place
  of two.
*/
#include <patchfd/private/vecimpl.h>

#if defined(PETSC_HAVE_CUDA)
  #define CUDA_TABLE (&PatchFDKernelsCUDADouble)

/* what PETSc has for Vecs of one rank and of several: for other norms, and for Vecs of which some are on the host */
static struct _VecOps original[2];

/* the Vec that VecAXPY() or VecMAXPY() has made last: the sum of its squares is on its way, and nobody has waited for it */
static struct {
  PetscObjectId    id;
  PetscObjectState state;
} summed;

static const struct _VecOps *Original(Vec v)
{
  PetscMPIInt size;

  (void)MPI_Comm_size(PetscObjectComm((PetscObject)v), &size);
  return &original[size > 1];
}

/* arrays for reading; NULL if one of them is not in GPU memory */
static PetscErrorCode GetArraysRead(PetscInt m, const Vec v[], const double ***arrays)
{
  PatchFDKernels kern;

  PetscFunctionBegin;
  *arrays = NULL;
  for (PetscInt j = 0; j < m; j++) {
    PetscCall(PatchFDVecGetKernels(v[j], &kern));
    if (kern != CUDA_TABLE) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(m, arrays));
  for (PetscInt j = 0; j < m; j++) PetscCall(PatchFDVecGetArrayRead(v[j], CUDA_TABLE, (const void **)&(*arrays)[j]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreArraysRead(PetscInt m, const Vec v[], const double ***arrays)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < m; j++) PetscCall(PatchFDVecRestoreArrayRead(v[j], CUDA_TABLE, (const void **)&(*arrays)[j]));
  PetscCall(PetscFree(*arrays));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDotLocal_OnePass(Vec x, PetscInt m, const Vec y[], PetscScalar *s)
{
  const double **ya, **xa;

  PetscFunctionBegin;
  PetscCall(GetArraysRead(m, y, &ya));
  if (!ya) {
    PetscCall((*Original(x)->mdot_local)(x, m, y, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetArraysRead(1, &x, &xa));
  PetscCall(PatchFDCUDAMDot(x->map->n, m, xa[0], ya, s));
  PetscCall(RestoreArraysRead(1, &x, &xa));
  PetscCall(RestoreArraysRead(m, y, &ya));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDot_OnePass(Vec x, PetscInt m, const Vec y[], PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(VecMDotLocal_OnePass(x, m, y, s));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, s, m, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDotLocal_OnePass(Vec x, Vec y, PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(VecMDotLocal_OnePass(x, 1, &y, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDot_OnePass(Vec x, Vec y, PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(VecMDot_OnePass(x, 1, &y, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMAXPY_OnePass(Vec y, PetscInt m, const PetscScalar a[], Vec x[])
{
  const double **xa;
  void          *ya;
  PetscBool      squares;

  PetscFunctionBegin;
  PetscCall(GetArraysRead(m, x, &xa));
  if (!xa) {
    PetscCall((*Original(y)->maxpy)(y, m, a, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PatchFDVecGetArray(y, CUDA_TABLE, &ya));
  PetscCall(PatchFDCUDAMAXPY(y->map->n, m, a, xa, (double *)ya, &squares));
  PetscCall(PatchFDVecRestoreArray(y, CUDA_TABLE, &ya));
  PetscCall(RestoreArraysRead(m, x, &xa));
  summed.id = 0;
  if (!squares) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)y, &summed.id));
  PetscCall(PetscObjectStateGet((PetscObject)y, &summed.state));
  summed.state++; /* by VecAXPY() or VecMAXPY() */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPY_OnePass(Vec y, PetscScalar a, Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecMAXPY_OnePass(y, 1, &a, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecNorm_OnePass(Vec x, NormType type, PetscReal *norm)
{
  PetscScalar      s;
  PetscObjectId    id;
  PetscObjectState state;

  PetscFunctionBegin;
  if (type == NORM_2 || type == NORM_FROBENIUS) {
    PetscCall(PetscObjectGetId((PetscObject)x, &id));
    PetscCall(PetscObjectStateGet((PetscObject)x, &state));
    if (id == summed.id && state == summed.state) PetscCall(PatchFDCUDAGetSquares(x->map->n, &s));
    else PetscCall(VecMDotLocal_OnePass(x, 1, &x, &s));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &s, 1, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)x)));
    *norm = PetscSqrtReal(s);
    if (PetscIsNanReal(s) || (s > 1e-280 && s < 1e300)) PetscFunctionReturn(PETSC_SUCCESS);
  } /* squares beyond that have lost digits */
  PetscCall((*Original(x)->norm)(x, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAYPX_OnePass(Vec y, PetscScalar b, Vec x)
{
  const double **xa;
  void          *ya;

  PetscFunctionBegin;
  PetscCall(GetArraysRead(1, &x, &xa));
  if (!xa) {
    PetscCall((*Original(y)->aypx)(y, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PatchFDVecGetArray(y, CUDA_TABLE, &ya));
  PetscCall(PatchFDCUDAAYPX(y->map->n, b, xa[0], (double *)ya));
  PetscCall(PatchFDVecRestoreArray(y, CUDA_TABLE, &ya));
  PetscCall(RestoreArraysRead(1, &x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode PatchFDVecSetOnePass(PETSC_UNUSED Vec v)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  {
    PatchFDKernels kern;
    PetscMPIInt    size;

    PetscCall(PatchFDVecGetKernels(v, &kern));
    if (kern != CUDA_TABLE) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)v), &size));
    original[size > 1] = *v->ops;
    v->ops->mdot = v->ops->mtdot = size > 1 ? VecMDot_OnePass : VecMDotLocal_OnePass;
    v->ops->dot = v->ops->tdot = size > 1 ? VecDot_OnePass : VecDotLocal_OnePass;
    v->ops->mdot_local = v->ops->mtdot_local = VecMDotLocal_OnePass;
    v->ops->dot_local = v->ops->tdot_local = VecDotLocal_OnePass;
    v->ops->maxpy                          = VecMAXPY_OnePass;
    v->ops->axpy                           = VecAXPY_OnePass;
    v->ops->aypx                           = VecAYPX_OnePass;
    v->ops->norm                           = VecNorm_OnePass;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDVecDifference(Vec w, Vec x, Vec y)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  {
    const Vec      v[2] = {x, y};
    const double **a;
    PatchFDKernels kern;
    void          *wa;

    PetscCall(PatchFDVecGetKernels(w, &kern));
    if (kern == CUDA_TABLE) PetscCall(GetArraysRead(2, v, &a));
    if (kern == CUDA_TABLE && a) {
      PetscCall(PatchFDVecGetArrayWrite(w, kern, &wa));
      PetscCall(PatchFDCUDADifference(w->map->n, a[0], a[1], (double *)wa));
      PetscCall(PatchFDVecRestoreArrayWrite(w, kern, &wa));
      PetscCall(RestoreArraysRead(2, v, &a));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
#endif
  PetscCall(VecWAXPY(w, -1, y, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
