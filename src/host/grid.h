/* copies between boxes and the Dirichlet nodes */
#pragma once
#include "lines.h"

static PetscErrorCode GridMalloc(size_t count, void **a)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc(count * sizeof(REAL), a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridFree(void *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridZero(size_t count, void *a)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(a, count * sizeof(REAL)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridMultiply(size_t count, const void *s, const void *x, PetscBool add, void *y)
{
  const REAL *a = (const REAL *)s, *b = (const REAL *)x;
  REAL       *c = (REAL *)y;

  PetscFunctionBegin;
  if (add)
    for (size_t i = 0; i < count; i++) c[i] += a[i] * b[i];
  else
    for (size_t i = 0; i < count; i++) c[i] = a[i] * b[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridCopy(const PatchFDRange r, const PatchFDBox *fbox, const void *from, const PatchFDBox *tbox, void *to)
{
  PetscFunctionBegin;
  for (PetscInt k = r[2][0]; k < r[2][1]; k++) {
    for (PetscInt j = r[1][0]; j < r[1][1]; j++) {
      const PetscInt y = PatchFDBoxImage(fbox, 1, j), z = PatchFDBoxImage(fbox, 2, k);

      for (PetscInt i = r[0][0], n; i < r[0][1]; i += n) {
        const PetscInt x = PatchFDBoxImage(fbox, 0, i);

        n = PetscMin(r[0][1] - i, fbox->lo[0] + fbox->n[0] - x);
        PetscCall(PetscMemcpy((REAL *)to + PatchFDBoxNode(tbox, i, j, k), (const REAL *)from + PatchFDBoxNode(fbox, x, y, z),
                              (size_t)n * sizeof(REAL)));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridFixed(const PatchFDRange r, const PatchFDRange free, PetscReal a, const PatchFDBox *ybox, void *y, PetscReal b,
                                const PatchFDBox *xbox, const void *x)
{
  PetscFunctionBegin;
  if (!PatchFDRangeSize(r)) PetscFunctionReturn(PETSC_SUCCESS); /* there may be no arrays */
  for (PetscInt k = r[2][0]; k < r[2][1]; k++) {
    for (PetscInt j = r[1][0]; j < r[1][1]; j++) {
      const PetscBool inside = (PetscBool)(k >= free[2][0] && k < free[2][1] && j >= free[1][0] && j < free[1][1]);
      REAL           *yr     = (REAL *)y + PatchFDBoxNode(ybox, 0, j, k);
      const REAL     *xr     = (const REAL *)x + PatchFDBoxNode(xbox, 0, j, k);

      for (PetscInt i = r[0][0]; i < r[0][1]; i++) {
        if (inside && i >= free[0][0] && i < free[0][1]) i = free[0][1]; /* skip the free part of the row */
        if (i < r[0][1]) yr[i] = (REAL)((a == 0 ? 0 : a * yr[i]) + (b == 0 ? 0 : b * xr[i]));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
