/*
  The numbers of an operator matrix: its form, the plans of kernels that are made from it, and their products on distributed arrays.  Local
  solvers, direct solvers and the MATSHELL (box.c) use it.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h>
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

PetscErrorCode MatBoxCheckRegular(const Mat_Box *m)
{
  PetscBool zero = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCheck(!m->form.defect, PetscObjectComm((PetscObject)m->dm), PETSC_ERR_ARG_INCOMP, "The operator %s is singular: %s",
             ((const DM_Box *)m->dm->data)->op->name, m->form.defect);
  for (int i = 0; i < DMBOX_MAX_COEFFICIENTS; i++) zero = (PetscBool)(zero && m->c.operator[i] == 0);
  PetscCheck(!zero && !(DMBoxHasFixed(m->dm) && m->c.identity == 0), PetscObjectComm((PetscObject)m->dm), PETSC_ERR_ARG_WRONGSTATE,
             "The DMBOX operator is singular after MatZeroEntries(), MatScale() or MatAXPY(): %s, and the diagonal entry of the Dirichlet "
             "nodes is %g. "
             "MatBoxUpdate() gives it the coefficients of its DMBOX again",
             zero ? "its coefficients are zero" : "its coefficients are not all zero", (double)m->c.identity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

MatBoxCoefficients MatBoxCoefficientsOfDM(DM dm, PetscReal rate)
{
  const DMBoxOperator op = ((const DM_Box *)dm->data)->op;
  MatBoxCoefficients  c  = {.identity = 1};

  for (int i = 0; i < DMBOX_MAX_COEFFICIENTS; i++) c.operator[i] = op->coefficient[i];
  if (op->mass >= 0) c.operator[op->mass] += rate;
  return c;
}

PetscErrorCode MatBoxCheckData(const Mat_Box *m)
{
  PetscFunctionBegin;
  PetscCheck(m->version == ((const DM_Box *)m->dm->data)->op->version, PetscObjectComm((PetscObject)m->dm), PETSC_ERR_ARG_WRONGSTATE,
             "Coefficients or coordinates of the DMBOX have changed, and this matrix, which was copied, scaled, added to or computed as a "
             "Jacobian before, "
             "does not follow them: MatBoxUpdate() gives it the new ones");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one-dimensional objects and plans ---- */

PetscErrorCode MatBoxFactorReset(Mat_Box *m)
{
  PetscFunctionBegin;
  PetscCall(PCDestroy(&m->factors));
  PetscCall(MatNullSpaceDestroy(&m->factor_null));
  PetscCall(VecDestroy(&m->factor_b));
  PetscCall(VecDestroy(&m->factor_x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxReset(Mat_Box *m)
{
  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++) {
    const PatchFDKernels kern = PatchFDKernelTables[i];

    if (!kern) continue;
    PetscCall(kern->operatordestroy(&m->mult[kern->id]));
    PetscCall(kern->operatordestroy(&m->ghosted[kern->id]));
    PetscCall(PatchFDBoxSolveDestroy(&m->boxsolve[kern->id]));
    PetscCall(kern->free(m->whole_b[kern->id]));
    PetscCall(kern->free(m->whole_x[kern->id]));
    m->whole_b[kern->id] = m->whole_x[kern->id] = NULL;
  }
  PetscCall(MatBoxFormDestroy(&m->form));
  PetscCall(MatNullSpaceDestroy(&m->nullspace));
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
  PetscCall((*op->ops.form)(m->dm, op, m->c.operator,(const PatchFDLine(*)[3]) line, form));
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
  if (m->form.nullspace) PetscCall((*m->form.nullspace)(m, PETSC_FALSE, &m->nullspace));
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

/* the fields without ghosts: around a ring all nodes of its line exist */
static void DescribeRings(const DM_Box *box, PatchFDField field[], PatchFDOperatorDesc *desc)
{
  for (PetscInt f = 0; f < box->nfield; f++) {
    field[f]      = desc->field[f];
    field[f].xbox = field[f].ybox;
    field[f].x0   = field[f].y0;
    for (int d = 0; d < 3; d++)
      if (box->field[f].line[d].turn) PatchFDLineFree(&box->field[f].line[d], &field[f].read[d][0], &field[f].read[d][1]);
  }
  desc->field = field;
}

/* for operators by quadrature, of their points, whatever the terms are.  wraps: NULL, or may kernels go around rings, and do they? */
PetscErrorCode MatBoxOperatorCreate(const Mat_Box *m, PatchFDKernels kern, PatchFDOperatorDesc *desc, PetscBool *wraps, void **plan)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  PatchFDPoints points;
  PatchFDField  field[DMBOX_MAX_FIELDS];

  PetscFunctionBegin;
  if (m->form.points) {
    PetscCall(MatBoxGetPoints(m, (const PetscInt(*)[2])desc->cells, (PetscBool)PetscMemTypeDevice(kern->memtype), &points));
    desc->points = &points;
  }
  if (wraps) *wraps = (PetscBool)(DMBoxIsAround(box) && kern->operatorrings && (*kern->operatorrings)(desc));
  if (wraps && *wraps) DescribeRings(box, field, desc);
  PetscCall(kern->operatorcreate(desc, plan));
  desc->points = NULL;
  if (m->form.points) PetscCall((*box->op->ops.pointsdestroy)(&points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxGetOperator(Mat_Box *m, PatchFDKernels kern, void **plan)
{
  PetscFunctionBegin;
  if (!m->mult[kern->id]) {
    PatchFDOperatorDesc desc;
    PatchFDField        field[DMBOX_MAX_FIELDS];

    MatBoxDescribe(m, field, &desc);
    PetscCall(MatBoxOperatorCreate(m, kern, &desc, &m->wraps[kern->id], &m->mult[kern->id]));
    PetscCall(DMBoxInfoKernels(m->dm, kern, "operator", kern->operatorname ? kern->operatorname(m->mult[kern->id]) : NULL));
  }
  *plan = m->mult[kern->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxGetGhostedOperator(Mat_Box *m, PatchFDKernels kern, void **plan)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  PetscFunctionBegin;
  if (!box->halo) {
    PetscCall(MatBoxGetOperator(m, kern, plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!m->ghosted[kern->id]) {
    PatchFDOperatorDesc desc;
    PatchFDField        field[DMBOX_MAX_FIELDS];

    MatBoxDescribe(m, field, &desc);
    for (PetscInt i = 0; i < box->nfield; i++) {
      field[i].ybox = field[i].xbox;
      field[i].y0   = field[i].x0;
      DMBoxFreeNodes(&box->field[i], PETSC_TRUE, field[i].write);
    }
    for (int d = 0; d < 3; d++) { /* those of the patches that this rank solves, sweep.c */
      const PetscInt layers = DMBoxIsWideRing(box, d) ? 2 : 1;

      if (desc.cells[d][0] == desc.cells[d][1]) continue;
      desc.cells[d][0] = PetscMax(0, box->owncells[d][0] - layers);
      desc.cells[d][1] = PetscMin(box->field[0].line[d].ncells, box->owncells[d][1] + layers);
    }
    PetscCall(MatBoxOperatorCreate(m, kern, &desc, NULL, &m->ghosted[kern->id]));
  }
  *plan = m->ghosted[kern->id];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = a y + b x; returns whether that changes y */
PetscBool MatBoxCoefficientsAXPBY(MatBoxCoefficients *y, PetscReal a, PetscReal b, const MatBoxCoefficients *x)
{
  PetscBool changed = (PetscBool)(a * y->identity + b * x->identity != y->identity);

  y->identity = a * y->identity + b * x->identity;
  for (int i = 0; i < DMBOX_MAX_COEFFICIENTS; i++) {
    const PetscReal c = a * y->operator[i] + b * x->operator[i];

    changed        = (PetscBool)(changed || c != y->operator[i]);
    y->operator[i] = c;
  }
  return changed;
}

/* of the DM's coefficients, with what a time integrator adds to them */
PetscErrorCode MatBoxTake_Box(Mat A, PETSC_UNUSED DM dm, PetscReal rate, MatBoxTakeWhat what, PetscBool *changed)
{
  Mat_Box           *m;
  MatBoxCoefficients now, c;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  now      = MatBoxCoefficientsOfDM(m->dm, rate);
  c        = what == MATBOX_TAKE_CHANGES ? m->taken : m->c;
  *changed = MatBoxCoefficientsAXPBY(&c, 0, 1, &now);
  *changed = (PetscBool)(*changed || m->version != ((const DM_Box *)m->dm->data)->op->version);
  if (what == MATBOX_TAKE_ALL) m->taken = now;
  /* there may be a null space, which a KSP asks for before it uses the matrix */
  if (!*changed || (what == MATBOX_TAKE_NOTHING && DMBoxHasFixed(m->dm) && !m->form.nullspace)) PetscFunctionReturn(PETSC_SUCCESS);
  m->taken = now;
  PetscCall(MatBoxChange(A, &now, &m));
  PetscCall(MatBoxSetProperties(A, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxGetCurrent(Mat A, Mat_Box **m)
{
  PetscBool changed;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, m));
  if (!(*m)->entry || !(*m)->entry->follows) PetscFunctionReturn(PETSC_SUCCESS); /* without one it is what it was: MatPatchesExchange() */
  PetscCall(MatBoxTake_Box(A, NULL, 0, MATBOX_TAKE_ALL, &changed));
  PetscCall(MatShellGetContext(A, m)); /* another one, where local solvers hold the old one */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products ---- */

/* what it takes to apply the operator to a global array: a plan, and the array with ghosts, or as it is where the plan goes around rings */
static PetscErrorCode MatBoxGetOperands(Mat_Box *m, PatchFDKernels kern, const void *x, void **plan, void **local)
{
  PetscFunctionBegin;
  PetscCall(MatBoxGetOperator(m, kern, plan));
  *local = (void *)x;
  if (m->wraps[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, x, DMBOX_WORK_X, local));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, x, DMBOX_WORK_X, local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = y0 + alpha A x, y0 = NULL for zero */
PetscErrorCode MatBoxApply(void *ctx, PatchFDKernels kern, PetscReal alpha, const void *x, const void *y0, void *y)
{
  Mat_Box *m    = (Mat_Box *)ctx;
  void    *plan = NULL, *local;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_Mult, m->dm, 0, 0, 0));
  PetscCall(MatBoxGetOperands(m, kern, x, &plan, &local));
  PetscCall(kern->operatorapply(plan, alpha, local, y0, y));
  if (m->fixed == MATBOX_FIXED_IDENTITY) PetscCall(DMBoxSetFixed(m->dm, kern, 1, y, alpha * m->c.identity, x));
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

MAT_ARRAY_PRODUCTS(Box)

PetscErrorCode MatBoxIsOwn(Mat A, PetscBool *own)
{
  PetscVoidFn *mult = NULL;

  PetscFunctionBegin;
  *own = (PetscBool)(A->ops->residual == MatResidual_Box);
  if (*own) PetscCall(MatShellGetOperation(A, MATOP_MULT, &mult));
  *own = (PetscBool)(mult == (PetscVoidFn *)MatMult_Box);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxSetProducts(Mat A)
{
  static const MatShellOperation products[] = {MAT_PRODUCT_OPERATIONS(Box)};

  PetscFunctionBegin;
  PetscCall(MatShellSetOperations(A, PETSC_STATIC_ARRAY_LENGTH(products), products));
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
  PetscCall(DMBoxSetFixed(m->dm, kern, 0, a, 1, one));
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

PetscErrorCode MatBoxConstants(const Mat_Box *m, PetscBool near, MatNullSpace *constants)
{
  const DM_Box     *box = (const DM_Box *)m->dm->data;
  const DMBoxField *f   = &box->field[m->form.constants];
  Vec               z   = NULL;
  PetscScalar      *a;

  PetscFunctionBegin;
  *constants = NULL;
  if (near) PetscFunctionReturn(PETSC_SUCCESS);
  if (box->nfield > 1) { /* otherwise they are those that PETSc knows */
    PetscCall(DMCreateGlobalVector(m->dm, &z));
    PetscCall(VecSet(z, 0));
    PetscCall(VecGetArray(z, &a));
    PetscCall(PatchFDHostFill(PatchFDBoxSize(&f->global), 1, a + f->global0));
    PetscCall(VecRestoreArray(z, &a));
    PetscCall(VecNormalize(z, NULL));
  }
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)m->dm), (PetscBool)!z, z ? 1 : 0, z ? &z : NULL, constants));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A semidefinite matrix does not say that it is not definite: to conjugate gradients it is.  What is assembled others may write into */
PetscErrorCode MatBoxSetProperties(Mat A, const Mat_Box *m)
{
  const PetscBool definite = (PetscBool)(m->form.spd && !m->nullspace && m->c.identity > 0);
  MatNullSpace    near;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(MatSetNullSpace(A, m->nullspace)); /* and the transpose's */
  if (m->form.nullspace && A != m->entry->shell) {
    PetscCall((*m->form.nullspace)(m, PETSC_TRUE, &near));
    PetscCall(MatSetNearNullSpace(A, near));
    PetscCall(MatNullSpaceDestroy(&near));
  }
  A->spd         = MatBoxIsSaddlePoint(m) ? PETSC_BOOL3_FALSE : definite ? PETSC_BOOL3_TRUE : PETSC_BOOL3_UNKNOWN; /* no option says that */
  A->spd_eternal = (PetscBool)(A == m->entry->shell);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxSolveFixed(Mat_Box *m, PatchFDKernels kern, PetscReal omega, const void *b, void *x)
{
  PetscFunctionBegin;
  PetscCall(DMBoxSetFixed(m->dm, kern, 1 - omega, x, omega / m->c.identity, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxZero(Mat_Box *m, PatchFDKernels kern, void *x)
{
  PetscFunctionBegin;
  PetscCall(kern->zero(((const DM_Box *)m->dm->data)->nglobal, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MatBoxLocalRange(const Mat_Box *m, const MatBoxLocal *l, PatchFDRange r)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  for (int d = 0; d < 3; d++) {
    r[d][0] = PetscMax(0, box->owncells[d][0] - 1);
    r[d][1] = box->owncells[d][1] > box->owncells[d][0] ? PetscMin(l->patches[0][d].npatch, box->owncells[d][1]) : r[d][0];
  }
}
