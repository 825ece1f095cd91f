/* The sides of a mesh's cells: what both cells of a side have in common, by way of its nodes */
#include <patchfd/private/fit.h>
#include <patchfd/private/plexcells.h>

/* the nodes of a side in a cell: node (i, j), 0 <= i, j < n, is first + i step[0] + j step[1] */
typedef struct {
  PetscInt first, n[2], step[2];
} Side;

static Side SideOf(const PlexCells *c, PetscInt direction, PetscInt end)
{
  const PetscInt n = c->degree + 1, stride[3] = {1, n, n * n};
  const PetscInt a = direction == 0 ? 1 : 0, b = direction == 2 ? 1 : 2;

  return (Side){end * c->degree * stride[direction], {n, c->dim == 3 ? n : 1}, {stride[a], c->dim == 3 ? stride[b] : 0}};
}

/* the first node inside of a side, or -1 */
static PetscInt SideInner(const PlexCells *c, const Side *s)
{
  return c->degree > 1 ? s->first + s->step[0] + s->step[1] : -1;
}

static PetscBool SideIsFixed(const Side *s, const PetscInt index[])
{
  for (PetscInt j = 0; j < s->n[1]; j++)
    for (PetscInt i = 0; i < s->n[0]; i++)
      if (index[s->first + i * s->step[0] + j * s->step[1]] >= 0) return PETSC_FALSE;
  return PETSC_TRUE;
}

void PatchFDHostCellSidesAdd(const PlexCells *c, PetscInt k, const PetscReal side[], PetscReal local[])
{
  for (PetscCount at = 0; at < c->ncells * c->dim * 2; at++) {
    const PetscInt *index = c->index + at / (2 * c->dim) * c->size;
    const Side      s     = SideOf(c, (PetscInt)(at / 2 % c->dim), (PetscInt)(at % 2));
    const PetscInt  inner = SideInner(c, &s);

    if (inner >= 0 && index[inner] >= 0) {
      for (PetscInt j = 1; j < PetscMax(2, s.n[1] - 1); j++)
        for (PetscInt i = 1; i < s.n[0] - 1; i++) local[index[s.first + i * s.step[0] + j * s.step[1]]] += side[at * PATCHFD_CELL_END + k];
    }
  }
}

void PatchFDHostCellSidesGet(const PlexCells *c, PetscInt k, const PetscReal side[], const PetscReal local[], PetscReal other[])
{
  for (PetscCount at = 0; at < c->ncells * c->dim * 2; at++) {
    const PetscInt *index = c->index + at / (2 * c->dim) * c->size;
    const Side      s     = SideOf(c, (PetscInt)(at / 2 % c->dim), (PetscInt)(at % 2));
    const PetscInt  inner = SideInner(c, &s);
    const PetscReal own   = side[at * PATCHFD_CELL_END + k];

    if (SideIsFixed(&s, index)) other[at * PATCHFD_CELL_END + k] = -1;
    else other[at * PATCHFD_CELL_END + k] = inner >= 0 ? (index[inner] >= 0 ? local[index[inner]] - own : 0) : own;
  }
}

void PatchFDHostCellCount(const PlexCells *c, PetscReal local[])
{
  for (PetscCount i = 0; i < c->ncells * c->size; i++)
    if (c->index[i] >= 0) local[c->index[i]] += 1;
}
