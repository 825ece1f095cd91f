/*
  Matrices of differences on a lattice (PatchFDThreePoint): their eigenvectors, and the line of linear elements that has the same matrices,
  for what is made of lines.
*/
#include <patchfd/private/fe.h>

PetscErrorCode PatchFDThreePointEigenCreate(const PatchFDThreePoint *t, PatchFDEigen *e)
{
  const PetscInt n = t->n;
  PetscReal     *M, *A;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2((size_t)n * n, &M, (size_t)n * n, &A));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt j = (i + 1) % n;

    M[(PetscCount)i * n + i] = t->mass[i];
    A[(PetscCount)i * n + i] += t->rest[i];
    if (j == i) continue;
    A[(PetscCount)i * n + i] -= t->next[i];
    A[(PetscCount)j * n + j] -= t->next[i];
    A[(PetscCount)i * n + j] += t->next[i];
    A[(PetscCount)j * n + i] += t->next[i];
  }
  PetscCall(PatchFDEigenCreate(n, M, A, e));
  PetscCall(PetscFree2(M, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BandCreate(PetscInt ncells, PatchFDBand *b)
{
  PetscFunctionBegin;
  *b = (PatchFDBand){.nloc = 2, .stride = 1, .ncol = 2, .cstride = 1, .ncells = ncells, .nclass = ncells};
  PetscCall(PetscMalloc1(ncells, &b->cls));
  PetscCall(PetscCalloc1(4 * ncells, &b->X));
  for (PetscInt c = 0; c < ncells; c++) b->cls[c] = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is on the diagonal belongs to both cells of a node */
PetscErrorCode PatchFDThreePointLineCreate(const PatchFDThreePoint *t, PatchFDLine *line, PatchFDBand *M, PatchFDBand *A)
{
  const PetscInt  ncells       = t->n - 1;
  const PetscBool dirichlet[2] = {PETSC_FALSE, PETSC_FALSE};
  PetscReal      *vertices;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(t->n, &vertices));
  for (PetscInt i = 0; i < t->n; i++) vertices[i] = (PetscReal)i;
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 1, ncells, vertices, dirichlet, line));
  PetscCall(PetscFree(vertices));
  PetscCall(BandCreate(ncells, M));
  PetscCall(BandCreate(ncells, A));
  for (PetscInt c = 0; c < ncells; c++) {
    for (int end = 0; end < 2; end++) {
      const PetscInt  i     = c + end;
      const PetscReal share = i == 0 || i == ncells ? 1 : 0.5;

      M->X[4 * c + 3 * end] = share * t->mass[i];
      A->X[4 * c + 3 * end] = share * t->rest[i] - t->next[c];
      A->X[4 * c + 1 + end] = t->next[c];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
