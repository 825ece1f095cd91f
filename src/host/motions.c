/* rigid motions: what null spaces of solids need */
#include <patchfd/private/motions.h>

/* component c of motion i at x: a rotation turns direction a to direction b */
static inline PetscReal Motion(const PatchFDMotions *m, PetscInt i, PetscInt c, const PetscReal x[])
{
  const PetscInt a = i - m->ncomp, b = (a + 1) % m->ncomp;

  if (a < 0) return i == c;
  return c == a ? m->rate * (m->middle[b] - x[b]) : (c == b ? m->rate * (x[a] - m->middle[a]) : 0);
}

void PatchFDMotionsAddProducts(const PatchFDMotions *m, PetscInt c, PetscInt points, const PetscReal x[], PetscReal product[])
{
  for (PetscInt p = 0; p < points; p++) {
    PetscReal v[PATCHFD_MAX_MOTIONS];

    for (PetscInt i = 0; i < m->n; i++) v[i] = Motion(m, i, c, x + p * m->ncomp);
    for (PetscInt i = 0; i < m->n * m->n; i++) product[i] += v[i / m->n] * v[i % m->n];
  }
}

void PatchFDHostMotion(const PatchFDMotions *m, const PetscReal coef[], PetscCount nodes, const PetscScalar place[], const PetscInt body[],
                       PetscInt which, PetscScalar u[])
{
  for (PetscCount k = 0; k < nodes * m->ncomp; k++) {
    const PetscCount node = k / m->ncomp;

    u[k] = 0;
    for (PetscInt i = 0; i < m->n && (!body || body[node] == which); i++)
      u[k] += coef[i] * Motion(m, i, (PetscInt)(k % m->ncomp), place ? place + node * m->ncomp : NULL);
  }
}
