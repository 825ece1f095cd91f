/* Factors of PETSc's in floats (patchfd/private/csr.h) */
#include <patchfd/private/csr.h>

/* a triangle of n rows from its arrays, which are freed */
static PetscErrorCode TriangleCreate(PetscInt n, PetscInt *i, PetscInt *j, PetscScalar *a, PatchFDCSR *t)
{
  PetscFunctionBegin;
  PetscCall(PatchFDCSRCreate(n, n, i, j, t));
  PetscCall(PatchFDCSRSetValues(*t, a));
  PetscCall(PetscFree3(i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRFactorSetLU(PetscInt n, const PetscInt i[], const PetscInt j[], const PetscScalar a[], PatchFDCSRFactor *f)
{
  PetscInt    *first, *ui, *uj, nu = 0;
  PetscScalar *ua;

  PetscFunctionBegin;
  PetscCall(PatchFDCSRFactorReset(f));
  PetscCall(PatchFDCSRCreate(n, n, i, j, &f->lower));
  PetscCall(PatchFDCSRSetValues(f->lower, a));
  PetscCall(PetscMalloc1(n, &f->inverse));
  PetscCall(PetscMalloc1(n, &first));
  for (PetscInt r = n - 1, k = i[n]; r >= 0; r--) { /* other entries of the row are right of the diagonal */
    first[r] = k;
    while (j[k] != r) k++;
    f->inverse[r] = (float)a[k++];
    nu += k - 1 - first[r];
  }
  PetscCall(PetscMalloc3(n + 1, &ui, nu, &uj, nu, &ua));
  ui[0] = 0;
  for (PetscInt r = 0; r < n; r++) {
    PetscInt k = first[r];

    for (ui[r + 1] = ui[r]; j[k] != r; k++, ui[r + 1]++) {
      uj[ui[r + 1]] = j[k];
      ua[ui[r + 1]] = a[k];
    }
  }
  PetscCall(PetscFree(first));
  PetscCall(TriangleCreate(n, ui, uj, ua, &f->upper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRFactorSetCholesky(PetscInt n, const PetscInt i[], const PetscInt j[], const PetscScalar a[], PatchFDCSRFactor *f)
{
  PetscInt    *ui, *uj, *li, *lj, nu = i[n] - n;
  PetscScalar *ua, *la;

  PetscFunctionBegin;
  PetscCall(PatchFDCSRFactorReset(f));
  PetscCall(PetscMalloc1(n, &f->inverse));
  PetscCall(PetscMalloc3(n + 1, &ui, nu, &uj, nu, &ua));
  PetscCall(PetscMalloc3(n + 2, &li, nu, &lj, nu, &la));
  PetscCall(PetscArrayzero(li, n + 2));
  ui[0] = 0;
  for (PetscInt r = 0; r < n; r++) {
    const PetscScalar inverse = a[i[r + 1] - 1];

    f->inverse[r] = (float)inverse;
    ui[r + 1]     = ui[r] + i[r + 1] - i[r] - 1;
    for (PetscInt k = 0; k < ui[r + 1] - ui[r]; k++) {
      uj[ui[r] + k] = j[i[r] + k];
      ua[ui[r] + k] = -a[i[r] + k] / inverse;
      li[j[i[r] + k] + 2]++;
    }
  }
  for (PetscInt r = 0; r < n; r++) li[r + 2] += li[r + 1];
  for (PetscInt r = 0; r < n; r++) {
    for (PetscInt k = i[r]; k < i[r + 1] - 1; k++) { /* li[row + 1] is where the next entry of the row goes */
      lj[li[j[k] + 1]]   = r;
      la[li[j[k] + 1]++] = -a[k];
    }
  }
  PetscCall(TriangleCreate(n, ui, uj, ua, &f->upper));
  PetscCall(TriangleCreate(n, li, lj, la, &f->lower));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRFactorReset(PatchFDCSRFactor *f)
{
  PetscFunctionBegin;
  PetscCall(PatchFDCSRDestroy(&f->lower));
  PetscCall(PatchFDCSRDestroy(&f->upper));
  PetscCall(PetscFree(f->inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDCSRPermute(PetscInt n, const PetscInt p[], PetscBool back, const float x[], float y[])
{
  PetscFunctionBegin;
  if (!p) PetscCall(PetscArraycpy(y, x, n));
  for (PetscInt i = 0; p && i < n; i++) y[back ? p[i] : i] = x[back ? i : p[i]];
  PetscFunctionReturn(PETSC_SUCCESS);
}
