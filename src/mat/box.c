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

static PetscErrorCode MatBoxPointTriples(const Mat_Box *m, const PatchFDOperatorDesc *desc, const PetscInt *const index[],
                                         PetscCount *count, PetscInt i[], PetscInt j[], PetscScalar v[])
{
  const DMBoxOperator op    = ((const DM_Box *)m->dm->data)->op;
  const PetscInt(*cells)[2] = desc->cells;
  PatchFDPoints points;
  PetscCount    n;
  PetscInt     *row, *column;
  PetscReal    *E = NULL;

  PetscFunctionBegin;
  PetscCall(MatBoxGetPoints(m, cells, PETSC_FALSE, &points));
  n = points.ncells * PetscPowInt(points.degree + 1, points.dim);
  PetscCall(PetscMalloc2(n * desc->nfield, &row, n * desc->nfield, &column));
  for (PetscInt k = 0; k < desc->nfield; k++) {
    const PatchFDField *f = &desc->field[k];

    PatchFDHostCellNumbers(points.dim, points.degree, cells, f->write, &f->xbox, index[k], row + k * n);
    PatchFDHostCellNumbers(points.dim, points.degree, cells, f->read, &f->xbox, index[k], column + k * n);
  }
  if (i) {
    PetscCall(PetscMalloc1(points.ncells * PetscSqr((PetscCount)PatchFDPointsCellSize(&points)), &E));
    PetscCall(PatchFDKernelTables[PATCHFD_KERNELS_HOST_DOUBLE]->cellmatrices(&points, E));
  }
  PetscCall(PatchFDHostPointsTriples(&points, E, row, column, count, i, j, v));
  PetscCall(PetscFree(E));
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
  if (m->form.points) PetscCall(MatBoxPointTriples(m, desc, index, count, i, j, v));
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

static PetscErrorCode MatCanRecord_Box(Mat A, PatchFDKernels kern, PetscBool *can)
{
  Mat_Box *m;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &m));
  PetscCall(MatBoxIsOwn(A, can));
  *can = (PetscBool)(*can && DMBoxExchangesOnDevice(m->dm, kern));
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
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatCanRecord_C", NULL));
  PetscCall(MatBoxShellDestroy(A));
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
  PetscCall(MatBoxOperatorCreate(m, kern, &desc, NULL, &plan));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, w, DMBOX_WORK_X, &local));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, w, DMBOX_WORK_X, &local));
  PetscCall(kern->operatorapply(plan, alpha, local, b, b));
  PetscCall(kern->operatordestroy(&plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fixed nodes: b - A g on the free nodes, g on the others; weak data: b + (lifting terms) g */
PetscErrorCode DMBoxLift_MatBox(DM dm, Vec g, Vec b)
{
  Mat_Box        m = {.dm = dm, .fixed = MATBOX_FIXED_COLUMNS, .c = MatBoxCoefficientsOfDM(dm, 0)};
  PatchFDKernels kern;
  Vec            w;
  const void    *ag;
  void          *aw, *ab;

  PetscFunctionBegin;
  PetscCall(MatBoxFormCreate(&m, PETSC_FALSE, &m.form));
  m.version = ((const DM_Box *)dm->data)->op->version;
  PetscCall(PatchFDVecGetKernels(b, &kern));
  PetscCall(VecDuplicate(g, &w));
  PetscCall(PatchFDVecGetArrayRead(g, kern, &ag));
  PetscCall(PatchFDVecGetArrayWrite(w, kern, &aw));
  PetscCall(PatchFDVecGetArray(b, kern, &ab));
  if (DMBoxHasFixed(dm)) {
    PetscCall(MatBoxZero(&m, kern, aw));
    PetscCall(DMBoxSetFixed(dm, kern, 0, aw, 1, ag));
    PetscCall(LiftApply(&m, kern, m.form.nterm, m.form.term, -1, aw, ab));
    PetscCall(DMBoxSetFixed(dm, kern, 0, ab, 1, ag));
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

static PetscErrorCode MatDuplicate_Box(Mat, MatDuplicateOption, Mat *);

PetscErrorCode MatBoxCreate(DM dm, const MatBoxCoefficients *c, Mat *A)
{
  static const MatShellOperation operations[] = {{MATOP_GET_DIAGONAL, (PetscVoidFn *)MatGetDiagonal_Box},
                                                 {MATOP_CREATE_VECS, (PetscVoidFn *)MatCreateVecs_Box},
                                                 {MATOP_VIEW, (PetscVoidFn *)MatView_Box},
                                                 {MATOP_DUPLICATE, (PetscVoidFn *)MatDuplicate_Box},
                                                 {MATOP_DESTROY, (PetscVoidFn *)MatDestroy_Box}};
  const DM_Box                  *box          = (const DM_Box *)dm->data;
  Mat_Box                       *m;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  PetscCall(PetscObjectReference((PetscObject)dm));
  m->dm = dm;
  PetscCall(MatBoxBuild(m, c));
  m->taken = *c;
  PetscCall(MatBoxShellCreate(dm, box->nglobal, box->nglobal, m, MatBoxTriples_Box, A));
  PetscCall(MatShellSetOperations(*A, PETSC_STATIC_ARRAY_LENGTH(operations), operations));
  PetscCall(MatBoxSetProducts(*A));
  PetscCall(MatBoxSetAlgebra(*A, m));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatBoxGet_C", MatBoxGetCurrent));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatCreatePatches_C", MatCreatePatches_Box));
  PetscCall(PetscObjectComposeFunction((PetscObject)*A, "MatCanRecord_C", MatCanRecord_Box));
  PetscCall(MatSetUp(*A));
  PetscCall(MatBoxSetProperties(*A, m));
  PetscCall(MatSetDM(*A, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the copy has plans of its own: nothing is shared but the DM.  Without values it is zero, as other matrices are */
static PetscErrorCode MatDuplicate_Box(Mat A, MatDuplicateOption option, Mat *B)
{
  const MatBoxCoefficients zero = {.identity = 0};
  Mat_Box                 *a, *b;

  PetscFunctionBegin;
  PetscCall(MatBoxGetCurrent(A, &a));
  if (option == MAT_COPY_VALUES) PetscCall(MatBoxCheckData(a));
  PetscCall(MatBoxCreate(a->dm, option == MAT_COPY_VALUES ? &a->c : &zero, B));
  PetscCall(MatShellGetContext(*B, &b));
  b->taken = a->taken;
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
  PetscCall(MatBoxSetProperties(*A, m));
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
