/* The cells of a DMBOX for local solvers on closed cells (patchfd/private/cellspace.h): a rank's own, in the local box of nodes */
#include <patchfd/private/cellspace.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>

typedef struct {
  Mat_Box      *m;
  PlexCells     cells;
  PatchFDPoints given; /* while `positive` is in use */
} BoxCells;

static PetscErrorCode GetPoints(const CellSpace *s, PatchFDPoints *p)
{
  BoxCells     *c   = (BoxCells *)s->ctx;
  const DM_Box *box = (const DM_Box *)c->m->dm->data;

  PetscFunctionBegin;
  PetscCall(MatBoxGetPoints(c->m, (const PetscInt(*)[2])box->owncells, PETSC_FALSE, &c->given));
  if (c->given.given) PetscCall(PatchFDHostPositiveCreate(&c->given, p));
  else *p = c->given;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestorePoints(const CellSpace *s, PatchFDPoints *p)
{
  BoxCells     *c   = (BoxCells *)s->ctx;
  const DM_Box *box = (const DM_Box *)c->m->dm->data;

  PetscFunctionBegin;
  if (c->given.given) PetscCall(PatchFDHostPositiveDestroy(p));
  PetscCall((*box->op->ops.pointsdestroy)(&c->given));
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

static PetscErrorCode SumAll(const CellSpace *s, PetscReal local[])
{
  const DM dm = ((const BoxCells *)s->ctx)->m->dm;

  PetscFunctionBegin;
  PetscCall(DMBoxHaloAdd(dm, &PatchFDKernelsHostDouble, local));
  PetscCall(DMBoxHaloBegin(dm, &PatchFDKernelsHostDouble, 1, (void *const[]){local}));
  PetscCall(DMBoxHaloEnd(dm, &PatchFDKernelsHostDouble, 1, (void *const[]){local}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fixed(const CellSpace *s, PatchFDKernels kern, const void *b, void *x)
{
  return MatBoxSolveFixed(((const BoxCells *)s->ctx)->m, kern, 1, b, x);
}

static PetscErrorCode Noise(const CellSpace *s, Vec v)
{
  const DM  dm     = ((const BoxCells *)s->ctx)->m->dm;
  PetscReal low[3] = {0}, high[3] = {0}, size = 0;

  PetscFunctionBegin;
  PetscCall(DMGetBoundingBox(dm, low, high));
  for (int d = 0; d < 3; d++) size = PetscMax(size, high[d] - low[d]);
  PetscCall(DMBoxInterpolateFunction(dm, 0, PatchFDNoise, &size, v));
  PetscCall(DMBoxSetFixedVec(dm, v, 0, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(CellSpace *s)
{
  BoxCells *c = (BoxCells *)s->ctx;

  PetscFunctionBegin;
  PetscCall(PetscFree(c->cells.index));
  PetscCall(MatBoxRelease(&c->m));
  PetscCall(PetscFree(s->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetCellSpace_Box(Mat A, CellSpace *space)
{
  BoxCells         *c;
  Mat_Box          *m;
  const DM_Box     *box;
  const DMBoxField *field;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(A, &m));
  PetscCheck(m->form.points, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "PCPATCHFD: -pc_patchfd_patch cell is for -dm_box_operator diffusion and matrices of a DMPLEX; -dm_box_operator %s takes "
             "vertex "
             "or box",
             MatBoxName(m));
  PetscCall(PetscNew(&c));
  m->holders++;
  box      = (const DM_Box *)m->dm->data;
  field    = &box->field[0];
  c->m     = m;
  c->cells = (PlexCells){.dim    = m->dm->dim,
                         .degree = box->degree,
                         .ncomp  = 1,
                         .ncells = PatchFDRangeSize((const PetscInt(*)[2])box->owncells),
                         .size   = PetscPowInt(box->degree + 1, m->dm->dim)};
  PetscCall(PetscMalloc1(c->cells.ncells * c->cells.size, &c->cells.index));
  PatchFDHostCellNodes(m->dm->dim, box->degree, 1, (const PetscInt(*)[2])box->owncells, (const PetscInt(*)[2])field->free, &field->local,
                       c->cells.index);
  *space = (CellSpace){.ctx           = c,
                       .cells         = &c->cells,
                       .nlocal        = box->nlocal,
                       .getpoints     = GetPoints,
                       .restorepoints = RestorePoints,
                       .tolocal       = ToLocal,
                       .sumbegin      = SumBegin,
                       .sumend        = SumEnd,
                       .sumall        = SumAll,
                       .fixed         = Fixed,
                       .noise         = Noise,
                       .destroy       = Destroy};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Measured (benchmarks/diffusion): cells take one residual a step in place of one a colour, and a third more iterations; at low degrees
   vertex patches are solved exactly for little, and with vectors on a GPU they are made there, cells on the host */
PetscErrorCode MatBoxPrefersCells(Mat A, PetscBool *cells)
{
  const PetscInt least = 3;
  Mat_Box       *m;
  PatchFDKernels kern;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(A, &m));
  PetscCall(PatchFDVecTypeGetKernels(A->defaultvectype, &kern));
  *cells = (PetscBool)(m && m->form.points && PetscMemTypeHost(kern->memtype) && MatBoxDegree(m) >= least);
  PetscFunctionReturn(PETSC_SUCCESS);
}
