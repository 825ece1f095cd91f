/*
  Numbers of the cells of a DMBOX, one group for each cell or for each quadrature point, given by a Vec.  The cells of a rank lie one after another, x fastest, and so do
  the points of a cell.  Meshes with twice or half the cells, and so on, take them over: coarse cells have the means of those that they consist of.
*/
#include <patchfd/private/boximpl.h>

PetscErrorCode DMBoxCellDataDestroy(DMBoxCellData **data)
{
  DMBoxCellData *c = *data;

  PetscFunctionBegin;
  *data = NULL;
  if (!c || --c->refct > 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(c->splits[d]));
  PetscCall(PetscFree(c->first));
  PetscCall(VecDestroy(&c->values));
  PetscCall(VecDestroy(&c->means));
  PetscCall(PetscFree(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt OwnCells(const DM_Box *box)
{
  PetscInt n = 1;

  for (int d = 0; d < 3; d++) n *= box->owncells[d][1] - box->owncells[d][0];
  return n;
}

PetscInt DMBoxNumPoints(DM dm)
{
  return PetscPowInt(((const DM_Box *)dm->data)->degree + 2, dm->dim);
}

/* first cells of all ranks in the numbering of the Vec */
static PetscErrorCode CellDataNumber(const DM_Box *box, DMBoxCellData *c)
{
  PetscInt at = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    c->cells[d]     = box->cells[d];
    c->processes[d] = box->processes[d];
    PetscCall(PetscMalloc1(box->processes[d] + 1, &c->splits[d]));
    PetscCall(PetscArraycpy(c->splits[d], box->splits[d], box->processes[d] + 1));
  }
  PetscCall(PetscMalloc1(box->processes[0] * box->processes[1] * box->processes[2], &c->first));
  for (PetscInt r = 0; r < box->processes[0] * box->processes[1] * box->processes[2]; r++) {
    PetscInt size = 1, place = r;

    c->first[r] = at;
    for (int d = 0; d < 3; place /= box->processes[d++]) size *= box->splits[d][place % box->processes[d] + 1] - box->splits[d][place % box->processes[d]];
    at += size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCellDataCreate(DM dm, PetscInt n, Vec v, const char who[], DMBoxCellData **data)
{
  DM_Box            *box;
  DMBoxCellData     *c;
  const PetscScalar *from;
  PetscScalar       *to;
  PetscInt           size, own, points;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCheckSameComm(dm, 1, v, 3);
  own    = OwnCells(box);
  points = DMBoxNumPoints(dm);
  PetscCall(VecGetLocalSize(v, &size));
  PetscCheck(size == own * n || size == own * points * n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "%s: the Vec has local size %" PetscInt_FMT "; with %" PetscInt_FMT " cells here and %" PetscInt_FMT " numbers it takes %" PetscInt_FMT ", or %" PetscInt_FMT " for all quadrature points (DMBoxCreateDiffusionVec())", who,
             size, own, n, own * n, own * points * n);
  PetscCall(PetscNew(&c));
  c->refct  = 1;
  c->n      = n;
  c->points = size == own * n ? 1 : points;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &c->points, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)dm))); /* ranks without cells cannot tell */
  PetscCall(CellDataNumber(box, c));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)dm), &c->values));
  PetscCall(VecSetSizes(c->values, size, PETSC_DETERMINE));
  PetscCall(VecSetType(c->values, VECSTANDARD));
  PetscCall(VecGetArrayRead(v, &from));
  PetscCall(VecGetArrayWrite(c->values, &to));
  PetscCall(PetscArraycpy(to, from, size));
  PetscCall(VecRestoreArrayWrite(c->values, &to));
  PetscCall(VecRestoreArrayRead(v, &from));
  if (c->points > 1) {
    PetscCall(VecCreate(PetscObjectComm((PetscObject)dm), &c->means));
    PetscCall(VecSetSizes(c->means, own * n, PETSC_DETERMINE));
    PetscCall(VecSetType(c->means, VECSTANDARD));
    PetscCall(VecGetArrayRead(c->values, &from));
    PetscCall(VecGetArrayWrite(c->means, &to));
    PatchFDHostMeans(own, c->points, n, from, to);
    PetscCall(VecRestoreArrayWrite(c->means, &to));
    PetscCall(VecRestoreArrayRead(c->values, &from));
  }
  *data = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the number of a cell in the Vec */
static PetscInt CellDataFind(const DMBoxCellData *c, const PetscInt cell[3])
{
  PetscInt rank = 0, in = 0;

  for (int d = 2; d >= 0; d--) {
    PetscInt p = 0;

    while (cell[d] >= c->splits[d][p + 1]) p++;
    rank = rank * c->processes[d] + p;
    in   = in * (c->splits[d][p + 1] - c->splits[d][p]) + cell[d] - c->splits[d][p];
  }
  return c->first[rank] + in;
}

/* how many cells of the data make one of the mesh in a direction, or 1 where they are larger */
static PetscErrorCode CellDataRatios(DM dm, const DMBoxCellData *c, PetscInt ratio[3])
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PetscCheck(c->cells[d] % box->cells[d] == 0 || box->cells[d] % c->cells[d] == 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
               "Coefficients of %" PetscInt_FMT " cells in direction %d (DMBoxSetDiffusionVec()) for a mesh of %" PetscInt_FMT, c->cells[d], d, box->cells[d]);
    ratio[d] = PetscMax(1, c->cells[d] / box->cells[d]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of each cell of a range, the numbers in the Vec of those of the data that it consists of */
static PetscErrorCode CellDataIndices(DM dm, const DMBoxCellData *c, const PetscInt ratio[3], const PatchFDRange cells, PetscInt count, PetscInt index[])
{
  const DM_Box  *box      = (const DM_Box *)dm->data;
  const PetscInt children = ratio[0] * ratio[1] * ratio[2], n[3] = {PetscMax(1, cells[0][1] - cells[0][0]), PetscMax(1, cells[1][1] - cells[1][0]), 1};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < count; i++) {
    const PetscInt at[3] = {cells[0][0] + i % n[0], cells[1][0] + i / n[0] % n[1], cells[2][0] + i / n[0] / n[1]};

    for (PetscInt child = 0; child < children; child++) {
      const PetscInt in[3] = {child % ratio[0], child / ratio[0] % ratio[1], child / ratio[0] / ratio[1]};
      PetscInt       cell[3];

      for (int d = 0; d < 3; d++) cell[d] = ratio[d] > 1 ? at[d] * ratio[d] + in[d] : (PetscInt)((PetscInt64)at[d] * c->cells[d] / box->cells[d]);
      index[i * children + child] = CellDataFind(c, cell);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCellDataGet(DM dm, const DMBoxCellData *c, const PatchFDRange cells, PetscReal values[])
{
  const DM_Box      *box  = (const DM_Box *)dm->data;
  const PetscBool    same = (PetscBool)(c->cells[0] == box->cells[0] && c->cells[1] == box->cells[1] && c->cells[2] == box->cells[2] && (c->points == 1 || c->points == DMBoxNumPoints(dm)));
  const PetscInt     points = same ? c->points : 1;
  const Vec          v      = same || c->points == 1 ? c->values : c->means;
  PetscInt           ratio[3], count = 1, children, *index;
  IS                 is;
  Vec                local;
  VecScatter         scatter;
  const PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(CellDataRatios(dm, c, ratio));
  for (int d = 0; d < 3; d++) count *= PetscMax(0, cells[d][1] - cells[d][0]);
  children = ratio[0] * ratio[1] * ratio[2];
  PetscCall(PetscMalloc1(count * children, &index));
  PetscCall(CellDataIndices(dm, c, ratio, cells, count, index));
  PetscCall(ISCreateBlock(PetscObjectComm((PetscObject)dm), points * c->n, count * children, index, PETSC_OWN_POINTER, &is));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, count * children * points * c->n, &local));
  PetscCall(VecScatterCreate(v, is, local, NULL, &scatter));
  PetscCall(VecScatterBegin(scatter, v, local, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, v, local, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetArrayRead(local, &array));
  if (points > 1) PetscCall(PetscArraycpy(values, array, count * points * c->n));
  else PatchFDHostMeansRepeat(count, children, c->n, array, DMBoxNumPoints(dm), values);
  PetscCall(VecRestoreArrayRead(local, &array));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&local));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}
