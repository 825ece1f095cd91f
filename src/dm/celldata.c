/*
  Numbers of the cells of a DMBOX, one group for each cell or for each quadrature point, given by a Vec and kept where the vectors of the DM are, on a GPU for example.  The cells of a
  rank lie one after another, x fastest, and so do the points of a cell.

  Meshes with half the cells, and so on, have means: a cell of those that it consists of; a point of the points around it in these cells, with the weights w_p hat(x_p), hat being linear
  between the points of the coarse cell.  Finer meshes have in all of a cell the mean of that which it comes from.
*/
#include <patchfd/private/boximpl.h>
#include <patchfd/private/celldata.h>
#include <patchfd/private/vecimpl.h>

PetscErrorCode DMBoxCellDataDestroy(DMBoxCellData **data)
{
  DMBoxCellData *c = *data;

  PetscFunctionBegin;
  *data = NULL;
  if (!c || --c->refct > 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(c->splits[d]));
  PetscCall(PetscFree(c->first));
  PetscCall(VecDestroy(&c->values));
  PetscCall(DMBoxCellDataDestroy(&c->coarse));
  PetscCall(DMBoxCellDataDestroy(&c->means));
  PetscCall(PetscFree(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt DMBoxNumPoints(DM dm)
{
  return PetscPowInt(((const DM_Box *)dm->data)->degree + 2, dm->dim);
}

/* of a cell */
static PetscInt NumGroups(const DMBoxCellData *c)
{
  return PetscPowInt(c->points, c->dim);
}

/* where a rank's cells are */
static void CellDataRange(const DMBoxCellData *c, PetscInt rank, PatchFDRange range)
{
  for (int d = 0; d < 3; rank /= c->processes[d++])
    for (int e = 0; e < 2; e++) range[d][e] = c->splits[d][rank % c->processes[d] + e];
}

/* first cells of all ranks in the numbering of the Vec */
static PetscErrorCode CellDataNumber(DMBoxCellData *c)
{
  const PetscInt size = c->processes[0] * c->processes[1] * c->processes[2];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(size + 1, &c->first));
  c->first[0] = 0;
  for (PetscInt r = 0; r < size; r++) {
    PatchFDRange range;

    CellDataRange(c, r, range);
    c->first[r + 1] = c->first[r] + (PetscInt)PatchFDRangeSize((const PetscInt(*)[2])range);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellDataCreateVec(const DMBoxCellData *c, MPI_Comm comm, PetscInt size, Vec *v)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(comm, v));
  PetscCall(VecSetSizes(*v, size, PETSC_DETERMINE));
  PetscCall(VecSetType(*v, c->device ? VECCUDA : VECSTANDARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct _PatchFDCellKernels *CellDataKernels(const DMBoxCellData *c)
{
#if defined(PETSC_HAVE_CUDA)
  if (c->device) return &PatchFDCellKernelsCUDA;
#endif
  (void)c;
  return &PatchFDCellKernelsHost;
}

PetscErrorCode DMBoxCellDataCreate(DM dm, PetscInt n, Vec v, const char who[], DMBoxCellData **data)
{
  DM_Box        *box;
  DMBoxCellData *c;
  PatchFDKernels kern;
  VecType        type;
  PetscBool      same;
  PetscInt       size, own, points;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCheckSameComm(dm, 1, v, 3);
  own    = (PetscInt)PatchFDRangeSize((const PetscInt(*)[2])box->owncells);
  points = DMBoxNumPoints(dm);
  PetscCall(VecGetLocalSize(v, &size));
  PetscCheck(size == own * n || size == own * points * n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "%s: the Vec has local size %" PetscInt_FMT "; with %" PetscInt_FMT " cells here and %" PetscInt_FMT " numbers it takes %" PetscInt_FMT ", or %" PetscInt_FMT " for all quadrature points (DMBoxCreateDiffusionVec())", who,
             size, own, n, own * n, own * points * n);
  PetscCall(PetscNew(&c));
  c->refct  = 1;
  c->dim    = dm->dim;
  c->n      = n;
  c->points = size == own * n ? 1 : box->degree + 2;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &c->points, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)dm))); /* ranks without cells cannot tell */
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  c->device = (PetscBool)PetscMemTypeDevice(kern->memtype);
  for (int d = 0; d < 3; d++) {
    c->cells[d]     = box->cells[d];
    c->processes[d] = box->processes[d];
    PetscCall(PetscMalloc1(box->processes[d] + 1, &c->splits[d]));
    PetscCall(PetscArraycpy(c->splits[d], box->splits[d], box->processes[d] + 1));
  }
  PetscCall(CellDataNumber(c));
  PetscCall(CellDataCreateVec(c, PetscObjectComm((PetscObject)dm), size, &c->values));
  PetscCall(VecGetType(c->values, &type));
  PetscCall(PetscObjectTypeCompare((PetscObject)v, type, &same));
  if (same) PetscCall(VecCopy(v, c->values));
  else { /* through the host */
    const PetscScalar *from;
    PetscScalar       *to;

    PetscCall(VecGetArrayRead(v, &from));
    PetscCall(VecGetArrayWrite(c->values, &to));
    PetscCall(PetscArraycpy(to, from, size));
    PetscCall(VecRestoreArrayWrite(c->values, &to));
    PetscCall(VecRestoreArrayRead(v, &from));
  }
  *data = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cells of other ranks ---- */

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

/* the groups of the cells of a range of a mesh that has these cells: those of the data, or finer ones; the caller destroys it */
static PetscErrorCode CellDataFetch(const DMBoxCellData *c, const PetscInt cells[3], const PatchFDRange range, Vec *local)
{
  const PetscInt size = (PetscInt)PatchFDRangeSize(range), block = NumGroups(c) * c->n, n[2] = {PetscMax(1, range[0][1] - range[0][0]), PetscMax(1, range[1][1] - range[1][0])};
  PetscBool      all  = PETSC_TRUE;
  PetscMPIInt    ranks;
  PetscInt      *index;
  IS             is;
  VecScatter     scatter;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)c->values), &ranks));
  for (int d = 0; d < 3; d++) all = (PetscBool)(all && cells[d] == c->cells[d] && range[d][0] == 0 && range[d][1] == cells[d]);
  if (all && ranks == 1) {
    *local = c->values;
    PetscCall(PetscObjectReference((PetscObject)*local));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(size, &index));
  for (PetscInt i = 0; i < size; i++) {
    const PetscInt at[3] = {range[0][0] + i % n[0], range[1][0] + i / n[0] % n[1], range[2][0] + i / n[0] / n[1]};
    PetscInt       cell[3];

    for (int d = 0; d < 3; d++) cell[d] = (PetscInt)((PetscInt64)at[d] * c->cells[d] / cells[d]);
    index[i] = CellDataFind(c, cell);
  }
  PetscCall(ISCreateBlock(PetscObjectComm((PetscObject)c->values), block, size, index, PETSC_OWN_POINTER, &is));
  PetscCall(CellDataCreateVec(c, PETSC_COMM_SELF, size * block, local));
  PetscCall(VecScatterCreate(c->values, is, *local, NULL, &scatter));
  PetscCall(VecScatterBegin(scatter, c->values, *local, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, c->values, *local, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- means ---- */

/* hat function i of n points x, which is constant beyond the first one and the last one */
static PetscReal Hat(PetscInt n, const PetscReal x[], PetscInt i, PetscReal at)
{
  if (at < x[i]) return i == 0 ? 1 : PetscMax(0, (at - x[i - 1]) / (x[i] - x[i - 1]));
  return i == n - 1 ? 1 : PetscMax(0, (x[i + 1] - at) / (x[i + 1] - x[i]));
}

static PetscErrorCode MeansWeights(PetscInt from, PetscInt ratio, PetscInt to, PetscReal **W)
{
  const PetscInt n = ratio * from;
  PatchFDRule    rule;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(to * n, W));
  if (from > 1) PetscCall(PatchFDRuleCreate(from - 2, PETSC_TRUE, &rule));
  for (PetscInt i = 0; i < to; i++) {
    PetscReal *row = *W + i * n, sum = 0;

    for (PetscInt p = 0; p < n; p++) {
      row[p] = from == 1 ? 1 : rule.w[p % from];
      if (to > 1) row[p] *= Hat(to, rule.x, i, ((PetscReal)(p / from) + rule.x[p % from]) / (PetscReal)ratio);
      sum += row[p];
    }
    for (PetscInt p = 0; p < n; p++) row[p] /= sum;
  }
  if (from > 1) PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeansApply(const DMBoxCellData *c, const PatchFDCellMeans *m, Vec in, Vec out)
{
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(in, &from, NULL));
  PetscCall(VecGetArrayWriteAndMemType(out, &to, NULL));
  PetscCall((*CellDataKernels(c)->means)(m, from, to));
  PetscCall(VecRestoreArrayWriteAndMemType(out, &to));
  PetscCall(VecRestoreArrayReadAndMemType(in, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for a mesh with cells of `ratio` of these, whose first cell's rank has them, and so many points a direction: the same number or one */
static PetscErrorCode CellDataMeans(const DMBoxCellData *c, const PetscInt ratio[3], PetscInt points, DMBoxCellData **means)
{
  const MPI_Comm   comm = PetscObjectComm((PetscObject)c->values);
  PatchFDCellMeans m    = {.n = c->n};
  DMBoxCellData   *to;
  PatchFDRange     own, children;
  PetscMPIInt      rank;
  Vec              fine;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscNew(&to));
  to->refct  = 1;
  to->dim    = c->dim;
  to->n      = c->n;
  to->device = c->device;
  to->points = points;
  for (int d = 0; d < 3; d++) {
    to->cells[d]     = c->cells[d] / ratio[d];
    to->processes[d] = c->processes[d];
    PetscCall(PetscMalloc1(c->processes[d] + 1, &to->splits[d]));
    for (PetscInt p = 0; p <= c->processes[d]; p++) to->splits[d][p] = (c->splits[d][p] + ratio[d] - 1) / ratio[d];
  }
  PetscCall(CellDataNumber(to));
  CellDataRange(to, rank, own);
  PetscCall(CellDataCreateVec(to, comm, (PetscInt)PatchFDRangeSize((const PetscInt(*)[2])own) * NumGroups(to) * to->n, &to->values));
  for (int d = 0; d < 3; d++) {
    for (int e = 0; e < 2; e++) children[d][e] = ratio[d] * own[d][e];
    m.cells[d] = own[d][1] - own[d][0];
    m.ratio[d] = ratio[d];
    m.from[d]  = d < c->dim ? c->points : 1;
    m.to[d]    = d < c->dim ? points : 1;
    PetscCall(MeansWeights(m.from[d], ratio[d], m.to[d], &m.W[d]));
  }
  PetscCall(CellDataFetch(c, c->cells, (const PetscInt(*)[2])children, &fine));
  PetscCall(MeansApply(c, &m, fine, to->values));
  PetscCall(VecDestroy(&fine));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(m.W[d]));
  *means = to;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the means that the cells of the mesh come from, or that they have themselves */
static PetscErrorCode CellDataCoarsen(DM dm, DMBoxCellData **data)
{
  const DM_Box  *box  = (const DM_Box *)dm->data;
  DMBoxCellData *c    = *data;
  PetscBool      finer = PETSC_FALSE;
  PetscInt       ratio[3];

  PetscFunctionBegin;
  do {
    *data = c;
    for (int d = 0; d < 3; d++) ratio[d] = c->cells[d] >= 2 * box->cells[d] ? 2 : 1;
    if (ratio[0] * ratio[1] * ratio[2] == 1) break;
    for (int d = 0; d < 3 && c->coarse; d++)
      if (c->coarse->cells[d] != c->cells[d] / ratio[d]) PetscCall(DMBoxCellDataDestroy(&c->coarse));
    if (!c->coarse) PetscCall(CellDataMeans(c, ratio, c->points, &c->coarse));
    c = c->coarse;
  } while (c);
  for (int d = 0; d < 3; d++) {
    PetscCheck(box->cells[d] % c->cells[d] == 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP, "Coefficients of %" PetscInt_FMT " cells in direction %d (DMBoxSetDiffusionVec()) for a mesh of %" PetscInt_FMT, c->cells[d],
               d, box->cells[d]);
    finer = (PetscBool)(finer || box->cells[d] > c->cells[d]);
  }
  if (c->points > 1 && (finer || c->points != box->degree + 2)) {
    const PetscInt one[3] = {1, 1, 1};

    if (!c->means) PetscCall(CellDataMeans(c, one, 1, &c->means));
    *data = c->means;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCellDataGet(DM dm, DMBoxCellData *c, const PatchFDRange cells, Vec *values)
{
  const PetscInt     points = DMBoxNumPoints(dm), full = dm->dim * (dm->dim + 1) / 2;
  const PetscCount   count  = PatchFDRangeSize(cells);
  Vec                local;
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(CellDataCoarsen(dm, &c));
  PetscCall(CellDataFetch(c, ((const DM_Box *)dm->data)->cells, cells, &local));
  if (NumGroups(c) == points && (c->n == 1 || c->n == full)) {
    *values = local;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CellDataCreateVec(c, PETSC_COMM_SELF, (PetscInt)count * points * (c->n == 1 ? 1 : full), values));
  PetscCall(VecGetArrayReadAndMemType(local, &from, NULL));
  PetscCall(VecGetArrayWriteAndMemType(*values, &to, NULL));
  PetscCall((*CellDataKernels(c)->tensors)(dm->dim, count, NumGroups(c), points, c->n, from, to));
  PetscCall(VecRestoreArrayWriteAndMemType(*values, &to));
  PetscCall(VecRestoreArrayReadAndMemType(local, &from));
  PetscCall(VecDestroy(&local));
  PetscFunctionReturn(PETSC_SUCCESS);
}
