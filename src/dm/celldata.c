/*
  Numbers of the cells of a DMBOX, one group for each cell or for each quadrature point, given by a Vec and kept where the vectors of the
  DM are, on a GPU for example.  The cells of a rank lie one after another, x fastest, and so do the points of a cell.

  On other meshes they are a function that is constant in cells, or linear between the points of a cell and constant beyond them.
*/
#include <patchfd/private/boximpl.h>
#include <patchfd/private/celldata.h>
#include <patchfd/private/vecimpl.h>
#include <petscvecsingle.h>

PetscErrorCode DMBoxCellDataDestroy(DMBoxCellData **data)
{
  DMBoxCellData *c = *data;

  PetscFunctionBegin;
  *data = NULL;
  if (!c || --c->refct > 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) PetscCall(PetscFree2(c->splits[d], c->vertices[d]));
  PetscCall(PetscFree(c->first));
  PetscCall(VecDestroy(&c->values));
  PetscCall(PetscFree(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt DMBoxNumGauss(DM dm)
{
  const DM_Box *box    = (const DM_Box *)dm->data;
  PetscBool     single = PETSC_FALSE;

  if (box->restricted) return 2 * box->degree + 1;
  (void)PetscStrcmpAny(dm->vectype, &single, VECSINGLE, VECSINGLECUDA, "");
  return box->degree + (single && box->extra[1] != PETSC_DETERMINE ? box->extra[1] : box->extra[0]);
}

PetscInt DMBoxNumPoints(DM dm)
{
  return PetscPowInt(DMBoxNumGauss(dm), dm->dim);
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

static PetscErrorCode CellDataCreateVec(const DMBoxCellData *c, MPI_Comm comm, PetscCount count, Vec *v)
{
  PetscInt size;

  PetscFunctionBegin;
  PetscCall(PetscIntCast(count, &size));
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
  PetscInt       size;
  PetscCount     own, points; /* numbers for the cells here, and for their quadrature points */

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscCheckSameComm(dm, 1, v, 3);
  own    = PatchFDRangeSize((const PetscInt(*)[2])box->owncells) * n;
  points = own * DMBoxNumPoints(dm);
  PetscCall(VecGetLocalSize(v, &size));
  PetscCheck(size == own || size == points, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "%s: the Vec has local size %" PetscInt_FMT "; with %" PetscCount_FMT " cells here and %" PetscInt_FMT
             " numbers it takes %" PetscCount_FMT ", or %" PetscCount_FMT " for all quadrature points (DMBoxCreateDiffusionVec())",
             who, size, own / n, n, own, points);
  PetscCall(PetscNew(&c));
  c->refct  = 1;
  c->dim    = dm->dim;
  c->n      = n;
  c->points = size == own ? 1 : DMBoxNumGauss(dm);
  /* ranks without cells cannot tell */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &c->points, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)dm)));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  c->device = (PetscBool)PetscMemTypeDevice(kern->memtype);
  for (int d = 0; d < 3; d++) {
    c->cells[d]     = box->cells[d];
    c->processes[d] = box->processes[d];
    c->nvertices[d] = box->field[0].line[d].ncells + 1;
    PetscCall(PetscMalloc2(box->processes[d] + 1, &c->splits[d], c->nvertices[d], &c->vertices[d]));
    PetscCall(PetscArraycpy(c->splits[d], box->splits[d], box->processes[d] + 1));
    PetscCall(PetscArraycpy(c->vertices[d], box->field[0].line[d].vertices, c->nvertices[d]));
  }
  PetscCall(CellDataNumber(c));
  PetscCall(CellDataCreateVec(c, PetscObjectComm((PetscObject)dm), size, &c->values));
  PetscCall(VecSingleConvert(v, 1, c->values)); /* of any type */
  *data = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cells of other ranks ---- */

/* the number of a cell in the Vec, or of the cell that it is an image of */
static PetscInt CellDataFind(const DMBoxCellData *c, const PetscInt image[3])
{
  PetscInt rank = 0, in = 0;

  for (int d = 2; d >= 0; d--) {
    const PetscInt cell = image[d] % c->cells[d];
    PetscInt       p    = 0;

    while (cell >= c->splits[d][p + 1]) p++;
    rank = rank * c->processes[d] + p;
    in   = in * (c->splits[d][p + 1] - c->splits[d][p]) + cell - c->splits[d][p];
  }
  return c->first[rank] + in;
}

/* the groups of the cells of a range; the caller destroys it */
static PetscErrorCode CellDataFetch(const DMBoxCellData *c, const PatchFDRange range, Vec *local)
{
  const PetscInt size = (PetscInt)PatchFDRangeSize(range), block = NumGroups(c) * c->n,
                 n[2] = {PetscMax(1, range[0][1] - range[0][0]), PetscMax(1, range[1][1] - range[1][0])};
  PetscBool   all     = PETSC_TRUE;
  PetscMPIInt ranks;
  PetscInt   *index;
  IS          is;
  VecScatter  scatter;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)c->values), &ranks));
  for (int d = 0; d < 3; d++) all = (PetscBool)(all && range[d][0] == 0 && range[d][1] == c->cells[d]);
  if (all && ranks == 1) {
    *local = c->values;
    PetscCall(PetscObjectReference((PetscObject)*local));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(size, &index));
  for (PetscInt i = 0; i < size; i++) {
    const PetscInt at[3] = {range[0][0] + i % n[0], range[1][0] + i / n[0] % n[1], range[2][0] + i / n[0] / n[1]};

    index[i] = CellDataFind(c, at);
  }
  PetscCall(CellDataCreateVec(c, PETSC_COMM_SELF, (PetscCount)size * block, local));
  PetscCall(ISCreateBlock(PetscObjectComm((PetscObject)c->values), block, size, index, PETSC_OWN_POINTER, &is));
  PetscCall(VecScatterCreate(c->values, is, *local, NULL, &scatter));
  PetscCall(VecScatterBegin(scatter, c->values, *local, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, c->values, *local, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- other meshes ---- */

/* the cell that a point is in, the upper one of two; a line of one cell may be a point */
static PetscInt FindCell(const DMBoxCellData *c, PetscInt d, PetscReal x)
{
  const PetscReal *v    = c->vertices[d];
  PetscInt         cell = 0, end = c->nvertices[d] - 1;

  while (end - cell > 1) {
    const PetscInt middle = (cell + end) / 2;

    if (x >= v[middle] - 1e-10 * (v[middle] - v[middle - 1])) cell = middle;
    else end = middle;
  }
  return cell;
}

/* where the points of the target's cells lo .. hi - 1 lie in a direction: in which cell, counted from `first`, behind which of its groups,
   and how far towards the next one */
static PetscErrorCode LocatePoints(const DMBoxCellData *c, PetscInt d, const PatchFDLine *line, const PetscInt range[2], PetscInt first,
                                   PetscInt npoint, PatchFDCellValues *v)
{
  const PetscInt   groups = d < c->dim ? c->points : 1;
  const PetscCount count  = (PetscCount)(range[1] - range[0]) * npoint;
  PatchFDRule      target, rule;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(count, &v->cell[d], count, &v->group[d], count, &v->weight[d]));
  PetscCall(PatchFDRuleCreate(1, npoint, &target));
  PetscCall(PatchFDRuleCreate(1, groups, &rule));
  for (PetscCount i = 0; i < count; i++) {
    const PetscReal *at   = line->vertices + range[0] + i / npoint;
    const PetscReal  x    = at[0] + (npoint == 1 ? 0.5 : target.x[i % npoint]) * (at[1] - at[0]);
    const PetscInt   cell = FindCell(c, d, x);
    const PetscReal *own = c->vertices[d] + cell, t = groups > 1 ? (x - own[0]) / (own[1] - own[0]) : 0;
    PetscInt         g = 0;

    while (groups > 1 && g < groups - 1 && t >= rule.x[g + 1]) g++;
    v->cell[d][i]   = cell - first;
    v->group[d][i]  = g;
    v->weight[d][i] = groups == 1 || g == groups - 1 ? 0 : PetscMax(0, (t - rule.x[g]) / (rule.x[g + 1] - rule.x[g]));
  }
  PetscCall(PatchFDRuleDestroy(&target));
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* groups of all points of these cells of the DM, which has other cells or points than the data */
static PetscErrorCode CellDataEvaluate(DM dm, const DMBoxCellData *c, const PatchFDRange cells, Vec *values)
{
  const DM_Box      *box  = (const DM_Box *)dm->data;
  PatchFDCellValues  v    = {.n = c->n};
  PetscCount         size = c->n;
  PatchFDRange       range;
  Vec                local;
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PatchFDLine *line = &box->field[0].line[d];
    const PetscReal   *at = line->vertices + cells[d][0], *end = line->vertices + cells[d][1];

    range[d][0] = FindCell(c, d, *at);
    range[d][1] = cells[d][1] > cells[d][0] ? FindCell(c, d, *end - 1e-9 * (end[0] - end[-1])) + 1 : range[d][0];
    v.cells[d]  = cells[d][1] - cells[d][0];
    v.points[d] = d < dm->dim ? DMBoxNumGauss(dm) : 1;
    v.from[d]   = range[d][1] - range[d][0];
    v.groups[d] = d < dm->dim ? c->points : 1;
    size *= (PetscCount)v.cells[d] * v.points[d];
    PetscCall(LocatePoints(c, d, line, cells[d], range[d][0], v.points[d], &v));
  }
  PetscCall(CellDataFetch(c, (const PetscInt(*)[2])range, &local));
  PetscCall(CellDataCreateVec(c, PETSC_COMM_SELF, size, values));
  PetscCall(VecGetArrayReadAndMemType(local, &from, NULL));
  PetscCall(VecGetArrayWriteAndMemType(*values, &to, NULL));
  PetscCall((*CellDataKernels(c)->evaluate)(&v, from, to));
  PetscCall(VecRestoreArrayWriteAndMemType(*values, &to));
  PetscCall(VecRestoreArrayReadAndMemType(local, &from));
  PetscCall(VecDestroy(&local));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree3(v.cell[d], v.group[d], v.weight[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCellDataGet(DM dm, const DMBoxCellData *c, const PatchFDRange cells, Vec *values)
{
  const DM_Box      *box    = (const DM_Box *)dm->data;
  const PetscInt     points = DMBoxNumPoints(dm), full = dm->dim * (dm->dim + 1) / 2;
  PetscInt           groups = points;
  PetscBool          same   = (PetscBool)(c->points == 1 || NumGroups(c) == points);
  Vec                local;
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) same = (PetscBool)(same && c->cells[d] == box->cells[d]);
  if (same) {
    PetscCall(CellDataFetch(c, cells, &local));
    groups = NumGroups(c);
  } else PetscCall(CellDataEvaluate(dm, c, cells, &local));
  if (groups == points && (c->n == 1 || c->n == full)) {
    *values = local;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CellDataCreateVec(c, PETSC_COMM_SELF, PatchFDRangeSize(cells) * points * (c->n == 1 ? 1 : full), values));
  PetscCall(VecGetArrayReadAndMemType(local, &from, NULL));
  PetscCall(VecGetArrayWriteAndMemType(*values, &to, NULL));
  PetscCall((*CellDataKernels(c)->tensors)(dm->dim, PatchFDRangeSize(cells), groups, points, c->n, from, to));
  PetscCall(VecRestoreArrayWriteAndMemType(*values, &to));
  PetscCall(VecRestoreArrayReadAndMemType(local, &from));
  PetscCall(VecDestroy(&local));
  PetscFunctionReturn(PETSC_SUCCESS);
}
