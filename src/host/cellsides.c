/* The sides of a mesh's cells: what both cells of a side have in common, by way of its nodes */
#include <patchfd/private/fit.h>

/* the nodes of a side in a cell: node (i, j), 0 <= i, j < n, is first + i step[0] + j step[1] */
typedef struct {
  PetscInt first, n[2], step[2];
} Side;

static Side SideOf(const PatchFDPoints *p, PetscInt direction, PetscInt end)
{
  const PetscInt n = p->degree + 1, stride[3] = {1, n, n * n};
  const PetscInt a = direction == 0 ? 1 : 0, b = direction == 2 ? 1 : 2;

  return (Side){end * p->degree * stride[direction], {n, p->dim == 3 ? n : 1}, {stride[a], p->dim == 3 ? stride[b] : 0}};
}

/* side `at` of [ncells][dim][2], and the nodes of its cell */
static Side SideGet(const PatchFDPoints *p, PetscCount at, const PetscInt **index)
{
  *index = p->index + at / (2 * p->dim) * PetscPowInt(p->degree + 1, p->dim);
  return SideOf(p, (PetscInt)(at / 2 % p->dim), (PetscInt)(at % 2));
}

/* the number of the first node inside of a side, or -1 */
static PetscInt SideInner(const PatchFDPoints *p, const Side *s, const PetscInt index[])
{
  return p->degree > 1 ? index[s->first + s->step[0] + s->step[1]] : -1;
}

static PetscBool SideIsFixed(const Side *s, const PetscInt index[])
{
  for (PetscInt j = 0; j < s->n[1]; j++)
    for (PetscInt i = 0; i < s->n[0]; i++)
      if (index[s->first + i * s->step[0] + j * s->step[1]] >= 0) return PETSC_FALSE;
  return PETSC_TRUE;
}

void PatchFDHostCellSidesAdd(const PatchFDPoints *p, PetscInt k, const PatchFDCellFit *fit, double sums[])
{
  const PetscInt *index;

  for (PetscCount at = 0; at < p->ncells * p->dim * 2; at++) {
    const Side s = SideGet(p, at, &index);

    if (SideInner(p, &s, index) < 0) continue;
    for (PetscInt j = 1; j < PetscMax(2, s.n[1] - 1); j++)
      for (PetscInt i = 1; i < s.n[0] - 1; i++)
        sums[index[s.first + i * s.step[0] + j * s.step[1]] * p->ncomp] += fit->end[at * PATCHFD_CELL_END + k];
  }
}

void PatchFDHostCellSidesGet(const PatchFDPoints *p, PetscInt k, const double sums[], PatchFDCellFit *fit)
{
  const PetscInt *index;

  for (PetscCount at = 0; at < p->ncells * p->dim * 2; at++) {
    const Side      s     = SideGet(p, at, &index);
    const PetscInt  inner = SideInner(p, &s, index);
    const PetscReal own   = fit->end[at * PATCHFD_CELL_END + k];
    PetscReal      *other = fit->other + at * PATCHFD_CELL_END + k;

    if (SideIsFixed(&s, index)) *other = -1;
    else if (p->degree == 1) *other = own;
    else *other = inner < 0 ? 0 : sums[inner * p->ncomp] - own;
  }
}

PetscCount PatchFDHostCellSides(const PatchFDPoints *p, PetscInt side[], PetscReal mean[])
{
  const PetscInt size  = PetscPowInt(p->gauss, p->dim - 1);
  PetscCount     count = 0;

  for (PetscCount cell = 0; cell < p->ncells; cell++) {
    for (PetscInt s = 0; s < 2 * p->dim; s++) {
      const PetscCount at = p->side[s] ? PatchFDSideCell(p->grid, s, cell) : -1;

      if (at < 0) continue;
      if (side) {
        side[count] = (PetscInt)(cell * 2 * p->dim + s);
        mean[count] = 0;
        for (PetscInt q = 0; q < size; q++) mean[count] += p->side[s][at * size + q];
      }
      count++;
    }
  }
  return count;
}

void PatchFDHostCellSidesRobin(const PatchFDCellsDesc *desc, PatchFDCellFit *fit)
{
  for (PetscCount i = 0; i < desc->nside; i++) {
    const PetscReal *end   = fit->end + (PetscCount)desc->side[i] * PATCHFD_CELL_END;
    PetscReal       *other = fit->other + (PetscCount)desc->side[i] * PATCHFD_CELL_END;

    if (other[2] < 0) continue;
    if (other[2] == 0) other[2] = end[2];
    other[0] += PetscMax(0, desc->mean[i]);
  }
}

void PatchFDHostCellCount(const PatchFDPoints *p, double sums[])
{
  for (PetscCount i = 0; i < p->ncells * PetscPowInt(p->degree + 1, p->dim); i++)
    if (p->index[i] >= 0) sums[p->index[i] * p->ncomp] += 1;
}
