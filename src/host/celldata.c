/* Numbers of cells and of their points (patchfd/private/celldata.h) */
#include "cell.h"
#include <patchfd/private/celldata.h>

/* the groups of the cells of which cell (i, j, k) is made, x fastest */
static void GetFineGroups(const PatchFDCellMeans *m, const PetscInt cell[3], const PetscReal in[], PetscReal block[])
{
  const PetscInt *r = m->ratio, *f = m->from, row = f[0] * m->n;
  PetscInt        child[3], fine[3];

  for (child[2] = 0; child[2] < r[2]; child[2]++) {
    for (child[1] = 0; child[1] < r[1]; child[1]++) {
      for (child[0] = 0; child[0] < r[0]; child[0]++) {
        for (int d = 0; d < 3; d++) fine[d] = cell[d] * r[d] + child[d];
        const PetscReal *from = in + (((PetscCount)fine[2] * m->cells[1] * r[1] + fine[1]) * m->cells[0] * r[0] + fine[0]) * f[2] * f[1] * row;

        for (PetscInt z = 0; z < f[2]; z++)
          for (PetscInt y = 0; y < f[1]; y++)
            for (PetscInt x = 0; x < row; x++) block[((child[2] * f[2] + z) * r[1] * f[1] + child[1] * f[1] + y) * r[0] * row + child[0] * row + x] = *from++;
      }
    }
  }
}

static PetscErrorCode CellMeans(const PatchFDCellMeans *m, const PetscReal in[], PetscReal out[])
{
  const PetscInt count[3] = {m->ratio[0] * m->from[0], m->ratio[1] * m->from[1], m->ratio[2] * m->from[2]}, *to = m->to;
  PetscReal     *block, *x, *y;
  PetscInt       cell[3];

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(m->n * count[0] * count[1] * count[2], &block, m->n * to[0] * count[1] * count[2], &x, m->n * to[0] * to[1] * count[2], &y));
  for (cell[2] = 0; cell[2] < m->cells[2]; cell[2]++) {
    for (cell[1] = 0; cell[1] < m->cells[1]; cell[1]++) {
      for (cell[0] = 0; cell[0] < m->cells[0]; cell[0]++, out += m->n * to[0] * to[1] * to[2]) {
        GetFineGroups(m, cell, in, block);
        Contract(count[2] * count[1], to[0], count[0], m->n, m->W[0], count[0], 1, block, x);
        Contract(count[2], to[1], count[1], m->n * to[0], m->W[1], count[1], 1, x, y);
        Contract(1, to[2], count[2], m->n * to[0] * to[1], m->W[2], count[2], 1, y, out);
      }
    }
  }
  PetscCall(PetscFree3(block, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellTensors(PetscInt dim, PetscCount cells, PetscInt groups, PetscInt points, PetscInt n, const PetscReal in[], PetscReal out[])
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < cells * points; i++) {
    const PetscReal *k = in + n * (groups == 1 ? i / points : i);
    PetscReal        K[3][3];

    FillTensor(dim, n, k, K);
    for (PetscInt a = 0; a < (n == 1 ? 1 : dim); a++)
      for (PetscInt b = a; b < (n == 1 ? 1 : dim); b++) *out++ = K[a][b];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const struct _PatchFDCellKernels PatchFDCellKernelsHost = {CellMeans, CellTensors};
