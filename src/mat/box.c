/*
  The operator of a DMBOX as a MATSHELL: any sum of products of one-dimensional bands, which an operator (poisson.c) describes by a
  MatBoxForm.
  Rows of fixed nodes are rows of the identity, and their columns are zero: such nodes never couple to the others.

  A solver calls, in this order: create, get diagonal or convert (some preconditioners), mult/residual, destroy.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/patches.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

PetscErrorCode MatBoxFind(Mat A, Mat_Box **m)
{
  PetscErrorCode (*get)(Mat, Mat_Box **);

  PetscFunctionBegin;
  *m = NULL;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatBoxGet_C", &get));
  if (get) PetscCall((*get)(A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxGet(Mat A, const char *who, Mat_Box **m)
{
  PetscFunctionBegin;
  PetscCall(MatBoxFind(A, m));
  PetscCheck(*m, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP,
             "%s needs an operator matrix made by DMCreateMatrix() of a DMBOX (-dm_type box); this matrix is of type %s. "
             "Assembled matrices (-dm_mat_type aij) need other preconditioners, and on the levels of a multigrid hierarchy, for example, "
             "-mg_levels_pc_type sor -mg_coarse_pc_type redundant",
             who, ((PetscObject)A)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MatBoxHasFixed(const Mat_Box *m)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  for (PetscInt i = 0; i < box->nfield; i++)
    for (int d = 0; d < 3; d++)
      if (PatchFDLineFixed(&box->field[i].line[d], 0) || PatchFDLineFixed(&box->field[i].line[d], 1)) return PETSC_TRUE;
  return PETSC_FALSE;
}

PetscErrorCode MatBoxCheckRegular(const Mat_Box *m)
{
  PetscBool zero = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCheck(!m->form.defect, PetscObjectComm((PetscObject)m->dm), PETSC_ERR_ARG_INCOMP, "The operator %s is singular: %s",
             ((const DM_Box *)m->dm->data)->op->name, m->form.defect);
  for (int i = 0; i < DMBOX_MAX_COEFFICIENTS; i++) zero = (PetscBool)(zero && m->c.operator[i] == 0);
  PetscCheck(!zero && !(MatBoxHasFixed(m) && m->c.identity == 0), PetscObjectComm((PetscObject)m->dm), PETSC_ERR_ARG_WRONGSTATE,
             "The DMBOX operator is singular after MatZeroEntries(), MatScale() or MatAXPY(): %s, and the diagonal entry of the Dirichlet "
             "nodes is %g. "
             "MatBoxUpdate() gives it the coefficients of its DMBOX again",
             zero ? "its coefficients are zero" : "its coefficients are not all zero", (double)m->c.identity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one-dimensional objects and plans ---- */

PetscErrorCode MatBoxReset(Mat_Box *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++) {
    const PatchFDKernels kern = PatchFDKernelTables[i];

    if (!kern) continue;
    PetscCall(kern->operatordestroy(&m->mult[kern->id]));
    PetscCall(PatchFDBoxSolveDestroy(&m->boxsolve[kern->id]));
    PetscCall(kern->free(m->whole_b[kern->id]));
    PetscCall(kern->free(m->whole_x[kern->id]));
    m->whole_b[kern->id] = m->whole_x[kern->id] = NULL;
  }
  PetscCall(MatBoxFormDestroy(&m->form));
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDEigenDestroy(&m->whole[d]));
    m->havewhole[d] = PETSC_FALSE;
  }
  PetscCall(PatchFDEigenDestroy(&m->piece));
  PetscCall(PatchFDCutDestroy(&m->cut));
  PetscCall(MatBoxFactorReset(m));
  m->wholesingular = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where nothing couples cells but shared nodes, kernels apply all bands of a direction to a cell at once, and want one number that says
   which */
static PetscErrorCode MatBoxUnifyClasses(MatBoxForm *form)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PatchFDBand *list[MATBOX_MAX_BANDS];
    PetscInt     n = 0, reach = 0;

    for (PetscInt i = 0; i < form->nband; i++) {
      if (!MatBoxFindTerm(form->nterm, form->term, d, &form->band[i]) && !MatBoxFindTerm(form->nlift, form->lift, d, &form->band[i]))
        continue;
      list[n++] = &form->band[i];
      reach     = PetscMax(reach, form->band[i].reach);
    }
    if (!reach) PetscCall(PatchFDBandsUnify(n, list));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFormCreate(const Mat_Box *m, PetscBool weighted, MatBoxForm *form)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  const DMBoxOperator op  = box->op;
  PatchFDLine         line[DMBOX_MAX_FIELDS][3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(form, sizeof(*form)));
  form->weighted = weighted;
  for (PetscInt f = 0; f < box->nfield; f++) PetscCall(PetscArraycpy(line[f], box->field[f].line, 3));
  PetscCall((*op->ops.form)(m->dm, op, m->c.operator, (const PatchFDLine(*)[3])line, form));
  PetscCall(MatBoxUnifyClasses(form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFormDestroy(MatBoxForm *form)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < form->nband; i++) PetscCall(PatchFDBandDestroy(&form->band[i]));
  PetscCall(PetscMemzero(form, sizeof(*form)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxBuild(Mat_Box *m, const MatBoxCoefficients *c)
{
  PetscFunctionBegin;
  PetscCheck(!m->holders, PetscObjectComm((PetscObject)m->dm), PETSC_ERR_PLIB, "Local solvers hold these numbers: MatBoxChange()");
  PetscCall(MatBoxReset(m));
  m->c       = *c;
  m->version = -1; /* of nothing, if that fails */
  PetscCall(MatBoxFormCreate(m, PETSC_FALSE, &m->form));
  m->version = ((const DM_Box *)m->dm->data)->op->version;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxRelease(Mat_Box **box)
{
  Mat_Box *m = *box;

  PetscFunctionBegin;
  *box = NULL;
  if (!m || m->holders--) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxReset(m));
  for (int i = 0; i < 2; i++) {
    PetscCall(PatchFDHaloDestroy(&m->direct[i].in));
    PetscCall(PatchFDHaloDestroy(&m->direct[i].out));
  }
  PetscCall(DMDestroy(&m->dm));
  PetscCall(PetscFree(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxChange(Mat A, const MatBoxCoefficients *c, Mat_Box **m)
{
  Mat_Box *old = *m;

  PetscFunctionBegin;
  if (old->holders) {
    PetscCall(PetscNew(m));
    PetscCall(PetscObjectReference((PetscObject)old->dm));
    (*m)->dm    = old->dm;
    (*m)->taken = old->taken;
    (*m)->entry = old->entry;
    old->entry  = NULL;
    PetscCall(MatShellSetContext(A, *m));
    PetscCall(MatBoxRelease(&old));
  }
  PetscCall(MatBoxBuild(*m, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MatBoxDescribe(const Mat_Box *m, PatchFDField field[], PatchFDOperatorDesc *desc)
{
  const DM_Box *box    = (const DM_Box *)m->dm->data;
  PetscInt      shared = 0;

  for (PetscInt i = 0; i < box->nfield; i++) {
    const DMBoxField *f = &box->field[i];

    DMBoxFreeNodes(f, PETSC_FALSE, field[i].write);
    DMBoxFreeNodes(f, PETSC_TRUE, field[i].read);
    field[i].xbox = f->local;
    field[i].ybox = f->global;
    field[i].x0   = f->local0;
    field[i].y0   = f->global0;
    for (int d = 0; d < 3; d++) {
      if (f->line[d].continuity == PATCHFD_CONTINUOUS) shared = 1;
      for (int e = 0; e < 2; e++) {
        if (m->fixed == MATBOX_FIXED_BOTH) field[i].write[d][e] = f->own[d][e];
        if (m->fixed != MATBOX_FIXED_IDENTITY) field[i].read[d][e] = f->local.lo[d] + (e ? f->local.n[d] : 0);
      }
    }
  }
  *desc = (PatchFDOperatorDesc){.nfield = box->nfield, .field = field, .nterm = m->form.nterm, .term = m->form.term};
  for (int d = 0; d < 3; d++) { /* the rank's cells, and those below, which touch nodes that they share with them */
    const PetscBool empty = (PetscBool)(box->owncells[d][0] >= box->owncells[d][1]);

    desc->cells[d][0] = PetscMax(0, box->owncells[d][0] - shared);
    desc->cells[d][1] = empty ? desc->cells[d][0] : box->owncells[d][1];
  }
}

/* the points of an operator by quadrature in these cells; what they are made of must be what the rest of the matrix was made of */
PetscErrorCode MatBoxGetPoints(const Mat_Box *m, const PatchFDRange cells, PetscBool device, PatchFDPoints *points)
{
  const DMBoxOperator op = ((const DM_Box *)m->dm->data)->op;

  PetscFunctionBegin;
  PetscCall(MatBoxCheckData(m));
  PetscCall((*op->ops.points)(m->dm, op, m->c.operator, cells, device, points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for operators by quadrature, of their points, whatever the terms are */
PetscErrorCode MatBoxOperatorCreate(const Mat_Box *m, PatchFDKernels kern, PatchFDOperatorDesc *desc, void **plan)
{
  const DMBoxOperator op = ((const DM_Box *)m->dm->data)->op;
  PatchFDPoints       points;

  PetscFunctionBegin;
  if (m->form.points) {
    PetscCall(MatBoxGetPoints(m, (const PetscInt(*)[2])desc->cells, (PetscBool)PetscMemTypeDevice(kern->memtype), &points));
    desc->points = &points;
  }
  PetscCall(kern->operatorcreate(desc, plan));
  desc->points = NULL;
  if (m->form.points) PetscCall((*op->ops.pointsdestroy)(&points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxGetOperator(Mat_Box *m, PatchFDKernels kern, void **plan)
{
  PetscFunctionBegin;
  if (!m->mult[kern->id]) {
    PatchFDOperatorDesc desc;
    PatchFDField        field[DMBOX_MAX_FIELDS];

    MatBoxDescribe(m, field, &desc);
    PetscCall(MatBoxOperatorCreate(m, kern, &desc, &m->mult[kern->id]));
    PetscCall(DMBoxInfoKernels(m->dm, kern, "operator", kern->operatorname ? kern->operatorname(m->mult[kern->id]) : NULL));
  }
  *plan = m->mult[kern->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = a y + b x at the fixed nodes of global arrays */
static PetscErrorCode MatBoxFixed(const Mat_Box *m, PatchFDKernels kern, PetscReal a, void *y, PetscReal b, const void *x)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield; i++) {
    const DMBoxField *f  = &box->field[i];
    const size_t      at = f->global0 * kern->size;

    PetscCall(kern->fixed(f->own, f->free, a, &f->global, (char *)y + at, b, &f->global, (const char *)x + at));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the operations ---- */

/* what it takes to apply the operator to a global array: a plan, and the array with ghosts */
static PetscErrorCode MatBoxGetOperands(Mat_Box *m, PatchFDKernels kern, const void *x, void **plan, void **local)
{
  PetscFunctionBegin;
  PetscCall(MatBoxGetOperator(m, kern, plan));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, x, DMBOX_WORK_X, local));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, x, DMBOX_WORK_X, local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = y0 + alpha A x, y0 = NULL for zero */
PetscErrorCode MatBoxApply(void *ctx, PatchFDKernels kern, PetscReal alpha, const void *x, const void *y0, void *y)
{
  Mat_Box *m = (Mat_Box *)ctx;
  void *plan = NULL, *local;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscCall(MatBoxGetOperands(m, kern, x, &plan, &local));
  PetscCall(kern->operatorapply(plan, alpha, local, y0, y));
  if (m->fixed == MATBOX_FIXED_IDENTITY) PetscCall(MatBoxFixed(m, kern, 1, y, alpha * m->c.identity, x));
  PetscCall(PetscLogEventEnd(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxResidual(Mat_Box *m, PatchFDKernels kern, const PatchFDColor *color, const void *b, const void *x, void *r)
{
  void *plan = NULL, *local;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscCall(MatBoxGetOperands(m, kern, x, &plan, &local));
  PetscCall(kern->operatorresidual(plan, color, local, b, r));
  PetscCall(PetscLogEventEnd(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatApply_Box(Mat A, PetscReal alpha, Vec x, Vec y0, Vec y)
{
  Mat_Box *m;

  PetscFunctionBegin;
  PetscCall(MatBoxGetCurrent(A, &m));
  PetscCall(MatApplyArrays(MatBoxApply, m, alpha, x, y0, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
MAT_PRODUCTS(Box)

PetscErrorCode MatBoxIsOwn(Mat A, PetscBool *own)
{
  PetscVoidFn *mult = NULL;

  PetscFunctionBegin;
  *own = (PetscBool)(A->ops->residual == MatResidual_Box);
  if (*own) PetscCall(MatShellGetOperation(A, MATOP_MULT, &mult));
  *own = (PetscBool)(mult == (PetscVoidFn *)MatMult_Box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxPointDiagonal(Mat_Box *m, Vec diag)
{
  PatchFDKernels kern;
  Vec            identity;
  const void    *one;
  void          *plan = NULL, *a;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(diag, &kern));
  PetscCall(VecDuplicate(diag, &identity));
  PetscCall(VecSet(identity, m->c.identity));
  PetscCall(MatBoxGetOperator(m, kern, &plan));
  PetscCall(PatchFDVecGetArrayRead(identity, kern, &one));
  PetscCall(PatchFDVecGetArrayWrite(diag, kern, &a));
  PetscCall(kern->operatordiagonal(plan, a));
  PetscCall(MatBoxFixed(m, kern, 0, a, 1, one));
  PetscCall(PatchFDVecRestoreArrayWrite(diag, kern, &a));
  PetscCall(PatchFDVecRestoreArrayRead(identity, kern, &one));
  PetscCall(VecDestroy(&identity));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxTermDiagonal(const Mat_Box *m, Vec diag)
{
  PatchFDOperatorDesc desc;
  PatchFDField        field[DMBOX_MAX_FIELDS];
  PetscScalar        *a;

  PetscFunctionBegin;
  MatBoxDescribe(m, field, &desc);
  PetscCall(VecGetArrayWrite(diag, &a));
  PetscCall(PatchFDHostDiagonal(&desc, m->c.identity, a));
  PetscCall(VecRestoreArrayWrite(diag, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_Box(Mat A, Vec diag)
{
  Mat_Box *m;

  PetscFunctionBegin;
  PetscCall(MatBoxGetCurrent(A, &m));
  if (m->form.points) PetscCall(MatBoxPointDiagonal(m, diag));
  else PetscCall(MatBoxTermDiagonal(m, diag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateVecs_Box(Mat A, Vec *right, Vec *left)
{
  Mat_Box *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  if (right) PetscCall(DMCreateGlobalVector(m->dm, right));
  if (left) PetscCall(DMCreateGlobalVector(m->dm, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* does the field couple to itself? */
static PetscBool MatBoxHasDiagonal(const Mat_Box *m, PetscInt f)
{
  PetscBool has = PETSC_FALSE;

  for (PetscInt t = 0; t < m->form.nterm; t++) has = (PetscBool)(has || (m->form.term[t].row == f && m->form.term[t].col == f));
  return has;
}

static PetscErrorCode MatBoxPointTriples(const Mat_Box *m, const PatchFDOperatorDesc *desc, const PetscInt index[], PetscCount *count,
                                         PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const DMBoxOperator op    = ((const DM_Box *)m->dm->data)->op;
  const PatchFDField *f     = &desc->field[0];
  const PetscInt(*cells)[2] = desc->cells;
  PatchFDPoints points;
  PetscCount    n;
  PetscInt     *row, *column;

  PetscFunctionBegin;
  PetscCall(MatBoxGetPoints(m, cells, PETSC_FALSE, &points));
  n = points.ncells * PetscPowInt(points.degree + 1, points.dim);
  PetscCall(PetscMalloc2(n, &row, n, &column));
  PatchFDHostCellNumbers(points.dim, points.degree, cells, f->write, &f->xbox, index, row);
  PatchFDHostCellNumbers(points.dim, points.degree, cells, f->read, &f->xbox, index, column);
  PetscCall(PatchFDHostPointsTriples(&points, row, column, count, i, j, v));
  PetscCall(PetscFree2(row, column));
  PetscCall((*op->ops.pointsdestroy)(&points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* counts, or fills in, the triples of the operator and then those of the fixed nodes, and zeros where a diagonal has no entries:
   factorizations want them */
static PetscErrorCode MatBoxTriples(const Mat_Box *m, PatchFDOperatorDesc *desc, const PetscInt *const index[], PetscCount *count,
                                    PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  PetscCount    n;

  PetscFunctionBegin;
  if (m->form.points) PetscCall(MatBoxPointTriples(m, desc, index[0], count, i, j, v));
  else PetscCall(PatchFDHostTriples(desc, index, count, i, j, v));
  for (PetscInt f = 0; f < box->nfield; f++) {
    const PatchFDRange none     = {{0, 0}, {0, 0}, {0, 0}};
    const PetscBool    diagonal = MatBoxHasDiagonal(m, f);

    PetscCall(PatchFDHostFixedTriples(box->field[f].own, diagonal ? (const PetscInt(*)[2])box->field[f].free : none,
                                      diagonal ? m->c.identity : 0, &box->field[f].local, index[f], &n, i ? i + *count : NULL,
                                      i ? j + *count : NULL, i ? v + *count : NULL));
    *count += n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBoxTriples_Box(Mat A, PetscCount *count, PetscInt **i, PetscInt **j, PetscScalar **v)
{
  Mat_Box            *m;
  PatchFDOperatorDesc desc;
  PatchFDField        field[DMBOX_MAX_FIELDS];
  PetscInt           *all;
  const PetscInt     *index[DMBOX_MAX_FIELDS];

  PetscFunctionBegin;
  PetscCall(MatBoxGetCurrent(A, &m));
  PetscCall(MatBoxCheckData(m));
  MatBoxDescribe(m, field, &desc);
  PetscCall(DMBoxGetLocalToGlobal(m->dm, &all));
  for (PetscInt f = 0; f < desc.nfield; f++) index[f] = all + field[f].x0;
  PetscCall(MatBoxTriples(m, &desc, index, count, NULL, NULL, NULL));
  PetscCall(PetscMalloc3(*count, i, *count, j, *count, v));
  PetscCall(MatBoxTriples(m, &desc, index, count, *i, *j, *v));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_Box(Mat A, PetscViewer viewer)
{
  Mat_Box  *m;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(MatBoxShellViewASCII(A, viewer, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxGetCurrent(A, &m));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "matrix-free operator of a DMBOX: "));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  PetscCall((*((DM_Box *)m->dm->data)->op->ops.view)(m->dm->dim, m->c.operator, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (m->c.identity != 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "scaled: the diagonal entries of Dirichlet nodes are %g\n", (double)m->c.identity));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_Box(Mat A)
{
  Mat_Box *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(MatBoxUnregister(m->dm, &m->entry));
  PetscCall(MatBoxRelease(&m));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatBoxGet_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCreatePatches_C", NULL));
  PetscCall(MatBoxShellDestroy(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the constants of one field, of norm one */
static PetscErrorCode MatBoxConstants(const Mat_Box *m, Vec *z)
{
  const DMBoxField *f = &((const DM_Box *)m->dm->data)->field[m->form.constants];
  PetscScalar      *a;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(m->dm, z));
  PetscCall(VecSet(*z, 0));
  PetscCall(VecGetArray(*z, &a));
  PetscCall(PatchFDHostFill(PatchFDBoxSize(&f->global), 1, a + f->global0));
  PetscCall(VecRestoreArray(*z, &a));
  PetscCall(VecNormalize(*z, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a singular operator says so to KSP */
PetscErrorCode MatBoxSetNullSpace(Mat A, const Mat_Box *m)
{
  MatNullSpace constant = NULL;
  Vec          z        = NULL;

  PetscFunctionBegin;
  if (m->form.singular && MatBoxIsSaddlePoint(m)) PetscCall(MatBoxConstants(m, &z));
  if (m->form.singular) PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), (PetscBool)!z, z ? 1 : 0, z ? &z : NULL, &constant));
  PetscCall(VecDestroy(&z));
  PetscCall(MatSetNullSpace(A, constant));
  PetscCall(MatSetTransposeNullSpace(A, constant));
  PetscCall(MatNullSpaceDestroy(&constant));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SPD, (PetscBool)(m->form.spd && !m->form.singular && m->c.identity > 0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Dirichlet data ---- */

/* b += alpha times the operator's terms on w, whatever is fixed, on free rows only; w and b are global arrays */
static PetscErrorCode LiftApply(const Mat_Box *m, PatchFDKernels kern, PetscInt nterm, const PatchFDTerm term[], PetscReal alpha,
                                const void *w, void *b)
{
  PatchFDOperatorDesc desc;
  PatchFDField        field[DMBOX_MAX_FIELDS];
  void               *plan = NULL, *local;

  PetscFunctionBegin;
  MatBoxDescribe(m, field, &desc);
  desc.nterm = nterm;
  desc.term  = term;
  PetscCall(MatBoxOperatorCreate(m, kern, &desc, &plan));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, w, DMBOX_WORK_X, &local));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, w, DMBOX_WORK_X, &local));
  PetscCall(kern->operatorapply(plan, alpha, local, b, b));
  PetscCall(kern->operatordestroy(&plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fixed nodes: b - A g on the free nodes, g on the others; weak data: b + (lifting terms) g */
PetscErrorCode DMBoxLift_MatBox(DM dm, Vec g, Vec b)
{
  const MatBoxCoefficients c = MatBoxCoefficientsOfDM(dm, 0);
  Mat_Box                  m = {.dm = dm, .fixed = MATBOX_FIXED_COLUMNS};
  PatchFDKernels           kern;
  Vec                      w;
  const void              *ag;
  void                    *aw, *ab;

  PetscFunctionBegin;
  PetscCall(MatBoxBuild(&m, &c));
  PetscCall(PatchFDVecGetKernels(b, &kern));
  PetscCall(VecDuplicate(g, &w));
  PetscCall(PatchFDVecGetArrayRead(g, kern, &ag));
  PetscCall(PatchFDVecGetArrayWrite(w, kern, &aw));
  PetscCall(PatchFDVecGetArray(b, kern, &ab));
  if (MatBoxHasFixed(&m)) {
    PetscCall(MatBoxZero(&m, kern, aw));
    PetscCall(MatBoxFixed(&m, kern, 0, aw, 1, ag));
    PetscCall(LiftApply(&m, kern, m.form.nterm, m.form.term, -1, aw, ab));
    PetscCall(MatBoxFixed(&m, kern, 0, ab, 1, ag));
  }
  if (m.form.nlift) PetscCall(LiftApply(&m, kern, m.form.nlift, m.form.lift, 1, ag, ab));
  PetscCall(PatchFDVecRestoreArray(b, kern, &ab));
  PetscCall(PatchFDVecRestoreArrayWrite(w, kern, &aw));
  PetscCall(PatchFDVecRestoreArrayRead(g, kern, &ag));
  PetscCall(VecDestroy(&w));
  PetscCall(MatBoxReset(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation ---- */

PetscErrorCode MatBoxCreate(DM dm, const MatBoxCoefficients *c, Mat *A)
{
  static const MatShellOperation operations[] = {
    MAT_PRODUCT_OPERATIONS(Box),
    {MATOP_GET_DIAGONAL, (PetscVoidFn *)MatGetDiagonal_Box},
    {MATOP_CREATE_VECS,  (PetscVoidFn *)MatCreateVecs_Box },
    {MATOP_VIEW,         (PetscVoidFn *)MatView_Box       },
    {MATOP_DESTROY,      (PetscVoidFn *)MatDestroy_Box    }
  };
  const DM_Box *box = (const DM_Box *)dm->data;
  Mat_Box      *m;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  PetscCall(PetscObjectReference((PetscObject)dm));
  m->dm = dm;
  PetscCall(MatBoxBuild(m, c));
  m->taken = *c;
  PetscCall(MatBoxShellCreate(dm, box->nglobal, box->nglobal, m, MatBoxTriples_Box, A));
  PetscCall(MatShellSetOperations(*A, PETSC_STATIC_ARRAY_LENGTH(operations), operations));
  PetscCall(MatBoxSetAlgebra(*A, m));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatBoxGet_C", MatBoxGetCurrent));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatCreatePatches_C", MatCreatePatches_Box));
  PetscCall(MatSetUp(*A));
  PetscCall(MatBoxSetNullSpace(*A, m));
  PetscCall(MatSetDM(*A, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCreateMatrix_MatBox(DM dm, Mat *A)
{
  MatBoxCoefficients c;
  Mat_Box           *m;

  PetscFunctionBegin;
  PetscCall(DMSetUp(dm));
  c = MatBoxCoefficientsOfDM(dm, 0);
  PetscCall(MatBoxCreate(dm, &c, A));
  PetscCall(MatShellGetContext(*A, &m));
  PetscCall(MatBoxShellAssemble(dm, A)); /* -dm_mat_type aij: for other preconditioners */
  PetscCall(MatBoxSetNullSpace(*A, m));
  PetscCall(MatBoxFollowDM(m->entry, *A));
  PetscCall(DMBoxSetSNESDefaults(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOperatorSetMatBox(DMBoxOperator op)
{
  PetscFunctionBegin;
  op->ops.creatematrix        = DMCreateMatrix_MatBox;
  op->ops.createinterpolation = DMCreateInterpolation_MatBox;
  op->ops.setup               = DMSetUpSolvers_MatBox;
  op->ops.lift                = DMBoxLift_MatBox;
  PetscFunctionReturn(PETSC_SUCCESS);
}
