/*
  Functions of python/patchfd.py in C.  An exception cannot pass ctypes on its way up.  So what calls it hands it over here, to be made
  pending when its function has returned: no Python code follows before petsc4py looks for it, to make it the cause of its PETSc.Error.

  Python's functions get many points, and are two at most; the context has both.
*/
#include <petscpatchfd.h>

typedef struct {
  DMBoxFunctionBatchFn *first, *second;
} PatchFDPythonFunctions;

PETSC_EXTERN void           PatchFDPythonSetError(void (*restore)(void *, void *, void *), void *type, void *value);
PETSC_EXTERN PetscErrorCode PatchFDPythonFirst(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar[], void *);
PETSC_EXTERN PetscErrorCode PatchFDPythonSecond(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar[], void *);
PETSC_EXTERN PetscErrorCode PatchFDPythonFirstBatch(PetscInt, PetscReal, PetscInt, const PetscReal[], PetscInt, PetscScalar[], void *);
PETSC_EXTERN PetscErrorCode PatchFDPythonSecondBatch(PetscInt, PetscReal, PetscInt, const PetscReal[], PetscInt, PetscScalar[], void *);

static struct {
  void (*restore)(void *, void *, void *); /* PyErr_Restore(), which takes the references that come with type and value */
  void *type, *value;
} raised;

void PatchFDPythonSetError(void (*restore)(void *, void *, void *), void *type, void *value)
{
  raised.restore = restore;
  raised.type    = type;
  raised.value   = value;
}

static PetscErrorCode PythonCall(DMBoxFunctionBatchFn *f, PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc,
                                 PetscScalar u[])
{
  const PetscErrorCode ierr = (*f)(dim, time, n, x, Nc, u, NULL);

  if (ierr) (*raised.restore)(raised.type, raised.value, NULL);
  return ierr;
}

PetscErrorCode PatchFDPythonFirst(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  return PythonCall(((const PatchFDPythonFunctions *)ctx)->first, dim, time, 1, x, Nc, u);
}

PetscErrorCode PatchFDPythonSecond(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  return PythonCall(((const PatchFDPythonFunctions *)ctx)->second, dim, time, 1, x, Nc, u);
}

PetscErrorCode PatchFDPythonFirstBatch(PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                                       void *ctx)
{
  return PythonCall(((const PatchFDPythonFunctions *)ctx)->first, dim, time, n, x, Nc, u);
}

PetscErrorCode PatchFDPythonSecondBatch(PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                                        void *ctx)
{
  return PythonCall(((const PatchFDPythonFunctions *)ctx)->second, dim, time, n, x, Nc, u);
}
