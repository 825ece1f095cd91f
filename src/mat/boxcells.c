/* The cells of a DMBOX for local solvers on closed cells (patchfd/private/cellspace.h): a rank's own, in the local box of nodes */
#include <patchfd/private/cellspace.h>
#include <patchfd/private/fit.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>

typedef struct {
  Mat_Box   *m;
  PetscInt  *index; /* of the nodes in the local box, for kernels in host memory */
  PetscCount nside; /* Robin sides, as in PatchFDCellsDesc */
  PetscInt  *side;
  PetscReal *mean;
} BoxCells;

/* for kernels in host memory */
static PetscErrorCode Number(const CellSpace *s, BoxCells *c)
{
  const DM_Box *box = (const DM_Box *)c->m->dm->data;
  PatchFDPoints points;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(s->ncells * PetscPowInt(s->degree + 1, s->dim), &c->index));
  PatchFDHostCellNodes(s->dim, s->degree, 1, (const PetscInt(*)[2])box->owncells, (const PetscInt(*)[2])box->field[0].free,
                       &box->field[0].local, c->index);
  PetscCall(MatBoxGetPoints(c->m, (const PetscInt(*)[2])box->owncells, PETSC_FALSE, &points));
  c->nside = PatchFDHostCellSides(&points, NULL, NULL);
  PetscCall(PetscMalloc2(c->nside, &c->side, c->nside, &c->mean));
  (void)PatchFDHostCellSides(&points, c->side, c->mean);
  PetscCall((*box->op->ops.pointsdestroy)(&points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Forget(BoxCells *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->index));
  PetscCall(PetscFree2(c->side, c->mean));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Describe(const CellSpace *s, PatchFDKernels kern, PatchFDCellsDesc *desc)
{
  BoxCells         *c     = (BoxCells *)s->ctx;
  const DM_Box     *box   = (const DM_Box *)c->m->dm->data;
  const DMBoxField *field = &box->field[0];

  PetscFunctionBegin;
  *desc = (PatchFDCellsDesc){.points = {.nodes  = PATCHFD_NODES_BOX,
                                        .dim    = s->dim,
                                        .degree = s->degree,
                                        .ncomp  = s->ncomp,
                                        .ncells = s->ncells,
                                        .nnodes = (PetscCount)s->nlocal},
                             .field  = {.xbox = field->local, .ybox = field->local}};
  DMBoxFreeNodes(field, PETSC_TRUE, desc->field.read);
  DMBoxFreeNodes(field, PETSC_TRUE, desc->field.write);
  PetscCall(PetscArraycpy(desc->cells, box->owncells, 3));
  if (PetscMemTypeDevice(kern->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!c->index) PetscCall(Number(s, c));
  desc->points.nodes = PATCHFD_NODES_INDEX;
  desc->points.index = c->index;
  desc->nside        = c->nside;
  desc->side         = c->side;
  desc->mean         = c->mean;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the operator of the matrix, where it has the rank's own cells and no others */
static PetscErrorCode GetMetric(const CellSpace *s, PatchFDKernels kern, PETSC_UNUSED PetscInt fit, void **plan)
{
  BoxCells     *c   = (BoxCells *)s->ctx;
  const DM_Box *box = (const DM_Box *)c->m->dm->data;

  PetscFunctionBegin;
  if (box->halo || box->restricted) PetscCall(MatBoxMetricCreate(c->m, kern, (const PetscInt(*)[2])box->owncells, plan));
  else PetscCall(MatBoxGetOperator(c->m, kern, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* and what is not needed any more */
static PetscErrorCode RestoreMetric(const CellSpace *s, PatchFDKernels kern, void **plan)
{
  BoxCells     *c   = (BoxCells *)s->ctx;
  const DM_Box *box = (const DM_Box *)c->m->dm->data;

  PetscFunctionBegin;
  if (box->halo || box->restricted) PetscCall((*kern->operatordestroy)(plan));
  *plan = NULL;
  PetscCall(Forget(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToLocal(const CellSpace *s, PatchFDKernels kern, const void *global, const void **local)
{
  const DM dm = ((const BoxCells *)s->ctx)->m->dm;
  void    *l;

  PetscFunctionBegin;
  PetscCall(DMBoxGlobalToLocalBegin(dm, kern, global, DMBOX_WORK_X, &l));
  PetscCall(DMBoxGlobalToLocalEnd(dm, kern, global, DMBOX_WORK_X, &l));
  *local = l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SumBegin(const CellSpace *s, PatchFDKernels kern, void *global, void **local)
{
  return DMBoxGlobalToLocalZero(((const BoxCells *)s->ctx)->m->dm, kern, global, PETSC_FALSE, DMBOX_WORK_B, local);
}

static PetscErrorCode SumEnd(const CellSpace *s, PatchFDKernels kern, void *global, void **local)
{
  const DM dm = ((const BoxCells *)s->ctx)->m->dm;

  PetscFunctionBegin;
  PetscCall(DMBoxHaloAdd(dm, kern, *local));
  PetscCall(DMBoxLocalToGlobal(dm, kern, *local, global));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SumAll(const CellSpace *s, PatchFDKernels kern, void *local)
{
  const DM dm = ((const BoxCells *)s->ctx)->m->dm;

  PetscFunctionBegin;
  PetscCall(DMBoxHaloAdd(dm, kern, local));
  PetscCall(DMBoxHaloBegin(dm, kern, 1, &local));
  PetscCall(DMBoxHaloEnd(dm, kern, 1, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fixed(const CellSpace *s, PatchFDKernels kern, const void *b, void *x)
{
  return MatBoxSolveFixed(((const BoxCells *)s->ctx)->m, kern, 1, b, x);
}

static PetscErrorCode Noise(const CellSpace *s, Vec v)
{
  const DM       dm = ((const BoxCells *)s->ctx)->m->dm;
  PatchFDKernels kern;
  void          *a;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(v, &kern));
  PetscCall(PatchFDVecGetArrayWrite(v, kern, &a));
  PetscCall(kern->cellsnoise(&((const DM_Box *)dm->data)->field[0].global, a));
  PetscCall(PatchFDVecRestoreArrayWrite(v, kern, &a));
  PetscCall(DMBoxSetFixedVec(dm, v, 0, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(CellSpace *s)
{
  BoxCells *c = (BoxCells *)s->ctx;

  PetscFunctionBegin;
  PetscCall(Forget(c));
  PetscCall(MatBoxRelease(&c->m));
  PetscCall(PetscFree(s->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetCellSpace_Box(Mat A, CellSpace *space)
{
  BoxCells     *c;
  Mat_Box      *m;
  const DM_Box *box;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(A, &m));
  PetscCheck(m->form.points && !MatBoxIsCoupled(m), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "PCPATCHFD: -pc_patchfd_patch cell is for -dm_box_operator diffusion and matrices of a DMPLEX; -dm_box_operator %s takes "
             "vertex or box",
             MatBoxName(m));
  PetscCall(PetscNew(&c));
  m->holders++;
  c->m   = m;
  box    = (const DM_Box *)m->dm->data;
  *space = (CellSpace){.ctx           = c,
                       .dim           = m->dm->dim,
                       .degree        = box->degree,
                       .ncomp         = 1,
                       .nfit          = 1,
                       .ncells        = PatchFDRangeSize((const PetscInt(*)[2])box->owncells),
                       .nlocal        = box->nlocal,
                       .describe      = Describe,
                       .getmetric     = GetMetric,
                       .restoremetric = RestoreMetric,
                       .tolocal       = ToLocal,
                       .sumbegin      = SumBegin,
                       .sumend        = SumEnd,
                       .sumall        = SumAll,
                       .fixed         = Fixed,
                       .noise         = Noise,
                       .destroy       = Destroy};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Measured (benchmarks/diffusion; doc/log/cells.md): cells take one residual a step in place of one a colour, and a third more iterations.
   At degree 1 they have no nodes of their own; at degree 2 on the host vertex patches are solved exactly for little.  Where all cells are
   long, cells take three times the iterations: on GPUs, where vertex patches cost less, that is too much.  Couplings are as the squares of
   lengths, whichever way a map turns the cells
*/
PetscErrorCode MatBoxPrefersCells(Mat A, PetscBool *cells)
{
  const PetscReal  longest = 4;
  const PetscReal *coupling;
  DMBoxCoarsening  c;
  Mat_Box         *m;
  PatchFDKernels   kern;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(A, &m));
  PetscCall(PatchFDVecTypeGetKernels(A->defaultvectype, &kern));
  *cells = (PetscBool)(m && m->form.points && !MatBoxIsCoupled(m) && MatBoxDegree(m) >= (PetscMemTypeHost(kern->memtype) ? 3 : 2));
  if (!*cells || PetscMemTypeHost(kern->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCoarseningBegin(m->dm, &c));
  coupling = ((const DM_Box *)m->dm->data)->coupling;
  for (PetscInt d = 0; d < c.dim; d++)
    for (PetscInt e = 0; e < d; e++)
      *cells = (PetscBool)(*cells && PetscAbsReal(PetscLogReal(coupling[d] / coupling[e])) <= 2 * PetscLogReal(longest));
  PetscFunctionReturn(PETSC_SUCCESS);
}
